r"""Mean estimation over relays whose links fail: the error, its bound, and the weights of least bound with a certificate.

Client i sends :math:`A_{ij}x_i` plus noise of standard deviation :math:`B_{ij}A_{ij}` to relay j over a link that is
present with probability :math:`P_{ij}`, in both directions at once; relay j reaches the server with probability
:math:`p_j`. The server divides the sum by n.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airtight import ParameterError
from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, real
from airtight.solvers.weights import dual_newton
from airtight.solvers.weights.quadratic import QuadraticProgram, certificate, multipliers


@dataclass(frozen=True)
class Relays:
    """A network of clients, each of which is also a relay.

    Attributes
    ----------
    server : array_like, shape (n,)
        p_j in [0, 1].
    links : array_like, shape (n, n)
        P_ij in [0, 1], symmetric, with ones on the diagonal.

    Examples
    --------
    >>> pair = Relays([1.0, 1.0], np.eye(2))
    >>> A, x = np.diag([1.5, 0.5]), np.array([1.0, -1.0])
    >>> pair.published(A), pair.error(A, x), pair.bound(A)
    (0.0, 0.25, 0.25)
    """

    server: FloatArray
    links: FloatArray

    def __post_init__(self) -> None:
        p, P = real("server", self.server, "[0, 1]"), real("links", self.links, "[0, 1]")
        if P.shape != (p.size, p.size) or not np.array_equal(P, P.T) or not np.all(np.diag(P) == 1):
            raise ParameterError("links", P, f"a symmetric {p.size} x {p.size} matrix with ones on the diagonal")
        object.__setattr__(self, "server", p)
        object.__setattr__(self, "links", P)

    @property
    def clients(self) -> int:
        return int(self.server.size)

    def share(self, weights: FloatArray) -> FloatArray:
        """Expected coefficient of every client's vector in the sum; 1 means no bias."""
        return np.asarray((self.links * weights) @ self.server)

    def spread(self, weights: FloatArray) -> float:
        """The published variance terms at radius 1: attained where all clients hold the same unit vector."""
        p, P, A = self.server, self.links, np.asarray(weights, float)
        heard = p * (1 - p) @ np.sum(P * A, axis=0) ** 2
        fading = P * (1 - P)
        return float(heard + np.sum(fading * p * A * A) + np.sum(fading * np.outer(p, p) * A * A.T)) / self.clients**2

    def published(self, weights: FloatArray) -> float:
        """The bound as published, at radius 1: the bias enters as the square of the summed shares minus n."""
        return self.spread(weights) + float((np.sum(self.share(weights)) - self.clients) ** 2) / self.clients**2

    def bound(self, weights: FloatArray) -> float:
        """The bound with the absolute values that the published one lacks, for weights that are not negative (PC-bound)."""
        return self.spread(weights) + float(np.sum(np.abs(self.share(weights) - 1)) ** 2) / self.clients**2

    def error(self, weights: FloatArray, data: FloatArray) -> float:
        """Mean square error for one scalar per client, without privacy noise, summed over all states of the links."""
        pairs = list(itertools.combinations(range(self.clients), 2))
        total = 0.0
        for states in itertools.product((False, True), repeat=len(pairs) + self.clients):
            present = np.eye(self.clients)
            chance = 1.0
            for (i, j), state in zip(pairs, states, strict=False):
                present[i, j] = present[j, i] = state
                chance *= self.links[i, j] if state else 1 - self.links[i, j]
            heard = np.array(states[len(pairs) :], float)
            chance *= float(np.prod(np.where(heard > 0, self.server, 1 - self.server)))
            off = ((present * weights) @ heard - 1) @ data / self.clients
            total += chance * float(off) ** 2
        return float(total)

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        """Diagonal (of the variance) and low-rank columns of the quadratic form in the n^2 weights, times n^2."""
        p, P, n = self.server, self.links, self.clients
        fading = P * (1 - P)
        d = 2 * fading * p * (1 - p[:, None])  # a pair of opposite weights shares its link: see the last columns
        columns = []
        for j in range(n):
            column = np.zeros((n, n))
            column[:, j] = math.sqrt(2 * p[j] * (1 - p[j])) * P[:, j]
            columns.append(column)
        for i, j in itertools.combinations(range(n), 2):
            column = np.zeros((n, n))
            column[i, j] = column[j, i] = math.sqrt(2 * fading[i, j] * p[i] * p[j])
            columns.append(column)
        columns.append(math.sqrt(2) * P * p)
        return d.ravel(), np.array([column.ravel() for column in columns]).T

    def least(self, noise: FloatArray, *, dimension: int, slope: FloatArray | None = None) -> Optimum:
        r"""The weights of least published bound plus noise, with a lower bound for all weights that are not negative.

        Parameters
        ----------
        noise : array_like, shape (n, n)
            B_ij >= 0: standard deviation of the noise for a weight of one.
        dimension : int
            Of the vectors.
        slope : array_like, shape (n,), optional
            y of a linear penalty :math:`\sum_i y_i(s_i - 1)`. With :math:`|y_i| \le \lambda` the lower bound is one for
            the penalty :math:`\lambda\sum_i|s_i-1|` too.

        Examples
        --------
        >>> network = Relays([0.9, 0.5], [[1.0, 0.8], [0.8, 1.0]])
        >>> found = network.least(np.full((2, 2), 0.1), dimension=4)
        >>> 0 <= found.value - found.bound < 1e-12
        True
        """
        B = real("noise", noise, "[0, inf)")
        if B.shape != self.links.shape:
            raise ParameterError("noise", B.shape, f"shape {self.links.shape}")
        size = checks.count("dimension", dimension)
        n, squares = self.clients, self.clients**2
        y = np.zeros(n) if slope is None else real("slope", slope)
        d, V = self._columns
        P, p = self.links, self.server
        used = (P * p).ravel() > 0
        c = np.zeros(V.shape[1])
        c[-1] = math.sqrt(2) * n
        program = QuadraticProgram(
            ((d + 2 * size * (p * P * B * B).ravel()) / squares)[used],
            (y[:, None] * P * p).ravel()[used],
            np.full(int(np.sum(used)), np.inf),
            V[used] / n,
            c / n,
            -float(np.sum(y)),
            False,
        )
        found = dual_newton.minimise(program)
        checked = certificate(program, found.w, multipliers(program, found.w, found.nu))
        weights = np.zeros(squares)
        weights[used] = found.w
        value = program.value(found.w)
        return Optimum(weights.reshape(n, n), value, value - checked.duality_gap)


@dataclass(frozen=True)
class Optimum:
    """Weights, their value, and a lower bound on the value of all weights that are not negative.

    Attributes
    ----------
    weights : ndarray, shape (n, n)
    value, bound : float
    """

    weights: FloatArray
    value: float
    bound: float


def classical_noise(epsilon: FloatArray, *, delta: float, radius: float = 1.0) -> FloatArray:
    """Standard deviation for a weight of one, as published: sensitivity 2R (a replaced vector), classical calibration.

    Examples
    --------
    >>> classical_noise(np.array([1.0]), delta=1e-3).round(3)
    array([7.553])
    """
    e = real("epsilon", epsilon, "(0, inf)")
    return np.asarray(2 * radius / e * math.sqrt(2 * math.log(1.25 / delta)))


def sole_good_client(
    trusted: int = 0, *, server: float = 0.9, link: float = 0.9, others: float = 1e-2
) -> tuple[Relays, FloatArray]:
    """The authors' network: ten clients, one of which reaches the server well; noise at delta 1e-3, epsilon 1e3 if trusted.

    Examples
    --------
    >>> network, noise = sole_good_client(1)
    >>> network.server[:2], [round(float(noise[0, j]), 4) for j in (0, 1, 2)]
    (array([0.9, 0.1]), [0.0076, 0.0076, 755.2959])
    """
    n = 10
    p = np.full(n, 0.1)
    p[0] = server
    P = np.full((n, n), link)
    np.fill_diagonal(P, 1.0)
    E = np.full((n, n), others)
    for i in range(n):
        E[i, i] = 1e3
        for j in range(trusted):
            E[i, (i + j + 1) % n] = E[i, (i + j - 1) % n] = 1e3
    return Relays(p, P), classical_noise(E, delta=1e-3)
