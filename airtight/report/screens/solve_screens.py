"""What ``airtight solve`` prints: the solution, the number that makes it good or bad, and its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics.inference.system import InferenceSystem
from airtight.console import Sheet, device_rows, headline, labelled, next_step, notes, screen
from airtight.results.headline import of_question, of_use, who_sends
from airtight.results.numerals import plain, rounded_down, rounded_up

if TYPE_CHECKING:  # what is printed has been made before: a table of energies needs no module of privacy
    from airtight.results.energy import EnergyResult
    from airtight.results.quantizer import PairResult, QuantizerResult
    from airtight.results.weights import WeightResult
    from airtight.solvers.price import ShadowPrice

_OPTIMAL = 1e-7  # a published plan with a proved gap below this counts as optimal


def weights(
    path: str,
    name: str,
    result: WeightResult,
    system: InferenceSystem,
    limit: str,
    labels: Sequence[str] = (),
    *,
    complete: bool = False,
) -> None:
    """Print weights and their certificate."""
    console, proof = screen(), result.certificate
    gap = proof.duality_gap if proof.proved_gap is None else proof.proved_gap
    optimal = f"optimal (gap at most {rounded_up(gap, 2)})" if result.optimal else f"NOT PROVED OPTIMAL (gap {gap:.2g})"
    use = of_use(result.exact_mse, result.constant_output)
    headline(console, name, [f"{use}; {optimal}.", f"{limit} {of_question(system)}", who_sends(system)])
    columns = {"weight": result.w, "greatest allowed weight": result.w_max}
    table = Sheet(("devices", *columns))
    places = ("greatest", "median", "least")
    for label, (w, greatest) in device_rows(columns, by=result.w, labels=labels, complete=complete, places=places):
        table.add_row(label, plain(w), rounded_down(greatest))
    console.print(table)
    sentences = [
        f"Error {plain(result.exact_mse)}; printed formula {plain(result.published_mse)}; sum {plain(float(result.w.sum()))}."
    ]
    if result.price is not None:
        sentences.append(f"Price of privacy: {result.price}.")
    if complete:
        sentences.append(
            f"Duality gap {proof.duality_gap:.2g}, residuals {proof.primal_residual:.2g}, {proof.dual_residual:.2g}"
            + ("" if proof.proved_gap is None else f"; in rational arithmetic at most {rounded_up(proof.proved_gap, 2)}")
            + "."
        )
        converged = "" if result.converged else ", did not converge"
        sentences.append(f"{result.method}: {result.iterations} iterations, {result.seconds:.3g} s{converged}.")
    notes(console, sentences)
    steps = [(f"airtight design {path}", "weights, clips and noise together, with a [design] table")]
    if not complete:
        steps.insert(0, (f"airtight solve weights {path} --all", "every weight"))
    next_step(console, *steps)


def energy(
    path: str,
    name: str,
    method: str,
    rows: Sequence[EnergyResult],
    labels: Sequence[str] = (),
    *,
    complete: bool = False,
) -> None:
    """Print the plan of the devices, the published solution and the certificate."""
    console = screen()
    spent = 1e3 * np.array([row.energy for row in rows])
    utility = np.array([row.utility for row in rows])
    gap = rounded_up(max(row.certificate.gap for row in rows), 2)
    worse = sum(row.published.gap > _OPTIMAL for row in rows)
    low, high = rounded_down(float(utility.min())), rounded_up(float(utility.max()))
    of = "" if method == "closed-form" else f" ({method})"
    headline(
        console,
        name,
        [
            f"GREATEST UTILITY {low if low == high else f'{low} to {high}'} for {len(rows)} devices{of}; gap at most {gap}.",
            f"The published solution is not optimal for {worse} of {len(rows)} devices.",
        ],
    )
    columns = {
        "iterations": np.array([row.iterations for row in rows]),
        "power (W)": np.array([row.power for row in rows]),
        "energy (mJ)": spent,
        "slack (ms)": np.array([1e3 * row.slack for row in rows]),
        "utility": utility,
        "published utility": np.array([row.published.utility for row in rows]),
    }
    chosen = device_rows(columns, by=-utility, labels=labels, complete=complete)
    table = Sheet(("devices", *columns))
    for label, values in chosen:
        table.add_row(label, *map(plain, values))
    console.print(table)
    if complete:
        _plans(rows, labels)
    sentences = [f"Energy: mean {plain(float(spent.mean()))} mJ, standard deviation {plain(float(spent.std()))} mJ."]
    prices = np.array([1e3 * row.price.energy.rising for row in rows])
    if np.all(np.isfinite(prices)):
        least, most = float(prices.min()), float(prices.max())
        value = plain(least) if least == most else f"{plain(least)} to {plain(most)}"
        sentences.append(f"A second more of the deadline changes the energy by dE/dT = {value} mW.")
    notes(console, sentences)
    steps = [(f"airtight solve energy {path} --plan plan.csv", "the plan, a device a row")]
    if not complete:
        steps.append((f"airtight solve energy {path} --all", "rates, cases, prices of the deadline"))
    next_step(console, *steps)


def _plans(rows: Sequence[EnergyResult], labels: Sequence[str]) -> None:
    """Print the rest of every plan: rate, case, gap, the published iterations, and the prices of the deadline."""
    headings = ("rate (Mbit/s)", "gap", "published iterations", "dE/dT (mW)", "dU/dT (1/s)", "case")
    table = Sheet(("devices", *headings), left=("devices", "case"))
    for k, row in enumerate(rows):
        table.add_row(
            labelled(k, labels),
            plain(row.rate / 1e6),
            f"{row.certificate.gap:.1g}",
            plain(row.published.iterations),
            _price(row.price.energy, 1e3),
            _price(row.price.utility),
            row.case,
        )
    console = screen()
    console.print(table)
    sentences = ["Prices are 0 where the deadline does not bind, and – where the plan is not optimal."]
    if any(row.price.energy.one_sided or row.price.utility.one_sided for row in rows):
        sentences.append("* degenerate: the price holds for a longer deadline, and another for a shorter one.")
    notes(console, sentences)


def _price(price: ShadowPrice, factor: float = 1.0) -> str:
    return plain(factor * price.rising) + ("*" if price.one_sided else "")


def quantizer(path: str, name: str, result: QuantizerResult) -> None:
    """Print the outputs of a quantizer, their probabilities at both ends and in the middle, and its certificate."""
    sentences = [
        f"Mean error {plain(result.mean_mse)}.",
        f"No alphabet of any size is below {rounded_down(result.lower_bound)}"
        f" ({'certified' if result.proved else 'not certified'}).",
    ]
    if result.bits_bound is not None:
        sentences.append(f"No alphabet of {2**result.bits} outputs is below {rounded_down(result.bits_bound)} (certified).")
    verdict = f"WORST ERROR {plain(result.worst_mse)} with {result.bits} bits (one bit, LDP-FL: {plain(result.ldp_mse)})."
    _law(path, name, [verdict, f"Epsilon {rounded_up(result.epsilon)}, exact, over all inputs."], result, sentences)


def pair(path: str, name: str, result: PairResult) -> None:
    """Print a quantizer for two clients in the same way."""
    verdict = (
        f"WORST ERROR {plain(result.worst_mse)} of a pair's sum with {result.bits} bits "
        f"(one bit each, CorBinQ: {plain(result.one_bit_mse)})."
    )
    against = (
        f"Epsilon {rounded_up(result.epsilon)}, exact, against one uplink; infinite against the server, which sees both."
    )
    _law(path, name, [verdict, against], result, [f"Mean error {plain(result.mean_mse)}."])


def _law(
    path: str, name: str, sentences: Sequence[str], result: QuantizerResult | PairResult, said: Sequence[str]
) -> None:
    console = screen()
    headline(console, name, sentences)
    places = (0, len(result.inputs) // 2, len(result.inputs) - 1)
    table = Sheet(("output", *(f"P(. | {plain(float(result.inputs[i]))})" for i in places)))
    for j, output in enumerate(result.outputs):
        table.add_row(plain(float(output)), *(plain(float(result.law[i, j])) for i in places))
    console.print(table)
    notes(console, said)
    next_step(console, (f"airtight train {path} --part federated", "test accuracy"))
