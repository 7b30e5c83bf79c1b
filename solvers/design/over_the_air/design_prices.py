r"""The prices of the limits of a joint design: what the minimised quantity changes by for a unit more of a limit.

They belong to the cone program of :mod:`airtight.solvers.design.over_the_air.convex` at the noise, the clips and the
participations of the design, in which the gain is free and the weights are, or their common factor where the design keeps their
proportions. With its least error :math:`e(\epsilon, E)` and the multipliers
:math:`\lambda` of privacy and :math:`\nu` of energy

.. math:: \frac{\partial e}{\partial\epsilon} = -2\sum_k\lambda_k\frac{C_k^2u_k^2}{\kappa_k^3}\frac{d\kappa_k}{d\epsilon},\qquad
          \frac{\partial e}{\partial E} = -\nu\varphi .

Where energy or epsilon is minimised, the limit on the error binds and the derivatives follow from those of e. At an optimum in
noise, clips and participations too these are the prices of the whole problem, because the multipliers are the same (envelope
theorem).

A price is an answer about optima: it is nan where the design is local, without a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design import channel_prices
from airtight.solvers.design.calibrate import Variable, calibrate
from airtight.solvers.design.over_the_air import convex
from airtight.solvers.design.over_the_air.convex import Limits, Model, Relaxed
from airtight.solvers.design.over_the_air.joint_design import DesignRequest, JointDesign, Purpose
from airtight.solvers.design.over_the_air.units import Units
from airtight.solvers.design.requirements import Free, Goal
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.price import ShadowPrice

if TYPE_CHECKING:
    import cvxpy

_STEP = 3e-3  # relative step of the differences
_BINDS = 5e-3  # relative distance from a limit from which on it does not bind, and from an optimum that is none
_OPTIMUM, _MULTIPLIER = 1e-6, 1e-7  # accuracy of the solver's optimum, and of its multipliers as elasticities of the error
_AGREED = 0.03  # relative difference up to which the differences on both sides confirm the multiplier


def of(design: JointDesign) -> list[ShadowPrice]:
    """The prices of the limits on epsilon, energy and error of a design.

    Over a channel they are those of :mod:`airtight.solvers.design.channel_prices`. Otherwise the list is empty without features,
    with a limit on the peak power, and unless weights and decoder gain are free.

    Raises
    ------
    ModuleNotFoundError
        When cvxpy is not installed.

    Examples
    --------
    >>> from airtight.solvers.design.over_the_air.joint import design
    >>> from airtight.solvers.design.requirements import InferenceRequirements
    >>> from airtight.solvers.weights.weight_problem import _example
    >>> system, views = _example()
    >>> wanted = InferenceRequirements(minimise="error", epsilon_at_most=2.0, free=["weight", "decoder_gain"])
    >>> for price in of(design(system, wanted, views)):
    ...     print(price)
    d error / d epsilon = -0.1394
    """
    design, request = replace(design, system=design.system.one_round), design.request
    if request is not None and request.channel is not None:
        return channel_prices.of(design, request, request.channel)
    if request is None or request.purpose is None:
        return []
    wanted = request.wanted
    if wanted.power_at_most is not None or not {Free.WEIGHT, Free.GAIN} <= set(wanted.free):
        return []
    kept = [
        goal for goal in (Goal.EPSILON, Goal.ENERGY, Goal.ERROR) if goal in wanted.kept and goal is not design.minimised
    ]
    slopes = None if design.lower_bound is None else _slopes(design, request, request.purpose)
    if slopes is None:
        return [_price(design.minimised.value, goal, math.nan, math.nan) for goal in kept]
    goal_slopes = slopes[design.minimised]
    out = []
    for goal in kept:  # e(limit, minimised) keeps its limit: where one of them rises the other one falls
        rising, falling = slopes[goal]
        out.append(_price(design.minimised.value, goal, _ratio(-rising, goal_slopes[1]), _ratio(-falling, goal_slopes[0])))
    return out


def _slopes(design: JointDesign, request: DesignRequest, purpose: Purpose) -> dict[Goal, tuple[float, float]] | None:
    """The derivatives of the least error with respect to the limits on both sides; None where the design is no optimum.

    The derivative of the error by itself is -1, so that the prices of every goal are quotients of two of them.
    """
    assert design.error is not None
    wanted, units = request.wanted, Units.of(design.system, purpose)
    unit = {goal: units.factor(goal) for goal in (Goal.EPSILON, Goal.ENERGY, Goal.ERROR)}
    epsilon = float(np.max(design.epsilon)) if design.minimised is Goal.EPSILON else wanted.epsilon_at_most
    energy = design.energy if design.minimised is Goal.ENERGY else wanted.energy_at_most
    # limits that do not bind
    if epsilon is not None and np.max(design.epsilon) < epsilon * (1 - _BINDS):
        epsilon = None
    if energy is not None and design.energy < energy * (1 - _BINDS):
        energy = None
    energy = None if energy is None else energy / unit[Goal.ENERGY]
    error = design.error / unit[Goal.ERROR]
    local = _Local(units.inside(design.system), request, units.purpose(purpose))
    optimum = local.least(epsilon, energy)
    if optimum is not None and optimum.error < error * (1 - _BINDS):
        local.along = local.system.weight
        optimum = local.least(epsilon, energy)
    if optimum is None or abs(optimum.error - error) > _BINDS * error:
        return None
    slopes = {Goal.EPSILON: (0.0, 0.0), Goal.ENERGY: (0.0, 0.0), Goal.ERROR: (-1.0, -1.0)}
    if epsilon is not None:
        slopes[Goal.EPSILON] = _sides(
            optimum, _by_epsilon(local, optimum, epsilon), epsilon, lambda value: local.least(value, energy)
        )
    if energy is not None:
        slopes[Goal.ENERGY] = _sides(optimum, _by_energy(local, optimum), energy, lambda value: local.least(epsilon, value))
    return {
        goal: (sides[0] * unit[Goal.ERROR] / unit[goal], sides[1] * unit[Goal.ERROR] / unit[goal])
        for goal, sides in slopes.items()
    }


def _price(of_what: str, by: Goal, rising: float, falling: float) -> ShadowPrice:
    return ShadowPrice(of_what, by.value, "", rising, falling)


def _ratio(above: float, below: float) -> float:
    if above == 0:
        return 0.0
    return above / below if below else math.nan


class _Local:
    """The cone program at the noise, clips and participations of a design."""

    def __init__(self, system: InferenceSystem, request: DesignRequest, purpose: Purpose) -> None:
        self.system, self.request = system, request
        self.model = Model.of(system, purpose)
        self.known: dict[float, FloatArray] = {}
        self.along: FloatArray | None = None

    def ratio(self, epsilon: float | None) -> FloatArray:
        """kappa, exact for the noise of the design; infinite without a limit."""
        if epsilon is None:
            return np.full(self.system.devices, np.inf)
        if epsilon not in self.known:
            self.known[epsilon] = exact_ratio(self.model, epsilon, self.request.rounds, self.request.observer)
        return self.known[epsilon]

    def least(self, epsilon: float | None, energy: float | None) -> Relaxed | None:
        """The least error under limits."""
        unlimited = np.full(self.system.devices, np.inf)
        limits = Limits(
            self.ratio(epsilon),
            math.inf if energy is None else energy,
            unlimited,
            unlimited,
            self.system.noise_variance,
        )
        return convex.least_error(self.model, limits, along=self.along)


def exact_ratio(model: Model, epsilon: float, rounds: int, observer: Observer) -> FloatArray:
    """The greatest ratios of code length to noise that keep epsilon at the noise of the model's system.

    Raises
    ------
    InfeasibleError
        When no code keeps it.
    """
    system = model.system
    positive_weight = np.where(system.weight > 0, system.weight, float(np.max(system.weight)) or 1.0)
    options: dict[str, Any] = {"rounds": rounds, "observer": observer}
    clip = calibrate(replace(system, weight=positive_weight), epsilon, variable=Variable.CLIP, **options).value
    noise = float(np.sum(system.received_noise_variance)) + system.receiver_noise_variance
    return np.asarray(model.clip / system.clip * system.alignment * positive_weight * clip / math.sqrt(noise))


def _phi(local: _Local, optimum: Relaxed) -> float:
    model = local.model
    return (optimum.system.decoder_gain * model.decoder) ** 2 * model.system.decoded_receiver_noise


def _by_epsilon(local: _Local, optimum: Relaxed, epsilon: float) -> float:
    u = optimum.system.weight * optimum.system.decoder_gain * local.model.decoder
    kappa = local.ratio(epsilon)
    more, less = local.ratio(epsilon * (1 + _STEP)), local.ratio(epsilon * (1 - _STEP))
    with np.errstate(invalid="ignore"):
        growth = np.where(np.isfinite(kappa), (more - less) / (2 * _STEP * epsilon), 0.0)
        terms = optimum.multipliers.privacy * (local.model.clip * u) ** 2 / kappa**3 * growth
    return -2 * float(np.sum(np.where(np.isfinite(kappa), terms, 0.0)))


def _by_energy(local: _Local, optimum: Relaxed) -> float:
    return -optimum.multipliers.energy * _phi(local, optimum)


def _sides(
    optimum: Relaxed, multiplier: float, limit: float, least_error: Callable[[float], Relaxed | None]
) -> tuple[float, float]:
    """The multiplier twice where differences on both sides confirm it, else these differences."""
    sides = []
    for sign in (1, -1):
        try:
            moved = least_error(limit * (1 + sign * _STEP))
        except InfeasibleError:
            moved = None
        sides.append(math.nan if moved is None else sign * (moved.error - optimum.error) / (_STEP * limit))
    # the differences are as accurate as the optimum of the solver, the multiplier of a limit that binds is more accurate
    noise = _OPTIMUM * optimum.error / (_STEP * limit)
    if all(abs(side - multiplier) <= _AGREED * abs(multiplier) + noise for side in sides):
        return (multiplier, multiplier) if abs(multiplier) > _MULTIPLIER * optimum.error / limit else (0.0, 0.0)
    return sides[0], sides[1]


def design_problem(
    system: InferenceSystem,
    features: Features | Sequence[Features],
    *,
    epsilon_at_most: float | None = None,
    energy_at_most: float | None = None,
    rounds: int = 1,
    observer: Observer | str = Observer.AUTO,
    free_noise: bool = True,
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Variable]]:
    r"""The joint problem at given clips and participations as a cone program in cvxpy, to be changed and extended.

    Parameters
    ----------
    system : InferenceSystem
    features : Features or sequence of Features
    epsilon_at_most, energy_at_most : float, optional
        At least one of them.
    rounds : int
    observer : {"auto", "participants", "others", "signal"}
    free_noise : bool
        Whether the noise is free. The privacy rows then are those with the noise of all devices always present: exact with idle
        noise and where all devices always take part, a relaxation in other cases, and none where the participation of a
        ``silent`` or ``replace`` device is hidden (:func:`airtight.solvers.design.over_the_air.convex.ratios_are`). Otherwise the
        noise is that of the system, and the rows are exact for it.

    Returns
    -------
    problem : cvxpy.Problem
        Its value is the least MSE. It follows cvxpy's rules for parameters (DPP): ``ratio`` holds :math:`C_k/\kappa_k` of the
        devices with a limit, ``energy`` the limit on the energy of a query.
    variables : dict
        ``u``, ``m`` (shape (K,)) and ``phi``. With :math:`s = \sigma_m^2/\gamma^2` the gain is
        :math:`g = \sqrt{\varphi/s}/\|D\|`, the weights are :math:`u/(g\|D\|)`, the noise variances :math:`ms/\varphi`.

    Raises
    ------
    ParameterError
        When nothing is limited, or free noise has no privacy rows.
    InfeasibleError
        When no code keeps epsilon at the given noise.

    Examples
    --------
    >>> from airtight.solvers.weights.weight_problem import _example, solve
    >>> system, views = _example()
    >>> problem, variables = design_problem(system, views, epsilon_at_most=2.0, free_noise=False)
    >>> least = solve(system, views, epsilon_cap=2.0, sums_to_one=False).exact_mse
    >>> problem.is_dcp(dpp=True), bool(problem.solve() < least)
    (True, True)
    """
    import cvxpy as cp

    if epsilon_at_most is None and energy_at_most is None:
        raise ParameterError("epsilon_at_most", None, "given, or energy_at_most")
    checks.instance("system", system, InferenceSystem)
    checks.flag("free_noise", free_noise)
    question_observer, rounds = checks.choice("observer", observer, Observer), checks.count("rounds", rounds)
    if epsilon_at_most is not None:
        epsilon_at_most = checks.scalar("epsilon_at_most", epsilon_at_most, "(0, inf)")
    if energy_at_most is not None:
        energy_at_most = checks.scalar("energy_at_most", energy_at_most, "(0, inf)")
    model = Model.of(system, Purpose.of(features))
    unlimited = np.full(system.devices, np.inf)
    ratio = unlimited
    if epsilon_at_most is not None:
        if not free_noise:
            ratio = exact_ratio(model, epsilon_at_most, rounds, question_observer)
        elif convex.ratios_are(system, question_observer, rounds) is convex.Ratios.NEITHER:
            raise ParameterError("free_noise", True, "False for this adjacency and observer")
        else:
            ratio = convex.ratios(system, epsilon_at_most, question_observer, rounds)
    energy = math.inf if energy_at_most is None else energy_at_most
    limits = Limits(ratio, energy, unlimited, unlimited, None if free_noise else system.noise_variance)
    limited = np.flatnonzero(np.isfinite(ratio))
    data: dict[str, Any] = {}
    if limited.size:
        data["square_roots"] = cp.Parameter(
            limited.size, nonneg=True, name="ratio", value=(model.clip / ratio)[limited]
        )
    if energy_at_most is not None:
        data["energy"] = cp.Parameter(nonneg=True, name="energy", value=energy_at_most)
    problem, variables, constraints = convex.stated(model, limits, data)
    whole = cp.Problem(cp.Minimize(problem.objective.args[0] + model.target_power), list(constraints.values()))
    return whole, variables
