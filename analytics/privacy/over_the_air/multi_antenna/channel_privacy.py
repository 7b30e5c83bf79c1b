r"""Privacy over a channel with several looks: one number, :math:`v_k(S)`, takes the place of the others' noise.

Relative to the alignment, device j is received with coefficients :math:`a_j \in F^L` (F real or complex), and
:math:`Y = \sum_{j\in S}a_j(x_j + n_j)^T + Z` with white noise of variance N in every look and coordinate.

**Theorem V1.** Let the coefficients, the others' set S and their codes be known to the observer. For every adjacency, order
and :math:`\lambda`, the divergence of device k's pair is that of the system with one look in which the others' noise and the
receiver's together have the variance

.. math:: v_k(S) = \frac1{q},\qquad q = a_k^*V^{-1}a_k,\qquad V = \sum_{j\in S\setminus k}\sigma_j^2a_ja_j^* + N I .

*Proof.* The others' codes are subtracted. Multiply by :math:`V^{-1/2}` and turn :math:`b = V^{-1/2}a_k` onto the first axis.
Rows 2 to L are then N(0, I) under both neighbours and independent of row 1, which is :math:`|b|(x + n_k)` plus N(0, I).
Divide it by :math:`|b| = v^{-1/2}`. Invertible maps and an independent common part change no divergence. For complex codes
the maps are unitary over the complex numbers, all noise is circular, and row 1 has the same r real coordinates.

**Monotone.** For fixed own noise delta falls with v, for every adjacency and order: adding :math:`N(0, dv)` to the signal maps
the pair at v to that at v + dv. So v is rounded down for the upper end of delta and up for the lower one, values of v are
grouped into cells by their least and greatest member, and where not all sets are enumerated v lies between two laws
(:mod:`airtight.analytics.privacy.over_the_air.multi_antenna.unenumerated_devices`).

**Random channels** (V3). What the channel decides is independent of the data. Where the observer knows it, delta is the mean,
over the joint law of state and S, of the divergence at device k's participation *given the state*: with a power limit this is
0 or 1, and the random participation amplifies nothing. An observer who does not know the channel learns at most as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem, device_indices
from airtight.analytics.privacy.accounting import known_states
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket, PrivacyCurve
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete
from airtight.analytics.privacy.mechanisms.mechanism import BracketArrays, Factors, Mechanism, register
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.privacy.over_the_air import rounds as one_look_rounds
from airtight.analytics.privacy.over_the_air.multi_antenna import combined_antennas
from airtight.analytics.privacy.over_the_air.multi_antenna.effective_noise import BY_STATE, law, received
from airtight.analytics.privacy.over_the_air.multi_antenna.effective_noise import others_noise as others_noise
from airtight.analytics.privacy.over_the_air.multi_antenna.shared_curves import SharedCurves, edges_of
from airtight.analytics.privacy.over_the_air.participation_mixture import evaluate
from airtight.analytics.privacy.over_the_air.participation_mixture.build import epsilon_lower_bounds
from airtight.analytics.privacy.over_the_air.participation_mixture.evaluate import NoiseMixture
from airtight.analytics.privacy.over_the_air.participation_mixture.hidden import HiddenParticipationMixture
from airtight.analytics.privacy.over_the_air.rounds import Query
from airtight.analytics.progress import counted
from airtight.analytics.root_search import least_safe
from airtight.analytics.rounding import SMALLEST, UNIT

_CELLS = {"visible": 256, "absent": 128, "hidden": 48}  # of v, fewer for the kinds whose divergence costs more
_ONE_ROUND = 8  # times as many cells for one round, which evaluates few divergences
_AT_ONCE = 1 << 18  # epsilons times atoms whose divergences are computed at a time
_FAR = 1e60  # v beyond this multiple of the noise counts as this multiple, which is safe for the upper end
# relative distances below the upper bound
_BELOW = (1e-9, 1e-6, 1e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, *np.arange(0.1, 0.9, 0.05).tolist())
_NEWTON_STEPS = 6  # towards a lower bound
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_HALVINGS = 60  # of the interval of a mean
_NATS = 24.0  # the quadrature of a divergence errs by e^-24 of it


def _hidden(channel: Channel, observer: Observer) -> bool:
    """Whether the observer is taken not to see if device k takes part.

    A static channel that decides it counts as shown also where the observer does not know it: of T rounds with one hidden roll
    and adaptive features no dominating pair is proved here, and who sees the roll learns more.
    """
    reveals_sending = channel.decides_participation and (channel.known or not channel.fresh)
    return not observer.sees_device and not reveals_sending


def _noise_is_known(system: InferenceSystem, channel: Channel) -> bool:
    """Whether whoever knows the channel knows the others' noise too: then y alone says as much as y and the participants.

    The codes of the others may be 0, and the combination u of theorem V1 may depend on the channel.
    """
    p = system.participation
    return channel.known and (channel.decides_participation or system.idle_noise or not np.any((p > 0) & (p < 1)))


@dataclass(frozen=True)
class _Pair:
    """Pairs of a channel as mixtures over v, a row per device: one for upper and one for lower ends of delta.

    Attributes
    ----------
    share : ndarray, shape (K,)
        Factor on delta: the probability of states in which the device sends, where these are shown and nothing is hidden.
    bounded : ndarray of bool, shape (K,)
        Whether v has any upper end; otherwise delta has the lower end 0.
    enumerated : bool
        Whether v is that of every set, one by one.
    """

    low: NoiseMixture
    high: NoiseMixture
    share: FloatArray
    bounded: NDArray[np.bool_]
    enumerated: bool


def _pairs(
    system: InferenceSystem,
    channel: Channel,
    devices: IntArray,
    observer: Observer,
    *,
    eavesdropper: bool = False,
    rounds: int = 1,
    once: bool = False,
    by_state: bool = False,
) -> _Pair:
    """The mixtures of `devices`; over a static channel, T `rounds` are one release of T times the coordinates.

    With `by_state` there is a row for every device and state.

    Notes
    -----
    Given state and set, T rounds of ``absent`` release T r coordinates of N(x, (v + sigma^2) I) or of N(0, v I), x of T
    features; those of the other adjacencies likewise.
    """
    scaled = system.normalised()
    noise_law = law(system, channel, eavesdropper=eavesdropper, devices=devices if once else None)
    adjacency, own_noise = system.adjacency, scaled.received_noise_variance[devices]
    p, model = system.participation[devices], NoiseMixture
    sending_probability = np.ones(devices.size)
    hidden = _hidden(channel, observer)
    if adjacency is Adjacency.ABSENT or (system.idle_noise and adjacency is Adjacency.SILENT and hidden):
        if not hidden or channel.decides_participation:
            sending_probability, p = p, np.ones(devices.size)
    elif hidden and np.any((p > 0) & (p < 1)):
        model = HiddenParticipationMixture
    idle = system.idle_noise
    divergence_kind = "hidden" if model is HiddenParticipationMixture else "visible"
    if idle and adjacency is Adjacency.SILENT and hidden:
        adjacency = Adjacency.ABSENT  # its noise does not leave: as a device without noise that is absent
    if adjacency is Adjacency.ABSENT:
        divergence_kind = "absent"
    if by_state:
        low, high, weights = noise_law.by_state(devices, BY_STATE)
        devices = np.repeat(devices, noise_law.low.shape[1])
        per_device = own_noise, p, sending_probability
        own_noise, p, sending_probability = (np.repeat(part, noise_law.low.shape[1]) for part in per_device)
    else:
        low, high, weights = noise_law.pooled(devices, _CELLS[divergence_kind] * (_ONE_ROUND if once else 1))
    moved = own_noise[:, None] * (1 - 4 * UNIT) if idle else 0.0
    greatest = _FAR * max(float(np.max(scaled.received_noise_variance)), scaled.receiver_noise_variance, 1e-300)
    common: dict[str, Any] = {
        "adjacency": adjacency,
        "idle_noise": False,
        "devices": np.arange(devices.size),
        "kind": np.arange(devices.size),
        "among": np.full(devices.size, system.devices),
        "dimension": np.full(devices.size, system.dimension * rounds),
        "everybody": np.full(devices.size, np.nan),  # of idle noise only, which is part of v here
        "participation": p,
        "own_noise": own_noise * (0 if idle else 1 if adjacency is Adjacency.ABSENT else 1 - 4 * UNIT),
        "sensitivity": scaled.sensitivity[devices] * np.sqrt(rounds) * (1 + 6 * UNIT),
        "missing": np.zeros(devices.size),
        "slack": 0.0,
        "spread": 0.0,
        "error": noise_law.error,
        "lost": 0.0,
        "nats": _NATS,
    }
    variance = np.minimum(low + moved, greatest)
    lower = model(variance=variance, weights=weights, receiver=variance[:, 0], **common)
    high = high + (own_noise[:, None] * (1 + 4 * UNIT) if idle else 0.0)
    has_upper_end = high < greatest  # where v may be greater, delta is bounded below by 0
    # the order of the atoms is that of their lower ends; only sums over them are used
    raised = np.maximum.accumulate(np.where(has_upper_end, high, 0.0), axis=1)
    raised = np.where(raised > 0, raised, greatest)
    bounded = np.any(has_upper_end & (weights > 0), axis=1)
    weights = np.where(has_upper_end | ~bounded[:, None], weights, 0.0)
    upper = model(variance=raised, weights=weights, receiver=raised[:, 0], **common)
    return _Pair(lower, upper, sending_probability, bounded, noise_law.exact)


def one_look_system(system: InferenceSystem, channel: Channel) -> InferenceSystem | None:
    """The system with one look that has the same privacy, where the channel is no more than that; otherwise None.

    All devices are received with the same coefficients in every state: then the looks are combined without loss, and the
    receiver's noise falls by their square. The channel of one antenna with perfect inversion is such a one.
    """
    random = bool(np.any((system.participation > 0) & (system.participation < 1)))
    if channel.decides_participation and (channel.known or channel.antennas > 1 or (random and not channel.fresh)):
        return None
    if (received := channel.common_looks()) is None:
        return None
    square = float(np.sum(np.abs(received) ** 2))
    if square == 1.0:
        return system
    rounding = 1 - (received.size + 8) * UNIT
    return replace(system, receiver_noise_variance=system.receiver_noise_variance / square * rounding)


def adds_nothing(system: InferenceSystem) -> bool:
    """Whether the system has the privacy that it would have without its channel."""
    one_round = system.one_round
    return system.channel is None or one_look_system(one_round, system.channel) is one_round


@dataclass(frozen=True)
class ChannelQuery(Query):
    """One query over a channel, for the privacy of one device against one observer who knows the channel or not."""

    channel: Channel = field(default_factory=Channel)
    eavesdropper: bool = False
    from_table: bool = False  # whether the curve is one factor of a composition, which needs less accuracy
    rough = True

    @property
    def pair(self) -> bool:  # type: ignore[override]
        return self.channel.known and self.observer.sees_others

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """Never: the noise of a law of the channel is known between two bounds only."""
        return False

    def dominating(self, level: float) -> Factors:
        """The query against an observer who knows the channel and who of the others takes part."""
        if self.pair:
            return ((self, 1),)
        known = replace(self.channel, known=True)
        return ((replace(self, channel=known, observer=self.observer.seeing_others, _parts={}, _seen={}), 1),)

    def attained(self, level: float) -> Factors:
        """Against `signal` and a known channel, the outcomes of one combination of the looks, the others sending certain codes.

        See :mod:`airtight.analytics.privacy.over_the_air.multi_antenna.combined_antennas`.
        """
        if self.pair:
            return ((self, 1),)
        if not self.channel.known:
            return ()
        scaled, drawn, N = received(self.system, self.channel, eavesdropper=self.eavesdropper)
        pair = combined_antennas.attained_pair(
            scaled, drawn, noise=N, device=self.device, delta=level, unit=self.unit
        )
        return () if pair is None else ((pair, 1),)

    def parameters(self) -> dict[str, Any]:
        of_query = {"system": self.system.to_dict(), "device": self.device, "observer": self.observer.value}
        return {**of_query, "channel": self.channel.to_dict(), "eavesdropper": self.eavesdropper}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Mechanism:
        return query(
            InferenceSystem(**parameters["system"]),
            Channel(**parameters["channel"]),
            parameters["device"],
            parameters["observer"],
            eavesdropper=checks.flag("eavesdropper", parameters["eavesdropper"]),
        )

    @cached_property
    def _mixtures(self) -> _Pair:
        indices = np.array([self.device])
        return _pairs(self.system, self.channel, indices, self.observer, eavesdropper=self.eavesdropper)

    def _part(self, negligible: float) -> NoiseMixture:
        return self._mixtures.low

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        part = self._mixtures.low
        silent_hidden = isinstance(part, HiddenParticipationMixture) and part.adjacency is Adjacency.SILENT
        return part.adjacency is not Adjacency.ABSENT and not silent_hidden

    def _log_greatest(self, eps: FloatArray) -> FloatArray:
        return np.zeros(eps.shape)

    def in_composition(self, releases: int) -> Mechanism:
        """The same query, its divergences from a table that all devices like this one share."""
        return self if self.from_table else replace(self, from_table=True, _parts={}, _seen={})

    def _ends(self, eps: FloatArray, reverse: bool, negligible: float) -> BracketArrays:
        if self.from_table:
            members = _alike(self.system, self.device)
            curves = _shared(self.system, self.channel, self.observer, self.eavesdropper, int(members[0]))
            if curves is not None:
                row, share = int(np.searchsorted(members, self.device)), float(self._mixtures.share[0])
                lower, upper = curves.delta_bracket(eps, row, reverse=reverse, doubt=one_look_rounds.SHORTENED)
                return lower * share * (1 - 3e-15), np.minimum(upper * share * (1 + 3e-15) + SMALLEST, 1.0)
        pair, low, high = self._mixtures, np.empty(eps.size), np.empty(eps.size)
        share, steps = float(pair.share[0]), -(-eps.size * pair.low.weights.shape[1] // _AT_ONCE)
        with np.errstate(under="ignore"):
            for start in range(steps):
                chunk = eps[start::steps]
                given: dict[str, Any] = {"reverse": reverse, "doubt": one_look_rounds.SHORTENED}
                rows = np.zeros(chunk.size, dtype=np.int64)
                high[start::steps] = evaluate.log_ends(pair.low, chunk, rows, **given)[1]
                low[start::steps] = evaluate.log_ends(pair.high, chunk, rows, **given)[0]
            upper = np.minimum(share * np.exp(high) * (1 + 3e-15) + SMALLEST, 1.0)
            lower = share * np.exp(low) * (1 - 3e-15) * pair.bounded[0]
            return lower, np.where(high > -np.inf, upper, 0.0)

    def reached_loss(self, *, reverse: bool = False) -> float:
        return super().reached_loss(reverse=reverse) if self._mixtures.bounded[0] else 0.0

    def constant(self) -> None:
        return None


register(ChannelQuery, "system_with_channel")


@lru_cache(maxsize=64)
def _alike(system: InferenceSystem, device: int) -> IntArray:
    """All devices with the same participation, own noise and sensitivity, in their order."""
    scaled = system.normalised()
    keys = np.stack([scaled.participation, scaled.received_noise_variance, scaled.sensitivity])
    return np.flatnonzero(np.all(keys == keys[:, device : device + 1], axis=0))


@lru_cache(maxsize=8)
def _shared(
    system: InferenceSystem, channel: Channel, observer: Observer, eavesdropper: bool, first: int
) -> SharedCurves | None:
    """The curves of all devices like the first one; None where divergences are not regular."""
    members = _alike(system, first)
    pair = _pairs(system, channel, members[:1], observer, eavesdropper=eavesdropper)
    noise_law = law(system, channel, eavesdropper=eavesdropper)
    of_law = noise_law.low, noise_law.high, noise_law.weights
    low, high, weights = (part[members].reshape(members.size, -1) for part in of_law)
    if system.idle_noise:
        own_noise = float(system.normalised().received_noise_variance[first])
        low, high = low + own_noise * (1 - 4 * UNIT), high + own_noise * (1 + 4 * UNIT)
    if not np.all(pair.bounded) or not np.all(np.isfinite(low)) or pair.low.participation[0] == 0:
        return None
    return SharedCurves.of(pair.low, edges_of(pair.low, low, high, weights), low, high, weights)


def query(
    system: InferenceSystem,
    channel: Channel,
    device: int = 0,
    observer: Observer | str | None = None,
    *,
    eavesdropper: bool = False,
) -> Mechanism:
    """The mechanism of one query over a channel; that of the system alone where the channel adds nothing."""
    k, resolved = checks.count("device", device, f"[0, {system.devices - 1}]"), observers.resolved(system, observer)
    if (plain := _plain(system, channel, eavesdropper)) is not None:
        return one_look_rounds.query(plain, k, resolved)
    if observers.participation_distinguishes(system, resolved):
        p = float(system.participation[k])
        return Discrete((p, 1 - p), (0.0, 1.0), one_look_rounds.unit(system, k))
    if _noise_is_known(system, channel):
        resolved = resolved.seeing_others
    return ChannelQuery(system, k, resolved, channel=channel, eavesdropper=eavesdropper)


def curve(
    system: InferenceSystem,
    channel: Channel,
    *,
    device: int = 0,
    observer: Observer | str | None = None,
    eavesdropper: bool = False,
) -> PrivacyCurve:
    """The privacy curve of one device for one query over a channel; ``.compose(T)`` for T fresh states.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=0.1, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency="silent")
    >>> [round(float(curve(system, Channel(antennas=M, fading="rayleigh", states=50)).epsilon(1e-5)), 2) for M in (1, 4)]
    [0.3, 0.97]
    """
    return PrivacyCurve.of(query(system, channel, device, observer, eavesdropper=eavesdropper))


def bracket(
    system: InferenceSystem,
    channel: Channel,
    *,
    delta: float | None = None,
    rounds: int = 1,
    device: ArrayLike | None = None,
    observer: Observer | str | None = None,
    eavesdropper: bool = False,
    width: float = DEFAULT_RELATIVE_WIDTH,
    progress: bool = False,
) -> Bracket:
    """Lower and upper bound of the least epsilon of each device after T rounds over a channel.

    Parameters
    ----------
    system : InferenceSystem
        With the participation that the power limit decides (:meth:`Channel.with_participation`).
    channel : Channel
    delta : float, optional
        For all rounds together; by default that of the system.
    rounds : int
        T >= 1. With ``channel.fresh`` every round has a state and a set of its own. Otherwise one state lasts; participation that
        it does not decide is drawn anew in every round.
    device : int or array_like of int, optional
    observer : {"auto", "participants", "others", "signal"}
        Who, unless ``channel.known`` is False, knows the channel as well.
    eavesdropper : bool
        Ask for the observer with looks of its own instead of the server.
    progress : bool
        Whether to say on stderr every two seconds how many devices are done, where each has a computation of its own.

    Returns
    -------
    Bracket
        At the upper end delta is kept: the mean of delta over the states, never of epsilon.

    """
    count = checks.count("rounds", rounds)
    allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    indices, resolved = device_indices(system, device), observers.resolved(system, observer)
    if (plain := _plain(system, channel, eavesdropper)) is not None:
        return one_look_rounds.bracket(
            plain, delta=allowed_delta, rounds=count, device=indices, observer=resolved, width=width, progress=progress
        )
    if observers.participation_distinguishes(system, resolved):
        p = _seen_once(system, channel, indices, count)
        epsilon = np.where(p <= allowed_delta, 0.0, np.inf)
        return Bracket.of(epsilon, epsilon, width)
    if channel.fresh and count > 1:
        curves = [query(system, channel, int(k), resolved, eavesdropper=eavesdropper) for k in indices.ravel()]
        in_turn = counted(curves, len(curves), "devices", progress=progress)
        composed = (PrivacyCurve.of(release).compose(count) for release in in_turn)
        brackets = np.array([composition.bracket(delta=allowed_delta, width=width)[:2] for composition in composed])
        lower, upper = (brackets[:, i].reshape(indices.shape)[()] for i in (0, 1))
        return Bracket.of(lower, upper, width)
    if count > 1 and _drawn_anew(system, channel):
        return _static(system, channel, indices, resolved, eavesdropper, allowed_delta, count, width, progress)
    options: dict[str, Any] = {"eavesdropper": eavesdropper, "rounds": count, "once": True}
    pair = _pairs(system, channel, indices.ravel(), resolved, **options)
    attained = _noise_is_known(system, channel) or (channel.known and resolved.sees_others)
    lower, upper = (end.reshape(indices.shape)[()] for end in _least_epsilon(pair, allowed_delta, exact_pair=attained))
    rolls_tell = observers.participation_distinguishes(system, Observer.PARTICIPANTS)
    if not resolved.sees_device and not rolls_tell and not pair.enumerated:
        # an observer who sees less learns no more, but the law of v has fewer cells for him, which raises his bound
        more = _pairs(system, channel, indices.ravel(), Observer.PARTICIPANTS, **options)
        upper = np.minimum(upper, _least_epsilon(more, allowed_delta, exact_pair=False)[1].reshape(indices.shape))[()]
    if not resolved.sees_others and channel.known and not attained:
        queries = [query(system, channel, int(k), resolved, eavesdropper=eavesdropper) for k in indices.ravel()]
        in_turn = counted(queries, len(queries), "devices", progress=progress)
        below_signal = np.array([_attained_epsilon(composition, allowed_delta) for composition in in_turn]).reshape(indices.shape)
        lower = np.minimum(below_signal, upper)[()]
    return Bracket.of(lower, upper, width)


def _static(
    system: InferenceSystem,
    channel: Channel,
    indices: IntArray,
    observer: Observer,
    eavesdropper: bool,
    allowed_delta: float,
    rounds: int,
    width: float,
    progress: bool,
) -> Bracket:
    """Rounds with fresh participation over a channel that stays (:mod:`airtight.analytics.privacy.accounting.known_states`)."""
    releases = _by_state(system, channel, observer, eavesdropper)
    ends = np.array(
        [
            known_states.epsilon_ends(releases(int(k)), delta=allowed_delta, rounds=rounds)
            for k in counted(indices.ravel(), indices.size, "devices", progress=progress)
        ]
    )
    lower, upper = (ends[:, i].reshape(indices.shape)[()] for i in (0, 1))
    attained = channel.known and observer.sees_others
    return Bracket.of(lower if attained else np.zeros_like(lower), upper, width)


def _by_state(
    system: InferenceSystem, channel: Channel, observer: Observer, eavesdropper: bool = False
) -> Callable[[int], list[Mechanism]]:
    """For each device the query in every state, which is shown; against `signal` that of `others`, an upper bound."""
    drawn = channel.draw(system, eavesdropper=eavesdropper)
    heard = replace(system, receiver_noise_variance=drawn.receiver_noise_variance)
    states = [Channel(model=channel.model, looks=table[None]) for table in drawn.coefficients]
    return lambda device: [query(heard, state, device, observer.seeing_others) for state in states]


def _drawn_anew(system: InferenceSystem, channel: Channel) -> bool:
    """Whether participation over a static channel is drawn in every round, so that rounds are more than one release."""
    return not channel.decides_participation and bool(np.any((system.participation > 0) & (system.participation < 1)))


def _attained_epsilon(release: Mechanism, allowed_delta: float) -> float:
    """The least epsilon that one query against `signal` is proved to need; 0 where nothing is known."""
    pairs = release.attained(allowed_delta)
    return max((float(PrivacyCurve.of(pair).bracket(delta=allowed_delta).lower) for pair, _ in pairs), default=0.0)


def _plain(system: InferenceSystem, channel: Channel, eavesdropper: bool) -> InferenceSystem | None:
    """The system with one look that is asked about, or None; both arguments are checked."""
    channel.check(system)
    if eavesdropper and channel.eavesdropper is None:
        raise ParameterError("eavesdropper", None, "a table of the channel, to ask for its privacy")
    return None if eavesdropper else one_look_system(system, channel)


def _seen_once(system: InferenceSystem, channel: Channel, indices: IntArray, count: int) -> FloatArray:
    """Probability of taking part at least once."""
    if not channel.fresh and channel.decides_participation:
        return np.asarray(system.participation[indices])
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(count * np.log1p(-system.participation[indices])))


def _least_epsilon(pair: _Pair, allowed_delta: float, *, exact_pair: bool) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of the least epsilon of every row, at delta `total` after the factor `share`."""
    with np.errstate(divide="ignore", over="ignore"):
        target = np.where(pair.share > 0, allowed_delta / pair.share, np.inf) * (1 - 4 * UNIT)
    undecided = np.flatnonzero((target < 1) & (pair.low.participation > 0))
    upper, lower = np.zeros(target.size), np.zeros(target.size)
    if undecided.size:
        with np.errstate(under="ignore"):
            safe = np.where(target < 1, target, 0.5)
            upper[undecided] = pair.low.least_epsilon(safe)[undecided]
            provable = np.where(pair.bounded & exact_pair, upper, 0.0)
            # the roots lie as far below the upper bounds as both laws of v are apart
            lower = epsilon_lower_bounds(
                provable, np.log(safe) + 16 * UNIT, pair.high.log_lower, _BELOW, steps=_NEWTON_STEPS, within=1.0
            )
    return lower, upper


def epsilon(
    system: InferenceSystem,
    channel: Channel,
    *,
    delta: float | None = None,
    rounds: int = 1,
    device: ArrayLike | None = None,
    observer: Observer | str | None = None,
    eavesdropper: bool = False,
    progress: bool = False,
) -> FloatArray:
    """Least epsilon of each device after T rounds over a channel, never below the truth; see :func:`bracket`.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=0.1, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency="replace")
    >>> [float(epsilon(system, Channel(antennas=M, fading="rayleigh"), device=0).round(2)) for M in (1, 2, 8)]
    [0.63, 1.97, 2.4]
    """
    options: dict[str, Any] = {"rounds": rounds, "device": device, "observer": observer, "eavesdropper": eavesdropper}
    if delta is not None and not 0 < checks.scalar("delta", delta, "[0, inf)") < 1:
        indices, scaled = device_indices(system, device), system.normalised()
        leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
        moves = (scaled.sensitivity[indices] > 0) | (leaves & (scaled.noise_variance[indices] > 0))
        tells = observers.participation_distinguishes(system, observers.resolved(system, observer))
        reveals = (system.participation[indices] > 0) & (moves | tells)
        return np.where(reveals & (delta == 0), np.inf, 0.0)[()]
    return bracket(system, channel, delta=delta, progress=progress, **options)[1]


def delta_at(
    system: InferenceSystem,
    channel: Channel,
    epsilon: ArrayLike,
    *,
    rounds: int = 1,
    device: ArrayLike | None = None,
    observer: Observer | str | None = None,
    progress: bool = False,
) -> FloatArray:
    """delta(epsilon) of each device after T rounds over a channel, never below the truth.

    Over a static channel it is the mean over the states of delta after T rounds in that state
    (:mod:`airtight.analytics.privacy.accounting.known_states`); participation that the channel does not decide is drawn anew
    in every round.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=0.1, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency="silent")
    >>> static = Channel(antennas=2, fading="rayleigh", states=50, fresh=False)
    >>> bool(delta_at(system, static, epsilon(system, static, rounds=5, device=0), rounds=5, device=0) <= 1e-5)
    True
    """
    count, resolved = checks.count("rounds", rounds), observers.resolved(system, observer)
    indices = device_indices(system, device)
    if count > 1 and not channel.fresh and _plain(system, channel, False) is None:
        return _static_delta(system, channel, indices, checks.real("epsilon", epsilon, "[0, inf]"), resolved, count, progress)
    indices, eps = checks.broadcast(device=indices, epsilon=checks.real("epsilon", epsilon, "[0, inf]"))
    out = np.empty(indices.size)
    distinct = np.unique(indices)
    for k in counted(distinct, distinct.size, "devices", progress=progress):
        places = indices.ravel() == k
        round_curve = PrivacyCurve.of(query(system, channel, int(k), resolved))
        out[places] = round_curve.compose(count).delta(eps.ravel()[places])
    return out.reshape(indices.shape)[()]


def _static_delta(
    system: InferenceSystem,
    channel: Channel,
    indices: IntArray,
    epsilon: FloatArray,
    observer: Observer,
    rounds: int,
    progress: bool,
) -> FloatArray:
    """:func:`delta_at` over a channel that stays; the cases are those of :func:`bracket`."""
    indices, eps = checks.broadcast(device=indices, epsilon=epsilon)
    device, at = indices.ravel(), eps.ravel()
    if observers.participation_distinguishes(system, observer):
        return np.asarray(_seen_once(system, channel, indices, rounds))[()]
    if not _drawn_anew(system, channel):
        pair = _pairs(system, channel, device, observer, rounds=rounds, once=True)
        with np.errstate(under="ignore"):
            delta = np.exp(pair.low.log_upper(at, np.arange(device.size)))
        upper = np.minimum(pair.share * delta * (1 + 4 * UNIT) + SMALLEST, 1.0)
        return np.where(delta > 0, upper, 0.0).reshape(indices.shape)[()]
    releases, out = _by_state(system, channel, observer), np.empty(device.size)
    distinct = np.unique(device)
    for k in counted(distinct, distinct.size, "devices", progress=progress):
        places = device == k
        out[places] = known_states.delta_ends(releases(int(k)), at[places], rounds=rounds)[1]
    return out.reshape(indices.shape)[()]


def epsilon_by_state(
    system: InferenceSystem,
    channel: Channel,
    *,
    delta: float | None = None,
    observer: Observer | str | None = None,
) -> FloatArray:
    """Least epsilon of each device for one query *given* each state, shape (states, K); no guarantee, see :func:`bracket`.

    Where the channel decides who takes part, that device k sends is given as well.
    """
    allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    resolved, devices = observers.resolved(system, observer), np.arange(system.devices)
    states = law(system, channel).low.shape[1]
    if observers.participation_distinguishes(system, resolved):
        return np.broadcast_to(np.where(system.participation <= allowed_delta, 0.0, np.inf), (states, system.devices))
    pair = _pairs(system, replace(channel, known=True), devices, resolved, by_state=True)
    if channel.decides_participation:
        certain = np.ones(devices.size * states)
        pair = replace(pair, share=certain, low=replace(pair.low, participation=certain))
    return _least_epsilon(pair, allowed_delta, exact_pair=False)[1].reshape(devices.size, states).T


def epsilon_quantiles(
    system: InferenceSystem, channel: Channel, *, delta: float | None = None, observer: Observer | str | None = None
) -> dict[str, FloatArray]:
    """Quantiles over the states of :func:`epsilon_by_state`, each of shape (K,).

    They describe how the states differ. The guarantee is the mean of delta over states, which bad states dominate.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=0.1, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency="silent")
    >>> quantiles = epsilon_quantiles(system, Channel(antennas=2, fading="rayleigh"))
    >>> {name: round(float(value[0]), 2) for name, value in quantiles.items()}
    {'0.05': 0.3, '0.25': 0.34, '0.5': 0.42, '0.75': 0.58, '0.95': 1.03}
    """
    states = epsilon_by_state(system, channel, delta=delta, observer=observer)
    levels = np.quantile(states, _QUANTILES, axis=0, method="inverted_cdf")
    return {str(quantile): value for quantile, value in zip(_QUANTILES, levels, strict=True)}


def epsilon_of_fading(
    system: InferenceSystem,
    channel: Channel,
    *,
    confidence: float = 0.95,
    delta: float | None = None,
    observer: Observer | str | None = None,
) -> FloatArray | None:
    r"""Upper confidence bound of epsilon of one query for the law that the states are drawn from, shape (K,).

    :func:`epsilon` is a guarantee for the drawn states, each equally likely. A continuous law has worse states too: this
    bound holds for it, for each device with probability `confidence` over the draw of the states. It is infinite where too few
    are drawn, as a rule for ``absent``, whose delta tends to the probability of taking part where the channel is bad.

    Parameters
    ----------
    confidence : float
        In (0, 1).
    delta, observer
        As in :func:`bracket`.

    Returns
    -------
    ndarray, or None where the states are given and nothing is drawn

    Notes
    -----
    *Theorem.* Let :math:`\bar\delta(\epsilon)` be the mean of the divergences :math:`D_s(\epsilon)` over n independent states and
    :math:`0\le D_s(\epsilon)\le R(\epsilon)`, R falling. Let u be the greatest :math:`\mu\in[0,1]` with
    :math:`n\,\mathrm{kl}(\bar\delta/R\,\|\,\mu) \le \ln(1/\alpha)`, kl being the divergence of Bernoulli laws. The least
    :math:`\epsilon` with :math:`Ru\le\delta` is, with probability :math:`1-\alpha`, at least that of the law of the states.

    *Proof.* By Chernoff and Hoeffding :math:`\delta(\epsilon) > Ru` has at most probability :math:`\alpha` for any fixed
    :math:`\epsilon`. Ru falls in :math:`\epsilon`: it increases with the mean at fixed R, and with R at a fixed mean, as
    u is concave in its argument and at least 0 at 0. Take any fixed :math:`\epsilon` with
    :math:`\delta(\epsilon) > \delta`. If the bound were at most this :math:`\epsilon`, then
    :math:`Ru \le \delta < \delta(\epsilon)` there, which has probability :math:`\alpha` at most; let :math:`\epsilon` increase to
    the least epsilon of the law.

    Delta is the greater of the means in the two orders. The bound is applied to the order that is greater for the law at this
    :math:`\epsilon`, and the mean that is used is at least that order's.

    R is the divergence at v = 0, which no other exceeds (V4): that of the device's own noise. Where it is not seen whether the
    device takes part, or its noise leaves with it, R is the probability of taking part.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=0.1, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency="silent")
    >>> for states in (200, 5000):
    ...     drawn = Channel(model="complex", antennas=2, fading="rayleigh", states=states)
    ...     print([round(float(value[0]), 2) for value in (epsilon(system, drawn), epsilon_of_fading(system, drawn))])
    [0.81, 0.92]
    [0.77, 0.8]
    """
    alpha = 1 - checks.scalar("confidence", confidence, "(0, 1)")
    allowed_delta = system.delta if delta is None else checks.scalar("delta", delta, "(0, 1)")
    resolved = observers.resolved(system, observer)
    if channel.looks is not None:
        return None
    epsilon_upper = np.atleast_1d(np.asarray(epsilon(system, channel, delta=allowed_delta, observer=resolved)))
    if _plain(system, channel, eavesdropper=False) is not None or observers.participation_distinguishes(system, resolved):
        return epsilon_upper
    p = system.participation
    amplified = _hidden(channel, resolved) & (p < 1)
    scaled = system.normalised()
    bounded = (system.adjacency is not Adjacency.ABSENT) & ~amplified
    sensitivity, own_deviation = scaled.sensitivity, np.sqrt(scaled.received_noise_variance)
    greatest = np.where(p <= allowed_delta, 0.0, np.inf)
    undecided = bounded & (p > allowed_delta)
    share_of_delta = allowed_delta / p[undecided] * (1 - 4 * UNIT)
    greatest[undecided] = gaussian.epsilon(share_of_delta, sensitivity=sensitivity[undecided], sigma=own_deviation[undecided])
    # even where all divergences are 0
    hopeless = ~bounded & (-p * math.expm1(math.log(alpha) / channel.states) > allowed_delta)
    epsilon_upper = np.where(hopeless, np.inf, epsilon_upper)

    for k in np.flatnonzero(np.isfinite(epsilon_upper) & (epsilon_upper < greatest)).tolist():
        device_curve = PrivacyCurve.of(query(system, channel, k, resolved))

        def kept(at: FloatArray, k: int = k, device_curve: PrivacyCurve = device_curve) -> NDArray[np.bool_]:
            divergence_upper = np.full(at.shape, p[k])
            if bounded[k]:
                of_own_noise = gaussian.delta(at, sensitivity=sensitivity[k], sigma=own_deviation[k])
                divergence_upper *= np.minimum(1.0, of_own_noise)
            divergence_upper = np.maximum(divergence_upper, SMALLEST)
            ratio = np.minimum(device_curve.delta(at) / divergence_upper * (1 + UNIT), 1.0)
            mean = _greatest_mean(ratio, channel.states, alpha)
            return np.asarray(divergence_upper * mean * (1 + 4 * UNIT) <= allowed_delta)

        epsilon_upper[k] = min(max(epsilon_upper[k], least_safe(kept, 1)), greatest[k])
    return epsilon_upper


def _greatest_mean(mean: FloatArray, n: int, alpha: float) -> FloatArray:
    r"""The greatest mean of n independent variables in [0, 1] that is not refuted by theirs at level alpha; rounded up.

    Notes
    -----
    With m the mean and :math:`\mu` the argument, the two terms of kl have opposite signs and the magnitude of the first is at
    most :math:`\mu - m`, so the sum of both magnitudes is at most :math:`\mathrm{kl} + 2(\mu - m)`. Each term errs by less than
    8 `UNIT`, relatively.
    """
    from scipy import special

    low, high, refuted = mean, np.ones(mean.shape), -math.log(alpha) / n * (1 + 8 * UNIT)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            kl = special.rel_entr(mean, middle) + (1 - mean) * np.log1p((middle - mean) / (1 - middle))
            kept = (kl * (1 - 8 * UNIT) - 16 * UNIT * (middle - mean) <= refuted) & (middle < 1)
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    return high
