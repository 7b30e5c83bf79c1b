"""Enclosures contain what mpmath computes at 50 digits, and are narrow."""

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.enclosures import amplification, concentration, divergence, gaussian
from analytics.enclosures.ball import ball, ends, refine


def contains(value, reference, digits=14):
    lower, upper = ends(value)
    assert lower <= reference <= upper
    assert upper - lower <= 10.0**-digits * abs(reference) + 1e-300


@given(st.fractions(0, 20, max_denominator=50), st.fractions(Fraction(1, 20), 10, max_denominator=50))
def test_gaussian_delta(epsilon, mu):
    with mp.workdps(80):
        e, m = mp.mpf(epsilon.numerator) / epsilon.denominator, mp.mpf(mu.numerator) / mu.denominator
        truth = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
        if truth < mp.mpf(10) ** -40:
            return
        contains(gaussian.delta(epsilon, sensitivity=mu, sigma=1), float(truth))


@pytest.mark.parametrize("dimension", [1, 2, 16, 784])
def test_noncentral_chi_square(dimension):
    x, lam = dimension * 1.2, 3.5
    with mp.workdps(50):
        half, mean = mp.mpf(x) / 2, mp.mpf(lam) / 2
        truth = mp.nsum(
            lambda j: (
                mp.exp(-mean)
                * mean**j
                / mp.factorial(j)
                * mp.gammainc(mp.mpf(dimension) / 2 + j, half, mp.inf, regularized=True)
            ),
            [0, 120],
        )
    contains(refine(lambda: divergence.noncentral_chi_square(ball(x), dimension, ball(lam))[0]), float(truth))
    above, below = divergence.noncentral_chi_square(ball(x), dimension, ball(lam))
    assert (above + below).contains(1)


def test_terms_left_out_are_part_of_the_ball(monkeypatch):
    """With far too few terms the balls are wide, and still hold the truth."""
    enough = divergence.noncentral_chi_square(ball(30), 4, ball(20))
    monkeypatch.setattr(divergence, "_last_term", lambda mean, half, df: 14)
    for wide, narrow in zip(divergence.noncentral_chi_square(ball(30), 4, ball(20)), enough, strict=True):
        assert wide.contains(narrow.mid()) and float(wide.rad()) > 1e-3


def test_ledger_values():
    contains(divergence.hockey_stick(0, distance=0, variance_p=2, variance_q=1, dimension=1), 0.16606407498351293, 14)
    for dimension, truth in ((1, 0.0124107953), (16, 0.0572286318), (784, 0.3883085462), (25088, 0.9959257232)):
        value = divergence.hockey_stick(0, distance=0, variance_p=20, variance_q=19, dimension=dimension)
        assert float(value.mid()) == pytest.approx(truth, abs=2e-10)


def test_bernstein_and_deviations_are_the_numbers_of_the_ledger():
    claimed, actual = concentration.fair_signs(100, Fraction(3, 10), 1)
    assert float(claimed.mid()) == pytest.approx(2.7969e-4, rel=1e-4)
    assert float(actual.mid()) == pytest.approx(8.9497e-4, rel=1e-4)
    paper = {
        "devices": Fraction(12),
        "p": Fraction(9, 10),
        "variance": Fraction(1, 10),
        "delta_prime": Fraction(1, 10**5),
    }
    contains(concentration.theorem_t(**paper), 1.349006361303290, 14)
    assert float(concentration.proof_t(**paper).mid()) == pytest.approx(0.9421372731, abs=1e-10)
    delta_prime, probability = concentration.deviation_of_the_proof(
        devices=Fraction(200), p=Fraction(86, 100), variance=Fraction(1), delta_prime=Fraction(1, 10**8)
    )
    assert float(probability.mid()) == pytest.approx(2.4706e-6, rel=1e-4)
    assert bool(probability > delta_prime)


def test_theorem1_fails_at_the_witness_of_the_ledger():
    from analytics.guarantee import Adjacency

    claimed, actual = amplification.theorem1(
        devices=Fraction(100),
        p=Fraction(1),
        variance=Fraction(1),
        receiver=Fraction(1),
        alignment=Fraction(1),
        signal=Fraction(0),
        dimension=Fraction(1),
        delta=Fraction(1, 10**5),
        delta_prime=Fraction(1, 10**5),
        form="theorem1",
        adjacency=Adjacency.ABSENT,
    )
    assert float(claimed.mid()) == pytest.approx(2e-5, rel=1e-4)
    assert float(actual.mid()) == pytest.approx(2.4e-3, rel=2e-2)
    assert bool(actual > claimed)


def test_nothing_is_certain_without_precision():
    """An undecidable comparison stays undecided, and a non-finite ball has infinite ends."""
    import flint

    assert not bool(ball("1/3") * 3 > 1) and not bool(ball("1/3") * 3 < 1)
    assert ends(flint.arb.nan()) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="finite"):
        ball(math.nan)
