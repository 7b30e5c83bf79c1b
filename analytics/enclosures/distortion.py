"""The exact MSE in ball arithmetic: every float of system and features is the number that it exactly is."""

from __future__ import annotations

from fractions import Fraction

import flint

from analytics.enclosures.ball import Ball, ball, refine
from analytics.inference.features import Features, matched
from analytics.inference.system import InferenceSystem


def mse(system: InferenceSystem, features: Features, *, digits: int = 15) -> Ball:
    """Enclosure of :func:`analytics.inference.distortion.exact`, clipping included; O(K r d) ball operations.

    Examples
    --------
    >>> from analytics.inference.distortion import _lossless
    >>> round(float(mse(*_lossless()).mid()), 12)
    0.725
    """
    matched(system, features)
    return refine(lambda: _mse(system, features), digits=digits)


def _mse(system: InferenceSystem, features: Features) -> Ball:
    K, d = features.f.shape
    decoder = flint.arb_mat(features.D.tolist())
    mean, presence = [flint.arb(0)] * d, flint.arb(0)
    target = [sum((ball(float(x)) for x in column), flint.arb(0)) / K for column in features.f.T]
    for k in range(K):
        encoder = features.W if features.W.ndim == 2 else features.W[k]
        code = flint.arb_mat(encoder.tolist()) * flint.arb_mat([[x] for x in features.f[k].tolist()])
        length, clip = _norm(code), ball(float(system.clip[k]))
        scale = (clip / length).min(flint.arb(1)) if not length <= clip else flint.arb(1)
        sent = [ball(float(system.weight[k])) * scale * x for x in (decoder * code).entries()]
        p = ball(float(system.participation[k]))
        mean = [a + p * b for a, b in zip(mean, sent, strict=True)]
        presence += p * (1 - p) * sum((x * x for x in sent), flint.arb(0))
    bias = sum(((a - b) * (a - b) for a, b in zip(mean, target, strict=True)), flint.arb(0))
    heard = sum(
        (Fraction(float(s)) * (1 if system.idle_noise else Fraction(float(p))) for s, p in _noises(system)), Fraction(0)
    )
    floor = Fraction(system.receiver_noise_variance) / Fraction(system.alignment) ** 2
    square = sum((x * x for x in decoder.entries()), flint.arb(0))
    return bias + presence + ball(heard + floor) * square


def _noises(system: InferenceSystem) -> zip[tuple[float, float]]:
    return zip(system.noise_variance.tolist(), system.participation.tolist(), strict=True)


def _norm(column: flint.arb_mat) -> Ball:
    return sum((x * x for x in column.entries()), flint.arb(0)).sqrt()
