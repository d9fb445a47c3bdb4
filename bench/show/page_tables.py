"""The tables of the page, and the lists of what failed."""

from __future__ import annotations

from show.plots import MISSING, digits, error, interval, positive, threads_title
from show.svg import Markup, Node, tag

# Beyond it a run should be repeated for longer, or at a quieter time.
WIDE = 0.02
CASES_TEXT = (
    "Each cell: median of the rounds; hover for the fastest round and the time to load. Bold: the "
    "smallest median of the row. Ratio: to the faster of ONNX Runtime and OpenVINO, with its 99 % "
    "interval; † its half-width is above 2 %. err: the largest error against a reference in f64."
)


def participant_names(results: dict) -> dict[str, str]:
    """Every participant the file speaks of, aoe first, with the name that readers know."""
    known = results.get("participants") or {}
    keys = ["aoe"] if "aoe" in known else []
    keys += known
    for row in results.get("rows") or []:
        keys += row.get("measured") or {}
        keys += row.get("ratios") or {}
    keys += [entry.get("participant", "") for entry in results.get("tuning") or []]
    return {key: (known.get(key) or {}).get("name") or key for key in dict.fromkeys(keys)}


def duration(seconds: float | None) -> str | None:
    if not positive(seconds):
        return None
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


def _ratio_cell(entry: dict | None, names: dict[str, str]) -> Markup:
    if not entry:
        return tag("td", MISSING)
    low, high = positive(entry.get("low")), positive(entry.get("high"))
    ratio = positive(entry.get("ratio"))
    wide = low and high and ratio and (high - low) / 2 > WIDE * ratio
    peer = names.get(entry.get("peer"), entry.get("peer"))
    return tag("td", interval(entry), " †" if wide else None, tag("small", peer) if peer else None)


def _name_cell(row: dict) -> Markup:
    """The title, and below it the name that the command takes."""
    case = row.get("case", "")
    below = ", ".join(part for part in (case, row.get("family")) if part)
    return tag("td", row.get("title") or case, tag("small", below))


def _timed(names: dict[str, str], unit: str) -> list[Node]:
    return [[name, tag("small", unit)] for name in names.values()]


def _time_cells(row: dict, names: dict[str, str], unit: str, details) -> list[Node]:
    """A cell for each participant: its median, and below it what `details` makes of it."""
    measured = row.get("measured") or {}
    medians = {key: positive(entry.get("median_ms")) for key, entry in measured.items()}
    fastest = min((m for m in medians.values() if m), default=None)
    scale = 1000 if unit == "µs" else 1
    cells: list[Node] = []
    for key in names:
        entry, median = measured.get(key) or {}, medians.get(key)
        if median is None:
            cells.append(tag("td", entry.get("status") or MISSING, title=entry.get("why")))
            continue
        least, load = positive(entry.get("min_ms")), positive(entry.get("load_s"))
        hint = f"fastest round {digits(least * scale) if least else MISSING} {unit}"
        hint += f", loaded in {digits(load)} s" if load else ""
        small = tag("small", details(entry))
        kind = "fastest" if median == fastest else None
        cells.append(tag("td", tag("span", digits(median * scale), class_=kind), small, title=hint))
    return cells


def cases(rows: list[dict], names: dict[str, str], unit: str) -> Markup:
    """Models: times with errors, and the ratio to the best peer."""
    used = {k: n for k, n in names.items() if any(k in (r.get("measured") or {}) for r in rows)}
    lines = [
        [
            _name_cell(row),
            *_time_cells(row, used, unit, lambda entry: error(entry.get("error"))),
            _ratio_cell(row.get("best"), names),
            row.get("rounds", MISSING),
        ]
        for row in rows
    ]
    header = ["case", *_timed(used, unit), "best peer / aoe", "rounds"]
    return table(header, lines)


def operators(rows: list[dict], names: dict[str, str]) -> Markup:
    """Operators: times with the rates they come to, errors, and the ratio to the best peer."""
    lines = []
    for row in rows:
        flops, size = positive(row.get("flops")), positive(row.get("bytes"))

        def rates(entry: dict, flops: float | None = flops, size: float | None = size) -> Node:
            nanoseconds = entry["median_ms"] * 1e6
            compute = [f"{digits(flops / nanoseconds)} GFLOP/s", tag("br")] if flops else None
            memory = [f"{digits(size / nanoseconds)} GB/s", tag("br")] if size else None
            return [compute, memory, error(entry.get("error"))]

        ratio = _ratio_cell(row.get("best"), names)
        cells = _time_cells(row, names, "ms", rates)
        lines.append([_name_cell(row), *cells, ratio, row.get("rounds", MISSING)])
    header = ["operator", *_timed(names, "ms"), "best peer / aoe", "rounds"]
    return table(header, lines)


def failures(rows: list[dict], names: dict[str, str]) -> Node:
    """Who failed, why and where; one line for all cases that failed alike."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for key, entry in (row.get("measured") or {}).items():
            if entry.get("status") != "ok":
                why = entry.get("why") or entry.get("status") or "no reason recorded"
                case = row.get("title") or row.get("case", "")
                found.setdefault((key, why), []).append(case)
    items = [
        tag("li", tag("strong", names[key]), f": {why} ", tag("small", f"({', '.join(where)})"))
        for (key, why), where in found.items()
    ]
    return tag("ul", items, class_="failures") if items else None


def tuned(entry: dict, names: dict[str, str]) -> str:
    """How far a participant came, or why it did not."""
    name = names[entry.get("participant", "")]
    points = [y for _, y in entry.get("points") or [] if positive(y)]
    if entry.get("status") != "ok" or not points:
        why = entry.get("why") or "no reason recorded"
        return f"{name}: {entry.get('status') or 'failed'}: {why}"
    best = min(points)
    flops = positive(entry.get("flops"))
    rate = f" ({digits(flops / best / 1e6)} GFLOP/s)" if flops else ""
    trials = f", {entry['trials']} trials" if entry.get("trials") else ""
    return f"{name}: {digits(best)} ms{rate} in {digits(positive(entry.get('seconds')))} s{trials}"


SUITE_NAMES = {
    "models": "models",
    "real": "real models",
    "operators": "operators",
    "call": "cost of a call",
}


def _pivot(rows: list[dict], names: dict[str, str]) -> Markup:
    """A line for each suite and thread count, a column for each peer."""
    lines: dict[tuple, dict[str, dict]] = {}
    for row in rows:
        line = lines.setdefault((row.get("suite", ""), row.get("threads", 1)), {})
        line[row.get("peer", "")] = row
    peers = list(dict.fromkeys(row.get("peer", "") for row in rows))
    cells = [
        [
            tag("td", SUITE_NAMES.get(suite, suite), tag("small", threads_title(threads))),
            *(_summary_cell(line.get(peer)) for peer in peers),
        ]
        for (suite, threads), line in lines.items()
    ]
    return table(["suite", *(names.get(peer, peer) for peer in peers)], cells)


def _summary_cell(row: dict | None) -> Markup:
    if not row:
        return tag("td", MISSING)
    count = row.get("rows")
    cases = None if count is None else tag("small", "1 case" if count == 1 else f"{count} cases")
    return tag("td", interval(row), cases)


def summary(results: dict, names: dict[str, str]) -> Node:
    """The ratios over whole suites."""
    rows = [row for row in results.get("summary") or [] if row.get("peer") != "noise"]
    if not rows:
        return None
    text = "Over all cases of a suite: the peer's time / the time of aoe, with its 99 % interval."
    body = _pivot(rows, {**names, "best": "faster of ONNX Runtime and OpenVINO"})
    return tag("section", tag("h2", "Summary"), tag("p", text, class_="dim"), body, id="summary")


def noise(results: dict) -> Markup:
    rows = [row for row in results.get("summary") or [] if row.get("peer") == "noise"]
    if not rows:
        return tag("p", "This file has no summary of A/A rows.")
    return _pivot(rows, {"noise": "A/A ratio"})


def plain(entries: list[dict]) -> Markup:
    """The entries as they are, a column for each key."""
    keys = list(dict.fromkeys(key for entry in entries for key in entry))
    return table(list(keys), [[str(entry.get(key, MISSING)) for key in keys] for entry in entries])
