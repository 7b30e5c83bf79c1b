"""The law of sum_k tau_k x_k, tau_k ~ Bern(p_k): the noise that random participants bring along.

Exact as long as the law has few atoms (equal x_k, or few devices); otherwise every atom is rounded *down* to a grid and
the law says by how much at most, so that bounds from either side can be had from the one object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.checks import FloatArray, IntArray, ParameterError, broadcast, count, real
from analytics.distributions import poisson_binomial

_ROUNDING = 1e-14  # relative error of a float sum of grid points, given away on the safe side


@dataclass(frozen=True)
class Law:
    """A law on the non-negative reals, known up to `slack`.

    Attributes
    ----------
    values : ndarray, shape (A,)
        Increasing. Mass ``probabilities[i]`` lies somewhere in ``[values[i], values[i] + slack]``.
    probabilities : ndarray, shape (A,)
    slack : float
        0 when the law is exact.
    """

    values: FloatArray
    probabilities: FloatArray
    slack: float = 0.0

    def quantile(self, level: float) -> float:
        """A value v with Pr(sum < v) <= level: the largest atom that is surely a lower `level`-quantile."""
        below = np.cumsum(self.probabilities)
        return float(self.values[min(int(np.searchsorted(below, level, side="right")), below.size - 1)])


def law(p: ArrayLike, x: ArrayLike, *, cells: int = 4096) -> Law:
    r"""Law of :math:`\sum_k \tau_k x_k` with independent :math:`\tau_k \sim \mathrm{Bern}(p_k)`.

    Parameters
    ----------
    p : array_like, shape (K,)
        Probabilities.
    x : array_like, shape (K,) or scalar
        Non-negative values.
    cells : int
        Atoms to keep at most; with more, the law is put on a grid of that size (mass rounded down, `slack` > 0).

    Returns
    -------
    Law

    Notes
    -----
    Devices are merged pairwise. A merge of two laws with ranges a and b costs a rounding of at most (a + b)/cells for
    each, so over a balanced tree the slack is at most 2 log2(K) sum(x)/cells.

    Examples
    --------
    >>> law([0.5, 0.5], [1.0, 2.0])
    Law(values=array([0., 1., 2., 3.]), probabilities=array([0.25, 0.25, 0.25, 0.25]), slack=0.0)
    """
    probability, value = broadcast(p=real("p", p, "[0, 1]"), x=real("x", x, "[0, inf)"))
    if probability.ndim != 1:
        raise ParameterError("p", f"array of shape {probability.shape}", "one axis of probabilities")
    pairs, multiplicity = np.unique(np.stack([probability, value]), axis=1, return_counts=True)
    return _total(_leaves(pairs[0], pairs[1], multiplicity), count("cells", cells, "[2, inf)"))


def leave_one_out(
    p: FloatArray, x: FloatArray, multiplicity: IntArray, *, cells: int = 4096
) -> Iterator[tuple[int, Law]]:
    """For each class of equal devices (p, x), the law of the sum over all the others."""
    if p.size and np.all(x == x[0]):
        for c, block in poisson_binomial.leave_one_out(p, multiplicity):
            yield c, _scaled(block, float(x[0]))
        return

    def walk(classes: IntArray, outside: Law) -> Iterator[tuple[int, Law]]:
        if classes.size == 1:
            c = int(classes[0])
            others = poisson_binomial.binomial(int(multiplicity[c]) - 1, float(p[c]))
            yield c, _add(outside, _scaled(others, float(x[c])), cells)
            return
        for inner, outer in (
            (classes[: classes.size // 2], classes[classes.size // 2 :]),
            (classes[classes.size // 2 :], classes[: classes.size // 2]),
        ):
            group = _total(_leaves(p[outer], x[outer], multiplicity[outer]), cells)
            yield from walk(inner, _add(outside, group, cells))

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


def _total(laws: list[Law], cells: int) -> Law:
    while len(laws) > 1:
        paired = [_add(a, b, cells) for a, b in zip(laws[::2], laws[1::2], strict=False)]
        laws = paired + laws[2 * len(paired) :]
    return laws[0]


def _add(a: Law, b: Law, cells: int) -> Law:
    """The law of the sum of two independent ones: exact while it has at most `cells` atoms."""
    with np.errstate(under="ignore"):
        if a.values.size * b.values.size <= 16 * cells:
            sums = np.add.outer(a.values, b.values).ravel()
            values, where = np.unique(sums, return_inverse=True)
            mass = _mass(where, np.multiply.outer(a.probabilities, b.probabilities).ravel())
            if values.size <= cells:
                return Law(values, mass, a.slack + b.slack)
            index, step = _floor_to_grid(values, float(values[-1]), cells)
            return _on_grid(_mass(index, mass), step, a.slack + b.slack + step)
        reach = float(a.values[-1] + b.values[-1])
        rows = []
        for part in (a, b):
            index, step = _floor_to_grid(part.values, reach, cells)
            rows.append(_mass(index, part.probabilities))
        return _on_grid(np.convolve(rows[0], rows[1]), step, a.slack + b.slack + 2 * step)


def _floor_to_grid(values: FloatArray, reach: float, cells: int) -> tuple[IntArray, float]:
    step = reach / (cells - 1)
    return np.floor(values / step).astype(np.int64), step


def _mass(index: IntArray, probabilities: FloatArray) -> FloatArray:
    """Total probability of each index."""
    return np.asarray(np.bincount(index, probabilities), dtype=np.float64)


def _on_grid(mass: FloatArray, step: float, slack: float) -> Law:
    inside = np.flatnonzero(mass)
    values = step * inside.astype(np.float64)
    return Law(values * (1 - _ROUNDING), mass[inside], slack + 2 * _ROUNDING * float(values[-1]))
