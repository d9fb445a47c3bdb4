#!/usr/bin/env python3
"""Writes seeds for a fuzz target.

    tools/make_fuzz_seeds.py onnx_import DIR      small models of ONNX's backend suite
    tools/make_fuzz_seeds.py om_load DIR          the same, compiled by build/aoe
    tools/make_fuzz_seeds.py workload_text DIR    the examples of docs/workload.md

A model is taken if it shows an operator, attribute or kind of value that no smaller one shows.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import conformance
import onnx
import onnx.backend.test

ROOT = Path(__file__).parents[1]
LARGEST = 20_000  # Bytes; a fuzzer is slow on large inputs and finds no more in them.


def main() -> int:
    makers = {
        "onnx_import": chosen_models,
        "om_load": compiled_models,
        "workload_text": example_workloads,
    }
    if len(sys.argv) != 3 or sys.argv[1] not in makers:
        print(f"usage: make_fuzz_seeds.py {'|'.join(makers)} DIR", file=sys.stderr)
        return 2
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = makers[sys.argv[1]]()
    for name, raw in seeds.items():
        (folder / name).write_bytes(raw)
    print(f"{len(seeds)} seeds in {folder}")
    return 0


def example_workloads() -> dict[str, bytes]:
    document = (ROOT / "docs" / "workload.md").read_text()
    texts = re.findall(r"```workload\n(.*?)```", document, re.DOTALL)
    return {f"example{i}.txt": text.encode() for i, text in enumerate(texts)}


def chosen_models() -> dict[str, bytes]:
    return {f"{name}.onnx": raw for name, raw in choose(dict(small_models())).items()}


def compiled_models() -> dict[str, bytes]:
    """Those that the engine can load."""
    compiled = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, raw in chosen_models().items():
            Path(folder, "m.onnx").write_bytes(raw)
            command = [ROOT / "build" / "aoe", "compile", "m.onnx", "-o", "m.om"]
            if subprocess.run(command, cwd=folder, capture_output=True).returncode == 0:
                om = Path(folder, "m.om").read_bytes()
                if len(om) <= LARGEST:
                    compiled[name.replace(".onnx", ".om")] = om
    return compiled


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
