"""What the translation of an ONNX node to PyTorch may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


class Unsupported(Exception):
    """The model needs something that its translation to PyTorch does not cover."""


@dataclass
class Node:
    """What is known of a node of the graph before it runs."""

    op_type: str
    name: str
    opset: int
    attributes: dict[str, Any]
    examples: list[torch.Tensor | None]
    constant: list[bool]
    outputs: int

    def get(self, name: str, default: Any = None) -> Any:
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def shape(self, index: int = 0) -> list[int]:
        return list(self.examples[index].shape)

    def given(self, index: int) -> bool:
        return index < len(self.examples) and self.examples[index] is not None

    def values(self, index: int, attribute: str = "") -> list | None:
        """The numbers of a constant input, or of the attribute that older operators had."""
        if not self.given(index):
            return self.get(attribute) if attribute else None
        if not self.constant[index]:
            raise self.unsupported(f"input {index} is not constant")
        return self.examples[index].flatten().tolist()

    def number(self, index: int, attribute: str = "") -> float | None:
        values = self.values(index, attribute)
        return values[0] if isinstance(values, list) else values

    def unsupported(self, why: str) -> Unsupported:
        return Unsupported(f"operator {self.op_type} (node {self.name}): {why}")
