"""The mixtures over the other participants that belong to a system.

Equal devices share one mixture, and mixtures are solved together in batches. Of several
:class:`~airtight.analytics.inference.system.HomogeneousSystems`, each is queried for one of its devices, and all
systems are solved together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.distributions import poisson_binomial, weighted_sum
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import HomogeneousSystems, InferenceSystem
from airtight.analytics.privacy.over_the_air.participation_mixture import partial_sums, signal_lower_bound
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.hidden import HiddenParticipationMixture
from airtight.analytics.rounding import NORMAL, SMALLEST, UNIT

Systems = InferenceSystem | HomogeneousSystems

_ROWS, _ATOMS = 256, 1 << 18  # at most: classes of devices in a batch, and values of their laws in total
_MANY, _MANY_ROWS = 512, 1024  # classes from which one law may serve all devices, and then those in a batch
# of a device that it may serve, at most: variance over the squared mean of all noise, and noise when it sends over that mean
_SMALL, _SMALL_SHARE = 3e-7, 1e-2
_TOGETHER = 1 << 14  # values of the laws in a batch of different systems: few enough for the processor's cache
_NATS = (30.0, 20.0)  # -log of the quadrature error of the divergences, for an exact law and for one on a grid
_CELLS = 4096  # cells of the law of the others' noise, where it is not exact
_TRIED = (_CELLS // 8, _CELLS)  # cells with which `exceeds` tries a proof, in this order
TRIMMED = 1e-15  # share of delta that may be spent on rare values of the others' noise
_NEGLIGIBLE = 1e-25  # probability of the others' noise that a first try leaves out
_BELOW = (1e-9, 1e-6, 1e-4, 1e-2, 0.1, 0.5)  # relative distances below the upper bound at which a lower bound is tried
_NEWTON_STEPS, _BEYOND = 2, 0.01  # towards a lower bound, each longer than Newton's by this share
_NEWTON_WITHIN = 1e-3  # relative distance below the upper bound up to which Newton's steps go
# relative distance of both ends up to which Gauss rules serve: for a law on a grid, and for an exact one
_PRECISE, _EXACT = 2e-5, 1e-9
_COSTLY = 256  # values of an exact law from which a rule is made
_FARTHEST = 1e99  # the epsilon tried where the upper bound is infinite


def delta_bracket(
    system: Systems, device_indices: IntArray, epsilon: FloatArray, model: type[NoiseMixture] = NoiseMixture
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of delta(epsilon[i]) of device device_indices[i] under an observer model.

    Of several systems: for a device of system device_indices[i].
    """
    upper, lower = _delta(system, device_indices, epsilon, model, (_highest, _lowest))
    return lower, upper


def delta_at_most(
    system: Systems, device_indices: IntArray, epsilon: FloatArray, model: type[NoiseMixture] = NoiseMixture
) -> FloatArray:
    """The upper bound of :func:`delta_bracket`, at half its cost."""
    return np.asarray(_delta(system, device_indices, epsilon, model, (_highest,))[0])


def exceeds(
    system: Systems, device: int, epsilon: float, target_delta: float, model: type[NoiseMixture] = NoiseMixture
) -> bool:
    """Whether delta(epsilon) of a device is proved to be above `target_delta`, on few or on many cells."""
    arguments, log_target = (np.array([epsilon]), np.zeros(1, dtype=np.int64)), float(np.log(target_delta)) * (1 - 4 * UNIT)
    for cells in _TRIED:
        (mixture,) = participations(system, np.array([device]), target_delta * TRIMMED, model, cells)
        with np.errstate(under="ignore"):
            if mixture.log_lower(*arguments)[0][0] > log_target:
                return True
            if not mixture.slack or mixture.log_upper(*arguments)[0] <= log_target:
                return False
    return False


def exceeds_with_less_noise(
    system: Systems, device: int, epsilon: float, target_delta: float, model: type[NoiseMixture] = NoiseMixture
) -> bool:
    """Whether delta(epsilon) of a device is proved to exceed `target_delta` for this and all lower noise of the devices."""
    (mixture,) = participations(system, np.array([device]), target_delta * TRIMMED, model, _TRIED[0])
    return signal_lower_bound.delta_at_least(mixture, epsilon) > target_delta


End = Callable[[NoiseMixture, FloatArray, IntArray], FloatArray]


def _delta(
    system: Systems, device_indices: IntArray, epsilon: FloatArray, model: type[NoiseMixture], ends: tuple[End, ...]
) -> FloatArray:
    """One row per bound, the upper one first: it decides whether rare values of the noise can be left out."""
    bounds = np.empty((len(ends), epsilon.size))
    open_places = np.arange(epsilon.size)
    for negligible in (_NEGLIGIBLE, 0.0):
        if open_places.size:
            bounds[:, open_places] = _ends(system, device_indices[open_places], epsilon[open_places], negligible, model, ends)
            # the omitted probability must be below 1e-12 of delta
            open_places = np.flatnonzero(bounds[0] * 1e-12 < negligible)
    return bounds


def _ends(
    system: Systems,
    device_indices: IntArray,
    eps: FloatArray,
    negligible: float,
    model: type[NoiseMixture],
    ends: tuple[End, ...],
) -> FloatArray:
    bounds = np.empty((len(ends), eps.size))
    with np.errstate(under="ignore"):
        for mixture in participations(system, np.unique(device_indices), negligible, model):
            places = np.flatnonzero(np.isin(device_indices, mixture.devices))
            rows = mixture.kind[np.searchsorted(mixture.devices, device_indices[places])]
            bounds[:, places] = [bound(mixture, eps[places], rows) for bound in ends]
    return bounds


def _highest(mixture: NoiseMixture, eps: FloatArray, rows: IntArray) -> FloatArray:
    log_delta = mixture.log_upper(eps, rows)
    return np.where(log_delta > -np.inf, np.minimum(np.exp(log_delta) * (1 + 2e-15) + SMALLEST, 1.0), 0.0)


def _lowest(mixture: NoiseMixture, eps: FloatArray, rows: IntArray) -> FloatArray:
    return np.maximum(np.exp(mixture.log_lower(eps, rows)[0]) - NORMAL, 0.0)


def least_epsilon(
    system: Systems, device_indices: IntArray, target_delta: float | FloatArray, model: type[NoiseMixture] = NoiseMixture
) -> FloatArray:
    """Least epsilon of every device of `device_indices` at delta `target_delta` under an observer model, rounded up.

    Of several systems, `device_indices` lists the systems, and `target_delta` may have one entry for each.
    """
    return _each(system, device_indices, target_delta, model, lambda mixture, delta, _: _ends_of(mixture, delta, lower=False)[1])


def epsilon_bracket(
    system: Systems, device_indices: IntArray, target_delta: float | FloatArray, model: type[NoiseMixture] = NoiseMixture
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of :func:`least_epsilon`; at the lower one delta is proved to be above `target_delta`."""

    def ends(mixture: NoiseMixture, delta: FloatArray, _: IntArray) -> FloatArray:
        return np.stack(_ends_of(mixture, delta), axis=1)

    if not device_indices.size:
        return np.zeros(device_indices.shape), np.zeros(device_indices.shape)
    lower, upper = np.moveaxis(_each(system, device_indices, target_delta, model, ends), -1, 0)
    return lower, upper


def _ends_of(mixture: NoiseMixture, delta: FloatArray, *, lower: bool = True) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of the least epsilon of each kind; of many values of noise from Gauss rules, where precise."""
    ends, log_delta, unsettled = np.zeros((2, delta.size)), np.log(delta) * (1 - 4 * UNIT), np.arange(delta.size)
    # of an exact law only many divergences of unequal variances cost more than its rule
    costly = mixture.adjacency is Adjacency.ABSENT and mixture.variance.shape[1] > _COSTLY and bool(np.all(mixture.variance > 0))
    few = mixture.ruled(mixture.pieces) if mixture.slack or costly else None
    if few is not None:
        upper = ends[1] = few.least_epsilon(delta)
        precise, bound, slope = serves(few, upper, log_delta, _PRECISE if mixture.slack else _EXACT)
        settled, unsettled = unsettled[precise], unsettled[~precise]
        if lower:
            at_upper, part = (bound[settled], slope[settled]), few.only(settled)
            ends[0, settled] = epsilon_lower_bounds(upper[settled], log_delta[settled], part.log_lower, known=at_upper)
    if unsettled.size:
        part = mixture.only(unsettled)
        upper = ends[1, unsettled] = part.least_epsilon(delta[unsettled])
        if lower:
            ends[0, unsettled] = epsilon_lower_bounds(upper, log_delta[unsettled], part.log_lower)
    return ends[0], ends[1]


def serves(
    few: NoiseMixture, upper: FloatArray, log_delta: FloatArray, distance: float = _PRECISE
) -> tuple[NDArray[np.bool_], FloatArray, FloatArray]:
    """Whether Gauss rules are precise at an upper bound of each kind's epsilon, the lower bound of log delta there, its slope."""
    bound, slope = few.log_lower(upper, np.arange(upper.size))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (log_delta - bound <= distance * upper * -slope) | (upper == 0), bound, slope


def proven_epsilon(system: Systems, device_indices: IntArray, target_delta: float | FloatArray) -> FloatArray:
    """The closed form of :func:`airtight.analytics.privacy.over_the_air.amplification.proven`.

    The others' noise is replaced by one lower quantile.
    """

    def closed_form(mixture: NoiseMixture, delta: FloatArray, _: IntArray) -> FloatArray:
        return (mixture if mixture.idle_noise else mixture.at_quantile(delta)).least_epsilon(delta, convex=True)

    return _each(system, device_indices, target_delta, NoiseMixture, closed_form)


def epsilon_at_least(
    system: Systems,
    device_indices: IntArray,
    target_delta: float | FloatArray,
    upper: FloatArray,
    model: type[NoiseMixture] = NoiseMixture,
) -> FloatArray:
    """A lower bound of the least epsilon whose upper bound is `upper`: at this epsilon delta still exceeds `target_delta`.

    The proof is the lower bound of delta. The result is the greatest of a few epsilons below the upper bound for which
    the proof succeeds, and 0 where it succeeds for none.
    """

    def lower_bounds(mixture: NoiseMixture, delta: FloatArray, place: IntArray) -> FloatArray:
        highest = np.zeros(delta.shape)
        highest[mixture.kind] = upper.ravel()[place]
        return epsilon_lower_bounds(highest, np.log(delta) * (1 - 4 * UNIT), mixture.log_lower)

    return _each(system, device_indices, target_delta, model, lower_bounds)


def epsilon_lower_bounds(
    upper: FloatArray,
    log_delta: FloatArray,
    log_lower: Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]],
    shares: Sequence[float] = _BELOW,
    *,
    known: tuple[FloatArray, FloatArray] | None = None,
    steps: int = _NEWTON_STEPS,
    within: float = _NEWTON_WITHIN,
) -> FloatArray:
    """The greatest of a few epsilons below `upper` at which delta is proved to be above its target, row by row; 0 where none is.

    Parameters
    ----------
    upper, log_delta : ndarray, shape (rows,)
    log_lower : callable
        Lower bound of log delta of epsilons and their rows, and its slope.
    shares : sequence of float
        Relative distances below the upper bound that are tried, in this order; after the first, Newton's steps from there.
    steps, within : int, float
        Of Newton's, at most, and the relative distance below the upper bound up to which they go.
    known : tuple of ndarray, optional
        What `log_lower` gives at `upper`; then the first share is not tried.
    """
    lower, remaining = np.zeros(upper.shape), np.flatnonzero(upper > 0)
    share = np.full(remaining.size, 0.0 if known is not None else shares[0])
    place = np.full(remaining.size, 0 if known is not None else 1)  # of the next of the shares
    for step in range(len(shares) + steps + 1):
        if not remaining.size:
            break
        candidate = np.where(upper[remaining] < np.inf, upper[remaining] * (1 - share), _FARTHEST)
        if step == 0 and known is not None:
            bound, slope = known[0][remaining], known[1][remaining]
        else:
            bound, slope = log_lower(candidate, remaining)
        above = bound > log_delta[remaining]
        lower[remaining[above]] = candidate[above]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = share + (1 + _BEYOND) * (log_delta[remaining] - bound) / -slope / upper[remaining]
        # a long step would rest on a bound that is poor: then the shares are tried one by one
        usable = (newton > share + shares[0]) & (newton < within) & (step < steps)
        share = np.where(usable, newton, np.append(shares, np.inf)[np.minimum(place, len(shares))])
        place = place + ~usable
        left = ~above & (share < np.inf)
        remaining, share, place = remaining[left], share[left], place[left]
    return lower


def _each(
    system: Systems,
    device_indices: IntArray,
    target_delta: float | FloatArray,
    model: type[NoiseMixture],
    solve: Callable[[NoiseMixture, FloatArray, IntArray], FloatArray],
) -> FloatArray:
    """`solve` of every batch: from its mixtures, delta of each kind, and its devices' places in `device_indices` (flat)."""
    distinct, first, inverse = np.unique(device_indices, return_index=True, return_inverse=True)
    deltas = np.broadcast_to(target_delta, device_indices.shape).ravel()[first]
    solved: list[tuple[IntArray, FloatArray]] = []
    for mixture in participations(system, distinct, float(np.min(deltas, initial=1.0)) * TRIMMED, model):
        places = np.searchsorted(distinct, mixture.devices)
        delta = np.empty(mixture.participation.shape)
        delta[mixture.kind] = deltas[places]
        solved.append((places, solve(mixture, delta, first[places])[mixture.kind]))
    if not solved:
        return np.zeros(device_indices.shape)
    order = np.argsort(np.concatenate([places for places, _ in solved]))
    values = np.concatenate([values_of_batch for _, values_of_batch in solved])[order]
    return np.asarray(values[inverse.ravel()].reshape(device_indices.shape + values.shape[1:]))


def participations(
    system: Systems,
    devices: IntArray,
    negligible: float,
    model: type[NoiseMixture] = NoiseMixture,
    cells: int | None = None,
    *,
    together: bool = True,
) -> Iterator[NoiseMixture]:
    """Split `devices` (sorted, distinct) into batches; omit at most `negligible` probability at either end of a law.

    The law of the others' noise has `cells` cells where it is not exact, by default `_CELLS`. Of several systems, `devices` lists
    the systems. Laws in a batch share the greatest error on a grid of any; not `together`, each has a batch of its own.
    """
    system = system.normalised()
    if isinstance(system, HomogeneousSystems):
        yield from _homogeneous(system, devices, negligible, model)
        return
    received_noise = system.received_noise_variance
    keys = np.stack([system.participation, received_noise])
    classes, class_of, multiplicity = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    class_of = class_of.ravel()
    if system.idle_noise:
        no_others = [(c, weighted_sum.Law(np.zeros(1), np.ones(1))) for c in range(multiplicity.size)]
        yield _participation(system, devices, class_of, classes, no_others, negligible, model)
        return
    wanted = np.unique(class_of[devices])
    cells = _CELLS if cells is None else cells
    cells = cells if multiplicity.size <= cells // 16 else cells // 2  # the law of many devices is smoother
    rare = negligible * weighted_sum.RARE
    if together and multiplicity.size >= _MANY:
        total = _law_of_all(system.participation.tobytes(), received_noise.tobytes(), cells, rare)
        small = np.flatnonzero(_small(system, classes, total))
        law, offset = weighted_sum.without_one(total, *classes[:, small])
        served = np.isin(small, wanted)
        one_of_many, offset = small[served], offset[served]
        part_of_class = np.full(multiplicity.size, -1)
        part_of_class[one_of_many] = np.arange(one_of_many.size) // _MANY_ROWS
        part_of_device = part_of_class[class_of[devices]]
        for number, first in enumerate(range(0, one_of_many.size, _MANY_ROWS)):
            part, inside = slice(first, first + _MANY_ROWS), devices[part_of_device == number]
            batch = [(c, law) for c in one_of_many[part]]
            yield _participation(system, inside, class_of, classes, batch, negligible, model, offset=offset[part])
        wanted = np.setdiff1d(wanted, small)
        if not wanted.size:
            return
    batch, atoms, in_demand = [], 0, set(wanted.tolist())
    for c, law in weighted_sum.leave_one_out(
        classes[0], classes[1], multiplicity, cells=cells, negligible=rare, wanted=wanted
    ):
        if c in in_demand:
            batch.append((c, law))
            atoms += law.values.size
        if batch and (not together or len(batch) >= _ROWS or atoms >= _ATOMS):
            yield _participation(system, devices, class_of, classes, batch, negligible, model)
            batch, atoms = [], 0
    if batch:
        yield _participation(system, devices, class_of, classes, batch, negligible, model)


@lru_cache(maxsize=1)  # a design asks for the same devices at other weights
def _law_of_all(participation: bytes, noise: bytes, cells: int, negligible: float) -> weighted_sum.Law:
    """The law of the noise of all devices, from their probabilities and variances."""
    return weighted_sum.law(np.frombuffer(participation), np.frombuffer(noise), cells=cells, negligible=negligible)


def of_partial_sums(system: InferenceSystem, part: HiddenParticipationMixture) -> HiddenParticipationMixture | None:
    """The mixture of one device with the others' noise on nodes of rules of partial sums; None where there are none."""
    others = np.arange(system.devices) != part.devices[0]
    keys = np.stack([system.participation, system.received_noise_variance])[:, others]
    classes, multiplicity = np.unique(keys, axis=1, return_counts=True)
    participation, noise = classes
    law = partial_sums.law(participation, noise, multiplicity, float(part.receiver[0]), part.half)
    if law is None:
        return None
    values, weights, replaced, missing = law
    return replace(
        part,
        variance=values[None] * (1 - (system.devices + 8) * UNIT),
        weights=weights[None],
        missing=np.full(1, missing),
        slack=0.0,
        spread=0.0,
        error=poisson_binomial.relative_error(system.devices, classes.shape[1]),
        lost=0.0,
        replaced=replaced,
    )


def _small(system: InferenceSystem, classes: FloatArray, total: weighted_sum.Law) -> NDArray[np.bool_]:
    """Which classes are so small that the law of all devices, less the mean of one, serves as that of the others."""
    p, x = classes
    mean = float(total.values @ total.probabilities) + system.receiver_noise_variance
    small = (p * (1 - p) * x * x <= _SMALL * mean * mean) & (x <= _SMALL_SHARE * mean)
    greatest = float(np.max(x[small], initial=0.0))
    return np.asarray(small & (total.slack > 0) & (float(total.values[0]) > 2 * (total.slack + 2 * greatest)))


def _participation(
    system: InferenceSystem,
    devices: IntArray,
    class_of: IntArray,
    classes: FloatArray,
    batch: list[tuple[int, weighted_sum.Law]],
    negligible: float,
    model: type[NoiseMixture],
    *,
    offset: FloatArray | None = None,
) -> NoiseMixture:
    """The mixtures of a batch of classes and laws of the others' noise; with an `offset` of each class, all have one law."""
    distinct = [law for _, law in batch] if offset is None else [batch[0][1]]
    atoms = max(law.values.size for law in distinct)
    values, law_weights = np.empty((len(distinct), atoms)), np.zeros((len(distinct), atoms))
    for row, law in enumerate(distinct):
        values[row] = law.values[-1]
        values[row, : law.values.size], law_weights[row, : law.values.size] = law.values, law.probabilities
    on_grid = any(law.slack > 0 for law in distinct)
    law_weights, missing = weighted_sum.trimmed(law_weights, negligible * (weighted_sum.RARE if on_grid else 1))
    trimmed = [replace(law, missing=law.missing + more) for law, more in zip(distinct, missing, strict=True)]
    laws = [weighted_sum.allowing_for_missing(law) for law in trimmed]
    if offset is not None:
        values = values - offset[:, None]
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
        weights=law_weights[rows] if len(distinct) > 1 else np.broadcast_to(law_weights, (rows.size, atoms)),
        missing=np.broadcast_to([law.missing for law in laws], len(batch))[rows],
        slack=max(law.slack for law in laws),
        spread=max(law.spread for law in laws),
        error=max(law.error for law in laws),
        lost=max(law.lost for law in laws),
        nats=_NATS[on_grid],
        offset=None if offset is None else offset[rows],
    )


def _rounded_down(own_noise: FloatArray, adjacency: Adjacency) -> FloatArray:
    """The device's own noise, rounded down except for ``absent``, where delta need not fall with it."""
    return own_noise * (1 if adjacency is Adjacency.ABSENT else 1 - 4 * UNIT)


def _homogeneous(
    systems: HomogeneousSystems, system_indices: IntArray, negligible: float, model: type[NoiseMixture]
) -> Iterator[NoiseMixture]:
    """Batches of systems with similar numbers of devices.

    An observer who does not see the device's participation needs one dimension per batch.
    """
    one_dimension = model is not NoiseMixture
    keys = np.stack([systems.devices[system_indices], np.where(one_dimension, systems.dimension[system_indices], 0)])
    order = np.lexsort(keys)
    atoms = np.ones(system_indices.size) if systems.idle_noise else keys[0, order].astype(float)
    group = np.cumsum(atoms) // _TOGETHER
    cut = np.diff(group) > 0
    if one_dimension:
        cut |= np.diff(keys[1, order]) > 0
    for places in np.split(order, np.flatnonzero(cut) + 1):
        systems_inside = np.sort(system_indices[places])
        yield _of_counts(systems.only(systems_inside), systems_inside, negligible, model)


def _of_counts(
    systems: HomogeneousSystems, numbers: IntArray, negligible: float, model: type[NoiseMixture]
) -> NoiseMixture:
    """One row per system: the law of the others' noise follows from the number of the others that take part."""
    received_noise = systems.received_noise_variance
    constant = systems.idle_noise | (received_noise == 0)
    other_count = np.where(constant, 0, systems.devices - 1)
    counts = np.stack([other_count.astype(float), systems.participation])
    distinct, law_of_system = np.unique(counts, axis=1, return_inverse=True)
    blocks = [poisson_binomial.binomial(int(n), float(p)) for n, p in distinct.T]
    weights = np.zeros((len(blocks), max(block.weights.size for block in blocks)))
    for row, block in enumerate(blocks):
        weights[row, : block.weights.size] = block.weights
    weights, missing = weighted_sum.trimmed(weights, negligible)
    used = weights > 0
    first_used, atoms = np.argmax(used, axis=1), np.sum(used, axis=1)
    places = first_used[:, None] + np.minimum(np.arange(np.max(atoms)), atoms[:, None] - 1)
    kept_weights = np.where(
        np.arange(places.shape[1]) < atoms[:, None], np.take_along_axis(weights, places, axis=1), 0.0
    )
    participants = places + np.array([block.start for block in blocks])[:, None]
    law_of_system = law_of_system.ravel()
    values = (
        received_noise[:, None] * participants[law_of_system].astype(float) + systems.receiver_noise_variance[:, None]
    )
    everybody = systems.devices * received_noise + systems.receiver_noise_variance
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
        own_noise=_rounded_down(received_noise, systems.adjacency),
        sensitivity=systems.sensitivity * (1 + 4 * UNIT),
        variance=values * (1 - (systems.devices[:, None] + 8) * UNIT),
        weights=kept_weights[law_of_system],
        missing=missing[law_of_system],
        slack=0.0,
        spread=0.0,
        error=poisson_binomial.relative_error(int(np.max(systems.devices)), 1),
        lost=0.0,
        nats=_NATS[0],
    )
