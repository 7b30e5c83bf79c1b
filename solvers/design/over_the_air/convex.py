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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, optimize, sparse, special

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.rounding import UNIT
from airtight.solvers.design.over_the_air.joint_design import Purpose

if TYPE_CHECKING:
    import cvxpy

# factors tried on the multipliers, because rounding may make them prove slightly less than the allowed MSE
_SCALES = (1.0, *(1 + 10.0**-k for k in range(10, 1, -1)))


@dataclass(frozen=True)
class Model:
    """The data of the problem; shapes (K,) and, for `root`, (rank, K)."""

    system: InferenceSystem
    root: FloatArray  # Q = root' root + diag(apart)
    apart: FloatArray
    inner: FloatArray  # c
    target_power: float  # the mean of norm(f*)^2
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
            target_power=float(np.mean(np.sum(targets**2, axis=1))),
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

    def scaled(self, factor: float) -> Multipliers:
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
    meant_observer = observers.resolved(system, observer)
    leaves = system.adjacency is Adjacency.ABSENT and not system.idle_noise
    hidden = leaves or (system.idle_noise and not meant_observer.sees_device)
    kappa = np.empty(system.devices)
    probabilities, index_of = np.unique(system.participation, return_inverse=True)
    for i, p in enumerate(probabilities.tolist()):
        kappa[index_of == i] = _ratio(p, epsilon, system.delta, rounds, hidden=hidden)
    return kappa


def _ratio(p: float, epsilon: float, delta: float, rounds: int, *, hidden: bool) -> float:
    if p == 0 or (p < 1 and -math.expm1(rounds * math.log1p(-p)) <= delta):
        return math.inf
    if hidden and p < 1:
        rounds = 1  # several rounds reveal no less
    active_rounds = np.arange(1, rounds + 1)
    chance = np.exp(
        special.gammaln(rounds + 1)
        - special.gammaln(active_rounds + 1)
        - special.gammaln(rounds - active_rounds + 1)
        + special.xlogy(active_rounds, p)
        + special.xlog1py(rounds - active_rounds, -p)
    )
    inner = epsilon
    if hidden:  # log(1 + (e^epsilon - 1)/p)
        inner = math.log1p(math.expm1(epsilon) / p) if epsilon < 500 else epsilon - math.log(p)

    def excess(log_ratio: float) -> float:
        deltas = gaussian.delta(inner, sensitivity=np.sqrt(active_rounds) * math.exp(log_ratio), sigma=1.0)
        return math.log(max(float(chance @ np.asarray(deltas)), 1e-300)) - math.log(delta)

    if excess(_GREATEST_LOG_RATIO) <= 0:  # no ratio reveals so much
        return math.inf
    root = float(optimize.brentq(excess, -_GREATEST_LOG_RATIO, _GREATEST_LOG_RATIO, xtol=1e-13))
    return math.exp(root) * (1 + 1e-9)


class Ratios(Enum):
    """What the ratios of :func:`ratios` are: those of epsilon itself, a relaxation of them, or neither."""

    EXACT = auto()
    RELAXED = auto()
    NEITHER = auto()


def ratios_are(system: InferenceSystem, observer: Observer, rounds: int) -> Ratios:
    r"""What is proved of the ratios of a system.

    Notes
    -----
    *An absent device takes its noise along.* With the others of a set S present, y is :math:`N(d, V)` with it and
    :math:`N(0, V - \gamma^2\sigma_k^2)` without it. For every threshold t >= 0, the probability of exceeding it is
    :math:`\Phi((d-t)/\sqrt V)` with it, and at most :math:`\Phi(-t/\sqrt V)` without it. The best threshold between
    :math:`N(d, V)` and :math:`N(0, V)` at :math:`\epsilon \ge 0` is :math:`d/2 + \epsilon V/d \ge 0`, so delta is at least that
    of these two, and at least that with the noise of all devices. Its participation is hidden: delta is p times delta at
    :math:`\log(1 + (e^\epsilon - 1)/p)`, which is a lower bound over several rounds, too. With p = 1 the sums of T rounds are
    such a pair with :math:`d\sqrt T`.
    """
    resolved = observers.resolved(system, observer)
    sees_device, always_sends = resolved.sees_device, bool(np.all(system.participation == 1))
    if sees_device and system.adjacency is Adjacency.ABSENT:
        return Ratios.NEITHER  # participation alone decides
    if not system.idle_noise and system.adjacency is Adjacency.ABSENT:
        return Ratios.RELAXED
    if not sees_device and (not system.idle_noise or system.adjacency is Adjacency.REPLACE):
        return Ratios.NEITHER
    return Ratios.EXACT if always_sends or (system.idle_noise and (sees_device or rounds == 1)) else Ratios.RELAXED


def stated(
    model: Model,
    limits: Limits,
    data: Mapping[str, Any] | None = None,
) -> tuple[cvxpy.Problem, dict[str, cvxpy.Variable], dict[str, cvxpy.Constraint]]:
    """The problem of least MSE less the constant, its variables u, m and phi, and its constraints by name.

    `data` may hold cvxpy parameters in place of numbers: ``square_roots`` (of the privacy rows, C/kappa) and ``energy``.
    The peak power is not limited.
    """
    import cvxpy as cp

    data = data or {}
    K, receiver_noise = model.system.devices, model.system.decoded_receiver_noise
    u = cp.Variable(K, name="u")
    m, phi = cp.Variable(K, nonneg=True, name="m"), cp.Variable(nonneg=True, name="phi")
    total_noise = cp.Variable()  # the total noise as a variable, so that a privacy row has few entries
    linear = model.sends @ m + phi - 2 * model.inner @ u
    error = cp.sum_squares(model.root @ u) + cp.sum_squares(cp.multiply(np.sqrt(model.apart), u)) + linear
    limited_ratio, _, _ = _limited(limits)
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
    if limits.fixed is not None:
        constraints["fixed"] = m == (limits.fixed / receiver_noise) * phi
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
    r"""The least MSE under the limits, for weights `along` given ones if there are any; None where the solver finds no solution.

    Raises
    ------
    ModuleNotFoundError
        When clarabel is not installed.

    Notes
    -----
    The program of :func:`stated`, given to the solver as it is: in x = (u, m, phi, T, y, c) with the total noise T, y = `root` u,
    and u = `along` c. A row :math:`\|v\|^2 \le t` is the cone :math:`\|(2v, t - 1)\| \le t + 1`; if z is its dual, the
    multiplier of t is :math:`z_0 + z_{-1}`.
    """
    import clarabel

    K, rank, receiver_noise = model.system.devices, model.root.shape[0], model.system.decoded_receiver_noise
    phi, noise_column, size = 2 * K, 2 * K + 1, 2 * K + 2 + rank + (along is not None)
    limited_ratio, limited_reach, limited_noise = _limited(limits)
    eye = sparse.identity(size, format="csr")
    u_rows, m_rows, phi_row, total_row = eye[:K], eye[K : 2 * K], eye[phi], eye[noise_column]
    root_of_u = sparse.hstack([sparse.csr_matrix(model.root), sparse.csr_matrix((rank, size - K))], format="csr")
    equal = [eye[2 * K + 2 : 2 * K + 2 + rank] - root_of_u, total_row - phi_row - m_rows.sum(axis=0)]
    if limits.fixed is not None:
        equal.append(m_rows - sparse.kron(sparse.csr_matrix(limits.fixed[:, None] / receiver_noise), phi_row))
    if along is not None:
        equal.append(u_rows - sparse.kron(sparse.csr_matrix(along[:, None]), eye[size - 1]))
    most_noise = sparse.csr_matrix(limits.variance[limited_noise, None] / receiver_noise)
    nonnegative = [u_rows, m_rows, phi_row, sparse.kron(most_noise, phi_row) - m_rows[limited_noise]]
    cones = [
        _cones(_squares(model, limits)[limited_ratio], u_rows[limited_ratio], total_row),
        _cones(_reaches(model, limits)[limited_reach], u_rows[limited_reach], phi_row),
    ]
    sizes = [3] * (limited_ratio.size + limited_reach.size)
    if math.isfinite(limits.energy):
        code = sparse.diags(2 * np.sqrt(receiver_noise * model.code / limits.energy)) @ u_rows
        left = phi_row - sparse.csr_matrix(receiver_noise * model.noise / limits.energy) @ m_rows
        cones.append(sparse.vstack([left, code, left]))
        sizes.append(K + 2)
    slack = sparse.vstack([*equal, *nonnegative, *cones], format="csc")
    offset = np.zeros(slack.shape[0])
    equalities, first = sum(rows.shape[0] for rows in equal), slack.shape[0] - sum(sizes)
    ends = first + np.cumsum([0, *sizes])
    offset[ends[:-1]], offset[ends[1:] - 1] = 1.0, -1.0
    square, linear = np.zeros(size), np.zeros(size)
    square[:K], square[2 * K + 2 : 2 * K + 2 + rank] = 2 * model.apart, 2.0
    linear[:K], linear[K : 2 * K], linear[phi] = -2 * model.inner, model.sends, 1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    answer = clarabel.DefaultSolver(
        sparse.diags(square, format="csc"),
        linear,
        -slack,
        offset,
        [
            clarabel.ZeroConeT(equalities),
            clarabel.NonnegativeConeT(first - equalities),
            *(clarabel.SecondOrderConeT(rows) for rows in sizes),
        ],
        settings,
    ).solve()
    x, z = np.array(answer.x), np.array(answer.z)
    if answer.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved) or not x[phi] > 0:
        return None
    by_square = np.maximum(z[ends[:-1]] + z[ends[1:] - 1], 0.0)

    def dual(devices: IntArray, multipliers: FloatArray) -> FloatArray:
        values = np.zeros(K)
        values[devices] = np.maximum(multipliers, 0.0)
        return values

    reach_first, energy_place = limited_ratio.size, limited_ratio.size + limited_reach.size
    multipliers = Multipliers(
        dual(limited_ratio, by_square[:reach_first]),
        float(by_square[energy_place]) / limits.energy if math.isfinite(limits.energy) else 0.0,
        dual(limited_reach, by_square[reach_first:energy_place]),
        dual(limited_noise, z[equalities + 2 * K + 1 : first]),
        dual(np.arange(K), z[equalities : equalities + K]),
    )
    u, m = np.maximum(x[:K], 0.0), np.maximum(x[K : 2 * K], 0.0)
    gain = math.sqrt(x[phi] / receiver_noise) / model.decoder
    noise = m / x[phi] * receiver_noise if limits.fixed is None else limits.fixed
    if along is None and limited_ratio.size:  # the solver keeps its constraints to some digits only
        received = np.sqrt(np.sum(m) + x[phi])
        u[limited_ratio] = np.minimum(u[limited_ratio], received / _squares(model, limits)[limited_ratio])
    designed = replace(model.system, weight=u / gain / model.decoder, noise_variance=noise, decoder_gain=gain)
    return Relaxed(designed, model.target_power + float(answer.obj_val), multipliers)


def _cones(factor: FloatArray, rows: Any, t: Any) -> Any:
    """The rows (t, 2 v, t) of a cone for each v, a factor times a row."""
    middle, ends = np.array([[0.0], [1.0], [0.0]]), np.array([[1.0], [0.0], [1.0]])
    if not factor.size:
        return rows
    doubled = sparse.kron(sparse.diags(2 * factor) @ rows, middle)
    return doubled + sparse.kron(np.ones((factor.size, 1)), sparse.kron(ends, t))


def _squares(model: Model, limits: Limits) -> FloatArray:
    return np.asarray(model.clip / limits.ratio)


def _reaches(model: Model, limits: Limits) -> FloatArray:
    return np.asarray(np.sqrt(model.system.decoded_receiver_noise) * model.system.clip / limits.reach)


def error_at_least(model: Model, limits: Limits, multipliers: Multipliers) -> float:
    """A lower bound of every MSE under the limits."""
    corrected, phi_slope = _corrected(model, limits, multipliers)
    used = 1 - phi_slope + (corrected.energy * limits.energy if corrected.energy > 0 else 0.0)
    return _dual(model, limits, corrected.scaled(1 / used) if used > 1 else corrected)


def energy_at_least(model: Model, limits: Limits, multipliers: Multipliers, error: float) -> float:
    """A lower bound of the energy of every design with at most this MSE under the other limits; 0 if none is proved."""
    if error >= model.target_power:  # a constant output will do
        return 0.0
    for scale in _SCALES:
        corrected, phi_slope = _corrected(model, limits, multipliers.scaled(scale))
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
    r"""A lower bound of the Lagrangian over all u >= 0 of designs that are no worse than a constant output.

    Notes
    -----
    M is positive semidefinite, so :math:`u^TMu \ge 2x^TMu - x^TMx` for every x, and with :math:`e = \max(c - Mx, 0)`

    .. math:: u^TMu - 2c^Tu \ge -x^TMx - 2e^Tu \ge -x^TMx - 2e^TU,

    where U is an upper bound of u. The residual of the linear solution x costs the small second term, and nothing is inverted. A
    design with an MSE of at most norm(f*)^2 has :math:`\sum_kq_km_k + \varphi \le \|f^*\|^2`, so each limit bounds u.
    """
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
    image = curvature @ solution
    unproved = np.maximum(model.inner - image, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        greatest_noise = model.target_power / min(float(np.min(model.sends)), 1.0)
        greatest = math.sqrt(model.target_power) * np.fmin.reduce(
            [
                math.sqrt(greatest_noise / model.target_power) / _squares(model, limits),
                1 / np.sqrt(model.apart),
                np.sqrt(limits.energy / (receiver_noise * model.code)),
                1 / _reaches(model, limits),
            ]
        )
        cost = float(np.sum(np.where(unproved > 0, unproved * greatest, 0.0)))
    size = model.target_power + 2 * float(np.abs(model.inner) @ np.abs(solution)) + float(np.abs(solution) @ np.abs(image))
    rounding = (8 * sum(model.root.shape) + 64) * UNIT * size
    bound = model.target_power - float(solution @ image) - 2 * cost - rounding
    return min(bound, model.target_power) if math.isfinite(bound) else -math.inf
