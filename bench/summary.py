"""Geometric means over the rows of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intervals import FEWEST_PAIRS, Ratio, geometric_mean, median
from peers import OURS, STRASSEN

# Comparisons with the faster rival, and whose they are.
JUDGED = {"best": OURS, "best_to_strassen": STRASSEN}


def summarize(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each suite and number of threads: the ratio to each peer, to the best, and the A/A."""
    found = []
    for suite, chosen in _suites(rows).items():
        for threads in sorted({row["threads"] for row in chosen}):
            some = [row for row in chosen if row["threads"] == threads]
            peers = {name for row in some for name in row.get("ratios", {})}
            for peer in [*sorted(peers), *JUDGED, "noise"]:
                pairs = [ratios for row in some if (ratios := _pairs(row, peer))]
                if pairs:
                    head = {"suite": suite, "threads": threads, "peer": peer, "rows": len(pairs)}
                    mean = _noise if peer == "noise" else geometric_mean
                    found.append(head | mean(pairs).as_dict())
    return found


def _noise(rows: Sequence[Sequence[float]]) -> Ratio:
    """Two processes of one program differ by a little of their own, where their memory lies, in all
    rounds of a row. So each row counts once if there are enough of them."""
    if len(rows) < FEWEST_PAIRS:
        return geometric_mean(rows)
    return median(median(row).ratio for row in rows)


def _suites(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    suites: dict[str, list[dict[str, Any]]] = {}
    for suite in dict.fromkeys(row["suite"] for row in rows):
        some = [row for row in rows if row["suite"] == suite]
        suites |= _by_shape(some)
        suites[suite] = some
    return suites


def _by_shape(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Operators with the shapes that the models have, and those with a larger batch: the ratios of
    the latter need not hold for a model."""
    shapes = {
        "original": [row for row in rows if row.get("scale") == 1],
        "enlarged": [row for row in rows if row.get("scale", 1) > 1],
    }
    return {name: some for name, some in shapes.items() if some}


def _pairs(row: dict[str, Any], peer: str) -> list[float]:
    """The ratio of each round; none if the row lacks the peer."""
    measured = row["measured"]
    if peer == "noise":
        if "noise" not in row:
            return []
        ours, theirs = measured[row["noise"]["of"]]["turns_ms"], row["noise"]["turns_ms"]
    elif peer in JUDGED and peer in row:
        best = row["best"]["peer"]
        ours, theirs = measured[JUDGED[peer]]["turns_ms"], measured[best]["turns_ms"]
    elif peer in row.get("ratios", {}):
        ours, theirs = measured[OURS]["turns_ms"], measured[peer]["turns_ms"]
    else:
        return []
    return [b / a for a, b in zip(ours, theirs, strict=True)]
