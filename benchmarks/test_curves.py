"""Speed of privacy curves at many points, of mechanisms and of calibration, beside peers in the same run.

`accuracy` is the relative distance of the bounds of epsilon, or of the peer's result from airtight's lower bound where
the peer gives one number. Calls with a goal, compositions among them, are in test_goals.py.
"""

import numpy as np
import pytest

import airtight
from benchmarks import peers

DELTAS = np.geomspace(1e-12, 1e-2, 100_000)
EPSILONS = np.linspace(0.0, 8.0, 100_000)
LEVELS = np.linspace(0.0, 1.0, 1000)


def pld():
    return pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")


def composed(mu=1.0, p=0.01, rounds=1000):
    return airtight.subsampled(mu, p).compose(rounds)


@pytest.mark.benchmark(group="100 000 deltas to epsilon, one Gaussian")
def test_gaussian_epsilons(benchmark):
    benchmark.pedantic(lambda: airtight.gaussian(1.0).epsilon(DELTAS), rounds=3)


@pytest.mark.benchmark(group="100 000 deltas to epsilon, one Gaussian")
def test_gaussian_epsilons_dp_accounting(benchmark):
    """A loop over 1000 of the points, repeated 100 times in the table."""
    accounting = pytest.importorskip("dp_accounting")
    benchmark.pedantic(lambda: [accounting.get_epsilon_gaussian(1.0, d) for d in DELTAS[::100]], rounds=1)
    benchmark.extra_info["times"] = 100


@pytest.mark.benchmark(group="100 000 epsilons to delta, one Gaussian")
def test_gaussian_deltas(benchmark):
    benchmark.pedantic(lambda: airtight.gaussian(1.0).delta(EPSILONS), rounds=3)


def trade_off(by, gaussian):
    """The call that gives the least type II errors at all levels."""
    q, rounds = (1, 1) if gaussian else (0.01, 1000)
    if by == "airtight":
        return lambda: (airtight.gaussian(1.0) if gaussian else composed()).beta(LEVELS)
    peer = peers.load(by)
    if by == "opake-accounting":
        return lambda: list(map(peers.law(by, 1.0, q, rounds, 1e-3).beta_at, LEVELS))
    if gaussian:
        return lambda: peer.analysis.get_beta_from_gdp(1.0, LEVELS)
    return lambda: peer.calibration.dpsgd.get_beta_for_dpsgd(1.0, q, rounds, LEVELS, 1e-3)


@pytest.mark.parametrize("by", ["airtight", "riskcal", "opake-accounting"])
@pytest.mark.parametrize("name", ["Gaussian", "q = .01, T = 1000"])
def test_trade_off(benchmark, name, by):
    """A peer's accuracy is the greatest distance of its type II error from airtight's lower bound, which is not relative."""
    benchmark.group = f"trade-off function at 1000 points, {name}; accuracy: absolute"
    benchmark.extra_info["by"] = by
    errors = benchmark.pedantic(trade_off(by, name == "Gaussian"), rounds=3)
    if by != "airtight":
        lower = trade_off("airtight", name == "Gaussian")()
        benchmark.extra_info["accuracy"] = float(np.max(np.abs(np.array(errors) - lower)))


MECHANISMS = {  # of a curve, and of the peer's law at a step
    "replaced record of a Poisson sample": (
        lambda: airtight.dp_sgd(1.0, 0.01, 1, adjacency="replace"),
        None,  # whose law only its accountant makes
    ),
    "discrete Laplace": (
        lambda: airtight.discrete_laplace(20.0, 3),
        lambda law, step: law.from_discrete_laplace_mechanism(0.05, sensitivity=3, value_discretization_interval=step),
    ),
    "discrete Gaussian": (
        lambda: airtight.discrete_gaussian(20.0, 3),
        lambda law, step: law.from_discrete_gaussian_mechanism(20.0, sensitivity=3, value_discretization_interval=step),
    ),
    "mixture of Gaussians": (
        lambda: airtight.mixture_gaussian([0.0, 1.0, 2.0], [0.9, 0.09, 0.01], 2.0),
        lambda law, step: law.from_mixture_gaussian_mechanism(
            2.0, [0.0, 1.0, 2.0], [0.9, 0.09, 0.01], value_discretization_interval=step
        ),
    ),
}


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_mechanism(benchmark, name):
    benchmark.group = f"epsilon of 100 releases at delta = 1e-6: {name}"
    bounds = benchmark.pedantic(lambda: MECHANISMS[name][0]().compose(100).bracket(delta=1e-6), rounds=3)
    benchmark.extra_info["accuracy"] = float(bounds.width)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_mechanism_dp_accounting(benchmark, name):
    benchmark.group = f"epsilon of 100 releases at delta = 1e-6: {name}"
    curve, law = MECHANISMS[name]
    peer = pld()

    def epsilon():
        if law is not None:
            return law(peer, 1e-3).self_compose(100).get_epsilon_for_delta(1e-6)
        from dp_accounting import NeighboringRelation, dp_event
        from dp_accounting.pld import PLDAccountant

        accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE, 1e-3)
        accountant.compose(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 100)
        return accountant.get_epsilon(1e-6)

    upper = benchmark.pedantic(epsilon, rounds=3)
    lower = curve().compose(100).bracket(delta=1e-6, width=1e-5).lower
    benchmark.extra_info["accuracy"] = float(upper / lower - 1)


@pytest.mark.benchmark(group="least noise, q = .01, T = 1000, epsilon = 1 at delta = 1e-5")
def test_calibration(benchmark):
    def sigma():
        return airtight.calibrate_curve(lambda s: composed(1 / s), epsilon=1.0, delta=1e-5)

    benchmark.pedantic(sigma, rounds=2)
    benchmark.extra_info["accuracy"] = 1e-3


@pytest.mark.benchmark(group="least noise, q = .01, T = 1000, epsilon = 1 at delta = 1e-5")
def test_calibration_dp_accounting(benchmark):
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import PLDAccountant

    def event(sigma):
        sampled = accounting.PoissonSampledDpEvent(0.01, accounting.GaussianDpEvent(sigma))
        return accounting.SelfComposedDpEvent(sampled, 1000)

    def sigma():
        return accounting.calibrate_dp_mechanism(
            lambda: PLDAccountant(value_discretization_interval=1e-3),
            event,
            1.0,
            1e-5,
            accounting.LowerEndpointAndGuess(0.5, 2.0),
            tol=1e-3,
        )

    benchmark.pedantic(sigma, rounds=1)
    benchmark.extra_info["accuracy"] = 1e-3


@pytest.mark.benchmark(group="least noise, q = .01, T = 1000, advantage = .1")
def test_calibration_of_the_advantage(benchmark):
    benchmark.pedantic(lambda: airtight.calibrate_curve(lambda s: composed(1 / s), advantage=0.1), rounds=2)
    benchmark.extra_info["accuracy"] = 1e-3


@pytest.mark.benchmark(group="least noise, q = .01, T = 1000, advantage = .1")
@pytest.mark.filterwarnings("ignore")  # the peer's
def test_calibration_of_the_advantage_riskcal(benchmark):
    """Its accuracy is the distance of the advantage at its noise from the one that was asked for."""
    search = peers.load("riskcal").calibration.dpsgd.find_noise_multiplier_for_advantage
    sigma = benchmark.pedantic(search, (0.1, 0.01, 1000), {"grid_step": 1e-3}, rounds=1)
    benchmark.extra_info["accuracy"] = float(abs(composed(1 / sigma).bracket(epsilon=0.0, width=1e-5).lower / 0.1 - 1))
