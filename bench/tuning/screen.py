"""What the tuning suite shows on the screen."""

from __future__ import annotations

import sys
from typing import Any

from peers import OURS
from show import words

from tuning.tuner import Outcome

# On a terminal the line is rewritten; a file gets a new one, so fewer.
TERMINAL_SECONDS = 1.0
FILE_SECONDS = 10.0


class SignOfLife:
    """Shows that a tuner is at work, and how far it is."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.next = 0.0
        self.every = TERMINAL_SECONDS if sys.stderr.isatty() else FILE_SECONDS

    def __call__(self, seconds: float, outcome: Outcome) -> None:
        if seconds < self.next:
            return
        self.next = seconds + self.every
        best = f"best {outcome.points[-1][1]:.3f} ms" if outcome.points else "nothing measured yet"
        text = f"{self.label}: {seconds:.0f} s, {outcome.trials} trials, {best}"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def finish(self) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def line(item: dict[str, Any]) -> str:
    head = f"{item['case']:32} {item['participant']:12} {item['threads']} thread(s)"
    end = "" if item["status"] == "ok" else f"; {item['status']}: {item['why']}"
    if not item["points"]:
        return f"{head}  nothing measured in {item['seconds']:.0f} s{end}"
    best_ms = item["points"][-1][1]
    seconds = next(seconds for seconds, ms in item["points"] if ms == best_ms)
    first_seconds, first_ms = item["points"][0]
    rate = item["flops"] / best_ms * 1e-6
    return (
        f"{head}  saw {best_ms:8.3f} ms ({rate:6.1f} GFLOP/s) after {seconds:5.0f} s;"
        f" first {first_ms:.3f} ms after {first_seconds:.0f} s;"
        f" {item['trials']} trials, {item['seconds']:.0f} s in all{end}"
    )


def compared(row: dict[str, Any]) -> str:
    """What a row says of that which was found."""
    parts = [
        f"{name} {words.digits(e['median_ms'])} ms, error {words.error(e['error'])}"
        if e["status"] == "ok"
        else f"{name} {e['status']}: {e['why']}"
        for name, e in row["measured"].items()
    ]
    parts += [f"{name} / {OURS} {words.ratio(r)}" for name, r in row.get("ratios", {}).items()]
    return "    " + "; ".join([*parts, f"A/A {words.ratio(row.get('noise'))}"])
