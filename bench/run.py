#!/usr/bin/env python3
"""Measures aoe and its peers side by side.

bench/README.md says what is measured, how, and why so.
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import functools
import importlib
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

import machine
import numpy as np
import onnx
from chosen import (
    PARTICIPANTS,
    QUICK_SECONDS,
    THREADS,
    Chosen,
    chosen_cases,
    chosen_participants,
    operators_to_tune,
    read_options,
    refuse,
)
from environments import Environments
from intervals import FEWEST_PAIRS
from models import zoo
from models.builder import serialize
from operators.cases import Operator, operators
from peers import BEFORE, OURS, RIVALS, STRASSEN, aoe_before, aoe_strassen, tvm_tune, tvm_tuned
from report import FORMAT
from rounds import FEWEST_ROUNDS
from row import Bench, Case, failed_row
from show import page, table, words
from summary import summarize
from tuning import suite as tuning
from tuning.tuners import Limits
from work import with_static_shapes, work

# Of measuring, for a row; a row takes longer if its calls are long.
SECONDS = {"models": 20, "real": 8, "narrow": 8, "operators": 4, "call": 4, "tuning": 8}


def main() -> int:
    options = read_options()
    participants = {name: importlib.import_module(f"peers.{name}") for name in PARTICIPANTS}
    if options.before:
        participants[BEFORE] = aoe_before
        os.environ[aoe_before.FOLDER] = str(options.before.resolve())
    if options.allow_strassen:  # In tables it comes right after aoe.
        participants = {OURS: participants[OURS], STRASSEN: aoe_strassen} | participants
    names = chosen_participants(options, participants)
    cases = chosen_cases(options)
    to_tune = operators_to_tune(options)
    if options.list:
        for suite, model, operator in cases:
            family = f" ({operator.family})" if operator else ""
            print(f"{suite:10} {model.name:28} {model.title}{family}")
        for name in to_tune:
            print(f"{'tuning':10} {name}")
        return 0
    if not cases and not to_tune:
        refuse("there is nothing to measure: --suites and --models or --operators leave nothing")
    cores = machine.cores()
    options.threads = options.threads or [count for count in THREADS if count <= len(cores)]
    if max(options.threads) > len(cores):
        refuse(f"--threads: {max(options.threads)}, but there are {len(cores)} cores to run on")
    for path in (options.json, options.page, options.work / "lock"):
        _check_writable(path)
    if not _lock(options.work / "lock"):
        refuse(f"another run measures with the folder {options.work}: wait for it, or give --work")
    tuners = {"tvm": tvm_tune} if to_tune else {}
    results = _head(participants | tuners, options)
    environments = Environments(options.work / "environments")
    bench = Bench(environments, participants, options.work, versions={})
    save = functools.partial(_save, results, time.monotonic(), options.json)
    # As an exception, so that what was started is ended too.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _measure(bench, names, cases, cores, options, results, save)
        if to_tune:
            ours = {name: participants[name] for name in (OURS, STRASSEN) if name in participants}
            tuned = ours | {"tvm": tvm_tuned}
            bench = Bench(environments, tuned, options.work, versions={})
            _tune(to_tune, bench, cores[:1], options, results, save)
        ended = 0
    except KeyboardInterrupt:
        print("\nInterrupted: what follows is what was measured so far.", flush=True)
        ended = 130
    results["summary"] = summarize(results["rows"])
    save()
    if results["rows"] or results["tuning"]:
        options.page.write_text(page.render(results), encoding="utf-8")
    print(f"\n{table.text(results)}\n\nResults: {options.json}\nPage:    {options.page}")
    figures = [e for row in results["rows"] for e in row["measured"].values()] + results["tuning"]
    return ended or int(all(entry["status"] != "ok" for entry in figures))


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _measure(
    bench: Bench,
    names: Sequence[str],
    cases: Sequence[Chosen],
    cores: Sequence[int],
    options: argparse.Namespace,
    results: dict[str, Any],
    save: Callable[[], None],
) -> None:
    rows = [(chosen, threads) for chosen in cases for threads in options.threads]
    for number, ((suite, model, operator), threads) in enumerate(rows, 1):
        print(f"[{number}/{len(rows)}] {model.title}, {words.threads(threads)}", flush=True)
        cpus = cores[:threads]
        before = machine.peak(cpus)
        seconds = _seconds(options, suite)
        fewest = FEWEST_PAIRS if options.quick else FEWEST_ROUNDS
        builds = (OURS, BEFORE, STRASSEN)
        running = [
            name for name in names if suite in ("models", "real") or name in (*builds, *RIVALS)
        ]
        try:
            case = _write(options.work / "cases", suite, model, operator)
            how = {}
            if options.tune:
                ours = [name for name in running if name in (OURS, STRASSEN)]
                case, how = tuning.tuned_case(case, ours, threads, options.tune, bench)
                for name, one in how.items():
                    print(f"    {name}: {words.tuned(one)}", flush=True)
            row = bench.row(case, running, cpus, seconds, fewest)
            row |= {"tuned": how} if how else {}
        except Exception as error:  # Whatever one case suffers from, the others are measured.
            why = f"the case cannot be prepared: {type(error).__name__}: {error}"
            row = failed_row(suite, model, cpus, operator, dict.fromkeys(running, why))
        # Bandwidth changes within minutes on a shared machine: what counts is that of the row.
        row["peak"] = machine.better([before, machine.peak(cpus)])
        peaks, key = results["machine"]["peak"], str(threads)
        peaks[key] = machine.better([row["peak"], peaks.get(key, row["peak"])])
        print(table.line(row, results["participants"]), flush=True)
        _keep(row, bench, results)
        save()


def _tune(
    names: Sequence[str],
    bench: Bench,
    cpus: Sequence[int],
    options: argparse.Namespace,
    results: dict[str, Any],
    save: Callable[[], None],
) -> None:
    def keep(entries: list[dict[str, Any]], row: dict[str, Any]) -> None:
        results["tuning"] += entries
        _keep(row, bench, results)
        save()

    known = operators()
    folder = options.work / "cases"
    cases = (_write(folder, tuning.SUITE, known[name].model, None) for name in names)
    limits = Limits(options.trials, options.budget)
    tuning.run(cases, limits, bench, cpus, _seconds(options, tuning.SUITE), keep)


def _seconds(options: argparse.Namespace, suite: str) -> float:
    return options.seconds or (QUICK_SECONDS if options.quick else SECONDS[suite])


def _keep(row: dict[str, Any], bench: Bench, results: dict[str, Any]) -> None:
    results["rows"].append(row)
    for name, version in bench.versions.items():
        results["participants"][name]["version"] = version


@functools.cache  # For each number of threads the same files; some take most of a minute to make.
def _write(folder: Path, suite: str, model: zoo.ZooModel, operator: Operator | None) -> Case:
    folder.mkdir(parents=True, exist_ok=True)
    path, feeds = folder / f"{model.name}.onnx", folder / f"{model.name}.npz"
    inputs = model.inputs(np.random.default_rng(0))
    fixed = with_static_shapes(onnx.load_from_string(model.build()), inputs)
    path.write_bytes(serialize(fixed))
    np.savez(feeds, **inputs)
    return Case(model, suite, path, feeds, *work(fixed, inputs), operator)


def _head(participants: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    notes = {name: getattr(module, "NOTE", None) for name, module in participants.items()}
    if options.tune:
        notes[OURS] = f"kernels tuned for at most {options.tune} s a row, from an empty bank"
    return {
        "format": FORMAT,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": shlex.join(sys.argv),
        "quick": options.quick,
        "machine": machine.describe(),
        "participants": {
            name: {
                "name": module.NAME,
                "version": None,
                "settings": module.SETTINGS,
                "documentation": module.DOCUMENTATION,
                "note": notes[name],
            }
            for name, module in participants.items()
        },
        "rows": [],
        "summary": [],
        "tuning": [],
        "training": [],
    }


def _save(results: dict[str, Any], start: float, path: Path) -> None:
    results["seconds"] = time.monotonic() - start
    if not results["rows"] and not results["tuning"]:
        return  # What an earlier run left there is worth more.
    partial = path.with_suffix(".partial")
    try:
        partial.write_text(json.dumps(results, indent=1))
        partial.replace(path)
    except OSError as error:
        print(f"{path} cannot be written: {error.strerror}", flush=True)


# Open as long as this process lives, and locked.
_LOCKS: list[TextIO] = []


def _lock(path: Path) -> bool:
    _LOCKS.append(path.open("w"))
    try:
        fcntl.flock(_LOCKS[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _check_writable(path: Path) -> None:
    """Now rather than after an hour of measuring."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a"):
            pass
    except OSError as error:
        refuse(f"{path} cannot be written: {error.strerror}")


if __name__ == "__main__":
    raise SystemExit(main())
