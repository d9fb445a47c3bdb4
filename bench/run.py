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
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

import aoe
import machine
import numpy as np
import onnx
from environments import Environments
from intervals import FEWEST_PAIRS
from models import zoo
from models.builder import serialize
from operators.cases import IDENTITY, operators
from peers import tvm_tune
from report import FORMAT
from rounds import FEWEST_ROUNDS
from row import OURS, RIVALS, Bench, Case, failed_row
from show import page, table
from summary import summarize
from tuning import suite as tuning
from work import with_static_shapes, work

SUITES = ("models", "real", "operators", "call", "tuning")
THREADS = (1, 2)
UNLESS_ASKED = ("models", "real", "operators", "call")
PARTICIPANTS = (OURS, *RIVALS, "pytorch_eager", "pytorch_compile", "iree")
# Of measuring, for a row; a row takes longer if its calls are long.
SECONDS = {"models": 20, "real": 8, "operators": 4, "call": 4}
QUICK_SECONDS = 4

Chosen = tuple[str, zoo.ZooModel, str | None]  # suite, model, family of operators


def main() -> int:
    options = _options()
    participants = {name: importlib.import_module(f"peers.{name}") for name in PARTICIPANTS}
    names = _participants(options, participants)
    cases = _cases(options)
    to_tune = _to_tune(options)
    if options.list:
        for suite, model, family in cases:
            print(f"{suite:10} {model.name:28} {model.title}{f' ({family})' if family else ''}")
        for name in to_tune:
            print(f"{'tuning':10} {name}")
        return 0
    if not cases and not to_tune:
        _refuse("there is nothing to measure: --suites and --models or --operators leave nothing")
    cores = machine.cores()
    options.threads = options.threads or [count for count in THREADS if count <= len(cores)]
    if max(options.threads) > len(cores):
        _refuse(f"--threads: {max(options.threads)}, but there are {len(cores)} cores to run on")
    for path in (options.json, options.page, options.work / "lock"):
        _check_writable(path)
    if not _lock(options.work / "lock"):
        _refuse(f"another run measures with the folder {options.work}: wait for it, or give --work")
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
            _tune(to_tune, environments, options, results, save)
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
    peak = machine.Peak(options.work)
    rows = [(chosen, threads) for chosen in cases for threads in options.threads]
    for number, ((suite, model, family), threads) in enumerate(rows, 1):
        print(f"[{number}/{len(rows)}] {model.title}, {_threads(threads)}", flush=True)
        cpus = cores[:threads]
        peak.look(cpus, results["machine"]["peak"])
        seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS[suite])
        fewest = FEWEST_PAIRS if options.quick else FEWEST_ROUNDS
        running = [name for name in names if suite in ("models", "real") or name in (OURS, *RIVALS)]
        try:
            case = _write(options.work / "cases", suite, model, family)
            row = bench.row(case, running, cpus, seconds, fewest)
        except Exception as error:  # Whatever one case suffers from, the others are measured.
            why = f"the case cannot be prepared: {type(error).__name__}: {error}"
            row = failed_row(suite, model, cpus, family, dict.fromkeys(running, why))
        print(table.line(row, results["participants"]), flush=True)
        results["rows"].append(row)
        for name, version in bench.versions.items():
            results["participants"][name]["version"] = version
        save()


def _tune(
    names: Sequence[str],
    environments: Environments,
    options: argparse.Namespace,
    results: dict[str, Any],
    save: Callable[[], None],
) -> None:
    def keep(entry: dict[str, Any]) -> None:
        results["tuning"].append(entry)
        if entry.get("version"):
            results["participants"][entry["participant"]]["version"] = entry["version"]
        save()

    tuning.run(names, options.trials, 1, environments, options.work / "tuning", keep)


def _options() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return [part.strip() for part in text.split(",") if part.strip()]

    def numbers(text: str) -> list[int]:
        if not all(
            part.isascii() and part.isdigit() and 0 < int(part) < 10**6 for part in names(text)
        ):
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0")
        return list(dict.fromkeys(int(part) for part in names(text)))

    def count(text: str) -> int:
        found = numbers(text)
        if len(found) != 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not one number above 0")
        return found[0]

    parser = argparse.ArgumentParser(description=__doc__)
    build = ROOT / "build" / "bench"
    add = parser.add_argument
    add("--suites", type=names, default=None, help=f"of {', '.join(SUITES)}")
    add("--models", type=names, default=[], help="only these, or files of your own: model.onnx")
    add("--operators", type=names, default=[], help="only these")
    add("--peers", type=names, default=None, help="onnxruntime, openvino, pytorch, iree; all")
    add("--threads", type=numbers, default=None, help="numbers of threads (1,2)")
    add("--quick", action="store_true", help=f"at least {QUICK_SECONDS} s a row: a first look")
    add("--seconds", type=count, help="of measuring for each row: longer narrows the intervals")
    add("--trials", type=count, default=256, help="of each operator in the tuning suite (256)")
    add("--json", type=Path, default=build / "results.json", help="where the results go")
    add("--page", type=Path, default=build / "results.html", help="where the page goes")
    add("--work", type=Path, default=build, help="for models, environments and logs")
    add("--list", action="store_true", help="show what would be measured, and end")
    options = parser.parse_args()
    if options.suites is None:
        named = ["models", "real"] * bool(options.models) + ["operators"] * bool(options.operators)
        options.suites = named or list(UNLESS_ASKED)
    for suite in options.suites:
        _known("--suites", suite, SUITES)
    if options.models and not {"models", "real"} & set(options.suites):
        _refuse("--models names some, but --suites has neither models nor real")
    if options.operators and not {"operators", "tuning"} & set(options.suites):
        _refuse("--operators names some, but --suites has neither operators nor tuning")
    if options.json == options.page:
        _refuse("--json and --page are the same file")
    return options


def _to_tune(options: argparse.Namespace) -> list[str]:
    if "tuning" not in options.suites:
        return []
    for name in options.operators:
        _known("--operators", name, tuning.OPERATORS)
    return options.operators or list(tuning.OPERATORS)


def _participants(options: argparse.Namespace, modules: dict[str, Any]) -> list[str]:
    if options.peers is None:
        return list(PARTICIPANTS)
    known = {name for name in PARTICIPANTS if name != OURS}
    known |= {modules[name].ENVIRONMENT for name in known}
    for peer in options.peers:
        _known("--peers", peer, sorted(known))
    return [
        name
        for name in PARTICIPANTS
        if name == OURS or {name, modules[name].ENVIRONMENT} & set(options.peers)
    ]


def _cases(options: argparse.Namespace) -> list[Chosen]:
    """Everything that was asked for."""
    models = zoo.ZOO
    cases = operators()
    own = {name: _own_model(Path(name)) for name in options.models if name.endswith(".onnx")}
    for name in options.models:
        _known("--models", name, [*models, *own])
    for name in options.operators:
        _known("--operators", name, list(cases))
    found: list[Chosen] = []
    for name, model in (models | own).items():
        if name in (options.models or models):
            found.append(("real" if model.real else "models", model, None))
    for name, case in cases.items():
        if name in (options.operators or cases):
            found.append(("operators", case.model, case.family))
    found.append(("call", IDENTITY, None))
    return [entry for entry in found if entry[0] in options.suites]


def _own_model(path: Path) -> zoo.ZooModel:
    """A model of the user's, with random inputs."""
    try:
        inputs = aoe.load(path).inputs
    except aoe.Error as error:
        _refuse(f"--models: {error}")
    for info in inputs:
        known = info.shape is not None and all(isinstance(dim, int) for dim in info.shape)
        if not known or info.dtype not in ("float32", "int32", "int64", "bool"):
            _refuse(
                f"--models: {path}: the input {info.name!r} is {info.dtype}{info.shape}; "
                "inputs must have fixed shapes, and be float32, int32, int64 or bool"
            )

    def random_inputs(random: np.random.Generator) -> zoo.Inputs:
        return {
            info.name: random.standard_normal(info.shape, dtype=np.float32)
            if info.dtype == "float32"
            # So that indices stay in range.
            else random.integers(0, 2, size=info.shape).astype(info.dtype)
            for info in inputs
        }

    return zoo.ZooModel(path.stem, path.name, path.read_bytes, random_inputs, real=True)


@functools.cache  # For each number of threads the same files; some take most of a minute to make.
def _write(folder: Path, suite: str, model: zoo.ZooModel, family: str | None) -> Case:
    folder.mkdir(parents=True, exist_ok=True)
    path, feeds = folder / f"{model.name}.onnx", folder / f"{model.name}.npz"
    inputs = model.inputs(np.random.default_rng(0))
    fixed = with_static_shapes(onnx.load_from_string(model.build()), inputs)
    path.write_bytes(serialize(fixed))
    np.savez(feeds, **inputs)
    return Case(model, suite, path, feeds, *work(fixed, inputs), family)


def _head(participants: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
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
                "note": getattr(module, "NOTE", None),
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
        _refuse(f"{path} cannot be written: {error.strerror}")


def _known(option: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        _refuse(f"{option}: there is no {name!r}; there are {', '.join(known)}")


def _refuse(why: str) -> None:
    print(f"bench/run.py: {why}", file=sys.stderr)
    raise SystemExit(2)


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


if __name__ == "__main__":
    raise SystemExit(main())
