"""Conversion between NumPy arrays and the values that the engine takes and gives.

The engine's value is `(dtype, shape, bytes as a uint8 array)` for a tensor, `("string", shape,
list of bytes)` for a tensor of strings, a list of values for a sequence, and None for an empty
optional.
"""

from __future__ import annotations

import numbers
import sys
from typing import Any

import numpy as np

from aoe._aoe import Error

STRING = "string"

# fmt: off
NUMPY_TYPES = frozenset({
    "float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64",
})

# NumPy has no such types; the package ml_dtypes adds them, one byte an element below eight bits.
ML_TYPES = frozenset({
    "bfloat16", "int4", "uint4", "int2", "uint2", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
})
# fmt: on


def to_engine(name: str, value: Any, dtype: str) -> Any:
    """The engine's form of `value`, given for the input `name` whose type is `dtype`."""
    if dtype.startswith("optional("):
        if value is None:
            return None
        # The type does not say whether a tensor or a sequence is inside; a list of arrays does.
        inner = _inner(dtype)
        has_arrays = isinstance(value, list | tuple) and any(
            isinstance(item, np.ndarray) for item in value
        )
        if has_arrays and not inner.startswith("sequence("):
            inner = f"sequence({inner})"
        return to_engine(name, value, inner)
    if dtype.startswith("sequence("):
        if not isinstance(value, list | tuple):
            raise Error(f"input {name!r} takes a list ({dtype}), not {type(value).__name__}")
        return [to_engine(name, item, _inner(dtype)) for item in value]
    if value is None:
        raise Error(f"input {name!r} takes a {dtype} tensor, not None")
    if isinstance(value, np.ndarray | np.generic):
        return _tensor(name, np.asarray(value))
    return _tensor(name, _array(name, value, dtype))


def from_engine(value: Any) -> Any:
    """The NumPy form of a value of the engine. It shares the memory of `value`."""
    if value is None:
        return None
    if isinstance(value, list):
        return [from_engine(item) for item in value]
    dtype, shape, data = value
    if dtype == STRING:
        strings = np.empty(len(data), dtype=object)
        strings[:] = [item.decode("utf-8", "surrogateescape") for item in data]
        return _reshaped(strings, shape)
    return _reshaped(data.view(numpy_dtype(dtype)), shape)


def _reshaped(array: np.ndarray, shape: list[int]) -> np.ndarray:
    try:
        return array.reshape(shape)
    except ValueError as error:
        # Without elements an array may have extents here that numpy cannot count.
        raise Error(f"an output of shape {shape} cannot be a numpy array: {error}") from error


def numpy_dtype(dtype: str) -> np.dtype:
    """The NumPy type of a tensor of `dtype`."""
    if dtype in NUMPY_TYPES:
        return np.dtype(dtype)
    if dtype == STRING:
        return np.dtype(object)
    if dtype not in ML_TYPES:
        raise Error(f"NumPy has no type for {dtype}")
    try:
        import ml_dtypes
    except ImportError:
        raise Error(f"{dtype} arrays need the package ml_dtypes: pip install ml_dtypes") from None
    if not hasattr(ml_dtypes, dtype):
        raise Error(f"{dtype} arrays need a newer ml_dtypes: pip install --upgrade ml_dtypes")
    return np.dtype(getattr(ml_dtypes, dtype))


def _inner(dtype: str) -> str:
    return dtype[dtype.index("(") + 1 : -1]


def _array(name: str, value: Any, dtype: str) -> np.ndarray:
    """An array of `value`: of its type, or if it has none (numbers, lists) of `dtype`."""
    try:
        found = np.asarray(value)
        if not dtype or hasattr(value, "dtype"):
            return found
        target = numpy_dtype(dtype)
        whole = target.name == "bool" or "int" in target.name
        fraction = found.dtype.kind in "fc" and whole
        odd = "" if dtype == STRING else _no_number(found)
        if found.size and (fraction or odd):
            raise Error(f"input {name!r} takes {dtype} values, not {odd or 'fractions'}")
        return np.asarray(value, dtype=target)
    except (TypeError, ValueError, OverflowError) as cause:
        raise Error(f"input {name!r} takes a {dtype} array: {cause}") from None


def _no_number(array: np.ndarray) -> str:
    """What is in `array` that is no number; nothing if all are, however large."""
    if array.dtype.kind in "SUT":
        return "text"
    if array.dtype.kind == "O":
        for item in array.ravel().tolist():
            if isinstance(item, str | bytes):
                return "text"
            if not isinstance(item, numbers.Number):
                return type(item).__name__
    return ""


def _tensor(name: str, array: np.ndarray) -> tuple[str, list[int], Any]:
    shape = list(array.shape)
    if array.dtype.kind in "OSUT":
        return STRING, shape, [_string(name, item) for item in array.ravel().tolist()]
    dtype = array.dtype.name
    if dtype not in NUMPY_TYPES and dtype not in ML_TYPES:
        raise Error(f"input {name!r}: arrays of type {dtype} are not supported")
    if not _is_native(array.dtype):
        array = array.astype(array.dtype.newbyteorder("="))
    return dtype, shape, np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _is_native(dtype: np.dtype) -> bool:
    return dtype.byteorder in ("=", "|", "<" if sys.byteorder == "little" else ">")


def _string(name: str, item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode("utf-8", "surrogateescape")
    if isinstance(item, bytes):
        return item
    raise Error(f"input {name!r}: an array of objects must hold strings, not {type(item).__name__}")
