"""Model files with bad bytes, weights, subgraphs or functions, each with what the message must say.

A case is a function that writes `model.onnx` into a folder, and the patterns.
"""

import os
from itertools import pairwise

import onnx
from onnx import TensorProto, helper
from onnx_models import model, node

FLOAT = TensorProto.FLOAT
INT64_MAX = (1 << 63) - 1


def written(built):
    """Writes a model, or bytes."""
    raw = built if isinstance(built, bytes) else built.SerializeToString()
    return lambda folder: (folder / "model.onnx").write_bytes(raw)


def folder_called_model(folder):
    (folder / "model.onnx").mkdir()


def unreadable(folder):
    written(b"")(folder)
    (folder / "model.onnx").chmod(0)


FILES = {
    "no file": (lambda folder: None, "no such file|not exist|not found|cannot open"),
    "directory": (folder_called_model, "directory"),
    "no permission": (unreadable, "permission denied"),
    "empty": (written(b""), "empty"),
    "text": (written(b"This is no model.\n" * 100), "ONNX|protobuf|pars"),
    "zeros": (written(bytes(1000)), "ONNX|protobuf|pars"),
    "another format": (written(b"PK\x03\x04" + bytes(range(256))), "ONNX|protobuf|pars"),
}


def weight(**fields):
    """y = x + w, with a `w` of these fields; it claims to be two floats."""
    fields = {"name": "w", "data_type": FLOAT, "dims": [2], **fields}
    return written(
        model(
            [node("y = Add(x, w)", name="sum")],
            {"x": ("float32", [2])},
            {"y": ("float32", [2])},
            {"w": TensorProto(**fields)},
        )
    )


TOO_LARGE = "too large|too big|overflow|short|bytes|elements"

WEIGHTS = {
    "raw data too short": (weight(raw_data=bytes(7)), "w", "7", "8"),
    "raw data too long": (weight(raw_data=bytes(12)), "w", "12", "8"),
    "no data": (weight(), "w"),
    "too few floats": (weight(float_data=[1]), "w", "1", "2"),
    "too many floats": (weight(float_data=[1, 2, 3]), "w", "3", "2"),
    "data in the wrong field": (weight(int64_data=[1, 2]), "w"),
    "data in two fields": (weight(float_data=[1, 2], raw_data=bytes(8)), "w"),
    "negative dimension": (weight(dims=[-2], raw_data=bytes(8)), "w", "-2|negative"),
    "two negative dimensions": (weight(dims=[-1, -2], raw_data=bytes(8)), "w", "-1|negative"),
    "enormous dimension": (weight(dims=[1 << 40], raw_data=bytes(8)), "w", TOO_LARGE),
    "size that overflows": (weight(dims=[1 << 32] * 2, raw_data=bytes(8)), "w", TOO_LARGE),
    "bytes that overflow": (weight(dims=[1 << 62], raw_data=b""), "w", TOO_LARGE),
    "overflow hidden by a zero": (weight(dims=[1 << 40, 1 << 40, 1 << 40, 0]), "w|sum"),
    "no type": (weight(data_type=0, raw_data=bytes(8)), "w", "type"),
    "unknown type": (weight(data_type=99, raw_data=bytes(8)), "w", "99"),
    "strings as raw data": (weight(data_type=TensorProto.STRING, raw_data=bytes(8)), "w"),
    "no name": (weight(name="", raw_data=bytes(8)), "name|w"),
}


def external(prepare=lambda folder: None, **entries):
    """A weight of two floats in another file, which `entries` say; `prepare` makes files."""
    pairs = [onnx.StringStringEntryProto(key=k, value=str(v)) for k, v in entries.items()]
    write = weight(data_location=TensorProto.EXTERNAL, external_data=pairs)

    def make(folder):
        write(folder)
        (folder / "w.bin").write_bytes(bytes(8))
        # A file that exists, but that no model in `folder` may read.
        (folder.parent / "outside.bin").write_bytes(bytes(8))
        prepare(folder)

    return make


def link_out(folder):
    (folder / "link.bin").symlink_to(folder.parent / "outside.bin")


def linked_folder(folder):
    (folder / "sub").symlink_to(folder.parent, target_is_directory=True)


def subfolder(folder):
    (folder / "sub").mkdir()


def fifo(folder):
    os.mkfifo(folder / "pipe.bin")


def closed(folder):
    (folder / "w.bin").chmod(0)


OUTSIDE = "outside"

EXTERNAL_DATA = {
    "missing": (external(location="nowhere.bin"), "w", "nowhere.bin"),
    "too short": (external(location="w.bin", offset=4), "w", "w.bin"),
    "shorter than it says": (external(location="w.bin", length=100), "w", "100"),
    "length that is not the weight's": (external(location="w.bin", length=4), "w", "4", "8"),
    "past the end": (external(location="w.bin", offset=1 << 40), "w", "w.bin"),
    "offset that overflows": (external(location="w.bin", offset=INT64_MAX, length=8), "w"),
    "negative offset": (external(location="w.bin", offset=-8), "w", "offset"),
    "negative length": (external(location="w.bin", length=-8), "w", "length"),
    "offset that is no number": (external(location="w.bin", offset="ten"), "w", "offset", "ten"),
    "offset of too many digits": (external(location="w.bin", offset="9" * 40), "w", "offset"),
    "no location": (external(offset=0), "w", "location"),
    "empty location": (external(location=""), "w", "location"),
    "no permission": (external(closed, location="w.bin"), "w", "permission denied"),
    "parent folder": (external(location="../outside.bin"), "w", OUTSIDE),
    "parent folder by a detour": (external(subfolder, location="sub/../../outside.bin"), OUTSIDE),
    "absolute path": (external(location="/etc/passwd"), "w", OUTSIDE + "|absolute"),
    "link to the outside": (external(link_out, location="link.bin"), "w", OUTSIDE),
    "folder that is a link": (external(linked_folder, location="sub/outside.bin"), "w", OUTSIDE),
    "directory": (external(subfolder, location="sub"), "w", "sub"),
    "pipe": (external(fifo, location="pipe.bin"), "w", "pipe.bin"),
}


def renamed(built, old):
    """The model with the name `old` replaced by bytes that are no UTF-8."""
    raw = built.SerializeToString()
    assert old.encode() in raw
    return written(raw.replace(old.encode(), (b"\xff\xfe\xc3\x28" * len(old))[: len(old)]))


def one_node(**fields):
    bad = model(
        [node("yyyy = Relu(xxxx)", name="nnnn")],
        {"xxxx": ("float32", [2])},
        {"yyyy": ("float32", [2])},
    )
    for name, value in fields.items():
        setattr(bad.graph.node[0], name, value)
    return bad


NAMES = {
    "input": (renamed(one_node(), "xxxx"), "UTF-8"),
    "output": (renamed(one_node(), "yyyy"), "UTF-8"),
    "node": (renamed(one_node(), "nnnn"), "UTF-8"),
    "operator": (renamed(one_node(op_type="oooo"), "oooo"), "nnnn|UTF-8"),
    "domain": (renamed(one_node(domain="dddd"), "dddd"), "nnnn|UTF-8"),
    "control characters": (written(one_node(op_type="\x1b[31mRelu\n")), "nnnn"),
}


def nested(levels):
    """If within If within If, `levels` deep. Made by hand: protobuf's own limit is lower."""
    leaf = helper.make_graph([node("y = Relu(x)")], "leaf", [], [onnx.ValueInfoProto(name="y")])
    leaf = leaf.SerializeToString()
    graph = leaf
    for _ in range(levels):
        branches = branch(b"then_branch", graph) + branch(b"else_branch", leaf)
        call = field(1, field(1, b"c") + field(2, b"y") + field(4, b"If") + branches)
        graph = call + field(2, b"level") + field(12, field(1, b"y"))
    outer = model([], {"x": ("float32", [2]), "c": ("bool", [])}, {"y": ("float32", [2])})
    return written(outer.SerializeToString() + field(7, call))


def branch(name, graph):
    type_is_graph = varint(20 << 3) + varint(onnx.AttributeProto.GRAPH)
    return field(5, field(1, name) + field(6, graph) + type_is_graph)


def field(number, content):
    """A field of bytes in protobuf's format."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number):
    raw = bytearray()
    while number > 127:
        raw.append(number & 127 | 128)
        number >>= 7
    raw.append(number)
    return bytes(raw)


def functions(**bodies):
    """y = first(x), where functions call each other: bodies of nodes that go from a to b."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    built = model(
        [node("y = first(x)", name="call", domain="local")],
        {"x": ("float32", [2])},
        {"y": ("float32", [2])},
        functions=[
            helper.make_function("local", name, ["a"], ["b"], list(nodes), opsets)
            for name, nodes in bodies.items()
        ],
    )
    built.opset_import.append(opsets[1])
    return written(built)


def call(text):
    return node(text, domain="local")


def doubling(levels):
    """Each function calls the next one twice: a small file, but 2^levels nodes."""
    names = ["first", *(f"f{i}" for i in range(1, levels))]
    bodies = {
        name: [call(f"m = {after}(a)"), call(f"b = {after}(m)")] for name, after in pairwise(names)
    }
    return functions(**bodies, **{names[-1]: [node("b = Relu(a)")]})


NESTING = {
    "subgraphs 300 deep": (nested(300), "deep|nest|recurs|pars"),
    "subgraphs 5000 deep": (nested(5000), "deep|nest|recurs|pars"),
    "function that calls itself": (
        functions(first=[call("b = first(a)")]),
        "first",
        "recurs|itself",
    ),
    "functions that call each other": (
        functions(first=[call("b = second(a)")], second=[call("b = first(a)")]),
        "first|second",
        "recurs|itself",
    ),
    "functions that double forty times": (doubling(40), "function|nodes"),
    "function that nobody defined": (functions(first=[call("b = second(a)")]), "second"),
    "function without its output": (functions(first=[node("c = Relu(a)")]), "b"),
    "function with an unknown operator": (functions(first=[node("b = Nope(a)")]), "Nope"),
}
