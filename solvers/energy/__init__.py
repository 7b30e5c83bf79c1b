"""The energy-utility problem: the number of iterations and the power of greatest utility (UF Lemma 1, App. D)."""

from airtight.solvers.energy.utility import EnergySolution, Method, solve

__all__ = ["EnergySolution", "Method", "solve"]
