"""The page of the benchmark: whole, escaped, self-contained, and true to the figures."""

import copy
import json
import re
from html.parser import HTMLParser

import pytest
import report
from bench_results import (
    PEAK,
    PEERS,
    TUNERS,
    failed,
    mean,
    ratio,
    row,
    time,
    tuned,
)
from bench_results import results as made
from show import page, plots
from show.svg import Axis, log_axis, tag
from show.words import roofline_share

VOID = {"meta", "br"}
HOSTILE = '</title><script>alert("1")</script>&<b x="'


@pytest.fixture
def results():
    rows = [row("models", f"model{i}", t) for t in (1, 2) for i in range(9)]
    rows += [row("operators", f"op{i}", t, family=f"f{i % 4}") for t in (1, 2) for i in range(40)]
    rows += [row("real", "published"), row("narrow", "half"), row("call", "identity")]
    rows[0]["measured"]["iree"] = failed("killed by signal 9 while timing")
    del rows[0]["ratios"]["iree"]
    means = [mean("models", peer, 0.5, 9) for peer in ("best", "noise")]
    tuners, found = tuned("gemm")
    return made([*rows, found], means, tuners)


class Checker(HTMLParser):
    """Fails on tags that do not nest; keeps what it saw."""

    def __init__(self, document):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(document)
        self.close()
        assert not self.open
        self.words = " ".join(self.text)

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *pair) for pair in attributes]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)


def checked(results):
    return Checker(page.render(results))


def words(results):
    return re.sub(r"\s+", " ", checked(results).words)


def elements(document, name, kind):
    """The attributes of all elements of a name and a class."""
    found = re.findall(rf"<{name} ([^>]*)>", document)
    pairs = [dict(re.findall(r'([\w-]+)="([^"]*)"', attributes)) for attributes in found]
    return [p for p in pairs if kind in p.get("class", "").split()]


def test_it_has_every_case_and_participant(results):
    found = checked(results)
    for entry in results["rows"]:
        assert entry["title"] in found.words
        assert re.search(rf"\b{entry['case']}\b", found.words)
    for index, (key, name) in enumerate((PEERS | TUNERS).items()):
        assert f"{name} 7.{index}" in found.words
        assert f"settings of {key}" in found.words
        assert ("a", "href", f"https://example.org/{key}") in found.attributes
    assert "A Processor" in found.words
    assert "no training measurements" in found.words


def test_every_measured_operator_has_a_mark(results):
    kinds = [v for _, k, v in checked(results).attributes if k == "class" and "mark p0" in v]
    # aoe: each operator's row and the legend; of what it tuned both points and their legend.
    assert len(kinds) == 80 + 1 + 2 + 1


def test_failures_say_why(results):
    found = words(results)
    assert "killed by signal 9 while timing" in found
    entry = results["rows"][0]
    entry["measured"]["aoe"] = failed("ran out of memory")
    for part in ("noise", "ratios", "best"):
        del entry[part]
    entry["noise_why"] = "second process of onnxruntime: killed by SIGKILL, while timing"
    found = words(results)
    assert "aoe : ran out of memory (Title of model0)" in found
    assert "no ratio: aoe failed" in found
    assert f"A/A : {entry['noise_why']} (Title of model0)" in found


def test_what_failed_while_timing_has_no_time():
    entry = row("operators", "alone", family="f")
    entry["measured"]["iree"] = time(0.001) | failed("killed")
    document = page.render(made([entry]))
    assert re.findall(r'class="fastest">([^<]*)<', document) == ["0.100"]
    assert len(elements(document, "path", "p3")) == 1  # The legend.


def test_the_note_of_a_participant_is_at_the_head(results):
    assert "reference evaluator" not in checked(results).words
    results["participants"]["aoe"]["note"] = "reference evaluator"
    words = checked(results).words
    assert words.index("reference evaluator") < words.index("Summary")


def test_a_participant_that_never_started_has_settings_but_no_version(results):
    results["participants"]["iree"]["version"] = None
    found = words(results)
    assert "OpenVINO 7.2, TVM 7.4" in found
    assert "IREE settings of iree" in found


def hostile(value):
    """The value with every text in it replaced, but for what the page looks up."""
    looked_up = {"suite", "participant", "peer", "of", "status", "format"}
    if isinstance(value, dict):
        return {k: v if k in looked_up else hostile(v) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(v) for v in value]
    return HOSTILE if isinstance(value, str) else value


def test_all_text_is_escaped(results):
    results["participants"]["aoe"]["documentation"] = ["javascript:alert(1)"]
    assert not any("javascript" in str(v) for _, _, v in checked(results).attributes)
    found = checked(hostile(results))
    assert "script" not in found.tags
    assert "b" not in found.tags
    assert HOSTILE in found.words


def test_it_fetches_nothing(results):
    document = page.render(results)
    for pattern in (r"\ssrc\s*=", r"@import", r"url\(", r"<link", r"<script", r"<iframe"):
        assert not re.search(pattern, document)
    for name, key, _ in Checker(document).attributes:
        assert key != "href" or name == "a"


@pytest.mark.parametrize("suite", ["models", "real", "narrow", "operators", "call"])
def test_one_row_is_enough(suite):
    more = {"family": "f"} if suite == "operators" else {}
    found = words(made([row(suite, "alone", **more)]))
    assert "Title of alone" in found
    assert found.count("This file has no such measurements.") == 4
    assert "no tuning measurements" in found
    # In the table, who was faster and who was measured twice, below the ratios.
    assert "0.0100 [0.0099, 0.0101] ONNX Runtime 1.002 [0.992, 1.012] ONNX Runtime 24" in found
    assert "faster of ONNX Runtime, OpenVINO / aoe A/A rounds" in found


def test_the_summary_is_of_geometric_means():
    summary = [mean("models", "best", 0.5, 9), mean("narrow", "best", 0.4, 6)]
    summary += [mean("narrow", "iree", 0.3, 1), mean("models", "iree", 0.2, 9)]
    found = words(made([], summary))
    assert "Geometric means" in found
    heads = "suite faster of ONNX Runtime, OpenVINO / aoe IREE / aoe "
    lines = "Models 1 thread 0.500 [0.495, 0.505] 9 cases 0.200 [0.198, 0.202] 9 cases "
    narrow = "Models in narrower types 1 thread 0.400 [0.396, 0.404] 6 cases -"
    assert heads + lines + narrow in found


def test_the_fastest_is_bold():
    document = page.render(made([row("models", "alone")]))
    assert re.findall(r'class="fastest">([^<]*)<', document) == ["0.100"]


def test_a_call_is_timed_in_microseconds():
    entry = row("call", "alone")
    entry["measured"]["aoe"] = time(0.0123)
    document = page.render(made([entry]))
    assert ">12.3</span><small>err 2.0e-7</small>" in document
    assert 'title="fastest call 11.1 µs, loaded in 0.100 s"' in document
    assert "aoe<small>µs</small>" in document


def test_a_ratio_is_drawn_with_its_interval():
    entry = row("models", "alone")
    document = page.render(made([entry]))
    axis = plots.ratio_axis([entry])
    for style, interval in enumerate(entry["ratios"].values(), 1):
        [whisker] = elements(document, "line", f"p{style}")
        ends = [axis.percent(interval[end]) for end in ("low", "high")]
        assert [whisker["x1"], whisker["x2"]] == ends
        assert ends[0] != ends[1]
        assert f'<svg x="{axis.percent(interval["ratio"])}" y="{whisker["y1"]}"' in document


def test_a_mark_is_hollow_where_no_difference_is_shown():
    document = page.render(made([row("models", "alone")]))
    # In the legend all are full, in the plot only that of OpenVINO is not.
    assert [p["class"] for p in elements(document, "path", "hollow")] == ["mark p2 hollow"]
    assert len(elements(document, "path", "mark")) == 6


def test_the_noise_is_drawn_as_a_band():
    entry = row("models", "alone", noise=ratio(1.1, 0.2) | {"of": "openvino", "turns_ms": []})
    [band] = elements(page.render(made([entry])), "rect", "noise")
    axis = plots.ratio_axis([entry])
    start, width = (float(band[key].rstrip("%")) for key in ("x", "width"))
    assert start == pytest.approx(100 * axis.at(0.88), abs=0.01)
    assert start + width == pytest.approx(100 * axis.at(1.32), abs=0.02)


def test_a_tuner_s_result_is_the_one_measured_beside_the_others():
    tuners, gemm = tuned("gemm")
    more, wrong = tuned("wrong")
    wrong["measured"]["tvm"] = failed("wrong outputs")
    del wrong["ratios"]
    more[0]["points"] = []  # A tuner that found nothing to try: the default stands.
    found = words(made([gemm, wrong], tuners=[*tuners, *more]))
    best = "TVM: 5.00 ms (11.0 GFLOP/s) in 100 s, 3 trials; as the tuner saw it 5.00 ms; err 2.0e-7"
    assert found.count(best) == 1
    assert "TVM / aoe: 2.000 [1.980, 2.020]" in found
    assert "aoe: 2.50 ms (22.0 GFLOP/s, winograd) in 4.00 s, 3 trials; err 2.0e-7" in found
    assert "TVM: failed: wrong outputs" in found


@pytest.mark.parametrize(
    ("flops", "size", "ms", "share"),
    [
        (8e9, 1e6, 200.0, 0.5),  # bound by the peak: 40 of 80 GFLOP/s
        (1e6, 2e9, 200.0, 0.5),  # bound by the memory: 10 of 20 GB/s
        (0, 2e9, 50.0, 2.0),  # no arithmetic, and faster than the memory
        (None, None, 1.0, None),
    ],
)
def test_share_of_the_roofline(flops, size, ms, share):
    row, entry = {"flops": flops, "bytes": size, "peak": PEAK}, {"median_ms": ms, "min_ms": ms / 2}
    found = roofline_share(row, entry)
    assert found == (None if share is None else pytest.approx(share))
    best = roofline_share(row, entry, "min_ms")
    assert best == (None if share is None else pytest.approx(2 * share))


def test_quality_only_improves():
    entry = {"points": [[1, 9.0], [2, 5.0], [3, 5.0], [9, 4.0]]}
    assert plots.improvements(entry) == [(1, 9.0), (2, 5.0), (9, 4.0)]


@pytest.mark.parametrize("values", [[0.01, 5], [0.5, 2], [1, 1], [1e-6, 1e6], [0.98, 1.3]])
def test_an_axis_holds_its_values_between_few_ticks(values):
    axis = log_axis(values)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert 2 <= len(axis.ticks()) <= 7
    assert all(axis.low * 0.999 <= tick <= axis.high * 1.001 for tick in axis.ticks())
    assert 0 <= axis.at(min(values)) <= axis.at(max(values)) <= 1


def test_what_lies_beyond_an_axis_is_put_at_its_end():
    axis = Axis(0, 1.5, log=False)
    assert axis.at(4) == axis.at(1.5) > axis.at(1.4)


def test_attributes_and_children_are_escaped():
    assert tag("p", "<", class_='"') == '<p class="&quot;">&lt;</p>'


def test_the_command_line(results, tmp_path, capsys):
    source, target = tmp_path / "results.json", tmp_path / "page.html"
    source.write_text(json.dumps(results))
    report.main([str(source), "--page", str(target)])
    assert target.read_text(encoding="utf-8") == page.render(copy.deepcopy(results))
    assert "Geometric means" in capsys.readouterr().out
    source.write_text('{"format": "another 2"}')
    with pytest.raises(SystemExit, match="another 2"):
        report.main([str(source)])
    source.write_text("{")
    with pytest.raises(SystemExit, match="no JSON"):
        report.main([str(source)])
    with pytest.raises(SystemExit, match=r"none\.json: No such file"):
        report.main([str(tmp_path / "none.json")])
