r"""Bounds of the slope of a divergence at complex noise v, which bound the remainder of a rule for its mean over v.

Let :math:`f(v) = -\partial D/\partial v` on the real axis, d the distance of the two means, s the device's own noise and
:math:`w = v + s`. For both pairs below f has a closed form, which is analytic where it is bounded here. So D is analytic in
:math:`\log v` there, and on an ellipse about a piece of half width h, where :math:`|vf| \le M`, it differs from its value in the
middle by at most M times the greatest distance from the middle.

An ellipse is covered by boxes :math:`v_1 \le |v| \le v_2`, :math:`\theta_1 \le \arg v \le \theta_2` about the arcs of its upper
half; f is real on the real axis, so by the maximum principle these suffice. Boxes are widened by a relative 1e-6, more than any
rounding of a value of v; values are rounded outwards as said below.

Notes
-----
*Visible device* (:func:`log_slope_of_gaussian`). Own noise stays, and D is that of two Gaussians of variance w. With
:math:`\mu = d/\sqrt w` and :math:`a = \epsilon/\mu - \mu/2` one has :math:`\partial D/\partial\mu = \varphi(a)`, so

.. math:: f = \frac{d}{2w^{3/2}}\varphi(a), \qquad a^2 = \frac{\epsilon^2w}{d^2} + \frac{d^2}{4w} - \epsilon .

For :math:`w = |w|e^{i\psi}` this gives :math:`\Re a^2 = a(|w|)^2\cos\psi - 2\epsilon\sin^2(\psi/2)`, where :math:`a(|w|)` is the
value at :math:`|w|`. It falls in :math:`\psi`, and :math:`a(|w|)^2` is least at the place nearest to
:math:`d^2/2\epsilon`.

*Device whose noise leaves* (:func:`log_slope_of_pair`). In the notation of :func:`.noise_interpolant.slope_of_pair`, with
:math:`g = d^2/2s^2`, :math:`q = \text{level} + \tfrac r2\log(w/v)`, :math:`A = gv`, :math:`\Delta = wq/s + gs` and
:math:`B = R^2/2v = A + \Delta`,

.. math:: f \propto \frac{(2B)^{r/2}}{vw}\,e^{-A-B}\,\kappa^{-\nu}I_\nu(\kappa),\qquad \kappa = 2\sqrt{AB} .

f is analytic where :math:`\Re B > 0`; that it is so within the ellipse follows from its boundary, as :math:`\Re B` is harmonic.
By Poisson's integral :math:`|\kappa^{-\nu}I_\nu(\kappa)|` is at most its value at :math:`\Re\kappa`, whose logarithm is at most
:math:`-\log2^\nu\Gamma(\nu+1) + h(\Re\kappa) - h(0)`. Here :math:`h(t) - t` falls, and
:math:`\Re(\kappa - A - B) = -\Re(\sqrt B-\sqrt A)^2 = -\Re\,\Delta^2/(\sqrt A+\sqrt B)^2`, in which nothing cancels. All real and
imaginary parts are monotone on a box: :math:`\Re q` falls in :math:`|v|` and :math:`\theta`, and
:math:`-\Im q = \tfrac r2\arg(v/w)` falls in :math:`|v|` and rises in :math:`\theta`. Two complex numbers with arguments at most
:math:`\gamma` apart have a sum of at least :math:`\cos(\gamma/2)` times the sum of their moduli. Sums of terms that may cancel
are widened by 64 units of the magnitudes of these terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy import special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.rounding import UNIT

_ARCS = 24  # of half an ellipse; an even number, so that no arc goes over its top
_OPENING, _NARROWING = 0.4, 2.8  # greatest argument in an ellipse: at most the first, and the second over the root of r
VISIBLE = 1.2  # the same for a visible device
_WIDER = 1e-6  # relative widening of boxes
_ROUNDED = 1e-9  # by which a logarithm is raised, and as much of the magnitude of each term that is rounded


class Boxes(NamedTuple):
    """Boxes of complex v: bounds of its modulus and of its argument, from 0 to pi / 2."""

    least: FloatArray
    greatest: FloatArray
    first: FloatArray
    last: FloatArray


class AnalyticBound(NamedTuple):
    """Bounds of divergences about pieces of log v, shape (problems, pieces).

    On a piece a divergence differs by at most the doubt from a function that is analytic in the Bernstein ellipse rho. In this
    ellipse the function differs from a constant by at most M. The logarithms of M and of the doubt are infinite where nothing is
    proved.
    """

    rho: FloatArray
    log_largest: FloatArray
    log_doubt: FloatArray


class Smooth(Protocol):
    """Divergences that are bounded at complex v."""

    def on_pieces(self, low: FloatArray, high: FloatArray, offset: FloatArray, log_slight: FloatArray) -> AnalyticBound:
        """Bounds about pieces [low, high] of the logarithm of v plus the `offset` of each problem.

        A doubt of exp(log_slight) does not matter.
        """


class Steepness(NamedTuple):
    """How steep a divergence may be at complex v."""

    # of problems' indices and boxes, shape (problems, pieces, arcs): log of an upper bound of |v f|
    log_slope: Callable[[IntArray, Boxes], FloatArray]
    opening: float  # greatest argument in an ellipse

    def on_pieces(self, low: FloatArray, high: FloatArray, offset: FloatArray, log_slight: FloatArray) -> AnalyticBound:
        """See :class:`Smooth`."""
        half = np.maximum((high - low) / 2, 1e-300)
        rho = opened(half, self.opening)
        boxes, share = widened(arcs(low, high, rho), np.abs(offset)[:, None, None])
        log_slope = np.max(self.log_slope(np.arange(low.shape[0]), boxes) - np.log1p(-share), axis=-1)
        return AnalyticBound(rho, log_slope + np.log(half * (rho + 1 / rho) / 2), np.full(low.shape, -np.inf))


def opened(half: FloatArray, opening: float) -> FloatArray:
    """The parameter rho of the ellipses about pieces of these half widths whose greatest argument is `opening`."""
    height = np.minimum(opening / half, 1e3)
    return np.asarray(height + np.sqrt(1 + height * height))


def opening(r: float) -> float:
    """The greatest argument in an ellipse that serves a device whose noise leaves, in r dimensions."""
    return min(_OPENING, _NARROWING / float(np.sqrt(r)))


def arcs(low: FloatArray, high: FloatArray, rho: FloatArray) -> Boxes:
    """Boxes about the upper half of the ellipse rho of each piece [low, high] of log v, on a new last axis."""
    angle = np.linspace(0.0, np.pi, _ARCS + 1)
    middle, half = ((low + high) / 2)[..., None], ((high - low) / 2)[..., None]
    log_modulus = middle + half * ((rho + 1 / rho) / 2)[..., None] * np.cos(angle)
    argument = half * ((rho - 1 / rho) / 2)[..., None] * np.abs(np.sin(angle))
    ends = np.stack([argument[..., 1:], argument[..., :-1]])
    return Boxes(
        np.exp(log_modulus[..., 1:]) * (1 - _WIDER),
        np.exp(log_modulus[..., :-1]) * (1 + _WIDER),
        np.min(ends, axis=0) * (1 - _WIDER),
        np.max(ends, axis=0) * (1 + _WIDER),
    )


def widened(boxes: Boxes, distance: FloatArray) -> tuple[Boxes, FloatArray]:
    """Boxes of all v that differ from a value in these by a real number of at most `distance`, and its share of their modulus.

    The share is infinite, and nothing is proved, where it is 1 or more.
    """
    share = distance / boxes.least
    share = np.where(share < 1, share, np.inf)
    turn = np.arcsin(np.minimum(share, 1.0)) * (1 + _WIDER)
    least, greatest = (boxes.least - distance) * (1 - _WIDER), (boxes.greatest + distance) * (1 + _WIDER)
    return Boxes(least, greatest, np.maximum(boxes.first - turn, 0.0), boxes.last + turn), share


def log_slope_of_gaussian(epsilon: FloatArray, d: FloatArray, own_noise: FloatArray, boxes: Boxes) -> FloatArray:
    """log of an upper bound of ``|v f|`` for a visible device; infinite where nothing is proved."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        # modulus and argument of v + s rise in the modulus of v; the modulus falls in the argument of v, the argument rises
        cosine, sine = np.cos(boxes.last), np.sin(boxes.last)
        least = np.hypot(boxes.least * cosine + own_noise, boxes.least * sine)
        greatest = np.hypot(boxes.greatest * np.cos(boxes.first) + own_noise, boxes.greatest * np.sin(boxes.first))
        turn = np.arctan2(boxes.greatest * sine, boxes.greatest * cosine + own_noise)
        root = np.sqrt(np.clip(d * d / (2 * epsilon), least, greatest))
        nearest = epsilon * root / d - d / (2 * root)
        square = np.cos(turn) * nearest * nearest - 2 * epsilon * np.sin(turn / 2) ** 2
        bound = np.log(boxes.greatest * d / 2) - 1.5 * np.log(least) - square / 2 - 0.5 * np.log(2 * np.pi)
        bound = bound + _ROUNDED * (1 + epsilon + np.abs(square))
    return np.where((boxes.last < 1.5) & (bound == bound), bound, np.inf)


def log_slope_of_pair(signed_epsilon: FloatArray, d: FloatArray, own_noise: FloatArray, r: float, boxes: Boxes) -> FloatArray:
    """log of an upper bound of ``|v f|`` for a device whose noise leaves; infinite where nothing is proved.

    `signed_epsilon` is epsilon, or minus epsilon for the reverse divergence.
    """
    least, greatest, first, last = boxes
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        # w = v + s, by the ends of its real and imaginary part
        real_low, real_high = least * np.cos(last) + own_noise, greatest * np.cos(first) + own_noise
        imaginary_low, imaginary_high = least * np.sin(first), greatest * np.sin(last)

        def log_ratio(modulus: FloatArray, argument: FloatArray) -> FloatArray:
            """Re log(w / v)."""
            return np.asarray(np.log1p(own_noise * (2 * modulus * np.cos(argument) + own_noise) / (modulus * modulus)) / 2)

        def turned(modulus: FloatArray, argument: FloatArray) -> FloatArray:
            """arg(v / w)."""
            return np.asarray(np.arctan2(own_noise * np.sin(argument), modulus + own_noise * np.cos(argument)))

        growth_low, growth_high = r / 2 * log_ratio(greatest, last), r / 2 * log_ratio(least, first)
        blur = 64 * UNIT * (np.abs(signed_epsilon) + growth_high)
        q_low, q_high = signed_epsilon + growth_low - blur, signed_epsilon + growth_high + blur
        down_low, down_high = r / 2 * turned(greatest, first) * (1 - 64 * UNIT), r / 2 * turned(least, last) * (1 + 64 * UNIT)
        # w q, with Im q = -down
        product_low = np.minimum(real_low * q_low, real_high * q_low) + imaginary_low * down_low
        product_high = np.maximum(real_low * q_high, real_high * q_high) + imaginary_high * down_high
        across_low = np.minimum(imaginary_low * q_low, imaginary_high * q_low) - real_high * down_high
        across_high = np.maximum(imaginary_low * q_high, imaginary_high * q_high) - real_low * down_low
        pull = d * d / (2 * own_noise * own_noise)
        magnitude = (real_high + imaginary_high) * (np.maximum(np.abs(q_low), np.abs(q_high)) + down_high) / own_noise
        blur = 64 * UNIT * (magnitude + pull * (own_noise + greatest))
        # Delta and B = A + Delta, both as boxes of real and imaginary part
        delta_low = product_low / own_noise + pull * own_noise - blur
        delta_high = product_high / own_noise + pull * own_noise + blur
        delta_down, delta_up = across_low / own_noise - blur, across_high / own_noise + blur
        b_low, b_high = delta_low + pull * least * np.cos(last) - blur, delta_high + pull * greatest * np.cos(first) + blur
        b_down, b_up = delta_down + pull * imaginary_low - blur, delta_up + pull * imaginary_high + blur
        b_least, b_greatest = np.hypot(b_low, _nearest(b_down, b_up)), np.hypot(b_high, np.maximum(-b_down, b_up))
        # arguments of B and of the sum of the roots; that of a box in the right half-plane is extreme at its corners
        turn_low, turn_high = _arguments(b_low, b_high, b_down, b_up)
        root_low, root_high = np.minimum(first, turn_low) / 2, np.maximum(last, turn_high) / 2
        # the square of Delta is that of -Delta, whose real part may be the positive one
        flipped = delta_high < 0
        delta_low, delta_high = np.where(flipped, -delta_high, delta_low), np.where(flipped, -delta_low, delta_high)
        delta_down, delta_up = np.where(flipped, -delta_up, delta_down), np.where(flipped, -delta_down, delta_up)
        delta_turn_low, delta_turn_high = _arguments(delta_low, delta_high, delta_down, delta_up)
        apart = np.maximum(delta_turn_high - root_low, root_high - delta_turn_low)
        cosine = np.where(delta_low > 0, np.cos(2 * np.minimum(apart * (1 + 64 * UNIT), np.pi / 2)), -1.0)
        nearest = np.hypot(_nearest(delta_low, delta_high), _nearest(delta_down, delta_up))
        farthest = np.hypot(np.maximum(-delta_low, delta_high), np.maximum(-delta_down, delta_up))
        roots_least = (np.sqrt(pull * least) + np.sqrt(b_least)) * np.cos((root_high - root_low) / 2)
        roots_greatest = np.sqrt(pull * greatest) + np.sqrt(b_greatest)
        fall = cosine * np.where(cosine > 0, nearest / roots_greatest, farthest / roots_least) ** 2
        # Re kappa, and h(kappa) - h(0) - kappa
        turn = np.maximum(np.abs(first + turn_low), np.abs(last + turn_high)) / 2
        kappa = 2 * np.sqrt(pull * least) * np.sqrt(b_least) * np.cos(turn)
        a = (r - 1) / 2
        root = np.hypot(kappa, a)
        log_bessel = a * a / (root + kappa) - a * np.log((a + root) / (2 * a)) - a if a else 0.0
        terms = np.stack(
            np.broadcast_arrays(
                np.log(own_noise / 2), np.maximum(signed_epsilon, 0.0), r / 2 * np.log(2 * b_greatest),
                -np.log(np.hypot(real_low, imaginary_low)), -fall, log_bessel, -(r / 2 - 1) * np.log(2), -special.gammaln(r / 2),
            )
        )  # fmt: skip
        bound = np.sum(terms, axis=0) + _ROUNDED * (1 + np.sum(np.abs(terms), axis=0))
        proved = (last < 1.0) & (b_low > 0) & (turn < 1.5) & (bound == bound)
    return np.where(proved, bound, np.inf)


def _nearest(low: FloatArray, high: FloatArray) -> FloatArray:
    """The least modulus in an interval."""
    return np.asarray(np.maximum(np.maximum(low, -high), 0.0))


def _arguments(
    real_low: FloatArray, real_high: FloatArray, imaginary_low: FloatArray, imaginary_high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and greatest argument in a box of the right half-plane."""
    low = np.arctan2(imaginary_low, np.where(imaginary_low > 0, real_high, real_low))
    high = np.arctan2(imaginary_high, np.where(imaginary_high > 0, real_low, real_high))
    return low, high
