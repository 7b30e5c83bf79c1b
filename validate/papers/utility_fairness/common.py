"""UF Table I in exact decimals, and what it makes of the paper's expressions."""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp

from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.parameters import of
from airtight.analytics.symbolic import device, energy_utility
from airtight.validate.claims.domain import parameter_of

of_device = partial(parameter_of, DeviceFleet)
distance = of_device("distance", 50.0, 200.0)

_TABLE: dict[sp.Symbol, Any] = {
    device.distance: distance,
    device.fading: 1,
    device.bandwidth: 250_000,
    device.frequency: 32_000_000,
    device.exponent: 4,
    device.density: -174,
    device.gap: sp.Rational("9.8"),
    device.model: 875_000,
    device.deadline: sp.Rational("0.75"),  # s; the table has ms
    device.load: 128 * 784 * 8,
    device.per_bit: sp.Rational("7.5e-9"),
    device.compute: sp.Rational("0.096"),
    device.circuit: sp.Rational("0.0825"),
    device.efficiency: sp.Rational("0.45"),
    device.greatest: 1,
    device.fewest: 10,
    device.varrho: sp.Rational(1, 2),
    device.beta_1: sp.Rational(1, 2),  # the paper gives no beta
    device.beta_2: sp.Rational(1, 20),
}
_AT_RATE = {  # of Appendix C
    energy_utility.A: device.iteration_time,
    energy_utility.b: sp.log(2) / (device.efficiency * device.gain * device.bandwidth),
    energy_utility.c: device.efficiency * device.gain * device.circuit - 1,
}


def table_1(expression: sp.Expr, changes: dict[sp.Symbol, Any] | None = None) -> sp.Expr:
    """An expression of `symbolic.device` or `symbolic.energy_utility` with the numbers of Table I, and other values."""
    for numbers in (_AT_RATE, changes or {}, _TABLE):
        expression = expression.xreplace({symbol: sp.sympify(value) for symbol, value in numbers.items()})
    return expression


IN_TABLE_1 = {  # for legends
    **{
        of(DeviceFleet)[key].symbol: _TABLE[symbol]
        for key, symbol in device.FORMS["utility"].arguments.items()
        if symbol in _TABLE
    },
    r"\mathcal V_v": _TABLE[device.model],
    r"\tfrac{\sigma^2r^\alpha\Gamma}{\kappa|h|^2}": 1 / table_1(device.gain),
}
