"""Python environments: one a peer, so that no peer's packages bend another's."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from process import Failure

REQUIREMENTS = Path(__file__).with_name("peers")
PIP = ["-m", "pip", "--disable-pip-version-check", "-q"]


class Environments:
    """Below `folder`; an environment is made when it is first asked for."""

    def __init__(self, folder: Path, requirements: Path | None = None) -> None:
        self._folder = folder
        self._requirements = requirements or REQUIREMENTS
        self._failed: dict[str, str] = {}

    def python(self, name: str | None) -> Path:
        """The interpreter that has the packages of `<name>.txt`; None is this one."""
        if name is None:
            return Path(sys.executable)
        if name in self._failed:
            raise Failure(self._failed[name])
        requirements = self._requirements / f"{name}.txt"
        home = self._folder / name
        python, stamp = home / "bin" / "python", home / "installed"
        wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
        if python.exists() and stamp.exists() and stamp.read_text() == wanted:
            return python
        print(f"installing {name} into {home}", end="  ", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        home.parent.mkdir(parents=True, exist_ok=True)
        log = self._folder / f"{name}.log"
        steps = [
            # Not this environment's interpreter, whose packages would be seen.
            [getattr(sys, "_base_executable", sys.executable), "-m", "venv", str(home)],
            [str(python), *PIP, "install", "--no-deps", "-r", str(requirements)],
        ]
        with log.open("wb") as output:
            for step in steps:
                if subprocess.run(step, stdout=output, stderr=output).returncode != 0:
                    self._failed[name] = f"could not be installed (log: {log})"
                    raise Failure(self._failed[name])
        stamp.write_text(wanted)
        return python
