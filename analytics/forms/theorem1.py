r"""Theorem 1 of FDP as printed, what Bernstein's inequality gives, and amplification that is true."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.forms import gaussian_mechanism
from airtight.analytics.forms.comparison import TINY
from airtight.analytics.forms.domain import (
    COUNT,
    DELTA,
    EPSILON,
    NONNEGATIVE,
    POSITIVE,
    PROBABILITY,
    SHARE,
    Parameter,
    Range,
    constant,
)
from airtight.analytics.forms.quantity import Quantity, collected, per_device
from airtight.analytics.guarantee import Face
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.over_the_air import amplification, concentration, system_privacy

t, variance, bound = Parameter("t", NONNEGATIVE), Parameter("V", POSITIVE), Parameter("M", POSITIVE)
delta, delta_prime = Parameter("delta", DELTA), Parameter("delta'", DELTA)
gamma, noise_floor = Parameter("gamma", constant(1.0)), Parameter("sigma_m^2", Range(1e-2, 1e2, logarithmic=True))
log_term = sp.Symbol("L", positive=True)  # log(2 / delta')
epsilon, p = Parameter("epsilon", EPSILON), Parameter("p", SHARE)

printed_tail = sp.exp(-(t**2) / (variance + bound * t / 3))
true_tail = sp.exp(-(t**2) / 2 / (variance + bound * t / 3))
theorem1_t = log_term / 2 * (bound + sp.sqrt(bound / 9 + 4 * variance / log_term))
eq23_t = log_term / 2 * (bound / 3 + sp.sqrt(bound / 9 + 4 * variance / log_term))
intended_t = log_term / 2 * (bound / 3 + sp.sqrt(bound**2 / 9 + 4 * variance / log_term))
proven_t = bound * log_term / 3 + sp.sqrt((bound * log_term / 3) ** 2 + 2 * variance * log_term)

_tail = {"t": t, "variance": variance, "bound": bound}
_one = {"epsilon": epsilon, "p": p}
_amplified = sp.log(1 + p * (sp.exp(epsilon) - 1))
_unamplified = sp.log(1 + (sp.exp(epsilon) - 1) / p)


def _visible_tail(t: float, variance: float, bound: float) -> bool:
    return t * t / (variance + bound * t / 3) < 600


QUANTITIES = collected(
    [
        Quantity(
            "Lemma 3 as printed",
            "FDP (22)",
            Face.PUBLISHED,
            printed_tail,
            _tail,
            concentration.bernstein_published,
            tolerance=1e-12,
            defined=_visible_tail,
        ),
        Quantity(
            "Bernstein's inequality",
            "FDP-L3*",
            Face.PROVEN,
            true_tail,
            _tail,
            concentration.bernstein,
            tolerance=1e-12,
            defined=_visible_tail,
        ),
        Quantity("amplified epsilon", "FDP-T1d", Face.EXACT, _amplified, _one, subsampling.amplified),
        Quantity("unamplified epsilon", "FDP-T1a", Face.EXACT, _unamplified, _one, subsampling.unamplified),
    ]
)


def printed_root_of_the_exponent() -> list[sp.Expr]:
    """The positive t at which the *printed* exponent (22) equals L: by machine, what (23) should have been.

    Examples
    --------
    >>> [sp.simplify(root - intended_t) for root in printed_root_of_the_exponent()]
    [0]
    """
    return _positive_roots(sp.Eq(t**2, log_term * (variance + bound * t / 3)))


def true_root_of_the_exponent() -> list[sp.Expr]:
    """The same for Bernstein's inequality as it holds.

    Examples
    --------
    >>> [sp.simplify(root - proven_t) for root in true_root_of_the_exponent()]
    [0]
    """
    return _positive_roots(sp.Eq(t**2 / 2, log_term * (variance + bound * t / 3)))


def _positive_roots(equation: sp.Eq) -> list[sp.Expr]:
    sample = {log_term: 2, variance: 3, bound: 5}
    free = sp.Symbol("t")
    return [root for root in sp.solve(equation.subs(t, free), free) if root.subs(sample) > 0]


def system_of(**values: Any) -> InferenceSystem:
    """A system with as many devices as `participation` has entries; parameters that are not given have plain values."""
    defaults = {
        "participation": 0.5,
        "noise_variance": 1.0,
        "weight": 0.5,
        "clip": 1.0,
        "alignment": 1.0,
        "receiver_noise_variance": 0.0,
        "dimension": 1,
        "delta": 1e-5,
        "adjacency": "silent",
    }
    return InferenceSystem(**{**defaults, "devices": np.size(values.get("participation", 0.5)), **values})


def positive_margin(deviation: Callable[[InferenceSystem], float]) -> Callable[..., bool]:
    """Whether the mean noise exceeds the deviation clearly, so that Theorem 1 says something."""

    def defined(**v: Any) -> bool:
        given = system_of(**{name: v[name] for name in ("participation", "noise_variance", "delta_prime")})
        mean = float(concentration.mean_noise(given))
        return mean > 0 and deviation(given) < 0.99 * mean and v["participation"][0] > 0

    return defined


def devices(K: int) -> dict[str, Quantity]:
    """What depends on all devices: the deviations t, and for device 1 the epsilon of (11) and its delta.

    Examples
    --------
    >>> [name for name in devices(1) if "deviation" in name]
    ['deviation of Theorem 1', 'deviation of (23)', 'deviation meant', 'deviation proven']
    """
    prob = per_device("p", K, PROBABILITY)
    square = per_device("s", K, Range(1e-3, 1e3, logarithmic=True, extra=(0.0,)))
    mean = sum(a * b for a, b in zip(prob, square, strict=True))
    put = {
        log_term: sp.log(2 / delta_prime),
        bound: sp.Max(*square),
        variance: sum(a * (1 - a) * b**2 for a, b in zip(prob, square, strict=True)),
    }
    noise = {"participation": prob, "noise_variance": square}
    common = {**noise, "delta_prime": delta_prime}
    quantities = [
        Quantity(
            "mean noise",
            "FDP Theorem 1",
            Face.EXACT,
            mean,
            noise,
            lambda **v: concentration.mean_noise(system_of(**v)),
            meaning="mean variance of the devices' noise in y",
            system=InferenceSystem,
        ),
        Quantity(
            "Theorem 1, delta",
            "FDP (11)",
            Face.PUBLISHED,
            delta_prime + prob[0] * delta / (1 - delta_prime),
            {**common, "delta": delta},
            lambda **v: amplification.published(system_of(**v)).delta,
            meaning="delta that Theorem 1 claims: the device absent, the server sees y alone",
            system=InferenceSystem,
            per_device=True,
        ),
    ]
    for name, source, face, expression, function in (
        ("deviation of Theorem 1", "FDP Theorem 1", Face.PUBLISHED, theorem1_t, concentration.theorem1_deviation),
        ("deviation of (23)", "FDP (23)", Face.PUBLISHED, eq23_t, concentration.eq23_deviation),
        ("deviation meant", "FDP-E23", Face.PUBLISHED, intended_t, concentration.intended_deviation),
        ("deviation proven", "FDP-E23*", Face.PROVEN, proven_t, concentration.bernstein_deviation),
    ):

        def deviation(function: Callable[[InferenceSystem], float] = function, **v: Any) -> float:
            return function(system_of(**v))

        quantities.append(
            Quantity(
                name,
                source,
                face,
                expression.subs(put),
                common,
                deviation,
                meaning="distance of the devices' noise from its mean, exceeded with probability delta' at most",
                system=InferenceSystem,
            )
        )
    return collected(
        quantities + [quantity for form in ("theorem1", "eq23") for quantity in _epsilon(form, common, mean, put)]
    )


def _epsilon(form: str, common: dict[str, Any], mean: sp.Expr, put: dict[sp.Symbol, sp.Expr]) -> list[Quantity]:
    """Epsilon of (11) with either t, and the greatest weight of Lemma 5 that keeps it."""
    label, printed, deviation = {
        "theorem1": ("(11)", theorem1_t, concentration.theorem1_deviation),
        "eq23": ("(23)", eq23_t, concentration.eq23_deviation),
    }[form]
    weight, clip, cap = (
        Parameter(letter, allowed) for letter, allowed in (("w", POSITIVE), ("C", POSITIVE), ("epsilon", EPSILON))
    )
    p_1 = common["participation"][0]
    left = sp.sqrt(mean - printed.subs(put))
    c = gamma * weight * clip * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta))
    others = {**common, "clip": clip, "alignment": gamma, "delta": delta}
    compared: dict[str, Any] = {
        "domain": {"delta_prime": Range(0.05, 0.9), "participation": Range(0.5, 1.0, extra=(1.0,))},
        "tolerance": 1e-11,
        "defined": positive_margin(deviation),
    }
    return [
        Quantity(
            f"Theorem 1, epsilon (t of {label})",
            "FDP (11)",
            Face.PUBLISHED,
            sp.log(1 + p_1 / (1 - delta_prime) * (sp.exp(c / left) - 1)),
            {**others, "weight": weight},
            lambda **v: amplification.published(system_of(**v), form=form).epsilon,
            meaning="epsilon that Theorem 1 claims: the device absent, the server sees y alone",
            system=InferenceSystem,
            per_device=True,
            **compared,
        ),
        Quantity(
            f"Lemma 5, w_max (t of {label})",
            "FDP-wmax",
            Face.PUBLISHED,
            left / (c / weight) * sp.log(1 + (1 - delta_prime) * (sp.exp(cap) - 1) / p_1),
            {**others, "epsilon": cap},
            **compared,
        ),
    ]


def alike() -> dict[str, Quantity]:
    r"""Theorem 1 for any number K of devices alike: epsilon with either t, :math:`c/\sqrt{\bar\mu - t}`, mean noise and t.

    Examples
    --------
    >>> alike()["Theorem 1, mean noise"].latex()
    'K p \\sigma^{2}'
    """
    count, chance = Parameter("K", COUNT), Parameter("p", PROBABILITY)
    deviation, weight, clip = (Parameter(letter, POSITIVE) for letter in ("sigma", "w", "C"))
    mean = count * chance * deviation**2
    put = {
        log_term: sp.log(2 / delta_prime),
        bound: deviation**2,
        variance: count * chance * (1 - chance) * deviation**4,
    }
    arguments = {"devices": count, "participation": chance, "sigma": deviation, "weight": weight, "clip": clip}
    arguments |= {"alignment": gamma, "delta": delta, "delta_prime": delta_prime}
    quantities = [Quantity("Theorem 1, mean noise", "FDP Theorem 1", Face.EXACT, mean, arguments)]
    for label, form in (("(11)", theorem1_t), ("(23)", eq23_t)):
        at = form.subs(put)
        single = gamma * weight * clip * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / sp.sqrt(mean - at)
        amplified = sp.log(1 + chance / (1 - delta_prime) * (sp.exp(single) - 1))
        quantities += [
            Quantity(f"Theorem 1, t of {label}", "FDP Theorem 1", Face.PUBLISHED, at, arguments),
            Quantity(f"Theorem 1, unamplified, t of {label}", "FDP (11)", Face.PUBLISHED, single, arguments),
            Quantity(f"Theorem 1, epsilon, t of {label}", "FDP (11)", Face.PUBLISHED, amplified, arguments),
        ]
    return collected(quantities)


def visible(K: int) -> Quantity:
    r"""FDP-T1b for device 1: :math:`p_1E_S\,\delta_G(\epsilon; \Delta/\sqrt{v_S+s})` over the sets of the others.

    Examples
    --------
    >>> visible(2).expression.count(sp.erfc)
    4
    """
    prob = per_device("p", K, Range(1e-3, 1.0, extra=(0.0, 1.0)))
    square = per_device("s", K, Range(1e-2, 1e2, logarithmic=True))
    distance = Parameter("Delta", Range(1e-2, 1e2, logarithmic=True))
    total = sp.Integer(0)
    for there in product((0, 1), repeat=K - 1):
        share = sp.prod([q if here else 1 - q for here, q in zip(there, prob[1:], strict=True)])
        noise = square[0] + noise_floor + sum(here * s for here, s in zip(there, square[1:], strict=True))
        total += share * gaussian_mechanism.hockey_stick(epsilon, distance, sp.sqrt(noise))
    return Quantity(
        f"visible participants, delta, K = {K}",
        "FDP-T1b",
        Face.EXACT,
        prob[0] * total,
        {
            "participation": prob,
            "noise_variance": square,
            "receiver_noise_variance": noise_floor,
            "distance": distance,
            "epsilon": epsilon,
        },
        _visible,
        domain={"epsilon": Range(1e-6, 50.0, logarithmic=True)},
        tolerance=1e-10,
        defined=lambda **v: _visible(**v) > TINY,
    )


def _visible(distance: float, epsilon: float, **v: Any) -> float:
    return float(system_privacy.delta(system_of(weight=1.0, clip=distance, **v), epsilon, device=0))
