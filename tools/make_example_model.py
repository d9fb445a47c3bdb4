#!/usr/bin/env python3
"""Writes the example model: a small residual network that sorts images into ten classes.

    tools/make_example_model.py OUT.onnx

Its weights are random, from a fixed seed; the file is the same at each call. An image of 32 by 32
pixels takes 13 MFLOP.
"""

from __future__ import annotations

import sys
from pathlib import Path

from models.builder import serialize
from models.resnet import ResNetConfig, resnet
from models.weights import seeded

EXAMPLE = ResNetConfig(
    blocks=(2, 2, 2),
    widths=(16, 32, 64),
    stem_kernel=3,
    stem_pool=False,
    image=32,
    classes=10,
    softmax=True,
)


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make_example_model.py OUT.onnx", file=sys.stderr)
        return 2
    out = Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(serialize(resnet(EXAMPLE, seeded())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
