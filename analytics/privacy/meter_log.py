"""The log of a meter: how its lines are chained, and what each may hold. Python's standard library is all it needs.

``validate/claims/certificates/check_log.py`` runs alone and contains everything between the two rules to the letter; a test
compares the two texts. So the meter and the program refuse the same numbers.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from itertools import pairwise
from typing import Any

# ---- the format of a log
SCHEMAS = ("airtight-meter-1", "airtight-meter-2", "airtight-meter-3")  # that are read; a new log has the last
START = "0" * 64  # what the first line gives as the hash of the line before it
_COUNT = "whole [1, 9223372036854775807]"
_LINE = {"round": _COUNT}
_PAID = {"participants": "indices", "cost": "payments [0, inf)"}
# What each kind of line holds, by key; "?" marks keys that may be absent. "reals" are one for all devices, or one for each.
LINES = {
    "head": {
        "schema": "text", "budget_epsilon": "reals [0, 1e300]", "delta": "real (0, 1)", "devices": "whole [1, 100000000]",
        "fixed": "declarations", "order": "order (1, inf)", "adaptive": "flag", "budget": "reals [0, inf)",
        "colluding?": "colluders",
    },
    "round": _LINE | _PAID | {
        "devices": "whole [1, 100000000]", "noise_variance": "reals [0, inf)", "weight": "reals [0, inf)",
        "clip": "reals (0, inf)", "receiver_noise_variance": "real [0, inf)", "alignment": "real (0, inf)",
        "adjacency": "one of silent, replace", "idle_noise?": "flag", "separate?": "flag", "looks?": "table",
        "looks_imaginary?": "table", "colluding?": "colluders",
    },
    "curve": _LINE | _PAID | {"curve": "curve"},
    "declared": _LINE | {"curve": "curve", "fixed": "whole [0, 9223372036854775807]"},
}  # fmt: skip
# The parameters of releases whose loss check_log.py computes; those of others only the package knows.
RELEASES = {
    "gaussian": {"mu": "real [0, inf)", "unit?": "text", "slack?": "real [0, 1)"},
    "laplace": {"loss": "real [0, inf)", "unit?": "text", "slack?": "real [0, 1)"},
    "randomized_response": {
        "loss": "real [0, inf)", "symbols": "whole [2, 9223372036854775807]", "unit?": "text", "slack?": "real [0, 1)",
    },
    "subsampled": {"release": "release", "p": "real [0, 1]"},
    "discrete": {"p": "law", "q": "law", "unit?": "text", "doubt?": "real [0, 0.01]"},
    "discrete_gaussian": {"sensitivity": "whole [1, 1125899906842624]", "sigma": "real [1e-290, 1e290]", "unit?": "text"},
    "discrete_laplace": {"sensitivity": "whole [1, 1125899906842624]", "scale": "real [1e-290, 1e290]", "unit?": "text"},
}  # fmt: skip


def sealed(entry: dict[str, Any], previous: str) -> tuple[str, str]:
    """A line of the log: the entry, the hash of the line before it, and the hash of both; and this hash."""
    text = json.dumps({**entry, "previous": previous}, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'{text[:-1]},"hash":"{digest}"}}', digest


def unsealed(line: str, previous: str) -> tuple[dict[str, Any], str]:
    """The entry of a line, and its hash.

    The line is written again from the entry: a key that is given twice, NaN, or a number in another form is a change.
    """
    entry = json.loads(line)
    if not isinstance(entry, dict):
        raise ValueError("holds no object")
    body = {key: value for key, value in entry.items() if key not in ("previous", "hash")}
    rewritten, digest = sealed(body, previous)
    if line != rewritten:
        raise ValueError("was changed, or does not follow the line before it")
    return body, digest


def kind_of(entry: dict[str, Any]) -> str:
    """The kind of a line that is not the first."""
    return "declared" if "fixed" in entry else "curve" if "curve" in entry else "round"


def require(entry: dict[str, Any], domains: dict[str, str], devices: int) -> None:
    """Raise ValueError unless the entry has the keys of `domains`, and values within them."""
    unknown = set(entry) - {key.rstrip("?") for key in domains}
    if unknown:
        raise ValueError(f"has the unknown key {min(unknown)!r}")
    for key, domain in domains.items():
        name = key.rstrip("?")
        if name in entry:
            if not _inside(entry[name], domain, len(entry["participants"]) if name == "cost" else devices):
                raise ValueError(f"has {name} = {json.dumps(entry[name])[:60]}, which is not {domain}")
        elif name == key:
            raise ValueError(f"has no key {name!r}")
    if "looks_imaginary" in entry and "looks" not in entry:
        raise ValueError("has imaginary parts of looks without real ones")


def _inside(value: Any, domain: str, size: int) -> bool:
    """Whether a value belongs to a domain; lists have `size` numbers."""
    name, _, interval = domain.partition(" ")
    if name in ("real", "whole"):
        return _numbers([value], domain)
    if name in ("reals", "payments"):
        several = isinstance(value, list)
        return (not several or len(value) == size) and _numbers(value if several else [value], f"real {interval}")
    if name == "order":
        return value is None or _numbers([value], f"real {interval}")
    if name == "one":
        return isinstance(value, str) and value in interval[3:].split(", ")
    if name == "indices":
        rising = isinstance(value, list) and _numbers(value, f"whole [0, {size - 1}]")
        return rising and all(i < j for i, j in pairwise(value))
    if name == "colluders":
        if isinstance(value, list):
            return 0 < len(value) < size and _inside(value, "indices", size)
        return _numbers([value], f"whole [1, {size - 1}]")
    if name == "table":
        rows = isinstance(value, list) and len(value) == size and all(isinstance(row, list) for row in value)
        return rows and all(len(row) == len(value[0]) > 0 and _table_row(row) for row in value)
    if name == "law":
        return isinstance(value, list) and _numbers(value, "real [0, 1]") and abs(sum(value) - 1) <= 2e-12
    if name == "declarations":
        pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
        return pairs and all(_inside(curve, "curve", size) and _numbers([count], _COUNT) for curve, count in value)
    if name == "curve":
        return isinstance(value, list) and all(_release(each, {"count": _COUNT}, size) for each in value)
    if name == "release":
        return _release(value, {}, size)
    return isinstance(value, {"flag": bool, "text": str}[name])


def _release(value: Any, more: dict[str, str], size: int) -> bool:
    """Whether a value is a release: constructor, parameters in their domains, and what else is asked for."""
    if not isinstance(value, dict) or set(value) != {"constructor", "parameters", *more}:
        return False
    given = value["parameters"]
    if not isinstance(value["constructor"], str) or not isinstance(given, dict):
        return False
    if value["constructor"] in RELEASES:
        require(given, RELEASES[value["constructor"]], size)
    return all(_inside(value[key], domain, size) for key, domain in more.items())


def _table_row(row: list[Any]) -> bool:
    return all(type(value) in (int, float) and abs(value) < float("inf") for value in row)


@lru_cache
def _interval(domain: str) -> tuple[type, Any, bool, Any, bool]:
    """The type of a domain's numbers, and both ends with whether they belong to it."""
    name, _, interval = domain.partition(" ")
    number_type = {"real": float, "whole": int}[name]
    low, high = map(number_type, interval[1:-1].split(", "))
    return number_type, low, interval[0] == "[", high, interval[-1] == "]"


def _numbers(values: list[Any], domain: str) -> bool:
    """Whether all values are numbers of the domain; a boolean is none, and a whole number is no real one."""
    kind, low, with_low, high, with_high = _interval(domain)
    return all(
        type(value) is kind
        and (low <= value if with_low else low < value)
        and (value <= high if with_high else value < high)
        for value in values
    )


# ---- the end of the format
