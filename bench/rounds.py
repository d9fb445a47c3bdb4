"""Interleaved rounds: every participant has one turn in each, in random order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from intervals import FEWEST_PAIRS
from process import SECONDS_TO_LOAD, Failure, Process

TURN_NS = 12_000_000
# Where one participant's call makes the round long anyway, the others' turns may grow with it.
LONGEST_TURN_NS = 200_000_000
FEWEST_ROUNDS = 12  # From here on the interval leaves out the extremes.
MOST_ROUNDS = 200
LONG_ROUND_S = 5  # Of these the fewest have to do that give an interval at all.
# The first call of a turn pays for what others left in the caches, so it is not counted; a call as
# long as this reaches its own steady state in its first part.
LONG_CALL_NS = 1_000_000_000
SECONDS_TO_ANSWER = 60


@dataclass
class Turns:
    """What one participant did: for each round the median and the least time of its calls."""

    medians_ns: list[float] = field(default_factory=list)
    least_ns: list[float] = field(default_factory=list)
    failure: str | None = None


def measure(
    processes: Mapping[str, Process], length: float, fewest: int, seed: int
) -> dict[str, Turns]:
    """As many rounds as `length` seconds allow, but `fewest`; who fails is left behind.

    Everybody has run once before.
    """
    turns = {name: Turns() for name in processes}
    expected = {}
    for name, process in processes.items():
        try:
            expected[name] = min(_turn(process, TURN_NS, warm=False, seconds=SECONDS_TO_LOAD))
        except Failure as failure:
            turns[name].failure = str(failure)
        process.pause()
    order = random.Random(seed)
    turn = int(np.clip(max(expected.values(), default=0) / 10, TURN_NS, LONGEST_TURN_NS))
    a_round = sum(max(call * 1.5, turn * 1.3) for call in expected.values()) / 1e9
    least = fewest if a_round < LONG_ROUND_S else FEWEST_PAIRS
    count = int(np.clip(length / max(a_round, 1e-3), least, MOST_ROUNDS))
    print(f"measuring {count} rounds, about {count * a_round:.0f} s", flush=True)
    for _ in range(count):
        names = [name for name in expected if turns[name].failure is None]
        order.shuffle(names)
        for name in names:
            try:
                call = expected[name]
                seconds = SECONDS_TO_ANSWER + 20 * call / 1e9
                taken = _turn(processes[name], turn, call < LONG_CALL_NS, seconds)
            except Failure as failure:
                turns[name].failure = str(failure)
                continue
            finally:
                processes[name].pause()
            turns[name].medians_ns.append(float(np.median(taken)))
            turns[name].least_ns.append(float(min(taken)))
    return turns


def _turn(process: Process, nanoseconds: int, warm: bool, seconds: float) -> list[int]:
    return process.ask("timing", seconds, do="time", nanoseconds=nanoseconds, warm=warm)["ns"]
