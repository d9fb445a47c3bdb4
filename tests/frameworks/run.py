#!/usr/bin/env python3
"""Checks that aoe lives in one process with a framework: run.py [FRAMEWORK]...

Frameworks bring their own LLVM, protobuf and thread pools. Each is installed in an environment of
its own below build/frameworks, which takes gigabytes; `guest.py` is what runs there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "python")]

import numpy as np
import onnx
from environments import Environments
from guest import FRAMEWORKS
from onnx_models import model, node
from process import Failure

LIBRARY = ROOT / "build" / "libaoe.so"
PLACE = ROOT / "build" / "frameworks"
# What the largest needs while it is installed: its files and the packages that they come from.
ROOM_BYTES = 5 << 30
# Frameworks take half a minute to load from a cold disk.
SECONDS_TO_RUN = 300


def write_problem(folder: Path) -> None:
    random = np.random.default_rng(0)
    arrays = {
        "image": random.normal(size=(2, 3, 20, 20)).astype(np.float32),
        "kernel": random.normal(size=(8, 3, 3, 3)).astype(np.float32),
        "matrix": random.normal(size=(8 * 20 * 20, 10)).astype(np.float32) / 100,
    }
    np.savez(folder / "arrays.npz", **arrays)
    nodes = [
        node("sums = Conv(image, kernel)", pads=[1, 1, 1, 1]),
        node("flat = Flatten(sums)"),
        node("scores = MatMul(flat, matrix)"),
        node("shares = Softmax(scores)"),
    ]
    inputs = {"image": ("float32", [2, 3, 20, 20])}
    weights = {name: arrays[name] for name in ("kernel", "matrix")}
    outputs = {"shares": ("float32", [2, 10])}
    onnx.save(model(nodes, inputs, outputs, weights), folder / "model.onnx")


def run_guest(python: Path, name: str, first: str) -> None:
    """Raises Failure unless the framework and aoe both compute the right numbers."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        write_problem(folder)
        kept = folder / "cache"
        told = {"PYTHONPATH": str(ROOT / "build" / "python"), "XDG_CACHE_HOME": str(kept)}
        try:
            done = subprocess.run(
                [str(python), str(HERE / "guest.py"), name, first, work, str(LIBRARY)],
                capture_output=True,
                text=True,
                timeout=SECONDS_TO_RUN,
                env=os.environ | told,
            )
        except subprocess.TimeoutExpired:
            raise Failure(f"did not end within {SECONDS_TO_RUN} s") from None
        if done.returncode != 0:
            raise Failure(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
        if not any(kept.rglob("objects/*")):
            raise Failure("no kernel was compiled")


def free_bytes() -> int:
    PLACE.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(PLACE).free


def check(environments: Environments, name: str) -> bool:
    print(f"{name}: ", end="", flush=True)
    try:
        if not (PLACE / name).exists() and free_bytes() < ROOM_BYTES:
            raise Failure(f"{PLACE} has less than {ROOM_BYTES >> 30} GB of room")
        python = environments.python(name)
        for first in ("framework", "aoe"):
            print(f"{first} first", end="", flush=True)
            run_guest(python, name, first)
            print(", ", end="", flush=True)
    except Failure as failure:
        print(f"  FAILED: {failure}")
        return False
    finally:
        if free_bytes() < ROOM_BYTES:
            shutil.rmtree(PLACE / name, ignore_errors=True)
    print("as expected")
    return True


def main() -> int:
    names = sys.argv[1:] or list(FRAMEWORKS)
    for name in names:
        if name not in FRAMEWORKS:
            print(f"there is no '{name}'; there are {', '.join(FRAMEWORKS)}", file=sys.stderr)
            return 2
    environments = Environments(PLACE, requirements=HERE)
    failed = [name for name in names if not check(environments, name)]
    if failed:
        print(f"make test-frameworks: FAILED: {', '.join(failed)}")
        return 1
    print("make test-frameworks: all tests passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
