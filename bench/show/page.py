"""Writes the results of a run as one HTML page that needs nothing else."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from show import page_tables as tables
from show import plots
from show.svg import Markup, Node, tag

STYLE = Path(__file__).with_name("page.css")
SUITES = {
    "models": ("Models", "ms", "Architectures with seeded weights, batch 1, f32."),
    "real": ("Real models", "ms", "Models as their publishers trained and exported them."),
    "call": ("The cost of a call", "µs", "A model that does nothing: what every call costs."),
}
HEAD_TEXT = (
    "Inference latency of ONNX models and of single operators in f32. Every participant runs in "
    "a process of its own with the settings its documentation recommends, on the same cores with "
    "the same number of threads; outputs are compared before anything is timed."
)
RATIO_TEXT = (
    "Ratio = the peer's time / the time of aoe, on a logarithmic axis: right of the line at 1 aoe "
    "is faster, left of it the peer is. Whisker: 99 % interval. Hollow: the interval covers 1, so "
    "no difference is shown. Grey band: the same participant measured against itself (A/A)."
)
ROOFLINE_TEXT = (
    "Attainable = min(peak, intensity * bandwidth) with the peak and bandwidth measured in this "
    "run at the same number of threads; intensity = operations / (bytes of inputs, weights and "
    "outputs). Above 100 %: the data stayed in a cache, which is faster than the memory, or the "
    "algorithm needs fewer operations than the definition counts, as Winograd's does."
)
NOISE_TEXT = (
    "All participants of a row take turns in random order, in many short rounds. A ratio is the "
    "ratio of paired medians of these interleaved rounds; its 99 % interval comes from order "
    "statistics and so supposes no distribution. In an A/A row both sides are the same "
    "participant: an interval there that does not cover 1 shows what the machine alone can feign."
)


def render(results: dict) -> str:
    """The page of a results file of the format `aoe-bench 1`."""
    names = tables.participant_names(results)
    # A marker belongs to a participant throughout the page.
    styles = {key: index for index, key in enumerate(names)}
    body = [
        _head(results, names),
        tables.summary(results, names),
        *(_suite(results, suite, names, styles) for suite in SUITES if suite != "call"),
        _operators(results, names, styles),
        _suite(results, "call", names, styles),
        _tuning(results, names, styles),
        _training(results),
        _settings(results, names),
        _noise(results),
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "aoe beside its peers, ", _day(results)),
        tag("style", Markup(STYLE.read_text(encoding="utf-8"))),
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", body), lang="en") + "\n"


def _day(results: dict) -> str:
    return str(results.get("date", "no date"))[:10]


def _section(identity: str, title: str, *content: Node) -> Markup:
    return tag("section", tag("h2", title), *content, id=identity)


def _head(results: dict, names: dict[str, str]) -> Markup:
    machine = results.get("machine") or {}
    caches = ", ".join(f"{level} {size}" for level, size in (machine.get("caches") or {}).items())
    parts = [f"{machine['cores']} cores" if "cores" in machine else "", machine.get("vector")]
    parts += [caches, machine.get("memory")]
    facts = {
        "Date": f"{results.get('date', 'not recorded')}",
        "Took": tables.duration(results.get("seconds")),
        "Processor": machine.get("processor") or "not recorded",
        "Machine": " · ".join(str(part) for part in parts if part),
        "System": machine.get("system"),
        "Peak, bandwidth": _peaks(machine.get("peak") or {}),
        "Command": tag("code", results["command"]) if results.get("command") else None,
        "Versions": ", ".join(_version(results, key, name) for key, name in names.items()),
    }
    pairs = [[tag("dt", term), tag("dd", fact)] for term, fact in facts.items() if fact]
    notes = [
        tag("p", tag("strong", f"In this file {name} is: {note}."), class_="note")
        for key, name in names.items()
        if (note := ((results.get("participants") or {}).get(key) or {}).get("note"))
    ]
    if results.get("quick"):
        notes.append(tag("p", "A quick run: few rounds, wide intervals.", class_="note"))
    return tag(
        "header",
        tag("h1", "aoe beside its peers on one processor"),
        tag("p", HEAD_TEXT),
        notes,
        tag("dl", pairs, class_="facts"),
    )


def _version(results: dict, key: str, name: str) -> str:
    version = ((results.get("participants") or {}).get(key) or {}).get("version")
    return f"{name} {version or '(version not recorded)'}"


def _peaks(peak: dict) -> Node:
    texts = [
        f"{plots.threads_title(int(threads))}: {plots.digits(rates.get('gflops'))} GFLOP/s, "
        f"{plots.digits(rates.get('gbps'))} GB/s"
        for threads, rates in peak.items()
    ]
    return " · ".join(texts) + " (measured in this run)" if texts else "not measured"


def _by_threads(rows: list[dict]) -> list[tuple[int, list[dict]]]:
    ordered = sorted(rows, key=lambda row: row.get("threads", 1))
    return [(n, list(group)) for n, group in groupby(ordered, key=lambda r: r.get("threads", 1))]


def _rows(results: dict, suite: str) -> list[dict]:
    return [row for row in results.get("rows") or [] if row.get("suite") == suite]


def _suite(results: dict, suite: str, names: dict[str, str], styles: dict) -> Markup:
    """Ratios as plots, then the figures as tables."""
    title, unit, text = SUITES[suite]
    rows = _rows(results, suite)
    if not rows:
        return _section(suite, title, tag("p", "This file has no such measurements."))
    compared = {key for row in rows for key in row.get("ratios") or {}}
    peers = {key: name for key, name in names.items() if key in compared}
    axis = plots.ratio_axis(rows)
    figures, figures_text = [], []
    for threads, group in _by_threads(rows):
        heading = tag("h3", plots.threads_title(threads))
        plot = plots.ratio_plot(group, axis, peers, styles)
        figures.append(tag("div", heading, plot, tables.failures(group, names)))
        figures_text += [heading, tables.cases(group, names, unit)]
    return _section(
        suite,
        title,
        tag("p", text),
        tag("p", RATIO_TEXT, class_="dim"),
        plots.legend(peers, styles),
        tag("div", figures, class_="pair"),
        figures_text,
        tag("p", tables.CASES_TEXT, class_="dim"),
    )


def _operators(results: dict, names: dict[str, str], styles: dict) -> Markup:
    rows = _rows(results, "operators")
    if not rows:
        return _section("operators", "Operators", tag("p", "This file has no such measurements."))
    peak = (results.get("machine") or {}).get("peak") or {}
    used = {k: n for k, n in names.items() if any(k in (row.get("measured") or {}) for row in rows)}
    figures, figures_text = [], []
    for threads, group in _by_threads(rows):
        heading = tag("h3", plots.threads_title(threads))
        plot = plots.share_plot(group, peak.get(str(threads)) or {}, used, styles)
        figures.append(tag("div", heading, plot, tables.failures(group, names)))
        figures_text += [heading, tables.operators(group, used)]
    return _section(
        "operators",
        "Operators: share of the attainable roofline",
        tag("p", ROOFLINE_TEXT, class_="dim"),
        plots.legend(used, styles),
        tag("div", figures, class_="pair"),
        figures_text,
        tag("p", tables.CASES_TEXT, class_="dim"),
    )


def _tuning(results: dict, names: dict[str, str], styles: dict) -> Markup:
    entries = results.get("tuning") or []
    title = "Tuning: quality over time"
    if not entries:
        return _section("tuning", title, tag("p", "This file has no tuning measurements."))
    cases: dict[tuple, list[dict]] = {}
    for entry in entries:
        cases.setdefault((entry.get("case"), entry.get("threads", 1)), []).append(entry)
    figures = []
    for (case, threads), group in cases.items():
        name = group[0].get("title") or case or ""
        caption = tag("figcaption", f"{name}, {plots.threads_title(threads)}")
        ends = tag("ul", [tag("li", tables.tuned(entry, names)) for entry in group])
        figures.append(tag("figure", caption, plots.quality_plot(group, names, styles), ends))
    used = {k: n for k, n in names.items() if any(e.get("participant") == k for e in entries)}
    text = "The best time found so far against the seconds spent on tuning; both axes logarithmic."
    return _section(
        "tuning",
        title,
        tag("p", text, class_="dim"),
        plots.legend(used, styles),
        tag("div", figures, class_="tuned"),
    )


def _training(results: dict) -> Markup:
    entries = results.get("training") or []
    none = tag("p", "There are no training measurements in this file.")
    return _section("training", "Training", tables.plain(entries) if entries else none)


def _settings(results: dict, names: dict[str, str]) -> Markup:
    """What each participant was told, and the page that recommends it."""
    items: list[Node] = []
    for key, name in names.items():
        known = (results.get("participants") or {}).get(key) or {}
        links = [[tables.link(page), tag("br")] for page in known.get("documentation") or []]
        items.append(tag("h3", _version(results, key, name)))
        items.append(tag("p", known.get("settings") or "Settings not recorded in this file."))
        items.append(tag("p", links) if links else None)
    return _section("settings", "Settings of the participants", items)


def _noise(results: dict) -> Markup:
    return _section("noise", "Noise", tag("p", NOISE_TEXT), tables.noise(results))
