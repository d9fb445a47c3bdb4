"""The tables of the benchmark, and the words they share with the page."""

import pytest
from bench_results import failed, mean, ratio, results, row, time, tuned
from models.zoo import ZooModel
from row import failed_row
from show import page, table, words

FASTER = "faster of ORT, OV / aoe"


def shown(given):
    """The tables by title: lists of rows, as cells by column."""
    return {
        title: [dict(zip(heads, cells, strict=True)) for cells in rows]
        for title, heads, rows in table.tables(given)
    }


def test_a_row_has_times_ratios_and_errors():
    [found] = shown(results([row("models", "m", 2)]))["Models, 2 threads"]
    assert found == {
        "case": "Title of m",
        "aoe": "10.0",
        "ONNX Runtime": "0.100",
        "OpenVINO": "10.0",
        "IREE": "50.0",
        FASTER: "0.0100 [0.0099, 0.0101]",
        "A/A": "1.002 [0.992, 1.012]",
        "error of aoe": "2.0e-7",
        "of peers": "2.0e-7..2.0e-7",
    }


def test_a_row_that_was_tuned_says_how_that_went():
    counts = {"direct": 20, "winograd": 5}
    how = {"seconds": 61.2, "trials": 300, "first_gain_s": 8.8, "algorithms": counts}
    nothing = how | {"first_gain_s": None, "algorithms": None}
    given = [row("models", "m", tuned={"aoe": how}), row("models", "n", tuned={"aoe": nothing})]
    tuned, without = shown(results(given))["Models, 1 thread"]
    assert tuned["tuning of aoe"] == (
        "61 s, 300 tried; gains proven: the first after 9 s; direct 20, winograd 5"
    )
    assert without["tuning of aoe"] == "61 s, 300 tried; gains proven: none"


def test_kernels_tuned_with_strassen_s_algorithm_have_their_own_columns():
    how = {"seconds": 61.2, "trials": 300, "first_gain_s": None, "algorithms": {"strassen": 4}}
    times = {"aoe": time(10.0), "aoe_strassen": time(8.0) | {"error": 3e-7}, "openvino": time(12.0)}
    found = row("models", "m", measured=times, tuned=dict.fromkeys(["aoe", "aoe_strassen"], how))
    found |= {"best_to_strassen": ratio(1.5)}
    summary = [mean("models", "best_to_strassen", 1.5, 9)]
    given = results([found, row("models", "n")], summary)
    given["participants"]["aoe_strassen"] = given["participants"]["aoe"] | {"name": "aoe strassen"}
    tables = shown(given)
    tuned, without = tables["Models, 1 thread"]
    assert tuned["aoe strassen"] == "8.00"
    assert tuned["error of aoe strassen"] == "3.0e-7"
    assert tuned["of peers"] == "2.0e-7..2.0e-7"
    assert tuned[f"{FASTER} strassen"] == "1.500 [1.485, 1.515]"
    assert tuned["tuning of aoe strassen"] == "61 s, 300 tried; gains proven: none; strassen 4"
    assert without[f"{FASTER} strassen"] == without["tuning of aoe strassen"] == "-"
    [line] = tables["Geometric means"]
    assert line["of"] == f"{FASTER} strassen"
    assert "faster of ONNX Runtime, OpenVINO / aoe strassen" in page.render(given)


def test_what_failed_has_no_figure_but_a_reason():
    given = row("operators", "o", family="f", noise_why="second process of openvino: killed")
    given["measured"] = {key: failed(f"why of {key}") for key in given["measured"]}
    for part in ("noise", "ratios", "best"):
        del given[part]
    # Killed while timing: what it had measured does not count.
    given["measured"]["iree"] |= {"median_ms": 1.0, "error": 1e-7}
    found = shown(results([given]))
    [line] = found["Operators, 1 thread"]
    assert line["aoe"] == line["IREE"] == "failed"
    assert line[FASTER] == line["A/A"] == line["error of aoe"] == line["of peers"] == "-"
    reasons = {line["participant"]: line["why"] for line in found["Without a figure"]}
    assert reasons["ONNX Runtime"] == "why of onnxruntime"
    assert reasons["A/A"] == "second process of openvino: killed"


def test_operators_say_whether_they_were_enlarged():
    given = [row("operators", name, family="f", scale=n) for name, n in (("o", 1), ("p", 8))]
    summary = [mean(kind, "best", 0.5, 2) for kind in ("original", "enlarged", "operators")]
    found = shown(results(given, summary))
    assert [line["enlarged"] for line in found["Operators, 1 thread"]] == ["-", "8 x"]
    assert [line["suite"] for line in found["Geometric means"]] == [
        "Operators, original shapes",
        "Operators, enlarged batch",
        "Operators, all",
    ]
    drawn = page.render(results(given, summary))
    assert "p, f, batch enlarged 8 x" in drawn
    assert "o, f<" in drawn
    assert "Operators, enlarged batch" in drawn


def test_one_row_has_no_mean():
    summary = [mean("models", "best", 0.5, 9), mean("real", "best", 0.4, 1)]
    summary += [mean("models", "iree", 0.3, 7), mean("models", "noise", 1.0, 9)]
    found = shown(results([], summary))["Geometric means"]
    assert [(line["suite"], line["of"], line["rows"]) for line in found] == [
        ("Models", FASTER, "9"),
        ("Models", "IREE / aoe", "7"),
        ("Models", "A/A (median)", "9"),
    ]


def test_tuners_are_compared_by_what_they_found_and_by_their_seconds():
    tuners, gemm = tuned("gemm")
    more, killed = tuned("killed")
    killed["measured"]["tvm"] = failed("killed by SIGKILL")
    more[0]["algorithms"] = {"direct": 3}
    del killed["ratios"]
    found = shown(results([gemm, killed], tuners=[*tuners, *more]))
    whole, partial = found["Tuned operators"]
    assert whole == {
        "operator": "Title of gemm",
        "aoe ms": "2.50",
        "TVM ms": "5.00",
        "TVM / aoe ms": "2.000 [1.980, 2.020]",
        "A/A": "1.002 [0.992, 1.012]",
        "error of aoe": "2.0e-7",
        "error of TVM": "2.0e-7",
        "aoe tuned, s": "4.00",
        "TVM tuned, s": "100",
        "TVM / aoe s": "25.0",
        "aoe trials": "3",
        "TVM trials": "3",
        "aoe algorithm": "winograd",
    }
    assert partial["aoe algorithm"] == "direct"
    assert (partial["aoe ms"], partial["TVM ms"]) == ("2.50", "failed")
    assert partial["TVM / aoe ms"] == partial["TVM / aoe s"] == partial["error of TVM"] == "-"
    [reason] = found["Without a figure"]
    assert (reason["participant"], reason["why"]) == ("TVM", "killed by SIGKILL")
    assert list(found) == ["Tuned operators", "Without a figure"]


def test_a_tuner_that_does_not_know_its_algorithm_leaves_it_open():
    tuners, first = tuned("gemm")
    more, second = tuned("crashed")
    del more[0]["algorithms"]
    found = shown(results([first, second], tuners=[*tuners, *more]))
    assert [line["aoe algorithm"] for line in found["Tuned operators"]] == ["winograd", "-"]
    assert "TVM's are all direct" in table.text(results([first], tuners=tuners)).replace("\n", " ")
    assert "TVM's are all direct" not in table.text(results([row("models", "m")]))


def test_text_and_markdown_say_who_took_part():
    given = results([row("models", "m")])
    given["participants"]["iree"]["version"] = None
    given["participants"]["aoe"]["note"] = "reference evaluator"
    for text in (table.text(given), table.markdown(given)):
        assert "aoe 7.0 (reference evaluator), ONNX Runtime 7.1, OpenVINO 7.2, TVM 7.4" in text
        assert "1 thread: 80 GFLOP/s, 20 GB/s; 2 threads" in text


def test_a_line_for_those_who_watch():
    participants = results([])["participants"]
    found = row("models", "m", measured={"aoe": row("models", "m")["measured"]["aoe"]})
    expected = f"    ms: aoe 10.0; {FASTER} 0.0100 [0.0099, 0.0101]"
    assert table.line(found, participants) == expected
    del found["best"]
    assert table.line(found, participants) == "    ms: aoe 10.0"


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (None, "-"),
        (ratio(1.5, 0.019), "1.500 [1.472, 1.528]"),
        (ratio(1.5, 0.03), "1.500 [1.455, 1.545]~"),
        ({"ratio": 1.0, "low": 0.97, "high": 1.0}, "1.000 [0.970, 1.000]~"),
        ({"ratio": 1.0, "low": 1.0, "high": 1.03}, "1.000 [1.000, 1.030]~"),
        (ratio(0.00123), "0.00123 [0.00122, 0.00124]"),
        (ratio(50.0), "50.0 [49.5, 50.5]"),
    ],
)
def test_a_ratio_has_its_interval_and_a_mark_if_it_is_wide(entry, text):
    assert words.ratio(entry) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.00"), (0.0123, "0.0123"), (9.5, "9.50"), (99.96, "100"), (12345, "12,345")],
)
def test_three_digits(value, text):
    assert words.digits(value) == text


def test_a_case_that_cannot_be_prepared_is_a_row():
    model = ZooModel("m", "A model", bytes, lambda random: {}, "real")
    empty = failed_row("real", model, [1], None, {"aoe": "no such package"})
    given = results([empty])
    assert "no such package" in table.text(given)
    assert table.line(empty, given["participants"]).strip() == "ms: aoe failed"
    assert "no such package" in page.render(given)


@pytest.mark.parametrize(("width", "noisy"), [(0.01, False), (0.3, True)])
def test_a_busy_machine_is_named(width, noisy):
    given = results([row("models", "m", noise=ratio(1.0, width))])
    assert ("NOISY" in table.text(given)) == noisy
