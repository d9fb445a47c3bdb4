"""Banks: what commands say of them, and how loading a model uses them."""

import json
import os
import sqlite3
import subprocess

import aoe as library
import bank_files
import numpy as np
import om_files
import onnx
import pytest
from onnx_models import model, node

from cli import BINARY, aoe, fails, succeeds

DEVICE = json.loads(succeeds("devices", "--json"))
SOC_VERSION = DEVICE["soc_version"]
SET = DEVICE["instruction_sets"][-1]
NOBODY = 65534
ROWS = 64
# Of a model to be timed: below some ten microseconds the two sides of an A/A comparison differ.
TIMED_ROWS = 16384


@pytest.fixture
def rows():
    return ROWS


@pytest.fixture
def relu(tmp_path, rows):
    """A model of one workload."""
    made = model(
        [node("y = Relu(x)", name="only")],
        {"x": ("float32", [rows, 50])},
        {"y": ("float32", [rows, 50])},
    )
    onnx.save(made, tmp_path / "relu.onnx")
    return tmp_path / "relu.onnx"


def compiled(relu):
    """The model's only workload: its key, and the policy that it is compiled by."""
    succeeds("compile", relu, "-o", relu.with_suffix(".om"), "--threads", 1)
    (policy,) = om_files.read(relu.with_suffix(".om")).structure.policies
    return f"{policy.workload:016x}", policy.text.decode()


@pytest.fixture
def default(relu):
    """The text of the workload and its default policy."""
    key, policy = compiled(relu)
    printed = subprocess.run(
        [BINARY.parent / "workload_texts", relu], capture_output=True, text=True, check=True
    ).stdout
    texts = {bank_files.hash_of(text.encode()): text for text in workloads_in(printed)}
    return texts[key], policy


def workloads_in(printed):
    return [f"in {text.rstrip()}\n" for text in ("\n" + printed).split("\nin ")[1:]]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where the bank is looked for; nothing is there yet."""
    (tmp_path / "banks").mkdir()
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path / "banks"))
    return tmp_path / "banks" / SOC_VERSION / "op.db"


@pytest.fixture
def tuned(default):
    """An entry whose policy is not the default one."""
    workload, policy = default
    return bank_files.entry(workload, f"threads 1\n{policy}", SOC_VERSION, instruction_set=SET)


@pytest.fixture
def bank(place, tuned):
    return bank_files.write(place, SOC_VERSION, [tuned])


# --- loading --------------------------------------------------------------------------------------


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
    assert report["bank"] == {"workloads": 1, "hits": 1}


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


def sql(text):
    def change(path):
        with sqlite3.connect(path) as opened:
            opened.executescript(text)
        opened.close()

    return change


def seal(path, **fields):
    """Changes an entry and puts its checksum right."""
    with sqlite3.connect(path) as opened:
        opened.row_factory = sqlite3.Row
        row = dict(opened.execute("SELECT * FROM policies").fetchone()) | fields
        row["checksum"] = bank_files.checksum_of(row)
        opened.execute(
            "UPDATE policies SET " + ", ".join(f"{name} = ?" for name in row), tuple(row.values())
        )
    opened.close()


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


# --- aoe bank -------------------------------------------------------------------------------------


def test_lists_what_is_there(bank, tuned):
    key = bank_files.hash_of(tuned["workload"].encode())
    printed = succeeds("bank", "ls")
    assert key in printed
    assert "1 policy in bank" in printed
    listed = json.loads(succeeds("bank", "ls", "--json"))
    assert listed["soc_version"] == SOC_VERSION
    (entry,) = listed["entries"]
    assert entry["key"] == key
    assert entry["state"] == "good"
    assert entry["evidence"] == ["job:1", "job:2"]
    for name in set(bank_files.FIELDS) - set(bank_files.SETS):
        assert entry[name] == tuned[name]


def test_shows_a_workload(bank, tuned):
    key = bank_files.hash_of(tuned["workload"].encode())
    printed = succeeds("bank", "show", key[:6])
    for word in (key, tuned["workload"], tuned["policy"], "1.250 times as fast", "48 samples"):
        assert word in printed
    assert json.loads(succeeds("bank", "show", key, "--json"))[0]["policy"] == tuned["policy"]
    assert "has no policy" in fails("bank", "show", "0123")


def test_checks(bank, tuned):
    assert "is valid: 1 entry" in succeeds("bank", "check")
    assert json.loads(succeeds("bank", "check", "--json"))["problems"] == []
    sql("UPDATE policies SET format = 4")(bank)
    assert "1 of them newer or foreign" in succeeds("bank", "check", "--bank", bank)
    sql("UPDATE policies SET format = 1, samples = 1")(bank)
    done = aoe("bank", "check")
    assert done.returncode == 2
    assert b"damaged" in done.stdout
    assert b"1 problem" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bank",), "check, ls, show or measure is expected"),
        (("bank", "lss"), "did you mean 'ls'"),
        (("bank", "ls", "--jason"), "did you mean '--json'"),
        (("bank", "ls", "--bank", "/nowhere.db"), "there is no bank '/nowhere.db'"),
        (("bank", "show"), "key"),
    ],
)
def test_bad_use(words, said):
    assert said in fails(*words)


def test_an_empty_file_is_a_bank_without_entries(tmp_path):
    (tmp_path / "op.db").touch()
    assert "0 policies" in succeeds("bank", "ls", "--bank", tmp_path / "op.db")
    assert "is valid: 0 entries" in succeeds("bank", "check", "--bank", tmp_path / "op.db")


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
    assert b"from the bank" not in done.stdout


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


# --- measuring again ------------------------------------------------------------------------------


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("rows", [TIMED_ROWS])
@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.01, 100.0, "holds"), (1000.0, 2000.0, "differs")]
)
def test_claims_are_measured_again(relu, place, tuned, low, high, verdict):
    claim = tuned | {"speedup_low": low, "speedup_high": high}
    bank_files.write(place, SOC_VERSION, [claim])
    (found,) = json.loads(succeeds("bank", "measure", relu, "--threads", 1, "--json"))
    assert found["name"] == "only"
    assert (found["claimed_low"], found["claimed_high"]) == (low, high)
    assert found["verdict"] == verdict
    assert 0.1 < found["now_low"] <= found["now"] <= found["now_high"] < 10


@pytest.mark.usefixtures("device")
def test_a_policy_that_the_model_does_not_run_by_is_not_measured(relu, place, tuned):
    wrong = bank_files.entry(
        tuned["workload"], "loops outer=99 [a:16]\n", SOC_VERSION, instruction_set=SET
    )
    bank_files.write(place, SOC_VERSION, [wrong])
    said = fails("bank", "measure", relu, "--threads", 1)
    assert "the model does not run by its policy for only" in said


@pytest.mark.parametrize(
    "claim",
    [{"speedup_low": -1.0}, {"before_ns": 0.0}, {"speedup_low": 3.0, "speedup_high": 2.0}],
)
def test_claims_that_cannot_be_are_damage(relu, place, tuned, claim):
    bank_files.write(place, SOC_VERSION, [tuned | claim])
    assert "has 1 problem" in fails("bank", "check")
    said = aoe("run", relu, "--threads", 1)
    assert b"its measurements are inconsistent" in said.stderr
    assert b"0 of 1 workload" in said.stdout


@pytest.mark.usefixtures("device")
def test_there_must_be_something_to_measure(relu, bank):
    said = fails("bank", "measure", relu, "--threads", 2)
    assert "no policy for this model on 2 threads; it has some on 1 thread (--threads 1)" in said


def test_without_a_bank_there_is_nothing_to_measure(relu, place):
    assert "there is no bank" in fails("bank", "measure", relu)
