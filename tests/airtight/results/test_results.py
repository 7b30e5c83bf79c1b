"""The result types and their JSON: the keys of the contract in their order, infinity and nan as strings, absent parts absent."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from support.common import GOOD, TASK, archive, written

from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.inference.system import InferenceSystem
from airtight.results.bounds import Bounds
from airtight.results.energy import DeviceBounds, EnergyResult
from airtight.results.federated_results import FederatedBounds
from airtight.results.inference_results import InferenceBounds
from airtight.results.schema import as_json
from airtight.results.weights import Designs, WeightResult
from airtight.solvers import energy, weights
from airtight.system_file.config import load

PAIR = {"epsilon": 3, "delta": 3}
CLAIM = {"t": None, "mean_noise": None, "vacuous": None, "epsilon": 3, "delta": 3, "true_delta": 3, "hidden_delta": 3}
PRIVACY = {
    "adjacency": None,
    "observer": None,
    "published": {"theorem1": CLAIM, "eq23": CLAIM},
    "proven": PAIR,
    "exact": {"epsilon": 3, "delta": None},
    "observers": {"participants": 3, "others": 3, "signal": {"lower": 3, "epsilon": 3}},
}
DISTORTION = {
    "published": None,
    "proven": None,
    "exact": None,
    **dict.fromkeys(("constant_output", "beats_constant", "best_gain", "at_best_gain", "any_decoder")),
    "breakdown": dict.fromkeys(("bias", "participation", "local_noise", "receiver_noise")),
}
ACCURACY = {
    **dict.fromkeys(("published", "short_paper", "markov", "exact")),
    "interval": 2,
    **dict.fromkeys(("constant_output", "beats_constant")),
}
LOWEST = {"published_lower": None, "published_upper": 3, "proven_lower": 3, "proven_upper": 3, "exact": 3}
UPDATE = {"one_parameter": None, "update": None, "all_rounds": None}
BITS = dict.fromkeys(("model", "key_exchange", "shared_randomness", "update", "total"))
FEDERATED = {
    "alpha": None,
    "clients_alone": None,
    "mse": dict.fromkeys(
        (
            "ldp",
            "corbin_published",
            "corbin_worst",
            "corbin_worst_finite_bits",
            "augmented_published",
            "augmented_worst",
            "augmented_worst_finite_bits",
            "laplace",
            "gaussian",
        )
    ),
    "central": {
        "adjacency": None,
        "colluding": None,
        "delta": None,
        "published_epsilon": None,
        "published_condition": None,
        "published_value": None,
        "removal_delta": None,
        "proven_epsilon_update": None,
        "exact_epsilon_one_parameter": None,
        "exact_epsilon_update": None,
        "local_epsilon_update": None,
        "clients": {"unpaired": UPDATE, "paired": UPDATE},
        "rounds": None,
        "exact_epsilon_all_rounds": None,
        "local_epsilon_all_rounds": None,
    },
    "server": dict.fromkeys(("adjacency", "delta_one_parameter", "local_epsilon", "epsilon_one_parameter")),
    "dropout": {
        "probability": None,
        "adjacency": None,
        "survivors": 2,
        "broken_pairs": 2,
        "worst_mse": None,
        "central_epsilon_one_parameter": None,
        "central_epsilon_update": None,
        "central_epsilon_all_rounds": None,
    },
    "communication": {"published": BITS, "stream": BITS, "seeded": BITS},
}
DEVICE = dict.fromkeys(("gain", "path_loss_factor", "min_power", "max_iterations", "least_deadline", "feasible"))
PRICE = dict.fromkeys(("of", "by", "unit", "rising", "falling"))
CHOICE = {
    **dict.fromkeys(
        (
            "iterations",
            "power",
            "rate",
            "transmit_time",
            "compute_time",
            "slack",
            "energy",
            "utility",
            "case",
        )
    ),
    "certificate": {"gap": None},
    "published": dict.fromkeys(("iterations", "power", "utility", "gap")),
    "price": dict.fromkeys(("energy", "utility"), PRICE),
}
WEIGHTS = {
    "w": 3,
    "objective": None,
    "exact_mse": None,
    "published_mse": None,
    "w_max": 3,
    "certificate": dict.fromkeys(("primal_residual", "dual_residual", "duality_gap", "proved_gap")),
    **dict.fromkeys(("method", "iterations", "seconds", "converged", "optimal")),
}


WORST = {
    **dict.fromkeys(("error", "constant_output")),
    "energy": 3,
    "breakdown": dict.fromkeys(("bias", "participation", "local_noise", "receiver_noise")),
    "any_scheme": dict.fromkeys(("error", "ratio", "how")),
}
SAID = {"headline": 3, "never_send": 0}  # three sentences, and no device that never sends


def shape(tree):
    """Keys in their order, lists as their lengths, everything else as None."""
    if isinstance(tree, dict):
        return {key: shape(value) for key, value in tree.items()}
    return len(tree) if isinstance(tree, list) else None


def same(result, contract):
    """The tree survives strict JSON, has this shape and this order of keys."""
    tree = as_json(result)
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert json.dumps(shape(tree)) == json.dumps(contract)
    return tree


@pytest.fixture
def described(tmp_path):
    archive(tmp_path)
    return lambda text: load(written(tmp_path, text))


def test_a_system_alone(described):
    tree = same(Bounds.of(described(GOOD)), {**SAID, "inference": {**SAID, "privacy": PRIVACY, "worst_case": WORST}})
    assert tree["inference"]["privacy"]["published"]["theorem1"]["epsilon"] == ["inf"] * 3


def test_features_selection_and_variants(described):
    variants = "[inference.variants.wide]\ndimension = 5\n[inference.variants.silent]\nadjacency = 'silent'\n"
    full = {**SAID, "privacy": PRIVACY, "distortion": DISTORTION, "accuracy": ACCURACY}
    selection = {"scheme_2_1": {"participation": 3}, "scheme_2_2": LOWEST}
    wide = {**SAID, "privacy": PRIVACY, "worst_case": WORST}  # whose features do not fit
    contract = {**full, "selection": selection, "variants": {"wide": wide, "silent": full}}
    found = Bounds.of(described(GOOD + TASK + variants))
    tree = same(found, {"headline": 5, "never_send": 0, "inference": contract})["inference"]
    assert tree["distortion"]["exact"] == found.inference.distortion.exact
    assert tree["privacy"]["exact"]["epsilon"] == found.inference.privacy.exact.epsilon.tolist()
    assert tree["variants"]["silent"]["privacy"]["adjacency"] == "silent"
    assert list(found.inference.named("base")) == ["base", "wide", "silent"]


@pytest.mark.parametrize("greatest", ["", "greatest_score = 1.5\n"])
def test_privacy_of_selection(described, greatest):
    text = GOOD + 'adjacency = "replace"\n' + TASK + "score_sensitivity = 0.5\n" + greatest
    lemma = {"adjacency": None, "published": PAIR}
    proven = {**lemma, "proven": PAIR}
    same(
        Bounds.of(described(text)).inference.selection,
        {
            "scheme_2_1": {"participation": 3, "privacy": proven if greatest else lemma},
            "scheme_2_2": {**LOWEST, "privacy": proven},
        },
    )


@pytest.mark.parametrize("fraction, kinds", [(0.2, ["unpaired", "paired"]), (0.0, ["paired"]), (1.0, ["unpaired"])])
def test_federated(fraction, kinds):
    system = FederatedSystem(clients=20, parameters=10, epsilon=1.0, ldp_fraction=fraction)
    clients = dict.fromkeys(kinds, UPDATE)
    tree = same(FederatedBounds.of(system), {**FEDERATED, "central": {**FEDERATED["central"], "clients": clients}})
    assert tree["server"]["epsilon_one_parameter"] == ("inf" if "paired" in kinds else 1.0)


def test_a_federation_with_helpers():
    system = FederatedSystem(clients=100, parameters=1, epsilon=1.0, ldp_fraction=0.5, delta=1e-2)
    alone, helped = FederatedBounds.of(system), FederatedBounds.of(replace(system, colluding=1))
    assert list(helped.central.clients) == ["unpaired", "paired", "exposed"] and helped.server.local_epsilon == math.inf
    assert helped.central.local_epsilon_update == math.inf > alone.central.local_epsilon_update
    assert helped.mse == alone.mse and helped.central.published_value == alone.central.published_value
    for client, before in alone.central.clients.items():
        assert helped.central.clients[client].update > before.update
    assert helped.central.exact_epsilon_update >= helped.central.clients["exposed"].update > alone.central.exact_epsilon_update
    assert helped.dropout.central_epsilon_update == pytest.approx(helped.central.exact_epsilon_update)
    assert FederatedBounds.of(replace(system, shared_bits=0, colluding=1)).server.local_epsilon == 1.0


def test_energy():
    fleet = table_1(distance=[50.0, 200.0])
    found, printed = energy.solve(fleet), energy.solve(fleet, method="published")
    tree = as_json(DeviceBounds.of(fleet))
    assert [shape(row) for row in tree] == [DEVICE] * 2 and tree[1]["gain"] == fleet.gain[1]
    rows = EnergyResult.of(found, printed)
    for k, row in enumerate(rows):
        tree = same(row, CHOICE)
        assert tree["power"] == found.power[k] and tree["published"]["gap"] == printed.gap[k]
    rootless = replace(rows[0], published=replace(rows[0].published, utility=math.nan, gap=math.inf))
    assert as_json(rootless)["published"]["utility"] == "nan" and as_json(rootless)["published"]["gap"] == "inf"


def test_weights(described):
    description = described(GOOD + TASK)
    system, task = description.inference, description.task
    tree = same(WeightResult.of(weights.solve(system, task.features)), WEIGHTS)
    assert tree["w_max"] == ["inf"] * 3 and tree["optimal"] is True
    even = dict.fromkeys(("exact_mse", "published_mse", "accuracy")) | {"w": 3}
    solved = even | dict.fromkeys(("duality_gap", "optimal"))
    designs = {"constant output": even, "uniform": even, "published": solved, "exact": solved}
    free = same(
        Designs.of(system, replace(task, epsilon_cap=None)),
        {"epsilon_cap": None, "adjacency": None, "designs": designs},
    )
    assert free["epsilon_cap"] == "inf"
    same(
        Designs.of(system, replace(task, epsilon_cap=1e-9)),
        {"epsilon_cap": None, "adjacency": None, "infeasible": None},
    )


def test_infinity_is_a_string_and_the_json_is_strict():
    tree = as_json(
        {"a": (math.inf, -math.inf, math.nan, 1.5), "b": np.float64(2.0), "c": [None], "d": np.array([True])}
    )
    assert tree == {"a": ["inf", "-inf", "nan", 1.5], "b": 2.0, "c": [None], "d": [True]}
    json.dumps(tree, allow_nan=False)


@pytest.mark.parametrize(
    ("clip", "weight", "said"),
    [
        (200.0, 0.05, "USEFUL for any codes within the clips (error at most 25,610; a constant answer: 40,000)"),
        (1.0, 1e-7, "USEFUL for any codes within the clips (error at most 0.999999201; a constant answer: 1)"),
        (1.0, 2.0, "usefulness depends on the codes: add [inference.features] (worst codes: error at most "),
    ],
)
def test_the_worst_codes_beside_a_constant_answer(clip, weight, said):
    """The error is rounded up, never to that of the constant that it is below."""
    noise = 1e-18 if weight < 1e-6 else 1e-3
    system = InferenceSystem(
        devices=4, participation=1.0, noise_variance=noise, weight=weight, clip=clip, alignment=1.0, dimension=8,
        receiver_noise_variance=noise, delta=1e-5, adjacency="silent",
    )  # fmt: skip
    assert said in InferenceBounds.of(system).headline[0]


def test_an_estimate_of_one_round_is_said_first():
    system = InferenceSystem(
        devices=80, participation=0.5, noise_variance=0.1, weight=0.1, clip=1.0, alignment=1.0, dimension=8,
        receiver_noise_variance=0.1, delta=1e-5, adjacency="silent", observer="others",
    )  # fmt: skip
    assert "Epsilon is an estimate here" in InferenceBounds.of(system).headline[1]
    assert "estimate" not in InferenceBounds.of(system.replace(dimension=784)).headline[1]
