r"""A lower bound for quantizers of b bits: every alphabet of 2^b outputs, wherever they are, by a covering with certificates.

A certificate (:class:`airtight.solvers.design.quantizer.quantizer_bound.Certificate`) whose G is not negative outside a
set N bounds every quantizer that has no output in N. An alphabet that escapes the bound has an output in each of the
sets N of a family; where no k places meet them all, the bound holds for k outputs.
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

_INPUTS = 9
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
)  # times alpha: where G is looked at there
_PASSES = 3  # that drive what is left out into few cells
_DIGITS = 10**6
_MOST = 400  # certificates
_REFINED = 12  # times that points are added
_SPARE = 4e-3  # of the bound, what the fractions may prove less


@dataclass(frozen=True)
class BitsBound:
    """Every unbiased, epsilon-private quantizer with at most `outputs` outputs has a worst variance of at least `value`.

    Attributes
    ----------
    outputs : int
    marks : tuple of Fraction
        Ends of the cells [marks[0], marks[1]], ...; the first is at least -alpha, the last at most alpha.
    certificates : tuple of (Certificate, frozenset of int)
        Each with the cells that it leaves out: it bounds every alphabet without an output in one of these.
    """

    outputs: int
    marks: tuple[Fraction, ...]
    certificates: tuple[tuple[Certificate, frozenset[int]], ...]

    @cached_property
    def value(self) -> Fraction:
        """The least bound of all certificates."""
        return min(certificate.value for certificate, _ in self.certificates)

    def valid(self) -> bool:
        """Whether every certificate holds outside its cells, in fractions, and no places of the outputs meet all these."""
        return (
            all(certificate.valid(_gaps(left_out, self.marks)) for certificate, left_out in self.certificates)
            and escape([left_out for _, left_out in self.certificates], self.outputs - 2) is None
        )


def _gaps(left_out: Iterable[int], marks: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """The intervals that these cells make up; neighbours are one."""
    found: list[tuple[Fraction, Fraction]] = []
    for cell in sorted(left_out):
        low, high = marks[cell], marks[cell + 1]
        found = [*found[:-1], (found[-1][0], high)] if found and found[-1][1] == low else [*found, (low, high)]
    return found


def escape(sets: Sequence[frozenset[int]], places: int) -> tuple[int, ...] | None:
    """So many cells, or fewer, that meet every set; None where there are none, by trying all.

    Examples
    --------
    >>> escape([frozenset({1, 2}), frozenset({2, 3})], 1), escape([frozenset({1}), frozenset({3})], 1)
    ((2,), None)
    """
    if not sets:
        return ()
    if places == 0:
        return None
    least = min(sets, key=len)
    tried: set[int] = set()
    for cell in sorted(least, key=lambda c: -sum(c in s for s in sets)):
        left = [s - tried for s in sets if cell not in s]  # what was tried before need not be chosen again
        if all(left):
            found = escape(left, places - 1)
            if found is not None:
                return (cell, *found)
        tried.add(cell)
    return None


def bound(bits: int, *, epsilon: float, value: float, cells: int = 28) -> BitsBound:
    r"""A proof that no quantizer of b bits has a worst variance below `value`, for every alphabet of 2^b outputs.

    Parameters
    ----------
    bits : int
        In [1, 3]; two take half a minute, three are proved only little above the bound for any alphabet.
    epsilon : float
        In [0.1, 10].
    value : float
        Aimed at; what the fractions prove may be a little less.
    cells : int
        Between -alpha and alpha; more make larger values provable.

    Raises
    ------
    ConvergenceError
        When an alphabet in some cells escapes: with the cells' width, or indeed.

    Notes
    -----
    In turns: an alphabet that no certificate covers is sought (an integer program, minimal), and a certificate for it by linear
    programming over mu, lambda, nu: G at least 0 in the cells of this alphabet, the bound at least `value`, and as little
    violated elsewhere as possible. With each certificate its mirror image holds.

    An unbiased private quantizer has an output of at least alpha: from Y at most u follows
    :math:`u + 1 = \mathrm{E}_{-1}(u - Y) \le e^\epsilon\,\mathrm{E}_1(u - Y) = e^\epsilon(u - 1)`; and so one of at most
    -alpha. At most k - 2 of k outputs are left for the cells between; beyond alpha G is nowhere negative.

    Examples
    --------
    >>> one = bound(1, epsilon=1.0, value=4.68, cells=8)
    >>> one.valid(), 4.67 < one.value <= 4.683
    (True, True)
    """
    k = 2 ** checks.count("bits", bits, "[1, 3]")
    eps = checks.scalar("epsilon", epsilon, "[0.1, 10]")
    goal = checks.scalar("value", value, "(0, inf)") * (1 - _SPARE)
    search = _Search(eps, checks.count("cells", cells, "[8, 200]"))
    found: list[tuple[Certificate, frozenset[int]]] = []
    while len(found) < _MOST:
        alphabet = search.missing([left_out for _, left_out in found], k - 2)
        if alphabet is None:
            return BitsBound(k, search.marks, tuple(found))
        found += search.covering(alphabet, goal / (1 - _SPARE), goal)
    raise ConvergenceError(f"{_MOST} certificates are not enough")


def best(bits: int, *, epsilon: float, low: float, high: float, cells: int = 40, steps: int = 4) -> BitsBound | None:
    """The greatest bound that bisection between two values proves; None where none above `low` is.

    Parameters
    ----------
    bits, epsilon, cells
        As in :func:`bound`.
    low, high : float
        Of the worst variance: a bound for any alphabet, and what a quantizer reaches.
    steps : int

    Examples
    --------
    >>> found = best(1, epsilon=1.0, low=3.98, high=4.683, cells=8, steps=3)
    >>> found is not None and 4.5 < found.value
    True
    """
    found = None
    for _ in range(checks.count("steps", steps)):
        middle = (low + high) / 2
        try:
            made = bound(bits, epsilon=epsilon, value=middle, cells=cells)
        except ConvergenceError:
            high = middle
            continue
        found, low = made, middle
    return found


class _Search:
    """Cells between -alpha and alpha, points in them and beyond, and the linear program over the multipliers."""

    def __init__(self, epsilon: float, cells: int) -> None:
        self.epsilon, self.cells = epsilon, cells
        self.x = np.linspace(-1.0, 1.0, _INPUTS)
        top = Fraction(math.floor(float(alpha(epsilon)) * (1 - 1e-12) * _DIGITS), _DIGITS)
        self.marks = tuple(top * j / cells for j in range(-cells, cells + 1, 2))
        ends = np.array([float(m) for m in self.marks])
        inside = [(j, y) for j in range(cells) for y in np.linspace(ends[j], ends[j + 1], 3)]
        beyond = [(cells, side * ends[-1] * t) for side in (-1, 1) for t in _BEYOND]
        self.place = np.array([cell for cell, _ in (*inside, *beyond)])
        self.y = np.array([y for _, y in (*inside, *beyond)])
        self.fine = np.linspace(3 * ends[0], 3 * ends[-1], 60 * cells + 1)
        here = np.searchsorted(ends, self.fine) - 1
        self.fine_place = np.where((here >= 0) & (here < cells), here, cells)
        self.rows = self._matrix(np.exp(epsilon))

    def _matrix(self, odds: float) -> Any:
        """g <= c, g <= O c, sum of g >= -slack of the cell; unknowns mu, lambda, nu, g (points x inputs), slacks."""
        from scipy import sparse

        q, Y, n = _INPUTS, self.y.size, self.cells + 1
        eye = sparse.eye(q)
        c = sparse.vstack([sparse.hstack([y * y * eye, -y * eye, -eye]) for y in self.y])
        g, blank = sparse.eye(Y * q), sparse.csr_matrix
        slack = blank((np.ones(Y), (np.arange(Y), self.place)), shape=(Y, n))
        total = sparse.kron(sparse.eye(Y), np.ones((1, q)))
        value = np.concatenate([self.x**2, -self.x, -np.ones(q), np.zeros(Y * q + n)])
        parts = [
            sparse.hstack([-c, g, blank((Y * q, n))]),
            sparse.hstack([-odds * c, g, blank((Y * q, n))]),
            sparse.hstack([blank((Y, 3 * q)), -total, -slack]),
            blank(value[None, :]),
        ]
        return sparse.vstack(parts).tocsr()

    def missing(self, sets: Sequence[frozenset[int]], places: int) -> tuple[int, ...] | None:
        """Cells of an alphabet that no certificate covers."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if not sets or not places:
            return None if sets else tuple(range(min(places, self.cells)))
        meets = np.array([[cell in one for cell in range(self.cells)] for one in sets], dtype=float)
        found = milp(
            np.random.default_rng(len(sets)).random(self.cells),
            constraints=[
                LinearConstraint(meets, 1, np.inf),
                LinearConstraint(np.ones((1, self.cells)), 0, places),
            ],
            integrality=np.ones(self.cells),
            bounds=Bounds(0, 1),
        )
        return None if found.x is None else tuple(int(cell) for cell in np.flatnonzero(found.x > 0.5))

    def covering(
        self, alphabet: tuple[int, ...], value: float, goal: float
    ) -> list[tuple[Certificate, frozenset[int]]]:
        """A certificate for these cells, and its mirror image."""
        for _ in range(_REFINED):  # until the fractions prove enough, or as much as they can
            mu, slope, level, slack = self._multipliers(alphabet, value)
            left_out = frozenset(int(cell) for cell in np.flatnonzero(slack > 1e-9 * value))
            gaps = _gaps(left_out, self.marks)
            found = certified(mu, slope, level, inputs=self.x, epsilon=self.epsilon, gaps=gaps), left_out
            if found[0].value >= goal:
                break
            self._refine(mu, slope, level, left_out)
        turned = mirrored(found[0]), frozenset(self.cells - 1 - cell for cell in left_out)
        return [found] if turned[1] == left_out else [found, turned]

    def _refine(self, mu: FloatArray, slope: FloatArray, level: FloatArray, left_out: frozenset[int]) -> None:
        """More points in the program: where G is least, in every cell that is not left out and beyond, if it is negative."""
        c = mu * self.fine[:, None] ** 2 - slope * self.fine[:, None] - level
        G = np.minimum(c, np.exp(self.epsilon) * c).sum(axis=1)
        for cell in set(range(self.cells + 1)) - left_out:
            here = np.flatnonzero(self.fine_place == cell)
            for part in (here[self.fine[here] < 0], here[self.fine[here] >= 0]):
                if part.size and G[lowest := part[np.argmin(G[part])]] < 0:
                    self.y, self.place = np.append(self.y, self.fine[lowest]), np.append(self.place, cell)
        self.rows = self._matrix(np.exp(self.epsilon))

    def _multipliers(self, alphabet: tuple[int, ...], value: float) -> tuple[FloatArray, ...]:
        from scipy.optimize import linprog

        q, Y, n = _INPUTS, self.y.size, self.cells + 1
        price, high = np.ones(n), np.full(n, np.inf)
        high[[*alphabet, self.cells]] = 0.0
        low = np.concatenate([np.zeros(q), np.full(2 * q + Y * q, -np.inf), np.zeros(n)])
        top = np.concatenate([np.full(3 * q + Y * q, np.inf), high])
        upper = np.append(np.zeros(self.rows.shape[0] - 1), -value)
        one = np.concatenate([np.ones(q), np.zeros(2 * q + Y * q + n)])
        for _ in range(_PASSES):
            found = linprog(
                np.concatenate([np.zeros(3 * q + Y * q), price]),
                A_ub=self.rows,
                b_ub=upper,
                A_eq=one[None, :],
                b_eq=[1.0],
                bounds=np.stack([low, top], axis=1),
                method="highs",
            )
            if found.status != 0:
                where = ", ".join(f"{float(self.marks[cell]):g}" for cell in alphabet)
                raise ConvergenceError(f"an alphabet in the cells from {where} on is not bounded by {value:g}")
            slack = found.x[-n:]
            price = 1 / (slack / max(float(slack.max()), 1e-12) + 0.03)
        mu, slope, level = found.x[: 3 * q].reshape(3, q)
        return mu, slope, level, slack[:-1]


def mirrored(certificate: Certificate) -> Certificate:
    """The certificate of the mirrored quantizer: y for -y, x for -x.

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
