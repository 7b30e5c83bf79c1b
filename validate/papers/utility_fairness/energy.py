"""UF Lemma 1 and Theorem 2, appendices B and C: concavity, the printed solution, and the certified optimum."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from typing import Any

import flint
import numpy as np
import sympy as sp

from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.forms import energy_utility as forms
from airtight.analytics.forms import wireless_device
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.forms.balls.energy_plan import Device
from airtight.analytics.forms.domain import Range, parameter
from airtight.solvers import energy as energy_utility
from airtight.solvers.energy import published
from airtight.solvers.energy.energy_problem import Problem
from airtight.validate.claims.claim import Claim, false, holds, holds_under
from airtight.validate.claims.proving.derivation import Derivation
from airtight.validate.claims.relation import absolute, at_least, at_most, both, equal, relative_to
from airtight.validate.papers.utility_fairness import common

j1, j2 = (parameter(f"j{k}", 10.0, 98.0, typical=(80.0, 98.0), latex=f"j_{k}") for k in (1, 2))
Z1, Z2 = (parameter(f"Z{k}", 3.6, 15.9, typical=(9.7, 15.9), latex=f"Z_{k}") for k in (1, 2))
P1, P2 = (parameter(f"P{k}", 0.07, 1.0, latex=f"P_{k}") for k in (1, 2))
y = parameter("y", 0.0, 1.0, typical=(0.175, 0.375))
h = parameter("h", 0.0, 0.5, typical=(0.0, 0.2))

_DISTANCE = common.distance.range
_LONG = {"distance": _DISTANCE, "deadline": Range(0.6, 4.0, typical=(0.75, 0.75))}
_AT = {common.distance: 50}
_TIME = forms.j * forms.A + forms.V * sp.log(2) / (forms.B * forms.Z)  # of computing and sending, (59a)
_LEARNED = forms.beta_1 * (1 - sp.exp(-forms.j * forms.A * forms.P_cp / forms.beta_2))  # (60)
_OUTER = -(y**2) + y / 2  # (63)


def _of(expression: sp.Expr) -> sp.Lambda:
    """An expression as a function of j and Z, Table I at 50 m."""
    return sp.Lambda((forms.j, forms.Z), common.table_1(expression).subs(_AT))


def _middle(function: sp.Lambda) -> sp.Expr:
    return function((j1 + j2) / 2, (Z1 + Z2) / 2)


def _average(function: sp.Lambda) -> sp.Expr:
    return (function(j1, Z1) + function(j2, Z2)) / 2


_U, _G, _PSI, _DELAY = (_of(expression) for expression in (forms.utility, forms.energy, _LEARNED, _TIME))
_TEN = {j1: 10, j2: 10}
_CHORD = r"%s\bigl(\tfrac{j_1+j_2}2, \tfrac{Z_1+Z_2}2\bigr) %s \tfrac{%s(j_1, Z_1)+%s(j_2, Z_2)}2"
_BY_POWER = common.table_1(wireless_device.transmit_energy, {wireless_device.power: P1}).subs(common.distance, 200)
_SPENT = common.table_1(forms.energy, {forms.j: 90, forms.Z: Z1}).subs(_AT)
_BENDS = sp.diff(_SPENT, Z1, 2)


_equation = parameter("equation", 0, 5, integer=True)
_DERIVED, _PRINTED = forms.derived(), forms.printed()
_SYMBOLS = sorted({s for e in _PRINTED.values() for s in e.free_symbols}, key=str)
_PLACES = {symbol: parameter(symbol.name, 0.5, 2.0, latex=sp.latex(symbol)) for symbol in _SYMBOLS}


def _by_index(equations: dict[str, sp.Expr]) -> sp.Expr:
    """The left sides of the six equations, which vanish, at any values of their symbols."""
    sides = [equations[name].xreplace(_PLACES) for name in _PRINTED]
    return sp.Piecewise(*((side, sp.Eq(_equation, k)) for k, side in enumerate(sides[:-1])), (sides[-1], True))


@cache
def _functions(which: str) -> list[Any]:
    equations = {"derived": _DERIVED, "printed": _PRINTED}[which]
    return [sp.lambdify(_SYMBOLS, equations[name]) for name in _PRINTED]


def _residual(which: str, equation: int, **values: float) -> float:
    return float(_functions(which)[int(equation)](*(values[symbol.name] for symbol in _SYMBOLS)))


def _stationary(distance: float, deadline: float) -> tuple[float, float]:
    """Both sides of (39) at the optimum; nan where the deadline is slack there."""
    fleet = table_1(distance=distance, deadline=deadline)
    p, best = Problem.of(fleet), energy_utility.solve(fleet)
    if best.case[0] != "delay active":
        return np.nan, np.nan
    left = 2 * (best.energy - p.half) * (1 + p.saving(p.a / best.transmit_time) / p.P_cp)
    right = p.beta_1 / p.beta_2 * np.exp(-p.P_cp * best.compute_time / p.beta_2)
    return float(left[0]), float(right[0])


@cache
def _printed(distance: float, deadline: float) -> tuple[float, float]:
    """Z and utility of Theorem 2, Table I with a longer deadline."""
    problem = Problem.of(table_1(distance=distance, deadline=deadline))
    x, Z, _ = published.point(problem)
    return float(Z[0]), float(problem.utility(x, Z)[0])


@cache
def _best(distance: float, deadline: float) -> tuple[float, float, float]:
    """Compute time, Z and utility of the certified optimum."""
    fleet = table_1(distance=distance, deadline=deadline)
    solution = energy_utility.solve(fleet)
    return (
        float(solution.compute_time[0]),
        float(fleet.unit_time[0] / solution.transmit_time[0]),
        float(solution.utility[0]),
    )


def _multiplier(distance: float, deadline: float) -> float:
    p = Problem.of(table_1(distance=distance, deadline=deadline))
    Z = np.array([_printed(distance, deadline)[0]])
    return float((2 * (p.energy(p.T - p.a / Z, Z) - p.half) * p.saving(Z))[0])


def _proved_root(distance: Fraction, deadline: Fraction) -> tuple[Device, Ball]:
    device = Device.table_1(distance, T=deadline)
    return device, device.root_near(_printed(float(distance), float(deadline))[0])


def _proved_utilities(distance: Fraction, deadline: Fraction) -> tuple[Ball, Ball]:
    """Utilities of a feasible point near the optimum and of the printed point with a proved root; nan where that fails."""
    device, root = _proved_root(distance, deadline)
    x, Z = (ball(v) for v in _best(float(distance), float(deadline))[:2])
    x = x * (1 - ball("1e-12"))
    if not device.feasible(x, Z) or not root < device.Z_max:
        return flint.arb.nan(), flint.arb.nan()
    return device.utility(x, Z), device.utility(device.T - device.a / root, root)


def _proved_multiplier(distance: Fraction, deadline: Fraction) -> tuple[Ball, Ball]:
    device, root = _proved_root(distance, deadline)
    return ball(0), device.multiplier(root)


CLAIMS = (
    Claim(
        "UF-E30",
        "Eq. (30): 'concave'; Eq. (64), (66) (Table I, 50 m)",
        at_least(_middle(_U), _average(_U)),
        false(
            "Not concave where E < varrho/2: there -E(E - varrho) increases with the convex E, and rewards wasting "
            "energy.",
            "step",
            corrected_by="UF-L1*",
            true_where=r"E \ge \varrho/2",
        ),
        given=[common.table_1(_TIME, {forms.j: j, forms.Z: Z}) <= sp.Rational("0.75") for j, Z in ((j1, Z1), (j2, Z2))],
        statement=_CHORD % ("U", r"\ge", "U", "U"),
        where={"U": _U},
        near={"j1": 80, "Z1": 10, "j2": 90, "Z2": 13},
    ),
    Claim(
        "UF-E34-convex",
        "Eq. (34): 'can be shown to be non-convex', since E_tx is in P (App. B) (Table I, 200 m, from 70 mW on)",
        at_least(_BY_POWER.subs(P1, (P1 + P2) / 2), (_BY_POWER + _BY_POWER.subs(P1, P2)) / 2),
        holds("Right: E_tx is convex in P below 63 mW and concave above."),
        statement=r"E_{tx}\bigl(\tfrac{P_1+P_2}2\bigr) \ge \tfrac{E_{tx}(P_1)+E_{tx}(P_2)}2",
        where={"E_{tx}": sp.Lambda(P1, _BY_POWER)},
    ),
    Claim(
        "UF-L1",
        "Lemma 1, Eq. (35): an equivalent convex problem (Table I, 50 m, ten iterations)",
        at_least(_middle(_U).subs(_TEN), _average(_U).subs(_TEN)),
        false(
            "Concave only where E >= varrho/2. The relaxation -(E - varrho/2)_+^2 is concave, and loses nothing when "
            "the target is in reach.",
            corrected_by="UF-L1*",
            true_where=r"E \ge \varrho/2",
        ),
        statement=r"U\bigl(10, \tfrac{Z_1+Z_2}2\bigr) \ge \tfrac{U(10, Z_1)+U(10, Z_2)}2",
        where={"U": _U},
        near={"Z1": 10, "Z2": 15},
    ),
    Claim(
        "UF-E60",
        "Eq. (60) (Table I)",
        at_least(_middle(_PSI), _average(_PSI)),
        holds("Minus a decreasing exponential plus a constant is concave."),
        statement=r"\Psi\bigl(\tfrac{j_1+j_2}2\bigr) \ge \tfrac{\Psi(j_1)+\Psi(j_2)}2,\quad "
        r"\Psi(j) = -\beta_1e^{-jd\tau P_{cp}/\beta_2}+\beta_1",
        where={r"\Psi": sp.Lambda(forms.j, _PSI(forms.j, 1))},
    ),
    Claim(
        "UF-E61",
        "Eq. (61), (62), and (58) (Table I, 50 m)",
        at_most(_middle(_G), _average(_G)),
        holds("(e^Z - 1)/Z and 1/Z are convex."),
        statement=_CHORD % ("G", r"\le", "G", "G") + r",\quad G(j, Z) = jd\tau P_{cp} + E_{tx}(Z)",
        where={"G": _G},
    ),
    Claim(
        "UF-E59",
        "Eq. (59): 'jointly convex in j and Z' (Table I, 50 m)",
        at_most(_middle(_DELAY), _average(_DELAY)),
        holds("The delay is linear in j, and 1/Z is convex."),
        statement=_CHORD
        % (r"\Delta", r"\le", r"\Delta", r"\Delta")
        + r",\quad \Delta(j, Z) = jd\tau + \tfrac{\mathcal V_v\log2}"
        r"{BZ}",
        where={r"\Delta": _DELAY},
    ),
    Claim(
        "UF-E63",
        "Eq. (63): H is 'concave and nonincreasing' (varrho = 1/2)",
        at_most(_OUTER.subs(y, y + h), _OUTER),
        false(
            "H increases up to varrho/2, so that Definition 5 does not apply.",
            "step",
            corrected_by="UF-L1*",
            true_where=r"y \ge \varrho/2",
        ),
        statement=r"H(y+h) \le H(y),\quad H(y) = -y^2+\varrho y,\ h \ge 0",
        where={"H": sp.Lambda(y, _OUTER)},
        scale=absolute("J^2", 0.0625),
    ),
    Claim(
        "UF-E65",
        "Definition 5, Eq. (65), of E at 90 iterations (Table I, 50 m)",
        equal(
            sp.diff(_OUTER.subs(y, _SPENT), Z1, 2),
            -2 * sp.diff(_SPENT, Z1) ** 2 + sp.diff(_OUTER, y).subs(y, _SPENT) * _BENDS**2,
        ),
        false(
            "G'' should not be squared. The rule itself is right.",
            "misprint",
            true_where=r"G'' \in \{0, 1\}",
            uncorrected="without the square it is right, and the rule that uses it is right as printed",
        ),
        statement=r"\Omega'' = H''(G)(G')^2 + H'(G)(G'')^2",
        where={
            r"\Omega''": sp.diff(_OUTER.subs(y, _SPENT), Z1, 2),
            "H''(G)": -2,
            "G'": sp.diff(_SPENT, Z1),
            "H'(G)": sp.diff(_OUTER, y).subs(y, _SPENT),
            "G''": _BENDS,
        },
        scale=absolute("J^2", 0.01),
    ),
    Claim(
        "UF-E67",
        "Eq. (67)-(76): (69), (70), (71), (72), (74), (76) by index, at random values of their symbols",
        equal(_by_index(_DERIVED), _by_index(_PRINTED)),
        holds(
            "The algebra is right, also symbolically. The error is a division by (Z-1)e^Z - c, which loses the "
            "solution Z_0."
        ),
        given=[sp.Ne(((forms.Z - 1) * sp.exp(forms.Z) - forms.c).xreplace(_PLACES), 0)],
        computed=equal(partial(_residual, "derived"), partial(_residual, "printed")),
        derivation=Derivation(each=_equation),
        statement=r"\partial_j\mathscr L = 0,\ \partial_Z\mathscr L = 0 \text{ as printed}",
        unread="six equations, printed and derived; `equation` is the index",
        scale=relative_to(lambda **point: 1 + abs(_residual("derived", **point))),
    ),
    Claim(
        "UF-E39",
        "Eq. (39), (76), at optima of Table I with other deadlines",
        equal(*both(_stationary)),
        holds_under(
            "Right where the delay constraint is active. The paper does not say which root is meant; it is the only "
            "one beyond Z_0."
        ),
        {"distance": _DISTANCE, "deadline": Range(0.6, 3.0)},
        statement=r"(2E-\varrho)\Bigl(\tfrac{Bb}{P_{cp}\log2}\bigl((Z-1)e^Z-c\bigr)+1\Bigr) = "
        r"\tfrac{\beta_1}{\beta_2}e^{-E_{cp}/\beta_2}",
        tolerance=1e-7,
        coq="utility_fairness_general.UF_E39",
    ),
    Claim(
        "UF-T2",
        "Theorem 2, Eq. (36)-(40) (Table I, other deadlines)",
        at_least(lambda **point: _printed(**point)[1], lambda **point: _best(**point)[2], balls=_proved_utilities),
        false(
            "Optimal only while the delay constraint is active (at Table I up to T = 2.9 s, so also at its own .75 s) "
            "and the root is the right one. On instances with wide parameter ranges a quarter of the results is "
            "suboptimal, and some have no root.",
            corrected_by="UF-T2*",
            true_where=r"\text{delay active at the optimum: Table I with } T \le 2.9\,\mathrm s",
        ),
        _LONG,
        statement=r"U(j^*, Z^*) \ge U(j, Z) \text{ for every feasible } (j, Z)",
        tolerance=1e-7,
    ),
    Claim(
        "UF-E74s",
        "After (76): 'it can be shown that ... Lambda_1 >= 0'; 'all other cases violate KKT'",
        at_least(_multiplier, 0, balls=_proved_multiplier),
        false(
            "Lambda_1 is negative as soon as the deadline is slack at the optimum: -.0021 at 50 m and T = 3 s.",
            "step",
            corrected_by="UF-T2*",
            true_where=r"\text{Table I with } T \le 2.9\,\mathrm s",
        ),
        _LONG,
        statement=r"\Lambda_1 = \tfrac{B b}{\log2}\bigl((\hat Z-1)e^{\hat Z}-c\bigr)(2E-\varrho) \ge 0",
        scale=absolute("J^2/s", 0.01),
        tolerance=1e-7,
    ),
)
