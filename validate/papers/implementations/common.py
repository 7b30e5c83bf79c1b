"""What the claims on published code share: parameters, Gaussian noise, the claim itself."""

from __future__ import annotations

from typing import Any

import sympy as sp

from airtight.analytics.forms import binary_quantizers
from airtight.validate.claims.claim import Claim, Ruling
from airtight.validate.claims.domain import parameter
from airtight.validate.claims.implementation import Implementation

epsilon = parameter("epsilon", 0.05, 10.0, logarithmic=True, typical=(5.0, 7.0), latex=r"\epsilon")
x, y = (parameter(name, -1.0, 1.0, extra=(0.0,), typical=(-1.0, 1.0)) for name in ("x", "y"))  # offsets, in radii
bits = parameter("bits", 1, 10, integer=True, typical=(5, 5), latex="d")
delta = parameter("delta", 1e-12, 0.1, logarithmic=True, typical=(1e-5, 1e-5), latex=r"\delta")

s = sp.exp(epsilon)
alpha = binary_quantizers.alpha.subs(binary_quantizers.epsilon, epsilon)


def classical(epsilon: Any, delta: Any) -> sp.Expr:
    """The noise that the classical calibration adds for a sensitivity of 1."""
    return sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / epsilon


def claim(id: str, implementation: Implementation, relation: Any, ruling: Ruling, **rest: Any) -> Claim:
    """A claim about code, placed where the code is."""
    return Claim(id, implementation.place, relation, ruling, implementation=implementation, **rest)
