"""ONNX Runtime on its CPU provider."""

from __future__ import annotations

import numpy as np

NAME = "ONNX Runtime"
ENVIRONMENT = "onnxruntime"
PACKAGE = "onnxruntime"
SETTINGS = (
    "CPU provider; intra_op_num_threads = the row's threads, inter_op_num_threads = 1, sequential "
    "execution; all graph optimizations and spinning threads, as by default; inputs and outputs "
    "bound by IOBinding"
)
DOCUMENTATION = [
    "https://onnxruntime.ai/docs/performance/tune-performance/threading.html",
    "https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html",
    "https://onnxruntime.ai/docs/performance/tune-performance/iobinding.html",
]


class Session:
    def __init__(self, model: str, inputs: dict[str, np.ndarray], threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._names = [output.name for output in session.get_outputs()]
        self._binding = session.io_binding()
        for name, array in inputs.items():
            self._binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
        for name in self._names:
            self._binding.bind_output(name)
        self._session = session

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def outputs(self) -> dict[str, np.ndarray]:
        self.run()
        return dict(zip(self._names, self._binding.copy_outputs_to_cpu(), strict=True))


load = Session
