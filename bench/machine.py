"""The machine that is measured: what it says of itself, and what it is seen to do."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).resolve().parents[1] / "build" / "aoe"


def describe() -> dict[str, Any]:
    device = _devices()
    caches = {cache["name"]: f"{cache['bytes'] >> 10} KiB" for cache in device["caches"]}
    return {
        "processor": device["processor"],
        "cores": len(os.sched_getaffinity(0)),
        # What works, which may be less than what the processor announces.
        "vector": (device["instruction_sets"] or ["none"])[-1].upper(),
        "caches": caches,
        "memory": f"{device['memory_bytes'] / 2**30:.0f} GB",
        "system": f"{_distribution()}, Linux {platform.release()}",
        "peak": {},
    }


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


Rates = dict[str, float]


def better(rates: Iterable[Rates]) -> Rates:
    """The best of each figure."""
    best = {"gflops": 0.0, "gbps": 0.0}
    for seen in rates:
        best = {name: max(best[name], seen[name]) for name in best}
    return best


def peak(cpus: Sequence[int]) -> Rates:
    """As it is now on the given processors; nothing that counts if it cannot be measured."""
    options = ["--measure", "--threads", str(len(cpus))]
    try:
        measured = _devices(*options, before=["taskset", "-c", ",".join(map(str, cpus))])
    except subprocess.CalledProcessError as error:
        print(f"The peak could not be measured: {error}", flush=True)
        return better([])
    (seen,) = measured["rates"]
    return {"gflops": round(seen["fma_gflops"], 2), "gbps": round(seen["copy_gbps"], 2)}


def _devices(*options: str, before: Sequence[str] = ()) -> dict[str, Any]:
    """What `aoe devices` says, asked by way of the command `before`."""
    command = [*before, PROGRAM, "devices", "--json", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()
