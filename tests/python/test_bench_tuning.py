"""The tuning suite, with little scripts in the place of tuners."""

import os
import select
import sys

import environments
import pytest
from environments import Environments
from tuning import suite as tuning
from tuning import tuner as tuner_process

GOOD = """
say(seconds=1.0, trials=1, best_ms=4.0)
say(seconds=2.5, trials=7, best_ms=3.0)
say(seconds=2.5, trials=8, best_ms=3.0)
say(done=True, trials=8, error=1e-7, remeasured_ms=3.1)
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


def follow(tmp_path, script, **options):
    command = [sys.executable, "-c", PRELUDE + script]
    return tuner_process.follow(command, tmp_path / "log.txt", 600.0, **options)


def test_points_come_in_order(tmp_path):
    outcome = follow(tmp_path, GOOD)
    assert outcome.why is None
    assert outcome.points == [[1.0, 4.0], [2.5, 3.0], [2.5, 3.0]]
    assert outcome.trials == 8
    assert outcome.result["error"] == 1e-7


def test_best_never_rises(tmp_path):
    script = "".join(
        f"say(seconds={i}, trials={i}, best_ms={ms})\n" for i, ms in enumerate([5, 7, 4, 4.5, 2])
    )
    outcome = follow(tmp_path, script + "say(done=True, error=0.0)")
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
    """Replaces TVM by scripts, one for each operator."""

    def replace(scripts):
        def command(task):
            return [sys.executable, "-c", PRELUDE + scripts[task.case["name"]]]

        monkeypatch.setitem(tuning.TUNERS, "tvm", command)

    return replace


def run(tmp_path, names, **options):
    made = Environments(tmp_path / "environments")
    entries = []
    tuning.run(names, 8, 1, made, tmp_path / "work", entries.append, **options)
    return entries


def test_a_run_goes_on_after_failures(tmp_path, scripted, capsys):
    first, second, third = tuning.OPERATORS[:3]
    wrong = GOOD.replace("error=1e-7", "error=0.5")
    scripted({first: TWO_POINTS + "os.abort()", second: wrong, third: GOOD})
    entries = run(tmp_path, [first, second, third])
    tvm = [e for e in entries if e["participant"] == "tvm"]
    assert [e["case"] for e in tvm] == [first, second, third]
    assert [e["status"] for e in tvm] == ["failed", "failed", "ok"]
    assert "SIGABRT" in tvm[0]["why"]
    assert tvm[0]["points"] == [[1.0, 4.0], [2.0, 3.0]]
    assert "wrong values" in tvm[1]["why"]
    assert tvm[2]["error"] == 1e-7
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(entries)


def test_aoe_says_that_it_cannot_tune(tmp_path, capsys):
    (entry,) = run(tmp_path, [tuning.OPERATORS[0]], participants=["aoe"])
    assert entry["status"] == "absent"
    assert entry["why"] == "aoe cannot tune yet"
    assert "aoe cannot tune yet" in capsys.readouterr().out


def test_a_peer_that_cannot_be_installed_is_a_failure(tmp_path, monkeypatch):
    (tmp_path / "tvm.txt").write_text("no-such-package-anywhere===0\n")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    (entry,) = run(tmp_path, [tuning.OPERATORS[0]], participants=["tvm"])
    assert entry["status"] == "failed"
    assert "could not be installed" in entry["why"]


def test_a_second_run_does_not_start_from_the_first(tmp_path, scripted):
    name = tuning.OPERATORS[0]
    scripted({name: "open('record', 'x')\n" + GOOD})
    for _ in range(2):
        (entry,) = run(tmp_path, [name], participants=["tvm"])
        assert entry["status"] == "ok"


def test_there_are_ten_operators():
    cases = tuning.load_cases(tuning.OPERATORS)
    assert len(cases) == len({case["name"] for case in cases}) == 10
    assert all(tuning.flops(case) > 0 for case in cases)


def test_an_unknown_operator_is_named():
    with pytest.raises(SystemExit, match="no such operator: conv9x9"):
        tuning.load_cases(["conv9x9"])
