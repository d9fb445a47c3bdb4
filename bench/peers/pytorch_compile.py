"""PyTorch with torch.compile: TorchInductor generates C++ around the library's kernels."""

from __future__ import annotations

import os
import tempfile

import numpy as np

NAME = "PyTorch compile"
ENVIRONMENT = "pytorch"
PACKAGE = "torch"
SETTINGS = (
    "torch.compile in its default mode, freezing, set_num_threads(threads), "
    "set_num_interop_threads(1), inference_mode, eval, weights of convolutions in channels_last"
)
DOCUMENTATION = [
    "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    "https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
    "https://docs.pytorch.org/tutorials/prototype/max_autotune_on_CPU_tutorial.html",
]


def load(model: str, inputs: dict[str, np.ndarray], threads: int):
    # A cache that outlived this process would let a later one seem to compile in no time.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="inductor-")

    import torch
    import torch._inductor.config as inductor

    from peers._torch_model import TorchSession, build

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    inductor.freezing = True
    module, arguments, results = build(model, inputs)
    module = module.to(memory_format=torch.channels_last)
    bound = [torch.from_numpy(np.array(inputs[name])) for name in arguments]
    session = TorchSession(torch.compile(module), bound, results)
    session.run()  # Compiles.
    return session
