"""How often the attack on federated training shows more than is true: whole audits, each with data, runs and noise of its own.

    python tests/adversarial/audits.py --audits 1000 gaussian

At confidence 1 - failure the lower bound may be above the true epsilon in a share `failure` of independent audits.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy import special
from support.common import two_classes

import airtight
from airtight.validate.attack import training
from airtight.validate.experiments.training.training_plan import Settings

RUNS = 200
SYSTEMS = {  # with the number of rounds; what a canary among Gaussian updates shows has exactly the curve that is stated
    "gaussian": (airtight.FederatedSystem(clients=5, parameters=1, epsilon=0.7, dropout=0.2, delta=0.1), 3),
    "ldp": (airtight.FederatedSystem(clients=3, parameters=1, epsilon=0.7, ldp_fraction=1.0, delta=0.1), 2),
}


@dataclass(frozen=True)
class Coverage:
    """What some audits have shown, as shares of the true epsilon."""

    exact: float
    canary: np.ndarray
    data: np.ndarray

    @property
    def above(self) -> int:
        """Audits that showed more than is true, in either way."""
        return int(np.sum(np.maximum(self.canary, self.data) > 1))

    def __str__(self) -> str:
        count = self.canary.size
        most = special.betaincinv(self.above + 1, count - self.above, 0.95) if self.above < count else 1.0
        low, middle, high = np.quantile(self.canary, (0.05, 0.5, 0.95))
        return (
            f"epsilon {self.exact:.3f}: above it in {self.above} of {count} audits (with 95 % confidence at most {most:.2%}); "
            f"shown with a canary {middle:.0%} of it in the middle, {low:.0%} to {high:.0%} in nine of ten, "
            f"at most {self.canary.max():.0%}; on data at most {self.data.max():.0%}"
        )


def coverage(mechanism: str, seeds: range, *, runs: int = RUNS, failure: float = 0.05) -> Coverage:
    """Of audits that have nothing in common but the system."""
    system, rounds = SYSTEMS[mechanism]
    found = []
    for seed in seeds:
        settings = Settings(hidden=(), local_steps=1, seed=seed)
        task = two_classes(np.random.default_rng([seed, 4]))
        found.append(
            training.attacked(
                system, mechanism, settings=settings, rounds=rounds, runs=runs, seed=seed, failure=failure, task=task
            )
        )
    (exact,) = {one.exact for one in found}
    return Coverage(
        exact, np.array([one.attack for one in found]) / exact, np.array([one.attack_on_data for one in found]) / exact
    )


def main() -> None:
    """Print what the audits of each mechanism show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mechanisms", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--failure", type=float, default=0.05)
    chosen = parser.parse_args()
    for mechanism in chosen.mechanisms:
        print(mechanism, coverage(mechanism, range(chosen.audits), failure=chosen.failure), flush=True)


if __name__ == "__main__":
    main()
