"""A digest of what a claim says: its two sides, their hypotheses and ranges, and the code behind them.

Where a side is computed by code, the digest covers

- the functions of the claim, and what they call in ``airtight.validate`` or in the package of a user;
- the functions of ``analytics`` and ``solvers`` that are called there, and those that these call, one module further;
- what all these call in their own modules, and the methods that they use of the classes that they name.

What lies deeper has its own tests. Of a function the digest covers what it computes: docstrings, comments, layout, annotations,
decorators, the names of local variables and the texts of errors may change. An expression is covered by its values at points
of the ranges, which another way to write it leaves alone. The digest is the same in all versions of Python and SymPy.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from fractions import Fraction
from functools import cache
from pydoc import locate
from types import FunctionType, MethodType, ModuleType
from typing import Any

import flint
import sympy as sp

from airtight.analytics.forms.balls.compiled import enclosed
from airtight.analytics.forms.domain import Parameter, Range, exact
from airtight.analytics.forms.quantity import Quantity
from airtight.validate.claims.claim import Claim

_DIGITS = 15  # of a value by which an expression is known
_BITS = 256  # at which it is computed
_POINTS = 3  # at which an expression is evaluated
_STEPS = 14  # a coordinate is a whole number of steps from the end of its range
_NO_RANGE = Range(1.0, 2.0)  # of a symbol without one
_LENGTH = 16  # characters of a digest: changes are to be noticed, not attacks
_STEPS_DOWN = 1  # from the modules of the lower floors that a claim calls to those that these call
_CHECKS = "airtight.analytics.checks"  # refuses arguments, and computes nothing
_LOWER_FLOORS = ("airtight.analytics.", "airtight.solvers.")
_NOT_COMPUTED = frozenset(
    ("annotation", "returns", "decorator_list", "type_comment", "type_params", "kind", "ctx", "exc", "cause", "msg")
)  # fields of nodes of a syntax tree


def digest(claim: Claim) -> str:
    """The digest of a claim.

    Examples
    --------
    >>> from airtight.analytics.forms.domain import parameter
    >>> from airtight.validate.claims.relation import at_most
    >>> x = parameter("x", 0.1, 1.0)
    >>> first, again, other = (Claim("A", "", at_most(x**2, side)) for side in (x + x, 2 * x, 3 * x))
    >>> digest(first) == digest(again), digest(first) == digest(other)
    (True, False)
    """
    ranges = {name: _range_text(allowed) for name, allowed in sorted(claim.domain.items())}
    said = [_value_text(side, claim.domain) for side in (claim.relation.actual, claim.relation.claimed, *claim.given)]
    return short([claim.relation.sign.value, said, ranges, sorted(covered(claim).values())])


def short(value: Any) -> str:
    """The digest of a text, or of anything else that JSON can hold."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:_LENGTH]


def covered(claim: Claim) -> dict[str, str]:
    """The functions and constants that the digest of a claim covers: what each computes, by module and name.

    Examples
    --------
    >>> from airtight.validate.claims.sources import INSTALLED
    >>> sorted(name.rpartition(".")[2].partition(":")[0] for name in covered(INSTALLED.claims()["UF-E7*"]))
    ['<lambda>', '_apart', 'pull', 'sensitivity']
    """
    texts: dict[str, str] = {}
    reached: dict[ast.AST, int] = {}  # with so many steps left
    classes: dict[type, tuple[str, int]] = {}  # with the module that names each
    attributes: set[str] = set()
    documented = [locate(claim.argued)] if claim.argued and "#" not in claim.argued else []
    roots = [claim.relation.actual, claim.relation.claimed, *claim.given, *documented]
    pending: list[tuple[str, int, str, Any]] = [("", _STEPS_DOWN, "", root) for root in roots]
    while pending:
        for caller, left, name, value in pending:
            if caller and (text := _value_text(value)):
                texts[f"{caller}.{name}"] = f"{name} = {text}"
            if isinstance(value, type) and _left(caller, left, value.__module__) > classes.get(value, ("", -1))[1]:
                classes[value] = caller, left
        # of which class an object is shows only when it runs: all these classes, where a method has the name of an attribute
        pending += [
            (caller, left, name, vars(kind)[name])
            for kind, (caller, left) in classes.items()
            for name in sorted(attributes & vars(kind).keys())
        ]
        used: list[tuple[str, int, str, Any]] = []
        for caller, left, _, value in pending:
            for function in _functions(value):
                remaining = _left(caller, left, function.__module__)
                for node in _nodes(function):
                    if remaining <= reached.get(node, -1):
                        continue
                    if node not in reached:
                        place = f"{function.__module__}.{function.__qualname__}:{node.lineno}"
                        texts[place] = texts.get(place, "") + _text(node)
                        attributes |= _attributes(node)
                    reached[node] = remaining
                    used += [(function.__module__, remaining, *each) for each in _used(function, node)]
        pending = used
    return texts


def _left(caller: str, left: int, module: str) -> int:
    """How many steps are left in a module that another one uses; -1 where the digest does not go there."""
    if not caller or caller == module:
        return left
    if module.startswith("airtight."):
        return -1 if module == _CHECKS else left - caller.startswith(_LOWER_FLOORS)
    return left if module.partition(".")[0] == caller.partition(".")[0] else -1


def _functions(value: Any) -> Iterator[FunctionType]:
    """The functions of Python behind a value: of a partial function and a method, and what is cached."""
    if isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _functions(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _functions(part)
    elif isinstance(value, MethodType | classmethod | staticmethod):
        yield from _functions(value.__func__)
    elif isinstance(value, property | functools.cached_property):
        yield from _functions(value.fget if isinstance(value, property) else value.func)
    elif isinstance(value, FunctionType) or isinstance(getattr(value, "__wrapped__", None), FunctionType):
        wrapped = getattr(value, "__wrapped__", value)
        yield from [wrapped] if isinstance(wrapped, FunctionType) else _functions(wrapped)


def _source(path: str) -> str:
    """The text of a file; without it a function is known by its name only."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


@cache
def _definitions(path: str) -> dict[int, list[ast.FunctionDef | ast.Lambda]]:
    """The functions of a file by the line that their code object names: the first decorator's, if there is one."""
    functions: dict[int, list[ast.FunctionDef | ast.Lambda]] = {}
    for node in ast.walk(ast.parse(_source(path))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            first = node.decorator_list[0] if isinstance(node, ast.FunctionDef) and node.decorator_list else node
            functions.setdefault(first.lineno, []).append(node)
    return functions


def _nodes(function: FunctionType) -> list[ast.FunctionDef | ast.Lambda]:
    """The definition of a function; several where lambdas with the same arguments stand in one line."""
    code = function.__code__
    here = _definitions(code.co_filename).get(code.co_firstlineno, [])
    same = [node for node in here if isinstance(node, ast.Lambda) == (code.co_name == "<lambda>")]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [node for node in same if _parameters(node) == names]


def _parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    return tuple(one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))


@cache
def _inside(node: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(node))


@cache
def _attributes(node: ast.AST) -> frozenset[str]:
    return frozenset(each.attr for each in _inside(node) if isinstance(each, ast.Attribute))


@cache
def _text(node: ast.AST) -> str:
    return json.dumps(_computed(node, {}))


def _computed(node: Any, names: dict[str, str]) -> Any:
    """A syntax tree for JSON, without what is not computed; local variables are numbered in their order.

    Examples
    --------
    >>> trees = [ast.parse(f"def f(x: int):\\n '{x}'\\n {x} = x + 1\\n return {x}").body[0] for x in ("a", "b")]
    >>> _computed(trees[0], {}) == _computed(trees[1], {})
    True
    """
    if isinstance(node, list):
        return [_computed(each, names) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.FunctionDef | ast.Lambda) and not names:
        names = {name: f"local {i}" for i, name in enumerate(_assigned(node))}
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    made: list[Any] = [type(node).__name__]
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(value, list):
            value = [each for each in value if not _is_idle(each)]
        if name not in _NOT_COMPUTED and value not in (None, []):
            made.append([name, _computed(value, names)])
    return made


def _is_idle(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring or another constant, or an import, which is known by what it brings."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Import | ast.ImportFrom)


def _assigned(node: ast.AST) -> list[str]:
    """The local variables of a function, its parameters aside, in the order in which they appear."""
    parameters = {each.arg for each in _inside(node) if isinstance(each, ast.arg)}
    stored = (each.id for each in _inside(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
    return list(dict.fromkeys(name for name in stored if name not in parameters))


def _used(function: FunctionType, node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The names that a function takes from outside, and their values; of a module the attributes that it uses."""
    positional = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    free, owned, imports = _names(node)
    scope = {name: _imported(module, imported) for name, module, imported in imports if _is_followed(module, function)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a variable that has no value yet
            scope[name] = cell.cell_contents
    for name in free:
        if name in scope or name in function.__globals__:
            yield name, scope.get(name, function.__globals__.get(name))
    for name, attribute in owned:
        owner = scope.get(name, function.__globals__.get(name))
        if isinstance(owner, ModuleType) and _is_followed(owner.__name__, function):
            yield attribute, getattr(owner, attribute, None)


def _is_followed(module: str, function: FunctionType) -> bool:
    """Whether the digest looks into a module that a function uses: one of ours, or of the function's own package."""
    return module.startswith("airtight.") or module.partition(".")[0] == function.__module__.partition(".")[0]


@cache
def _names(node: ast.AST) -> tuple[list[str], list[tuple[str, str]], list[tuple[str, str, str]]]:
    """Names in a function that are not its own, attributes of such names, and what it imports."""
    inside = _inside(node)
    local_names = {each.arg for each in inside if isinstance(each, ast.arg)} | set(_assigned(node))
    free = dict.fromkeys(each.id for each in inside if isinstance(each, ast.Name) and each.id not in local_names)
    attributes = (each for each in inside if isinstance(each, ast.Attribute))
    pairs = ((each.value.id, each.attr) for each in attributes if isinstance(each.value, ast.Name))
    imports = (
        (alias.asname or alias.name, each.module, alias.name)
        for each in inside
        if isinstance(each, ast.ImportFrom) and each.module
        for alias in each.names
    )
    return list(free), [pair for pair in dict.fromkeys(pairs) if pair[0] not in local_names], list(imports)


def _imported(module: str, name: str) -> Any:
    imported = importlib.import_module(module)
    return getattr(imported, name) if hasattr(imported, name) else importlib.import_module(f"{module}.{name}")


def _range_text(allowed: Range) -> list[str]:
    return [str(exact(value)) for value in (allowed.low, allowed.high, *allowed.extra)] + [str(allowed.integer)]


def _value_text(value: Any, domain: Mapping[str, Range] | None = None) -> str:
    """A constant as text: a number, a text, an expression by its values; empty for everything else."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, bool | int | complex | str | Fraction):
        return repr(value)
    if isinstance(value, Quantity):
        return f"{value.name}: {_value_text(value.expression, domain)}"
    if isinstance(value, sp.Expr):
        return ", ".join(_values(value, domain or {}))
    if isinstance(value, sp.core.relational.Relational):
        return f"{value.rel_op} {_value_text(value.lhs, domain)} {_value_text(value.rhs, domain)}"
    if isinstance(value, sp.Basic):
        return f"{type(value).__name__}({'; '.join(_value_text(each, domain) for each in value.args)})"
    if isinstance(value, tuple | list):
        return f"[{'; '.join(_value_text(each, domain) for each in value)}]"
    return f"[{_range_text(value)}]" if isinstance(value, Range) else ""


def _values(expression: sp.Expr, domain: Mapping[str, Range]) -> Iterator[str]:
    """Decimals of an expression at points of the ranges of its symbols."""
    symbols = sorted(expression.free_symbols, key=lambda symbol: symbol.name)
    yield ", ".join(symbol.name for symbol in symbols)
    for number in range(_POINTS):
        point = {}
        for i, symbol in enumerate(symbols):
            allowed = domain.get(symbol.name) or (symbol.range if isinstance(symbol, Parameter) else _NO_RANGE)
            low, high = exact(allowed.low), exact(allowed.high)
            at = low + (high - low) * Fraction((2 * i + 5 * number) % (_STEPS - 1) + 1, 2 * _STEPS)
            point[symbol.name] = Fraction(at // 1 if allowed.integer else at)
        with flint.ctx.workprec(_BITS):
            ball = enclosed(expression, point)
            yield ball.mid().str(_DIGITS, radius=False) if ball.is_finite() else "no value"
