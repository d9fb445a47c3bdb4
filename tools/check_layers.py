"""Checks what no other linter knows: the order of the folders in src, and the length of files.

A folder of src includes itself and the folders before it in LAYERS, nothing else, so that reading
the folders in this order never needs one that was not read yet.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = [
    "base",
    "device",
    "expr",
    "op",
    "graph",
    "frontend",
    "policy",
    "program",
    "plan",
    "codegen",
    "bank",
    "runtime",
    "measure",
    "search",
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


def check_include(folder: str, included: str) -> str | None:
    """What is wrong with a file in src/<folder> that includes `included`, if anything."""
    if included.startswith("aoe/"):
        return None
    other = included.split("/")[0]
    if other not in LAYERS:
        return f'"{included}" is not given by its path from src'
    if LAYERS.index(other) > LAYERS.index(folder):
        return f'"{included}" stands after {folder} in the order of the folders'
    return None


def check_file(path: Path) -> list[str]:
    name = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    problems = []
    if len(lines) > MAX_LINES:
        problems.append(f"{name}: {len(lines)} lines, at most {MAX_LINES}: split it")
    if name.parts[0] != "src":
        return problems
    folder = name.parts[1]
    if folder not in LAYERS:
        return [*problems, f"{name}: src/{folder} has no place in the order of the folders"]
    for number, line in enumerate(lines, 1):
        if (match := INCLUDE.match(line)) and (problem := check_include(folder, match[1])):
            problems.append(f"{name}:{number}: {problem}")
    return problems


def main() -> int:
    problems = [problem for path in source_files() for problem in check_file(path)]
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
