"""One order of a mixture over who else takes part, between both ends, mostly from one evaluation."""

from __future__ import annotations

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.privacy.over_the_air.noise_mixture import COARSE, Participation

_UNIT = np.finfo(float).eps


def log_ends(
    part: Participation, epsilon: FloatArray, rows: IntArray, *, reverse: bool, doubt: float
) -> tuple[FloatArray, FloatArray]:
    r"""Both ends of log delta near epsilon[i], within the relative `doubt`: with device k against without, or the reverse.

    Notes
    -----
    With A the best set and :math:`\kappa = \lambda Q(A)/\delta`, minus the slope of log delta, delta at a greater
    :math:`\lambda'` is at least :math:`\delta[1 - \kappa(\lambda'/\lambda - 1)]` by convexity.

    What was rounded to the safe side moves variances only (a sensitivity is one, by scale), each by a share :math:`\tau` at
    most. The derivative of :math:`P(A) - \lambda Q(A)` at the best set is that of delta, a Gaussian density q of variance w has
    :math:`w\,\partial_wq = q\,(\chi - r)/2`, and for any set of probability m
    :math:`\int_Aq\chi \le m(r + 2\sqrt{r\ell} + 2\ell)`, :math:`\ell = 1 - \log m` (Gibbs's inequality, and the cumulant of
    :math:`\chi`), which rises in m. P(A) and :math:`\lambda Q(A)` are :math:`(1 + \kappa)\delta` and :math:`\kappa\delta`, so
    the share lost is at most :math:`\tau(1 + 2\kappa)(r + \sqrt{r\ell} + \ell)` with
    :math:`\ell = 1 + \epsilon - \log\delta`, but for terms below :math:`\tau(r + \sqrt{r\ell} + \ell)`; the bound taken is twice
    all that, for what changes on the way.

    Where that is more than all other errors and the tolerance of the interpolation, the lower end is computed anew, with all
    rounded the other way.
    """
    lower, upper = np.full(epsilon.shape, -np.inf), np.full(epsilon.shape, -np.inf)
    some = np.flatnonzero(part.participation[rows] > 0)
    if not some.size:
        return lower, upper
    at, kind = epsilon[some] * (1 - doubt), rows[some]
    low, high, down, moved = _both(part, at, kind, reverse, doubt)
    if part.slack and np.any(wide := ~(down <= COARSE)):
        found = _both(part.raised(), at[wide], kind[wide], reverse, doubt)[0]
        low[wide] = np.maximum(low[wide], found)
    enough = np.maximum(down, part.tolerance)
    if np.any(again := ~(moved <= np.minimum(enough, COARSE))):
        value, _, _, down = part.unrounded().order(reverse)(epsilon[some[again]] * (1 + doubt), kind[again])
        with np.errstate(invalid="ignore"):
            found = np.where(value > -np.inf, value - down + 4 * _UNIT * value, value)
        low[again] = np.maximum(low[again], found)
    greatest = np.minimum(np.log(part.participation[kind]) + _UNIT, 0.0)
    lower[some], upper[some] = np.minimum(low, greatest), np.minimum(high, greatest)
    return lower, upper


def _both(
    part: Participation, epsilon: FloatArray, rows: IntArray, reverse: bool, doubt: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Both ends, how far the lower one is from the value but for rounding, and what rounding costs."""
    value, slope, up, down = part.order(reverse)(epsilon, rows)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
        logarithm, some = -4 * _UNIT * value, value > -np.inf
        least = np.maximum(np.min(part.variance, axis=1), 1e-300)[rows]
        share = 3 * part.rounding[rows] + part.lost / least + 64 * _UNIT
        r, level = part.dimension[rows], 1 + epsilon - value
        each = r + np.sqrt(r * level) + level
        moved = 4 * share * (1 - slope) * each - slope * np.expm1(2.02 * doubt * epsilon)
        moved = np.where(some, moved, 0.0)
        low = value + np.log(np.maximum(np.exp(-down) - moved, 0.0)) - logarithm
        low = np.where(some, np.where(moved <= COARSE, low, -np.inf), value)
        return low, np.where(some, value + up + logarithm, value), down, moved
