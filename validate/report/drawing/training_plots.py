"""Plot of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from airtight.validate.experiments.figures.style import STYLE, figure_of
from airtight.validate.experiments.seeds import student
from airtight.validate.experiments.training.federated_training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accuracy_over_rounds(found: Sequence[Run]) -> Figure:
    """Test accuracy of the global model for each mechanism: the mean over seeds with its interval."""
    import matplotlib as mpl
    from matplotlib.ticker import MaxNLocator

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for kind in dict.fromkeys(one.mechanism for one in found):
            curves = np.array([[done.test for done in one.history] for one in found if one.mechanism is kind])
            rounds = np.arange(1, curves.shape[1] + 1)
            (line,) = axes.plot(rounds, curves.mean(axis=0), label=kind.value)
            if len(curves) > 1:
                low, high = np.array([student(column) for column in curves.T.tolist()]).T
                axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axes.set(xlabel="round", ylabel="test accuracy", ylim=(0, 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(fontsize=8)
    return figure
