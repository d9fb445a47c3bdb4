"""What ONNX Runtime gives for a model, to compare with."""

import aoe
import numpy as np
import onnxruntime
from tolerance import assert_close


def onnxruntime_outputs(model: bytes, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def assert_equals_onnxruntime(
    model: bytes, inputs: dict[str, np.ndarray], kernels: str | None = None
) -> None:
    expected = onnxruntime_outputs(model, inputs)
    actual = aoe.load(model, kernels=kernels).run(inputs)
    assert list(actual) == list(expected)
    for name in expected:
        assert_close(actual[name], expected[name])
