"""Results for a fleet: the limits of each device (``bounds``) and its optimal plan (``solve energy``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.solvers.energy import proved_gap
from airtight.solvers.energy.utility import EnergySolution
from airtight.solvers.price import ShadowPrice

_PROVED = 10_000  # devices up to which gaps are proved in ball arithmetic


@dataclass(frozen=True, kw_only=True)
class DeviceBounds:
    """Limits of one device by channel and deadline.

    Attributes
    ----------
    gain : float
        SNR over the gap for each W of power, 1/W.
    path_loss_factor : float
    min_power : float
        W.
    max_iterations : float
    least_deadline : float
        s.
    feasible : bool
    """

    UNITS: ClassVar[dict[str, str]] = {"gain": "1/W", "min_power": "W", "least_deadline": "s"}

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
    """The published solution for one device.

    Attributes
    ----------
    iterations, power, utility : float
        power in W; nan where the theorem's equation has no root.
    gap : float
        Proved: no feasible choice has a utility above ``utility + gap``.
    """

    UNITS: ClassVar[Mapping[str, str]] = EnergySolution.UNITS

    iterations: float
    power: float
    utility: float
    gap: float


@dataclass(frozen=True, kw_only=True)
class EnergyCertificate:
    """No feasible choice has a utility above ``utility + gap``.

    Attributes
    ----------
    gap : float
        Gap in double precision.
    proved_gap : float, optional
        Gap in ball arithmetic (:mod:`airtight.solvers.energy.proved_gap`); infinite where nothing is proved, absent
        for large fleets and without python-flint.
    """

    gap: float
    proved_gap: float | None = None


@dataclass(frozen=True, kw_only=True)
class DeadlinePrice:
    """What the best plan changes by for a second more of the deadline.

    Attributes
    ----------
    energy, utility : ShadowPrice
        W, and 1/s.
    """

    energy: ShadowPrice
    utility: ShadowPrice

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        return {**self.energy.tidy(), **self.utility.tidy()}


@dataclass(frozen=True, kw_only=True)
class EnergyResult:
    """The optimal plan of one device.

    Attributes
    ----------
    iterations, power, rate : float
        power in W, rate in bit/s.
    transmit_time, compute_time, slack : float
        s.
    energy, utility : float
        energy in J.
    case : str
        Names the constraints that hold with equality.
    certificate : EnergyCertificate
    published : Theorem2
    price : DeadlinePrice
    """

    UNITS: ClassVar[Mapping[str, str]] = EnergySolution.UNITS

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
    price: DeadlinePrice

    @classmethod
    def of(cls, found: EnergySolution, printed: EnergySolution, fleet: DeviceFleet | None = None) -> list[EnergyResult]:
        """The plan of every device beside the published solution; with `fleet` the gaps are proved in ball arithmetic."""
        gaps = zip(found.gap.tolist(), _proved(fleet, found), strict=True)
        certificates = (EnergyCertificate(gap=gap, proved_gap=proven) for gap, proven in gaps)
        theorem = (Theorem2(**row) for row in _rows(Theorem2, printed))
        prices = (found.prices.of(k) for k in range(found.gap.size))
        return [
            cls(**row, certificate=certificate, published=theorem_2, price=DeadlinePrice(energy=energy, utility=utility))
            for row, certificate, theorem_2, (energy, utility) in zip(
                _rows(cls, found), certificates, theorem, prices, strict=True
            )
        ]


def _proved(fleet: DeviceFleet | None, found: EnergySolution) -> list[float] | list[None]:
    unproved: list[None] = [None] * found.gap.size
    if fleet is None or found.gap.size > _PROVED:
        return unproved
    try:
        return list(proved_gap.gaps(fleet, found).tolist())
    except ModuleNotFoundError as error:
        if error.name != "flint":
            raise
        return unproved


def _rows(kind: type, columns: DeviceFleet | EnergySolution) -> Iterator[dict[str, Any]]:
    """One object for each device, from the arrays that are named like the fields of `kind`."""
    names = [field.name for field in fields(kind) if hasattr(columns, field.name)]
    for row in zip(*(getattr(columns, name).tolist() for name in names), strict=True):
        yield dict(zip(names, row, strict=True))
