"""The aoe of this source tree with kernels that were tuned with Strassen's algorithm allowed."""

from __future__ import annotations

import numpy as np

NAME = "aoe strassen"
ENVIRONMENT = None
PACKAGE = "aoe"
SETTINGS = "the same as aoe's, tuned and loaded with allow_strassen"
DOCUMENTATION: list[str] = []
NOTE = "kernels tuned like those of aoe, with Strassen's algorithm allowed"


def load(model: str, inputs: dict[str, np.ndarray], threads: int):
    from peers import aoe as ours

    return ours.Session(model, inputs, threads, allow_strassen=True)
