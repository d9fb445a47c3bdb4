"""The process of one participant: it does what lines of JSON on its standard input say.

    worker.py MODULE CPU[,CPU]

MODULE is the participant's, as peers.openvino.

Answers are lines of JSON on the standard output that the process was started with. What the peer's
libraries print goes to standard error instead.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import json
import os
import signal
import sys
import time
import traceback
from typing import Any, TextIO


class Worker:
    def __init__(self, module: str) -> None:
        self._peer = importlib.import_module(module)
        self._session: Any = None

    def load(self, model: str, inputs: str, threads: int) -> dict[str, Any]:
        import numpy as np

        with np.load(inputs) as arrays:
            feeds = {name: arrays[name] for name in arrays.files}
        start = time.perf_counter()
        self._session = self._peer.load(model, feeds, threads)
        return {"seconds": time.perf_counter() - start, "version": _version(self._peer.PACKAGE)}

    def outputs(self, to: str) -> dict[str, Any]:
        import numpy as np

        # By position: an output's name may hold what an archive's member may not.
        found = self._session.outputs()
        np.savez(to, *found.values())
        return {"names": list(found)}

    def time(self, nanoseconds: int, warm: bool) -> dict[str, Any]:
        """Calls until `nanoseconds` have passed, at least once, after one that is not counted."""
        run, clock = self._session.run, time.perf_counter_ns
        if warm:
            run()
        taken = []
        now = clock()
        end = now + nanoseconds
        while not taken or now < end:
            start = now
            run()
            now = clock()
            taken.append(now - start)
        return {"ns": taken}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # A build that is not installed.
        return importlib.import_module(package).__version__


def serve(worker: Worker, requests: TextIO, answers: TextIO) -> None:
    for line in requests:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except BaseException as error:
            traceback.print_exc()
            answer = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def die_with_parent() -> None:
    """Even while stopped, when the end of standard input would not be seen."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def main() -> None:
    module, cpus = sys.argv[1:]
    die_with_parent()
    # Before any library is loaded: several choose their number of threads by it.
    os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        worker = Worker(module)
    except Exception as error:
        answers.write(json.dumps({"failed": f"{type(error).__name__}: {error}"}) + "\n")
        return
    serve(worker, sys.stdin, answers)


if __name__ == "__main__":
    main()
