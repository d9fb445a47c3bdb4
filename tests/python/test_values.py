"""Conversion between NumPy arrays and the engine's values: no engine takes part."""

import sys

import aoe
import ml_dtypes
import numpy as np
import pytest
from aoe._values import ML_TYPES, NUMPY_TYPES, from_engine, to_engine


@pytest.mark.parametrize("dtype", sorted(NUMPY_TYPES | ML_TYPES))
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 0, 2)])
def test_numbers_survive_the_round_trip(dtype, shape):
    numpy_dtype = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    array = np.ones(shape).astype(numpy_dtype)
    name, dims, data = to_engine("x", array, dtype)
    assert (name, dims) == (dtype, list(shape))
    assert (data.dtype, data.shape) == (np.uint8, (array.nbytes,))
    back = from_engine((name, dims, data))
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("array", "shared"),
    [
        pytest.param(np.ones((2, 3), np.float32), True, id="as the engine has it"),
        pytest.param(np.ones((4, 3), np.float32)[1:3], True, id="part of another"),
        pytest.param(np.ones((2, 3), ml_dtypes.bfloat16), True, id="a type of ml_dtypes"),
        pytest.param(np.ones((3, 2), np.float32).T, False, id="columns first"),
        pytest.param(np.ones((2, 3), ">f4"), False, id="big endian"),
    ],
)
def test_what_lies_as_the_engine_has_it_is_not_copied(array, shared):
    value = to_engine("x", array, array.dtype.name)
    assert np.shares_memory(value[2], array) == shared
    assert np.shares_memory(from_engine(value), value[2])


@pytest.mark.parametrize(
    "given",
    [
        np.array(["ä", ""], dtype=object),
        np.array(["ä", ""]),
        np.array(["ä".encode(), b""]),
        np.array(["ä".encode(), b""], dtype=object),
        ["ä", ""],
    ],
)
def test_strings_go_in_as_utf8_and_come_out_as_str(given):
    value = to_engine("x", given, "string")
    assert value == ("string", [2], ["ä".encode(), b""])
    back = from_engine(value)
    assert back.dtype == object
    assert back.tolist() == ["ä", ""]


def test_bytes_that_are_no_utf8_survive():
    value = ("string", [1], [b"\xff\xfe"])
    assert to_engine("x", from_engine(value), "string") == value


def test_sequences_and_optionals():
    ones = np.ones(2, np.float32)
    value = to_engine("x", [ones, [3, 4]], "sequence(float32)")
    assert [item.tolist() for item in from_engine(value)] == [[1, 1], [3, 4]]
    assert to_engine("x", [], "sequence(float32)") == []
    assert to_engine("x", None, "optional(float32)") is None
    assert from_engine(to_engine("x", ones, "optional(float32)")).tolist() == [1, 1]
    nested = to_engine("x", [ones], "optional(sequence(float32))")
    assert from_engine(nested)[0].tolist() == [1, 1]
    assert from_engine(None) is None
    with pytest.raises(aoe.Error, match="takes a list"):
        to_engine("x", ones, "sequence(float32)")


@pytest.mark.parametrize(
    ("given", "dtype", "expected"),
    [
        (3, "int64", 3),
        ([1, 2], "uint8", [1, 2]),
        ([1, 2], "float16", [1, 2]),
        ([1.5], "bfloat16", [1.5]),
        ([True], "bool", [True]),
        ([], "int64", []),
        ((1.0, 2), "float64", [1, 2]),
    ],
)
def test_plain_numbers_take_the_type_of_the_input(given, dtype, expected):
    value = to_engine("x", given, dtype)
    assert value[0] == dtype
    assert from_engine(value).tolist() == expected


@pytest.mark.parametrize(
    ("given", "dtype", "message"),
    [
        ([1.5], "int64", "int64 values, not fractions"),
        ([1.5], "int4", "int4 values, not fractions"),
        (["1"], "float32", "float32 values, not text"),
        ([300], "uint8", "uint8"),
        ([-1], "uint64", "uint64"),
        ([1], "string", "strings, not int"),
        (np.array([None]), "string", "strings, not NoneType"),
        (np.array(["2024-01-01"], dtype="M8[D]"), "int64", "datetime64"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, dtype, message):
    with pytest.raises(aoe.Error, match=message):
        to_engine("x", given, dtype)


def test_types_that_numpy_lacks_name_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(aoe.Error, match="pip install ml_dtypes"):
        from_engine(("bfloat16", [1], np.zeros(2, np.uint8)))
