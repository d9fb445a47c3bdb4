"""Runs functions in forked child processes, so that a crash or a hang costs only one of them."""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

CRASHED = "crashed"
HUNG = "hung"


@dataclass(frozen=True)
class Result:
    """`error` is empty if the function returned, else its type and message."""

    error: str
    seconds: float


def run_forked(
    functions: dict[str, Callable[[], None]], jobs: int, timeout: float
) -> dict[str, Result]:
    """The result of each function. A child runs one after the other, until one kills it."""
    names = list(functions)
    results: dict[str, Result] = {}
    with selectors.DefaultSelector() as selector:
        for job in range(jobs):
            _start(selector, functions, names[job::jobs])
        while selector.get_map():
            for key, _ in selector.select(timeout=0.5):
                _read(selector, functions, key.data, results)
            for key in list(selector.get_map().values()):
                if time.monotonic() - key.data.since > timeout:
                    os.kill(key.data.pid, signal.SIGKILL)
    return {name: results[name] for name in names}


@dataclass
class _Child:
    pid: int
    pipe: int
    names: list[str]  # Still to run; the first one is running.
    since: float
    buffer: bytes = b""


def _start(selector: selectors.BaseSelector, functions: dict, names: list[str]) -> None:
    if not names:
        return
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _run_all(functions, names, writer)
    os.close(writer)
    selector.register(reader, selectors.EVENT_READ, _Child(pid, reader, names, time.monotonic()))


def _run_all(functions: dict, names: list[str], writer: int) -> None:
    for name in names:
        start = time.monotonic()
        try:
            functions[name]()
            error = ""
        except Exception as exception:  # Whatever it is, it is the result.
            error = f"{type(exception).__name__}: {exception}"
        line = json.dumps([name, error, time.monotonic() - start]) + "\n"
        with os.fdopen(os.dup(writer), "wb") as pipe:
            pipe.write(line.encode())
    os._exit(0)


def _read(
    selector: selectors.BaseSelector, functions: dict, child: _Child, results: dict[str, Result]
) -> None:
    data = os.read(child.pipe, 1 << 16)
    child.buffer += data
    *lines, child.buffer = child.buffer.split(b"\n")
    for line in lines:
        name, error, seconds = json.loads(line)
        results[name] = Result(error, seconds)
        child.names.remove(name)
        child.since = time.monotonic()
    if data:
        return
    selector.unregister(child.pipe)
    os.close(child.pipe)
    status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
    if child.names:
        killed, *rest = child.names
        seconds = time.monotonic() - child.since
        what = HUNG if status == -signal.SIGKILL else CRASHED
        results[killed] = Result(f"{what} (exit status {status})", seconds)
        _start(selector, functions, rest)
