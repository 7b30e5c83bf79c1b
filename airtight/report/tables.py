"""Prints results, attacks and designs as tables on stdout."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Observer
from airtight.solvers.design.known import Designs

if TYPE_CHECKING:  # what is printed has been made before: a table of energies needs no module of privacy
    from airtight.analytics.forms.quantity import Quantity
    from airtight.analytics.privacy.over_the_air.meter import Meter
    from airtight.results.bounds import PackageBounds, Part
    from airtight.results.closed_forms import ClosedForms
    from airtight.results.design import (
        CalibrationResult,
        DesignResult,
        FederatedDesignResult,
        FleetDesignResult,
        FrontierResult,
    )
    from airtight.results.energy import DeviceBounds, EnergyResult
    from airtight.results.federated_results import FederatedBounds
    from airtight.results.inference_results import (
        Accuracy,
        ChannelBounds,
        Distortion,
        InferenceBounds,
        Privacy,
        Selection,
    )
    from airtight.results.quantizer import PairResult, QuantizerResult
    from airtight.results.weights import WeightResult
    from airtight.solvers.price import ShadowPrice
    from airtight.validate.attack.attack_results import AttackResult, TrainingAttack

_MOST = 40  # devices that a table of energies shows at most
_FILE_WIDTH = 140  # columns when the output goes to a file


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the program by itself


def screen() -> Console:
    """A console as wide as the terminal or COLUMNS; wide enough for every table when the output goes to a file.

    What it prints is text: names come from files, and ``[low]`` or ``:x:`` in a name is no style and no picture.
    """
    console = _Screen(markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_WIDTH
    return console


def _table(title: str, headings: Iterable[str], left: Sequence[str] = ("", "devices")) -> Table:
    """A table whose numbers are aligned to the right, and the columns of the headings `left` to the left."""
    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    return table


def _headline(console: Console, name: str, sentences: Sequence[str]) -> None:
    """Print the sentences of a system, the first with its name."""
    for sentence in (f"{name}: {sentences[0]}", *sentences[1:]):
        console.print(sentence, highlight=False)


def number(value: float) -> str:
    """The number with six digits; infinity as its sign."""
    return "∞" if value == float("inf") else f"{value:.6g}"


def groups(rows: Sequence[tuple[float, ...]]) -> list[tuple[str, tuple[float, ...]]]:
    """Merge runs of equal rows, each with the devices that it stands for.

    Examples
    --------
    >>> groups([(1.0,), (1.0,), (2.0,)])
    [('0-1', (1.0,)), ('2', (2.0,))]
    """
    runs: list[tuple[int, int, tuple[float, ...]]] = []
    for k, row in enumerate(rows):
        if runs and runs[-1][2] == row:
            runs[-1] = (runs[-1][0], k, row)
        else:
            runs.append((k, k, row))
    return [(str(a) if a == b else f"{a}-{b}", row) for a, b, row in runs]


def privacy_rows(privacy: Privacy) -> list[tuple[str, tuple[float, ...]]]:
    """Epsilon by Theorem 1 with either t, proven and exact, one row for each run of equal devices."""
    columns = (
        privacy.published.theorem1.epsilon,
        privacy.published.eq23.epsilon,
        privacy.proven.epsilon,
        privacy.exact.epsilon,
    )
    return groups(list(zip(*columns, strict=True)))


def observer_rows(privacy: Privacy) -> list[tuple[str, tuple[float, ...]]]:
    """Epsilon for the observers participants, others and signal (both ends), one row for each run of equal devices."""
    seen = privacy.observers
    return groups(list(zip(seen.participants, seen.others, seen.signal.lower, seen.signal.epsilon, strict=True)))


def bounds(parts: Iterable[tuple[str, Part]]) -> None:
    """Print the bounds of every system of a file, each as soon as it is computed."""
    from airtight.results.bounds import PackageBounds
    from airtight.results.federated_results import FederatedBounds
    from airtight.results.inference_results import InferenceBounds

    console = screen()
    for name, part in parts:
        match part:
            case InferenceBounds():
                _headline(console, name, part.headline)
                _inference(console, name, part)
                if part.channel is not None:
                    _channel(console, part.channel)
                if part.selection is not None:
                    _selection(console, part.selection)
            case FederatedBounds():
                _federated(console, name, part)
            case PackageBounds():
                _of_package(console, name, part)
            case _:
                _devices(console, name, part)


def meter_rows(meter: Meter) -> dict[str, Any]:
    """The summary of a meter, with a row for each group of equal devices: budget, spent, and the spent share."""
    found = meter.summary()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(found["spent"] > 0, found["spent"] / found["budget"], 0.0)
    rows = groups(list(zip(found["budget_epsilon"], found["spent_epsilon"], share, strict=True)))
    return {**found, "adaptive": meter.adaptive, "rows": rows}


def metered(summary: Mapping[str, Any]) -> None:
    """Print what a meter says of every device."""
    console = screen()
    columns = {
        f"budget epsilon ({summary['budget_meaning']})": summary["budget_epsilon"],
        f"spent epsilon ({summary['spent_meaning']})": summary["spent_epsilon"],
        "amount spent": summary["spent"],
        "amount left": summary["left"],
    }
    table = _table(
        f"{summary['rounds']} rounds, delta = {number(summary['delta'])}; amounts are {summary['unit']}",
        ("devices", *columns),
    )
    for devices, values in groups(list(zip(*columns.values(), strict=True)))[:_MOST]:
        table.add_row(devices, *map(number, values))
    console.print(table)


def observer_columns(part: ChannelBounds) -> dict[str, FloatArray]:
    """Epsilon of one query over a channel by observer, and for the law of the fading."""
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


def _channel(console: Console, part: ChannelBounds) -> None:
    """Print who sends, and epsilon of one query: the guarantee, and how it varies over the states."""
    tables = {
        f"  the channel: epsilon of one query over {part.states} states": {
            "sends": part.participation,
            **observer_columns(part),
        },
        "  the same state by state: quantiles, which are no guarantee": quantile_columns(part),
    }
    for title, columns in tables.items():
        table = _table(title, ("devices", *columns))
        for devices, values in groups(list(zip(*columns.values(), strict=True))):
            table.add_row(devices, *map(number, values))
        console.print(table)
    if part.fading is not None:
        console.print(
            f"  {part.fading.confidence:.0%} sure: for the law that the states are drawn from, against {part.fading.observer}; "
            "infinite where too few are drawn",
            highlight=False,
        )
    if part.antennas_alike:
        console.print(
            "  no fading: all antennas receive a device alike; where they do not, epsilon is greater", highlight=False
        )
    if part.decoder is not None:
        console.print(
            f"  best combination of the looks: MSE {number(part.decoder.mse)} "
            f"(an output that ignores them: {number(part.decoder.constant_output)}), "
            f"accuracy at least {number(part.decoder.accuracy)}",
            highlight=False,
        )


def _inference(console: Console, name: str, part: InferenceBounds) -> None:
    """Print the privacy of one system and, where it has features, its MSE and accuracy."""
    privacy = part.privacy
    table = _table(
        f"{name}: epsilon at delta = {number(privacy.exact.delta)}, adjacency {privacy.adjacency}",
        ("devices", "published (Theorem 1)", "published (Eq. 23)", "proven", "exact"),
    )
    for devices, values in privacy_rows(privacy):
        table.add_row(devices, *map(number, values))
    console.print(table)
    asked = "" if privacy.observer is Observer.AUTO else f" (asked for: {privacy.observer})"
    table = _table(
        f"  the same by what the server sees{asked}", ("devices", "participants", "others", "signal: from", "to")
    )
    for devices, values in observer_rows(privacy):
        table.add_row(devices, *map(number, values))
    console.print(table)
    if privacy.composed is not None:
        many = privacy.composed
        how = ", estimated" if many.estimated else ""
        table = _table(f"  {many.rounds} rounds, seen by {many.observer}{how}", ("devices", "epsilon: from", "to"))
        for devices, values in groups(list(zip(many.lower, many.epsilon, strict=True))):
            table.add_row(devices, *map(number, values))
        console.print(table)
    for label, claim in (("Theorem 1", privacy.published.theorem1), ("Eq. (23)", privacy.published.eq23)):
        verdict = "vacuous" if claim.vacuous else f"claims delta = {number(max(claim.delta))} at most"
        console.print(
            f"  {label}: t = {number(claim.t)}, mean noise {number(claim.mean_noise)}: {verdict}", highlight=False
        )
    if part.distortion is not None and part.accuracy is not None:
        _task(console, part.distortion, part.accuracy)
    console.print()


def _devices(console: Console, name: str, rows: Sequence[DeviceBounds]) -> None:
    """Print what each device of a fleet can reach."""
    table = _table(
        f"{name}: devices",
        ("device", "gain (1/W)", "least power (W)", "most iterations", "least deadline (s)", "feasible"),
    )
    for k, row in enumerate(rows):
        numbers = map(number, (row.gain, row.min_power, row.max_iterations, row.least_deadline))
        table.add_row(str(k), *numbers, "yes" if row.feasible else "NO")
    console.print(table)


def closed_forms(name: str, computed: ClosedForms) -> None:
    """Print the closed forms of each table of a file; of devices with values of their own the least and the greatest."""
    for part, values in vars(computed).items():
        if values is None:
            continue
        table = Table(title=f"{name}: {part}", box=box.SIMPLE_HEAD, title_justify="left")
        for heading in ("quantity", "face", "source", "value", "unit", "meaning"):
            table.add_column(heading, justify="right" if heading == "value" else "left")
        for key, form in values.items():
            ends = dict.fromkeys(number(end) for end in (np.min(form.value), np.max(form.value)))
            table.add_row(key, form.face.value, form.source, " to ".join(ends), form.unit, form.meaning)
        screen().print(table)


def registry(quantities: Iterable[Quantity]) -> None:
    """Print every quantity with its arguments."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("quantity", "face", "source", "unit", "of", "arguments"):
        table.add_column(heading)
    for each in quantities:
        system = each.system.__name__ if each.system else ""
        table.add_row(each.name, each.face.value, each.source, each.unit, system, ", ".join(each.arguments))
    screen().print(table)


def energy(name: str, method: str, rows: Sequence[EnergyResult], devices: Sequence[str] = ()) -> None:
    """Print the plan of every device, the published solution and the certificate; of many devices only the first ones."""
    console = screen()
    headings = ("device", "iterations", "power (W)", "Mbit/s", "slack (ms)", "energy (mJ)", "utility", "gap")
    table = _table(f"{name}: energy and utility, {method}", (*headings, "published iterations", "published utility"))
    table.add_column("case")
    for k, row in enumerate(rows[:_MOST]):
        table.add_row(
            devices[k] if devices else str(k),
            *map(number, (row.iterations, row.power, row.rate / 1e6, 1e3 * row.slack, 1e3 * row.energy, row.utility)),
            f"{row.certificate.gap:.1g}",
            *map(number, (row.published.iterations, row.published.utility)),
            row.case,
        )
    console.print(table)
    if len(rows) > _MOST:
        console.print(f"  {len(rows) - _MOST:,} more: --out FILE.csv or --json has all", highlight=False)
    spent = 1e3 * np.array([row.energy for row in rows])
    greatest = max(row.certificate.gap for row in rows)
    worse = sum(row.published.gap > 1e-7 for row in rows)
    for line in (
        f"energy {number(float(spent.mean()))} mJ in the mean, standard deviation {number(float(spent.std()))} mJ",
        f"greatest gap {greatest:.2g}; the published solution is not optimal for {worse} of {len(rows)} devices",
    ):
        console.print(f"  {line}", highlight=False)
    table = _table("price of a second of the deadline", ("device", "dE/dT (mW)", "dU/dT (1/s)"))
    for k, row in enumerate(rows[:_MOST]):
        table.add_row(devices[k] if devices else str(k), _price(row.price.energy, 1e3), _price(row.price.utility))
    console.print(table)
    note = "0 where the deadline does not bind, nan where the plan is not optimal"
    if any(row.price.energy.one_sided or row.price.utility.one_sided for row in rows):
        note += "; * degenerate: it holds for a longer deadline, and another for a shorter one"
    console.print(f"  {note}", highlight=False)


def _price(price: ShadowPrice, factor: float = 1.0) -> str:
    return number(factor * price.rising) + ("*" if price.one_sided else "")


def quantizer(name: str, found: QuantizerResult) -> None:
    """Print the outputs of a quantizer, their probabilities at both ends and in the middle, and its certificate."""
    lines = [
        f"worst MSE {number(found.worst_mse)}, mean {number(found.mean_mse)}; one bit (LDP-FL) {number(found.ldp_mse)}",
        f"no alphabet of any size is below {number(found.lower_bound)}"
        f" ({'certified' if found.proved else 'not certified'}); exact epsilon {number(found.epsilon)}",
    ]
    if found.bits_bound is not None:
        lines.append(f"no alphabet of {2**found.bits} outputs is below {number(found.bits_bound)} (certified)")
    _law(f"{name}: quantizer, {found.bits} bits", found, lines)


def pair(name: str, found: PairResult) -> None:
    """Print a quantizer for two clients in the same way."""
    lines = [
        f"worst MSE of a pair's sum {number(found.worst_mse)}, mean {number(found.mean_mse)};"
        f" one bit each (CorBinQ) {number(found.one_bit_mse)}",
        f"exact epsilon {number(found.epsilon)} against one uplink; none against the server, which sees both",
    ]
    _law(f"{name}: quantizer for pairs, {found.bits} bits", found, lines)


def _law(title: str, found: QuantizerResult | PairResult, lines: Sequence[str]) -> None:
    console = screen()
    places = (0, len(found.inputs) // 2, len(found.inputs) - 1)
    table = _table(title, ("output", *(f"P(. | {number(float(found.inputs[i]))})" for i in places)))
    for j, output in enumerate(found.outputs):
        table.add_row(number(float(output)), *(number(float(found.law[i, j])) for i in places))
    console.print(table)
    for line in lines:
        console.print(f"  {line}", highlight=False)


def training(name: str, tree: dict[str, Any]) -> None:
    """Print the results of ``train``, part by part, from its JSON."""
    console = screen()
    for part, headings, rows, foot in training_rows(tree):
        table = Table(title=f"{name}: {part}", box=box.SIMPLE_HEAD, title_justify="left")
        for place, heading in enumerate(headings):
            table.add_column(heading, justify="right" if place else "left")
        for label, values in rows:
            table.add_row(label, *(value if isinstance(value, str) else number(value) for value in values))
        console.print(table)
        console.print(f"  {foot}", highlight=False)


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
    found = row["over_seeds"][name]
    if not math.isfinite(found["interval"][0]):
        return f"{found['mean']:.3f}", ""
    low, high = found["interval"]
    mean = f"{found['mean']:.3f} [{low:.3f}, {high:.3f}]"
    if not any(found["difference_interval"]):
        return mean, ""
    low, high = found["difference_interval"]
    return mean, f"{found['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"


def _seeds(rows: dict[str, Any], rest: str, kind: str = "") -> str:
    """The remark that explains the columns over seeds."""
    said = next(iter(rows.values()))["over_seeds"]
    if len(said["seeds"]) == 1:
        return f"one seed ({said['seeds'][0]}), no intervals"
    return f"{len(said['seeds'])} paired seeds, differences from {kind}{said['base']}, intervals of 95 % each; {rest}"


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


def _of_package(console: Console, name: str, part: PackageBounds) -> None:
    """Print what an installed package computes from its own table."""
    table = Table(title=f"{name}: {part.table}", box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("")
    table.add_column("value", justify="right")
    for label, value in part.values.items():
        table.add_row(label, ", ".join(number(x) for x in np.ravel(value)))
    console.print(table)


def _federated(console: Console, name: str, part: FederatedBounds) -> None:
    """Print the errors, the privacy against each observer and the bits of CorBin-FL."""
    mse, central, server, bits = part.mse, part.central, part.server, part.communication
    table = _table(
        f"{name}: worst mean squared error of a parameter", ("", "published", "exact, d = ∞", "at most, this d")
    )
    table.add_row("LDP-FL", "", number(mse.ldp), "")
    for label, values in (
        ("CorBin-FL", (mse.corbin_published, mse.corbin_worst, mse.corbin_worst_finite_bits)),
        ("AugCorBin-FL", (mse.augmented_published, mse.augmented_worst, mse.augmented_worst_finite_bits)),
    ):
        table.add_row(label, *map(number, values))
    table.add_row(f"dropout {number(part.dropout.probability)}", "", number(part.dropout.worst_mse), "")
    console.print(table)
    table = Table(
        title=f"epsilon at delta = {number(central.delta)}, adjacency {central.adjacency}",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    many, left = central.rounds > 1, part.dropout

    def row(label: str, *values: float | None) -> None:
        table.add_row(label, *("" if value is None else number(value) for value in values[: 3 if many else 2]))

    for heading in ("against", "one parameter", "whole update", *([f"{central.rounds} rounds"] if many else [])):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    row("the mean, published (5)", None, central.published_epsilon)
    row("the mean, proven closed form", None, central.proven_epsilon_update)
    for kind, epsilon in central.clients.items():
        row(f"the mean, exact, {kind} client", epsilon.one_parameter, epsilon.update, epsilon.all_rounds)
    if left.probability > 0:
        row(
            f"the survivors' mean, proven, dropout {number(left.probability)}",
            left.central_epsilon_one_parameter,
            left.central_epsilon_update,
            left.central_epsilon_all_rounds,
        )
    row("one uplink", server.local_epsilon, central.local_epsilon_update, central.local_epsilon_all_rounds)
    row("the server", server.epsilon_one_parameter)
    console.print(table)
    seen = (
        f"the server, who sees both outputs of a pair: no finite epsilon has a delta below {number(server.delta_one_parameter)}"
    )
    for line in (
        *([seen] if math.isinf(server.epsilon_one_parameter) else []),
        f"removing a client is always seen: delta = {number(central.removal_delta)}",
        f"bits of a client and round: {bits.published.total:,} as printed, {bits.seeded.total:,} with the key as seed",
    ):
        console.print(f"  {line}", highlight=False)
    console.print()


def _task(console: Console, mse: Distortion, accuracy: Accuracy) -> None:
    """Print MSE and accuracy of one system, one line each."""
    table = _table("", ("", "published", "proven", "exact", "constant"))
    nothing, chance = mse.constant_output, accuracy.constant_output
    table.add_row("mean squared error", *map(number, (mse.published, mse.proven, mse.exact, nothing)))
    table.add_row("accuracy, at least", *map(number, (accuracy.published, accuracy.markov, accuracy.exact, chance)))
    console.print(table)
    if not mse.beats_constant:
        console.print("  NO BETTER THAN NOTHING: an output that ignores y has no greater error", highlight=False)
    console.print(
        f"  best decoder gain {number(mse.best_gain)}: MSE {number(mse.at_best_gain)}; any decoder, of a normal target: "
        f"at least {number(mse.any_decoder)}",
        highlight=False,
    )
    if chance > 0:
        console.print(
            "  the margin exceeds the norm of the target: an output that ignores y is within it", highlight=False
        )
    causes = ", ".join(f"{name.replace('_', ' ')} {number(value)}" for name, value in asdict(mse.breakdown).items())
    console.print(f"  exact MSE: {causes}; the short paper's accuracy: {number(accuracy.short_paper)}", highlight=False)


def weights(name: str, found: WeightResult) -> None:
    """Print weights and their certificate."""
    console = screen()
    table = _table(f"{name}: weights, {found.method}", ("devices", "w", "w_max"))
    for devices, values in groups(list(zip(found.w, found.w_max, strict=True))):
        table.add_row(devices, *map(number, values))
    console.print(table)
    proof = found.certificate
    lines = [
        f"exact MSE {number(found.exact_mse)}, printed MSE {number(found.published_mse)}, sum {number(float(found.w.sum()))}",
        f"{'optimal' if found.optimal else 'NOT PROVED OPTIMAL'}: duality gap {proof.duality_gap:.2g}, "
        f"residuals {proof.primal_residual:.2g}, {proof.dual_residual:.2g}"
        + ("" if proof.proved_gap is None else f"; in rational arithmetic at most {proof.proved_gap:.2g}"),
        f"{found.iterations} iterations, {found.seconds:.3g} s" + ("" if found.converged else ", did not converge"),
    ]
    if found.price is not None:
        lines.append(f"price of privacy: {found.price}")
    if found.constant_output is not None:
        nothing = "" if found.exact_mse < found.constant_output else ": these weights are NO BETTER THAN NOTHING"
        lines.append(f"an output that ignores y has MSE {number(found.constant_output)}{nothing}")
    for line in lines:
        console.print(f"  {line}", highlight=False)


def selection_rows(selection: Selection) -> list[tuple[str, tuple[float, ...]]]:
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
    return groups(list(zip(*columns, strict=True)))


def _selection(console: Console, selection: Selection) -> None:
    headings = ("devices", "2.1", "2.2 ≥ (20)", "≤ (21)", "proven ≥", "proven ≤", "exact")
    table = _table("participation probabilities", headings)
    for devices, values in selection_rows(selection):
        table.add_row(devices, *(f"{value:.4g}" for value in values))
    console.print(table)


def attacked(name: str, found: AttackResult) -> None:
    """Print for each run of equal devices the epsilon that the attack has shown, the exact and the published one."""
    console = screen()
    queries = "one query" if found.rounds == 1 else f"{found.rounds} queries"
    on_features = any(one.attack_on_features is not None for one in found.devices)
    headings = ["devices", "attack, at least", *(["on these features"] if on_features else []), "exact, at most"]
    table = _table(
        f"{name}: epsilon from {found.samples} samples at delta = {number(found.delta)}, {queries}, "
        f"adjacency {found.adjacency}",
        [*headings, "Theorem 1", "attack at its delta", ""],
    )

    def shown(value: float | None) -> str:
        return "" if value is None else number(value)

    for one in found.devices:
        own = [shown(one.attack_on_features)] if on_features else []
        promised = [shown(one.published_epsilon), shown(one.attack_at_published_delta)]
        verdict = "refuted" if one.refuted else ""
        table.add_row(_listed(one.devices), shown(one.attack), *own, shown(one.exact), *promised, verdict)
    console.print(table)
    console.print(f"  each number from samples with {100 * found.confidence:g} % confidence", highlight=False)


def trained(name: str, found: list[TrainingAttack]) -> None:
    """Print for each mechanism the epsilon that the attack on one client has shown, the exact one and that of Theorem 3."""
    console, first = screen(), found[0]
    rounds = "one round" if first.rounds == 1 else f"{first.rounds} rounds"
    table = _table(
        f"{name}: epsilon of one client from {first.runs} runs at delta = {number(first.delta)}, {rounds}, "
        f"{first.clients} clients, {first.parameters} parameters, adjacency {first.adjacency}, observer {first.observer}",
        ("mechanism", "canary, at least", "on these data", "exact, at most", "Theorem 3", ""),
        left=("mechanism", ""),
    )
    for one in found:
        published = "" if one.published is None else number(one.published)
        verdict = "refuted" if one.refuted else ""
        table.add_row(
            one.mechanism, number(one.attack), number(one.attack_on_data), number(one.exact), published, verdict
        )
    console.print(table)
    console.print(f"  each number from runs with {100 * first.confidence:g} % confidence", highlight=False)


def _listed(devices: list[int]) -> str:
    if len(devices) > 2 and devices == list(range(devices[0], devices[-1] + 1)):
        return f"{devices[0]}-{devices[-1]}"
    return ", ".join(map(str, devices))


_SOUGHT = {"noise": "least noise variance", "clip": "greatest clip", "participation": "greatest participation"}


def calibration(name: str, found: CalibrationResult) -> None:
    """Print the calibrated quantity and its certificate."""
    console = screen()
    _headline(console, name, found.headline)
    sought = _SOUGHT[found.variable]
    queries = "one query" if found.rounds == 1 else f"{found.rounds} queries"
    table = _table(
        f"{name}: {sought} for epsilon at most {number(found.target)} at delta = {number(found.delta)}, {queries}, "
        f"adjacency {found.adjacency}, observer {found.observer}",
        ("devices", sought, "epsilon"),
    )
    for devices, values in groups(list(zip(found.value.tolist(), found.epsilon.tolist(), strict=True))):
        table.add_row(devices, *map(number, values))
    console.print(table)
    if found.monotone or found.variable == "clip":
        return
    console.print(
        f"  epsilon is not monotone in the {found.variable}: proved cell by cell that nothing beyond keeps it",
        highlight=False,
    )
    for low, high in found.unsettled:
        console.print(f"  not settled: {low:.9g} to {high:.9g}", highlight=False)


def design(name: str, found: DesignResult) -> None:
    """Print a joint design, the values that it reaches, and its certificate."""
    console = screen()
    _headline(console, name, found.headline)
    table = Table(title=f"{name}: least {found.minimised}", box=box.SIMPLE_HEAD, title_justify="left")
    for heading in ("variable", "value"):
        table.add_column(heading, justify="left")
    for key, value in found.variables.items():
        listed = str(value) if isinstance(value, bool) else ", ".join(number(float(x)) for x in np.ravel(value))
        table.add_row(key, listed)
    console.print(table)
    table = _table("", ("", "design", "as described", "output that ignores y"))
    before = {} if found.baseline is None else found.baseline.published_design
    nothing = {} if found.baseline is None else found.baseline.constant_output

    def shown(value: float | None) -> str:
        return "" if value is None else number(value)

    table.add_row("epsilon, greatest", number(float(np.max(found.epsilon))), shown(before.get("epsilon")), "0")
    for key, reached in (("error", found.error), ("accuracy", found.accuracy)):
        if reached is not None:
            table.add_row(key, number(reached), shown(before.get(key)), shown(nothing.get(key)))
    table.add_row("energy of a query", number(found.energy), "", "0")
    console.print(table)
    console.print(f"  the energy is that of {found.energy_of}", highlight=False)
    if found.beats_constant is False:
        console.print("  NO BETTER THAN NOTHING: an output that ignores y has no greater error", highlight=False)
    proved = "nothing is proved of other designs"
    if found.lower_bound is not None and found.bound_for is not None:
        none = Designs(found.bound_for).none
        proved = f"{none} has less than {number(found.lower_bound)} (gap {found.value - found.lower_bound:.2g})"
    console.print(f"  {found.method}: {found.minimised} {number(found.value)}; {proved}", highlight=False)
    for price in found.prices or ():
        console.print(f"  price: {price}", highlight=False)
    console.print(f"  {found.boxes} boxes, {found.seconds:.3g} s", highlight=False)
    if not found.settled:
        console.print(
            "  NOT SETTLED: the effort was spent before the gap was reached; this is the best met", highlight=False
        )


def federated_design(name: str, found: FederatedDesignResult) -> None:
    """Print a design of CorBin-FL."""
    console = screen()
    table = _table(f"{name}: least {found.minimised}", ("", "design", "constant mean"))
    for key, value in found.variables.items():
        table.add_row(key, number(float(value)), "")
    nothing = found.baseline["constant_output"]["error"]
    table.add_row("epsilon of a parameter and uplink", number(found.epsilon), "0")
    table.add_row("worst error, proven", number(found.error), number(nothing))
    table.add_row("bits of a client and round", number(found.bits), "0")
    console.print(table)
    if not found.beats_constant:
        console.print("  NO BETTER THAN NOTHING: the centre of the interval has no greater error", highlight=False)
    console.print(f"  {found.method}; {found.seconds:.3g} s", highlight=False)


def fleet_design(name: str, found: FleetDesignResult) -> None:
    """Print a design of a utility-fair fleet."""
    console = screen()
    sought = f"least {found.minimised}" if found.minimised else f"greatest {found.maximised}"
    columns = {
        "iterations": found.variables["iterations"],
        "power, W": found.variables["power"],
        "energy, J": found.energy,
        "utility": found.utility,
        "noise heard": found.noise_heard,
        "epsilon of its copy": found.own_epsilon,
    }
    table = _table(f"{name}: {sought}", ("devices", *columns))
    for devices, values in groups(list(zip(*(column.tolist() for column in columns.values()), strict=True))):
        table.add_row(devices, *map(number, values))
    console.print(table)
    table = _table("", ("of all devices, a round", "design", "greatest power"), left=("of all devices, a round",))
    before = found.baseline["greatest_power"]
    table.add_row("energy, J", number(float(np.sum(found.energy))), number(before["energy"]))
    table.add_row("utility", number(float(np.sum(found.utility))), number(before["utility"]))
    console.print(table)
    heard = "its own copy" if found.hears == "own" else "all copies"
    console.print(
        f"  noise {number(float(found.variables['noise']))} times the sensitivity: epsilon {number(found.epsilon)} at delta = "
        f"{number(found.delta)} over {found.rounds} rounds, for one that hears {heard}, whatever the deviations",
        highlight=False,
    )
    bound = found.lower_bound if found.upper_bound is None else found.upper_bound
    assert bound is not None
    side = "more" if found.maximised else "less"
    console.print(f"  {found.method}: no design has {side} than {number(bound)} (gap {found.gap:.2g})", highlight=False)


def frontier(name: str, found: FrontierResult) -> None:
    """Print one design for every combination of constraints."""
    console = screen()
    sought = f"{'greatest' if found.sought == 'utility' else 'least'} {found.sought}"
    table = Table(title=f"{name}: what can be had, {sought}", box=box.SIMPLE_HEAD, title_justify="left")
    columns = [key for key in found.points[0] if any(one[key] is not None for one in found.points)]
    shown = [key for key in columns if key != found.sought]  # its column is called value
    for key in shown:
        table.add_column({"value": sought}.get(key, key.replace("_", " ")), justify="right")
    for one in found.points:
        table.add_row(*("" if (value := one[key]) is None else number(value) for key in shown))
    console.print(table)
    if any(one["value"] is None for one in found.points):
        console.print(
            "  empty: no design found that keeps all; none exists where the bound is infinite", highlight=False
        )
    console.print(f"  the bounds are for {found.bound_for}", highlight=False)
