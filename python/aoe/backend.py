"""`aoe` as a backend of ONNX: `onnx.backend.base.Backend`, for tools that speak this interface.

>>> import aoe.backend
>>> aoe.backend.prepare(onnx.load("model.onnx")).run([image])
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import aoe

try:
    import onnx
    import onnx.backend.base
except ImportError:
    raise ImportError("aoe.backend needs the package onnx: pip install onnx") from None


class BackendRep(onnx.backend.base.BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: aoe.Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """All outputs, in order, of `inputs`: values in order, a dict by name, or a lone array."""
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        else:
            values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
            names = [info.name for info in self.model.inputs]
            if len(values) > len(names):
                raise aoe.Error(f"the model takes {len(names)} inputs, not {len(values)}")
            feeds = dict(zip(names, values, strict=False))
        return tuple(self.model.run(feeds).values())


class Backend(onnx.backend.base.Backend):
    """Runs ONNX models and nodes on the CPU."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `device` is one that models can run on; `prepare` says what else is amiss."""
        return cls.supports_device(device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"

    @classmethod
    def prepare(
        cls,
        model: onnx.ModelProto | bytes | str | os.PathLike[str] | aoe.Model | BackendRep,
        device: str = "CPU",
        input_shapes: Mapping[str, Sequence[int]] | None = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> BackendRep:
        """Loads `model`, a `ModelProto` or what `aoe.load` takes."""
        if not cls.supports_device(device):
            raise aoe.Error(f"aoe.backend runs on the device CPU, not on {device!r}")
        if isinstance(model, BackendRep):
            return model
        if isinstance(model, onnx.ModelProto):
            model = model.SerializeToString()
        if not isinstance(model, aoe.Model):
            model = aoe.load(model, input_shapes=input_shapes, threads=threads)
        return BackendRep(model)

    @classmethod
    def run_model(
        cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Loads `model` and runs it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, Sequence[int]]] | None = None,
        opset_version: int | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one node on `inputs`: a value for each name in `node.input` that is not empty."""
        values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        model = _model_of_node(node, values, outputs_info, opset_version)
        return cls.run_model(model, values, device, **kwargs)


def _model_of_node(
    node: onnx.NodeProto,
    values: list[Any],
    outputs_info: Sequence[tuple[Any, Sequence[int]]] | None,
    opset_version: int | None,
) -> onnx.ModelProto:
    helper = onnx.helper
    names = list(dict.fromkeys(name for name in node.input if name))
    if len(names) != len(values):
        raise aoe.Error(f"the node takes {len(names)} inputs ({names}), not {len(values)}")
    inputs = [
        helper.make_value_info(name, _type_of(value))
        for name, value in zip(names, values, strict=True)
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    for output, (dtype, shape) in zip(outputs, outputs_info or [], strict=False):
        elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        output.type.CopyFrom(helper.make_tensor_type_proto(elem, shape))
    opsets = [helper.make_opsetid("", opset_version or onnx.defs.onnx_opset_version())]
    if node.domain not in ("", "ai.onnx"):
        newest = onnx.defs.get_schema(node.op_type, domain=node.domain).since_version
        opsets.append(helper.make_opsetid(node.domain, newest))
    graph = helper.make_graph([node], node.name or node.op_type, inputs, outputs)
    # The type of an output that nobody described is inferred.
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets))


def _type_of(value: Any) -> onnx.TypeProto:
    helper = onnx.helper
    if value is None:
        raise aoe.Error("an empty optional has no type to build a node's model from")
    if isinstance(value, list):
        if not value:
            raise aoe.Error("an empty sequence has no type to build a node's model from")
        return helper.make_sequence_type_proto(_type_of(np.asarray(value[0])))
    array = np.asarray(value)
    if array.dtype.kind in "OSUT":
        return helper.make_tensor_type_proto(onnx.TensorProto.STRING, array.shape)
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


is_compatible = Backend.is_compatible
supports_device = Backend.supports_device
prepare = Backend.prepare
run = run_model = Backend.run_model
run_node = Backend.run_node
