r"""The probability of staying within the margin in ball arithmetic: all sets of participants, and Ruben's series by traces.

:mod:`airtight.analytics.inference.accuracy` takes singular values of the decoder and a contour integral for each number of
equal devices. Here the decoder stays a matrix of exact rationals, and the series needs traces of powers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import flint

from airtight.analytics.forms.balls.ball import Ball, Number, ball
from airtight.analytics.forms.balls.gaussian_divergence import upper_tail
from airtight.analytics.inference.features import Features, matched
from airtight.analytics.inference.system import InferenceSystem
from support.precision import settled

_FEWEST_TERMS, _MOST_TERMS = 128, 2048
_GREATEST_PULL = 300  # squared mean in deviations beyond which the series would be slow
_FAINT = Fraction(
    1, 10**10
)  # what is left of the decoder beside it, in the Frobenius norm, when a lower rank may stand for it
_LEVELS = 3  # the greatest eigenvalue is bounded by the trace of the power 2^3


def exact(
    system: InferenceSystem, features: Features, *, margin: Number, ideal_accuracy: Number = 1, digits: int = 15
) -> Ball:
    r"""Enclosure of :func:`airtight.analytics.inference.accuracy.exact`: :math:`P_0\Pr(\|\hat f - f^*\| \le \Delta)`.

    Parameters
    ----------
    system : InferenceSystem
        At most some ten devices.
    features : Features
    margin, ideal_accuracy : number

    Returns
    -------
    arb
        Wide, and true, where the noise is so faint beside the mean error that the series is slow, unless the decoder has rank
        one or the margin is many deviations from the error.

    Notes
    -----
    Every float is the number that it exactly is. Given the set of participants the error is :math:`e = m + Dn`,
    :math:`n \sim N(0, vI_r)`, v rational. Let D = BF, B of full column rank :math:`\rho` and F of full row rank (row reduction in
    rationals), :math:`G = B^TB`, :math:`\Sigma = FF^T`, :math:`c = G^{-1}B^Tm`. Then
    :math:`\|e\|^2 = \|m - Bc\|^2 + (n'+c)^TG(n'+c)` with :math:`n' \sim N(0, v\Sigma)`, whose quadratic form has the weights
    :math:`\lambda_i` = v times the eigenvalues of :math:`\Sigma G`.

    *Series.* With :math:`P = (\Sigma G)^{-1}`-transposed, :math:`P = G^{-1}\Sigma^{-1}`, any :math:`\beta` with
    :math:`\beta P \le 1` in every eigenvalue, and :math:`X = \beta P`, Ruben's mixture
    :math:`\Pr(Q \le x) = \sum_ka_k\Pr(\chi^2_{\rho+2k} \le x/v\beta)` has

    .. math:: a_0 = e^{-c^T\Sigma^{-1}c/2v}\sqrt{\det X},\quad 2k\,a_k = \sum_{j<k}g_{k-j}a_j,\quad
              g_k = \operatorname{tr}(I-X)^k + \tfrac kvc^T\Sigma^{-1}X(I-X)^{k-1}c ,

    all :math:`a_k \ge 0` with sum 1, so that leaving out the terms from k = N on changes the probability by at most
    :math:`1 - \sum_{k<N}a_k`. The greatest eigenvalue of P is at most :math:`(\operatorname{tr}P^8)^{1/8}`.

    *Faint directions.* Where a matrix of lower rank differs from D by E, :math:`\|E\|_F \le 10^{-10}\|D\|_F`, it stands for D in
    the noise: :math:`\|En\| \le \|E\|_F\|n\|`, so the probability lies between those for margins that are less and greater by t
    times :math:`\sqrt v\|E\|_F`, but for :math:`\Pr(\chi_r > t)`.

    *Faint noise.* :math:`|\,\|n'+c\|_G - \|c\|_G| \le \sqrt{v\operatorname{tr}\Sigma G}\,\chi_\rho` by the triangle inequality,
    so the tail of :math:`\chi^2_\rho` bounds the probability from one side, and 0 or 1 from the other. For :math:`\rho = 1` the
    probability is a difference of two normal tails.

    Examples
    --------
    >>> from airtight.analytics.inference.distortion import _lossless
    >>> round(float(exact(*_lossless(), margin=1.5, ideal_accuracy=0.9).mid()), 10)
    0.8609254002
    """
    matched(system, features)
    return settled(
        lambda: ball(ideal_accuracy) * _inside(system, features, ball(margin), digits), digits=digits, most=768
    )


def _inside(system: InferenceSystem, features: Features, margin: Ball, digits: int) -> Ball:
    K = system.devices
    law = _Decoder.of(features.D.tolist(), Fraction(float(system.decoder_gain)))
    target = [sum((ball(float(x)) for x in column), flint.arb(0)) / K for column in features.f.T]
    sent = []
    for k in range(K):
        encoder = features.W if features.W.ndim == 2 else features.W[k]
        code = flint.arb_mat(encoder.tolist()) * flint.arb_mat([[x] for x in features.f[k].tolist()])
        length, clip = _square(code.entries()).sqrt(), ball(float(system.clip[k]))
        scale = (clip / length).min(flint.arb(1)) if not length <= clip else flint.arb(1)
        weight = ball(float(system.weight[k])) * scale
        sent.append([weight * x for x in (flint.arb_mat(law.D) * code).entries()])
    noise = [Fraction(float(x)) for x in system.noise_variance]
    p = [Fraction(float(x)) for x in system.participation]
    receiver = Fraction(float(system.receiver_noise_variance)) / Fraction(float(system.alignment)) ** 2
    total = flint.arb(0)
    for there in product((0, 1), repeat=K):
        chance = prod((q if here else 1 - q for q, here in zip(p, there, strict=True)), start=Fraction(1))
        if chance == 0:
            continue
        variance = receiver + sum(
            (s for s, here in zip(noise, there, strict=True) if here or system.idle_noise), Fraction(0)
        )
        mean = [
            sum((a[i] for a, here in zip(sent, there, strict=True) if here), flint.arb(0)) - t
            for i, t in enumerate(target)
        ]
        total += ball(chance) * law.within(mean, variance, margin, digits)
    return total


@dataclass
class _Decoder:
    """What the law of the error needs of the decoder, see the Notes of :func:`exact`."""

    D: flint.fmpq_mat
    project: flint.fmpq_mat | None  # c = G^-1 B^T m
    basis: flint.fmpq_mat | None  # B
    gram: flint.fmpq_mat | None  # G
    inverse: flint.fmpq_mat | None  # Sigma^-1
    X: flint.arb_mat | None
    beta: Ball
    greatest: Fraction  # trace of Sigma G
    rank: int
    rest: Fraction  # squared Frobenius norm of what the factors B F lack of D

    @classmethod
    def of(cls, rows: list[list[float]], gain: Fraction) -> _Decoder:
        D = flint.fmpq_mat([[_rational(Fraction(x) * gain) for x in row] for row in rows])
        near, rest = _of_low_rank(D)
        reduced, rank = near.rref()
        if rank == 0:
            return cls(D, None, None, None, None, None, flint.arb(1), Fraction(0), 0, rest)
        F = flint.fmpq_mat([[reduced[i, j] for j in range(D.ncols())] for i in range(rank)])
        pivots = [next(j for j in range(D.ncols()) if F[i, j] != 0) for i in range(rank)]
        B = flint.fmpq_mat([[near[i, j] for j in pivots] for i in range(D.nrows())])
        G, sigma = B.transpose() * B, F * F.transpose()
        P = G.inv() * sigma.inv()
        power = P
        for _ in range(_LEVELS):
            power = power * power
        trace = sum((power[i, i] for i in range(rank)), flint.fmpq(0))
        beta = (1 / flint.arb(trace).root(2**_LEVELS)).lower()
        spread = sigma * G
        greatest = sum((spread[i, i] for i in range(rank)), flint.fmpq(0))
        return cls(
            D,
            G.inv() * B.transpose(),
            B,
            G,
            sigma.inv(),
            flint.arb_mat(P) * beta,
            beta,
            Fraction(int(greatest.p), int(greatest.q)),
            rank,
            rest,
        )

    def within(self, mean: list[Ball], variance: Fraction, margin: Ball, digits: int) -> Ball:
        """Pr(norm of the error <= margin), given its mean and the variance of the noise before the decoder."""
        if not self.rest:
            return self._within(mean, variance, margin * margin, digits)
        reach = 2 * digits + 8 + self.D.ncols()  # deviations that the norm of the noise hardly exceeds
        room = reach * ball(variance * self.rest).sqrt()
        beyond = (flint.arb(reach) ** 2 / 2).gamma_upper(flint.arb(self.D.ncols()) / 2, regularized=1)
        inner, outer = (margin - room).max(flint.arb(0)), margin + room
        lower, upper = (self._within(mean, variance, x * x, digits) for x in (inner, outer))
        return (lower - beyond).union(upper + beyond)

    def _within(self, mean: list[Ball], variance: Fraction, square: Ball, digits: int) -> Ball:
        """The same for the noise BFn, by the square of the margin."""
        if self.rank == 0 or variance == 0:
            return _decided(square - _square(mean))
        m = flint.arb_mat([[x] for x in mean])
        c = flint.arb_mat(self.project) * m
        along = flint.arb_mat(self.basis) * c
        room = square - _square((m - along).entries())
        if not room > 0:
            return flint.arb(0) if room < 0 else flint.arb(0).union(flint.arb(1))
        v, size = ball(variance), _square(along.entries()).sqrt()
        deviation = ball(variance * self.greatest).sqrt()
        if self.rank == 1:
            return 1 - upper_tail((room.sqrt() - size) / deviation) - upper_tail((room.sqrt() + size) / deviation)
        pull = (c.transpose() * flint.arb_mat(self.inverse) * c)[0, 0] / v
        if not pull < _GREATEST_PULL:
            gap = (room.sqrt() - size) / deviation
            far = (gap * gap / 2).gamma_upper(flint.arb(self.rank) / 2, regularized=1)
            if gap > 0:
                return (1 - far).union(flint.arb(1))
            return far.union(flint.arb(0)) if gap < 0 else flint.arb(0).union(flint.arb(1))
        return self._series(c, v, pull, room, digits)

    def _series(self, c: flint.arb_mat, v: Ball, pull: Ball, room: Ball, digits: int) -> Ball:
        """Ruben's series; the a_k are the coefficients of a_0 times the exponential of the series of g_k z^k / 2k."""
        first, count = (-pull / 2).exp() * self.X.det().sqrt(), _FEWEST_TERMS
        while True:
            a = [first * x for x in _exponential(self._slopes(c, v, count))]
            missing = (1 - sum(a, flint.arb(0))).max(flint.arb(0)).min(flint.arb(1))
            if count >= _MOST_TERMS or not missing > flint.arb(10) ** -(digits + 3):
                break
            count = min(4 * count, _MOST_TERMS)
        half, shape = room / (2 * v * self.beta), flint.arb(self.rank) / 2
        below = 1 - half.gamma_upper(shape, regularized=1)
        step = (shape * half.log() - half - (shape + 1).lgamma()).exp()
        total = flint.arb(0)
        for k, share in enumerate(a):
            total += share * below
            below -= step
            step = step * half / (shape + k + 1)
        return (total + missing.union(flint.arb(0))).max(flint.arb(0)).min(flint.arb(1))

    def _slopes(self, c: flint.arb_mat, v: Ball, count: int) -> list[Ball]:
        """0 and g_k / 2k for k = 1 ... count - 1."""
        rest = flint.arb_mat([[int(i == j) for j in range(self.rank)] for i in range(self.rank)]) - self.X
        left = c.transpose() * flint.arb_mat(self.inverse) * self.X  # times (I - X)^(k-1) in the k-th term
        power, slopes = rest, [flint.arb(0)]
        for k in range(1, count):
            trace = sum((power[i, i] for i in range(self.rank)), flint.arb(0))
            slopes.append((trace / k + (left * c)[0, 0] / v) / 2)
            left, power = left * rest, power * rest
        return slopes


def _exponential(coefficients: list[Ball]) -> list[Ball]:
    """Coefficients of the exponential of a power series, as many as are given."""
    flint.ctx.cap = len(coefficients)
    found = flint.arb_series(coefficients).exp().coeffs()
    return [*found, *[flint.arb(0)] * (len(coefficients) - len(found))]


def _of_low_rank(D: flint.fmpq_mat) -> tuple[flint.fmpq_mat, Fraction]:
    """The sum of the first crosses of a row and a column that leaves next to nothing of the matrix, and that, squared."""
    places = [(i, j) for i in range(D.nrows()) for j in range(D.ncols())]

    def size(matrix: flint.fmpq_mat) -> Fraction:
        total = sum((matrix[i, j] ** 2 for i, j in places), flint.fmpq(0))
        return Fraction(int(total.p), int(total.q))

    left, whole = D, size(D)
    while size(left) > _FAINT**2 * whole:
        i, j = max(places, key=lambda at: abs(left[at]))
        column = flint.fmpq_mat([[left[k, j]] for k in range(D.nrows())])
        left = left - column * flint.fmpq_mat([[left[i, k] / left[i, j] for k in range(D.ncols())]])
    return D - left, size(left)


def _decided(slack: Ball) -> Ball:
    """1 where slack >= 0, 0 where it is negative, and their hull where the precision does not decide."""
    if slack >= 0:
        return flint.arb(1)
    return flint.arb(0) if slack < 0 else flint.arb(0).union(flint.arb(1))


def _rational(value: Fraction) -> flint.fmpq:
    return flint.fmpq(value.numerator, value.denominator)


def _square(values: list[Ball]) -> Ball:
    """Of the norm."""
    return sum((x * x for x in values), flint.arb(0))
