"""Exchange with ``dp_accounting``: its trees of events as releases, and back.

An event describes a mechanism for neighbours that differ by one record, which is added or removed for Poisson sampling.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.privacy.accounting.subsampled import Subsampled
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.mechanism import Factors, Mechanism
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse
from airtight.analytics.rounding import UNIT

_SUPPORTED = (
    "a tree of GaussianDpEvent, LaplaceDpEvent, RandomizedResponseDpEvent, NoOpDpEvent, NonPrivateDpEvent, "
    "PoissonSampledDpEvent of one release, ComposedDpEvent and SelfComposedDpEvent"
)
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
        return ((Gaussian(1 / sigma if sigma else np.inf, slack=UNIT if 0 < sigma < np.inf else 0.0), 1),)
    if kind == "LaplaceDpEvent":
        scale = checks.scalar("noise_multiplier", event.noise_multiplier, "[0, inf]")
        return ((Laplace(math.nextafter(1 / scale, math.inf)), 1),) if scale else ((Gaussian(np.inf), 1),)
    if kind == "RandomizedResponseDpEvent":
        p, symbols = checks.scalar("noise_parameter", event.noise_parameter, "[0, 1]"), event.num_buckets
        odds = checks.count("num_buckets", symbols, "[2, inf)") * (1 - p)
        return (
            ((RandomizedResponse(math.log1p(odds / p) * (1 + 4 * UNIT), symbols), 1),)
            if p
            else ((Gaussian(np.inf), 1),)
        )
    if kind == "PoissonSampledDpEvent":
        p = checks.scalar("sampling_probability", event.sampling_probability, "[0, 1]")
        inner = factors_of(event.event, depth + 1)
        if not inner:
            return ()
        if len(inner) == 1 and isinstance(inner[0][0], Gaussian):
            inner = (inner[0][0].composed(inner),)  # a vector of Gaussians of one sample is one Gaussian
        if len(inner) != 1 or inner[0][1] != 1:
            raise ParameterError(
                "event", kind, "the sample of a single release: one sample used several times is unsupported"
            )
        return ((Subsampled(inner[0][0], p), 1),)
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
        When a release has no event, such as one of a system; its privacy loss distribution can still be exported.
    """
    from dp_accounting import dp_event

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
        p = release.symbols / (release.symbols + math.expm1(release.loss)) * (1 - 4 * UNIT)
        return dp_event.RandomizedResponseDpEvent(p, release.symbols)
    if isinstance(release, Subsampled):
        return dp_event.PoissonSampledDpEvent(release.p, _event(dp_event, release.release))
    raise ParameterError(
        "curve",
        release.constructor,
        "gaussian, laplace, randomized_response or a sample of one; use to_dp_accounting()",
    )


def _inverse(x: float) -> float:
    """1 / x, rounded down."""
    return math.nextafter(1 / x, 0.0)
