"""EI-privacy: the exact noise that a query needs; figure_privacy_quantities.py tabulates it approximately."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import xarray as xr

from airtight import Effort, Redrawn
from airtight.analytics.privacy.mechanisms import gaussian

DELTA = 1e-6


def noise(epsilon: float, *, participation: float, devices: int) -> float:
    """Least total noise at sensitivity sqrt(2), rounded up: delta_G at the amplified epsilon is delta/p'.

    Examples
    --------
    >>> round(noise(13.0, participation=0.25, devices=10), 5)  # get_sigma returns 0.54738, at which delta is exceeded
    0.54738
    """
    present = participation / -math.expm1(devices * math.log1p(-participation)) if participation < 1 else 1.0
    inner = math.log1p(math.expm1(epsilon) / present)
    return float(gaussian.sigma(inner, DELTA / present, sensitivity=math.sqrt(2))) * (1 + 1e-12)


def noise_of_a_query(effort: Effort, advance: Callable[[str], None]) -> Redrawn:
    """EI-privacy."""
    from matplotlib.figure import Figure

    advance("EI-privacy")
    epsilons = np.linspace(1, 15, 57 if effort.seeds > 1 else 5)
    shares, counts = (0.25, 0.5, 0.75, 1.0), (5, 10, 15, 20)
    by_share = [[noise(float(e), participation=p, devices=20) for e in epsilons] for p in shares]
    by_count = [[noise(float(e), participation=1.0, devices=n) / math.sqrt(n) for e in epsilons] for n in counts]
    data = xr.Dataset(
        {
            "total": (("participation", "epsilon"), np.array(by_share)),
            "of_a_device": (("devices", "epsilon"), np.array(by_count)),
        },
        coords={"participation": list(shares), "devices": list(counts), "epsilon": epsilons},
    )
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    for i, (name, axis, label) in enumerate(
        (("total", "participation", "p = {:g}, n = 20"), ("of_a_device", "devices", "n = {:g}, p = 1"))
    ):
        axes = figure.add_subplot(1, 2, i + 1)
        for value in data[axis].values:
            axes.plot(epsilons, data[name].sel({axis: value}), label=label.format(value))
        axes.set(xlabel="epsilon", ylabel="noise, " + ("in total" if i == 0 else "of a device"), yscale="log")
        axes.legend()
    caption = (
        "Exact: the least noise for (epsilon, 1e-6) of one query; a label is replaced, the participants are unknown and at least "
        "one. At the points of the authors' tables the sigma of get_sigma exceeds this delta by a factor of up to 1 + 2.1e-5 "
        "(EI-sigma)."
    )
    return Redrawn("EI-privacy", caption, data, figure)


FIGURES = {"EI-privacy": noise_of_a_query}
