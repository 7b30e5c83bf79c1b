"""The meaning of a number: published, proven or exact; and of a pair (epsilon, delta): adjacency, observer, guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias, assert_never

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.records import Record


class Face(StrEnum):
    """The face of a quantity: the formula of the paper, a proven bound, or the quantity itself."""

    PUBLISHED = "published"
    PROVEN = "proven"
    EXACT = "exact"


class Adjacency(StrEnum):
    """What the receiver gets from device k in the neighbouring case; in the other case k sends its signal and its noise.

    ======== ===================================== ======================================================
    value    the neighbour sends                   sensitivity of the received signal
    ======== ===================================== ======================================================
    absent   neither its signal nor its noise      gamma w_k C_k, and the noise variance drops by
                                                   gamma^2 sigma_k^2
    silent   no signal, but its noise              gamma w_k C_k
    replace  another clipped signal, and its noise 2 gamma w_k C_k
    ======== ===================================== ======================================================

    ``absent`` is the adjacency of FDP Theorem 1, whose proof compares y with "the output when device k does not
    participate".
    """

    ABSENT = "absent"
    SILENT = "silent"
    REPLACE = "replace"


AdjacencyName: TypeAlias = Adjacency | Literal["absent", "silent", "replace"]


class Observer(StrEnum):
    """What the server sees besides the received signal y; the documentation page on observers has the theorems.

    ============ ============================================================================================
    value        what the observer sees
    ============ ============================================================================================
    participants which devices take part, device k included
    others       which of the other devices take part; whether k does is hidden
    signal       nothing more, as in the papers; epsilon is then an interval, and a guarantee uses its upper bound
    auto         `others` for ``absent`` or with idle noise, else `participants`
    ============ ============================================================================================

    An observer who sees more has an epsilon at least as great: an epsilon against `participants` also holds against `others`, and
    one against `others` also holds against `signal`.
    """

    PARTICIPANTS = "participants"
    OTHERS = "others"
    SIGNAL = "signal"
    AUTO = "auto"

    @property
    def sees_device(self) -> bool:
        """Whether the observer sees if device k itself takes part."""
        match self:
            case Observer.PARTICIPANTS:
                return True
            case Observer.OTHERS | Observer.SIGNAL:
                return False
            case Observer.AUTO:
                raise ParameterError("observer", "auto", "participants, others or signal: auto depends on the system")
        assert_never(self)

    @property
    def sees_others(self) -> bool:
        """Whether the observer sees which of the other devices take part."""
        match self:
            case Observer.PARTICIPANTS | Observer.OTHERS | Observer.AUTO:
                return True
            case Observer.SIGNAL:
                return False
        assert_never(self)

    @property
    def seeing_others(self) -> Observer:
        """This observer, who sees also which of the other devices take part."""
        return self if self.sees_others else Observer.OTHERS


ObserverName: TypeAlias = Observer | Literal["participants", "others", "signal", "auto"]


@dataclass(frozen=True, eq=False)
class Guarantee(Record):
    """(epsilon_k, delta_k)-feature differential privacy of each device under a given adjacency.

    Attributes
    ----------
    epsilon, delta : ndarray, shape (K,)
        ``epsilon`` is infinite where no privacy is claimed.
    adjacency : Adjacency
        The adjacency for which the pair holds.
    """

    epsilon: FloatArray
    delta: FloatArray
    adjacency: Adjacency
