r"""The price of a colluder: what one more device that helps the server does to epsilon, and to the noise that keeps a target.

The noise that keeps epsilon whichever m others collude keeps it against fewer, because they know less (docs/colluders.md, theorem
1). So the least noise never falls in m, and two calibrations with both bounds enclose what one more colluder costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics import checks, plots
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT
from airtight.solvers.design import whole_system
from airtight.solvers.design.calibrate import Calibration
from airtight.solvers.errors import InfeasibleError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BELOW = (1e-5, 1e-4, 1e-3, 1e-2, 0.1)  # shares by which noise is lowered until it is proved that the target is exceeded


@dataclass(frozen=True, kw_only=True, eq=False)
class ColluderPrice(Record):
    """Epsilon and the least noise against the number of devices that help the server.

    Attributes
    ----------
    colluding : ndarray of int, shape (n,)
        Any so many devices; increasing.
    epsilon, epsilon_lower : ndarray, shape (n,)
        Both bounds for the device that has the greatest, at the given noise.
    noise : ndarray, shape (n,)
        Greatest of the noise variances, in the given proportions, with which every device keeps the target; inf where none was
        found.
    noise_lower : ndarray, shape (n,)
        Proved: with less noise in these proportions some device exceeds the target; 0 where nothing is proved.
    """

    colluding: IntArray
    epsilon: FloatArray
    epsilon_lower: FloatArray
    noise: FloatArray
    noise_lower: FloatArray

    @property
    def price(self) -> FloatArray:
        """Lower and upper bound of the noise variance that one more colluder costs, shape (n - 1, 2), between neighbouring m."""
        steps = np.diff(self.colluding)
        with np.errstate(invalid="ignore"):
            lower = np.maximum(self.noise_lower[1:] - self.noise[:-1], 0.0)
            upper = self.noise[1:] - self.noise_lower[:-1]
        return np.stack([lower, upper], axis=1) / steps[:, None]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot epsilon of the worst device against the number of devices that help the server, at the given noise."""
        axes = plots.axes_of(ax)
        axes.plot(self.colluding, self.epsilon, "o-", color=plots.BLUE)
        if np.any(self.epsilon_lower < self.epsilon * (1 - 1e-3)):
            axes.fill_between(self.colluding, self.epsilon_lower, self.epsilon, color=plots.BLUE, alpha=0.2, linewidth=0)
        plots.scaled(axes, "y", self.epsilon)
        axes.set(xticks=self.colluding)
        first, last = (f"{plots.tick(float(value))} if {m} help" for m, value in self._ends())
        return plots.finish(
            axes, title=f"Epsilon at most {first}, {last}", x="devices that help the server", y="epsilon, worst device"
        )

    def _ends(self) -> list[tuple[int, float]]:
        return [(int(self.colluding[i]), float(self.epsilon[i])) for i in (0, -1)]


def colluder_price(system: InferenceSystem, colluding: Sequence[int], *, epsilon: float) -> ColluderPrice:
    """Epsilon, and the least noise that keeps a target epsilon, for several numbers of devices that help the server.

    Parameters
    ----------
    system : InferenceSystem
        Its rounds, observer and channel count; its own colluders are replaced.
    colluding : sequence of int
        Increasing numbers m: any m of the other devices help.
    epsilon : float
        The target, at the system's delta, for its adjacency, over all its rounds.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=8, delta=1e-5, adjacency="silent")
    >>> found = colluder_price(system, [0, 1, 2, 11], epsilon=1.0)
    >>> found.noise.round(4), bool(np.all(found.noise_lower > 0.9999 * found.noise))
    (array([ 1.1515,  1.2561,  1.3818, 13.8176]), True)
    >>> found.price.round(3).tolist()
    [[0.105, 0.105], [0.126, 0.126], [1.382, 1.382]]
    """
    checks.instance("system", system, InferenceSystem)
    counts = np.asarray(checks.integer("colluding", colluding, f"[0, {system.devices - 1}]"))
    if counts.ndim != 1 or counts.size == 0 or np.any(np.diff(counts) <= 0):
        raise ParameterError("colluding", counts.tolist(), "increasing numbers of devices, at least one")
    target = checks.scalar("epsilon", epsilon, "(0, inf)")
    upper, lower, noise, noise_lower = np.zeros((4, counts.size))
    for i, count in enumerate(counts.tolist()):
        helped = system.replace(colluding=count)
        bracket = system_privacy.epsilon_bracket(helped)
        upper[i], lower[i] = np.max(bracket.upper), np.max(bracket.lower)
        try:
            kept = whole_system.calibrate(helped, target)
        except InfeasibleError:
            noise[i] = np.inf
        else:
            noise[i], noise_lower[i] = float(np.max(kept.value)), _proved_below(kept, target)
    return ColluderPrice(
        colluding=counts,
        epsilon=upper,
        epsilon_lower=lower,
        noise=noise,
        noise_lower=np.maximum.accumulate(noise_lower),  # what is too little against few is too little against more
    )


def _proved_below(kept: Calibration, target: float) -> float:
    """A scale of the noise below which it is proved that the target is exceeded; 0 without a proof."""
    scale = float(np.max(kept.value))
    if not kept.monotone:
        if not kept.settled or kept.system.observer is Observer.SIGNAL:  # whose calibration is that of `others`
            return 0.0
        return min(kept.unsettled[0][0], scale) if kept.unsettled else scale
    for share in _BELOW if scale > 0 else ():
        quieter = kept.system.replace(noise_variance=kept.value * (1 - share))
        if np.max(system_privacy.epsilon_bracket(quieter).lower) > target:
            return scale * (1 - share) * (1 - 2 * UNIT)
    return 0.0
