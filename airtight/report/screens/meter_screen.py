"""What ``airtight meter`` prints: who can send another round, and the share of the budget that is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from airtight.console import Sheet, device_rows, headline, next_step, notes, screen
from airtight.results.headline import devices, helpers
from airtight.results.numerals import plain, rounded_up, rounds

if TYPE_CHECKING:
    from airtight.analytics.privacy.over_the_air.meter import Meter


_COUNTED = 10_000  # lines of a log up to which the rounds of each device are counted


def metered(path: str, account: Meter, *, complete: bool = False) -> None:
    """Print what a meter says of every device, and how many rounds like the last one it still allows."""
    console, summary = screen(), account.summary()
    left = account.left_like_last()
    with np.errstate(divide="ignore", invalid="ignore"):
        percent_used = np.where(summary["spent"] > 0, 100 * summary["spent"] / summary["budget"], 0.0)
    budgets, helped = np.unique(summary["budget_epsilon"]), helpers(account)
    budget = plain(float(budgets[0])) if budgets.size == 1 else "its budget"
    if left is None:
        recorded = rounds(summary["rounds"])
        verdict = f"{recorded} recorded; the greatest share of a budget that is used is {_percent(float(np.max(percent_used)))}."
    else:
        halted = np.flatnonzero(left < 1).tolist()
        of = f"{len(halted)} of {account.devices} devices" if halted else f"All {account.devices} devices"
        can = (
            f"cannot send another round like the last one: {devices(halted)}"
            if halted
            else "can send another round like the last one"
        )
        verdict = f"{of} {can}."
    headline(
        console,
        path,
        [
            verdict,
            f"Guaranteed for every device: epsilon at most {budget} (delta {plain(summary['delta'])}), however rounds are chosen"
            + (f", also against a server with the help of {helped}." if helped else "."),
        ],
    )
    reading = summary["spent_meaning"] != summary["budget_meaning"]
    so_far = "epsilon so far" + ("*" if reading else "")
    columns = {"budget used": percent_used, so_far: summary["spent_epsilon"]}
    if budgets.size > 1:
        columns = {"epsilon, budget": np.asarray(summary["budget_epsilon"]), **columns}
    if summary["rounds"] <= _COUNTED:
        columns = {"rounds sent": account.times_sent(), **columns}
    if left is not None:
        columns["such rounds left"] = left
    shown = {"budget used": _percent, so_far: rounded_up}
    table = Sheet(("devices", *columns))
    for label, values in device_rows(columns, by=percent_used, complete=complete):
        table.add_row(
            label, *(shown.get(heading, plain)(value) for heading, value in zip(columns, values, strict=True))
        )
    console.print(table)
    sentences = ["* holds only if no round depended on earlier outputs; the guarantee is the budget."] if reading else []
    if complete:
        sentences.append(f"Amounts are {summary['unit']}: greatest spent {plain(float(np.max(summary['spent'])))}.")
    notes(console, sentences)
    steps = [(f"airtight meter {path} --add ROUND.toml", "record the next round, or refuse it")]
    if left is not None and np.any(left < 1):
        steps.append(("airtight.Meter.plan(round, rounds=N)", "the noise with which N more rounds fit"))
    next_step(console, *steps)


def _percent(value: float) -> str:
    return f"{plain(value, 3)} %"
