r"""A lower bound for quantizers of b bits with any alphabet of 2^b outputs, by a covering with certificates.

A certificate (:class:`airtight.solvers.design.quantizer.quantizer_bound.Certificate`) whose G is not negative outside
a set N bounds every quantizer without an output in N. For a family of certificates, an alphabet that none of them
bounds has an output in each of their sets N. If no k points meet all sets N, the least bound of the family holds for
all quantizers with k outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray
from airtight.analytics.federated.corbin.quantizers import alpha
from airtight.solvers.design.quantizer.quantizer_bound import Certificate, certified

_INPUTS = 9  # inputs of the certificates, evenly spaced in [-1, 1]
# points beyond the cells where the program requires G >= 0, in units of alpha
_BEYOND = (
    *np.linspace(1.0, 1.5, 31),
    1.6,
    1.7,
    1.8,
    1.9,
    2.2,
    2.8,
    4.0,
    8.0,
)
_PASSES = 3  # reweighted linear programs, which concentrate the violations of G >= 0 in few cells
_DIGITS = 10**6  # denominator of the ends of the cells
_MOST = 400  # certificates
_REFINED = 12  # most rounds in which points are added to the program
_SPARE = 4e-3  # relative amount by which the bound proved in fractions may be less than the goal


@dataclass(frozen=True)
class BitsBound:
    """A proof that unbiased, epsilon-private quantizers with at most `outputs` outputs have worst variance >= `value`.

    Attributes
    ----------
    outputs : int
    marks : tuple of Fraction
        Ends of the cells [marks[0], marks[1]], ...; the first is at least -alpha, the last at most alpha.
    certificates : tuple of (Certificate, frozenset of int)
        Each certificate with the cells that it leaves out: it bounds every alphabet without an output in these cells.
    """

    outputs: int
    marks: tuple[Fraction, ...]
    certificates: tuple[tuple[Certificate, frozenset[int]], ...]

    @cached_property
    def value(self) -> Fraction:
        """The least bound of all certificates."""
        return min(certificate.value for certificate, _ in self.certificates)

    def valid(self) -> bool:
        """Whether every certificate holds outside the cells that it leaves out, and no outputs meet all these sets.

        The test uses exact fractions.
        """
        return (
            all(certificate.valid(_gaps(left_out, self.marks)) for certificate, left_out in self.certificates)
            and escape([left_out for _, left_out in self.certificates], self.outputs - 2) is None
        )


def _gaps(left_out: Iterable[int], marks: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """The union of these cells as intervals; neighbouring cells are joined."""
    intervals: list[tuple[Fraction, Fraction]] = []
    for cell in sorted(left_out):
        low, high = marks[cell], marks[cell + 1]
        intervals = (
            [*intervals[:-1], (intervals[-1][0], high)]
            if intervals and intervals[-1][1] == low
            else [*intervals, (low, high)]
        )
    return intervals


def escape(sets: Sequence[frozenset[int]], places: int) -> tuple[int, ...] | None:
    """At most `places` cells that meet every set, by exhaustive search; None where there are none.

    Examples
    --------
    >>> escape([frozenset({1, 2}), frozenset({2, 3})], 1), escape([frozenset({1}), frozenset({3})], 1)
    ((2,), None)
    """
    if not sets:
        return ()
    if places == 0:
        return None
    smallest = min(sets, key=len)
    tried: set[int] = set()
    for cell in sorted(smallest, key=lambda c: -sum(c in s for s in sets)):
        remaining = [s - tried for s in sets if cell not in s]  # cells tried before need not be chosen again
        if all(remaining):
            further = escape(remaining, places - 1)
            if further is not None:
                return (cell, *further)
        tried.add(cell)
    return None


def bound(bits: int, *, epsilon: float, value: float, cells: int = 28) -> BitsBound:
    r"""A proof that no quantizer of b bits has a worst variance below `value`, for every alphabet of 2^b outputs.

    Parameters
    ----------
    bits : int
        In [1, 3]; two bits take half a minute; the provable bound for three bits is only slightly above that for any
        alphabet.
    epsilon : float
        In [0.1, 10].
    value : float
        The intended bound; the bound proved in fractions may be slightly less.
    cells : int
        Number of cells between -alpha and alpha; with more cells greater values are provable.

    Raises
    ------
    ConvergenceError
        When an alphabet with outputs in some cells is not bounded by `value`: because the cells are too wide, or
        because such a quantizer exists.

    Notes
    -----
    Two steps alternate. An integer program finds the cells of an alphabet that no certificate covers. A linear program
    over mu, lambda and nu finds a certificate for it: G is at least 0 in the cells of this alphabet, the bound is at
    least `value`, and G >= 0 is violated elsewhere as little as possible. The mirror image of each certificate is
    valid as well.

    An unbiased private quantizer has an output of at least alpha: if Y is at most u, then
    :math:`u + 1 = \mathrm{E}_{-1}(u - Y) \le e^\epsilon\,\mathrm{E}_1(u - Y) = e^\epsilon(u - 1)`, so u is at least
    alpha. By symmetry it has an output of at most -alpha. At most k - 2 of the k outputs are in the cells between;
    beyond alpha, G is nowhere negative.

    Examples
    --------
    >>> one = bound(1, epsilon=1.0, value=4.68, cells=8)
    >>> one.valid(), 4.67 < one.value <= 4.683
    (True, True)
    """
    k = 2 ** checks.count("bits", bits, "[1, 3]")
    eps = checks.scalar("epsilon", epsilon, "[0.1, 10]")
    required = checks.scalar("value", value, "(0, inf)") * (1 - _SPARE)
    search = _Search(eps, checks.count("cells", cells, "[8, 200]"))
    covered: list[tuple[Certificate, frozenset[int]]] = []
    while len(covered) < _MOST:
        alphabet = search.missing([left_out for _, left_out in covered], k - 2)
        if alphabet is None:
            return BitsBound(k, search.marks, tuple(covered))
        covered += search.covering(alphabet, required / (1 - _SPARE), required)
    raise ConvergenceError(f"{_MOST} certificates are not enough to prove the value")


def best(bits: int, *, epsilon: float, low: float, high: float, cells: int = 40, steps: int = 4) -> BitsBound | None:
    """The greatest bound that bisection between two values proves; None where no bound above `low` is proved.

    Parameters
    ----------
    bits, epsilon, cells
        As in :func:`bound`.
    low, high : float
        Worst variances: a lower bound for any alphabet, and that of a known quantizer.
    steps : int
        Bisection steps.

    Examples
    --------
    >>> found = best(1, epsilon=1.0, low=3.98, high=4.683, cells=8, steps=3)
    >>> found is not None and 4.5 < found.value
    True
    """
    best_bound = None
    for _ in range(checks.count("steps", steps)):
        middle = (low + high) / 2
        try:
            proved = bound(bits, epsilon=epsilon, value=middle, cells=cells)
        except ConvergenceError:
            high = middle
            continue
        best_bound, low = proved, middle
    return best_bound


class _Search:
    """The cells between -alpha and alpha, points in them and beyond, and the linear program over the multipliers."""

    def __init__(self, epsilon: float, cells: int) -> None:
        self.epsilon, self.cells = epsilon, cells
        self.x = np.linspace(-1.0, 1.0, _INPUTS)
        outermost = Fraction(math.floor(float(alpha(epsilon)) * (1 - 1e-12) * _DIGITS), _DIGITS)
        self.marks = tuple(outermost * j / cells for j in range(-cells, cells + 1, 2))
        ends = np.array([float(m) for m in self.marks])
        inner_points = [(j, y) for j in range(cells) for y in np.linspace(ends[j], ends[j + 1], 3)]
        outer_points = [(cells, side * ends[-1] * t) for side in (-1, 1) for t in _BEYOND]
        self.place = np.array([cell for cell, _ in (*inner_points, *outer_points)])
        self.y = np.array([y for _, y in (*inner_points, *outer_points)])
        self.fine = np.linspace(3 * ends[0], 3 * ends[-1], 60 * cells + 1)
        cell_of_fine = np.searchsorted(ends, self.fine) - 1
        self.fine_place = np.where((cell_of_fine >= 0) & (cell_of_fine < cells), cell_of_fine, cells)
        self.rows = self._matrix(np.exp(epsilon))

    def _matrix(self, odds: float) -> Any:
        """The rows of the constraints g <= c, g <= O c, and sum of g >= -slack of the cell, and of the bound.

        The unknowns are mu, lambda, nu, g (points x inputs) and the slacks. With O > 1, g <= min(c, O c).
        """
        from scipy import sparse

        q, Y, n = _INPUTS, self.y.size, self.cells + 1
        eye = sparse.eye(q)
        c = sparse.vstack([sparse.hstack([y * y * eye, -y * eye, -eye]) for y in self.y])
        g, blank = sparse.eye(Y * q), sparse.csr_matrix
        slack = blank((np.ones(Y), (np.arange(Y), self.place)), shape=(Y, n))
        total = sparse.kron(sparse.eye(Y), np.ones((1, q)))
        bound_row = np.concatenate([self.x**2, -self.x, -np.ones(q), np.zeros(Y * q + n)])
        parts = [
            sparse.hstack([-c, g, blank((Y * q, n))]),
            sparse.hstack([-odds * c, g, blank((Y * q, n))]),
            sparse.hstack([blank((Y, 3 * q)), -total, -slack]),
            blank(bound_row[None, :]),
        ]
        return sparse.vstack(parts).tocsr()

    def missing(self, sets: Sequence[frozenset[int]], places: int) -> tuple[int, ...] | None:
        """At most `places` cells of an alphabet that no certificate covers; None where there are none."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if not sets or not places:
            return None if sets else tuple(range(min(places, self.cells)))
        membership = np.array([[cell in cell_set for cell in range(self.cells)] for cell_set in sets], dtype=float)
        solution = milp(
            np.random.default_rng(len(sets)).random(self.cells),
            constraints=[
                LinearConstraint(membership, 1, np.inf),
                LinearConstraint(np.ones((1, self.cells)), 0, places),
            ],
            integrality=np.ones(self.cells),
            bounds=Bounds(0, 1),
        )
        return None if solution.x is None else tuple(int(cell) for cell in np.flatnonzero(solution.x > 0.5))

    def covering(
        self, alphabet: tuple[int, ...], value: float, goal: float
    ) -> list[tuple[Certificate, frozenset[int]]]:
        """A certificate that bounds the alphabets in these cells, and its mirror image."""
        for _ in range(_REFINED):  # until the bound in fractions reaches the goal
            mu, slope, level, slack = self._multipliers(alphabet, value)
            left_out = frozenset(int(cell) for cell in np.flatnonzero(slack > 1e-9 * value))
            gaps = _gaps(left_out, self.marks)
            certificate = certified(mu, slope, level, inputs=self.x, epsilon=self.epsilon, gaps=gaps), left_out
            if certificate[0].value >= goal:
                break
            self._refine(mu, slope, level, left_out)
        mirror = mirrored(certificate[0]), frozenset(self.cells - 1 - cell for cell in left_out)
        return [certificate] if mirror[1] == left_out else [certificate, mirror]

    def _refine(self, mu: FloatArray, slope: FloatArray, level: FloatArray, left_out: frozenset[int]) -> None:
        """Add points to the program: the minimum of G in each cell that is not left out and beyond, if negative."""
        c = mu * self.fine[:, None] ** 2 - slope * self.fine[:, None] - level
        G = np.minimum(c, np.exp(self.epsilon) * c).sum(axis=1)
        for cell in set(range(self.cells + 1)) - left_out:
            points_of_cell = np.flatnonzero(self.fine_place == cell)
            for side in (points_of_cell[self.fine[points_of_cell] < 0], points_of_cell[self.fine[points_of_cell] >= 0]):
                if side.size and G[lowest := side[np.argmin(G[side])]] < 0:
                    self.y, self.place = np.append(self.y, self.fine[lowest]), np.append(self.place, cell)
        self.rows = self._matrix(np.exp(self.epsilon))

    def _multipliers(self, alphabet: tuple[int, ...], value: float) -> tuple[FloatArray, ...]:
        from scipy.optimize import linprog

        q, Y, n = _INPUTS, self.y.size, self.cells + 1
        price, slack_limit = np.ones(n), np.full(n, np.inf)
        slack_limit[[*alphabet, self.cells]] = 0.0
        lower_bounds = np.concatenate([np.zeros(q), np.full(2 * q + Y * q, -np.inf), np.zeros(n)])
        upper_bounds = np.concatenate([np.full(3 * q + Y * q, np.inf), slack_limit])
        row_limits = np.append(np.zeros(self.rows.shape[0] - 1), -value)
        unit_sum = np.concatenate([np.ones(q), np.zeros(2 * q + Y * q + n)])
        for _ in range(_PASSES):
            solution = linprog(
                np.concatenate([np.zeros(3 * q + Y * q), price]),
                A_ub=self.rows,
                b_ub=row_limits,
                A_eq=unit_sum[None, :],
                b_eq=[1.0],
                bounds=np.stack([lower_bounds, upper_bounds], axis=1),
                method="highs",
            )
            if solution.status != 0:
                where = ", ".join(f"{float(self.marks[cell]):g}" for cell in alphabet)
                raise ConvergenceError(
                    f"an alphabet in the cells that begin at {where} "
                    f"is not proved to have a worst variance of at least {value:g}"
                )
            # cells of small slack get a high price in the next pass, so that the slack becomes sparse
            slack = solution.x[-n:]
            price = 1 / (slack / max(float(slack.max()), 1e-12) + 0.03)
        mu, slope, level = solution.x[: 3 * q].reshape(3, q)
        return mu, slope, level, slack[:-1]


def mirrored(certificate: Certificate) -> Certificate:
    """The certificate of the mirrored quantizer, with -y for y and -x for x.

    Examples
    --------
    >>> third = Fraction(1, 3)
    >>> one = Certificate(Fraction(3), (third,), (Fraction(1),), (third,), (Fraction(0),))
    >>> mirrored(one).slope, mirrored(one).value == one.value
    ((Fraction(-1, 3),), True)
    """
    return Certificate(
        certificate.odds,
        tuple(-x for x in certificate.inputs),
        certificate.curvature,
        tuple(-b for b in certificate.slope),
        certificate.level,
    )
