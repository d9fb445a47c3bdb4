"""Models in narrower types: every float in 16 bits, or operators on 8-bit integers."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

Inputs = Mapping[str, np.ndarray]


def half(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every float a float16: weights, inputs, outputs, casts."""
    narrow = onnx.ModelProto()
    narrow.CopyFrom(model)
    for value in [*narrow.graph.input, *narrow.graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for tensor in narrow.graph.initializer:
        _halve(tensor)
    for node in narrow.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
            elif attribute.name == "value" and attribute.HasField("t"):
                _halve(attribute.t)
    return narrow


def quantized(model: onnx.ModelProto, samples: Sequence[Inputs]) -> onnx.ModelProto:
    """The model in int8, by ONNX Runtime's quantizer, calibrated with `samples`.

    The format (QDQ) and the types (u8 activations, s8 weights) are those that its documentation
    recommends for x86, so that ONNX Runtime finds the patterns it has int8 kernels for. Weights
    have a scale for each channel. The quantizer's pre-processing folds batch norms first.
    """
    # Slow to import, and only few models are quantized.
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder:
        whole, ready, narrow = (
            Path(folder, f"{name}.onnx") for name in ("whole", "ready", "narrow")
        )
        # As a file: of a model in memory the pre-processing does not find the constant shapes.
        onnx.save(model, whole)
        # The shapes are static: the symbolic inference, which needs one more package, adds nothing.
        quant_pre_process(whole, ready, skip_symbolic_shape=True)
        quantize_static(
            ready,
            narrow,
            _Reader(samples),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
            # Weights of 7 bits are for processors without VNNI (AVX2), whose u8 * s8 products
            # saturate when two are added in 16 bits. With VNNI they only cost precision.
            reduce_range=False,
        )
        return onnx.load(narrow)


class _Reader:
    """The inputs in the form that the quantizer asks for: a CalibrationDataReader."""

    def __init__(self, samples: Sequence[Inputs]) -> None:
        self._left = iter(samples)

    def get_next(self) -> Inputs | None:
        return next(self._left, None)


def _halve(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        # Masks add the lowest float there is.
        largest = np.finfo(np.float16).max
        values = np.clip(numpy_helper.to_array(tensor), -largest, largest).astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
