"""Operators that move elements: of any type, strings among them, and in the forms of old opsets."""

import aoe
import numpy as np
import pytest
from onnx_models import model, node

X = np.arange(24).reshape(2, 3, 4)
FAR = 2**63 - 1
SWAPPED = X[[1, 0]]

# Operator, what it takes beside X, attributes, opset, and what numpy says.
CASES = [
    ("Transpose", [], {"perm": [2, 0, 1]}, 7, X.transpose(2, 0, 1)),
    ("Transpose", [], {}, 13, X.T),
    ("Reshape", [[4, 0, -1]], {}, 13, X.reshape(4, 3, 2)),
    ("Flatten", [], {"axis": -1}, 13, X.reshape(6, 4)),
    ("Unsqueeze", [], {"axes": [0, 4]}, 11, X[None, ..., None]),
    ("Unsqueeze", [[-1, 0]], {}, 13, X[None, ..., None]),
    ("Concat", [X], {"axis": -2}, 13, np.concatenate([X, X], axis=1)),
    ("Slice", [], {"starts": [1, -2], "ends": [FAR, -1], "axes": [0, 2]}, 7, X[1:, :, -2:-1]),
    ("Slice", [[-1, 5], [-FAR - 1, 0], [2, 1], [-2, -1]], {}, 13, X[:, 5:0:-1, ::-2]),
    ("Split", [], {"split": [2], "axis": 0}, 11, X),
    ("Split", [[3]], {"axis": 1}, 13, X),
    ("Pad", [], {"pads": [0, -1, 1, 0, 0, -2], "mode": "edge"}, 7, X[:, 1:, [0, 0, 1]]),
    ("Pad", [[2, 1], None, [-1]], {"mode": "reflect"}, 18, X[..., [2, 1, 0, 1, 2, 3, 2]]),
    ("Pad", [[1, 0, 0, 0, 1, 0]], {"mode": "wrap"}, 19, X[[1, 0, 1]][:, [0, 1, 2, 0]]),
    ("Tile", [[1, 2, 1]], {}, 13, np.tile(X, [1, 2, 1])),
    ("Expand", [[2, 1, 1, 4]], {}, 13, np.broadcast_to(X, [2, 2, 3, 4])),
    ("Gather", [[[0, -1]]], {"axis": 1}, 13, X[:, [[0, -1]]]),
    ("GatherElements", [[[[3, -4, 0, 1]]]], {"axis": 2}, 13, X[:1, :1, [3, 0, 0, 1]]),
    ("GatherND", [[[1, -1], [0, 0]]], {}, 13, X[[1, 0], [-1, 0]]),
    ("ReverseSequence", [[1, 2, 2]], {}, 10, np.concatenate([X[:, :1], SWAPPED[:, 1:]], axis=1)),
    ("Compress", [[False, True]], {"axis": 2}, 11, X[:, :, 1:2]),
    ("Scatter", [[[[1]]], X[:1, :1, 3:4]], {"axis": 2}, 9, np.where(X == 1, 3, X)),
    ("ScatterND", [[[0, 1]], X[:1, 2]], {}, 13, np.where(X // 4 == 1, X + 4, X)),
]


def as_type(array, dtype):
    return array.astype(str).astype(object) if dtype == "object" else array.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "object"])
@pytest.mark.parametrize(
    ("op", "others", "attributes", "opset", "expected"),
    [pytest.param(*case, id=f"{case[0]}-{case[3]}-{i}") for i, case in enumerate(CASES)],
)
def test_moves_elements_of_any_type(op, others, attributes, opset, expected, dtype):
    # What is a part of X is of its type, all else are indices.
    arrays = {
        f"i{i}": as_type(value, dtype) if isinstance(value, np.ndarray) else np.array(value)
        for i, value in enumerate(others)
        if value is not None
    }
    names = [f"i{i}" if value is not None else "" for i, value in enumerate(others)]
    built = model(
        [node(f"y = {op}({', '.join(['x', *names])})", **attributes)],
        {"x": (dtype, X.shape)},
        {"y": (dtype, None)},
        arrays,
        opset=opset,
    )
    y = aoe.load(built.SerializeToString()).run({"x": as_type(X, dtype)})["y"]
    assert y.shape == expected.shape
    assert y.tolist() == as_type(expected, dtype).tolist()


@pytest.mark.parametrize(
    ("op", "indices", "cause"),
    [
        ("Gather", [5], "index 5"),
        ("GatherElements", [[[-5]]], "index -3"),
        ("GatherND", [[0, 3]], "index 3"),
        ("ScatterND", [[-3, 0]], "index -3 is outside an axis of 2"),
    ],
)
def test_an_index_out_of_range_is_an_error(op, indices, cause):
    others = "indices, updates" if op == "ScatterND" else "indices"
    built = model(
        [node(f"y = {op}(x, {others})")],
        {"x": ("int64", X.shape), "indices": ("int64", np.shape(indices))},
        {"y": ("int64", None)},
        {"updates": X[:1, 0]} if op == "ScatterND" else {},
    )
    loaded = aoe.load(built.SerializeToString())
    with pytest.raises(aoe.Error, match=f"{op}.*{cause}"):
        loaded.run({"x": X, "indices": np.array(indices)})
