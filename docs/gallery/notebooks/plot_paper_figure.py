"""
From a file to a figure and a table of a paper
==============================================

For a reader who has a system file and writes a paper: numbers into LaTeX, and a figure one column wide.
"""

from pathlib import Path

import airtight

file = Path(airtight.__file__).parents[1] / "examples/good.toml"
description = airtight.load(file)
description

# %%
# Every number of ``airtight bounds`` in one table; what a paper prints of it.

bounds = airtight.bounds(description)
frame = bounds.to_frame()
print("\n".join(bounds.headline))
worst = frame[(frame.quantity == "epsilon") & (frame.face == "exact")]
worst = worst.groupby("observer", as_index=False).value.max()
print(worst.to_latex(index=False, float_format="%.3f"))

# %%
# Noise and clip varied together. The CSV opens in a spreadsheet, in pandas and in polars.

swept = airtight.sweep(
    file,
    {"noise_variance": [0.0005, 0.001, 0.002, 0.004], "clip": [0.5, 1.0]},
    quantities=["epsilon", "mse"],
)
table = swept.airtight.to_frame()
wide = table.pivot_table(
    index="noise_variance", columns=["quantity", "clip"], values="value"
)
wide.round(3)

# %%
# The figure: as wide as one column, its letters are text, the frame belongs to the caption.

import matplotlib.pyplot as plt

with airtight.style("paper"):
    figure, axes = plt.subplots(layout="constrained")
    for clip, marker in ((0.5, "o"), (1.0, "s")):
        rows = table[table["clip"] == clip].pivot(
            index="noise_variance", columns="quantity", values="value"
        )
        axes.plot(rows.epsilon, rows.mse, marker=marker, label=f"clip {clip:g}")
    axes.set(
        xlabel="exact epsilon of the worst device", ylabel="mean squared error"
    )
    axes.legend()
    figure.savefig("tradeoff.pdf")
assert Path("tradeoff.pdf").stat().st_size > 5000
