"""UF Table I in exact decimals, and the paper's expressions with its values."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.forms import energy_utility, wireless_device
from airtight.analytics.forms.domain import parameter_of
from airtight.analytics.forms.quantity import Quantity
from airtight.analytics.parameters import of

of_device = partial(parameter_of, DeviceFleet)
distance = of_device("distance", 50.0, 200.0)

_TABLE: dict[sp.Symbol, Any] = {
    wireless_device.distance: distance,
    wireless_device.fading: 1,
    wireless_device.bandwidth: 250_000,
    wireless_device.frequency: 32_000_000,
    wireless_device.exponent: 4,
    wireless_device.density: -174,
    wireless_device.gap: sp.Rational("9.8"),
    wireless_device.model: 875_000,
    wireless_device.deadline: sp.Rational("0.75"),  # s; the table has ms
    wireless_device.load: 128 * 784 * 8,
    wireless_device.per_bit: sp.Rational("7.5e-9"),
    wireless_device.compute: sp.Rational("0.096"),
    wireless_device.circuit: sp.Rational("0.0825"),
    wireless_device.efficiency: sp.Rational("0.45"),
    wireless_device.greatest: 1,
    wireless_device.fewest: 10,
    wireless_device.varrho: sp.Rational(1, 2),
    wireless_device.beta_1: sp.Rational(1, 2),  # the paper gives no beta
    wireless_device.beta_2: sp.Rational(1, 20),
}
_AT_RATE = {  # of Appendix C
    energy_utility.A: wireless_device.iteration_time,
    energy_utility.b: sp.log(2) / (wireless_device.efficiency * wireless_device.gain * wireless_device.bandwidth),
    energy_utility.c: wireless_device.efficiency * wireless_device.gain * wireless_device.circuit - 1,
}


def table_1(expression: sp.Expr, changes: dict[sp.Symbol, Any] | None = None) -> sp.Expr:
    """An expression of `forms.wireless_device` or `forms.energy_utility` with the values of Table I or of `changes`."""
    for numbers in (_AT_RATE, changes or {}, _TABLE):
        expression = expression.xreplace({symbol: sp.sympify(value) for symbol, value in numbers.items()})
    return expression


def quantity(name: str, changes: dict[sp.Symbol, Any] | None = None) -> Quantity:
    """A quantity of `forms.wireless_device` with the values of Table I or of `changes`."""
    form = wireless_device.QUANTITIES[name]
    return form.subs(**{key: table_1(symbol, changes) for key, symbol in form.arguments.items()})


IN_TABLE_1 = {  # for legends
    **{
        of(DeviceFleet)[key].symbol: _TABLE[symbol]
        for key, symbol in wireless_device.QUANTITIES["utility"].arguments.items()
        if symbol in _TABLE
    },
    r"\mathcal V_v": _TABLE[wireless_device.model],
    r"\tfrac{\sigma^2r^\alpha\Gamma}{\kappa|h|^2}": 1 / table_1(wireless_device.gain),
}


def descended(curvature: np.ndarray, start: np.ndarray, step: float, iterations: int) -> float:
    """Excess after gradient descent on a quadratic, relative to the excess at the start; the descent is run."""
    x = start.copy()
    for _ in range(iterations):
        x = x - step * curvature * x
    return float(np.sum(curvature * x * x) / np.sum(curvature * start * start))


def bent(mu: float, start: float, step: float, iterations: int) -> float:
    """The same on mu x^2/2 + (1 - mu) log cosh x, which is not quadratic: its curvature is 1 at 0 and mu far away."""

    def value(x: float) -> float:
        return mu * x * x / 2 + (1 - mu) * math.log1p(2 * math.sinh(x / 2) ** 2)

    x = start
    for _ in range(iterations):
        x = x - step * (mu * x + (1 - mu) * math.tanh(x))
    return value(x) / value(start)
