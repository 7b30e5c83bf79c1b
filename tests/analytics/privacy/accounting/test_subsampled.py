"""Samples of fixed size: all samples of small data sets, outcome by outcome, are between the bounds."""

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight

DIGITS = 50


def response_sum(sample, loss):
    """The law of the number of ones among randomized responses of the records of a sample."""
    law = [mpmath.mpf(1)]
    for record in sample:
        one = 1 / (1 + mpmath.exp(-loss if record else loss))
        law = [(law[i] if i < len(law) else 0) * (1 - one) + (law[i - 1] * one if i else 0) for i in range(len(law) + 1)]
    return law


def sampled(data, size, loss):
    """The law over all samples of this size."""
    laws = [response_sum(sample, loss) for sample in itertools.combinations(data, size)]
    return [mpmath.fsum(column) / len(laws) for column in zip(*laws, strict=True)]


def divergence(p, q, epsilon, count):
    factor = mpmath.exp(epsilon)
    return mpmath.fsum(
        max(mpmath.fprod(p[i] for i in outcome) - factor * mpmath.fprod(q[i] for i in outcome), 0)
        for outcome in itertools.product(range(len(p)), repeat=count)
    )


@settings(max_examples=15, deadline=None)
@given(
    data=st.lists(st.integers(0, 1), min_size=3, max_size=5),
    size=st.integers(1, 2),
    loss=st.floats(0.1, 4.0),
    share=st.floats(0.0, 1.0),
    count=st.integers(1, 3),
    adjacency=st.sampled_from(["replace", "add-remove"]),
)
def test_every_data_set_is_below_the_upper_bound(data, size, loss, share, count, adjacency):
    """A release of pure epsilon `loss` for one record of a sample; adaptive choices of data are compositions of unlike pairs."""
    release = airtight.randomized_response(loss)
    curve = airtight.subsampled(release, size / len(data), replacement=False, adjacency=adjacency).compose(count)
    neighbour = [1 - data[0], *data[1:]] if adjacency == "replace" else data[1:]
    with mpmath.workdps(DIGITS):
        laws = sampled(data, size, loss), sampled(neighbour, size, loss)
        epsilon = share * loss * count * size / len(data)
        worst = max(divergence(*laws, epsilon, count), divergence(*laws[::-1], epsilon, count))
        assert worst <= curve.delta(epsilon) * (1 + 1e-12)


@settings(max_examples=15, deadline=None)
@given(p=st.floats(0.05, 0.95), loss=st.floats(0.1, 4.0), share=st.floats(0.0, 0.95), count=st.integers(1, 4))
def test_the_lower_bound_is_that_of_a_pair_of_data_sets(p, loss, share, count):
    """One record against equal ones, by a response that tells whether it is in the sample."""
    curve = airtight.subsampled(airtight.randomized_response(loss), p, replacement=False, adjacency="replace").compose(count)
    with mpmath.workdps(DIGITS):
        truth = 1 / (1 + mpmath.exp(-mpmath.mpf(loss)))
        share_in, q = mpmath.mpf(p), [1 - truth, truth]
        mixed = [share_in * a + (1 - share_in) * b for a, b in zip(q[::-1], q, strict=True)]
        epsilon = share * count * float(mpmath.log(1 + p * mpmath.expm1(loss)))
        attained = max(divergence(mixed, q, epsilon, count), divergence(q, mixed, epsilon, count))
        lower, upper = curve.bracket(epsilon=epsilon)
        assert lower <= attained * (1 + mpmath.mpf(10) ** -40) and attained <= upper
        assert count > 1 or attained <= lower * (1 + 1e-9) + 1e-300


def test_fixed_size_and_poisson_samples_have_one_pair_where_a_record_is_added():
    fixed, poisson = airtight.subsampled(2.0, 0.01, replacement=False), airtight.subsampled(2.0, 0.01)
    deltas = np.array([1e-9, 1e-5, 0.1])
    assert np.array_equal(fixed.epsilon(deltas), poisson.epsilon(deltas)) and fixed.unit == "one record is added or removed"
    with pytest.raises(airtight.ParameterError, match="neighbour"):
        airtight.compose([airtight.subsampled(2.0, 0.01, replacement=False, adjacency="replace"), airtight.dp_sgd(1.0, 0.01, 10)])
    replaced = airtight.subsampled(2.0, 0.01, replacement=False, adjacency="replace")
    assert replaced.epsilon(1e-6) == pytest.approx(float(poisson.epsilon(1e-6)), rel=1e-12)
    assert np.array_equal(replaced.delta([0.5, 1.0], direction="reverse"), replaced.delta([0.5, 1.0], direction="forward"))
    ends = replaced.compose(200).bracket(delta=1e-6)
    assert poisson.compose(200).epsilon(1e-6) * (1 - 2e-3) <= ends.upper and ends.lower <= ends.upper
    assert airtight.PrivacyCurve.from_json(replaced.to_json()) == replaced
    low, high = replaced.renyi(2.0)
    assert 0 < low < high <= 4.0 * (1 + 1e-12) and replaced.gdp().upper == pytest.approx(2.0)


def mixture_divergence(weights, means, others, epsilon):
    """Of two mixtures of normal laws on a line, by the half-line at the root of their ratio, which rises."""
    def ratio(t):
        return mpmath.log(mixed(t, means)) - mpmath.log(mixed(t, others)) - epsilon

    def mixed(t, centers):
        return mpmath.fsum(w * mpmath.exp(c * t - c * c / 2) for w, c in zip(weights, centers, strict=True))

    low, high = mpmath.mpf(-1), mpmath.mpf(1)
    while ratio(high) < 0:
        high *= 2
    while ratio(low) > 0:
        low *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(middle) < 0 else (low, middle)
    return mpmath.fsum(
        w * (mpmath.ncdf(c - low) - mpmath.exp(epsilon) * mpmath.ncdf(d - low))
        for w, c, d in zip(weights, means, others, strict=True)
    )


@settings(max_examples=25, deadline=None)
@given(
    log_p=st.floats(-9.0, 0.0),
    log_mu=st.floats(-3.0, 1.0),
    log_epsilon=st.floats(-6.0, 1.5),
    shares=st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)),
)
def test_a_replaced_record_of_a_poisson_sample(log_p, log_mu, log_epsilon, shares):
    """The pair of opposite records attains the curve; no other two records of smaller norms exceed it."""
    p, mu, epsilon = 10.0**log_p, 10.0**log_mu, 10.0**log_epsilon
    lower, upper = airtight.subsampled(mu, p, adjacency="replace").bracket(epsilon=epsilon)
    with mpmath.workdps(DIGITS):
        weights = [1 - mpmath.mpf(p), mpmath.mpf(p)]
        worst = mixture_divergence(weights, [0, mpmath.mpf(mu)], [0, -mpmath.mpf(mu)], epsilon)
        assert lower <= worst <= upper and (upper <= lower * (1 + 1e-6) or upper < 1e-30)
        inner = mixture_divergence(weights, [0, shares[0] * mpmath.mpf(mu)], [0, -shares[1] * mpmath.mpf(mu)], epsilon)
        assert inner <= upper


@pytest.mark.parametrize(("sigma", "rate", "steps", "delta"), [(1.0, 0.01, 1000, 1e-6), (2.0, 0.1, 100, 1e-5)])
def test_replaced_records_of_training_agree_with_dp_accounting(sigma, rate, steps, delta):
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), steps)
    lower, upper = airtight.dp_sgd(sigma, rate, steps, adjacency="replace").bracket(delta=delta)
    assert lower <= accountant.get_epsilon(delta) <= upper * (1 + 1e-4)


def test_extremes_of_a_replaced_record():
    assert airtight.dp_sgd(0.0, 0.01, 1, adjacency="replace").epsilon([0.009, 0.011]).tolist() == [np.inf, 0.0]
    assert airtight.dp_sgd(1.0, 0.0, 10, adjacency="replace").epsilon(1e-300) == 0
    always, whole = airtight.dp_sgd(1.0, 1.0, 1, adjacency="replace"), airtight.gaussian(2.0)
    assert always.epsilon([1e-300, 1e-5]) == pytest.approx(whole.epsilon([1e-300, 1e-5]), rel=1e-9)
    one, group = airtight.dp_sgd(1.0, 0.01, 10, adjacency="replace"), airtight.dp_sgd(1.0, 0.01, 10, adjacency="replace").group(3)
    assert one.epsilon(1e-6) < group.epsilon(1e-6) and group.unit == "3 times: one record is replaced"
    assert airtight.PrivacyCurve.from_json(group.to_json()) == group
    with mpmath.workdps(DIGITS):
        chances = [mpmath.binomial(3, k) * mpmath.mpf(0.01) ** k * mpmath.mpf(0.99) ** (3 - k) for k in range(4)]
        worst = mixture_divergence(chances, range(4), [-k for k in range(4)], 0.5)
        lower, upper = airtight.dp_sgd(1.0, 0.01, 1, adjacency="replace").group(3).bracket(epsilon=0.5)
        assert lower <= worst <= upper <= lower * (1 + 1e-10)


def two_subsampled(epsilon, q, mu):
    """Delta of two Poisson samples in the forward order: the curve of one, averaged over the loss of the other."""
    q, mu = mpmath.mpf(q), mpmath.mpf(mu)

    def loss(x):
        return mpmath.log1p(q * mpmath.expm1(mu * x - mu * mu / 2))

    def one(left):
        least = mpmath.log1p(-q)
        if left <= least:
            return -mpmath.expm1(left)
        x = (mpmath.log1p(mpmath.expm1(left) / q) + mu * mu / 2) / mu
        return (1 - q) * mpmath.ncdf(-x) + q * mpmath.ncdf(mu - x) - mpmath.exp(left) * mpmath.ncdf(-x)

    def integrand(x):
        return ((1 - q) * mpmath.npdf(x) + q * mpmath.npdf(x - mu)) * one(epsilon - loss(x))

    kink = (mpmath.log1p(mpmath.expm1(epsilon - mpmath.log1p(-q)) / q) + mu * mu / 2) / mu
    places = sorted({*mpmath.linspace(-12, kink - 1, 40), *(kink + mpmath.mpf(10) ** -k for k in range(12)), kink,
                     *(kink - mpmath.mpf(10) ** -k for k in range(12)), kink + 12})  # fmt: skip
    return mpmath.quad(integrand, places)


@pytest.mark.parametrize(("q", "mu", "epsilon"), [(1e-6, 1, 0.03), (1e-6, 1, 6.0), (1e-12, 3, 2.0), (1e-3, 1, 0.9)])
def test_rare_samples_at_tiny_deltas(q, mu, epsilon):
    """One great loss makes delta: both bounds were up to a factor of e^40 apart, and epsilon by half."""
    curve = airtight.subsampled(float(mu), q).compose(2)
    with mpmath.workdps(60):
        exact = two_subsampled(mpmath.mpf(epsilon), q, mu)
    lower, upper = curve.bracket(epsilon=epsilon, direction="forward")
    assert lower <= exact <= upper <= lower * 1.02
    lower, upper = curve.bracket(delta=float(exact), direction="forward")
    assert lower * (1 - 1e-12) <= epsilon <= upper * (1 + 1e-12) and upper <= lower * (1 + 1e-3)


@pytest.mark.parametrize("q", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("count", [3, 1000])
def test_brackets_at_tiny_rates_are_narrow(q, count):
    curve = airtight.subsampled(1.0, q).compose(count)
    for delta in (q * 1e-6, 1e-30, 1e-100):
        lower, upper = curve.bracket(delta=delta)
        assert 0 < upper <= lower * 1.002
        lower, upper = curve.bracket(epsilon=upper)
        assert 0.9 * delta <= lower <= upper <= lower * 1.05


def test_rare_great_records():
    """Few records in a million are seen for certain: no rounding of their ratios may hide that the others are alike."""
    curve = airtight.dp_sgd(1 / 30, 1e-3, 1, adjacency="replace")
    assert curve.advantage() == pytest.approx(1e-3, rel=1e-9) and curve.delta(1e-12) == pytest.approx(1e-3, rel=1e-9)
    faint = airtight.subsampled(1.0, 1e-12, adjacency="replace").bracket(epsilon=0.0)
    assert faint.upper <= faint.lower * (1 + 1e-9)


def test_chances_that_underflow_count():
    """All of 40 records are sampled with probability 1e-400: orders and rho see it."""
    group = airtight.dp_sgd(1.0, 1e-10, 1).group(40)
    assert group.zcdp().upper >= 800 and group.gdp().upper >= 40
    assert airtight.subsampled(1.0, 1e-200).group(2).renyi(1000.0).upper >= 1078


def test_a_group_takes_the_chance_from_weights_of_any_sum():
    one, half = (
        airtight.PrivacyCurve.from_json(
            '[{"constructor": "hidden", "count": 1, "parameters": {"weights": [W, W], "mu": [0.0, 1.0], "opposite": true}}]'
            .replace("W", weight)
        )
        for weight in ("0.2", "0.5")
    )  # fmt: skip
    assert one.group(2).epsilon(1e-6) == pytest.approx(float(half.group(2).epsilon(1e-6)), rel=1e-12)


def test_the_history_of_an_accountant_of_opacus():
    phases = [(1.0, 0.01, 500), (1.2, 0.02, 100)]
    curve = airtight.PrivacyCurve.from_opacus(phases)
    assert curve == airtight.compose([airtight.dp_sgd(*phase) for phase in phases])
    with pytest.raises(airtight.ParameterError, match="history"):
        airtight.PrivacyCurve.from_opacus([(1.0, 0.01)])
    with pytest.raises(airtight.ParameterError, match="sampling_rate = 2"):
        airtight.PrivacyCurve.from_opacus([(1.0, 2.0, 1)])


@pytest.mark.parametrize(
    ("curve", "options", "said"),
    [
        (1.0, {"replacement": True}, "replacement"),
        (1.0, {"replacement": 0}, "replacement"),
        (airtight.laplace(1.0), {"adjacency": "replace"}, "curve"),
        (airtight.gaussian(1.0, unit="device 3"), {"adjacency": "replace"}, "curve"),
        (airtight.gaussian(2.0, unit="one record is replaced"), {}, "curve"),
        (airtight.subsampled(1.0, 0.1, adjacency="replace"), {}, "curve"),  # its mixture with the other law is no dominating pair
        (airtight.subsampled(1.0, 0.1, adjacency="replace"), {"replacement": False, "adjacency": "replace"}, "curve"),
        (airtight.gaussian(1.0, unit="one record is replaced"), {"adjacency": "replace"}, "curve"),
        (1e7, {"adjacency": "replace"}, "mu"),
        (1.0, {"replacement": False, "adjacency": "other"}, "adjacency"),
        (airtight.gaussian(1.0, unit="one record is added or removed"), {"replacement": False}, "curve"),
        (airtight.discrete_pair([0.9, 0.1], [0.5, 0.5]), {"replacement": False, "adjacency": "replace"}, "curve"),
        (airtight.laplace(1.0).compose(2), {"replacement": False}, "curve"),
    ],
)
def test_what_no_pair_is_proved_to_dominate_is_refused(curve, options, said):
    with pytest.raises(airtight.ParameterError, match=said):
        airtight.subsampled(curve, 0.1, **options)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_group_moves_the_sum_by_as_many_sensitivities(count):
    deltas = np.array([1e-9, 1e-5, 1e-2])
    for one, many in (
        (airtight.gaussian(0.3), airtight.gaussian(0.3 * count)),
        (airtight.laplace(0.3), airtight.laplace(0.3 * count)),
        (airtight.discrete_gaussian(4.0, 2), airtight.discrete_gaussian(4.0, 2 * count)),
        (airtight.discrete_laplace(4.0, 2), airtight.discrete_laplace(4.0, 2 * count)),
    ):
        assert np.allclose(one.group(count).epsilon(deltas), many.epsilon(deltas), rtol=1e-9)
        assert np.all(one.group(count).bracket(delta=deltas).lower <= many.epsilon(deltas))


def test_a_group_in_a_poisson_sample_is_counted_by_subsets():
    """Three records: the mixture over the subsets that are drawn, and the sample of one where all are one record."""
    curve, p = airtight.subsampled(0.5, 0.2), [0.512, 0.384, 0.096, 0.008]
    mixture = airtight.mixture_gaussian([0.0, 0.5, 1.0, 1.5], p, 1.0)
    epsilons = np.array([0.0, 0.3, 1.0, 4.0])
    for direction in ("forward", "reverse"):
        ends = [each.delta(epsilons, direction=direction) for each in (curve.group(3), mixture)]
        assert np.allclose(*ends, rtol=1e-9)
    assert np.allclose(curve.group(1).delta(epsilons), curve.delta(epsilons), rtol=1e-9)
    assert curve.advantage() < curve.group(3).advantage() <= 3 * curve.advantage()
    assert curve.compose(10).group(3).epsilon(1e-5) > curve.compose(10).epsilon(1e-5)
    for wrong in (0, 1.5, 1001):
        with pytest.raises(airtight.ParameterError, match="count"):
            curve.group(wrong)
    with pytest.raises(airtight.ParameterError, match="curve"):
        airtight.randomized_response(1.0).group(2)


def test_samples_of_fixed_size_have_no_order_of_neighbours():
    """x may have the law that is impossible for the others: 0.05 at every epsilon. Curves of one order are refused."""
    for pair in (([1, 0], [0.5, 0.5]), ([0.9, 0.1, 0], [0.3, 0.3, 0.4])):
        for adjacency in ("add-remove", "replace"):
            with pytest.raises(airtight.ParameterError, match="both orders"):
                airtight.subsampled(airtight.discrete_pair(*pair), 0.1, replacement=False, adjacency=adjacency)
    assert airtight.subsampled(airtight.discrete_pair([1, 0], [0.5, 0.5]), 0.1).delta(0.0) > 0


def test_a_group_in_a_sample_of_fixed_size_is_refused():
    """Two of N records are hit with 1 - (N-m)(N-m-1)/(N(N-1)), which is above 1 - (1-p)^2."""
    curve = airtight.subsampled(100.0, 0.5, replacement=False)
    assert airtight.PrivacyCurve.from_json(curve.to_json()) == curve != airtight.subsampled(100.0, 0.5)
    for each in (curve, airtight.PrivacyCurve.from_json(curve.to_json())):
        with pytest.raises(airtight.ParameterError, match="Poisson"):
            each.group(2)
    assert airtight.subsampled(100.0, 0.5).group(2).delta(0.0) == pytest.approx(0.75)
