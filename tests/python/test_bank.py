"""Banks: what commands say of them, and how loading a model uses them."""

import json
import os
import shutil
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


def exported_line(entry, folder):
    return succeeds(
        "bank", "export", "--bank", bank_files.write(folder / "x.db", SOC_VERSION, [entry])
    )


# --- aoe bank -------------------------------------------------------------------------------------


def test_lists_what_is_there(bank, tuned):
    key = bank_files.hash_of(tuned["workload"].encode())
    printed = succeeds("bank", "ls")
    assert printed.startswith("only ")
    assert "1 entry in bank" in printed
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
    assert tuned["policy"] in succeeds("bank", "show", "only")
    assert tuned["policy"] in succeeds("bank", "show", int(key, 16))
    assert "has no entry" in fails("bank", "show", "0123")


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
        (("bank",), "ls, show, check, measure, merge"),
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
    assert "0 entries" in succeeds("bank", "ls", "--bank", tmp_path / "op.db")
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


def test_lists_pages_of_what_fits(place, tuned):
    others = [tuned | {"threads": n, "names": f"node {n}", "total_low": n} for n in range(1, 6)]
    bank_files.write(place, SOC_VERSION, others)

    def threads(*options):
        listed = json.loads(succeeds("bank", "ls", "--json", *options))
        return listed["total"], [entry["threads"] for entry in listed["entries"]]

    assert threads() == (5, [5, 4, 3, 2, 1])
    assert threads("--limit", 2, "--offset", 1) == (5, [4, 3])
    assert threads("--op", "node 3") == (1, [3])
    assert threads("--op", "Relu", "--sort", "id") == (5, [1, 2, 3, 4, 5])
    assert threads("--threads", 2) == (1, [2])
    assert threads("--class", "winograd") == (0, [])
    assert "2 of 5 entries" in succeeds("bank", "ls", "--limit", 2)


def test_entries_of_another_version_or_processor_are_marked_and_used(relu, place, tuned):
    bank_files.write(place, SOC_VERSION, [tuned | {"product_version": "0.0.1"}])
    assert "aged: by version 0.0.1" in succeeds("bank", "ls")
    assert "1 of 1 workload" in succeeds("run", relu, "--threads", 1)


# --- sharing --------------------------------------------------------------------------------------


@pytest.fixture
def two_banks(tmp_path, tuned):
    """Banks with an entry each of its own, and a better one in the second that both have."""
    mine = [tuned, tuned | {"threads": 2}]
    theirs = [tuned | {"total_low": 1.5, "policy": "better"}, tuned | {"threads": 3}]
    return [
        bank_files.write(tmp_path / name, SOC_VERSION, entries)
        for name, entries in (("mine.db", mine), ("theirs.db", theirs))
    ]


def policies(path):
    listed = json.loads(succeeds("bank", "ls", "--json", "--bank", path))
    return {entry["threads"]: entry["policy"] for entry in listed["entries"]}


def test_merges(two_banks, tmp_path, tuned):
    mine, theirs = two_banks
    before = theirs.read_bytes(), mine.read_bytes()
    dry = succeeds("bank", "merge", theirs, "-o", mine, "--dry-run")
    assert "1 would be added, 1 updated, 0 kept, 0 skipped" in dry
    assert "two policies for only" in dry
    assert before == (theirs.read_bytes(), mine.read_bytes())
    assert "1 added, 1 updated, 0 kept, 0 skipped" in succeeds("bank", "merge", theirs, "-o", mine)
    expected = {1: "better", 2: tuned["policy"], 3: tuned["policy"]}
    assert policies(mine) == expected
    assert before[0] == theirs.read_bytes()
    new = tmp_path / "new" / "op.db"
    succeeds("bank", "merge", theirs, mine, "-o", new)
    assert policies(new) == expected
    report = json.loads(succeeds("bank", "merge", mine, "-o", new, "--json"))
    assert (report["added"], report["updated"], report["kept"]) == (0, 0, 3)
    assert "0 differences" in succeeds("bank", "diff", mine, new)
    assert "1 difference\n" in succeeds("bank", "diff", theirs, new)


def test_exports_and_imports(two_banks, tmp_path):
    mine, _ = two_banks
    lines = tmp_path / "mine.jsonl"
    succeeds("bank", "export", lines, "--bank", mine)
    assert [json.loads(line)["threads"] for line in lines.read_text().splitlines()] == [1, 2]
    assert "2 added" in succeeds("bank", "import", lines, "--bank", tmp_path / "again.db")
    assert succeeds("bank", "export", "--bank", tmp_path / "again.db") == lines.read_text()


def test_banks_of_other_processors_are_not_merged(two_banks, tmp_path, tuned):
    foreign = bank_files.write(
        tmp_path / "f.db", "x86_64_mill", [tuned | {"soc_version": "x86_64_mill"}]
    )
    said = fails("bank", "merge", foreign, "-o", two_banks[0])
    assert SOC_VERSION in said
    assert "x86_64_mill" in said
    assert "there is no bank" in fails("bank", "merge", "/nowhere.db", "-o", two_banks[0])


def test_removes(two_banks):
    mine, _ = two_banks
    assert "2 entries would be removed" in succeeds(
        "bank", "rm", "only", "--bank", mine, "--dry-run"
    )
    assert "has no entry" in fails("bank", "rm", "only", "other", "--bank", mine)
    assert len(policies(mine)) == 2
    assert "2 entries removed" in succeeds("bank", "rm", "only", "--bank", mine)
    assert policies(mine) == {}


def test_prunes(place, tuned):
    old = tuned | {"product_version": "0.0.1"}
    ours = tuned | {"fingerprint": DEVICE["fingerprint"]}
    bank_files.write(place, SOC_VERSION, [ours, old | {"threads": 2}])
    assert "0 entries removed" in succeeds("bank", "prune")
    assert "1 entry removed" in succeeds("bank", "prune", "--aged")
    assert list(policies(place)) == [1]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("rows", [TIMED_ROWS])
def test_a_race_keeps_one_of_both_policies(tmp_path, tuned, default):
    # The default, which the sampled policy does not beat by a factor, was proven less.
    mine = bank_files.write(tmp_path / "mine.db", SOC_VERSION, [tuned | {"total_low": 9.0}])
    theirs = bank_files.write(
        tmp_path / "theirs.db", SOC_VERSION, [tuned | {"policy": default[1], "total_low": 1.1}]
    )
    said = succeeds("bank", "merge", theirs, "-o", mine, "--race")
    assert "two policies for only" in said
    assert policies(mine)[1] in (tuned["policy"], default[1])


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


def test_banks_in_python(two_banks, tmp_path, tuned):
    mine, theirs = (library.Bank(path) for path in two_banks)
    assert [entry["threads"] for entry in mine.entries] == [1, 2]
    assert mine.entries[0]["policy"] == tuned["policy"]
    assert mine.merge(theirs, dry_run=True) == (1, 1, 0, 0)
    assert len(mine.entries) == 2
    assert mine.merge(theirs).added == 1
    assert mine.merge(theirs, two_banks[0]) == (0, 0, 3, 0)
    assert mine.export(tmp_path / "lines") == (tmp_path / "lines").read_text()
    assert mine.export() == succeeds("bank", "export", "--bank", mine.path)
    with pytest.raises(library.Error, match="there is no bank"):
        library.Bank("/nowhere.db").entries  # noqa: B018
    foreign = bank_files.write(tmp_path / "f.db", "x86_64_mill", [])
    with pytest.raises(library.Error, match="x86_64_mill"):
        mine.merge(foreign, two_banks[1])


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
@pytest.mark.parametrize("rows", [TIMED_ROWS])
def test_an_aged_policy_that_is_faster_here_is_no_longer_aged(relu, place, default, tuned):
    # One line of 64 elements for each call, against the whole tensor.
    slow = "threads 1\nloops outer=2 []\n"
    old = {"baseline": slow, "product_version": "0.0.9", "date": "2020-01-01T00:00:00Z"}
    entries = [tuned | old | {"policy": f"threads 1\n{default[1]}"}]
    bank_files.write(place, SOC_VERSION, entries)
    succeeds("bank", "measure", relu, "--threads", 1, "--dry-run")
    (entry,) = json.loads(succeeds("bank", "ls", "--json"))["entries"]
    assert entry["aged"]
    said = succeeds("bank", "measure", relu, "--threads", 1)
    assert "1 policy of another version or processor checked, no longer aged" in said
    (now,) = json.loads(succeeds("bank", "ls", "--json"))["entries"]
    assert not now["aged"]
    assert now["date"] > entry["date"]
    assert (now["speedup_low"], now["evidence"]) == (entry["speedup_low"], entry["evidence"])


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
