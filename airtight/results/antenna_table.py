"""The price of an antenna, as the report shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.privacy.over_the_air import observers, system_privacy
from airtight.solvers.design.antenna_price import AntennaPrice, antenna_price
from airtight.solvers.design.requirements import InferenceRequirements
from airtight.system_file.contents import SystemFile

STATES = 50  # of the channel in a figure or a table over antennas, at most
ANTENNAS = (1, 2, 4, 8)


@dataclass(frozen=True)
class AntennaTable:
    """The price of an antenna for one round, with few states, and what it is a price at.

    Attributes
    ----------
    target : float
        Epsilon that is kept: that of [design], or else that of the system as it is.
    delta : float
    adjacency : Adjacency
    observer : Observer
    states : int
    price : AntennaPrice
    """

    target: float
    delta: float
    adjacency: Adjacency
    observer: Observer
    states: int
    price: AntennaPrice

    @classmethod
    def of(cls, description: SystemFile) -> AntennaTable | None:
        """None without a channel of a number of antennas, without noise, and where epsilon is 0 or infinite."""
        system, wanted = description.inference, description.design
        channel = None if system is None else system.channel
        if system is None or channel is None or channel.looks is not None or not np.any(system.noise_variance > 0):
            return None
        few = replace(channel, states=min(channel.states, STATES))
        target = float(np.max(system_privacy.epsilon(system.derived(channel=few), rounds=1)))
        if isinstance(wanted, InferenceRequirements) and wanted.epsilon_at_most is not None and system.rounds == 1:
            target = wanted.epsilon_at_most
        if not 0 < target < np.inf:
            return None
        task = description.task if description.task is not None and description.task.fits(system) else None
        price = antenna_price(
            system.derived(channel=few, rounds=1),
            sorted({*ANTENNAS, channel.antennas}),
            epsilon=target,
            features=None if task is None else task.samples,
        )
        observer = observers.resolved(system, system.observer)
        return cls(target, system.delta, system.adjacency, observer, few.states, price)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Antennas, epsilon, factor of the noise, how it is known; with features the two errors and the proved bound."""
        price = self.price
        columns: list[Any] = [price.antennas, price.epsilon, price.noise_factor, price.method]
        if price.error is not None:
            columns += [price.error, price.error_kept, price.error_bound]
        return list(zip(*columns, strict=True))
