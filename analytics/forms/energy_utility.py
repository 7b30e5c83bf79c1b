r"""UF Appendix C by machine: the Lagrangian (67), and every KKT equation derived from it beside its printed form (69)-(76).

A residual that simplifies to 0 says that the printed algebra is right. The error of Theorem 2 is not in the algebra:
dividing (70)
by :math:`(Z-1)e^Z - c` deletes the root :math:`Z = Z_0,\ \Lambda_1 = 0`, the optimum with slack delay (:func:`lost_root`).
"""

from __future__ import annotations

from functools import cache

import sympy as sp

from airtight.analytics.forms import wireless_device

A, Z, b = sp.symbols("A Z b", positive=True)  # A = d tau
j, V, B, T = wireless_device.iterations, wireless_device.model, wireless_device.bandwidth, wireless_device.deadline
P_cp, varrho = wireless_device.compute, wireless_device.varrho
beta_1, beta_2 = wireless_device.beta_1, wireless_device.beta_2
c = sp.Symbol("c", real=True)
Z_min, Z_max, j_min, j_max = sp.symbols("Z_min Z_max j_min j_max", positive=True)
L1, L2, L3, L4, L5 = sp.symbols("Lambda_1:6", nonnegative=True)

transmit_energy = V * b / Z * (sp.exp(Z) + c)
energy = j * A * P_cp + transmit_energy
utility = -beta_1 * sp.exp(-j * A * P_cp / beta_2) + beta_1 - energy * (energy - varrho)


@cache
def lagrangian() -> sp.Expr:
    """(67): minus the utility plus multipliers times constraints.

    Examples
    --------
    >>> sorted(map(str, lagrangian().free_symbols))[:3]
    ['A', 'B', 'Lambda_1']
    """
    delay = j * A + V * sp.log(2) / (B * Z) - T
    return -utility + L1 * delay + L2 * (Z_min - Z) + L3 * (Z - Z_max) + L4 * (j_min - j) + L5 * (j - j_max)


def printed() -> dict[str, sp.Expr]:
    """What the paper prints, each as an expression that it claims to vanish; names are equation numbers.

    Examples
    --------
    >>> list(printed())
    ['69', '70', '71', '72', '74', '76']
    """
    double = 2 * energy
    learned = beta_1 / beta_2 * sp.exp(-j * A * P_cp / beta_2)
    curve = (Z - 1) * sp.exp(Z) - c
    on_edge = j_on_the_edge()
    return {
        "69": -learned - varrho + double + L1 / P_cp - (L4 - L5) / (A * P_cp),
        "70": double - varrho - (L1 * V * b * sp.log(2) + Z**2 * b * B * (L2 - L3)) / (B * V * b**2 * curve),
        "71": -learned - varrho + L1 / P_cp + double,
        "72": double - varrho - L1 * sp.log(2) / (B * b * curve),
        "74": L1 - B * b / sp.log(2) * curve * (double - varrho),
        "76": ((double - varrho) * (B * b / (P_cp * sp.log(2)) * curve + 1)).subs(j, on_edge)
        - beta_1 / beta_2 * sp.exp(P_cp / beta_2 * (V * sp.log(2) / (B * Z) - T)),
    }


def derived() -> dict[str, sp.Expr]:
    """The same, derived from the Lagrangian by differentiation and elimination.

    Examples
    --------
    >>> set(derived()) == set(printed())
    True
    """
    by_j = sp.diff(lagrangian(), j) / (A * P_cp)
    by_Z = sp.diff(lagrangian(), Z) * Z**2 / (V * b * ((Z - 1) * sp.exp(Z) - c))
    only_delay = {L2: 0, L3: 0, L4: 0, L5: 0}
    by_delay = sp.diff(lagrangian(), Z).subs(only_delay)  # linear in its multiplier
    multiplier = sp.factor(-by_delay.subs(L1, 0)) / sp.factor(sp.diff(by_delay, L1))
    edge = by_j.subs(only_delay).subs(L1, multiplier).subs(j, j_on_the_edge())
    return {
        "69": by_j,
        "70": by_Z,
        "71": by_j.subs(only_delay),
        "72": by_Z.subs(only_delay),
        "74": L1 - multiplier,
        "76": edge,
    }


def residuals() -> dict[str, sp.Expr]:
    """Derived minus printed; every one is 0: the algebra of Appendix C is right.

    Examples
    --------
    >>> set(residuals().values())
    {0}
    """
    forms = printed()
    return {name: sp.simplify(sp.expand(value - forms[name])) for name, value in derived().items()}


def j_on_the_edge() -> sp.Expr:
    """(75): the iterations that fill the deadline.

    Examples
    --------
    >>> j_on_the_edge()
    (T - V*log(2)/(B*Z))/A
    """
    return (T - V * sp.log(2) / (B * Z)) / A


def lost_root() -> sp.Expr:
    r"""dL/dZ with only the delay multiplier, at :math:`\Lambda_1 = 0` and :math:`c = (Z-1)e^Z`: 0 whatever the energy.

    So :math:`Z_0` with a slack delay is stationary in Z; (70), divided by :math:`(Z-1)e^Z-c`, does not see it.

    Examples
    --------
    >>> lost_root()
    0
    """
    free = sp.diff(lagrangian(), Z).subs({L1: 0, L2: 0, L3: 0, L4: 0, L5: 0})
    return sp.simplify(free.subs(c, (Z - 1) * sp.exp(Z)))


def composition_second_derivative() -> tuple[sp.Expr, sp.Expr]:
    """The second derivative of H(G(y)), and what (65) prints for it, with G'' squared.

    Examples
    --------
    >>> true, printed_form = composition_second_derivative()
    >>> sp.simplify(true - printed_form) == 0
    False
    """
    y = sp.Symbol("y")
    G, H = sp.Function("G"), sp.Function("H")
    u = sp.Symbol("u")
    first = H(u).diff(u).subs(u, G(y))
    second = H(u).diff(u, 2).subs(u, G(y))
    true = second * G(y).diff(y) ** 2 + first * G(y).diff(y, 2)
    return true, second * G(y).diff(y) ** 2 + first * G(y).diff(y, 2) ** 2
