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
    padding: int | None = None,
) -> str:
    """A square convolution of `channels` (in, out), padded to keep the size at stride 1."""
    c_in, c_out = channels
    padding = kernel // 2 if padding is None else padding
    weights = [g.parameter("weight", (c_out, c_in // groups, kernel, kernel))]
    if bias:
        weights.append(g.parameter("bias", (c_out,)))
    return g.op(
        "Conv",
        x,
        *weights,
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=[padding] * 4,
        dilations=[1] * 2,
        group=groups,
    )


def batch_norm(g: GraphBuilder, x: str, channels: int) -> str:
    names = ("weight", "bias", "running_mean", "running_var")
    parameters = [g.parameter(name, (channels,)) for name in names]
    return g.op("BatchNormalization", x, *parameters, epsilon=1e-5)


def conv_norm(
    g: GraphBuilder,
    x: str,
    channels: tuple[int, int],
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    names: tuple[str, str] = ("0", "1"),
) -> str:
    """A convolution and its batch norm, `names` in the scope: by default as in a sequence."""
    with g.scope(names[0]):
        x = conv(g, x, channels, kernel, stride, groups, bias=False)
    with g.scope(names[1]):
        return batch_norm(g, x, channels[1])


def up_conv(g: GraphBuilder, x: str, channels: tuple[int, int]) -> str:
    """A transposed convolution of `channels` (in, out) that doubles height and width."""
    weights = [g.parameter("weight", (*channels, 2, 2)), g.parameter("bias", (channels[1],))]
    return g.op("ConvTranspose", x, *weights, kernel_shape=[2, 2], strides=[2, 2])


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


def gelu_tanh(g: GraphBuilder, x: str) -> str:
    """x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))"""
    half = g.op("Mul", x, g.constant(0.5))
    cubic = g.op("Mul", g.op("Pow", x, g.constant(3)), g.constant(0.044715))
    inner = g.op("Mul", g.op("Add", x, cubic), g.constant(math.sqrt(2 / math.pi)))
    return g.op("Mul", half, g.op("Add", g.op("Tanh", inner), g.constant(1)))


def silu(g: GraphBuilder, x: str) -> str:
    return g.op("Mul", x, g.op("Sigmoid", x))


def relu6(g: GraphBuilder, x: str) -> str:
    return g.op("Clip", x, g.constant(0), g.constant(6))


def global_mean(g: GraphBuilder, x: str) -> str:
    """An image's mean per channel, as a matrix."""
    return g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)


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
    return attend(g, scores, v, hidden, tokens)


def attend(g: GraphBuilder, scores: str, value: str, hidden: int, tokens: int) -> str:
    """The mean of `value` weighted by `scores`, of all heads side by side."""
    context = g.op("MatMul", g.op("Softmax", scores, axis=-1), value)
    joined = g.op("Transpose", context, perm=[0, 2, 1, 3])
    return g.op("Reshape", joined, g.shape(-1, tokens, hidden))
