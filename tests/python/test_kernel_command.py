"""`aoe kernel`: a workload's policy, loops and code, checked and timed."""

import re
import subprocess
from pathlib import Path

import pytest

from cli import BINARY, aoe, fails, succeeds

ROOT = Path(__file__).resolve().parents[2]

SOFTMAX = r"in %0 f32[12,50]\n%1 f32[12] = max(r:50) %0[a, r]\n%2 f32[12] = sum(r:50) exp(%0[a, r] - %1[a])\n%3 f32[12,50] = exp(%0[a, b] - %1[a]) / %2[a]\nout %3"  # noqa: E501
PRODUCT = (
    r"in %0 f32[48,64]\nweight %1 f32[64,80]\n%2 f32[48,80] = sum(r:64) %0[a, r] * %1[r, b]\nout %2"
)

DOCUMENT = (ROOT / "docs/policy.md").read_text()
EXAMPLES = re.findall(r"```policy\n(.*?)```", DOCUMENT, re.DOTALL)


def test_shows_key_policy_and_loops():
    text = succeeds("kernel", SOFTMAX, "--kernels", "sse2")
    assert re.match(r"key [0-9a-f]{16}\n\nloops outer=1 \[r:4", text)
    assert "parallel a < 6" in text  # Pairs of the twelve rows.


def test_times_beside_the_policy_on_the_threads_it_says():
    text = succeeds("kernel", PRODUCT, "--emit", "policy", "--policy", EXAMPLES[1], "--time")
    assert text.startswith("threads 1\nproduct tile=6x2x8")
    threads = succeeds("kernel", PRODUCT, "--policy", EXAMPLES[1], "--time", "--threads", "0")
    assert re.search(r"time    median .* 1 thread\n", threads)


def test_does_not_wait_for_the_reference_forever():
    size = r"in %0 f32[2048,2560]\nweight %1 f32[2560,4096]\n%2 f32[2048,4096] = sum(r:2560) "
    text = succeeds("kernel", size + r"%0[a, r] * %1[r, b]\nout %2", "--time", "--threads", "0")
    assert "error   not looked at" in text


def test_reads_files_and_standard_input(tmp_path):
    lines = PRODUCT.replace(r"\n", "\n")
    file = tmp_path / "workload.txt"
    file.write_text(lines)
    shown = succeeds("kernel", PRODUCT)
    assert succeeds("kernel", f"@{file}") == shown
    piped = subprocess.run([BINARY, "kernel", "-"], input=lines, capture_output=True, text=True)
    assert piped.stdout == shown


@pytest.mark.parametrize(
    ("workload", "policy"), list(zip([SOFTMAX, PRODUCT], EXAMPLES, strict=True))
)
def test_the_examples_of_the_document_read_back_and_run(workload, policy):
    if "avx2" not in succeeds("devices"):
        pytest.skip("needs AVX2")
    options = ["--policy", policy.replace("\n", ";"), "--kernels", "avx2"]
    assert succeeds("kernel", workload, *options, "--emit", "policy") == policy
    text = succeeds("kernel", workload, *options, "--time", "--threads", "2")
    error = float(re.search(r"^error +(\S+) at most", text, re.MULTILINE)[1])
    assert error < 1e-4
    count = "1 thread" if "threads 1" in policy else "2 threads"
    assert re.search(rf"^time +median .* minimum .* {count}$", text, re.MULTILINE)
    assert re.search(r"GFLOP/s .*GB/s", text)


@pytest.mark.parametrize("workload", [SOFTMAX, PRODUCT])
def test_the_printed_policy_is_the_one_that_runs(workload):
    policy = succeeds("kernel", workload, "--emit", "policy")
    again = succeeds("kernel", workload, "--policy", policy)
    assert again == succeeds("kernel", workload)


def test_a_policy_of_stages_alone_leaves_the_rest_to_the_defaults():
    text = succeeds("kernel", SOFTMAX, "--policy", "threads 1; strips 0-2 a/4", "--time")
    assert "threads 1\nstrips 0-2 a/4\nloops outer=" in text
    assert "parallel a < 3" in text
    assert "error   " in text and "wrong" not in text


def test_emits_code():
    assert "define" in succeeds("kernel", PRODUCT, "--emit", "llvm")
    assert ".globl\tkernel" in succeeds("kernel", PRODUCT, "--emit", "asm")
    assert succeeds("kernel", PRODUCT, "--emit", "program").startswith("@0 f32[3840] value %2")


def test_what_is_not_what_the_reference_computes_ends_with_1():
    # Two orders of one sum differ in their last digits, of which the difference consists; behind a
    # rounding nothing excuses it.
    stages = [
        "in %0 f32[16,100]",
        "%1 f32[16] = sum(r:1000,s:100) abs(%0[a, s]) + 1000",
        "%2 f32[16] = sum(r:100,s:1000) abs(%0[a, r]) + 1000",
        "%3 f32[16] = round(%1[a] - %2[a])",
        "out %3",
    ]
    done = aoe("kernel", r"\n".join(stages), "--time")
    assert done.returncode == 1, done.stderr
    assert re.search(rb"^wrong   output 0: element \d+ is \S+, not \S+", done.stdout, re.MULTILINE)


BAD = {
    "a value that is too large": (
        [r"in %0 f32[4]\n%1 f32[9223372036854775807] = %0[0]\nout %1", "--emit", "policy"],
        "float32[9223372036854775807] is too large",
    ),
    "an algorithm that does not apply": (
        [PRODUCT, "--policy", "stage 0 winograd4; product tile=4x2x4 block=64x80 first=rows"],
        "stage 0: winograd4 is for convolutions",
    ),
    "no workload": (["in %0"], "line 1"),
    "not a workload": (["hello"], "line 1, column 1"),
    "no such file": (["@/nowhere/to.txt"], "'/nowhere/to.txt' cannot be read"),
    "a folder": (["@/"], "'/' cannot be read"),
    "an unknown policy": ([PRODUCT, "--policy", "magic"], "policy, line 1, column 1"),
    "too few decisions": (
        [SOFTMAX, "--policy", "stage 2 root; loops outer=1 [r:4] [r:4]"],
        "1 more 'loops' or 'product'",
    ),
    "strips that do not divide": (
        [SOFTMAX, "--policy", "strips 0-2 a/5"],
        "stages 0 to 2 cannot be computed by strips of 5 along a",
    ),
    "an invalid tile": (
        [PRODUCT, "--policy", "product tile=99x2x4 block=64x80 first=rows"],
        "item 1: tiles of 99 rows",
    ),
    "a policy of another workload": (
        [SOFTMAX, "--policy", "product tile=4x2x4 block=64x80 first=rows"],
        "'loops' is expected",
    ),
    "an unknown instruction set": ([PRODUCT, "--kernels", "mmx"], "sse2, avx2 or avx512"),
    "an unknown emission": ([PRODUCT, "--emit", "poetry"], "poetry"),
    "threads that are none": ([PRODUCT, "--threads", "-1"], "--threads"),
    "a hostile size": (
        [r"in %0 f32[9000000000000]\n%1 f32[9000000000000] = %0[a]\nout %1", "--time"],
        "needs more than",
    ),
}


@pytest.mark.parametrize(("args", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(args, message):
    assert message in fails("kernel", *args)
