"""Which rows of the audit call which public quantity: docs/coverage.md, from what Python calls while the rows are evaluated.

    python tests/adversarial/covered.py > docs/coverage.md

A public quantity is a function of `analytics` that returns numbers and that what answers names: the results and the sweep, the
attack, the verbs of `airtight`, the designs; of `solvers` each function that the results and the verbs name; and the questions
that a curve answers. Each row is evaluated in a process of its own, forked from one that has imported everything and computed
nothing: a value that another row had left in a cache would hide a call.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import os
import pickle
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from airtight import analytics, solvers
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.search import _Search
from airtight.validate.claims.sources import INSTALLED

PACKAGE = Path(__file__).resolve().parents[2] / "airtight"
FLOORS = ("airtight.analytics", "airtight.solvers")
POINTS = 6  # at corners and spread, at which a row is evaluated; all of a domain of twice as many
ANSWERS = ("verbs.py", "__init__.py", "results/*.py", "sweeps/parts.py", "validate/attack/*.py")
DESIGNS = ("solvers/design/**/*.py",)
CURVE = (
    "delta",
    "epsilon",
    "bracket",
    "beta",
    "tpr",
    "bayes_risk",
    "advantage",
    "compose",
    "group",
    "reconstruction",
    "posterior",
    "renyi",
    "zcdp",
    "gdp",
)
NO_NUMBER = (
    "None",
    "bool",
    "bool | None",
    "str",
    "Observer",
    "InfeasibleError",
    "Any",
    "Mechanism",
    "Axes",
)  # what is returned
OTHER_PLACES = (
    "airtight.analytics.checks",
    "airtight.analytics.parameters",
    "airtight.analytics.plots",
    "airtight.analytics.progress",
    "airtight.analytics.records",
    "airtight.analytics.root_search",
    "airtight.analytics.tidy",
    "airtight.analytics.forms",
)
ELSEWHERE = {  # no quantity of a paper's model: why no row is asked of it
    "airtight.analytics.inference.block_energy.peak_energy": "a quantile of a transmitter's energy; held to 30 digits",
    "airtight.analytics.inference.block_energy.keeps_peak": "a quantile of a transmitter's energy; held to 30 digits",
    "airtight.analytics.federated.corbin.central_privacy.server_delta_floor": "no paper counts the bits here; held to a grid "
    "of updates",
    "airtight.analytics.privacy.over_the_air.system_privacy.most_revealing": "a set of devices, no number; held to enumeration",
    "airtight.analytics.inference.combiner.at_states": "no paper combines looks; held to simulation of the air",
    "airtight.analytics.inference.combiner.best": "no paper combines looks; held to simulation of the air",
    **{
        f"airtight.analytics.privacy.over_the_air.multi_antenna.channel_privacy.{name}": "no paper has several looks; proofs "
        "on the page Channel, held to 60 digits, enumeration and simulation"
        for name in ("epsilon_of_fading", "epsilon_quantiles")
    },
    **{
        f"airtight.analytics.limits.minimax.{name}": "no paper bounds any scheme; proofs on the page on limits, held to linear "
        "programs over all mechanisms"
        for name in ("minimax_error", "of_system", "of_tasks")
    },
    "airtight.analytics.privacy.over_the_air.theorem1_region.theorem1_region": "where a claim is true; held to balls and to the "
    "inequalities of FDP-T1a-short and FDP-T1a-long",
    "airtight.analytics.federated.corbin.least_error.least_error": "calls minimax.minimax_error with the curve of a client",
    **{
        f"airtight.analytics.limits.energy_floor.{name}": "no paper bounds any scheme's energy; held to uncoded transmission"
        for name in ("information_needed", "energy_floor")
    },
    **{
        f"airtight.analytics.privacy.accounting.privacy_curve.{name}": "no paper has it; held to sums and half-lines at 50 digits"
        for name in (
            "approximate",
            "discrete_gaussian",
            "discrete_laplace",
            "dp_sgd",
            "from_renyi",
            "mixture_gaussian",
            "PrivacyCurve.group",
            "PrivacyCurve.reconstruction",
            "PrivacyCurve.posterior",
            "PrivacyCurve.renyi",
            "PrivacyCurve.zcdp",
            "PrivacyCurve.gdp",
        )
    },
    **{
        f"airtight.analytics.privacy.over_the_air.groups.{name}": "no paper has persons with several devices; held to enumeration"
        for name in ("chained_epsilon", "group_epsilon")
    },
    "airtight.analytics.privacy.matrix_mechanism.matrix_gaussian": "no paper has it; held to every set of steps",
    "airtight.analytics.privacy.accounting.privacy_curve.PrivacyCurve.from_opacus": "a composition of dp_sgd",
    "airtight.analytics.inference.combiner.whole_mse": "calls distortion.exact or combiner.best",
    "airtight.solvers.design.whole_system.calibrate": "calls calibrate, or channel_noise over a channel, which no paper has",
    "airtight.solvers.design.whole_system.design": "calls joint.design, or channel_design over a channel, which no paper has",
    "airtight.analytics.privacy.over_the_air.scenarios.epsilon_over_scenarios": "no paper has them; held to the sum over rolls",
    "airtight.analytics.privacy.over_the_air.uncertain_noise.epsilon_over_noise": "no paper has it; held to grids",
    "airtight.solvers.design.antenna_price.antenna_price": "no paper has several looks; held to calibration and combination",
    "airtight.solvers.design.colluder_price.colluder_price": "no paper has colluders; held to the closed form of theorem 13",
    "airtight.solvers.design.round_budget.budget_problem": "states the problem that spread_budget solves",
    "airtight.solvers.design.round_budget.spread_budget": "no paper spreads a budget; held to a general solver and other noise",
    "airtight.solvers.quantities.quantities": "the registry of the quantities, none itself",
    "airtight.analytics.federated.fair.iteration_bounds.iterations": "three quantities of its module, each of which has rows",
    "airtight.solvers.design.over_the_air.frontier.surface": "many designs of airtight.solvers.design.over_the_air.joint.design",
    "airtight.solvers.design.curve_family.calibrate_curve": "inverts a user's own family; held to closed forms and 50 digits",
    "airtight.solvers.energy.conic_energy.energy_problem": "states the problem that airtight.solvers.energy.solve solves",
    "airtight.solvers.design.over_the_air.design_prices.design_problem": "states the problem of the convex steps of joint.design",
    "airtight.solvers.design.over_the_air.design_prices.of": "derivatives of joint.design, held to differences of designs",
    "airtight.solvers.energy.policy.policy": "a table of plans of airtight.solvers.energy.solve, held to it at other gains",
    "airtight.solvers.weights.weight_problem.weight_problem": "states the problem that airtight.solvers.weights.solve solves",
    "airtight.solvers.weights.solution.proof": "a certificate, checked in fractions when it is made",
    "airtight.solvers.design.quantizer.quantizer_bound.best": "a certificate, checked in fractions when it is made",
    "airtight.solvers.design.quantizer.quantizer_pair.solve": "held to antithetic.worst_pair_mse, which has a row",
}
Name = tuple[str, str]  # of the module, of the function in it


def quantities() -> dict[str, Name]:
    """The public quantities: by full name their module and qualified name."""
    found = {}
    for patterns, floors in ((ANSWERS, FLOORS), (DESIGNS, FLOORS[:1])):
        for path in sorted(path for pattern in patterns for path in PACKAGE.glob(pattern)):
            for function in _named(path, floors):
                if not function.__module__.startswith(OTHER_PLACES) and _is_quantity(function):
                    found[f"{function.__module__}.{function.__qualname__}"] = function.__module__, function.__qualname__
    for name in CURVE:
        found[f"{PrivacyCurve.__module__}.PrivacyCurve.{name}"] = PrivacyCurve.__module__, f"PrivacyCurve.{name}"
    return {name: found[name] for name in sorted(found)}


def _named(path: Path, floors: tuple[str, ...]) -> Iterable[Any]:
    """The functions of these floors that a file names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(floors)
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            module, name = imported[node.value.id]
            with suppress(ImportError):
                yield from _function(importlib.import_module(f"{module}.{name}"), node.attr)
        elif isinstance(node, ast.Name) and node.id in imported:
            module, name = imported[node.id]
            yield from _function(importlib.import_module(module), name)
    homes = next(
        (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "HOMES"), None
    )
    for home, names in ast.literal_eval(homes).items() if homes is not None else ():
        if f"airtight.{home}".startswith(floors):
            for name in names:
                yield from _function(importlib.import_module(f"airtight.{home}"), name)


def _function(module: Any, name: str) -> Iterable[Any]:
    found = getattr(module, name, None)
    found = inspect.unwrap(found) if callable(found) else found
    if inspect.isfunction(found) and not name.startswith("_"):
        yield found


def _is_quantity(function: Any) -> bool:
    return str(function.__annotations__.get("return")).split(".")[-1] not in NO_NUMBER


def called(claim: Claim) -> set[Name]:
    """What is called on the two lower floors while the two sides of a row are evaluated."""
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            entered.add(frame.f_code)

    search = _Search(claim, 0, math.inf)
    sys.setprofile(note)
    try:
        if math.prod(r.size for r in claim.domain.values()) <= 2 * POINTS:
            search.every_point()
        else:
            search.at_corners(POINTS)
            search.spread(POINTS)
            ways = claim.domain.get("way")  # a row of several questions: each of them
            for way in range(int(ways.high) + 1) if ways else ():
                claim.compare({**search.seen[-1][1], "way": way})
        search.computed_otherwise()
    finally:
        sys.setprofile(None)
    places = {module.__file__: name for name, module in sys.modules.items() if getattr(module, "__file__", None)}
    inside = (code for code in entered if places.get(code.co_filename, "").startswith(FLOORS))
    return {(places[code.co_filename], code.co_qualname) for code in inside}


def traced(claims: Iterable[Claim]) -> dict[str, set[Name]]:
    """What every row calls."""
    for floor in (analytics, solvers):
        for module in pkgutil.walk_packages(floor.__path__, f"{floor.__name__}."):
            importlib.import_module(module.name)
    return {claim.id: _apart(claim) for claim in claims}


def _apart(claim: Claim) -> set[Name]:
    """What one row calls, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(called(claim), pipe)
            pipe.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    found: set[Name] = pickle.loads(told)
    return found


def table(claims: Iterable[Claim]) -> dict[str, list[str]]:
    """The rows that call each public quantity."""
    rows = defaultdict(list)
    for row, names in traced(claims).items():
        for name in names:
            rows[name].append(row)
    return {quantity: rows[name] for quantity, name in quantities().items()}


def page(found: dict[str, list[str]]) -> str:
    """docs/coverage.md."""
    lines = [
        "# What the audit covers",
        "",
        "Made by `python tests/adversarial/covered.py`. It runs every claim of `airtight verify`, and those of",
        "`examples/papers`, under a tracer and records the functions that are called. A test keeps this page up to date.",
        "",
        "A public quantity is a function that returns numbers and that the results, the sweep, the attack, the verbs or",
        "the designs name. A row that calls a quantity need not notice an error in it:",
        "`tests/adversarial/test_planted.py` plants some.",
        "",
        "| quantity | rows | which |",
        "|---|---|---|",
    ]
    for name, rows in found.items():
        which = ", ".join(rows[:4]) + (", ..." if len(rows) > 4 else "") if rows else f"none: {ELSEWHERE[name]}"
        lines.append(f"| `{name}` | {len(rows)} | {which} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(table(INSTALLED.claims().values())), end="")
