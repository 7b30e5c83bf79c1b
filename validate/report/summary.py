"""The summary on top of the report: what is claimed of a system and what is true."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, observers
from airtight.validate.report import sentences
from airtight.validate.report.numbers import shown, span
from airtight.validate.report.sentences import Sentence
from airtight.validate.report.tables import groups, observer_rows, privacy_rows
from airtight.validate.results.inference_results import InferenceBounds, Privacy

_USEFUL = 0.01  # accuracy above that of an output that ignores y, from which a system counts as better
_SEEN = {
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
        Epsilon claimed by Theorem 1, the exact one, and the exact one after `rounds` queries (None for one query).
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
        return _SEEN[self.observer]

    @property
    def refuted(self) -> bool:
        """Whether the claim fails here: at the claimed epsilon the true delta exceeds the claimed one."""
        return sentences.refuted(self.bounds.privacy)

    @property
    def upper(self) -> bool:
        """Whether only an upper bound of the exact epsilon is known, and shown."""
        return self.observer is Observer.SIGNAL

    @property
    def slug(self) -> str:
        """The name in a form that can be an anchor."""
        return re.sub(r"[^A-Za-z0-9_-]+", "-", self.name)

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
        """Whether the system is better than an output that ignores y, as a CSS class and in words."""
        mse, accuracy = self.bounds.distortion, self.bounds.accuracy
        if mse is None or accuracy is None:
            return "soft", ""
        useful = accuracy.exact - accuracy.constant_output > _USEFUL
        if mse.beats_constant and useful:
            return "good", "better than nothing"
        if mse.beats_constant or useful:
            return "warn", "hardly better than nothing"
        return "bad", "worse than nothing"


def card(name: str, system: InferenceSystem, bounds: InferenceBounds, schemes: dict[str, InferenceSystem]) -> Card:
    """The summary of a system with its bounds; `schemes` holds epsilon of the system under other adjacencies."""
    privacy = bounds.privacy
    true = sentences.true_epsilon(privacy)
    theorem, claim = sentences.claimed(privacy)
    worst = int(np.argmax(true))
    others = {kind: float(amplification.exact_epsilon(other, device=worst)) for kind, other in schemes.items()}
    rounds, composed = _composed(privacy)
    columns = [claim.epsilon, true] if composed is None else [claim.epsilon, true, composed]
    seen = privacy.observer if privacy.observer is not Observer.AUTO else observers.meaning(system)
    return Card(
        name=name,
        line=_line(system),
        adjacency=privacy.adjacency,
        observer=seen,
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
        sentences=sentences.of_inference(system, bounds, others),
    )


def _composed(privacy: Privacy) -> tuple[int, FloatArray | None]:
    """Epsilon over the rounds of the file, where it asks for more than one."""
    found = privacy.composed
    return (1, None) if found is None else (found.rounds, found.epsilon)


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
