"""Vision transformers, with the weight names of `timm`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from models.builder import GraphBuilder, WeightSource
from models.layers import attend, conv, gelu, gemm, layer_norm, linear


@dataclass(frozen=True)
class ViTConfig:
    """The sizes of an encoder; the defaults are those of ViT-Tiny."""

    layers: int = 12
    hidden: int = 192
    heads: int = 3
    intermediate: int = 768
    patch: int = 16
    epsilon: float = 1e-6
    image: int = 224
    classes: int = 1000
    batch: int = 1

    @property
    def patches(self) -> int:
        return (self.image // self.patch) ** 2

    @property
    def tokens(self) -> int:
        """The patches, and a class token before them."""
        return self.patches + 1


def vit(config: ViTConfig, weights: WeightSource | None) -> onnx.ModelProto:
    """From `image` to `scores`."""
    g = GraphBuilder("vit", weights)
    x = g.input("image", (config.batch, 3, config.image, config.image))
    x = _embeddings(g, config, x)
    for layer in range(config.layers):
        with g.scope(f"blocks.{layer}"):
            x = _layer(g, config, x)
    with g.scope("norm"):
        x = layer_norm(g, x, config.hidden, config.epsilon)
    x = g.op("Gather", x, g.constant(0, np.int64), axis=1)
    with g.scope("head"):
        x = gemm(g, x, config.hidden, config.classes)
    g.output(x, "scores", (config.batch, config.classes))
    return g.build()


def _embeddings(g: GraphBuilder, config: ViTConfig, image: str) -> str:
    size = config.hidden
    with g.scope("patch_embed.proj"):
        x = conv(g, image, (3, size), config.patch, stride=config.patch, padding=0)
    x = g.op("Reshape", x, g.shape(config.batch, size, config.patches))
    x = g.op("Transpose", x, perm=[0, 2, 1])
    first = g.parameter("cls_token", (1, 1, size))
    if config.batch != 1:
        first = g.op("Expand", first, g.shape(config.batch, 1, size))
    x = g.op("Concat", first, x, axis=1)
    return g.op("Add", x, g.parameter("pos_embed", (1, config.tokens, size)))


def _layer(g: GraphBuilder, config: ViTConfig, x: str) -> str:
    size = config.hidden
    with g.scope("norm1"):
        y = layer_norm(g, x, size, config.epsilon)
    with g.scope("attn"):
        y = _attention(g, config, y)
    x = g.op("Add", x, y)
    with g.scope("norm2"):
        y = layer_norm(g, x, size, config.epsilon)
    with g.scope("mlp.fc1"):
        y = gelu(g, linear(g, y, size, config.intermediate))
    with g.scope("mlp.fc2"):
        y = linear(g, y, config.intermediate, size)
    return g.op("Add", x, y)


def _attention(g: GraphBuilder, config: ViTConfig, x: str) -> str:
    size = config.hidden
    head = size // config.heads
    with g.scope("qkv"):
        x = linear(g, x, size, 3 * size)
    shape = g.shape(config.batch, config.tokens, 3, config.heads, head)
    x = g.op("Transpose", g.op("Reshape", x, shape), perm=[2, 0, 3, 1, 4])
    parts = g.op("Split", x, g.shape(1, 1, 1), outputs=3, axis=0)
    query, key, value = (g.op("Squeeze", part, g.shape(0)) for part in parts)
    query = g.op("Mul", query, g.constant(head**-0.5))
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    x = attend(g, scores, value, size, config.tokens)
    with g.scope("proj"):
        return linear(g, x, size, size)
