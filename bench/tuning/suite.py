"""Tunes operators with every tuner there is.

Each does it in a process of its own, which may use all cores to search and to build; the kernel
that it looks for runs on as many as the suite has threads.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environments import Environments
from models.zoo import MOST_ERROR
from operators.cases import FILE
from process import Failure
from work import operator_flops

from tuning.screen import SignOfLife, line
from tuning.tuner import Outcome, follow

TVM_TUNER = Path(__file__).parents[1] / "peers" / "tvm_tune.py"

# Ten of the forty operators, one of each kind that a tuner has to be good at.
OPERATORS = (
    "conv3x3_64_56x56",
    "conv3x3_256_14x14",
    "conv1x1_256to1024_14x14",
    "conv3x3_s2_64to128_56x56",
    "depthwise3x3_144_56x56_b8",
    "stem7x7_s2_3to64_224x224",
    "matmul_128x768x768",
    "matmul_128x3072x768",
    "batched_matmul_12_of_197x64x197",
    "softmax_32x3x197x197",
)

# Generous: on a busy core MetaSchedule needs some 1.5 s for a trial.
SECONDS_PER_TRIAL = 5.0
SECONDS_TO_START = 120.0
# A tuner stops itself at its deadline, but first finishes building its batch and checks.
SECONDS_TO_STOP = 240.0


@dataclass(frozen=True)
class Task:
    """What a tuner is asked for."""

    case: dict[str, Any]
    threads: int
    trials: int
    deadline: float
    environments: Environments
    work: Path


def tvm_command(task: Task) -> list[str]:
    case = task.work / "case.json"
    case.write_text(json.dumps(task.case))
    return [
        str(task.environments.python("tvm")),
        str(TVM_TUNER),
        *("--case", str(case), "--work", str(task.work)),
        *("--threads", str(task.threads), "--trials", str(task.trials)),
        *("--deadline", str(task.deadline)),
    ]


TUNERS: dict[str, Callable[[Task], list[str]]] = {"tvm": tvm_command}
ABSENT = {"aoe": "aoe cannot tune yet"}


def load_cases(names: Iterable[str], path: Path = FILE) -> list[dict[str, Any]]:
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
    if why is None and not (isinstance(error, float) and error <= MOST_ERROR):
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
        "version": outcome.result.get("version"),
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
    try:
        command = TUNERS[participant](task)
    except Failure as failure:
        return entry(participant, task, Outcome(why=str(failure)))
    outcome = follow(
        command,
        log,
        task.deadline + SECONDS_TO_STOP,
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
    environments: Environments,
    work: Path,
    keep: Callable[[dict[str, Any]], None],
    participants: Sequence[str] = ("aoe", "tvm"),
) -> None:
    """Tunes the named operators; `keep` is given one entry for each and each participant."""
    seconds = SECONDS_TO_START + SECONDS_PER_TRIAL * trials
    for case in load_cases(operators):
        for participant in participants:
            folder = work / f"{case['name']}-{participant}-{threads}"
            task = Task(case, threads, trials, seconds, environments, folder.resolve())
            item = tune(participant, task)
            print(line(item), flush=True)
            keep(item)
