r"""The joint problem of different devices at given participations and clips: convex after a change of variables.

With :math:`u_k = g\|D\|w_k`, :math:`m_k = g^2\|D\|^2\sigma_k^2`, :math:`\varphi = g^2\|D\|^2s`, :math:`s = \sigma_m^2/\gamma^2`
the MSE is

.. math:: u^TQu - 2c^Tu + \|f^*\|^2 + \sum_kq_km_k + \varphi,

Q and c the second moments of what the devices' codes decode to, over norm(D), and with the target; and with numbers
:math:`a_k = \gamma^2p_k\|z_k\|^2/|h_k|^2`, :math:`b_k = \gamma^2q_kr/|h_k|^2` energy and privacy are

.. math:: s\sum_k(a_ku_k^2 + b_km_k) \le E\varphi, \qquad C_k^2u_k^2 \le \kappa_k^2\Bigl(\sum_jm_j + \varphi\Bigr).

All is convex, so the least MSE is a second-order cone program; it falls with E, so the least energy is a root, and the least
epsilon one, too.

:math:`\kappa_k` is the greatest ratio of a code's length to the deviation of the noise that keeps epsilon when the noise of all
devices is always there: exact with idle noise, and where everybody always takes part. Elsewhere a participation that leaves
noise out gives more away to who sees the participants, so this is a relaxation; the design itself is made with ratios that are
exact for its own noise, by turns. Peak power relaxed is :math:`w_kC_k \le R_k` and a noise alone that keeps the outage; by
turns likewise.

Notes
-----
*Lower bounds.* With multipliers :math:`\lambda` of privacy, nu of energy, rho and eta of peak power the Lagrange function is
least at
:math:`u = M^{-1}c`, :math:`M = Q + \mathrm{diag}(\lambda C^2/\kappa^2 + \nu sa + \rho sC^2/R^2)`, if its slopes in m and phi
are not negative:

.. math:: q_k + \nu sb_k + \eta_k \ge \sum\lambda, \qquad 1 \ge \sum\lambda + \nu E + \sum\rho + \sum\eta S/s.

Whatever the solver says, :math:`\|f^*\|^2 - c^TM^{-1}c` for multipliers that keep both is below every MSE. And below every
energy is the greatest E that the second allows, if that number is no less than the MSE allowed: with less energy no design has
it.
"""

from __future__ import annotations

import math
import warnings
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

_SCALES = (1.0, *(1 + 10.0**-k for k in range(10, 1, -1)))


@dataclass(frozen=True)
class Model:
    """The numbers of the problem; shapes (K,) and (rank, K)."""

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
        clipped = np.stack([one.clipped(system.clip) for one in tasks])
        decoded = clipped @ tasks[0].D.T  # (N, K, d)
        targets = np.stack([one.target for one in tasks])
        rows = np.moveaxis(decoded * p[None, :, None], 1, 2).reshape(-1, system.devices) / np.sqrt(len(tasks))
        decoder = float(np.linalg.norm(tasks[0].D))
        cost = system.alignment**2 / np.broadcast_to(system.channel_gain, p.shape)
        sends = np.ones_like(p) if system.idle_noise else p
        factor = 2.0 if system.adjacency is Adjacency.REPLACE else 1.0
        return cls(
            system=system,
            root=_reduced(rows) / decoder,
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
    """The same products on as few rows as the rank, to rounding."""
    if rows.shape[0] > rows.shape[1]:
        rows = linalg.qr(rows, mode="r")[0][: rows.shape[1]]
    _, values, right = linalg.svd(rows, full_matrices=False)
    kept = values > 1e-12 * max(float(values[0]), 1e-300)
    return np.asarray(values[kept, None] * right[kept])


@dataclass(frozen=True)
class Limits:
    """What is kept, one a device but for the energy; infinite where nothing is.

    Attributes
    ----------
    ratio : ndarray
        kappa.
    energy : float
    reach : ndarray
        R, of w C.
    variance : ndarray
        S, of the noise.
    fixed : ndarray or None
        Noise variances that are not free.
    """

    ratio: FloatArray
    energy: float
    reach: FloatArray
    variance: FloatArray
    fixed: FloatArray | None


@dataclass(frozen=True)
class Multipliers:
    """Of the Lagrange function above."""

    privacy: FloatArray
    energy: float
    reach: FloatArray
    variance: FloatArray

    def times(self, factor: float) -> Multipliers:
        """All scaled."""
        return Multipliers(factor * self.privacy, factor * self.energy, factor * self.reach, factor * self.variance)


@dataclass(frozen=True)
class Relaxed:
    """What the solver found."""

    system: InferenceSystem
    error: float
    multipliers: Multipliers


def ratios(system: InferenceSystem, epsilon: float, observer: Observer, rounds: int) -> FloatArray:
    """kappa: no design whose noise is at most that of all devices together exceeds it."""
    hidden = system.idle_noise and observer is not Observer.PARTICIPANTS
    out = np.empty(system.devices)
    kinds, back = np.unique(system.participation, return_inverse=True)
    for i, p in enumerate(kinds.tolist()):
        out[back == i] = _ratio(p, epsilon, system.delta, rounds, hidden=hidden)
    return out


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
        found = gaussian.delta(inner, sensitivity=np.sqrt(count) * math.exp(log_ratio), sigma=1.0)
        return math.log(max(float(chance @ np.asarray(found)), 1e-300)) - math.log(delta)

    root = float(optimize.brentq(excess, -30, 30, xtol=1e-13))
    return math.exp(root) * (1 + 1e-9)


def exact(system: InferenceSystem, observer: Observer, rounds: int) -> bool | None:
    """Whether `ratios` are exact; None where they are not even a relaxation."""
    seen = observers.meaning(system) if observer is Observer.AUTO else observer
    if system.idle_noise:
        simple = system.adjacency is Adjacency.SILENT or (
            system.adjacency is Adjacency.ABSENT and seen is not Observer.PARTICIPANTS
        )
        hides = seen is not Observer.PARTICIPANTS
        return True if simple and (rounds == 1 or not hides or bool(np.all(system.participation == 1))) else None
    if system.adjacency is Adjacency.ABSENT or seen is not Observer.PARTICIPANTS:
        return None
    return bool(np.all(system.participation == 1))


def least_error(model: Model, limits: Limits) -> Relaxed | None:
    """Least MSE under the limits; None where the solver finds nothing.

    Raises
    ------
    ModuleNotFoundError
        Without cvxpy.
    """
    import cvxpy as cp

    K, floor = model.system.devices, model.system.decoded_receiver_noise
    u, m, phi = cp.Variable(K), cp.Variable(K, nonneg=True), cp.Variable(nonneg=True)
    whole = cp.Variable()  # of its own, lest every row of privacy has K entries
    linear = model.sends @ m + phi - 2 * model.inner @ u
    error = cp.sum_squares(model.root @ u) + cp.sum_squares(cp.multiply(np.sqrt(model.apart), u)) + linear
    bounded = np.flatnonzero(np.isfinite(limits.ratio))
    far = np.flatnonzero(np.isfinite(limits.reach))
    loud = np.flatnonzero(np.isfinite(limits.variance) & (limits.fixed is None))
    kept: dict[str, Any] = {}
    if bounded.size:
        kept["privacy"] = cp.square(cp.multiply(_squares(model, limits)[bounded], u[bounded])) <= whole
        kept["whole"] = whole == cp.sum(m) + phi
    if math.isfinite(limits.energy):
        code, noise = np.sqrt(floor * model.code / limits.energy), floor * model.noise / limits.energy
        kept["energy"] = cp.sum_squares(cp.multiply(code, u)) + noise @ m <= phi
    if far.size:
        kept["reach"] = cp.square(cp.multiply(_reaches(model, limits)[far], u[far])) <= phi
    if loud.size:
        kept["variance"] = m[loud] <= (limits.variance[loud] / floor) * phi
    if limits.fixed is not None:
        kept["fixed"] = m == (limits.fixed / floor) * phi
    problem = cp.Problem(cp.Minimize(error), list(kept.values()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it may be inaccurate: the bound is computed apart
            problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError:
        return None
    if u.value is None or not _number(phi.value) > 0:
        return None

    def dual(name: str, places: IntArray) -> FloatArray:
        out = np.zeros(K)
        if name in kept:
            out[places] = np.maximum(kept[name].dual_value, 0.0)
        return out

    spent = max(_number(kept["energy"].dual_value), 0.0) / limits.energy if "energy" in kept else 0.0
    multipliers = Multipliers(dual("privacy", bounded), spent, dual("reach", far), dual("variance", loud))
    gain = math.sqrt(_number(phi.value) / floor) / model.decoder
    noise = np.maximum(m.value, 0.0) / _number(phi.value) * floor if limits.fixed is None else limits.fixed
    weight = np.maximum(u.value, 0.0) / gain / model.decoder
    designed = replace(model.system, weight=weight, noise_variance=noise, decoder_gain=gain)
    return Relaxed(designed, model.own + _number(problem.value), multipliers)


def _number(value: Any) -> float:
    return float(np.ravel(value)[0])


def _squares(model: Model, limits: Limits) -> FloatArray:
    return np.asarray(model.clip / limits.ratio)


def _reaches(model: Model, limits: Limits) -> FloatArray:
    return np.asarray(np.sqrt(model.system.decoded_receiver_noise) * model.system.clip / limits.reach)


def error_at_least(model: Model, limits: Limits, found: Multipliers) -> float:
    """A bound of every MSE under the limits."""
    mended, room = _mended(model, limits, found)
    used = 1 - room + (mended.energy * limits.energy if mended.energy > 0 else 0.0)
    return _dual(model, limits, mended.times(1 / used) if used > 1 else mended)


def energy_at_least(model: Model, limits: Limits, found: Multipliers, error: float) -> float:
    """A bound of the energy of every design with this MSE under the other limits; 0 where the multipliers show none."""
    for scale in _SCALES:
        mended, room = _mended(model, limits, found.times(scale))
        if mended.energy > 0 and room > 0 and _dual(model, limits, mended) >= error:
            return room / mended.energy
    return 0.0


def _mended(model: Model, limits: Limits, found: Multipliers) -> tuple[Multipliers, float]:
    """Multipliers that keep the slopes in m, and what the slope in phi is without that of the energy."""
    floor = model.system.decoded_receiver_noise
    whole = float(np.sum(found.privacy))
    slopes = model.sends + found.energy * floor * model.noise
    if limits.fixed is not None:
        share = limits.fixed / floor
        return found, 1 + float(slopes @ share) - whole * (1 + float(np.sum(share))) - float(np.sum(found.reach))
    limited = np.isfinite(limits.variance)
    above = np.where(limited, np.maximum(found.variance, whole - slopes), 0.0)
    least = float(np.min(np.where(limited, np.inf, slopes)))
    if whole > least:
        found = replace(found, privacy=found.privacy * (least / whole))
        whole = least
        above = np.where(limited, np.maximum(whole - slopes, 0.0), 0.0)
    above = np.maximum(above, 0.0)
    spent = float(np.sum(above[limited] * limits.variance[limited])) / floor
    return replace(found, variance=above), 1 - whole - float(np.sum(found.reach)) - spent


def _dual(model: Model, limits: Limits, found: Multipliers) -> float:
    floor = model.system.decoded_receiver_noise
    extra = found.privacy * _squares(model, limits) ** 2 + found.energy * floor * model.code
    curvature = model.root.T @ model.root + np.diag(model.apart + extra + found.reach * _reaches(model, limits) ** 2)
    try:
        solved = linalg.cho_solve(linalg.cho_factor(curvature), model.inner)
    except linalg.LinAlgError:  # no curvature where nothing is gained, to rounding
        solved = linalg.lstsq(curvature, model.inner)[0]
    # c'M^-1c = (2c - Mx)'x + e'M^-1e for any x with c - Mx = e, to second order in e
    missed = model.inner - curvature @ solved
    room = float(np.linalg.norm(missed)) * (1 + float(np.linalg.norm(solved)))
    if room > 1e-6 * model.own:
        return -math.inf
    return model.own - float(model.inner @ solved) - room
