"""Aggregation with dropout against every set of those who stay, every outcome and every choice of updates."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import airtight
from airtight.analytics.distributions.poisson_binomial import Block, binomial
from airtight.analytics.federated.corbin import aggregation, central_privacy, dropout, dropout_survivors
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.privacy.accounting.coarse_graining import Merged, mixture
from airtight.analytics.privacy.accounting.connect_the_dots import Majorant


def coin(plus):
    return np.array([1 - plus, plus])


def noise_of(parts):
    law = np.ones(1)
    for part in parts:
        law = np.convolve(law, part)
    return law


def rounds_of(system, kind, parameters):
    """Both laws of all that is seen in a round, one entry for each choice of all updates: ends, for pairs also even levels."""
    low, high, _ = central_privacy.interval(system.epsilon)
    p, bits = system.dropout, system.shared_bits
    even = math.ceil(low * 2**bits) / 2**bits
    singles, pairs = system.alone - (kind == "unpaired"), system.pairs - (kind == "paired")
    ends = [low, high] + ([even, 1 - even] if system.pairs else [])
    partners = [low, high, even, 1 - even] if kind == "paired" else [0.0]
    others = [[high] * up + [low] * (singles - up) for up in range(singles + 1)]
    of_pairs = list(itertools.product([(low, high), (even, 1 - even), (high, high)], repeat=pairs))
    stays = list(itertools.product([0, 1], repeat=singles + 2 * pairs + (kind == "paired")))
    found = []
    for first, second in itertools.permutations(ends, 2):
        for partner, alone, both in itertools.product(partners, others, of_pairs):
            one, other = [], []
            for here in stays:
                chance = math.prod(1 - p if x else p for x in here)
                parts = [coin(q) for q, x in zip(alone, here, strict=False) if x]
                for k, (a, b) in enumerate(both):
                    left = here[singles + 2 * k], here[singles + 2 * k + 1]
                    if all(left):
                        parts.append(central_privacy.sum_law(a, 1 - b, bits))
                    elif any(left):
                        parts.append(coin(a if left[0] else b))
                with_partner = kind == "paired" and here[-1]
                laws = [
                    central_privacy.sum_law(q, 1 - partner, bits) if with_partner else coin(q) for q in (first, second)
                ]
                laws = [np.convolve(noise_of(parts), law) for law in laws]
                for seen, law in zip((one, other), laws, strict=True):
                    seen.append(chance * np.array([math.prod(x) for x in itertools.product(law, repeat=parameters)]))
            p_all, q_all = np.concatenate(one), np.concatenate(other)
            possible = p_all + q_all > 0
            found.append((p_all[possible], q_all[possible]))
    return found


def greatest(rounds, count, y):
    """The greatest delta at exp(y) over choices that may depend on what earlier rounds showed."""
    y = np.atleast_1d(y)
    best = np.zeros(y.size)
    for p, q in rounds:
        if count == 1:
            value = np.maximum(p - np.exp(y)[:, None] * q, 0.0).sum(axis=1)
        else:
            sure = q > 0
            with np.errstate(divide="ignore"):
                loss = np.log(p[sure]) - np.log(q[sure])
            left = (y[:, None] - loss)[:, p[sure] > 0]
            rest = greatest(rounds, count - 1, left.ravel()).reshape(left.shape)
            value = rest @ p[sure][p[sure] > 0] + p[~sure].sum()
        best = np.maximum(best, value)
    return best


def assert_holds(system, kind, count, share):
    y = share * system.epsilon * system.parameters * count
    truth = float(greatest(rounds_of(system, kind, system.parameters), count, y)[0])
    low, high = (float(end) for end in airtight.aggregation(system, client=kind).compose(count).bracket(epsilon=y))
    assert low <= truth * (1 + 1e-9) + 1e-14 and truth <= high * (1 + 1e-10) + 1e-15
    return low, truth, high


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 5), st.integers(1, 3), st.floats(0.05, 3.0), st.floats(0.001, 0.99), st.floats(0.0, 1.2),
)  # fmt: skip
def test_alone_against_all_who_may_stay(clients, parameters, local, drop, share):
    """The same updates in all parameters give most here; the upper end is above it, and near."""
    system = airtight.FederatedSystem(
        clients=clients, parameters=parameters, epsilon=local, ldp_fraction=1.0, dropout=drop
    )
    low, truth, high = assert_holds(system, "unpaired", 1, share)
    assert low >= 0.9 * truth - 1e-9 and high <= 1.5 * truth + 1e-2


@settings(max_examples=20, deadline=None)
@given(
    st.integers(2, 4), st.sampled_from([0.0, 0.5]), st.integers(1, 3), st.integers(1, 2),
    st.floats(0.1, 2.0), st.floats(0.01, 0.9), st.floats(0.0, 1.0), st.booleans(),
)  # fmt: skip
def test_pairs_against_all_who_may_stay(clients, fraction, bits, parameters, local, drop, share, paired):
    system = airtight.FederatedSystem(
        clients=clients, parameters=parameters, epsilon=local, ldp_fraction=fraction, shared_bits=bits, dropout=drop
    )
    assert_holds(system, "paired" if system.pairs and (paired or not system.alone) else "unpaired", 1, share)


def helped(own, partner, singles, pairs, drop, bits):
    """What an observer with helpers sees of one parameter: who stays, the shared bits that are told, the sum of the others.

    `partner` is None without one, "helps" or its level; each of `pairs` has two levels, or one and "helps".
    """
    cells = 2**bits

    def given_bits(level):  # the coin of a client whose shared bits are told, for each of their values
        return [coin(min(max(cells * level - z, 0.0), 1.0)) for z in range(cells)]

    seen = []
    for here in itertools.product([0, 1], repeat=len(singles) + 2 * len(pairs) + isinstance(partner, float)):
        parts = [coin(q) for q, x in zip(singles, here, strict=False) if x]
        told = []
        for k, (a, b) in enumerate(pairs):
            left = here[len(singles) + 2 * k : len(singles) + 2 * k + 2]
            if b == "helps":
                told += [given_bits(a)] if left[0] else []
            elif all(left):
                parts.append(central_privacy.sum_law(a, 1 - b, bits))
            elif any(left):
                parts.append(coin(a if left[0] else b))
        if partner == "helps":
            told.append(given_bits(own))
        else:
            with_partner = partner is not None and here[-1]
            parts.append(central_privacy.sum_law(own, 1 - partner, bits) if with_partner else coin(own))
        chance = math.prod(1 - drop if x else drop for x in here) / cells ** len(told)
        seen += [chance * noise_of([*parts, *coins]) for coins in itertools.product(*told)]
    return np.concatenate(seen)


def among_helpers(system, kind):
    """The hidden singles and pairs that any choice of the helpers leaves: numbers of singles, whole and half pairs."""
    singles, pairs = system.alone - (kind == "unpaired"), system.pairs - (kind != "unpaired")
    helpers = system.colluding - (kind == "exposed")
    for of_singles in range(min(singles, helpers) + 1):
        for half in range(pairs + 1):
            rest = helpers - of_singles - half
            if rest >= 0 and rest % 2 == 0 and half + rest // 2 <= pairs:
                yield singles - of_singles, pairs - half - rest // 2, half


@settings(max_examples=15, deadline=None)
@given(
    st.integers(3, 6), st.sampled_from([0.0, 0.3, 0.5]), st.integers(1, 2), st.integers(1, 3), st.floats(0.1, 2.0),
    st.sampled_from([0.0, 0.2, 0.7]), st.floats(0.0, 1.2),
)  # fmt: skip
def test_helpers_against_all_sets_of_them(clients, fraction, bits, colluding, local, drop, share):
    system = airtight.FederatedSystem(
        clients=clients, parameters=1, epsilon=local, ldp_fraction=fraction, shared_bits=bits, dropout=drop,
        colluding=min(colluding, clients - 1),
    )  # fmt: skip
    low, high, _ = central_privacy.interval(local)
    even, y = math.ceil(low * 2**bits) / 2**bits, share * local
    levels = [low, even, 1 - even, high]
    for kind in dropout_survivors.kinds(system):
        truth = 0.0
        for singles, whole, half in set(among_helpers(system, kind)):
            partners = {"unpaired": [None], "paired": levels, "exposed": ["helps"]}[kind]
            for partner, up, level in itertools.product(partners, range(singles + 1), (even, high)):
                alone = [high] * up + [low] * (singles - up)
                both = [(even, 1 - even)] * whole + [(level, "helps")] * half
                one, other = (helped(q, partner, alone, both, drop, bits) for q in (low, high))
                truth = max(truth, *(np.maximum(p - np.exp(y) * q, 0).sum() for p, q in ((one, other), (other, one))))
        below, above = (float(end) for end in airtight.aggregation(system, client=kind).bracket(epsilon=y))
        assert below <= truth * (1 + 1e-9) + 1e-14 and truth <= above * (1 + 1e-10) + 1e-15, kind


@pytest.mark.parametrize(
    ("others", "exposed", "paired", "alone"),
    [(5, 0.125705, 0.0989006, 0.0600653), (20, 0.0309453, 0.0122841, 0.00375459), (100, 0.00113883, 2.46319e-5, 5.34275e-7)],
)
def test_helpers_of_the_theory(others, exposed, paired, alone):
    """Theorem 9b of docs/colluders.md, for infinitely many shared bits, at epsilon .5."""
    for client, delta in (("exposed", exposed), ("paired", paired), ("unpaired", alone)):
        curve = central_privacy.one_parameter(others, epsilon=1.0, client=client)
        assert float(curve.delta(0.5)) == pytest.approx(delta, rel=5e-6)


def test_a_curve_ends_where_no_loss_is_finite():
    """The sketch of the losses, which only divides the counts into classes, has no finite number there."""
    system = airtight.FederatedSystem(
        clients=24, parameters=1, epsilon=700.0, ldp_fraction=0.3, shared_bits=60, dropout=0.6, delta=1e-5
    )
    assert [float(end) for end in airtight.aggregation(system).bracket(epsilon=0.1)] == [0.0, 1.0]


def test_more_helpers_and_no_helpers():
    common = {"clients": 40, "parameters": 1, "epsilon": 1.0, "ldp_fraction": 0.5, "dropout": 0.1}
    curves = [airtight.aggregation(airtight.FederatedSystem(**common, colluding=m)) for m in (0, 1, 2, 5, 39)]
    deltas = [float(curve.delta(0.5)) for curve in curves]
    assert deltas == sorted(deltas) and deltas[-1] == pytest.approx(math.tanh(0.5), rel=1e-9)
    for wrong in (40, -1, 1.5):
        with pytest.raises(airtight.ParameterError, match="colluding"):
            airtight.FederatedSystem(**common, colluding=wrong)


@pytest.mark.parametrize(("bits", "drop"), [(1, 0.3), (2, 0.999), (5, 0.01)])
@pytest.mark.parametrize("client", ["paired", "either"])
def test_what_is_impossible_for_the_neighbour(bits, drop, client):
    """Likely here, whoever stays, and seen at every epsilon."""
    system = airtight.FederatedSystem(clients=2, parameters=3, epsilon=4.5, shared_bits=bits, dropout=drop)
    told = dropout_survivors.probability_of_impossible(
        2, 3, client=Client.PAIRED, epsilon=4.5, dropout=drop, independent=0.0, bits=bits
    )  # fmt: skip
    curve = airtight.aggregation(system, client=client)
    for y in (0.5, 14.0, math.inf):
        assert float(curve.delta(y)) >= told * (1 - 1e-12) > 0
    truth = max(float(p[q == 0].sum()) for p, q in rounds_of(system, "paired", 3))
    assert told == pytest.approx(truth, rel=1e-9)
    assert dropout.central_epsilon(2, 3, epsilon=4.5, delta=told * 0.99, dropout=drop, bits=bits) == math.inf


@pytest.mark.parametrize(("clients", "fraction", "count"), [(2, 1.0, 3), (3, 1.0, 2), (2, 0.0, 2)])
@pytest.mark.parametrize(("local", "drop", "share"), [(1.0, 0.2, 0.3), (0.3, 0.5, 0.6), (2.0, 0.05, 0.1)])
def test_rounds_chosen_knowing_those_before(clients, fraction, count, local, drop, share):
    system = airtight.FederatedSystem(
        clients=clients, parameters=1, epsilon=local, ldp_fraction=fraction, shared_bits=2, dropout=drop
    )
    low, truth, high = assert_holds(system, "unpaired" if system.alone else "paired", count, share)
    assert low >= 0.8 * truth and high <= 1.2 * truth  # one choice throughout, and any


def test_counts_that_are_told_are_paid_for(monkeypatch):
    monkeypatch.setattr(dropout_survivors, "_MISSED", 0.9)
    system = airtight.FederatedSystem(clients=5, parameters=1, epsilon=1.0, ldp_fraction=1.0, dropout=0.3)
    found = dropout_survivors.curve(
        5, 1, client=Client.UNPAIRED, epsilon=1.0, dropout=0.3, independent=1.0, bits=None, delta=0.5
    )  # fmt: skip
    for y in (0.1, 0.5, 0.9):
        assert found.delta_bracket(np.array([y]))[1][0] >= greatest(rounds_of(system, "unpaired", 1), 1, y)[0]


def test_what_is_trimmed_is_not_looked_at():
    high = 0.7
    choice = aggregation._Choice(((1.0, coin(high), coin(1 - high)),), 300, 0, 0, 1 - high)
    whole, some = (choice.parameter(0, 300, 0, negligible) for negligible in (1e-200, 1e-4))
    for y in (0.0, 0.1, 0.3, 0.5):
        most, least = (np.maximum(one.p - np.exp(y) * one.q, 0).sum() for one in (whole, some))
        assert least <= most * (1 + 1e-12)
    assert some.p.sum() < 1 and some.only == (0.0, 0.0)


@pytest.mark.parametrize(("singles", "pairs", "drop", "most"), [(0, 40, 0.5, 3), (30, 20, 0.3, 4), (25, 0, 0.2, 5)])
def test_who_stays_is_raised_to_the_classes(monkeypatch, singles, pairs, drop, most):
    """For each class of one end: the probability that the other is at most so great, against the exact one."""
    monkeypatch.setattr(aggregation, "_BOTH_ENDS", most)
    monkeypatch.setattr(aggregation, "_ONE_END", most)
    choice = aggregation._Choice(((1.0, coin(0.7), coin(0.3)),), singles, 0, pairs, 0.3)
    system = airtight.FederatedSystem(clients=2, parameters=1, epsilon=1.0, dropout=drop)
    found = list(aggregation._survivor_classes(choice, system, 1, 1e-3))
    assert sum(share for share, _, _ in found) == pytest.approx(1.0)
    one = drop * (1 - drop)
    fewer = stats.binom(pairs, one)
    swapped = [(share, *((upper, lower) if singles else (lower, upper))) for share, upper, lower in found]
    tops = sorted({here for _, _, here in swapped})
    for below, here in zip([-1, *tops], tops, strict=False):
        cells = sorted((there, share) for share, there, each in swapped if each == here)
        for there, _ in cells:
            told = sum(share for at, share in cells if at <= there)
            truth = sum(
                fewer.pmf(d)
                * np.sum(
                    np.convolve(
                        stats.binom.pmf(np.arange(singles + 1), singles, 1 - drop),
                        stats.binom.pmf(np.arange(pairs - d + 1), pairs - d, one / (1 - one)),
                    )[: there + 1]
                )
                for d in range(below + 1, here + 1)
            )
            assert told <= truth * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("clients", "drop", "local"), [(300, 0.0, 1.0), (300, 0.0, 0.3), (80, 0.2, 1.0), (40, 0.5, 0.5)]
)
def test_deep_tails_in_forty_digits(clients, drop, local):
    """All others at the upper end: a choice that may not exceed the upper end, and that the lower end is made from."""
    system = airtight.FederatedSystem(clients=clients, parameters=1, epsilon=local, ldp_fraction=1.0, dropout=drop)
    curve = airtight.aggregation(system)
    with mp.workdps(40):
        high = 1 / (1 + mp.exp(-mp.mpf(local)))
        for share in (0.3, 0.9):
            factor, truth = mp.exp(mp.mpf(share * local)), [mp.mpf(0), mp.mpf(0)]
            for n in range(clients):
                weight = mp.binomial(clients - 1, n) * (1 - mp.mpf(drop)) ** n * mp.mpf(drop) ** (clients - 1 - n)
                if weight == 0:
                    continue
                law = [mp.binomial(n, s) * high**s * (1 - high) ** (n - s) for s in range(n + 1)]
                before, after = [mp.mpf(0), *law], [*law, mp.mpf(0)]
                for order, (up, down) in enumerate(((high, 1 - high), (1 - high, high))):
                    excess = (
                        up * a + down * b - factor * (down * a + up * b) for a, b in zip(before, after, strict=True)
                    )
                    truth[order] += weight * sum(max(x, mp.mpf(0)) for x in excess)
            least, most = (float(end) for end in curve.bracket(epsilon=share * local))
            assert least <= max(truth) * (1 + 1e-9) and max(truth) <= most * (1 + 1e-12)
            assert least >= 0.85 * max(truth)


@pytest.mark.parametrize(
    ("clients", "drop", "parameters", "count", "width"),
    [(30, 0.05, 10, 1, 3e-3), (30, 0.5, 10, 20, 2.5e-2), (1000, 0.2, 10, 1, 5e-3), (1000, 0.2, 10, 20, 1e-2)],
)
def test_ends_are_near(clients, drop, parameters, count, width):
    system = airtight.FederatedSystem(
        clients=clients, parameters=parameters, epsilon=1.0, ldp_fraction=1.0, dropout=drop
    )
    low, high = airtight.aggregation(system).compose(count).bracket(delta=1e-5)
    assert (1 - width) * high < low <= high


def test_either_is_the_worse_kind():
    system = airtight.FederatedSystem(clients=12, parameters=3, epsilon=0.5, ldp_fraction=0.5, dropout=0.3)
    found = {
        kind: float(airtight.aggregation(system, client=kind).compose(2).epsilon(1e-2))
        for kind in ("either", "paired", "unpaired")
    }
    assert max(found["paired"], found["unpaired"]) <= found["either"] * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 300), st.floats(0.01, 0.99), st.floats(0.0, 0.2), st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_classes_cover_every_count_once(trials, chance, missed, seed, most):
    law = binomial(trials, chance)
    loss = np.sort(np.random.default_rng(seed).exponential(100.0, law.weights.size))[::-1]
    few, found = dropout_survivors.least_of_classes(law, loss, missed=missed)
    dense = law.dense(trials + 1)
    starts = [n for _, n in found]
    assert few <= missed and starts == sorted(set(starts))
    assert few == pytest.approx(dense[: starts[0]].sum(), abs=1e-15)
    for (share, start), end in zip(found, [*starts[1:], trials + 1], strict=True):
        assert share == pytest.approx(dense[start:end].sum(), rel=1e-12)
    above = dropout_survivors.greatest_of_classes(law, loss, most=most)
    assert len(above) <= most and above[0][2] == law.start + law.weights.size - 1
    for share, least, most_of_it in above:
        assert share == pytest.approx(dense[least : most_of_it + 1].sum(), rel=1e-12)
    assert sum(share for share, _, _ in above) == pytest.approx(1.0)
    assert all(before[1] == after[2] + 1 for before, after in itertools.pairwise(above))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=4), st.integers(1, 5),
       st.floats(0.01, 30.0))  # fmt: skip
def test_merged_tells_no_more(rows, count, tilt):
    p, q = (np.array(side) + 1e-3 * (np.array(side) > 0.1) for side in zip(*rows, strict=True))
    p, q = (np.where(side < 1e-2, 0.0, side) for side in (p, q))
    if p.sum() == 0 or q.sum() == 0 or not np.any((p > 0) & (q > 0)):
        return
    p, q = p / p.sum(), q / q.sum()
    found = mixture([(1.0, Merged.of(p, q, 0.0).power(count, tilt))], tilt)
    whole = [np.array([math.prod(x) for x in itertools.product(law, repeat=count)]) for law in (p, q)]
    assert found.only == pytest.approx((whole[0][whole[1] == 0].sum(), whole[1][whole[0] == 0].sum()), abs=1e-13)
    for y in np.linspace(-3, 3, 13):
        truth = np.maximum(whole[0] - np.exp(y) * whole[1], 0).sum()
        mine = np.maximum(found.p - np.exp(y) * found.q, 0).sum() + found.only[0]
        assert mine <= truth * (1 + 1e-9) + 1e-13
        assert mine >= truth - 0.02


def test_many_merged_lose_little():
    p, q = np.array([0.3, 0.5, 0.2]), np.array([0.2, 0.5, 0.3])
    for count, delta, tilt in ((1000, 1e-5, 1.0), (1001, 1e-60, 4.0)):
        found = Merged.of(p, q, 0.0).power(count, tilt)
        told = airtight.discrete_pair(found.p / found.p.sum(), found.q / found.q.sum())
        least, most = airtight.discrete_pair(p, q).compose(count).bracket(delta=delta)
        assert 0.999 * least < float(told.bracket(delta=delta)[0]) <= most


def test_worst_of_curves_is_above_all():
    eps = np.linspace(0.0, 5.0, 11)
    curves = [Majorant(eps * s, np.asarray(airtight.gaussian(mu).delta(eps * s))) for mu, s in ((1.0, 1.0), (1.5, 0.7))]
    at = np.linspace(0.0, 3.5, 50)
    found = dropout_survivors.worst(curves).delta_bracket(at)[1]
    assert all(np.all(found >= one.delta_bracket(at)[1] * (1 - 1e-12)) for one in curves)


def test_one_client_and_nobody_else():
    system = airtight.FederatedSystem(clients=1, parameters=2, epsilon=0.7, dropout=0.4)
    low, high = airtight.aggregation(system).compose(3).bracket(delta=0.0)
    assert low <= 0.7 * 6 * (1 + 1e-12) and high == pytest.approx(0.7 * 6, rel=1e-12)
    assert dropout_survivors.laws(1, dropout=0.4)[Client.UNPAIRED][0][2].dense(1).tolist() == [1.0]
    assert isinstance(dropout_survivors.laws(2, dropout=0.4)[Client.PAIRED][0][2], Block)


@pytest.mark.parametrize(("p", "q"), [([0, 1e-150, 1.0], [1.0, 1e-150, 0]), ([0, 1.0], [1.0, 0])])
def test_powers_of_laws_whose_common_outcomes_vanish(p: list[float], q: list[float]) -> None:
    for count in (2, 3, 7):
        power = Merged.of(np.array(p), np.array(q), 0.0).power(count, 1.0)
        assert power.p.size == power.q.size == 0 and power.only == (1.0, 1.0)
