"""The results as tables, for a screen and for a document."""

from __future__ import annotations

import re
import statistics
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from peers import OURS, STRASSEN

from show import tuned, words
from show.words import MISSING

WIDTH = 110
# A column of a screen has no room for whole names.
FASTER = "faster of ORT, OV / aoe"
FASTER_TO_STRASSEN = f"{FASTER} strassen"

# Of an A/A interval, its upper by its lower end.
BUSY = 1.2
LOG = re.compile(r" \(log: [^)]*\)")

Table = tuple[str, list[str], list[list[str]]]  # Title, heads, rows.


def line(row: dict[str, Any], participants: dict[str, Any]) -> str:
    """One row in a few words, for those who watch."""
    parts = [
        f"{participants[name]['name']} {_time(entry)}" for name, entry in row["measured"].items()
    ]
    best = f"; {FASTER} {words.ratio(row['best'])}" if "best" in row else ""
    return f"    ms: {', '.join(parts)}{best}"


def tables(results: dict[str, Any]) -> Iterable[Table]:
    names = {key: value["name"] for key, value in results["participants"].items()}
    rows = results["rows"]
    for suite in dict.fromkeys(row["suite"] for row in rows if row["suite"] != words.TUNING):
        for threads in sorted({row["threads"] for row in rows if row["suite"] == suite}):
            some = [row for row in rows if row["suite"] == suite and row["threads"] == threads]
            title = f"{words.TITLES[suite]}, {words.threads(threads)}"
            yield _suite(title, some, names, suite == "operators")
    if tuned.rows(results):
        yield tuned.table(results, names)
    if means := words.means(results):
        yield _summary(means, names)
    if failures := list(words.failures(rows, names)):
        body = [[row["title"], str(row["threads"]), who, why] for row, who, why in failures]
        yield "Without a figure", ["case", "threads", "participant", "why"], body


def _warning(results: dict[str, Any]) -> list[str]:
    """A sentence where the A/A comparisons say that the machine had other things to do."""
    widths = [
        row["noise"]["high"] / row["noise"]["low"] for row in results["rows"] if "noise" in row
    ]
    if not widths or statistics.median(widths) < BUSY:
        return []
    width = statistics.median(widths) - 1
    return [
        f"NOISY: the A/A intervals, of one program against itself, are {width:.0%} wide (median). "
        "Leave the machine alone, or measure longer."
    ]


def text(results: dict[str, Any]) -> str:
    return "\n\n".join(
        [_head(results), *_warning(results), *(_plain(*table) for table in tables(results))]
    )


def markdown(results: dict[str, Any]) -> str:
    """For a document that others read: without the names of log files on this machine."""
    parts = [_head(results)]
    for title, heads, rows in tables(results):
        cells = [heads, ["---"] * len(heads), *rows]
        body = "\n".join(
            "| " + " | ".join(LOG.sub("", c).replace("|", "\\|") for c in row) + " |"
            for row in cells
        )
        parts.append(f"### {title}\n\n{body}")
    return "\n\n".join(parts)


def _head(results: dict[str, Any]) -> str:
    machine = results["machine"]
    peaks = "; ".join(
        f"{words.threads(int(threads))}: {peak['gflops']:.0f} GFLOP/s, {peak['gbps']:.0f} GB/s"
        for threads, peak in machine["peak"].items()
    )
    versions = ", ".join(
        f"{entry['name']} {entry['version']}" + (f" ({entry['note']})" if entry.get("note") else "")
        for entry in results["participants"].values()
        if entry["version"]
    )
    said = ["Times are medians in ms.", words.RATIO_TEXT, words.NOISE_TEXT, words.ERROR_TEXT]
    said += [words.ALGORITHM_TEXT] if tuned.rows(results) else []
    lines = [
        f"{results['date']}, {machine['processor']} ({machine['vector']}, {machine['cores']} cores)"
        f", {machine['system']}",
        f"Measured peak: {peaks or MISSING}",
        versions,
        textwrap.fill(" ".join(said), WIDTH),
    ]
    return "\n".join(lines)


def _suite(
    title: str,
    rows: Sequence[dict[str, Any]],
    names: dict[str, str],
    of_operators: bool,
) -> Table:
    """Operators also have their share of the roofline, and by how much their batch is enlarged."""
    present = [key for key in names if any(key in row["measured"] for row in rows)]
    strassen = any("best_to_strassen" in row for row in rows)
    heads = ["case", *(names[key] for key in present), FASTER]
    heads += [FASTER_TO_STRASSEN] if strassen else []
    ours = [key for key in (OURS, STRASSEN) if key in present]
    heads += ["A/A", *(f"error of {names[key]}" for key in ours), "of peers"]
    heads += ["aoe of roofline (at best)", "enlarged"] if of_operators else []
    tuned_ones = [key for key in present if any(key in row.get("tuned", {}) for row in rows)]
    heads += [f"tuning of {names[key]}" for key in tuned_ones]
    body = []
    for row in rows:
        measured = row["measured"]
        errors = {key: e["error"] for key, e in measured.items() if e["status"] == "ok"}
        own_errors = [errors.pop(key, None) for key in ours]
        bounds = [words.error(bound(errors.values())) for bound in (min, max) if errors]
        body.append(
            [
                row["title"],
                *(_time(measured[key]) if key in measured else "" for key in present),
                words.ratio(row.get("best")),
                *([words.ratio(row.get("best_to_strassen"))] if strassen else []),
                words.ratio(row.get("noise")),
                *(MISSING if error is None else words.error(error) for error in own_errors),
                "..".join(bounds) or MISSING,
                *([_share(row), words.enlarged(row)] if of_operators else []),
                *(words.tuned(row.get("tuned", {}).get(key)) for key in tuned_ones),
            ]
        )
    return title, heads, body


def _share(row: dict[str, Any]) -> str:
    ours = row["measured"].get(OURS, {"status": "missing"})
    if ours["status"] != "ok":
        return MISSING
    shares = [words.roofline_share(row, ours, time) for time in ("median_ms", "min_ms")]
    return MISSING if None in shares else f"{shares[0]:.0%} ({shares[1]:.0%})"


def _summary(entries: Sequence[dict[str, Any]], names: dict[str, str]) -> Table:
    labels = {key: f"{name} / aoe" for key, name in names.items()}
    labels |= {"best": FASTER, "best_to_strassen": FASTER_TO_STRASSEN, "noise": "A/A (median)"}
    body = [
        [
            words.MEANS[entry["suite"]],
            str(entry["threads"]),
            labels[entry["peer"]],
            words.ratio(entry),
            str(entry["rows"]),
        ]
        for entry in entries
    ]
    return "Geometric means", ["suite", "threads", "of", "ratio", "rows"], body


def _time(entry: dict[str, Any]) -> str:
    return words.digits(entry["median_ms"]) if entry["status"] == "ok" else entry["status"]


def _plain(title: str, heads: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [heads, *rows]
    ]
    return "\n".join([title, "", *lines])
