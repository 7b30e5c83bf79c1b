r"""A wireless device (UF Sec. II): gain, times, energies, limits, utility; noise scaled by the deviation factor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.forms.domain import COUNT, DELTA, POSITIVE, SHARE, Parameter, Range
from airtight.analytics.forms.quantity import Quantity, collected, per_device
from airtight.analytics.guarantee import Face


def _between(letter: str, low: float, high: float, unit: str = "") -> Parameter:
    return Parameter(letter, Range(low, high, logarithmic=True, unit=unit))


distance, fading = _between("r", 1.0, 1e4, "m"), _between("|h|^2", 1e-6, 1e3)
bandwidth, frequency = _between("B", 1e3, 1e9, "Hz"), _between("f_c", 1e6, 1e11, "Hz")
exponent, density = Parameter("alpha", Range(2.0, 5.0)), Parameter("N_0", Range(-180.0, -120.0, unit="dBm/Hz"))
gap = Parameter("Gamma", Range(0.0, 20.0, unit="dB"))
model, deadline = _between("V", 1e3, 1e9, "bit"), _between("T", 1e-3, 1e3, "s")
load, per_bit = _between("d", 1e2, 1e8, "bit"), _between("tau", 1e-10, 1e-7, "s")
compute, circuit = _between("P_cp", 1e-3, 5.0, "W"), _between("P_cir", 1e-3, 5.0, "W")
efficiency, greatest = _between("rho", 0.05, 1.0), _between("P_max", 1e-3, 5.0, "W")
fewest, varrho = Parameter("j_min", Range(0, 100, integer=True)), _between("varrho", 1e-3, 10.0, "J")
beta_1, beta_2 = _between("beta_1", 1e-3, 1.0), _between("beta_2", 1e-3, 1.0, "J")
iterations, power = Parameter("j", Range(0.0, 1e4)), _between("P", 1e-6, 5.0, "W")
epsilon, delta = _between("epsilon_g", 1e-6, 1.0), Parameter("delta_g", DELTA)
theta, deviation = Parameter("theta", Range(0.01, 0.99)), Parameter("E_k", Range(0.0, 1.0))
energy_cp = Parameter("E_cp", Range(0.0, 1.0, unit="J"))
lipschitz, convexity = Parameter("G", POSITIVE), _between("mu", 1e-3, 10.0)
step, samples = _between("eta", 1e-4, 0.09), Parameter("d_k", COUNT)

cosines = per_device("s", 3, Range(-1.0, 1.0))

_light = sp.Integer(299792458)
kappa = (_light / (4 * sp.pi * frequency)) ** 2
noise_power = 10 ** (density / 10 - 3) * bandwidth
gain = kappa * fading / (noise_power * distance**exponent * 10 ** (gap / 10))
log_rate = sp.log(1 + gain * power)
iteration_time = load * per_bit
transmit_time = model * sp.log(2) / (bandwidth * log_rate)
transmit_energy = transmit_time * (power / efficiency + circuit)
compute_energy = iterations * iteration_time * compute
energy = compute_energy + transmit_energy
utility = beta_1 * (1 - sp.exp(-compute_energy / beta_2)) - energy * (energy - varrho)
_max_log_rate = log_rate.subs(power, greatest)
_min_log_rate = model * sp.log(2) / bandwidth / (deadline - fewest * iteration_time)
printed_scale = sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / (epsilon * (1 - deviation * theta))

_fleet = {
    "distance": distance,
    "channel_gain": fading,
    "bandwidth": bandwidth,
    "center_frequency": frequency,
    "path_loss_exponent": exponent,
    "noise_density_dbm": density,
    "snr_gap_db": gap,
    "model_bits": model,
    "deadline": deadline,
    "bits_per_iteration": load,
    "seconds_per_bit": per_bit,
    "compute_power": compute,
    "circuit_power": circuit,
    "amplifier_efficiency": efficiency,
    "max_power": greatest,
    "min_iterations": fewest,
    "utility_energy": varrho,
    "beta_1": beta_1,
    "beta_2": beta_2,
}
_sending = {**_fleet, "power": power}
_at = {**_sending, "iterations": iterations}


def _of_fleet(method: str, *arguments: str) -> Callable[..., FloatArray]:
    """A property or method of a fleet as a function of the fleet's parameters and the method's arguments."""

    def numeric(**v: Any) -> FloatArray:
        given = [v.pop(name) for name in arguments]
        value = getattr(DeviceFleet(**v), method)
        return np.asarray(value(*given) if arguments else value)

    return numeric


def _largest_utility(iterations: float, power: float, **v: Any) -> float:
    """Scale of the utility: its terms with positive signs."""
    energy = float(DeviceFleet(**v).energy(iterations, power)[0])
    return float(v["beta_1"] + energy * (energy + v["utility_energy"]))


def _feasible(**v: Any) -> bool:
    fleet = DeviceFleet(**v)
    return 0 < float(fleet.min_log_rate[0]) < 600 and float(fleet.deadline[0]) > 1.01 * float(fleet.least_time[0])


def _most_scale(**v: Any) -> float:
    fleet = DeviceFleet(**v)
    return float((fleet.deadline[0] + fleet.unit_time[0] / fleet.max_log_rate[0]) / fleet.iteration_time[0])


_FLEET: dict[str, Any] = {"system": DeviceFleet, "per_device": True, "keys": {"channel_gain": "reliable_gain"}}
_EXACT, _PROVEN, _PUBLISHED = Face.EXACT, Face.PROVEN, Face.PUBLISHED
_least_power = (sp.exp(_min_log_rate) - 1) / gain
_most_iterations = (deadline - model * sp.log(2) / bandwidth / _max_log_rate) / iteration_time
_rate, _moved = bandwidth * log_rate / sp.log(2), ("iterations", "power")
QUANTITIES = collected(
    [
        Quantity(
            "gain",
            "UF (15)",
            _EXACT,
            gain,
            _fleet,
            _of_fleet("gain"),
            unit="1/W",
            meaning="signal-to-noise ratio per watt",
            **_FLEET,
        ),
        Quantity("rate", "UF (14), (36)", _EXACT, _rate, _sending, _of_fleet("rate", "power"), unit="bit/s"),
        Quantity(
            "transmission time",
            "UF (13)",
            _EXACT,
            transmit_time,
            _sending,
            _of_fleet("transmit_time", "power"),
            unit="s",
        ),
        Quantity(
            "transmission energy",
            "UF (58)",
            _EXACT,
            transmit_energy,
            _sending,
            _of_fleet("transmit_energy", "power"),
            unit="J",
        ),
        Quantity("energy", "UF (23), (24)", _EXACT, energy, _at, _of_fleet("energy", *_moved), unit="J"),
        Quantity("utility", "UF (30)", _EXACT, utility, _at, _of_fleet("utility", *_moved), scale=_largest_utility),
        Quantity(
            "least power",
            "UF (32)",
            _EXACT,
            _least_power,
            _fleet,
            _of_fleet("min_power"),
            **_FLEET,
            unit="W",
            meaning="least power that leaves time for the least iterations",
            tolerance=1e-11,
            defined=_feasible,
        ),
        Quantity(
            "most iterations",
            "UF (33)",
            _EXACT,
            _most_iterations,
            _fleet,
            _of_fleet("max_iterations"),
            scale=_most_scale,
            meaning="iterations in the time that a transmission at the greatest power leaves",
            **_FLEET,
        ),
        Quantity(
            "noise scale",
            "UF (25)",
            _PUBLISHED,
            printed_scale,
            {"deviation": deviation, "epsilon": epsilon, "delta": delta, "theta": theta},
            fairness.noise_scale,
        ),
        Quantity(
            "effective epsilon",
            "UF (25)",
            _PUBLISHED,
            epsilon * (1 - deviation * theta),
            {"deviation": deviation, "epsilon": epsilon, "theta": theta},
            fairness.effective_epsilon,
        ),
        Quantity(
            "deviation factor",
            "UF (26)",
            _PUBLISHED,
            1 - cosines[0] / sp.Max(*cosines),
            {"similarity": cosines},
            fairness.published_deviation,
            tolerance=1e-14,
            defined=lambda similarity: abs(max(similarity)) > 1e-3,
            scale=lambda similarity: 1 + abs(similarity[0] / max(similarity)),
        ),
        Quantity(
            "fit to one round",
            "UF (29)",
            _PUBLISHED,
            deviation * sp.exp(energy_cp / beta_2),
            {"deviation": deviation, "compute_energy": energy_cp, "beta_2": beta_2},
            fairness.published_fit,
            domain={"deviation": Range(0.01, 1.0), "beta_2": Range(0.01, 1.0)},
        ),
        Quantity(
            "deviation model",
            "UF (28)",
            _PUBLISHED,
            beta_1 * sp.exp(-energy_cp / beta_2),
            {"compute_energy": energy_cp, "beta_1": beta_1, "beta_2": beta_2},
            fairness.model,
            domain={"beta_1": SHARE, "beta_2": Range(0.01, 1.0)},
        ),
        Quantity(
            "sensitivity of an update",
            "UF-A1",
            _PROVEN,
            4 * lipschitz / (convexity * samples) * (1 - (1 - step * convexity) ** iterations),
            {
                "lipschitz": lipschitz,
                "strong_convexity": convexity,
                "step": step,
                "iterations": iterations,
                "samples": samples,
            },
            partial(fairness.sensitivity, smoothness=10.0),
            domain={"iterations": Range(1, 10**4, logarithmic=True, integer=True)},
            tolerance=1e-11,
        ),
    ]
)
