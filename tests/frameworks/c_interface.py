"""libaoe.so through ctypes: as much of include/aoe/aoe.h as running a model takes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np

FLOAT32 = 1
MAX_RANK = 16


class Input(ctypes.Structure):
    _fields_ = [
        ("dtype", c_int),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("shape", POINTER(c_int64)),
        ("rank", c_size_t),
    ]


class Output(ctypes.Structure):
    _fields_ = [
        ("dtype", c_int),
        ("data", c_void_p),
        ("room", c_size_t),
        ("bytes", c_size_t),
        ("rank", c_size_t),
        ("shape", c_int64 * MAX_RANK),
        ("owner", c_void_p),
    ]


class Library:
    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._library.aoe_error.restype = c_char_p

    def run(self, file: Path, given: np.ndarray, result: np.ndarray) -> None:
        """Runs a model of one float32 input and one output of fixed shapes into `result`."""
        model = c_void_p()
        self._check(self._library.aoe_model_load(str(file).encode(), None, byref(model)))
        source = Input(FLOAT32, given.ctypes.data, given.nbytes, None, 0)
        target = Output(FLOAT32, result.ctypes.data, result.nbytes)
        one = c_size_t(1)
        self._check(self._library.aoe_model_run(model, byref(source), one, byref(target), one))
        self._library.aoe_model_free(model)

    def _check(self, status: int) -> None:
        if status != 0:
            raise SystemExit(self._library.aoe_error().decode())
