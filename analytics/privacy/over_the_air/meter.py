r"""A meter for a fleet: rounds as they happened, and a halt before a device's budget is overspent.

Three kinds of rounds have a filter, that is a rule of halting whose budget, fixed beforehand, is a guarantee.

**Gaussian rounds** (theorem M2 of docs/rounds.md). Rolls are seen by the server and drawn independently of all data; neighbours
are ``silent`` or ``replace``. Round t then is a Gaussian release with
:math:`\mu_t = |x - x'|_{\max}/\sqrt{v_k(S_t) + \sigma_k^2}` by clip bounds. If a round is refused whenever
:math:`\sum\mu_t^2` would exceed :math:`\mu_B^2`, everything released is at most as distinguishable as one Gaussian release
of :math:`\mu_B`, however adaptively the parameters of the rounds are chosen. Gaussian curves and their compositions add up in
the same way.

**Releases declared beforehand** (theorem M3). A declared curve and its count may be used up by releases that the curve
dominates, in any order, with parameters chosen on the way. All declared curves are composed with that of :math:`\mu_B`.

**Renyi filter** (theorem M3). With one order fixed beforehand, releases of all kinds with a known divergence add up.

**Who may send** (theorem M4). A device that stays away takes its noise along, so that :math:`\mu_k` of the others rises.
The devices that would overspend are removed and all are computed again, until none would. What is left is the greatest
feasible set.

**What is refused.** ``absent``: without the device there is no roll of it to see. Hidden rolls: they may not steer who
sends. A curve that is neither Gaussian nor declared, unless an order is fixed: composing the curves of the path taken and
stopping at the budget is no filter (arXiv:2602.06756). What a meter *reads* on the way is no guarantee either; the budget is.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks, parameters, plots, tidy
from airtight.analytics.checks import AirtightError, FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.channel import moderate
from airtight.analytics.inference.system import InferenceSystem, demand_honest, named_colluders
from airtight.analytics.privacy import meter_log
from airtight.analytics.privacy.accounting import composition_theorems, privacy_curve, renyi
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.over_the_air.multi_antenna.effective_noise import others_noise
from airtight.analytics.progress import counted
from airtight.analytics.records import Record, plain
from airtight.analytics.rounding import SMALLEST, UNIT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHECKED = "airtight-meter-checked-2"
_BISECTIONS = 60
_GREATEST = float(np.finfo(float).max)
_SAME = 1e-9  # by how much, relatively, a log may differ from what is computed: another version or machine rounds otherwise
_SAME_SHARE = 1e-5  # the same for what declared releases leave of a budget, which is searched to 1e-6


class OverspentError(AirtightError, RuntimeError):
    """The round would overspend the budget of a device; nothing was recorded."""


class MeterSummary(TypedDict):
    """Budget, what is spent and left of every device, and what these numbers are; whether a round was allowed."""

    budget_epsilon: FloatArray
    budget_meaning: str
    delta: float
    devices: int
    colluding: int | list[int]
    rounds: int
    unit: str
    spent_epsilon: FloatArray
    spent_meaning: str
    budget: FloatArray
    spent: FloatArray
    left: FloatArray
    allowed: NotRequired[bool]


@dataclass(frozen=True, eq=False, kw_only=True)
class Round:
    """One round of a system over the air, with what the server sees of it.

    Parameters
    ----------
    participants : array_like
        The devices whose roll is to send: K truth values, or indices. Whole numbers are indices, also 0 and 1.
    devices : int
        K.
    noise_variance, weight, clip : array_like, shape (K,) or scalar
        As in :class:`~airtight.analytics.inference.system.InferenceSystem`.
    receiver_noise_variance : float
        At least 0.
    alignment : float
        Over its square the receiver's noise is 0 or between 1e-300 and 1e300.
    adjacency : {"silent", "replace"}
    looks : array_like, shape (K, L), optional
        Coefficients of this round relative to the alignment, real or complex, each 0 or of modulus between 1e-75 and 1e75; one
        look, all of them 1, by default.
    idle_noise : bool
        Whether devices that stay away send their noise all the same.
    separate : bool
        Whether the server receives every message by itself, as in frameworks without superposition or secure aggregation: then
        the noise of the others hides nobody.
    colluding : int or list of int
        Devices that tell the server what they sent: any m < K of the others, the loudest of those that send noise, or these.
        What a named device gives away is counted against the server with the other named ones. A number is refused beside
        `looks`.

    Examples
    --------
    >>> one = Round(participants=[0, 1], devices=3, noise_variance=0.5, weight=0.3, clip=1.0, receiver_noise_variance=0.1)
    >>> one.mu_squared(one.participants).round(6)
    array([0.081818, 0.081818, 0.      ])
    """

    participants: ArrayLike
    devices: int
    noise_variance: ArrayLike
    weight: ArrayLike
    clip: ArrayLike
    receiver_noise_variance: float
    alignment: float = 1.0
    adjacency: Adjacency | str = Adjacency.SILENT
    looks: ArrayLike | None = None
    idle_noise: bool = False
    separate: bool = False
    colluding: int | Sequence[int] = 0

    def __post_init__(self) -> None:
        K = checks.count("devices", self.devices)
        held = {
            "devices": K,
            "participants": checks.subset("participants", self.participants, K),
            "noise_variance": checks.vector("noise_variance", self.noise_variance, K, "[0, inf)"),
            "weight": checks.vector("weight", self.weight, K, "[0, inf)"),
            "clip": checks.vector("clip", self.clip, K, "(0, inf)"),
            "receiver_noise_variance": checks.scalar(
                "receiver_noise_variance", self.receiver_noise_variance, "[0, inf)"
            ),
            "alignment": checks.scalar("alignment", self.alignment, "(0, inf)"),
            "adjacency": checks.choice("adjacency", self.adjacency, Adjacency),
            "colluding": _colluders(self.colluding, K),
        }
        if held["adjacency"] is Adjacency.ABSENT:
            raise ParameterError(
                "adjacency", "absent", "silent or replace: an absent device has no participation to observe"
            )
        for name in ("idle_noise", "separate"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(name, getattr(self, name), "true or false")
        if self.separate and self.looks is not None:
            raise ParameterError("looks", "given", "absent where messages arrive separately")
        if self.looks is not None:
            table = checks.rectangular("looks", self.looks)
            if table.ndim != 2 or table.shape[0] != K or table.size == 0 or table.dtype.kind not in "fciu":
                raise ParameterError("looks", f"array of shape {table.shape}", f"finite numbers of shape ({K}, looks)")
            if isinstance(held["colluding"], int) and held["colluding"]:
                allowed = "0 or a list of devices beside looks: which so many reveal most differs from look to look"
                raise ParameterError("colluding", held["colluding"], allowed)
            held["looks"] = moderate("looks", table)
        for name, value in held.items():
            object.__setattr__(self, name, value)
        _divided(self.receiver_noise_variance, self.alignment)

    def mu_squared(self, present: NDArray[np.bool_]) -> FloatArray:
        """mu_k^2 of every device of the set `present`, rounded up; 0 for devices that send nothing, shape (K,).

        Notes
        -----
        Of the operations below each errs by UNIT / 2 at most, relatively, or by the least double where it underflows. The ratio
        underflows only where the distance is below 4, so that four of the least doubles make up for what is lost there.
        """
        factor = 2.0 if self.adjacency is Adjacency.REPLACE else 1.0
        weight = np.asarray(self.weight)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            distance = np.nextafter(factor * weight * np.asarray(self.clip), np.inf)
            noise = np.minimum(self._hiding_noise(present), _GREATEST) * (1 - 4 * UNIT)
            mu2 = distance / noise * distance * (1 + 8 * UNIT) + 4 * SMALLEST
        return np.where(present & (weight > 0), np.where(np.isnan(mu2), np.inf, mu2), 0.0)

    def _hiding_noise(self, present: NDArray[np.bool_]) -> ArrayLike:
        """v_k + sigma_k^2 of every device, or of all of them, up to a relative error of UNIT.

        Notes
        -----
        At one look m unnamed colluders are the m others that send the most noise (theorem 2 of docs/colluders.md). With the
        noises sorted, what is left is that of those after the (m+1)th, and of the (m+1)th for all but the first m, of the device
        itself for these: the greater of the two.
        """
        sigma2, received = np.asarray(self.noise_variance), _divided(self.receiver_noise_variance, self.alignment)
        if self.separate:
            return np.asarray(sigma2 + received)
        partners = named_colluders(self.colluding, self.devices)
        honest = (np.ones_like(present) if self.idle_noise else present) & ~partners
        if self.looks is not None:
            lower, _ = others_noise(self.looks, noise_variance=sigma2, receiver_noise_variance=received, present=honest)
            return np.asarray(lower + sigma2)
        if isinstance(self.colluding, int) and self.colluding:
            falling = np.sort(sigma2[honest])[::-1]
            rest = _sum([*falling[self.colluding + 1 :].tolist(), received])
            return np.asarray(rest + np.maximum(sigma2, falling[self.colluding] if falling.size > self.colluding else 0.0))
        total = _sum([*sigma2[honest].tolist(), received])  # the others' noise and the device's own: the same sum for all
        return np.where(partners, total + sigma2, total)

    def quieter(self, factor: float) -> Round:
        """The same round with all devices' noise variances multiplied by a factor."""
        return replace(self, noise_variance=np.asarray(self.noise_variance) * factor)

    def to_dict(self) -> dict[str, Any]:
        """The values by name for JSON; participants as indices, equal entries as one number."""

        out: dict[str, Any] = {
            "participants": np.flatnonzero(np.asarray(self.participants)).tolist(),
            "devices": self.devices,
        }
        out |= {name: _plain(getattr(self, name)) for name in ("noise_variance", "weight", "clip")}
        out |= {"receiver_noise_variance": self.receiver_noise_variance, "alignment": self.alignment}
        out |= {"adjacency": Adjacency(self.adjacency).value, "idle_noise": self.idle_noise, "separate": self.separate}
        if self.colluding:
            out["colluding"] = plain(self.colluding)
        if self.looks is not None:
            table = np.asarray(self.looks)
            out["looks"] = table.real.tolist()
            if np.iscomplexobj(table):
                out["looks_imaginary"] = table.imag.tolist()
        return out

    @classmethod
    def of(cls, system: InferenceSystem, participants: ArrayLike, *, looks: ArrayLike | None = None) -> Round:
        """A round of a system over the air, as its rolls fell.

        Examples
        --------
        >>> from airtight.analytics.inference.system import InferenceSystem
        >>> system = InferenceSystem(
        ...     devices=3, participation=0.5, noise_variance=0.5, weight=0.3, clip=1.0, alignment=1.0,
        ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency="silent",
        ... )
        >>> Round.of(system, [0, 2]).mu_squared(np.array([True, False, True])).round(6)
        array([0.081818, 0.      , 0.081818])
        """
        shared = (
            "devices", "noise_variance", "weight", "clip", "receiver_noise_variance", "alignment", "adjacency", "idle_noise",
            "colluding",
        )  # fmt: skip
        return cls(participants=participants, looks=looks, **{name: getattr(system, name) for name in shared})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Round:
        """The round of :meth:`to_dict`, or of the keys of a TOML file."""
        known = {*cls.__dataclass_fields__, "looks_imaginary"}
        for name in values:
            if name not in known:
                value = "a table" if isinstance(values[name], Mapping) else values[name]
                raise ParameterError(name, value, f"absent; a round has {', '.join(sorted(known))}")
        for name in ("participants", "devices", "noise_variance", "weight", "clip", "receiver_noise_variance"):
            if name not in values:
                raise ParameterError(name, None, "given in every round")
        given = dict(values)
        imaginary = given.pop("looks_imaginary", None)
        if imaginary is not None:
            given["looks"] = checks.real("looks", given.get("looks", 0.0)) + 1j * checks.real(
                "looks_imaginary", imaginary
            )
        return cls(**given)


def _colluders(given: int | Sequence[int], devices: int) -> int | tuple[int, ...]:
    """How many devices collude, or which ones, as a system holds it."""
    colluding: int | tuple[int, ...] = parameters.of(InferenceSystem)["colluding"].checked(given)
    demand_honest(colluding, devices)
    return colluding


@lru_cache
def _divided(receiver: float, alignment: float) -> float:
    """The receiver's noise over the square of the alignment, rounded down."""
    exact = Fraction(receiver) / Fraction(alignment) ** 2
    if exact and not 1e-300 <= exact <= 1e300:
        raise ParameterError(
            "alignment", alignment, f"such that {receiver:g} (receiver_noise_variance) over its square is from 1e-300 to 1e300"
        )
    rounded = float(exact)
    return math.nextafter(rounded, 0.0) if rounded > exact else rounded


def _sum(values: list[float]) -> float:
    """The sum, rounded once; the greatest double where it is more than that."""
    try:
        return math.fsum(values)
    except OverflowError:
        return _GREATEST


class Meaning(StrEnum):
    """What a number of the meter is."""

    GUARANTEE = "guarantee"
    OCCURRED = "for the rolls that occurred"
    READING = "reading, no guarantee"


@dataclass(frozen=True, eq=False)
class Reading(Record):
    """What a meter says of one device, and what the number is.

    Attributes
    ----------
    epsilon : float
        At the meter's delta.
    amount : float
        The sum of mu^2 of the Gaussian rounds, or of the Renyi divergences where an order is fixed.
    meaning : Meaning
        The budget is a guarantee. What has been spent is the epsilon for the rolls that occurred if no parameter of a round
        depends on what was released; otherwise it is a reading, no guarantee.
    """

    epsilon: float
    amount: float
    meaning: Meaning


@dataclass(frozen=True, eq=False)
class Plan(Record):
    """How many more rounds like one are possible.

    Attributes
    ----------
    rounds : ndarray, shape (K,)
        For each participant; infinite for the others.
    noise_factor : float or None
        By how much all devices' noise variances must be multiplied for the rounds asked for; 1 where they suffice, infinite where
        no noise does, None where no number was asked for.
    """

    rounds: FloatArray
    noise_factor: float | None


@dataclass
class Meter(tidy.Tabular):
    """The budget of every device, and what has been spent of it.

    Parameters
    ----------
    budget_epsilon : array_like, shape (K,) or scalar
        For all rounds together.
    delta : float
        In (0, 1).
    devices : int
        K.
    fixed : sequence of (PrivacyCurve, int), optional
        Releases of other kinds that are declared beforehand, with their counts; each device takes part in all. They are
        paid for at once.
    order : float, optional
        Above 1: the meter adds Renyi divergences of this order, and takes releases of all kinds without a declaration.
        The price is a greater epsilon: that of one order, which is not the best one for every course of the rounds.
    adaptive : bool
        Whether parameters of rounds may depend on what was released. If not, what has been spent is the epsilon for the rolls
        that occurred; the halt is the same.
    colluding : int or list of int
        The devices with whose help the server may learn no more than the budget: any so many of the others, the same in all
        rounds, or these. Every round has to count the same; a curve is taken as one that holds against them. The budget of a
        named device holds against the server with the other named ones.

    Raises
    ------
    ParameterError
        Also when the declared releases alone exceed a budget, or the budget is below what the order can show.

    Notes
    -----
    The proofs stand in docs/rounds.md. Sums are rounded up after each round, budgets down. A round costs time and memory
    in proportion to K; a round with L looks costs K L^2 besides (K^2 for its certificate).

    Examples
    --------
    >>> meter = Meter(1.0, 1e-5, devices=3)
    >>> one = Round(participants=[0, 1], devices=3, noise_variance=60.0, weight=1.0, clip=1.0, receiver_noise_variance=0.1)
    >>> meter.plan(one).rounds
    array([ 8.,  8., inf])
    >>> for _ in range(8):
    ...     meter.record(one)
    >>> meter.may(one), meter.who(one)
    (False, array([False, False, False]))
    >>> reading = meter.spent(0)
    >>> round(reading.epsilon, 3), str(reading.meaning), meter.guarantee(0).epsilon
    (0.959, 'reading, no guarantee', 1.0)
    """

    budget_epsilon: ArrayLike
    delta: float
    devices: int = field(kw_only=True)
    fixed: Sequence[tuple[PrivacyCurve, int]] = field(default=(), kw_only=True)
    order: float | None = field(default=None, kw_only=True)
    adaptive: bool = field(default=True, kw_only=True)
    colluding: int | Sequence[int] = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.devices = checks.count("devices", self.devices)
        self.colluding = _colluders(self.colluding, self.devices)
        self.budget_epsilon = checks.vector("budget_epsilon", self.budget_epsilon, self.devices, "[0, 1e300]")
        self.delta = checks.scalar("delta", self.delta, "(0, 1)")
        pairs = isinstance(self.fixed, list | tuple) and all(
            isinstance(e, list | tuple) and len(e) == 2 for e in self.fixed
        )
        if not pairs:
            raise ParameterError("fixed", self.fixed, "pairs of a PrivacyCurve and a count")
        self.fixed = tuple((_declared(curve), checks.count("count", count)) for curve, count in self.fixed)
        if not isinstance(self.adaptive, bool):
            raise ParameterError("adaptive", self.adaptive, "true or false")
        self._total = np.zeros(self.devices), np.zeros(self.devices)
        self._left_of_fixed = [count for _, count in self.fixed]
        budgets, inverse = np.unique(self.budget_epsilon, return_inverse=True)
        if self.order is not None:
            self.order = checks.scalar("order", self.order, "(1, inf)")
            if self.fixed:
                raise ParameterError(
                    "fixed", f"{len(self.fixed)} curves", "absent beside an order: the meter takes any curve then"
                )
            self._budget = self._renyi_budget(budgets)[inverse.ravel()]
        elif self.fixed:
            self._budget = np.array([self._gaussian_part(float(each)) for each in budgets])[inverse.ravel()]
        else:
            sigma = np.asarray(gaussian.sigma(budgets, self.delta, sensitivity=1.0))
            self._budget = ((1 - 8 * UNIT) / sigma / sigma)[inverse.ravel()]
        head: dict[str, Any] = {
            "schema": meter_log.SCHEMAS[-1],
            "budget_epsilon": _plain(self.budget_epsilon),
            "delta": self.delta,
            "devices": self.devices,
            "fixed": [[json.loads(curve.to_json()), count] for curve, count in self.fixed],
            "order": self.order,
            "adaptive": self.adaptive,
            "budget": _plain(self._budget),
        }
        if self.colluding:
            head["colluding"] = plain(self.colluding)
        self.lines, self._hash = list[str](), meter_log.START
        self._append(head)

    @property
    def _spent(self) -> FloatArray:
        """What each device has spent, rounded up."""
        total, rest = self._total
        with np.errstate(under="ignore"):
            return np.where(rest > 0, np.nextafter(total, np.inf), total)

    @property
    def _left(self) -> FloatArray:
        """What each device may still spend, rounded down."""
        with np.errstate(under="ignore"):
            return np.maximum(np.nextafter(self._budget - self._spent, -np.inf), 0.0)

    @property
    def unit(self) -> str:
        """What amounts are: sums of mu^2, or Renyi divergences."""
        return "mu^2" if self.order is None else f"Renyi divergence of order {self.order:g}"

    def _renyi_budget(self, epsilon: FloatArray) -> FloatArray:
        """The greatest divergence that implies epsilon at delta, rounded down."""
        a = float(self.order or 0.0)
        price = composition_theorems.renyi_to_epsilon(a, 0.0, delta=self.delta)
        budget = epsilon - price - 64 * UNIT * (epsilon + (abs(np.log(self.delta)) + np.log(a)) / (a - 1) + 1)
        if not np.all(budget >= 0):
            raise ParameterError(
                "order",
                a,
                f"an order at which epsilon = {epsilon[0]:g} leaves something: delta = {self.delta:g} costs {price:.4g}",
            )
        return np.asarray(budget)

    def _gaussian_part(self, epsilon: float) -> float:
        """The greatest mu^2 with which the declared releases and one Gaussian release keep epsilon, rounded down."""
        curves, counts = [curve for curve, _ in self.fixed], [count for _, count in self.fixed]

        def kept(mu: float) -> bool:
            whole = privacy_curve.compose([*curves, privacy_curve.gaussian(mu)], [*counts, 1])
            return bool(whole.epsilon(self.delta) <= epsilon)

        if not float(privacy_curve.compose(curves, counts).epsilon(self.delta)) <= epsilon:
            raise ParameterError("fixed", f"{len(curves)} curves", f"releases that together keep epsilon = {epsilon:g}")
        low, high = 0.0, 1 / float(gaussian.sigma(max(epsilon, 1e-300), self.delta, sensitivity=1.0))
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if high - low <= 1e-6 * high:
                break
            low, high = (middle, high) if kept(middle) else (low, middle)
        return low * low * (1 - 4 * UNIT)

    def who(self, one: Round) -> NDArray[np.bool_]:
        """The greatest set of the participants that keeps all budgets (theorem M4), shape (K,)."""
        self._matched(one)
        present = self._likely(one)
        while True:
            overspending = present & ~self._within(self._after(self._cost(one, present)))
            if not np.any(overspending):
                return present
            present &= ~overspending

    def _likely(self, candidate: Round) -> NDArray[np.bool_]:
        """A set that holds the greatest feasible one, at one look found by sorting instead of one pass after the other.

        There :math:`\\mu_k^2 = s_k^2/V(S)` with one V for all. Devices stay in the order of the V that they need, which is
        s_k^2 over what they have left. A margin of 1e-9 leaves doubtful devices to the passes of :meth:`who`.
        """
        present = np.asarray(candidate.participants).copy()
        other_noise = candidate.looks is not None or candidate.idle_noise or candidate.separate or candidate.colluding
        if other_noise or not np.any(present):
            return present
        sigma2, receiver = np.asarray(candidate.noise_variance), _divided(candidate.receiver_noise_variance, candidate.alignment)
        cost = self._cost(candidate, present)
        total = float(np.sum(sigma2[present])) + receiver
        room = np.maximum(self._budget - self._spent, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            needed = np.where(cost > 0, cost / room * total, 0.0) * (1 - 1e-9)
        order = np.flatnonzero(present)
        order = order[np.argsort(needed[order], kind="stable")]
        noise = np.cumsum(sigma2[order]) + receiver
        enough = np.flatnonzero(~(needed[order] > noise))
        present[order[(enough[-1] + 1 if enough.size else 0) :]] = False
        return present

    def may(self, release: Round | PrivacyCurve, *, participants: ArrayLike | None = None) -> bool:
        """Whether a round may run as it is: no participant would overspend; or a declared release is left."""
        try:
            self._charged(release, participants)
        except OverspentError:
            return False
        return True

    def record(self, release: Round | PrivacyCurve, *, participants: ArrayLike | None = None) -> None:
        """Record a round, before it is run.

        Parameters
        ----------
        release : Round or PrivacyCurve
            A curve uses up a declared release that covers it. Where none is left, Gaussian curves and their compositions spend
            mu^2 as rounds do, and with an order curves of all kinds spend their divergence.
        participants : array_like, optional
            With a curve: whose data the release reads, as truth values or indices; all devices by default. A declared release
            always reads all, so that a curve with participants uses none up.

        Raises
        ------
        OverspentError
            When it would overspend; then nothing is recorded.
        """
        entry, total, place = self._charged(release, participants)
        self._total = total
        if place is not None:
            self._left_of_fixed[place] -= 1
        self._append({"round": self.rounds + 1, **entry})

    def _charged(
        self, release: Round | PrivacyCurve, participants: ArrayLike | None
    ) -> tuple[dict[str, Any], _Total, int | None]:
        """What the log says of a release, what is spent after it, and which declared release it uses."""
        if isinstance(release, PrivacyCurve):
            place = None if participants is not None else self._place(release)
            entry: dict[str, Any] = {"curve": json.loads(release.to_json())}
            if place is not None:
                return {**entry, "fixed": place}, self._total, place
            present = np.ones(self.devices, dtype=bool)
            if participants is not None:
                present = checks.subset("participants", participants, self.devices)
            cost = np.where(present, self._cost_of_curve(release), 0.0)
            entry["participants"] = np.flatnonzero(present).tolist()
        else:
            self._matched(release)
            if participants is not None:
                raise ParameterError("participants", participants, "absent: the round names them")
            present = np.asarray(release.participants)
            cost, entry = self._cost(release, present), release.to_dict()
        return {**entry, "cost": _plain(cost[present])}, self._allowed(cost), None

    def _allowed(self, cost: FloatArray) -> _Total:
        """What is spent after a round of this cost; an error where that exceeds a budget."""
        after = self._after(cost)
        if np.any(over := ~self._within(after)):
            k = int(np.flatnonzero(over)[0])
            budget = self._budget[k]
            shares = (100.0, np.inf) if budget == 0 else (100 * self._spent[k] / budget, 100 * cost[k] / budget)
            raise OverspentError(
                f"device {k} would exceed epsilon {np.asarray(self.budget_epsilon)[k]:g} at delta {self.delta:g}"
                f" ({self._filter}: {shares[0]:.4g} % of its budget is used, the round needs {shares[1]:.3g} %);"
                f" {int(np.sum(over))} of {int(np.sum(cost > 0))} participants would overspend"
            )
        return after

    @property
    def rounds(self) -> int:
        """How many rounds are recorded."""
        return len(self.lines) - 1

    def _cost(self, candidate: Round, present: NDArray[np.bool_]) -> FloatArray:
        """What a round costs each device, rounded up."""
        mu2 = candidate.mu_squared(present)
        if self.order is None:
            return mu2
        with np.errstate(over="ignore", under="ignore"):
            return np.where(mu2 > 0, mu2 * (self.order / 2) * (1 + 4 * UNIT) + SMALLEST, 0.0)

    def _cost_of_curve(self, curve: PrivacyCurve) -> float:
        """What a curve costs each participant, rounded up.

        mu^2 of Gaussian releases add up: by theorem M2 they are increments of one Brownian motion, as rounds are.
        """
        if self.order is not None:
            return float(np.nextafter(renyi.divergence(curve.factors, self.order), np.inf)) if curve.factors else 0.0
        total, unit = 0.0, float(UNIT)  # no NumPy number, so that an overflow is infinite without a warning
        for release, count in curve.factors:
            if not isinstance(release, Gaussian):
                raise OverspentError(
                    "No remaining declared release dominates this curve, and it is not Gaussian. Declare it in advance with "
                    "fixed=[(curve, count)] or fix its order with order=; adaptively chosen curves cannot simply be composed."
                )
            greatest = release.mu * (1 + release.slack) * (1 + 2 * unit)
            total += count * math.nextafter(greatest * greatest, math.inf)
        return total * (1 + (4 + len(curve.factors)) * unit)

    def _after(self, cost: FloatArray) -> _Total:
        """What would be spent after a round: the exact sum of two doubles, of which the second is rounded up.

        The error of total + cost is a double (Knuth's two-sum). So costs far below the last place of the total are counted as
        what they are, and 2^53 of them do not cost as much as 2^53 units in that place.
        """
        total, rest = self._total
        with np.errstate(over="ignore", invalid="ignore"):
            after = total + cost
            added = after - total
            error = (total - (after - added)) + (cost - added)
            rest = np.where(error != 0, np.nextafter(rest + error, np.inf), rest)
            whole = after + rest
            return whole, np.where(np.isfinite(whole), rest - (whole - after), 0.0)

    def _within(self, total: _Total) -> NDArray[np.bool_]:
        """Whether each sum keeps the budget; the second double is below half a unit in the last place of the first."""
        whole, rest = total
        return np.asarray((whole < self._budget) | ((whole == self._budget) & (rest <= 0)))

    @property
    def _filter(self) -> str:
        """The rule of halting, as messages name it."""
        return "Gaussian filter: sum of mu^2" if self.order is None else f"Renyi filter of order {self.order:g}"

    def _matched(self, candidate: Round) -> None:
        if not isinstance(candidate, Round):
            raise ParameterError("round", type(candidate).__name__, "a Round or a PrivacyCurve")
        if candidate.devices != self.devices:
            raise ParameterError("round.devices", candidate.devices, f"{self.devices}, as the meter")
        if candidate.colluding != self.colluding:
            raise ParameterError("round.colluding", plain(candidate.colluding), f"{plain(self.colluding)}, as the meter")

    def _place(self, curve: PrivacyCurve) -> int | None:
        """The first declared release that is left and dominates the curve."""
        for place, (declared, _) in enumerate(self.fixed):
            if self._left_of_fixed[place] and dominates(declared, curve):
                return place
        return None

    def guarantee(self, device: int) -> Reading:
        """What holds whatever happens: the budget."""
        k = checks.count("device", device, f"[0, {self.devices - 1}]")
        return Reading(float(np.asarray(self.budget_epsilon)[k]), float(self._budget[k]), Meaning.GUARANTEE)

    def spent(self, device: int) -> Reading:
        """Epsilon of what has been spent, with all declared releases.

        Where parameters of rounds are chosen by what was released, no number read on the way is a guarantee: an observer who
        stops at the right moment knows more. The budget is the guarantee (:meth:`guarantee`).
        """
        k = checks.count("device", device, f"[0, {self.devices - 1}]")
        return Reading(float(self._epsilons([k])[0]), float(self._spent[k]), self._meaning)

    @property
    def _meaning(self) -> Meaning:
        return Meaning.READING if self.adaptive else Meaning.OCCURRED

    def _epsilons(self, devices: ArrayLike) -> FloatArray:
        """Epsilon of what the devices have spent, with all declared releases."""
        spent, inverse = np.unique(self._spent[np.asarray(devices)], return_inverse=True)
        if self.order is not None:
            paid = composition_theorems.renyi_to_epsilon(self.order, spent, delta=self.delta)
            rounding = 64 * UNIT * (spent + (abs(np.log(self.delta)) + np.log(self.order)) / (self.order - 1) + 1)
            return np.where(spent > 0, np.maximum(paid + rounding, 0.0), 0.0)[inverse.ravel()]
        mu = np.sqrt(spent) * (1 + 2 * UNIT)
        if not self.fixed:
            return np.asarray(gaussian.epsilon(self.delta, sensitivity=mu, sigma=1.0))[inverse.ravel()]
        curves, counts = [curve for curve, _ in self.fixed], [count for _, count in self.fixed]
        each = [
            privacy_curve.compose([*curves, privacy_curve.gaussian(m)], [*counts, 1]).epsilon(self.delta) for m in mu
        ]
        return np.asarray(each, dtype=float)[inverse.ravel()]

    def summary(self) -> MeterSummary:
        """Budget, what is spent and left of every device, and what these numbers are; for JSON and tables."""
        return {
            "budget_epsilon": np.asarray(self.budget_epsilon),
            "budget_meaning": str(Meaning.GUARANTEE),
            "delta": self.delta,
            "devices": self.devices,
            "colluding": plain(self.colluding),
            "rounds": self.rounds,
            "unit": self.unit,
            "spent_epsilon": self._epsilons(np.arange(self.devices)),
            "spent_meaning": str(self._meaning),
            "budget": self._budget.copy(),
            "spent": self._spent.copy(),
            "left": self._left,
        }

    def tidy(self) -> dict[str, object]:
        """The numbers of a table: budgets, and what is spent and left of them after all recorded rounds."""
        summary = self.summary()
        in_unit = {name: tidy.Entry(value=summary[name], unit=self.unit) for name in ("budget", "spent", "left")}
        return {
            "delta": self.delta,
            "budget_epsilon": summary["budget_epsilon"] * np.ones(self.devices),
            "spent_epsilon": tidy.Entry(value=summary["spent_epsilon"], rounds=self.rounds),
            "spent_meaning": summary["spent_meaning"],
            **in_unit,
        }

    def to_dict(self) -> dict[str, Any]:
        """The summary for strict JSON; :meth:`to_json` is the log."""
        tree: dict[str, Any] = plain(self.summary())
        return tree

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot what each device has spent of its budget, and what is left."""
        spent = np.minimum(self._spent / self._budget, 1.0)
        axes, worst = plots.axes_of(ax), int(np.argmax(spent))
        plots.bars(axes, {"spent": spent, "left": 1.0 - spent}, {})
        title = f"Device {worst} has spent most: {spent[worst]:.0%} of its budget after {self.rounds} rounds"
        return plots.finish(axes, title=title, x="device", y="share of the budget")

    def _repr_html_(self) -> str:
        return tidy.html(type(self).__name__, [], [("meter", self)])

    def left(self, device: int) -> float:
        """What rounds may still cost the device, rounded down; in the meter's unit."""
        k = checks.count("device", device, f"[0, {self.devices - 1}]")
        return float(self._left[k])

    def plan(self, one: Round, *, rounds: int | None = None) -> Plan:
        """How many more such rounds there are for each participant, and which noise would allow so many as are asked for."""
        self._matched(one)
        present = np.asarray(one.participants)
        room = np.maximum(self._budget - self._spent, 0.0)
        cost = self._spread(self._cost(one, present))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            possible = np.where(cost > 0, np.minimum(np.floor(room / cost * (1 - 1e-12)), _GREATEST), np.inf)
        if rounds is None:
            return Plan(possible, None)
        count = checks.count("rounds", rounds)

        def kept(factor: float) -> bool:
            spent = count * self._spread(self._cost(one.quieter(factor), present))
            return bool(np.all((spent <= room * (1 - 1e-12)) | (spent == 0)))

        if kept(1.0):
            return Plan(possible, 1.0)
        low, high = 1.0, 2.0
        while not kept(high):
            low, high = high, 4 * high
            if high > 1e100 or float(np.max(np.asarray(one.noise_variance))) > _GREATEST / high:
                return Plan(possible, np.inf)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if kept(middle) else (middle, high)
        return Plan(possible, high)

    def _spread(self, cost: FloatArray) -> FloatArray:
        """What each of many rounds costs, with the rounding of their sum: 2^-103 of the budget at most (:meth:`_after`)."""
        return np.where(cost > 0, cost + 2.0**-102 * self._budget, 0.0)

    def _append(self, entry: dict[str, Any]) -> None:
        line, self._hash = meter_log.sealed(entry, self._hash)
        self.lines.append(line)

    def history(self) -> FloatArray:
        """What was spent of each device's budget after each round, as shares of it; shape (rounds + 1, K)."""
        shares = np.zeros((len(self.lines), self.devices))
        for t, line in enumerate(self.lines[1:], start=1):
            entry = json.loads(line)
            shares[t] = shares[t - 1]
            if "cost" in entry:
                shares[t, entry["participants"]] += entry["cost"]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(shares > 0, shares / self._budget, 0.0)

    def times_sent(self) -> FloatArray:
        """In how many recorded rounds each device took part, shape (K,); declared releases read all devices."""
        counts = np.zeros(self.devices)
        for line in self.lines[1:]:
            counts[json.loads(line).get("participants", slice(None))] += 1
        return counts

    def left_like_last(self) -> FloatArray | None:
        """How many more rounds each device could send at the cost of the last round; None without such a round.

        A round costs its participants what they spent in the last one; a device that did not take part is counted at the
        greatest of these costs. Infinite where that is 0.
        """
        last = next((entry for line in reversed(self.lines[1:]) if "cost" in (entry := json.loads(line))), None)
        if last is None or not last["participants"]:
            return None
        cost = np.full(self.devices, np.max(last["cost"]))
        cost[last["participants"]] = last["cost"]
        cost = self._spread(cost)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(cost > 0, np.minimum(np.floor(self._left / cost * (1 - 1e-12)), _GREATEST), np.inf)

    def to_json(self) -> str:
        """The log: JSON lines, each with the hash of the one before it; :meth:`from_json` reads it."""
        return "".join(line + "\n" for line in self.lines)

    def checked(self) -> str:
        """What :meth:`from_json` may take as checked already: the log up to here by its SHA-256 sum, and what it has spent."""
        text = self.to_json()
        state = {
            "schema": CHECKED,
            "first": self.lines[0],
            "rounds": self.rounds,
            "characters": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "spent": [part.tolist() for part in self._total],
            "left_of_fixed": self._left_of_fixed,
        }
        return meter_log.sealed(state, meter_log.START)[0] + "\n"

    @classmethod
    def from_json(cls, text: str, *, checked: str | None = None, again: bool = False, progress: bool = False) -> Meter:
        """The meter of a log, after every line was checked and every round was computed again.

        A last line without its end is what a crash has left of a round that was not yet allowed, and is dropped. What a round
        costs may differ by 1e-9, relatively, from what is computed here, since other versions and machines round otherwise; the
        greater of both counts.

        Parameters
        ----------
        text : str
        checked : str, optional
            What :meth:`checked` has said of a meter of this log. If the log still begins with these lines, to the letter by
            their SHA-256 sum, only the first line and those after them are checked and computed again. If it has the same first
            line and does not go on like them, it was cut off or rewritten since, and is refused. Of another log, or changed by
            accident, this text counts for nothing. The sum has no key: whoever changes it can make it anew.
        again : bool
            Whether lines that are known to be checked are checked and computed again all the same.
        progress : bool
            Whether lines on stderr say how far the reading is.

        Raises
        ------
        ParameterError
            When a line was changed, is missing or out of order, or lets a round through that overspends; it names the line.
        """
        checks.instance("text", text, str)
        lines = text.split("\n")[:-1]
        if not lines:
            raise ParameterError("log", text[:40], "JSON lines, the first with the budget")
        known = _known_part(text, lines[0], checked)
        with _named(1, lines[0]):
            meter = cls._opened(lines[0])
        if known is not None and not again:
            meter._resume(known, lines[: known["rounds"] + 1])
        rest = lines[len(meter.lines) :]
        for number, line in enumerate(counted(rest, len(rest), "lines of the log", progress=progress), len(meter.lines) + 1):
            with _named(number, line):
                meter._again(line)
        return meter

    def _resume(self, state: Mapping[str, Any], lines: list[str]) -> None:
        """Go on after lines that are known to be checked."""
        total, rest = state["spent"]
        self._total = checks.vector("spent", total, self.devices, "[0, inf)"), checks.vector("spent", rest, self.devices)
        self._left_of_fixed = list(state["left_of_fixed"])
        self.lines, self._hash = lines, json.loads(lines[-1])["hash"]

    @classmethod
    def _opened(cls, line: str) -> Meter:
        """The meter of a first line."""
        head, digest = meter_log.unsealed(line, meter_log.START)
        if head.get("schema") not in meter_log.SCHEMAS:
            raise ValueError(
                f"has the format {head.get('schema')!r}; this version reads {', '.join(meter_log.SCHEMAS)}: take the version "
                "that wrote the log, or a newer one"
            )
        meter_log.require(head, meter_log.LINES["head"], head.get("devices", 0))
        fixed = [(PrivacyCurve.from_json(json.dumps(curve)), count) for curve, count in head["fixed"]]
        meter = cls(
            head["budget_epsilon"], head["delta"], devices=head["devices"], fixed=fixed, order=head["order"],
            adaptive=head["adaptive"], colluding=head.get("colluding", 0),
        )  # fmt: skip
        promised = checks.vector("budget", head["budget"], meter.devices, "[0, inf)")
        if np.any(promised > meter._budget * (1 + (_SAME_SHARE if fixed else _SAME))):
            raise ValueError("promises a budget that its epsilon does not allow")
        meter._budget = np.minimum(promised, meter._budget)
        meter.lines, meter._hash = [line], digest
        return meter

    def _again(self, line: str) -> None:
        """Record what a line says, after its round was computed again."""
        entry, digest = meter_log.unsealed(line, self._hash)
        line_kind = meter_log.kind_of(entry)
        meter_log.require(entry, meter_log.LINES[line_kind], self.devices)
        if entry["round"] != self.rounds + 1:
            raise ValueError(f"is round {entry['round']}, where {self.rounds + 1} is due")
        if line_kind == "declared":
            place, curve = entry["fixed"], PrivacyCurve.from_json(json.dumps(entry["curve"]))
            if place >= len(self.fixed) or not self._left_of_fixed[place]:
                raise ValueError("uses a declared release that is not left")
            if not dominates(self.fixed[place][0], curve):
                raise ValueError("uses a declared release that does not cover it")
            self._left_of_fixed[place] -= 1
        else:
            if line_kind == "curve":
                present = checks.subset("participants", entry["participants"], self.devices)
                cost = np.where(present, self._cost_of_curve(PrivacyCurve.from_json(json.dumps(entry["curve"]))), 0.0)
            else:
                recorded = Round.from_dict({key: value for key, value in entry.items() if key not in ("round", "cost")})
                self._matched(recorded)
                present = np.asarray(recorded.participants)
                cost = self._cost(recorded, present)
            stated = np.zeros(self.devices)
            stated[present] = entry["cost"]
            # absolutely, too: a divergence near 0 has a bound that is mostly rounding
            rounding = 1e-300 if self.order is None else 1e-9
            if np.any(np.abs(stated - cost) > _SAME * cost + rounding):
                raise ValueError("does not say what the round spends")
            self._total = self._allowed(np.maximum(stated, cost))
        self.lines.append(line)
        self._hash = digest


_Total = tuple[FloatArray, FloatArray]  # a sum as two doubles


@contextmanager
def _named(number: int, line: str) -> Iterator[None]:
    """Errors as one that names the line of the log."""
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverspentError) as error:
        raise ParameterError(f"log, line {number}", line[:60], f"as it was written: {error}") from None


def _declared(curve: Any) -> PrivacyCurve:
    if not isinstance(curve, PrivacyCurve):
        raise ParameterError("fixed", type(curve).__name__, "pairs of a PrivacyCurve and a count")
    return curve


def dominates(declared: PrivacyCurve, curve: PrivacyCurve) -> bool:
    """Whether the curve is the declared one, or one release that the declared one covers.

    Only a post-processing counts (:meth:`~airtight.analytics.privacy.mechanisms.mechanism.Mechanism.covers`).
    """
    if declared.to_json() == curve.to_json():
        return True
    factors = (*declared.factors, *curve.factors)
    return len(factors) == 2 and all(count == 1 for _, count in factors) and factors[0][0].covers(factors[1][0])


def _plain(values: ArrayLike) -> Any:
    """An array for JSON: one number where all entries are equal."""
    array = np.asarray(values, dtype=float)
    return float(array[0]) if array.size > 1 and np.all(array == array[0]) else array.tolist()


def _known_part(text: str, first: str, checked: str | None) -> dict[str, Any] | None:
    """What is known of the beginning of a log; None where nothing is, an error where the log does not go on from it."""
    if checked is None:
        return None
    try:
        state, _ = meter_log.unsealed(checked.removesuffix("\n"), meter_log.START)
        if state["schema"] != CHECKED or state["first"] != first:
            return None
        part, rounds = text[: state["characters"]], int(state["rounds"])
        if hashlib.sha256(part.encode()).hexdigest() == state["sha256"] and part.count("\n") == rounds + 1:
            return state
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    raise ParameterError(
        "log",
        f"{text.count(chr(10)) - 1} rounds",
        f"the log whose {rounds} rounds were checked before: it was cut off or rewritten since. If that was meant, delete the "
        "file that says what was checked",
    )
