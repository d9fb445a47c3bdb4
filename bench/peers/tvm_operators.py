"""The operators of the tuning suite as tensor expressions for TVM, and in numpy with f64.

A convolution is TVM's own definition, which its importers use too. The matrix products are
written out, because TVM's own mark the second operand as free to be laid out anew, which in
attention would be wrong: there it is computed, not stored.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def convolution_expression(x, w, attributes: dict[str, Any]):
    from tvm import topi

    return topi.nn.conv(
        x,
        w,
        attributes["strides"],
        attributes["pads"],
        attributes["dilations"],
        attributes["group"],
        "NCHW",
        "OIHW",
        "float32",
    )


def convolution_f64(x, w, attributes: dict[str, Any]) -> np.ndarray:
    top, left, bottom, right = attributes["pads"]
    (down, across), (dilation_y, dilation_x) = attributes["strides"], attributes["dilations"]
    groups = attributes["group"]
    height, width = w.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    reach = ((height - 1) * dilation_y + 1, (width - 1) * dilation_x + 1)
    windows = sliding_window_view(padded, reach, axis=(2, 3))
    windows = windows[:, :, ::down, ::across, ::dilation_y, ::dilation_x]
    pairs = zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    parts = [np.einsum("nchwyx,ocyx->nohw", *pair, optimize=True) for pair in pairs]
    return np.concatenate(parts, axis=1)


def product_expression(a, b, attributes: dict[str, Any]):
    from tvm import te

    depth = a.shape[-1]
    k = te.reduce_axis((0, depth), "k")
    batched = len(b.shape) > 2
    shape = (*a.shape[:-1], b.shape[-1])

    def at(*i):
        right = b(*i[:-2], k, i[-1]) if batched else b(k, i[-1])
        return te.sum(a(*i[:-1], k) * right, axis=k)

    return te.compute(shape, at, name="product")


def product_f64(a, b, attributes: dict[str, Any]) -> np.ndarray:
    return a @ b


def softmax_expression(x, attributes: dict[str, Any]):
    from tvm import topi

    return topi.nn.softmax(x, axis=attributes["axis"])


def softmax_f64(x, attributes: dict[str, Any]) -> np.ndarray:
    powers = np.exp(x - x.max(axis=attributes["axis"], keepdims=True))
    return powers / powers.sum(axis=attributes["axis"], keepdims=True)


def layer_norm_expression(x, scale, bias, attributes: dict[str, Any]):
    from tvm import topi

    return topi.nn.layer_norm(x, scale, bias, [len(x.shape) - 1], attributes["epsilon"])


def layer_norm_f64(x, scale, bias, attributes: dict[str, Any]) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + attributes["epsilon"]) * scale + bias


OPERATORS = {
    "Conv": (convolution_expression, convolution_f64),
    "MatMul": (product_expression, product_f64),
    "Softmax": (softmax_expression, softmax_f64),
    "LayerNormalization": (layer_norm_expression, layer_norm_f64),
}


def function(case: dict[str, Any]):
    """The case, as `operators.json` has it, as a TensorIR function of its operands and result.

    Convolution kernels and stored matrices may be laid out anew by the tuner, as
    `cpu_weight_prepack` of TVM's pipeline for models allows.
    """
    from tvm import te

    if case["op"] not in OPERATORS:
        known = ", ".join(OPERATORS)
        raise ValueError(f"{case['op']} has no definition for TVM here, only {known} have")
    operands = case["inputs"]
    arguments = [
        te.placeholder(operand["shape"], "float32", name=f"x{index}")
        for index, operand in enumerate(operands)
    ]
    result = OPERATORS[case["op"]][0](*arguments, attributes=case["attributes"])
    main = te.create_prim_func([*arguments, result]).with_attr("global_symbol", "main")
    matrices = [
        index
        for index, operand in enumerate(operands)
        if operand["constant"] and len(operand["shape"]) > 1
    ]
    return main.with_attr("layout_free_buffers", matrices) if matrices else main


def arguments_of(case: dict[str, Any]) -> list[np.ndarray]:
    """Seeded operands; stored ones are scaled so that results stay near one."""
    random = np.random.default_rng(7)
    return [
        (random.standard_normal(operand["shape"]) / scale(operand)).astype(np.float32)
        for operand in case["inputs"]
    ]


def scale(operand: dict[str, Any]) -> float:
    shape = operand["shape"]
    if not operand["constant"] or len(shape) < 2:
        return 1.0
    # The terms of one sum: a kernel's first axis counts results, and a matrix's last one.
    return math.sqrt(math.prod(shape[1:] if len(shape) == 4 else shape[:-1]))


def expected(case: dict[str, Any], arguments: list[np.ndarray]) -> np.ndarray:
    wide = [a.astype(np.float64) for a in arguments]
    return OPERATORS[case["op"]][1](*wide, attributes=case["attributes"])
