"""One order of a privacy curve, that of (P, Q) or that of (Q, P): its upper and lower bound."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.accounting.numerical_composition import WIDTH, Composed
from airtight.analytics.privacy.mechanisms.mechanism import Factors, Mechanism

_FIRST_LEVEL = 1e-6  # order of magnitude of delta that is assumed first when delta is to be computed
_FALLEN = 1e-2  # delta is computed again, at its own order of magnitude, if it is below this share of the assumed one
_LEAST_LEVEL = 1e-300  # least order of magnitude of delta
_TRADED = 1e-12  # order of magnitude of delta where only absolute accuracy is needed


@dataclass(frozen=True)
class Order:
    """Independent releases, each `count` times, all in the same order.

    A release may stand for a family of pairs; then the result is the greatest curve of the family. For the upper bound,
    what dominates the whole family (:meth:`~airtight.analytics.privacy.mechanisms.mechanism.Mechanism.dominating`) is
    composed. For the lower bound, one pair of the family, the same in all releases, is composed
    (:meth:`~airtight.analytics.privacy.mechanisms.mechanism.Mechanism.attained`).
    """

    factors: Factors
    reverse: bool = False
    _made: dict[tuple[str, float], list[Composed]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def symmetric(self) -> bool:
        """Whether (Q, P) has the same curve as (P, Q)."""
        return all(release.symmetric for release, _ in self.factors)

    @property
    def curved(self) -> bool:
        """Whether there is at most one release, used once, so that the curve needs no composition."""
        return len(self.factors) <= 1 and all(count == 1 for _, count in self.factors)

    def delta(self, epsilon: float, width: float = WIDTH) -> tuple[float, float]:
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

    def epsilon(self, delta: float, width: float = WIDTH, floor: float = 0.0) -> tuple[float, float]:
        """Lower and upper bound of the least epsilon >= 0 at delta >= 0; they are not narrowed below the floor."""
        if self._of_pairs:
            return self._above(1.0).epsilon(delta, width, floor)
        if delta >= 1:
            return 0.0, 0.0
        level = max(delta, _LEAST_LEVEL)
        above = Composed(self.factors, self.reverse) if delta == 0 else self._above(level)
        high = above.epsilon(delta, width)[1]
        return min(max(composed.epsilon(level, width)[0] for composed in self._below(level)), high), high

    def reached(self, epsilon: float, low: float, high: float, width: float = WIDTH) -> bool:
        """Whether the bounds of delta at epsilon are as close as a relative distance `width` of epsilon implies."""
        return self._above(_FIRST_LEVEL).reached(epsilon, low, high, width)

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

    def _above(self, level: float) -> Composed:
        (composed,) = self._composed("dominating", level)
        return composed

    def _below(self, level: float) -> list[Composed]:
        """Compositions for the lower bound; in both orders if the family, but not the chosen pair, is symmetric."""
        return self._composed("attained", level)

    def _composed(self, bound: str, level: float) -> list[Composed]:
        """Compositions of the mechanisms that bound the releases, for a delta of the order of magnitude of `level`."""
        if (bound, level) not in self._made:
            bounding = [(getattr(release, bound)(level / count), count) for release, count in self.factors]
            factors = tuple(
                (mechanism, repetitions * count)
                for mechanisms, count in bounding
                for mechanism, repetitions in mechanisms
            )
            compositions = [Composed(factors, self.reverse)]
            if bound == "attained" and self.symmetric and not all(mechanism.symmetric for mechanism, _ in factors):
                compositions.append(Composed(factors, not self.reverse))
            self._made[bound, level] = compositions
        return self._made[bound, level]


def gathered(factors: Factors) -> Factors:
    """The factors, with all releases of one kind merged into one if that kind is closed under composition."""
    factors_by_kind: dict[Hashable, list[tuple[Mechanism, int]]] = {}
    for release, count in factors:
        factors_by_kind.setdefault(release.kind, []).append((release, count))
    return tuple(
        factor
        for same_kind in factors_by_kind.values()
        for factor in ([same_kind[0][0].composed(tuple(same_kind))] if same_kind[0][0].closed else same_kind)
    )
