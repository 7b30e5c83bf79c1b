"""The papers on trial that come with the package; others come by the entry points ``airtight.papers``."""

from validate.papers import corbin_fl, feature_dp, utility_fairness

PAPERS = (feature_dp.PAPER, feature_dp.SHORT, corbin_fl.PAPER, utility_fairness.PAPER)
