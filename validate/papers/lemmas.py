"""Lemmas that the derivations of several claims use; the machine proves each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from airtight.analytics.forms.domain import parameter
from airtight.analytics.forms.gaussian_mechanism import hockey_stick
from airtight.validate.claims.proving.derivation import Derivation, Lemma, Monotone, Use
from airtight.validate.claims.relation import at_least

# Elementary functions

_value, _factor = (parameter(name, 1e-6, 1e6, logarithmic=True) for name in ("value", "factor"))
_share, _real = parameter("share", 0.0, 1.0), parameter("real", -50.0, 50.0)
NOT_NEGATIVE = Lemma(at_least(parameter("number", 0.0, 1e9), 0))
ORDERED = Monotone(_real, _real, everywhere=True)  # the difference of two numbers, in order, of any size
AT_MOST_ONE = Lemma(_share <= 1)
ROOT_RISES = Monotone(sp.sqrt(_value), _value, everywhere=True)
OVER_ROOT_FALLS = Monotone(_factor / sp.sqrt(_value), _value, everywhere=True)
COTH_FALLS = Monotone(1 / sp.tanh(_value), _value, -1 / sp.sinh(_value) ** 2, everywhere=True)
_base = parameter("odds", 1.0, 1e3)
POWER_BELOW, POWER_ABOVE = Lemma(_base**_share <= _base), Lemma(at_least(_base**_share, 1))
_count, _low, _high = parameter("count", 1, 30, integer=True), parameter("low", 0.0, 1.0), parameter("high", 0.0, 1.0)
POWERS_RISE = Lemma(_low**_count <= _high**_count, [_low <= _high])
LOG_RISES = Monotone(sp.log(_value), _value, everywhere=True)
_exponent_up = parameter("number", 0.0, 1.0)
ABOVE_TANGENT = Monotone(  # e^x - x, and e^-x + x, are at least 1 for x >= 0
    sp.exp(_exponent_up) - _exponent_up,
    _exponent_up,
    2 * sp.exp(_exponent_up / 2) * sp.sinh(_exponent_up / 2),
    everywhere=True,
)
ABOVE_TANGENT_BELOW = Monotone(
    sp.exp(-_exponent_up) + _exponent_up,
    _exponent_up,
    2 * sp.exp(-_exponent_up / 2) * sp.sinh(_exponent_up / 2),
    everywhere=True,
)
BELOW_ARGUMENT = Monotone(_real - sp.tanh(_real), _real, sp.tanh(_real) ** 2, everywhere=True)
_place = parameter("t", 0.1, 1e4, logarithmic=True)
NORMAL_TAIL = Lemma(at_least(sp.erf(_place), 1 - 1 / (2 * _place**2)))  # Chebyshev's inequality

# log cosh is smooth: its derivative rises, and by less than its argument

_start, _move = parameter("start", -40.0, 40.0), parameter("move", 0.0, 100.0)
_positive = parameter("positive", 0.0, 40.0)


def _tanh(x: sp.Expr) -> sp.Expr:
    return sp.sinh(x) / sp.cosh(x)


def _rest(x: sp.Expr) -> sp.Expr:
    """What log cosh lacks to the parabola."""
    return x**2 / 2 - sp.log(sp.cosh(x))


TANH_RISES = Monotone(_tanh(_real), _real, 1 / sp.cosh(_real) ** 2, everywhere=True)
FLATTER = Monotone(_real - _tanh(_real), _real, _tanh(_real) ** 2, everywhere=True)
CURVED = Monotone(_rest(_start + _move) - _rest(_start) - (_start - _tanh(_start)) * _move, _move)  # 0 without a move
CHORD = Monotone(
    _positive * _tanh(_positive) - sp.log(sp.cosh(_positive)), _positive, _positive / sp.cosh(_positive) ** 2
)

# delta of the Gaussian mechanism whose sensitivity is `ratio` times its noise

_any_epsilon, _ratio = parameter("epsilon", -800.0, 800.0), parameter("ratio", 1e-6, 1e6, logarithmic=True)
_upper, _lower = _any_epsilon / _ratio + _ratio / 2, _any_epsilon / _ratio - _ratio / 2
_CURVE = hockey_stick(_any_epsilon, _ratio, 1)
CURVE_FALLS = Monotone(_CURVE, _any_epsilon, -sp.exp(_any_epsilon) * sp.erfc(_upper / sp.sqrt(2)) / 2, everywhere=True)
CURVE_RISES = Monotone(_CURVE, _ratio, sp.exp(-(_lower**2) / 2) / sp.sqrt(2 * sp.pi), everywhere=True)

# FDP-D2-eps1, and the epsilon that (11) makes of an exponent

_epsilon, _delta = parameter("epsilon", 1e-6, 1.0, logarithmic=True), parameter("delta", 1e-300, 0.99, logarithmic=True)
CLASSICAL = Lemma(hockey_stick(_epsilon, _epsilon / sp.sqrt(2 * sp.log(sp.Rational(5, 4) / _delta)), 1) <= _delta)
_exponent, _lost = parameter("exponent", 0.0, 1.0), parameter("lost", 0.0, 0.99)
_odds = 1 + (sp.exp(_exponent) - 1) / (1 - _lost)
_ODDS, _GROWN = Lemma(at_least(_odds, sp.Rational(1, 2))), Lemma(at_least(sp.log(_odds), _exponent))


def amplified(exponent: sp.Expr, epsilon: sp.Expr, lost: sp.Expr, delta: sp.Expr) -> list[Any]:
    """Facts for the epsilon of (11), log(1 + (e^exponent - 1)/(1 - lost)): it has a value, at least the exponent."""
    return [
        (1 - lost >= sp.Rational(1, 2)),
        (sp.log(sp.Rational(5, 4) / delta) >= sp.Rational(1, 5)),
        (epsilon.args[0] >= sp.Rational(1, 2), Derivation(uses=[_ODDS.at(exponent=exponent, lost=lost)])),
        (exponent <= epsilon, Derivation(uses=[_GROWN.at(exponent=exponent, lost=lost)])),
    ]


def calibrated(exponent: sp.Expr, epsilon: sp.Expr, ratio: sp.Expr, greatest: sp.Expr, delta: sp.Expr) -> Sequence[Use]:
    """That delta at an epsilon of at least the exponent and a ratio of at most the greatest is at most that of FDP-D2-eps1."""
    return (
        CURVE_FALLS.at(lower=exponent, upper=epsilon, ratio=ratio),
        CURVE_RISES.at(lower=ratio, upper=greatest, epsilon=exponent),
        CLASSICAL.at(epsilon=exponent, delta=delta),
    )


def less_noise(signal: sp.Expr, needed: sp.Expr, room: sp.Expr, noise: sp.Expr, most: sp.Expr) -> list[Any]:
    """Facts for exponent needed/sqrt(room) and ratio signal/sqrt(noise), room at most the noise and at most `most`."""
    ratio, greatest = signal / sp.sqrt(noise), signal / sp.sqrt(room)
    above = OVER_ROOT_FALLS.at(lower=room, upper=most, factor=needed)
    return [
        (needed / sp.sqrt(room) >= sp.Rational(1, 10**6), Derivation(through=[needed / sp.sqrt(most)], uses=[above])),
        (ratio <= greatest, Derivation(uses=[OVER_ROOT_FALLS.at(lower=room, upper=noise, factor=signal)])),
    ]
