"""Tunes one operator with TVM's MetaSchedule and tells as it goes how good the best one is.

Runs in TVM's own environment. Writes JSON lines to its standard output: one for every
improvement and for the end of every batch, {"seconds", "trials", "best_ms"}, and at the end
{"done": true, "trials"}, or {"failed": why}. What it measured stays in the folder that it worked
in, where tvm_tuned.py finds the best.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

START = time.monotonic()

NAME = "TVM MetaSchedule"
ENVIRONMENT = "tvm"
PACKAGE = "apache-tvm"
SETTINGS = (
    "tune_tir with its defaults (evolutionary search, XGBoost cost model, batches of 64), "
    "target llvm with this processor's mcpu and num-cores = threads, all cores to build, weights "
    "laid out in advance (what cpu_weight_prepack does), 120 s to build a candidate"
)
DOCUMENTATION = [
    "https://tvm.apache.org/docs/deep_dive/tensor_ir/tutorials/meta_schedule.html",
    "https://tvm.apache.org/docs/reference/api/python/meta_schedule.html",
    "https://tvm.apache.org/docs/reference/api/python/target.html",
    "https://tvm.apache.org/docs/how_to/tutorials/e2e_opt_model.html",
]

BATCH = 64  # MetaSchedule's own default
BUILD_SECONDS = 120.0  # its default of 30 s is too short on a busy machine
SEED = 1

# In the folder that it works in: the operator, as `operators.json` has it, and its constants.
CASE = "case.json"
CONSTANTS = "constants.npz"


def register_intrinsics() -> None:
    """Makes the intrinsics of x86 known to TVM, and keeps it from parsing all the others.

    The import of the whole package takes some 40 s, most of it for CUDA, and each process
    that builds candidates would repeat it inside the time that a build has.
    """
    import importlib
    import sys
    import types
    from pathlib import Path

    import tvm.s_tir

    package = types.ModuleType("tvm.s_tir.tensor_intrin")
    package.__path__ = [str(Path(tvm.s_tir.__file__).parent / "tensor_intrin")]
    sys.modules[package.__name__] = package
    importlib.import_module("tvm.s_tir.tensor_intrin.x86")


def use_threads(threads: int) -> None:
    """Before TVM is loaded."""
    os.environ["TVM_NUM_THREADS"] = str(threads)
    # TVM would bind its threads to the machine's first cores instead of those it is given.
    os.environ["TVM_BIND_THREADS"] = "0"


def target(threads: int):
    import tvm
    from tvm.target.codegen import llvm_get_system_cpu

    return tvm.target.Target({"kind": "llvm", "mcpu": llvm_get_system_cpu(), "num-cores": threads})


class Progress:
    """The best latency so far, written out whenever it falls and when a batch ends."""

    def __init__(self, out, deadline: float) -> None:
        self.out = out
        self.deadline = deadline
        self.best_ms = float("inf")
        self.trials = 0

    def seconds(self) -> float:
        return time.monotonic() - START

    def expired(self) -> bool:
        return self.seconds() > self.deadline

    def write(self, **values: Any) -> None:
        self.out.write(json.dumps(values) + "\n")
        self.out.flush()

    def point(self) -> None:
        if self.best_ms < float("inf"):
            seconds = round(self.seconds(), 3)
            self.write(seconds=seconds, trials=self.trials, best_ms=self.best_ms)

    def measured(self, seconds: list[float] | None) -> None:
        self.trials += 1
        if seconds and 1e3 * sum(seconds) / len(seconds) < self.best_ms:
            self.best_ms = 1e3 * sum(seconds) / len(seconds)
            self.point()


def tune(case: dict[str, Any], trials: int, threads: int, work: Path, progress: Progress) -> None:
    """Leaves the records of what was measured until the deadline in `work`."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule as ms

    from peers import tvm_operators

    class DeadlineReached(Exception):
        pass

    local = ms.runner.LocalRunner()

    @derived_object
    class ReportingRunner(ms.runner.PyRunner):
        """TVM's runner, candidate by candidate; past the deadline candidates fail unrun."""

        def run(self, runner_inputs):
            futures = []
            for candidate in runner_inputs:
                if progress.expired():
                    late = ms.runner.LocalRunnerFuture(None, "the deadline has passed")
                    futures.append(late)
                    continue
                future = local.run([candidate])[0]
                seconds = future.result().run_secs
                progress.measured([float(s) for s in seconds] if seconds else None)
                futures.append(future)
            return futures

    @derived_object
    class BatchEnd(ms.measure_callback.PyMeasureCallback):
        """Comes after the callback that stores the batch, so what was measured is kept."""

        def apply(self, task_scheduler, task_id, candidates, built, run):
            progress.trials += sum(result.error_msg is not None for result in built)
            progress.point()
            if progress.expired():
                raise DeadlineReached

    cores = len(os.sched_getaffinity(0))
    register_intrinsics()
    database = ms.database.JSONDatabase(work_dir=str(work))
    try:
        ms.tune_tir(
            tvm_operators.function(case),
            target(threads),
            str(work),
            max_trials_global=trials,
            num_trials_per_iter=min(BATCH, trials),
            builder=ms.builder.LocalBuilder(
                max_workers=cores, timeout_sec=BUILD_SECONDS, initializer=register_intrinsics
            ),
            runner=ReportingRunner(),
            database=database,
            measure_callbacks=[*ms.measure_callback.MeasureCallback.create("default"), BatchEnd()],
            num_tuning_cores=cores,
            seed=SEED,
        )
    except Exception:
        if not progress.expired():
            raise


def private_output():
    """Standard output for our lines alone: what libraries print goes to the log."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--deadline", type=float, default=1200.0, help="seconds")
    parser.add_argument("--work", type=Path, required=True, help=f"a folder with {CASE}")
    args = parser.parse_args()

    progress = Progress(private_output(), args.deadline)
    use_threads(args.threads)
    case = json.loads((args.work / CASE).read_text())
    try:
        tune(case, args.trials, args.threads, args.work, progress)
        if progress.best_ms == float("inf"):
            raise RuntimeError("no candidate was built and measured in the time and trials given")
    except Exception as problem:
        traceback.print_exc()
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        progress.write(failed=lines[-1].strip()[:200])
        sys.exit(1)
    progress.write(done=True, trials=progress.trials)


if __name__ == "__main__":
    # Instead of this file's folder, which has modules named like the packages of other peers.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    main()
