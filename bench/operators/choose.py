#!/usr/bin/env python3
"""Chooses the operator suite from where eight of the nine models spend their time.

Each operator of the models is estimated on a nominal core, so that the choice depends on the
models alone and is the same on all machines. A workload's share is its part of the estimated time
of a model, averaged over the eight: all of them count the same.
Within a family the largest shares win, but models take turns, so that four convolutions are not
four of one network. What is too short to be timed well gets a larger batch.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

from models.zoo import ZOO, outline
from work import FREE

from operators.cases import FILE, Operand, Workload
from operators.census import workloads_of
from operators.families import FAMILIES, REDUCTIONS, family_of
from operators.names import name_of, title_of

# All but BERT at 512 tokens: its operators are those of BERT at 128, which would count twice.
THE_EIGHT = tuple(
    name for name, model in ZOO.items() if model.suite == "models" and name != "bert_512"
)

# The nominal core: of the order of one core of a processor of today.
FLOPS_PER_S = 100e9
BYTES_PER_S = 10e9

# Leaves 200 us to a core that is half as fast again.
SHORTEST_S = 300e-6
# Caches are several times faster than the nominal memory.
LEAST_TRAFFIC = 16_000_000

# A workload with less than this part of its family's largest share takes no turn.
NEGLIGIBLE = 0.1


@dataclass
class Use:
    """How much the eight models use a workload."""

    count: int = 0
    shares: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def share(self) -> float:
        return sum(self.shares.values()) / len(THE_EIGHT)


def is_memory_bound(workload: Workload) -> bool:
    return workload.bytes / BYTES_PER_S > workload.flops / FLOPS_PER_S


def estimate_s(workload: Workload) -> float:
    """The time on the nominal core."""
    # Every engine folds batch norm into the convolution before it.
    if workload.op in FREE or workload.op == "BatchNormalization":
        return 0
    moved = workload.bytes
    if workload.op == "Gather":
        # Of the table only what is taken is read.
        moved = 2 * Workload("", (), (), workload.outputs).bytes
    return max(workload.flops / FLOPS_PER_S, moved / BYTES_PER_S)


def uses_of_the_eight() -> dict[Workload, Use]:
    uses: dict[Workload, Use] = defaultdict(Use)
    for model in THE_EIGHT:
        found = Counter(workloads_of(outline(model)))
        total = sum(count * estimate_s(workload) for workload, count in found.items())
        for workload, count in found.items():
            uses[workload].count += count
            uses[workload].shares[model] += count * estimate_s(workload) / total
    return dict(uses)


def batch_factor(family: str, workload: Workload) -> int | None:
    """The smallest power of two that makes a case long enough; None if nothing does."""
    factor = 1
    while not _is_long_enough(workload.enlarged(factor)):
        # A second row would make it a product of matrices.
        if family == "matrix-vector":
            return None
        factor *= 2
    return factor


def _is_long_enough(workload: Workload) -> bool:
    if estimate_s(workload) < SHORTEST_S:
        return False
    return not is_memory_bound(workload) or workload.bytes >= LEAST_TRAFFIC


def choose(family: str, uses: dict[Workload, Use]) -> list[Workload]:
    """The cases of a family, the models taking turns."""
    candidates = [w for w in uses if family_of(w) == family and batch_factor(family, w)]
    candidates.sort(key=lambda w: -uses[w].share)
    largest = max((uses[w].share for w in candidates), default=0)
    candidates = [w for w in candidates if uses[w].share >= NEGLIGIBLE * largest]
    if len(candidates) < FAMILIES[family]:
        raise ValueError(
            f"the models have {len(candidates)} operators for the {FAMILIES[family]} cases of "
            f"{family}: change the number in families.py"
        )
    turns: Counter[str] = Counter()
    chosen: list[Workload] = []
    while len(chosen) < FAMILIES[family]:
        # The first of equals is the one with the largest share.
        best = min(candidates, key=lambda w: min(turns[model] for model in uses[w].shares))
        candidates.remove(best)
        chosen.append(best)
        turns.update(uses[best].shares.keys())
    return chosen


def reductions(activation: Workload) -> list[Workload]:
    """Means over each axis of an activation; the models themselves reduce by pooling alone."""
    shape = activation.outputs[0][-3:]
    return [
        Workload(
            "ReduceMean",
            (("axes", (axis,)), ("keepdims", 0)),
            (Operand(shape),),
            (shape[:axis] + shape[axis + 1 :],),
        )
        for axis in range(len(shape))
    ]


def suite() -> list[dict[str, Any]]:
    """The forty cases, as `operators.json` has them."""
    uses = uses_of_the_eight()
    (residual,) = choose("residual add", uses)
    cases = []
    for family in FAMILIES:
        if family in REDUCTIONS:
            workload = reductions(residual)[REDUCTIONS.index(family)]
            use = Use(0, dict.fromkeys(uses[residual].shares, 0.0))
            cases.append(_case(family, workload, use))
        else:
            cases += [_case(family, workload, uses[workload]) for workload in choose(family, uses)]
    return cases


def _case(family: str, workload: Workload, use: Use) -> dict[str, Any]:
    factor = batch_factor(family, workload) or 1
    workload = workload.enlarged(factor)
    return {
        "name": name_of(family, workload),
        "title": title_of(family, workload),
        "family": family,
        "op": workload.op,
        "attributes": dict(workload.attributes),
        "inputs": [_input(operand) for operand in workload.inputs],
        "outputs": [{"shape": shape} for shape in workload.outputs],
        "scale": factor,
        "from": list(use.shares),
        "uses": use.count,
        "share": round(use.share, 6),
    }


def _input(operand: Operand) -> dict[str, Any]:
    entry = {"shape": operand.shape, "constant": operand.constant}
    return entry if operand.values is None else {**entry, "values": operand.values}


def text() -> str:
    """One case a line, so that a change of the choice is easy to read."""
    lines = [json.dumps(case) for case in suite()]
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(text())
