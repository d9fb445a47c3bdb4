"""The operator suite of the benchmark: its choice, its models, and the work of models."""

import numpy as np
import onnx
import pytest
from against_onnxruntime import onnxruntime_outputs
from models import zoo
from operators import choose as choose_operators
from operators.cases import FILE, IDENTITY, operators
from operators.families import FAMILIES
from work import work

OPERATORS = operators()

# Multiplications with additions of one inference, as published for the image networks.
PUBLISHED_GMAC = {
    "resnet18": 1.81,
    "resnet50": 4.09,
    "mobilenetv2": 0.30,
    "efficientnet_b0": 0.39,
}


def test_the_choice_is_the_one_stored():
    assert choose_operators.text() == FILE.read_text()


def test_the_census_is_of_all_generated_models_with_bert_once():
    generated = {name for name, model in zoo.ZOO.items() if model.suite == "models"}
    assert len(generated) == 9
    assert set(choose_operators.THE_EIGHT) == generated - {"bert_512"}


def test_there_are_forty_of_all_families():
    assert len(OPERATORS) == sum(FAMILIES.values()) == 40
    assert {case.family for case in OPERATORS.values()} == set(FAMILIES)
    titles = {case.model.title for case in OPERATORS.values()}
    assert len(titles) == len(OPERATORS)


def test_a_case_knows_whether_it_was_enlarged():
    factors = [case.scale for case in OPERATORS.values()]
    assert factors.count(1) == 17
    assert "batch" not in OPERATORS["conv3x3_64_56x56"].model.title
    assert OPERATORS["conv3x3_64_56x56"].scale == 1
    assert OPERATORS["depthwise3x3_144_56x56_b8"].scale == 8


def test_a_case_is_long_enough_to_be_timed():
    for case in OPERATORS.values():
        assert choose_operators.batch_factor(case.family, case.workload) == 1


@pytest.mark.parametrize("name", OPERATORS)
def test_runs(name):
    case = OPERATORS[name]
    raw = case.model.build()  # The builder calls the checker of ONNX.
    model = onnx.load_from_string(raw)
    outputs = onnxruntime_outputs(raw, case.model.inputs(np.random.default_rng(0)))
    assert outputs["output"].shape == case.workload.outputs[0]
    assert np.isfinite(outputs["output"]).all()
    assert 1e-3 < outputs["output"].std() < 1e3
    assert work(model)[1] == pytest.approx(case.workload.bytes, abs=64)


def test_the_identity_runs():
    inputs = IDENTITY.inputs(np.random.default_rng(0))
    outputs = onnxruntime_outputs(IDENTITY.build(), inputs)
    np.testing.assert_array_equal(outputs["output"], inputs["input_0"])


@pytest.mark.parametrize("name", PUBLISHED_GMAC)
def test_the_work_of_a_network_is_the_published(name):
    flops, _ = work(zoo.outline(name))
    assert flops == pytest.approx(2e9 * PUBLISHED_GMAC[name], rel=0.03)


def one_node(node, inputs, output, weights=()):
    graph = onnx.helper.make_graph(
        [node],
        "one node",
        [onnx.helper.make_tensor_value_info(k, 1, v) for k, v in inputs.items()],
        [onnx.helper.make_tensor_value_info("y", 1, output)],
        [onnx.numpy_helper.from_array(v, k) for k, v in dict(weights).items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def test_work_counts_operations_and_bytes():
    weight = {"w": np.zeros((5, 7), np.float32)}
    product = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    assert work(one_node(product, {"x": (3, 5)}, (3, 7), weight)) == (
        2 * 3 * 5 * 7,
        4 * (3 * 5 + 5 * 7 + 3 * 7),
    )
    relu = onnx.helper.make_node("Relu", ["x"], ["y"])
    assert work(one_node(relu, {"x": (3, 5)}, (3, 5))) == (15, 4 * 30)


def test_inputs_give_the_size_of_symbolic_dimensions():
    model = one_node(onnx.helper.make_node("Relu", ["x"], ["y"]), {"x": ("n", 5)}, ("n", 5))
    assert work(model) == (None, None)
    assert work(model, {"x": np.zeros((2, 5), np.float32)}) == (10, 4 * 20)
