"""Errors planted in what is computed: ``airtight verify`` notices each of them by itself.

That nothing is noticed where nothing is planted is what `test_papers.py` says of every row.
"""

import functools
import inspect
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from airtight.analytics.distributions import selection, weighted_sum
from airtight.analytics.federated.corbin import (
    aggregation,
    antithetic,
    central_privacy,
    communication,
    dropout,
    dropout_survivors,
    quantizers,
)
from airtight.analytics.federated.fair import fairness, iteration_bounds
from airtight.analytics.federated.few_bits import baselines, quantizer_laws
from airtight.analytics.inference import accuracy, decoding, distortion, power_limit, transmission
from airtight.analytics.privacy.accounting import composition_theorems
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import laplace
from airtight.analytics.privacy.over_the_air import concentration, feature_aware, rounds
from airtight.analytics.privacy.over_the_air.participation_mixture import build
from airtight.solvers.design.federated import federated_design
from airtight.solvers.energy import exact, proved_gap, utility
from airtight.solvers.energy.energy_problem import Problem
from airtight.solvers.weights import caps
from airtight.validate.claims import audit
from airtight.validate.claims.search import noticed, trial

pytestmark = pytest.mark.slow


def rewritten(owner, name, old, new):
    """The function with one piece of its source replaced, wherever the package refers to it."""

    def plant(monkeypatch):
        original = getattr(owner, name)
        source = textwrap.dedent(inspect.getsource(original))
        assert source.count(old) == 1, (name, old)
        scope = dict(vars(sys.modules[original.__module__]))
        exec("from __future__ import annotations\n" + source.replace(old, new), scope)
        everywhere(monkeypatch, original, scope[name], owner)

    return plant


def wrapped(owner, name, wrap):
    """The function called in another way, wherever the package refers to it."""

    def plant(monkeypatch):
        original = getattr(owner, name)
        everywhere(monkeypatch, original, functools.wraps(original)(wrap(original)), owner)

    return plant


def everywhere(monkeypatch, original, wrong, owner):
    package = [m for n, m in sys.modules.items() if n.startswith("airtight.")]
    for place in [owner, *package]:
        for name in [n for n, value in vars(place).items() if value is original]:
            monkeypatch.setattr(place, name, wrong)


def nobody_stays_away(monkeypatch):
    certain = SimpleNamespace(threshold=lambda score, noise, eta: np.ones(np.shape(score)))
    monkeypatch.setattr(feature_aware, "participation", certain)


def nobody_left_out(monkeypatch):
    def with_itself(p, values, multiplicity, **rest):
        return weighted_sum.leave_one_out(p, values, multiplicity + 1, **rest)

    monkeypatch.setattr(
        build, "weighted_sum", SimpleNamespace(**{**vars(weighted_sum), "leave_one_out": with_itself})
    )


PLANTS = {
    "(23) with M/2": (rewritten(concentration, "eq23_deviation", "M / 3 +", "M / 2 +"), ["FDP-E23-t"]),
    "half the Renyi total": (
        rewritten(central_privacy, "sample_level_epsilon", "worst * squares /", "worst * squares / 2 /"),
        ["CB-E2*"],
    ),
    "a tenth of those who stay forgotten": (
        rewritten(dropout_survivors, "curve", "values = missed + sum(", "values = missed + 0.9 * sum("),
        ["CB-T4*-privacy"],
    ),
    "a lower end with half of the others at each end": (
        rewritten(aggregation, "_choices", "{0, singles} | ({singles // 2} if system.dropout == 0 else set())", "{singles // 2}"),
        ["CB-Q-aggregation-lower"],
    ),
    "a lower end with one client too many": (
        rewritten(aggregation, "_choices", "system.alone - (client is Client.UNPAIRED)", "system.alone"),
        ["CB-Q-aggregation-lower"],
    ),
    "half the energy gap": (
        wrapped(Problem, "gap_bound", lambda right: lambda self, x, Z: right(self, x, Z) / 2),
        ["UF-T2*-bound"],
    ),
    "half the gap that is told": (
        rewritten(utility, "described", "top - utility, 0.0)", "top - utility, 0.0) / 2"),
        ["UF-T2*-gap"],
    ),
    "worst accuracy rho^j": (
        wrapped(iteration_bounds, "_log_contraction", lambda right: lambda *rates: right(*rates) / 2),
        ["UF-T1*", "UF-R1"],
    ),
    "sensitivity 2G": (rewritten(fairness, "sensitivity", "4 * G", "2 * G"), ["UF-E7*"]),
    "a term of the optimal delta": (
        rewritten(composition_theorems, "optimal_delta", "-np.expm1(log_kept) + np.exp(log_kept)", "np.exp(log_kept)"),
        ["UF-C*"],
    ),
    "another term of the optimal delta": (
        rewritten(composition_theorems, "optimal_delta", "np.exp(log_kept) * inner", "inner"),
        ["UF-C*"],
    ),
    "a factor of the optimal epsilon": (
        rewritten(composition_theorems, "optimal_epsilon", "* np.exp(-log_kept) *", "*"),
        ["UF-C*-epsilon"],
    ),
    "the threshold's participation": (nobody_stays_away, ["FDP-L2*-2.1"]),
    "one selected device too many": (
        wrapped(
            feature_aware,
            "proven_lowest",
            lambda right: (
                lambda system, *, selected, **rest: right(system, selected=min(selected + 1, system.devices), **rest)
            ),
        ),
        ["FDP-L2*-2.2"],
    ),
    "a device's own noise among the others'": (nobody_left_out, ["FDP-T1b", "FDP-T1a-sets"]),
    "the power limit forgotten in the presence": (
        rewritten(power_limit, "exact_mse", "np.sum(mean**2, axis=1)", "np.sum((signal @ features.D.T) ** 2, axis=1)"),
        ["FDP-E6*-MSE"],
    ),
    "presence p for p (1 - p)": (rewritten(distortion, "breakdown", "p * (1 - p) * w", "p * w"), ["FDP-MSE*"]),
    "selection among one more": (
        wrapped(
            selection, "probability", lambda right: lambda score, noise, m: right(score, noise, min(m + 1, len(score)))
        ),
        ["FDP-T3*"],
    ),
    "tanh for coth": (rewritten(quantizers, "alpha", "1 / np.tanh", "np.tanh"), ["CB-A1"]),
    # twenty more, one in each of twenty quantities that the answers show
    "gamma for gamma^2 in the energy": (
        rewritten(transmission, "transmit_energy", "np.float64(system.alignment) ** 2", "np.float64(system.alignment)"),
        ["FDP-Q-energy"],
    ),
    "the lesser order behind a sum": (
        rewritten(quantizer_laws, "aggregate_delta", "return float(max(", "return float(min("),
        ["CB-Q-behind"],
    ),
    "copies for their root": (
        rewritten(fairness, "copies_epsilon", "np.sqrt(copies)", "np.sqrt(np.sqrt(copies))"),
        ["UF-Q-copies"],
    ),
    "the worse neighbour among whole iterations": (
        rewritten(exact, "whole_iterations", "np.where(value > best", "np.where(value < best"),
        ["UF-Q-whole"],
    ),
    "a norm for its square": (
        rewritten(decoding, "constant_output", "one.target @ one.target", "np.sqrt(one.target @ one.target)"),
        ["FDP-Q-nothing"],
    ),
    "no noise in the best gain": (
        rewritten(decoding, "best_gain", "size += variance * energy if energy > 0 else 0.0", "pass"),
        ["FDP-Q-gain"],
    ),
    "half the rate of any decoder": (
        rewritten(decoding, "any_decoder", "- 2 * rate)", "- rate)"),
        ["FDP-Q-any-decoder"],
    ),
    "Laplace's half": (rewritten(laplace, "delta", "np.expm1(slack / 2)", "np.expm1(slack)"), ["FDP-Q-curves"]),
    "the prior forgotten": (
        rewritten(PrivacyCurve, "bayes_risk", "np.maximum((1 - share) *", "np.maximum(share *"),
        ["FDP-Q-gaussian"],
    ),
    "a hundredth of delta": (
        wrapped(rounds, "delta_at", lambda right: lambda *args, **rest: 0.99 * right(*args, **rest)),
        ["FDP-Q-delta"],
    ),
    "rounds but one": (
        wrapped(
            rounds,
            "bracket",
            lambda right: lambda system, *, rounds, **rest: right(system, rounds=max(rounds - 1, 1), **rest),
        ),
        ["FDP-Q-rounds-upper"],
    ),
    "the score's epsilon at twice the noise": (
        rewritten(feature_aware, "score_epsilon", "sigma=noise", "sigma=2 * np.asarray(noise)"),
        ["FDP-Q-score"],
    ),
    "an exponent of the short paper": (
        rewritten(accuracy, "short_paper", "/ radius) ** 2", "/ radius)"),
        ["FDP-Q-short"],
    ),
    "clips two per cent greater": (
        wrapped(caps, "greatest_clips", lambda right: lambda *args, **rest: 1.02 * right(*args, **rest)),
        ["FDP-Q-caps"],
    ),
    "a pair broken at one end": (
        rewritten(dropout, "broken_pairs", "2 * p * (1 - p)", "p * (1 - p)"),
        ["CB-Q-left"],
    ),
    "one variance of Laplace noise": (
        rewritten(baselines, "laplace_variance", "2 * scale**2", "scale**2"),
        ["CB-Q-laplace"],
    ),
    "the greatest of a pair's errors": (
        rewritten(antithetic, "mean_pair_mse", ".mean()", ".max()"),
        ["CB-Q-pair-mean"],
    ),
    "no bit for the update": (rewritten(communication, "stream", "d * m, m)", "d * m, 0)"), ["CB-Q-bits"]),
    "infinitely many shared bits in a design": (
        rewritten(federated_design, "error", "bits=system.shared_bits,", ""),
        ["CB-Q-design"],
    ),
    "no gap": (wrapped(proved_gap, "gaps", lambda right: lambda *args: 0 * right(*args)), ["UF-Q-gaps"]),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_planted_errors_are_noticed(plant, monkeypatch):
    error, rows = PLANTS[plant]
    error(monkeypatch)
    assert [claim.id for claim in audit.selected(rows) if not is_noticed(claim)] == []


def is_noticed(claim):
    """Whether the trial of a claim that is true is not as expected; one violation suffices, and the same search meets it."""
    assert claim.ruling.survives
    return noticed(claim) or not trial(claim).as_expected
