"""Tunes a model with aoe's own command and tells how good the best one was, and when.

Runs in the folder that it is started in, which has the job's work space and the bank afterwards,
and `tuned.om`. Writes JSON lines to its standard output: {"seconds", "trials", "best_ms"} for each
step of the search, once it has ended, and {"done": true, "trials", "first_gain_s"}, or
{"failed": why}.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

TUNED = "tuned.om"


Entry = tuple[str, str, str]  # of a journal (docs/journal.md): kind, request, answer


def points(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    """The steps of a journal, in their order.

    A trial is a policy that was compiled: those that failed count, too, as does the default.
    """
    tried: set[str] = set()
    best_ms = float("inf")
    for kind, request, answer in entries:
        if not is_work(kind, request):
            continue
        tried |= {json.dumps(policy) for policy in json.loads(request)["compile"]}
        done = json.loads(answer)
        times = [one["total_ns"] / 1e6 for one in done["measured"]["passes"]]
        best_ms = min([best_ms, *times])
        if times:
            yield {"seconds": done["elapsed_s"], "trials": len(tried), "best_ms": best_ms}


def first_gain_s(entries: Iterable[Entry]) -> float | None:
    """When the job had proven its first policy faster; None if it proved none."""
    elapsed_s = 0.0
    for kind, request, answer in entries:
        if is_work(kind, request):
            elapsed_s = json.loads(answer)["elapsed_s"]
        elif request.startswith("confirmation") and answer.startswith("accepted"):
            return elapsed_s
    return None


def is_work(kind: str, request: str) -> bool:
    """Rather than a decision, or what a job asks for before it works."""
    return kind == "measurement" and request.startswith("{")


def read(journal: Path) -> list[Entry]:
    wanted = "SELECT kind, request, answer FROM entry ORDER BY number"
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        return database.execute(wanted).fetchall()


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="aoe")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--budget", type=int, required=True, help="seconds")
    parser.add_argument("--allow_strassen", action="store_true")
    args = parser.parse_args()

    command = [
        str(args.program),
        *(f"--model={args.model}", "--job_type=2", f"--aicore_num={args.threads}"),
        *(f"--budget={args.budget}s", "--progress_bar=off", f"--output={TUNED}"),
        *(["--allow_strassen"] if args.allow_strassen else []),
    ]
    ended = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(ended.stderr)
    if ended.returncode != 0:
        last = [f"exit code {ended.returncode}", *ended.stderr.strip().splitlines()][-1]
        say(failed=last[:200])
        return 1
    trials = 0
    (journal,) = Path("aoe_workspace").glob("*/journal.db")
    entries = read(journal)
    for point in points(entries):
        say(**point)
        trials = point["trials"]
    say(done=True, trials=trials, first_gain_s=first_gain_s(entries))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
