"""If, Loop, Scan and SequenceMap beyond what ONNX's own suite asks."""

import aoe
import numpy as np
import pytest
from onnx import helper
from onnx_models import infos, model, node

SCALAR = ("int64", [])
FLAG = ("bool", [])
ROW = ("float32", [2])


def body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", infos(inputs), infos(outputs))


def run(nodes, inputs, outputs, feeds, opset=17, **others):
    built = model(nodes, inputs, outputs, opset=opset, **others)
    return aoe.load(built.SerializeToString()).run(feeds)


def counting_loop():
    """Adds x, a value of the outer graph, to the sum in each iteration; gives all sums too."""
    return body(
        [
            node("sum = Add(before, x)"),
            node("on = Less(sum, limit)"),
            node("continue = ReduceMin(on_number)", keepdims=0),
            node("on_number = Cast(on)", to=1),
            node("go = Cast(continue)", to=9),
            node("each = Identity(sum)"),
        ],
        {"i": SCALAR, "go_before": FLAG, "before": ROW},
        {"go": FLAG, "sum": ROW, "each": ROW},
    )


@pytest.mark.parametrize(
    ("trips", "start", "count"),
    [(3, True, 3), (100, True, 5), (0, True, 0), (-1, True, 0), (3, False, 0)],
)
def test_a_loop_ends_by_count_or_condition(trips, start, count):
    out = run(
        [node("last, all = Loop(trips, start, zero)", body=counting_loop())],
        {"trips": SCALAR, "start": FLAG, "x": ROW},
        {"last": ROW, "all": ("float32", None)},
        {"trips": np.int64(trips), "start": np.bool_(start), "x": np.float32([1, 2])},
        initializers={"zero": np.zeros(2, np.float32), "limit": np.float32([10, 10])},
    )
    sums = np.outer(np.arange(1, count + 1), [1, 2]).astype(np.float32)
    assert out["all"].dtype == np.float32
    np.testing.assert_array_equal(out["all"], sums.reshape(count, 2))
    np.testing.assert_array_equal(out["last"], sums[-1] if count else [0, 0])


def test_a_loop_without_count_and_condition_is_refused():
    with pytest.raises(aoe.Error, match="would not terminate"):
        run(
            [node("last, all = Loop(, , zero)", body=counting_loop())],
            {"x": ROW},
            {"last": ROW, "all": ("float32", None)},
            {"x": np.float32([1, 2])},
            initializers={"zero": np.zeros(2, np.float32), "limit": np.float32([9, 9])},
        )


def running_sum(**attributes):
    inside = body(
        [node("sum = Add(before, x)"), node("each = Identity(sum)")],
        {"before": ROW, "x": ROW},
        {"sum": ROW, "each": ROW},
    )
    return node("last, all = Scan(zero, xs)", body=inside, num_scan_inputs=1, **attributes)


@pytest.mark.parametrize("input_axis", [0, 1, -1])
@pytest.mark.parametrize("output_axis", [0, 1, -1])
@pytest.mark.parametrize("input_reversed", [0, 1])
@pytest.mark.parametrize("output_reversed", [0, 1])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_scan_directions_and_axes(input_axis, output_axis, input_reversed, output_reversed, steps):
    xs = np.arange(2 * steps, dtype=np.float32).reshape(steps, 2)
    given = np.moveaxis(xs, 0, input_axis)
    out = run(
        [
            running_sum(
                scan_input_axes=[input_axis],
                scan_output_axes=[output_axis],
                scan_input_directions=[input_reversed],
                scan_output_directions=[output_reversed],
            )
        ],
        {"xs": ("float32", given.shape)},
        {"last": ROW, "all": ("float32", None)},
        {"xs": np.ascontiguousarray(given)},
        initializers={"zero": np.zeros(2, np.float32)},
    )
    sums = np.cumsum(xs[::-1] if input_reversed else xs, axis=0)
    np.testing.assert_array_equal(out["last"], sums[-1] if steps else [0, 0])
    expected = sums[::-1] if output_reversed else sums
    np.testing.assert_array_equal(out["all"], np.moveaxis(expected, 0, output_axis))


def test_the_first_scan_takes_batches_of_sequences_of_different_lengths():
    xs = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    inside = running_sum().attribute[0].g
    scan = node("last, all = Scan(lengths, zero, xs)", body=inside, num_scan_inputs=1)
    out = run(
        [scan],
        {"xs": ("float32", [2, 3, 2])},
        {"last": ("float32", [2, 2]), "all": ("float32", [2, 3, 2])},
        {"xs": xs},
        opset=8,
        initializers={
            "lengths": np.int64([2, 3]),
            "zero": np.zeros((2, 2), np.float32),
        },
    )
    sums = np.cumsum(xs, axis=1)
    np.testing.assert_array_equal(out["last"], [sums[0, 1], sums[1, 2]])
    np.testing.assert_array_equal(out["all"][0, :2], sums[0, :2])
    np.testing.assert_array_equal(out["all"][1], sums[1])


def test_branches_see_outer_values_and_may_differ_in_shape():
    nodes = [
        node(
            "y = If(first)",
            then_branch=body([node("a = Identity(x)")], {}, {"a": ("float32", [4])}),
            else_branch=body([node("b = Concat(x, x)", axis=0)], {}, {"b": ("float32", [8])}),
        )
    ]
    built = model(nodes, {"first": FLAG, "x": ("float32", [4])}, {"y": ("float32", None)})
    loaded = aoe.load(built.SerializeToString())
    x = np.arange(4, dtype=np.float32)
    for first, expected in ((True, x), (False, np.concatenate([x, x]))):
        y = loaded.run({"first": np.bool_(first), "x": x})["y"]
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("call", "axis", "cause"),
    [
        ("SequenceErase(s, three)", 0, "index 3 is outside an axis of 2"),
        ("SequenceInsert(s, x, three)", 0, "position 3 in a sequence of 2"),
        ("SequenceInsert(s, three)", 0, "int64.* cannot be put into"),
        ("SequenceMap(s)", 0, "attribute 'body' is missing"),
        ("SequenceErase(s)", 1, "axis 1 is outside a tensor of rank 1"),
    ],
)
def test_what_a_sequence_refuses(call, axis, cause):
    nodes = [
        node("s = SequenceConstruct(x, x)"),
        node(f"changed = {call}"),
        node("y = ConcatFromSequence(changed)", axis=axis),
    ]
    with pytest.raises(aoe.Error, match=cause):
        run(
            nodes,
            {"x": ("float32", [2])},
            {"y": ("float32", None)},
            {"x": np.zeros(2, np.float32)},
            initializers={"three": np.array(3)},
        )
