"""Results for a system of collaborative inference: privacy, distortion, accuracy, selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from airtight.analytics import checks, plots
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.distributions import selection as selected_lowest
from airtight.analytics.guarantee import Adjacency, Face, Guarantee, Observer
from airtight.analytics.inference import accuracy, combiner, decoding, distortion, participation
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.distortion import Breakdown
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.inference.transmission import transmit_energy
from airtight.analytics.limits import minimax
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket
from airtight.analytics.privacy.over_the_air import amplification, feature_aware, observers, system_privacy
from airtight.analytics.privacy.over_the_air.amplification import TheoremForm
from airtight.analytics.privacy.over_the_air.groups import group_epsilon
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.analytics.tidy import Entry
from airtight.results import headline
from airtight.results.numerals import plain, rounded_down, rounded_up
from airtight.results.numerals import rounds as in_words
from airtight.results.result import Result, silent
from airtight.system_file.contents import Scores, Task, Uncertainty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CONFIDENCE = 0.95  # of the bounds for the law of the fading


@dataclass(frozen=True, kw_only=True)
class EpsilonDelta:
    """epsilon and delta of every device.

    Attributes
    ----------
    epsilon, delta : ndarray, shape (K,)
    """

    epsilon: FloatArray
    delta: FloatArray

    @classmethod
    def of(cls, guarantee: Guarantee) -> EpsilonDelta:
        return cls(epsilon=guarantee.epsilon, delta=guarantee.delta)


@dataclass(frozen=True, kw_only=True)
class TheoremBound:
    """The claim of Theorem 1 for a system, with one of the two printed t.

    Attributes
    ----------
    t, mean_noise : float
        The deviation used and the mean noise variance of the participants.
    vacuous : bool
        Whether t reaches the mean noise, so that nothing is claimed.
    epsilon, delta : ndarray, shape (K,)
        As claimed.
    true_delta : ndarray, shape (K,)
        The exact delta at the claimed epsilon, against the observer that `auto` stands for, to whom no device is a partner: the
        theorem knows no colluders.
    hidden_delta : ndarray, shape (K,)
        The exact delta at the claimed epsilon for the observer `others`, who sees more than a server that sees y alone: where it
        does not exceed the claimed delta, the theorem is true for this system as its authors mean it.
    """

    t: float
    mean_noise: float
    vacuous: bool
    epsilon: FloatArray
    delta: FloatArray
    true_delta: FloatArray
    hidden_delta: FloatArray

    @classmethod
    def of(cls, system: InferenceSystem, form: TheoremForm) -> TheoremBound:
        system = system.derived(colluding=0)
        claim = amplification.published(system.one_round, form=form)

        def true_delta(observer: Observer) -> FloatArray:
            return np.asarray(system_privacy.delta(system, claim.epsilon, rounds=1, observer=observer))

        return cls(
            t=claim.t,
            mean_noise=claim.mean_noise,
            vacuous=claim.vacuous,
            epsilon=claim.epsilon,
            delta=claim.delta,
            true_delta=true_delta(Observer.AUTO),
            hidden_delta=true_delta(Observer.OTHERS),
        )


@dataclass(frozen=True, kw_only=True)
class Published:
    """Theorem 1 with its own t, and with that of its proof."""

    theorem1: TheoremBound
    eq23: TheoremBound


@dataclass(frozen=True, kw_only=True)
class Exact:
    """The least epsilon of every device at one delta.

    Attributes
    ----------
    epsilon : ndarray, shape (K,)
    delta : float
    """

    epsilon: FloatArray
    delta: float


@dataclass(frozen=True, kw_only=True)
class SignalBracket:
    """Where the least epsilon lies against a server that sees y alone; a guarantee is the upper end.

    Attributes
    ----------
    lower, epsilon : ndarray, shape (K,)
    """

    lower: FloatArray
    epsilon: FloatArray


@dataclass(frozen=True, kw_only=True)
class Observers:
    """The least epsilon of every device against each observer, at the system's delta.

    Attributes
    ----------
    participants, others : ndarray, shape (K,)
        Infinite where there is none.
    signal : SignalBracket
    estimated : bool
        Whether `others` and `signal` rest on an interpolation whose error is estimated, not proved (docs/accuracy.md).
    """

    participants: FloatArray
    others: FloatArray
    signal: SignalBracket
    estimated: bool = field(default=False, repr=False)

    @classmethod
    def of(cls, system: InferenceSystem, uncertainty: Uncertainty | None = None) -> Observers:
        """The upper end for `signal` is epsilon for `others`; of what is uncertain it is infinite where nothing is proved."""
        if uncertainty is not None:
            return cls._of_uncertain(system.replace(rounds=1), uncertainty)
        signal = system_privacy.epsilon_bracket(system, rounds=1, observer=Observer.SIGNAL)
        participants = np.asarray(system_privacy.epsilon(system, rounds=1, observer=Observer.PARTICIPANTS))
        others = np.asarray(signal.upper)
        return cls(
            participants=participants,
            others=others,
            signal=SignalBracket(lower=np.asarray(signal.lower), epsilon=others),
            estimated=system_privacy.estimated(system, rounds=1, observer=Observer.SIGNAL),
        )

    @classmethod
    def _of_uncertain(cls, system: InferenceSystem, uncertainty: Uncertainty) -> Observers:
        seen = observers.resolved(system, system.observer)

        def bracket(observer: Observer) -> Bracket:
            try:
                return uncertainty.bracket(system.replace(observer=observer))
            except ParameterError:
                if seen.sees_device == observer.sees_device:
                    raise  # it is this one that the user asks about
                return Bracket.of(np.zeros(system.devices), np.full(system.devices, np.inf), DEFAULT_RELATIVE_WIDTH)

        signal, participants = bracket(Observer.SIGNAL), np.asarray(bracket(Observer.PARTICIPANTS).upper)
        others = np.minimum(signal.upper, participants)  # who sees less learns no more
        return cls(
            participants=participants,
            others=others,
            signal=SignalBracket(lower=np.asarray(signal.lower), epsilon=others),
            estimated=uncertainty.estimated(system.replace(observer=Observer.SIGNAL)),
        )

    def of_auto(self, system: InferenceSystem) -> FloatArray:
        """Epsilon against the observer that `auto` stands for."""
        return self.participants if observers.default_observer(system).sees_device else self.others


@dataclass(frozen=True, kw_only=True)
class Composed:
    """The least epsilon of every device over many rounds, at the system's delta for all of them together.

    Attributes
    ----------
    rounds : int
    observer : Observer
    epsilon, lower : ndarray, shape (K,)
        Never below the truth, and never above it.
    estimated : bool
        Whether that rests on an interpolation whose error is estimated, not proved (docs/accuracy.md).
    """

    rounds: int
    observer: Observer
    epsilon: FloatArray
    lower: FloatArray
    estimated: bool = False


@dataclass(frozen=True, kw_only=True)
class Colluding:
    """Epsilon of every device after all rounds if others help the server.

    Attributes
    ----------
    devices : int or list of int
        Any so many others, the worst for each device; or these. Of a device in this list nothing is claimed: its epsilon is
        infinite, the lower bound 0.
    epsilon, lower : ndarray, shape (K,)
        Never below the truth, and never above it.
    estimated : bool
        Whether that rests on an interpolation whose error is estimated, not proved (docs/accuracy.md).
    """

    devices: int | list[int]
    epsilon: FloatArray
    lower: FloatArray
    estimated: bool = False


@dataclass(frozen=True, kw_only=True)
class GroupBounds:
    """Epsilon of the devices of one person together, after all rounds.

    Attributes
    ----------
    devices : list of list of int
        The devices of each person.
    epsilon, lower : ndarray
        Never below the truth, and never above it.
    estimated : bool
        Whether that rests on an interpolation whose error is estimated, not proved (docs/accuracy.md).
    """

    devices: list[list[int]]
    epsilon: FloatArray
    lower: FloatArray
    estimated: bool = False

    @classmethod
    def of(cls, system: InferenceSystem, groups: Sequence[Sequence[int]]) -> GroupBounds:
        lower, upper = group_epsilon(system, groups)[:2]
        return cls(
            devices=[list(group) for group in groups],
            epsilon=upper,
            lower=lower,
            estimated=system_privacy.estimated(system),
        )


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What protects every device's feature: as published, as proven, exactly; `observer` is the one asked about.

    `proven` and `exact` are against the observer `auto`, which that word stands for in this system.

    `composed` is there where more than one round is asked about. Over a channel with several looks, what is published is the
    formula for one look all the same, nothing is proven in closed form, and all other values are those of the channel.

    Where devices collude, `colluding` is there too, and all exact values count it; what is published knows no colluders, and
    nothing is proven in closed form. Where the file has groups of devices, `groups` is there.

    `uncertain` names the key of [inference] that leaves the noise or the participation open: all exact values count it, what is
    published is at the nominal noise or the mean participation, and nothing is proven in closed form.
    """

    adjacency: Adjacency
    observer: Observer
    auto: Observer = field(repr=False)
    published: Published
    proven: EpsilonDelta
    exact: Exact
    observers: Observers
    composed: Composed | None = None
    colluding: Colluding | None = None
    groups: GroupBounds | None = None
    uncertain: str | None = None

    @classmethod
    def of(
        cls, system: InferenceSystem, groups: Sequence[Sequence[int]] = (), uncertainty: Uncertainty | None = None
    ) -> Privacy:
        by_observer = Observers.of(system, uncertainty)
        if channel_privacy.adds_nothing(system) and not system.colluding and uncertainty is None:
            proven = EpsilonDelta.of(amplification.proven(system.one_round))
        else:
            proven = EpsilonDelta(epsilon=np.full(system.devices, np.inf), delta=np.full(system.devices, system.delta))
        composed, colluding, partners = None, None, system.colluding
        if system.rounds > 1 or partners:  # both are about all rounds
            bracket = system_privacy.epsilon_bracket(system) if uncertainty is None else uncertainty.bracket(system)
            estimated = system_privacy.estimated(system) if uncertainty is None else uncertainty.estimated(system)
            ends: dict[str, Any] = {"epsilon": bracket.upper, "lower": bracket.lower, "estimated": estimated}
            if system.rounds > 1:
                composed = Composed(rounds=system.rounds, observer=observers.resolved(system, system.observer), **ends)
            if partners:
                colluding = Colluding(devices=partners if isinstance(partners, int) else list(partners), **ends)
        return cls(
            adjacency=system.adjacency,
            observer=system.observer,
            auto=observers.default_observer(system),
            published=Published(
                theorem1=TheoremBound.of(system, TheoremForm.THEOREM1), eq23=TheoremBound.of(system, TheoremForm.EQ23)
            ),
            proven=proven,
            exact=Exact(epsilon=by_observer.of_auto(system), delta=system.delta),
            observers=by_observer,
            composed=composed,
            colluding=colluding,
            groups=GroupBounds.of(system, groups) if groups else None,
            uncertain=None if uncertainty is None else uncertainty.key,
        )

    def tidy(self) -> dict[str, object]:
        """The numbers of the table: ``epsilon`` with its faces, and what else Theorem 1 claims with either t."""
        once: dict[str, Any] = {"rounds": 1}
        printed: dict[str, Any] = {"face": Face.PUBLISHED, "observer": Observer.SIGNAL, **once}
        true: dict[str, Any] = {"face": Face.EXACT, **once}
        by_observer, signal = self.observers, self.observers.signal
        proved: dict[str, Any] = {} if by_observer.estimated else {"lower": signal.lower, "upper": signal.epsilon}
        epsilon = [
            Entry(value=self.published.theorem1.epsilon, **printed),
            Entry(value=self.proven.epsilon, face=Face.PROVEN, observer=self.auto, **once),
            Entry(value=by_observer.participants, observer=Observer.PARTICIPANTS, **true),
            Entry(value=by_observer.others, observer=Observer.OTHERS, **true),
            Entry(value=signal.epsilon, observer=Observer.SIGNAL, **true, **proved),
        ]
        if (composed := self.composed) is not None:
            proved = {} if composed.estimated else {"lower": composed.lower, "upper": composed.epsilon}
            conditions: dict[str, Any] = {"observer": composed.observer, "rounds": composed.rounds}
            epsilon.append(Entry(value=composed.epsilon, face=Face.EXACT, **conditions, **proved))
        rows: dict[str, object] = {"adjacency": self.adjacency, "delta": self.exact.delta, "epsilon": epsilon}
        if self.colluding is not None:
            rows["colluding"] = str(self.colluding.devices)
        if self.uncertain is not None:
            rows["uncertain"] = self.uncertain
        if self.groups is not None:
            rows["groups"] = str(self.groups.devices)
            rows["group_epsilon"] = [
                Entry(value=value, face=Face.EXACT, **({} if self.groups.estimated else {"lower": low, "upper": value}))
                for value, low in zip(self.groups.epsilon, self.groups.lower, strict=True)
            ]
        for form, claim in (("theorem1", self.published.theorem1), ("eq23", self.published.eq23)):
            rows[form] = {
                "delta": Entry(value=claim.delta, **printed),
                "true_delta": [
                    Entry(value=each, observer=observer, **true)
                    for observer, each in {self.auto: claim.true_delta, Observer.OTHERS: claim.hidden_delta}.items()
                ],
                "t": claim.t,
                "mean_noise": claim.mean_noise,
                "vacuous": claim.vacuous,
            }
        return {**rows, "eq23.epsilon": Entry(value=self.published.eq23.epsilon, **printed)}

    @property
    def partners(self) -> list[int]:
        """The devices that are named as colluders, of which nothing is claimed."""
        named = [] if self.colluding is None else self.colluding.devices
        return named if isinstance(named, list) else []

    @property
    def worst(self) -> float:
        """The greatest of :attr:`asked`, over the devices that are no named colluders."""
        return float(np.max(np.delete(self.asked, self.partners)))

    @property
    def asked(self) -> FloatArray:
        """Epsilon of every device after all rounds against the system's observer."""
        return self.asked_once if self.composed is None else self.composed.epsilon

    @property
    def asked_once(self) -> FloatArray:
        """Epsilon of every device after one round against the system's observer."""
        match self.observer:
            case Observer.PARTICIPANTS:
                return self.observers.participants
            case Observer.OTHERS:
                return self.observers.others
            case Observer.SIGNAL:
                return self.observers.signal.epsilon
            case Observer.AUTO:
                return self.exact.epsilon


@dataclass(frozen=True, kw_only=True)
class Distortion:
    """Mean squared error of the decoded feature: the printed bound, a proven one, the exact value and its causes.

    Attributes
    ----------
    published, proven, exact : float
    constant_output : float
        Of the best output that ignores y.
    beats_constant : bool
        Whether the exact value is below that.
    best_gain, at_best_gain : float
        The decoder gain of least MSE (0: no positive gain beats the constant output), and that MSE.
    any_decoder : float
        Lower bound of the MSE of every decoder and all encoders with these clips, for a Gaussian target of the same size.
    breakdown : Breakdown
    any_scheme : AnyScheme, optional
        What no scheme with this privacy can beat in the mean over all tasks, where there are several.
    """

    published: float
    proven: float
    exact: float
    constant_output: float
    beats_constant: bool
    best_gain: float
    at_best_gain: float
    any_decoder: float
    breakdown: Breakdown
    any_scheme: AnyScheme | None

    @classmethod
    def of(cls, system: InferenceSystem, task: Task) -> Distortion:
        causes = distortion.breakdown(system, task.features)
        nothing = decoding.constant_output(task.features)
        best = decoding.best_gain(system, task.features)
        return cls(
            published=distortion.published(system, task.features),
            proven=distortion.proven(system, task.features),
            exact=causes.total,
            constant_output=nothing,
            beats_constant=causes.total < nothing,
            best_gain=best.gain,
            at_best_gain=best.mse,
            any_decoder=decoding.any_decoder(system, task.features),
            breakdown=causes,
            any_scheme=AnyScheme.of(system, task.samples) if len(task.samples) > 1 else None,
        )


_CAUSES = {"bias": "#d6604d", "participation": "#f4a582", "local_noise": "#4393c3", "receiver_noise": "#92c5de"}


def plot_errors(parts: Mapping[str, Distortion], ax: Axes | None = None) -> Axes:
    """Plot the exact mean squared error of each system, split by cause, with that of the constant answer.

    Raises
    ------
    ParameterError
        Without any error, as no system has features.
    """
    if not parts:
        raise ParameterError("what", "error", "of a file with a table [inference.features]")
    axes, start = plots.axes_of(ax), np.zeros(len(parts))
    for cause, colour in _CAUSES.items():
        width = np.array([getattr(mse.breakdown, cause) for mse in parts.values()])
        axes.barh(list(parts), width, left=start, color=colour, label=cause.replace("_", " "))
        start += width
    axes.plot([mse.proven for mse in parts.values()], list(parts), "k|", markersize=16, label="proven bound")
    axes.plot([mse.constant_output for mse in parts.values()], list(parts), "kx", label="constant answer")
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set(xlabel="mean squared error", xlim=(0, None))
    axes.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return axes


@dataclass(frozen=True, kw_only=True)
class AnyScheme:
    """A lower bound of the error of any code, power and decoder with the same privacy (:mod:`.limits.minimax`).

    Attributes
    ----------
    error : float
        No such scheme has a smaller mean squared error: for the worst codes, or where several tasks are given in their mean.
    ratio : float
        The error of this system over it.
    how : str
        The theorem and its data.
    over_tasks : bool
        Whether it is for the mean over several tasks.
    """

    error: float
    ratio: float
    how: str
    over_tasks: bool = field(default=False, repr=False)

    @property
    def sentence(self) -> str:
        """What any scheme has at least, and the factor of this one."""
        over = " in the mean over the tasks" if self.over_tasks else ""
        return (
            f"Any scheme with this privacy has at least the error {rounded_down(self.error)}{over}, whatever its code, power "
            f"and decoder; this one has {rounded_up(self.ratio, 3)} times as much."
        )

    @classmethod
    def of(cls, system: InferenceSystem, tasks: Sequence[Features] | None = None) -> AnyScheme | None:
        """None where no limit is proved, and over a channel, where each device has a costly curve of its own."""
        if system.channel is not None:
            return None
        with suppress(ParameterError):
            limit = minimax.of_system(system) if tasks is None else minimax.of_tasks(system, tasks)
            return cls(error=limit.error, ratio=limit.ratio, how=limit.how, over_tasks=tasks is not None)
        return None


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """What holds for all codes within the clips, for systems without features (:func:`.distortion.worst_case`).

    Attributes
    ----------
    error : float
        Greatest mean squared error of the mean of the codes; over a channel, from the first antenna alone.
    constant_output : float
        That of the best output that ignores y.
    energy : ndarray, shape (K,)
        Mean transmit energy of each device in a round, in W times symbol periods.
    breakdown : Breakdown
        The error by cause.
    any_scheme : AnyScheme, optional
        What no scheme can beat that gives each device the privacy that it has in a round.
    """

    UNITS: ClassVar[dict[str, str]] = {"energy": "W symbol periods"}

    error: float
    constant_output: float
    energy: FloatArray
    breakdown: Breakdown
    any_scheme: AnyScheme | None

    @property
    def beside(self) -> tuple[float, float]:
        """The error and that of the constant answer."""
        return self.error, self.constant_output

    @classmethod
    def of(cls, system: InferenceSystem, *, limit: bool = True) -> WorstCase | None:
        """None over a channel whose coefficients are given or inverted with errors, of which this formula knows nothing."""
        channel = system.channel
        if channel is not None and (channel.looks is not None or channel.csi_error > 0):
            return None
        alone = system.derived(channel=None)
        causes = distortion.worst_case(alone)
        return cls(
            error=causes.total,
            constant_output=distortion.worst_constant_output(alone),
            energy=transmit_energy(system),
            breakdown=causes,
            any_scheme=AnyScheme.of(system) if limit else None,
        )


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """Lower bounds on the accuracy.

    Attributes
    ----------
    published, short_paper : float
        Theorem 2 of the paper and of its short version, with the printed MSE.
    markov : float
        Theorem 2 with the exact MSE.
    exact : float
        The probability that the decoded feature stays within the margin, times the accuracy there.
    interval : tuple of float
        Contains `exact` for certain; a point unless sets of participants had to be sampled.
    constant_output : float
        The same bound for an output that ignores y; it is positive only where the margin exceeds the norm of the target.
    beats_constant : bool
        Whether `exact` is above that.
    """

    published: float
    short_paper: float
    markov: float
    exact: float
    interval: tuple[float, float]
    constant_output: float
    beats_constant: bool

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        low, high = self.interval
        return {
            "": [
                Entry(value=self.published, face=Face.PUBLISHED),
                Entry(value=self.markov, face=Face.PROVEN),
                Entry(value=self.exact, lower=low, upper=high, face=Face.EXACT),
            ],
            "short_paper": Entry(value=self.short_paper, face=Face.PUBLISHED),
            "constant_output": self.constant_output,
            "beats_constant": self.beats_constant,
        }

    @classmethod
    def of(cls, system: InferenceSystem, task: Task, mse: Distortion) -> Accuracy:
        radius: dict[str, Any] = {"margin": task.margin, "ideal_accuracy": task.ideal_accuracy}
        exact = accuracy.exact(system, task.features, **radius)
        nothing = decoding.constant_accuracy(task.features, **radius)
        return cls(
            published=float(accuracy.markov(mse.published, **radius)),
            short_paper=float(accuracy.short_paper(mse.published, **radius)),
            markov=float(accuracy.markov(mse.exact, **radius)),
            exact=exact.estimate,
            interval=(exact.lower, exact.upper),
            constant_output=nothing,
            beats_constant=exact.estimate > nothing,
        )


@dataclass(frozen=True, kw_only=True)
class SchemePrivacy:
    """The guarantee of a selection scheme by Lemma 2, and the proven one where enough is known of the scores."""

    adjacency: Adjacency
    published: EpsilonDelta
    proven: EpsilonDelta | None = None

    @classmethod
    def of(
        cls,
        system: InferenceSystem,
        probability: FloatArray,
        proven: Guarantee | None,
        *,
        noise: FloatArray,
        sensitivity: float,
    ) -> SchemePrivacy:
        """The guarantee of devices with given participation probabilities and given noise of their scores."""
        lemma = feature_aware.published(
            system,
            probability=probability,
            score_epsilon=feature_aware.score_epsilon(system.delta, sensitivity=sensitivity, noise=noise),
            score_delta=system.delta,
            form=TheoremForm.EQ23,
        )
        return cls(
            adjacency=system.adjacency,
            published=EpsilonDelta.of(lemma),
            proven=None if proven is None else EpsilonDelta.of(proven),
        )


@dataclass(frozen=True, kw_only=True)
class ThresholdScheme:
    """Scheme 2.1: a device takes part when its noisy score is below a threshold.

    Attributes
    ----------
    participation : ndarray, shape (K,)
        Probabilities.
    privacy : SchemePrivacy, optional
    """

    participation: FloatArray
    privacy: SchemePrivacy | None = None


@dataclass(frozen=True, kw_only=True)
class LowestScheme:
    """Scheme 2.2: the devices with the lowest noisy scores take part.

    Attributes
    ----------
    published_lower : float
        Eq. (20), one for all devices.
    published_upper, proven_lower, proven_upper, exact : ndarray, shape (K,)
        Participation probabilities: by Eq. (21), proven bounds, and exact.
    privacy : SchemePrivacy, optional
    """

    published_lower: float
    published_upper: FloatArray
    proven_lower: FloatArray
    proven_upper: FloatArray
    exact: FloatArray
    privacy: SchemePrivacy | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Participation under Schemes 2.1 and 2.2, and privacy where the sensitivity of the score is given."""

    scheme_2_1: ThresholdScheme
    scheme_2_2: LowestScheme

    @classmethod
    def of(cls, system: InferenceSystem, scores: Scores) -> Selection:
        score, noise, selected = scores.score, scores.noise, scores.selected
        lower, upper = participation.proven_bounds(score, noise, selected)
        threshold = ThresholdScheme(participation=np.asarray(participation.threshold(score, noise, scores.threshold)))
        lowest = LowestScheme(
            published_lower=participation.published_lower(score, noise),
            published_upper=participation.published_upper(score, noise, selected),
            proven_lower=lower,
            proven_upper=upper,
            exact=selected_lowest.probability(score, noise, selected),
        )
        # colluders know their own scores: no guarantee of a selection counts them
        if scores.sensitivity is None or system.adjacency is Adjacency.ABSENT or system.colluding:
            return cls(scheme_2_1=threshold, scheme_2_2=lowest)
        known: dict[str, Any] = {"noise": noise, "sensitivity": scores.sensitivity}
        of_threshold = None
        if scores.greatest is not None:
            of_threshold = feature_aware.proven_threshold(
                system, eta=scores.threshold, greatest_score=scores.greatest, **known
            )
        of_lowest = feature_aware.proven_lowest(system, selected=selected, **known)
        return cls(
            scheme_2_1=replace(
                threshold, privacy=SchemePrivacy.of(system, threshold.participation, of_threshold, **known)
            ),
            scheme_2_2=replace(lowest, privacy=SchemePrivacy.of(system, lowest.exact, of_lowest, **known)),
        )


@dataclass(frozen=True, kw_only=True)
class EpsilonByObserver:
    """The least epsilon of every device for one round, at the system's delta, by what the server sees beside the looks.

    Attributes
    ----------
    participants, others, signal : ndarray, shape (K,)
        Upper ends; the law of the channel is that of its states.
    """

    participants: FloatArray
    others: FloatArray
    signal: FloatArray


@dataclass(frozen=True, kw_only=True)
class EavesdropperBounds:
    """What an eavesdropper with looks of its own learns, who knows the channel and who takes part as `observer` says.

    Attributes
    ----------
    antennas : int
    observer : Observer
    epsilon : ndarray, shape (K,)
    """

    antennas: int
    observer: Observer
    epsilon: FloatArray

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        epsilon = Entry(value=self.epsilon, face=Face.EXACT, observer=self.observer, rounds=1)
        return {"antennas": self.antennas, "epsilon": epsilon}


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """The error with the best combination of the looks in each state, as a mean over the states.

    Attributes
    ----------
    mse : float
    accuracy : float
        Lower bound by Markov's inequality in each state.
    constant_output : float
        MSE of the best output that ignores the looks.
    """

    mse: float
    accuracy: float
    constant_output: float

    @classmethod
    def of(cls, system: InferenceSystem, channel: Channel, task: Task) -> Decoder:
        mse = combiner.best(system.one_round, task.features, channel).mse
        bound = accuracy.markov(mse, margin=task.margin, ideal_accuracy=task.ideal_accuracy)
        return cls(
            mse=float(np.mean(mse)),
            accuracy=float(np.mean(bound)),
            constant_output=decoding.constant_output(task.features),
        )


@dataclass(frozen=True, kw_only=True)
class FadingBounds:
    """Epsilon of one round for the law that the states of a channel are drawn from.

    Attributes
    ----------
    confidence : float
        Probability over the draw of the states that the bound of a device holds.
    observer : Observer
    epsilon : ndarray, shape (K,)
        Upper bounds; infinite where too few states are drawn.
    """

    confidence: float
    observer: Observer
    epsilon: FloatArray

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        epsilon = Entry(value=self.epsilon, observer=self.observer, rounds=1)
        return {"confidence": self.confidence, "epsilon": epsilon}

    @classmethod
    def of(cls, system: InferenceSystem, channel: Channel) -> FadingBounds | None:
        """None where the states are given and nothing is drawn."""
        bound = channel_privacy.epsilon_of_fading(system.one_round, channel, confidence=_CONFIDENCE)
        if bound is None:
            return None
        return cls(confidence=_CONFIDENCE, observer=observers.default_observer(system), epsilon=bound)


@dataclass(frozen=True, kw_only=True)
class ChannelBounds:
    """What the channel decides.

    Attributes
    ----------
    participation, outage : ndarray, shape (K,)
        Probability that the device sends, and that its power does not suffice.
    states : int
    antennas_alike : bool
        Whether several antennas receive each device alike, as there is no fading: elsewhere they leak more.
    epsilon : EpsilonByObserver
    epsilon_quantiles : dict
        Quantiles over the states of epsilon given the state; no guarantee, and none where any so many devices collude.
    fading : FadingBounds, optional
        Where states are drawn, and no unnamed devices collude.
    eavesdropper : EavesdropperBounds, optional
    decoder : Decoder, optional
        With features.
    """

    participation: FloatArray
    outage: FloatArray
    states: int
    antennas_alike: bool
    epsilon: EpsilonByObserver
    epsilon_quantiles: dict[str, FloatArray] = field(default_factory=dict)
    fading: FadingBounds | None = None
    eavesdropper: EavesdropperBounds | None = None
    decoder: Decoder | None = None

    def tidy(self) -> dict[str, object]:
        """The numbers of the table; those of `epsilon` are in the system's own rows."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "epsilon"}

    @classmethod
    def of(cls, system: InferenceSystem, channel: Channel, seen: Observers, task: Task | None) -> ChannelBounds:
        """`seen` are the epsilons of the channel that are known already."""
        # which so many devices are the worst differs from state to state: no one of these sets has quantiles over the states
        of_one_set = not isinstance(system.colluding, int) or system.colluding == 0
        quantiles = channel_privacy.epsilon_quantiles(system.one_round, channel) if of_one_set else {}
        sends, listener, decoder = system.participation, None, None
        if channel.eavesdropper is not None:
            listener = EavesdropperBounds(
                antennas=channel.eavesdropper.antennas,
                observer=observers.default_observer(system),
                epsilon=np.asarray(system_privacy.epsilon(system, rounds=1, observer=Observer.AUTO, eavesdropper=True)),
            )
        if task is not None and task.fits(system):
            decoder = Decoder.of(system, channel, task)
        return cls(
            participation=sends,
            outage=1 - sends if channel.decides_participation else np.zeros(system.devices),
            states=channel.states if channel.looks is None else len(channel.looks),
            antennas_alike=channel.antennas_alike,
            epsilon=EpsilonByObserver(participants=seen.participants, others=seen.others, signal=seen.signal.epsilon),
            epsilon_quantiles={
                level: np.where(system.partners, np.inf, value)  # nothing is claimed of a partner
                for level, value in quantiles.items()
            },
            fading=FadingBounds.of(system, channel) if of_one_set else None,
            eavesdropper=listener,
            decoder=decoder,
        )


@dataclass(frozen=True, kw_only=True)
class InferenceBounds:
    """All results for one system of collaborative inference and its variants.

    Attributes
    ----------
    headline : list of str
        Is it private, is it useful, against whom, who sends.
    never_send : list of int
        Devices whose probability of ever sending is delta at most; their epsilon is no protection by noise.
    privacy : Privacy
    distortion, accuracy : optional
        With features.
    worst_case : WorstCase, optional
        Without features that fit.
    selection : Selection, optional
        With scores.
    channel : ChannelBounds, optional
        With a channel.
    variants : dict
        The same system with other values, by name.
    """

    headline: list[str]
    never_send: list[int]
    privacy: Privacy
    distortion: Distortion | None = None
    accuracy: Accuracy | None = None
    worst_case: WorstCase | None = None
    selection: Selection | None = None
    channel: ChannelBounds | None = None
    variants: dict[str, InferenceBounds] = field(default_factory=dict)

    def tidy(self) -> dict[str, object]:
        """The numbers of the table, without the variants, which are systems of their own."""
        return {
            "": self.privacy,
            "never_send": silent(self.never_send),
            "mse": self.distortion,
            "accuracy": self.accuracy,
            "worst_case": self.worst_case,
            "selection": self.selection,
            "channel": self.channel,
        }

    @classmethod
    def of(
        cls,
        system: InferenceSystem,
        task: Task | None = None,
        scores: Scores | None = None,
        groups: Sequence[Sequence[int]] = (),
        uncertainty: Uncertainty | None = None,
    ) -> InferenceBounds:
        """The results for one system; without the task where that has another number of devices or dimensions.

        Over a channel, distortion and accuracy are those of the first antenna alone, where devices invert it perfectly.
        """
        channel, privacy = system.channel, Privacy.of(system, groups, uncertainty)
        of_channel = None if channel is None else ChannelBounds.of(system, channel, privacy.observers, task)
        selection = None if scores is None else Selection.of(system, scores)
        aligned = channel is None or (channel.looks is None and channel.csi_error == 0)
        mse = Distortion.of(system, task) if task is not None and task.fits(system) and aligned else None
        part = cls(
            headline=[],
            never_send=headline.never_send(system),
            privacy=privacy,
            distortion=mse,
            accuracy=None if mse is None or task is None else Accuracy.of(system, task, mse),
            selection=selection,
            channel=of_channel,
        )
        # what no scheme can beat is about the nominal system, whose epsilon is a smaller one
        worst = WorstCase.of(system) if part.error is None and uncertainty is None else None
        beside = None if worst is None else worst.beside
        said = headline.of_system(system, privacy.asked, part.error, part.constant, beside, uncertainty)
        return replace(part, headline=said, worst_case=worst)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot epsilon of each device after all rounds, beside what Theorem 1 claims where it is about the same."""
        axes, epsilon, printed = plots.axes_of(ax), self.privacy.asked, self.privacy.published
        claim = printed.eq23.epsilon if printed.theorem1.vacuous else printed.theorem1.epsilon
        about_it = self.channel is None and self.privacy.composed is None and bool(np.any(np.isfinite(claim)))
        plots.bars(axes, {"exact": epsilon}, {"published": claim} if about_it else {})
        worst = int(np.argmax(np.where(np.isin(np.arange(epsilon.size), self.privacy.partners), -1.0, epsilon)))
        title = f"Device {worst} has the greatest epsilon, {rounded_up(float(epsilon[worst]))}"
        if about_it and np.any(epsilon > claim):
            title += f"; the published bound is exceeded by {int(np.sum(epsilon > claim))} of {epsilon.size} devices"
        count = 1 if self.privacy.composed is None else self.privacy.composed.rounds
        return plots.finish(axes, title=title, x="device", y=f"epsilon after {in_words(count)}")

    @property
    def error(self) -> float | None:
        """The exact mean squared error, the channel counted; None without features."""
        if self.channel is not None and self.channel.decoder is not None:
            return self.channel.decoder.mse
        return None if self.distortion is None else self.distortion.exact

    @property
    def constant(self) -> float | None:
        """That of the best answer that ignores the signal."""
        if self.channel is not None and self.channel.decoder is not None:
            return self.channel.decoder.constant_output
        return None if self.distortion is None else self.distortion.constant_output

    @property
    def private(self) -> bool:
        """Whether the worst epsilon after all rounds is one that the headline calls private, and some device sends."""
        silent_or_partner = {*self.never_send, *self.privacy.partners}
        return len(silent_or_partner) < self.privacy.asked.size and self.privacy.worst <= headline.PRIVATE

    @property
    def useful(self) -> bool | None:
        """Whether the error is below that of a constant answer; None without features."""
        return None if self.error is None or self.constant is None else self.error < self.constant

    def named(self, name: str) -> dict[str, InferenceBounds]:
        """Pairs of name and results: the system itself, and its variants."""
        return {name: self, **self.variants}


@dataclass(frozen=True, kw_only=True)
class EpsilonOverRounds(Result):
    """Epsilon of every device after each number of rounds, against each observer, at the delta of the system for all rounds.

    Attributes
    ----------
    rounds : ndarray of int, shape (n,)
    delta : float
    adjacency : Adjacency
    asked : Observer
        The observer of the system; `auto` is told by the one that it stands for.
    epsilon : dict
        Arrays (n, K) by observer, never below the truth; infinite where there is no epsilon.
    lower : ndarray, shape (n, K)
        For the observer `signal`, never above the truth.
    estimated : list of bool
        By number of rounds, whether the values for `others` and `signal` rest on an interpolation whose error is estimated, not
        proved (docs/accuracy.md).
    never_send : list of int
        Devices that never send; their epsilon is no protection by noise.
    helpers : str
        The devices that help the server, in words; of those that are named nothing is claimed.
    partners : list of int
        Those that are named.
    budget : float, optional
    rounds_within : dict
        By observer the greatest number of rounds found, of those up to the last, with which no device exceeds the budget.
    """

    rounds: IntArray
    delta: float
    adjacency: Adjacency
    asked: Observer
    epsilon: dict[str, FloatArray]
    lower: FloatArray
    estimated: list[bool]
    never_send: list[int]
    helpers: str = ""
    partners: list[int] = field(default_factory=list)
    budget: float | None = None
    rounds_within: dict[str, int] = field(default_factory=dict)

    def worst(self, observer: str) -> FloatArray:
        """Epsilon of the least protected device that is no partner of the server, shape (n,)."""
        return np.asarray(np.max(np.delete(self.epsilon[observer], self.partners, axis=1), axis=1))

    @classmethod
    def of(
        cls, system: InferenceSystem, rounds: Sequence[int] | IntArray, budget: float | None = None
    ) -> EpsilonOverRounds:
        """The epsilons after these numbers of rounds, and how many rounds keep a budget."""
        given = checks.instance("rounds", rounds, list, tuple, range, np.ndarray)
        counts = sorted({checks.count("rounds", each) for each in (given.ravel() if isinstance(given, np.ndarray) else given)})
        if not counts:
            raise ParameterError("rounds", "empty", "at least one whole number")
        limit = None if budget is None else checks.scalar("budget", budget, "(0, inf)")
        signal = [system_privacy.epsilon_bracket(system, rounds=each, observer=Observer.SIGNAL) for each in counts]
        others = np.array([np.asarray(each.upper) for each in signal])  # the upper end for `signal` is epsilon for `others`
        seen = [system_privacy.epsilon(system, rounds=each, observer=Observer.PARTICIPANTS) for each in counts]
        upper = {
            Observer.PARTICIPANTS.value: np.array(seen),
            Observer.OTHERS.value: others,
            Observer.SIGNAL.value: others,
        }
        within = {}
        if limit is not None:
            within = {name: _rounds_within(system, name, counts, each, limit) for name, each in upper.items()}
        return cls(
            rounds=np.array(counts),
            delta=system.delta,
            adjacency=system.adjacency,
            asked=observers.resolved(system, system.observer),
            epsilon=upper,
            lower=np.array([np.asarray(each.lower) for each in signal]),
            estimated=[system_privacy.estimated(system, rounds=each, observer=Observer.SIGNAL) for each in counts],
            never_send=headline.never_send(system),
            helpers=headline.helpers(system),
            partners=np.flatnonzero(system.partners).tolist(),
            budget=limit,
            rounds_within=within,
        )

    @property
    def headline(self) -> list[str]:
        """How epsilon of the worst device grows, and how long the budget lasts."""
        worst, last = self.worst(self.asked), int(self.rounds[-1])
        if len({*self.never_send, *self.partners}) == self.epsilon[self.asked].shape[1]:
            subject = "NO DEVICE BUT THOSE THAT HELP THE SERVER" if self.partners else "NO DEVICE"
            return [f"{subject} EVER SENDS: nothing is learned, and nothing is protected."]
        if not np.isfinite(worst[-1]):
            grown = f"NOT PRIVATE after {last} rounds (no finite epsilon)"
        else:
            first, end = (f"{rounded_up(worst[i])} AFTER {in_words(int(self.rounds[i])).upper()}" for i in (0, -1))
            grown = f"EPSILON {first}" + ("" if self.rounds.size == 1 else f", {end}")
        against = headline.server(self.asked, self.helpers)
        condition = f"worst device, delta {plain(self.delta)}, against {against}"
        sentences = [f"{grown} ({condition}). {headline.neighbours(self.adjacency)}"]
        if self.budget is not None:
            kept = self.rounds_within[self.asked]
            at_least = "at least " if kept == last else ""
            sentences.append(f"A budget of {self.budget:g} lasts {at_least}{in_words(kept)}.")
        if self.never_send:
            subject = headline.devices(self.never_send).capitalize()
            sentences.insert(1, f"{subject} never send: their epsilon is no protection by noise.")
        return sentences

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        rows = []
        for name, upper in self.epsilon.items():
            for count, low, high, unproved in zip(self.rounds, self.lower, upper, self.estimated, strict=True):
                bracketed = name == Observer.SIGNAL and not unproved
                proved: dict[str, Any] = {"lower": low, "upper": high} if bracketed else {}
                rows.append(Entry(value=high, face=Face.EXACT, observer=name, rounds=int(count), **proved))
        return {
            "adjacency": self.adjacency,
            "delta": self.delta,
            "epsilon": rows,
            "never_send": silent(self.never_send),
            "colluding": self.helpers or None,
            "budget": self.budget,
            "rounds_within": [Entry(value=float(kept), observer=name) for name, kept in self.rounds_within.items()],
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot epsilon of the worst device over the rounds, a line for each observer, and where each crosses the budget."""
        axes = plots.axes_of(ax)
        lines: dict[tuple[float, ...], list[str]] = {}  # observers by their line: equal ones have one
        for name in self.epsilon:
            lines.setdefault(tuple(self.worst(name).tolist()), []).append(name)
        ends = []
        for (worst, names), colour, mark in zip(lines.items(), plots.COLOURS, plots.MARKS, strict=False):
            finite = [value for value in worst if np.isfinite(value)]
            if not finite:
                continue
            axes.plot(self.rounds, worst, color=colour, marker=mark, label=", ".join(names))
            ends.append((finite[-1], "\n".join(names), colour))
            kept = self.rounds_within.get(names[0], 0)
            if kept and self.budget is not None:
                axes.plot([kept], [self.budget], "|", color=colour, markersize=14)
                axes.annotate(in_words(kept), (kept, self.budget), (3, -11), textcoords="offset points", fontsize="small")
        low, high = np.max(self.lower, axis=1), self.worst(Observer.SIGNAL)
        if np.any(low < high * (1 - 1e-3)):
            axes.fill_between(self.rounds, low, high, color=plots.GREY, alpha=0.2, linewidth=0, label="signal: between")
        if self.budget is not None:
            axes.axhline(self.budget, color=plots.RED, linestyle="--", linewidth=1)
            where: Any = ("axes fraction", "data")
            axes.annotate("budget", (0.01, self.budget), xycoords=where, va="bottom", color=plots.RED, fontsize="small")
        axes.set_xscale("log" if self.rounds[-1] > self.rounds[0] else "linear")
        plots.plain_ticks(axes, "x")
        plots.scaled(axes, "y", np.array([value for worst in lines for value in worst]))
        plots.label_ends(axes, ends, gap=0.1)
        title = self.headline[-1].removesuffix(".")
        if self.budget is None:
            title = self.headline[0].partition(" (")[0].capitalize()
        return plots.finish(axes, title=title, x="rounds", y=f"epsilon at delta {plots.tick(self.delta)}, worst device")


def _rounds_within(
    system: InferenceSystem, observer: str, counts: Sequence[int], epsilon: FloatArray, budget: float
) -> int:
    """The greatest number of rounds found, up to the last of `counts`, whose epsilon of every device keeps the budget; else 0.

    Epsilon grows with the rounds, so that a bisection between two of them is enough. Whatever it returns was evaluated and keeps
    the budget.
    """
    honest = ~system.partners
    kept = [count for count, each in zip(counts, np.max(epsilon[:, honest], axis=1), strict=True) if each <= budget]
    low = max(kept, default=0)
    high = min((count for count in counts if count > low), default=low + 1)
    while high - low > 1:
        middle = (low + high) // 2
        worst = np.max(system_privacy.epsilon(system, rounds=middle, observer=observer)[honest])
        low, high = (middle, high) if worst <= budget else (low, middle)
    return low
