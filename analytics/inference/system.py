"""The system that everything in this family is computed for: K devices, one receiver.

:class:`HomogeneousSystems` describes many systems at once, each of equal devices.

They are columns of what an :class:`~airtight.analytics.inference.system.InferenceSystem` has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks, parameters
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Adjacency, AdjacencyName, Observer, ObserverName
from airtight.analytics.inference.channel import Channel
from airtight.analytics.parameters import Choice, Count, Described, Flag, Number, Parameter, Vector

_TINY = float(np.finfo(float).tiny)
_LEAST_EXPONENT, _GREATEST_EXPONENT = -1018, 996  # of two, that noise may have; a million of the greatest can be added
_NEVER = 1 << 20  # beyond any exponent


class _Participation(Vector):
    """The probability of taking part; None where the power limit of the channel decides it."""

    def checked(self, value: Any) -> Any:
        return None if value is None else super().checked(value)


class _ChannelTable(Parameter[Any, Channel | None]):
    """A channel, or the mapping of its parameters; None where there is none."""

    holds = "table"

    def checked(self, value: Any) -> Channel | None:
        if value is None or isinstance(value, Channel):
            return value
        allowed = parameters.of(Channel)
        if not isinstance(value, Mapping) or not value.keys() <= allowed.keys():
            raise ParameterError(self.name, value, f"a Channel, or a mapping with {', '.join(allowed)}")
        try:
            return Channel(**value)
        except ParameterError as error:
            raise ParameterError(f"{self.name}.{error.name}", error.value, error.allowed, error.index) from None


class _Colluders(Parameter[int | Iterable[int], int | tuple[int, ...]]):
    """How many devices collude with the server, whichever they are, or which ones do."""

    holds = "integer or list of devices"

    def checked(self, value: Any) -> int | tuple[int, ...]:
        if not isinstance(value, list | tuple | range) and not (isinstance(value, np.ndarray) and value.ndim):
            return checks.count(self.name, value, self.interval)
        if not len(value):
            return 0
        named = checks.integer(self.name, value, self.interval)
        if named.ndim > 1 or np.unique(named).size < named.size:
            raise ParameterError(self.name, value, "a list of devices, each once")
        return tuple(sorted(named.tolist()))


def demand_honest(colluding: int | Sequence[int], devices: int) -> None:
    """Refuse colluders that do not exist, and such that no device is left to protect."""
    if isinstance(colluding, int):
        checks.count("colluding", colluding, f"[0, {devices - 1}]")
        return
    checks.integer("colluding", colluding, f"[0, {devices - 1}]")
    if len(colluding) == devices:
        raise ParameterError("colluding", list(colluding), "such that a device is left to protect")


def named_colluders(colluding: int | Sequence[int], devices: int) -> NDArray[np.bool_]:
    """Whether each device is named as a colluder."""
    named = np.zeros(devices, dtype=bool)
    if not isinstance(colluding, int):
        named[list(colluding)] = True
    return named


@dataclass(frozen=True, eq=False, kw_only=True)
class InferenceSystem(Described):
    r"""Collaborative inference over the air (FDP Sec. III): what is sent, by whom, through what noise, how often, who listens.

    Device k takes part with probability :math:`p_k`; then it sends its clipped feature, weighted, plus noise. The server
    receives

    .. math:: y = \gamma\sum_{k \in S} (w_k z_k + n_k) + m, \qquad \|z_k\| \le C_k,\quad
              n_k \sim N(0, \sigma_k^2 I_r),\quad m \sim N(0, \sigma_m^2 I_r).

    A scalar stands for K equal entries.

    Parameters
    ----------
    devices : int
        K >= 1.
    participation : array_like, shape (K,)
        p_k in [0, 1]. Left out where `channel` has a power limit, which decides it.
    noise_variance : array_like, shape (K,)
        sigma_k^2 >= 0, variance of the device's noise per coordinate.
    weight : array_like, shape (K,)
        w_k >= 0.
    clip : array_like, shape (K,)
        C_k > 0, bound on the norm of the encoded feature.
    alignment : float
        gamma > 0, the amplitude at which every device arrives.
    receiver_noise_variance : float
        sigma_m^2 >= 0.
    dimension : int
        r >= 1, encoded dimension.
    delta, delta_prime : float
        In (0, 1): the delta of the guarantee, and the failure probability that Theorem 1 spends on random participation, which
        nothing else uses (1e-5 as in the paper's experiments, where none is given).
    adjacency : Adjacency or str
        ``absent`` (the paper's), ``silent`` or ``replace``; see :class:`airtight.analytics.guarantee.Adjacency`.
    idle_noise : bool
        True when devices that do not take part still send their noise (ledger FDP-T1d); ``absent`` and ``silent`` then
        coincide.
    decoder_gain : float
        g > 0, factor on the decoder: the server's output is g D y / gamma. Privacy does not depend on it.
    channel_gain : array_like, shape (K,) or scalar
        abs(h_k)^2 > 0, for the energy that alignment costs (:func:`airtight.analytics.inference.transmission.transmit_energy`).
    channel : Channel, optional
        Fading, antennas and power limit; without it every device is received once, at amplitude gamma.
    rounds : int
        T >= 1 rounds, each with fresh participation and noise.
    observer : Observer or str
        What the server sees beside y; see :class:`airtight.analytics.guarantee.Observer`.
    colluding : int or list of int
        Devices that tell the server their participation, code and noise: any m < K of them, the worst, or these. They send
        as all others do, so that error, energy and participation do not depend on them (docs/colluders.md).

    Raises
    ------
    ParameterError
        When an argument is out of range, of the wrong length or NaN.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> float(system.sensitivity[0])
    0.41666...
    """

    devices: Count = Count("K", "[1, inf)", "number of devices", typical=(12, 12))
    participation: _Participation = _Participation(  # noqa: RUF009
        "p_k", "[0, 1]", "probability that the device sends in a round", typical=(0.1, 0.9), default=None
    )
    noise_variance: Vector = Vector(
        r"\sigma_k^2", "[0, inf)", "variance of the noise that the device adds to each coordinate", typical=(0.1, 0.5)
    )
    weight: Vector = Vector("w_k", "[0, inf)", "factor on the device's feature before it is sent", typical=(1 / 12, 1 / 12))
    clip: Vector = Vector(
        "C_k", "(0, inf)", "greatest norm of the encoded feature; a longer one is clipped to it", typical=(1, 100)
    )
    alignment: Number = Number(
        r"\gamma", "(0, inf)", "amplitude at which the signal of every device arrives at the server", typical=(1, 1)
    )
    receiver_noise_variance: Number = Number(
        r"\sigma_m^2", "[0, inf)", "variance of the server's receiver noise per coordinate", typical=(0.1, 0.5)
    )
    dimension: Count = Count(
        "r", "[1, inf)", "length of the encoded feature: numbers that a device sends in a round", typical=(784, 25088)
    )
    delta: Number = Number(r"\delta", "(0, 1)", "delta of the (epsilon, delta) guarantee", typical=(1e-5, 1e-5))
    delta_prime: Number = Number(
        r"\delta'",
        "(0, 1)",
        "failure probability that Theorem 1 spends on random participation; no exact value depends on it",
        default=1e-5,
        typical=(1e-5, 1e-5),
    )
    adjacency: Choice[AdjacencyName, Adjacency] = Choice(
        "",
        "",
        "what device k sends in the neighbouring case: nothing (absent), its noise only (silent), another feature (replace)",
        default=Adjacency.ABSENT,
    )
    idle_noise: Flag = Flag("", "", "whether a device that stays silent still sends its noise", default=False)
    decoder_gain: Number = Number(
        "g", "(0, inf)", "factor on the server's decoder; it changes the error, not the privacy", default=1.0
    )
    channel_gain: Vector = Vector(
        "|h_k|^2", "(0, inf)", "power gain of the channel; it changes the transmit energy, not the privacy", default=1.0
    )
    channel: _ChannelTable = _ChannelTable(  # noqa: RUF009
        "", "", "fading, antennas and power limit; without it every device is received once", default=None
    )
    rounds: Count = Count("T", "[1, inf)", "number of rounds, each with fresh participation and noise", default=1)
    observer: Choice[ObserverName, Observer] = Choice(
        "",
        "",
        "what the server sees besides the signal: all senders (participants), all but device k (others), nothing (signal)",
        default=Observer.AUTO,
    )
    colluding: _Colluders = _Colluders(  # noqa: RUF009
        "", "[0, inf)", "devices that tell the server all they know: a number (then the worst ones), or a list", default=0
    )

    def __post_init__(self) -> None:
        if self.power_decides:
            if self.participation is not None:
                allowed = "absent: channel.max_power decides it (`system.replace` changes other parameters)"
                raise ParameterError("participation", checks.array_text(self.participation), allowed)
            self.__dict__["participation"] = np.ones(self.devices)
        elif self.participation is None:
            raise ParameterError("participation", None, "numbers in [0, 1]; only a channel with max_power decides it")
        for name in ("participation", "noise_variance", "weight", "clip"):
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.ndim == 1 and value.size != self.devices:
                allowed = (
                    f"a number or {self.devices} numbers; a system holds one for each device, so that whoever changes"
                )
                raise checks.ParameterError(name, checks.array_text(value), f"{allowed} devices gives {name} anew")
            self.__dict__[name] = checks.vector(name, value, self.devices)
        checks.vector(
            "channel_gain", self.channel_gain, self.devices
        )  # a number stays one, for whatever number of devices
        demand_honest(self.colluding, self.devices)
        if self.channel is not None:
            if self.power_decides:
                self.__dict__["participation"] = self.channel.with_participation(self).participation
            self.channel.check(self)

    @property
    def power_decides(self) -> bool:
        """Whether the power limit of the channel decides who takes part."""
        return self.channel is not None and self.channel.decides_participation

    @property
    def partners(self) -> NDArray[np.bool_]:
        """Whether each device is named in `colluding`: of such a device no privacy is asked."""
        return named_colluders(self.colluding, self.devices)

    @property
    def never_sends(self) -> NDArray[np.bool_]:
        """Whether each device sends in any round with probability `delta` at most: what it sends no noise has to protect.

        Examples
        --------
        >>> system = InferenceSystem(devices=3, participation=[0.9, 0.0, 1e-6], noise_variance=0.1, weight=0.3, clip=1.0,
        ...     alignment=1.0, receiver_noise_variance=0.1, dimension=8, delta=1e-5)
        >>> system.never_sends, system.replace(rounds=100).never_sends
        (array([False,  True,  True]), array([False,  True, False]))
        """
        drawn_once = self.channel is not None and self.power_decides and not self.channel.fresh
        if drawn_once or self.rounds == 1:
            return self.participation <= self.delta
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(self.rounds * np.log1p(-self.participation)) <= self.delta)

    def replace(self, **values: Any) -> InferenceSystem:
        """A copy with other values; participation follows where the power limit of the channel decides it.

        Examples
        --------
        >>> system = InferenceSystem(devices=2, noise_variance=0.1, weight=0.5, clip=1.0, alignment=1.0, dimension=4,
        ...     receiver_noise_variance=0.1, delta=1e-5, channel={"fading": "rayleigh", "max_power": 1.0})
        >>> system.participation.round(4), system.replace(clip=2.0).participation.round(4)
        (array([0.522, 0.522]), array([0.2466, 0.2466]))
        """
        channel = parameters.of(InferenceSystem)["channel"].checked(values.get("channel", self.channel))
        if channel is not None and channel.decides_participation and "participation" not in values:
            values["participation"] = None
        return replace(self, **values)

    @property
    def one_round(self) -> InferenceSystem:
        """The system without channel, rounds and observer: what the computations for one round at one look are stated for.

        Its colluders stay: they are counted by :meth:`normalised`, or refused there.
        """
        return self.derived(channel=None, rounds=1, observer=Observer.AUTO)

    def at_one_look(self) -> InferenceSystem:
        """The system for a computation that counts neither antennas nor fading.

        Raises
        ------
        ParameterError
            Where the channel matters to it, because it does not deliver every device once, aligned.
        """
        if self.channel is not None and not self.channel.one_look:
            raise ParameterError("channel", "given", "absent, or one antenna with perfect inversion: this counts one look")
        return self.one_round

    def to_dict(self) -> dict[str, Any]:
        """The values by name, suitable for JSON and for the constructor; without a participation that the channel decides."""
        values = super().to_dict()
        if self.power_decides:
            del values["participation"]
        return values

    @property
    def sensitivity(self) -> FloatArray:
        """Greatest change of the received signal between neighbours: gamma w_k C_k, twice that for ``replace``."""
        return sensitivity(self.adjacency, self.alignment, self.weight, self.clip)

    @property
    def received_noise_variance(self) -> FloatArray:
        """gamma^2 sigma_k^2: what the noise of device k contributes at the receiver."""
        return received_noise_variance(self.alignment, self.noise_variance)

    def normalised(self) -> InferenceSystem:
        """The same privacy in other units: an alignment in [1/2, 1), clips too, the greatest noise of the order of 1.

        Scaling everything that is received changes no likelihood ratio. Only powers of two are used, so nothing is rounded, and
        no later product overflows: infinite noise would pass for perfect privacy. Where noises differ so much that the
        least would vanish beside the greatest, all are larger; what doubles cannot hold even then counts as 0, which
        only overstates what is given away, unless it leaves with its device (``absent``).

        The noise of :attr:`partners` is 0: the server subtracts what they sent, and for every other device the rest is the
        system without them (docs/colluders.md, theorem 1).

        Raises
        ------
        ParameterError
            When, for ``absent``, a device's noise would have to count as 0; and where `colluding` is a number, as which
            devices are the worst depends on the device that is asked about (:mod:`.system_privacy` asks for each).
        """
        if isinstance(self.colluding, int) and self.colluding:
            raise ParameterError("colluding", self.colluding, "0 or a list of devices: this counts no unnamed colluders")
        noise = np.append(np.where(self.partners, 0.0, self.noise_variance), self.receiver_noise_variance)
        scaled = rescaled(np.asarray(self.alignment), self.clip, self.weight, noise)
        vanished = np.flatnonzero(scaled.lost[:-1])
        if vanished.size and self.adjacency is Adjacency.ABSENT and not self.idle_noise:
            raise vanishing("noise_variance", noise, (int(vanished[0]),))
        return self.derived(
            alignment=float(scaled.alignment),
            clip=scaled.clip,
            weight=scaled.weight,
            noise_variance=scaled.noise[:-1],
            receiver_noise_variance=float(scaled.noise[-1]),
        )

    @property
    def decoded_receiver_noise(self) -> float:
        """sigma_m^2 / gamma^2, Eq. (7): the receiver's noise after division by the alignment; infinite when it overflows."""
        return self.receiver_noise_variance / self.alignment / self.alignment


def sensitivity(
    adjacency: Adjacency, alignment: FloatArray | float, weight: FloatArray, clip: FloatArray
) -> FloatArray:
    """gamma w C, twice that for ``replace``."""
    factor = 2.0 if adjacency is Adjacency.REPLACE else 1.0
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(factor * alignment * weight * clip, np.finfo(float).max))


def received_noise_variance(alignment: FloatArray | float, noise_variance: FloatArray) -> FloatArray:
    """gamma^2 sigma^2."""
    with np.errstate(over="ignore"):
        return np.asarray(alignment * alignment * noise_variance)


@dataclass(frozen=True)
class Rescaled:
    """Systems in other units; `lost` says which noises doubles cannot hold beside the others."""

    alignment: FloatArray
    clip: FloatArray
    weight: FloatArray
    noise: FloatArray
    lost: NDArray[np.bool_]


def rescaled(alignment: FloatArray, clip: FloatArray, weight: FloatArray, noise: FloatArray) -> Rescaled:
    """What :meth:`InferenceSystem.normalised` says, for any leading axes; the last is that of the devices.

    Parameters
    ----------
    alignment : ndarray, shape (...)
    clip, weight : ndarray, shape (..., K)
    noise : ndarray, shape (..., K + 1)
        The receiver's last.
    """
    gamma, shift = np.frexp(alignment)
    clip, lift = np.frexp(clip)
    shift = np.asarray(shift, dtype=np.int64)[..., None]
    sent = np.arange(noise.shape[-1]) < noise.shape[-1] - 1
    heard = np.frexp(noise)[1] + np.where(sent, 2 * shift, 0)
    present = noise > 0
    most = np.max(np.where(present, heard, -_NEVER), axis=-1, keepdims=True)
    half = np.where(most > -_NEVER, most // 2, 0)
    least = np.minimum(np.min(np.where(present, heard, _NEVER), axis=-1, keepdims=True), 2 * half) - 2 * half
    half = half - np.minimum(np.maximum(_LEAST_EXPONENT + 1 - least, 0), _GREATEST_EXPONENT) // 2
    lost = present & (heard - 2 * half < _LEAST_EXPONENT)

    def scaled(value: FloatArray, exponent: IntArray) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):
            moved = np.ldexp(value, exponent)
        return np.where(value > 0, np.clip(moved, _TINY, np.finfo(float).max), 0.0)

    return Rescaled(
        alignment=gamma,
        clip=clip,
        weight=scaled(weight, lift + shift - half),
        noise=scaled(np.where(lost, 0.0, noise), np.where(sent, 2 * (shift - half), -2 * half)),
        lost=lost,
    )


def vanishing(name: str, noise: FloatArray, place: tuple[int, ...]) -> checks.ParameterError:
    """That a noise is too small beside the greatest of its system."""
    greatest = float(np.max(noise[place[:-1]]))
    return checks.ParameterError(
        f"{name}[{place[0]}]",
        float(noise[place]),
        f"0 or, times the square of the alignment, within a factor of 1e600 of the greatest noise, {greatest:g}",
    )


def device_indices(system: InferenceSystem, device: ArrayLike | None) -> checks.IntArray:
    """The devices meant: all of them for None."""
    if device is None:
        return np.arange(system.devices)
    return checks.integer("device", device, f"[0, {system.devices - 1}]")


@dataclass(frozen=True, eq=False, kw_only=True)
class HomogeneousSystems:
    """Systems over the air whose devices are equal, one entry a system; a scalar stands for equal entries.

    What takes one of them is answered once a system: its devices share the answer.

    Parameters
    ----------
    devices, dimension : array_like of int, shape (N,)
    participation, noise_variance, weight, clip, alignment, receiver_noise_variance, delta : array_like, shape (N,)
        Of every device of a system, or of the system.
    delta_prime : array_like, optional
        Needed only by what Theorem 1 claims.
    adjacency : Adjacency or str
        One for all, and so is `idle_noise`.
    idle_noise : bool

    Raises
    ------
    ParameterError
        As :class:`~airtight.analytics.inference.system.InferenceSystem`, naming the entry.

    Examples
    --------
    >>> systems = HomogeneousSystems(devices=12, participation=[0.5, 0.9], noise_variance=0.1, weight=1/12, clip=5.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent")
    >>> systems.size, systems.sensitivity.round(4)
    (2, array([0.4167, 0.4167]))
    """

    devices: IntArray
    participation: FloatArray
    noise_variance: FloatArray
    weight: FloatArray
    clip: FloatArray
    alignment: FloatArray
    receiver_noise_variance: FloatArray
    dimension: IntArray
    delta: FloatArray
    delta_prime: FloatArray | None = None
    adjacency: Adjacency = Adjacency.ABSENT
    idle_noise: bool = False

    def __post_init__(self) -> None:
        allowed = parameters.of(InferenceSystem)
        columns: dict[str, FloatArray | IntArray] = {}
        for field in fields(self):
            given, interval = getattr(self, field.name), allowed[field.name].interval
            if given is None and field.name == "delta_prime":
                continue
            if field.name in ("adjacency", "idle_noise"):
                self.__dict__[field.name] = allowed[field.name].checked(given)
            elif isinstance(allowed[field.name], parameters.Count):
                columns[field.name] = checks.integer(field.name, given, interval)
            else:
                columns[field.name] = checks.real(field.name, given, interval)
        for name, column in zip(columns, checks.broadcast(**columns), strict=True):
            if column.ndim > 1:
                raise ParameterError(name, f"array of shape {column.shape}", "one axis of systems")
            self.__dict__[name] = np.atleast_1d(column)

    @property
    def size(self) -> int:
        """N, how many systems."""
        return int(self.devices.size)

    @property
    def sensitivity(self) -> FloatArray:
        """See :attr:`~airtight.analytics.inference.system.InferenceSystem.sensitivity`."""
        return sensitivity(self.adjacency, self.alignment, self.weight, self.clip)

    @property
    def received_noise_variance(self) -> FloatArray:
        """Of one device; see :attr:`~airtight.analytics.inference.system.InferenceSystem.received_noise_variance`."""
        return received_noise_variance(self.alignment, self.noise_variance)

    def only(self, systems: ArrayLike) -> HomogeneousSystems:
        """Some of them."""
        part = np.asarray(systems)
        columns = {name: value[part] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **columns)

    def normalised(self) -> HomogeneousSystems:
        """The same privacy in other units; see :meth:`~airtight.analytics.inference.system.InferenceSystem.normalised`.

        Examples
        --------
        >>> systems = HomogeneousSystems(devices=2, participation=1.0, noise_variance=[1e-300, 1e300], weight=1.0, clip=3.0,
        ...     alignment=8.0, receiver_noise_variance=0.0, dimension=1, delta=1e-5)
        >>> systems.normalised().received_noise_variance.round(3)
        array([0.167, 0.373])
        """
        noise = np.stack([self.noise_variance, self.receiver_noise_variance], axis=-1)
        scaled = rescaled(self.alignment, self.clip[:, None], self.weight[:, None], noise)
        vanished = scaled.lost[:, 0]
        if np.any(vanished) and self.adjacency is Adjacency.ABSENT and not self.idle_noise:
            raise vanishing("noise_variance", noise, (int(np.flatnonzero(vanished)[0]), 0))
        return replace(
            self,
            alignment=scaled.alignment,
            clip=scaled.clip[:, 0],
            weight=scaled.weight[:, 0],
            noise_variance=scaled.noise[:, 0],
            receiver_noise_variance=scaled.noise[:, 1],
        )


def groups_of_devices(system: InferenceSystem, groups: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Groups of devices by number; refused where a device does not exist, is named twice, or colludes.

    Examples
    --------
    >>> system = InferenceSystem(devices=3, participation=1.0, noise_variance=1.0, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=2, delta=1e-5)
    >>> groups_of_devices(system, [[0, 2]])
    ((0, 2),)
    """
    if not isinstance(groups, Iterable):
        raise ParameterError("groups", groups, "lists of devices, none empty")
    checked = tuple(_group(system, group) for group in groups)
    _demand_disjoint(checked)
    return checked


def _group(system: InferenceSystem, group: Sequence[int]) -> tuple[int, ...]:
    """The devices of a group, of which none colludes."""
    devices = checks.integer("groups", group, f"[0, {system.devices - 1}]")
    if devices.ndim != 1 or not devices.size:
        raise ParameterError("groups", group, "lists of devices, none empty")
    if np.any(system.partners[devices]):
        raise ParameterError("groups", group, "devices that do not collude")
    return tuple(int(k) for k in devices)


def _demand_disjoint(groups: Sequence[Sequence[int]]) -> None:
    named = [k for group in groups for k in group]
    if not named:
        raise ParameterError("groups", [], "at least one group")
    twice = sorted({k for k in named if named.count(k) > 1})
    if twice:
        raise ParameterError("groups", [list(group) for group in groups], f"disjoint: device {twice[0]} is named twice")
