"""Claims about what the commands compute for federated learning; each quantity is compared with its definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from scipy import integrate, optimize

from airtight.analytics.federated.corbin import (
    aggregation,
    antithetic,
    central_privacy,
    communication,
    dropout,
    mean_estimation,
)
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.few_bits import baselines, quantizer_laws
from airtight.analytics.forms.domain import Range
from airtight.solvers.design.federated import federated_design
from airtight.solvers.design.quantizer import quantizer_design
from airtight.solvers.design.requirements import FederatedRequirements
from airtight.validate.claims import reference_integrals
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.relation import absolute, equal

_EPSILON, _ANY_EPSILON = Range(0.3, 3.0), Range(0.0, 1.0)
_SEED = Range(0, 10**6, integer=True)
_CLIENTS = Range(1, 40, integer=True)
_DELTA = Range(1e-6, 1e-2, logarithmic=True)
_STATED = "compared with its definition by enumeration, integrals or sums of fractions"


def _side(function: Callable[..., tuple[float, float]], which: int) -> Callable[..., float]:
    return lambda **point: float(function(**point)[which])


def _divergence(epsilon: float, p: dict[Any, float], q: dict[Any, float]) -> float:
    """Divergence of two discrete laws, summed over the outcomes; the greater of both orders."""
    odds = math.exp(epsilon)
    orders = ((p, q), (q, p))
    return max(math.fsum(max(a.get(x, 0.0) - odds * b.get(x, 0.0), 0.0) for x in a) for a, b in orders)


def _sums(laws: Sequence[Sequence[float]]) -> dict[int, float]:
    """Law of a sum of outcomes, by enumeration of all combinations."""
    law_of_sum: dict[int, float] = {}
    for outcome in product(*(range(len(law)) for law in laws)):
        mass = math.prod(law[i] for law, i in zip(laws, outcome, strict=True))
        law_of_sum[sum(outcome)] = law_of_sum.get(sum(outcome), 0.0) + mass
    return law_of_sum


def _behind(seed: int, others: int, outputs: int, epsilon: float) -> tuple[float, float]:
    """delta of one client among others with random laws: by the library and by enumeration."""
    rng = np.random.default_rng([seed, 29])
    laws = rng.dirichlet(np.ones(outputs), size=others + 2)
    by_library = quantizer_laws.aggregate_delta(laws[0], laws[1], list(laws[2:]), epsilon=epsilon)
    first, second = (_sums([laws[i].tolist(), *laws[2:].tolist()]) for i in (0, 1))
    return by_library, _divergence(epsilon, first, second)


def _ratios(seed: int, inputs: int, outputs: int) -> tuple[float, float]:
    """Local epsilon of a random law by the library, and the greatest log-ratio in one column."""
    law = np.random.default_rng([seed, 5]).dirichlet(2 * np.ones(outputs), size=inputs)
    table = law.tolist()
    greatest = max(
        math.log(row[j] / other[j]) for row in table for other in table for j in range(outputs) if other[j] > 0
    )
    return quantizer_laws.local_epsilon(law), greatest


def _greatest_variance(reach: float, middle: float) -> tuple[float, float]:
    """Greatest variance for outputs -A, 0, A; the middle output has probability `middle` at 0, half of it at -1 and 1."""
    inputs, outputs = [-1.0, 0.0, 1.0], [-reach, 0.0, reach]
    law = []
    for x in inputs:
        keep = middle * (1 - abs(x) / 2)
        law.append([(1 - keep) / 2 - x / (2 * reach), keep, (1 - keep) / 2 + x / (2 * reach)])
    by_library = quantizer_laws.worst_variance(inputs, outputs, law)
    grid = np.linspace(-1, 1, 4001)
    masses = np.array([np.interp(grid, inputs, column) for column in np.array(law).T])
    return by_library, float(np.max(np.array(outputs) ** 2 @ masses - grid**2))


def _pair_errors(epsilon: float, steps: int) -> tuple[list[float], list[list[float]], float, list[list[float]]]:
    """Antithetic pair of bits at -A and A: both are up where U < p and 1 - U < q, of length max(p + q - 1, 0)."""
    a = 1 / math.tanh(epsilon / 2)
    inputs = np.linspace(-1, 1, 2 * steps + 1).tolist()
    up = [(1 + x / a) / 2 for x in inputs]
    errors = []
    for x, p in zip(inputs, up, strict=True):
        row = []
        for y, q in zip(inputs, up, strict=True):
            both = max(p + q - 1, 0.0)
            same = both + (1 - p - q + both)
            row.append(2 * a * a + 2 * a * a * (2 * same - 1) - (x + y) ** 2)
        errors.append(row)
    return inputs, [[1 - p, p] for p in up], a, errors


def _mean_pair(epsilon: float, steps: int) -> tuple[float, float]:
    inputs, law, a, errors = _pair_errors(epsilon, steps)
    by_library = antithetic.mean_pair_mse(inputs, outputs=[-a, a], law=law)
    return by_library, math.fsum(map(math.fsum, errors)) / len(inputs) ** 2


def _worst_pair(epsilon: float, steps: int) -> tuple[float, float]:
    """Lower bound plus 1000 times the width: the lower is attained on the grid, the upper allows (h^2 + h^2)/4 more."""
    inputs, law, a, errors = _pair_errors(epsilon, steps)
    low, high = antithetic.worst_pair_mse(inputs, outputs=[-a, a], law=law)
    worst = max(map(max, errors))
    return low + (high - low) * 1000, worst + 1000 / (2 * steps * steps)


def _bits(clients: int, parameters: int, bits: int, key: int) -> tuple[float, float]:
    """Bits of a model in 32-bit floats, a key with every client, d bits of Z and one bit for each parameter."""
    by_library = communication.stream(clients, parameters, bits=bits, key_bits=key).total
    return by_library, sum(32 + bits + 1 for _ in range(parameters)) + sum(key for _ in range(clients))


def _laplace(epsilon: float, radius: float) -> tuple[float, float]:
    """Laplace variance by the library, and the second moment of the density whose logarithm falls by epsilon per diameter."""
    rate = epsilon / (2 * radius)
    moment = integrate.quad(lambda x: x * x * rate * math.exp(-rate * x), 0, 60 / rate, epsabs=0, limit=200)[0]
    return float(baselines.laplace_variance(epsilon=epsilon, radius=radius)), moment


def _normal_noise(clients: int, parameters: int, epsilon: float, delta: float, asked: float) -> tuple[float, float]:
    """delta of the sum of all updates when every parameter changes; root finding gives the noise for (epsilon, delta)."""

    def excess(log_ratio: float) -> float:
        return math.log(_pair(math.exp(log_ratio), epsilon) / delta)

    ratio = math.exp(optimize.brentq(excess, -5, 4, xtol=1e-13))
    curve = baselines.gaussian_curve(clients, parameters, epsilon=epsilon, delta=delta)
    return float(curve.delta(asked)), _pair(ratio * math.sqrt(parameters / clients), asked)


def _pair(mu: float, epsilon: float) -> float:
    return max(reference_integrals.mixture_divergence(epsilon, [(1.0, mu, 1.0)], [(1.0, 0.0, 1.0)]), 1e-300)


def _quantiles(count: int, p: Fraction, level: Fraction) -> tuple[int, int]:
    """Least k with Pr(N <= k) at least level/2, and least k with Pr(N <= k) at least 1 - level/2, for binomial N."""
    total = Fraction(0)
    quantiles: list[int] = []
    for k in range(count + 1):
        total += math.comb(count, k) * p**k * (1 - p) ** (count - k)
        if len(quantiles) == 0 and total >= level / 2:
            quantiles.append(k)
        if len(quantiles) == 1 and total >= 1 - level / 2:
            quantiles.append(k)
    return quantiles[0], quantiles[1]


def _survivor_bounds(clients: int, tenths: int, pairs: int) -> tuple[float, float]:
    """Bounds on the number of survivors, or of pairs with one survivor; lower and upper bound in one number."""
    p, level = Fraction(tenths, 20), Fraction(1, 100)
    if pairs:
        low, high = dropout.broken_pairs(2 * clients, dropout=float(p), level=float(level))
        quantiles = _quantiles(clients, 2 * p * (1 - p), level)
    else:
        low, high = dropout.survivors(clients, dropout=float(p), level=float(level))
        quantiles = _quantiles(clients, 1 - p, level)
    return 1 + low + 1000 * high, 1 + quantiles[0] + 1000 * quantiles[1]


def _printed(clients: int, epsilon: float, radius: float, fraction: float) -> tuple[float, float]:
    """Errors of Theorems 2 and 3; Theorem 3 is a mean of Theorem 2 and of the independent quantizers' error."""
    odds = math.exp(epsilon)
    a = (odds + 1) / (odds - 1)
    theorem_2 = radius**2 / (2 * clients) * (((math.sqrt(2) - 1) * a + 1) * ((math.sqrt(2) + 1) * a - 1))
    theorem_3 = fraction * radius**2 * a * a / clients + (1 - fraction) * theorem_2
    by_library_2 = mean_estimation.published(clients, epsilon=epsilon, radius=radius)
    by_library_3 = mean_estimation.published_augmented(clients, epsilon=epsilon, fraction=fraction, radius=radius)
    return float(by_library_2) + 100 * float(by_library_3), theorem_2 + 100 * theorem_3


def _removed(clients: int) -> tuple[float, float]:
    """Sums of n and of n - 1 signs have no value in common: total variation 1, at every epsilon."""
    possible = ({sum(signs) for signs in product((-1, 1), repeat=n)} for n in (clients, clients - 1))
    first, second = (dict.fromkeys(sums, 1 / len(sums)) for sums in possible)
    return central_privacy.removal_delta(clients), _divergence(5.0, first, second)


def _among(clients: int, epsilon: float, asked: float) -> tuple[float, float]:
    """One parameter, no pairs: every client's sign by randomized response, at the worst inputs of the others."""
    made = FederatedSystem(clients=clients, parameters=1, epsilon=epsilon, ldp_fraction=1.0, dropout=0.0)
    truth = 1 / (1 + math.exp(-epsilon))
    up, down = [1 - truth, truth], [truth, 1 - truth]
    worst = 0.0
    for k in range(clients):
        rest = [up] * k + [down] * (clients - 1 - k)
        worst = max(worst, _divergence(asked, _sums([up, *rest]), _sums([down, *rest])))
    return float(aggregation.aggregation(made).delta(asked)), worst


def _among_many(clients: int, epsilon: float, share: float) -> tuple[float, float]:
    """The lower end of delta at `share` of epsilon, and the sum over all counts in fractions, all others at one end."""
    made = FederatedSystem(clients=clients, parameters=1, epsilon=epsilon, ldp_fraction=1.0, dropout=0.0)
    asked, minus, others = share * epsilon, Fraction(1 / (1 + math.exp(epsilon))), clients - 1
    noise = [math.comb(others, k) * minus**k * (1 - minus) ** (others - k) for k in range(clients)]
    padded, odds = [Fraction(0), *noise, Fraction(0)], Fraction(math.exp(asked))
    p, q = (
        [plus * padded[k] + (1 - plus) * padded[k + 1] for k in range(clients + 1)] for plus in (1 - minus, minus)
    )
    ends = (sum(max(x - odds * y, Fraction(0)) for x, y in zip(a, b, strict=True)) for a, b in ((p, q), (q, p)))
    return float(aggregation.aggregation(made).bracket(epsilon=asked)[0]), float(max(ends))


def _designed(clients: int, epsilon: float, budget: int) -> tuple[float, float]:
    """Least error for bounded epsilon and bits: by the design, and over every number of shared bits at the greatest epsilon."""
    made = FederatedSystem(clients=clients, parameters=10, epsilon=1.0)
    most_bits = 32 * 10 + 256 * clients + 10 + 10 * budget
    result = federated_design.design(made, FederatedRequirements(epsilon_at_most=epsilon, bits_at_most=most_bits))
    candidates = (
        float(
            mean_estimation.worst(clients, epsilon=epsilon, bits=d, independent=made.ldp_fraction, radius=made.radius)
        )
        for d in range(budget + 1)
    )
    feasible = result.epsilon <= epsilon * (1 + 1e-12) and federated_design.bits_of(result.system) <= most_bits
    return (result.value if feasible else math.inf), min(candidates)


def _one_bit(epsilon: float) -> tuple[float, float]:
    """Worst variance of two outputs that satisfy epsilon and the mean: +-(e^eps + 1)/(e^eps - 1), at the input 0."""
    return quantizer_design.solve(1, epsilon=epsilon).worst_variance, (
        (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    ) ** 2


def _row(
    name: str,
    location: str,
    function: Callable[..., tuple[float, float]],
    reason: str,
    domain: Any,
    statement: str,
    **rest: Any,
) -> Claim:
    relation = equal(_side(function, 0), _side(function, 1))
    stated = {"statement": statement, "unread": _STATED, **rest}
    return Claim(name, location, relation, holds(reason), domain, **stated)


CLAIMS = (
    _row(
        "CB-Q-behind",
        "ours: delta of one client within a sum, for given laws of the others",
        _behind,
        "Compared with an enumeration of all combinations of outcomes.",
        {
            "seed": _SEED,
            "others": Range(0, 4, integer=True),
            "outputs": Range(2, 4, integer=True),
            "epsilon": _ANY_EPSILON,
        },
        r"\delta(\epsilon) = \max D_{e^\epsilon}",
        scale=absolute("", 1e-2),
    ),
    _row(
        "CB-Q-local",
        "ours: epsilon of one uplink",
        _ratios,
        "Compared with every pair of inputs and every output.",
        {"seed": _SEED, "inputs": Range(2, 6, integer=True), "outputs": Range(2, 5, integer=True)},
        r"\epsilon = \max\log\frac{P(y|x)}{P(y|x')}",
    ),
    _row(
        "CB-Q-variance",
        "ours: the greatest variance of a quantizer of three outputs",
        _greatest_variance,
        "Compared with the variance at 4001 inputs.",
        {"reach": Range(2.0, 6.0), "middle": Range(0.05, 0.4)},
        r"\max_x\mathrm{Var}(Y|x)",
        tolerance=1e-6,
    ),
    _row(
        "CB-Q-pair-mean",
        "ours: the mean error of an antithetic pair of bits",
        _mean_pair,
        "Both bits are up on an interval of U; summed over every pair of inputs.",
        {"epsilon": _EPSILON, "steps": Range(1, 12, integer=True)},
        r"E(X + Y - x - y)^2",
    ),
    _row(
        "CB-Q-pair-worst",
        "ours: both bounds on the worst error of an antithetic pair of bits (their distance counted a thousand times)",
        _worst_pair,
        "Compared with every pair of inputs, plus the allowance for inputs between them.",
        {"epsilon": _EPSILON, "steps": Range(1, 12, integer=True)},
        r"\max E(X + Y - x - y)^2",
        tolerance=1e-6,
    ),
    _row(
        "CB-Q-bits",
        "ours: bits per client and round with a stream cipher",
        _bits,
        "Counted parameter by parameter and key by key.",
        {
            "clients": _CLIENTS,
            "parameters": Range(1, 500, integer=True),
            "bits": Range(0, 30, integer=True),
            "key": Range(64, 512, integer=True),
        },
        r"32m + nk + dm + m",
    ),
    _row(
        "CB-Q-laplace",
        "ours: the variance of Laplace noise of the same local privacy",
        _laplace,
        "Compared with the integrated second moment of the density.",
        {"epsilon": _EPSILON, "radius": Range(0.1, 10.0)},
        r"2(2r/\epsilon)^2",
        tolerance=1e-7,
    ),
    _row(
        "CB-Q-gaussian",
        "ours: the sum of updates with Gaussian noise",
        _normal_noise,
        "The noise comes from root finding; the divergence of the sum is integrated.",
        {
            "clients": _CLIENTS,
            "parameters": Range(1, 9, integer=True),
            "epsilon": _EPSILON,
            "delta": _DELTA,
            "asked": _ANY_EPSILON,
        },
        r"\delta(\epsilon) = D_{e^\epsilon}",
        scale=absolute("", 1e-2),
        tolerance=1e-6,
        effort=1 / 2,
    ),
    _row(
        "CB-Q-left",
        "ours: the number of clients, or of pairs with one client, that remain (the upper bound counted a thousand "
        "times)",
        _survivor_bounds,
        "Compared with binomial probabilities as fractions.",
        {
            "clients": Range(2, 40, integer=True),
            "tenths": Range(1, 9, integer=True),
            "pairs": Range(0, 1, integer=True),
        },
        r"\Pr(N < l) \le \tfrac{1}{200},\ \Pr(N > u) \le \tfrac{1}{200}",
    ),
    _row(
        "CB-Q-printed",
        "ours: the errors of Theorems 2 and 3 as printed (the second counted a hundred times)",
        _printed,
        "The printed formulas. CB-T2 and CB-T3 say whether they are true.",
        {"clients": _CLIENTS, "epsilon": _EPSILON, "radius": Range(0.1, 3.0), "fraction": Range(0.0, 1.0)},
        r"\frac{r^2}{2n}((\sqrt2-1)\alpha+1)((\sqrt2+1)\alpha-1)",
    ),
    _row(
        "CB-Q-removal",
        "ours: delta of removing a client",
        _removed,
        "Sums of n and of n - 1 signs have no value in common.",
        {"clients": Range(1, 12, integer=True)},
        r"\delta = 1",
        unread="",
        idle=("clients",),
        constants=True,
    ),
    _row(
        "CB-Q-aggregation",
        "ours: delta of one client among others that quantize alone, one parameter",
        _among,
        "Compared with all outcomes, for every number of others at either end point.",
        {"clients": Range(1, 8, integer=True), "epsilon": _EPSILON, "asked": _ANY_EPSILON},
        r"\delta(\epsilon) = \max_k D_{e^\epsilon}",
        scale=absolute("", 1e-2),
        tolerance=1e-6,
        effort=1 / 4,
    ),
    _row(
        "CB-Q-aggregation-lower",
        "ours: the lower end of delta of one client among many that quantize alone, one parameter",
        _among_many,
        "Compared with the sum over all counts as fractions, with all other clients at one end of their interval, which "
        "is the choice of updates that the lower end makes for these epsilons.",
        {"clients": Range(2, 60, integer=True), "epsilon": _EPSILON, "share": Range(0.4, 0.9)},
        r"\underline\delta(s\epsilon_p) = D_{e^{s\epsilon_p}},\quad \text{all others at one end}",
        tolerance=1e-6,
        effort=1 / 4,
    ),
    _row(
        "CB-Q-design",
        "ours: the least error for a bounded epsilon and a bounded number of bits",
        _designed,
        "Compared with every number of shared bits at the greatest epsilon; the error itself is CB-T2*.",
        {"clients": Range(2, 60, integer=True), "epsilon": _EPSILON, "budget": Range(0, 12, integer=True)},
        r"\min_d\mathrm{MSE}(\epsilon, d)",
        effort=1 / 4,
    ),
    _row(
        "CB-Q-one-bit",
        "ours: the least worst variance of one bit",
        _one_bit,
        "Two outputs that satisfy epsilon and the mean are at the distance of CB-A1.",
        {"epsilon": Range(0.3, 5.0)},
        r"\alpha^2",
        tolerance=1e-6,
        effort=1 / 8,
    ),
)
