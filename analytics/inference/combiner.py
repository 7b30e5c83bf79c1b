r"""The best linear combination of the looks of a server, and the error of what it then decodes (theorem V7).

The server forms :math:`\hat f = D\,\sum_l u_lY_l` (divided by the alignment) for one u, known channel and, where the channel
decides it, known participants. With :math:`A_j` the matrix for which :math:`A_ju` is what u makes of the decoded code
:math:`Dz_j` of device j, and :math:`|g_j(u)|^2 = u^TR_ju` the power with which its noise arrives,

.. math:: \mathrm{MSE}(u) = \Bigl|\sum_jp_jw_jA_ju - f^*\Bigr|^2 + \sum_jp_j(1-p_j)w_j^2|A_ju|^2
          + \Bigl(\sum_jq_j\sigma_j^2\,u^TR_ju + N|u|^2\Bigr)\|D\|_F^2,

a convex quadratic form in u. For real codes :math:`A_j = Dz_j\,a_j^T`, :math:`R_j = a_ja_j^T`. For complex codes u has a real
and an imaginary part; the coordinates 2i and 2i + 1 are one symbol, J multiplies every symbol by the imaginary unit, and with
:math:`a = a' + ia''`, :math:`A_j = Dz_j\,(a', a'')^T + DJz_j\,(a'', -a')^T`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray
from airtight.analytics.inference import distortion
from airtight.analytics.inference.channel import Channel, Looks
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.rounding import UNIT

_CUT = 1e-13  # share of the greatest eigenvalue below which a direction of u carries rounding only


@dataclass(frozen=True)
class Combiner:
    """The error of the best combination in each state.

    Attributes
    ----------
    combination : ndarray, shape (states, L)
        u; complex where the looks are.
    mse : ndarray, shape (states,)
        Given the state; its mean is that over the states.
    least : ndarray, shape (states,)
        A proved lower bound of the MSE of every combination; 0 where nothing better is known.
    """

    combination: NDArray[Any]
    mse: FloatArray
    least: FloatArray


def best(system: InferenceSystem, features: Features, channel: Channel) -> Combiner:
    r"""The combination of least MSE in every state of a channel, and this MSE.

    Parameters
    ----------
    system : InferenceSystem
        With the participation that the power limit decides (:meth:`Channel.with_participation`).
    features : Features
    channel : Channel

    Notes
    -----
    The MSE is that of the combination returned, evaluated by the formula above as a sum of squares, so that an inaccurate
    solution of the normal equations shows in it. The gain on the decoder is part of u, so ``decoder_gain`` plays no role. The
    output that ignores y is u = 0, so the MSE never exceeds that of it.

    *Lower bound.* The MSE is a quadratic form in u with a Hessian of at least 2m, :math:`m = N\|D\|_F^2`. Where its gradient
    is G, no u has less than the MSE there minus :math:`|G|^2/(4m)`. Rounding is added to both.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> system, views = _lossless()
    >>> [round(float(best(system, views, Channel(antennas=M)).mse[0]), 4) for M in (1, 2, 8)]
    [0.32, 0.3, 0.2818]
    """
    return at_states(system, features, channel.draw(system))


def whole_mse(system: InferenceSystem, features: Features) -> float:
    """The exact mean squared error of a round, the system's channel counted.

    Where the server receives every device once, it is that of its decoder
    (:func:`airtight.analytics.inference.distortion.exact`), and elsewhere the mean over the states of :func:`best`.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> system, views = _lossless()
    >>> [round(whole_mse(system.replace(channel=Channel(antennas=M)), views), 4) for M in (1, 8)]
    [0.725, 0.2818]
    """
    if system.channel is None or system.channel.one_look:
        return float(distortion.exact(system, features))
    return float(np.mean(best(system, features, system.channel).mse))


def at_states(system: InferenceSystem, features: Features | Sequence[Features], drawn: Looks) -> Combiner:
    """The same for states that are given; of several tasks of one codec the mean of the MSE over them is least."""
    tasks = (features,) if isinstance(features, Features) else tuple(features)
    a, share = drawn.coefficients, 1 / np.sqrt(len(tasks))
    target = share * np.concatenate([task.target for task in tasks])
    each = [_decoded(system, task, parts=np.iscomplexobj(a)) for task in tasks]
    squared = each[0][1]
    N = drawn.receiver_noise_variance / system.alignment / system.alignment
    parts = [a.real]
    if np.iscomplexobj(a):
        parts = [np.concatenate([a.real, a.imag], axis=2), np.concatenate([a.imag, -a.real], axis=2)]
    decoded = [share * np.concatenate([one[0][i] for one in each], axis=1) for i in range(len(parts))]
    states = a.shape[0]
    u, mse, least = np.empty((states, parts[0].shape[2])), np.empty(states), np.zeros(states)
    for s in range(states):
        p = system.participation if drawn.sends is None else drawn.sends[s].astype(float)
        sends = np.ones_like(p) if system.idle_noise else p
        A = sum(d[:, :, None] * part[s][:, None, :] for d, part in zip(decoded, parts, strict=True))  # (K, d, L)
        mean = np.einsum("k,kdl->dl", p * system.weight, A)
        roll = (np.sqrt(p * (1 - p)) * system.weight)[:, None, None] * A
        noise = np.concatenate([np.sqrt(sends * system.noise_variance * squared)[:, None] * part[s] for part in parts])
        rest = np.sqrt(N * squared) * np.eye(mean.shape[1])
        rows = np.concatenate([mean, roll.reshape(-1, mean.shape[1]), noise, rest])
        goal = np.concatenate([target, np.zeros(rows.shape[0] - target.size)])
        u[s] = np.linalg.lstsq(rows, goal, rcond=_CUT)[0]
        remainder = rows @ u[s] - goal
        reached = float(np.sum(remainder**2))
        mse[s] = min(reached, float(target @ target))
        size, rounding = float(np.linalg.norm(rows)), (rows.shape[1] + np.log2(rows.shape[0]) + 32) * UNIT
        blur = rounding * (size * float(np.linalg.norm(u[s])) + float(np.linalg.norm(goal)))  # of the remainder
        gradient = float(np.linalg.norm(remainder @ rows)) + size * (blur + rounding * np.sqrt(reached))
        if N * squared > 0:
            above = gradient * gradient / (N * squared) * (1 + 16 * UNIT)
            least[s] = max(max(np.sqrt(reached) - blur, 0.0) ** 2 * (1 - rounding) - above, 0.0)
    half = u.shape[1] // 2
    combination = u[:, :half] + 1j * u[:, half:] if np.iscomplexobj(a) else u
    return Combiner(combination, mse, np.minimum(least, mse))


def errors(system: InferenceSystem, features: Features, drawn: Looks, combination: NDArray[Any]) -> FloatArray:
    """The MSE in every state of a combination u that is given, shape (states,); the formula of this module.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> system, views = _lossless()
    >>> channel = Channel(antennas=2, states=1)
    >>> u = best(system, views, channel).combination
    >>> errors(system, views, channel.draw(system), u).round(4)
    array([0.3])
    """
    a = drawn.coefficients
    decoded, squared = _decoded(system, features, parts=np.iscomplexobj(a))
    gain = np.einsum("sl,skl->sk", combination.conj(), a)  # what u makes of each device
    p = np.broadcast_to(system.participation, gain.shape) if drawn.sends is None else drawn.sends.astype(float)
    sends = np.ones_like(p) if system.idle_noise else p
    arrives = sum(
        part[..., None] * each for part, each in zip((gain.real, gain.imag), decoded, strict=False)
    )  # (states, K, d)
    mean = np.einsum("sk,skd->sd", p * system.weight, arrives) - features.target
    roll = np.sum(p * (1 - p) * system.weight**2 * np.sum(arrives**2, axis=2), axis=1)
    N = drawn.receiver_noise_variance / system.alignment / system.alignment
    noise = np.sum(sends * system.noise_variance * np.abs(gain) ** 2, axis=1)
    noise = noise + N * np.sum(np.abs(combination) ** 2, axis=1)
    return np.asarray(np.sum(mean**2, axis=1) + roll + noise * squared)


def _decoded(system: InferenceSystem, features: Features, *, parts: bool) -> tuple[list[FloatArray], float]:
    """D z_j of every device, for complex codes D J z_j too, and the squared norm of D."""
    decoder = matched(system, features).D / system.decoder_gain
    z = features.clipped(system.clip)
    decoded = [z @ decoder.T]
    if parts:
        decoded.append(np.stack([-z[:, 1::2], z[:, 0::2]], axis=2).reshape(z.shape) @ decoder.T)
    return decoded, float(np.sum(decoder**2))
