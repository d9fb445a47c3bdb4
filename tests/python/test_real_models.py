"""Models with trained weights against ONNX Runtime."""

import numpy as np
import pytest
from against_onnxruntime import assert_equals_onnxruntime
from models.zoo import ZOO


@pytest.mark.parametrize("name", [model.name for model in ZOO.values() if model.real])
def test_equals_onnxruntime(name):
    assert_equals_onnxruntime(ZOO[name].build(), ZOO[name].inputs(np.random.default_rng(0)))
