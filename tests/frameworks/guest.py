"""A process in which a framework and aoe do the same work in turns:

guest.py FRAMEWORK FIRST FOLDER LIBRARY

FIRST, "framework" or "aoe", is loaded before the other. The folder holds model.onnx and arrays.npz:
what is convolved, multiplied and turned into shares, and by what. LIBRARY is libaoe.so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from c_interface import Library

Arrays = Mapping[str, np.ndarray]


def tensorflow() -> Callable[[Arrays], np.ndarray]:
    import tensorflow as tf

    # XLA compiles with the framework's own LLVM.
    @tf.function(jit_compile=True)
    def shares(image, kernel, matrix):
        sums = tf.nn.conv2d(
            tf.transpose(image, [0, 2, 3, 1]), tf.transpose(kernel, [2, 3, 1, 0]), 1, "SAME"
        )
        flat = tf.reshape(tf.transpose(sums, [0, 3, 1, 2]), [len(image), -1])
        return tf.nn.softmax(flat @ matrix)

    def run(arrays: Arrays) -> np.ndarray:
        tensors = {name: tf.constant(array) for name, array in arrays.items()}
        with tf.GradientTape() as tape:
            tape.watch(tensors["matrix"])
            result = shares(**tensors)
        assert tape.gradient(result, tensors["matrix"]).shape == arrays["matrix"].shape
        return result.numpy()

    return run


def mindspore() -> Callable[[Arrays], np.ndarray]:
    import mindspore as ms
    from mindspore import mint, ops

    @ms.jit
    def shares(image, kernel, matrix):
        sums = ops.conv2d(image, kernel, pad_mode="same")
        return ops.softmax(ops.matmul(ops.reshape(sums, (image.shape[0], -1)), matrix), -1)

    def run(arrays: Arrays) -> np.ndarray:
        tensors = [ms.Tensor(arrays[name]) for name in ("image", "kernel", "matrix")]
        gradient = ms.grad(lambda *given: mint.sum(shares(*given)), 2)(*tensors)
        assert gradient.shape == arrays["matrix"].shape
        return shares(*tensors).asnumpy()

    return run


def torch() -> Callable[[Arrays], np.ndarray]:
    import torch

    def run(arrays: Arrays) -> np.ndarray:
        tensors = {name: torch.tensor(array) for name, array in arrays.items()}
        tensors["matrix"].requires_grad = True
        sums = torch.nn.functional.conv2d(tensors["image"], tensors["kernel"], padding="same")
        result = (sums.flatten(1) @ tensors["matrix"]).softmax(-1)
        result.square().sum().backward()
        assert tensors["matrix"].grad.shape == arrays["matrix"].shape
        return result.detach().numpy()

    return run


FRAMEWORKS = {"tensorflow": tensorflow, "mindspore": mindspore, "torch": torch}


def ours(library: Path) -> Callable[[Path, Arrays], np.ndarray]:
    """What the module and the library make of a model, checked against the reference."""
    import aoe

    c_interface = Library(library)

    def run(model: Path, arrays: Arrays) -> np.ndarray:
        feeds = {"image": arrays["image"]}
        (expected,) = aoe.load(model, kernels="reference").run(feeds).values()
        for threads in (1, 2):
            (result,) = aoe.load(model, threads=threads).run(feeds).values()
            check_close("kernels and the reference", result, expected)
        from_c = np.empty_like(expected)
        c_interface.run(model, arrays["image"], from_c)
        check_close("the C interface and the reference", from_c, expected)
        return result

    return run


def check_close(what: str, result: np.ndarray, expected: np.ndarray) -> None:
    error = float(np.abs(result - expected).max())
    if not error < 1e-5:  # The shares of ten classes, which sum to 1.
        raise SystemExit(f"{what} differ by {error}")


def main() -> None:
    name, first, folder, library = *sys.argv[1:3], Path(sys.argv[3]), Path(sys.argv[4])
    arrays = dict(np.load(folder / "arrays.npz"))
    model = folder / "model.onnx"
    if first == "aoe":
        aoe_run = ours(library)
        aoe_run(model, arrays)
    framework_run = FRAMEWORKS[name]()
    before = framework_run(arrays)
    if first == "framework":
        aoe_run = ours(library)
    check_close(f"aoe and {name}", aoe_run(model, arrays), before)
    after = framework_run(arrays)
    if after.tobytes() != before.tobytes():
        raise SystemExit(f"{name} computes something else after aoe has run")


if __name__ == "__main__":
    main()
