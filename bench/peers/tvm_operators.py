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


def convolution_expression(x, w, *bias, attributes: dict[str, Any]):
    from tvm import te, topi

    y = topi.nn.conv(
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
    if not bias:
        return y
    # One stage, not a reshape and an addition: MetaSchedule cannot place a reshape between
    # the convolution and its consumer.
    return te.compute(y.shape, lambda n, c, i, j: y[n, c, i, j] + bias[0][c], name="biased")


def convolution_f64(x, w, *bias, attributes: dict[str, Any]) -> np.ndarray:
    top, left, bottom, right = attributes["pads"]
    (down, across), (dilation_y, dilation_x) = attributes["strides"], attributes["dilations"]
    groups = attributes["group"]
    height, width = w.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    reach = ((height - 1) * dilation_y + 1, (width - 1) * dilation_x + 1)
    windows = sliding_window_view(padded, reach, axis=(2, 3))
    windows = windows[:, :, ::down, ::across, ::dilation_y, ::dilation_x]
    parts = [
        np.einsum("nchwyx,ocyx->nohw", windows_g, w_g, optimize=True)
        for windows_g, w_g in zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    ]
    y = np.concatenate(parts, axis=1)
    return y + bias[0].reshape(1, -1, 1, 1) if bias else y


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


def supported(case: dict[str, Any]) -> None:
    if case["operator"] not in OPERATORS:
        known = ", ".join(OPERATORS)
        raise ValueError(f"{case['operator']} has no definition for TVM here (only {known})")


def function(case: dict[str, Any]):
    """The case as a TensorIR function of its inputs, its weights and its output.

    Convolution kernels and stored matrices may be laid out anew by the tuner, as
    `cpu_weight_prepack` of TVM's pipeline for models allows.
    """
    from tvm import te

    supported(case)
    shapes = [*case["inputs"], *case["weights"]]
    arguments = [te.placeholder(s, "float32", name=f"x{i}") for i, s in enumerate(shapes)]
    result = OPERATORS[case["operator"]][0](*arguments, attributes=case["attributes"])
    main = te.create_prim_func([*arguments, result]).with_attr("global_symbol", "main")
    matrices = [i for i in range(len(case["inputs"]), len(shapes)) if len(shapes[i]) > 1]
    return main.with_attr("layout_free_buffers", matrices) if matrices else main


def arguments_of(case: dict[str, Any]) -> list[np.ndarray]:
    """Seeded inputs and weights; weights are scaled so that results stay near one."""
    random = np.random.default_rng(7)
    inputs = [random.standard_normal(s).astype(np.float32) for s in case["inputs"]]
    for shape in case["weights"]:
        # A kernel's first axis counts outputs, a matrix's last one.
        terms = math.prod(shape[1:]) if len(shape) == 4 else shape[0] if len(shape) > 1 else 1
        values = random.standard_normal(shape) / math.sqrt(terms)
        inputs.append(values.astype(np.float32))
    return inputs


def expected(case: dict[str, Any], arguments: list[np.ndarray]) -> np.ndarray:
    wide = [a.astype(np.float64) for a in arguments]
    return OPERATORS[case["operator"]][1](*wide, attributes=case["attributes"])
