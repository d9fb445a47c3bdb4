"""How much a model computes and moves: what its time is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

Shape = tuple[int, ...]

# Initializers up to this size may say a shape; larger ones are weights, and inference is quicker
# without their numbers.
_SHAPE_ELEMENTS = 64

# They give another view of their input, or constants: no engine spends time on them.
FREE = frozenset({"Constant", "Flatten", "Identity", "Reshape", "Shape", "Squeeze", "Unsqueeze"})


def work(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray] | None = None
) -> tuple[int | None, int | None]:
    """Operations and bytes of one inference.

    Operations: two per multiplication and addition of a contraction, otherwise one per element of
    each result. Bytes: the inputs of the graph, its weights and its outputs, each once.
    `inputs` gives the sizes of symbolic dimensions. None, None: the shapes depend on values, or
    the model has control flow, so that only a run can tell.
    """
    shapes, sizes = infer(model, inputs)
    graph = model.graph
    ends = [v.name for v in [*graph.input, *graph.output]]
    weights = [t.name for t in graph.initializer]
    needed = {*ends, *weights, *(name for node in graph.node for name in node.output if name)}
    if any(name not in shapes for name in needed):
        return None, None
    flops = sum(
        operator_flops(
            node.op_type,
            attributes_of(node),
            [shapes[name] for name in node.input if name],
            [shapes[name] for name in node.output if name],
        )
        for node in graph.node
    )
    return flops, sum(math.prod(shapes[n]) * sizes[n] for n in dict.fromkeys([*ends, *weights]))


def operator_flops(
    op: str, attributes: Mapping[str, Any], inputs: Sequence[Shape], outputs: Sequence[Shape]
) -> int:
    """The operations of one operator."""
    if op in FREE:
        return 0
    match op:
        case "Conv":
            return 2 * math.prod(outputs[0]) * math.prod(inputs[1][1:])
        case "ConvTranspose":
            return 2 * math.prod(inputs[0]) * math.prod(inputs[1][1:])
        case "MatMul":
            return 2 * math.prod(outputs[0]) * inputs[0][-1]
        case "Gemm":
            return 2 * math.prod(outputs[0]) * inputs[0][0 if attributes.get("transA") else 1]
    return sum(math.prod(shape) for shape in outputs)


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def infer(
    model: onnx.ModelProto, inputs: Mapping[str, np.ndarray] | None = None
) -> tuple[dict[str, Shape], dict[str, int]]:
    """The shapes that are known, and the bytes of an element, of each value of the graph."""
    light = _without_weights(model)
    for value in light.graph.input:
        if inputs and value.name in inputs:
            kind = value.type.tensor_type.elem_type
            given = helper.make_tensor_value_info(value.name, kind, inputs[value.name].shape)
            value.CopyFrom(given)
    light = onnx.shape_inference.infer_shapes(light, data_prop=True)
    shapes: dict[str, Shape] = {}
    sizes: dict[str, int] = {}
    graph = light.graph
    for tensor in graph.initializer:
        shapes[tensor.name] = tuple(tensor.dims)
        sizes[tensor.name] = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    for value in [*graph.value_info, *graph.input, *graph.output]:
        kind = value.type.tensor_type
        if kind.elem_type and kind.HasField("shape"):
            sizes[value.name] = helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize
            if all(dim.HasField("dim_value") for dim in kind.shape.dim):
                shapes[value.name] = tuple(dim.dim_value for dim in kind.shape.dim)
    return shapes, sizes


def with_static_shapes(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """The model for inputs of these shapes: every engine may prepare for them.

    A model with branches stays as it is: the shapes need not fit the branches that are not taken.
    """
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    weights = {tensor.name for tensor in fixed.graph.initializer}
    static = all(_static(v) for v in fixed.graph.input if v.name not in weights)
    if static or any(a.HasField("g") for node in fixed.graph.node for a in node.attribute):
        return fixed
    for value in fixed.graph.input:
        if value.name in inputs:
            shape = value.type.tensor_type.shape
            shape.ClearField("dim")
            for size in inputs[value.name].shape:
                shape.dim.add().dim_value = size
    # What is noted of the shapes behind the inputs is symbolic. Of outputs the rank has to stay.
    fixed.graph.ClearField("value_info")
    for value in fixed.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    return fixed


def _static(value: onnx.ValueInfoProto) -> bool:
    return all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that knows the types and shapes of large initializers only.

    What files say of the shapes of results goes too: it may hold for other inputs than given.
    """
    graph = onnx.GraphProto(name=model.graph.name, node=model.graph.node, input=model.graph.input)
    for value in model.graph.output:
        kind = value.type.tensor_type.elem_type
        graph.output.append(helper.make_tensor_value_info(value.name, kind, None))
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) <= _SHAPE_ELEMENTS:
            graph.initializer.append(tensor)
        else:
            graph.initializer.add(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
    return onnx.ModelProto(
        ir_version=model.ir_version,
        opset_import=model.opset_import,
        functions=model.functions,
        graph=graph,
    )
