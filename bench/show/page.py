"""Writes the results of a run as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from show import page_tables as tables
from show import plots, tuned, words
from show.svg import Markup, Node, tag

STYLE = Path(__file__).with_name("page.css")
# With the unit of times.
SUITES = {
    "models": ("ms", "Architectures with seeded weights, batch 1, f32."),
    "real": ("ms", "Models as their publishers trained and exported them."),
    "narrow": ("ms", "Models in f16, and with products of 8-bit integers (QDQ)."),
    "call": ("µs", "A model that does nothing: what every call costs."),
}
HEAD_TEXT = (
    "Inference latency of ONNX models and of single operators in f32. Every participant runs in "
    "a process of its own with the settings its documentation recommends, on the same cores with "
    "the same number of threads; outputs are compared before anything is timed."
)
PLOT_TEXT = (
    "Ratio = the peer's time / the time of aoe, on a logarithmic axis: right of the line at 1 aoe "
    "is faster, left of it the peer is. Whisker: 99 % interval. Hollow: the interval covers 1, so "
    "no difference is shown. Grey band: the same participant measured against itself (A/A)."
)
ROOFLINE_TEXT = (
    "Attainable = min(peak, intensity * bandwidth) with the peak and bandwidth measured just "
    "before and after the row at the same number of threads; intensity = operations / (bytes of "
    "inputs, weights and outputs). Above 100 %: the data stayed in a cache, which is faster than "
    "the memory, or the algorithm needs fewer operations than the definition counts, as "
    "Winograd's does."
)
METHOD_TEXT = (
    "All participants of a row take turns in random order, in many short rounds. A ratio is the "
    "ratio of paired medians of these interleaved rounds; its 99 % interval comes from order "
    "statistics and so supposes no distribution. In an A/A row both sides are the same "
    "participant: an interval there that does not cover 1 is the A/A noise floor of the machine."
)
TUNING_TEXT = (
    "Curve: the best time so far, as the tuner itself measured it, against the seconds spent; "
    "both axes logarithmic. Below it the result: what the tuners found, measured again in "
    "interleaved rounds, since the best of many noisy measurements flatters. "
    f"{words.ALGORITHM_TEXT}"
)
TRAINING_TEXT = "There are no training measurements in this file."


def render(results: dict) -> str:
    """The page of a results file of the format `aoe-bench 2`."""
    names = {key: entry["name"] for key, entry in results["participants"].items()}
    # A marker belongs to a participant throughout the page.
    styles = {key: index for index, key in enumerate(names)}
    body = [
        _head(results),
        tables.summary(results, names),
        *(_suite(results, suite, names, styles) for suite in SUITES if suite != "call"),
        _operators(results, names, styles),
        _suite(results, "call", names, styles),
        _tuning(results, names, styles),
        _section("training", "Training", tag("p", TRAINING_TEXT)),
        _settings(results),
        _noise(results),
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"aoe beside its peers, {results['date'][:10]}"),
        tag("style", Markup(STYLE.read_text(encoding="utf-8"))),
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", body), lang="en") + "\n"


def _section(identity: str, title: str, *content: Node) -> Markup:
    return tag("section", tag("h2", title), *content, id=identity)


def _head(results: dict) -> Markup:
    machine, participants = results["machine"], results["participants"].values()
    caches = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    parts = [f"{machine['cores']} cores", machine["vector"], caches, machine["memory"]]
    facts = {
        "Date": results["date"],
        "Took": tables.duration(results["seconds"]),
        "Processor": machine["processor"],
        "Machine": " · ".join(part for part in parts if part),
        "System": machine["system"],
        "Peak, bandwidth": _peaks(machine["peak"]),
        "Command": tag("code", results["command"]),
        "Versions": ", ".join(_version(entry) for entry in participants if entry["version"]),
    }
    pairs = [[tag("dt", term), tag("dd", fact)] for term, fact in facts.items()]
    notes = [
        tag("p", tag("strong", f"The rows of {entry['name']} are of its {note}."), class_="note")
        for entry in participants
        if (note := entry.get("note"))
    ]
    if results["quick"]:
        notes.append(tag("p", "A quick run: few rounds, wide intervals.", class_="note"))
    return tag(
        "header",
        tag("h1", "aoe beside its peers on one processor"),
        tag("p", HEAD_TEXT),
        notes,
        tag("dl", pairs, class_="facts"),
    )


def _version(entry: dict) -> str:
    """With the version, which one that never started has not told."""
    return " ".join(part for part in (entry["name"], entry["version"]) if part)


def _peaks(peak: dict) -> str:
    texts = [
        f"{words.threads(int(threads))}: {words.digits(rates['gflops'])} GFLOP/s, "
        f"{words.digits(rates['gbps'])} GB/s"
        for threads, rates in peak.items()
    ]
    return " · ".join(texts) + " (measured in this run)" if texts else "not measured"


def _by_threads(rows: list[dict]) -> list[tuple[int, list[dict]]]:
    ordered = sorted(rows, key=lambda row: row["threads"])
    return [(n, list(group)) for n, group in groupby(ordered, key=lambda row: row["threads"])]


def _rows(results: dict, suite: str) -> list[dict]:
    return [row for row in results["rows"] if row["suite"] == suite]


def _used(rows: list[dict], names: dict[str, str]) -> dict[str, str]:
    return {key: name for key, name in names.items() if any(key in r["measured"] for r in rows)}


def _suite(results: dict, suite: str, names: dict[str, str], styles: dict) -> Markup:
    """Ratios as plots, then the figures as tables."""
    title, (unit, text) = words.TITLES[suite], SUITES[suite]
    rows = _rows(results, suite)
    if not rows:
        return _section(suite, title, tag("p", "This file has no such measurements."))
    used = _used(rows, names)
    compared = {key for row in rows for key in row.get("ratios", {})}
    peers = {key: name for key, name in names.items() if key in compared}
    axis = plots.ratio_axis(rows)
    return _section(
        suite,
        title,
        tag("p", text),
        tag("p", PLOT_TEXT, class_="dim"),
        plots.legend(peers, styles),
        _figures(
            rows,
            names,
            lambda threads, group: plots.ratio_plot(group, axis, peers, styles),
            lambda group: tables.cases(group, used, unit),
        ),
    )


def _figures(
    rows: list[dict],
    names: dict[str, str],
    plot: Callable[[int, list[dict]], Node],
    table: Callable[[list[dict]], Node],
) -> list[Node]:
    """For each number of threads a plot with those who failed, then the figures as a table."""
    plots_shown, tables_shown = [], []
    for threads, group in _by_threads(rows):
        heading = tag("h3", words.threads(threads))
        failed = tables.failures(group, names)
        plots_shown.append(tag("div", heading, plot(threads, group), failed))
        tables_shown += [heading, table(group)]
    explained = tag("p", tables.CASES_TEXT, class_="dim")
    return [tag("div", plots_shown, class_="pair"), tables_shown, explained]


def _operators(results: dict, names: dict[str, str], styles: dict) -> Markup:
    title, rows = words.TITLES["operators"], _rows(results, "operators")
    if not rows:
        return _section("operators", title, tag("p", "This file has no such measurements."))
    used = _used(rows, names)
    return _section(
        "operators",
        f"{title}: share of the attainable roofline",
        tag("p", ROOFLINE_TEXT, class_="dim"),
        plots.legend(used, styles),
        _figures(
            rows,
            names,
            lambda _, group: plots.share_plot(group, used, styles),
            lambda group: tables.operators(group, used),
        ),
    )


def _tuning(results: dict, names: dict[str, str], styles: dict) -> Markup:
    title = "Tuning: quality over time"
    if not tuned.rows(results):
        return _section("tuning", title, tag("p", "This file has no tuning measurements."))
    figures = []
    for row in tuned.rows(results):
        group = list(tuned.entries(results, row).values())
        caption = tag("figcaption", f"{row['title']}, {words.threads(row['threads'])}")
        ends = [tables.tuned(entry, row, names) for entry in group]
        ends += tables.tuned_ratios(row, names)
        listed = tag("ul", [tag("li", end) for end in ends])
        figures.append(tag("figure", caption, plots.quality_plot(group, names, styles), listed))
    drawn = {entry["participant"] for entry in results["tuning"] if entry["points"]}
    used = {key: name for key, name in names.items() if key in drawn}
    return _section(
        "tuning",
        title,
        tag("p", TUNING_TEXT, class_="dim"),
        plots.legend(used, styles),
        tag("div", figures, class_="tuned"),
    )


def _settings(results: dict) -> Markup:
    """What each participant was told, and the page that recommends it."""
    items: list[Node] = []
    for entry in results["participants"].values():
        links = [[tables.link(page), tag("br")] for page in entry["documentation"]]
        items += [tag("h3", _version(entry)), tag("p", entry["settings"]), tag("p", links)]
    return _section("settings", "Settings of the participants", items)


def _noise(results: dict) -> Markup:
    return _section("noise", "Noise", tag("p", METHOD_TEXT), tables.noise(results))
