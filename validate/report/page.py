"""The page: scoreboard of claims, what each system really guarantees, plots, and each false claim with its witness."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import latex2mathml.converter
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from analytics.federated.device import DeviceFleet
from analytics.inference.system import InferenceSystem
from solvers import energy as energy_utility
from solvers.energy import schemes as energy_schemes
from solvers.energy.schemes import Comparison
from solvers.solution import InfeasibleError
from validate.claims.claim import REFUTED, Verdict
from validate.claims.evidence import Evidence
from validate.description import Description
from validate.experiments.figures import corbin, style
from validate.experiments.training import command
from validate.files import whole
from validate.report import energy_plots, federated_plots, plots, tables, training_plots
from validate.report.verdicts import severities
from validate.results.bounds import Bounds
from validate.results.energy import EnergyResult
from validate.results.inference import InferenceBounds
from validate.results.tree import as_json
from validate.results.weights import Designs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from validate.experiments.figures.gallery import Rendered


def write(
    out: Path,
    description: Description,
    bounds: Bounds,
    evidence: Sequence[Evidence],
    gallery: Sequence[Rendered] = (),
    *,
    audit: str = "",
) -> None:
    """Write index.html, report.json and figures/ into `out`; nothing is left behind half-written."""
    out.mkdir(parents=True, exist_ok=True)
    figures = {name: style.svg(figure) for name, figure in drawn(description, bounds).items()}
    training = None
    if description.training is not None:
        trained = command.train(description, command.servable(description), description.training)
        training = trained.tree
        if trained.runs:
            figures["accuracy-over-rounds"] = style.svg(training_plots.accuracy_over_rounds(trained.runs))
    designs = {
        name: Designs.of(system, description.task)
        for name, system in description.systems.items()
        if description.task is not None and description.task.fits(system)
    }
    results: dict[str, Any] = {"weights": designs, "bounds": bounds, "verify": [e.as_json() for e in evidence]}
    energy = None if description.energy is None else energy_part(description.energy)
    if energy is not None:
        results["energy"] = energy.rows
    if training is not None:
        results["training"] = training
    html = render(
        description,
        bounds,
        evidence,
        figures,
        designs=designs,
        training=training,
        energy=energy,
        gallery=gallery,
        audit=audit,
    )
    figures |= {one.id: one.svg for one in gallery}
    with tempfile.TemporaryDirectory(dir=out) as staged_name:
        staged = Path(staged_name)
        (staged / "figures").mkdir()
        for name, text in figures.items():
            (staged / "figures" / f"{name}.svg").write_text(text, encoding="utf-8")
        (staged / "report.json").write_text(json.dumps(as_json(results), indent=2, allow_nan=False), encoding="utf-8")
        (staged / "index.html").write_text(html, encoding="utf-8")
        shutil.rmtree(out / "figures", ignore_errors=True)
        for name in ("figures", "report.json", "index.html"):
            os.replace(staged / name, out / name)


def drawn(description: Description, bounds: Bounds) -> dict[str, Figure]:
    """The plots of everything that is described, by name."""
    figures = {}
    if description.inference is not None:
        useful = next(iter(description.variants.values()), description.inference)
        figures = {
            "privacy-curves": plots.privacy_curves(useful),
            "epsilon-against-dimension": plots.epsilon_against_dimension(useful),
            "epsilon-against-participation": plots.amplification_of_epsilon(useful),
        }
        if description.task is not None:
            figures["mse-breakdown"] = plots.mse_breakdown(parts(description, bounds))
            figures["trade-off"] = plots.trade_off(useful, description.task.features)
        if bounds.inference is not None and bounds.inference.selection is not None:
            figures["participation"] = plots.participation_bounds(bounds.inference.selection)
    if description.federated is not None:
        figures["mse-surfaces"] = corbin.mse_surfaces()
        figures["mse-against-epsilon"] = federated_plots.mse_against_epsilon(description.federated)
        figures["central-against-clients"] = federated_plots.central_against_clients(description.federated)
    if description.energy is not None and np.all(description.energy.feasible):
        figures["energy-against-path-loss"] = energy_plots.energy_against_path_loss(description.energy)
        figures["policy-against-path-loss"] = energy_plots.policy_against_path_loss(description.energy)
        figures["utility-is-not-concave"] = energy_plots.utility_is_not_concave(description.energy)
        figures["where-theorem-2-fails"] = energy_plots.where_theorem_2_fails(description.energy)
    return figures


@dataclass(frozen=True)
class EnergyPart:
    """What the template shows of a fleet: what each device should do and what that saves, or why there is nothing."""

    rows: Sequence[EnergyResult | None]
    cut: Comparison | None = None
    infeasible: str | None = None


def energy_part(fleet: DeviceFleet) -> EnergyPart:
    """The optimum of the fleet beside the published solution and the benchmark."""
    try:
        found = energy_utility.solve(fleet)
    except InfeasibleError as error:
        return EnergyPart([None] * fleet.devices, infeasible=str(error))
    printed = energy_utility.solve(fleet, method="published")
    cut = energy_schemes.compare(fleet, energy_schemes.benchmark_energy(fleet))
    return EnergyPart(EnergyResult.of(found, printed), cut)


def parts(description: Description, bounds: Bounds) -> dict[str, InferenceBounds]:
    """What is known of the inference system and of each variant, by name."""
    return {} if bounds.inference is None else bounds.inference.named(description.name)


def render(
    description: Description,
    bounds: Bounds,
    evidence: Sequence[Evidence],
    figures: dict[str, str],
    *,
    designs: dict[str, Designs],
    training: dict[str, Any] | None = None,
    energy: EnergyPart | None = None,
    gallery: Sequence[Rendered] = (),
    audit: str = "",
) -> str:
    """The page as HTML."""
    known = parts(description, bounds)
    systems = [_shown(name, system, known[name]) for name, system in description.systems.items()]
    selection = None if bounds.inference is None else bounds.inference.selection
    refuted = [e for e in evidence if e.verdict in REFUTED]
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=description.name,
            **_edition(),
            evidence=evidence,
            counts={v: sum(e.verdict is v for e in evidence) for v in Verdict},
            severities=severities(evidence),
            as_expected=sum(e.as_expected for e in evidence),
            audit=audit,
            systems=systems,
            refuted=refuted,
            selection=None if selection is None else tables.selection_rows(selection),
            designs=designs,
            plotted=next(iter(description.variants), description.name),
            training=tables.training_rows(training) if training else None,
            energy=energy,
            gallery=[(one.id, one.caption, Markup(one.svg)) for one in gallery],
            federation=description.federated,
            federated=bounds.federated,
            figures={name: Markup(text) for name, text in figures.items()},
        )
    )


def tried(out: Path, title: str, evidence: Sequence[Evidence], *, seed: int, effort: int) -> None:
    """Write index.html and evidence.json for the claims of one file."""
    refuted = [e for e in evidence if e.verdict in REFUTED]
    told = {
        "title": title,
        "evidence": evidence,
        "refuted": refuted,
        "audit": f"seed {seed}, {effort} evaluations a claim",
        **_edition(),
    }
    out.mkdir(parents=True, exist_ok=True)
    found = json.dumps(as_json([e.as_json() for e in evidence]), indent=2, allow_nan=False)
    for name, text in (
        ("index.html", _environment().get_template("tried.html").render(told)),
        ("evidence.json", found),
    ):
        with whole(out / name) as stream:
            stream.write(text.encode())


def _environment() -> Environment:
    made = Environment(loader=PackageLoader("validate.report"), autoescape=True, undefined=StrictUndefined)
    made.filters["number"] = tables.number
    made.filters["mathml"] = lambda latex: Markup(latex2mathml.converter.convert(latex, display="block"))
    return made


def _edition() -> dict[str, str]:
    return {"version": version("airtight-dp"), "date": datetime.now(UTC).strftime("%Y-%m-%d")}


@dataclass(frozen=True)
class _Shown:
    """What the template shows of one system."""

    name: str
    bounds: InferenceBounds
    rows: list[tuple[str, tuple[float, ...]]]
    idle_noise: bool
    facts: dict[str, int | str]


def _shown(name: str, system: InferenceSystem, bounds: InferenceBounds) -> _Shown:
    facts: dict[str, int | str] = {
        "devices": system.devices,
        "participation": _span(system.participation.tolist()),
        "noise variance": _span(system.noise_variance.tolist()),
        "weight × clip": _span((system.weight * system.clip).tolist()),
        "receiver noise variance": tables.number(system.receiver_noise_variance),
        "dimension": system.dimension,
    }
    return _Shown(name, bounds, tables.privacy_rows(bounds.privacy), system.idle_noise, facts)


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return tables.number(low) if low == high else f"{tables.number(low)} … {tables.number(high)}"
