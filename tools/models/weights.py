"""Where the numbers of a generated model come from."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from models.builder import WeightSource

_SAFETENSORS_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64}


def seeded(seed: int = 0, gain: float = 1) -> WeightSource:
    """Random weights that keep the activations of a deep residual network moderate.

    A weight depends on the seed and its name alone, not on the order of calls. `gain` makes up
    for activations that damp, where too few residual connections carry the input past them.
    """

    def source(name: str, shape: tuple[int, ...]) -> np.ndarray:
        random = np.random.default_rng([seed, zlib.crc32(name.encode())])
        if name.endswith("running_var"):
            values = random.uniform(0.5, 1.5, shape)
        elif len(shape) > 1:
            values = random.normal(0, gain / math.sqrt(math.prod(shape[1:])), shape)
        elif name.endswith("weight"):
            values = random.uniform(0.8, 1.2, shape)
        else:
            values = random.normal(0, 0.1, shape)
        return values.astype(np.float32)

    return source


def from_mapping(arrays: Mapping[str, np.ndarray]) -> WeightSource:
    """The weights of a trained model."""

    def source(name: str, shape: tuple[int, ...]) -> np.ndarray:
        if name not in arrays:
            raise KeyError(f"there is no weight {name} among {sorted(arrays)[:3]} ...")
        return arrays[name]

    return source


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """All tensors of a .safetensors file: a length, a JSON header, the data."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(raw[start + begin : start + end], _SAFETENSORS_TYPES[entry["dtype"]])
        arrays[name] = flat.reshape(entry["shape"])
    return arrays
