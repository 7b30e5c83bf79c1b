"""UF Sec. II-E, II-F, Table I, (23), (24), (32), (33), (36)-(38): times, powers, energies and what a deadline allows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from analytics.enclosures.ball import ball
from analytics.enclosures.energy import Device
from analytics.federated.device import DeviceFleet, table_1
from solvers import energy as energy_utility
from solvers.energy import schemes as energy_schemes
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.utility_fairness.common import PAPER, definition, identity

_DISTANCE = Range(50.0, 200.0)
_POWER = Range(1e-3, 1.0, logarithmic=True)
_DEADLINE = Range(0.5, 3.0)
_LINE = np.linspace(50.0, 200.0, 10)


def _one(array: np.ndarray) -> float:
    return float(array[0])


def compute_time() -> Claim:
    """The paper's d_k is a number of samples, tau is in seconds a bit: 128 samples of 784 bytes."""
    return Claim(
        id="UF-E11",
        paper=PAPER,
        location="Eq. (11), (12)",
        statement=r"T_{cp} = jd_k\tau_k,\quad d_k = |\mathcal D_k|,\ [\tau] = \text{s/bit}",
        expected=Verdict.ILL_DEFINED,
        reason="The units do not fit; d must be the bits read in an iteration (6 ms), not a number of samples "
        "(.96 microseconds).",
        domain={"iterations": Range(1, 100, integer=True), "bits_per_sample": Range(8, 8000, integer=True)},
        claimed=lambda iterations, bits_per_sample: iterations * 128 * 7.5e-9,
        actual=lambda iterations, bits_per_sample: iterations * 128 * bits_per_sample * 7.5e-9,
        relation=Relation.EQUAL,
        enclose=lambda iterations, bits_per_sample: (
            ball(iterations * 128 * Fraction("7.5e-9")),
            ball(iterations * 128 * bits_per_sample * Fraction("7.5e-9")),
        ),
        if_violated=Verdict.ILL_DEFINED,
    )


def rate_and_time() -> Claim:
    def bits(distance: float, power: float) -> float:
        fleet = table_1(distance=distance)
        return _one(fleet.transmit_time(power) * fleet.rate(power))

    return identity(
        "UF-E13",
        "Eq. (13)-(16)",
        r"T_{tx}R = \mathcal V_v",
        "Rate, time and power fit together; the index i of (15) should be k.",
        {"distance": _DISTANCE, "power": _POWER},
        lambda distance, power: 875e3,
        bits,
    )


def energy() -> Claim:
    def direct(distance: float, power: float, iterations: float) -> float:
        """(24) as printed, from the numbers of Table I."""
        kappa = (299792458.0 / (4 * np.pi * 32e6)) ** 2
        snr = kappa * power / (10**-20.4 * 250e3 * distance**4 * 10**0.98)
        return float(
            iterations * 802816 * 7.5e-9 * 0.096 + 875e3 * (power / 0.45 + 0.0825) / (250e3 * np.log2(1 + snr))
        )

    return identity(
        "UF-E23",
        "Eq. (23), (24)",
        r"E = jd\tau P_{cp} + \frac{\mathcal V_v(P/\rho+P_{cir})}{B\log_2(1+\gamma/\Gamma)}",
        "Times and powers multiplied.",
        {"distance": _DISTANCE, "power": _POWER, "iterations": Range(1.0, 100.0)},
        direct,
        lambda distance, power, iterations: _one(table_1(distance=distance).energy(iterations, power)),
    )


def transformed() -> Claim:
    def in_Z(distance: float, power: float) -> float:
        fleet = table_1(distance=distance)
        gain, Z = _one(fleet.gain), _one(fleet.log_rate(power))
        b = np.log(2) / (0.45 * gain * 250e3)
        c = 0.45 * gain * 0.0825 - 1
        return float(875e3 * b / Z * (np.exp(Z) + c))

    return identity(
        "UF-E58",
        "Eq. (58)",
        r"E_{tx}(Z) = \frac{\mathcal V_vb}Z(e^Z+c)",
        "The substitution is right.",
        {"distance": _DISTANCE, "power": _POWER},
        in_Z,
        lambda distance, power: _one(table_1(distance=distance).transmit_energy(power)),
    )


def least_power() -> Claim:
    def tight(distance: float, deadline: float) -> float:
        fleet = table_1(distance=distance, deadline=deadline)
        if not fleet.feasible[0]:
            return deadline
        return _one(fleet.compute_time(fleet.min_iterations) + fleet.transmit_time(fleet.min_power))

    return identity(
        "UF-E32",
        "Eq. (32)",
        r"j_{\min}d\tau + T_{tx}(P_{\min}) = T",
        "The power at which the least iterations fill the deadline, if T > j_min d tau; with (33) it makes two of the five "
        "constraints redundant.",
        {"distance": _DISTANCE, "deadline": _DEADLINE},
        lambda distance, deadline: deadline,
        tight,
        expected=Verdict.HOLDS_UNDER,
    )


def most_iterations() -> Claim:
    def tight(distance: float, deadline: float) -> float:
        fleet = table_1(distance=distance, deadline=deadline)
        return _one(fleet.max_iterations * fleet.iteration_time + fleet.transmit_time(fleet.max_power))

    return identity(
        "UF-E33",
        "Eq. (33)",
        r"j_{\max}d\tau + T_{tx}(P_{\max}) = T",
        "The iterations that fill the deadline at the greatest power, if the device is feasible.",
        {"distance": _DISTANCE, "deadline": _DEADLINE},
        lambda distance, deadline: deadline,
        tight,
        expected=Verdict.HOLDS_UNDER,
    )


def inverse() -> Claim:
    def back(distance: float, power: float) -> float:
        fleet = table_1(distance=distance)
        return _one(fleet.power(fleet.log_rate(power)))

    return identity(
        "UF-E37",
        "Eq. (36), (37), Remark 2",
        r"P(Z(P)) = P",
        "The change of variables is a bijection, so (35) solves (31).",
        {"distance": _DISTANCE, "power": _POWER},
        lambda distance, power: power,
        back,
    )


def clamp() -> Claim:
    def least(distance: float, deadline: float) -> float:
        fleet = table_1(distance=distance, deadline=deadline)
        if not fleet.feasible[0]:
            return 10.0
        return _one((fleet.deadline - fleet.unit_time / fleet.min_log_rate) / fleet.iteration_time)

    return identity(
        "UF-E38",
        "Eq. (38), (40)",
        r"j(Z_{\min}) = j_{\min}",
        "Z* >= Z_min says the same as j* >= j_min, so (40) needs no lower clamp when the device is feasible.",
        {"distance": _DISTANCE, "deadline": _DEADLINE},
        lambda distance, deadline: 10.0,
        least,
        expected=Verdict.HOLDS_UNDER,
    )


def problem_definition() -> Claim:
    def utility(distance: float, power: float, iterations: float) -> float:
        fleet = table_1(distance=distance)
        return 10 + _one(fleet.utility(iterations, power))

    def direct(distance: float, power: float, iterations: float) -> float:
        fleet = table_1(distance=distance)
        E, y = _one(fleet.energy(iterations, power)), iterations * 802816 * 7.5e-9 * 0.096
        return float(10 - 0.5 * np.exp(-y / 0.05) + 0.5 - E * (E - 0.5))

    return definition(
        "UF-E31",
        "Eq. (30), (31)",
        r"\max U = -\mathcal E_{mod}+\beta_1-E(E-\varrho) \text{ s.t. delay, power, iterations}",
        "The problem; Phi and R depend on j and P. A weight of 1/J^2 is implied.",
        {"distance": _DISTANCE, "power": _POWER, "iterations": Range(1.0, 100.0)},
        direct,
        utility,
    )


def table() -> Claim:
    """Z_min against Z_max at Table I's deadline of 0.75 ms, no iteration at all."""

    def device(distance: Any) -> Device:
        return Device.table_1(distance, T="0.00075", j_min="0")

    def fleet(distance: float) -> DeviceFleet:
        return table_1(distance=distance, as_printed=True, min_iterations=0.0)

    return Claim(
        id="UF-TabI",
        paper=PAPER,
        location="Table I: T = 0.75 ms",
        statement=r"Z_{\min} \le Z_{\max}",
        expected=Verdict.FALSE,
        reason="Would need 3235 nats, an SNR of 10^1405; with 0.75 s the figures come out. N_0 is in dBm/Hz, "
        "P_max = 0 dB of 1 W.",
        domain={"distance": _DISTANCE},
        claimed=lambda distance: _one(fleet(distance).max_log_rate),
        actual=lambda distance: _one(fleet(distance).min_log_rate),
        enclose=lambda distance: (device(distance).Z_max, device(distance).Z_min),
    )


def _figure(name: str, location: str, reason: str, low: float, high: float, values: Any) -> Claim:
    """The optimum of a device of Table I (beta = .5, .05) lies within the axis of a figure."""

    def outside(distance: float) -> float:
        value = float(values(table_1(distance=distance)))
        return 1 + max(low - value, value - high, 0.0) / (high - low)

    return Claim(
        id=name,
        paper=PAPER,
        location=location,
        statement=rf"{low:g} \le \text{{value}} \le {high:g}",
        expected=Verdict.HOLDS,
        reason=reason,
        domain={"distance": _DISTANCE},
        claimed=lambda distance: 1.0,
        actual=outside,
    )


def compute_energy_axis() -> Claim:
    return _figure(
        "UF-F3a",
        "Fig. 3(a), proposed scheme, no fading (mJ; the axis says mW)",
        "47.5 to 56.9 mJ.",
        46.0,
        58.0,
        lambda fleet: 1e3 * _one(fleet.compute_energy(energy_utility.solve(fleet).iterations)),
    )


def transmit_energy_axis() -> Claim:
    return _figure(
        "UF-F3b",
        "Fig. 3(b), proposed scheme, no fading (mJ; the axis says mW)",
        "202 to 229 mJ.",
        125.0,
        325.0,
        lambda fleet: 1e3 * _one(fleet.transmit_energy(energy_utility.solve(fleet).power)),
    )


def iterations_axis() -> Claim:
    return _figure(
        "UF-F4a",
        "Fig. 4(a), proposed scheme, no fading",
        "98.5 to 82.2 iterations.",
        80.0,
        100.0,
        lambda fleet: _one(energy_utility.solve(fleet).iterations),
    )


def rate_axis() -> Claim:
    return _figure(
        "UF-F4b",
        "Fig. 4(b), proposed scheme, no fading (Mbit/s; lowest tick 3.5)",
        "5.57 to 3.43 Mbit/s, at 200 m a little below the lowest tick.",
        3.4,
        5.75,
        lambda fleet: 1e-6 * _one(energy_utility.solve(fleet).rate),
    )


def benchmark_axis() -> Claim:
    """Energy of the benchmark as described, at the vertex of most iterations and greatest power."""

    def proof(distance: Any) -> tuple[Any, Any]:
        device = Device.table_1(distance)
        Z = device.Z_max
        return ball("0.375"), device.energy(device.T - device.a / Z, Z)

    return Claim(
        id="UF-F2",
        paper=PAPER,
        location="Fig. 2 (axis 175 to 375 mJ) and '12.17 % reduction in the average energy'",
        statement=r"E_{\text{benchmark}} \le 0.375\,\mathrm J",
        expected=Verdict.NOT_REPRODUCIBLE,
        reason="The benchmark as described (most iterations, greatest power) needs 406 to 582 mJ; the mean is "
        "then cut by 46 to 50 %. "
        "12.17 % comes out only by tuning an undisclosed parameter.",
        domain={"distance": _DISTANCE},
        claimed=lambda distance: 0.375,
        actual=lambda distance: _one(energy_schemes.benchmark_energy(table_1(distance=distance))),
        enclose=proof,
        if_violated=Verdict.NOT_REPRODUCIBLE,
    )


def flat_energy() -> Claim:
    """Ten devices between 50 and 200 m, no fading, beta_2 = .05 J."""

    def share(beta_1: float) -> float:
        fleet = table_1(distance=_LINE, beta_1=beta_1)
        return float(1 - energy_schemes.compare(fleet, energy_schemes.benchmark_energy(fleet)).std_cut)

    return Claim(
        id="UF-F2-std",
        paper=PAPER,
        location="Fig. 2: 'the standard deviation of the energy by 99 %'",
        statement=r"\frac{\mathrm{std}(E_{\text{proposed}})}{\mathrm{std}(E_{\text{benchmark}})} \le 0.01 "
        r"\quad(\beta_1/\beta_2 \le 0.4/\mathrm J)",
        expected=Verdict.HOLDS_UNDER,
        reason="By construction: the optimum tracks varrho/2, the closer the smaller beta_1/beta_2; 90 % at beta_1 = .5.",
        domain={"beta_1": Range(1e-3, 0.02, logarithmic=True)},
        claimed=lambda beta_1: 0.01,
        actual=share,
        if_survived=Verdict.HOLDS_UNDER,
    )


def tracking() -> Claim:
    def left(distance: float, beta_1: float) -> float:
        fleet = table_1(distance=distance, beta_1=beta_1)
        return 1 + _one(energy_utility.solve(fleet).energy) - 0.25

    def right(distance: float, beta_1: float) -> float:
        fleet = table_1(distance=distance, beta_1=beta_1)
        best = energy_utility.solve(fleet)
        Z, g = _one(fleet.log_rate(best.power)), 0.45 * _one(fleet.gain)
        saving = ((Z - 1) * np.exp(Z) + 1) / g - 0.0825
        y = _one(best.compute_time) * 0.096
        return float(1 + beta_1 / 0.1 * np.exp(-y / 0.05) / (1 + saving / 0.096))

    return identity(
        "UF-F2*",
        "ours: why the energy is flat (delay active)",
        r"E^* - \tfrac\varrho2 = \frac{\beta_1}{2\beta_2}\frac{e^{-y/\beta_2}}{1+m'/P_{cp}}",
        "Target tracking of varrho/2, without any privacy or deviation factor.",
        {"distance": _DISTANCE, "beta_1": Range(0.01, 0.6)},
        right,
        left,
        tolerance=1e-8,
    )


def feasible_triangle() -> Claim:
    def spare(distance: float, deadline: float, gain: float) -> float:
        fleet = replace(table_1(distance=distance, deadline=deadline), channel_gain=np.array([gain]))
        return 1 + (float(energy_utility.solve(fleet).slack[0]) if fleet.feasible[0] else 0.0)

    return Claim(
        id="UF-E59",
        paper=PAPER,
        location="Eq. (59)",
        statement=r"jd\tau + \frac{\mathcal V_v\log2}{BZ} \le T",
        expected=Verdict.HOLDS,
        reason="Convex in (j, Z); kept by every optimum computed here.",
        domain={"distance": _DISTANCE, "deadline": _DEADLINE, "gain": Range(0.1, 3.0, logarithmic=True)},
        claimed=lambda distance, deadline, gain: 1.0,
        actual=spare,
        relation=Relation.AT_LEAST,
    )


CLAIMS = (
    compute_time,
    rate_and_time,
    energy,
    least_power,
    most_iterations,
    problem_definition,
    inverse,
    clamp,
    transformed,
    feasible_triangle,
    table,
    compute_energy_axis,
    transmit_energy_axis,
    iterations_axis,
    rate_axis,
    benchmark_axis,
    flat_energy,
    tracking,
)
