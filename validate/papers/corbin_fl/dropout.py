"""CB Theorem 4 (dropout) and Sec. IV-5 (communication)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate, product

import numpy as np
import sympy as sp
from scipy import optimize

from airtight.analytics.federated.corbin import communication, dropout
from airtight.analytics.forms.balls import aggregate_delta as balls
from airtight.analytics.forms.balls.compiled import enclosed
from airtight.analytics.forms.domain import Range, over, parameter
from airtight.validate.claims.claim import Claim, false, holds
from airtight.validate.claims.proving.derivation import Derivation, Lemma, Step
from airtight.validate.claims.relation import at_most, relative_to
from airtight.validate.papers.corbin_fl.common import at_least_one, p, pairs, printed, quantity
from airtight.validate.papers.lemmas import NOT_NEGATIVE

slack = parameter("slack", 0.01, 0.45, logarithmic=True, latex=r"(\delta-\delta_1)")
alpha = parameter("alpha", 1.01, 10.0, typical=(1.013, 4.08), latex=r"\alpha")

shared = parameter("d", 1, 10, integer=True, typical=(3, 7))
size = parameter("m", 1, 10**9, integer=True, logarithmic=True, typical=(10**5, 10**7))
_clients = parameter("clients", 2, 10_000, integer=True, logarithmic=True)
_parameters = parameter("parameters", 1, 10**7, integer=True, logarithmic=True)
_bits = parameter("bits", 0, 8, integer=True)
_KEY = 256  # bits
_Moves = list[tuple[list[float], list[float]]]  # laws of the client's output before and after the move
count = parameter("n", 2, 500, integer=True, typical=(50, 500))
key = parameter("k", 2, 4096, integer=True, logarithmic=True)

_k, _n, _middle = sp.Symbol("k", integer=True), 2 * pairs, p * (1 - p)
_PRINTED = {"clients": _n, "dropout": p, "slack": slack, "delta_1": 0}
_gamma, _theta_prime = (printed(f"Theorem 4, {name}", **_PRINTED) for name in ("gamma", "theta'"))
_mse = quantity("Theorem 4, MSE", **_PRINTED, epsilon=sp.log((alpha + 1) / (alpha - 1)))


def _outside(trials: sp.Expr, probability: sp.Expr, width: sp.Expr) -> sp.Expr:
    """P(|X/n - p(1-p)| > width) for X of the binomial law."""
    mass = sp.binomial(trials, _k) * probability**_k * (1 - probability) ** (trials - _k)
    return sp.Sum(mass * sp.Piecewise((1, sp.Abs(_k / _n - _middle) > width), (0, True)), (_k, 0, trials))


_BROKEN = _outside(pairs, 2 * _middle, _middle - _gamma)
_SURVIVORS = _outside(_n, 1 - p, _theta_prime - _middle)


def _sixteen(p: float, epsilon: float, x: float, y: float) -> float:
    """Mean squared error of four clients with updates x, y, x, y, summed over all sets of survivors."""
    A = 1 / math.tanh(epsilon / 2)
    total = 0.0
    for state in range(16):
        present = [bool(state >> i & 1) for i in range(4)]
        survivors, error = sum(present), 0.0
        for first, second in (present[:2], present[2:]):
            if first and second:
                error += abs(x + y) * (2 * A - abs(x + y))
            elif first or second:
                error += A * A - (x if first else y) ** 2
        total += (1 - p) ** survivors * p ** (4 - survivors) * error / max(survivors, 1) ** 2
    return total


# The same as expressions, and the parabola in s whose greatest value bounds it

gone, local = parameter("p", 0.0, 0.95), parameter("epsilon", 0.05, 10.0, logarithmic=True, typical=(0.5, 5.0))
one, two = (parameter(name, -1.0, 1.0) for name in ("x", "y"))
_A, _total = 1 / sp.tanh(local / 2), sp.Abs(one + two)


def _error(first: int, second: int) -> sp.Expr:
    """Squared error of the sum of the outputs of a pair's survivors."""
    if first and second:
        return 2 * _A * _total - _total**2
    return first * (_A**2 - one**2) + second * (_A**2 - two**2)


_OF_FOUR = sum(
    (1 - gone) ** sum(state)
    * gone ** (4 - sum(state))
    * (_error(*state[:2]) + _error(*state[2:]))
    / sp.Integer(max(sum(state), 1)) ** 2
    for state in product((0, 1), repeat=4)
)
_ONE_LEFT, _BOTH_LEFT = (
    sum(sp.binomial(2, k) * (1 - gone) ** k * gone ** (2 - k) / sp.Integer(i + k) ** 2 for k in range(3)) for i in (1, 2)
)  # e_1 and e_2
_ALONE, _PAIRED = 2 * gone * (1 - gone) * _ONE_LEFT, (1 - gone) ** 2 * _BOTH_LEFT
_BEND = _ALONE / 4 + _PAIRED


def _at_sum(total: sp.Expr) -> sp.Expr:
    """The bracket of CB-T4* at this s, for both pairs."""
    return 2 * (_ALONE * _A**2 + 2 * _PAIRED * _A * total - _BEND * total**2)


def _top_of_parabola() -> Lemma:
    """2 w a s - b s^2 on [0, 2] is greatest at min(2, w a/b)."""
    weight, bend = (parameter(name, 1e-5, 2.0, logarithmic=True) for name in ("weight", "bend"))
    height, s = parameter("alpha", 1.0, 1e3, logarithmic=True), parameter("sum", 0.0, 2.0)
    top, rest = weight * height / bend, weight * height - 2 * bend

    def value(place: sp.Expr) -> sp.Expr:
        return 2 * weight * height * place - bend * place**2

    rising = Derivation(
        facts=[(rest >= 0, Derivation(uses=[(bend, NOT_NEGATIVE.at(number=top - 2))]))],
        uses=[(2 * (2 - s), NOT_NEGATIVE.at(number=rest)), ((2 - s) * bend, NOT_NEGATIVE.at(number=2 - s))],
    )
    below = Derivation(uses=[(bend, NOT_NEGATIVE.at(number=(top - s) ** 2))])
    return Lemma(at_most(value(s), value(sp.Min(2, top))), derivation=Derivation(split=top - 2, above=rising, below=below))


def _worst_of_four() -> Derivation:
    """How CB-T4* is proved: equal updates of a pair err the most, and then the parabola is at its top."""
    unequal = gone * (1 - gone) * (11 * gone**2 + 5 * gone + 2) / 18
    top = _top_of_parabola().at(weight=_PAIRED, bend=_BEND, alpha=_A, sum=_total)
    return Derivation(
        facts=[(1 - gone >= sp.Rational(1, 20)), at_least_one(_A, local)],
        through=[Step(_at_sum(_total), [(unequal, NOT_NEGATIVE.at(number=(one - two) ** 2))])],
        uses=[(2, top)],
    )


# Privacy of a survivor, one parameter: a sum over the number of clients that quantize alone, with all their corners


def _poisson_binomial(probabilities: list[float]) -> np.ndarray:
    law = np.ones(1)
    for probability in probabilities:
        law = np.convolve(law, [1 - probability, probability])
    return law


def _excess(others: int, own: _Moves, low: float) -> Callable[[float], float]:
    """Greatest divergence, as a function of epsilon, over the corners of the others and the client's own moves."""
    at_upper, at_lower = (
        list(accumulate([probability] * others, lambda law, x: np.convolve(law, [1 - x, x]), initial=np.ones(1)))
        for probability in (1 - low, low)
    )
    noises = [np.convolve(one, other) for one, other in zip(at_upper, reversed(at_lower), strict=True)]
    first, second = (np.array([np.convolve(noise, law[i]) for noise in noises for law in own]) for i in (0, 1))
    return lambda epsilon: float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum(axis=1).max())


def _least_epsilon(cases: list[tuple[float, _Moves, np.ndarray]], low: float, delta: float) -> float:
    """Least epsilon for the mean over cases, each with its probability, the client's moves and the law of the others."""
    weighted = [
        (probability * float(share), _excess(others, own, low))
        for probability, own, law in cases
        for others, share in enumerate(law)
    ]

    def excess(epsilon: float) -> float:
        return sum(share * divergence(epsilon) for share, divergence in weighted) - delta

    if excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, 100.0, xtol=1e-14)) if excess(100.0) <= 0 else math.inf


def _delta(epsilon: float, share: float) -> float:
    """A share of tanh(epsilon/2), which is delta without the others' noise."""
    return share * math.tanh(epsilon / 2)


def _survivor(pairs: int, singles: int, p: float, epsilon: float, share: float) -> float:
    low, move, delta = 1 / (1 + math.exp(epsilon)), math.tanh(epsilon / 2), _delta(epsilon, share)
    sure, moved = [0.0, 1.0, 0.0], [0.0, 1 - move, move]
    alone, paired = [([low, 1 - low], [1 - low, low])], [(sure, moved), (moved, sure)]
    others_of_single, others_of_paired = (
        _poisson_binomial([1 - p] * left + [2 * p * (1 - p)] * broken)
        for left, broken in ((singles - 1, pairs), (singles, pairs - 1))
    )
    clients = [(1.0, alone, others_of_single)], [(1 - p, paired, others_of_paired), (p, alone, others_of_paired)]
    return max(_least_epsilon(cases, low, delta) for cases in clients)


def _central(pairs: int, singles: int, p: float, epsilon: float, share: float) -> float:
    n, delta = 2 * pairs + singles, _delta(epsilon, share)
    bound = dropout.central_epsilon(n, 1, epsilon=epsilon, delta=delta, dropout=p, independent=singles / n)
    return bound if bound < math.inf else math.nan  # which claims nothing


CLAIMS = (
    Claim(
        "CB-T4",
        "Theorem 4, gamma and gamma'; App. E, Chebyshev's inequality (n = 2 pairs)",
        at_most(_BROKEN, slack),
        false(
            "Chebyshev's inequality needs the radius without the 4: the printed radius is half of it. (The guarantee "
            "itself depends on (5): CB-T3s.)",
            "step",
            corrected_by="CB-T4*-privacy",
        ),
        statement=r"P\Bigl(\sum_iE_i \notin [\gamma n, \gamma'n]\Bigr) \le (\delta-\delta_1)",
        where={r"P\Bigl(\sum_iE_i \notin [\gamma n, \gamma'n]\Bigr)": _BROKEN},
        near={},
        effort=1 / 2,
    ),
    Claim(
        "CB-T4-theta",
        "Theorem 4, theta and theta'; App. E (n = 2 pairs)",
        at_most(_SURVIVORS, slack),
        false("P(F_i = 1) is 1 - p, but the printed interval is centered at p(1 - p).", "step", corrected_by="CB-T4*"),
        statement=r"P\Bigl(\sum_iF_i \notin [\theta n, \theta'n]\Bigr) \le (\delta-\delta_1)",
        where={r"P\Bigl(\sum_iF_i \notin [\theta n, \theta'n]\Bigr)": _SURVIVORS},
        near={},
        effort=1 / 2,
    ),
    Claim(
        "CB-T4-mse",
        "Theorem 4, mean squared error (delta_1 = 0, radius 1, n = 2 pairs; in units of LDP-FL's worst error)",
        at_most(
            lambda pairs, p, slack, alpha: dropout.worst_mse(2 * pairs, dropout=p, epsilon=2 * math.atanh(1 / alpha)),
            _mse,
            balls=lambda pairs, p, slack, alpha: (
                enclosed(_mse.expression, {"pairs": pairs, "p": p, "slack": slack, "alpha": alpha}),
                balls.dropout_mse(2 * int(pairs), p, alpha),
            ),
        ),
        false("theta can be negative, and then the bound is negative.", corrected_by="CB-T4*"),
        over(pairs, p, slack, alpha),
        statement=r"\mathrm{MSE} \le \frac{\gamma'r^2\alpha^2}{n\theta} + \frac{1-\gamma}{2n\theta}r^2"
        r"((\sqrt2-1)\alpha+1)((\sqrt2+1)\alpha-1) + 8r^2\alpha^2\delta_1",
        scale=relative_to(lambda pairs, alpha, **_: alpha**2 / (2 * pairs)),
        near={},
    ),
    Claim(
        "CB-T4*",
        "ours: the exact worst MSE of the survivors' mean",
        at_most(_OF_FOUR, _at_sum(sp.Min(2, _PAIRED * _A / _BEND))),
        holds(
            "Given the clients that are counted, the number of other survivors is binomial. Proved for the sixteen sets "
            "of four clients whose two pairs have the same updates; for any even number, as the least upper bound, in Coq."
        ),
        argued="airtight.analytics.federated.corbin.dropout.worst_mse",
        computed=at_most(_sixteen, lambda p, epsilon, **_: dropout.worst_mse(4, dropout=p, epsilon=epsilon)),
        derivation=_worst_of_four,
        unread="tried for n = 4, where the maximum over s is at min(2, s*)",
        statement=r"\mathrm{MSE} \le \tfrac n2\max_s\Bigl[2p(1-p)e_1\bigl(A^2-\tfrac{s^2}4\bigr) + (1-p)^2e_2(2As-s^2)\Bigr],"
        r"\quad e_i = E(i + \mathrm{Bin}(n-2, 1-p))^{-2}",
        coq="corbin_fl_general.CB_T4_star",
    ),
    Claim(
        "CB-T4*-privacy",
        "ours: central privacy of a survivor, an upper bound (one parameter, 2 pairs + singles clients, delta = share/alpha)",
        at_most(_survivor, _central),
        holds(
            "The server sees who survives, and the survivors have the same law for both neighbours: delta is the mean "
            "over the number N of others that quantize alone, and over whether the partner is present. Numbers of others so "
            "few that an outcome impossible for the neighbour has a probability above 1/2 are conceded, so that the bound may "
            "be infinite where the least epsilon is finite."
        ),
        {
            "pairs": Range(1, 6, integer=True),
            "singles": Range(8, 24, integer=True),
            "p": Range(0.02, 0.5),
            "epsilon": Range(0.05, 3.0, logarithmic=True),
            "share": Range(0.03, 0.5, logarithmic=True),
        },
        argued="airtight.analytics.federated.corbin.dropout.central_epsilon",
        statement=r"\min\{e : E\,D_{e^e}(N) \le \delta\} \le \hat e",
        effort=1 / 6,
    ),
    Claim(
        "CB-cost",
        "Sec. IV-5, communication",
        at_most(33 * _parameters + _KEY, (33 + _bits * _KEY) * _parameters + _clients * _KEY),
        holds(
            "True for each client (all n together need n times that, apart from the broadcast), but unnecessarily "
            "large: the agreed key of k bits is a seed that both clients expand, whatever d is."
        ),
        {
            "clients": _clients.range,
            "parameters": _parameters.range,
            "bits": _bits.range,
        },
        computed=at_most(
            lambda clients, parameters, bits: communication.seeded(clients, parameters, bits=bits).total,
            lambda clients, parameters, bits: communication.published(clients, parameters, bits=bits).total,
        ),
        statement=r"32m + nk + dmk + m \text{ bits suffice}",
        unread="the statement is in words",
    ),
    Claim(
        "CB-cost-computation",
        "Sec. IV-5, computation, for each client (d >= 1)",
        at_most(
            shared * size + size + count * key**2 * sp.log(key), 2 * (shared * size + count * key**2 * sp.log(key))
        ),
        holds(
            "Random bits, one comparison per parameter, and the key exchange: m is at most dm, so that the constant 2 "
            "is enough."
        ),
        statement=r"dm + m + nk^2\log k \le 2\,(dm + nk^2\log k) = O(dm + nk^2\log k)",
        slack=1.05,
    ),
)
