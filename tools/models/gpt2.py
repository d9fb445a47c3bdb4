"""GPT-2 decoders, one token at a time, with the weight names of the `transformers` library."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx

from models.builder import GraphBuilder, WeightSource
from models.layers import attend, gelu_tanh, layer_norm, split_heads


@dataclass(frozen=True)
class GPT2Config:
    """The sizes of a decoder; the defaults are those of GPT-2-small."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    vocabulary: int = 50257
    positions: int = 1024
    epsilon: float = 1e-5
    cache: int = 512  # The tokens before this one, whose keys and values are inputs.
    batch: int = 1


def gpt2_step(config: GPT2Config, weights: WeightSource | None) -> onnx.ModelProto:
    """From one token and `past` to `logits` and `present`, which is `past` and the token's own.

    Nothing is masked: the token is the last and sees all others.
    """
    g = GraphBuilder("gpt2", weights)
    size = config.hidden
    head = size // config.heads
    ids = g.input("input_ids", (config.batch, 1), np.int64)
    past_shape = (config.batch, config.heads, config.cache, head)
    past = [
        [g.input(f"past.{layer}.{part}", past_shape) for part in ("key", "value")]
        for layer in range(config.layers)
    ]
    present: list[list[str]] = []
    with g.scope("transformer"):
        table = g.parameter("wte.weight", (config.vocabulary, size))
        places = g.parameter("wpe.weight", (config.positions, size))
        place = g.op("Gather", places, g.constant([[config.cache]], np.int64))
        x = g.op("Add", g.op("Gather", table, ids), place)
        for layer in range(config.layers):
            with g.scope(f"h.{layer}"):
                x, caches = _layer(g, config, x, past[layer])
            present.append(caches)
        with g.scope("ln_f"):
            x = layer_norm(g, x, size, config.epsilon)
        # The table of tokens serves as the last layer too.
        logits = g.op("MatMul", x, g.transposed("wte.weight", (config.vocabulary, size)))
    g.output(logits, "logits", (config.batch, 1, config.vocabulary))
    present_shape = (config.batch, config.heads, config.cache + 1, head)
    for layer, caches in enumerate(present):
        for part, value in zip(("key", "value"), caches, strict=True):
            g.output(value, f"present.{layer}.{part}", present_shape)
    return g.build()


def _layer(g: GraphBuilder, config: GPT2Config, x: str, past: list[str]) -> tuple[str, list[str]]:
    size = config.hidden
    with g.scope("ln_1"):
        y = layer_norm(g, x, size, config.epsilon)
    with g.scope("attn"):
        y, present = _attention(g, config, y, past)
    x = g.op("Add", y, x)
    with g.scope("ln_2"):
        y = layer_norm(g, x, size, config.epsilon)
    with g.scope("mlp.c_fc"):
        y = gelu_tanh(g, _conv1d(g, config, y, size, 4 * size))
    with g.scope("mlp.c_proj"):
        y = _conv1d(g, config, y, 4 * size, size)
    return g.op("Add", x, y), present


def _attention(
    g: GraphBuilder, config: GPT2Config, x: str, past: list[str]
) -> tuple[str, list[str]]:
    """The context of the token; the keys and values so far, its own among them."""
    size = config.hidden
    head = size // config.heads
    shape = (config.batch, 1, config.heads, head)
    with g.scope("c_attn"):
        x = _conv1d(g, config, x, size, 3 * size)
    query, *own = (
        split_heads(g, part, shape, [0, 2, 1, 3])
        for part in g.op("Split", x, g.shape(size, size, size), outputs=3, axis=2)
    )
    key, value = (
        g.op("Concat", before, new, axis=-2) for before, new in zip(past, own, strict=True)
    )
    products = g.op("MatMul", query, g.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g.op("Div", products, g.constant(math.sqrt(head)))
    context = attend(g, scores, value, size, 1)
    with g.scope("c_proj"):
        return _conv1d(g, config, context, size, size), [key, value]


def _conv1d(g: GraphBuilder, config: GPT2Config, x: str, size_in: int, size_out: int) -> str:
    """A linear layer whose weight is stored (in, out), on a matrix of all tokens."""
    rows = g.op("Reshape", x, g.shape(-1, size_in))
    weight = g.parameter("weight", (size_in, size_out))
    product = g.op("Gemm", rows, weight, g.parameter("bias", (size_out,)))
    return g.op("Reshape", product, g.shape(config.batch, 1, size_out))
