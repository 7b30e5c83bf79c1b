"""A band around a convex curve holds at every epsilon, whatever the nodes and the errors of their values."""

import math
from unittest import mock

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting import connect_the_dots, numerical_composition
from airtight.analytics.privacy.accounting.convex_band import ConvexBand
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import rounds


def truth(epsilon, p, q):
    """The hockey-stick divergence of two discrete laws, in 40 digits."""
    with mpmath.workdps(40):
        x = mpmath.exp(mpmath.mpf(float(epsilon)))
        return mpmath.fsum(max(mpmath.mpf(a) - x * mpmath.mpf(b), 0) for a, b in zip(p, q, strict=True))


@given(
    losses=st.lists(st.floats(-3, 3), min_size=2, max_size=7),
    scale=st.floats(-3, 3).map(lambda x: 10**x),
    infinite=st.sampled_from([0.0, 1e-9, 0.2]),
    steps=st.lists(st.floats(-4, 2.9).map(lambda x: 10**x), min_size=3, max_size=12),
    noise=st.sampled_from([0.0, 1e-9, 1e-3, 0.3]),
    seed=st.integers(0, 99),
)
@settings(max_examples=25, deadline=None)
def test_band_holds_everywhere(losses, scale, infinite, steps, noise, seed):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(len(losses)))
    log_p = np.log(q) + scale * np.array(losses)
    p = np.exp(log_p - np.max(log_p))
    p, q = np.append(p / p.sum() * (1 - infinite), infinite), np.append(q, 0.0)

    def curve(epsilon):
        finite = np.where(epsilon < np.inf, epsilon, 0.0)
        x = np.exp(finite.astype(np.longdouble))[:, None]
        value = np.where(epsilon < np.inf, np.sum(np.maximum(p - x * q, 0.0), axis=1), infinite).astype(float)
        doubt = np.where(epsilon < np.inf, np.sum(np.where(p > x * q, 1e-17 * (p + x * q), 0.0), axis=1), 0.0)
        wave = abs(np.sin(1e4 * finite))  # an error that differs from point to point
        below, above = (
            value * (1 - noise * wave) * (1 - 4e-16) - doubt,
            value * (1 + noise * wave) * (1 + 4e-16) + doubt,
        )
        return np.maximum(below, 0.0).astype(float), above.astype(float) + 1e-300

    band = ConvexBand(curve, np.append(0.0, np.cumsum(steps)))
    own = scale * abs(np.array(losses))
    inside = [band.nodes[:-1] + share * np.diff(band.nodes) for share in (0.2, 0.5, 0.8)]
    asked = np.unique(np.concatenate([band.nodes, *inside, own[own > 1e-9], [700.0, 1e5]]))
    for refined in (False, True):
        if refined:
            band.refine(np.ones_like, 1e-2)
        lower, upper = band(asked)
        exact = [truth(e, p, q) for e in asked]
        assert all(low <= value <= high for low, value, high in zip(lower, exact, upper, strict=True))
        below = band.below(asked)[1]
        with mpmath.workdps(40):  # the lower side is convex, up to rounding
            x = [mpmath.exp(mpmath.mpf(float(e))) for e in asked]
            for i in range(1, asked.size - 1):
                share = (x[i + 1] - x[i]) / (x[i + 1] - x[i - 1])
                chord = share * mpmath.mpf(below[i - 1]) + (1 - share) * mpmath.mpf(below[i + 1])
                assert below[i] <= chord * (1 + mpmath.mpf(10) ** -13)
        assert band.below(np.array([np.inf]))[0][0] <= infinite <= band(np.array([np.inf]))[1][0]


@pytest.mark.parametrize("length", [0.1, 0.7, 3.0, 40.0])
def test_band_holds_far_in_a_tail(length):
    """A Gaussian curve down to e^-700 between sparse nodes, where it falls by many powers of ten in a cell."""

    def curve(epsilon):
        value, _, error = gaussian.log_curve(epsilon, np.ones(epsilon.size))
        with np.errstate(under="ignore"):
            return np.exp(value - error), np.exp(value + error)

    band = ConvexBand(curve, np.arange(0.0, 38.0 + length, length))
    at = np.linspace(0, 38, 301)
    lower, upper = band(at)
    with mpmath.workdps(40):
        for e, low, high in zip(at, lower, upper, strict=True):
            exact = mpmath.ncdf(mpmath.mpf(0.5) - e) - mpmath.exp(mpmath.mpf(e)) * mpmath.ncdf(-mpmath.mpf(0.5) - e)
            assert low <= exact <= high


def test_nodes_are_added_where_they_matter():
    """Of a curve with a far tail, few nodes: the width falls to what is allowed, and the tail stays coarse."""

    def curve(epsilon):
        value = np.exp(-epsilon) / 2
        return value, value

    band = ConvexBand(curve, np.array([0.0, 1.0, 2.0, 5.0, 10.0, 40.0]))
    band.refine(np.ones_like, 1e-4)
    at = np.linspace(0, 40, 400_001)
    lower, upper = band(at)
    assert float(np.mean(upper - lower)) * 40 <= 1.2e-4
    assert 50 <= band.nodes.size <= 400
    assert np.sum(band.nodes < 5) > 10 * np.sum(band.nodes > 10)
    coarse = ConvexBand(curve, np.array([0.0, 1.0, 2.0, 5.0, 10.0, 40.0]))
    coarse.refine(np.ones_like, 1e-2)
    assert np.all(np.isin(coarse.nodes, band.nodes))  # so that values are shared


@pytest.mark.parametrize("adjacency", ["silent", "absent"])
def test_hidden_rounds_need_few_values(adjacency, monkeypatch):
    """200 rounds of a hidden device among unlike ones: a few hundred values of the curve, bounds within 1e-3."""
    rng = np.random.default_rng(5)
    system = InferenceSystem(
        devices=4,
        participation=rng.uniform(0.3, 0.95, 4),
        noise_variance=rng.uniform(0.05, 0.2, 4),
        weight=0.25,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=100,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=adjacency,
    )
    asked, whole = [], rounds.Query._divergences

    def counted(self, eps, reverse):
        asked.append(eps.size)
        return whole(self, eps, reverse)

    monkeypatch.setattr(rounds.Query, "_divergences", counted)
    found = rounds.bracket(system, rounds=200, observer="others", device=[0])
    assert found.reached and 0 < found.lower[0] <= found.upper[0] <= 1.001 * found.lower[0] < math.inf
    assert sum(asked) < 1200


@given(
    values=st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=14),
    step=st.floats(-3, 0.5).map(lambda x: 10**x),
    shape=st.sampled_from(["any", "noisy", "dip"]),
    many=st.sampled_from([0.05, 2.0]),
)
@settings(max_examples=40, deadline=None)
def test_hull_of_values_on_a_grid(values, step, shape, many):
    """Every value is lowered to the least chord of two others, no farther."""
    side = np.array(values)
    if shape != "any":  # convex up to little noise; with a last value that is far below
        side = np.exp(-np.arange(side.size) * 1.0) * (1 + 0.1 * side)
    if shape == "dip":
        side[-1] /= 100
    with mock.patch.object(connect_the_dots, "_MANY", many):  # 2: one by one from the start
        found = connect_the_dots._hull_values(side.copy(), np.arange(side.size), step)
    x = np.exp(np.arange(side.size) * step)
    for i in range(side.size):
        chords = [
            side[b] + (side[a] - side[b]) * (x[b] - x[i]) / (x[b] - x[a])
            for a in range(i)
            for b in range(i + 1, side.size)
        ]
        assert found[i] == pytest.approx(min([side[i], *chords]), rel=1e-9)


def test_a_band_whose_values_err_stops_where_cells_no_longer_matter():
    """Values apart by a hundred times what is allowed: as many nodes as make the cells add a quarter of that."""

    def curve(epsilon):
        value = np.exp(-epsilon) / 2
        return value * 0.99, value * 1.01

    band = ConvexBand(curve, np.array([0.0, 1.0, 2.0, 5.0, 10.0, 40.0]))
    band.refine(np.ones_like, 1e-4)
    assert band.nodes.size < 250
    strict = ConvexBand(lambda epsilon: (np.exp(-epsilon) / 2,) * 2, np.array([0.0, 1.0, 2.0, 5.0, 10.0, 40.0]))
    strict.refine(np.ones_like, 1e-6)
    assert strict.nodes.size > 4 * band.nodes.size
    exact = ConvexBand(lambda epsilon: (np.exp(-epsilon) / 2,) * 2, band.nodes)
    at = np.linspace(0, 40, 4001)
    assert np.sum(np.subtract(*band(at)[::-1])) <= 1.6 * np.sum(0.02 * np.exp(-at) / 2)
    assert np.all(exact(at)[0] <= np.exp(-at) / 2)


def test_a_band_is_not_refined_in_vain_for_ever():
    """Errors of the values that come and go keep the sides apart, however many nodes there are."""
    asked = []

    def curve(epsilon):
        asked.append(epsilon.size)
        value = np.exp(-epsilon) / 2
        error = np.where(np.modf(epsilon * 1e6)[0] < 0.5, 1e-3, 1e-9)
        return value * (1 - error), np.minimum(value * (1 + error), 1.0)

    band = ConvexBand(curve, np.linspace(0, 4, 33))
    for allowed in 0.2 ** np.arange(1, 12):
        band.refine(np.ones_like, allowed)
    before = len(asked)
    band.refine(np.ones_like, 1e-13)
    assert len(asked) == before and band.nodes.size < 2000


@pytest.mark.parametrize("step", [0.5, 30.0, 500.0, 5e4])
def test_laws_on_coarse_grids_are_on_their_sides(step):
    """Under P five losses of some steps; Q has a part that P never has: the laws' curves are on either side."""
    losses = np.array([0.2, 0.7, 1.4, 3.2, 11.0]) * step
    p = np.array([0.05, 0.3, 0.4, 0.2, 0.05])
    q = p * np.exp(-losses)

    def forward(epsilon):
        with np.errstate(under="ignore"):
            above = np.maximum(-np.expm1(np.minimum(epsilon[:, None] - losses, 0.0)), 0.0)
            value = np.sum(p * above, axis=1)
        return value * (1 - 1e-14), value * (1 + 1e-14)

    def reverse(epsilon):
        # 1 - sum(q) is infinite; finite losses of this order are negative
        value = np.full(epsilon.size, 1 - np.sum(q))
        at_0 = value + np.sum(np.maximum(q - p, 0.0))
        value = np.where(epsilon == 0, at_0, value)
        return value * (1 - 1e-14), value * (1 + 1e-14)

    above, below = (
        make(forward, reverse, step=step, first=-3, last=13)
        for make in (connect_the_dots.above, connect_the_dots.below)
    )
    for eps in np.concatenate([np.linspace(0, 12 * step, 97), losses]):
        value = float(forward(np.array([eps]))[0][0])
        low, high = (
            law.infinite + np.sum((law.mass * -np.expm1(np.minimum(eps - law.losses, 0.0)))[law.losses > eps])
            for law in (below, above)
        )
        assert low <= value * (1 + 1e-9) + 1e-300 and value <= high * (1 + 1e-9)
    assert np.sum(above.mass) + above.infinite <= 1 + 1e-9  # not scaled up


def test_a_value_at_loss_0_that_errs_does_not_bend_the_law():
    """An error of a thousandth of delta(0) was a mass of -.09 there at a fine step, and 200 laws were scaled up by e^17."""

    def curve(epsilon):
        value = np.exp(gaussian.log_curve(epsilon, np.full(epsilon.size, 0.1))[0])
        return value * (1 - 1e-9), value * np.where(epsilon == 0, 1 + 1e-3, 1 + 1e-9)

    law = connect_the_dots.above(curve, curve, step=1e-4, first=-8000, last=8000)
    assert np.sum(law.mass) + law.infinite <= 1 + 1e-7
    assert law.infinite + np.sum((law.mass * -np.expm1(-law.losses))[law.losses > 0]) >= curve(np.zeros(1))[0][0]


def test_a_sketch_fills_in_a_costly_tail():
    """Evaluated down to e^-70 at least, beyond as a power of epsilon: that of a normal loss within a few per cent."""
    asked = []

    def curve(epsilon):
        asked.append(epsilon)
        with np.errstate(under="ignore"):
            value = np.exp(gaussian.log_curve(epsilon, np.ones(epsilon.size))[0])
        return value, value

    decades = 10.0 ** np.arange(-15, 6)
    eps = np.append(0.0, np.geomspace(0.01, 100.0, 113))
    known = curve(decades)[1]
    asked.clear()
    filled = numerical_composition._tail_filled(curve, eps, decades, known, 3)
    exact = curve(eps)[1]
    near = np.isin(eps, np.concatenate(asked[:-1]))
    assert np.all(exact[~near] <= np.exp(-70)) and np.sum(~near) >= 5
    np.testing.assert_array_equal(filled[near], exact[near])
    some = exact > 1e-280
    np.testing.assert_allclose(np.log(filled[some]), np.log(exact[some]), rtol=0.3)
    assert np.all(np.diff(filled) <= 0)
