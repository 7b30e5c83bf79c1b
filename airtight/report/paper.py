r"""The true statements of a paper with hypotheses and proofs, in LaTeX: ``airtight paper``.

The proved statements come first, in the order of the paper, each with the statements that it corrects. Then follow statements
that were tried and not proved, and refuted statements that no true one replaces. Proofs are those of the documentation
(:mod:`airtight.validate.claims.proofs`).

The proofs are written in a subset of Markdown, which :class:`Latex` converts.

Paragraphs, lists, headings, ``$...$``, ``$$...$$``, emphasis, code, links and Sphinx roles are converted. A link to a DOI
becomes a citation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from airtight.report.rows import box, computed, hypotheses, witnessed
from airtight.validate.claims import audit, proofs
from airtight.validate.claims.claim import FAILING, REFUTED, Paper, Verdict
from airtight.validate.claims.evidence import Evidence, How, shipped
from airtight.validate.claims.proofs import Section
from airtight.validate.claims.sources import INSTALLED, Source
from airtight.validate.files import OutputFolder

_SPECIAL = {
    **{c: f"\\{c}" for c in "&%#{}"},
    "_": r"\_\allowbreak{}",
    "/": r"/\allowbreak{}",
    **{c: f"${c}$" for c in "<>|"},
    "$": r"\$",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    '"': "''",
    "∎": "",
    "\0": "*",
}
_LINE = 160  # characters of a formula in a paragraph; a longer one is displayed
_DOI = "https://doi.org/"
_INLINE = re.compile(
    r"\$\$(?P<display>.+?)\$\$"
    r"|\$(?P<math>.+?)\$"
    r"|\{(?P<role>[\w:]+)\}`(?P<target>[^`]+)`"
    r"|`(?P<code>[^`]+)`"
    r"|\*\*(?P<strong>(?=\S).+?)\*\*"
    r"|(?<!\w)\*(?P<emphasis>(?=\S).+?(?<=\S))\*(?!\w)"
    r"|\[(?P<text>[^\]]+)\]\((?P<url>[^)\s]+)\)",
    re.S,
)


def escaped(text: str) -> str:
    r"""Plain text with every special character of LaTeX escaped.

    Examples
    --------
    >>> escaped("w_k <= 5 %")
    'w\\_\\allowbreak{}k $<$= 5 \\%'
    """
    return "".join(_SPECIAL.get(c, c) for c in text)


@dataclass
class Latex:
    """Converts Markdown to LaTeX and collects the works that it cites.

    Attributes
    ----------
    cited : dict of str to str
        Text of every link to a DOI, by DOI.
    refer : callable
        Maps a label of the documentation to its reference in the document, or to None where the document has none.
    """

    refer: Callable[[str], str | None] = lambda label: None
    cited: dict[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        r"""Convert all blocks of a text.

        Examples
        --------
        >>> Latex()("**So** $a_1$, of `f`:\n\n- one\n- two")
        '\\textbf{So} $a_1$, of \\texttt{f}:\n\n\\begin{itemize}\n\\item one\n\\item two\n\\end{itemize}'
        """
        return "\n\n".join(self._block(block) for block in re.split(r"\n\s*\n", text.strip()) if block.strip())

    def _block(self, block: str) -> str:
        if heading := re.match(r"#+ (.*)", block):
            rest = block[heading.end() :].strip()
            return f"\\paragraph{{{self.inline(heading[1])}}}" + (f"\n{self(rest)}" if rest else "")
        if block.startswith("- "):
            items = re.split(r"^- ", block, flags=re.M)[1:]
            list_items = "".join(f"\\item {self.inline(' '.join(item.split()))}\n" for item in items)
            return f"\\begin{{itemize}}\n{list_items}\\end{{itemize}}"
        return self.inline(block)

    def inline(self, text: str) -> str:
        """Convert the text of one paragraph."""
        converted, end, text = "", 0, text.replace("\\*", "\0")
        for element in _INLINE.finditer(text):
            converted += escaped(text[end : element.start()]) + self._part(element)
            end = element.end()
        return converted + escaped(text[end:])

    def _part(self, element: re.Match[str]) -> str:
        group = element.lastgroup
        if group == "display":
            return f"\n\\fit{{{element['display'].strip()}}}\n"
        if group == "math":
            long = len(element["math"]) > _LINE
            return f"\n\\fit{{{element['math']}}}\n" if long else f"${element['math']}$"
        if group == "target":
            return self._role(element["role"], element["target"])
        if group == "code":
            return f"\\texttt{{{escaped(element['code'])}}}"
        if group == "url":
            return self._link(element["text"], element["url"])
        command, inner = ("textbf", element["strong"]) if group == "strong" else ("emph", element["emphasis"])
        return f"\\{command}{{{self.inline(inner)}}}"

    def _role(self, role: str, target: str) -> str:
        label, _, address = target.rpartition(" <")
        address = address.rstrip(">")
        if role == "ref" and (reference := self.refer(address)) is not None:
            return reference
        if role == "doc":
            return f"the page \\texttt{{{escaped(address)}}} of the documentation"
        return self.inline(label) if label else f"\\texttt{{{escaped(address.lstrip('~'))}}}"

    def _link(self, text: str, url: str) -> str:
        if not url.startswith(_DOI):
            return f"{self.inline(text)} (\\url{{{url}}})"
        doi = url.removeprefix(_DOI)
        self.cited[doi] = " ".join(text.split())
        return f"{self.inline(text)}~\\cite{{{key(doi)}}}"


def key(doi: str) -> str:
    """The citation key of a DOI."""
    return re.sub(r"[^\w]+", "-", doi)


def entry(doi: str, text: str) -> str:
    """BibTeX entry of a work whose link text is "A. Author, B. Author, Journal volume, year".

    Examples
    --------
    >>> print(entry("10.1000/1", "D. Slepian, Bell Syst. Tech. J. 41, 1962"))
    @misc{10-1000-1,
      author = {D. Slepian},
      howpublished = {Bell Syst. Tech. J. 41},
      year = {1962},
      note = {doi: 10.1000/1},
    }
    """
    parts = text.split(", ")
    authors = [part for part in parts if re.match(r"([A-Z]\.[ -]?)+ ?[A-Z]", part)]
    year = next((part for part in reversed(parts) if re.fullmatch(r"\d{4}", part)), "")
    where = ", ".join(part for part in parts if part not in (*authors, year))
    fields = {"author": " and ".join(authors), "howpublished": escaped(where), "year": year, "note": f"doi: {doi}"}
    return f"@misc{{{key(doi)},\n" + "".join(f"  {n} = {{{v}}},\n" for n, v in fields.items() if v) + "}"


_HEAD = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=2.6cm]{geometry}
\usepackage{amsmath,amssymb,amsthm,graphicx}
\usepackage[hidelinks]{hyperref}
\newtheorem{theorem}{Theorem}
\theoremstyle{definition}
\newtheorem{tried}{Tried}
\newtheorem{refuted}{Refuted}
\newtheorem{read}{Read otherwise}
\theoremstyle{remark}
\newtheorem*{corrects}{Corrects}
\newtheorem*{reads}{False in another reading}
% A formula that is wider than the line is made smaller.
\newcommand{\fit}[1]{\sbox0{$\displaystyle #1$}%
\ifdim\wd0>\linewidth\[\resizebox{\linewidth}{!}{\usebox0}\]\else\[\usebox0\]\fi}
\providecommand{\mathscr}{\mathcal}
\emergencystretch=3em
"""
_BY_MACHINE = {
    How.IDENTITY: "Computer algebra (SymPy) brings the difference of both sides to 0, and both have a value everywhere in the "
    "domain.",
    How.PROVED: "By machine, in ball arithmetic{boxes}: on each box of a cut of the domain by an enclosure of the difference of "
    "both sides or of its factors, by the signs of slopes, or by the mean value theorem.",
    How.ENUMERATED: "The domain is finite, and the statement was tried at each of its {evaluations} points.",
}
_FORM = " This is of the formula; the algorithm that computes the quantities agrees with it at all {evaluations} points tried."
_IN_COQ = "In Coq, whose kernel accepts the theorem {theorem}; the proof by hand says how it reads the statement."
_CHAIN = "By machine: a chain of lemmas and cases, each by computer algebra (SymPy) or in ball arithmetic{boxes}."


def _written(e: Evidence) -> str:
    """Where a proof by hand stands of what is argued, or proved by machine as well."""
    return e.claim.argued if e.how in (How.ARGUED, How.PROVED, How.IDENTITY) else ""


def _by_machine(e: Evidence) -> str:
    if e.in_coq:
        return escaped(_IN_COQ.format(theorem=e.claim.coq))
    method = _CHAIN if e.claim.derivation is not None and e.how is How.PROVED else _BY_MACHINE[e.form or e.how]
    said = method.format(boxes=f", on {e.boxes} boxes" if e.boxes else "", evaluations=e.evaluations)
    part = f" This is of a part of the statement. {e.claim.reason}" if e.by_hand else ""
    return escaped(said + part + (_FORM.format(evaluations=e.evaluations) if e.form else ""))


@dataclass
class _Document:
    """The LaTeX document while it is written."""

    paper: Paper
    evidence: Sequence[Evidence]
    known: dict[str, Section]
    certified: str  # the command that writes certificates
    used: dict[str, Section] = field(default_factory=dict)
    latex: Latex = field(init=False)

    def __post_init__(self) -> None:
        self.latex = Latex(self.refer)

    def refer(self, label: str) -> str | None:
        """A link to a section of this document; a section that is not yet in it is appended at the end."""
        if label not in self.known:
            return None
        self.used.setdefault(label, self.known[label])
        return f"\\hyperref[{label}]{{{escaped(self.known[label].heading)}}}"

    def text(self) -> str:
        """The whole document without its bibliography."""
        stands = [e for e in self.evidence if e.verdict not in FAILING]
        true = [e for e in stands if e.verdict is not Verdict.UNSETTLED and (e.how is not How.SEARCHED or e.form)]
        only_searched = [e for e in stands if e not in true]
        in_paper = {e.claim.id for e in self.evidence}
        refuted = [e for e in self.evidence if e.verdict in REFUTED and e.claim.ruling.corrected_by not in in_paper]
        read = [
            e for e in self.evidence if e.verdict is Verdict.OTHER_READING and e.claim.ruling.corrected_by not in in_paper
        ]
        parts = [
            ("What is true", self.theorems(true)),
            ("Tried, not proved", [self.plain("tried", e) for e in only_searched]),
            ("Refuted", [self.plain("refuted", e) for e in refuted]),
            ("False in another reading only", [self.plain("read", e) for e in read]),
        ]
        body = [f"\\section{{{title}}}\n\n" + "\n\n".join(paragraphs) for title, paragraphs in parts if paragraphs]
        if rest := self.rest({e.claim.argued.partition("#")[2] for e in true}):
            body.append(f"\\section{{What proofs rest on}}\n\n{rest}")
        return "\n\n".join([self.opening(), *body])

    def opening(self) -> str:
        """Title, purpose of the document, and notation."""
        paper = self.paper
        of = f"{paper.title}, {paper.authors}, {paper.year}".replace(", ,", ",")
        preambles = dict.fromkeys(s.preamble for s in self.known.values() if s.preamble)
        notation = "\\section{Notation}\n\n" + "\n\n".join(map(self.latex, preambles)) if preambles else ""
        return (
            f"\\title{{What is true of\\\\ {escaped(paper.title)}}}\n\\author{{airtight {escaped(version('airtight-dp'))}}}\n"
            f"\\date{{}}\n\\maketitle\n\n"
            f"The statements of {escaped(of)}~\\cite{{paper}}, as far as they are true, with hypotheses and proofs, and what "
            f"they correct. Identifiers are those of the ledger of airtight~\\cite{{airtight}}; \\texttt{{"
            f"{escaped(self.certified)}}} writes certificates that one file of plain Python rebuilds.\n\n{notation}"
        ).strip()

    def theorems(self, evidence: Sequence[Evidence]) -> list[str]:
        """One theorem for each proof; it states all claims that the proof covers."""
        groups: dict[str, list[Evidence]] = {}
        for e in evidence:
            groups.setdefault(_written(e) or e.claim.id, []).append(e)
        return [self.theorem(rows) for rows in groups.values()]

    def theorem(self, rows: Sequence[Evidence]) -> str:
        """One theorem: hypotheses, statements, proof, and the statements that it corrects."""
        first = rows[0]
        section = proofs.of(first.claim, self.known) if _written(first) else None
        names = ", ".join(e.claim.id for e in rows)
        label = f"\\label{{{section.label}}}" if section else ""
        hypotheses_text = self.latex(section.hypotheses) if section else self.domain(first)
        lines = [f"\\begin{{theorem}}[{{{escaped(names)}}}]{label}"]
        lines += [f"\\emph{{Hypotheses.}} {hypotheses_text}"] if hypotheses_text else []
        lines += [self.statement(e) for e in rows]
        lines += ["\\end{theorem}", "\\begin{proof}", self.proof(rows, section), "\\end{proof}"]
        lines += [self.corrected(e) for e in rows]
        return "\n".join(line for line in lines if line)

    def proof(self, rows: Sequence[Evidence], section: Section | None) -> str:
        """The proof by hand, and which of the rows a machine proves as well."""
        if section is None:
            first = rows[0]
            return f"It stands in {escaped(first.claim.argued)}." if first.how is How.ARGUED else _by_machine(first)
        known = [f"{escaped(e.claim.id)}: {_by_machine(e)}" for e in rows if e.how is not How.ARGUED]
        return "\n\n".join([self.latex(section.body), *known])

    def domain(self, e: Evidence) -> str:
        """The domain, outside of which nothing is claimed, and further hypotheses."""
        return self.latex(" ".join([*box(e.claim), *hypotheses(e.claim)]).strip())

    def statement(self, e: Evidence) -> str:
        """A formula, its place in the paper, and the meaning of its symbols."""
        opening = [f"\\textbf{{{escaped(e.claim.id)}}} ({escaped(e.claim.location)}).", f"\\fit{{{e.claim.statement}}}"]
        return "\n".join([*opening, self.latex("\n".join(computed(e.claim)).strip())]).strip()

    def corrected(self, e: Evidence) -> str:
        """The refuted statements that this one replaces, and those that are true only in the reading of this one."""
        wrong = [o for o in self.evidence if o.claim.ruling.corrected_by == e.claim.id]
        kinds = [(o, "reads" if o.verdict is Verdict.OTHER_READING else "corrects") for o in wrong]
        return "\n".join(f"\\begin{{{kind}}}\n{self.refutation(o)}\n\\end{{{kind}}}" for o, kind in kinds)

    def refutation(self, e: Evidence) -> str:
        """A refuted statement, the reason why it fails, and its witness."""
        paragraphs = [self.statement(e), escaped(e.claim.reason) if e.as_expected else ""]
        if e.witness is not None:
            proved = ", proved in ball arithmetic" if e.witness.certified else ""
            paragraphs.append(self.latex(f"It fails{proved}: {witnessed(e.claim, e.witness)}."))
        if e.claim.ruling.uncorrected:
            paragraphs.append(escaped(f"No statement takes its place: {e.claim.ruling.uncorrected}."))
        if (elsewhere := e.claim.ruling.corrected_by) and elsewhere not in {o.claim.id for o in self.evidence}:
            paragraphs.append(f"What is true instead: {escaped(elsewhere)}, of another paper.")
        return "\n".join(paragraphs)

    def plain(self, kind: str, e: Evidence) -> str:
        """A claim without proof."""
        if kind != "tried":
            link = self.refer(e.claim.argued.partition("#")[2]) if e.how is How.ARGUED or e.in_coq else None
            parts_of_item = self.refutation(e) + (f" That the exhibit is one is proved in {link}." if link else "")
        else:
            standing = f"{escaped(e.claim.reason)} It {e.known}."
            if e.verdict is Verdict.UNSETTLED:
                standing = f"Not settled: {escaped(e.fault or f'{e.evaluations} evaluations were too few')}."
            parts_of_item = f"{self.domain(e)}\n{self.statement(e)}\n{standing}"
        return f"\\begin{{{kind}}}\n{parts_of_item}\n\\end{{{kind}}}" + (f"\n{self.corrected(e)}" if kind == "tried" else "")

    def rest(self, printed: set[str]) -> str:
        """The sections that the proofs cite and that are no theorems here, and the sections that these cite in turn."""
        made: dict[str, str] = {}
        while missing := [label for label in self.used if label not in printed and label not in made]:
            for label in missing:
                section = self.used[label]
                given = f"\\emph{{Hypotheses.}} {self.latex(section.hypotheses)}\n\n" if section.hypotheses else ""
                heading = f"\\subsection*{{{escaped(section.heading)}}}\\phantomsection\\label{{{label}}}"
                made[label] = f"{heading}\n{given}{self.latex(section.body)}"
        return "\n\n".join(made.values())


def bibliography(paper: Paper, cited: dict[str, str]) -> str:
    """BibTeX of the cited works: the paper itself, this package, and the works that the proofs link to."""
    names = [name.strip() for name in paper.authors.split(",") if name.strip()]
    author = f"  author = {{{' and '.join(names)}}},\n" if names else ""
    own = f"@misc{{paper,\n{author}  title = {{{{{escaped(paper.title)}}}}},\n  year = {{{paper.year}}},\n}}"
    here = (
        "@misc{airtight,\n  author = {{the airtight developers}},\n"
        "  title = {{airtight: bounds, exact values and machine-checked theorems for private wireless learning}},\n"
        f"  howpublished = {{Version {version('airtight-dp')}}},\n}}"
    )
    return "\n\n".join([own, here, *(entry(doi, text) for doi, text in cited.items())]) + "\n"


def write(
    name: str, out: Path, *, source: Source = INSTALLED, tried: Callable[[str], Sequence[Evidence]] | None = None
) -> list[Path]:
    """Write OUT/NAME.tex and OUT/NAME.bib.

    Parameters
    ----------
    name : str
        Of a paper.
    out : Path
        Folder.
    source : Source
        Where the paper comes from.
    tried : callable, optional
        Returns the evidence for the name of a paper of which none is shipped.

    Returns
    -------
    list of Path
    """
    paper = source.papers()[name]
    there = {e.claim.id: e for e in shipped().evidence} if source == INSTALLED else {}
    if any(claim.id not in there for claim in paper.claims):
        there |= {e.claim.id: e for e in (tried or _tried(source))(name)}
    certified = f"airtight try {Path(source.path).name} --out DIR" if source.path else f"airtight certify {name}"
    document = _Document(paper, [there[claim.id] for claim in paper.claims], proofs.sections(name, source), certified)
    text = document.text()
    made = {
        f"{name}.tex": f"{_HEAD}\\begin{{document}}\n{text}\n\n\\bibliographystyle{{plain}}\n\\bibliography{{{name}}}\n"
        "\\end{document}\n",
        f"{name}.bib": bibliography(paper, document.latex.cited),
    }
    with OutputFolder(out) as folder:
        return folder.write(made)


def _tried(source: Source) -> Callable[[str], Sequence[Evidence]]:
    return lambda name: list(audit.run([name], source=source))
