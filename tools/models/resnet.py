"""Residual networks for images, with the weight names of `torchvision`."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from models.builder import GraphBuilder, WeightSource
from models.layers import conv, conv_norm, gemm, global_mean

EXPANSION = 4  # A bottleneck block gives this many times its width.


@dataclass(frozen=True)
class ResNetConfig:
    """The shape of a network; the defaults are those of ResNet-18."""

    blocks: tuple[int, ...] = (2, 2, 2, 2)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    bottleneck: bool = False
    stem_kernel: int = 7
    stem_pool: bool = True
    image: int = 224
    classes: int = 1000
    batch: int | str = 1
    # False: the convolutions have a bias, as after an export that folds batch norm into them.
    batch_norm: bool = True
    # The scores as probabilities.
    softmax: bool = False


RESNET18 = ResNetConfig()
RESNET50 = ResNetConfig(blocks=(3, 4, 6, 3), bottleneck=True)


def resnet(config: ResNetConfig, weights: WeightSource | None) -> onnx.ModelProto:
    """From `image` to `scores`."""
    g = GraphBuilder("resnet", weights)
    x = g.input("image", (config.batch, 3, config.image, config.image))
    channels = config.widths[0]
    x = g.op("Relu", _conv(g, config, x, (3, channels), config.stem_kernel, 2, "conv1", "bn1"))
    if config.stem_pool:
        x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    block = _bottleneck if config.bottleneck else _basic
    for stage, (count, width) in enumerate(zip(config.blocks, config.widths, strict=True)):
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            with g.scope(f"layer{stage + 1}.{index}"):
                x, channels = block(g, config, x, channels, width, stride)
    with g.scope("fc"):
        x = gemm(g, global_mean(g, x), channels, config.classes)
    if config.softmax:
        x = g.op("Softmax", x, axis=1)
    g.output(x, "scores", (config.batch, config.classes))
    return g.build()


def _basic(
    g: GraphBuilder, config: ResNetConfig, x: str, c_in: int, width: int, stride: int
) -> tuple[str, int]:
    y = g.op("Relu", _conv(g, config, x, (c_in, width), 3, stride, "conv1", "bn1"))
    y = _conv(g, config, y, (width, width), 3, 1, "conv2", "bn2")
    return _add(g, config, x, y, (c_in, width), stride), width


def _bottleneck(
    g: GraphBuilder, config: ResNetConfig, x: str, c_in: int, width: int, stride: int
) -> tuple[str, int]:
    c_out = width * EXPANSION
    y = g.op("Relu", _conv(g, config, x, (c_in, width), 1, 1, "conv1", "bn1"))
    y = g.op("Relu", _conv(g, config, y, (width, width), 3, stride, "conv2", "bn2"))
    y = _conv(g, config, y, (width, c_out), 1, 1, "conv3", "bn3")
    return _add(g, config, x, y, (c_in, c_out), stride), c_out


def _add(
    g: GraphBuilder, config: ResNetConfig, x: str, y: str, channels: tuple[int, int], stride: int
) -> str:
    if stride != 1 or channels[0] != channels[1]:
        x = _conv(g, config, x, channels, 1, stride, "downsample.0", "downsample.1")
    return g.op("Relu", g.op("Add", y, x))


def _conv(
    g: GraphBuilder,
    config: ResNetConfig,
    x: str,
    channels: tuple[int, int],
    kernel: int,
    stride: int,
    name: str,
    norm: str,
) -> str:
    if config.batch_norm:
        return conv_norm(g, x, channels, kernel, stride, names=(name, norm))
    with g.scope(name):
        return conv(g, x, channels, kernel, stride)
