"""The budget of a design in evaluations, which does not depend on the machine or its load."""

from __future__ import annotations

from collections.abc import Callable

from airtight.analytics.inference.system import InferenceSystem

DEFAULT = 100_000  # evaluations


class EffortSpent(Exception):
    """Stops a search whose effort is spent; it is always caught inside the package."""


class Effort:
    """The remaining evaluations of all searches of one design.

    One evaluation is one test of a box or a point with an epsilon in closed form. A slower step counts as a fixed number of
    evaluations.

    Parameters
    ----------
    evaluations : int
        The budget.
    whole : Effort, optional
        The effort of which this one is a part; evaluations are counted there as well.
    spent : callable, optional
        Called with the number of evaluations that are spent, after each step.

    Attributes
    ----------
    best : dict of str to (float, InferenceSystem)
        Of each quantity that was minimised, the best design that kept all limits: what remains of an interrupted search.

    Examples
    --------
    >>> effort = Effort(100)
    >>> part = effort.part(1 / 4)
    >>> part.spend(30)
    >>> part.exhausted, effort.left
    (True, 70)
    """

    def __init__(
        self, evaluations: int, whole: Effort | None = None, spent: Callable[[int], None] = lambda evaluations: None
    ) -> None:
        self.left, self.whole = evaluations, whole
        self._budget, self._spent = evaluations, spent
        self.best: dict[str, tuple[float, InferenceSystem]] = {} if whole is None else whole.best

    @property
    def exhausted(self) -> bool:
        """Whether no evaluations are left; `left` may be negative."""
        return self.left <= 0

    def spend(self, evaluations: int) -> None:
        """Count evaluations here and in the effort of which this one is a part."""
        self.left -= evaluations
        self._spent(self._budget - self.left)
        if self.whole is not None:
            self.whole.spend(evaluations)

    def met(self, goal: str, value: float, system: InferenceSystem) -> None:
        """Remember a design that keeps all limits, if it is the best so far."""
        if goal not in self.best or value < self.best[goal][0]:
            self.best[goal] = value, system

    def part(self, share: float) -> Effort:
        """An effort with a share of the remaining evaluations, at least one."""
        return Effort(max(int(self.left * share), 1), self)
