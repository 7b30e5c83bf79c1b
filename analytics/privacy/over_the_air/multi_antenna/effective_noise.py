r"""The law of the others' noise: both ends of :math:`v_k(S)` for every device k, over states and sets S of participants.

:mod:`airtight.analytics.privacy.over_the_air.multi_antenna.channel_privacy` says what v is, and why delta falls with it.

**Both ends of v.** Any c and any u enclose q, so that what a linear solver returns need not be trusted:

.. math:: \frac{|u^*a_k|^2}{\sum_{j\in S}\sigma_j^2|u^*a_j|^2 + N|u|^2} \le q
          \le |c|^2 + \frac1N\Bigl|a_k - \sum_{j\in S}c_j\sigma_ja_j\Bigr|^2 .

*Proof.* The left side is Cauchy's inequality :math:`|u^*a|^2 \le (u^*Vu)(a^*V^{-1}a)`. On the right, write
:math:`V = MM^*` with :math:`M = [\sigma_ja_j, \sqrt NI]`; every solution of :math:`Mx = a` has
:math:`|x|^2 \ge a^*V^{-1}a`, and :math:`x = (c, (a - \sum c_j\sigma_ja_j)/\sqrt N)` is one. Both are equal to q at
:math:`u = V^{-1}a`, :math:`c_j = \sigma_ja_j^*u`, and an error of u or c matters in second order only. The errors of rounding
of the remainder and of the sums are added to the sides on which they are safe.

Without receiver's noise, N = 0, the remainder d must be 0: a further combination of length :math:`|d|/s` removes it, s being
the least singular value of the columns :math:`\sigma_ja_j`, so that :math:`q \le (|c| + |d|/s)^2`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.channel import Channel, Looks, moderate
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air.multi_antenna.unenumerated_devices import OpenDevices, squares
from airtight.analytics.rounding import SMALLEST, UNIT

EFFORT = 1 << 20  # pairs of a state and a set of participants that are enumerated at most
_ATOMS = 1 << 16  # atoms of the law of v, of all states together
_POOLED = 1 << 11  # cells of the law of v of all states together that are kept, where both ends are coupled
BY_STATE = 16  # cells of the law of v within one state, for quantiles over states
_BATCH = 1 << 18  # entries of arrays (sets, K, K) that are computed at a time
_LEAF = 0.2  # pairs of a state and a set that one leaf of a tree counts for, for each device
_COUNTED = 8, 20, 30  # devices of these that count: a multiple of devices over looks, between two numbers, and at most all
_ENTRIES = 1 << 28  # leaves of one device times pairs of devices times looks
_KEYS = 0xFFFFFFFE  # values of log v that are told apart where atoms are grouped into cells
_MANY_SETS = 64  # from which the sets of one state are eliminated together
_INNER = 10  # devices whose sets are held at once
_HELD = 1 << 18  # entries of arrays (states, K, sets) that are held at once
_ELIMINATED = 1e-6  # bound of the error of q, relative to that without the others, up to which elimination is tried
_SHARP = 1e-6  # bound of its relative error up to which it is used
_JITTER = 1e-14  # share of the trace that is added to a covariance before it is solved with
_TINY = float(np.finfo(float).tiny)


def others_noise(
    coefficients: ArrayLike, *, noise_variance: ArrayLike, receiver_noise_variance: float, present: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    r"""Lower and upper bound of :math:`v_k(S\setminus k)` for every device k, in units of the code.

    Parameters
    ----------
    coefficients : array_like, shape (..., K, L)
        Real or complex; of every device at every look. Moduli are 0 or between 1e-75 and 1e75, so that squares are exact.
    noise_variance : array_like, shape (K,)
        sigma_j^2 of the others, per real coordinate.
    receiver_noise_variance : float
        N >= 0, of every look.
    present : array_like of bool, shape (..., K)
        The set S; whether k itself belongs to it does not matter.

    Returns
    -------
    lower, upper : ndarray, shape (..., K)
        Proved (see the module); infinite where the device is received nowhere. Where N = 0 and there are several looks the
        lower bound is 0 unless the others' coefficients are found to span all looks.

    Raises
    ------
    ParameterError
        When an argument is out of range or NaN.

    Notes
    -----
    Within the range of the moduli no square of a coefficient underflows. Products with noises may, which lowers v: safe for the
    lower bound. The upper bound adds the smallest normal double for each of them.

    Examples
    --------
    >>> low, high = others_noise([[1.0, 2.0], [1.0, 0.5]], noise_variance=[0.1, 0.4], receiver_noise_variance=0.2,
    ...     present=[True, True])
    >>> low.round(6), bool(np.all((low <= high) & (high <= low * (1 + 1e-12))))
    (array([0.073684, 0.294737]), True)
    """
    a = moderate("coefficients", np.asarray(coefficients))
    sigma2 = checks.real("noise_variance", noise_variance, "[0, inf)")
    N = checks.scalar("receiver_noise_variance", receiver_noise_variance, "[0, inf)")
    mask = np.asarray(present, dtype=bool)
    shape = np.broadcast_shapes(a.shape[:-1], mask.shape)
    single_matrix = a.ndim == 2
    a = a[None] if single_matrix else np.broadcast_to(a, (*shape, a.shape[-1])).reshape(-1, shape[-1], a.shape[-1])
    mask = np.broadcast_to(mask, shape).reshape(-1, shape[-1])
    sigma2 = np.broadcast_to(sigma2, shape[-1:])
    # v(a, sigma^2, N) = v(a / c, sigma^2, N / c^2), and v(a, n sigma^2, n N) = n v: with powers of two no product of noises
    # and squared coefficients underflows that matters
    modulus = np.abs(a[a != 0])
    unit = _exponent(math.sqrt(np.min(modulus)) * math.sqrt(np.max(modulus))) if modulus.size else 0
    noise_unit = max(_exponent(float(np.max(sigma2, initial=0.0))), _exponent(N) - 2 * unit)
    with np.errstate(under="ignore"):
        a, sigma2, N = a * 2.0**-unit, np.ldexp(sigma2, -noise_unit), math.ldexp(N, -noise_unit - 2 * unit)
    low, high = np.empty((2, *mask.shape))
    step = max(_BATCH // shape[-1] // max(shape[-1], a.shape[-1]), 1)
    for start in range(0, mask.shape[0], step):
        batch = slice(start, start + step)
        low[batch], high[batch] = _enclosed(a if single_matrix else a[batch], sigma2, N, mask[batch])
    received = np.isfinite(low)
    with np.errstate(over="ignore", under="ignore"):
        low, high = np.ldexp(low, noise_unit), np.ldexp(high, noise_unit)
    # what leaves the range of doubles is rounded to its safe side
    low = np.where(received, np.where(low < _TINY, 0.0, np.minimum(low, np.finfo(float).max)), np.inf)
    return low.reshape(shape), np.maximum(high, _TINY).reshape(shape)


def _exponent(size: float) -> int:
    """The exponent of the power of two below a number; a very small one of 0."""
    return math.frexp(size)[1] - 1 if size > 0 else -4000


def _enclosed(a: NDArray[Any], sigma2: FloatArray, N: float, mask: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """:func:`others_noise` for arrays (n or 1, K, L) and (n, K)."""
    if N == 0 and not np.all(noise_heard := np.any(a != 0, axis=(0, 1))) and np.any(noise_heard):
        a = a[:, :, noise_heard]  # the other looks show nothing, not even noise
    _, K, L = a.shape
    square = np.sum(squares(a), axis=2)
    rounding = (K + L + 16) * UNIT
    noise = np.where(mask, sigma2, 0.0)
    if L == 1:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            others = _sum_of_others(noise * square) + N
            low = np.maximum(others * (1 - 4 * rounding) / square - SMALLEST, 0.0)
            high = (others + (K + 1) * _TINY) * (1 + 4 * rounding) / square + SMALLEST
        return np.where(square > 0, low, np.inf), np.where(square > 0, high, np.inf)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        columns = np.ascontiguousarray(np.swapaxes(a, 1, 2))  # (n, L, K)
        arriving = columns * noise[:, None, :]
        V = np.matmul(arriving, a.conj())
        trace = np.sum(noise * square, axis=1)
        V[:, np.arange(L), np.arange(L)] += (N + _JITTER * trace / L + 1e-300)[:, None]
        u = np.linalg.solve(V, columns)  # column k is parallel to the best u for S without k
        response = np.matmul(a.conj(), u)  # a_j^* u_k
        index = np.arange(K)
        own_response = response[:, index, index].real
        response[:, index, index] = 0.0
        energy = np.matmul(noise[:, None, :], squares(response))[:, 0]
        scale = 1 / np.maximum(1 - noise * own_response, UNIT)
        # c_j = sigma_j seen_jk scale_k for j other than k, and d what c leaves of a_k
        d = columns - np.matmul(arriving, response) * scale[:, None, :]
        c_square = energy * scale * scale
        length = np.sqrt(trace)[:, None]
        blur = 8 * rounding * (np.sqrt(square) + length * np.sqrt(c_square))  # rounding of d
        rest = np.sqrt(np.sum(squares(d), axis=1)) + blur
        if N > 0:
            q_upper = (c_square + np.where(rest > 0, rest * rest / N, 0.0)) * (1 + 16 * rounding)
            q_upper = np.minimum(q_upper, square / N * (1 + 8 * rounding))
        else:
            q_upper = (np.sqrt(c_square) + rest / _least_singular(columns, noise)) ** 2 * (1 + 16 * rounding)
        u_length = np.sqrt(np.sum(squares(u), axis=1))
        noise_heard = (np.sqrt(energy) + 4 * rounding * u_length * length) ** 2
        power = (noise_heard + N * u_length * u_length + (K + 1) * _TINY) * (1 + 16 * rounding)
        signal = np.maximum(np.abs(own_response) - 4 * rounding * u_length * np.sqrt(square), 0.0)
        v_high = np.where(signal > 0, power / signal / signal * (1 + 8 * UNIT) + SMALLEST, np.inf)
        v_low = np.maximum(1 / q_upper * (1 - 8 * UNIT) - SMALLEST, 0.0)
    # what overflowed is no bound: 0 below and infinity above
    v_high = np.where(np.isnan(v_high) | (square == 0), np.inf, v_high)
    v_low = np.where(square == 0, np.inf, np.nan_to_num(v_low, nan=0.0, posinf=0.0))
    return np.minimum(v_low, v_high), v_high


def _least_singular(columns: NDArray[Any], noise: FloatArray) -> FloatArray:
    """A lower bound of the least singular value of what the others of each device send, shape (n, K), 0 where none is found.

    The matrix of their products and its eigenvalues err by less than the share (K + 64 L) L UNIT of its trace.
    """
    _, L, K = columns.shape
    least = np.empty(noise.shape)
    for k in range(K):
        others = np.where(np.arange(K) == k, 0.0, noise)
        V = np.matmul(columns * others[:, None, :], np.swapaxes(columns, 1, 2).conj())
        trace = np.einsum("nll->n", V).real
        eigenvalues = np.linalg.eigvalsh(np.where(np.isfinite(trace)[:, None, None], V, 0.0))
        least[:, k] = np.sqrt(np.maximum(eigenvalues[:, 0] - (K + 64 * L) * L * UNIT * trace, 0.0))
    return least


def _sum_of_others(terms: FloatArray) -> FloatArray:
    """Sums along the last axis without the entry itself: of those before it and those after it."""
    none = np.zeros((*terms.shape[:-1], 1))
    before = np.concatenate([none, np.cumsum(terms[..., :-1], axis=-1)], axis=-1)
    after = np.concatenate([np.cumsum(terms[..., :0:-1], axis=-1)[..., ::-1], none], axis=-1)
    return np.asarray(before + after)


_Atoms = tuple[FloatArray, FloatArray, FloatArray]  # both ends and weights


@dataclass(frozen=True)
class Law:
    """The law of :math:`v_k` over states and sets, for every device.

    Attributes
    ----------
    low, high : ndarray, shape (K, states, atoms)
        Both ends of v, sorted along the last axis.
    weights : ndarray, shape (K, states, atoms)
        Probability of the atom in all, given that device k sends where the channel decides that.
    exact : bool
        Whether all sets are enumerated.
    error : float
        Bound of the relative error of every sum of the weights from the first, and so of the mean of every decreasing function.
    """

    low: FloatArray
    high: FloatArray
    weights: FloatArray
    exact: bool
    error: float
    _pooled: dict[tuple[int | bytes, int], _Atoms] = field(default_factory=dict, repr=False, compare=False)

    def pooled(self, devices: IntArray, cells: int) -> _Atoms:
        """Both ends and weights of the atoms of all states, shape (devices, at most `cells`), sorted; kept."""
        if (key := (devices.tobytes(), cells)) not in self._pooled:
            if self.exact:
                low, high, weights = (part[devices].reshape(devices.size, -1) for part in (self.low, self.high, self.weights))
            else:
                each = (self._coupled(device) for device in devices.tolist())
                low, high, weights = (np.stack(part) for part in zip(*each, strict=True))
            self._pooled[key] = _cells(low, high, weights, cells)
        return self._pooled[key]

    def _coupled(self, device: int) -> _Atoms:
        """:func:`_coupled` of the atoms of all states of one device, in few cells; kept for other numbers of cells."""
        if (key := (device, _POOLED)) not in self._pooled:
            low, high, weights = (part[device].ravel() for part in (self.low, self.high, self.weights))
            self._pooled[key] = _cells(*_coupled(low, high, weights), _POOLED)
        return self._pooled[key]

    def by_state(self, devices: IntArray, cells: int) -> _Atoms:
        """The same given the state: a row for each device and state, shape (devices * states, at most `cells`)."""
        atoms = self.low.shape[-1]
        low, high, weights = (part[devices].reshape(-1, atoms) for part in (self.low, self.high, self.weights))
        return _cells(low, high, weights * self.low.shape[1], cells)


def _coupled(low: FloatArray, high: FloatArray, weights: FloatArray) -> _Atoms:
    """The laws of both ends; each atom of the lower ends is paired with the upper ends' quantile at its probability.

    The distance of both ends differs between states, so that a pair of one state is no pair of quantiles of all states.
    """
    order = np.argsort(low, kind="stable")
    low, of_low = low[order], weights[order]
    order = np.argsort(high, kind="stable")
    high, of_high = high[order], weights[order]
    reached = np.minimum(np.searchsorted(np.cumsum(of_high), np.cumsum(of_low)), high.size - 1)
    return low, np.maximum(high[reached], low), of_low


def _cells(low: FloatArray, high: FloatArray, weights: FloatArray, cells: int) -> _Atoms:
    """Sort the last axis, and group it into cells where it is longer: neighbours share their least and greatest value.

    Half of the cells are spent on equal widths in log v, half on equal shares of the mean of 1/v, which the divergence follows.
    Rows are padded with atoms of weight 0.
    """
    shape, length = low.shape[:-1], low.shape[-1]
    if length <= cells:
        order = np.argsort(low, axis=-1, kind="stable")
        in_order = (np.take_along_axis(part, order, axis=-1) for part in (low, high, np.broadcast_to(weights, low.shape)))
        low, high, weights = in_order
        return low, high, weights
    low, high, weights = (np.broadcast_to(part, low.shape).reshape(-1, length) for part in (low, high, weights))
    greatest_finite = np.max(low, axis=1, keepdims=True, where=np.isfinite(low), initial=0.0)
    greatest_finite = np.where(greatest_finite > 0, greatest_finite, 1.0)
    least_clipped = np.maximum(greatest_finite * 1e-60, SMALLEST)
    logs = np.log(np.clip(low, least_clipped, greatest_finite))
    least, greatest = np.min(logs, axis=1, keepdims=True), np.max(logs, axis=1, keepdims=True)
    # halves of whole numbers are sorted in linear time, the lower ones first
    key = ((logs - least) * (_KEYS / np.maximum(greatest - least, UNIT))).astype(np.uint32)
    row = np.arange(key.shape[0])[:, None] * length
    order = np.argsort((key & 0xFFFF).astype(np.uint16), axis=1, kind="stable") + row
    order = order.ravel()[np.argsort((key >> 16).astype(np.uint16).ravel()[order], axis=1, kind="stable") + row]
    low, high, weights, key = (part.ravel()[order] for part in (low, high, weights, key))
    loss = np.cumsum(weights / np.clip(low, least_clipped, greatest_finite), axis=1)
    share = loss * (0.5 * cells / np.maximum(loss[:, -1:], np.finfo(float).tiny)) + key * (0.5 * cells / _KEYS)
    cell = np.minimum(share, cells - 1).astype(np.int32)
    opens = np.ones(cell.shape, dtype=bool)
    opens[:, 1:] = cell[:, 1:] > cell[:, :-1]
    first, count = np.flatnonzero(opens), np.sum(opens, axis=1, keepdims=True)
    # places of the cells of a row among those of all rows; the last one is repeated, with weight 0, up to `cells`
    column = np.arange(cells)
    place = np.cumsum(count, axis=0) - count + np.minimum(column, count - 1)
    least_of_cell = np.minimum.reduceat(low.ravel(), first)[place]
    grouped = (
        np.minimum.accumulate(least_of_cell[:, ::-1], axis=1)[:, ::-1],  # atoms with one key have no order
        np.maximum.reduceat(high.ravel(), first)[place],
        np.where(column < count, np.add.reduceat(weights.ravel(), first)[place], 0.0),
    )
    grouped_low, grouped_high, grouped_weights = (part.reshape(*shape, cells) for part in grouped)
    return grouped_low, grouped_high, grouped_weights


def law(
    system: InferenceSystem,
    channel: Channel,
    *,
    eavesdropper: bool = False,
    effort: int = EFFORT,
    devices: IntArray | None = None,
) -> Law:
    """The law of v for every device of a system, in the units of ``system.normalised()``; kept for all adjacencies together.

    Where few `devices` are named, those of the others may be left out; the laws of those named are the same.
    """
    plain = replace(system, adjacency=Adjacency.SILENT, delta=0.5)  # v knows neither
    few = None if devices is None else tuple(np.unique(devices).tolist())
    return _law(plain, channel, eavesdropper, effort, None if few is None or 2 * len(few) > system.devices else few)


@lru_cache(maxsize=8)
def _law(
    system: InferenceSystem, channel: Channel, eavesdropper: bool, effort: int, few: tuple[int, ...] | None
) -> Law:
    scaled, drawn, N = received(system, channel, eavesdropper=eavesdropper)
    noise = scaled.received_noise_variance
    a, K = drawn.coefficients, system.devices
    p = system.participation
    if drawn.sends is not None:
        present = drawn.sends
    elif system.idle_noise:
        present = np.ones(K, dtype=bool)
    elif (random := np.flatnonzero((p > 0) & (p < 1) & (noise > 0))).size:
        return _enumerated(a, noise, N, p, random, effort, np.arange(K) if few is None else np.array(few))
    else:
        present = p == 1
    low, high = (
        v.T[..., None] for v in others_noise(a, noise_variance=noise, receiver_noise_variance=N, present=present)
    )
    return Law(low, high, np.full(low.shape, 1 / a.shape[0]), exact=True, error=(a.shape[0] + 4) * UNIT)


def received(
    system: InferenceSystem, channel: Channel, *, eavesdropper: bool = False
) -> tuple[InferenceSystem, Looks, float]:
    """The normalised system, the states of its channel, and the variance of every look's noise in the same units."""
    drawn, scaled = channel.draw(system, eavesdropper=eavesdropper), system.normalised()
    return scaled, drawn, drawn.receiver_noise_variance * _scale(system, scaled)


def _scale(system: InferenceSystem, scaled: InferenceSystem) -> float:
    """Factor from variances at the receiver to those of the normalised system: a power of two."""
    heard = np.append(system.received_noise_variance, system.receiver_noise_variance)
    then = np.append(scaled.received_noise_variance, scaled.receiver_noise_variance)
    k = int(np.argmax(then))
    return float(then[k] / heard[k]) if heard[k] > 0 else 1.0


def _enumerated(
    a: NDArray[Any], noise: FloatArray, N: float, p: FloatArray, random: IntArray, effort: int, asked: IntArray
) -> Law:
    """All sets of the devices whose participation is `random`; beyond the effort trees whose leaves leave some devices open.

    Devices that are not `asked` about have no law.
    """
    states, K, _ = a.shape
    cells = max(BY_STATE, _ATOMS // states)
    if 1 << random.size > max(effort // states, 1):
        return _partly_enumerated(a, noise, N, p, effort, cells, asked)
    influence = np.mean(np.sum(np.abs(a) ** 2, axis=2), axis=0) * noise * p * (1 - p)
    order = random[np.argsort(-influence[random], kind="stable")]
    sets, probability = _every_set(p[order])
    present = np.broadcast_to(p == 1, (sets.shape[0], K)).copy()
    present[:, order] = sets
    # v does not depend on the roll of the device itself: those sets without it suffice
    own, certain = order[np.isin(order, asked)], np.setdiff1d(asked, order)
    without = [np.flatnonzero(~sets[:, np.flatnonzero(order == k)[0]]) for k in own]
    places = np.array(without, dtype=np.int64).reshape(own.size, sets.shape[0] // 2)
    groups = [
        (own, places, probability[places] / ((1 - p[own, None]) * states)),
        (certain, np.arange(sets.shape[0])[None, :], np.broadcast_to(probability / states, (certain.size, sets.shape[0]))),
    ]
    low, high, weights = np.zeros((3, K, states, min(sets.shape[0], cells)))
    step = max(_HELD // (sets.shape[0] * asked.size), 1)
    for start in range(0, states, step):
        batch = np.arange(start, min(start + step, states))
        noise_ends = _of_sets(a[batch], noise, N, p, order, present, asked)
        for devices, places, weight in (group for group in groups if group[0].size):
            lower, upper = (end[:, np.searchsorted(asked, devices)[:, None], places] for end in noise_ends)
            row = _cells(lower, upper, weight, cells)
            used = row[0].shape[-1]
            for target, part in zip((low, high, weights), row, strict=True):
                at = devices[:, None], batch
                target[(*at, slice(used))] = np.swapaxes(part, 0, 1)
                target[(*at, slice(used, None))] = 0.0 if target is weights else np.swapaxes(part[..., -1:], 0, 1)
    # a sum of n positive terms errs by n units, a product of n factors likewise
    summed = sets.shape[0] * states + order.size + 8
    return Law(low, high, weights, exact=True, error=summed * UNIT)


def _partly_enumerated(
    a: NDArray[Any], noise: FloatArray, N: float, p: FloatArray, effort: int, cells: int, asked: IntArray
) -> Law:
    """Both ends of the law from a tree for each device `asked` about; the trees of all devices share the effort."""
    states, K, L = a.shape
    # many devices at few looks need fewer leaves: the bounds below of v gain more from multipliers
    counted = min(K, max(_COUNTED[1], min(_COUNTED[2], _COUNTED[0] * K / L)))
    leaves = max(min(int(effort / (_LEAF * K * counted)), _ENTRIES // (K * K * min(K, L))), states)
    noises: dict[str, Any] = {"noise_variance": noise, "receiver_noise_variance": N}
    least = others_noise(a, present=p == 1, **noises)[0]
    greatest = others_noise(a, present=p > 0, **noises)[1]
    received = OpenDevices(a, noise, N, p)
    laws = [received.law(k, leaves, cells, least[:, k], greatest[:, k]) for k in asked.tolist()]
    low, high, weights = np.zeros((3, K, *laws[0][0].shape))
    for target, part in zip((low, high, weights), zip(*laws, strict=True), strict=True):
        target[asked] = part
    return Law(low, high, weights, exact=False, error=received.error(leaves))


def _every_set(p: FloatArray) -> tuple[NDArray[np.bool_], FloatArray]:
    """All sets of devices, shape (2^n, n), and their probabilities."""
    sets = (np.arange(1 << p.size)[:, None] >> np.arange(p.size)) & 1 > 0
    return sets, np.asarray(np.prod(np.where(sets, p, 1 - p), axis=1))


def _of_sets(
    a: NDArray[Any], noise: FloatArray, N: float, p: FloatArray, order: IntArray, present: NDArray[np.bool_], asked: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Both ends of v of every set in every state, shape (states, asked, sets); `present` says who belongs to the sets."""
    certain = p[asked] == 1
    if present.shape[0] >= _MANY_SETS:
        low, high, settled = _eliminated(a, noise, N, p, order, asked)
    else:
        low, high = np.empty((2, a.shape[0], asked.size, present.shape[0]))
        settled = np.zeros(a.shape[0], dtype=bool)
    for s in range(a.shape[0]):
        rest = np.flatnonzero(certain | ~settled[s])
        if rest.size:
            ends = others_noise(a[s], noise_variance=noise, receiver_noise_variance=N, present=present)
            low[s, rest], high[s, rest] = (end.T[asked[rest]] for end in ends)
    return low, high


def _eliminated(
    a: NDArray[Any], noise: FloatArray, N: float, p: FloatArray, order: IntArray, asked: IntArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    r"""Both ends of v of the devices `asked` about for all sets of `order` without them, shape (states, asked, sets).

    They do not hold for devices that take part with certainty, nor in states for which the last result is False: there rounding
    may matter.

    Notes
    -----
    With :math:`G = A^*A/N`, the matrix :math:`A^*V_S^{-1}A` of a set follows from that of the set without j by
    :math:`M - \sigma_j^2M_{:j}M_{j:}/(1 + \sigma_j^2M_{jj})`, and q is its diagonal: one step for each set, for all
    devices. Of the devices whose step is done, only the diagonal is needed, if they are asked about.

    *Rounding.* By Cauchy's inequality in M, which falls, a step errs by at most :math:`c\,\epsilon\sqrt{G_{aa}G_{bb}}` in entry
    (a, b). Later steps turn an error F of M into one of :math:`q = \min_x x^*Mx + \sum_j|x_j|^2/\sigma_j^2` with
    :math:`x_k = 1`. At the minimum :math:`|x_j|^2 \le \sigma_j^2q`, so that the error of q is for each step at most
    :math:`c\,\epsilon(\sqrt{G_{kk}} + \sqrt q\sum_j\sqrt{\sigma_j^2G_{jj}})^2`; where this is a small share of q, summed over
    the steps, and :math:`c\,\epsilon(\sum_j\sqrt{\sigma_j^2G_{jj}})^2` is small, the minimum of the perturbed form exists and
    obeys the same bound up to a factor of two, and so does the bound at the computed q.
    """
    states, _, L = a.shape
    always = np.flatnonzero((p == 1) & (noise > 0))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        G = np.matmul(a.conj(), np.swapaxes(a, 1, 2)) / N
        diagonal = np.sum(squares(a), axis=2) / N
        steps = 16 * (always.size + order.size) + L + 16
        summed = np.concatenate([always, order])
        reach = np.sum(np.sqrt(noise[summed] * diagonal[:, summed]), axis=1)
        share = 2 * steps * UNIT * (1 + _SHARP)
        settled = share * (1 + reach) ** 2 < _ELIMINATED
        G[~settled] = 0.0
        for j in always.tolist():
            column = G[:, :, j]
            factor = noise[j] / (1 + noise[j] * column[:, j].real)
            G = G - factor[:, None, None] * column[:, :, None] * column[:, None, :].conj()
        inner = min(order.size, _INNER)
        first = order.size - inner
        q = np.empty((states, asked.size, 1 << order.size))
        # rows are those of the devices asked about and of the devices still to come, whose columns they are, in turned order
        to_come = np.roll(order, -inner)
        rows = np.concatenate([asked, to_come[::-1]])
        whole = G[:, asked, asked].real[:, :, None], G[:, rows[:, None], to_come, None]
        for outer in range(1 << first):
            parts = whole
            for i in range(first):
                parts = _split(*parts, noise[order[inner + i]])[outer >> i & 1]
            for i in range(inner):
                without, with_it = _split(*parts, noise[order[i]])
                parts = np.concatenate([without[0], with_it[0]], axis=-1), np.concatenate([without[1], with_it[1]], axis=-1)
            q[:, :, outer << inner : (outer + 1) << inner] = parts[0]
        diagonal = diagonal[:, asked]
        # the error relative to q is greatest where q is least
        error = share * (np.sqrt(diagonal / np.min(q, axis=2)) + reach[:, None]) ** 2
        heard = diagonal > 0
        settled &= np.all((error <= _SHARP) | ~heard, axis=1)
        low = np.where(heard, (1 - 8 * UNIT) / (1 + error), 1.0)[:, :, None] / q
        high = np.where(heard, (1 + 8 * UNIT) / (1 - error), 1.0)[:, :, None] / q
    return low, high, settled


_Part = tuple[FloatArray, NDArray[Any]]


def _split(diagonal: FloatArray, columns: NDArray[Any], noise: float) -> tuple[_Part, _Part]:
    """Diagonals, shape (states, asked, sets), and columns of the devices still to come, of the sets without a device and with it.

    The first of the columns is that of the device, and the last of the rows; the rows that follow the diagonal are those of the
    columns, in turned order.
    """
    count = diagonal.shape[1]
    column, rest = columns[:, :, 0], columns[:, :-1, 1:]
    scaled = column * (noise / (1 + noise * column[:, -1].real))[:, None]
    with_it = rest - scaled[:, :-1, None] * column[:, None, count:-1][:, :, ::-1].conj()
    return (diagonal, rest), (diagonal - (scaled * column.conj())[:, :count].real, with_it)
