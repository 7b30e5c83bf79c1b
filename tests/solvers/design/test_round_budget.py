"""The budget spread over rounds: against a general solver, against every other noise, and its lower bound without a solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from airtight import Meter, ParameterError, Round, spread_budget


def _problem(devices: int, rounds: int, seed: int, floors: bool):
    rng = np.random.default_rng(seed)
    a, s2 = 10 ** rng.uniform(-2, 2, rounds), 10 ** rng.uniform(-2, 1, (devices, rounds))
    s2[rng.random(s2.shape) < 0.2] = 0.0
    s2[0] = np.maximum(s2[0], 1e-3)
    B = 10 ** rng.uniform(-1, 1, devices)
    floor = 10 ** rng.uniform(-2, 2, rounds) * (rng.random(rounds) < 0.5) if floors else np.zeros(rounds)
    return a, s2, B, floor


@given(st.integers(1, 4), st.integers(1, 8), st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
def test_bracket(devices: int, rounds: int, seed: int, floors: bool) -> None:
    """Every budget is kept; nothing that keeps them is below the lower bound; the two are near each other."""
    a, s2, B, floor = _problem(devices, rounds, seed, floors)
    found = spread_budget(a, budget=B, cost=s2, least_noise=floor)
    assert np.all(np.sum(s2 / found.noise, axis=1) <= B) and np.all(found.noise >= floor)
    assert found.lower_bound <= found.error * (1 + 1e-12) and found.error <= found.constant_error * (1 + 1e-9)
    assert found.gap <= 1e-5 * found.error
    rng = np.random.default_rng(seed + 1)
    for _ in range(50):  # other noise that keeps the budgets
        V = np.maximum(found.noise * 10 ** rng.uniform(-1, 1, rounds), floor)
        for _ in range(100):
            excess = np.max(np.sum(s2 / V, axis=1) / B)
            if excess <= 1:
                break
            V = np.maximum(V * excess, floor)
        assert a @ V >= found.lower_bound * (1 - 1e-12)


@given(st.integers(2, 5), st.integers(0, 10**6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_one_budget_is_the_optimum_of_a_general_solver(rounds: int, seed: int, floors: bool) -> None:
    a, s2, B, floor = _problem(1, rounds, seed, floors)
    found = spread_budget(a, budget=B, cost=s2, least_noise=floor)
    assert found.gap <= 1e-12 * found.error
    start = np.log(found.noise * 2)
    slsqp = optimize.minimize(
        lambda x: np.log(a @ np.exp(x)),
        start,
        constraints={"type": "ineq", "fun": lambda x: 1 - np.sum(s2[0] / np.exp(x)) / B[0]},
        bounds=[(np.log(f) if f else None, None) for f in floor],
        method="SLSQP",
    )
    assert np.exp(slsqp.fun) >= found.error * (1 - 1e-6)


def test_prices_are_derivatives() -> None:
    a, s2, B, floor = _problem(3, 6, 4, True)
    found = spread_budget(a, budget=B, cost=s2, least_noise=floor)
    for k in range(3):
        more, less = B.copy(), B.copy()
        more[k] *= 1.001
        less[k] *= 0.999
        slope = (
            spread_budget(a, budget=more, cost=s2, least_noise=floor).error
            - spread_budget(a, budget=less, cost=s2, least_noise=floor).error
        ) / (more[k] - less[k])
        assert -slope == pytest.approx(found.prices[k], rel=0.02, abs=1e-4 * found.error / B[k])


def test_limits() -> None:
    even = spread_budget(np.ones(5), budget=0.5)
    np.testing.assert_allclose(even.noise, 10.0)
    assert even.error == pytest.approx(even.constant_error)
    enough = spread_budget(np.ones(3), budget=10.0, least_noise=1.0)  # nothing has to be added
    np.testing.assert_array_equal(enough.noise, 1.0)
    assert enough.prices[0] == 0 and enough.gap <= 1e-12
    for scale in (1e-250, 1e-100, 1e100, 1e250):
        scaled = spread_budget(0.9 ** np.arange(4) * scale, budget=0.1)
        assert scaled.error == pytest.approx(scale * spread_budget(0.9 ** np.arange(4), budget=0.1).error, rel=1e-9)
    for wrong in (
        {"influence": [1.0, 0.0], "budget": 1.0},
        {"influence": 1.0, "budget": 1.0},
        {"influence": [1.0, 1.0], "budget": 0.0},
        {"influence": [1.0, 1.0], "budget": 1.0, "cost": [1.0, 1.0, 1.0]},
        {"influence": [1.0, 1.0], "budget": 1.0, "cost": [1.0, 0.0]},
        {"influence": [1.0, np.nan], "budget": 1.0},
        {"influence": [1.0, 1.0], "budget": 1.0, "least_noise": -1.0},
    ):
        with pytest.raises(ParameterError) as error:
            spread_budget(**wrong)  # type: ignore[arg-type]
        assert error.value.name in wrong


def test_a_meter_lets_the_design_through_and_no_round_more() -> None:
    meter = Meter(2.0, 1e-5, devices=3)
    budget = meter.guarantee(0).amount
    found = spread_budget(0.95 ** np.arange(11, -1, -1), budget=budget, cost=0.25)
    last = {}
    for V in found.noise:
        last = {"noise_variance": V / 3, "weight": 0.5, "clip": 1.0, "receiver_noise_variance": 0.0}
        meter.record(Round(participants=[0, 1, 2], devices=3, **last))
    assert not meter.may(Round(participants=[0, 1, 2], devices=3, **last))
    assert meter.left(0) < 1e-9
