"""The energy-utility problem in ball arithmetic: Table I as exact decimals, energies, utilities, the sides of (39)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from airtight.analytics.forms.balls.ball import Ball, ball

_TABLE: dict[str, str] = {
    "bandwidth": "250000",
    "model_bits": "875000",
    "iteration_time": "0.00602112",
    "P_cp": "0.096",
    "P_cir": "0.0825",
    "rho": "0.45",
    "P_max": "1",
    "half": "0.25",
    "beta_1": "0.5",
    "beta_2": "0.05",
    "T": "0.75",
    "j_min": "10",
}


@dataclass(frozen=True)
class Device:
    """One device whose numbers are all balls."""

    a: Ball
    gain: Ball
    P_cp: Ball
    P_cir: Ball
    rho: Ball
    P_max: Ball
    half: Ball
    beta_1: Ball
    beta_2: Ball
    T: Ball
    x_min: Ball

    @classmethod
    def table_1(cls, distance: Fraction, **changes: Fraction | str) -> Device:
        """The device of UF Table I (T = 0.75 s) at a distance in m; other values can be given by name."""
        v = {name: ball(value) for name, value in {**_TABLE, **changes}.items()}
        kappa = (ball(299792458) / (4 * flint.arb.pi() * ball(32_000_000))) ** 2
        ten = ball(10)
        noise = ten ** ball("-20.4") * v["bandwidth"]
        gain = kappa / (noise * ball(distance) ** 4 * ten ** ball("0.98"))
        return cls(
            a=v["model_bits"] * ball(2).log() / v["bandwidth"],
            gain=gain,
            P_cp=v["P_cp"],
            P_cir=v["P_cir"],
            rho=v["rho"],
            P_max=v["P_max"],
            half=v["half"],
            beta_1=v["beta_1"],
            beta_2=v["beta_2"],
            T=v["T"],
            x_min=v["j_min"] * v["iteration_time"],
        )

    @property
    def Z_max(self) -> Ball:
        return (1 + self.gain * self.P_max).log()

    def transmit_energy(self, Z: Ball) -> Ball:
        return self.a / Z * ((Z.exp() - 1) / (self.rho * self.gain) + self.P_cir)

    def energy(self, x: Ball, Z: Ball) -> Ball:
        return self.P_cp * x + self.transmit_energy(Z)

    def utility(self, x: Ball, Z: Ball) -> Ball:
        energy = self.energy(x, Z)
        return self.beta_1 * (1 - (-self.P_cp * x / self.beta_2).exp()) - energy * (energy - 2 * self.half)

    def saving(self, Z: Ball) -> Ball:
        return ((Z - 1) * Z.exp() + 1) / (self.rho * self.gain) - self.P_cir

    def residual(self, Z: Ball) -> Ball:
        """Left minus right side of (39)."""
        x = self.T - self.a / Z
        left = 2 * (self.energy(x, Z) - self.half) * (1 + self.saving(Z) / self.P_cp)
        return left - self.beta_1 / self.beta_2 * (-self.P_cp * x / self.beta_2).exp()

    def multiplier(self, Z: Ball) -> Ball:
        """Lambda_1 of (74) at a root of (39)."""
        return 2 * (self.energy(self.T - self.a / Z, Z) - self.half) * self.saving(Z)

    def root_near(self, Z: float) -> Ball:
        """A ball that contains a root of (39), by a change of sign around Z; the whole line when none is proved."""
        for width in (1e-12, 1e-10, 1e-8):
            low, high = ball(Z * (1 - width)), ball(Z * (1 + width))
            if self.residual(low) * self.residual(high) < 0:
                return low.union(high)
        return flint.arb("nan")

    def feasible(self, x: Ball, Z: Ball) -> bool:
        """Whether the point is proved to satisfy every constraint of (35)."""
        return bool(self.Z_max >= Z and x >= self.x_min and x + self.a / Z <= self.T)

    def optimum(self, x: Ball, Z: Ball) -> Ball:
        r"""Encloses the greatest utility, given a feasible point: from below by its utility, from above by concavity.

        :math:`U \le R = \beta_1(1-e^{-y/\beta_2}) + \varrho^2/4 - (E-\varrho/2)_+^2`, concave in (x, t), t = a/Z; its
        tangent plane at the point is greatest at a vertex of the triangle of feasible points. The ball is narrow where the
        point is optimal and :math:`E \ge \varrho/2` there, and the whole line when the point is not proved feasible.
        """
        if not self.feasible(x, Z):
            return flint.arb.nan()
        t, least = self.a / Z, self.a / self.Z_max
        excess = (self.energy(x, Z) - self.half).max(flint.arb(0))
        learned = (-self.P_cp * x / self.beta_2).exp()
        relaxed = self.beta_1 * (1 - learned) + self.half**2 - excess**2
        by_x = self.P_cp * (self.beta_1 / self.beta_2 * learned - 2 * excess)
        by_t = 2 * excess * self.saving(Z)
        corners = ((self.T - least, least), (self.x_min, least), (self.x_min, self.T - self.x_min))
        rise = flint.arb(0)
        for corner_x, corner_t in corners:
            rise = rise.max(by_x * (corner_x - x) + by_t * (corner_t - t))
        return self.utility(x, Z).union(relaxed + rise)
