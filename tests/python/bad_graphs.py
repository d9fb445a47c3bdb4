"""Models that parse but make no sense, each with what the message must say."""

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import affine, model, node

FLOAT = np.float32
BIG = 1 << 40
TOO_LARGE = "too large|too big|overflow|memory|more than|at most|exceed"


def unary(call, shape=(2, 3), dtype="float32", constants=None, outputs=None, **attributes):
    """x -> y through the one node `call`, which is named "culprit"."""
    return model(
        [node(call, name="culprit", **attributes)],
        {"x": (dtype, list(shape))},
        outputs or {"y": (dtype, None)},
        {name: np.asarray(value) for name, value in (constants or {}).items()},
    )


def int64(*values):
    return np.array(values, dtype=np.int64)


def chain(*nodes, outputs=("y",), inputs=None):
    return model(
        [node(call, name=name) for name, call in nodes],
        inputs or {"x": ("float32", [2])},
        {name: ("float32", [2]) for name in outputs},
        {"w": FLOAT([1, 2])},
    )


def twice(field, name):
    bad = affine()
    entries = getattr(bad.graph, field)
    entries.append(next(entry for entry in entries if entry.name == name))
    return bad


def of_opset(version):
    values = {name: ("float32", [2]) for name in "xy"}
    return model([node("y = Relu(x)")], {"x": values["x"]}, {"y": values["y"]}, opset=version)


def untyped_input():
    bad = affine()
    bad.graph.input[0].ClearField("type")
    return bad


STRUCTURE = {
    "cycle": (
        chain(("first", "a = Add(x, b)"), ("second", "b = Relu(a)"), ("third", "y = Relu(b)")),
        "first|second",
        "cycle|before|no node",
    ),
    "cycle of one node": (chain(("first", "y = Add(x, y)")), "first", "cycle|before|itself"),
    "missing input": (chain(("first", "y = Add(x, nowhere)")), "first", "nowhere"),
    "missing output": (chain(("first", "z = Relu(x)")), "output", "y"),
    "value produced twice": (
        chain(("first", "y = Relu(x)"), ("second", "y = Neg(x)")),
        "second",
        "y",
    ),
    "one node gives one name twice": (chain(("first", "y, y = Split(x)")), "first", "y"),
    "node output named like an input": (
        chain(("first", "x = Relu(x)"), ("second", "y = Relu(x)")),
        "first",
        "x",
    ),
    "node output named like an initializer": (
        chain(("first", "w = Relu(x)"), ("second", "y = Relu(w)")),
        "first",
        "w",
    ),
    "input declared twice": (twice("input", "x"), "x"),
    "initializer given twice": (twice("initializer", "w"), "w"),
    "too few inputs": (chain(("first", "y = Add(x)")), "first", "input"),
    "too many inputs": (chain(("first", "y = Relu(x, w)")), "first", "input"),
    "too many outputs": (chain(("first", "y, z = Relu(x)")), "first", "output"),
    "required input left empty": (chain(("first", "y = Add(, x)")), "first", "input"),
    "no operator": (chain(("first", "y = (x)")), "first", "operator|op_type"),
    "unknown operator": (chain(("first", "y = Frobnicate(x)")), "first", "Frobnicate"),
    "near miss of an operator": (chain(("first", "y = relu(x)")), "first", "relu"),
    "unknown domain": (
        unary("y = Add(x, x)", domain="com.example"),
        "culprit",
        "com.example",
    ),
    "no opset": (of_opset(None), "opset"),
    "opset too new": (of_opset(1000), "opset", "1000"),
    "opset too old": (of_opset(-1), "opset", "-1"),
    "no graph": (onnx.ModelProto(ir_version=8, opset_import=affine().opset_import), "graph"),
}

TYPES = {
    "float and int64": (
        unary("y = Add(x, k)", constants={"k": int64(1, 2, 3)}),
        "culprit",
        "float32",
        "int64",
    ),
    "no such type": (unary("y = Not(x)"), "culprit", "float32"),
    "condition that is no bool": (unary("y = Where(x, x, x)"), "culprit", "bool"),
    "indices that are floats": (
        unary("y = Gather(x, k)", constants={"k": FLOAT([0])}),
        "culprit",
        "float32",
    ),
    "declared output type": (
        unary("y = Relu(x)", outputs={"y": ("int64", [2, 3])}),
        "y",
        "float32",
        "int64",
    ),
    "input without a type": (untyped_input(), "x", "type"),
    "attribute of the wrong type": (
        unary("y = Transpose(x)", perm="swap"),
        "culprit",
        "perm",
    ),
    "float where an int belongs": (unary("y = Concat(x, x)", axis=1.5), "culprit", "axis"),
    "missing attribute": (unary("y = Concat(x, x)"), "culprit", "axis"),
    "missing attribute of Cast": (unary("y = Cast(x)"), "culprit", "to"),
    "cast to nothing": (unary("y = Cast(x)", to=99), "culprit", "99"),
    "unknown mode": (
        unary("y = Pad(x, p)", constants={"p": int64(0, 0, 0, 0)}, mode="fold"),
        "culprit",
        "mode",
        "fold",
    ),
}

SHAPES = {
    "broadcast": (unary("y = Add(x, k)", constants={"k": FLOAT([1, 2])}), "culprit", "2", "3"),
    "matrix product": (
        unary("y = MatMul(x, k)", constants={"k": np.ones((5, 6), FLOAT)}),
        "culprit",
        "3",
        "5",
    ),
    "reshape": (unary("y = Reshape(x, s)", constants={"s": int64(4, 2)}), "culprit", "6", "8|4"),
    "reshape with two -1": (unary("y = Reshape(x, s)", constants={"s": int64(-1, -1)}), "culprit"),
    "concat": (
        unary("y = Concat(x, k)", constants={"k": np.ones((3, 3), FLOAT)}, axis=1),
        "culprit",
    ),
    "axis": (unary("y = Softmax(x)", axis=2), "culprit", "axis"),
    "axis below": (unary("y = Softmax(x)", axis=-3), "culprit", "axis"),
    "axis of all": (unary("y = Flatten(x)", axis=1 << 62), "culprit", "axis"),
    "permutation": (unary("y = Transpose(x)", perm=[0, 0]), "culprit", "perm"),
    "permutation too long": (unary("y = Transpose(x)", perm=[0, 1, 2]), "culprit", "perm"),
    "squeeze": (unary("y = Squeeze(x, a)", constants={"a": int64(0)}), "culprit"),
    "unsqueeze twice": (unary("y = Unsqueeze(x, a)", constants={"a": int64(0, 0)}), "culprit"),
    "gather out of range": (
        unary("y = Gather(x, k)", constants={"k": int64(0, 7)}),
        "culprit",
        "7",
    ),
    "expand": (unary("y = Expand(x, s)", constants={"s": int64(2, 4)}), "culprit"),
    "split": (unary("y, z = Split(x, s)", constants={"s": int64(1, 5)}), "culprit"),
    "slice step 0": (
        unary(
            "y = Slice(x, a, b, c, d)",
            constants={"a": int64(0), "b": int64(1), "c": int64(0), "d": int64(0)},
        ),
        "culprit",
        "step",
    ),
    "top k": (unary("y, i = TopK(x, k)", constants={"k": int64(4)}), "culprit", "4"),
    "negative repeats": (unary("y = Tile(x, r)", constants={"r": int64(1, -1)}), "culprit"),
    "range of step 0": (
        unary("y = Range(a, b, a)", constants={"a": FLOAT(0), "b": FLOAT(5)}),
        "culprit",
    ),
    "rank of the scales": (
        unary("y = Resize(x, , s)", constants={"s": FLOAT([2.0])}),
        "culprit",
    ),
}


def conv(shape=(1, 4, 8, 8), weight=(6, 4, 3, 3), **attributes):
    return unary("y = Conv(x, k)", shape, constants={"k": np.ones(weight, FLOAT)}, **attributes)


WINDOWS = {
    "channels": (conv(weight=(6, 5, 3, 3)), "culprit", "4", "5"),
    "groups that do not divide": (conv(group=3), "culprit", "group"),
    "no groups": (conv(group=0), "culprit", "group"),
    "stride 0": (conv(strides=[0, 1]), "culprit", "stride"),
    "negative stride": (conv(strides=[-1, 1]), "culprit", "stride"),
    "dilation 0": (conv(dilations=[1, 0]), "culprit", "dilation"),
    "too few pads": (conv(pads=[1, 1]), "culprit", "pads"),
    "kernel larger than the image": (conv(weight=(6, 4, 9, 9)), "culprit"),
    "kernel_shape that is not the weight's": (conv(kernel_shape=[5, 5]), "culprit", "kernel"),
    "image without space": (conv(shape=(1, 4)), "culprit"),
    "enormous pads": (conv(pads=[BIG] * 4), "culprit"),
    "pads that overflow": (conv(pads=[(1 << 63) - 1] * 4), "culprit"),
    "enormous dilation": (conv(dilations=[1 << 62] * 2), "culprit"),
    "pool without a kernel": (unary("y = MaxPool(x)", (1, 4, 8, 8)), "culprit", "kernel_shape"),
    "pool of size 0": (
        unary("y = MaxPool(x)", (1, 4, 8, 8), kernel_shape=[0, 0]),
        "culprit",
        "kernel",
    ),
    "pool of the wrong rank": (
        unary("y = AveragePool(x)", (1, 4, 8, 8), kernel_shape=[2]),
        "culprit",
        "kernel",
    ),
}


def filled(**attributes):
    value = helper.make_tensor("value", TensorProto.FLOAT, [1], [1.0])
    return {"value": value, **attributes}


SIZES = {
    "input that overflows": (unary("y = Relu(x)", (1 << 32, 1 << 32)), "x", TOO_LARGE),
    "input that overflows when counted in bytes": (
        unary("y = Relu(x)", (1 << 62,)),
        "x",
        TOO_LARGE,
    ),
    "enormous input": (unary("y = Relu(x)", (BIG,)), "x", TOO_LARGE),
    "ConstantOfShape": (
        unary("y = ConstantOfShape(s)", constants={"s": int64(BIG)}, **filled()),
        "culprit",
        TOO_LARGE,
    ),
    "ConstantOfShape of too many dimensions": (
        unary("y = ConstantOfShape(s)", constants={"s": int64(*[2] * 70)}, **filled()),
        "culprit",
    ),
    "negative ConstantOfShape": (
        unary("y = ConstantOfShape(s)", constants={"s": int64(-4)}, **filled()),
        "culprit",
        "-4|negative",
    ),
    "Expand": (
        unary("y = Expand(x, s)", (1,), constants={"s": int64(1 << 20, 1 << 20, 1 << 20)}),
        "culprit",
        TOO_LARGE,
    ),
    "Range": (
        unary("y = Range(a, b, c)", constants={"a": FLOAT(0), "b": FLOAT(2.0**60), "c": FLOAT(1)}),
        "culprit",
    ),
    "Pad": (unary("y = Pad(x, p)", constants={"p": int64(0, BIG, 0, 0)}), "culprit", TOO_LARGE),
    "Pad that overflows": (
        unary("y = Pad(x, p)", constants={"p": int64((1 << 63) - 1, 0, (1 << 63) - 1, 0)}),
        "culprit",
    ),
    "Pad by less than all": (
        unary("y = Pad(x, p)", constants={"p": int64(-3, 0, 0, 0)}),
        "culprit",
    ),
    "Tile": (unary("y = Tile(x, r)", constants={"r": int64(BIG, 1)}), "culprit", TOO_LARGE),
    "Tile that overflows": (
        unary("y = Tile(x, r)", constants={"r": int64(1 << 62, 1 << 62)}),
        "culprit",
        TOO_LARGE,
    ),
    "Resize by scales": (
        unary("y = Resize(x, , s)", (1, 1, 4, 4), constants={"s": FLOAT([1, 1, 1e9, 1e9])}),
        "culprit",
        TOO_LARGE,
    ),
    "Resize by infinity": (
        unary("y = Resize(x, , s)", (1, 1, 4, 4), constants={"s": FLOAT([1, 1, np.inf, np.nan])}),
        "culprit",
    ),
    "Resize by less than nothing": (
        unary("y = Resize(x, , s)", (1, 1, 4, 4), constants={"s": FLOAT([1, 1, -1, 1])}),
        "culprit",
    ),
    "Resize to sizes": (
        unary("y = Resize(x, , , s)", (1, 1, 4, 4), constants={"s": int64(1, 1, BIG, BIG)}),
        "culprit",
        TOO_LARGE,
    ),
    "OneHot": (
        unary(
            "y = OneHot(k, d, v)",
            constants={"k": int64(0), "d": int64(BIG), "v": FLOAT([0, 1])},
        ),
        "culprit",
        TOO_LARGE,
    ),
    "outer product": (
        unary("y = Mul(x, k)", (1 << 20, 1), constants={"k": np.ones((1, 1 << 20), FLOAT)}),
        "culprit",
        TOO_LARGE,
    ),
}


def integer_division(operator, left, right):
    return unary(
        f"y = {operator}(a, b)",
        constants={"a": int64(left), "b": int64(right)},
        outputs={"y": ("int64", None)},
    )


# Whether these are errors is open, but they end a careless process with a signal.
ARITHMETIC = {
    "division by zero": integer_division("Div", 1, 0),
    "remainder of zero": integer_division("Mod", 1, 0),
    "division that overflows": integer_division("Div", -(1 << 63), -1),
    "remainder that overflows": integer_division("Mod", -(1 << 63), -1),
    "shift by too much": unary(
        "y = BitShift(a, b)",
        constants={"a": np.uint8([1]), "b": np.uint8([200])},
        outputs={"y": ("uint8", None)},
        direction="LEFT",
    ),
    "infinity to an integer": unary(
        "y = Cast(k)",
        constants={"k": FLOAT([np.inf, np.nan, 1e30])},
        outputs={"y": ("int32", None)},
        to=TensorProto.INT32,
    ),
    "absolute value that overflows": unary(
        "y = Abs(k)", constants={"k": int64(-(1 << 63))}, outputs={"y": ("int64", None)}
    ),
}
