"""Closed forms: printed as LaTeX or MathML, evaluated to any number of digits, converted to NumPy functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import mpmath
import sympy as sp

from airtight.analytics.checks import ConvergenceError

Argument = Any  # sympy.Symbol, or a tuple of them
_MOST_DIGITS = 20_000
_ZERO_DIGITS = 1_000  # digits; a value that vanishes at this precision is below every double


class Face(StrEnum):
    """The face of a form: the formula of the paper, a proven bound, or the quantity itself."""

    PUBLISHED = "published"
    PROVEN = "proven"
    EXACT = "exact"


@dataclass(frozen=True, eq=False)
class Form:
    """A closed form.

    Attributes
    ----------
    name : str
        Name such as "Theorem 1, epsilon".
    source : str
        Paper and equation, or the ledger's identifier.
    face : Face
    expression : sympy.Expr
    arguments : mapping of str to Symbol or tuple of Symbol
        Symbols by the parameter names of the numeric function; a tuple holds one symbol for each device.

    Examples
    --------
    >>> x = sp.Symbol("x", positive=True)
    >>> half = Form("half", "none", Face.EXACT, x / 2, {"x": x})
    >>> half.latex(), mpmath.nstr(half.evaluate(x=3.0), 3)
    ('\\\\frac{x}{2}', '1.5')
    """

    name: str
    source: str
    face: Face
    expression: sp.Expr
    arguments: Mapping[str, Argument]

    @property
    def symbols(self) -> list[sp.Symbol]:
        """All symbols, in the order of the arguments."""
        return [s for a in self.arguments.values() for s in (a if isinstance(a, tuple) else (a,))]

    def at(self, **values: Any) -> sp.Expr:
        """The expression with these values for its arguments; a sequence for an argument with one entry for each device.

        Examples
        --------
        >>> x, y = sp.symbols("x y")
        >>> Form("half", "none", Face.EXACT, x / 2, {"x": x}).at(x=y + 2)
        y/2 + 1
        """
        given: dict[sp.Symbol, sp.Expr] = {}
        for name, value in values.items():
            argument = self.arguments[name]
            pairs = zip(argument, value, strict=True) if isinstance(argument, tuple) else ((argument, value),)
            given |= {symbol: sp.sympify(one) for symbol, one in pairs}
        return self.expression.xreplace(given)

    def latex(self) -> str:
        r"""LaTeX of the expression, with :math:`\delta'` for a primed name and a sum sign for sums over the devices.

        Examples
        --------
        >>> p, s = per_device("p", 3), per_device("s", 3)
        >>> mean = sum(a * b for a, b in zip(p, s))
        >>> Form("mean", "none", Face.EXACT, sp.log(mean), {"p": p, "s": s}).latex()
        '\\log{\\left(\\sum_{k=1}^{3} p_{k} s_{k} \\right)}'
        """
        devices = [argument for argument in self.arguments.values() if isinstance(argument, tuple)]
        return str(sp.latex(folded(self.expression, devices), symbol_names=_primed(self.expression)))

    def to_dict(self) -> dict[str, Any]:
        """Name, source, face, LaTeX and arguments, for JSON."""
        about = {"name": self.name, "source": self.source, "face": self.face.value}
        return {**about, "latex": self.latex(), "arguments": list(self.arguments)}

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.source, self.face, self.expression, tuple(self.arguments.items())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Form) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    def mathml(self) -> str:
        """Presentation MathML."""
        return str(sp.mathml(self.expression, printer="presentation", symbol_names=_primed(self.expression)))

    def lambdify(self, modules: str = "numpy") -> Callable[..., Any]:
        """A function of the symbols, in the order of the arguments."""
        compute: Callable[..., Any] = sp.lambdify(self.symbols, self.expression, modules=modules)
        return compute

    @cached_property
    def _compute(self) -> Callable[..., Any]:
        return self.lambdify("mpmath")

    def evaluate(self, *, digits: int = 50, **values: Any) -> mpmath.mpf:
        """The value to so many significant digits at these arguments, whose exact binary values count.

        The working precision is doubled until two evaluations agree, so that cancellation costs time, not digits.

        Raises
        ------
        ArithmeticError
            When 20 000 digits do not suffice.
        """
        flat: list[Any] = []
        for name, argument in self.arguments.items():
            value = values[name]
            flat += list(value) if isinstance(argument, tuple) else [value]
        precision, before = 2 * digits, None
        while precision <= _MOST_DIGITS:
            with mpmath.workdps(precision):
                now = mpmath.mpmathify(self._compute(*map(_exact, flat)))
                close = before is not None and abs(now - before) <= abs(now) * mpmath.mpf(10) ** -digits
                if close and (now != 0 or precision >= _ZERO_DIGITS):
                    return now
            precision, before = 2 * precision, now
        raise ConvergenceError(f"{self.name}: {digits} digits not reached at {values}")


def _exact(value: Any) -> Any:
    if hasattr(value, "numerator") and not isinstance(value, int):
        return mpmath.mpf(int(value.numerator)) / int(value.denominator)
    return mpmath.mpmathify(value.item() if hasattr(value, "item") else value)


def folded(expression: sp.Expr, devices: Sequence[tuple[sp.Symbol, ...]]) -> sp.Expr:
    """The expression with terms that differ in the number of the device alone written as sums over the devices.

    Parameters
    ----------
    devices : sequence of tuples of Symbol
        Symbols of the devices, each named by a letter and a number.

    Examples
    --------
    >>> w = per_device("w", 4)
    >>> folded(w[0] + w[1] + w[2] + w[3] + 1, [w])
    Sum(w_k, (k, 1, 4)) + 1
    """
    count = max(map(len, devices), default=0)
    numbered = [symbols for symbols in devices if len(symbols) == count]
    if count < 2 or not numbered:
        return expression
    number = sp.Symbol("k", integer=True)
    general = [sp.Symbol(symbols[0].name.rpartition("_")[0] + "_k", **symbols[0].assumptions0) for symbols in numbered]

    def shifted(term: sp.Expr, device: int, to: Sequence[sp.Symbol]) -> sp.Expr:
        return term.subs({s[device]: new for s, new in zip(numbered, to, strict=True)}, simultaneous=True)

    def gathered(node: sp.Expr) -> sp.Expr:
        if not node.args:
            return node
        if isinstance(node, sp.Max):
            for symbols, one in zip(numbered, general, strict=True):
                if set(node.args) == set(symbols):
                    return sp.Symbol(rf"\left(\max_{{k}} {sp.latex(one)}\right)", **one.assumptions0)
        terms = [gathered(part) for part in node.args]
        if not isinstance(node, sp.Add):
            return node.func(*terms)
        left, sums = list(terms), []
        for start in (0, 1):
            own = {s[start] for s in numbered}
            others = {symbol for symbols in numbered for symbol in symbols} - own
            for term in [t for t in left if t.free_symbols & own and not t.free_symbols & others]:
                alike = [shifted(term, start, [s[j] for s in numbered]) for j in range(start, count)]
                if len(alike) > 1 and all(left.count(one) == 1 for one in alike):
                    left = [t for t in left if t not in alike]
                    sums.append(sp.Sum(shifted(term, start, general), (number, start + 1, count)))
        return node.func(*left, *sums)

    return gathered(expression)


def _primed(expression: sp.Expr) -> dict[sp.Symbol, str]:
    """LaTeX of a symbol whose name ends in a prime."""
    return {s: sp.latex(sp.Symbol(s.name[:-1])) + "'" for s in expression.free_symbols if s.name.endswith("'")}


def normal_cdf(x: sp.Expr) -> sp.Expr:
    """The standard normal distribution function, by erfc."""
    return sp.erfc(-x / sp.sqrt(2)) / 2


def per_device(letter: str, count: int, **assumptions: bool) -> tuple[sp.Symbol, ...]:
    """One symbol for each device.

    Examples
    --------
    >>> per_device("w", 2)
    (w_1, w_2)
    """
    return tuple(sp.symbols(f"{letter}_1:{count + 1}", **assumptions))


def collected(forms: Sequence[Form]) -> dict[str, Form]:
    """Forms by name; a name that occurs twice is an error."""
    found: dict[str, Form] = {}
    for form in forms:
        if form.name in found:
            raise ValueError(f"name = {form.name!r}: used twice")
        found[form.name] = form
    return found
