r"""The least error that any mechanism can have, any code, power and decoder, while each device keeps its guarantee.

Device j holds :math:`x_j` in the ball of radius :math:`C_j` of :math:`R^r`. A mechanism makes an output M from all of
them, and :math:`E = \sup_x E|M - \sum_jw_jx_j|^2` is its worst mean squared error. Two theorems bound E from below by
what the power functions of the devices (:mod:`.power`) allow; the page on limits has them with one notation:

1. :func:`moving_together`: k groups of m devices, each of which holds one vector of a random frame with a fixed angle;
2. :func:`chain_of_data`: devices change one after the other along k lines (:mod:`.chain`).

:func:`of_tasks` is theorem 3, about the mean error over given tasks.

The output is computed from what the observer of the guarantee sees. Nothing else is asked of the mechanism.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Adjacency, AdjacencyName, Observer
from airtight.analytics.inference.distortion import exact, worst_case
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.limits import chain, sphere
from airtight.analytics.limits.power import Guarantees, PowerFunction
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.over_the_air import rounds, system_privacy
from airtight.analytics.progress import counted
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT

_MOST_KINDS = 16  # of unlike devices with random participation or fading: each has a costly curve of its own
_MOST_TASKS = 2000  # whose distances are taken
_SUBSETS = 4  # sets of devices that are tried where devices are unlike
_SIZES, _GROUPS, _COARSE = 16, 12, 96  # sizes and numbers of groups tried, and cells of the integral meanwhile
_NEAR = np.linspace(0.8, 1.25, 7)  # about the best of a coarse search
_STEPS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24])  # of a chain
_ROUNDED = 1e-12  # relative rounding error of the closed forms and of sums over devices


@dataclass(frozen=True)
class Limit(Record):
    """What no mechanism can beat.

    Attributes
    ----------
    error : float
        A lower bound of the worst mean squared error of every mechanism with the guarantee, rounded down.
    how : str
        The theorem and the data that prove it.
    ratio : float
        The error of what it is compared with over the limit: of the system itself, or where a curve is given of the
        output 0, and so where a target of other weights is given. Infinite where the limit is 0.
    """

    error: float
    how: str
    ratio: float


@dataclass(frozen=True)
class _Bound:
    """A lower bound in units of the squared contribution of a device, and how it is proved."""

    value: float
    how: str


def minimax_error(
    curve: PrivacyCurve,
    *,
    devices: int,
    dimension: int,
    clip: ArrayLike,
    weight: ArrayLike | None = None,
    adjacency: AdjacencyName = Adjacency.SILENT,
) -> Limit:
    r"""Bound from below the worst mean squared error of every mechanism that gives each device this privacy curve.

    Parameters
    ----------
    curve : PrivacyCurve
        The guarantee of each device, in both orders, whatever the others hold, for what the output is computed from.
    devices : int
        n >= 1.
    dimension : int
        r >= 1, of what a device holds.
    clip : array_like, shape (n,) or scalar
        :math:`C_j > 0`, bound on the norm of what device j holds.
    weight : array_like, shape (n,) or scalar, optional
        :math:`w_j` of the target :math:`\sum_jw_jx_j`; by default 1/n, the mean.
    adjacency : {"silent", "replace", "absent"}
        What a neighbour has in place of :math:`x_j`: 0, any vector of the ball, or nothing at all; ``absent`` for every
        set of present devices.

    Returns
    -------
    Limit

    Raises
    ------
    ParameterError
        When an argument is out of range.

    Notes
    -----
    *Proof.* :func:`moving_together` needs only that a device's data may turn to 0, or go; ``replace`` allows the first.
    Devices with contributions :math:`|w_j|C_j \ge c` may hold vectors of norm :math:`c/|w_j|`, with the sign of
    :math:`w_j`, so that each counts as c; those that a theorem does not use hold 0. Every set of devices gives a bound;
    the greatest is returned. Who takes part at random is part of the mechanism.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.privacy_curve import gaussian
    >>> limit = minimax_error(gaussian(1.0), devices=12, dimension=784, clip=1.0)
    >>> round(limit.error, 4), limit.how
    (0.8322, '1 group of 12 devices (theorem 1)')
    """
    n, r = checks.count("devices", devices), checks.count("dimension", dimension)
    reach = _contributions(n, checks.vector("clip", clip, n, "(0, inf)"), weight)
    which = checks.choice("adjacency", adjacency, Adjacency)
    curves = [checks.instance("curve", curve, PrivacyCurve)]
    limit = _greatest(reach, curves, np.zeros(n, dtype=np.int64), r, which)
    with np.errstate(over="ignore", under="ignore"):
        return _compared(limit, float(np.square(np.sum(reach))))


def of_system(system: InferenceSystem, *, weight: ArrayLike | None = None, progress: bool = False) -> Limit:
    r"""Bound from below the worst error of every mechanism with the privacy that a system has in a round.

    The target is the mean of the codes, as in :func:`.distortion.worst_case`, or their sum with the given weights.

    Parameters
    ----------
    system : InferenceSystem
        With at most 16 kinds of unlike devices, unless all always take part and no channel fades. Its channel and its
        observer count; the observer ``signal`` stands for ``others``, whose guarantee is its upper bound.
    weight : array_like, shape (K,) or scalar, optional
        Of the target; by default 1/K.
    progress : bool
        Whether to say on stderr how many kinds of devices are done.

    Raises
    ------
    ParameterError
        Where the guarantee is an estimate, for more kinds of devices, and where devices collude.

    Notes
    -----
    The curve of a device holds whatever the codes of the others are, and an estimate is made from y, which every
    observer sees. So the guarantee is that of the theorems. For ``absent`` it is known only where all other devices are
    present: then the devices of a group cannot go one after the other, and groups have one device each.

    The system answers one query in a round, and its error is that of a query. So the guarantee of one round is taken:
    no mechanism that gives it in each round answers with a lesser error.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=1/12, clip=1.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent")
    >>> limit = of_system(system)
    >>> round(limit.error, 4), limit.how, round(limit.ratio)
    (0.999, '1 group of 12 devices (theorem 1)', 1020)
    """
    curves, kind, adjacency = _of_devices(system, progress=progress)
    reach = _contributions(system.devices, system.clip, weight)
    limit = _greatest(reach, curves, kind, system.dimension, adjacency, alone=adjacency is Adjacency.ABSENT)
    if weight is not None:
        with np.errstate(over="ignore", under="ignore"):
            return _compared(limit, float(np.square(np.sum(reach))))
    return _compared(limit, worst_case(system.derived(channel=None)).total)


def of_tasks(system: InferenceSystem, tasks: Sequence[Features], *, progress: bool = False) -> Limit:
    r"""Bound from below the mean error over tasks of every mechanism with the privacy that a system has in a round.

    The mechanism may know the list of tasks, but not which one it is given. `ratio` compares with the system.

    Parameters
    ----------
    system : InferenceSystem
        ``silent`` or ``replace``, or with idle noise; otherwise as in :func:`of_system`.
    tasks : sequence of Features
        At most 2000, as many devices as the system has.
    progress : bool
        As in :func:`of_system`.

    Raises
    ------
    ParameterError
        For ``absent``, and where :func:`of_system` refuses.

    Notes
    -----
    With the targets :math:`T_1,\dots,T_N`, the power function F of all devices together, and the squared distances
    :math:`0 = d_{i1} \le \dots \le d_{iN}` of the targets from :math:`T_i`, let
    :math:`t_c = \min_i\frac1{2c}\sum_{l\le c}d_{il}`. Then the mean error is at least

    .. math:: \sum_{c<N}\bigl(1-F(\tfrac cN)\bigr)(t_{c+1}-t_c) .

    *Proof.* Let i be uniform. When all devices hold 0 the output M' does not depend on i, and the guarantee, applied
    once for each device, and Jensen's inequality give :math:`\Pr(|M-T_i|^2\le t) \le F(\Pr(|M'-T_i|^2\le t))`. Let c
    targets, a set S, lie in a ball of radius :math:`\sqrt t` about z. Then
    :math:`\sum_{i,l\in S}|T_i-T_l|^2 \le 2c\sum_{i\in S}|T_i-z|^2 \le 2c^2t`, so for some i in S
    :math:`\sum_{l\in S}|T_i-T_l|^2 \le 2ct`, hence :math:`t \ge t_c`. So for :math:`t < t_{c+1}` the inner probability
    is at most c/N; integrate :math:`\Pr(|M-T_i|^2>t)`. (:math:`t_c` does not fall in c, as a mean of growing numbers.)

    Examples
    --------
    >>> tasks = [Features(f=row[None], W=np.eye(8), D=np.eye(8)) for row in np.eye(8)]
    >>> system = InferenceSystem(devices=1, participation=1.0, noise_variance=4.0, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.0, dimension=8, delta=1e-5, adjacency="silent")
    >>> round(of_tasks(system, tasks).error, 4)
    0.5277
    """
    if len(tasks) > _MOST_TASKS:
        raise ParameterError("tasks", len(tasks), f"at most {_MOST_TASKS} tasks for a limit")
    curves, kind, adjacency = _of_devices(system, progress=progress)
    if adjacency is Adjacency.ABSENT:
        raise ParameterError("adjacency", "absent", "silent or replace for a limit of given tasks")
    from scipy.spatial.distance import cdist

    targets = np.array([matched(system, features).target for features in tasks])
    number = np.arange(1, len(tasks) + 1)
    with np.errstate(over="ignore"):
        distances = np.sort(cdist(targets, targets, "sqeuclidean"), axis=1)
        least = np.min(np.cumsum(distances, axis=1), axis=0) / (2 * number)
        power = _composed(Guarantees.of(curves), kind)
        missed = 1 - power(np.log(number[:-1] / number.size) + 4 * UNIT)
        value = min(float(missed @ np.diff(least)) * (1 - _ROUNDED), float(np.finfo(float).max))
        mean = float(np.mean([exact(system.derived(channel=None), features) for features in tasks]))
    return _compared(_Bound(value, f"{number.size} tasks (theorem 3)"), mean)


def _of_devices(system: InferenceSystem, *, progress: bool) -> tuple[list[PrivacyCurve], IntArray, Adjacency]:
    """The curve of each kind of device in a round, the kind of each device, and what a neighbour lacks."""
    if system.colluding:
        raise ParameterError("colluding", system.colluding, "0: a limit is that of a guarantee without partners")
    observer = Observer(system.observer).seeing_others
    if system_privacy.estimated(system, rounds=1, observer=observer):
        raise ParameterError("observer", str(observer), "one whose guarantee is proved, not estimated, for a limit")
    if system.channel is None:
        members, kind = rounds.kinds(system, np.arange(system.devices))
    else:  # whose states differ from device to device
        members = kind = np.arange(system.devices)
    uncertain = system.channel is not None or bool(np.any((system.participation > 0) & (system.participation < 1)))
    if uncertain and members.size > _MOST_KINDS:
        raise ParameterError("devices", members.size, f"at most {_MOST_KINDS} kinds of unlike devices for a limit")
    each = counted(members, members.size, "kinds of devices", progress=progress)
    curves = [system_privacy.curve(system, device=int(device), rounds=1, observer=observer) for device in each]
    # with idle noise an absent device still sends its noise
    stays = system.adjacency is Adjacency.ABSENT and system.idle_noise
    return curves, kind, Adjacency.SILENT if stays else Adjacency(system.adjacency)


def _contributions(devices: int, clip: FloatArray, weight: ArrayLike | None) -> FloatArray:
    """How far each device can move the target."""
    weights = np.full(devices, 1 / devices) if weight is None else checks.vector("weight", weight, devices)
    with np.errstate(over="ignore", under="ignore"):
        return np.minimum(np.abs(weights) * clip, np.finfo(float).max)


def _compared(limit: _Bound, error: float) -> Limit:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = float(np.divide(error, limit.value)) if limit.value > 0 else np.inf
    return Limit(limit.value, limit.how, ratio)


def _greatest(
    reach: FloatArray,
    curves: Sequence[PrivacyCurve],
    kind: IntArray,
    dimension: int,
    adjacency: Adjacency,
    *,
    alone: bool = False,
) -> _Bound:
    """The greatest bound over sets of devices and theorems; `kind` is the index of each device's curve."""
    best = _Bound(0.0, "nothing excluded")
    guarantees = Guarantees.of(curves)
    # devices that move the target far for the privacy that they lose come first
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        order = np.lexsort((-reach, -reach / guarantees.loss[kind]))
    order = order[reach[order] > 0]
    if not order.size:
        return best
    last = np.append((np.diff(reach[order]) != 0) | (np.diff(kind[order]) != 0), True)
    ends = np.flatnonzero(last) + 1
    for end in ends[np.unique(np.linspace(0, ends.size - 1, _SUBSETS).round().astype(int))].tolist():
        held, kinds = reach[order[:end]], kind[order[:end]]
        unit = float(np.min(held))
        power = guarantees.greatest(np.unique(kinds))
        bounds = [moving_together(power, end, dimension, largest=1 if alone else end)]
        if adjacency is not Adjacency.ABSENT:
            bounds.append(chain_of_data(power, end, dimension, adjacency))
        if not alone and np.any(last[: end - 1]):
            root = float(np.sqrt(_one_group(_composed(guarantees, kinds), dimension)))
            bounds.append(_Bound(_squared(float(np.sum(held)) / unit * root), f"1 group of {_devices(end)} (theorem 1)"))
        for bound in bounds:
            scaled = _Bound(_squared(float(np.sqrt(bound.value)) * unit), bound.how)
            best = scaled if scaled.value > best.value else best
    return best


def _squared(root: float) -> float:
    """The square, rounded down; where it is beyond all numbers, the greatest one."""
    return min(root * root * (1 - _ROUNDED), float(np.finfo(float).max))


def _composed(guarantees: Guarantees, kinds: IntArray) -> PowerFunction:
    """The power function of a group of devices of these kinds that change one after the other."""
    used, count = np.unique(kinds, return_counts=True)
    groups = [guarantees.greatest(used[i : i + 1]).repeated(int(count[i])) for i in range(used.size)]
    return functools.reduce(PowerFunction.then, groups)


def _one_group(power: PowerFunction, dimension: int, cells: int = sphere.CELLS) -> float:
    """The greatest lower bound of the error about a uniform direction."""
    return max(sphere.by_caps(power, dimension, cells), sphere.by_information(power, dimension))


def moving_together(power: PowerFunction, devices: int, dimension: int, *, largest: int) -> _Bound:
    r"""Theorem 1, for the best numbers of groups and of devices in a group.

    .. math:: E \ge (km)^2\frac{1-a}{(1+(k-1)\sqrt a)^2}, \qquad a = 1 - D_{r-k+1}(F^{(m)}), \quad km \le n,\ k \le r ,

    where each device contributes 1 to the target, and :math:`D_d` is that of :mod:`.sphere`; every lower bound of it
    will do.

    Parameters
    ----------
    power : PowerFunction
        Of each device.
    devices, dimension : int
    largest : int
        Most devices of a group.

    Notes
    -----
    *Lemma.* For (M, e) with e uniform on the unit sphere of a d-dimensional space H, as in :mod:`.sphere`:
    :math:`(E_1\langle M,e\rangle)^2 \le (1-D_d)E_1|P_HM|^2`. For :math:`\lambda P_HM` is an estimate of e, so
    :math:`1-2\lambda E_1\langle M,e\rangle+\lambda^2E_1|P_HM|^2 \ge D_d` for every real lambda.

    *Data.* Unit vectors :math:`y_1,\dots,y_k` with inner products :math:`v = (1-\sqrt a)/(1+(k-1)\sqrt a)`, turned
    together by a uniform orthogonal matrix. The m devices of group g hold :math:`y_g`, the others 0;
    :math:`T = m\sum y_g`. (a < 1, or nothing is said; the bound is continuous at a = 0, so let a > 0, hence v < 1.) The
    Gram matrix is :math:`\Gamma = (1-v)I+v11^T`.

    *Proof.* Given the others, :math:`y_g` is a fixed combination of them plus a multiple of :math:`e_g`, which is
    uniform on the unit sphere of their orthogonal complement :math:`H_g`, of dimension d = r-k+1. Let M' be the output
    when group g holds 0, or is absent: given the others it is independent of :math:`e_g`. The guarantee, applied m
    times, and Jensen's inequality for the concave :math:`F^{(m)}` give :math:`\Pi_1(B) \le F^{(m)}(\Pi_0(B))` for
    events of (y, M) and (y, M'). By the lemma, with the others' vectors as part of the output,
    :math:`b_g^2 \le a\,E|P_{H_g}M|^2`, :math:`b_g = E\langle M,e_g\rangle`.

    Split M into N orthogonal to all y and the rest, with the coordinates :math:`\zeta = \Gamma^{-1/2}Y^TM`; T has
    :math:`\tau = m\Gamma^{1/2}1`. As :math:`H_g` is spanned by :math:`e_g` and the complement of all y,
    :math:`|P_{H_g}M|^2 = |N|^2+\langle f_g,\zeta\rangle^2` with :math:`\langle M,e_g\rangle = \langle f_g,\zeta\rangle`
    and the unit vector :math:`f_g = \Gamma^{-1/2}1_g/\sqrt q`, :math:`q = (\Gamma^{-1})_{gg}`. With mean z and
    covariance S of zeta, the lemma says :math:`\langle f_g,z\rangle^2(1-a)/a \le E|N|^2+\operatorname{tr}S`, hence

    .. math:: E|M-T|^2 = E|N|^2+\operatorname{tr}S+|z-\tau|^2 \ge \max_g\langle f_g,z\rangle^2\tfrac{1-a}a+|z-\tau|^2 .

    The right side is convex in z and unchanged by permutations of the groups, so it is least at some
    :math:`z = \alpha\tau`. With :math:`|\tau|^2 = m^2k\lambda`, :math:`\lambda = 1+(k-1)v`,
    :math:`\langle f_g,\tau\rangle = m/\sqrt q` and :math:`q = \frac1{k\lambda}+\frac{k-1}{k(1-v)}`, the least value is
    :math:`m^2(1-a)/(\frac1{k\lambda}+\frac{a(k-1)}{k(1-v)})`, and with v as above that is the bound. It is a mean over
    the data, so some data have at least this error.
    """
    groups: dict[int, PowerFunction] = {}

    def best(pairs: set[tuple[int, int]], cells: int) -> tuple[float, int, int]:
        for m in {m for _, m in pairs} - groups.keys():
            groups[m] = power.repeated(m)
        return max((_of_groups(groups[m], k, m, dimension, cells), k, m) for k, m in pairs)

    few = {devices // k for k in range(1, 9)} if devices >= 8 else set()
    sizes = {m for m in few | _spread(1, devices, _SIZES) if m <= largest} | {largest}
    pairs = {(k, m) for m in sizes for k in _spread(1, min(devices // m, dimension), _GROUPS)}
    _, k, m = best(pairs, _COARSE)
    near = {min(max(round(k * factor), 1), dimension, devices) for factor in _NEAR.tolist()}
    pairs = {(other, min(size, devices // other)) for other in near for size in (m, largest)}
    _, k, m = best({(k, m), *pairs}, _COARSE)
    value = best({(k, m)}, sphere.CELLS)[0]
    groups_named = "1 group" if k == 1 else f"{k} groups"
    return _Bound(value * (1 - _ROUNDED), f"{groups_named} of {_devices(m)} (theorem 1)")


def _of_groups(power: PowerFunction, k: int, m: int, dimension: int, cells: int) -> float:
    """The bound of theorem 1 for k groups of m devices; power is that of a group."""
    least = _one_group(power, dimension - k + 1, cells)
    return (k * m) ** 2 * least / (1 + (k - 1) * float(np.sqrt(1 - least))) ** 2


def chain_of_data(power: PowerFunction, devices: int, dimension: int, adjacency: Adjacency) -> _Bound:
    r"""Theorem 2, for the best numbers of coordinates, of devices that change in a step, and of steps.

    With s steps, in each of which j devices change, and k coordinates, :math:`m = \lfloor n/k\rfloor`, :math:`k \le r`:
    ``silent`` :math:`E \ge kj^2\,\mathrm{chain}(s,j)` where :math:`sj \le 2m`; ``replace``
    :math:`E \ge 4kj^2\,\mathrm{chain}(s,j)` where :math:`sj \le m`. Each device contributes 1; chain(s, j) is
    :func:`.chain.least_error` of pairs with the power function :math:`F^{(j)}`, in both orders.

    Notes
    -----
    *Proof.* Block g, of m devices, lies on the line of the g-th unit vector: each device at -1, 0 (``silent``) or 1.
    One change of one device is a step of 1 (``silent``: from or to 0) or 2 (``replace``: from -1 to 1), so that the
    block has a chain of data whose nodes are s + 1 evenly spaced values of its coordinate of the target. Neighbouring
    nodes differ in j changes, so their outputs have the power function :math:`F^{(j)}` in both orders, whatever the
    other blocks hold. By the minimax theorem (the conditions are convex in h and finitely many) some prior on the nodes
    has a Bayes risk of at least the chain's E. Let the blocks be independent with this prior: given the others each
    coordinate has that error, and the errors add up.
    """
    step = 2 if adjacency is Adjacency.REPLACE else 1
    most = devices if step == 2 else 2 * devices  # changes along a line

    def best(changes: set[int]) -> tuple[float, int, int, int]:
        candidates: list[tuple[int, int, int]] = []
        rows: list[FloatArray] = []
        for j in sorted(changes):
            distance = chain.distances(power.repeated(j))
            for s in _STEPS[_STEPS * j <= most].tolist() if np.max(distance) > 0 else ():
                held = s * j if step == 2 else -(-s * j // 2)  # devices of a block
                candidates.append((min(dimension, devices // held), s, j))
                rows.append(distance)
        if not rows:
            return 0.0, 1, 1, 1
        errors = chain.least_error(np.array(rows), np.array([s for _, s, _ in candidates]))
        values = [k * (step * j) ** 2 * error for (k, _, j), error in zip(candidates, errors.tolist(), strict=True)]
        value, place = max((value, place) for place, value in enumerate(values))
        return value, *candidates[place]

    coarse = best(_spread(1, most, _SIZES))
    near = {min(max(round(coarse[3] * factor), 1), most) for factor in _NEAR.tolist()}
    value, k, s, j = max(coarse, best(near))
    lines, steps = ("1 line" if k == 1 else f"{k} lines"), ("1 step" if s == 1 else f"{s} steps")
    return _Bound(value * (1 - _ROUNDED), f"chains on {lines}, {steps} of {_devices(j)} (theorem 2)")


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _spread(low: int, high: int, count: int) -> set[int]:
    """At most so many whole numbers from low to high, evenly spread in the logarithm; both ends."""
    return set(np.geomspace(low, high, count).round().astype(int).tolist())
