"""What ``airtight bounds`` prints: is each system private and useful, beside what is published and a constant answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import distortion
from airtight.analytics.inference.link_budget import LinkBudget
from airtight.analytics.inference.system import InferenceSystem
from airtight.console import Sheet, device_rows, headline, next_step, notes, say, screen
from airtight.report import tables
from airtight.results.bounds import PackageBounds, Part
from airtight.results.federated_results import FederatedBounds
from airtight.results.headline import devices, helpers, neighbours, server, who_sends
from airtight.results.inference_results import EpsilonOverRounds, InferenceBounds, TheoremBound
from airtight.results.numerals import plain, prose, rounded_down, rounded_up, rounds, share
from airtight.system_file.contents import SystemFile, Task

if TYPE_CHECKING:
    from airtight.analytics.privacy.over_the_air.theorem1_region import Theorem1Region
    from airtight.results.energy import DeviceBounds

Row = Callable[..., None]  # label, exact, published, constant answer, any scheme
_SENDS = "P(sends)"
_TASKS = 1000  # over so many the mean error is shown, at most
_MORE_ROUNDS = (10, 100)  # rounds after which the first screen of one round says what epsilon would be


def bounds(path: str, description: SystemFile, parts: Mapping[str, Sequence[Part]], *, complete: bool = False) -> None:
    """Print the bounds of a file: the verdict on its systems, or else on what it holds instead.

    Parameters
    ----------
    path : str
        The file as the user wrote it.
    parts : mapping
        The results that belong to each name.
    complete : bool
        Whether every number follows.
    """
    console = screen()
    of_systems = {name: one for name, rows in parts.items() for one in rows if isinstance(one, InferenceBounds)}
    others: list[tuple[str, Part]] = [
        (name, one) for name, rows in parts.items() for one in rows if not isinstance(one, InferenceBounds)
    ]
    if len(of_systems) == 1:
        ((name, part),) = of_systems.items()
        _one_system(console, name, description, part)
    elif of_systems:
        _variants(console, description, of_systems)
    sentences = [(one, _other(description, one)) for _, one in others]
    if of_systems:
        if sentences:
            console.print()
        for _, sentence in sentences:
            say(console, f"Also in this file: {sentence}")
    else:
        for one, sentence in sentences:
            say(console, f"{description.name}: {sentence}", style="bold")
            if not complete:
                _table_of(console, description, one)
    if complete:
        for name, rows in parts.items():
            for one in rows:
                of_system = isinstance(one, InferenceBounds)
                tables.details(console, name, one, description.labels_of(name) if of_system else description.fleet_labels)
    next_step(console, *_next(path, description, of_systems, complete))


def over_rounds(path: str, by_system: Mapping[str, EpsilonOverRounds]) -> None:
    """Print epsilon of the worst device after each number of rounds, a column for each observer, of each system."""
    console = screen()
    for number, (name, of_system) in enumerate(by_system.items()):
        if number:
            console.print()
        headline(console, name, of_system.headline)
        table = Sheet(("rounds", *(f"server sees {observer}" for observer in of_system.epsilon)), left=())
        worst = [of_system.worst(observer) for observer in of_system.epsilon]
        for count, *values in zip(of_system.rounds, *worst, strict=True):
            table.add_row(str(count), *(rounded_up(float(value)) for value in values))
        console.print(table)
    sentences = ["Epsilon: worst device, of all rounds together."]
    if any(any(of_system.estimated) for of_system in by_system.values()):
        sentences.append("Some of these rest on an interpolation whose error is estimated, not proved (docs/accuracy.md).")
    notes(console, sentences)
    next_step(console, (f"airtight bounds {path}", "the verdict with the error"))


def link(path: str, description: SystemFile, budget: LinkBudget, *, complete: bool = False) -> None:
    """Print the link budget of the inference system of a file."""
    console, system = screen(), description.systems[description.name]
    short = np.flatnonzero(budget.margin < 0).tolist()
    limited = not np.all(np.isnan(budget.margin))
    if not limited:
        verdict = "no max_power in [inference.channel]: every device sends, with the energy that it needs"
    elif short:
        below = f"{len(short)} of {system.devices} devices are below the power that they need at their mean gain"
        verdict = f"{below}: {devices(short)}"
    else:
        tightest = int(np.argmin(budget.margin))
        least = f"{plain(budget.margin[tightest], 3)} dB (device {tightest})"
        verdict = f"all {system.devices} devices have a margin; the least is {least}"
    headline(console, description.name, [f"{verdict}.", who_sends(system)])
    columns = {
        "distance (m)": budget.distance,
        "path loss (dB)": budget.path_loss,
        "received (dB)": budget.received,
        "margin (dB)": budget.margin,
        _SENDS: budget.sends,
        "energy": budget.energy,
    }
    filled = {name: column for name, column in columns.items() if not np.all(np.isnan(column))}
    table = Sheet(("devices", *filled))
    worst = -budget.margin if limited else budget.path_loss
    for label, values in device_rows(filled, by=worst, labels=description.labels, complete=complete):
        table.add_row(
            label,
            *((share if name == _SENDS else plain)(value) for name, value in zip(filled, values, strict=True)),
        )
    console.print(table)
    notes(console, _on_link(system, limited))
    next_step(console, (f"airtight bounds {path}", "epsilon and error of these devices"))


def _on_link(system: InferenceSystem, limited: bool) -> list[str]:
    sentences = ["Energy: of a sent block whose code is as long as the clip, in W times symbol periods."]
    if limited and system.channel is not None:
        sentences.append(
            "Received: max_power at the mean gain, in dB of one W times symbol period. Margin: mean gain over the least gain at "
            f"which the device sends (power_limit {system.channel.power_limit!s})."
        )
    return sentences


def theorem1(
    path: str, description: SystemFile, regions: Mapping[str, Mapping[str, Theorem1Region]], *, complete: bool = False
) -> None:
    """Print where Theorem 1 is true, with its own t and with that of its proof, and the constants with which it would be."""
    console = screen()
    for number, (name, by_form) in enumerate(regions.items()):
        if number:
            console.print()
        own, of_proof = by_form["theorem1"], by_form["eq23"]
        verdict = f"Theorem 1 {_verdict(own)}; with the t of its proof, Eq. (23), it {_verdict(of_proof)}."
        against = f"against {server(own.observer)}. {neighbours(own.adjacency)}"
        system = description.systems[name]
        printed = f"The t: {plain(own.t)} and {plain(of_proof.t)}; the noise is {plain(own.mean_noise)}."
        headline(console, name, [verdict, f"One round, dimension {system.dimension}, {against}", printed])
        table = Sheet(("", "epsilon", "delta", "true delta", "true to r", "least t", "factor"))
        for label, region in {"Theorem 1": own, "Eq. (23)": of_proof}.items():
            columns = {
                "epsilon": region.epsilon,
                "delta": region.delta,
                "true delta": region.delta_upper,
                "lower": region.dimension_lower,
                "upper": region.dimension_upper,
                # at the mean noise the theorem claims nothing
                "t": np.where(region.t_upper < region.mean_noise, region.t_upper, np.inf),
                "factor": region.factor_upper,
            }
            labels = description.labels_of(name)
            for of, (epsilon, delta, true_delta, low, high, t, factor) in device_rows(
                columns, by=region.factor_upper, labels=labels, complete=complete
            ):
                lengths = f"{plain(low)} to {plain(high)}" if low < high else "any" if np.isinf(low) else plain(low)
                exact = [rounded_up(true_delta), lengths] if np.isfinite(epsilon) else ["–", "–"]
                claims = [_stated(epsilon), _stated(delta), *exact]
                table.add_row(f"{label}, {of}", *claims, _constant(t), _constant(factor))
        console.print(table)
    said = [
        "True to r: the greatest dimension in which it is true. Least t, and factor before p: with which the claim is true here, "
        "rounded up; none: only where nothing is claimed."
    ]
    if any(region.estimated for by_form in regions.values() for region in by_form.values()):
        said.append("Some of these rest on an interpolation whose error is estimated, not proved (docs/accuracy.md).")
    notes(console, said)
    next_step(console, (f"airtight bounds {path}", "the epsilon that is true"))


def _verdict(region: Theorem1Region) -> str:
    """TRUE, FALSE or undecided, and for how many devices."""
    count, false = region.epsilon.size, int(np.sum(region.false))
    if np.all(np.isinf(region.epsilon)):
        return "claims nothing"
    if false:
        return "is FALSE here" if false == count else f"is FALSE for {false} of {count} devices"
    return "is TRUE here" if np.all(region.true) else "is not decided here"


def _constant(value: float) -> str:
    return "none" if value == np.inf else "any" if value in (-np.inf, 0) else rounded_up(value)


def _next(
    path: str, description: SystemFile, systems: Mapping[str, InferenceBounds], complete: bool
) -> list[tuple[str, str]]:
    # a report takes no --devices: it would show another system
    # nor does it count colluders, or what is uncertain
    left_out = description.uncertainty is not None or any(system.colluding for system in description.systems.values())
    steps = [] if " --" in path or left_out else [(f"airtight report {path} --out report", "sliders, figures")]
    if not complete or not steps:
        steps.append((f"airtight bounds {path} --all", "all numbers"))
    if not systems and description.energy is not None:
        steps[:1] = [(f"airtight solve energy {path}", "the best plan of each device")]
    return steps


def _one_system(console: Console, name: str, description: SystemFile, part: InferenceBounds) -> None:
    """The verdict on one system, its numbers beside the published ones and a constant answer, and what to know of them."""
    system, task = description.systems[name], description.task
    headline(console, name, part.headline)
    if len(part.never_send) == system.devices:
        return
    published = None if part.channel is not None else _claim(part).epsilon
    limited = part.worst_case is not None and part.worst_case.any_scheme is not None
    claimed = () if published is None else ("published",)
    table = Sheet(("", "exact", *claimed, "constant answer", *(("any scheme",) if limited else ())))

    def row(label: str, exact: str, claim: str, constant: str, least: str = "") -> None:
        table.add_row(label, exact, *((claim,) if claimed else ()), constant, *((least,) if limited else ()))

    _of_privacy(row, system, part, published, description.labels)
    _of_error(row, part, task)
    console.print(table)
    of_nominal = [] if description.uncertainty is None else [description.uncertainty.note]
    notes(console, [*of_nominal, *_notes(system, part, task)])


def _of_privacy(
    row: Row, system: InferenceSystem, part: InferenceBounds, published: FloatArray | None, labels: Sequence[str]
) -> None:
    """Rows of epsilon after all rounds; of one round too where the published bound is for one."""
    senders = np.flatnonzero(~system.never_sends & ~system.partners).tolist()
    several = system.rounds > 1
    groups_of_rows = [(f"epsilon, {rounds(system.rounds)}" if several else "epsilon", part.privacy.asked, not several)]
    if several and published is not None:
        groups_of_rows.append(("epsilon, 1 round", part.privacy.asked_once, True))
    for label, epsilon, one_round in groups_of_rows:
        claims = published if published is not None and one_round else np.full(system.devices, np.nan)
        columns = {"exact": epsilon, "published": claims, "colludes": system.partners.astype(float)}
        by = np.where(system.partners, -1.0, epsilon)
        rows = device_rows(columns, by=by, labels=labels, among=senders)
        for kind, (exact, claim, colludes) in rows:
            of = "all devices" if len(rows) == 1 else kind if ":" in kind else f"device {kind}"
            value_text = "helps the server" if colludes else rounded_up(exact)
            row(f"{label}, {of}", value_text, _stated(claim) if one_round else "1 round only", "0")
    if (persons := part.privacy.groups) is not None:
        for devices, epsilon in zip(persons.devices, persons.epsilon, strict=True):
            names = ", ".join(labels[k] if labels else str(k) for k in devices)
            row(f"{'estimate of ' * persons.estimated}epsilon, {names} together", rounded_up(float(epsilon)), "", "0")


def _of_error(row: Row, part: InferenceBounds, task: Task | None) -> None:
    """Rows of the mean squared error, and of the probability that it stays within the margin."""
    if part.worst_case is not None:
        worst = part.worst_case
        least = "" if worst.any_scheme is None else f">= {rounded_down(worst.any_scheme.error)}"
        row("mean squared error, worst codes", rounded_up(worst.error), "", plain(worst.constant_output), least)
        row("energy of all devices, a round", rounded_up(float(np.sum(worst.energy))), "", "0")
    if part.error is None or part.constant is None or task is None:
        return
    claimed = "" if part.distortion is None else plain(part.distortion.published)
    row("mean squared error", plain(part.error), claimed, plain(part.constant))
    label = f"P(error within {plain(task.margin)}) x {plain(task.ideal_accuracy)}"
    if part.accuracy is not None:
        exact, nothing = part.accuracy.interval[0], part.accuracy.constant_output
        row(label, share(exact), share(part.accuracy.published), share(nothing))
    elif part.channel is not None and part.channel.decoder is not None:
        row(f"{label}, at least", share(part.channel.decoder.accuracy), "", "")


def _stated(value: float) -> str:
    """A published epsilon: it is not ours to round it to either side."""
    return plain(value) if np.isfinite(value) else "infinite"


def _notes(system: InferenceSystem, part: InferenceBounds, task: Task | None) -> list[str]:
    """What a reader must know of the numbers."""
    from airtight.analytics.privacy.over_the_air import observers, system_privacy

    sentences, claims, channel = list[str](), part.privacy.published, part.channel
    observer = observers.resolved(system, system.observer)
    # Gaussian given who sends: composed in closed form
    fast = system.channel is None and observer is Observer.PARTICIPANTS and part.privacy.uncertain is None

    def worst(epsilon: FloatArray) -> float:
        return float(np.max(epsilon[~system.partners]))

    if system.rounds == 1 and fast and np.isfinite(part.privacy.worst):
        grown = [rounded_up(worst(system_privacy.epsilon(system, rounds=count))) for count in _MORE_ROUNDS]
        first, last = (f"{value} after {count} rounds" for value, count in zip(grown, _MORE_ROUNDS, strict=True))
        sentences.append(f"More rounds leak more: epsilon {first}, {last}.")
    if system.rounds == 1 and fast and isinstance(system.colluding, int) and 0 < system.colluding < system.devices - 1:
        price = [system.replace(colluding=count) for count in (0, system.colluding + 1)]
        least, more = (rounded_up(worst(system_privacy.epsilon(priced))) for priced in price)
        sentences.append(f"Epsilon is {least} if no device helps the server, and {more} if one more does.")
    if channel is None and claims.eq23.vacuous:
        sentences.append(
            f"Theorem 1 gives no epsilon here: its t ({prose(claims.theorem1.t)}) is not below the noise "
            f"({prose(claims.theorem1.mean_noise)})."
        )
    elif channel is None and claims.theorem1.vacuous:
        sentences.append("Published: Theorem 1 with the t of its proof, Eq. (23). With the t that it prints it is infinite.")
    signal = part.privacy.observers.signal
    if system.rounds == 1 and worst(signal.lower) < worst(signal.epsilon) * (1 - 1e-6):
        low, high = rounded_down(worst(signal.lower)), rounded_up(worst(signal.epsilon))
        sentences.append(f"A server that sees the signal alone: epsilon between {low} and {high} (worst device).")
    if np.all(np.isinf(part.privacy.observers.participants)):
        sentences.append(f"A server that sees all senders: no finite epsilon for neighbours {system.adjacency!s}.")
    if system.colluding and channel is None and not claims.eq23.vacuous:
        sentences.append("Published: Theorem 1 knows no devices that help the server.")
    if channel is not None:
        if channel.fading is not None:
            sentences.append(
                f"Epsilon above is that of {channel.states} drawn channels, the key `states`. For the fading itself, with "
                f"{channel.fading.confidence:.0%} confidence, it is at most {rounded_up(worst(channel.fading.epsilon))} "
                "after 1 round. More states bring both together."
            )
        if channel.antennas_alike:
            sentences.append("There is no fading: all antennas receive a device alike. Where they do not, epsilon is greater.")
        if channel.eavesdropper is not None:
            heard = channel.eavesdropper
            sentences.append(
                f"Eavesdropper with {heard.antennas} antennas, after 1 round: epsilon {rounded_up(worst(heard.epsilon))}."
            )
    if part.worst_case is not None and (limit := part.worst_case.any_scheme) is not None and limit.error > 0:
        sentences.append(limit.sentence)
    if task is not None and part.error is not None and len(task.samples) > 1:
        errors = [] if channel is not None else [distortion.exact(system, priced) for priced in task.samples[:_TASKS]]
        mean = f" (mean {prose(float(np.mean(errors)))})" if len(errors) == len(task.samples) else ""
        sentences.append(f"Errors: first of {len(task.samples)} tasks; `airtight design` averages over all of them{mean}.")
        if part.distortion is not None and (limit := part.distortion.any_scheme) is not None and limit.error > 0:
            sentences.append(limit.sentence)
    return sentences


def _variants(console: Console, description: SystemFile, systems: Mapping[str, InferenceBounds]) -> None:
    """The verdict on several variants of a system, a row each."""

    base = next(iter(description.systems.values()))
    good = [name for name, part in systems.items() if part.private and part.useful]
    deltas = {system.delta for system in description.systems.values()}
    said = f"{len(systems)} variants, {rounds(base.rounds)}" + (f", delta {plain(base.delta)}" if len(deltas) == 1 else "")
    if all(part.error is None for part in systems.values()):
        private = [name for name, part in systems.items() if part.private]
        verdict = f"{len(private)} OF {len(systems)} VARIANTS ARE PRIVATE; usefulness unknown: no [inference.features]"
    elif good:
        verdict = f"PRIVATE AND USEFUL: {', '.join(good)}"
    else:
        verdict = "NO VARIANT IS BOTH PRIVATE AND USEFUL"
    say(console, f"{description.name}: {verdict} ({said})", style="bold")
    silent = [sentence for part in systems.values() if part.never_send for sentence in part.headline[-1:]]
    for sentence in dict.fromkeys(silent or next(iter(systems.values())).headline[-1:]):
        say(console, sentence)
    useful = {True: "yes", False: "no", None: "unknown"}
    table = Sheet(
        ("variant", "neighbour", "epsilon", "published epsilon", "it holds", "error", "useful"),
        left=("variant", "neighbour"),
    )
    for name, part in systems.items():
        claim = _claim(part).epsilon
        table.add_row(
            name,
            str(part.privacy.adjacency),
            rounded_up(part.privacy.worst),
            "–" if part.channel is not None else _stated(float(np.max(claim))),
            "–" if part.channel is not None else _held(part),
            "–" if part.error is None else plain(part.error),
            useful[part.useful],
        )
    console.print(table)
    notes(console, _notes_on_variants(description, systems))


def _notes_on_variants(description: SystemFile, systems: Mapping[str, InferenceBounds]) -> list[str]:
    """What the columns of the table of variants mean, and where a published bound fails for the server that it is about."""
    from airtight.analytics.privacy.over_the_air import observers, system_privacy

    sentences = []
    constants = {part.constant for part in systems.values() if part.constant is not None}
    if len(constants) == 1:
        sentences.append(f"Useful: an error below that of a constant answer, {plain(constants.pop())}.")
    servers: dict[str, list[str]] = {}
    for name in systems:
        system = description.systems[name]
        servers.setdefault(server(observers.resolved(system, system.observer), helpers(system)), []).append(name)
    for against, variants in servers.items():
        of = "" if len(servers) == 1 else f" ({', '.join(variants)})"
        sentences.append(f"Epsilon: worst device, against {against}{of}.")
    for name, part in systems.items():
        claim = _claim(part)
        if _held(part) == "NO":
            k = int(np.argmax(claim.true_delta - claim.delta))
            without_partners = description.systems[name].derived(colluding=0)
            alone, _ = system_privacy.delta_bracket(
                without_partners, float(claim.epsilon[k]), rounds=1, device=k, observer=Observer.SIGNAL
            )
            even = ", even for a server that sees the signal alone" if alone > claim.delta[k] else ""
            sentences.append(f"{name}: the theorem is false here{even}.")
    absent = [name for name, part in systems.items() if np.all(np.isinf(part.privacy.observers.participants))]
    if absent:
        sentences.append(f"A server that sees all senders: no finite epsilon for {', '.join(absent)}.")
    if any(part.privacy.published.theorem1.vacuous for part in systems.values()):
        sentences.append("Published: Theorem 1, 1 round, with the t of Eq. (23) where its own t makes it infinite.")
    return sentences


def _claim(part: InferenceBounds) -> TheoremBound:
    """Theorem 1 for one round: with the t that it prints, or else with that of its proof."""
    claims = part.privacy.published
    return claims.eq23 if claims.theorem1.vacuous else claims.theorem1


def _held(part: InferenceBounds) -> str:
    """Whether the published epsilon has the published delta, against the server of the system's epsilon."""
    claim = _claim(part)
    if claim.vacuous:
        return "–"
    return "yes" if np.all(claim.true_delta <= claim.delta) else "NO"


def _other(description: SystemFile, part: Part) -> str:
    """The verdict on a part that is no inference system, with its table."""
    match part:
        case FederatedBounds():
            return _of_federated(part)
        case PackageBounds():
            return f"[{part.table}] {len(part.values)} quantities of an installed package."
        case InferenceBounds():
            raise TypeError(part)
        case _:
            return _of_fleet(description, part)


def _of_federated(part: FederatedBounds) -> str:
    server, mse = part.server, part.mse
    if np.isfinite(server.epsilon_one_parameter):
        sentence = f"epsilon {rounded_up(server.epsilon_one_parameter)} for one parameter against the server"
    else:
        sentence = "NOT PRIVATE (no finite epsilon) against the server, which sees both outputs of a pair"
    uplink = "no finite epsilon, with a partner's help,"
    if np.isfinite(server.local_epsilon):
        uplink = f"epsilon {rounded_up(server.local_epsilon)}"
    return (
        f"[federated] {sentence}; {uplink} for one parameter and one uplink. Worst error "
        f"{prose(mse.corbin_worst_finite_bits)} (LDP-FL: {prose(mse.ldp)})."
    )


def _of_fleet(description: SystemFile, rows: Sequence[DeviceBounds]) -> str:
    late = [k for k, row in enumerate(rows) if not row.feasible]
    count = f"{len(rows)} device{'s' if len(rows) > 1 else ''}"
    if not late:
        return f"[energy] all {count} can keep the deadline."
    return f"[energy] {len(late)} of {count} CANNOT keep the deadline: {devices(late)}."


def _table_of(console: Console, description: SystemFile, part: Part) -> None:
    match part:
        case FederatedBounds():
            tables.federated(console, description.name, part)
        case PackageBounds():
            tables.of_package(console, description.name, part)
        case InferenceBounds():
            raise TypeError(part)
        case _:
            tables.fleet(console, description.name, part, description.fleet_labels)
