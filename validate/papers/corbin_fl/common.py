"""What the claims on CorBin-FL have in common: parameters with the paper's values, its formulas, laws of sums of outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import sympy as sp

from airtight.analytics.federated.corbin import central_privacy
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.forms import binary_quantizers as forms
from airtight.analytics.forms.domain import Range, parameter, parameter_of
from airtight.analytics.forms.quantity import Quantity
from airtight.validate.claims.proving.derivation import Derivation, Monotone

of_system = partial(parameter_of, FederatedSystem)
epsilon = of_system("epsilon", 1e-2, 8.0, logarithmic=True, typical=(0.5, 5.0))
x, y = (parameter(name, -1.0, 1.0, extra=(0.0,), typical=(-1.0, 1.0)) for name in ("x", "y"))  # offsets, in radii
bits = of_system("shared_bits", 0, 10, name="bits", typical=(3, 7))
pairs = parameter("pairs", 5, 60, integer=True, typical=(25, 25))  # the paper has n = 50
p = of_system("dropout", 0.05, 0.95, name="p", typical=(0.1, 0.5))

LOCAL = Range(0.05, 4.0, logarithmic=True)
WIDE = Range(0.05, 10.0, logarithmic=True, typical=(0.5, 5.0))  # of a local epsilon
SEED = Range(0, 10**6, integer=True)
_UNTRIMMED = 1e-30  # a delta so small that no mass is trimmed


def quantity(name: str, **values: Any) -> Quantity:
    """A quantity of :mod:`airtight.analytics.forms.binary_quantizers` at these arguments; by default radius 1 and
    `epsilon`."""
    form, all_values = forms.QUANTITIES[name], {"radius": 1, "epsilon": epsilon, **values}
    return form.subs(**{key: all_values[key] for key in form.arguments})


def printed(name: str, **values: Any) -> sp.Expr:
    """The expression of this quantity."""
    return quantity(name, **values).expression


alpha = printed("alpha")
IN_RADII = {r"\alpha": alpha, "r": 1}  # for legends: statements in units of the radius


def share(epsilon: sp.Expr = epsilon) -> sp.Expr:
    """1 / alpha, in a form that is easy to enclose."""
    return sp.tanh(epsilon / 2)


def kept(epsilon: sp.Expr = epsilon) -> sp.Expr:
    """The worst error of a pair over alpha^2: max of 2 alpha s - s^2 over s in [0, 2], at s = min(2, alpha)."""
    return 1 - sp.Max(1 - 2 * share(epsilon), 0) ** 2


def at_count(count: sp.Symbol, made: Mapping[int, sp.Expr]) -> sp.Expr:
    """An expression for each number."""
    *first, last = made.items()
    return sp.Piecewise(*((expression, sp.Eq(count, k)) for k, expression in first), (last[1], True))


def limit_law(stretch: sp.Expr) -> dict[tuple[int, int], sp.Expr]:
    """Probabilities of the outputs of a pair over alpha, `stretch`: one shared number, uniform on [0, 1], decides both.

    The first is plus below (1 + x/alpha)/2, the second above (1 - y/alpha)/2: both are plus between, on (x + y)^+/(2 alpha).
    """
    plus = sp.Max(0, x + y) / stretch / 2
    first, second = ((1 + place / stretch) / 2 for place in (x, y))
    return {(1, 1): plus, (1, -1): first - plus, (-1, 1): second - plus, (-1, -1): 1 - first - second + plus}


def pair_error(stretch: sp.Expr) -> sp.Expr:
    """Mean squared error of the sum of a pair's outputs, with infinitely many shared bits."""
    return sum(mass * (stretch * (one + two) - x - y) ** 2 for (one, two), mass in limit_law(stretch).items())


def by_sign_of_sum(facts: Sequence[Any], made: Callable[[sp.Expr, sp.Expr, sp.Expr], Derivation]) -> Derivation:
    """A derivation from those for x + y of either sign, which take abs(x + y) and both offsets with this sign."""
    return Derivation(facts=facts, split=x + y, above=made(x + y, x, y), below=made(-x - y, -x, -y))


def at_least_one(stretch: sp.Expr, epsilon: sp.Expr = epsilon) -> Any:
    """The fact that alpha, in either form, is at least 1."""
    return stretch >= 1, Derivation(through=[1 + 2 / (sp.exp(epsilon) - 1)])


_stretch, _sum = parameter("alpha", 1.0, 1e4, logarithmic=True), parameter("sum", 0.0, 2.0)
PAIR_GAINS = Monotone(2 * _stretch * (_stretch - _sum), _stretch)  # what LDPQ's error of a pair exceeds that of CorBinQ by


def hockey_stick(p: dict[Any, Any], q: dict[Any, Any], odds: Any) -> Any:
    """Hockey-stick divergence of two discrete laws, as dictionaries from value to probability."""
    return sum((max(mass - odds * q.get(place, 0), 0 * mass) for place, mass in p.items()), 0 * odds)


def lattice(outputs: list[Any]) -> dict[int, Any]:
    """Law of the sum of outputs +-1 with the given probabilities of +1."""
    law: dict[int, Any] = {0: 1}
    for q in outputs:
        step: dict[int, Any] = defaultdict(int)
        for place, mass in law.items():
            step[place + 1] += mass * q
            step[place - 1] += mass * (1 - q)
        law = step
    return dict(law)


@lru_cache(maxsize=4096)
def one_parameter(others: int, epsilon: float, client: str, bits: int | None, move: float) -> Any:
    """The envelope of :func:`airtight.analytics.federated.corbin.central_privacy.one_parameter`, untrimmed."""
    return central_privacy.one_parameter(others, epsilon=epsilon, client=client, bits=bits, move=move, delta=_UNTRIMMED)
