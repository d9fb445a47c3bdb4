"""The machine that is measured: what it says of itself, and what it is seen to do."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("peak.cpp")
# The widest first: what a processor announces may still not run.
FLAGS = [["-march=native"], ["-mavx2", "-mfma"], []]
MOST_BYTES = 1 << 30


def describe() -> dict[str, Any]:
    info = Path("/proc/cpuinfo").read_text()
    flags = re.search(r"^flags\s*:(.*)$", info, re.MULTILINE)
    names = set(flags[1].split()) if flags else set()
    vector = next((v for v in ("avx512f", "avx2", "avx", "sse2") if v in names), "none")
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    model = re.search(r"^model name\s*:\s*(.*)$", info, re.MULTILINE)
    return {
        "processor": model[1] if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "vector": vector.upper(),
        "caches": {name: f"{size >> 10} KiB" for name, size in caches().items()},
        "memory": f"{int(memory[1]) / 2**20:.0f} GB" if memory else "unknown",
        "system": f"{_distribution()}, Linux {platform.release()}",
        "peak": {},
    }


def caches() -> dict[str, int]:
    """Bytes of the first core's data caches, by level."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = (folder / "type").read_text().strip()
        if kind == "Instruction":
            continue
        name = f"L{(folder / 'level').read_text().strip()}{'d' if kind == 'Data' else ''}"
        size = (folder / "size").read_text().strip()
        found[name] = int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]]
    return found


def cores() -> list[int]:
    """A processor of each core that may be used, the last core first: the first has most of the
    system's own work. Two threads that share a core would not be two cores' worth."""
    allowed = sorted(os.sched_getaffinity(0))
    seen: set[str] = set()
    found = []
    for cpu in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        core = siblings.read_text().strip() if siblings.exists() else str(cpu)
        if core not in seen:
            found.append(cpu)
        seen.add(core)
    return found[::-1]


class Peak:
    """The best rates seen so far on given cores; every look can raise them."""

    def __init__(self, work: Path) -> None:
        # From and to, together four times the cache that all threads share.
        self._bytes = min(4 * max(caches().values(), default=32 << 20), MOST_BYTES)
        self._program = self._build(work)

    def look(self, cpus: Sequence[int], rates: dict[str, dict[str, float]]) -> None:
        """Measures once and keeps the better figures in `rates`, by number of threads."""
        try:
            seen = self._run(self._program, cpus)
        except subprocess.CalledProcessError as error:
            print(f"The peak could not be measured: {error}", flush=True)
            return
        best = rates.setdefault(str(len(cpus)), seen)
        for name, rate in seen.items():
            best[name] = max(best[name], rate)

    def _build(self, work: Path) -> Path:
        work.mkdir(parents=True, exist_ok=True)
        program = work / "peak"
        compiler = os.environ.get("CXX", "c++")
        for flags in FLAGS:
            options = ["-std=c++20", "-O3", "-ffp-contract=fast", "-pthread", *flags]
            command = [compiler, *options, str(SOURCE), "-o", str(program)]
            if subprocess.run(command, capture_output=True).returncode != 0:
                continue
            try:
                self._run(program, [min(os.sched_getaffinity(0))])
            except subprocess.CalledProcessError:
                continue  # Compiled for instructions that do not run here.
            return program
        raise RuntimeError(f"{compiler} cannot build {SOURCE}, which measures the processor's peak")

    def _run(self, program: Path, cpus: Sequence[int]) -> dict[str, float]:
        result = subprocess.run(
            ["taskset", "-c", ",".join(map(str, cpus)), program, str(len(cpus)), str(self._bytes)],
            check=True,
            capture_output=True,
        )
        return json.loads(result.stdout)


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()
