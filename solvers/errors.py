"""Errors of the solvers: no feasible design exists, or none was found, or the search was interrupted."""

from __future__ import annotations

from typing import Any

from airtight.analytics.checks import AirtightError


class InfeasibleError(AirtightError, ValueError):
    """It is proved that no design meets the constraints; the message gives the reason.

    Attributes
    ----------
    least_epsilon : float
        The smallest feasible privacy cap; nan when no cap is feasible or the problem has no cap.
    least_deadline : float
        The smallest feasible deadline in seconds; nan when the problem has no deadline.
    """

    def __init__(
        self, message: str, *, least_epsilon: float = float("nan"), least_deadline: float = float("nan")
    ) -> None:
        super().__init__(message)
        self.least_epsilon = least_epsilon
        self.least_deadline = least_deadline

    def __reduce__(self) -> tuple[Any, ...]:
        return _infeasible, (str(self), self.least_epsilon, self.least_deadline)


class NotSettledError(AirtightError):
    """The search used all allowed evaluations without finding a design or proving that none exists.

    A greater effort may do either.

    Attributes
    ----------
    lower_bound : float
        A proved lower bound on the objective of every feasible design; nan where nothing is proved.
    effort : int
        The number of evaluations that was allowed.
    """

    def __init__(self, message: str, *, lower_bound: float = float("nan"), effort: int = 0) -> None:
        super().__init__(message)
        self.lower_bound, self.effort = lower_bound, effort

    def __reduce__(self) -> tuple[Any, ...]:
        return _not_settled, (str(self), self.lower_bound, self.effort)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a search that had found something.

    Attributes
    ----------
    best : JointDesign or Calibration
        The best that was found so far; nothing is proved of others.
    """

    def __init__(self, best: Any) -> None:
        super().__init__("interrupted")
        self.best = best


def _not_settled(message: str, lower_bound: float, effort: int) -> NotSettledError:
    return NotSettledError(message, lower_bound=lower_bound, effort=effort)


def _infeasible(message: str, least_epsilon: float, least_deadline: float) -> InfeasibleError:
    return InfeasibleError(message, least_epsilon=least_epsilon, least_deadline=least_deadline)
