"""Rewrites a recorded graph into the calls that a PyTorch user would have written.

ONNX spells out linear layers, GELU, attention and the like as chains of small operators; PyTorch
has one function for each, with one kernel behind it.
"""

from __future__ import annotations

import math

import torch
from torch import fx, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_weights

Weights = dict[str, "nn.Parameter | torch.Tensor"]

_CONVOLUTIONS = (F.conv1d, F.conv2d, F.conv3d)
_TRANSPOSED = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
_SQRT_HALF = math.sqrt(0.5)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBE = 0.044715
_CLOSE = 1e-4  # Exporters write such constants with as few as five digits.


def fuse(graph: fx.Graph, weights: Weights) -> None:
    """Applies all rewrites to `graph`; new weights are added to `weights`."""
    rewriter = _Rewriter(graph, weights)
    for rewrite in (
        rewriter.batch_norm,
        rewriter.bias,
        rewriter.layer_norm,
        rewriter.linear,
        rewriter.activation,
        rewriter.attention,
        rewriter.in_place,
    ):
        for node in list(graph.nodes):
            # An earlier rewrite of this pass may have taken the node out.
            if node.op == "call_function" and (node.users or node.next is not node):
                rewrite(node)
        graph.eliminate_dead_code()


def _is(value: object, *targets: object) -> bool:
    return isinstance(value, fx.Node) and value.op == "call_function" and value.target in targets


def _own(value: object, *targets: object) -> bool:
    """A call of one of `targets` whose result nothing else uses."""
    return _is(value, *targets) and len(value.users) == 1


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _near(value: object, wanted: float) -> bool:
    return _number(value) and math.isclose(value, wanted, rel_tol=_CLOSE)


def _split(node: fx.Node) -> tuple[object, object]:
    """The operands of a sum of something and a number or weight, that one last."""
    a, b = node.args[:2]
    return (b, a) if _number(a) or (isinstance(a, fx.Node) and a.op == "get_attr") else (a, b)


def _factors(node: object, top: bool = True) -> tuple[float, list[fx.Node]]:
    """A product as a number and the values that it multiplies."""
    if _number(node):
        return float(node), []
    if _is(node, torch.mul) and (top or len(node.users) == 1):
        left, right = (_factors(operand, False) for operand in node.args)
        return left[0] * right[0], left[1] + right[1]
    if _is(node, torch.div) and (top or len(node.users) == 1) and _number(node.args[1]):
        scale, values = _factors(node.args[0], False)
        return scale / node.args[1], values
    return 1.0, [node]


def _is_product(node: object) -> bool:
    values = _factors(node)[1]
    return len(values) == 1 and _is(values[0], torch.matmul)


class _Rewriter:
    def __init__(self, graph: fx.Graph, weights: Weights) -> None:
        self.graph = graph
        self.weights = weights

    def batch_norm(self, node: fx.Node) -> None:
        """Into the convolution before it, as torch.nn.utils.fusion does for modules."""
        if not _is(node, F.batch_norm) or not _own(node.args[0], *_CONVOLUTIONS, *_TRANSPOSED):
            return
        conv, transposed = node.args[0], _is(node.args[0], *_TRANSPOSED)
        if transposed and conv.args[6] != 1:
            return
        norm = (*node.args[1:3], node.kwargs["weight"], node.kwargs["bias"])
        parameters = [self._weight(arg) for arg in (*conv.args[1:3], *norm)]
        if any(p is None for i, p in enumerate(parameters) if i != 1):
            return
        if parameters[1] is None and conv.args[2] is not None:
            return
        weight, bias, mean, variance, scale, shift = parameters
        with self.graph.inserting_before(conv):
            fused = fuse_conv_bn_weights(
                weight, bias, mean, variance, node.kwargs["eps"], scale, shift, transposed
            )
            conv.args = (conv.args[0], *(self._add(w) for w in fused), *conv.args[3:])
        self._replace(node, conv)

    def bias(self, node: fx.Node) -> None:
        """Into the convolution before it, where the file adds it apart."""
        if not _is(node, torch.add):
            return
        conv, added = _split(node)
        bias = self._weight(added)
        if bias is None or not _own(conv, *_CONVOLUTIONS) or conv.args[2] is not None:
            return
        weight = self._weight(conv.args[1])
        if weight is None or tuple(bias.shape) != (1, len(weight), *[1] * (weight.dim() - 2)):
            return
        with self.graph.inserting_before(conv):
            conv.args = (*conv.args[:2], self._add(bias.flatten()), *conv.args[3:])
        self._replace(node, conv)

    def layer_norm(self, node: fx.Node) -> None:
        """(x - mean) / sqrt(variance + epsilon) * scale + shift, over the last axis."""
        if not _is(node, torch.add) or not _own(_split(node)[0], torch.mul):
            return
        product, shift = _split(node)
        quotient, scale = _split(product)
        if not _own(quotient, torch.div) or not _own(quotient.args[1], torch.sqrt):
            return
        centred, inner = quotient.args[0], quotient.args[1].args[0]
        if not _is(centred, torch.sub) or not _is(inner, torch.add):
            return
        variance, epsilon = _split(inner)
        x, mean = centred.args[:2]
        if not (_is(variance, torch.mean) and _is(mean, torch.mean) and _number(epsilon)):
            return
        square = variance.args[0]
        squared = _is(square, torch.pow) and square.args[1] == 2 and square.args[0] is centred
        last = mean.args[1:] == variance.args[1:] and mean.args[2]
        weights = [self._weight(scale), self._weight(shift)]
        if not squared or not last or mean.args[0] is not x or any(w is None for w in weights):
            return
        if mean.args[1] != [-1] or any(w.dim() != 1 for w in weights):
            return
        self._call(node, F.layer_norm, (x, list(weights[0].shape), scale, shift, epsilon))

    def linear(self, node: fx.Node) -> None:
        """x @ W + b with constant W and b."""
        product, shift = _split(node) if _is(node, torch.add) else (node, None)
        if not _is(product, torch.matmul) or (shift is not None and len(product.users) > 1):
            return
        weight, bias = self._weight(product.args[1]), self._weight(shift)
        if weight is None or weight.dim() != 2:
            return
        if shift is None and len(node.users) == 1:
            # The sum that follows may take the product in.
            user = next(iter(node.users))
            other = self._weight(_split(user)[1]) if _is(user, torch.add) else None
            if other is not None and tuple(other.shape) == (weight.shape[1],):
                return
        if shift is not None and (bias is None or tuple(bias.shape) != (weight.shape[1],)):
            return
        with self.graph.inserting_before(node):
            transposed = self._add(weight.t().contiguous())
        self._call(node, F.linear, (product.args[0], transposed, shift))

    def activation(self, node: fx.Node) -> None:
        """x times a function of x."""
        if not _is(node, torch.mul, torch.div):
            return
        scale, values = _factors(node)
        if len(values) != 2:
            return
        for x, gate in (values, values[::-1]):
            hard = _is(gate, F.hardsigmoid) and gate.args[0] is x and scale == 1
            clipped = _is(gate, F.relu6) and self._sum(gate.args[0], 3) is x
            if _is(gate, torch.sigmoid) and gate.args[0] is x and scale == 1:
                self._call(node, F.silu, (x,))
            elif hard or (clipped and _near(scale, 1 / 6)):
                self._call(node, F.hardswish, (x,))
            elif _near(scale, 0.5) and (inner := self._sum(gate, 1)) is not None:
                self._gelu(node, x, inner)
            else:
                continue
            return

    def _gelu(self, node: fx.Node, x: fx.Node, inner: fx.Node) -> None:
        if not _is(inner, torch.erf, torch.tanh):
            return
        scale, values = _factors(inner.args[0])
        if _is(inner, torch.erf) and values == [x] and _near(scale, _SQRT_HALF):
            self._call(node, F.gelu, (x,))
        if _is(inner, torch.erf) or len(values) != 1 or not _near(scale, _TANH_SCALE):
            return
        if not _is(values[0], torch.add):
            return
        for linear, cubic in (values[0].args, values[0].args[::-1]):
            cube_scale, cube = _factors(cubic)
            power = len(cube) == 1 and _is(cube[0], torch.pow) and cube[0].args == (x, 3)
            if linear is x and _near(cube_scale, _TANH_CUBE) and (power or cube == [x] * 3):
                self._call(node, F.gelu, (x,), {"approximate": "tanh"})
                return

    def attention(self, node: fx.Node) -> None:
        """softmax(q @ k^T * scale + mask) @ v"""
        if not _is(node, torch.matmul) or not _own(node.args[0], torch.softmax):
            return
        softmax, value = node.args
        scores, mask = softmax.args[0], None
        if _own(scores, torch.add):
            a, b = scores.args
            scores, mask = (a, b) if _is_product(a) else (b, a)
        scale, values = _factors(scores)
        if len(values) != 1 or not _own(values[0], torch.matmul) or softmax.args[1] not in (-1, 3):
            return
        query, key = values[0].args
        if not isinstance(key, fx.Node) or not isinstance(query, fx.Node):
            return
        query_scale, queries = _factors(query, False)
        key_scale, keys = _factors(key, False)
        if len(queries) == 1 and len(keys) == 1:
            query, key, scale = queries[0], keys[0], scale * query_scale * key_scale
        with self.graph.inserting_before(node):
            key = self._untransposed(key)
        options = {"attn_mask": mask, "scale": scale}
        self._call(node, F.scaled_dot_product_attention, (query, key, value), options)

    def _untransposed(self, key: fx.Node) -> fx.Node:
        if _is(key, torch.permute):
            *outer, a, b = key.args[1]
            return self.graph.call_function(torch.permute, (key.args[0], [*outer, b, a]))
        return self.graph.call_function(torch.transpose, (key, -1, -2))

    def in_place(self, node: fx.Node) -> None:
        """Activations overwrite their input where nothing else reads it, as torchvision's do."""
        fresh = (*_CONVOLUTIONS, *_TRANSPOSED, F.linear, F.batch_norm, torch.add)
        if _is(node, F.relu, F.relu6, F.silu, F.hardswish) and _own(node.args[0], *fresh):
            node.kwargs = {**node.kwargs, "inplace": True}

    def _sum(self, node: object, number: float) -> fx.Node | None:
        """x, where `node` is x + number."""
        if not _is(node, torch.add):
            return None
        x, added = _split(node)
        return x if _near(added, number) else None

    def _weight(self, node: object) -> torch.Tensor | None:
        known = isinstance(node, fx.Node) and node.op == "get_attr"
        return self.weights[node.target] if known else None

    def _add(self, tensor: torch.Tensor) -> fx.Node:
        name = f"fused_{len(self.weights)}"
        self.weights[name] = nn.Parameter(tensor.detach(), requires_grad=False)
        return self.graph.get_attr(name)

    def _call(self, node: fx.Node, target: object, args: tuple, kwargs: dict | None = None) -> None:
        with self.graph.inserting_before(node):
            self._replace(node, self.graph.call_function(target, args, kwargs or {}))

    def _replace(self, node: fx.Node, by: fx.Node) -> None:
        node.replace_all_uses_with(by)
        self.graph.erase_node(node)
