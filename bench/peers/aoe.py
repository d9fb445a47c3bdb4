"""The aoe that this source tree builds."""

from __future__ import annotations

import numpy as np

NAME = "aoe"
ENVIRONMENT = None  # The build of this source tree.
PACKAGE = "aoe"
SETTINGS = (
    "threads = the row's threads; in the tuning suite what `aoe --job_type=2` came to by its "
    "--budget, from an empty bank"
)
DOCUMENTATION: list[str] = []
NOTE = "default kernels, not tuned; those of the tuning suite are"


class Session:
    def __init__(
        self, model: str, inputs: dict[str, np.ndarray], threads: int, **options: bool
    ) -> None:
        import aoe

        self._model = aoe.load(model, threads=threads, **options)
        self._inputs = inputs

    def run(self) -> None:
        self._model.run(self._inputs)

    def outputs(self) -> dict[str, np.ndarray]:
        return self._model.run(self._inputs)


load = Session
