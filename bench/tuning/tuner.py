"""Runs a tuner in a process of its own and collects what it says.

A tuner writes JSON lines: {"seconds", "trials", "best_ms"} as it goes, with the seconds since
its start and the best latency so far; at the end {"done": true, ...}, or {"failed": why}.
Whatever else happens to the process, the points that came before are kept.
"""

from __future__ import annotations

import json
import math
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from process import signal_group, undisturbed_environment

# Between two looks at the process; also how long its end can go unnoticed.
POLL_SECONDS = 0.2
# What a process that has ended may still have in its pipe arrives in less than this.
DRAIN_SECONDS = 2.0


@dataclass
class Outcome:
    """What became of a tuner. `why` is None if it came to its end as it should."""

    why: str | None = None
    seconds: float = 0.0
    trials: int = 0
    points: list[list[float]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Adds one line of the tuner; a line that is none of the known ones is a failure."""
        try:
            said = json.loads(line)
            if said.get("done"):
                self.result = said
                self.trials = int(said.get("trials", self.trials))
            elif "failed" in said:
                self.why = str(said["failed"])
            else:
                self.add_point(float(said["seconds"]), int(said["trials"]), float(said["best_ms"]))
        except (ValueError, TypeError, KeyError, AttributeError):
            self.why = f"wrote a line that is no point: {line.strip()[:80]!r}"

    def add_point(self, seconds: float, trials: int, best_ms: float) -> None:
        earlier, best_before = self.points[-1] if self.points else (0.0, math.inf)
        if not (math.isfinite(seconds) and seconds >= earlier):
            raise ValueError("time runs forward")
        if not (math.isfinite(best_ms) and best_ms > 0):
            raise ValueError("a latency is positive")
        self.points.append([seconds, min(best_ms, best_before)])
        self.trials = trials


def ending(code: int) -> str:
    if code < 0:
        try:
            return f"killed by signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"killed by signal {-code}"
    return f"ended with exit code {code} and without a result"


def read_lines(stream, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def follow(
    command: Sequence[str],
    log: Path,
    deadline: float,
    environment: dict[str, str] | None = None,
    on_progress: Callable[[float, Outcome], None] = lambda seconds, outcome: None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Runs the tuner until it ends, or until `deadline` seconds are over.

    Its standard error goes to `log`. `on_progress` is called several times a second with the
    seconds since the start.
    """
    outcome = Outcome()
    start = clock()
    with log.open("wb") as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                cwd=log.parent,
                env=undisturbed_environment() | (environment or {}),
                start_new_session=True,
            )
        except OSError as problem:
            outcome.why = f"could not be started: {problem}"
            return outcome
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=read_lines, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        listen(process, lines, outcome, lambda: clock() - start, deadline, on_progress)
    finally:
        signal_group(process, signal.SIGKILL)
        code = process.wait()
        reader.join(DRAIN_SECONDS)
    outcome.seconds = clock() - start
    if outcome.why is None and not outcome.result:
        outcome.why = ending(code)
    return outcome


def listen(
    process: subprocess.Popen,
    lines: queue.Queue[str | None],
    outcome: Outcome,
    elapsed: Callable[[], float],
    deadline: float,
    on_progress: Callable[[float, Outcome], None],
) -> None:
    """Takes lines until the result, the first wrong one, the tuner's end, or the deadline."""
    ended_at = math.inf
    while outcome.why is None:
        seconds = elapsed()
        on_progress(seconds, outcome)
        try:
            line = lines.get(timeout=POLL_SECONDS)
        except queue.Empty:
            line = ""
        if line is None:
            try:
                process.wait(DRAIN_SECONDS)
            except subprocess.TimeoutExpired:
                outcome.why = "closed its output without a result"
            return
        if line:
            outcome.take(line)
            if outcome.result:
                return  # Whether it also ends well is of no interest.
        elif process.poll() is not None:
            # A child of the tuner may hold the pipe open long after the tuner's own end.
            ended_at = min(ended_at, seconds)
            if seconds - ended_at > DRAIN_SECONDS:
                return
        if seconds > deadline:
            outcome.why = f"did not end within {deadline:.0f} s"
