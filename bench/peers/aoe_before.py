"""Another build of aoe, for instance of an earlier commit: what a change costs or gains."""

from __future__ import annotations

import os
import sys

import numpy as np

# Where its Python package is: a variable, since workers are started by their module's name.
FOLDER = "BENCH_BEFORE"

NAME = "aoe before"
ENVIRONMENT = None
PACKAGE = "aoe"
SETTINGS = "the same as aoe's, by the build that --before names"
DOCUMENTATION: list[str] = []


def load(model: str, inputs: dict[str, np.ndarray], threads: int):
    sys.path.insert(0, os.environ[FOLDER])
    from peers import aoe as ours

    return ours.Session(model, inputs, threads)
