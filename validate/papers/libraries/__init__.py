"""Accounting libraries and federated frameworks that many use (LB): their newest releases, tried over their whole domains."""

from airtight.validate.claims.claim import Paper
from airtight.validate.claims.proofs import by_row
from airtight.validate.papers.libraries import calibrated, converted, federations, mechanisms

PAPER = Paper(
    "libraries",
    "Accounting libraries",
    "releases of November 2026",
    2026,
    (*calibrated.CLAIMS, *converted.CLAIMS, *federations.CLAIMS, *mechanisms.CLAIMS),
    (*federations.ITEMS, *mechanisms.ITEMS),
    proofs=by_row(__file__),
)
