"""Ours: what the commands answer of a utility-fair fleet, each quantity against its definition: integrals and fine grids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.fair.device import table_1
from airtight.solvers import energy as energy_utility
from airtight.solvers.design.fleet import fleet_design as fleets
from airtight.solvers.design.fleet.fleet_requirements import FleetRequirements
from airtight.solvers.energy import proved_gap
from airtight.solvers.energy.energy_problem import Problem
from airtight.validate.claims.claim import Claim, holds
from airtight.validate.claims.domain import Range
from airtight.validate.claims.relation import absolute, at_least, equal
from airtight.validate.twins import oracles

_DELTA = Range(1e-6, 1e-2, logarithmic=True)
_PLACE = {"distance": Range(50.0, 200.0), "deadline": Range(0.6, 2.0)}
_STATED = "tried against its definition, by integrals and fine grids"


def _copies(noise: float, devices: int, rounds: int, delta: float) -> float:
    """delta at the epsilon found, of the sum of all copies heard: normal, as far away as there are copies."""
    epsilon = float(fairness.copies_epsilon(delta, noise=noise, devices=devices, rounds=rounds))
    copies = devices * rounds
    there, away = [(1.0, copies, copies * noise**2)], [(1.0, 0.0, copies * noise**2)]
    return oracles.mixture_divergence(epsilon, there, away)


def _copy(deviation: float, theta: float, asked: float) -> float:
    return float(fairness.utility_fair(deviation, epsilon=0.95, delta=1e-5, theta=theta).delta(asked))


def _copy_by_integral(deviation: float, theta: float, asked: float) -> float:
    """(25) at Table I: sigma = sqrt(2 ln(1.25/delta)) / (epsilon (1 - deviation theta))."""
    sigma = np.sqrt(2 * np.log(1.25e5)) / (0.95 * (1 - deviation * theta))
    return oracles.mixture_divergence(asked, [(1.0, 1.0, sigma**2)], [(1.0, 0.0, sigma**2)])


def _given(p: Problem, x: float) -> float:
    """The greatest utility at a compute time, over the transmission time on ever finer grids, ends included."""
    low, high = 0.0, 1.0
    for _ in range(6):
        v = np.linspace(low, high, 41)
        t = p.t_min + np.maximum(p.T - x - p.t_min, 0.0) * v**2
        value = p.utility(np.full(v.size, x), np.minimum(p.a / t, p.Z_max))
        place, reach = float(v[np.argmax(value)]), (high - low) / 15
        low, high = max(place - reach, 0.0), min(place + reach, 1.0)
    return float(np.max(value))


def _whole(distance: float, deadline: float) -> float:
    """Every whole number of iterations that the deadline leaves."""
    fleet = table_1(distance=distance, deadline=deadline)
    p = Problem.of(fleet)
    first, last = int(np.ceil(fleet.min_iterations[0])), int(np.floor(p.x_max[0] / p.A[0] + 1e-9))
    return max(_given(p, min(j * float(p.A[0]), float(p.x_max[0]))) for j in range(first, max(last, first) + 1))


def _solved_whole(distance: float, deadline: float) -> float:
    fleet = table_1(distance=distance, deadline=deadline)
    return float(energy_utility.solve(fleet, integer=True).utility[0])


def _told(distance: float, deadline: float, share: float) -> float:
    """The gap that is proved of the best choice with a share of its iterations left out, beside its utility."""
    fleet = table_1(distance=distance, deadline=deadline)
    p, best = Problem.of(fleet), energy_utility.solve(fleet)
    x = best.compute_time + (p.x_min - best.compute_time) * share
    told = proved_gap.gaps(fleet, replace(best, compute_time=x)) + p.utility(x, fleet.log_rate(best.power))
    return float(told[0])


def _greatest(distance: float, deadline: float, **rest: float) -> float:
    p = Problem.of(table_1(distance=distance, deadline=deadline))
    low, high = float(p.x_min[0]), float(p.x_max[0])
    for _ in range(6):
        x = np.linspace(low, high, 31)
        value = [_given(p, float(each)) for each in x]
        place, reach = float(x[int(np.argmax(value))]), (high - low) / 10
        low, high = max(place - reach, float(p.x_min[0])), min(place + reach, float(p.x_max[0]))
    return max(value)


def _designed(distance: float, saved: float) -> float:
    """The greatest utility of one device that spends no more than a share of what it would."""
    fleet = table_1(distance=distance)
    free = float(energy_utility.solve(fleet).energy[0])
    found = fleets.design(fleet, FleetRequirements(energy_at_most=saved * free))
    return found.value if found.energy[0] <= saved * free * (1 + 1e-9) else -np.inf


def _designed_by_grid(distance: float, saved: float) -> float:
    """The same on a grid of compute times and transmission times, refined three times."""
    fleet = table_1(distance=distance)
    p = Problem.of(fleet)
    limit = saved * float(energy_utility.solve(fleet).energy[0])
    ends = [(float(p.x_min[0]), float(p.x_max[0])), (0.0, 1.0)]
    for _ in range(9):
        x, v = np.meshgrid(np.linspace(*ends[0], 201), np.linspace(*ends[1], 201))
        t = p.t_min + np.maximum(p.T - x - p.t_min, 0.0) * v**2
        Z = np.minimum(p.a / t, p.Z_max)
        value = np.where(p.energy(x.ravel(), Z.ravel()) <= limit, p.utility(x.ravel(), Z.ravel()), -np.inf)
        at = int(np.argmax(value))
        centres, reach = (x.ravel()[at], v.ravel()[at]), [(b - a) / 6 for a, b in ends]
        floor = ((float(p.x_min[0]), float(p.x_max[0])), (0.0, 1.0))
        ends = [(max(c - r, a), min(c + r, b)) for c, r, (a, b) in zip(centres, reach, floor, strict=True)]
    return float(value[at])


_SHARED: dict[str, Any] = {"unread": _STATED}

CLAIMS = (
    Claim(
        "UF-Q-copies",
        "ours: epsilon of who collects all copies",
        equal(_copies, lambda delta, **_: delta),
        holds("The sum of the copies says all there is; its two normal laws, integrated."),
        {
            "noise": Range(5.0, 40.0),
            "devices": Range(1, 30, integer=True),
            "rounds": Range(1, 10, integer=True),
            "delta": _DELTA,
        },
        statement=r"\delta(\epsilon) = \delta",
        tolerance=1e-5,
        idle=("noise", "devices", "rounds"),
    ),
    Claim(
        "UF-Q-copy",
        "ours: delta of one copy with the noise of (25), Table I",
        equal(_copy, _copy_by_integral),
        holds("As (25) scales the noise; its two normal laws, integrated."),
        {"deviation": Range(0.0, 1.0), "theta": Range(0.0, 0.9), "asked": Range(0.0, 1.0)},
        statement=r"\delta(\epsilon) = D_{e^\epsilon}",
        scale=absolute("", 1e-3),
        tolerance=1e-6,
        **_SHARED,
    ),
    Claim(
        "UF-Q-whole",
        "ours: the greatest utility of whole iterations (Table I, other deadlines)",
        equal(_solved_whole, _whole),
        holds("Every whole number, its transmission on ever finer grids."),
        _PLACE,
        statement=r"\max\{U(jA, t) : j \in \mathbb N\}",
        scale=absolute("J", 1.0),
        tolerance=1e-8,
        effort=1 / 4,
        **_SHARED,
    ),
    Claim(
        "UF-Q-gaps",
        "ours: what is told that no choice has more (the best choice and some with fewer iterations)",
        at_least(_told, _greatest),
        holds("Against a search of the feasible triangle on ever finer grids."),
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
        holds("On ever finer grids of the feasible triangle."),
        {"distance": Range(50.0, 200.0), "saved": Range(0.5, 0.98)},
        statement=r"\max\{U : E \le \bar E\}",
        scale=absolute("J", 1.0),
        tolerance=1e-5,
        effort=1 / 8,
        **_SHARED,
    ),
)
