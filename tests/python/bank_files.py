"""Banks as docs/bank.md says they are, written without the product."""

import re
import sqlite3
import struct
from pathlib import Path

APPLICATION = 0x616F6562
FIELDS = {
    "soc_version": "TEXT",
    "instruction_set": "TEXT",
    "threads": "INTEGER",
    "allowed": "TEXT",
    "numerics": "TEXT",
    "mode": "TEXT",
    "before_ns": "REAL",
    "after_ns": "REAL",
    "speedup_low": "REAL",
    "speedup_high": "REAL",
    "noise_floor": "REAL",
    "samples": "INTEGER",
    "total_low": "REAL",
    "date": "TEXT",
    "effort": "TEXT",
    "product_version": "TEXT",
    "processor": "TEXT",
    "fingerprint": "TEXT",
    "types": "TEXT",
    "names": "TEXT",
    "evidence": "TEXT",
    "policy": "TEXT",
    "baseline": "TEXT",
    "workload": "TEXT",
}
SETS = ("types", "names", "evidence")


def hash_of(data: bytes) -> str:
    """FNV-1a, 64 bits."""
    number = 0xCBF29CE484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}"


def family_of(workload: str) -> str:
    """The hash of the text with its numbers, but not the digits in names, replaced by 0."""
    return hash_of(re.sub(r"(?<![\w%$#@])\d+(\.\d+)?(e[+-]?\d+)?", "0", workload).encode())


def entry(workload: str, policy: str, soc_version: str, **others) -> dict:
    """What a bank says of a workload; `others` changes what need not matter."""
    return {
        "workload": workload,
        "soc_version": soc_version,
        "instruction_set": "avx2",
        "threads": 1,
        "allowed": "winograd",
        "numerics": "direct",
        "mode": "Schedule",
        "policy": policy,
        "baseline": "",
        "before_ns": 2000.0,
        "after_ns": 1600.5,
        "speedup_low": 1.2,
        "speedup_high": 1.3,
        "noise_floor": 1.01,
        "samples": 48,
        "total_low": 1.2,
        "types": "Relu",
        "names": "only",
        "evidence": "job:1\njob:2",
        "processor": "a test's",
        "fingerprint": "microcode 0x1",
        "product_version": "0.1.0",
        "date": "2026-11-17T05:30:00Z",
        "effort": "O2",
    } | others


def checksum_of(fields: dict) -> str:
    data = b""
    for name, kind in FIELDS.items():
        value = fields[name]
        if kind == "TEXT":
            text = value if isinstance(value, bytes) else value.encode()
            data += struct.pack("<Q", len(text)) + text
        else:
            data += struct.pack("<d" if kind == "REAL" else "<q", value)
    return hash_of(data)


def write(path: Path, soc_version: str, entries: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = ", ".join(f"{name} {kind} NOT NULL" for name, kind in FIELDS.items())
    with sqlite3.connect(path) as bank:
        bank.executescript(f"""
            PRAGMA application_id = {APPLICATION};
            PRAGMA user_version = 2;
            CREATE TABLE bank (soc_version TEXT NOT NULL);
            CREATE TABLE policies (id INTEGER PRIMARY KEY, format INTEGER NOT NULL,
                key TEXT NOT NULL, family TEXT NOT NULL, {columns}, checksum TEXT NOT NULL);
            CREATE INDEX policies_by_key ON policies (key);
        """)
        bank.execute("INSERT INTO bank VALUES (?)", (soc_version,))
        for fields in entries:
            row = {
                "format": 1,
                "key": hash_of(fields["workload"].encode()),
                "family": family_of(fields["workload"]),
            }
            row |= {name: fields[name] for name in FIELDS} | {"checksum": checksum_of(fields)}
            marks = ", ".join("?" for _ in row)
            names = ", ".join(row)
            bank.execute(f"INSERT INTO policies ({names}) VALUES ({marks})", tuple(row.values()))
    bank.close()
    return path


def sql(text):
    """A function that executes the text in the database of a path."""

    def change(path):
        with sqlite3.connect(path) as opened:
            opened.executescript(text)
        opened.close()

    return change


def seal(path, **fields):
    """Changes an entry and puts its checksum right."""
    with sqlite3.connect(path) as opened:
        opened.row_factory = sqlite3.Row
        row = dict(opened.execute("SELECT * FROM policies").fetchone()) | fields
        row["checksum"] = checksum_of(row)
        opened.execute(
            "UPDATE policies SET " + ", ".join(f"{name} = ?" for name in row), tuple(row.values())
        )
    opened.close()
