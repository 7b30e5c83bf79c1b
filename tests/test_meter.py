"""The meter: adaptive adversaries against the filter, the greatest feasible set, and a log that loses and hides nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight
from airtight import Meter, OverspentError, ParameterError, Round
from airtight.analytics.privacy.accounting import renyi
from airtight.validate import files
from airtight.validate.commands.cli import main


def one(participants=(0, 1), devices=3, **changes: object) -> Round:
    base = {"noise_variance": 60.0, "weight": 1.0, "clip": 1.0, "receiver_noise_variance": 0.1}
    return Round(participants=list(participants), devices=devices, **{**base, **changes})  # type: ignore[arg-type]


@given(st.integers(1, 5), st.integers(0, 10**6), st.sampled_from(["silent", "replace"]))
@settings(max_examples=60, deadline=None)
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
    "all at once": lambda t, loss, left: np.sqrt(left),
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
        with pytest.raises(OverspentError, match="no filter"):
            meter.record(second)


def test_declared_releases_cover_smaller_ones() -> None:
    base = airtight.gaussian(0.1)
    declared = [
        (airtight.laplace(0.1), 1),
        (airtight.randomized_response(0.1, 3), 1),
        (airtight.subsampled(0.5, 0.01), 1),
    ]
    smaller = (airtight.laplace(0.05), airtight.randomized_response(0.05, 3), airtight.subsampled(0.4, 0.005))
    greater = (
        airtight.laplace(0.11), airtight.randomized_response(0.1, 2), airtight.subsampled(0.4, 0.02),
        airtight.subsampled(0.6, 0.01), base, airtight.laplace(0.05).compose(2),
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
        assert value * (1 - 1e-13) <= renyi.divergence(curve, a) <= value * (1 + 1e-11), curve
        assert renyi.divergence(curve.compose(5), a) == pytest.approx(5 * value, rel=1e-11)
    if a == int(a):
        for mu, rate in ((1.0, 0.1), (0.5, 0.9)):
            both = [
                _divergence(*order, a)
                for order in (
                    (lambda x: rate * normal(x, mu) + (1 - rate) * normal(x), normal),
                    (normal, lambda x: rate * normal(x, mu) + (1 - rate) * normal(x)),
                )
            ]
            found = renyi.divergence(airtight.subsampled(mu, rate), a)
            assert max(both) * (1 - 1e-13) <= found <= max(both) * (1 + 1e-10)
    else:
        with pytest.raises(ParameterError, match="whole"):
            renyi.divergence(airtight.subsampled(1.0, 0.1), a)
    assert renyi.divergence(airtight.discrete_pair([0.5, 0.5], [1.0, 0.0]), a) == np.inf


def test_a_renyi_filter() -> None:
    meter = Meter(2.0, 1e-5, devices=2, order=16.0)
    plain = Meter(2.0, 1e-5, devices=2)
    with pytest.raises(ParameterError, match="order"):
        Meter(0.1, 1e-5, devices=1, order=16.0)
    with pytest.raises(ParameterError, match="fixed"):
        Meter(2.0, 1e-5, devices=1, order=16.0, fixed=[(airtight.laplace(0.1), 1)])
    meter.record(airtight.laplace(0.1), participants=[0])
    meter.record(airtight.subsampled(1.0, 0.05))
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
    with pytest.raises(ParameterError, match="order"):
        meter.may(airtight.curve(airtight.InferenceSystem(devices=2, receiver_noise_variance=1.0)))


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


@given(st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_who_is_the_greatest_feasible_set(devices: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    meter = Meter(10 ** rng.uniform(-1, 1, devices), 1e-3, devices=devices)
    asked = one(
        list(range(devices)), devices, noise_variance=10 ** rng.uniform(-2, 1.5, devices), weight=rng.random(devices) + 0.1,
        receiver_noise_variance=float(10 ** rng.uniform(-2, 1)),
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


def test_altered_logs_are_rejected_and_the_line_named() -> None:
    text = _log()
    lines = text.splitlines()
    assert Meter.from_json(text).to_json() == text

    def resealed(number: int, **changes: object) -> list[str]:
        """A forger who also makes all hashes anew."""
        from airtight.analytics.privacy.over_the_air import meter as module

        out, previous = [], module.START
        for i, line in enumerate(lines):
            entry = {k: v for k, v in json.loads(line).items() if k not in ("previous", "hash")}
            sealed, previous = module._sealed({**entry, **(changes if i == number else {})}, previous)
            out.append(sealed)
        return out

    altered = {
        "line 1": [[lines[0].replace("1e-05", "1e-03"), *lines[1:]], [lines[0][:-3] + 'f"}', *lines[1:]], lines[1:]],
        "line 2": [
            [lines[0], lines[2], lines[1], *lines[3:]],
            [lines[0], *lines[2:]],
            [lines[0], lines[1].replace("60.0", "61.0"), *lines[2:]],
            [lines[0], lines[1].replace("60.0", "60.00"), *lines[2:]],
            [lines[0], lines[1].replace('"round":1', '"round":2'), *lines[2:]],
            [lines[0], "{}", *lines[2:]],
            [lines[0], "[" * 10**5, *lines[2:]],
            [lines[0], "", *lines[2:]],
            resealed(1, cost=0.0),
            resealed(1, round=7),
            resealed(1, noise_variance=1e-3),
            resealed(1, participants=[0, 1, 2]),
            resealed(1, more=1),
        ],
        "line 3": [
            [*lines[:2], lines[1], *lines[2:]],
            [*lines[:2], lines[2].upper(), *lines[3:]],
            resealed(2, clip=0.5),
            resealed(2, adjacency="absent"),
        ],
        "line 5": [[*lines[:4], lines[4].replace("63.0", "64.0")], resealed(4, weight=1.5)],
    }
    assert sum(map(len, altered.values())) >= 20
    for place, logs in altered.items():
        for changed in logs:
            with pytest.raises(ParameterError, match=f"log, {place}"):
                Meter.from_json("".join(line + "\n" for line in changed))
    for text in ("", "\n", "[]", "{}", "null\n"):
        with pytest.raises(ParameterError, match="log"):
            Meter.from_json(text)


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


def test_errors_of_the_command(tmp_path: Path) -> None:
    log, given = tmp_path / "log.jsonl", tmp_path / "round.toml"
    given.write_text(ROUND)
    for arguments, needle in (
        ((log,), "--budget"),
        ((log, "--budget", 1), "--delta"),
        ((log, "--budget", -1, "--delta", 1e-5, "--devices", 3), "budget_epsilon"),
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


KILLS = 6  # 200 were tried; each starts an interpreter


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
        "        stream.write((meter.lines[-1] + chr(10)).encode())\n"
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
