"""The usual layers, each as the operators that PyTorch's exporter writes for it."""

from __future__ import annotations

import math

from models.builder import GraphBuilder


def conv(
    g: GraphBuilder,
    x: str,
    channels: tuple[int, int],
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    bias: bool = True,
) -> str:
    """A square convolution of `channels` (in, out) that keeps the size at stride 1."""
    c_in, c_out = channels
    weights = [g.parameter("weight", (c_out, c_in // groups, kernel, kernel))]
    if bias:
        weights.append(g.parameter("bias", (c_out,)))
    return g.op(
        "Conv",
        x,
        *weights,
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=[kernel // 2] * 4,
        dilations=[1] * 2,
        group=groups,
    )


def batch_norm(g: GraphBuilder, x: str, channels: int) -> str:
    names = ("weight", "bias", "running_mean", "running_var")
    parameters = [g.parameter(name, (channels,)) for name in names]
    return g.op("BatchNormalization", x, *parameters, epsilon=1e-5)


def gemm(g: GraphBuilder, x: str, size_in: int, size_out: int) -> str:
    """A linear layer on a matrix."""
    weight = g.parameter("weight", (size_out, size_in))
    return g.op("Gemm", x, weight, g.parameter("bias", (size_out,)), transB=1)


def linear(g: GraphBuilder, x: str, size_in: int, size_out: int) -> str:
    """A linear layer on the last dimension of anything."""
    product = g.op("MatMul", x, g.transposed("weight", (size_out, size_in)))
    return g.op("Add", g.parameter("bias", (size_out,)), product)


def layer_norm(g: GraphBuilder, x: str, size: int, epsilon: float) -> str:
    weights = [g.parameter("weight", (size,)), g.parameter("bias", (size,))]
    return g.op("LayerNormalization", x, *weights, axis=-1, epsilon=epsilon)


def gelu(g: GraphBuilder, x: str) -> str:
    """x · (1 + erf(x / √2)) / 2"""
    erf = g.op("Erf", g.op("Div", x, g.constant(math.sqrt(2))))
    return g.op("Mul", g.op("Mul", x, g.op("Add", erf, g.constant(1))), g.constant(0.5))


def split_heads(g: GraphBuilder, x: str, shape: tuple[int, int, int, int], perm: list[int]) -> str:
    """(batch, tokens, hidden), seen as `shape` (batch, tokens, heads, size) and transposed."""
    return g.op("Transpose", g.op("Reshape", x, g.shape(*shape)), perm=perm)


def attention(
    g: GraphBuilder,
    query: str,
    key: str,
    value: str,
    heads: int,
    hidden: int,
    tokens: int,
    mask: str | None = None,
) -> str:
    """Attention of several heads, with a `mask` that is added to the scores."""
    size = hidden // heads
    # A dimension of -1 is the batch, so that it may be symbolic.
    shape = (-1, tokens, heads, size)
    q = split_heads(g, query, shape, [0, 2, 1, 3])
    k = split_heads(g, key, shape, [0, 2, 3, 1])
    v = split_heads(g, value, shape, [0, 2, 1, 3])
    scores = g.op("Div", g.op("MatMul", q, k), g.constant(math.sqrt(size)))
    if mask:
        scores = g.op("Add", scores, mask)
    context = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    joined = g.op("Transpose", context, perm=[0, 2, 1, 3])
    return g.op("Reshape", joined, g.shape(-1, tokens, hidden))
