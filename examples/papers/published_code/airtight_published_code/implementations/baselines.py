"""The baselines of CorBin-FL: one-bit mechanisms that equal LDP-FL, mechanisms of two bits, and I-MVU's tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import sympy as sp

from airtight import Claim, Range, absolute, at_most, equal, false, holds, parameter
from airtight.analytics.forms.gaussian_mechanism import least_delta
from airtight_published_code.implementations.common import alpha, claim, epsilon, s, x, y
from airtight_published_code.implementations.corbin_fl import source

_HALF = sp.Rational(1, 2)
_LDP_FL = _HALF + x / (2 * alpha)  # probability of the greater output
_cell = parameter("cell", 0, 6, integer=True, typical=(0, 6), latex="k")
_share = parameter("share", 0.0, 1.0, extra=(0.5,), typical=(0.0, 1.0), latex="t")
_BIAS = sp.tanh(epsilon / 4)  # of one of two trials, at an extreme input
_root = parameter("root", 0.0, 100.0, latex="u")
_PAIR = [parameter(name, -5.0, 5.0, typical=(-1.0, 1.0), latex=f"w_{i}") for i, name in enumerate(("one", "other"), 1)]


def _rqm(offset: float, epsilon: float, keep: float) -> list[float]:
    """Law of RQM with levels -X, 0, X; the middle level is kept with probability `keep`, and X makes the outer ratio e^eps."""
    odds = math.exp(epsilon)
    X = ((1 - keep) * (1 + odds) + 2 * keep) / ((1 - keep) * (odds - 1))
    lower, upper = ((1 - keep) * (X + u) / (2 * X) + keep * max(u, 0.0) / X for u in (-offset, offset))
    return [lower, keep * (1 - abs(offset) / X), upper]


def _rqm_ratio(x: float, y: float, epsilon: float, keep: float) -> float:
    pairs = zip(_rqm(x, epsilon, keep), _rqm(y, epsilon, keep), strict=True)
    return max(p / q for p, q in pairs if p > 0)


# I-MVU: log-probabilities interpolated linearly between eight inputs, then normalised


def _one_bit(input: sp.Expr) -> sp.Expr:
    """Probability of the greater output at an input on the grid."""
    return 1 / (1 + s) + input * (s - 1) / (s + 1)


def _interpolated(low: Sequence[sp.Expr], high: Sequence[sp.Expr], share: sp.Expr) -> list[sp.Expr]:
    """Normalised probabilities from the interpolated logarithms of two rows."""
    mixed = [sp.exp((1 - share) * sp.log(p) + share * sp.log(q)) for p, q in zip(low, high, strict=True)]
    return [probability / sp.Add(*mixed) for probability in mixed]


_below, _above = ([1 - _one_bit(k / sp.Integer(7)), _one_bit(k / sp.Integer(7))] for k in (_cell, _cell + 1))
_BETWEEN = _interpolated(_below, _above, _share)
_ENDS = [[1 - _one_bit(sp.Integer(k)), _one_bit(sp.Integer(k))] for k in (0, 1)]

_TABLES = (  # eps, symbol, the two rows around the input, the row of the other input; eight digits, as shipped
    (
        1,
        1,
        "0.40990573 0.3211526 0.11814711 0.15079454",
        "0.34224275 0.32115108 0.18581165 0.1507945",
        "0.15079597 0.11814559 0.32115665 0.4099018",
    ),
    (
        3,
        2,
        "0.044207018 0.22617885 0.6854026 0.044211585",
        "0.044192508 0.034368757 0.6870856 0.23435313",
        "0.88735133 0.03424781 0.03421748 0.044183362",
    ),
    (
        5,
        2,
        "0.0066133863 0.20134528 0.7854279 0.006613419",
        "0.0066132974 0.0066132927 0.7849443 0.20182914",
        "0.0066189244 0.98147553 0.005292249 0.006613305",
    ),
    (
        7,
        2,
        "0.00090963504 0.2097537 0.78842586 0.0009108292",
        "0.0009097751 0.00091074285 0.8076861 0.19049342",
        "0.99744123 0.0009122936 0.00073658954 0.0009098755",
    ),
)
_CELLS = {1: "[0, 1/7] against 1", 3: "[4/7, 5/7] against 0", 5: "[4/7, 5/7] against 2/7", 7: "[4/7, 5/7] against 0"}
_EXACT = {1: "1.0053", 3: "3.0814", 5: "5.1449", 7: "7.1791"}


def _row(text: str) -> list[sp.Rational]:
    row = [sp.Rational(value) for value in text.split()]
    return [value / sum(row) for value in row]


def _table(level: int, symbol: int, low: str, high: str, other: str) -> Claim:
    """Claim on one shipped two-bit table: the log-ratio of one symbol at two inputs."""
    between = _interpolated(_row(low), _row(high), _share)[symbol]
    return claim(
        f"IM-IMVU-{level}",
        source(
            f"imvu_params/imvu_eps{level}.0_b2.pt",
            "methods/IMVU.py, IMVU._get_etas",
            "README: 'I-MVU, eps-LDP, 1 / 2 / 4 bits'.",
            "Interpolate the probabilities, not their logarithms: every column then stays within its bounds, and the "
            "mean is right too.",
        ),
        at_most(sp.log(between / _row(other)[symbol]), sp.Integer(level)),
        false(
            f"The table satisfies eps at its eight inputs. Between two of them the interpolated logarithms are normalised, "
            f"which makes the symbol that both rows favour more likely: "
            f"the log-ratio is at least {_EXACT[level]} (inputs {_CELLS[level]}).",
            "guarantee",
            true_where="at the eight inputs of the table",
        ),
        statement=rf"\ln\frac{{P(z = {symbol} \mid w)}}{{P(z = {symbol} \mid w')}} \le {level}",
        scale=absolute("nats"),
        near="the witness is in the authors' own table",
    )


CLAIMS: tuple[Claim, ...] = (
    claim(
        "IM-PBM-1",
        source(
            "methods/PBM_PLDP.py",
            "PBM_PLDP._perturb_weight, m = 1",
            "README: 'PBM-PLDP, eps-PLDP', a baseline of its own.",
        ),
        equal(_HALF + (s - 1) / (s + 1) * x / 2, _LDP_FL),
        holds("One trial with theta = tanh(eps/2)/2 has the law and the outputs of LDP-FL: it is the same mechanism."),
        statement=r"\tfrac12 + \theta x = \tfrac12 + \tfrac x{2\alpha},\quad \theta = \tfrac12\tanh\tfrac\epsilon2",
    ),
    claim(
        "IM-RQM-2",
        source("methods/RQM_FL.py", "RQM_FL._perturb_weight, m = 2", "README: 'RQM, eps-LDP', a baseline of its own."),
        equal((x + 1 + 2 / (s - 1)) / (2 * (1 + 2 / (s - 1))), _LDP_FL),
        holds("The two levels at +-(1 + 2/(e^eps - 1)) = +-alpha make it LDP-FL; q is not used."),
        statement=r"\frac{x + X}{2X} = \tfrac12 + \tfrac x{2\alpha},\quad X = 1 + \tfrac2{e^\epsilon-1}",
    ),
    claim(
        "IM-IMVU-law",
        source(
            "methods/IMVU.py",
            "IMVU._get_etas, budget = 1",
            "README: '1-bit output (equivalent to LDPFL)'.",
            "Interpolate the probabilities; the mechanism is then LDP-FL.",
        ),
        equal(_BETWEEN[1], _one_bit((_cell + _share) / 7)),
        false(
            "At the eight inputs of its table it is LDP-FL. Between them the interpolated logarithms distort the law "
            "and bias the output: at eps = 7 and w = -6/7 the mean is -.977. Of the three one-bit baselines only this "
            "one differs.",
            "step",
            true_where="at the eight inputs of the table",
        ),
        statement=r"P(z = 1 \mid w) = \tfrac12 + \tfrac{w - c}{2r\alpha}",
        scale=absolute("probability"),
    ),
    claim(
        "IM-IMVU-eps",
        source("methods/IMVU.py", "IMVU._get_etas, budget = 1", "README: 'I-MVU, eps-LDP'."),
        at_most(sp.log(sp.Max(_BETWEEN[1] / _ENDS[0][1], _BETWEEN[0] / _ENDS[1][0])), epsilon),
        holds(
            "With two symbols the interpolated law is monotone: the greatest ratio is attained at the two extreme "
            "inputs, where it is e^eps."
        ),
        statement=r"\max_z \ln\frac{P(z \mid w)}{\min_{w'}P(z \mid w')} \le \epsilon",
    ),
    *(_table(*row) for row in _TABLES),
    claim(
        "IM-PBM-2",
        source("methods/PBM_PLDP.py", "PBM_PLDP._perturb_weight, m = 2", "README: 'PBM-PLDP, eps-PLDP'."),
        at_most(
            sp.Max(
                *((1 + sign * _BIAS * x) ** 2 / (1 + sign * _BIAS * y) ** 2 for sign in (1, -1)),
                (1 - _BIAS**2 * x**2) / (1 - _BIAS**2 * y**2),
            ),
            s,
        ),
        holds("theta = tanh(eps/4)/2: two equal trials at opposite extreme inputs give exactly e^eps."),
        statement=r"\max_z \frac{P(z \mid x)}{P(z \mid y)} \le e^\epsilon",
    ),
    claim(
        "IM-RQM-3",
        source(
            "methods/RQM_FL.py",
            "RQM_FL.__init__, m = 3",
            "README: 'RQM, eps-LDP'; calibrated at the two extreme inputs only.",
        ),
        at_most(_rqm_ratio, lambda epsilon, **_: math.exp(epsilon)),
        holds(
            "The two extreme inputs are the worst pair: the middle level's ratio X/(X - 1) is below that of the outer "
            "levels for every q."
        ),
        domain={"x": x.range, "y": y.range, "epsilon": epsilon.range, "keep": Range(0.0, 0.99, typical=(0.5, 0.5))},
        statement=r"\max_z \frac{P(z \mid x)}{P(z \mid y)} \le e^\epsilon",
    ),
    claim(
        "IM-range",
        source(
            "methods/PBM_PLDP.py",
            "PBM_PLDP._perturb_weight; also RQM_FL, IMVU",
            "README: eps-LDP for each coordinate.",
            "Where the range is 0, send the center, as CorBin-FL and LDP-FL do, or give the layer a range of its own.",
        ),
        at_most(sp.Integer(1), s * sp.Piecewise((1, sp.Eq(*_PAIR)), (0, True))),
        false(
            "A layer whose range is below 1e-8 is sent unperturbed, not even clipped. The range is that of the "
            "broadcast layer. At the first round every BatchNorm layer has weights 1 and biases 0 and so a range of "
            "0: what a client learnt there is sent in the clear.",
            "guarantee",
            true_where="the range of the layer is at least 1e-8",
        ),
        statement=r"P(\text{sent} = w_1 \mid w_1) \le e^\epsilon P(\text{sent} = w_1 \mid w_2)\quad(r = 0)",
        scale=absolute("probability"),
        near="any two weights",
    ),
    claim(
        "IM-AGM",
        source(
            "methods/Gaussian_LDP.py",
            "GaussianLDP.compute_sigma_agm",
            "The least sigma for (eps, 1e-5) for each coordinate (README: 'eps-LDP').",
        ),
        equal(
            least_delta(epsilon, 1, (sp.sqrt(1 + _root / 2) + sp.sqrt(_root / 2)) / sp.sqrt(2 * epsilon)),
            sp.erfc(sp.sqrt(epsilon * _root / 2)) / 2 - s * sp.erfc(sp.sqrt(epsilon * (_root + 2) / 2)) / 2,
        ),
        holds(
            "The code solves the equation of the exact curve in another variable; its root is right to the solver's "
            "2e-12. The guarantee has a delta, 1e-5 for each coordinate, which the README omits."
        ),
        statement=r"\delta(\epsilon; \sigma_u) = \Phi(-\sqrt{\epsilon u}) - e^\epsilon\Phi(-\sqrt{\epsilon(u+2)})",
        scale=absolute("delta", 1e-3),
    ),
)
