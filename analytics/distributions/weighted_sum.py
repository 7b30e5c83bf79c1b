r"""The law of sum_k tau_k x_k, tau_k ~ Bern(p_k): the noise that random participants bring along.

Exact as long as the law has few atoms (equal x_k, or few devices). Otherwise every atom is split between its two neighbours on
a grid so that the mean is kept, and the law says how far any mass has moved and what variance that added at most.

Bounds from such a law
----------------------
Let V be the sum, V' its law on the grid. Each splitting adds a variable of conditional mean 0, of absolute value at most its
step h and of conditional variance at most :math:`h^2/4`; `slack` is the sum of the steps, `spread` that of the variances.

* abs(V' - V) <= slack, so for a decreasing f: :math:`E f(V'+\text{slack}) \le E f(V) \le E f(V' - \text{slack})`.
* With :math:`f'' \ge -b(v)` within `slack` of v, Taylor's theorem at each splitting gives
  :math:`E f(V) \le E f(V') + \tfrac12\,\text{spread}\,E\,b(V')`; with :math:`f'' \le b`,
  :math:`E f(V) \ge E f(V') - \tfrac12\,\text{spread}\,E\,b(V')`: both ends of second order in the step.
* `missing` mass was dropped from the low end and equal mass at the high end moved down to the greatest value kept: for a
  decreasing f <= 1 the first counts as 1, and both only raise the expectation, by at most ``2 * missing``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from analytics.checks import FloatArray, IntArray, ParameterError, broadcast, count, real
from analytics.distributions import poisson_binomial

_ROUNDING = 1e-14  # relative error of a float sum of grid points, given away on the safe side for decreasing functions


@dataclass(frozen=True)
class Law:
    """A law on the non-negative reals, exact or on a grid; see the notes of this module.

    Attributes
    ----------
    values : ndarray, shape (A,)
        Increasing.
    probabilities : ndarray, shape (A,)
    slack : float
        How far any mass has been moved at most; 0 when the law is exact.
    spread : float
        Variance that was added at most.
    missing : float
        Probability dropped at the low end; as much at most was moved down from the high end.
    """

    values: FloatArray
    probabilities: FloatArray
    slack: float = 0.0
    spread: float = 0.0
    missing: float = 0.0

    def quantile(self, level: float) -> float:
        """A value v with Pr(sum < v) <= level: the largest atom, less the slack, that is surely a lower `level`-quantile."""
        below = np.cumsum(self.probabilities) + self.missing
        place = min(int(np.searchsorted(below, level, side="right")), below.size - 1)
        return max(float(self.values[place]) - self.slack, 0.0)


def law(p: ArrayLike, x: ArrayLike, *, cells: int = 4096) -> Law:
    r"""Law of :math:`\sum_k \tau_k x_k` with independent :math:`\tau_k \sim \mathrm{Bern}(p_k)`.

    Parameters
    ----------
    p : array_like, shape (K,)
        Probabilities.
    x : array_like, shape (K,) or scalar
        Non-negative values.
    cells : int
        Atoms to keep at most; with more, the law is put on a grid of that size (`slack` > 0).

    Returns
    -------
    Law

    Notes
    -----
    Devices are merged pairwise. A merge of two laws with ranges a and b moves each by at most (a + b)/cells, so over a
    balanced tree the slack is at most 2 log2(K) sum(x)/cells.

    Examples
    --------
    >>> law([0.5, 0.5], [1.0, 2.0])
    Law(values=array([0., 1., 2., 3.]), probabilities=array([0.25, 0.25, 0.25, 0.25]), slack=0.0, spread=0.0, missing=0.0)
    """
    probability, value = broadcast(p=real("p", p, "[0, 1]"), x=real("x", x, "[0, inf)"))
    if probability.ndim != 1:
        raise ParameterError("p", f"array of shape {probability.shape}", "one axis of probabilities")
    pairs, multiplicity = np.unique(np.stack([probability, value]), axis=1, return_counts=True)
    return _total(_leaves(pairs[0], pairs[1], multiplicity), count("cells", cells, "[2, inf)"), 0.0)


def leave_one_out(
    p: FloatArray, x: FloatArray, multiplicity: IntArray, *, cells: int = 4096, negligible: float = 0.0
) -> Iterator[tuple[int, Law]]:
    """For each class of equal devices (p, x), the law of the sum over all the others; `negligible` mass may be `missing`."""
    if p.size and np.all(x == x[0]):
        for c, block in poisson_binomial.leave_one_out(p, multiplicity):
            yield c, _scaled(block, float(x[0]))
        return
    trim = negligible / (4 * p.size + 4)

    def walk(classes: IntArray, outside: Law) -> Iterator[tuple[int, Law]]:
        if classes.size == 1:
            c = int(classes[0])
            others = poisson_binomial.binomial(int(multiplicity[c]) - 1, float(p[c]))
            yield c, _add(outside, _scaled(others, float(x[c])), cells, trim)
            return
        left, right = classes[: classes.size // 2], classes[classes.size // 2 :]
        for inner, outer in ((left, right), (right, left)):
            group = _total(_leaves(p[outer], x[outer], multiplicity[outer]), cells, trim)
            yield from walk(inner, _add(outside, group, cells, trim))

    yield from walk(np.lexsort((p, x)), Law(np.zeros(1), np.ones(1)))


def _scaled(block: poisson_binomial.Block, x: float) -> Law:
    if x == 0.0:
        return Law(np.zeros(1), np.ones(1))
    return Law(x * (block.start + np.arange(block.weights.size, dtype=float)), block.weights)


def _leaves(p: FloatArray, x: FloatArray, multiplicity: IntArray) -> list[Law]:
    """One law for each distinct x, in increasing order."""
    leaves = []
    for value in np.unique(x):
        same = x == value
        blocks = [poisson_binomial.binomial(int(m), float(q)) for q, m in zip(p[same], multiplicity[same], strict=True)]
        leaves.append(_scaled(poisson_binomial.total(blocks), float(value)))
    return leaves


def _total(laws: list[Law], cells: int, trim: float) -> Law:
    while len(laws) > 1:
        paired = [_add(a, b, cells, trim) for a, b in zip(laws[::2], laws[1::2], strict=False)]
        laws = paired + laws[2 * len(paired) :]
    return laws[0]


def _add(a: Law, b: Law, cells: int, trim: float) -> Law:
    """The law of the sum of two independent ones: exact while it has at most `cells` atoms."""
    missing = a.missing + b.missing
    with np.errstate(under="ignore"):
        if a.values.size * b.values.size <= 16 * cells:
            sums = np.add.outer(a.values, b.values).ravel()
            mass = np.multiply.outer(a.probabilities, b.probabilities).ravel()
            whole = Law(sums, mass, a.slack + b.slack, a.spread + b.spread, missing)
            if sums.size <= cells or whole.slack == 0:
                values, where = np.unique(sums, return_inverse=True)
                whole = replace(whole, values=values, probabilities=np.asarray(np.bincount(where, mass), np.float64))
                if values.size <= cells:
                    return whole
                whole = _trimmed(whole, trim)
            least, most = float(whole.values.min()), float(whole.values.max())
            if most <= least:
                return replace(
                    whole, values=np.array([least]), probabilities=np.array([float(np.sum(whole.probabilities))])
                )
            step = (most - least) / (cells - 1)
            return _on_grid(_split(whole, least, step), step, least, whole, step, 0.25 * step * step)
        a, b = _trimmed(a, trim), _trimmed(b, trim)
        start = float(a.values[0]) + float(b.values[0])
        step = (float(a.values[-1]) + float(b.values[-1]) - start) / (cells - 1)
        if step == 0:
            chance = float(np.sum(a.probabilities)) * float(np.sum(b.probabilities))
            return Law(
                np.array([start]), np.array([chance]), a.slack + b.slack, a.spread + b.spread, a.missing + b.missing
            )
        mass = np.convolve(_split(a, float(a.values[0]), step), _split(b, float(b.values[0]), step))
        both = Law(a.values, a.probabilities, a.slack + b.slack, a.spread + b.spread, a.missing + b.missing)
        return _on_grid(mass, step, start, both, 2 * step, 0.5 * step * step)


def _trimmed(law: Law, trim: float) -> Law:
    """Without at most `trim` of mass at the low end; as much at the high end moved onto the last atom kept."""
    if trim == 0.0 or law.values.size < 2:
        return law
    first = int(np.sum(np.cumsum(law.probabilities) <= trim))
    over = int(np.sum(np.cumsum(law.probabilities[::-1]) <= trim))
    last = max(law.values.size - over, first + 1)
    mass = law.probabilities[first:last].copy()
    mass[-1] += float(np.sum(law.probabilities[last:]))
    return replace(law, values=law.values[first:last], probabilities=mass, missing=law.missing + trim)


def _split(law: Law, least: float, step: float) -> FloatArray:
    """Masses on a grid from the law's least value on, each atom shared by its neighbours so that the mean is kept."""
    place = (law.values - least) / step
    index = place.astype(np.int64)
    share = law.probabilities * (place - index)
    mass = np.bincount(index, law.probabilities - share, int(np.max(index)) + 2)
    mass[1:] += np.bincount(index, share, mass.size - 1)
    return np.asarray(mass[:-1] if mass[-1] == 0 else mass)


def _on_grid(mass: FloatArray, step: float, start: float, of: Law, moved: float, added: float) -> Law:
    inside = np.flatnonzero(mass)
    values = start + step * inside.astype(np.float64)
    lost = _ROUNDING * float(values[-1])
    return replace(
        of,
        values=values * (1 - _ROUNDING),
        probabilities=mass[inside],
        slack=of.slack + moved + 2 * lost,
        spread=of.spread + added + lost * lost,
    )
