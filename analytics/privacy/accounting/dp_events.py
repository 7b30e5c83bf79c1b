"""Exchange with ``dp_accounting``: its trees of events as releases, and back.

The parameters of an event determine a pair of laws for one neighbour relation alone. The noise of a Gaussian or Laplace
event is relative to a bound of the norm of one record, so one record is added or removed; if it were replaced, the
sensitivity would be twice that bound. Randomized response always sends an answer, so one record is replaced. A tree that
mixes both is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.accounting.subsampled import ADDED, REPLACED, Subsampled, of_neighbours
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian, Hidden
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.mechanism import Factors, Mechanism
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse
from airtight.analytics.privacy.mechanisms.renyi_bound import RenyiBound
from airtight.analytics.rounding import UNIT

_SUPPORTED = (
    "a tree of GaussianDpEvent, LaplaceDpEvent, RandomizedResponseDpEvent, MixtureOfGaussiansDpEvent, NoOpDpEvent, "
    "NonPrivateDpEvent, SingleEpochTreeAggregationDpEvent, ZCDpEvent, "
    "PoissonSampledDpEvent of one release or of several Gaussian ones, ComposedDpEvent and SelfComposedDpEvent"
)
EMPTIED = "one record is replaced by an empty one"
_ORDERS = 1 + 2.0 ** np.arange(-10, 30, 0.125)  # at which a bound of all orders is kept
_DEEPEST = 100  # greatest depth of a tree


def is_event(source: object) -> bool:
    """Whether this is an event of ``dp_accounting``."""
    return any(kind.__name__ == "DpEvent" for kind in type(source).__mro__)


def factors_of(event: Any, depth: int = 0) -> Factors:
    """The releases of an event and how often each is used; parameters are rounded to the side of greater leakage."""
    if depth > _DEEPEST:
        raise ParameterError("event", "a deeper tree", f"a tree of depth at most {_DEEPEST}")
    kind = type(event).__name__
    if kind == "NoOpDpEvent":
        return ()
    if kind == "NonPrivateDpEvent":
        return ((Gaussian(np.inf), 1),)
    if kind == "GaussianDpEvent":
        sigma = checks.scalar("noise_multiplier", event.noise_multiplier, "[0, inf]")
        return ((Gaussian.of_noise(sigma, ADDED), 1),)
    if kind == "LaplaceDpEvent":
        scale = checks.scalar("noise_multiplier", event.noise_multiplier, "[0, inf]")
        loss = math.nextafter(1 / scale, math.inf) if scale else math.inf
        return ((Laplace(loss, ADDED, slack=4 * UNIT) if loss < math.inf else Gaussian(np.inf, ADDED), 1),)
    if kind == "RandomizedResponseDpEvent":
        p = checks.scalar("noise_parameter", event.noise_parameter, "[0, 1]")
        symbols = checks.count("num_buckets", event.num_buckets)
        if symbols == 1:
            return ()
        loss = math.log1p(symbols * (1 - p) / p) * (1 + 4 * UNIT) if p else math.inf
        return (
            (
                RandomizedResponse(loss, symbols, REPLACED, slack=16 * UNIT)
                if loss < math.inf
                else Gaussian(np.inf, REPLACED),
                1,
            ),
        )
    if kind == "MixtureOfGaussiansDpEvent":
        sigma = checks.scalar("standard_deviation", event.standard_deviation, "(0, inf)")
        shifts = checks.real("sensitivities", event.sensitivities, "[0, inf)") / sigma
        return ((Hidden(tuple(event.sampling_probs), tuple(np.ravel(shifts).tolist()), ADDED), 1),)
    if kind == "SingleEpochTreeAggregationDpEvent":
        # a record is in one node of each level, of noise of its own: as many Gaussian releases as the highest tree has levels
        sigma = checks.scalar("noise_multiplier", event.noise_multiplier, "[0, inf]")
        steps = checks.integer("step_counts", event.step_counts, "[1, inf)")
        return ((Gaussian.of_noise(sigma, EMPTIED), int(np.max(steps)).bit_length()),)
    if kind == "ZCDpEvent":
        rho, xi = (checks.scalar(name, getattr(event, name), "[0, inf)") for name in ("rho", "xi"))
        with np.errstate(over="ignore"):
            divergences = (xi + rho * _ORDERS) * (1 + 2 * UNIT)
        return ((RenyiBound(tuple(_ORDERS.tolist()), tuple(divergences.tolist())), 1),)
    if kind == "PoissonSampledDpEvent":
        p = checks.scalar("sampling_probability", event.sampling_probability, "[0, 1]")
        inner = factors_of(event.event, depth + 1)
        if not inner:
            return ()
        if any(release.unit == REPLACED for release, _ in inner):
            raise ParameterError("event", kind, "the sample of a release for which one record is added or removed")
        return ((of_neighbours(Subsampled.of(inner, p, "event"), ADDED), 1),)
    if kind == "SelfComposedDpEvent":
        count = checks.count("count", event.count, "[0, inf)")
        return tuple((release, each * count) for release, each in factors_of(event.event, depth + 1) if count)
    if kind == "ComposedDpEvent":
        return tuple(factor for inner in event.events for factor in factors_of(inner, depth + 1))
    raise ParameterError("event", kind, _SUPPORTED)


def event_of(factors: Factors) -> Any:
    """The event of some releases; parameters are rounded to the side of greater leakage.

    Raises
    ------
    ParameterError
        When a release has no event, such as one of a system; its privacy loss distribution can still be exported. When
        randomized response is composed with another release: their events have different neighbours.
    """
    from dp_accounting import dp_event

    if len({isinstance(release, RandomizedResponse) for release, _ in factors}) > 1:
        raise ParameterError(
            "curve", "randomized response beside another release", "releases whose events have the same neighbours"
        )
    events = [
        (dp_event.SelfComposedDpEvent(_event(dp_event, release), count) if count > 1 else _event(dp_event, release))
        for release, count in factors
    ]
    if not events:
        return dp_event.NoOpDpEvent()
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events)


def _event(dp_event: Any, release: Mechanism) -> Any:
    if isinstance(release, Gaussian):
        mu = release.mu * (1 + release.slack)
        return dp_event.GaussianDpEvent(_inverse(mu)) if mu > 0 else dp_event.NoOpDpEvent()
    if isinstance(release, Laplace):
        return dp_event.LaplaceDpEvent(_inverse(release.loss)) if release.loss > 0 else dp_event.NoOpDpEvent()
    if isinstance(release, RandomizedResponse):
        other = math.exp(-release.loss)  # odds of another answer; zero, which is the safe side, where it underflows
        p = release.symbols * other / (1 + (release.symbols - 1) * other) * (1 - 8 * UNIT)
        return dp_event.RandomizedResponseDpEvent(float(p), release.symbols)
    if isinstance(release, Subsampled):
        if isinstance(release.release, Gaussian | Laplace):
            return dp_event.PoissonSampledDpEvent(release.p, _event(dp_event, release.release))
        raise ParameterError(
            "curve",
            f"a sample of {release.release.constructor}",
            "a sample of a Gaussian or a Laplace release, for an event",
        )
    raise ParameterError(
        "curve",
        release.constructor,
        "gaussian, laplace, randomized_response or a sample of one; use to_dp_accounting()",
    )


def _inverse(x: float) -> float:
    """At most 1 / x, also where x is a product that was rounded down."""
    return min(float(1 - 2 * UNIT) / float(x), float(np.finfo(float).max))
