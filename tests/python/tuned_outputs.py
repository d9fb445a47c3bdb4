"""Compares the outputs of trained models, tuned against untuned.

    tests/python/tuned_outputs.py [MODEL...] [--budget 60s] [--seeds 5]

Without names: all trained models of tools/models/zoo.py. Each is tuned by a job, and runs with
banks of random policies from the search space of that job (tests/programs/sampled_bank.cpp). What
a job keeps depends on the noise of the machine; the random policies do not.

Counts outputs that differ by more than TOLERANCE of their largest element, the tolerance of one
workload (docs/numerics.md). Later layers may amplify the rounding of earlier ones, so look for the
cause: a bank with one of the policies alone shows which workload it is.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from cli import BINARY

sys.path.append(str(Path(__file__).parents[2] / "tools"))

from models.zoo import ZOO
from tune_kills import Job, finished

TRAINED = [model.name for model in ZOO.values() if model.suite == "real"]
TOLERANCE = 1e-4

Arrays = dict[str, np.ndarray]


@dataclass
class Trained:
    """A trained model with fixed shapes, in a folder of its own, and what it gives untuned."""

    path: Path
    inputs: Path
    untuned: Arrays

    @staticmethod
    def made(name: str, folder: Path) -> Trained:
        inputs = ZOO[name].inputs(np.random.default_rng(0))
        model = onnx.load_from_string(ZOO[name].build())
        for value in list(model.graph.input):
            array = inputs[value.name]
            if array.ndim == 0:
                # The sampling rate, which selects a branch: a job's random inputs select the other.
                model.graph.initializer.append(numpy_helper.from_array(array, value.name))
                model.graph.input.remove(value)
                del inputs[value.name]
            else:
                for dim, extent in zip(value.type.tensor_type.shape.dim, array.shape, strict=True):
                    dim.dim_value = extent
        onnx.save(model, folder / f"{name}.onnx")
        np.savez(folder / "in.npz", **inputs)
        made = Trained(folder / f"{name}.onnx", folder / "in.npz", {})
        made.untuned, hits = made.outputs(made.path, {})
        assert hits == 0
        return made

    def outputs(self, path: Path, environment: Mapping[str, str], *options: str) -> tuple:
        """Runs the model or another form of it; also gives how many workloads a bank serves."""
        out = self.path.with_name("out.npz")
        command = [str(BINARY), "run", str(path), "--input", str(self.inputs), "--output", str(out)]
        done = subprocess.run(
            [*command, "--threads", "1", *options],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == "", "no policy is refused"
        hits = re.search(r"^(\d+) of \d+ workloads? by policies", done.stdout, re.MULTILINE)
        with np.load(out) as arrays:
            return dict(arrays), int(hits[1]) if hits else 0

    def error(self, outputs: Arrays) -> float:
        """The largest difference from what the model gives untuned, as a part of an output."""
        assert outputs.keys() == self.untuned.keys()
        return max(relative_error(outputs[name], self.untuned[name]) for name in outputs)


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    assert np.isfinite(expected).all()
    largest = np.abs(expected).max()
    assert largest > 0
    error = float(np.abs(actual.astype(np.float64) - expected).max() / largest)
    return error if np.isfinite(error) else np.inf


@dataclass
class Sampled:
    """The outputs of a model by random policies: how far they are from those of the defaults."""

    workloads: int
    hits: int
    classes: dict[str, int]  # How many of the policies need each class of algorithms.
    error: float


def sampled(model: Trained, seed: int, *, strassen: bool = False) -> Sampled:
    with tempfile.TemporaryDirectory(dir=model.path.parent) as banks:
        soc_version = subprocess.run(
            [str(BINARY), "devices"], capture_output=True, text=True, check=True
        ).stdout.splitlines()[0]
        command = [BINARY.parent / "sampled_bank", model.path, f"{banks}/{soc_version}/op.db"]
        printed = subprocess.run(
            [*map(str, command), str(seed), *(["strassen"] if strassen else [])],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        counts = {word: int(count) for word, count in map(str.split, printed.splitlines())}
        options = ["--allow_strassen"] if strassen else []
        outputs, hits = model.outputs(model.path, {"TUNE_BANK_PATH": banks}, *options)
        return Sampled(counts.pop("workloads"), hits, counts, model.error(outputs))


@dataclass
class Tuned:
    """A model after a job: how many policies the job kept, and how far outputs are from before."""

    kept: int
    hits: int
    error: float  # With the bank.
    om_error: float  # Of the tuned .om file, without the bank.


def tuned(model: Trained, budget: str) -> Tuned:
    job = Job(model.path.parent, model.path, budget=budget)
    finished(job.start(reload=False))
    job.check()
    kept = job.opat()["repo_summary"]["repo_add_num"] if job.has_operators() else 0
    by_bank, hits = model.outputs(model.path, {"TUNE_BANK_PATH": str(job.bank)})
    (om,) = model.path.parent.glob("aoe_workspace/*/tunespace/result/*_tune.om")
    by_om, _ = model.outputs(om, {})
    return Tuned(kept, hits, model.error(by_bank), model.error(by_om))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(TRAINED))
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    if unknown := set(options.models) - set(TRAINED):
        parser.error(f"not a trained model: {', '.join(sorted(unknown))}")
    # What the user has tuned does not matter here.
    os.environ |= {"ASCEND_CACHE_PATH": "/dev/null", "AOE_BUILTIN": "off"}
    os.environ.pop("TUNE_BANK_PATH", None)
    wrong = 0
    for name in options.models or TRAINED:
        with tempfile.TemporaryDirectory(prefix="aoe-outputs-") as folder:
            model = Trained.made(name, Path(folder))
            for seed in range(options.seeds):
                for strassen in (False, True):
                    one = sampled(model, seed, strassen=strassen)
                    print(f"{name}: seed {seed}: {one}", flush=True)
                    wrong += one.error > TOLERANCE
            job = tuned(model, options.budget)
            print(f"{name}: tuned for {options.budget}: {job}", flush=True)
            wrong += max(job.error, job.om_error) > TOLERANCE
    print(f"{wrong} comparisons differ by more than {TOLERANCE}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
