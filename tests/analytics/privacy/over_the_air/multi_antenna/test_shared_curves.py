"""Curves that devices share: both ends around sums over the atoms of v by other formulas, for every kind of pair."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from airtight import Channel, InferenceSystem
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.analytics.privacy.over_the_air.multi_antenna.shared_curves import SharedCurves, edges_of
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.hidden import HiddenParticipationMixture


def _part(
    adjacency: Adjacency,
    p: float,
    own: float,
    distance: float,
    dimension: int,
    model: type[NoiseMixture] = NoiseMixture,
) -> NoiseMixture:
    one = np.ones(1)
    return model(
        adjacency=adjacency,
        idle_noise=False,
        devices=np.zeros(1, dtype=np.int64),
        kind=np.zeros(1, dtype=np.int64),
        among=np.full(1, 3),
        dimension=np.full(1, dimension),
        receiver=one,
        everybody=np.nan * one,
        participation=p * one,
        own_noise=own * one,
        sensitivity=distance * one,
        variance=one[:, None],
        weights=one[:, None],
        missing=0 * one,
        slack=0.0,
        spread=0.0,
        error=1e-15,
        lost=0.0,
        nats=24.0,
    )


def _gaussian(epsilon: float, mu: float) -> float:
    with mpmath.workdps(30):
        first = mpmath.ncdf(mpmath.mpf(mu) / 2 - epsilon / mpmath.mpf(mu))
        return float(first - mpmath.e**epsilon * mpmath.ncdf(-mpmath.mpf(mu) / 2 - epsilon / mpmath.mpf(mu)))


def _leaving(epsilon: float, d: float, v: float, own: float, r: int, *, reverse: bool) -> float:
    """D between N(d e_1, (v + own) I_r) and N(0, v I_r): probabilities of the ball on which the loss is small."""
    level = -epsilon if reverse else epsilon
    radius2 = 2 * v * (v + own) / own * (level + r / 2 * np.log1p(own / v) + d * d / (2 * own))
    if radius2 <= 0:
        return 0.0 if reverse else 1 - np.exp(epsilon)
    # the ball is about -(d v / own) e_1
    center = d * v / own
    p_inside = stats.ncx2.cdf(radius2 / (v + own), r, (d + center) ** 2 / (v + own))
    q_inside = stats.ncx2.cdf(radius2 / v, r, center**2 / v)
    return float(
        q_inside - np.exp(epsilon) * p_inside if reverse else (1 - p_inside) - np.exp(epsilon) * (1 - q_inside)
    )


@given(
    st.sampled_from(["visible", "absent"]),
    st.floats(0.2, 1.0),
    st.floats(-2, 1),
    st.floats(-1.5, 0.7),
    st.integers(1, 6),
    st.integers(2, 12),
    st.integers(0, 10**6),
)
@settings(max_examples=25, deadline=None)
def test_both_ends_enclose_the_mean(
    kind: str, p: float, log_own: float, log_distance: float, r: int, count: int, seed: int
) -> None:
    """Few edges, so that the interpolation in v matters; sums over atoms by mpmath and by noncentral chi-square laws."""
    rng = np.random.default_rng(seed)
    own, d = 10.0**log_own, 10.0**log_distance
    v = np.sort(10 ** rng.uniform(-1, 1, (2, 7)), axis=1)
    weights = rng.dirichlet(np.ones(7), 2)
    edges = np.geomspace(np.min(v), np.max(v) * (1 + 1e-12), count)
    edges[0] = np.min(v)
    adjacency = Adjacency.ABSENT if kind == "absent" else Adjacency.SILENT
    curves = SharedCurves.of(_part(adjacency, p, own, d, r), edges, v, v, weights)
    assert curves is not None
    epsilon = np.array([0.0, 0.03, 0.4, 1.1, 2.5])
    for reverse in (False, True):
        for row in range(2):
            low, high = curves.delta_bracket(epsilon, row, reverse=reverse, doubt=1e-12)
            for i, eps in enumerate(epsilon):
                if kind == "visible":
                    truth = p * sum(
                        w * _gaussian(eps, d / np.sqrt(x + own)) for w, x in zip(weights[row], v[row], strict=True)
                    )
                else:
                    lam = np.exp(eps)
                    share = 1 - lam * (1 - p) if reverse else p
                    if share <= 0:
                        assert low[i] == 0
                        continue
                    inner = np.log(lam * p / share) if reverse else np.log1p((lam - 1) / p)
                    terms = (_leaving(inner, d, x, own, r, reverse=reverse) for x in v[row])
                    truth = share * sum(w * max(x, 0.0) for w, x in zip(weights[row], terms, strict=True))
                assert low[i] <= truth * (1 + 1e-9) + 1e-11 and truth <= high[i] * (1 + 1e-9) + 1e-11


@pytest.mark.parametrize("adjacency", [Adjacency.SILENT, Adjacency.REPLACE])
def test_hidden_participation_lies_between_both_ends(adjacency: Adjacency) -> None:
    """r = 1 by quadrature of the positive part."""
    p, own, d, v = 0.6, 0.2, 0.8, np.array([[0.3, 0.5, 0.9]])
    weights = np.array([[0.2, 0.5, 0.3]])
    part = _part(adjacency, p, own, d, 1, HiddenParticipationMixture)
    curves = SharedCurves.of(part, np.geomspace(0.3, 0.9001, 9), v, v, weights)
    assert curves is not None
    means = (d / 2, -d / 2) if adjacency is Adjacency.REPLACE else (d, 0.0)

    def truth(eps: float, reverse: bool) -> float:
        total = 0.0
        for w, x in zip(weights[0], v[0], strict=True):
            first, second = means[::-1] if reverse else means

            def part(y: float, first: float = first, second: float = second, x: float = x) -> float:
                absent = (1 - p) * stats.norm.pdf(y, 0, np.sqrt(x))
                here = p * stats.norm.pdf(y, first, np.sqrt(x + own)) + absent
                there = p * stats.norm.pdf(y, second, np.sqrt(x + own)) + absent
                return float(max(here - np.exp(eps) * there, 0.0))

            total += w * integrate.quad(part, -9, 9, limit=400, points=[-1, 0, 1])[0]
        return total

    epsilon = np.array([0.0, 0.2, 0.7, 1.5])
    for reverse in (False, True):
        low, high = curves.delta_bracket(epsilon, 0, reverse=reverse, doubt=1e-12)
        for i, eps in enumerate(epsilon):
            value = truth(float(eps), reverse)
            assert low[i] <= value + 1e-8 and value <= high[i] + 1e-8
            assert high[i] <= 1.4 * value + 1e-6  # edges are apart, nodes are close


def test_upper_ends_beyond_the_last_edge_only_lower_the_lower_end() -> None:
    part = _part(Adjacency.SILENT, 1.0, 0.1, 1.0, 2)
    v, weights, edges = np.array([[0.2, 0.4]]), np.array([[0.5, 0.5]]), np.array([0.2, 0.3, 0.4])
    known = SharedCurves.of(part, edges, v, v, weights)
    loose = SharedCurves.of(part, edges, v, np.array([[0.2, np.inf]]), weights)
    assert known is not None and loose is not None
    eps = np.array([0.5])
    both, wide = (curves.delta_bracket(eps, 0, reverse=False, doubt=1e-12) for curves in (known, loose))
    assert wide[1] == both[1]
    assert wide[0][0] == pytest.approx(0.5 * _gaussian(0.5, 1 / np.sqrt(0.3)), rel=1e-3)


def test_irregular_divergences_have_no_table() -> None:
    v, weights = np.array([[0.0, 0.4]]), np.array([[0.5, 0.5]])
    part = _part(Adjacency.SILENT, 1.0, 0.1, 1.0, 2)
    assert SharedCurves.of(part, np.array([0.0, 0.4]), v, v, weights) is None
    still = _part(Adjacency.SILENT, 1.0, 0.1, 0.0, 2)
    assert SharedCurves.of(still, np.array([0.2, 0.4]), v + 0.2, v + 0.2, weights) is None


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
def test_rounds_with_the_table_agree_with_rounds_without(adjacency: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = InferenceSystem(
        devices=4, participation=0.6, noise_variance=[0.3, 0.2, 0.3, 0.3], weight=0.4, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.4, dimension=4, delta=1e-4, adjacency=adjacency,
    )  # fmt: skip
    channel = Channel(antennas=2, fading="rayleigh", states=2)
    shared = channel_privacy.bracket(system, channel, rounds=3)
    monkeypatch.setattr(channel_privacy, "_shared", lambda *_: None)
    alone = channel_privacy.bracket(system, channel, rounds=3)
    assert np.all(shared.lower <= alone.upper) and np.all(alone.lower <= shared.upper)
    np.testing.assert_allclose(shared.upper, alone.upper, rtol=2e-3)
    np.testing.assert_allclose(shared.lower, alone.lower, rtol=6e-3)


def _leaving_in_digits(epsilon: float, d: float, v: mpmath.mpf, own: float, r: int, *, reverse: bool) -> mpmath.mpf:
    """:func:`_leaving` in the working precision; noncentral chi-square laws as Poisson mixtures."""
    level = mpmath.mpf(-epsilon if reverse else epsilon)
    radius2 = (
        2 * v * (v + own) / own * (level + mpmath.mpf(r) / 2 * mpmath.log(1 + own / v) + mpmath.mpf(d) ** 2 / (2 * own))
    )

    def inside(x: mpmath.mpf, noncentral: mpmath.mpf) -> mpmath.mpf:
        weight = mpmath.e ** (-noncentral / 2)
        term = mpmath.gammainc(mpmath.mpf(r) / 2, 0, x / 2, regularized=True)
        step = (x / 2) ** (mpmath.mpf(r) / 2) * mpmath.e ** (-x / 2) / mpmath.gamma(mpmath.mpf(r) / 2 + 1)
        total, j = mpmath.mpf(0), 0
        while j < noncentral / 2 or weight > mpmath.mpf(10) ** (-mpmath.mp.dps - 5):
            total += weight * term
            j += 1
            weight *= noncentral / 2 / j
            term, step = term - step, step * (x / 2) / (mpmath.mpf(r) / 2 + j)
        return total

    center = d * v / own
    p_inside = inside(radius2 / (v + own), (d + center) ** 2 / (v + own))
    q_inside = inside(radius2 / v, center**2 / v)
    lam = mpmath.e ** mpmath.mpf(epsilon)
    return q_inside - lam * p_inside if reverse else (1 - p_inside) - lam * (1 - q_inside)


@pytest.mark.parametrize("reverse", [False, True])
def test_rates_enclose_the_logarithmic_derivative_of_the_slope(reverse: bool) -> None:
    """D''/D' in v, by differences of D in 60 digits, at both edges and within cells that are so narrow that slack matters."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        own, d, r = 10 ** rng.uniform(-1.5, 0.5), 10 ** rng.uniform(-1, 0.5), int(rng.integers(1, 12))
        v = 10 ** rng.uniform(-1, 0.5)
        edges = v * (1 + np.array([0.0, 10 ** rng.uniform(-9, -1)]))
        greatest = r / 2 * np.log1p(own / edges[1]) + d * d / (2 * own)
        epsilon = rng.uniform(0.05, 0.8) * (greatest if reverse else 2.0)
        atoms, weights = edges[None, :], np.full((1, 2), 0.5)
        curves = SharedCurves.of(_part(Adjacency.ABSENT, 1.0, own, d, r), edges, atoms, atoms, weights)
        assert curves is not None
        slow, fast = curves._rates(np.zeros(1, dtype=np.int64), np.array([epsilon]), reverse, np.full(1, 1e-12))
        with mpmath.workdps(60):
            width = mpmath.mpf(edges[1]) - mpmath.mpf(edges[0])
            for share in (0, 0.5, 1):
                at = mpmath.mpf(edges[0]) + share * width
                h = at * mpmath.mpf(10) ** -15
                low, here, high = (
                    _leaving_in_digits(epsilon, d, at + k * h, own, r, reverse=reverse) for k in (-1, 0, 1)
                )
                rate = -(high - 2 * here + low) / h / ((high - low) / 2) * width
                assert (
                    slow[0] <= rate + abs(rate) * mpmath.mpf(10) ** -14
                    and rate <= fast[0] + abs(rate) * mpmath.mpf(10) ** -14
                )
                assert not share or fast[0] - slow[0] <= 20 * float(width / v) * (abs(float(rate)) + 1) + 1e-6


def test_an_atom_in_a_wide_cell_near_its_edge_keeps_both_ends_together() -> None:
    """The divergence falls by many powers of ten in the cell, where bends are great: both ends stay near D at the atom."""
    v = np.array([[0.1, 3.0], [1.0, 3.0]])
    high = v * (1 + 1e-10)
    edges = np.array([0.1, 1.0, 3.001])
    part = _part(Adjacency.ABSENT, 1.0, 0.4, 0.2, 8)
    curves = SharedCurves.of(part, edges, v, high, np.array([[0.01, 0.99], [0.5, 0.5]]))
    assert curves is not None
    low, up = curves.delta_bracket(np.array([12.0]), 0, reverse=False, doubt=1e-12)
    truth = 0.01 * _leaving(12.0, 0.2, 0.1, 0.4, 8, reverse=False)
    assert low[0] <= truth * (1 + 1e-9) and truth <= up[0] * (1 + 1e-9) and up[0] <= low[0] * 1.01


def test_edges_follow_the_tail_of_every_device() -> None:
    """Of a thousand atoms of each of ten devices the least one of every device is an edge; all others lie within the edges."""
    rng = np.random.default_rng(0)
    low = np.sort(10 ** rng.uniform(-0.5, 0.5, (10, 1000)), axis=1)
    low[:, 0] = np.geomspace(0.01, 0.1, 10)
    part = _part(Adjacency.ABSENT, 1.0, 0.4, 0.2, 8)
    edges = edges_of(part, low, low * (1 + 1e-12), np.full(low.shape, 1e-3))
    assert np.all(np.isin(low[:, 0], edges)) and 60 <= edges.size <= 482
    assert edges[0] == np.min(low) and edges[-1] >= np.max(low) and np.all(np.diff(edges) > 0)
    few = edges_of(part, low[:1, :100], low[:1, :100], np.full((1, 100), 0.01))
    np.testing.assert_array_equal(few, low[0, :100])
