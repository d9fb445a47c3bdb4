"""A thin builder of ONNX graphs: it thinks of names, the caller thinks of operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8  # The one that came with opset 17.

# Gives the values of the parameter with this name and shape.
WeightSource = Callable[[str, tuple[int, ...]], np.ndarray]


class GraphBuilder:
    """Collects nodes in the order of their calls. Values are known by their names, plain strings.

    with g.scope("block1"):
        y = g.op("Relu", g.op("Conv", x, g.parameter("weight", (8, 3, 3, 3)), pads=[1, 1, 1, 1]))

    gives the nodes "block1/Conv" and "block1/Relu" and the initializer "block1.weight".
    Without weights the result is an outline: its parameters have a type and a shape, no numbers.
    """

    def __init__(self, name: str, weights: WeightSource | None, opset: int = OPSET) -> None:
        self._name = name
        self._weights = weights
        self._opset = opset
        self._scopes: list[str] = []
        self._uses: Counter[str] = Counter()
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names within begin with `name`; scopes nest, and a dotted name counts as several."""
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    def input(self, name: str, shape: Sequence[int | str], dtype: Any = np.float32) -> str:
        """Declares an input; a dimension that is a string is symbolic."""
        self._inputs.append(helper.make_tensor_value_info(name, _onnx_type(dtype), shape))
        return name

    def output(
        self, value: str, name: str, shape: Sequence[int | str], dtype: Any = np.float32
    ) -> None:
        """Declares `value`, the result of a node, an output called `name`."""
        for node in self._nodes:
            node.input[:] = [name if given == value else given for given in node.input]
            node.output[:] = [name if given == value else given for given in node.output]
        self._outputs.append(helper.make_tensor_value_info(name, _onnx_type(dtype), shape))

    def parameter(self, name: str, shape: Sequence[int]) -> str:
        """The weight `name` of this scope, as an initializer."""
        full = ".".join([*self._scopes, name])
        if self._weights is None:
            return self._outlined(full, shape)
        values = self._weights(full, tuple(shape))
        if values.shape != tuple(shape):
            raise ValueError(f"the weight {full} has shape {values.shape}, not {tuple(shape)}")
        return self._initializer(full, values)

    def transposed(self, name: str, shape: Sequence[int]) -> str:
        """The transpose of the matrix `name`, which has `shape`: how exporters store weights."""
        full = ".".join([*self._scopes, name])
        if self._weights is None:
            return self._outlined(full + ".T", shape[::-1])
        return self._initializer(full + ".T", self._weights(full, tuple(shape)).T)

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        """A constant, as an initializer; equal ones are shared."""
        array = np.asarray(values, dtype=dtype)
        key = numpy_helper.from_array(array).SerializeToString(deterministic=True)
        for name, tensor in self._initializers.items():
            if name.startswith("constant") and _without_name(tensor) == key:
                return name
        return self._initializer(self._unique("constant"), array)

    def shape(self, *dims: int) -> str:
        """A constant shape, list of axes or the like."""
        return self.constant(dims, np.int64)

    def op(self, op_type: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any):
        """Adds a node; gives the name of its output, or a list of them if `outputs` is not 1."""
        name = self._unique("/".join([*self._scopes, op_type]))
        results = [f"{name}_output_{i}" for i in range(outputs)]
        node = helper.make_node(
            op_type, inputs, results, name=name, domain=domain or None, **attributes
        )
        self._nodes.append(node)
        return results[0] if outputs == 1 else results

    def build(self) -> onnx.ModelProto:
        """The model, which the checker of ONNX has seen unless it is an outline."""
        graph = helper.make_graph(
            self._nodes,
            self._name,
            self._inputs,
            self._outputs,
            initializer=list(self._initializers.values()),
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self._opset)],
            ir_version=IR_VERSION,
            producer_name="aoe",
        )
        if self._weights is not None:
            onnx.checker.check_model(model, full_check=True)
        return model

    def _initializer(self, name: str, values: np.ndarray) -> str:
        if name not in self._initializers:
            self._initializers[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def _outlined(self, name: str, shape: Sequence[int]) -> str:
        tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT)
        self._initializers.setdefault(name, tensor)
        return name

    def _unique(self, name: str) -> str:
        self._uses[name] += 1
        count = self._uses[name]
        return name if count == 1 else f"{name}_{count - 1}"


def serialize(model: onnx.ModelProto) -> bytes:
    """The bytes of `model`, the same at each call."""
    return model.SerializeToString(deterministic=True)


def _onnx_type(dtype: Any) -> int:
    return TensorProto.STRING if dtype is str else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _without_name(tensor: onnx.TensorProto) -> bytes:
    copy = onnx.TensorProto()
    copy.CopyFrom(tensor)
    copy.ClearField("name")
    return copy.SerializeToString(deterministic=True)
