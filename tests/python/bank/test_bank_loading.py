"""How loading a model uses banks."""

import json
import os
import shutil
import sqlite3
import subprocess

import aoe as library
import bank_files
import numpy as np
import om_files
import pytest
from bank_files import seal, sql
from one_workload import ROWS, SET, SOC_VERSION, compiled, exported_line

from cli import BINARY, aoe, fails, succeeds

NOBODY = 65534


def test_without_a_bank_nothing_changes(relu, place, default):
    assert "bank" not in succeeds("run", relu)
    assert compiled(relu)[1] == default[1]
    assert list(place.parents[1].iterdir()) == []


def test_a_policy_in_the_bank_is_used(relu, bank, tuned):
    assert compiled(relu)[1] == tuned["policy"]
    said = f"1 of 1 workload by policies for 1 thread with {SET} from bank '{bank}'"
    for command in ("run", relu), ("compile", relu, "-o", "again.om"):
        assert said in succeeds(*command, "--threads", 1, cwd=relu.parent)


def test_bench_says_how_many_hit(relu, bank):
    options = ("--threads", 1, "--seconds", 0.01)
    assert "1 of 1 workload by policies" in succeeds("bench", relu, *options)
    report = json.loads(succeeds("bench", relu, *options, "--json"))
    assert report["bank"] == {"workloads": 1, "hits": 1, "by_bank": {str(bank): 1}}


def test_the_bank_goes_before_the_om_file(relu, place, default, tuned):
    compiled(relu)
    om = relu.with_suffix(".om")
    bank_files.write(place, SOC_VERSION, [tuned])
    succeeds("compile", om, "-o", om.with_name("again.om"), "--threads", 1)
    (policy,) = om_files.read(om.with_name("again.om")).structure.policies
    assert policy.text.decode() == tuned["policy"]


def test_a_policy_for_other_threads_is_no_hit(relu, bank, default):
    assert f"0 of 1 workload by policies for 2 threads with {SET}" in succeeds(
        "run", relu, "--threads", 2
    )


def test_the_library_finds_it_too(relu, bank):
    before = {path: path.stat().st_mtime_ns for path in bank.parent.iterdir()}
    x = np.linspace(-1, 1, ROWS * 50, dtype=np.float32).reshape(ROWS, 50)
    assert np.array_equal(library.load(relu, threads=1).run({"x": x})["y"], np.maximum(x, 0))
    assert {path: path.stat().st_mtime_ns for path in bank.parent.iterdir()} == before


def overwrite(path):
    path.write_bytes(b"x" * 5000)


def cut(path):
    path.write_bytes(path.read_bytes()[:4096])


# How a bank is spoilt, and a word of what is said about it.
SPOILT = {
    "no database": (overwrite, "not a database"),
    "cut off": (cut, "op.db"),
    "a newer schema": (sql("PRAGMA user_version = 3"), "newer version"),
    "another application": (sql("PRAGMA application_id = 3"), "not a bank"),
    "another processor": (sql("UPDATE bank SET soc_version = 'x86_64_mill'"), "x86_64_mill"),
    "a newer entry": (sql("UPDATE policies SET format = 4"), "newer version"),
    "a changed entry": (sql("UPDATE policies SET policy = policy || ' '"), "damaged"),
    "an entry of another processor": (
        lambda path: seal(path, soc_version="x86_64_mill"),
        "it is for x86_64_mill",
    ),
    "a policy that is not valid": (lambda path: seal(path, policy="loops outer=9"), "not valid"),
    "no policy": (lambda path: seal(path, policy=""), "damaged"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "op.db"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_a_spoilt_bank_is_a_miss_with_a_warning(case, relu, bank):
    spoil, word = SPOILT[case]
    spoil(bank)
    kept = bank.read_bytes() if bank.is_file() else None
    done = aoe("run", relu, "--threads", 1)
    assert done.returncode == 0, done.stderr
    assert "0 of 1 workload" in done.stdout.decode()
    (line,) = done.stderr.decode().splitlines()
    assert word in line
    assert kept == (bank.read_bytes() if bank.is_file() else None)


def test_a_bank_in_the_middle_of_being_written_is_waited_for_only_so_long(relu, bank):
    with sqlite3.connect(bank) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        done = aoe("run", relu, "--threads", 1)
    writer.close()
    assert done.returncode == 0
    assert b"try again" in done.stderr


def test_a_place_that_is_not_there_is_told_of(relu, monkeypatch):
    monkeypatch.setenv("TUNE_BANK_PATH", "/nowhere/at/all")
    done = aoe("run", relu)
    assert done.returncode == 0
    assert b"TUNE_BANK_PATH is '/nowhere/at/all'" in done.stderr


def test_the_built_in_bank_is_beside_the_program(relu, place, tuned, tmp_path, monkeypatch):
    monkeypatch.delenv("AOE_BUILTIN")
    program = shutil.copy2(BINARY, tmp_path / "aoe")
    builtin = tmp_path / "builtin" / "op" / SOC_VERSION / "op.db"
    lines = tmp_path / f"{SOC_VERSION}.jsonl"
    lines.write_text(exported_line(tuned, tmp_path))
    succeeds("bank", "import", lines, "--bank", builtin)

    def said():
        command = [program, "run", relu, "--threads", "1"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert f"1 of 1 workload by policies for 1 thread with {SET} from bank '{builtin}'" in said()
    monkeypatch.setenv("AOE_BUILTIN", "off")
    assert "bank" not in said()


def test_a_bank_that_may_only_be_read(bank, relu):
    bank.chmod(0o444)
    bank.parent.chmod(0o555)
    try:
        assert "1 of 1 workload" in succeeds("run", relu, "--threads", 1)
    finally:
        bank.parent.chmod(0o755)


def test_a_bank_that_may_not_be_read(bank, relu):
    bank.chmod(0o000)
    done = aoe("run", relu, "--threads", 1)
    assert done.returncode == 0
    assert b"unable to open" in done.stderr
    assert b"0 of 1 workload by policies" in done.stdout


def test_a_bank_that_everybody_may_write(bank, relu):
    bank.chmod(0o646)
    done = aoe("run", relu, "--threads", 1)
    assert b"1 of 1 workload" in done.stdout
    (warning,) = done.stderr.decode().splitlines()
    assert f"bank '{bank}' can be written or replaced by every user" in warning


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.usefixtures("device")
def test_a_bank_of_another_user_is_read_but_not_written_below_home(
    place, tuned, relu, tmp_path, monkeypatch
):
    monkeypatch.delenv("TUNE_BANK_PATH")
    monkeypatch.delenv("ASCEND_CACHE_PATH")
    monkeypatch.setenv("HOME", str(tmp_path))
    custom = tmp_path / "Ascend" / "latest" / "data" / "aoe" / "custom" / "op" / SOC_VERSION
    bank_files.write(custom / "op.db", SOC_VERSION, [tuned])
    os.chown(custom / "op.db", NOBODY, NOBODY)
    assert "1 of 1 workload" in succeeds("run", relu, "--threads", 1)
    (custom / "op.db").chmod(0o664)
    message = fails(f"--model={relu}", "--job_type=2", "--log=error", cwd=tmp_path)
    assert f"bank '{custom / 'op.db'}' belongs to user nobody ({NOBODY})" in message


def test_entries_of_another_version_or_processor_are_marked_and_used(relu, place, tuned):
    bank_files.write(place, SOC_VERSION, [tuned | {"product_version": "0.0.1"}])
    assert "aged: by version 0.0.1" in succeeds("bank", "ls")
    assert "1 of 1 workload" in succeeds("run", relu, "--threads", 1)


def test_layers_are_read_in_order(relu, place, tuned, tmp_path, monkeypatch):
    team = tmp_path / "team"
    bank_files.write(team / SOC_VERSION / "op.db", SOC_VERSION, [tuned])
    mine = place.parents[1]
    monkeypatch.setenv("TUNE_BANK_PATH", f"{mine}:{team}")
    assert compiled(relu)[1] == tuned["policy"]
    other = tuned | {"policy": tuned["policy"].replace("threads 1\n", "")}
    bank_files.write(place, SOC_VERSION, [other])
    assert compiled(relu)[1] == other["policy"]
    monkeypatch.setenv("TUNE_BANK_PATH", f"{mine}:{team}:/nowhere")
    assert b"'/nowhere', which is not a folder" in aoe("run", relu, "--threads", 1).stderr


def test_a_policy_that_is_not_valid_hides_none_of_a_later_layer(
    relu, place, tuned, tmp_path, monkeypatch
):
    team = tmp_path / "team"
    valid = bank_files.write(team / SOC_VERSION / "op.db", SOC_VERSION, [tuned])
    bank_files.write(place, SOC_VERSION, [tuned | {"policy": "loops outer=9"}])
    monkeypatch.setenv("TUNE_BANK_PATH", f"{place.parents[1]}:{team}")
    done = aoe("run", relu, "--threads", 1)
    assert f"the policy of bank '{place}' is not valid".encode() in done.stderr
    assert (
        f"1 of 1 workload by policies for 1 thread with {SET} from bank '{valid}'\n".encode()
        in (done.stdout)
    )


def test_a_setting_of_the_built_in_bank_that_says_nothing_is_told_of(relu, monkeypatch):
    monkeypatch.setenv("AOE_BUILTIN", "no")
    done = aoe("run", relu, "--threads", 1)
    assert done.returncode == 0
    assert b"AOE_BUILTIN is 'no', which is neither 'on' nor 'off'" in done.stderr


def test_a_loaded_model_counts_its_hits(relu, place, tuned):
    assert library.load(relu, threads=1).bank_hits == 0
    bank_files.write(place, SOC_VERSION, [tuned])
    assert library.load(relu, threads=1).bank_hits == 1
    assert library.load(relu, threads=2).bank_hits == 0


def test_a_lock_that_is_held_too_long_says_by_whom(relu, bank):
    with sqlite3.connect(bank) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        done = aoe("run", relu, "--threads", 1)
    writer.close()
    assert f"process {os.getpid()} (".encode() in done.stderr
