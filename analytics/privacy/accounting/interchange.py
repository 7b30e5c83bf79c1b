"""Doors to other accountants: privacy loss distributions of ``dp_accounting``, in and out."""

from __future__ import annotations

from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting.loss_distribution import LossDistribution
from airtight.analytics.privacy.mechanisms.mechanism import Tabulated


def distribution(law: LossDistribution, pessimistic: bool) -> Any:
    """A ``PrivacyLossDistribution`` of one order, taken for both: compose it, and compare it with that of the other order."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    mass = pld_pmf.DensePLDPmf(law.step, law.first, law.mass, law.infinite, pessimistic)
    return privacy_loss_distribution.PrivacyLossDistribution(mass)


def tabulated(pld: Any, optimistic: bool, unit: str) -> Tabulated:
    """A release from the laws that a ``PrivacyLossDistribution`` holds."""
    both = [pld._pmf_remove, pld._pmf_add]
    pessimistic = bool(both[0]._pessimistic_estimate)
    if not pessimistic and not optimistic:
        raise ParameterError("pld", "an optimistic one", "pessimistic, or asked for with optimistic=True")
    laws = [_law(each) for each in both]
    step = float(both[0]._discretization)
    return Tabulated(
        step,
        (laws[0][0], laws[1][0]),
        (tuple(laws[0][1].tolist()), tuple(laws[1][1].tolist())),
        (float(both[0]._infinity_mass), float(both[1]._infinity_mass)),
        pessimistic,
        unit,
    )


def _law(pmf: Any) -> tuple[int, FloatArray]:
    dense = pmf.to_dense_pmf()
    return int(dense._lower_loss), np.asarray(dense._probs, dtype=np.float64)
