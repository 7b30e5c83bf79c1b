"""What a solver raises when there is no design, or none is known."""

from __future__ import annotations

from typing import Any

from airtight.analytics.checks import AirtightError


class InfeasibleError(AirtightError, ValueError):
    """No design meets the constraints: proved, and the message says by what.

    Attributes
    ----------
    least_epsilon : float
        The smallest cap that would be feasible; nan when none is, or the problem has no cap.
    least_deadline : float
        The smallest deadline (s) that would be feasible; nan when the problem has none.
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
    """The effort was spent before a design was found or excluded; a greater effort may do either.

    Attributes
    ----------
    lower_bound : float
        What no design that keeps the constraints goes below, as far as it is proved; nan where nothing is.
    effort : int
        Evaluations that were allowed.
    """

    def __init__(self, message: str, *, lower_bound: float = float("nan"), effort: int = 0) -> None:
        super().__init__(message)
        self.lower_bound, self.effort = lower_bound, effort

    def __reduce__(self) -> tuple[Any, ...]:
        return _not_settled, (str(self), self.lower_bound, self.effort)


def _not_settled(message: str, lower_bound: float, effort: int) -> NotSettledError:
    return NotSettledError(message, lower_bound=lower_bound, effort=effort)


def _infeasible(message: str, least_epsilon: float, least_deadline: float) -> InfeasibleError:
    return InfeasibleError(message, least_epsilon=least_epsilon, least_deadline=least_deadline)
