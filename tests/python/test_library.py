"""libaoe.so, its headers, and the programs that use them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli import BINARY

ROOT = Path(__file__).resolve().parents[2]
BUILD = BINARY.parent
EXAMPLES = {
    "run_model": "scores float32 [ 1 10 ]\n",
    "c_inference": r"""run 0: scores \[ 1 10 \] is largest at \d: 0\.\d{4}
run 1: scores \[ 1 10 \] is largest at \d: 0\.\d{4}
""",
}
# What a user of the headers might compile with.
COMPILERS = {
    "run_model": ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror"],
    "c_inference": ["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
}


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("example") / "example.onnx"
    subprocess.run([sys.executable, ROOT / "tools/make_example_model.py", path], check=True)
    return path


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    command = ["cmake", "--install", BUILD, "--prefix", folder, "--component", "library"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def check_example(program, name, model):
    shown = subprocess.run([program, model], check=True, capture_output=True, text=True)
    expected = EXAMPLES[name]
    assert shown.stdout == expected or re.fullmatch(expected, shown.stdout), shown.stdout
    failed = subprocess.run([program, model.parent / "none"], capture_output=True, text=True)
    assert failed.returncode == 2
    assert "none" in failed.stderr


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, model):
    check_example(BUILD / "examples" / name, name, model)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_installed_is_all_that_a_program_needs(name, model, installed, tmp_path):
    (source,) = (ROOT / "examples" / name).glob("main.*")
    (library,) = installed.rglob("libaoe.so")
    folder = library.parent
    program = tmp_path / name
    options = [f"-I{installed / 'include'}", f"-L{folder}", f"-Wl,-rpath,{folder}"]
    subprocess.run([*COMPILERS[name], *options, source, "-laoe", "-o", program], check=True)
    check_example(program, name, model)


def test_the_library_exports_the_c_interface_and_nothing_else():
    header = (ROOT / "include/aoe/aoe.h").read_text()
    declared = re.findall(r"^AOE_API [^(]*?\b(aoe_\w+)\(", header, re.MULTILINE)
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", BUILD / "libaoe.so"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert sorted(line.split()[-1] for line in listed.splitlines()) == sorted(declared)
