"""The Python face of a loaded model."""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aoe import _aoe
from aoe._values import from_engine, to_engine

MOST_THREADS = 1024


@dataclass(frozen=True)
class TensorInfo:
    """What a model says of one of its inputs or outputs.

    `dtype` is a NumPy name ("float32", "bfloat16", "bool"), "string", or for other values
    "sequence(...)" or "optional(...)" of one. A dimension of `shape` is a number, or a name where
    the model leaves it open; `shape` is None where even the rank is open.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None


class Model:
    """A loaded model; `aoe.load` makes it. Any number of threads may call `run` at a time."""

    def __init__(self, engine: _aoe.Model) -> None:
        self._engine = engine
        self.inputs = [_info(*entry) for entry in engine.inputs()]
        self.outputs = [_info(*entry) for entry in engine.outputs()]
        self._dtype_of = {info.name: info.dtype for info in self.inputs}

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Computes all outputs from `feeds`, which maps the name of each input to its value.

        A tensor is a NumPy array, or anything that `numpy.asarray` makes into one; a sequence is
        a list of tensors; an empty optional is None.
        """
        if not isinstance(feeds, Mapping):
            raise _aoe.Error(f"run takes a dict of names and values, not {type(feeds).__name__}")
        pairs = [(name, to_engine(name, value, self._dtype(name))) for name, value in feeds.items()]
        results = self._engine.run(pairs)
        return {
            info.name: from_engine(value) for info, value in zip(self.outputs, results, strict=True)
        }

    def __repr__(self) -> str:
        def names(infos: list[TensorInfo]) -> str:
            return ", ".join(info.name for info in infos)

        return f"<aoe.Model ({names(self.inputs)}) -> ({names(self.outputs)})>"

    @property
    def bank_hits(self) -> int:
        """How many of the model's distinct workloads run by a policy from a bank.

        Counts the kernels made so far: with symbolic dimensions, those of the shapes that were run.
        """
        return self._engine.bank_hits()

    def _dtype(self, name: str) -> str:
        dtype = self._dtype_of.get(name)
        if dtype is None:
            raise _aoe.Error(f"the model has no input {name!r}{self._suggestion(name)}")
        return dtype

    def _suggestion(self, name: str) -> str:
        lower = {known.lower(): known for known in self._dtype_of}
        near = difflib.get_close_matches(str(name).lower(), lower, n=1)
        if near:
            return f"; did you mean {lower[near[0]]!r}?"
        known = ", ".join(repr(known) for known in self._dtype_of)
        return f"; its inputs are {known}" if known else "; it takes none"


def load(
    path_or_bytes: str | os.PathLike[str] | bytes,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    threads: int | None = None,
    kernels: str | None = None,
    op_select_implmode: str | None = None,
    optypelist_for_implmode: Iterable[str] | None = None,
    allow_strassen: bool = False,
) -> Model:
    """Loads an ONNX model from a file, or from the bytes of one.

    `input_shapes` fixes the symbolic dimensions of the inputs it names; the others are taken from
    what `run` is given. `threads` is how many cores a run may use: all if None.
    `kernels` is "sse2", "avx2" or "avx512" for no wider vectors than that, or "reference" for
    the evaluator that kernels are checked against.

    `op_select_implmode` is "high_performance" (the default) or "high_precision", which allows
    direct algorithms only, for the types of operators in `optypelist_for_implmode`, or for all if
    that is None.
    `allow_strassen` lets tuned policies use Strassen's algorithm, which mixes rows of a batch.
    """
    if isinstance(path_or_bytes, bytes | bytearray | memoryview):
        source = bytes(path_or_bytes)
    else:
        source = os.fsdecode(path_or_bytes)
    if kernels is not None and not isinstance(kernels, str):
        raise TypeError(f"kernels must be a string or None, not {_kind(kernels)}")
    if input_shapes is not None and not isinstance(input_shapes, Mapping):
        raise TypeError(f"input_shapes must map names to shapes, not be {_kind(input_shapes)}")
    shapes = {name: _dims(name, dims) for name, dims in (input_shapes or {}).items()}
    if op_select_implmode is not None and not isinstance(op_select_implmode, str):
        raise TypeError(
            f"op_select_implmode must be a string or None, not {_kind(op_select_implmode)}"
        )
    if not isinstance(allow_strassen, bool):
        raise TypeError(f"allow_strassen must be True or False, not {_kind(allow_strassen)}")
    return Model(
        _aoe.Model.load(
            source,
            shapes,
            _count(threads),
            kernels or "",
            op_select_implmode or "",
            _operator_types(optypelist_for_implmode),
            allow_strassen,
        )
    )


def _operator_types(given: Iterable[str] | None) -> list[str]:
    if given is None:
        return []
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    types = list(given) if is_list else []
    if not is_list or not all(isinstance(one, str) for one in types):
        raise TypeError(f"optypelist_for_implmode must be a list of strings, not {given!r}")
    if not types:
        raise _aoe.Error("optypelist_for_implmode is empty: None is expected for all operators")
    return types


def _count(threads: int | None) -> int:
    if threads is None:
        return 0
    try:
        count = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads must be an integer or None, not {_kind(threads)}") from None
    if not 1 <= count <= MOST_THREADS:
        raise _aoe.Error(
            f"threads is {count}; a number from 1 to {MOST_THREADS} is expected, or None for all"
            " cores"
        )
    return count


def _dims(name: str, dims: Sequence[int]) -> list[int]:
    if not isinstance(name, str):
        raise TypeError(f"input_shapes has the key {name!r}, which is no name of an input")
    try:
        sizes = [operator.index(dim) for dim in dims]
    except TypeError:
        raise _aoe.Error(
            f"input_shapes[{name!r}] must be a sequence of integers, not {dims!r}"
        ) from None
    if any(abs(size) >= 2**63 for size in sizes):
        raise _aoe.Error(f"input_shapes[{name!r}] has a size beyond 64 bits: {dims!r}")
    return sizes


def _kind(value: object) -> str:
    return f"{type(value).__name__} {value!r}"


def _info(name: str, dtype: str, dims: list[int | str] | None) -> TensorInfo:
    return TensorInfo(name, dtype, None if dims is None else tuple(dims))
