"""The page of the benchmark: whole, escaped, self-contained, whatever a run left out."""

import copy
import json
import re
from html.parser import HTMLParser

import pytest
import report
from show import page, plots
from show.svg import Axis, log_axis, tag

VOID = {"meta", "br"}
PEERS = {"aoe": "aoe", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "iree": "IREE"}
HOSTILE = '</title><script>alert("1")</script>&<b x="'


def row(suite, case, threads=1, **more):
    """Every participant measured; ratios at both extremes."""
    ratios = {"onnxruntime": 0.01, "openvino": 1.0, "iree": 5.0}
    entries = {k: {"ratio": r, "low": r * 0.99, "high": r * 1.01} for k, r in ratios.items()}
    times = {"aoe": 10.0, **{key: 10 * ratio for key, ratio in ratios.items()}}
    return {
        "suite": suite,
        "case": case,
        "title": f"Title of {case}",
        "threads": threads,
        "flops": 4e8,
        "bytes": 1e6,
        "rounds": 24,
        "measured": {
            key: {"status": "ok", "median_ms": ms, "min_ms": ms, "load_s": 0.1, "error": 2e-7}
            for key, ms in times.items()
        },
        "noise": {"ratio": 1.0, "low": 0.99, "high": 1.01},
        "ratios": entries,
        "best": {"peer": "onnxruntime", **entries["onnxruntime"]},
        **more,
    }


@pytest.fixture
def results():
    rows = [row("models", f"model{i}", t) for t in (1, 2) for i in range(9)]
    rows += [row("operators", f"op{i}", t, family=f"f{i % 4}") for t in (1, 2) for i in range(40)]
    rows += [row("real", "published"), row("call", "identity")]
    failed = {"status": "failed", "why": "killed by signal 9 while timing"}
    rows[0]["measured"]["iree"] = failed
    del rows[0]["ratios"]["iree"]
    tuned = {"case": "gemm", "title": "Product", "threads": 1, "seconds": 20.0}
    done = {"participant": "tvm", "status": "ok", "trials": 3, "points": [[1, 9], [2, 5], [9, 6]]}
    absent = {"participant": "aoe", "status": "absent", "why": "it has no tuner"}
    return {
        "format": "aoe-bench 1",
        "date": "2026-11-16T07:00:00Z",
        "command": "bench/run.py",
        "machine": {
            "processor": "A Processor",
            "peak": {str(n): {"gflops": 80.0 * n, "gbps": 20.0} for n in (1, 2)},
        },
        "participants": {
            key: {
                "name": name,
                "version": f"7.{index}",
                "settings": f"settings of {key}",
                "documentation": [f"https://example.org/{key}"],
            }
            for index, (key, name) in enumerate(PEERS.items())
        },
        "rows": rows,
        "summary": [
            {"suite": "models", "threads": 1, "peer": peer, "ratio": 0.5, "low": 0.4, "high": 0.6}
            for peer in ("best", "noise")
        ],
        "tuning": [{**tuned, **done}, {**tuned, **absent}],
        "training": [],
    }


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


def test_it_has_every_case_and_participant(results):
    found = checked(results)
    for entry in results["rows"]:
        assert entry["title"] in found.words
        assert re.search(rf"\b{entry['case']}\b", found.words)
    for index, (key, name) in enumerate(PEERS.items()):
        assert f"{name} 7.{index}" in found.words
        assert f"settings of {key}" in found.words
        assert ("a", "href", f"https://example.org/{key}") in found.attributes
    assert "A Processor" in found.words
    assert "no training measurements" in found.words


def test_every_measured_operator_has_a_mark(results):
    kinds = [v for _, k, v in checked(results).attributes if k == "class" and "mark p0" in v]
    assert len(kinds) == 80 + 2  # aoe: each operator's row, and the legends of operators and tuning


def test_failures_say_why(results):
    words = checked(results).words
    assert "killed by signal 9 while timing" in words
    assert "aoe: absent: it has no tuner" in words
    results["rows"][0]["measured"]["aoe"] = {"status": "failed", "why": "ran out of memory"}
    results["rows"][0]["ratios"] = {}
    assert "ran out of memory" in checked(results).words


def test_the_note_of_a_participant_is_at_the_head(results):
    assert "reference evaluator" not in checked(results).words
    results["participants"]["aoe"]["note"] = "reference evaluator"
    words = checked(results).words
    assert words.index("reference evaluator") < words.index("Summary")


def hostile(value):
    """The value with every text in it replaced, but for what the page looks up."""
    looked_up = {"suite", "participant", "peer", "status", "format"}
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


PARTS = ["machine", "participants", "summary", "tuning", "training", "date", "command"]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_file_may_be_missing(results, part):
    del results[part]
    assert "Title of model0" in checked(results).words


@pytest.mark.parametrize("part", ["noise", "ratios", "best", "measured", "flops", "title"])
def test_a_part_of_the_rows_may_be_missing(results, part):
    for entry in results["rows"]:
        del entry[part]
    assert "model0" in checked(results).words


@pytest.mark.parametrize("suite", ["models", "real", "operators", "call"])
def test_one_row_is_enough(suite):
    alone = {"format": "aoe-bench 1", "rows": [row(suite, "alone")]}
    words = checked(alone).words
    assert "Title of alone" in words
    assert words.count("This file has no such measurements.") == 3
    assert "no tuning measurements" in words


def test_an_error_may_be_unknown(results):
    results["rows"][0]["measured"]["aoe"]["error"] = None
    assert "err —" in checked(results).words


def test_a_wide_interval_is_marked(results):
    assert "] †" not in checked(results).words
    results["rows"][0]["best"] = {"peer": "openvino", "ratio": 1.0, "low": 0.9, "high": 1.1}
    assert "1.000 [0.900, 1.100] †" in checked(results).words


@pytest.mark.parametrize(
    ("flops", "size", "ms", "share"),
    [
        (8e9, 1e6, 200.0, 0.5),  # bound by the peak: 40 of 80 GFLOP/s
        (1e6, 2e9, 200.0, 0.5),  # bound by the memory: 10 of 20 GB/s
        (0, 2e9, 50.0, 2.0),  # no arithmetic, and faster than the memory
        (0, 0, 1.0, None),
    ],
)
def test_share_of_the_roofline(flops, size, ms, share):
    peak = {"gflops": 80.0, "gbps": 20.0}
    found = plots.roofline_share({"flops": flops, "bytes": size}, {"median_ms": ms}, peak)
    assert found == (None if share is None else pytest.approx(share))


def test_quality_only_improves():
    entry = {"points": [[3, 7.0], [1, 9.0], [2, 5.0], [0, 4.0], [9, 4.0]]}
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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (0, "0.00"),
        (0.0123, "0.0123"),
        (9.5, "9.50"),
        (99.96, "100"),
        (12345, "12,345"),
    ],
)
def test_three_digits(value, text):
    assert plots.digits(value) == text


def test_attributes_and_children_are_escaped():
    assert tag("p", "<", class_='"') == '<p class="&quot;">&lt;</p>'


def test_the_command_line(results, tmp_path, capsys):
    source, target = tmp_path / "results.json", tmp_path / "page.html"
    results["machine"] |= {"vector": "AVX2", "cores": 2, "system": "Debian"}
    results["summary"] = []
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
