"""Models in narrower types: every float in 16 bits, or products of 8-bit integers."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# The random weights keep activations moderate: of numbers with deviation 1, none is beyond.
_LARGEST_ACTIVATION = 8.0
# What is multiplied, and the axis of the weights that counts results: each has a scale of its own.
_PRODUCTS = {"Conv": 0, "MatMul": 1, "Gemm": 1}


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


def quantized(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with what its products take in 8 bits, as pairs of nodes that quantize and back.

    Activations have one scale that fits the generated models; weights one for each result.
    """
    graph = onnx.GraphProto()
    graph.CopyFrom(model.graph)
    weights = {tensor.name: tensor for tensor in graph.initializer}
    initializers: dict[str, onnx.TensorProto] = {}
    nodes: list[onnx.NodeProto] = []
    taken: dict[str, str] = {}  # by value: what it is after quantizing and back

    def constant(name: str, values: np.ndarray) -> str:
        initializers[name] = numpy_helper.from_array(values, name)
        return name

    def activation(value: str) -> str:
        if value not in taken:
            scale = constant("activation_scale", np.float32(_LARGEST_ACTIVATION / 127))
            zero = constant("activation_zero", np.int8(0))
            taken[value] = f"{value}_dequantized"
            nodes.append(
                helper.make_node("QuantizeLinear", [value, scale, zero], [f"{value}_quantized"])
            )
            nodes.append(
                helper.make_node(
                    "DequantizeLinear", [f"{value}_quantized", scale, zero], [taken[value]]
                )
            )
        return taken[value]

    def weight(name: str, axis: int) -> str:
        if name not in taken:
            values = numpy_helper.to_array(weights.pop(name))
            others = tuple(i for i in range(values.ndim) if i != axis)
            scales = (np.abs(values).max(axis=others) / 127).astype(np.float32)
            along = [-1 if i == axis else 1 for i in range(values.ndim)]
            rounded = np.rint(values / scales.reshape(along)).astype(np.int8)
            parts = [
                constant(f"{name}_quantized", rounded),
                constant(f"{name}_scale", scales),
                constant(f"{name}_zero", np.zeros(scales.shape, np.int8)),
            ]
            taken[name] = f"{name}_dequantized"
            nodes.append(helper.make_node("DequantizeLinear", parts, [taken[name]], axis=axis))
        return taken[name]

    for node in graph.node:
        if node.op_type in _PRODUCTS and (node.input[1] in weights or node.input[1] in taken):
            axis = _PRODUCTS[node.op_type]
            if any(a.name == "transB" and a.i for a in node.attribute):
                axis = 0
            node.input[0] = activation(node.input[0])
            node.input[1] = weight(node.input[1], axis)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.initializer[:]
    graph.initializer.extend([*weights.values(), *initializers.values()])
    narrow = onnx.ModelProto()
    narrow.CopyFrom(model)
    narrow.graph.CopyFrom(graph)
    return narrow


def _halve(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        # Masks add the lowest float there is.
        largest = np.finfo(np.float16).max
        values = np.clip(numpy_helper.to_array(tensor), -largest, largest).astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
