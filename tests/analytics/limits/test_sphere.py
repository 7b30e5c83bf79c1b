"""The error about a uniform direction: below every mechanism that tells a direction, and its parts to 50 digits."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.limits.minimax import minimax_error
from airtight.analytics.limits.power import PowerFunction
from airtight.analytics.limits.sphere import _SMALL, by_caps, by_information, log_cap
from airtight.analytics.privacy.accounting.privacy_curve import randomized_response


def cap_share(dimension, square):
    """By a power series of the incomplete beta function, far tails too."""
    a, x = mp.mpf(dimension - 1) / 2, 1 - mp.mpf(square)
    return mp.betainc(a, 0.5, 0, x, regularized=True) / 2


def square_of(dimension, share):
    """The squared distance of the cap of this share, by bisection."""
    low, high = mp.mpf(0), mp.mpf(1)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if cap_share(dimension, middle) > share else (low, middle)
    return low


@pytest.mark.parametrize("dimension", [2, 3, 4, 17, 784, 10**4])
def test_cap_is_rounded_up_and_close(dimension):
    squares = np.unique(np.append(np.geomspace(1e-12, 0.99, 12), 3 / (dimension + 3)))
    with mp.workdps(50):
        for square, value in zip(squares, log_cap(dimension, squares), strict=True):
            truth = mp.log(cap_share(dimension, square))
            assert truth <= value
            loose = truth < mp.log(_SMALL)  # there closed forms
            assert value <= truth + (mp.log(2) if loose and square > 0.5 else 1 if loose else 2e-9 + dimension * 3e-16)


def test_cap_of_a_million_dimensions():
    with mp.workdps(50):
        for square in (1e-8, 1e-6, 1e-5, 1e-4):
            truth = mp.log(cap_share(10**6, square))
            assert truth <= log_cap(10**6, np.array([square]))[0] <= truth + 1e-8


@pytest.mark.parametrize("dimension, power", [(1, 0.0), (2, 1.0), (3, 2.0), (784, 30.0), (5, 500.0)])
def test_moment_of_a_coordinate_is_below_its_bound(dimension, power):
    """log E e^(xu), a Bessel function, against w - (d/2 - 1) log(1 + w/d)."""
    for x in (0.01, 0.5, 2.0, 10.0, 100.0, 1000.0):
        with mp.workdps(50):
            order = mp.mpf(dimension) / 2 - 1
            exact = mp.log(mp.gamma(order + 1) * (2 / mp.mpf(x)) ** order * mp.besseli(order, x))
            w = mp.sqrt(mp.mpf(x) ** 2 + (order + 2) ** 2) - (order + 2)
            assert exact <= w - order * mp.log(1 + w / dimension)


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-6, 25.0), st.integers(1, 3000))
def test_both_bounds_are_below_a_gaussian_mechanism(mu, dimension):
    power = PowerFunction.gaussian(mu)
    best_shrinkage = 1 / (1 + mu * mu / dimension)
    assert 0 <= by_caps(power, dimension) <= best_shrinkage
    assert max(0, 1 - mu * mu / dimension) * (1 - 1e-6) <= by_information(power, dimension) <= best_shrinkage


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 12.0), st.sampled_from([1, 2, 3, 9, 100, 784]))
def test_both_bounds_are_below_the_best_output_of_constant_norm(mu, dimension):
    """It has the error 1 - U^2, U = E u under the density F'(cap(u)), which F allows."""
    from scipy import special

    t = np.linspace(-1, 1, 20001)
    cap = 0.5 * special.betainc((dimension - 1) / 2, 0.5, 1 - t**2) if dimension > 1 else np.full(t.size, 0.5)
    share = np.where(t >= 0, cap, 1 - cap)
    U = np.sum(special.ndtr(special.ndtri(share) + mu)[1:] + special.ndtr(special.ndtri(share) + mu)[:-1]) * 5e-5 - 1
    power = PowerFunction.gaussian(mu)
    assert max(by_caps(power, dimension), by_information(power, dimension)) <= 1 - U * U + 1e-4


def test_numbers_of_the_page():
    power = PowerFunction.gaussian(12.0)
    assert 0.8311 < by_caps(power, 784) < 0.83124
    assert 0.8321 < by_information(power, 784) < 0.83218


@pytest.mark.parametrize("mu, dimension", [(100.0, 784), (37.5, 784), (30.0, 2), (500.0, 10**6)])
def test_tiny_caps_never_count_as_nothing(mu, dimension):
    """A cap that underflows to 0 would leave out what it reveals, and the bound would be far too high."""
    bound = max(by_caps(PowerFunction.gaussian(mu), dimension), by_information(PowerFunction.gaussian(mu), dimension))
    assert bound <= np.exp(-mu * mu / dimension) * 1.01


def test_without_privacy_nothing_and_with_perfect_privacy_everything():
    for dimension in (1, 2, 50, 10**6):
        assert by_caps(PowerFunction.gaussian(1e6), dimension) == 0 == by_information(PowerFunction.gaussian(1e6), dimension)
        assert 1 - 1e-12 < by_information(PowerFunction.gaussian(0.0), dimension) <= 1


@pytest.mark.parametrize(("dimension", "epsilon"), [(3, 7.9), (4, 11.35), (5, 13.19), (100, 9.0)])
def test_a_line_that_exceeds_1_counts_as_1(dimension, epsilon):
    """F of randomised response has a kink at 1; by quadrature of 1 - F(cap), each side of the kink for itself."""
    made = by_caps(PowerFunction.least(np.array([epsilon, -epsilon]), np.array([0.0, -np.expm1(-epsilon)])), dimension)
    with mp.workdps(30):
        share = 1 / (1 + mp.exp(epsilon))
        kink = square_of(dimension, share)

        def missed(t):
            cap = cap_share(dimension, t)
            return 1 - min(mp.exp(epsilon) * cap, 1 - mp.exp(-epsilon) * (1 - cap))

        truth = mp.quad(missed, [0, kink / 2, kink, (1 + kink) / 2, 1])
    assert 0.7 * truth <= made <= truth


@pytest.mark.parametrize(("dimension", "epsilon"), [(300, 101.13423067262482), (1000, 330.5284299779822)])
def test_no_cap_mechanism_beats_the_limit(dimension, epsilon):
    """A direction with density e^eps in the cap of share 1/(1 + e^eps) about theta, e^-eps elsewhere; the best scale."""
    with mp.workdps(40):
        share = 1 / (1 + mp.exp(epsilon))
        square = square_of(dimension, share)
        density = mp.gamma(mp.mpf(dimension) / 2) / (mp.sqrt(mp.pi) * mp.gamma(mp.mpf(dimension - 1) / 2))
        moment = density * (1 - square) ** (mp.mpf(dimension - 1) / 2) / (dimension - 1)  # integral of u_1 over the cap
        b = (mp.exp(epsilon) - mp.exp(-epsilon)) * moment
        error = max(b * b, 1 - b * b)
    assert minimax_error(randomized_response(epsilon), devices=1, dimension=dimension, clip=1.0).error <= error
