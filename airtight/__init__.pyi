# Made by python -m airtight.public_names from the table HOMES of __init__.py.

from airtight.analytics.checks import AirtightError as AirtightError
from airtight.analytics.checks import ConvergenceError as ConvergenceError
from airtight.analytics.checks import ParameterError as ParameterError
from airtight.analytics.extras import MissingExtraError as MissingExtraError
from airtight.analytics.federated.corbin.aggregation import aggregation as aggregation
from airtight.analytics.federated.corbin.federated_system import FederatedSystem as FederatedSystem
from airtight.analytics.federated.corbin.quantizers import pair_law as pair_law
from airtight.analytics.federated.corbin.quantizers import pair_mse as pair_mse
from airtight.analytics.federated.fair.device import DeviceFleet as DeviceFleet
from airtight.analytics.federated.fair.fairness import utility_fair as utility_fair
from airtight.analytics.federated.fair.iteration_bounds import iterations as iterations
from airtight.analytics.forms.domain import Range as Range
from airtight.analytics.forms.domain import parameter as parameter
from airtight.analytics.forms.quantity import Quantity as Quantity
from airtight.analytics.guarantee import Adjacency as Adjacency
from airtight.analytics.guarantee import Face as Face
from airtight.analytics.guarantee import Observer as Observer
from airtight.analytics.inference.channel import Channel as Channel
from airtight.analytics.inference.features import Features as Features
from airtight.analytics.inference.system import InferenceSystem as InferenceSystem
from airtight.analytics.limits.minimax import Limit as Limit
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve as PrivacyCurve
from airtight.analytics.privacy.accounting.privacy_curve import approximate as approximate
from airtight.analytics.privacy.accounting.privacy_curve import compose as compose
from airtight.analytics.privacy.accounting.privacy_curve import discrete_gaussian as discrete_gaussian
from airtight.analytics.privacy.accounting.privacy_curve import discrete_laplace as discrete_laplace
from airtight.analytics.privacy.accounting.privacy_curve import discrete_pair as discrete_pair
from airtight.analytics.privacy.accounting.privacy_curve import dp_sgd as dp_sgd
from airtight.analytics.privacy.accounting.privacy_curve import from_renyi as from_renyi
from airtight.analytics.privacy.accounting.privacy_curve import gaussian as gaussian
from airtight.analytics.privacy.accounting.privacy_curve import laplace as laplace
from airtight.analytics.privacy.accounting.privacy_curve import mixture_gaussian as mixture_gaussian
from airtight.analytics.privacy.accounting.privacy_curve import randomized_response as randomized_response
from airtight.analytics.privacy.accounting.privacy_curve import subsampled as subsampled
from airtight.analytics.privacy.matrix_mechanism import matrix_gaussian as matrix_gaussian
from airtight.analytics.privacy.over_the_air.meter import Meter as Meter
from airtight.analytics.privacy.over_the_air.meter import OverspentError as OverspentError
from airtight.analytics.privacy.over_the_air.meter import Round as Round
from airtight.analytics.privacy.over_the_air.scenarios import epsilon_over_scenarios as epsilon_over_scenarios
from airtight.analytics.privacy.over_the_air.uncertain_noise import epsilon_over_noise as epsilon_over_noise
from airtight.loading import load as load
from airtight.solvers.design.antenna_price import antenna_price as antenna_price
from airtight.solvers.design.colluder_price import colluder_price as colluder_price
from airtight.solvers.design.curve_family import calibrate_curve as calibrate_curve
from airtight.solvers.design.round_budget import budget_problem as budget_problem
from airtight.solvers.design.round_budget import spread_budget as spread_budget
from airtight.solvers.errors import InfeasibleError as InfeasibleError
from airtight.solvers.errors import NotSettledError as NotSettledError
from airtight.solvers.quantities import quantities as quantities
from airtight.system_file.contents import SystemFile as SystemFile
from airtight.validate.claims.claim import Claim as Claim
from airtight.validate.claims.claim import Implementation as Implementation
from airtight.validate.claims.claim import Item as Item
from airtight.validate.claims.claim import Paper as Paper
from airtight.validate.claims.claim import Reference as Reference
from airtight.validate.claims.claim import Ruling as Ruling
from airtight.validate.claims.claim import definition as definition
from airtight.validate.claims.claim import false as false
from airtight.validate.claims.claim import holds as holds
from airtight.validate.claims.claim import holds_under as holds_under
from airtight.validate.claims.claim import ill_defined as ill_defined
from airtight.validate.claims.claim import not_reproducible as not_reproducible
from airtight.validate.claims.claim import other_reading as other_reading
from airtight.validate.claims.claim import undecidable as undecidable
from airtight.validate.claims.proofs import proofs_beside as proofs_beside
from airtight.validate.claims.relation import Relation as Relation
from airtight.validate.claims.relation import absolute as absolute
from airtight.validate.claims.relation import at_least as at_least
from airtight.validate.claims.relation import at_most as at_most
from airtight.validate.claims.relation import equal as equal
from airtight.validate.claims.relation import relative_to as relative_to
from airtight.validate.experiments.figures.figure import Effort as Effort
from airtight.validate.experiments.figures.figure import Redrawn as Redrawn
from airtight.verbs import accuracy as accuracy
from airtight.verbs import attack as attack
from airtight.verbs import attack_training as attack_training
from airtight.verbs import baseline as baseline
from airtight.verbs import best_gain as best_gain
from airtight.verbs import bounds as bounds
from airtight.verbs import calibrate as calibrate
from airtight.verbs import claims as claims
from airtight.verbs import curve as curve
from airtight.verbs import delta as delta
from airtight.verbs import design as design
from airtight.verbs import design_problem as design_problem
from airtight.verbs import energy_floor as energy_floor
from airtight.verbs import energy_policy as energy_policy
from airtight.verbs import energy_problem as energy_problem
from airtight.verbs import epsilon as epsilon
from airtight.verbs import epsilon_over_rounds as epsilon_over_rounds
from airtight.verbs import frontier as frontier
from airtight.verbs import group_epsilon as group_epsilon
from airtight.verbs import map_claim as map_claim
from airtight.verbs import minimax_error as minimax_error
from airtight.verbs import mse as mse
from airtight.verbs import open_sweep as open_sweep
from airtight.verbs import papers as papers
from airtight.verbs import participation as participation
from airtight.verbs import prove as prove
from airtight.verbs import proven as proven
from airtight.verbs import published as published
from airtight.verbs import sensitivities as sensitivities
from airtight.verbs import solve_energy as solve_energy
from airtight.verbs import solve_weights as solve_weights
from airtight.verbs import style as style
from airtight.verbs import sweep as sweep
from airtight.verbs import theorem1_region as theorem1_region
from airtight.verbs import train as train
from airtight.verbs import try_claims as try_claims
from airtight.verbs import verify as verify
from airtight.verbs import weight_problem as weight_problem

__all__ = [
    "Adjacency",
    "AirtightError",
    "Channel",
    "Claim",
    "ConvergenceError",
    "DeviceFleet",
    "Effort",
    "Face",
    "Features",
    "FederatedSystem",
    "Implementation",
    "InfeasibleError",
    "InferenceSystem",
    "Item",
    "Limit",
    "Meter",
    "MissingExtraError",
    "NotSettledError",
    "Observer",
    "OverspentError",
    "Paper",
    "ParameterError",
    "PrivacyCurve",
    "Quantity",
    "Range",
    "Redrawn",
    "Reference",
    "Relation",
    "Round",
    "Ruling",
    "SystemFile",
    "absolute",
    "accuracy",
    "aggregation",
    "antenna_price",
    "approximate",
    "at_least",
    "at_most",
    "attack",
    "attack_training",
    "baseline",
    "best_gain",
    "bounds",
    "budget_problem",
    "calibrate",
    "calibrate_curve",
    "claims",
    "colluder_price",
    "compose",
    "curve",
    "definition",
    "delta",
    "design",
    "design_problem",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_pair",
    "dp_sgd",
    "energy_floor",
    "energy_policy",
    "energy_problem",
    "epsilon",
    "epsilon_over_noise",
    "epsilon_over_rounds",
    "epsilon_over_scenarios",
    "equal",
    "false",
    "from_renyi",
    "frontier",
    "gaussian",
    "group_epsilon",
    "holds",
    "holds_under",
    "ill_defined",
    "iterations",
    "laplace",
    "load",
    "map_claim",
    "matrix_gaussian",
    "minimax_error",
    "mixture_gaussian",
    "mse",
    "not_reproducible",
    "open_sweep",
    "other_reading",
    "pair_law",
    "pair_mse",
    "papers",
    "parameter",
    "participation",
    "proofs_beside",
    "prove",
    "proven",
    "published",
    "quantities",
    "randomized_response",
    "relative_to",
    "sensitivities",
    "solve_energy",
    "solve_weights",
    "spread_budget",
    "style",
    "subsampled",
    "sweep",
    "theorem1_region",
    "train",
    "try_claims",
    "undecidable",
    "utility_fair",
    "verify",
    "weight_problem",
]
HOMES: dict[str, tuple[str, ...]]
__version__: str
