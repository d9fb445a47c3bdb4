"""The text of workloads: every operator's reads back, and so do the documents' examples."""

import re
import subprocess
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
import pytest
from onnx.backend.test.loader import load_model_tests

from cli import BINARY

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = BINARY.parent / "workload_texts"

# Fewer workloads than this, and the models were not what they should be.
ENOUGH = 10_000


def with_known_inputs(model, inputs):
    """The model with its inputs' contents, so that shapes which depend on them are known."""
    known = onnx.ModelProto()
    known.CopyFrom(model)
    for declared, value in zip(known.graph.input, inputs, strict=True):
        if isinstance(value, np.ndarray):
            value = onnx.numpy_helper.from_array(value)
        if isinstance(value, onnx.TensorProto):
            known.graph.initializer.add().CopyFrom(value)
            known.graph.initializer[-1].name = declared.name
    return known


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The suite makes its data with overflows on purpose.
        tests = load_model_tests(kind="node")
    for test in tests:
        onnx.save(test.model, folder / f"{test.name}.onnx")
        known = with_known_inputs(test.model, test.data_sets[0][0])
        onnx.save(known, folder / f"{test.name}.known.onnx")
    data = Path(onnx.backend.test.__file__).parent / "data"
    return [*sorted(folder.glob("*.onnx")), *sorted(data.rglob("*.onnx"))]


def test_every_workload_of_the_conformance_suite_reads_back(models):
    done = subprocess.run([PROGRAM, *models], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stderr.split()[0]) > ENOUGH


EXAMPLES = re.findall(r"```workload\n(.*?)```", (ROOT / "docs/workload.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_of_the_document_read_back(text):
    done = subprocess.run([PROGRAM, "-"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # A short list needs no temporaries, so the example that shows them prints without.
    assert done.stdout == text or "#0" in text
