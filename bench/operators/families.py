"""The families of operators that the suite covers."""

from __future__ import annotations

import math

from operators.cases import Operand, Workload

# How many cases of each, forty in all. Convolutions and products have most, for the models spend
# most of their time there and engines differ most; the rest has one case of each way to go through
# memory.
FAMILIES = {
    "convolution 3x3": 5,  # From large images with few channels to small ones with many.
    "convolution 1x1": 4,  # Likewise; those of the mobile networks are narrow.
    "convolution 3x3, stride 2": 2,
    "convolution 1x1, stride 2": 1,
    "depthwise 3x3": 2,  # Bound by memory, and by how often a row is read.
    "depthwise 5x5": 1,
    "stem": 2,  # The three channels of an image fill no vector.
    "transposed convolution": 1,
    "product, square": 2,  # Of a weight as high as wide; a large and a small one.
    "product, tall": 1,  # Of a weight higher than wide: a long sum for each result.
    "product, skinny": 2,  # Of a weight wider than high: many results of short sums.
    "product, batched": 2,  # Of attention: all tokens with all, and one with a cache.
    "matrix-vector": 1,  # The head of a language model; the other weights fit a cache.
    "softmax": 1,
    "layer norm": 1,
    "GELU": 1,
    "activation": 1,
    "max pooling": 1,
    "global average pooling": 1,
    "reduction, first axis": 1,
    "reduction, middle axis": 1,
    "reduction, last axis": 1,
    "transpose, last axis kept": 1,  # Moves runs of numbers.
    "transpose, last axis moved": 1,  # Moves single numbers.
    "broadcast add": 1,
    "residual add": 1,
    "concat": 1,
}

REDUCTIONS = ("reduction, first axis", "reduction, middle axis", "reduction, last axis")

IMAGE_CHANNELS = 3

_SIMPLE = {
    "ConvTranspose": "transposed convolution",
    "Softmax": "softmax",
    "LayerNormalization": "layer norm",
    "Gelu": "GELU",
    "Silu": "activation",
    "Clip": "activation",
    "Relu": "activation",
    "MaxPool": "max pooling",
    "GlobalAveragePool": "global average pooling",
    "Concat": "concat",
}


def family_of(workload: Workload) -> str | None:
    """The family of a workload, or None if no case is like it."""
    match workload.op:
        case "Conv":
            return _convolution(workload)
        case "MatMul" | "Gemm":
            return _product(workload)
        case "Add":
            return _addition(*workload.inputs)
        case "Transpose":
            perm = workload.attribute("perm")
            kept = perm[-1] == len(perm) - 1
            return f"transpose, last axis {'kept' if kept else 'moved'}"
    return _SIMPLE.get(workload.op)


def product_sizes(workload: Workload) -> tuple[int, int, int]:
    """Rows, the length of the sums, and columns of each product of matrices."""
    left, right = workload.inputs[0].shape, workload.inputs[1]
    rows = math.prod(left[:-1]) if right.constant else left[-2]
    return rows, left[-1], workload.outputs[0][-1]


def _convolution(workload: Workload) -> str | None:
    c_in, kernel = workload.inputs[0].shape[1], workload.attribute("kernel_shape")[0]
    stride = workload.attribute("strides")[0]
    if c_in == IMAGE_CHANNELS:
        return "stem"
    if workload.attribute("group") == c_in:
        family = f"depthwise {kernel}x{kernel}"
    else:
        family = f"convolution {kernel}x{kernel}" + (f", stride {stride}" if stride > 1 else "")
    return family if family in FAMILIES else None


def _product(workload: Workload) -> str:
    if not workload.inputs[1].constant:
        return "product, batched"
    rows, inner, columns = product_sizes(workload)
    if rows == 1:
        return "matrix-vector"
    if inner == columns:
        return "product, square"
    return "product, tall" if inner > columns else "product, skinny"


def _addition(left: Operand, right: Operand) -> str | None:
    if left.shape == right.shape:
        return None if left.constant or right.constant else "residual add"
    return "broadcast add" if len(left.shape) == 1 or len(right.shape) == 1 else None
