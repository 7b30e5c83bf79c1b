r"""Renyi divergences of one order, for a filter over releases that are chosen on the way.

The divergence of order :math:`a > 1` is
:math:`D_a(P\|Q) = \frac1{a-1}\log\int p^a q^{1-a}`. Divergences of releases add up, also when each release is chosen by what the
earlier ones showed, as long as the sum stays below a bound fixed beforehand (Feldman and Zrnic, arXiv:2008.11193).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.privacy.accounting.subsampled import Subsampled
from airtight.analytics.privacy.mechanisms.discrete_pair import Discrete
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.laplace import Laplace
from airtight.analytics.privacy.mechanisms.randomized_response import RandomizedResponse
from airtight.analytics.rounding import UNIT

if TYPE_CHECKING:
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
    from airtight.analytics.privacy.mechanisms.mechanism import Mechanism

_MOST_TERMS = 10_000  # of the sum for a subsampled Gaussian


def divergence(curve: PrivacyCurve, order: float) -> float:
    r"""The greater of :math:`D_a(P\|Q)` and :math:`D_a(Q\|P)`, rounded up.

    Parameters
    ----------
    curve : PrivacyCurve
        Releases of the kinds Gaussian, Laplace, randomised response and discrete pair at any order, and a subsampled
        Gaussian at a whole order.
    order : float
        a > 1.

    Returns
    -------
    float
        In nats; infinite where one law has outcomes that the other has not.

    Raises
    ------
    ParameterError
        For releases of other kinds.

    Notes
    -----
    *Closed forms.* Gaussian :math:`a\mu^2/2`. Laplace
    :math:`\frac1{a-1}\log\bigl(\frac a{2a-1}e^{(a-1)\epsilon} + \frac{a-1}{2a-1}e^{-a\epsilon}\bigr)`. The others are sums over
    outcomes. A Gaussian that is used with probability p:
    :math:`\frac1{a-1}\log\sum_i\binom ai(1-p)^{a-i}p^ie^{(i^2-i)\mu^2/2}` bounds both orders (Mironov, Talwar and Zhang,
    arXiv:1908.10530, theorem 5).

    *Rounding.* A sum of exponentials of terms t_i, each computed with an error of at most e, has a logarithm with an error of
    at most e and the relative rounding of the sum. Each t_i is a sum of at most four products of elementary functions whose
    computed values err by at most 4 units in the last place, so that e is below 64 units of the sum of their absolute values;
    the logarithms of binomials are sums of logarithms, whose errors are counted in the same way. The bound of all these errors is
    added.

    Examples
    --------
    >>> from airtight.analytics.privacy.accounting.privacy_curve import gaussian, laplace
    >>> round(divergence(gaussian(0.5).compose(4), 8.0), 12), round(divergence(laplace(0.5), 8.0), 6)
    (4.0, 0.410268)
    """
    a = checks.scalar("order", order, "(1, inf)")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        total = sum(count * _of(release, a) * (1 + 2 * UNIT) for release, count in curve.factors)
    return float(total * (1 + 4 * UNIT * (1 + len(curve.factors))))


def _of(release: Mechanism, a: float) -> float:
    """The greater divergence of one release, rounded up."""
    if isinstance(release, Gaussian):
        mu = release.mu * (1 + release.slack)
        return a * mu * mu / 2 * (1 + 8 * UNIT)
    if isinstance(release, Laplace):
        eps = release.loss
        terms = np.array([np.log(a) + (a - 1) * eps, np.log(a - 1) - a * eps]) - np.log(2 * a - 1)
        return _logarithm(terms, 3 + abs(np.log(a)) + abs(np.log(a - 1)) + np.log(2 * a) + a * eps, a)
    if isinstance(release, RandomizedResponse):
        eps, others = release.loss, release.symbols - 1
        log_q = -np.logaddexp(eps, np.log(others))
        terms = np.array([a * eps, (1 - a) * eps, np.log(others - 1) if others > 1 else -np.inf]) + log_q
        return _logarithm(terms, 3 + 2 * a * eps + 2 * abs(log_q) + np.log(others), a)
    if isinstance(release, Discrete):
        p, q = (np.log(law) for law in release.laws)
        return max(_of_laws(p, q, a, release.doubt), _of_laws(q, p, a, release.doubt))
    if isinstance(release, Subsampled) and isinstance(release.release, Gaussian):
        if a != np.floor(a) or a > _MOST_TERMS:
            raise ParameterError("order", a, f"a whole number up to {_MOST_TERMS} for a subsampled Gaussian")
        return _of_subsampled(release.release.mu * (1 + release.release.slack) * (1 + 4 * UNIT), release.p, a)
    raise ParameterError(
        "curve", type(release).__name__, "made of releases whose Renyi divergence has a closed form: Gaussian, Laplace, "
        "randomized response, discrete pair, subsampled Gaussian; declare others beforehand with fixed=[(curve, count)]"
    )  # fmt: skip


def _of_laws(p: FloatArray, q: FloatArray, a: float, doubt: float) -> float:
    """The divergence of a pair of finite laws, given by their logarithms; `doubt` bounds the error of each probability."""
    here = p > -np.inf
    if np.any(q[here] == -np.inf):
        return float(np.inf)
    terms = a * p[here] + (1 - a) * q[here] + 2.1 * a * doubt
    return _logarithm(terms, 3 + a * float(np.max(np.abs(p[here]))) + a * float(np.max(np.abs(q[here]))), a)


def _of_subsampled(mu: float, p: float, a: float) -> float:
    """The divergence of a Gaussian that is used with probability p."""
    if p in (0.0, 1.0):
        return p * a * mu * mu / 2 * (1 + 4 * UNIT)
    i = np.arange(a + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(i[1:]))])
    binomials = factorials[-1] - factorials - factorials[::-1]
    terms = binomials + (a - i) * np.log1p(-p) + i * np.log(p) + i * (i - 1) * (mu * mu / 2)
    # a cumulative sum of a terms, none above log a, errs by at most a units of its value
    return _logarithm(
        terms, 3 * (a + 3) * (factorials[-1] + 1) + a * abs(np.log(p) + np.log1p(-p)) + a * a * mu * mu, a
    )


def _logarithm(terms: FloatArray, size: float, a: float) -> float:
    """The logarithm of a sum of exponentials over a - 1, rounded up; `size` bounds the summands of every term."""
    top = float(np.max(terms))
    if not np.isfinite(top):
        return float(np.inf)
    value = top + float(np.log(np.sum(np.exp(terms - top))))
    return max((value + 64 * UNIT * (size + terms.size)) / (a - 1) * (1 + 4 * UNIT), 0.0)
