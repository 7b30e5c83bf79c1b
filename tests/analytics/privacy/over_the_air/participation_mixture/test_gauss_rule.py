"""Gauss rules of a law of the others' noise: beside the sums over all of its values."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.systems import unlike

from airtight.analytics.privacy.over_the_air import rounds
from airtight.analytics.privacy.over_the_air.participation_mixture import gauss_rule


def law(values=2000, seed=3):
    v = np.sort(np.random.default_rng(seed).uniform(0.2, 2.0, values))
    weights = np.exp(-40 * (v - 1.4) ** 2)
    return v, weights / np.sum(weights)


@pytest.mark.parametrize("pieces", [1, 8])
def test_rules_have_the_moments_of_the_law_in_log_v(pieces):
    v, weights = law()
    nodes, shares, first = gauss_rule.pieces_of(v, weights, pieces)
    assert nodes.size == 16 * pieces and np.all(np.diff(nodes) > 0) and np.all(shares > 0)
    assert np.array_equal(first, 16 * np.arange(pieces))
    for degree in range(32):
        series = np.eye(32)[degree]
        at_nodes, at_all = (np.polynomial.legendre.legval(np.log(x) / 2, series) for x in (nodes, v))
        assert at_nodes @ shares == pytest.approx(at_all @ weights, abs=1e-13)


@settings(max_examples=25, deadline=None)
@given(st.floats(5.0, 40.0), st.integers(17, 300))
def test_the_remainder_of_an_exponential_is_not_above_its_bound(fall, values):
    v, weights = np.geomspace(1.0, np.e, values), np.full(values, 1 / values)
    nodes, shares, _ = gauss_rule.pieces_of(v, weights, 1)
    bound = np.exp(float(gauss_rule.log_remainder(np.array(fall))))
    assert abs(nodes**-fall @ shares - v**-fall @ weights) <= bound + 1e-14


def test_noise_zero_is_a_piece_of_its_own():
    v, weights = law()
    nodes, shares, first = gauss_rule.pieces_of(np.append(0.0, v), np.append(0.25, 0.75 * weights), 4)
    assert nodes[0] == 0 and shares[0] == 0.25 and first[1] == 1


@pytest.mark.parametrize(
    ("adjacency", "dimension", "devices"),
    [("absent", 3, 9), ("absent", 400, 12), ("absent", 50, 14), ("silent", 20, 10), ("replace", 50, 10), ("silent", 50, 14)],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_composed_query_holds_the_mean_over_every_value_of_the_noise(adjacency, dimension, devices, reverse):
    query = rounds.query(unlike(devices, 1, adjacency, dimension=dimension), 0, "others")
    composed = query.in_composition(2)
    assert composed._part(0.0).ruled(8) is not None
    epsilon = np.array([0.05, 0.3, 2.0])
    low, high = composed.delta_bracket(epsilon, reverse=reverse)
    part = replace(query._part(0.0), estimating=False, nats=26.0)
    rows = np.zeros(1, dtype=np.int64)
    for place, each in enumerate(epsilon):
        value, _, up, down = (float(x[0]) for x in part.order(reverse)(np.array([each]), rows))
        if value < -60:
            continue
        assert np.log(low[place]) <= value + up and value - down <= np.log(high[place])
        assert high[place] <= low[place] * (1 + 5e-5) + 1e-300 or part.spread


def test_a_divergence_too_steep_for_the_rules_is_summed():
    query = rounds.query(unlike(12, 1, "absent", dimension=50), 0, "others").in_composition(2)
    few = query._part(0.0).ruled(1)
    epsilon, rows = np.array([0.1, 60.0]), np.zeros(2, dtype=np.int64)
    assert list(np.isnan(few.order(False)(epsilon, rows)[0])) == [False, True]
    assert np.all(np.isfinite(np.stack(query.delta_bracket(epsilon))))
