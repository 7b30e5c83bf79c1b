"""Every bound of a described system, as one plain tree of numbers."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from analytics.distributions import selection as selected_lowest
from analytics.federated import communication, comparison, dropout, mean_estimation, quantizers
from analytics.federated.device import DeviceFleet
from analytics.federated.system import FederatedSystem
from analytics.guarantee import Adjacency
from analytics.inference import accuracy, distortion, participation
from analytics.inference.system import InferenceSystem
from analytics.privacy import aggregation, amplification, feature_aware
from analytics.privacy.aggregation import Client
from analytics.privacy.amplification import TheoremForm
from solvers import weights
from solvers.energy.utility import EnergySolution
from solvers.solution import InfeasibleError, Solution
from validate.description import Description, Scores, Task


def bounds(description: Description) -> dict[str, Any]:
    """Published, proven and exact values; the ``bounds`` JSON, with floats for infinity."""
    tree: dict[str, Any] = {}
    if description.inference is not None:
        tree["inference"] = inference(description.inference, description.task)
        if description.scores is not None:
            tree["inference"]["selection"] = selection(description.inference, description.scores)
        if description.variants:
            tree["inference"]["variants"] = {
                name: inference(system, fitting(description.task, system))
                for name, system in description.variants.items()
            }
    if description.federated is not None:
        tree["federated"] = federated(description.federated)
    if description.energy is not None:
        tree["energy"] = energy(description.energy)
    return tree


def fitting(task: Task | None, system: InferenceSystem) -> Task | None:
    """The task, if a variant still has its numbers of devices and dimensions."""
    if task is None or (system.devices, system.dimension) != (task.features.f.shape[0], task.features.D.shape[1]):
        return None
    return task


def inference(system: InferenceSystem, task: Task | None = None) -> dict[str, Any]:
    """The part that speaks of one inference system."""
    tree: dict[str, Any] = {"privacy": privacy(system)}
    if task is not None:
        tree["distortion"] = distorted(system, task)
        tree["accuracy"] = accurate(system, task, tree["distortion"])
    return tree


def distorted(system: InferenceSystem, task: Task) -> dict[str, Any]:
    """MSE: the printed bound, a proven one, the exact value and what it is made of."""
    parts = distortion.breakdown(system, task.features)
    return {
        "published": distortion.published(system, task.features),
        "proven": distortion.proven(system, task.features),
        "exact": parts.total,
        "breakdown": {
            name: getattr(parts, name) for name in ("bias", "participation", "local_noise", "receiver_noise")
        },
    }


def accurate(system: InferenceSystem, task: Task, mse: dict[str, Any]) -> dict[str, Any]:
    """Accuracy: Theorem 2 with the printed MSE, the short paper's, Markov's bound with the exact MSE, and the probability."""
    radius: dict[str, Any] = {"margin": task.margin, "ideal_accuracy": task.ideal_accuracy}
    exact = accuracy.exact(system, task.features, **radius)
    return {
        "published": float(accuracy.markov(mse["published"], **radius)),
        "short_paper": float(accuracy.short_paper(mse["published"], **radius)),
        "markov": float(accuracy.markov(mse["exact"], **radius)),
        "exact": exact.estimate,
        "interval": [exact.lower, exact.upper],
    }


def designed(system: InferenceSystem, task: Task) -> dict[str, Any]:
    """What uniform, published and exact weights reach under the task's privacy cap, or why nothing does."""
    cap = np.inf if task.epsilon_cap is None else task.epsilon_cap
    designs: dict[str, Any] = {"epsilon_cap": cap, "adjacency": system.adjacency.value}
    try:
        upper = weights.greatest_weights(system, cap)
        found = {
            "published": weights.solve(system, task.features, w_max=upper, objective="published"),
            "exact": weights.solve(system, task.features, w_max=upper),
        }
        if np.all(np.isfinite(upper)):
            found["free sum"] = weights.solve(system, task.features, w_max=upper, sums_to_one=False)
    except InfeasibleError as error:
        return {**designs, "infeasible": str(error)}
    rows = {}
    even = np.full(system.devices, 1 / system.devices)
    if np.all(even <= upper):
        rows["uniform"] = _achieved(replace(system, weight=even), task)
    for name, solution in found.items():
        rows[name] = {
            **_achieved(replace(system, weight=np.maximum(solution.w, 0.0)), task),
            "duality_gap": solution.certificate.duality_gap,
            "optimal": solution.is_optimal(),
        }
    return {**designs, "designs": rows}


def _achieved(system: InferenceSystem, task: Task) -> dict[str, Any]:
    inside = accuracy.exact(system, task.features, margin=task.margin, ideal_accuracy=task.ideal_accuracy)
    return {
        "exact_mse": distortion.exact(system, task.features),
        "published_mse": distortion.published(system, task.features),
        "accuracy": inside.estimate,
        "w": system.weight.tolist(),
    }


def solution(found: Solution) -> dict[str, Any]:
    """The JSON of ``solve weights``."""
    proof = found.certificate
    return {
        "w": found.w.tolist(),
        "objective": found.objective,
        "exact_mse": found.exact_mse,
        "published_mse": found.published_mse,
        "w_max": found.w_max.tolist(),
        "certificate": {
            "primal_residual": proof.primal_residual,
            "dual_residual": proof.dual_residual,
            "duality_gap": proof.duality_gap,
        },
        "method": found.method,
        "iterations": found.iterations,
        "seconds": found.seconds,
        "converged": found.converged,
        "optimal": found.is_optimal(),
    }


def selection(system: InferenceSystem, scores: Scores) -> dict[str, Any]:
    """Participation probabilities of Schemes 2.1 and 2.2, and the privacy of both when the score's sensitivity is given."""
    score, noise, selected = scores.score, scores.noise, scores.selected
    lower, upper = participation.proven_bounds(score, noise, selected)
    local = np.asarray(participation.threshold(score, noise, scores.threshold))
    lowest = selected_lowest.probability(score, noise, selected)
    tree: dict[str, Any] = {
        "scheme_2_1": {"participation": local.tolist()},
        "scheme_2_2": {
            "published_lower": participation.published_lower(score, noise),
            "published_upper": participation.published_upper(score, noise, selected).tolist(),
            "proven_lower": lower.tolist(),
            "proven_upper": upper.tolist(),
            "exact": lowest.tolist(),
        },
    }
    if scores.sensitivity is not None and system.adjacency is not Adjacency.ABSENT:
        common: dict[str, Any] = {"noise": noise, "sensitivity": scores.sensitivity}
        score_epsilon = feature_aware.score_epsilon(system.delta, sensitivity=scores.sensitivity, noise=noise)
        proven = {"scheme_2_2": feature_aware.proven_lowest(system, **common, selected=selected)}
        if scores.greatest is not None:
            proven["scheme_2_1"] = feature_aware.proven_threshold(
                system, **common, eta=scores.threshold, greatest_score=scores.greatest
            )
        for scheme, p in (("scheme_2_1", local), ("scheme_2_2", lowest)):
            lemma = feature_aware.published(
                system, probability=p, score_epsilon=score_epsilon, score_delta=system.delta, form=TheoremForm.EQ23
            )
            tree[scheme]["privacy"] = {
                "adjacency": system.adjacency.value,
                "published": {"epsilon": lemma.epsilon.tolist(), "delta": lemma.delta.tolist()},
            }
            if scheme in proven:
                found = proven[scheme]
                tree[scheme]["privacy"]["proven"] = {"epsilon": found.epsilon.tolist(), "delta": found.delta.tolist()}
    return tree


def privacy(system: InferenceSystem) -> dict[str, Any]:
    """epsilon and delta of every device: what Theorem 1 claims, what is proven, what is exact."""
    published = {}
    for form in TheoremForm:
        claim = amplification.published(system, form=form)
        published[form.value] = {
            "t": claim.t,
            "mean_noise": claim.mean_noise,
            "vacuous": claim.vacuous,
            "epsilon": claim.epsilon.tolist(),
            "delta": claim.delta.tolist(),
            "true_delta": np.asarray(amplification.exact_delta(system, claim.epsilon)).tolist(),
        }
    proven = amplification.proven(system)
    return {
        "adjacency": system.adjacency.value,
        "published": published,
        "proven": {"epsilon": proven.epsilon.tolist(), "delta": proven.delta.tolist()},
        "exact": {"epsilon": np.asarray(amplification.exact_epsilon(system)).tolist(), "delta": system.delta},
    }


def federated(system: FederatedSystem) -> dict[str, Any]:
    """What CorBin-FL costs and protects: errors in the worst case, central and local privacy, dropout, bits."""
    scale: dict[str, Any] = {"epsilon": system.epsilon, "radius": system.radius}
    share = system.ldp_fraction
    return {
        "alpha": float(quantizers.alpha(system.epsilon)),
        "clients_alone": system.alone,
        "mse": {
            "ldp": float(mean_estimation.worst_ldp(system.clients, **scale)),
            "corbin_published": float(mean_estimation.published(system.clients, **scale)),
            "corbin_worst": float(mean_estimation.worst(system.clients, **scale)),
            "corbin_worst_finite_bits": float(mean_estimation.worst(system.clients, bits=system.shared_bits, **scale)),
            "augmented_published": float(mean_estimation.published_augmented(system.clients, fraction=share, **scale)),
            "augmented_worst": float(mean_estimation.worst(system.clients, independent=share, **scale)),
            "augmented_worst_finite_bits": float(
                mean_estimation.worst(system.clients, bits=system.shared_bits, independent=share, **scale)
            ),
            "laplace": float(comparison.laplace_variance(**scale)) / system.clients,
            "gaussian": float(comparison.gaussian_variance(delta=system.delta, **scale)) / system.clients,
        },
        "central": central(system),
        "server": {
            "adjacency": Adjacency.REPLACE.value,
            "delta_one_parameter": float(aggregation.server_delta(0.0, local=system.epsilon)) if system.pairs else 0.0,
            "local_epsilon": system.epsilon,
            "epsilon_one_parameter": float("inf") if system.pairs else system.epsilon,
        },
        "dropout": dropped(system),
        "communication": {
            kind.__name__: {**asdict(cost), "total": cost.total}
            for kind in (communication.published, communication.stream, communication.seeded)
            for cost in [kind(system.clients, system.parameters, bits=system.shared_bits)]
        },
    }


def central(system: FederatedSystem) -> dict[str, Any]:
    """Central epsilon: Theorem 3's, and the exact one for clients of either kind; the guarantee is that of the worse."""
    claim = aggregation.published(
        system.clients,
        system.parameters,
        local_epsilon=system.epsilon,
        delta=system.delta,
        fraction=system.ldp_fraction,
        radius=system.radius,
    )
    kinds: dict[str, dict[str, float]] = {}
    for client, others, exists in (
        (Client.UNPAIRED, system.alone - 1, system.alone > 0),
        (Client.PAIRED, system.alone, system.pairs > 0),
    ):
        if exists:
            common: dict[str, Any] = {
                "epsilon": system.epsilon,
                "client": client,
                "bits": system.shared_bits,
                "delta": system.delta,
            }
            one = aggregation.update_epsilon(others, 1, **common)
            kinds[client.value] = {
                "one_parameter": one,
                "update": one
                if system.parameters == 1
                else aggregation.update_epsilon(others, system.parameters, **common),
            }
    return {
        "adjacency": Adjacency.REPLACE.value,
        "delta": system.delta,
        "published_epsilon": claim.epsilon if claim.condition else float("inf"),
        "published_condition": claim.condition,
        "published_value": claim.value,
        "removal_delta": aggregation.removal_delta(system.clients),
        "exact_epsilon_one_parameter": max(kind["one_parameter"] for kind in kinds.values()),
        "exact_epsilon_update": max(kind["update"] for kind in kinds.values()),
        "local_epsilon_update": float(aggregation.local_epsilon(system.epsilon, system.parameters)),
        "clients": kinds,
    }


def dropped(system: FederatedSystem) -> dict[str, Any]:
    """What dropout does: who is left, the error of the survivors' mean, their central epsilon."""
    n, p = system.clients, system.dropout
    common: dict[str, Any] = {
        "epsilon": system.epsilon,
        "delta": system.delta,
        "dropout": p,
        "independent": system.ldp_fraction,
        "bits": system.shared_bits,
    }
    return {
        "probability": p,
        "adjacency": Adjacency.REPLACE.value,
        "survivors": list(dropout.survivors(n, dropout=p, level=0.01)),
        "broken_pairs": list(dropout.broken_pairs(2 * system.pairs, dropout=p, level=0.01)) if system.pairs else [0, 0],
        "worst_mse": dropout.worst_mse(
            n, dropout=p, epsilon=system.epsilon, radius=system.radius, independent=system.ldp_fraction
        ),
        "central_epsilon_one_parameter": dropout.central_epsilon(n, 1, **common),
        "central_epsilon_update": dropout.central_epsilon(n, system.parameters, **common),
    }


def energy(fleet: DeviceFleet) -> list[dict[str, Any]]:
    """What each device's channel and deadline allow."""
    columns = {
        "gain": fleet.gain,
        "path_loss_factor": fleet.path_loss_factor,
        "min_power": fleet.min_power,
        "max_iterations": fleet.max_iterations,
        "least_deadline": fleet.least_deadline,
        "feasible": fleet.feasible,
    }
    return _rows(columns)


def energy_solution(found: EnergySolution, printed: EnergySolution) -> list[dict[str, Any]]:
    """The JSON of ``solve energy``: an object for each device."""
    names = ("iterations", "power", "rate", "transmit_time", "compute_time", "slack", "energy", "utility", "case")
    rows = _rows({name: getattr(found, name) for name in names})
    theorem = _rows({"iterations": printed.iterations, "power": printed.power, "utility": printed.utility})
    for row, gap, other, short in zip(rows, found.gap.tolist(), theorem, printed.gap.tolist(), strict=True):
        row["certificate"] = {"gap": gap}
        row["published"] = {**other, "gap": short}
    return rows


def _rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def plain(tree: Any) -> Any:
    """The tree with infinities and nan as strings, ready for strict JSON."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    if isinstance(tree, float) and not np.isfinite(tree):
        return str(tree)
    return tree
