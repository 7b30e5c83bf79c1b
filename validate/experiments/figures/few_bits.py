"""Error against bits at equal exact epsilon: published few-bit quantizers, the best of so many outputs, and the bound for any."""

from __future__ import annotations

import numpy as np
import xarray as xr

from analytics.federated import few_bits
from solvers.design import quantizer
from validate.experiments.figures.figure import Advance, Effort, Redrawn
from validate.experiments.figures.style import STYLE, figure_of

_EPSILON = (1.0, 3.0, 5.0)
_BITS = (1, 2, 3, 4)
_KEEP = np.linspace(0.02, 0.95, 32)
_LINES = {"binomial": "PBM", "levels": "RQM, best q", "solved": "best found", "bound": "no alphabet is below"}


def binomial(bits: int, epsilon: float) -> float:
    """Worst variance of the binomial mechanism with 2^b outputs: the coin is fair at w = 0."""
    outputs, law = few_bits.binomial(0.0, epsilon=epsilon, trials=2**bits - 1)
    return float(few_bits.variance(0.0, outputs, law))


def levels(bits: int, epsilon: float) -> float:
    """Least worst variance of randomized quantization with 2^b levels, over q."""
    found = []
    for keep in _KEEP if bits > 1 else [0.5]:
        reach = few_bits.random_reach(epsilon=epsilon, levels=2**bits, keep=float(keep))
        places = few_bits.breakpoints(np.linspace(-reach, reach, 2**bits))
        outputs, law = few_bits.random_levels(places, reach=reach, levels=2**bits, keep=float(keep))
        found.append(few_bits.worst_variance(places, outputs, law))
    return min(found)


def error_against_bits(effort: Effort, advance: Advance) -> Redrawn:
    """FB-1."""
    import matplotlib as mpl

    epsilons, widths = (_EPSILON, _BITS) if effort.seeds > 1 else (_EPSILON[:1], _BITS[:2])
    table = np.empty((len(_LINES), len(epsilons), len(widths)))
    for j, epsilon in enumerate(epsilons):
        for k, bits in enumerate(widths):
            advance(f"epsilon {epsilon:g}, {bits} bits")
            solved = quantizer.solve(bits, epsilon=epsilon)
            bound = quantizer.solve(2, epsilon=epsilon).lower_bound
            table[:, j, k] = binomial(bits, epsilon), levels(bits, epsilon), solved.worst_variance, bound
    data = xr.Dataset(
        {"worst_variance": (("line", "epsilon", "bits"), table)},
        coords={"line": list(_LINES), "epsilon": list(epsilons), "bits": list(widths)},
    )
    with mpl.rc_context(STYLE):
        figure = figure_of(3.2 * len(epsilons), 3.4)
        for i, epsilon in enumerate(epsilons):
            axes = figure.add_subplot(1, len(epsilons), i + 1)
            for line, label in _LINES.items():
                dashes = "--" if line == "bound" else "-"
                axes.plot(widths, data.worst_variance.sel(line=line, epsilon=epsilon), dashes, marker=".", label=label)
            axes.set(title=f"ε = {epsilon:g}", xlabel="bits", yscale="log", xticks=widths)
        figure.axes[0].set_ylabel("worst variance (radius 1)")
        figure.axes[0].legend()
    caption = (
        "Exact: worst variance of one unbiased output on [-1, 1] against its bits, every mechanism at the same exact local "
        "epsilon over all inputs. PBM splits its epsilon over its coins; the bound is certified for every alphabet."
    )
    return Redrawn("FB-1", caption, data, figure)


FIGURES = {"FB-1": error_against_bits}
