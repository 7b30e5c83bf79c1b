r"""Both ends of the law of the others' noise v where not every set of participants is enumerated.

**Steps.** (i) :class:`OpenDevices` puts all columns in units of the receiver's noise and whitens them for the devices that
always send. (ii) A tree of decisions is grown for each device k (``_grown``). (iii) In each leaf the theorem below gives
an affine lower end of v (``_lower_ends``), with a certified bound of an eigenvalue (``certified``), and in each leaf of a
smaller tree an affine upper end (``_upper_ends``). (iv) The law of
each end is computed on a grid (``_sums``). (v) The laws of all leaves are mixed and put on common weights
(``_on_common_weights``). Upper ends are rounded up and lower ends down at every step. The choice of leaves, w, s and
:math:`\eta` costs width only.

**Leaves.** For each device k the sets of the others form a tree. A node has decided which of some devices take part; the others
are *open*. The leaf that adds most to the gap of both ends is split, by the open device that adds most to it. Upper ends are
near v with fewer leaves than lower ends: they have those of the tree while it is smaller. In a leaf with
the decided participants S and the open devices O both ends are affine in the indicators :math:`\xi_j` of the open ones:

**Theorem.** Let B be the covariance of the looks without the open devices, :math:`TBT^* = I`, :math:`\gamma = |Ta_k|`,
:math:`b = Ta_k/\gamma`, and :math:`\sigma_jTa_j = \bar c_jb + p_j` with :math:`p_j \perp b`. For every w orthogonal to b, with
:math:`r_j = c_j + p_j^*w`,

.. math:: \gamma^2v \le 1 + |w|^2 + \sum_{j\in O}\xi_j|r_j|^2 .

For any w, any shares :math:`s_j \in [0, 1]` and any :math:`\eta_j \ge 0` with :math:`\sum_j\eta_jp_jp_j^* \preceq (1 - h) I`,
and with the remainder :math:`\rho = w + \sum_js_jr_jp_j`,

.. math:: \gamma^2v \ge 1 + |w|^2 - \frac{|\rho|^2}h + \sum_{j\in O}
          \begin{cases}|r_j|^2\bigl(1 - (1-s_j)^2/(1+\eta_j)\bigr) & \xi_j = 1\\-|r_j|^2s_j^2/\eta_j & \xi_j = 0\end{cases}

*Proof.* :math:`v = \min\{u^*Vu : u^*a_k = 1\}` by Cauchy's inequality. Put :math:`u = T^*(b + w)/\gamma`, :math:`w \perp b`:
:math:`\gamma^2u^*Vu = 1 + |w|^2 + \sum\xi_j|c_j + p_j^*w|^2`, and v is the least of these. At :math:`w + z` this is

.. math:: 1 + |w|^2 + \sum\xi_j|r_j|^2 + 2\,\mathrm{Re}\,\rho^*z + 2\,\mathrm{Re}\sum(\xi_j - s_j)\bar r_jp_j^*z + |z|^2
          + \sum\xi_j|p_j^*z|^2 .

:math:`h|z|^2 + 2\,\mathrm{Re}\,\rho^*z \ge -|\rho|^2/h` and :math:`(1-h)|z|^2 \ge \sum\eta_j|p_j^*z|^2`. What is left is a
sum over j of terms :math:`(\eta_j + \xi_j)|x|^2 + 2(\xi_j - s_j)\mathrm{Re}\,\bar r_jx`, each of which is at least
:math:`-(\xi_j - s_j)^2|r_j|^2/(\eta_j + \xi_j)`. Nowhere does the lower end need :math:`z \perp b`.

Both ends are sharp to first order in the open devices. The upper end takes :math:`s_j` as the probability :math:`\pi_j` of
:math:`\xi_j = 1` and w as the solution of :math:`\rho = 0`, which has the least mean. The lower one takes
:math:`s_j = \pi_j\eta_j/(\eta_j + 1 - \pi_j)`, which has the greatest mean at given r, and :math:`\eta_j` nearly such that
this mean is greatest (``certified``), divided by a bound of the greatest eigenvalue. Any choice is valid: that of w, s and
:math:`\eta` need not be accurate.

**Laws.** Given the leaf, both ends are a constant and a sum of independent nonnegative steps. They are added on a grid, each
step rounded to the safe side; of sums of more than 32 steps, or of more than 8 below two cells of the grid, the least steps are
bounded in probability, by Bernstein's inequality above and by :math:`P(X \le EX - t) \le \exp(-t^2/2\sum\pi_jd_j^2)` below. The
law of a state mixes its leaves. The law of the lower ends is below that of v, and the law of the upper ends above; both are put
on common weights, those between the quantiles of both: an atom has the quantile of the lower ends where it begins, and that of
the upper ends where it ends. Sums of weights from the first to any other have a small relative error, and so have the means of
all decreasing functions. (Up to underflow. A single weight need not: where absences are counted, a chance below UNIT of a step
is lost; that moves :math:`(1-p)F(t) + pF(t-d)` by UNIT of itself.)

**Rounding.** All is in units in which the receiver's noise is 1 (or, for the upper end alone, what it is raised to: 1e-16 of
the power of the strongest device, or 1e-300), and :math:`a_k` has length 1. More looks than devices are first turned into as
many as devices: by the backward error of Householder's method the columns that it returns are an isometry's of columns that
differ by 32 K L UNIT of their length at most, which :math:`\omega` below includes. Where device k always takes part, its own
column is in B, and v is less than the theorem's by :math:`\sigma_k^2`, because :math:`u^*a_k = 1`; the difference errs by a
unit of its terms. With :math:`f_j = \sigma_ja_j`, whitening multiplies by :math:`(I + \hat f\hat f^*)^{-1/2}` for one
participant after the other: a contraction, computed with an error of :math:`(L + 12)|f_j|` UNIT at most in column j. It is the
exact one for the vector :math:`\hat f` as computed. The final columns therefore err by :math:`\omega|f_j|`, :math:`\omega = 2(n
+ 2)(L + 12)` UNIT, n being the number of devices, from :math:`\hat Tf_j` with the exact product :math:`\hat T`. This belongs to
:math:`\hat B = I + \sum\hat T_i^{-1}\hat f_i\hat f_i^*\hat T_i^{-*}`, :math:`\hat T_i` being the product before step i. Put
:math:`y = \hat T^{-*}x`, so that :math:`|y|^2 = x^*\hat Bx \ge |\hat T_i^{-*}x|^2`. As :math:`|\hat f_i^*\hat T_i^{-*}x -
f_i^*x| \le \omega|f_i||y|`, the triangle inequality gives :math:`|\sqrt{x^*Bx} - |y|| \le \omega R|y|`, :math:`R^2 =
\sum|f_j|^2` over all devices. The errors of the open columns change :math:`(x^*V_Sx)^{1/2}` by at most another :math:`\omega
R|y|`; those of c, p and r, as computed from the columns, by :math:`2(L + 4)R(|y| + |w|/\gamma)` UNIT: :math:`p_j`, w and
:math:`r_j` are taken as computed, for which :math:`\rho`, the ends and the bound of the eigenvalue hold, and what :math:`c_j`
must be then is a backward error. The condition :math:`x^*a_k = 1` holds for y up to :math:`\omega|y|`. With :math:`\beta =
4\omega(1+R)`, which covers the rounding of sums and underflows as well,

.. math:: v \le U\,(1+\beta)^2/(1-\beta|y|)^2,\qquad v \ge (1-\beta)^2\,m/(1 + \beta\sqrt m)^2,\quad
          \sqrt m = (\sqrt{M} - \beta(1 + |w|))/\gamma

where U and :math:`M/\gamma^2` are the theorem's ends. (For the lower one, the root Y of the form with the open devices is at
least :math:`(1 - \beta|y|)\sqrt m \ge (1 - \beta Y)\sqrt m`, whence the denominator, and :math:`\sqrt v \ge (1 - \beta)Y`.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.rounding import SMALLEST, UNIT

_LEAST = 1e-8  # amplitude of the receiver's noise relative to that of the strongest device, below which it is raised
_TINY = 1e-150  # the same, absolute; and what keeps quotients finite
_GROWTH = 0.5  # share of the leaves that are split at a time, those that add most
_COARSE = 0.5  # share of the leaves at which upper ends are computed: these are near v with few leaves
_POWER = 5  # of 1 / (v + own noise): the divergence, as far as the choice of leaves is concerned
_GRID = 64  # values of a sum over open devices
_SUMMED = 32  # steps of a sum that are added one by one
_SMALL, _SMALL_ONES = 2.0, 8  # cells of the grid that a small step is below; how many of these are added one by one
_TAILS = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])  # minus logarithms of probabilities of a sum of the others
_JITTER = 1e-14  # share of the trace that is added to a matrix before it is solved with
_SHARE = 1e-6  # h
_SQUARINGS = 4  # of the matrix whose eigenvalue is bounded
_STEPS = 3  # towards the scale of eta
_FLOOR = 1e-6  # share of a device's amplitude that |p_j| counts at least, in the choice of eta
_FINE = 2048, 4  # values of v within one state before they are grouped: at most, and for each cell that they are grouped into
_FARTHEST = 1e-300, 1e300  # of these values, but the first and the last
_QR_ERROR = 32  # times K L UNIT: error of a column that is turned into K dimensions
_AT_ONCE = 1 << 18  # entries of arrays (leaves, devices, looks) that are computed at a time

_Ends = tuple[FloatArray, FloatArray]  # values and weights of the law of one end in each leaf, shape (leaves, grid)


def squares(values: NDArray[Any]) -> FloatArray:
    """Squares of the moduli."""
    return np.asarray(values.real**2 + values.imag**2 if np.iscomplexobj(values) else values**2)


def _energy(columns: NDArray[Any]) -> FloatArray:
    """Squares of the lengths along the last axis, which is short."""
    return np.asarray(np.einsum("...l,...l->...", columns, columns.conj()).real)


def _products(columns: NDArray[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """Of each column with the conjugate of one vector, shapes (n, columns, L) and (n, L)."""
    return np.asarray(np.matmul(columns, vector.conj()[:, :, None])[:, :, 0])


def _whitened(columns: NDArray[Any], present: NDArray[Any]) -> NDArray[Any]:
    """The columns, shape (n, columns, L), after one device more, with the column `present`, shape (n, L), is present."""
    # (I + ff*)^(-1/2) = I - ff* / (root (1 + root)) with root = sqrt(1 + |f|^2): no matrix is formed
    root = np.sqrt(1 + _energy(present))
    shares = _products(columns, present) / (root * (1 + root))[:, None]
    return np.asarray(columns - shares[:, :, None] * present[:, None, :])


@dataclass(frozen=True)
class _Leaves:
    """Leaves of the trees of all states: state, probability within all, whitened columns of device k and of the others."""

    state: IntArray
    chance: FloatArray
    own: NDArray[Any]  # (leaves, L)
    others: NDArray[Any]  # (leaves, others, L)
    open: NDArray[np.bool_]  # (leaves, others)

    def since(self, first: int) -> _Leaves:
        """Those from the first one named on."""
        return _Leaves(self.state[first:], self.chance[first:], self.own[first:], self.others[first:], self.open[first:])

    def split(self, leaf: IntArray, device: IntArray, p: FloatArray) -> _Leaves:
        """These leaves split by a device each."""
        # one copy of the leaf where the device is present, with whitened columns, and one where it is absent, in place
        present = self.others[leaf, device]
        both = _whitened(np.concatenate([self.own[leaf, None], self.others[leaf]], axis=1), present)
        decided, chance = self.open.copy(), self.chance.copy()
        decided[leaf, device] = False
        # the leaf itself becomes the one where the device is absent
        chance[leaf] *= 1 - p[device]
        return _Leaves(
            np.append(self.state, self.state[leaf]),
            np.append(chance, self.chance[leaf] * p[device]),
            np.concatenate([self.own, both[:, 0]]),
            np.concatenate([self.others, both[:, 1:]]),
            np.concatenate([decided, decided[leaf]]),
        )


class OpenDevices:
    """The devices of all states as received, for the laws of v of each of them."""

    def __init__(self, a: NDArray[Any], noise: FloatArray, N: float, p: FloatArray) -> None:
        self.noise, self.p = noise, p
        _, K, L = a.shape
        # R of a QR decomposition keeps all inner products, and has K rows
        if L > K:  # all columns lie in K dimensions
            a = np.swapaxes(np.linalg.qr(np.swapaxes(a, 1, 2), mode="r"), 1, 2)
        # silent and noiseless devices add nothing; devices that always send are no branch of the tree
        self.random = np.flatnonzero((p > 0) & (p < 1) & (noise > 0))
        always = np.flatnonzero((p == 1) & (noise > 0))
        self.always = always
        sent = np.concatenate([always, self.random])
        length = np.sqrt(np.sum(squares(a), axis=2))
        # unit of amplitude: the receiver's noise, raised where it is negligible or 0 (*Rounding* in the module's notes)
        strongest = np.max((np.sqrt(noise) * length)[:, sent], axis=1, initial=0.0)
        self.scale = np.maximum(np.maximum(np.sqrt(N), _LEAST * strongest), _TINY)  # (states,)
        # where it was raised the lower end is not proved, and is set to 0
        self.raised = self.scale * (1 - 4 * UNIT) > np.sqrt(N)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            received = np.sqrt(noise)[sent, None] * a[:, sent] / self.scale[:, None, None]
            # a device without a path to the receiver gets any direction of length 1
            direction = np.where(length[:, :, None] > 0, a / length[:, :, None], 1 / np.sqrt(a.shape[2]))
            self.ratio = self.scale[:, None] / length  # whose square is the unit of v, (states, K)
            self.own_noise = noise * (length / self.scale[:, None]) ** 2  # in this unit
        reach = np.sqrt(np.sum(squares(received), axis=(1, 2)))
        dimension = received.shape[2]
        # relative error of a whitened column; beta covers it and the rounding of sums
        omega = 2 * (sent.size + 2) * (dimension + 12) * UNIT + (_QR_ERROR * K * L * UNIT if L > K else 0.0)
        self.blur = 4 * omega * (1 + reach)  # beta
        columns = np.concatenate([received, direction], axis=1)
        # devices that always send are decided in every leaf
        for i in range(always.size):
            columns = _whitened(columns, columns[:, i])
        self.others, self.own = np.split(columns[:, always.size :], [self.random.size], axis=1)

    def error(self, most_leaves: int) -> float:
        """Bound of the relative error of sums of the first weights, from so many leaves."""
        # roundings of a mixture of so many leaves of _GRID atoms, and of the probabilities of the leaves
        return (6 * most_leaves * _GRID + (most_leaves + 8) * (self.random.size + 8)) * UNIT

    def law(
        self, k: int, most_leaves: int, cells: int, least_variance: FloatArray, greatest: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Both ends of v of device k and their weights, shape (states, at most `cells`), from at most so many leaves.

        `least` and `greatest`, shape (states,), are bounds of v for all sets.
        """
        states = least_variance.size
        # the others of device k
        kept = self.random != k
        p = self.p[self.random[kept]]
        coarse, leaves = self._grown(k, p, kept, most_leaves)
        low, low_weights = self._mixed(self._lower_ends, leaves, k, p)
        high, high_weights = self._mixed(self._upper_ends, coarse, k, p)
        # no bound is worse than those for all sets; NaN, from overflow, counts as no bound
        low = np.maximum(np.nan_to_num(low, nan=0.0, posinf=0.0), least_variance[leaves.state, None])
        high = np.minimum(np.where(np.isnan(high), np.inf, high), greatest[coarse.state, None])
        atom_count = min(cells, 2 * _GRID * max(most_leaves // states, 1))
        return _on_common_weights(states, (leaves.state, low, low_weights), (coarse.state, high, high_weights), atom_count)

    def _mixed(self, ends: Callable[..., _Ends], leaves: _Leaves, k: int, p: FloatArray) -> _Ends:
        """One end of v in each leaf, and its weights within the law of the state, which mixes its leaves."""
        values, weights = np.empty((2, leaves.state.size, _GRID))
        still_open = np.sum(leaves.open, axis=1)
        # leaves with as many open devices are computed together; columns of decided devices are left out
        order = np.argsort(still_open, kind="stable")
        step = max(_AT_ONCE // max(p.size, 1) // self.own.shape[2], 1)
        for start in range(0, order.size, step):
            batch = order[start : start + step]
            # the open devices of each leaf first; shorter leaves of a batch are padded by columns and probabilities of
            # 0
            first = np.argsort(~leaves.open[batch], axis=1, kind="stable")[:, : still_open[batch[-1]]]
            is_open = np.take_along_axis(leaves.open[batch], first, axis=1)
            columns = np.where(is_open[:, :, None], leaves.others[batch[:, None], first], 0.0)
            odds = np.where(is_open, p[first], 0.0)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
                values[batch], weights[batch] = ends(k, leaves.state[batch], leaves.own[batch], columns, odds)
        return values, weights * leaves.chance[:, None]

    def _grown(self, k: int, p: FloatArray, kept: NDArray[np.bool_], most_leaves: int) -> tuple[_Leaves, _Leaves]:
        """Leaves for device k, the others as `kept` of the random ones: few for upper ends, and all, for lower ends."""
        states = self.own.shape[0]
        # one tree per state, its root with all others open
        start = np.ones((states, p.size), dtype=bool)
        chance = np.full(states, 1 / states)
        leaves = _Leaves(np.arange(states), chance, self.own[:, k], self.others[:, kept], start)
        gap, fall = self._gaps(k, leaves, p)
        coarse, steepest = leaves, np.max(fall)
        while (size := leaves.state.size) < most_leaves:
            # where v is small the divergence is great: leaves are weighed by a power of 1 / (v + own noise)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
                adds = leaves.chance * np.sum(gap, axis=1) * (fall / steepest) ** _POWER
            # a share of the leaves at a time, so that growth takes a logarithmic number of passes
            split_count = min(most_leaves - size, max(int(size * _GROWTH), 1))
            # NaN and infinity come from degenerate columns, which are never worth a split
            best = np.argsort(-np.nan_to_num(adds, nan=0.0, posinf=0.0), kind="stable")[:split_count]
            best = best[adds[best] > 0]
            if best.size == 0:  # nothing is left to decide
                return leaves, leaves
            device = np.argmax(gap[best], axis=1)
            leaves = leaves.split(best, device, p)
            # absence changes no column; the leaves with the device present are new
            gap[best, device] = 0.0
            new_gap, new_fall = self._gaps(k, leaves.since(size), p)
            gap, fall = np.concatenate([gap, new_gap]), np.concatenate([fall, new_fall])
            if leaves.state.size <= max(most_leaves * _COARSE, states):
                coarse = leaves
        return coarse, leaves

    def _gaps(self, k: int, leaves: _Leaves, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The first-order gap of both ends that each open device adds in each leaf, and 1 / (v + own noise) without them."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            # p (1 - p) along (whole - along) / (1 + p whole), with `along` the share of the column in the direction of k
            gamma2 = _energy(leaves.own)
            along = squares(_products(leaves.others, leaves.own)) / gamma2[:, None]
            whole = _energy(leaves.others)
            gap = p * (1 - p) * along * np.maximum(whole - along, 0.0) / (1 + p * whole)
            return np.where(leaves.open, gap, 0.0), 1 / (self.ratio[leaves.state, k] ** 2 / gamma2 + self.noise[k])

    def _own_noise(self, k: int, state: IntArray) -> FloatArray | float:
        """What the column of k adds to v where it is in B (*Rounding*)."""
        return self.own_noise[state, k][:, None] if k in self.always else 0.0

    def _upper_ends(
        self, k: int, state: IntArray, own_column: NDArray[Any], columns: NDArray[Any], p: FloatArray
    ) -> _Ends:
        """The upper ends of v in each leaf and their weights, shape (leaves, grid); see the theorem.

        The columns of the open devices have the shape (leaves, open, L), their probabilities p (leaves, open).
        """
        blur, ratio, own_noise = self.blur[state, None], self.ratio[state, k][:, None], self._own_noise(k, state)
        leaf = _Whitened.of(own_column, columns)
        # s_j = pi_j, w solves rho = 0 approximately
        w, r = leaf.combined(p)
        square = _energy(w)
        # 1 + |w|^2 + sum of xi_j |r_j|^2, whose law is on a grid, rounded up
        sums, weights = _sums(squares(r), p, up=True)
        # y = T^-*x of the notes has |y| = sqrt(1 + |w|^2) / gamma
        y = np.sqrt(1 + square) / leaf.gamma
        sums = (1 + square[:, None] + sums) / (leaf.gamma * leaf.gamma)[:, None]
        denominator = np.maximum(1 - blur * y[:, None], 0.0)
        # v <= U (1 + beta)^2 / (1 - beta |y|)^2, in units of the receiver's noise, with blur = beta
        high = (sums * (1 + blur) ** 2 / denominator / denominator - own_noise * (1 - 4 * UNIT)) * (1 + 4 * UNIT)
        # own noise cancels: the sum errs by a unit of its terms
        high = (high + 8 * UNIT * (sums + own_noise)) * (1 + 8 * UNIT) * ratio * ratio + SMALLEST
        # where rounding takes half of the denominator the bound is given up
        return np.where(denominator > 0.5, high, np.inf), weights

    def _lower_ends(
        self, k: int, state: IntArray, own_column: NDArray[Any], columns: NDArray[Any], p: FloatArray
    ) -> _Ends:
        """The lower ends of v; see :meth:`_upper_ends`. Any eta_j, s_j and w are valid."""
        blur, ratio, own_noise = self.blur[state, None], self.ratio[state, k][:, None], self._own_noise(k, state)
        leaf = _Whitened.of(own_column, columns)
        _, r = leaf.combined(p)
        eta = leaf.certified(np.abs(r) * np.sqrt(p * (1 - p)), 1 - p)
        shares = p * eta / (eta + 1 - p)
        w, r = leaf.combined(shares)
        square, r_squared = _energy(w), squares(r)
        omega = self.blur[state]
        # |rho|, with the error of w and of the columns added
        remainder = w + np.matmul(np.swapaxes(leaf.parts, 1, 2), (shares * r)[:, :, None])[:, :, 0]
        rest = np.sqrt(_energy(remainder))
        rest += omega * (np.sqrt(square) + np.sum(shares * np.abs(r) * leaf.length, axis=1))
        # terms of the theorem: |r|^2 s^2 / eta is lost if j is absent, |r|^2 (1 - (1 - s)^2 / (1 + eta)) is gained if it is
        # present
        absent = np.where(shares > 0, r_squared * shares * shares / eta, 0.0)
        present = r_squared * (1 - (1 - shares) ** 2 / (1 + eta))
        # Steps must be nonnegative: each absent term is subtracted in `lost` for all j and given back where j is present.
        sums, weights = _sums(np.maximum(present, 0.0) + absent, p, up=False)
        # |rho|^2 / h with h = _SHARE, then rounding in proportion to the magnitudes
        lost = rest * rest / _SHARE + np.sum(absent, axis=1)
        lost += omega * (1 + square + np.sum(r_squared + absent, axis=1))
        # sqrt(M) without a negative argument; then the transformation of the notes
        m = np.sqrt(np.maximum((1 + square - lost)[:, None] + sums, 0.0))
        m = np.maximum(m - blur * (1 + np.sqrt(square))[:, None], 0.0) / leaf.gamma[:, None]
        low = (m * np.maximum(1 - blur, 0.0) / (1 + blur * m)) ** 2
        low = np.maximum(low - own_noise - 8 * UNIT * (low + own_noise), 0.0) * (1 - 8 * UNIT) * ratio * ratio
        low = np.maximum(low - SMALLEST, 0.0)
        # the receiver's noise is less than the unit assumed here: no lower end
        low[self.raised[state]] = 0.0
        return low, weights


@dataclass(frozen=True)
class _Whitened:
    """Whitened columns in the terms of the theorem: the length and direction of that of k, and both parts of the open ones."""

    gamma: FloatArray  # (leaves,)
    b: NDArray[Any]  # (leaves, L)
    along: NDArray[Any]  # conjugate of c_j, (leaves, open)
    parts: NDArray[Any]  # p_j, (leaves, open, L)
    length: FloatArray  # of p_j

    @classmethod
    def of(cls, own: NDArray[Any], columns: NDArray[Any]) -> _Whitened:
        gamma = np.sqrt(_energy(own))
        b = own / gamma[:, None]
        along = _products(columns, b)
        parts = columns - along[:, :, None] * b[:, None, :]
        return cls(gamma, b, along, parts, np.sqrt(_energy(parts)))

    def combined(self, shares: FloatArray) -> tuple[NDArray[Any], NDArray[Any]]:
        """w of little remainder, orthogonal to b, and r."""
        transposed, conjugate, c = np.swapaxes(self.parts, 1, 2), self.parts.conj(), self.along.conj()
        # (I + sum s_j p_j p_j*) w = -sum s_j c_j p_j; the jitter keeps it solvable where p_j are great
        matrix = np.matmul(transposed * shares[:, None, :], conjugate)
        trace = np.einsum("nii->n", matrix).real[:, None, None]
        matrix += (1 + _JITTER * trace) * np.eye(self.b.shape[1])
        w = np.linalg.solve(matrix, -np.matmul(transposed, (shares * c)[:, :, None]))[:, :, 0]
        # the theorem's w is orthogonal to b
        w = w - np.sum(w * self.b.conj(), axis=1)[:, None] * self.b
        return w, c + np.matmul(conjugate, w[:, :, None])[:, :, 0]

    def certified(self, weight: FloatArray, absence: FloatArray) -> FloatArray:
        r""":math:`\eta` such that :math:`\sum\eta_jp_jp_j^*` is below 1 - h, for deviations `weight` and chances of `absence`.

        Notes
        -----
        *Choice.* The mean of the lower end loses :math:`\sum\mathrm{weight}_j^2/(\eta_j + \mathrm{absence}_j)`. It is least at
        :math:`\eta_j = (\mathrm{weight}_j(p_j^*Yp_j)^{-1/2} - \mathrm{absence}_j)^+`, with a multiplier Y for which the sum is 1.
        Y is taken in proportion to the sum of those for which Y is a multiple of 1, and so that the trace is that of the sum
        whose greatest eigenvalue is 1.

        *Bound.* Let Z be the matrix over its trace, :math:`\lambda \ge 1/L` its greatest eigenvalue. Computed, Z errs by
        (n + 4) UNIT in the Frobenius norm, and the square of what is computed by L UNIT times the square of that norm. Over
        :math:`\lambda^{2^i}` the errors obey :math:`e_{i+1} \le 2e_i + e_i^2 + L^2(1 + e_i)^2` UNIT. After i squarings,
        :math:`\lambda \le \|\hat Z_i\|^{2^{-i}}(1 - e_i)^{-2^{-i}}`, and the last factor is below
        :math:`1 + 2(nL + 4L + L^2)` UNIT where e_i is below a tenth.
        """
        n, L = self.parts.shape[1:]
        transposed, conjugate = np.swapaxes(self.parts, 1, 2), self.parts.conj()

        def summed(eta: FloatArray) -> tuple[NDArray[Any], FloatArray]:
            """The sum over its trace, so that powers neither overflow nor vanish, and the trace."""
            matrix = np.matmul(transposed * eta[:, None, :], conjugate)
            trace = np.einsum("nii->n", matrix).real
            return matrix / np.where(trace > _TINY, trace, 1.0)[:, None, None], trace

        def norm(matrix: NDArray[Any]) -> FloatArray:
            """Of a matrix of trace 1: lambda^(2^i) <= norm of the i-th square, whose root tends to the greatest eigenvalue."""
            for _ in range(_SQUARINGS):
                matrix = np.matmul(matrix, matrix)
            return np.asarray(np.sum(squares(matrix), axis=(1, 2)) ** (0.5 ** (_SQUARINGS + 1)))

        # |p_j| may vanish; a share of the column's length keeps eta finite
        floor = _FLOOR * np.sqrt(self.length * self.length + squares(self.along)) + _TINY
        matrix, trace = summed(weight / (self.length + floor))
        form = np.einsum("njl,njl->nj", np.matmul(conjugate, matrix), self.parts).real  # p_j* Y p_j
        slope, energy = weight / np.sqrt(np.maximum(form, 0.0) + floor * floor), (self.length + floor) ** 2
        room, taken = np.minimum(1 / norm(matrix), L), np.ones(slope.shape)
        # Newton's steps for the scale at which the sum of eta_j |p_j|^2 is the trace; it is piecewise linear in the scale
        for _ in range(_STEPS):
            scale = (room + np.sum(taken * absence * energy, axis=1)) / np.sum(taken * slope * energy, axis=1)
            taken = scale[:, None] * slope > absence
        eta = np.nan_to_num(np.where(taken, scale[:, None] * slope - absence, 0.0), posinf=0.0)
        matrix, trace = summed(eta)
        # twice the error of the notes
        bound = np.where(trace > _TINY, trace * norm(matrix) * (1 + 4 * (n * L + 4 * L + L * L) * UNIT), 1.0)
        return np.asarray(eta * ((1 - _SHARE) / bound)[:, None])


def _sums(steps: FloatArray, p: FloatArray, *, up: bool) -> tuple[FloatArray, FloatArray]:
    """Values and weights of sums of independent steps, taken with probability p, both (n, steps); rounded up or down."""
    # the greatest steps first: they are added one by one, the least ones bounded in probability
    order = np.argsort(-steps, axis=1, kind="stable")
    steps, p = np.take_along_axis(steps, order, axis=1), np.take_along_axis(p, order, axis=1)
    n, margin = steps.shape[0], 4 * (steps.shape[1] + 4) * UNIT
    all_steps = np.sum(steps, axis=1)
    # whichever is rarer is counted, a step or its absence: what is rounded is in proportion to it
    if mirrored := float(np.sum(p, where=steps > 0)) > 0.5 * float(np.sum(steps > 0)):
        p, up = 1 - p, not up
    # the grid reaches from 0 to the sum of all steps
    width = all_steps * (1 + margin) / (_GRID - 1)
    # few small steps are cheap to add; many would each be rounded by a cell
    small = steps < _SMALL * width[:, None]
    small &= np.sum(small & (steps > 0), axis=1, keepdims=True) > _SMALL_ONES
    small[:, _SUMMED:] = True
    rest, steps = np.where(small, steps, 0.0), np.where(small, 0.0, steps)
    added_steps = int(np.max(np.sum(steps > 0, axis=1), initial=0))
    # what is rounded up may go beyond the last value, by a cell each
    # room beyond the grid for steps that are rounded up
    size = _GRID + (added_steps + 1 if up else 0)
    # zeros to the left of the weights: an index that is shifted below 0 reads 0
    padded, row = np.zeros((n, _GRID + size)), np.arange(n)
    weights = padded[:, _GRID:]

    def in_cells(step: FloatArray) -> IntArray:
        """Steps of all rows, shape (..., n), in cells of the grid, to the safe side."""
        cells = step / np.where(width > 0, width, 1.0)
        cells = np.ceil(cells * (1 + 4 * UNIT)) if up else np.floor(cells * (1 - 4 * UNIT))
        return np.asarray(np.minimum(np.nan_to_num(cells), _GRID - 1).astype(np.int64))

    chances, values = np.ones(1), np.zeros((1, n))
    if np.any(rest > 0):
        # the small steps together: one random amount, at exp(-tails) quantiles
        mean, tails = np.sum(p * rest, axis=1), _TAILS[:, None]
        if up:
            # Bernstein: P(X >= EX + t) <= exp(-x) for t = bx / 3 + sqrt((bx / 3)^2 + 2 x variance)
            far = np.max(rest, axis=1) * tails / 3
            far = far + np.sqrt(far * far + 2 * tails * np.sum(p * (1 - p) * rest * rest, axis=1))
            values = np.minimum(np.vstack([mean + far, np.full(n, np.inf)]), np.sum(rest, axis=1)) * (1 + margin)
        else:
            # P(X <= EX - t) <= exp(-x) for t = sqrt(2 x sum of p d^2)
            far = np.sqrt(2 * tails * np.sum(p * rest * rest, axis=1))
            values = np.vstack([np.maximum(mean * (1 - margin) - far * (1 + margin), 0.0), np.zeros(n)])
        chances = np.exp(-_TAILS)
        # probability between neighbouring quantiles; the last value has the rest, and is the sum of all or 0
        chances = np.append(-np.diff(chances, prepend=1.0), chances[-1])
    for chance, by in zip(chances, places := in_cells(values), strict=True):
        weights[row, by] += chance
    # law of the sum with step j: (1 - p) F(t) + p F(t - d), in place; the least steps first, while the sums reach few cells
    reach, strides = int(np.max(places)) + 1, (*padded.strides, padded.strides[1])
    places = in_cells(steps.T[:added_steps])
    for by, chance in zip(places[::-1], p.T[:added_steps, :, None][::-1], strict=True):
        reach = min(reach + int(by.max()), size)
        # each row is read from its own place on, as a whole
        shifted: FloatArray = np.ndarray((n, _GRID + 1, reach), buffer=padded, strides=strides)
        taken = shifted[row, _GRID - by]
        taken *= chance
        weights[:, :reach] *= 1 - chance
        weights[:, :reach] += taken
    weights[:, _GRID - 1] = np.sum(weights[:, _GRID - 1 :], axis=1)  # no sum is greater than that of all steps
    values = np.arange(_GRID) * width[:, None]
    return np.asarray(all_steps[:, None] - values if mirrored else values), weights[:, :_GRID]


_LawInLeaves = tuple[IntArray, FloatArray, FloatArray]  # states, and values and weights of shape (leaves, grid)


def _on_common_weights(
    states: int, lower: _LawInLeaves, upper: _LawInLeaves, cells: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Both laws of each state on at most so many cells with one array of weights."""
    lowest, first, last = np.full((3, states), np.inf)
    last = -last
    # range of each state; a lower end of 0 has no logarithm, so the upper end takes its place there
    np.minimum.at(lowest, lower[0], np.min(lower[1], axis=1))
    for state, values, _ in (lower, upper):
        np.minimum.at(first, state, np.min(np.where(values > 0, values, np.inf), axis=1))
        np.maximum.at(last, state, np.max(values, axis=1))
    fine = min(_FINE[0], _FINE[1] * cells)
    wide = np.linspace(0, 1, fine + 1)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        # edges equally spaced in log v, the first and the last exact
        start, stop = (np.log(np.clip(end, _FARTHEST[0], _FARTHEST[1]))[:, None] for end in (first, last))
        edges = np.exp(start + (stop - start) * wide)
        edges = np.maximum.accumulate(np.minimum(np.maximum(edges, lowest[:, None]), last[:, None]), axis=1)
        # whatever is rounded outwards beyond the range ends at a true bound
        edges[:, 0], edges[:, -1] = lowest, last
        places_per_log = fine / np.maximum(stop - start, _TINY)

        def histogram(law: _LawInLeaves, up: bool) -> FloatArray:
            """Weights of the edges, to which the values are rounded."""
            state, values, weights = law
            place = (np.log(np.maximum(values, 0.0)) - start[state]) * places_per_log[state]
            # lower ends are rounded down to an edge, upper ends up
            place = np.clip(np.ceil(place) if up else np.floor(place), 0, fine).astype(np.int64)
            row, sign, outermost = state[:, None], 1 if up else -1, fine if up else 0
            place += row * (fine + 1)
            # the logarithms are rounded: few values lie beyond their edge
            beyond = np.nonzero(sign * (values - edges.ravel()[place]) > 0)
            further = np.clip(place[beyond] + sign - (of_row := row[beyond[0], 0] * (fine + 1)), 0, fine)
            still = sign * (values[beyond] - edges.ravel()[further + of_row]) > 0
            place[beyond] = np.where(still, outermost, further) + of_row
            sums = np.bincount(place.ravel(), weights.ravel(), states * (fine + 1))
            return np.asarray(sums.reshape(states, -1), dtype=float)

        reached, ends = [], []
        for law, up in ((lower, False), (upper, True)):
            of_edges = histogram(law, up)
            reached.append(np.cumsum(of_edges, axis=1))
            # half of the cells by equal widths in log v, half by equal shares of the mean of 1/v, as for enumerated sets
            loss = np.cumsum(of_edges * np.minimum(np.exp(start) / edges, 1.0), axis=1)
            loss = np.nan_to_num(np.append(np.zeros((states, 1)), loss[:, :-1] / loss[:, -1:], axis=1))
            ends.append(np.minimum((wide + loss) / 2 * (cells // 2), cells // 2 - 1).astype(np.int64))
    grouped_low, grouped_high, grouped_weights = np.zeros((3, states, cells // 2 * 2))
    for s in range(states):
        last_edges = [np.searchsorted(cell[s], np.arange(1, cells // 2 + 1)) - 1 for cell in ends]
        # common weights lie between the quantiles at both laws' cell ends
        upto = np.sort(np.concatenate([sums[s, last] for sums, last in zip(reached, last_edges, strict=True)]))
        before = np.append(0.0, upto[:-1])
        grouped_weights[s] = upto - before
        # an atom of the lower ends takes the quantile where it begins, of the upper ends where it ends
        grouped_low[s] = edges[s, np.minimum(np.searchsorted(reached[0][s], before, side="right"), fine)]
        grouped_high[s] = edges[s, np.minimum(np.searchsorted(reached[1][s], upto), fine)]
    return grouped_low, np.maximum(grouped_high, grouped_low), grouped_weights
