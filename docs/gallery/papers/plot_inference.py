"""
Collaborative inference over the air
====================================

Seif, Nie, Goldsmith and Poor. Learned figures are analogues on handwritten digits; the formulas of Figs. 4, 6 and 7 are exact.
"""

from airtight.validate.experiments.figures import gallery

# %%
# Accuracy against epsilon
# ------------------------

found = gallery.redrawn("FDP-2")
print(found.caption)
figure = found.figure

# %%
# Entropies of the devices
# ------------------------

found = gallery.redrawn("FDP-3")
print(found.caption)
figure = found.figure

# %%
# Six of twelve devices are sensitive
# -----------------------------------

found = gallery.redrawn("FDP-8")
print(found.caption)
figure = found.figure

# %%
# The same with a longer code
# ---------------------------

found = gallery.redrawn("FDP-9")
print(found.caption)
figure = found.figure

# %%
# Feature-aware and feature-agnostic noise
# ----------------------------------------

found = gallery.redrawn("FDP-10")
print(found.caption)
figure = found.figure

# %%
# Scheme 2.1
# ----------

found = gallery.redrawn("FDP-4")
print(found.caption)
figure = found.figure

# %%
# Scheme 2.2
# ----------

found = gallery.redrawn("FDP-6")
print(found.caption)
figure = found.figure

# %%
# Scheme 2.2, the best device
# ---------------------------

found = gallery.redrawn("FDP-7")
print(found.caption)
figure = found.figure

# %%
# Greatest weights
# ----------------

found = gallery.redrawn("FDP-11")
print(found.caption)
figure = found.figure
