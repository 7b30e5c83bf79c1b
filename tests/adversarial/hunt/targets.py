"""What is hunted: for each promised number a way to draw a case and the ratio of its error to the bound that is stated.

A ratio above 1 is a violation, nan a case that the judge cannot decide. Cases are plain dictionaries of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from support import quadratic_form_balls as enclosed_form

from airtight.analytics.distributions import quadratic_form, selection
from airtight.analytics.federated.corbin import central_bound, central_privacy, dropout
from airtight.analytics.forms.balls import observer_delta as enclosed_observers
from airtight.analytics.forms.balls.ball import Ball, ball
from airtight.analytics.inference import accuracy
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting import composition_theorems
from airtight.analytics.privacy.mechanisms import gaussian, gaussian_pair
from airtight.analytics.privacy.over_the_air import amplification, feature_aware, observers, system_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture import build
from airtight.solvers.design import calibrate
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import caps
from hunt import judge
from hunt.curves import CURVES

Case = dict[str, Any]
Draw = Callable[[np.random.Generator], Case]
_LEAST = 1e-300


@dataclass(frozen=True)
class Target:
    """One promise: how cases are drawn and how near to a violation each is."""

    name: str
    draw: Draw
    ratio: Callable[[Case], float]


def _inside(truth: Ball, low: float, high: float) -> float:
    """Distance of the truth from the middle of [low, high] in half widths; below 1e-300 only the upper end counts."""
    if float(truth.rad()) > 1e-3 * max(abs(float(truth.mid())), _LEAST):
        return math.nan
    if abs(high) < _LEAST:
        return 0.0 if truth.lower() <= high else 2.0
    middle, half = (Fraction(low) + Fraction(high)) / 2, (Fraction(high) - Fraction(low)) / 2
    distance = abs(truth - ball(middle))
    if half == 0:
        return 0.0 if not distance > 0 else 2.0
    return float((distance / ball(half)).lower())


def _at_most(truth: Ball, bound: float) -> float:
    """The truth over what is promised."""
    if not truth.is_finite() or float(truth.rad()) > 0.5 * float(truth.mid()):
        return math.nan
    return float((truth / ball(bound)).lower()) if bound > 0 else (0.0 if not truth > 0 else 2.0)


def _wide(rng: np.random.Generator, decades: float) -> float:
    return float(10 ** rng.uniform(-decades, decades))


def _probability(rng: np.random.Generator) -> float:
    kind = rng.random()
    if kind < 0.6:
        return float(rng.random())
    tiny = float(10 ** rng.uniform(-12, -1))
    return tiny if kind < 0.8 else 1 - tiny


def _level(rng: np.random.Generator) -> float:
    return float(10 ** -rng.uniform(0.1, 12 if rng.random() < 0.7 else 300))


# One Gaussian, and two of different variance


def _gaussian_case(rng: np.random.Generator) -> Case:
    mu = _wide(rng, 6 if rng.random() < 0.3 else 2)
    deep = rng.uniform(-5, 38)
    return {"epsilon": abs(mu * (mu / 2 + deep)) if rng.random() < 0.8 else _wide(rng, 9), "mu": mu}


def _gaussian_curve(case: Case) -> float:
    value, _, error = (float(x[0]) for x in gaussian.log_curve(np.array([case["epsilon"]]), np.array([case["mu"]])))
    truth = judge.gaussian(Fraction(case["epsilon"]), Fraction(case["mu"]), Fraction(1))
    if not truth > 0 or value == -math.inf:
        return math.nan
    with flint.ctx.workprec(200):
        return _inside(truth.log(), value - error, value + error) if truth.rel_accuracy_bits() > 40 else math.nan


def _gaussian_epsilon(case: Case) -> float:
    epsilon = float(gaussian.epsilon(case["delta"], sensitivity=case["mu"], sigma=1.0))
    return _at_most(judge.gaussian(Fraction(epsilon), Fraction(case["mu"]), Fraction(1)), case["delta"])


def _gaussian_sigma(case: Case) -> float:
    sigma = float(gaussian.sigma(case["epsilon"], case["delta"], sensitivity=1.0))
    if not 0 < sigma < 1e100:
        return math.nan
    return _at_most(judge.gaussian(Fraction(case["epsilon"]), Fraction(1), Fraction(sigma) ** 2), case["delta"])


def _pair_case(rng: np.random.Generator) -> Case:
    r = int(rng.choice([1, 2, 3, 5, 10, 100, 784, 25088]))
    mu, eta = _wide(rng, 3), _wide(rng, 12 if rng.random() < 0.3 else 4)
    reverse = bool(rng.random() < 0.5)
    tilt = 1 + eta if reverse else 1.0
    mean = mu**2 / 2 / tilt + r / 2 * abs(eta / tilt - math.log1p(eta))
    spread = math.sqrt(mu**2 * (1 + eta) + r / 2 * eta**2) / tilt
    epsilon = abs(mean + rng.uniform(-6, 25) * spread) if rng.random() < 0.9 else _wide(rng, 3)
    return {"epsilon": epsilon, "mu": mu, "eta": eta, "dimension": r, "reverse": reverse}


def _pair(case: Case) -> float:
    arrays = [np.array([float(x)]) for x in (case["epsilon"], case["mu"], 1.0, case["eta"], case["dimension"])]
    value, _, error = (float(x[0]) for x in gaussian_pair.log_curve(*arrays, reverse=case["reverse"]))
    wide, narrow = 1 + Fraction(case["eta"]), Fraction(1)
    p, q = (narrow, wide) if case["reverse"] else (wide, narrow)
    truth = judge.hockey_stick(ball(case["epsilon"]), Fraction(case["mu"]), p, q, case["dimension"])
    if truth.rel_accuracy_bits() < 30 or not truth > 0:
        return math.nan
    log = truth.log()
    if math.isinf(error):
        return 0.0 if log.lower() <= value else 2.0
    return _inside(log, value - error, value + error) if value > -1e4 else math.nan


# A device among others


def _system_case(rng: np.random.Generator, adjacency: str, most: int) -> Case:
    devices = int(rng.integers(1, most + 1))
    decades = float(rng.choice([0, 0.5, 1, 2, 3, 6, 12]))
    noise = [_wide(rng, decades) for _ in range(devices)]
    if rng.random() < 0.15:
        noise[int(rng.integers(devices))] = 0.0
    unit = _wide(rng, 3)
    typical = math.sqrt(float(np.median(noise)) + 1e-300)
    return {
        "adjacency": adjacency,
        "participation": [_probability(rng) for _ in range(devices)],
        "noise_variance": [unit * x for x in noise],
        "receiver_noise_variance": float(unit * _wide(rng, decades) * (rng.random() < 0.85)),
        "weight": float(math.sqrt(unit) * typical * _wide(rng, 2)),
        "dimension": int(rng.choice([1, 2, 3, 10, 100, 784])),
        "delta": _level(rng),
        "share": float(rng.uniform(0.1, 1.5)),
        "cells": int(rng.choice([16, 64])),
        "idle": False,
    }


def _system(case: Case) -> InferenceSystem:
    which = case.get("which", range(len(case["participation"])))
    return InferenceSystem(
        devices=len(which),
        participation=[case["participation"][i] for i in which],
        noise_variance=[case["noise_variance"][i] for i in which],
        weight=case["weight"],
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=case["receiver_noise_variance"],
        dimension=case["dimension"],
        delta=case["delta"],
        delta_prime=1e-5,
        adjacency=case["adjacency"],
        idle_noise=case.get("idle", False),
    )


def _epsilon(case: Case) -> float:
    """delta at exact_epsilon over what was asked, and at `proven` where rounding has made it the smaller of the two."""
    system = _system(case)
    epsilon = float(system_privacy.epsilon(system, device=0))
    epsilon = min(epsilon, float(amplification.proven(system).epsilon[0]))
    if not epsilon < 1e6:
        return math.nan
    return _at_most(judge.delta(system, epsilon, 0), case["delta"])


def _delta(case: Case) -> float:
    """Where in the bracket of exact_delta the truth lies."""
    system = _system(case)
    epsilon = float(system_privacy.epsilon(system, device=0)) * case["share"]
    if not epsilon < 1e6:
        return math.nan
    low, high = (float(x) for x in system_privacy.delta_bracket(system, epsilon, device=0))
    return _inside(judge.delta(system, epsilon, 0), low, high)


def _gridded(case: Case) -> float:
    """The same on a law with few cells, where the curvature of the divergence decides."""
    kept, build._CELLS = build._CELLS, case["cells"]
    try:
        return max(_epsilon(case), _delta(case))
    finally:
        build._CELLS = kept


def _hidden(case: Case) -> float:
    """What the sets of a staircase give, over all sets of the others, against the delta and the epsilon of `others`."""
    system = _system(case)
    replace = case["adjacency"] == "replace"
    signal = Fraction(float(system.weight[0])) * Fraction(float(system.clip[0])) * Fraction(system.alignment)
    own = Fraction(system.alignment) ** 2 * Fraction(float(system.noise_variance[0]))
    p = Fraction(float(system.participation[0]))
    if not (signal > 0 and 0 < p < 1):
        return math.nan

    def less_than_the_truth(epsilon: float) -> Ball:
        total = flint.arb(0)
        for v, chance in judge.sets(system, 0):
            if v == 0:
                return flint.arb.nan()
            total += chance * enclosed_observers.hidden_at_least(
                Fraction(epsilon),
                p=p,
                distance=signal * (2 if replace else 1),
                variance=v,
                noise=own,
                dimension=system.dimension,
                replace=replace,
            )
        return total

    epsilon = float(observers.exact_epsilon(system, delta=system.delta, observer="others", device=0))
    if not 0 < epsilon < 1e3:
        return math.nan
    at = case["share"] * epsilon
    found = float(observers.exact_delta(system, at, observer="others", device=0))
    worst = _at_most(less_than_the_truth(epsilon), system.delta)
    return max(worst, _at_most(less_than_the_truth(at), found)) if found > _LEAST else worst


def _calibrated(case: Case) -> float:
    system = _system({**case, "delta": max(case["delta"], 1e-30)})
    target = 0.1 + 3 * case["share"]
    if not any(case["noise_variance"]):
        return math.nan
    try:
        louder = calibrate.calibrate(system, target).system
    except InfeasibleError:
        return math.nan
    return _at_most(judge.delta(louder, target, 0), system.delta)


def _capped(case: Case) -> float:
    system = _system({**case, "delta": max(case["delta"], 1e-30)})
    target = 0.1 + 3 * case["share"]
    weight = float(caps.greatest_weights(system, target)[0])
    if not weight < 1e100:
        return math.nan
    return _at_most(judge.delta(_system({**case, "weight": weight, "delta": system.delta}), target, 0), system.delta)


def _aware_case(rng: np.random.Generator) -> Case:
    case = _system_case(rng, str(rng.choice(["silent", "replace"])), 9)
    greatest, noise = float(rng.uniform(-2, 5)), _wide(rng, 1)
    return {
        **case,
        "score_noise": noise,
        "change": _wide(rng, 1),
        "eta": float(rng.uniform(-2, 5)),
        "greatest": greatest,
    }


def _aware(case: Case) -> float:
    """The mean over all sets of the curve of score and feature, at the epsilon that is called proven."""
    system = _system(case)
    found = feature_aware.proven_threshold(
        system,
        noise=case["score_noise"],
        sensitivity=case["change"],
        eta=case["eta"],
        greatest_score=case["greatest"],
    )
    epsilon = float(found.epsilon[0])
    if not epsilon < 1e6:
        return math.nan
    with flint.ctx.workprec(200):
        gap = (Fraction(case["greatest"]) - Fraction(case["eta"])) / Fraction(case["score_noise"])
        least = judge.normal_tail(ball(gap)).mid().fmpq()
    chances = [Fraction(int(least.p), int(least.q))] * system.devices
    signal = Fraction(case["weight"]) * (2 if case["adjacency"] == "replace" else 1)
    score = (Fraction(case["change"]) / Fraction(case["score_noise"])) ** 2
    total = flint.arb(0)
    for v, chance in judge.sets(system, 0, chances=chances):
        variance = v + Fraction(case["noise_variance"][0])
        if variance == 0:
            return math.nan
        total += ball(chance) * judge.gaussian(Fraction(epsilon), Fraction(1), 1 / (score + signal**2 / variance))
    return _at_most(total, case["delta"])


# Counts: composition, aggregation, dropout


def _composition_case(rng: np.random.Generator) -> Case:
    return {
        "epsilon": _wide(rng, 3) if rng.random() < 0.3 else _wide(rng, 1),
        "local_delta": float(10 ** -rng.uniform(1, 300)) * float(rng.random() < 0.7),
        "count": int(rng.integers(1, 51)),
        "delta": _level(rng),
    }


def _responses(case: Case, total: Fraction) -> Ball:
    """Kairouz, Oh and Viswanath's sum, in balls."""
    eps, m, d = Fraction(case["epsilon"]), case["count"], Fraction(case["local_delta"])

    def compute() -> Ball:
        lie, goal = 1 / (1 + ball(eps).exp()), ball(total).exp()
        inside = flint.arb(0)
        for lies in range(m + 1):
            p = math.comb(m, lies) * lie**lies * (1 - lie) ** (m - lies)
            inside += (p - goal * p * (-(m - 2 * lies) * ball(eps)).exp()).max(flint.arb(0))
        kept = ball(1 - d) ** m
        return 1 - kept + kept * inside

    return judge.refined(compute)


def _composed(case: Case) -> float:
    epsilon = composition_theorems.optimal_epsilon(
        case["epsilon"], case["local_delta"], count=case["count"], total_delta=case["delta"]
    )
    worst = _at_most(_responses(case, Fraction(epsilon)), case["delta"]) if epsilon < math.inf else 0.0
    total = 0.7 * case["epsilon"] * case["count"]
    delta = composition_theorems.optimal_delta(
        case["epsilon"], case["local_delta"], count=case["count"], total_epsilon=total
    )
    return max(worst, _at_most(_responses(case, Fraction(total)), delta) if delta > _LEAST else 0.0)


def _aggregation_case(rng: np.random.Generator) -> Case:
    return {
        "others": int(rng.integers(0, 40)),
        "epsilon": _wide(rng, 1) if rng.random() < 0.8 else _wide(rng, 5),
        "paired": bool(rng.random() < 0.5),
        "at": float(rng.uniform(0, 1.2)),
        "delta": _level(rng),
        "parameters": int(rng.integers(1, 4)),
        "corner": float(rng.random()),
    }


def _corner(case: Case, upper: int) -> tuple[list[Ball], list[Ball]]:
    """Laws of the count under both updates when so many others are at the upper end; infinitely many shared bits."""
    high = 1 / (1 + (-ball(case["epsilon"])).exp())
    low, n = 1 - high, case["others"]

    def law(trials: int, share: Ball) -> list[Ball]:
        return [math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]

    def convolved(a: list[Ball], b: list[Ball]) -> list[Ball]:
        out = [flint.arb(0)] * (len(a) + len(b) - 1)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                out[i + j] = out[i + j] + x * y
        return out

    noise = convolved(law(upper, high), law(n - upper, low))
    if case["paired"]:
        own = [flint.arb(0), 1 - (high - low), high - low], [flint.arb(0), flint.arb(1), flint.arb(0)]
    else:
        own = [1 - high, high], [1 - low, low]
    return convolved(noise, own[0]), convolved(noise, own[1])


def _count_delta(case: Case, epsilon: float) -> Ball:
    """Greatest over all corners, both orders, of one parameter; of several: of the same corner's product law."""
    n, m = case["others"], case["parameters"]
    corners = range(n + 1) if m == 1 else [round(case["corner"] * n)]

    def compute() -> Ball:
        worst = flint.arb(0)
        for upper in corners:
            p, q = _corner(case, upper)
            for one, other in ((p, q), (q, p)):
                joint = [(flint.arb(1), flint.arb(1))]
                for _ in range(m):
                    joint = [(a * x, b * y) for a, b in joint for x, y in zip(one, other, strict=True)]
                factor = ball(epsilon).exp()
                total = flint.arb(0)
                for a, b in joint:
                    total += (a - factor * b).max(flint.arb(0))
                worst = worst.max(total)
        return worst

    return judge.refined(compute)


def _aggregated(case: Case) -> float:
    kind = "paired" if case["paired"] else "unpaired"
    if case["parameters"] > 1 and case["others"] > 12:
        case = {**case, "others": case["others"] % 13}
    if case["parameters"] == 1:
        envelope = central_privacy.one_parameter(
            case["others"], epsilon=case["epsilon"], client=kind, delta=min(case["delta"], 0.5)
        )
        at = case["at"] * case["epsilon"]
        ratio = _at_most(_count_delta(case, at), float(envelope.delta(at)) + _LEAST)
        epsilon = float(envelope.epsilon(case["delta"]))
        return max(ratio, _at_most(_count_delta(case, epsilon), case["delta"]) if epsilon < 1e6 else 0.0)
    epsilon = central_privacy.update_epsilon(
        case["others"], case["parameters"], epsilon=case["epsilon"], client=kind, delta=case["delta"]
    )
    return _at_most(_count_delta(case, epsilon), case["delta"]) if epsilon < 1e6 else math.nan


def _closed_form(case: Case) -> float:
    """The proven closed form for one parameter, at one corner of many others."""
    kind = "paired" if case["paired"] else "unpaired"
    case = {**case, "others": 60 + 10 * case["others"]}
    found = central_bound.proven(case["others"], 1, epsilon=case["epsilon"], client=kind, delta=case["delta"])
    if found > 1e6:
        return math.nan

    def compute() -> Ball:
        laws = _corner(case, round(case["corner"] * case["others"]))
        factor = ball(found).exp()
        both = (
            sum(((a - factor * b).max(flint.arb(0)) for a, b in zip(p, q, strict=True)), flint.arb(0))
            for p, q in (laws, laws[::-1])
        )
        return next(both).max(next(both))

    return _at_most(judge.refined(compute), case["delta"])


def _dropout_case(rng: np.random.Generator) -> Case:
    return {
        "clients": 2 * int(rng.integers(1, 11)),
        "epsilon": _wide(rng, 1),
        "delta": float(10 ** -rng.uniform(0.1, 6)),
        "dropout": float(rng.uniform(0, 0.9)),
    }


def _dropped(case: Case) -> float:
    """A survivor whose partner is gone, the others' lone clients counted by enumeration and at one corner each."""
    pairs, p = (case["clients"] + 1) // 2, Fraction(case["dropout"])
    epsilon = dropout.central_epsilon(
        2 * pairs, 1, epsilon=case["epsilon"], delta=case["delta"], dropout=case["dropout"]
    )
    if p == 0 or not epsilon < 1e6:
        return math.nan
    broken = 2 * p * (1 - p)
    total = flint.arb(0)
    for alone, chance in enumerate(judge.binomial(pairs - 1, broken)):
        one = {**case, "others": alone, "paired": False, "parameters": 1}
        total += ball(chance) * _count_delta(one, epsilon)
    return _at_most(total, case["delta"])


# Distributions and accuracy


def _selection_case(rng: np.random.Generator) -> Case:
    devices = int(rng.integers(2, 8))
    decades = float(rng.choice([0, 1, 2]))
    return {
        "score": [float(x) for x in rng.normal(size=devices) * _wide(rng, 1)],
        "noise": [_wide(rng, decades) for _ in range(devices)],
        "selected": int(rng.integers(1, devices)),
    }


def _selected(case: Case) -> float:
    """Absolute error over the 1e-11 stated for a few devices."""
    found = float(selection.probability(case["score"], case["noise"], case["selected"])[0])
    truth, coarse = (
        judge.lowest(case["score"], case["noise"], case["selected"], 0, panels=panels) for panels in (400, 200)
    )
    return math.nan if abs(truth - coarse) > 2e-13 else abs(found - truth) / 1e-11


def _form_case(rng: np.random.Generator) -> Case:
    terms = int(rng.integers(1, 4))
    weight = [_wide(rng, float(rng.choice([0.1, 0.5]))) for _ in range(terms)]
    degrees = [int(rng.integers(1, 12)) for _ in range(terms)]
    shift = [_wide(rng, 1.5) * float(rng.random() < 0.7) for _ in range(terms)]
    mean = sum(w * (n + s) for w, n, s in zip(weight, degrees, shift, strict=True))
    return {"x": mean * _wide(rng, 0.7), "weight": weight, "degrees": degrees, "noncentrality": shift}


def _form(case: Case) -> float:
    known = {"weight": case["weight"], "degrees": case["degrees"], "noncentrality": case["noncentrality"]}
    sharpest = 0.0
    for ours, theirs in ((quadratic_form.cdf, enclosed_form.cdf), (quadratic_form.sf, enclosed_form.sf)):
        truth = theirs(case["x"], **known)
        if not truth > 1e-290 or truth.rel_accuracy_bits() < 45:
            continue
        value = float(ours(case["x"], **known))
        bound = 1e-11 + 1e-14 * (abs(math.log(value)) + math.sqrt(sum(case["noncentrality"])) + sum(case["degrees"]))
        sharpest = max(sharpest, float((abs(truth / ball(value) - 1) / bound).lower()))
    return sharpest


def _accuracy_case(rng: np.random.Generator) -> Case:
    devices = int(rng.integers(1, 4))
    return {
        "participation": [_probability(rng) for _ in range(devices)],
        "noise_variance": [_wide(rng, 1) for _ in range(devices)],
        "weight": [_wide(rng, 0.5) / devices for _ in range(devices)],
        "feature": [[float(x) for x in rng.normal(size=2)] for _ in range(devices)],
        "scale": _wide(rng, 0.5),
        "receiver": _wide(rng, 1),
        "margin": _wide(rng, 1),
    }


def _within(case: Case) -> float:
    """D = c I, no clipping: given the participants the squared error is c^2 v times a noncentral chi-square."""
    f, c = np.array(case["feature"]), case["scale"]
    system = InferenceSystem(
        devices=len(f),
        participation=case["participation"],
        noise_variance=case["noise_variance"],
        weight=case["weight"],
        clip=1e6,
        alignment=1.0,
        receiver_noise_variance=case["receiver"],
        dimension=2,
        delta=1e-5,
        delta_prime=1e-5,
    )
    value = accuracy.within_margin(system, Features(f=f, W=np.eye(2), D=c * np.eye(2)), margin=case["margin"]).estimate
    total = flint.arb(0)
    for chosen in np.ndindex(*([2] * len(f))):
        chance = math.prod(
            Fraction(p) if there else 1 - Fraction(p) for p, there in zip(case["participation"], chosen, strict=True)
        )
        mean = [
            sum(Fraction(w) * Fraction(float(x)) * t for w, x, t in zip(case["weight"], f[:, i], chosen, strict=True))
            * Fraction(c)
            - sum((Fraction(float(x)) for x in f[:, i]), Fraction(0)) / len(f)
            for i in range(2)
        ]
        v = sum((Fraction(s) * t for s, t in zip(case["noise_variance"], chosen, strict=True)), Fraction(0))
        v = (v + Fraction(case["receiver"])) * Fraction(c) ** 2
        shift = (mean[0] ** 2 + mean[1] ** 2) / v
        if chance and shift > 4000:
            return math.nan
        if chance:
            room = ball(Fraction(case["margin"]) ** 2 / v)
            total += ball(chance) * judge.refined(lambda r=room, s=shift: judge.chi_square_below(r, 2, ball(s)))
    return float(abs(total - ball(value)).lower()) / 1e-10 if float(total.rad()) < 1e-12 else math.nan


def _of(adjacency: str, most: int) -> Draw:
    return lambda rng: _system_case(rng, adjacency, most)


def _visible(rng: np.random.Generator) -> Case:
    return _system_case(rng, str(rng.choice(["silent", "replace"])), 12)


def _idle(rng: np.random.Generator) -> Case:
    return {**_system_case(rng, str(rng.choice(["silent", "replace", "absent"])), 4), "idle": True}


def _kinds(rng: np.random.Generator) -> Case:
    """Many devices of few kinds."""
    visible = bool(rng.random() < 0.7)
    case = _system_case(rng, str(rng.choice(["silent", "replace"])) if visible else "absent", 3 if visible else 1)
    kinds = len(case["noise_variance"])
    which = rng.integers(kinds, size=int(rng.integers(2, 51 if visible else 16)))
    return {**case, "which": [int(i) for i in which]}


def _small(rng: np.random.Generator) -> Case:
    return _system_case(rng, str(rng.choice(["silent", "replace", "absent"])), 4)


def _unseen(rng: np.random.Generator) -> Case:
    case = _system_case(rng, str(rng.choice(["silent", "replace"])), 4)
    return {**case, "delta": max(case["delta"], 1e-30), "dimension": int(10 ** rng.uniform(0, 4.4))}


TARGETS = (
    Target("gaussian curve", _gaussian_case, _gaussian_curve),
    Target("gaussian epsilon", lambda rng: {"mu": _wide(rng, 5), "delta": _level(rng)}, _gaussian_epsilon),
    Target("gaussian sigma", lambda rng: {"epsilon": _wide(rng, 3), "delta": _level(rng)}, _gaussian_sigma),
    Target("two variances", _pair_case, _pair),
    Target("epsilon, visible", _visible, _epsilon),
    Target("delta, visible", _visible, _delta),
    Target("epsilon, absent", _of("absent", 6), _epsilon),
    Target("delta, absent", _of("absent", 6), _delta),
    Target("epsilon, few kinds", _kinds, _epsilon),
    Target("delta, few kinds", _kinds, _delta),
    Target("epsilon, idle noise", _idle, _epsilon),
    Target("delta, idle noise", _idle, _delta),
    Target("grid, visible", _visible, _gridded),
    Target("grid, absent", _of("absent", 7), _gridded),
    Target("hidden device", _unseen, _hidden),
    Target("calibration", _small, _calibrated),
    Target("caps", _small, _capped),
    Target("feature-aware", _aware_case, _aware),
    Target("composition", _composition_case, _composed),
    Target("aggregation", _aggregation_case, _aggregated),
    Target("central bound", _aggregation_case, _closed_form),
    Target("dropout", _dropout_case, _dropped),
    Target("selection", _selection_case, _selected),
    Target("quadratic form", _form_case, _form),
    Target("accuracy", _accuracy_case, _within),
    *(Target(*each) for each in CURVES),
)
