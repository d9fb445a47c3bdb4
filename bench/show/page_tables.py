"""The tables of the page, and the lists of what failed."""

from __future__ import annotations

from collections.abc import Callable

from show import words
from show.svg import Markup, Node, tag
from show.words import MISSING, digits

CASES_TEXT = (
    "Each cell: median of the rounds; hover for the fastest single call and the time to load. "
    f"Bold: the smallest median of the row. {words.RATIO_TEXT} {words.NOISE_TEXT} "
    f"{words.ERROR_TEXT}"
)
SUMMARY_TEXT = (
    "Geometric means of the ratios of all cases of a suite. Operators in the shapes of the models "
    "(original) and those with a larger batch, to be long enough to time (enlarged), also have "
    f"means of their own. {words.RATIO_TEXT}"
)
RATIO_HEADS: list[Node] = [f"{words.FASTER} / aoe", "A/A", "rounds"]


def duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def link(address: str) -> Markup:
    """A link, or its text alone if it leads to anything but the web."""
    if address.startswith(("https://", "http://")):
        return tag("a", address, href=address)
    return tag("span", address)


def table(header: list[Node], lines: list[list[Node]]) -> Markup:
    """The cells are contents, or whole `td` elements."""
    head = tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in header]))
    rows = [tag("tr", [_cell(cell) for cell in line]) for line in lines]
    return tag("div", tag("table", head, tag("tbody", rows)), class_="scroll")


def _cell(content: Node) -> Markup:
    whole = isinstance(content, Markup) and content.startswith("<td")
    return content if whole else tag("td", content)


def _name_cell(row: dict) -> Markup:
    """The title, and below it the name that the command takes."""
    below = f"{row['case']}, {row['family']}" if "family" in row else row["case"]
    if row.get("scale", 1) > 1:
        below += f", batch enlarged {words.enlarged(row)}"
    return tag("td", row["title"], tag("small", below))


def _timed(names: dict[str, str], unit: str) -> list[Node]:
    return [[name, tag("small", unit)] for name in names.values()]


def _time_cells(
    row: dict, names: dict[str, str], unit: str, details: Callable[[dict], Node]
) -> list[Node]:
    """A cell for each participant: its median, and below it what `details` makes of it."""
    measured = row["measured"]
    medians = [entry["median_ms"] for entry in measured.values() if entry["status"] == "ok"]
    scale = 1000 if unit == "µs" else 1
    cells: list[Node] = []
    for key in names:
        entry = measured.get(key)
        if entry is None:
            cells.append(MISSING)
        elif entry["status"] != "ok":
            cells.append(tag("td", entry["status"], title=entry["why"]))
        else:
            median = entry["median_ms"]
            hint = f"fastest call {digits(entry['min_ms'] * scale)} {unit}"
            hint += f", loaded in {digits(entry['load_s'])} s"
            kind = "fastest" if median == min(medians) else None
            shown = tag("span", digits(median * scale), class_=kind)
            cells.append(tag("td", shown, tag("small", details(entry)), title=hint))
    return cells


def _ratio_cells(row: dict, names: dict[str, str]) -> list[Node]:
    """Against whom the row is compared, with what precision, in how many rounds."""
    best, noise = row.get("best"), row.get("noise")
    return [
        _ratio_cell(best, names[best["peer"]] if best else ""),
        _ratio_cell(noise, names[noise["of"]] if noise else ""),
        row["rounds"],
    ]


def _ratio_cell(entry: dict | None, below: str) -> Markup:
    """The ratio, its interval below it, and what is said of both."""
    middle, space, interval = words.ratio(entry).partition(" ")
    bounds = tag("span", interval, class_="bounds")
    return tag("td", middle, space, bounds, tag("small", below))


def _error(entry: dict) -> str:
    return f"err {words.error(entry['error'])}"


def cases(rows: list[dict], names: dict[str, str], unit: str) -> Markup:
    """Models: times with errors, and the ratios."""
    lines = [
        [_name_cell(row), *_time_cells(row, names, unit, _error), *_ratio_cells(row, names)]
        for row in rows
    ]
    return table(["case", *_timed(names, unit), *RATIO_HEADS], lines)


def operators(rows: list[dict], names: dict[str, str]) -> Markup:
    """Operators: times with the rates they come to, errors, and the ratios."""
    lines = []
    for row in rows:

        def rates(entry: dict, row: dict = row) -> Node:
            found: list[Node] = []
            for amount, unit in ((row["flops"], "GFLOP/s"), (row["bytes"], "GB/s")):
                if amount:
                    found += [f"{digits(amount / entry['median_ms'] / 1e6)} {unit}", tag("br")]
            return [*found, _error(entry)]

        cells = _time_cells(row, names, "ms", rates)
        lines.append([_name_cell(row), *cells, *_ratio_cells(row, names)])
    return table(["operator", *_timed(names, "ms"), *RATIO_HEADS], lines)


def failures(rows: list[dict], names: dict[str, str]) -> Node:
    """Who failed, why and where; one line for all cases that failed alike."""
    found: dict[tuple[str, str], list[str]] = {}
    for row, who, why in words.failures(rows, names):
        found.setdefault((who, why), []).append(row["title"])
    items = [
        tag("li", tag("strong", who), f": {why} ", tag("small", f"({', '.join(where)})"))
        for (who, why), where in found.items()
    ]
    return tag("ul", items, class_="failures") if items else None


def tuned(entry: dict, row: dict, names: dict[str, str]) -> str:
    """How far a participant came, or why it did not."""
    name, found = names[entry["participant"]], row["measured"][entry["participant"]]
    if found["status"] != "ok":
        return f"{name}: {found['status']}: {found['why']}"
    best = found["median_ms"]
    rate = f"{digits(entry['flops'] / best / 1e6)} GFLOP/s"
    rate += f", {words.algorithm(entry)}" if "algorithms" in entry else ""
    spent = f"{digits(entry['seconds'])} s, {entry['trials']} trials"
    points = [ms for _, ms in entry["points"]]
    # The luckiest of many.
    seen = f"; as the tuner saw it {digits(min(points))} ms" if points else ""
    return f"{name}: {digits(best)} ms ({rate}) in {spent}{seen}; {_error(found)}"


def tuned_ratios(row: dict, names: dict[str, str]) -> list[str]:
    """What was found by one tuner against what was found by ours, and the noise of that."""
    ratios = row.get("ratios", {}).items()
    found = [f"{names[key]} / aoe: {words.ratio(ratio)}" for key, ratio in ratios]
    return [*found, f"A/A: {words.ratio(row['noise'])}"] if "noise" in row else found


def _pivot(entries: list[dict], labels: dict[str, str]) -> Markup:
    """A line for each suite and thread count, a column for each peer."""
    lines: dict[tuple[str, int], dict[str, dict]] = {}
    for entry in entries:
        lines.setdefault((entry["suite"], entry["threads"]), {})[entry["peer"]] = entry
    peers = [key for key in labels if any(key in line for line in lines.values())]
    cells = [
        [
            tag("td", words.MEANS[suite], tag("small", words.threads(threads))),
            *(_mean_cell(line.get(peer)) for peer in peers),
        ]
        for (suite, threads), line in lines.items()
    ]
    return table(["suite", *(labels[peer] for peer in peers)], cells)


def _mean_cell(entry: dict | None) -> Markup:
    count = entry["rows"] if entry else 0
    return _ratio_cell(entry, {0: "", 1: "1 case"}.get(count, f"{count} cases"))


def summary(results: dict, names: dict[str, str]) -> Node:
    """The ratios over whole suites."""
    entries = [entry for entry in words.means(results) if entry["peer"] != "noise"]
    if not entries:
        return None
    labels = {"best": f"{words.FASTER} / aoe", "best_to_strassen": f"{words.FASTER} / aoe strassen"}
    body = _pivot(entries, labels | {key: f"{name} / aoe" for key, name in names.items()})
    text = tag("p", SUMMARY_TEXT, class_="dim")
    return tag("section", tag("h2", "Summary"), text, body, id="summary")


def noise(results: dict) -> Markup:
    entries = [entry for entry in words.means(results) if entry["peer"] == "noise"]
    if not entries:
        return tag("p", "This file has no A/A ratios.")
    return _pivot(entries, {"noise": "A/A, median of the rows"})
