"""The summary on top of the report: the claimed and the true values of a system, and its main findings as sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.federated.corbin.central_privacy import Client
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.console import groups
from airtight.report.numbers import above, shown, span
from airtight.report.tables import observer_columns, observer_rows, privacy_rows, quantile_columns
from airtight.results.energy import EnergyResult
from airtight.results.federated_results import FederatedBounds
from airtight.results.headline import ESTIMATE
from airtight.results.inference_results import AnyScheme, Distortion, InferenceBounds, Privacy, TheoremBound
from airtight.solvers.energy.schemes import Comparison

_NOISE_LEAVES = 0.5  # if idle noise leaves less than this share of epsilon, a sentence recommends it
_TOLD, _HIDDEN = (
    0.9,
    0.75,
)  # probabilities of a right guess at even odds, above and below which the tone is bad and good
QUESTIONS = {
    Adjacency.ABSENT: "whether device {} is there at all",
    Adjacency.SILENT: "whether device {} sends its feature or noise alone",
    Adjacency.REPLACE: "which of two features device {} sends",
}


@dataclass(frozen=True)
class Sentence:
    """One finding; `tone` is ``bad``, ``good`` or empty."""

    text: Markup
    tone: str = ""


def _said(tone: str, text: str, *values: Any) -> Sentence:
    """A sentence whose numbers are shown with four digits."""
    texts = (shown(value) if isinstance(value, float) else value for value in values)
    return Sentence(Markup(text).format(*texts), tone)


def of_inference(system: InferenceSystem, bounds: InferenceBounds, schemes: dict[str, float]) -> list[Sentence]:
    """At most three sentences: on the claim, on the protection, and on the usefulness or else on idle noise.

    Parameters
    ----------
    schemes : dict
        Epsilon of the least protected device under every adjacency and with idle noise.
    """
    sentences = [_of_claim(bounds.privacy), _of_protection(system, bounds.privacy, schemes)]
    if bounds.distortion is not None:
        sentences.append(_of_use(bounds.distortion))
    unequal = _of_devices(bounds.privacy.asked_once)
    return [*[*sentences, *([] if unequal is None else [unequal])][:3], *_estimate(system)]


def _estimate(system: InferenceSystem) -> list[Sentence]:
    return [_said("bad", ESTIMATE)] if system_privacy.estimated(system) else []


def relation(observer: Observer) -> str:
    """Relation sign before epsilon: for a server that sees y alone only an upper bound is known."""
    return "=" if observer.sees_others else "≤"


def claimed(privacy: Privacy) -> tuple[str, TheoremBound]:
    """Name and epsilon of the printed form that is finite; of Theorem 1 itself where both are finite or neither is."""
    first, proof = privacy.published.theorem1, privacy.published.eq23
    if first.vacuous and not proof.vacuous:
        return "Theorem 1 with the t of its proof", proof
    return "Theorem 1", first


def refuted(privacy: Privacy) -> bool:
    """Whether the claim fails for an observer of the participants; for a server that sees y alone this need not follow."""
    claim = claimed(privacy)[1]
    return bool(
        not claim.vacuous and np.any(claim.true_delta > claim.delta) and np.any(claim.hidden_delta > claim.delta)
    )


def _of_claim(privacy: Privacy) -> Sentence:
    name, claim = claimed(privacy)
    true = above(float(np.max(privacy.asked_once)))
    if claim.vacuous:
        text = "{} gives no ε for this system: its t = {} is not below the mean noise {}. The true ε {} {}."
        return _said("bad", text, name, claim.t, claim.mean_noise, relation(privacy.observer), true)
    first = privacy.published.theorem1
    start = Markup(name)
    if first.vacuous:
        text = "Theorem 1 itself gives no ε (its t = {} is not below the mean noise {}). With the t of its proof it"
        start = _said("", text, first.t, first.mean_noise).text
    k = int(np.argmax(claim.true_delta / claim.delta))
    epsilon, promised, true_delta = (float(x[k]) for x in (claim.epsilon, claim.delta, claim.true_delta))
    if true_delta > promised and not refuted(privacy):
        text = (
            "{} is true here as its authors mean it, for a server that sees y alone: ε = {} at δ = {}. For one that also sees "
            "who takes part the true δ at that ε is {}, {} times as much."
        )
        return _said("", text, start, epsilon, promised, true_delta, shown(true_delta / promised, 2))
    if true_delta > promised:
        text = "{} is false here: it promises ε = {} at δ = {}, but at that ε the true δ is {}, {} times as much."
        return _said("bad", text, start, epsilon, promised, true_delta, shown(true_delta / promised, 2))
    text = "{} is true here, and loose: it claims ε = {}, the truth is ε {} {}."
    return _said("", text, start, float(np.max(claim.epsilon)), relation(privacy.observer), true)


def _of_protection(system: InferenceSystem, privacy: Privacy, schemes: dict[str, float]) -> Sentence:
    true = privacy.asked_once
    k = int(np.argmax(true))
    leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
    if leaves and schemes["idle noise"] < _NOISE_LEAVES * float(true[k]):
        text = (
            "A device that stays silent also stops its noise, which reveals it. If silent devices kept sending noise, ε of "
            "device {} would be {}."
        )
        return _said("bad", text, k, above(schemes["idle noise"]))
    if not np.isfinite(true[k]):
        return _said("bad", "No finite ε holds for device {} at δ = {}.", k, privacy.exact.delta)
    right = (1 + float(system_privacy.delta(system, 0.0, rounds=1, observer=privacy.observer)[k])) / 2
    tone = "bad" if right > _TOLD else "good" if right < _HIDDEN else ""
    text = "A server that guesses from one round {} is right with probability {} at most (chance: 0.5)."
    return _said(tone, text, QUESTIONS[system.adjacency].format(k), above(right, 3))


def over_channel(system: InferenceSystem, bounds: InferenceBounds) -> dict[str, Any]:
    """Sentences and rows of a system over its channel."""
    channel, privacy = bounds.channel, bounds.privacy
    if channel is None:
        raise ParameterError("channel", None, "the bounds of a channel")
    true = privacy.asked_once
    k, seldom = int(np.argmax(true)), int(np.argmax(channel.outage))
    sentences = _estimate(system)
    if not np.isfinite(true[k]):
        sentences.append(_said("bad", "No finite ε holds for device {} at δ = {}.", k, privacy.exact.delta))
    else:
        text = "In one round ε {} {} for device {}. In the median state of the channel it is {}, which is no guarantee."
        median = float(channel.epsilon_quantiles["0.5"][k])
        sentences.append(_said("", text, relation(privacy.observer), above(true[k]), k, above(median)))
    if channel.fading is not None:
        sure, confidence = np.max(channel.fading.epsilon), f"{channel.fading.confidence:.0%}"
        text = "{} drawn channels stand for the fading. For the fading itself ε is at most {} with {} confidence, against {}."
        if not np.isfinite(sure):
            text = "{} drawn channels are too few to bound ε for the fading itself: {}, with {} confidence, against {}."
        sentences.append(_said("", text, channel.states, above(sure), confidence, channel.fading.observer))
    if channel.antennas_alike:
        text = "There is no fading: all antennas receive a device alike. Where they do not, ε is greater."
        sentences.append(_said("bad", text))
    if privacy.composed is not None:
        worst = int(np.argmax(privacy.composed.epsilon))
        text = "After {} rounds ε is {} for device {}."
        sentences.append(_said("", text, privacy.composed.rounds, above(privacy.composed.epsilon[worst]), worst))
    if np.any(channel.outage > 0):
        text = "The power limit keeps device {} silent with probability {}."
        sentences.append(_said("", text, seldom, float(channel.outage[seldom])))
    if channel.eavesdropper is not None:
        text = "An eavesdropper with {} looks of its own: ε = {}."
        sentences.append(_said("", text, channel.eavesdropper.antennas, above(np.max(channel.eavesdropper.epsilon))))
    if channel.decoder is not None:
        text = "The best combination of the antennas has a mean squared error of {}; a constant answer has {}."
        better = channel.decoder.mse < channel.decoder.constant_output
        sentences.append(_said("good" if better else "bad", text, channel.decoder.mse, channel.decoder.constant_output))
    columns = {"sends": channel.participation, **observer_columns(channel), **quantile_columns(channel)}
    return {
        "adjacency": system.adjacency,
        "delta": privacy.exact.delta,
        "states": channel.states,
        "sentences": sentences,
        "headings": list(columns),
        "rows": groups(list(zip(*columns.values(), strict=True))),
    }


def _of_use(mse: Distortion) -> Sentence:
    causes = {
        "clipping and weights (bias)": mse.breakdown.bias,
        "random participation": mse.breakdown.participation,
        "the devices' noise": mse.breakdown.local_noise,
        "the receiver's noise": mse.breakdown.receiver_noise,
    }
    cause = max(causes, key=lambda name: causes[name])
    share = f"{100 * causes[cause] / mse.exact:.0f}" if 0 < mse.exact < np.inf else "100"
    nothing = mse.constant_output
    if not mse.beats_constant:
        text = (
            "The decoded feature is worse than a constant answer: mean squared error {} against {}. {} % of the error is from {}."
        )
        return _said("bad", text, mse.exact, nothing, share, cause)
    text = (
        "The decoded feature has a mean squared error of {}; a constant answer has {}. {} % of the error is from {}."
    )
    return _said("good", text, mse.exact, nothing, share, cause)


def _of_devices(true: FloatArray) -> Sentence | None:
    finite = true[np.isfinite(true)]
    if not finite.size or finite.max() < 1.05 * max(float(np.median(finite)), 1e-300):
        return None
    k = int(np.argmax(true))
    return _said(
        "", "Device {} is the least protected: ε = {}, {} in the median.", k, above(true[k]), above(np.median(finite))
    )


def of_federation(system: FederatedSystem, bounds: FederatedBounds) -> list[Sentence]:
    """Sentences on a federation: epsilon against the server, epsilon against an observer of the mean, and the error."""
    out = []
    central, mse = bounds.central, bounds.mse
    if system.pairs:
        text = (
            "Against the server a paired client has no finite guarantee: it sees both outputs of the pair, and δ is at "
            "least {} for one parameter at every ε."
        )
        out.append(_said("bad", text, bounds.server.delta_one_parameter))
    claim = Markup("gives no ε: its condition fails")
    if central.published_condition:
        claim = Markup("claims {}").format(shown(central.published_epsilon))
    whole = _said(
        "", "ε = {} (one parameter {})", above(central.exact_epsilon_update), above(central.exact_epsilon_one_parameter)
    ).text
    if not np.isfinite(central.exact_epsilon_update):
        alone = central.clients.get(Client.UNPAIRED)
        whole = Markup("no finite ε for a paired client")
        if alone is not None and np.isfinite(alone.update):
            whole += _said("", ", {} for one alone", above(alone.update)).text
    text = "Against an observer who sees only the mean, a whole update of {} parameters has {}; Theorem 3 {}."
    out.append(_said("", text, f"{system.parameters:,}", whole, claim))
    text = "The worst error of the mean is {}, {} % of that of independent quantizers; Theorem 2 prints {}."
    share = f"{100 * mse.corbin_worst / mse.ldp:.0f}"
    out.append(_said("good", text, mse.corbin_worst, share, mse.corbin_published))
    return out


def of_fleet(rows: Sequence[EnergyResult | None], cut: Comparison | None, infeasible: str | None) -> list[Sentence]:
    """Sentences on a fleet: which devices keep the deadline, what Theorem 2 loses, how evenly energy is spent."""
    known = [row for row in rows if row is not None]
    if infeasible is not None or not known:
        return [_said("bad", "Not every device can keep its deadline: {}.", infeasible or "")]
    lost = [row.published.gap for row in known if not row.published.gap <= 1e-7]
    finite = [gap for gap in lost if np.isfinite(gap)]
    out = [_said("good", "Every one of the {} devices can keep its deadline.", len(known))]
    if lost:
        greatest_loss = _said("", " and loses up to {} of utility", max(finite)).text if finite else ""
        out.append(
            _said("bad", "What Theorem 2 tells them to do is not optimal for {} of {}{}.", len(lost), len(known), greatest_loss)
        )
    if cut is not None:
        text = "The spread of the energies is {} % below that of the benchmark, their mean {} %."
        out.append(_said("", text, f"{100 * cut.std_cut:.0f}", f"{100 * cut.mean_cut:.0f}"))
    return out


_USEFUL = 0.01  # accuracy above that of a constant answer, from which a system counts as better
SEEN = {
    Observer.PARTICIPANTS: "and sees who takes part",
    Observer.OTHERS: "and sees who of the others takes part",
    Observer.SIGNAL: "and nothing else",
}


@dataclass(frozen=True)
class Card:
    """The summary of one system of collaborative inference.

    Attributes
    ----------
    line : Markup
        The system in one line.
    observer : Observer
        What the server sees besides y.
    claimed, true, composed : ndarray, shape (K,)
        Epsilon claimed by Theorem 1, the exact one, and the exact one after `rounds` (None for one).
    theorem : str
        Name of the printed form that the claim is taken from.
    worst : int
        The device with the greatest exact epsilon.
    rows : list
        Runs of equal devices with their epsilons.
    schemes : dict
        Epsilon of the worst device under every adjacency and with idle noise.
    """

    name: str
    line: Markup
    adjacency: Adjacency
    observer: Observer
    delta: float
    claimed: FloatArray
    theorem: str
    true: FloatArray
    rounds: int
    composed: FloatArray | None
    worst: int
    rows: list[tuple[str, tuple[float, ...]]]
    schemes: dict[str, float]
    idle_noise: bool
    bounds: InferenceBounds
    sentences: list[Sentence]

    @property
    def seen(self) -> str:
        """What the server knows besides y, in words."""
        return SEEN[self.observer]

    @property
    def refuted(self) -> bool:
        """Whether the claim fails here: at the claimed epsilon the true delta exceeds the claimed one."""
        return refuted(self.bounds.privacy)

    @property
    def upper(self) -> bool:
        """Whether only an upper bound of the exact epsilon is known, and shown."""
        return not self.observer.sees_others

    @property
    def slug(self) -> str:
        """The name in a form that can be an anchor."""
        return re.sub(r"[^A-Za-z0-9_-]+", "-", self.name)

    @property
    def limit(self) -> AnyScheme | None:
        """What no scheme with this privacy can beat: of the file's tasks, or without features of the worst codes."""
        part = self.bounds.distortion or self.bounds.worst_case
        limit = None if part is None else part.any_scheme
        return limit if limit is not None and limit.error > 0 else None

    @property
    def faces(self) -> list[tuple[str, tuple[float, ...]]]:
        """Epsilon of both printed forms of Theorem 1, proven and exact, one row for each run of equal devices."""
        return privacy_rows(self.bounds.privacy)

    @property
    def observers(self) -> list[tuple[str, tuple[float, ...]]]:
        """Epsilon for each observer, one row for each run of equal devices."""
        return observer_rows(self.bounds.privacy)

    @property
    def light(self) -> tuple[str, str]:
        """Whether the system is better than a constant answer, as a CSS class and in words."""
        mse, accuracy = self.bounds.distortion, self.bounds.accuracy
        if mse is None or accuracy is None:
            return "soft", ""
        useful = accuracy.exact - accuracy.constant_output > _USEFUL
        if mse.beats_constant and useful:
            return "good", "better than a constant answer"
        if mse.beats_constant or useful:
            return "warn", "hardly better than a constant answer"
        return "bad", "worse than a constant answer"


def card(name: str, system: InferenceSystem, bounds: InferenceBounds, schemes: dict[str, InferenceSystem]) -> Card:
    """The summary of a system with its bounds; `schemes` holds epsilon of the system under other adjacencies."""
    privacy = bounds.privacy
    true = privacy.asked_once
    theorem, claim = claimed(privacy)
    worst = int(np.argmax(true))
    others = {kind: float(system_privacy.epsilon(other, device=worst)) for kind, other in schemes.items()}
    rounds, composed = _composed(privacy)
    columns = [claim.epsilon, true] if composed is None else [claim.epsilon, true, composed]
    observer = observers.resolved(system, privacy.observer)
    return Card(
        name=name,
        line=_line(system),
        adjacency=privacy.adjacency,
        observer=observer,
        delta=privacy.exact.delta,
        claimed=claim.epsilon,
        theorem=theorem,
        true=true,
        rounds=rounds,
        composed=composed,
        worst=worst,
        rows=groups(list(zip(*columns, strict=True))),
        schemes=others,
        idle_noise=system.idle_noise,
        bounds=bounds,
        sentences=of_inference(system, bounds, others),
    )


def _composed(privacy: Privacy) -> tuple[int, FloatArray | None]:
    """Epsilon over the rounds of the file, where it asks for more than one."""
    composed = privacy.composed
    return (1, None) if composed is None else (composed.rounds, composed.epsilon)


def _line(system: InferenceSystem) -> Markup:
    kept = ", absent devices send noise" if system.idle_noise else ""
    return Markup(
        "{} devices, p = {}, noise variance {} a device and {} at the receiver, w·C = {}, γ = {}, r = {:,}{}"
    ).format(
        system.devices,
        span(system.participation.tolist()),
        span(system.noise_variance.tolist()),
        shown(system.receiver_noise_variance),
        span((system.weight * system.clip).tolist()),
        shown(system.alignment),
        system.dimension,
        kept,
    )
