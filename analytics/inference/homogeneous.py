"""Many systems at once, each of equal devices.

They are columns of what an :class:`~airtight.analytics.inference.system.InferenceSystem` has.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks, parameters
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.guarantee import Adjacency
from airtight.analytics.inference import system as single
from airtight.analytics.inference.system import InferenceSystem


@dataclass(frozen=True, eq=False, kw_only=True)
class HomogeneousSystems:
    """Systems over the air whose devices are equal, one entry a system; a scalar stands for equal entries.

    What takes one of them is answered once a system: its devices share the answer.

    Parameters
    ----------
    devices, dimension : array_like of int, shape (N,)
    participation, noise_variance, weight, clip, alignment, receiver_noise_variance, delta : array_like, shape (N,)
        Of every device of a system, or of the system.
    adjacency : Adjacency or str
        One for all, and so is `idle_noise`.
    idle_noise : bool

    Raises
    ------
    ParameterError
        As :class:`~airtight.analytics.inference.system.InferenceSystem`, naming the entry.

    Examples
    --------
    >>> systems = HomogeneousSystems(devices=12, participation=[0.5, 0.9], noise_variance=0.1, weight=1/12, clip=5.0,
    ...     alignment=1.0, receiver_noise_variance=0.1, dimension=784, delta=1e-5, adjacency="silent")
    >>> systems.size, systems.sensitivity.round(4)
    (2, array([0.4167, 0.4167]))
    """

    devices: IntArray
    participation: FloatArray
    noise_variance: FloatArray
    weight: FloatArray
    clip: FloatArray
    alignment: FloatArray
    receiver_noise_variance: FloatArray
    dimension: IntArray
    delta: FloatArray
    adjacency: Adjacency = Adjacency.ABSENT
    idle_noise: bool = False

    def __post_init__(self) -> None:
        allowed = parameters.of(InferenceSystem)
        columns: dict[str, FloatArray | IntArray] = {}
        for field in fields(self):
            given, interval = getattr(self, field.name), allowed[field.name].interval
            if field.name in ("adjacency", "idle_noise"):
                self.__dict__[field.name] = allowed[field.name].checked(given)
            elif isinstance(allowed[field.name], parameters.Count):
                columns[field.name] = checks.integer(field.name, given, interval)
            else:
                columns[field.name] = checks.real(field.name, given, interval)
        for name, column in zip(columns, checks.broadcast(**columns), strict=True):
            if column.ndim > 1:
                raise ParameterError(name, f"array of shape {column.shape}", "one axis of systems")
            self.__dict__[name] = np.atleast_1d(column)

    @property
    def size(self) -> int:
        """N, how many systems."""
        return int(self.devices.size)

    @property
    def sensitivity(self) -> FloatArray:
        """See :attr:`~airtight.analytics.inference.system.InferenceSystem.sensitivity`."""
        return single.sensitivity(self.adjacency, self.alignment, self.weight, self.clip)

    @property
    def received_noise_variance(self) -> FloatArray:
        """Of one device; see :attr:`~airtight.analytics.inference.system.InferenceSystem.received_noise_variance`."""
        return single.received_noise_variance(self.alignment, self.noise_variance)

    def only(self, systems: ArrayLike) -> HomogeneousSystems:
        """Some of them."""
        part = np.asarray(systems)
        columns = {name: value[part] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **columns)

    def normalised(self) -> HomogeneousSystems:
        """The same privacy in other units; see :meth:`~airtight.analytics.inference.system.InferenceSystem.normalised`.

        Examples
        --------
        >>> systems = HomogeneousSystems(devices=2, participation=1.0, noise_variance=[1e-300, 1e300], weight=1.0, clip=3.0,
        ...     alignment=8.0, receiver_noise_variance=0.0, dimension=1, delta=1e-5)
        >>> systems.normalised().received_noise_variance.round(3)
        array([0.167, 0.373])
        """
        noise = np.stack([self.noise_variance, self.receiver_noise_variance], axis=-1)
        found = single.rescaled(self.alignment, self.clip[:, None], self.weight[:, None], noise)
        gone = found.lost[:, 0]
        if np.any(gone) and self.adjacency is Adjacency.ABSENT and not self.idle_noise:
            raise single.vanishing("noise_variance", noise, (int(np.flatnonzero(gone)[0]), 0))
        return replace(
            self,
            alignment=found.alignment,
            clip=found.clip[:, 0],
            weight=found.weight[:, 0],
            noise_variance=found.noise[:, 0],
            receiver_noise_variance=found.noise[:, 1],
        )
