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
from airtight.solvers.design.calibrate import Variable
from airtight.solvers.design.known import Designs, Method
from airtight.solvers.design.over_the_air.joint_design import WORST_CODES
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



def calibration(
    path: str,
    name: str,
    result: CalibrationResult,
    before: InferenceSystem,
    labels: Sequence[str] = (),
    *,
    complete: bool = False,
) -> None:
    """Print the calibrated quantity beside what the file has, and what is proved of values beyond it."""
    console, key = screen(), Variable(result.variable).key
    sought = key.replace("_", " ")
    headline(console, name, result.headline)
    columns = {
        f"{sought} now": np.broadcast_to(getattr(before, key), result.value.shape),
        f"{sought} needed": result.value,
        "epsilon then": result.epsilon,
    }
    partners = before.partners
    table = Sheet(("devices", *columns))
    safe = rounded_up if result.variable == "noise" else rounded_down
    senders = np.delete(np.arange(before.devices), [*result.never_send, *np.flatnonzero(partners)]).tolist()
    by = np.where(partners, -1.0, result.epsilon)
    rows = device_rows({**columns, "helps": partners.astype(float)}, by=by, labels=labels, complete=complete, among=senders)
    for label, (now, needed, epsilon, helps) in rows:
        table.add_row(label, plain(now), safe(needed), "helps the server" if helps else rounded_up(epsilon))
    console.print(table)
    notes(console, [*_proved(result, complete=complete), *_one_more(result, before)])
    steps = [(f"airtight calibrate {path} --epsilon {result.target:g} --json", "all digits, for the file")]
    if "USELESS" in result.headline[0]:
        if result.variable == "noise" and before.channel is None:
            steps = [(f"airtight calibrate {path} --epsilon {result.target:g} --variable clip", "another lever")]
        if before.adjacency is Adjacency.ABSENT and not before.idle_noise:
            steps.append(("idle_noise = true in [inference]", "silent devices keep their noise"))
    next_step(console, *steps)


def _one_more(result: CalibrationResult, before: InferenceSystem) -> list[str]:
    """What noise is needed if one more device helps the server, where epsilon is quick to compute."""
    from airtight.analytics.privacy.over_the_air import observers
    from airtight.solvers.design import whole_system
    from airtight.solvers.errors import InfeasibleError

    m, observer = before.colluding, observers.resolved(before, before.observer)
    quick = before.channel is None and before.rounds == 1 and observer.sees_device and result.variable == "noise"
    if not (quick and isinstance(m, int) and 0 < m < before.devices - 1):
        return []
    try:
        needed = whole_system.calibrate(before.replace(colluding=m + 1), result.target).value
    except InfeasibleError:
        return ["If one more device helps the server, no noise was found that keeps the target."]
    return [f"If one more device helps the server, a noise variance of {rounded_up(float(np.max(needed)))} is needed."]


def _proved(result: CalibrationResult, *, complete: bool) -> list[str]:
    """What is known of values beyond the answer, where epsilon is not monotone in them."""
    if result.settled and (result.monotone or result.variable == "clip"):
        return []
    from airtight.results.design import BEYOND

    beyond = BEYOND[result.variable]
    if result.variable == "noise" and not np.any(result.value):
        return ["No noise of the devices is needed."]
    if not result.unsettled:
        return [f"Proved: no {beyond} keeps the target."]
    low, high = result.unsettled[0][0], result.unsettled[-1][1]
    undecided = f"Undecided: {beyond} between {rounded_down(low)} and {rounded_up(high)} may keep the target too."
    if not result.settled or (low == 0 and len(result.unsettled) == 1):  # as over a channel: nothing below is known
        return [undecided]
    shown = [f"undecided: {rounded_down(a, 9)} to {rounded_up(b, 9)}" for a, b in result.unsettled] if complete else []
    return [f"{undecided} Outside this range none does (proved).", *shown]


def design(
    path: str,
    name: str,
    result: DesignResult,
    before: InferenceSystem,
    wanted: InferenceRequirements,
    labels: Sequence[str] = (),
    *,
    complete: bool = False,
) -> None:
    """Print a joint design: its limits and their prices, the free parameters, and what is proved of other designs."""
    console = screen()
    headline(console, name, result.headline)
    console.print(_limits(result, wanted))
    for table in _parameters(result, before, labels, complete=complete):
        console.print(table)
    notes(console, _known(result, complete=complete))
    if wanted.epsilon_at_most is not None and before.channel is None:
        limit = wanted.epsilon_at_most
        key = f"--frontier epsilon_at_most={limit / 4:g}:{limit * 4:g}:5:log"
        next_step(console, (f"airtight design {path} {key}", ""))
    else:
        next_step(console, (f"airtight design {path} --plan designed.csv", "a device a row, for --devices"))


def _limits(result: DesignResult, wanted: InferenceRequirements) -> Sheet:
    """The limits beside what the design reaches; the price is what one unit more changes."""
    prices = {price.by: price for price in result.prices or ()}
    worst_codes = ", worst codes" if result.error_of == WORST_CODES else ""
    reached: dict[str, tuple[str, str, str]] = {
        "epsilon_at_most": ("epsilon", "epsilon of each device", rounded_up(float(np.max(result.epsilon)))),
        "error_at_most": ("error", f"mean squared error{worst_codes}", "" if result.error is None else plain(result.error)),
        "accuracy_at_least": (
            "accuracy",
            "accuracy, at least",
            "" if result.accuracy is None else share(result.accuracy),
        ),
        "energy_at_most": ("energy", "energy of all devices, 1 round", plain(result.energy)),
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


def _parameters(result: DesignResult, before: InferenceSystem, labels: Sequence[str], *, complete: bool) -> list[Sheet]:
    """The free parameters before and after; those of unlike devices as a range, or in rows of their own."""
    table = Sheet(("free parameter", "now", "best"), left=("free parameter",))
    unlike: dict[str, Any] = {}
    for key, value in result.variables.items():
        table.add_row(key.replace("_", " "), _shown(getattr(before, key)), _shown(value))
        if np.size(value) > 1 and np.ptp(value):
            unlike[key.replace("_", " ")] = np.asarray(value)
    if not (complete and unlike):
        return [table]
    each = Sheet(("devices", *unlike, "epsilon"))
    columns = {**unlike, "epsilon": result.epsilon}
    for label, values in device_rows(columns, by=result.epsilon, labels=labels, complete=True):
        each.add_row(label, *map(plain, values[:-1]), rounded_up(values[-1]))
    return [table, each]


def _shown(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    low, high = float(np.min(value)), float(np.max(value))
    return plain(low) if low == high else f"{plain(low)} to {plain(high)}"


def _known(result: DesignResult, *, complete: bool) -> list[str]:
    sentences = []
    if result.lower_bound is not None and result.bound_for is not None and result.gap is not None:
        none = Designs(result.bound_for).none
        share_of = f", {100 * result.gap / result.value:.2g} % of it" if result.value > 0 else ""
        sentences.append(
            f"Proved: {none} has less than {rounded_down(result.lower_bound)} (gap {rounded_up(result.gap, 2)}{share_of}). "
            f"{_upper(result.method)}{', over ' + domain if (domain := Method(result.method).domain) else ''}."
        )
    else:
        sentences.append("Nothing is proved of other designs: a better one may exist.")
    if result.any_scheme is not None and result.any_scheme.error > 0:
        sentences.append(result.any_scheme.sentence)
    if not result.settled:
        sentences.append(
            "Not settled: the search ended, by its effort or by Ctrl-C, before the gap was reached; this is the best found."
        )
    if result.baseline is not None and result.baseline.published_design:
        now = result.baseline.published_design
        before = [
            f"{key} {rounded_up(now[key]) if key == 'epsilon' else plain(now[key])}"
            for key in ("epsilon", "error")
            if key in now
        ]
        sentences.append(f"As the file describes the system: {', '.join(before)}.")
    if complete:
        accuracy = "" if result.accuracy is None else f"; accuracy at least {share(result.accuracy)}"
        sentences.append(f"Energy of a round, {plain(result.energy)}, is that of {result.energy_of}{accuracy}.")
        sentences += [f"Price: {price}" for price in result.prices or ()]
        sentences.append(f"{result.boxes} boxes, {result.seconds:.3g} s")
    return sentences


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def federated_design(path: str, name: str, result: FederatedDesignResult, *, complete: bool = False) -> None:
    """Print a design of CorBin-FL."""
    console = screen()
    nothing = result.baseline["constant_output"]["error"]
    headline(
        console,
        name,
        [
            f"LEAST {result.minimised.upper()} {plain(result.value)}; {of_use(result.error, nothing)}.",
            f"Epsilon {rounded_up(result.epsilon)} for one parameter and one uplink, against a server that sees that uplink.",
        ],
    )
    table = Sheet(("", "design", "constant mean"))
    for key, value in result.variables.items():
        table.add_row(key.replace("_", " "), plain(float(value)), "")
    table.add_row("epsilon of a parameter and uplink", rounded_up(result.epsilon), "0")
    table.add_row("worst error, proven", rounded_up(result.error), plain(nothing))
    table.add_row("bits of a client and round", f"{result.bits:,}", "0")
    console.print(table)
    gap = rounded_up(result.gap, 2)
    sentences = [f"{_upper(result.method)}: no design has less than {rounded_down(result.lower_bound)} (gap {gap})."]
    notes(console, [*sentences, *([f"{result.seconds:.3g} s"] if complete else [])])
    next_step(console, (f"airtight train {path} --part federated", "test accuracy with these values in the file"))


def fleet_design(
    path: str, name: str, result: FleetDesignResult, labels: Sequence[str] = (), *, complete: bool = False
) -> None:
    """Print a design of a utility-fair fleet."""
    console, before = screen(), result.baseline["greatest_power"]
    sought = f"LEAST {result.minimised.upper()}" if result.minimised else f"GREATEST {str(result.maximised).upper()}"
    energy, utility = float(np.sum(result.energy)), float(np.sum(result.utility))
    heard = "its own copy" if result.hears == "own" else "all copies"
    headline(
        console,
        name,
        [
            f"{sought} {plain(result.value)} (at greatest power: energy {plain(before['energy'])} J, "
            f"utility {plain(before['utility'])}).",
            f"Epsilon {rounded_up(result.epsilon)} after {result.rounds:,} rounds, delta {plain(result.delta)}, against a device "
            f"that receives {heard}, whatever the deviations.",
        ],
    )
    columns = {
        "iterations": result.variables["iterations"],
        "power (W)": result.variables["power"],
        "energy (J)": result.energy,
        "utility": result.utility,
        "noise heard": result.noise_heard,
        "epsilon of its copy": result.own_epsilon,
    }
    table = Sheet(("devices", *columns))
    for label, values in device_rows(columns, by=-result.utility, labels=labels, complete=complete):
        table.add_row(label, *map(plain, values[:-1]), rounded_up(values[-1]))
    console.print(table)
    bound = result.lower_bound if result.upper_bound is None else result.upper_bound
    known = [] if bound is None else [_bounded(result, bound)]
    noise = plain(float(result.variables["noise"]))
    notes(
        console,
        [
            f"All devices, a round: energy {plain(energy)} J, utility {plain(utility)}.",
            f"Noise of the global model: {noise} times the sensitivity.",
            *known,
        ],
    )
    next_step(console, (f"airtight design {path} --plan plan.csv", "the plan, a device a row"))


def _bounded(result: FleetDesignResult, bound: float) -> str:
    side, safe = ("more", rounded_up) if result.maximised else ("less", rounded_down)
    return f"Proved: no design has {side} than {safe(bound)} (gap {rounded_up(result.gap, 2)}). {_upper(result.method)}."


def frontier(path: str, name: str, result: FrontierResult, over: Sequence[str]) -> None:
    """Print one design for every combination of constraints."""
    console = screen()
    sought = f"{'greatest' if result.sought == 'utility' else 'least'} {result.sought}"
    kept = [point["value"] for point in result.points if point["value"] is not None]
    span = f"; {sought} {plain(min(kept))} to {plain(max(kept))}" if kept else ""
    headline(console, name, [f"{len(kept)} of {len(result.points)} combinations of limits can be kept{span}."])
    columns = [key for key in result.points[0] if any(point.get(key) is not None for point in result.points)]
    filled = [key for key in columns if key != result.sought]  # its column is called value
    table = Sheet([{"value": sought}.get(key, key.replace("_", " ")) for key in filled], left=())
    shown_as = {"any_scheme": rounded_down}
    for point in result.points:
        table.add_row(*("" if (value := point.get(key)) is None else shown_as.get(key, plain)(value) for key in filled))
    console.print(table)
    proved = any(point["bound"] is not None for point in result.points)
    unproved = "Nothing is proved of other designs: there may be better ones."
    sentences = [f"Bounds are for {result.bound_for}." if proved else unproved]
    if any(point.get("any_scheme") for point in result.points):
        sentences.append(f"No scheme, whatever its code and decoder, is below the {result.sought} of the column any scheme.")
    if len(kept) < len(result.points):
        sentences.append("A row with an infinite bound is impossible (proved); an empty row without it was not found.")
    notes(console, sentences)
    axes = " ".join(f"--frontier {point}" for point in over)
    next_step(console, (f"airtight design {path} {axes} --plot frontier.svg", "drawn"))
