"""Argument checks: every public function checks the ranges of its arguments with these functions.

A range is written in interval notation, ``"(0, 1]"`` or ``"[0, inf)"``. Infinity is accepted only where the interval is
closed at it, and NaN is never accepted.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics.errors import AirtightError as AirtightError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_LONGEST_TEXT = 200  # characters of a name
_LONGEST_VALUE = 400  # characters of a value in a message
_SHORT = 6  # entries of an array in a message
_MOST_DEVICES = 10**8  # of which a value each is held
Choice = TypeVar("Choice", bound=StrEnum)
Kind = TypeVar("Kind")
own_errstate = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
"""Decorator of public functions: what NumPy does at an overflow is not what the caller has set for code of their own."""

_BEYOND = 2**63  # the least positive integer that does not fit int64


class ConvergenceError(AirtightError, ArithmeticError):
    """A computation did not reach the accuracy that it promises."""


class ParameterError(AirtightError, ValueError):
    """An argument has a value that is not allowed.

    Attributes
    ----------
    name : str
        Name of the parameter.
    value : object
        The invalid value (one entry if the parameter is an array).
    allowed : str
        What is allowed, in words or as an interval.
    index : tuple of int or None
        Position of the value in the array.
    """

    def __init__(self, name: str, value: object, allowed: str, index: tuple[int, ...] | None = None) -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        self.index = index or None
        place = f"{name}[{', '.join(map(str, index))}]" if index else name
        given = f"{place}: missing; must be" if value is None else f"{place} = {_shown(value)}: must be"
        super().__init__(f"{given} {allowed}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.value, self.allowed, self.index)


def _shown(value: object) -> str:
    """A value as an error message shows it: in one line of printable characters, not too long."""
    try:
        text = " ".join(repr(value).split("\n"))
    except Exception:  # whatever a foreign object, or an integer of too many digits, raises
        return f"of type {type(value).__name__}"
    if len(text) > _LONGEST_VALUE:
        text = text[:_LONGEST_VALUE] + "..."
    return text


@lru_cache(maxsize=64)
def _parse(interval: str) -> tuple[float, bool, float, bool]:
    low, high = interval[1:-1].split(",")
    return float(low), interval[0] == "[", float(high), interval[-1] == "]"


def _inside(values: Any, interval: str) -> Any:
    """Whether each value lies in the interval; NaN never does."""
    low, low_closed, high, high_closed = _parse(interval)
    above = values >= low if low_closed else values > low
    return above & (values <= high if high_closed else values < high)


def _require(name: str, values: NDArray[Any], interval: str, kind: str) -> None:
    if values.size == 0 or all(_inside(extreme, interval) for extreme in _extremes(values)):
        return
    index = tuple(int(i) for i in np.argwhere(~_inside(values, interval))[0])
    raise ParameterError(name, values[index].item(), f"{kind} in {interval}", index)


def _extremes(values: NDArray[Any]) -> tuple[Any, ...]:
    """The least and the greatest entry; both are NaN if any entry is."""
    return (values.item(),) if values.size == 1 else (values.min(), values.max())


def _unmasked(name: str, value: ArrayLike) -> NDArray[Any] | None:
    """The value as an array; None where NumPy makes none of it."""
    if isinstance(value, np.ma.MaskedArray):
        raise ParameterError(name, value, "an array without a mask: what a masked entry stands for is not known")
    try:
        return np.asarray(value)
    except Exception:  # whatever the conversion of a foreign object raises
        return None


def rectangular(name: str, value: ArrayLike) -> NDArray[Any]:
    """Return `value` as an array of NumPy, of any type.

    Examples
    --------
    >>> rectangular("looks", [[1, 2], [3]])
    Traceback (most recent call last):
        ...
    airtight.analytics.checks.ParameterError: looks = [[1, 2], [3]]: must be a number or a rectangular array of numbers
    """
    array = _unmasked(name, value)
    if array is None:
        raise ParameterError(name, value, "a number or a rectangular array of numbers")
    return array


def real(name: str, value: ArrayLike, interval: str = "(-inf, inf)") -> FloatArray:
    """Return `value` as a float64 array; all entries must lie in `interval`.

    Raises
    ------
    ParameterError
        If an entry is not a real number or not in the interval; NaN is in no interval.

    Examples
    --------
    >>> real("delta", [0.1, 0.2], "(0, 1)")
    array([0.1, 0.2])
    >>> real("delta", [0.1, 2.0], "(0, 1)")
    Traceback (most recent call last):
        ...
    airtight.analytics.checks.ParameterError: delta[1] = 2.0: must be a number in (0, 1)
    """
    if type(value) is float and _inside(value, interval):
        return np.array(value)
    raw = rectangular(name, value)
    if raw.dtype.kind not in "iuf":
        value_text = value if raw.ndim == 0 else _Verbatim(f"array of type {raw.dtype}")
        raise ParameterError(name, value_text, f"a number in {interval}")
    array = raw.astype(np.float64)
    _require(name, array, interval, "a number")
    return array


def integer(name: str, value: ArrayLike, interval: str = "(-inf, inf)") -> IntArray:
    """Return `value` as an int64 array; all entries must lie in `interval`.

    Examples
    --------
    >>> integer("devices", 12, "[1, inf)")
    array(12)
    >>> integer("devices", 1.5, "[1, inf)")
    Traceback (most recent call last):
        ...
    airtight.analytics.checks.ParameterError: devices = 1.5: must be an integer in [1, inf)
    """
    raw = _unmasked(name, value)
    if raw is None:
        raise ParameterError(name, value, "an integer or a rectangular array of integers")
    if raw.dtype.kind not in "iu" or (raw.dtype.kind == "u" and np.any(raw > np.iinfo(np.int64).max)):
        raise ParameterError(name, value, f"an integer in {interval}")
    array = raw.astype(np.int64)
    _require(name, array, interval, "an integer")
    return array


def scalar(name: str, value: ArrayLike, interval: str = "(-inf, inf)") -> float:
    """Return `value`, which must be one number in `interval`, as a float."""
    if isinstance(value, float) and _inside(value, interval):
        return float(value)
    array = real(name, value, interval)
    if array.ndim:
        raise ParameterError(name, value, f"one number in {interval}")
    return float(array)


def count(name: str, value: ArrayLike, interval: str = "[1, inf)") -> int:
    """Return `value`, which must be one integer in `interval`, as an int."""
    if type(value) is int and abs(value) < _BEYOND and _inside(value, interval):
        return value
    array = integer(name, value, interval)
    if array.ndim:
        raise ParameterError(name, value, f"one integer in {interval}")
    return int(array)


def subset(name: str, value: ArrayLike, size: int) -> NDArray[np.bool_]:
    """Return which of `size` things are meant, as truth values, shape (size,): by a truth value for each, or by their indices.

    Whole numbers are indices, also 0 and 1; a list that mixes both kinds is refused.

    Examples
    --------
    >>> subset("participants", [False, True, True], 3), subset("participants", [1, 2], 3)
    (array([False,  True,  True]), array([False,  True,  True]))
    """
    allowed = f"{size} truth values, or indices, each once"
    array = rectangular(name, value)
    listed = () if isinstance(value, np.ndarray) else np.asarray(value, dtype=object).ravel()
    mixed = array.dtype != bool and any(isinstance(each, bool | np.bool_) for each in listed)
    if mixed or array.ndim != 1 or (array.dtype == bool and array.size != size):
        raise ParameterError(name, value if array.size <= _SHORT else f"array of shape {array.shape}", allowed)
    if array.dtype == bool:
        return array.copy()
    mask = np.zeros(size, dtype=bool)
    if array.size:
        index = integer(name, array, f"[0, {size - 1}]")
        if np.unique(index).size != index.size:
            raise ParameterError(name, index.tolist()[:_SHORT], allowed)
        mask[index] = True
    return mask


def instance(name: str, value: object, *kinds: type[Kind]) -> Kind:
    """Return `value`, which must be of one of these types.

    Examples
    --------
    >>> instance("features", 3, dict, list)
    Traceback (most recent call last):
        ...
    airtight.analytics.checks.ParameterError: features = 3: must be of type dict or list
    """
    if not isinstance(value, kinds):
        raise ParameterError(name, value, "of type " + " or ".join(kind.__name__ for kind in kinds))
    return value


def flag(name: str, value: object) -> bool:
    """Return `value`, which must be a boolean, as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, value, "true or false")
    return bool(value)


def text(name: str, value: object) -> str:
    """Return `value`, which must be a string of at most 200 printable characters."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST_TEXT:
        raise ParameterError(name, value, f"a text of at most {_LONGEST_TEXT} printable characters")
    return value


def choice(name: str, value: object, kinds: type[Choice]) -> Choice:
    """Return the member of `kinds` that `value` names."""
    try:
        return kinds(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise ParameterError(name, value, "one of " + ", ".join(kinds)) from None


def member(name: str, value: object, members: tuple[Choice, ...]) -> Choice:
    """Return the one of `members` that `value` names."""
    try:
        return members[members.index(value)]
    except ValueError:  # none of them, or an array, which is no text
        raise ParameterError(name, value, "one of " + ", ".join(members)) from None


class _Verbatim(str):
    """A string that an error message shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def array_text(array: FloatArray) -> object:
    """What an error message shows of an array: a number or a short vector itself, otherwise the size or the shape."""
    if array.ndim == 0 or (array.ndim == 1 and array.size <= 4):
        return array.tolist()
    return _Verbatim(f"{array.size} numbers" if array.ndim == 1 else f"an array of shape {array.shape}")


def vector(name: str, value: ArrayLike, length: int, interval: str = "(-inf, inf)") -> FloatArray:
    """Return `value` as an array of `length` numbers in `interval`; a scalar is repeated."""
    if length > _MOST_DEVICES:
        raise ParameterError("devices", length, f"at most {_MOST_DEVICES:.0e}, since each has numbers of its own")
    array = real(name, value, interval)
    if array.ndim > 1 or (array.ndim == 1 and array.size != length):
        raise ParameterError(name, array_text(array), f"a number or {length} numbers")
    filled = array if array.ndim else np.full(length, array)
    filled.flags.writeable = False
    return filled


def broadcast(**arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Broadcast the named arrays against each other.

    Examples
    --------
    >>> import numpy as np
    >>> broadcast(epsilon=np.zeros(3), sigma=np.zeros(2))
    Traceback (most recent call last):
        ...
    airtight.analytics.checks.ParameterError: epsilon, sigma = shapes (3,), (2,): must be broadcastable
    """
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = "shapes " + ", ".join(str(a.shape) for a in arrays.values())
        raise ParameterError(", ".join(arrays), _Verbatim(shapes), "broadcastable") from None
