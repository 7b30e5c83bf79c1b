"""All twins."""

from __future__ import annotations

from functools import cache

from airtight.validate.twins import federated, inference, privacy
from airtight.validate.twins.twin import Twin


@cache
def twins() -> dict[str, Twin]:
    """By the name of the form, with its source where two have the same name.

    Examples
    --------
    >>> twins()["alpha"].form.source
    'CB Algorithm 1'
    """
    parts = (
        privacy.releases,
        privacy.theorem_1,
        inference.bounds,
        federated.corbin,
        federated.descent,
        federated.devices,
    )
    found: dict[str, Twin] = {}
    for twin in (twin for part in parts for twin in part()):
        key = twin.form.name if twin.form.name not in found else f"{twin.form.name} ({twin.form.source})"
        if key in found:
            raise ValueError(f"name = {key!r}: used twice")
        found[key] = twin
    return found
