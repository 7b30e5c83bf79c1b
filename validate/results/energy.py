"""The results of ``bounds`` and ``solve energy`` for a fleet: limits of each device, and its best plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers.energy import proved
from airtight.solvers.energy.utility import EnergySolution

_LARGEST_PROVED = 10_000  # devices of the largest fleet whose gaps are proved in ball arithmetic


@dataclass(frozen=True, kw_only=True)
class DeviceBounds:
    """Limits of one device by its channel and its deadline.

    Attributes
    ----------
    gain : float
        SNR divided by the SNR gap, per W of power, 1/W.
    path_loss_factor : float
    min_power : float
        Smallest power that keeps the deadline, W.
    max_iterations : float
    least_deadline : float
        Smallest deadline that the device can keep, s.
    feasible : bool
    """

    gain: float
    path_loss_factor: float
    min_power: float
    max_iterations: float
    least_deadline: float
    feasible: bool

    @classmethod
    def of(cls, fleet: DeviceFleet) -> list[DeviceBounds]:
        """The limits of every device."""
        return [cls(**row) for row in _rows(cls, fleet)]


@dataclass(frozen=True, kw_only=True)
class Theorem2:
    """The plan of the published solution for one device.

    Attributes
    ----------
    iterations, power, utility : float
        power in W; nan where the theorem's equation has no root.
    gap : float
        Proved: no feasible plan has a utility above ``utility + gap``.
    """

    iterations: float
    power: float
    utility: float
    gap: float


@dataclass(frozen=True, kw_only=True)
class EnergyCertificate:
    """Certificate that no feasible plan has a utility above ``utility + gap``.

    Attributes
    ----------
    gap : float
        Computed in double precision.
    proved_gap : float, optional
        Proved in ball arithmetic (:mod:`airtight.solvers.energy.proved`); infinite where nothing is proved, absent
        for large fleets and without python-flint.
    """

    gap: float
    proved_gap: float | None = None


@dataclass(frozen=True, kw_only=True)
class EnergyResult:
    """The plan of greatest utility for one device.

    Attributes
    ----------
    iterations, power, rate : float
        Power in W, rate in bit/s.
    transmit_time, compute_time, slack : float
        Times in s.
    energy, utility : float
        Energy in J.
    case : str
        The constraints that hold with equality.
    certificate : EnergyCertificate
    published : Theorem2
    """

    iterations: float
    power: float
    rate: float
    transmit_time: float
    compute_time: float
    slack: float
    energy: float
    utility: float
    case: str
    certificate: EnergyCertificate
    published: Theorem2

    @classmethod
    def of(cls, found: EnergySolution, printed: EnergySolution, fleet: DeviceFleet | None = None) -> list[EnergyResult]:
        """The result of every device: our solution `found` and the published one; with `fleet`, its gaps are proved."""
        gaps = zip(found.gap.tolist(), _proved_gaps(fleet, found), strict=True)
        certificates = (EnergyCertificate(gap=gap, proved_gap=proven) for gap, proven in gaps)
        theorem = (Theorem2(**row) for row in _rows(Theorem2, printed))
        return [
            cls(**row, certificate=certificate, published=printed_plan)
            for row, certificate, printed_plan in zip(_rows(cls, found), certificates, theorem, strict=True)
        ]


def _proved_gaps(fleet: DeviceFleet | None, found: EnergySolution) -> list[float] | list[None]:
    """Proved gaps; None where they are not asked for, the fleet is large, or python-flint is missing."""
    unproved: list[None] = [None] * found.gap.size
    if fleet is None or found.gap.size > _LARGEST_PROVED:
        return unproved
    try:
        return list(proved.gaps(fleet, found).tolist())
    except ModuleNotFoundError as lacking:
        if error.name != "flint":
            raise
        return unproved


def _rows(kind: type, columns: DeviceFleet | EnergySolution) -> Iterator[dict[str, Any]]:
    """For every device, the fields of the dataclass `kind` that `columns` has."""
    names = [field.name for field in fields(kind) if hasattr(columns, field.name)]
    for row in zip(*(getattr(columns, name).tolist() for name in names), strict=True):
        yield dict(zip(names, row, strict=True))
