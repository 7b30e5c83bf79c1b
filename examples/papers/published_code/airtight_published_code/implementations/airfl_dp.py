r"""AirFL-DP, the code of "Differential privacy as a perk" (arXiv 2510.23463): the budget that its constraint keeps.

A coordinate of an aggregate has noise of variance :math:`\sigma^2|w_t|^2/2`, a client's clipped update has length C. The
constraint is :math:`\sum_t |w_t|^{-2} \le \epsilon^2 d\sigma^2 / ((2c + 8)\ln(1/\delta)C^2r)` with
:math:`c = 2\epsilon\sqrt d/\ln(1/\delta)` and the share r of clients that take part. T Gaussian releases are one with
:math:`\mu^2 = 2\Delta^2C^2\sigma^{-2}\sum_t|w_t|^{-2}`. At r = 1, with :math:`E = \epsilon\sqrt d`, the greatest that is allowed
is :math:`\mu^2 = \Delta^2E^2/(2E + 4\ln(1/\delta))`; Delta is 1 for a client that is absent and 2 for another update.
"""

from __future__ import annotations

import sympy as sp

from airtight import Claim, Implementation, absolute, at_most, holds, other_reading, parameter
from airtight.analytics.forms.gaussian_mechanism import hockey_stick
from airtight_published_code.implementations.common import claim

epsilon = parameter("epsilon", 0.01, 10.0, logarithmic=True, typical=(0.04, 0.15), latex=r"\epsilon")
dimension = parameter("dimension", 1, 1_000_000, integer=True, logarithmic=True, typical=(582026, 582026), latex="d")
budget = parameter("budget", 0.01, 200.0, logarithmic=True, typical=(30.0, 120.0), latex="E")
delta = parameter("delta", 1e-12, 1e-2, logarithmic=True, typical=(1e-5, 1e-5), latex=r"\delta")

_PLACE = (
    "HauLiang/AirFL-DP",
    "b7d317c651f51868c7bdfd3c36ca0677367743f9",
    "system/flcore/servers/serverbase.py",
    "Server.solve_dp_optimization",
)
_PROMISE = "'-epsilon: Privacy budget parameter' (README); what neighbours and epsilon mean in the paper was not read."
_STATEMENT = r"\mu = \frac{\Delta E}{\sqrt{2E + 4\ln(1/\delta)}}"


def _spent(total: sp.Expr, difference: int) -> sp.Expr:
    """mu of all rounds together, the greatest that the constraint allows."""
    return difference * total / sp.sqrt(2 * total + 4 * sp.log(1 / delta))


CLAIMS: tuple[Claim, ...] = (
    claim(
        "IM-AF-budget",
        Implementation(*_PLACE, _PROMISE, "Say in the README that the budget is epsilon times the root of d."),
        at_most(hockey_stick(epsilon, _spent(epsilon * sp.sqrt(dimension), 1), 1), delta),
        other_reading(
            "Epsilon is per root of the dimension: the constraint is that of E = epsilon sqrt(d), which is kept "
            "(IM-AF-absent). Read as the README has it, epsilon = .1 at d = 582,026 is no budget of all rounds: mu is 5.41 "
            "against who sees all aggregates, and epsilon at delta = 1e-5 is 37.0 for a client that is absent (E is 76.3).",
            true_where="d = 1",
            corrected_by="IM-AF-absent",
        ),
        statement=r"\delta(\epsilon;\ \mu) \le \delta,\quad" + _STATEMENT + r",\ E = \epsilon\sqrt d,\ \Delta = 1",
        unread="mu is substituted",
        near={"epsilon": 0.1, "dimension": 582026, "delta": "1e-5"},
    ),
    claim(
        "IM-AF-absent",
        Implementation(*_PLACE, _PROMISE),
        at_most(sp.log(hockey_stick(budget, _spent(budget, 1), 1)), sp.log(delta)),
        holds(
            "A client absent from all rounds, every aggregate seen, no further look: the budget E is kept; at E = 76.3 "
            "mu is 5.41, and 8.86 would do."
        ),
        statement=r"\ln\delta(E;\ \mu) \le \ln\delta,\quad" + _STATEMENT + r",\ \Delta = 1",
        unread="mu is substituted",
        scale=absolute("nats"),
        slack=12.0,
    ),
    claim(
        "IM-AF-replace",
        Implementation(
            *_PLACE,
            _PROMISE,
            "Divide the constraint's right side by 4, or say that neighbours differ in a client's presence.",
        ),
        at_most(hockey_stick(budget, _spent(budget, 2), 1), delta),
        other_reading(
            "Neighbours differ in whether a client takes part (IM-AF-absent). Where a client sends other updates instead of "
            "none the distance is 2C: at E = 76.3, delta = 1e-5 the constraint allows mu = 10.83, at which epsilon is 103.9.",
            true_where="neighbours differ in whether a client takes part",
            corrected_by="IM-AF-absent",
        ),
        statement=r"\delta(E;\ \mu) \le \delta,\quad" + _STATEMENT + r",\ \Delta = 2",
        unread="mu is substituted",
        near={"budget": 76, "delta": "1e-5"},
    ),
)
