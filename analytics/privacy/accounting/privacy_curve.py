r"""The privacy curve: one value type for every mechanism and every composition.

A pair of laws (P, Q) is described by :math:`\delta(\epsilon) = \sup_A P(A) - e^\epsilon Q(A)` and by the same function
of (Q, P). These two curves determine everything that an attacker can achieve. Each order is composed by itself, and the
maximum of the two is taken afterwards, because neither of them needs to dominate the other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks, plots, tidy
from airtight.analytics.checks import FloatArray, ParameterError, choice, flag, own_errstate, real
from airtight.analytics.privacy.accounting import renyi
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.accounting.numerical_composition import (
    DEFAULT_RELATIVE_WIDTH,
    Composition,
    SketchedCurves,
)
from airtight.analytics.privacy.accounting.subsampled import (
    ADDED,
    REPLACED,
    FixedSizeSampled,
    Neighbours,
    Subsampled,
    of_group,
    of_neighbours,
    of_sampled_records,
)
from airtight.analytics.privacy.mechanisms import gaussian as gaussian_mechanism
from airtight.analytics.privacy.mechanisms.approximate import Approximate
from airtight.analytics.privacy.mechanisms.discrete_gaussian import DiscreteGaussian
from airtight.analytics.privacy.mechanisms.discrete_laplace import DiscreteLaplace
from airtight.analytics.privacy.mechanisms.discrete_pair import discrete
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian, Hidden
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.mechanism import Factors, Mechanism, described, release_of
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse
from airtight.analytics.privacy.mechanisms.renyi_bound import RenyiBound
from airtight.analytics.records import plain
from airtight.analytics.rounding import UNIT

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_GOLDEN = (np.sqrt(5) - 1) / 2  # ratio of a golden section
_STEPS = 60  # greatest number of golden sections
_REACH = 1e-12  # relative length of the interval of epsilon at which the search ends


def pointwise_max(first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """The maximum of two decreasing curves at the breaks of both; between breaks a curve keeps the value before."""
    eps = np.union1d(first[0], second[0])
    return eps, np.maximum(
        *(np.append(1.0, deltas)[np.searchsorted(breaks, eps, side="right")] for breaks, deltas in (first, second))
    )


def least_errors(
    deltas: Callable[[FloatArray], FloatArray], alpha: FloatArray, best: FloatArray | None = None
) -> FloatArray:
    """The greatest of the lines 1 - delta(log lambda) - lambda alpha, which are concave in lambda, at each alpha; at least 0.

    The maximum is at the epsilons `best` if they are given; otherwise it is sought by golden sections. Every lambda
    gives a valid bound.
    """

    def line(eps: FloatArray, at: FloatArray) -> FloatArray:
        return _line(deltas(eps), np.exp(eps) * at)

    if best is not None:
        return np.where(alpha == 1, 0.0, np.maximum(line(np.clip(best, -_GREATEST, _GREATEST), alpha), 0.0))
    low, high = np.full(alpha.shape, -30.0), np.full(alpha.shape, 1.0)  # epsilon
    grows = np.arange(alpha.size)
    while grows.size:
        top, at = high[grows], alpha[grows]
        grows = grows[(line(top, at) > line(top - 1e-3, at)) & (top < _GREATEST)]
        low[grows], high[grows] = high[grows] / 2, high[grows] * 2
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = line(a, alpha), line(b, alpha)
    for _ in range(_STEPS):
        if np.all(high - low < _REACH * np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)):
            break
        right = at_a < at_b
        low, high = np.where(right, a, low), np.where(right, high, b)
        new = np.where(right, low + _GOLDEN * (high - low), high - _GOLDEN * (high - low))
        at_new = line(new, alpha)
        a, b = np.where(right, b, new), np.where(right, new, a)
        at_a, at_b = np.where(right, at_b, at_new), np.where(right, at_new, at_a)
    return np.where(alpha == 1, 0.0, np.maximum(np.maximum(at_a, at_b), 0.0))


_FIRST_LEVEL = 1e-6  # order of magnitude of delta that is assumed first when delta is to be computed
_FALLEN = 1e-2  # delta is computed again, at its own order of magnitude, if it is below this share of the assumed one
_LEAST_LEVEL = 1e-300  # least order of magnitude of delta
_TRADED = 1e-12  # order of magnitude of delta where only absolute accuracy is needed


@dataclass(frozen=True)
class OneSidedCurve:
    """Independent releases, each `count` times, all in the same order.

    A release may stand for a family of pairs; then the result is the greatest curve of the family. For the upper bound,
    what dominates the whole family (:meth:`~airtight.analytics.privacy.mechanisms.mechanism.Mechanism.dominating`) is
    composed. For the lower bound, one pair of the family, the same in all releases, is composed
    (:meth:`~airtight.analytics.privacy.mechanisms.mechanism.Mechanism.attained`).
    """

    factors: Factors
    reverse: bool = False
    _made: dict[tuple[str, float], list[Composition]] = field(default_factory=dict, compare=False, repr=False)
    _sketched: dict[Mechanism, SketchedCurves] = field(default_factory=dict, compare=False, repr=False)  # of both orders

    @property
    def symmetric(self) -> bool:
        """Whether (Q, P) has the same curve as (P, Q)."""
        return all(release.symmetric for release, _ in self.factors)

    @property
    def curved(self) -> bool:
        """Whether there is at most one release, used once, so that the curve needs no composition."""
        return len(self.factors) <= 1 and all(count == 1 for _, count in self.factors)

    @own_errstate
    def delta(self, epsilon: float, width: float = DEFAULT_RELATIVE_WIDTH) -> tuple[float, float]:
        """Lower and upper bound of delta at epsilon >= 0."""
        if self._of_pairs:
            return self._above(1.0).delta(epsilon, width)
        level = _FIRST_LEVEL
        high = self._above(level).delta(epsilon, width)[1]
        while high < _FALLEN * level and level > _LEAST_LEVEL:
            level = max(high, level * 1e-60, _LEAST_LEVEL)
            high = min(self._above(level).delta(epsilon, width)[1], high)
        low = max(composed.delta(epsilon, width)[0] for composed in self._below(max(high, _LEAST_LEVEL)))
        return min(low, high), high

    @own_errstate
    def epsilon(self, delta: float, width: float = DEFAULT_RELATIVE_WIDTH, floor: float = 0.0) -> tuple[float, float]:
        """Lower and upper bound of the least epsilon >= 0 at delta >= 0; they are not narrowed below the floor."""
        if self._of_pairs:
            return self._above(1.0).epsilon(delta, width, floor)
        if delta >= 1:
            return 0.0, 0.0
        level = max(delta, _LEAST_LEVEL)
        above = Composition(self.factors, self.reverse) if delta == 0 else self._above(level)
        high = above.epsilon(delta, width)[1]
        return min(max(composed.epsilon(level, width)[0] for composed in self._below(level)), high), high

    def deltas(
        self, epsilon: FloatArray, width: float = DEFAULT_RELATIVE_WIDTH, floor: ArrayLike = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """As :meth:`delta` at each of many epsilons >= 0; below the floor the bounds are not narrowed."""
        if self._of_pairs:
            return self._above(1.0).deltas(epsilon, width, floor)
        return _each(epsilon, lambda x: self.delta(x, width))

    def epsilons(
        self, delta: FloatArray, width: float = DEFAULT_RELATIVE_WIDTH, floor: ArrayLike = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """As :meth:`epsilon` at each of many deltas >= 0; below the floor the bounds need not be narrowed."""
        if self._of_pairs:
            return self._above(1.0).epsilons(delta, width, floor)
        return _each(delta, lambda x: self.epsilon(x, width))

    def is_tight(self, epsilon: float, low: float, high: float, width: float = DEFAULT_RELATIVE_WIDTH) -> bool:
        """Whether the bounds of delta at epsilon are as close as a relative distance `width` of epsilon implies."""
        return self._above(_FIRST_LEVEL).is_tight(epsilon, low, high, width)

    def reached_at(self, epsilon: FloatArray, low: FloatArray, high: FloatArray, width: float) -> NDArray[np.bool_]:
        """As :meth:`is_tight` at each of several epsilons."""
        if epsilon.size > _FEW:
            return self._above(_FIRST_LEVEL).reached_at(epsilon, low, high, width)
        points = zip(epsilon.tolist(), low.tolist(), high.tolist(), strict=True)
        return np.array([self.is_tight(*point, width) for point in points], dtype=bool)

    def law(self, step: float, *, pessimistic: bool) -> LossDistribution:
        """Law of the total loss on multiples of the step, an upper or a lower bound, with absolute accuracy."""
        chosen = self._above(_TRADED) if pessimistic else self._below(_TRADED)[0]
        return chosen.law(step, pessimistic=pessimistic)

    def breaks(self) -> tuple[FloatArray, FloatArray]:
        """Real epsilons, and an upper bound of delta at each, with absolute accuracy."""
        return self._above(_TRADED).breaks()

    @property
    def _of_pairs(self) -> bool:
        """Whether every release is one pair of laws, not a family of them."""
        return all(release.pair for release, _ in self.factors)

    def _above(self, level: float) -> Composition:
        (composed,) = self._composed("dominating", level)
        return composed

    def _below(self, level: float) -> list[Composition]:
        """Compositions for the lower bound; in both orders if the family, but not the chosen pair, is symmetric."""
        return self._composed("attained", level)

    def _composed(self, bound: str, level: float) -> list[Composition]:
        """Compositions of the mechanisms that bound the releases, for a delta of the order of magnitude of `level`."""
        if (bound, level) not in self._made:
            bounding = [(getattr(release, bound)(level / count), count) for release, count in self.factors]
            factors = tuple(
                (mechanism, repetitions * count)
                for mechanisms, count in bounding
                for mechanism, repetitions in mechanisms
            )
            compositions = [Composition(factors, self.reverse, self._sketched)]
            if bound == "attained" and self.symmetric and not all(mechanism.symmetric for mechanism, _ in factors):
                compositions.append(Composition(factors, not self.reverse, self._sketched))
            self._made[bound, level] = compositions
        return self._made[bound, level]


def merge_repeated(factors: Factors) -> Factors:
    """The factors, with all releases of one kind merged into one if that kind is closed under composition."""
    factors_by_kind: dict[Hashable, list[tuple[Mechanism, int]]] = {}
    for release, count in factors:
        factors_by_kind.setdefault(release.kind, []).append((release, count))
    return tuple(
        factor
        for same_kind in factors_by_kind.values()
        for factor in ([same_kind[0][0].composed(tuple(same_kind))] if same_kind[0][0].closed else same_kind)
    )


_TABLE_DELTAS = (1e-3, 1e-5, 1e-7, 1e-9)  # deltas of the table in a notebook
_SUM_ERROR = 1e-12  # of probabilities in doubles
_GDP_DELTAS = np.array([1e-1, 1e-2, 1e-4, 1e-8])  # deltas at which a lower bound of the mu of Gaussian privacy is looked for
_FEW = 8  # greatest number of points that are computed one by one, each on a grid of its own
_GREATEST = 700.0  # greatest epsilon of which the exponential is taken: exp overflows above 709


class Bracket(tuple[FloatArray, FloatArray]):
    """Lower and upper bound of a number; unpacks, indexes and compares as the pair (lower, upper).

    Attributes
    ----------
    lower, upper : ndarray or float
        The number lies between them.
    width : ndarray or float
        The relative distance of the bounds, (upper - lower) / upper. It is 0 where both are 0 or both are infinite, and
        1 where the lower bound is 0 or only the upper bound is infinite.
    reached : ndarray or bool
        Whether the bounds are as close as requested. Where it is False, either a finer grid did not bring them closer,
        or the curve of a release is itself known only between two bounds.

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
    def of(cls, lower: FloatArray, upper: FloatArray, width: float) -> Bracket:
        """From bounds whose relative distance should be at most `width`."""
        with np.errstate(invalid="ignore"):
            narrow = (upper < np.inf) & (upper - lower <= width * upper)
        return cls(lower, upper, np.asarray((lower == upper) | narrow))

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
    """Order of the neighbours: (P, Q), (Q, P), or the worse of the two."""

    WORST = "worst"
    FORWARD = "forward"
    REVERSE = "reverse"


@dataclass(frozen=True, eq=True, repr=False)
class PrivacyCurve(tidy.Tabular):
    """The privacy curve of a composition of independent releases, each used some number of times.

    The functions :func:`gaussian`, :func:`laplace`, :func:`randomized_response`, :func:`discrete_pair`,
    :func:`approximate`, :func:`discrete_laplace`, :func:`discrete_gaussian`, :func:`subsampled`, :func:`dp_sgd`,
    :func:`from_renyi`, :func:`mixture_gaussian`, ``airtight.curve(system)``, :meth:`from_json` and
    :meth:`from_dp_accounting` make a curve. :meth:`compose` and :func:`compose` compose curves. Two curves are equal
    when they are made of the same releases.

    Attributes
    ----------
    factors : tuple of (Mechanism, int)
        The releases and how often each is used.

    Notes
    -----
    Gaussian releases are composed in closed form, all others on a grid of losses
    (:mod:`airtight.analytics.privacy.accounting.numerical_composition`). Every number returned is the bound on the safe
    side; :meth:`bracket` returns both bounds.

    Examples
    --------
    >>> one = gaussian(0.1)
    >>> round(float(one.compose(64).epsilon(1e-5)), 6), one.compose(64) == gaussian(0.1).compose(64)
    (3.386933, True)
    """

    factors: Factors

    def __post_init__(self) -> None:
        pairs = isinstance(self.factors, tuple) and all(
            isinstance(each, tuple) and len(each) == 2 for each in self.factors
        )
        if not pairs:
            raise ParameterError("factors", self.factors, "pairs of a Mechanism and a count")
        for mechanism, count in self.factors:
            checks.count("count", count)
            if not isinstance(mechanism, Mechanism):
                raise ParameterError("mechanism", mechanism, "a Mechanism")
            checks.text("unit", mechanism.unit)
        units = {release.unit for release, _ in self.factors if release.unit}
        if len(units) > 1:
            raise ParameterError(
                "curves", " and ".join(repr(unit) for unit in sorted(units)), "curves of one neighbour relation"
            )

    def __getstate__(self) -> dict[str, Factors]:
        """The releases alone: what was computed of them is made again where it is needed."""
        return {"factors": self.factors}

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
        """What neighbours differ in; empty if it is not specified."""
        return next((release.unit for release, _ in self.factors if release.unit), "")

    @cached_property
    def _orders(self) -> dict[Direction, OneSidedCurve]:
        """The composition in either order; only one of them if both have the same curve."""
        forward = OneSidedCurve(merge_repeated(self.factors))
        if forward.symmetric:
            return {Direction.FORWARD: forward}
        return {Direction.FORWARD: forward, Direction.REVERSE: replace(forward, reverse=True, _made={})}

    def _selected_orders(self, direction: Direction | str) -> list[OneSidedCurve]:
        """The orders that a direction stands for."""
        way = choice("direction", direction, Direction)
        if way is Direction.WORST:
            return list(self._orders.values())
        return [self._orders.get(way, self._orders[Direction.FORWARD])]

    @own_errstate
    def delta(self, epsilon: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        r"""delta at each real epsilon, rounded up.

        At -x < 0 it is :math:`1 - e^{-x} + e^{-x}\delta'(x)` with the curve :math:`\delta'` of the other order.

        Examples
        --------
        >>> gaussian(1.0).delta([0.0, 1.0, -1.0]).round(6)
        array([0.382925, 0.126937, 0.678818])
        """
        return self.bracket(epsilon=epsilon, direction=direction)[1]

    @own_errstate
    def epsilon(self, delta: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        """Least epsilon >= 0 at each delta, rounded up; infinite where there is none.

        Parameters
        ----------
        delta : array_like
            At least 0. At 0 the result is the pure epsilon, from 1 on it is 0.
        direction : {"worst", "forward", "reverse"}

        Examples
        --------
        >>> gaussian(1.0).epsilon([1e-5, 0.0, 1.0]).round(6)
        array([4.377178,      inf, 0.      ])
        """
        return self.bracket(delta=delta, direction=direction)[1]

    @own_errstate
    def bracket(
        self,
        *,
        epsilon: ArrayLike | None = None,
        delta: ArrayLike | None = None,
        direction: Direction | str = Direction.WORST,
        width: float = DEFAULT_RELATIVE_WIDTH,
    ) -> Bracket:
        """Lower and upper bound of delta at `epsilon`, or of epsilon at `delta`.

        Parameters
        ----------
        epsilon, delta : array_like
            Exactly one of them.
        direction : {"worst", "forward", "reverse"}
        width : float
            In (0, 1). Relative distance of the bounds of epsilon that is aimed at; for bounds of delta, the distance
            that corresponds to it.

        Returns
        -------
        Bracket
            The pair (lower, upper), with the fields `width`, their relative distance, and `reached`.

        Examples
        --------
        >>> low, high = subsampled(1.0, 0.01).compose(1000).bracket(delta=1e-6)
        >>> bool(2.124 < low < high < 2.125)
        True
        """
        goal = checks.scalar("width", width, "(0, 1)")
        orders = self._selected_orders(direction)
        if (epsilon is None) == (delta is None):
            raise ParameterError("epsilon, delta", (epsilon, delta), "one value and one None")
        if delta is not None:
            deltas = real("delta", delta, "[0, inf]")
            if deltas.size <= _FEW:

                def greatest(x: float) -> tuple[FloatArray, FloatArray]:
                    return _greatest_epsilon(orders, lambda order, floor: order.epsilon(x, goal, float(floor)))

                ends = _each(deltas.ravel(), greatest)
            else:
                ends = _greatest_epsilon(orders, lambda order, floor: order.epsilons(deltas.ravel(), goal, floor))
            return Bracket.of(ends[0].reshape(deltas.shape)[()], ends[1].reshape(deltas.shape)[()], goal)
        eps = real("epsilon", epsilon if epsilon is not None else 0.0, "[-inf, inf]")
        lower, upper = self._deltas(orders, eps.ravel(), goal)
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = np.log(upper) - np.log(lower) <= goal
        wide = np.flatnonzero(~reached)
        for order in orders if wide.size else []:
            reached[wide] |= order.reached_at(np.abs(eps.ravel()[wide]), lower[wide], upper[wide], goal)
        return Bracket(lower.reshape(eps.shape)[()], upper.reshape(eps.shape)[()], reached.reshape(eps.shape))

    def _deltas(self, orders: Iterable[OneSidedCurve], epsilon: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound of the greatest delta of the orders at each real epsilon."""
        lower, upper = np.zeros(epsilon.size), np.zeros(epsilon.size)
        for order in orders:
            low, high = self._deltas_of_order(order, epsilon, width, lower)
            lower, upper = np.maximum(lower, low), np.maximum(upper, high)
        return lower, upper

    def _deltas_of_order(
        self, order: OneSidedCurve, epsilon: FloatArray, width: float, floor: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound of delta of one order at each real epsilon; below the floor they are not narrowed."""
        if epsilon.size <= _FEW:
            return _each(epsilon, lambda x: self._delta(order, x, width))
        low, high = np.empty(epsilon.shape), np.empty(epsilon.shape)
        zero, positive, negative = epsilon == 0, epsilon > 0, epsilon < 0
        if np.any(zero):
            low[zero], high[zero] = self._delta(order, 0.0, width)
        if np.any(positive):
            low[positive], high[positive] = order.deltas(epsilon[positive], width, floor[positive])
        if np.any(negative):
            low[negative], high[negative] = _reflected(
                epsilon[negative], self._opposite(order).deltas(-epsilon[negative], width)
            )
        return low, high

    def _opposite(self, order: OneSidedCurve) -> OneSidedCurve:
        opposite = Direction.FORWARD if order.reverse else Direction.REVERSE
        return self._orders.get(opposite, self._orders[Direction.FORWARD])

    def _delta(self, order: OneSidedCurve, epsilon: float, width: float) -> tuple[float, float]:
        """Lower and upper bound of delta of one order at any real epsilon."""
        if epsilon == 0:  # the total variation, which is the same in both orders
            low, high = 0.0, 1.0
            for each_order in self._orders.values():
                ends = each_order.delta(0.0, width)
                low, high = max(low, ends[0]), min(high, ends[1])
                if low > 0 or each_order.is_tight(0.0, low, high, width):
                    break
            return min(low, high), high
        if epsilon > 0:
            return order.delta(epsilon, width)
        reflected = _reflected(epsilon, self._opposite(order).delta(-epsilon, width))
        return float(reflected[0]), float(reflected[1])

    @own_errstate
    def beta(
        self, alpha: ArrayLike, *, direction: Direction | str = Direction.WORST, envelope: bool = False
    ) -> FloatArray:
        r"""Least type II error of an attack whose type I error is at most alpha (trade-off function), rounded down.

        Parameters
        ----------
        alpha : array_like
            In [0, 1].
        direction : {"worst", "forward", "reverse"}
            With `forward`, Q is the tested hypothesis. The other order gives the inverse function; `worst` is the
            minimum of both.
        envelope : bool
            Whether to return the greatest convex function below `worst`, which bounds one attacker who may choose the
            order.

        Notes
        -----
        :math:`\beta(\alpha) = \sup_{\lambda\ge0} 1 - \delta(\log\lambda) - \lambda\alpha`; every :math:`\lambda` gives
        a lower bound.

        Examples
        --------
        >>> gaussian(1.0).beta([0.05, 0.5]).round(4)
        array([0.7405, 0.1587])
        """
        levels, envelope = real("alpha", alpha, "[0, 1]"), flag("envelope", envelope)
        orders = self._selected_orders(direction)
        if all(order.curved for order in orders):

            def errors_of(group: list[OneSidedCurve]) -> FloatArray:
                releases = [release for order in group for release, _ in order.factors]
                best = releases[0].best_epsilons(levels.ravel()) if len(releases) == 1 else None
                return least_errors(lambda eps: self._deltas(group, eps, DEFAULT_RELATIVE_WIDTH)[1], levels.ravel(), best)

            groups = [orders] if envelope else [[order] for order in orders]
            errors = np.min([errors_of(group) for group in groups], axis=0)
        else:
            tables = [order.breaks() for order in orders]
            tables = [pointwise_max(*tables)] if envelope and len(tables) > 1 else tables
            with np.errstate(over="ignore"):
                lines = [(delta, np.where(eps > _GREATEST, np.inf, np.exp(eps))) for eps, delta in tables]
                errors = np.maximum(np.min([_highest(*line, levels.ravel()) for line in lines], axis=0), 0.0)
        infinity_mass = self._infinity_mass(orders)
        at_zero = (1 - infinity_mass) * (1 - UNIT) if infinity_mass else 1.0
        errors = np.where(levels.ravel() > 0, errors, at_zero)
        return np.asarray(errors.reshape(levels.shape))[()]

    def _infinity_mass(self, orders: Iterable[OneSidedCurve]) -> float:
        """Upper bound of the probability of an infinite loss, the greatest over the orders."""
        return float(self._deltas(orders, np.array([np.inf]), DEFAULT_RELATIVE_WIDTH)[1][0])

    @own_errstate
    def advantage(self) -> float:
        """Greatest advantage over guessing of an attacker who distinguishes the neighbours: their total variation.

        Examples
        --------
        >>> round(gaussian(1.0).advantage(), 6)
        0.382925
        """
        return float(self.delta(0.0))

    @own_errstate
    def bayes_risk(self, prior: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        """Least probability of error if the tested hypothesis is true with probability `prior`, rounded down.

        Examples
        --------
        >>> round(float(gaussian(1.0).bayes_risk(0.5)), 6)
        0.308538
        """
        share = real("prior", prior, "[0, 1]")
        with np.errstate(divide="ignore"):
            eps = np.log(share) - np.log1p(-share)
        # a lesser epsilon has a greater delta; so the rounding of epsilon is on the safe side, as is that of the product
        eps = eps - np.where(np.isfinite(eps), 4 * UNIT * (1 + np.abs(eps)), 0.0)
        delta = self.delta(eps, direction=direction)
        return np.asarray(np.maximum((1 - share) * (1 - delta) - 4 * UNIT, 0.0))[()]

    @own_errstate
    def tpr(self, fpr: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        """Greatest true-positive rate of an attack at each false-positive rate, rounded up.

        Examples
        --------
        >>> round(float(gaussian(1.0).tpr(0.001)), 5)
        0.0183
        """
        rates = real("fpr", fpr, "[0, 1]")
        hits = 1 - self.beta(rates, direction=direction)
        return np.where(rates > 0, hits, self._infinity_mass(self._selected_orders(direction)))[()]

    @own_errstate
    def reconstruction(self, baseline: ArrayLike, *, direction: Direction | str = Direction.WORST) -> FloatArray:
        r"""Greatest probability of success of an attack that succeeds with probability `baseline` by guessing, rounded up.

        An attack reconstructs the record, or infers one of its attributes, from what is released; without the record it
        succeeds with probability `baseline` at most. Neighbours: with the record (P) and without it (Q), or with
        another one in its place.

        Notes
        -----
        For the target z let :math:`A_z` be the outcomes with which the attack succeeds. :math:`P_z(A_z) \le
        1 - f(Q(A_z))` with the trade-off function f of the curve. If f is convex, the mean over z is at most
        :math:`1 - f(E\,Q(A_z))`, which one target and the Neyman-Pearson set attain. The lesser of the functions of both
        orders is not convex: the greatest convex function below it is taken.

        Examples
        --------
        >>> [round(float(x), 4) for x in gaussian(1.0).reconstruction([0.001, 0.1])]
        [0.0183, 0.3891]
        """
        share, order = real("baseline", baseline, "[0, 1]"), choice("direction", direction, Direction)
        hits = 1 - self.beta(share, direction=order, envelope=order is Direction.WORST)
        return np.where(share > 0, hits, self._infinity_mass(self._selected_orders(order)))[()]

    @own_errstate
    def posterior(self, prior: ArrayLike) -> FloatArray:
        """Greatest probability of being right on which neighbour it was, one of which had the probability `prior`; rounded up.

        It is the mean, over what is released, of the greater of the two posterior probabilities.

        Examples
        --------
        >>> [round(float(x), 4) for x in gaussian(1.0).posterior([0.5, 0.1])]
        [0.6915, 0.9013]
        """
        # of both orders the greater risk: which neighbour the prior is for makes no difference
        return np.asarray(np.minimum(1 - self.bayes_risk(prior) + UNIT, 1.0))[()]

    @own_errstate
    def renyi(self, order: ArrayLike) -> Bracket:
        """Renyi divergence at each order in (1, 1e9], the greater of both orders of the laws, in nats.

        The upper bound is infinite where the divergence is, as for a device whose absence shows, or where no bound is known.

        Examples
        --------
        >>> dp_sgd(1.0, 0.01, 1000).renyi([2.0, 8.5]).upper.round(6)
        array([0.171813, 1.089389])
        """
        orders = real("order", order, "(1, 1e9]")
        ends = _each(orders.ravel(), lambda a: renyi.bracket(self.factors, a))
        lower, upper = (end.reshape(orders.shape)[()] for end in ends)
        return Bracket.of(lower, upper, DEFAULT_RELATIVE_WIDTH)

    @own_errstate
    def zcdp(self) -> Bracket:
        """Least rho of zero-concentrated privacy: Renyi divergences are at most rho times their order; infinite if none is known.

        Subsampling does not lower it: at high orders a sample shows as much as all records.

        Examples
        --------
        >>> [round(float(end), 6) for end in gaussian(0.5).compose(8).zcdp()]
        [1.0, 1.0]
        """
        lower, upper = renyi.zcdp(self.factors)
        return Bracket.of(np.asarray(lower)[()], np.asarray(upper)[()], DEFAULT_RELATIVE_WIDTH)

    @own_errstate
    def gdp(self) -> Bracket:
        """Least mu of Gaussian privacy: the curve of ``gaussian(mu)`` is nowhere below this one; infinite where none is known.

        Subsampling does not lower it: far in the tail a sample shows as much as all records.

        Notes
        -----
        Upper bound: a composition is dominated by that of Gaussian mechanisms that dominate the releases,
        and these are one of the root of the sum of squares. Lower bound: at each point of the curve, that Gaussian
        curve must not be below its lower bound.

        Examples
        --------
        >>> [round(float(end), 6) for end in gaussian(0.5).compose(4).gdp()]
        [1.0, 1.0]
        """
        factors = merge_repeated(self.factors)
        upper = math.hypot(*(math.sqrt(count) * renyi.gdp(release) for release, count in factors)) * (1 + 8 * UNIT)
        ends = self.bracket(delta=_GDP_DELTAS).lower
        at_zero = float(self.bracket(epsilon=0.0).lower)
        # delta at the lower bound of an epsilon above 0 is at least the delta that was asked for
        epsilons, deltas = np.append(ends, 0.0), np.append(_GDP_DELTAS, at_zero)
        informative = (deltas > 0) & np.append(ends > 0, True)
        with np.errstate(divide="ignore"):
            mu = 1 / np.asarray(gaussian_mechanism.sigma(epsilons[informative], deltas[informative], sensitivity=1.0))
        # the loss of a Gaussian is finite
        infinite = self.bracket(epsilon=np.inf).lower > 0
        lower = np.inf if infinite else float(np.max(mu, initial=0.0)) * (1 - 4 * UNIT)
        return Bracket.of(np.asarray(min(lower, upper))[()], np.asarray(upper)[()], DEFAULT_RELATIVE_WIDTH)

    @own_errstate
    def compose(self, count: int) -> PrivacyCurve:
        """The composition of `count` independent releases of this curve; for `count` = 0 nothing is released.

        It bounds an adaptive choice of releases as well, if this curve dominates each of them.

        Examples
        --------
        >>> laplace(0.5).compose(0).advantage(), round(float(laplace(0.5).compose(10).epsilon(1e-5)), 2)
        (0.0, 4.99)
        """
        repeats = checks.count("count", count, "[0, inf)")
        return PrivacyCurve(tuple((release, factor_count * repeats) for release, factor_count in self.factors if repeats))

    @own_errstate
    def group(self, count: int) -> PrivacyCurve:
        """The curve for neighbours that differ in `count` records, at most 1000, such as all records of one person.

        Each release must be noise on a sum that one record moves by its sensitivity, or a Poisson sample of a Gaussian one, where
        all of these records are added, or all removed.

        Examples
        --------
        >>> [round(float(curve.epsilon(1e-5)), 4) for curve in (gaussian(0.5).group(3), gaussian(1.5))]
        [7.0514, 7.0514]
        >>> [round(float(dp_sgd(2.0, 0.01, 100).group(k).epsilon(1e-6)), 2) for k in (1, 4)]
        [0.23, 1.02]
        """
        records = checks.count("count", count, "[1, 1000]")
        return PrivacyCurve(tuple((of_group(release, records), count_of_release) for release, count_of_release in self.factors))

    def to_json(self) -> str:
        """The releases as JSON: constructor, parameters and count of each; an infinite parameter is the text "inf".

        Examples
        --------
        >>> laplace(0.5).compose(3).to_json()
        '[{"constructor": "laplace", "parameters": {"loss": 0.5, "unit": ""}, "count": 3}]'
        """
        return json.dumps(self.to_dict()["releases"], allow_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """The releases as a dictionary: constructor, parameters and count of each."""
        return {"releases": [plain({**described(release), "count": count}) for release, count in self.factors]}

    @classmethod
    def from_json(cls, text: str) -> PrivacyCurve:
        """The inverse of :meth:`to_json`.

        Examples
        --------
        >>> PrivacyCurve.from_json(subsampled(1.0, 0.1).to_json()) == subsampled(1.0, 0.1)
        True
        """
        if not isinstance(text, str):
            raise ParameterError("text", text, "the text that to_json writes")
        try:
            releases = json.loads(text)
            if not isinstance(releases, list) or not all(isinstance(release, dict) for release in releases):
                raise TypeError("not a list of releases")
            counts = [checks.count("count", release.pop("count")) for release in releases]
            return cls(tuple(zip(map(release_of, releases), counts, strict=True)))
        except ParameterError:
            raise
        except (TypeError, KeyError, AttributeError, ValueError, RecursionError) as error:
            raise ParameterError("text", text[:80], f"the text that to_json writes ({error})") from None

    @own_errstate
    def to_dp_accounting(self, step: float = 1e-3, *, pessimistic: bool = True) -> tuple[Any, Any]:
        """Two privacy loss distributions of Google's library, of (P, Q) and of (Q, P), on multiples of `step`.

        Parameters
        ----------
        step : float
            > 0.
        pessimistic : bool
            Whether the distributions are nowhere below the truth; otherwise they are nowhere above it. A composition
            needs both orders: compose each and take the worse result.

        Returns
        -------
        forward, reverse : dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
            Of (P, Q) and of (Q, P).
        """
        from airtight.analytics.privacy.accounting import dp_accounting_interop

        h = checks.scalar("step", step, "(0, inf)")
        orders = [self._orders[Direction.FORWARD], self._orders.get(Direction.REVERSE, self._orders[Direction.FORWARD])]
        forward, reverse = (
            dp_accounting_interop.distribution(order.law(h, pessimistic=pessimistic), pessimistic) for order in orders
        )
        return forward, reverse

    @classmethod
    def from_dp_accounting(cls, source: Any, *, optimistic: bool = False, unit: str = "") -> PrivacyCurve:
        """The curve of a privacy loss distribution, or of a ``DpEvent``, of Google's library.

        A pessimistic distribution gives only the upper bound of :meth:`bracket`. An optimistic one gives only the lower
        bound, which is no guarantee; it is refused unless `optimistic` is true. An event gives the mechanisms
        themselves: Gaussian, Laplace, randomized response, Poisson samples of one of these, and compositions; other
        events are refused. Its unit names the neighbours: one record is added or removed, or replaced for randomized
        response; an event that has both kinds is refused, as is a `unit`. :meth:`to_dp_event` is the inverse.

        Examples
        --------
        >>> from dp_accounting import dp_event
        >>> sampled = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
        >>> curve = PrivacyCurve.from_dp_accounting(dp_event.SelfComposedDpEvent(sampled, 1000))
        >>> round(float(curve.epsilon(1e-6)), 3)
        2.125
        """
        from airtight.analytics.privacy.accounting import dp_accounting_interop, dp_events

        if dp_events.is_event(source):
            if unit:
                raise ParameterError("unit", unit, "empty for an event, which has neighbours of its own")
            return compose(cls(((release, count),)) for release, count in dp_events.factors_of(source))
        return cls(((dp_accounting_interop.tabulated(source, optimistic, unit), 1),))

    @classmethod
    def from_opacus(cls, history: Iterable[tuple[float, float, int]]) -> PrivacyCurve:
        """The curve of the ``history`` of an accountant of Opacus: (noise multiplier, sampling rate, steps) of each phase.

        Adjacency: one record is added or removed.

        Examples
        --------
        >>> round(float(PrivacyCurve.from_opacus([(1.0, 0.01, 500), (1.2, 0.01, 500)]).epsilon(1e-6)), 3)
        1.862
        """
        phases = list(history)
        if any(len(phase) != 3 for phase in phases):
            raise ParameterError("history", phases, "(noise multiplier, sampling rate, steps) of each phase")
        return compose(dp_sgd(sigma, rate, steps) for sigma, rate, steps in phases)

    def to_dp_event(self) -> Any:
        """The releases as a ``DpEvent`` of Google's library; parameters are rounded to the side of greater leakage.

        Raises
        ------
        ParameterError
            When a release is none of Gaussian, Laplace, randomized response or a sample of one of the first two; when
            randomized response is composed with another release.

        Examples
        --------
        >>> subsampled(1.0, 0.01).compose(1000).to_dp_event()  # doctest: +ELLIPSIS
        SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, event=...), count=1000)
        """
        from airtight.analytics.privacy.accounting import dp_events

        return dp_events.event_of(self.factors)

    def _described(self) -> list[tuple[str, int]]:
        return [(release.constructor, count) for release, count in self.factors]

    def __repr__(self) -> str:
        parts = [f"{count} x {name}" if count > 1 else name for name, count in self._described()]
        return f"PrivacyCurve({', '.join(parts) or 'nothing released'}{'; ' + self.unit if self.unit else ''})"

    @own_errstate
    def table(self, system: str = "curve", *, deltas: ArrayLike = _TABLE_DELTAS) -> dict[str, NDArray[Any]]:
        """The tidy table by columns: a row for each delta, whose column stands in front."""
        requested = np.atleast_1d(real("delta", deltas, "[0, inf]")).ravel()
        lower, upper = self.bracket(delta=requested)
        epsilon = tidy.Entry(value=upper, lower=lower, upper=upper)
        return tidy.over({"delta": requested}, tidy.columns([(system, {"epsilon": epsilon})]))

    def to_frame(self, system: str = "curve", *, deltas: ArrayLike = _TABLE_DELTAS) -> pandas.DataFrame:
        """Epsilon at each delta as a tidy DataFrame of pandas.

        Examples
        --------
        >>> gaussian(1.0).to_frame(deltas=[1e-5, 1e-6])[["quantity", "value"]].round(3).values.tolist()
        [['epsilon', 4.377], ['epsilon', 4.887]]
        """
        return tidy.frame(self.table(system, deltas=deltas))

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{d:g}</td><td>{float(self.epsilon(d)):.6g}</td></tr>" for d in _TABLE_DELTAS)
        return f"<table><caption>{escape(repr(self))}</caption><tr><th>delta</th><th>epsilon</th></tr>{rows}</table>"

    @own_errstate
    def plot(self, axes: Axes | None = None, *, deltas: Sequence[float] = tuple(10.0 ** -np.arange(1, 13))) -> Axes:
        """Plot epsilon against delta, of both orders and of the worse one, on the given axes or on new ones."""
        from matplotlib import pyplot

        axes = pyplot.figure().add_subplot() if axes is None else axes
        for way in [Direction.WORST] if len(self._orders) == 1 else list(Direction):
            axes.semilogx(deltas, self.epsilon(np.array(deltas), direction=way), label=way.value)
        axes.set_xlabel("delta")
        axes.set_ylabel("epsilon")
        axes.legend()
        return axes

    def plot_attacks(self, ax: Axes | None = None) -> Axes:
        """Plot which attacks are possible: below the trade-off curve no attack has both error probabilities.

        An attack that guesses is on the line from (0, 1) to (1, 0); between that line and the curve attacks learn something.
        """
        axes, alpha = plots.axes_of(ax), np.concatenate([[0.0], np.geomspace(1e-4, 0.5, 60), np.linspace(0.51, 1.0, 40)])
        beta, advantage = np.asarray(self.beta(alpha)), float(self.advantage())
        axes.fill_between(alpha, 0.0, beta, color=plots.IMPOSSIBLE, label="impossible", linewidth=0)
        axes.fill_between(alpha, beta, 1 - alpha, color=plots.BLUE, alpha=0.2, label="attacks", linewidth=0)
        axes.plot(alpha, beta, color=plots.BLUE, label="trade-off curve")
        axes.plot([0, 1], [1, 0], color=plots.GREY, linestyle="--", linewidth=1, label="guessing")
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.legend(loc="upper right")
        title = f"The best attack is right {50 + 50 * advantage:.3g} % of the time at even odds"
        return plots.finish(axes, title=title, x="false alarms (share)", y="missed detections (share)")


def _each(values: FloatArray, bounds_at: Callable[[float], tuple[ArrayLike, ArrayLike]]) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds at each value."""
    pairs = np.array([bounds_at(float(x)) for x in values]).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _reflected(epsilon: ArrayLike, ends: tuple[ArrayLike, ArrayLike]) -> tuple[FloatArray, FloatArray]:
    """Bounds of delta at epsilon < 0, from those of the other order at -epsilon."""
    low, high = (np.asarray(end, dtype=float) for end in ends)
    share, rest = np.exp(epsilon), 0.0 - np.expm1(epsilon)
    return (rest + share * low) * (1 - 1e-15), np.minimum((rest + share * high) * (1 + 1e-15), 1.0)


def _greatest_epsilon(
    orders: Iterable[OneSidedCurve], bounds_above: Callable[[OneSidedCurve, FloatArray], tuple[ArrayLike, ArrayLike]]
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the greatest epsilon of the orders; an order below what another one reaches is not refined.

    `bounds_above` gives the bounds of an order, not narrowed below a floor.
    """
    low = high = np.zeros(())
    for order in orders:
        order_low, order_high = bounds_above(order, low)
        low, high = np.maximum(low, order_low), np.maximum(high, order_high)
    return low, high


@own_errstate
def compose(curves: Iterable[PrivacyCurve], counts: Iterable[int] | None = None) -> PrivacyCurve:
    """The composition of different releases, each used `counts` times.

    Parameters
    ----------
    curves : iterable of PrivacyCurve
        Of the same neighbours.
    counts : iterable of int, optional
        How often each is used; once by default.

    Raises
    ------
    ParameterError
        When the curves have different neighbour relations; when a count is negative or not an integer.

    Examples
    --------
    >>> round(float(compose([gaussian(0.3), laplace(0.1)], [3, 10]).epsilon(1e-5)), 2)
    2.45
    """
    for name, given in (("curves", curves), ("counts", counts)):
        if (given is not None or name == "curves") and (
            not isinstance(given, Iterable) or (isinstance(given, np.ndarray) and not given.ndim)
        ):
            raise ParameterError(name, given, "a sequence")
    all_curves = [checks.instance("curves", each, PrivacyCurve) for each in curves]
    times = [1] * len(all_curves) if counts is None else list(counts)
    if len(times) != len(all_curves):
        raise ParameterError("counts", f"{len(times)} numbers", f"one number for each of the {len(all_curves)} curves")
    count_by_release: dict[Mechanism, int] = {}
    for curve, count in zip(all_curves, times, strict=True):
        for release, factor_count in curve.compose(count).factors:
            count_by_release[release] = count_by_release.get(release, 0) + factor_count
    return PrivacyCurve(tuple(count_by_release.items()))


@own_errstate
def gaussian(mu: float, *, unit: str = "") -> PrivacyCurve:
    """The curve of Gaussian noise; `mu` in [0, inf] is the sensitivity over the standard deviation.

    Parameters
    ----------
    mu : float
        In [0, inf]: sensitivity over standard deviation.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> round(float(gaussian(1.0).epsilon(1e-250)), 6)
    34.194535
    """
    return PrivacyCurve.of(Gaussian(mu, unit))


@own_errstate
def laplace(epsilon: float, *, unit: str = "") -> PrivacyCurve:
    """The curve of Laplace noise; `epsilon` in [0, inf] is the sensitivity over the scale.

    Parameters
    ----------
    epsilon : float
        In [0, inf]: sensitivity over scale, the pure epsilon.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> bool(laplace(1.0).epsilon(0.0) >= 1.0)
    True
    """
    loss = checks.scalar("epsilon", epsilon, "[0, inf]")
    return PrivacyCurve.of(Laplace(loss, unit) if loss < np.inf else Gaussian(loss, unit))


@own_errstate
def randomized_response(epsilon: float, symbols: int = 2, *, unit: str = "") -> PrivacyCurve:
    """The curve of randomized response: the truth is exp(epsilon) times as likely as each other one of `symbols`.

    `epsilon` is in [0, inf]; at infinity, as without noise, everything is given away.

    Parameters
    ----------
    epsilon : float
        In [0, inf].
    symbols : int
        At least 2; 2 by default.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> round(randomized_response(np.log(3)).advantage(), 6)
    0.5
    """
    loss, symbol_count = checks.scalar("epsilon", epsilon, "[0, inf]"), checks.count("symbols", symbols, "[2, inf)")
    return PrivacyCurve.of(RandomizedResponse(loss, symbol_count, unit) if loss < np.inf else Gaussian(loss, unit))


@own_errstate
def approximate(epsilon: float, delta: float, *, unit: str = "") -> PrivacyCurve:
    """The greatest curve of all mechanisms that are (`epsilon`, `delta`)-private; `epsilon` in [0, inf], `delta` in [0, 1].

    Adjacency is that of the guarantee. A composition is the optimal one of Kairouz, Oh and Viswanath, and of Murtagh
    and Vadhan where guarantees differ: no smaller epsilon holds for all mechanisms that keep these guarantees.

    Parameters
    ----------
    epsilon, delta : float
        In [0, inf] and [0, 1].
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> [float(x) for x in approximate(1.0, 1e-6).epsilon([1e-6, 1e-7])]
    [1.0, inf]
    >>> round(float(approximate(0.1, 1e-8).compose(100).epsilon(1e-5)), 3)
    4.33
    """
    loss, failure = checks.scalar("epsilon", epsilon, "[0, inf]"), checks.scalar("delta", delta, "[0, 1]")
    guarantee = Approximate(loss, failure, unit) if loss < np.inf and failure < 1 else Gaussian(np.inf, unit)
    return PrivacyCurve.of(guarantee)


@own_errstate
def discrete_laplace(scale: float, sensitivity: int = 1, *, unit: str = "") -> PrivacyCurve:
    """The curve of discrete Laplace (geometric) noise for a whole number: k has a probability that falls as exp(-abs(k)/scale).

    Adjacency: neighbours have numbers that differ by at most `sensitivity`, a whole number of at least 0. Without
    noise, at `scale` 0, everything is given away. The numbers of a vector are a composition.

    Parameters
    ----------
    scale : float
        At least 0.
    sensitivity : int
        At least 0.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> round(float(discrete_laplace(2.0).epsilon(0.0)), 12), round(discrete_laplace(2.0, 3).advantage(), 6)
    (0.5, 0.54202)
    """
    shift = checks.count("sensitivity", sensitivity, "[0, inf)")
    spread = checks.scalar("scale", scale, "[0, inf)")
    return _moved(shift, spread, unit, lambda: DiscreteLaplace(shift, unit, scale=spread))


@own_errstate
def discrete_gaussian(sigma: float, sensitivity: int = 1, *, unit: str = "") -> PrivacyCurve:
    """The curve of discrete Gaussian noise for a whole number: k has a probability that falls as exp(-k^2/(2 sigma^2)).

    Adjacency: neighbours have numbers that differ by at most `sensitivity`, a whole number of at least 0. Without
    noise, at `sigma` 0, everything is given away. The numbers of a vector are a composition.

    Parameters
    ----------
    sigma : float
        At least 0.
    sensitivity : int
        At least 0.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> round(float(discrete_gaussian(2.0).epsilon(1e-5)), 4), round(float(gaussian(0.5).epsilon(1e-5)), 4)
    (2.0113, 1.9931)
    """
    shift = checks.count("sensitivity", sensitivity, "[0, inf)")
    spread = checks.scalar("sigma", sigma, "[0, inf)")
    return _moved(shift, spread, unit, lambda: DiscreteGaussian(shift, unit, sigma=spread))


def _moved(shift: int, spread: float, unit: str, noise: Callable[[], Mechanism]) -> PrivacyCurve:
    """The curve of noise on the integers; of nothing where no neighbour moves it, of everything where there is no noise."""
    if shift and spread:
        return PrivacyCurve.of(noise())
    return PrivacyCurve.of(Gaussian(np.inf if shift else 0.0, unit))


@own_errstate
def mixture_gaussian(
    sensitivities: ArrayLike, probabilities: ArrayLike, sigma: float, *, unit: str = ""
) -> PrivacyCurve:
    """The curve of Gaussian noise of deviation `sigma` on a number whose sensitivity is drawn, unseen by the observer.

    Adjacency: with the record the mean is at most `sensitivities[i]` with probability `probabilities[i]`, without it 0.

    Parameters
    ----------
    sensitivities, probabilities : array_like, shape (n,)
        At least 0; probabilities that add up to one.
    sigma : float
        Greater than 0.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> low, high = mixture_gaussian([0.0, 1.0, 2.0], [0.81, 0.18, 0.01], 1.0).bracket(epsilon=1.0)
    >>> bool(low < high < low * (1 + 1e-9)), round(float(high), 4)
    (True, 0.0038)
    """
    shifts, chances = real("sensitivities", sensitivities, "[0, inf)"), real("probabilities", probabilities, "[0, 1]")
    deviation = checks.scalar("sigma", sigma, "(0, inf)")
    if shifts.ndim != 1 or shifts.shape != chances.shape or abs(float(np.sum(chances)) - 1) > _SUM_ERROR:
        allowed = "a law on the sensitivities: one number for each, sum 1"
        raise ParameterError("probabilities", checks.array_text(chances), allowed)
    return PrivacyCurve.of(Hidden(tuple(chances.tolist()), tuple((shifts / deviation).tolist()), unit))


@own_errstate
def from_renyi(order: ArrayLike, divergence: ArrayLike, *, unit: str = "") -> PrivacyCurve:
    """The curve that Renyi divergences guarantee: at most `divergence` (nats) at each `order` > 1, for neighbours in both orders.

    Only the upper bound of the curve is known. At every epsilon the best order counts; divergences of a composition are
    added first.

    Parameters
    ----------
    order, divergence : array_like, shape (n,)
        Orders above 1, and an upper bound at each, in nats; inf where nothing is known.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> orders = np.array([2.0, 4.0, 8.0, 16.0, 32.0])
    >>> ten = from_renyi(orders, orders / 200).compose(10)
    >>> round(float(ten.epsilon(1e-5)), 3), round(float(gaussian(0.1).compose(10).epsilon(1e-5)), 3)
    (1.318, 1.199)
    """
    table = real("order", order, "(1, 1e9]"), real("divergence", divergence, "[0, inf]")
    if any(each.ndim != 1 for each in table):
        raise ParameterError("order", checks.array_text(table[0]), "a vector of orders, and a divergence for each")
    return PrivacyCurve.of(RenyiBound(tuple(table[0].tolist()), tuple(table[1].tolist()), unit))


@own_errstate
def dp_sgd(
    noise_multiplier: float,
    sampling_rate: float,
    steps: int,
    *,
    adjacency: Literal["add-remove", "replace"] = "add-remove",
) -> PrivacyCurve:
    """The curve of DP-SGD: `steps` Gaussian releases, each of a fresh Poisson sample of rate `sampling_rate`.

    The noise of a step is `noise_multiplier` times the clipping norm. Adjacency: one record is added or removed, or
    becomes another one.

    Parameters
    ----------
    noise_multiplier : float
        In [0, inf].
    sampling_rate : float
        In [0, 1].
    steps : int
        At least 0.
    adjacency : {"add-remove", "replace"}
        What neighbours differ in.

    Examples
    --------
    >>> round(float(dp_sgd(1.0, 0.01, 1000).epsilon(1e-6)), 3)
    2.125
    >>> round(float(dp_sgd(1.0, 0.01, 1000, adjacency="replace").epsilon(1e-6)), 3)
    3.214
    """
    sigma = checks.scalar("noise_multiplier", noise_multiplier, "[0, inf]")
    p, count = checks.scalar("sampling_rate", sampling_rate, "[0, 1]"), checks.count("steps", steps, "[0, inf)")
    return subsampled(PrivacyCurve.of(Gaussian.of_noise(sigma, ADDED)), p, adjacency=adjacency).compose(count)


@own_errstate
def discrete_pair(p: ArrayLike, q: ArrayLike, *, unit: str = "") -> PrivacyCurve:
    """The curve of two laws on the same outcomes.

    Parameters
    ----------
    p, q : array_like, shape (n,)
        Probability of each outcome under either law.
    unit : str, optional
        What neighbours differ in, such as "one record is replaced"; open by default.

    Examples
    --------
    >>> round(discrete_pair([0.75, 0.25], [0.25, 0.75]).advantage(), 6)
    0.5
    """
    return PrivacyCurve.of(discrete(p, q, unit))


@own_errstate
def subsampled(
    curve: PrivacyCurve | float,
    p: float,
    *,
    replacement: bool | None = None,
    adjacency: Literal["add-remove", "replace"] = "add-remove",
) -> PrivacyCurve:
    """The curve of a release that happens with probability `p`, unseen by the observer, against no release.

    A number in place of `curve` is the mu of a Gaussian release. Several Gaussian releases of one sample are one. A
    sample that other releases use several times needs another analysis.

    Parameters
    ----------
    curve : PrivacyCurve or float
        With `replacement` None the release against no release. With False it compares samples that differ in one
        record, and has to be the same in both orders: for a sum of records of norms up to C with noise of deviation sigma,
        mu is 2 C / sigma. A Poisson sample where one record is replaced is known of Gaussian releases alone, against none.
    p : float
        In [0, 1]. Probability, or share of the records that a sample of fixed size takes (of the larger data set).
    replacement : bool, optional
        None for a Poisson sample, False for a sample of fixed size without replacement. True is refused: no pair is
        proved to dominate.
    adjacency : {"add-remove", "replace"}
        What neighbours differ in.

    Notes
    -----
    *Poisson, replace.* Given the sample of the other records, whose law is the same for both data sets, the sum is one of
    two means with the record absent or of the record x, and absent or of x'. Of vectors up to C these are dominated by
    opposite ones (:class:`~airtight.analytics.privacy.mechanisms.gaussian.Hidden`), which are attained.

    *Fixed size, add-remove.* Let S be m - 1 of the other records and y a further one: the laws are the
    means over S and y of pM(S, x) + (1-p)M(S, y) and of M(S, y). Divergences are jointly convex, and those of such a
    mixture grow with the divergence of (M(S, x), M(S, y)), which the curve dominates: in both orders, as either record may be
    x. It is attained where all other records are the opposite of x.

    Examples
    --------
    >>> round(float(subsampled(1.0, 0.01).compose(1000).epsilon(1e-6)), 3)
    2.125
    >>> fixed = subsampled(2.0, 0.01, replacement=False, adjacency="replace").compose(1000)
    >>> [round(float(end), 2) for end in fixed.bracket(delta=1e-6)]
    [15.48, 16.96]
    """
    inner = curve if isinstance(curve, PrivacyCurve) else gaussian(curve)
    neighbours = choice("adjacency", adjacency, Neighbours)
    if replacement is None:
        if REPLACED in inner.unit or (neighbours is Neighbours.REPLACE and inner.unit not in ("", ADDED)):
            raise ParameterError("curve", inner.unit, "a curve of one record against none, for a Poisson sample")
        sample = Subsampled.of(inner.factors, p, "curve")
        if neighbours is Neighbours.ADD_REMOVE:
            return PrivacyCurve.of(sample)
        if not isinstance(sample.release, Gaussian):
            allowed = 'Gaussian releases against none, for a Poisson sample with "replace"'
            raise ParameterError("curve", sample.release.constructor, allowed)
        if sample.release.mu == np.inf:  # whoever is sampled is seen
            return PrivacyCurve.of(Approximate(0.0, sample.p, REPLACED))
        return PrivacyCurve.of(of_sampled_records(sample.release, sample.p, 1, REPLACED, replaced=True))
    if flag("replacement", replacement):
        allowed = "None (Poisson) or False: no pair is proved to dominate draws with replacement"
        raise ParameterError("replacement", replacement, allowed)
    if inner.unit not in ("", REPLACED) or (inner.unit and neighbours is Neighbours.ADD_REMOVE):
        raise ParameterError("curve", inner.unit, "a curve of samples that differ in one record, with its unit left open")
    release = Subsampled.of(inner.factors, p, "curve").release
    if neighbours is Neighbours.ADD_REMOVE:
        return PrivacyCurve.of(Subsampled(of_neighbours(release, ADDED), p, fixed_size=True))
    return PrivacyCurve.of(FixedSizeSampled(of_neighbours(release, REPLACED), p))


def _line(delta: FloatArray, product: FloatArray) -> FloatArray:
    r""":math:`1 - \delta - \lambda\alpha`, given the product, less a bound of its rounding errors.

    Where the result is not negative no term exceeds 1, so that the product and its exponential err by at most two units,
    and the three differences by half a unit each. Where nothing is subtracted the result is 1.
    """
    return np.asarray(1 - delta - product - np.where((product > 0) | (delta > 0), 4 * UNIT, 0.0))


def _highest(delta: FloatArray, fall: FloatArray, alpha: FloatArray) -> FloatArray:
    """The greatest at each alpha of the lines 1 - delta - fall alpha, which fall ever faster; infinitely steep ones count
    at 0 only."""
    start, finite = 1 - delta, np.flatnonzero(fall < np.inf)
    highest_line = _line(np.asarray(np.min(delta)), np.zeros(()))
    if not finite.size:
        return np.where(alpha > 0, 0.0, highest_line)
    hull = finite[concave_hull_indices(fall[finite], start[finite])]
    delta, start, fall = delta[hull], start[hull], fall[hull]
    best = (
        np.searchsorted(-np.diff(start) / np.diff(fall), -alpha) if start.size > 1 else np.zeros(alpha.shape, dtype=int)
    )
    return np.where(alpha > 0, _line(delta[best], fall[best] * alpha), highest_line)


def concave_hull_indices(x: FloatArray, y: FloatArray) -> NDArray[np.int64]:
    """Indices of points on the concave hull from above, x increasing: points below a chord of their neighbours are left out."""
    kept = np.arange(x.size)
    while kept.size > 2:
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.diff(y[kept]) / np.diff(x[kept])
        inside = slope[:-1] > slope[1:]
        if np.all(inside):
            break
        kept = kept[np.concatenate([[True], inside, [True]])]
    return kept
