"""Tables of results: the rows that pages and screens share, and every number that ``bounds --all`` prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Observer
from airtight.console import Sheet, device_rows, groups, notes, screen
from airtight.results.numerals import number, plain, rounded_down, rounded_up, share

if TYPE_CHECKING:  # what is printed has been made before: a table of energies needs no module of privacy
    from airtight.analytics.forms.quantity import Quantity
    from airtight.analytics.privacy.over_the_air.meter import Meter
    from airtight.results.bounds import PackageBounds, Part
    from airtight.results.closed_forms import ClosedForms
    from airtight.results.energy import DeviceBounds
    from airtight.results.federated_results import FederatedBounds
    from airtight.results.inference_results import (
        Accuracy,
        ChannelBounds,
        Distortion,
        InferenceBounds,
        Privacy,
        Selection,
    )


def privacy_rows(privacy: Privacy, labels: Sequence[str] = ()) -> list[tuple[str, tuple[float, ...]]]:
    """Epsilon by Theorem 1 with either t, proven and exact, one row for each run of equal devices."""
    columns = (
        privacy.published.theorem1.epsilon,
        privacy.published.eq23.epsilon,
        privacy.proven.epsilon,
        privacy.exact.epsilon,
    )
    return groups(list(zip(*columns, strict=True)), labels)


def observer_rows(privacy: Privacy, labels: Sequence[str] = ()) -> list[tuple[str, tuple[float, ...]]]:
    """Epsilon for the observers participants, others and signal (both ends), one row for each run of equal devices."""
    by_observer = privacy.observers
    columns = (by_observer.participants, by_observer.others, by_observer.signal.lower, by_observer.signal.epsilon)
    return groups(list(zip(*columns, strict=True)), labels)


def meter_rows(meter: Meter) -> dict[str, Any]:
    """The summary of a meter, with a row for each group of equal devices: budget, spent, and the spent share."""
    summary = meter.summary()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(summary["spent"] > 0, summary["spent"] / summary["budget"], 0.0)
    rows = groups(list(zip(summary["budget_epsilon"], summary["spent_epsilon"], share, strict=True)))
    return {**summary, "adaptive": meter.adaptive, "rows": rows}


def observer_columns(part: ChannelBounds) -> dict[str, FloatArray]:
    """Epsilon of one round over a channel by observer, and for the law of the fading."""
    listener, fading = part.eavesdropper, part.fading
    return {
        "participants": part.epsilon.participants,
        "others": part.epsilon.others,
        **({"eavesdropper": listener.epsilon} if listener is not None else {}),
        **({f"{fading.confidence:.0%} sure": fading.epsilon} if fading is not None else {}),
    }


def quantile_columns(part: ChannelBounds) -> dict[str, FloatArray]:
    """Quantiles over the states of epsilon given the state."""
    return {f"{float(level):.0%} of states": value for level, value in part.epsilon_quantiles.items()}


def details(console: Console, name: str, part: Part, labels: Sequence[str] = ()) -> None:
    """Print every number of a part of ``bounds``."""
    from airtight.results.bounds import PackageBounds
    from airtight.results.federated_results import FederatedBounds
    from airtight.results.inference_results import InferenceBounds

    match part:
        case InferenceBounds():
            _inference(console, name, part, labels)
            if part.channel is not None:
                _channel(console, part.channel, labels)
            if part.selection is not None:
                _selection(console, part.selection, labels)
        case FederatedBounds():
            federated(console, name, part)
        case PackageBounds():
            of_package(console, name, part)
        case _:
            fleet(console, name, part, labels, complete=True)


def _listed(console: Console, title: str, headings: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> None:
    table = Sheet(headings, title)
    for label, cells in rows:
        table.add_row(label, *cells)
    console.print(table)


def _channel(console: Console, part: ChannelBounds, labels: Sequence[str]) -> None:
    """Print who sends, and epsilon of one round: the guarantee, and how it varies over the states."""
    sends = {"sends with probability": part.participation}
    tables = {
        f"the channel: epsilon of one round over {part.states} states": {**sends, **observer_columns(part)},
        "the same state by state: quantiles, which are no guarantee": quantile_columns(part),
    }
    for title, columns in tables.items():
        shown = [plain if heading in sends else rounded_up for heading in columns]
        rows = groups(list(zip(*columns.values(), strict=True)), labels)
        _listed(
            console,
            title,
            ("devices", *columns),
            ((label, [show(x) for show, x in zip(shown, values, strict=True)]) for label, values in rows),
        )
    sentences = []
    if part.fading is not None:
        sentences.append(
            f"{part.fading.confidence:.0%} sure: an upper bound for the fading itself, not only for the {part.states} drawn "
            f"channels, against {part.fading.observer}; infinite where too few are drawn"
        )
    if part.antennas_alike:
        sentences.append("no fading: all antennas receive a device alike; where they do not, epsilon is greater")
    if part.decoder is not None:
        sentences.append(
            f"best combination of the antenna signals: error {plain(part.decoder.mse)} (constant "
            f"{plain(part.decoder.constant_output)}), accuracy at least {share(part.decoder.accuracy)}"
        )
    notes(console, sentences)


def _inference(console: Console, name: str, part: InferenceBounds, labels: Sequence[str]) -> None:
    """Print the privacy of one system and, where it has features, its MSE and accuracy."""
    privacy = part.privacy

    def upper(rows: Iterable[tuple[str, tuple[float, ...]]]) -> list[tuple[str, list[str]]]:
        return [(label, [rounded_up(value) for value in values]) for label, values in rows]

    _listed(
        console,
        f"{name}: epsilon of one round at delta {plain(privacy.exact.delta)}, adjacency {privacy.adjacency}",
        ("devices", "published (Theorem 1)", "published (Eq. 23)", "proven", "exact"),
        upper(privacy_rows(privacy, labels)),
    )
    request_note = "" if privacy.observer is Observer.AUTO else f" (asked for: {privacy.observer})"
    _listed(
        console,
        f"the same by what the server sees{request_note}",
        ("devices", "participants", "others", "signal, at least", "signal, at most"),
        [
            (label, [rounded_up(a), rounded_up(b), rounded_down(low), rounded_up(high)])
            for label, (a, b, low, high) in observer_rows(privacy, labels)
        ],
    )
    if privacy.composed is not None:
        composed = privacy.composed
        estimate_note = ", estimated" if composed.estimated else ""
        _listed(
            console,
            f"{composed.rounds:,} rounds, seen by {composed.observer}{estimate_note}",
            ("devices", "epsilon, at least", "epsilon, at most"),
            [
                (label, [rounded_down(low), rounded_up(high)])
                for label, (low, high) in groups(list(zip(composed.lower, composed.epsilon, strict=True)), labels)
            ],
        )
    sentences = []
    for label, claim in (("Theorem 1", privacy.published.theorem1), ("Eq. (23)", privacy.published.eq23)):
        verdict = "vacuous" if claim.vacuous else f"claims delta at most {rounded_up(max(claim.delta))}"
        sentences.append(f"{label}: t = {plain(claim.t)}, mean noise {plain(claim.mean_noise)}: {verdict}")
    notes(console, sentences)
    if part.distortion is not None and part.accuracy is not None:
        _task(console, part.distortion, part.accuracy)


def fleet(
    console: Console, name: str, rows: Sequence[DeviceBounds], labels: Sequence[str] = (), *, complete: bool = False
) -> None:
    """Print what the devices of a fleet can reach."""
    headings = ("gain (1/W)", "least power (W)", "most iterations", "least deadline (s)", "feasible")
    of = ("gain", "min_power", "max_iterations", "least_deadline", "feasible")
    columns = {heading: np.array([getattr(row, key) for row in rows]) for heading, key in zip(headings, of, strict=True)}
    shown = device_rows(columns, by=columns["least deadline (s)"], labels=labels, complete=complete)
    _listed(
        console,
        f"{name}: limits of the devices",
        ("devices", *headings),
        [(label, [*map(plain, values[:-1]), "yes" if values[-1] else "NO"]) for label, values in shown],
    )


def closed_forms(name: str, computed: ClosedForms) -> None:
    """Print the closed forms of each table of a file; of devices with values of their own the least and the greatest."""
    text = ("quantity", "face", "source", "unit", "meaning")
    for part, values in vars(computed).items():
        if values is None:
            continue
        table = Sheet(("quantity", "face", "source", "value", "unit", "meaning"), f"{name}: {part}", text)
        for key, form in values.items():
            ends = dict.fromkeys(number(end) for end in (np.min(form.value), np.max(form.value)))
            table.add_row(key, form.face.value, form.source, " to ".join(ends), form.unit, form.meaning)
        screen().print(table)


def registry(quantities: Iterable[Quantity]) -> None:
    """Print every quantity with its arguments."""
    headings = ("quantity", "face", "source", "unit", "of", "arguments")
    table = Sheet(headings, left=headings)
    for each in quantities:
        system = each.system.__name__ if each.system else ""
        table.add_row(each.name, each.face.value, each.source, each.unit, system, ", ".join(each.arguments))
    screen().print(table)


Cell = float | str
TrainingPart = tuple[str, tuple[str, ...], list[tuple[str, tuple[Cell, ...]]], str]


def training_rows(tree: dict[str, Any]) -> list[TrainingPart]:
    """Title, headings, rows and a remark for each trained part."""
    kinds = {"federated": _mechanisms, "inference": _schemes, "energy": _policies}
    return [_known(*rows(tree[part])) for part, rows in kinds.items() if part in tree]


def _known(title: str, headings: tuple[str, ...], rows: list[tuple[str, tuple[Cell, ...]]], foot: str) -> TrainingPart:
    """A trained part without the columns that hold only nan or no text."""
    kept = [j for j in range(len(headings) - 1) if not all(v[j] == "" or v[j] != v[j] for _, v in rows)]
    columns = (headings[0], *(headings[j + 1] for j in kept))
    return title, columns, [(label, tuple(values[j] for j in kept)) for label, values in rows], foot


def _mechanisms(part: dict[str, Any]) -> TrainingPart:
    headings = (
        "mechanism",
        "test accuracy",
        "difference",
        "squared error, last round",
        "exact",
        "epsilon spent, one parameter",
    )
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for kind, one in part["mechanisms"].items():
        last = one["rounds"][-1]
        values = *_over_seeds(one, "test_accuracy"), last["error"], last["exact_error"]
        rows.append((kind, (*values, one["epsilon_spent_one_parameter"])))
    foot = (
        f"{part['parameters']} parameters, {part['clients']} clients; test accuracy at the best validation accuracy; "
        + _seeds(part["mechanisms"], "errors of the first")
    )
    return "federated learning", headings, rows, foot


def _over_seeds(row: dict[str, Any], name: str) -> tuple[str, str]:
    """Mean and paired difference with their intervals; empty for a single seed and for the base of the differences."""
    over_seeds = row["over_seeds"][name]
    if not math.isfinite(over_seeds["interval"][0]):
        return f"{over_seeds['mean']:.3f}", ""
    low, high = over_seeds["interval"]
    mean = f"{over_seeds['mean']:.3f} [{low:.3f}, {high:.3f}]"
    if not any(over_seeds["difference_interval"]):
        return mean, ""
    low, high = over_seeds["difference_interval"]
    return mean, f"{over_seeds['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"


def _seeds(rows: dict[str, Any], rest: str, kind: str = "") -> str:
    """The remark that explains the columns over seeds."""
    statistics = next(iter(rows.values()))["over_seeds"]
    if len(statistics["seeds"]) == 1:
        return f"one seed ({statistics['seeds'][0]}), no intervals"
    return f"{len(statistics['seeds'])} paired seeds, differences from {kind}{statistics['base']}, intervals of 95 % each; {rest}"


def _schemes(part: dict[str, Any]) -> TrainingPart:
    headings = ("scheme", "accuracy", "difference", "MSE", "exact MSE", "take part")
    rows: list[tuple[str, tuple[Cell, ...]]] = [
        (
            f"Scheme {kind}",
            (*_over_seeds(one, "accuracy"), one["over_seeds"]["mse"]["mean"], one["exact_mse"], one["participation"]),
        )
        for kind, one in part["schemes"].items()
    ]
    foot = (
        f"{part['devices']} views of each sample, {_looks(part)}code of {part['dimension']} dimensions, {part['codec']} codec; "
        f"accuracy without channel {part['ideal_accuracy']:.3f}; "
        + _seeds(part["schemes"], "exact MSE and participation of the first", "Scheme ")
    )
    return "collaborative inference", headings, rows, foot


def _looks(part: dict[str, Any]) -> str:
    """How many looks the server combines, where there is a channel."""
    return f"{part['looks']} looks combined with the least MSE, " if "looks" in part else ""


def _policies(part: dict[str, Any]) -> TrainingPart:
    headings = ("scheme", "test accuracy", "loss", "difference", "std over devices", "energy (mJ)", "std over devices")
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for kind, one in part.items():
        measured = one["over_seeds"]
        accuracy, spread = measured["test_accuracy"]["mean"], measured["loss_std"]["mean"]
        energies = 1e3 * measured["energy_mean"]["mean"], 1e3 * measured["energy_std"]["mean"]
        rows.append((kind, (accuracy, *_over_seeds(one, "loss_mean"), spread, *energies, one["iterations_mean"])))
    foot = "energies of a round, averaged over rounds; " + _seeds(part, "iterations of the first")
    return "utility-fair learning", (*headings, "iterations"), rows, foot


def of_package(console: Console, name: str, part: PackageBounds) -> None:
    """Print what an installed package computes from its own table."""
    table = Sheet(("", "value"), f"{name}: {part.table}")
    for label, value in part.values.items():
        table.add_row(label, ", ".join(plain(x) for x in np.ravel(value)))
    console.print(table)


def federated(console: Console, name: str, part: FederatedBounds) -> None:
    """Print the errors, the privacy against each observer and the bits of CorBin-FL."""
    mse, central, server, bits = part.mse, part.central, part.server, part.communication
    table = Sheet(
        ("", "published", "exact, any number of bits", "at most, these bits"),
        f"{name}: worst mean squared error of a parameter",
    )
    table.add_row("LDP-FL", "", plain(mse.ldp), "")
    for label, values in (
        ("CorBin-FL", (mse.corbin_published, mse.corbin_worst, mse.corbin_worst_finite_bits)),
        ("AugCorBin-FL", (mse.augmented_published, mse.augmented_worst, mse.augmented_worst_finite_bits)),
    ):
        table.add_row(label, *map(plain, values))
    table.add_row(f"dropout {plain(part.dropout.probability)}", "", plain(part.dropout.worst_mse), "")
    console.print(table)
    several, left = central.rounds > 1, part.dropout
    headings = ("against", "one parameter", "whole update", *([f"{central.rounds} rounds"] if several else []))
    caption = f"epsilon at delta {plain(central.delta)}, adjacency {central.adjacency}"
    if central.colluding:
        caption += f", any {central.colluding} of the other clients help (but in what is published)"
    table = Sheet(headings, caption, left=("against",))

    def row(label: str, *values: float | None) -> None:
        cells = [*values, None, None][: len(headings) - 1]
        table.add_row(label, *("" if value is None else rounded_up(value) for value in cells))

    row("the mean, published (5)", None, central.published_epsilon)
    row("the mean, proven closed form", None, central.proven_epsilon_update)
    for kind, epsilon in central.clients.items():
        exact = "at most" if kind == "exposed" else "exact"
        row(f"the mean, {exact}, {kind} client", epsilon.one_parameter, epsilon.update, epsilon.all_rounds)
    if left.probability > 0:
        row(
            f"the survivors' mean, proven, dropout {plain(left.probability)}",
            left.central_epsilon_one_parameter,
            left.central_epsilon_update,
            left.central_epsilon_all_rounds,
        )
    row("one uplink", server.local_epsilon, central.local_epsilon_update, central.local_epsilon_all_rounds)
    row("the server", server.epsilon_one_parameter)
    console.print(table)
    seen = (
        "the server, who sees both outputs of a pair: no finite epsilon has a delta below "
        f"{rounded_down(server.delta_one_parameter)}"
    )
    sentences = [
        *([seen] if math.isinf(server.epsilon_one_parameter) else []),
        f"removing a client is always seen: delta = {plain(central.removal_delta)}",
        f"bits of a client and round: {bits.published.total:,} as printed, {bits.seeded.total:,} with the key as seed",
    ]
    notes(console, sentences)


def _task(console: Console, mse: Distortion, accuracy: Accuracy) -> None:
    """Print MSE and accuracy of one system, one line each."""
    table = Sheet(("", "published", "proven", "exact", "constant"))
    nothing, chance = mse.constant_output, accuracy.constant_output
    table.add_row("mean squared error", *map(plain, (mse.published, mse.proven, mse.exact, nothing)))
    table.add_row("accuracy, at least", *map(share, (accuracy.published, accuracy.markov, accuracy.exact, chance)))
    console.print(table)
    causes = ", ".join(f"{name.replace('_', ' ')} {plain(value)}" for name, value in asdict(mse.breakdown).items())
    sentences = [
        f"best decoder gain {plain(mse.best_gain)}: error {plain(mse.at_best_gain)}; any decoder, if the target were normal: "
        f"at least {rounded_down(mse.any_decoder)}",
        f"exact error by cause: {causes}",
        f"accuracy by the formula of the short paper: {share(accuracy.short_paper)}",
    ]
    notes(console, sentences)


def selection_rows(selection: Selection, labels: Sequence[str] = ()) -> list[tuple[str, tuple[float, ...]]]:
    """Participation by Scheme 2.1, then published, proven and exact by Scheme 2.2, one row for each run of equal devices."""
    local, lowest = selection.scheme_2_1, selection.scheme_2_2
    columns = (
        local.participation,
        np.full(lowest.exact.shape, lowest.published_lower),
        lowest.published_upper,
        lowest.proven_lower,
        lowest.proven_upper,
        lowest.exact,
    )
    return groups(list(zip(*columns, strict=True)), labels)


def _selection(console: Console, selection: Selection, labels: Sequence[str]) -> None:
    headings = ("devices", "scheme 2.1", "2.2, at least (20)", "at most (21)", "proven, at least", "proven, at most", "exact")
    rows = selection_rows(selection, labels)
    _listed(
        console,
        "participation probabilities",
        headings,
        [(label, [f"{value:.4g}" for value in values]) for label, values in rows],
    )
