"""Published implementations (IM): what the code does, compared with what its documentation promises."""

from airtight import Paper, proofs_beside
from airtight_published_code.implementations import airfl_dp, baselines, common, corbin_fl, libraries

PAPER = Paper(
    "implementations",
    "Published implementations",
    "read at the commits named",
    2026,
    (*corbin_fl.CLAIMS, *baselines.CLAIMS, *libraries.CLAIMS, *airfl_dp.CLAIMS),
    common.ITEMS,
    proofs=proofs_beside(__file__),
)
