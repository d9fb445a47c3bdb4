"""What all Python tests share."""

import fcntl
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]
# What kernels the user has kept must not matter, nor be added to.
os.environ["XDG_CACHE_HOME"] = str(ROOT / "build" / "test-cache")
# Nor what the user has tuned.
os.environ |= {"ASCEND_CACHE_PATH": "/dev/null", "AOE_BUILTIN": "off"}
for name in ("TUNE_BANK_PATH", "ASCEND_WORK_PATH", "AOE_CONFIG", "XDG_CONFIG_HOME"):
    os.environ.pop(name, None)


@pytest.fixture
def device():
    """One job measures at a time on a machine: tests that start one take turns."""
    with Path(tempfile.gettempdir(), "aoe-tests-device.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pytest_terminal_summary(terminalreporter):
    """One line that says how much of ONNX's backend suite passed."""
    counts = {outcome: Counter() for outcome in ("passed", "failed", "xfailed")}
    for outcome, counter in counts.items():
        for report in terminalreporter.stats.get(outcome, []):
            found = re.search(
                r"test_conformance\.py::test_backend\[(\w+?)-.*-native\]", report.nodeid
            )
            if found:
                counter[found[1]] += 1
    total = sum(counts.values(), Counter())
    if total:
        parts = [f"{name} {counts['passed'][name]} of {total[name]}" for name in sorted(total)]
        terminalreporter.write_line("ONNX conformance: " + ", ".join(parts))
