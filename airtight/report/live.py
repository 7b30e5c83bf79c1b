"""The sliders of the page: the printed forms as JavaScript, the exact curve of equal devices, and the initial values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from airtight.analytics.inference.channel import Channel, PowerLimit
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.results.inference_results import Privacy
from airtight.results.schema import as_json

_PARTS_OF_ERFCX, _DEGREE = 32, 8  # intervals and degree of the polynomials for erfcx: their error is below 3e-15
_MIDDLE = 3.75
_NODES = (4, 8, 16)  # quadrature nodes: for short differences, and for the norm across with a loose and a close rule
_TEMPLATES = resources.files("airtight.report").joinpath("templates")
_PARTS = ("exact", "hidden", "rounds", "channel")
_OFFERED = (
    "erfcx, gaussian, unlike, hidden, binomial, covered, logDelta, logDeltaOver, epsilon, oneQuery, proven, overRounds, "
    "finished, several, limited, decided, refusal, drawn, greatestEpsilon, limitOfAntennas, lastingRefused, overRoundsAndStates"
)
_MOST_ROUNDS = 1000  # greatest number of rounds that the slider offers
_MOST_STATES = 200  # of a channel, that the page draws
_MOST_ANTENNAS = 16  # for which it solves at once


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


def start(name: str, system: InferenceSystem, privacy: Privacy) -> dict[str, Any]:
    """Initial values of the controls: every device equals the least protected one; and the epsilon of Python for them."""
    true = privacy.asked_once
    k, over = int(np.argmax(true)), Channel() if system.channel is None else system.channel
    states = min(over.states, _MOST_STATES)
    seen = observers.resolved(system, privacy.observer)
    vectors = [getattr(system, name) for name in ("participation", "noise_variance", "weight", "clip")]
    suffices = None
    if over.max_power is not None:
        vectors.append(np.broadcast_to(over.max_power, (system.devices,)) * over.gain_means(system.devices))
        suffices = float(vectors[-1][k])
    remark = ""
    if any(np.ptp(vector) > 0 for vector in vectors):
        remark = f"the devices of this system differ: here all are like device {k}, the least protected."
    elif states < over.states:
        remark = f"of the {over.states} states of the file the page draws {states}."
    elif not over.known:
        remark = "the observer of the file does not know the channel: here it does, and learns no less."
    return {
        "name": name,
        "remark": remark,
        "devices": system.devices,
        **{name: float(getattr(system, name)[k]) for name in ("participation", "noise_variance", "weight", "clip")},
        "alignment": system.alignment,
        "receiver_noise_variance": system.receiver_noise_variance,
        "dimension": system.dimension,
        "delta": system.delta,
        "delta_prime": system.delta_prime,
        "rounds": 1 if privacy.composed is None else min(privacy.composed.rounds, _MOST_ROUNDS),
        "adjacency": system.adjacency.value,
        "observer": seen.value,
        "idle_noise": system.idle_noise,
        "exact": None if remark else as_json(float(true[k])),
        "model": over.model.value,
        "antennas": over.antennas,
        "fading": over.fading.value,
        "k_factor": over.k_factor,
        "shape": over.shape,
        "shadowing_db": over.shadowing_db,
        "max_power": suffices,
        "known": over.known,
        "fresh": over.fresh,
        "states": states,
        "seed": over.seed,
        "streams": _streams(over, (states, system.devices)),
    }


def _streams(channel: Channel, shape: tuple[int, int]) -> dict[str, str]:
    """States of the generator of :meth:`Channel.draw`, in hexadecimal: at its start, and before further antennas."""
    rng = np.random.default_rng(channel.seed)

    def place(name: str = "state") -> str:
        found: dict[str, Any] = rng.bit_generator.state  # type: ignore[assignment]
        return f"{found['state'][name]:x}"

    streams = {"first": place(), "increment": place("inc")}
    for _ in range(2 if channel.decides_participation else 1):  # who sends, and the gain of antenna 1
        rng.random(shape)
    for _ in range(2):  # the error of its inversion
        rng.standard_normal(shape)
    return {**streams, "then": place()}


def unserved(channel: Channel | None) -> str:
    """Why the controls cannot begin with this channel; empty where they can."""
    if channel is None:
        return ""
    if channel.looks is not None:
        return "the coefficients come from a file"
    if channel.max_power is not None and channel.power_limit is not PowerLimit.PER_BLOCK:
        return "its power limit is not of the mean energy of a block (power_limit)"
    if channel.csi_error > 0:
        return "the inversion has an error (csi_error)"
    return f"it has more than {_MOST_ANTENNAS} antennas" if channel.antennas > _MOST_ANTENNAS else ""


def starts(values: Sequence[Mapping[str, Any]]) -> Markup:
    """The initial values of every system, as JSON that may be embedded in a page."""
    text = json.dumps(values, allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))
