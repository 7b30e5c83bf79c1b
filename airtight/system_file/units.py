"""Keys in dB and dBm that can replace linear keys of the system file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from airtight.analytics.checks import ParameterError

_FARTHEST = 3000.0  # greatest absolute level in dB: 10^300 and 10^-300 are doubles


def _power(level: float) -> float:
    return float(10.0 ** (level / 10))


def _milliwatts(level: float) -> float:
    return float(10.0 ** ((level - 30) / 10))


# key: the linear key that it replaces, the conversion to it, the unit
ALTERNATIVES: dict[str, tuple[str, Callable[[float], float], str]] = {
    "noise_variance_db": ("noise_variance", _power, "dB"),
    "noise_variance_dbm": ("noise_variance", _milliwatts, "dBm, the variance then in W"),
    "receiver_noise_variance_db": ("receiver_noise_variance", _power, "dB"),
    "receiver_noise_variance_dbm": ("receiver_noise_variance", _milliwatts, "dBm, the variance then in W"),
    "snr_db": ("receiver_noise_variance", _power, "dB of alignment^2 over the receiver's noise variance"),
    "channel_gain_db": ("channel_gain", _power, "dB"),
}


def linear(table: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A table of the system file in which linear keys replace those in dB.

    Parameters
    ----------
    table : mapping
        Keys in dB are converted, other keys are copied.
    base : mapping, optional
        The table whose values this one changes; its SNR is kept when this table changes the alignment.

    Raises
    ------
    ParameterError
        When two forms of one key are given, or a level is not a number between -3000 and 3000 dB.

    Examples
    --------
    >>> linear({"noise_variance_db": -10.0})
    {'noise_variance': 0.1}
    >>> linear({"alignment": 10.0, "snr_db": 20.0})
    {'alignment': 10.0, 'receiver_noise_variance': 1.0}
    """
    out = {key: value for key, value in table.items() if key not in ALTERNATIVES}
    in_decibels = {key: value for key, value in table.items() if key in ALTERNATIVES}
    base_table = {} if base is None else base
    if (
        "snr_db" in base_table
        and "alignment" in out
        and not any(linear_key(key) == "receiver_noise_variance" for key in table)
    ):
        in_decibels["snr_db"] = base_table["snr_db"]
    for key, value in in_decibels.items():
        name, convert, _ = ALTERNATIVES[key]
        if name in out:
            raise ParameterError(key, value, f"absent when {name} or another form of it is given")
        levels = value if isinstance(value, list) else [value]
        if not levels or not all(_is_level(x) for x in levels):
            raise ParameterError(key, value, "a number of dB, or a list of them, between -3000 and 3000")
        if isinstance(value, list) and name == "receiver_noise_variance":
            raise ParameterError(key, value, "one number, because there is one receiver")
        if key == "snr_db":
            out[name] = _noise_of(value, out.get("alignment", base_table.get("alignment")))
        else:
            out[name] = [convert(x) for x in value] if isinstance(value, list) else convert(value)
    return out


def linearised(raw: dict[str, Any]) -> dict[str, Any]:
    """A system file with linear keys in place of those in dB; a table that is not a dictionary stays as it is.

    Raises
    ------
    ParameterError
        As :func:`linear`; the name of the parameter includes its table.
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


def linear_key(key: str) -> str:
    """The key in linear units that a key in decibels stands for; any other key itself."""
    return ALTERNATIVES[key][0] if key in ALTERNATIVES else key


def _is_level(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _FARTHEST


def _noise_of(snr: float, alignment: object) -> float:
    """Variance of the receiver's noise at this SNR; 1 for an alignment that later checks refuse."""
    usable = isinstance(alignment, int | float) and not isinstance(alignment, bool) and 0 < alignment < math.inf
    if not isinstance(alignment, int | float) or not usable:
        return 1.0
    # exp of a sum of logarithms: alignment^2 alone could overflow; 709 is the largest exponent whose exp is a double
    return float(math.exp(min(2 * math.log(alignment) - snr / 10 * math.log(10), 709.0)))
