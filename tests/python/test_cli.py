"""`aoe run`: what it takes, prints and writes."""

import re

import numpy as np
import onnx
import pytest
from onnx_models import affine, expected_affine, model, node
from tolerance import assert_close

from cli import succeeds


@pytest.fixture
def affine_file(tmp_path):
    onnx.save(affine(), tmp_path / "affine.onnx")
    return tmp_path / "affine.onnx"


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def shape_pattern(*dims):
    """Finds a shape in whatever punctuation."""
    return r"(?<!\d)" + r"\D{1,3}".join(map(str, dims)) + r"(?!\d)"


def line_about(name, text):
    found = [line for line in text.splitlines() if re.search(rf"(?<!\w){name}(?!\w)", line)]
    assert found, f"no line of the output names {name}:\n{text}"
    return "\n".join(found)


def test_prints_what_went_in_and_out(affine_file):
    printed = succeeds("run", affine_file, "--input_shape", "x:7,3")
    for name, dims in {"x": (7, 3), "y": (7, 2)}.items():
        line = line_about(name, printed)
        assert "float32" in line
        assert re.search(shape_pattern(*dims), line)


@pytest.mark.parametrize("form", ["npz", "npy", "columns first", "npy version 2"])
def test_takes_inputs_from_files(affine_file, tmp_path, form):
    x = numbers(4, 3)
    if form == "npz":
        np.savez(tmp_path / "in.npz", x=x)
        given = tmp_path / "in.npz"
    else:
        order = "F" if form == "columns first" else "C"
        version = (2, 0) if form == "npy version 2" else (1, 0)
        with (tmp_path / "x.npy").open("wb") as file:
            np.lib.format.write_array(file, np.array(x, order=order), version=version)
        given = f"x={tmp_path / 'x.npy'}"
    succeeds("run", affine_file, "--input", given, "--output", tmp_path / "out.npz")
    assert_close(np.load(tmp_path / "out.npz")["y"], expected_affine(x))


def test_a_compressed_npz_will_do(affine_file, tmp_path):
    x = numbers(40, 3)
    np.savez_compressed(tmp_path / "in.npz", x=x)
    succeeds("run", affine_file, "--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
    assert_close(np.load(tmp_path / "out.npz")["y"], expected_affine(x))


def test_several_inputs_from_several_files(tmp_path):
    added = model(
        [node("c = Add(a, b)")],
        {"a": ("float32", [2]), "b": ("float32", [2])},
        {"c": ("float32", [2])},
    )
    onnx.save(added, tmp_path / "m.onnx")
    np.savez(tmp_path / "a.npz", a=np.float32([1, 2]))
    np.save(tmp_path / "b.npy", np.float32([10, 20]))
    inputs = ["--input", "a.npz", "--input", "b=b.npy"]
    succeeds("run", "m.onnx", *inputs, "--output", "out.npz", cwd=tmp_path)
    assert np.load(tmp_path / "out.npz")["c"].tolist() == [11, 22]


def test_options_may_be_joined_by_an_equals_sign(affine_file, tmp_path):
    out = tmp_path / "out.npz"
    succeeds("run", affine_file, "--input_shape=x:2,3", "--threads=1", f"--output={out}")
    assert np.load(out)["y"].shape == (2, 2)


@pytest.mark.parametrize(
    ("dtype", "looks_right"),
    [
        ("float32", lambda x: abs(x.mean()) < 0.1 and abs(x.std() - 1) < 0.1),
        ("float64", lambda x: abs(x.mean()) < 0.1 and abs(x.std() - 1) < 0.1),
        ("float16", lambda x: abs(x.mean(dtype=float)) < 0.1),
        ("int64", lambda x: set(x.tolist()) == {0, 1}),
        ("int32", lambda x: set(x.tolist()) == {0, 1}),
        ("uint8", lambda x: set(x.tolist()) == {0, 1}),
        ("bool", lambda x: set(x.tolist()) == {False, True}),
    ],
)
def test_random_inputs(tmp_path, dtype, looks_right):
    same = model([node("y = Identity(x)")], {"x": (dtype, [4000])}, {"y": (dtype, [4000])})
    onnx.save(same, tmp_path / "m.onnx")
    succeeds("run", "m.onnx", "--output", "out.npz", cwd=tmp_path)
    y = np.load(tmp_path / "out.npz")["y"]
    assert y.dtype == dtype
    assert looks_right(y)


def test_the_seed_decides_the_random_inputs(affine_file, tmp_path):
    def run(*options):
        succeeds(
            "run",
            affine_file,
            "--input_shape",
            "x:5,3",
            "--output",
            "y.npz",
            *options,
            cwd=tmp_path,
        )
        return np.load(tmp_path / "y.npz")["y"].tobytes()

    assert run() == run()
    assert run("--seed", 1) == run("--seed", 1)
    assert run("--seed", 1) != run("--seed", 2)


def test_the_number_of_threads_changes_no_result(affine_file, tmp_path):
    x = numbers(64, 3)
    np.save(tmp_path / "x.npy", x)
    for threads in (1, 2):
        succeeds(
            "run",
            affine_file,
            "--input",
            "x=x.npy",
            "--threads",
            threads,
            "--output",
            "y.npz",
            cwd=tmp_path,
        )
        assert_close(np.load(tmp_path / "y.npz")["y"], expected_affine(x))


def test_texts_column_by_column(tmp_path):
    same = model([node("y = Identity(x)")], {"x": ("str", [2, 3])}, {"y": ("str", [2, 3])})
    onnx.save(same, tmp_path / "m.onnx")
    texts = np.array([["a", "b", "c"], ["d", "e", "f"]])
    np.save(tmp_path / "x.npy", np.asfortranarray(texts))
    succeeds("run", "m.onnx", "--input", "x=x.npy", "--output", "y.npz", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["y"].astype(str), texts)


def test_external_data_beside_the_model(tmp_path):
    onnx.save(
        affine(),
        tmp_path / "m.onnx",
        save_as_external_data=True,
        size_threshold=0,
        location="weights.bin",
    )
    x = numbers(2, 3)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "elsewhere").mkdir()
    succeeds(
        "run",
        tmp_path / "m.onnx",
        "--input",
        "x=../x.npy",
        "--output",
        "y.npz",
        cwd=tmp_path / "elsewhere",
    )
    assert_close(np.load(tmp_path / "elsewhere" / "y.npz")["y"], expected_affine(x))


def test_help():
    for args in (["--help"], ["-h"], ["run", "--help"]):
        assert "aoe run" in succeeds(*args)
