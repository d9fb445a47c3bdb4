"""The tuners: what each is started with, and where it leaves what it found."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import machine
import numpy as np
import onnx
from environments import Environments
from onnx import numpy_helper
from operators.cases import FILE
from peers import OURS, STRASSEN, aoe_tune, tvm_tune
from process import undisturbed_environment
from row import Case

# Generous: on a busy core MetaSchedule needs some 1.5 s for a trial.
SECONDS_PER_TRIAL = 5.0
SECONDS_TO_START = 120.0


@dataclass(frozen=True)
class Limits:
    """Where tuners stop: aoe by the clock, MetaSchedule by the count of its trials."""

    trials: int = 256
    budget_s: int = 10  # less than a twentieth of what MetaSchedule takes for its trials


@dataclass(frozen=True)
class Task:
    """What a tuner is asked for; it works in the folder `work`."""

    case: Case
    threads: int
    limits: Limits
    environments: Environments
    work: Path


@dataclass(frozen=True)
class Tuner:
    command: Callable[[Task], list[str]]  # also puts into the folder what it needs there
    deadline: Callable[[Limits], float]  # seconds after which it should have stopped itself
    found: Callable[[Path], Path]  # in the folder: what its participant loads
    # Of what was found: how many kernels use each class of algorithms, if the tuner has several.
    algorithms: Callable[[Task], dict[str, int] | None]


def definition(case: Case) -> str:
    """The line of `operators.json`."""
    (line,) = (one for one in json.loads(FILE.read_text()) if one["name"] == case.zoo.name)
    return json.dumps(line)


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """The weights of a model of one node, named by their places as its inputs are."""
    (node,) = model.graph.node
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {f"input_{i}": weights[name] for i, name in enumerate(node.input) if name in weights}


def aoe_command(task: Task, *options: str) -> list[str]:
    return [
        *(sys.executable, aoe_tune.__file__, "--program", str(machine.PROGRAM)),
        *("--model", str(task.case.model.resolve()), "--threads", str(task.threads)),
        *("--budget", str(task.limits.budget_s), *options),
    ]


def aoe_algorithms(task: Task, *options: str) -> dict[str, int] | None:
    """As `aoe bench` counts them; None if it does not load the file, or has no kernels."""
    command = [
        *(str(machine.PROGRAM), "bench", str(task.work / aoe_tune.TUNED), "--json"),
        *("--threads", str(task.threads), "--seconds", "0.05", *options),
    ]
    ended = subprocess.run(command, capture_output=True, env=undisturbed_environment())
    return None if ended.returncode else json.loads(ended.stdout).get("algorithms")


def tvm_deadline(limits: Limits) -> float:
    return SECONDS_TO_START + SECONDS_PER_TRIAL * limits.trials


def tvm_command(task: Task) -> list[str]:
    (task.work / tvm_tune.CASE).write_text(definition(task.case))
    np.savez(task.work / tvm_tune.CONSTANTS, **constants(onnx.load(str(task.case.model))))
    return [
        *(str(task.environments.python(tvm_tune.ENVIRONMENT).absolute()), tvm_tune.__file__),
        *("--work", str(task.work), "--threads", str(task.threads)),
        *("--trials", str(task.limits.trials), "--deadline", str(tvm_deadline(task.limits))),
    ]


def _aoe(*options: str) -> Tuner:
    return Tuner(
        lambda task: aoe_command(task, *options),
        lambda limits: limits.budget_s,
        lambda work: work / aoe_tune.TUNED,
        lambda task: aoe_algorithms(task, *options),
    )


TUNERS = {
    OURS: _aoe(),
    STRASSEN: _aoe("--allow_strassen"),
    "tvm": Tuner(tvm_command, tvm_deadline, lambda work: work, lambda task: None),
}
