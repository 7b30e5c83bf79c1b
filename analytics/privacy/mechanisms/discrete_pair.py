"""A pair of laws on finitely many outcomes, as a mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Mechanism, register
from airtight.analytics.rounding import NORMAL, SMALLEST, UNIT

_AT_ONCE = 1 << 18  # outcomes times epsilons that one batch evaluates
_ROUGH = 1e-7  # doubt from which it, rather than a grid, keeps the bounds of a composition apart
_ROUNDED = 1e-12  # more than any rounding of a loss, absolute and relative
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

    @cached_property
    def _completed(self) -> FloatArray:
        """p, q and p - q, with the missing mass of each law added to its likeliest outcome, and the loss; losses ascend."""
        p, q = np.array((self.p, self.q))
        difference, likeliest = p - q, (int(np.argmax(p)), int(np.argmax(q)))
        missing = [math.fsum([1.0, *-law]) for law in (p, q)]
        p[likeliest[0]] += missing[0]
        q[likeliest[1]] += missing[1]
        difference[likeliest[0]] += missing[0]
        difference[likeliest[1]] -= missing[1]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            near, ratio = np.log1p(difference / q), p / q
            # a ratio that overflows or is subnormal has no precise logarithm
            far = np.where((ratio >= NORMAL) & (ratio < np.inf), np.log(ratio), np.log(p) - np.log(q))
            loss = np.where(np.abs(difference) < 0.5 * q, near, far)
        possible = np.maximum(p, q) > 0
        order = np.flatnonzero(possible)[np.argsort(loss[possible], kind="stable")]
        return np.stack([p, q, difference, loss])[:, order]

    def _pair(self, reverse: bool) -> FloatArray:
        """The same for the laws in this order."""
        if not reverse:
            return self._completed
        p, q, difference, loss = self._completed[:, ::-1]
        return np.stack([q, p, -difference, -loss])

    @property
    def laws(self) -> tuple[FloatArray, FloatArray]:
        """p and q on the outcomes that are possible, with the missing mass of each added to its likeliest outcome."""
        p, q, _, _ = self._completed
        return p, q

    def greatest_loss(self, *, reverse: bool = False) -> float:
        p, _, _, loss = self._pair(reverse)
        return float(np.max(loss[p > 0], initial=0.0)) + 3 * self.doubt

    def reached_loss(self, *, reverse: bool = False) -> float:
        return max(self.greatest_loss(reverse=reverse) - 6 * self.doubt, 0.0)

    def delta_bracket(self, epsilon: FloatArray, *, reverse: bool = False) -> BracketArrays:
        laws = self._pair(reverse)
        loss = laws[3]
        flat, loss_error = np.ravel(epsilon), 3 * self.doubt  # at first order a loss errs by 2 doubt
        lower, upper = np.empty(flat.size), np.empty(flat.size)
        block = max(_AT_ONCE // loss.size, 1)
        for i in range(0, flat.size, block):
            for bound, sign in ((lower, -1), (upper, 1)):
                shifted = np.maximum(flat[i : i + block] - sign * loss_error, 0.0)
                # only losses above epsilon have a share in delta, also where they are rounded
                first = int(np.searchsorted(loss, np.min(shifted) * (1 - _ROUNDED) - _ROUNDED))
                bound[i : i + block] = _hockey_stick(laws[:3, first:], shifted, sign * 16 * UNIT)
        if loss_error:
            lower *= 1 - loss_error
            upper = upper * (1 + loss_error) + np.maximum(loss_error - flat, 0.0)
        return lower.reshape(np.shape(epsilon)), np.minimum(upper, 1.0).reshape(np.shape(epsilon))


def _hockey_stick(laws: FloatArray, epsilon: FloatArray, rounding: float) -> FloatArray:
    """The sum of (p - exp(epsilon) q)_+, rounded up for a positive `rounding`, down for a negative one; of p, q and p - q."""
    p, q, difference = laws
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        growth = np.expm1(epsilon)[:, None] * (1 - rounding)
        near = difference + rounding * np.abs(difference) - np.where(q > 0, growth * q, 0.0)
        term = near
        if np.any(great := epsilon[:, None] >= _GREATEST):
            loss = (np.log(p) - np.log(q)) * (1 + rounding)
            far = p * -np.expm1(epsilon[:, None] - loss) * (1 + rounding)
            term = np.where(great, np.where(q > 0, np.nan_to_num(far, nan=0.0), p), near)
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
