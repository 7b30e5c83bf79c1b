"""airtight: bounds, exact values and machine-checked theorems for private wireless learning.

The public face: value types and verbs, each loaded when it is first used. ``python -m airtight`` is the command.

Examples
--------
>>> import airtight
>>> system = airtight.InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
>>> float(airtight.epsilon(system)[0])
12.00489...
>>> airtight.claims()["FDP-T1"].expected.value
'false'
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

if not Path(__file__).with_name("analytics").is_dir():  # a clone without symbolic links: the floors stand beside this folder
    __path__.append(str(Path(__file__).parents[1]))

from airtight.analytics import extras

extras.name_missing()
# What is loaded when it is first used, by the module that defines it; the stub `__init__.pyi` is made from this table:
# python -m airtight.public_names
HOMES = {
    "analytics.checks": ("AirtightError", "ParameterError", "ConvergenceError"),
    "analytics.extras": ("MissingExtraError",),
    "analytics.federated.corbin.aggregation": ("aggregation",),
    "analytics.federated.corbin.quantizers": ("pair_law", "pair_mse"),
    "analytics.federated.fair.iteration_bounds": ("iterations",),
    "analytics.federated.fair.device": ("DeviceFleet",),
    "analytics.federated.fair.fairness": ("utility_fair",),
    "analytics.federated.corbin.federated_system": ("FederatedSystem",),
    "analytics.forms.domain": ("Range", "parameter"),
    "analytics.forms.quantity": ("Quantity",),
    "analytics.guarantee": ("Adjacency", "Face", "Observer"),
    "analytics.inference.channel": ("Channel",),
    "analytics.inference.features": ("Features",),
    "analytics.inference.system": ("InferenceSystem",),
    "analytics.limits.minimax": ("Limit",),
    "analytics.privacy.matrix_mechanism": ("matrix_gaussian",),
    "analytics.privacy.accounting.privacy_curve": (
        "PrivacyCurve",
        "compose",
        "gaussian",
        "laplace",
        "randomized_response",
        "approximate",
        "discrete_gaussian",
        "discrete_laplace",
        "discrete_pair",
        "dp_sgd",
        "from_renyi",
        "mixture_gaussian",
        "subsampled",
    ),
    "analytics.privacy.over_the_air.meter": ("Meter", "OverspentError", "Round"),
    "analytics.privacy.over_the_air.scenarios": ("epsilon_over_scenarios",),
    "analytics.privacy.over_the_air.uncertain_noise": ("epsilon_over_noise",),
    "solvers.design.antenna_price": ("antenna_price",),
    "solvers.design.colluder_price": ("colluder_price",),
    "solvers.design.curve_family": ("calibrate_curve",),
    "solvers.design.round_budget": ("budget_problem", "spread_budget"),
    "solvers.errors": ("InfeasibleError", "NotSettledError"),
    "solvers.quantities": ("quantities",),
    "validate.claims.claim": (
        "Claim",
        "Implementation",
        "Item",
        "Paper",
        "Reference",
        "Ruling",
        "definition",
        "holds",
        "holds_under",
        "false",
        "ill_defined",
        "not_reproducible",
        "other_reading",
        "undecidable",
    ),
    "validate.claims.proofs": ("proofs_beside",),
    "loading": ("load",),
    "system_file.contents": ("SystemFile",),
    "validate.claims.relation": ("Relation", "at_most", "at_least", "equal", "absolute", "relative_to"),
    "validate.experiments.figures.figure": ("Effort", "Redrawn"),
    "verbs": (
        "accuracy",
        "attack",
        "attack_training",
        "baseline",
        "best_gain",
        "bounds",
        "calibrate",
        "claims",
        "curve",
        "delta",
        "design",
        "design_problem",
        "energy_floor",
        "energy_policy",
        "energy_problem",
        "epsilon",
        "epsilon_over_rounds",
        "group_epsilon",
        "frontier",
        "map_claim",
        "minimax_error",
        "mse",
        "open_sweep",
        "papers",
        "participation",
        "prove",
        "proven",
        "published",
        "sensitivities",
        "solve_energy",
        "solve_weights",
        "style",
        "sweep",
        "theorem1_region",
        "train",
        "try_claims",
        "verify",
        "weight_problem",
    ),
}
__all__ = sorted(name for names in HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("airtight-dp")
    for module, names in HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"airtight.{module}"), name)
    raise AttributeError(f"module 'airtight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
