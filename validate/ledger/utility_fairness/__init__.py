"""papers/utility-fairness (UF), in the order of the paper; each module lists the builders of its claims in CLAIMS."""

from validate.ledger.utility_fairness import device, energy, experiments, fairness, iterations, learning, privacy

CLAIMS = (
    *learning.CLAIMS,
    *privacy.CLAIMS,
    *iterations.CLAIMS,
    *device.CLAIMS,
    *fairness.CLAIMS,
    *energy.CLAIMS,
    *experiments.CLAIMS,
)
