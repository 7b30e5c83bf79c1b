"""The privacy card: one page on a system that a data-protection officer can file, as HTML, JSON and LaTeX."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.console import groups
from airtight.report.page import edition, environment, secured
from airtight.report.paper import escaped
from airtight.report.summary import QUESTIONS, SEEN
from airtight.results import headline
from airtight.results.inference_results import AnyScheme
from airtight.results.numerals import rounded_down, rounded_up
from airtight.results.schema import as_json
from airtight.system_file.contents import SystemFile
from airtight.validate.claims import evidence
from airtight.validate.files import OutputFolder

SCHEMA = "airtight-card-1"
FPR = 0.01  # false alarms of the attack whose detections are shown


@dataclass(frozen=True, kw_only=True)
class SystemCard:
    """What one system guarantees.

    Attributes
    ----------
    headline : list of str
    never_send : list of int
        Devices that never send.
    name, adjacency, observer : str
    protects, sees : str
        Neighbours and observer in plain words.
    helpers : str
        The devices that help the server; empty where none does.
    delta : float
        Of all rounds together.
    rounds : int
    channel : bool
        True if the guarantee covers an observer who sees every antenna.
    epsilon, lower : ndarray, shape (K,)
        Epsilon after all rounds, never below the truth, and a lower bound of the true one.
    device : int
        The least protected one, whom the following speak of.
    advantage, detections : float or None
        Of the best attack, at most: detections less false alarms, and detections at 1 % false alarms. None where a channel that
        stays the same for all rounds, or colluders of whom no set is the worst at every epsilon, leave no curve.
    any_scheme : AnyScheme or None
        What no scheme with this privacy can beat, for the worst codes within the clips; None where nothing is proved.
    """

    JSON_ALSO: ClassVar[dict[str, Any]] = {"sentences": list[str]}

    headline: list[str]
    never_send: list[int]
    name: str
    adjacency: str
    observer: str
    protects: str
    sees: str
    helpers: str
    delta: float
    rounds: int
    channel: bool
    epsilon: FloatArray
    lower: FloatArray
    estimated: bool
    device: int
    advantage: float | None
    detections: float | None
    any_scheme: AnyScheme | None

    @classmethod
    def of(cls, name: str, system: InferenceSystem, *, progress: bool = False) -> SystemCard:
        """The card of a system; with `progress`, lines on stderr say how many of its devices are done."""
        channel, count = system.channel, system.rounds
        observer = observers.resolved(system, system.observer)
        lower, epsilon = (np.atleast_1d(end) for end in system_privacy.epsilon_bracket(system, progress=progress)[:2])
        k = int(np.argmax(np.where(system.partners, -1.0, epsilon)))
        advantage = detections = None
        if system_privacy.has_curve(system, k):
            curve = system_privacy.curve(system, device=k)
            advantage, detections = curve.advantage(), float(curve.tpr(FPR))
        silent = headline.never_send(system)
        sentences = headline.sentences(f"{headline.of_privacy(system, epsilon)}.", system)
        return cls(
            headline=sentences if len(silent) < system.devices else sentences[-1:],
            never_send=silent,
            name=name,
            adjacency=system.adjacency.value,
            observer=observer.value,
            protects=QUESTIONS[system.adjacency].format(k),
            sees=f"receives the sum {SEEN[observer]}",
            helpers=headline.helpers(system),
            delta=system.delta,
            rounds=count,
            channel=channel is not None,
            epsilon=epsilon,
            lower=lower,
            estimated=system_privacy.estimated(system),
            device=k,
            advantage=advantage,
            detections=detections,
            any_scheme=AnyScheme.of(system),
        )

    @property
    def rows(self) -> list[tuple[str, tuple[str, str]]]:
        """Runs of equal devices with both bounds of epsilon, rounded outward."""
        runs = groups(list(zip(self.lower, self.epsilon, strict=True)))
        return [(devices, (rounded_down(low), rounded_up(high))) for devices, (low, high) in runs]

    @property
    def sentences(self) -> list[str]:
        """What a reader who knows no differential privacy is told."""
        after = "one round" if self.rounds == 1 else f"{self.rounds:,} rounds together"
        out = [
            f"The server {self.sees}. From {after} it should learn little about {self.protects}; the other devices' data may "
            "be known to it.",
        ]
        if self.helpers:
            out.append(f"This holds even with the help of {self.helpers}, who may tell the server their data, noise and times.")
        if self.never_send:
            out.append(self.headline[-1])
        epsilon, at = self.epsilon[self.device], f"at delta = {self.delta:g}."
        if np.isfinite(epsilon):
            text = f"The guarantee of the least protected device, {self.device}, is epsilon = {rounded_up(epsilon)} {at}"
            if epsilon > headline.PRIVATE:
                text += f" {self.headline[0]}"
        else:
            text = f"Device {self.device} has no finite epsilon {at}"
        out.append(text)
        if self.estimated:
            out.append(headline.ESTIMATE)
        if self.advantage is not None and self.detections is not None:
            guess, detected = rounded_up((1 + self.advantage) / 2), rounded_up(100 * self.detections)
            out.append(
                f"An attacker who must tell both cases apart is right with probability {guess} at most (chance: 0.5). "
                f"An attack with {FPR:.0%} false alarms detects at most {detected} % of the cases."
            )
        if self.any_scheme is not None and self.any_scheme.error > 0:
            out.append(f"The price of a round, for the worst codes: {self.any_scheme.sentence}")
        return out


@dataclass(frozen=True, kw_only=True)
class Card:
    """All systems of a file, and what the numbers rest on.

    Attributes
    ----------
    systems : tuple of SystemCard
    proofs : tuple of str
    system_file, evidence : str
        SHA-256 of the system file with the table of its devices, and of the evidence of the theorems that this version ships.
    """

    JSON_ALSO: ClassVar[dict[str, Any]] = {"schema": str, "headline": list[str], "never_send": list[int]}

    name: str
    date: str
    version: str
    systems: tuple[SystemCard, ...]
    proofs: tuple[str, ...]
    system_file: str
    evidence: str

    @classmethod
    def of(
        cls,
        description: SystemFile,
        source: bytes | None = None,
        *,
        done: Callable[[str], None] = lambda name: None,
        progress: bool = False,
    ) -> Card:
        """The card of a description that was read from a file with these bytes.

        `done` is called with the name of each system that is ready; with `progress`, lines on stderr say how many devices are.

        Raises
        ------
        ParameterError
            When it has no table [inference].
        """
        if not description.systems:
            raise ParameterError("inference", None, "a table; the card speaks of collaborative inference")
        systems = []
        for name, system in description.systems.items():
            systems.append(SystemCard.of(name, system, progress=progress))
            done(name)
        return cls(
            name=description.name,
            date=edition()["date"],
            version=version("airtight-dp"),
            systems=tuple(systems),
            proofs=_PROOFS + (_PROOFS_OF_CHANNEL if description.over_channel else ()),
            system_file="none" if source is None else hashlib.sha256(source).hexdigest(),
            evidence=hashlib.sha256(
                resources.files("airtight.validate.papers").joinpath(evidence.NAME).read_bytes()
            ).hexdigest(),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the sentences of every system."""
        first = self.systems[0]
        said = [f"{one.name}: {one.headline[0]}" for one in self.systems]
        tree: dict[str, Any] = as_json(
            {
                "schema": SCHEMA,
                "headline": [said[0], *first.headline[1:], *said[1:]],
                "never_send": first.never_send,
                **vars(self),
            }
        )
        for one, system in zip(tree["systems"], self.systems, strict=True):
            one["sentences"] = system.sentences
        return tree

    def html(self) -> str:
        """One page that loads nothing."""
        return secured(environment().get_template("card.html").render(card=self, title=self.name))

    def latex(self) -> str:
        """A document of one page."""
        lines = [
            r"\documentclass{article}",
            r"\usepackage[margin=2.5cm]{geometry}",
            r"\begin{document}",
            rf"\section*{{Privacy card: {escaped(self.name)}}}",
            rf"airtight {escaped(self.version)}, {self.date}.",
        ]
        for one in self.systems:
            lines += [rf"\subsection*{{{escaped(one.name)}}}", "", *map(escaped, one.sentences), ""]
            lines += [r"\begin{tabular}{lrr}", r"devices & $\varepsilon$ at least & $\varepsilon$ at most \\ \hline"]
            lines += [rf"{devices} & {escaped(low)} & {escaped(high)} \\" for devices, (low, high) in one.rows]
            lines += [r"\end{tabular}", ""]
        lines += [r"\subsection*{What the numbers rest on}", "", *(escaped(text) for text in self.proofs), ""]
        lines += [rf"\par\noindent\texttt{{\footnotesize system file {self.system_file}}}"]
        lines += [rf"\par\noindent\texttt{{\footnotesize evidence {self.evidence}}}", r"\end{document}"]
        return "\n".join(lines) + "\n"

    def write(self, out: Path) -> list[Path]:
        """card.html, card.json and card.tex in a folder."""
        texts = {
            "card.html": self.html(),
            "card.json": json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n",
            "card.tex": self.latex(),
        }
        with OutputFolder(out) as folder:
            folder.write(texts)
        return [out / name for name in texts]


_PROOFS = (
    "Epsilon is never below the truth, where it is not called an estimate: it comes from proved reductions of the received sum "
    "to laws of one dimension, evaluated with errors that are bounded and added; the lower bound is a divergence that is "
    "attained.",
    "The features are clipped as the system file says, and the noise is sent as it says. A device that clips or adds noise "
    "otherwise has another guarantee.",
    "Random participation counts only where the observer does not see who takes part.",
)
_PROOFS_OF_CHANNEL = (
    "All antennas count. The law of the channel is that of the states that were drawn or given; epsilon is that of the mean of "
    "delta over them.",
)
