"""Banks of tuned policies: what is in one, and merging several."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, NamedTuple

from aoe import _aoe


class Merged(NamedTuple):
    """What became of the entries of a merge, or would."""

    added: int
    updated: int
    kept: int
    skipped: int


class Bank:
    """The bank in a file, op.db or graph.db. The file is opened by each call."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fsdecode(path)

    def __repr__(self) -> str:
        return f"Bank({self.path!r})"

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries, with the columns of docs/bank.md; without those that cannot be read."""
        return [json.loads(line) for line in _aoe.bank_entries(self.path)]

    def export(self, path: str | os.PathLike[str] | None = None) -> str:
        """The entries as lines of JSON, in the order of their keys; written to `path` too.

        Warns of entries that are left out because they cannot be read or are not UTF-8.
        """
        file = None if path is None else os.fsdecode(path)
        text, skipped = _aoe.bank_export(self.path, file)
        for problem in skipped:
            warnings.warn(f"{problem}: it is skipped", stacklevel=2)
        return text

    def merge(self, *sources: Bank | str | os.PathLike[str], dry_run: bool = False) -> Merged:
        """Merges other banks of the same processor into this one, which is made if it is missing.

        Of two policies for one workload the better proven one is kept. Nothing changes if a source
        cannot be read or is for another processor, or with `dry_run`.
        """
        paths = [
            source.path if isinstance(source, Bank) else os.fsdecode(source) for source in sources
        ]
        return Merged(*_aoe.bank_merge(self.path, paths, dry_run))
