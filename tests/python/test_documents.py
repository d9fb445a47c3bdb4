"""What the documents show is what the sources say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def code_blocks(document):
    return re.findall(r"```cpp\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


@pytest.mark.parametrize("block", code_blocks("docs/adding-an-operator.md"))
def test_the_operators_shown_are_the_operators_there(block):
    assert block in (ROOT / "src/op/nn/activation.cpp").read_text()


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\[[^\]`]+\]\(([^)#: ]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_source_files_named_in_documents_exist():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        named = re.findall(r"`((?:src/)?[a-z]+/[a-z_/]+\.(?:cpp|h))`", document.read_text())
        for name in named:
            found = (ROOT / name).exists() or (ROOT / "src" / name).exists()
            assert found, f"{document.name} names {name}"


@pytest.mark.parametrize(
    ("walk", "most"),
    [("From `main()` to an accepted policy", 14), ("From an ONNX Conv to its result", 20)],
)
def test_walks_are_short(walk, most):
    section = (ROOT / "docs/design.md").read_text().split(f"## {walk}\n")[1].split("\n## ")[0]
    files = re.findall(r"^\| \d+ \| `([^`]+)` \|", section, re.MULTILINE)
    assert 0 < len(files) <= most
    assert len(set(files)) == len(files)
