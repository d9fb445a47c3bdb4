"""Bad input gets exit code 2 and a message that names file, node and cause: never a crash or hang.

The cases are tables: of models in bad_graphs.py and bad_files.py, of arguments here.
"""

import re

import bad_files
import bad_graphs
import numpy as np
import onnx
import pytest
from models.builder import serialize
from models.resnet import ResNetConfig, resnet
from models.weights import seeded
from onnx_models import affine

from cli import aoe, fails

TINY = ResNetConfig(blocks=(1,), widths=(4,), stem_kernel=3, stem_pool=False, image=8, classes=2)

BAD_GRAPHS = {
    f"{table}: {case}": entry
    for table in ("STRUCTURE", "TYPES", "SHAPES", "WINDOWS", "SIZES")
    for case, entry in getattr(bad_graphs, table).items()
}

BAD_FILES = {
    f"{table}: {case}": entry
    for table in ("FILES", "WEIGHTS", "EXTERNAL_DATA", "NAMES", "NESTING")
    for case, entry in getattr(bad_files, table).items()
}


@pytest.fixture
def folder(tmp_path):
    """Where the model lies. What is above it is not the model's business."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


def assert_says(message, patterns):
    for pattern in patterns:
        # A whole word, so that the name "w" is not found in "two".
        found = re.search(rf"(?<![A-Za-z0-9])({pattern})", message, re.IGNORECASE)
        assert found, f"the message does not say {pattern!r}: {message}"


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_bad_graph(folder, case):
    built, *patterns = BAD_GRAPHS[case]
    (folder / "model.onnx").write_bytes(built.SerializeToString())
    assert_says(fails("run", folder / "model.onnx"), [r"\S*model\.onnx", *patterns])


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file(folder, case):
    make, *patterns = BAD_FILES[case]
    make(folder)
    assert_says(fails("run", folder / "model.onnx"), [r"\S*model\.onnx", *patterns])


@pytest.mark.parametrize("case", bad_graphs.ARITHMETIC)
def test_arithmetic_without_a_result_is_no_crash(folder, case):
    (folder / "model.onnx").write_bytes(bad_graphs.ARITHMETIC[case].SerializeToString())
    assert aoe("run", folder / "model.onnx").returncode in (0, 2)


def test_subgraphs_may_nest(folder):
    bad_files.nested(10)(folder)
    assert aoe("run", folder / "model.onnx").returncode in (0, 2)


@pytest.mark.parametrize("part", range(10))
def test_truncated_files(folder, part):
    raw = affine(2).SerializeToString()
    for length in range(1 + part, len(raw), 10):
        (folder / "model.onnx").write_bytes(raw[:length])
        assert_says(fails("run", folder / "model.onnx"), [r"\S*model\.onnx"])


@pytest.mark.parametrize("part", range(10))
def test_flipped_bits(folder, part):
    """20 flips a part, in two models: whatever the bit meant, there is a result or a message."""
    random = np.random.default_rng(part)
    for raw in (affine(2).SerializeToString(), serialize(resnet(TINY, seeded()))):
        for _ in range(10):
            flipped = bytearray(raw)
            bit = int(random.integers(8 * len(raw)))
            flipped[bit // 8] ^= 1 << bit % 8
            (folder / "model.onnx").write_bytes(flipped)
            done = aoe("run", folder / "model.onnx")
            assert done.returncode in (0, 2), f"bit {bit}: exit code {done.returncode}"
            assert done.returncode == 0 or b"model.onnx" in done.stderr, f"bit {bit}"


def npy(array):
    return lambda path: np.save(path, array)


def npy_header(text, version=b"\x01\x00", data=bytes(16)):
    """An .npy file whose header is `text`."""
    header = text.encode() + b"\n"
    size = len(header).to_bytes(2, "little")
    return lambda path: path.write_bytes(b"\x93NUMPY" + version + size + header + data)


def cut(array, length):
    def make(path):
        np.save(path, array)
        path.write_bytes(path.read_bytes()[:length])

    return make


X = np.ones((2, 3), np.float32)

# What makes the file x.npy, which is given for the input x: float32, 2 by 3.
BAD_ARRAYS = {
    "shape": (npy(np.ones((3, 3), np.float32)), "3", "2"),
    "rank": (npy(np.ones(6, np.float32)), "6"),
    "type": (npy(np.ones((2, 3), np.float64)), "float64", "float32"),
    "type without a name here": (npy(np.ones((2, 3), np.complex64)), "c8|complex"),
    "objects": (npy(np.array([[None] * 3] * 2)), "object"),
    "no file": (lambda path: None, "no such file|not exist|not found|cannot open"),
    "directory": (lambda path: path.mkdir(), "directory|not a file"),
    "empty": (lambda path: path.write_bytes(b""), "empty|truncated|short|npy"),
    "text": (lambda path: path.write_text("1 2 3\n"), "npy"),
    "cut in the magic": (cut(X, 4), "npy|truncated|short"),
    "cut in the header": (cut(X, 40), "header|truncated|short"),
    "cut in the data": (cut(X, -1), "data|truncated|short|bytes"),
    "header of another language": (npy_header("hello"), "header"),
    "an order that is no bool": (
        npy_header("{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}"),
        "True or False is expected",
    ),
    "header without a shape": (npy_header("{'descr': '<f4', 'fortran_order': False}"), "shape"),
    "enormous shape": (
        npy_header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 60}, {1 << 60})}}"),
        "shape|large|short|bytes|overflow",
    ),
    "negative shape": (
        npy_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}"),
        "shape|negative|header",
    ),
    "unknown version": (npy_header("{}", version=b"\x09\x00"), "version"),
    "so many empty texts": (
        npy_header(f"{{'descr': '|S0', 'fortran_order': False, 'shape': ({1 << 40},)}}", data=b""),
        "MB that one tensor may have",
    ),
    "texts of negative width": (
        npy_header("{'descr': '|S-8', 'fortran_order': False, 'shape': (2,)}"),
        "type .*S-8",
    ),
    "texts with no characters of Unicode": (
        npy(np.frombuffer(b"\xff\xff\xff\x00" * 6, "<U1").reshape(2, 3)),
        "ffffff",
    ),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_npy(folder, case):
    make, *patterns = BAD_ARRAYS[case]
    onnx.save(affine(2), folder / "model.onnx")
    make(folder / "x.npy")
    message = fails("run", "model.onnx", "--input", "x=x.npy", cwd=folder)
    assert_says(message, [r"x\.npy|input .?x", *patterns])


def npz(**arrays):
    return lambda path: np.savez(path, **arrays)


def cut_npz(length):
    def make(path):
        np.savez(path, x=X)
        path.write_bytes(path.read_bytes()[:length])

    return make


BAD_ARCHIVES = {
    "no such input": (npz(x=X, z=X), "z"),
    "shape": (npz(x=np.ones((3, 3), np.float32)), "x"),
    "cut at the end": (cut_npz(-10), r"in\.npz"),
    "cut in the middle": (cut_npz(100), r"in\.npz"),
    "cut at the start": (cut_npz(3), r"in\.npz"),
    "a name that is too long": (npz(**{"x" * 5000: X}), r"in\.npz", "name"),
    "no archive": (lambda path: path.write_text("no archive"), r"in\.npz"),
    "an npy": (lambda path: path.write_bytes(b"\x93NUMPY\x01\x00" + bytes(100)), r"in\.npz"),
    "no file": (lambda path: None, r"in\.npz"),
    "directory": (lambda path: path.mkdir(), r"in\.npz"),
}


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_bad_npz(folder, case):
    make, *patterns = BAD_ARCHIVES[case]
    onnx.save(affine(2), folder / "model.onnx")
    make(folder / "in.npz")
    assert_says(fails("run", "model.onnx", "--input", "in.npz", cwd=folder), patterns)


@pytest.mark.parametrize("part", range(4))
def test_flipped_bits_of_an_npz(folder, part):
    random = np.random.default_rng(part)
    onnx.save(affine(2), folder / "model.onnx")
    np.savez(folder / "in.npz", x=X)
    raw = (folder / "in.npz").read_bytes()
    for _ in range(10):
        flipped = bytearray(raw)
        flipped[random.integers(len(raw))] ^= 1 << random.integers(8)
        (folder / "in.npz").write_bytes(flipped)
        assert aoe("run", "model.onnx", "--input", "in.npz", cwd=folder).returncode in (0, 2)


# Arguments after `aoe`; the model takes x, N by 3.
BAD_ARGUMENTS = {
    "no model": (["run"], "model"),
    "two models": (["run", "model.onnx", "other.onnx"], "other.onnx"),
    "unknown option": (["run", "model.onnx", "--imput", "x=x.npy"], "--imput", "--input"),
    "unknown option with a value": (["run", "model.onnx", "--thread=2"], "--thread", "--threads"),
    "another unknown option": (
        ["run", "model.onnx", "--inputshape", "x:1,3"],
        "--inputshape",
        "--input_shape",
    ),
    "unknown short option": (["run", "model.onnx", "-q"], "-q"),
    "unknown command": (["rum", "model.onnx"], "rum", "run"),
    "option without its value": (["run", "model.onnx", "--output"], "--output"),
    "threads": (["run", "model.onnx", "--threads", "many"], "--threads", "many"),
    "no threads": (["run", "model.onnx", "--threads", "-1"], "--threads", "-1"),
    "seed": (["run", "model.onnx", "--seed", "x"], "--seed", "x"),
    "output nowhere": (
        ["run", "model.onnx", "--input_shape", "x:1,3", "--output", "no/such/out.npz"],
        "no/such/out.npz",
    ),
    "input of an unknown name": (["run", "model.onnx", "--input", "z=x.npy"], "z"),
    "input of no kind": (["run", "model.onnx", "--input", "x.txt"], "x.txt"),
    **{
        f"input_shape {text!r}": (["run", "model.onnx", "--input_shape", text], *patterns)
        for text, patterns in {
            "x": ["x"],
            "x:": ["x"],
            ":1,3": ["input_shape", ":1,3"],
            "x:a,3": ["a,3"],
            "x:1,,3": ["1,,3"],
            "x:1.5,3": ["1.5"],
            "x:-1,3": ["-1"],
            "x:1,4": ["x", "3", "4"],
            "x:1": ["x"],
            "x:1,3,1": ["x"],
            "z:1,3": ["z"],
            "x:1,3;x:2,3": ["x"],
            "x:99999999999999999999,3": ["99999999999999999999"],
            "x:9223372036854775807,3": ["x"],
            "x:1000000000000,3": ["x"],
        }.items()
    },
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments(folder, case):
    arguments, *patterns = BAD_ARGUMENTS[case]
    onnx.save(affine(), folder / "model.onnx")
    np.save(folder / "x.npy", X)
    message = fails(*arguments, cwd=folder)
    for pattern in patterns:
        assert pattern.lower() in message.lower(), message
