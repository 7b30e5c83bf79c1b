"""The mixtures over the other participants that a system has: devices alike share one, mixtures alike are solved together.

Of :class:`~airtight.analytics.inference.homogeneous.HomogeneousSystems` each is asked about one of its devices; all are
solved together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.distributions import poisson_binomial, weighted_sum
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.homogeneous import HomogeneousSystems
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import threshold_bound
from airtight.analytics.privacy.over_the_air.noise_mixture import Participation
from airtight.analytics.rounding import SMALLEST, UNIT

Systems = InferenceSystem | HomogeneousSystems

_ROWS, _ATOMS = 256, 1 << 18  # classes of devices solved together, and values of their laws in all
_TOGETHER = 1 << 14  # of different systems: so that what is computed of one part stays in the cache
_NATS = (30.0, 20.0)  # of the divergences' rule, where the law is exact and where it is on a grid
_CELLS = 4096  # of the law of the others' noise, where it is not exact
_TRIED = (_CELLS // 8, _CELLS)
TRIMMED = 1e-15  # share of delta that may be spent on rare values of the others' noise
_NEGLIGIBLE = 1e-25  # probability of the others' noise that a first try leaves out
_BELOW = (1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.5)  # shares by which a lower end is tried below an upper one
_FARTHEST = 1e99  # and where the upper one is infinite


def delta_bracket(
    system: Systems, which: IntArray, epsilon: FloatArray, model: type[Participation] = Participation
) -> tuple[FloatArray, FloatArray]:
    """Both ends of delta(epsilon[i]) of device which[i] (of a device of system which[i]), as the model of the observer has it."""
    upper, lower = _delta(system, which, epsilon, model, (_highest, _lowest))
    return lower, upper


def delta_at_most(
    system: Systems, which: IntArray, epsilon: FloatArray, model: type[Participation] = Participation
) -> FloatArray:
    """The upper end of :func:`delta_bracket`, at half its cost."""
    return np.asarray(_delta(system, which, epsilon, model, (_highest,))[0])


def exceeds(
    system: Systems, device: int, epsilon: float, total: float, model: type[Participation] = Participation
) -> bool:
    """Whether delta(epsilon) of a device is proved to be above `total`: on few cells of the others' noise, or on many."""
    at, goal = (np.array([epsilon]), np.zeros(1, dtype=np.int64)), float(np.log(total)) * (1 - 4 * UNIT)
    for cells in _TRIED:
        (part,) = participations(system, np.array([device]), total * TRIMMED, model, cells)
        with np.errstate(under="ignore"):
            if _log_lowest(part, *at)[0] > goal:
                return True
            if not part.slack or part.log_upper(*at)[0] <= goal:
                return False
    return False


def exceeds_quieter(
    system: Systems, device: int, epsilon: float, total: float, model: type[Participation] = Participation
) -> bool:
    """Whether delta(epsilon) of a device is proved to be above `total` with these noises of the devices and all lower ones."""
    (part,) = participations(system, np.array([device]), total * TRIMMED, model, _TRIED[0])
    return threshold_bound.delta_at_least(part, epsilon) > total


End = Callable[[Participation, FloatArray, IntArray], FloatArray]


def _delta(
    system: Systems, which: IntArray, epsilon: FloatArray, model: type[Participation], ends: tuple[End, ...]
) -> FloatArray:
    """A row for each end, the upper one first: what it is tells whether rare values of the others' noise matter."""
    found = np.empty((len(ends), epsilon.size))
    doubtful = np.arange(epsilon.size)
    for negligible in (_NEGLIGIBLE, 0.0):
        if doubtful.size:
            found[:, doubtful] = _ends(system, which[doubtful], epsilon[doubtful], negligible, model, ends)
            doubtful = np.flatnonzero(found[0] * 1e-12 < negligible)
    return found


def _ends(
    system: Systems,
    which: IntArray,
    eps: FloatArray,
    negligible: float,
    model: type[Participation],
    ends: tuple[End, ...],
) -> FloatArray:
    found = np.empty((len(ends), eps.size))
    with np.errstate(under="ignore"):
        for part in participations(system, np.unique(which), negligible, model):
            place = np.flatnonzero(np.isin(which, part.devices))
            rows = part.kind[np.searchsorted(part.devices, which[place])]
            found[:, place] = [end(part, eps[place], rows) for end in ends]
    return found


def _highest(part: Participation, eps: FloatArray, rows: IntArray) -> FloatArray:
    high = part.log_upper(eps, rows)
    return np.where(high > -np.inf, np.minimum(np.exp(high) * (1 + 2e-15) + SMALLEST, 1.0), 0.0)


def _lowest(part: Participation, eps: FloatArray, rows: IntArray) -> FloatArray:
    return np.asarray(np.exp(_log_lowest(part, eps, rows)))


def _log_lowest(part: Participation, eps: FloatArray, rows: IntArray) -> FloatArray:
    """With the noises as they are, and on a grid raised by its slack: the better lower end."""
    low = part.log_lower(eps, rows)
    return np.maximum(low, part.raised().log_lower(eps, rows)) if part.slack else low


def least_epsilon(
    system: Systems, which: IntArray, total: float | FloatArray, model: type[Participation] = Participation
) -> FloatArray:
    """Least epsilon of every device of `which` at delta `total`, as the model of the observer has it, rounded up.

    Of many systems `which` says which, and `total` may have an entry for each.
    """
    return _each(system, which, total, model, lambda part, spent, _: part.least_epsilon(spent))


def proven_epsilon(system: Systems, which: IntArray, total: float | FloatArray) -> FloatArray:
    """The closed form of :func:`airtight.analytics.privacy.over_the_air.amplification.proven`, each noise at one lower
    quantile."""

    def simple(part: Participation, spent: FloatArray, _: IntArray) -> FloatArray:
        return (part if part.idle_noise else part.at_quantile(spent)).least_epsilon(spent, convex=True)

    return _each(system, which, total, Participation, simple)


def epsilon_at_least(
    system: Systems,
    which: IntArray,
    total: float | FloatArray,
    upper: FloatArray,
    model: type[Participation] = Participation,
) -> FloatArray:
    """A lower end of the least epsilon whose upper end is `upper`: there delta still exceeds `total`.

    That is proved as the lower end of delta is. The nearest of a few shares below the upper end at which that can be
    shown; 0 where it can at none.
    """

    def shown(part: Participation, spent: FloatArray, place: IntArray) -> FloatArray:
        highest, goal = np.zeros(spent.shape), np.log(spent) * (1 - 4 * UNIT)
        highest[part.kind] = upper.ravel()[place]
        lower = np.zeros(spent.shape)
        todo = np.flatnonzero(highest > 0)
        for share in _BELOW:
            tried = np.where(highest[todo] < np.inf, highest[todo] * (1 - share), _FARTHEST)
            above = _log_lowest(part, tried, todo) > goal[todo]
            lower[todo[above]] = tried[above]
            todo = todo[~above]
            if not todo.size:
                break
        return lower

    return _each(system, which, total, model, shown)


def _each(
    system: Systems,
    which: IntArray,
    total: float | FloatArray,
    model: type[Participation],
    answer: Callable[[Participation, FloatArray, IntArray], FloatArray],
) -> FloatArray:
    """`answer` of every part: from it, the delta of each kind, and the places in `which` (flat) of the part's devices."""
    distinct, first, back = np.unique(which, return_index=True, return_inverse=True)
    given = np.broadcast_to(total, which.shape).ravel()[first]
    out = np.empty(distinct.size)
    for part in participations(system, distinct, float(np.min(given, initial=1.0)) * TRIMMED, model):
        place = np.searchsorted(distinct, part.devices)
        spent = np.empty(part.participation.shape)
        spent[part.kind] = given[place]
        out[place] = answer(part, spent, first[place])[part.kind]
    return np.asarray(out[back].reshape(which.shape))


def participations(
    system: Systems,
    devices: IntArray,
    negligible: float,
    model: type[Participation] = Participation,
    cells: int = _CELLS,
) -> Iterator[Participation]:
    """Split `devices` (sorted, distinct) into parts; drop at most `negligible` probability from either end of a law.

    Of many systems: the systems `devices`.
    """
    system = system.normalised()
    if isinstance(system, HomogeneousSystems):
        yield from _homogeneous(system, devices, negligible, model)
        return
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
    cells = cells if multiplicity.size <= cells // 16 else cells // 2  # of many devices the law is smoother
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
    variance = (values + system.receiver_noise_variance) * (1 - (system.devices + 8) * UNIT)
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
        own_noise=_rounded_down(classes[1, batch_classes], system.adjacency),
        sensitivity=kinds[1] * (1 + 4 * UNIT),
        variance=variance[rows] if len(batch) > 1 else np.broadcast_to(variance, (rows.size, atoms)),
        weights=law_weights[rows],
        missing=missing[rows],
        slack=max(law.slack for _, law in batch),
        spread=max(law.spread for _, law in batch),
        error=max(law.error for _, law in batch),
        lost=max(law.lost for _, law in batch),
        nats=_NATS[any(law.slack > 0 for _, law in batch)],
    )


def _rounded_down(own: FloatArray, adjacency: Adjacency) -> FloatArray:
    """The device's own noise, unless it leaves with the device."""
    return own * (1 if adjacency is Adjacency.ABSENT else 1 - 4 * UNIT)


def _homogeneous(
    systems: HomogeneousSystems, which: IntArray, negligible: float, model: type[Participation]
) -> Iterator[Participation]:
    """Parts of systems with about as many devices and, where the observer is one who is shown less, of one dimension."""
    one_dimension = model is not Participation
    keys = np.stack([systems.devices[which], np.where(one_dimension, systems.dimension[which], 0)])
    order = np.lexsort(keys)
    atoms = np.ones(which.size) if systems.idle_noise else keys[0, order].astype(float)
    group = np.cumsum(atoms) // _TOGETHER
    cut = np.diff(group) > 0
    if one_dimension:
        cut |= np.diff(keys[1, order]) > 0
    for part in np.split(order, np.flatnonzero(cut) + 1):
        inside = np.sort(which[part])
        yield _of_counts(systems.only(inside), inside, negligible, model)


def _of_counts(
    systems: HomogeneousSystems, numbers: IntArray, negligible: float, model: type[Participation]
) -> Participation:
    """A row a system: how many of the others take part is all that matters."""
    own = systems.received_noise_variance
    alone = systems.idle_noise | (own == 0)
    others = np.where(alone, 0, systems.devices - 1)
    counts = np.stack([others.astype(float), systems.participation])
    distinct, back = np.unique(counts, axis=1, return_inverse=True)
    blocks = [poisson_binomial.binomial(int(n), float(p)) for n, p in distinct.T]
    weights = np.zeros((len(blocks), max(block.weights.size for block in blocks)))
    for row, block in enumerate(blocks):
        weights[row, : block.weights.size] = block.weights
    weights, missing = weighted_sum.trimmed(weights, negligible)
    inside = weights > 0
    first, atoms = np.argmax(inside, axis=1), np.sum(inside, axis=1)
    place = first[:, None] + np.minimum(np.arange(np.max(atoms)), atoms[:, None] - 1)
    kept = np.where(np.arange(place.shape[1]) < atoms[:, None], np.take_along_axis(weights, place, axis=1), 0.0)
    participants = place + np.array([block.start for block in blocks])[:, None]
    back = back.ravel()
    values = own[:, None] * participants[back].astype(float) + systems.receiver_noise_variance[:, None]
    everybody = systems.devices * own + systems.receiver_noise_variance
    return model(
        adjacency=systems.adjacency,
        idle_noise=systems.idle_noise,
        devices=numbers,
        kind=np.arange(numbers.size),
        among=systems.devices,
        dimension=systems.dimension,
        receiver=systems.receiver_noise_variance,
        everybody=everybody,
        participation=systems.participation,
        own_noise=_rounded_down(own, systems.adjacency),
        sensitivity=systems.sensitivity * (1 + 4 * UNIT),
        variance=values * (1 - (systems.devices[:, None] + 8) * UNIT),
        weights=kept[back],
        missing=missing[back],
        slack=0.0,
        spread=0.0,
        error=poisson_binomial.relative_error(int(np.max(systems.devices)), 1),
        lost=0.0,
        nats=_NATS[0],
    )
