"""What ``airtight attack`` and ``airtight train`` print: what was measured, beside what is proved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics.inference.system import InferenceSystem
from airtight.console import FEW, Sheet, headline, labelled, next_step, notes, say, screen
from airtight.report.tables import training_rows
from airtight.results.headline import devices, of_question
from airtight.results.numerals import plain, rounded_down, rounded_up, rounds

if TYPE_CHECKING:
    from airtight.validate.attack.attack_results import AttackedDevice, AttackResult, TrainingAttack


def attacked(
    path: str,
    name: str,
    result: AttackResult,
    system: InferenceSystem,
    labels: Sequence[str] = (),
    *,
    complete: bool = False,
) -> None:
    """Print for the kinds of devices the epsilon that the attack has shown, the exact and the published one."""
    console = screen()
    worst = max(result.devices, key=lambda one: one.attack)
    greatest = max(one.exact for one in result.devices)
    refuted = [one for one in result.devices if one.refuted]
    headline(
        console,
        name,
        [
            f"EPSILON AT LEAST {rounded_down(worst.attack)} (attack, {_those(worst, labels)}), AT MOST "
            f"{rounded_up(greatest)} (proof).",
            of_question(system.replace(rounds=result.rounds, observer="auto")),
            *([f"Theorem 1 is REFUTED for {devices([k for one in refuted for k in one.devices])}."] if refuted else []),
        ],
    )
    on_features = any(one.attack_on_features is not None for one in result.devices)
    published = any(one.published_epsilon is not None for one in result.devices)
    table = Sheet(
        (
            "devices",
            "attack, at least",
            *(("on these features",) if on_features else ()),
            "exact, at most",
            *(("Theorem 1", "attack at its delta") if published else ()),
        )
    )
    shown = result.devices if complete or len(result.devices) <= FEW else [worst]
    for one in shown:
        from_features = [_least(one.attack_on_features)] if on_features else []
        stated = "" if one.published_epsilon is None else plain(one.published_epsilon)
        claims = [stated, _least(one.attack_at_published_delta)] if published else []
        table.add_row(_numbers(one, labels), rounded_down(one.attack), *from_features, rounded_up(one.exact), *claims)
    console.print(table)
    sentences = [f"Each number of the attack: {result.samples:,} samples, {100 * result.confidence:g} % confidence."]
    from airtight.analytics.privacy.over_the_air import observers

    if observers.resolved(system, system.observer) is not observers.resolved(system, "auto"):
        sentences.append(
            f"The attack and its bound are for the server of the first lines. The file's observer is {system.observer!s}: "
            "airtight bounds has its epsilon."
        )
    if len(shown) < len(result.devices):
        sentences.append(f"The device of which the attack shows most; {len(result.devices) - 1} further kinds: --all.")
    notes(console, sentences)
    next_step(console, (f"airtight attack {path} --samples {10 * result.samples}", "closer, ten times as long"))


def _least(value: float | None) -> str:
    return "" if value is None else rounded_down(value)


def _those(one: AttackedDevice, labels: Sequence[str]) -> str:
    return f"device {labelled(one.devices[0], labels)}" if len(one.devices) == 1 else devices(one.devices)


def _numbers(one: AttackedDevice, labels: Sequence[str]) -> str:
    return labelled(one.devices[0], labels) if len(one.devices) == 1 else devices(one.devices).partition(" ")[2]


def trained(path: str, name: str, result: list[TrainingAttack]) -> None:
    """Print for each mechanism the epsilon that the attack on one client has shown, the exact one and that of Theorem 3."""
    console, first = screen(), result[0]
    refuted = [one.mechanism for one in result if one.refuted]
    shown = ", ".join(f"{rounded_down(one.attack)} ({one.mechanism})" for one in result)
    headline(
        console,
        name,
        [
            f"EPSILON OF ONE CLIENT AT LEAST {shown}.",
            f"After {rounds(first.rounds)}, delta {plain(first.delta)}, against a server that sees the sums "
            f"(observer {first.observer}). "
            f"Neighbours ({first.adjacency}): a client sends other updates.",
            *([f"Theorem 3 is REFUTED for {', '.join(refuted)}."] if refuted else []),
        ],
    )
    table = Sheet(
        ("mechanism", "canary, at least", "on these data", "exact, at most", "Theorem 3"), left=("mechanism",)
    )
    for one in result:
        published = "" if one.published is None else plain(one.published)
        table.add_row(
            one.mechanism, rounded_down(one.attack), rounded_down(one.attack_on_data), rounded_up(one.exact), published
        )
    console.print(table)
    notes(
        console,
        [
            f"{first.runs} runs, {first.clients} clients, {first.parameters:,} parameters; each number of the attack with "
            f"{100 * first.confidence:g} % confidence."
        ],
    )
    next_step(console, (f"airtight attack {path} --runs {10 * first.runs}", "closer, ten times as long"))


def training(path: str, name: str, tree: dict[str, Any]) -> None:
    """Print the results of ``train``, part by part, from its JSON."""
    console = screen()
    for sentence in _learned(tree):
        say(console, f"{name}: {sentence}", style="bold")
    for part, headings, rows, foot in training_rows(tree):
        table = Sheet(headings, part, left=headings[:1])
        for label, values in rows:
            table.add_row(label, *(value if isinstance(value, str) else plain(value) for value in values))
        console.print(table)
        notes(console, [foot])
    next_step(console, (f"airtight report {path} --out report --thorough", "the same with curves and privacy"))


def _learned(tree: dict[str, Any]) -> list[str]:
    """The best of each part beside what it is compared with."""
    sentences = []
    if "federated" in tree:
        accuracy = {
            kind: one["over_seeds"]["test_accuracy"]["mean"] for kind, one in tree["federated"]["mechanisms"].items()
        }
        private = {kind: value for kind, value in accuracy.items() if kind != "vanilla"} or accuracy
        best = max(private, key=lambda kind: private[kind])
        epsilon = tree["federated"]["mechanisms"][best]["epsilon_spent_one_parameter"]
        beside = f" (without privacy {accuracy['vanilla']:.3f})" if "vanilla" in accuracy and best != "vanilla" else ""
        spent = f", epsilon {rounded_up(epsilon)} for one parameter" if np.isfinite(epsilon) else ", no finite epsilon"
        sentences.append(f"TEST ACCURACY {accuracy[best]:.3f} with {best}{beside}{spent}.")
    if "inference" in tree:
        schemes = {kind: one["over_seeds"]["accuracy"]["mean"] for kind, one in tree["inference"]["schemes"].items()}
        best = max(schemes, key=lambda kind: schemes[kind])
        sentences.append(
            f"ACCURACY {schemes[best]:.3f} with Scheme {best} (without channel {tree['inference']['ideal_accuracy']:.3f})."
        )
    if "energy" in tree:
        accuracy = {kind: one["over_seeds"]["test_accuracy"]["mean"] for kind, one in tree["energy"].items()}
        best = max(accuracy, key=lambda kind: accuracy[kind])
        sentences.append(f"TEST ACCURACY {accuracy[best]:.3f} under energy policy {best}.")
    return sentences
