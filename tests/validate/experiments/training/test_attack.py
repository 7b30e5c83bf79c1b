"""Attacks from samples: the bound covers, is near what can be had, and notices a promise that is broken."""

import json
import math
from dataclasses import replace

import audits
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from support.common import two_classes

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.few_bits import baselines
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy import empirical_epsilon
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import rounds
from airtight.commands.cli import main
from airtight.validate.attack import training
from airtight.validate.attack.system_attack import attacked
from airtight.validate.experiments.monte_carlo import channel
from airtight.validate.experiments.training import views
from airtight.validate.experiments.training.training_plan import Mechanism, Settings

PROMISED = InferenceSystem(
    devices=50, participation=0.5, noise_variance=0.1, weight=0.02, clip=3.0, alignment=1.0,
    receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5,
)  # fmt: skip
SMALL = InferenceSystem(
    devices=3, participation=[0.9, 0.5, 0.7], noise_variance=[0.1, 0.2, 0.3], weight=1.0, clip=0.8, alignment=1.3,
    receiver_noise_variance=0.1, dimension=4, delta=1e-3, delta_prime=1e-3,
)  # fmt: skip


def misses(draw, truth, delta, runs=1000):
    rng = np.random.default_rng(5)
    return sum(empirical_epsilon.epsilon_at_least(*draw(rng), delta=delta).epsilon > truth for _ in range(runs)) / runs


def normals(rng):
    return rng.normal(1.0, 1.0, 400), rng.normal(0.0, 1.0, 400)


def answers(rng):
    """Randomized response: one set attains epsilon, so that the bound is as often wrong as it ever is."""
    return [(rng.random(400) < p).astype(float) for p in (0.75, 0.25)]


def test_coverage_over_a_thousand_runs():
    assert misses(normals, float(gaussian.epsilon(1e-3, sensitivity=1.0, sigma=1.0)), 1e-3) <= 0.05
    missed = misses(answers, math.log(3), 0.0)
    assert 0.0 < missed <= 0.05


def test_choosing_on_the_samples_that_are_counted_would_not_cover():
    """Why a quarter chooses: of two equal laws the best of all thresholds tells something too often."""
    rng, found = np.random.default_rng(6), 0
    for _ in range(300):
        first, second = np.sort(rng.random((2, 400)))
        grid = np.concatenate([first, second])
        above = [400 - np.searchsorted(x, grid) for x in (first, second)]
        found += (
            max(np.max(empirical_epsilon._proved_epsilon(x, 400, y, 400, 0.0, 0.05)) for x, y in (above, above[::-1]))
            > 0
        )
    assert found > 0.05 * 300
    assert misses(lambda rng: rng.random((2, 400)), 0.0, 0.0, runs=300) <= 0.05


def test_many_samples_come_near():
    rng = np.random.default_rng(1)
    found = empirical_epsilon.epsilon_at_least(rng.normal(1, 1, 400_000), rng.normal(0, 1, 400_000), delta=0.05)
    truth = float(gaussian.epsilon(0.05, sensitivity=1.0, sigma=1.0))
    assert 0.9 * truth < found.epsilon < truth
    swapped = empirical_epsilon.epsilon_at_least(rng.normal(0, 1, 400_000), rng.normal(1, 1, 400_000), delta=0.05)
    assert swapped.epsilon < truth


def test_nothing_to_find_and_bad_input():
    same = np.arange(100.0)
    assert empirical_epsilon.epsilon_at_least(same, same, delta=0.0).epsilon == 0
    apart = empirical_epsilon.epsilon_at_least(np.full(1000, np.inf), np.full(1000, -np.inf), delta=0.0)
    assert 4 < apart.epsilon < math.log(750) and apart.true_positive == 1 and apart.false_positive == 0
    for bad in ([1.0] * 7, [math.nan] * 9, [[1.0]] * 9):
        with pytest.raises(ParameterError):
            empirical_epsilon.epsilon_at_least(bad, same, delta=0.0)
    with pytest.raises(ParameterError):
        empirical_epsilon.epsilon_at_least(same, same, delta=1.0)


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
@pytest.mark.parametrize("idle", [False, True])
def test_what_is_drawn_has_the_exact_delta(adjacency, idle):
    """delta is the mean of (1 - exp(epsilon - L))_+, which knows of every part of the law of L."""
    system = replace(SMALL, adjacency=adjacency, idle_noise=idle)
    for count in (1, 3):
        rng = np.random.default_rng(2)
        first, second = channel.log_ratios(system, devices=np.array([1]), samples=60_000, rng=rng, rounds=count)[:, 0]
        for eps in (0.0, 0.7):
            means = [np.mean(np.maximum(-np.expm1(np.minimum(eps - x, 0.0)), 0)) for x in (first, -second)]
            exact = float(rounds.delta_at(system, eps, rounds=count, device=1))
            assert max(means) == pytest.approx(exact, abs=0.008)


def test_theorem_1_is_refuted_from_samples_alone():
    (found,) = attacked(PROMISED, samples=40_000).devices
    assert found.devices == list(range(50)) and found.refuted
    assert found.published_epsilon < 0.3 < 1 < found.attack_at_published_delta < found.exact
    kept = attacked(replace(PROMISED, adjacency="silent"), samples=40_000).devices[0]
    assert not kept.refuted and kept.attack < kept.exact


def test_more_rounds_show_more():
    system = replace(SMALL, adjacency="silent")
    one, ten = (airtight.attack(system, rounds=t, samples=30_000).devices[0] for t in (1, 10))
    assert one.attack < ten.attack < ten.exact and ten.published_epsilon is None and not ten.refuted


def test_on_a_trained_model():
    """The codes of a trained encoder for one image: less than the clip allows, so less is shown."""
    setup = views.prepare(codec="trained")
    features = views.of_image(setup, 0)
    longest = float(np.max(np.linalg.norm(features.encoded, axis=1)))
    system = InferenceSystem(
        devices=12, participation=0.9, noise_variance=0.02, weight=1 / 12, clip=2 * longest, alignment=1.0,
        receiver_noise_variance=0.01, dimension=8, delta=1e-3, delta_prime=1e-3, adjacency="silent",
    )  # fmt: skip
    (found,) = attacked(system, features=features, samples=20_000).devices
    of_code = float(airtight.epsilon(replace(system, clip=longest))[0])
    assert 0 < found.attack_on_features < of_code < found.exact and found.attack_on_features < found.attack


def test_the_command(tmp_path):
    file = tmp_path / "system.toml"
    file.write_text(
        "[inference]\n"
        + "\n".join(
            f"{name} = {json.dumps(value)}" for name, value in PROMISED.to_dict().items() if name != "decoder_gain"
        )
    )
    run = CliRunner().invoke(main, ["attack", str(file), "--samples", "40000", "--json"])
    found = json.loads(run.output)
    assert found["devices"][0]["refuted"] and found["confidence"] == 0.95 and found["samples"] == 40000
    shown = CliRunner().invoke(main, ["attack", str(file), "--samples", "40000"], env={"COLUMNS": "140"}).output
    assert "REFUTED" in shown and "0-49" in shown and "95 %" in shown


FEDERATED = airtight.FederatedSystem(clients=5, parameters=1, epsilon=0.1, ldp_fraction=0.4, shared_bits=3, delta=1e-2)


def small_task(inputs=2):
    return two_classes(np.random.default_rng(4), inputs)


@pytest.mark.parametrize(
    ("mechanism", "drop", "canary"),
    [
        ("ldp", 0.3, True),
        ("ldp", 0.0, False),
        ("corbin", 0.3, True),
        ("augcorbin", 0.0, True),
        ("augcorbin", 0.3, False),
        ("gaussian", 0.3, False),
    ],
)
def test_ratios_of_training_are_those_of_two_laws(mechanism, drop, canary):
    """Under Q the mean of the ratio is 1, less what Q cannot do; under P that of its inverse; over several rounds."""
    system = replace(FEDERATED, dropout=drop, epsilon=0.4 if mechanism == "gaussian" else 0.15)
    settings = Settings(hidden=(), local_steps=1)
    setup = training._Setup.of(system, Mechanism(mechanism), settings, small_task())
    scores = [
        np.array([
            setup.log_ratio(np.random.default_rng([7, second, k]), rounds=2, second=bool(second), canary=canary)
            for k in range(250)
        ])
        for second in (0, 1)
    ]  # fmt: skip
    for ratio in (np.exp(-scores[0]), np.exp(scores[1])):
        doubt = 4.5 * np.std(ratio) / math.sqrt(len(ratio)) + 1e-9
        assert np.mean(ratio) < 1 + doubt
        if mechanism in ("ldp", "gaussian"):  # nothing is impossible
            assert np.mean(ratio) > 1 - doubt


def test_a_canary_among_gaussian_updates_has_the_exact_law():
    """Over training of three rounds, whatever it learns: normal, of the mean and variance of the exact release."""
    system = replace(FEDERATED, epsilon=0.4)
    setup = training._Setup.of(system, Mechanism.GAUSSIAN, Settings(hidden=(), local_steps=1), small_task())
    mu = training.exact_curve(setup.system, Mechanism.GAUSSIAN).compose(3)._orders["forward"].factors[0][0].mu
    for second, sign in ((False, 1), (True, -1)):
        scores = [
            setup.log_ratio(np.random.default_rng([8, second, k]), rounds=3, second=second, canary=True)
            for k in range(700)
        ]
        assert stats.kstest(scores, stats.norm(sign * mu**2 / 2, mu).cdf).pvalue > 1e-4


def test_one_round_of_one_bit_has_the_law_of_its_corner():
    """The canary's ratio takes the values of the corner of the others' updates; its mean excess is that delta."""
    system = airtight.FederatedSystem(clients=4, parameters=1, epsilon=0.5, ldp_fraction=1.0, delta=1e-2)
    setup = training._Setup.of(system, Mechanism.LDP, Settings(hidden=(), local_steps=1), small_task(inputs=1))
    scores = np.array([
        [setup.log_ratio(np.random.default_rng([9, h, k]), rounds=1, second=bool(h), canary=True) for k in range(1500)]
        for h in (0, 1)
    ])  # fmt: skip
    curve = training.exact_curve(setup.system, Mechanism.LDP)
    for eps in (0.0, 0.5):
        shown = [float(np.mean(np.maximum(-np.expm1(np.minimum(eps - x, 0.0)), 0))) for x in (scores[0], -scores[1])]
        assert max(shown) <= float(curve.delta(eps)) + 0.03
    assert np.max(np.abs(scores)) <= 0.5 * setup.network.parameters * (1 + 1e-9)


def test_the_attack_on_training():
    found = training.attacked(replace(FEDERATED, epsilon=2.0), "gaussian", runs=500, rounds=1, task=small_task())
    assert 0.2 * found.exact < found.attack < found.exact and found.attack_on_data < found.attack
    again = training.attacked(replace(FEDERATED, epsilon=2.0), "gaussian", runs=500, rounds=1, task=small_task())
    assert again == found and found.published is None and not found.refuted
    with pytest.raises(ParameterError, match="mechanism"):
        training.attacked(FEDERATED, "laplace", runs=8)
    with pytest.raises(ParameterError, match="runs"):
        training.attacked(FEDERATED, "ldp", runs=7)


def test_audits_of_training_stay_below_the_truth():
    """At 50 %, where 51 of 1000 are above it, so that five of twenty come once in 350 times; at 95 % none is.

    There a loop that forgets half of its noise would not be noticed; here one that forgets a third is.
    """
    found = audits.coverage("gaussian", range(20), runs=100, failure=0.5)
    assert found.above <= 4 and np.median(found.canary) > 0.4


def test_a_promise_that_training_breaks_is_noticed(monkeypatch):
    """A loop that forgets half of its noise shows more than is exact."""
    original = training.loop.summed

    def quiet(local, here, center, radius, system, kind, rng, order=None):
        total, error = original(local, here, center, radius, system, kind, rng, order=order)
        true = local[here].sum(axis=0, dtype=np.float64)
        return true + 0.1 * (total - true), error

    kept = training.attacked(replace(FEDERATED, epsilon=0.1), "gaussian", runs=200, rounds=1, task=small_task())
    monkeypatch.setattr(training.loop, "summed", quiet)
    broken = training.attacked(replace(FEDERATED, epsilon=0.1), "gaussian", runs=200, rounds=1, task=small_task())
    assert kept.attack <= kept.exact < broken.attack


def test_gaussian_sums_with_dropout_against_the_mixture():
    one = baselines.gaussian_curve(4, 3, epsilon=0.5, delta=1e-2, dropout=0.3)
    sigma = math.sqrt(float(baselines.gaussian_variance(epsilon=0.5, delta=1e-2)))
    law = 0.7 * stats.binom.pmf(np.arange(4), 3, 0.7)
    exact = sum(w * float(gaussian.delta(0.8, sensitivity=2 * math.sqrt(3 / (j + 1)), sigma=sigma))
                for j, w in enumerate(law))  # fmt: skip
    low, high = one.bracket(epsilon=0.8)
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9) and high - low < 1e-8 * high


def test_the_command_on_training(tmp_path):
    file = tmp_path / "system.toml"
    file.write_text(
        "[federated]\nclients = 5\nparameters = 650\nepsilon = 0.1\nldp_fraction = 1.0\n"
        '[training]\nhidden = [2]\nlocal_steps = 1\nmechanisms = ["vanilla", "ldp", "gaussian"]\n'
    )
    run = CliRunner().invoke(main, ["attack", str(file), "--runs", "10", "--rounds", "1", "--json"])
    found = json.loads(run.output)
    assert [one["mechanism"] for one in found] == ["ldp", "gaussian"] and found[0]["runs"] == 10
    shown = CliRunner().invoke(main, ["attack", str(file), "--runs", "10"], env={"COLUMNS": "160"}).output
    assert "canary" in shown and "aggregate" in shown and "95 %" in shown
    for old, new in (("[training]", "[energy]"), ('"vanilla", "ldp", "gaussian"', '"vanilla"')):
        other = tmp_path / "other.toml"
        other.write_text(
            file.read_text().split("[training]")[0] if new == "[energy]" else file.read_text().replace(old, new)
        )
        assert CliRunner().invoke(main, ["attack", str(other), "--runs", "10"]).exit_code == 2
