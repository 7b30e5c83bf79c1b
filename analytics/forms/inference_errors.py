r"""The MSE of FDP Sec. IV: as printed, step by step as derived, and exactly; accuracy, transmission, selection."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import sympy as sp

from airtight.analytics.forms.form import Face, Form, collected, normal_cdf, per_device

mse, margin, ideal, spread = sp.symbols("MSE Delta P_0 v", nonnegative=True)
power, weight, clip, length = sp.symbols("P w C n", positive=True)
score, noise, eta = sp.Symbol("u", real=True), sp.Symbol("s", positive=True), sp.Symbol("eta", real=True)
labels = sp.Symbol("L", integer=True, positive=True)

first, second = sp.symbols("a b", real=True)  # the rows of a layer of two labels
_layer = {"first": first, "second": second, "f": score}
_bound = {"mse": mse, "margin": margin, "ideal_accuracy": ideal}
_limit = {"power": power, "weight": weight, "clip": clip, "noise_norm": length}
_room = sp.Max(0, margin**2 - mse)

FORMS = collected(
    [
        Form("Theorem 2", "FDP (13)", Face.PUBLISHED, sp.Max(0, ideal * (1 - mse / margin**2)), _bound),
        Form(
            "Theorem 2, short paper", "FDPs (10)", Face.PUBLISHED, sp.Max(0, ideal * (1 - (mse / margin) ** 2)), _bound
        ),
        Form(
            "Cantelli's bound",
            "FDP-T2",
            Face.PROVEN,
            ideal * _room**2 / (_room**2 + spread),
            {"mse": mse, "variance": spread, "margin": margin, "ideal_accuracy": ideal},
        ),
        Form(
            "amplitude, printed", "FDP (6)", Face.PUBLISHED, sp.sqrt(power / (weight**2 * clip**2 + length**2)), _limit
        ),
        Form("amplitude, proven", "FDP-E6*", Face.PROVEN, sp.sqrt(power) / (weight * clip + length), _limit),
        Form(
            "Scheme 2.1, participation",
            "FDP (17)",
            Face.EXACT,
            normal_cdf((eta - score) / noise),
            {"score": score, "noise": noise, "eta": eta},
        ),
        Form(
            "entropy, sensitivity printed",
            "FDP (15)",
            Face.PUBLISHED,
            2 * sp.log(labels) / sp.log(2),
            {"labels": labels},
        ),
        Form(
            "amplitude, exact", "FDP-E6*", Face.EXACT, sp.sqrt(power) / length, {"power": power, "signal_norm": length}
        ),
        Form(
            "score, scaled",
            "FDP Sec. V-A",
            Face.PUBLISHED,
            sp.Min(1, clip / (2 * sp.log(labels) / sp.log(2))) * score,
            {"score": score, "bound": clip, "labels": labels},
        ),
        Form(
            "min-entropy, sensitivity printed",
            "FDP-fn2",
            Face.PUBLISHED,
            -sp.log(ideal) / sp.log(2),
            {"greatest": ideal},
        ),
        Form(
            "min-entropy, sensitivity",
            "FDP-fn2",
            Face.EXACT,
            sp.log(ideal / mse) / sp.log(2),
            {"least": mse, "greatest": ideal},
        ),
        Form(
            "unbiased weight", "FDP-E4*", Face.EXACT, 1 / (labels * ideal), {"devices": labels, "participation": ideal}
        ),
        Form(
            "Lemma 1, two labels",
            "FDP (14)",
            Face.PUBLISHED,
            sp.sqrt(2) * sp.Abs(sp.tanh((first - second) * score / 2)) / sp.sqrt(first**2 + second**2),
            _layer,
        ),
        Form("margin, two labels", "FDP (12)", Face.EXACT, sp.Abs(score), _layer),
        Form("entropy, sensitivity", "FDP-E15*", Face.EXACT, sp.log(labels) / sp.log(2), {"labels": labels}),
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
            p=per_device("p", K, nonnegative=True),
            w=per_device("w", K, nonnegative=True),
            f=per_device("f", K, real=True),
            W=per_device("W", K, real=True),
            s=per_device("s", K, nonnegative=True),
            D=sp.Symbol("D", real=True),
            floor=sp.Symbol("s_m", nonnegative=True),
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
    """(33) minus (32): 0 if it did. It is not, not even for lossless D = W = 1 and weights 1, as the remaining K says.

    Examples
    --------
    >>> does_33_follow_from_32() == 0
    False
    """
    at = Scalar.of(2)
    lossless = {at.D: 1, at.W[0]: 1, at.w[0]: 1}
    return sp.factor((equation_33(at, 0) - equation_32(at, 0)).subs(lossless))


def what_the_printed_form_is(at: Scalar) -> sp.Expr:
    r"""Printed MSE with its cross sum doubled: 0 when subtracted from the exact MSE of the target :math:`\sum_kDW_kf_k`.

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
    C, eps, d = (per_device(letter, K, positive=True) for letter in ("C", "epsilon", "delta"))
    local = sum(
        2 * at.p[k] * at.w[k] ** 2 * C[k] ** 2 * sp.log(sp.Rational(5, 4) / d[k]) / eps[k] ** 2 for k in at.devices
    )
    noise = sum(p * s for p, s in zip(at.p, at.s, strict=True))
    arguments = {name: a for name, a in at.arguments.items() if name != "noise_variance"}
    return printed_mse(at) + at.D**2 * (local - noise), {**arguments, "clip": C, "epsilon": eps, "delta": d}


def distortion(K: int) -> dict[str, Form]:
    """The MSE of K devices with scalar features.

    Examples
    --------
    >>> [form.face.value for form in distortion(2).values()]
    ['exact', 'published', 'published']
    """
    at = Scalar.of(K)
    return collected(
        [
            Form("MSE", "FDP-MSE*", Face.EXACT, exact_mse(at), at.arguments),
            Form("MSE as printed", "FDP Sec. IV", Face.PUBLISHED, printed_mse(at), at.arguments),
            Form("MSE of the short paper", "FDPs Sec. III-C", Face.PUBLISHED, *short_mse(at)),
        ]
    )


def selection(K: int) -> dict[str, Form]:
    """Scheme 2.2 with one device selected, for device 1: (20) as printed, the proven bounds; exactly for two devices.

    Scores in increasing order, for (20) knows only the least gap.

    Examples
    --------
    >>> list(selection(2))
    ['Theorem 3, lower bound', 'Scheme 2.2, proven lower bound', 'Scheme 2.2, proven upper bound', 'Scheme 2.2, two devices']
    """
    u, s = per_device("u", K, real=True), per_device("s", K, positive=True)
    gap = sp.Min(*(u[k + 1] - u[k] for k in range(K - 1)))
    printed = 1 - sum(normal_cdf(-gap / sp.sqrt(s[k] ** 2 + s[k + 1] ** 2)) for k in range(K - 1))
    below = [normal_cdf((u[0] - u[j]) / sp.sqrt(s[j] ** 2 + s[0] ** 2)) for j in range(1, K)]
    arguments, two = {"score": u, "noise": s}, {"score": u[:2], "noise": s[:2]}
    return collected(
        [
            Form("Theorem 3, lower bound", "FDP (20)", Face.PUBLISHED, sp.Max(0, printed), arguments),
            Form("Scheme 2.2, proven lower bound", "FDP-T3*", Face.PROVEN, sp.Max(0, 1 - sum(below)), arguments),
            Form("Scheme 2.2, proven upper bound", "FDP-T3*", Face.PROVEN, sp.Min(*(1 - q for q in below)), arguments),
            Form("Scheme 2.2, two devices", "FDP-T3*", Face.EXACT, 1 - below[0], two),
        ]
    )
