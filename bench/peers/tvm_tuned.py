"""The best kernel in a folder where tvm_tune.py was at work, as a participant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from peers import tvm_operators, tvm_tune
from peers.tvm_tune import ENVIRONMENT, PACKAGE  # noqa: F401


class Session:
    """Weights are laid out before, by TVM's own pass, as in a model."""

    def __init__(self, model: str, inputs: dict[str, np.ndarray], threads: int) -> None:
        tvm_tune.use_threads(threads)
        import tvm
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo

        folder = Path(model)
        tvm_tune.register_intrinsics()
        case = json.loads((folder / tvm_tune.CASE).read_text())
        target = tvm_tune.target(threads)
        kernel, lay_out = split(best(folder, case, target), case)

        def built(function):
            module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
            return tvm.compile(module, target=target)["main"]

        def empty(shape):
            return tvm.runtime.empty([int(size) for size in shape], "float32", tvm.cpu())

        with np.load(folder / tvm_tune.CONSTANTS) as arrays:
            operands = inputs | {name: arrays[name] for name in arrays.files}
        tensors = [
            tvm.runtime.tensor(operands[f"input_{index}"], tvm.cpu())
            for index in range(len(operands))
        ]
        if lay_out is not None:
            (weight,) = (i for i, operand in enumerate(case["inputs"]) if operand["constant"])
            laid_out = empty(ArgInfo.from_prim_func(lay_out)[-1].shape)
            built(lay_out)(tensors[weight], laid_out)
            tensors[weight] = laid_out
        self._kernel = built(kernel)
        self._result = empty(case["outputs"][0]["shape"])
        self._arguments = [*tensors, self._result]

    def run(self) -> None:
        self._kernel(*self._arguments)

    def outputs(self) -> dict[str, np.ndarray]:
        self.run()
        return {"output": self._result.numpy()}


def best(folder: Path, case: dict[str, Any], target):
    """The function by the best of the folder's records."""
    from tvm.s_tir import meta_schedule as ms
    from tvm.s_tir.meta_schedule.tir_integration import compile_tir

    database = ms.database.JSONDatabase(work_dir=str(folder))
    schedule = compile_tir(database, tvm_operators.function(case), target)
    if schedule is None:
        raise ValueError(f"{folder} has no kernel that was built and measured")
    return schedule.mod["main"]


def split(function, case: dict[str, Any]):
    """What runs each time, and what lays the weight out before; None if it stays as it is."""
    from tvm import relax

    def tensor(operand: dict[str, Any]):
        return relax.TensorType(operand["shape"], "float32")

    builder = relax.BlockBuilder()
    called = builder.add_func(function.without_attr("global_symbol"), "tuned")
    operands = [relax.Var(f"x{i}", tensor(given)) for i, given in enumerate(case["inputs"])]
    with builder.function("main", operands):
        with builder.dataflow():
            call = relax.call_tir(called, operands, tensor(case["outputs"][0]))
            result = builder.emit_output(call)
        builder.emit_func_output(result)
    module = relax.transform.SplitLayoutRewritePreproc()(builder.get())
    parts = {name.name_hint: module[name] for name in module.get_global_vars()}
    if "tuned" in parts:
        return parts["tuned"], None
    return parts["tuned_prepacked"], parts["tuned_weight_prepack"]


load = Session
