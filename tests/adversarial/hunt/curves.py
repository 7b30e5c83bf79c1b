"""What is hunted of privacy curves: families, subsampling, unlike releases together, hidden devices, the design's lower bounds.

The judges share nothing with what they judge: laws on outcomes are summed outcome by outcome, Gaussian releases beside
countable ones by conditioning on the countable ones, in balls; on a line a set of intervals is measured by the normal
distribution function, to 30 digits, and every set gives a lower bound whatever its ends are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np
from scipy import optimize

import airtight
from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.few_bits import quantizer_laws
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.over_the_air import feature_aware
from airtight.solvers.design.over_the_air import box_bounds
from hunt import judge

Case = dict[str, Any]
_LEAST = 1e-280  # below it doubles, and so the ends, have no digits left
_DIGITS = 30
_NEAR = 1e-9  # relative, to which an intervals' measure is the divergence
_SPREAD = 45.0  # deviations on either side


def between(truth_low: float, truth_high: float, low: float, high: float, room: float = 0.0) -> float:
    """How far the ends (low, high) are on the wrong side of a truth between two numbers, as a ratio: a violation above 1."""
    if not truth_high > _LEAST:
        return 0.0 if low <= _LEAST else 2.0
    below = truth_low / high if high > 0 else math.inf
    above = low / truth_high
    return float(max(below, above)) / (1 + room)


def _ball_ends(value: Ball) -> tuple[float, float]:
    low, high = float(value.lower()), float(value.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


# Normal mixtures on a line


Mixture = list[tuple[float, float, float]]  # weight, mean, variance


def _measure(mixture: Mixture, edges: Iterable[tuple[float, float]]) -> mpmath.mpf:
    total = mpmath.mpf(0)
    for a, b in edges:
        for weight, mean, variance in mixture:
            root = mpmath.sqrt(variance)
            x, y = (a - mpmath.mpf(mean)) / root, (b - mpmath.mpf(mean)) / root
            part = mpmath.ncdf(-x) - mpmath.ncdf(-y) if x > 0 else mpmath.ncdf(y) - mpmath.ncdf(x)
            total += weight * part
    return total


def _log_density(mixture: Mixture, y: FloatArray) -> FloatArray:
    parts = [math.log(w) - (y - m) ** 2 / (2 * v) - math.log(v) / 2 for w, m, v in mixture if w > 0]
    return np.asarray(np.logaddexp.reduce(parts))


def _places(first: Mixture, second: Mixture) -> FloatArray:
    """Points that no feature of either density is missed between."""
    each = [
        m + math.sqrt(v) * np.concatenate([-np.geomspace(_SPREAD, 1e-3, 900), np.geomspace(1e-3, _SPREAD, 900)])
        for _, m, v in first + second
    ]
    return np.unique(np.concatenate(each))


def on_a_line(epsilon: float, first: Mixture, second: Mixture) -> float:
    """sup_A P(A) - e^epsilon Q(A) of two normal mixtures, from below: of the set where P exceeds, its ends found in doubles."""
    y = _places(first, second)

    def excess(x: FloatArray) -> FloatArray:
        return _log_density(first, x) - _log_density(second, x) - epsilon

    values = excess(y)
    # a maximum between two points may exceed 0 where both are below
    peaks = np.flatnonzero((values[1:-1] >= values[:-2]) & (values[1:-1] >= values[2:]) & (values[1:-1] < 0)) + 1
    extra = [
        optimize.minimize_scalar(
            lambda x: -float(excess(np.array([x]))[0]), bounds=(y[i - 1], y[i + 1]), method="bounded"
        ).x
        for i in peaks
        if values[i] > -1e-2
    ]
    y = np.unique(np.concatenate([y, extra]))
    values = excess(y)
    changes = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    ends = [float(optimize.brentq(lambda x: float(excess(np.array([x]))[0]), y[i], y[i + 1])) for i in changes]
    with mpmath.workdps(_DIGITS):
        edges = [-mpmath.inf, *ends, mpmath.inf]
        middles = (
            [
                min(ends) - 1 if math.isinf(a) else max(ends) + 1 if math.isinf(b) else (a + b) / 2
                for a, b in itertools.pairwise(map(float, edges))
            ]
            if ends
            else [0.0]
        )
        chosen = [
            pair
            for pair, at in zip(itertools.pairwise(edges), middles, strict=True)
            if float(excess(np.array([at]))[0]) > 0
        ]
        return float(_measure(first, chosen) - mpmath.exp(epsilon) * _measure(second, chosen))


def _worst_on_a_line(epsilon: float, first: Mixture, second: Mixture, direction: str) -> float:
    found = [on_a_line(epsilon, first, second)] if direction != "reverse" else []
    found += [on_a_line(epsilon, second, first)] if direction != "forward" else []
    return max(found)


def _subset_noise(case: Case) -> list[tuple[float, float]]:
    """Probability and received noise of each set of the others."""
    found = []
    others = list(zip(case["participation"][1:], case["noise_variance"][1:], strict=True))
    for there in itertools.product([0, 1], repeat=len(others)):
        chance = math.prod(p if t else 1 - p for t, (p, _) in zip(there, others, strict=True))
        found.append((chance, case["receiver"] + sum(v for t, (_, v) in zip(there, others, strict=True) if t)))
    return found


def _line_system(case: Case) -> airtight.InferenceSystem:
    return airtight.InferenceSystem(
        devices=len(case["participation"]),
        participation=case["participation"],
        noise_variance=case["noise_variance"],
        weight=[case["weight"]] + [0.0] * (len(case["participation"]) - 1),
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=case["receiver"],
        dimension=1,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency=case["adjacency"],
    )


def _line_pair(case: Case) -> tuple[Mixture, Mixture]:
    """What y alone is, with device 0 and without: the others send nothing but noise."""
    p, own, d = case["participation"][0], case["noise_variance"][0], case["weight"]
    first: Mixture = []
    second: Mixture = []
    for chance, v in _subset_noise(case):
        first += [(chance * p, d, v + own), (chance * (1 - p), 0.0, v)]
        away = (
            [(chance, 0.0, v)]
            if case["adjacency"] == "absent"
            else [(chance * p, 0.0, v + own), (chance * (1 - p), 0.0, v)]
        )
        second += away
    return first, second


def _signal_case(rng: np.random.Generator) -> Case:
    others = int(rng.integers(1, 4))
    unit = float(10 ** rng.uniform(-1.5, 1.5))
    return {
        "adjacency": str(rng.choice(["silent", "absent"])),
        "participation": [float(x) for x in rng.uniform(0.02, 0.98, others + 1)],
        "noise_variance": [float(10 ** rng.uniform(-2, 1)) * unit for _ in range(others + 1)],
        "receiver": float(10 ** rng.uniform(-2, 0.5)) * unit,
        "weight": float(10 ** rng.uniform(-1, 0.7)) * math.sqrt(unit),
        "epsilon": float(10 ** rng.uniform(-2, 0.7)),
        "chance": float(rng.choice([1.0, float(rng.uniform(0.01, 1))])),
    }


def signal(case: Case) -> float:
    """`signal` where the others send nothing: the truth is that of y alone, on the line."""
    curve = airtight.curve(_line_system(case), observer="signal")
    first, second = _line_pair(case)
    truth = _worst_on_a_line(case["epsilon"], first, second, "worst")
    low, high = curve.bracket(epsilon=case["epsilon"])
    return between(truth, truth, float(low), float(high), _NEAR)


def subsampled_signal(case: Case) -> float:
    """The same release, there or not: the mixture with the neighbour's law, measured as it is."""
    curve = airtight.subsampled(airtight.curve(_line_system(case), observer="signal"), case["chance"])
    first, second = _line_pair(case)
    q = case["chance"]
    mixed = [(q * w, m, v) for w, m, v in first] + [((1 - q) * w, m, v) for w, m, v in second if q < 1]
    truth = _worst_on_a_line(case["epsilon"], mixed, second, "worst")
    low, high = curve.bracket(epsilon=case["epsilon"])
    return between(truth, truth, float(low), float(high), _NEAR)


# Hidden devices over rounds, their kinks steered


def _kinks(case: Case) -> list[float]:
    """Where an interval of the best set of the reverse order appears: the inner maxima of the loss."""
    first, second = _line_pair(case)
    y = _places(first, second)
    loss = _log_density(second, y) - _log_density(first, y)
    inner = np.flatnonzero((loss[1:-1] > loss[:-2]) & (loss[1:-1] > loss[2:])) + 1
    return [float(loss[i]) for i in inner if loss[i] > 1e-3]


def _hidden_case(rng: np.random.Generator) -> Case:
    others = int(rng.integers(0, 3))
    case = {
        "adjacency": "silent",
        "participation": [float(10 ** rng.uniform(-2, -0.01))] + [float(x) for x in rng.uniform(0.1, 0.9, others)],
        "noise_variance": [float(10 ** rng.uniform(-1.5, 0.5))]
        + [float(10 ** rng.uniform(-1, 0.5)) for _ in range(others)],
        "receiver": float(10 ** rng.uniform(-0.7, 0.3)),
        "weight": float(10 ** rng.uniform(-0.5, 1)),
        "direction": str(rng.choice(["reverse", "reverse", "forward", "worst"])),
        "inside": float(10 ** rng.uniform(-4, -2.3)),
        "piece": int(rng.integers(-3, 2)),
        "side": int(rng.choice([0, 1])),
        "asked": float(10 ** rng.uniform(-4.5, -2)),
    }
    return case | {"participation": [_steered(case), *case["participation"][1:]]}


def _ends_of_piece(case: Case) -> tuple[float, float]:
    low = 4.0 ** case["piece"]
    return low, 4 * low


def _steered(case: Case) -> float:
    """A p with which a kink lies just inside the end of a piece, if there is one."""
    low, high = _ends_of_piece(case)
    goal = low * (1 + case["inside"]) if case["side"] == 0 else high * (1 - case["inside"])

    def highest(logit: float) -> float:
        p = 1 / (1 + math.exp(-logit))
        return max(_kinks(case | {"participation": [p, *case["participation"][1:]]}), default=0.0) - goal

    grid = np.linspace(-7, 7, 29)
    values = [highest(float(x)) for x in grid]
    for (a, at_a), (b, at_b) in itertools.pairwise(zip(grid, values, strict=True)):
        if at_a * at_b < 0 and min(at_a, at_b) > -goal:
            found = optimize.brentq(highest, a, b, xtol=1e-9)
            return float(1 / (1 + math.exp(-found)))
    return float(case["participation"][0])


def hidden_rounds(case: Case) -> float:
    """A hidden device beside a release that says almost nothing: not below the round alone, above it by no more than that."""
    curve = airtight.curve(_line_system(case), observer="others")
    low_end, high_end = _ends_of_piece(case)
    epsilon = low_end * (1 + case["asked"]) if case["side"] == 0 else high_end * (1 - case["asked"])
    p, own, d = case["participation"][0], case["noise_variance"][0], case["weight"]
    truth = []
    for chance, v in _subset_noise(case):
        first = [(p, d, v + own), (1 - p, 0.0, v)]
        second = [(p, 0.0, v + own), (1 - p, 0.0, v)]
        each = [on_a_line(epsilon, first, second), on_a_line(epsilon, second, first)]
        truth.append((chance * each[0], chance * each[1]))
    forward, reverse = (math.fsum(pair[i] for pair in truth) for i in (0, 1))
    value = {"forward": forward, "reverse": reverse, "worst": max(forward, reverse)}[case["direction"]]
    whole = airtight.compose([curve, airtight.gaussian(1e-9)])
    low, high = whole.bracket(epsilon=epsilon, direction=case["direction"])
    if value < 1e-12:
        return math.nan
    return between(value, value + 4.1e-10, float(low), float(high), _NEAR)


# Laws on outcomes, and Gaussian releases beside them


def _responses(loss: Fraction, count: int) -> list[tuple[Ball, Ball]]:
    """Probability and loss of the sum of `count` randomised responses."""
    lie = 1 / (1 + ball(loss).exp())
    return [
        (math.comb(count, k) * lie**k * (1 - lie) ** (count - k), ball((count - 2 * k) * loss))
        for k in range(count + 1)
    ]


def _mixes(rng: np.random.Generator) -> Case:
    kinds = ["gaussian", "threshold", "utility", "nothing", "subsampled"]
    return {
        "kind": str(rng.choice(kinds)),
        "mu": float(10 ** rng.uniform(-3, 1.5)),
        "noise": float(10 ** rng.uniform(-0.3, 0.3)),
        "chance": float(rng.uniform(0.05, 1)),
        "loss": [float(10 ** rng.uniform(-12, 3 if rng.random() < 0.3 else 0.5)) for _ in range(2)],
        "count": [int(rng.integers(1, 5)), int(rng.integers(1, 5))],
        "share": float(rng.uniform(0.02, 1.1)),
        "shape": int(rng.integers(1, 4)),
    }


def _continuous(case: Case) -> tuple[PrivacyCurve | None, Callable[[Ball], Ball], Callable[[Ball], Ball], float]:
    """A release, its divergence in both orders at any real epsilon, and about its greatest loss."""
    mu, kind = case["mu"], case["kind"]
    if kind == "nothing":

        def nothing(x: Ball) -> Ball:
            return (1 - x.exp()).max(flint.arb(0))

        return None, nothing, nothing, 0.0
    if kind == "gaussian":

        def plain(x: Ball) -> Ball:
            return judge.gaussian(x, Fraction(1), 1 / Fraction(mu) ** 2)

        return airtight.gaussian(mu), plain, plain, mu * mu / 2 + 6 * mu
    if kind == "subsampled":
        q = Fraction(case["chance"])

        def gaussian_at(x: Ball) -> Ball:
            return judge.gaussian(x, Fraction(1), 1 / Fraction(mu) ** 2)

        def forward(x: Ball) -> Ball:
            level = x.exp() - (1 - ball(q))  # qP + (1-q)Q - e^x Q = q P - level Q
            if not level > 0:
                return 1 - x.exp() if level < 0 else flint.arb.nan()
            return ball(q) * gaussian_at((level / ball(q)).log())

        def reverse(x: Ball) -> Ball:
            share = 1 - x.exp() * (1 - ball(q))  # Q - e^x (qP + (1-q)Q) = share Q - e^x q P
            if not share > 0:
                return flint.arb(0) if share < 0 else flint.arb.nan()
            return share * gaussian_at((x.exp() * ball(q) / share).log())

        return airtight.subsampled(mu, case["chance"]), forward, reverse, mu * mu / 2 + 6 * mu
    if kind == "threshold":
        system = _aware_system(case)
        curve = feature_aware.threshold_curve(
            system, noise=case["noise"], sensitivity=case["mu"], eta=1.0, greatest_score=case["chance"]
        )
        with flint.ctx.workprec(200):
            gap = (Fraction(case["chance"]) - 1) / Fraction(case["noise"])
            least = judge.normal_tail(ball(gap)).mid().fmpq()
        chances = [Fraction(int(least.p), int(least.q))] * system.devices
        score = (Fraction(case["mu"]) / Fraction(case["noise"])) ** 2
        signal_square = Fraction(float(system.weight[0])) ** 2
        laws = judge.sets(system, 0, chances=chances)
        own = Fraction(float(system.noise_variance[0]))

        def shown(x: Ball) -> Ball:
            found = flint.arb(0)
            for v, chance in laws:
                found += ball(chance) * judge.gaussian(x, Fraction(1), 1 / (score + signal_square / (v + own)))
            return found

        return curve, shown, shown, 3 * (mu / case["noise"]) ** 2 + 8
    factors = case["chance"] * 0.5, case["chance"] * 0.5 + 0.2
    curve = airtight.utility_fair(
        factors[0], epsilon=case["noise"], delta=1e-5, theta=0.6, neighbour=factors[1], dimension=case["shape"]
    )
    scales = [Fraction(float(fairness.noise_scale(x, epsilon=case["noise"], delta=1e-5, theta=0.6))) for x in factors]

    def unequal(x: Ball, a: Fraction, b: Fraction) -> Ball:
        if x >= 0:
            return judge.hockey_stick(x, Fraction(1), a * a, b * b, case["shape"])
        if not x < 0:
            return flint.arb.nan()
        return 1 - x.exp() + x.exp() * judge.hockey_stick(-x, Fraction(1), b * b, a * a, case["shape"])

    return curve, lambda x: unequal(x, *scales), lambda x: unequal(x, *scales[::-1]), 3.0


def _aware_system(case: Case) -> airtight.InferenceSystem:
    return airtight.InferenceSystem(
        devices=3,
        participation=1.0,
        noise_variance=[0.5, 2.0 * case["noise"], 0.1],
        weight=0.3,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.2,
        dimension=1,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
    )


def together(case: Case) -> float:
    """Randomised responses of two scales beside one other release: conditioned on the responses, in balls."""
    curve, forward, reverse, reach = _continuous(case)
    losses = [Fraction(x) for x in case["loss"]]
    total = reach + sum(n * min(x, 40.0) for n, x in zip(case["count"], case["loss"], strict=True))
    epsilon = case["share"] * total
    curves = [airtight.randomized_response(x) for x in case["loss"]] + ([] if curve is None else [curve])
    whole = airtight.compose(curves, [*case["count"], *([] if curve is None else [1])])
    # near each other in loss: the ends themselves may be an ulp of it apart
    with flint.ctx.workprec(300):
        first, second = (_responses(x, n) for x, n in zip(losses, case["count"], strict=True))
        found = [flint.arb(0), flint.arb(0)]
        for (a, x), (b, y) in itertools.product(first, second):
            rest = ball(Fraction(epsilon)) - x - y
            for i, one in enumerate((forward, reverse)):
                found[i] += a * b * one(rest)
    worst = found[0].max(found[1])
    if not worst.is_finite() or not float(worst.rad()) <= 1e-9 * abs(float(worst.mid())):
        return math.nan
    low, high = whole.bracket(epsilon=epsilon)
    return between(*_ball_ends(worst), float(low), float(high))


# Subsampled laws on outcomes


def _pair_case(rng: np.random.Generator) -> Case:
    size = int(rng.integers(2, 7))
    sharp = float(10 ** rng.uniform(-1, 2))
    p, q = (rng.dirichlet(np.full(size, 1.0)) ** sharp for _ in range(2))
    return {
        "p": [float(x) for x in p / p.sum()],
        "q": [float(x) for x in q / q.sum()],
        "chance": float(rng.choice([1.0, float(10 ** rng.uniform(-6, 0))])),
        "epsilon": float(10 ** rng.uniform(-5, 1)),
        "count": int(rng.integers(1, 4)),
        "direction": str(rng.choice(["forward", "reverse", "worst"])),
    }


def _law(weights: list[float]) -> list[float]:
    """Of weights that a neighbour of a case may no longer have of sum one."""
    law = np.abs(np.array(weights))
    return [float(x) for x in law / np.sum(law)]


def _completed(law: list[float]) -> list[Fraction]:
    """As doubles seldom add up to one, the likeliest outcome has the rest: that is what is promised of them."""
    exact = [Fraction(x) for x in law]
    exact[int(np.argmax(law))] += 1 - sum(exact)
    return exact


def subsampled_pair(case: Case) -> float:
    """Every sequence of outcomes of the mixture, in rationals."""
    given = _law(case["p"]), _law(case["q"])
    p, q, s = _completed(given[0]), _completed(given[1]), Fraction(case["chance"])
    mixed = [s * a + (1 - s) * b for a, b in zip(p, q, strict=True)]
    with flint.ctx.workprec(400):
        factor = ball(Fraction(case["epsilon"])).exp()

        def divergence(first: list[Fraction], second: list[Fraction]) -> Ball:
            total = flint.arb(0)
            for outcome in itertools.product(range(len(p)), repeat=case["count"]):
                a, b = math.prod(first[i] for i in outcome), math.prod(second[i] for i in outcome)
                total += (ball(Fraction(a)) - factor * ball(Fraction(b))).max(flint.arb(0))
            return total

        ends = {"forward": [(mixed, q)], "reverse": [(q, mixed)], "worst": [(mixed, q), (q, mixed)]}[case["direction"]]
        worst = flint.arb(0)
        for one in ends:
            worst = worst.max(divergence(*one))
    curve = airtight.subsampled(airtight.discrete_pair(*given), case["chance"]).compose(case["count"])
    low, high = curve.bracket(epsilon=case["epsilon"], direction=case["direction"])
    return between(*_ball_ends(worst), float(low), float(high))


def _aggregate_case(rng: np.random.Generator) -> Case:
    return {
        "clients": int(rng.integers(1, 7)),
        "loss": float(10 ** rng.uniform(-1, 0.7)),
        "chance": float(rng.choice([1.0, float(rng.uniform(0.05, 1))])),
        "epsilon": float(10 ** rng.uniform(-2, 0.3)),
    }


def subsampled_aggregate(case: Case) -> float:
    """One parameter, clients alone: every count of pluses for every choice of the others, in rationals of the coin."""
    n = case["clients"]
    system = airtight.FederatedSystem(clients=n, parameters=1, epsilon=case["loss"], ldp_fraction=1.0, dropout=0.0)
    curve = airtight.subsampled(airtight.aggregation(system), case["chance"])
    with flint.ctx.workprec(300):
        high_coin = 1 / (1 + (-ball(Fraction(case["loss"]))).exp())
        s, factor = ball(Fraction(case["chance"])), ball(Fraction(case["epsilon"])).exp()
        worst = flint.arb(0)
        for ups in range(n):
            law = [flint.arb(1)]
            for i in range(n - 1):
                law = _convolved(law, high_coin if i < ups else 1 - high_coin)
            ends = _convolved(law, high_coin), _convolved(law, 1 - high_coin)
            for p, q in (ends, ends[::-1]):
                mixed = [s * a + (1 - s) * b for a, b in zip(p, q, strict=True)]
                for first, second in ((mixed, q), (q, mixed)):
                    total = flint.arb(0)
                    for a, b in zip(first, second, strict=True):
                        total += (a - factor * b).max(flint.arb(0))
                    worst = worst.max(total)
    low, high = curve.bracket(epsilon=case["epsilon"])
    return between(*_ball_ends(worst), float(low), float(high))


def _convolved(law: list[Ball], plus: Ball) -> list[Ball]:
    out = [flint.arb(0)] * (len(law) + 1)
    for i, x in enumerate(law):
        out[i] += x * (1 - plus)
        out[i + 1] += x * plus
    return out


# Few bits


def _few_bits_case(rng: np.random.Generator) -> Case:
    levels, others = int(rng.integers(2, 5)), int(rng.integers(0, 4))
    laws = rng.dirichlet(np.full(levels, float(10 ** rng.uniform(-1, 1))), size=others + 2)
    return {"laws": laws.tolist(), "epsilon": float(10 ** rng.uniform(-3, 0.7))}


def few_bits_sum(case: Case) -> float:
    """Every outcome of every client, in rationals."""
    given = [_law(law) for law in case["laws"]]
    laws, size = [[Fraction(x) for x in law] for law in given], len(given[0])
    sums = []
    for k in (0, 1):
        law: dict[int, Fraction] = {}
        for outcome in itertools.product(range(size), repeat=len(laws) - 1):
            chance = laws[k][outcome[0]] * math.prod(one[i] for one, i in zip(laws[2:], outcome[1:], strict=True))
            law[sum(outcome)] = law.get(sum(outcome), Fraction(0)) + chance
        sums.append(law)
    with flint.ctx.workprec(300):
        factor, total = ball(Fraction(case["epsilon"])).exp(), flint.arb(0)
        for i, chance in sums[0].items():
            total += (ball(chance) - factor * ball(sums[1][i])).max(flint.arb(0))
    found = float(quantizer_laws.aggregate_delta(given[0], given[1], given[2:], epsilon=case["epsilon"]))
    low, _ = _ball_ends(total)
    # the laws themselves are given to a rounding
    return between(low, low, 0.0, found + 1e-14) if low > 1e-12 else math.nan


# The design's lower bounds over rounds


def _cells_case(rng: np.random.Generator) -> Case:
    size, rounds = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    tilt = float(10 ** rng.uniform(-2, 0.7))
    away = rng.dirichlet(np.full(size, 2.0))
    present = away * np.exp(tilt * rng.normal(size=size))
    return {
        "present": (present / present.sum()).tolist(),
        "away": away.tolist(),
        "rounds": rounds,
        "epsilon": float(10 ** rng.uniform(-2, 0.7)),
    }


def design_bound(case: Case) -> float:
    """Every sequence of cells: the bound from below must not exceed it."""
    given = [_law(case[name]) for name in ("present", "away")]
    laws = [[Fraction(x) for x in law] for law in given]
    with flint.ctx.workprec(300):
        factor, total = ball(Fraction(case["epsilon"])).exp(), flint.arb(0)
        for outcome in itertools.product(range(len(laws[0])), repeat=case["rounds"]):
            p, q = (math.prod(law[i] for i in outcome) for law in laws)
            total += (ball(Fraction(p)) - factor * ball(Fraction(q))).max(flint.arb(0))
    present, away = (np.array([law]) for law in given)
    found = float(box_bounds.composed(present, away, case["epsilon"], case["rounds"])[0])
    _, high = _ball_ends(total)
    return found / high if high > 1e-12 else (0.0 if found <= 1e-12 else 2.0)


CURVES: tuple[tuple[str, Callable[[np.random.Generator], Case], Callable[[Case], float]], ...] = (
    ("signal", _signal_case, signal),
    ("subsampled signal", _signal_case, subsampled_signal),
    ("subsampled pair", _pair_case, subsampled_pair),
    ("subsampled sums", _aggregate_case, subsampled_aggregate),
    ("releases together", _mixes, together),
    ("few bits", _few_bits_case, few_bits_sum),
    ("design, rounds", _cells_case, design_bound),
    ("hidden rounds", _hidden_case, hidden_rounds),
)
