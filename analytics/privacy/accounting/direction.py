"""One direction of a privacy curve, (P, Q) or (Q, P): its upper and its lower bound."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from airtight.analytics.checks import FloatArray
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.accounting.numerical_composition import WIDTH, Composed
from airtight.analytics.privacy.mechanisms.mechanism import Factors, Mechanism

_FIRST_LEVEL = 1e-6  # delta about which a curve is first computed when it is not given
_FALLEN = 1e-2  # computed again where it is below this share of that
_LEAST_LEVEL = 1e-300
_TRADED = 1e-12  # delta to which a curve is known where absolute accuracy is asked for


@dataclass(frozen=True)
class Order:
    """Independent releases, each `count` times, in one order throughout.

    A release may stand for a family of pairs, of which the greatest curve is asked for: then what dominates all of it
    (:meth:`~airtight.analytics.privacy.mechanisms.mechanism.Mechanism.dominating`) is composed for the upper end, and one
    pair of it, the same in all releases (:meth:`~airtight.analytics.privacy.mechanisms.mechanism.Mechanism.attained`),
    for the lower.
    """

    factors: Factors
    reverse: bool = False
    _made: dict[tuple[str, float], list[Composed]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def symmetric(self) -> bool:
        """Whether the other order has the same curve."""
        return all(release.symmetric for release, _ in self.factors)

    @property
    def curved(self) -> bool:
        """Whether the curve is that of at most one release, and at hand."""
        return len(self.factors) <= 1 and all(count == 1 for _, count in self.factors)

    def delta(self, epsilon: float, width: float = WIDTH) -> tuple[float, float]:
        """Both ends of delta at epsilon >= 0."""
        if self._of_pairs:
            return self._above(1.0).delta(epsilon, width)
        level = _FIRST_LEVEL
        high = self._above(level).delta(epsilon, width)[1]
        while high < _FALLEN * level and level > _LEAST_LEVEL:
            level = max(high, level * 1e-60, _LEAST_LEVEL)
            high = min(self._above(level).delta(epsilon, width)[1], high)
        low = max(one.delta(epsilon, width)[0] for one in self._below(max(high, _LEAST_LEVEL)))
        return min(low, high), high

    def epsilon(self, delta: float, width: float = WIDTH, floor: float = 0.0) -> tuple[float, float]:
        """Both ends of the least epsilon >= 0 at delta >= 0; as they come where it is below the floor."""
        if self._of_pairs:
            return self._above(1.0).epsilon(delta, width, floor)
        if delta >= 1:
            return 0.0, 0.0
        level = max(delta, _LEAST_LEVEL)
        above = Composed(self.factors, self.reverse) if delta == 0 else self._above(level)
        high = above.epsilon(delta, width)[1]
        return min(max(one.epsilon(level, width)[0] for one in self._below(level)), high), high

    def reached(self, epsilon: float, low: float, high: float, width: float = WIDTH) -> bool:
        """Whether both ends of delta at epsilon are as near each other as `width` of epsilon amounts to."""
        return self._above(_FIRST_LEVEL).reached(epsilon, low, high, width)

    def law(self, step: float, *, pessimistic: bool) -> LossDistribution:
        """The total loss on multiples of the step, above the truth or below it, to absolute accuracy."""
        chosen = self._above(_TRADED) if pessimistic else self._below(_TRADED)[0]
        return chosen.law(step, pessimistic=pessimistic)

    def breaks(self) -> tuple[FloatArray, FloatArray]:
        """Real epsilons and a delta at each, nowhere below the truth, to absolute accuracy."""
        return self._above(_TRADED).breaks()

    @property
    def _of_pairs(self) -> bool:
        return all(release.pair for release, _ in self.factors)

    def _above(self, level: float) -> Composed:
        (found,) = self._composed("dominating", level)
        return found

    def _below(self, level: float) -> list[Composed]:
        """In both orders if the family has every pair in both and the one that was taken differs."""
        return self._composed("attained", level)

    def _composed(self, bound: str, level: float) -> list[Composed]:
        if (bound, level) not in self._made:
            ends = [(getattr(release, bound)(level / count), count) for release, count in self.factors]
            factors = tuple((part, number * count) for parts, count in ends for part, number in parts)
            found = [Composed(factors, self.reverse)]
            if bound == "attained" and self.symmetric and not all(part.symmetric for part, _ in factors):
                found.append(Composed(factors, not self.reverse))
            self._made[bound, level] = found
        return self._made[bound, level]


def gathered(factors: Factors) -> Factors:
    """With releases of one kind that are again one of that kind together made one."""
    kinds: dict[Hashable, list[tuple[Mechanism, int]]] = {}
    for release, count in factors:
        kinds.setdefault(release.kind, []).append((release, count))
    return tuple(
        one for some in kinds.values() for one in ([some[0][0].composed(tuple(some))] if some[0][0].closed else some)
    )
