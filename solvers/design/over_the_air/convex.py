r"""The joint problem of unequal devices at given participations and clips: convex after a change of variables.

With :math:`u_k = g\|D\|w_k`, :math:`m_k = g^2\|D\|^2\sigma_k^2`, :math:`\varphi = g^2\|D\|^2s`,
:math:`s = \sigma_m^2/\gamma^2` the MSE is

.. math:: u^TQu - 2c^Tu + \|f^*\|^2 + \sum_kq_km_k + \varphi,

where Q is the second moment of the devices' decoded codes divided by norm(D), and c is their moment with the target.
With :math:`a_k = \gamma^2p_k\|z_k\|^2/|h_k|^2` and :math:`b_k = \gamma^2q_kr/|h_k|^2`, the energy and privacy
constraints are

.. math:: s\sum_k(a_ku_k^2 + b_km_k) \le E\varphi, \qquad C_k^2u_k^2 \le \kappa_k^2\Bigl(\sum_jm_j + \varphi\Bigr),
          \qquad u \ge 0.

All of these are convex, so the least MSE is a second-order cone program. It decreases in E, so the least energy is a
root; so is the least epsilon.

:math:`\kappa_k` is the greatest ratio of the code length to the standard deviation of the noise that keeps epsilon
when the noise of all devices is always present. It is exact with idle noise, and where all devices always take part.
In other cases an observer who sees the participants learns more when some noise is absent, so the constraint is a
relaxation. The design itself is then made with ratios that are exact for its own noise, by alternating steps
(:mod:`airtight.solvers.design.over_the_air.unequal_devices`). The peak power constraint is relaxed to
:math:`w_kC_k \le R_k` and to a noise variance :math:`\sigma_k^2 \le S_k` that keeps the outage at code length 0; it is
made exact in the same way.

Notes
-----
*Lower bounds.* With multipliers :math:`\lambda` of privacy, nu of energy, rho and eta of peak power, the Lagrangian is
minimal at :math:`u = M^{-1}(c + \psi/2)`, :math:`M = Q + \mathrm{diag}(\lambda C^2/\kappa^2 + \nu sa + \rho sC^2/R^2)`, with
the multipliers :math:`\psi \ge 0` of :math:`u \ge 0`, if its slopes in m and phi are not negative:

.. math:: q_k + \nu sb_k + \eta_k \ge \sum\lambda, \qquad 1 \ge \sum\lambda + \nu E + \sum\rho + \sum\eta S/s.

For any multipliers that satisfy both conditions, :math:`\|f^*\|^2 - (c + \psi/2)^TM^{-1}(c + \psi/2)` is a lower bound of
every MSE, however the multipliers were found. If this number is at least the allowed MSE, the greatest E that the second
condition allows is a lower bound of every energy, because no design with less energy has the allowed MSE.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, optimize, special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import observers
from airtight.solvers.design.over_the_air.requirements import Purpose

# factors tried on the multipliers, because rounding may make them prove slightly less than the allowed MSE
_SCALES = (1.0, *(1 + 10.0**-k for k in range(10, 1, -1)))


@dataclass(frozen=True)
class Model:
    """The data of the problem; shapes (K,) and, for `root`, (rank, K)."""

    system: InferenceSystem
    root: FloatArray  # Q = root' root + diag(apart)
    apart: FloatArray
    inner: FloatArray  # c
    own: float
    decoder: float  # norm(D)
    sends: FloatArray  # q
    code: FloatArray  # a
    noise: FloatArray  # b
    clip: FloatArray  # times 2 for replace

    @classmethod
    def of(cls, system: InferenceSystem, purpose: Purpose) -> Model:
        tasks, p = purpose.features, system.participation
        clipped = np.stack([task.clipped(system.clip) for task in tasks])
        decoded = clipped @ tasks[0].D.T  # (N, K, d)
        targets = np.stack([task.target for task in tasks])
        weighted_codes = np.moveaxis(decoded * p[None, :, None], 1, 2).reshape(-1, system.devices) / np.sqrt(len(tasks))
        decoder = float(np.linalg.norm(tasks[0].D))
        cost = system.alignment**2 / np.broadcast_to(system.channel_gain, p.shape)
        sends = np.ones_like(p) if system.idle_noise else p
        factor = 2.0 if system.adjacency is Adjacency.REPLACE else 1.0
        return cls(
            system=system,
            root=_reduced(weighted_codes) / decoder,
            apart=p * (1 - p) * np.mean(np.sum(decoded**2, axis=2), axis=0) / decoder**2,
            inner=p * np.mean(np.einsum("nkd,nd->nk", decoded, targets), axis=0) / decoder,
            own=float(np.mean(np.sum(targets**2, axis=1))),
            decoder=decoder,
            sends=sends,
            code=cost * p * np.mean(np.sum(clipped**2, axis=2), axis=0),
            noise=cost * sends * system.dimension,
            clip=factor * system.clip,
        )


def _reduced(rows: FloatArray) -> FloatArray:
    """A matrix with the Gram matrix of `rows`, up to rounding, and as few rows as its rank."""
    if rows.shape[0] > rows.shape[1]:
        rows = linalg.qr(rows, mode="r")[0][: rows.shape[1]]
    _, values, right = linalg.svd(rows, full_matrices=False)
    kept = values > 1e-12 * max(float(values[0]), 1e-300)
    return np.asarray(values[kept, None] * right[kept])


@dataclass(frozen=True)
class Limits:
    """The limits of the constraints, one per device except the energy; infinite where a quantity is not limited.

    Attributes
    ----------
    ratio : ndarray
        kappa, the limit on the ratio of code length to noise.
    energy : float
    reach : ndarray
        R, the limit on w C.
    variance : ndarray
        S, the limit on the noise variance.
    fixed : ndarray or None
        The noise variances where they are not free.
    """

    ratio: FloatArray
    energy: float
    reach: FloatArray
    variance: FloatArray
    fixed: FloatArray | None


@dataclass(frozen=True)
class Multipliers:
    """The multipliers lambda, nu, rho, eta and psi of the Lagrangian in the module's notes."""

    privacy: FloatArray
    energy: float
    reach: FloatArray
    variance: FloatArray
    sign: FloatArray

    def times(self, factor: float) -> Multipliers:
        """The multipliers of the limits times a factor; the signs of the weights are no limit."""
        return Multipliers(
            factor * self.privacy, factor * self.energy, factor * self.reach, factor * self.variance, self.sign
        )


@dataclass(frozen=True)
class Relaxed:
    """The solution of the cone program: the system, its MSE and the multipliers."""

    system: InferenceSystem
    error: float
    multipliers: Multipliers


_GREATEST_LOG_RATIO = 30.0  # in which a ratio of clip and noise is sought


def ratios(system: InferenceSystem, epsilon: float, observer: Observer, rounds: int) -> FloatArray:
    """kappa of every device: an upper bound of the ratio when at most the noise of all devices together is present."""
    hidden = system.idle_noise and observer is not Observer.PARTICIPANTS
    kappa = np.empty(system.devices)
    probabilities, index_of = np.unique(system.participation, return_inverse=True)
    for i, p in enumerate(probabilities.tolist()):
        kappa[index_of == i] = _ratio(p, epsilon, system.delta, rounds, hidden=hidden)
    return kappa


def _ratio(p: float, epsilon: float, delta: float, rounds: int, *, hidden: bool) -> float:
    if p == 0 or -math.expm1(rounds * math.log1p(-p)) <= delta if p < 1 else False:
        return math.inf
    count = np.arange(1, rounds + 1)
    chance = np.exp(
        special.gammaln(rounds + 1)
        - special.gammaln(count + 1)
        - special.gammaln(rounds - count + 1)
        + special.xlogy(count, p)
        + special.xlog1py(rounds - count, -p)
    )
    inner = math.log1p(math.expm1(epsilon) / p) if hidden and epsilon < 500 else epsilon

    def excess(log_ratio: float) -> float:
        deltas = gaussian.delta(inner, sensitivity=np.sqrt(count) * math.exp(log_ratio), sigma=1.0)
        return math.log(max(float(chance @ np.asarray(deltas)), 1e-300)) - math.log(delta)

    if excess(_GREATEST_LOG_RATIO) <= 0:  # no ratio reveals so much
        return math.inf
    root = float(optimize.brentq(excess, -_GREATEST_LOG_RATIO, _GREATEST_LOG_RATIO, xtol=1e-13))
    return math.exp(root) * (1 + 1e-9)


def exact(system: InferenceSystem, observer: Observer, rounds: int) -> bool | None:
    """True where `ratios` are exact, False where they are a relaxation, None where they are neither."""
    meant_observer = observers.resolved(system, observer)
    if system.idle_noise:
        simple = system.adjacency is Adjacency.SILENT or (
            system.adjacency is Adjacency.ABSENT and meant_observer is not Observer.PARTICIPANTS
        )
        hides = meant_observer is not Observer.PARTICIPANTS
        return True if simple and (rounds == 1 or not hides or bool(np.all(system.participation == 1))) else None
    if system.adjacency is Adjacency.ABSENT or meant_observer is not Observer.PARTICIPANTS:
        return None
    return bool(np.all(system.participation == 1))


def stated(
    model: Model,
    limits: Limits,
    data: Mapping[str, Any] | None = None,
    *,
    along: FloatArray | None = None,
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The problem of least MSE less the constant, its variables u, m and phi, and its constraints by name.

    `data` may hold cvxpy parameters in place of numbers: ``square_roots`` (of the privacy rows, C/kappa) and ``energy``. With
    `along` the weights are a multiple of these.
    """
    import cvxpy as cp

    data = data or {}
    K, receiver_noise = model.system.devices, model.system.decoded_receiver_noise
    u = cp.Variable(K, name="u")
    m, phi = cp.Variable(K, nonneg=True, name="m"), cp.Variable(nonneg=True, name="phi")
    total_noise = cp.Variable()  # the total noise as a variable, so that a privacy row has few entries
    linear = model.sends @ m + phi - 2 * model.inner @ u
    error = cp.sum_squares(model.root @ u) + cp.sum_squares(cp.multiply(np.sqrt(model.apart), u)) + linear
    limited_ratio, limited_reach, limited_noise = _limited(limits)
    constraints: dict[str, Any] = {"sign": u >= 0}
    if limited_ratio.size:
        roots = data.get("square_roots", _squares(model, limits)[limited_ratio])
        constraints["privacy"] = cp.square(cp.multiply(roots, u[limited_ratio])) <= total_noise
        constraints["whole"] = total_noise == cp.sum(m) + phi
    if "energy" in data:
        code, noise = np.sqrt(receiver_noise * model.code), receiver_noise * model.noise
        constraints["energy"] = cp.sum_squares(cp.multiply(code, u)) + noise @ m <= data["energy"] * phi
    elif math.isfinite(limits.energy):
        code, noise = np.sqrt(receiver_noise * model.code / limits.energy), receiver_noise * model.noise / limits.energy
        constraints["energy"] = cp.sum_squares(cp.multiply(code, u)) + noise @ m <= phi
    if limited_reach.size:
        constraints["reach"] = cp.square(cp.multiply(_reaches(model, limits)[limited_reach], u[limited_reach])) <= phi
    if limited_noise.size:
        constraints["variance"] = m[limited_noise] <= (limits.variance[limited_noise] / receiver_noise) * phi
    if limits.fixed is not None:
        constraints["fixed"] = m == (limits.fixed / receiver_noise) * phi
    if along is not None:
        constraints["along"] = u == along * cp.Variable()
    problem = cp.Problem(cp.Minimize(error), list(constraints.values()))
    return problem, {"u": u, "m": m, "phi": phi}, constraints


def _limited(limits: Limits) -> tuple[IntArray, IntArray, IntArray]:
    """The devices with a limit on the ratio, on the reach, and on the noise variance."""
    return (
        np.flatnonzero(np.isfinite(limits.ratio)),
        np.flatnonzero(np.isfinite(limits.reach)),
        np.flatnonzero(np.isfinite(limits.variance) & (limits.fixed is None)),
    )


def least_error(model: Model, limits: Limits, *, along: FloatArray | None = None) -> Relaxed | None:
    """The least MSE under the limits, for weights `along` given ones if there are any; None where the solver finds no solution.

    Raises
    ------
    ModuleNotFoundError
        When cvxpy is not installed.
    """
    import cvxpy as cp

    K, receiver_noise = model.system.devices, model.system.decoded_receiver_noise
    problem, variables, constraints = stated(model, limits, along=along)
    u, m, phi = (variables[name] for name in ("u", "m", "phi"))
    limited_ratio, limited_reach, limited_noise = _limited(limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about accuracy: the bound is computed independently
            problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError:
        return None
    if u.value is None or not _number(phi.value) > 0:
        return None

    def dual(name: str, devices: IntArray) -> FloatArray:
        dual_values = np.zeros(K)
        if name in constraints:
            dual_values[devices] = np.maximum(constraints[name].dual_value, 0.0)
        return dual_values

    energy_dual = (
        max(_number(constraints["energy"].dual_value), 0.0) / limits.energy if "energy" in constraints else 0.0
    )
    multipliers = Multipliers(
        dual("privacy", limited_ratio),
        energy_dual,
        dual("reach", limited_reach),
        dual("variance", limited_noise),
        dual("sign", np.arange(K)),
    )
    gain = math.sqrt(_number(phi.value) / receiver_noise) / model.decoder
    noise = np.maximum(m.value, 0.0) / _number(phi.value) * receiver_noise if limits.fixed is None else limits.fixed
    u_kept = np.maximum(u.value, 0.0)
    if along is None and limited_ratio.size:  # the solver keeps its constraints to some digits only
        received = np.sqrt(np.sum(np.maximum(m.value, 0.0)) + _number(phi.value))
        u_kept[limited_ratio] = np.minimum(u_kept[limited_ratio], received / _squares(model, limits)[limited_ratio])
    weight = u_kept / gain / model.decoder
    designed = replace(model.system, weight=weight, noise_variance=noise, decoder_gain=gain)
    return Relaxed(designed, model.own + _number(problem.value), multipliers)


def _number(value: Any) -> float:
    return float(np.ravel(value)[0])


def _squares(model: Model, limits: Limits) -> FloatArray:
    return np.asarray(model.clip / limits.ratio)


def _reaches(model: Model, limits: Limits) -> FloatArray:
    return np.asarray(np.sqrt(model.system.decoded_receiver_noise) * model.system.clip / limits.reach)


def error_at_least(model: Model, limits: Limits, found: Multipliers) -> float:
    """A lower bound of every MSE under the limits."""
    corrected, phi_slope = _corrected(model, limits, found)
    used = 1 - phi_slope + (corrected.energy * limits.energy if corrected.energy > 0 else 0.0)
    return _dual(model, limits, corrected.times(1 / used) if used > 1 else corrected)


def energy_at_least(model: Model, limits: Limits, found: Multipliers, error: float) -> float:
    """A lower bound of the energy of every design with at most this MSE under the other limits; 0 if none is proved."""
    for scale in _SCALES:
        corrected, phi_slope = _corrected(model, limits, found.times(scale))
        if corrected.energy > 0 and phi_slope > 0 and _dual(model, limits, corrected) >= error:
            return phi_slope / corrected.energy
    return 0.0


def _corrected(model: Model, limits: Limits, multipliers: Multipliers) -> tuple[Multipliers, float]:
    """Multipliers corrected to satisfy the condition on the slopes in m, and the slope in phi without energy term."""
    receiver_noise = model.system.decoded_receiver_noise
    privacy_sum = float(np.sum(multipliers.privacy))
    slopes = model.sends + multipliers.energy * receiver_noise * model.noise
    if limits.fixed is not None:
        noise_share = limits.fixed / receiver_noise
        return multipliers, 1 + float(slopes @ noise_share) - privacy_sum * (1 + float(np.sum(noise_share))) - float(
            np.sum(multipliers.reach)
        )
    limited = np.isfinite(limits.variance)
    variance_dual = np.where(limited, np.maximum(multipliers.variance, privacy_sum - slopes), 0.0)
    least_slope = float(np.min(np.where(limited, np.inf, slopes)))
    if privacy_sum > least_slope:
        multipliers = replace(multipliers, privacy=multipliers.privacy * (least_slope / privacy_sum))
        privacy_sum = least_slope
        variance_dual = np.where(limited, np.maximum(privacy_sum - slopes, 0.0), 0.0)
    variance_dual = np.maximum(variance_dual, 0.0)
    variance_term = float(np.sum(variance_dual[limited] * limits.variance[limited])) / receiver_noise
    return replace(multipliers, variance=variance_dual), 1 - privacy_sum - float(
        np.sum(multipliers.reach)
    ) - variance_term


def _dual(model: Model, limits: Limits, multipliers: Multipliers) -> float:
    """The dual value norm(f*)^2 - c'M^-1c, c raised by half of psi, lowered by a bound on the error of the linear solution."""
    inner = model.inner + multipliers.sign / 2
    receiver_noise = model.system.decoded_receiver_noise
    penalty = multipliers.privacy * _squares(model, limits) ** 2 + multipliers.energy * receiver_noise * model.code
    curvature = model.root.T @ model.root + np.diag(
        model.apart + penalty + multipliers.reach * _reaches(model, limits) ** 2
    )
    try:
        solution = linalg.cho_solve(linalg.cho_factor(curvature), inner)
    except linalg.LinAlgError:  # M is singular up to rounding, in directions that c lacks
        solution = linalg.lstsq(curvature, inner)[0]
    # c'M^-1c = (2c - Mx)'x + e'M^-1e for any x with residual e = c - Mx; `error_bound` covers the residual
    residual = inner - curvature @ solution
    error_bound = float(np.linalg.norm(residual)) * (1 + float(np.linalg.norm(solution)))
    if error_bound > 1e-6 * model.own:
        return -math.inf
    return model.own - float(inner @ solution) - error_bound
