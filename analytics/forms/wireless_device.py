r"""A wireless device (UF Sec. II): gain, times, energies, limits, utility; noise scaled by the deviation factor."""

from __future__ import annotations

import sympy as sp

from airtight.analytics.forms.form import Face, Form, collected, per_device

distance, fading, bandwidth, frequency = sp.symbols("r |h|^2 B f_c", positive=True)
exponent, density, gap = sp.symbols("alpha N_0 Gamma", real=True)
model, deadline, load, per_bit = sp.symbols("V T d tau", positive=True)
compute, circuit, efficiency, greatest = sp.symbols("P_cp P_cir rho P_max", positive=True)
fewest, varrho, beta_1, beta_2 = sp.symbols("j_min varrho beta_1 beta_2", positive=True)
iterations, power = sp.symbols("j P", positive=True)
epsilon, delta, theta, deviation, energy_cp = sp.symbols("epsilon_g delta_g theta E_k E_cp", positive=True)
lipschitz, convexity, step, samples = sp.symbols("G mu eta d_k", positive=True)

cosines = per_device("s", 3, real=True)

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
_at = {**_fleet, "iterations": iterations, "power": power}

FORMS = collected(
    [
        Form("gain", "UF (15)", Face.EXACT, gain, _fleet),
        Form("rate", "UF (14), (36)", Face.EXACT, bandwidth * log_rate / sp.log(2), _at),
        Form("transmission time", "UF (13)", Face.EXACT, transmit_time, _at),
        Form("transmission energy", "UF (58)", Face.EXACT, transmit_energy, _at),
        Form("energy", "UF (23), (24)", Face.EXACT, energy, _at),
        Form("utility", "UF (30)", Face.EXACT, utility, _at),
        Form("least power", "UF (32)", Face.EXACT, (sp.exp(_min_log_rate) - 1) / gain, _fleet),
        Form(
            "most iterations",
            "UF (33)",
            Face.EXACT,
            (deadline - model * sp.log(2) / bandwidth / _max_log_rate) / iteration_time,
            _fleet,
        ),
        Form(
            "noise scale",
            "UF (25)",
            Face.PUBLISHED,
            printed_scale,
            {"deviation": deviation, "epsilon": epsilon, "delta": delta, "theta": theta},
        ),
        Form(
            "effective epsilon",
            "UF (25)",
            Face.PUBLISHED,
            epsilon * (1 - deviation * theta),
            {"deviation": deviation, "epsilon": epsilon, "theta": theta},
        ),
        Form(
            "deviation factor",
            "UF (26)",
            Face.PUBLISHED,
            1 - cosines[0] / sp.Max(*cosines),
            {"similarity": cosines},
        ),
        Form(
            "fit to one round",
            "UF (29)",
            Face.PUBLISHED,
            deviation * sp.exp(energy_cp / beta_2),
            {"deviation": deviation, "compute_energy": energy_cp, "beta_2": beta_2},
        ),
        Form(
            "deviation model",
            "UF (28)",
            Face.PUBLISHED,
            beta_1 * sp.exp(-energy_cp / beta_2),
            {"compute_energy": energy_cp, "beta_1": beta_1, "beta_2": beta_2},
        ),
        Form(
            "sensitivity of an update",
            "UF-A1",
            Face.PROVEN,
            4 * lipschitz / (convexity * samples) * (1 - (1 - step * convexity) ** iterations),
            {
                "lipschitz": lipschitz,
                "strong_convexity": convexity,
                "step": step,
                "iterations": iterations,
                "samples": samples,
            },
        ),
    ]
)
