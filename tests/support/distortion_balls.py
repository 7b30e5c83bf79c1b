"""The exact MSE in ball arithmetic: every float of system and features is the number that it exactly is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import flint

from airtight.analytics.forms.balls.ball import Ball, ball, refine
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem


def mse(system: InferenceSystem, features: Features, *, gain: Sequence[float] | None = None, digits: int = 15) -> Ball:
    """Enclosure of :func:`airtight.analytics.inference.distortion.exact`, clipping included; O(K r d) ball operations.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> round(float(mse(*_lossless()).mid()), 12)
    0.725
    """
    matched(system, features)
    amplitudes = [Fraction(1)] * system.devices if gain is None else [Fraction(x) for x in gain]
    return refine(lambda: _mse(system, features, amplitudes), digits=digits)


def _mse(system: InferenceSystem, features: Features, gain: list[Fraction]) -> Ball:
    K, d = features.f.shape
    decoder = flint.arb_mat(features.D.tolist()) * ball(system.decoder_gain)
    mean, presence = [flint.arb(0)] * d, flint.arb(0)
    target = [sum((ball(float(x)) for x in column), flint.arb(0)) / K for column in features.f.T]
    for k in range(K):
        encoder = features.W if features.W.ndim == 2 else features.W[k]
        code = flint.arb_mat(encoder.tolist()) * flint.arb_mat([[x] for x in features.f[k].tolist()])
        length, clip = _square(code.entries()).sqrt(), ball(float(system.clip[k]))
        scale = (clip / length).min(flint.arb(1)) if not length <= clip else flint.arb(1)
        sent = [ball(float(system.weight[k])) * ball(gain[k]) * scale * x for x in (decoder * code).entries()]
        p = ball(float(system.participation[k]))
        mean = [a + p * b for a, b in zip(mean, sent, strict=True)]
        presence += p * (1 - p) * _square(sent)
    bias = _square([a - b for a, b in zip(mean, target, strict=True)])
    noises = zip(system.noise_variance.tolist(), system.participation.tolist(), gain, strict=True)
    heard = sum((g * g * Fraction(s) * (1 if system.idle_noise else Fraction(p)) for s, p, g in noises), Fraction(0))
    floor = Fraction(system.receiver_noise_variance) / Fraction(system.alignment) ** 2
    return bias + presence + ball(heard + floor) * _square(decoder.entries())


def _square(values: list[Ball]) -> Ball:
    """Of the norm."""
    return sum((x * x for x in values), flint.arb(0))
