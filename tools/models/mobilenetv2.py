"""MobileNetV2 networks for images, with the weight names of `torchvision`."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from models.builder import GraphBuilder, WeightSource
from models.layers import conv_norm, gemm, global_mean, relu6


@dataclass(frozen=True)
class Stage:
    """A run of inverted residual blocks, the first of which has the stride."""

    expansion: int
    channels: int
    blocks: int
    stride: int


@dataclass(frozen=True)
class MobileNetV2Config:
    """The shape of a network; the defaults are those of the published one of width 1."""

    stages: tuple[Stage, ...] = (
        Stage(1, 16, 1, 1),
        Stage(6, 24, 2, 2),
        Stage(6, 32, 3, 2),
        Stage(6, 64, 4, 2),
        Stage(6, 96, 3, 1),
        Stage(6, 160, 3, 2),
        Stage(6, 320, 1, 1),
    )
    stem: int = 32
    head: int = 1280
    image: int = 224
    classes: int = 1000
    batch: int = 1


def mobilenetv2(config: MobileNetV2Config, weights: WeightSource | None) -> onnx.ModelProto:
    """From `image` to `scores`."""
    g = GraphBuilder("mobilenetv2", weights)
    x = g.input("image", (config.batch, 3, config.image, config.image))
    with g.scope("features.0"):
        x = relu6(g, conv_norm(g, x, (3, config.stem), 3, 2))
    channels = config.stem
    index = 1
    for stage in config.stages:
        for block in range(stage.blocks):
            stride = stage.stride if block == 0 else 1
            with g.scope(f"features.{index}.conv"):
                x = _block(g, x, (channels, stage.channels), stage.expansion, stride)
            channels = stage.channels
            index += 1
    with g.scope(f"features.{index}"):
        x = relu6(g, conv_norm(g, x, (channels, config.head), 1))
    with g.scope("classifier.1"):
        x = gemm(g, global_mean(g, x), config.head, config.classes)
    g.output(x, "scores", (config.batch, config.classes))
    return g.build()


def _block(g: GraphBuilder, x: str, channels: tuple[int, int], expansion: int, stride: int) -> str:
    """Expansion, unless by one; a depthwise convolution; projection without an activation."""
    c_in, c_out = channels
    width = c_in * expansion
    y = x
    layer = 0
    if expansion != 1:
        with g.scope(str(layer)):
            y = relu6(g, conv_norm(g, y, (c_in, width), 1))
        layer += 1
    with g.scope(str(layer)):
        y = relu6(g, conv_norm(g, y, (width, width), 3, stride, groups=width))
    y = conv_norm(g, y, (width, c_out), 1, names=(str(layer + 1), str(layer + 2)))
    return g.op("Add", x, y) if stride == 1 and c_in == c_out else y
