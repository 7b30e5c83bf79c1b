"""Writes the generated pages of the documentation: ``python -m airtight.validate.report.document docs [ID ...]``.

These are the ledger, the twins, the parameters, the reference of modules, the JSON schema and the sums of the certificates. With
identifiers of claims only these claims are tried anew; the others keep the evidence that is shipped.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.parameters import of
from airtight.validate import papers
from airtight.validate.claims import audit, shipped_evidence
from airtight.validate.claims.certificates import writing
from airtight.validate.claims.claim import Claim, Item, Paper, Verdict
from airtight.validate.claims.evidence import Evidence, How
from airtight.validate.claims.relation import Sign
from airtight.validate.claims.sources import INSTALLED
from airtight.validate.claims.statement import Standing, standing
from airtight.validate.files import whole
from airtight.validate.report.reference import reference
from airtight.validate.report.rows import box, computed, witnessed
from airtight.validate.report.tables import number
from airtight.validate.report.verdicts import known, numbered, severities, told
from airtight.validate.results import schema
from airtight.validate.twins.catalogue import twins
from airtight.validate.twins.twin import Twin, Worst, worst


def ledger(evidence: Sequence[Evidence], tried: Sequence[Paper]) -> dict[str, str]:
    """Pages of the ledger by file name: an index, and for each paper a table of its items with the evidence of each verdict.

    Examples
    --------
    >>> pages = ledger(list(audit.run(["FDP-D2"])), [INSTALLED.papers()["feature-dp"]])
    >>> list(pages)
    ['ledger.md', 'ledger/feature-dp.md']
    """
    made = {"ledger.md": _index(evidence, tried)}
    corrects: dict[str, list[str]] = {}
    for e in evidence:
        corrects.setdefault(e.claim.ruling.corrected_by, []).append(e.claim.id)
    for paper in tried:
        here = [e for e in evidence if e.claim.paper == paper.id]
        lines = [
            f"# {paper.title}",
            "",
            f"{paper.authors}, {paper.year}. Terms and all papers: [the ledger](../ledger.md).",
            "",
        ]
        lines += ["| item | where | verdict | severity | why |", "|---|---|---|---|---|"]
        lines += [row(e) for e in here]
        lines += [
            _cells(r.id, r.location, f"see {e.claim.id}", "", "")
            for e in evidence
            for r in e.claim.also
            if r.paper == paper.id
        ]
        lines += [_cells(i.id, i.location, f"**{i.verdict.value}**", "", i.reason) for i in paper.items]
        for e in here:
            lines += ["", f"## {e.claim.id}", "", "$$" + e.claim.statement + "$$", ""]
            lines += [*computed(e.claim), *_source(e.claim), *box(e.claim), *_evidence(e)]
            if e.claim.id in corrects:
                lines += ["", f"Corrects {', '.join(corrects[e.claim.id])}."]
        made[f"ledger/{paper.id}.md"] = "\n".join(lines) + "\n"
    return made


def _index(evidence: Sequence[Evidence], tried: Sequence[Paper]) -> str:
    """What the words of the ledger mean, and the verdicts of each paper, counted."""
    lines = [
        "# The ledger",
        "",
        "The ledger lists every numbered item of the papers, and each sentence between them that a computation can decide. "
        "Each item has a verdict, and each verdict says on what it rests ({doc}`claims`). "
        '<a href="ledger/index.html">Search all claims</a>, or choose a paper:',
        "",
    ]
    verdicts = [
        Counter([e.verdict for e in evidence if e.claim.paper == paper.id] + [item.verdict for item in paper.items])
        for paper in tried
    ]
    shown = [verdict for verdict in Verdict if any(counts[verdict] for counts in verdicts)]
    lines += [
        f"| paper | items | {' | '.join(verdict.value for verdict in shown)} |",
        "|---|" + "---|" * (1 + len(shown)),
    ]
    for paper, counts in zip(tried, verdicts, strict=True):
        cells = " | ".join(str(counts[verdict] or "") for verdict in shown)
        lines.append(f"| [{paper.title}](ledger/{paper.id}.md) | {counts.total()} | {cells} |")
    items = [item for paper in tried for item in paper.items]
    lines += ["", _count(evidence, items), "", _GLOSSARY, _compared(evidence), ""]
    lines += ["`make ledger` writes these pages from what `airtight verify --all` finds.", ""]
    lines += ["```{toctree}", ":hidden:", "", *(f"ledger/{paper.id}" for paper in tried), "```"]
    return "\n".join(lines) + "\n"


def row(e: Evidence) -> str:
    """What the ledger page says of a claim in its table: how it is known, and the verdict."""
    claim = e.claim
    severity = claim.ruling.severity.value if claim.ruling.severity else ""
    return _cells(claim.id, claim.location, f"**{e.said}**", severity, claim.reason)


def _cells(*texts: str) -> str:
    """A row of a table in Markdown; a bar inside a cell is escaped."""
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"


def _compared(evidence: Sequence[Evidence]) -> str:
    """How many statements are known to be what is tried."""
    closed = [e.claim for e in evidence if e.claim.provable.symbolic and e.claim.implementation is None]
    found = [standing(claim) for claim in closed]
    derived, compared, partly = (found.count(kind) for kind in (Standing.DERIVED, Standing.COMPARED, Standing.PARTLY))
    return (
        f"Of {len(closed)} statements that have a closed form {derived} are made from the expressions that are tried, {compared} "
        f"are read back from their LaTeX and compared with them at random points, {partly} on one side; the others say why "
        "not. Where a side is computed by code, the other is compared if it is written out."
    )


def _source(claim: Claim) -> list[str]:
    """Of code: where it stands, what it promises, how to mend it."""
    code = claim.implementation
    if code is None:
        return []
    mend = f" To mend it: {code.mend}" if code.mend else ""
    return [
        f"`{code.repository}` {code.commit[:12]}, `{code.file}`, `{code.function}`. Promised: {code.promise}{mend}",
        "",
    ]


def _count(evidence: Sequence[Evidence], others: Sequence[Item]) -> str:
    verdicts = [e.verdict for e in evidence] + [item.verdict for item in others]
    counts = [f"{verdicts.count(verdict)} {verdict.value}" for verdict in Verdict if verdict in verdicts]
    return (
        f"{len(verdicts)} items: {', '.join(counts)}. The claims by how they are known: {told(known(evidence))}. The refuted "
        f"claims by what fails: {told(severities(evidence))}; {len(numbered(evidence))} distinct numbered statements fail."
    )


_GLOSSARY = """\
holds
: No violation was met and the trial came near to one, or the statement is proved. The words before the verdict say which.

false, ill-defined
: The statement fails at a witness: parameters of few digits at which the violation is proved in ball arithmetic. Ill-defined
  means that one side has no value there.

other-reading
: The statement is true as the authors may mean it and false in the plain reading. It counts neither as true nor as refuted.

severity
: What fails. A *theorem* is a numbered statement that fails in the authors' own model. A *step* is a step of a proof or a
  remark, whose conclusion may stand. A *misprint* is put right by its context. An *experiment* is a number of a figure. Of code,
  a *guarantee* is a promise that the law of its output does not keep, *rounding* a promise that only its arithmetic breaks.

tightness
: The best ratio of the two sides that was met, 1 for a bound that is attained. Quantities are in the unit of the statement.
"""


def _evidence(e: Evidence) -> list[str]:
    """Paragraphs: what was found, where it fails, what is true instead."""
    claim = e.claim
    said = f"**{e.said}**" + (f" ({e.fault})" if e.fault else "")
    if e.witness is None:
        if claim.relation.sign is Sign.EQUAL:
            if e.how is How.IDENTITY:
                return [f"{said}: an identity, by SymPy; both sides agree at all {e.evaluations} points too."]
            return [f"{said}: both sides agree at all {e.evaluations} points ({e.how.value}).{_by_hand(e)}"]
        least = (
            f"tightness {e.tightness:.4g}"
            if claim.scale.name == "ratio"
            else f"nearest {e.margin:.4g} {claim.scale.unit}"
        )
        at = ", ".join(f"`{name} = {value:.6g}`" for name, value in e.tightest.items())
        many = "all" if e.how is How.ENUMERATED else "among"
        proved = f" {'Its form is proved' if e.form else 'Proved'} on {e.boxes} boxes." if e.boxes is not None else ""
        return [f"{said}: {least} {many} {e.evaluations} points{', at ' + at if at else ''}.{proved}{_by_hand(e)}"]
    proof = "certified in ball arithmetic" if e.witness.certified else "not certified"
    found = [f"{said}: {witnessed(claim, e.witness)} ({proof})."]
    if e.near_paper is not None:  # the simplest witness may be degenerate: it comes second
        near = f"nearest to the paper's own parameters, {witnessed(claim, e.near_paper)}"
        found = [f"{said}: {near}.", "", f"Simplest: {witnessed(claim, e.witness)} ({proof})."]
    elif isinstance(claim.near, str) and claim.near:
        found += ["", f"The paper's own parameters: {claim.near}."]
    if e.extent is not None and claim.domain:
        regime = "" if e.extent.regime is None else f", on {e.extent.regime:.0%} of the paper's regime"
        what = "a factor of " if claim.scale.name == "ratio" else ""
        chosen = ", chosen where it fails" if claim.chosen else ""
        worst = f"by {what}{number(e.extent.median)} in the median, {number(e.extent.worst)} at worst"
        found += [
            "",
            f"It fails on {e.extent.domain:.0%} of the domain{chosen}{regime}, {worst}.",
        ]
    if claim.ruling.true_where:
        found += ["", f"True where: {_typeset(claim.ruling.true_where)}."]
    if claim.ruling.corrected_by:
        reading = claim.expected is Verdict.OTHER_READING
        found += ["", f"{'True as' if reading else 'Corrected by'} {claim.ruling.corrected_by}."]
    elif claim.ruling.uncorrected:
        found += ["", f"No row corrects it: {claim.ruling.uncorrected}."]
    return found


def _by_hand(e: Evidence) -> str:
    """Where the proof stands that a row is known by."""
    if e.how is not How.ARGUED:
        return ""
    page = e.claim.argued.removeprefix("docs/")
    return f" [Proof by hand](../{page})." if "#" in page else f" Proof by hand: {{py:func}}`{page}`."


def _typeset(text: str) -> str:
    return f"${text}$" if "\\" in text else text


def agreement(found: Sequence[tuple[str, Twin, Worst]]) -> str:
    """The page of the symbolic twins: the worst relative error of every numeric function.

    Examples
    --------
    >>> twin = twins()["alpha"]
    >>> "| alpha |" in agreement([("alpha", twin, worst(twin, samples=5))])
    True
    """
    lines = [
        "# Numeric against symbolic",
        "",
        "Generated by `make ledger`. Every closed form exists as a SymPy expression in `airtight.analytics.forms`; here is "
        "the worst relative "
        "error of the numeric function among random points of its whole domain (ends and extremes often), the "
        "expression evaluated to "
        "50 digits. Where terms cancel, the error is relative to the largest term. The test suite does the same with hypothesis.",
        "",
        "| form | source | face | worst relative error | points |",
        "|---|---|---|---|---|",
    ]
    for name, twin, result in found:
        form = twin.form
        lines.append(f"| {name} | {form.source} | {form.face.value} | {result.error:.1e} | {result.samples} |")
    return "\n".join(lines) + "\n"


def parameters() -> str:
    """The page of the value types: every parameter with symbol, unit, interval and what the papers use.

    Examples
    --------
    >>> "| `clip` | $C_k$ |" in parameters()
    True
    """
    lines = [
        "# Parameters",
        "",
        "Generated by `make ledger` from the value types, as the checks and the system file are.",
    ]
    for title, kind in (("[inference]", InferenceSystem), ("[federated]", FederatedSystem), ("[energy]", DeviceFleet)):
        lines += [
            "",
            f"## `{title}`",
            "",
            "| key | symbol | meaning | holds | allowed | unit | in the papers | default |",
        ]
        lines.append("|---|---|---|---|---|---|---|---|")
        for p in of(kind).values():
            symbol = "${}$".format(p.symbol.replace("|", r"\vert ")) if p.symbol else ""  # a bar ends a cell
            typical = "" if p.typical is None else " to ".join(dict.fromkeys(f"{x:.6g}" for x in p.typical))
            default = "" if p.required else str(p.default)
            lines.append(
                f"| `{p.name}` | {symbol} | {p.meaning} | {p.holds} | {p.interval} | {p.unit} | {typical} | {default} |"
            )
    return "\n".join(lines) + "\n"


def main(folder: str, names: Sequence[str] = ()) -> None:
    """Try the named claims, or all of them, and write the pages.

    Where claims are named the twins are not compared again: their page stays as it is.
    """
    by_id = {e.claim.id: e for e in shipped_evidence.shipped().evidence} if names else {}
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        by_id |= {e.claim.id: e for e in audit.run(names, executor=pool)}
        sums = writing.published(pool)
    if missing := [name for name in INSTALLED.claims() if name not in by_id]:
        raise ParameterError("ID", " ".join(names), f"also {', '.join(missing)}, of which there is no evidence yet")
    ordered = [by_id[name] for name in INSTALLED.claims()]
    made = {
        **ledger(ordered, list(INSTALLED.papers().values())),
        "parameters.md": parameters(),
        "reference.md": reference(),
        "schema.json": schema.text(),
        "certificates.sha256": sums,
    }
    if not names:
        made["twins.md"] = agreement([(name, twin, worst(twin, samples=300)) for name, twin in twins().items()])
    pages = {Path(folder) / name: text for name, text in made.items()}
    pages[Path(papers.__file__).parent / shipped_evidence.NAME] = shipped_evidence.text(ordered)
    for path, text in pages.items():
        path.parent.mkdir(exist_ok=True)
        with whole(path) as stream:
            stream.write(text.encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
