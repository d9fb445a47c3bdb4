"""What the cases of the operator suite are called: names for commands, titles for tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

from work import Shape

from operators.cases import Workload
from operators.families import product_sizes

# Of each family: the beginning of its cases' names and of their titles.
_WORDS = {
    "convolution 3x3": ("conv", "Convolution"),
    "convolution 1x1": ("conv", "Convolution"),
    "convolution 3x3, stride 2": ("conv", "Convolution"),
    "convolution 1x1, stride 2": ("conv", "Convolution"),
    "depthwise 3x3": ("depthwise", "Depthwise convolution"),
    "depthwise 5x5": ("depthwise", "Depthwise convolution"),
    "stem": ("stem", "Stem convolution"),
    "transposed convolution": ("conv_transpose", "Transposed convolution"),
    "product, square": ("matmul", "Matrix product"),
    "product, tall": ("matmul", "Matrix product"),
    "product, skinny": ("matmul", "Matrix product"),
    "product, batched": ("batched_matmul", "Batched matrix product"),
    "matrix-vector": ("matvec", "Vector times matrix"),
    "softmax": ("softmax", "Softmax"),
    "layer norm": ("layer_norm", "Layer norm"),
    "GELU": ("gelu", "GELU"),
    "max pooling": ("max_pool", "Max pooling"),
    "global average pooling": ("global_average_pool", "Global average pooling"),
    "reduction, first axis": ("reduce_first", "Mean over the first axis"),
    "reduction, middle axis": ("reduce_middle", "Mean over the middle axis"),
    "reduction, last axis": ("reduce_last", "Mean over the last axis"),
    "transpose, last axis kept": ("transpose_runs", "Transpose that keeps the last axis"),
    "transpose, last axis moved": ("transpose_elements", "Transpose that moves the last axis"),
    "broadcast add": ("add_broadcast", "Addition of a vector to each row"),
    "residual add": ("add_residual", "Addition"),
    "concat": ("concat", "Concatenation"),
}


def name_of(family: str, workload: Workload) -> str:
    """A short name that says the shapes."""
    return _label(family, workload).name


def title_of(family: str, workload: Workload) -> str:
    return _label(family, workload).title


@dataclass(frozen=True)
class _Label:
    name: str
    title: str


def _label(family: str, workload: Workload) -> _Label:
    name, title = _WORDS.get(family, (workload.op.lower(), workload.op))
    if workload.op in ("Conv", "ConvTranspose"):
        return _convolution(name, title, workload)
    if workload.op in ("MatMul", "Gemm"):
        return _product(name, title, family, workload)
    shapes = [given.shape for given in workload.inputs if not given.constant]
    title = f"{title}, {' and '.join(_text(shape, ' x ') for shape in shapes)}"
    return _Label(f"{name}_{_text(shapes[0], 'x')}", title)


def _convolution(name: str, title: str, workload: Workload) -> _Label:
    batch, c_in, height, width = workload.inputs[0].shape
    c_out = workload.outputs[0][1]
    kernel = workload.attribute("kernel_shape")[0]
    stride = workload.attribute("strides")[0]
    same = c_in == c_out
    names = [f"{name}{kernel}x{kernel}"]
    titles = [f"{title} {kernel}x{kernel}"]
    if stride > 1:
        names.append(f"s{stride}")
        titles.append(f"stride {stride}")
    names += [str(c_in) if same else f"{c_in}to{c_out}", f"{height}x{width}"]
    titles.append(f"{c_in} channels" if same else f"{c_in} to {c_out} channels")
    titles.append(f"{height} x {width}")
    if batch > 1:
        names.append(f"b{batch}")
        titles.append(f"batch {batch}")
    return _Label("_".join(names), ", ".join(titles))


def _product(name: str, title: str, family: str, workload: Workload) -> _Label:
    sizes = product_sizes(workload)
    if family == "matrix-vector":
        sizes = sizes[1:]
    if family != "product, batched":
        return _Label(f"{name}_{_text(sizes, 'x')}", f"{title}, {_text(sizes, ' x ')}")
    count = math.prod(workload.outputs[0][:-2])
    return _Label(
        f"{name}_{count}_of_{_text(sizes, 'x')}", f"{title}, {count} of {_text(sizes, ' x ')}"
    )


def _text(shape: Shape, times: str) -> str:
    return times.join(map(str, shape))
