"""The catalogue of models that tests and benchmarks run: how to make each, and its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx

from models import bert, efficientnet, gpt2, mobilenetv2, narrow, real, resnet, unet, vit
from models.builder import WeightSource, serialize
from models.weights import seeded

Inputs = dict[str, np.ndarray]


Architecture = Callable[[WeightSource | None], onnx.ModelProto]


# How far outputs may be from those in double precision, as a part of the largest one. Whoever is
# beyond it computes something else, or in another precision: f16 rounds a single number by up to
# 4.9e-4.
MOST_ERROR = 4e-4


@dataclass(frozen=True)
class ZooModel:
    """A model and its inputs, both made when asked for."""

    name: str
    title: str
    build: Callable[[], bytes]
    inputs: Callable[[np.random.Generator], Inputs]
    suite: str  # "models": random weights; "real": trained ones; "narrow": f16 or int8; "operators"
    most_error: float = MOST_ERROR


BERT_128 = bert.BertConfig(layers=4, tokens=128)
BERT_512 = bert.BertConfig(layers=4, tokens=512)

# An activation of a random network has thousands of numbers of one distribution: a few inputs show
# its range.
_CALIBRATION_INPUTS = 4

# Rectifiers halve the mean square, and these networks have few or no residual connections.
RECTIFIED = math.sqrt(2)


def image(size: int) -> Callable[[np.random.Generator], Inputs]:
    """An image with the mean and deviation that networks are trained for: zero and one."""
    shape = (1, 3, size, size)
    return lambda random: {"image": random.standard_normal(shape, dtype=np.float32)}


def text(config: bert.BertConfig) -> Callable[[np.random.Generator], Inputs]:
    """Tokens, none of them masked."""
    shape = (1, config.tokens)
    return lambda random: {
        "input_ids": random.integers(0, config.vocabulary, size=shape),
        "attention_mask": np.ones(shape, dtype=np.int64),
        "token_type_ids": np.zeros(shape, dtype=np.int64),
    }


def token(config: gpt2.GPT2Config) -> Callable[[np.random.Generator], Inputs]:
    """A token, and keys and values as if of those before."""
    shape = (config.batch, config.heads, config.cache, config.hidden // config.heads)

    def inputs(random: np.random.Generator) -> Inputs:
        given = {"input_ids": random.integers(0, config.vocabulary, size=(config.batch, 1))}
        for layer in range(config.layers):
            for part in ("key", "value"):
                given[f"past.{layer}.{part}"] = random.standard_normal(shape, dtype=np.float32)
        return given

    return inputs


# The networks that are generated: the gain of their random weights, and what they consist of.
_ARCHITECTURES: dict[str, tuple[float, Architecture]] = {
    "resnet18": (1, lambda w: resnet.resnet(resnet.RESNET18, w)),
    "resnet50": (1, lambda w: resnet.resnet(resnet.RESNET50, w)),
    "mobilenetv2": (
        RECTIFIED,
        lambda w: mobilenetv2.mobilenetv2(mobilenetv2.MobileNetV2Config(), w),
    ),
    "efficientnet_b0": (
        RECTIFIED,
        lambda w: efficientnet.efficientnet(efficientnet.EfficientNetConfig(), w),
    ),
    "bert_128": (1, lambda w: bert.bert(BERT_128, w)),
    "bert_512": (1, lambda w: bert.bert(BERT_512, w)),
    "vit_tiny": (1, lambda w: vit.vit(vit.ViTConfig(), w)),
    "unet": (RECTIFIED, lambda w: unet.unet(unet.UNetConfig(), w)),
    "gpt2_step": (1, lambda w: gpt2.gpt2_step(gpt2.GPT2Config(), w)),
}


def outline(name: str) -> onnx.ModelProto:
    """A generated model without the numbers of its weights: quick, and enough to read shapes."""
    _, architecture = _ARCHITECTURES[name]
    return architecture(None)


def _generated(name: str, title: str, inputs: Callable[[np.random.Generator], Inputs]) -> ZooModel:
    gain, architecture = _ARCHITECTURES[name]

    def build() -> bytes:
        return serialize(architecture(seeded(gain=gain)))

    return ZooModel(name, title, build, inputs, "models")


def _real(
    name: str,
    title: str,
    build: Callable[[], bytes],
    inputs: Callable[[np.random.Generator], Inputs],
) -> ZooModel:
    return ZooModel(name, title, build, inputs, "real")


def _half(model: ZooModel) -> ZooModel:
    def build() -> bytes:
        return serialize(narrow.half(onnx.load_from_string(model.build())))

    def inputs(random: np.random.Generator) -> Inputs:
        return {
            name: array.astype(np.float16) if array.dtype == np.float32 else array
            for name, array in model.inputs(random).items()
        }

    # Every intermediate result may be rounded.
    return ZooModel(f"{model.name}_f16", f"{model.title}, f16", build, inputs, "narrow", 0.03)


def _quantized(model: ZooModel) -> ZooModel:
    def build() -> bytes:
        # Seeded, so that each build has the same scales; and other inputs than are measured.
        random = np.random.default_rng(1)
        samples = [model.inputs(random) for _ in range(_CALIBRATION_INPUTS)]
        return serialize(narrow.quantized(onnx.load_from_string(model.build()), samples))

    # Next to the middle between two integers, the last bit of a float decides.
    return ZooModel(
        f"{model.name}_int8", f"{model.title}, int8", build, model.inputs, "narrow", 0.1
    )


_ALL = (
    _generated("resnet18", "ResNet-18", image(224)),
    _generated("resnet50", "ResNet-50", image(224)),
    _generated("mobilenetv2", "MobileNetV2", image(224)),
    _generated("efficientnet_b0", "EfficientNet-B0", image(224)),
    _generated("bert_128", "BERT-base, 4 layers, 128 tokens", text(BERT_128)),
    _generated("bert_512", "BERT-base, 4 layers, 512 tokens", text(BERT_512)),
    _generated("vit_tiny", "ViT-Tiny/16", image(224)),
    _generated("unet", "U-Net", image(256)),
    _generated("gpt2_step", "GPT-2-small, one token, cache of 512", token(gpt2.GPT2Config())),
    _real(
        "magika",
        "Magika (type of a file)",
        real.model_file("magika", "models/standard_v3_3/model.onnx"),
        real.file_content,
    ),
    _real(
        "rapidocr_detection",
        "PP-OCRv6 text detection, 320 x 320",
        real.model_file("rapidocr", "models/PP-OCRv6_det_small.onnx"),
        real.page(320, 320),
    ),
    _real(
        "rapidocr_recognition",
        "PP-OCRv6 text recognition, 48 x 320",
        real.model_file("rapidocr", "models/PP-OCRv6_rec_small.onnx"),
        real.page(48, 320),
    ),
    _real(
        "rapidocr_angle",
        "PP-OCR text angle, 48 x 192",
        real.model_file("rapidocr", "models/ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
        real.page(48, 192),
    ),
    _real(
        "silero_vad",
        "Silero VAD, 32 ms of speech",
        real.model_file("silero_vad", "data/silero_vad.onnx"),
        real.speech,
    ),
    _real("minilm", "MiniLM-L6, 32 tokens", real.minilm, real.minilm_sentence),
)

_IN_NARROW_TYPES = [
    model for model in _ALL if model.name in ("resnet50", "mobilenetv2", "bert_128")
]

ZOO = {
    model.name: model
    for model in (
        *_ALL,
        *(_half(model) for model in _IN_NARROW_TYPES),
        *(_quantized(model) for model in _IN_NARROW_TYPES),
    )
}
