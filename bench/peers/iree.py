"""IREE: imported from ONNX, compiled for this processor ahead of the first run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

NAME = "IREE"
ENVIRONMENT = "iree"
PACKAGE = "iree-base-compiler"
SETTINGS = (
    "llvm-cpu, target-cpu host, opt-level O1 (O2 and O3 fail to compile BERT), data tiling, "
    "convolutions through im2col (several times faster on ResNet-18); local-sync for one "
    " thread, local-task with one worker for each of several"
)
DOCUMENTATION = [
    "https://iree.dev/guides/deployment-configurations/cpu/",
    "https://iree.dev/reference/optimization-options/",
    "https://iree.dev/guides/ml-frameworks/onnx/",
    "https://iree.dev/guides/parameters/",
]

SCOPE = "model"
# Weights go into a file of their own: as text they would be many times their size. The importer's
# operators are those of opset 17.
IMPORT = ["--opset-version=17", "--externalize-params", f"--params-scope={SCOPE}"]
COMPILE = [
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O1",
    "--iree-opt-data-tiling",
    "--iree-global-opt-use-im2col-for-convs",
]


def load(model: str, inputs: dict[str, np.ndarray], threads: int) -> IreeSession:
    with tempfile.TemporaryDirectory(prefix="iree-") as folder:
        given, results = _names(model)
        importer = [sys.executable, "-m", "iree.compiler.tools.import_onnx", *IMPORT]
        parameters = ["--save-params-to", f"{folder}/model.irpa"]
        files = [model, "-o", f"{folder}/model.mlir"]
        _run("importing", [*importer, *parameters, *files])
        tool = str(Path(sys.executable).with_name("iree-compile"))
        _run("compiling", [tool, f"{folder}/model.mlir", "-o", f"{folder}/model.vmfb", *COMPILE])
        return IreeSession(Path(folder), [inputs[name] for name in given], results, threads)


def _names(model: str) -> tuple[list[str], list[str]]:
    """Of the inputs and outputs, in the order in which the compiled function takes them."""
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    given = [value.name for value in graph.input if value.name not in weights]
    return given, [value.name for value in graph.output]


def _run(what: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{what} failed: {_first_error(done)}")


def _first_error(done: subprocess.CompletedProcess) -> str:
    """The compiler's first complaint: the whole text goes on with pages of its representation."""
    lines = done.stderr.splitlines()
    errors = [line.split("error:", 1)[1].strip() for line in lines if "error:" in line]
    return (errors or lines[-1:] or [f"exit code {done.returncode}"])[0][:300]


class IreeSession:
    """A compiled module whose weights and inputs are on the device."""

    def __init__(
        self, folder: Path, inputs: list[np.ndarray], results: list[str], threads: int
    ) -> None:
        import iree.runtime as rt

        if threads > 1:
            # Workers without a processor of their own inherit the affinity of this process.
            rt.flags.parse_flags(f"--task_topology_group_count={threads}")
        config = rt.Config("local-sync" if threads == 1 else "local-task")
        weights = rt.ParameterIndex()
        weights.load(str(folder / "model.irpa"))
        instance = config.vm_instance
        modules = rt.load_vm_modules(
            rt.create_io_parameters_module(instance, weights.create_provider(scope=SCOPE)),
            rt.create_hal_module(instance, config.device),
            rt.VmModule.mmap(instance, str(folder / "model.vmfb")),
            config=config,
        )
        names = modules[-1].vm_module.function_names
        entry = next(name for name in names if not name.startswith("__") and "$" not in name)
        self._call = modules[-1][entry]
        self._inputs = [rt.asdevicearray(config.device, np.array(array)) for array in inputs]
        self._results = results

    def run(self) -> object:
        return self._call(*self._inputs)

    def outputs(self) -> dict[str, np.ndarray]:
        arrays = self.run()
        if len(self._results) == 1:
            arrays = [arrays]
        return {
            name: np.array(array.to_host())
            for name, array in zip(self._results, arrays, strict=True)
        }
