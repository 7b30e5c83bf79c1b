"""papers/corbin-fl (CB), in the order of the paper; each module lists the builders of its claims in CLAIMS."""

from validate.papers.corbin_fl import (
    aggregation,
    appendices,
    dropout,
    experiments,
    mean_estimation,
    quantizers,
    replacement,
)

CLAIMS = (
    *quantizers.CLAIMS,
    *mean_estimation.CLAIMS,
    *aggregation.CLAIMS,
    *replacement.CLAIMS,
    *dropout.CLAIMS,
    *experiments.CLAIMS,
    *appendices.CLAIMS,
)
