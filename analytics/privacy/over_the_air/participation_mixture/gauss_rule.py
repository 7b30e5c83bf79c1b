r"""Gauss rules for a discrete law of the others' noise v: few values of v in place of thousands.

The range of log v is cut into pieces of equal width. On each, a rule of 16 nodes with positive weights has the same mean
of every polynomial in log v of degree 31 at most as the law. It is made by Lanczos's method on the values of the piece. The
least value, which decides far tails, stays by itself.

Notes
-----
*Proved.* On a piece of probability m let the divergence D differ by a doubt :math:`\kappa` at most from a function that is
analytic in log v in the Bernstein ellipse :math:`\rho`, and from a constant by at most M there: for hidden devices
:func:`.hidden_divergence.log_largest`, else without a doubt :mod:`.complex_noise`. The Chebyshev series of this function to
degree 2n - 1 = 31 errs by :math:`2M\rho^{-31}/(\rho-1)` at most on the piece (Trefethen, Approximation Theory and Approximation
Practice, theorem 8.2). Each coefficient of the series is at most :math:`G + 2\kappa`, with G the greatest value of D on the
piece, as the function has values from :math:`-\kappa` to :math:`G + \kappa`: that of :math:`T_k`, k > 0, is 2 times a mean of
the function less the middle of these, times :math:`T_k`. Rule and law have positive weights: their means of D differ by at most

.. math:: m\,\Bigl(\frac{4M\rho^{-31}}{\rho-1} + 32\,(G + 2\kappa)\,\text{deviation} + 2\kappa\Bigr),

where the deviation bounds the difference of the computed means of the Chebyshev polynomials :math:`T_0, \ldots, T_{31}`, with
its own rounding: a sum of A terms errs by A units, and for law and rule alike the argument by :math:`3 + 2(e^h-1)/h` units on a
half width h, as that of v over the middle, less 1, is relative, :math:`|T_k'| \le k^2`, and the recurrence of :math:`T_k` by
:math:`4k^2` units. Errors of the middle and of h move the piece of both by some units over h.

A rule for the law of u serves that of v = u - s, with s taken off its nodes. As a function of log u the divergence has the slope
:math:`fu`, which is at most :math:`|vf|/(1-|s|/|u|)`. The modulus of v is within :math:`|s|` of that of u, and its argument
within :math:`\arcsin|s/u|` of that of u.

*Estimated*, where no M is known. On a piece of half width c, Gauss's remainder of a function f of log v is
:math:`f^{(2n)}/(2n)!` times the mean of :math:`\pi_n^2`, n = 16, where :math:`\pi_n` is the orthogonal polynomial with leading
coefficient 1, whose mean square is at most that of :math:`2^{1-n}c^nT_n`. For :math:`f = e^{-Lx}` this is at most
:math:`4f\,(Lc/2)^{2n}/(2n)!` times the mass of the piece, where the logarithm of f falls by :math:`2Lc`: below 1e-15 for a fall
of 16. The logarithm of a divergence is curved: that its remainder is that of a straight one of the same fall is an
estimate. Where this is too much, the caller takes narrower pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.privacy.over_the_air.participation_mixture import complex_noise
from airtight.analytics.rounding import UNIT

NODES = 16  # of a rule
_DEGREES = np.arange(2 * NODES)
_LEAST_SHARE = 1e-40  # of the probability of a piece that a value must have to count in its rule
_ENDED = 1e-13  # norm below which Lanczos's vectors have ended
_CELLS, _MOST_CELLS = 32, 128  # of a law, for bounds of the curvature: for each piece, and at most
_WIDTH = 1.25  # of a piece in log v, in units of the greatest argument in its ellipse
_MOST = 64  # pieces
LOST = 1e-8  # share of the least noise that its rounding may be: less than the widening of boxes


@dataclass(frozen=True)
class Rules:
    """Rules for the laws of several rows, one piece after the other behind the least value.

    Attributes
    ----------
    low, high : ndarray, shape (rows, pieces)
        Ends of each piece in log v.
    mass : ndarray, shape (rows, pieces)
        Its probability; 0 where its nodes are the values themselves.
    deviation : ndarray, shape (rows, pieces)
        Relative to the probability (module's notes).
    moved : ndarray, shape (rows, pieces, nodes + 1)
        Probabilities of the values of a piece from each node up to the next, first those below its nodes.
    cells : tuple of ndarray, shape (rows, cells)
        Ends in v, and probabilities, of neighbouring values.
    spared : ndarray, shape (rows, cells)
        How many cells a function that is clipped at the low end of each cell leaves straight (:meth:`clipped`).
    offset : ndarray, shape (rows,)
        s of the module's notes; `low` and `high` are ends in log u.
    """

    low: FloatArray
    high: FloatArray
    mass: FloatArray
    deviation: FloatArray
    moved: FloatArray
    cells: tuple[FloatArray, FloatArray, FloatArray]
    spared: IntArray
    offset: FloatArray

    @property
    def first(self) -> IntArray:
        """The column of the first node of each piece."""
        return np.asarray(1 + NODES * np.arange(self.low.shape[1]))

    def only(self, rows: IntArray) -> Rules:
        """The rules of some rows."""
        cells = self.cells[0][rows], self.cells[1][rows], self.cells[2][rows]
        each = (self.low[rows], self.high[rows], self.mass[rows], self.deviation[rows], self.moved[rows])
        return Rules(*each, cells, self.spared[rows], self.offset[rows])

    def shifted(self, offset: FloatArray) -> Rules:
        """The rules of one law, for laws from which an offset is taken."""
        rules = self.only(np.zeros(offset.size, dtype=np.int64))
        low, high, mass = rules.cells
        return replace(rules, cells=(low - offset[:, None], high - offset[:, None], mass), offset=offset)

    def moved_down(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """Upper bound of the mean on each piece of a decreasing function, from its values at the nodes of each of `rows`."""
        return np.asarray(np.sum(self.moved[rows] * values[:, (self.first - 1)[:, None] + np.arange(NODES + 1)], axis=2))

    def clipped(self, costs: FloatArray, greatest: FloatArray, rows: IntArray) -> FloatArray:
        """Upper bound of what the curvature takes from the mean of a decreasing function, or clipping where that is less.

        `costs` has the share of each cell, `greatest` the function at the least value. A function that is clipped at the low end
        of a cell is curved only above this end less the slack (:func:`.noise_interpolant.excess`).
        """
        mass = self.cells[2]
        total = np.cumsum(costs[:, ::-1], axis=1)[:, ::-1]
        curved = np.take_along_axis(total, self.spared[rows], axis=1)
        lost = (np.cumsum(mass, axis=1) - mass)[rows] * greatest[:, None]
        return np.asarray(np.min(curved + lost, axis=1) * (1 + 1e-9))

    def log_remainder(
        self, smooth: complex_noise.Smooth, rows: IntArray, log_greatest: FloatArray, log_slight: FloatArray
    ) -> FloatArray:
        """Log of the proved error of the mean on each piece, one problem in each of `rows`; infinite where none is known.

        `log_greatest` is the logarithm of an upper bound of the divergence on each piece, `log_slight` that of an error of each
        problem's mean that does not matter.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            log_mass = np.log(self.mass[rows])
            known = smooth.on_pieces(self.low[rows], self.high[rows], self.offset[rows], log_slight[:, None] - log_mass)
            missed = log_missed(known.rho) + known.log_largest
            coefficients = np.logaddexp(log_greatest, np.log(2) + known.log_doubt)
            deviating = np.log(_DEGREES.size * self.deviation[rows]) + coefficients
            error = log_mass + np.logaddexp(np.logaddexp(missed, deviating), np.log(2) + known.log_doubt)
            error = error + np.log1p(self.deviation[rows])  # the rule's own probability may be that much more
        return np.where(self.mass[rows] > 0, error, -np.inf)


def rules_of(v: FloatArray, weights: FloatArray, pieces: int, slack: float = 0.0) -> tuple[FloatArray, FloatArray, Rules]:
    """Values and weights of the rules of laws on so many pieces, and what their errors depend on.

    Parameters
    ----------
    v, weights : ndarray, shape (rows, A)
        Nondecreasing values and their probabilities.
    pieces : int
    slack : float
        Of the laws.

    Examples
    --------
    >>> v, weights = np.linspace(1, 2, 1001)[None, :], np.full((1, 1001), 1 / 1001)
    >>> nodes, shares, rules = rules_of(v, weights, 2)
    >>> nodes.size, bool(abs(np.exp(-nodes[0]) @ shares[0] - np.exp(-v[0]) @ weights[0]) < 1e-14)
    (33, True)
    """
    size = 1 + NODES * pieces
    nodes, shares = np.empty((v.shape[0], size)), np.zeros((v.shape[0], size))
    low, high, mass, deviation = (np.zeros((v.shape[0], pieces)) for _ in range(4))
    moved = np.zeros((v.shape[0], pieces, NODES + 1))
    number_of_cells = min(_CELLS * pieces, _MOST_CELLS)
    cells = tuple(np.zeros((v.shape[0], number_of_cells)) for _ in range(3))
    for row in range(v.shape[0]):
        used = weights[row] > 0
        values, probabilities = v[row, used], weights[row, used]
        nodes[row], shares[row, 0] = values[-1], probabilities[0]
        nodes[row, 0] = values[0]
        log_v = np.log(values[1:])
        edges = np.linspace(log_v[0], log_v[-1], pieces + 1)[1:-1] if log_v.size else np.zeros(pieces - 1)
        stops = 1 + np.searchsorted(log_v, edges)
        for piece, (start, stop) in enumerate(zip(np.append(1, stops), np.append(stops, values.size), strict=True)):
            at = slice(1 + NODES * piece, 1 + NODES * (piece + 1))
            some, their = values[start:stop], probabilities[start:stop]
            nodes[row, at] = values[stop - 1]  # where the piece has fewer: nondecreasing, the node before the next piece
            if some.size:
                low[row, piece], high[row, piece] = log_v[start - 1], log_v[stop - 2]
            if some.size <= NODES:
                nodes[row, at][: some.size], shares[row, at][: some.size] = some, their
            else:
                mass[row, piece] = np.sum(their)
                nodes[row, at], shares[row, at], deviation[row, piece] = _rule(some, their)
            place = np.searchsorted(nodes[row, at][: some.size], some, side="right")
            moved[row, piece] = np.bincount(place, their, NODES + 1)
        # half of the cells are equal in number, where the mass is, and half in log v, where the divergence varies
        log_edges = np.linspace(log_v[0], log_v[-1], number_of_cells // 2)[:-1] if log_v.size else np.zeros(0)
        equal_numbers = np.linspace(0, values.size, number_of_cells // 2, endpoint=False).astype(int)
        first = np.unique(np.append(equal_numbers, 1 + np.searchsorted(log_v, log_edges)))
        ends = values[first], values[np.append(first[1:], values.size) - 1], np.add.reduceat(probabilities, first)
        for each, end in zip(cells, ends, strict=True):
            each[row], each[row, : first.size] = end[-1], end
        cells[2][row, first.size :] = 0.0
    # cells that end below the reach of a clip at the low end of another; with an offset they end further below
    reach = (cells[0] - slack) * (1 - 2e-9)
    spared = np.array([np.searchsorted(each_high, each_reach) for each_high, each_reach in zip(cells[1], reach, strict=True)])
    return nodes, shares, Rules(low, high, mass, deviation, moved, (cells[0], cells[1], cells[2]), spared, np.zeros(v.shape[0]))


def pieces_for(v: FloatArray, weights: FloatArray, opening: float) -> int:
    """How many pieces serve ellipses whose greatest argument is `opening`."""
    return pieces_of_width(v, weights, _WIDTH * opening)


def pieces_of_width(v: FloatArray, weights: FloatArray, width: float) -> int:
    """How many pieces are no wider than this in log v."""
    used = (weights > 0) & (v > 0)
    log_v = np.log(np.where(used, v, 1.0))
    ends = (np.max(log_v, axis=1, initial=-np.inf, where=used), np.min(log_v, axis=1, initial=np.inf, where=used))
    return int(np.clip(np.ceil(np.max(ends[0] - ends[1]) / width), 1, _MOST))


def log_missed(rho: FloatArray) -> FloatArray:
    """Log of the proved error of a rule, in units of M and of the probability of its piece (module's notes)."""
    return np.asarray(np.log(4 / (rho - 1)) - float(_DEGREES[-1]) * np.log(rho))


def log_remainder(fall: FloatArray) -> FloatArray:
    """Log of the estimated error of a rule, in units of the greatest value, where the logarithm falls by so much on the piece."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(4) + 2 * NODES * np.log(fall / 4) - special.gammaln(2 * NODES + 1))


def _rule(v: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Nodes, their weights, and the deviation, of more values than a rule has nodes."""
    mass, middle = np.sum(weights), np.sqrt(v[0]) * np.sqrt(v[-1])
    half = np.log(v[-1] / v[0]) / 2
    if half == 0:
        return np.full(NODES, v[-1]), np.append(mass, np.zeros(NODES - 1)), v.size * float(UNIT)
    counts = weights > _LEAST_SHARE * mass  # what does not is far below the rounding that is counted, and slow: it underflows
    x, used = np.log1p((v[counts] - middle) / middle) / half, weights[counts]
    diagonal, beside = _lanczos(x, np.sqrt(used / mass))
    places, vectors = linalg.eigh_tridiagonal(diagonal, beside)
    # where fewer vectors suffice, the last node stands for the rest, with no weight
    nodes, shares = np.full(NODES, v[-1]), np.zeros(NODES)
    nodes[: places.size] = np.clip(middle * np.exp(half * places), v[0], v[-1])
    shares[: places.size] = vectors[0] ** 2 * mass
    difference = _means(np.log1p((nodes - middle) / middle) / half, shares) - _means(x, used)
    rounding = (v.size + 32 + (2 * NODES) ** 2 * (14 + 4 * np.expm1(half) / half)) * UNIT
    return nodes, shares, float(np.max(np.abs(difference)) / mass + rounding)


def _means(x: FloatArray, weights: FloatArray) -> FloatArray:
    """Sums over the weights of the Chebyshev polynomials."""
    polynomials = np.empty((_DEGREES.size, x.size))
    polynomials[0], polynomials[1] = 1.0, x
    for degree in _DEGREES[2:]:
        polynomials[degree] = 2 * x * polynomials[degree - 1] - polynomials[degree - 2]
    return np.asarray(polynomials @ weights)


def _lanczos(x: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Diagonal and side diagonal of the Jacobi matrix of the law with the square roots `start` of its probabilities."""
    basis, diagonal, beside = np.zeros((NODES, x.size)), np.zeros(NODES), np.zeros(NODES)
    vector = start / np.linalg.norm(start)
    for step in range(NODES):
        basis[step] = vector
        image = x * vector
        diagonal[step] = vector @ image
        # orthogonal to all vectors so far; what rounding leaves shows as a deviation
        image = image - basis[: step + 1].T @ (basis[: step + 1] @ image)
        beside[step] = np.linalg.norm(image)
        if beside[step] < _ENDED:
            break
        vector = image / beside[step]
    return diagonal[: step + 1], beside[:step]
