"""ONNX's own backend suite as a list of cases, and the table of those that are left out."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LEFT_OUT_FILE = Path(__file__).parents[1] / "tests" / "python" / "conformance_left_out.txt"

# A reason that begins so: the case would take long to fail, so it is not even tried.
NOT_RUN = "not run:"

_CATEGORIES = {
    "OnnxBackendRealModelTest": "real",
    "OnnxBackendNodeModelTest": "node",
    "OnnxBackendSimpleModelTest": "simple",
    "OnnxBackendPyTorchConvertedModelTest": "pytorch",
    "OnnxBackendPyTorchOperatorModelTest": "pytorch",
}


@dataclass(frozen=True)
class Case:
    """One test of the suite; `run` raises if the backend fails it."""

    category: str
    name: str
    run: Callable[[], None]


@dataclass(frozen=True)
class LeftOut:
    """A line of the table: the cases whose names match `pattern` fail, for `reason`."""

    pattern: str
    reason: str

    def matches(self, name: str) -> bool:
        return fnmatch.fnmatchcase(name, self.pattern)


@cache
def cases() -> tuple[Case, ...]:
    """All cases for the CPU. The real models come first: they run longest."""
    import aoe.backend
    from onnx.backend.test import BackendTest

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The suite makes its data with overflows on purpose.
        classes = BackendTest(aoe.backend, __name__).test_cases
    found = []
    for class_name, category in _CATEGORIES.items():
        for name, function in sorted(vars(classes[class_name]).items()):
            if name.startswith("test_") and name.endswith("_cpu"):
                found.append(Case(category, name.removesuffix("_cpu"), _bound(function)))
    return tuple(found)


@cache
def node_models() -> dict:
    """The model of each case of the category "node"."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {test.name: test.model for test in load_model_tests(kind="node")}


def operator_of(case: Case) -> str:
    """The operator that a node case is about, or the category of another case."""
    if case.category != "node":
        return f"({case.category})"
    models = node_models()
    model = models.get(case.name.split("_expanded")[0], models[case.name])
    node = model.graph.node[-1]
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def left_out(path: Path = LEFT_OUT_FILE) -> list[LeftOut]:
    """The table: a name or glob pattern, blanks, a reason; `#` starts a comment line."""
    lines = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition(" ")
        if not reason.strip():
            raise ValueError(f"{path}:{number}: {pattern} has no reason")
        lines.append(LeftOut(pattern, reason.strip()))
    return lines


def find(lines: Iterable[LeftOut], name: str) -> LeftOut | None:
    """The first line of the table that is about the case `name`."""
    return next((line for line in lines if line.matches(name)), None)


def _bound(function: Callable) -> Callable[[], None]:
    # The suite's functions are methods of a test case that they do not use.
    return lambda: function(None)
