"""ONNX's own backend suite, through `aoe.backend`, on kernels for each instruction set and on the
reference.

Every case must pass, but for those in conformance_left_out.txt: these must fail. So the table is
always true, and what it leaves is what the engine can do.
"""

import unittest
from collections import Counter
from functools import partial

import aoe
import conformance
import pytest
from instruction_sets import NARROWER

# How many cases of each category must pass at least.
REQUIRED = {"node": 1000, "real": 9, "pytorch": 117, "simple": 18}

LEFT_OUT = conformance.left_out()

KERNELS = ["native", *NARROWER, "reference"]


def parameters():
    for case in conformance.cases():
        line = conformance.find(LEFT_OUT, case.name)
        marks = []
        if line:
            run = not line.reason.startswith(conformance.NOT_RUN)
            marks.append(pytest.mark.xfail(reason=line.reason, strict=True, run=run))
        yield pytest.param(case, id=f"{case.category}-{case.name}", marks=marks)


@pytest.fixture(autouse=True, scope="module")
def onnx_home(tmp_path_factory):
    """The suite writes the inputs of the real models below ONNX_HOME."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNX_HOME", str(tmp_path_factory.mktemp("onnx")))
        patch.delenv("ONNX_MODELS", raising=False)
        yield


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("case", parameters())
def test_backend(case, kernels, monkeypatch):
    if kernels == "reference" and case.category == "real":
        pytest.skip("minutes, for what node cases show too")
    if kernels != "native":
        monkeypatch.setattr(aoe, "load", partial(aoe.load, kernels=kernels))
    try:
        case.run()
    except unittest.SkipTest as skip:
        pytest.fail(f"the suite skipped this case, so it proves nothing: {skip}")


@pytest.mark.parametrize("category", REQUIRED)
def test_enough_cases_are_left(category):
    names = [case.name for case in conformance.cases() if case.category == category]
    passing = sum(conformance.find(LEFT_OUT, name) is None for name in names)
    assert passing >= REQUIRED[category], f"{passing} of {len(names)} {category} cases pass"


def test_every_line_of_the_table_is_needed():
    names = [case.name for case in conformance.cases()]
    used = Counter(conformance.find(LEFT_OUT, name) for name in names)
    assert [line.pattern for line in LEFT_OUT if not used[line]] == []
