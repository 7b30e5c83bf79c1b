r"""The joint problem of CorBin-FL: local epsilon, worst error, and bits on the air, two kept and the third least.

With :math:`\theta(\epsilon)` the only way in which epsilon enters, the proven worst error of the mean falls with epsilon and
with the number d of shared bits; the bits of a client's round, d m of them shared under a stream cipher, rise with d. So for
every d the least epsilon that keeps an error is a root, and of the 61 numbers of bits the best is taken: nothing is left open.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

from scipy import optimize

from airtight.analytics.federated.corbin import communication, mean_estimation
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.solvers.design.federated.federated_requirements import FederatedRequirements, Free, Goal
from airtight.solvers.errors import InfeasibleError

_BITS = range(61)
_LEAST, _MOST = 1e-6, 700.0  # epsilon
_NEAR = 1e-12
_ROUNDING = 1e-10  # of a root


@dataclass(frozen=True, kw_only=True)
class FederatedDesign:
    """A design of CorBin-FL; `value` is the least there is of the proven worst error, of epsilon, or of bits.

    Attributes
    ----------
    system : FederatedSystem
    minimised : Goal
    value : float
    epsilon, error : float
    bits : int
    nothing : float
        The worst error of the constant mean, the centre: r^2.
    seconds : float
    """

    system: FederatedSystem
    minimised: Goal
    value: float
    epsilon: float
    error: float
    bits: int
    nothing: float
    seconds: float

    @property
    def lower_bound(self) -> float:
        """No design has less: the value, to the rounding of a root."""
        return self.value * (1 - _ROUNDING)


def design(system: FederatedSystem, wanted: FederatedRequirements) -> FederatedDesign:
    """The best epsilon and number of shared bits.

    Raises
    ------
    InfeasibleError
        With the nearest that could be kept of each constraint.

    Examples
    --------
    >>> system = FederatedSystem(clients=50, parameters=1000, epsilon=1.0)
    >>> found = design(system, FederatedRequirements(minimise="epsilon", error_at_most=0.05))
    >>> round(found.epsilon, 4), found.system.shared_bits, found.error <= 0.05
    (0.9555, 53, True)
    """
    started = time.monotonic()
    options = [one for bits in _bits(system, wanted) if (one := _at(system, wanted, bits)) is not None]
    if not options:
        nearest = _nearest(system, wanted)
        raise InfeasibleError(f"no design keeps the constraints; nearest that can be kept, each alone: {nearest}")

    def reached(one: FederatedSystem) -> tuple[float, int]:
        return {Goal.ERROR: error(one), Goal.EPSILON: one.epsilon, Goal.BITS: bits_of(one)}[wanted.minimise], bits_of(
            one
        )

    best = min(options, key=reached)
    return FederatedDesign(
        system=best,
        minimised=wanted.minimise,
        value=float(reached(best)[0]),
        epsilon=best.epsilon,
        error=error(best),
        bits=bits_of(best),
        nothing=best.radius**2,
        seconds=time.monotonic() - started,
    )


def error(system: FederatedSystem) -> float:
    """The proven worst mean squared error of one parameter of the mean."""
    return float(
        mean_estimation.worst(
            system.clients,
            epsilon=system.epsilon,
            radius=system.radius,
            bits=system.shared_bits,
            independent=system.ldp_fraction,
        )
    )


def bits_of(system: FederatedSystem) -> int:
    """Of one client and round, shared randomness under a stream cipher."""
    return communication.stream(system.clients, system.parameters, bits=system.shared_bits).total


def _bits(system: FederatedSystem, wanted: FederatedRequirements) -> list[int]:
    """Numbers of shared bits that keep the bits on the air."""
    numbers = list(_BITS) if Free.SHARED_BITS in wanted.free else [system.shared_bits]
    most = math.inf if wanted.bits_at_most is None else wanted.bits_at_most
    return [d for d in numbers if bits_of(replace(system, shared_bits=d)) <= most]


def _at(system: FederatedSystem, wanted: FederatedRequirements, bits: int) -> FederatedSystem | None:
    """With so many shared bits: the greatest epsilon, or where that is least the least; None where that breaks a constraint."""
    system = replace(system, shared_bits=bits)
    most = _MOST if wanted.epsilon_at_most is None else wanted.epsilon_at_most
    limit = math.inf if wanted.error_at_most is None else wanted.error_at_most
    if Free.EPSILON in wanted.free:
        system = replace(system, epsilon=most)
    elif system.epsilon > most:
        return None
    if error(system) > limit:
        return None
    if Free.EPSILON in wanted.free and (wanted.minimise is Goal.EPSILON or wanted.epsilon_at_most is None):
        system = replace(system, epsilon=_least_epsilon(system, limit, most))
    return system


def _least_epsilon(system: FederatedSystem, limit: float, most: float) -> float:
    def excess(log_epsilon: float) -> float:
        return error(replace(system, epsilon=math.exp(log_epsilon))) - limit

    low, high = math.log(min(_LEAST, most)), math.log(most)
    if excess(low) <= 0:
        return math.exp(low)
    x = float(optimize.brentq(excess, low, high, xtol=_NEAR))
    while excess(x) > 0:
        x = min(x + 4 * _NEAR, high)
    return math.exp(x)


def _nearest(system: FederatedSystem, wanted: FederatedRequirements) -> str:
    """What could be kept of each constraint, the others unchanged."""
    named = []
    options = [replace(system, shared_bits=d) for d in _bits(system, wanted)]
    most = _MOST if wanted.epsilon_at_most is None else wanted.epsilon_at_most
    if wanted.error_at_most is not None and options:
        epsilon = most if Free.EPSILON in wanted.free else system.epsilon
        named.append(f"error_at_most = {min(error(replace(one, epsilon=epsilon)) for one in options) * (1 + 1e-6):.6g}")
        if wanted.epsilon_at_most is not None:
            loosest = replace(wanted, epsilon_at_most=None, minimise=Goal.EPSILON)
            kept = [one.epsilon for d in _bits(system, wanted) if (one := _at(system, loosest, d)) is not None]
            named += [f"epsilon_at_most = {min(kept) * (1 + 1e-6):.6g}"] if kept else []
    if wanted.bits_at_most is not None:
        free = replace(wanted, bits_at_most=None)
        kept_bits = [bits_of(one) for d in _bits(system, free) if (one := _at(system, free, d)) is not None]
        named += [f"bits_at_most = {min(kept_bits)}"] if kept_bits else []
    return ", ".join(named) or "none"
