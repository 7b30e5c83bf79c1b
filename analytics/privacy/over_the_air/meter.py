r"""A meter for a fleet: rounds as they happened, and a halt before a device's budget is overspent.

**The filter** (theorem M2). Rolls are seen by the server and drawn independently of all data; neighbours are ``silent`` or
``replace``. Round t then is a Gaussian release with :math:`\mu_t = |x - x'|_{\max}/\sqrt{v_k(S_t) + \sigma_k^2}` by clip
bounds, a
function of what was released, and of rolls and channels that were seen before the round. If a round is refused whenever
:math:`\sum\mu_t^2` would exceed :math:`\mu_B^2`, everything released is at most as distinguishable as one Gaussian release of
:math:`\mu_B`, however adaptively the parameters of the rounds were chosen.

*Proof.* Given the past, round t is a function of the increment of a Brownian motion (drift 1 or 0) over the time
:math:`[s, s + \mu_t^2]` and of independent noise: rotate, and add noise where the features are nearer than the clip allows. All
rounds together are a function of the path up to the time :math:`\mu_B^2`, hence of its end, a normal variable of mean
:math:`\mu_B^2` or 0 and variance :math:`\mu_B^2`. This holds for every lambda and in both orders.

**Fixed releases.** Releases of other kinds whose number and parameters are fixed beforehand may be interleaved: their curves are
composed with that of :math:`\mu_B`. Given the Gaussian rounds' past the others are independent releases, and adaptive composition
of dominating pairs is their product.

**Who may send** (theorem M4). A device that stays away takes its noise along, so that :math:`\mu_k` of the others rises. Feasible
sets are closed under union, because :math:`\mu_k` falls with S: so devices that would overspend are removed, all are
computed again,
until none would. The rest is the greatest feasible set.

**What is refused.** ``absent``: without the device there is no roll of it to see. Hidden rolls: they may not steer who sends. A
curve that is not among the fixed releases: composing the curves of the path taken and stopping at the budget is no filter
(arXiv:2602.06756). What a meter *reads* on the way is no guarantee either; the budget is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import AirtightError, FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.privacy.accounting import privacy_curve
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import looks
from airtight.analytics.rounding import UNIT

SCHEMA = "airtight-meter-1"
START = "0" * 64  # what the first line gives as the hash of the line before it
_BISECTIONS = 60
_MANY = 1e18  # rounds, beyond which a plan says infinity


class OverspentError(AirtightError, RuntimeError):
    """The round would overspend the budget of a device; nothing was recorded."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Round:
    """One round of a system over the air, with what the server sees of it.

    Parameters
    ----------
    participants : array_like
        The devices whose roll is to send: K truth values, or indices.
    devices : int
        K.
    noise_variance, weight, clip : array_like, shape (K,) or scalar
        As in :class:`~airtight.analytics.inference.system.InferenceSystem`.
    receiver_noise_variance : float
    alignment : float
    adjacency : {"silent", "replace"}
    looks : array_like, shape (K, L), optional
        Coefficients of this round relative to the alignment, real or complex; one look, all of them 1, by default.

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

    def __post_init__(self) -> None:
        K = checks.count("devices", self.devices)
        held = {
            "devices": K,
            "participants": _participants(self.participants, K),
            "noise_variance": checks.vector("noise_variance", self.noise_variance, K, "[0, inf)"),
            "weight": checks.vector("weight", self.weight, K, "[0, inf)"),
            "clip": checks.vector("clip", self.clip, K, "(0, inf)"),
            "receiver_noise_variance": checks.scalar(
                "receiver_noise_variance", self.receiver_noise_variance, "[0, inf)"
            ),
            "alignment": checks.scalar("alignment", self.alignment, "(0, inf)"),
            "adjacency": checks.choice("adjacency", self.adjacency, Adjacency),
        }
        if held["adjacency"] is Adjacency.ABSENT:
            raise ParameterError(
                "adjacency", "absent", "silent or replace: without the device there is no roll of it that may be seen"
            )
        if self.looks is not None:
            table = np.asarray(self.looks)
            if (
                table.ndim != 2
                or table.shape[0] != K
                or table.dtype.kind not in "fciu"
                or not np.all(np.isfinite(table))
            ):
                raise ParameterError("looks", f"array of shape {table.shape}", f"finite numbers of shape ({K}, looks)")
            held["looks"] = table
        for name, value in held.items():
            object.__setattr__(self, name, value)

    def mu_squared(self, present: NDArray[np.bool_]) -> FloatArray:
        """mu_k^2 of every device of the set `present`, rounded up; 0 for the others, shape (K,)."""
        sigma2, gamma = np.asarray(self.noise_variance), float(self.alignment)
        coefficients = np.ones((self.devices, 1)) if self.looks is None else np.asarray(self.looks)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            N = self.receiver_noise_variance / gamma / gamma * (1 - 4 * UNIT)
            lower, _ = looks.others_noise(
                coefficients, noise_variance=sigma2, receiver_noise_variance=N, present=present
            )
            factor = 2.0 if self.adjacency is Adjacency.REPLACE else 1.0
            distance = factor * np.asarray(self.weight) * np.asarray(self.clip)
            noise = (lower + sigma2) * (1 - 4 * UNIT)
            mu2 = np.where(distance > 0, distance / noise * distance * (1 + 16 * UNIT), 0.0)
        return np.where(present, np.where(np.isnan(mu2), np.inf, mu2), 0.0)

    def quieter(self, factor: float) -> Round:
        """The same round with all devices' noise variances multiplied by a factor."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Round(**{**values, "noise_variance": np.asarray(self.noise_variance) * factor})

    def to_dict(self) -> dict[str, Any]:
        """The values by name for JSON; participants as indices, equal entries as one number."""

        def plain(values: Any) -> Any:
            array = np.asarray(values)
            return float(array[0]) if np.all(array == array[0]) else array.tolist()

        out: dict[str, Any] = {
            "participants": np.flatnonzero(np.asarray(self.participants)).tolist(),
            "devices": self.devices,
        }
        out |= {name: plain(getattr(self, name)) for name in ("noise_variance", "weight", "clip")}
        out |= {"receiver_noise_variance": self.receiver_noise_variance, "alignment": self.alignment}
        out["adjacency"] = Adjacency(self.adjacency).value
        if self.looks is not None:
            table = np.asarray(self.looks)
            out["looks"] = table.real.tolist()
            if np.iscomplexobj(table):
                out["looks_imaginary"] = table.imag.tolist()
        return out

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Round:
        """The round of :meth:`to_dict`, or of the keys of a TOML file."""
        known = {*cls.__dataclass_fields__, "looks_imaginary"}
        for name in values:
            if name not in known:
                raise ParameterError(name, values[name], f"absent; a round has {', '.join(sorted(known))}")
        for name in ("participants", "devices", "noise_variance", "weight", "clip", "receiver_noise_variance"):
            if name not in values:
                raise ParameterError(name, None, "given; every round needs it")
        given = dict(values)
        imaginary = given.pop("looks_imaginary", None)
        if imaginary is not None:
            given["looks"] = checks.real("looks", given.get("looks", 0.0)) + 1j * checks.real(
                "looks_imaginary", imaginary
            )
        return cls(**given)


def _participants(given: ArrayLike, devices: int) -> NDArray[np.bool_]:
    array = np.asarray(given)
    if array.dtype == bool:
        if array.shape != (devices,):
            raise ParameterError("participants", f"array of shape {array.shape}", f"{devices} truth values, or indices")
        return array.copy()
    mask = np.zeros(devices, dtype=bool)
    if array.size:
        index = checks.integer("participants", given, f"[0, {devices - 1}]").ravel()
        if np.unique(index).size != index.size:
            raise ParameterError("participants", index.tolist()[:6], "each device once")
        mask[index] = True
    return mask


@dataclass(frozen=True)
class Reading:
    """What a meter says of one device, and what the number is.

    Attributes
    ----------
    epsilon : float
        At the meter's delta.
    mu_squared : float
        Of the Gaussian rounds.
    meaning : str
        "guarantee", or "reading, no guarantee".
    """

    epsilon: float
    mu_squared: float
    meaning: str


@dataclass(frozen=True)
class Plan:
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
class Meter:
    """The budget of every device, and what has been spent of it.

    Parameters
    ----------
    budget_epsilon : array_like, shape (K,) or scalar
        For all rounds together.
    delta : float
        In (0, 1).
    devices : int
    fixed : sequence of (PrivacyCurve, int), optional
        Releases of other kinds that are fixed beforehand, with their counts; each device takes part in all. Their curves are paid
        for at once.

    Raises
    ------
    ParameterError
        Also when the fixed releases alone exceed a budget.

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
    >>> round(reading.epsilon, 3), reading.meaning, meter.guarantee(0).epsilon
    (0.959, 'reading, no guarantee', 1.0)
    """

    budget_epsilon: ArrayLike
    delta: float
    devices: int = field(kw_only=True)
    fixed: Sequence[tuple[PrivacyCurve, int]] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        self.devices = checks.count("devices", self.devices)
        self.budget_epsilon = checks.vector("budget_epsilon", self.budget_epsilon, self.devices, "[0, inf)")
        self.delta = checks.scalar("delta", self.delta, "(0, 1)")
        self.fixed = tuple((curve, checks.count("count", count)) for curve, count in self.fixed)
        self._spent = np.zeros(self.devices)
        self._left_of_fixed = [count for _, count in self.fixed]
        budget = np.asarray(self.budget_epsilon)
        if self.fixed:
            budgets, inverse = np.unique(budget, return_inverse=True)
            self._budget = np.array([self._gaussian_part(float(each)) for each in budgets])[inverse.ravel()]
        else:
            sigma = np.asarray(gaussian.sigma(budget, self.delta, sensitivity=1.0))
            self._budget = (1 - 8 * UNIT) / sigma / sigma
        head: dict[str, Any] = {
            "schema": SCHEMA,
            "budget_epsilon": float(budget[0]) if np.all(budget == budget[0]) else budget.tolist(),
            "delta": self.delta,
            "devices": self.devices,
            "fixed": [[json.loads(curve.to_json()), count] for curve, count in self.fixed],
        }
        self.lines, self._hash = list[str](), START
        self._append(head)

    def _gaussian_part(self, epsilon: float) -> float:
        """The greatest mu^2 with which the fixed releases and one Gaussian release keep epsilon, rounded down."""
        curves, counts = [curve for curve, _ in self.fixed], [count for _, count in self.fixed]

        def kept(mu: float) -> bool:
            whole = privacy_curve.compose([*curves, privacy_curve.gaussian(mu)], [*counts, 1])
            return bool(whole.epsilon(self.delta) <= epsilon)

        if not float(privacy_curve.compose(curves, counts).epsilon(self.delta)) <= epsilon:
            raise ParameterError("fixed", f"{len(curves)} curves", f"releases that together keep epsilon = {epsilon:g}")
        low, high = (
            0.0,
            np.sqrt(1 - 8 * UNIT) / float(gaussian.sigma(max(epsilon, 1e-300), self.delta, sensitivity=1.0)),
        )
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
            over = present & ~(self._after(one, present) <= self._budget)
            if not np.any(over):
                return present
            present &= ~over

    def _likely(self, one: Round) -> NDArray[np.bool_]:
        """A set that holds the greatest feasible one, at one look found by sorting instead of one pass after the other.

        There :math:`\\mu_k^2 = s_k^2/V(S)` with one V for all, so that the devices of the greatest s_k^2 over what is left
        go first.
        A margin of 1e-9 leaves doubtful devices to the passes of :meth:`who`.
        """
        present = np.asarray(one.participants).copy()
        if one.looks is not None or not np.any(present):
            return present
        mu2 = one.mu_squared(present)
        sigma2 = np.asarray(one.noise_variance)
        total = float(np.sum(sigma2[present])) + one.receiver_noise_variance / one.alignment**2
        room = np.maximum(self._budget - self._spent, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            needed = np.where(mu2 > 0, mu2 * total / room, 0.0) * (1 - 1e-9)  # the V from which device k may send
        order = np.flatnonzero(present)
        order = order[np.argsort(needed[order], kind="stable")]
        noise = np.cumsum(sigma2[order]) + one.receiver_noise_variance / one.alignment**2
        enough = np.flatnonzero(~(needed[order] > noise))
        present[order[(enough[-1] + 1 if enough.size else 0) :]] = False
        return present

    def may(self, release: Round | PrivacyCurve) -> bool:
        """Whether a round may run as it is: no participant would overspend; or a fixed release is left."""
        if isinstance(release, PrivacyCurve):
            return self._place(release) is not None
        self._matched(release)
        present = np.asarray(release.participants)
        return bool(np.all(self._after(release, present) <= self._budget))

    def record(self, release: Round | PrivacyCurve) -> None:
        """Record a round, before it is run.

        Raises
        ------
        OverspentError
            When it would overspend; then nothing is recorded.
        """
        if isinstance(release, PrivacyCurve):
            place = self._place(release)
            if place is None:
                raise OverspentError(
                    "this curve is not among the fixed releases that are left; declare it beforehand with fixed=[(curve, count)]: "
                    "composing the curves of the path taken is no filter where they are chosen on the way"
                )
            self._left_of_fixed[place] -= 1
            self._append({"round": self.rounds + 1, "fixed": place})
            return
        self._matched(release)
        present = np.asarray(release.participants)
        after = self._after(release, present)
        if np.any(over := ~(after <= self._budget)):
            k = int(np.flatnonzero(over)[0])
            raise OverspentError(
                f"device {k} would spend mu^2 = {after[k]:.6g} of {self._budget[k]:.6g} (epsilon {np.asarray(self.budget_epsilon)[k]:g}"
                f" at delta {self.delta:g}); {int(np.sum(over))} of {int(np.sum(present))} participants would overspend"
            )
        mu2 = release.mu_squared(present)[present]
        self._spent = after
        self._append({"round": self.rounds + 1, **release.to_dict(), "mu_squared": mu2.tolist()})

    @property
    def rounds(self) -> int:
        """How many rounds are recorded."""
        return len(self.lines) - 1

    def _after(self, one: Round, present: NDArray[np.bool_]) -> FloatArray:
        """What would be spent after a round, each sum rounded up."""
        mu2 = one.mu_squared(present)
        return np.where(mu2 > 0, np.nextafter(self._spent + mu2, np.inf), self._spent)

    def _matched(self, one: Round) -> None:
        if not isinstance(one, Round):
            raise ParameterError("round", type(one).__name__, "a Round or a PrivacyCurve")
        if one.devices != self.devices:
            raise ParameterError("round.devices", one.devices, f"{self.devices}, as the meter")

    def _place(self, curve: PrivacyCurve) -> int | None:
        text = curve.to_json()
        for place, (each, _) in enumerate(self.fixed):
            if self._left_of_fixed[place] and each.to_json() == text:
                return place
        return None

    def guarantee(self, device: int) -> Reading:
        """What holds whatever happens: the budget."""
        k = checks.count("device", device, f"[0, {self.devices - 1}]")
        return Reading(float(np.asarray(self.budget_epsilon)[k]), float(self._budget[k]), "guarantee")

    def spent(self, device: int) -> Reading:
        """Epsilon of one Gaussian release of what has been spent, with all fixed releases: a reading, no guarantee.

        Where the parameters of rounds were chosen by what was released, no number read on the way is a guarantee: an observer who
        stops at the right moment knows more. The budget is the guarantee (:meth:`guarantee`).
        """
        k = checks.count("device", device, f"[0, {self.devices - 1}]")
        return Reading(float(self._epsilons([k])[0]), float(self._spent[k]), "reading, no guarantee")

    def _epsilons(self, devices: ArrayLike) -> FloatArray:
        """Epsilon of what the devices have spent, with all fixed releases."""
        mu = np.sqrt(self._spent[np.asarray(devices)]) * (1 + 2 * UNIT)
        if not self.fixed:
            return np.asarray(gaussian.epsilon(self.delta, sensitivity=mu, sigma=1.0))
        distinct, inverse = np.unique(mu, return_inverse=True)
        curves, counts = [curve for curve, _ in self.fixed], [count for _, count in self.fixed]
        each = [
            privacy_curve.compose([*curves, privacy_curve.gaussian(m)], [*counts, 1]).epsilon(self.delta)
            for m in distinct
        ]
        return np.asarray(each, dtype=float)[inverse.ravel()]

    def summary(self) -> dict[str, Any]:
        """Budget, what is spent and left of every device, and what these numbers are; for JSON and tables."""
        return {
            "budget_epsilon": np.asarray(self.budget_epsilon),
            "budget_meaning": "guarantee",
            "delta": self.delta,
            "devices": self.devices,
            "rounds": self.rounds,
            "spent_epsilon": self._epsilons(np.arange(self.devices)),
            "spent_meaning": "reading, no guarantee",
            "spent_mu_squared": self._spent.copy(),
            "left_mu_squared": np.maximum(np.nextafter(self._budget - self._spent, -np.inf), 0.0),
        }

    def left(self, device: int) -> float:
        """mu^2 that Gaussian rounds may still spend, rounded down."""
        k = checks.count("device", device, f"[0, {self.devices - 1}]")
        return float(max(np.nextafter(self._budget[k] - self._spent[k], -np.inf), 0.0))

    def plan(self, one: Round, *, rounds: int | None = None) -> Plan:
        """How many more such rounds there are for each participant, and which noise would allow so many as are asked for."""
        self._matched(one)
        present = np.asarray(one.participants)
        room = np.maximum(self._budget - self._spent, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mu2 = one.mu_squared(present)
            possible = np.where(mu2 > 0, np.floor(room / mu2 * (1 - 1e-12)), np.inf)
        possible = np.where(possible > _MANY, np.inf, possible)
        if rounds is None:
            return Plan(possible, None)
        count = checks.count("rounds", rounds)

        def kept(factor: float) -> bool:
            spent = count * one.quieter(factor).mu_squared(present) * (1 + 4 * UNIT * count)
            return bool(np.all((spent <= room * (1 - 1e-12)) | (spent == 0)))

        if kept(1.0):
            return Plan(possible, 1.0)
        low, high = 1.0, 2.0
        while not kept(high):
            low, high = high, 4 * high
            if high > 1e100:
                return Plan(possible, np.inf)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if kept(middle) else (middle, high)
        return Plan(possible, high)

    def _append(self, entry: dict[str, Any]) -> None:
        line, self._hash = _sealed(entry, self._hash)
        self.lines.append(line)

    def to_json(self) -> str:
        """The log: JSON lines, each with the hash of the one before it; :meth:`from_json` reads it."""
        return "".join(line + "\n" for line in self.lines)

    @classmethod
    def from_json(cls, text: str) -> Meter:
        """The meter of a log, after every line was checked and every round was computed again.

        A last line without its end is what a crash has left of a round that was not yet allowed, and is dropped.

        Raises
        ------
        ParameterError
            When a line was changed, is missing or out of order, or lets a round through that overspends; it names the line.
        """
        whole = text[: text.rfind("\n") + 1].splitlines()
        if not whole:
            raise ParameterError("log", text[:40], "JSON lines, the first with the budget")
        previous, meter = START, None
        for number, line in enumerate(whole, start=1):
            try:
                entry = json.loads(line)
                if line != _sealed({k: v for k, v in entry.items() if k not in ("previous", "hash")}, previous)[0]:
                    raise ValueError("was changed, or does not follow the line before it")
                if meter is None:
                    meter = cls._opened(entry)
                    if meter.lines[0] != line:
                        raise ValueError("is not the first line of a meter")
                else:
                    meter._again(entry)
                    if meter.lines[-1] != line:
                        raise ValueError("does not say what the round spends")
            except (
                ValueError,
                TypeError,
                KeyError,
                IndexError,
                AttributeError,
                RecursionError,
                OverspentError,
            ) as error:
                raise ParameterError(f"log, line {number}", line[:60], f"as it was written: {error}") from None
            previous = entry["hash"]
        if meter is None:
            raise ParameterError("log", text[:40], "JSON lines, the first with the budget")
        return meter

    @classmethod
    def _opened(cls, head: Mapping[str, Any]) -> Meter:
        if head["schema"] != SCHEMA:
            raise ValueError(f"has another schema than {SCHEMA}")
        fixed = [(PrivacyCurve.from_json(json.dumps(curve)), count) for curve, count in head["fixed"]]
        return cls(head["budget_epsilon"], head["delta"], devices=head["devices"], fixed=fixed)

    def _again(self, entry: Mapping[str, Any]) -> None:
        if "fixed" in entry:
            self.record(self.fixed[entry["fixed"]][0])
            return
        bookkeeping = ("round", "mu_squared", "previous", "hash")
        self.record(Round.from_dict({key: value for key, value in entry.items() if key not in bookkeeping}))


def _sealed(entry: Mapping[str, Any], previous: str) -> tuple[str, str]:
    """A line of the log: the entry, the hash of the line before it, and the hash of both; and this hash."""
    body = {**entry, "previous": previous}
    text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    own = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({**body, "hash": own}, separators=(",", ":"), allow_nan=False), own
