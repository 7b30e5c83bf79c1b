"""Parts of a claim in Markdown, as the ledger prints them: meaning of the symbols, domain, witness."""

from __future__ import annotations

from typing import Any

import sympy as sp

from airtight.results.numerals import number
from airtight.validate.claims.claim import Claim
from airtight.validate.claims.evidence import Witness
from airtight.validate.claims.relation import Sign
from airtight.validate.claims.statement import legend

_LONGEST = 700  # characters; longer LaTeX is not printed, because no reader can compare it with the statement


def computed(claim: Claim) -> list[str]:
    """Meaning of the symbols of a statement, and the tried expressions where they are not compared with the statement."""
    definitions = [f"${name} = {_meant(meaning)}$" for name, meaning in legend(claim).items()]
    lines = ["where " + ", ".join(one for one in definitions if len(one) <= _LONGEST) + ".", ""] if definitions else []
    if claim.unread:
        written = claim.relation.latex() if claim.relation.symbolic else ""
        lines += ["Tried as", "", "$$" + written + "$$", ""] if 0 < len(written) <= _LONGEST else []
        lines += [f"The statement is not compared with that: {claim.unread}.", ""]
    return lines


def _meant(meaning: Any) -> str:
    """LaTeX of an entry of a legend; of a function with its arguments."""
    if isinstance(meaning, sp.Lambda):
        return rf"({', '.join(sp.latex(x) for x in meaning.signature)}) \mapsto {sp.latex(meaning.expr)}"
    return str(sp.latex(sp.sympify(meaning)))


def box(claim: Claim) -> list[str]:
    """The domain of the search and of a proof."""
    ranges = []
    for name, r in claim.domain.items():
        symbol = f" (${r.symbol}$)" if r.symbol and r.symbol != name else ""
        within = f"= {r.low:.6g}" if r.low == r.high else f"in [{r.low:.6g}, {r.high:.6g}]"
        others = "".join(f" or {value:.6g}" for value in r.extra if not r.low <= value <= r.high)
        ranges.append(f"`{name}`{symbol} {within}{others}{' ' + r.unit if r.unit else ''}")
    return ["For " + ", ".join(ranges) + ".", ""] if ranges else []


def hypotheses(claim: Claim) -> list[str]:
    """The hypotheses beside the domain, outside of which nothing is claimed.

    Examples
    --------
    >>> from airtight.validate.claims.sources import INSTALLED
    >>> hypotheses(INSTALLED.claims()["CB-E21"])
    ['Provided that $x + y \\\\leq 0$.', '']
    """
    return [f"Provided that {'; '.join(claim.hypotheses)}.", ""] if claim.given else []


def truth(claim: Claim) -> str:
    """Words before the actual value of a witness: they say whether it is the true value or a bound of it.

    Examples
    --------
    >>> from airtight.validate.claims.sources import INSTALLED
    >>> truth(INSTALLED.claims()["FDP-T1-hidden-r"]), truth(INSTALLED.claims()["FDP-T1"])
    ('the truth is at least', 'the truth is')
    """
    if not claim.relation.bounded:
        return "the truth is"
    return "the truth is at least" if claim.relation.sign is Sign.AT_MOST else "the truth is at most"


def witnessed(claim: Claim, witness: Witness) -> str:
    """The parameters of a witness, and both quantities there."""
    at = ", ".join(f"`{name} = {value}`" for name, value in witness.text().items()) or "the values of the statement"
    return f"at {at} the claim gives {number(witness.claimed)}, {truth(claim)} {number(witness.actual)}"
