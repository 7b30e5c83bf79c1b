"""The energy-utility problem: how many iterations, at which power, serve a device best (UF Lemma 1, App. D)."""

from airtight.solvers.energy.utility import EnergySolution, Method, solve

__all__ = ["EnergySolution", "Method", "solve"]
