"""Writes down what it is told to do, and where."""

import os
import time
from pathlib import Path

from fakes import ENVIRONMENT, PACKAGE, Negation  # noqa: F401


class load(Negation):
    def __init__(self, model, inputs, threads):
        super().__init__(model, inputs, threads)
        self._diary = Path(model).with_name("diary")
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        shown = [name for name in os.environ if name.startswith(("OMP_", "HOME"))]
        self._diary.write_text(f"{threads} threads on {cpus} with {shown}\n")

    def run(self):
        super().run()
        with self._diary.open("a") as diary:
            diary.write("call\n")
        time.sleep(0.002)
