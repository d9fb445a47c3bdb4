"""`aoe bench`: what it prints and what it refuses. Nothing here depends on how long it takes."""

import json
import re

import numpy as np
import onnx
import pytest
from onnx_models import affine, model, node

from cli import aoe, fails, succeeds

SHORT = ("--seconds", "0.05", "--threads", "1")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("bench") / "affine.onnx"
    onnx.save(affine(64), file)
    return file


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    """The same outputs of the same inputs after twenty more products."""
    nodes = [node("p0 = MatMul(x, one)")]
    nodes += [node(f"p{i + 1} = MatMul(p{i}, one)") for i in range(20)]
    nodes += [node("q = MatMul(p20, w)"), node("y = Add(q, b)")]
    weights = {
        "one": np.eye(3, dtype=np.float32),
        "w": np.arange(6, dtype=np.float32).reshape(3, 2),
        "b": np.array([0.5, -0.5], dtype=np.float32),
    }
    file = tmp_path_factory.mktemp("bench") / "larger.onnx"
    inputs, outputs = {"x": ("float32", [64, 3])}, {"y": ("float32", [64, 2])}
    onnx.save(model(nodes, inputs, outputs, weights), file)
    return file


def as_json(*args):
    return json.loads(succeeds("bench", *args, *SHORT, "--json"))


def check_interval(interval):
    assert 0 < interval["low"] <= interval["median"] <= interval["high"]


def test_the_text(path):
    text = succeeds("bench", path, *SHORT)
    time = r"[\d.]+ (ns|us|ms)"
    assert re.fullmatch(
        rf"""machine      \S+, (sse2|avx2|avx512), 1 thread; denormals are zero inside kernels
model        {re.escape(str(path))}
algorithms   direct \d+
latency      median {time} \(99 %: {time} to {time}\), minimum {time}; \d+ runs in \d+ rounds
rate         [\d.e+-]+ GFLOP/s \(\d+ % of \d+\)
memory       [\d.]+ [KMG]iB at most, to load it and run it
A/A          [\d.]+ \(99 %: [\d.]+ to [\d.]+\), two instances of this model
""",
        text,
    ), text


def test_the_json(path):
    found = as_json(path)
    assert found["model"] == str(path)
    check_interval(found["latency_ns"])
    assert found["latency_ns"]["minimum"] <= found["latency_ns"]["median"]
    assert found["rounds"] >= 12
    assert found["runs"] >= found["rounds"]
    assert found["operations"] == 64 * 2 * (2 * 3 + 1)
    assert found["gflops"] == pytest.approx(found["operations"] / found["latency_ns"]["median"])
    assert found["peak_share"] == pytest.approx(found["gflops"] / found["rates"]["fma_gflops"])
    assert found["rates"]["copy_gbps"] > 0
    assert found["threads"] == 1
    assert found["flushes_denormals"] is True
    assert found["peak_memory_bytes"] > 1 << 20
    assert found["confidence"] == 0.99
    check_interval(found["self_ratio"])
    assert found["noise_floor"] >= 1.01
    assert "compare" not in found
    assert "profile" not in found


def verdict(found):
    """What follows from the printed figures."""
    ratio, floor = found["compare"]["ratio"], found["noise_floor"]
    if ratio["high"] < 1 / floor:
        return "faster"
    return "slower" if ratio["low"] > floor else "not proven"


def test_comparison_with_another_model(path, larger):
    found = as_json(path, "--compare", larger)
    other = found["compare"]
    assert other["model"] == str(larger)
    check_interval(other["latency_ns"])
    check_interval(other["ratio"])
    assert other["rounds"] == found["rounds"]
    assert other["operations"] == found["operations"] + 21 * 64 * 3 * 2 * 3
    assert other["verdict"] == verdict(found)
    assert other["outputs"]["largest_difference"] < 1e-4
    assert other["outputs"]["largest_number"] > 1


def test_comparison_with_itself(path):
    text = succeeds("bench", path, "--compare", path, *SHORT)
    assert text.count(f"model        {path}\n") == 2
    assert "outputs      differ by at most 0, of numbers up to " in text
    assert re.search(r"^ratio        [\d.]+ \(99 %: [\d.]+ to [\d.]+\), its times to", text, re.M)
    assert re.search(
        r"^A/A .*\n {13}(not proven that either is faster: a difference counts from [\d.]+ % on"
        rf"|proven: {path} takes [\d.]+ % to [\d.]+ % (less|more) time than {path})\n",
        text,
        re.MULTILINE,
    ), text


def test_models_with_other_outputs_are_compared_by_time_alone(path, tmp_path):
    other = tmp_path / "other.onnx"
    double = model([node("z = Add(x, x)")], {"x": ("float32", [2])}, {"z": ("float32", [2])})
    onnx.save(double, other)
    assert "outputs" not in as_json(path, "--compare", other)["compare"]


def test_outputs_that_are_not_finite(tmp_path):
    shape = {"x": ("float32", [3])}, {"y": ("float32", [3])}
    for name, text in {"a": "y = Div(x, zero)", "b": "y = Mul(x, zero)"}.items():
        weights = {"zero": np.zeros(1, np.float32)}
        onnx.save(model([node(text)], *shape, weights), tmp_path / f"{name}.onnx")
    a, b = tmp_path / "a.onnx", tmp_path / "b.onnx"
    text = succeeds("bench", a, "--compare", a, *SHORT)
    said = "outputs      are not finite: 3 elements are infinite or NaN, "
    assert said + "the same in both models; the others differ by at most 0, of numbers" in text
    text = succeeds("bench", a, "--compare", b, *SHORT)
    assert said + "not the same in both models\n" in text
    found = as_json(a, "--compare", b)["compare"]["outputs"]
    assert found == {"largest_difference": None, "largest_number": 0, "not_finite": 3}


def test_names_cannot_steer_the_terminal(tmp_path):
    shape = ["float32", [3]]
    odd = onnx.helper.make_node("Abs", ["x\x1b"], ["y"], name="a\x1b[31m\nb\u202e\x7f")
    onnx.save(model([odd], {"x\x1b": shape}, {"y": shape}), tmp_path / "odd.onnx")
    text = succeeds("bench", tmp_path / "odd.onnx", "--profile", *SHORT)
    assert "  a\\x1b[31m\\nb\\u202e\\x7f (Abs)\n" in text
    assert "input  x\\x1b  float32[3]" in succeeds("run", tmp_path / "odd.onnx")
    message = fails("run", tmp_path / "odd.onnx", "--input", "/nonexistent/\x1b.npz")
    assert "/nonexistent/\\x1b.npz" in message
    assert len(message.splitlines()) == 1


def test_the_profile(path):
    found = as_json(path, "--profile")["profile"]
    assert found["runs"] >= 8
    (step,) = found["steps"]
    assert step["nodes"] == ["product (MatMul)", "sum (Add)"]
    assert step["kind"] == "kernel"
    assert step["changes_layout"] is False
    assert step["operations"] == 64 * 2 * (2 * 3 + 1)
    assert step["bytes"] == 4 * (64 * 3 + 3 * 2 + 2 + 64 * 2)
    assert step["gflops"] == pytest.approx(step["operations"] / step["median_ns"])
    assert step["gbps"] == pytest.approx(step["bytes"] / step["median_ns"])
    assert step["bound_by"] == "bytes"
    assert step["share"] == pytest.approx(step["median_ns"] / found["total_ns"])
    assert step["median_ns"] <= found["total_ns"]
    assert found["between_ns"] >= 0


def test_the_profile_as_text(larger):
    text = succeeds("bench", larger, "--profile", *SHORT)
    table = text[text.index("\n\n") + 2 :].splitlines()
    assert re.fullmatch(r" +time +share +rate +roof  where the time of \d+ runs goes", table[0])
    assert table[-1].endswith(" 100.0 %" + " " * 26 + "in all")
    assert table[-2].endswith("between the steps")
    steps = table[1:-2]
    assert len(steps) == 22
    scale = {"ns": 1, "us": 1e3, "ms": 1e6}
    times = [float(line.split()[0]) * scale[line.split()[1]] for line in steps]
    assert times == sorted(times, reverse=True)
    assert sum("(MatMul), " in line or "MatMul, Add" in line for line in steps) == 1
    assert all(re.search(r"[\d.e+-]+ GB/s +\d+ %  ", line) for line in steps)


def test_the_reference_keeps_denormals(path):
    found = as_json(path, "--kernels", "reference", "--profile")
    assert found["kernels"] == "reference"
    assert found["flushes_denormals"] is False
    assert {step["kind"] for step in found["profile"]["steps"]} == {"reference"}


def test_inputs_come_from_files_and_shapes_from_options(tmp_path):
    file = tmp_path / "open.onnx"
    onnx.save(affine(), file)
    np.savez(tmp_path / "in.npz", x=np.ones((5, 3), np.float32))
    for options in (["--input", tmp_path / "in.npz"], ["--input_shape", "x:5,3"]):
        assert as_json(file, *options)["operations"] == 5 * 2 * (2 * 3 + 1)
    assert "--input_shape" in fails("bench", file, *SHORT)


def test_says_what_it_is_busy_with(path):
    said = aoe("bench", path, *SHORT, "--profile").stderr.decode().splitlines()
    assert said == [f"loading {path}", "measuring the machine", "measuring", "profiling"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--compare", "/nonexistent/other.onnx"], "/nonexistent/other.onnx"),
        (["--seconds", "-1"], "--seconds"),
        (["--seconds", "soon"], "--seconds"),
        (["--seconds", "0"], "--seconds is 0; a number above 0, at most 3600, is expected"),
        (["--seconds", "nan"], "--seconds is nan; a number above 0, at most 3600, is expected"),
        (["--seconds", "inf"], "--seconds"),
        (["--threads", "-1"], "--threads"),
        (["--kernels", "avx1024"], "avx1024"),
        (["--input", "/nonexistent/in.npz"], "/nonexistent/in.npz"),
        (["--input_shape", "z:1"], "z"),
        (["--profil"], "--profile"),
    ],
)
def test_refuses(path, options, message):
    assert message in fails("bench", path, *options)


def test_refuses_what_is_no_model(tmp_path):
    (tmp_path / "no.onnx").write_bytes(b"no model")
    assert "no.onnx" in fails("bench", tmp_path / "no.onnx")
    assert "model" in fails("bench")
