"""Results of ``solve quantizer``: the best quantizer of a number of bits for one epsilon."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.corbin.quantizers import alpha
from airtight.analytics.federated.corbin.two_output_bounds import minimax_mse
from airtight.analytics.guarantee import Face
from airtight.analytics.tidy import Entry
from airtight.results.result import Result
from airtight.solvers.design.quantizer import quantizer_bound, quantizer_design, quantizer_pair
from airtight.solvers.design.quantizer.quantizer_bound import BitsBound
from airtight.solvers.design.quantizer.quantizer_design import Solution
from airtight.solvers.design.quantizer.quantizer_pair import PairQuantizer


@dataclass(frozen=True, kw_only=True)
class QuantizerResult(Result):
    """A quantizer for one client, in the units of the parameter.

    Attributes
    ----------
    bits : int
    epsilon : float
        Exact epsilon of one parameter for an observer of one uplink; at most the requested one.
    inputs, outputs : ndarray
        Between two inputs the law is linear.
    law : ndarray, shape (inputs, outputs)
    worst_mse, mean_mse : float
        Error of one client: an upper bound over all inputs, and the mean over uniform inputs.
    lower_bound, gap : float
        Lower bound of the worst MSE of every unbiased quantizer with this epsilon, and the distance to it.
    ldp_mse : float
        Error of LDP-FL, with one bit.
    bias : float
    proved : bool
        Whether the certificate of the bound holds in exact arithmetic; one bit rests on Proposition 1 of CB.
    bits_bound : float or None
        Lower bound of the worst MSE of every unbiased quantizer with this epsilon and number of bits; None where it was not
        requested, or no bound above `lower_bound` was proved.
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

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        return _tidy(self)

    @classmethod
    def of(cls, solution: Solution, system: FederatedSystem, knowing: BitsBound | None = None) -> QuantizerResult:
        """The solution scaled to the center and radius of a system; `knowing` is a bound for its number of bits."""
        unit_quantizer, r = solution.quantizer, system.radius
        return cls(
            bits=solution.bits,
            epsilon=solution.epsilon,
            inputs=system.center + r * unit_quantizer.inputs,
            outputs=system.center + r * unit_quantizer.outputs,
            law=unit_quantizer.law,
            worst_mse=solution.worst_variance * r**2,
            mean_mse=_mean(unit_quantizer.inputs, unit_quantizer.law @ unit_quantizer.outputs**2) * r**2,
            lower_bound=solution.lower_bound * r**2,
            gap=solution.gap * r**2,
            ldp_mse=float(alpha(system.epsilon)) ** 2 * r**2,
            bias=solution.bias * r,
            proved=solution.certificate is None or solution.certificate.valid(),
            bits_bound=float(knowing.value) * (1 - 1e-15) * r**2 if knowing is not None and knowing.valid() else None,
        )


@dataclass(frozen=True, kw_only=True)
class PairResult(Result):
    """A quantizer for two clients with common randomness, in the units of the parameter.

    Attributes
    ----------
    bits : int
    epsilon : float
        Exact epsilon of one parameter for an observer of one uplink; for the server, which sees both, it is infinite.
    inputs, outputs : ndarray
        Between two inputs the law is linear.
    law : ndarray, shape (inputs, outputs)
    worst_mse, mean_mse : float
        Error of the sum of both outputs: an upper bound over all inputs, and the mean over uniform inputs.
    one_bit_mse : float
        Worst-case error with one bit for each client: CorBinQ with all its randomness shared.
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

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        return _tidy(self)

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


def _tidy(result: QuantizerResult | PairResult) -> dict[str, object]:
    """The numbers of the table; points and probabilities are numbered in their names."""
    epsilon = Entry(value=result.epsilon, face=Face.EXACT, observer="uplink", rounds=1)
    arrays = {name: dict(enumerate(getattr(result, name).tolist())) for name in ("inputs", "outputs")}
    law = {i: dict(enumerate(row)) for i, row in enumerate(result.law.tolist())}
    numbers = {field.name: getattr(result, field.name) for field in fields(result)}
    return {**numbers, **arrays, "law": law, "epsilon": epsilon}


def alone(bits: int, system: FederatedSystem, *, prove: bool = False) -> QuantizerResult:
    """The best quantizer for one client, on request with the bound for its number of bits."""
    solution = quantizer_design.solve(bits, epsilon=system.epsilon)
    if not prove:
        return QuantizerResult.of(solution, system)
    low, high = solution.lower_bound, solution.worst_variance
    return QuantizerResult.of(solution, system, quantizer_bound.best(bits, epsilon=system.epsilon, low=low, high=high))


def paired(bits: int, system: FederatedSystem) -> PairResult:
    """The best quantizer for two clients with common randomness."""
    return PairResult.of(quantizer_pair.solve(bits, epsilon=system.epsilon), bits, system)


def _mean(inputs: FloatArray, second: FloatArray) -> float:
    """Mean error over uniform inputs: E y^2 is linear between the inputs, and w^2 has mean 1/3."""
    return float(np.sum(np.diff(inputs) * (second[:-1] + second[1:]) / 2) / 2 - 1 / 3)
