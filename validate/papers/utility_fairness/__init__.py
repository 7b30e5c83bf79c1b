"""papers/utility-fairness (UF), in the order of the paper; each module lists the builders of its claims in CLAIMS."""

from validate.papers.utility_fairness import (
    composition,
    device,
    energy,
    experiments,
    fairness,
    iterations,
    learning,
    optimum,
    privacy,
)

CLAIMS = (
    *learning.CLAIMS,
    *privacy.CLAIMS,
    *composition.CLAIMS,
    *iterations.CLAIMS,
    *device.CLAIMS,
    *fairness.CLAIMS,
    *energy.CLAIMS,
    *optimum.CLAIMS,
    *experiments.CLAIMS,
)
