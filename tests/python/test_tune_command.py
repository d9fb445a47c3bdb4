"""The command line of tuning: options, environment, preconditions."""

import json
import re

import onnx
import pytest
from onnx_models import affine

from cli import aoe, fails, succeeds


@pytest.fixture
def folder(tmp_path, monkeypatch, device):
    """A working directory with a model, and a place for banks."""
    onnx.save(affine(4), tmp_path / "affine.onnx")
    (tmp_path / "banks").mkdir()
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path / "banks"))
    return tmp_path


JOB = ("--model=affine.onnx", "--job_type=2")

# Arguments, and what the message says.
BAD = {
    "no job": (("--model=affine.onnx",), "--job_type is missing"),
    "no model": (("--job_type=2",), "--model is missing"),
    "another job": (("--model=affine.onnx", "--job_type=3"), "1 (subgraphs) or 2 (operators)"),
    "subgraphs": (("--model=affine.onnx", "-j", "1"), "not implemented yet"),
    "layouts of subgraphs": (("--model=affine.onnx", "-j", "1", "--Fop_format"), "--job_type=2"),
    "no such file": (("--model=other.onnx", "-j", "2"), "other.onnx"),
    "an unknown suffix": (("--model=affine.txt", "-j", "2"), "--framework=5"),
    "another framework": ((*JOB, "--framework=3"), "TensorFlow"),
    "no framework": ((*JOB, "-f", "9"), "5 (ONNX)"),
    "by suffix": (("--model=affine.pb", "-j", "2"), "TensorFlow"),
    "an unknown option": ((*JOB, "--buget=90s"), "did you mean '--budget'"),
    "budget": ((*JOB, "--budget=soon"), "90s, 10m or 2h"),
    "device": ((*JOB, "--device=1"), "--device is '1'"),
    "level": ((*JOB, "--tune_optimization_level=O3"), "O1"),
    "progress": ((*JOB, "--progress_bar=maybe"), "on"),
    "log": ((*JOB, "--log=loud"), "debug"),
    "shape": ((*JOB, "--input_shape=x"), "--input_shape 'x'"),
    "range": ((*JOB, "--input_shape=x:1~8,3"), "'1~8' is not a number"),
    "cores": ((*JOB, "--aicore_num=0"), "--aicore_num is '0'"),
    "more cores": ((*JOB, "--aicore_num=1000"), "--aicore_num is 1000"),
    "processor": ((*JOB, "--soc_version=Ascend310"), "this machine is"),
    "precision": ((*JOB, "--precision_mode=allow_fp32_to_fp16"), "must_keep_origin_dtype"),
    "splits": ((*JOB, "--Fnonhomo_split"), "--job_type=1"),
    "output": ((*JOB, "--output=/nowhere/at/all"), "'/nowhere/at'"),
    "no output": ((*JOB, "--output", ""), "--output is empty"),
    "output in no file": ((*JOB, "--output=banks/"), "'banks/' names a folder"),
    "output to a device": ((*JOB, "--output=/dev/null"), "not a regular file"),
    "itself": ((*JOB, "--output=there/affine.om"), "there is no folder 'there'"),
    "mode": ((*JOB, "--auto_tune_mode=AG"), "NO_TUNE, RL (vector operators), GA (cube operators)"),
    "with a command": ((*JOB, "run", "affine.onnx"), "excludes"),
} | {
    option: ((*JOB, f"{option}=1"), f"{option}: ")
    for option in [
        "--model_path",
        "--weight",
        "--singleop",
        "--dynamic_batch_size",
        "--dynamic_image_size",
        "--dynamic_dims",
        "--out_nodes",
        "--output_type",
        "--tune_ops_file",
        "--ip",
        "--port",
    ]
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case, folder):
    arguments, said = BAD[case]
    message = fails(*arguments, cwd=folder)
    assert said in message
    assert len(message.splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["affine.onnx", "banks"]


ENVIRONMENT = {
    "TUNE_BANK_PATH": ("/nowhere/at/all", "'/nowhere/at/all', for the bank (TUNE_BANK_PATH)"),
    "ASCEND_WORK_PATH": ("/nowhere", "'/nowhere', for result files (ASCEND_WORK_PATH)"),
    "TE_PARALLEL_COMPILER": ("99", "TE_PARALLEL_COMPILER is '99'; a number from 1 to 32"),
    "TUNING_PARALLEL_NUM": ("0", "TUNING_PARALLEL_NUM is '0'; a number from 1 to 64"),
    "REPEAT_TUNE": ("perhaps", "REPEAT_TUNE is 'perhaps'; True or False"),
    "ASCEND_DEVICE_ID": ("7", "ASCEND_DEVICE_ID is '7'"),
    "AOE_CONFIG": ("/nowhere.ini", "AOE_CONFIG is '/nowhere.ini'"),
}


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_bad_environment(name, folder, monkeypatch):
    value, said = ENVIRONMENT[name]
    monkeypatch.setenv(name, value)
    assert said in fails(*JOB, "--log=error", cwd=folder)
    assert sorted(path.name for path in folder.iterdir()) == ["affine.onnx", "banks"]


def test_a_place_for_banks_that_may_only_be_read(folder):
    (folder / "banks").chmod(0o555)
    message = fails(*JOB, "--log=error", cwd=folder)
    assert "banks', for the bank (TUNE_BANK_PATH), must be readable, writable" in message


def test_several_obstacles_are_told_at_once(folder, monkeypatch):
    monkeypatch.setenv("TUNE_BANK_PATH", "/nowhere/1")
    monkeypatch.setenv("ASCEND_WORK_PATH", "/nowhere/2")
    message = fails(*JOB, "--log=error", cwd=folder)
    assert "/nowhere/1" in message
    assert "/nowhere/2" in message


def test_what_has_no_meaning_says_so_and_goes_on(folder):
    done = aoe(*JOB, "--host_env_os=linux", cwd=folder)
    assert b"--host_env_os is ignored: " in done.stderr


def test_log_levels_hold_back_what_is_below_them(folder):
    bad = ("--model=none.onnx", "-j", 2, "--host_env_os=linux")
    for level, warns, complains in (
        ("null", False, False),
        ("error", False, True),
        ("warning", True, True),
        ("info", True, True),
    ):
        done = aoe(*bad, f"--log={level}", cwd=folder)
        assert done.returncode == 2
        assert (b"is ignored: " in done.stderr) == warns
        assert (b"none.onnx" in done.stderr) == complains
        if level == "null":
            assert done.stderr == b""


def test_open_dimensions_ask_for_their_sizes(folder):
    onnx.save(affine("N"), folder / "open.onnx")
    assert "--input_shape" in fails("--model=open.onnx", "-j", 2, "--log=error", cwd=folder)


def test_a_job_begins_its_result_file_and_its_bank(folder):
    aoe(*JOB, cwd=folder)
    (result,) = folder.glob("aoe_result_opat_*.json")
    assert re.fullmatch(r"aoe_result_opat_\d{8}_\d{9}_pid\d+\.json", result.name)
    basic, opat = json.loads(result.read_text())
    assert basic["basic"]["tuning_name"] == "affine"
    (job,) = folder.glob("aoe_workspace/*")
    assert basic["basic"]["evidence"] == {"journal": str(job)}
    assert opat["OPAT"]["opat_tuning_result"] in ("tune tuning incomplete", "tuning successful")
    (bank,) = (folder / "banks").glob("*/op.db")
    assert "is valid" in succeeds("bank", "check", "--bank", bank)


def test_no_tune_tunes_nothing_and_names_its_result_as_autotune_does(folder):
    done = aoe(*JOB, "--auto_tune_mode=NO_TUNE", cwd=folder)
    assert (
        b"nothing was improved: nothing was to be tuned with this --auto_tune_mode\n" in done.stdout
    )
    assert not list(folder.glob("aoe_result_*"))
    (result,) = folder.glob("tune_result_*.json")
    assert re.fullmatch(r"tune_result_\d{8}_\d{9}_pid\d+\.json", result.name)


def test_help_fits_one_screen_and_begins_with_three_examples():
    lines = succeeds("--help").splitlines()
    assert len(lines) <= 40
    assert all(len(line) <= 80 for line in lines[:7])
    first = lines.index("Examples:")
    assert sum(line.startswith("  aoe ") for line in lines[first : first + 4]) == 3
    for option in ("--singleop", "--Fdeeper_opat", "--host_env_cpu", "--log"):
        assert option in succeeds("--help-all")
