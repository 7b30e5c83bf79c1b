r"""The MSE of FDP Sec. IV: as printed, step by step as derived, and exactly; accuracy, transmission, selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.checks import FloatArray
from airtight.analytics.distributions import selection as noisy_selection
from airtight.analytics.forms.domain import DELTA, NONNEGATIVE, POSITIVE, PROBABILITY, REAL, Parameter, Range
from airtight.analytics.forms.quantity import Quantity, collected, normal_cdf, per_device
from airtight.analytics.forms.theorem1 import system_of
from airtight.analytics.guarantee import Face
from airtight.analytics.inference import accuracy, margin, participation, transmission, uncertainty
from airtight.analytics.inference import distortion as distortion_numeric
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem

mse, margin_width, spread = Parameter("MSE", NONNEGATIVE), Parameter("Delta", POSITIVE), Parameter("v", POSITIVE)
ideal = Parameter("P_0", Range(0.0, 1.0))
power, weight, clip, length = (Parameter(letter, POSITIVE) for letter in ("P", "w", "C", "n"))
score, noise, eta = Parameter("u", REAL), Parameter("s", Range(0.3, 1e3, logarithmic=True)), Parameter("eta", REAL)
labels = Parameter("L", Range(2, 10**6, logarithmic=True, integer=True))
likely = Range(1e-6, 1.0, logarithmic=True)
least, greatest = Parameter("p_min", likely), Parameter("p_max", likely)
devices, present = Parameter("K", Range(1, 1000, integer=True)), Parameter("p_k", likely)

first, second = (
    Parameter("a", REAL),
    Parameter("b", REAL),
)  # the two weights (rows of one entry) of a layer of two labels
_layer = {"first": first, "second": second, "f": score}
_bound = {"mse": mse, "margin": margin_width, "ideal_accuracy": ideal}
_limit = {"power": power, "weight": weight, "clip": clip, "noise_norm": length}
_room = sp.Max(0, margin_width**2 - mse)


def _apart(mse: float, margin: float, **rest: Any) -> bool:
    return abs(mse - margin**2) > 1e-3 * mse and abs(mse - margin) > 1e-3 * mse


def _rows_apart(first: float, second: float, f: float) -> bool:
    return abs(first - second) > 1e-3 and abs(f) > 1e-3


def _of_layer(margin_of: Callable[..., float]) -> Callable[..., float]:
    return lambda first, second, f: margin_of([(np.array([[first], [second]]), np.zeros(2))], [f])


QUANTITIES = collected(
    [
        Quantity(
            "Theorem 2, accuracy",
            "FDP (13)",
            Face.PUBLISHED,
            sp.Max(0, ideal * (1 - mse / margin_width**2)),
            _bound,
            accuracy.markov,
            tolerance=1e-11,
            defined=_apart,
        ),
        Quantity(
            "Theorem 2 of the short paper, accuracy",
            "FDPs (10)",
            Face.PUBLISHED,
            sp.Max(0, ideal * (1 - (mse / margin_width) ** 2)),
            _bound,
            accuracy.short_paper,
            tolerance=1e-11,
            defined=_apart,
        ),
        Quantity(
            "Cantelli's bound",
            "FDP-T2",
            Face.PROVEN,
            ideal * _room**2 / (_room**2 + spread),
            {**_bound, "variance": spread},
            accuracy.cantelli,
            tolerance=1e-11,
            defined=_apart,
        ),
        Quantity(
            "amplitude, printed",
            "FDP (6)",
            Face.PUBLISHED,
            sp.sqrt(power / (weight**2 * clip**2 + length**2)),
            _limit,
            transmission.published_limit,
            domain={"weight": NONNEGATIVE},
        ),
        Quantity(
            "amplitude, proven",
            "FDP-E6*",
            Face.PROVEN,
            sp.sqrt(power) / (weight * clip + length),
            _limit,
            transmission.proven_limit,
            domain={"weight": NONNEGATIVE},
        ),
        Quantity(
            "amplitude, exact",
            "FDP-E6*",
            Face.EXACT,
            sp.sqrt(power) / length,
            {"power": power, "signal_norm": length},
            transmission.exact_limit,
        ),
        Quantity(
            "Scheme 2.1, participation",
            "FDP (17)",
            Face.EXACT,
            normal_cdf((eta - score) / noise),
            {"score": score, "noise": noise, "eta": eta},
            participation.threshold,
            tolerance=1e-11,
        ),
        Quantity(
            "entropy, sensitivity printed",
            "FDP (15)",
            Face.PUBLISHED,
            2 * sp.log(labels) / sp.log(2),
            {"labels": labels},
            uncertainty.published_sensitivity,
            scalar=True,
        ),
        Quantity(
            "entropy, sensitivity",
            "FDP-E15*",
            Face.EXACT,
            sp.log(labels) / sp.log(2),
            {"labels": labels},
            uncertainty.sensitivity,
            scalar=True,
        ),
        Quantity(
            "score, scaled",
            "FDP Sec. V-A",
            Face.PUBLISHED,
            sp.Min(1, clip / (2 * sp.log(labels) / sp.log(2))) * score,
            {"score": score, "bound": clip, "labels": labels},
            uncertainty.scaled,
            domain={"score": Range(0.0, 1.0)},
            scalar=True,
        ),
        Quantity(
            "min-entropy, sensitivity printed",
            "FDP-fn2",
            Face.PUBLISHED,
            -sp.log(greatest) / sp.log(2),
            {"greatest": greatest},
            uncertainty.published_min_entropy_sensitivity,
            defined=lambda greatest: greatest < 0.999,
        ),
        Quantity(
            "min-entropy, sensitivity",
            "FDP-fn2",
            Face.EXACT,
            sp.log(greatest / least) / sp.log(2),
            {"least": least, "greatest": greatest},
            uncertainty.capped_min_entropy_sensitivity,
            defined=lambda least, greatest: least < 0.999 * greatest,
        ),
        Quantity(
            "unbiased weight",
            "FDP-E4*",
            Face.EXACT,
            1 / (devices * present),
            {"devices": devices, "participation": present},
            lambda **v: distortion_numeric.unbiased_weight(system_of(**v)),
            meaning="weight with which the mean over participation is the mean of the features",
            system=InferenceSystem,
            per_device=True,
        ),
        Quantity(
            "Lemma 1, two labels",
            "FDP (14)",
            Face.PUBLISHED,
            sp.sqrt(2) * sp.Abs(sp.tanh((first - second) * score / 2)) / sp.sqrt(first**2 + second**2),
            _layer,
            _of_layer(margin.published),
            tolerance=2e-12,
            defined=_rows_apart,
            scalar=True,
        ),
        Quantity(
            "margin, two labels",
            "FDP (12)",
            Face.EXACT,
            sp.Abs(score),
            _layer,
            _of_layer(margin.exact_linear),
            tolerance=2e-12,
            defined=_rows_apart,
            scalar=True,
        ),
    ]
)


@dataclass(frozen=True)
class Scalar:
    """K devices whose features, encoders and decoder are numbers (d = r = 1), no clipping: enough for all the algebra.

    Attributes
    ----------
    p, w, f, W, s : tuple of Symbol
        Participation, weight, feature, encoder, noise variance of each device.
    D, floor : Symbol
        Decoder; receiver noise over gamma squared.
    """

    p: tuple[sp.Symbol, ...]
    w: tuple[sp.Symbol, ...]
    f: tuple[sp.Symbol, ...]
    W: tuple[sp.Symbol, ...]
    s: tuple[sp.Symbol, ...]
    D: sp.Symbol
    floor: sp.Symbol

    @classmethod
    def of(cls, K: int) -> Scalar:
        return cls(
            p=per_device("p", K, PROBABILITY),
            w=per_device("w", K, Range(1e-6, 1e3, logarithmic=True, extra=(0.0,))),
            f=per_device("f", K, REAL),
            W=per_device("W", K, REAL),
            s=per_device("s", K, NONNEGATIVE),
            D=Parameter("D", REAL),
            floor=Parameter("s_m", NONNEGATIVE),
        )

    @property
    def devices(self) -> range:
        return range(len(self.p))

    @property
    def arguments(self) -> dict[str, sp.Symbol | tuple[sp.Symbol, ...]]:
        return {
            "participation": self.p,
            "weight": self.w,
            "f": self.f,
            "W": self.W,
            "noise_variance": self.s,
            "D": self.D,
            "receiver_noise_variance": self.floor,
        }

    @property
    def noise(self) -> sp.Expr:
        return self.D**2 * (sum(p * s for p, s in zip(self.p, self.s, strict=True)) + self.floor)

    def square(self, k: int) -> sp.Expr:
        """norm(D)^2 norm(W_k)^2 norm(f_k)^2."""
        return self.D**2 * self.W[k] ** 2 * self.f[k] ** 2


def expected_square(at: Scalar) -> sp.Expr:
    r"""The MSE by definition: :math:`E(\sum_k\tau_kw_kDW_kf_k - f^*)^2` over all outcomes of tau, plus the noise.

    Examples
    --------
    >>> sp.simplify(expected_square(Scalar.of(2)) - exact_mse(Scalar.of(2)))
    0
    """
    K = len(at.p)
    target = sum(at.f) / sp.Integer(K)
    total = sp.Integer(0)
    for there in product((0, 1), repeat=K):
        chance = sp.prod([p if here else 1 - p for here, p in zip(there, at.p, strict=True)])
        decoded = sum(here * at.w[k] * at.D * at.W[k] * at.f[k] for k, here in enumerate(there))
        total += chance * (decoded - target) ** 2
    return total + at.noise


def exact_mse(at: Scalar) -> sp.Expr:
    """FDP-MSE*: bias, random participation, noise.

    Examples
    --------
    >>> sp.expand(exact_mse(Scalar.of(1)))
    D**2*W_1**2*f_1**2*p_1*w_1**2 + D**2*p_1*s_1 + D**2*s_m - 2*D*W_1*f_1**2*p_1*w_1 + f_1**2
    """
    sent = [at.w[k] * at.D * at.W[k] * at.f[k] for k in at.devices]
    mean = sum(p * a for p, a in zip(at.p, sent, strict=True))
    bias = (mean - sum(at.f) / sp.Integer(len(at.p))) ** 2
    return bias + sum(p * (1 - p) * a**2 for p, a in zip(at.p, sent, strict=True)) + at.noise


def printed_mse(at: Scalar) -> sp.Expr:
    """The bound of Sec. IV (d = 1).

    Examples
    --------
    >>> at = Scalar.of(1)
    >>> sp.expand(printed_mse(at) - at.noise)
    D**2*W_1**2*f_1**2*p_1*w_1**2 - 2*D**2*W_1**2*f_1**2*p_1*w_1 + D**2*W_1**2*f_1**2
    """
    total = at.noise + sum(equation_33(at, k) for k in at.devices)
    for k in at.devices:
        for j in at.devices[k + 1 :]:
            both = at.p[k] * at.p[j] * at.w[k] * at.w[j] - at.p[k] * at.w[k] - at.p[j] * at.w[j] + 1
            total += both * at.f[k] * at.W[k] * at.D**2 * at.W[j] * at.f[j]
    return total


def equation_31(at: Scalar, k: int) -> sp.Expr:
    r"""Expectation of (31): :math:`E(\tau w D W f - f/K)^2`, without an inequality."""
    K = sp.Integer(len(at.p))
    a = at.w[k] * at.D * at.W[k] * at.f[k]
    return at.p[k] * a**2 - 2 / K * at.p[k] * a * at.f[k] + at.f[k] ** 2 / K**2


def equation_32(at: Scalar, k: int) -> sp.Expr:
    """As printed: w for w squared, and D W replaced by the product of the squared norms."""
    K = sp.Integer(len(at.p))
    return at.p[k] * at.w[k] * at.square(k) - 2 * at.p[k] * at.w[k] / K * at.square(k) + at.f[k] ** 2 / K**2


def equation_33(at: Scalar, k: int) -> sp.Expr:
    """As printed."""
    return (at.w[k] ** 2 * at.p[k] - 2 * at.w[k] * at.p[k] + 1) * at.square(k)


def does_33_follow_from_32() -> sp.Expr:
    """(33) minus (32) for two devices with D = W = w = 1: it would be 0 if (33) followed from (32), but it is not.

    Examples
    --------
    >>> does_33_follow_from_32() == 0
    False
    """
    at = Scalar.of(2)
    lossless = {at.D: 1, at.W[0]: 1, at.w[0]: 1}
    return sp.factor((equation_33(at, 0) - equation_32(at, 0)).subs(lossless))


def what_the_printed_form_is(at: Scalar) -> sp.Expr:
    r"""The exact MSE minus the printed MSE with doubled cross sum, which is 0, for the target :math:`\sum_kDW_kf_k`.

    Minimising it drives :math:`p_kw_k` to 1, whatever K is.

    Examples
    --------
    >>> what_the_printed_form_is(Scalar.of(3))
    0
    """
    sent = [at.D * at.W[k] * at.f[k] for k in at.devices]
    mean = sum(at.p[k] * at.w[k] * sent[k] for k in at.devices)
    true = (mean - sum(sent)) ** 2 + at.noise
    true += sum(at.p[k] * (1 - at.p[k]) * at.w[k] ** 2 * sent[k] ** 2 for k in at.devices)
    diagonal = at.noise + sum(equation_33(at, k) for k in at.devices)
    doubled = diagonal + 2 * (printed_mse(at) - diagonal)
    return sp.expand(true - doubled)


def short_mse(at: Scalar) -> tuple[sp.Expr, dict[str, sp.Symbol | tuple[sp.Symbol, ...]]]:
    r"""FDPs Sec. III-C: the printed MSE with :math:`2p_kw_k^2C_k^2\log(1.25/\delta_k)/\epsilon_k^2` for the devices' noise.

    Examples
    --------
    >>> expression, arguments = short_mse(Scalar.of(1))
    >>> expression.subs(dict.fromkeys(arguments["clip"], 0)).has(*arguments["epsilon"])
    False
    """
    K = len(at.p)
    C, d = per_device("C", K, POSITIVE), per_device("delta", K, DELTA)
    eps = per_device("epsilon", K, Range(1e-3, 10.0, logarithmic=True))
    local = sum(
        2 * at.p[k] * at.w[k] ** 2 * C[k] ** 2 * sp.log(sp.Rational(5, 4) / d[k]) / eps[k] ** 2 for k in at.devices
    )
    arguments = {name: a for name, a in at.arguments.items() if name != "noise_variance"}
    noiseless = printed_mse(at).xreplace(dict.fromkeys(at.s, sp.Integer(0)))
    return noiseless + at.D**2 * local, {**arguments, "clip": C, "epsilon": eps, "delta": d}


def scalar_features(**v: Any) -> tuple[InferenceSystem, Features]:
    """A system and features with the numbers of :class:`Scalar`, without clipping."""
    names = ("participation", "weight", "noise_variance", "receiver_noise_variance")
    system = system_of(clip=1e300, **{name: v[name] for name in names})
    return system, Features(f=np.array(v["f"])[:, None], W=np.array(v["W"])[:, None, None], D=[[v["D"]]])


def _largest_term(**v: Any) -> float:
    """Scale of the MSE: bias, participation and noise with absolute values."""
    p, w, f, W, s = (np.array(v[name]) for name in ("participation", "weight", "f", "W", "noise_variance"))
    sent = np.abs(w * v["D"] * W * f)
    norms = (np.sum((1 + w) ** 2 * (v["D"] * W * f) ** 2)) * len(p)
    return float(
        (np.sum(p * sent) + np.mean(np.abs(f))) ** 2 + norms + v["D"] ** 2 * (p @ s + v["receiver_noise_variance"])
    )


def _short(**v: Any) -> float:
    system, features = scalar_features(**v, noise_variance=np.zeros(len(v["f"])))
    private = {name: v[name] for name in ("epsilon", "delta")}
    return distortion_numeric.published_short(replace(system, clip=v["clip"]), features, **private)


def _largest_short_term(**v: Any) -> float:
    weight, clip, epsilon, delta = (np.array(v[name]) for name in ("weight", "clip", "epsilon", "delta"))
    variance = 2 * (weight * clip / epsilon) ** 2 * np.log(1.25 / delta)
    return _largest_term(**v, noise_variance=variance)


def distortion(K: int) -> dict[str, Quantity]:
    """The MSE of K devices with scalar features.

    Examples
    --------
    >>> [quantity.face.value for quantity in distortion(2).values()]
    ['exact', 'published', 'published']
    """
    at = Scalar.of(K)
    quantities = [
        Quantity(
            name,
            source,
            face,
            expression,
            at.arguments,
            lambda function=function, **v: function(*scalar_features(**v)),
            tolerance=1e-14,
            defined=lambda **v: _largest_term(**v) > 0,
            scale=_largest_term,
        )
        for name, source, face, expression, function in (
            ("MSE", "FDP-MSE*", Face.EXACT, exact_mse(at), distortion_numeric.exact),
            ("MSE as printed", "FDP Sec. IV", Face.PUBLISHED, printed_mse(at), distortion_numeric.published),
        )
    ]
    short = Quantity(
        "MSE of the short paper",
        "FDPs Sec. III-C",
        Face.PUBLISHED,
        *short_mse(at),
        _short,
        defined=lambda **v: _largest_short_term(**v) > 0,
        scale=_largest_short_term,
    )
    return collected([*quantities, short])


def selection(K: int) -> dict[str, Quantity]:
    """Scheme 2.2, one of K selected: the probability that it is device 1; (20) as printed, proven bounds, exact for K = 2.

    Scores in increasing order, for (20) knows only the least gap.

    Examples
    --------
    >>> list(selection(2))
    ['Theorem 3, lower bound', 'Scheme 2.2, proven lower bound', 'Scheme 2.2, proven upper bound', 'Scheme 2.2, two devices']
    """
    u, s = per_device("u", K, Range(-3.0, 3.0)), per_device("s", K, Range(0.1, 10.0, logarithmic=True))
    gap = sp.Min(*(u[k + 1] - u[k] for k in range(K - 1)))
    printed = 1 - sum(normal_cdf(-gap / sp.sqrt(s[k] ** 2 + s[k + 1] ** 2)) for k in range(K - 1))
    below = [normal_cdf((u[0] - u[j]) / sp.sqrt(s[j] ** 2 + s[0] ** 2)) for j in range(1, K)]
    arguments, two = {"score": u, "noise": s}, {"score": u[:2], "noise": s[:2]}

    def bound(side: int) -> Callable[..., FloatArray]:
        return lambda score, noise: participation.proven_bounds(score, noise, 1)[side]

    def exact(score: Any, noise: Any) -> FloatArray:
        return noisy_selection.probability(score, noise, 1)

    compared: dict[str, Any] = {"defined": _ordered, "scale": lambda **v: 1.0}
    lower, upper = sp.Max(0, 1 - sum(below)), sp.Min(*(1 - q for q in below))
    proven, exactly = {"tolerance": 2e-12, **compared}, {"tolerance": 1e-11, **compared}
    return collected(
        [
            Quantity(
                "Theorem 3, lower bound",
                "FDP (20)",
                Face.PUBLISHED,
                sp.Max(0, printed),
                arguments,
                participation.published_lower,
                **compared,
            ),
            Quantity("Scheme 2.2, proven lower bound", "FDP-T3*", Face.PROVEN, lower, arguments, bound(0), **proven),
            Quantity("Scheme 2.2, proven upper bound", "FDP-T3*", Face.PROVEN, upper, arguments, bound(1), **proven),
            Quantity("Scheme 2.2, two devices", "FDP-T3*", Face.EXACT, 1 - below[0], two, exact, **exactly),
        ]
    )


def _ordered(score: tuple[float, ...], noise: tuple[float, ...]) -> bool:
    return all(a < b for a, b in pairwise(score))
