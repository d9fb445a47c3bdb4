"""Small ONNX models for tests, in few words."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import NodeProto, helper, numpy_helper

# Name: (dtype, shape); a dimension that is a string is symbolic, a shape of None is unknown.
Values = Mapping[str, tuple[str, Sequence[int | str] | None]]

OPSET = 17
IR_VERSION = 8


def node(text: str, name: str = "", **attributes) -> NodeProto:
    """A node from "c = Add(a, b)"; attributes come as keywords."""
    outputs, _, call = text.partition("=")
    op_type, _, inputs = call.strip().rstrip(")").partition("(")
    return helper.make_node(
        op_type, _names(inputs), _names(outputs), name=name or None, **attributes
    )


def model(
    nodes: Sequence[NodeProto],
    inputs: Values,
    outputs: Values,
    initializers: Mapping[str, np.ndarray | onnx.TensorProto] | None = None,
    opset: int | None = OPSET,
    **others,
) -> onnx.ModelProto:
    """A model that nobody has checked."""
    tensors = [
        value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, name)
        for name, value in (initializers or {}).items()
    ]
    graph = helper.make_graph(nodes, "test", infos(inputs), infos(outputs), tensors)
    built = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset or OPSET)],
        ir_version=IR_VERSION,
        **others,
    )
    if opset is None:
        built.ClearField("opset_import")
    return built


def affine(rows: int | str = "N") -> onnx.ModelProto:
    """y = x · w + b, from `rows` by 3 to `rows` by 2; `expected_affine` says what it gives."""
    return model(
        [node("p = MatMul(x, w)", name="product"), node("y = Add(p, b)", name="sum")],
        {"x": ("float32", [rows, 3])},
        {"y": ("float32", [rows, 2])},
        {"w": WEIGHT, "b": BIAS},
    )


WEIGHT = np.arange(6, dtype=np.float32).reshape(3, 2)
BIAS = np.array([0.5, -0.5], dtype=np.float32)


def expected_affine(x: np.ndarray) -> np.ndarray:
    return x @ WEIGHT + BIAS


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")] if text.strip() else []


def infos(values: Values) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in values.items()
    ]
