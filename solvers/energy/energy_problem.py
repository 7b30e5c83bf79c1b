r"""The energy-utility problem in compute time and transmission time: its data, its cases and its upper bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np
from scipy import special

from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.fair.device import DeviceFleet

_NEAR = 1e-5  # rho g P_cir below which Z_0 comes from its series: Lambert's W loses half the digits at its branch point


class Case(StrEnum):
    """The part of the feasible set in which the optimum lies."""

    DELAY = "delay active"
    SLACK = "slack"
    FASTEST = "most iterations at greatest power"
    NONCONVEX = "energy target out of reach"
    UNSOLVED = "no root"


@dataclass(frozen=True)
class Problem:
    """The data of the problem, one entry per device.

    The unknowns are the compute time x and the transmission time t (s); E is the energy (J) and Z = a/t the rate (nat).
    """

    A: FloatArray
    a: FloatArray
    inverse_gain: FloatArray  # 1/(rho g), W
    P_cp: FloatArray
    P_cir: FloatArray
    T: FloatArray
    x_min: FloatArray
    Z_max: FloatArray
    half: FloatArray  # varrho/2
    beta_1: FloatArray
    beta_2: FloatArray

    @classmethod
    def of(cls, fleet: DeviceFleet) -> Problem:
        return cls(
            A=fleet.iteration_time,
            a=fleet.unit_time,
            inverse_gain=1 / (fleet.amplifier_efficiency * fleet.gain),
            P_cp=fleet.compute_power,
            P_cir=fleet.circuit_power,
            T=fleet.deadline,
            x_min=fleet.least_time,
            Z_max=fleet.max_log_rate,
            half=fleet.utility_energy / 2,
            beta_1=fleet.beta_1,
            beta_2=fleet.beta_2,
        )

    def __getitem__(self, rows: object) -> Problem:
        return Problem(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    @property
    def t_min(self) -> FloatArray:
        return self.a / self.Z_max

    @property
    def x_max(self) -> FloatArray:
        return np.maximum(self.T - self.t_min, self.x_min)

    def transmit_energy(self, Z: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(self.a / Z * (np.expm1(Z) * self.inverse_gain + self.P_cir))

    def energy(self, x: FloatArray, Z: FloatArray) -> FloatArray:
        return self.P_cp * x + self.transmit_energy(Z)

    def saving(self, Z: FloatArray) -> FloatArray:
        """m' = -dE_tx/dt, W: the energy that a longer transmission saves per second."""
        with np.errstate(over="ignore"):
            return np.asarray((Z * np.exp(Z) - np.expm1(Z)) * self.inverse_gain - self.P_cir)

    def learning(self, x: FloatArray) -> FloatArray:
        return np.asarray(-self.beta_1 * np.expm1(-self.P_cp * x / self.beta_2))

    def utility(self, x: FloatArray, Z: FloatArray) -> FloatArray:
        energy = self.energy(x, Z)
        return self.learning(x) - energy * (energy - 2 * self.half)

    @property
    def Z_0(self) -> FloatArray:
        """The rate of least transmission energy, 1 + W((rho g P_cir - 1)/e).

        With p = rho g P_cir it is computed by its series in sqrt(2 p) where p is small, from log p where p > 2, and in
        between by Lambert's W with two Newton steps on Z e^Z - (e^Z - 1) = p.
        """
        p = self.P_cir / self.inverse_gain
        root = np.sqrt(2 * np.minimum(p, _NEAR))
        near = root * (
            1 + root * (-1 / 3 + root * (11 / 72 + root * (-43 / 540 + root * (769 / 17280 - root * 221 / 8505))))
        )
        far = 1 + lambert_exp(np.log(np.maximum(p, 1e-3)) + np.log1p(-1 / np.maximum(p, 2.0)) - 1)
        inner = np.clip(p, _NEAR, 2.0)
        middle = 1 + special.lambertw((inner - 1) / math.e).real
        for _ in range(2):
            middle = middle - (middle * np.exp(middle) - np.expm1(middle) - inner) / (middle * np.exp(middle))
        return np.where(p < _NEAR, near, np.where(p < 2, middle, far))

    def gap_bound(self, x: FloatArray, Z: FloatArray) -> FloatArray:
        """An upper bound on how far U(x, Z) is below the optimum.

        It is the lesser of two bounds. First, the relaxed objective is concave, so that it is at most its
        linearisation at the point, which is greatest at one of the three vertices of the triangle (the Frank-Wolfe
        gap); the amount by which the relaxation exceeds the true utility at the point is added. Second, the learning
        term is at most that of the greatest x, and E, which is convex, is at most the greatest E of the vertices.
        """
        energy = self.energy(x, Z)
        t = self.a / Z
        excess = 2 * np.maximum(energy - self.half, 0.0)
        dx = self.beta_1 / self.beta_2 * self.P_cp * np.exp(-self.P_cp * x / self.beta_2) - excess * self.P_cp
        dt = excess * self.saving(Z)
        vertices = ((self.x_max, self.t_min), (self.x_min, self.t_min), (self.x_min, self.T - self.x_min))
        steps = [dx * (vx - x) + dt * (vt - t) for vx, vt in vertices]
        relaxed = np.maximum.reduce(steps) + np.maximum(self.half - energy, 0.0) ** 2
        greatest_energy = np.maximum(
            self.energy(self.x_max, self.Z_max), self.energy(self.x_min, self.a / (self.T - self.x_min))
        )
        shortfall = np.maximum(self.half - greatest_energy, 0.0)
        greatest_utility = self.learning(self.x_max) - shortfall**2
        return np.asarray(
            np.maximum(np.minimum(relaxed, greatest_utility - self.learning(x) + (energy - self.half) ** 2), 0.0)
        )


def log_lambert_exp(L: FloatArray) -> FloatArray:
    """y with y + e^y = L, that is log W(e^L), for any real L, by six Newton steps."""
    y = np.where(L > 1, np.log(np.maximum(L - np.log(np.maximum(L, 1.0)), 0.5)), np.minimum(L, 0.0))
    for _ in range(6):
        e = np.exp(np.minimum(y, 700.0))
        y = y - (y + e - L) / (1 + e)
    return y


def lambert_exp(L: FloatArray) -> FloatArray:
    """W(e^L)."""
    return np.exp(log_lambert_exp(L))
