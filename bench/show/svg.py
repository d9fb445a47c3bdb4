"""Marked-up text that is escaped by construction, axes, and the marks of plots."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

Node = "Markup | str | int | None | list[Node]"

# Of the width of a track, left free at both ends so that no mark is cut off.
MARGIN = 0.03
MOST_TICKS = 7
STEPS = (1, 2, 5)
VOID = {"meta", "br"}

# Closed outlines about the origin: each can be filled or hollow, and differs without colour.
SHAPES = (
    "M-4.5,0 a4.5,4.5 0 1,0 9,0 a4.5,4.5 0 1,0 -9,0 z",  # circle
    "M-4,-4 h8 v8 h-8 z",  # square
    "M0,-5.5 L5.5,0 L0,5.5 L-5.5,0 z",  # diamond
    "M0,-5 L5,4 L-5,4 z",  # triangle
    "M0,5 L5,-4 L-5,-4 z",  # triangle, point down
    "M-1.6,-5 h3.2 v3.4 h3.4 v3.2 h-3.4 v3.4 h-3.2 v-3.4 h-3.4 v-3.2 h3.4 z",  # plus
    "M-5.5,-2.5 h11 v5 h-11 z",  # bar
    "M-2.5,-5.5 h5 v11 h-5 z",  # upright bar
)


class Markup(str):
    """Text that is markup already; any other text is escaped where it enters a tag."""

    __slots__ = ()


def tag(name: str, /, *children: Node, **attributes: object) -> Markup:
    """An element. `class_` is the attribute class, `text_anchor` is text-anchor."""
    opened = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{opened}>" if name in VOID else f"<{opened}>{join(*children)}</{name}>")


def join(*children: Node) -> Markup:
    """The children one after the other; None is nothing."""
    parts = []
    for child in children:
        if isinstance(child, list):
            parts.append(join(*child))
        elif isinstance(child, Markup):
            parts.append(child)
        elif child is not None:
            parts.append(html.escape(str(child)))
    return Markup("".join(parts))


@dataclass(frozen=True)
class Axis:
    """Values from low to high as fractions of a length; what lies outside is put at the end."""

    low: float
    high: float
    log: bool = True

    def at(self, value: float) -> float:
        scale = math.log if self.log else float
        value = min(max(value, self.low), self.high)
        part = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return MARGIN + part * (1 - 2 * MARGIN)

    def percent(self, value: float) -> str:
        return f"{100 * self.at(value):.2f}%"

    def ticks(self) -> list[float]:
        if not self.log:
            step = next(s for s in (0.1, 0.2, 0.25, 0.5, 1) if self.high / s < MOST_TICKS)
            return [i * step for i in range(int(self.high / step + 1e-9) + 1)]
        first, last = (math.floor(math.log10(v * (1 + 1e-9))) for v in (self.low, self.high))
        found: list[float] = []
        for steps, stride in ((STEPS, 1), ((1,), 1), ((1,), 2), ((1,), 4)):
            decades = (d for d in range(first, last + 1) if d % stride == 0)
            values = [s * 10.0**d for d in decades for s in steps]
            found = [v for v in values if self.low * 0.999 <= v <= self.high * 1.001]
            if len(found) <= MOST_TICKS:
                break
        return found


def log_axis(values: list[float]) -> Axis:
    """The axis that holds the positive values, from one round number to another."""
    ladder = [s * 10.0**d for d in range(-12, 13) for s in STEPS]
    low, high = min(values), max(values)
    low = max((v for v in ladder if v <= low * (1 + 1e-9)), default=ladder[0])
    high = min((v for v in ladder if v >= high * (1 - 1e-9) and v > low), default=ladder[-1])
    return Axis(low, high)


def mark(style: int, x: str | float, y: float, title: str = "", hollow: bool = False) -> Markup:
    """The marker of a participant; x may be a percentage, so that a plot stretches."""
    kind = f"mark p{style % len(SHAPES)}" + (" hollow" if hollow else "")
    outline = tag("path", tag("title", title), d=SHAPES[style % len(SHAPES)], class_=kind)
    # A group cannot be moved by a percentage, a nested svg can.
    return tag("svg", outline, x=x, y=y, overflow="visible")


def line(kind: str, x1: str | float, y1: float, x2: str | float, y2: float) -> Markup:
    return tag("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)


def band(kind: str, axis: Axis, low: float, high: float, height: float, title: str) -> Markup:
    """A rectangle over the whole height of a track, wide enough to be seen."""
    start, end = axis.at(low), axis.at(high)
    width = f"{100 * max(end - start, 0.002):.2f}%"
    x = f"{100 * start:.2f}%"
    return tag(
        "rect", tag("title", title), class_=kind, x=x, y=0, width=width, height=f"{height:g}"
    )


def text(kind: str, x: str | float, y: float, content: str, anchor: str = "middle") -> Markup:
    return tag("text", content, class_=kind, x=x, y=y, text_anchor=anchor)
