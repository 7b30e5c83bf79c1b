r"""Epsilon where the noise of a device is known to lie in an interval only: the greatest over all its values, from both sides.

Device j adds noise of an unknown variance :math:`s_j \in [l_j, u_j]`, gamma = 1; v is the noise beside that of device k, d its
code length, :math:`\lambda = e^\epsilon`.

**Others.** The divergence never rises in v, for every adjacency, order and :math:`\lambda` (theorem V4): noise that is added to
the signal maps the pair at v to the pair at greater v. So the others are the worst at their lower ends, together with the worst
colluders, since two maxima commute. Against `signal` this is so of the upper bound only, which is that of `others`: what a server
sees of y alone may reveal *more* where a device is louder (docs/colluders.md has the example).

**Own noise that stays** (visible ``silent`` and ``replace``; idle noise): noise of variance :math:`u - s` that is added maps the
pair at s to the pair at u, over several looks along the device's own coefficients. The worst is the lower end.

**Own noise that leaves** (``absent``). *Theorem 11: at a given v and* :math:`\lambda` *delta is greatest at an end of any
interval of s.* The proof is in docs/colluders.md. Where the others' noise is random the mean over it may be greater between the
ends, so only others that send for sure, or never, are counted.

**Own noise that shows** (hidden ``silent`` and ``replace``). *Theorem 12: on* :math:`[s_1, s_2]` *delta is at most that of*
:math:`s_2` *and a code of length* :math:`d\sqrt{(N+s_2)/(N+s_1)}`, *N the receiver's noise.* *Proof.* Divide y by
:math:`\sqrt{v+s}`: the components become :math:`f = N(x', I)`, :math:`|x'| = d/\sqrt{v+s}`, and :math:`h = N(0, \rho I)`,
:math:`\rho = v/(v+s) \le 1`. Delta never falls in :math:`|x'|`. It never rises in :math:`\rho`: the best set A of the greater
:math:`\rho` is where :math:`p(f_{x'} - \lambda f_0)` (``replace``: :math:`f_{-x'}`) exceeds :math:`(\lambda-1)(1-p)h`. There
:math:`y\cdot x' > 0` as :math:`\lambda \ge 1`, and along :math:`ty, t \ge 1` the left side over :math:`f_0` rises while
:math:`h/f_0` falls, so A holds ty too, and :math:`h_\rho(A) = P(\sqrt\rho Z \in A)` rises with :math:`\rho`: at the smaller
:math:`\rho` A does at least as well. The other order, reflected by :math:`y \to x' - y`, has h around x' in place of 0. On
its best set :math:`y\cdot x' > |x'|^2/2`, where that h is the greater, so it is at most this one (``replace`` is symmetric).
As :math:`|x'|` and :math:`\rho` fall in s, take :math:`|x'|` at :math:`s_1` and :math:`\rho` at :math:`s_2`; for random v,
:math:`(v+s_2)/(v+s_1)` is greatest at v = N. ∎ The interval is divided until both bounds are close: the gap of a piece is of
the order of :math:`\log((N+s_2)/(N+s_1))`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting.numerical_composition import DEFAULT_RELATIVE_WIDTH
from airtight.analytics.privacy.accounting.privacy_curve import Bracket
from airtight.analytics.privacy.over_the_air import observers, system_privacy

_PIECES = 100  # most divisions for a device


def epsilon_over_noise(
    system: InferenceSystem, noise_variance_range: ArrayLike, *, width: float = DEFAULT_RELATIVE_WIDTH
) -> Bracket:
    """Lower and upper bound of each device's greatest epsilon, over all noise variances in the range.

    They are as certain as those of :func:`.system_privacy.epsilon_bracket`: :func:`.system_privacy.estimated` says where the
    upper one is an estimate.

    Parameters
    ----------
    system : InferenceSystem
        With its rounds, observer, channel and colluders; its own noise variances do not count.
    noise_variance_range : array_like, shape (2,) or (K, 2)
        Lower and upper end, of all devices or of each; equal where a variance is known.
    width : float
        In (0, 1): the relative distance of both bounds at which an interval is divided no further.

    Raises
    ------
    ParameterError
        Where nothing is proved: a range of noise that leaves with its device or shows that it sends, over several rounds or a
        channel; for ``absent`` among others whose participation is random.

    Examples
    --------
    >>> system = InferenceSystem(devices=1, participation=0.1, noise_variance=0.0, weight=1.0, clip=1.0, alignment=1.0,
    ...     receiver_noise_variance=1.9, dimension=784, delta=1e-5, adjacency="silent", observer="others")
    >>> worst = epsilon_over_noise(system, [0, 3], width=0.1)
    >>> ends = [float(system_privacy.epsilon(system.replace(noise_variance=s), device=0)) for s in (0, 3)]
    >>> [round(end, 2) for end in ends], bool(2.2 < worst.lower[0] < 2.325 < worst.upper[0] < 2.5)
    ([0.81, 1.51], True)
    """
    checks.instance("system", system, InferenceSystem)
    width = checks.scalar("width", width, "(0, 1)")
    low, high = ends(system, noise_variance_range)
    if system.power_decides:
        raise ParameterError("max_power", "given", "absent: participation would depend on the noise that is uncertain")
    quiet, observer = system.replace(noise_variance=low), observers.resolved(system, system.observer)
    leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
    if system.idle_noise or observer.sees_device:  # of a visible device that leaves participation tells all
        return system_privacy.epsilon_bracket(quiet, width=width)
    if not observer.sees_others:  # from above as `others`; what both ends of the range reveal is a bound from below
        at_ends = [system_privacy.epsilon_bracket(system.replace(noise_variance=end), width=width) for end in (low, high)]
        upper = epsilon_over_noise(system.replace(observer=Observer.OTHERS), noise_variance_range, width=width).upper
        return Bracket.of(np.maximum(at_ends[0].lower, at_ends[1].lower), upper, width)
    certain = (low == high) | system.partners
    lower, upper = np.zeros((2, system.devices))
    if np.any(certain):
        lower[certain], upper[certain] = system_privacy.epsilon_bracket(quiet, device=np.flatnonzero(certain), width=width)[:2]
    if np.all(certain):
        return Bracket.of(lower, upper, width)
    if system.channel is not None or system.rounds > 1:
        name, value, allowed = ("rounds", system.rounds, "1") if system.channel is None else ("channel", "given", "absent")
        raise ParameterError(name, value, f"{allowed} for a range of noise that shows who sends")
    columns = (system.participation, low, high, system.weight, system.clip)
    _, first, kind = np.unique(np.stack(columns)[:, ~certain], axis=1, return_index=True, return_inverse=True)
    unknown = np.flatnonzero(~certain)
    of_kinds = [_hidden(quiet, k, float(low[k]), float(high[k]), width, leaves=leaves) for k in unknown[first].tolist()]
    lower[unknown], upper[unknown] = np.array(of_kinds)[kind.ravel()].T
    return Bracket.of(lower, upper, width)


def ends(system: InferenceSystem, noise_variance_range: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both ends of the range for each device, checked."""
    ranges = checks.real("noise_variance_range", noise_variance_range, "[0, inf)")
    if ranges.shape not in ((2,), (system.devices, 2)):
        allowed = f"a pair [low, high], or {system.devices} pairs"
        raise ParameterError("noise_variance_range", checks.array_text(ranges), allowed)
    low, high = np.broadcast_to(ranges, (system.devices, 2)).T
    if np.any(low > high):
        raise ParameterError("noise_variance_range", checks.array_text(ranges), "pairs [low, high] with low at most high")
    return low.copy(), high.copy()


def _hidden(quiet: InferenceSystem, device: int, low: float, high: float, width: float, *, leaves: bool) -> tuple[float, float]:
    """Both bounds of the greatest epsilon of a device whose noise shows whether it sends."""

    def at(variance: float, stretched: float = 1.0) -> InferenceSystem:
        noise, clip = quiet.noise_variance.copy(), quiet.clip.copy()
        noise[device], clip[device] = variance, clip[device] * stretched
        return quiet.replace(noise_variance=noise, clip=clip)

    ends = [system_privacy.epsilon_bracket(at(variance), device=device) for variance in (low, high)]
    lower = max(float(end.lower) for end in ends)
    if leaves:
        others = np.delete(quiet.participation, device)
        if np.any((others > 0) & (others < 1) & (np.delete(quiet.noise_variance, device) > 0)):
            raise ParameterError(
                "noise_variance_range", [low, high], "one value for absent devices, unless all others send for sure or never"
            )
        return lower, max(float(end.upper) for end in ends)
    if quiet.receiver_noise_variance == 0 and low == 0:
        raise ParameterError("noise_variance_range", [low, high], "above 0 for hidden devices without receiver noise")
    floor, gain = quiet.receiver_noise_variance, quiet.alignment**2

    def above(s1: float, s2: float) -> float:
        stretched = math.sqrt((floor + gain * s2) / (floor + gain * s1)) * (1 + 1e-12)
        return float(system_privacy.epsilon(at(s2, stretched), device=device))

    def value(variance: float) -> float:
        return float(system_privacy.epsilon_bracket(at(variance), device=device).lower)

    return _divided(low, high, lower, above, value, floor / gain, width)


def _divided(
    low: float,
    high: float,
    lower: float,
    above: Callable[[float, float], float],
    value: Callable[[float], float],
    floor: float,
    width: float,
) -> tuple[float, float]:
    """Both bounds of a maximum on an interval, from upper bounds on pieces and lower bounds at points; the worst is divided."""
    pieces = [(-above(low, high), low, high)]
    for _ in range(_PIECES):
        upper, s1, s2 = pieces[0]
        if -upper <= lower * (1 + width) or not math.isfinite(upper):
            break
        middle = math.sqrt(floor + s1) * math.sqrt(floor + s2) - floor
        if not s1 < middle < s2:
            break
        heapq.heappop(pieces)
        lower = max(lower, value(middle))
        for piece in ((s1, middle), (middle, s2)):
            heapq.heappush(pieces, (-above(*piece), *piece))
    return lower, max(lower, -pieces[0][0])
