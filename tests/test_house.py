"""The house: imports go down only, heavy libraries load where they are used, modules stay short."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = {"analytics": 0, "solvers": 1, "validate": 2}
SOURCES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down_only(path):
    floor = FLOORS[path.relative_to(ROOT).parts[0]]
    for name in imported(path):
        assert FLOORS.get(name.split(".")[0], -1) <= floor, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_have_one_subject_and_say_it(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 450
    assert ast.get_docstring(ast.parse(text))


def test_public_functions_are_documented():
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if public and "papers" not in path.parts:
                assert ast.get_docstring(node), f"{path.name}: {node.name}"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        (
            "analytics.privacy.amplification",
            ["scipy.stats", "scipy.optimize", "flint", "matplotlib", "pydantic", "rich"],
        ),
        ("validate.cli", ["scipy", "matplotlib", "jinja2", "rich", "flint"]),
    ],
)
def test_heavy_imports_wait(module, absent):
    code = f"import {module}, sys; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
