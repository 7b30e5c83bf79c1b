"""UF Lemma 1 and Theorem 2, appendices B and C: concavity, the printed solution, and the certified optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from analytics.enclosures.ball import Ball, ball
from analytics.enclosures.energy import Device
from analytics.federated.device import table_1
from solvers import energy as energy_utility
from solvers.energy.problem import Problem
from validate.claims.claim import Claim, Range, Relation, Verdict
from validate.papers.utility_fairness.common import PAPER, identity

_DISTANCE = Range(50.0, 200.0)
_Z = Range(0.5, 15.0)
_J = Range(10.0, 98.0)
_LONG = Range(1.0, 4.0)


def _utility(j: float, Z: float) -> float:
    p = Problem.of(table_1())
    return float(p.utility(np.array([j * 0.00602112]), np.array([Z]))[0])


def _ball_utility(j: Fraction, Z: Fraction) -> Ball:
    device = Device.table_1(Fraction(50))
    return device.utility(ball(j) * device.A, ball(Z))


def concave_utility() -> Claim:
    """The device of Table I at 50 m; both ends and the middle are feasible."""

    def spare(j1: Any, Z1: Any, j2: Any, Z2: Any) -> bool:
        return all(
            j * Fraction("0.00602112") + Fraction("2.426016") / Z <= Fraction("0.75") for j, Z in ((j1, Z1), (j2, Z2))
        )

    def average(j1: float, Z1: float, j2: float, Z2: float) -> float:
        if any(j * 0.00602112 + 2.426016 / Z > 0.75 for j, Z in ((j1, Z1), (j2, Z2))):
            return math.nan
        return 1 + (_utility(j1, Z1) + _utility(j2, Z2)) / 2

    def proof(j1: Fraction, Z1: Fraction, j2: Fraction, Z2: Fraction) -> tuple[Any, Any]:
        if not spare(j1, Z1, j2, Z2):
            return ball(0), ball(1)
        return 1 + (_ball_utility(j1, Z1) + _ball_utility(j2, Z2)) / 2, 1 + _ball_utility((j1 + j2) / 2, (Z1 + Z2) / 2)

    return Claim(
        id="UF-E30",
        paper=PAPER,
        location="Eq. (30): 'concave'; Eq. (64), (66)",
        statement=r"U\bigl(\tfrac{z_1+z_2}2\bigr) \ge \tfrac{U(z_1)+U(z_2)}2",
        expected=Verdict.FALSE,
        reason="Not where E < varrho/2: there -E(E - varrho) rises with the convex E, and rewards wasting energy.",
        domain={"j1": _J, "Z1": Range(3.5, 15.9), "j2": _J, "Z2": Range(3.5, 15.9)},
        claimed=average,
        actual=lambda j1, Z1, j2, Z2: 1 + _utility((j1 + j2) / 2, (Z1 + Z2) / 2),
        relation=Relation.AT_LEAST,
        enclose=proof,
    )


def lemma_1() -> Claim:
    """Along Z alone, ten iterations, the device of Table I at 50 m."""

    def average(Z1: float, Z2: float) -> float:
        return 1 + (_utility(10.0, Z1) + _utility(10.0, Z2)) / 2

    ten = Fraction(10)
    return Claim(
        id="UF-L1",
        paper=PAPER,
        location="Lemma 1, Eq. (35): an equivalent convex problem",
        statement=r"-U(10, \cdot) \text{ is convex on } [Z_{\min}, Z_{\max}]",
        expected=Verdict.FALSE,
        reason="Convex only where E >= varrho/2; the relaxation -(E - varrho/2)_+^2 is, and loses nothing when "
        "the target is in reach.",
        domain={"Z1": Range(3.6, 15.9), "Z2": Range(3.6, 15.9)},
        claimed=average,
        actual=lambda Z1, Z2: 1 + _utility(10.0, (Z1 + Z2) / 2),
        relation=Relation.AT_LEAST,
        enclose=lambda Z1, Z2: (
            1 + (_ball_utility(ten, Z1) + _ball_utility(ten, Z2)) / 2,
            1 + _ball_utility(ten, (Z1 + Z2) / 2),
        ),
    )


def outer_function() -> Claim:
    def H(y: Any) -> Any:
        return 1 - y * y + y / 2

    return Claim(
        id="UF-E63",
        paper=PAPER,
        location="Eq. (63): H is 'concave and nonincreasing' (varrho = 1/2)",
        statement=r"H(y+h) \le H(y),\quad H(y) = -y^2+\varrho y,\ h \ge 0",
        expected=Verdict.FALSE,
        reason="It increases up to varrho/2; so Definition 5 does not apply.",
        domain={"y": Range(0.0, 1.0), "h": Range(0.0, 0.5)},
        claimed=lambda y, h: H(y),
        actual=lambda y, h: H(y + h),
        enclose=lambda y, h: (ball(H(Fraction(y))), ball(H(Fraction(y) + Fraction(h)))),
    )


def composition_rule() -> Claim:
    """H(u) = -u^2 + u/2 of G(y) = y^3."""

    def second(y: Any, power: int) -> Any:
        return 100 - 2 * (3 * y * y) ** 2 + (-2 * y**3 + Fraction(1, 2)) * (6 * y) ** power

    return Claim(
        id="UF-E65",
        paper=PAPER,
        location="Definition 5, Eq. (65)",
        statement=r"\Omega'' = H''(G)(G')^2 + H'(G)(G'')^2",
        expected=Verdict.FALSE,
        reason="A slip: G'' is not squared. The rule itself is right.",
        domain={"y": Range(0.1, 1.0)},
        claimed=lambda y: float(second(y, 2)),
        actual=lambda y: float(second(y, 1)),
        relation=Relation.EQUAL,
        enclose=lambda y: (ball(second(Fraction(y), 2)), ball(second(Fraction(y), 1))),
    )


def _convex(name: str, location: str, statement: str, reason: str, f: Callable[[float, float], float]) -> Claim:
    """Midpoint convexity of a function of (j, Z)."""
    return Claim(
        id=name,
        paper=PAPER,
        location=location,
        statement=statement,
        expected=Verdict.HOLDS,
        reason=reason,
        domain={"j1": _J, "Z1": _Z, "j2": _J, "Z2": _Z},
        claimed=lambda j1, Z1, j2, Z2: (f(j1, Z1) + f(j2, Z2)) / 2,
        actual=lambda j1, Z1, j2, Z2: f((j1 + j2) / 2, (Z1 + Z2) / 2),
    )


def total_energy_convex() -> Claim:
    def energy(j: float, Z: float) -> float:
        return float(Problem.of(table_1()).energy(np.array([j * 0.00602112]), np.array([Z]))[0])

    return _convex(
        "UF-E61",
        "Eq. (61), (62), and (58)",
        r"G(j,Z) = jd\tau P_{cp} + E_{tx}(Z) \text{ is convex}",
        "(e^Z - 1)/Z and 1/Z are.",
        energy,
    )


def learning_concave() -> Claim:
    return _convex(
        "UF-E60",
        "Eq. (60)",
        r"-\Psi(j) = \beta_1e^{-jd\tau P_{cp}/\beta_2}-\beta_1 \text{ is convex}",
        "An exponential.",
        lambda j, Z: 1.0 + 0.5 * math.exp(-j * 0.00602112 * 0.096 / 0.05),
    )


def power_not_convex() -> Claim:
    """At 200 m."""

    def energy(power: float) -> float:
        return float(table_1(distance=200.0).transmit_energy(power)[0])

    def enclosed(power: Fraction) -> Ball:
        device = Device.table_1(Fraction(200))
        return device.transmit_energy((1 + device.gain * ball(power)).log())

    return Claim(
        id="UF-E34-convex",
        paper=PAPER,
        location="Eq. (34): were the problem convex in P (200 m)",
        statement=r"E_{tx}\bigl(\tfrac{P_1+P_2}2\bigr) \le \tfrac{E_{tx}(P_1)+E_{tx}(P_2)}2",
        expected=Verdict.FALSE,
        reason="As the paper says: the problem is not convex in P.",
        domain={"P1": Range(0.01, 1.0), "P2": Range(0.01, 1.0)},
        claimed=lambda P1, P2: (energy(P1) + energy(P2)) / 2,
        actual=lambda P1, P2: energy((P1 + P2) / 2),
        enclose=lambda P1, P2: ((enclosed(P1) + enclosed(P2)) / 2, enclosed((P1 + P2) / 2)),
    )


@cache
def _lambdified() -> list[tuple[Any, Any]]:
    import sympy as sp

    from analytics.symbolic import energy_utility as forms

    names = sorted({s for e in forms.printed().values() for s in e.free_symbols}, key=str)
    derived = forms.derived()
    return [(sp.lambdify(names, e), sp.lambdify(names, derived[name])) for name, e in forms.printed().items()]


def kkt_algebra() -> Claim:
    """Equations (69), (70), (71), (72), (74), (76) by index, at random values of their symbols."""

    def value(side: int) -> Callable[..., float]:
        def at(equation: int, seed: int) -> float:
            from analytics.symbolic import energy_utility as forms

            names = sorted({s for e in forms.printed().values() for s in e.free_symbols}, key=str)
            values = np.random.default_rng(seed).uniform(0.5, 2.0, len(names))
            return 1e4 + float(_lambdified()[int(equation)][side](*values))

        return at

    return identity(
        "UF-E67",
        "Eq. (67)-(76)",
        r"\partial_j\mathscr L = 0,\ \partial_Z\mathscr L = 0 \text{ as printed}",
        "The algebra is right (each residual is also 0 symbolically); the error is to divide by (Z-1)e^Z - c, which loses Z_0.",
        {"equation": Range(0, 5, integer=True), "seed": Range(0, 10**6, integer=True)},
        value(0),
        value(1),
    )


def stationary() -> Claim:
    """At optima of Table I with the delay constraint active."""

    def sides(distance: float, deadline: float, index: int) -> float:
        fleet = table_1(distance=distance, deadline=deadline)
        p = Problem.of(fleet)
        best = energy_utility.solve(fleet)
        if best.case[0] != "delay active":
            return 1.0
        Z = p.a / best.transmit_time
        right = p.beta_1 / p.beta_2 * np.exp(-p.P_cp * best.compute_time / p.beta_2)
        left = 2 * (best.energy - p.half) * (1 + p.saving(Z) / p.P_cp)
        return 1 + float((left, right)[index][0])

    return identity(
        "UF-E39",
        "Eq. (39), (76)",
        r"\text{(39) at the optimum}",
        "Right on the delay edge; which root is meant is not said: the only one beyond Z_0.",
        {"distance": _DISTANCE, "deadline": Range(0.6, 2.5)},
        lambda distance, deadline: sides(distance, deadline, 0),
        lambda distance, deadline: sides(distance, deadline, 1),
        expected=Verdict.HOLDS_UNDER,
        tolerance=1e-7,
    )


@cache
def _solved(distance: float, deadline: float) -> tuple[float, float, float, float]:
    """x and Z of the certified optimum, and of Theorem 2, for Table I with a longer deadline."""
    fleet = table_1(distance=distance, deadline=deadline)
    p = Problem.of(fleet)
    best = energy_utility.solve(fleet)
    printed = energy_utility.solve(fleet, method="published")
    return (
        float(best.compute_time[0]),
        float((p.a / best.transmit_time)[0]),
        float(printed.compute_time[0]),
        float((p.a / printed.transmit_time)[0]),
    )


def theorem_2() -> Claim:
    def utility(distance: float, deadline: float, which: int) -> float:
        p = Problem.of(table_1(distance=distance, deadline=deadline))
        x, Z = _solved(float(distance), float(deadline))[2 * which : 2 * which + 2]
        return 1 + float(p.utility(np.array([x]), np.array([Z]))[0])

    def proof(distance: Fraction, deadline: Fraction) -> tuple[Any, Any]:
        """A feasible point near the optimum, and the printed point with its root proved."""
        device = Device.table_1(distance, T=deadline)
        x, Z, _, printed = _solved(float(distance), float(deadline))
        better_x, better_Z = ball(x * (1 - 1e-12)), ball(Z)
        root = device.root_near(printed)
        if not device.feasible(better_x, better_Z) or not root < device.Z_max:
            return ball(0), ball(1)
        return 1 + device.utility(better_x, better_Z), 1 + device.utility(device.T - device.a / root, root)

    return Claim(
        id="UF-T2",
        paper=PAPER,
        location="Theorem 2, Eq. (36)-(40) (Table I, other deadlines)",
        statement=r"U(j^*, Z^*) \ge U(j, Z) \text{ for every feasible } (j, Z)",
        expected=Verdict.FALSE,
        reason="Optimal only while the delay constraint is active (here up to T = 2.9 s) and the root is the right one; on wide "
        "instances a quarter is suboptimal and some have no root.",
        domain={"distance": _DISTANCE, "deadline": _LONG},
        claimed=lambda distance, deadline: utility(distance, deadline, 0),
        actual=lambda distance, deadline: utility(distance, deadline, 1),
        relation=Relation.AT_LEAST,
        enclose=proof,
        tolerance=1e-7,
    )


def delay_multiplier() -> Claim:
    def multiplier(distance: float, deadline: float) -> float:
        p = Problem.of(table_1(distance=distance, deadline=deadline))
        Z = np.array([_solved(float(distance), float(deadline))[3]])
        return 1 + float((2 * (p.energy(p.T - p.a / Z, Z) - p.half) * p.saving(Z))[0])

    def proof(distance: Fraction, deadline: Fraction) -> tuple[Any, Any]:
        device = Device.table_1(distance, T=deadline)
        root = device.root_near(_solved(float(distance), float(deadline))[3])
        return ball(1), 1 + device.multiplier(root)

    return Claim(
        id="UF-E74s",
        paper=PAPER,
        location="After (76): 'it can be shown that ... Lambda_1 >= 0'; 'all other cases violate KKT' (1 + Lambda_1)",
        statement=r"\Lambda_1 = \tfrac{B b}{\log2}\bigl((\hat Z-1)e^{\hat Z}-c\bigr)(2E-\varrho) \ge 0",
        expected=Verdict.FALSE,
        reason="Negative as soon as the deadline is slack at the optimum: -.0021 at 50 m and T = 3 s.",
        domain={"distance": _DISTANCE, "deadline": _LONG},
        claimed=lambda distance, deadline: 1.0,
        actual=multiplier,
        relation=Relation.AT_LEAST,
        enclose=proof,
        tolerance=1e-7,
    )


CLAIMS = (
    concave_utility,
    power_not_convex,
    lemma_1,
    learning_concave,
    total_energy_convex,
    outer_function,
    composition_rule,
    kkt_algebra,
    stationary,
    theorem_2,
    delay_multiplier,
)
