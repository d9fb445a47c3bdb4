"""The commands `aoe bank ...`, and aoe.Bank."""

import json

import aoe as library
import bank_files
import pytest
from bank_files import seal, sql
from one_workload import DEVICE, SET, SOC_VERSION, TIMED_ROWS, exported_line

from cli import aoe, fails, succeeds


def test_lists_what_is_there(bank, tuned):
    key = bank_files.hash_of(tuned["workload"].encode())
    printed = succeeds("bank", "ls")
    assert printed.startswith(f"{key}  only ")
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
    assert "has no entry" in fails("bank", "show", key[:3])


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
        (("bank", "ls", "--limit", "-1"), "--limit"),
        (("bank", "ls", "--graphs", "--bank", "op.db"), "--graphs"),
    ],
)
def test_bad_use(words, said):
    assert said in fails(*words)


def test_an_empty_file_is_a_bank_without_entries(tmp_path):
    (tmp_path / "op.db").touch()
    assert "0 entries" in succeeds("bank", "ls", "--bank", tmp_path / "op.db")
    assert "is valid: 0 entries" in succeeds("bank", "check", "--bank", tmp_path / "op.db")


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


def test_lines_for_another_processor_are_not_imported_into_this_ones_bank(place, tuned, tmp_path):
    lines = tmp_path / "lines"
    lines.write_text(json.dumps(exported_entry(tuned, tmp_path) | {"soc_version": "x86_64_mill"}))
    said = fails("bank", "import", lines)
    assert "the entries are for x86_64_mill" in said
    assert not place.exists()
    assert "1 added" in succeeds("bank", "import", lines, "--bank", tmp_path / "mill.db")


def exported_entry(entry, folder):
    return json.loads(exported_line(entry, folder))


def test_a_file_without_an_entry_is_not_imported(place, tmp_path):
    (tmp_path / "lines").write_text("words\n")
    said = fails("bank", "import", tmp_path / "lines")
    assert "line 1: " in said
    assert "has no entry of a bank" in said
    assert not place.exists()


def test_an_export_does_not_replace_a_bank(place, tuned, relu):
    bank_files.write(place, SOC_VERSION, [tuned])
    assert "it is a database" in fails("bank", "export", place)
    with pytest.raises(library.Error, match="it is a database"):
        library.Bank(place).export(place)
    assert "is valid: 1 entry" in succeeds("bank", "check")


@pytest.mark.parametrize(
    "words",
    [("ls", "--bank", ""), ("merge", "x.db", "-o", ""), ("import", "--bank", "", "x")],
)
def test_an_empty_name_is_no_bank(words, bank):
    assert "no file is named" in fails("bank", *words)


def test_a_place_without_a_folder_is_an_error(tuned, tmp_path, monkeypatch):
    lines = tmp_path / "lines"
    lines.write_text(exported_line(tuned, tmp_path))
    monkeypatch.setenv("TUNE_BANK_PATH", ":")
    assert "TUNE_BANK_PATH names no folder" in fails("bank", "import", lines)
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path / "gone"))
    assert f"TUNE_BANK_PATH is '{tmp_path / 'gone'}'" in fails("bank", "import", lines)
    assert not (tmp_path / "gone").exists()


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
def test_a_race_takes_the_faster_policy(tmp_path, tuned, default):
    # Proven best of all, they say; but one line of 64 elements for each call is slow.
    slow = tuned | {"policy": "threads 1\nloops outer=2 []\n", "total_low": 9.0}
    fast = tuned | {"policy": default[1], "total_low": 1.1}
    banks = [
        bank_files.write(tmp_path / name, SOC_VERSION, [entry])
        for name, entry in (("slow.db", slow), ("fast.db", fast))
    ]
    done = aoe("bank", "merge", banks[1], "-o", banks[0], "--race")
    assert b"two policies for only" in done.stdout
    assert b"raced only: the less well proven policy is " in done.stderr
    assert b": it is taken" in done.stderr
    assert policies(banks[0])[1] == default[1]
    # The same between two sources.
    bank_files.write(tmp_path / "other.db", SOC_VERSION, [slow])
    succeeds("bank", "merge", tmp_path / "other.db", banks[1], "-o", tmp_path / "both.db", "--race")
    assert policies(tmp_path / "both.db")[1] == default[1]


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


def test_names_that_are_not_utf_8(place, tuned):
    bank_files.write(place, SOC_VERSION, [tuned])
    seal(place, names=b"caf\xe9")
    (entry,) = library.Bank(place).entries
    assert entry["names"] == ["caf\ufffd"]
    with pytest.warns(UserWarning, match="not UTF-8"):
        assert library.Bank(place).export() == ""


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
    # A date to come, of a clock that was wrong, does not matter.
    old = {"baseline": slow, "product_version": "0.0.9", "date": "2040-01-01T00:00:00Z"}
    entries = [tuned | old | {"policy": f"threads 1\n{default[1]}"}]
    bank_files.write(place, SOC_VERSION, entries)
    succeeds("bank", "measure", relu, "--threads", 1, "--dry-run")
    (entry,) = json.loads(succeeds("bank", "ls", "--json"))["entries"]
    assert entry["aged"]
    said = succeeds("bank", "measure", relu, "--threads", 1)
    assert "1 policy of another version or processor checked, no longer aged" in said
    (now,) = json.loads(succeeds("bank", "ls", "--json"))["entries"]
    assert not now["aged"]
    assert now["date"] < entry["date"]
    assert (now["speedup_low"], now["evidence"]) == (entry["speedup_low"], entry["evidence"])


@pytest.mark.usefixtures("device")
def test_a_policy_that_the_model_does_not_run_by_is_not_measured(
    relu, place, tuned, tmp_path, monkeypatch
):
    wrong = bank_files.entry(
        tuned["workload"], "loops outer=99 [a:16]\n", SOC_VERSION, instruction_set=SET
    )
    bank_files.write(place, SOC_VERSION, [wrong])
    junk = tmp_path / "junk" / SOC_VERSION / "op.db"
    junk.parent.mkdir(parents=True)
    junk.write_text("no database")
    monkeypatch.setenv("TUNE_BANK_PATH", f"{place.parents[1]}:{tmp_path / 'junk'}")
    done = aoe("bank", "measure", relu, "--threads", 1)
    said = done.stderr.decode()
    assert done.returncode == 2
    assert "the model does not run by its policy for only, which is not measured" in said
    assert f"'{junk}'" in said
    assert "has no policy for this model on 1 thread" in said


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
