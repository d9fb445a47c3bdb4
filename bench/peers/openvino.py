"""OpenVINO on its CPU device."""

from __future__ import annotations

import numpy as np

NAME = "OpenVINO"
ENVIRONMENT = "openvino"
PACKAGE = "openvino"
SETTINGS = (
    "CPU device; PERFORMANCE_HINT = LATENCY, INFERENCE_NUM_THREADS = the row's threads; "
    "INFERENCE_PRECISION_HINT = f32, because it would otherwise take bf16 where the processor has "
    "it; one request with its inputs bound"
)
DOCUMENTATION = [
    "https://docs.openvino.ai/2025/openvino-workflow/running-inference/optimize-inference/"
    "high-level-performance-hints.html",
    "https://docs.openvino.ai/2025/openvino-workflow/running-inference/"
    "inference-devices-and-modes/cpu-device/performance-hint-and-thread-scheduling.html",
    "https://docs.openvino.ai/2025/openvino-workflow/running-inference/"
    "inference-devices-and-modes/cpu-device.html",
]


class Session:
    def __init__(self, model: str, inputs: dict[str, np.ndarray], threads: int) -> None:
        import openvino

        core = openvino.Core()
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        self._compiled = core.compile_model(core.read_model(model), "CPU", settings)
        self._request = self._compiled.create_infer_request()
        # The request reads these arrays at every call, so they must live as long as it does.
        self._inputs = {name: np.ascontiguousarray(array) for name, array in inputs.items()}
        for name, array in self._inputs.items():
            self._request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def run(self) -> None:
        self._request.infer(share_outputs=True)

    def outputs(self) -> dict[str, np.ndarray]:
        self.run()
        return {
            name: np.array(self._request.get_tensor(name).data)
            for output in self._compiled.outputs
            for name in output.names
        }


load = Session
