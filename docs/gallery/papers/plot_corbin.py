"""
CorBin-FL
=========

Salehi et al. Learning by every mechanism, from the results that come with the package.
"""

from airtight.validate.experiments.figures import gallery

# %%
# Mechanisms beside each other
# ----------------------------

found = gallery.redrawn("CB-1")
print(found.caption)
figure = found.figure

# %%
# Shared random bits
# ------------------

found = gallery.redrawn("CB-2a")
print(found.caption)
figure = found.figure

# %%
# Dropout
# -------

found = gallery.redrawn("CB-2b")
print(found.caption)
figure = found.figure

# %%
# Clients
# -------

found = gallery.redrawn("CB-2c")
print(found.caption)
figure = found.figure

# %%
# Weak privacy
# ------------

found = gallery.redrawn("CB-3a")
print(found.caption)
figure = found.figure

# %%
# Best accuracies
# ---------------

found = gallery.redrawn("CB-3b")
print(found.caption)
figure = found.figure

# %%
# Strong privacy
# --------------

found = gallery.redrawn("CB-3c")
print(found.caption)
figure = found.figure

# %%
# The error of a pair
# -------------------

found = gallery.redrawn("CB-4")
print(found.caption)
figure = found.figure
