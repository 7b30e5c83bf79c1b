"""Many releases with a choice of laws: against the best adaptive choice, and against one law alone."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.privacy.accounting import adaptive_composition, fixed_choice
from airtight.analytics.privacy.accounting.envelope import Envelope
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution

STEP = 0.25


def curve(law, y):
    return law.infinite + float(np.sum(law.mass * np.maximum(-np.expm1(y - law.losses), 0)))


def adaptive(laws, last, count, y):
    """The greatest value over all choices, by all histories."""
    if count == 0:
        return curve(last, y)
    return max(
        law.infinite
        + sum(m * adaptive(laws, last, count - 1, y - x) for m, x in zip(law.mass, law.losses, strict=True) if m)
        for law in laws
    )


def law_of(k, weight, infinite):
    """A coin with losses about k steps up and down, P and Q both of mass one at most."""
    up, down = math.exp(k * STEP), math.exp(-(k + 1) * STEP)
    p = np.zeros(2 * k + 2)
    share = (1 - down) / (up - down)  # Q-mass of the upper loss
    p[-1], p[0] = share * up * weight, (1 - share) * down * weight
    p[k + 1] = 1 - weight
    return LossDistribution(STEP, -(k + 1), p * (1 - infinite), infinite)


LAWS = st.builds(law_of, st.integers(1, 4), st.floats(0.05, 1), st.sampled_from([0.0, 1e-6, 1e-3]))


@given(st.lists(LAWS, min_size=1, max_size=3), LAWS, st.integers(1, 4), st.floats(0.2, 20), st.floats(0.5, 3))
def test_never_below_the_best_choice(laws, last, count, tilt, depth):
    delta = 10.0**-depth
    found = fixed_choice.epsilon(laws, last, delta, count=count, tilt=tilt)
    if math.isfinite(found):
        assert adaptive(laws, last, count, found) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("count", [1, 20, 5000])
def test_a_law_alone_has_nothing_to_choose(count):
    law = law_of(2, 0.02, 0.0)
    alone = float(law.epsilon(1e-4, count=count + 1))
    assert alone * (1 - 1e-13) <= fixed_choice.epsilon([law, law], law, 1e-4, count=count, tilt=2.0) <= alone * (1 + 1e-6)


def test_choosing_adds_less_and_less():
    """Two laws of nearly the same size and opposite skewness."""
    p = np.array([0.3, 0.6, 0.1])
    q = p * np.exp([0.2, 0.02, -0.6])
    q /= q.sum()
    step = 2.0**-7
    laws = [Envelope([pair]).composable(step=step, reach=1.0) for pair in ((p, q), (q, p))]
    cost = []
    for count in (500, 50_000):
        alone = max(float(law.epsilon(1e-5, count=count)) for law in laws)
        cost.append(adaptive_composition.epsilon(laws, 1e-5, count=count) / alone - 1)
    assert 0 <= cost[1] < cost[0] / 4 < 0.01


@given(st.floats(-13, -0.5), st.floats(0.05, 0.95))
def test_chords_are_not_below_the_curve(exponent, share):
    """In fifty digits, at each point of the grid, however small the losses."""
    shift = 10.0**exponent * min(share, 1 - share)
    p, q = np.array([share + shift, 1 - share - shift]), np.array([share, 1 - share])
    greatest = float(np.max(np.abs(np.log(p / q))))
    step = 2.0 ** math.floor(math.log2(greatest / 5))
    law = Envelope([(p, q)]).composable(step=step, reach=greatest)
    with mpmath.workdps(50):
        for i in range(law.first, law.first + law.mass.size):
            y = mpmath.mpf(i) * step
            exact = sum(
                max(mpmath.mpf(float(a)) - mpmath.exp(y) * mpmath.mpf(float(b)), 0) for a, b in zip(p, q, strict=True)
            )
            losses = [mpmath.mpf(law.first + j) * step for j in range(law.mass.size)]
            chords = sum(float(m) * max(1 - mpmath.exp(y - x), 0) for m, x in zip(law.mass, losses, strict=True))
            assert chords + law.infinite >= exact


def test_no_epsilon_is_below_the_loss_at_which_the_choice_is_bounded(monkeypatch):
    """Of very many releases the epsilon of the fixed law may be a looser one at the greater delta: it is no monotone function."""
    law, other, looser = law_of(2, 0.02, 0.0), law_of(2, 0.0199, 0.0), []
    right = fixed_choice.Product.epsilon

    def first_is_loose(self, delta):
        looser.append(float(right(self, delta)) + (1.0 if not looser else 0.0))
        return looser[-1]

    monkeypatch.setattr(fixed_choice.Product, "epsilon", first_is_loose)
    found = fixed_choice.epsilon([law, other], law, 1e-4, count=50, tilt=2.0)
    assert len(looser) == 2 and looser[1] < looser[0] - STEP <= found
