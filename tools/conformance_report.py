#!/usr/bin/env python3
"""Runs ONNX's backend suite and says what fails, operator by operator and reason by reason.

    tools/conformance_report.py                      summary
    tools/conformance_report.py 'test_conv*' --failures
    tools/conformance_report.py --left-out           lines for the table of what is left out

A crash or a hang of the engine costs one case: the cases run in child processes.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict

import conformance
from run_forked import CRASHED, HUNG, run_forked

TOP = 25


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", help="names or globs of cases; all if none")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one case")
    parser.add_argument("--failures", action="store_true", help="list every case that fails")
    parser.add_argument("--left-out", action="store_true", help="print lines for the table only")
    options = parser.parse_args()

    cases = [
        case
        for case in conformance.cases()
        if not options.patterns
        or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in options.patterns)
    ]
    with tempfile.TemporaryDirectory() as home:
        os.environ["ONNX_HOME"] = home
        os.environ.pop("ONNX_MODELS", None)
        results = run_forked({case.name: case.run for case in cases}, options.jobs, options.timeout)
    errors = {name: result.error for name, result in results.items() if result.error}
    if options.left_out:
        print_left_out(errors)
        return 0
    print_categories(cases, errors)
    print_operators(cases, errors)
    print_reasons(errors)
    print_slowest(results)
    if options.failures:
        print("\nfailures")
        for name, error in sorted(errors.items()):
            print(f"  {name}: {first_line(error)}")
    return 1 if errors else 0


def print_categories(cases: list, errors: dict[str, str]) -> None:
    print(f"{'category':<12}{'passed':>8}{'of':>7}")
    total = Counter(case.category for case in cases)
    failed = Counter(case.category for case in cases if case.name in errors)
    for category in sorted(total):
        print(f"{category:<12}{total[category] - failed[category]:>8}{total[category]:>7}")


def print_operators(cases: list, errors: dict[str, str]) -> None:
    total = Counter(conformance.operator_of(case) for case in cases)
    failed = Counter(conformance.operator_of(case) for case in cases if case.name in errors)
    print(
        f"\noperators: {len(total) - len(failed)} of {len(total)} pass all their cases; the others"
    )
    for name, count in sorted(failed.items(), key=lambda item: (-item[1], item[0])):
        print(f"  {name:<40}{total[name] - count:>5} of {total[name]}")


def print_reasons(errors: dict[str, str]) -> None:
    groups = by_reason(errors)
    print(f"\nreasons ({len(groups)}; the {TOP} most frequent)")
    for reason, names in sorted(groups.items(), key=lambda item: -len(item[1]))[:TOP]:
        more = ", ..." if len(names) > 2 else ""
        print(f"{len(names):>5}  {reason[:150]}\n       {', '.join(names[:2])}{more}")
    for fatal in (CRASHED, HUNG):
        names = [name for name, error in errors.items() if error.startswith(fatal)]
        if names:
            print(f"\n{fatal}: {', '.join(names)}")


def print_slowest(results: dict) -> None:
    slowest = sorted(results.items(), key=lambda item: -item[1].seconds)[:5]
    print("\nslowest: " + ", ".join(f"{name} {result.seconds:.1f} s" for name, result in slowest))


def print_left_out(errors: dict[str, str]) -> None:
    """One line for each run of names with one reason that a glob can hold, and nothing else."""
    for reason, names in sorted(by_reason(errors).items()):
        others = {case.name for case in conformance.cases()} - set(names)
        for pattern in globs(names, others):
            print(f"{pattern:<60} {reason}")


def by_reason(errors: dict[str, str]) -> dict[str, list[str]]:
    groups = defaultdict(list)
    for name, error in errors.items():
        text = re.sub(rf"[\w/.:]*{re.escape(name)}[\w/.:]*", "<case>", first_line(error))
        groups[re.sub(r"\d+(\.\d+)?(e[-+]\d+)?", "#", text)].append(name)
    return groups


def first_line(error: str) -> str:
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines and lines[0].endswith(":") else lines[0]


def globs(names: list[str], others: set[str]) -> list[str]:
    """The shortest list of names and `prefix*` patterns that hold `names` and none of `others`."""
    patterns = []
    left = sorted(names)
    while left:
        first = left[0]
        parts = first.split("_")
        pattern, held = first, [first]
        for count in range(2, len(parts) + 1):
            prefix = "_".join(parts[:count])
            found = [name for name in left if name.startswith(prefix)]
            if len(found) > 1 and not any(name.startswith(prefix) for name in others):
                pattern, held = prefix + "*", found
                break
        patterns.append(pattern)
        left = [name for name in left if name not in held]
    return patterns


if __name__ == "__main__":
    sys.exit(main())
