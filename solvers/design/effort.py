"""How much a design may cost, counted in evaluations: the same on every machine, at any load."""

from __future__ import annotations

DEFAULT = 100_000


class Spent(Exception):
    """Ends a search in the middle; never leaves the package."""


class Effort:
    """Evaluations that are left to all searches of one design.

    One is the test of a box, or of a point, whose epsilon has a closed form; what takes longer counts as several,
    by fixed numbers.

    Examples
    --------
    >>> effort = Effort(100)
    >>> part = effort.part(1 / 4)
    >>> part.spend(30)
    >>> part.out, effort.left
    (True, 70)
    """

    def __init__(self, evaluations: int, whole: Effort | None = None) -> None:
        self.left, self.whole = evaluations, whole

    @property
    def out(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    def spend(self, evaluations: int) -> None:
        """Count evaluations, here and in the whole that this is a part of."""
        self.left -= evaluations
        if self.whole is not None:
            self.whole.spend(evaluations)

    def part(self, share: float) -> Effort:
        """A share of what is left, at least one evaluation."""
        return Effort(max(int(self.left * share), 1), self)
