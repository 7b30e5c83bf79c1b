"""The hidden device in balls, the paper's own numbers certified, and what the report says of the observers."""

import math
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest

from airtight.analytics.forms.balls import observer_delta as enclosed
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, observers
from airtight.analytics.privacy.over_the_air.participation_mixture import hidden_divergence
from airtight.report.drawing import inference_plots
from airtight.validate.claims.certificates.writing import certify
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.papers.feature_dp import observers as rows

ONE = np.ones(1)
CASES = [
    (0.5, 0.5, 0.5, 1.0, 3.0, 2, False),
    (3.0, 0.1, 0.8, 1.0, 0.1, 5, True),
    (3.4, 0.9, 0.45, 1.0, 0.5, 5, False),
    (1.2, 0.3, 0.4, 1.0, 1.4, 20, True),
    (0.5, 0.3, 1.0, 1.0, 0.1, 1, False),
    (0.5, 0.3, 1.0, 1.0, 0.0, 7, True),
]


@pytest.mark.parametrize(("eps", "p", "d", "v", "s", "r", "replace"), CASES)
def test_balls_hold_the_quadrature(eps, p, d, v, s, r, replace):
    given = {"p": p, "distance": d, "variance": v, "noise": s, "dimension": r, "replace": replace}
    truth = enclosed.hidden(eps, **given)
    value, _, error = (
        float(x[0])
        for x in hidden_divergence.log_curve(*(x * ONE for x in (eps, p, d, v, s)), dimension=r, replace=replace)
    )
    assert truth.rel_accuracy_bits() > 30 and abs(float(truth.log()) - math.log(p) - value) <= error + 1e-12
    low = enclosed.hidden_at_least(eps, **given)
    assert low <= truth * (1 + flint.arb("1e-12")) and low > truth * 0.998


def test_extremes_in_balls():
    assert enclosed.hidden("1/2", p=1, distance=1, variance=1, noise=1, dimension=9) > 0.04
    far = enclosed.hidden(3, p="1/2", distance="1/10", variance="1/2", noise=5, dimension=3)  # delta is 1e-1080
    assert 0 < far < flint.arb("1e-1000")
    for of_zero in (enclosed.hidden, enclosed.hidden_at_least):  # p times the total variation of N(0, 2) and N(1, 2)
        assert of_zero(0, p="1/2", distance=1, variance=1, noise=1, dimension=3).overlaps((flint.arb(1) / 4).erf() / 2)
    assert not enclosed.hidden_at_least(-1, p="1/2", distance=1, variance=1, noise=1, dimension=3).is_finite()


@pytest.mark.parametrize(("r", "epsilon"), [(1, 0.1193), (64, 0.1443), (784, 0.3552), (25088, 0.6805)])
def test_the_twenty_devices_certified_from_below(r, epsilon):
    """At a slightly smaller epsilon than the exact one of the documentation delta is provably above 1e-5."""
    given = {"distance": 0.31632347486426876, "variance": Fraction("1.9"), "noise": Fraction("0.1"), "dimension": r}
    assert enclosed.hidden_at_least(epsilon, p="1/10", **given) > flint.arb("1e-5")


def test_near_the_papers_parameters():
    """Everything as in Sec. VI but 50 devices, p = .1 and a short distance: true at r = 64, false by far at r = 25088."""
    given = {"devices": 50, "variance": 0.1, "receiver": 0.1, "signal": 0.3, "delta": 1e-5, "delta_prime": 1e-5}
    for p, r, fails in ((0.1, 64, False), (0.1, 784, False), (0.1, 25088, True), (0.9, 25088, False)):
        point = {**given, "p": p, "dimension": r}
        assert rows._mechanism_is_right("theorem1", **point)
        assert (rows._true("theorem1", **point) > rows._claimed("theorem1", **point)) is fails


def test_the_figure_shows_the_documented_numbers():
    figure = inference_plots.epsilon_for_observers(inference_plots.seldom_among_many())
    always, seen, promised, hidden_line = (line.get_ydata() for line in figure.axes[0].lines[:4])
    assert always[0] == pytest.approx(0.82, abs=1e-3) and seen[0] == pytest.approx(0.6823, abs=1e-4)
    assert promised[0] == pytest.approx(0.1195, abs=2e-4)
    assert hidden_line[0] == pytest.approx(0.1194, abs=1e-4) and hidden_line[-1] == pytest.approx(0.6809, abs=1e-4)
    assert np.all(np.diff(hidden_line) > 0)


def test_a_random_fleet_has_an_interval(paper):
    low, high = observers.signal_bracket(paper, device=0)
    assert 0 <= low <= high


def test_theorem1_fails_for_codes_of_one_number_by_the_densities():
    """Roots of the difference of both mixtures at 40 digits, and exact tails: 4.488e-8 where 1.272e-8 is promised."""
    K, p, variance, x, delta, delta_prime = 8, mpmath.mpf("0.034"), 100, 2, mpmath.mpf("8e-8"), mpmath.mpf("1e-8")
    with mpmath.workdps(40):
        L = mpmath.log(2 / delta_prime)
        t = L / 2 * (mpmath.mpf(variance) / 3 + mpmath.sqrt(mpmath.mpf(variance) / 9 + 4 * p * (1 - p) * variance**2 / L))
        c = x * mpmath.sqrt(2 * mpmath.log(1.25 / delta)) / mpmath.sqrt((K - 1 + p) * variance - t)
        odds = 1 + p / (1 - delta_prime) * mpmath.expm1(c)
        on, off = mpmath.sqrt(K * variance), mpmath.sqrt((K - 1) * variance)

        def excess(y):
            device = mpmath.npdf(y, x, on) - odds * mpmath.npdf(y, 0, on)
            return p * device - (odds - 1) * (1 - p) * mpmath.npdf(y, 0, off)

        grid = [k * on / 50 for k in range(-500, 501)]
        roots = [mpmath.findroot(excess, (a, b), solver="anderson") for a, b in pairwise(grid) if excess(a) * excess(b) < 0]
        (root,) = roots
        tails = [mpmath.ncdf((mean - root) / sd) for mean, sd in ((x, on), (0, on), (0, off))]
        true = p * (tails[0] - odds * tails[1]) - (odds - 1) * (1 - p) * tails[2]
        claimed = delta_prime + p * delta / (1 - delta_prime)
    assert c < 1 and true > 3.5 * claimed
    system = InferenceSystem(
        devices=K, participation=[float(p), *[1.0] * (K - 1)], noise_variance=variance, weight=x, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.0, dimension=1, delta=float(delta), delta_prime=float(delta_prime), adjacency="silent",
    )  # fmt: skip
    published = amplification.published(system, form="eq23")
    ours = float(observers.exact_delta(system, float(published.epsilon[0]), observer="others", device=0))
    assert math.isclose(float(published.delta[0]), float(claimed)) and math.isclose(ours, float(true), rel_tol=1e-9)


def test_theorem1_in_one_dimension_is_refuted_with_a_certificate(tmp_path):
    (made,) = certify(tmp_path, [INSTALLED.claims()["FDP-T1-hidden"]])
    assert (made.certified, made.note) == (True, "a counterexample")
