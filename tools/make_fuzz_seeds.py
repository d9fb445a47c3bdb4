#!/usr/bin/env python3
"""Writes seeds for the fuzzer of the ONNX importer: small models of ONNX's backend suite.

    tools/make_fuzz_seeds.py DIR

A model is taken if it shows an operator, attribute or kind of value that no smaller one shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import conformance
import onnx
import onnx.backend.test

LARGEST = 20_000  # Bytes; a fuzzer is slow on large inputs and finds no more in them.


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make_fuzz_seeds.py DIR", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = choose(dict(small_models()))
    for name, raw in seeds.items():
        (folder / f"{name}.onnx").write_bytes(raw)
    print(f"{len(seeds)} seeds in {folder}")
    return 0


def small_models() -> Iterator[tuple[str, bytes]]:
    for name, model in conformance.node_models().items():
        yield name, model.SerializeToString(deterministic=True)
    data = Path(onnx.backend.test.__file__).parent / "data"
    for path in sorted([*data.glob("*/*/model.onnx"), *data.glob("light/*.onnx")]):
        if path.stat().st_size <= LARGEST:
            yield path.stem if path.stem != "model" else path.parent.name, path.read_bytes()


def choose(models: dict[str, bytes]) -> dict[str, bytes]:
    seen: set[tuple] = set()
    chosen = {}
    for name, raw in sorted(models.items(), key=lambda item: (len(item[1]), item[0])):
        if len(raw) > LARGEST:
            break
        model = onnx.load_from_string(raw)
        features = set(features_of(model.graph))
        features |= {("opset", entry.domain, entry.version) for entry in model.opset_import}
        if features - seen:
            chosen[name] = raw
            seen |= features
    return chosen


def features_of(graph: onnx.GraphProto) -> Iterator[tuple]:
    for value in (*graph.input, *graph.output):
        kind = value.type.WhichOneof("value")
        yield ("value", kind, value.type.tensor_type.elem_type)
    for tensor in graph.initializer:
        yield ("initializer", tensor.data_type, tensor.HasField("raw_data"))
    if graph.sparse_initializer:
        yield ("sparse initializer",)
    for node in graph.node:
        operator = (node.domain, node.op_type)
        yield ("arity", operator, len(node.input), len(node.output))
        for attribute in node.attribute:
            yield ("attribute", operator, attribute.name, attribute.type)
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from features_of(attribute.g)


if __name__ == "__main__":
    sys.exit(main())
