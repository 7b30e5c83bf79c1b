"""Results for a system of collaborative inference: privacy, distortion, accuracy, selection."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.distributions import selection as selected_lowest
from airtight.analytics.guarantee import Adjacency, Guarantee, Observer
from airtight.analytics.inference import accuracy, combiner, decoding, distortion, participation
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.distortion import Breakdown
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.inference.transmission import transmit_energy
from airtight.analytics.limits import minimax
from airtight.analytics.privacy.over_the_air import amplification, feature_aware, observers, system_privacy
from airtight.analytics.privacy.over_the_air.amplification import TheoremForm
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.results import headline
from airtight.results.numerals import rounded_down, rounded_up
from airtight.system_file.contents import Scores, Task

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
    """

    participants: FloatArray
    others: FloatArray
    signal: SignalBracket

    @classmethod
    def of(cls, system: InferenceSystem) -> Observers:
        """The upper end for `signal` is epsilon for `others`."""
        signal = system_privacy.epsilon_bracket(system, rounds=1, observer=Observer.SIGNAL)
        participants = np.asarray(system_privacy.epsilon(system, rounds=1, observer=Observer.PARTICIPANTS))
        others = np.asarray(signal.upper)
        return cls(
            participants=participants,
            others=others,
            signal=SignalBracket(lower=np.asarray(signal.lower), epsilon=others),
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

    @classmethod
    def of(cls, system: InferenceSystem) -> Composed:
        lower, upper = system_privacy.epsilon_bracket(system)
        return cls(
            rounds=system.rounds,
            observer=observers.resolved(system, system.observer),
            epsilon=upper,
            lower=lower,
            estimated=system_privacy.estimated(system),
        )


@dataclass(frozen=True, kw_only=True)
class Colluding:
    """Epsilon of every device after all rounds if others help the server: never below the truth, and never above it.

    Attributes
    ----------
    devices : int or list of int
        Any so many others, the worst for each device; or these. Of a device in this list nothing is claimed: its epsilon is
        infinite, the lower bound 0.
    epsilon, lower : ndarray, shape (K,)
    """

    devices: int | list[int]
    epsilon: FloatArray
    lower: FloatArray

    @classmethod
    def of(cls, system: InferenceSystem) -> Colluding:
        lower, upper = system_privacy.epsilon_bracket(system)
        named = system.colluding
        return cls(devices=named if isinstance(named, int) else list(named), epsilon=upper, lower=lower)


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What protects every device's feature: as published, as proven, exactly; `observer` is the one asked about.

    `composed` is there where more than one round is asked about. Over a channel with several looks, what is published is the
    formula for one look all the same, nothing is proven in closed form, and all other values are those of the channel.

    Where devices collude, `colluding` is there too, and all exact values count it; what is published knows no colluders, and
    nothing is proven in closed form.
    """

    adjacency: Adjacency
    observer: Observer
    published: Published
    proven: EpsilonDelta
    exact: Exact
    observers: Observers
    composed: Composed | None = None
    colluding: Colluding | None = None

    @classmethod
    def of(cls, system: InferenceSystem) -> Privacy:
        seen = Observers.of(system)
        if channel_privacy.adds_nothing(system) and not system.colluding:
            proven = EpsilonDelta.of(amplification.proven(system.one_round))
        else:
            proven = EpsilonDelta(epsilon=np.full(system.devices, np.inf), delta=np.full(system.devices, system.delta))
        return cls(
            adjacency=system.adjacency,
            observer=system.observer,
            published=Published(
                theorem1=TheoremBound.of(system, TheoremForm.THEOREM1), eq23=TheoremBound.of(system, TheoremForm.EQ23)
            ),
            proven=proven,
            exact=Exact(epsilon=seen.of_auto(system), delta=system.delta),
            observers=seen,
            composed=Composed.of(system) if system.rounds > 1 else None,
            colluding=Colluding.of(system) if system.colluding else None,
        )

    @property
    def partners(self) -> list[int]:
        """The devices that are named as colluders, of which nothing is claimed."""
        named = [] if self.colluding is None else self.colluding.devices
        return named if isinstance(named, list) else []

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
    """

    error: float
    ratio: float
    how: str

    @property
    def sentence(self) -> str:
        """What any scheme has at least, and the factor of this one."""
        over = " in the mean over the tasks" if "tasks" in self.how else ""
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
            return cls(error=limit.error, ratio=limit.ratio, how=limit.how)
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
    """The least epsilon of every device for one query, at the system's delta, by what the server sees beside the looks.

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
    """Epsilon of one query for the law that the states of a channel are drawn from.

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
        Quantiles over the states of epsilon given the state; no guarantee.
    fading : FadingBounds, optional
        Where states are drawn.
    eavesdropper : EavesdropperBounds, optional
    decoder : Decoder, optional
        With features.
    """

    participation: FloatArray
    outage: FloatArray
    states: int
    antennas_alike: bool
    epsilon: EpsilonByObserver
    epsilon_quantiles: dict[str, FloatArray]
    fading: FadingBounds | None = None
    eavesdropper: EavesdropperBounds | None = None
    decoder: Decoder | None = None

    @classmethod
    def of(cls, system: InferenceSystem, channel: Channel, seen: Observers, task: Task | None) -> ChannelBounds:
        """`seen` are the epsilons of the channel that are known already."""
        if isinstance(system.colluding, int) and system.colluding:
            raise ParameterError("colluding", system.colluding, "0 or a list of devices for all results over a channel")
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
            epsilon_quantiles=channel_privacy.epsilon_quantiles(system.one_round, channel),
            fading=FadingBounds.of(system, channel),
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

    @classmethod
    def of(
        cls,
        system: InferenceSystem,
        task: Task | None = None,
        scores: Scores | None = None,
    ) -> InferenceBounds:
        """The results for one system; without the task where that has another number of devices or dimensions.

        Over a channel, distortion and accuracy are those of the first antenna alone, where devices invert it perfectly.
        """
        channel, privacy = system.channel, Privacy.of(system)
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
        worst = WorstCase.of(system) if part.error is None else None
        beside = None if worst is None else worst.beside
        said = headline.of_system(system, privacy.asked, part.error, part.constant, beside)
        return replace(part, headline=said, worst_case=worst)

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
        asked = np.delete(self.privacy.asked, self.privacy.partners)
        return len(self.never_send) < self.privacy.asked.size and bool(np.max(asked) <= headline.PRIVATE)

    @property
    def useful(self) -> bool | None:
        """Whether the error is below that of a constant answer; None without features."""
        return None if self.error is None or self.constant is None else self.error < self.constant

    def named(self, name: str) -> dict[str, InferenceBounds]:
        """Pairs of name and results: the system itself, and its variants."""
        return {name: self, **self.variants}
