"""Accounting libraries and federated frameworks that many use (LB): their newest releases, tried over their whole domains."""

from airtight import Paper, proofs_beside
from airtight_published_code.libraries import calibrated, converted, federations, mechanisms

PAPER = Paper(
    "libraries",
    "Accounting libraries",
    "releases of November 2026",
    2026,
    (*calibrated.CLAIMS, *converted.CLAIMS, *federations.CLAIMS, *mechanisms.CLAIMS),
    (*federations.ITEMS, *mechanisms.ITEMS),
    proofs=proofs_beside(__file__),
)
