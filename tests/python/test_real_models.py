"""Models with trained weights against ONNX Runtime."""

import numpy as np
import pytest
from against_onnxruntime import assert_equals_onnxruntime
from instruction_sets import NARROWER
from models.zoo import ZOO


@pytest.mark.parametrize("kernels", [None, *NARROWER])
@pytest.mark.parametrize("name", [model.name for model in ZOO.values() if model.suite == "real"])
def test_equals_onnxruntime(name, kernels):
    model, inputs = ZOO[name].build(), ZOO[name].inputs(np.random.default_rng(0))
    assert_equals_onnxruntime(model, inputs, kernels)
