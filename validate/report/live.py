"""The sliders of the page: the printed forms as JavaScript, the exact curve of equal devices, and the initial values."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import sympy as sp
from markupsafe import Markup
from numpy.polynomial import chebyshev
from numpy.polynomial.legendre import leggauss
from scipy import special

from airtight.analytics.forms import theorem1
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.report.summary import Card
from airtight.validate.results.schema import as_json

_PARTS_OF_ERFCX, _DEGREE = 32, 8  # intervals and degree of the polynomials for erfcx: their error is below 3e-15
_MIDDLE = 3.75
_NODES = (4, 8, 16)  # quadrature nodes: for short differences, and for the norm across with a loose and a close rule
_TEMPLATES = resources.files("airtight.validate.report").joinpath("templates")
_PARTS = ("exact", "hidden", "rounds")
_OFFERED = (
    "erfcx, gaussian, unlike, hidden, binomial, covered, "
    "logDelta, logDeltaOver, epsilon, oneQuery, proven, overRounds, finished"
)
_MOST_ROUNDS = 1000  # greatest number of rounds that the slider offers


@cache
def script() -> str:
    """JavaScript of the page: ``airtight`` (exact and proven values) and ``printed`` (Theorem 1, from its expressions).

    Examples
    --------
    >>> script().startswith("const ERFCX = [")
    True
    """
    forms = theorem1.alike()
    names = {
        "mean_noise": forms["Theorem 1, mean noise"],
        **{
            f"{name}_{form}": forms[f"Theorem 1, {words} of {label}"]
            for form, label in (("theorem1", "(11)"), ("eq23", "(23)"))
            for name, words in (("t", "t"), ("single", "unamplified, t"), ("epsilon", "epsilon, t"))
        },
    }
    printed = ",\n".join(f"  {name}: {function(form)}" for name, form in names.items())
    constants = f"const ERFCX = {json.dumps(_erfcx())}, LEGENDRE = {json.dumps(_rules())};"
    exact = "\n".join(_TEMPLATES.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in _PARTS)
    return (
        f"{constants}\nconst airtight = (() => {{\n"
        f'  "use strict";\n{exact}\n  return {{ {_OFFERED} }};\n}})();\n'
        f"const printed = {{\n{printed},\n}};\n"
    )


def function(quantity: Quantity) -> str:
    """A quantity as a JavaScript function of an object that holds its arguments by name.

    Examples
    --------
    >>> from airtight.analytics.guarantee import Face
    >>> x = sp.Symbol("x")
    >>> function(Quantity("half", "none", Face.EXACT, sp.sqrt(x) / 2, {"length": x}))
    '({length: v0}) => (1/2)*Math.sqrt(v0)'
    """
    plain = {symbol: sp.Symbol(f"v{i}", **symbol.assumptions0) for i, symbol in enumerate(quantity.symbols)}
    taken = ", ".join(f"{name}: v{i}" for i, name in enumerate(quantity.arguments))
    return f"({{{taken}}}) => {sp.jscode(quantity.expression.xreplace(plain))}"


def _erfcx() -> list[list[float]]:
    """Polynomials for (1 + 2x) erfcx(x) on equal intervals of t = x/(x + 3.75), each interval mapped to [-1, 1]."""

    def polynomial(part: int) -> list[float]:
        def value(z: Any) -> Any:
            t = (part + (1 + z) / 2) / _PARTS_OF_ERFCX
            x = _MIDDLE * t / (1 - t)
            return (1 + 2 * x) * special.erfcx(x)

        found: list[float] = chebyshev.cheb2poly(chebyshev.chebinterpolate(value, _DEGREE)).tolist()
        return found

    return [polynomial(part) for part in range(_PARTS_OF_ERFCX)]


def _rules() -> list[list[list[float]]]:
    """Nodes and weights of the Gauss-Legendre rules."""
    return [[each.tolist() for each in leggauss(number)] for number in _NODES]


def start(card: Card, system: InferenceSystem) -> dict[str, Any]:
    """Initial values of the sliders: every device equals the least protected one; and the values of Python for them."""
    k = card.worst
    vectors = ("participation", "noise_variance", "weight", "clip")
    alike = all(np.ptp(getattr(system, name)) == 0 for name in vectors)
    return {
        "name": card.name,
        "alike": bool(alike),
        "device": k,
        "devices": system.devices,
        **{name: float(getattr(system, name)[k]) for name in vectors},
        "alignment": system.alignment,
        "receiver_noise_variance": system.receiver_noise_variance,
        "dimension": system.dimension,
        "delta": system.delta,
        "delta_prime": system.delta_prime,
        "rounds": min(card.rounds, _MOST_ROUNDS),
        "adjacency": system.adjacency.value,
        "observer": card.observer.value,
        "idle_noise": system.idle_noise,
        "exact": as_json(float(card.true[k])) if alike else None,
    }


def starts(cards: list[tuple[Card, InferenceSystem]]) -> Markup:
    """The initial values of every system, as JSON that may be embedded in a page."""
    text = json.dumps([start(card, system) for card, system in cards], allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))
