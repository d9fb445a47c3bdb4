"""What the documents show is what the sources say."""

import re
import subprocess
from pathlib import Path

import pytest

from cli import BINARY

ROOT = Path(__file__).resolve().parents[2]


def code_blocks(document):
    return re.findall(r"```cpp\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


@pytest.mark.parametrize("block", code_blocks("docs/adding-an-operator.md"))
def test_the_operators_shown_are_the_operators_there(block):
    assert block in (ROOT / "src/op/activation.cpp").read_text()


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\[[^\]`]+\]\(([^)#: ]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_example_program_runs(tmp_path):
    model = tmp_path / "example.onnx"
    make = ROOT / "tools/make_example_model.py"
    subprocess.run([ROOT / "build/venv/bin/python", make, model], check=True)
    program = BINARY.parent / "examples/run_model"
    shown = subprocess.run([program, model], check=True, capture_output=True, text=True)
    assert shown.stdout == "scores float32 [ 1 10 ]\n"
    failed = subprocess.run([program, tmp_path / "none"], capture_output=True, text=True)
    assert failed.returncode == 2
    assert "none" in failed.stderr
