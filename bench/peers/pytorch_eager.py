"""PyTorch, operator by operator."""

from __future__ import annotations

import numpy as np

NAME = "PyTorch eager"
ENVIRONMENT = "pytorch"
PACKAGE = "torch"
SETTINGS = (
    "set_num_threads(threads), set_num_interop_threads(1), inference_mode, eval, batch norm folded "
    "into convolutions, weights of convolutions in channels_last"
)
DOCUMENTATION = [
    "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
]


def load(model: str, inputs: dict[str, np.ndarray], threads: int):
    import torch

    from peers._torch_model import TorchSession, build

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    module, arguments, results = build(model, inputs)
    module = module.to(memory_format=torch.channels_last)
    bound = [torch.from_numpy(np.array(inputs[name])) for name in arguments]
    return TorchSession(module, bound, results)
