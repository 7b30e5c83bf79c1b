r"""How far weights are from the optimum, in rational arithmetic: no rounding, hence no tolerance.

Every double is a rational number. The program that the solver was given is therefore an exact one, and for it

- the weights, moved by what rounding lacks until they keep every bound and sum to 1 exactly, have an exact objective F(w);
- the dual D(lambda, nu) of :mod:`airtight.solvers.weights.quadratic` at :math:`\lambda = V^Tw - c` and any rational
  nu has an exact value: what a weight contributes is minimised over its interval in closed form, and so is dual
  feasible by construction.

By weak duality no feasible weights have an objective below D. What is proved is of the program in these doubles; the rounding of
the data before (powers, features, the cap's greatest weights) is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from airtight.analytics.checks import AirtightError
from airtight.solvers.weights.quadratic import Multipliers, QuadraticProgram

LARGEST = 20_000  # entries of V: beyond, exact arithmetic takes longer than anybody waits


class NotProvedError(AirtightError, ValueError):
    """The weights cannot be made feasible, or the dual has no finite value at these multipliers."""


@dataclass(frozen=True)
class Proof:
    """An optimum between two rational numbers.

    Attributes
    ----------
    w : tuple of Fraction, shape (K,)
        Exactly feasible.
    objective : Fraction
        F(w), which the least objective does not exceed.
    bound : Fraction
        What no feasible weights undercut.
    moved : Fraction
        The greatest change of a weight that made them feasible.
    """

    w: tuple[Fraction, ...]
    objective: Fraction
    bound: Fraction
    moved: Fraction

    @property
    def gap(self) -> Fraction:
        """At least 0, and at least what the objective is above the least one."""
        return self.objective - self.bound


def proof(program: QuadraticProgram, w: Sequence[float], found: Multipliers) -> Proof:
    """Prove how near weights are to the optimum of a program.

    Parameters
    ----------
    program : QuadraticProgram
    w : sequence of float, shape (K,)
    found : Multipliers
        Only `total`, the multiplier of the sum, is used; a wrong one makes the gap greater, never the proof wrong.

    Raises
    ------
    NotProvedError
        When the greatest weights sum to less than 1, exactly; or when a weight without bound and curvature has a slope that
        the multipliers do not cover.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example, program, solve
    >>> system, views = _example()
    >>> best = solve(system, views)
    >>> made = proof(program(system, views), best.w, best.multipliers)
    >>> sum(made.w) == 1, 0 <= made.gap < Fraction(1, 10**12)
    (True, True)
    """
    upper = [None if math.isinf(u) else Fraction(u) for u in program.effective_upper.tolist()]
    feasible = _feasible([Fraction(float(x)) for x in w], upper, sums_to_one=program.sums_to_one)
    d, g, c = ([Fraction(x) for x in part.tolist()] for part in (program.d, program.g, program.c))
    V = [[Fraction(x) for x in row] for row in program.V.tolist()]
    y = [sum((row[i] * x for row, x in zip(V, feasible, strict=True)), -c[i]) for i in range(len(c))]
    half, square = Fraction(1, 2), sum((v * v for v in y), Fraction(0))
    nu = Fraction(found.total) if program.sums_to_one else Fraction(0)
    own = [half * a * x * x + b * x for a, b, x in zip(d, g, feasible, strict=True)]
    slopes = [b + sum((v * z for v, z in zip(row, y, strict=True)), -nu) for b, row in zip(g, V, strict=True)]
    constant = Fraction(program.constant)
    bound = nu - half * square - sum((a * b for a, b in zip(y, c, strict=True)), Fraction(0)) + constant
    bound += sum((_least(a, q, u) for a, q, u in zip(d, slopes, upper, strict=True)), Fraction(0))
    moved = max((abs(x - Fraction(float(z))) for x, z in zip(feasible, w, strict=True)), default=Fraction(0))
    return Proof(tuple(feasible), sum(own, half * square + constant), bound, moved)


def _least(d: Fraction, q: Fraction, upper: Fraction | None) -> Fraction:
    """The minimum of d w^2 / 2 + q w over 0 <= w <= upper."""
    if q >= 0:
        return Fraction(0)
    if d > 0 and (upper is None or -q <= d * upper):
        return -q * q / (2 * d)
    if upper is None:
        raise NotProvedError("a weight without bound and curvature: the dual has no finite value here")
    return d * upper * upper / 2 + q * upper


def _feasible(w: list[Fraction], upper: list[Fraction | None], *, sums_to_one: bool) -> list[Fraction]:
    """The nearest weights, one after the other, that keep every bound and the sum."""
    inside = [max(x, Fraction(0)) if u is None else min(max(x, Fraction(0)), u) for x, u in zip(w, upper, strict=True)]
    if not sums_to_one:
        return inside
    lack = 1 - sum(inside, Fraction(0))
    for k in sorted(range(len(inside)), key=lambda k: -inside[k]):
        most = upper[k]
        step = lack if most is None else min(lack, most - inside[k])
        step = max(step, -inside[k])
        inside[k] += step
        lack -= step
        if lack == 0:
            return inside
    raise NotProvedError("the greatest weights sum to less than 1")
