"""The best quantizer of so many bits for one epsilon: the answer of ``solve quantizer``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin.alphabets import minimax_mse
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.corbin.quantizers import alpha
from airtight.solvers.design.quantizer import quantizer_bits, quantizer_design, quantizer_pair
from airtight.solvers.design.quantizer.quantizer_bits import BitsBound
from airtight.solvers.design.quantizer.quantizer_design import Solution
from airtight.solvers.design.quantizer.quantizer_pair import PairQuantizer


@dataclass(frozen=True, kw_only=True)
class QuantizerResult:
    """A law that a client can run, in the units of the parameter.

    Attributes
    ----------
    bits : int
    epsilon : float
        Exact, of one parameter against one uplink; at most what was asked for.
    inputs, outputs : ndarray
        Between two inputs the law is linear.
    law : ndarray, shape (inputs, outputs)
    worst_mse, mean_mse : float
        Of one client: over all inputs, from above; over uniform ones.
    lower_bound, gap : float
        No unbiased quantizer with this epsilon has a smaller worst MSE, whatever its alphabet; how far this one is from it.
    ldp_mse : float
        Of one bit, LDP-FL.
    bias : float
    proved : bool
        Whether the certificate of the bound holds in exact arithmetic; one bit rests on Proposition 1 of CB.
    bits_bound : float or None
        No unbiased quantizer with this epsilon and so many bits has a smaller worst MSE; None where it was not asked for, or
        nothing above `lower_bound` was proved.
    """

    bits: int
    epsilon: float
    inputs: FloatArray
    outputs: FloatArray
    law: FloatArray
    worst_mse: float
    mean_mse: float
    lower_bound: float
    gap: float
    ldp_mse: float
    bias: float
    proved: bool
    bits_bound: float | None = None

    @classmethod
    def of(cls, solution: Solution, system: FederatedSystem, knowing: BitsBound | None = None) -> QuantizerResult:
        """In the center and radius of a system."""
        found, r = solution.quantizer, system.radius
        return cls(
            bits=solution.bits,
            epsilon=solution.epsilon,
            inputs=system.center + r * found.inputs,
            outputs=system.center + r * found.outputs,
            law=found.law,
            worst_mse=solution.worst_variance * r**2,
            mean_mse=_mean(found.inputs, found.law @ found.outputs**2) * r**2,
            lower_bound=solution.lower_bound * r**2,
            gap=solution.gap * r**2,
            ldp_mse=float(alpha(system.epsilon)) ** 2 * r**2,
            bias=solution.bias * r,
            proved=solution.certificate is None or solution.certificate.valid(),
            bits_bound=float(knowing.value) * (1 - 1e-15) * r**2 if knowing is not None and knowing.valid() else None,
        )


@dataclass(frozen=True, kw_only=True)
class PairResult:
    """A law that two clients with common randomness can run, in the units of the parameter.

    Attributes
    ----------
    bits : int
    epsilon : float
        Exact, of one parameter against one uplink; against the server, which sees both, there is none.
    inputs, outputs : ndarray
        Between two inputs the law is linear.
    law : ndarray, shape (inputs, outputs)
    worst_mse, mean_mse : float
        Of the sum of both outputs: over all inputs, from above; over uniform ones.
    one_bit_mse : float
        Worst, of one bit each: CorBinQ with all its randomness shared.
    bias : float
    """

    bits: int
    epsilon: float
    inputs: FloatArray
    outputs: FloatArray
    law: FloatArray
    worst_mse: float
    mean_mse: float
    one_bit_mse: float
    bias: float

    @classmethod
    def of(cls, found: PairQuantizer, bits: int, system: FederatedSystem) -> PairResult:
        """In the center and radius of a system."""
        r = system.radius
        return cls(
            bits=bits,
            epsilon=found.epsilon,
            inputs=system.center + r * found.inputs,
            outputs=system.center + r * found.outputs,
            law=found.law,
            worst_mse=found.worst_mse * r**2,
            mean_mse=found.mean_mse * r**2,
            one_bit_mse=float(minimax_mse(epsilon=system.epsilon, radius=r)),
            bias=found.bias * r,
        )


def alone(bits: int, system: FederatedSystem, *, prove: bool = False) -> QuantizerResult:
    """For one client; with a bound for so many bits when it is asked for."""
    solution = quantizer_design.solve(bits, epsilon=system.epsilon)
    if not prove:
        return QuantizerResult.of(solution, system)
    low, high = solution.lower_bound, solution.worst_variance
    return QuantizerResult.of(solution, system, quantizer_bits.best(bits, epsilon=system.epsilon, low=low, high=high))


def paired(bits: int, system: FederatedSystem) -> PairResult:
    """For two clients with common randomness."""
    return PairResult.of(quantizer_pair.solve(bits, epsilon=system.epsilon), bits, system)


def _mean(inputs: FloatArray, second: FloatArray) -> float:
    """Over uniform inputs: E y^2 is linear between them, and w^2 has mean 1/3."""
    return float(np.sum(np.diff(inputs) * (second[:-1] + second[1:]) / 2) / 2 - 1 / 3)
