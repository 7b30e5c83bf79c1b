"""Speed of privacy curves at many points, of compositions and of calibration, beside dp-accounting in the same run.

`accuracy` is the relative distance of the bounds of epsilon, or of the peer's result from airtight's upper bound where
the peer gives one number.
"""

import numpy as np
import pytest

import airtight

DELTAS = np.geomspace(1e-12, 1e-2, 100_000)
EPSILONS = np.linspace(0.0, 8.0, 100_000)
LEVELS = np.linspace(0.0, 1.0, 1000)
MUS = np.linspace(0.1, 5.0, 100_000)
COMPOSITIONS = {  # mu, sampling probability, rounds, delta, the peer's step with an error like ours
    "q = .01, T = 1000": (1.0, 0.01, 1000, 1e-6, 1e-3),
    "q = .004, T = 15000": (1.25, 0.004, 15_000, 1e-5, 2e-4),
    "q = .5, T = 100": (1.0, 0.5, 100, 1e-10, 1e-3),
}


def pld():
    return pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")


def composed(mu=1.0, p=0.01, rounds=1000):
    return airtight.subsampled(mu, p).compose(rounds)


@pytest.fixture(scope="module")
def unlike():
    rng = np.random.default_rng(1)
    return list(zip(rng.uniform(0.3, 1.0, 50).tolist(), rng.uniform(0.01, 0.1, 50).tolist(), strict=True))


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


@pytest.mark.benchmark(group="100 000 deltas to epsilon, q = .01, T = 1000, the curve included")
def test_composed_epsilons(benchmark):
    benchmark.pedantic(lambda: composed().epsilon(DELTAS), rounds=2)


@pytest.mark.benchmark(group="100 000 deltas to epsilon, q = .01, T = 1000, the curve included")
def test_composed_epsilons_dp_accounting(benchmark):
    """A loop over 1000 of the points, repeated 100 times in the table."""
    law = pld()

    def epsilons():
        one = law.from_gaussian_mechanism(1.0, sampling_prob=0.01, value_discretization_interval=1e-3)
        composition = one.self_compose(1000)
        return [composition.get_epsilon_for_delta(d) for d in DELTAS[::100]]

    benchmark.pedantic(epsilons, rounds=1)
    benchmark.extra_info["times"] = 100


@pytest.mark.benchmark(group="100 000 epsilons to delta, q = .01, T = 1000, the curve included")
def test_composed_deltas(benchmark):
    benchmark.pedantic(lambda: composed().delta(EPSILONS), rounds=2)


@pytest.mark.benchmark(group="100 000 epsilons to delta, q = .01, T = 1000, the curve included")
def test_composed_deltas_dp_accounting(benchmark):
    law = pld()

    def deltas():
        one = law.from_gaussian_mechanism(1.0, sampling_prob=0.01, value_discretization_interval=1e-3)
        return one.self_compose(1000).get_delta_for_epsilon(EPSILONS)

    benchmark.pedantic(deltas, rounds=2)


@pytest.mark.benchmark(group="100 000 curves of a Gaussian, each asked once")
def test_many_curves(benchmark):
    bounds = benchmark.pedantic(lambda: [airtight.gaussian(mu).bracket(delta=1e-5) for mu in MUS], rounds=1)
    benchmark.extra_info["accuracy"] = float(max(each.width for each in bounds))


@pytest.mark.benchmark(group="100 000 curves of a Gaussian, each asked once")
def test_many_curves_dp_accounting(benchmark):
    """A loop over 1000 of the curves, repeated 100 times in the table."""
    accounting = pytest.importorskip("dp_accounting")
    found = benchmark.pedantic(lambda: [accounting.get_epsilon_gaussian(1 / mu, 1e-5) for mu in MUS[::100]], rounds=1)
    benchmark.extra_info["times"] = 100
    lower = [float(airtight.gaussian(mu).bracket(delta=1e-5).lower) for mu in MUS[::100]]
    benchmark.extra_info["accuracy"] = float(max(abs(np.array(found) / lower - 1)))


@pytest.mark.benchmark(group="trade-off function at 1000 points")
@pytest.mark.parametrize("name", ["Gaussian", "q = .01, T = 1000"])
def test_trade_off(benchmark, name):
    curve = airtight.gaussian(1.0) if name == "Gaussian" else composed()
    benchmark.pedantic(lambda: airtight.PrivacyCurve(curve.factors).beta(LEVELS), rounds=3)


@pytest.mark.parametrize("name", list(COMPOSITIONS))
def test_composition(benchmark, name):
    mu, p, rounds, delta, _ = COMPOSITIONS[name]
    benchmark.group = f"epsilon of a subsampled Gaussian, {name}, delta = {delta:g}"
    bounds = benchmark.pedantic(lambda: composed(mu, p, rounds).bracket(delta=delta), rounds=3)
    benchmark.extra_info["accuracy"] = float(bounds.width)


@pytest.mark.parametrize("name", list(COMPOSITIONS))
def test_composition_dp_accounting(benchmark, name):
    mu, p, rounds, delta, step = COMPOSITIONS[name]
    benchmark.group = f"epsilon of a subsampled Gaussian, {name}, delta = {delta:g}"
    law = pld()

    def epsilon():
        one = law.from_gaussian_mechanism(1 / mu, sampling_prob=p, value_discretization_interval=step)
        return one.self_compose(rounds).get_epsilon_for_delta(delta)

    upper = benchmark.pedantic(epsilon, rounds=3)
    lower = composed(mu, p, rounds).bracket(delta=delta, width=1e-5).lower
    benchmark.extra_info["accuracy"] = float(upper / lower - 1)


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


@pytest.mark.benchmark(group="50 unlike subsampled Gaussians, epsilon at delta = 1e-6")
def test_unlike(benchmark, unlike):
    def bounds():
        return airtight.compose([airtight.subsampled(*one) for one in unlike]).bracket(delta=1e-6)

    benchmark.extra_info["accuracy"] = float(benchmark.pedantic(bounds, rounds=2).width)


@pytest.mark.benchmark(group="50 unlike subsampled Gaussians, epsilon at delta = 1e-6")
def test_unlike_dp_accounting(benchmark, unlike):
    law = pld()

    def epsilon():
        total = None
        for mu, p in unlike:
            one = law.from_gaussian_mechanism(1 / mu, sampling_prob=p, value_discretization_interval=1e-3)
            total = one if total is None else total.compose(one)
        return total.get_epsilon_for_delta(1e-6)

    upper = benchmark.pedantic(epsilon, rounds=1)
    lower = airtight.compose([airtight.subsampled(*one) for one in unlike]).bracket(delta=1e-6, width=1e-4).lower
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
