"""Deviation factor, model, fit, scaled noise: the ledger's numbers and the repairs' promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair import fairness
from airtight.validate.papers.utility_fairness import privacy

COSINES = st.lists(st.floats(-1, 1), min_size=1, max_size=8)


def test_examples_of_the_ledger():
    assert fairness.published_deviation([0.5, -0.2, 0.1]) == pytest.approx([0, 1.4, 0.8])
    assert fairness.published_deviation([-0.1, -0.5, -0.9]) == pytest.approx([0, -4, -8])
    assert fairness.published_fit(0.2, 0.05, beta_2=[0.02, 0.5]) == pytest.approx([2.4365, 0.22103], rel=1e-4)
    scale = fairness.noise_scale([0.0, 0.25, 0.5, 1.0, 1.6, 1.7], epsilon=0.95, delta=1e-5, theta=0.6)
    assert scale == pytest.approx([5.099795013, 5.999758839, 7.285421448, 12.749487533, 127.49, -254.99], rel=1e-4)
    assert float(fairness.noise_scale(1.0, epsilon=0.95, delta=1e-5, theta=1.0)) == math.inf
    assert math.isnan(fairness.published_deviation([0.0, 0.0])[0])
    assert fairness.similarities(np.ones((2, 3)), np.zeros(3)).tolist() == pytest.approx([math.nan] * 2, nan_ok=True)


def test_privacy_numbers_of_the_ledger():
    leak = fairness.variance_leak(0.95, deviation_change=[0.05, 0.005], theta=0.6, dimension=[650, 109386])
    assert leak == pytest.approx([0.179132, 0.293966], abs=1e-6)
    sigma = 5.099795013268831
    assert float(fairness.copies_epsilon(1e-5, noise=sigma, devices=1)) == pytest.approx(0.71001362062, rel=1e-9)
    assert float(fairness.copies_epsilon(1e-5, noise=sigma, devices=10)) == pytest.approx(2.5372310, abs=1e-6)
    assert float(fairness.copies_epsilon(1e-5, noise=sigma, devices=10, rounds=200)) == pytest.approx(75.036, abs=1e-3)
    moves = fairness.sensitivity(
        lipschitz=1.0, strong_convexity=0.01, smoothness=39.0, step=0.05, iterations=[80, math.inf], samples=179
    )
    assert moves == pytest.approx([0.0876428, 2.2346], rel=1e-4)


@given(COSINES, st.sampled_from(["clip", "shift"]))
def test_repairs_stay_in_range_and_keep_the_best(similarity, repair):
    values = fairness.deviation(similarity, repair=repair)
    assert np.all((values >= 0) & (values <= 1)) and values[int(np.argmax(similarity))] == pytest.approx(0, abs=1e-15)
    order = np.argsort(similarity)
    assert np.all(np.diff(values[order]) <= 1e-15)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5))
def test_the_mean_update_is_always_near_somebody(seed, devices, size):
    h = np.random.default_rng(seed).normal(size=(devices, size))
    s = fairness.mean_update_similarities(h)
    assert np.max(s) > 0
    assert np.all(fairness.deviation(s, repair="mean-update") >= 0)


@given(st.floats(0.05, 1), st.floats(0.01, 1), st.integers(0, 10**6))
def test_fit_recovers_the_model(beta_1, beta_2, seed):
    energy = np.random.default_rng(seed).uniform(0.001, 0.2, 6)
    found = fairness.fit(fairness.model(energy, beta_1=beta_1, beta_2=beta_2), energy)
    assert found.beta_1 == pytest.approx(beta_1, rel=1e-6) and found.beta_2 == pytest.approx(beta_2, rel=1e-6)


def test_fit_through_noise_and_zeros():
    rng = np.random.default_rng(0)
    energy = rng.uniform(0.0, 0.15, 500)
    noisy = fairness.model(energy, beta_1=0.6, beta_2=0.05) * np.exp(0.1 * rng.normal(size=500))
    found = fairness.fit(np.append(noisy, 0.0), np.append(energy, 0.3))
    assert found.beta_1 == pytest.approx(0.6, rel=0.05) and found.beta_2 == pytest.approx(0.05, rel=0.05)


@given(st.floats(0, 1), st.floats(0, 0.99), st.floats(0.01, 0.99), st.floats(1e-9, 0.5))
def test_scaled_noise_in_its_domain(deviation, theta, epsilon, delta):
    from airtight.analytics.privacy.mechanisms import gaussian

    scale = float(fairness.noise_scale(deviation, epsilon=epsilon, delta=delta, theta=theta))
    effective = float(fairness.effective_epsilon(deviation, epsilon=epsilon, theta=theta))
    assert float(gaussian.delta(effective, sensitivity=1.0, sigma=scale)) <= delta


def test_variance_leak_by_simulation():
    """The likelihood-ratio test on the squared norm."""
    rng = np.random.default_rng(0)
    v, epsilon = 50, 0.3
    inflated = (1 - 0.6 * 0.2) ** -2
    exact = float(fairness.variance_leak(epsilon, deviation_change=0.2, theta=0.6, dimension=v))
    p, q = inflated * rng.chisquare(v, 400_000), rng.chisquare(v, 400_000)
    best = max(
        max((p > t).mean() - math.exp(epsilon) * (q > t).mean(), (q < t).mean() - math.exp(epsilon) * (p < t).mean())
        for t in np.linspace(30, 90, 121)
    )
    assert best == pytest.approx(exact, abs=5e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fairness.similarities([[1.0]], [1.0, 2.0]),
        lambda: fairness.similarities([1.0], [1.0]),
        lambda: fairness.published_deviation([1.5]),
        lambda: fairness.deviation([0.5], repair="none"),
        lambda: fairness.fit([0.5], [0.1]),
        lambda: fairness.fit([0.5, 0.5], [0.1, 0.1]),
        lambda: fairness.fit([0.1, 0.5], [0.1, 0.2]),
        lambda: fairness.fit([0.5, 0.505], [0.1, 0.2]),
        lambda: fairness.fit([0.5, 0.5], [0.1, 0.2]),
        lambda: fairness.variance_leak(0.5, deviation_change=2.0, theta=0.6, dimension=3),
        lambda: fairness.copies_epsilon(1e-5, noise=1.0, devices=0),
        lambda: fairness.sensitivity(
            lipschitz=1.0, strong_convexity=1.0, smoothness=1.0, step=2.0, iterations=1, samples=1
        ),
        lambda: fairness.sensitivity(
            lipschitz=1.0, strong_convexity=1.0, smoothness=0.5, step=0.1, iterations=1, samples=1
        ),
        lambda: fairness.model(-1.0, beta_1=0.5, beta_2=0.5),
    ],
)
def test_bad_input(call):
    with pytest.raises(ParameterError):
        call()


def test_no_iteration_moves_nothing():
    for step in (0.5, 1.0):
        found = fairness.sensitivity(
            lipschitz=1.0, strong_convexity=1.0, smoothness=1.0, step=step, iterations=0, samples=10
        )
        assert found == 0.0


@pytest.mark.parametrize("smoothness", [1.0, 5.0, 40.0])
def test_sensitivity_needs_the_contracting_step(smoothness):
    """Gradient descent on quadratics of Hessian diag(mu, L): within the bound up to 2/(mu + L); beyond, refused and broken."""
    mu, samples, iterations = 1.0, 10, 60
    hessian = np.array([mu, smoothness])

    def moved(step):
        kick, distance = np.array([0.0, 4.0 / samples]), np.zeros(2)  # along the steepest direction, G = 1
        for i in range(iterations):
            distance = (1 - step * hessian) * distance + step * kick * (-1.0) ** (i if step * smoothness > 1 else 0)
        return float(np.linalg.norm(distance))

    given = {"lipschitz": 1.0, "strong_convexity": mu, "smoothness": smoothness, "iterations": iterations}
    longest = 2 / (mu + smoothness)
    for step in (0.1 * longest, 0.7 * longest, longest):
        bound = float(fairness.sensitivity(**given, step=step, samples=samples))
        assert moved(step) <= bound * (1 + 1e-12)
    with pytest.raises(ParameterError, match="step"):
        fairness.sensitivity(**given, step=longest * 1.001, samples=samples)
    if smoothness > 1:
        step = 1.5 * longest
        assert moved(step) > 4 / (mu * samples) * -math.expm1(iterations * math.log(abs(1 - step * mu)))


def test_the_update_moves_in_all_iterations_but_the_first():
    """UF-E7*: a run of (4) with j steps, the broadcast gradient common; then with xi = 2K, where the bound is attained."""
    found = [privacy._apart(0.3, 0.5, j, 10) for j in (1, 2, 5)]
    assert found == pytest.approx([0.0, 0.2, 0.637325], abs=1e-6)
    bounds = [
        float(
            fairness.sensitivity(
                lipschitz=1.0, strong_convexity=0.3, smoothness=0.3, step=0.5, iterations=j, samples=10
            )
        )
        for j in (1, 2, 5)
    ]
    assert [privacy._apart(0.3, 0.5, j, 10, 2.0) for j in (1, 2, 5)] == pytest.approx(bounds)
    assert all(
        privacy._apart(0.3, 0.5, j, 10, pull) < b
        for j, b in zip((1, 2, 5), bounds, strict=True)
        for pull in (0, 0.7, 1.9)
    )
    assert privacy._apart(0.3, 0.5, 2, 10, 2.5) > bounds[1], "xi <= 2K is needed"


@given(seed=st.integers(0, 10**6), devices=st.integers(2, 30), clip=st.floats(1e-3, 1e3))
def test_clipped_updates_move_the_mean_by_the_client_sensitivity_at_most(seed, devices, clip):
    h = np.random.default_rng(seed).normal(size=(devices + 1, 3))
    h *= clip / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1.0)
    limit = fairness.client_sensitivity(clip=clip, devices=devices) * (1 + 1e-12)
    mean, left_out, replaced = h[:-1].mean(axis=0), h[1:-1].mean(axis=0), h[1:].mean(axis=0)
    assert max(np.linalg.norm(mean - left_out), np.linalg.norm(mean - replaced)) <= limit
    opposite = np.array([clip, *[-clip] * (devices - 1)])
    assert opposite.mean() - opposite[1:].mean() == pytest.approx(limit, rel=1e-9)
