"""Doctests of the modules changed since the last commit (or in it), and the quick tests of them: ``make quick``."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("analytics", "solvers", "validate", "airtight", "examples/papers")
SOURCES = [path for floor in FLOORS for path in ROOT.joinpath(floor).rglob("*.py") if path.resolve() == path]


def changed() -> list[Path]:
    """Python files that differ from the last commit, new ones too; where none does, those that it changed."""
    new = listed("ls-files", "--others", "--exclude-standard")
    return listed("diff", "--name-only", "HEAD") + new or listed("diff", "--name-only", "HEAD~1")


def listed(*command: str) -> list[Path]:
    """The Python files that a git command names and that are there."""
    names = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in names if name.endswith(".py") and (ROOT / name).exists()]


def tests_of(source: Path, seen: frozenset[Path] = frozenset()) -> set[Path]:
    """test_<module>.py, else the tests that import the module or name its file, else those of its importers."""
    if named := {test for test in texts() if test.name == f"test_{source.stem}.py"}:
        return named
    parts = in_package(source).with_suffix("").parts
    module = ".".join(parts[3:] if parts[0] == "examples" else parts).removesuffix(".__init__")
    direct = {test for test in texts() if module in imported(test)}
    if direct or (direct := {test for test, text in texts().items() if source.name in text}):
        return direct
    users = {path for path in SOURCES if path not in seen | {source} and module in imported(path)}
    return {test for user in users for test in tests_of(user, seen | {source} | users)}


@cache
def texts() -> dict[Path, str]:
    """The text of every file of tests."""
    return {test: test.read_text(encoding="utf-8") for test in ROOT.glob("tests/**/test_*.py")}


def in_package(source: Path) -> Path:
    """Where the package has the file: below `airtight`, to which the other floors are linked, or in a package of a paper."""
    inside = source.relative_to(ROOT)
    return inside if inside.parts[0] in ("airtight", "examples") else Path("airtight") / inside


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules that a file imports, and what it takes from them."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.ImportFrom)]
    return frozenset({str(n.module) for n in nodes} | {f"{n.module}.{alias.name}" for n in nodes for alias in n.names})


def wanted(files: list[Path]) -> list[str]:
    """The files themselves for their doctests, and the tests of each."""
    sources = set(files) & set(SOURCES)
    tests = {file for file in files if file.relative_to(ROOT).parts[0] == "tests" and file.stem.startswith("test_")}
    tests |= {test for source in sources for test in tests_of(source)}
    return sorted(str(file) for file in {ROOT / in_package(file) for file in sources} | tests)


if __name__ == "__main__":
    command, files = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not slow"], changed()
    code = subprocess.run([*command, *wanted(files)], cwd=ROOT).returncode if files else 0
    sys.exit(0 if code == 5 else code)  # 5: nothing to run
