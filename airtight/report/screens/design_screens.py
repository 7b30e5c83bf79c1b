"""What ``airtight calibrate`` and ``airtight design`` print: the answer, whether it is useful, and what is proved of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem
from airtight.console import Sheet, device_rows, headline, next_step, notes, screen
from airtight.results.headline import of_use
from airtight.results.numerals import plain, rounded_down, rounded_up, share
from airtight.solvers.design.known import Designs
from airtight.solvers.price import ShadowPrice

if TYPE_CHECKING:
    from airtight.results.design import (
        CalibrationResult,
        DesignResult,
        FederatedDesignResult,
        FleetDesignResult,
        FrontierResult,
    )
    from airtight.solvers.design.requirements import InferenceRequirements

_SOUGHT = {"noise": "noise variance", "clip": "clip", "participation": "participation"}
_KEYS = {"noise": "noise_variance", "clip": "clip", "participation": "participation"}
_BEYOND = {"noise": "smaller noise", "clip": "greater clip", "participation": "greater participation"}


def calibration(
    path: str,
    name: str,
    found: CalibrationResult,
    before: InferenceSystem,
    labels: Sequence[str] = (),
    *,
    complete: bool = False,
) -> None:
    """Print the calibrated quantity beside what the file has, and what is proved of values beyond it."""
    console, sought = screen(), _SOUGHT[found.variable]
    headline(console, name, found.headline)
    columns = {
        f"{sought} now": np.broadcast_to(getattr(before, _KEYS[found.variable]), found.value.shape),
        f"{sought} needed": found.value,
        "epsilon then": found.epsilon,
    }
    table = Sheet(("devices", *columns))
    safe = rounded_up if found.variable == "noise" else rounded_down
    senders = [k for k in range(found.epsilon.size) if k not in set(found.never_send)]
    rows = device_rows(columns, by=found.epsilon, labels=labels, complete=complete, among=senders)
    for label, (now, needed, epsilon) in rows:
        table.add_row(label, plain(now), safe(needed), rounded_up(epsilon))
    console.print(table)
    notes(console, _proved(found, complete=complete))
    steps = [(f"airtight calibrate {path} --epsilon {found.target:g} --json", "all digits, for the file")]
    if "USELESS" in found.headline[0]:
        if found.variable == "noise" and before.channel is None:
            steps = [(f"airtight calibrate {path} --epsilon {found.target:g} --variable clip", "another lever")]
        if before.adjacency is Adjacency.ABSENT and not before.idle_noise:
            steps.append(("idle_noise = true in [inference]", "silent devices keep their noise"))
    next_step(console, *steps)


def _proved(found: CalibrationResult, *, complete: bool) -> list[str]:
    """What is known of values beyond the answer, where epsilon is not monotone in them."""
    if found.monotone or found.variable == "clip":
        return []
    beyond = _BEYOND[found.variable]
    if not found.unsettled:
        return [f"Proved: no {beyond} keeps the target."]
    low, high = found.unsettled[0][0], found.unsettled[-1][1]
    shown = [f"undecided: {a:.9g} to {b:.9g}" for a, b in found.unsettled] if complete else []
    return [f"Proved: no {beyond} keeps the target (undecided: between {low:.6g} and {high:.6g}).", *shown]


def design(
    path: str,
    name: str,
    found: DesignResult,
    before: InferenceSystem,
    wanted: InferenceRequirements,
    labels: Sequence[str] = (),
    *,
    complete: bool = False,
) -> None:
    """Print a joint design: its limits and their prices, the free parameters, and what is proved of other designs."""
    console = screen()
    headline(console, name, found.headline)
    console.print(_limits(found, wanted))
    for table in _parameters(found, before, labels, complete=complete):
        console.print(table)
    notes(console, _known(found, complete=complete))
    if wanted.epsilon_at_most is not None and before.channel is None:
        limit = wanted.epsilon_at_most
        key = f"--frontier epsilon_at_most={limit / 4:g}:{limit * 4:g}:5:log"
        next_step(console, (f"airtight design {path} {key}", ""))
    else:
        next_step(console, (f"airtight design {path} --out designed.csv", "a device a row, for --devices"))


def _limits(found: DesignResult, wanted: InferenceRequirements) -> Sheet:
    """The limits beside what the design reaches; the price is what one unit more changes."""
    prices = {price.by: price for price in found.prices or ()}
    reached: dict[str, tuple[str, str, str]] = {
        "epsilon_at_most": ("epsilon", "epsilon of each device", rounded_up(float(np.max(found.epsilon)))),
        "error_at_most": ("error", "mean squared error", "" if found.error is None else plain(found.error)),
        "accuracy_at_least": (
            "accuracy",
            "accuracy, at least",
            "" if found.accuracy is None else share(found.accuracy),
        ),
        "energy_at_most": ("energy", "energy of all devices, 1 round", plain(found.energy)),
        "power_at_most": ("power", "peak power of a device", "kept"),
    }
    priced = any(wanted_key[0] in prices for wanted_key in reached.values())
    table = Sheet(("limit", "allowed", "design", *(("one unit more changes",) if priced else ())), left=("limit",))
    for key, (by, label, value) in reached.items():
        allowed = getattr(wanted, key)
        if allowed is not None:
            price = prices.get(by)
            table.add_row(label, plain(allowed), value, *(("" if price is None else _change(price),) if priced else ()))
    return table


def _change(price: ShadowPrice) -> str:
    """What one unit more of a limit changes."""
    if math.isnan(price.rising):
        return "not known"
    if price.rising == 0:
        return "nothing (not binding)"
    return f"{price.of} {price.rising:+.4g}" + (" (upwards only)" if price.one_sided else "")


def _parameters(found: DesignResult, before: InferenceSystem, labels: Sequence[str], *, complete: bool) -> list[Sheet]:
    """The free parameters before and after; those of unlike devices as a range, or in rows of their own."""
    table = Sheet(("free parameter", "now", "best"), left=("free parameter",))
    unlike: dict[str, Any] = {}
    for key, value in found.variables.items():
        table.add_row(key.replace("_", " "), _shown(getattr(before, key)), _shown(value))
        if np.size(value) > 1 and np.ptp(value):
            unlike[key.replace("_", " ")] = np.asarray(value)
    if not (complete and unlike):
        return [table]
    each = Sheet(("devices", *unlike, "epsilon"))
    columns = {**unlike, "epsilon": found.epsilon}
    for label, values in device_rows(columns, by=found.epsilon, labels=labels, complete=True):
        each.add_row(label, *map(plain, values[:-1]), rounded_up(values[-1]))
    return [table, each]


def _shown(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    low, high = float(np.min(value)), float(np.max(value))
    return plain(low) if low == high else f"{plain(low)} to {plain(high)}"


def _known(found: DesignResult, *, complete: bool) -> list[str]:
    said = []
    if found.lower_bound is not None and found.bound_for is not None and found.gap is not None:
        none = Designs(found.bound_for).none
        share_of = f", {100 * found.gap / found.value:.2g} % of it" if found.value > 0 else ""
        said.append(
            f"Proved: {none} has less than {rounded_down(found.lower_bound)} (gap {found.gap:.2g}{share_of}). "
            f"{_upper(found.method)}."
        )
    else:
        said.append("Nothing is proved of other designs: a better one may exist.")
    if not found.settled:
        said.append(
            "Not settled: the effort ([design] effort) was spent before the gap was reached; this is the best found."
        )
    if found.baseline is not None and found.baseline.published_design:
        now = found.baseline.published_design
        before = [
            f"{key} {rounded_up(now[key]) if key == 'epsilon' else plain(now[key])}"
            for key in ("epsilon", "error")
            if key in now
        ]
        said.append(f"As the file describes the system: {', '.join(before)}.")
    if complete:
        accuracy = "" if found.accuracy is None else f"; accuracy at least {share(found.accuracy)}"
        said.append(f"Energy of a round, {plain(found.energy)}, is that of {found.energy_of}{accuracy}.")
        said += [f"Price: {price}" for price in found.prices or ()]
        said.append(f"{found.boxes} boxes, {found.seconds:.3g} s")
    return said


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def federated_design(path: str, name: str, found: FederatedDesignResult, *, complete: bool = False) -> None:
    """Print a design of CorBin-FL."""
    console = screen()
    nothing = found.baseline["constant_output"]["error"]
    headline(
        console,
        name,
        [
            f"LEAST {found.minimised.upper()} {plain(found.value)}; {of_use(found.error, nothing)}.",
            f"Epsilon {rounded_up(found.epsilon)} for one parameter and one uplink, against a server that sees that uplink.",
        ],
    )
    table = Sheet(("", "design", "constant mean"))
    for key, value in found.variables.items():
        table.add_row(key.replace("_", " "), plain(float(value)), "")
    table.add_row("epsilon of a parameter and uplink", rounded_up(found.epsilon), "0")
    table.add_row("worst error, proven", rounded_up(found.error), plain(nothing))
    table.add_row("bits of a client and round", f"{found.bits:,}", "0")
    console.print(table)
    said = [f"{_upper(found.method)}: no design has less than {rounded_down(found.lower_bound)} (gap {found.gap:.2g})."]
    notes(console, [*said, *([f"{found.seconds:.3g} s"] if complete else [])])
    next_step(console, (f"airtight train {path} --part federated", "test accuracy with these values in the file"))


def fleet_design(
    path: str, name: str, found: FleetDesignResult, labels: Sequence[str] = (), *, complete: bool = False
) -> None:
    """Print a design of a utility-fair fleet."""
    console, before = screen(), found.baseline["greatest_power"]
    sought = f"LEAST {found.minimised.upper()}" if found.minimised else f"GREATEST {str(found.maximised).upper()}"
    energy, utility = float(np.sum(found.energy)), float(np.sum(found.utility))
    heard = "its own copy" if found.hears == "own" else "all copies"
    headline(
        console,
        name,
        [
            f"{sought} {plain(found.value)} (at greatest power: energy {plain(before['energy'])} J, "
            f"utility {plain(before['utility'])}).",
            f"Epsilon {rounded_up(found.epsilon)} after {found.rounds:,} rounds, delta {plain(found.delta)}, against a device "
            f"that receives {heard}, whatever the deviations.",
        ],
    )
    columns = {
        "iterations": found.variables["iterations"],
        "power (W)": found.variables["power"],
        "energy (J)": found.energy,
        "utility": found.utility,
        "noise heard": found.noise_heard,
        "epsilon of its copy": found.own_epsilon,
    }
    table = Sheet(("devices", *columns))
    for label, values in device_rows(columns, by=-found.utility, labels=labels, complete=complete):
        table.add_row(label, *map(plain, values[:-1]), rounded_up(values[-1]))
    console.print(table)
    bound = found.lower_bound if found.upper_bound is None else found.upper_bound
    known = [] if bound is None else [_bounded(found, bound)]
    noise = plain(float(found.variables["noise"]))
    notes(
        console,
        [
            f"All devices, a round: energy {plain(energy)} J, utility {plain(utility)}.",
            f"Noise of the global model: {noise} times the sensitivity.",
            *known,
        ],
    )
    next_step(console, (f"airtight design {path} --out plan.csv", "the plan, a device a row"))


def _bounded(found: FleetDesignResult, bound: float) -> str:
    side, safe = ("more", rounded_up) if found.maximised else ("less", rounded_down)
    return f"Proved: no design has {side} than {safe(bound)} (gap {found.gap:.2g}). {_upper(found.method)}."


def frontier(path: str, name: str, found: FrontierResult, over: Sequence[str]) -> None:
    """Print one design for every combination of constraints."""
    console = screen()
    sought = f"{'greatest' if found.sought == 'utility' else 'least'} {found.sought}"
    kept = [one["value"] for one in found.points if one["value"] is not None]
    span = f"; {sought} {plain(min(kept))} to {plain(max(kept))}" if kept else ""
    headline(console, name, [f"{len(kept)} of {len(found.points)} combinations of limits can be kept{span}."])
    columns = [key for key in found.points[0] if any(one[key] is not None for one in found.points)]
    shown = [key for key in columns if key != found.sought]  # its column is called value
    table = Sheet([{"value": sought}.get(key, key.replace("_", " ")) for key in shown], left=())
    for one in found.points:
        table.add_row(*("" if (value := one[key]) is None else plain(value) for key in shown))
    console.print(table)
    said = [f"Bounds are for {found.bound_for}."]
    if len(kept) < len(found.points):
        said.append("A row with an infinite bound is impossible (proved); an empty row without it was not found.")
    notes(console, said)
    axes = " ".join(f"--frontier {one}" for one in over)
    next_step(console, (f"airtight design {path} {axes} --plot frontier.svg", "drawn"))
