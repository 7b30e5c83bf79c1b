r"""Certified lower bounds on the worst variance of every unbiased, locally private quantizer.

A linear program finds multipliers, and exact fractions prove what they bound. Nothing rests on floating point: the
program, its points and its tolerances decide only which bound is found.

Steps, in order
---------------
1. :class:`Certificate`: multipliers as fractions. ``value`` is the bound, ``valid`` proves that it holds, for
   quantizers with any outputs outside of given gaps.
2. :func:`certified` rounds multipliers of a program to fractions and lowers the levels until they are valid.
3. :class:`BitsBound`: a family of certificates for quantizers of b bits, with any alphabet of 2^b outputs. A certificate
   whose G is not negative outside a set N of cells bounds every quantizer without an output in N. An alphabet that none
   of the family bounds has an output in each of their sets N. If no k points meet all sets N, the least bound of the
   family holds for all quantizers with k outputs.
4. :func:`bound` makes such a family: it looks for an alphabet that meets all sets so far, and for a certificate against
   it, until there is no such alphabet. :func:`best` bisects the value.

Rounding
--------
The odds are a rational number above :math:`e^\epsilon`, which allows more laws. Levels are lowered, which lowers the
bound. Cells are open intervals whose outermost ends lie inside of [-alpha, alpha], so an output at alpha is in no cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray
from airtight.analytics.federated.corbin.quantizers import alpha

_DIGITS = 10**11  # denominator of the multipliers
_AMBIGUOUS = 6  # functions c_i of unknown sign on an interval up to which all 2^6 choices of signs are tested
_CUTS = 40  # most bisections of an interval
_SLACK = Fraction(1, 10**7)  # relative amount by which the bound is first lowered to make the certificate valid


@dataclass(frozen=True)
class Certificate:
    r"""Multipliers of a lower bound, as exact fractions.

    Attributes
    ----------
    odds : Fraction
        At least :math:`e^\epsilon`.
    inputs : tuple of Fraction
        In [-1, 1]; the bound uses these inputs only.
    curvature, slope, level : tuple of Fraction
        :math:`\mu_i \ge 0` with sum 1, :math:`\lambda_i`, :math:`\nu_i`.

    Notes
    -----
    For a law with densities :math:`p_i(y) \in [m(y), O\,m(y)]`, mass 1 and mean :math:`x_i` for the input :math:`x_i`,

    .. math:: \max_i \Bigl(\int y^2p_i - x_i^2\Bigr) \ge \sum_i \mu_i\Bigl(\int y^2p_i - x_i^2\Bigr)
       = \sum_i (\nu_i + \lambda_ix_i - \mu_ix_i^2) + \int \sum_i c_i(y)\,p_i(y)\,dy, \quad c_i(y) = \mu_iy^2 - \lambda_iy - \nu_i

    and the integrand is at least :math:`m(y)\,G(y)`, :math:`G = \sum_i \min(c_i, O\,c_i)`. If G is nowhere negative,
    the first sum is a lower bound, for finitely many outputs and for a continuum of outputs. Larger odds allow more
    laws, so a rational number above :math:`e^\epsilon` may be used for O.
    """

    odds: Fraction
    inputs: tuple[Fraction, ...]
    curvature: tuple[Fraction, ...]
    slope: tuple[Fraction, ...]
    level: tuple[Fraction, ...]

    @property
    def value(self) -> Fraction:
        """The bound."""
        terms = zip(self.inputs, self.curvature, self.slope, self.level, strict=True)
        return sum((v + b * x - m * x * x for x, m, b, v in terms), Fraction(0))

    def valid(self, gaps: Sequence[tuple[Fraction, Fraction]] = ()) -> bool:
        """Whether G is nowhere negative, in exact arithmetic.

        `gaps` are open intervals without an output, in which G may be negative.

        Examples
        --------
        >>> half = Fraction(1, 2)
        >>> Certificate(Fraction(3), (Fraction(0),), (Fraction(1),), (Fraction(0),), (Fraction(0),)).valid()
        True
        >>> Certificate(Fraction(3), (Fraction(0),), (Fraction(1),), (Fraction(0),), (half,)).valid()
        False
        """
        # what the notes ask of the multipliers; m <= p_i <= O m needs O >= 1
        if sum(self.curvature) != 1 or min(self.curvature) < 0 or self.odds < 1:
            return False
        quadratics = list(zip(self.curvature, self.slope, self.level, strict=True))
        ends = {end for gap in gaps for end in gap}
        # beyond all roots and gaps every c_i keeps its sign; rounded outwards to an integer
        far = Fraction(math.ceil(max((abs(r) for r in (*_roots(quadratics), *map(float, ends))), default=0.0)) + 1)
        # any marks are valid. Those next to the roots leave few functions of unknown sign on each piece.
        marks = sorted({-far, far, *(Fraction(r).limit_denominator(10**9) for r in _roots(quadratics))})
        # each root in an interval of its own, wide enough for its rounding
        marks = sorted({e for m in marks for e in (m - Fraction(1, 10**8), m + Fraction(1, 10**8))} | ends)
        # ends of gaps are marks, so a piece lies in a gap or outside of all of them
        pieces = [(a, b) for a, b in pairwise(marks) if not any(low <= a and b <= high for low, high in gaps)]
        return all(self._nonnegative_between(a, b, quadratics, 0) for a, b in pieces) and all(
            self._nonnegative_beyond(sign, far, quadratics) for sign in (-1, 1)
        )

    def _nonnegative_between(
        self, a: Fraction, b: Fraction, quadratics: Sequence[tuple[Fraction, ...]], cuts: int
    ) -> bool:
        """Whether G >= 0 on [a, b] is proved.

        G is the minimum, over all choices of a factor 1 or O for each c_i, of the sum of the c_i times their factors.
        Where the sign of c_i on [a, b] is known, so is its factor; for the other c_i all choices are tested. With too
        many of these the interval is bisected.
        """
        signed, unknown = [], []
        for q in quadratics:
            # c_i is convex as mu_i >= 0: its greatest value is at an end
            low, high = _minimum(q, a, b), max(_at(q, a), _at(q, b))
            if low >= 0:
                signed.append((Fraction(1), q))
            elif high <= 0:
                signed.append((self.odds, q))
            else:
                unknown.append(q)
        # each choice of factors is a convex quadratic, whose minimum is explicit; 2^unknown of them
        if len(unknown) <= _AMBIGUOUS:
            choices = product((Fraction(1), self.odds), repeat=len(unknown))
            if all(_minimum(_sum([*signed, *zip(choice, unknown, strict=True)]), a, b) >= 0 for choice in choices):
                return True
        if cuts >= _CUTS:
            return False
        # on a shorter interval fewer signs are unknown
        middle = (a + b) / 2
        return self._nonnegative_between(a, middle, quadratics, cuts + 1) and self._nonnegative_between(
            middle, b, quadratics, cuts + 1
        )

    def _nonnegative_beyond(self, sign: int, far: Fraction, quadratics: Sequence[tuple[Fraction, ...]]) -> bool:
        """Whether G >= 0 beyond `far` is proved: no c_i changes its sign there, and their sum is past its minimum."""
        signed = []
        for m, b, v in quadratics:
            q = (m, sign * b, v)  # mirrored for sign -1
            # a decreasing line that is not positive stays so: factor O
            if m == 0 and b * sign > 0 and _at(q, far) <= 0:
                signed.append((self.odds, q))
            # convex, nonnegative and increasing from `far` on: factor 1
            elif _at(q, far) >= 0 and 2 * m * far - q[1] >= 0:
                signed.append((Fraction(1), q))
            else:
                return False
        sum_of_terms = _sum(signed)
        return _at(sum_of_terms, far) >= 0 and 2 * sum_of_terms[0] * far - sum_of_terms[1] >= 0


def _at(q: tuple[Fraction, ...], y: Fraction) -> Fraction:
    return (q[0] * y - q[1]) * y - q[2]


def _minimum(q: tuple[Fraction, ...], a: Fraction, b: Fraction) -> Fraction:
    """The least value of m y^2 - l y - n on [a, b]; m >= 0."""
    ends = min(_at(q, a), _at(q, b))
    if q[0] > 0 and a < (vertex := q[1] / (2 * q[0])) < b:
        return min(ends, _at(q, vertex))
    return ends


def _sum(terms: Iterable[tuple[Fraction, tuple[Fraction, ...]]]) -> tuple[Fraction, ...]:
    coefficients = [Fraction(0)] * 3
    for weight, q in terms:
        coefficients = [t + weight * x for t, x in zip(coefficients, q, strict=True)]
    return tuple(coefficients)


def _roots(quadratics: Sequence[tuple[Fraction, ...]]) -> list[float]:
    real_roots: list[float] = []
    for m, b, v in quadratics:
        roots = np.roots([float(m), -float(b), -float(v)])
        real_roots += [float(r.real) for r in roots if abs(r.imag) < 1e-12 and abs(r.real) < 1e9]
    return real_roots


def certified(
    curvature: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    *,
    inputs: FloatArray,
    epsilon: float,
    gaps: Sequence[tuple[Fraction, Fraction]] = (),
) -> Certificate:
    """A valid certificate near given multipliers: the levels are lowered until G is nowhere negative outside the gaps.

    Raises
    ------
    ConvergenceError
        When no small shift of the levels makes the certificate valid.

    Examples
    --------
    >>> one = certified(np.ones(1), np.zeros(1), np.zeros(1), inputs=np.zeros(1), epsilon=1.0)
    >>> one.valid(), one.value <= 0
    (True, True)
    """
    eps = checks.scalar("epsilon", epsilon, "(0, 20]")
    # exp errs by less than a unit, which the factor covers; then one double up
    odds = Fraction(math.nextafter(math.exp(eps) * (1 + 1e-15), math.inf))
    weights = [max(Fraction(round(float(m) * _DIGITS), _DIGITS), Fraction(0)) for m in curvature]
    if not any(weights):
        raise ConvergenceError("curvature: no multiplier is positive")
    # fractions with sum 1 exactly
    weights = [w / sum(weights) for w in weights]
    slopes, levels = ([Fraction(round(float(x) * _DIGITS), _DIGITS) for x in values] for values in (slope, level))
    exact_inputs = tuple(Fraction(float(x)).limit_denominator(10**6) for x in inputs)
    # by the violation on a grid, in floating point
    shift = _shift(np.array([float(w) for w in weights]), slope, level, math.exp(eps), gaps)
    scale = max(abs(sum(levels, Fraction(0))), Fraction(1)) / len(levels)
    # then by a little more, in growing steps, until the exact test succeeds
    for factor in (1, 10, 100, 1000, 10_000):
        drop = Fraction(shift).limit_denominator(_DIGITS) + factor * _SLACK * scale
        certificate = Certificate(odds, exact_inputs, tuple(weights), tuple(slopes), tuple(v - drop for v in levels))
        if certificate.valid(gaps):
            return certificate
    raise ConvergenceError("no shift of the levels makes the multipliers valid: the program needs more outputs")


def trivial(epsilon: float) -> Certificate:
    """The certificate of the bound 0: a variance is not negative.

    Examples
    --------
    >>> trivial(1.0).valid(), trivial(1.0).value
    (True, Fraction(0, 1))
    """
    one, zero = (Fraction(1),), (Fraction(0),)
    return Certificate(Fraction(math.exp(epsilon)), zero, one, zero, zero)


def _shift(
    curvature: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    odds: float,
    gaps: Sequence[tuple[Fraction, Fraction]],
) -> float:
    """The amount by which each level has to be lowered for G >= 0 on a fine grid."""
    roots = _roots(
        [
            (Fraction(float(m)), Fraction(float(b)), Fraction(float(v)))
            for m, b, v in zip(curvature, slope, level, strict=True)
        ]
    )
    reach = 1.5 * max((abs(r) for r in roots), default=1.0) + 1.0
    # violations lie between the roots; beyond them G increases
    y = np.linspace(-reach, reach, 20_001)
    for low, high in gaps:
        y = y[(y <= float(low)) | (y >= float(high))]
    y = np.concatenate([y, [float(end) for gap in gaps for end in gap]])[:, None]
    c = curvature * y * y - slope * y - level
    # lowering each level by s raises each c_i, and so each min(c_i, O c_i), by at least s
    return max(-float(np.min(np.minimum(c, odds * c).sum(axis=1))), 0.0) / len(level)


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
_GRID = 10**6  # denominator of the ends of the cells
_MOST = 400  # certificates
_REFINED = 12  # most rounds in which points are added to the program
_SPARE = 4e-3  # relative amount by which the bound proved in fractions may be less than the goal
_SLIGHT = 1e-9  # share of the value up to which a cell's slack counts as rounding of the linear program
_PRICE_FLOOR = 0.03  # share of the greatest slack that is added before it is inverted: bounds prices by about 33


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
            # of k outputs one is at least alpha and one at most -alpha, so at most k - 2 lie in cells
            all(certificate.valid(_gaps(left_out, self.marks)) for certificate, left_out in self.certificates)
            and escape([left_out for _, left_out in self.certificates], self.outputs - 2) is None
        )


def _gaps(left_out: Iterable[int], marks: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """The union of these cells as intervals; neighbouring cells are joined."""
    intervals: list[tuple[Fraction, Fraction]] = []
    for cell in sorted(left_out):
        low, high = marks[cell], marks[cell + 1]
        # a mark between two cells that are both left out is inside of the gap
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
    # branch on the cells of the smallest set: one of them has to be chosen
    smallest = min(sets, key=len)
    tried: set[int] = set()
    # cells in many sets first
    for cell in sorted(smallest, key=lambda c: -sum(c in s for s in sets)):
        remaining = [s - tried for s in sets if cell not in s]  # cells tried before need not be chosen again
        # an empty set is one whose cells were all tried before: no way on
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
    # the program aims at `value`, the bound in fractions may fall short of it by _SPARE
    required = checks.scalar("value", value, "(0, inf)") * (1 - _SPARE)
    search = _Search(eps, checks.count("cells", cells, "[8, 200]"))
    covered: list[tuple[Certificate, frozenset[int]]] = []
    while len(covered) < _MOST:
        # an alphabet that no certificate bounds so far, or the proof that there is none
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
        value = (low + high) / 2
        try:
            proved = bound(bits, epsilon=epsilon, value=value, cells=cells)
        # not proved: because of the cells, or because it is not true
        except ConvergenceError:
            high = value
            continue
        best_bound, low = proved, value
    return best_bound


class _Search:
    """The cells between -alpha and alpha, points in them and beyond, and the linear program over the multipliers."""

    def __init__(self, epsilon: float, cells: int) -> None:
        self.epsilon, self.cells = epsilon, cells
        self.x = np.linspace(-1.0, 1.0, _INPUTS)
        # at most alpha, as a fraction with the denominator of the grid
        outermost = Fraction(math.floor(float(alpha(epsilon)) * (1 - 1e-12) * _GRID), _GRID)
        self.marks = tuple(outermost * j / cells for j in range(-cells, cells + 1, 2))
        ends = np.array([float(m) for m in self.marks])
        # G is required at both ends and in the middle of each cell, and at points beyond
        inner_points = [(j, y) for j in range(cells) for y in np.linspace(ends[j], ends[j + 1], 3)]
        outer_points = [(cells, side * ends[-1] * t) for side in (-1, 1) for t in _BEYOND]
        self.place = np.array([cell for cell, _ in (*inner_points, *outer_points)])
        self.y = np.array([y for _, y in (*inner_points, *outer_points)])
        # a finer grid on which violations are looked for
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
        # rows of c_i(y) = mu_i y^2 - lambda_i y - nu_i, points by inputs
        c = sparse.vstack([sparse.hstack([y * y * eye, -y * eye, -eye]) for y in self.y])
        g, blank = sparse.eye(Y * q), sparse.csr_matrix
        slack = blank((np.ones(Y), (np.arange(Y), self.place)), shape=(Y, n))
        sum_of_g = sparse.kron(sparse.eye(Y), np.ones((1, q)))
        # -sum (nu + lambda x - mu x^2) <= -value
        bound_row = np.concatenate([self.x**2, -self.x, -np.ones(q), np.zeros(Y * q + n)])
        parts = [
            sparse.hstack([-c, g, blank((Y * q, n))]),
            sparse.hstack([-odds * c, g, blank((Y * q, n))]),
            sparse.hstack([blank((Y, 3 * q)), -sum_of_g, -slack]),
            blank(bound_row[None, :]),
        ]
        return sparse.vstack(parts).tocsr()

    def missing(self, sets: Sequence[frozenset[int]], places: int) -> tuple[int, ...] | None:
        """At most `places` cells of an alphabet that no certificate covers; None where there are none."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if not sets or not places:
            return None if sets else tuple(range(min(places, self.cells)))
        # one cell of each set at least, `places` cells at most
        membership = np.array([[cell in cell_set for cell in range(self.cells)] for cell_set in sets], dtype=float)
        solution = milp(
            # any solution will do; a random objective, with a fixed seed, varies the alphabets
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
            # cells with slack: the certificate says nothing about outputs there
            left_out = frozenset(int(cell) for cell in np.flatnonzero(slack > _SLIGHT * value))
            gaps = _gaps(left_out, self.marks)
            certificate = certified(mu, slope, level, inputs=self.x, epsilon=self.epsilon, gaps=gaps), left_out
            if certificate[0].value >= goal:
                break
            self._refine(mu, slope, level, left_out)
        # the problem is symmetric: the mirrored certificate is free
        mirror = mirrored(certificate[0]), frozenset(self.cells - 1 - cell for cell in left_out)
        return [certificate] if mirror[1] == left_out else [certificate, mirror]

    def _refine(self, mu: FloatArray, slope: FloatArray, level: FloatArray, left_out: frozenset[int]) -> None:
        """Add points to the program: the minimum of G in each cell that is not left out and beyond, if negative."""
        c = mu * self.fine[:, None] ** 2 - slope * self.fine[:, None] - level
        G = np.minimum(c, np.exp(self.epsilon) * c).sum(axis=1)
        for cell in set(range(self.cells + 1)) - left_out:
            points_of_cell = np.flatnonzero(self.fine_place == cell)
            # the worst point on each side of 0, as `beyond` has two parts
            for side in (points_of_cell[self.fine[points_of_cell] < 0], points_of_cell[self.fine[points_of_cell] >= 0]):
                if side.size and G[lowest := side[np.argmin(G[side])]] < 0:
                    self.y, self.place = np.append(self.y, self.fine[lowest]), np.append(self.place, cell)
        self.rows = self._matrix(np.exp(self.epsilon))

    def _multipliers(self, alphabet: tuple[int, ...], value: float) -> tuple[FloatArray, ...]:
        from scipy.optimize import linprog

        q, Y, n = _INPUTS, self.y.size, self.cells + 1
        price, slack_limit = np.ones(n), np.full(n, np.inf)
        # G >= 0 in the cells of this alphabet and beyond: no slack there
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
            # reweighting: the slack of the next pass concentrates in few cells
            price = 1 / (slack / max(float(slack.max()), 1e-12) + _PRICE_FLOOR)
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
