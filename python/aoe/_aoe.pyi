"""The engine, as the Python package sees it."""

from typing import Any

class Error(Exception):
    """What a model or an input is refused for."""

class Model:
    """A loaded model. A value is what `aoe._values` says; `run` releases the GIL."""

    @staticmethod
    def load(
        source: str | bytes,
        input_shapes: dict[str, list[int]],
        threads: int,
        kernels: str,
        op_select_implmode: str,
        optypelist_for_implmode: list[str],
        allow_strassen: bool,
    ) -> Model:
        """Loads a path (str) or the bytes of a model; 0 threads are as many as there are cores."""

    def inputs(self) -> list[tuple[str, str, list[int | str] | None]]:
        """Name, type and dimensions of each input; an open dimension is its name, or "?"."""

    def outputs(self) -> list[tuple[str, str, list[int | str] | None]]: ...
    def bank_hits(self) -> int: ...
    def run(self, feeds: list[tuple[str, Any]]) -> list[Any]:
        """The outputs, in the order of `outputs`."""

def version() -> str: ...
def bank_entries(path: str) -> list[str]: ...
def bank_export(path: str, file: str | None) -> tuple[str, list[str]]: ...
def bank_merge(into: str, sources: list[str], dry_run: bool) -> tuple[int, int, int, int]: ...
