r"""The least parameter of a family of privacy curves that keeps a privacy requirement.

The leakage of the family is assumed to fall with its parameter, such as the standard deviation of the noise. The search
brackets the least parameter between one at which the requirement is not proved and one at which the upper bound of the
curve proves it. Secants of the logarithm of the leakage, as a function of the logarithm of the parameter, make the
bracket short; the curve is evaluated coarsely unless the coarse bounds leave the decision open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.accounting.numerical_composition import WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.solvers.errors import InfeasibleError

_COARSE = 0.1  # relative distance of the bounds of a curve in the first evaluation at a parameter
_ASIDE = 0.45  # distance from the estimated root of the next parameter, in units of the tolerance
_FACTOR = 4.0  # between the parameters that are tried until one keeps the requirement and one does not
_FIRST = 1.0  # the parameter that is tried first
_LEAST, _GREATEST = 1e-12, 1e12  # the search for a bracket ends there unless `bounds` say otherwise
_TINY = 1e-300  # a leakage below this one counts as this one in logarithms
_FLAT = 1e-9  # least distance from 0 of the logarithm of leakage over target, so that secants have a slope
_PATIENCE = 3  # a bracket that was not halved by so many secants is bisected


@dataclass(frozen=True)
class Requirement:
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
    ) -> Requirement:
        """From the arguments of :func:`calibrate_curve`, of which exactly one requirement must be given."""
        given = {
            "epsilon and delta": epsilon is not None or delta is not None,
            "advantage": advantage is not None,
            "tpr": tpr is not None,
        }
        if sum(given.values()) != 1:
            named = [name for name, is_given in given.items() if is_given]
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


@dataclass
class _Search:
    """The bracket of the least parameter, in logarithms, with the logarithm of leakage over target at its ends."""

    family: Callable[[float], PrivacyCurve]
    requirement: Requirement
    tolerance: float
    violated: dict[float, float] = field(default_factory=dict)
    kept: dict[float, float] = field(default_factory=dict)

    def evaluate(self, x: float) -> bool:
        """Whether it is proved that the parameter x keeps the requirement."""
        curve = self.family(x)
        if not isinstance(curve, PrivacyCurve):
            raise ParameterError("family", type(curve).__name__, "a function of one number that returns a PrivacyCurve")
        greatest = self.requirement.greatest
        for width in (_COARSE, WIDTH):
            lower, upper = self.requirement.bounds(curve, width)
            if not lower <= greatest < upper:
                break
        if math.isinf(lower) or math.isinf(upper):
            excess = math.inf
        else:
            excess = math.log(max((lower + upper) / 2, _TINY)) - math.log(max(greatest, _TINY))
        is_kept = upper <= greatest
        (self.kept if is_kept else self.violated)[math.log(x)] = min(excess, -_FLAT) if is_kept else max(excess, _FLAT)
        return is_kept

    def next(self, secant: bool) -> float:
        """The logarithm of the parameter to be tried next: beside the estimated root, or in the middle."""
        low, high = max(self.violated), min(self.kept)
        middle = (low + high) / 2
        (first, at_first), (second, at_second) = sorted(
            (self.violated | self.kept).items(), key=lambda point: abs(point[1])
        )[:2]
        if not secant or not abs(at_second) < -math.log(_TINY) or at_first == at_second:
            return middle
        root = first - at_first * (second - first) / (at_second - at_first)
        aside = _ASIDE * self.tolerance
        x = root + aside if high - root > self.tolerance else root - aside
        return x if low < x < high else middle

    def narrow(self) -> None:
        """Shorten the bracket to the tolerance."""
        length, secants = min(self.kept) - max(self.violated), 0
        while min(self.kept) - max(self.violated) > self.tolerance:
            x = self.next(secants < _PATIENCE)
            if not max(self.violated) < x < min(self.kept):
                return
            self.evaluate(math.exp(x))
            if min(self.kept) - max(self.violated) <= length / 2 or secants >= _PATIENCE:
                length, secants = min(self.kept) - max(self.violated), 0
            else:
                secants += 1


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
    requirement = Requirement.of(epsilon, delta, advantage, tpr)
    if not callable(family):
        raise ParameterError("family", family, "a function of one number that returns a PrivacyCurve")
    search = _Search(family, requirement, checks.scalar("tolerance", tolerance, "(0, 0.1]"))
    least, greatest = (_LEAST, _GREATEST) if bounds is None else _admissible(bounds)
    x = min(max(_FIRST, least), greatest)
    if search.evaluate(x):
        while not search.violated and x > least:
            x = max(x / _FACTOR, least)
            search.evaluate(x)
        if not search.violated:
            if bounds is None:
                raise ParameterError(
                    "family",
                    family,
                    f"a family that breaks the requirement at small parameters: even at {least:g} the {requirement.text} is "
                    f"at most {requirement.greatest:g}; where leakage rises with the parameter, pass its inverse",
                )
            return least
    else:
        while not search.kept and x < greatest:
            x = min(x * _FACTOR, greatest)
            search.evaluate(x)
        if not search.kept:
            raise InfeasibleError(
                f"no parameter up to {greatest:g} keeps the {requirement.text} at most {requirement.greatest:g}"
            )
    search.narrow()
    return math.exp(min(search.kept))


def _admissible(bounds: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds", bounds, "a pair of positive numbers")
    least, greatest = (checks.scalar(f"bounds[{i}]", bound, "(0, inf)") for i, bound in enumerate(bounds))
    if not least <= greatest:
        raise ParameterError("bounds", bounds, "a pair whose first number is at most the second")
    return least, greatest
