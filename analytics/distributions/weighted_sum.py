r"""The law of sum_k tau_k x_k with tau_k ~ Bern(p_k), such as the total noise of random participants.

The law is exact as long as it has few atoms (equal x_k, or few devices). Otherwise every atom is split between the two
neighbouring points of a grid such that the mean is kept. The law then states bounds of the distance by which mass was
moved and of the variance that this added.

Bounds from such a law
----------------------
Let V be the sum and V' the variable on the grid. Each splitting adds a variable of conditional mean 0, of absolute
value at most its step h and of conditional variance at most :math:`h^2/4`; `slack` is the sum of the steps, and
`spread` the sum of the variance bounds.

* abs(V' - V) <= slack, so for a decreasing f, :math:`E f(V'+\text{slack}) \le E f(V) \le E f(V' - \text{slack})`.
* Suppose that :math:`f'' \ge -b(v)` within `slack` of v. Apply Taylor's theorem to each splitting. All points of its
  cell lie within `slack` of V', whichever end the splitting takes and wherever later splittings lead, so b(V') bounds
  f'' on the cell. This gives :math:`E f(V) \le E f(V') + \tfrac12\,\text{spread}\,E\,b(V')`. Likewise :math:`f'' \le b`
  gives :math:`E f(V) \ge E f(V') - \tfrac12\,\text{spread}\,E\,b(V')`. The errors of both bounds are of second order in
  the step.
* The mass `missing` was dropped at the low end, and at most the same mass at the high end was moved down to the
  greatest value that is kept. For a decreasing f <= 1, f is replaced by 1 on the dropped mass; both changes only raise
  the expectation, by at most ``2 * missing``.
* Where mass is dropped or moved after a splitting, b(V') says nothing of f'' on its cell. Let M be this event, of probability
  at most twice the mass that is missing, U the sum before the splitting, and :math:`\eta = 2\cdot` `RARE`. Where
  :math:`\Pr(M|U) \le \eta`, the mass that is kept bounds f'' on the cell; the rest of the mass costs a factor of
  :math:`1/(1-\eta)`. Elsewhere f is between 0 and 1, and this has a probability of at most :math:`\Pr(M)/\eta`. So
  :func:`allowing_for_missing` divides `missing` by `RARE`, and `spread` by :math:`1-\eta`.
* *One law for all devices.* Without device k the sum is :math:`V_k`, and :math:`V = V_k + \tau_kx_k`. The difference
  :math:`\tau_kx_k - p_kx_k` is independent of :math:`V_k`; it has mean 0, variance :math:`p_k(1-p_k)x_k^2`, and both values
  within :math:`x_k`. So :math:`V - p_kx_k` is :math:`V_k` after one more splitting, which adds this variance to the spread and
  :math:`x_k` to the slack (:func:`without_one`). No point of a cell is negative while V' is above the slack.
* Masses are sums of positive products. A sum of n terms in floating point has a relative error of at most (n + 1)u;
  `error` is the sum of these errors. Values are rounded down by at most `lost`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, IntArray, ParameterError, broadcast, count, real, scalar
from airtight.analytics.distributions import poisson_binomial
from airtight.analytics.rounding import SMALLEST, UNIT

RARE = 1e-3  # of the mass that may be missing from a law on a grid, the share that is dropped or moved (the module's notes)
_TOGETHER, _BLOCK = 512, 8  # single devices whose law is formed at once, and those of which all sums are formed
_LOUD = 8.0  # times the mean of x beyond which a device is not among them, as it would coarsen the grid of the others
_ROUNDING = 1e-14  # relative error bound of a sum of grid points; lowering values by it is safe for decreasing f


@dataclass(frozen=True)
class Law:
    """A law on the non-negative reals, exact or on a grid; see the notes of this module.

    Attributes
    ----------
    values : ndarray, shape (A,)
        Increasing.
    probabilities : ndarray, shape (A,)
    slack : float
        Upper bound of the distance by which mass was moved; 0 if the law is exact.
    spread : float
        Upper bound of the variance that was added.
    missing : float
        Probability dropped at the low end; at most the same probability was moved down at the high end.
    error : float
        Upper bound of the relative rounding error of any probability.
    lost : float
        Upper bound of the amount by which rounding lowered the values.
    """

    values: FloatArray
    probabilities: FloatArray
    slack: float = 0.0
    spread: float = 0.0
    missing: float = 0.0
    error: float = 0.0
    lost: float = 0.0

    def quantile(self, level: float) -> float:
        """A value v with Pr(sum < v) <= level: the largest atom with this property, minus the slack."""
        below = np.cumsum(self.probabilities) + self.missing
        place = min(int(np.searchsorted(below, level, side="right")), below.size - 1)
        return max(float(self.values[place]) - self.slack, 0.0)


def law(p: ArrayLike, x: ArrayLike, *, cells: int = 4096, negligible: float = 0.0) -> Law:
    r"""Law of :math:`\sum_k \tau_k x_k` with independent :math:`\tau_k \sim \mathrm{Bern}(p_k)`.

    Parameters
    ----------
    p : array_like, shape (K,)
        Probabilities.
    x : array_like, shape (K,) or scalar
        Non-negative values.
    cells : int
        Greatest number of atoms; a law with more atoms is put on a grid of this size (`slack` > 0).
    negligible : float
        Probability that may be `missing` from a law on a grid.

    Returns
    -------
    Law

    Notes
    -----
    Devices are merged pairwise. A merge of two laws with ranges a and b moves each of them by at most (a + b)/cells, so
    the slack of a balanced tree is at most 2 log2(K) sum(x)/cells. Of 512 unlike devices or more, those of neighbouring x are
    merged 512 at a time: all sums of every eight are split to one grid, which has cells/16 cells or more for the greatest.

    Examples
    --------
    >>> exact = law([0.5, 0.5], [1.0, 2.0])
    >>> exact.values, exact.probabilities, exact.slack
    (array([0., 1., 2., 3.]), array([0.25, 0.25, 0.25, 0.25]), 0.0)
    """
    probability, value = broadcast(p=real("p", p, "[0, 1]"), x=real("x", x, "[0, inf)"))
    if probability.ndim != 1:
        raise ParameterError("p", f"array of shape {probability.shape}", "one axis of probabilities")
    pairs, multiplicity = np.unique(np.stack([probability, value]), axis=1, return_counts=True)
    trim = scalar("negligible", negligible, "[0, 1)") / (2 * pairs.shape[1] + 2)
    most = count("cells", cells, "[2, inf)")
    total = _total(_leaves(pairs[0], pairs[1], multiplicity, most), most, trim)
    return total if total.values.size <= most + 1 else _add(total, _NOTHING, most, trim)


def allowing_for_missing(law: Law) -> Law:
    """A law on a grid with greater bounds of what is missing and spread, for the curvature on cells whose mass is missing."""
    if not (law.slack and law.missing):
        return law
    return replace(law, missing=min(law.missing / RARE, 1.0), spread=law.spread / (1 - 2 * RARE))


def without_one(law: Law, p: FloatArray, x: FloatArray) -> tuple[Law, FloatArray]:
    """A law of all devices that serves as that of all but one, for each of those with (p, x), and what is to be taken off it.

    Nothing is proved where the least value, less this offset, is below the slack.

    Examples
    --------
    >>> p, x = np.full(200, 0.5), np.linspace(1, 1.01, 200)
    >>> whole, offset = without_one(law(p, x, cells=512), p[:3], x[:3])
    >>> others = law(p[1:], x[1:], cells=512)
    >>> [float(round(each.values @ each.probabilities - less, 6)) for each, less in ((whole, offset[0]), (others, 0))]
    [100.0, 100.0]
    """
    spread, slack = float(np.max(p * (1 - p) * x * x, initial=0.0)), float(np.max(x, initial=0.0))
    return replace(law, spread=(law.spread + spread) * (1 + 8 * UNIT), slack=(law.slack + slack) * (1 + 8 * UNIT)), p * x


def leave_one_out(
    p: FloatArray,
    x: FloatArray,
    multiplicity: IntArray,
    *,
    cells: int = 4096,
    negligible: float = 0.0,
    wanted: IntArray | None = None,
) -> Iterator[tuple[int, Law]]:
    """For each class of equal devices (p, x), the law of the sum over all other devices.

    Up to `negligible` mass may be `missing`. `wanted` lists the classes that are needed; others may be yielded too.

    Notes
    -----
    The distinct x are the leaves of a tree, each node of which has the law of its sum, formed once. On the way down each node
    gets the law outside it: that outside its parent plus its sibling's. So K distinct x cost some 3 K additions of laws, each
    of at most ``cells`` squared products. Classes of one x differ by a count, whose law without one of them is exact.
    """
    if p.size and np.all(x == x[0]):
        error = poisson_binomial.relative_error(int(np.sum(multiplicity)), p.size)
        for c, block in poisson_binomial.leave_one_out(p, multiplicity):
            yield c, _scaled(block, float(x[0]), error)
        return
    trim = negligible / (4 * p.size + 4)
    values, group = np.unique(x, return_inverse=True)
    members = [np.flatnonzero(group == g) for g in range(values.size)]
    in_demand = [g for g in range(values.size) if wanted is None or np.any(np.isin(members[g], wanted))]

    @cache
    def total(first: int, stop: int) -> Law:
        """The law of the sum over the devices of these groups."""
        if stop - first > 1:
            middle = (first + stop) // 2
            return _add(total(first, middle), total(middle, stop), cells, trim)
        return _leaf(p, multiplicity, members[first], float(values[first]))

    def walk(first: int, stop: int, outside: Law) -> Iterator[tuple[int, Law]]:
        if bisect_left(in_demand, first) == bisect_left(in_demand, stop):
            return
        if stop - first > 1:
            middle = (first + stop) // 2
            yield from walk(first, middle, _add(outside, total(middle, stop), cells, trim))
            yield from walk(middle, stop, _add(outside, total(first, middle), cells, trim))
            return
        classes = members[first]
        error = poisson_binomial.relative_error(int(np.sum(multiplicity[classes])), classes.size)
        for place, others in poisson_binomial.leave_one_out(p[classes], multiplicity[classes]):
            yield int(classes[place]), _add(outside, _scaled(others, float(values[first]), error), cells, trim)

    yield from walk(0, values.size, Law(np.zeros(1), np.ones(1)))


def _scaled(block: poisson_binomial.Block, x: float, error: float) -> Law:
    if x == 0.0:
        return Law(np.zeros(1), np.ones(1))
    return Law(x * (block.start + np.arange(block.weights.size, dtype=float)), block.weights, error=error)


def _leaf(p: FloatArray, multiplicity: IntArray, classes: IntArray, x: float) -> Law:
    """The law of the sum over classes of one x."""
    blocks = [poisson_binomial.binomial(int(multiplicity[c]), float(p[c])) for c in classes]
    error = poisson_binomial.relative_error(int(np.sum(multiplicity[classes])), len(blocks))
    return _scaled(poisson_binomial.total(blocks), x, error)


def _leaves(p: FloatArray, x: FloatArray, multiplicity: IntArray, cells: int) -> list[Law]:
    """Laws of disjoint sets of devices: of those of one x each, and of `_TOGETHER` single devices of neighbouring x."""
    order = np.argsort(x, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(x[order])) + 1)
    single = np.array([group[0] for group in groups if group.size == 1 and multiplicity[group[0]] == 1], dtype=np.int64)
    parts = np.split(single, range(_TOGETHER, single.size, _TOGETHER)) if single.size >= _TOGETHER else []
    parts = [part[x[part] <= _LOUD * np.mean(x[part])] for part in parts]
    together = np.zeros(x.size, dtype=bool)
    together[np.concatenate([single[:0], *parts])] = True
    laws = [_leaf(p, multiplicity, group, float(x[group[0]])) for group in groups if not together[group[0]]]
    fine = int(cells / 16 * max(1.0, 6 / np.sqrt(len(parts) or 1))) + 1  # more devices spread the splits over a greater sum
    return [_of_many(p[part], x[part], fine) for part in parts] + laws


def _of_many(p: FloatArray, x: FloatArray, cells: int) -> Law:
    """The law of the sum of single devices: of every `_BLOCK` all sums, split to one grid, then convolved pairwise."""
    padding = -p.size % _BLOCK  # devices that never send
    chance, value = (np.append(each, np.zeros(padding)).reshape(-1, _BLOCK).T[:, :, None] for each in (p, x))
    sums, masses = np.zeros((chance.shape[1], 1)), np.ones((chance.shape[1], 1))
    with np.errstate(under="ignore"):
        for one_chance, one_value in zip(chance, value, strict=True):
            sums = np.concatenate([sums, sums + one_value], axis=1)
            masses = np.concatenate([masses * (1 - one_chance), masses * one_chance], axis=1)
        step = max(float(np.max(sums)) / cells, SMALLEST)
        rows = [_split(Law(each_sums, each_masses), 0.0, step) for each_sums, each_masses in zip(sums, masses, strict=True)]
        block = poisson_binomial.total([poisson_binomial.Block(0, mass) for mass, _ in rows])  # of the sum, in steps
        # a product of `_BLOCK` factors, each of them rounded, and the split; each level adds pairs, sums of so many products
        error = len(rows) * (2 * _BLOCK + max(terms for _, terms in rows) + 2) * UNIT
        error += math.ceil(math.log2(len(rows))) * len(rows) * (cells + 4) * UNIT
        return _on_grid(_scaled(block, step, error), step, len(rows))


def _total(laws: list[Law], cells: int, trim: float) -> Law:
    while len(laws) > 1:
        paired = [_add(a, b, cells, trim) for a, b in zip(laws[::2], laws[1::2], strict=False)]
        laws = paired + laws[2 * len(paired) :]
    return laws[0]


def _add(a: Law, b: Law, cells: int, trim: float) -> Law:
    """The law of the sum of two independent variables, exact as long as it has at most `cells` atoms."""
    with np.errstate(under="ignore"):
        if a.values.size * b.values.size <= 16 * cells:
            sums = np.add.outer(a.values, b.values).ravel()
            mass = np.multiply.outer(a.probabilities, b.probabilities).ravel()
            total = _both(a, b, sums, mass, terms=1)
            if sums.size <= cells or total.slack == 0:
                values, index = np.unique(sums, return_inverse=True)
                mass = np.asarray(np.bincount(index, mass), np.float64)
                total = _both(a, b, values, mass, terms=min(a.values.size, b.values.size))
                if values.size <= cells:
                    return total
                total = _trimmed(total, trim)
            least, most = float(total.values.min()), float(total.values.max())
            if most <= least:
                total = replace(total, error=total.error + total.values.size * UNIT)
                return replace(
                    total, values=np.array([least]), probabilities=np.sum(total.probabilities, keepdims=True)
                )
            step = (most - least) / (cells - 1)
            masses, terms = _split(total, least, step)
            return _on_grid(
                _both(total, _NOTHING, least + step * np.arange(masses.size, dtype=np.float64), masses, terms), step, 1
            )
        a, b = _trimmed(a, trim), _trimmed(b, trim)
        start = float(a.values[0]) + float(b.values[0])
        step = (float(a.values[-1]) + float(b.values[-1]) - start) / (cells - 1)
        if step == 0:
            mass_product = np.array([float(np.sum(a.probabilities)) * float(np.sum(b.probabilities))])
            return _both(a, b, np.array([start]), mass_product, a.values.size + b.values.size)
        (left, left_terms), (right, right_terms) = (
            _split(a, float(a.values[0]), step),
            _split(b, float(b.values[0]), step),
        )
        terms = left_terms + right_terms + min(left.size, right.size)
        masses = np.asarray(np.convolve(left, right), np.float64)
        return _on_grid(_both(a, b, start + step * np.arange(masses.size, dtype=np.float64), masses, terms), step, 2)


_NOTHING = Law(np.zeros(1), np.ones(1))


def _both(a: Law, b: Law, values: FloatArray, mass: FloatArray, terms: int) -> Law:
    """The sum of two laws with the given values and masses; each mass is a sum of at most `terms` products."""
    return Law(
        values=values,
        probabilities=mass,
        slack=a.slack + b.slack,
        spread=a.spread + b.spread,
        missing=a.missing + b.missing,
        error=a.error + b.error + (terms + 2) * UNIT,
        lost=a.lost + b.lost,
    )


def _trimmed(law: Law, most: float) -> Law:
    if most == 0.0 or law.values.size < 2:
        return law
    kept, missing = trimmed(law.probabilities[None, :], most)
    inside = np.flatnonzero(kept[0])
    return replace(
        law, values=law.values[inside], probabilities=kept[0, inside], missing=law.missing + float(missing[0])
    )


def trimmed(weights: FloatArray, most: float) -> tuple[FloatArray, FloatArray]:
    """Drop the lowest columns of each row, and move the highest ones onto the last column that is kept.

    Parameters
    ----------
    weights : ndarray, shape (R, A)
        Probabilities of increasing values.
    most : float
        Greatest probability that may be removed at each end.

    Returns
    -------
    weights : ndarray, shape (R, A)
    missing : ndarray, shape (R,)
        The greater of the dropped and the moved probability.
    """
    if most == 0.0:
        return weights, np.zeros(weights.shape[0])
    dropped = np.cumsum(weights, axis=1) <= most
    moved = (np.cumsum(weights[:, ::-1], axis=1)[:, ::-1] <= most) & ~dropped
    kept = np.where(dropped | moved, 0.0, weights)
    last_kept = weights.shape[1] - 1 - np.argmax(kept[:, ::-1] > 0, axis=1)
    dropped_mass, moved_mass = (np.sum(np.where(which, weights, 0.0), axis=1) for which in (dropped, moved))
    kept[np.arange(kept.shape[0]), last_kept] += moved_mass
    return kept, np.maximum(dropped_mass, moved_mass)


def _split(law: Law, least: float, step: float) -> tuple[FloatArray, int]:
    """Masses on a grid that starts at `least`; each atom is shared by the two neighbouring points such that the mean is
    kept.

    The upper share is rounded down, so rounding may lower the mean but not raise it. The second result is the greatest
    number of terms in one mass.
    """
    place = (law.values - least) / step
    index = place.astype(np.int64)
    share = law.probabilities * (place - index) * (1 - 2 * UNIT)
    mass = np.bincount(index, law.probabilities - share, int(np.max(index)) + 2)
    mass[1:] += np.bincount(index, share, mass.size - 1)
    return np.asarray(mass[:-1] if mass[-1] == 0 else mass), 2 * int(np.max(np.bincount(index)))


def _on_grid(law: Law, step: float, splits: int) -> Law:
    """A law that has just been split `splits` times, without grid points of no mass, and with values rounded down."""
    inside = np.flatnonzero(law.probabilities)
    lost = _ROUNDING * float(law.values[-1])
    return replace(
        law,
        values=law.values[inside] * (1 - _ROUNDING),
        probabilities=law.probabilities[inside],
        slack=law.slack + splits * step + 2 * lost,
        spread=law.spread + splits * 0.25 * step * step + lost * lost,
        lost=law.lost + 2 * lost,
    )
