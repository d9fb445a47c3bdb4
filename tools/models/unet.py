"""U-Net for the segmentation of images, with the weight names of `brain-segmentation-pytorch`."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from models.builder import GraphBuilder, WeightSource
from models.layers import conv, conv_norm, up_conv


@dataclass(frozen=True)
class UNetConfig:
    """The shape of a network; the defaults are those of the published one."""

    levels: int = 4
    width: int = 32  # Doubled at each level.
    image: int = 256
    channels: int = 3
    classes: int = 1
    batch: int = 1


def unet(config: UNetConfig, weights: WeightSource | None) -> onnx.ModelProto:
    """From `image` to `mask`, the probability of each class at each pixel."""
    g = GraphBuilder("unet", weights)
    x = g.input("image", (config.batch, config.channels, config.image, config.image))
    channels, width = config.channels, config.width
    skipped = []
    for level in range(1, config.levels + 1):
        with g.scope(f"encoder{level}"):
            x = _double_conv(g, x, (channels, width), f"enc{level}")
        skipped.append(x)
        x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        channels, width = width, 2 * width
    with g.scope("bottleneck"):
        x = _double_conv(g, x, (channels, width), "bottleneck")
    for level in range(config.levels, 0, -1):
        channels, width = width, width // 2
        with g.scope(f"upconv{level}"):
            x = up_conv(g, x, (channels, width))
        x = g.op("Concat", x, skipped.pop(), axis=1)
        with g.scope(f"decoder{level}"):
            x = _double_conv(g, x, (channels, width), f"dec{level}")
    with g.scope("conv"):
        x = conv(g, x, (width, config.classes), 1)
    shape = (config.batch, config.classes, config.image, config.image)
    g.output(g.op("Sigmoid", x), "mask", shape)
    return g.build()


def _double_conv(g: GraphBuilder, x: str, channels: tuple[int, int], name: str) -> str:
    c_in, c_out = channels
    for index, size_in in ((1, c_in), (2, c_out)):
        names = (f"{name}conv{index}", f"{name}norm{index}")
        x = g.op("Relu", conv_norm(g, x, (size_in, c_out), 3, names=names))
    return x
