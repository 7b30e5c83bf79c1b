"""Published implementations (IM): what the code does, compared with what its documentation promises."""

from airtight.validate.claims.claim import Paper
from airtight.validate.claims.proofs import by_row
from airtight.validate.papers.implementations import airfl_dp, baselines, common, corbin_fl, libraries

PAPER = Paper(
    "implementations",
    "Published implementations",
    "read at the commits named",
    2026,
    (*corbin_fl.CLAIMS, *baselines.CLAIMS, *libraries.CLAIMS, *airfl_dp.CLAIMS),
    common.ITEMS,
    proofs=by_row(__file__),
)
