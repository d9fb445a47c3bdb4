"""The plots of the page: ratios, shares of the roofline, quality over time."""

from __future__ import annotations

import math
from itertools import groupby, pairwise

from show.svg import Axis, Markup, Node, band, join, line, log_axis, mark, tag, text

MISSING = "—"
LANE = 11  # Pixels from one participant's line to the next.
AXIS_HEIGHT = 18
# A share above this is drawn at the edge, with its number: data that stayed in a cache
# can pass the measured bandwidth of the memory many times over.
SHARE_LIMIT = 1.5
SMALL = (330, 190)  # Width and height of a plot of quality over time.
SMALL_LEFT, SMALL_BOTTOM = 44, 34


def positive(value: object) -> float | None:
    """The value if it can stand on a logarithmic axis."""
    number = isinstance(value, int | float) and math.isfinite(value) and value > 0
    return float(value) if number else None


def digits(value: float | None) -> str:
    """Three significant digits, without an exponent where a reader can do without."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0 or 0.001 <= abs(value) < 100:
        places = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{places}f}" if abs(value) < 99.95 else f"{value:.0f}"
    return f"{value:,.0f}" if 100 <= abs(value) < 1e7 else f"{value:.1e}"


def interval(entry: dict | None) -> str:
    """Ratio [low, high]."""
    if not entry or positive(entry.get("ratio")) is None:
        return MISSING
    ratio, low, high = (_ratio(positive(entry.get(key))) for key in ("ratio", "low", "high"))
    return f"{ratio} [{low}, {high}]"


def error(value: float | None) -> str:
    """An error against the reference, or that it is not known."""
    number = isinstance(value, int | float)
    return f"err {MISSING}" if not number else f"err {value:.1e}".replace("e-0", "e-")


def _ratio(value: float | None) -> str:
    return f"{value:.3f}" if value is not None and 0.1 <= value < 10 else digits(value)


def plain(value: float) -> str:
    """A round number, as a tick has it."""
    return (
        f"{value:.0e}" if value < 1e-4 or value >= 1e6 else f"{value:.12f}".rstrip("0").strip(".")
    )


def threads_title(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"


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


def _ends(row: dict) -> list[float]:
    entries = [*(row.get("ratios") or {}).values(), row.get("noise") or {}]
    found = (positive(e.get(key)) for e in entries for key in ("ratio", "low", "high"))
    return [v for v in found if v is not None]


def ratio_axis(rows: list[dict]) -> Axis:
    """One axis for all thread counts of a suite, so that their plots compare by eye."""
    return log_axis([0.5, 2.0] + [v for row in rows for v in _ends(row)])


def ratio_plot(rows: list[dict], axis: Axis, names: dict[str, str], styles: dict) -> Markup:
    """A row for each case, a line in it for each peer: marker, whisker, noise as a band."""
    peers = list(names)
    head = _axis_track(axis, "ratio, logarithmic: the peer's time / the time of aoe")
    sides = tag("span", "← peer faster", tag("br"), "aoe faster →", class_="dim")
    lines = [_plot_row(sides, head, "row axis")]
    height = LANE * max(len(peers), 2) + 4
    for row in rows:
        marks = _grid(axis, height)
        noise = row.get("noise") or {}
        low, high = positive(noise.get("low")), positive(noise.get("high"))
        if low and high:
            marks.insert(0, band("noise", axis, low, high, height, f"A/A: {interval(noise)}"))
        drawn = [k for k in peers if positive((row.get("ratios") or {}).get(k, {}).get("ratio"))]
        for lane, key in enumerate(peers):
            if key in drawn:
                y = LANE * lane + LANE / 2 + 2
                title = f"{row.get('title') or row.get('case')}, {names[key]}"
                marks.append(_whisker(axis, row["ratios"][key], styles[key], y, title))
        if not drawn:
            failed = (row.get("measured") or {}).get("aoe", {}).get("status") not in (None, "ok")
            reason = "no ratio: aoe failed" if failed else "no ratio"
            marks.append(text("tick", "3%", height / 2 + 4, reason, "start"))
        title = row.get("title") or row.get("case", "")
        track = tag("svg", marks, class_="track", height=height, role="img", aria_label=title)
        lines.append(_plot_row(title, track))
    return tag("div", lines, class_="plot")


def _whisker(axis: Axis, entry: dict, style: int, y: float, title: str) -> Markup:
    """Hollow if the interval covers 1: then no difference was shown."""
    ratio = entry["ratio"]
    low = positive(entry.get("low")) or ratio
    high = positive(entry.get("high")) or ratio
    whisker = line(f"whisker p{style}", axis.percent(low), y, axis.percent(high), y)
    marker = mark(style, axis.percent(ratio), y, f"{title}: {interval(entry)}", low <= 1 <= high)
    return join(whisker, marker)


def roofline_share(row: dict, entry: dict, peak: dict) -> float | None:
    """Achieved / attainable, where attainable = min(peak, intensity * bandwidth).

    That quotient is the larger of the shares of peak and of bandwidth."""
    ms = positive(entry.get("median_ms"))
    pairs = (("flops", "gflops"), ("bytes", "gbps"))
    shares = [
        amount / (ms * 1e6) / limit
        for work, rate in pairs
        if ms and (amount := positive(row.get(work))) and (limit := positive(peak.get(rate)))
    ]
    return max(shares, default=None)


def share_plot(rows: list[dict], peak: dict, names: dict[str, str], styles: dict) -> Markup:
    """A row for each operator, under the heading of its family; a marker for each participant."""
    keys = [k for k in names if any(k in (row.get("measured") or {}) for row in rows)]
    shares = {
        (index, key): roofline_share(row, (row.get("measured") or {}).get(key, {}), peak)
        for index, row in enumerate(rows)
        for key in keys
    }
    found = [s for s in shares.values() if s is not None]
    if not found:
        return tag("p", "No share: this file lacks the peak, or what the operators took.")
    axis = Axis(0, 1.0 if max(found) <= 1 else SHARE_LIMIT, log=False)
    lines: list[Node] = []
    height = 6 * max(len(keys), 2) + 6
    numbered = sorted(enumerate(rows), key=lambda pair: _family_order(rows, pair[1]))
    for family, group in groupby(numbered, key=lambda pair: pair[1].get("family") or "other"):
        head = _axis_track(axis, "share of the attainable roofline", percent=True)
        lines.append(_plot_row(tag("strong", family), head, "row axis"))
        for index, row in group:
            title = row.get("title") or row.get("case", "")
            marks = _grid(axis, height)
            beyond = [f"{100 * s:.0f}" for k in keys if (s := shares[index, k] or 0) > axis.high]
            if beyond:
                label = f"{', '.join(beyond)} % →"
                marks.append(text("beyond", "94%", height / 2 + 4, label, "end"))
            # aoe comes first in the list and is drawn last, above the others.
            for lane, key in reversed(list(enumerate(keys))):
                share = shares[index, key]
                if share is not None:
                    y = 6 * lane + 6
                    hint = f"{title}, {names[key]}: {100 * share:.3g} %"
                    marks.append(mark(styles[key], axis.percent(share), y, hint))
            track = tag("svg", marks, class_="track", height=height, role="img", aria_label=title)
            lines.append(_plot_row(title, track))
    return tag("div", lines, class_="plot")


def _family_order(rows: list[dict], row: dict) -> int:
    """Families in the order of their first operator."""
    families = list(dict.fromkeys(r.get("family") or "other" for r in rows))
    return families.index(row.get("family") or "other")


def quality_plot(entries: list[dict], names: dict[str, str], styles: dict) -> Markup:
    """Best time so far over the seconds spent, as steps: it stays until something better comes."""
    points = [p for e in entries for p in improvements(e)]
    if not points:
        return Markup("")
    ends = [positive(e.get("seconds")) for e in entries if improvements(e)]
    x_axis = log_axis([x for x, _ in points] + [end for end in ends if end])
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
        end = max(positive(entry.get("seconds")) or 0, found[-1][0])
        corners = [found[0], *((b[0], a[1]) for a, b in pairwise(found)), *found[1:]]
        corners = sorted([*corners, (end, found[-1][1])], key=lambda p: (p[0], -p[1]))
        path = " ".join(f"{x_of(x)},{y_of(y)}" for x, y in corners)
        style = styles[entry.get("participant", "")]
        drawn.append(tag("polyline", class_=f"steps p{style}", points=path))
        name = names[entry.get("participant", "")]
        hints = [(p, f"{name}: {digits(p[1])} ms after {digits(p[0])} s") for p in found]
        drawn += [mark(style, x_of(p[0]), y_of(p[1]), hint) for p, hint in hints]
    box = f"0 0 {SMALL[0]} {SMALL[1]}"
    return tag("svg", drawn, viewBox=box, class_="quality", role="img", aria_label="best time")


def improvements(entry: dict) -> list[tuple[float, float]]:
    """The points at which the best time fell, in the order of time."""
    found: list[tuple[float, float]] = []
    for x, y in sorted((x, y) for x, y in entry.get("points") or [] if positive(x) and positive(y)):
        if not found or y < found[-1][1]:
            found.append((x, y))
    return found
