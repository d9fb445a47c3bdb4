"""The algorithms that operators may use, and what each class promises (docs/numerics.md)."""

import json
import re

import aoe
import bank_files
import numpy as np
import om_files
import onnx
import pytest
from onnx_models import model, node

from cli import aoe as run_aoe
from cli import fails, succeeds

CHANNELS, SIDE = 64, 28


@pytest.fixture(scope="module")
def weights():
    random = np.random.default_rng(1)
    return random.normal(0, 0.05, (CHANNELS, CHANNELS, 3, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def convolution(weights, tmp_path_factory):
    """A convolution that runs by Winograd's algorithm unless that is forbidden."""
    shape = [1, CHANNELS, SIDE, SIDE]
    file = tmp_path_factory.mktemp("numerics") / "conv.onnx"
    onnx.save(
        model(
            [node("y = Conv(x, w)", pads=[1, 1, 1, 1])],
            {"x": ("float32", shape)},
            {"y": ("float32", shape)},
            {"w": weights},
        ),
        file,
    )
    return file


def algorithms(*args):
    return json.loads(succeeds("bench", *args, "--json", "--seconds", "0.05"))["algorithms"]


def test_the_mode_decides_which_algorithms_run(convolution):
    assert algorithms(convolution).get("winograd") == 1
    assert algorithms(convolution, "--op_select_implmode=high_performance").get("winograd") == 1
    assert "winograd" not in algorithms(convolution, "--op_select_implmode=high_precision")
    others = ("--op_select_implmode=high_precision", "--optypelist_for_implmode=MatMul,Gemm")
    assert algorithms(convolution, *others).get("winograd") == 1


def test_run_and_profile_tell_the_class_of_kernels(convolution):
    assert re.search(
        r"^algorithms   (direct \d+, )?winograd 1$", succeeds("run", convolution), re.M
    )
    short = ("--profile", "--seconds", "0.05")
    text = succeeds("bench", convolution, *short)
    assert text.count("Conv [winograd]\n") == text.count("[winograd]") == 1
    for mode, expected in {"high_performance": 1, "high_precision": 0}.items():
        text = succeeds("bench", convolution, *short, "--json", f"--op_select_implmode={mode}")
        found = [step["algorithm"] for step in json.loads(text)["profile"]["steps"]]
        assert found.count("winograd") == expected
        assert found.count("direct") == len(found) - expected


def test_a_list_of_types_ends_before_the_model(convolution):
    precise = ("--op_select_implmode", "high_precision", "--optypelist_for_implmode", "Conv,Gemm")
    assert "winograd" not in algorithms(*precise, convolution)
    others = ("--op_select_implmode", "high_precision", "--optypelist_for_implmode", "MatMul")
    assert algorithms(*others, convolution).get("winograd") == 1


def test_an_om_file_keeps_its_mode(convolution, tmp_path):
    precise = tmp_path / "precise.om"
    succeeds("compile", convolution, "-o", precise, "--op_select_implmode=high_precision")
    assert "winograd" not in algorithms(precise)
    free = tmp_path / "free.om"
    succeeds("compile", convolution, "-o", free)
    assert algorithms(free).get("winograd") == 1
    # Its policy for the convolution needs more than is allowed here.
    assert "winograd" not in algorithms(free, "--op_select_implmode=high_precision")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--op_select_implmode=precise"], "precise"),
        (["--optypelist_for_implmode=Conv"], "op_select_implmode says nothing"),
        (["--op_select_implmode=high_precision", "--allow_strassen"], "contradicts"),
        (
            ["--op_select_implmode=high_precision", "--optypelist_for_implmode=Convv"],
            "'Convv' is no type of operator; did you mean 'Conv'?",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(convolution, options, message):
    assert message in fails("run", convolution, *options)
    assert message in fails(f"--model={convolution}", "--job_type=2", *options)


def test_python_takes_the_same_options(convolution):
    with pytest.raises(aoe.Error, match="high_precision or high_performance is expected"):
        aoe.load(convolution, op_select_implmode="precise")
    with pytest.raises(TypeError, match="optypelist_for_implmode"):
        aoe.load(convolution, op_select_implmode="high_precision", optypelist_for_implmode="Conv")
    with pytest.raises(aoe.Error, match="contradicts"):
        aoe.load(convolution, op_select_implmode="high_precision", allow_strassen=True)
    with pytest.raises(TypeError, match="allow_strassen"):
        aoe.load(convolution, allow_strassen="yes")
    for listed, message in {
        ("conv",): "did you mean 'Conv'",
        ("Conv,Gemm",): "'Conv,Gemm' is no type of operator",
        (): "is empty",
    }.items():
        with pytest.raises(aoe.Error, match=message):
            aoe.load(
                convolution, op_select_implmode="high_precision", optypelist_for_implmode=listed
            )
    aoe.load(convolution, optypelist_for_implmode=None)


def test_a_listed_operator_that_the_model_lacks_is_reported(convolution):
    options = ("--op_select_implmode=high_precision", "--optypelist_for_implmode=Conv,MatMul")
    lines = run_aoe("run", convolution, *options).stderr.decode().splitlines()
    assert lines == ["aoe: optypelist_for_implmode: the model has no MatMul"]


def reference(x, w):
    """The convolution in double precision, and the sums of the magnitudes of its terms."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    sums = np.zeros(x.shape)
    magnitudes = np.zeros(x.shape)
    for i in range(3):
        for j in range(3):
            window = padded[:, :, i : i + SIDE, j : j + SIDE]
            taps = w[:, :, i, j].astype(np.float64)
            sums += np.einsum("nchw,fc->nfhw", window, taps)
            magnitudes += np.einsum("nchw,fc->nfhw", np.abs(window), np.abs(taps))
    return sums, magnitudes


def inputs():
    random = np.random.default_rng(2)
    shape = (1, CHANNELS, SIDE, SIDE)
    plain = random.normal(size=shape)
    outlier = plain.copy()
    outlier[0, 5, 10, 11] = 1e6
    rows = plain.copy()
    rows[0, :, ::2] *= 1e4
    return {
        "plain": plain,
        "heavy tails": random.standard_t(1.2, size=shape),
        "an outlier": outlier,
        "rows of different scale": rows,
    }


@pytest.mark.parametrize("kind", inputs())
@pytest.mark.parametrize("mode", ["high_precision", "high_performance"])
def test_errors_are_bounded_as_promised(convolution, weights, kind, mode):
    x = inputs()[kind].astype(np.float32)
    y = aoe.load(convolution, op_select_implmode=mode).run({"x": x})["y"]
    expected, magnitudes = reference(x, weights)
    if mode == "high_performance":
        # A tile of results reads up to six by six pixels of all channels: an error reaches so far.
        reach = 5
        largest = np.pad(np.abs(x).max(axis=(0, 1)), reach)
        near = np.max(
            [
                largest[i : i + SIDE, j : j + SIDE]
                for i in range(2 * reach + 1)
                for j in range(2 * reach + 1)
            ],
            axis=0,
        )
        magnitudes = near * np.abs(weights).sum(axis=(1, 2, 3))[None, :, None, None]
    assert np.max(np.abs(y - expected) / magnitudes) < 2e-6


# Long sums: the shape, and what is summed. Along rows, along columns, over several axes, each of
# them short, and where no vector goes along a summed axis.
LONG_SUMS = {
    "rows": ((8, 1_000_000), (1,)),
    "columns": ((1_000_000, 8), (0,)),
    "wide columns": ((400_000, 40), (0,)),
    "both sides": ((1000, 8, 1000), (0, 2)),
    "two axes before": ((1000, 1000, 8), (0, 1)),
    "four short axes": ((32, 32, 32, 32, 8), (0, 1, 2, 3)),
}
# Of random numbers, roundings cancel. Of equal ones they all go the same way: the worst case.
ELEMENTS = {
    "random": lambda shape: np.random.default_rng(3).random(shape, dtype=np.float32),
    "equal": lambda shape: np.full(shape, 0.1, np.float32),
}


@pytest.mark.parametrize("elements", ELEMENTS)
@pytest.mark.parametrize("which", LONG_SUMS)
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceSumSquare"])
def test_sums_of_a_million_elements_keep_their_digits(op, which, elements):
    shape, axes = LONG_SUMS[which]
    x = ELEMENTS[elements](shape)
    terms = x.astype(np.float64) ** (2 if op == "ReduceSumSquare" else 1)
    expected = terms.sum(axis=axes)
    summed = model(
        [node(f"y = {op}(x, axes)", keepdims=0)],
        {"x": ("float32", list(shape))},
        {"y": ("float32", list(expected.shape))},
        {"axes": np.array(axes, np.int64)},
    )
    y = aoe.load(summed.SerializeToString()).run({"x": x})["y"]
    np.testing.assert_allclose(y, expected, rtol=3e-5)


@pytest.mark.parametrize("elements", ELEMENTS)
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(1, 4), (4, 4), (16, 32)])
def test_products_of_a_million_terms_keep_their_digits(rows, columns, constant, elements):
    depth = 1_000_000
    a = ELEMENTS[elements]((rows, depth))
    b = ELEMENTS[elements]((depth, columns))
    weights = {"b": b} if constant else {}
    inputs = {"a": ("float32", [rows, depth]), "b": ("float32", [depth, columns])}
    product = model(
        [node("y = MatMul(a, b)")],
        {name: inputs[name] for name in inputs if name not in weights},
        {"y": ("float32", [rows, columns])},
        weights,
    )
    loaded = aoe.load(product.SerializeToString())
    y = loaded.run({"a": a} if constant else {"a": a, "b": b})["y"]
    np.testing.assert_allclose(y, a.astype(np.float64) @ b.astype(np.float64), rtol=5e-5)


# --- Strassen's algorithm -------------------------------------------------------------------------

ROWS, DEPTH, COLUMNS = 48, 256, 128
FEATURES = np.random.default_rng(3).normal(0, 0.05, (DEPTH, COLUMNS)).astype(np.float32)
ONE_THREAD = ("--threads", 1)
# The workload of the product, as the model's plan states it.
PRODUCT = (
    f"weight %0 f32[{DEPTH},{COLUMNS}]\nin %1 f32[{ROWS},{DEPTH}]\n"
    f"%2 f32[{ROWS},{COLUMNS}] = sum(r:{DEPTH}) %1[a, r] * %0[r, b]\nout %2\n"
)


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """An .om file with a policy by which its product runs by Strassen's algorithm."""
    folder = tmp_path_factory.mktemp("numerics")
    onnx.save(
        model(
            [node("y = MatMul(x, w)")],
            {"x": ("float32", [ROWS, DEPTH])},
            {"y": ("float32", [ROWS, COLUMNS])},
            {"w": FEATURES},
        ),
        folder / "product.onnx",
    )
    succeeds("compile", folder / "product.onnx", "-o", folder / "product.om", *ONE_THREAD)
    om = om_files.read(folder / "product.om")
    policy = succeeds("kernel", PRODUCT, "--policy", "stage 0 strassen", "--emit", "policy")
    (stored,) = om.structure.policies
    stored.text = policy.encode()
    (folder / "product.om").write_bytes(om.to_bytes())
    return folder / "product.om"


def test_strassen_runs_only_where_it_is_allowed(product):
    assert algorithms(product, *ONE_THREAD, "--allow_strassen") == {"strassen": 1}
    assert algorithms(product, *ONE_THREAD) == {"direct": 1}
    assert algorithms(product, *ONE_THREAD, "--op_select_implmode=high_precision") == {"direct": 1}


def said_of(*args):
    return run_aoe("run", *args).stderr.decode()


def test_a_policy_that_is_not_allowed_is_reported_once(product, tmp_path, monkeypatch):
    unused = "aoe: 1 policy of {} needs Strassen's algorithm and is not used: "
    allowed = unused + "--allow_strassen allows it\n"
    precise = unused + "op_select_implmode=high_precision excludes it\n"
    exact = (*ONE_THREAD, "--op_select_implmode=high_precision")
    assert said_of(product, *ONE_THREAD) == allowed.format("the .om file")
    assert said_of(product, *exact) == precise.format("the .om file")
    assert said_of(product, *ONE_THREAD, "--allow_strassen") == ""
    done = run_aoe("bench", product, *ONE_THREAD, "--seconds", "0.05")  # loads it twice
    assert done.stderr.decode().count("is not used") == 1
    # The same policy in a bank.
    device = json.loads(succeeds("devices", "--json"))
    (policy,) = om_files.read(product).structure.policies
    entry = bank_files.entry(
        PRODUCT,
        policy.text.decode(),
        device["soc_version"],
        instruction_set=device["instruction_sets"][-1],
        allowed="strassen",
        numerics="strassen",
    )
    bank_files.write(tmp_path / device["soc_version"] / "op.db", device["soc_version"], [entry])
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path))
    onnx_file = product.with_suffix(".onnx")
    assert said_of(onnx_file, *ONE_THREAD) == allowed.format("the bank")
    assert said_of(onnx_file, *exact) == precise.format("the bank")
    assert said_of(onnx_file, *ONE_THREAD, "--allow_strassen") == ""


def by_direct(product, x):
    return aoe.load(product, threads=1).run({"x": x})["y"]


def by_strassen(product, x):
    return aoe.load(product, threads=1, allow_strassen=True).run({"x": x})["y"]


def rows():
    """Inputs of the product by what they are like. Rows 2i and 2i + 1 are a pair."""
    random = np.random.default_rng(4)
    plain = random.normal(size=(ROWS, DEPTH))
    outlier = plain.copy()
    outlier[10, 11] = 1e6
    scaled = plain.copy()
    scaled[::2] *= 1e4
    zeros = plain.copy()
    zeros[1::2] = 0
    return {
        "plain": plain,
        "heavy tails": random.standard_t(1.2, size=plain.shape),
        "an outlier": outlier,
        "rows of different scale": scaled,
        "rows of zeros": zeros,
    }


def errors(y, x):
    return np.abs(y - x.astype(np.float64) @ FEATURES.astype(np.float64))


def direct_bound(x):
    """The sums of the magnitudes of the terms."""
    return np.abs(x).astype(np.float64) @ np.abs(FEATURES)


def strassen_bound(x):
    """The largest numbers of two rows together, times those of the two columns that are added."""
    pairs = np.abs(x).reshape(-1, 2, DEPTH).max(axis=(1, 2)).repeat(2)
    columns = np.abs(FEATURES).sum(axis=0).reshape(2, -1).max(axis=0)
    return pairs[:, None] * np.tile(columns, 2)


# Parts of the bounds; the rounding error of one float is 6e-8. Strassen's bound is looser: it takes
# the largest number of a row for each.
DIRECT_ERROR = 2e-6
STRASSEN_ERROR = 5e-7


@pytest.mark.parametrize("kind", rows())
def test_errors_of_strassen_are_bounded_by_pairs_of_rows(product, kind):
    x = rows()[kind].astype(np.float32)
    assert (errors(by_strassen(product, x), x) < STRASSEN_ERROR * strassen_bound(x)).all()


@pytest.mark.parametrize("kind", rows())
def test_errors_without_strassen_are_bounded_by_each_row(product, kind):
    x = rows()[kind].astype(np.float32)
    assert (errors(by_direct(product, x), x) <= DIRECT_ERROR * direct_bound(x)).all()


@pytest.mark.parametrize("kind", ["rows of different scale", "rows of zeros"])
def test_strassen_does_not_keep_the_bound_of_each_row(product, kind):
    """So the two tests above are about two algorithms."""
    x = rows()[kind].astype(np.float32)
    beyond = errors(by_strassen(product, x), x) > DIRECT_ERROR * direct_bound(x)
    assert beyond[1::2].any(axis=1).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_row(product, value):
    x = rows()["plain"].astype(np.float32)
    clean_direct, clean_strassen = by_direct(product, x), by_strassen(product, x)
    x[5, -1] = value
    direct, strassen = by_direct(product, x), by_strassen(product, x)
    assert not np.isfinite(direct[5]).any()
    np.testing.assert_array_equal(np.delete(direct, 5, axis=0), np.delete(clean_direct, 5, axis=0))
    # By Strassen's algorithm in its pair.
    assert not np.isfinite(strassen[5]).any()
    assert not np.isfinite(strassen[4]).all()
    np.testing.assert_array_equal(
        np.delete(strassen, [4, 5], axis=0), np.delete(clean_strassen, [4, 5], axis=0)
    )


# --- other policies than the default --------------------------------------------------------------

CLASSES = 18710  # As many as the text recognition of the trained models has.
# Vectors of rows: no lanes share the sum of a row.
BY_ROWS = """stage 0 root
stage 3 root
loops outer=0 [r:4x2]
loops outer=0 [b:4x4]
loops outer=0 [a:4x2]
loops outer=2 []
"""


def test_a_softmax_with_one_large_term_keeps_the_others(tmp_path):
    """In one accumulator, terms below the rounding error of the large one would be lost."""
    shape = [1, 8, CLASSES]
    onnx.save(
        model(
            [node("y = Softmax(x)", axis=2)],
            {"x": ("float32", shape)},
            {"y": ("float32", shape)},
            opset=11,
        ),
        tmp_path / "softmax.onnx",
    )
    succeeds("compile", tmp_path / "softmax.onnx", "-o", tmp_path / "softmax.om", *ONE_THREAD)
    om = om_files.read(tmp_path / "softmax.om")
    (stored,) = om.structure.policies
    stored.text = BY_ROWS.encode()
    (tmp_path / "softmax.om").write_bytes(om.to_bytes())
    x = np.full(shape, -17, np.float32)  # exp(-17) is 4e-8, all of them together 8e-4.
    x[..., 0] = 0
    y = aoe.load(tmp_path / "softmax.om", threads=1).run({"x": x})["y"]
    terms = np.exp(x.astype(np.float64))
    expected = terms / terms.sum(axis=2, keepdims=True)
    assert np.max(np.abs(y - expected) / expected) < 1e-4
