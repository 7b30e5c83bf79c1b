"""The report on a system file: its page, which grows with each finished part, the page of the audit, and JSON and CSV."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import latex2mathml.converter
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.report import downloads, live, numbers, rows, summary, tables
from airtight.report.drawing import drawings, inference_plots
from airtight.report.drawing.drawings import Drawn
from airtight.report.summary import Card
from airtight.report.verdicts import format_counts, severities
from airtight.report.verdicts import refuted as by_whom
from airtight.results import result
from airtight.results.antenna_table import STATES, AntennaTable
from airtight.results.bounds import Bounds
from airtight.results.energy import EnergyResult
from airtight.results.schema import as_json
from airtight.results.weights import Designs
from airtight.solvers import energy as energy_utility
from airtight.solvers.energy import schemes as energy_schemes
from airtight.solvers.energy.schemes import Comparison
from airtight.solvers.errors import InfeasibleError
from airtight.system_file.contents import SystemFile
from airtight.validate.claims.claim import FAILING, REFUTED, Severity, Verdict
from airtight.validate.claims.evidence import Evidence, Shipped
from airtight.validate.files import OutputFolder

if TYPE_CHECKING:
    from airtight.analytics.privacy.over_the_air.meter import Meter
    from airtight.validate.experiments.figures.gallery import Rendered

SCHEMA = "airtight-report-1"
_MOST = 40  # rows that a table of the page shows at most


@dataclass
class Parts:
    """The parts of a report; it can be written before all of them are computed.

    Attributes
    ----------
    description : SystemFile
    source : str
        Text of the system file.
    bounds : Bounds
    figures : dict
    designs, training, energy, audit, gallery : optional
    meter : Meter, optional
        Of the log of rounds that the report is asked to show.
    antennas : AntennaTable, optional
        The price of an antenna, over a channel whose looks are not given.
    trained : str
        Says how much shorter the training is than the description asks for.
    audited : str
        Says how the evidence was obtained.
    pending : list of str
        Names of the parts that are still to be computed.
    """

    description: SystemFile
    bounds: Bounds
    source: str = ""
    figures: dict[str, Drawn] = field(default_factory=dict)
    designs: dict[str, Designs] = field(default_factory=dict)
    training: dict[str, Any] | None = None
    trained: str = ""
    energy: EnergyPart | None = None
    antennas: AntennaTable | None = None
    audit: Shipped | None = None
    audited: str = ""
    gallery: Sequence[Rendered] = ()
    meter: Meter | None = None
    pending: Sequence[str] = ()

    def draw(self, drawn: Any) -> None:
        """Draw figures and add them."""
        self.figures |= {one.name: one for one in drawn}

    @property
    def cards(self) -> list[Card]:
        """The summary of each system for one look, computed once."""
        if not self._cards and self.bounds.inference is not None and not self.description.over_channel:
            known = self.bounds.inference.named(self.description.name)
            for name, system in self.description.systems.items():
                self._cards.append(summary.card(name, system, known[name], inference_plots.schemes(system)))
        return self._cards

    _cards: list[Card] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class EnergyPart:
    """What the template shows of a fleet: the plan of each device and the energy it saves, or why no plan exists."""

    rows: Sequence[EnergyResult | None]
    cut: Comparison | None = None
    infeasible: str | None = None

    @classmethod
    def of(cls, fleet: DeviceFleet) -> EnergyPart:
        """The optimum of a fleet beside the published solution and the benchmark."""
        try:
            solution = energy_utility.solve(fleet)
        except InfeasibleError as error:
            return cls([None] * fleet.devices, infeasible=str(error))
        printed = energy_utility.solve(fleet, method="published")
        cut = energy_schemes.compare(fleet, energy_schemes.benchmark_energy(fleet))
        return cls(EnergyResult.of(solution, printed), cut)


def write(out: Path, parts: Parts) -> None:
    """Write the pages, report.json, report.csv and figures/ in `out` with the finished parts; each file appears whole."""
    texts = {
        "report.json": json.dumps(tree(parts), indent=2, allow_nan=False),
        "report.csv": result.csv_of(parts.bounds.table(parts.description.name)),
        "index.html": secured(downloads.linked(render(parts))),
    }
    if parts.audit is not None:
        texts["audit.html"] = audit_page(parts.description.name, parts.audit.evidence, parts.audited, home=True)
    figures = {f"figures/{name}.svg": str(one.svg) for name, one in parts.figures.items()}
    figures |= {f"figures/{name}.csv": one.data for name, one in parts.figures.items()}
    figures |= {f"figures/{one.file}": one.markup for one in parts.gallery}
    with OutputFolder(out) as folder:
        folder.write(figures | texts)
        folder.remove(name for name in folder.files if name.startswith("figures/") and name not in figures)


def tree(parts: Parts) -> dict[str, Any]:
    """The report as JSON, which begins with version, schema and input."""
    audit = parts.audit
    contents: dict[str, Any] = {
        "schema": SCHEMA,
        "version": version("airtight-dp"),
        "date": edition()["date"],
        "name": parts.description.name,
        "input": parts.source,
        "pending": list(parts.pending),
        "bounds": parts.bounds,
        "weights": parts.designs,
    }
    if parts.energy is not None:
        contents["energy"] = parts.energy.rows
    if parts.antennas is not None:
        contents["antennas"] = parts.antennas
    if parts.meter is not None:
        contents["meter"] = parts.meter.summary()
    if parts.training is not None:
        contents |= {"training": parts.training, "trained": parts.trained}
    if audit is not None:
        contents |= {"seed": audit.seed, "effort": audit.effort, "verify": [e.as_json() for e in audit.evidence]}
    whole_tree: dict[str, Any] = as_json(contents)
    return whole_tree


NONE = "'none'"


def secured(html: str, *, scripts: str = "", workers: str = NONE) -> str:
    """The page with a policy: it loads nothing, sends nothing, and runs no script but those that it was made with.

    Parameters
    ----------
    html : str
    scripts : str
        Further sources of scripts, as the policy names them.
    workers : str
        Sources of workers.

    Examples
    --------
    >>> made = secured('<meta charset="utf-8"><script>1</script>')
    >>> "default-src 'none'" in made, made.count("sha256-")
    (True, 1)
    """
    texts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    sums = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts}
    allowed = " ".join([*sorted(sums), *scripts.split()]) or NONE
    rules = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {allowed}; worker-src {workers}"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{rules}; base-uri {NONE}; form-action {NONE}">'
    return html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}', 1)


def render(parts: Parts) -> str:
    """The page of the report as HTML, without its policy and the downloads of its tables."""
    description, bounds, cards = parts.description, parts.bounds, parts.cards
    selection = None if bounds.inference is None else bounds.inference.selection
    others = []
    if description.federated is not None and bounds.federated is not None:
        others.append(("CorBin-FL", summary.of_federation(description.federated, bounds.federated)))
    if parts.energy is not None:
        energy = parts.energy
        others.append(("Energy and utility", summary.of_fleet(energy.rows, energy.cut, energy.infeasible)))
    channel, begun, channels = {}, [], [s.channel for s in description.systems.values() if s.channel is not None]
    if bounds.inference is not None:
        known = bounds.inference.named(description.name)
        for name, system in description.systems.items():
            if system.channel is not None:
                channel[name] = summary.over_channel(system, known[name])
            begun.append(live.start(name, system, known[name].privacy))
    anchors = {
        "channel": (channel, "Channel"),
        "live": (begun, "Live"),
        "privacy": (cards, "Privacy"),
        "design": (parts.designs, "Design"),
        "frontier": ("frontier" in parts.figures, "Frontier"),
        "curves": (cards, "Curves"),
        "federated": (bounds.federated, "CorBin-FL"),
        "energy": (parts.energy, "Energy"),
        "meter": (parts.meter, "Budget"),
        "learning": (parts.training, "Learning"),
        "gallery": (parts.gallery, "Gallery"),
    }
    return (
        environment()
        .get_template("page.html")
        .render(
            title=description.name,
            **edition(),
            parts=[(anchor, label) for anchor, (there, label) in anchors.items() if there],
            pending=parts.pending,
            cards=cards,
            headline=bounds.headline,
            others=others,
            audit=None if parts.audit is None else _counted(parts.audit.evidence),
            starts=live.starts(begun) if begun else "",
            script=Markup(live.script(channels)) if begun else "",
            channel=channel,
            states=STATES,
            antennas=parts.antennas,
            selection=None if selection is None else tables.selection_rows(selection),
            designs=parts.designs,
            frontier="frontier" in parts.figures,
            plotted=drawings.plotted(description),
            plot=_plotter(parts.figures),
            most=_MOST,
            more=_more,
            training=tables.training_rows(parts.training) if parts.training else None,
            trained=parts.trained,
            energy=parts.energy,
            meter=tables.meter_rows(parts.meter) if parts.meter is not None else None,
            gallery=[(one.id, one.caption, Markup(one.markup)) for one in parts.gallery],
            federation=description.federated,
            federated=bounds.federated,
        )
    )


def _more(rows: Sequence[Any]) -> Markup:
    """The remark below a table that shows only the first of many rows."""
    if len(rows) <= _MOST:
        return Markup("")
    return Markup('<p class="small soft">{} more in <a href="report.json">report.json</a>.</p>').format(
        len(rows) - _MOST
    )


def _plotter(figures: dict[str, Drawn]) -> Any:
    """HTML of a figure with its caption and a link to its data; empty where the figure was not drawn."""

    def plot(name: str, caption: str) -> Markup:
        if name not in figures:
            return Markup("")
        text = '<figure id="figure-{}">{}<figcaption>{} <a href="figures/{}.csv">data</a></figcaption></figure>'
        return Markup(text).format(name, figures[name].svg, caption, name)

    return plot


def _counted(evidence: Sequence[Evidence]) -> dict[str, Any]:
    """The counts of the audit, for one line of the page."""
    refuted = sum(e.verdict in REFUTED for e in evidence)
    return {
        "claims": len(evidence),
        "papers": len({e.claim.paper for e in evidence}),
        "refuted": refuted,
        "severities": format_counts(severities(evidence)),
        "readings": sum(e.verdict is Verdict.OTHER_READING for e in evidence),
        "hold": sum(e.verdict in (Verdict.HOLDS, Verdict.HOLDS_UNDER) for e in evidence),
    }


def figure_index(figures: Sequence[Rendered]) -> str:
    """The page of the papers' figures: each with what the paper prints, what we find, and what the difference is about."""
    return secured(environment().get_template("figures.html").render(figures=figures, **edition()))


def audit_page(title: str, evidence: Sequence[Evidence], audited: str, *, home: bool) -> str:
    """The page of all verdicts, refuted ones first, with search and filters; `home` says whether a report stands beside it."""
    template = environment().get_template("audit.html")
    return secured(template.render(title=title, home=home, **edition(), audit=audited, **listed(evidence)))


def listed(evidence: Sequence[Evidence]) -> dict[str, Any]:
    """The values that the template of the verdicts needs."""
    refuted = [e for e in evidence if e.verdict in REFUTED]
    kinds = [kind.value for kind in Severity if kind in severities(evidence)]
    verdicts = [v.value for v in Verdict if any(e.verdict is v for e in evidence)]
    papers = list(dict.fromkeys(e.claim.paper for e in evidence))
    return {
        "evidence": evidence,
        "ordered": [*refuted, *(e for e in evidence if e.verdict not in REFUTED)],
        "refuted": refuted,
        "refuting": FAILING,
        "readings": sum(e.verdict is Verdict.OTHER_READING for e in evidence),
        "severities": f"{by_whom(evidence)}; {format_counts(severities(evidence))}" if refuted else "",
        "as_expected": sum(e.as_expected for e in evidence),
        "filters": {"verdict": verdicts, "severity": kinds, "paper": papers},
    }


def tried(out: Path, title: str, evidence: Sequence[Evidence], *, seed: int, effort: int) -> None:
    """Write index.html and evidence.json for the claims of one file."""
    audited = f"seed {seed}, {effort} evaluations a claim"
    evidence_text = json.dumps(as_json([e.as_json() for e in evidence]), indent=2, allow_nan=False)
    with OutputFolder(out) as folder:
        folder.write({"index.html": audit_page(title, evidence, audited, home=False), "evidence.json": evidence_text})


@cache
def environment() -> Environment:
    """The templates of the pages, with filters for numbers, formulas and prose."""
    templates = Environment(loader=PackageLoader("airtight.report"), autoescape=True, undefined=StrictUndefined)
    filters = (numbers.shown, numbers.small, numbers.above, numbers.below, numbers.probability)
    templates.filters |= {one.__name__: one for one in filters}
    templates.filters["mathml"] = cache(lambda latex: mathml(latex, "block"))
    templates.filters["prose"], templates.filters["marked"] = _prose, _marked
    templates.globals["truth"] = rows.truth
    return templates


def mathml(latex: str, display: str = "inline") -> Markup:
    """A formula as MathML; one that cannot be read, as the text that it is.

    Examples
    --------
    >>> mathml("x_{")
    Markup('<code>x_{</code>')
    """
    try:
        return Markup(latex2mathml.converter.convert(latex, display=display))
    except Exception:  # the converter has no common error, and a statement is any text
        return Markup("<code>") + escape(latex) + Markup("</code>")


def _marked(text: str) -> Markup:
    """A sentence with formulas between dollars as HTML."""
    return Markup("").join(mathml(part) if i % 2 else escape(part) for i, part in enumerate(text.split("$")))


def _prose(text: str) -> Markup:
    """A sentence as HTML; of a sentence in LaTeX the words become text, which can wrap, and only the formulas are MathML."""
    if "\\" not in text or re.search(r"\$", text):
        return escape(text)
    parts = re.split(r"\\text\{([^{}]*)\}", text)
    if any(part.count("{") != part.count("}") or r"\begin" in part for part in parts[::2]):
        parts = [text]
    shown = [
        escape(part) if i % 2 else mathml(part)
        for i, part in enumerate(parts)
        if part.strip()
    ]
    return Markup("").join(shown)


def edition() -> dict[str, str]:
    """Version and date of what is written."""
    return {"version": version("airtight-dp"), "date": datetime.now(UTC).strftime("%Y-%m-%d")}
