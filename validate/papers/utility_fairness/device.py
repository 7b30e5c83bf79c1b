"""UF Sec. II-E, II-F, Table I, (23), (24), (32), (33), (36)-(38): times, powers, energies and limits by a deadline."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
from scipy.optimize import brentq

from airtight.analytics.federated.fair.device import DeviceFleet, table_1
from airtight.analytics.forms import energy_utility as by_rate
from airtight.analytics.forms import wireless_device as forms
from airtight.analytics.forms.domain import Range, parameter
from airtight.solvers import energy as energy_utility
from airtight.solvers.energy import schemes
from airtight.validate.claims.claim import Claim, defined, false, holds, holds_under, ill_defined, not_reproducible
from airtight.validate.claims.relation import absolute, at_least, at_most, equal
from airtight.validate.papers.utility_fairness.common import IN_TABLE_1, distance, of_device, quantity
from airtight.validate.papers.utility_fairness.common import table_1 as at_table_1

power = parameter("power", 1e-3, 1.0, logarithmic=True, latex="P")
iterations = parameter("iterations", 1.0, 100.0, typical=(80.0, 100.0), latex="j")
fewest = of_device("min_iterations", 1.0, 80.0, name="fewest")
deadline = of_device("deadline", 0.3, 3.0)
bits = parameter("bits_per_sample", 8, 8000, integer=True, typical=(784 * 8, 784 * 8))

_AT = {forms.power: power, forms.iterations: iterations}
_SAMPLES = at_table_1(forms.compute_energy / forms.compute, {**_AT, forms.load: 128})  # d_k a number of samples
_RATE = {by_rate.Z: sp.log(1 + at_table_1(forms.gain) * power)}
_RATIO = forms.kappa * forms.power * forms.fading / (forms.noise_power * forms.distance**forms.exponent)  # (15)
_SNR_GAP = 10 ** (forms.gap / 10)
_BITS_PER_SECOND = forms.bandwidth * sp.log(1 + _RATIO / _SNR_GAP) / sp.log(2)  # (14)
_SENDING = forms.model / _BITS_PER_SECOND  # (13)
_COMPUTING = forms.iterations * forms.load * forms.per_bit * forms.compute  # (11), (12)
_SPENT = _COMPUTING + _SENDING * (forms.power / forms.efficiency + forms.circuit)
_LIMITS = {forms.deadline: deadline}
_LINE = np.linspace(50.0, 200.0, 10)
_SHORT = {forms.deadline: sp.Rational("0.00075"), forms.fewest: 0}


def _one(array: Any) -> float:
    return float(array[0])


def _computed(quantity: str) -> Callable[..., float]:
    """A function that computes this quantity for a device of Table I."""
    return lambda distance, **at: _one(getattr(table_1(distance=distance), quantity)(**at))


def _power_back(distance: float, power: float) -> float:
    fleet = table_1(distance=distance)
    return _one(fleet.power(fleet.log_rate(power)))


def _fewest(deadline: float, fewest: float) -> float:
    """Number of iterations in the time that a transmission at the least rate leaves."""
    fleet = table_1(deadline=deadline, min_iterations=fewest)
    return _one((fleet.deadline - fleet.unit_time / fleet.min_log_rate) / fleet.iteration_time)


# the rate, in nats per second and hertz, at which the transmission fills the time after the least iterations
_NEEDED = forms.model * sp.log(2) / (forms.bandwidth * (forms.deadline - forms.fewest * forms.load * forms.per_bit))


def _at_deadline(expression: sp.Expr, least: Any = 10) -> sp.Expr:
    return at_table_1(expression, {forms.deadline: deadline, forms.fewest: least})


def _least_power(distance: float, deadline: float) -> float:
    """Power at which the least iterations and the transmission fill the deadline, by root finding."""
    fleet = table_1(distance=distance, deadline=deadline)
    spare = _one(fleet.deadline - fleet.least_time)
    root = brentq(lambda log_power: _one(fleet.transmit_time(math.exp(log_power))) - spare, -60.0, 60.0, xtol=1e-13)
    return math.exp(root)


def _most_iterations(distance: float, deadline: float) -> float:
    fleet = table_1(distance=distance, deadline=deadline)
    return _one((fleet.deadline - fleet.transmit_time(fleet.max_power)) / fleet.iteration_time)


def _optimal(value: Callable[[DeviceFleet, energy_utility.EnergySolution], Any]) -> Callable[..., float]:
    """A function that computes this quantity at the optimum of a device of Table I."""

    def at(distance: float, beta_1: float) -> float:
        fleet = table_1(distance=distance, beta_1=beta_1)
        return _one(value(fleet, energy_utility.solve(fleet)))

    return at


def _deviation_share(beta_1: float) -> float:
    """Standard deviation of the energy over ten devices, as a share of the benchmark's."""
    fleet = table_1(distance=_LINE, beta_1=beta_1)
    return float(1 - schemes.compare(fleet, schemes.benchmark_energy(fleet)).std_cut)


def _deviation_share_tuned(beta_1: float) -> float:
    """The same with the benchmark's power chosen so that the mean is reduced by 12.17 %."""
    fleet = table_1(distance=_LINE, beta_1=beta_1)
    mean = float(energy_utility.solve(fleet).energy.mean()) / (1 - 0.1217)
    tuned = schemes.benchmark_energy(fleet, power=schemes.power_for_mean(fleet, mean))
    return float(1 - schemes.compare(fleet, tuned).std_cut)


def _tracked(fleet: DeviceFleet, best: energy_utility.EnergySolution) -> Any:
    """Excess of the optimal energy over varrho/2 by the formula of UF-F2*; nan where the delay is not active."""
    Z, inverse = fleet.log_rate(best.power), 1 / (fleet.amplifier_efficiency * fleet.gain)
    saving = ((Z - 1) * np.exp(Z) + 1) * inverse - fleet.circuit_power
    learned = fleet.beta_1 / (2 * fleet.beta_2) * np.exp(-fleet.compute_energy(best.iterations) / fleet.beta_2)
    return np.where(best.case == "delay active", learned / (1 + saving / fleet.compute_power), np.nan)


def _axis(id: str, low: float, high: float, unit: str, value: Any, least: float, slack: float, reason: str) -> Claim:
    """Claim that the optima of devices of Table I lie between the first and the last tick of a figure."""
    middle, half, at = (low + high) / 2, (high - low) / 2, _optimal(value)
    return Claim(
        id,
        f"Fig. {id[4]}({id[5]}), proposed scheme, no fading ({unit}; beta_1, which the paper does not give, at beta_2 = .05 J)",
        at_most(lambda distance, beta_1: abs(at(distance, beta_1) - middle), half),
        holds_under(reason),
        {"distance": distance.range, "beta_1": Range(least, 3.7, logarithmic=True)},
        statement=rf"|v - {middle:g}| \le {half:g}, \text{{ that is }} {low:g} \le v \le {high:g}",
        scale=absolute(unit, half),
        slack=slack,
        effort=0.5,
    )


def _computing(fleet: DeviceFleet, best: energy_utility.EnergySolution) -> Any:
    return 1e3 * fleet.compute_energy(best.iterations)


def _sending(fleet: DeviceFleet, best: energy_utility.EnergySolution) -> Any:
    return 1e3 * fleet.transmit_energy(best.power)


farther = parameter("farther", 1.0, 150.0, latex="h")
_NATS = {
    r"Z_{\min}": at_table_1(forms.model * sp.log(2) / (forms.bandwidth * forms.deadline), _SHORT),
    r"Z_{\max}": at_table_1(_RATE[by_rate.Z].subs(power, 1)),
}
_FASTEST = at_table_1(forms.transmit_time, {forms.power: 1})
_MOST = at_table_1(forms.energy, {forms.power: 1, forms.iterations: forms.QUANTITIES["most iterations"].expression})
_BENCHMARK = at_table_1(
    forms.energy,
    {
        forms.power: sp.Rational("0.471"),
        forms.iterations: forms.QUANTITIES["most iterations"].expression.subs(forms.greatest, sp.Rational("0.471")),
    },
)


def _benchmark_sending(distance: float) -> float:
    """Transmit energy (mJ) of the benchmark at the power of UF-F2-tuned."""
    return 1e3 * _one(table_1(distance=distance).transmit_energy(0.471))


def _rates(beta_1: float, far: int) -> tuple[float, float]:
    """Rates (bit/s) of the benchmark at the power of UF-F2-tuned, and of the proposed scheme."""
    distance = 200.0 if far else 50.0
    fleet = table_1(distance=distance)
    benchmark = fleet.bandwidth * fleet.log_rate(0.471) / math.log(2)
    return _one(benchmark), _optimal(lambda fleet, best: best.rate)(distance, beta_1)


CLAIMS = (
    Claim(
        "UF-E11",
        "Eq. (11), (12)",
        equal(_SAMPLES * bits, _SAMPLES),
        ill_defined(
            "The units do not match: d must be in bits (6 ms per iteration), not in samples (.96 us).",
            "misprint",
            true_where="d_k in bits",
            uncorrected="a unit; 'true where' says which",
        ),
        statement=r"T_{cp} = jd_k\tau_k,\quad d_k = |\mathcal D_k|,\ [\tau] = \text{s/bit}",
        where={"T_{cp}": _SAMPLES * bits, "d_k": 128, r"\tau_k": IN_TABLE_1[r"\tau"]},
    ),
    Claim(
        "UF-E13",
        "Eq. (13)-(16)",
        equal(at_table_1(_SENDING, _AT), quantity("transmission time", _AT)),
        holds("Rate, time and power are consistent; the index i of (15) should be k."),
        computed=equal(_computed("transmit_time"), at_table_1(forms.transmit_time, _AT)),
        statement=r"T_{tx} = \frac{\mathcal V_v}{B\log_2(1+\gamma/\Gamma)},\quad \gamma = \frac{\kappa P|h|^2}{\sigma^2r^\alpha}",
        where={**IN_TABLE_1, r"\gamma/\Gamma": at_table_1(forms.gain) * power},
    ),
    Claim(
        "UF-E23",
        "Eq. (23), (24)",
        equal(at_table_1(_SPENT, _AT), quantity("energy", _AT)),
        holds("The products of times and powers."),
        computed=equal(_computed("energy"), at_table_1(forms.energy, _AT)),
        statement=r"E = jd\tau P_{cp} + \frac{\mathcal V_v(P/\rho+P_{cir})}{B\log_2(1+\gamma/\Gamma)}",
        where={**IN_TABLE_1, r"\gamma/\Gamma": at_table_1(forms.gain) * power},
    ),
    Claim(
        "UF-E32",
        "Eq. (32)",
        equal(_at_deadline((sp.exp(_NEEDED) - 1) * forms.power * _SNR_GAP / _RATIO), quantity("least power", _LIMITS)),
        holds_under("True if T > j_min d tau; with (33) it makes two of the five constraints redundant."),
        computed=equal(_least_power, quantity("least power", _LIMITS)),
        statement=r"P = \tfrac{\sigma^2r^\alpha\Gamma}{\kappa|h|^2}\Bigl(e^{\mathcal V_v\log2/(B(T-j_{\min}d\tau))}-1\Bigr)"
        r"\quad\text{where } j_{\min}d\tau + T_{tx}(P) = T",
        where=IN_TABLE_1,
    ),
    Claim(
        "UF-E33",
        "Eq. (33)",
        equal(
            _at_deadline((forms.deadline - _SENDING.subs(forms.power, forms.greatest)) / (forms.load * forms.per_bit)),
            quantity("most iterations", _LIMITS),
        ),
        holds_under(
            "These are the iterations that fill the deadline at the greatest power, if the device is feasible."
        ),
        computed=equal(_most_iterations, quantity("most iterations", _LIMITS)),
        statement=r"j = \tfrac1{d\tau}\Bigl(T-\tfrac{\mathcal V_v\log2}{B\log(1+\gamma_{\max}/\Gamma)}\Bigr)"
        r"\quad\text{where } jd\tau + T_{tx}(P_{\max}) = T",
        where={**IN_TABLE_1, r"\gamma_{\max}/\Gamma": at_table_1(forms.gain)},
    ),
    Claim(
        "UF-E31",
        "Eq. (30), (31)",
        equal(
            at_table_1(
                -forms.beta_1 * sp.exp(-_COMPUTING / forms.beta_2) + forms.beta_1 - _SPENT * (_SPENT - forms.varrho),
                _AT,
            ),
            quantity("utility", _AT),
        ),
        defined("The optimisation problem; Phi and R depend on j and P. A weight of 1/J^2 is implied."),
        computed=equal(_computed("utility"), at_table_1(forms.utility, _AT)),
        statement=r"\max U = -\mathcal E_{mod}+\beta_1-E(E-\varrho) \text{ s.t. delay, power, iterations}",
        unread="a problem; its objective is tried",
        scale=absolute("", 0.1),
    ),
    Claim(
        "UF-E37",
        "Eq. (36), (37), Remark 2",
        equal(at_table_1((sp.exp(forms.log_rate) - 1) / forms.gain, _AT), power),
        holds("The change of variables is a bijection, so (35) solves (31)."),
        {"distance": distance.range},
        computed=equal(_power_back, power),
        statement=r"P(Z(P)) = P",
        idle=("distance",),
    ),
    Claim(
        "UF-E38",
        "Eq. (38), (40)",
        equal(
            _at_deadline(
                (forms.deadline - forms.model * sp.log(2) / (forms.bandwidth * _NEEDED)) / forms.iteration_time, fewest
            ),
            fewest,
        ),
        holds_under("Z* >= Z_min is equivalent to j* >= j_min: (40) needs no lower clamp if the device is feasible."),
        {"deadline": Range(0.6, 3.0, typical=(0.75, 0.75))},
        computed=equal(_fewest, fewest),
        statement=r"j(Z_{\min}) = j_{\min}",
        idle=("deadline",),
    ),
    Claim(
        "UF-E58",
        "Eq. (58)",
        equal(quantity("transmission energy", _AT), at_table_1(by_rate.transmit_energy, _RATE)),
        holds("The substitution is right."),
        computed=equal(_computed("transmit_energy"), at_table_1(by_rate.transmit_energy, _RATE)),
        statement=r"E_{tx}(Z) = \frac{\mathcal V_vb}Z(e^Z+c)",
        where={**IN_TABLE_1, "b": at_table_1(by_rate.b), "c": at_table_1(by_rate.c), "Z": _RATE[by_rate.Z]},
    ),
    Claim(
        "UF-TabI",
        "Table I: T = 0.75 ms",
        at_most(*_NATS.values()),
        false(
            "T = 0.75 ms needs 3235 nats, an SNR of 10^1405; 0.75 s gives the values of the figures.",
            "misprint",
            true_where=r"T = 0.75\,\mathrm s",
            uncorrected="a number; 'true where' says which one is meant",
        ),
        statement=r"Z_{\min} \le Z_{\max} \text{ with no iteration at all}",
        where=_NATS,
    ),
    _axis("UF-F3a", 46, 58, "mJ", _computing, 0.02, 0.15, "47.5 to 56.9 mJ at beta_1 = .5; the axis is labelled mW."),
    _axis("UF-F3b", 125, 325, "mJ", _sending, 0.02, 0.1, "202 to 229 mJ at beta_1 = .5; the axis is labelled mW."),
    _axis(
        "UF-F4a",
        80,
        100,
        "iterations",
        lambda fleet, best: best.iterations,
        0.02,
        0.12,
        "98.5 to 82.2 iterations at beta_1 = .5.",
    ),
    _axis(
        "UF-F4b",
        3.5,
        5.75,
        "Mbit/s",
        lambda fleet, best: 1e-6 * best.rate,
        1.7,
        0.1,
        "True from beta_1 = 1.7 on. At .5 the rate is 5.57 to 3.43 Mbit/s; where the energy is as even as the paper "
        "says (UF-F2-std), it is 3.39 at 200 m. Both are below the lowest tick of 3.5, but an axis may extend below "
        "its lowest tick.",
    ),
    Claim(
        "UF-F2",
        "Fig. 2 (axis 175 to 375 mJ) and '12.17 % reduction in the average energy'",
        at_most(_MOST, sp.Rational("0.375")),
        not_reproducible(
            "With a benchmark at a constant .47 W, a power that the paper does not give, this axis and both numbers "
            "of the abstract are obtained (UF-F2-tuned). As described (most iterations, and therefore greatest power) "
            "the benchmark needs 406 to 582 mJ, and the mean is reduced by 46 to 50 %.",
            corrected_by="UF-F2-tuned",
            true_where=r"P = 0.47\,\mathrm W",
        ),
        statement=r"E_{\text{benchmark}} \le 0.375\,\mathrm J",
        where={r"E_{\text{benchmark}}": _MOST, r"\mathrm J": 1},
    ),
    Claim(
        "UF-F2-rises",
        "Fig. 2: 'for the benchmark scheme the total energy cost significantly increases with the path loss' (.471 W)",
        at_most(_BENCHMARK, _BENCHMARK.subs(distance, distance + farther)),
        holds("The fewer iterations save less than the slower transmission costs: 236 mJ at 50 m, 329 mJ at 200 m."),
        given=[distance + farther <= 200],
        statement=r"E_{\text{benchmark}}(r) \le E_{\text{benchmark}}(r + h)",
        where={r"E_{\text{benchmark}}": sp.Lambda(distance, _BENCHMARK)},
    ),
    Claim(
        "UF-F3-falls",
        "Fig. 3(a): 'the computation energy decreases with path loss', proposed scheme (beta_1 = .5)",
        at_least(
            lambda distance, farther: _optimal(_computing)(distance, 0.5),
            lambda distance, farther: _optimal(_computing)(distance + farther, 0.5),
        ),
        holds("Farther devices need more of the deadline for the transmission."),
        {"distance": distance.range, "farther": farther.range},
        given=[distance + farther <= 200],
        statement=r"E_{cp}(r) \ge E_{cp}(r + h)",
    ),
    Claim(
        "UF-F3-slightly",
        "Fig. 3(b): 'increases only slightly', from 50 to 200 m, against the benchmark at .471 W",
        at_most(
            lambda beta_1: _optimal(_sending)(200.0, beta_1) - _optimal(_sending)(50.0, beta_1),
            lambda beta_1: _benchmark_sending(200.0) - _benchmark_sending(50.0),
        ),
        holds_under("With the benchmark of UF-F2-tuned: 102 mJ against 10 to 57."),
        {"beta_1": Range(1e-3, 2.0, logarithmic=True)},
        statement=r"E_{tx}(200\,\mathrm m) - E_{tx}(50\,\mathrm m) \le \text{the same of the benchmark}",
        slack=1.8,
        effort=0.5,
    ),
    Claim(
        "UF-F4b-signs",
        "Fig. 4(b): near devices 'a little higher rate', far ones 'much lower' than the benchmark's (.471 W; far = 1 at 200 m)",
        at_least(
            lambda beta_1, far: _rates(beta_1, far)[1 - far],
            lambda beta_1, far: _rates(beta_1, far)[far],
        ),
        holds_under(
            "With the benchmark of UF-F2-tuned and the small beta_1 that it requires: 5.55 against 5.52 Mbit/s, 3.38 "
            "against 3.52."
        ),
        {"beta_1": Range(1e-3, 0.0207, logarithmic=True), "far": Range(0, 1, integer=True)},
        statement=r"R_{\text{proposed}}(50\,\mathrm m) \ge R_{\text{benchmark}}(50\,\mathrm m),\quad "
        r"R_{\text{proposed}}(200\,\mathrm m) \le R_{\text{benchmark}}(200\,\mathrm m)",
        slack=1.01,
        effort=0.25,
    ),
    Claim(
        "UF-coherence",
        "Sec. II-F: 'coherence time of the order of 100 ms', a channel that stays constant during a transmission "
        "(Table I, greatest power)",
        at_most(_FASTEST, sp.Rational("0.1")),
        not_reproducible(
            "True at the .75 ms that Table I prints, in which nothing can be sent. At the .75 s that give the figures "
            "(UF-TabI) the fastest transmission takes 151 to 231 ms; only the order of magnitude is right.",
            true_where="one block fading at a time",
            uncorrected="an order of magnitude; the paper gives no coherence time",
        ),
        statement=r"T_{tx}(P_{\max}) \le 0.1\,\mathrm s",
        where={r"T_{tx}(P_{\max})": _FASTEST, r"\mathrm s": 1},
    ),
    Claim(
        "UF-F2-std",
        "Fig. 2: 'the standard deviation of the energy by 99 %'",
        at_most(_deviation_share, lambda beta_1: 0.01),
        holds_under(
            "The optimum tracks varrho/2, more closely for smaller beta_1/beta_2; the reduction is 90 % at beta_1 = .5."
        ),
        {"beta_1": Range(1e-3, 0.0395, logarithmic=True)},
        statement=r"\frac{\mathrm{std}(E_{\text{proposed}})}{\mathrm{std}(E_{\text{benchmark}})} \le 0.01 "
        r"\quad(\beta_1/\beta_2 \le 0.79/\mathrm J)",
    ),
    Claim(
        "UF-F2-tuned",
        "Abstract: 99 % and 12.17 % at once, with a benchmark at a lower power",
        at_most(_deviation_share_tuned, lambda beta_1: 0.01),
        holds_under(
            "True if the benchmark uses .47 W, a power that the paper does not give: 235 to 329 mJ, as on the axis of "
            "Fig. 2, and 5.52 to 3.52 Mbit/s where the proposed scheme has 5.55 to 3.38, the signs of Fig. 4(b)."
        ),
        {"beta_1": Range(1e-3, 0.0207, logarithmic=True)},
        statement=r"\mathrm{mean}(E_{\text{proposed}}) = 0.8783\,\mathrm{mean}(E_{\text{benchmark}}) \implies "
        r"\frac{\mathrm{std}(E_{\text{proposed}})}{\mathrm{std}(E_{\text{benchmark}})} \le 0.01 "
        r"\quad(\beta_1/\beta_2 \le 0.41/\mathrm J)",
        effort=0.25,
    ),
    Claim(
        "UF-F2*",
        "ours: why the energy hardly depends on the distance (delay active)",
        equal(_optimal(lambda fleet, best: best.energy - fleet.utility_energy / 2), _optimal(_tracked)),
        holds("The optimum tracks the target varrho/2, without any privacy or deviation factor."),
        {"distance": distance.range, "beta_1": Range(0.01, 0.6)},
        statement=r"E^* - \tfrac\varrho2 = \frac{\beta_1}{2\beta_2}\frac{e^{-y/\beta_2}}{1+m'/P_{cp}}",
        tolerance=1e-8,
        effort=0.5,
        coq="utility_fairness_general.UF_F2_star",
    ),
)
