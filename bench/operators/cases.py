"""The operator suite: models of one operator each, which `operators.json` lists."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from models.builder import GraphBuilder, serialize
from models.layers import gelu, silu
from models.weights import seeded
from models.zoo import Inputs, ZooModel
from work import Shape, operator_flops

FILE = Path(__file__).with_name("operators.json")

# Several nodes that every engine makes one: here they are one operator.
CHAINS = {"Gelu": gelu, "Silu": silu}

# How constant operands are called, by position: seeded weights go by names.
PARAMETERS = ("bias", "weight", "bias")


@dataclass(frozen=True)
class Operand:
    shape: Shape
    constant: bool = False  # A weight of the model, or one of its constants.
    values: tuple[float, ...] | None = None  # Of a constant that is no weight.


@dataclass(frozen=True)
class Workload:
    """An operator and the shapes it works on, all of float32."""

    op: str  # An operator of ONNX or one of CHAINS.
    attributes: tuple[tuple[str, Any], ...]
    inputs: tuple[Operand, ...]
    outputs: tuple[Shape, ...]

    def attribute(self, name: str) -> Any:
        return dict(self.attributes)[name]

    @property
    def flops(self) -> int:
        shapes = [operand.shape for operand in self.inputs]
        return operator_flops(self.op, dict(self.attributes), shapes, self.outputs)

    @property
    def bytes(self) -> int:
        shapes = [*(operand.shape for operand in self.inputs), *self.outputs]
        return np.dtype(np.float32).itemsize * sum(math.prod(shape) for shape in shapes)

    def enlarged(self, factor: int) -> Workload:
        """The same with a first dimension, of all that is no weight, `factor` times as large."""

        def larger(shape: Shape, axis: int) -> Shape:
            return (*shape[:axis], shape[axis] * factor, *shape[axis + 1 :])

        inputs = tuple(
            given if given.constant else replace(given, shape=larger(given.shape, 0))
            for given in self.inputs
        )
        axis = self._axis_of_first()
        outputs = self.outputs
        if axis is not None:
            outputs = tuple(larger(shape, axis) for shape in outputs)
        return replace(self, inputs=inputs, outputs=outputs)

    def _axis_of_first(self) -> int | None:
        """Where the first dimension of the input is in the output."""
        attributes = dict(self.attributes)
        if self.op == "Transpose":
            return attributes["perm"].index(0)
        return None if 0 in attributes.get("axes", ()) else 0

    def build(self) -> onnx.ModelProto:
        g = GraphBuilder(self.op, seeded())
        operands = [self._operand(g, index) for index in range(len(self.inputs))]
        if self.op in CHAINS:
            result = CHAINS[self.op](g, *operands)
        else:
            attributes = {k: list(v) if isinstance(v, tuple) else v for k, v in self.attributes}
            result = g.op(self.op, *operands, **attributes)
        g.output(result, "output", self.outputs[0])
        return g.build()

    def _operand(self, g: GraphBuilder, index: int) -> str:
        given = self.inputs[index]
        if given.values is not None:
            return g.constant(np.reshape(given.values, given.shape))
        if given.constant:
            return g.parameter(PARAMETERS[index], given.shape)
        return g.input(f"input_{index}", given.shape)

    def random_inputs(self, random: np.random.Generator) -> Inputs:
        return {
            f"input_{index}": random.standard_normal(given.shape, dtype=np.float32)
            for index, given in enumerate(self.inputs)
            if not given.constant
        }


@dataclass(frozen=True)
class Operator:
    """A case of the suite."""

    family: str
    workload: Workload
    model: ZooModel
    scale: int  # The batch is so many times that of the models: 1 is their own shape.


def operators() -> dict[str, Operator]:
    """The suite by the names of its cases, in the order of the file."""
    return {case["name"]: _operator(case) for case in json.loads(FILE.read_text())}


def _operator(case: dict[str, Any]) -> Operator:
    workload = Workload(
        case["op"],
        tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in case["attributes"].items()),
        tuple(
            Operand(
                tuple(given["shape"]),
                given["constant"],
                tuple(given["values"]) if "values" in given else None,
            )
            for given in case["inputs"]
        ),
        tuple(tuple(given["shape"]) for given in case["outputs"]),
    )
    model = ZooModel(
        case["name"],
        case["title"],
        lambda: serialize(workload.build()),
        workload.random_inputs,
        suite="operators",
    )
    return Operator(case["family"], workload, model, case["scale"])


# Its time is that of a call.
_IDENTITY = Workload("Identity", (), (Operand((1, 16)),), ((1, 16),))
IDENTITY = ZooModel(
    "identity",
    "Identity of 16 numbers",
    lambda: serialize(_IDENTITY.build()),
    _IDENTITY.random_inputs,
    suite="operators",
)
