"""Ratios of paired measurements, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

CONFIDENCE = 0.99
# Fewer pairs than this have no interval of that confidence: even the one from the smallest to the
# largest ratio misses the median in 2 of 2^n cases.
FEWEST_PAIRS = 8


@dataclass(frozen=True)
class Ratio:
    ratio: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def rank_of_bound(n: int) -> int:
    """The k for which the k-th smallest and k-th largest of n values enclose the median."""
    tail, k = 0.0, 0
    while True:
        tail += math.comb(n, k) / 2**n
        if 2 * tail > 1 - CONFIDENCE:
            return k
        k += 1


def paired_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Ratio:
    """The median ratio of pairs, with an interval that assumes nothing of their distribution."""
    return median(a / b for a, b in zip(numerators, denominators, strict=True))


def median(values: Iterable[float]) -> Ratio:
    """Of ratios that are independent of each other."""
    ratios = sorted(values)
    if len(ratios) < FEWEST_PAIRS:
        raise ValueError(f"{len(ratios)} pairs are too few for an interval; {FEWEST_PAIRS} are not")
    k = rank_of_bound(len(ratios))
    # Of the logarithms, so that the ratio of b to a is one over that of a to b.
    return Ratio(float(np.exp(np.median(np.log(ratios)))), ratios[k - 1], ratios[-k])


def geometric_mean(rows: Sequence[Sequence[float]], seed: int = 0, draws: int = 4000) -> Ratio:
    """Of the median ratio of each row; the interval by drawing each row's pairs again."""
    if len(rows) == 1:  # Drawing again covers too little with one row of few pairs.
        return median(rows[0])
    random = np.random.default_rng(seed)
    logs = [np.log(np.asarray(row)) for row in rows]
    middle = np.mean([np.median(row) for row in logs])
    drawn = np.zeros(draws)
    for row in logs:
        picks = random.integers(0, len(row), size=(draws, len(row)))
        drawn += np.median(row[picks], axis=1) / len(logs)
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return Ratio(float(np.exp(middle)), float(np.exp(low)), float(np.exp(high)))
