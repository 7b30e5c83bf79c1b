"""The mixtures over who else takes part, for an observer who sees the others but not whether device k takes part."""

from __future__ import annotations

import numpy as np

from analytics.checks import FloatArray, IntArray
from analytics.guarantee import Adjacency
from analytics.privacy import hidden
from analytics.privacy.participation import Curve, Participation, Values

_TOLERANCE = 3e-11  # relative, of the quadrature


class Unseen(Participation):
    r"""``silent`` and ``replace`` without idle noise: :math:`E_S\,D_\lambda(P_S\|Q_S)` of :mod:`analytics.privacy.hidden`.

    Of the two directions of ``silent`` the one from present to silent is never the smaller (docs, observers, theorem d); those of
    ``replace`` are equal. On a grid of the others' noise nothing is known of the curvature: the upper end takes the noise lower
    by the slack, the lower end higher.
    """

    def _directions(self) -> list[Curve]:
        return [self._hidden]

    def _hidden(self, epsilon: FloatArray, rows: IntArray) -> Values:
        replace = self.system.adjacency is Adjacency.REPLACE
        tolerance = max(_TOLERANCE, 30 * float(np.exp(-self.nats)))
        p = self.participation[rows]

        def component(v: FloatArray, i: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            one = np.broadcast_arrays(
                epsilon[i, None], p[i, None], self.sensitivity[rows[i], None], v, self.own_noise[rows[i], None]
            )
            problem = (x.ravel() for x in one)
            found = hidden.log_curve(*problem, dimension=self.system.dimension, replace=replace, tolerance=tolerance)
            value, slope, error = (x.reshape(one[0].shape) for x in found)
            return value, slope, error

        def bend(v: FloatArray, i: IntArray, values: FloatArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
            unknown = np.full(v.shape, np.inf)
            return unknown, unknown

        value, slope, up, down = self._expected(component, rows, bend)
        return np.log(p) + value, slope, up, down
