"""Every bound of a described system, as one plain tree of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from analytics.inference.system import InferenceSystem
from analytics.privacy import amplification
from analytics.privacy.amplification import TheoremForm
from validate.config import Description


def bounds(description: Description) -> dict[str, Any]:
    """Published, proven and exact values; the ``bounds`` JSON, with floats for infinity."""
    tree: dict[str, Any] = {"inference": inference(description.inference)}
    if description.variants:
        tree["inference"]["variants"] = {name: inference(system) for name, system in description.variants.items()}
    return tree


def inference(system: InferenceSystem) -> dict[str, Any]:
    """The part that speaks of one inference system."""
    return {"privacy": privacy(system)}


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
