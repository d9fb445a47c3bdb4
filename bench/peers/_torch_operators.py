"""ONNX operators as the functions that a PyTorch user would call for them.

Each entry of OPERATORS takes a Node and its inputs, which are either tensors (to fold constants and
to learn shapes) or torch.fx proxies (to record the call). So what decides the call comes from the
Node: attributes, shapes and constant inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from onnx import helper
from torch.nn import functional as F

from peers import _torch_layers as layers
from peers._torch_node import Node


def _clip(node: Node, x: Any, *_: Any) -> Any:
    low, high = node.number(1, "min"), node.number(2, "max")
    if (low, high) == (0.0, 6.0):
        return F.relu6(x)
    return torch.clamp(x, low, high)


def _hard_sigmoid(node: Node, x: Any) -> Any:
    alpha, beta = node.get("alpha", 0.2), node.get("beta", 0.5)
    if math.isclose(alpha, 1 / 6, rel_tol=1e-5) and beta == 0.5:
        return F.hardsigmoid(x)
    return torch.clamp(torch.add(torch.mul(x, alpha), beta), 0.0, 1.0)


def _gelu(node: Node, x: Any) -> Any:
    return F.gelu(x, approximate=node.get("approximate", "none"))


def _softmax(node: Node, x: Any) -> Any:
    axis = node.get("axis", -1 if node.opset >= 13 else 1)
    if node.opset < 13 and axis % len(node.shape()) != len(node.shape()) - 1:
        raise node.unsupported("several axes at once, as before opset 13")
    return torch.softmax(x, axis)


def _reduction(call: Callable) -> Callable:
    def reduce(node: Node, x: Any, *_: Any) -> Any:
        axes = node.values(1, "axes")
        if not axes:
            if node.get("noop_with_empty_axes", 0):
                return x
            axes = list(range(len(node.shape())))
        return call(x, axes, bool(node.get("keepdims", 1)))

    return reduce


def _norm(x: Any, axes: list[int], keep: bool) -> Any:
    return torch.linalg.vector_norm(x, 2, axes, keep)


def _reshape(node: Node, x: Any, _: Any) -> Any:
    sizes = node.values(1)
    if not node.get("allowzero", 0):
        sizes = [size or node.shape()[axis] for axis, size in enumerate(sizes)]
    return torch.reshape(x, sizes)


def _flatten(node: Node, x: Any) -> Any:
    axis = node.get("axis", 1)
    return torch.reshape(x, [math.prod(node.shape()[:axis]), -1])


def _transpose(node: Node, x: Any) -> Any:
    return torch.permute(x, node.get("perm") or list(range(len(node.shape())))[::-1])


def _concat(node: Node, *inputs: Any) -> Any:
    return torch.cat(inputs, node.get("axis"))


def _split(node: Node, x: Any, *_: Any) -> Any:
    axis, sizes = node.get("axis", 0), node.values(1, "split")
    return torch.split(x, sizes or math.ceil(node.shape()[axis] / node.outputs), axis)


def _slice(node: Node, x: Any, *_: Any) -> Any:
    starts, ends = node.values(1, "starts"), node.values(2, "ends")
    axes = node.values(3, "axes") or list(range(len(starts)))
    steps = node.values(4) or [1] * len(starts)
    index = [slice(None)] * len(node.shape())
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step < 0:
            raise node.unsupported("steps backwards")
        index[axis] = slice(*slice(start, end, step).indices(node.shape()[axis]))
    return x[tuple(index)]


def _gather(node: Node, x: Any, indices: Any) -> Any:
    axis, shape = node.get("axis", 0) % len(node.shape()), node.shape()
    if node.constant[0] and axis == 0 and len(shape) == 2 and not node.constant[1]:
        return F.embedding(indices, x)
    if node.constant[1]:
        flat = [index % shape[axis] for index in node.values(1)]
        if not node.shape(1):
            return torch.select(x, axis, flat[0])
        if flat == list(range(flat[0], flat[0] + len(flat))):
            part = torch.narrow(x, axis, flat[0], len(flat))
            return torch.reshape(part, shape[:axis] + node.shape(1) + shape[axis + 1 :])
    part = torch.index_select(x, axis, torch.reshape(indices, [-1]))
    return torch.reshape(part, shape[:axis] + node.shape(1) + shape[axis + 1 :])


def _squeeze(node: Node, x: Any, *_: Any) -> Any:
    axes = node.values(1, "axes")
    return torch.squeeze(x) if axes is None else torch.squeeze(x, tuple(axes))


def _unsqueeze(node: Node, x: Any, *_: Any) -> Any:
    axes = node.values(1, "axes")
    rank = len(node.shape()) + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = torch.unsqueeze(x, axis)
    return x


def _expand(node: Node, x: Any, _: Any) -> Any:
    return torch.broadcast_to(x, torch.broadcast_shapes(node.shape(), node.values(1)))


def _cast(node: Node, x: Any) -> Any:
    target = helper.tensor_dtype_to_np_dtype(node.get("to"))
    return x.to(getattr(torch, target.name))


def _resize(node: Node, x: Any, *_: Any) -> Any:
    sizes = node.values(3) if node.given(3) else None
    if sizes is None:
        scales = node.values(2 if node.opset >= 11 else 1)
        sizes = [math.floor(a * b) for a, b in zip(node.shape(), scales, strict=True)]
    place = node.get("coordinate_transformation_mode", "half_pixel")
    mode = (node.get("mode", "nearest"), place)
    if sizes[:2] != node.shape()[:2]:
        raise node.unsupported("another number of channels")
    if mode == ("nearest", "asymmetric") and node.get("nearest_mode") == "floor":
        return F.interpolate(x, sizes[2:], mode="nearest")
    if mode in (("linear", "half_pixel"), ("linear", "align_corners")) and len(sizes) == 4:
        return F.interpolate(x, sizes[2:], mode="bilinear", align_corners=place != "half_pixel")
    raise node.unsupported(f"mode {mode[0]} with {mode[1]}")


def _divide(node: Node, a: Any, b: Any) -> Any:
    whole = not node.examples[0].is_floating_point()
    return torch.div(a, b, rounding_mode="trunc") if whole else torch.div(a, b)


def _many(call: Callable) -> Callable:
    def fold(node: Node, first: Any, *rest: Any) -> Any:
        for value in rest:
            first = call(first, value)
        return first

    return fold


def _plain(call: Callable) -> Callable:
    return lambda node, *inputs: call(*inputs)


OPERATORS: dict[str, Callable] = {
    "AveragePool": layers.average_pool,
    "BatchNormalization": layers.batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Conv": layers.conv,
    "ConvTranspose": layers.conv_transpose,
    "Div": _divide,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gelu": _gelu,
    "Gemm": layers.gemm,
    "GlobalAveragePool": layers.global_average_pool,
    "GlobalMaxPool": lambda node, x: torch.amax(x, list(range(2, len(node.shape()))), True),
    "HardSigmoid": _hard_sigmoid,
    "LayerNormalization": layers.layer_norm,
    "LeakyRelu": lambda node, x: F.leaky_relu(x, node.get("alpha", 0.01)),
    "Max": _many(torch.maximum),
    "MaxPool": layers.max_pool,
    "Min": _many(torch.minimum),
    "ReduceL2": _reduction(_norm),
    "ReduceMax": _reduction(torch.amax),
    "ReduceMean": _reduction(torch.mean),
    "ReduceMin": _reduction(torch.amin),
    "ReduceSum": _reduction(torch.sum),
    "Reshape": _reshape,
    "Resize": _resize,
    "Slice": _slice,
    "Softmax": _softmax,
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
} | {
    name: _plain(call)
    for name, call in {
        "Abs": torch.abs,
        "Add": torch.add,
        "And": torch.logical_and,
        "Cos": torch.cos,
        "Dropout": lambda x, *_: x,
        "Equal": torch.eq,
        "Erf": torch.erf,
        "Exp": torch.exp,
        "Greater": torch.gt,
        "GreaterOrEqual": torch.ge,
        "HardSwish": F.hardswish,
        "Identity": lambda x: x,
        "Less": torch.lt,
        "LessOrEqual": torch.le,
        "Log": torch.log,
        "MatMul": torch.matmul,
        "Mul": torch.mul,
        "Neg": torch.neg,
        "Not": torch.logical_not,
        "Pow": torch.pow,
        "Reciprocal": torch.reciprocal,
        "Relu": F.relu,
        "Sigmoid": torch.sigmoid,
        "Sin": torch.sin,
        "Sqrt": torch.sqrt,
        "Sub": torch.sub,
        "Tanh": torch.tanh,
        "Where": torch.where,
    }.items()
}
