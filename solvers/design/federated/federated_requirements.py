"""Requirements of a CorBin-FL design."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError


class Goal(StrEnum):
    """The minimised quantity: worst mean squared error of a parameter of the mean, epsilon of one uplink, or bits."""

    ERROR = "error"
    EPSILON = "epsilon"
    BITS = "bits"


class Free(StrEnum):
    """The variables that a design may change."""

    EPSILON = "epsilon"
    SHARED_BITS = "shared_bits"


@dataclass(frozen=True, kw_only=True)
class FederatedRequirements:
    """The table [design] of a file without [inference].

    Attributes
    ----------
    minimise : Goal
    epsilon_at_most : float, optional
        Epsilon of one parameter of one uplink.
    error_at_most : float, optional
        The proven worst mean squared error of one parameter of the mean, over all updates.
    bits_at_most : int, optional
        Transmitted bits of one client in one round, with shared randomness under a stream cipher.
    free : tuple of Free
        The variables that the design may change.
    """

    minimise: Goal = Goal.ERROR
    epsilon_at_most: float | None = None
    error_at_most: float | None = None
    bits_at_most: int | None = None
    free: tuple[Free, ...] = tuple(Free)

    def __post_init__(self) -> None:
        object.__setattr__(self, "minimise", checks.choice("minimise", self.minimise, Goal))
        names = [checks.choice("free", name, Free) for name in self.free]
        if not names:
            raise ParameterError("free", [], f"at least one of {', '.join(Free)}")
        object.__setattr__(self, "free", tuple(dict.fromkeys(names)))
        for name, interval in (("epsilon_at_most", "(0, inf)"), ("error_at_most", "(0, inf)")):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, checks.scalar(name, value, interval))
        if self.bits_at_most is not None:
            object.__setattr__(self, "bits_at_most", checks.count("bits_at_most", self.bits_at_most))
        needed = "epsilon_at_most" if self.minimise is Goal.ERROR else "error_at_most"
        if getattr(self, needed) is None and Free.EPSILON in self.free:
            raise ParameterError(
                needed, "absent", f"given where {self.minimise} is minimised: otherwise epsilon has no limit"
            )
