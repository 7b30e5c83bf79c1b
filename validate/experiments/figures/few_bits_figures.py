"""Error against bits at equal exact epsilon: published few-bit quantizers, optimised ones, and a lower bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.few_bits import quantizer_laws
from airtight.solvers.design.quantizer import quantizer_design, quantizer_pair
from airtight.validate.experiments.figures import learning
from airtight.validate.experiments.figures.figure import Advance, Effort, Redrawn, Shown, Study
from airtight.validate.experiments.figures.finding import POSITIVE, FigureStatement
from airtight.validate.experiments.figures.learning import Line, lead
from airtight.validate.experiments.figures.style import STYLE, figure_of
from airtight.validate.experiments.training.few_bits_training import Table, sender
from airtight.validate.experiments.training.training_plan import Mechanism, Settings

_SYSTEM = FederatedSystem(clients=50, parameters=1, epsilon=1.0)
_EPSILON = (1.0, 3.0, 5.0)  # of one parameter against one uplink
_BITS = (1, 2, 3, 4)  # per parameter
_PUBLISHED = {
    "binomial": ("PBM", Mechanism.PBM),
    "levels": ("RQM, best q", Mechanism.RQM),
    "skellam": ("Skellam, best grid", Mechanism.SKELLAM),
    "gaussian": ("discrete Gaussian, best grid", Mechanism.DISCRETE_GAUSSIAN),
}
_LINES = {
    **{name: label for name, (label, _) in _PUBLISHED.items()},
    "solved": "optimised",
    "bound": "lower bound for every alphabet",
    "paired": "optimised pairs, half the error of the sum",
}
_TRAINED = ("ldp", "pbm", "rqm", "skellam", "discrete-gaussian", "quantizer", "corbin", "pairs")
_NAMES = {
    "ldp": "LDP-FL, 1 bit",
    "pbm": "PBM",
    "rqm": "RQM",
    "skellam": "Skellam",
    "discrete-gaussian": "discrete Gaussian",
    "quantizer": "optimised",
    "corbin": "CorBin-FL, 1 bit",
    "pairs": "optimised pairs",
}


def sent(kind: Mechanism, bits: int, epsilon: float) -> float:
    """Worst variance of one output with 2^bits symbols; nan where discrete noise needs more than one bit."""
    if bits == 1 and kind in (Mechanism.SKELLAM, Mechanism.DISCRETE_GAUSSIAN):
        return float("nan")
    quantizer = sender(kind, epsilon=epsilon, bits=bits)
    if isinstance(quantizer, Table):
        return quantizer_laws.worst_variance(quantizer.inputs, quantizer.outputs, quantizer.law)
    return float(quantizer.variance(np.zeros(1))[0])  # the variance is greatest at 0, where the coins are fair


def error_against_bits(effort: Effort, advance: Advance) -> Redrawn:
    """Figure FB-1: worst variance against bits, for every mechanism."""
    import matplotlib as mpl

    epsilons, widths = (_EPSILON, _BITS) if effort.seeds > 1 else (_EPSILON[:1], _BITS[:2])
    table = np.empty((len(_LINES), len(epsilons), len(widths)))
    for j, epsilon in enumerate(epsilons):
        for k, bits in enumerate(widths):
            advance(f"epsilon {epsilon:g}, {bits} bits")
            solved = quantizer_design.solve(bits, epsilon=epsilon)
            paired = quantizer_pair.solve(bits, epsilon=epsilon).worst_mse / 2
            bound = quantizer_design.solve(2, epsilon=epsilon).lower_bound
            published = [sent(kind, bits, epsilon) for _, kind in _PUBLISHED.values()]
            table[:, j, k] = *published, solved.worst_variance, bound, paired
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
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    caption = (
        "Exact: worst variance of one unbiased output on [-1, 1] against its bits, every mechanism at the same exact local "
        "epsilon over all inputs, against one uplink. PBM splits its epsilon over its coins. The outputs of discrete noise "
        "modulo 2^b are the best unbiased ones. The bound is certified for every alphabet of independent clients; pairs that "
        "share randomness may have a smaller error."
    )
    return Redrawn("FB-1", caption, data, figure)


# The training loop


def _two_bits(effort: Effort, advance: Advance) -> xr.Dataset:
    lines = {name: Line(Mechanism(name), _SYSTEM, Settings(bits=2)) for name in _TRAINED}
    return learning.experiment(lines, effort, advance)


def _show_two_bits(data: xr.Dataset) -> Shown:
    finding = FigureStatement.of(
        "at equal exact epsilon more bits help where the quantizer is solved for them, and most in pairs",
        [lead(data, "quantizer", name, POSITIVE) for name in ("ldp", "pbm", "rqm", "skellam", "discrete-gaussian")]
        + [lead(data, "pairs", name, POSITIVE) for name in ("corbin", "quantizer")],
    )
    about = (
        "Ours: two bits a parameter (LDP-FL and CorBin-FL: one) at the same exact epsilon = 1 against one uplink, 50 clients; "
        f"handwritten digits (1797 images) and a dense network, mean and standard deviation of {data.sizes['seed']} seeds, "
        f"lambda chosen on {data.attrs['validation_seeds']} other seeds."
    )
    return Shown(f"Analogue: {about}", learning.curves(data, _NAMES), finding)


FIGURES: dict[str, Callable[[Effort, Advance], Redrawn]] = {
    "FB-1": error_against_bits,
    "FB-2": Study("FB-2", _two_bits, _show_two_bits),
}
