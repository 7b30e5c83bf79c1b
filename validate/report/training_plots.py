"""The plot of the report that speaks of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from validate.experiments.figures.style import STYLE, figure_of
from validate.experiments.training.federated import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accuracy_over_rounds(found: Sequence[Run]) -> Figure:
    """Test accuracy of the global model, a line for each mechanism."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure = figure_of()
        axes = figure.add_subplot()
        for one in found:
            axes.plot(range(1, len(one.history) + 1), [done.test for done in one.history], label=one.mechanism.value)
        axes.set(xlabel="round", ylabel="test accuracy", ylim=(0, 1))
        axes.legend(fontsize=8)
    return figure
