"""The table of the tuning suite: what was found, and what it took to find it."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from peers import OURS

from show import words
from show.words import MISSING


def rows(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Those of what tuners found."""
    return [row for row in results["rows"] if row["suite"] == words.TUNING]


def entries(results: dict[str, Any], row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the tuners did for a row, by participant."""
    return {
        entry["participant"]: entry
        for entry in results["tuning"]
        if (entry["case"], entry["threads"]) == (row["case"], row["threads"])
    }


def table(results: dict[str, Any], names: dict[str, str]) -> tuple[str, list[str], list[list[str]]]:
    """Title, heads, rows."""
    present = [key for key in names if any(key in row["measured"] for row in rows(results))]
    peers = [key for key in present if key != OURS]
    ratios = [f"{names[key]} / {names[OURS]}" for key in peers]
    heads = ["operator", *(f"{names[key]} ms" for key in present)]
    heads += [f"{ratio} ms" for ratio in ratios] + ["A/A"]
    heads += [f"error of {names[key]}" for key in present]
    heads += [f"{names[key]} tuned, s" for key in present] + [f"{ratio} s" for ratio in ratios]
    heads += [f"{names[key]} trials" for key in present]
    telling = {entry["participant"] for entry in results["tuning"] if "algorithms" in entry}
    named = [key for key in present if key in telling]
    heads += [f"{names[key]} algorithm" for key in named]
    body = []
    for row in rows(results):
        spent = entries(results, row)
        right = {key: e for key, e in row["measured"].items() if e["status"] == "ok"}
        times = {key: words.digits(e["median_ms"]) for key, e in right.items()}
        errors = {key: words.error(e["error"]) for key, e in right.items()}
        seconds = {key: words.digits(e["seconds"]) for key, e in spent.items()}
        trials = {key: str(e["trials"]) for key, e in spent.items()}
        body.append(
            [
                row["title"],
                *(times.get(key, row["measured"][key]["status"]) for key in present),
                *(words.ratio(row.get("ratios", {}).get(key)) for key in peers),
                words.ratio(row.get("noise")),
                *(errors.get(key, MISSING) for key in present),
                *(seconds[key] for key in present),
                *(_of_seconds(spent, key, right) for key in peers),
                *(trials[key] for key in present),
                *(words.algorithm(spent[key]) for key in named),
            ]
        )
    return words.TITLES[words.TUNING], heads, body


def _of_seconds(spent: dict[str, dict[str, Any]], peer: str, right: Container[str]) -> str:
    """How many times as long as ours a tuner took; how soon one failed says nothing."""
    if peer not in right or OURS not in right:
        return MISSING
    return words.digits(spent[peer]["seconds"] / spent[OURS]["seconds"])
