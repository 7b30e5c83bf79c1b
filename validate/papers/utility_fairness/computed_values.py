"""Claims about what the commands compute for a utility-fair fleet; each quantity is compared with its definition."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import integrate, special

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.forms.domain import Range
from airtight.solvers import energy as energy_utility
from airtight.solvers.design.fleet import fleet_design as fleets
from airtight.solvers.design.requirements import FleetRequirements
from airtight.solvers.energy import proved_gap
from airtight.solvers.energy.energy_problem import Problem
from airtight.validate.claims import reference_integrals
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.relation import absolute, at_least, equal

_DELTA = Range(1e-6, 1e-2, logarithmic=True)
_PLACE = {"distance": Range(50.0, 200.0), "deadline": Range(0.6, 2.0)}
_STATED = "compared with its definition by integrals and fine grids"


def _copies(noise: float, devices: int, rounds: int, delta: float) -> float:
    """delta at the computed epsilon, from the sum of all copies: two normal laws whose distance is the number of copies."""
    return _of_copies(float(fairness.copies_epsilon(delta, noise=noise, devices=devices, rounds=rounds)), noise, devices * rounds)


def _of_copies(epsilon: float, noise: float, copies: int) -> float:
    return reference_integrals.mixture_divergence(epsilon, [(1.0, copies, copies * noise**2)], [(1.0, 0.0, copies * noise**2)])


def _needed(noise: float, devices: int, rounds: int, delta: float) -> bool:
    """Whether epsilon is positive: delta(0) is more than the delta asked for."""
    return _of_copies(0.0, noise, devices * rounds) > 1.001 * delta


def _copy(deviation: float, theta: float, asked: float) -> float:
    return float(fairness.utility_fair(deviation, epsilon=0.95, delta=1e-5, theta=theta).delta(asked))


def _copy_by_integral(deviation: float, theta: float, asked: float) -> float:
    """(25) at Table I: sigma = sqrt(2 ln(1.25/delta)) / (epsilon (1 - deviation theta))."""
    sigma = np.sqrt(2 * np.log(1.25e5)) / (0.95 * (1 - deviation * theta))
    return reference_integrals.mixture_divergence(asked, [(1.0, 1.0, sigma**2)], [(1.0, 0.0, sigma**2)])


def _best_given_compute_time(p: Problem, x: FloatArray) -> FloatArray:
    """Greatest utility at each compute time: transmission times are on ever finer grids that include the end points."""
    low, high = np.zeros(x.size), np.ones(x.size)
    for _ in range(6):
        v = np.linspace(low, high, 41, axis=1)
        t = p.t_min + np.maximum(p.T - x[:, None] - p.t_min, 0.0) * v**2
        value = p.utility(x[:, None], np.minimum(p.a / t, p.Z_max))
        place, reach = v[np.arange(x.size), np.argmax(value, axis=1)], (high - low) / 15
        low, high = np.maximum(place - reach, 0.0), np.minimum(place + reach, 1.0)
    return np.asarray(np.max(value, axis=1))


def _best_whole(distance: float, deadline: float) -> float:
    """Greatest utility over all whole numbers of iterations that the deadline allows."""
    fleet = table_1(distance=distance, deadline=deadline)
    p = Problem.of(fleet)
    first, last = int(np.ceil(fleet.min_iterations[0])), int(np.floor(p.x_max[0] / p.A[0] + 1e-9))
    iterations = np.arange(first, max(last, first) + 1)
    return float(np.max(_best_given_compute_time(p, np.minimum(iterations * p.A, p.x_max))))


def _solved_whole(distance: float, deadline: float) -> float:
    fleet = table_1(distance=distance, deadline=deadline)
    return float(energy_utility.solve(fleet, integer=True).utility[0])


def _proved_upper_bound(distance: float, deadline: float, share: float) -> float:
    """Utility plus proved gap of a choice with less compute time than the best one: share 0 is the best choice, 1 the least."""
    fleet = table_1(distance=distance, deadline=deadline)
    p, best = Problem.of(fleet), energy_utility.solve(fleet)
    x = best.compute_time + (p.x_min - best.compute_time) * share
    upper_bound = proved_gap.gaps(fleet, replace(best, compute_time=x)) + p.utility(x, fleet.log_rate(best.power))
    return float(upper_bound[0])


def _greatest(distance: float, deadline: float, **rest: float) -> float:
    p = Problem.of(table_1(distance=distance, deadline=deadline))
    low, high = float(p.x_min[0]), float(p.x_max[0])
    for _ in range(6):
        x = np.linspace(low, high, 31)
        value = _best_given_compute_time(p, x)
        place, reach = float(x[int(np.argmax(value))]), (high - low) / 10
        low, high = max(place - reach, float(p.x_min[0])), min(place + reach, float(p.x_max[0]))
    return float(np.max(value))


def _designed(distance: float, saved: float) -> float:
    """Greatest utility of one device whose energy is limited to a share of the energy at its free optimum."""
    fleet = table_1(distance=distance)
    free = float(energy_utility.solve(fleet).energy[0])
    result = fleets.design(fleet, FleetRequirements(energy_at_most=saved * free))
    return result.value if result.energy[0] <= saved * free * (1 + 1e-9) else -np.inf


def _designed_by_grid(distance: float, saved: float) -> float:
    """The same on a grid of compute times and transmission times, refined eight times."""
    fleet = table_1(distance=distance)
    p = Problem.of(fleet)
    limit = saved * float(energy_utility.solve(fleet).energy[0])
    intervals = [(float(p.x_min[0]), float(p.x_max[0])), (0.0, 1.0)]
    for _ in range(9):
        x, v = np.meshgrid(np.linspace(*intervals[0], 201), np.linspace(*intervals[1], 201))
        t = p.t_min + np.maximum(p.T - x - p.t_min, 0.0) * v**2
        Z = np.minimum(p.a / t, p.Z_max)
        value = np.where(p.energy(x.ravel(), Z.ravel()) <= limit, p.utility(x.ravel(), Z.ravel()), -np.inf)
        at = int(np.argmax(value))
        centres, reach = (x.ravel()[at], v.ravel()[at]), [(b - a) / 6 for a, b in intervals]
        limits = ((float(p.x_min[0]), float(p.x_max[0])), (0.0, 1.0))
        intervals = [(max(c - r, a), min(c + r, b)) for c, r, (a, b) in zip(centres, reach, limits, strict=True)]
    return float(value[at])


def _not_carried(distance: float, csi_error: float, outage: float) -> float:
    """Probability that the channel does not carry the best plan's rate: Rice's density, integrated up to the amplitude."""
    fleet = table_1(distance=distance, csi_error=csi_error, outage=outage)
    best = energy_utility.solve(fleet)
    estimated = table_1(distance=distance).gain[0] * best.power[0]  # SNR over the gap where the estimate is exact
    amplitude = math.sqrt(math.expm1(best.rate[0] * math.log(2) / fleet.bandwidth[0]) / estimated)

    def density(r: float) -> float:
        return 2 * r / csi_error * math.exp(-((1 - r) ** 2) / csi_error) * float(special.ive(0, 2 * r / csi_error))

    width = math.sqrt(csi_error)
    places = [max(amplitude - k * width, 0.0) for k in (8, 4, 2, 1, 0)]
    pieces = [piece for piece in pairwise(places) if piece[1] > piece[0]]
    return sum(float(integrate.quad(density, *piece, epsabs=0, epsrel=1e-11)[0]) for piece in pieces)


_SHARED: dict[str, Any] = {"unread": _STATED}

CLAIMS = (
    Claim(
        "UF-Q-copies",
        "ours: epsilon for an observer who collects all copies",
        equal(_copies, lambda delta, **_: delta),
        holds("The sum of the copies is sufficient; compared with the integrated divergence of its two normal laws."),
        {
            "noise": Range(5.0, 40.0),
            "devices": Range(1, 30, integer=True),
            "rounds": Range(1, 10, integer=True),
            "delta": _DELTA,
        },
        given=[_needed],
        statement=r"\delta(\epsilon) = \delta",
        tolerance=1e-5,
        idle=("noise", "devices", "rounds"),
    ),
    Claim(
        "UF-Q-copy",
        "ours: delta of one copy with the noise of (25), Table I",
        equal(_copy, _copy_by_integral),
        holds("The noise is scaled as in (25); compared with the integrated divergence of its two normal laws."),
        {"deviation": Range(0.0, 1.0), "theta": Range(0.0, 0.9), "asked": Range(0.0, 1.0)},
        statement=r"\delta(\epsilon) = D_{e^\epsilon}",
        scale=absolute("", 1e-3),
        tolerance=1e-6,
        **_SHARED,
    ),
    Claim(
        "UF-Q-whole",
        "ours: the greatest utility of whole iterations (Table I, other deadlines)",
        equal(_solved_whole, _best_whole),
        holds("Compared with every whole number of iterations, with the transmission time on ever finer grids."),
        _PLACE,
        statement=r"\max\{U(jA, t) : j \in \mathbb N\}",
        scale=absolute("J", 1.0),
        tolerance=1e-8,
        effort=1 / 4,
        **_SHARED,
    ),
    Claim(
        "UF-Q-gaps",
        "ours: the proved upper bound on the utility of any choice (from the best choice and from some with fewer "
        "iterations)",
        at_least(_proved_upper_bound, _greatest),
        holds("Compared with a search of the feasible triangle on ever finer grids."),
        {**_PLACE, "share": Range(0.0, 1.0)},
        slack=0.05,
        statement=r"U + \text{gap} \ge U^*",
        scale=absolute("J", 1.0),
        tolerance=1e-8,
        effort=1 / 8,
        **_SHARED,
    ),
    Claim(
        "UF-Q-design",
        "ours: the greatest utility of one device with a budget of energy (Table I)",
        equal(_designed, _designed_by_grid),
        holds("Compared with ever finer grids of the feasible triangle."),
        {"distance": Range(50.0, 200.0), "saved": Range(0.5, 0.98)},
        statement=r"\max\{U : E \le \bar E\}",
        scale=absolute("J", 1.0),
        tolerance=1e-5,
        effort=1 / 8,
        **_SHARED,
    ),
    Claim(
        "UF-outage*",
        "ours, for Sec. II-F and the conclusion ('imperfect channel estimation'): a channel that is known up to an "
        "error of variance "
        "csi_error, relative to the estimate (Table I)",
        equal(_not_carried, lambda outage, **_: outage),
        holds(
            "The rate is carried unless the true gain is below the one counted on. So the plan under an outage "
            "constraint is the plan at "
            "the outage quantile of the gain, with the same certificate: at an error of .01 and an outage of 1 % the "
            "channel counts as "
            ".70 of its estimate. Compared with the integral of Rice's density."
        ),
        {
            "distance": Range(50.0, 200.0),
            "csi_error": Range(1e-4, 0.1, logarithmic=True),
            "outage": Range(1e-4, 0.5, logarithmic=True),
        },
        argued="airtight.analytics.federated.fair.device.DeviceFleet.gain",
        statement=r"\Pr\Bigl(B\log_2\bigl(1+\tfrac{\gamma}{\Gamma}|1+e|^2\bigr) < R\Bigr) = o,\quad "
        r"R = B\log_2\bigl(1+\tfrac\gamma\Gamma F^{-1}(o)\bigr),\ \tfrac2v|1+e|^2 \sim \chi'^2_2(\tfrac2v)",
        tolerance=1e-6,
        effort=1 / 4,
    ),
)
