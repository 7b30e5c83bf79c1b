"""The meter: adaptive adversaries against the filter, the greatest feasible set, and a log that loses and hides nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import localcontext
from itertools import combinations, product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import airtight
from airtight import Meter, OverspentError, ParameterError, Round
from airtight.analytics.privacy import meter_log
from airtight.analytics.privacy.accounting import renyi
from airtight.commands.cli import main
from airtight.validate import files

CHECK_LOG = Path(airtight.__file__).parent / "validate" / "claims" / "certificates" / "check_log.py"


def one(participants=(0, 1), devices=3, **changes: object) -> Round:
    base = {"noise_variance": 60.0, "weight": 1.0, "clip": 1.0, "receiver_noise_variance": 0.1}
    return Round(participants=list(participants), devices=devices, **{**base, **changes})  # type: ignore[arg-type]


@given(st.integers(1, 5), st.integers(0, 10**6), st.sampled_from(["silent", "replace"]))
@settings(max_examples=25, deadline=None)
def test_what_a_round_spends(devices: int, seed: int, adjacency: str) -> None:
    """mu^2 = distance^2 / (the others' noise that is sent + own noise + receiver's), never below, hardly above."""
    rng = np.random.default_rng(seed)
    sigma2, weight, clip = 10 ** rng.uniform(-2, 2, (3, devices))
    gamma, N, present = float(10 ** rng.uniform(-1, 1)), float(10 ** rng.uniform(-2, 1)), rng.random(devices) < 0.7
    asked = Round(
        participants=present, devices=devices, noise_variance=sigma2, weight=weight, clip=clip, alignment=gamma,
        receiver_noise_variance=N, adjacency=adjacency,
    )  # fmt: skip
    found = asked.mu_squared(present)
    for k in range(devices):
        distance = (2 if adjacency == "replace" else 1) * weight[k] * clip[k]
        true = distance**2 / (float(np.sum(sigma2[present])) + N / gamma**2) if present[k] else 0.0
        assert true * (1 - 1e-15) <= found[k] <= true * (1 + 1e-12)


def test_separate_messages_are_hidden_by_their_own_noise_alone() -> None:
    found = one([0, 1], separate=True, noise_variance=[4.0, 2.0, 1.0], receiver_noise_variance=0.0)
    np.testing.assert_allclose(found.mu_squared(found.participants), [0.25, 0.5, 0.0])
    looks = one([0, 1], looks=np.eye(3), noise_variance=[4.0, 2.0, 1.0], receiver_noise_variance=0.0)
    np.testing.assert_allclose(looks.mu_squared(looks.participants), [0.25, 0.5, 0.0])
    with pytest.raises(ParameterError, match="looks"):
        one(separate=True, looks=np.eye(3))


def _noise_left(asked: Round, k: int) -> float:
    """The least noise that hides device k, whichever so many of the others collude: by trying all of them."""
    looks = np.ones((asked.devices, 1)) if asked.looks is None else np.asarray(asked.looks)
    sends = np.ones(asked.devices, dtype=bool) if asked.idle_noise else np.asarray(asked.participants)
    received = asked.receiver_noise_variance / asked.alignment**2
    others, least = [j for j in range(asked.devices) if j != k], np.inf
    named = isinstance(asked.colluding, tuple)
    for J in [asked.colluding] if named else combinations(others, min(asked.colluding, len(others))):
        honest = [j for j in others if sends[j] and j not in J]
        V = received * np.eye(looks.shape[1])
        V = V + sum(asked.noise_variance[j] * np.outer(looks[j], looks[j].conj()) for j in honest)
        v = 1 / (looks[k].conj() @ np.linalg.solve(V, looks[k])).real
        least = min(least, v + asked.noise_variance[k])
    return least


@given(st.integers(2, 6), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_colluders_take_the_noise_that_they_sent(devices: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    unnamed, present = bool(rng.random() < 0.6), rng.random(devices) < 0.7
    number = int(rng.integers(0, devices))
    asked = Round(
        participants=present, devices=devices, noise_variance=rng.choice([0.5, 0.5, 1.0, 3.0], devices) * rng.choice([1, 1.7]),
        weight=rng.uniform(0.5, 2, devices), clip=1.0, alignment=float(rng.uniform(0.5, 2)), idle_noise=bool(rng.random() < 0.3),
        receiver_noise_variance=float(rng.uniform(0.1, 1)),
        looks=None if unnamed or rng.random() < 0.5 else rng.standard_normal((devices, 2)),
        colluding=number if unnamed else rng.permutation(devices)[:number],
    )  # fmt: skip
    found = asked.mu_squared(present)
    for k in np.flatnonzero(present):
        true = asked.weight[k] ** 2 / _noise_left(asked, k)
        assert true * (1 - 1e-12) <= found[k] <= true * (1 + 1e-9)
    assert Round.from_dict(json.loads(json.dumps(asked.to_dict()))).to_dict() == asked.to_dict()


def test_colluders_of_the_theory() -> None:
    """Theorem 8 of docs/colluders.md."""
    asked = one(range(5), 5, noise_variance=[0.4, 0.3, 0.6, 0.8, 1.2], receiver_noise_variance=0.2)
    mu2 = [replace(asked, colluding=m).mu_squared(np.ones(5, bool))[0] for m in range(5)]
    np.testing.assert_allclose(mu2, [0.285714, 0.434783, 0.666667, 1.111111, 1.666667], rtol=2e-6)
    alone = one(separate=True)
    np.testing.assert_array_equal(
        alone.mu_squared(alone.participants), replace(alone, colluding=2).mu_squared(alone.participants)
    )


@given(st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_who_may_send_against_colluders(devices: int, seed: int) -> None:
    """The union of all feasible sets, for any number and for a list."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(0, devices))
    colluding = m if rng.random() < 0.6 else np.flatnonzero(rng.random(devices) < 0.4)[: devices - 1].tolist()
    meter = Meter(10 ** rng.uniform(-0.5, 1, devices), 1e-5, devices=devices, colluding=colluding)
    asked = one(range(devices), devices, noise_variance=10 ** rng.uniform(0, 2, devices), colluding=colluding)
    union = np.zeros(devices, dtype=bool)
    for bits in range(1 << devices):
        present = (bits >> np.arange(devices)) & 1 > 0
        if np.all(asked.mu_squared(present)[present] <= meter._budget[present]):
            union |= present
    assert meter.who(asked).tolist() == union.tolist()


def test_a_meter_counts_the_colluders_that_it_promises() -> None:
    meter = Meter(4.0, 1e-5, devices=3, colluding=[2, 0])
    meter.record(one(colluding=[0, 2]))
    again = Meter.from_json(meter.to_json())
    assert again.colluding == (0, 2) and again.to_json() == meter.to_json() and again.summary()["colluding"] == [0, 2]
    for other, said in ((0, "0"), (1, "1"), ([0], r"\[0\]")):
        with pytest.raises(ParameterError, match=rf"round.colluding = {said}: must be \[0, 2\], as the meter"):
            meter.record(one(colluding=other))
    for wrong in (3, -1, 1.5, [3], [0, 0], [0, 1, 2], "all"):
        for make in (lambda: Meter(1.0, 1e-5, devices=3, colluding=wrong), lambda: one(colluding=wrong)):  # noqa: B023
            with pytest.raises(ParameterError, match="colluding"):
                make()
    with pytest.raises(ParameterError, match="colluding = 1: must be 0 or a list of devices beside looks"):
        one(colluding=1, looks=np.eye(3))
    system = airtight.InferenceSystem(
        devices=3, participation=0.5, noise_variance=60.0, weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=0.1,
        dimension=8, delta=1e-5, adjacency="silent", colluding=1,
    )  # fmt: skip
    assert Round.of(system, [0, 1]).to_dict() == one(colluding=1).to_dict()


def test_several_looks_spend_more() -> None:
    table = np.array([[1.0, 2.0], [1.0, -0.5], [1.0, 1.0]])
    assert np.all(one(looks=table).mu_squared(one().participants)[:2] > one().mu_squared(one().participants)[:2])
    np.testing.assert_allclose(
        one(looks=np.ones((3, 1))).mu_squared(one().participants), one().mu_squared(one().participants), rtol=1e-12
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 1e-300), (700.0, 1e-5), (1e-9, 1e-3), (8.0, 0.1)])
def test_the_budget_is_the_greatest_gaussian(epsilon: float, delta: float) -> None:
    budget = Meter(epsilon, delta, devices=1).guarantee(0)
    assert budget.meaning == "guarantee" and budget.epsilon == epsilon
    mu = np.sqrt(budget.amount)
    assert float(airtight.gaussian(mu).delta(epsilon)) <= delta * (1 + 1e-9)
    assert float(airtight.gaussian(mu * (1 + 1e-6)).delta(epsilon)) > delta


def test_fixed_releases_are_paid_beforehand() -> None:
    laplace = airtight.laplace(0.1)
    meter = Meter(1.0, 1e-5, devices=2, fixed=[(laplace, 3)])
    plain = Meter(1.0, 1e-5, devices=2)
    assert meter.guarantee(0).amount < plain.guarantee(0).amount
    mu = float(np.sqrt(meter.guarantee(0).amount))
    whole = airtight.compose([laplace, airtight.gaussian(mu)], [3, 1])
    assert 0.99 < float(whole.epsilon(1e-5)) <= 1.0
    for _ in range(3):
        assert meter.may(laplace)
        meter.record(laplace)
    with pytest.raises(OverspentError, match="fixed"):
        meter.record(laplace)
    assert not meter.may(airtight.laplace(0.01))
    with pytest.raises(ParameterError, match="fixed"):
        Meter(0.2, 1e-5, devices=1, fixed=[(laplace, 3)])
    assert Meter.from_json(meter.to_json()).to_json() == meter.to_json()


# ten ways to choose the next mu from the round, the log likelihood ratio of all that was seen, and mu^2 that is left
STRATEGIES = {
    "constant": lambda t, loss, left: np.full_like(loss, 0.3),
    "all at once": lambda t, loss, left: (
        np.sqrt(left) * (1 - 1e-12)
    ),  # whose square rounding does not raise above what is left
    "halves": lambda t, loss, left: np.sqrt(left / 2),
    "more when it looks like the device": lambda t, loss, left: np.where(loss > 0, 0.5, 0.05),
    "less when it looks like the device": lambda t, loss, left: np.where(loss > 0, 0.05, 0.5),
    "stops when ahead": lambda t, loss, left: np.where(loss > 1.5, 0.0, 0.3),
    "stops when behind": lambda t, loss, left: np.where(loss < -0.5, 0.0, 0.3),
    "doubles after losses": lambda t, loss, left: np.minimum(0.1 * 2 ** np.maximum(-loss, 0), np.sqrt(left)),
    "grows": lambda t, loss, left: np.full_like(loss, 0.05 * t),
    "all in when epsilon is near": lambda t, loss, left: np.where(loss > 0.7, np.sqrt(left), 0.2),
    "stops at the odometer's epsilon": lambda t, loss, left: np.where(loss > 1.0, 0.0, 0.1),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_strategy_beats_the_filter(strategy: str) -> None:
    """2.2 million draws: the divergence of everything that is seen is at most delta at the budget's epsilon."""
    rng, draws, epsilon, delta = np.random.default_rng(5), 200_000, 1.0, 0.05
    budget = Meter(epsilon, delta, devices=1).guarantee(0).amount
    loss, spent = np.zeros(draws), np.zeros(draws)
    for t in range(1, 41):
        mu = STRATEGIES[strategy](t, loss, np.maximum(budget - spent, 0.0))
        mu = np.where(spent + mu**2 <= budget, mu, 0.0)  # a refused round is not run
        spent += mu**2
        loss += mu * (mu + rng.standard_normal(draws)) - mu * mu / 2  # the device is there
    gains = np.maximum(-np.expm1(epsilon - loss), 0.0)
    assert np.mean(gains) <= delta + 4 * np.std(gains) / np.sqrt(draws)
    if strategy in ("constant", "all at once", "halves"):
        assert np.mean(gains) > 0.8 * delta  # a filter that refused everything would pass the line above


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_meter_is_that_filter(strategy: str) -> None:
    """The rule that is simulated above is what the meter does."""
    rng, meter, loss, spent = np.random.default_rng(6), Meter(1.0, 0.05, devices=1), np.zeros(1), np.zeros(1)
    budget = meter.guarantee(0).amount
    for t in range(1, 41):
        mu = STRATEGIES[strategy](t, loss, np.maximum(budget - spent, 0.0))[0]
        if mu == 0:
            continue
        asked = one([0], 1, noise_variance=1 / mu**2, receiver_noise_variance=0.0)
        if abs(spent[0] + mu**2 - budget) > 1e-9:
            assert meter.may(asked) == (spent[0] + mu**2 <= budget)
        if meter.may(asked):
            meter.record(asked)
            spent += mu**2
            loss += mu * (mu + rng.standard_normal()) - mu * mu / 2
    assert meter.spent(0).amount == pytest.approx(spent[0], rel=1e-9) and meter.spent(0).amount <= budget


def test_composing_the_path_taken_is_no_filter() -> None:
    """The counterexample of theory/meter.md: each path keeps (2, .1), the adaptive whole has delta .125; so it is refused."""
    first = airtight.randomized_response(np.log(3))
    paths = (airtight.randomized_response(1.097), airtight.discrete_pair([0.1, 0.0, 0.9], [0.0, 0.1, 0.9]))
    for second in paths:
        assert float(airtight.compose([first, second]).delta(2.0)) <= 0.1 + 2e-4
    a = {"yes": (0.75, 0.25), "no": (0.25, 0.75)}
    truth = np.exp(1.097) / (1 + np.exp(1.097))
    after = {"yes": [(0.1, 0.0), (0.0, 0.1), (0.9, 0.9)], "no": [(truth, 1 - truth), (1 - truth, truth)]}
    best = max(
        sum(max(a[x][0] * p - np.exp(2.0) * a[x][1] * q, 0.0) for x in a for p, q in after[chosen[x]])
        for chosen in ({"yes": "yes", "no": "no"}, {"yes": "no", "no": "yes"})
    )
    assert best > 0.12
    meter = Meter(2.0, 0.1, devices=1, fixed=[(first, 1)])
    meter.record(first)
    for second in paths:
        with pytest.raises(OverspentError, match="cannot simply be composed"):
            meter.record(second)


def test_declared_releases_cover_smaller_ones() -> None:
    declared = [
        (airtight.laplace(0.1), 1),
        (airtight.randomized_response(0.1, 3), 1),
        (airtight.subsampled(0.5, 0.01), 1),
    ]
    smaller = (airtight.laplace(0.05), airtight.randomized_response(0.05, 3), airtight.subsampled(0.4, 0.005))
    greater = (
        airtight.laplace(0.11), airtight.randomized_response(0.1, 2), airtight.subsampled(0.4, 0.02),
        airtight.subsampled(0.6, 0.01), airtight.laplace(0.05).compose(2),
    )  # fmt: skip
    eps = np.linspace(0, 2, 21)
    for (curve, _), small in zip(declared, smaller, strict=True):
        assert np.all(small.delta(eps) <= curve.delta(eps) + 1e-12)
    meter = Meter(3.0, 1e-5, devices=2, fixed=declared)
    for curve in greater:
        assert not meter.may(curve)
    for curve in smaller:
        meter.record(curve)
        assert not meter.may(curve)
    assert Meter.from_json(meter.to_json()).to_json() == meter.to_json()


def _divergence(p, q, a: float) -> float:
    """Of two densities, by quadrature at 30 digits."""
    with mpmath.workdps(30):
        points = [-mpmath.inf, -20, -5, -1, 0, 1, 5, 20, mpmath.inf]
        return float(mpmath.log(mpmath.quad(lambda x: p(x) ** a * q(x) ** (1 - a), points)) / (a - 1))


@pytest.mark.parametrize("a", [1.5, 2.0, 7.0, 16.0])
def test_renyi_divergences(a: float) -> None:
    def normal(x, mean=0):
        return mpmath.exp(-((x - mean) ** 2) / 2) / mpmath.sqrt(2 * mpmath.pi)

    def laplace(x, mean=0):
        return mpmath.exp(-abs(x - mean)) / 2

    true = {
        airtight.gaussian(0.8): _divergence(lambda x: normal(x, 0.8), normal, a),
        airtight.laplace(1.0): _divergence(lambda x: laplace(x, 1), laplace, a),
    }
    for eps, symbols in ((0.3, 2), (2.0, 5)):
        p = np.array([np.exp(eps), *[1.0] * (symbols - 1)]) / (np.exp(eps) + symbols - 1)
        q = np.roll(p, 1)
        true[airtight.randomized_response(eps, symbols)] = np.log(np.sum(p**a * q ** (1 - a))) / (a - 1)
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.6, 0.3])
    true[airtight.discrete_pair(p, q)] = max(np.log(np.sum(x**a * y ** (1 - a))) / (a - 1) for x, y in ((p, q), (q, p)))
    for curve, value in true.items():
        assert value * (1 - 1e-13) <= renyi.divergence(curve.factors, a) <= value * (1 + 1e-11), curve
        assert renyi.divergence(curve.compose(5).factors, a) == pytest.approx(5 * value, rel=1e-11)
    if a == int(a):
        for mu, rate in ((1.0, 0.1), (0.5, 0.9)):

            def mixed(x, mu=mu, rate=rate):
                return rate * normal(x, mu) + (1 - rate) * normal(x)

            greater = max(_divergence(mixed, normal, a), _divergence(normal, mixed, a))
            found = renyi.divergence(airtight.subsampled(mu, rate).factors, a)
            assert greater * (1 - 1e-13) <= found <= greater * (1 + 1e-10)
    else:
        with pytest.raises(ParameterError, match="whole"):
            renyi.divergence(airtight.subsampled(1.0, 0.1).factors, a)
    for one_order in ((p, q), (q, p)):
        found = renyi.divergence(airtight.discrete_pair(*one_order).factors, a)
        assert found == pytest.approx(true[airtight.discrete_pair(p, q)], rel=1e-12)
    for one_order in (([0.5, 0.5], [1.0, 0.0]), ([1.0, 0.0], [0.5, 0.5])):
        assert renyi.divergence(airtight.discrete_pair(*one_order).factors, a) == np.inf


def test_a_renyi_filter() -> None:
    meter = Meter(2.0, 1e-5, devices=2, order=16.0)
    plain = Meter(2.0, 1e-5, devices=2)
    with pytest.raises(ParameterError, match="order"):
        Meter(0.1, 1e-5, devices=1, order=16.0)
    with pytest.raises(ParameterError, match="fixed"):
        Meter(2.0, 1e-5, devices=1, order=16.0, fixed=[(airtight.laplace(0.1), 1)])
    meter.record(airtight.laplace(0.1), participants=[0])
    meter.record(airtight.subsampled(0.5, 0.05))
    asked = one([1], 2)
    counts = [0, 0]
    for i, each in enumerate((meter, plain)):
        while each.may(asked):
            each.record(asked)
            counts[i] += 1
    assert 0 < counts[0] < counts[1]
    whole = airtight.compose(
        [airtight.subsampled(1.0, 0.05), airtight.gaussian(float(np.sqrt(1 / 60.1)))], [1, counts[0]]
    )
    assert float(whole.epsilon(1e-5)) <= meter.spent(1).epsilon <= 2.0
    assert meter.spent(0).amount > 0 and Meter.from_json(meter.to_json()).to_json() == meter.to_json()
    assert meter.history().shape == (len(meter.lines), 2) and np.all(np.diff(meter.history(), axis=0) >= 0)
    with pytest.raises(ParameterError, match="closed form"):
        meter.may(airtight.aggregation(airtight.FederatedSystem(clients=20, parameters=5, epsilon=1.0)))


def test_what_a_number_is() -> None:
    assert Meter(1.0, 1e-5, devices=1).spent(0).meaning == "reading, no guarantee"
    assert Meter(1.0, 1e-5, devices=1, adaptive=False).spent(0).meaning == "for the rolls that occurred"
    with pytest.raises(ParameterError, match="adaptive"):
        Meter(1.0, 1e-5, devices=1, adaptive="no")  # type: ignore[arg-type]


def test_the_odometer_of_the_theory_is_no_guarantee() -> None:
    """Stopping at the first moment at which the reading's test is passed: .0281 for a promised delta of .01 at T = 100."""
    from airtight.analytics.privacy.mechanisms import gaussian

    rng, mu, delta, draws = np.random.default_rng(1), 0.1, 0.01, 40_000
    losses = np.zeros(draws)
    best = np.zeros(draws)
    done = np.zeros(draws, dtype=bool)
    for t in range(1, 101):
        losses += mu * (mu + rng.standard_normal(draws)) - mu * mu / 2
        epsilon = float(gaussian.epsilon(delta, sensitivity=mu * np.sqrt(t), sigma=1.0))
        passed = ~done & (losses > epsilon)
        best[passed], done = np.maximum(-np.expm1(epsilon - losses[passed]), 0.0), done | passed
    assert np.mean(best) > 1.5 * delta  # a reading at a chosen time promises too much
    assert "no guarantee" in Meter(1.0, 1e-5, devices=1).spent(0).meaning


@given(st.integers(1, 6), st.integers(0, 10**6), st.booleans())
@settings(max_examples=40, deadline=None)
@example(6, 3, True)  # some devices would overspend only when others have left
@example(6, 4, True)
@example(6, 5, True)
def test_who_is_the_greatest_feasible_set(devices: int, seed: int, several_looks: bool) -> None:
    rng = np.random.default_rng(seed)
    meter = Meter(10 ** rng.uniform(-1, 1, devices), 1e-3, devices=devices)
    asked = one(
        list(range(devices)), devices, noise_variance=10 ** rng.uniform(-2, 1.5, devices), weight=rng.random(devices) + 0.1,
        receiver_noise_variance=float(10 ** rng.uniform(-2, 1)),
        looks=rng.standard_normal((devices, 2)) if several_looks else None,
    )  # fmt: skip
    budget = np.array([meter.guarantee(k).amount for k in range(devices)])
    feasible = [
        np.array(present)
        for present in product((False, True), repeat=devices)
        if np.all(asked.mu_squared(np.array(present)) <= budget)
    ]
    union = np.any(feasible, axis=0)
    np.testing.assert_array_equal(meter.who(asked), union)
    assert any(np.array_equal(union, each) for each in feasible)


def test_what_is_refused_and_named() -> None:
    with pytest.raises(ParameterError, match="adjacency"):
        one(adjacency="absent")
    for changes, name in (
        ({"participants": [3]}, "participants"),
        ({"participants": [0, 0]}, "participants"),
        ({"noise_variance": -1.0}, "noise_variance"),
        ({"clip": 0.0}, "clip"),
        ({"receiver_noise_variance": float("nan")}, "receiver_noise_variance"),
        ({"looks": np.ones((2, 2))}, "looks"),
    ):
        with pytest.raises(ParameterError) as error:
            one(**changes)
        assert error.value.name == name
    meter = Meter(1.0, 1e-5, devices=3)
    for wrong in (one(devices=4), "round", None):
        with pytest.raises(ParameterError, match="round"):
            meter.record(wrong)
    before = meter.to_json()
    with pytest.raises(OverspentError, match="device 0"):
        meter.record(one(noise_variance=1e-3))
    assert meter.to_json() == before
    with pytest.raises(OverspentError):
        meter.record(one(noise_variance=0.0, receiver_noise_variance=0.0))


def test_a_plan() -> None:
    meter = Meter(1.0, 1e-5, devices=3)
    plan = meter.plan(one(), rounds=20)
    assert plan.rounds.tolist() == [8.0, 8.0, np.inf] and plan.noise_factor is not None
    quiet = one().quieter(plan.noise_factor)
    for _ in range(20):
        meter.record(quiet)
    assert not meter.may(quiet) and meter.plan(quiet).rounds[0] == 0
    assert Meter(1.0, 1e-5, devices=3).plan(one(), rounds=3).noise_factor == 1.0


def test_a_large_fleet() -> None:
    devices = 100_000
    rng = np.random.default_rng(0)
    meter = Meter(rng.uniform(0.5, 2.0, devices), 1e-5, devices=devices)
    asked = Round(
        participants=rng.random(devices) < 0.5, devices=devices, noise_variance=rng.uniform(0.001, 0.002, devices), weight=1.0,
        clip=rng.uniform(0.5, 1.5, devices), receiver_noise_variance=0.1,
    )  # fmt: skip
    present = meter.who(asked)
    assert 0 < np.sum(present) < np.sum(asked.participants)
    kept = Round(**{**{n: getattr(asked, n) for n in asked.__dataclass_fields__}, "participants": present})
    meter.record(kept)
    assert not np.any(meter.summary()["spent_epsilon"] > np.asarray(meter.budget_epsilon))


def _log(rounds: int = 4) -> str:
    meter = Meter([1.0, 2.0, 1.0], 1e-5, devices=3)
    for t in range(rounds):
        meter.record(one([t % 3, (t + 1) % 3], noise_variance=60.0 + t))
    return meter.to_json()


def _forged(lines: list[str], number: int, **changes: object) -> str:
    """A log with one line changed by a forger who also makes all hashes anew."""
    out, previous = [], meter_log.START
    for i, line in enumerate(lines):
        entry = {k: v for k, v in json.loads(line).items() if k not in ("previous", "hash")}
        sealed, previous = meter_log.sealed({**entry, **(changes if i == number else {})}, previous)
        out.append(sealed)
    return "".join(line + "\n" for line in out)


def test_altered_logs_are_rejected_and_the_line_named(tmp_path: Path) -> None:
    text = _log()
    lines = text.splitlines()
    assert Meter.from_json(text).to_json() == text and checked(tmp_path, text)[0] == 0

    def joined(*parts: str) -> str:
        return "".join(line + "\n" for line in parts)

    altered = {
        "line 1": [
            joined(lines[0].replace("1e-05", "1e-03"), *lines[1:]),
            joined(lines[0][:-3] + 'f"}', *lines[1:]),
            joined(*lines[1:]),
            _forged(lines, 0, budget=1.0),
            _forged(lines, 0, budget_epsilon=[1.0, 1.0, 1.0]),
            _forged(lines, 0, delta=1e-6),
        ],
        "line 2": [
            joined(lines[0], lines[2], lines[1], *lines[3:]),
            joined(lines[0], *lines[2:]),
            joined(lines[0], lines[1].replace("60.0", "61.0"), *lines[2:]),
            joined(lines[0], lines[1].replace("60.0", "60.00"), *lines[2:]),
            joined(lines[0], lines[1].replace('"round":1', '"round":2'), *lines[2:]),
            joined(lines[0], "{}", *lines[2:]),
            joined(lines[0], "[" * 10**5, *lines[2:]),
            joined(lines[0], "", *lines[2:]),
            _forged(lines, 1, cost=0.0),
            _forged(lines, 1, round=7),
            _forged(lines, 1, noise_variance=1e-3),
            _forged(lines, 1, participants=[0, 1, 2]),
            _forged(lines, 1, devices=4),
            _forged(lines, 1, adjacency="replace"),
        ],
        "line 3": [
            joined(*lines[:2], lines[1], *lines[2:]),
            joined(*lines[:2], lines[2].upper(), *lines[3:]),
            _forged(lines, 2, clip=1.5),
            _forged(lines, 2, adjacency="absent"),
        ],
        "line 5": [joined(*lines[:4], lines[4].replace("63.0", "64.0")), _forged(lines, 4, weight=1.5)],
    }
    assert sum(map(len, altered.values())) >= 20
    for place, logs in altered.items():
        for changed in logs:
            with pytest.raises(ParameterError, match=f"log, {place}"):
                Meter.from_json(changed)
            code, said = checked(tmp_path, changed)
            assert code == 1 and f"REJECTED {place}" in said, (place, said)
    for text in ("", "\n", "[]", "{}", "null\n"):
        with pytest.raises(ParameterError, match="log"):
            Meter.from_json(text)
        assert checked(tmp_path, text)[0] == 1


def test_a_forged_log_that_overspends_is_rejected(tmp_path: Path) -> None:
    """All hashes made anew and every cost right: a log of a large budget under the head of a small one."""
    large, small = Meter(4.0, 1e-5, devices=3), Meter(1.0, 1e-5, devices=3)
    for _ in range(9):
        large.record(one())
    head = {k: v for k, v in json.loads(small.lines[0]).items() if k not in ("previous", "hash")}
    forged = _forged(large.lines, 0, **head)
    with pytest.raises(ParameterError, match="line 10"):
        Meter.from_json(forged)
    code, said = checked(tmp_path, forged)
    assert code == 1 and "line 10: device 0 overspends" in said


def checked(folder: Path, text: str) -> tuple[int, str]:
    """What check_log.py says, as a stranger runs it, without the package."""
    (folder / "a.jsonl").write_text(text)
    run = subprocess.run(
        [sys.executable, "-I", str(CHECK_LOG), "a.jsonl"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not run.stderr
    return run.returncode, run.stdout


def _random_meter(kind: str, rng: np.random.Generator) -> Meter:
    """A meter with a few rounds that were let through, of devices that differ in everything."""
    K = int(rng.integers(1, 5))
    order = {"renyi": 3.0, "whole order": 8.0}.get(kind)
    fixed = [(airtight.laplace(0.2), 2), (airtight.subsampled(0.5, 0.1), 1)] if kind == "declared" else []
    budget = 20.0 if fixed else 10 ** rng.uniform(1, 1.5, K)
    named = np.flatnonzero(rng.random(K) < 0.5)[: K - 1].tolist()
    colluding = named if rng.random() < 0.4 else int(rng.integers(K)) if rng.random() < 0.5 else 0
    meter = Meter(budget, 10 ** rng.uniform(-9, -3), devices=K, fixed=fixed, order=order, colluding=colluding)
    for _ in range(5):
        size, separate = int(rng.integers(1, 4)), bool(rng.random() < 0.3)
        several = rng.random() < 0.6 and (colluding == 0 or isinstance(colluding, list))
        table = rng.standard_normal((K, size)) + (1j * rng.standard_normal((K, size)) if rng.random() < 0.5 else 0)
        asked = Round(
            participants=rng.random(K) < 0.7, devices=K, noise_variance=10 ** rng.uniform(-2, 1, K),
            weight=rng.random(K), clip=0.1 + rng.random(K), alignment=float(0.5 + rng.random()), separate=separate,
            receiver_noise_variance=float(rng.random()), looks=table if several and not separate else None,
            adjacency=str(rng.choice(["silent", "replace"])), idle_noise=bool(rng.random() < 0.3), colluding=colluding,
        )  # fmt: skip
        if meter.may(asked):
            meter.record(asked)
    curves = [airtight.laplace(0.1)]
    if kind == "declared":
        curves += [airtight.subsampled(0.4, 0.1)]
    if order:
        p = rng.dirichlet(np.ones(3))
        curves += [
            airtight.randomized_response(0.1, 3),
            airtight.gaussian(0.1).compose(3),
            airtight.discrete_pair(p, p[::-1]),
            airtight.discrete_gaussian(20.0, 2),
            airtight.discrete_laplace(30.0, 1),
            airtight.discrete_laplace(30.0, 4),
        ]
    if kind == "whole order":
        curves += [airtight.subsampled(0.3, 0.1)]
    for curve in curves:
        if meter.may(curve):
            meter.record(curve)
    return meter


@pytest.mark.parametrize("kind", ["gaussian", "declared", "renyi", "whole order"])
def test_the_checker_agrees(kind: str) -> None:
    """Rational arithmetic and decimals find every number of the meter, and none that is a millionth too low."""
    module = checker()
    rng, looked = np.random.default_rng(len(kind)), 0
    for _ in range(5 if kind == "declared" else 25):
        meter = _random_meter(kind, rng)
        with localcontext() as context:
            context.prec = 60
            module.verify(meter.to_json())
            for i, line in enumerate(meter.lines[1:], start=1):
                entry = json.loads(line)
                if not np.any(entry.get("cost", 0)):
                    continue
                lower = (np.asarray(entry["cost"]) * (1 - 1e-6)).tolist()
                with pytest.raises(module.Rejected, match="less than"):
                    module.verify(_forged(meter.lines, i, cost=lower))
                looked += 1
    assert looked > 10


@pytest.mark.parametrize("order", [None, 2.0, 32.0, 1000.5])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.3, 0.01), (700.0, 1e-5), (50.0, 1e-300), (1e-9, 1e-3)])
def test_the_checker_knows_the_greatest_budget(epsilon: float, delta: float, order: float | None) -> None:
    module = checker()
    try:
        text = Meter(epsilon, delta, devices=1, order=order).to_json()
    except ParameterError as error:
        assert error.name == "order"
        return
    head = json.loads(text)
    with localcontext() as context:
        context.prec = 60
        module.verify(text)
        with pytest.raises(module.Rejected):
            module.verify(
                _forged([text.strip()], 0, budget=[head["budget"][0] * (1 + 1e-6) + 1e-12 * (order is not None)])
            )


def checker():
    """check_log.py as a module of its own."""
    spec = importlib.util.spec_from_file_location("checked_log", CHECK_LOG)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_line_without_its_end_is_dropped() -> None:
    text = _log()
    last = text.rstrip("\n").rfind("\n") + 1
    for cut in range(last, len(text)):
        assert Meter.from_json(text[:cut]).rounds == 3
    assert Meter.from_json(text).rounds == 4


ROUND = "participants = [0, 1]\ndevices = 3\nnoise_variance = 60.0\nweight = 1.0\nclip = 1.0\nreceiver_noise_variance = 0.1\n"


def run(*arguments: object):
    return CliRunner().invoke(main, ["meter", *map(str, arguments)])


def test_the_command(tmp_path: Path) -> None:
    log, given = tmp_path / "log.jsonl", tmp_path / "round.toml"
    given.write_text(ROUND)
    begun = run(log, "--budget", 1, "--delta", 1e-5, "--devices", 3, "--json")
    assert begun.exit_code == 0 and json.loads(begun.stdout)["rounds"] == 0
    for t in range(8):
        found = json.loads(run(log, "--add", given, "--json").stdout)
        assert found["allowed"] is True and found["rounds"] == t + 1
    before = log.read_bytes()
    refused = run(log, "--add", given, "--json")
    assert refused.exit_code == 3 and "refused" in refused.stderr and log.read_bytes() == before
    assert json.loads(refused.stdout)["allowed"] is False
    shown = json.loads(run(log, "--json").stdout)
    assert shown["spent_meaning"] == "reading, no guarantee" and shown["spent_epsilon"][2] == 0
    assert run(log).exit_code == 0 and "budget" in run(log).stdout
    with log.open("ab") as stream:
        stream.write(b'{"round":9,"partic')  # a crash
    assert json.loads(run(log, "--json").stdout)["rounds"] == 8
    given.write_text(ROUND.replace("[0, 1]", "[2]"))
    assert json.loads(run(log, "--add", given, "--json").stdout)["rounds"] == 9
    assert Meter.from_json(log.read_text()).rounds == 9


def test_the_command_counts_colluders(tmp_path: Path) -> None:
    log, given = tmp_path / "log.jsonl", tmp_path / "round.toml"
    new = (log, "--budget", 1, "--delta", 1e-5, "--devices", 3)
    for wrong, needle in (("3", "colluding = 3"), ("[0, 1, 2]", "colluding"), ("two", "--colluding = 'two'"), ("true", "= True")):
        found = run(*new, "--colluding", wrong)
        assert found.exit_code == 2 and needle in found.stderr and not log.exists(), found.output
    assert json.loads(run(*new, "--colluding", "1", "--json").stdout)["colluding"] == 1
    given.write_text(ROUND)
    refused = run(log, "--add", given)
    assert refused.exit_code == 2 and "round.colluding = 0: must be 1, as the meter" in refused.stderr
    given.write_text(ROUND + "colluding = 1\n")
    assert json.loads(run(log, "--add", given, "--json").stdout)["rounds"] == 1
    assert "with the help of any one of the other 2 devices." in " ".join(run(log).stdout.split())


def test_the_report_draws_the_log(tmp_path: Path) -> None:
    system = tmp_path / "system.toml"
    system.write_text("[federated]\nclients = 10\nparameters = 5\nepsilon = 1.0\n")
    log = tmp_path / "log.jsonl"
    log.write_text(_log())
    found = CliRunner().invoke(main, ["report", str(system), "--out", str(tmp_path / "out"), "--log", str(log)])
    assert found.exit_code == 0, found.output
    page = (tmp_path / "out" / "index.html").read_text()
    assert "reading, no guarantee" in page and "budget-over-rounds" in page
    data = json.loads((tmp_path / "out" / "report.json").read_text())["meter"]
    assert data["rounds"] == 4 and data["spent_epsilon"][1] == pytest.approx(
        Meter.from_json(_log()).spent(1).epsilon, rel=1e-14
    )
    large = Meter(1.0, 1e-5, devices=40)
    large.record(one(range(20), 40))
    log.write_text(large.to_json())
    assert (
        CliRunner().invoke(main, ["report", str(system), "--out", str(tmp_path / "out"), "--log", str(log)]).exit_code
        == 0
    )
    log.write_text("{}\n")
    found = CliRunner().invoke(main, ["report", str(system), "--out", str(tmp_path / "other"), "--log", str(log)])
    assert found.exit_code == 2 and "line 1" in found.stderr and not (tmp_path / "other").exists()


def test_errors_of_the_command(tmp_path: Path) -> None:
    log, given = tmp_path / "log.jsonl", tmp_path / "round.toml"
    given.write_text(ROUND)
    for arguments, needle in (
        ((log,), "--budget"),
        ((log, "--budget", 1), "--delta"),
        ((log, "--budget", -1, "--delta", 1e-5, "--devices", 3), "--budget = -1.0"),
        ((log, "--budget", 1, "--delta", 2, "--devices", 3), "delta"),
    ):
        found = run(*arguments)
        assert found.exit_code == 2 and needle in found.stderr and not log.exists(), found.output
    run(log, "--budget", 1, "--delta", 1e-5, "--devices", 3)
    assert run(log, "--budget", 1, "--delta", 1e-5, "--devices", 3).exit_code == 2
    before = log.read_bytes()
    for text, needle in (
        ("participants = [7]\n" + ROUND.split("\n", 1)[1], "participants"),
        (ROUND + "more = 1\n", "more"),
        (ROUND.replace("clip = 1.0\n", ""), "clip"),
        (ROUND.replace("devices = 3", "devices = 4").replace("[0, 1]", "[3]"), "devices"),
        ("participants = ", "TOML"),
    ):
        given.write_text(text)
        found = run(log, "--add", given)
        assert found.exit_code == 2 and needle in found.stderr and log.read_bytes() == before, found.output
    log.write_bytes(before.replace(b"1e-05", b"1e-04"))
    assert "line 1" in run(log).stderr


def test_two_writers_are_refused(tmp_path: Path) -> None:
    log, given = tmp_path / "log.jsonl", tmp_path / "round.toml"
    given.write_text(ROUND)
    run(log, "--budget", 1, "--delta", 1e-5, "--devices", 3)
    with files.appending(log):
        found = run(log, "--add", given)
    assert found.exit_code == 2 and "another run" in found.stderr
    assert run(log, "--add", given).exit_code == 0


@pytest.mark.parametrize("make", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_two_names_of_a_log_are_one_log(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    """Locked under one name, it is locked under the other, in this process and in another; rounds of both follow each other."""
    log, link, given = tmp_path / "log.jsonl", tmp_path / "link.jsonl", tmp_path / "round.toml"
    given.write_text(ROUND)
    run(log, "--budget", 1, "--delta", 1e-5, "--devices", 3)
    make(log, link)
    code = "import sys\nfrom airtight.commands.cli import main\nmain(['meter', sys.argv[1], '--add', sys.argv[2]])"
    for held, asked in ((log, link), (link, log)):
        with files.appending(held):
            assert run(asked, "--add", given).exit_code == 2
            other = subprocess.run([sys.executable, "-c", code, asked, given], capture_output=True, text=True, check=False)
            assert other.returncode == 2 and "another run" in other.stderr
        assert run(asked, "--add", given).exit_code == 0
    assert Meter.from_json(log.read_text()).rounds == Meter.from_json(link.read_text()).rounds == 2


def test_a_log_whose_name_was_moved_while_it_was_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that took the name between opening and locking is the one that is written to."""
    log, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    log.write_text("old\n")
    other.write_text("new\n")
    lock = files.fcntl.flock
    monkeypatch.setattr(files.fcntl, "flock", lambda *asked: (other.exists() and os.replace(other, log), lock(*asked))[1])
    with files.appending(log) as stream:
        files.append(stream, b"more\n")
    assert log.read_text() == "new\nmore\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
@pytest.mark.parametrize("way", ["full --json", "closed"])
def test_a_recorded_round_is_told_where_standard_output_fails(tmp_path: Path, way: str) -> None:
    log, given = tmp_path / "log.jsonl", tmp_path / "round.toml"
    given.write_text(ROUND)
    run(log, "--budget", 1, "--delta", 1e-5, "--devices", 3)
    command = [sys.executable, "-m", "airtight", "meter", str(log), *way.split()[1:]]
    for more, code, needle in ((["--add", str(given)], 5, "round 1 is recorded"), ([], {2, 141}, "")):
        if way.startswith("full"):
            with open("/dev/full", "w") as out:
                done = subprocess.run([*command, *more], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        else:
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([*command, *more], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
            os.close(write)
        assert done.returncode in ({code} if isinstance(code, int) else code) and needle in done.stderr, done
    assert Meter.from_json(log.read_text()).rounds == 1


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
def test_a_disk_that_fills_up_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """A new log is not left behind; of a round nothing is written; and both can be tried again."""
    log, given = tmp_path / "log.jsonl", tmp_path / "round.toml"
    given.write_text(ROUND)
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited(size: int, *words: object) -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            return run(*words).exit_code
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    begun = (log, "--budget", 1, "--delta", 1e-5, "--devices", 3)
    assert limited(100, *begun) == 2 and not log.exists()
    assert limited(10**6, *begun) == 0
    with log.open("ab") as stream:
        stream.write(b'{"round":1,' * 99)  # a crash
    whole = log.read_bytes()[: log.read_bytes().rfind(b"\n") + 1]
    assert limited(len(whole) + 100, log, "--add", given) == 2 and log.read_bytes() == whole
    assert limited(10**6, log, "--add", given) == 0 and Meter.from_json(log.read_text()).rounds == 1


KILLS = 6  # 200 were tried once, in two minutes


def test_killed_at_any_moment_no_round_passes_twice(tmp_path: Path) -> None:
    """A process adds rounds and says so after each; killed at random, the log holds what it said, and at most one more."""
    log = tmp_path / "log.jsonl"
    code = (
        "import sys\nfrom airtight import Meter, Round\nfrom airtight.validate import files\n"
        "one = Round(participants=[0], devices=1, noise_variance=1e4, weight=1.0, clip=1.0, receiver_noise_variance=0.0)\n"
        "from pathlib import Path\npath = Path(sys.argv[1])\n"
        "while True:\n"
        "    with files.appending(path) as stream:\n"
        "        stream.seek(0)\n        text = stream.read().decode()\n"
        "        stream.truncate(len(text[: text.rfind(chr(10)) + 1].encode()))\n"
        "        meter = Meter.from_json(text)\n        known = len(meter.lines)\n        meter.record(one)\n"
        "        files.append(stream, (meter.lines[-1] + chr(10)).encode())\n"
        "    print(meter.rounds, flush=True)\n"
    )
    log.write_text(Meter(1.0, 1e-5, devices=1).to_json())
    rng, said = random.Random(3), 0
    for _ in range(KILLS):
        process = subprocess.Popen([sys.executable, "-c", code, str(log)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.random() * 0.05)
        os.kill(process.pid, signal.SIGKILL)
        printed = process.stdout.read().split()
        process.stdout.close()
        process.wait()
        recorded = Meter.from_json(log.read_text()).rounds
        last = int(printed[-1]) if printed else said + 1
        assert last <= recorded <= last + 1
        said = recorded
    numbers = [json.loads(line)["round"] for line in log.read_text().splitlines()[1 : said + 1]]
    assert numbers == list(range(1, said + 1))
