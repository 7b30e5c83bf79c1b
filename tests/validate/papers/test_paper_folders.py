"""Papers that came as plug-ins: a folder is all there is of them, and what is in it holds."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from support.paths import ROOT

from airtight.analytics.privacy.mechanisms import gaussian
from airtight.validate import papers
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.experiments.figures import gallery

KNOWN = {"several_looks", "feature_dp", "corbin_fl", "utility_fairness", "implementations", "libraries", "pricer"}
FOLDERS = sorted(
    path
    for path in (ROOT / "airtight" / "validate" / "papers").iterdir()
    if (path / "__init__.py").exists() and path.name not in KNOWN
)


def module(folder):
    return __import__(f"airtight.validate.papers.{folder.name}", fromlist=["PAPER"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_nothing_outside_the_folder_names_it(folder):
    paper = module(folder).PAPER
    assert paper in papers.found() and INSTALLED.papers()[paper.id] is paper
    names = {folder.name, paper.id, *paper.names()}
    sources = [
        path
        for top in ("airtight/analytics", "airtight/solvers", "airtight/validate", "tests", "examples")
        for path in (ROOT / top).rglob("*.py")
    ]
    sources += [ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / "airtight" / "__init__.py"]
    for path in sources:
        if folder not in path.parents:
            text = path.read_text(encoding="utf-8")
            assert not [name for name in names if name in text], path


def test_there_are_two():
    assert len(FOLDERS) >= 2


def allocations():
    return [found for folder in FOLDERS if (found := getattr(module(folder), "allocate", None))]


def test_the_allocation_against_a_general_solver():
    from scipy.optimize import minimize

    (allocate,) = allocations()
    rng = np.random.default_rng(0)
    for _ in range(5):
        weight, least = rng.uniform(0.5, 3.0, 6), rng.uniform(0.1, 0.5, 6)
        budget = float(np.sum(1 / least)) * 0.4
        found = allocate(weight, least, budget=budget)
        assert found.spent <= budget * (1 + 1e-12) and np.all(found.noise >= least)
        assert 0 <= found.gap + 1e-12 <= 1e-9 * found.value
        other = minimize(
            lambda x, w=weight: w @ x,
            least * 3,
            bounds=[(m, None) for m in least],
            constraints={"type": "ineq", "fun": lambda x, b=budget: b - np.sum(1 / x)},
        )
        assert other.fun >= found.value * (1 - 1e-6) and other.fun == pytest.approx(found.value, rel=1e-4)
    free = allocate(np.ones(3), np.ones(3), budget=10.0)
    assert np.array_equal(free.noise, np.ones(3)) and free.gap == 0


def test_the_allocation_is_certified_in_fractions():
    (certify,) = [
        found for folder in FOLDERS if (found := getattr(getattr(module(folder), "allocation", None), "certify", None))
    ]
    rng = np.random.default_rng(4)
    for share in (0.3, 0.9, 2.0):
        weight, least = 1.1 ** -np.arange(1, 31), rng.uniform(0.05, 0.5, 30)
        found = certify(weight, least, budget=float(np.sum(1 / least)) * share)
        assert found.allowed() and 0 <= found.value - found.bound <= found.value / 10**9
        higher = dataclasses.replace(found, multiplier=found.multiplier * 2 + Fraction(1, 10))
        assert higher.bound < found.bound  # the multiplier is the best one
        assert not dataclasses.replace(found, noise=tuple(x * Fraction(999, 1000) for x in found.noise)).allowed()


def test_the_power_saved_at_equal_exact_privacy():
    (source,) = [module(folder) for folder in FOLDERS if hasattr(module(folder), "printed_budget")]
    saved = [source.exact_budget(e, 0.01) / source.printed_budget(e, 0.01) for e in (0.1, 1.0, 10.0)]
    assert saved == pytest.approx([7.6, 2.2, 1.24], rel=0.02)
    for e in (0.1, 1.0, 10.0):
        mu = np.sqrt(2 * source.exact_budget(e, 0.01))
        assert gaussian.delta(e, sensitivity=mu, sigma=1.0) <= 0.01 * (1 + 1e-12)


def figures(folder):
    return __import__(f"airtight.validate.papers.{folder.name}.figures", fromlist=["FIGURES"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_gallery_finds_the_figures_of_a_folder(folder):
    for name, draw in figures(folder).FIGURES.items():
        assert gallery.FIGURES[name] is draw and gallery.selected([name]) == [name]


def test_exact_privacy_never_costs_more_than_the_printed_constraint():
    (module_,) = [found for folder in FOLDERS if hasattr(found := figures(folder), "Access")]
    rng = np.random.default_rng(1)
    gains = rng.uniform(0.5, 1.5, module_.USERS)
    for make in (module_.Access.together, module_.Access.in_turn):
        for epsilon, power in ((2.0, 1e4), (50.0, 1e3)):
            access = make(gains, power)
            found = module_.gaps(access, epsilon)
            assert found["free"] <= found["exact"] <= found["printed"] <= found["corrected"] <= found["static"]
            noise = access.adaptive(module_.exact_budget(epsilon, module_.DELTA))
            mu = np.sqrt(2 * np.sum(2 * module_.SAMPLE_BOUND**2 / noise, axis=0))
            assert np.all(gaussian.delta(epsilon, sensitivity=mu, sigma=1.0) <= module_.DELTA * (1 + 1e-9))
            assert np.all(noise >= access.least)


def test_the_noise_of_a_query_is_enough_and_no_more():
    (module_,) = [found for folder in FOLDERS if hasattr(found := figures(folder), "noise")]
    for epsilon, p, n in ((1.0, 0.25, 5), (7.0, 0.5, 20), (13.0, 1.0, 10)):
        sigma = module_.noise(epsilon, participation=p, devices=n)
        present = p / (1 - (1 - p) ** n)
        inner = np.log(1 + (np.exp(epsilon) - 1) / present)
        reached = [
            present * gaussian.delta(inner, sensitivity=np.sqrt(2), sigma=x) for x in (sigma, sigma * (1 - 1e-6))
        ]
        assert reached[0] <= module_.DELTA * (1 + 1e-12) < reached[1]
