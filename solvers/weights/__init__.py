"""The weight problem: aggregation weights of least MSE under a privacy cap (FDP Lemma 5, App. C)."""

from airtight.solvers.weights.caps import Cap
from airtight.solvers.weights.weight_problem import (
    Method,
    Objective,
    greatest_weights,
    least_feasible_epsilon,
    program,
    solve,
)

__all__ = [
    "Cap",
    "Method",
    "Objective",
    "greatest_weights",
    "least_feasible_epsilon",
    "program",
    "solve",
]
