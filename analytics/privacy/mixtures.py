"""The mixtures over who else takes part that a system has: devices alike share one, laws alike are solved together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analytics.checks import FloatArray, IntArray
from analytics.distributions import weighted_sum
from analytics.guarantee import Adjacency
from analytics.inference.system import InferenceSystem
from analytics.privacy.participation import Participation

_UNIT = np.finfo(float).eps
_ROWS, _ATOMS = 256, 1 << 18  # classes of devices solved together, and values of their laws in all
_NATS = (30.0, 20.0)  # of the divergences' rule, where the law is exact and where it is on a grid
_CELLS = 4096  # of the law of the others' noise, where it is not exact


def participations(system: InferenceSystem, devices: IntArray, negligible: float) -> Iterator[Participation]:
    """Split `devices` (sorted, distinct) into parts; drop at most `negligible` probability from either end of a law."""
    system = system.normalised()
    own = system.received_noise_variance
    keys = np.stack([system.participation, own])
    classes, class_of, multiplicity = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    class_of = class_of.ravel()
    if system.idle_noise:
        nothing = [(c, weighted_sum.Law(np.zeros(1), np.ones(1))) for c in range(multiplicity.size)]
        yield _participation(system, devices, class_of, classes, nothing, negligible)
        return
    wanted = np.unique(class_of[devices])
    batch: list[tuple[int, weighted_sum.Law]] = []
    cells = _CELLS if multiplicity.size <= _CELLS // 16 else _CELLS // 2  # of many devices the law is smoother
    for c, law in weighted_sum.leave_one_out(
        classes[0], classes[1], multiplicity, cells=cells, negligible=negligible, wanted=wanted
    ):
        if c in wanted:
            batch.append((c, law))
        if len(batch) >= _ROWS or sum(law.values.size for _, law in batch) >= _ATOMS:
            yield _participation(system, devices, class_of, classes, batch, negligible)
            batch = []
    if batch:
        yield _participation(system, devices, class_of, classes, batch, negligible)


def _participation(
    system: InferenceSystem,
    devices: IntArray,
    class_of: IntArray,
    classes: FloatArray,
    batch: list[tuple[int, weighted_sum.Law]],
    negligible: float,
) -> Participation:
    atoms = max(law.values.size for _, law in batch)
    values, law_weights = np.empty((len(batch), atoms)), np.zeros((len(batch), atoms))
    for row, (_, law) in enumerate(batch):
        values[row] = law.values[-1]
        values[row, : law.values.size], law_weights[row, : law.values.size] = law.values, law.probabilities
    law_weights, missing = weighted_sum.trimmed(law_weights, negligible)
    missing = missing + np.array([law.missing for _, law in batch])
    law_of_class = {c: row for row, (c, _) in enumerate(batch)}
    inside = devices[np.isin(class_of[devices], list(law_of_class))]
    law_row = np.array([law_of_class[int(c)] for c in class_of[inside]])
    kinds, kind = np.unique(np.stack([law_row, system.sensitivity[inside]]), axis=1, return_inverse=True)
    rows = kinds[0].astype(np.int64)
    variance = (values + system.receiver_noise_variance) * (1 - (system.devices + 8) * _UNIT)
    batch_classes = np.array([c for c, _ in batch])[rows]
    return Participation(
        system=system,
        devices=inside,
        kind=kind.ravel(),
        participation=classes[0, batch_classes],
        own_noise=classes[1, batch_classes] * (1 if system.adjacency is Adjacency.ABSENT else 1 - 4 * _UNIT),
        sensitivity=kinds[1] * (1 + 4 * _UNIT),
        variance=variance[rows] if len(batch) > 1 else np.broadcast_to(variance, (rows.size, atoms)),
        weights=law_weights[rows],
        missing=missing[rows],
        slack=max(law.slack for _, law in batch),
        spread=max(law.spread for _, law in batch),
        error=max(law.error for _, law in batch),
        lost=max(law.lost for _, law in batch),
        nats=_NATS[any(law.slack > 0 for _, law in batch)],
    )
