"""Lemmas that the derivations of several claims use; the machine proves each once."""

from __future__ import annotations

import sympy as sp

from airtight.analytics.forms.domain import parameter
from airtight.analytics.forms.gaussian_mechanism import hockey_stick
from airtight.validate.claims.proving.derivation import Derivation, Lemma, Monotone

# delta of the Gaussian mechanism whose sensitivity is `ratio` times its noise, for every real epsilon

_any_epsilon = parameter("epsilon", -800.0, 800.0)
_ratio = parameter("ratio", 1e-6, 1e6, logarithmic=True)
_CURVE = hockey_stick(_any_epsilon, _ratio, 1)
_upper, _lower = _any_epsilon / _ratio + _ratio / 2, _any_epsilon / _ratio - _ratio / 2
CURVE_FALLS = Monotone(
    _CURVE, _any_epsilon, -sp.exp(_any_epsilon) * sp.erfc(_upper / sp.sqrt(2)) / 2, everywhere=True
)
CURVE_RISES = Monotone(_CURVE, _ratio, sp.exp(-(_lower**2) / 2) / sp.sqrt(2 * sp.pi), everywhere=True)

# FDP-D2-eps1: the classical calibration

_epsilon = parameter("epsilon", 1e-6, 1.0, logarithmic=True)
_delta = parameter("delta", 1e-300, 0.99, logarithmic=True)
CLASSICAL = Lemma(
    hockey_stick(_epsilon, _epsilon / sp.sqrt(2 * sp.log(sp.Rational(5, 4) / _delta)), 1) <= _delta
)

_value, _factor = (parameter(name, 1e-6, 1e6, logarithmic=True) for name in ("value", "factor"))
ROOT_RISES = Monotone(sp.sqrt(_value), _value, everywhere=True)
OVER_ROOT_FALLS = Monotone(_factor / sp.sqrt(_value), _value, everywhere=True)

# the epsilon that Theorem 1 prints is at least the exponent in it

_exponent = parameter("exponent", 0.0, 1.0)
_lost = parameter("lost", 0.0, 0.99)
GROWN = Lemma(
    sp.Ge(sp.log(1 + (sp.exp(_exponent) - 1) / (1 - _lost)), _exponent),
)
