"""Twins of MSE, accuracy, transmission and selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from airtight.analytics.distributions import selection
from airtight.analytics.forms import inference_errors as inference_forms
from airtight.analytics.inference import accuracy, distortion, margin, participation, transmission, uncertainty
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.claims.domain import Range
from airtight.validate.twins.twin import (
    DELTA,
    LENGTH,
    NONNEGATIVE,
    PROBABILITY,
    REAL,
    K,
    Twin,
    largest_term,
    of_first,
    scalar_features,
    system_of,
)


def bounds() -> list[Twin]:
    """Twins of accuracy, transmission, entropies, MSE and selection."""
    forms = inference_forms.FORMS
    bound = {"mse": NONNEGATIVE, "margin": LENGTH, "ideal_accuracy": Range(0.0, 1.0)}
    limit = {"power": LENGTH, "weight": NONNEGATIVE, "clip": LENGTH, "noise_norm": LENGTH}

    def apart(mse: float, margin: float, **rest: Any) -> bool:
        return abs(mse - margin**2) > 1e-3 * mse and abs(mse - margin) > 1e-3 * mse

    found = [
        Twin(forms["Theorem 2"], accuracy.markov, bound, 1e-11, apart),
        Twin(forms["Theorem 2, short paper"], accuracy.short_paper, bound, 1e-11, apart),
        Twin(
            forms["Cantelli's bound"],
            accuracy.cantelli,
            {**bound, "variance": LENGTH},
            1e-11,
            apart,
        ),
        Twin(forms["amplitude, printed"], transmission.published_limit, limit),
        Twin(forms["amplitude, proven"], transmission.proven_limit, limit),
        Twin(
            forms["Scheme 2.1, participation"],
            participation.threshold,
            {"score": REAL, "noise": Range(0.3, 1e3, logarithmic=True), "eta": REAL},
            1e-11,
        ),
    ]
    many = {"labels": Range(2, 10**6, logarithmic=True, integer=True)}
    found.append(Twin(forms["entropy, sensitivity printed"], uncertainty.published_sensitivity, many))
    found.append(Twin(forms["entropy, sensitivity"], uncertainty.sensitivity, many))
    found.append(Twin(forms["amplitude, exact"], transmission.exact_limit, {"power": LENGTH, "signal_norm": LENGTH}))
    found.append(Twin(forms["score, scaled"], uncertainty.scaled, {"score": Range(0.0, 1.0), "bound": LENGTH, **many}))
    layer = {"first": REAL, "second": REAL, "f": REAL}

    def apart_rows(first: float, second: float, f: float) -> bool:
        return abs(first - second) > 1e-3 and abs(f) > 1e-3

    for name, margin_of in (("Lemma 1, two labels", margin.published), ("margin, two labels", margin.exact_linear)):

        def width(margin_of: Callable[..., float] = margin_of, **v: Any) -> float:
            return margin_of([(np.array([[v["first"]], [v["second"]]]), np.zeros(2))], [v["f"]])

        found.append(Twin(forms[name], width, layer, 2e-12, apart_rows))
    chance = Range(1e-6, 1.0, logarithmic=True)
    found.append(
        Twin(
            forms["min-entropy, sensitivity printed"],
            uncertainty.published_min_entropy_sensitivity,
            {"greatest": chance},
            defined=lambda greatest: greatest < 0.999,
        )
    )
    found.append(
        Twin(
            forms["min-entropy, sensitivity"],
            uncertainty.capped_min_entropy_sensitivity,
            {"least": chance, "greatest": chance},
            defined=lambda least, greatest: least < 0.999 * greatest,
        )
    )
    found.append(
        Twin(
            forms["unbiased weight"],
            lambda devices, participation: of_first(
                distortion.unbiased_weight(system_of(devices=devices, participation=participation))
            ),
            {"devices": Range(1, 1000, integer=True), "participation": chance},
        )
    )
    scalar = {
        "participation": PROBABILITY,
        "weight": Range(1e-6, 1e3, logarithmic=True, extra=(0.0,)),
        "f": REAL,
        "W": REAL,
        "noise_variance": NONNEGATIVE,
        "D": REAL,
        "receiver_noise_variance": NONNEGATIVE,
    }
    for name, function in (("MSE", distortion.exact), ("MSE as printed", distortion.published)):

        def error(function: Callable[[InferenceSystem, Features], float] = function, **v: Any) -> float:
            return function(*scalar_features(**v))

        form = inference_forms.distortion(K)[name]
        found.append(Twin(form, error, scalar, 1e-14, lambda **v: largest_term(**v) > 0, largest_term))

    def short(**v: Any) -> float:
        made, views = scalar_features(**v, noise_variance=np.zeros(K))
        private = {name: v[name] for name in ("epsilon", "delta")}
        return distortion.published_short(replace(made, clip=v["clip"]), views, **private)

    def largest_short(**v: Any) -> float:
        weight, clip, epsilon, delta = (np.array(v[name]) for name in ("weight", "clip", "epsilon", "delta"))
        variance = 2 * (weight * clip / epsilon) ** 2 * np.log(1.25 / delta)
        return largest_term(**v, noise_variance=variance)

    local = {"clip": LENGTH, "epsilon": Range(1e-3, 10.0, logarithmic=True), "delta": DELTA}
    printed = {**{name: kind for name, kind in scalar.items() if name != "noise_variance"}, **local}
    form = inference_forms.distortion(K)["MSE of the short paper"]
    found.append(Twin(form, short, printed, 1e-13, lambda **v: largest_short(**v) > 0, largest_short))
    return found + _selection()


def _selection() -> list[Twin]:
    forms = inference_forms.selection(K)
    domain = {"score": Range(-3.0, 3.0), "noise": Range(0.1, 10.0, logarithmic=True)}

    def ordered(score: tuple[float, ...], noise: tuple[float, ...]) -> bool:
        return list(score) == sorted(score) and len(set(score)) == len(score)

    def absolute(**v: Any) -> float:
        return 1.0

    functions: tuple[tuple[str, Callable[..., Any], float], ...] = (
        ("Theorem 3, lower bound", participation.published_lower, 1e-14),
        (
            "Scheme 2.2, proven lower bound",
            lambda score, noise: of_first(participation.proven_bounds(score, noise, 1)[0]),
            2e-12,
        ),
        (
            "Scheme 2.2, proven upper bound",
            lambda score, noise: of_first(participation.proven_bounds(score, noise, 1)[1]),
            2e-12,
        ),
        ("Scheme 2.2, two devices", lambda score, noise: of_first(selection.probability(score, noise, 1)), 1e-11),
    )
    return [
        Twin(forms[name], function, domain, tolerance, ordered, absolute) for name, function, tolerance in functions
    ]
