"""calibrate_curve: the least parameter of a family of curves, against closed forms and mpmath."""

import math

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import airtight
from airtight import ParameterError

FAMILIES = {
    "gaussian": lambda sigma: airtight.gaussian(1 / sigma),
    "laplace": lambda scale: airtight.laplace(1 / scale),
    "response": lambda x: airtight.randomized_response(1 / x),
    "subsampled": lambda sigma: airtight.subsampled(1 / sigma, 0.05),
    "composed": lambda scale: airtight.laplace(1 / scale).compose(10),
}


def test_gaussian_advantage_in_closed_form():
    """The advantage of Gaussian noise is erf(1 / (2 sqrt(2) sigma))."""
    sigma = airtight.calibrate_curve(FAMILIES["gaussian"], advantage=0.1)
    exact = 1 / (2 * math.sqrt(2) * float(mpmath.erfinv(0.1)))
    assert exact <= sigma <= exact * 1.001


def test_gaussian_tpr_in_closed_form():
    """The true-positive rate at the false-positive rate a is Phi(Phi^-1(a) + 1 / sigma)."""
    quantile = [math.sqrt(2) * float(mpmath.erfinv(2 * a - 1)) for a in (0.001, 0.02)]
    sigma = airtight.calibrate_curve(FAMILIES["gaussian"], tpr=(0.001, 0.02))
    exact = 1 / (quantile[1] - quantile[0])
    assert exact <= sigma <= exact * 1.001


@pytest.mark.parametrize("delta", [1e-5, 1e-300])
@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 700.0])
def test_gaussian_epsilon_at_50_digits(epsilon, delta):
    """At the returned sigma delta(epsilon) is at most delta, and 0.2 % below it is not."""
    sigma = airtight.calibrate_curve(FAMILIES["gaussian"], epsilon=epsilon, delta=delta)

    def exact(sigma):
        with mpmath.workdps(400):
            mu, eps = 1 / mpmath.mpf(sigma), mpmath.mpf(epsilon)
            tail = [mpmath.erfc((eps / mu + sign * mu / 2) / mpmath.sqrt(2)) / 2 for sign in (-1, 1)]
            return tail[0] - mpmath.exp(eps) * tail[1]

    assert exact(sigma) <= delta < exact(sigma / 1.002)


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(FAMILIES)),
    requirement=st.one_of(
        st.tuples(st.floats(0.01, 5.0), st.floats(1e-12, 0.04)).map(lambda x: {"epsilon": x[0], "delta": x[1]}),
        st.floats(0.005, 0.9).map(lambda x: {"advantage": x}),
    ),
)
def test_requirement_is_kept_and_nearly_exhausted(name, requirement):
    family = FAMILIES[name]
    assume(name != "subsampled" or requirement.get("advantage", 0.0) < 0.04)  # its advantage is always at most 0.05
    x = airtight.calibrate_curve(family, **requirement)

    def leakage(x):
        if "advantage" in requirement:
            return family(x).bracket(epsilon=0.0)
        return family(x).bracket(delta=requirement["delta"])

    greatest = requirement.get("advantage", requirement.get("epsilon"))
    assert leakage(x).upper <= greatest
    assert leakage(x / 1.01).upper > greatest


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_upper_bound_decides(epsilon):
    """Where the bounds of a composition are apart, the upper one keeps the requirement."""

    def family(sigma):
        return airtight.subsampled(1 / sigma, 0.1).compose(100)

    sigma = airtight.calibrate_curve(family, epsilon=epsilon, delta=1e-5, tolerance=1e-6)
    lower, upper = family(sigma).bracket(delta=1e-5)
    assert lower < upper <= epsilon < upper * 1.003


def test_scale_of_the_parameter():
    one = airtight.calibrate_curve(FAMILIES["gaussian"], epsilon=1.0, delta=1e-5)
    other = airtight.calibrate_curve(lambda s: airtight.gaussian(1e6 / s), epsilon=1.0, delta=1e-5)
    assert other == pytest.approx(1e6 * one, rel=2e-3)


def test_pure_epsilon():
    scale = airtight.calibrate_curve(FAMILIES["laplace"], epsilon=0.5, delta=0.0)
    assert 2.0 <= scale <= 2.0 * 1.0011


def test_bounds():
    kept = airtight.calibrate_curve(FAMILIES["gaussian"], epsilon=1.0, delta=1e-5, bounds=(10.0, 20.0))
    assert kept == 10.0
    with pytest.raises(airtight.InfeasibleError, match="no parameter up to 2 keeps the epsilon"):
        airtight.calibrate_curve(FAMILIES["gaussian"], epsilon=1.0, delta=1e-5, bounds=(1.0, 2.0))


def test_requirement_that_every_parameter_keeps():
    with pytest.raises(ParameterError, match=r"even at 1e-12 the advantage is at most 0\.5"):
        airtight.calibrate_curve(FAMILIES["subsampled"], advantage=0.5)


def test_rising_leakage_is_named():
    """With mu as parameter the leakage rises: small ones keep every requirement, which is said."""
    with pytest.raises(ParameterError, match="pass its inverse"):
        airtight.calibrate_curve(airtight.gaussian, epsilon=100.0, delta=1e-5)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "requirement = 'none'"),
        ({"epsilon": 1.0}, "epsilon and delta are given together"),
        ({"epsilon": 1.0, "delta": 1e-5, "advantage": 0.1}, "one of: epsilon with delta; advantage; tpr"),
        ({"advantage": float("nan")}, "advantage"),
        ({"epsilon": -1.0, "delta": 1e-5}, "epsilon"),
        ({"tpr": (0.1, 0.05)}, "at least the false-positive rate"),
        ({"tpr": 0.1}, "tpr"),
        ({"advantage": 0.1, "bounds": (2.0, 1.0)}, "bounds"),
        ({"advantage": 0.1, "tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ParameterError, match=message):
        airtight.calibrate_curve(FAMILIES["gaussian"], **arguments)


def test_family_of_something_else():
    with pytest.raises(ParameterError, match="family"):
        airtight.calibrate_curve(lambda sigma: sigma, advantage=0.1)
