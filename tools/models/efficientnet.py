"""EfficientNet networks for images, with the weight names of `torchvision`."""

from __future__ import annotations

from dataclasses import dataclass

import onnx

from models.builder import GraphBuilder, WeightSource
from models.layers import conv, conv_norm, gemm, global_mean, silu

# A squeeze-excite layer narrows to this part of the channels that enter its block.
SQUEEZE = 4


@dataclass(frozen=True)
class Stage:
    """A run of inverted residual blocks, the first of which has the stride."""

    expansion: int
    kernel: int
    stride: int
    channels: int
    blocks: int


@dataclass(frozen=True)
class EfficientNetConfig:
    """The shape of a network; the defaults are those of EfficientNet-B0."""

    stages: tuple[Stage, ...] = (
        Stage(1, 3, 1, 16, 1),
        Stage(6, 3, 2, 24, 2),
        Stage(6, 5, 2, 40, 2),
        Stage(6, 3, 2, 80, 3),
        Stage(6, 5, 1, 112, 3),
        Stage(6, 5, 2, 192, 4),
        Stage(6, 3, 1, 320, 1),
    )
    stem: int = 32
    head: int = 1280
    image: int = 224
    classes: int = 1000
    batch: int = 1


def efficientnet(config: EfficientNetConfig, weights: WeightSource | None) -> onnx.ModelProto:
    """From `image` to `scores`."""
    g = GraphBuilder("efficientnet", weights)
    x = g.input("image", (config.batch, 3, config.image, config.image))
    with g.scope("features.0"):
        x = silu(g, conv_norm(g, x, (3, config.stem), 3, 2))
    channels = config.stem
    for index, stage in enumerate(config.stages, start=1):
        for block in range(stage.blocks):
            stride = stage.stride if block == 0 else 1
            with g.scope(f"features.{index}.{block}.block"):
                x = _block(g, x, channels, stage, stride)
            channels = stage.channels
    with g.scope(f"features.{len(config.stages) + 1}"):
        x = silu(g, conv_norm(g, x, (channels, config.head), 1))
    with g.scope("classifier.1"):
        x = gemm(g, global_mean(g, x), config.head, config.classes)
    g.output(x, "scores", (config.batch, config.classes))
    return g.build()


def _block(g: GraphBuilder, x: str, c_in: int, stage: Stage, stride: int) -> str:
    """Expansion, unless by one; a depthwise convolution; squeeze-excite; projection."""
    width = c_in * stage.expansion
    y = x
    layer = 0
    if stage.expansion != 1:
        with g.scope(str(layer)):
            y = silu(g, conv_norm(g, y, (c_in, width), 1))
        layer += 1
    with g.scope(str(layer)):
        y = silu(g, conv_norm(g, y, (width, width), stage.kernel, stride, groups=width))
    with g.scope(str(layer + 1)):
        y = _squeeze_excite(g, y, width, c_in // SQUEEZE)
    with g.scope(str(layer + 2)):
        y = conv_norm(g, y, (width, stage.channels), 1)
    return g.op("Add", y, x) if stride == 1 and c_in == stage.channels else y


def _squeeze_excite(g: GraphBuilder, x: str, channels: int, squeezed: int) -> str:
    """Scales each channel by what the means of all channels say."""
    scale = g.op("GlobalAveragePool", x)
    with g.scope("fc1"):
        scale = silu(g, conv(g, scale, (channels, squeezed), 1))
    with g.scope("fc2"):
        scale = conv(g, scale, (squeezed, channels), 1)
    return g.op("Mul", g.op("Sigmoid", scale), x)
