"""Dropout, communication, the mechanisms that CorBin-FL is compared with, and the quantizers as a client runs them."""

import dataclasses
import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import (
    central_privacy,
    communication,
    dropout,
    mean_estimation,
    quantizers,
    two_output_bounds,
)
from airtight.analytics.federated.corbin.federated_system import FederatedSystem, alone
from airtight.analytics.federated.few_bits import baselines
from airtight.results import federated_results
from airtight.solvers.design.quantizer import quantizer_design

EPSILON = st.floats(0.05, 10)


@given(st.integers(1, 4), st.floats(0, 0.95), EPSILON, st.floats(-1, 1), st.floats(-1, 1))
def test_dropout_mse_against_every_set_of_survivors(pairs, p, epsilon, x, y):
    A = float(quantizers.alpha(epsilon))
    n, total = 2 * pairs, 0.0
    for here in itertools.product((False, True), repeat=n):
        count, error = sum(here), 0.0
        for i in range(0, n, 2):
            s = abs(x + y)
            error += (
                s * (2 * A - s)
                if here[i] and here[i + 1]
                else A * A - (x if here[i] else y) ** 2
                if here[i] or here[i + 1]
                else 0
            )
        if count:
            total += (1 - p) ** count * p ** (n - count) * error / count**2
    assert total <= dropout.worst_mse(n, dropout=p, epsilon=epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("p, epsilon", [(0.0, 0.5), (0.3, 0.5), (0.3, 3.0), (0.9, 1.0)])
def test_dropout_mse_is_attained_and_simulated(p, epsilon):
    A, n = float(quantizers.alpha(epsilon)), 20
    worst = dropout.worst_mse(n, dropout=p, epsilon=epsilon)
    best = 0.0
    for x in np.linspace(0, 1, 401):
        e1 = stats.binom(n - 2, 1 - p).expect(lambda k: 1 / (1 + k) ** 2)
        e2 = stats.binom(n - 2, 1 - p).expect(lambda k: 1 / (2 + k) ** 2)
        pair = 2 * p * (1 - p) * e1 * (A * A - x * x) + (1 - p) ** 2 * e2 * (2 * x) * (2 * A - 2 * x)
        best = max(best, n / 2 * pair)
    assert best == pytest.approx(worst, rel=1e-4) and best <= worst * (1 + 1e-12)
    rng = np.random.default_rng(0)
    x, rounds = 0.5, 100_000
    here = rng.random((rounds, n)) >= p
    sent = np.empty((rounds, n))
    w = np.full((rounds, n // 2), x)
    sent[:, ::2], sent[:, 1::2] = quantizers.corbinq(w, w, epsilon=epsilon, bits=None, rng=rng)
    solo = quantizers.ldpq(np.full((rounds, n), x), epsilon=epsilon, rng=rng)
    partner = here.reshape(rounds, -1, 2)[..., ::-1].reshape(rounds, n)
    sent = np.where(partner, sent, solo)
    number = here.sum(1)
    error = np.where(number > 0, ((sent - x) * here).sum(1) / np.maximum(number, 1), 0.0) ** 2
    assert error.mean() <= worst + 4.5 * error.std() / math.sqrt(rounds)


def test_dropout_limits():
    for e in (0.3, 2.0):
        none = dropout.worst_mse(10, dropout=0.0, epsilon=e)
        assert none == pytest.approx(float(mean_estimation.worst(10, epsilon=e)), rel=1e-12)
    odd = dropout.worst_mse(5, dropout=0.0, epsilon=1.0, independent=0.4)
    assert odd == pytest.approx(float(mean_estimation.worst(5, epsilon=1.0, independent=0.4)), rel=1e-12)


def test_theorem_four_of_the_ledger():
    claim = dropout.published(200, dropout=0.5, slack=0.2, epsilon=1.0)
    assert dropout.outside_probability(200, dropout=0.5, low=claim.gamma, high=claim.gamma_prime) == pytest.approx(
        0.271, abs=5e-4
    )
    wide = dropout.published(1000, dropout=0.1, slack=0.05, epsilon=1.0)
    assert (round(wide.theta, 4), round(wide.theta_prime, 4)) == (0.0476, 0.1324)
    assert stats.binom(1000, 0.9).cdf(132) < 1e-300 or stats.binom(1000, 0.9).cdf(132) == 0
    unit = 1 / float(quantizers.alpha(1.0))
    negative = dropout.published(10**6, dropout=0.5, slack=1e-6, epsilon=1.0, radius=unit).mse
    assert negative == pytest.approx(-4.87e-6, rel=3e-3)
    assert dropout.worst_mse(10**6, dropout=0.5, epsilon=1.0, radius=unit) == pytest.approx(1.33e-6, rel=5e-3)
    low = dropout.published(10**7, dropout=0.9, slack=0.01, epsilon=0.2).mse
    assert low == pytest.approx(7.143e-5, rel=1e-4)
    assert low < 9.0e-5 < dropout.worst_mse(10**7, dropout=0.9, epsilon=0.2)


@given(st.integers(1, 300), st.floats(0, 0.99), st.floats(1e-6, 0.5))
def test_quantiles_hold_their_mass(half, p, level):
    n = 2 * half
    low, high = dropout.survivors(n, dropout=p, level=level)
    inside = stats.binom(n, 1 - p).cdf(high) - stats.binom(n, 1 - p).cdf(low - 1)
    assert 0 <= low <= high <= n and inside >= 1 - level - 1e-12
    low, high = dropout.broken_pairs(n, dropout=p, level=level)
    law = stats.binom(half, 2 * p * (1 - p))
    assert law.cdf(high) - law.cdf(low - 1) >= 1 - level - 1e-12


def test_central_privacy_with_dropout():
    from airtight.analytics.federated.corbin import central_privacy

    without = dropout.central_epsilon(400, 1, epsilon=1.0, delta=1e-5, dropout=0.0, independent=0.5)
    paired = central_privacy.update_epsilon(200, 1, epsilon=1.0, client="paired", delta=1e-5)
    assert without == pytest.approx(paired)
    assert dropout.central_epsilon(400, 1, epsilon=1.0, delta=1e-5, dropout=0.0) == math.inf
    some = dropout.central_epsilon(2000, 1, epsilon=1.0, delta=1e-5, dropout=0.2)
    law = stats.binom(999, 0.32)
    few = int(law.ppf(0.5e-5))
    with_few, with_most = (
        max(central_privacy.update_epsilon(n, 1, epsilon=1.0, client=c, delta=1e-5) for c in ("paired", "unpaired"))
        for n in (few, 330)
    )
    assert with_most < some < 0.95 * with_few


def test_costs():
    n, m, d, k = 50, 109386, 5, 256
    printed = communication.published(n, m, bits=d, key_bits=k)
    assert (printed.model, printed.key_exchange, printed.shared_randomness, printed.update) == (
        32 * m,
        n * k,
        d * m * k,
        m,
    )
    seeded = communication.seeded(n, m, bits=d, key_bits=k)
    assert printed.total / seeded.total == pytest.approx(39.8, abs=0.1)
    assert communication.stream(n, m, bits=d).shared_randomness == d * m
    assert communication.published(n, m, bits=0).shared_randomness == 0


@given(EPSILON, st.floats(-1, 1))
def test_three_levels_are_unbiased_private_and_better(epsilon, w):
    law, C = baselines.three_level_probabilities(np.array([w, -1.0, 0.0, 1.0]), epsilon=epsilon)
    assert np.all(law >= -1e-15) and law.sum(1) == pytest.approx(np.ones(4))
    assert law @ [-C, 0, C] == pytest.approx([w, -1, 0, 1], abs=1e-9)
    assert (law.max(0) <= law.min(0) * math.exp(epsilon) * (1 + 1e-9) + 1e-15).all()
    worst = baselines.three_level_worst(epsilon=epsilon)
    assert C * C * (1 - law[0, 1]) - w * w <= worst * (1 + 1e-9)
    assert worst <= float(quantizers.alpha(epsilon)) ** 2 * (1 + 1e-9)


@given(st.floats(-1, 1), st.floats(1, 3), EPSILON, st.floats(-1, 1), st.floats(-1, 1))
def test_best_coupling_on_any_alphabet(shift, stretch, epsilon, x, y):
    """Against the couplings of two two-point laws: one parameter, two ends."""
    A = float(quantizers.alpha(epsilon))
    half = A * stretch + abs(shift)
    low, high = shift - half, shift + half
    q1, q2 = (x - low) / (high - low), (y - low) / (high - low)
    errors = []
    for both in (max(q1 + q2 - 1, 0.0), min(q1, q2)):
        law = {2 * high: both, 2 * low: 1 - q1 - q2 + both, low + high: q1 + q2 - 2 * both}
        errors.append(sum(p * (value - x - y) ** 2 for value, p in law.items()))
    found = float(two_output_bounds.pair_mse(x, y, low=low, high=high))
    assert found == pytest.approx(min(errors), rel=1e-6, abs=1e-9 * half**2)
    own = float(two_output_bounds.pair_mse(x, y, low=-A, high=A))
    assert own == pytest.approx(float(quantizers.pair_mse(x, y, epsilon=epsilon, bits=None)), rel=1e-9, abs=1e-9 * A)


def test_variances_of_the_ledger():
    assert float(baselines.laplace_variance(epsilon=2.3240)) > float(quantizers.alpha(2.3240)) ** 2
    assert float(baselines.laplace_variance(epsilon=2.3243)) < float(quantizers.alpha(2.3243)) ** 2
    crossing = [
        2 * float(mean_estimation.worst(2, epsilon=e)) - float(baselines.laplace_variance(epsilon=e))
        for e in (3.7, 3.9)
    ]
    assert crossing[0] < 0 < crossing[1]
    assert 2 * float(mean_estimation.worst(2, epsilon=5.0)) == pytest.approx(0.51, abs=5e-3)


@pytest.mark.parametrize("epsilon, best", [(1.0, 3.992), (3.0, 0.304)])
def test_designed_quantizers(epsilon, best):
    """The least worst variance over all alphabets, per ledger, from above; two outputs give Proposition 1."""
    solution = quantizer_design.solve(4, epsilon=epsilon)
    found = solution.quantizer
    assert best * (1 - 1e-3) <= found.worst_variance <= best * 1.02
    assert found.law @ found.outputs == pytest.approx(found.inputs, abs=1e-7)
    assert (found.law.max(0) <= found.law.min(0) * math.exp(epsilon) + 1e-7).all() and solution.epsilon <= epsilon
    one = quantizer_design.solve(1, epsilon=epsilon)
    assert one.worst_variance == pytest.approx(float(quantizers.alpha(epsilon)) ** 2, rel=1e-6)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.floats(0.1, 5))
def test_stratified_mse_by_quadrature(w, radius):
    """All pairs of strata, exactly: E of the product of two indicators is an average over strata."""
    x = np.array(w) * radius
    n = len(w)
    q = (np.array(w) + 1) / 2
    hit = np.clip(n * q[:, None] - np.arange(n), 0, 1)  # P(U_i < q_i | stratum s)
    error = 0.0
    for i in range(n):
        error += q[i] * (1 - q[i])
        for j in range(n):
            if i != j:
                joint = (hit[i].sum() * hit[j].sum() - hit[i] @ hit[j]) / (n * (n - 1))
                error += joint - q[i] * q[j]
    expected = max(error, 0.0) * 4 * radius**2 / n**2
    assert float(baselines.stratified_mse(x, radius=radius)) == pytest.approx(expected, abs=1e-12 * radius**2)


def test_samplers_are_unbiased_with_the_stated_variance():
    rng = np.random.default_rng(3)
    w = np.full((4, 100_000), [[0.3], [-0.7], [0.9], [0.0]])
    sent = baselines.stratified(w, rng=rng)
    error = (sent.mean(0) - w.mean(0)) ** 2
    assert sent.mean(1) == pytest.approx(w[:, 0], abs=4.5 / math.sqrt(100_000))
    assert error.mean() == pytest.approx(float(baselines.stratified_mse(w[:, 0])), abs=4.5 * error.std() / 300)
    flat = np.full(200_000, 0.4)
    for sampled, variance in (
        (baselines.laplace(flat, epsilon=2.0, radius=1.0, rng=rng), float(baselines.laplace_variance(epsilon=2.0))),
        (
            baselines.gaussian(flat, epsilon=2.0, delta=1e-5, radius=1.0, rng=rng),
            float(baselines.gaussian_variance(epsilon=2.0, delta=1e-5)),
        ),
    ):
        assert sampled.mean() == pytest.approx(0.4, abs=4.5 * math.sqrt(variance / 200_000))
        assert sampled.var() == pytest.approx(variance, rel=0.03)


@settings(max_examples=20)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6).filter(lambda w: len(w) % 2 == 0), EPSILON)
def test_best_pairing_is_the_best(w, epsilon):
    found = mean_estimation.best_pairing(w, epsilon=epsilon)
    best = min(
        float(mean_estimation.paired(w, np.array(order).reshape(-1, 2), epsilon=epsilon))
        for order in itertools.permutations(range(len(w)))
    )
    assert float(mean_estimation.paired(w, found, epsilon=epsilon)) == pytest.approx(best, abs=1e-9)
    assert best <= float(mean_estimation.mean_over_pairings(w, epsilon=epsilon)) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("bits", [None, 0, 1, 4, 60])
def test_both_halves_make_the_pair(bits):
    """Each client alone, with the common seed, gives the joint law."""
    size = 200_000
    outputs = [
        quantizers.corbinq_half(
            np.full(size, w), lead=lead, seed=11, epsilon=1.0, bits=bits, rng=np.random.default_rng(5 + lead)
        )
        for w, lead in ((0.5, True), (0.3, False))
    ]
    law = quantizers.pair_law(0.5, 0.3, epsilon=1.0, bits=bits).ravel()
    seen = np.bincount(2 * (outputs[0] > 0) + (outputs[1] > 0), minlength=4)
    assert np.all(seen[law == 0] == 0)
    kept = law > 1e-12
    assert stats.chisquare(seen[kept], law[kept] / law[kept].sum() * size).pvalue > 1e-4


def test_clipping_is_said_aloud():
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match=r"w\[1\] = 1\.5"):
        quantizers.ldpq([0.0, 1.5], epsilon=1.0, rng=rng)
    clipped = quantizers.ldpq(np.full(200_000, 1.5), epsilon=1.0, rng=rng, clip=True)
    assert clipped.mean() == pytest.approx(1.0, abs=0.03)
    with pytest.raises(ParameterError):
        quantizers.ldpq([math.nan], epsilon=1.0, rng=rng, clip=True)
    with pytest.raises(ParameterError):
        quantizers.corbinq([0.0, 0.0], [0.0, 2.0], epsilon=1.0, bits=3, rng=rng)


def test_single_precision_in_single_precision_out():
    w = np.linspace(-1, 1, 70_000, dtype=np.float32)
    assert quantizers.ldpq(w, epsilon=1.0, rng=np.random.default_rng(0)).dtype == np.float32
    one, two = quantizers.corbinq(w, w, epsilon=1.0, bits=5, rng=np.random.default_rng(0))
    assert one.dtype == two.dtype == np.float32 and one.shape == w.shape
    rows = quantizers.ldpq(
        np.zeros((3, 4)), epsilon=1.0, center=np.arange(4.0), radius=np.full((3, 1), 9.0), rng=np.random.default_rng(0)
    )
    assert rows.shape == (3, 4)
    assert quantizers.ldpq(np.zeros((0, 2)), epsilon=1.0, rng=np.random.default_rng(0)).shape == (0, 2)


@pytest.mark.parametrize(
    "changes, name",
    [
        ({"clients": 0}, "clients"),
        ({"parameters": 1.5}, "parameters"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"radius": -1.0}, "radius"),
        ({"center": math.nan}, "center"),
        ({"shared_bits": 61}, "shared_bits"),
        ({"ldp_fraction": 1.1}, "ldp_fraction"),
        ({"dropout": 1.0}, "dropout"),
        ({"delta": 0.0}, "delta"),
    ],
)
def test_a_system_refuses(changes, name):
    good = {"clients": 10, "parameters": 3, "epsilon": 1.0}
    with pytest.raises(ParameterError) as caught:
        FederatedSystem(**{**good, **changes})
    assert caught.value.name == name


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: dropout.broken_pairs(5, dropout=0.1, level=0.1), "clients"),
        (lambda: dropout.worst_mse(4, dropout=1.0, epsilon=1.0), "dropout"),
        (lambda: communication.published(4, 3, bits=-1), "bits"),
        (lambda: mean_estimation.best_pairing([0.0, 0.1, 0.2], epsilon=1.0), "w"),
        (lambda: baselines.stratified(0.5, rng=np.random.default_rng(0)), "w"),
        (lambda: baselines.three_level_probabilities(0.0, epsilon=1.0, zero=0.9), "zero"),
        (
            lambda: quantizers.corbinq_half(
                [0.0], lead=True, seed=-1, epsilon=1.0, bits=1, rng=np.random.default_rng(0)
            ),
            "seed",
        ),
    ],
)
def test_bad_input(call, name):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.name == name


@pytest.mark.parametrize("clients", [2, 4, 8])
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.5), (0.2, 0.3), (0.13, 0.3), (0.3, 0.6), (-1.0, 0.1)])
def test_broken_pairs_outside_by_enumeration(clients, low, high):
    p, total = 0.3, 0.0
    for dropped in itertools.product((0, 1), repeat=clients):
        broken = sum(a != b for a, b in zip(dropped[::2], dropped[1::2], strict=True))
        if not low * clients <= broken <= high * clients:
            total += np.prod([p if d else 1 - p for d in dropped])
    found = dropout.outside_probability(clients, dropout=p, low=low, high=high)
    assert found == pytest.approx(total, abs=1e-14)


@pytest.mark.parametrize(("delta", "independent"), [(0.03, 0.0), (0.01, 0.3), (0.04, 0.6)])
def test_who_is_left_alone_under_dropout(delta, independent):
    """A mean over their number, by scipy: of a paired survivor's pair nobody is left to be alone."""
    n, p = 20, 0.5
    single = alone(n, independent)
    pairs = (n - single) // 2

    def mean(client, singles, others, epsilon):
        law = np.convolve(
            stats.binom.pmf(np.arange(singles + 1), singles, 1 - p), stats.binom.pmf(np.arange(others + 1), others, 0.5)
        )
        return sum(
            share * float(central_privacy.one_parameter(k, epsilon=0.5, client=client).delta(epsilon))
            for k, share in enumerate(law)
        )

    found = dropout.central_epsilon(n, 1, epsilon=0.5, delta=delta, dropout=p, independent=independent)
    paired = sum(0.5 * mean(client, single, pairs - 1, found) for client in ("paired", "unpaired"))
    unpaired = mean("unpaired", single - 1, pairs, found) if single else 0.0
    assert max(paired, unpaired) == pytest.approx(delta, rel=1e-4) and max(paired, unpaired) <= delta


def test_dropout_error_scales_with_the_radius():
    for epsilon in (0.3, 3.0):
        one, three = (dropout.worst_mse(20, dropout=0.3, epsilon=epsilon, radius=r) for r in (1.0, 3.0))
        assert three == pytest.approx(9 * one, rel=1e-12)


@pytest.mark.parametrize("dropout_rate", [0.0, 0.1, 0.6])
def test_alone_the_error_is_that_of_a_mean_of_survivors(dropout_rate):
    """A^2 E[1/N; N > 0], all inputs at the center."""
    n, epsilon = 12, 0.7
    k = np.arange(1, n + 1)
    expected = float(quantizers.alpha(epsilon)) ** 2 * np.sum(stats.binom.pmf(k, n, 1 - dropout_rate) / k)
    found = dropout.worst_mse(n, dropout=dropout_rate, epsilon=epsilon, independent=1.0)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.69, 0.7, 1.0, 1.7, 3.0, 10.0, 28.5, 300.0])
def test_three_levels_to_rounding(epsilon):
    with mpmath.workdps(60):
        f = mpmath.exp(-mpmath.mpf(epsilon))
        most, alpha = 1 / (1 + 2 * f), mpmath.coth(mpmath.mpf(epsilon) / 2)

        def worst(z):
            C = alpha / (1 - z * f)
            rise = C * C * z * (1 - f)
            peak = min(rise / 2, 1)
            return C * C * (1 - z) + rise * peak - peak * peak

        low, high = mpmath.mpf(0), most  # golden section: the worst variance falls, then rises
        for _ in range(250):
            third = (high - low) * (mpmath.sqrt(5) - 1) / 2
            low, high = (low, low + third) if worst(high - third) < worst(low + third) else (high - third, high)
        z = min((mpmath.mpf(0), most, (low + high) / 2), key=worst)
        C = alpha / (1 - z * f)
        law, found = baselines.three_level_probabilities([-1.0, -0.3, 0.0, 0.7, 1.0], epsilon=epsilon)
        assert found == pytest.approx(float(C), rel=1e-14)
        assert baselines.three_level_worst(epsilon=epsilon) == pytest.approx(float(worst(z)), rel=1e-14)
        for w, row in zip([-1.0, -0.3, 0.0, 0.7, 1.0], law, strict=True):
            none = z * (1 - (1 - f) * abs(mpmath.mpf(w)))
            for entry, true in zip(
                row, [(1 - none) / 2 - w / (2 * C), none, (1 - none) / 2 + w / (2 * C)], strict=True
            ):
                assert abs(entry - true) <= 1e-13 * true + 1e-25


def test_dropout_over_rounds_holds_every_sequence_of_cases():
    """Against the composition of laws of one corner, the client now alone and now in a pair."""
    import airtight
    from airtight.analytics.federated.corbin import central_privacy

    others, level = 60, 1e-3
    found = central_privacy.mixed_epsilon(
        [("unpaired", others), ("paired", others)], 1, epsilon=1.0, delta=level, rounds=2
    )
    low, high, _ = central_privacy.interval(1.0)
    worst = 0.0
    for corner in (0, 30, 60):
        noise = np.ones(1)
        for i in range(others):
            q = high if i < corner else low
            noise = np.convolve(noise, [1 - q, q])
        cases = []
        for client in ("unpaired", "paired"):
            (one, other), *_ = central_privacy.contributions(client, epsilon=1.0)
            pair = np.convolve(noise, one), np.convolve(noise, other)
            cases.append(airtight.discrete_pair(*(law / law.sum() for law in pair)))
        for number in range(3):
            lower = airtight.compose(cases, [number, 2 - number]).bracket(delta=level)[0]
            worst = max(worst, float(lower))
    assert worst <= found < 1.3 * worst


def test_dropout_over_rounds():
    common = {"epsilon": 1.0, "delta": 1e-5, "independent": 0.5, "bits": 5}
    one, two, ten = (dropout.central_epsilon(400, 1, dropout=0.1, rounds=t, **common) for t in (1, 2, 10))
    assert one < two < ten < 10 * one
    without = dropout.central_epsilon(400, 1, dropout=0.0, rounds=10, **common)
    from airtight.analytics.federated.corbin import central_privacy

    kinds = [("unpaired", 199), ("paired", 200)]
    exact = [
        central_privacy.update_epsilon(n, 1, epsilon=1.0, client=kind, delta=1e-5, bits=5, rounds=10)
        for kind, n in kinds
    ]
    assert without == max(exact) < ten


@pytest.mark.parametrize("local", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("bits", [0, 1, 2, 3])
def test_what_the_server_learns_for_sure_from_few_bits(local, bits):
    """Against the greatest mass on outcomes that the other update excludes, over a grid with every edge of a cell."""
    A = float(quantizers.alpha(local))
    edges = 2 * A * np.arange(2**bits + 1) / 2**bits - A
    values = np.unique(np.concatenate([np.linspace(-1, 1, 41), edges[np.abs(edges) < 1], -edges[np.abs(edges) < 1]]))
    laws = quantizers.pair_law(values[:, None], values, epsilon=local, bits=bits).reshape(values.size, values.size, 4)
    excluded = np.sum(np.where(laws[None] < 1e-13, laws[:, None], 0.0), axis=-1)
    floor = central_privacy.server_delta_floor(local=local, bits=bits)
    assert float(np.max(excluded)) == pytest.approx(floor, abs=1e-9)
    bound = central_privacy.server_delta(0.0, local=local)
    assert 0.5 * float(np.max(np.sum(np.abs(laws[:, None] - laws[None]), axis=-1))) <= bound + 1e-12


@pytest.mark.parametrize("dropout_probability", [0.0, 0.2])
def test_pairs_without_shared_bits_are_clients_alone(dropout_probability):
    system = FederatedSystem(
        clients=50, parameters=10, epsilon=1.0, shared_bits=0, ldp_fraction=0.2, dropout=dropout_probability
    )
    found = federated_results.FederatedBounds.of(system)
    alone = federated_results.FederatedBounds.of(dataclasses.replace(system, shared_bits=5, ldp_fraction=1.0))
    assert found.central.clients == alone.central.clients and found.server == alone.server
    assert found.server.epsilon_one_parameter == 1.0 and found.server.delta_one_parameter == 0.0
    assert found.central.exact_epsilon_update == pytest.approx(1.991, abs=1e-3)
    assert found.dropout == alone.dropout
    assert found.mse.augmented_worst_finite_bits == pytest.approx(alone.mse.augmented_worst, rel=1e-14)
    if dropout_probability == 0:
        pair, apart = (airtight.aggregation(dataclasses.replace(system, ldp_fraction=share)) for share in (0.2, 1.0))
        assert pair.bracket(delta=1e-5) == apart.bracket(delta=1e-5)


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_the_error_with_dropout_bounds_every_update_of_few_bits(bits):
    """Two clients: the mean over who remains of the exact error, on a grid of updates."""
    x = np.linspace(-1, 1, 81)
    for local, p in ((0.5, 0.3), (2.0, 0.6)):
        A = float(quantizers.alpha(local))
        both = quantizers.pair_mse(x[:, None], x, epsilon=local, bits=bits) / 4
        one = 2 * A * A - x[:, None] ** 2 - x**2
        exact = (1 - p) ** 2 * both + p * (1 - p) * one
        assert np.max(exact) <= dropout.worst_mse(2, dropout=p, epsilon=local, bits=bits) * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "found"), [(0.3, 44.689), (0.25, 64.415)])
def test_four_outputs_are_better_than_two_for_small_epsilon(epsilon, found, monkeypatch):
    """Against outputs at 1.14696 and .92233 times those of one bit, whose variance was found by a linear program."""
    monkeypatch.setattr(quantizer_design, "_MOVES", {4: 12})
    quantizer = quantizer_design._placed.__wrapped__(4, epsilon)
    assert quantizer.worst_variance < found < float(quantizers.alpha(epsilon)) ** 2
    assert quantizer_design.local_epsilon(quantizer.law) <= epsilon
    assert quantizer.law @ quantizer.outputs == pytest.approx(quantizer.inputs, abs=1e-12)


def test_a_quantizer_exists_where_the_search_finds_none(monkeypatch):
    monkeypatch.setattr(quantizer_design, "_program", lambda y, eps: None)
    quantizer = quantizer_design._placed.__wrapped__(4, 0.3)
    assert quantizer.outputs.size == 2 and quantizer.worst_variance == float(quantizers.alpha(0.3)) ** 2


def test_outputs_that_are_no_doubles_are_refused():
    with pytest.raises(ParameterError, match="epsilon"):
        quantizers.ldpq([0.5], epsilon=1e-320, rng=np.random.default_rng(0))
