"""`aoe compile` and .om files: what they hold, that they compute the same bits, and where they run.

test_bad_om.py has the files that are broken.
"""

import os
import re
import resource
import subprocess
from pathlib import Path

import aoe
import conformance
import numpy as np
import om_files
import onnx
import pytest
from instruction_sets import NARROWER
from models.builder import serialize
from models.weights import seeded
from onnx_models import affine, expected_affine, model, node
from test_zoo import REDUCED
from tolerance import assert_close

from cli import BINARY, fails, succeeds
from cli import aoe as run_aoe

X = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)


@pytest.fixture
def affine_file(tmp_path):
    onnx.save(affine(2), tmp_path / "affine.onnx")
    return tmp_path / "affine.onnx"


@pytest.fixture
def compiled(affine_file, tmp_path):
    succeeds("compile", affine_file, "-o", tmp_path / "affine.om")
    return tmp_path / "affine.om"


# --- the same bits --------------------------------------------------------------------------------


class Copier:
    """Makes .om files of models, in one process for all."""

    def __init__(self, folder):
        self.path = folder / "model.onnx"
        program = BINARY.parent / "om_copies"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([program], text=True, **pipes)

    def copy(self, raw):
        self.path.write_bytes(raw)
        self.process.stdin.write(f"{self.path}\n")
        self.process.stdin.flush()
        complaint = self.process.stdout.readline()
        assert complaint == "\n", complaint
        return f"{self.path}.om"


@pytest.fixture(scope="module")
def copier(tmp_path_factory):
    copier = Copier(tmp_path_factory.mktemp("copies"))
    yield copier
    copier.process.stdin.close()
    assert copier.process.wait() == 0


class Both:
    """A model and its copy; runs both."""

    def __init__(self, original, copy):
        assert copy.inputs == original.inputs
        assert [info.name for info in copy.outputs] == [info.name for info in original.outputs]
        self.original, self.copy = original, copy
        self.inputs = original.inputs

    def run(self, feeds):
        results = self.copy.run(feeds)
        assert_same(results, self.original.run(feeds))
        return results


def assert_same(results, expected):
    if isinstance(expected, dict):
        assert list(results) == list(expected)
        results, expected = list(results.values()), list(expected.values())
    if isinstance(expected, list):
        assert len(results) == len(expected)
        for pair in zip(results, expected, strict=True):
            assert_same(*pair)
    elif expected is None:
        assert results is None
    else:
        assert (results.dtype, results.shape) == (expected.dtype, expected.shape)
        same = results.tolist() if results.dtype == object else results.tobytes()
        assert same == (expected.tolist() if expected.dtype == object else expected.tobytes())


LEFT_OUT = conformance.left_out()
# The real networks are large; what is in them, the reduced ones below have too.
CASES = [
    case
    for case in conformance.cases()
    if case.category != "real" and conformance.find(LEFT_OUT, case.name) is None
]
# These give other numbers in each run.
RANDOM = re.compile(r"test_(bernoulli|training_dropout).*")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_copy_computes_what_the_suite_expects(case, copier, monkeypatch):
    load = aoe.load

    def load_both(raw, **options):
        copy = load(copier.copy(raw), **options)
        return copy if RANDOM.match(case.name) else Both(load(raw, **options), copy)

    monkeypatch.setattr(aoe, "load", load_both)
    case.run()


@pytest.mark.parametrize("name", REDUCED)
def test_a_copy_of_a_network_computes_the_same(name, copier):
    build, config, inputs = REDUCED[name]
    raw = serialize(build(config, seeded()))
    copy = copier.copy(raw)
    Both(aoe.load(raw), aoe.load(copy)).run(inputs(np.random.default_rng(0)))


def test_symbolic_dimensions_stay_open(copier):
    copy = aoe.load(copier.copy(affine("N").SerializeToString()))
    assert copy.inputs == [aoe.TensorInfo("x", "float32", ("N", 3))]
    assert copy.outputs == [aoe.TensorInfo("y", "float32", ("N", 2))]
    for rows in (1, 2, 5):
        x = np.ones((rows, 3), np.float32)
        assert_close(copy.run({"x": x})["y"], expected_affine(x))


def test_a_copy_may_be_given_as_bytes(compiled):
    raw = compiled.read_bytes()
    for given in (raw, bytearray(raw), memoryview(b"?" + raw)[1:].tobytes()):
        assert_close(aoe.load(given).run({"x": X})["y"], expected_affine(X))


# --- the file -------------------------------------------------------------------------------------


def test_the_file_is_as_the_document_says(compiled):
    found = om_files.read(compiled)
    assert found.structure.product_version.decode() == aoe.__version__
    assert [n.op for n in found.graph().nodes] == [b"MatMul", b"Add"]
    assert [v.name for v in found.graph().values] == [b"w", b"b", b"x", b"p", b"y"]
    assert len(found.structure.policies) == 1
    assert found.to_bytes() == compiled.read_bytes()


def test_the_same_model_gives_the_same_file(affine_file, compiled, tmp_path):
    succeeds("compile", affine_file, "-o", tmp_path / "again")
    succeeds("compile", compiled, "-o", tmp_path / "copy")
    assert (tmp_path / "again.om").read_bytes() == compiled.read_bytes()
    assert (tmp_path / "copy.om").read_bytes() == compiled.read_bytes()


def test_the_kind_of_a_file_is_told_by_its_contents(affine_file, compiled, tmp_path):
    compiled.rename(tmp_path / "really_om.onnx")
    affine_file.rename(tmp_path / "really_onnx.om")
    for name in ("really_om.onnx", "really_onnx.om"):
        assert_close(aoe.load(tmp_path / name).run({"x": X})["y"], expected_affine(X))


def test_weights_are_mapped_as_long_as_they_are_used(compiled):
    def is_mapped():
        return str(compiled) in Path("/proc/self/maps").read_text()

    loaded = aoe.load(compiled)
    assert is_mapped()
    compiled.unlink()  # What is mapped stays.
    assert_close(loaded.run({"x": X})["y"], expected_affine(X))
    del loaded
    assert not is_mapped()


def test_equal_weights_are_stored_once(tmp_path):
    w = np.arange(4, dtype=np.float32)
    shared = model(
        [node("a = Add(x, w)"), node("v = Identity(w)"), node("y = Mul(a, v)")],
        {"x": ("float32", [4])},
        {"y": ("float32", [4])},
        {"w": w},
    )
    onnx.save(shared, tmp_path / "m.onnx")
    succeeds("compile", "m.onnx", "-o", "m", cwd=tmp_path)
    assert om_files.read(tmp_path / "m.om").weights == [w.tobytes()]


# --- the command ----------------------------------------------------------------------------------


def test_says_what_it_wrote(affine_file, tmp_path):
    printed = succeeds("compile", affine_file, "--output", tmp_path / "x")
    assert str(tmp_path / "x.om") in printed
    assert "2 nodes" in printed
    assert "1 workload" in printed
    assert (tmp_path / "x.om").exists()


def test_shapes_may_be_fixed(tmp_path):
    onnx.save(affine("N"), tmp_path / "m.onnx")
    printed = succeeds("compile", "m.onnx", "-o", "open.om", cwd=tmp_path)
    assert "no policies" in printed
    shape = ["--input_shape", "x:2,3"]
    printed = succeeds("compile", "m.onnx", "-o", "fixed.om", *shape, cwd=tmp_path)
    assert "1 workload" in printed
    assert aoe.load(tmp_path / "fixed.om").inputs == [aoe.TensorInfo("x", "float32", (2, 3))]
    # What is left open can still be fixed later.
    succeeds("run", "open.om", *shape, cwd=tmp_path)
    assert "axis 0" in fails("run", "fixed.om", "--input_shape", "x:3,3", cwd=tmp_path)


def test_a_copy_runs_like_its_model(affine_file, compiled, tmp_path):
    for file, out in ((affine_file, "a.npz"), (compiled, "b.npz")):
        succeeds("run", file, "--output", out, cwd=tmp_path)
    a, b = np.load(tmp_path / "a.npz")["y"], np.load(tmp_path / "b.npz")["y"]
    assert a.tobytes() == b.tobytes()


REFUSED = {
    "no output": ([], "--output"),
    "no such folder": (["-o", "no/such/x"], "no/such"),
    "a folder": (["-o", "folder.om"], "folder.om", "regular file"),
    "a pipe": (["-o", "pipe.om"], "pipe.om", "regular file"),
    "a device": (["-o", "/dev/null"], "/dev/null", "regular file"),
    "no name": (["-o", ""], "--output is empty"),
    "a folder without a file": (["-o", "folder.om/"], "'folder.om/' names a folder"),
    "this folder": (["-o", "."], "'.' names a folder"),
    "a loop of links": (["-o", "loop.om"], "'loop.om': it is a link that leads to no file"),
    "a link to no folder": (["-o", "lost.om"], "there is no folder", "no/such"),
    "the model itself": (["-o", "model.om"], "model.om", "model itself"),
    "unknown option": (["-o", "x", "--ouput", "y"], "--ouput", "--output"),
    "shape": (["-o", "x", "--input_shape", "x:7"], "x"),
    "kernels": (["-o", "x", "--kernels", "neon"], "neon"),
}


def test_a_folder_that_may_only_be_read(compiled, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o555)
    message = fails("compile", compiled, "-o", "closed/x.om", cwd=tmp_path)
    assert "closed/x.om" in message
    assert not list((tmp_path / "closed").iterdir())


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_refuses(case, compiled, tmp_path):
    arguments, *patterns = REFUSED[case]
    compiled.rename(tmp_path / "model.om")
    (tmp_path / "folder.om").mkdir()
    os.mkfifo(tmp_path / "pipe.om")
    (tmp_path / "loop.om").symlink_to("loop.om")
    (tmp_path / "lost.om").symlink_to("no/such/x.om")
    before = sorted(tmp_path.iterdir())
    message = fails("compile", "model.om", *arguments, cwd=tmp_path)
    for pattern in patterns:
        assert pattern in message
    assert sorted(tmp_path.iterdir()) == before


def test_a_link_stays(affine_file, tmp_path):
    (tmp_path / "target.om").write_text("something older")
    (tmp_path / "link.om").symlink_to("target.om")
    succeeds("compile", affine_file, "-o", "link.om", cwd=tmp_path)
    assert (tmp_path / "link.om").is_symlink()
    assert_close(aoe.load(tmp_path / "target.om").run({"x": X})["y"], expected_affine(X))


def test_a_link_to_what_is_not_there_yet_makes_it(affine_file, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.om").symlink_to("elsewhere/link")
    (tmp_path / "elsewhere" / "link").symlink_to("target.om")
    succeeds("compile", affine_file, "-o", "link.om", cwd=tmp_path)
    assert (tmp_path / "link.om").is_symlink()
    target = tmp_path / "elsewhere" / "target.om"
    assert not target.is_symlink()
    assert_close(aoe.load(target).run({"x": X})["y"], expected_affine(X))
    succeeds("run", "link.om", "--output", "elsewhere/../y.npz", cwd=tmp_path)
    assert (tmp_path / "y.npz").exists()


def test_a_full_disk_leaves_what_was_there(compiled, tmp_path):
    before = compiled.read_bytes()
    weights = {"w": np.ones((300, 300), np.float32)}
    large = model(
        [node("y = MatMul(x, w)")],
        {"x": ("float32", [1, 300])},
        {"y": ("float32", [1, 300])},
        weights,
    )
    onnx.save(large, tmp_path / "large.onnx")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [BINARY, "compile", tmp_path / "large.onnx", "-o", compiled],
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "affine.om" in done.stderr
    assert "File too large" in done.stderr
    assert compiled.read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))


# --- policies and machines ------------------------------------------------------------------------


def changed(path, change):
    """Changes the structure of a file, leaves the file whole."""
    found = om_files.read(path)
    change(found.structure)
    path.write_bytes(found.to_bytes())


def policies_in(path):
    return {p.workload: p.text.decode() for p in om_files.read(path).structure.policies}


def test_stored_policies_are_used(compiled, tmp_path):
    def prepend(structure):
        structure.policies[0].text = b"threads 1\n" + structure.policies[0].text

    changed(compiled, prepend)
    succeeds("compile", compiled, "-o", tmp_path / "copy")
    (policy,) = policies_in(tmp_path / "copy.om").values()
    assert policy.startswith("threads 1\n")
    done = run_aoe("run", compiled)
    assert (done.returncode, done.stderr) == (0, b"")


def test_another_machine_runs_it_by_default_policies_and_says_so(compiled, tmp_path):
    before = policies_in(compiled)
    here = om_files.read(compiled).structure.soc_version.decode()

    def move(structure):
        structure.soc_version = b"x86_64_pentium"
        structure.policies[0].text = b"threads 1\n" + structure.policies[0].text

    changed(compiled, move)
    done = run_aoe("run", compiled)
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    for word in ("affine.om", "for x86_64_pentium", f"this is {here}", "default policies"):
        assert word in line
    succeeds("compile", compiled, "-o", tmp_path / "here")
    assert policies_in(tmp_path / "here.om") == before


@pytest.mark.parametrize("kernels", NARROWER)
def test_narrower_vectors_are_another_machine(kernels, compiled, tmp_path):
    done = run_aoe("run", compiled, "--kernels", kernels, "--output", tmp_path / "y.npz")
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    assert f"with {kernels}" in line
    succeeds("compile", compiled, "-o", tmp_path / "narrow", "--kernels", kernels)
    done = run_aoe("run", tmp_path / "narrow.om", "--kernels", kernels)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_reference_has_no_policies(compiled, tmp_path):
    printed = succeeds("compile", compiled, "-o", tmp_path / "plain", "--kernels", "reference")
    assert "no policies" in printed
    for file in (compiled, tmp_path / "plain.om"):
        done = run_aoe("run", file, "--kernels", "reference")
        assert (done.returncode, done.stderr) == (0, b"")
    done = run_aoe("run", tmp_path / "plain.om")
    assert (done.returncode, done.stderr) == (0, b"")
