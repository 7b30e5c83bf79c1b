r"""A fleet of wireless devices: channel, rate, time, power and energy of a round (UF Sec. II-E, II-F).

Symbols of the exact results, one number per device:

=========================== ============ ============================================================
:math:`A`                   s            time of one iteration, bits per iteration times seconds per bit
:math:`a`                   s            :math:`V\log2/B`, so that the transmission time is a/Z
:math:`g`                   1/W          :math:`\kappa|h|^2/(\sigma^2r^\alpha\Gamma)`, SNR over gap for one watt
:math:`Z`                   nat          :math:`\log(1+gP)`, P the transmit power
=========================== ============ ============================================================
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks, parameters
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.federated.fair import estimated_channel
from airtight.analytics.parameters import Described, Vector

SPEED_OF_LIGHT = 299_792_458.0  # m/s
_PLAUSIBLE_POWER = 10.0  # W; greater powers cause a warning, because devices of this field send milliwatts


@dataclass(frozen=True, eq=False, kw_only=True)
class DeviceFleet(Described):
    """Devices that compute and transmit within a deadline; a scalar holds for all devices, an array has one entry each.

    Attributes
    ----------
    distance : ndarray, shape (K,)
        r, m.
    channel_gain : ndarray
        abs(h)^2.
    bandwidth : ndarray
        B, Hz.
    center_frequency : ndarray
        f_c, Hz.
    path_loss_exponent : ndarray
        alpha >= 0.
    noise_density_dbm : ndarray
        N_0, dBm/Hz; the noise power is N_0 B.
    snr_gap_db : ndarray
        Gamma, dB, >= 0.
    model_bits : ndarray
        V, bit.
    deadline : ndarray
        T, s.
    bits_per_iteration : ndarray
        d, bit: the data that the device reads in one local iteration. The paper's "number of samples" contradicts its
        unit of tau, seconds per bit.
    seconds_per_bit : ndarray
        tau, s/bit.
    compute_power, circuit_power, max_power : ndarray
        P_cp > 0, P_cir >= 0, P_max > 0, W.
    amplifier_efficiency : ndarray
        rho in (0, 1].
    min_iterations : ndarray
        j_min >= 0.
    utility_energy : ndarray
        varrho, J: the energy term of the utility is greatest at an energy of varrho/2.
    beta_1, beta_2 : ndarray
        Parameters of the deviation model (28); beta_2 in J.
    csi_error : ndarray
        Variance of the relative error of the estimated coefficient: the channel is h(1 + e), with e circular Gaussian of this
        variance and h the estimate.
    outage : ndarray
        Probability, given the estimate, that the channel does not carry the rate; at least 1e-20 where `csi_error` is
        positive.

    Warns
    -----
    UserWarning
        If a power, in W, looks like a value in dBm, or the noise density like one in W/Hz.

    Examples
    --------
    >>> fleet = table_1(distance=[50.0, 200.0])
    >>> fleet.rate(fleet.max_power).round(-3)
    array([5789000., 3789000.])
    """

    distance: Vector = Vector("r", "(0, 1e100]", "distance from the device to the server", unit="m", typical=(50, 200))
    channel_gain: Vector = Vector(
        "|h|^2", "(0, 1e100]", "power gain of the fading, beside the path loss", typical=(1, 1), default=1.0
    )
    bandwidth: Vector = Vector("B", "(0, 1e100]", "bandwidth of the uplink", unit="Hz", typical=(250000.0, 250000.0))
    center_frequency: Vector = Vector("f_c", "(0, 1e100]", "carrier frequency", unit="Hz", typical=(32000000.0, 32000000.0))
    path_loss_exponent: Vector = Vector(
        r"\alpha", "[0, 20]", "exponent with which the gain falls with the distance", typical=(4, 4)
    )
    noise_density_dbm: Vector = Vector(
        "N_0", "[-1000, 1000]", "power of the receiver noise per hertz of bandwidth", unit="dBm/Hz", typical=(-174, -174)
    )
    snr_gap_db: Vector = Vector(
        r"\Gamma", "[0, 200]", "gap between the rate in use and the Shannon capacity", unit="dB", typical=(9.8, 9.8)
    )
    model_bits: Vector = Vector(
        "V", "(0, 1e100]", "size of an update that a device sends", unit="bit", typical=(875000.0, 875000.0)
    )
    deadline: Vector = Vector(
        "T", "(0, 1e100]", "time in which a device must compute and send in a round", unit="s", typical=(0.75, 0.75)
    )
    bits_per_iteration: Vector = Vector(
        "d", "(0, 1e100]", "data that a device reads in one local iteration", unit="bit", typical=(802816, 802816)
    )
    seconds_per_bit: Vector = Vector(
        r"\tau", "(0, 1e100]", "time to compute on one bit of data", unit="s/bit", typical=(7.5e-09, 7.5e-09)
    )
    compute_power: Vector = Vector(
        "P_{cp}", "(0, 1e100]", "power of the device while it computes", unit="W", typical=(0.096, 0.096)
    )
    circuit_power: Vector = Vector(
        "P_{cir}", "[0, 1e100]", "power of the transmit circuits while the device sends", unit="W", typical=(0.0825, 0.0825)
    )
    amplifier_efficiency: Vector = Vector(
        r"\rho", "(0, 1]", "efficiency of the power amplifier: radiated over drawn power", typical=(0.45, 0.45)
    )
    max_power: Vector = Vector(r"P_{\max}", "(0, 1e100]", "greatest transmit power", unit="W", typical=(1, 1))
    min_iterations: Vector = Vector(r"j_{\min}", "[0, 1e100]", "least number of local iterations in a round", typical=(10, 10))
    utility_energy: Vector = Vector(
        r"\varrho",
        "(0, 1e100]",
        "twice the energy at which the energy term of the utility is greatest",
        unit="J",
        typical=(0.5, 0.5),
    )
    beta_1: Vector = Vector(
        r"\beta_1", "(0, 1e100]", "deviation of a device that spends no energy on computing, UF Eq. (28)", typical=(0.5, 0.5)
    )
    beta_2: Vector = Vector(
        r"\beta_2",
        "(0, 1e100]",
        "compute energy that divides the deviation by e, UF Eq. (28)",
        unit="J",
        typical=(0.05, 0.05),
    )
    csi_error: Vector = Vector(
        "", "[0, 1e100]", "variance of the relative error with which a device knows its channel coefficient", default=0.0
    )
    outage: Vector = Vector("", "[0, 1)", "probability that the channel does not carry the rate in use", default=0.0)

    def __post_init__(self) -> None:
        arrays: dict[str, FloatArray] = {name: getattr(self, name) for name in parameters.of(DeviceFleet)}
        sizes = {name: array.size for name, array in arrays.items() if array.ndim}
        for name, array in arrays.items():
            if array.ndim > 1 or not array.size:
                raise ParameterError(name, f"array of shape {array.shape}", "a number or a non-empty list")
        devices = max(sizes.values(), default=1)
        for name, size in sizes.items():
            if size not in (1, devices):
                longest = next(other for other, count in sizes.items() if count == devices)
                raise ParameterError(name, f"list of {size}", f"a number or a list of {devices}, as {longest} is")
        for name, array in arrays.items():
            full = array if array.size == devices and array.ndim else np.broadcast_to(array, devices)
            full.flags.writeable = False
            self.__dict__[name] = full
        least = estimated_channel.LEAST_OUTAGE  # no rate above 0 is carried with certainty
        unreachable = (self.csi_error > 0) & (self.outage < least)
        if np.any(unreachable):
            k = int(np.argmax(unreachable))
            raise ParameterError("outage", float(self.outage[k]), f"at least {least:g} where csi_error is above 0", (k,))
        self._warn_if_implausible()

    def _warn_if_implausible(self) -> None:
        for name in ("max_power", "compute_power", "circuit_power"):
            watts = float(np.max(getattr(self, name)))
            if watts > _PLAUSIBLE_POWER:
                meant = 10 ** (min(watts, 300.0) / 10 - 3)
                warnings.warn(
                    f"{name} = {watts:g} is read as {watts:g} W; if it is meant in dBm, the power is {meant:.3g} W",
                    stacklevel=4,
                )
        density = float(np.max(self.noise_density_dbm))
        if density > -100:
            warnings.warn(
                f"noise_density_dbm = {density:g} is read as {density:g} dBm/Hz, {10 ** (density / 10 - 3):.3g} W/Hz; "
                "thermal noise is -174 dBm/Hz, 4e-21 W/Hz",
                stacklevel=4,
            )

    @property
    def devices(self) -> int:
        return int(self.distance.size)

    def only(self, devices: IntArray | list[int] | slice) -> DeviceFleet:
        """Some of them, in this order.

        Examples
        --------
        >>> table_1(distance=[50.0, 60.0, 70.0]).only(np.array([2, 0])).distance
        array([70., 50.])
        """
        part = object.__new__(DeviceFleet)
        part.__dict__.update({name: getattr(self, name)[devices] for name in parameters.of(DeviceFleet)})
        return part

    @property
    def path_loss_factor(self) -> FloatArray:
        r""":math:`\kappa = (c/(4\pi f_c))^2`, below (15)."""
        return np.asarray((SPEED_OF_LIGHT / (4 * np.pi * self.center_frequency)) ** 2)

    @property
    def noise_power(self) -> FloatArray:
        """N_0 B, W."""
        return np.asarray(10 ** (self.noise_density_dbm / 10 - 3) * self.bandwidth)

    @property
    def reliable_gain(self) -> FloatArray:
        """abs(h)^2 that the channel falls short of with the probability `outage` at most; `channel_gain` without an error."""
        if not np.any(self.csi_error):
            return self.channel_gain
        return np.asarray(self.channel_gain * estimated_channel.reliable_share(self.csi_error, self.outage))

    @property
    def gain(self) -> FloatArray:
        r"""g, 1/W: the SNR (15) for one watt and :attr:`reliable_gain`, divided by the gap.

        Notes
        -----
        *Hypotheses.* (Ledger UF-outage*.) `csi_error` and `outage` as above; rate and power depend on the estimate only.

        A device sends at the rate :math:`B\log_2(1+\gamma/\Gamma)` of the SNR :math:`\gamma` that it counts on. The channel does
        not carry it exactly where the true SNR is less, that is where the true :math:`|h|^2` is less than the one counted on.
        So this happens with probability at most `outage` if and only if the gain counted on is at most the quantile that
        :attr:`reliable_gain` is. Time and energy of a transmission do not depend on whether it succeeds. Hence the problem with
        the constraint is the problem without it at this gain, and keeps its optimum and its certificate.
        """
        gap = 10 ** (self.snr_gap_db / 10)
        return np.asarray(
            self.path_loss_factor
            * self.reliable_gain
            / (self.noise_power * self.distance**self.path_loss_exponent * gap)
        )

    @property
    def iteration_time(self) -> FloatArray:
        """A = d tau, s."""
        return np.asarray(self.bits_per_iteration * self.seconds_per_bit)

    @property
    def unit_time(self) -> FloatArray:
        """a = V log 2 / B, s: the transmission time at Z = 1 nat."""
        return np.asarray(self.model_bits * np.log(2) / self.bandwidth)

    def log_rate(self, power: ArrayLike) -> FloatArray:
        """Z = log(1 + g P), nat."""
        return np.asarray(np.log1p(self.gain * checks.real("power", power, "[0, inf)")))

    def power(self, log_rate: ArrayLike) -> FloatArray:
        """P = (e^Z - 1)/g, W: Eq. (37), inverse of :meth:`log_rate`."""
        with np.errstate(over="ignore"):
            return np.asarray(np.expm1(np.asarray(log_rate, dtype=float)) / self.gain)

    def rate(self, power: ArrayLike) -> FloatArray:
        """R, bit/s: Eq. (14), (36)."""
        return np.asarray(self.bandwidth * self.log_rate(power) / np.log(2))

    def compute_time(self, iterations: ArrayLike) -> FloatArray:
        """T_cp = j A, s: Eq. (11)."""
        return np.asarray(checks.real("iterations", iterations, "[0, inf)") * self.iteration_time)

    def transmit_time(self, power: ArrayLike) -> FloatArray:
        """T_tx = V/R, s: Eq. (13)."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.unit_time / self.log_rate(power))

    def transmit_power(self, power: ArrayLike) -> FloatArray:
        """P_tx = P/rho + P_cir, W: Eq. (16)."""
        return np.asarray(checks.real("power", power, "[0, inf)") / self.amplifier_efficiency + self.circuit_power)

    def compute_energy(self, iterations: ArrayLike) -> FloatArray:
        """E_cp = T_cp P_cp, J."""
        return np.asarray(self.compute_time(iterations) * self.compute_power)

    def transmit_energy(self, power: ArrayLike) -> FloatArray:
        """E_tx = T_tx P_tx, J: Eq. (58)."""
        return np.asarray(self.transmit_time(power) * self.transmit_power(power))

    def energy(self, iterations: ArrayLike, power: ArrayLike) -> FloatArray:
        """E, J: Eq. (23), (24).

        Examples
        --------
        >>> fleet = table_1(distance=[50.0, 200.0])
        >>> (1e3 * fleet.energy(fleet.max_iterations, fleet.max_power)).round(1)  # mJ, the benchmark scheme
        array([405.8, 582. ])
        """
        return np.asarray(self.compute_energy(iterations) + self.transmit_energy(power))

    def utility(self, iterations: ArrayLike, power: ArrayLike) -> FloatArray:
        r"""U = :math:`\beta_1(1-e^{-E_{cp}/\beta_2}) - E(E-\varrho)`, Eq. (30); with an implicit weight 1/J^2."""
        energy = self.energy(iterations, power)
        learning = -self.beta_1 * np.expm1(-self.compute_energy(iterations) / self.beta_2)
        return np.asarray(learning - energy * (energy - self.utility_energy))

    @property
    def least_time(self) -> FloatArray:
        """j_min A, s: the time of the least number of iterations."""
        return np.asarray(self.min_iterations * self.iteration_time)

    @property
    def max_log_rate(self) -> FloatArray:
        """Z_max, nat: Z at the greatest power."""
        return self.log_rate(self.max_power)

    @property
    def min_log_rate(self) -> FloatArray:
        """Z_min = a/(T - j_min A), nat; infinite if the least number of iterations already takes the whole deadline."""
        room = self.deadline - self.least_time
        with np.errstate(divide="ignore"):
            return np.where(room > 0, self.unit_time / np.where(room > 0, room, 1.0), np.inf)

    @property
    def min_power(self) -> FloatArray:
        """P_min, W: Eq. (32), the power for Z_min."""
        return self.power(self.min_log_rate)

    @property
    def max_iterations(self) -> FloatArray:
        """j_max: Eq. (33); below j_min or negative if the device is infeasible."""
        return self.iterations_left(self.unit_time / self.max_log_rate)

    def iterations_left(self, transmit_time: FloatArray) -> FloatArray:
        """Greatest number of iterations in the deadline less the transmission time; negative if that is too long."""
        return np.asarray((self.deadline - transmit_time) / self.iteration_time)

    @property
    def least_deadline(self) -> FloatArray:
        """j_min A + a/Z_max, s: the least deadline that the device can meet."""
        return np.asarray(self.least_time + self.unit_time / self.max_log_rate)

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Whether the device can meet its deadline: the deadline is at least :attr:`least_deadline`, as rounded."""
        return np.asarray((self.deadline >= self.least_deadline) & (self.deadline > self.least_time))


def table_1(*, distance: ArrayLike = 50.0, as_printed: bool = False, **changes: ArrayLike) -> DeviceFleet:
    """The devices of UF Table I with its errors corrected: T = 0.75 s, N_0 in dBm/Hz, P_max = 0 dBW = 1 W.

    Parameters
    ----------
    distance : array_like
        m; the paper has 50 to 200.
    as_printed : bool
        Use T = 0.75 ms as in the table, which is infeasible by 1404 decades of SNR.
    **changes
        Values that replace those of the table, by attribute of :class:`DeviceFleet`.

    Notes
    -----
    The paper gives no beta: (0.5, 0.05 J) lies inside the ranges of its figures. One iteration reads 128 images of 784
    bytes, 802816 bit. The network has 109386 parameters, but V = 875 kbit is the size of 109375 parameters with 8 bits
    each.

    Examples
    --------
    >>> bool(table_1().feasible[0]), bool(table_1(as_printed=True).feasible[0])
    (True, False)
    """
    values: dict[str, ArrayLike] = {
        "distance": distance,
        "channel_gain": 1.0,
        "bandwidth": 250e3,
        "center_frequency": 32e6,
        "path_loss_exponent": 4.0,
        "noise_density_dbm": -174.0,
        "snr_gap_db": 9.8,
        "model_bits": 875e3,
        "deadline": 0.75e-3 if as_printed else 0.75,
        "bits_per_iteration": 128 * 784 * 8.0,
        "seconds_per_bit": 7.5e-9,
        "compute_power": 0.096,
        "circuit_power": 0.0825,
        "amplifier_efficiency": 0.45,
        "max_power": 1.0,
        "min_iterations": 10.0,
        "utility_energy": 0.5,
        "beta_1": 0.5,
        "beta_2": 0.05,
    }
    return DeviceFleet(**{**values, **changes})
