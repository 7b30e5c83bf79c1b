"""Converts keys in dB and dBm to linear keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from airtight.analytics.checks import ParameterError

_FARTHEST = 3000.0  # greatest absolute level in dB; its linear value is a double


def _power(level: float) -> float:
    return float(10.0 ** (level / 10))


def _milliwatts(level: float) -> float:
    return float(10.0 ** ((level - 30) / 10))


ALTERNATIVES: dict[str, tuple[str, Callable[[float], float], str]] = {
    "noise_variance_db": ("noise_variance", _power, "dB"),
    "noise_variance_dbm": ("noise_variance", _milliwatts, "dBm, the variance then in W"),
    "receiver_noise_variance_db": ("receiver_noise_variance", _power, "dB"),
    "receiver_noise_variance_dbm": ("receiver_noise_variance", _milliwatts, "dBm, the variance then in W"),
    "snr_db": ("receiver_noise_variance", _power, "dB of alignment^2 over the receiver's noise variance"),
    "channel_gain_db": ("channel_gain", _power, "dB"),
}


def linear(table: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A table of the system file with its keys in dB replaced by linear keys.

    Parameters
    ----------
    table : mapping
        The table; other keys are kept.
    base : mapping, optional
        Table to which the changes apply; an SNR in it is kept when the table changes the alignment.

    Raises
    ------
    ParameterError
        When a key occurs in two forms, or a level is not a number within 3000 dB.

    Examples
    --------
    >>> linear({"noise_variance_db": -10.0})
    {'noise_variance': 0.1}
    >>> linear({"alignment": 10.0, "snr_db": 20.0})
    {'alignment': 10.0, 'receiver_noise_variance': 1.0}
    """
    out = {key: value for key, value in table.items() if key not in ALTERNATIVES}
    given = {key: value for key, value in table.items() if key in ALTERNATIVES}
    before = {} if base is None else base
    if "snr_db" in before and "alignment" in out and not any(_meant(key) == "receiver_noise_variance" for key in table):
        given["snr_db"] = before["snr_db"]
    for key, value in given.items():
        name, convert, _ = ALTERNATIVES[key]
        if name in out:
            raise ParameterError(key, value, f"absent where {name} or another form of it is given")
        levels = value if isinstance(value, list) else [value]
        if not levels or not all(_is_level(x) for x in levels):
            raise ParameterError(key, value, "a number of dB, or a list of them, within 3000 of 0")
        if isinstance(value, list) and name == "receiver_noise_variance":
            raise ParameterError(key, value, "one number: there is one receiver")
        if key == "snr_db":
            out[name] = _noise_of(value, out.get("alignment", before.get("alignment")))
        else:
            out[name] = [convert(x) for x in value] if isinstance(value, list) else convert(value)
    return out


def linearised(raw: dict[str, Any]) -> dict[str, Any]:
    """A system file with its keys in dB replaced by linear keys; entries that are no tables are kept for later checks.

    Raises
    ------
    ParameterError
        As :func:`linear`; the name includes the table.
    """
    table = raw.get("inference")
    if not isinstance(table, dict):
        return raw
    where = "inference"
    try:
        changed = linear(table)
        if isinstance(variants := table.get("variants"), dict):
            changed["variants"] = dict(variants)
            for name, variant in variants.items():
                where = f"inference.variants.{name}"
                if isinstance(variant, dict):
                    changed["variants"][name] = linear(variant, table)
    except ParameterError as error:
        raise ParameterError(f"{where}.{error.name}", error.value, error.allowed) from None
    return {**raw, "inference": changed}


def _meant(key: str) -> str:
    return ALTERNATIVES[key][0] if key in ALTERNATIVES else key


def _is_level(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _FARTHEST


def _noise_of(snr: float, alignment: object) -> float:
    """Variance of the receiver's noise at this SNR; 1 for an alignment that later checks refuse."""
    usable = isinstance(alignment, int | float) and not isinstance(alignment, bool) and 0 < alignment < math.inf
    if not isinstance(alignment, int | float) or not usable:
        return 1.0
    return float(math.exp(min(2 * math.log(alignment) - snr / 10 * math.log(10), 709.0)))
