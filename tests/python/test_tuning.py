"""Tuning from its beginning to its end: what it leaves behind, kills, faults, two at once."""

import collections
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tune_kills import INCOMPLETE, Job, finished, replays

from cli import BINARY, succeeds

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "example.onnx"
    tool = ROOT / "tools" / "make_example_model.py"
    subprocess.run([sys.executable, tool, path], check=True)
    return path


def requests(job):
    """What a job asked its machine to do, in order."""
    asked = [request for _, _, request, _, _ in job.entries()]
    return [json.loads(request) for request in asked if request.startswith('{"alone"')]


def test_a_job_leaves_what_it_says(model, tmp_path):
    job = Job(tmp_path, model, budget="10s")
    out, _ = finished(job.start(reload=False))
    assert out.splitlines()[-1] == "Aoe process finished"
    job.check()
    assert job.state() == "tuning successful"
    # What the result file claims is in the bank, and nothing else.
    (bank,) = job.bank.glob("*/op.db")
    claimed = {
        one["evidence"]["policy_after"] for one in job.opat().get("repo_modified_operators", [])
    }
    with sqlite3.connect(bank) as database:
        kept = {
            policy
            for (policy,) in database.execute("SELECT policy FROM policies WHERE policy != ''")
        }
    assert kept == claimed
    (tuned,) = tmp_path.glob("aoe_workspace/*/tunespace/result/*_tune.om")
    image = np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32)
    np.savez(tmp_path / "in.npz", image=image)
    outputs = []
    for file in (model, tuned):
        succeeds(
            "run",
            file,
            "--input",
            tmp_path / "in.npz",
            "--output",
            tmp_path / "out.npz",
            "--threads",
            1,
        )
        outputs.append(np.load(tmp_path / "out.npz")["scores"])
    np.testing.assert_allclose(outputs[1], outputs[0], atol=1e-5)
    replays(job)


def test_what_is_in_the_bank_is_not_tuned_again(model, tmp_path):
    job = Job(tmp_path, model, budget="10s")
    finished(job.start(reload=False))
    first = job.opat()
    finished(job.start(reload=False))
    second = job.opat()
    added = first["repo_summary"]["repo_add_num"]
    assert second["repo_summary"]["repo_hit_num"] == added
    assert second["repo_summary"]["repo_reserved_num"] == added
    # What had no gain is remembered: most of the model, in which the first job tried everything.
    (bank,) = job.bank.glob("*/op.db")
    with sqlite3.connect(bank) as database:
        query = "SELECT samples, effort FROM policies WHERE policy = ''"
        remembered = database.execute(query).fetchall()
    assert remembered
    assert all(effort == "O2 10s" for _, effort in remembered)


def test_a_killed_job_is_gone_on_with(model, tmp_path):
    job = Job(tmp_path, model)
    for seconds in (0.6, 1.2, 2.4):
        process = job.start(reload=job.begun())
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        job.check()
        if job.results():
            assert job.state() == INCOMPLETE
    finished(job.start(reload=job.begun()))
    job.check()
    replays(job)


def test_an_interrupted_job_says_how_to_go_on(model, tmp_path):
    job = Job(tmp_path, model, budget="6s")
    impl = ["--op_select_implmode=high_precision", "--optypelist_for_implmode=Conv"]
    process = job.start("--output=it's tuned", *impl, "--allow_strassen", reload=False)
    deadline = time.monotonic() + 60
    while not job.begun() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error.decode()
    assert job.state() == INCOMPLETE
    # What it says is what one can do, and then there is nothing left to go on with.
    (said,) = [line for line in error.decode().splitlines() if line.startswith("  aoe ")]
    again = [str(BINARY), *shlex.split(said)[1:], "--progress_bar=off"]
    other = [argument for argument in again if argument not in impl]
    done = subprocess.run(other, cwd=tmp_path, env=job.environment, capture_output=True)
    assert done.returncode == 2
    assert f"it was begun with {' '.join(impl)} --allow_strassen\n" in done.stderr.decode()
    done = subprocess.run(again, cwd=tmp_path, env=job.environment, capture_output=True, check=True)
    assert done.stdout.decode().splitlines()[-1] == "Aoe process finished"
    assert (tmp_path / "it's tuned.om").exists()
    last = [argument for argument in again if not argument.startswith("--reload")]
    done = subprocess.run(
        [*last, "--reload"], cwd=tmp_path, env=job.environment, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert "are finished; start a new one" in done.stderr.decode()


def test_layouts_are_tuned_first_and_replayed(model, tmp_path):
    job = Job(tmp_path, model, budget="12s")
    out, _ = finished(job.start("--Fop_format", reload=False))
    assert "formats: " in out
    job.check()
    asked = requests(job)
    first_pass = next(i for i, request in enumerate(asked) if request["passes"])
    timed = [i for i, request in enumerate(asked) if request["alone"]]
    assert timed
    assert max(timed) < first_pass
    replays(job)


def test_run_loop_and_log_are_obeyed(model, tmp_path):
    """A first look takes RUN_LOOP runs, half by the candidate; debug tells of all candidates."""
    runs = 4
    settings = tmp_path / "aoe.ini"
    settings.write_text(f"RUN_LOOP = {runs}\n")
    job = Job(tmp_path, model, budget="20s", AOE_CONFIG=str(settings))
    job.log = "debug"
    _, said = finished(job.start(reload=False))
    look = next(request for request in requests(job) if request["limits_ns"])
    runs_of = collections.Counter(
        candidate for _, *workloads in look["passes"] for candidate in workloads if candidate
    )
    assert set(runs_of) == set(range(1, len(look["candidates"]) + 1))
    assert set(runs_of.values()) == {runs // 2}
    lines = said.splitlines()
    assert sum(line.startswith("aoe: opened: ") for line in lines) == 1
    assert any(line.startswith("aoe: round 1: ") for line in lines)
    assert any("compiled, " in line and "of the baseline's time" in line for line in lines)
    for _, kind, question, _, _ in job.entries():
        assert kind != "decision" or any(line.startswith(f"aoe: {question}: ") for line in lines)


def test_null_says_nothing(model, tmp_path):
    job = Job(tmp_path, model, budget="4s")
    job.log = "null"
    _, said = finished(job.start(reload=False))
    assert said == ""


def test_every_fault_costs_one_candidate(model, tmp_path):
    kinds = ["wrong_element", "nan", "before", "behind", "crash", "allocation", "killed"]
    # In a job with one round the first candidates of a worker are the baseline policies; then
    # come the search's, of which some are refused before they run.
    faults = ",".join(f"{30 + i}:{kind}" for i, kind in enumerate([*kinds * 4, "endless_loop"]))
    job = Job(tmp_path, model, budget="30s", AOE_INJECT_FAULT=faults)
    out, _ = finished(job.start(reload=False))
    assert "Aoe process finished" in out
    job.check()
    causes = {
        failure[0]
        for _, kind, _, answer, _ in job.entries()
        if kind == "measurement" and answer.startswith("{") and "compiled" in answer
        for failure in json.loads(answer)["compiled"]
        if failure
    }
    # One that never ends may have been refused before.
    expected = {"wrong_result", "not_a_number", "out_of_bounds", "crash", "out_of_memory", "killed"}
    assert expected <= causes


def test_one_job_measures_at_a_time(model, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = Job(tmp_path / "a", model, budget="30s")
    process = first.start(reload=False)
    deadline = time.monotonic() + 60
    while not first.begun() and time.monotonic() < deadline:
        time.sleep(0.05)
    second = Job(tmp_path / "b", model).start(reload=False)
    _, error = second.communicate(timeout=60)
    assert second.returncode == 2
    assert str(process.pid) in error.decode()
    assert not (tmp_path / "b" / "aoe_workspace").exists()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_job_of_another_model_is_not_gone_on_with(model, tmp_path):
    job = Job(tmp_path, model)
    process = job.start(reload=False)
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    other = tmp_path / "example.onnx"
    changed = bytearray(model.read_bytes())
    changed[-5] ^= 1
    other.write_bytes(bytes(changed))
    done = subprocess.run(
        [str(BINARY), f"--model={other}", "--job_type=2", "--aicore_num=1", "--reload"],
        cwd=tmp_path,
        env=job.environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert "another model" in done.stderr.decode()
