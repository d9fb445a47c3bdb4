"""The plots of the page: ratios, shares of the roofline, quality over time."""

from __future__ import annotations

from itertools import groupby, pairwise

from peers import OURS

from show import words
from show.svg import Axis, Markup, Node, band, join, line, log_axis, mark, tag, text

LANE = 11  # Pixels from one participant's line to the next.
AXIS_HEIGHT = 18
# A share above this is drawn at the edge, with its number: data that stayed in a cache
# can pass the measured bandwidth of the memory many times over.
SHARE_LIMIT = 1.5
SMALL = (330, 190)  # Width and height of a plot of quality over time.
SMALL_LEFT, SMALL_BOTTOM = 44, 34


def plain(value: float) -> str:
    """A round number, as a tick has it."""
    return (
        f"{value:.0e}" if value < 1e-4 or value >= 1e6 else f"{value:.12f}".rstrip("0").strip(".")
    )


def legend(names: dict[str, str], styles: dict[str, int]) -> Markup:
    """The participants with their markers."""
    items = []
    for key, name in names.items():
        sample = tag("svg", mark(styles[key], 7, 7), width=14, height=14, aria_hidden="true")
        items.append(tag("li", sample, " ", name))
    return tag("ul", items, class_="legend")


def _axis_track(axis: Axis, label: str, percent: bool = False) -> Markup:
    ticks = [
        text("tick", axis.percent(v), 13, f"{100 * v:g} %" if percent else plain(v))
        for v in axis.ticks()
    ]
    return tag("svg", ticks, class_="track", height=AXIS_HEIGHT, role="img", aria_label=label)


def _grid(axis: Axis, height: float) -> list[Node]:
    """Lines at the ticks, with the one at 1 stronger."""
    return [
        line("one" if abs(v - 1) < 1e-9 else "grid", axis.percent(v), 0, axis.percent(v), height)
        for v in axis.ticks()
    ]


def _plot_row(label: Node, track: Markup, kind: str = "row") -> Markup:
    return tag("div", tag("div", label, class_="label"), track, class_=kind)


def ratio_axis(rows: list[dict]) -> Axis:
    """One axis for all thread counts of a suite, so that their plots compare by eye."""
    entries = [e for row in rows for e in row.get("ratios", {}).values()]
    entries += [row["noise"] for row in rows if "noise" in row]
    return log_axis([0.5, 2.0, *(e[end] for e in entries for end in ("low", "high"))])


def ratio_plot(rows: list[dict], axis: Axis, names: dict[str, str], styles: dict) -> Markup:
    """A row for each case, a line in it for each peer: marker, whisker, noise as a band."""
    head = _axis_track(axis, "ratio, logarithmic: the peer's time / the time of aoe")
    sides = tag("span", "← peer faster", tag("br"), "aoe faster →", class_="dim")
    lines = [_plot_row(sides, head, "row axis")]
    height = LANE * max(len(names), 2) + 4
    for row in rows:
        marks = _grid(axis, height)
        title, ratios = row["title"], row.get("ratios", {})
        if noise := row.get("noise"):
            hint = f"A/A: {words.ratio(noise)}"
            marks.insert(0, band("noise", axis, noise["low"], noise["high"], height, hint))
        for lane, key in enumerate(names):
            if key in ratios:
                y = LANE * lane + LANE / 2 + 2
                marks.append(_whisker(axis, ratios[key], styles[key], y, f"{title}, {names[key]}"))
        if not ratios:
            failed = row["measured"][OURS]["status"] != "ok"
            reason = "no ratio: aoe failed" if failed else "no ratio"
            marks.append(text("tick", "3%", height / 2 + 4, reason, "start"))
        track = tag("svg", marks, class_="track", height=height, role="img", aria_label=title)
        lines.append(_plot_row(title, track))
    return tag("div", lines, class_="plot")


def _whisker(axis: Axis, entry: dict, style: int, y: float, title: str) -> Markup:
    """Hollow if the interval covers 1: then no difference was shown."""
    low, high = entry["low"], entry["high"]
    whisker = line(f"whisker p{style}", axis.percent(low), y, axis.percent(high), y)
    hint = f"{title}: {words.ratio(entry)}"
    return join(whisker, mark(style, axis.percent(entry["ratio"]), y, hint, low <= 1 <= high))


def share_plot(rows: list[dict], names: dict[str, str], styles: dict) -> Markup:
    """A row for each operator, under the heading of its family; a marker for each participant."""
    shares = {
        (index, key): share
        for index, row in enumerate(rows)
        for key, entry in row["measured"].items()
        if entry["status"] == "ok" and (share := words.roofline_share(row, entry)) is not None
    }
    keys = list(names)
    if not shares:
        return tag("p", "No share: nothing ran, or the work of the operators is not known.")
    axis = Axis(0, 1.0 if max(shares.values()) <= 1 else SHARE_LIMIT, log=False)
    lines: list[Node] = []
    height = 6 * max(len(keys), 2) + 6
    numbered = sorted(enumerate(rows), key=lambda pair: _family_order(rows, pair[1]))
    for family, group in groupby(numbered, key=lambda pair: pair[1]["family"]):
        head = _axis_track(axis, "share of the attainable roofline", percent=True)
        lines.append(_plot_row(tag("strong", family), head, "row axis"))
        for index, row in group:
            title, marks = row["title"], _grid(axis, height)
            found = {key: shares[index, key] for key in keys if (index, key) in shares}
            beyond = [f"{100 * share:.0f}" for share in found.values() if share > axis.high]
            if beyond:
                label = f"{', '.join(beyond)} % →"
                marks.append(text("beyond", "94%", height / 2 + 4, label, "end"))
            # aoe comes first in the list and is drawn last, above the others.
            for lane, key in reversed(list(enumerate(keys))):
                if key in found:
                    hint = f"{title}, {names[key]}: {100 * found[key]:.3g} %"
                    marks.append(mark(styles[key], axis.percent(found[key]), 6 * lane + 6, hint))
            track = tag("svg", marks, class_="track", height=height, role="img", aria_label=title)
            lines.append(_plot_row(title, track))
    return tag("div", lines, class_="plot")


def _family_order(rows: list[dict], row: dict) -> int:
    """Families in the order of their first operator."""
    return [r["family"] for r in rows].index(row["family"])


def quality_plot(entries: list[dict], names: dict[str, str], styles: dict) -> Markup:
    """Best time so far over the seconds spent, as steps: it stays until something better comes."""
    points = [p for e in entries for p in improvements(e)]
    if not points:
        return Markup("")
    ends = [entry["seconds"] for entry in entries if entry["points"]]
    x_axis = log_axis([x for x, _ in points] + ends)
    y_axis = log_axis([y for _, y in points])
    width, height = SMALL[0] - SMALL_LEFT, SMALL[1] - SMALL_BOTTOM

    def x_of(seconds: float) -> float:
        return round(SMALL_LEFT + x_axis.at(seconds) * width, 1)

    def y_of(ms: float) -> float:
        return round((1 - y_axis.at(ms)) * height, 1)

    drawn = [line("grid", x_of(v), 0, x_of(v), height) for v in x_axis.ticks()]
    drawn += [line("grid", SMALL_LEFT, y_of(v), SMALL[0], y_of(v)) for v in y_axis.ticks()]
    drawn += [text("tick", x_of(v), height + 14, plain(v)) for v in x_axis.ticks()]
    drawn += [text("tick", SMALL_LEFT - 5, y_of(v) + 4, plain(v), "end") for v in y_axis.ticks()]
    drawn.append(text("tick", SMALL_LEFT + width / 2, SMALL[1] - 5, "seconds spent"))
    drawn.append(text("tick", SMALL_LEFT - 5, height + 14, "ms", "end"))
    for entry in entries:
        found = improvements(entry)
        if not found:
            continue
        corners = [found[0], *((b[0], a[1]) for a, b in pairwise(found)), *found[1:]]
        corners = sorted([*corners, (entry["seconds"], found[-1][1])], key=lambda p: (p[0], -p[1]))
        path = " ".join(f"{x_of(x)},{y_of(y)}" for x, y in corners)
        style, name = styles[entry["participant"]], names[entry["participant"]]
        drawn.append(tag("polyline", class_=f"steps p{style}", points=path))
        hints = [
            (p, f"{name}: {words.digits(p[1])} ms after {words.digits(p[0])} s") for p in found
        ]
        drawn += [mark(style, x_of(p[0]), y_of(p[1]), hint) for p, hint in hints]
    box = f"0 0 {SMALL[0]} {SMALL[1]}"
    return tag("svg", drawn, viewBox=box, class_="quality", role="img", aria_label="best time")


def improvements(entry: dict) -> list[tuple[float, float]]:
    """The points at which the best time fell, in the order of time."""
    found: list[tuple[float, float]] = []
    for seconds, ms in entry["points"]:
        if not found or ms < found[-1][1]:
            found.append((seconds, ms))
    return found
