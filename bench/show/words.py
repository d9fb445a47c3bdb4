"""The words and figures that the tables and the page share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

TUNING = "tuning"
TITLES = {
    "models": "Models",
    "real": "Models with trained weights",
    "narrow": "Models in narrower types",
    "operators": "Operators",
    "call": "The cost of a call",
    TUNING: "Tuned operators",
}
# Of geometric means: those of operators are over parts of the suite, too.
MEANS = TITLES | {
    "original": "Operators, original shapes",
    "enlarged": "Operators, enlarged batch",
    "operators": "Operators, all",
}
# The peers that run everything: the only ones that "the faster" is chosen from.
FASTER = "faster of ONNX Runtime, OpenVINO"
MISSING = "-"
# Beyond this the interval of a ratio says "measure again" rather than anything of the participants.
WIDE = 0.02
RATIO_TEXT = (
    "A ratio is the peer's time / the time of aoe, above 1 where aoe is faster, with its 99 % "
    f"interval; ~ marks one wider than {100 * WIDE:g} % to a side."
)
NOISE_TEXT = "A/A: the time of a second process of one participant / that of the first."
ALGORITHM_TEXT = (
    "The algorithm of a tuned kernel of aoe is direct, winograd or strassen; TVM's are all direct."
)
ERROR_TEXT = "An error (err) is against double precision, as a part of the largest output."


def roofline_share(row: dict, entry: dict, time: str = "median_ms") -> float | None:
    """Achieved / attainable, where attainable = min(peak, intensity * bandwidth).

    That quotient is the larger of the shares of peak and of bandwidth. Both of these are the best
    of several runs: beside the median, the share by the least time is of the same kind."""
    peak = row["peak"]
    pairs = ((row["flops"], peak["gflops"]), (row["bytes"], peak["gbps"]))
    shares = [amount / (entry[time] * 1e6) / limit for amount, limit in pairs if amount and limit]
    return max(shares, default=None)


def threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def digits(value: float) -> str:
    """Three significant digits, without an exponent where a reader can do without."""
    if value == 0 or 0.001 <= abs(value) < 100:
        places = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{places}f}" if abs(value) < 99.95 else f"{value:.0f}"
    return f"{value:,.0f}" if 100 <= abs(value) < 1e7 else f"{value:.1e}"


def ratio(entry: dict[str, Any] | None) -> str:
    """Ratio [low, high]; with a mark if it is unsure."""
    if entry is None:
        return MISSING
    middle, low, high = entry["ratio"], entry["low"], entry["high"]
    places = 3 if 0.1 <= middle < 10 else max(0, 2 - math.floor(math.log10(middle)))
    wide = max(high / middle, middle / low) - 1 > WIDE
    texts = [f"{value:.{places}f}" for value in (middle, low, high)]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]" + ("~" if wide else "")


def tuned(how: dict[str, Any] | None) -> str:
    """How the tuning before a row went."""
    if how is None:
        return MISSING
    gain_s = how["first_gain_s"]
    first = "none" if gain_s is None else f"the first after {gain_s:.0f} s"
    text = f"{how['seconds']:.0f} s, {how['trials']} tried; gains proven: {first}"
    counts = ", ".join(f"{name} {count}" for name, count in (how["algorithms"] or {}).items())
    return f"{text}; {counts}" if counts else text


def algorithm(entry: dict[str, Any]) -> str:
    """Of the kernel that a tuner found for an operator. Others around it, which change layouts,
    are direct."""
    counts = entry.get("algorithms")
    if not counts:
        return MISSING
    return ", ".join(name for name in counts if name != "direct") or "direct"


def enlarged(row: dict[str, Any]) -> str:
    """How much larger an operator's batch is than in the models."""
    return f"{row['scale']} x" if row.get("scale", 1) > 1 else MISSING


def error(value: float) -> str:
    return f"{value:.1e}".replace("e-0", "e-")


def failures(
    rows: Sequence[dict[str, Any]], names: dict[str, str]
) -> Iterable[tuple[dict[str, Any], str, str]]:
    """The row, who has no figure in it, and why."""
    for row in rows:
        for key, entry in row["measured"].items():
            if entry["status"] != "ok":
                yield row, names[key], entry["why"]
        if "noise_why" in row:
            yield row, "A/A", row["noise_why"]


def means(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The summary; of one row nothing: it says it all itself."""
    return [entry for entry in results["summary"] if entry["rows"] >= 2]
