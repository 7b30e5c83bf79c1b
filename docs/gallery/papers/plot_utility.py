"""
Utility fairness
================

Alvi, Hong and Durrani. 4989 rounds of Rayleigh fading; what each printed policy costs.
"""

from airtight.validate.experiments.figures import gallery

# %%
# Training loss
# -------------

found = gallery.redrawn("UF-1")
print(found.caption)
figure = found.figure

# %%
# Energy of a round
# -----------------

found = gallery.redrawn("UF-2")
print(found.caption)
figure = found.figure

# %%
# Computing
# ---------

found = gallery.redrawn("UF-3a")
print(found.caption)
figure = found.figure

# %%
# Transmitting
# ------------

found = gallery.redrawn("UF-3b")
print(found.caption)
figure = found.figure

# %%
# Iterations
# ----------

found = gallery.redrawn("UF-4a")
print(found.caption)
figure = found.figure

# %%
# Rates
# -----

found = gallery.redrawn("UF-4b")
print(found.caption)
figure = found.figure
