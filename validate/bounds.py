"""Every bound of a described system, as one plain tree of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from analytics.distributions import selection as selected_lowest
from analytics.guarantee import Adjacency
from analytics.inference import accuracy, distortion, participation, uncertainty
from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification, feature_aware
from analytics.privacy.amplification import TheoremForm
from solvers import weights
from solvers.solution import InfeasibleError, Solution
from validate.config import Description, Scores, Task


def bounds(description: Description) -> dict[str, Any]:
    """Published, proven and exact values; the ``bounds`` JSON, with floats for infinity."""
    tree: dict[str, Any] = {"inference": inference(description.inference, description.task)}
    if description.scores is not None:
        tree["inference"]["selection"] = selection(description.inference, description.scores)
    if description.variants:
        tree["inference"]["variants"] = {
            name: inference(system, fitting(description.task, system)) for name, system in description.variants.items()
        }
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
        score_epsilon = uncertainty.epsilon(system.delta, sensitivity=scores.sensitivity, noise=noise)
        proven = {
            "scheme_2_1": feature_aware.proven_threshold(system, **common, eta=scores.threshold),
            "scheme_2_2": feature_aware.proven_lowest(system, **common, selected=selected),
        }
        for scheme, p in (("scheme_2_1", local), ("scheme_2_2", lowest)):
            lemma = feature_aware.published(
                system, probability=p, score_epsilon=score_epsilon, score_delta=system.delta, form=TheoremForm.EQ23
            )
            tree[scheme]["privacy"] = {
                "adjacency": system.adjacency.value,
                "published": {"epsilon": lemma.epsilon.tolist(), "delta": lemma.delta.tolist()},
                "proven": {"epsilon": proven[scheme].epsilon.tolist(), "delta": proven[scheme].delta.tolist()},
            }
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


def plain(tree: Any) -> Any:
    """The tree with infinities and nan as strings, ready for strict JSON."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    if isinstance(tree, float) and not np.isfinite(tree):
        return str(tree)
    return tree
