"""UF Algorithm 1, line 19: rounds until the global problem is solved with accuracy Psi, with the noise of lines 14 and 17."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from airtight.analytics.federated.fair import global_rounds
from airtight.analytics.forms.domain import Range, parameter
from airtight.validate.claims.claim import Claim, false, holds
from airtight.validate.claims.relation import at_most, equal

pull = parameter("pull", 0.01, 1.99, latex=r"\xi")
noise = parameter("noise", 1e-4, 10.0, logarithmic=True, latex=r"\nu")
psi = parameter("psi", 1e-4, 0.5, logarithmic=True, latex=r"\Psi")
_SEED = Range(0, 10**6, integer=True)
_ROUNDS = Range(0, 200, integer=True)
_DEVIATION = Range(1e-3, 1.0, logarithmic=True)

_FLOOR = sp.Min(noise / (1 - (1 - pull) ** 2), 1)  # the accuracy moves from 1 to the floor, without a turn


def _hessians(seed: int, devices: int, spread: float, common: bool) -> tuple[np.ndarray, np.ndarray]:
    """Random Hessians with eigenvalues in [1, spread] that share a basis, or do not, and the distance of w_0 to the minimiser."""
    rng, dimension = np.random.default_rng(seed), 3
    bases = [np.linalg.qr(rng.normal(size=(dimension, dimension)))[0] for _ in range(1 if common else devices)]
    eigenvalues = rng.choice([1.0, spread, *rng.uniform(1.0, spread, 3)], (devices, dimension))
    hessians = [bases[k % len(bases)] @ np.diag(e) @ bases[k % len(bases)].T for k, e in enumerate(eigenvalues)]
    return np.array(hessians), rng.normal(size=dimension)


def _recursion(
    hessians: np.ndarray, start: np.ndarray, pull: float, rounds: int, local: float, server: float, keeps: bool = False
) -> float:
    """E G(w_m) - G* over its value at the start, from the matrix of second moments of w_m, exact local solutions."""
    K, average = len(hessians), hessians.mean(axis=0)
    inverse = np.linalg.inv(hessians).mean(axis=0)
    step = np.eye(len(start)) - pull * inverse @ average
    at_devices = sum(H @ H for H in hessians) / K**2  # of the gradient (3), where each device has a copy of its own
    added = local**2 / K * np.eye(len(start))
    added = added + server**2 * (pull**2 * inverse @ at_devices @ inverse if keeps else np.eye(len(start)))
    moments = np.outer(start, start)
    for _ in range(int(rounds)):
        moments = step @ moments @ step.T + added
    return float(np.trace(average @ moments) / (start @ average @ start))


def _of_quadratics(seed: int, devices: int, spread: float, share: float, rounds: int, local: float, server: float) -> float:
    hessians, start = _hessians(seed, devices, spread, False)
    return _recursion(hessians, start, share * 2 / spread, rounds, local, server)


def _bound(seed: int, devices: int, spread: float, share: float, rounds: int, local: float, server: float) -> float:
    hessians, start = _hessians(seed, devices, spread, False)
    noise = spread * 3 * (local**2 / devices + server**2) / float(start @ hessians.mean(axis=0) @ start)
    return float(
        global_rounds.worst_accuracy(
            rounds, noise=noise, pull=share * 2 / spread, strong_convexity=1.0, smoothness=spread
        )
    )


def _in_the_basis(
    seed: int, devices: int, spread: float, pull: float, rounds: int, local: float, server: float, keeps: int
) -> float:
    hessians, start = _hessians(seed, devices, spread, True)
    basis = np.linalg.eigh(np.tensordot(np.arange(1.0, devices + 1), hessians, 1))[1]  # a mixture has no equal eigenvalues
    return float(
        global_rounds.quadratic_accuracy(
            rounds,
            curvatures=np.diagonal(basis.T @ hessians @ basis, axis1=1, axis2=2),
            start=basis.T @ start,
            pull=pull,
            local_noise=local,
            global_noise=server,
            keeps_model=bool(keeps),
        )
    )


def _by_moments(
    seed: int, devices: int, spread: float, pull: float, rounds: int, local: float, server: float, keeps: int
) -> float:
    return _recursion(*_hessians(seed, devices, spread, True), pull, rounds, local, server, bool(keeps))


def _at_the_count(psi: float, share: float, **model: Any) -> float:
    """The bound after the sufficient number of rounds, at a noise of this share of what the accuracy allows."""
    gap = 1 - float(global_rounds.contraction(**model))
    noise = share * psi * gap
    count = float(global_rounds.sufficient_rounds(psi, noise=noise, **model))
    return float(global_rounds.worst_accuracy(count, noise=noise, **model))


_NOISY = {
    "seed": _SEED,
    "devices": Range(1, 5, integer=True),
    "spread": Range(1.0, 20.0),
    "rounds": _ROUNDS,
    "local": _DEVIATION,
    "server": _DEVIATION,
}

CLAIMS = (
    Claim(
        "UF-A1-stop",
        "Algorithm 1, line 19: 'until global problem in (1) is solved with accuracy Psi', with the noise of lines 14 "
        "and 17 (equal "
        "quadratics, exact local solutions; nu is the excess that the noise of a round adds, over that of the start)",
        at_most(_FLOOR, psi),
        false(
            "Noise of constant variance holds the mean excess above a floor. Below it no number of rounds is enough. "
            "At Table I, with "
            "S = .01, the noise of one round has a norm of 18 for 109386 parameters.",
            "step",
            corrected_by="UF-Psi*",
            true_where=r"\Psi \ge \nu/(2\xi-\xi^2)",
        ),
        statement=r"\min_m\Psi_m = \min\Bigl\{1, \tfrac\nu{1-(1-\xi)^2}\Bigr\} \le \Psi",
        where={r"\min_m\Psi_m": _FLOOR},
        near="the paper names neither Psi nor xi",
    ),
    Claim(
        "UF-Psi*",
        "ours: the global accuracy after m rounds with noise, exact local solutions (tried: quadratics with different "
        "Hessians)",
        at_most(_of_quadratics, _bound),
        holds(
            "A round is a gradient step with a preconditioner between 1/L and 1/mu; noise of mean 0 adds L/2 of its "
            "mean square. "
            "Attained by equal quadratics with mu = L. For local solutions of accuracy Phi the factor q has more terms "
            "(`global_rounds.contraction`)."
        ),
        {**_NOISY, "share": Range(0.01, 0.99)},
        argued="airtight.analytics.federated.fair.global_rounds.worst_accuracy",
        statement=r"\Psi_m \le q^m + \nu\,\tfrac{1-q^m}{1-q},\quad q = 1-\tfrac{2\mu\xi}L\bigl(1-\tfrac{L\xi}{2\mu}\bigr),\ "
        r"\nu = \tfrac{L\,E\|n\|^2}{2(\mathcal G(w_0)-\mathcal G^*)},\ \xi < \tfrac{2\mu}L",
        coq="utility_fairness_general.UF_Psi_star",
    ),
    Claim(
        "UF-Psi*-quadratic",
        "ours: the same of quadratic losses with a common basis, exactly; for Algorithm 1 (line 17) and for Sec. "
        "III-B, where the access "
        "point keeps its model",
        equal(_in_the_basis, _by_moments),
        holds(
            "Each coordinate is a first-order recursion. Compared with the recursion of the matrix of second moments. "
            "Copies with noise of "
            "their own average out: at xi = 1/2, ten devices and equal noise they leave a ninth of the floor."
        ),
        {**_NOISY, "pull": Range(0.01, 0.3), "keeps": Range(0, 1, integer=True)},
        argued="airtight.analytics.federated.fair.global_rounds.quadratic_accuracy",
        statement=r"\Psi_m = \sum_i\bar c_i\Bigl(a_i^{2m}x_i^2 + V_i\frac{1-a_i^{2m}}{1-a_i^2}\Bigr)"
        r"\Big/\sum_i\bar c_ix_i^2,\quad a_i = 1-\xi\,\overline{c_i^{-1}}\,\bar c_i",
        coq="utility_fairness_general.UF_Psi_star_quadratic",
    ),
    Claim(
        "UF-M*",
        "ours: the number of rounds M of a global accuracy Psi",
        equal(_at_the_count, lambda psi, **_: psi),
        holds("The number of rounds at which the bound UF-Psi* falls to Psi."),
        {
            "psi": Range(1e-6, 0.99, logarithmic=True),
            "share": Range(0.0, 0.99),
            "pull": Range(1e-4, 0.2, logarithmic=True),
            "strong_convexity": Range(0.6, 1.0),
            "smoothness": Range(1.0, 1.2),
            "local_accuracy": Range(0.0, 1e-4),
        },
        statement=r"M = \log\tfrac{\Psi-f}{1-f}\Big/\log q,\quad f = \tfrac\nu{1-q}",
        unread="the bound at this number of rounds is tried",
        tolerance=1e-6,
    ),
)
