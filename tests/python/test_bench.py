"""The benchmark's machinery, with participants that misbehave."""

import importlib
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import environments
import intervals
import numpy as np
import onnx
import pytest
import reference
import rounds
import suite
from environments import Environments
from models.zoo import ZooModel
from onnx import TensorProto, helper
from process import Failure
from show import table
from summary import summarize

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CPU = min(os.sched_getaffinity(0))


# --- intervals --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "rank"), [(8, 1), (12, 2), (20, 4), (60, 20)])
def test_rank_of_bound_is_the_sign_test_s(n, rank):
    def outside(k):
        return 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    assert intervals.rank_of_bound(n) == rank
    assert outside(rank) <= 0.01 < outside(rank + 1)


def test_interval_covers_as_often_as_it_says():
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        # Skewed, as times are.
        a, b = np.exp(random.exponential(0.1, size=(2, 25)))
        ratio = intervals.paired_ratio(a, b)
        covered += ratio.low <= 1 <= ratio.high
    assert covered >= 0.985 * 2000


def test_paired_ratio_sees_a_difference_smaller_than_the_drift():
    random = np.random.default_rng(2)
    drift = np.exp(np.cumsum(random.normal(scale=0.05, size=40)))
    theirs = drift * np.exp(random.normal(scale=0.005, size=40))
    ours = drift * np.exp(random.normal(scale=0.005, size=40)) / 1.03
    ratio = intervals.paired_ratio(theirs, ours)
    assert ratio.low > 1.02
    assert ratio.high < 1.04


def test_too_few_pairs_have_no_interval():
    with pytest.raises(ValueError, match="7 pairs are too few"):
        intervals.paired_ratio([1] * 7, [1] * 7)


def test_geometric_mean_of_rows():
    random = np.random.default_rng(3)
    rows = [2 * np.exp(random.normal(scale=0.01, size=30)), np.full(10, 0.5)]
    mean = intervals.geometric_mean(rows)
    assert mean.low < 1 < mean.high
    assert mean.ratio == pytest.approx(1, abs=0.01)


# --- double precision -------------------------------------------------------------------------


def test_reference_is_in_double_throughout():
    ramp = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 8, 8)
    nodes = [
        helper.make_node("Resize", ["x", "", "scales"], ["big"], mode="linear"),
        helper.make_node("Cast", ["big"], ["same"], to=TensorProto.FLOAT),
        helper.make_node("Constant", [], ["third"], value_float=1 / 3),
        helper.make_node("Mul", ["same", "third"], ["y"]),
    ]
    shape = [1, 1, 16, 16]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ramp.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 2, 2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    double = reference.in_double(model)
    onnx.checker.check_model(double, full_check=True)
    assert double.graph.output[0].type.tensor_type.elem_type == TensorProto.DOUBLE
    assert model.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT


def test_error_is_a_part_of_the_largest_output():
    right = {"y": np.array([1.0, -4.0])}
    assert reference.error_against(right, {"y": np.array([1.0, -4.0])}) == 0
    assert reference.error_against(right, {"y": np.array([1.1, -4.0])}) == pytest.approx(0.025)
    assert reference.error_against(right, {"y": np.array([1.0, np.nan])}) == math.inf
    with pytest.raises(ValueError, match="y is missing"):
        reference.error_against(right, {})
    with pytest.raises(ValueError, match=r"shape \(1,\), not \(2,\)"):
        reference.error_against(right, {"y": np.array([1.0])})


# --- rows -------------------------------------------------------------------------------------


def negation() -> bytes:
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", value[:1], value[1:])
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()


@pytest.fixture
def row(tmp_path, monkeypatch):
    """Measures y = -x with the named fakes beside aoe."""
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setattr(rounds, "TURN_NS", 100_000)
    zoo = ZooModel("negation", "Negation", negation, lambda random: {}, real=False)
    case = suite.Case(zoo, "models", tmp_path / "n.onnx", tmp_path / "n.npz", 6, 48)
    case.model.write_bytes(negation())
    np.savez(case.inputs, x=np.arange(1, 7, dtype=np.float32).reshape(2, 3))

    def run(*names: str) -> dict:
        modules = {name: importlib.import_module(f"fakes.{name}") for name in names}
        modules["aoe"] = importlib.import_module("peers.aoe")
        bench = suite.Bench(Environments(tmp_path), modules, tmp_path, {})
        return bench.row(case, ["aoe", *names], [CPU], seconds=0.1)

    return run


def test_a_right_participant_has_a_ratio_and_a_noise_floor(row):
    found = row("right")
    ours, theirs = found["measured"]["aoe"], found["measured"]["right"]
    assert ours["status"] == theirs["status"] == "ok"
    assert ours["error"] == theirs["error"] == 0
    assert found["rounds"] == len(ours["turns_ms"]) == len(theirs["turns_ms"]) >= 12
    ratio = found["ratios"]["right"]
    # It does nothing, and we do something.
    assert 0 < ratio["low"] <= ratio["ratio"] <= ratio["high"] < 1
    assert found["noise"]["of"] == "aoe"
    assert len(found["noise"]["turns_ms"]) == found["rounds"]
    summary = {entry["peer"]: entry for entry in summarize([found])}
    assert summary["right"]["ratio"] == pytest.approx(ratio["ratio"], rel=1e-2)
    assert set(summary) == {"right", "noise"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("wrong", r"wrong outputs: they differ from double precision by 1\.\d?e-0[23]"),
        ("crashing", "killed by SIGSEGV, while timing"),
        ("refusing", "NotImplementedError: no kernel for Neg, while loading"),
        ("hanging", "no answer within 1 s, while loading"),
    ],
)
def test_a_failed_participant_is_an_entry_that_says_why(row, monkeypatch, name, why):
    if name == "hanging":
        monkeypatch.setattr(suite, "SECONDS_TO_LOAD", 1)
    found = row(name, "right")
    assert found["measured"][name]["status"] == "failed"
    assert re.search(why, found["measured"][name]["why"])
    assert found["measured"]["right"]["status"] == "ok"
    assert set(found["ratios"]) == {"right"}


def test_what_a_participant_prints_is_not_taken_for_an_answer(row):
    assert row("chatting")["measured"]["chatting"]["status"] == "ok"


def test_a_paused_participant_dies_with_the_benchmark(tmp_path):
    script = f"""if True:
        import os, sys
        from pathlib import Path
        sys.path.insert(0, {str(ROOT / "bench")!r})
        from process import WORKER, Process
        command = [sys.executable, str(WORKER), "fakes.right", "{CPU}"]
        process = Process(command, Path({str(tmp_path / "log")!r}), {{"PYTHONPATH": {str(HERE)!r}}})
        process.ask("starting", 60, do="version")
        process.pause()
        print(process._process.pid, flush=True)
        os._exit(1)
    """
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    stat = Path(f"/proc/{int(found.stdout)}/stat")
    end = time.monotonic() + 30
    while stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
        assert time.monotonic() < end, "it is still there"
        time.sleep(0.05)


def test_an_environment_that_cannot_be_installed_fails_once_and_says_where(tmp_path, monkeypatch):
    (tmp_path / "impossible.txt").write_text("no-such-package-anywhere===0\n")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    made = Environments(tmp_path / "made")
    for _ in range(2):
        with pytest.raises(Failure, match=r"could not be installed \(log: .*impossible\.log\)"):
            made.python("impossible")


# --- tables -----------------------------------------------------------------------------------


def test_tables_say_who_failed_and_which_ratio_is_unsure():
    row = {
        "suite": "models",
        "case": "resnet18",
        "title": "ResNet-18",
        "threads": 1,
        "rounds": 9,
        "measured": {
            "aoe": {"status": "ok", "median_ms": 2.0, "error": 1e-7},
            "openvino": {"status": "ok", "median_ms": 3.0, "error": 2e-7},
            "iree": {"status": "failed", "why": "killed by SIGKILL, while timing"},
        },
        "best": {"peer": "openvino", "ratio": 1.5, "low": 1.4, "high": 1.6},
        "noise": {"ratio": 1.0, "low": 0.99, "high": 1.01},
    }
    named = {
        key: {"name": name, "version": "1", "note": None}
        for key, name in [("aoe", "aoe"), ("openvino", "OpenVINO"), ("iree", "IREE")]
    }
    machine = {"processor": "P", "vector": "AVX2", "cores": 2, "system": "Debian", "peak": {}}
    results = {
        "date": "2026-01-01",
        "machine": machine,
        "participants": named,
        "rows": [row],
        "summary": [],
        "tuning": [],
    }
    for shown in (table.text(results), table.markdown(results)):
        assert "killed by SIGKILL, while timing" in shown
        assert "1.500 [1.400, 1.600]~" in shown
        assert "1.000 [0.990, 1.010]" in shown
        assert "1.000 [0.990, 1.010]~" not in shown


# --- the command ------------------------------------------------------------------------------


def command(*options: str) -> subprocess.CompletedProcess:
    program = ROOT / "bench" / "run.py"
    return subprocess.run([sys.executable, program, *options], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--models", "resnet19"], "--models: there is no 'resnet19'; there are resnet18,"),
        (["--operators", "conv"], "--operators: there is no 'conv'"),
        (["--peers", "tensorrt"], "--peers: there is no 'tensorrt'; there are"),
        (["--suites", "all"], "--suites: there is no 'all'; there are models,"),
        (["--threads", "0"], "'0' is not a list of numbers above 0"),
        (["--threads", "1000"], "--threads: 1000 of"),
    ],
)
def test_bad_options_are_refused(options, why):
    result = command(*options)
    assert result.returncode == 2
    assert why in result.stderr


def test_list_shows_what_is_asked_for():
    lines = command("--models", "resnet18,magika", "--list").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["models", "resnet18"], ["real", "magika"]]
    everything = command("--list").stdout.splitlines()
    suites = [line.split()[0] for line in everything]
    assert {name: suites.count(name) for name in dict.fromkeys(suites)} == {
        "models": 9,
        "real": 6,
        "operators": 40,
        "call": 1,
    }


def test_a_whole_run_without_peers(tmp_path):
    files = {name: tmp_path / f"results.{name}" for name in ("json", "html")}
    result = command(
        *("--suites", "call", "--peers", ",", "--threads", "1", "--quick"),
        *("--json", str(files["json"]), "--page", str(files["html"]), "--work", str(tmp_path)),
    )
    assert result.returncode == 0, result.stderr
    results = json.loads(files["json"].read_text())
    assert results["rows"][0]["measured"]["aoe"]["status"] == "ok"
    assert results["machine"]["peak"]["1"]["gflops"] > 1
    assert "reference evaluator" in result.stdout
    assert "reference evaluator" in files["html"].read_text()
