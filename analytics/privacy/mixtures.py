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
TRIMMED = 1e-15  # share of delta that may be spent on rare values of the others' noise
_NEGLIGIBLE = 1e-25  # probability of the others' noise that a first try leaves out


def delta_bracket(
    system: InferenceSystem, which: IntArray, epsilon: FloatArray, model: type[Participation] = Participation
) -> tuple[FloatArray, FloatArray]:
    """Both ends of delta(epsilon[i]) of device which[i], as the model of the observer has it."""
    lower, upper = np.empty(epsilon.shape), np.empty(epsilon.shape)
    doubtful = np.arange(epsilon.size)
    for negligible in (_NEGLIGIBLE, 0.0):
        if doubtful.size:
            lower[doubtful], upper[doubtful] = _bracket(system, which[doubtful], epsilon[doubtful], negligible, model)
            doubtful = np.flatnonzero(upper * 1e-12 < negligible)
    return lower, upper


def _bracket(
    system: InferenceSystem, which: IntArray, eps: FloatArray, negligible: float, model: type[Participation]
) -> tuple[FloatArray, FloatArray]:
    lower, upper = np.empty(eps.shape), np.empty(eps.shape)
    with np.errstate(under="ignore"):
        for part in participations(system, np.unique(which), negligible, model):
            place = np.flatnonzero(np.isin(which, part.devices))
            rows = part.kind[np.searchsorted(part.devices, which[place])]
            low, high = part.log_lower(eps[place], rows), part.log_upper(eps[place], rows)
            if part.slack:
                low = np.maximum(low, part.raised().log_lower(eps[place], rows))
            lower[place], upper[place] = np.exp(low), np.minimum(np.exp(high) * (1 + 2e-15) + 5e-324, 1.0)
            upper[place[high == -np.inf]] = 0.0
    return lower, upper


def least_epsilon(
    system: InferenceSystem, which: IntArray, total: float, model: type[Participation] = Participation
) -> FloatArray:
    """Least epsilon of every device of `which` at delta `total`, as the model of the observer has it, rounded up."""
    distinct, back = np.unique(which, return_inverse=True)
    out = np.empty(distinct.size)
    for part in participations(system, distinct, total * TRIMMED, model):
        out[np.searchsorted(distinct, part.devices)] = part.least_epsilon(total)[part.kind]
    return np.asarray(out[back].reshape(which.shape))


def participations(
    system: InferenceSystem, devices: IntArray, negligible: float, model: type[Participation] = Participation
) -> Iterator[Participation]:
    """Split `devices` (sorted, distinct) into parts; drop at most `negligible` probability from either end of a law."""
    system = system.normalised()
    own = system.received_noise_variance
    keys = np.stack([system.participation, own])
    classes, class_of, multiplicity = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    class_of = class_of.ravel()
    if system.idle_noise:
        nothing = [(c, weighted_sum.Law(np.zeros(1), np.ones(1))) for c in range(multiplicity.size)]
        yield _participation(system, devices, class_of, classes, nothing, negligible, model)
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
            yield _participation(system, devices, class_of, classes, batch, negligible, model)
            batch = []
    if batch:
        yield _participation(system, devices, class_of, classes, batch, negligible, model)


def _participation(
    system: InferenceSystem,
    devices: IntArray,
    class_of: IntArray,
    classes: FloatArray,
    batch: list[tuple[int, weighted_sum.Law]],
    negligible: float,
    model: type[Participation],
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
    everybody = float(np.sum(system.received_noise_variance)) + system.receiver_noise_variance
    return model(
        adjacency=system.adjacency,
        idle_noise=system.idle_noise,
        devices=inside,
        kind=kind.ravel(),
        among=np.full(rows.size, system.devices),
        dimension=np.full(rows.size, system.dimension),
        receiver=np.full(rows.size, system.receiver_noise_variance),
        everybody=np.full(rows.size, everybody),
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
