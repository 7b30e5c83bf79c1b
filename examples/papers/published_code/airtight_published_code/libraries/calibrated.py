"""Numbers that a library returned, tried against the exact curve of the mechanism that it describes."""

from __future__ import annotations

import sympy as sp

from airtight import Claim, Implementation, Ruling, absolute, at_least, at_most, false
from airtight.analytics.forms.gaussian_mechanism import least_delta
from airtight.analytics.forms.quantity import normal_cdf
from airtight_published_code.implementations.common import claim

_ZCDP = "'Compute FNR for FPR from zCDP parameter rho'; 'tol: Tolerance for numerical convergence and avoiding log(0)'."


def released(package: str, file: str, function: str, promise: str, mend: str = "") -> Implementation:
    """A place in a release on the package index; `package` is its name and version."""
    return Implementation(package, "", file, function, promise, mend)


def gaussian(
    id: str, place: Implementation, epsilon: str, sigma: str, delta: str, ruling: Ruling, tolerance: float | None = None
) -> Claim:
    """Claim that noise sigma at sensitivity 1 keeps (epsilon, delta): two of the three were asked for, one returned."""
    return claim(
        id,
        place,
        at_most(least_delta(sp.Rational(epsilon), 1, sp.Rational(sigma)), sp.Rational(delta)),
        ruling,
        statement=rf"\delta({_latex(epsilon)};\ \sigma = {_latex(sigma)}) \le {_latex(delta)}",
        constants=True,
        tolerance=tolerance,
    )


def _latex(number: str) -> str:
    mantissa, _, exponent = number.partition("e")
    power = rf"10^{{{int(exponent)}}}" if exponent else ""
    return rf"{mantissa}\cdot{power}" if power and mantissa != "1" else power or mantissa


def _sampled(epsilon: sp.Expr, rate: sp.Expr, sigma: sp.Expr) -> sp.Expr:
    """delta of one step of the Poisson-subsampled Gaussian, one record removed."""
    threshold = sp.Rational(1, 2) + sigma**2 * sp.log((sp.exp(epsilon) - 1 + rate) / rate)
    return rate * normal_cdf((1 - threshold) / sigma) + (1 - rate - sp.exp(epsilon)) * normal_cdf(-threshold / sigma)


CLAIMS: tuple[Claim, ...] = (
    gaussian(
        "LB-DPL-analytic",
        released(
            "diffprivlib 0.6.6",
            "diffprivlib/mechanisms/gaussian.py:160-204",
            "GaussianAnalytic._find_scale",
            "'The analytic Gaussian mechanism'; 'epsilon: Must be in (0, inf]', 'delta: Must be in (0, 1]' (131, 134).",
            "Compute with logarithms of the normal law (scipy.special.log_ndtr), and evaluate delta at the answer.",
        ),
        "20",
        "0.34214406718214574",
        "1e-8",
        false(
            "phi is (1 + erf)/2, which knows no probability below 1e-16; multiplied by e^eps the error of delta is about "
            "1e-16 e^eps: 5e-8 at eps = 20, 8e-6 at eps = 25. Asked for (20, 1e-8) the library returns sigma = .34214, at "
            "which delta is 1.26e-8; at (25, 1e-5) delta is 1.056e-5, at (15, 1e-10) 1.14e-10. Above eps = 36 the second "
            "term vanishes and the noise is too great instead. Budgets of 10 and less at delta = 1e-6 are right to 2e-6.",
            "guarantee",
            true_where="e^eps far below 1e16 delta, or eps above 36",
        ),
    ),
    gaussian(
        "LB-PIPE-epsilon",
        released(
            "pipeline-dp 0.3.1",
            "pipeline_dp/dp_computations.py:122-161",
            "gaussian_epsilon",
            "'Computes minimum eps such that the Gaussian(sigma) mechanism is (eps, delta)-dp'.",
            "Compute log delta; or treat NaN as 'above delta', and return R.",
        ),
        "709.7827128933568",
        "0.02",
        "1e-5",
        false(
            "np.exp(eps) overflows above 709.78, delta becomes inf times 0, which is NaN, and NaN >= delta is False: the "
            "search takes that for a delta that is small enough. Wherever the least epsilon is greater the answer is 709.78; at "
            "sigma = .02, delta = 1e-5 the least epsilon is 1462.3.",
            "guarantee",
            true_where="the least epsilon is below 709",
        ),
    ),
    gaussian(
        "LB-PIPE-middle",
        released(
            "pipeline-dp 0.3.1",
            "pipeline_dp/dp_computations.py:133-161",
            "gaussian_epsilon",
            "'Computes minimum eps such that the Gaussian(sigma) mechanism is (eps, delta)-dp'.",
            "Return R, which was checked.",
        ),
        "4.377178095659474",
        "1",
        "1e-5",
        false(
            "The answer is the middle of the last interval (1e-10 wide), on whichever side of the root it lies. Harmless "
            "by itself.",
            "rounding",
            true_where="up to 5e-11",
        ),
    ),
    gaussian(
        "LB-PYDP-sigma",
        released(
            "python-dp 1.1.5",
            "pydp/algorithms/numerical_mechanisms",
            "GaussianMechanism(epsilon, delta, sensitivity).std; pipeline_dp.dp_computations.compute_sigma of 0.3.1",
            "'Returns the optimal value of sigma for the Gaussian mechanism' (dp_computations.py:110).",
            "Refuse an epsilon whose exponential overflows, or compute log delta.",
        ),
        "710",
        "0.029",  # more than the 2.2e-308 that is returned
        "1e-5",
        false(
            "Above epsilon = 709.78 the returned standard deviation is 2.2e-308, which is no noise; .0297 is needed, and the "
            "row shows that .029 does not suffice, so that less does not either. Up to "
            "there it is right, and on the safe side. No one asks for epsilon = 710, but a placeholder for 'no privacy "
            "here' then sends the data as it is, and nothing is raised.",
            "guarantee",
            true_where=r"\epsilon \le 709",
        ),
    ),
    claim(
        "LB-RC-orders",
        released(
            "riskcal 1.5.1",
            "riskcal/analysis/conversions.py:396-470",
            "get_beta_from_zcdp",
            _ZCDP,
            "Leave out the orders whose powers under- or overflow (alpha^order below 1e-300), or compute in logarithms.",
        ),
        at_least(normal_cdf(sp.Rational("1.2816") - sp.sqrt(sp.Rational("0.004"))), sp.Rational("0.9")),
        false(
            "The function takes the best bound over orders up to 1024. At orders above 300 alpha^order underflows, and the "
            "conversion of that order returns 1 - alpha, as if nothing could be learnt. At rho = .002 and alpha = .1 the "
            "answer is .9; the test of a Gaussian release with this rho that rejects above 1.2816 (false positive rate "
            ".09999) has the false negative rate .8884. Of alpha = .01, .05, .1, .2 all are affected at rho = .001, the first "
            "three at .002, the first at .005, and none from .01 on. With max_order = 300 the answer is .8860.",
            "guarantee",
            true_where=r"\rho \ge 0.01",
        ),
        statement=r"\Phi(1.2816 - \sqrt{2\rho}) \ge 0.9,\quad \rho = 0.002",
        unread="rho is substituted",
        constants=True,
        scale=absolute("false negative rate"),
    ),
    claim(
        "LB-RC-low",
        released(
            "riskcal 1.5.1",
            "riskcal/analysis/conversions.py:446",
            "get_beta_from_zcdp",
            _ZCDP,
            "At alpha <= tol use the bound at alpha = tol, which holds for every smaller alpha after adding tol.",
        ),
        at_least(normal_cdf(sp.Rational("5.998") - 10), sp.Integer(1)),
        false(
            "At a false positive rate of at most tol = 1e-9 the function returns the false negative rate 1 whatever rho "
            "is. At rho = 50 (mu = 10) the test that rejects above 5.998 has a false positive rate below 1e-9 and misses "
            "3.1e-5 of the members. Just above tol the answer is right.",
            "guarantee",
            true_where=r"\alpha > 10^{-9}",
        ),
        statement=r"\Phi(5.998 - \sqrt{2\rho}) \ge 1,\quad \rho = 50",
        unread="rho is substituted",
        constants=True,
        scale=absolute("false negative rate"),
    ),
    claim(
        "LB-FA-tolerance",
        released(
            "fourier-accountant 0.12.11",
            "fourier_accountant/compute_eps.py:95-121",
            "get_epsilon_R",
            "'computing tight DP-guarantees for the subsampled Gaussian mechanism' (package summary); corner cases where "
            "it 'sometimes returns inaccurate values' are put down to nx and L (55).",
            "A tolerance relative to target_delta, as the comment at tol_newton proposes, and stop on the safe side.",
        ),
        at_most(_sampled(sp.Rational("3.902452075458715"), sp.Rational("0.1"), sp.Integer(1)), sp.Rational("1e-12")),
        false(
            "Newton's method starts at epsilon 0, left of the root, and stops as soon as delta is within 1e-10 of the "
            "target: always on the unsafe side, and 1e-10 is not small for a delta of 1e-12. At q = .1, sigma = 1, one "
            "step, the answer 3.9025 has delta 9.3e-11, 93 times the delta asked for; at delta = 1e-14 (q = .5, sigma = 2) "
            "4016 times, at 1e-10 1.6 times, at 1e-9 1.05 times, at 1e-6 3e-6 more than asked.",
            "guarantee",
            true_where=r"\delta \gg 10^{-10}",
        ),
        statement=r"\delta_{\text{one step}}(3.902452;\ q = 0.1, \sigma = 1) \le 10^{-12}",
        unread="the epsilon that was returned, rate and noise are substituted",
        constants=True,
    ),
    claim(
        "LB-GN-mu",
        released(
            "gdpnum 0.1.2",
            "gdpnum/converter.py:300, 421-440",
            "PLDConverter.get_mu",
            "'Extracting a pessimistic value for mu (i.e. so that f_mu <= T(P,Q))'.",
            "Say that error rates below err are left out, or add the regret of get_mu_and_regret to the promise.",
        ),
        at_least(sp.Rational("9.543152772652885"), 1 / sp.Rational("0.1047844637883343")),
        false(
            "Points with an error rate below err = 1e-10 are left out (an argument, whose meaning is not documented). The "
            "trade-off of dp-accounting's Gaussian PLD lies below that of the Gaussian, so mu must be at least 1/sigma; at "
            "sigma = .1048 it is 2.6e-5 (relative) less, and at 10 of 60 sigmas between .1 and 20.",
            "rounding",
            true_where="up to 3e-5, where error rates are above err",
        ),
        statement=r"\mu \ge 1/\sigma",
        unread="the mu that was returned and sigma are substituted",
        constants=True,
    ),
)
