r"""Theorem 1 of FDP as printed, what Bernstein's inequality gives, and amplification that is true."""

from __future__ import annotations

from itertools import product

import sympy as sp

from airtight.analytics.forms import gaussian_mechanism
from airtight.analytics.forms.form import Face, Form, collected, per_device

t, variance, bound = sp.symbols("t V M", positive=True)
delta, delta_prime, gamma, noise_floor = sp.symbols("delta delta' gamma sigma_m^2", positive=True)
log_term = sp.Symbol("L", positive=True)  # log(2 / delta')
epsilon, p = sp.symbols("epsilon p", positive=True)

printed_tail = sp.exp(-(t**2) / (variance + bound * t / 3))
true_tail = sp.exp(-(t**2) / 2 / (variance + bound * t / 3))
theorem1_t = log_term / 2 * (bound + sp.sqrt(bound / 9 + 4 * variance / log_term))
eq23_t = log_term / 2 * (bound / 3 + sp.sqrt(bound / 9 + 4 * variance / log_term))
intended_t = log_term / 2 * (bound / 3 + sp.sqrt(bound**2 / 9 + 4 * variance / log_term))
proven_t = bound * log_term / 3 + sp.sqrt((bound * log_term / 3) ** 2 + 2 * variance * log_term)

_tail = {"t": t, "variance": variance, "bound": bound}
_amplified = sp.log(1 + p * (sp.exp(epsilon) - 1))

FORMS = collected(
    [
        Form("Lemma 3 as printed", "FDP (22)", Face.PUBLISHED, printed_tail, _tail),
        Form("Bernstein's inequality", "FDP-L3*", Face.PROVEN, true_tail, _tail),
        Form("amplified epsilon", "FDP-T1d", Face.EXACT, _amplified, {"epsilon": epsilon, "p": p}),
        Form(
            "unamplified epsilon",
            "FDP-T1a",
            Face.EXACT,
            sp.log(1 + (sp.exp(epsilon) - 1) / p),
            {"epsilon": epsilon, "p": p},
        ),
    ]
)


def printed_root_of_the_exponent() -> list[sp.Expr]:
    """The positive t at which the *printed* exponent (22) equals L: by machine, what (23) should have been.

    Examples
    --------
    >>> [sp.simplify(root - intended_t) for root in printed_root_of_the_exponent()]
    [0]
    """
    return _positive_roots(sp.Eq(t**2, log_term * (variance + bound * t / 3)))


def true_root_of_the_exponent() -> list[sp.Expr]:
    """The same for Bernstein's inequality as it holds.

    Examples
    --------
    >>> [sp.simplify(root - proven_t) for root in true_root_of_the_exponent()]
    [0]
    """
    return _positive_roots(sp.Eq(t**2 / 2, log_term * (variance + bound * t / 3)))


def _positive_roots(equation: sp.Eq) -> list[sp.Expr]:
    sample = {log_term: 2, variance: 3, bound: 5}
    free = sp.Symbol("t")
    return [root for root in sp.solve(equation.subs(t, free), free) if root.subs(sample) > 0]


def devices(K: int) -> dict[str, Form]:
    """What depends on all devices: the deviations t, and for device 1 the epsilon of (11), its delta, and w_max.

    Examples
    --------
    >>> [name for name in devices(1) if "deviation" in name]
    ['deviation of Theorem 1', 'deviation of (23)', 'deviation meant', 'deviation proven']
    """
    prob = per_device("p", K, nonnegative=True)
    square = per_device("s", K, nonnegative=True)
    weight, clip, cap = sp.symbols("w C epsilon", positive=True)
    mean = sum(a * b for a, b in zip(prob, square, strict=True))
    put = {
        log_term: sp.log(2 / delta_prime),
        bound: sp.Max(*square),
        variance: sum(a * (1 - a) * b**2 for a, b in zip(prob, square, strict=True)),
    }
    common = {"participation": prob, "noise_variance": square, "delta_prime": delta_prime}
    own = {**common, "weight": weight, "clip": clip, "alignment": gamma, "delta": delta}
    forms = [
        Form("mean noise", "FDP Theorem 1", Face.EXACT, mean, {"participation": prob, "noise_variance": square}),
        Form("deviation of Theorem 1", "FDP Theorem 1", Face.PUBLISHED, theorem1_t.subs(put), common),
        Form("deviation of (23)", "FDP (23)", Face.PUBLISHED, eq23_t.subs(put), common),
        Form("deviation meant", "FDP-E23", Face.PUBLISHED, intended_t.subs(put), common),
        Form("deviation proven", "FDP-E23*", Face.PROVEN, proven_t.subs(put), common),
    ]
    for label, form in (("(11)", theorem1_t), ("(23)", eq23_t)):
        left = sp.sqrt(mean - form.subs(put))
        c = gamma * weight * clip * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta))
        amplified = sp.log(1 + prob[0] / (1 - delta_prime) * (sp.exp(c / left) - 1))
        widest = left / (c / weight) * sp.log(1 + (1 - delta_prime) * (sp.exp(cap) - 1) / prob[0])
        forms += [
            Form(f"Theorem 1, epsilon (t of {label})", "FDP (11)", Face.PUBLISHED, amplified, own),
            Form(
                f"Lemma 5, w_max (t of {label})",
                "FDP-wmax",
                Face.PUBLISHED,
                widest,
                {**{k: v for k, v in own.items() if k != "weight"}, "epsilon": cap},
            ),
        ]
    total = delta_prime + prob[0] * delta / (1 - delta_prime)
    forms.append(Form("Theorem 1, delta", "FDP (11)", Face.PUBLISHED, total, {**common, "delta": delta}))
    return collected(forms)


def alike() -> dict[str, Form]:
    r"""Theorem 1 for any number K of devices alike: epsilon with either t, :math:`c/\sqrt{\bar\mu - t}`, mean noise and t.

    Examples
    --------
    >>> alike()["Theorem 1, mean noise"].latex()
    'K p \\sigma^{2}'
    """
    count, chance = sp.Symbol("K", integer=True, positive=True), sp.Symbol("p", nonnegative=True)
    deviation, weight, clip = sp.symbols("sigma w C", positive=True)
    mean = count * chance * deviation**2
    put = {
        log_term: sp.log(2 / delta_prime),
        bound: deviation**2,
        variance: count * chance * (1 - chance) * deviation**4,
    }
    arguments = {"devices": count, "participation": chance, "sigma": deviation, "weight": weight, "clip": clip}
    arguments |= {"alignment": gamma, "delta": delta, "delta_prime": delta_prime}
    forms = [Form("Theorem 1, mean noise", "FDP Theorem 1", Face.EXACT, mean, arguments)]
    for label, form in (("(11)", theorem1_t), ("(23)", eq23_t)):
        at = form.subs(put)
        single = gamma * weight * clip * sp.sqrt(2 * sp.log(sp.Rational(5, 4) / delta)) / sp.sqrt(mean - at)
        amplified = sp.log(1 + chance / (1 - delta_prime) * (sp.exp(single) - 1))
        forms += [
            Form(f"Theorem 1, t of {label}", "FDP Theorem 1", Face.PUBLISHED, at, arguments),
            Form(f"Theorem 1, unamplified, t of {label}", "FDP (11)", Face.PUBLISHED, single, arguments),
            Form(f"Theorem 1, epsilon, t of {label}", "FDP (11)", Face.PUBLISHED, amplified, arguments),
        ]
    return collected(forms)


def visible(K: int) -> Form:
    r"""FDP-T1b for device 1: :math:`p_1E_S\,\delta_G(\epsilon; \Delta/\sqrt{v_S+s})` over the sets of the others.

    Examples
    --------
    >>> visible(2).expression.count(sp.erfc)
    4
    """
    prob, square = per_device("p", K, nonnegative=True), per_device("s", K, nonnegative=True)
    distance = sp.Symbol("Delta", positive=True)
    total = sp.Integer(0)
    for there in product((0, 1), repeat=K - 1):
        share = sp.prod([q if here else 1 - q for here, q in zip(there, prob[1:], strict=True)])
        noise = square[0] + noise_floor + sum(here * s for here, s in zip(there, square[1:], strict=True))
        total += share * gaussian_mechanism.hockey_stick(epsilon, distance, sp.sqrt(noise))
    return Form(
        f"visible participants, delta, K = {K}",
        "FDP-T1b",
        Face.EXACT,
        prob[0] * total,
        {
            "participation": prob,
            "noise_variance": square,
            "receiver_noise_variance": noise_floor,
            "distance": distance,
            "epsilon": epsilon,
        },
    )
