"""The generated models: their published sizes, and their numbers against ONNX Runtime."""

import math
from collections import Counter

import aoe
import numpy as np
import pytest
import reference
from against_onnxruntime import assert_equals_onnxruntime, onnxruntime_outputs
from models import bert, efficientnet, gpt2, mobilenetv2, narrow, real, unet, vit, zoo
from models.builder import serialize
from models.weights import seeded
from onnx import TensorProto

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


def in_half(name):
    """A reduced network in f16, and its inputs."""
    build, config, inputs = REDUCED[name]
    feeds = inputs(np.random.default_rng(0))
    feeds = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in feeds.items()}
    return narrow.half(build(config, seeded())), feeds


def in_int8(name):
    """A reduced network in int8, and other inputs than it was calibrated with."""
    build, config, inputs = REDUCED[name]
    random = np.random.default_rng(1)
    samples = [inputs(random) for _ in range(4)]
    return narrow.quantized(build(config, seeded()), samples), inputs(random)


@pytest.mark.parametrize("kernels", ["reference", None])
@pytest.mark.parametrize(("form", "most"), [(in_half, 0.01), (in_int8, 0.05)])
@pytest.mark.parametrize("name", ["mobilenetv2", "bert"])
def test_narrow_types_differ_from_onnxruntime_by_their_roundings(name, form, most, kernels):
    model, feeds = form(name)
    raw = serialize(model)
    found = aoe.load(raw, kernels=kernels).run(feeds)
    for output, expected in onnxruntime_outputs(raw, feeds).items():
        assert found[output].dtype == expected.dtype
        wide = expected.astype(np.float64)
        error = np.abs(found[output].astype(np.float64) - wide).max() / np.abs(wide).max()
        assert error < most


@pytest.mark.parametrize("name", ["mobilenetv2", "bert"])
def test_int8_differs_from_double_by_its_roundings(name, tmp_path):
    model, feeds = in_int8(name)
    path = tmp_path / "int8.onnx"
    path.write_bytes(serialize(model))
    double = reference.outputs_in_double(path, feeds, tmp_path)
    assert reference.error_against(double, onnxruntime_outputs(path.read_bytes(), feeds)) < 0.05
    assert reference.error_against(double, aoe.load(path).run(feeds)) < 0.05


def test_int8_is_what_onnxruntime_has_kernels_for():
    model, _ = in_int8("mobilenetv2")
    operators = Counter(node.op_type for node in model.graph.node)
    assert "BatchNormalization" not in operators
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    zeros = Counter(
        types[node.input[2]] for node in model.graph.node if node.op_type == "DequantizeLinear"
    )
    products = operators["Conv"] + operators["Gemm"]
    # Weights, biases, activations.
    assert zeros[TensorProto.INT8] == zeros[TensorProto.INT32] == products
    assert zeros[TensorProto.UINT8] == operators["QuantizeLinear"] > products


def test_int8_is_the_same_each_time():
    assert serialize(in_int8("bert")[0]) == serialize(in_int8("bert")[0])


def test_an_outline_is_the_model_without_numbers():
    whole = mobilenetv2.mobilenetv2(MOBILENET, seeded())
    outline = mobilenetv2.mobilenetv2(MOBILENET, None)
    assert list(outline.graph.node) == list(whole.graph.node)
    assert {(t.name, *t.dims) for t in outline.graph.initializer} == {
        (t.name, *t.dims) for t in whole.graph.initializer
    }


def test_a_missing_package_is_named():
    with pytest.raises(FileNotFoundError, match=r"no_such_package.*requirements-models\.txt"):
        real.packaged("no_such_package", "model.onnx")
