"""Participants of the benchmark that compute y = -x, and misbehave in a known way."""

import numpy as np

ENVIRONMENT = None
PACKAGE = "numpy"


class Negation:
    """Right, and quick."""

    def __init__(self, model: str, inputs: dict[str, np.ndarray], threads: int) -> None:
        self._inputs = inputs
        self.calls = 0

    def run(self) -> None:
        self.calls += 1

    def outputs(self) -> dict[str, np.ndarray]:
        return {"y": -self._inputs["x"]}
