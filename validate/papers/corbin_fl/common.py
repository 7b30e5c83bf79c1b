"""What the modules on central privacy share."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import Any

from analytics.privacy import aggregation
from validate.claims.claim import Range

PAPER = "corbin-fl"
LOCAL = Range(0.05, 4.0, logarithmic=True)
_UNSEEN = 1e-30  # delta of which nothing is trimmed


def hockey_stick(p: dict[int, Any], q: dict[int, Any], odds: Any) -> Any:
    """Divergence of two laws on the integers."""
    return sum((max(mass - odds * q.get(place, 0), 0 * mass) for place, mass in p.items()), 0 * odds)


def lattice(outputs: list[Any]) -> dict[int, Any]:
    """Law of the sum of outputs +-1 with the given probabilities of +1."""
    law: dict[int, Any] = {0: 1}
    for q in outputs:
        step: dict[int, Any] = defaultdict(int)
        for place, mass in law.items():
            step[place + 1] += mass * q
            step[place - 1] += mass * (1 - q)
        law = step
    return dict(law)


@lru_cache(maxsize=4096)
def one_parameter(others: int, epsilon: float, client: str, bits: int | None, move: float) -> Any:
    """The envelope of :func:`analytics.privacy.aggregation.one_parameter`, untrimmed."""
    return aggregation.one_parameter(others, epsilon=epsilon, client=client, bits=bits, move=move, delta=_UNSEEN)
