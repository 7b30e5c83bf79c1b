"""PF-3 and PF-4, redrawn from what the authors' scripts compute; PF-saved: the noise saved at equal exact privacy.

This module has the constants of the regression, not its data: the authors publish the data beside the scripts (10000
samples, 10 features).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from airtight import Effort, Redrawn
from airtight.analytics.checks import FloatArray
from airtight_privacy_for_free.allocation import allocate, exact_budget, printed_budget

SAMPLES, DIMENSION, USERS, ROUNDS = 10_000, 10, 10, 30
SMOOTHNESS, CONVEXITY = 1.0478511635697592, 0.9500030141865211  # L and mu of the regularised loss
SAMPLE_BOUND = 224.19875813787212  # gamma: bound on the norm of one sample's gradient
USER_BOUNDS = np.array([7.4373, 7.715, 7.4102, 7.3972, 7.211, 7.7726, 7.4794, 7.3618, 7.546, 7.3446])  # G_k
BEST, DISTANCE = 0.020875303648523167, 5.079963907256122  # the least loss, and the excess of the initial loss over it
DELTA = 0.01
CONTRACTION = 1 - CONVEXITY / SMOOTHNESS
_LINES = {
    "printed": "adaptive, printed constraint",
    "exact": "adaptive, exact privacy",
    "static": "static, printed constraint",
    "corrected": "static, T/K rounds",
    "free": "no privacy",
}


@dataclass(frozen=True)
class Access:
    """The least effective noise that the power limit allows; one column per budget: one for all users, or one per user.

    Attributes
    ----------
    least : ndarray, shape (rounds, budgets)
    """

    least: FloatArray

    @classmethod
    def together(cls, gains: FloatArray, power: float) -> Access:
        """Over the air: in every round the user with the worst channel determines the noise."""
        worst = np.max((SAMPLES / USERS * USER_BOUNDS / gains) ** 2) / power
        return cls(np.full((ROUNDS, 1), worst))

    @classmethod
    def in_turn(cls, gains: FloatArray, power: float) -> Access:
        """Orthogonal access: T/K rounds for each user."""
        return cls(np.tile((SAMPLES / USERS * USER_BOUNDS / gains) ** 2 / power, (ROUNDS // USERS, 1)))

    def gap(self, noise: FloatArray) -> float:
        """The bound on the optimality gap that the authors plot, divided by the least loss."""
        rounds = len(self.least)
        weighted = CONTRACTION ** -np.arange(1, rounds + 1.0) @ noise.sum(axis=1)
        spread = DIMENSION / (2 * SMOOTHNESS * SAMPLES**2) * weighted
        return float(CONTRACTION**rounds * (DISTANCE + spread) / BEST)

    def adaptive(self, rho: float) -> FloatArray:
        """The allocation of least gap for each budget: the sum of 2 gamma^2/x is at most rho."""
        rounds = len(self.least)
        weight = CONTRACTION ** (rounds - np.arange(1, rounds + 1.0))
        columns = [allocate(weight, m, budget=rho / (2 * SAMPLE_BOUND**2)).noise for m in self.least.T]
        return np.stack(columns, axis=1)

    def static(self, rho: float, *, corrected: bool) -> FloatArray:
        """Equal noise in all rounds; the authors' code counts T/k rounds for user k (PF-static)."""
        rounds, budgets = self.least.shape
        counted = np.full(budgets, rounds) if corrected or budgets == 1 else ROUNDS / np.arange(1, budgets + 1)
        return np.asarray(np.maximum(2 * SAMPLE_BOUND**2 * counted / rho, self.least))


def gaps(access: Access, epsilon: float) -> dict[str, float]:
    """The gaps of all lines at one epsilon."""
    printed, exact = printed_budget(epsilon, DELTA), exact_budget(epsilon, DELTA)
    noise = {
        "printed": access.adaptive(printed),
        "exact": access.adaptive(exact),
        "static": access.static(printed, corrected=False),
        "corrected": access.static(printed, corrected=True),
        "free": access.least,
    }
    return {name: access.gap(x) for name, x in noise.items()}


def _drawn(
    name: str, axis: str, values: FloatArray, cases: Callable[[float], tuple[float, float]], effort: Effort
) -> Redrawn:
    """Mean gaps over Rician channels (factor 10), over the air and in turn; `cases` maps a value to epsilon and power."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rng, draws = np.random.default_rng(0), 20 if effort.seeds > 1 else 2
    scattered = rng.normal(size=(draws, USERS)) + 1j * rng.normal(size=(draws, USERS))
    gains = np.abs(np.sqrt(10 / 11) + np.sqrt(1 / 22) * scattered)
    access_modes = {"over the air": Access.together, "in turn": Access.in_turn}
    table = np.empty((len(access_modes), len(_LINES), values.size))
    for k, value in enumerate(values):
        epsilon, power = cases(float(value))
        for i, make in enumerate(access_modes.values()):
            samples = [gaps(make(row, power), epsilon) for row in gains]
            table[i, :, k] = [np.mean([sample[line] for sample in samples]) for line in _LINES]
    data = xr.Dataset(
        {"gap": (("access", "line", axis), table)},
        coords={"access": list(access_modes), "line": list(_LINES), axis: values},
    )
    colours = rcParams["axes.prop_cycle"].by_key()["color"]
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    for i, mode in enumerate(access_modes):
        axes = figure.add_subplot(1, 2, i + 1)
        for colour, (line, label) in zip(colours, _LINES.items(), strict=False):  # a line has one colour in both panels
            if line != "corrected" or mode == "in turn":
                axes.plot(values, data.gap.sel(access=mode, line=line), color=colour, label=label)
        axes.set(title=mode, xlabel=axis, yscale="log")
    figure.axes[0].set_ylabel("normalized optimality gap")
    figure.axes[1].legend()
    caption = (
        f"Exact: from the constants of the authors' data; mean over {draws} Rician channels. delta = {DELTA:g} over "
        "all rounds, adjacency replace. The printed constraint costs noise that exact privacy does not need (PF-saved); the "
        "static benchmark in turn counts T/k rounds for user k (PF-static)."
    )
    return Redrawn(name, caption, data, figure)


def against_epsilon(effort: Effort, advance: Callable[[str], None]) -> Redrawn:
    """PF-3: power 10^4."""
    advance("PF-3")
    values = np.geomspace(1, 100, 12 if effort.seeds > 1 else 3)
    return _drawn("PF-3", "epsilon", values, lambda epsilon: (epsilon, 1e4), effort)


def against_power(effort: Effort, advance: Callable[[str], None]) -> Redrawn:
    """PF-4: epsilon 20."""
    advance("PF-4")
    values = np.linspace(5.0, 45.0, 11 if effort.seeds > 1 else 3)
    return _drawn("PF-4", "SNR in dB", values, lambda snr: (20.0, 10 ** (snr / 10) * DIMENSION), effort)


def saved(effort: Effort, advance: Callable[[str], None]) -> Redrawn:
    """PF-saved: the noise, or the power, that the printed constraint costs, in decibels."""
    from matplotlib.figure import Figure

    advance("PF-saved")
    epsilons, deltas = np.geomspace(0.05, 100, 40 if effort.seeds > 1 else 4), (1e-2, 1e-5, 1e-8)
    table = np.array([[10 * np.log10(exact_budget(e, d) / printed_budget(e, d)) for e in epsilons] for d in deltas])
    data = xr.Dataset({"decibels": (("delta", "epsilon"), table)}, coords={"delta": list(deltas), "epsilon": epsilons})
    figure = Figure(figsize=(5.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for delta in deltas:
        axes.plot(epsilons, data.decibels.sel(delta=delta), label=f"δ = {delta:g}")
    axes.set(xscale="log", xlabel="epsilon", ylabel="noise saved (dB)")
    axes.legend()
    caption = (
        "Exact: the ratio of the effective noise that the printed constraint requires to the noise that the same (epsilon, "
        "delta) needs, adjacency replace. Where privacy and not power limits the noise, the transmit power may be greater by "
        "this ratio at equal privacy."
    )
    return Redrawn("PF-saved", caption, data, figure)


FIGURES = {"PF-3": against_epsilon, "PF-4": against_power, "PF-saved": saved}
