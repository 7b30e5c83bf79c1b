"""Quantizers of few bits: laws against drawing and enumeration, epsilon over a grid, and the bound that no alphabet beats."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.common import run

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.federated.few_bits import baselines, quantizer_laws
from airtight.analytics.privacy.accounting import privacy_curve
from airtight.solvers.design.quantizer import quantizer_design

GRID = np.linspace(-1, 1, 401)
EPSILONS = st.floats(0.1, 8.0)


@settings(max_examples=25, deadline=None)
@given(EPSILONS, st.integers(1, 15))
def test_binomial(epsilon, trials):
    outputs, law = quantizer_laws.binomial(GRID, epsilon=epsilon, trials=trials)
    assert law @ outputs == pytest.approx(GRID, abs=1e-9)
    assert quantizer_laws.local_epsilon(law) == pytest.approx(epsilon, rel=1e-9)
    p = 0.5 + np.tanh(epsilon / (2 * trials)) / 2 * GRID
    exact = p * (1 - p) * trials / (trials * np.tanh(epsilon / (2 * trials)) / 2) ** 2
    assert quantizer_laws.variance(GRID, outputs, law) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("epsilon", [5.0, 10.0, 20.0, 30.0, 36.0, 37.0, 50.0])
@pytest.mark.parametrize("trials", [1, 2, 7])
def test_coins_that_hardly_ever_turn(epsilon, trials):
    """1/2 - theta was a difference: at epsilon = 30 the sum's epsilon was 29.99983, and from 37 on the law was nan."""
    _, law = quantizer_laws.binomial([-1.0, 1.0], epsilon=epsilon, trials=trials)
    with mp.workdps(50):
        p = 1 / (1 + mp.exp(-mp.mpf(epsilon) / trials))
        exact = [float(mp.binomial(trials, z) * p**z * (1 - p) ** (trials - z)) for z in range(trials + 1)]
    assert law[1] == pytest.approx(exact, rel=1e-12) and law[0] == pytest.approx(exact[::-1], rel=1e-12)
    assert quantizer_laws.local_epsilon(law) == pytest.approx(epsilon, rel=1e-13)
    behind = quantizer_laws.binomial_sum(epsilon=epsilon, trials=trials, clients=1)
    assert epsilon <= float(behind.epsilon(0.0)) <= epsilon * (1 + 1e-11)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 6.0), st.integers(2, 8), st.floats(0.05, 0.9))
def test_random_levels(epsilon, levels, keep):
    reach = quantizer_laws.random_reach(epsilon=epsilon, levels=levels, keep=keep)
    outputs, law = quantizer_laws.random_levels(GRID, reach=reach, levels=levels, keep=keep)
    assert law.sum(axis=1) == pytest.approx(1) and law @ outputs == pytest.approx(GRID, abs=1e-9)
    assert quantizer_laws.local_epsilon(law) <= epsilon + 1e-9
    points = quantizer_laws.breakpoints(outputs)
    at = quantizer_laws.random_levels(points, reach=reach, levels=levels, keep=keep)[1]
    assert quantizer_laws.local_epsilon(at) == pytest.approx(epsilon, abs=1e-7)
    worst = quantizer_laws.worst_variance(points, outputs, at)
    drawn = float(quantizer_laws.variance(GRID, outputs, law).max())
    assert worst * (1 - 1e-3) <= drawn <= worst * (1 + 1e-9)


def test_random_levels_by_summing_over_what_is_kept():
    x, reach, keep = 0.3, 1.7, 0.35
    outputs, law = quantizer_laws.random_levels(x, reach=reach, levels=5, keep=keep)
    summed = np.zeros(5)
    for kept in product((0, 1), repeat=3):
        weight = np.prod([keep if k else 1 - keep for k in kept])
        here = np.array([True, *map(bool, kept), True])
        a = max(j for j in range(5) if here[j] and outputs[j] <= x)
        b = min(j for j in range(5) if here[j] and outputs[j] > x)
        up = (x - outputs[a]) / (outputs[b] - outputs[a])
        summed[[a, b]] += weight * (1 - up), weight * up
    assert law == pytest.approx(summed)


def test_one_bit_is_ldp_fl():
    plus = quantizers.pair_law(0.3, 0.0, epsilon=1.3, bits=0)[1].sum()
    reach = quantizer_laws.random_reach(epsilon=1.3, levels=2, keep=0.5)
    assert quantizer_laws.binomial(0.3, epsilon=1.3, trials=1)[1][1] == pytest.approx(plus)
    assert quantizer_laws.random_levels(0.3, reach=reach, levels=2, keep=0.5)[1][1] == pytest.approx(plus)


def test_secure_aggregation_and_rounds():
    _, law = quantizer_laws.binomial([-1.0, 1.0], epsilon=2.0, trials=3)
    others = [law[k % 2] for k in range(6)]
    total = quantizer_laws.sum_law(others)
    rng = np.random.default_rng(0)
    theta = np.tanh(2.0 / 6) / 2
    drawn = rng.binomial(9, 0.5 + theta, 400_000) + rng.binomial(9, 0.5 - theta, 400_000)
    assert total == pytest.approx(np.bincount(drawn, minlength=19) / 400_000, abs=0.004)
    alone = quantizer_laws.aggregate_delta(law[0], law[1], [], epsilon=1.0)
    assert alone == pytest.approx(float(privacy_curve.discrete_pair(law[1], law[0]).delta(1.0)), rel=1e-9)
    rounds = privacy_curve.discrete_pair(law[1], law[0]).compose(2)
    twice = np.multiply.outer(law[1], law[1]).ravel(), np.multiply.outer(law[0], law[0]).ravel()
    assert float(rounds.delta(1.0)) == pytest.approx(np.maximum(twice[0] - np.e * twice[1], 0).sum(), rel=1e-3)
    assert quantizer_laws.aggregate_delta(law[0], law[1], others, epsilon=1.0) < alone
    assert quantizer_laws.aggregate_delta(law[0], law[1], [], epsilon=2.0) < 1e-12


@settings(max_examples=15, deadline=None)
@given(st.floats(0.3, 5.0), st.integers(1, 4), st.integers(1, 4), st.data())
def test_behind_a_sum_nobody_is_worse_off_than_is_said(epsilon, trials, clients, data):
    behind = quantizer_laws.binomial_sum(epsilon=epsilon, trials=trials, clients=clients)
    w = [data.draw(st.floats(-1, 1)) for _ in range(clients + 1)]
    rows = quantizer_laws.binomial(w, epsilon=epsilon, trials=trials)[1]
    for eps in (0.0, 0.3 * epsilon, 0.9 * epsilon):
        assert quantizer_laws.aggregate_delta(rows[0], rows[1], rows[2:], epsilon=eps) <= behind.delta(eps) * (1 + 1e-9)
    assert behind.epsilon(0.0) == pytest.approx(epsilon, rel=1e-9)  # all heads, all tails


def test_behind_a_sum_the_worst_is_nearly_attained_and_composes():
    _, ends = quantizer_laws.binomial([-1.0, 1.0], epsilon=2.0, trials=3)
    behind = quantizer_laws.binomial_sum(epsilon=2.0, trials=3, clients=8)
    others = [[ends[0]] * k + [ends[1]] * (7 - k) for k in range(8)]
    for eps in (0.0, 0.2, 0.8, 1.5):
        attained = max(quantizer_laws.aggregate_delta(ends[0], ends[1], rest, epsilon=eps) for rest in others)
        assert attained <= behind.delta(eps) <= attained * 1.01
    one = privacy_curve.discrete_pair(*(np.convolve(quantizer_laws.sum_law(others[3]), law) for law in ends))
    rounds = behind.composable(step=1e-3, reach=2.1).delta(1.0, count=4)
    assert float(one.compose(4).bracket(epsilon=1.0)[0]) <= rounds <= float(one.compose(4).delta(1.0)) * 1.2


def test_refuses():
    for call in (
        lambda: quantizer_laws.binomial(1.5, epsilon=1.0, trials=2),
        lambda: quantizer_laws.random_levels(0.0, reach=1.0, levels=4, keep=0.5),
        lambda: quantizer_laws.local_epsilon([[0.5, 0.4]]),
        lambda: quantizer_design.solve(0, epsilon=1.0),
        lambda: quantizer_design.solve(2, epsilon=float("nan")),
    ):
        with pytest.raises(ParameterError):
            call()


# The design


@pytest.fixture(scope="module")
def solved():
    return quantizer_design.solve(2, epsilon=3.0)


def test_the_law_keeps_what_it_says_for_inputs_of_no_grid(solved):
    found = solved.quantizer
    w = np.random.default_rng(1).uniform(-1, 1, 2000)
    law = np.stack([np.interp(w, found.inputs, column) for column in found.law.T], axis=1)
    assert quantizer_laws.local_epsilon(law) <= solved.epsilon <= 3.0
    assert law @ found.outputs == pytest.approx(w, abs=1e-12)
    assert quantizer_laws.variance(w, found.outputs, law).max() <= solved.worst_variance * (1 + 1e-12)
    assert solved.worst_variance < baselines.three_level_worst(epsilon=3.0)
    binomial = quantizer_laws.variance(0.0, *quantizer_laws.binomial(0.0, epsilon=3.0, trials=3))
    assert solved.worst_variance < 0.3 * binomial


def test_the_bound_is_below_every_quantizer_and_its_certificate_bites(solved):
    certificate = solved.certificate
    assert certificate.valid() and solved.lower_bound <= float(certificate.value)
    assert 0.29 < solved.lower_bound < solved.worst_variance
    many = quantizer_design._program(np.linspace(-1.9, 1.9, 121), 3.0)
    assert solved.lower_bound <= many.worst_variance <= solved.lower_bound * 1.02
    raised = tuple(v + Fraction(1, 10_000) for v in certificate.level)
    assert not replace(certificate, level=raised).valid()
    assert not replace(certificate, odds=certificate.odds * 2).valid()
    assert not replace(certificate, curvature=tuple(2 * m for m in certificate.curvature)).valid()


def test_one_bit_and_the_command(tmp_path):
    one = quantizer_design.solve(1, epsilon=1.0)
    assert one.lower_bound <= one.worst_variance == pytest.approx(one.lower_bound, rel=1e-7)
    file = tmp_path / "s.toml"
    file.write_text("[federated]\nclients = 50\nparameters = 10\nepsilon = 3.0\nradius = 2.0\ncenter = 1.0\n")
    result = run("solve", "quantizer", str(file), "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["proved"] and found["epsilon"] <= 3.0 and len(found["outputs"]) == 4
    law = np.array(found["law"])
    assert law @ np.array(found["outputs"]) == pytest.approx(np.array(found["inputs"]), abs=1e-12)
    w = np.random.default_rng(2).uniform(-1, 3, 20_000)
    drawn = np.stack([np.interp(w, found["inputs"], column) for column in law.T], axis=1)
    assert quantizer_laws.variance(w, found["outputs"], drawn).mean() == pytest.approx(found["mean_mse"], rel=0.02)
    assert "No alphabet" in run("solve", "quantizer", str(file)).stdout
