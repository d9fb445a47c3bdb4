"""Checks what no other linter knows: the order of the folders in src, and the length of files.

A folder of src includes itself and the folders before it in LAYERS, nothing else, so that reading
the folders in this order never needs one that was not read yet. Subfolders that LAYERS does not
name belong to their folder. No two source files share a name.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = [
    "base",
    "device",
    "regex",
    "expr",
    "op",
    "graph",
    "frontend",
    "loop",
    "policy",
    "program",
    "plan",
    "backend",
    "codegen/jit",
    "codegen/emit",
    "codegen",
    "bank",
    "runtime",
    "api",
    "measure/statistics",
    "measure/host",
    "measure/worker",
    "search",
    "tune/setup",
    "tune/journal",
    "tune/runner",
    "tune/job",
    "tune/layouts",
    "tune",
    "report",
    "cli",
]
MAX_LINES = 600
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def source_files() -> list[Path]:
    command = ["git", "ls-files", "-co", "--exclude-standard", "*.cpp", "*.c", "*.h", "*.py"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in names.splitlines() if (path := ROOT / name).exists()]


def layer_of(path: str) -> str | None:
    """The folder of LAYERS that a path from src lies in: the innermost one."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders), 0, -1):
        if (folder := "/".join(folders[:depth])) in LAYERS:
            return folder
    return None


def check_include(layer: str, included: str) -> str | None:
    """What is wrong with a file of `layer` that includes `included`, if anything."""
    if included.startswith("aoe/"):
        return None
    other = layer_of(included)
    if other is None:
        return f'"{included}" is not given by its path from src'
    if LAYERS.index(other) > LAYERS.index(layer):
        return f'"{included}" stands after {layer} in the order of the folders'
    return None


def check_file(path: Path) -> list[str]:
    name = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    problems = []
    if len(lines) > MAX_LINES:
        problems.append(f"{name}: {len(lines)} lines, at most {MAX_LINES}: split it")
    if name.parts[0] != "src":
        return problems
    layer = layer_of(str(name.relative_to("src")))
    if layer is None:
        return [*problems, f"{name}: {name.parent} has no place in the order of the folders"]
    for number, line in enumerate(lines, 1):
        if (match := INCLUDE.match(line)) and (problem := check_include(layer, match[1])):
            problems.append(f"{name}:{number}: {problem}")
    return problems


def check_names(paths: list[Path]) -> list[str]:
    names = Counter(path.name for path in paths if path.is_relative_to(ROOT / "src"))
    return [f"src: {count} files are named {name}" for name, count in names.items() if count > 1]


def main() -> int:
    paths = source_files()
    problems = [problem for path in paths for problem in check_file(path)] + check_names(paths)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
