"""Published code on trial: enough rows, kept promises and broken ones; the laws against other ways to them."""

import math
import re

import numpy as np
import pytest
from support.common import run
from support.paths import ROOT

from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.privacy.accounting import privacy_curve
from airtight.validate.claims import audit
from airtight.validate.claims.claim import REFUTED
from airtight.validate.claims.evidence import shipped
from airtight.validate.claims.sources import INSTALLED
from airtight_published_code.implementations import PAPER, airfl_dp, baselines, corbin_fl, libraries

PAGE = (ROOT / "docs" / "implementations.md").read_text()
CLAIMS = {claim.id: claim for claim in PAPER.claims}


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_paper_is_found_by_itself_and_tried_by_its_name(one_processor):
    assert INSTALLED.papers()["implementations"] is PAPER
    assert [claim.id for claim in audit.selected(["implementations"])] == list(CLAIMS)
    result = run("verify", "implementations", "--limit", "0.001", "--json")
    assert result.exit_code == 1 and '"implementation"' in result.stdout


def test_a_dozen_rows_and_more_are_settled_in_both_ways():
    evidence = [e for e in shipped().evidence if e.claim.paper == PAPER.id]
    assert len(evidence) == len(CLAIMS) and all(e.as_expected for e in evidence)
    refuted = [e for e in evidence if e.verdict in REFUTED]
    assert len(refuted) >= 12 and all(e.witness.certified for e in refuted)
    assert len(evidence) - len(refuted) >= 8


@pytest.mark.parametrize("claim", PAPER.claims, ids=CLAIMS)
def test_every_row_says_where_what_and_how(claim):
    code = claim.implementation
    assert claim.kind == "implementation" and code.file and code.function and code.promise
    assert re.fullmatch(r"[0-9a-f]{40}", code.commit)
    if claim.ruling.verdict in REFUTED and claim.ruling.severity == "guarantee":
        assert code.mend or claim.ruling.corrected_by
    named = claim.id in PAGE or f"-{claim.id.rsplit('-', 1)[1]}`" in PAGE or claim.id.startswith("IM-IMVU")
    assert named, claim.id


def test_reproductions_are_short_and_compile():
    for block in blocks():
        assert len(block.splitlines()) <= 24  # of 80 columns
        compile(block, "page", "exec")


def test_dp_accounting_returns_what_the_row_says():
    pytest.importorskip("dp_accounting")
    block = next(b for b in blocks() if "dp_accounting" in b)
    namespace = {}
    exec(block.replace("print(", "said = ("), namespace)
    assert namespace["said"] == (0.0009025923169485768, True)


# The laws


def draw(x, epsilon, bits, count, rng):
    """The steps of the code with its own order of decisions, drawn instead of summed."""
    marginal = 0.5 + x / 2 * math.tanh(epsilon / 2)
    cells = 2**bits
    cell = min(math.floor(marginal * cells), cells - 1)
    shared = rng.integers(0, cells, count)
    sign = np.where(shared >= cell + 1, -1, 1)
    coin = (marginal - (min(cell, cells - 2) / cells)) * cells
    return np.where(shared == cell, np.where(rng.random(count) < coin, 1, -1), sign)


@pytest.mark.parametrize(("x", "epsilon"), [(0.99, 5.0), (0.99, 1.0), (-0.3, 3.0), (1.0, 3.5)])
def test_the_pair_of_the_code_by_drawing(x, epsilon):
    law, rng = corbin_fl._code_pair(x, 0.2, epsilon, 5), np.random.default_rng(1)
    drawn = np.mean(draw(x, epsilon, 5, 200_000, rng) > 0)
    assert law.sum() == pytest.approx(1)
    assert drawn == pytest.approx(law[1].sum(), abs=5 * math.sqrt(0.25 / 200_000))
    within = 0.5 + x / 2 * math.tanh(epsilon / 2) < 1 - 2**-5
    assert (law[1].sum() < 1 - 1e-12) == within
    if within:
        assert law == pytest.approx(quantizers.pair_law(x, 0.2, epsilon=epsilon, bits=5), abs=1e-14)


def test_exact_epsilons_by_the_privacy_curve():
    """The numbers of the rows, from the laws alone."""
    plus, zero = (corbin_fl._code_pair(x, 0.0, 5.0, 5).sum(axis=1) for x in (0.99, 0.0))
    cell = privacy_curve.discrete_pair(zero, plus)
    assert float(cell.epsilon(0.0)) == math.inf and float(cell.delta(50.0)) == pytest.approx(0.5)
    below = privacy_curve.discrete_pair(*(corbin_fl._code_pair(x, 0.0, 3.0, 5).sum(axis=1) for x in (-1.0, 1.0)))
    assert float(below.epsilon(0.0)) == pytest.approx(3.0)
    for level, (_, _, low, high, other) in zip((1, 3, 5, 7), baselines._TABLES, strict=True):
        rows = [np.array(baselines._row(text), dtype=float) for text in (low, high, other)]
        law = np.sqrt(rows[0] * rows[1])
        found = float(privacy_curve.discrete_pair(law / law.sum(), rows[2]).epsilon(0.0))
        assert level < found == pytest.approx(float(baselines._EXACT[level]), abs=1e-4)
    p = 0.5 + np.tanh(0.5) / 2 * np.array([-1.0, 1.0])
    two = privacy_curve.discrete_pair(*np.stack([(1 - p) ** 2, 2 * p * (1 - p), p**2], axis=1))
    assert float(two.epsilon(0.0)) == pytest.approx(2.0)
    flower = privacy_curve.gaussian(10 / math.sqrt(2 * math.log(1.25e5)))
    assert float(flower.epsilon(1e-5)) == pytest.approx(10.39, abs=0.005)


def test_two_bits_by_enumeration():
    grid, eps = np.linspace(-1, 1, 101), 2.0
    theta = 0.5 * math.tanh(eps / 4)
    p = 0.5 + theta * grid
    law = np.stack([(1 - p) ** 2, 2 * p * (1 - p), p**2])
    assert np.max(np.log(law.max(axis=1) / law.min(axis=1))) == pytest.approx(eps)
    rqm = np.array([baselines._rqm(float(u), eps, 0.4) for u in grid])
    assert rqm.sum(axis=1) == pytest.approx(1)
    assert np.max(np.log(rqm.max(axis=0) / rqm.min(axis=0))) == pytest.approx(eps)


def test_opacus_by_drawing():
    rng, sigma, half = np.random.default_rng(2), 1.0, 10
    norms = (sigma / 2) ** 2 * rng.chisquare(2 * half, 200_000)
    epsilon = libraries._promised(sigma)
    loss = 2 * half * math.log(2) - 1.5 * norms
    drawn = np.mean(np.maximum(1 - np.exp(epsilon - loss), 0))
    assert libraries._apart(sigma, half) == pytest.approx(drawn, abs=0.01)


# AirFL-DP: rounds composed one by one, with the quantities of the code


@pytest.mark.parametrize(("epsilon", "d", "difference"), [(0.1, 582026, 1), (0.15, 582026, 2), (1.0, 10, 1)])
def test_the_constraint_of_airfl_dp_allows_the_mu_of_the_rows(epsilon, d, difference):
    delta, noise, clip, rng = 1e-5, 3e-4, 83.6, np.random.default_rng(0)
    c = 2 * epsilon * math.sqrt(d) / math.log(1 / delta)
    kappa = epsilon**2 * d * noise / (2 * c + 8) / math.log(1 / delta) / clip**2
    squares = rng.uniform(
        1, 2, 50
    )  # of the norms of the combinations, then such that the constraint is met with equality
    squares *= np.sum(1 / squares) / kappa
    mus = difference * clip / np.sqrt(noise / 2 * squares)
    together = privacy_curve.compose([privacy_curve.gaussian(float(mu)) for mu in mus])
    total = epsilon * math.sqrt(d)
    allowed = float(airfl_dp._spent(total, difference).subs({airfl_dp.delta: delta}))
    assert float(together.epsilon(delta)) == pytest.approx(
        float(privacy_curve.gaussian(allowed).epsilon(delta)), rel=1e-9
    )
    assert (float(together.epsilon(delta)) <= total) == (difference == 1)
