"""Prints the results of attacks as tables."""

from __future__ import annotations

from rich import box
from rich.table import Table

from airtight.validate.report.tables import number, screen
from airtight.validate.results.attack import AttackResult, TrainingAttack


def attacked(name: str, found: AttackResult) -> None:
    """Print for each run of equal devices the epsilon that the attack has shown, the exact and the published one."""
    console = screen()
    queries = "one query" if found.rounds == 1 else f"{found.rounds} queries"
    table = Table(
        title=f"{name}: epsilon from {found.samples} samples at delta = {number(found.delta)}, {queries}, "
        f"adjacency {found.adjacency}",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    on_features = any(one.attack_on_features is not None for one in found.devices)
    headings = ["devices", "attack, at least", *(["on these features"] if on_features else []), "exact, at most"]
    for heading in [*headings, "Theorem 1", "attack at its delta", ""]:
        table.add_column(heading, justify="left" if heading in ("devices", "") else "right")

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
    table = Table(
        title=f"{name}: epsilon of one client from {first.runs} runs at delta = {number(first.delta)}, {rounds}, "
        f"{first.clients} clients, {first.parameters} parameters, adjacency {first.adjacency}, observer {first.observer}",
        box=box.SIMPLE_HEAD,
        title_justify="left",
    )
    for heading in ("mechanism", "canary, at least", "on these data", "exact, at most", "Theorem 3", ""):
        table.add_column(heading, justify="left" if heading in ("mechanism", "") else "right")
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
