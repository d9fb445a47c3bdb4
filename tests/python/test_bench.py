"""The benchmark's machinery, with participants that misbehave."""

import importlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import intervals
import numpy as np
import onnx
import process
import pytest
import reference
import rounds
import row as one_row
from environments import Environments
from models.zoo import ZooModel
from onnx import TensorProto, helper
from process import WORKER, Failure, Process
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


def test_reference_has_the_precision_of_double(tmp_path):
    random = np.random.default_rng(4)
    weights = random.normal(size=(300, 5)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Constant", [], ["third"], value_float=1 / 3),
        helper.make_node("Mul", ["product", "third"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [7, 300])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [7, 5])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=8)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    x = random.normal(size=(7, 300)).astype(np.float32)
    expected = x.astype(np.float64) @ weights.astype(np.float64) * np.float32(1 / 3)
    for _ in range(2):  # Computed, then kept.
        found = reference.outputs_in_double(tmp_path / "m.onnx", {"x": x}, tmp_path / "kept")
        np.testing.assert_allclose(found["y"], expected, rtol=1e-13)
    other = reference.outputs_in_double(tmp_path / "m.onnx", {"x": -x}, tmp_path / "kept")
    np.testing.assert_allclose(other["y"], -expected, rtol=1e-13)


def test_error_is_a_part_of_the_largest_output():
    right = {"y": np.array([1.0, -4.0])}
    assert reference.error_against(right, {"y": np.array([1.0, -4.0])}) == 0
    assert reference.error_against(right, {"y": np.array([1.1, -4.0])}) == pytest.approx(0.025)
    assert reference.error_against(right, {"y": np.array([1.0, np.nan])}) == math.inf
    flags = {"y": np.array([True, False])}
    assert reference.error_against(flags, {"y": np.array([True, True])}) == 1
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


def find_fakes(monkeypatch):
    """The fakes are on the path of workers, which else take no path from outside."""
    kept = tuple(name for name in process.INFLUENCES if name != "PYTHON")
    monkeypatch.setattr(process, "INFLUENCES", kept)
    monkeypatch.setenv("PYTHONPATH", str(HERE))


@pytest.fixture
def row(tmp_path, monkeypatch):
    """Measures y = -x with the named fakes beside aoe."""
    find_fakes(monkeypatch)
    monkeypatch.setattr(rounds, "TURN_NS", 100_000)
    zoo = ZooModel("negation", "Negation", negation, lambda random: {}, "models")
    case = one_row.Case(zoo, "models", tmp_path / "n.onnx", tmp_path / "n.npz", 6, 48)
    case.model.write_bytes(negation())
    np.savez(case.inputs, x=np.arange(1, 7, dtype=np.float32).reshape(2, 3))

    def run(*names: str) -> dict:
        modules = {name: importlib.import_module(f"fakes.{name}") for name in names}
        modules["aoe"] = importlib.import_module("peers.aoe")
        bench = one_row.Bench(Environments(tmp_path), modules, tmp_path, {})
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
        monkeypatch.setattr(one_row, "SECONDS_TO_LOAD", 1)
    found = row(name, "right")
    assert found["measured"][name]["status"] == "failed"
    assert re.search(why, found["measured"][name]["why"])
    assert found["measured"]["right"]["status"] == "ok"
    assert set(found["ratios"]) == {"right"}


def state_of(stat: Path) -> str:
    return stat.read_text().rsplit(")", 1)[1].split()[0]


def test_everybody_is_pinned_warmed_and_stopped_between_turns(row, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    stopped = []
    pause = Process.pause

    def watched(worker):
        pause(worker)
        stat = Path(f"/proc/{worker._process.pid}/stat")
        end = time.monotonic() + 10
        while state_of(stat) != "T" and time.monotonic() < end:
            time.sleep(0.001)
        stopped.append(state_of(stat) == "T")

    monkeypatch.setattr(Process, "pause", watched)
    found = row("telling")
    assert stopped and all(stopped)
    diary = (tmp_path / "diary").read_text().splitlines()
    assert diary[0] == f"1 threads on {CPU} with ['HOME']"
    # A call takes longer than a turn. One to see how long, then one to warm and one to time.
    assert diary.count("call") == 1 + 2 * found["rounds"]


def test_the_benchmark_stays_off_the_cores_it_measures(row, monkeypatch):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core")
    seen = []
    measure = one_row.measure
    monkeypatch.setattr(
        one_row, "measure", lambda *args: seen.append(os.sched_getaffinity(0)) or measure(*args)
    )
    before = os.sched_getaffinity(0)
    row("right")
    assert seen == [before - {CPU}]
    assert os.sched_getaffinity(0) == before


def test_the_order_of_turns_is_random():
    order = []

    class Recorded:
        def __init__(self, name):
            self.name = name

        def ask(self, doing, seconds, **request):
            order.append(self.name)
            return {"ns": [50_000_000]}

        def pause(self):
            pass

    rounds.measure({name: Recorded(name) for name in "abc"}, 0, 12, seed=1)
    turns = ["".join(order[i : i + 3]) for i in range(3, len(order), 3)]
    assert len(turns) == 12
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) > 3


# --- comparisons ------------------------------------------------------------------------------


def entries(**times):
    return {name: {"status": "ok", "turns_ms": list(ms)} for name, ms in times.items()}


def test_a_row_is_judged_by_the_faster_rival():
    ours = np.linspace(1, 2, 12)
    times = {"aoe": ours, "onnxruntime": 3 * ours, "openvino": 2 * ours, "iree": ours / 2}
    found = one_row.ratios(entries(**times, twin=3.3 * ours), base="onnxruntime")
    assert found["best"]["peer"] == "openvino"
    assert found["best"]["ratio"] == pytest.approx(2)
    assert {name: round(r["ratio"], 6) for name, r in found["ratios"].items()} == {
        "onnxruntime": 3,
        "openvino": 2,
        "iree": 0.5,
    }
    assert found["noise"]["ratio"] == pytest.approx(1.1)
    assert found["noise"]["of"] == "onnxruntime"


def test_the_faster_rival_is_compared_with_both_of_our_tuned_kernels():
    ours = np.linspace(1, 2, 12)
    times = {"aoe": ours, "onnxruntime": 3 * ours, "openvino": 2 * ours, "aoe_strassen": ours / 2}
    measured = entries(**times)
    found = one_row.ratios(measured, base=None)
    assert found["best"]["ratio"] == pytest.approx(2)
    assert found["best_to_strassen"]["ratio"] == pytest.approx(4)
    assert found["ratios"]["aoe_strassen"]["ratio"] == pytest.approx(0.5)
    row = {"suite": "models", "case": "m", "threads": 1, "measured": measured} | found
    means = {entry["peer"]: round(entry["ratio"], 6) for entry in summarize([row, row])}
    assert means == {
        "onnxruntime": 3,
        "openvino": 2,
        "aoe_strassen": 0.5,
        "best": 2,
        "best_to_strassen": 4,
    }


def test_a_second_process_that_fails_is_not_forgotten():
    some = entries(aoe=[1] * 12, openvino=[1] * 12)
    some["twin"] = {"status": "failed", "why": "killed by SIGKILL, while timing"}
    found = one_row.ratios(some, base="openvino")
    assert "noise" not in found
    assert found["noise_why"] == "second process of openvino: killed by SIGKILL, while timing"


def test_summaries_are_of_the_rows_they_name():
    def model(case, factor):
        measured = entries(aoe=[1.0] * 12, openvino=[factor] * 12)
        return {
            "suite": "models",
            "case": case,
            "threads": 1,
            "measured": measured,
        } | one_row.ratios(measured, None)

    rows = [model("resnet18", 4.0), model("bert_128", 1.0), model("bert_512", 0.25)]
    found = {(e["suite"], e["peer"]): (round(e["ratio"], 6), e["rows"]) for e in summarize(rows)}
    assert found == {
        ("models", "openvino"): (1.0, 3),
        ("models", "best"): (1.0, 3),
    }


def test_operators_with_original_and_with_enlarged_shapes_have_means_of_their_own():
    def operator(scale, factor):
        measured = entries(aoe=[1.0] * 12, openvino=[factor] * 12)
        head = {"suite": "operators", "case": "o", "threads": 1, "scale": scale}
        return head | {"measured": measured} | one_row.ratios(measured, None)

    rows = [operator(8, 1.0), operator(1, 2.0), operator(1, 8.0), operator(64, 1.0)]
    found = [(e["suite"], round(e["ratio"], 6), e["rows"]) for e in summarize(rows)]
    # For the peer and for the best, which are the same here.
    assert found == [
        *[("original", 4.0, 2)] * 2,
        *[("enlarged", 1.0, 2)] * 2,
        *[("operators", 2.0, 4)] * 2,
    ]
    assert {e["suite"] for e in summarize(rows[1:3])} == {"original", "operators"}


def test_the_noise_of_a_summary_is_that_between_processes():
    # Each row's two processes differ by their own small amount, which rounds do not show.
    rows = []
    for number, factor in enumerate(np.exp(np.random.default_rng(5).normal(scale=0.02, size=30))):
        measured = entries(aoe=[1.0] * 40)
        noise = one_row.ratios(measured | entries(twin=[factor] * 40), base="aoe")
        case = {"suite": "operators", "case": str(number), "threads": 1, "measured": measured}
        rows.append(case | noise)
    (summary,) = summarize(rows)
    assert summary["peer"] == "noise"
    assert summary["low"] < 1 < summary["high"]
    assert summary["high"] - summary["low"] > 0.01


def test_what_a_participant_prints_is_not_taken_for_an_answer(row):
    assert row("chatting")["measured"]["chatting"]["status"] == "ok"


def test_a_paused_participant_dies_with_the_benchmark(tmp_path):
    script = f"""if True:
        import os, sys
        from pathlib import Path
        sys.path.insert(0, {str(ROOT / "bench")!r})
        import process
        from process import WORKER, Process
        process.INFLUENCES = ()
        command = [sys.executable, str(WORKER), "fakes.right", "{CPU}"]
        os.environ["PYTHONPATH"] = {str(HERE)!r}
        worker = Process(command, Path({str(tmp_path / "log")!r}))
        inputs = {str(tmp_path / "x.npz")!r}
        worker.ask("loading", 60, do="load", model="", inputs=inputs, threads=1)
        worker.pause()
        print(worker._process.pid, flush=True)
        os._exit(1)
    """
    np.savez(tmp_path / "x.npz", x=np.zeros(1))
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    stat = Path(f"/proc/{int(found.stdout)}/stat")
    end = time.monotonic() + 30
    while stat.exists() and state_of(stat) != "Z":
        assert time.monotonic() < end, "it is still there"
        time.sleep(0.05)


@pytest.mark.parametrize("paused", [False, True])
def test_a_participant_killed_between_its_turns_is_a_failure(tmp_path, monkeypatch, paused):
    find_fakes(monkeypatch)
    np.savez(tmp_path / "x.npz", x=np.zeros(1))
    worker = Process([sys.executable, str(WORKER), "fakes.right", str(CPU)], tmp_path / "log")
    inputs = str(tmp_path / "x.npz")
    worker.ask("loading", 60, do="load", model="", inputs=inputs, threads=1)
    if paused:
        worker.pause()
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.wait()
    with pytest.raises(Failure, match="killed by SIGKILL, while timing"):
        worker.ask("timing", 60, do="time", nanoseconds=0, warm=False)
    worker.close()


def test_an_environment_that_cannot_be_installed_fails_once_and_says_where(tmp_path):
    (tmp_path / "impossible.txt").write_text("no-such-package-anywhere===0\n")
    made = Environments(tmp_path / "made", requirements=tmp_path)
    for _ in range(2):
        with pytest.raises(Failure, match=r"could not be installed \(log: .*impossible\.log\)"):
            made.python("impossible")


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
        (["--seconds", "0"], "'0' is not a"),
        (["--trials", "-5"], "'-5' is not a"),
        (["--json", "/dev/null/results.json"], "/dev/null/results.json cannot be written"),
        (["--suites", ","], "there is nothing to measure"),
        (["--suites", "call", "--models", "minilm"], "--suites has none of models, real, narrow"),
        (["--json", "x", "--page", "x"], "--json and --page are the same file"),
        (["--threads", "1000"], "--threads: 1000, but there are"),
        (["--allow_strassen"], "--allow_strassen is for tuned kernels: give --tune, or"),
        (["--suites", "tuning", "--operators", "max_pool"], "--operators: there is no 'max_pool'"),
    ],
)
def test_bad_options_are_refused(options, why):
    result = command(*options)
    assert result.returncode == 2
    assert why in result.stderr


def test_a_model_of_ones_own(tmp_path):
    (tmp_path / "mine.onnx").write_bytes(negation())
    listed = command("--models", str(tmp_path / "mine.onnx"), "--list").stdout
    assert listed.split()[:2] == ["real", "mine"]
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    refused = command("--models", str(tmp_path / "broken.onnx"), "--list")
    assert refused.returncode == 2
    assert "broken.onnx" in refused.stderr


def test_list_shows_what_is_asked_for():
    lines = command("--models", "resnet18,magika", "--list").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["models", "resnet18"], ["real", "magika"]]
    lines = command("--suites", "tuning", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["tuning"] * 10
    everything = command("--list").stdout.splitlines()
    suites = [line.split()[0] for line in everything]
    assert {name: suites.count(name) for name in dict.fromkeys(suites)} == {
        "models": 9,
        "real": 6,
        "narrow": 6,
        "operators": 40,
        "call": 1,
    }


def test_an_interrupted_run_keeps_what_it_has(tmp_path):
    program = [sys.executable, "-u", ROOT / "bench" / "run.py", "--suites", "call,operators"]
    places = ["--json", tmp_path / "r.json", "--page", tmp_path / "r.html", "--work", tmp_path]
    options = ["--operators", "conv3x3_64_56x56", "--peers", ",", "--threads", "1"]
    run = subprocess.Popen([*program, *places, *options], stdout=subprocess.PIPE, text=True)
    for line in run.stdout:
        if line.startswith("[2/"):
            run.send_signal(signal.SIGTERM)
            break
    rest = run.stdout.read()
    assert run.wait() == 130
    assert "Interrupted" in rest
    assert len(json.loads((tmp_path / "r.json").read_text())["rows"]) == 1
    assert "Convolution 3x3" in (tmp_path / "r.html").read_text()


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
    assert "not tuned" in result.stdout
    assert "not tuned" in files["html"].read_text()


# --- the command ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([], ""),
        (["TUNE=3"], '--tune "3"'),
        (["TUNE=3", "STRASSEN=1"], '--allow_strassen --tune "3"'),
    ],
)
def test_make_passes_on_what_is_given_and_nothing_else(given, passed):
    command = ["make", "--dry-run", "--always-make", "bench", *given]
    undisturbed = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    said = subprocess.run(command, cwd=ROOT, env=undisturbed, capture_output=True, text=True)
    [options] = re.findall(r"bench/run\.py((?:\s|\\|--\w+|\"[^\"]*\")*)", said.stdout)
    assert " ".join(options.replace("\\", "").split()) == passed
