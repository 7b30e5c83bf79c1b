"""Twins of CorBin-FL and of utility fairness."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from airtight.analytics.federated.corbin import (
    alphabets,
    central_privacy,
    communication,
    dropout,
    mean_estimation,
    quantizers,
)
from airtight.analytics.federated.fair import convergence, fairness
from airtight.analytics.federated.few_bits import baselines
from airtight.analytics.forms import binary_quantizers as quantizer_forms
from airtight.analytics.forms import iteration_bounds as convergence_forms
from airtight.analytics.forms import wireless_device as device_forms
from airtight.validate.claims.domain import Range, constant
from airtight.validate.twins.twin import (
    COUNT,
    DELTA,
    LENGTH,
    SOME,
    TINY,
    Twin,
    device_value,
    fleet_of,
    largest_utility,
    of_first,
)


def corbin() -> list[Twin]:
    """Twins of the quantizers, their errors, and Theorems 2 to 4."""
    forms = quantizer_forms.FORMS
    epsilon = Range(1e-9, 700.0, logarithmic=True)
    size = {"epsilon": epsilon, "radius": LENGTH}
    clients = {"clients": Range(2, 10**6, logarithmic=True, integer=True), **size}
    unit = {"epsilon": Range(1e-6, 30.0, logarithmic=True), "radius": constant(1.0)}
    pair = {"w1": Range(-1.0, 1.0, extra=(0.0,)), "w2": Range(-1.0, 1.0, extra=(0.0,)), **unit}

    def far_from_edges(**v: Any) -> bool:
        """Whether no level is within rounding of an integer, where a floor would be decided by rounding."""
        A = float(quantizers.alpha(v["epsilon"]))
        levels = 2.0 ** v["bits"] * np.array([0.5 + v["w1"] / (2 * A), 0.5 - v["w2"] / (2 * A)])
        return bool(np.all(np.abs(levels - np.rint(levels)) > 1e-6))

    def square(**v: Any) -> float:
        return float(v["radius"] * quantizers.alpha(v["epsilon"])) ** 2

    def law_variance(w: float, epsilon: float, radius: float) -> float:
        return float(mean_estimation.ldp([w], epsilon=epsilon, radius=radius))

    dropped = {
        "clients": Range(2, 10**6, logarithmic=True, integer=True),
        "dropout": Range(1e-3, 0.99),
        "slack": Range(1e-6, 0.9, logarithmic=True),
        "delta_1": Range(0.0, 0.5),
        "epsilon": Range(1e-3, 30.0, logarithmic=True),
        "radius": LENGTH,
    }

    def far_from_zero(**v: Any) -> bool:
        found = dropout.published(**v)
        return abs(found.theta) > 1e-2 and abs(found.gamma) > 1e-2 and found.mse != 0

    def largest(**v: Any) -> float:
        return abs(dropout.published(**v).mse) + 8 * square(**v)

    return [
        Twin(forms["alpha"], quantizers.alpha, {"epsilon": epsilon}),
        Twin(forms["LDPQ, variance"], law_variance, {"w": Range(-1.0, 1.0), **unit}, scale=square),
        Twin(
            forms["pair, limit"],
            lambda **v: quantizers.pair_mse(bits=None, **v),
            pair,
            defined=lambda **v: abs(v["w1"] + v["w2"]) > 1e-9,
            scale=square,
        ),
        Twin(
            forms["pair, d shared bits"],
            quantizers.pair_mse,
            {**pair, "bits": Range(0, 12, integer=True)},
            defined=far_from_edges,
            scale=square,
            tolerance=1e-12,
        ),
        Twin(forms["slack"], quantizers.slack, {**size, "bits": Range(0, 60, integer=True)}),
        Twin(forms["slack as printed"], quantizers.published_slack, {**size, "bits": Range(0, 60, integer=True)}),
        Twin(forms["worst pair"], alphabets.minimax_mse, size, 1e-12, lambda **v: v["epsilon"] < 30),
        Twin(forms["average pair"], alphabets.average_mse, size),
        Twin(forms["worst LDP-FL"], mean_estimation.worst_ldp, clients),
        Twin(
            forms["worst CorBin-FL"],
            mean_estimation.worst,
            {**clients, "epsilon": Range(1e-9, 30.0, logarithmic=True)},
            1e-12,
        ),
        Twin(forms["Theorem 2"], mean_estimation.published, clients),
        Twin(forms["Theorem 3, MSE"], mean_estimation.published_augmented, {**clients, "fraction": Range(0.0, 1.0)}),
        Twin(
            forms["Theorem 3, epsilon"],
            lambda **v: (
                central_privacy.published(
                    v["clients"], v["parameters"], **{k: v[k] for k in ("local_epsilon", "delta", "fraction", "radius")}
                ).value
            ),
            {
                "clients": Range(100, 10**6, logarithmic=True, integer=True),
                "parameters": COUNT,
                "local_epsilon": Range(1e-3, 50.0, logarithmic=True),
                "delta": DELTA,
                "fraction": Range(0.1, 1.0),
                "radius": LENGTH,
            },
        ),
        Twin(
            forms["Theorem 4, MSE"],
            lambda **v: dropout.published(**v).mse,
            dropped,
            1e-11,
            far_from_zero,
            largest,
        ),
        Twin(forms["Theorem 4, gamma"], lambda **v: dropout.published(**v).gamma, dropped, 1e-12, far_from_zero),
        Twin(forms["Theorem 4, theta'"], lambda **v: dropout.published(**v).theta_prime, dropped, 1e-12),
        Twin(
            forms["improvement over LDP-FL"],
            mean_estimation.improvement,
            {"epsilon": Range(1e-9, 30.0, logarithmic=True)},
        ),
        Twin(forms["Laplace, variance"], baselines.laplace_variance, size),
        Twin(
            forms["delta against the server"],
            lambda local: central_privacy.server_delta(1.0, local=local),
            {"local": epsilon},
        ),
        Twin(forms["epsilon of an update"], central_privacy.local_epsilon, {"epsilon": epsilon, "parameters": COUNT}),
        *_costs(),
    ]


def _costs() -> list[Twin]:
    domain = {
        "clients": COUNT,
        "parameters": COUNT,
        "bits": Range(0, 30, integer=True),
        "key_bits": Range(1, 4096, logarithmic=True, integer=True),
    }
    found = []
    for label, function in (
        ("printed", communication.published),
        ("stream cipher", communication.stream),
        ("common seed", communication.seeded),
    ):

        def total(function: Callable[..., communication.Cost] = function, **v: Any) -> float:
            return float(function(v["clients"], v["parameters"], bits=v["bits"], key_bits=v["key_bits"]).total)

        found.append(Twin(quantizer_forms.FORMS[f"bits of a round, {label}"], total, domain))
    return found


def descent() -> list[Twin]:
    """Twins of gradient descent."""
    forms = convergence_forms.FORMS
    goal = {"accuracy": Range(1e-300, 0.99, logarithmic=True)}
    kind = {
        "step": Range(1e-6, 1.99, logarithmic=True),
        "strong_convexity": Range(1e-6, 1.0, logarithmic=True, extra=(1.0,)),
        "smoothness": constant(1.0),
    }
    j = {"iterations": Range(1, 10**4, logarithmic=True, integer=True)}

    def away(step: float, strong_convexity: float = 0.0, **rest: Any) -> bool:
        """Whether the step is away from steps that solve a quadratic at once, and from those with rate 1."""
        return min(abs(1 - step), abs(1 - step * strong_convexity)) > 1e-6

    def visible(value: Callable[..., Any]) -> Callable[..., bool]:
        return lambda **v: away(**v) and float(value(**v)) > TINY

    return [
        Twin(
            forms["Theorem 1, iterations"],
            convergence.published_iterations,
            {**goal, **kind, "step": Range(0.51, 1.99)},
            1e-11,
        ),
        Twin(
            forms["Theorem 1, rate"],
            convergence.published_rate,
            {"step": LENGTH, "smoothness": LENGTH},
        ),
        Twin(
            forms["accuracy as printed"],
            convergence.published_accuracy,
            {**j, **kind},
            1e-11,
            visible(convergence.published_accuracy),
        ),
        Twin(forms["contraction"], convergence.contraction, kind, 1e-10, away),
        Twin(
            forms["worst accuracy"],
            convergence.worst_accuracy,
            {**j, **kind},
            1e-11,
            visible(convergence.worst_accuracy),
        ),
        Twin(forms["sufficient iterations"], convergence.sufficient_iterations, {**goal, **kind}, 1e-12, away),
        Twin(forms["iterations by descent"], convergence.descent_iterations, {**goal, **kind}, 1e-12, away),
        Twin(
            forms["necessary iterations"],
            convergence.necessary_iterations,
            {**goal, **kind, "step": Range(1e-6, 0.99, logarithmic=True)},
            1e-12,
        ),
    ]


def devices() -> list[Twin]:
    """Twins of energies, limits and utility of a device, and of noise scaled by the deviation factor."""
    forms = device_forms.FORMS
    fleet = {
        "distance": Range(1.0, 1e4, logarithmic=True),
        "channel_gain": Range(1e-6, 1e3, logarithmic=True),
        "bandwidth": Range(1e3, 1e9, logarithmic=True),
        "center_frequency": Range(1e6, 1e11, logarithmic=True),
        "path_loss_exponent": Range(2.0, 5.0),
        "noise_density_dbm": Range(-180.0, -120.0),
        "snr_gap_db": Range(0.0, 20.0),
        "model_bits": Range(1e3, 1e9, logarithmic=True),
        "deadline": Range(1e-3, 1e3, logarithmic=True),
        "bits_per_iteration": Range(1e2, 1e8, logarithmic=True),
        "seconds_per_bit": Range(1e-10, 1e-7, logarithmic=True),
        "compute_power": Range(1e-3, 5.0, logarithmic=True),
        "circuit_power": Range(1e-3, 5.0, logarithmic=True),
        "amplifier_efficiency": Range(0.05, 1.0),
        "max_power": Range(1e-3, 5.0, logarithmic=True),
        "min_iterations": Range(0, 100, integer=True),
        "utility_energy": Range(1e-3, 10.0, logarithmic=True),
        "beta_1": Range(1e-3, 1.0, logarithmic=True),
        "beta_2": Range(1e-3, 1.0, logarithmic=True),
    }
    at = {**fleet, "iterations": Range(0.0, 1e4), "power": Range(1e-6, 5.0, logarithmic=True)}

    def room(**v: Any) -> bool:
        there = fleet_of(v)
        return 0 < float(there.min_log_rate[0]) < 600 and float(there.deadline[0]) > 1.01 * float(there.least_time[0])

    def most_scale(**v: Any) -> float:
        there = fleet_of(v)
        return float((there.deadline[0] + there.unit_time[0] / there.max_log_rate[0]) / there.iteration_time[0])

    return [
        Twin(forms["gain"], device_value("gain"), fleet),
        Twin(forms["rate"], device_value("rate", "power"), at),
        Twin(forms["transmission time"], device_value("transmit_time", "power"), at),
        Twin(forms["transmission energy"], device_value("transmit_energy", "power"), at),
        Twin(forms["energy"], device_value("energy", "iterations", "power"), at),
        Twin(forms["utility"], device_value("utility", "iterations", "power"), at, scale=largest_utility),
        Twin(forms["least power"], device_value("min_power"), fleet, 1e-11, room),
        Twin(forms["most iterations"], device_value("max_iterations"), fleet, scale=most_scale),
        Twin(
            forms["noise scale"],
            fairness.noise_scale,
            {
                "deviation": Range(0.0, 1.0),
                "epsilon": Range(1e-6, 1.0, logarithmic=True),
                "delta": DELTA,
                "theta": Range(0.01, 0.99),
            },
        ),
        Twin(
            forms["effective epsilon"],
            fairness.effective_epsilon,
            {"deviation": Range(0.0, 1.0), "epsilon": SOME, "theta": Range(0.01, 0.99)},
        ),
        Twin(
            forms["deviation factor"],
            lambda similarity: of_first(fairness.published_deviation(similarity)),
            {"similarity": Range(-1.0, 1.0)},
            1e-14,
            lambda similarity: abs(max(similarity)) > 1e-3,
            lambda similarity: 1 + abs(similarity[0] / max(similarity)),
        ),
        Twin(
            forms["fit to one round"],
            fairness.published_fit,
            {"deviation": Range(0.01, 1.0), "compute_energy": Range(0.0, 1.0), "beta_2": Range(0.01, 1.0)},
        ),
        Twin(
            forms["deviation model"],
            fairness.model,
            {"compute_energy": Range(0.0, 1.0), "beta_1": SOME, "beta_2": Range(0.01, 1.0)},
        ),
        Twin(
            forms["sensitivity of an update"],
            partial(fairness.sensitivity, smoothness=10.0),
            {
                "lipschitz": LENGTH,
                "strong_convexity": Range(1e-3, 10.0, logarithmic=True),
                "step": Range(1e-4, 0.09, logarithmic=True),
                "iterations": Range(1, 10**4, logarithmic=True, integer=True),
                "samples": COUNT,
            },
            1e-11,
        ),
    ]
