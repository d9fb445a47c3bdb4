"""ONNX's convolutions, pools, normalizations and linear layers as calls of torch.nn.functional."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as F

from peers._torch_node import Node


def _window(node: Node, kernel: list[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Strides, dilations and the padding before and after of a convolution or pool."""
    rank = len(kernel)
    strides = node.get("strides") or [1] * rank
    dilations = node.get("dilations") or [1] * rank
    pads = node.get("pads") or [0] * 2 * rank
    auto = node.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        before, after = [], []
        sizes = zip(node.shape()[2:], kernel, strides, dilations, strict=True)
        for size, extent, stride, dilation in sizes:
            reach = (math.ceil(size / stride) - 1) * stride + (extent - 1) * dilation + 1
            total = max(reach - size, 0)
            small, large = total // 2, total - total // 2
            before.append(small if auto == "SAME_UPPER" else large)
            after.append(large if auto == "SAME_UPPER" else small)
        return strides, dilations, before, after
    return strides, dilations, pads[:rank], pads[rank:]


def _padded(x: Any, before: list[int], after: list[int], value: float = 0.0) -> Any:
    pairs = [size for pair in zip(before[::-1], after[::-1], strict=True) for size in pair]
    return F.pad(x, pairs, value=value)


def conv(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    kernel = node.shape(1)[2:]
    strides, dilations, before, after = _window(node, kernel)
    if before != after:
        x = _padded(x, before, after)
        before = [0] * len(kernel)
    call = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(kernel)]
    return call(x, weight, bias, strides, before, dilations, node.get("group", 1))


def conv_transpose(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    kernel = node.shape(1)[2:]
    if node.get("auto_pad", "NOTSET") != "NOTSET" or node.get("output_shape"):
        raise node.unsupported("auto_pad and output_shape are not translated")
    strides, dilations, before, after = _window(node, kernel)
    if before != after:
        raise node.unsupported("padding that differs before and after")
    extra = node.get("output_padding") or [0] * len(kernel)
    call = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[len(kernel)]
    return call(x, weight, bias, strides, before, extra, node.get("group", 1), dilations)


def max_pool(node: Node, x: Any) -> Any:
    if node.outputs > 1:
        raise node.unsupported("the indices of the maxima")
    kernel = node.get("kernel_shape")
    strides, dilations, before, after = _window(node, kernel)
    if before != after or any(2 * pad > size for pad, size in zip(before, kernel, strict=True)):
        x = _padded(x, before, after, -math.inf)
        before = [0] * len(kernel)
    call = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[len(kernel)]
    return call(x, kernel, strides, before, dilations, bool(node.get("ceil_mode", 0)))


def average_pool(node: Node, x: Any) -> Any:
    kernel = node.get("kernel_shape")
    strides, dilations, before, after = _window(node, kernel)
    counted = bool(node.get("count_include_pad", 0))
    if before != after or any(dilation != 1 for dilation in dilations):
        raise node.unsupported("dilation, or padding that differs before and after")
    call = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[len(kernel)]
    return call(x, kernel, strides, before, bool(node.get("ceil_mode", 0)), counted)


def global_average_pool(node: Node, x: Any) -> Any:
    rank = len(node.shape()) - 2
    return {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}[rank](
        x, 1
    )


def batch_norm(node: Node, x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, node.get("epsilon", 1e-5))


def layer_norm(node: Node, x: Any, scale: Any, bias: Any = None) -> Any:
    if node.outputs > 1:
        raise node.unsupported("the mean and deviation as outputs")
    axes = node.shape()[node.get("axis", -1) :]
    return F.layer_norm(x, axes, scale, bias, node.get("epsilon", 1e-5))


def gemm(node: Node, a: Any, b: Any, c: Any = None) -> Any:
    if node.get("alpha", 1.0) != 1 or node.get("beta", 1.0) != 1:
        raise node.unsupported("factors other than 1")
    if node.get("transA", 0):
        a = torch.transpose(a, 0, 1)
    transposed = node.get("transB", 0)
    columns = node.shape(1)[0 if transposed else 1]
    if node.constant[1] and transposed and (c is None or node.shape(2) == [columns]):
        return F.linear(a, b, c)
    product = torch.matmul(a, torch.transpose(b, 0, 1) if transposed else b)
    return product if c is None else torch.add(product, c)
