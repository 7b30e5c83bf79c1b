r"""The exact delta of a device in a :class:`~airtight.analytics.inference.system.InferenceSystem`, enclosed (FDP-T1a, T1b, T1d).

Others of equal noise are counted by a Poisson-binomial law; the sums of their noise are exact rationals. Every float of the
system is the number that it exactly is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import prod

import flint
import numpy as np

from airtight.analytics.checks import ParameterError
from airtight.analytics.forms.balls import gaussian_divergence, selection_probability
from airtight.analytics.forms.balls.amplified_delta import unamplified
from airtight.analytics.forms.balls.ball import Ball, Number, ball, refine
from airtight.analytics.forms.balls.gaussian_divergence import hockey_stick
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference.system import InferenceSystem

_MOST_SUMS = 4096


def delta(system: InferenceSystem, epsilon: Number, *, device: int = 0, digits: int = 15) -> Ball:
    """Enclosure of :func:`airtight.analytics.privacy.over_the_air.system_privacy.delta`, worst of both directions.

    Parameters
    ----------
    system : InferenceSystem
        With at most 4096 possible sums of the others' noise; idle noise only with adjacency ``absent`` or ``silent``.
    epsilon : int, float, Fraction or str
        At least 0.
    device : int
    digits : int
        Significant digits wanted.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> from airtight.analytics.forms.balls.ball import ends
    >>> paper = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1 / 12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> ends(delta(paper, 1))
    (0.00084516636298..., 0.00084516636298...)
    """
    p = Fraction(float(system.participation[device]))
    if p == 0:
        return flint.arb(0)
    own = Fraction(float(system.alignment)) ** 2 * Fraction(float(system.noise_variance[device]))
    factor = 2 if system.adjacency is Adjacency.REPLACE else 1
    signal = (
        factor
        * Fraction(system.alignment)
        * Fraction(float(system.weight[device]))
        * Fraction(float(system.clip[device]))
    )
    if system.idle_noise and system.adjacency is Adjacency.REPLACE:
        raise ParameterError("idle_noise", True, "False for adjacency replace")

    def value() -> Ball:
        if system.idle_noise:
            total = (
                own + sum(noise for noise, _ in _all_there(system, device)) + Fraction(system.receiver_noise_variance)
            )
            return ball(p) * gaussian_divergence.curve(unamplified(ball(epsilon), p), signal, total)
        sums = _sums(system, device)
        if system.adjacency is not Adjacency.ABSENT:
            return ball(p) * _mean(sums, lambda v: gaussian_divergence.curve(ball(epsilon), signal, v + own))

        def divergence(epsilon: Ball, *, removing: bool) -> Ball:
            def component(v: Fraction) -> Ball:
                louder, quieter = v + own, v
                p, q = (louder, quieter) if removing else (quieter, louder)
                return hockey_stick(epsilon, distance=signal, variance_p=p, variance_q=q, dimension=system.dimension)

            return _mean(sums, component)

        forward = ball(p) * divergence(unamplified(ball(epsilon), p), removing=True)
        share = 1 - ball(epsilon).exp() * (1 - ball(p))
        if share <= 0:
            return forward
        if not share > 0:
            return flint.arb.nan()  # not known at this precision
        backward = share * divergence((ball(epsilon).exp() * ball(p) / share).log(), removing=False)
        return forward.max(backward)

    return refine(value, digits=digits)


def _mean(sums: list[tuple[Fraction, Ball]], value: Callable[[Fraction], Ball]) -> Ball:
    """Expectation of a function of the others' and the receiver's noise."""
    return sum((chance * value(noise) for noise, chance in sums), flint.arb(0))


def _all_there(system: InferenceSystem, device: int) -> list[tuple[Fraction, Fraction]]:
    gain = Fraction(system.alignment) ** 2
    others = np.delete(np.arange(system.devices), device)
    return [
        (gain * Fraction(float(system.noise_variance[k])), Fraction(float(system.participation[k]))) for k in others
    ]


def _sums(system: InferenceSystem, device: int) -> list[tuple[Fraction, Ball]]:
    """What the noise of the others that take part and of the receiver can add up to, and how likely each is."""
    kinds: dict[Fraction, list[Fraction]] = {}
    for noise, chance in _all_there(system, device):
        kinds.setdefault(noise, []).append(chance)
    atoms = prod(len(chances) + 1 for noise, chances in kinds.items() if noise)
    if atoms > _MOST_SUMS:
        raise ParameterError(
            "noise_variance", f"{len(kinds)} kinds", f"so few kinds that there are at most {_MOST_SUMS} sums"
        )
    laws = {noise: selection_probability.pmf(chances) for noise, chances in kinds.items() if noise}
    floor, found = Fraction(system.receiver_noise_variance), []
    for counts in product(*(range(len(law)) for law in laws.values())):
        likely = prod((law[k] for law, k in zip(laws.values(), counts, strict=True)), start=flint.arb(1))
        if not likely.is_zero():
            found.append((sum((k * noise for noise, k in zip(laws, counts, strict=True)), floor), likely))
    return found
