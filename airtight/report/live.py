"""The live part of the page: the report's numbers that it opens at, and JavaScript for what its controls change."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import sympy as sp
from markupsafe import Markup
from numpy.polynomial import chebyshev
from numpy.polynomial.legendre import leggauss
from scipy import special

from airtight.analytics.checks import FloatArray
from airtight.analytics.forms import theorem1
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.channel import Channel, PowerLimit
from airtight.analytics.inference.fading import Fading, NoFading, PowerGain
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.report.numbers import in_table
from airtight.results import numerals
from airtight.results.inference_results import Privacy
from airtight.results.schema import as_json

_PARTS_OF_ERFCX, _DEGREE = 32, 8  # intervals and degree of the polynomials for erfcx: their error is below 3e-15
_MIDDLE = 3.75
# hardly ever is a uniform number below 2^-40, or 1 minus it below e^-36
_LOG_HAZARD = (-40 * math.log(2), math.log(36))
_PARTS_OF_QUANTILE, _DEGREE_OF_QUANTILE, _POINTS = 24, 9, 24
_NODES = (4, 8, 16)  # quadrature nodes: for short differences, and for the norm across with a loose and a close rule
_TEMPLATES = resources.files("airtight.report").joinpath("templates")
_PARTS = ("exact", "hidden", "rounds", "channel")
_OFFERED = (
    "erfcx, gaussian, unlike, hidden, binomial, covered, logDelta, epsilon, oneQuery, proven, overRounds, "
    "finished, several, limited, decided, refusal, drawn, greatestEpsilon, limitOfAntennas, lastingRefused, "
    "overRoundsAndStates, faded, gainAbove, hazard"
)
EXAMPLES = [  # of each law of fading
    Channel(),
    Channel(fading=Fading.RAYLEIGH),
    *(Channel(fading=Fading.RICIAN, k_factor=k_factor) for k_factor in (1.0, 10.0)),
    *(Channel(fading=Fading.NAKAGAMI, shape=shape) for shape in (0.5, 4.0)),
    Channel(fading=Fading.LOGNORMAL, shadowing_db=8.0),
]
_MOST_ROUNDS = 1000  # greatest number of rounds that the slider offers
_MOST_STATES = 200  # of a channel, that the page draws
_MOST_ANTENNAS = 16  # for which it solves at once
_MOST_PAIRS = 1 << 21  # of devices in all states; beyond, the page refuses to draw


def script(channels: Iterable[Channel] = ()) -> str:
    """JavaScript of the page: ``airtight`` (exact and proven values) and ``printed`` (Theorem 1, from its expressions).

    The page offers an example of each law of fading, and the laws of `channels`.

    Examples
    --------
    >>> script().startswith("const ERFCX = [")
    True
    """
    laws = {law_text(channel): channel.power_gain for channel in [*EXAMPLES, *channels]}
    constants = f"const ERFCX = {json.dumps(_erfcx())}, LEGENDRE = {json.dumps(_rules())};\n"
    constants += f"const LOG_HAZARD = {json.dumps(_LOG_HAZARD)};\n"
    constants += f"const LAWS = {json.dumps({text: _law(law) for text, law in laws.items()})};\n"
    return constants + _functions()


@cache
def _functions() -> str:
    """The part of the script that is the same on every page."""
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
    exact = "\n".join(_TEMPLATES.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in _PARTS)
    return (
        "const airtight = (() => {\n"
        f'  "use strict";\n{exact}\n  return {{ {_OFFERED} }};\n}})();\n'
        f"const printed = {{\n{printed},\n}};\n"
    )


def law_text(channel: Channel) -> str:
    """The law of the fading of a channel, as a file has it.

    Examples
    --------
    >>> law_text(Channel(fading="rician", k_factor=10.0))
    'fading = "rician", k_factor = 10.0'
    """
    parameter = channel.power_gain.parameter
    value = "" if parameter is None else f", {parameter} = {getattr(channel, parameter)!r}"
    return f'fading = "{channel.fading.value}"{value}'


def _law(law: PowerGain) -> dict[str, Any]:
    """What the page draws a law of fading from: whether all antennas share a draw, and the logarithm of its quantile."""
    return {"common": law.common_to_antennas, "quantile": None if isinstance(law, NoFading) else _log_quantile(law)}


def _log_quantile(law: PowerGain) -> list[list[float]]:
    """Polynomials for log G over log H, H = -log P(G > g) the cumulative hazard, on equal parts of _LOG_HAZARD.

    Each is fitted to gains of the law where its hazard is known to all digits: a uniform number u is a multiple of 2^-53, as a
    generator draws them, so that 1 - u = e^-H is not rounded; and above H = 1 the hazard of the gain is computed again, because
    a quantile of a tail below 1e-9 has few digits. Errors of G at these points are below 1e-9 (tests).
    """
    low, high = _LOG_HAZARD
    cosines = np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS)
    parts = np.arange(_PARTS_OF_QUANTILE)[:, None]
    u = -np.expm1(-np.exp(low + (high - low) * (parts + (1 + cosines) / 2) / _PARTS_OF_QUANTILE))
    u = np.ldexp(np.rint(np.ldexp(u, 53)), -53)
    gain = law.drawn_above(u, np.zeros(()), np.ones(()))
    hazard = -np.log1p(-u)
    hazard[hazard > 1] = -np.log(law.exceeds(gain[hazard > 1]))
    places = 2 * ((np.log(hazard) - low) / (high - low) * _PARTS_OF_QUANTILE - parts) - 1
    fitted = [
        chebyshev.chebfit(place, log_gain, _DEGREE_OF_QUANTILE)
        for place, log_gain in zip(places, np.log(gain), strict=True)
    ]
    return [chebyshev.cheb2poly(series).tolist() for series in fitted]


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

        coefficients: list[float] = chebyshev.cheb2poly(chebyshev.chebinterpolate(value, _DEGREE)).tolist()
        return coefficients

    return [polynomial(part) for part in range(_PARTS_OF_ERFCX)]


def _rules() -> list[list[list[float]]]:
    """Nodes and weights of the Gauss-Legendre rules."""
    return [[each.tolist() for each in leggauss(number)] for number in _NODES]


def start(name: str, system: InferenceSystem, privacy: Privacy) -> dict[str, Any]:
    """What the controls begin with: the report's numbers, the file's values, and what a control that moves cannot keep.

    The page shows `report`, Python's numbers for the file's own devices and channel, until a control moves. What it computes
    then has the values of the worst device for all devices; `differs` says in words in what that is not the file's system.
    """
    k, channel = int(np.argmax(privacy.asked_once)), Channel() if system.channel is None else system.channel
    states = min(channel.states, _MOST_STATES)
    vectors = {name: getattr(system, name) for name in ("participation", "noise_variance", "weight", "clip")}
    if channel.max_power is not None:  # a gain of mean 1 meets the limit in units of the mean gain
        vectors["max_power"] = np.broadcast_to(channel.max_power, (system.devices,)) * channel.gain_means(system.devices)
    equal_devices = all(np.ptp(vector) == 0 for vector in vectors.values())
    rounds = min(system.rounds, _MOST_ROUNDS)
    differs = {
        f"all devices alike, each as device {k}, the least protected of the file": not equal_devices,
        f"{states} of the {channel.states} states of the file": states < channel.states,
        "an observer who knows the channel, and learns no less": not channel.known,
        f"{_MOST_ROUNDS} rounds at most": rounds < system.rounds,
    }
    values = {
        "max_power": None,
        **{name: float(vector[k]) for name, vector in vectors.items()},
        "alignment": system.alignment,
        "dimension": system.dimension,
        "rounds": rounds,
    }
    return {
        "name": name,
        "report": [
            _report_numbers(system, privacy, observer)
            for observer in (Observer.PARTICIPANTS, Observer.OTHERS, Observer.SIGNAL)
        ],
        "shown": {
            name: _range(vectors.get(name, value)) for name, value in {**values, "rounds": system.rounds}.items()
        },
        "place": _place(system),
        "differs": [text for text, true in differs.items() if true],
        "alike": equal_devices,
        "unserved": unserved(system.channel),
        **values,
        "devices": system.devices,
        "receiver_noise_variance": system.receiver_noise_variance,
        "delta": system.delta,
        "delta_prime": system.delta_prime,
        "adjacency": system.adjacency.value,
        "observer": observers.resolved(system, system.observer).value,
        "idle_noise": system.idle_noise,
        "model": channel.model.value,
        "antennas": channel.antennas,
        "law": law_text(channel),
        "known": channel.known,
        "fresh": channel.fresh,
        "states": states,
        "seed": channel.seed,
        "streams": _streams(channel, (states, system.devices)) if states * system.devices**2 <= _MOST_PAIRS else None,
    }


def _report_numbers(system: InferenceSystem, privacy: Privacy, observer: Observer) -> dict[str, Any]:
    """The numbers of the report against one observer, each of the device where it is greatest; None where it has none.

    The closed form is proved against the observer that `auto` stands for. Against one who sees more, the exact value stands in
    its place, because it must never lie below that.
    """
    resolved = observers.resolved(system, privacy.observer)
    by_observer = {
        Observer.PARTICIPANTS: privacy.observers.participants,
        Observer.OTHERS: privacy.observers.others,
        Observer.SIGNAL: privacy.observers.signal.epsilon,
    }
    once = by_observer[observer]
    after_rounds = None if privacy.composed is None or observer is not resolved else privacy.composed.epsilon
    sees_more = observer.sees_device and not observers.default_observer(system).sees_device
    epsilons = {"exact": once, "rounds": once if privacy.composed is None else after_rounds}
    if channel_privacy.adds_nothing(system):
        epsilons["theorem1"] = privacy.published.theorem1.epsilon
        epsilons["eq23"] = privacy.published.eq23.epsilon
        epsilons["proven"] = once if sees_more else privacy.proven.epsilon
    channel = system.channel
    hides = not observer.sees_others and not system.idle_noise and not system.power_decides
    return {
        "observer": observer.value,
        "upper": hides or (channel is not None and not (channel.known and channel.csi_error == 0)),
        **{name: None if epsilon is None else _worst(epsilon) for name, epsilon in epsilons.items()},
    }


def _worst(epsilon: FloatArray) -> dict[str, Any]:
    """The greatest value with the digits of the report, all of its digits, and whose it is."""
    k = int(np.argmax(epsilon))
    whose = "every device" if np.all(epsilon == epsilon[0]) else f"worst device {k}"
    text = in_table(numerals.rounded_up(float(epsilon[k])))
    return {"text": text, "value": as_json(float(epsilon[k])), "whose": whose}


def _range(value: Any) -> str:
    """A number, or the least and the greatest of several, with the digits of the report."""
    if value is None:
        return ""
    low, high = (numerals.plain(float(end)) for end in (np.min(value), np.max(value)))
    return low if low == high else f"{low} to {high}"


def _place(system: InferenceSystem) -> str:
    """At which antennas, in how many states of the channel, the numbers of the report are."""
    channel = system.channel
    if channel is None or channel_privacy.adds_nothing(system):
        return ""
    if channel.looks is not None:
        states, _, looks = channel.looks.shape
        place = f", at {looks} looks in {states} states of the file"
    else:
        place = f", at {channel.antennas} antenna{'s' * (channel.antennas > 1)} in {channel.states} states"
    return place + (" that it knows" if channel.known else " that it does not know")


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
    """Why the controls cannot keep this channel; empty where they can."""
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
