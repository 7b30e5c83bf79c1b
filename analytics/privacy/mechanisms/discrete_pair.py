"""A pair of laws on finitely many outcomes, as a mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism, register
from airtight.analytics.rounding import SMALLEST, UNIT

_AT_ONCE = 1 << 18  # outcomes times epsilons that one batch evaluates
_ROUGH = 1e-7  # doubt from which it, rather than a grid, keeps the bounds of a composition apart
_GREATEST = 700.0  # from this epsilon on, exp(epsilon) may overflow (at 709)


@dataclass(frozen=True)
class Discrete(Mechanism):
    """Two laws p and q on finitely many outcomes, each probability known up to a relative error of `doubt`.

    Notes
    -----
    Probabilities in double precision seldom sum to 1. The missing mass of each law is added to its likeliest outcome
    without rounding. So both orders have the same two laws, and their divergences are consistent, however small they
    are.
    """

    p: tuple[float, ...]
    q: tuple[float, ...]
    unit: str = ""
    doubt: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubt", checks.scalar("doubt", self.doubt, "[0, .01]"))
        for name in ("p", "q"):
            law = checks.real(name, getattr(self, name), "[0, 1]")
            if law.ndim != 1 or abs(float(np.sum(law)) - 1) > 1e-12:
                raise ParameterError(name, f"array of shape {law.shape}, sum {np.sum(law)!r}", "a law on outcomes")
            object.__setattr__(self, name, tuple(law.tolist()))
        if len(self.p) != len(self.q):
            raise ParameterError("q", f"{len(self.q)} outcomes", f"as long as p: {len(self.p)}")

    @property
    def rough(self) -> bool:  # type: ignore[override]
        return self.doubt > _ROUGH

    def _pair(self, reverse: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """p, q and p - q, with the missing mass of each law added to its likeliest outcome."""
        p, q = np.array((self.q, self.p) if reverse else (self.p, self.q))
        difference, likeliest = p - q, (int(np.argmax(p)), int(np.argmax(q)))
        missing = [math.fsum([1.0, *-law]) for law in (p, q)]
        p[likeliest[0]] += missing[0]
        q[likeliest[1]] += missing[1]
        difference[likeliest[0]] += missing[0]
        difference[likeliest[1]] -= missing[1]
        return p, q, difference

    @property
    def laws(self) -> tuple[FloatArray, FloatArray]:
        """p and q, with the missing mass of each added to its likeliest outcome."""
        return self._pair(False)[:2]

    def greatest_loss(self, *, reverse: bool = False) -> float:
        p, q, difference = (part[np.array(self.q if reverse else self.p) > 0] for part in self._pair(reverse))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            near = np.log1p(difference / q)
            far = np.where(p / q < np.inf, np.log(p / q), np.log(p) - np.log(q))
        return float(np.max(np.where(np.abs(difference) < 0.5 * q, near, far), initial=0.0)) + 3 * self.doubt

    def reached_loss(self, *, reverse: bool = False) -> float:
        return max(self.greatest_loss(reverse=reverse) - 6 * self.doubt, 0.0)

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        p, q, difference = self._pair(reverse)
        flat, loss_error = np.ravel(epsilon), 3 * self.doubt  # at first order a loss errs by 2 doubt
        lower, upper = np.empty(flat.size), np.empty(flat.size)
        block = max(_AT_ONCE // p.size, 1)
        for i in range(0, flat.size, block):
            for bound, sign in ((lower, -1), (upper, 1)):
                shifted = np.maximum(flat[i : i + block] - sign * loss_error, 0.0)
                bound[i : i + block] = _hockey_stick(p, q, difference, shifted, sign * 16 * UNIT)
        if loss_error:
            lower *= 1 - loss_error
            upper = upper * (1 + loss_error) + np.maximum(loss_error - flat, 0.0)
        return lower.reshape(np.shape(epsilon)), np.minimum(upper, 1.0).reshape(np.shape(epsilon))


def _hockey_stick(
    p: FloatArray, q: FloatArray, difference: FloatArray, epsilon: FloatArray, rounding: float
) -> FloatArray:
    """The sum of (p - exp(epsilon) q)_+, rounded up for a positive `rounding`, down for a negative one."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        growth = np.expm1(epsilon)[:, None] * (1 - rounding)
        near = difference + rounding * np.abs(difference) - np.where(q > 0, growth * q, 0.0)
        loss = (np.log(p) - np.log(q)) * (1 + rounding)
        far = p * -np.expm1(epsilon[:, None] - loss) * (1 + rounding)
        term = np.where(epsilon[:, None] < _GREATEST, near, np.where(q > 0, np.nan_to_num(far, nan=0.0), p))
        total = np.sum(np.maximum(term, 0.0), axis=1) * (1 + rounding * p.size)
    return np.asarray(total + (SMALLEST * p.size if rounding > 0 else 0.0) * (total > 0))


def discrete(p: ArrayLike, q: ArrayLike, unit: str = "", doubt: float = 0.0) -> Discrete:
    """The mechanism of two arrays of probabilities."""
    laws = {name: checks.real(name, law, "[0, 1]") for name, law in (("p", p), ("q", q))}
    for name, law in laws.items():
        if law.ndim != 1:
            raise ParameterError(name, checks.array_text(law), "a vector of probabilities")
    first, second = (tuple(law.tolist()) for law in laws.values())
    return Discrete(first, second, unit, doubt)


register(Discrete, "discrete")
