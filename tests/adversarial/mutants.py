"""Mutation check: change one constant or sign of a formula at a time and see whether a test notices.

Cosmic Ray makes the changes (numbers one up or down, + for -, * for /, a dropped minus); this script runs the tests in forked
processes that share the imports of everything heavy, so that a mutant costs what its tests cost. First the doctests of the
module, then the test files that import it, the quickest first; the first failure kills the mutant.

    python tests/adversarial/mutants.py --share 0.1 --workers 2 airtight/analytics/privacy/gaussian.py airtight/solvers
"""

from __future__ import annotations

import argparse
import ast
import difflib
import doctest
import importlib
import importlib.util
import os
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPERATORS = (
    "NumberReplacer",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceUnaryOperator_Delete_USub",
)
NOT_FORMULAS = ("checks.py", "__init__.py")
HEAVY = (
    *(
        "numpy",
        "scipy.special",
        "scipy.optimize",
        "scipy.stats",
        "scipy.integrate",
        "scipy.linalg",
        "scipy.sparse",
        "scipy.fft",
    ),
    *(
        "flint",
        "sympy",
        "cvxpy",
        "mpmath",
        "matplotlib.figure",
        "xarray",
        "sklearn.datasets",
        "networkx",
        "pydantic",
        "click",
    ),
    *("rich.table", "jinja2", "pytest", "hypothesis.strategies", "hypothesis.extra.numpy", "latex2mathml.converter"),
)
LONG = (
    "test_ledger",
    "test_experiments",
    "test_figures",
    "test_report",
    "test_package",
    "test_cli",
    "test_house",
    "test_training",
)


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: Path
    operator: str
    occurrence: int
    source: str

    @property
    def module(self) -> str:
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    def diff(self) -> str:
        old, new = self.path.read_text().splitlines(), self.source.splitlines()
        lines = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:1] in "+-@"]
        return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = path.read_text()
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        for occurrence in range(10_000):
            changed = mutate_code(source, operator, occurrence)
            if changed is None:
                break
            if "/," not in changed.replace(" ", "") or "/," in source.replace(" ", ""):  # a * among the parameters
                yield Mutant(path, name, occurrence, changed)


class _Changed:
    """Imports one module from the mutant's text."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(name, self.mutant.path, loader=self)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: object) -> None:
        exec(compile(self.mutant.source, str(self.mutant.path), "exec"), module.__dict__)


def preload() -> None:
    """What the tests import and mutants do not change."""
    for name in HEAVY:
        importlib.import_module(name)


def child(mutant: Mutant | None, file: Path | None) -> int:
    """Run the doctests of the mutant's module, or one test file; the process's exit code: 0 when all passed."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Changed(mutant))
    if file is None:
        module = importlib.import_module(mutant.module)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        return int(doctest.testmod(module, optionflags=flags).failed > 0)
    import pytest

    quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "-q"]
    return int(pytest.main(["-x", "-m", "not slow", *quiet, str(file)]))


def forked(mutant: Mutant | None, file: Path | None) -> int:
    """The child's process number."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        os.setpgrp()
        code = child(mutant, file)
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def waited(number: int, limit: float) -> bool:
    """Whether the child passed; what takes too long is killed, and counts as noticed."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(number, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.killpg(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return False


def imported(path: Path) -> set[str]:
    """Modules of the project that a file names in its imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.startswith("airtight.")}


def reach() -> dict[str, dict[Path, int]]:
    """For every module the test files that reach it, and over how many imports."""
    direct = {}
    for path in [p for floor in ("analytics", "solvers", "validate", ".") for p in (ROOT / "airtight" / floor).rglob("*.py")]:
        direct[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = imported(path)
    found: dict[str, dict[Path, int]] = defaultdict(dict)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        if file.stem.startswith(LONG):
            continue
        edge, depth, seen = imported(file), 1, set()
        while edge:
            for name in edge:
                found[name].setdefault(file, depth)
            seen |= edge
            edge = {inner for name in edge for inner in direct.get(name, set())} - seen
            depth += 1
    return found


def tests_of(module: str, reaching: dict[str, dict[Path, int]], seconds: dict[Path, float], most: float) -> list[Path]:
    """Test files, the nearest and quickest first, as long as they fit into `most` seconds."""
    chosen, total = [], 0.0
    for file, _ in sorted(reaching.get(module, {}).items(), key=lambda item: (item[1] > 1, seconds[item[0]])):
        if total + seconds[file] <= most and seconds[file] < float("inf"):
            chosen.append(file)
            total += seconds[file]
    return chosen


def survives(mutant: Mutant, files: list[Path], seconds: dict[Path, float]) -> bool:
    if not waited(forked(mutant, None), 60):
        return False
    return all(waited(forked(mutant, file), 20 + 4 * seconds[file]) for file in files)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "paths", nargs="*", type=Path, default=[ROOT / "airtight" / "analytics", ROOT / "airtight" / "solvers"]
    )
    parser.add_argument("--share", type=float, default=1.0, help="share of the mutants to try, at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=200.0, help="test files of a mutant, in unmutated time")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "adversarial")]
    files = [
        p for top in options.paths for p in ([top.resolve()] if top.is_file() else sorted(top.resolve().rglob("*.py")))
    ]
    found = [m for path in files if path.name not in NOT_FORMULAS for m in mutants(path)]
    random.Random(options.seed).shuffle(found)
    found = found[: max(1, round(options.share * len(found)))]
    preload()
    reaching, seconds = reach(), {}
    for file in sorted({file for mutant in found for file in reaching.get(mutant.module, {})}):
        start = time.monotonic()
        passed = waited(forked(None, file), 600)
        seconds[file] = time.monotonic() - start if passed else float("inf")
        print(f"{file.name}: {seconds[file]:.1f} s", flush=True)
    return run(found, reaching, seconds, options)


def run(found: list[Mutant], reaching: dict, seconds: dict[Path, float], options: argparse.Namespace) -> int:
    """Share the mutants among forked workers; each prints its survivors."""
    workers = []
    for place in range(options.workers):
        number = os.fork()
        if number == 0:
            alive = 0
            for done, mutant in enumerate(found[place :: options.workers]):
                if survives(mutant, tests_of(mutant.module, reaching, seconds, options.seconds), seconds):
                    alive += 1
                    where = f"{mutant.path.relative_to(ROOT)} {mutant.operator} {mutant.occurrence}"
                    print(f"SURVIVES (number {done}) {where}\n{mutant.diff()}", flush=True)
            os._exit(min(alive, 255))
        workers.append(number)
    alive = sum(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in workers)
    print(f"{len(found)} mutants, {alive} survive: {100 * (1 - alive / len(found)):.1f} % noticed")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main())
