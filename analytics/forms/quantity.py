"""Quantities: a closed form with its NumPy function, its domain and its unit, printed, evaluated and enclosed from one entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from airtight.analytics.checks import ConvergenceError, ParameterError
from airtight.analytics.forms.domain import Parameter, Range
from airtight.analytics.guarantee import Face

Argument = Any  # sympy.Symbol, or a tuple of them
_MOST_DIGITS = 20_000
_ZERO_DIGITS = 1_000  # digits; a value that vanishes at this precision is below every double


def _everywhere(**values: Any) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Quantity:
    """A closed form.

    Attributes
    ----------
    name : str
        Name such as "Theorem 1, epsilon".
    source : str
        Paper and equation, or the ledger's identifier.
    face : Face
        Whether the value is the formula of a paper, a proved bound or the quantity itself.
    expression : sympy.Expr
    arguments : mapping of str to Symbol or tuple of Symbol
        Symbols by the parameter names of the NumPy function; a tuple holds one symbol for each device.
    function : callable, optional
        NumPy function of the arguments by name; by default made from the expression. A function of its own is needed where
        the expression cancels or overflows in doubles, or where a public function exists. The test of the registry compares
        it with the expression at 50 digits.
    unit : str
        Unit of the value; empty for a number.
    meaning : str
        What the value is, in a sentence fragment; of a privacy number the adjacency and the observer.
    scalar : bool
        Whether the function takes one point at a time; it is then called once for each entry of broadcast arrays.
    system : type, optional
        The value type whose parameters are the arguments. The quantity is then a number of every such system: in
        ``airtight quantities FILE``, its JSON, its schema and in sweeps.
    per_device : bool
        Whether a system has one value for each device; the expression is that of the first.
    keys : mapping of str to str
        The parameter of the value type for an argument that has another name there.
    domain : mapping of str to Range
        Ranges on which the function is compared with the expression, where they differ from those of the symbols.
    tolerance : float
        Greatest error of the function, relative to `scale`.
    defined : callable
        Says whether the function is compared at these arguments: the hypotheses of the formula, and the places where the
        rounding of the arguments alone decides the value.
    scale : callable, optional
        What errors are relative to; the value itself by default, the largest term for a sum with cancellation.

    Examples
    --------
    >>> x = Parameter("x", Range(1e-3, 1e3, logarithmic=True))
    >>> half = Quantity("half", "none", Face.EXACT, x / 2, {"x": x})
    >>> half.latex(), float(half(x=3.0)), mpmath.nstr(half.evaluate(x=3.0), 3)
    ('\\\\frac{x}{2}', 1.5, '1.5')
    """

    name: str
    source: str
    face: Face
    expression: sp.Expr
    arguments: Mapping[str, Argument]
    function: Callable[..., Any] | None = None
    unit: str = ""
    meaning: str = ""
    scalar: bool = False
    system: type | None = None
    per_device: bool = False
    keys: Mapping[str, str] = field(default_factory=dict)
    domain: Mapping[str, Range] = field(default_factory=dict)
    tolerance: float = 1e-13
    defined: Callable[..., bool] = _everywhere
    scale: Callable[..., float] | None = None

    @property
    def key(self) -> str:
        """The name as an identifier, for JSON and sweeps.

        Examples
        --------
        >>> Quantity("Theorem 1, t of (11)", "none", Face.EXACT, sp.Integer(1), {}).key
        'theorem_1_t_of_11'
        """
        return "_".join(re.findall(r"[a-z0-9]+", self.name.lower()))

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of every argument, and of each entry of one with a value per device."""
        return {
            name: self.domain.get(name) or (argument[0] if isinstance(argument, tuple) else argument).range
            for name, argument in self.arguments.items()
        }

    def __call__(self, **values: Any) -> Any:
        """The value in doubles. Scalar arguments broadcast; with a `function`, the number of devices is free."""
        self._check(values)
        return self._numeric(**values)

    @cached_property
    def _numeric(self) -> Callable[..., Any]:
        if self.function is not None:
            return np.vectorize(self.function, otypes=[float]) if self.scalar else self.function
        compute = self.lambdify()

        def made(**values: Any) -> Any:
            with np.errstate(divide="ignore", over="ignore"):
                return compute(*(np.asarray(value, dtype=float)[()] for value in self._flat(values)))

        return made

    def of(self, system: Any) -> Any:
        """The value for a system, an instance of :attr:`system`.

        Raises
        ------
        ParameterError
            When it is of another type.
        """
        if self.system is None or not isinstance(system, self.system):
            raise ParameterError(
                "system", system, f"a {self.system.__name__}" if self.system else "omitted; give the arguments"
            )
        return self(**{name: getattr(system, self.keys.get(name, name)) for name in self.arguments})

    def ball(self, **values: Any) -> Any:
        """A ball of python-flint that encloses the value, at the working precision; the exact binary values count.

        Examples
        --------
        >>> x = Parameter("x", Range(0.5, 1.0))
        >>> Quantity("root", "none", Face.EXACT, sp.sqrt(x), {"x": x}).ball(x=0.5)
        [0.70710678118654... +/- ...e-16]
        """
        from airtight.analytics.forms.balls.compiled import enclosed

        flat = self._flat(values)
        return enclosed(self.expression, {symbol.name: value for symbol, value in zip(self.symbols, flat, strict=True)})

    def diff(self, argument: str, *, device: int = 0) -> Quantity:
        """The derivative with respect to an argument, or to the entry of `device` of an argument with one value per device.

        Examples
        --------
        >>> x = Parameter("x", Range(0.5, 1.0))
        >>> Quantity("square", "none", Face.EXACT, x**2, {"x": x}).diff("x").latex()
        '2 x'
        """
        symbols = self._argument(argument)
        symbol = symbols[device] if isinstance(symbols, tuple) else symbols
        name = f"{self.name}, derivative by {argument}"
        return Quantity(
            name, self.source, self.face, sp.diff(self.expression, symbol), self.arguments, domain=self.domain
        )

    @property
    def symbols(self) -> list[sp.Symbol]:
        """All symbols, in the order of the arguments."""
        return [s for a in self.arguments.values() for s in (a if isinstance(a, tuple) else (a,))]

    def at(self, **values: Any) -> sp.Expr:
        """The expression with these values for its arguments; a sequence for an argument with one entry for each device.

        Examples
        --------
        >>> x, y = sp.symbols("x y")
        >>> Quantity("half", "none", Face.EXACT, x / 2, {"x": x}).at(x=y + 2)
        y/2 + 1
        """
        given: dict[sp.Symbol, sp.Expr] = {}
        for name, value in values.items():
            argument = self._argument(name)
            pairs = zip(argument, value, strict=True) if isinstance(argument, tuple) else ((argument, value),)
            given |= {symbol: sp.sympify(one) for symbol, one in pairs}
        return self.expression.xreplace(given)

    def subs(self, **values: Any) -> Quantity:
        """The quantity as a function of the symbols that are left when its arguments have these values.

        Examples
        --------
        >>> x, y = Parameter("x", Range(0.5, 1.0)), Parameter("y", Range(0.0, 3.0))
        >>> half = Quantity("half", "none", Face.EXACT, x / 2, {"x": x}).subs(x=y + 2)
        >>> half.name, half.latex(), float(half(y=2.0))
        ('half', '\\\\frac{y}{2} + 1', 2.0)
        """
        expression = self.at(**values)
        left = {symbol.name: symbol for symbol in sorted(expression.free_symbols, key=lambda symbol: symbol.name)}
        return Quantity(self.name, self.source, self.face, expression, left, unit=self.unit, meaning=self.meaning)

    def latex(self) -> str:
        r"""LaTeX of the expression, with :math:`\delta'` for a primed name and a sum sign for sums over the devices.

        Examples
        --------
        >>> p, s = per_device("p", 3, Range(0, 1)), per_device("s", 3, Range(0, 1))
        >>> mean = sum(a * b for a, b in zip(p, s))
        >>> Quantity("mean", "none", Face.EXACT, sp.log(mean), {"p": p, "s": s}).latex()
        '\\log{\\left(\\sum_{k=1}^{3} p_{k} s_{k} \\right)}'
        """
        devices = [argument for argument in self.arguments.values() if isinstance(argument, tuple)]
        return str(sp.latex(folded(self.expression, devices)))

    def to_dict(self) -> dict[str, Any]:
        """Name, source, face, LaTeX, unit and arguments with their ranges, for JSON."""
        about = {"name": self.name, "key": self.key, "source": self.source, "face": self.face.value}
        about |= {"unit": self.unit, "meaning": self.meaning}
        return {
            **about,
            "latex": self.latex(),
            "arguments": {name: allowed.in_words for name, allowed in self.ranges.items()},
        }

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.source, self.face, self.expression, tuple(self.arguments.items())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    def mathml(self) -> str:
        """Presentation MathML."""
        return str(sp.mathml(self.expression, printer="presentation"))

    def lambdify(self, modules: str = "numpy") -> Callable[..., Any]:
        """A function of the symbols, in the order of the arguments."""
        compute: Callable[..., Any] = sp.lambdify(self.symbols, self.expression, modules=modules)
        return compute

    def _argument(self, name: str) -> Argument:
        if name not in self.arguments:
            raise ParameterError("argument", name, f"one of {', '.join(self.arguments)}")
        return self.arguments[name]

    def _check(self, values: Mapping[str, Any]) -> None:
        if wrong := set(values) ^ set(self.arguments):
            raise ParameterError("arguments", sorted(wrong), f"given once each: {', '.join(self.arguments)}")

    def _flat(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the order of the symbols."""
        self._check(values)
        flat: list[Any] = []
        for name, argument in self.arguments.items():
            entries = values[name] if isinstance(argument, tuple) else [values[name]]
            if isinstance(argument, tuple) and len(entries) != len(argument):
                raise ParameterError(name, values[name], f"{len(argument)} numbers, one per device")
            flat += list(entries)
        return flat

    @cached_property
    def _compute(self) -> Callable[..., Any]:
        return self.lambdify("mpmath")

    def evaluate(self, *, digits: int = 50, **values: Any) -> mpmath.mpf:
        """The value to so many significant digits at these arguments, whose exact binary values count.

        The working precision is doubled until two evaluations agree, so that cancellation costs time, not digits.

        Raises
        ------
        ParameterError
            When an argument is missing, unknown, or has the wrong length.
        ArithmeticError
            When neither 20 000 digits nor eight times the wanted ones suffice.
        """
        flat = self._flat(values)
        precision, before = 2 * digits, None
        while precision <= max(_MOST_DIGITS, 8 * digits):
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
    """The expression, with terms that differ only in the number of the device gathered into sums over the devices.

    Parameters
    ----------
    devices : sequence of tuples of Symbol
        Symbols of the devices, each named by a letter and a number.

    Examples
    --------
    >>> w = per_device("w", 4, Range(0, 1))
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
            indexed = {s[start] for s in numbered}
            others = {symbol for symbols in numbered for symbol in symbols} - indexed
            for term in [t for t in left if t.free_symbols & indexed and not t.free_symbols & others]:
                alike = [shifted(term, start, [s[j] for s in numbered]) for j in range(start, count)]
                if len(alike) > 1 and all(left.count(one) == 1 for one in alike):
                    left = [t for t in left if t not in alike]
                    sums.append(sp.Sum(shifted(term, start, general), (number, start + 1, count)))
        return node.func(*left, *sums)

    return gathered(expression)


def normal_cdf(x: sp.Expr) -> sp.Expr:
    """The standard normal distribution function, by erfc."""
    return sp.erfc(-x / sp.sqrt(2)) / 2


def per_device(letter: str, count: int, allowed: Range) -> tuple[Parameter, ...]:
    """One symbol for each device.

    Examples
    --------
    >>> per_device("w", 2, Range(0, 1))
    (w_1, w_2)
    """
    return tuple(Parameter(f"{letter}_{k}", allowed) for k in range(1, count + 1))


def collected(quantities: Sequence[Quantity]) -> dict[str, Quantity]:
    """Quantities by name; two names with one key are an error."""
    by_key: dict[str, Quantity] = {}
    for quantity in quantities:
        if quantity.key in by_key:
            raise ParameterError("name", quantity.name, f"another name than {by_key[quantity.key].name!r}")
        by_key[quantity.key] = quantity
    return {quantity.name: quantity for quantity in quantities}
