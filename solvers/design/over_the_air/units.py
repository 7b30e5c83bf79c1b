"""The units of a joint design: the solvers see one in which targets, codes, amplitude and channel are of the order of 1.

Four changes of unit leave a design what it is. With powers of two

* f and W, D in another unit of the features scale f*, the margin, and the error quadratically; without features the codes are
  their own features;
* W, D, clips and both kinds of noise in another unit of the codes scale every energy and power quadratically;
* :math:`(w, \\sigma, \\gamma, g) \\to (w/t, \\sigma/t, t\\gamma, tg)` with :math:`t` a power of two scales nothing;
* :math:`|h|^2` in another unit scales energies and powers.

Powers of two round nothing, so inputs that differ by them only are the same problem to the last bit.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airtight.analytics.checks import FloatArray
from airtight.analytics.inference.system import InferenceSystem
from airtight.solvers.design.over_the_air.joint_design import ANY_ENERGY, Purpose
from airtight.solvers.design.requirements import Goal, InferenceRequirements

_FARTHEST = 240  # exponents of a unit, at most: products of several of them stay finite


@dataclass(frozen=True)
class Units:
    """Exponents of the units of features, codes, amplitude (the alignment) and channel gain."""

    feature: int
    code: int
    amplitude: int
    channel: int

    @classmethod
    def of(cls, system: InferenceSystem, purpose: Purpose | None) -> Units:
        """The units in which a problem is of the order of 1."""
        code: FloatArray = system.clip
        feature = float(np.max(system.clip))
        if purpose is not None:
            code = np.concatenate([np.linalg.norm(task.encoded, axis=1) for task in purpose.features])
            feature = max(float(np.linalg.norm(task.target)) for task in purpose.features)
        return cls(
            feature=_exponent(feature),
            code=_exponent(float(np.max(code))) if np.any(code > 0) else _exponent(float(np.max(system.clip))),
            amplitude=_exponent(system.alignment),
            channel=_exponent(float(np.max(system.channel_gain))),
        )

    def factor(self, goal: Goal) -> float:
        """What a quantity in the solvers' unit is multiplied by in the given unit."""
        exponent = {Goal.EPSILON: 0, Goal.ERROR: 2 * self.feature, Goal.ENERGY: 2 * self.code - self.channel}[goal]
        return math.ldexp(1.0, exponent)

    def inside(self, system: InferenceSystem) -> InferenceSystem:
        """A system in the solvers' unit."""
        return self._scaled(system, -1)

    def outside(self, system: InferenceSystem) -> InferenceSystem:
        """A system of the solvers in the given unit."""
        return self._scaled(system, 1)

    def _scaled(self, system: InferenceSystem, sign: int) -> InferenceSystem:
        code, amplitude = sign * self.code, sign * self.amplitude

        def by(value: FloatArray | float, exponent: int) -> Any:
            return np.ldexp(value, exponent) if isinstance(value, np.ndarray) else math.ldexp(value, exponent)

        return replace(
            system,
            clip=by(system.clip, code),
            weight=by(system.weight, -amplitude),
            alignment=by(system.alignment, amplitude),
            decoder_gain=by(system.decoder_gain, amplitude),
            noise_variance=by(system.noise_variance, 2 * (code - amplitude)),
            receiver_noise_variance=by(system.receiver_noise_variance, 2 * code),
            channel_gain=by(system.channel_gain, sign * self.channel),
        )

    def purpose(self, purpose: Purpose) -> Purpose:
        """The tasks in the solvers' unit."""
        tasks = tuple(
            replace(
                task,
                f=np.ldexp(task.f, -self.feature),
                W=np.ldexp(task.W, self.feature - self.code),
                D=np.ldexp(task.D, self.code - self.feature),
            )
            for task in purpose.features
        )
        margin = None if purpose.margin is None else math.ldexp(purpose.margin, -self.feature)
        return replace(purpose, features=tasks, margin=margin)

    def requirements(self, wanted: InferenceRequirements) -> InferenceRequirements:
        """The limits in the solvers' unit."""
        changes: dict[str, float] = {}
        for name, goal in (
            ("error_at_most", Goal.ERROR),
            ("energy_at_most", Goal.ENERGY),
            ("power_at_most", Goal.ENERGY),
        ):
            if (limit := getattr(wanted, name)) is not None:
                changes[name] = min(max(limit / self.factor(goal), sys.float_info.min), ANY_ENERGY) if limit else limit
        return replace(wanted, **changes)  # type: ignore[arg-type]


def _exponent(size: float) -> int:
    """The exponent of the power of two below a size; 0 for the size 0."""
    return min(max(math.frexp(size)[1] - 1, -_FARTHEST), _FARTHEST) if size > 0 else 0
