"""A parser for the LaTeX of a statement, so that the statement can be compared with the relation that is tried.

The parser knows a small part of LaTeX and refuses everything that is ambiguous. It reads numbers, the symbols of the
parameters and of the legend (`where`), sums, products by juxtaposition, fractions, powers, roots, all brackets,
absolute values, the usual functions followed by one factor or a bracket, and functions of the legend. The sides are
separated by = and at most one inequality. Text after a comma, ``\\quad`` or ``\\text`` is a remark and is not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import sympy as sp

from airtight.validate.claims.claim import Claim
from airtight.validate.claims.relation import Point, Side, Sign, value

Tokens = tuple[str, ...]
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[^\s~]")
_SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lrm]?|textstyle|displaystyle)(?![a-zA-Z])|\\[,;:! ]")
_SIGNS = {"=": Sign.EQUAL, **dict.fromkeys(("<", r"\le", r"\leq"), Sign.AT_MOST)}
_SIGNS |= dict.fromkeys((">", r"\ge", r"\geq"), Sign.AT_LEAST)
_REMARK_STARTS = {",", r"\quad", r"\qquad", r"\text"}
_CLOSING = {"(": ")", "[": "]", r"\{": r"\}", "{": "}", r"\lceil": r"\rceil", r"\lfloor": r"\rfloor"}
_FUNCTIONS: dict[str, Any] = {
    rf"\{name}": getattr(sp, name) for name in ("log", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "coth")
}
_FUNCTIONS |= {r"\Phi": lambda x: sp.erfc(-x / sp.sqrt(2)) / 2, r"\max": sp.Max, r"\min": sp.Min}
_CONSTANTS: dict[Tokens, Any] = {("e",): sp.E, (r"\pi",): sp.pi}


class Unread(Exception):
    """The parser cannot read a piece of LaTeX without ambiguity."""


@dataclass
class Reading:
    """The sides of a statement as expressions.

    Attributes
    ----------
    sign : Sign
    actual, claimed : list of sympy.Expr
        All expressions on the left and on the right of the relation; a chain of equations has several.
    unread : list of str
        For each side that was not read, the reason.
    """

    sign: Sign
    actual: list[sp.Expr] = field(default_factory=list)
    claimed: list[sp.Expr] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def symbols(claim: Claim) -> dict[str, Any]:
    """The symbols that the LaTeX of a statement may contain: those of the parameters and of the legend."""
    named = {allowed.symbol or sp.latex(sp.Symbol(name)): sp.Symbol(name) for name, allowed in claim.domain.items()}
    return {**claim.where, **named}


def read(statement: str, known: Mapping[str, Any]) -> Reading:
    """Parse a statement.

    Raises
    ------
    Unread
        When there is no relation, or more than one inequality.

    Examples
    --------
    >>> x, n = sp.symbols("x n")
    >>> found = read(r"\\tfrac{2x}n \\le 1 - e^{-x^2}\\quad\\text{for all } x", {"x": x, "n": n})
    >>> found.actual, found.sign.value, found.claimed
    ([2*x/n], '<=', [1 - exp(-x**2)])
    >>> read(r"\\log x y = 1", {"x": x, "y": n}).unread
    ['\\\\log x y: the end of the argument is ambiguous']
    """
    pieces, signs = _sides(tokens(statement))
    unequal = [i for i, sign in enumerate(signs) if sign is not Sign.EQUAL]
    if not signs or len(unequal) > 1:
        raise Unread("a statement must consist of sides separated by = and by at most one inequality")
    at = unequal[0] if unequal else len(signs) - 1
    reading = Reading(signs[at])
    table = {**_CONSTANTS, **{tokens(name): meaning for name, meaning in known.items()}}
    for i, piece in enumerate(pieces):
        try:
            (reading.actual if i <= at else reading.claimed).append(_Reader(piece, table).whole())
        except Unread as reason:
            reading.unread.append(f"{' '.join(piece)}: {reason}")
    return reading


class Standing(StrEnum):
    """How far a statement has been compared with the relation that is tried."""

    DERIVED = "made from the expressions that are tried"
    COMPARED = "compared with what is tried at random points"
    PARTLY = "compared on the side that is written out"
    WORDS = "not compared"


def standing(claim: Claim) -> Standing:
    """How far a statement has been compared with the relation that is tried; :attr:`Claim.unread` says why not further.

    If `unread` is empty, code computes the side that is not compared, and the statement describes it in the paper's
    terms.
    """
    if claim.provable.symbolic and claim.statement == claim.provable.latex():
        return Standing.DERIVED
    if claim.unread:
        return Standing.WORDS
    try:
        reading = read(claim.statement, symbols(claim))
    except Unread:
        return Standing.WORDS
    if reading.actual and reading.claimed:
        return Standing.COMPARED
    one_side = (reading.actual or reading.claimed) and _has_code(claim)
    return Standing.PARTLY if one_side else Standing.WORDS


def _has_code(claim: Claim) -> bool:
    """Whether code computes a side, alone or beside an expression."""
    return not claim.relation.symbolic or claim.computed is not None


def legend(claim: Claim) -> dict[str, Any]:
    """The part of `where` whose symbols occur in the statement."""
    text = tokens(claim.statement)

    def stands(name: str) -> bool:
        pattern = tokens(name)
        return any(text[i : i + len(pattern)] == pattern for i in range(len(text)))

    return {name: meaning for name, meaning in claim.where.items() if stands(name)}


def disagreement(claim: Claim, *, points: int = 8, seed: int = 0) -> str:
    """The first difference between a statement and the relation that is tried, at random points; empty if there is
    none.

    Sides that the parser cannot read are not compared.

    Raises
    ------
    Unread
        When no side can be read, or only one side of a claim of which code computes none.
    """
    reading = read(claim.statement, symbols(claim))
    if reading.sign is not claim.provable.sign:
        return f"the statement has {reading.sign.value}, the claim {claim.provable.sign.value}"
    relation = claim.provable if claim.provable.symbolic else claim.relation
    pairs = [(a, relation.actual) for a in reading.actual] + [(b, relation.claimed) for b in reading.claimed]
    if not pairs or not (_has_code(claim) or (reading.actual and reading.claimed)):
        raise Unread("; ".join(reading.unread))
    compared = 0
    for point in _random_points(claim, points, seed):
        for read_side, tried in pairs:
            read_value, tried_value = (_value_or_nan(side, point) for side in (read_side, tried))
            if math.isnan(tried_value):
                continue
            compared += 1
            if not math.isclose(read_value, tried_value, rel_tol=1e-6, abs_tol=1e-12):
                return f"{sp.latex(read_side)} is {read_value:.8g}, what is tried {tried_value:.8g}, at {point}"
    return "" if compared else "no point at which anything is claimed"


def tokens(text: str) -> Tokens:
    """The tokens of TeX, without commands for sizes and spaces."""
    return tuple(_TOKEN.findall(_SIZES.sub(" ", text)))


def _random_points(claim: Claim, points: int, seed: int) -> list[Point]:
    """Random points of the domain that meet the hypotheses, from at most 2000 draws."""
    rng = np.random.default_rng(seed)
    points_found: list[Point] = []
    for _ in range(2000):
        point = {name: allowed.at(float(rng.random())) for name, allowed in claim.domain.items()}
        if claim.admits(point):
            points_found.append(point)
        if len(points_found) == points:
            break
    return points_found


def _value_or_nan(side: Side, point: Point) -> float:
    try:
        return value(side, point)
    except ArithmeticError:
        return math.nan


def _sides(tokens: Tokens) -> tuple[list[Tokens], list[Sign]]:
    """The sides between relation signs outside of brackets, and these signs, up to the first remark."""
    pieces: list[list[str]] = [[]]
    signs, depth = [], 0
    for token in tokens:
        depth += (token in _CLOSING) - (token in _CLOSING.values())
        if depth == 0 and token in _REMARK_STARTS:
            break
        if depth == 0 and token in _SIGNS:
            signs.append(_SIGNS[token])
            pieces.append([])
        else:
            pieces[-1].append(token)
    return [tuple(piece) for piece in pieces], signs


class _Reader:
    """Recursive-descent parser of one side."""

    def __init__(self, tokens: Tokens, table: Mapping[Tokens, Any]) -> None:
        self.tokens, self.at = tokens, 0
        self.table, self.longest = table, max(map(len, table), default=1)
        self.bars = 0  # depth of open absolute values, in which | closes

    @property
    def next(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        """Consume the next token, which must be `expected` unless that is empty."""
        token = self.next
        if not token or (expected and token != expected):
            raise Unread(f"{expected or 'a symbol'} is missing")
        self.at += 1
        return token

    def whole(self) -> sp.Expr:
        """The expression that all tokens make."""
        expression = self.sum()
        if self.next:
            raise Unread(f"{self.next} is not known")
        return sp.sympify(expression)

    def sum(self) -> sp.Expr:
        """Products joined by + and -, with an optional sign before the first."""
        total = self.product() if self.next not in "+-" or not self.next else sp.Integer(0)
        while self.next in ("+", "-"):
            total = total + self.product() if self.take() == "+" else total - self.product()
        return total

    def product(self) -> sp.Expr:
        r"""Factors joined by juxtaposition, \cdot or /; after / juxtaposition is refused, because 1/2x is ambiguous."""
        result, divided = self.factor(), False
        while self.starts() or self.next in ("/", r"\cdot"):
            is_division = self.next == "/"
            if is_division or self.next == r"\cdot":
                self.take()
            elif divided:
                raise Unread("a factor after a division with / is ambiguous")
            factor = self.factor()
            result, divided = (result / factor, True) if is_division else (result * factor, False)
        return result

    def starts(self) -> bool:
        """Whether a factor begins at the next token."""
        if self.next == "|":
            return not self.bars
        known = self.next in _CLOSING or self.next in _FUNCTIONS or self.next in (r"\frac", r"\tfrac", r"\sqrt")
        return known or self.next.isdigit() or self.symbol() is not None

    def factor(self) -> sp.Expr:
        """An atom with its exponents."""
        base = self.atom()
        while self.next == "^":
            self.take()
            base = base ** self.argument()
        return base

    def atom(self) -> sp.Expr:
        """A symbol, number, fraction, root, absolute value, function or bracket."""
        if (symbol := self.symbol()) is not None:
            length, meaning = symbol
            self.at += length
            return meaning(*self.arguments()) if isinstance(meaning, sp.Lambda) else sp.sympify(meaning)
        token = self.take()
        if token.isdigit():
            while self.next.isdigit() or (self.next == "." and "." not in token):
                token += self.take()
            return sp.Rational(token)
        if token in (r"\frac", r"\tfrac"):
            top = self.argument()
            return top / self.argument()
        if token == r"\sqrt":
            return sp.sqrt(self.argument())
        if token == "|":
            self.bars += 1
            inner = self.sum()
            self.bars -= 1
            self.take("|")
            return sp.Abs(inner)
        if token in _FUNCTIONS:
            return self.function(token)
        if token in _CLOSING:
            self.at -= 1
            (inner,) = self.arguments()
            return {r"\lceil": sp.ceiling, r"\lfloor": sp.floor}.get(token, lambda x: x)(inner)
        raise Unread(f"{token} is not known")

    def function(self, name: str) -> sp.Expr:
        """A function with optional base and power, applied to a bracket or to exactly one factor."""
        base = power = None
        while self.next in ("_", "^"):
            if self.take() == "_":
                base = self.argument()
            else:
                power = self.argument()
        if self.next in ("(", "[", r"\{", "{"):
            result = _FUNCTIONS[name](*self.arguments())
        else:
            result = _FUNCTIONS[name](self.factor())
            if self.starts():
                raise Unread("the end of the argument is ambiguous")
        if base is not None:
            if name != r"\log":
                raise Unread(f"a subscript of {name} has no meaning here")
            result = result / sp.log(base)
        return result if power is None else result**power

    def arguments(self) -> list[sp.Expr]:
        """The expressions in a bracket, separated by commas or semicolons."""
        bars, self.bars = self.bars, 0
        if self.next not in _CLOSING:
            raise Unread(f"a bracket is missing before {self.next}")
        closing = _CLOSING[self.take()]
        expressions = [self.sum()]
        while self.next in (",", ";"):
            self.take()
            expressions.append(self.sum())
        self.take(closing)
        self.bars = bars
        return expressions

    def argument(self) -> sp.Expr:
        """The argument of a TeX command: a group, or one token."""
        if self.next == "{":
            return self.arguments()[0]
        if self.next.isdigit():
            return sp.Integer(self.take())
        meaning = self.table.get((self.take(),))
        if meaning is None:
            raise Unread(f"{self.tokens[self.at - 1]} is not known")
        return sp.sympify(meaning)

    def symbol(self) -> tuple[int, Any] | None:
        """Length and meaning of the longest symbol at the next tokens; None if there is none."""
        for length in range(min(self.longest, len(self.tokens) - self.at), 0, -1):
            if (name := self.tokens[self.at : self.at + length]) in self.table:
                return length, self.table[name]
        return None
