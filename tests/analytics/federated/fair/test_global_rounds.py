"""Rounds under noise: against Algorithm 1 run on quadratics and on another loss, and with local errors that point uphill."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair import global_rounds


@pytest.mark.parametrize("keeps_model", [False, True])
def test_the_algorithm_run_on_quadratics_has_the_exact_accuracy(keeps_model):
    rng, runs, rounds, K, pull, local, server = np.random.default_rng(0), 20_000, 6, 3, 0.4, 0.1, 0.2
    c, start = np.array([[1.0, 2.0], [1.5, 1.0], [2.0, 3.0]]), np.array([1.0, -0.5])
    clean, copies = np.tile(start, (runs, 1)), np.tile(start, (runs, K, 1))
    for _ in range(rounds):
        gradient = (c * copies).mean(axis=1, keepdims=True)
        updates = -pull * gradient / c + local * rng.normal(size=(runs, K, 2))  # exact solutions of (4)
        clean = (clean if keeps_model else copies[:, 0]) + updates.mean(axis=1)
        if keeps_model:
            copies = clean[:, None] + server * rng.normal(size=(runs, K, 2))
        else:
            clean = clean + server * rng.normal(size=(runs, 2))
            copies = np.repeat(clean[:, None], K, axis=1)
    excess = (clean**2 @ c.mean(axis=0)) / (start**2 @ c.mean(axis=0))
    exact = global_rounds.quadratic_accuracy(
        rounds, curvatures=c, start=start, pull=pull, local_noise=local, global_noise=server, keeps_model=keeps_model
    )
    assert abs(excess.mean() - exact) < 4 * excess.std() / np.sqrt(runs)


@given(st.integers(0, 10**6), st.floats(1, 5), st.floats(0.001, 0.99), st.floats(0, 0.01))
def test_one_round_with_the_worst_local_errors_shrinks_as_proved(seed, spread, share, phi):
    """Quadratics with unlike Hessians; every solution errs by the accuracy Phi, uphill."""
    rng, K = np.random.default_rng(seed), 3
    bases = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(K)]
    hessians = np.array([b @ np.diag([1.0, spread, rng.uniform(1, spread)]) @ b.T for b in bases])
    pull, w = share * 2 / spread, rng.normal(size=3)
    average = hessians.mean(axis=0)
    solutions = np.array([np.linalg.solve(H, -pull * average @ w) for H in hessians])
    uphill = average @ (w + solutions.mean(axis=0)) + average @ w
    sizes = [np.sqrt(phi * (h @ H @ h) / (uphill @ H @ uphill)) for H, h in zip(hessians, solutions, strict=True)]
    errors = np.outer(sizes, uphill)
    after = w + (solutions + errors).mean(axis=0)
    model = {"pull": pull, "strong_convexity": 1.0, "smoothness": spread}
    q = float(global_rounds.contraction(**model, local_accuracy=phi))
    assert after @ average @ after <= q * (w @ average @ w) * (1 + 1e-9)


def test_a_loss_that_is_not_quadratic_stays_below_the_bound():
    """log cosh and a regulariser, two devices with other minima; local problems by 400 gradient steps."""
    rng, runs, mu, pull, deviation = np.random.default_rng(1), 500, 0.3, 0.2, 0.15
    centers = np.array([-1.0, 2.0])

    def slope(w):
        return mu * w + (1 - mu) * np.tanh(w - centers)

    def value(w):
        return np.mean(mu * w**2 / 2 + (1 - mu) * np.log(np.cosh(w - centers)), axis=-1)

    w = np.full((runs, 1), 6.0)
    grid = np.linspace(-3, 3, 100_001)[:, None]
    least, at_start = value(grid).min(), value(w)[0]
    for m in range(1, 15):
        h, g = np.zeros((runs, 2)), slope(w)
        for _ in range(400):
            h -= slope(w + h) - g + pull * g.mean(axis=1, keepdims=True)
        w = w + h.mean(axis=1, keepdims=True) + deviation * rng.normal(size=(runs, 1))
        noise = deviation**2 / (2 * (at_start - least))
        bound = global_rounds.worst_accuracy(m, noise=noise, pull=pull, strong_convexity=mu, smoothness=1.0)
        excess = (value(w) - least) / (at_start - least)
        assert excess.mean() - 4 * excess.std() / np.sqrt(runs) <= bound


@given(st.floats(1e-9, 1), st.floats(0, 2), st.floats(1e-6, 1.9), st.floats(0.05, 1), st.floats(0, 1e-3))
def test_the_number_of_rounds_is_the_least_that_the_bound_allows(psi, noise, pull, mu, phi):
    model = {"noise": noise, "pull": pull, "strong_convexity": mu, "smoothness": 1.0, "local_accuracy": phi}
    count = float(global_rounds.sufficient_rounds(psi, **model))
    if np.isfinite(count):
        assert global_rounds.worst_accuracy(np.ceil(count), **model) <= psi * (1 + 1e-9)
        if count > 1e-6:
            assert global_rounds.worst_accuracy(count * (1 - 1e-6), **model) >= psi * (1 - 1e-9)
    else:
        assert global_rounds.floor(**model) >= psi * (1 - 1e-9)
        assert global_rounds.worst_accuracy(1e300, **model) >= psi * (1 - 1e-9)


def test_where_nothing_is_proved_the_bound_is_infinite():
    model = {"noise": 0.0, "pull": 3.0, "strong_convexity": 1.0, "smoothness": 1.0}
    assert global_rounds.worst_accuracy([0, 1], **model).tolist() == [1.0, np.inf]
    assert global_rounds.floor(**model) == global_rounds.sufficient_rounds(0.5, **model) == np.inf


@pytest.mark.parametrize(
    "changes",
    [{"noise": -1.0}, {"pull": 0.0}, {"smoothness": 0.5}, {"local_accuracy": 1.0}, {"accuracy": 0.0}, {"accuracy": np.nan}],
)
def test_bad_input(changes):
    given = {"accuracy": 0.1, "noise": 0.0, "pull": 0.5, "strong_convexity": 1.0, "smoothness": 1.0, "local_accuracy": 0.0}
    with pytest.raises(ParameterError):
        global_rounds.sufficient_rounds(**{**given, **changes})


@pytest.mark.parametrize("changes", [{"curvatures": [1.0]}, {"start": [0.0]}, {"start": [1.0, 1.0]}, {"rounds": -1}])
def test_quadratics_refused(changes):
    given = {"rounds": 1, "curvatures": [[1.0]], "start": [1.0], "pull": 0.5, "local_noise": 0.1, "global_noise": 0.1}
    with pytest.raises(ParameterError):
        global_rounds.quadratic_accuracy(**{**given, **changes})
