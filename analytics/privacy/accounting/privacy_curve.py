r"""The privacy curve: one value type for every mechanism and every composition.

A pair of laws (P, Q) is known by :math:`\delta(\epsilon) = \sup_A P(A) - e^\epsilon Q(A)` and that of (Q, P). Everything
an attacker can reach is read off them; both orders are composed before any maximum is taken, because neither need dominate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, choice, real
from airtight.analytics.privacy.accounting import trade_off
from airtight.analytics.privacy.accounting.direction import Order, gathered
from airtight.analytics.privacy.accounting.numerical_composition import WIDTH
from airtight.analytics.privacy.accounting.subsampled import Subsampled
from airtight.analytics.privacy.mechanisms.discrete_pair import discrete
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.mechanism import Factors, Mechanism, described, release_of
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = (1e-3, 1e-5, 1e-7, 1e-9)
_GREATEST = 700.0


class Bracket(tuple[FloatArray, FloatArray]):
    """Both ends of a number, and how near each other they came: unpacks, indexes and compares as the pair (lower, upper).

    Attributes
    ----------
    lower, upper : ndarray or float
        The number lies between them.
    width : ndarray or float
        The relative distance that was reached, (upper - lower) / upper: 0 where both are 0 or both are infinite, 1 where nothing
        but 0 is known from below or only the upper end is infinite.
    reached : ndarray or bool
        Whether that is as near as was asked for. Where it is False a finer grid gained nothing more, or a release is known
        between two ends of its own only.

    Examples
    --------
    >>> ends = subsampled(1.0, 0.01).compose(1000).bracket(delta=1e-6)
    >>> low, high = ends
    >>> bool(low == ends.lower < ends.upper == high), bool(ends.width < 1e-3), bool(ends.reached)
    (True, True, True)
    """

    width: FloatArray
    reached: NDArray[np.bool_]

    def __new__(cls, lower: FloatArray, upper: FloatArray, reached: NDArray[np.bool_]) -> Bracket:
        self = super().__new__(cls, (lower, upper))
        low, high = np.asarray(lower), np.asarray(upper)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.width = np.where(low == high, 0.0, np.where(high < np.inf, (high - low) / high, 1.0))[()]
        self.reached = np.asarray(reached)[()]
        return self

    @classmethod
    def of(cls, lower: FloatArray, upper: FloatArray, asked: float) -> Bracket:
        """Of ends that are to have a relative distance of at most `asked`."""
        with np.errstate(invalid="ignore"):
            near = (upper < np.inf) & (upper - lower <= asked * upper)
        return cls(lower, upper, np.asarray((lower == upper) | near))

    def __getnewargs__(self) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        return self.lower, self.upper, self.reached

    @property
    def lower(self) -> FloatArray:
        return self[0]

    @property
    def upper(self) -> FloatArray:
        return self[1]

    def __repr__(self) -> str:
        return f"Bracket(lower={self.lower!r}, upper={self.upper!r}, width={self.width!r}, reached={self.reached!r})"


class Direction(StrEnum):
    """Which order of the neighbours: (P, Q), (Q, P), or whichever is worse."""

    WORST = "worst"
    FORWARD = "forward"
    REVERSE = "reverse"


@dataclass(frozen=True, eq=True, repr=False)
class PrivacyCurve:
    """What independent releases, each some number of times, give away together.

    Made by :func:`gaussian`, :func:`laplace`, :func:`randomized_response`, :func:`discrete_pair`, :func:`subsampled`,
    ``airtight.curve(system)``, :meth:`from_json` and :meth:`from_dp_accounting`, and put together by :meth:`compose` and
    :func:`compose`. Two curves are equal when they are made of the same releases.

    Attributes
    ----------
    factors : tuple of (Mechanism, int)
        The releases and how often each occurs.

    Notes
    -----
    Gaussian releases are put together in closed form, the others on a grid of losses
    (:mod:`airtight.analytics.privacy.accounting.numerical_composition`). Every number returned is on the safe side of
    its interval, which :meth:`bracket` gives.

    Examples
    --------
    >>> one = gaussian(0.1)
    >>> round(float(one.compose(64).epsilon(1e-5)), 6), one.compose(64) == gaussian(0.1).compose(64)
    (3.386933, True)
    """

    factors: Factors

    def __post_init__(self) -> None:
        units = {release.unit for release, _ in self.factors if release.unit}
        if len(units) > 1:
            raise ParameterError(
                "curves", " and ".join(repr(unit) for unit in sorted(units)), "of one neighbour relation"
            )

    @classmethod
    def of(cls, mechanism: Mechanism, count: int = 1) -> PrivacyCurve:
        """The curve of `count` independent releases of one mechanism.

        Examples
        --------
        >>> PrivacyCurve.of(Gaussian(0.5), 4) == gaussian(0.5).compose(4)
        True
        """
        return cls(((mechanism, checks.count("count", count, "[1, inf)")),))

    @property
    def unit(self) -> str:
        """What neighbours differ in; empty where it is left open."""
        return next((release.unit for release, _ in self.factors if release.unit), "")

    @cached_property
    def _orders(self) -> dict[Direction, Order]:
        forward = Order(gathered(self.factors))
        if forward.symmetric:
            return {Direction.FORWARD: forward}
        return {Direction.FORWARD: forward, Direction.REVERSE: Order(forward.factors, reverse=True)}

    def _asked(self, direction: Direction | str) -> list[Order]:
        way = choice("direction", direction, Direction)
        if way is Direction.WORST:
            return list(self._orders.values())
        return [self._orders.get(way, self._orders[Direction.FORWARD])]

    def delta(self, epsilon: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        r"""delta at each real epsilon, rounded up; for x > 0 :math:`\delta(-x) = 1 - e^{-x} + e^{-x}\delta_{rev}(x)`.

        Examples
        --------
        >>> gaussian(1.0).delta([0.0, 1.0, -1.0]).round(6)
        array([0.382925, 0.126937, 0.678818])
        """
        return self.bracket(epsilon=epsilon, direction=direction)[1]

    def epsilon(self, delta: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        """The least epsilon >= 0 at each delta, rounded up; infinite where there is none.

        Parameters
        ----------
        delta : array_like
            At least 0; 0 asks for the pure epsilon, from 1 on the answer is 0.

        Examples
        --------
        >>> gaussian(1.0).epsilon([1e-5, 0.0, 1.0]).round(6)
        array([4.377178,      inf, 0.      ])
        """
        return self.bracket(delta=delta, direction=direction)[1]

    def bracket(
        self,
        *,
        epsilon: ArrayLike | None = None,
        delta: ArrayLike | None = None,
        direction: Direction | str = Direction.WORST,
        width: float = WIDTH,
    ) -> Bracket:
        """Both ends of delta at `epsilon`, or of epsilon at `delta`, and whether they are as near each other as was asked.

        Parameters
        ----------
        epsilon, delta : array_like
            One of them.
        direction : {"worst", "forward", "reverse"}
        width : float
            Relative distance of the ends of epsilon that is aimed at, in (0, 1); of delta, what that amounts to.

        Returns
        -------
        Bracket
            The pair (lower, upper), with the fields `width`, the relative distance of these two, and `reached`.

        Examples
        --------
        >>> low, high = subsampled(1.0, 0.01).compose(1000).bracket(delta=1e-6)
        >>> bool(2.124 < low < high < 2.125)
        True
        """
        goal = checks.scalar("width", width, "(0, 1)")
        asked = self._asked(direction)
        if (epsilon is None) == (delta is None):
            raise ParameterError("epsilon, delta", (epsilon, delta), "one given, the other left out")
        if delta is not None:
            level = real("delta", delta, "[0, inf]")
            lower, upper = _ends(level, lambda x: _greatest_epsilon(asked, x, goal))
            return Bracket.of(lower, upper, goal)
        eps = real("epsilon", epsilon if epsilon is not None else 0.0, "[-inf, inf]")
        lower, upper = _ends(eps, lambda x: _greatest([self._delta(one, x, goal) for one in asked]))
        each = zip(np.ravel(eps).tolist(), np.ravel(lower).tolist(), np.ravel(upper).tolist(), strict=True)
        enough = [any(one.reached(abs(x), low, high, goal) for one in asked) for x, low, high in each]
        return Bracket(lower, upper, np.array(enough, dtype=bool).reshape(eps.shape))

    def _delta(self, order: Order, epsilon: float, width: float) -> tuple[float, float]:
        if epsilon == 0:  # the total variation, which both orders have in common
            low, high = 0.0, 1.0
            for one in self._orders.values():
                ends = one.delta(0.0, width)
                low, high = max(low, ends[0]), min(high, ends[1])
                if low > 0 or one.reached(0.0, low, high, width):
                    break
            return min(low, high), high
        if epsilon > 0:
            return order.delta(epsilon, width)
        other = Direction.FORWARD if order.reverse else Direction.REVERSE
        low, high = self._orders.get(other, self._orders[Direction.FORWARD]).delta(-epsilon, width)
        share, rest = np.exp(epsilon), -np.expm1(epsilon)
        return float((rest + share * low) * (1 - 1e-15)), float(min((rest + share * high) * (1 + 1e-15), 1.0))

    def beta(
        self, alpha: ArrayLike, *, direction: Direction | str = Direction.WORST, envelope: bool = False
    ) -> FloatArray:
        r"""The least second-kind error of an attack whose first-kind error is at most alpha; never above the truth.

        Parameters
        ----------
        alpha : array_like
            In [0, 1].
        direction : {"worst", "forward", "reverse"}
            `forward`: Q is the tested hypothesis. The other order gives the inverse function; `worst` is the lesser of both.
        envelope : bool
            The greatest convex function below `worst`: what one attacker can be held to who may choose the order.

        Notes
        -----
        :math:`\beta(\alpha) = \sup_{\lambda\ge0} 1 - \delta(\log\lambda) - \lambda\alpha`, for every :math:`\lambda` a bound.

        Examples
        --------
        >>> gaussian(1.0).beta([0.05, 0.5]).round(4)
        array([0.7405, 0.1587])
        """
        levels = real("alpha", alpha, "[0, 1]")
        orders = self._asked(direction)
        if all(one.curved for one in orders):

            def least(some: list[Order], alpha: float) -> float:
                return trade_off.least_error(lambda eps: max(self._delta(one, eps, WIDTH)[1] for one in some), alpha)

            groups = [orders] if envelope else [[one] for one in orders]
            found = [min(least(some, float(a)) for some in groups) for a in levels.ravel()]
        else:
            tables = [one.breaks() for one in orders]
            tables = [trade_off.greater(*tables)] if envelope and len(tables) > 1 else tables
            with np.errstate(over="ignore"):
                lines = [(1 - delta, np.where(eps > _GREATEST, np.inf, np.exp(eps))) for eps, delta in tables]
                found = [max(min(_highest(*line, float(a)) for line in lines), 0.0) for a in levels.ravel()]
        return np.array(found).reshape(levels.shape)[()]

    def advantage(self) -> float:
        """The greatest advantage over guessing of one who is to tell the neighbours apart: their total variation.

        Examples
        --------
        >>> round(gaussian(1.0).advantage(), 6)
        0.382925
        """
        return float(self.delta(0.0))

    def bayes_risk(self, prior: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        """The least probability of error when the tested hypothesis is true with probability `prior`; never above the truth.

        Examples
        --------
        >>> round(float(gaussian(1.0).bayes_risk(0.5)), 6)
        0.308538
        """
        share = real("prior", prior, "[0, 1]")
        with np.errstate(divide="ignore"):
            eps = np.log(share) - np.log1p(-share)
        return np.asarray(np.maximum((1 - share) * (1 - self.delta(eps, direction=direction)), 0.0))[()]

    def tpr(self, fpr: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        """The greatest true-positive rate of an attack at each false-positive rate; never below the truth.

        Examples
        --------
        >>> round(float(gaussian(1.0).tpr(0.001)), 5)
        0.0183
        """
        return np.asarray(1 - self.beta(real("fpr", fpr, "[0, 1]"), direction=direction))[()]

    def compose(self, count: int) -> PrivacyCurve:
        """`count` independent ones, chosen adaptively if each is dominated by this; none at all for 0.

        Examples
        --------
        >>> laplace(0.5).compose(0).advantage(), round(float(laplace(0.5).compose(10).epsilon(1e-5)), 2)
        (0.0, 4.99)
        """
        times = checks.count("count", count, "[0, inf)")
        return PrivacyCurve(tuple((release, each * times) for release, each in self.factors if times))

    def to_json(self) -> str:
        """Constructors, parameters and counts.

        Examples
        --------
        >>> laplace(0.5).compose(3).to_json()
        '[{"constructor": "laplace", "parameters": {"loss": 0.5, "unit": ""}, "count": 3}]'
        """
        return json.dumps(self.to_dict()["releases"])

    def to_dict(self) -> dict[str, Any]:
        """The releases of which it is composed: constructor, parameters and count of each."""
        return {"releases": [{**described(release), "count": count} for release, count in self.factors]}

    @classmethod
    def from_json(cls, text: str) -> PrivacyCurve:
        """The inverse of :meth:`to_json`.

        Examples
        --------
        >>> PrivacyCurve.from_json(subsampled(1.0, 0.1).to_json()) == subsampled(1.0, 0.1)
        True
        """
        try:
            each = json.loads(text)
            found = [(release_of(one), checks.count("count", one["count"])) for one in each]
        except (TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
            raise ParameterError("text", text[:80], f"what to_json writes ({error})") from None
        return cls(tuple(found))

    def to_dp_accounting(self, step: float = 1e-3, *, pessimistic: bool = True) -> tuple[Any, Any]:
        """Two privacy loss distributions of Google's library, of (P, Q) and of (Q, P), on multiples of `step`.

        Parameters
        ----------
        step : float
            > 0.
        pessimistic : bool
            Nowhere below the truth; nowhere above it otherwise. Of what is composed on either side both orders are needed.

        Returns
        -------
        forward, reverse : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        """
        from airtight.analytics.privacy.accounting import interchange

        h = checks.scalar("step", step, "(0, inf)")
        orders = [self._orders[Direction.FORWARD], self._orders.get(Direction.REVERSE, self._orders[Direction.FORWARD])]
        forward, reverse = (
            interchange.distribution(one.law(h, pessimistic=pessimistic), pessimistic) for one in orders
        )
        return forward, reverse

    @classmethod
    def from_dp_accounting(cls, pld: Any, *, optimistic: bool = False, unit: str = "") -> PrivacyCurve:
        """Of a privacy loss distribution of Google's library, with both its orders.

        A pessimistic one fills the upper end of :meth:`bracket` only. An optimistic one, which is no guarantee, fills the lower
        only, and is refused unless `optimistic` asks for it.
        """
        from airtight.analytics.privacy.accounting import interchange

        return cls(((interchange.tabulated(pld, optimistic, unit), 1),))

    def _described(self) -> list[tuple[str, int]]:
        return [(release.constructor, count) for release, count in self.factors]

    def __repr__(self) -> str:
        parts = [f"{count} x {name}" if count > 1 else name for name, count in self._described()]
        return f"PrivacyCurve({', '.join(parts) or 'nothing released'}{'; ' + self.unit if self.unit else ''})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{d:g}</td><td>{float(self.epsilon(d)):.6g}</td></tr>" for d in _SHOWN)
        return f"<table><caption>{self!r}</caption><tr><th>delta</th><th>epsilon</th></tr>{rows}</table>"

    def plot(self, axes: Axes | None = None, *, deltas: Sequence[float] = tuple(10.0 ** -np.arange(1, 13))) -> Axes:
        """epsilon against delta, both orders and the worse one, on the axes given or on new ones."""
        from matplotlib import pyplot

        axes = pyplot.figure().add_subplot() if axes is None else axes
        for way in [Direction.WORST] if len(self._orders) == 1 else list(Direction):
            axes.semilogx(deltas, self.epsilon(np.array(deltas), direction=way), label=way.value)
        axes.set_xlabel("delta")
        axes.set_ylabel("epsilon")
        axes.legend()
        return axes


def _ends(values: FloatArray, ends: Callable[[float], tuple[float, float]]) -> tuple[FloatArray, FloatArray]:
    found = np.array([ends(float(x)) for x in values.ravel()]).reshape(*values.shape, 2)
    return found[..., 0][()], found[..., 1][()]


def _greatest_epsilon(orders: Iterable[Order], delta: float, width: float) -> tuple[float, float]:
    """Of an order that stays below what another reaches no more is asked."""
    low = high = 0.0
    for one in orders:
        ends = one.epsilon(delta, width, low)
        low, high = max(low, ends[0]), max(high, ends[1])
    return low, high


def _greatest(ends: Iterable[tuple[float, float]]) -> tuple[float, float]:
    lower, upper = zip(*ends, strict=True)
    return max(lower), max(upper)


def compose(curves: Iterable[PrivacyCurve], counts: Iterable[int] | None = None) -> PrivacyCurve:
    """Unlike releases together, each `counts` times.

    Raises
    ------
    ParameterError
        When they speak of different neighbours; when a count is negative or not whole.

    Examples
    --------
    >>> round(float(compose([gaussian(0.3), laplace(0.1)], [3, 10]).epsilon(1e-5)), 2)
    2.45
    """
    each = list(curves)
    times = [1] * len(each) if counts is None else list(counts)
    if len(times) != len(each):
        raise ParameterError("counts", f"{len(times)} numbers", f"one for each of {len(each)} curves")
    gathered: dict[Mechanism, int] = {}
    for one, count in zip(each, times, strict=True):
        for release, number in one.compose(count).factors:
            gathered[release] = gathered.get(release, 0) + number
    return PrivacyCurve(tuple(gathered.items()))


def gaussian(mu: float, *, unit: str = "") -> PrivacyCurve:
    """Of Gaussian noise: `mu` is the sensitivity over the standard deviation, in [0, inf].

    Examples
    --------
    >>> round(float(gaussian(1.0).epsilon(1e-250)), 6)
    34.194535
    """
    return PrivacyCurve.of(Gaussian(mu, unit))


def laplace(epsilon: float, *, unit: str = "") -> PrivacyCurve:
    """Of Laplace noise: `epsilon` >= 0 is the sensitivity over the scale.

    Examples
    --------
    >>> bool(laplace(1.0).epsilon(0.0) >= 1.0)
    True
    """
    return PrivacyCurve.of(Laplace(epsilon, unit))


def randomized_response(epsilon: float, symbols: int = 2, *, unit: str = "") -> PrivacyCurve:
    """Of an answer among `symbols`: the truth, with odds exp(epsilon) against each other one.

    Examples
    --------
    >>> round(randomized_response(np.log(3)).advantage(), 6)
    0.5
    """
    return PrivacyCurve.of(RandomizedResponse(epsilon, symbols, unit))


def discrete_pair(p: ArrayLike, q: ArrayLike, *, unit: str = "") -> PrivacyCurve:
    """Of two laws on the same outcomes.

    Examples
    --------
    >>> round(discrete_pair([0.75, 0.25], [0.25, 0.75]).advantage(), 6)
    0.5
    """
    return PrivacyCurve.of(discrete(p, q, unit))


def subsampled(curve: PrivacyCurve | float, p: float) -> PrivacyCurve:
    """Of a release that happens with probability `p`, unseen, against none; a number is the mu of a Gaussian one.

    Adjacency: taken out or added. A fixed-size sample, or one that is used again, is something else.

    Examples
    --------
    >>> round(float(subsampled(1.0, 0.01).compose(1000).epsilon(1e-6)), 3)
    2.125
    """
    inner = curve if isinstance(curve, PrivacyCurve) else gaussian(curve)
    if len(inner.factors) != 1 or inner.factors[0][1] != 1:
        raise ParameterError("curve", repr(inner), "of a single release")
    return PrivacyCurve.of(Subsampled(inner.factors[0][0], p))


def _highest(start: FloatArray, fall: FloatArray, at: float) -> float:
    """The highest of falling lines, of which infinitely steep ones count at 0 only."""
    return float(np.max(start - fall * at if at > 0 else start))
