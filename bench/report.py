#!/usr/bin/env python3
"""Prints the tables of a results file again, and draws its page again."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from show import page, table

FORMAT = "aoe-bench 2"


def read(path: Path) -> dict:
    """The results in a file that bench/run.py wrote."""
    try:
        results = json.loads(path.read_text())
    except OSError as error:
        raise SystemExit(f"report.py: {path}: {error.strerror}") from None
    except ValueError as error:
        raise SystemExit(f"report.py: {path} is no JSON: {error}") from None
    found = results.get("format") if isinstance(results, dict) else None
    if found != FORMAT:
        raise SystemExit(
            f"report.py: {path}: the format is {found!r}, not {FORMAT!r}: "
            "give a file that bench/run.py wrote"
        )
    return results


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="what bench/run.py wrote")
    parser.add_argument("--markdown", action="store_true", help="tables for a document")
    parser.add_argument("--page", type=Path, help="where the page goes")
    options = parser.parse_args(arguments)
    results = read(options.results)
    try:
        shown = table.markdown(results) if options.markdown else table.text(results)
        drawn = page.render(results)
    except (KeyError, TypeError) as error:
        raise SystemExit(f"report.py: {options.results} is not whole: {error!r}") from None
    print(shown)
    if options.page:
        try:
            options.page.write_text(drawn, encoding="utf-8")
        except OSError as error:
            raise SystemExit(f"report.py: {options.page}: {error.strerror}") from None


if __name__ == "__main__":
    main()
