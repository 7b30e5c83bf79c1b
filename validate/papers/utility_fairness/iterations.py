"""UF Theorem 1, Appendix A and (41): local iterations that an accuracy needs. L = 1 where L is not a parameter."""

from __future__ import annotations

import numpy as np
import sympy as sp

from airtight.analytics.federated.fair import iteration_bounds
from airtight.analytics.forms import gradient_descent as forms
from airtight.analytics.forms.domain import Range, over, parameter
from airtight.validate.claims.claim import Claim, false, holds, holds_under
from airtight.validate.claims.proving.derivation import Derivation
from airtight.validate.claims.relation import at_least, at_most, equal, relative_to, value
from airtight.validate.papers import lemmas
from airtight.validate.papers.utility_fairness.common import bent, descended

mu = parameter("mu", 0.01, 1.0, logarithmic=True, latex=r"\mu")
step = parameter("step", 0.05, 1.95, latex=r"\eta")
long_step = parameter("step", 0.55, 1.95, latex=r"\eta")
phi = parameter("phi", 1e-4, 0.4, logarithmic=True, latex=r"\Phi")
iterations = parameter("iterations", 1, 12, integer=True, latex="j")
L = parameter("L", 0.1, 10.0, logarithmic=True)
any_step = parameter("step", 0.3, 5.0, latex=r"\eta")
x = parameter("x", 0.01, 5.0)
y = parameter("y", -5.0, 5.0)

_UNIT = {"L": 1}
_COUNTED = r"{2\lceil\log\Phi/\log(\eta^2L^2/2-\eta L+1)\rceil"  # twice the least whole number that (22) allows
_UNNAMED = "the paper names neither mu nor L"
_RATE = forms.printed_rate.subs(forms.L, 1)
_PRINTED, _LONG = _RATE.subs(forms.step, step), _RATE.subs(forms.step, long_step)
_COUNT = sp.ceiling(sp.log(phi) / sp.log(_LONG))  # the least whole number that (22) allows
_F = mu * x**2 / 2 + (1 - mu) * sp.log(sp.cosh(x))  # curvature between mu and 1, least at 0
_SLOPE = sp.diff(_F, x)
_CONTRACTION = sp.Max((1 - mu * step) ** 2, (1 - step) ** 2)
start = parameter("start", 1e-3, 30.0, logarithmic=True)
descent = parameter("step", 0.05, 2.0, latex=r"\eta")
_BEFORE, _AFTER = _F.subs(x, start), _F.subs(x, start - descent * _SLOPE.subs(x, start))
_CLAIMED = 1 - mu * descent * (1 - descent / 2)
many = parameter("iterations", 1, 30, integer=True, latex="j")
_SHRINKS = 1 - mu * step * (1 - step / 2)
_BENT = {r"\mathcal F": sp.Lambda(x, _F), r"\nabla\mathcal F": sp.Lambda(x, _SLOPE), "x^*": 0, **_UNIT}


def _contracted() -> Derivation:
    """How UF-E52 is proved: the descent lemma, and x tanh x is at least log cosh x."""
    slope, gain = _SLOPE.subs(x, start), descent * (1 - descent / 2)
    square = mu * _BEFORE + (1 - mu) ** 2 * sp.sinh(start) ** 2 / sp.cosh(start) ** 2
    return Derivation(
        facts=[(1 - descent / 2 >= 0), (1 - mu >= 0)],
        uses=[
            (1 - mu, lemmas.CURVED.at(lower=0, upper=descent * slope, start=-start)),
            (2 * gain * mu * (1 - mu), lemmas.CHORD.at(lower=0, upper=start)),
            (gain, lemmas.NOT_NEGATIVE.at(number=square)),
        ],
    )


def _in_order(low: sp.Expr, high: sp.Expr) -> Derivation:
    """How UF-E47 is proved where low is at most high: the slope rises, and by less than its argument."""
    rise = _SLOPE.subs(x, high) - _SLOPE.subs(x, low)
    parts = [(mu, lemmas.NOT_NEGATIVE.at(number=high - low)), (1 - mu, lemmas.TANH_RISES.at(lower=low, upper=high))]
    return Derivation(
        facts=[(rise >= 0, Derivation(uses=parts))], uses=[((1 - mu) * rise, lemmas.FLATTER.at(lower=low, upper=high))]
    )


def _class(mu: float, step: float) -> dict[str, float]:
    return {"step": step, "strong_convexity": mu, "smoothness": 1.0}


def _worst(mu: float, step: float, iterations: int) -> float:
    """Worst accuracy of gradient descent on quadratics of nine curvatures and on three non-quadratic functions."""
    quadratics = [descended(np.array([c]), np.ones(1), step, iterations) for c in np.linspace(mu, 1.0, 9)]
    return max(*quadratics, *(bent(mu, start, step, iterations) for start in (0.1, 1.0, 10.0)))


def _least_count(phi: float, mu: float, step: float) -> float:
    """Iterations until the flattest and the steepest quadratic have both reached the accuracy."""
    flat, steep, count = 1.0, 1.0, 0
    while max(flat, steep) > phi * (1 + 1e-12):
        flat, steep, count = flat * (1 - step * mu) ** 2, steep * (1 - step) ** 2, count + 1
    return float(count)


CLAIMS = (
    Claim(
        "UF-T1",
        "Theorem 1, Eq. (22), as a sufficient number of iterations (L = 1)",
        at_most((1 - long_step * mu) ** (2 * _COUNT), phi),
        false(
            "Along the flattest direction one iteration reduces the excess by the factor (1 - eta mu)^2, but (22) "
            "does not contain mu.",
            corrected_by="UF-T1*",
            true_where=r"\mu = L",
        ),
        statement=rf"(1-\eta\mu)^{_COUNTED}}} \le \Phi\quad(\Phi_j \text{{ of the flattest quadratic}})",
        where=_UNIT,
        near=_UNNAMED,
    ),
    Claim(
        "UF-T1-necessary",
        "Theorem 1, Eq. (22), as a necessary number of iterations (L = 1)",
        at_least((1 - long_step) ** (2 * (_COUNT - 1)), phi),
        false(
            "(57) gives an upper bound on j, not a lower one. Along the steepest direction eta = 1/L needs a single "
            "iteration.",
            corrected_by="UF-T1*-necessary",
        ),
        statement=rf"(1-\eta L)^{_COUNTED}-2}} \ge \Phi\quad(\Phi_{{j-1}} \text{{ of the steepest quadratic}})",
        where=_UNIT,
        near=_UNNAMED,
    ),
    Claim(
        "UF-T1-step",
        "Theorem 1: 'step size eta > L/2'",
        at_most((1 - any_step * L) ** 10, 1),
        false(
            "The condition eta < 2/L is inverted: gradient descent converges for eta < 2/L. As printed, L/2 has the "
            "dimension of 1/eta.",
            "misprint",
            true_where=r"\eta \le 2/L",
            corrected_by="UF-T1*",
        ),
        given=[any_step > L / 2],
        statement=r"(1-\eta L)^{10} \le 1\quad(\Phi_5 \text{ of a quadratic, for } \eta > \tfrac L2)",
        near=_UNNAMED,
    ),
    Claim(
        "UF-T1*",
        "ours: the worst accuracy after j iterations (L = 1)",
        equal(
            _worst, lambda mu, step, iterations: float(iteration_bounds.worst_accuracy(iterations, **_class(mu, step)))
        ),
        holds(
            "Integrated along the gradient flow; attained by quadratics. Compared with descent on quadratics and "
            "other functions."
        ),
        {"mu": Range(0.01, 0.98, logarithmic=True), "step": step.range, "iterations": Range(1, 30, integer=True)},
        statement=r"\sup_{\mathcal F}\Phi_j = \rho^{2j},\quad \rho = \max(|1-\eta\mu|, |1-\eta L|)",
        coq="utility_fairness_general.UF_T1_star",
    ),
    Claim(
        "UF-T1*-necessary",
        "ours: the least excess after j iterations for any function (L = 1, eta < 1/L)",
        at_least(bent, lambda mu, start, step, iterations: (1 - step) ** (2 * iterations)),
        holds(
            "Follows from the two lower quadratics of a smooth convex function; attained along the steepest direction."
        ),
        {**over(start, mu), "step": Range(0.05, 0.99), "iterations": Range(1, 30, integer=True)},
        statement=r"\Phi_j \ge (1-\eta L)^{2j}",
        tolerance=1e-7,
        coq="utility_fairness_general.UF_T1_star_necessary",
    ),
    Claim(
        "UF-T1*-PL",
        "ours: what the paper's proof gives with the right inequality (L = 1)",
        at_most(_CONTRACTION, 1 - 2 * mu * step * (1 - step / 2)),
        holds("With s = eta L and k = mu/L the two differences are k(1-k)s^2 and s(1-k)(2-s), which are not negative."),
        statement=r"\rho^2 \le 1-2\mu\eta\bigl(1-\tfrac{\eta L}2\bigr)",
        where={r"\rho^2": _CONTRACTION, **_UNIT},
        computed=at_most(
            lambda mu, step: float(iteration_bounds.contraction(**_class(mu, step))) ** 2,
            forms.descent.subs({forms.L: 1, forms.mu: mu, forms.step: step}),
        ),
    ),
    Claim(
        "UF-R1",
        "Remark 1, with the corrected theorem (L = 1)",
        equal(
            _least_count,
            lambda phi, mu, step: float(np.ceil(iteration_bounds.sufficient_iterations(phi, **_class(mu, step)))),
        ),
        holds_under(
            "The corrected theorem bounds it. Compared with the least number of iterations by running the descent."
        ),
        {"phi": phi.range, "mu": Range(0.05, 0.98), "step": Range(0.05, 1.9)},
        statement=r"\min\Bigl\{j : \sup_{\mathcal F}\Phi_j \le \Phi\Bigr\} = "
        r"\Bigl\lceil\frac{\log\Phi}{2\log\rho}\Bigr\rceil",
        coq="utility_fairness_general.UF_R1",
    ),
    Claim(
        "UF-E41",
        "Eq. (41), j >= 1, eta < 2/L (L = 1)",
        at_most(
            lambda mu, step, iterations: float(iteration_bounds.worst_accuracy(iterations, **_class(mu, step))),
            lambda mu, step, iterations: float(iteration_bounds.published_accuracy(iterations, **_class(mu, step))),
        ),
        holds_under("True for j >= 1 but loose: the factor is at least rho. At j = 0 it is false."),
        {"mu": mu.range, "step": step.range, "iterations": Range(1, 30, integer=True)},
        statement=r"\Phi_j \le \bigl(\tfrac{\mu\eta^2L}2-\mu\eta+1\bigr)^{j+1}",
        coq="utility_fairness_general.UF_E41",
    ),
    Claim(
        "UF-E42",
        "Eq. (42)-(44) (L = 1)",
        at_most(_F.subs(x, x - step * _SLOPE), _F + (step**2 / 2 - step) * _SLOPE**2),
        holds("The descent lemma; (42) follows from (18) and (20), not from (19). Proved for one function; for all in Coq."),
        statement=r"\mathcal F(x - \eta\nabla\mathcal F(x)) \le \mathcal F(x) + \bigl(\tfrac{\eta^2L}2-\eta\bigr)"
        r"\bigl(\nabla\mathcal F(x)\bigr)^2",
        where=_BENT,
        derivation=lambda: Derivation(uses=[(1 - mu, lemmas.CURVED.at(lower=0, upper=step * _SLOPE, start=-x))]),
        coq="utility_fairness_general.UF_E42",
    ),
    Claim(
        "UF-E47",
        "Eq. (45)-(48) (L = 1)",
        at_most((_SLOPE - _SLOPE.subs(x, y)) ** 2, (x - y) * (_SLOPE - _SLOPE.subs(x, y))),
        holds(
            "The Baillon-Haddad theorem. But the printed step replaces a product of norms by the smaller inner product. Proved "
            "for one function; for all in Coq."
        ),
        given=[sp.Ne(x, y)],
        statement=r"\bigl(\nabla\mathcal F(x)-\nabla\mathcal F(y)\bigr)^2 \le L(x-y)\bigl(\nabla\mathcal F(x)"
        r"-\nabla\mathcal F(y)\bigr)",
        where=_BENT,
        derivation=lambda: Derivation(split=x - y, above=_in_order(y, x), below=_in_order(x, y)),
        coq="utility_fairness_general.UF_E47",
    ),
    Claim(
        "UF-E49",
        "Eq. (49), (50) (L = 1)",
        at_least(_F, x * _SLOPE - x**2 / 2),
        holds("The quadratic upper bound of a smooth function."),
        statement=r"\mathcal F(x) - \mathcal F(x^*) \ge (x-x^*)\nabla\mathcal F(x) - \tfrac L2(x-x^*)^2",
        where=_BENT,
        scale=relative_to(lambda mu, x: x * x / 2, "the last term"),
    ),
    Claim(
        "UF-E51",
        "Eq. (51)",
        at_most((L * x) ** 2, L * (L * x**2 / 2)),
        false(
            "The right factor is 2L; and (44), which is negative, needs a lower bound with 2 mu.",
            "step",
            corrected_by="UF-T1*-PL",
            true_where="nowhere",
        ),
        statement=r"\|\nabla\mathcal F\|^2 \le L(\mathcal F-\mathcal F^*)",
        where={r"\|\nabla\mathcal F\|": L * x, r"\mathcal F-\mathcal F^*": L * x**2 / 2},
        near=_UNNAMED,
    ),
    Claim(
        "UF-E52",
        "Eq. (52) (L = 1)",
        at_most(_AFTER, _CLAIMED * _BEFORE),
        holds(
            "Follows from the Polyak-Lojasiewicz inequality (even with 2 mu), not from (51). Proved for one function; for all in "
            "Coq."
        ),
        statement=r"\mathcal F^+-\mathcal F^* \le \bigl(1-\mu\eta(1-\tfrac{\eta L}2)\bigr)(\mathcal F-\mathcal F^*)",
        where={r"\mathcal F^+": _AFTER, r"\mathcal F": _BEFORE, r"\mathcal F^*": 0, **_UNIT},
        computed=at_most(
            lambda mu, start, step: bent(mu, start, step, 1) * value(_BEFORE, {"mu": mu, "start": start}),
            _CLAIMED * _BEFORE,
        ),
        derivation=_contracted,
        coq="utility_fairness_general.UF_E52",
    ),
    Claim(
        "UF-E53",
        "Eq. (53)-(55) (L = 1)",
        at_most((1 - step * mu) ** 2, _PRINTED),
        false(
            "L stands in place of mu: .5 is claimed where .81 is true (mu = .1, eta = 1).",
            "step",
            corrected_by="UF-T1*-PL",
            true_where=r"\mu = L",
        ),
        statement=r"\mathcal F^+-\mathcal F^* \le \bigl(\tfrac{\eta^2L^2}2-\eta L+1\bigr)(\mathcal F-\mathcal F^*)",
        where={r"\mathcal F^+-\mathcal F^*": (1 - step * mu) ** 2, r"\mathcal F-\mathcal F^*": 1, **_UNIT},
        near=_UNNAMED,
    ),
    Claim(
        "UF-E57",
        "Eq. (57) (L = 1)",
        at_most((1 - step * mu) ** (2 * iterations), _PRINTED**iterations),
        false(
            "The error of (53); and (57) would give an upper bound on j, where (22) has a lower bound.",
            "step",
            corrected_by="UF-T1*",
            true_where=r"\mu = L",
        ),
        statement=r"\Phi_j = (1-\eta\mu)^{2j} \le \bigl(\tfrac{\eta^2L^2}2-\eta L+1\bigr)^j\quad\text{for a quadratic}",
        where=_UNIT,
        near=_UNNAMED,
    ),
)
