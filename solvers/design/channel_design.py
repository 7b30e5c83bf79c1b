r"""The joint problem over a channel: least energy, epsilon or error when the server combines all its looks.

The free variables are those of one look. Three of them act through the channel: with a power limit the *alignment* decides the
threshold :math:`g_k = \gamma^2(w_k^2C_k^2 + r\sigma_k^2)/P_k` from which a device sends, hence the participation; the *gain* of
the decoder is part of the best combination (theorem V7), so it has nothing to choose; and the energy of a block is that of the
inverted channel given that the device sends (:meth:`~airtight.analytics.inference.channel.Channel.inverse_gain`).

Where the noise alone is free, epsilon falls with its scale (:mod:`airtight.solvers.design.channel_noise`) and the power limit
does not act, energy and error rise with it: the MSE of every combination does, so the least one does too. The least scale that
keeps epsilon is then optimal among all scales, if it keeps the other limits, and a scale at which epsilon is proved to be above
its limit bounds the value of all of them from below. Everything else is a local search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import combiner, decoding
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.inference.transmission import transmit_energy
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.analytics.privacy.over_the_air.multi_antenna.effective_noise import EFFORT
from airtight.analytics.progress import reported
from airtight.solvers.design import channel_noise
from airtight.solvers.design.effort import Effort
from airtight.solvers.design.known import LOCAL, Designs, Known, Method
from airtight.solvers.design.over_the_air import joint, joint_problem, local_search
from airtight.solvers.design.over_the_air.joint_design import DesignRequest, JointDesign, Nothing, Purpose
from airtight.solvers.design.requirements import Free, Goal, InferenceRequirements
from airtight.solvers.errors import Interrupted, NotSettledError

_COST = 500  # evaluations that one epsilon over a channel counts for at least
_SETS_IN_ONE = 400  # pairs of a state and a set that count as one evaluation


def design(
    system: InferenceSystem,
    channel: Channel,
    requirements: InferenceRequirements,
    features: Features | Sequence[Features] | None = None,
    *,
    margin: float | None = None,
    ideal_accuracy: float = 1.0,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
    progress: bool = False,
) -> JointDesign:
    """The best values found for the free variables over a channel.

    Parameters
    ----------
    system : InferenceSystem
        Each free variable is scaled by one factor common to all devices. With a power limit its participation is ignored.
    channel : Channel
    requirements : InferenceRequirements
        Without `power_at_most`: a peak constraint would make who sends depend on the data, and `max_power` of the channel is
        the limit. An accuracy is kept by Markov's inequality.
    features : Features or sequence of Features, optional
        The tasks of the server, of one codec. Without them energies are those of codes as long as the clips.
    margin, ideal_accuracy, rounds, observer, progress
        As in :func:`airtight.solvers.design.over_the_air.joint.design`.

    Returns
    -------
    JointDesign
        `error` is the mean over states of the best combination's, `accuracy` Markov's bound of it. `lower_bound` is proved where
        the noise alone is free, the goal is energy or error and epsilon falls with the noise, and holds for all scales of the
        given noise; otherwise it is None and `method` is "local".

    Raises
    ------
    InfeasibleError
        When epsilon is the only constraint, the noise alone is free, and no noise that was tried keeps epsilon.
    NotSettledError
        When the effort was spent before a design was found.
    ParameterError

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, views = _example()
    >>> wanted = InferenceRequirements(minimise="error", epsilon_at_most=2.0, free=("noise_variance",))
    >>> for M in (1, 4):
    ...     best = design(system, Channel(antennas=M, fading="rayleigh", states=20), wanted, views)
    ...     print(round(best.value, 4), best.gap < 1e-3, bool(np.max(best.epsilon) <= 2))
    1.1997 True True
    1.3072 True True
    """
    started = time.monotonic()
    resolved, rounds = observers.resolved(system, observer), checks.count("rounds", rounds)
    purpose = None if features is None else Purpose.of(features, margin, ideal_accuracy)
    if requirements.power_at_most is not None:
        raise ParameterError(
            "power_at_most", requirements.power_at_most, "absent over a channel: max_power is its limit"
        )
    if channel.decides_participation and Free.PARTICIPATION in requirements.free:
        free = tuple(f for f in requirements.free if f is not Free.PARTICIPATION)
        requirements = replace(requirements, free=free or (Free.PARTICIPATION,))
        if not free:
            raise ParameterError("free", ["participation"], "another variable: max_power decides the participation")
    if purpose is None and (requirements.minimise is Goal.ERROR or requirements.error_at_most is not None):
        raise ParameterError("features", None, "given over a channel where the error is limited or least")
    joint.consistent(system, requirements, purpose)
    problem = _Problem(system, channel, requirements, purpose, rounds, resolved, progress)
    try:
        answer = problem.by_noise() if problem.is_scale_of_noise else None
        if answer is None:
            answer = problem.locally()
    except KeyboardInterrupt:
        if (met := problem.effort.best.get(requirements.minimise)) is None:
            raise KeyboardInterrupt from None  # an interrupted calibration is no design
        raise Interrupted(problem.reported(met[1], LOCAL, False, time.monotonic() - started)) from None
    return problem.reported(*answer, time.monotonic() - started)


class _Problem:
    """One joint problem over a channel."""

    def __init__(
        self,
        system: InferenceSystem,
        channel: Channel,
        wanted: InferenceRequirements,
        purpose: Purpose | None,
        rounds: int,
        observer: Observer,
        progress: bool,
    ) -> None:
        self.effort = Effort(wanted.effort, spent=reported(wanted.effort, "evaluations", progress=progress))
        self.system, self.channel, self.wanted, self.purpose = system, channel, wanted, purpose
        self.rounds, self.observer = rounds, observer
        self.error_limit = joint_problem.error_limit(wanted, purpose)
        needs_energy = wanted.minimise is Goal.ENERGY or wanted.energy_at_most is not None
        if needs_energy and channel.looks is not None:
            channel.inverse_gain(system)
        self.at = channel.with_participation
        p = self.at(system).participation
        random = int(np.sum((p > 0) & (p < 1)))
        states = channel.states if channel.looks is None else len(channel.looks)
        sets = 1 if channel.decides_participation else 1 << min(random, 20)
        self.cost = max(_COST, min(states * sets, EFFORT) // _SETS_IN_ONE)

    @property
    def is_scale_of_noise(self) -> bool:
        """Whether the least noise that keeps epsilon is optimal, if it keeps the other limits."""
        only_noise = {f for f in self.wanted.free if f is not Free.GAIN} == {Free.NOISE}
        return only_noise and Goal.EPSILON in self.wanted.kept and self.wanted.minimise is not Goal.EPSILON

    def keeps_the_rest(self, candidate: InferenceSystem) -> bool:
        """Whether the limits on error and energy do not bind; where one does, the least noise is no answer."""
        reached = self._useful(candidate)
        limits = {Goal.ERROR: self.error_limit, Goal.ENERGY: self.wanted.energy_at_most}
        return all(limit is None or reached[goal] < limit for goal, limit in limits.items())

    def by_noise(self) -> tuple[InferenceSystem, Known, bool] | None:
        """The least noise, and a bound from a scale at which epsilon is proved too great; None where it need not be optimal."""
        limit = self.wanted.epsilon_at_most
        if limit is None or not channel_noise.monotone(self.system, self.channel, self.observer):
            return None
        options: dict[str, Any] = {"rounds": self.rounds, "observer": self.observer}
        calibrated = channel_noise.calibrate(self.system, self.channel, limit, **options).system
        if not self.keeps_the_rest(calibrated):
            return None
        below = channel_noise.too_quiet(calibrated, self.channel, limit, **options)
        if below is None:
            return calibrated, LOCAL, True
        return calibrated, Known(Method.SCALE, self.value(below), Designs.SCALED), True

    def locally(self) -> tuple[InferenceSystem, Known, bool]:
        """The best design of a local search."""
        effort, options = self.effort, [self.system]
        if Free.IDLE in self.wanted.free and not self.channel.decides_participation:
            options = [replace(self.system, idle_noise=idle) for idle in (False, True)]
        axes = local_search.axes_of(self.wanted, gain=False)
        best: tuple[InferenceSystem, float] | None = None
        for number, option in enumerate(options):
            part = effort.part(1 / (len(options) - number))
            point = local_search.searched(
                option, self.wanted, axes, self.error_limit, self.reached, part, cost=self.cost, adapted=self.sending
            )
            if point is not None and (best is None or point[1] < best[1]):
                best = point
        if best is None:
            raise NotSettledError(
                f"effort = {self.wanted.effort}: no design that keeps the constraints was found over this channel, where one "
                f"evaluation counts for {self.cost}",
                lower_bound=math.nan,
                effort=self.wanted.effort,
            )
        return best[0], LOCAL, effort.left >= self.cost

    def sending(self, changed: InferenceSystem) -> InferenceSystem:
        """The system with the participation that its power allows; where nobody can send, as it is."""
        try:
            return self.at(changed)
        except ParameterError:
            return changed

    def reached(self, candidate: InferenceSystem) -> dict[Goal, float]:
        """Epsilon of the worst device, energy and error; all infinite where no device can send."""
        try:
            self.channel.check(candidate)
        except ParameterError:
            return dict.fromkeys(Goal, math.inf)
        return {Goal.EPSILON: float(np.max(self.epsilons(candidate))), **self._useful(candidate)}

    def _useful(self, candidate: InferenceSystem) -> dict[Goal, float]:
        energy = math.nan
        if self.channel.looks is None:
            features = None if self.purpose is None else self.purpose.features
            energy = float(np.sum(transmit_energy(candidate.derived(channel=self.channel), features)))
        error = math.nan
        if self.purpose is not None:
            combined = combiner.at_states(candidate, self.purpose.features, self.channel.draw(candidate))
            error = float(np.mean(combined.mse))
        return {Goal.ENERGY: energy, Goal.ERROR: error}

    def epsilons(self, candidate: InferenceSystem) -> FloatArray:
        """Upper bounds over all rounds."""
        epsilon = system_privacy.epsilon(candidate.derived(channel=self.channel), rounds=self.rounds, observer=self.observer)
        return np.atleast_1d(np.asarray(epsilon))

    def value(self, candidate: InferenceSystem) -> float:
        """The minimised quantity."""
        if self.wanted.minimise is Goal.EPSILON:
            return float(np.max(self.epsilons(candidate)))
        return self._useful(candidate)[self.wanted.minimise]

    def reported(
        self, system: InferenceSystem, known: Known, settled: bool, seconds: float
    ) -> JointDesign:
        """The design with all its properties."""
        useful, epsilon, accuracy, nothing = self._useful(system), self.epsilons(system), None, None
        error = None if self.purpose is None else useful[Goal.ERROR]
        if self.purpose is not None and error is not None:
            if self.purpose.margin is not None:
                accuracy = self.purpose.ideal_accuracy * max(0.0, 1 - error / self.purpose.margin**2)
            nothing = Nothing(error=decoding.constant_output(self.purpose.features))
        goals = {Goal.EPSILON: float(np.max(epsilon)), **useful}
        value = goals[self.wanted.minimise]
        known = known.below(value)
        return JointDesign(
            system=system,
            minimised=self.wanted.minimise,
            value=value,
            lower_bound=known.lower,
            bound_for=known.bound_for,
            epsilon=epsilon,
            error=error,
            accuracy=accuracy,
            energy=useful[Goal.ENERGY],
            nothing=nothing,
            worst_codes=self.purpose is None,
            method=known.method,
            boxes=0,
            settled=settled,
            seconds=seconds,
            request=DesignRequest(
                wanted=self.wanted,
                purpose=self.purpose,
                rounds=self.rounds,
                observer=self.observer,
                channel=self.channel,
            ),
        )
