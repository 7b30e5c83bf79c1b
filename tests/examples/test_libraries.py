"""Libraries on trial: what was recorded, evaluated again with mpmath; rows, pages and reproductions; the libraries, if there."""

import importlib.metadata
import importlib.util
import json
import math
import re
import sys

import mpmath
import pytest
from support.paths import ROOT

from airtight.validate.claims import audit
from airtight.validate.claims.claim import REFUTED
from airtight.validate.claims.sources import INSTALLED
from airtight_published_code.libraries import PAPER

ANSWERS = json.loads((ROOT / "benchmarks" / "libraries" / "answers.json").read_text())
PAGES = {page.stem: page.read_text() for page in sorted((ROOT / "docs" / "implementations").glob("*.md"))}
TEXT = "\n".join([*PAGES.values(), (ROOT / "docs" / "implementations.md").read_text()])
CLAIMS = {claim.id: claim for claim in PAPER.claims}
ID = {"ids": lambda row: f"{row['library']}-{row['function']}"}


def normal(x):
    return mpmath.ncdf(x)


def delta(epsilon, mu):
    e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
    return normal(m / 2 - e / m) - mpmath.exp(e) * normal(-m / 2 - e / m)


def quantile(alpha):
    """The z with Phi(-z) = alpha."""
    return mpmath.findroot(lambda z: mpmath.log(normal(-z)) - mpmath.log(alpha), math.sqrt(-2 * math.log(alpha / 2)))


def test_fifteen_libraries_and_two_hundred_thousand_cases():
    assert len({row["library"] for row in ANSWERS}) >= 15
    assert sum(row["asked"] for row in ANSWERS) >= 200_000 and sum(row["judged"] for row in ANSWERS) >= 200_000
    assert all(row["version"] for row in ANSWERS)


@pytest.mark.parametrize("side", ["worst unsafe", "worst safe"])
@pytest.mark.parametrize("row", [row for row in ANSWERS if row["kind"] != "tree"], **ID)
def test_the_recorded_truths_are_those_of_another_computation(row, side):
    """The truth at the two worst cases, with mpmath: at the recorded value the exact curve has what was asked for."""
    case = row[side]
    low, high = case["truth"]
    with mpmath.workdps(60):
        match row["kind"]:
            case "epsilon":
                assert delta(low * (1 - 1e-8), 1 / case["sigma"]) >= case["delta"] >= delta(high, 1 / case["sigma"])
            case "composed":
                mu = math.sqrt(case["rounds"]) / case["sigma"]
                assert delta(low * (1 - 1e-8), mu) >= case["delta"] * (1 - 1e-12)
                assert delta(high * (1 + 1e-8), mu) <= case["delta"]
            case "delta":
                assert float(delta(case["epsilon"], 1 / mpmath.mpf(case["sigma"]))) == pytest.approx(high, rel=1e-9)
            case "sigma":
                assert delta(case["epsilon"], 1 / mpmath.mpf(high)) <= case["delta"]
                assert delta(case["epsilon"], 1 / mpmath.mpf(low * (1 - 1e-8))) >= case["delta"]
            case "laplace":
                beyond = -mpmath.expm1((mpmath.mpf(low) - 1 / mpmath.mpf(case["scale"])) / 2)
                assert float(beyond) == pytest.approx(case["delta"], rel=1e-6, abs=1e-15)
            case "laplace scale":
                beyond = -mpmath.expm1((mpmath.mpf(case["epsilon"]) - 1 / mpmath.mpf(low)) / 2)
                assert float(beyond) == pytest.approx(case["delta"], rel=1e-6, abs=1e-13)
            case "response":
                spent = mpmath.mpf(case["honest"]) - mpmath.exp(low) * (1 - mpmath.mpf(case["honest"]))
                assert float(spent) == pytest.approx(case["delta"], abs=1e-13)
            case "beta":
                assert float(normal(quantile(case["alpha"]) - case["mu"])) == pytest.approx(high, rel=1e-9)
            case "beta of (epsilon, delta)":
                e, d, a = (mpmath.mpf(case[name]) for name in ("epsilon", "delta", "alpha"))
                exact = max(1 - d - mpmath.exp(e) * a, mpmath.exp(-e) * (1 - d - a), 0)
                assert float(exact) == pytest.approx(high, rel=1e-9)
            case "advantage":
                assert float(mpmath.erf(case["mu"] / mpmath.sqrt(8))) == pytest.approx(high, rel=1e-12)
            case "mu":
                assert low == 1 / case["sigma"]
            case "sampled":
                assert 0 < low <= high < low * 1.011
            case kind:
                raise AssertionError(kind)


@pytest.mark.parametrize("row", ANSWERS, **ID)
def test_only_the_functions_that_a_page_names_are_unsafe(row):
    found = {
        ("diffprivlib", "GaussianAnalytic"),
        ("flip", "LocalDpConfig.noise_stddev"),
        ("flwr", "LocalDpMod, the noise"),
        ("fourier_accountant", "get_epsilon_R"),
        ("gdpnum", "PLDConverter.get_mu"),
        ("pfl", "PRVPrivacyAccountant, Laplace"),
        ("pipeline_dp", "gaussian_epsilon"),
        ("riskcal", "get_beta_from_zcdp"),
    }
    if (row["library"], row["function"]) not in found:
        assert row["unsafe"] <= 4 and row["worst unsafe"]["ratio"] > 1 - 1e-8  # a tolerance of the library's search
    page = PAGES[{"flwr": "flower"}.get(row["library"], row["library"].replace("_", "-"))]
    assert f"`{row['function']}` | {row['asked']} | {row['judged']} | {row['unsafe']} |" in page
    assert row["version"] in page


def test_the_rows_are_found_and_selected():
    assert INSTALLED.papers()["libraries"] is PAPER
    assert [claim.id for claim in audit.selected(["libraries"])] == list(CLAIMS)


@pytest.mark.parametrize("claim", PAPER.claims, ids=CLAIMS)
def test_every_row_says_where_what_and_how(claim):
    code = claim.implementation
    assert code is not None and code.promise and code.file and claim.id in TEXT
    if claim.ruling.verdict in REFUTED:
        assert code.mend and re.search(r"\d+\.\d+", code.repository)


def test_every_item_is_on_a_page():
    assert all(item.id in TEXT for item in PAPER.items)


def blocks():
    return [
        (name, block) for name, page in PAGES.items() for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    ]


@pytest.mark.parametrize(("name", "block"), blocks(), ids=[name for name, _ in blocks()])
def test_reproductions_are_short_and_need_that_library_only(name, block):
    compile(block, name, "exec")
    assert len(block.splitlines()) <= 16  # of 80 columns
    if name == "pricer":
        return
    packages = {
        line.split()[1].split(".")[0].rstrip(",") for line in block.splitlines() if re.match(r"(from|import) ", line)
    }
    own = {name.replace("-", "_"), {"flower": "flwr", "ibm-federated-learning": "ibmfl"}.get(name, "")}
    of_others = packages - own - {"mpmath", "numpy"} - set(sys.stdlib_module_names)
    assert of_others <= ({"dp_accounting"} if name == "gdpnum" else set()), of_others


WANTED = {
    "dp-accounting": "0\n0\n0",
    "autodp": "0.0\n0.99999",
    "riskcal": "0.9 0.8884",
    "pfl": "0.0980",
    "diffprivlib": "0.34214406718214573",
    "pipeline-dp": "709.78",
    "fourier-accountant": "3.90245",
}


@pytest.mark.parametrize("name", WANTED)
def test_the_library_does_what_the_page_says(name, capsys):
    module = name.replace("-", "_")
    pytest.importorskip(module, reason=f"{name} is not installed; its answers are recorded in benchmarks/libraries")
    version = next(row["version"] for row in ANSWERS if row["library"] == module)
    if importlib.metadata.version(name) != version:
        pytest.skip(f"{name} is not {version}")
    for _, block in (pair for pair in blocks() if pair[0] == name):
        exec(compile(block, name, "exec"), {})
    assert WANTED[name] in capsys.readouterr().out


def test_the_harness_asks_for_the_recorded_functions():
    specification = importlib.util.spec_from_file_location("ask", ROOT / "benchmarks" / "libraries" / "ask.py")
    ask = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(ask)
    assert set(ask.LIBRARIES) == {row["library"] for row in ANSWERS}
    assert ask.sampled(5)["rate"].tolist() == ask.sampled(9)["rate"].tolist()[:5]  # cases do not depend on their count
