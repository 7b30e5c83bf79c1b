r"""Where Theorem 1 of FDP is true, in how many dimensions, and what would have to be put in its place.

The theorem claims :math:`\delta_k(\epsilon_k) \le \tilde\delta_k`; both ends of the exact :math:`\delta_k` decide it for a
system, an adjacency and an observer. Its formula has no dimension r. The exact divergence has:

*In r it only grows.* Codes of r numbers are codes of r + 1 numbers whose last one is 0, and the server may ignore a number. This
holds with the others' codes at 0, the lower end of the observer `signal`, as well.

*It stays below that of a server who sees all senders* (joint convexity), and where device k sends noise, but not while it stays
away, and the others' participation is known, it comes as near as one likes: given the senders, the squared norm of y, divided by
r, tends to the variance of its noise, which tells whether k sends.

So for each system there is a greatest dimension in which the theorem is true, 0 and infinity included. A server who sees all
senders finds an absent device with :math:`\delta = p_k` at every epsilon. Hence under ``absent``, with noise of the device and
:math:`\tilde\delta_k < p_k`, the greatest dimension is finite whatever t is, and *no t and no factor that are free of r make the
theorem true* for who knows the others' participation; nor for who sees y alone, as the others may always take part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem, device_indices
from airtight.analytics.privacy.mechanisms import subsampling
from airtight.analytics.privacy.over_the_air import amplification, observers, rounds, system_privacy
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT

LONGEST = 2**30  # greatest dimension that is searched


@dataclass(frozen=True, eq=False)
class Theorem1Region(Record):
    """Where Theorem 1 is true for each device of a system, and the constants with which it would be.

    Each pair of arrays encloses one number, by proof unless `estimated`. All arrays have one entry a device.

    Attributes
    ----------
    adjacency : Adjacency
    observer : Observer
        The server for which the theorem is tried.
    epsilon, delta : ndarray
        What the theorem claims.
    delta_lower, delta_upper : ndarray
        The exact delta at the claimed epsilon.
    dimension_lower, dimension_upper : ndarray
        The greatest dimension r in which the claim is true: it is true up to the lower end, and false beyond the upper one.
    mean_noise : float
        Of the participants; from this t on the theorem claims nothing.
    t, t_lower, t_upper : float, ndarray, ndarray
        The printed t, and the least in its place that makes the theorem true for the system: minus infinity where any does, and
        the mean noise, at which the theorem claims nothing, where none does.
    factor_lower, factor_upper : ndarray
        The least factor before :math:`p_k` that does: infinite where none does.
    t_any_dimension_lower, t_any_dimension_upper : ndarray
        The least t for codes of any length, against a server who sees all senders.
    estimated : bool
        Whether upper ends of delta are estimates for some device in the system's dimension or in few dimensions, which the search
        passes through (:func:`.system_privacy.estimated`).
    """

    adjacency: Adjacency
    observer: Observer
    epsilon: FloatArray
    delta: FloatArray
    delta_lower: FloatArray
    delta_upper: FloatArray
    dimension_lower: FloatArray
    dimension_upper: FloatArray
    mean_noise: float
    t: float
    t_lower: FloatArray
    t_upper: FloatArray
    factor_lower: FloatArray
    factor_upper: FloatArray
    t_any_dimension_lower: FloatArray
    t_any_dimension_upper: FloatArray
    estimated: bool

    @property
    def true(self) -> NDArray[np.bool_]:
        """Where the theorem is true; it is where it claims nothing."""
        return self.delta_upper <= self.delta

    @property
    def false(self) -> NDArray[np.bool_]:
        """Where it is false."""
        return self.delta_lower > self.delta


def theorem1_region(
    system: InferenceSystem,
    *,
    form: amplification.TheoremForm | str = amplification.TheoremForm.THEOREM1,
    observer: Observer | str | None = None,
    device: ArrayLike | None = None,
) -> Theorem1Region:
    r"""Where Theorem 1 is true for one round of a system, and the least constants in its own form with which it would be.

    Parameters
    ----------
    system : InferenceSystem
        Its adjacency says what the neighbour is: ``absent`` in the theorem's words, ``silent`` where the device's noise stays.
    form : {"theorem1", "eq23"}
        Take t from the theorem or from its proof.
    observer : {"auto", "participants", "others", "signal"}, optional
        By default that of the system. The authors' server is ``signal``.
    device : int or array_like of int, optional
        Indices of the devices; all K by default.

    Returns
    -------
    Theorem1Region

    Notes
    -----
    With the exact :math:`\epsilon^*` at the claimed delta, (11) is true for the system exactly if its epsilon is not below
    :math:`\epsilon^*`, as delta falls in epsilon. It rises in t, hence the least t is

    .. math:: t^* = \bar\mu - \Bigl(c_k\Big/\log\Bigl[1+\tfrac{1-\delta'}{p_k}\bigl(e^{\epsilon^*}-1\bigr)\Bigr]\Bigr)^2,

    and the least factor before :math:`p_k` is :math:`(e^{\epsilon^*}-1)/(e^{\epsilon_k}-1)`. Both rise in :math:`\epsilon^*`, so
    its two ends give theirs. The greatest dimension is searched by bisection: delta is computed in each dimension that is
    returned, and what is between them does not matter, as delta only grows in r.

    *Cost.* Some 50 times that of delta for one device of each kind.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=3.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> region = theorem1_region(system, form="eq23", observer="others", device=0)
    >>> bool(region.false[0]), region.dimension_lower, region.dimension_upper
    (True, array([81.]), array([81.]))
    >>> float(region.t), region.t_lower.round(3), region.factor_upper.round(-1)
    (0.94213..., array([1.068]), array([3090.]))
    """
    one_round = system_privacy.one_round_alone(checks.instance("system", system, InferenceSystem))
    resolved = observers.resolved(one_round, system.observer if observer is None else observer)
    claim = amplification.published(one_round, form=form)
    indices = np.atleast_1d(device_indices(one_round, device))
    representatives, kind = rounds.kinds(one_round, indices.ravel())
    columns = np.array([_of_device(one_round, claim, resolved, int(k)) for k in representatives]).T[:, kind]
    quantities = ("delta", "dimension", "t", "factor", "t_any_dimension")
    names = [f"{quantity}_{end}" for quantity in quantities for end in ("lower", "upper")]
    return Theorem1Region(
        adjacency=one_round.adjacency,
        observer=resolved,
        epsilon=claim.epsilon[indices],
        delta=claim.delta[indices],
        mean_noise=claim.mean_noise,
        t=claim.t,
        estimated=any(
            system_privacy.estimated(variant, observer=resolved) for variant in (one_round, one_round.derived(dimension=1))
        ),
        **dict(zip(names, columns.reshape(len(names), *indices.shape), strict=True)),
    )


def _of_device(
    system: InferenceSystem, claim: amplification.PublishedGuarantee, observer: Observer, device: int
) -> tuple[float, ...]:
    """Both ends of delta, of the greatest dimension, of t, of the factor and of t for codes of any length."""
    claimed_epsilon, claimed_delta = float(claim.epsilon[device]), float(claim.delta[device])

    def exact_delta(dimension: int, seen_by: Observer = observer) -> tuple[float, float]:
        ends = system_privacy.delta_bracket(
            system.derived(dimension=dimension), claimed_epsilon, device=device, observer=seen_by
        )
        return float(ends[0]), float(ends[1])

    def exact_epsilon(seen_by: Observer) -> tuple[tuple[float, int], tuple[float, int]]:
        """Both ends, each with the side to which what follows from it is rounded."""
        if claimed_delta >= 1:
            return (0.0, -1), (0.0, 1)
        ends = system_privacy.epsilon_bracket(system, delta=claimed_delta, device=device, observer=seen_by)
        return (float(ends.lower), -1), (float(ends.upper), 1)

    # where nothing is claimed, nothing is false
    lower, upper = exact_delta(system.dimension) if claimed_epsilon < np.inf else (0.0, 0.0)
    if claimed_epsilon == np.inf or exact_delta(1, Observer.PARTICIPANTS)[1] <= claimed_delta:
        true_up_to = false_beyond = np.inf  # in every dimension
    elif system.idle_noise or observer.sees_device or (observer.sees_others and system.noise_variance[device] == 0):
        # the dimension does not count; against y alone it does without own noise too, as y shows the others' noise
        true_up_to, false_beyond = (np.inf if end <= claimed_delta else 0.0 for end in (upper, lower))
    else:
        true_up_to = _greatest(lambda r: exact_delta(r)[1] <= claimed_delta, 0)
        false_beyond = _greatest(lambda r: exact_delta(r)[0] <= claimed_delta, true_up_to)
    both_ends = exact_epsilon(observer)
    return (
        lower,
        upper,
        true_up_to,
        false_beyond if false_beyond < LONGEST else np.inf,
        *(_deviation(system, claim, device, epsilon, side) for epsilon, side in both_ends),
        *(_factor(claimed_epsilon, epsilon, side) for epsilon, side in both_ends),
        *(_deviation(system, claim, device, epsilon, side) for epsilon, side in exact_epsilon(Observer.PARTICIPANTS)),
    )


def _greatest(holds: Callable[[int], bool], low: int) -> int:
    """The greatest dimension of at most LONGEST in which something holds, that holds at `low` and fails in all greater ones."""
    step = 1
    while low < LONGEST and holds(low + step):
        low, step = low + step, 2 * step
    while step > 1:
        step //= 2
        low += step * (low + step < LONGEST and holds(low + step))
    return min(low, LONGEST)


def _deviation(
    system: InferenceSystem, claim: amplification.PublishedGuarantee, device: int, epsilon: float, side: int
) -> float:
    """The least t at which (11) gives this epsilon, rounded down (side -1) or up (side 1)."""
    if epsilon == 0:
        return -np.inf
    variance = 0.0  # the mean noise less t
    if epsilon < np.inf:
        unamplified = subsampling.amplified(epsilon, (1 - float(system.delta_prime)) / system.participation[device])
        variance = (float(amplification.numerator(system)[device]) / float(unamplified)) ** 2
    # c and the logarithm are known to some ten units, a sum of K variances to log K
    return float(claim.mean_noise - variance + side * 64 * UNIT * (claim.mean_noise + variance))


def _factor(claimed: float, epsilon: float, side: int) -> float:
    """(e^epsilon - 1) / (e^claimed - 1), rounded down (side -1) or up (side 1)."""
    if epsilon == 0:
        return 0.0
    if claimed == 0 or epsilon == np.inf:
        return np.inf
    if claimed == np.inf:
        return 0.0
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.expm1(-epsilon) / np.expm1(-claimed)
        regular = 0 < ratio < np.inf
        log_ratio = np.log(ratio) if regular else np.log(-np.expm1(-epsilon)) - np.log(-np.expm1(-claimed))
        logarithm = epsilon - claimed + log_ratio
        factor = float(np.exp(logarithm + side * 16 * UNIT * (1 + epsilon + claimed + abs(logarithm))))
    return factor if side > 0 else min(factor, np.finfo(float).max)
