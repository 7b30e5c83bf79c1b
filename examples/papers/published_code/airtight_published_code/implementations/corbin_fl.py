"""CorBin-FL, the authors' own code: the pair, the pairing, and what else the server receives."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
import sympy as sp

from airtight import (
    Claim,
    Implementation,
    Range,
    Relation,
    absolute,
    at_most,
    equal,
    false,
    holds,
    other_reading,
    parameter,
)
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.forms.gaussian_mechanism import least_delta
from airtight_published_code.implementations.common import alpha, bits, claim, epsilon, s, x, y

_REPOSITORY, _COMMIT = "solidlabnetwork/CorbinFL", "a95602739de66132ae82d3a470aa9f1c83adf8bd"
_LDP = "README: 'CorBin-FL, eps-LDP' for each coordinate."
_PROBABILITY = absolute("probability")


def source(file: str, function: str, promise: str, mend: str = "") -> Implementation:
    """A place in the repository."""
    return Implementation(_REPOSITORY, _COMMIT, file, function, promise, mend)


_PERTURB = source(
    "methods/corbin_fl.py",
    "CorBinFL._perturb_weight",
    _LDP,
    "Keep the index of the cell when the private coin is tossed: drop the line after 'Handle edge cases'.",
)

_last = 1 - sp.Integer(2) ** -bits  # where the last cell begins


def _plus(offset: sp.Expr) -> sp.Expr:
    """Probability that a leader sends +: 1 in the last cell, where the code computes a coin probability >= 1."""
    marginal = sp.Rational(1, 2) + offset / (2 * alpha)
    return sp.Piecewise((1, marginal >= _last), (marginal, True))


def _code_pair(x: float, y: float, epsilon: float, bits: int) -> np.ndarray:
    """Joint law of a pair by the code's steps, summed over the shared number and the coins; index 1 is plus; leader x."""
    A, cells = 1 / math.tanh(epsilon / 2), 2**bits
    law = np.zeros((2, 2))
    up = [0.5 + x / (2 * A), 0.5 - y / (2 * A)]  # the follower uses 1 - P and flips its sign
    for shared in range(cells):
        sends = []
        for probability in up:
            cell = min(max(math.floor(probability * cells), 0), cells - 1)
            used = cells - 2 if cell + 1 >= cells else cell
            coin = min(max((probability - used / cells) * cells, 0.0), 1.0)
            sends.append(1.0 if shared < cell else coin if shared == cell else 0.0)
        law += np.outer([1 - sends[0], sends[0]], [sends[1], 1 - sends[1]]) / cells
    return law


@cache
def _pairs(clients: int, alone: int | None) -> dict[frozenset[int], int]:
    """How often two clients are a pair, over all orders; `alone` clients quantize alone; None is CorBin-FL itself.

    The position i belongs to the client order[i]. Pairs consist of positions: (order[0], order[1]) and so on, or in
    ascending order.
    """
    counts: dict[frozenset[int], int] = {}
    for order in permutations(range(clients)):
        positions = list(order) if alone is None else sorted(order[alone:])
        for first, second in zip(positions[::2], positions[1::2], strict=False):
            pair = frozenset((order[first], order[second]))
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def _pair(clients: int, first: int, second: int, alone: int | None) -> Fraction:
    count = _pairs(clients, alone).get(frozenset((first, second)), 0)
    return Fraction(count, math.factorial(clients))


def _pairing(alone: int | None) -> Relation:
    """The claim that two clients are a pair with probability 1/(n - 1), by enumeration of all orders."""

    def balls(**point: Fraction) -> tuple[Ball, Ball]:
        n, first, second = (int(point[name]) for name in ("clients", "first", "second"))
        return ball(Fraction(1, n - 1)), ball(_pair(n, first, second, alone))

    return equal(
        lambda clients, first, second: float(_pair(clients, first, second, alone)),
        lambda clients, **_: 1 / (clients - 1),
        balls=balls,
    )


_clients = parameter("clients", 4, 200, integer=True, typical=(50, 50), latex="n")
_alone = parameter("alone", 1, 100, integer=True, typical=(10, 10), latex="N")
_INNER = {"bits": Range(1, 7, integer=True, typical=(5, 5))}
_MEANS = [
    parameter(name, -10.0, 10.0, typical=(-1.0, 1.0), latex=rf"\mu_{i}")
    for i, name in enumerate(("first", "second"), 1)
]

def _few_enough_levels(epsilon: float, bits: int, **_: float) -> bool:
    """Whether e^epsilon is below 2^bits - 1."""
    return epsilon < math.log(max(2**bits - 1, 1)) - 1e-9


def _two_of_an_even_number(clients: int, first: int, second: int) -> bool:
    """Whether the number of clients is even, and first < second < clients."""
    return clients % 2 == 0 and first < second < clients


CLAIMS: tuple[Claim, ...] = (
    claim(
        "IM-CB-cell",
        _PERTURB,
        at_most(1 - _plus(y), s * (1 - _plus(x))),
        false(
            "In the last of the 2^d cells the code lowers the index by one before it tosses the private coin. The "
            "coin's probability becomes >= 1, the sign is certain, and the exact epsilon is infinite. A probability "
            "reaches that cell as soon as eps >= log(2^d - 1), 3.43 at the scripts' d = 5; the scripts run eps = 5 "
            "and 7.",
            "guarantee",
            corrected_by="IM-CB-joint",
            true_where=r"e^\epsilon < 2^d - 1",
        ),
        statement=r"P(Q(w_y) = -) \le e^{\epsilon}\,P(Q(w_x) = -)",
        scale=_PROBABILITY,
    ),
    claim(
        "IM-CB-mean",
        _PERTURB,
        equal(alpha * (2 * _plus(x) - 1), x),
        false(
            "Where the sign is certain the output is alpha for every weight: 1.0136 for a weight of .99 at eps = 5, d "
            "= 5.",
            "guarantee",
            corrected_by="IM-CB-joint",
            true_where=r"e^\epsilon < 2^d - 1",
        ),
        statement=r"E\,Q(w_x) = w_x \quad (\text{in radii, from the center})",
        scale=absolute("radii"),
    ),
    claim(
        "IM-CB-joint",
        source("methods/corbin_fl.py", "CorBinFL._perturb_weight", "Algorithm 2 of the paper: both outputs of a pair."),
        equal(
            lambda x, y, epsilon, bits, entry: float(_code_pair(x, y, epsilon, bits).flat[entry]),
            lambda x, y, epsilon, bits, entry: float(quantizers.pair_law(x, y, epsilon=epsilon, bits=bits).flat[entry]),
        ),
        holds("Below the last cell the code's steps give the joint law of Algorithm 2, which is private and unbiased."),
        domain={"x": x.range, "y": y.range, "epsilon": epsilon.range, **_INNER, "entry": Range(0, 3, integer=True)},
        given=[_few_enough_levels],
        statement=r"P(Q_1 = a, Q_2 = b) = P_{\text{Alg. 2}}(a, b) \quad (e^\epsilon < 2^d - 1)",
        scale=absolute("probability", 1e-2),
    ),
    claim(
        "IM-CB-norm",
        source(
            "federated_trainer.py",
            "FederatedTrainer.train_round",
            _LDP,
            "Perturb every entry of the state that leaves the client, or do not send the running statistics.",
        ),
        at_most(sp.Integer(1), s * sp.Piecewise((1, sp.Eq(*_MEANS)), (0, True))),
        false(
            "Only keys with 'weight' or 'bias' are perturbed, but all are averaged: a client's BatchNorm running "
            "means and variances (ResNet18) are sent unperturbed. They distinguish two data sets whose means differ: "
            "epsilon is infinite. MNIST's network has none.",
            "guarantee",
            true_where="no running statistics",
        ),
        statement=r"P(\text{sent} = \mu_1 \mid \mu_1) \le e^\epsilon P(\text{sent} = \mu_1 \mid \mu_2)",
        scale=_PROBABILITY,
        near="any two data sets",
    ),
    claim(
        "IM-CB-pairing",
        source("methods/corbin_fl.py", "CorBinFL.initialize_round", "A random pairing, uniform (Algorithm 3)."),
        _pairing(None),
        false(
            "The order is applied twice: pairs consist of the positions order[0], order[1], and the position i is the "
            "client order[i]. The square of a random order is not uniform: of four clients, 0 and 1 meet with "
            "probability 2/3, not 1/3. The deviation falls as 1/n, and no guarantee depends on it.",
            "step",
            corrected_by="IM-CB-set",
        ),
        domain={
            "clients": Range(4, 6, integer=True),
            "first": Range(0, 5, integer=True),
            "second": Range(0, 5, integer=True),
        },
        given=[_two_of_an_even_number],
        statement=r"P(\text{clients } i \text{ and } j \text{ are a pair}) = \frac1{n-1}",
        scale=_PROBABILITY,
        near="n = 50 is too many to enumerate",
    ),
    claim(
        "IM-CB-set",
        source("methods/AugCorbinFL.py", "AugCorBinFL.initialize_round", "A random pairing, uniform (Algorithm 3)."),
        _pairing(0),
        holds(
            "Pairs come from a Python set, in ascending order of positions. But a position is a random client, so "
            "that with gamma = 0 the pairing is uniform. This looks like a fault and is none."
        ),
        domain={
            "clients": Range(4, 6, integer=True),
            "first": Range(0, 5, integer=True),
            "second": Range(0, 5, integer=True),
        },
        given=[_two_of_an_even_number],
        idle=["first", "second"],
        statement=r"P(\text{clients } i \text{ and } j \text{ are a pair}) = \frac1{n-1} \quad (\gamma = 0)",
        scale=absolute("probability", 1e-2),
    ),
    claim(
        "IM-CB-alone",
        source(
            "methods/AugCorbinFL.py",
            "AugCorBinFL.initialize_round",
            "A fraction gamma of the clients, at random, quantizes alone.",
            "Use the position, not order[position], for the roles.",
        ),
        equal(2 / _clients + (_clients - 2) * (_alone - 1) / (_clients * (_clients - 1)), _alone / _clients),
        false(
            "A client is at its own position twice as often as it should be: of the first N = gamma n clients each "
            "quantizes alone with probability .216 at n = 50, gamma = .2, each other client with .196. No guarantee "
            "depends on it.",
            "step",
            true_where="N = n",
        ),
        given=[_alone <= _clients],
        statement=r"P(\text{client } i \text{ alone}) = \frac Nn \quad (i \le N)",
        scale=_PROBABILITY,
    ),
    claim(
        "IM-CB-gaussian",
        source(
            "methods/Gaussian_CDP.py",
            "GaussianCDP._compute_sigma",
            "README: 'Gaussian CDP, eps-CDP', central, with no delta.",
            "State the delta, and take sigma from the exact curve: the mean has sensitivity 2r/n.",
        ),
        at_most(least_delta(epsilon, 2, alpha), sp.Integer(0)),
        other_reading(
            "Read as concentrated privacy, as the name may mean it, the promise is kept (IM-CB-zcdp). Read literally it is "
            "not: with sigma = r alpha / sqrt(n) at each of n clients the mean has mu = 2 tanh(eps/2), and no Gaussian "
            "noise is private with delta = 0. At the stated eps its delta is .101 (eps = 1) and .029 (eps = 5).",
            corrected_by="IM-CB-zcdp",
            true_where="a delta is stated too",
        ),
        statement=r"\delta(\epsilon) \le 0,\quad \mu = 2/\alpha",
        scale=absolute("delta"),
    ),
    claim(
        "IM-CB-zcdp",
        source("methods/Gaussian_CDP.py", "GaussianCDP._compute_sigma", "Read as concentrated privacy."),
        at_most((2 / alpha) ** 2 / 2, epsilon**2 / 2),
        holds(
            "Its rho = 2/alpha^2 is at most eps^2/2, which eps-differential privacy itself implies for Renyi "
            "divergences."
        ),
        statement=r"\rho = \tfrac{2}{\alpha^2} \le \tfrac{\epsilon^2}{2}",
    ),
)
