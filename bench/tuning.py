"""The tuning suite: how good the best kernel found is, against the seconds spent on finding it.

Each operator is tuned by each participant in a process of its own, on as many cores as it has
threads: searching, building and measuring all happen there, so the seconds compare.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner_process import Outcome, follow
from tuning_screen import SignOfLife, line
from work import operator_flops

HERE = Path(__file__).resolve().parent
CASES = HERE / "operators.json"

# Ten of the forty operators, one of each kind that a tuner has to be good at.
OPERATORS = (
    "conv3x3_64_56x56",
    "conv3x3_256_14x14",
    "conv1x1_256to1024_14x14",
    "conv3x3_s2_64to128_56x56",
    "depthwise3x3_144_56x56_b4",
    "stem7x7_s2_3to64_224x224",
    "matmul_128x768x768",
    "matmul_128x3072x768",
    "batched_matmul_12_of_197x64x197",
    "softmax_16x3x197x197",
)

TRIALS = 256
# Generous: on a busy core MetaSchedule needs some 1.5 s for a trial.
SECONDS_PER_TRIAL = 5.0
SECONDS_TO_START = 120.0
# A tuner stops itself at its deadline, but first finishes building its batch and checks.
SECONDS_TO_STOP = 240.0
# Far above what rounding in f32 comes to, far below what a wrong schedule does.
LARGEST_ERROR = 1e-4


@dataclass(frozen=True)
class Task:
    """What a tuner is asked for."""

    case: dict[str, Any]
    threads: int
    trials: int
    deadline: float
    environments: Path
    work: Path


def tvm_command(task: Task) -> list[str]:
    case = task.work / "case.json"
    case.write_text(json.dumps(task.case))
    return [
        str(task.environments / "tvm" / "bin" / "python"),
        str(HERE / "peers" / "tvm_tune.py"),
        *("--case", str(case), "--work", str(task.work)),
        *("--threads", str(task.threads), "--trials", str(task.trials)),
        *("--deadline", str(task.deadline)),
    ]


TUNERS: dict[str, Callable[[Task], list[str]]] = {"tvm": tvm_command}
ABSENT = {"aoe": "aoe cannot tune yet"}


def load_cases(names: Iterable[str], path: Path = CASES) -> list[dict[str, Any]]:
    known = {case["name"]: case for case in json.loads(path.read_text())}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no such operator: {', '.join(unknown)}; {path} has {', '.join(known)}")
    return [known[name] for name in names]


def flops(case: dict[str, Any]) -> int:
    inputs, outputs = ([tuple(o["shape"]) for o in case[key]] for key in ("inputs", "outputs"))
    return operator_flops(case["op"], case["attributes"], inputs, outputs)


def entry(participant: str, task: Task, outcome: Outcome) -> dict[str, Any]:
    """One element of the list `tuning` of the results."""
    error = outcome.result.get("error")
    why = outcome.why
    if why is None and not (isinstance(error, float) and error <= LARGEST_ERROR):
        why = f"the best kernel computes wrong values (error {error})"
    made = {
        "case": task.case["name"],
        "title": task.case["title"],
        "participant": participant,
        "status": "failed" if why else "ok",
        "threads": task.threads,
        "trials": outcome.trials,
        "trials_asked": task.trials,
        "seconds": round(outcome.seconds, 3),
        "flops": flops(task.case),
        "error": error,
        "remeasured_ms": outcome.result.get("remeasured_ms"),
        "points": outcome.points,
    }
    return {**made, "why": why} if why else made


def absent(participant: str, task: Task) -> dict[str, Any]:
    return {
        "case": task.case["name"],
        "title": task.case["title"],
        "participant": participant,
        "status": "absent",
        "why": ABSENT[participant],
        "threads": task.threads,
        "flops": flops(task.case),
        "points": [],
    }


def tune(participant: str, task: Task) -> dict[str, Any]:
    """Tunes one operator; whatever happens to the tuner becomes an entry."""
    if participant in ABSENT:
        return absent(participant, task)
    # MetaSchedule would start from the records that it finds there.
    shutil.rmtree(task.work, ignore_errors=True)
    task.work.mkdir(parents=True)
    sign = SignOfLife(f"{task.case['name']} {participant}")
    log = task.work / "log.txt"
    outcome = follow(
        TUNERS[participant](task),
        log,
        task.deadline + SECONDS_TO_STOP,
        cores=set(sorted(os.sched_getaffinity(0))[: task.threads]),
        # A tuner that is killed leaves the files of its candidates behind.
        environment={"TMPDIR": str(task.work)},
        on_progress=sign,
    )
    sign.finish()
    if outcome.why and log.stat().st_size:
        outcome.why += f" (see {log})"
    return entry(participant, task, outcome)


def run(
    operators: Sequence[str],
    trials: int,
    threads: int,
    environments: Path,
    work: Path,
    participants: Sequence[str] = ("aoe", "tvm"),
    deadline: float | None = None,
    on_entry: Callable[[dict[str, Any]], None] = lambda item: None,
) -> list[dict[str, Any]]:
    """Tunes the named operators, all ten if none is named; one entry for each participant."""
    entries = []
    seconds = deadline or SECONDS_TO_START + SECONDS_PER_TRIAL * trials
    for case in load_cases(operators or OPERATORS):
        for participant in participants:
            folder = work / f"{case['name']}-{participant}-{threads}"
            task = Task(case, threads, trials, seconds, environments, folder.resolve())
            item = tune(participant, task)
            print(line(item), flush=True)
            entries.append(item)
            on_entry(item)
    return entries


def update(results: Path, item: dict[str, Any]) -> None:
    """Puts the entry into the results file, in the place of an older one of its kind."""
    empty = {"format": "aoe-bench 1", "participants": {}, "rows": [], "summary": []}
    data = json.loads(results.read_text()) if results.exists() else {**empty, "training": []}
    kind = ("case", "participant", "threads")
    kept = [t for t in data.get("tuning", []) if any(t[k] != item[k] for k in kind)]
    data["tuning"] = [*kept, item]
    part = results.with_suffix(".part")
    part.write_text(json.dumps(data, indent=1) + "\n")
    part.replace(results)


def listed(known: Iterable[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        wrong = [name for name in names if name not in known]
        if wrong:
            choices = ", ".join(known)
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(wrong)}; choose of {choices}")
        return names

    return parse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", default="", help="names with commas between, or all ten")
    parser.add_argument("--peers", type=listed(TUNERS), default=list(TUNERS))
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--deadline", type=float, help="seconds for each operator")
    parser.add_argument("--environments", type=Path, default=HERE.parent / "build" / "bench")
    parser.add_argument("--work", type=Path, default=HERE.parent / "build" / "bench" / "tuning")
    parser.add_argument("--json", type=Path, help="results file to write or to add to")
    args = parser.parse_args()

    # As an exception, so that the tuner that runs is ended too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    run(
        [name for name in args.operators.split(",") if name],
        args.trials,
        args.threads,
        args.environments,
        args.work,
        [*ABSENT, *args.peers],
        args.deadline,
        lambda item: update(args.json, item) if args.json else None,
    )


if __name__ == "__main__":
    main()
