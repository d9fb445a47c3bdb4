"""What the command line of bench/run.py asks for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aoe
import numpy as np
from models import zoo
from operators.cases import IDENTITY, Operator, operators
from peers import BEFORE, OURS, RIVALS, STRASSEN
from tuning import suite as tuning
from tuning.tuners import Limits

SUITES = ("models", "real", "narrow", "operators", "call", "tuning")
MODEL_SUITES = ("models", "real", "narrow")
THREADS = (1, 2)
UNLESS_ASKED = ("models", "real", "narrow", "operators", "call")
PARTICIPANTS = (OURS, *RIVALS, "pytorch_eager", "pytorch_compile", "iree")
QUICK_SECONDS = 4

Chosen = tuple[str, zoo.ZooModel, Operator | None]  # suite, model, the operator that it is


def read_options() -> argparse.Namespace:
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

    parser = argparse.ArgumentParser(
        prog="bench/run.py", description="Measures aoe and its peers side by side."
    )
    build = Path(__file__).resolve().parents[1] / "build" / "bench"
    add = parser.add_argument
    add("--suites", type=names, default=None, help=f"of {', '.join(SUITES)}")
    add("--models", type=names, default=[], help="only these, or files of your own: model.onnx")
    add("--operators", type=names, default=[], help="only these")
    add("--peers", type=names, default=None, help="onnxruntime, openvino, pytorch, iree; all")
    add(
        "--before",
        type=Path,
        help="folder with the Python package of another build of aoe, to measure beside this one",
    )
    add("--threads", type=numbers, default=None, help="numbers of threads (1,2)")
    add("--quick", action="store_true", help=f"at least {QUICK_SECONDS} s a row: a first look")
    add("--seconds", type=count, help="of measuring for each row: longer narrows the intervals")
    limits = Limits()
    add(
        "--trials",
        type=count,
        default=limits.trials,
        help=f"of TVM for each operator of the tuning suite ({limits.trials})",
    )
    add(
        "--budget",
        type=count,
        default=limits.budget_s,
        help=f"of aoe for each operator of the tuning suite, in seconds ({limits.budget_s})",
    )
    add("--tune", type=count, help="aoe first, from an empty bank, for so many seconds a row")
    add(
        "--allow_strassen",
        action="store_true",
        help="beside aoe as it is tuned, measure it tuned with Strassen's algorithm allowed",
    )
    add("--json", type=Path, default=build / "results.json", help="where the results go")
    add("--page", type=Path, default=build / "results.html", help="where the page goes")
    add("--work", type=Path, default=build, help="for models, environments and logs")
    add("--list", action="store_true", help="show what would be measured, and end")
    options = parser.parse_args()
    if options.suites is None:
        named = list(MODEL_SUITES) * bool(options.models) + ["operators"] * bool(options.operators)
        options.suites = named or list(UNLESS_ASKED)
    for suite in options.suites:
        require_known("--suites", suite, SUITES)
    if options.models and not set(MODEL_SUITES) & set(options.suites):
        refuse(f"--models names some, but --suites has none of {', '.join(MODEL_SUITES)}")
    if options.operators and not {"operators", "tuning"} & set(options.suites):
        refuse("--operators names some, but --suites has neither operators nor tuning")
    if options.before and not (options.before / "aoe" / "__init__.py").exists():
        refuse(f"--before: there is no Python package aoe in {options.before}")
    if options.allow_strassen and not (options.tune or "tuning" in options.suites):
        refuse("--allow_strassen is for tuned kernels: give --tune, or the suite tuning")
    if options.json == options.page:
        refuse("--json and --page are the same file")
    return options


def operators_to_tune(options: argparse.Namespace) -> list[str]:
    if "tuning" not in options.suites:
        return []
    for name in options.operators:
        require_known("--operators", name, tuning.OPERATORS)
    return options.operators or list(tuning.OPERATORS)


def chosen_participants(options: argparse.Namespace, modules: dict[str, Any]) -> list[str]:
    # Without --tune Strassen's algorithm is for the tuning suite alone: no default kernel uses it.
    builds = [BEFORE] * bool(options.before)
    builds += [STRASSEN] * bool(options.allow_strassen and options.tune)
    if options.peers is None:
        return [*PARTICIPANTS, *builds]
    known = {name for name in PARTICIPANTS if name != OURS}
    known |= {modules[name].ENVIRONMENT for name in known}
    for peer in options.peers:
        require_known("--peers", peer, sorted(known))
    asked = [
        name
        for name in PARTICIPANTS
        if name == OURS or {name, modules[name].ENVIRONMENT} & set(options.peers)
    ]
    return asked + builds


def chosen_cases(options: argparse.Namespace) -> list[Chosen]:
    """Everything that was asked for."""
    models = zoo.ZOO
    cases = operators()
    own = {name: _own_model(Path(name)) for name in options.models if name.endswith(".onnx")}
    for name in options.models:
        require_known("--models", name, [*models, *own])
    for name in options.operators:
        require_known("--operators", name, list(cases))
    found: list[Chosen] = []
    for name, model in (models | own).items():
        if name in (options.models or models):
            found.append((model.suite, model, None))
    for name, case in cases.items():
        if name in (options.operators or cases):
            found.append(("operators", case.model, case))
    found.append(("call", IDENTITY, None))
    return [entry for entry in found if entry[0] in options.suites]


def _own_model(path: Path) -> zoo.ZooModel:
    """A model of the user's, with random inputs."""
    try:
        inputs = aoe.load(path).inputs
    except aoe.Error as error:
        refuse(f"--models: {error}")
    for info in inputs:
        known = info.shape is not None and all(isinstance(dim, int) for dim in info.shape)
        if not known or info.dtype not in ("float32", "int32", "int64", "bool"):
            refuse(
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

    return zoo.ZooModel(path.stem, path.name, path.read_bytes, random_inputs, "real")


def require_known(option: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        refuse(f"{option}: there is no {name!r}; there are {', '.join(known)}")


def refuse(why: str) -> None:
    print(f"bench/run.py: {why}", file=sys.stderr)
    raise SystemExit(2)
