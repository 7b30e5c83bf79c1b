"""Central privacy of (Aug)CorBin-FL: exact laws against enumeration, worst cases against search, peers, the ledger."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions.poisson_binomial import binomial
from airtight.analytics.federated.corbin import central_privacy, corner_updates, quantizers
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.count_shift import dominating
from airtight.analytics.privacy.accounting import loss_distribution

UNIT = st.floats(0, 1)


def count_law(probabilities):
    law = np.ones(1)
    for q in probabilities:
        law = np.convolve(law, [1 - q, q])
    return law


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def ends(epsilon):
    return 1 / (1 + math.exp(epsilon)), 1 / (1 + math.exp(-epsilon))


@given(st.lists(UNIT, min_size=0, max_size=5), UNIT, UNIT, st.floats(0.05, 5), UNIT)
def test_no_updates_are_worse_than_the_corners(others, mine, neighbour, local, share):
    low, high = ends(local)
    noise = count_law([low + (high - low) * t for t in others])
    p, q = (np.convolve(noise, count_law([low + (high - low) * t])) for t in (mine, neighbour))
    bound = central_privacy.one_parameter(len(others), epsilon=local, client="unpaired")
    assert hockey_stick(p, q, share * local) <= float(bound.delta(share * local)) + 1e-14


@given(st.integers(0, 6), st.floats(0.05, 5), UNIT)
def test_corners_are_attained(others, local, share):
    low, high = ends(local)
    exact = max(
        hockey_stick(
            count_law([high] * j + [low] * (others - j) + [high]),
            count_law([high] * j + [low] * (others - j) + [low]),
            share * local,
        )
        for j in range(others + 1)
    )
    bound = float(central_privacy.one_parameter(others, epsilon=local, client="unpaired").delta(share * local))
    assert exact <= bound <= exact * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 5, 8, None])
@pytest.mark.parametrize("others", [0, 3])
def test_pairs_by_dense_search(bits, others):
    """All inputs of the pair on a fine grid that contains ends, center and cell borders; all corners of the others."""
    local = 1.0
    low, high = ends(local)
    alpha = float(quantizers.alpha(local))
    borders = [] if bits is None else [alpha * (2 * k / 2**bits - 1) for k in range(2**bits + 1)]
    grid = np.unique([*np.linspace(-1, 1, 9), *(b for b in borders if abs(b) <= 1)])
    if grid.size > 30:
        grid = np.unique([*grid[:4], *grid[-4:], 0.0, *grid[::8]])
    laws = {}
    for x, y in itertools.product(grid, repeat=2):
        joint = quantizers.pair_law(x, y, epsilon=local, bits=bits)
        laws[x, y] = np.array([joint[0, 0], joint[0, 1] + joint[1, 0], joint[1, 1]])
    bound = central_privacy.one_parameter(others, epsilon=local, client=Client.PAIRED, bits=bits)
    for epsilon in (0.0, 0.2, 0.7):
        worst = 0.0
        for j in range(others + 1):
            noise = count_law([high] * j + [low] * (others - j))
            spread = {key: np.convolve(noise, law) for key, law in laws.items()}
            for y in grid:
                rows = np.stack([spread[x, y] for x in grid])
                worst = max(worst, float(np.maximum(rows[:, None] - math.exp(epsilon) * rows, 0).sum(-1).max()))
        found = float(bound.delta(epsilon))
        assert worst <= found + 1e-13
        assert found <= worst * (1 + 1e-9) + 1e-13, "the listed corners are attained on the grid"


def test_numbers_of_the_ledger():
    """The ledger took all others at the upper end; the worst corner is one away at some epsilon, and slightly worse."""
    small = central_privacy.one_parameter(99, epsilon=1.0, client="unpaired")
    assert 1.0773e-2 <= float(small.delta(0.1)) <= 1.0830e-2
    assert float(small.delta(0.5)) == pytest.approx(5.655e-7, rel=1e-3)
    large = central_privacy.one_parameter(999, epsilon=1.0, client="unpaired")
    assert 1.0247e-3 <= float(large.delta(0.05)) <= 1.0260e-3
    assert float(large.delta(0.1)) == pytest.approx(1.7097e-5, rel=1e-4)


@pytest.mark.parametrize(
    "n, local, printed, exact, true_delta",
    [(41000, 5.0, 0.05017, 0.20968, 7.155e-3), (111000, 6.0, 0.02658, 0.21121, 1.338e-2)],
)
def test_equation_five(n, local, printed, exact, true_delta):
    claim = central_privacy.published(
        n, 1, local_epsilon=local, delta=1e-5, fraction=1.0, radius=1 / float(quantizers.alpha(local))
    )
    assert claim.condition and claim.epsilon == pytest.approx(printed, abs=5e-6)
    found = central_privacy.one_parameter(n - 1, epsilon=local, client="unpaired")
    assert exact * (1 - 1e-4) <= float(found.epsilon(1e-5)) <= exact * (1 + 2e-2)
    assert true_delta * (1 - 1e-3) <= float(found.delta(claim.epsilon)) <= true_delta * (1 + 3e-2)


def test_equation_five_is_a_length():
    one, tiny = (
        central_privacy.published(10**6, 1, local_epsilon=1.0, delta=1e-5, fraction=0.2, radius=r).epsilon
        for r in (1.0, 1e-6)
    )
    assert one == pytest.approx(0.049, abs=5e-4) and tiny == pytest.approx(1e-6 * one)


def test_conditions_of_theorem_three():
    claim = central_privacy.published(50, 1, local_epsilon=1.0, delta=1e-5, fraction=0.2)
    assert not claim.condition and math.isnan(claim.epsilon) and claim.value > 0
    assert math.isnan(central_privacy.published(50, 1, local_epsilon=1.0, delta=1e-5, fraction=0.02).value)


@given(st.integers(0, 300), st.floats(0.05, 5), st.floats(1e-12, 0.5), st.sampled_from(["unpaired", "paired"]))
def test_monotone_and_inverse(others, local, delta, client):
    more = central_privacy.one_parameter(others + 1, epsilon=local, client=client)
    fewer = central_privacy.one_parameter(others, epsilon=local, client=client)
    epsilon = float(fewer.epsilon(delta))
    assert float(more.epsilon(delta)) <= epsilon * (1 + 1e-9) + 1e-12
    if client == "unpaired":
        assert epsilon <= local * (1 + 1e-9)
    if math.isfinite(epsilon):
        assert float(fewer.delta(epsilon)) <= delta * (1 + 1e-6)


def test_ranges_of_corners_are_close_to_every_corner(monkeypatch):
    exact = float(central_privacy.one_parameter(1500, epsilon=1.0, client="unpaired").epsilon(1e-5))
    monkeypatch.setattr(corner_updates, "_EVERY_CORNER", 100)
    ranged = float(central_privacy.one_parameter(1500, epsilon=1.0, client="unpaired").epsilon(1e-5))
    assert exact * (1 - 1e-12) <= ranged <= exact * 1.002


def test_tiny_delta_and_epsilon():
    found = central_privacy.one_parameter(2000, epsilon=1.0, client="unpaired", delta=1e-300)
    epsilon = float(found.epsilon(1e-300))
    assert 0.9 < epsilon <= 1.0 + 1e-9
    assert float(central_privacy.one_parameter(50, epsilon=1e-9, client="unpaired").epsilon(1e-5)) <= 1e-9 * (1 + 1e-6)
    assert float(central_privacy.one_parameter(5, epsilon=700.0, client="unpaired").epsilon(1e-5)) <= 700.0 * (1 + 1e-9)


def test_a_whole_update_against_every_combination():
    """Two other clients, two parameters: all 36 combinations of corners."""
    low, high = ends(1.0)
    pairs = []
    for j in range(3):
        rest = [high] * j + [low] * (2 - j)
        up, down = count_law([high, *rest]), count_law([low, *rest])
        pairs += [(up, down), (down, up)]
    for delta in (1e-3, 1e-2, 0.1):
        epsilon = central_privacy.update_epsilon(2, 2, epsilon=1.0, client="unpaired", delta=delta)
        worst = max(
            hockey_stick(np.outer(p, s).ravel(), np.outer(q, t).ravel(), epsilon)
            for (p, q), (s, t) in itertools.product(pairs, repeat=2)
        )
        assert worst <= delta
        assert worst >= delta * 0.6, "one curve for all corners costs something among so few"


def test_updates_against_dp_accounting():
    """The same corner in every parameter is a lower bound that a peer can compute."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    low, high = ends(1.0)
    noise = count_law([high] * 99)
    p, q = np.convolve(noise, [low, high]), np.convolve(noise, [high, low])
    kept = (p > 1e-30) & (q > 1e-30)
    logs = [{i: math.log(v) for i, v in enumerate(law[kept])} for law in (q, p)]  # lower, upper
    theirs = pld.from_two_probability_mass_functions(*logs, value_discretization_interval=1e-5).self_compose(100)
    peer = theirs.get_epsilon_for_delta(1e-5)
    same = float(loss_distribution.of_pair(p, q, step=1e-5).epsilon(1e-5, count=100))
    assert same <= peer <= same * (1 + 2e-4), "theirs rounds every loss up"
    ours = central_privacy.update_epsilon(99, 100, epsilon=1.0, client="unpaired", delta=1e-5)
    assert same * (1 - 1e-3) <= ours <= same * 1.03


def test_updates_never_exceed_the_pure_bound_and_grow():
    values = [central_privacy.update_epsilon(30, m, epsilon=0.5, client="unpaired", delta=1e-5) for m in (1, 2, 5, 20)]
    assert values == sorted(values) and all(
        v <= 0.5 * m * (1 + 1e-12) for v, m in zip(values, (1, 2, 5, 20), strict=True)
    )
    rounds = central_privacy.update_epsilon(30, 4, epsilon=0.5, client="unpaired", delta=1e-5, rounds=5)
    assert rounds == pytest.approx(values[3], rel=1e-6)


@pytest.mark.parametrize("local, delta, parameters", [(1e-9, 1e-300, 10**7), (1e-9, 0.5, 109_386), (700.0, 1e-5, 1000)])
@pytest.mark.parametrize("client", ["unpaired", "paired"])
def test_extremes_of_an_update(local, delta, parameters, client):
    """Losses of very different sizes: answered in bounded memory, infinite at worst."""
    found = central_privacy.update_epsilon(50, parameters, epsilon=local, client=client, delta=delta)
    assert found >= 0 and not math.isnan(found)
    if client == "unpaired":
        assert found <= local * parameters


def test_pairs_have_no_guarantee_among_few():
    assert float(central_privacy.one_parameter(9, epsilon=1.0, client="paired").epsilon(1e-5)) == math.inf
    assert float(central_privacy.one_parameter(0, epsilon=1.0, client="paired").delta(10.0)) == pytest.approx(
        math.tanh(0.5)
    )
    assert central_privacy.update_epsilon(9, 100, epsilon=1.0, client="paired", delta=1e-5) == math.inf
    assert math.isfinite(central_privacy.update_epsilon(999, 100, epsilon=1.0, client="paired", delta=1e-5))


@given(st.floats(0.01, 1.9), st.integers(1, 50), st.floats(0.2, 3))
def test_sample_level(move, others, local):
    one = central_privacy.sample_level_epsilon(others, 1, local=local, move=move, delta=1e-3)
    exact = central_privacy.one_parameter(others, epsilon=local, client="unpaired", move=move, delta=1e-3)
    assert one <= float(exact.epsilon(1e-3)) * (1 + 1e-12)
    low, high = ends(local)
    gap = move / 2 * (high - low)
    for j in range(others + 1):
        rest = [high] * j + [low] * (others - j)
        for top in (high, low + gap):
            p, q = count_law([*rest, top]), count_law([*rest, top - gap])
            assert max(hockey_stick(p, q, one), hockey_stick(q, p, one)) <= 1e-3 * (1 + 1e-9)


def test_sample_level_of_an_update():
    """Moves of one parameter only, of all alike, and in between, composed exactly, stay below the bound."""
    others, m, move, delta = 40, 8, 0.8, 1e-4
    bound = central_privacy.sample_level_epsilon(others, m, local=1.0, move=move, delta=delta)
    low, high = ends(1.0)
    for touched in (1, 2, 4, 8):
        gap = move / math.sqrt(touched) / 2 * (high - low)
        noise = count_law([high] * others)
        p, q = np.convolve(noise, [1 - high, high]), np.convolve(noise, [1 - high + gap, high - gap])
        for one, other in ((p, q), (q, p)):
            assert float(loss_distribution.of_pair(one, other, step=1e-5).epsilon(delta, count=touched)) <= bound
    assert bound < central_privacy.update_epsilon(others, m, epsilon=1.0, client="unpaired", delta=delta)


@pytest.mark.parametrize("others, rounds, move", [(3000, 10, 0.3), (20_000, 50, 0.5)])
def test_sample_level_is_as_good_as_renyi(others, rounds, move):
    """One parameter over several rounds: the least over orders that exact Renyi divergences allow, not undercut, nearly met."""
    delta, orders = 1e-4, np.concatenate([np.linspace(2, 10, 17), np.geomspace(12, 2000, 40)])
    low, high = ends(1.0)
    gap = move / 2 * (high - low)
    converted = []
    for a in orders:
        worst = 0.0
        for base, moved in ((low, low + gap), (high, high - gap)):
            for end in (low, high):
                rest = stats.binom(others, end).pmf(np.arange(others + 1))
                p, q = np.convolve(rest, [1 - moved, moved]), np.convolve(rest, [1 - base, base])
                kept = (p > 1e-280) & (q > 1e-280)
                exponent = a * np.log(p[kept]) + (1 - a) * np.log(q[kept])
                worst = max(worst, float(np.logaddexp.reduce(exponent)) / (a - 1))
        converted.append(rounds * worst + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1))
    bound = central_privacy.sample_level_epsilon(others, 1, local=1.0, move=move, delta=delta, rounds=rounds)
    assert bound < central_privacy.update_epsilon(others, 1, epsilon=1.0, client="unpaired", delta=delta, rounds=rounds)
    assert min(converted) * (1 - 1e-9) <= bound <= min(converted) * 1.2


@given(UNIT, UNIT, UNIT, st.floats(0.05, 5), st.one_of(st.none(), st.integers(0, 8)), st.floats(0, 5))
def test_the_server_learns_at_most_one_over_alpha(x, y, partner, local, bits, epsilon):
    p, q = (quantizers.pair_law(2 * v - 1, 2 * partner - 1, epsilon=local, bits=bits).ravel() for v in (x, y))
    assert hockey_stick(p, q, epsilon) <= float(central_privacy.server_delta(epsilon, local=local)) + 1e-12
    p, q = (quantizers.pair_law(v, 1.0, epsilon=local, bits=None).ravel() for v in (1.0, -1.0))
    assert hockey_stick(p, q, epsilon) == pytest.approx(math.tanh(local / 2), abs=1e-12)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: central_privacy.one_parameter(-1, epsilon=1.0, client="paired"), "others"),
        (lambda: central_privacy.one_parameter(3, epsilon=0.0, client="paired"), "epsilon"),
        (lambda: central_privacy.one_parameter(3, epsilon=1.0, client="alone"), "client"),
        (lambda: central_privacy.one_parameter(3, epsilon=1.0, client="paired", bits=-1), "bits"),
        (lambda: central_privacy.one_parameter(3, epsilon=1.0, client="paired", move=3.0), "move"),
        (lambda: central_privacy.update_epsilon(3, 0, epsilon=1.0, client="paired", delta=0.1), "parameters"),
        (lambda: central_privacy.update_epsilon(3, 1, epsilon=1.0, client="paired", delta=1.0), "delta"),
        (lambda: central_privacy.published(3, 1, local_epsilon=1.0, delta=0.1, fraction=1.1), "fraction"),
        (lambda: central_privacy.server_delta(-1.0, local=1.0), "epsilon"),
        (lambda: central_privacy.sample_level_epsilon(3, 1, local=1.0, move=0.0, delta=0.1), "move"),
    ],
)
def test_bad_input(call, name):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.name == name


def one_corner(others, parameters, *, epsilon, client, delta):
    """What the same corner in every parameter leaks, to 1e-3: outcomes by scipy, on a grid of its own."""
    low, high = ends(epsilon)
    spread = 12 * math.sqrt(others * low * high) + 40
    start, stop = max(int(others * high - spread), 0), min(int(others * high + spread), others)
    noise = stats.binom.pmf(np.arange(start, stop + 1), others, high)
    gap = high - low
    p, q = {"unpaired": ([low, high], [high, low]), "paired": ([0, 1 - gap, gap], [0, 1, 0])}[client]
    found = 0.0
    for one, other in ((p, q), (q, p)):
        a, b = np.convolve(noise / noise.sum(), one), np.convolve(noise / noise.sum(), other)
        kept = a > 1e-17 / parameters
        a, b = np.minimum(a[kept], 1.0), np.minimum(b[kept], 1.0)
        loss = np.log(a[b > 0] / b[b > 0])
        step = math.sqrt(a[b > 0] @ (loss - a[b > 0] @ loss) ** 2) / 64
        found = max(found, float(loss_distribution.of_pair(a, b, step=step).epsilon(delta, count=parameters)))
    return found


@pytest.mark.parametrize(
    "others, parameters, value",
    [(99_999, 10**6, 18.92), (10**5, 10**6, 18.92), (10**6, 10**6, 4.614), (3 * 10**6, 10**6, 2.463)],
)
def test_many_clients(others, parameters, value):
    """The corner of equal clients, composed alone, has 18.85, 18.85, 4.592 and 2.453."""
    found = central_privacy.update_epsilon(others, parameters, epsilon=1.0, client="unpaired", delta=1e-5)
    assert found == pytest.approx(value, rel=5e-4)


@pytest.mark.parametrize("client", ["unpaired", "paired"])
@pytest.mark.parametrize("local", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(
    "others, parameters",
    [(9, 1000), (99, 10), (99, 1000), (999, 1000), (19_999, 10**6), (99_999, 1000), (10**6, 10**6)],
)
def test_within_two_percent_of_one_corner(others, parameters, local, client):
    found = central_privacy.update_epsilon(others, parameters, epsilon=local, client=client, delta=1e-5)
    if math.isinf(found):  # some outcomes of a pair are impossible under the neighbour
        low = ends(local)[0]
        assert client == "paired" and parameters * math.tanh(local / 2) * (1 - low) ** others > 1e-5
        return
    below = one_corner(others, parameters, epsilon=local, client=client, delta=1e-5)
    assert below * (1 - 1e-3) <= found <= below * 1.02


ARGUMENTS = {
    "others": st.sampled_from([0, 1, 5, 8, 22, 32, 99, 200, 999, 1000, 1001, 1006, 1007, 3000, 50_000, 10**6]),
    "parameters": st.sampled_from([1, 2, 7, 255, 256, 257, 5738, 10**5]),
    "local": st.floats(0.01, 6),
    "client": st.sampled_from(["unpaired", "paired"]),
    "delta": st.sampled_from([1e-12, 1e-5, 1e-2]),
}


@settings(max_examples=8)
@given(
    **ARGUMENTS, more=st.sampled_from([(1, 0, 0.0), (0, 1, 0.0), (0, 0, 0.01), (50, 0, 0.0), (0, 9, 0.0), (0, 0, 0.5)])
)
def test_falls_with_clients_and_rises_with_the_rest(others, parameters, local, client, delta, more):
    common = {"client": client, "delta": delta}
    here = central_privacy.update_epsilon(others, parameters, epsilon=local, **common)
    clients, coordinates, factor = more
    there = central_privacy.update_epsilon(
        others + clients, parameters + coordinates, epsilon=local * (1 + factor), **common
    )
    if clients:
        here, there = there, here
    assert here <= there


@given(
    st.integers(0, 3),
    st.integers(1, 4),
    st.floats(-6, 1.5),
    st.floats(0.5, 12),
    st.sampled_from(["unpaired", "paired"]),
)
def test_never_below_any_choice_of_corners(others, parameters, exponent, depth, client):
    """Every parameter with its own corner and order, all outcomes."""
    local, delta = 10.0**exponent, 10.0**-depth
    low, high = ends(local)
    gap = math.tanh(local / 2)
    mine = {"unpaired": ([low, high], [high, low]), "paired": ([0, 1 - gap, gap], [0, 1, 0])}[client]
    pairs = []
    for j in range(others + 1):
        p, q = (np.convolve(count_law([high] * j + [low] * (others - j)), law) for law in mine)
        pairs += [(p, q), (q, p)]
    found = central_privacy.update_epsilon(others, parameters, epsilon=local, client=client, delta=delta)
    if math.isinf(found):
        return
    for chosen in itertools.combinations_with_replacement(range(len(pairs)), parameters):
        p = q = np.ones(1)
        for i in chosen:
            p, q = np.outer(p, pairs[i][0]).ravel(), np.outer(q, pairs[i][1]).ravel()
        assert hockey_stick(p, q, found) <= delta * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("delta", [1e-5, 1e-50, 1e-250])
@pytest.mark.parametrize(
    "others, parameters, local", [(9, 7, 1.0), (50, 3, 0.1), (300, 200, 2.0), (300, 3, 1e-6), (4, 90, 30.0)]
)
def test_deep_tails_in_many_digits(delta, others, parameters, local):
    """One corner in every parameter, composed in 60 digits by the cumulant's upper tail: the bound is not below it."""
    import flint

    with flint.ctx.workprec(1200):
        one = flint.arb(1)
        high = one / (1 + (-flint.arb(local)).exp())
        low = 1 - high
        found = central_privacy.update_epsilon(others, parameters, epsilon=local, client="unpaired", delta=delta)
        law = flint.arb_poly([low, high]) ** others
        p, q = law * flint.arb_poly([low, high]), law * flint.arb_poly([high, low])
        # the event that every parameter's count is at the top k outcomes is one event among many
        most = flint.arb(0)
        tail_p = tail_q = flint.arb(0)
        for s in range(others + 1, -1, -1):
            tail_p, tail_q = tail_p + p[s], tail_q + q[s]
            value = tail_p**parameters - flint.arb(found).exp() * tail_q**parameters
            if value.lower() > most:
                most = flint.arb(value.lower())
        assert most <= flint.arb(delta) * (1 + flint.arb(10) ** -9)


@pytest.mark.parametrize("first, rest, local", [(5000, 5000, 1.0), (9000, 0, 1.0), (0, 40_000, 3.0), (3000, 9000, 0.1)])
def test_gathered_outcomes_dominate(first, rest, local):
    """The curve in either order, from its middle to fourteen deviations, against every outcome."""
    low, high = ends(local)
    law = (binomial(first, high) + binomial(rest, low)).dense(first + rest + 1)
    above, base = np.append(0.0, law), np.append(law, 0.0)
    shift = dominating(first, rest, low, high, negligible=1e-60)
    p, q = shift.above, shift.base
    assert p.size < 800 and p.sum() == pytest.approx(1, abs=1e-12) and q.sum() == pytest.approx(1, abs=1e-12)
    deviation = math.sqrt((first + rest) * low * high)
    for loss in np.array([0, 0.01, 0.5, 2, 5, 9, 14]) / deviation:
        for exact, found in (
            (hockey_stick(above, base, loss), hockey_stick(p, q, loss)),
            (hockey_stick(base, above, loss), hockey_stick(q, p, loss)),
        ):
            assert exact * (1 - 1e-10) <= found <= exact * (1 + 0.1)


def test_a_record_number_of_rounds():
    """The grid becomes coarser of itself; the drift is all that counts."""
    found = central_privacy.sample_level_epsilon(999, 1, local=1.0, move=0.5, delta=1e-5, rounds=10**10)
    assert (
        0
        < found
        < central_privacy.update_epsilon(999, 1, epsilon=1.0, client="unpaired", delta=1e-5, rounds=10**10)
        < 10**10
    )


def test_the_inner_corners_of_a_small_move():
    """The client's own probability may start or end inside: no such corner exceeds the constant of sample-level privacy."""
    local, move, a = 1.0, 0.5, np.array([2.0, 3.5, 10.0])
    low, high = ends(local)
    gap = move / 2 * (high - low)
    constant = central_privacy._renyi_constants(4, local, gap, a)
    for j in range(5):
        noise = count_law([high] * j + [low] * (4 - j))
        for start, end in ((high - gap, high), (low + gap, low), (low, low + gap), (high, high - gap)):
            p, q = count_law_with(noise, end), count_law_with(noise, start)
            moment = np.array([float(np.sum(p**order * q ** (1 - order))) for order in a])
            assert np.all(moment <= 1 + gap**2 * constant)


def count_law_with(noise, q):
    return np.convolve(noise, [1 - q, q])


@pytest.mark.parametrize(
    "others, parameters, local, delta",
    [
        (99, 10**7, 0.1, 1e-5),
        (61, 10**7, 0.05534, 2.4e-11),
        (42, 773_741, 0.1129, 5.58e-3),
        (26, 274_461, 0.02525, 4.46e-3),
        (30, 213_811, 0.01187, 3.43e-5),
        (22, 5738, 0.1649, 3.74e-3),
    ],
)
def test_losses_that_are_rarely_great(others, parameters, local, delta):
    """A pair among few others: the two orders differ in skewness, and choosing between them must not be paid for all along."""
    tracemalloc.start()
    found = central_privacy.update_epsilon(others, parameters, epsilon=local, client="paired", delta=delta)
    assert tracemalloc.get_traced_memory()[1] < 120e6
    tracemalloc.stop()
    below = one_corner(others, parameters, epsilon=local, client="paired", delta=delta)
    assert below * (1 - 1e-3) <= found <= below * 1.016


def test_two_parameters_chosen_one_after_the_other():
    """The second corner by the outcome of the first, which is attained: a few percent more than the same corner twice."""
    others, local, delta = 26, 0.03755, 1.43e-3
    low, high = ends(local)
    gap = high - low
    pairs = []
    for j in range(others + 1):
        noise = count_law([high] * j + [low] * (others - j))
        p, q = np.convolve(noise, [0, 1 - gap, gap]), np.append(np.append(0.0, noise), 0.0)
        pairs += [(p, q), (q, p)]

    def two(epsilon):
        factor = math.exp(epsilon)

        def after(p, q):
            return np.max([np.maximum(np.outer(p, a) - factor * np.outer(q, b), 0).sum(1) for a, b in pairs], axis=0)

        return max(float(np.sum(after(p, q))) for p, q in pairs)

    found = central_privacy.update_epsilon(others, 2, epsilon=local, client="paired", delta=delta)
    assert two(found) <= delta < two(found / 1.003)


def test_nothing_leaks_below_the_deviation():
    """Rounding is taken from delta where epsilon vanishes."""
    assert central_privacy.update_epsilon(10_311, 240, epsilon=0.05406, client="paired", delta=3.31e-3) == 0


def test_rounding_of_losses_is_given_away():
    """True losses exceed those on the grid by the rounding, in each of three releases."""
    short, count = 1e-4, 3
    loss = math.log(3)
    laws = [loss_distribution.of_pair([0.75, 0.25], [0.25, 0.75], step=loss / 8)]
    p, q = np.ones(1), np.ones(1)
    for _ in range(count):
        p, q = (
            np.outer(p, [0.75, 0.25]).ravel(),
            np.outer(q, [0.25 * math.exp(-short), 0.75 * math.exp(-short)]).ravel(),
        )
    for delta in (0.5, 0.2, 1e-2, 2 * short * count, short * count / 2):
        found = central_privacy._composed(laws, delta, count, rounding=short * count)
        assert hockey_stick(p, q, found) <= delta * (1 + 1e-12)
