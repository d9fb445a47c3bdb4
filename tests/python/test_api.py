"""The Python interface: `aoe.load`, `aoe.Model`, `aoe.backend`."""

from concurrent.futures import ThreadPoolExecutor

import aoe
import aoe.backend
import numpy as np
import onnx
import onnx.backend.base
import pytest
from onnx_models import BIAS, affine, expected_affine, model, node
from tolerance import assert_close

KEPT_SHAPES = 16  # For so many shapes of its inputs a model keeps what it has prepared.


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.fixture
def symbolic():
    return aoe.load(affine().SerializeToString())


def test_loads_from_a_path_and_from_bytes(tmp_path):
    path = tmp_path / "affine.onnx"
    onnx.save(affine(), path)
    x = numbers(4, 3)
    for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
        assert_close(aoe.load(source).run({"x": x})["y"], expected_affine(x))


def test_says_what_goes_in_and_out(symbolic):
    assert symbolic.inputs == [aoe.TensorInfo("x", "float32", ("N", 3))]
    assert symbolic.outputs == [aoe.TensorInfo("y", "float32", ("N", 2))]
    assert repr(symbolic) == "<aoe.Model (x) -> (y)>"
    assert aoe.__version__


def test_an_initializer_that_is_also_an_input_is_no_input():
    both = affine()
    both.graph.input.append(onnx.helper.make_tensor_value_info("b", 1, BIAS.shape))
    loaded = aoe.load(both.SerializeToString())
    assert [info.name for info in loaded.inputs] == ["x"]
    x = numbers(4, 3)
    assert_close(loaded.run({"x": x})["y"], expected_affine(x))


def test_symbolic_dimensions_follow_the_inputs(symbolic):
    for _ in range(2):
        for rows in range(1, 2 * KEPT_SHAPES):
            x = numbers(rows, 3, seed=rows)
            assert_close(symbolic.run({"x": x})["y"], expected_affine(x))


def test_input_shapes_fix_symbolic_dimensions():
    fixed = aoe.load(affine().SerializeToString(), input_shapes={"x": (5, 3)})
    x = numbers(5, 3)
    assert fixed.inputs[0].shape == (5, 3)
    assert_close(fixed.run({"x": x})["y"], expected_affine(x))
    with pytest.raises(aoe.Error, match="x"):
        fixed.run({"x": numbers(4, 3)})


def test_one_symbol_is_one_size():
    added = model(
        [node("c = Add(a, b)")],
        {"a": ("float32", ["N", 2]), "b": ("float32", ["N", 2])},
        {"c": ("float32", ["N", 2])},
    )
    loaded = aoe.load(added.SerializeToString())
    with pytest.raises(aoe.Error, match="N"):
        loaded.run({"a": numbers(3, 2), "b": numbers(1, 2)})


def test_many_threads_may_run_one_model(symbolic):
    def run(seed):
        x = numbers(1 + seed % 20, 3, seed=seed)
        return x, symbolic.run({"x": x})["y"]

    with ThreadPoolExecutor(4) as pool:
        for x, y in pool.map(run, range(200)):
            assert_close(y, expected_affine(x))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_changes_no_result(threads):
    x = numbers(100, 3)
    loaded = aoe.load(affine().SerializeToString(), threads=threads)
    assert_close(loaded.run({"x": x})["y"], expected_affine(x))


def test_the_same_run_gives_the_same_bits(symbolic):
    x = numbers(50, 3)
    assert symbolic.run({"x": x})["y"].tobytes() == symbolic.run({"x": x})["y"].tobytes()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(np.asfortranarray(numbers(4, 3)), id="columns first"),
        pytest.param(numbers(8, 6)[::2, ::-2], id="strided"),
        pytest.param(numbers(4, 3).astype(">f4"), id="big endian"),
        pytest.param(np.broadcast_to(numbers(3), (4, 3)), id="read only"),
        pytest.param(numbers(4, 3).tolist(), id="lists"),
        pytest.param(np.zeros((0, 3), np.float32), id="empty"),
    ],
)
def test_any_array_will_do(symbolic, given):
    expected = expected_affine(np.asarray(given, dtype=np.float32))
    assert_close(symbolic.run({"x": given})["y"], expected)


def test_scalars():
    double = model([node("y = Add(x, x)")], {"x": ("float32", [])}, {"y": ("float32", [])})
    loaded = aoe.load(double.SerializeToString())
    for given in (1.5, np.float32(1.5), np.array(1.5, np.float32)):
        y = loaded.run({"x": given})["y"]
        assert y.shape == ()
        assert y == 3


def test_outputs_are_the_callers():
    x = numbers(2, 3)
    before = x.copy()
    y = aoe.load(affine().SerializeToString()).run({"x": x})["y"]
    y += 1  # Neither the model nor the input is behind this memory.
    np.testing.assert_array_equal(x, before)
    assert_close(y, expected_affine(x) + 1)


def test_an_input_can_be_an_output():
    same = model([], {"x": ("float32", [2])}, {"x": ("float32", [2])})
    x = numbers(2)
    y = aoe.load(same.SerializeToString()).run({"x": x})["x"]
    np.testing.assert_array_equal(y, x)
    assert not np.shares_memory(y, x)


BAD_FEEDS = {
    "no such input": ({"x": numbers(1, 3), "z": numbers(1)}, "no input 'z'"),
    "near miss": ({"X": numbers(1, 3)}, "did you mean 'x'"),
    "missing": ({}, "x"),
    "rank": ({"x": numbers(3)}, "x"),
    "size": ({"x": numbers(1, 4)}, "x"),
    "type": ({"x": np.zeros((1, 3), np.float64)}, "float64"),
    "unknown type": ({"x": np.zeros((1, 3), np.complex64)}, "complex64"),
    "text": ({"x": [["a", "b", "c"]]}, "float32"),
    "ragged": ({"x": [[1, 2, 3], [4]]}, "x"),
    "none": ({"x": None}, "x"),
    "object": ({"x": object()}, "input 'x' takes float32 values, not object"),
    "some none": ({"x": [[1, None, 3]]}, "not NoneType"),
    "too large": ({"x": [[1, 2, 10**400]]}, "input 'x' takes a float32 array: int too large"),
    "no dict": ([numbers(1, 3)], "takes a dict"),
}


@pytest.mark.parametrize("case", BAD_FEEDS)
def test_bad_feeds(symbolic, case):
    feeds, message = BAD_FEEDS[case]
    with pytest.raises(aoe.Error, match=message):
        symbolic.run(feeds)
    x = numbers(1, 3)
    assert_close(symbolic.run({"x": x})["y"], expected_affine(x))


BAD_LOADS = {
    "garbage": (b"no model", {}, "model"),
    "empty": (b"", {}, "empty"),
    "no file": ("/nonexistent/model.onnx", {}, "/nonexistent/model.onnx"),
    "threads": (None, {"threads": 0}, "threads is 0; a number from 1 to 1024 is expected"),
    "many threads": (None, {"threads": 100_000}, "threads is 100000"),
    "countless threads": (None, {"threads": 10**30}, "threads is 1"),
    "fractions": (None, {"input_shapes": {"x": [1.5, 3]}}, "must be a sequence of integers"),
    "beyond 64 bits": (None, {"input_shapes": {"x": [10**30, 3]}}, "beyond 64 bits"),
    "unknown name": (None, {"input_shapes": {"z": [1]}}, "z"),
    "wrong rank": (None, {"input_shapes": {"x": [1]}}, "x"),
    "wrong size": (None, {"input_shapes": {"x": [1, 4]}}, "x"),
    "negative": (None, {"input_shapes": {"x": [-2, 3]}}, "x"),
    "no shape": (None, {"input_shapes": {"x": "many"}}, "x"),
}


@pytest.mark.parametrize("case", BAD_LOADS)
def test_bad_loads(case):
    source, options, message = BAD_LOADS[case]
    with pytest.raises(aoe.Error, match=message):
        aoe.load(affine().SerializeToString() if source is None else source, **options)


BAD_TYPES = {
    "threads": ({"threads": 1.5}, "threads must be an integer or None, not float 1.5"),
    "input_shapes": ({"input_shapes": [3]}, "input_shapes must map names to shapes, not be list"),
    "a name": ({"input_shapes": {3: [3]}}, "input_shapes has the key 3"),
    "kernels": ({"kernels": 3}, "kernels must be a string or None, not int 3"),
}


@pytest.mark.parametrize("case", BAD_TYPES)
def test_arguments_of_other_types(case):
    options, message = BAD_TYPES[case]
    with pytest.raises(TypeError, match=message):
        aoe.load(affine().SerializeToString(), **options)


class TestBackend:
    def test_is_a_backend_of_onnx(self):
        assert issubclass(aoe.backend.Backend, onnx.backend.base.Backend)
        assert aoe.backend.supports_device("CPU")
        assert not aoe.backend.supports_device("CUDA")
        assert aoe.backend.is_compatible(affine())

    @pytest.mark.parametrize("form", ["list", "dict", "lone array"])
    def test_takes_inputs_in_several_forms(self, form):
        x = numbers(4, 3)
        given = {"list": [x], "dict": {"x": x}, "lone array": x}[form]
        (y,) = aoe.backend.prepare(affine()).run(given)
        assert_close(y, expected_affine(x))
        (y,) = aoe.backend.run_model(affine(), given)
        assert_close(y, expected_affine(x))

    def test_refuses_what_it_cannot_do(self):
        with pytest.raises(aoe.Error, match="CUDA"):
            aoe.backend.prepare(affine(), "CUDA")
        with pytest.raises(aoe.Error, match="1 inputs, not 2"):
            aoe.backend.prepare(affine()).run([numbers(1, 3), numbers(1, 3)])

    def test_runs_a_node(self):
        a, b = numbers(2, 3), numbers(3, seed=1)
        (c,) = aoe.backend.run_node(node("c = Add(a, b)"), [a, b])
        assert_close(c, a + b)

    def test_runs_a_node_of_an_older_opset(self):
        x = numbers(2, 3)
        before_13 = node("y = ReduceSum(x)", axes=[1])
        (y,) = aoe.backend.run_node(before_13, [x], opset_version=11)
        assert_close(y, x.sum(axis=1, keepdims=True))

    def test_a_node_may_skip_optional_inputs_and_outputs(self):
        x = numbers(5)
        (y,) = aoe.backend.run_node(
            node("y = Clip(x, , high)"), [x, np.float32(0.25)], outputs_info=[(np.float32, (5,))]
        )
        assert_close(y, np.minimum(x, np.float32(0.25)))
