"""A participant's process, as the benchmark sees it: questions, answers, and how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")
# Compilers among the peers take most of a minute; a slow core takes several times that.
SECONDS_TO_LOAD = 400
# What a user may have set for other work would change threads, kernels or memory of a participant.
INFLUENCES = (
    "AOE_",
    "ASCEND_",
    "ATEN_",
    "CC",
    "CXX",
    "DNNL_",
    "GLIBC_TUNABLES",
    "GOMP_",
    "IREE_",
    "KMP_",
    "LD_",
    "MALLOC_",
    "MKL_",
    "OMP_",
    "ONEDNN_",
    "OPENBLAS_",
    "OPENVINO_",
    "ORT_",
    "OV_",
    "PYTHON",
    "PYTORCH_",
    "TBB_",
    "TE_",
    "TORCH",
    "TUNE_",
    "TUNING_",
    "TVM_",
)
# Nor has a table policies that its reader does not have.
WITHOUT_BANKS = {"AOE_BUILTIN": "off", "ASCEND_CACHE_PATH": os.devnull}


class Failure(Exception):
    """Why a participant has no figure. The benchmark goes on without it."""


class Process:
    """Runs `command`, a worker, in a process group of its own; its chatter goes to `log`."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        # What compilers leave behind when they are killed.
        self._scratch = log.with_suffix(".scratch")
        self._paused = False
        self._pending = b""
        self._scratch.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as chatter:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=chatter,
                start_new_session=True,
                env=undisturbed_environment() | {"TMPDIR": str(self._scratch)},
            )

    def ask(self, doing: str, seconds: float, **request: Any) -> dict[str, Any]:
        """The answer to `request`, or a Failure that says what happened while `doing` it."""
        self.resume()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failure(self._death(doing)) from None
        answer = json.loads(self._line(doing, seconds))
        if "failed" in answer:
            raise Failure(f"{_short(answer['failed'])}, while {doing} (log: {self._log})")
        return answer

    def pause(self) -> None:
        """Its threads cannot spin beside another participant's turn."""
        self._signal(signal.SIGSTOP)
        self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._signal(signal.SIGCONT)
            self._paused = False

    def close(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):  # A question that was never read.
            self._process.stdin.close()
        self._process.stdout.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _line(self, doing: str, seconds: float) -> bytes:
        end = time.monotonic() + seconds
        while b"\n" not in self._pending:
            if not select.select([self._process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                self.close()
                raise Failure(f"no answer within {seconds:.0f} s, while {doing}")
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                raise Failure(self._death(doing))
            self._pending += piece
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def _death(self, doing: str) -> str:
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.close()
            return f"closed its output, while {doing} (log: {self._log})"
        if code < 0:
            return f"killed by {signal.Signals(-code).name}, while {doing} (log: {self._log})"
        return f"exited with code {code}, while {doing} (log: {self._log})"

    def _signal(self, number: signal.Signals) -> None:
        signal_group(self._process, number)


def signal_group(process: subprocess.Popen, number: signal.Signals) -> None:
    """To the process and those that it started. One that has ended is left in peace."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def undisturbed_environment() -> dict[str, str]:
    """This process's, without what would make a participant run otherwise than the table says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(INFLUENCES)}
    return kept | WITHOUT_BANKS


def _short(text: str) -> str:
    """The first lines: compilers go on with pages of their representation."""
    return " ".join(text.split("\n")[:4]).strip()[:300] or "unknown error"
