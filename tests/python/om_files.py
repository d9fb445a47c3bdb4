"""Reads and writes .om files as docs/om.md describes them, apart from the engine's own code.

A file that was read can be changed and written again, whole: what a test damages is then only what
it means to damage.
"""

import struct
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

ROOT = Path(__file__).resolve().parents[2]

MAGIC = b"\x89aom\r\n\x1a\n"
VERSION = 2
HEADER = struct.Struct("<8sQQQ")  # Magic, version, bytes of the structure, checksum.
ALIGNMENT = 64
WORD = (1 << 64) - 1


@cache
def model_type():
    """The message `Model` of om.proto."""
    schema = subprocess.run(
        [
            "protoc",
            f"--proto_path={ROOT}/src",
            "--descriptor_set_out=/dev/stdout",
            "frontend/om.proto",
        ],
        check=True,
        capture_output=True,
    ).stdout
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(schema).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("aoe.om.Model"))


def checksum(raw: bytes, start: int = 0) -> int:
    def mixed(so_far, word):
        product = (so_far ^ word) * 0x9E3779B97F4A7C15 & WORD
        return (product << 29 | product >> 35) & WORD

    offset = 0xCBF29CE484222325
    chains = [(offset + start + i) & WORD for i in range(8)]
    for block in struct.iter_unpack("<8Q", padded(raw)):
        chains = [mixed(*pair) for pair in zip(chains, block, strict=True)]
    result = offset
    for chain in chains:
        result = mixed(result, chain)
    return result ^ result >> 32


def padded(raw: bytes) -> bytes:
    return raw + bytes(-len(raw) % ALIGNMENT)


@dataclass
class OmFile:
    """The structure, a message, and the contents of the weights that it lists."""

    structure: object
    weights: list[bytes]

    def to_bytes(self, version: int = VERSION) -> bytes:
        """The file with sizes and checksums that are right, but for those in the structure."""
        return with_header(self.structure.SerializeToString(), self.weights, version)

    def graph(self):
        return self.structure.graph

    def add_weight(self, raw: bytes) -> int:
        self.structure.weights.add(bytes=len(raw), checksum=checksum(raw))
        self.weights.append(raw)
        return len(self.weights) - 1


def with_header(structure: bytes, weights: list[bytes], version: int = VERSION) -> bytes:
    # The header is no multiple of the alignment, so its bytes count for the padding.
    padding = bytes(-(HEADER.size + len(structure)) % ALIGNMENT)
    total = checksum(structure + padding, start=len(structure))
    header = HEADER.pack(MAGIC, version, len(structure), total)
    return header + structure + padding + b"".join(map(padded, weights))


def read(path: Path) -> OmFile:
    raw = path.read_bytes()
    magic, version, size, total = HEADER.unpack_from(raw)
    assert (magic, version) == (MAGIC, VERSION)
    at = HEADER.size + size + -(HEADER.size + size) % ALIGNMENT
    assert total == checksum(raw[HEADER.size : at], start=size)
    structure = model_type().FromString(raw[HEADER.size : HEADER.size + size])
    weights = []
    for weight in structure.weights:
        weights.append(raw[at : at + weight.bytes])
        assert checksum(weights[-1]) == weight.checksum
        at += len(padded(weights[-1]))
    assert at == len(raw)
    return OmFile(structure, weights)
