"""One row of the results: a case, measured with a number of threads by all participants."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from environments import Environments
from intervals import FEWEST_PAIRS, Ratio, paired_ratio
from models.zoo import ZooModel
from operators.cases import Operator
from peers import OURS, RIVALS, STRASSEN
from process import SECONDS_TO_LOAD, WORKER, Failure, Process
from reference import error_against, outputs_in_double
from rounds import FEWEST_ROUNDS, Turns, measure

# A second process of a participant, for the A/A comparison.
TWIN = "twin"


@dataclass(frozen=True)
class Case:
    """A model with its inputs, in files."""

    zoo: ZooModel
    suite: str
    model: Path
    inputs: Path
    flops: int | None
    bytes: int | None
    operator: Operator | None = None
    # By participant: what its tuner made of the model, which it loads instead.
    found: Mapping[str, Path] = field(default_factory=dict)


@dataclass
class Bench:
    """What the rows share."""

    environments: Environments
    participants: dict[str, ModuleType]
    work: Path
    versions: dict[str, str]

    def row(
        self,
        case: Case,
        names: Sequence[str],
        cpus: Sequence[int],
        seconds: float,
        fewest: int = FEWEST_ROUNDS,
    ) -> dict[str, Any]:
        """Measures for about `seconds`, in at least `fewest` rounds."""
        threads = len(cpus)
        with np.load(case.inputs) as arrays:
            feeds = {name: arrays[name] for name in arrays.files}
        expected = outputs_in_double(case.model, feeds, self.work / "references")
        free = set(os.sched_getaffinity(0))
        started: dict[str, dict[str, Any]] = {}
        processes: dict[str, Process] = {}
        try:
            # What this program does must not run where a participant is measured.
            os.sched_setaffinity(0, (free - set(cpus)) or free)
            print("    loading:", end=" ", flush=True)
            for name in names:
                started[name] = self._start(name, name, case, cpus, expected, processes)
            base = next((name for name in (*RIVALS, *names) if name in processes), None)
            if base:
                started[TWIN] = self._start(base, TWIN, case, cpus, expected, processes)
            seed = zlib.crc32(f"{case.zoo.name} {threads}".encode())
            turns = measure(processes, seconds, fewest, seed)
        finally:
            os.sched_setaffinity(0, free)
            for process in processes.values():
                process.close()
        for name, turn in turns.items():
            _add_times(started[name], turn)
        row = _head(case.suite, case.zoo, cpus, case.operator) | {
            "flops": case.flops,
            "bytes": case.bytes,
            "rounds": max((len(turn.medians_ns) for turn in turns.values()), default=0),
            "measured": {name: started[name] for name in names},
        }
        return row | ratios(started, base)

    def _start(
        self,
        participant: str,
        key: str,
        case: Case,
        cpus: Sequence[int],
        expected: dict[str, np.ndarray],
        processes: dict[str, Process],
    ) -> dict[str, Any]:
        """Loads the case; the process is in `processes` if it did and the outputs are right."""
        module = self.participants[participant]
        process = None
        try:
            python = self.environments.python(module.ENVIRONMENT)
            command = [str(python), str(WORKER), module.__name__, ",".join(map(str, cpus))]
            log = self.work / "logs" / f"{case.zoo.name}-{len(cpus)}-{key}.log"
            log.unlink(missing_ok=True)
            process = Process(command, log)
            loaded = process.ask(
                "loading",
                SECONDS_TO_LOAD,
                do="load",
                model=str(case.found.get(participant, case.model)),
                inputs=str(case.inputs),
                threads=len(cpus),
            )
            self.versions[participant] = loaded["version"]
            error = _checked(process, self.work / f"{key}.npz", expected, case.zoo.most_error)
            process.pause()
        except (Failure, OSError, ValueError) as failure:
            if process:
                process.close()
            return {"status": "failed", "why": str(failure)}
        processes[key] = process
        shown = f"{participant} again (A/A)" if key == TWIN else participant
        print(f"{shown} {loaded['seconds']:.1f} s", end="  ", flush=True)
        return {"status": "ok", "load_s": loaded["seconds"], "error": error}


def failed_row(
    suite: str, zoo: ZooModel, cpus: Sequence[int], operator: Operator | None, why: dict[str, str]
) -> dict[str, Any]:
    """The row of a case that nobody could be measured on."""
    measured = {name: {"status": "failed", "why": text} for name, text in why.items()}
    nothing = {"flops": None, "bytes": None, "rounds": 0, "measured": measured}
    return _head(suite, zoo, cpus, operator) | nothing


def _head(
    suite: str, zoo: ZooModel, cpus: Sequence[int], operator: Operator | None
) -> dict[str, Any]:
    head = {
        "suite": suite,
        "case": zoo.name,
        "title": zoo.title,
        "threads": len(cpus),
        "cpus": list(cpus),
    }
    return head | {"family": operator.family, "scale": operator.scale} if operator else head


def _checked(
    process: Process, file: Path, expected: dict[str, np.ndarray], most_error: float
) -> float:
    names = process.ask("computing outputs", SECONDS_TO_LOAD, do="outputs", to=str(file))["names"]
    with np.load(file) as arrays:
        found = dict(zip(names, (arrays[key] for key in arrays.files), strict=True))
    file.unlink()
    try:
        error = error_against(expected, found)
    except ValueError as wrong:
        raise Failure(f"wrong outputs: {wrong}") from None
    if error > most_error:
        raise Failure(f"wrong outputs: they differ from double precision by {error:.1e}")
    return error


def _add_times(entry: dict[str, Any], turns: Turns) -> None:
    if turns.failure:
        entry |= {"status": "failed", "why": turns.failure}
    if turns.medians_ns:
        entry["turns_ms"] = [ns / 1e6 for ns in turns.medians_ns]
        entry["median_ms"] = float(np.median(turns.medians_ns)) / 1e6
        entry["min_ms"] = min(turns.least_ns) / 1e6


def ratios(entries: dict[str, dict[str, Any]], base: str | None) -> dict[str, Any]:
    """The comparisons of a row, of those that took part in all its rounds."""
    whole = {
        name: entry["turns_ms"]
        for name, entry in entries.items()
        if entry["status"] == "ok" and len(entry["turns_ms"]) >= FEWEST_PAIRS
    }
    found: dict[str, Any] = {}
    if TWIN in entries and entries[TWIN]["status"] != "ok":
        found["noise_why"] = f"second process of {base}: {entries[TWIN]['why']}"
    elif base in whole and TWIN in whole:
        ratio = paired_ratio(whole[TWIN], whole[base])
        found["noise"] = ratio.as_dict() | {"of": base, "turns_ms": whole[TWIN]}
    if OURS in whole:
        to_ours: dict[str, Ratio] = {
            name: paired_ratio(times, whole[OURS])
            for name, times in whole.items()
            if name not in (OURS, TWIN)
        }
        found["ratios"] = {name: ratio.as_dict() for name, ratio in to_ours.items()}
        rivals = [name for name in RIVALS if name in to_ours]
        if rivals:
            best = min(rivals, key=lambda name: to_ours[name].ratio)
            found["best"] = {"peer": best} | to_ours[best].as_dict()
            if STRASSEN in whole:
                ratio = paired_ratio(whole[best], whole[STRASSEN])
                found["best_to_strassen"] = ratio.as_dict()
    return found
