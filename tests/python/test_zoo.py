"""The generated models: their published sizes, and their numbers against ONNX Runtime."""

import math

import aoe
import numpy as np
import pytest
from against_onnxruntime import assert_equals_onnxruntime, onnxruntime_outputs
from models import bert, efficientnet, gpt2, mobilenetv2, narrow, real, unet, vit, zoo
from models.builder import serialize
from models.weights import seeded

PUBLISHED_PARAMETERS = {
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "mobilenetv2": 3_504_872,
    "efficientnet_b0": 5_288_548,
    "vit_tiny": 5_717_416,
    "unet": 7_763_041,
    "gpt2_step": 124_439_808,
}

MOBILENET = mobilenetv2.MobileNetV2Config(
    stages=(mobilenetv2.Stage(1, 16, 1, 1), mobilenetv2.Stage(6, 24, 2, 2)),
    head=64,
    image=32,
    classes=10,
)
EFFICIENTNET = efficientnet.EfficientNetConfig(
    stages=(efficientnet.Stage(1, 3, 1, 16, 1), efficientnet.Stage(6, 5, 2, 24, 2)),
    head=64,
    image=32,
    classes=10,
)
BERT = bert.BertConfig(layers=1, hidden=64, heads=4, intermediate=128, vocabulary=99, tokens=16)
VIT = vit.ViTConfig(layers=2, intermediate=256, image=64, classes=10)
UNET = unet.UNetConfig(levels=3, width=4, image=32)
GPT2 = gpt2.GPT2Config(layers=2, hidden=64, heads=4, vocabulary=99, cache=12)

# Each network in small, with all kinds of its layers, and its inputs.
REDUCED = {
    "mobilenetv2": (mobilenetv2.mobilenetv2, MOBILENET, zoo.image(32)),
    "efficientnet": (efficientnet.efficientnet, EFFICIENTNET, zoo.image(32)),
    "bert": (bert.bert, BERT, zoo.text(BERT)),
    "vit": (vit.vit, VIT, zoo.image(64)),
    "unet": (unet.unet, UNET, zoo.image(32)),
    "gpt2": (gpt2.gpt2_step, GPT2, zoo.token(GPT2)),
}


@pytest.mark.parametrize("name", PUBLISHED_PARAMETERS)
def test_has_as_many_parameters_as_published(name):
    counts = {}
    for tensor in zoo.outline(name).graph.initializer:
        # Frameworks count neither statistics nor constants, and a weight in two layouts once.
        if "running_" not in tensor.name and not tensor.name.startswith("constant"):
            counts[tensor.name.removesuffix(".T")] = math.prod(tensor.dims)
    assert sum(counts.values()) == PUBLISHED_PARAMETERS[name]


@pytest.mark.parametrize("name", REDUCED)
def test_equals_onnxruntime(name):
    build, config, inputs = REDUCED[name]
    model = serialize(build(config, seeded()))
    assert_equals_onnxruntime(model, inputs(np.random.default_rng(0)))


@pytest.mark.parametrize("kernels", ["reference", None])
@pytest.mark.parametrize("form", ["half", "quantized"])
@pytest.mark.parametrize("name", ["mobilenetv2", "bert"])
def test_narrow_types_differ_from_onnxruntime_by_their_roundings(name, form, kernels):
    build, config, inputs = REDUCED[name]
    model = serialize(getattr(narrow, form)(build(config, seeded())))
    feeds = inputs(np.random.default_rng(0))
    if form == "half":
        feeds = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in feeds.items()}
    found = aoe.load(model, kernels=kernels).run(feeds)
    for output, expected in onnxruntime_outputs(model, feeds).items():
        assert found[output].dtype == expected.dtype
        wide = expected.astype(np.float64)
        error = np.abs(found[output].astype(np.float64) - wide).max() / np.abs(wide).max()
        assert error < (0.01 if form == "half" else 0.05)


def test_an_outline_is_the_model_without_numbers():
    whole = mobilenetv2.mobilenetv2(MOBILENET, seeded())
    outline = mobilenetv2.mobilenetv2(MOBILENET, None)
    assert list(outline.graph.node) == list(whole.graph.node)
    assert {(t.name, *t.dims) for t in outline.graph.initializer} == {
        (t.name, *t.dims) for t in whole.graph.initializer
    }


def test_the_eight_are_random_networks_with_bert_once():
    assert len(zoo.THE_EIGHT) == 8
    assert all(zoo.ZOO[name].suite == "models" for name in zoo.THE_EIGHT)
    assert "bert_128" in zoo.THE_EIGHT
    assert "bert_512" not in zoo.THE_EIGHT


def test_a_missing_package_is_named():
    with pytest.raises(FileNotFoundError, match=r"no_such_package.*requirements-models\.txt"):
        real.packaged("no_such_package", "model.onnx")
