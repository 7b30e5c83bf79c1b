"""Twins of Gaussian releases, composition, Theorem 1 and amplification."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from airtight.analytics.forms import gaussian_mechanism as gaussian_forms
from airtight.analytics.forms import theorem1 as amplification_forms
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting import composition_theorems
from airtight.analytics.privacy.mechanisms import gaussian, laplace, subsampling
from airtight.analytics.privacy.over_the_air import amplification, concentration
from airtight.solvers.weights import caps
from airtight.validate.claims.domain import Range, constant
from airtight.validate.twins.twin import (
    COUNT,
    DELTA,
    EPSILON,
    LENGTH,
    NONNEGATIVE,
    PROBABILITY,
    SOME,
    TINY,
    K,
    Twin,
    of_first,
    system_of,
)


def _positive_margin(form: str) -> Callable[..., bool]:
    deviation = {"(11)": concentration.theorem1_deviation, "(23)": concentration.eq23_deviation}[form]

    def defined(**v: Any) -> bool:
        system = system_of(
            participation=v["participation"], noise_variance=v["noise_variance"], delta_prime=v["delta_prime"]
        )
        mean = concentration.mean_noise(system)
        return mean > 0 and deviation(system) < 0.99 * mean and v["participation"][0] > 0

    return defined


def releases() -> list[Twin]:
    """Twins of Gaussian and Laplace releases, and of their composition."""
    forms = gaussian_forms.FORMS
    ratio = {"sensitivity": Range(1e-3, 1e3, logarithmic=True), "sigma": Range(1e-2, 1e2, logarithmic=True)}
    many = {"epsilon": EPSILON, "delta": DELTA, "count": COUNT}

    def visible_tail(epsilon: float, sensitivity: float, sigma: float) -> bool:
        return float(gaussian.log_delta(epsilon, sensitivity=sensitivity, sigma=sigma)) > -600

    found = [
        Twin(forms["Gaussian, delta"], gaussian.delta, {"epsilon": EPSILON, **ratio}, 1e-11, visible_tail),
        Twin(forms["Gaussian, classical epsilon"], gaussian.classical_epsilon, {"delta": DELTA, **ratio}),
        Twin(
            forms["Laplace, delta"],
            laplace.delta,
            {"epsilon": EPSILON, "sensitivity": LENGTH, "scale": LENGTH},
            defined=lambda epsilon, sensitivity, scale: abs(epsilon - sensitivity / scale) > 1e-3 * epsilon,
            tolerance=1e-11,
        ),
        Twin(
            forms["strong composition, epsilon"],
            lambda **v: composition_theorems.strong_published(v["epsilon"], v["delta"], count=v["count"]).epsilon,
            many,
        ),
        Twin(
            forms["zero-concentrated, epsilon"],
            composition_theorems.gaussian_zcdp,
            {"mu": LENGTH, "count": COUNT, "delta": DELTA},
        ),
        Twin(
            forms["Renyi, epsilon"],
            composition_theorems.renyi_to_epsilon,
            {"order": Range(1.001, 1e6, logarithmic=True), "divergence": LENGTH, "delta": DELTA},
            scale=lambda order, divergence, delta: divergence + (abs(math.log(delta)) + math.log(order)) / (order - 1),
        ),
    ]
    for improved, name in ((False, "advanced composition, epsilon"), (True, "advanced composition, improved")):

        def advanced(improved: bool = improved, **v: Any) -> float:
            return composition_theorems.advanced(
                v["epsilon"], v["delta"], count=v["count"], slack=v["slack"], improved=improved
            ).epsilon

        found.append(Twin(forms[name], advanced, {**many, "slack": DELTA}))
    for releases in (1, 2, 7):

        def optimal(releases: int = releases, **v: Any) -> float:
            return composition_theorems.optimal_delta(
                v["epsilon"], v["delta"], count=releases, total_epsilon=v["total_epsilon"]
            )

        found.append(
            Twin(
                gaussian_forms.optimal_delta(releases),
                optimal,
                {
                    "epsilon": Range(1e-6, 30.0, logarithmic=True),
                    "delta": Range(1e-300, 0.9, logarithmic=True, extra=(0.0,)),
                    "total_epsilon": Range(1e-6, 200.0, logarithmic=True, extra=(0.0,)),
                },
                1e-13,
                scale=lambda **v: 1.0,
            )
        )
    return found


def theorem_1() -> list[Twin]:
    """Twins of Bernstein's inequality, Theorem 1, the weights that it allows, and amplification."""
    forms, devices = amplification_forms.FORMS, amplification_forms.devices(K)
    tail = {"t": NONNEGATIVE, "variance": LENGTH, "bound": LENGTH}
    all_devices = {
        "participation": PROBABILITY,
        "noise_variance": Range(1e-3, 1e3, logarithmic=True, extra=(0.0,)),
        "delta_prime": Range(1e-300, 0.9, logarithmic=True),
    }
    own = {**all_devices, "weight": LENGTH, "clip": LENGTH, "alignment": constant(1.0), "delta": DELTA}

    def visible_tail(t: float, variance: float, bound: float) -> bool:
        return t * t / (variance + bound * t / 3) < 600

    found = [
        Twin(forms["Lemma 3 as printed"], concentration.bernstein_published, tail, 1e-12, visible_tail),
        Twin(forms["Bernstein's inequality"], concentration.bernstein, tail, 1e-12, visible_tail),
        Twin(forms["amplified epsilon"], subsampling.amplified, {"epsilon": EPSILON, "p": SOME}),
        Twin(forms["unamplified epsilon"], subsampling.unamplified, {"epsilon": EPSILON, "p": SOME}),
        Twin(
            devices["mean noise"],
            lambda **v: concentration.mean_noise(system_of(**v)),
            {name: all_devices[name] for name in ("participation", "noise_variance")},
        ),
    ]
    for name, function in (
        ("deviation of Theorem 1", concentration.theorem1_deviation),
        ("deviation of (23)", concentration.eq23_deviation),
        ("deviation meant", concentration.intended_deviation),
        ("deviation proven", concentration.bernstein_deviation),
    ):

        def deviation(function: Callable[[InferenceSystem], float] = function, **v: Any) -> float:
            return function(system_of(**v))

        found.append(Twin(devices[name], deviation, all_devices))
    loose = {**own, "delta_prime": Range(0.05, 0.9), "participation": Range(0.5, 1.0, extra=(1.0,))}
    for label, form in (("(11)", "theorem1"), ("(23)", "eq23")):

        def epsilon(form: str = form, **v: Any) -> float:
            return of_first(amplification.published(system_of(**v), form=form).epsilon)

        def widest(form: str = form, **v: Any) -> float:
            cap = v.pop("epsilon")
            return of_first(caps.published(system_of(**v), cap, form=form))

        here = _positive_margin(label)
        without = {name: kind for name, kind in loose.items() if name != "weight"}
        found.append(Twin(devices[f"Theorem 1, epsilon (t of {label})"], epsilon, loose, 1e-11, here))
        found.append(
            Twin(devices[f"Lemma 5, w_max (t of {label})"], widest, {**without, "epsilon": EPSILON}, 1e-11, here)
        )

    def total(**v: Any) -> float:
        return of_first(amplification.published(system_of(**v)).delta)

    found.append(Twin(devices["Theorem 1, delta"], total, {**all_devices, "delta": DELTA}))

    def visible(**v: Any) -> float:
        distance, epsilon = v.pop("distance"), v.pop("epsilon")
        return float(amplification.exact_delta(system_of(weight=1.0, clip=distance, **v), epsilon, device=0))

    found.append(
        Twin(
            amplification_forms.visible(K),
            visible,
            {
                "participation": Range(1e-3, 1.0, extra=(0.0, 1.0)),
                "noise_variance": Range(1e-2, 1e2, logarithmic=True),
                "receiver_noise_variance": Range(1e-2, 1e2, logarithmic=True),
                "distance": Range(1e-2, 1e2, logarithmic=True),
                "epsilon": Range(1e-6, 50.0, logarithmic=True),
            },
            1e-10,
            lambda **v: visible(**v) > TINY,
        )
    )
    return found
