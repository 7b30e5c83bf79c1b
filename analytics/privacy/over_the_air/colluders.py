r"""Which m of the other devices reveal most about device k, if they tell the server their participation, codes and noise.

Device j adds noise of variance :math:`B_js_j` to the received signal, :math:`B_j` its roll, :math:`P(B_j = 1) = p_j`. Those who
collude are subtracted (docs/colluders.md, theorem 1), so that the others' noise is :math:`W_H = \sum_{j\in H}B_js_j` of the
honest H, independent of the rolls of the colluders. The divergence of device k is :math:`E\,g(N + W_H)`, and g, the divergence
at a given noise of the others, never rises, for every adjacency, order and :math:`\lambda`: more noise is post-processing
(theorem V4). So the set J of colluders whose W is stochastically least is the worst.

**Exchange** (theorems 3 and 4). Where :math:`s_i \ge s_j` and :math:`p_i \ge p_j`, or :math:`p_js_j = 0`, the law of
:math:`B_is_i` is stochastically at least that of :math:`B_js_j`: a colluder i in place of j is at least as bad, at every
:math:`\lambda`, in both orders. So one of the worst J holds with j everything above j: an *upper set*. If all devices
compare, the first m are the worst J, for any number of rounds too, as the pair of this J dominates the pair of every other.

**Phantom** (a bound where many upper sets exist). Let :math:`a_1 \le a_2 \le \dots` be the sorted :math:`s_j` of the others,
:math:`b_1 \le b_2 \le \dots` their sorted :math:`p_j`, n of the others honest. Then
:math:`W^- = \sum_{i\le n}\mathrm{Bern}(b_{n+1-i})a_i \le_{st} W_H` for every H of n devices. *Proof.* The i-th least s of H is at
least :math:`a_i`, and its i-th least p at least :math:`b_i`: lower them. It remains to pair n numbers a with n numbers b. For
:math:`a < a'`, :math:`b < b'` the sums of the pairings (a, b), (a', b') and (a, b'), (a', b) have the same masses on 0 and
:math:`a + a'`; on a' the first has :math:`b'(1-b)`, the second :math:`b(1-b')`, which is less, and on a the other way round.
So the second is stochastically less. Undo the inversions one after the other.

**Exponentials** (theorem 5). If :math:`g(v) \le \sum_lc_le^{-\theta_l(v-N)}`, :math:`c_l, \theta_l \ge 0`, for all values that
:math:`v = N + W_H` takes, then, with :math:`q_j(\theta) = E\,e^{-\theta B_js_j} = 1 - p_j(1 - e^{-\theta s_j})`,

.. math:: \max_J E\,g(N + W_H) \le \sum_lc_l\max_J\prod_{j\in H}q_j(\theta_l),

and the product is greatest without the m devices of least :math:`q_j`. The sets of these m devices, for :math:`\theta` from 0
(greatest :math:`p_js_j`) to infinity (greatest :math:`p_j`), are good candidates for the worst J, and each is a lower bound.

**Covers** (several looks, where which m are the worst differs from state to state). Divide the others into q groups. Every m of
them lie in the union of some m groups, and a server with more partners knows more: the greatest divergence against the unions is
an upper bound. Where there are few sets of m, all are tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.rounding import UNIT

Set = tuple[int, ...]

_MOST_SETS = 32  # upper sets up to which all are tried
_MOST_KINDS, _MOST_FREE = 2048, 64  # of unlike devices, all and those that not all upper sets hold, up to which they are listed
_MOST_COVERS, _MOST_ROLLED = 16, 16  # unions of groups that are tried; random devices up to which several sets are
_INDEX_SETS = 24  # values of theta between 0 and infinity whose sets are tried for a lower bound
_THETAS, _SPAN = 32, 50.0  # exponentials of the upper bound, and how far they reach to either side of the most important one
_WIDE, _CLOSE, _BULK = 60, 180, 8.0  # cells of the others' noise: on its whole range, and within so many deviations of its mean
_FLOOR = 1e-5  # share of the target below which the divergence counts as this share
_MARGIN = 1 + 1e-9  # the sums of up to a million noises, and of the shares, err by less, relatively
_LARGEST = 1e8  # coefficient that the linear program is shown at most
_HALVINGS = 14  # of the interval in which epsilon is sought


@dataclass(frozen=True)
class Worst:
    """Sets of colluders against one device; where `exact`, a worst one is among them, for any number of rounds.

    Where there are `covers`, each set of so many is in one of them.
    """

    sets: tuple[Set, ...]
    exact: bool
    covers: tuple[Set, ...] = ()


def worst(system: InferenceSystem, device: int, colluders: int) -> Worst:
    """Candidates for the worst sets of so many colluders against a device; the devices of a set are in increasing order.

    Examples
    --------
    >>> system = InferenceSystem(devices=4, participation=[0.5, 0.8, 1.0, 0.2], noise_variance=[0.1, 1.5, 1.0, 0.1], weight=1.0,
    ...     clip=1.0, alignment=1.0, receiver_noise_variance=0.5, dimension=8, delta=1e-5, adjacency="silent")
    >>> worst(system, 0, 1), worst(system, 0, 2)
    (Worst(sets=((1,), (2,)), exact=True, covers=()), Worst(sets=((1, 2),), exact=True, covers=()))
    """
    noise, p = _contributions(system)
    others = np.delete(np.arange(system.devices), device)
    order = others[np.lexsort((-p[others], -noise[others]))]
    if np.all(np.diff(p[order]) <= 0) or np.count_nonzero(p[order]) <= colluders:
        return Worst((_set(order[:colluders]),), True)
    if (listed := _upper_sets(noise[order], p[order], colluders)) is not None:
        return Worst(tuple(_set(order[places]) for places in listed), True)
    positive = noise[noise > 0]
    with np.errstate(over="ignore"):  # in units of the greatest noise, whose quotients may overflow
        steepest = min(30 * float(np.max(positive) / np.min(positive)), 1e300)
        thetas = [0.0, *(np.geomspace(1e-2, steepest, _INDEX_SETS) / np.max(positive)).tolist(), np.inf]
    ranked = (order[np.argsort(_log_kept(p[order], noise[order], theta), kind="stable")] for theta in thetas)
    return Worst(tuple(dict.fromkeys(_set(each[:colluders]) for each in ranked)), False)


def worst_of_looks(system: InferenceSystem, device: int, colluders: int, gain: FloatArray) -> Worst:
    """The same where devices arrive in several looks, with mean power gains of shape (K,).

    Examples
    --------
    >>> system = InferenceSystem(devices=10, participation=0.5, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.5, dimension=8, delta=1e-5)
    >>> some, unions = worst_of_looks(system, 0, 1, np.ones(10)), worst_of_looks(system, 0, 2, np.ones(10))
    >>> (len(some.sets), some.exact), (len(unions.sets), unions.exact, len(unions.covers))
    ((9, True), (1, False, 15))
    """
    noise, p = _contributions(system)
    received = noise * gain
    others = np.flatnonzero(noise > 0)  # who adds no noise is as good as a colluder
    others = others[others != device]
    few = np.count_nonzero(p[others] < 1) <= _MOST_ROLLED  # of many random devices the law of one set takes long
    if math.comb(others.size, min(colluders, others.size)) <= (_MOST_SETS if few else 1):
        return Worst(tuple(combinations(others.tolist(), min(colluders, others.size))), True)
    candidates = [p * received, received, p] if few else []
    sets = dict.fromkeys(_set(others[np.argsort(-each[others], kind="stable")[:colluders]]) for each in candidates)
    groups = colluders
    while few and math.comb(groups + 1, colluders) <= _MOST_COVERS:
        groups += 1
    # groups of about the same mean noise: who is loud is alone
    order = others[np.argsort(-(p * received)[others], kind="stable")]
    reached = np.cumsum((p * received)[order])
    group = np.minimum((reached - (p * received)[order] / 2) / reached[-1] * groups, groups - 1).astype(int)
    covers = dict.fromkeys(_set(order[np.isin(group, chosen)]) for chosen in combinations(range(groups), colluders))
    return Worst(tuple(sets) or ((),), False, tuple(covers))  # a server alone knows less, and is one set for all devices


def _contributions(system: InferenceSystem) -> tuple[FloatArray, FloatArray]:
    """Variance and probability of the noise that each device adds; (0, 0) where it adds none."""
    noise = system.noise_variance
    p = np.ones(system.devices) if system.idle_noise else system.participation
    adds = (noise > 0) & (p > 0)
    return np.where(adds, noise, 0.0), np.where(adds, p, 0.0)


def _set(devices: IntArray) -> Set:
    return tuple(sorted(devices.tolist()))


def _upper_sets(noise: FloatArray, p: FloatArray, wanted: int) -> list[NDArray[np.bool_]] | None:
    """The upper sets of `wanted` devices, of equal devices the first ones; None where there are too many.

    The devices are sorted by falling noise, those of equal noise by falling probability.

    Notes
    -----
    Kinds of equal devices are compared. Where those above a kind number `wanted` or more, no upper set holds it; where those
    that are not below it number `wanted` at most, every one holds all of it. The others are tried one after the other; who
    leaves out a device of a kind takes none below it.
    """
    keys = np.stack([-noise, -p])
    kinds, first, sizes = np.unique(keys, axis=1, return_index=True, return_counts=True)
    if sizes.size > _MOST_KINDS:
        return None
    above = np.all(kinds[:, :, None] <= kinds[:, None, :], axis=0)  # of itself too
    out = sizes @ above - sizes >= wanted
    held = np.where(noise.size - above @ sizes + sizes <= wanted, sizes, 0)
    free = np.flatnonzero(~out & (held == 0))
    if free.size > _MOST_FREE:
        return None
    listed = list[NDArray[np.bool_]]()
    rank, kind = np.arange(noise.size) - np.repeat(first, sizes), np.repeat(np.arange(sizes.size), sizes)
    open_counts = [(0, held, np.ones(sizes.size, dtype=bool))]
    while open_counts:
        place, counts, allowed = open_counts.pop()
        missing, later = wanted - int(np.sum(counts)), free[place:]
        if missing == 0:
            listed.append(rank < counts[kind])
            if len(listed) > _MOST_SETS:
                return None
        elif missing <= int(np.sum(sizes[later][allowed[later]])):
            kind_index = later[0]
            for count in range(min(int(sizes[kind_index]), missing) + 1 if allowed[kind_index] else 1):
                chosen = counts.copy()
                chosen[kind_index] = count
                open_counts.append((place + 1, chosen, allowed if count == sizes[kind_index] else allowed & ~above[kind_index]))
    return listed


def _log_kept(p: FloatArray, noise: FloatArray, theta: float) -> FloatArray:
    """log q of each device; its slope in theta at 0."""
    if theta == 0:
        return -p * noise
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        lost = np.where(noise > 0, theta * noise, 0.0)
        return np.asarray(np.logaddexp(np.log1p(-p), np.log(p) - lost))


def phantom(system: InferenceSystem, device: int, colluders: int) -> InferenceSystem:
    """A system whose device 0 is at least as badly protected as `device` against any so many colluders.

    Its other devices have no codes; their noise is stochastically less than that of any honest devices.
    """
    noise, p = _contributions(system)
    others = np.delete(np.arange(system.devices), device)
    adding = others[noise[others] > 0]  # who adds no noise is as good as a colluder, and takes the place of none
    honest = max(adding.size - colluders, 0)
    quiet, rare = np.sort(noise[adding])[:honest], np.sort(p[adding])[:honest][::-1]

    def with_device(values: FloatArray, others: FloatArray | float) -> FloatArray:
        return np.append(values[device], np.broadcast_to(others, honest))

    return system.derived(
        devices=honest + 1,
        participation=with_device(system.participation, rare),
        noise_variance=with_device(system.noise_variance, quiet),
        weight=with_device(system.weight, 0.0),
        clip=with_device(system.clip, 1.0),
        channel_gain=np.ones(honest + 1),
        colluding=0,
    )


@dataclass(frozen=True)
class Exponentials:
    """The bound of theorem 5 for one device and one observer, of one round.

    Attributes
    ----------
    given_noise : HomogeneousSystems
        The device alone, its receiver as noisy as the receiver and the others at the least value of each cell.
    exponents : ndarray, shape (values, thetas)
        theta (v - N) at the greatest value of each cell, and more by all that rounding may lose.
    log_products : ndarray, shape (thetas,)
        log of the product of q over the honest devices, greatest over J.
    """

    given_noise: HomogeneousSystems
    observer: Observer
    exponents: FloatArray
    log_products: FloatArray

    @classmethod
    def of(cls, system: InferenceSystem, device: int, colluders: int, observer: Observer, epsilon: float) -> Exponentials:
        """The bound for epsilons near the given one."""
        scaled = system.derived(colluding=0).normalised()
        noise, p = _contributions(scaled)
        others = np.delete(np.arange(system.devices), device)
        received, p = scaled.alignment**2 * noise[others], p[others]
        honest = others.size - colluders
        greatest = float(np.sum(np.sort(received)[-honest:])) * _MARGIN
        mean = float(np.sum(np.sort(p * received)[:honest]))
        deviation = max(float(np.sqrt(np.sum(p * (1 - p) * received**2))), mean * 1e-3)
        close = np.linspace(mean - _BULK * deviation, mean + _BULK * deviation, _CLOSE)
        wide = np.geomspace(1e-6 * greatest, greatest, _WIDE)
        added = np.unique(np.concatenate([[0.0], wide, close[(close > 0) & (close < greatest)]]))
        # log delta falls by about epsilon^2 / (2 d^2) for a unit more of noise
        least, distance = float(np.min(received[received > 0])), float(scaled.sensitivity[device])
        slope = epsilon * epsilon / (2 * distance * distance) if distance > 0 else np.inf
        slope = min(max(slope, 1 / greatest), 30 / least)
        thetas = np.append(0.0, np.geomspace(slope / _SPAN, slope * _SPAN, _THETAS))
        products = []
        for theta in thetas:
            products.append(float(np.sum(np.sort(_log_kept(p, received, theta))[colluders:])) if theta else 0.0)
        base = scaled.receiver_noise_variance
        given_noise = HomogeneousSystems(
            devices=np.array(1),
            participation=system.participation[device],
            noise_variance=scaled.noise_variance[device],
            weight=scaled.weight[device],
            clip=scaled.clip[device],
            alignment=np.array(scaled.alignment),
            receiver_noise_variance=(base + added[:-1]) * (1 - 8 * UNIT),
            dimension=np.array(system.dimension),
            delta=np.array(system.delta),
            adjacency=system.adjacency,
        )
        finite = np.isfinite(products)  # noises that differ by all that doubles hold lose some exponentials
        log_products = np.asarray(products)[finite]
        with np.errstate(over="ignore"):
            exponents = np.outer(added[1:], thetas[finite])
        error = 16 * UNIT * (exponents - log_products + system.devices + 64)
        return cls(given_noise, observer.seeing_others, exponents + error, log_products)

    def delta(self, epsilon: float, target: float) -> float:
        r"""An upper bound of delta(epsilon) whatever m devices collude; best where it is near `target`.

        Notes
        -----
        On a cell :math:`[v_t, v_{t+1}]` of values of v the divergence is at most :math:`g_t = g(v_t)`, and the sum of
        exponentials at least its value :math:`u_t` at :math:`v_{t+1}`. A linear program looks for the coefficients; whatever
        it returns, those that are divided by the least :math:`u_t/g_t` are a majorant. Divergences below a
        share of the target are raised to it, which a constant covers.

        *Rounding.* log u is a sum of :math:`\\theta(v - N)`, log products and logarithms of at most 745, if u counts at all; log
        q is concave in the noise, so that a relative error of a noise costs no more, relatively, in log q. `exponents` are
        raised by sixteen units of this sum, K units for the sum over devices included. A larger exponent and
        a truncated coefficient only lower u.
        """
        from scipy import optimize  # loaded when it is needed: it takes longer than all else

        g = np.maximum(observers.exact_delta(self.given_noise, epsilon, observer=self.observer), _FLOOR * target)
        # in units z_l = c_l times its product over the target, relative to g: all columns weigh the same in the sum
        logs = np.log(target) - self.exponents - self.log_products - np.log(g)[:, None]
        shown = np.exp(np.minimum(logs, np.log(_LARGEST)))
        solved = optimize.linprog(np.ones(shown.shape[1]), A_ub=-shown, b_ub=-np.ones(g.size), method="highs")
        if solved.x is None:
            return 1.0
        shares = np.maximum(solved.x, 0.0)
        covered = float(np.min(shown @ shares))
        return min(float(np.sum(shares)) * target / covered * _MARGIN, 1.0) if covered > 0 else 1.0

    def epsilon(self, target: float, low: float, high: float) -> float:
        """An upper bound of epsilon at delta `target` between two bounds of it; `high` where nothing better is found."""
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self.delta(middle, target) <= target:
                high = middle
            else:
                low = middle
        return high
