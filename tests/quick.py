"""Doctests of the modules changed since the last commit (or in it), and the quick tests named after them: ``make quick``."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("analytics", "solvers", "validate")


def changed() -> list[Path]:
    """Python files that differ from the last commit; where none does, those that it changed."""
    for command in (["diff", "--name-only", "HEAD"], ["diff", "--name-only", "HEAD~1"]):
        names = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        found = [ROOT / name for name in names if name.endswith(".py") and (ROOT / name).exists()]
        if found:
            return found
    return []


def wanted(files: list[Path]) -> list[str]:
    """The files themselves for their doctests, and tests/test_<module>.py where there is one."""
    tests = {ROOT / "tests" / f"test_{file.stem}.py" for file in files}
    tests |= {file for file in files if file.parent.name == "tests" and file.stem.startswith("test_")}
    sources = {ROOT / "airtight" / name for file in files if (name := file.relative_to(ROOT)).parts[0] in FLOORS}
    return sorted(str(file) for file in sources | {test for test in tests if test.exists()})


if __name__ == "__main__":
    command, files = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not slow"], changed()
    code = subprocess.run([*command, *wanted(files)], cwd=ROOT).returncode if files else 0
    sys.exit(0 if code == 5 else code)  # 5: nothing to run
