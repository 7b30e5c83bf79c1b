r"""A lower end of privacy over several looks for a server that sees y alone: one combination of the looks, certain codes.

The server knows the channel, but not the set S of the others that take part. It may replace its looks by :math:`u^*Y` with any u
that depends on the channel and not on S (data processing). Zero codes are a valid data set of the others. Given the state, what
it then holds is the signal of a system with one look in which the others' noise and the receiver's together have, in units of the
code, the variance

.. math:: v_S(u) = \frac{\sum_{j\in S}\sigma_j^2|u^*a_j|^2 + N|u|^2}{|u^*a_k|^2}

with the probability of S. For complex codes :math:`u^*Y` is divided by the complex number :math:`u^*a_k`, the noise is circular,
and the r real coordinates have this variance each. So the divergence of these concentric mixtures
(:mod:`.signal_lower_bound`) is at most that of y. The state is shown and independent of
the data: the outcomes of all states, each with the probability of its state, are one pair of laws. A state whose signal is not
used counts as one outcome with the same probability under both.

A channel with one state has better codes: those with which the others' part of :math:`u^*Y/u^*a_k` is :math:`-\theta` times the
noise variance that they add there, along the code of device k. Their sum is a function of :math:`v_S`, as for one look
(:mod:`.signal_lower_bound`), and :math:`\theta` is at most the least of :math:`c_j|u^*a_k|/\sigma_j^2|u^*a_j|`, with :math:`c_j`
the greatest norm of the code of j; a complex code takes the phase that the channel needs. Over several states such codes would
have to depend on the state, which data do not: there they are zero.

The combination is that of theorem V1 for the mean covariance, :math:`u = (\sum_{j\ne k}p_j\sigma_j^2a_ja_j^* + NI)^{-1}a_k`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray
from airtight.analytics.inference.channel import Looks
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete, discrete
from airtight.analytics.privacy.over_the_air.participation_mixture.signal_lower_bound import (
    BEYOND_CELLS,
    LOSS_ERROR,
    SignalTest,
    merged,
    most_telling,
    rarest_of,
)
from airtight.analytics.rounding import UNIT

SETS = 512  # of the others, that are enumerated; with more there is no lower end
EFFORT = 1 << 12  # pairs of a state and a set; of more states the ones that show most are used
_BLURRED = 1e-6  # error of the loss of an outcome from which codes are not used
_COARSE = 3  # by which the number of cells of y is divided, in either direction
_REACH = (
    2e3  # of the squared norm of y beyond its dimension, in units of its variance, where outcomes are not negligible
)


def attained_pair(
    scaled: InferenceSystem, drawn: Looks, *, noise: float, device: int, delta: float, unit: str = ""
) -> Discrete | None:
    """A pair of laws on finitely many outcomes that the server attains who sees y and the channel; None where none is known.

    Parameters
    ----------
    scaled : InferenceSystem
        Normalised; its noise variances are those at amplitude 1.
    drawn : Looks
        Coefficients of all states.
    noise : float
        N, of every look, in the same units.
    device : int
    delta : float
        At which the pair should tell much, and which says how far its outcomes reach. Any value is valid.
    unit : str
    """
    p, s = scaled.participation, scaled.received_noise_variance
    others = np.flatnonzero((p > 0) & (s > 0) & (np.arange(p.size) != device))
    random = others[p[others] < 1]
    if 1 << random.size > SETS or p[device] == 0 or scaled.sensitivity[device] + s[device] == 0:
        return None
    sets = (np.arange(1 << random.size)[:, None] >> np.arange(random.size)) & 1 > 0
    weights = np.prod(np.where(sets, p[random], 1 - p[random]), axis=1)
    present = np.zeros((sets.shape[0], p.size))
    present[:, others] = 1.0
    present[:, random] = sets
    v, ratio, error, trusted = _noises(drawn.coefficients, s * p, s, noise, device, present, scaled.dimension)
    states = np.flatnonzero(trusted)
    mean_precision = np.mean(weights / np.where(v > 0, v, 1.0), axis=1)
    chosen_states = states[np.argsort(-mean_precision[states], kind="stable")][: max(EFFORT // sets.shape[0], 1)]
    laws, loss_error = list[tuple[FloatArray, FloatArray]](), LOSS_ERROR
    code = scaled.alignment * scaled.weight * scaled.clip
    for state in chosen_states:
        mixture = SignalTest(
            v[state],
            weights,
            0.0,
            float(p[device]),
            float(scaled.sensitivity[device]) * (1 - 1e-14),
            float(s[device]),
            scaled.dimension,
            scaled.adjacency,
            float(error[state]),
        )
        if len(v) == 1 and random.size:
            with np.errstate(divide="ignore", over="ignore"):
                steepest = float(np.min(code[random] / (s[random] * ratio[state, random])))
            steepest = steepest * (1 - float(error[state]) - 16 * UNIT) if np.isfinite(steepest) else 0.0
            level = BEYOND_CELLS * delta
            tilted = [test for test in mixture.tilted(steepest, rarest_of(level)) if test.loss_error(level) <= _BLURRED]
            mixture = most_telling(tilted or [mixture], delta, _COARSE)
            loss_error = mixture.loss_error(level)
        laws.append(mixture.outcomes(BEYOND_CELLS * delta, _COARSE)[:2])
    if not laws:
        return None
    count = len(drawn.coefficients)
    unused = np.full(1, 1 - chosen_states.size / count)
    first, second = (np.concatenate([unused, *(law[i] / np.sum(law[i]) / count for law in laws)]) for i in (0, 1))
    first, second = merged(first, second) if len(laws) > 1 else (first, second)
    return discrete(first / np.sum(first), second / np.sum(second), unit, loss_error) if first.size > 1 else None


def _noises(
    a: NDArray[Any], mean: FloatArray, s: FloatArray, noise: float, device: int, present: FloatArray, dimension: int
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """Of every state: v of every set, the amplitudes beside that of the device, a relative error, whether it is small enough."""
    K, L = a.shape[1:]
    weight = np.where(np.arange(K) == device, 0.0, mean)
    length = np.sqrt(np.sum(np.abs(a) ** 2, axis=2))
    with np.errstate(all="ignore"):
        V = np.swapaxes(a * weight[:, None], 1, 2) @ a.conj()
        V[:, np.arange(L), np.arange(L)] += (noise + 1e-14 * np.sum(weight * length**2, axis=1) / L)[:, None]
        solvable = np.all(np.isfinite(V), axis=(1, 2)) & (noise > 0) & (length[:, device] > 0)
        u = np.zeros((a.shape[0], L), dtype=a.dtype)
        u[solvable] = np.linalg.solve(V[solvable], a[solvable][:, device, :, None])[..., 0]
        size = np.sqrt(np.sum(np.abs(u) ** 2, axis=1))
        u = u / np.where(size > 0, size, 1.0)[:, None]
        response = np.abs(np.einsum("skl,sl->sk", a.conj(), u))
        response_error = 4 * (L + 4) * UNIT * length  # of each of them
        device_response = response[:, device]
        v = ((response**2 * s) @ present.T + noise) / device_response[:, None] ** 2
        blur = (((2 * response + response_error) * response_error * s) @ present.T) / device_response[:, None] ** 2 / v
        error = np.max(blur, axis=1) + 4 * response_error[:, device] / device_response + (K + L + 16) * UNIT
        # an error of v by a share changes the loss of an outcome by this share of the squared norm and the dimension
        trusted = solvable & np.all(np.isfinite(v) & (v > 0), axis=1) & (error * (dimension + _REACH) < LOSS_ERROR / 40)
        ratio = response / device_response[:, None]
    return np.where(trusted[:, None], v, 1.0), ratio, error, trusted
