r"""The price of an antenna: what a further antenna of the server does to epsilon, to the noise that is needed, and to the error.

With the same noise a further antenna only adds a look: epsilon rises, and the error of the best combination falls. At a
*fixed epsilon* both act together. The looks average the receiver's noise, which lowers the error; they undo the superposition
in which the devices hide each other, so each needs more noise of its own, which raises it. Where the receiver's noise
dominates the first effect wins, where it is low the second does: :func:`turning_noise` finds where the two are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import checks, plots, tidy
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Observer
from airtight.analytics.inference import combiner, decoding
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.analytics.records import Record
from airtight.analytics.rounding import UNIT
from airtight.solvers.design import channel_noise
from airtight.solvers.errors import InfeasibleError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GLOBAL, _LOCAL, _NONE = "global: one scale of the noise", "local", "none found"


@dataclass(frozen=True, kw_only=True, eq=False)
class AntennaPrice(Record):
    """Privacy and error against the number of antennas.

    Attributes
    ----------
    antennas : ndarray of int, shape (n,)
    epsilon : ndarray, shape (n,)
        Of the device that has the greatest, at the given noise.
    noise_factor : ndarray, shape (n,)
        Factor on the given noise variances with which every device keeps the target; inf where none was found.
    noise_factor_bound : ndarray, shape (n,)
        Proved: no smaller factor keeps the target; nan where nothing is proved.
    error, error_kept : ndarray, shape (n,), or None
        Mean over states of the MSE of the best combination at the given noise, and at the noise that keeps the target; None
        without features.
    error_bound : ndarray, shape (n,), or None
        Proved: with no factor that keeps the target is the error lower; nan where nothing is proved.
    method : tuple of str
        "global: one scale of the noise" where epsilon falls with the noise and both bounds are proved, "local" where another
        noise may keep the target, too, and "none found" where no noise that was tried does.
    constant_output : float or None
        The MSE of an output that ignores the antennas.
    """

    antennas: IntArray
    epsilon: FloatArray
    noise_factor: FloatArray
    noise_factor_bound: FloatArray
    error: FloatArray | None
    error_kept: FloatArray | None
    error_bound: FloatArray | None
    constant_output: float | None
    method: tuple[str, ...]

    def table(self, system: str = "system") -> dict[str, NDArray[Any]]:
        """The tidy table by columns: a row for each quantity and number of antennas, which stands before it."""
        names = ("epsilon", "noise_factor", "noise_factor_bound", "error", "error_kept", "error_bound")
        rows = {name: getattr(self, name) for name in names}
        return tidy.over({"antennas": self.antennas}, tidy.columns([(system, rows)]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot epsilon of the worst device against the number of antennas, at the given noise."""
        axes = plots.axes_of(ax)
        axes.plot(self.antennas, self.epsilon, "o-", color=plots.BLUE)
        axes.set(xscale="log", xticks=self.antennas, yscale="log" if np.all(self.epsilon > 0) else "linear")
        plots.plain_ticks(axes, "x", "y")
        first, last = float(self.epsilon[0]), float(self.epsilon[-1])
        title = f"Epsilon {first:.3g} with {self.antennas[0]} antennas, {last:.3g} with {self.antennas[-1]}"
        return plots.finish(axes, title=title, x="antennas of the server", y="epsilon, worst device")

    @property
    def gap(self) -> FloatArray | None:
        """Error at the target minus its bound, nan where nothing is proved; None without features."""
        return None if self.error_kept is None or self.error_bound is None else self.error_kept - self.error_bound

    @property
    def helps(self) -> bool | None:
        """Whether the error at the target falls from the first number of antennas to the last; None without features."""
        return None if self.error_kept is None else bool(self.error_kept[-1] < self.error_kept[0])


def antenna_price(
    system: InferenceSystem,
    antennas: Sequence[int],
    *,
    epsilon: float,
    features: Features | Sequence[Features] | None = None,
    rounds: int | None = None,
    observer: Observer | str | None = None,
) -> AntennaPrice:
    """Epsilon, the noise that keeps a target epsilon, and the error, for several numbers of antennas.

    Parameters
    ----------
    system : InferenceSystem
        With positive noise variances, whose ratios are kept, and a channel, whose antennas are replaced; its looks must not be
        given.
    antennas : sequence of int
        Numbers that are compared, each at least 1.
    epsilon : float
        The target, at the system's delta, for its adjacency and the observer, over all rounds.
    features : Features or sequence of Features, optional
        By default the worst codes count.
    rounds, observer : optional
        By default those of the system.

    Examples
    --------
    >>> system = InferenceSystem(devices=12, participation=1.0, noise_variance=0.1, weight=1/12, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=0.01, dimension=8, delta=1e-5, adjacency="silent",
    ...     channel={"fading": "rayleigh", "states": 50})
    >>> price = antenna_price(system, [1, 2, 8], epsilon=1.0)
    >>> price.epsilon.round(2), price.noise_factor.round(2)
    (array([0.25, 0.74, 0.96]), array([0.07, 0.58, 0.92]))
    >>> price.method[0], bool(np.all(price.noise_factor_bound > 0.9999 * price.noise_factor))
    ('global: one scale of the noise', True)
    """
    checks.instance("system", system, InferenceSystem)
    if (channel := system.channel) is None:
        raise ParameterError("channel", None, "given in the system: its antennas are what is priced")
    if not isinstance(antennas, Iterable) or (isinstance(antennas, np.ndarray) and antennas.ndim != 1):
        raise ParameterError("antennas", antennas, "numbers of antennas")
    counts = np.array([checks.count("antennas", count, "[1, 4096]") for count in antennas], dtype=np.int64)
    if counts.size == 0:
        raise ParameterError("antennas", [], "at least one number")
    if channel.looks is not None:
        raise ParameterError("looks", "given", "absent: the number of antennas of given looks is theirs")
    if not np.any(system.noise_variance > 0):
        raise ParameterError("noise_variance", 0.0, "positive for some device")
    if system.colluding:
        raise ParameterError("colluding", system.colluding, "0 where antennas are priced")
    has_features = features is not None
    tasks = () if features is None else (features,) if isinstance(features, Features) else tuple(features)
    for task in tasks:
        checks.instance("features", task, Features)
    options: dict[str, Any] = {
        "rounds": system.rounds if rounds is None else rounds,
        "observer": system.observer if observer is None else observer,
    }
    system = system.one_round
    at_noise, factors, error, kept_error = np.empty((4, counts.size))
    factor_bound, error_bound = np.full((2, counts.size), np.nan)
    method = [_LOCAL] * counts.size
    for i, count in enumerate(counts):
        with_count = replace(channel, antennas=int(count))
        sending = with_count.with_participation(system)
        at_noise[i] = np.max(system_privacy.epsilon(sending.derived(channel=with_count), **options))
        error[i] = _error(sending, with_count, features)[1]
        try:
            kept = channel_noise.calibrate(system, with_count, epsilon, **options).system
        except InfeasibleError:
            factors[i] = kept_error[i] = np.inf
            method[i] = _NONE
            continue
        factors[i] = np.max(kept.noise_variance) / np.max(system.noise_variance)
        kept_error[i] = _error(kept, with_count, features)[1]
        below = channel_noise.too_quiet(kept, with_count, epsilon, **options)
        if below is not None:
            method[i] = _GLOBAL
            factor_bound[i] = np.max(below.noise_variance) / np.max(system.noise_variance) * (1 - 2 * UNIT)
            error_bound[i] = _error(below, with_count, features)[0]
    return AntennaPrice(
        antennas=counts,
        epsilon=at_noise,
        noise_factor=factors,
        noise_factor_bound=factor_bound,
        error=error if has_features else None,
        error_kept=kept_error if has_features else None,
        error_bound=error_bound if has_features else None,
        constant_output=decoding.constant_output(tasks) if has_features else None,
        method=tuple(method),
    )


def turning_noise(
    system: InferenceSystem,
    features: Features | Sequence[Features],
    antennas: tuple[int, int],
    *,
    epsilon: float,
    between: tuple[float, float],
    steps: int = 12,
    rounds: int | None = None,
    observer: Observer | str | None = None,
) -> tuple[float, float] | None:
    """Two variances of the receiver's noise between which more antennas change from harmful to helpful at a fixed epsilon.

    Parameters
    ----------
    antennas : tuple of int
        The two numbers that are compared.
    between : tuple of float
        Variances of the receiver's noise; the errors are compared at both.
    steps : int
        Halvings of their ratio.

    Returns
    -------
    tuple of float, or None
        At the lower variance the error at the target is higher with the second number of antennas than with the first, at the
        upper one lower, or the other way round; None where both ends agree. There may be further turns in between.
    """
    low, high = (checks.scalar("between", value, "(0, inf)") for value in between)
    options: dict[str, Any] = {"epsilon": epsilon, "features": features, "rounds": rounds, "observer": observer}

    def helps(noise: float) -> bool | None:
        return antenna_price(system.replace(receiver_noise_variance=noise), antennas, **options).helps

    at_low = helps(low)
    if at_low == helps(high):
        return None
    for _ in range(checks.count("steps", steps)):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if helps(middle) == at_low else (low, middle)
    return low, high


def _error(
    system: InferenceSystem, channel: Channel, features: Features | Sequence[Features] | None
) -> tuple[float, float]:
    """A proved lower bound and the value of the mean error of the best combination; nan without features."""
    if features is None:
        return float("nan"), float("nan")
    best = combiner.at_states(system, features, channel.draw(system))
    return float(np.mean(best.least)) * (1 - (best.least.size + 8) * UNIT), float(np.mean(best.mse))
