#!/usr/bin/env python3
"""Writes seeds for a fuzz target.

    tools/make_fuzz_seeds.py onnx_import DIR      small models of ONNX's backend suite
    tools/make_fuzz_seeds.py om_load DIR          the same, compiled by build/aoe
    tools/make_fuzz_seeds.py workload_text DIR    the examples of docs/workload.md
    tools/make_fuzz_seeds.py bank_read DIR        banks with policies for these examples
    tools/make_fuzz_seeds.py journal_read DIR     the first entries of a job that build/aoe runs
    tools/make_fuzz_seeds.py npy_read DIR         arrays that numpy writes
    tools/make_fuzz_seeds.py result_write DIR     bytes that the target takes for an outcome

A model is taken if it shows an operator, attribute or kind of value that no smaller one shows.
"""

from __future__ import annotations

import io
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import conformance
import numpy as np
import onnx
import onnx.backend.test

ROOT = Path(__file__).parents[1]
AOE = ROOT / "build" / "aoe"
LARGEST = 20_000  # Bytes; a fuzzer is slow on large inputs and finds no more in them.


def main() -> int:
    makers = {
        "onnx_import": chosen_models,
        "om_load": compiled_models,
        "workload_text": example_workloads,
        "bank_read": banks,
        "journal_read": journals,
        "npy_read": arrays,
        "result_write": noise,
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


def banks() -> dict[str, bytes]:
    sys.path.append(str(ROOT / "tests" / "python"))
    import bank_files

    soc = "x86_64_znver4"
    entries = [bank_files.entry("graph 00ae39e5ce0f1776", "cube 0.79\n00ae39e5ce0f1776 59\n", soc)]
    for text in example_workloads().values():
        command = [AOE, "kernel", "-", "--emit", "policy"]
        done = subprocess.run(command, input=text, capture_output=True)
        if done.returncode == 0:
            entries.append(bank_files.entry(text.decode(), done.stdout.decode(), soc))
    seeds = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in range(len(entries) + 1):
            path = bank_files.write(Path(folder, f"bank{count}.db"), soc, entries[:count])
            compact(path)
            seeds[path.name] = path.read_bytes()
    return seeds


def journals() -> dict[str, bytes]:
    """Of a job on the example model, as far as its entries are small."""
    seeds = {}
    with tempfile.TemporaryDirectory() as folder:
        make_model = ROOT / "tools" / "make_example_model.py"
        subprocess.run([sys.executable, make_model, "m.onnx"], cwd=folder, check=True)
        Path(folder, "banks").mkdir()
        command = [AOE, "--model=m.onnx", "--job_type=2", "--aicore_num=1", "--budget=3s"]
        environment = os.environ | {"TUNE_BANK_PATH": "banks"}
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        (journal,) = Path(folder).glob("aoe_workspace/*/journal.db")
        for count in (0, 1, 2, 3, 4, 6):
            path = Path(folder, f"journal{count}.db")
            path.write_bytes(journal.read_bytes())
            compact(
                path,
                "DROP TRIGGER entry_remains",
                f"DELETE FROM entry WHERE number > {count}",
            )
            if path.stat().st_size <= LARGEST:
                seeds[path.name] = path.read_bytes()
    return seeds


def compact(path: Path, *changes: str) -> None:
    """Changes a database, and leaves it without a log and with small pages: in few bytes."""
    database = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode = DELETE", *changes, "PRAGMA page_size = 512", "VACUUM"):
        database.execute(statement)
    database.close()


def arrays() -> dict[str, bytes]:
    made = {
        "floats": np.arange(6, dtype=np.float32).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        "scalar": np.array(1.5),
        "empty": np.zeros((2, 0), np.uint8),
        "booleans": np.array([True, False]),
        "raw": np.array([b"ab", b"cd"], "V2"),
        "texts": np.array([["a", "bcd"], ["\u00e9", ""]]),
        "bytes": np.array([b"a", b"bcd"]),
    }
    seeds = {}
    for name, array in made.items():
        with io.BytesIO() as file:
            np.save(file, array)
            seeds[f"{name}.npy"] = file.getvalue()
    for name, save in (("all", np.savez), ("compressed", np.savez_compressed)):
        with io.BytesIO() as file:
            save(file, **made)
            seeds[f"{name}.npz"] = file.getvalue()
    with io.BytesIO() as file:
        np.savez(file, x=made["floats"])
        seeds["one.npz"] = file.getvalue()
    return seeds


def noise() -> dict[str, bytes]:
    """Enough bytes for outcomes of no, of some and of all operators that a target makes."""
    random = np.random.default_rng(0)
    return {f"noise{size}": random.bytes(size) for size in (0, 64, 512, 4096)}


def chosen_models() -> dict[str, bytes]:
    return {f"{name}.onnx": raw for name, raw in choose(dict(small_models())).items()}


def compiled_models() -> dict[str, bytes]:
    """Those that the engine can load."""
    compiled = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, raw in chosen_models().items():
            Path(folder, "m.onnx").write_bytes(raw)
            command = [AOE, "compile", "m.onnx", "-o", "m.om"]
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
