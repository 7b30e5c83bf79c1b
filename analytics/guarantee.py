"""The meaning of a pair (epsilon, delta): its adjacency, its observer, and the guarantee for every device."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airtight.analytics.checks import FloatArray
from airtight.analytics.records import Record


class Adjacency(StrEnum):
    """The neighbour of the data set in which device k is present with its feature.

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


class Observer(StrEnum):
    """What the server sees besides the received signal y; the docs' page on observers has the theorems.

    ============ ============================================================================================
    value        what it sees
    ============ ============================================================================================
    participants who takes part, device k included
    others       who of the others takes part; the participation of k itself is hidden
    signal       nothing more, as the server of the papers; epsilon is an interval, and its upper end a guarantee
    auto         the default: `participants` for ``silent`` and ``replace``, `others` for ``absent`` and idle noise
    ============ ============================================================================================

    An epsilon for `participants` holds for `others`, and one for `others` holds for `signal`, because each sees less.
    """

    PARTICIPANTS = "participants"
    OTHERS = "others"
    SIGNAL = "signal"
    AUTO = "auto"


@dataclass(frozen=True, eq=False)
class Guarantee(Record):
    """(epsilon_k, delta_k)-feature differential privacy of each device, under a named adjacency.

    Attributes
    ----------
    epsilon, delta : ndarray, shape (K,)
        ``epsilon`` is infinite where no privacy is claimed.
    adjacency : Adjacency
        The neighbours for which the pair holds.
    """

    epsilon: FloatArray
    delta: FloatArray
    adjacency: Adjacency
