r"""Central privacy of AugCorBin-FL: the divergence of the sum of one-bit updates for two updates of one client.

The sum is determined by the number of outputs :math:`c + A`. Neighbours differ in one client's update (``replace``).
The removal of a client is always visible, because the sums of n and of n - 1 outputs :math:`\pm A` lie on disjoint
lattices (ledger CB-T3): for this adjacency only delta = 1 is true.

The values are exact by four facts, proved in the Notes of :func:`one_parameter`. In the worst case (i) other pairs add
no noise; (ii) each of the N other unpaired clients is at an end of its interval; (iii) so is the client itself; (iv)
for a paired client the partner is at an end of its interval, so that under one of the two updates the sum of the pair
is constant.

:func:`sample_level_epsilon` bounds sample-level privacy (CB Eq. (2)), where one update moves by a limited distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, broadcast, real
from airtight.analytics.federated.corbin.corner_updates import LEAST_DIRECT, Family, by_direction, corners, groups
from airtight.analytics.federated.corbin.count_shift import dominating
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.privacy.accounting import adaptive_composition, composition_theorems
from airtight.analytics.privacy.accounting.envelope import Envelope
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.mechanisms.randomized_response import alpha
from airtight.analytics.rounding import UNIT

_FINE = 8  # least number of grid steps in one standard deviation of a parameter's loss
_MOST_STEPS = 1024  # greatest number of grid steps of losses on either side of 0
_GREATEST_LOSS = 690.0  # greatest finite loss of a grid: its exponential is still a double
_DIGITS = 16  # eps_p and m T are rounded up to this many leading binary digits
_NEGLIGIBLE = 1e-10  # share of delta that trimming may cost


class Client(StrEnum):
    """How the client in question quantizes."""

    UNPAIRED = "unpaired"
    PAIRED = "paired"
    EXPOSED = "exposed"  # paired with a client that tells the observer the shared bits


@dataclass(frozen=True)
class PublishedCentral:
    """The guarantee of Theorem 3, Eq. (5), as printed.

    Attributes
    ----------
    epsilon : float
        :math:`\\epsilon_u`; nan when the theorem's condition fails.
    condition : bool
        Whether n is "large enough".
    value : float
        The right-hand side of (5), also where the condition fails.
    """

    epsilon: float
    condition: bool
    value: float

    @classmethod
    def of(cls, system: FederatedSystem) -> PublishedCentral:
        """The claim for one round of a system; adjacency ``replace``."""
        return published(
            system.clients,
            system.parameters,
            local_epsilon=system.epsilon,
            delta=system.delta,
            fraction=system.ldp_fraction,
            radius=system.radius,
        )


def published(
    clients: int,
    parameters: int,
    *,
    local_epsilon: float,
    delta: float,
    fraction: float,
    radius: float = 1.0,
) -> PublishedCentral:
    r"""CB Theorem 3, Eq. (5), as printed: false for the removal of a client, wrong as a formula for its replacement.

    .. math:: \frac{\epsilon_u}{r\alpha} = \sqrt{\frac{8m\log(1.25/\delta)}{(n\gamma-1)e_p}}
              + \frac{8(\log\frac{1.25}\delta + \log\frac{20m}\delta\log\frac{10}\delta)}{3(n\gamma-1)}
              + \frac{4b_p\sqrt{2m}(1.75+3.75/\alpha^2)\sqrt{\log(10/\delta)}}{(n\gamma-1)(1-\delta/10)e_p},
              \quad e_p = 1+\alpha^{-2},\ b_p = \tfrac{e_p}3+\tfrac1\alpha

    under :math:`(n\gamma-1)(\tfrac14-\tfrac1{4\alpha^2}) \ge \max(23\log\frac m\delta, 2r\alpha)`. The printed epsilon
    is proportional to the radius, as if it were a length.

    Examples
    --------
    >>> alpha_5 = float(alpha(5.0))
    >>> round(published(41000, 1, local_epsilon=5.0, delta=1e-5, fraction=1.0, radius=1 / alpha_5).epsilon, 5)
    0.05017
    """
    n, m = checks.count("clients", clients), checks.count("parameters", parameters)
    d = checks.scalar("delta", delta, "(0, 1)")
    share = checks.scalar("fraction", fraction, "[0, 1]")
    r = checks.scalar("radius", radius, "(0, inf)")
    a = float(alpha(checks.scalar("local_epsilon", local_epsilon, "(0, inf]")))
    noise = n * share - 1
    needed = max(23 * np.log(m / d), 2 * r * a)
    condition = bool(noise * (0.25 - 0.25 / a**2) >= needed)
    if noise <= 0:
        return PublishedCentral(np.nan, False, np.nan)
    e, b = 1 + a**-2, (1 + a**-2) / 3 + 1 / a
    value = (
        r
        * a
        * (
            np.sqrt(8 * m * np.log(1.25 / d) / (noise * e))
            + 8 * (np.log(1.25 / d) + np.log(20 * m / d) * np.log(10 / d)) / (3 * noise)
            + 4 * b * np.sqrt(2 * m) * (1.75 + 3.75 / a**2) * np.sqrt(np.log(10 / d)) / (noise * (1 - d / 10) * e)
        )
    )
    return PublishedCentral(float(value) if condition else np.nan, condition, float(value))


def removal_delta(clients: int) -> float:
    """delta of removing a client, for every finite epsilon: 1, by parity (ledger CB-T3). Adjacency (1) of the paper.

    Examples
    --------
    >>> removal_delta(1000)
    1.0
    """
    checks.count("clients", clients)
    return 1.0


def local_epsilon(epsilon: ArrayLike, parameters: int) -> FloatArray:
    """Pure local epsilon of a whole update for an observer of one uplink: m eps_p, rounded up. Adjacency: ``replace``.

    Examples
    --------
    >>> float(local_epsilon(0.5, 10))
    5.0
    """
    count = checks.count("parameters", parameters)

    def rounded_up(x: float) -> float:
        value = x * count
        return math.nextafter(value, math.inf) if value < math.inf and Fraction(value) < count * Fraction(x) else value

    return np.asarray(np.vectorize(rounded_up, otypes=[float])(real("epsilon", epsilon, "(0, inf]")))[()]


def contributions(
    client: Client | str, *, epsilon: float, bits: int | None = None, move: float = 2.0
) -> list[tuple[FloatArray, FloatArray]]:
    """Extreme pairs of laws of the contribution of one client, with its partner if it has one, to the count.

    Parameters
    ----------
    client : {"unpaired", "paired", "exposed"}
        Of an exposed client the laws given that its output is not :func:`alike`.
    epsilon : float
        eps_p, in (0, inf).
    bits : int or None
        Shared bits of a pair.
    move : float
        Greatest distance of the two values of the client's parameter in units of the radius, in [0, 2].

    Returns
    -------
    list of (ndarray, ndarray)
        Laws on {0, 1} or {0, 1, 2}; mirror images (0 exchanged with 1, or 0 with 2) are left out.

    Examples
    --------
    >>> [(p.round(3).tolist(), q.round(3).tolist()) for p, q in contributions("paired", epsilon=np.log(3))]
    [([0.0, 0.5, 0.5], [0.0, 1.0, 0.0]), ([0.0, 1.0, 0.0], [0.0, 0.5, 0.5])]
    """
    mode = checks.choice("client", client, Client)
    low, high, share = interval(checks.scalar("epsilon", epsilon, "(0, inf)"))
    fraction = checks.scalar("move", move, "[0, 2]") / 2
    gap = fraction * share
    if mode is Client.UNPAIRED:
        if fraction == 1:
            return [(np.array([low, high]), np.array([high, low]))]
        return [(_coin(high), _coin(low + (1 - fraction) * share)), (_coin(low + gap), _coin(low))]
    if mode is Client.EXPOSED:
        return [(np.array([0.0, 1.0]), np.array([1.0, 0.0]))]
    d = None if bits is None else checks.count("bits", bits, "[0, 60]")
    if d is None:
        base, moved = np.array([0.0, 1.0, 0.0]), np.array([0.0, 2 * low if fraction == 1 else 1 - gap, gap])
        return [(moved, base), (base, moved)]
    # within a cell the law is bilinear in both levels: only ends of the interval and edges of cells can be extreme
    cells = 2.0**d
    ends = low * cells, high * cells
    inner_edges = np.ceil(ends[0]), np.floor(ends[0]) + 1, np.floor(ends[1])
    # partners at the upper end of the interval give the mirror images
    partner_levels = ends[0], np.ceil(ends[0]), np.floor(ends[0]) + 1
    pairs: dict[bytes, tuple[FloatArray, FloatArray]] = {}
    for partner_level in {x for x in partner_levels if x <= ends[1]}:
        levels = {*ends, np.floor(partner_level), np.floor(partner_level) + 1, *inner_edges}
        for first, second in product(sorted(x for x in levels if ends[0] <= x <= ends[1]), repeat=2):
            reach = gap * cells
            if first == second:
                continue
            nearer = first + np.clip(second - first, -reach, reach)
            for level, other in {(first, nearer), (nearer, first)}:
                pair = (
                    sum_law(level / cells, partner_level / cells, d),
                    sum_law(other / cells, partner_level / cells, d),
                )
                pairs[np.concatenate(pair).tobytes()] = pair
    return list(pairs.values())


def alike(client: Client | str, *, epsilon: float, move: float = 2.0) -> float:
    r"""Probability that the observer sees that both updates give the same output of one client.

    It is 0 but for an exposed client. With probabilities q and q' of a plus, :math:`|q - q'| \le g = t\,/2\alpha` for a move of
    t radii, an exposed client sends a plus if a number U, uniform in [0, 1], is below q; the observer knows U from its partner.
    The outputs differ where U lies between q and q'. Finitely many shared bits are a function of U.

    Examples
    --------
    >>> alike("exposed", epsilon=np.log(3)), alike("paired", epsilon=1.0)
    (0.5, 0.0)
    """
    if checks.choice("client", client, Client) is not Client.EXPOSED:
        return 0.0
    return 1 - checks.scalar("move", move, "[0, 2]") / 2 * interval(checks.scalar("epsilon", epsilon, "(0, inf)"))[2]


def interval(epsilon: float) -> tuple[float, float, float]:
    """Least and greatest probability of a plus output, and their difference 1/alpha."""
    return float(special.expit(-epsilon)), float(special.expit(epsilon)), float(np.tanh(epsilon / 2))


def _coin(q: float) -> FloatArray:
    return np.array([1 - q, q])


def sum_law(q1: float, q2c: float, bits: int) -> FloatArray:
    """Law of the number of plus outputs of a pair with levels q_1 and 1 - q_2 and finitely many bits."""
    cells = 2.0**bits
    a, b = cells * q1, cells * q2c
    f1, f2 = a - np.floor(a), b - np.floor(b)
    if np.floor(a) == np.floor(b):
        none, both = (1 - f1) * f2 / cells, f1 * (1 - f2) / cells
    else:
        none, both = max(b - a, 0.0) / cells, max(a - b, 0.0) / cells
    return np.array([none, 1 - none - both, both])


def one_parameter(
    others: int,
    *,
    epsilon: float,
    client: Client | str,
    bits: int | None = None,
    move: float = 2.0,
    delta: float = 1e-5,
) -> Envelope:
    r"""Exact central privacy of one parameter, worst over the updates of all clients. Adjacency: ``replace``.

    Parameters
    ----------
    others : int
        N, the number of other unpaired clients that do not collude: gamma n - 1 for an unpaired client, gamma n for a paired
        one.
    epsilon : float
        eps_p.
    client : {"unpaired", "paired", "exposed"}
    bits : int or None
        Shared bits of a pair; None for the limit.
    move : float
        Greatest distance of the two values of the parameter in units of the radius: 2 for any replacement.
    delta : float
        Least delta of interest: mass up to 1e-10 of it is trimmed, and added to every delta.

    Returns
    -------
    Envelope
        Upper bounds ``.delta(epsilon)`` and ``.epsilon(delta)``. They are exact up to N = 1000; beyond, epsilon is
        about 0.3 % too large (1.2 % where it is a small fraction of the standard deviation of the loss). For a pair
        whose sum takes three values (possible with finitely many bits) they are exact up to N = 128, and of the others
        only so many are used that the variance of their sum is at most 25 000.

    Notes
    -----
    *Hypotheses.* (Ledger CB-T3*, CB-T3*-paired.) One client's update is replaced; each output is one of two values, the upper one
    with a probability in :math:`[\tfrac12-\tfrac1{2\alpha}, \tfrac12+\tfrac1{2\alpha}]`; N others are unpaired and
    quantize independently; the server sees the sum.

    *Corners.* The hockey-stick divergence is jointly convex. The law of the sum is affine in the probability of each
    other client (which is the same under P and Q), and affine in the client's own probability. So the divergence is
    greatest where all probabilities are ends of the interval
    :math:`[\tfrac12-\tfrac1{2\alpha}, \tfrac12+\tfrac1{2\alpha}]`. By symmetry only the number j of clients at the
    upper end matters: N + 1 corners. The two orders of (P, Q) are mirror images, j for N - j.

    *Pairs.* In the worst case the sum of another pair is constant, as for two parameters at the center with d >= 1, because
    independent noise can only lower a divergence. (Without shared bits another pair always adds noise; then the value is an
    upper bound.) For the client's own pair with infinitely many bits the law of its sum is affine in s,
    the sum of both offsets, on either side of 0. The pair of laws belongs to the client's two values w, w' and its
    partner's value, and is affine in these three on each of the parts into which s = 0 and s' = 0 cut their cube. A convex
    function is greatest at a corner of a part. There the partner is at an end, and w and w' are: with the partner at an
    end, s = 0 only at the other end; where s = s' = 0 the two laws agree. The two laws are {always 1} and {2 with
    probability 1/alpha, else 1}. If w and w' are at most `move` apart, the laws depend on s and s' alone. On different sides
    of 0 the corners are (s, s') = (0, +-m) and (+-m, 0), m being the greatest difference. On one side let gamma be the
    difference of the two probabilities of 2 (or 0): the divergence is convex in the lesser probability, in [0, 1 - gamma],
    whose ends are the same pair and its mirror image, with j for N - j. With d bits the law is bilinear in both levels
    within a cell; :func:`contributions` lists all corners of cells that can be extreme.

    *Colluders.* What they send is subtracted. A client whose partner colludes sends a plus with a probability in [0, 1] that
    the observer knows but for the update; for clients other than the one in question it is the same under both updates, and
    by joint convexity worst at 0 or 1: such a client adds no noise. The client itself is *exposed*: given U of :func:`alike`, its
    output is the same under both updates with probability 1 - g, and else a plus under one and a minus under the other. So
    :math:`\delta = g\max_j D(Y_j + 1\|Y_j)`, :math:`Y_j` being the sum of the others at a corner.

    *Ranges.* Removing clients from the noise can only raise the divergence. So a clients at the upper end and N - b at
    the lower end bound all corners j = a, ..., b. For the same reason N may be rounded down to ten binary digits. The
    laws of long counts are replaced by pairs with fewer outcomes that dominate them
    (:mod:`airtight.analytics.federated.corbin.count_shift`).

    Examples
    --------
    >>> alone = one_parameter(99, epsilon=1.0, client="unpaired")
    >>> float(alone.delta(0.5))
    5.655...e-07
    >>> float(one_parameter(9, epsilon=1.0, client="paired").epsilon(1e-5))
    inf
    """
    eps, level = checks.scalar("epsilon", epsilon, "(0, inf)"), checks.scalar("delta", delta, "(0, 1)")
    laws = contributions(client, epsilon=eps, bits=bits, move=move)
    low, high, _ = interval(eps)
    family = Family.of(others, low, high, laws, level, alike=alike(client, epsilon=eps, move=move))
    return family.envelope(family.corners, laws)


def update_epsilon(
    others: int,
    parameters: int,
    *,
    epsilon: float,
    client: Client | str,
    delta: float,
    bits: int | None = None,
    rounds: int = 1,
) -> float:
    r"""Central epsilon of a whole update of m parameters over T rounds, worst over all updates. Adjacency: ``replace``.

    The value is an upper bound. For N and m T up to 10^7, tests found it at most 1.4 % above the epsilon of one corner
    used in every parameter, with two exceptions. Where epsilon is less than the standard deviation of the total loss,
    the excess is up to 0.5 % of that deviation. Where adaptively chosen corners do leak more, it is larger (3 % for
    two parameters among 26 clients). For a pair with bits and N > 128 the bound may be looser. For an unpaired client
    the value is at most m T eps_p. For a paired or exposed client it is infinite when outcomes that are impossible under the
    other update have a probability above delta.

    Parameters
    ----------
    others, epsilon, client, bits
        See :func:`one_parameter`.
    parameters : int
        m.
    delta : float
        In (0, 1).
    rounds : int
        T, with fresh randomness; the updates may be chosen adaptively.

    Notes
    -----
    *Bound.* The m T parameters are independent given the updates, and each may have its own worst corner, chosen with
    knowledge of the earlier outputs (:mod:`airtight.analytics.privacy.accounting.adaptive_composition`). Corners are
    gathered in a few overlapping groups by the share j/N of clients at the upper end; the chords of the greatest curve
    of a group define its loss distribution.

    *Rounding.* If the probabilities under P and Q have relative errors a and b, a loss has the error a + b, which is
    added for each of the m T parameters. The ends of the intervals, and with bits the levels in their cells, are taken
    to be the nearest doubles.

    *Monotonicity.* The curves are monotone for the following reasons. Without one of the others, the curve of every
    corner lies above that of a corner of the same group with all clients. The curves rise with eps_p, since the
    intervals do; the steps of the grids of losses are powers of two that fall with N and rise with eps_p. Further
    releases only add terms. This does not prove that the result is monotone: the trimmed mass, 1e-10 of delta, and the
    bound of the gain by adaptive choice (:mod:`airtight.analytics.privacy.accounting.fixed_choice`) need not be
    monotone. Therefore eps_p and m T are rounded up to 16 binary digits and N is rounded down to ten: neighbouring
    arguments have the same result or leak amounts that differ by 1e-5 or more. Monotone results are observed, not
    proved.

    Examples
    --------
    >>> update_epsilon(999, 100, epsilon=1.0, client="unpaired", delta=1e-5)
    1.2...
    >>> update_epsilon(1_000_000, 1_000_000, epsilon=1.0, client="unpaired", delta=1e-5)
    4.6...
    """
    return mixed_epsilon([(client, others)], parameters, epsilon=epsilon, delta=delta, bits=bits, rounds=rounds)


def mixed_epsilon(
    cases: Sequence[tuple[Client | str, int]],
    parameters: int,
    *,
    epsilon: float,
    delta: float,
    bits: int | None = None,
    rounds: int = 1,
) -> float:
    """The bound of :func:`update_epsilon` for a client that may quantize differently in each round.

    Parameters
    ----------
    cases : sequence of (client, int)
        How the client quantizes, and N, the number of other clients that are then unpaired; the observer may know the
        case of a round.
    parameters, epsilon, delta, bits, rounds
        See :func:`update_epsilon`; the recursion over corners chooses among the corners of all cases.

    Examples
    --------
    >>> both = mixed_epsilon([("unpaired", 2000), ("paired", 2000)], 1, epsilon=1.0, delta=1e-5, rounds=5)
    >>> max(update_epsilon(2000, 1, epsilon=1.0, client=c, delta=1e-5, rounds=5) for c in ("unpaired", "paired")) <= both < 1
    True
    """
    m, T = checks.count("parameters", parameters), checks.count("rounds", rounds)
    eps, level = checks.scalar("epsilon", epsilon, "(0, inf)"), checks.scalar("delta", delta, "(0, 1)")
    total, modes = m * T, {checks.choice("client", client, Client) for client, _ in cases}
    pure = float(local_epsilon(eps, total)) if modes == {Client.UNPAIRED} else np.inf
    if total == 1:
        curves = [one_parameter(n, epsilon=eps, client=mode, bits=bits, delta=level) for mode, n in cases]
        return min(max(float(curve.epsilon(level)) for curve in curves), pure)
    grids, total, rounding = prepared(cases, total, epsilon=eps, delta=level, bits=bits)
    return min(_composed(grids, level, total, rounding=rounding), pure)


def prepared(
    cases: Sequence[tuple[Client | str, int]], count: int, *, epsilon: float, delta: float, bits: int | None
) -> tuple[list[LossDistribution], int, float]:
    """Loss distributions on one grid, one for each case and group of corners; number of parameters; error of the loss.

    The number of parameters and eps_p are rounded up; the error is that of the total loss.
    """
    eps, total = _rounded_up(epsilon), int(_rounded_up(count))
    low, high, share = interval(eps)
    envelopes, steps = [], []
    for mode, others in cases:
        laws = contributions(mode, epsilon=eps, bits=bits)
        family = Family.of(others, low, high, laws, delta / total, alike=alike(mode, epsilon=eps))
        envelopes += [family.envelope(group, moves) for group in groups(family.corners) for moves in by_direction(laws)]
        deviation = share / np.sqrt(max(sum(family.corners[0]) * low * high, 0.25))
        steps.append(2.0 ** np.floor(np.log2(min(deviation, eps) / _FINE)))
    step = min(steps)
    top = max(bound.reach(max(delta / total * _NEGLIGIBLE, LEAST_DIRECT), default=step) for bound in envelopes)
    top = min(top, _GREATEST_LOSS)
    while top > step * _MOST_STEPS:
        step *= 2
    grids = [bound.composable(step=step, reach=top) for bound in envelopes]
    return grids, total, total * max(bound.loss_error for bound in envelopes)


def _composed(grids: Sequence[LossDistribution], delta: float, count: int, *, rounding: float) -> float:
    """Epsilon of `count` parameters; the error `rounding` of the total loss is added to epsilon or taken from delta."""
    composed_epsilon = adaptive_composition.epsilon(grids, delta, count=count)
    upper_bound = (composed_epsilon + rounding) * (1 + 2**-50)
    if 1e-4 * composed_epsilon < rounding < delta:
        upper_bound = min(upper_bound, adaptive_composition.epsilon(grids, delta - rounding, count=count))
    return float(upper_bound)


def _rounded_up(value: float) -> float:
    """The least number with `_DIGITS` binary digits that is not below `value`."""
    fraction, exponent = math.frexp(value)
    return math.ldexp(math.ceil(math.ldexp(fraction, _DIGITS)), exponent - _DIGITS)


def server_delta(epsilon: ArrayLike, *, local: ArrayLike) -> FloatArray:
    r"""delta of one parameter of a paired client if the server sees both outputs of the pair. Adjacency: ``replace``.

    Worst over the client's two values and the partner's value, for infinitely many shared bits:
    :math:`\delta = 1/\alpha = \tanh(\epsilon_p/2)` at *every* epsilon, even 0. There is no finite pure epsilon; the
    only guarantee is that the server learns nothing with probability :math:`1 - 1/\alpha`. The same holds if the
    server also knows the shared bits.

    Parameters
    ----------
    epsilon : array_like
        >= 0.
    local : array_like
        eps_p.

    Notes
    -----
    *Hypotheses.* (Ledger CB-PLDP*.) One client of a pair replaces its update, the server sees both outputs;
    :math:`\epsilon \ge 0`.

    The joint law (++, +-, -+, --) is piecewise affine in the client's parameter with its break at :math:`u = 0`, and
    affine in the partner's parameter between breaks. So the worst values are ends of the interval or the break. With
    the partner at the upper end, the laws for the client at the upper and at the lower end are (1/alpha, l, l, 0) and
    (0, l, h, 0), with l + h = 1 and h - l = 1/alpha. Only ++ has a positive difference, and its probability under Q is
    0. The total variation distance of any two of the laws is at most h - l, since the threshold for one uniform number
    moves by at most h - l. In Coq: `CB_PLDP_star` of `formal/corbin_fl_general.v`, for every number of shared bits
    and the limit.

    Examples
    --------
    >>> float(server_delta(5.0, local=1.0))
    0.462...
    """
    _, share = broadcast(
        epsilon=real("epsilon", epsilon, "[0, inf)"), local=np.tanh(real("local", local, "(0, inf]") / 2)
    )
    return np.asarray(share)[()]


def server_delta_floor(*, local: float, bits: int | None) -> float:
    r"""The delta of one parameter of a paired client that no finite epsilon goes below, for d shared bits.

    It is :math:`\max(0,\ h - \lceil 2^dl\rceil/2^d)` with :math:`l = 1/(1+e^{\epsilon_p})`, :math:`h = 1 - l`; without
    shared bits it is 0, and the server learns no more than from one uplink. For infinitely many bits it is
    :func:`server_delta`, which bounds the delta at every epsilon for any number of bits. Adjacency: ``replace``.

    Notes
    -----
    Let a and a' be the client's levels :math:`2^dq` under both updates, b the partner's level, all of them in
    :math:`[2^dl, 2^dh]`. Both send a plus with positive probability under a' if and only if
    :math:`\lceil a'\rceil > \lfloor b\rfloor`. So a plus-plus that is impossible under a' needs
    :math:`\lfloor b\rfloor \ge \lceil a'\rceil \ge \lceil 2^dl\rceil`. Its probability under a is at most
    :math:`(a - \lfloor b\rfloor)/2^d`, in one cell as across cells, which is at most the value. It is attained at
    :math:`a = 2^dh`, :math:`a' = b = \lceil 2^dl\rceil`. The same holds for minus-minus by symmetry. Both are impossible
    under a' at once only where a' = b is an edge, and then only one of them is possible under a. Two unlike outputs are
    always possible.

    Examples
    --------
    >>> [round(server_delta_floor(local=1.0, bits=d), 4) for d in (0, 1, 2, 5, None)]
    [0.0, 0.2311, 0.2311, 0.4498, 0.4621]
    """
    eps = checks.scalar("local", local, "(0, inf]")
    if bits is None:
        return float(np.tanh(eps / 2))
    cells = 2.0 ** checks.count("bits", bits, "[0, 60]")
    low = math.exp(-eps) / (1 + math.exp(-eps))
    # ceil is taken a little below the level, so that its rounding cannot lower the value
    return max(0.0, 1 - low - math.ceil(cells * low * (1 - 4 * float(UNIT))) / cells)


_EVERY_CORNER, _RANGES = 128, 128  # number of others up to which every corner is tried; ranges beyond
_UNTRIMMED, _TRIMMED = 256, 1e-300  # number of others up to which nothing is trimmed; mass that is trimmed beyond


def sample_level_epsilon(
    others: int, parameters: int, *, local: float, move: float, delta: float, rounds: int = 1
) -> float:
    r"""Central epsilon of an unpaired client whose update moves by at most `move` radii. Adjacency: ``replace``.

    This is the sample-level privacy (2) of the paper. The value for one parameter is exact; several parameters are
    bounded by sums of Renyi divergences.

    Parameters
    ----------
    others, parameters, rounds : int
        N, m and T.
    local : float
        eps_p.
    move : float
        :math:`\Delta_2/r` > 0, the greatest move in the 2-norm.

    Notes
    -----
    *Hypotheses.* (Ledger CB-E2*.) Order :math:`a \ge 2`; Q is the law of a parameter's sum with the move, P without
    it; the client in question and the others are unpaired.

    Let one parameter move by t radii: :math:`P = Q + gD` with :math:`g = t/(2\alpha)` and D the difference of the
    noise law and its shift by one. With :math:`X = D/Q`, :math:`E_Q(1+gX)^a = 1 + E_Q[(1+gX)^a - 1 - agX]`, and
    :math:`h_g(x) = ((1+gx)^a-1-agx)/g^2` is :math:`a(a-1)x^2\int_0^1(1-s)(1+sgx)^{a-2}\,ds`: as a >= 2, it rises with g
    for x >= 0 and is at most :math:`a(a-1)x^2/2` for x < 0. So the Renyi divergence of order a of one parameter is at most
    :math:`\log(1+g^2C)/(a-1)` with C the mean of h at the greatest g, and the divergence of T rounds, whose updates may
    depend on earlier rounds, is at most :math:`TC\sum g^2/(a-1) \le CT\Delta_2^2/(4r^2\alpha^2(a-1))`. The epsilon follows
    by LB-RDP-conversion, the least over the orders. C is the mean under Q of a convex function of D/Q, so it
    is jointly convex in the laws and greatest at the corners. For a given move, the client's own probability q of a
    plus lies in [low, high - g] when it rises and in [low + g, high] when it falls; the formula for C is defined and
    convex in q on all of [low, high]. So its values at both ends, with either sign of D, bound C also at the inner
    corners high - g and low + g. The mass that is trimmed from the laws of the counts enters with the greatest
    possible X, 1/low.

    Examples
    --------
    >>> sample_level_epsilon(999, 1000, local=1.0, move=0.5, delta=1e-5)
    0.0...
    """
    m, T = checks.count("parameters", parameters), checks.count("rounds", rounds)
    eps, level = checks.scalar("local", local, "(0, inf)"), checks.scalar("delta", delta, "(0, 1)")
    reach = checks.scalar("move", move, "(0, inf)")
    update_bound = update_epsilon(others, m, epsilon=eps, client=Client.UNPAIRED, delta=level, rounds=T)
    if m * T == 1:
        curve = one_parameter(others, epsilon=eps, client=Client.UNPAIRED, move=min(reach, 2.0), delta=level)
        return min(float(curve.epsilon(level)), update_bound)
    share = interval(eps)[2]
    greatest_shift = min(reach, 2.0) / 2 * share
    squares = min(reach**2, 4.0 * m) / 4 * share**2 * T
    orders = np.concatenate([np.linspace(2, 10, 17), np.geomspace(12, 2000, 40)])
    worst = _renyi_constants(others, eps, greatest_shift, orders)
    total = worst * squares / (orders - 1)
    converted = composition_theorems.renyi_to_epsilon(orders, total, delta=level)
    return min(max(float(np.min(converted)), 0.0), update_bound)


def _renyi_constants(others: int, epsilon: float, greatest_shift: float, orders: FloatArray) -> FloatArray:
    """The constant C of the Notes of :func:`sample_level_epsilon` for every order, greatest over ranges of corners."""
    low, high, _ = interval(epsilon)
    worst = np.zeros(orders.size)
    a, negligible = orders[:, None], 0.0 if others <= _UNTRIMMED else _TRIMMED
    with np.errstate(under="ignore", over="ignore", divide="ignore", invalid="ignore"):
        for first, rest in corners(others, _EVERY_CORNER, _RANGES):
            shift = dominating(first, rest, low, high, negligible=negligible)
            above, noise = shift.above, shift.base
            for q in (low, high):
                base = (1 - q) * noise + q * above
                for sign in (1, -1):
                    x, weight = sign * (above - noise)[base > 0] / base[base > 0], base[base > 0]
                    rising = (np.expm1(a * np.log1p(greatest_shift * x)) - a * greatest_shift * x) / greatest_shift**2
                    value = np.where(x >= 0, rising, a * (a - 1) * x * x / 2)
                    worst = np.maximum(worst, np.nan_to_num(value @ weight, nan=np.inf, posinf=np.inf))
        if negligible:
            worst += 4 * negligible * np.exp(orders * np.log1p(greatest_shift / low)) / greatest_shift**2
    return worst * (1 + 1e-9)
