"""The tuning suite, with little scripts in the place of tuners."""

import json
import os
import select
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import aoe
import environments
import machine
import numpy as np
import onnx
import pytest
from environments import Environments
from operators.cases import Operand, Workload, operators
from peers import aoe as ours
from peers import aoe_strassen, aoe_tune, tvm_tune
from row import Bench, Case
from tuning import suite as tuning
from tuning import tuner as tuner_process
from tuning import tuners
from tuning.tuners import Limits, Task

GOOD = """
say(seconds=1.0, trials=1, best_ms=4.0)
say(seconds=2.5, trials=7, best_ms=3.0)
say(seconds=2.5, trials=8, best_ms=3.0)
say(done=True, trials=8)
"""
TWO_POINTS = """
say(seconds=1.0, trials=1, best_ms=4.0)
say(seconds=2.0, trials=2, best_ms=3.0)
"""
PRELUDE = """
import json, os, signal, subprocess, sys
def say(**values):
    print(json.dumps(values), flush=True)
"""

# Writes a journal as docs/journal.md has it: a default and two candidates, of which one fails.
FAKE_AOE = """
import json, os, sqlite3, sys
open("asked", "w").write(" ".join(sys.argv[1:]))
os.makedirs("aoe_workspace/model_1")
journal = sqlite3.connect("aoe_workspace/model_1/journal.db")
journal.execute("CREATE TABLE entry (number INTEGER PRIMARY KEY, kind, request, answer)")
def add(kind, request, answer):
    journal.execute("INSERT INTO entry (kind, request, answer) VALUES (?, ?, ?)",
                    (kind, request, answer))
def work(compile, times, elapsed_s):
    passes = [{"total_ns": ns, "workload_ns": [ns]} for ns in times]
    add("measurement", json.dumps({"compile": [[0, policy] for policy in compile]}),
        json.dumps({"measured": {"passes": passes}, "elapsed_s": elapsed_s}))
add("measurement", "open", "{}")
work(["default"], [], 0.25)
work(["tiled", "wrong"], [4e6, 5e6], 0.5)
add("decision", "confirmation of workload 0", "rejected, 1.01 times as fast, 0.9 to 1.1")
work([], [3e6, 6e6], 1.5)
add("decision", "confirmation of workload 0", "accepted, 1.3 times as fast, 1.2 to 1.4")
add("decision", "whole model", "kept")
work(["tiled"], [3.5e6], 2.0)
journal.commit()
"""


def follow(tmp_path, script, **options):
    command = [sys.executable, "-c", PRELUDE + script]
    return tuner_process.follow(command, tmp_path / "log.txt", 600.0, **options)


def test_points_come_in_order(tmp_path):
    outcome = follow(tmp_path, GOOD)
    assert outcome.why is None
    assert outcome.points == [[1.0, 4.0], [2.5, 3.0], [2.5, 3.0]]
    assert outcome.trials == 8


def test_best_never_rises(tmp_path):
    script = "".join(
        f"say(seconds={i}, trials={i}, best_ms={ms})\n" for i, ms in enumerate([5, 7, 4, 4.5, 2])
    )
    outcome = follow(tmp_path, script + "say(done=True)")
    assert [best for _, best in outcome.points] == [5, 5, 4, 4, 2]


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9 (SIGKILL)"),
        ("os.abort()", "killed by signal 6 (SIGABRT)"),
        ("sys.exit(3)", "exit code 3"),
        ("sys.exit(0)", "without a result"),
        ("os.close(1); signal.pause()", "closed its output"),
        ("raise RuntimeError('no memory')", "exit code 1"),
        ("say(failed='no such operator'); sys.exit(1)", "no such operator"),
        ("print('Segmentation fault', flush=True)", "'Segmentation fault'"),
        ("print('[1, 2]', flush=True)", "no point"),
        ("print('3', flush=True)", "no point"),
        ("say(seconds=3.0, best_ms=1.0)", "no point"),
        ("say(seconds=3.0, trials=3, best_ms=None)", "no point"),
        ("say(seconds=3.0, trials=3, best_ms=0.0)", "no point"),
        ("say(seconds=3.0, trials=3, best_ms=float('nan'))", "no point"),
        ("say(seconds=1.5, trials=3, best_ms=1.0)", "no point"),
        ("sys.stdout.buffer.write(bytes(range(128, 256)) + b'\\n')", "no point"),
    ],
)
def test_a_failure_says_why_and_keeps_its_points(tmp_path, end, why):
    outcome = follow(tmp_path, TWO_POINTS + end)
    assert why in outcome.why
    assert outcome.points == [[1.0, 4.0], [2.0, 3.0]]


def test_standard_error_is_kept_in_the_log(tmp_path):
    follow(tmp_path, "raise RuntimeError('no memory')")
    assert "no memory" in (tmp_path / "log.txt").read_text()


def test_a_hanging_tuner_is_ended_with_its_children(tmp_path):
    held = """
held = open("held", "w")
pause = [sys.executable, "-c", "import signal; signal.pause()"]
subprocess.Popen(pause, pass_fds=[held.fileno()])
"""
    os.mkfifo(tmp_path / "held")
    held_by_both = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    now = 0.0

    def hours_after_two_points(seconds, outcome):
        nonlocal now
        if len(outcome.points) == 2:
            now = 7200.0

    script = held + TWO_POINTS + "signal.pause()"
    outcome = follow(tmp_path, script, on_progress=hours_after_two_points, clock=lambda: now)
    assert outcome.why == "did not end within 600 s"
    assert outcome.points == [[1.0, 4.0], [2.0, 3.0]]
    # The pipe ends when the last process that could write to it has ended.
    assert select.select([held_by_both], [], [], 60.0)[0]
    assert os.read(held_by_both, 1) == b""
    os.close(held_by_both)


def test_a_result_counts_even_if_the_tuner_does_not_end(tmp_path):
    outcome = follow(tmp_path, GOOD + "signal.pause()")
    assert outcome.why is None
    assert outcome.trials == 8


def test_a_child_that_holds_the_pipe_does_not_keep_the_run(tmp_path):
    script = """
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert "signal 9" in follow(tmp_path, TWO_POINTS + script).why


def test_a_missing_tuner_is_a_failure(tmp_path):
    outcome = tuner_process.follow([str(tmp_path / "none")], tmp_path / "log.txt", 60.0)
    assert "could not be started" in outcome.why


@pytest.fixture
def scripted(monkeypatch):
    """Replaces a tuner by scripts, one for each operator."""

    def use(participant, scripts):
        def command(task):
            return [sys.executable, "-c", PRELUDE + scripts[task.case.zoo.name]]

        found = replace(tuners.TUNERS[participant], command=command)
        monkeypatch.setitem(tuners.TUNERS, participant, found)

    return use


class FakeBench:
    """Notes what is to be measured instead of measuring it."""

    def __init__(self, work, participants):
        self.work = work
        self.environments = Environments(work / "environments")
        self.participants = dict.fromkeys(participants)
        self.rows = []

    def row(self, case, names, cpus, seconds):
        self.rows.append((case, names))
        entry = {"status": "ok", "median_ms": 2.0, "error": 1e-7}
        return {"case": case.zoo.name, "measured": {name: dict(entry) for name in names}}


def case_of(name, folder):
    model = operators()[name].model
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.onnx"
    path.write_bytes(model.build())
    return Case(model, tuning.SUITE, path, folder / "inputs.npz", 1000, 1000)


def run(tmp_path, names, participants):
    """The bench, and what was kept."""
    bench = FakeBench(tmp_path / "work", participants)
    kept = []
    cases = [case_of(name, tmp_path / "cases") for name in names]
    tuning.run(cases, Limits(8, 3), bench, [0], 1.0, lambda *one: kept.append(one))
    return bench, kept


def test_a_run_goes_on_after_failures(tmp_path, scripted, capsys):
    first, second = tuning.OPERATORS[:2]
    scripted("tvm", {first: TWO_POINTS + "os.abort()", second: GOOD})
    scripted("aoe", {first: GOOD, second: GOOD})
    bench, kept = run(tmp_path, [first, second], ["aoe", "tvm"])
    assert [[e["status"] for e in entries] for entries, _ in kept] == [["ok", "failed"], ["ok"] * 2]
    aborted = kept[0][0][1]
    assert "SIGABRT" in aborted["why"]
    assert aborted["points"] == [[1.0, 4.0], [2.0, 3.0]]
    # What a tuner found that came to its end is measured all the same.
    assert [names for _, names in bench.rows] == [["aoe"], ["aoe", "tvm"]]
    assert kept[0][1]["measured"]["tvm"] == {"status": "failed", "why": aborted["why"]}
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 6
    assert "SIGABRT" in printed[1] and "aoe 2.00 ms" in printed[2]


def test_what_was_found_is_loaded_from_where_the_tuner_was(tmp_path, scripted):
    name = tuning.OPERATORS[0]
    for participant in ("aoe", "tvm"):
        scripted(participant, {name: GOOD})
    bench, _ = run(tmp_path, [name], ["aoe", "tvm"])
    [(case, _)] = bench.rows
    assert case.found["aoe"] == bench.work / "tuning" / f"{name}-aoe-1" / "tuned.om"
    assert case.found["tvm"] == bench.work / "tuning" / f"{name}-tvm-1"


def test_a_participant_loads_what_was_found(tmp_path, monkeypatch):
    """And the others the model."""
    asked = []

    class Listening:
        def __init__(self, *_):
            pass

        def ask(self, doing, seconds, **request):
            asked.append(request)
            raise tuning.Failure("that is all")

        def close(self):
            pass

    monkeypatch.setattr("row.Process", Listening)
    module = SimpleNamespace(ENVIRONMENT=None, __name__="nobody")
    bench = Bench(Environments(tmp_path), {"aoe": module, "tvm": module}, tmp_path, {})
    case = replace(case_of(tuning.OPERATORS[0], tmp_path), found={"aoe": tmp_path / "tuned.om"})
    for name in ("aoe", "tvm"):
        bench._start(name, name, case, [0], {}, {})
    assert [request["model"] for request in asked] == [
        str(tmp_path / "tuned.om"),
        str(case.model),
    ]


def test_a_case_is_tuned_without_and_with_strassen_s_algorithm(tmp_path, scripted):
    name = tuning.OPERATORS[0]
    done = "say(done=True, trials=8, first_gain_s=1.5)"
    scripted("aoe", {name: done})
    scripted("aoe_strassen", {name: done.replace("8", "9")})
    bench = FakeBench(tmp_path, [])
    case = case_of(name, tmp_path / "cases")
    tuned, how = tuning.tuned_case(case, ["aoe", "aoe_strassen"], 1, 3, bench)
    assert {key: one["trials"] for key, one in how.items()} == {"aoe": 8, "aoe_strassen": 9}
    assert tuned.found == {
        key: tmp_path / "tuned" / f"{name}-{key}-1" / "tuned.om" for key in ("aoe", "aoe_strassen")
    }
    scripted("aoe_strassen", {name: "sys.exit(3)"})
    with pytest.raises(tuning.Failure, match=r"it cannot be tuned: .*exit code 3"):
        tuning.tuned_case(case, ["aoe", "aoe_strassen"], 1, 3, bench)


def test_strassen_s_algorithm_is_loaded_where_it_was_allowed(monkeypatch):
    asked = []
    monkeypatch.setattr(aoe, "load", lambda *_, **options: asked.append(options))
    for participant in (ours, aoe_strassen):
        participant.load("tuned.om", {}, 1)
    assert asked == [{"threads": 1}, {"threads": 1, "allow_strassen": True}]


def test_a_row_where_all_failed_says_why(tmp_path, scripted):
    name = tuning.OPERATORS[0]
    scripted("tvm", {name: "sys.exit(3)"})
    bench, [(_, row)] = run(tmp_path, [name], ["tvm"])
    assert not bench.rows
    assert row["suite"] == "tuning"
    assert "exit code 3" in row["measured"]["tvm"]["why"]


def test_a_peer_that_cannot_be_installed_is_a_failure(tmp_path, monkeypatch):
    (tmp_path / "tvm.txt").write_text("no-such-package-anywhere===0\n")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    _, [([entry], _)] = run(tmp_path, [tuning.OPERATORS[0]], ["tvm"])
    assert entry["status"] == "failed"
    assert "could not be installed" in entry["why"]


def test_a_second_run_does_not_start_from_the_first(tmp_path, scripted):
    name = tuning.OPERATORS[0]
    homes = "[os.environ[name] for name in ('HOME', 'ASCEND_CACHE_PATH', 'XDG_CACHE_HOME')]"
    alone = f"assert {homes} == [os.getcwd()] * 3\n"
    scripted("tvm", {name: "open('record', 'x')\n" + alone + GOOD})
    for _ in range(2):
        _, [([entry], _)] = run(tmp_path, [name], ["tvm"])
        assert entry["status"] == "ok"


def test_there_are_ten_operators():
    known = operators()
    assert len(set(tuning.OPERATORS)) == 10
    assert all(known[name].workload.flops > 0 for name in tuning.OPERATORS)


# --- what each tuner is given -----------------------------------------------------------------


def task_of(name, tmp_path, environments=None):
    work = tmp_path / "work"
    work.mkdir()
    return Task(case_of(name, tmp_path / "cases"), 1, Limits(8, 3), environments, work)


def test_tvm_gets_the_model_s_own_weights(tmp_path):
    python = SimpleNamespace(python=lambda name: Path("/environments") / name)
    task = task_of("matmul_128x768x768", tmp_path, python)
    command = tuners.tvm_command(task)
    assert command[:2] == ["/environments/tvm", tvm_tune.__file__]
    assert command[command.index("--trials") + 1] == "8"
    assert json.loads((task.work / tvm_tune.CASE).read_text())["name"] == "matmul_128x768x768"
    [weight] = onnx.load(str(task.case.model)).graph.initializer
    with np.load(task.work / tvm_tune.CONSTANTS) as arrays:
        assert arrays.files == ["input_1"]
        np.testing.assert_array_equal(arrays["input_1"], onnx.numpy_helper.to_array(weight))


@pytest.mark.parametrize(
    ("participant", "more"), [("aoe", []), ("aoe_strassen", ["--allow_strassen"])]
)
def test_aoe_tunes_the_model_and_tells_what_it_tried(tmp_path, participant, more):
    """With a script in the place of the program."""
    task = task_of("softmax_32x3x197x197", tmp_path)
    program = tmp_path / "aoe"
    program.write_text(f"#!{sys.executable}\n{FAKE_AOE}")
    program.chmod(0o755)
    command = tuners.TUNERS[participant].command(task)
    command[command.index("--program") + 1] = str(program)
    outcome = tuner_process.follow(command, task.work / "log.txt", 600.0)
    assert outcome.why is None
    assert outcome.points == [[0.5, 4.0], [1.5, 3.0], [2.0, 3.0]]
    assert outcome.trials == 3
    assert outcome.result["first_gain_s"] == 1.5
    asked = (task.work / "asked").read_text().split()
    assert asked == [
        f"--model={task.case.model}",
        "--job_type=2",
        "--aicore_num=1",
        "--budget=3s",
        "--progress_bar=off",
        f"--output={aoe_tune.TUNED}",
        *more,
    ]


@pytest.mark.usefixtures("device")
def test_a_real_job_is_read(tmp_path):
    """With time enough to end by its count of candidates."""
    workload = Workload("Softmax", (("axis", -1),), (Operand((64, 128)),), ((64, 128),))
    path = tmp_path / "softmax.onnx"
    path.write_bytes(workload.build().SerializeToString())
    case = replace(case_of(tuning.OPERATORS[0], tmp_path), model=path)
    bench = SimpleNamespace(work=tmp_path, environments=None)
    tuned, hows = tuning.tuned_case(case, ["aoe"], 1, 600, bench)
    how = hows["aoe"]
    assert how["trials"] > 1
    assert how["first_gain_s"] is None or 0 < how["first_gain_s"] < how["seconds"]
    feeds = workload.random_inputs(np.random.default_rng(0))
    found = aoe.load(tuned.found["aoe"]).run(feeds)["output"]
    np.testing.assert_allclose(found, aoe.load(path).run(feeds)["output"], atol=1e-6)
    assert how["algorithms"] == {"direct": 1}
    # The bank is its own.
    assert list(tmp_path.glob("tuned/*/aoe_data/*/op.db"))


def test_an_operator_names_the_algorithm_of_its_kernel(tmp_path):
    task = task_of("conv3x3_64_56x56", tmp_path)
    found = task.work / aoe_tune.TUNED
    subprocess.run([machine.PROGRAM, "compile", task.case.model, "-o", found], check=True)
    assert tuners.aoe_algorithms(task)["winograd"] == 1
    found.write_bytes(b"no model")
    assert tuners.aoe_algorithms(task) is None


def test_what_stops_aoe_is_told(tmp_path):
    task = task_of("softmax_32x3x197x197", tmp_path)
    program = tmp_path / "aoe"
    program.write_text("#!/bin/sh\necho working\necho 'aoe: no room on the disk' >&2\nexit 2\n")
    program.chmod(0o755)
    command = tuners.aoe_command(task)
    command[command.index("--program") + 1] = str(program)
    outcome = tuner_process.follow(command, task.work / "log.txt", 600.0)
    assert outcome.why == "aoe: no room on the disk"
    assert "working" in (task.work / "log.txt").read_text()
