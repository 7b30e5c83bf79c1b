"""The list of all twins."""

from __future__ import annotations

from functools import cache

from airtight.validate.twins import federated_twins, inference_twins, privacy_twins
from airtight.validate.twins.twin import Twin


@cache
def twins() -> dict[str, Twin]:
    """Twins by the name of their form, with its source where two forms have one name.

    Examples
    --------
    >>> twins()["alpha"].form.source
    'CB Algorithm 1'
    """
    parts = (
        privacy_twins.releases,
        privacy_twins.theorem_1,
        inference_twins.bounds,
        federated_twins.corbin,
        federated_twins.descent,
        federated_twins.devices,
    )
    found: dict[str, Twin] = {}
    for twin in (twin for part in parts for twin in part()):
        key = twin.form.name if twin.form.name not in found else f"{twin.form.name} ({twin.form.source})"
        if key in found:
            raise ValueError(f"name = {key!r}: used twice")
        found[key] = twin
    return found
