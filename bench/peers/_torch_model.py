"""An ONNX file as a torch.nn.Module, and a session that runs it.

build() walks the nodes once: what depends on constants and shapes alone is computed at once, the
rest is recorded as a torch.fx graph, which then gets the calls that a PyTorch user would have
written (_torch_fusion.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import fx, nn

from peers._torch_fusion import fuse
from peers._torch_node import Node, Unsupported
from peers._torch_operators import OPERATORS

_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Pow")


@dataclass
class _Value:
    """A value of the graph: an example of it, and its place in the recorded graph."""

    example: torch.Tensor
    proxy: fx.Proxy | None = None  # None: constant

    @property
    def constant(self) -> bool:
        return self.proxy is None


class _Builder:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = fx.Graph()
        self.tracer = fx.proxy.GraphAppendingTracer(self.graph)
        self.values: dict[str, _Value] = {}
        self.weights: dict[str, nn.Parameter | torch.Tensor] = {}
        self.names: dict[str, str] = {}
        self.opset = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))

    def add_constant(self, name: str, array: np.ndarray) -> None:
        self.values[name] = _Value(torch.from_numpy(np.array(array)))

    def add_input(self, name: str, array: np.ndarray) -> None:
        proxy = fx.Proxy(self.graph.placeholder(f"input_{len(self.graph.nodes)}"), self.tracer)
        self.values[name] = _Value(torch.from_numpy(np.array(array)), proxy)

    def add_node(self, proto: onnx.NodeProto) -> None:
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        if proto.op_type == "Constant":
            self.add_constant(proto.output[0], _constant(attributes, proto.name))
            return
        inputs = [self.values[name] if name else None for name in proto.input]
        examples = [value.example if value else None for value in inputs]
        if proto.op_type == "Shape":
            sizes = list(examples[0].shape)[attributes.get("start", 0) : attributes.get("end")]
            self.add_constant(proto.output[0], np.array(sizes, np.int64))
            return
        call = OPERATORS.get(proto.op_type)
        if call is None or proto.domain not in ("", "ai.onnx"):
            raise Unsupported(f"operator {proto.op_type} is not translated to PyTorch")
        constant = [value is None or value.constant for value in inputs]
        outputs = len([name for name in proto.output if name])
        node = Node(proto.op_type, proto.name, self.opset, attributes, examples, constant, outputs)
        results = call(node, *examples)
        recorded = None
        if not all(constant):
            recorded = call(node, *(self._operand(name, proto, examples) for name in proto.input))
        if len(proto.output) == 1:
            self.values[proto.output[0]] = _Value(results, recorded)
            return
        for index, name in enumerate(proto.output):
            proxy = None if recorded is None else recorded[index]
            self.values[name] = _Value(results[index], proxy)

    def finish(self, outputs: list[str]) -> fx.GraphModule:
        results = [self._tensor(name) for name in outputs]
        self.graph.output(tuple(result.node for result in results))
        fuse(self.graph, self.weights)
        self.graph.lint()
        return fx.GraphModule(self.weights, self.graph)

    def _operand(
        self, name: str, node: onnx.NodeProto, inputs: list[torch.Tensor | None]
    ) -> fx.Proxy | float | None:
        """An input of a recorded call: in arithmetic, a number is written as such."""
        if not name:
            return None
        value = self.values[name]
        if value.constant and node.op_type in _ARITHMETIC and value.example.numel() == 1:
            rank = max(given.dim() for given in inputs)
            if value.example.dim() < max(rank, 1):
                return value.example.item()
        return self._tensor(name)

    def _tensor(self, name: str) -> fx.Proxy:
        value = self.values[name]
        if value.proxy is not None:
            return value.proxy
        if name not in self.names:
            self.names[name] = f"weight_{len(self.names)}"
            tensor = value.example.contiguous()
            if tensor.is_floating_point():
                tensor = nn.Parameter(tensor, requires_grad=False)
            self.weights[self.names[name]] = tensor
        return fx.Proxy(self.graph.get_attr(self.names[name]), self.tracer)


def _constant(attributes: dict, name: str) -> np.ndarray:
    if "value" in attributes:
        return numpy_helper.to_array(attributes["value"])
    for kind, dtype in (("float", np.float32), ("int", np.int64)):
        for key in (f"value_{kind}", f"value_{kind}s"):
            if key in attributes:
                return np.array(attributes[key], dtype)
    raise Unsupported(f"operator Constant (node {name}): only numbers are translated to PyTorch")


def build(path: str, inputs: dict[str, np.ndarray]) -> tuple[fx.GraphModule, list[str], list[str]]:
    """The module, the names of its arguments and of its results, for the shapes of `inputs`."""
    model = onnx.load(path)
    builder = _Builder(model)
    for tensor in model.graph.initializer:
        builder.add_constant(tensor.name, numpy_helper.to_array(tensor))
    arguments = [value.name for value in model.graph.input if value.name not in builder.values]
    for name in arguments:
        builder.add_input(name, inputs[name])
    with torch.inference_mode(False), torch.no_grad():
        for node in model.graph.node:
            builder.add_node(node)
        results = [value.name for value in model.graph.output]
        return builder.finish(results).eval(), arguments, results


class TorchSession:
    """Runs a module on inputs that are bound beforehand."""

    def __init__(self, call: Callable, inputs: list[torch.Tensor], results: list[str]) -> None:
        self._call = call
        self._inputs = inputs
        self._results = results

    def run(self) -> object:
        with torch.inference_mode():
            return self._call(*self._inputs)

    def outputs(self) -> dict[str, np.ndarray]:
        arrays = [np.array(tensor.numpy(), order="C") for tensor in self.run()]
        return dict(zip(self._results, arrays, strict=True))
