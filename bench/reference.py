"""What a model gives in double precision: the measure of everybody's error."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

# (operator, input) that the standard gives float alone, whatever the data are.
_ALWAYS_FLOAT = {
    ("Resize", 2),
    ("Upsample", 1),
    ("QuantizeLinear", 0),
    ("QuantizeLinear", 1),
    ("DequantizeLinear", 1),
}
_GIVES_FLOAT = {"DequantizeLinear"}
_FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16}
_TYPE_ATTRIBUTES = {"to", "dtype", "stash_type"}


def in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with every float a double: weights, inputs, outputs, casts, constants."""
    double = onnx.ModelProto()
    double.CopyFrom(model)
    for graph in _graphs(double.graph):
        _convert(graph)
    return double


def outputs_in_double(
    model: Path, inputs: Mapping[str, np.ndarray], cache: Path
) -> dict[str, np.ndarray]:
    """All outputs, computed by aoe's reference evaluator; kept in the folder `cache`."""
    import aoe

    data = model.read_bytes()
    # Another build may compute otherwise.
    digest = hashlib.sha256(data + Path(aoe._aoe.__file__).read_bytes())
    for name in sorted(inputs):
        digest.update(name.encode() + inputs[name].tobytes())
    kept = cache / f"{model.stem}-{digest.hexdigest()[:16]}.npz"
    names = [output.name for output in onnx.load(str(model), load_external_data=False).graph.output]
    if kept.exists():
        with np.load(kept) as arrays:
            return dict(zip(names, (arrays[key] for key in arrays.files), strict=True))
    double = in_double(onnx.load_from_string(data))
    feeds = {name: _widened(array) for name, array in inputs.items()}
    found = aoe.load(double.SerializeToString(), kernels="reference").run(feeds)
    cache.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(".partial.npz")
    np.savez(partial, *(found[name] for name in names))
    partial.replace(kept)
    return {name: found[name] for name in names}


def error_against(expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> float:
    """The largest difference in any output, as a part of that output's largest value."""
    worst = 0.0
    for name, right in expected.items():
        if name not in found:
            raise ValueError(f"the output {name} is missing")
        given = found[name]
        if given.shape != right.shape:
            raise ValueError(f"the output {name} has shape {given.shape}, not {right.shape}")
        if right.dtype.kind not in "fiub":
            continue
        wide = right.astype(np.float64)
        difference = np.abs(given.astype(np.float64) - wide).max(initial=0)
        largest = np.abs(wide).max(initial=0) or 1.0
        # A NaN compares as false with everything and would vanish in max().
        worst = max(worst, float(difference / largest) if np.isfinite(difference) else np.inf)
    return worst


def _widened(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype in (np.float32, np.float16) else array


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _convert(graph: onnx.GraphProto) -> None:
    for info in [*graph.input, *graph.output, *graph.value_info]:
        tensor = info.type.tensor_type
        if tensor.elem_type in _FLOATS:
            tensor.elem_type = TensorProto.DOUBLE
    for tensor in graph.initializer:
        _widen(tensor)
    nodes = []
    for node in list(graph.node):
        for attribute in node.attribute:
            if attribute.name in _TYPE_ATTRIBUTES and attribute.i in _FLOATS:
                attribute.i = TensorProto.DOUBLE
            elif attribute.type == AttributeProto.TENSOR:
                _widen(attribute.t)
        if node.op_type == "Constant" and node.attribute[0].name.startswith("value_float"):
            values = helper.get_attribute_value(node.attribute[0])
            tensor = numpy_helper.from_array(np.asarray(values, dtype=np.float64))
            del node.attribute[:]
            node.attribute.append(helper.make_attribute("value", tensor))
        for index, name in enumerate(node.input):
            if name and (node.op_type, index) in _ALWAYS_FLOAT:
                node.input[index] = f"{node.output[0]}.{index}.float"
                nodes.append(
                    helper.make_node("Cast", [name], [node.input[index]], to=TensorProto.FLOAT)
                )
        nodes.append(node)
        if node.op_type in _GIVES_FLOAT:
            given = node.output[0]
            node.output[0] = f"{given}.float"
            nodes.append(helper.make_node("Cast", [node.output[0]], [given], to=TensorProto.DOUBLE))
    del graph.node[:]
    graph.node.extend(nodes)


def _widen(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in _FLOATS:
        values = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
