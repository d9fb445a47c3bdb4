"""Operators with settings that ONNX's backend suite does not try, against ONNX Runtime or numpy."""

import aoe
import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx_models import IR_VERSION
from tolerance import assert_close

RANDOM = np.random.default_rng(7)


def f32(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def ints(*values):
    return np.array(values, dtype=np.int64)


def floats(*values):
    return np.array(values, dtype=np.float32)


class Case:
    """A node of one operator: its inputs (None where one is left out), opset and attributes."""

    def __init__(self, operator, *inputs, opset=17, outputs=1, **attributes):
        self.operator, self.inputs = operator, list(inputs)
        self.opset, self.outputs, self.attributes = opset, outputs, attributes

    def __str__(self):
        settings = "-".join(f"{name}={value}" for name, value in self.attributes.items())
        return f"{self.operator}-{self.opset}-{settings}".replace(" ", "")

    def model(self) -> bytes:
        # Numbers that decide shapes are constants, as exporters write them.
        constant = {
            f"x{i}": x
            for i, x in enumerate(self.inputs)
            if x is not None and (self.operator, i) in SHAPING
        }
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        outputs = [f"y{i}" for i in range(self.outputs)]
        graph = helper.make_graph(
            [helper.make_node(self.operator, names, outputs, **self.attributes)],
            "test",
            [
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
                )
                for name, x in self.feed().items()
                if name not in constant
            ],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [numpy_helper.from_array(x, name) for name, x in constant.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION
        ).SerializeToString()

    def feed(self) -> dict:
        return {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None}

    def run(self) -> list:
        model = aoe.load(self.model())
        names = {info.name for info in model.inputs}
        results = model.run({name: x for name, x in self.feed().items() if name in names})
        return [results[f"y{i}"] for i in range(self.outputs)]


SHAPING = {
    ("Resize", 1),
    ("Resize", 2),
    ("Resize", 3),
    ("Upsample", 1),
    ("Col2Im", 1),
    ("Col2Im", 2),
}


def transposed(*inputs, **attributes):
    return Case("ConvTranspose", *inputs, **attributes)


def resized(shape, opset=13, scales=None, sizes=None, **attributes):
    x = RANDOM.standard_normal(shape).astype(np.float32)
    if opset == 10:
        return Case("Resize", x, floats(*scales), opset=10, **attributes)
    no_roi = np.zeros(0, np.float32)
    if scales:
        return Case("Resize", x, no_roi, floats(*scales), opset=opset, **attributes)
    no_scales = np.zeros(0, np.float32)
    return Case("Resize", x, no_roi, no_scales, ints(*sizes), opset=opset, **attributes)


def recurrent(operator, gates, direction, activations=None, states=1, lengths=True, **attributes):
    time, batch, size, hidden = 4, 3, 2, 3
    directions = 2 if direction == "bidirectional" else 1
    inputs = [
        f32(time, batch, size),
        f32(directions, gates * hidden, size),
        f32(directions, gates * hidden, hidden),
        f32(directions, 2 * gates * hidden),
        np.array([4, 1, 3], dtype=np.int32) if lengths else None,
    ]
    inputs += [f32(directions, batch, hidden) for _ in range(states)]
    if operator == "LSTM":
        inputs.append(f32(directions, 3 * hidden))
    if activations:
        attributes["activations"] = activations * directions
    return Case(
        operator,
        *inputs,
        opset=14,
        outputs=1 + states,
        hidden_size=hidden,
        direction=direction,
        **attributes,
    )


LIKE_ONNX_RUNTIME = [
    Case("Conv", f32(2, 6, 9), f32(9, 2, 3), f32(9), group=3, dilations=[2], pads=[3, 1]),
    Case("Conv", f32(1, 2, 7, 8), f32(3, 2, 2, 3), auto_pad="SAME_LOWER", strides=[2, 1]),
    Case("Conv", f32(1, 4, 5, 6, 7), f32(2, 2, 2, 1, 3), group=2, strides=[1, 2, 2]),
    transposed(f32(2, 4, 5), f32(4, 3, 4), f32(6), group=2, strides=[3], output_padding=[2]),
    transposed(f32(1, 2, 4, 3), f32(2, 3, 3, 4), strides=[2, 3], pads=[1, 0, 1, 2]),
    transposed(f32(1, 2, 4, 3), f32(2, 3, 3, 2), strides=[2, 3], dilations=[2, 2]),
    transposed(f32(1, 2, 4, 3), f32(2, 3, 3, 2), dilations=[1, 3], pads=[1, 1, 0, 2]),
    transposed(f32(1, 2, 4, 3), f32(2, 3, 4, 3), strides=[2, 2], output_shape=[9, 6]),
    transposed(f32(1, 2, 4, 3), f32(2, 3, 4, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
    transposed(f32(1, 2, 2, 3, 2), f32(2, 1, 3, 2, 2), strides=[2, 1, 3]),
    Case("MaxPool", f32(2, 3, 7, 6), opset=12, outputs=2, kernel_shape=[3, 2], pads=[2, 1, 1, 0],
         strides=[2, 2], dilations=[1, 2], ceil_mode=1, storage_order=1),
    Case("MaxPool", np.zeros((1, 1, 3, 3), np.uint8), opset=12, outputs=2, kernel_shape=[3, 3],
         pads=[1, 1, 1, 1]),
    Case("AveragePool", f32(1, 2, 8, 7), opset=19, kernel_shape=[3, 3], pads=[1, 0, 2, 1],
         strides=[3, 2], ceil_mode=1, count_include_pad=1),
    Case("AveragePool", f32(1, 2, 8, 7), opset=19, kernel_shape=[2, 3], pads=[1, 2, 1, 1],
         dilations=[2, 2]),
    Case("LpPool", f32(1, 2, 6, 6), opset=18, kernel_shape=[3, 2], pads=[1, 1, 0, 0], p=3),
    Case("GlobalLpPool", f32(2, 3, 4, 5), p=3),
    Case("MaxRoiPool", f32(2, 3, 8, 9), floats([1, 1, 2, 6, 7], [0, -2, 3, 12, 4]),
         pooled_shape=[2, 3], spatial_scale=0.5),
    Case("RoiAlign", f32(2, 3, 8, 9), floats([1, 2, 9, 13], [0, 0, 4, 3]), ints(1, 0), opset=10,
         output_height=2, output_width=3, spatial_scale=0.5),
    Case("Col2Im", f32(2, 12, 9), ints(5, 4), ints(2, 2), opset=18, dilations=[2, 1],
         strides=[2, 1], pads=[1, 0, 1, 0]),
    resized((1, 2, 4, 5), opset=10, scales=[1, 1, 0.6, 2], mode="nearest"),
    resized((1, 2, 4, 5), opset=10, scales=[1, 1, 1.5, 2], mode="linear"),
    resized((1, 2, 4, 5), opset=11, scales=[1, 1, 2, 3], mode="nearest",
            coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor"),
    resized((1, 2, 4, 5), scales=[1, 1, 2, 3], mode="nearest", nearest_mode="round_prefer_ceil"),
    resized((1, 2, 4, 5), scales=[1, 1, 2, 2], mode="nearest", nearest_mode="floor",
            coordinate_transformation_mode="asymmetric"),
    resized((3, 4, 5), sizes=[3, 7, 2], mode="linear"),
    resized((1, 1, 6, 7), opset=18, sizes=[1, 1, 3, 4], mode="cubic", antialias=1),
    Case("Upsample", f32(1, 2, 3, 4), opset=7, scales=[1.0, 1.0, 2.0, 1.5], mode="linear"),
    Case("Upsample", f32(1, 2, 3, 4), floats(1, 1, 3, 2), opset=9, mode="nearest"),
    Case("GridSample", f32(1, 2, 4, 5), 1.5 * f32(1, 3, 3, 2), opset=16, mode="bicubic",
         padding_mode="reflection"),
    Case("GridSample", f32(1, 2, 3, 4, 5), 1.5 * f32(1, 2, 3, 2, 3), opset=20, mode="linear",
         padding_mode="border", align_corners=1),
    recurrent("RNN", 1, "bidirectional", ["Softsign"], clip=0.7),
    recurrent("RNN", 1, "reverse", ["ThresholdedRelu"], activation_alpha=[0.3]),
    recurrent("GRU", 3, "bidirectional", ["HardSigmoid", "ScaledTanh"],
              activation_alpha=[0.3, 1.2] * 2, activation_beta=[0.4, 0.8] * 2),
    recurrent("GRU", 3, "reverse", linear_before_reset=1, clip=0.8),
    recurrent("GRU", 3, "forward", ["Elu", "LeakyRelu"], lengths=False),
    recurrent("LSTM", 4, "bidirectional", states=2),
    recurrent("LSTM", 4, "reverse", ["Sigmoid", "Softplus", "Affine"], states=2, input_forget=1,
              activation_alpha=[0.5], activation_beta=[0.1]),
]  # fmt: skip


@pytest.mark.parametrize("case", LIKE_ONNX_RUNTIME, ids=str)
def test_like_onnx_runtime(case):
    session = onnxruntime.InferenceSession(case.model(), providers=["CPUExecutionProvider"])
    names = {info.name for info in session.get_inputs()}
    expected = session.run(None, {name: x for name, x in case.feed().items() if name in names})
    for actual, wanted in zip(case.run(), expected, strict=True):
        assert_close(actual, wanted)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bA", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij,jk->ik", [(3, 3, 4), (4, 2)]),
        ("...ij,...jk->...ik", [(5, 3, 4), (2, 5, 4, 6)]),
        ("...a,...a->...", [(1, 4, 3), (5, 1, 3)]),
        ("i...->...", [(2, 3, 4)]),
        ("bij,bjk,bkl->bil", [(2, 3, 4), (2, 4, 5), (2, 5, 6)]),
        (" a , b , c -> c b a ", [(2,), (3,), (4,)]),
        (",i->i", [(), (3,)]),
    ],
)
def test_einsum(equation, shapes):
    operands = [f32(*shape) for shape in shapes]
    actual = Case("Einsum", *operands, equation=equation).run()[0]
    assert_close(actual, np.asarray(np.einsum(equation, *operands)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((3,), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((1, 5, 2, 3), (4, 1, 3, 6)),
        ((2, 0), (0, 3)),
    ],
)
def test_matmul_shapes(left, right):
    a, b = f32(*left), f32(*right)
    assert_close(Case("MatMul", a, b).run()[0], np.asarray(np.matmul(a, b)))


def test_quantized_products():
    # ONNX Runtime's own kernels may saturate sums in between; numpy's do not.
    a, b = u8(2, 3, 5), u8(5, 4).astype(np.int8)
    rows, columns = u8(3), u8(4).astype(np.int8)
    wide = a.astype(np.int32) - rows.astype(np.int32)[:, None]
    sums = wide @ (b.astype(np.int32) - columns.astype(np.int32))
    assert_close(Case("MatMulInteger", a, b, rows, columns, opset=10).run()[0], sums)

    scales = [np.float32(0.02), floats(0.01, 0.02, 0.03, 0.04), np.float32(0.9)]
    zero = np.uint8(7)
    expected = np.rint(sums * (scales[0] * scales[1] / scales[2]).astype(np.float64)) + zero
    case = Case(
        "QLinearMatMul",
        a, np.asarray(scales[0]), rows, b, scales[1], columns, np.asarray(scales[2]),
        np.asarray(zero), opset=10,
    )  # fmt: skip
    assert_close(case.run()[0], np.clip(expected, 0, 255).astype(np.uint8))


def test_determinant_exchanges_rows():
    x = floats([[0, 2, 1], [1, 0, 3], [4, 5, 0]])
    assert_close(Case("Det", x, opset=11).run()[0], np.asarray(np.linalg.det(x)))


def test_huge_pooling_window_sees_the_input_only():
    case = Case("MaxPool", f32(1, 1, 5), opset=12, kernel_shape=[2**30], auto_pad="SAME_UPPER")
    assert_close(case.run()[0], np.full((1, 1, 5), case.inputs[0].max()))


def test_narrow_floats_are_summed_wide():
    a = np.full((1, 4096), 1 / 16, dtype=np.float16)
    b = np.full((4096, 1), 1.001, dtype=np.float16)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(Case("MatMul", a, b).run()[0], expected)
