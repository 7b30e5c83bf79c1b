r"""The least parameter of a family of privacy curves that keeps a privacy requirement.

The leakage of the family is assumed to fall with its parameter, such as the standard deviation of the noise. The search
brackets the least parameter between one at which the requirement is not proved and one at which the upper bound of the
curve proves it, in logarithms of the leakage and of the parameter. The curve is evaluated coarsely unless the coarse
bounds leave the decision open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.root_search import falling_root
from airtight.solvers.errors import InfeasibleError

_COARSE = 0.1  # relative distance of the bounds of a curve in the first evaluation at a parameter
_FACTOR = 4.0  # between the parameters that are tried until one keeps the requirement and one does not
_FIRST = 1.0  # the parameter that is tried first
_LEAST, _GREATEST = 1e-12, 1e12  # the search for a bracket ends there unless `bounds` say otherwise
_TINY = 1e-300  # a leakage below this one counts as this one in logarithms
_FLAT = 1e-9  # least distance from 0 of the logarithm of leakage over target, so that secants have a slope


@dataclass(frozen=True)
class _Requirement:
    """A leakage, as a function of a curve and of the relative distance of its bounds, and the greatest allowed one."""

    bounds: Callable[[PrivacyCurve, float], tuple[float, float]]
    greatest: float
    text: str

    @classmethod
    def of(
        cls,
        epsilon: ArrayLike | None,
        delta: ArrayLike | None,
        advantage: ArrayLike | None,
        tpr: tuple[float, float] | None,
    ) -> _Requirement:
        """From the arguments of :func:`calibrate_curve`, of which exactly one requirement must be given."""
        arguments = {
            "epsilon and delta": epsilon is not None or delta is not None,
            "advantage": advantage is not None,
            "tpr": tpr is not None,
        }
        if sum(arguments.values()) != 1:
            named = [name for name, is_given in arguments.items() if is_given]
            raise ParameterError(
                "requirement", " and ".join(named) or "none", "one of: epsilon with delta; advantage; tpr"
            )
        if advantage is not None:
            greatest = checks.scalar("advantage", advantage, "[0, 1]")
            return cls(lambda curve, width: _pair(curve.bracket(epsilon=0.0, width=width)), greatest, "advantage")
        if tpr is not None:
            if not isinstance(tpr, tuple | list) or len(tpr) != 2:
                raise ParameterError("tpr", tpr, "a pair (false-positive rate, greatest true-positive rate)")
            fpr, greatest = checks.scalar("tpr[0]", tpr[0], "[0, 1]"), checks.scalar("tpr[1]", tpr[1], "[0, 1]")
            if greatest < fpr:
                raise ParameterError("tpr", tpr, "a true-positive rate that is at least the false-positive rate")

            def rate(curve: PrivacyCurve, width: float) -> tuple[float, float]:
                upper = float(curve.tpr(fpr))
                return upper, upper

            return cls(rate, greatest, f"true-positive rate at the false-positive rate {fpr:g}")
        if epsilon is None or delta is None:
            name = "epsilon" if epsilon is None else "delta"
            raise ParameterError(name, None, "a number: epsilon and delta are given together")
        greatest, at = checks.scalar("epsilon", epsilon, "[0, inf)"), checks.scalar("delta", delta, "[0, 1]")
        return cls(
            lambda curve, width: _pair(curve.bracket(delta=at, width=width)), greatest, f"epsilon at delta = {at:g}"
        )


def _pair(bounds: tuple[object, object]) -> tuple[float, float]:
    return float(bounds[0]), float(bounds[1])  # type: ignore[arg-type]


def _excess(curve: PrivacyCurve, requirement: _Requirement) -> float:
    """Logarithm of the leakage over the greatest allowed one; positive unless the upper bound proves the requirement."""
    if not isinstance(curve, PrivacyCurve):
        raise ParameterError("family", type(curve).__name__, "a function of one number that returns a PrivacyCurve")
    greatest = requirement.greatest
    for width in (_COARSE, DEFAULT_RELATIVE_WIDTH):
        lower, upper = requirement.bounds(curve, width)
        if not lower <= greatest < upper:
            break
    if math.isinf(upper):
        return math.inf
    excess = math.log(max((lower + upper) / 2, _TINY)) - math.log(max(greatest, _TINY))
    return min(excess, -_FLAT) if upper <= greatest else max(excess, _FLAT)


def calibrate_curve(
    family: Callable[[float], PrivacyCurve],
    *,
    epsilon: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    advantage: ArrayLike | None = None,
    tpr: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
    tolerance: float = 1e-3,
) -> float:
    """The least parameter of a family of privacy curves that keeps a requirement.

    Parameters
    ----------
    family : callable
        Maps a positive number to a PrivacyCurve. The leakage must not rise with the number, as with a standard
        deviation of noise: ``lambda sigma: airtight.subsampled(1 / sigma, 0.01).compose(1000)``. For a parameter with
        which the leakage rises, pass its inverse.
    epsilon, delta : float
        Requirement: the epsilon of the curve at delta in [0, 1] is at most `epsilon` >= 0. They are given together.
    advantage : float
        Requirement: the total variation is at most `advantage` in [0, 1].
    tpr : (float, float)
        Requirement: at the false-positive rate ``tpr[0]`` every attack has at most the true-positive rate ``tpr[1]``.
    bounds : (float, float), optional
        The least and the greatest admissible parameter, both positive. By default the search starts at 1 and looks
        between 1e-12 and 1e12.
    tolerance : float
        In (0, 0.1]. The relative distance from the returned parameter within which a parameter was found for which the
        bounds of the curve do not prove the requirement.

    Returns
    -------
    float
        A parameter for which the upper bound of the curve keeps the requirement. If the lower bound of `bounds` keeps
        it, this is that bound.

    Raises
    ------
    InfeasibleError
        When no parameter that was tried, up to the greatest one, keeps the requirement.
    ParameterError
        When not exactly one requirement is given; when the family returns something else than a curve; when, without
        `bounds`, every parameter down to 1e-12 keeps the requirement.

    Notes
    -----
    The adjacency and the observer are those of the curves. That the returned parameter keeps the requirement is proved
    by the upper bound of its curve and needs no monotonicity; that smaller ones do not keep it does.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.privacy_curve import gaussian, subsampled
    >>> sigma = calibrate_curve(lambda sigma: gaussian(1 / sigma), epsilon=1.0, delta=1e-5)
    >>> round(sigma, 2), bool(gaussian(1 / sigma).epsilon(1e-5) <= 1.0)
    (3.73, True)
    >>> round(calibrate_curve(lambda sigma: subsampled(1 / sigma, 0.01).compose(1000), advantage=0.1), 2)
    1.4...
    """
    requirement = _Requirement.of(epsilon, delta, advantage, tpr)
    if not callable(family):
        raise ParameterError("family", family, "a function of one number that returns a PrivacyCurve")
    length = checks.scalar("tolerance", tolerance, "(0, 0.1]")
    least, greatest = (_LEAST, _GREATEST) if bounds is None else _admissible(bounds)

    def excess(x: float) -> float:
        return _excess(family(x), requirement)

    low = high = min(max(_FIRST, least), greatest)
    at_low = at_high = excess(low)
    while at_low <= 0 and low > least:
        high, at_high, low = low, at_low, max(low / _FACTOR, least)
        at_low = excess(low)
    while at_high > 0 and high < greatest:
        low, at_low, high = high, at_high, min(high * _FACTOR, greatest)
        at_high = excess(high)
    if at_high > 0:
        raise InfeasibleError(
            f"no parameter up to {greatest:g} keeps the {requirement.text} at most {requirement.greatest:g}"
        )
    if at_low <= 0:
        if bounds is None:
            raise ParameterError(
                "family",
                family,
                f"a family that breaks the requirement at small parameters: even at {least:g} the {requirement.text} is "
                f"at most {requirement.greatest:g}; where leakage rises with the parameter, pass its inverse",
            )
        return least
    ends = math.log(low), math.log(high)
    log_parameter = falling_root(lambda x: excess(math.exp(x)), ends[0], at_low, ends[1], sum(ends) / 2, lambda _: length)[1]
    return high if log_parameter == ends[1] else math.exp(log_parameter)  # exactly a parameter that was evaluated


def _admissible(bounds: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds", bounds, "a pair of positive numbers")
    least, greatest = (checks.scalar(f"bounds[{i}]", bound, "(0, inf)") for i, bound in enumerate(bounds))
    if not least <= greatest:
        raise ParameterError("bounds", bounds, "a pair whose first number is at most the second")
    return least, greatest
