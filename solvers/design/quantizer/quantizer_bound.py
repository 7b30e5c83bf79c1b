r"""A certified lower bound on the worst variance of every unbiased, locally private quantizer with any outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ConvergenceError, FloatArray

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
        if sum(self.curvature) != 1 or min(self.curvature) < 0 or self.odds < 1:
            return False
        quadratics = list(zip(self.curvature, self.slope, self.level, strict=True))
        ends = {end for gap in gaps for end in gap}
        far = Fraction(math.ceil(max((abs(r) for r in (*_roots(quadratics), *map(float, ends))), default=0.0)) + 1)
        marks = sorted({-far, far, *(Fraction(r).limit_denominator(10**9) for r in _roots(quadratics))})
        marks = sorted({e for m in marks for e in (m - Fraction(1, 10**8), m + Fraction(1, 10**8))} | ends)
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
            low, high = _minimum(q, a, b), max(_at(q, a), _at(q, b))
            if low >= 0:
                signed.append((Fraction(1), q))
            elif high <= 0:
                signed.append((self.odds, q))
            else:
                unknown.append(q)
        if len(unknown) <= _AMBIGUOUS:
            choices = product((Fraction(1), self.odds), repeat=len(unknown))
            if all(_minimum(_sum([*signed, *zip(choice, unknown, strict=True)]), a, b) >= 0 for choice in choices):
                return True
        if cuts >= _CUTS:
            return False
        middle = (a + b) / 2
        return self._nonnegative_between(a, middle, quadratics, cuts + 1) and self._nonnegative_between(
            middle, b, quadratics, cuts + 1
        )

    def _nonnegative_beyond(self, sign: int, far: Fraction, quadratics: Sequence[tuple[Fraction, ...]]) -> bool:
        """Whether G >= 0 beyond `far` is proved: no c_i changes its sign there, and their sum is past its minimum."""
        signed = []
        for m, b, v in quadratics:
            q = (m, sign * b, v)  # mirrored for sign -1
            if m == 0 and b * sign > 0 and _at(q, far) <= 0:
                signed.append((self.odds, q))
            elif _at(q, far) >= 0 and 2 * m * far - q[1] >= 0:
                signed.append((Fraction(1), q))
            else:
                return False
        total = _sum(signed)
        return _at(total, far) >= 0 and 2 * total[0] * far - total[1] >= 0


def _at(q: tuple[Fraction, ...], y: Fraction) -> Fraction:
    return (q[0] * y - q[1]) * y - q[2]


def _minimum(q: tuple[Fraction, ...], a: Fraction, b: Fraction) -> Fraction:
    """The least value of m y^2 - l y - n on [a, b]; m >= 0."""
    ends = min(_at(q, a), _at(q, b))
    if q[0] > 0 and a < (vertex := q[1] / (2 * q[0])) < b:
        return min(ends, _at(q, vertex))
    return ends


def _sum(terms: Iterable[tuple[Fraction, tuple[Fraction, ...]]]) -> tuple[Fraction, ...]:
    total = [Fraction(0)] * 3
    for weight, q in terms:
        total = [t + weight * x for t, x in zip(total, q, strict=True)]
    return tuple(total)


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
    odds = Fraction(math.nextafter(math.exp(eps) * (1 + 1e-15), math.inf))
    weights = [max(Fraction(round(float(m) * _DIGITS), _DIGITS), Fraction(0)) for m in curvature]
    if not any(weights):
        raise ConvergenceError("curvature: no multiplier is positive")
    weights = [w / sum(weights) for w in weights]
    slopes, levels = ([Fraction(round(float(x) * _DIGITS), _DIGITS) for x in values] for values in (slope, level))
    exact_inputs = tuple(Fraction(float(x)).limit_denominator(10**6) for x in inputs)
    shift = _shift(np.array([float(w) for w in weights]), slope, level, math.exp(eps), gaps)
    scale = max(abs(sum(levels, Fraction(0))), Fraction(1)) / len(levels)
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
    y = np.linspace(-reach, reach, 20_001)
    for low, high in gaps:
        y = y[(y <= float(low)) | (y >= float(high))]
    y = np.concatenate([y, [float(end) for gap in gaps for end in gap]])[:, None]
    c = curvature * y * y - slope * y - level
    return max(-float(np.min(np.minimum(c, odds * c).sum(axis=1))), 0.0) / len(level)
