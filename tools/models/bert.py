"""BERT encoders, with the weight names of the `transformers` library."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from models.builder import GraphBuilder, WeightSource
from models.layers import attention, gelu, layer_norm, linear

# Added to the score of a masked token: large, yet finite, so that no infinity meets another.
MASKED = np.finfo(np.float32).min


@dataclass(frozen=True)
class BertConfig:
    """The sizes of an encoder; the defaults are those of BERT-base."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    intermediate: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    epsilon: float = 1e-12
    tokens: int = 128
    batch: int | str = 1
    mean_pooling: bool = False


def config_of(json: dict, **others) -> BertConfig:
    """The sizes that a `config.json` of the `transformers` library gives."""
    return BertConfig(
        layers=json["num_hidden_layers"],
        hidden=json["hidden_size"],
        heads=json["num_attention_heads"],
        intermediate=json["intermediate_size"],
        vocabulary=json["vocab_size"],
        positions=json["max_position_embeddings"],
        epsilon=json["layer_norm_eps"],
        **others,
    )


def bert(config: BertConfig, weights: WeightSource | None) -> onnx.ModelProto:
    """From tokens to `last_hidden_state`, and with mean pooling to a `sentence_embedding`."""
    g = GraphBuilder("bert", weights)
    shape = (config.batch, config.tokens)
    ids = g.input("input_ids", shape, np.int64)
    mask = g.input("attention_mask", shape, np.int64)
    types = g.input("token_type_ids", shape, np.int64)

    ones = g.op("Cast", mask, to=onnx.TensorProto.FLOAT)
    masked = g.op("Sub", g.constant(1), g.op("Unsqueeze", ones, g.shape(1, 2)))
    bias = g.op("Mul", masked, g.constant(MASKED))
    with g.scope("embeddings"):
        x = _embeddings(g, config, ids, types)
    for layer in range(config.layers):
        with g.scope(f"encoder.layer.{layer}"):
            x = _layer(g, config, x, bias)
    if config.mean_pooling:
        pooled = _mean_pooling(g, x, ones)
        g.output(pooled, "sentence_embedding", (config.batch, config.hidden))
    g.output(x, "last_hidden_state", (*shape, config.hidden))
    return g.build()


def _embeddings(g: GraphBuilder, config: BertConfig, ids: str, types: str) -> str:
    size = config.hidden
    words = g.op("Gather", g.parameter("word_embeddings.weight", (config.vocabulary, size)), ids)
    kinds = g.op("Gather", g.parameter("token_type_embeddings.weight", (2, size)), types)
    table = g.parameter("position_embeddings.weight", (config.positions, size))
    places = g.op("Gather", table, g.constant([range(config.tokens)], np.int64))
    total = g.op("Add", g.op("Add", words, kinds), places)
    with g.scope("LayerNorm"):
        return layer_norm(g, total, size, config.epsilon)


def _layer(g: GraphBuilder, config: BertConfig, x: str, mask: str) -> str:
    size = config.hidden
    with g.scope("attention"):
        projected = []
        for name in ("query", "key", "value"):
            with g.scope(f"self.{name}"):
                projected.append(linear(g, x, size, size))
        with g.scope("self"):
            context = attention(g, *projected, config.heads, size, config.tokens, mask)
        x = _output(g, config, context, x, size)
    with g.scope("intermediate.dense"):
        inner = gelu(g, linear(g, x, size, config.intermediate))
    return _output(g, config, inner, x, config.intermediate)


def _output(g: GraphBuilder, config: BertConfig, x: str, residual: str, size_in: int) -> str:
    with g.scope("output"):
        with g.scope("dense"):
            x = linear(g, x, size_in, config.hidden)
        x = g.op("Add", x, residual)
        with g.scope("LayerNorm"):
            return layer_norm(g, x, config.hidden, config.epsilon)


def _mean_pooling(g: GraphBuilder, x: str, ones: str) -> str:
    """The mean over the tokens that are not masked, of length one."""
    column = g.op("Unsqueeze", ones, g.shape(2))
    total = g.op("ReduceSum", g.op("Mul", x, column), g.shape(1), keepdims=0)
    count = g.op("Clip", g.op("ReduceSum", column, g.shape(1), keepdims=0), g.constant(1e-9))
    mean = g.op("Div", total, count)
    norm = g.op("ReduceL2", mean, axes=[1], keepdims=1)
    return g.op("Div", mean, g.op("Clip", norm, g.constant(1e-12)))
