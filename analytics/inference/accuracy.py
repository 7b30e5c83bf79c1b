r"""How often the classification is right: Markov's bound as in Theorem 2, and the probability it is a bound for.

The label is right when it is right in the ideal case (probability :math:`P_0`) and the decoded feature stays within the
margin: :math:`P_0\Pr(\|\hat f - f^*\| \le \Delta)`, when target and errors are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, broadcast, real
from airtight.analytics.distributions import quadratic_form
from airtight.analytics.distributions.poisson_binomial import binomial
from airtight.analytics.estimate import Interval, mean_interval
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem

_MOST_SETS = 1 << 14
_SAMPLES = 1 << 13
_FAILURE = 1e-3
_ROWS = 1 << 10
_NEGLIGIBLE = 1e-14  # relative to the distances compared: noise of a smaller standard deviation is ignored
_LEAST_UNIT = 1e-290  # least unit of length: features in units of a smaller margin could overflow
_FAINTEST = 1e-20  # relative to the distances compared: least standard deviation of the noise on an axis
_EQUAL = 1e-13  # relative: singular values of the decoder that differ by less count as equal


def markov(mse: ArrayLike, *, margin: ArrayLike, ideal_accuracy: ArrayLike = 1.0) -> FloatArray:
    r"""FDP Theorem 2, Eq. (13): :math:`\max\{0, P_0(1 - \mathrm{MSE}/\Delta^2)\}`.

    It holds if `mse` is the exact MSE or an upper bound, and MSE and margin are the same for all targets (ledger FDP-T2).

    Parameters
    ----------
    mse : array_like
        At least 0; may be infinite.
    margin : array_like
        Delta > 0.
    ideal_accuracy : array_like
        P_0 in [0, 1].

    Examples
    --------
    >>> float(markov(0.5, margin=1.0, ideal_accuracy=0.9))
    0.45
    """
    error, radius, ideal = _checked(mse, margin, ideal_accuracy)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        return np.asarray(ideal * np.maximum(1 - error / radius / radius, 0.0))[()]


def short_paper(mse: ArrayLike, *, margin: ArrayLike, ideal_accuracy: ArrayLike = 1.0) -> FloatArray:
    r"""FDPs Theorem 2, Eq. (10), as printed: :math:`\max[0, P_0(1 - (\mathrm{MSE}/\Delta)^2)]`. **False**, ledger FDPs-T2.

    Its Remark 2 bounds the squared distance by Delta, for which Markov's inequality gives 1 - MSE/Delta.

    Examples
    --------
    >>> float(short_paper(0.5, margin=1.0))
    0.75
    """
    error, radius, ideal = _checked(mse, margin, ideal_accuracy)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(ideal * np.maximum(1 - (error / radius) ** 2, 0.0))[()]


def cantelli(mse: ArrayLike, *, variance: ArrayLike, margin: ArrayLike, ideal_accuracy: ArrayLike = 1.0) -> FloatArray:
    r"""Cantelli's bound, sharper than Markov's when the squared error varies little.

    .. math:: P_0\Bigl(1 - \frac{V}{V + (\Delta^2 - \mathrm{MSE})^2}\Bigr)\ \text{for}\ \Delta^2 > \mathrm{MSE},\ \text{else } 0.

    Parameters
    ----------
    variance : array_like
        V >= 0, variance of the squared error.

    Examples
    --------
    >>> float(cantelli(0.5, variance=0.01, margin=1.0))
    0.96153...
    """
    error, radius, ideal = _checked(mse, margin, ideal_accuracy)
    variances = real("variance", variance, "[0, inf)")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ahead = np.maximum(radius * radius - error, 0.0)
        return np.asarray(np.where(ahead > 0, ideal / (1 + variances / ahead / ahead), 0.0))[()]


def _checked(mse: ArrayLike, margin: ArrayLike, ideal_accuracy: ArrayLike) -> tuple[FloatArray, ...]:
    return broadcast(
        mse=real("mse", mse, "[0, inf]"),
        margin=real("margin", margin, "(0, inf)"),
        ideal_accuracy=real("ideal_accuracy", ideal_accuracy, "[0, 1]"),
    )


def exact(
    system: InferenceSystem,
    features: Features,
    *,
    margin: float,
    ideal_accuracy: float = 1.0,
    rng: np.random.Generator | None = None,
) -> Interval:
    r""":math:`P_0\Pr(\|\hat f - f^*\| \le \Delta)`; see :func:`within_margin`.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> exact(*_lossless(), margin=1.5, ideal_accuracy=0.9).estimate
    0.86...
    """
    ideal = checks.scalar("ideal_accuracy", ideal_accuracy, "[0, 1]")
    inside = within_margin(system, features, margin=margin, rng=rng)
    return Interval(ideal * inside.estimate, ideal * inside.lower, ideal * inside.upper)


def within_margin(
    system: InferenceSystem, features: Features, *, margin: float, rng: np.random.Generator | None = None
) -> Interval:
    r"""Probability that the decoded feature stays within the margin: :math:`\Pr(\|\hat f - f^*\| \le \Delta)`.

    Given the participants the error is Gaussian, its squared norm a sum of weighted noncentral chi-squares
    (:mod:`airtight.analytics.distributions.quadratic_form`). Equal devices count once, by their number; up to 16 384 sets of
    participants are added up, beyond that sets are drawn and the interval has confidence 99.9 %.

    Parameters
    ----------
    system : InferenceSystem
    features : Features
    margin : float
        Delta > 0.
    rng : numpy.random.Generator, optional
        For the sets that are drawn; a fresh one of seed 0 by default.

    Returns
    -------
    Interval
        Estimate and ends; equal, with absolute error below 1e-10, when nothing was drawn.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> inside = within_margin(*_lossless(), margin=1.5)
    >>> inside.lower == inside.estimate
    True
    """
    radius = checks.scalar("margin", margin, "(0, inf)")
    with np.errstate(over="ignore"):  # what overflows in units of the margin is beyond it
        groups = _Groups.of(system, features, radius)
    sizes = groups.multiplicity + 1
    if math.prod(map(int, sizes)) <= _MOST_SETS:
        counts = np.indices(tuple(sizes)).reshape(sizes.size, -1).T
        laws = [
            binomial(int(n), float(p)).dense(int(n) + 1) for n, p in zip(groups.multiplicity, groups.p, strict=True)
        ]
        chance = np.prod([law[counts[:, c]] for c, law in enumerate(laws)], axis=0)
        counts, chance = counts[chance > 0], chance[chance > 0]
        value = min(float(chance @ groups.inside(counts)), 1.0)
        return Interval(value, value, value)
    generator = np.random.default_rng(0) if rng is None else rng
    counts = generator.binomial(groups.multiplicity, groups.p, (_SAMPLES, sizes.size))
    return mean_interval(groups.inside(counts), _FAILURE)


@dataclass(frozen=True)
class _Groups:
    """Groups of equal devices, and the decoder's axes. The unit of length is the margin, or 1e-290 if that is greater.

    Attributes
    ----------
    p, noise, multiplicity : ndarray, shape (C,)
    signal : ndarray, shape (C, rank)
        w_k a_k of a device, along the decoder's left singular vectors.
    target : ndarray, shape (rank,)
        f* along the same; ``beyond`` is the squared length of the rest.
    axes : ndarray
        First index of each run of equal singular values; ``singular`` and ``degrees`` hold value and length of each run.
    floor : float
        Noise variance that is there whoever takes part.
    margin_square : float
    """

    p: FloatArray
    noise: FloatArray
    multiplicity: checks.IntArray
    signal: FloatArray
    target: FloatArray
    beyond: float
    axes: checks.IntArray
    singular: FloatArray
    degrees: FloatArray
    floor: float
    margin_square: float

    @classmethod
    def of(cls, system: InferenceSystem, features: Features, radius: float) -> _Groups:
        """Gather what the error depends on."""
        heard, unit = matched(system, features), max(radius, _LEAST_UNIT)
        left, singular = features.decoder_svd
        singular = system.decoder_gain * singular
        rank = int(np.sum(singular > 0))
        left, singular = left[:, :rank], singular[:rank]
        signal = system.weight[:, None] * (heard.decoded(system.clip) @ left) / unit
        noise = np.zeros(system.devices) if system.idle_noise else system.noise_variance
        rows = np.column_stack([system.participation, noise, signal])
        distinct, multiplicity = np.unique(rows, axis=0, return_counts=True)
        target = features.target @ left / unit
        rest = features.target / unit - left @ target
        fresh = np.concatenate([[True], singular[1:] < singular[:-1] * (1 - _EQUAL)]) if rank else np.zeros(0, bool)
        axes = np.flatnonzero(fresh)
        floor = system.decoded_receiver_noise
        if system.idle_noise:
            floor += float(np.sum(system.noise_variance))
        return cls(
            p=distinct[:, 0],
            noise=distinct[:, 1],
            multiplicity=multiplicity,
            signal=distinct[:, 2:],
            target=target,
            beyond=float(rest @ rest),
            axes=axes,
            singular=singular[axes] / unit,
            degrees=np.diff(np.append(axes, rank)).astype(float),
            floor=floor,
            margin_square=(radius / unit) ** 2,
        )

    def inside(self, counts: checks.IntArray) -> FloatArray:
        """Pr(norm of the error <= margin), given how many of each group take part; one value a row."""
        return np.concatenate([self._inside(counts[i : i + _ROWS]) for i in range(0, len(counts), _ROWS)])

    def _inside(self, counts: checks.IntArray) -> FloatArray:
        mean = counts @ self.signal - self.target
        room = self.margin_square - self.beyond
        with np.errstate(over="ignore", under="ignore"):
            mean_square = np.sum(mean * mean, axis=1)
            variances = (np.sqrt(counts @ self.noise + self.floor)[:, None] * self.singular) ** 2
        greatest, distance = np.max(variances, axis=1, initial=0.0), mean_square + max(room, 0.0)
        out = (mean_square <= room).astype(float)
        noisy = (greatest > _NEGLIGIBLE**2 * distance) & (greatest < np.inf)
        out[greatest == np.inf] = 0.0
        if self.axes.size and np.any(noisy):
            coefficients = np.maximum(variances[noisy], _FAINTEST**2 * distance[noisy, None])
            out[noisy] = quadratic_form.cdf(
                np.full(len(coefficients), room),
                weight=coefficients,
                degrees=self.degrees,
                noncentrality=np.add.reduceat(mean[noisy] ** 2, self.axes, axis=1) / coefficients,
            )
        return np.asarray(out, dtype=np.float64)
