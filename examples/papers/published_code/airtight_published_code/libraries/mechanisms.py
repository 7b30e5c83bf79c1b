"""Mechanisms whose noise a library states in closed form, and what no computation decides: arguments that are not numbers."""

from __future__ import annotations

import sympy as sp

from airtight import Claim, absolute, at_most, holds, parameter, undecidable
from airtight_published_code.implementations.common import claim
from airtight_published_code.libraries.calibrated import released

epsilon = parameter("epsilon", 0.001, 20.0, logarithmic=True, typical=(1.0, 1.0), latex=r"\epsilon")
delta = parameter("delta", 1e-12, 0.1, logarithmic=True, typical=(1e-5, 1e-5), latex=r"\delta")

CLAIMS: tuple[Claim, ...] = (
    claim(
        "LB-DPL-laplace",
        released(
            "diffprivlib 0.6.6",
            "diffprivlib/mechanisms/laplace.py:30-46, 145",
            "Laplace, with delta",
            "'The classical Laplace mechanism ... with support for (relaxed) (epsilon, delta)-differential privacy' (31-34).",
        ),
        at_most(1 - sp.exp((epsilon - (epsilon - sp.log(1 - delta))) / 2), delta),
        holds(
            "Noise of scale b has delta = 1 - e^((eps - 1/b)/2), so the delta spent is 1 - sqrt(1 - delta), about half of "
            "what was asked for; epsilon - 2 log(1 - delta) would be exact."
        ),
        statement=r"1 - e^{\ln(1-\delta)/2} \le \delta",
        unread="the scale is substituted",
        scale=absolute("delta", 0.1),
    ),
)

ITEMS = (
    undecidable(
        "LB-NaN",
        "epsilon of noise NaN: dp-accounting 0.6.0, RdpAccountant and get_epsilon_gaussian; jax-privacy 2.0.0, "
        "DpsgdTrainingAccountant with RDP; opacus 1.6.0 and tensorflow-privacy 0.9.0, eps_from_mu; autodp 0.2.3.1, "
        "ExactGaussianMechanism; pipeline-dp 0.3.1, gaussian_epsilon",
        "They return 0 (pipeline-dp: -1). No law decides what noise NaN means; a caller who divided by 0 would be told "
        "that nothing leaks. dp-accounting's PLDAccountant, opendp, pfl's accountants, Flower's RdpAccountant and "
        "dp-accelerator refuse it or answer inf; opacus' RDPAccountant and PRVAccountant, and prv-accountant, do not return.",
    ),
    undecidable(
        "LB-delta-NaN",
        "epsilon at delta NaN: dp-accounting 0.6.0, RdpAccountant.get_epsilon; jax-privacy 2.0.0 with RDP; pipeline-dp 0.3.1",
        "They return 0 (pipeline-dp: -1), because every comparison with NaN is false.",
    ),
    undecidable(
        "LB-FL-adaptive",
        "flwr 1.42.0, compute_adaptive_noise_params(NaN, n, s)",
        "It returns noise 0, because NaN > 0 is false; the strategies check noise_multiplier < 0 only.",
    ),
    undecidable(
        "LB-OP-target",
        "opacus 1.6.0, get_noise_multiplier(target_epsilon=NaN)",
        "It returns 10, the start of its search, because inf > NaN is false.",
    ),
    undecidable(
        "LB-TF-noise",
        "tensorflow-privacy 0.9.0, compute_noise_from_budget_lib.py:44-46, compute_noise",
        "Where the lower bound noise_lbd given by the user is more than is needed, it prints 'noise_lbd too large for "
        "target epsilon.' and returns 0. The print says that 0 is no answer; a script that uses the number adds no noise. "
        "Raising would be safe.",
    ),
    undecidable(
        "LB-AD-negative",
        "autodp 0.2.3.1, LaplaceMechanism(b=-1)",
        "It accepts a negative scale and answers epsilon = 1 at delta = 1e-5. No law has that scale.",
    ),
    undecidable(
        "LB-OP-steps",
        "opacus 1.6.0, compute_rdp(steps=-5)",
        "A negative number of steps is accepted; the epsilon is -134.",
    ),
)
