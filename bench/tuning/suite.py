"""Tunes operators with every tuner there is, then measures what they found side by side.

Each tunes in a process of its own, which may use all cores to search and to build; the kernel
that it looks for runs on as many as the suite has threads.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from process import Failure
from row import Bench, Case, failed_row

from tuning.screen import SignOfLife, compared, line
from tuning.tuner import Outcome, follow
from tuning.tuners import TUNERS, Limits, Task

SUITE = "tuning"

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

# A tuner stops itself at its deadline, but first finishes building its batch.
SECONDS_TO_STOP = 240.0

Entry = dict[str, Any]


def entry(participant: str, task: Task, outcome: Outcome) -> Entry:
    """One element of the list `tuning` of the results."""
    made = {
        "case": task.case.zoo.name,
        "title": task.case.zoo.title,
        "participant": participant,
        "status": "failed" if outcome.why else "ok",
        "threads": task.threads,
        "limits": dataclasses.asdict(task.limits),
        "trials": outcome.trials,
        "seconds": round(outcome.seconds, 3),
        "flops": task.case.flops,
        "points": outcome.points,
    }
    if "first_gain_s" in outcome.result:
        made["first_gain_s"] = outcome.result["first_gain_s"]
    return {**made, "why": outcome.why} if outcome.why else made


def tune(participant: str, task: Task) -> Entry:
    """Tunes one operator; whatever happens to the tuner becomes an entry."""
    tuner = TUNERS[participant]
    # Nothing is taken over from an earlier run: neither MetaSchedule's records nor a bank.
    shutil.rmtree(task.work, ignore_errors=True)
    task.work.mkdir(parents=True)
    sign = SignOfLife(f"{task.case.zoo.name} {participant}")
    log = task.work / "log.txt"
    try:
        command = tuner.command(task)
    except Failure as failure:
        return entry(participant, task, Outcome(why=str(failure)))
    outcome = follow(
        command,
        log,
        tuner.deadline(task.limits) + SECONDS_TO_STOP,
        environment=alone_in(task.work),
        on_progress=sign,
    )
    sign.finish()
    if outcome.why and log.stat().st_size:
        outcome.why += f" (log: {log})"
    made = entry(participant, task, outcome)
    # Asked here, since the seconds of a tuner are those of its process.
    algorithms = None if outcome.why else tuner.algorithms(task)
    return made | {"algorithms": algorithms} if algorithms else made


def tuned_case(
    case: Case, names: Sequence[str], threads: int, budget_s: int, bench: Bench
) -> tuple[Case, dict[str, Entry]]:
    """The case with what each of `names` found when it tuned it, from an empty bank, and how that
    went."""
    found, how = {}, {}
    for name in names:
        place = (bench.work / "tuned" / f"{case.zoo.name}-{name}-{threads}").resolve()
        task = Task(case, threads, Limits(budget_s=budget_s), bench.environments, place)
        made = tune(name, task)
        if made["status"] != "ok":
            raise Failure(f"it cannot be tuned: {made['why']}")
        found[name] = TUNERS[name].found(place)
        keys = ("trials", "seconds", "first_gain_s", "algorithms")
        how[name] = {key: made.get(key) for key in keys}
    return dataclasses.replace(case, found=found), how


def alone_in(folder: Path) -> dict[str, str]:
    """Banks, settings, caches, and what a tuner that is killed leaves behind, are all in there."""
    places = ("ASCEND_CACHE_PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    return dict.fromkeys(places, str(folder))


def measured(
    bench: Bench,
    case: Case,
    entries: Sequence[Entry],
    folder: Callable[[str], Path],
    cpus: Sequence[int],
    seconds: float,
) -> dict[str, Any]:
    """The row of what the tuners found; those that failed are in it with their reason."""
    failed = {e["participant"]: e["why"] for e in entries if e["status"] != "ok"}
    ended = [e["participant"] for e in entries if e["status"] == "ok"]
    if not ended:
        return failed_row(SUITE, case.zoo, cpus, None, failed)
    found = {name: TUNERS[name].found(folder(name)) for name in ended}
    row = bench.row(dataclasses.replace(case, found=found), ended, cpus, seconds)
    row["measured"] |= {name: {"status": "failed", "why": why} for name, why in failed.items()}
    return row


def run(
    cases: Iterable[Case],
    limits: Limits,
    bench: Bench,
    cpus: Sequence[int],
    seconds: float,
    keep: Callable[[list[Entry], dict[str, Any]], None],
) -> None:
    """`keep` is given, for each case, an entry for each tuner and the row of what they found."""
    for case in cases:

        def folder(participant: str, name: str = case.zoo.name) -> Path:
            return (bench.work / SUITE / f"{name}-{participant}-{len(cpus)}").resolve()

        entries = []
        for participant in bench.participants:
            place = folder(participant)
            task = Task(case, len(cpus), limits, bench.environments, place)
            entries.append(tune(participant, task))
            print(line(entries[-1]), flush=True)
        row = measured(bench, case, entries, folder, cpus, seconds)
        print(compared(row), flush=True)
        keep(entries, row)
