"""The results as tables, for a screen and for a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

TITLES = {
    "models": "Models",
    "real": "Models with trained weights",
    "operators": "Operators",
    "call": "The cost of a call",
    "eight": "the eight models",
}
OURS = "aoe"
# Beyond this the interval of a ratio says "measure again" rather than anything of the participants.
WIDE = 0.02

Table = tuple[str, list[str], list[list[str]]]  # Title, heads, rows.


def line(row: dict[str, Any], participants: dict[str, Any]) -> str:
    """One row in a few words, for those who watch."""
    parts = [
        f"{participants[name]['name']} {_time(entry)}" for name, entry in row["measured"].items()
    ]
    best = f"; aoe {_ratio(row['best'])} of the best peer's speed" if "best" in row else ""
    return f"    {', '.join(parts)}{best}; {row['rounds']} rounds"


def tables(results: dict[str, Any]) -> Iterable[Table]:
    names = {key: value["name"] for key, value in results["participants"].items()}
    rows = results["rows"]
    for suite in dict.fromkeys(row["suite"] for row in rows):
        for threads in sorted({row["threads"] for row in rows if row["suite"] == suite}):
            some = [row for row in rows if row["suite"] == suite and row["threads"] == threads]
            title = f"{TITLES[suite]}, {threads} thread{'s' if threads > 1 else ''}"
            yield _suite(title, some, names)
    yield _summary(results["summary"], names)
    if any(_failures(rows, names)):
        heads = ["case", "threads", "participant", "why"]
        yield "Without a figure", heads, list(_failures(rows, names))
    if results["tuning"]:
        yield _tuning(results["tuning"])


def text(results: dict[str, Any]) -> str:
    return "\n\n".join([_head(results), *(_plain(*table) for table in tables(results))])


def markdown(results: dict[str, Any]) -> str:
    parts = [_head(results)]
    for title, heads, rows in tables(results):
        cells = [heads, ["---"] * len(heads), *rows]
        body = "\n".join(
            "| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in cells
        )
        parts.append(f"### {title}\n\n{body}")
    return "\n\n".join(parts)


def _head(results: dict[str, Any]) -> str:
    machine = results["machine"]
    peaks = "; ".join(
        f"{threads} thread{'s' if threads != '1' else ''}: {peak['gflops']:.0f} GFLOP/s, "
        f"{peak['gbps']:.0f} GB/s"
        for threads, peak in machine["peak"].items()
    )
    versions = ", ".join(
        f"{entry['name']} {entry['version']}" + (f" ({entry['note']})" if entry.get("note") else "")
        for entry in results["participants"].values()
        if entry.get("version")
    )
    return (
        f"{results['date']}, {machine['processor']} ({machine['vector']}, {machine['cores']} cores)"
        f", {machine['system']}\nMeasured peak: {peaks}\n{versions}\n"
        "Times are medians in ms. A ratio is a peer's time over aoe's, above 1 where aoe is faster,"
        " with its 99 % interval;\n~ marks one wider than 2 % each way. A/A is a second process of"
        " one participant against the first. Errors are\nagainst double precision, as a part of the"
        " largest output."
    )


def _suite(title: str, rows: Sequence[dict[str, Any]], names: dict[str, str]) -> Table:
    present = [key for key in names if any(key in row["measured"] for row in rows)]
    heads = ["case", *(names[key] for key in present), "aoe to best peer", "A/A"]
    heads += ["error of aoe", "of peers"]
    body = []
    for row in rows:
        measured = row["measured"]
        peers = [e for key, e in measured.items() if key != OURS and e.get("error") is not None]
        body.append(
            [
                row["title"],
                *(_time(measured[key]) if key in measured else "" for key in present),
                _ratio(row.get("best")),
                _ratio(row.get("noise")),
                _error(measured.get(OURS, {}).get("error")),
                "..".join(_error(bound(e["error"] for e in peers)) for bound in (min, max))
                if peers
                else "-",
            ]
        )
    return title, heads, body


def _summary(entries: Sequence[dict[str, Any]], names: dict[str, str]) -> Table:
    labels = names | {"best": "the best peer", "noise": "A/A"}
    body = [
        [
            TITLES[entry["suite"]],
            str(entry["threads"]),
            labels[entry["peer"]],
            _ratio(entry),
            str(entry["rows"]),
        ]
        for entry in entries
    ]
    heads = ["suite", "threads", "against", "ratio", "rows"]
    return "Geometric means", heads, body


def _failures(rows: Sequence[dict[str, Any]], names: dict[str, str]) -> Iterable[list[str]]:
    for row in rows:
        for key, entry in row["measured"].items():
            if entry["status"] != "ok":
                yield [row["title"], str(row["threads"]), names[key], entry["why"]]
        if "noise_why" in row:
            yield [row["title"], str(row["threads"]), "A/A", row["noise_why"]]


def _tuning(entries: Sequence[dict[str, Any]]) -> Table:
    body = []
    for entry in entries:
        points = entry.get("points") or []
        best = f"{points[-1][1]:.3g}" if points else "-"
        seconds = f"{entry['seconds']:.0f}" if entry.get("seconds") is not None else "-"
        why = entry.get("why") or ""
        body.append([entry["title"], entry["participant"], best, seconds, why])
    return "Tuning", ["operator", "tuner", "best ms", "seconds", "remark"], body


def _time(entry: dict[str, Any]) -> str:
    return f"{entry['median_ms']:.4g}" if entry["status"] == "ok" else "failed"


def _ratio(entry: dict[str, Any] | None) -> str:
    if not entry:
        return "-"
    ratio, low, high = entry["ratio"], entry["low"], entry["high"]
    wide = max(high / ratio, ratio / low) - 1 > WIDE
    digits = 3 if ratio >= 0.1 else 4
    return f"{ratio:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]{'~' if wide else ''}"


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.0e}"


def _plain(title: str, heads: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [heads, *rows]
    ]
    return "\n".join([title, "", *lines])
