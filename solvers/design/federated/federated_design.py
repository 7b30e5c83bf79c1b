r"""The joint problem of CorBin-FL: minimise local epsilon, worst error or transmitted bits with limits on the others.

Epsilon enters only through :math:`\theta(\epsilon)`. The proven worst error of the mean decreases with epsilon and
with the number d of shared bits. The bits that a client transmits in a round, d m of which are shared under a stream
cipher, increase with d. So for every d the least epsilon that keeps an error is a root, and the best of the 61
possible values of d is the optimum: the design has no gap other than the rounding of the root.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

from scipy import optimize

from airtight.analytics.federated.corbin import communication, mean_estimation
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.progress import counted
from airtight.analytics.records import Record
from airtight.solvers.design.requirements import FederatedRequirements, Free, Goal
from airtight.solvers.errors import InfeasibleError

_BITS = range(61)  # numbers of shared bits
_LEAST_EPSILON, _GREATEST_EPSILON = 1e-6, 700.0  # range of epsilon; e^700 is still a double
_NEAR = 1e-12  # absolute accuracy of a root in log epsilon
_ROUNDING = 1e-10  # bound on the relative error of a root


@dataclass(frozen=True, kw_only=True)
class FederatedDesign(Record):
    """A design of CorBin-FL; `value` is the minimum of the proven worst error, of epsilon, or of the bits.

    Attributes
    ----------
    system : FederatedSystem
    minimised : Goal
    value : float
    epsilon, error : float
    bits : int
    nothing : float
        The worst error of a constant output at the centre of the range, r^2.
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
        """A lower bound of the value of every design: the value minus the error of a root."""
        return self.value * (1 - _ROUNDING)


def design(system: FederatedSystem, wanted: FederatedRequirements, *, progress: bool = False) -> FederatedDesign:
    """The best epsilon and number of shared bits.

    With `progress`, lines on stderr say how many numbers of bits are tried.

    Raises
    ------
    InfeasibleError
        When no design keeps the constraints. The message states, for each constraint, the nearest feasible limit with
        the others unchanged.

    Examples
    --------
    >>> system = FederatedSystem(clients=50, parameters=1000, epsilon=1.0)
    >>> best = design(system, FederatedRequirements(minimise="epsilon", error_at_most=0.05))
    >>> round(best.epsilon, 4), best.system.shared_bits, best.error <= 0.05
    (0.9555, 53, True)
    """
    started = time.monotonic()
    system.demand_no_colluders("a design, whose epsilon is that of one uplink,")
    feasible = _feasible_bits(system, wanted)
    options = [
        option
        for bits in counted(feasible, len(feasible), "numbers of bits", progress=progress)
        if (option := _with_bits(system, wanted, bits)) is not None
    ]
    if not options:
        nearest = _nearest(system, wanted)
        raise InfeasibleError(
            f"no design keeps the constraints; nearest feasible limits, if changed each alone: {nearest}"
        )

    def value_and_bits(option: FederatedSystem) -> tuple[float, int]:
        return {Goal.ERROR: error(option), Goal.EPSILON: option.epsilon, Goal.BITS: bits_of(option)}[
            wanted.minimise
        ], bits_of(option)

    best = min(options, key=value_and_bits)
    return FederatedDesign(
        system=best,
        minimised=wanted.minimise,
        value=float(value_and_bits(best)[0]),
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
            independent=system.independent,
        )
    )


def bits_of(system: FederatedSystem) -> int:
    """Transmitted bits of one client in one round, with shared randomness under a stream cipher."""
    return communication.stream(system.clients, system.parameters, bits=system.shared_bits).total


def _feasible_bits(system: FederatedSystem, wanted: FederatedRequirements) -> list[int]:
    """The numbers of shared bits that keep the limit on transmitted bits."""
    candidates = list(_BITS) if Free.SHARED_BITS in wanted.free else [system.shared_bits]
    limit = math.inf if wanted.bits_at_most is None else wanted.bits_at_most
    return [d for d in candidates if bits_of(replace(system, shared_bits=d)) <= limit]


def _with_bits(system: FederatedSystem, wanted: FederatedRequirements, bits: int) -> FederatedSystem | None:
    """The design with a given number of shared bits; None where it violates a constraint.

    Its epsilon is the limit on epsilon, where epsilon is free; it is the least epsilon that keeps the error where
    epsilon is minimised or has no limit.
    """
    system = replace(system, shared_bits=bits)
    epsilon_limit = _GREATEST_EPSILON if wanted.epsilon_at_most is None else wanted.epsilon_at_most
    error_limit = math.inf if wanted.error_at_most is None else wanted.error_at_most
    if Free.EPSILON in wanted.free:
        system = replace(system, epsilon=epsilon_limit)
    elif system.epsilon > epsilon_limit:
        return None
    if error(system) > error_limit:
        return None
    if Free.EPSILON in wanted.free and (wanted.minimise is Goal.EPSILON or wanted.epsilon_at_most is None):
        system = replace(system, epsilon=_least_epsilon(system, error_limit, epsilon_limit))
    return system


def _least_epsilon(system: FederatedSystem, error_limit: float, greatest_epsilon: float) -> float:
    """The least epsilon, at most `most`, whose error is within the limit, by a root in log epsilon."""

    def excess(log_epsilon: float) -> float:
        return error(replace(system, epsilon=math.exp(log_epsilon))) - error_limit

    low, high = math.log(min(_LEAST_EPSILON, greatest_epsilon)), math.log(greatest_epsilon)
    if excess(low) <= 0:
        return math.exp(low)
    x = float(optimize.brentq(excess, low, high, xtol=_NEAR))
    while excess(x) > 0:
        x = min(x + 4 * _NEAR, high)
    return math.exp(x)


def _nearest(system: FederatedSystem, wanted: FederatedRequirements) -> str:
    """For each constraint the nearest feasible limit with the others unchanged, for the message."""
    limits = []
    options = [replace(system, shared_bits=d) for d in _feasible_bits(system, wanted)]
    epsilon_limit = _GREATEST_EPSILON if wanted.epsilon_at_most is None else wanted.epsilon_at_most
    if wanted.error_at_most is not None and options:
        epsilon = epsilon_limit if Free.EPSILON in wanted.free else system.epsilon
        limits.append(
            f"error_at_most = {min(error(replace(option, epsilon=epsilon)) for option in options) * (1 + 1e-6):.6g}"
        )
        if wanted.epsilon_at_most is not None:
            without_epsilon_limit = replace(wanted, epsilon_at_most=None, minimise=Goal.EPSILON)
            epsilons = [
                option.epsilon
                for d in _feasible_bits(system, wanted)
                if (option := _with_bits(system, without_epsilon_limit, d)) is not None
            ]
            limits += [f"epsilon_at_most = {min(epsilons) * (1 + 1e-6):.6g}"] if epsilons else []
    if wanted.bits_at_most is not None:
        free = replace(wanted, bits_at_most=None)
        bit_counts = [
            bits_of(option) for d in _feasible_bits(system, free) if (option := _with_bits(system, free, d)) is not None
        ]
        limits += [f"bits_at_most = {min(bit_counts)}"] if bit_counts else []
    return ", ".join(limits) or "none"
