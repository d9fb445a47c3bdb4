"""The operators of a model as workloads: what the operator suite is chosen from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx
from onnx import NodeProto, TensorProto, numpy_helper
from work import Shape, attributes_of, infer

from operators.cases import Operand, Workload


def workloads_of(model: onnx.ModelProto) -> Iterator[Workload]:
    """All operators of a model; nodes that are one operator together come as one."""
    shapes, _ = infer(model)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    graph = _Graph(model.graph)
    members: set[int] = set()
    for node in model.graph.node:
        chain = graph.gelu(node) or graph.silu(node)
        if chain:
            op, x, result, nodes = chain
            members |= {id(each) for each in nodes}
            yield Workload(op, (), (Operand(shapes[x]),), (shapes[result],))
    for node in model.graph.node:
        if id(node) not in members:
            yield Workload(
                node.op_type,
                tuple((k, _frozen(v)) for k, v in sorted(attributes_of(node).items())),
                tuple(_operand(name, shapes, constants) for name in node.input),
                tuple(shapes[name] for name in node.output),
            )


# The operator, its input, its output, its nodes.
_Chain = tuple[str, str, str, list[NodeProto]]


class _Graph:
    def __init__(self, graph: onnx.GraphProto) -> None:
        self._producers = {name: node for node in graph.node for name in node.output}
        self._consumers: dict[str, list[NodeProto]] = {}
        for node in graph.node:
            for name in dict.fromkeys(node.input):
                self._consumers.setdefault(name, []).append(node)

    def gelu(self, erf: NodeProto) -> _Chain | None:
        """x · (1 + erf(x / √2)) / 2, known by its error function."""
        divide = self._producers.get(erf.input[0])
        if erf.op_type != "Erf" or divide is None or divide.op_type != "Div":
            return None
        nodes = [divide, erf]
        for op in ("Add", "Mul", "Mul"):
            following = self._consumers.get(nodes[-1].output[0], [])
            if len(following) != 1 or following[0].op_type != op:
                return None
            nodes += following
        x = divide.input[0]
        return ("Gelu", x, nodes[-1].output[0], nodes) if x in nodes[3].input else None

    def silu(self, sigmoid: NodeProto) -> _Chain | None:
        """x · sigmoid(x)"""
        following = self._consumers.get(sigmoid.output[0], [])
        if sigmoid.op_type != "Sigmoid" or len(following) != 1:
            return None
        (multiply,) = following
        x = sigmoid.input[0]
        if multiply.op_type != "Mul" or x not in multiply.input:
            return None
        return "Silu", x, multiply.output[0], [sigmoid, multiply]


def _operand(
    name: str, shapes: Mapping[str, Shape], constants: Mapping[str, TensorProto]
) -> Operand:
    if name not in constants:
        return Operand(shapes[name])
    tensor = constants[name]
    # A scalar is a constant whose value decides what is computed; anything else is a weight.
    if tensor.dims or tensor.data_type != TensorProto.FLOAT:
        return Operand(shapes[name], constant=True)
    values = (float(numpy_helper.to_array(tensor)),)
    return Operand(shapes[name], constant=True, values=values)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
