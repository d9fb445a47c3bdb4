"""The participants of the benchmark, as far as they can be seen without their packages."""

import importlib
import re
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
PEERS = BENCH / "peers"
PARTICIPANTS = sorted(
    file.stem
    for file in PEERS.glob("*.py")
    if re.search(r"^NAME = ", file.read_text(), re.MULTILINE)
)
# Our own builds have no other environment, and no other documentation than this project's.
OWN = ("aoe", "aoe_before", "aoe_strassen")
REQUIREMENTS = sorted(PEERS.glob("*.txt"))


def test_there_are_participants():
    assert PARTICIPANTS
    assert REQUIREMENTS


@pytest.mark.parametrize("participant", PARTICIPANTS)
def test_a_participant_describes_itself(participant):
    module = importlib.import_module(f"peers.{participant}")

    for constant in ("NAME", "PACKAGE", "SETTINGS"):
        text = getattr(module, constant)
        assert isinstance(text, str) and text and "\n" not in text, constant
    assert all(page.startswith("https://") for page in module.DOCUMENTATION)
    assert (participant in OWN) == (module.ENVIRONMENT is None) == (not module.DOCUMENTATION)
    if module.ENVIRONMENT:
        assert (PEERS / f"{module.ENVIRONMENT}.txt").exists()
    # A tuner is a program, the others are loaded by the worker.
    assert callable(module.main if participant.endswith("_tune") else module.load)


@pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.stem)
def test_requirements_are_pinned(file):
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert lines
    loose = [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)]
    assert not loose, f"write each as name==version: {loose}"


@pytest.mark.parametrize("participant", PARTICIPANTS)
def test_a_participant_is_in_its_environment(participant):
    module = importlib.import_module(f"peers.{participant}")
    file = PEERS / f"{module.ENVIRONMENT}.txt"
    if participant in OWN and not file.exists():
        return  # Built from the sources beside it, not installed from a list.
    names = {line.split("==")[0].lower() for line in file.read_text().splitlines()}
    assert module.PACKAGE.lower() in names


@pytest.mark.parametrize("participant", PARTICIPANTS)
def test_the_readme_has_the_settings(participant):
    module = importlib.import_module(f"peers.{participant}")
    readme = (BENCH / "README.md").read_text()
    assert f"- **{module.NAME}**: {module.SETTINGS}." in readme
    assert all(f"]({page})" in readme for page in module.DOCUMENTATION)
