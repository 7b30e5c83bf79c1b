"""FDP Theorem 1 and Remark 2 in the authors' own model: the server sees y alone, and absent devices keep their noise."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from airtight.analytics.forms.balls import observer_delta as enclosed
from airtight.analytics.forms.domain import Range
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, observers
from airtight.validate.claims.claim import Claim, false, holds, holds_under
from airtight.validate.claims.relation import at_most, equal
from airtight.validate.papers.feature_dp import theorem1
from airtight.validate.papers.feature_dp.common import PROBABILITY, resolved, system

_SYSTEM = {
    s.name: s.range
    for s in (
        *(theorem1.devices, theorem1.p, theorem1.variance, theorem1.receiver, theorem1.signal),
        *(theorem1.delta, theorem1.delta_prime),
    )
}
_LONG = Range(1, 25088, logarithmic=True, integer=True, typical=(784, 25088))  # r = q x 7 x 7, q = 16 and 512


def _one_hidden_device(
    devices: int, p: float, variance: float, receiver: float, signal: float, **rest: Any
) -> InferenceSystem:
    """Device 0 takes part with probability p and the others always: constant noise, and codes whose sum is known."""
    participation = [p, *[1.0] * (devices - 1)]
    noise = {"noise_variance": variance, "receiver_noise_variance": receiver}
    return system(devices, participation=participation, weight=signal, adjacency="silent", **noise, **rest)


def _claimed(form: str, **point: Any) -> float:
    result = amplification.published(_one_hidden_device(**point), form=form)
    return math.nan if result.vacuous else float(result.delta[0])


def _true(form: str, **point: Any) -> float:
    made = _one_hidden_device(**point)
    epsilon = float(amplification.published(made, form=form).epsilon[0])
    return float(observers.exact_delta(made, epsilon, observer="others", device=0))


def _mechanism_is_right(form: str, **point: Any) -> bool:
    """Whether c_k / sqrt(mean - t) is at most 1, as (10) requires."""
    made = _one_hidden_device(**point)
    t = float(amplification.published(made, form=form).t)
    mean_minus_t = (point["devices"] - 1 + point["p"]) * point["variance"] - t
    c = point["signal"] * math.sqrt(2 * math.log(1.25 / point["delta"]))
    return bool(mean_minus_t > 0 and c <= math.sqrt(mean_minus_t))


def _others(
    *,
    devices: int,
    p: float,
    variance: float,
    spread: float,
    signal: float,
    dimension: int,
    replace: int,
    epsilon: float,
) -> float:
    """delta of device 0, whose participation is hidden, among devices whose noise grows linearly; receiver noise 1/2."""
    made = system(
        devices,
        participation=p,
        noise_variance=[variance * (1 + spread * j) for j in range(devices)],
        weight=signal,
        receiver_noise_variance=0.5,
        dimension=dimension,
        adjacency="replace" if replace else "silent",
    )
    return resolved(observers.exact_delta(made, epsilon, observer="others", device=0))


def _by_balls(**given: Any) -> float:
    delta = enclosed.others_by_enumeration(**given)
    return math.nan if math.isnan(delta) else resolved(delta)


_MANY = {
    "p": PROBABILITY,
    "variance": Range(0.05, 5.0),
    "spread": Range(0.0, 1.0),
    "signal": Range(0.1, 5.0),
    "replace": Range(0, 1, integer=True),
    "epsilon": Range(0.0, 3.0),
}
_STATEMENT = (
    r"\sup_A \Pr(y\in A) - \left[1+\tfrac{p_k}{1-\delta'}\left(e^{c_k/\sqrt{\bar\mu-t}}-1\right)\right]\Pr(y'\in A)"
    r" \le \delta' + \frac{p_k\delta}{1-\delta'}"
)

CLAIMS = (
    Claim(
        "FDP-T1-hidden",
        "Theorem 1, Eq. (11), t of Eq. (23), as the authors mean it: the server sees y alone, noise stays; codes of "
        "at most 8 numbers",
        at_most(partial(_true, "eq23"), partial(_claimed, "eq23")),
        holds_under(
            "The amplification is as printed for codes of at most 8 numbers, c_k / sqrt(mean - t) of at most 1 and "
            "others that always take part (tried, not proved; the closest case found uses 42 % of what is allowed). "
            "From 16 numbers on there are exceptions: FDP-T1-hidden-r."
        ),
        {**_SYSTEM, "dimension": Range(1, 8, integer=True)},
        given=[partial(_mechanism_is_right, "eq23")],
        statement=_STATEMENT,
        slack=100.0,
        effort=1 / 2,
    ),
    Claim(
        "FDP-T1-hidden-r",
        "Theorem 1, Eq. (11), with its own t, as the authors mean it: the server sees y alone, noise stays; codes of "
        "up to their 25088 numbers",
        at_most(
            partial(_true, "theorem1"),
            partial(_claimed, "theorem1"),
            balls=partial(enclosed.theorem1, form="theorem1"),
            bounded=True,
        ),
        false(
            "Short codes hide the device (FDP-T1-hidden). In many dimensions the device's own noise visibly raises "
            "the variance of y and reveals that it takes part: at r = 25088 no amplification remains. The bound does "
            "not depend on r.",
            corrected_by="FDP-T1-hidden*",
            true_where="r at most 8 and c_k / sqrt(mean - t) at most 1, or absent devices send noise too (FDP-T1d); at the "
            "paper's p = .9 it was found true at every r",
        ),
        {**_SYSTEM, "dimension": _LONG},
        given=[partial(_mechanism_is_right, "theorem1")],
        statement=_STATEMENT,
        near={"devices": 50, "p": 0.1, "signal": 0.3, "dimension": 25088},
        effort=1 / 2,
    ),
    Claim(
        "FDP-T1-hidden*",
        "ours: silent and replace, exact when the others' participation is known and the device's hidden",
        equal(_others, _by_balls),
        holds(
            "One integral along the signal's axis, with the norm across in closed form; compared with an integral in "
            "ball arithmetic, over all sets."
        ),
        {
            **_MANY,
            "p": Range(0.01, 0.5),
            "signal": Range(0.5, 5.0),
            "devices": Range(1, 2, integer=True),
            "dimension": Range(1, 4, integer=True),
        },
        statement=r"\delta_k(\epsilon) = E_S\,D_\lambda\bigl(p\,N(x,v_S+s)+(1-p)N(0,v_S)\,\big\|\,p\,N(x',v_S+s)+(1-p)N(0,v_S)"
        r"\bigr),\quad x'=0\text{ or }-x",
        tolerance=1e-8,
        effort=1 / 8,
    ),
    Claim(
        "FDP-R2-hidden",
        "Remark 2 as the authors mean it: the server sees y alone, noise stays (the others' participation known)",
        at_most(
            lambda more, **rest: _others(**rest),
            lambda more, dimension, **rest: _others(dimension=dimension + more, **rest),
        ),
        holds(
            "At the same clip shorter codes do protect better: dropping coordinates is post-processing, and the "
            "device's noise is less visible."
        ),
        {
            **_MANY,
            "devices": Range(1, 3, integer=True),
            "dimension": Range(1, 500, logarithmic=True, integer=True),
            "more": Range(1, 500, logarithmic=True, integer=True),
        },
        statement=r"r \le r' \;\Rightarrow\; \delta_k(\epsilon; r) \le \delta_k(\epsilon; r')",
        tolerance=1e-8,
        effort=1 / 4,
    ),
)
