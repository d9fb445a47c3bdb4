"""Kills tuning jobs at random moments, and looks at what is left.

    tests/python/tune_kills.py MODEL.onnx [KILLS [SEED]]

Each time the whole process group of the tuner is killed; the bank must pass its check, the result
file must parse and say that tuning is incomplete, and --reload goes on. When a job has come to its
end, it is replayed from its journal, which must give the same result once more, byte for byte.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cli import BINARY

INCOMPLETE = "tune tuning incomplete"


class Job:
    """A tuning job in a folder of its own, which is killed and resumed."""

    def __init__(self, folder: Path, model: Path, budget: str = "8s", **environment: str) -> None:
        self.folder = folder
        self.model = model
        self.budget = budget
        self.log = "error"
        self.bank = folder / "banks"
        self.bank.mkdir()
        self.environment = os.environ | {"TUNE_BANK_PATH": str(self.bank)} | environment

    def start(self, *options: str, reload: bool) -> subprocess.Popen[bytes]:
        command = [str(BINARY), f"--model={self.model}", "--job_type=2", "--aicore_num=1"]
        command += [f"--log={self.log}", "--progress_bar=off", f"--budget={self.budget}", *options]
        if reload:
            (folder,) = self.folder.glob("aoe_workspace/*")
            command.append(f"--reload={folder}")
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def begun(self) -> bool:
        return any(self.folder.glob("aoe_workspace/*/journal.db"))

    def entries(self) -> list[tuple]:
        (journal,) = self.folder.glob("aoe_workspace/*/journal.db")
        with sqlite3.connect(journal) as database:
            return database.execute("SELECT * FROM entry ORDER BY number").fetchall()

    def results(self) -> list[Path]:
        return sorted(self.folder.glob("aoe_result_opat_*.json"), key=lambda p: p.stat().st_mtime)

    def check(self) -> None:
        """What must hold at every moment."""
        banks = list(self.bank.glob("*/op.db"))
        for bank in banks:
            done = subprocess.run(
                [str(BINARY), "bank", "check", "--bank", str(bank)],
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr.decode()
        for result in self.results():
            json.loads(result.read_text())

    def has_operators(self) -> bool:
        return len(json.loads(self.results()[-1].read_text())) > 1

    def opat(self) -> dict:
        """The part of the newest result file that tells of operators."""
        return json.loads(self.results()[-1].read_text())[1]["OPAT"]

    def state(self) -> str:
        return self.opat()["opat_tuning_result"]


def finished(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error.decode()
    return out.decode(), error.decode()


def replays(job: Job) -> None:
    """The end is the same as replay's."""
    before = job.entries()
    last = job.results()[-1].read_text()
    finished(job.start(reload=True))
    assert job.entries() == before, "replay has measured something"
    again = job.results()[-1].read_text()
    assert again == last, "replay has come to another result"


def kill_jobs(model: Path, kills: int, seed: int, say=print) -> int:
    """Gives how many jobs came to their end."""
    dice = random.Random(seed)
    ended = 0
    killed = 0
    while killed < kills:
        folder = Path(tempfile.mkdtemp(prefix="aoe-kills-"))
        job = Job(folder, model)
        while True:
            process = job.start(reload=job.begun())
            try:
                process.wait(timeout=dice.uniform(0.05, 4))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                killed += 1
                job.check()
                if not job.results() or job.state() == INCOMPLETE:
                    continue
                # Killed behind the end: all is written.
                break
            out, _ = finished(process)
            assert "Aoe process finished" in out
            break
        job.check()
        assert job.state() == "tuning successful", job.state()
        replays(job)
        ended += 1
        say(f"{killed} kills, {ended} jobs came to the same end as their journals", flush=True)
        shutil.rmtree(folder)
    return ended


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    began = time.monotonic()
    kill_jobs(Path(sys.argv[1]).absolute(), count, int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    print(f"{count} kills in {time.monotonic() - began:.0f} s")
