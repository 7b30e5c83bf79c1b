"""Words for the signs that a terminal's or a file's character set lacks."""

from __future__ import annotations

import codecs
import sys
import unicodedata

import click

_WORDS = {
    "∞": "inf",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "×": "x",
    "·": "*",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "→": "->",
    "√": "sqrt",
    "‖": "||",
    "∈": "in",
    "“": '"',
    "”": '"',
    "’": "'",
    "✓": "yes",
    "✗": "no",
}


def words(text: str) -> str:
    """The text in ASCII: signs as words, Greek letters by their names, accents left out.

    Examples
    --------
    >>> words("ε ≤ ∞")
    'epsilon <= inf'
    """
    return "".join(_word(character) for character in text)


def _word(character: str) -> str:
    if character.isascii():
        return character
    if character in _WORDS:
        return _WORDS[character]
    name = unicodedata.name(character, "")
    if name.startswith("GREEK") and " LETTER " in name:
        letter = name.rpartition(" LETTER ")[2].partition(" ")[0].lower()
        return letter.capitalize() if "CAPITAL" in name else letter
    if name.startswith("BOX DRAWINGS"):
        return "-" if "HORIZONTAL" in name and "VERTICAL" not in name else "|"
    return unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode() or "?"


def tell(text: str) -> None:
    """Print the lines of a message on stderr; what a terminal would obey is shown as Python writes it."""
    for line in text.splitlines():
        shown = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)
        click.echo(f"airtight: {shown}", err=True)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return words(error.object[error.start : error.end]), error.end


def fall_back() -> None:
    """From now on what standard output and error cannot show is printed in words."""
    codecs.register_error("airtight.words", _replaced)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="airtight.words")
