"""What the documents show is what the sources say."""

import re
from pathlib import Path

import pytest

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
