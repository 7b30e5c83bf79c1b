r"""The classification margin (FDP Definition 3): how far the pooled feature may move before its label changes.

A classifier is a list of layers ``(W, b)`` with ReLU between them; its outputs are logits. One layer is a linear classifier,
whose margin is known exactly; for deeper ones there are lower bounds from Lipschitz constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics.checks import FloatArray, ParameterError, count, real

Layers = Sequence[tuple[ArrayLike, ArrayLike]]
Norm = Callable[[FloatArray], float]
_Checked = list[tuple[FloatArray, FloatArray]]
_SAFE = 1 - 1e-12  # the rounding of norms is given away


def logits(layers: Layers, f: ArrayLike) -> FloatArray:
    """Outputs of the ReLU network at a feature, shape (L,).

    Examples
    --------
    >>> logits([(np.eye(2), [0.0, 0.0]), ([[1.0, -1.0], [0.0, 2.0]], [0.0, 0.5])], [3.0, -1.0])
    array([3. , 0.5])
    """
    return _forward(_checked(layers, f)[0], real("f", f))


def exact_linear(layers: Layers, f: ArrayLike, *, label: int | None = None) -> float:
    r"""The margin of a linear classifier, exactly: :math:`\min_{j\ne i}(l_i - l_j)/\|W_i - W_j\|_2`.

    Parameters
    ----------
    layers : sequence of one (W, b)
        W of shape (L, d), b of shape (L,).
    f : array_like, shape (d,)
        Feature.
    label : int, optional
        Its label; that of the greatest logit by default.

    Returns
    -------
    float
        0 when another label has at least the logit of this one; infinite when no other label can ever win. Rounded down by
        1e-12.

    Examples
    --------
    >>> round(exact_linear([(np.eye(2), [0.0, 0.0])], [1.0, 0.0]), 9)
    0.707106781
    """
    checked, feature = _checked(layers, f)
    if len(checked) != 1:
        raise ParameterError("layers", len(checked), "one layer, for an exact margin")
    return _last_layer(checked, _forward(checked, feature), label, 1.0)


def layerwise_bound(layers: Layers, f: ArrayLike, *, label: int | None = None) -> float:
    r"""A lower bound on the margin: :math:`\min_j (l_i - l_j)/(\|(W_L)_i - (W_L)_j\|_2\prod_{\ell<L}\|W_\ell\|_2)`.

    Exact for one layer; never below :func:`spectral_bound`.

    Notes
    -----
    *Hypotheses.* (Ledger FDP-L1*.) The logits are l, the label i; activations are 1-Lipschitz, as ReLU is.

    Activations are 1-Lipschitz, so the last hidden layer moves by at most the product of the spectral norms times the step,
    and the difference of two logits by the norm of the difference of their rows times that. The label changes to j only where
    that difference has come from :math:`l_i - l_j` to 0. In Coq: `FDP_L1_star` of `formal/feature_dp_general.v`, for any
    layers with one activation, where no quotient is by 0.

    Examples
    --------
    >>> round(layerwise_bound([(2 * np.eye(2), [0.0, 0.0]), (np.eye(2), [0.0, 0.0])], [1.0, 0.0]), 9)
    0.707106781
    """
    checked, feature = _checked(layers, f)
    growth = float(np.prod([np.linalg.norm(W, 2) for W, _ in checked[:-1]]))
    return _last_layer(checked, _forward(checked, feature), label, growth)


def spectral_bound(layers: Layers, f: ArrayLike, *, label: int | None = None) -> float:
    r"""Lemma 1 with spectral norms: :math:`\sqrt2\min_j(P_i - P_j)/\prod_\ell\|W_\ell\|_2`, P the softmax of the logits.

    Notes
    -----
    *Hypotheses.* (Ledger FDP-L1.) Activations are 1-Lipschitz; :math:`P` and :math:`P'` are the softmax at the feature and at
    one with another label, :math:`\delta_i` the unit vectors. Frobenius norms, as the paper has them, are no less than
    spectral ones.

    Softmax is 1/2-Lipschitz: of its Jacobian :math:`J = \operatorname{diag}(P) - PP^T`, :math:`v^TJv` is the variance of v under
    P, at most a quarter of the square of its range, hence at most :math:`\|v\|^2/2`. Logits move by at most
    :math:`\prod_\ell\|W_\ell\|_2` times the step :math:`\Delta`. Where the label changes to j, :math:`P'_j \ge P'_i`, so

    .. math:: P_i - P_j \le (\delta_i - \delta_j)^T(P - P') \le \sqrt2\,\|P - P'\|
              \le \tfrac{\sqrt2}2\,\Delta\prod_\ell\|W_\ell\|_2 .

    In Coq: `FDP_L1` of `formal/feature_dp_general.v`, for any layers with one activation, any norms that are at least the
    spectral ones, and where no quotient is by 0.

    Examples
    --------
    >>> round(spectral_bound([(np.eye(2), [0.0, 0.0])], [1.0, 0.0]), 9)
    0.653532351
    """
    return _softmax_bound(layers, f, label, _spectral) * _SAFE


def published(layers: Layers, f: ArrayLike, *, label: int | None = None) -> float:
    r"""FDP Lemma 1, Eq. (14), with J the softmax probabilities: :func:`spectral_bound` with Frobenius norms.

    True for 1-Lipschitz activations (ledger FDP-L1), and loose; with logits in the place of probabilities it is false, see
    :func:`published_with_logits`.

    Examples
    --------
    >>> round(published([(np.eye(2), [0.0, 0.0])], [1.0, 0.0]), 9)
    0.462117157
    """
    return _softmax_bound(layers, f, label, _frobenius)


def published_with_logits(layers: Layers, f: ArrayLike, *, label: int | None = None) -> float:
    """FDP Lemma 1 with J read as the logits. **False**, see ledger FDP-L1-logits.

    Examples
    --------
    >>> published_with_logits([(np.eye(2), [0.0, 0.0])], [1.0, 0.0])  # the margin is 0.7071
    1.0
    """
    checked, feature = _checked(layers, f)
    outputs = _forward(checked, feature)
    return _ratio(math.sqrt(2) * _gap(outputs, _label(outputs, label)), _product(checked, _frobenius))


def _softmax_bound(layers: Layers, f: ArrayLike, label: int | None, norm: Norm) -> float:
    checked, feature = _checked(layers, f)
    outputs = _forward(checked, feature)
    probabilities = np.exp(outputs - outputs.max())
    probabilities /= probabilities.sum()
    gap = _gap(probabilities, _label(outputs, label))
    return _ratio(math.sqrt(2) * gap, _product(checked, norm))


def _spectral(W: FloatArray) -> float:
    return float(np.linalg.norm(W, 2))


def _frobenius(W: FloatArray) -> float:
    return float(np.linalg.norm(W))


def _product(layers: _Checked, norm: Norm) -> float:
    return float(np.prod([norm(W) for W, _ in layers]))


def _checked(layers: Layers, f: ArrayLike) -> tuple[_Checked, FloatArray]:
    """Layers and feature as arrays that fit together."""
    feature = real("f", f)
    if feature.ndim != 1 or not feature.size:
        raise ParameterError("f", f"array of shape {feature.shape}", "one axis of at least one number")
    if not layers:
        raise ParameterError("layers", layers, "at least one pair (W, b)")
    checked: _Checked = []
    width = feature.size
    for i, (weight, bias) in enumerate(layers):
        W, b = real(f"layers[{i}].W", weight), real(f"layers[{i}].b", bias)
        if W.ndim != 2 or W.shape[1] != width or b.shape != W.shape[:1]:
            allowed = f"W of shape (n, {width}) and b of shape (n,)"
            raise ParameterError(f"layers[{i}]", f"shapes {W.shape}, {b.shape}", allowed)
        checked.append((W, b))
        width = W.shape[0]
    if width < 2:
        raise ParameterError("layers", f"{width} output", "a last layer of at least two labels")
    return checked, feature


def _forward(layers: _Checked, f: FloatArray) -> FloatArray:
    for W, b in layers[:-1]:
        f = np.maximum(W @ f + b, 0.0)
    W, b = layers[-1]
    return np.asarray(W @ f + b)


def _label(outputs: FloatArray, label: int | None) -> int:
    if label is None:
        return int(np.argmax(outputs))
    return count("label", label, f"[0, {outputs.size - 1}]")


def _gap(outputs: FloatArray, label: int) -> float:
    """By how much the label leads; 0 when it does not."""
    return max(float(outputs[label] - np.max(np.delete(outputs, label))), 0.0)


def _last_layer(layers: _Checked, outputs: FloatArray, label: int | None, growth: float) -> float:
    i = _label(outputs, label)
    W = layers[-1][0]
    lead = outputs[i] - np.delete(outputs, i)
    speed = np.linalg.norm(W[i] - np.delete(W, i, axis=0), axis=1) * growth
    return min(_ratio(max(float(a), 0.0), float(b)) for a, b in zip(lead, speed, strict=True)) * _SAFE


def _ratio(lead: float, speed: float) -> float:
    """How far one can go before the lead is used up."""
    if lead == 0:
        return 0.0
    return lead / speed if speed > 0 else np.inf
