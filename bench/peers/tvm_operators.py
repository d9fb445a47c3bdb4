"""The operators of the tuning suite as tensor expressions for TVM.

A convolution is TVM's own definition, which its importers use too. The matrix products are
written out, because TVM's own mark the second operand as free to be laid out anew, which in
attention would be wrong: there it is computed, not stored.
"""

from __future__ import annotations

from typing import Any


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


def softmax_expression(x, attributes: dict[str, Any]):
    from tvm import topi

    return topi.nn.softmax(x, axis=attributes["axis"])


def layer_norm_expression(x, scale, bias, attributes: dict[str, Any]):
    from tvm import topi

    return topi.nn.layer_norm(x, scale, bias, [len(x.shape) - 1], attributes["epsilon"])


OPERATORS = {
    "Conv": convolution_expression,
    "MatMul": product_expression,
    "Softmax": softmax_expression,
    "LayerNormalization": layer_norm_expression,
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
    result = OPERATORS[case["op"]](*arguments, attributes=case["attributes"])
    main = te.create_prim_func([*arguments, result]).with_attr("global_symbol", "main")
    matrices = [
        index
        for index, operand in enumerate(operands)
        if operand["constant"] and len(operand["shape"]) > 1
    ]
    return main.with_attr("layout_free_buffers", matrices) if matrices else main
