"""The house: imports go down only, heavy libraries load where they are used, modules say what they are about."""

import ast
import re
import runpy
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "airtight"
FLOORS = ("analytics", "solvers", "validate")  # below the face, `airtight` itself, which imports from all of them
ROOMS = (  # of analytics: one imports from itself and from those before it
    (
        "checks",
        "errors",
        "estimate",
        "extras",
        "guarantee",
        "parameters",
        "plots",
        "progress",
        "records",
        "root_search",
        "rounding",
        "tidy",
    ),
    ("distributions",),
    ("inference",),
    ("privacy.mechanisms",),
    ("privacy.accounting", "privacy.empirical_epsilon", "privacy.matrix_mechanism"),
    ("privacy.meter_log",),
    ("privacy.over_the_air",),
    ("limits",),
    ("federated.corbin",),
    ("federated.few_bits",),
    ("federated.fair",),
    ("forms",),
)
MOST = 16  # files of a room
FACE = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in FLOORS)
SOURCES = [path for floor in FLOORS for path in sorted((PACKAGE / floor).rglob("*.py"))] + FACE


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def floor(name):
    """Of a module of the package, by its dotted name or its path below the package: 0 for analytics, 3 for the face."""
    first = re.split(r"[./]", name)[0]
    return FLOORS.index(first) if first in FLOORS else len(FLOORS)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down_only(path):
    for name in imported(path):
        if name == "airtight" or name.startswith("airtight."):
            below = floor(name.removeprefix("airtight").removeprefix("."))
            assert below <= floor(str(path.relative_to(PACKAGE))), f"{path.name} imports {name}"


def module(path):
    return ".".join(("airtight", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module(path): path for path in SOURCES}


def modules_imported(path):
    """The modules of the package that a file imports: at its top, inside of functions and for type checkers."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("airtight."):
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in MODULES else node.module for name in inner)


def height(name):
    """Of a module of analytics: how many rooms are below it."""
    inside = name.removeprefix("airtight.analytics.") + "."
    (level,) = (n for n, rooms in enumerate(ROOMS) if inside.startswith(tuple(f"{room}." for room in rooms)))
    return level


@pytest.mark.parametrize(
    "name", [name for name, path in MODULES.items() if "analytics" in name and path.stem != "__init__"]
)
def test_no_arrow_goes_up_between_rooms(name):
    for other in modules_imported(MODULES[name]):
        if MODULES[other].stem != "__init__":
            assert height(other) <= height(name), f"{name} imports {other}"


def test_no_circle_of_modules():
    arrows = {name: set(modules_imported(path)) - {name} for name, path in MODULES.items()}
    list(TopologicalSorter(arrows).static_order())


def test_no_room_is_crowded_and_no_name_is_given_twice():
    """The papers aside, each of which has the modules that a paper needs."""
    files = [path for path in SOURCES if "papers" not in path.parts]
    assert max(Counter(path.parent for path in files).values()) <= MOST
    modules = [path for path in files if path.name != "__init__.py"]
    names = Counter((path.relative_to(PACKAGE).parts[0], path.stem) for path in modules)
    assert [name for name, count in names.items() if count > 1] == []


def test_quick_finds_a_test_of_every_module():
    quick = runpy.run_path(str(PACKAGE.parent / "tests" / "quick.py"))
    without = [path for path in quick["SOURCES"] if not path.name.startswith("__") and not quick["tests_of"](path)]
    assert without == []


@pytest.mark.parametrize("top", ["airtight", "airtight.solvers", "airtight.validate"])
def test_rooms_of_a_floor_make_no_circle(top):
    depth, arrows = top.count(".") + 1, {}
    for name, path in MODULES.items():
        inside = name.startswith(f"{top}.") and (top != "airtight" or path in FACE)
        if inside and path != PACKAGE / "__init__.py":
            there = (other.split(".") for other in modules_imported(path) if other.startswith(f"{top}."))
            arrows.setdefault(name.split(".")[depth], set()).update(parts[depth] for parts in there)
    if top == "airtight.validate":
        for registry in ("claims", "experiments"):  # which find the papers and their figures when asked
            arrows[registry].discard("papers")
    list(TopologicalSorter({room: seen - {room} for room, seen in arrows.items()}).static_order())


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_say_their_subject(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))


def test_no_constant_of_a_module_is_replaced():
    for path in SOURCES:
        assigned = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.Assign)]
        names = Counter(
            name.id
            for node in assigned
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        )
        assert [name for name, count in names.items() if count > 1] == [], path


def test_public_functions_are_documented():
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if public and any(getattr(each, "id", "") == "overload" for each in node.decorator_list):
                continue
            if public and "papers" not in path.parts:
                assert ast.get_docstring(node), f"{path.name}: {node.name}"


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        (
            "airtight.analytics.privacy.over_the_air.amplification",
            ["scipy.stats", "scipy.optimize", "flint", "matplotlib", "pydantic", "rich"],
        ),
        ("airtight.commands.cli", ["scipy", "matplotlib", "jinja2", "rich", "flint", "sympy"]),
        ("airtight", ["numpy", "scipy", "sympy", "flint", "pydantic"]),
        ("airtight.running", ["numpy"]),  # sets with how many threads NumPy computes
        ("airtight; c = airtight.gaussian(1.0); c.epsilon(1e-5), c.delta(1.0), c.advantage()", ["scipy"]),
    ],
)
def test_heavy_imports_wait(module, absent):
    code = f"import sys, {module}; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
