r"""Converts the subset of Markdown in which the proofs are written to LaTeX.

Paragraphs, lists, headings, ``$...$``, ``$$...$$``, emphasis, code, links and Sphinx roles are converted. A link to a DOI
becomes a citation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

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
            made = "".join(f"\\item {self.inline(' '.join(item.split()))}\n" for item in items)
            return f"\\begin{{itemize}}\n{made}\\end{{itemize}}"
        return self.inline(block)

    def inline(self, text: str) -> str:
        """Convert the text of one paragraph."""
        made, end, text = "", 0, text.replace("\\*", "\0")
        for found in _INLINE.finditer(text):
            made += escaped(text[end : found.start()]) + self._part(found)
            end = found.end()
        return made + escaped(text[end:])

    def _part(self, found: re.Match[str]) -> str:
        kind = found.lastgroup
        if kind == "display":
            return f"\n\\fit{{{found['display'].strip()}}}\n"
        if kind == "math":
            long = len(found["math"]) > _LINE
            return f"\n\\fit{{{found['math']}}}\n" if long else f"${found['math']}$"
        if kind == "target":
            return self._role(found["role"], found["target"])
        if kind == "code":
            return f"\\texttt{{{escaped(found['code'])}}}"
        if kind == "url":
            return self._link(found["text"], found["url"])
        command, inner = ("textbf", found["strong"]) if kind == "strong" else ("emph", found["emphasis"])
        return f"\\{command}{{{self.inline(inner)}}}"

    def _role(self, role: str, target: str) -> str:
        shown, _, address = target.rpartition(" <")
        address = address.rstrip(">")
        if role == "ref" and (there := self.refer(address)) is not None:
            return there
        if role == "doc":
            return f"the page \\texttt{{{escaped(address)}}} of the documentation"
        return self.inline(shown) if shown else f"\\texttt{{{escaped(address.lstrip('~'))}}}"

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
    who = [part for part in parts if re.match(r"([A-Z]\.[ -]?)+ ?[A-Z]", part)]
    year = next((part for part in reversed(parts) if re.fullmatch(r"\d{4}", part)), "")
    where = ", ".join(part for part in parts if part not in (*who, year))
    fields = {"author": " and ".join(who), "howpublished": escaped(where), "year": year, "note": f"doi: {doi}"}
    return f"@misc{{{key(doi)},\n" + "".join(f"  {n} = {{{v}}},\n" for n, v in fields.items() if v) + "}"
