"""All quantities that have a closed form, by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from airtight.analytics.checks import FloatArray
from airtight.analytics.forms import (
    binary_quantizers,
    gaussian_mechanism,
    gradient_descent,
    inference_errors,
    theorem1,
    wireless_device,
)
from airtight.analytics.forms.quantity import Quantity, collected
from airtight.solvers.weights import caps

_DEVICES = 3  # of the printed expression, where a quantity is a sum over devices


@cache
def quantities() -> dict[str, Quantity]:
    """All quantities by name.

    Where a quantity depends on all devices, its expression is that of three; its function takes any number.

    Examples
    --------
    >>> worst = quantities()["worst LDP-FL"]
    >>> print(worst.latex(), float(worst(clients=50, epsilon=1.0, radius=1.0)))
    \\frac{r^{2} \\left(e^{\\epsilon_{p}} + 1\\right)^{2}}{n \\left(e^{\\epsilon_{p}} - 1\\right)^{2}} 0.0936...
    """
    return collected(
        [
            *gaussian_mechanism.QUANTITIES.values(),
            *map(gaussian_mechanism.optimal_delta, (1, 2, 7)),
            *theorem1.QUANTITIES.values(),
            *map(_with_caps, theorem1.devices(_DEVICES).values()),
            theorem1.visible(_DEVICES),
            *inference_errors.QUANTITIES.values(),
            *inference_errors.distortion(_DEVICES).values(),
            *inference_errors.selection(_DEVICES).values(),
            *binary_quantizers.QUANTITIES.values(),
            *gradient_descent.QUANTITIES.values(),
            *wireless_device.QUANTITIES.values(),
        ]
    )


def _with_caps(quantity: Quantity) -> Quantity:
    """The function of Lemma 5 is a solver's."""
    if not quantity.name.startswith("Lemma 5"):
        return quantity
    form = "theorem1" if "(11)" in quantity.name else "eq23"

    def greatest_weight(epsilon: float, **v: Any) -> FloatArray:
        return caps.published(theorem1.system_of(**v), epsilon, form=form)

    return replace(quantity, function=greatest_weight)
