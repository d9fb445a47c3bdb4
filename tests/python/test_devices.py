"""`aoe devices`: what it says of the machine."""

import json
import os
import subprocess

import pytest

from cli import BINARY, fails, succeeds

ALLOWED = sorted(os.sched_getaffinity(0))


def described(*options):
    return json.loads(succeeds("devices", "--json", *options))


def test_json_describes_the_machine():
    device = described()
    assert device["soc_version"] == f"{device['architecture']}_{device['micro_architecture']}"
    assert 1 <= device["cores"] <= len(ALLOWED) <= device["processors"]
    assert device["vector_bytes"] in (16, 32, 64)
    assert device["vector_registers"] in (16, 32)
    assert device["memory_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    names = [cache["name"] for cache in device["caches"]]
    assert names == [name for name in ("L1d", "L2", "L3") if name in names]
    assert "L1d" in names
    for cache in device["caches"]:
        assert cache["bytes"] > 0 and cache["line_bytes"] > 0 and cache["shared_by"] > 0
    assert "rates" not in device


def test_instruction_sets_work_or_are_only_announced():
    device = described()
    order = ["sse2", "avx2", "avx512"]
    works, announced_only = device["instruction_sets"], device["announced_only"]
    assert works == order[: len(works)]
    assert not set(works) & set(announced_only)
    if works:
        assert device["vector_bytes"] == 16 << (len(works) - 1)
    if "avx2" in works:
        assert device["fma"] and device["f16c"]


def test_text_says_the_same():
    device, text = described(), succeeds("devices")
    lines = text.splitlines()
    assert lines[0] == device["soc_version"]
    rows = {line[:12].strip(): line[13:] for line in lines[1:]}
    assert rows["processor"] == device["processor"]
    assert rows["cores"] == f"{device['cores']} of {device['processors']} usable"
    assert rows["vectors"].endswith("works: " + ", ".join(device["instruction_sets"]))
    assert ("announced, but faults" in text) == bool(device["announced_only"])
    for cache in device["caches"]:
        shared = cache["shared_by"]
        assert ("private to each core" if shared == 1 else f"{shared} cores") in rows[cache["name"]]


def test_cores_follow_the_affinity():
    command = ["taskset", "-c", str(ALLOWED[-1]), BINARY, "devices", "--json"]
    device = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert device["cores"] == 1
    assert device["processors"] == described()["processors"]


def test_rates_of_one_core_and_of_all():
    device = described("--measure")
    assert [rate["threads"] for rate in device["rates"]] == sorted({1, device["cores"]})
    for rate in device["rates"]:
        assert rate["fma_gflops"] > 0 and rate["copy_gbps"] > 0
        assert (rate["fork_join_us"] > 0) == (rate["threads"] > 1)


def test_rates_of_so_many_cores_in_words():
    last = succeeds("devices", "--measure", "--threads", 1).splitlines()[-1]
    assert last.startswith("1 thread ")
    assert "GFLOP/s" in last and "GB/s" in last and "fork-join" not in last


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--threads", "1"], "--measure"),
        (["--measure", "--threads", "-1"], "--threads"),
        (["--measure", "--threads", "many"], "--threads"),
        (["--measure", "--threads", "1024"], "1024"),
        (["--mesure"], "--mesure"),
        (["extra"], "extra"),
    ],
)
def test_bad_options_are_named(options, named):
    if options[-1] == "1024" and len(ALLOWED) >= 1024:
        pytest.skip("this machine has so many")
    assert named in fails("devices", *options)
