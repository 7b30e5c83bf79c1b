"""Iteration bounds: against PEPit's worst cases, against gradient descent run on quadratics and logistic regression."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair import iteration_bounds

MU, STEP, PHI = st.floats(1e-4, 1), st.floats(0.01, 1.99), st.floats(1e-12, 0.99)


def functions(mu, step, L=1.0):
    return {"step": step / L, "strong_convexity": mu * L, "smoothness": L}


@pytest.mark.parametrize(
    "mu, L, eta, n",
    [(0.1, 1, 1, 1), (0.1, 1, 1, 3), (0.1, 1, 0.5, 1), (0.1, 1, 1.9, 2), (0.01, 1, 1, 1), (0.3, 2, 0.4, 2)],
)
def test_worst_case_of_pepit(mu, L, eta, n):
    """The performance-estimation program finds the same worst function value; the paper's rate is below it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from PEPit import PEP
        from PEPit.functions import SmoothStronglyConvexFunction

        problem = PEP()
        f = problem.declare_function(SmoothStronglyConvexFunction, mu=mu, L=L)
        optimum, x = f.stationary_point(), problem.set_initial_point()
        problem.set_initial_condition(f(x) - f(optimum) <= 1)
        for _ in range(n):
            x = x - eta * f.gradient(x)
        problem.set_performance_metric(f(x) - f(optimum))
        worst = problem.solve(verbose=0, wrapper="cvxpy", solver="CLARABEL")
    ours = float(iteration_bounds.worst_accuracy(n, step=eta, strong_convexity=mu, smoothness=L))
    assert ours == pytest.approx(worst, abs=1e-4)
    if eta < 1.9:
        assert float(iteration_bounds.published_rate(step=eta, smoothness=L)) ** n < worst - 1e-3


@given(MU, STEP, PHI, st.integers(0, 10**6), st.floats(0.01, 100))
def test_gradient_descent_on_quadratics(mu, step, phi, seed, L):
    """Enough iterations always suffice, and one fewer than necessary never does."""
    rng = np.random.default_rng(seed)
    curvature = L * np.concatenate([[mu, 1.0], rng.uniform(mu, 1, 3)])
    start = rng.normal(size=5) * 10.0 ** rng.uniform(-3, 0, 5)

    def share(j):
        x = start * (1 - step / L * curvature) ** j
        return np.sum(curvature * x * x) / np.sum(curvature * start * start)

    enough = float(iteration_bounds.sufficient_iterations(phi, **functions(mu, step, L)))
    needed = float(iteration_bounds.necessary_iterations(phi, **functions(mu, step, L)))
    assert needed <= enough * (1 + 1e-9) + 1e-9 or needed == 1
    if enough < 1e6:
        assert share(math.ceil(enough * (1 - 1e-12))) <= phi * (1 + 1e-9)
        assert enough <= float(iteration_bounds.descent_iterations(phi, **functions(mu, step, L))) * (1 + 1e-6) + 1
    if 1 < needed < 1e6 and step < 1:
        assert share(math.ceil(needed * (1 - 1e-12)) - 1) >= phi * (1 - 1e-6)


@pytest.mark.parametrize("step", [0.3, 1.0, 1.7])
def test_gradient_descent_on_regularised_logistic_regression(step):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 6)), np.sign(rng.normal(size=80))
    l2 = 0.05
    L = l2 + np.linalg.norm(X, 2) ** 2 / (4 * len(X))

    def value(w):
        return np.mean(np.logaddexp(0, -y * (X @ w))) + l2 * w @ w / 2

    def gradient(w):
        return X.T @ (-y / (1 + np.exp(y * (X @ w)))) / len(X) + l2 * w

    best = np.zeros(6)
    for _ in range(3000):
        best -= gradient(best) / L
    w, excess = rng.normal(size=6) * 3, []
    for _ in range(60):
        excess.append(value(w) - value(best))
        w = w - step / L * gradient(w)
    j = np.arange(60)
    bound = iteration_bounds.worst_accuracy(j, step=step / L, strong_convexity=l2, smoothness=L)
    assert np.all(np.array(excess) <= bound * excess[0] * (1 + 1e-9) + 1e-13)
    for phi in (0.5, 0.1, 0.01):
        enough = math.ceil(
            iteration_bounds.sufficient_iterations(phi, step=step / L, strong_convexity=l2, smoothness=L)
        )
        if enough < 60:
            assert excess[enough] <= phi * excess[0] * (1 + 1e-9)


def test_numbers_of_the_ledger():
    example = {"step": 1.0, "strong_convexity": 0.1, "smoothness": 1.0}
    assert float(iteration_bounds.published_iterations(0.01, **example)) == pytest.approx(6.6439, abs=1e-4)
    assert math.ceil(iteration_bounds.sufficient_iterations(0.01, **example)) == 22
    assert pytest.approx(0.228768, abs=1e-6) == 0.9**14  # the ratio after the seven iterations that (22) asks for
    assert float(iteration_bounds.worst_accuracy(90, **example)) == pytest.approx(5.803e-9, rel=1e-3)
    assert float(iteration_bounds.published_accuracy(90, **example)) == pytest.approx(9.394e-3, rel=1e-3)
    assert float(
        iteration_bounds.published_iterations(0.01, step=3.0, strong_convexity=0.1, smoothness=1.0)
    ) == pytest.approx(-5.03, abs=5e-3)


def test_where_the_theorem_says_nothing_or_nonsense():
    assert math.isnan(float(iteration_bounds.published_iterations(0.1, step=0.3, strong_convexity=0.1, smoothness=4.0)))
    assert float(iteration_bounds.published_iterations(0.1, step=2.0, strong_convexity=0.1, smoothness=1.0)) == math.inf
    assert (
        float(iteration_bounds.sufficient_iterations(0.1, step=2.0, strong_convexity=0.1, smoothness=1.0)) == math.inf
    )
    assert float(iteration_bounds.sufficient_iterations(0.1, step=0.3, strong_convexity=0.1, smoothness=4.0)) < math.inf
    assert float(iteration_bounds.largest_step(4.0)) == 0.5


def test_one_iteration_and_none():
    exact = {"step": 1.0, "strong_convexity": 1.0, "smoothness": 1.0}
    assert float(iteration_bounds.sufficient_iterations(1e-9, **exact)) == 1.0
    for count in (
        iteration_bounds.sufficient_iterations,
        iteration_bounds.necessary_iterations,
        iteration_bounds.descent_iterations,
    ):
        assert float(count(1.0, step=0.5, strong_convexity=0.1, smoothness=1.0)) == 0.0


@given(MU, STEP, st.integers(1, 60))
def test_equation_41_holds_from_one_iteration_on(mu, step, j):
    kind = functions(mu, step)
    assert float(iteration_bounds.worst_accuracy(j, **kind)) <= float(
        iteration_bounds.published_accuracy(j, **kind)
    ) * (1 + 1e-12)
    assert float(iteration_bounds.published_accuracy(0, **kind)) < 1


def test_broadcasts():
    count = iteration_bounds.sufficient_iterations(
        [0.1, 0.01], step=[[0.5], [1.0]], strong_convexity=0.1, smoothness=1.0
    )
    assert count.shape == (2, 2) and np.all(np.diff(count, axis=1) > 0)


@pytest.mark.parametrize(
    "changes", [{"step": 0.0}, {"strong_convexity": 0.0}, {"strong_convexity": 2.0}, {"smoothness": math.nan}]
)
def test_bad_input(changes):
    good = {"step": 1.0, "strong_convexity": 0.1, "smoothness": 1.0}
    with pytest.raises(ParameterError) as caught:
        iteration_bounds.sufficient_iterations(0.1, **{**good, **changes})
    assert caught.value.name in changes
    with pytest.raises(ParameterError):
        iteration_bounds.sufficient_iterations(0.0, **good)


def test_no_iteration_and_a_rate_of_one():
    assert iteration_bounds.worst_accuracy(0, step=1.0, strong_convexity=1.0, smoothness=1.0) == 1.0
    assert iteration_bounds.worst_accuracy(1, step=1.0, strong_convexity=1.0, smoothness=1.0) == 0.0
    at_rest = iteration_bounds.published_iterations([1.0, 0.5], step=2.0, strong_convexity=0.5, smoothness=1.0)
    assert at_rest[0] == 0.0 and at_rest[1] == np.inf
