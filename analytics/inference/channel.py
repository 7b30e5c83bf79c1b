r"""The wireless channel: from distances, fading and a power limit to the coefficients at which devices are received.

Every device inverts its coefficient to antenna 1 of the server, as FDP Eq. (4) does, so that its code arrives there with the
amplitude gamma. At the other antennas it arrives with the ratio of two coefficients. A *look* is one real or complex
observation of the air; the coefficients of all devices at all looks are what privacy and error depend on
(:mod:`airtight.analytics.privacy.over_the_air.multi_antenna.channel_privacy`, docs/channel.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.block_energy import peak_energy
from airtight.analytics.inference.fading import LAWS, Fading, FadingName, PowerGain
from airtight.analytics.parameters import (
    Choice,
    Count,
    Described,
    Flag,
    Number,
    OptionalNumber,
    OptionalVector,
    Parameter,
    Vector,
    of,
)

_LEAST, _GREATEST = 1e-75, 1e75  # moduli of coefficients: their squares, and quotients of these, are normal doubles
# parameters that mean nothing where the looks are given
_OF_DRAWN_LOOKS = "antennas", "fading", "mean_power", "distance", "max_power", "csi_error", "states", "seed", "eavesdropper"
_AGREEMENT = 1e-9  # relative difference up to which a system's participation is that of its power limit


class Transmitters(Protocol):
    """What a channel needs to know of the system over it: see :class:`~airtight.analytics.inference.system.InferenceSystem`."""

    @property
    def devices(self) -> int: ...
    @property
    def participation(self) -> FloatArray: ...
    @property
    def noise_variance(self) -> FloatArray: ...
    @property
    def weight(self) -> FloatArray: ...
    @property
    def clip(self) -> FloatArray: ...
    @property
    def alignment(self) -> float: ...
    @property
    def receiver_noise_variance(self) -> float: ...
    @property
    def dimension(self) -> int: ...
    @property
    def idle_noise(self) -> bool: ...
    def derived(self, **values: Any) -> Self: ...


Over = TypeVar("Over", bound=Transmitters)


class CodeModel(StrEnum):
    """What one coordinate of a code is.

    ======= ==========================================================================================
    value   meaning
    ======= ==========================================================================================
    real    a real symbol; both parts of what a complex channel delivers are looks, each with the
            receiver's noise variance
    complex half of a complex symbol: r coordinates are r/2 symbols, all noise is circular, and all
            variances are per real coordinate
    ======= ==========================================================================================
    """

    REAL = "real"
    COMPLEX = "complex"


CodeModelName: TypeAlias = CodeModel | Literal["real", "complex"]


class PowerLimit(StrEnum):
    """What `max_power` limits; in every case who sends depends on the channel alone, never on data.

    ========= ==================================================================================================
    value     a device sends where the gain suffices for
    ========= ==================================================================================================
    block     the mean energy of a block, given the gain, to be at most the limit
    peak      the energy of a block, given the gain, to exceed the limit with probability `peak_outage` at most
    long_term the mean energy over blocks and gains to be at most the limit; a silent device spends none
    ========= ==================================================================================================
    """

    PER_BLOCK = "block"
    PEAK = "peak"
    LONG_TERM = "long_term"


PowerLimitName: TypeAlias = PowerLimit | Literal["block", "peak", "long_term"]


def moderate(name: str, table: NDArray[Any]) -> NDArray[Any]:
    """The table in double precision; every modulus must be 0 or between 1e-75 and 1e75: then no square overflows or underflows.

    Entries of all types are compared in the widest one, so that none that a double cannot hold counts as 0 or as infinite.
    """
    wide, double = (np.clongdouble, np.complex128) if table.dtype.kind == "c" else (np.longdouble, np.float64)
    with np.errstate(all="ignore"):
        size = np.abs(table if table.dtype == double else table.astype(wide))
    outside = np.argwhere(~((size == 0) | ((size >= _LEAST) & (size <= _GREATEST))))
    if outside.size:
        index = tuple(map(int, outside[0]))
        raise ParameterError(name, table[index].item(), f"0 or of modulus between {_LEAST:g} and {_GREATEST:g}", index)
    return table.astype(double, copy=False)


class _LookTable(Parameter[ArrayLike | None, Any]):
    """Coefficients of devices at looks, shape (states, K, L), real or complex; None where they are drawn."""

    holds = "array (states, K, L)"

    def checked(self, value: Any) -> Any:
        if value is None:
            return None
        table = checks.rectangular(self.name, value)
        if table.ndim == 4 and table.shape[-1] == 2 and table.dtype.kind in "fiu":  # pairs, as JSON has them
            table = table[..., 0] + 1j * table[..., 1]
        if table.ndim != 3 or table.size == 0 or table.dtype.kind not in "fciu":
            raise ParameterError(self.name, f"array of shape {table.shape}", "numbers of shape (states, K, looks)")
        table = moderate(self.name, table).copy()
        table.flags.writeable = False
        return table


@dataclass(frozen=True, eq=False, kw_only=True)
class Eavesdropper(Described):
    """A second observer, with antennas of its own, at which nobody aligns.

    Parameters
    ----------
    antennas : int
        At least 1.
    mean_power : array_like, shape (K,) or scalar
        Mean power gain from each device.
    receiver_noise_variance : float, optional
        Variance of its noise per real coordinate; by default that of the server.
    """

    antennas: Count = Count("M_e", "[1, 4096]", "number of antennas of the eavesdropper", default=1)
    mean_power: Vector = Vector(r"\Omega_{e,k}", "(0, inf)", "mean power gain from the device to the eavesdropper", default=1.0)
    receiver_noise_variance: OptionalNumber = OptionalNumber(
        r"\sigma_e^2",
        "[0, inf)",
        "variance of the eavesdropper's receiver noise per real coordinate; the server's without it",
        default=None,
    )


class _Listener(Parameter[Any, Eavesdropper | None]):
    """An eavesdropper, or the mapping of its parameters; None where there is none."""

    holds = "table"

    def checked(self, value: Any) -> Eavesdropper | None:
        if value is None or isinstance(value, Eavesdropper):
            return value
        allowed = ", ".join(of(Eavesdropper))
        if not isinstance(value, Mapping) or not value.keys() <= of(Eavesdropper).keys():
            raise ParameterError(self.name, value, f"a table with {allowed}")
        try:
            return Eavesdropper(**value)
        except ParameterError as error:
            raise ParameterError(f"{self.name}.{error.name}", error.value, error.allowed, error.index) from None


@dataclass(frozen=True, eq=False, kw_only=True)
class Channel(Described):
    r"""The channel between the devices and the server; without one, every device is received once, at amplitude gamma.

    Parameters
    ----------
    model : {"real", "complex"}
        What a coordinate of the code is; see :class:`CodeModel`.
    antennas : int
        M >= 1, of the server.
    looks : array_like, shape (states, K, L), optional
        Coefficients relative to the alignment gamma, instead of drawn ones: device k is received at look l with amplitude
        gamma looks[s, k, l] in state s. States are equally likely.
    fading : {"none", "rayleigh", "rician", "nakagami", "lognormal"}
        See :class:`Fading`.
    k_factor, shape, shadowing_db : float, optional
        Of Rician, Nakagami and log-normal fading; each is required there, and refused elsewhere. One antenna that is inverted
        perfectly shows nothing of the law, but by who has power enough to send.
    mean_power : array_like, shape (K,) or scalar, optional
        :math:`\Omega_k = E|h_k|^2 > 0`; 1 by default.
    distance : array_like, shape (K,) or scalar, optional
        In metres; then :math:`\Omega_k` = reference_gain * distance^-path_loss_exponent, and `mean_power` is absent.
    path_loss_exponent, reference_gain : float, optional
        4 and 1 by default, with `distance` only.
    max_power : array_like, shape (K,) or scalar, optional
        P_k in W times symbol periods, a limit of the energy of a block. A device sends when its gain suffices
        (:meth:`threshold`), so the channel decides who takes part.
    power_limit : {"block", "peak", "long_term"}
        What `max_power` limits; see :class:`PowerLimit`.
    peak_outage : float, optional
        Probability with which a block may exceed `max_power`, with ``power_limit="peak"`` only.
    csi_error : float
        Variance of the relative error of the inverted coefficient, circular and independent over devices.
    known : bool
        Whether the observer knows the coefficients.
    states : int
        Number of states that are drawn and that stand for the law of the channel.
    fresh : bool
        Whether every round has a new state; otherwise one state lasts for all rounds.
    seed : int
        With which states are drawn.
    eavesdropper : Eavesdropper or mapping, optional
        A second observer with looks of its own.

    Raises
    ------
    ParameterError
        When a value is out of range, or keys contradict each other.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=3, participation=1.0, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5)
    >>> channel = Channel(antennas=2, fading="rayleigh", max_power=4.0, states=5)
    >>> channel.participation(system).round(4)
    array([0.6376, 0.6376, 0.6376])
    >>> channel.draw(channel.with_participation(system)).coefficients.shape  # real codes: both parts of every antenna are looks
    (5, 3, 4)
    """

    model: Choice[CodeModelName, CodeModel] = Choice(
        "", "", "whether a coordinate is a real symbol (real) or half of a complex one (complex)", default=CodeModel.REAL
    )
    antennas: Count = Count("M", "[1, 4096]", "number of antennas of the server", default=1)
    looks: _LookTable = _LookTable(  # noqa: RUF009
        "", "", "given coefficients of the antenna signals, instead of drawn ones; in a file, `file`", default=None
    )
    fading: Choice[FadingName, Fading] = Choice(
        "",
        "",
        "law of the fading; none: all antennas receive the same; rician needs k_factor, nakagami shape",
        default=Fading.NONE,
    )
    k_factor: OptionalNumber = OptionalNumber(
        "K_R", "[0, 1e6]", "power of the line of sight over that of the scatter; with rician fading only", default=None
    )
    shape: OptionalNumber = OptionalNumber(
        "m", "[0.5, 1e6]", "shape of the gamma law of the power gain; with nakagami fading only", default=None
    )
    shadowing_db: OptionalNumber = OptionalNumber(
        r"\sigma_{dB}", "(0, 100]", "standard deviation of the shadowing; with lognormal fading only", unit="dB", default=None
    )
    mean_power: OptionalVector = OptionalVector(
        r"\Omega_k",
        "(0, inf)",
        "mean power gain of the channel; without it that of the distance, or 1",
        default=None,
    )
    distance: OptionalVector = OptionalVector("d_k", "(0, inf)", "distance from the device to the server", unit="m", default=None)
    path_loss_exponent: OptionalNumber = OptionalNumber(
        "", "[0, 100]", "exponent with which the gain falls with the distance; 4 without it", default=None
    )
    reference_gain: OptionalNumber = OptionalNumber(
        "", "(0, inf)", "power gain at a distance of one metre; 1 without it", default=None
    )
    max_power: OptionalVector = OptionalVector(
        "P_k",
        "(0, inf)",
        "greatest energy of a block; a device whose channel needs more stays silent",
        unit="W times symbol periods",
        default=None,
    )
    power_limit: Choice[PowerLimitName, PowerLimit] = Choice(
        "",
        "",
        "what max_power limits: mean energy of each block (block), all but rare blocks (peak), mean of all blocks (long_term)",
        default=PowerLimit.PER_BLOCK,
    )
    peak_outage: OptionalNumber = OptionalNumber(
        r"\eta", "(0, 1)", "probability that a block may exceed max_power; with power_limit = peak only", default=None
    )
    csi_error: Number = Number(
        "", "[0, inf)", "variance of the relative error with which a device knows its channel coefficient", default=0.0
    )
    known: Flag = Flag("", "", "whether the observer knows the channel coefficients", default=True)
    states: Count = Count(
        "",
        "[1, 1000000]",
        "number of channel states drawn at random; results are averages or worst cases over them",
        default=200,
    )
    fresh: Flag = Flag(
        "", "", "whether every round draws a new channel state; otherwise one state lasts for all rounds", default=True
    )
    seed: Count = Count("", "[0, 4294967295]", "seed of the drawn channel states", default=0)
    eavesdropper: _Listener = _Listener("", "", "a second observer with antennas of its own", default=None)  # noqa: RUF009

    def __post_init__(self) -> None:
        for fading, law in LAWS.items():
            if law.parameter is None:
                continue
            value = getattr(self, law.parameter)
            if self.fading is fading and value is None:
                raise ParameterError(law.parameter, None, f"a number, since fading = {fading.value!r}")
            if self.fading is not fading and value is not None:
                raise ParameterError(law.parameter, value, f"absent unless fading = {fading.value!r}")
        if self.max_power is None and self.power_limit is not PowerLimit.PER_BLOCK:
            raise ParameterError("power_limit", self.power_limit.value, "absent without max_power")
        if (self.power_limit is PowerLimit.PEAK) != (self.peak_outage is not None):
            allowed = "a number, since" if self.peak_outage is None else "absent unless"
            raise ParameterError("peak_outage", self.peak_outage, f"{allowed} power_limit = 'peak'")
        if self.distance is None:
            for name in ("path_loss_exponent", "reference_gain"):
                if getattr(self, name) is not None:
                    raise ParameterError(name, getattr(self, name), "absent without distance")
        elif self.mean_power is not None:
            raise ParameterError("mean_power", checks.array_text(self.mean_power), "absent where distance is given")
        if self.looks is not None:
            for name in _OF_DRAWN_LOOKS:
                if np.any(getattr(self, name) != of(Channel)[name].default):
                    raise ParameterError(name, getattr(self, name), "absent where the looks themselves are given")

    @property
    def decides_participation(self) -> bool:
        """Whether the channel decides who takes part, by the power limit."""
        return self.max_power is not None

    @property
    def one_look(self) -> bool:
        """Whether the server receives every device once, at the amplitude of alignment."""
        return self.looks is None and self.antennas == 1 and self.csi_error == 0

    @property
    def antennas_alike(self) -> bool:
        """Whether several antennas, of the server or an eavesdropper, receive each device alike, as there is no fading."""
        several = self.antennas > 1 or self.eavesdropper is not None
        return several and self.looks is None and self.fading is Fading.NONE

    def gain_means(self, devices: int) -> FloatArray:
        """Omega_k, the mean power gain of each of K devices.

        Examples
        --------
        >>> Channel(distance=[10.0, 20.0], path_loss_exponent=2.0).gain_means(2)
        array([0.01  , 0.0025])
        """
        if self.distance is None:
            return checks.vector("mean_power", 1.0 if self.mean_power is None else self.mean_power, devices, "(0, inf)")
        distance = checks.vector("distance", self.distance, devices, "(0, inf)")
        exponent = 4.0 if self.path_loss_exponent is None else self.path_loss_exponent
        with np.errstate(over="ignore", under="ignore"):
            gain = (1.0 if self.reference_gain is None else self.reference_gain) * distance**-exponent
        if (beyond := np.flatnonzero(~((gain > 0) & (gain < np.inf)))).size:
            k = int(beyond[0])
            allowed = f"such that the mean power gain, here {float(gain[k])!r}, is positive and finite"
            raise ParameterError("distance", float(distance[k]), allowed, (k,) if np.ndim(self.distance) else ())
        return gain

    @property
    def power_gain(self) -> PowerGain:
        """The law of the power gain of a device at one antenna, over its mean."""
        law = LAWS[self.fading]
        return law(*(() if law.parameter is None else (getattr(self, law.parameter),)))

    def threshold(self, system: Transmitters) -> FloatArray:
        r"""Power gain from which a device sends, shape (K,); 0 without a power limit.

        Notes
        -----
        A block :math:`x_k` of a code as long as the clip has the mean energy
        :math:`\gamma^2e_k/|h_k|^2`, :math:`e_k = w_k^2C_k^2 + r\sigma_k^2`. The thresholds are

        * ``block``: :math:`g_k = \gamma^2e_k/P_k`;
        * ``peak``: :math:`g_k = \gamma^2\sigma_k^2F^{-1}(1-\eta)/P_k`, F the noncentral :math:`\chi^2` law of r degrees and
          noncentrality :math:`w_k^2C_k^2/\sigma_k^2`: at the gain :math:`g_k` the energy exceeds :math:`P_k` with probability
          :math:`\eta`, and shorter codes or greater gains make this less likely;
        * ``long_term``: the least :math:`g_k` with :math:`\gamma^2e_kE[1/|h_k|^2; |h_k|^2 \ge g_k] \le P_k`.

        Each counts every code as long as its clip, so that who sends does not depend on data. A block of mean energy
        :math:`P_k` exceeds :math:`P_k` with a probability of .317 (one real number) to .5.

        Examples
        --------
        >>> from airtight.analytics.inference.system import InferenceSystem
        >>> system = InferenceSystem(devices=1, participation=1.0, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0,
        ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5)
        >>> limits = {"block": {}, "peak": {"peak_outage": 0.01}, "long_term": {}}
        >>> [float(Channel(fading="rayleigh", max_power=2.0, power_limit=limit, **keys).threshold(system)[0].round(3))
        ...     for limit, keys in limits.items()]
        [0.9, 1.96, 0.23]
        """
        if self.max_power is None:
            return np.zeros(system.devices)
        power = checks.vector("max_power", self.max_power, system.devices, "(0, inf)")
        code, noise = (system.weight * system.clip) ** 2, system.noise_variance
        energy = code + system.dimension * noise
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            match self.power_limit:
                case PowerLimit.PER_BLOCK:
                    threshold = system.alignment**2 * energy / power
                case PowerLimit.PEAK:
                    greatest = peak_energy(code, noise, system.dimension, self.peak_outage or 0.5)
                    threshold = system.alignment**2 * greatest / power
                case PowerLimit.LONG_TERM:
                    mean = self.gain_means(system.devices)
                    allowed = np.where(energy > 0, power * mean / (system.alignment**2 * energy), np.inf)
                    threshold = mean * self.power_gain.threshold_for(allowed)
        return np.asarray(threshold)

    def participation(self, system: Transmitters) -> FloatArray:
        r"""Probability that each device sends, :math:`P(|h_k|^2 \ge g_k)`, or the system's where no power is limited."""
        if self.max_power is None:
            return system.participation
        return self._exceeds(self.threshold(system), self.gain_means(system.devices))

    def _exceeds(self, threshold: FloatArray, mean: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return self.power_gain.exceeds(threshold / mean)

    def inverse_gain(self, system: Transmitters) -> FloatArray:
        r"""Mean of :math:`1/|h_k|^2` given that device k sends, shape (K,): the price of inverting the channel.

        The mean energy of a sent block is :math:`\gamma^2(w_k^2|z_k|^2 + r\sigma_k^2)` times this. Without a power limit it is
        infinite where the density of the gain does not vanish at 0, as for Rayleigh and Rician fading.

        Raises
        ------
        ParameterError
            Where the looks are given, which do not tell the gains.

        Notes
        -----
        :meth:`~airtight.analytics.inference.fading.PowerGain.inverse_above` over the probability of sending.

        Examples
        --------
        >>> from airtight.analytics.inference.system import InferenceSystem
        >>> system = InferenceSystem(devices=1, participation=1.0, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0,
        ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5)
        >>> Channel(fading="rayleigh", max_power=4.0).inverse_gain(system).round(4), Channel().inverse_gain(system)
        (array([0.9807]), array([1.]))
        """
        if self.looks is not None:
            raise ParameterError("looks", "given", "absent where energy is asked for: looks do not tell the gains")
        mean, threshold = self.gain_means(system.devices), self.threshold(system)
        sends = self._exceeds(threshold, mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = self.power_gain.inverse_above(threshold / mean) / mean
            return np.asarray(np.where(sends > 0, inverse / sends, np.inf))

    def with_participation(self, system: Over) -> Over:
        """The system with the participation that the power limit decides; the system itself without such a limit.

        Raises
        ------
        ParameterError
            When no device ever sends.
        """
        if self.max_power is None:
            return system
        sends = self.participation(system)
        if not np.any(sends > 0):
            allowed = "enough for some device to send at times (a lower alignment needs less)"
            raise ParameterError("max_power", checks.array_text(np.asarray(self.max_power)), allowed)
        return system.derived(participation=sends)

    def check(self, system: Transmitters) -> None:
        """Raise a ParameterError where this channel cannot be that of the system."""
        if self.looks is not None and self.looks.shape[1] != system.devices:
            raise ParameterError("looks", f"array of shape {self.looks.shape}", f"(states, {system.devices}, looks)")
        if self.model is CodeModel.COMPLEX and system.dimension % 2:
            raise ParameterError("dimension", system.dimension, "even where a coordinate is half of a complex symbol")
        self.gain_means(system.devices)
        if self.eavesdropper is not None:
            checks.vector("eavesdropper.mean_power", self.eavesdropper.mean_power, system.devices, "(0, inf)")
        if self.max_power is None:
            return
        if system.idle_noise:
            raise ParameterError(
                "idle_noise", True, "false with max_power: a device whose power does not suffice is silent"
            )
        expected = self.participation(system)
        if not np.allclose(system.participation, expected, rtol=_AGREEMENT, atol=1e-300):
            raise ParameterError(
                "participation",
                checks.array_text(system.participation),
                "what the power limit decides: use channel.with_participation(system)",
            )

    def common_looks(self) -> NDArray[Any] | None:
        """The coefficients, shape (L,), where every device is received with the same ones in every state; None otherwise."""
        if self.looks is not None:
            table = _looked(self.looks, self.model)
            return table[0, 0] if np.all(table == table[:1, :1]) and np.any(table) else None
        same = self.csi_error == 0 and (self.antennas == 1 or self.fading is Fading.NONE)
        return np.ones(self.antennas) if same else None

    def draw(self, system: Transmitters, *, eavesdropper: bool = False) -> Looks:
        """The states of the channel, as the server or the eavesdropper receives them.

        With a power limit the coefficients of a device are those *given that it sends*, and `sends` says for every state
        which devices do: the two are independent, so that both may be conditioned on one device sending.
        """
        self.check(system)
        listener = self.eavesdropper if eavesdropper else None
        noise = system.receiver_noise_variance
        if listener is not None and listener.receiver_noise_variance is not None:
            noise = listener.receiver_noise_variance
        if self.looks is not None:
            return Looks(_looked(self.looks, self.model), None, noise)
        rng, shape = np.random.default_rng(self.seed), (self.states, system.devices)
        mean, threshold = self.gain_means(system.devices), self.threshold(system)
        sends = rng.random(shape) < system.participation if self.decides_participation else None
        # the gain at antenna 1, given that the device sends
        aligned = self.power_gain.drawn_above(rng.random(shape), threshold, mean)
        error = np.sqrt(self.csi_error / 2) * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
        others = _ratios(self, rng, aligned, mean, self.antennas - 1, same_place=True)
        if listener is not None:
            power = checks.vector("mean_power", listener.mean_power, system.devices)
            coefficients = _ratios(self, rng, aligned, power, listener.antennas, same_place=False)
        else:
            coefficients = np.concatenate([np.ones((*shape, 1)), others], axis=2)
        if self.csi_error > 0:
            coefficients = coefficients * (1 + error)[..., None]
        self._check_drawn(coefficients, listener)
        return Looks(_looked(coefficients, self.model), sends, noise)

    def _check_drawn(self, coefficients: NDArray[Any], listener: Eavesdropper | None) -> None:
        """Raise a ParameterError that names what puts drawn coefficients out of the range of :func:`moderate`."""
        try:
            moderate("coefficients", coefficients)
        except ParameterError as error:
            if listener is not None:
                name, value = "eavesdropper.mean_power", np.asarray(listener.mean_power)
            elif self.csi_error > _GREATEST:
                name, value = "csi_error", np.asarray(self.csi_error)
            else:
                named = ("max_power", "distance", "mean_power")
                name, value = next(
                    (each, np.asarray(getattr(self, each))) for each in named if getattr(self, each) is not None
                )
            allowed = f"such that coefficients relative to the aligned one, here {error.value:.3g}, are {error.allowed}"
            raise ParameterError(name, checks.array_text(value), allowed) from None


@dataclass(frozen=True)
class Looks:
    """States of a channel.

    Attributes
    ----------
    coefficients : ndarray, shape (states, K, L)
        Real or complex, relative to the alignment.
    sends : ndarray of bool, shape (states, K), or None
        Which devices send, where the channel decides it.
    receiver_noise_variance : float
        Of every look, per real coordinate.
    """

    coefficients: NDArray[Any]
    sends: NDArray[np.bool_] | None
    receiver_noise_variance: float


def _looked(coefficients: NDArray[Any], model: CodeModel) -> NDArray[Any]:
    """Looks of the model: for real codes the two parts of complex coefficients are two looks."""
    if not np.iscomplexobj(coefficients):
        return coefficients
    if not np.any(coefficients.imag):
        return np.ascontiguousarray(coefficients.real)
    if model is CodeModel.COMPLEX:
        return coefficients
    return np.concatenate([coefficients.real, coefficients.imag], axis=2)


def _ratios(
    channel: Channel,
    rng: np.random.Generator,
    aligned: FloatArray,
    mean: FloatArray,
    antennas: int,
    *,
    same_place: bool,
) -> NDArray[Any]:
    """Coefficients at further antennas over the inverted one, shape (states, K, antennas)."""
    shape = (*aligned.shape, antennas)
    if channel.fading is Fading.NONE:
        return np.sqrt(np.broadcast_to((mean / aligned)[..., None], shape))
    zero = np.zeros(aligned.shape[1])
    phase = np.exp(2j * np.pi * rng.random(shape))
    if channel.power_gain.common_to_antennas:
        shadow = aligned if same_place else channel.power_gain.drawn_above(rng.random(aligned.shape), zero, mean)
        gains = np.broadcast_to(shadow[..., None], shape)
    else:
        drawn = channel.power_gain.drawn_above(rng.random((shape[0], antennas, shape[1])), zero, mean)
        gains = np.moveaxis(drawn, 1, 2)
    return np.asarray(np.sqrt(gains / aligned[..., None]) * phase)
