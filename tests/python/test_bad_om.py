"""A broken .om file gets exit code 2 and a message that names file and cause, never a crash.

Truncated, flipped, of another version, with hostile sizes, numbers and policies. What a table
damages is all that is wrong with the file: its checksums are right, unless they are the damage.
"""

import re

import numpy as np
import om_files
import onnx
import pytest
from onnx import helper
from onnx_models import affine, infos, model, node

from cli import aoe, fails, succeeds

FLAG = ("bool", [])
INT64_MAX = (1 << 63) - 1


def everything():
    """A model with most of what a file can hold, beside the weights of `affine`."""
    row = ("float32", [2, 2])

    def branch(op):
        nodes = [node(f"r = {op}(p, b)")]
        return helper.make_graph(nodes, "branch", [], infos({"r": row}))

    return model(
        [
            node("p = MatMul(x, w)", name="product"),
            node(
                "y = If(flag)", name="choice", then_branch=branch("Add"), else_branch=branch("Sub")
            ),
            node("z = Transpose(p)", name="turn", perm=[1, 0]),
            node("s = StringConcat(t, t)", name="joined"),
        ],
        {"x": ("float32", [2, 3]), "flag": FLAG},
        {"y": row, "z": row, "s": ("object", [2])},
        {
            "w": np.arange(6, dtype=np.float32).reshape(3, 2),
            "b": np.array([0.5, -0.5], np.float32),
            "t": np.array(["one", "two"], object),
        },
        opset=20,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    onnx.save(everything(), folder / "model.onnx")
    succeeds("compile", "model.onnx", "-o", "model.om", cwd=folder)
    assert "output s" in succeeds("run", "model.om", cwd=folder)
    return folder / "model.om"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    onnx.save(affine(2), folder / "model.onnx")
    succeeds("compile", "model.onnx", "-o", "model.om", cwd=folder)
    return folder / "model.om"


def refused(path, *patterns):
    message = fails("run", path)
    for pattern in (re.escape(path.name), *patterns):
        assert re.search(pattern, message), f"the message does not say {pattern!r}: {message}"


# --- bytes ----------------------------------------------------------------------------------------


def header(version=om_files.VERSION, size=0, total=0, magic=om_files.MAGIC):
    return om_files.HEADER.pack(magic, version, size, total)


def overwritten(at, new):
    return lambda raw: raw[:at] + new + raw[at + len(new) :]


BYTES = {
    "nothing": (lambda raw: b"", "empty"),
    "one byte": (lambda raw: raw[:1], "ONNX"),
    "the magic alone": (lambda raw: raw[:8], "truncated"),
    "half a header": (lambda raw: raw[:20], "truncated"),
    "a header alone": (lambda raw: raw[:32], "truncated"),
    "half the structure": (lambda raw: raw[:200], "truncated"),
    "without its last byte": (lambda raw: raw[:-1], "truncated"),
    "without its last weight": (lambda raw: raw[:-64], "truncated"),
    "with something behind it": (lambda raw: raw + bytes(64), "expected"),
    "another magic": (overwritten(1, b"x"), "ONNX"),
    "line ends changed in transfer": (lambda raw: raw.replace(b"\r\n", b"\n"), "ONNX"),
    "an older version": (overwritten(8, b"\x01"), "version 1", "version 2 is known", "aoe compile"),
    "a newer version": (overwritten(8, b"\x03"), "version 3", "version 2 is known", "aoe compile"),
    "a version of many digits": (overwritten(8, b"\xff" * 8), f"version {(1 << 64) - 1}"),
    "a structure of no bytes": (overwritten(16, bytes(8)), "checksum of its structure"),
    "a structure beyond the file": (overwritten(16, b"\xff\xff\xff"), "truncated"),
    "a structure beyond all files": (overwritten(16, b"\xff" * 8), "damaged"),
    "a structure that overflows": (overwritten(16, b"\xe0" + b"\xff" * 6 + b"\x7f"), "damaged"),
    "another checksum": (overwritten(24, bytes(8)), "checksum of its structure"),
    "header and zeros": (lambda raw: header(size=0) + bytes(1000), "checksum of its structure"),
    "an empty structure": (lambda raw: om_files.with_header(b"", []), "no outputs"),
    "another kind of message": (
        lambda raw: om_files.with_header(b"This is no model.", []),
        "structure cannot be read",
    ),
}


@pytest.mark.parametrize("case", BYTES)
def test_bytes(case, whole, tmp_path):
    damage, *patterns = BYTES[case]
    (tmp_path / "model.om").write_bytes(damage(whole.read_bytes()))
    refused(tmp_path / "model.om", *patterns)


@pytest.mark.parametrize("part", range(8))
def test_truncated_files(part, small, tmp_path):
    raw = small.read_bytes()
    for length in range(8 + part, len(raw), 8):
        (tmp_path / "model.om").write_bytes(raw[:length])
        refused(tmp_path / "model.om", "truncated")


@pytest.mark.parametrize("part", range(8))
def test_flipped_bits(part, whole, tmp_path):
    """Every bit counts, also those of zeros between parts."""
    raw = whole.read_bytes()
    random = np.random.default_rng(part)
    for bit in random.integers(8 * len(raw), size=25).tolist():
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        (tmp_path / "model.om").write_bytes(flipped)
        refused(tmp_path / "model.om", "damaged|truncated|version|ONNX|expected")


# --- what the structure says ----------------------------------------------------------------------


def value(structure, name):
    return next(v for v in structure.graph.values if v.name == name.encode())


def number(structure, name):
    return list(structure.graph.values).index(value(structure, name))


def named(structure, name):
    return next(n for n in structure.graph.nodes if n.name == name.encode())


def edit(path):
    """Sets a field: edit("graph.nodes[0].opset = 7")."""
    target, _, new = path.partition(" = ")
    return lambda s: exec(f"s.{target} = new", {"s": s, "new": eval(new)})


def append(path, *numbers):
    return lambda s: eval(f"s.{path}", {"s": s}).extend(numbers)


def on(find, change):
    """Applies a change to what `find` finds in the structure."""
    return lambda structure: change(find(structure))


def choice(structure):
    return named(structure, "choice")


def in_bodies(change):
    """Applies a change to all subgraphs of a node."""

    def change_all(changed):
        for body in changed.bodies:
            change(body)

    return change_all


def nested(depth):
    """Puts `depth` subgraphs into each other."""

    def change(structure):
        inner = om_files.model_type()().graph
        for _ in range(depth):
            outer = om_files.model_type()().graph
            outer.nodes.add(op=b"If", opset=17).bodies.add(attribute=b"then_branch").graph.CopyFrom(
                inner
            )
            inner = outer
        structure.graph.nodes.add().CopyFrom(inner.nodes[0])

    return change


def many(structure):
    for _ in range(100_000):
        structure.weights.add(bytes=(1 << 63) // 50_000)


GRAPH = {
    "no graph": (lambda s: s.ClearField("graph"), "no outputs"),
    "no outputs": (lambda s: s.graph.ClearField("outputs"), "no outputs"),
    "output that is no value": (edit("graph.outputs[0].value = 99"), "value 99"),
    "negative output": (edit("graph.outputs[0].value = -1"), "value -1"),
    "output without a name": (edit("graph.outputs[0].name = b''"), "output has no name"),
    "two outputs of a name": (edit("graph.outputs[0].name = b'z'"), "output 'z' is listed twice"),
    "output that nothing makes": (lambda s: s.graph.nodes.pop(2), "'z'"),
    "input that is no value": (append("graph.inputs", 99), "value 99"),
    "negative input": (append("graph.inputs", -5), "value -5"),
    "an input twice": (lambda s: s.graph.inputs.append(s.graph.inputs[0]), "'x'", "twice"),
    "an input that is a constant": (
        lambda s: s.graph.inputs.append(number(s, "w")),
        "'w'",
        "constant",
    ),
    "two inputs of a name": (on(lambda s: value(s, "flag"), edit("name = b'x'")), "'x'", "twice"),
    "input without a name": (on(lambda s: value(s, "x"), edit("name = b''")), "no name"),
    "an input that a node makes": (
        lambda s: s.graph.inputs.append(number(s, "p")),
        "'p'",
        "exists already",
    ),
    "value names of other bytes": (
        on(lambda s: value(s, "p"), edit(r"name = b'\xff\xfe'")),
        "not UTF-8",
    ),
    "a graph's name of other bytes": (edit(r"graph.name = b'\xff'"), "not UTF-8"),
    "input of no kind": (on(lambda s: value(s, "x"), edit("type.kind = 7")), "'x'", "7"),
    "input of no type": (
        on(lambda s: value(s, "x"), edit("type.dtype = b'float33'")),
        "'x'",
        "float33",
    ),
    "input with two shapes": (
        on(lambda s: value(s, "x"), lambda v: v.type.shape.extents.append(2)),
        "'x'",
        "shape",
    ),
    "negative dimension": (
        on(lambda s: value(s, "x"), edit("dims.dims[0].size = -2")),
        "'x'",
        "-2",
    ),
    "dimensions that overflow": (
        on(lambda s: value(s, "x"), edit(f"dims.dims[0].size = {INT64_MAX}")),
        "'x'",
        "too large",
    ),
    "dimensions of a sequence": (
        on(lambda s: value(s, "x"), edit("type.kind = 1")),
        "'x'",
        "dimensions",
    ),
    "a dimension's name of other bytes": (
        on(lambda s: value(s, "x"), edit(r"dims.dims[0].symbol = b'\xff'")),
        "not UTF-8",
    ),
    "declared shape that overflows": (
        on(
            lambda s: value(s, "z"),
            lambda v: v.declared.shape.extents.extend([INT64_MAX, INT64_MAX]),
        ),
        "'z'",
        "too large",
    ),
    "other dimensions than the model works for": (
        on(lambda s: value(s, "x"), edit("dims.dims[1].size = 5")),
        "product",
    ),
}

NODES = {
    "unknown operator": (edit("graph.nodes[0].op = b'MatMull'"), "product", "MatMull"),
    "operator of other bytes": (edit(r"graph.nodes[0].op = b'\xff'"), "product", "operator"),
    "unknown domain": (edit("graph.nodes[0].domain = b'com.example'"), "product", "com.example"),
    "no opset": (edit("graph.nodes[0].opset = 0"), "product", "opset 0"),
    "negative opset": (edit("graph.nodes[0].opset = -3"), "product", "opset -3"),
    "opset of the future": (edit("graph.nodes[0].opset = 99"), "product", "opset 99"),
    "name of other bytes": (edit(r"graph.nodes[0].name = b'\xff'"), "not UTF-8"),
    "input that is no value": (append("graph.nodes[0].inputs", 99), "product", "value 99"),
    "negative input": (append("graph.nodes[0].inputs", -2), "product", "value -2"),
    "input of many digits": (
        append("graph.nodes[0].inputs", (1 << 31) - 1),
        "product",
        "value 214",
    ),
    "output that is no value": (append("graph.nodes[0].outputs", 99), "product", "value 99"),
    "too many inputs": (append("graph.nodes[0].inputs", *[0] * 5000), "product", "inputs"),
    "no inputs": (lambda s: s.graph.nodes[0].ClearField("inputs"), "product"),
    "left-out input that is needed": (edit("graph.nodes[0].inputs[0] = -1"), "product"),
    "a value of two nodes": (
        lambda s: s.graph.nodes.add().CopyFrom(s.graph.nodes[0]),
        "product",
        "exists already",
    ),
    "a node that makes a constant": (
        lambda s: s.graph.nodes[2].outputs.append(number(s, "w")),
        "turn",
        "'w'",
        "exists already",
    ),
    "a node before what it uses": (
        lambda s: s.graph.nodes.insert(0, s.graph.nodes.pop(2)),
        "turn",
        "'p'",
    ),
    "a node that uses what it makes": (
        lambda s: edit(f"graph.nodes[0].inputs[0] = {number(s, 'p')}")(s),
        "product",
        "'p'",
    ),
    "attribute without a value": (
        on(lambda s: named(s, "turn"), lambda n: n.attributes.add(name=b"other")),
        "turn",
        "other",
        "no value",
    ),
    "attribute twice": (
        on(lambda s: named(s, "turn"), lambda n: n.attributes.append(n.attributes[0])),
        "turn",
        "perm",
        "twice",
    ),
    "attribute of another type": (
        on(lambda s: named(s, "turn").attributes[0], edit("real = 0.5")),
        "turn",
        "perm",
    ),
    "attribute that makes no sense": (
        on(lambda s: named(s, "turn").attributes[0], edit("integers.elements[0] = 7")),
        "turn",
        "7",
    ),
    "attribute name of other bytes": (
        on(lambda s: named(s, "turn").attributes[0], edit(r"name = b'\xff'")),
        "not UTF-8",
    ),
    "a type's shape that overflows": (
        on(
            lambda s: named(s, "turn"),
            lambda n: n.attributes.add(name=b"t").type.shape.extents.extend([INT64_MAX, 9]),
        ),
        "turn",
        "too large",
    ),
    "a sequence with a shape": (
        on(
            lambda s: named(s, "turn"),
            lambda n: n.attributes.add(name=b"t", type={"kind": 1, "shape": {"extents": [1]}}),
        ),
        "turn",
        "shape",
    ),
}

BODIES = {
    "no branch": (on(choice, lambda n: n.ClearField("bodies")), "choice", "branch"),
    "branch of another name": (on(choice, in_bodies(edit("attribute = b'a'"))), "choice", "branch"),
    "branch without its output": (on(choice, in_bodies(lambda b: b.graph.outputs.pop())), "choice"),
    "branch without a graph": (on(choice, lambda n: n.bodies[0].ClearField("graph")), "choice"),
    "captured value that is none": (
        on(choice, lambda n: n.bodies[0].captured.append(99)),
        "choice",
        "value 99",
    ),
    "negative captured value": (
        on(choice, edit("bodies[0].captured[0] = -1")),
        "choice",
        "value -1",
    ),
    "more captured than there are inputs": (
        on(choice, lambda n: n.bodies[0].captured.extend([0] * 10)),
        "choice",
        "captures",
    ),
    "fewer captured than there are inputs": (
        on(choice, in_bodies(lambda b: b.ClearField("captured"))),
        "choice",
    ),
    "captured value of later": (
        lambda s: edit(f"bodies[0].captured[0] = {number(s, 'z')}")(choice(s)),
        "choice",
        "'z'",
    ),
    "a branch's own node": (
        on(choice, edit("bodies[0].graph.nodes[0].op = b'Foo'")),
        "choice",
        "Foo",
    ),
    "more subgraphs than a file has": (nested(65), "64 deep|too deeply"),
    "subgraphs without end": (nested(300), "too deeply"),
}

WEIGHTS = {
    "weight that is none": (
        on(lambda s: value(s, "w"), edit("constant.weight = 99")),
        "'w'",
        "99",
    ),
    "constant without contents": (
        on(lambda s: value(s, "w"), lambda v: v.constant.ClearField("contents")),
        "'w'",
        "none",
    ),
    "constant of another size": (
        on(lambda s: value(s, "w"), lambda v: v.constant.shape.append(2)),
        "'w'",
        "48",
        "24",
    ),
    "constant of another type": (
        on(lambda s: value(s, "w"), edit("constant.dtype = b'float64'")),
        "'w'",
        "48",
        "24",
    ),
    "constant of no type": (
        on(lambda s: value(s, "w"), edit("constant.dtype = b''")),
        "'w'",
        "element type",
    ),
    "negative extent": (
        on(lambda s: value(s, "w"), lambda v: v.constant.shape.extend([-1, -1])),
        "'w'",
        "negative",
    ),
    "extents that overflow": (
        on(lambda s: value(s, "w"), lambda v: v.constant.shape.extend([1 << 62, 1 << 62])),
        "'w'",
        "too large",
    ),
    "bytes that overflow": (
        on(lambda s: value(s, "w"), lambda v: v.constant.shape.append(1 << 60)),
        "'w'",
        "overflows",
    ),
    "strings without texts": (
        on(lambda s: value(s, "w"), edit("constant.dtype = b'string'")),
        "'w'",
        "strings",
    ),
    "another checksum": (edit("weights[0].checksum = 1"), "checksum of weight 0"),
    "a weight beyond the file": (edit("weights[0].bytes = 1000000"), "truncated"),
    "a weight beyond all files": (edit("weights[0].bytes = (1 << 64) - 1"), "truncated"),
    "a weight that overflows": (edit("weights[0].bytes = (1 << 63) - 1"), "truncated"),
    "a weight more": (lambda s: s.weights.add(bytes=8), "truncated"),
    "a weight less": (lambda s: s.weights.pop(), "expected"),
    "weights whose sum overflows": (many, "truncated"),
}

STRUCTURES = {
    f"{table}: {case}": entry
    for table, cases in {
        "graph": GRAPH,
        "nodes": NODES,
        "bodies": BODIES,
        "weights": WEIGHTS,
    }.items()
    for case, entry in cases.items()
}


@pytest.mark.parametrize("case", STRUCTURES)
def test_structure(case, whole, tmp_path):
    change, *patterns = STRUCTURES[case]
    found = om_files.read(whole)
    change(found.structure)
    (tmp_path / "model.om").write_bytes(found.to_bytes())
    refused(tmp_path / "model.om", *patterns)


def test_what_is_declared_of_an_input_is_not_relied_on(small, tmp_path):
    found = om_files.read(small)
    value(found.structure, "x").declared.dtype = b"int64"
    (tmp_path / "model.om").write_bytes(found.to_bytes())
    assert "float32[2, 3]" in succeeds("run", tmp_path / "model.om")
    np.savez(tmp_path / "in.npz", x=np.ones((2, 3), np.int64))
    message = fails("run", tmp_path / "model.om", "--input", tmp_path / "in.npz")
    assert "float32" in message


def test_bools_are_0_or_1_whatever_the_file_says(tmp_path):
    flags = {"f": np.array([True, False])}
    built = model(
        [node("y = Where(f, x, zero)")],
        {"x": ("float32", [2])},
        {"y": ("float32", [2])},
        {**flags, "zero": np.zeros(2, np.float32)},
    )
    onnx.save(built, tmp_path / "m.onnx")
    succeeds("compile", "m.onnx", "-o", "m", cwd=tmp_path)
    found = om_files.read(tmp_path / "m.om")
    flag = next(v for v in found.graph().values if v.name == b"f").constant
    flag.weight = found.add_weight(b"\xff\x00")
    (tmp_path / "m.om").write_bytes(found.to_bytes())
    np.savez(tmp_path / "in.npz", x=np.float32([3, 4]))
    succeeds("run", "m.om", "--input", "in.npz", "--output", "y.npz", cwd=tmp_path)
    assert np.load(tmp_path / "y.npz")["y"].tolist() == [3, 0]


# --- policies -------------------------------------------------------------------------------------

# Each is not valid for the workload of `affine`, and none of them an error.
POLICIES = {
    "nothing": b"",
    "words": b"as fast as possible",
    "other bytes": b"\xff\xfe\x00\x01",
    "unknown axis": b"loops outer=1 [q:2]",
    "no power of two": b"loops outer=1 [b:3]",
    "lanes without end": b"loops outer=1 [b:1048576]",
    "vectors without end": b"loops outer=1 [b:2x1000000]",
    "negative": b"loops outer=-1 [b:2]",
    "digits": b"loops outer=99999999999999999999 [b:2]",
    "another algorithm": b"product tile=6x2x8 block=16x32 first=columns",
    "one line too many": b"loops outer=1 [b:2]\nloops outer=1 [b:2]",
    "unknown stage": b"stage 77 root\nloops outer=1 [b:2]",
    "threads without end": b"threads 1000000000\nloops outer=1 [b:2]",
    "a megabyte": b"loops outer=1 [b:2] " * 50_000,
    "a megabyte of brackets": b"[" * 1_000_000,
}


@pytest.mark.parametrize("case", POLICIES)
def test_a_bad_policy_is_told_of_and_not_used(case, small, tmp_path):
    found = om_files.read(small)
    found.structure.policies[0].text = POLICIES[case]
    (tmp_path / "model.om").write_bytes(found.to_bytes())
    outputs = []
    for file in (small, tmp_path / "model.om"):
        done = aoe("run", file)
        assert done.returncode == 0, done.stderr
        outputs.append((done.stdout, done.stderr.decode()))
    (printed, quiet), (same, complaint) = outputs
    assert quiet == ""
    assert same == printed
    assert complaint.count("\n") == 1
    assert f"{found.structure.policies[0].workload:016x}" in complaint
    assert "default policy" in complaint


def test_policies_for_other_workloads_do_no_harm(small, tmp_path):
    found = om_files.read(small)
    for key in (0, 1, (1 << 64) - 1):
        found.structure.policies.add(workload=key, text=b"no policy")
    (tmp_path / "model.om").write_bytes(found.to_bytes())
    done = aoe("run", tmp_path / "model.om")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_machine_of_any_name(small, tmp_path):
    found = om_files.read(small)
    found.structure.soc_version = b"\xff\x1b[31m" * 1000
    (tmp_path / "model.om").write_bytes(found.to_bytes())
    done = aoe("run", tmp_path / "model.om")
    assert done.returncode == 0
    assert len(done.stderr.decode()) < 3000  # Readable, and no longer than other messages.
