r"""The best plan of a device for every gain of its channel, as a table that the device itself evaluates.

For a number of iterations j and a rate Z the deadline says nothing about the gain h: :math:`jA + a/Z \le T`. The power for Z is
:math:`c/h` with a constant c, and falls as the gain grows. So an entry (h, j, c) of the table is a feasible plan for every gain
from h on: j iterations at the power :math:`\min(c/h, P_{\max})`; an infinite c stands for the greatest power. Where the delay
constraint binds Z is constant and an entry is exact up to the next number of iterations; elsewhere intervals of gains are
halved until the entry of their left end loses little utility at their right end and in their middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airtight.analytics import checks, parameters, tidy
from airtight.analytics.checks import FloatArray, IntArray
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.records import Record
from airtight.solvers.energy import utility
from airtight.solvers.energy.energy_problem import Problem
from airtight.solvers.errors import InfeasibleError

GREATEST_GAIN = 1e100  # as DeviceFleet allows
_START, _HALVINGS = 256, 64  # intervals of the first table, and rounds of halving
_SPAN = 1e6  # greatest over least gain of the table, unless another greatest gain is asked for


@dataclass(frozen=True, eq=False)
class Policy(Record):
    """Iterations and power of one device by the gain of its channel.

    Attributes
    ----------
    gain : ndarray, shape (n,)
        Least gain of each entry, increasing; the device cannot keep its deadline below the first.
    iterations : ndarray of int, shape (n,)
    product : ndarray, shape (n,)
        Power times gain, W; infinite for the greatest power.
    max_power : float
        W.
    greatest : float
        Gain up to which the table was made. Greater ones get the last entry, whose loss is not known.
    loss : float
        Greatest loss of utility against the best whole number of iterations at the ends and in the middle of all entries,
        relative to the sum of the absolute values of the terms of the utility.
    """

    gain: FloatArray
    iterations: IntArray
    product: FloatArray
    max_power: float
    greatest: float
    loss: float

    def table(self, system: str = "system") -> dict[str, NDArray[Any]]:
        """The tidy table by columns: a row for each quantity and entry, with the least gain of the entry before it."""
        rows = {
            "iterations": tidy.Entry(value=self.iterations.astype(float)),
            "product": tidy.Entry(value=self.product, unit="W"),
        }
        return tidy.over({"gain": self.gain}, tidy.columns([(system, rows)]))

    def __call__(self, gain: ArrayLike) -> tuple[IntArray, FloatArray]:
        """Iterations and power (W) for gains :math:`|h|^2`, in the shape of `gain`.

        Raises
        ------
        ParameterError
            When a gain is not in (0, 1e100].
        InfeasibleError
            When the device cannot keep its deadline at a gain.
        """
        h = checks.real("gain", gain, "(0, 1e100]")
        entry = np.searchsorted(self.gain, h, side="right") - 1
        if np.any(entry < 0):
            raise InfeasibleError(
                f"gain = {float(np.min(h)):g}: too small for the deadline; the least is {self.gain[0]!r}"
            )
        with np.errstate(over="ignore"):
            return self.iterations[entry], np.minimum(self.product[entry] / h, self.max_power)


def policy(fleet: DeviceFleet, *, device: int = 0, greatest: float | None = None, loss: float = 1e-4) -> Policy:
    """The table of one device; its own channel gain is not used.

    Parameters
    ----------
    fleet : DeviceFleet
    device : int
    greatest : float, optional
        Greatest gain of the table; by default the greater one of 1000 and a million times the least feasible gain.
    loss : float
        In (0, 1): loss of utility, relative to the magnitude of its terms, that an entry may have.

    Raises
    ------
    InfeasibleError
        When the device cannot keep its deadline at any gain up to the greatest.

    Examples
    --------
    >>> from airtight.analytics.federated.fair.device import table_1
    >>> table = policy(table_1(distance=[200.0]))
    >>> iterations, power = table([0.5, 1.0, 2.0])
    >>> iterations, power.round(4)
    (array([79, 82, 85]), array([0.3791, 0.3535, 0.3624]))
    """
    allowed = checks.scalar("loss", loss, "(0, 1)")
    k = checks.count("device", device, f"[0, {fleet.devices - 1}]")
    fields = {name: np.array([getattr(fleet, name)[k]]) for name in parameters.of(DeviceFleet)}
    least = _least_gain(fields)
    top = max(1e3, _SPAN * least) if greatest is None else checks.scalar("greatest", greatest, "(0, 1e100]")
    if not least < top:
        raise InfeasibleError(f"device {k}: no gain up to {top:g} is enough for the deadline; the least is {least:g}")
    edges = np.geomspace(least, top, _START + 1)
    edges[0], edges[-1] = least, top
    low, high = edges[:-1], edges[1:]
    kept: list[tuple[FloatArray, ...]] = []
    greatest_loss = 0.0
    for halving in range(_HALVINGS):
        middle = np.sqrt(low * high)
        entry, excess = _entries(fields, low, middle, high)
        indivisible = (middle <= low) | (
            middle >= high
        )  # no gain between the ends, and the right one belongs to the next entry
        excess = np.where(indivisible, 0.0, excess)
        done = (excess <= allowed) | indivisible | (halving == _HALVINGS - 1)
        kept.append(tuple(column[done] for column in entry))
        greatest_loss = max(greatest_loss, float(np.max(excess[done], initial=0.0)))
        low, high = np.concatenate([low[~done], middle[~done]]), np.concatenate([middle[~done], high[~done]])
        if not low.size:
            break
    gain, iterations, product = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    order = np.argsort(gain)
    gain, iterations, product = gain[order], iterations[order], product[order]
    new = np.append(True, (np.diff(iterations) != 0) | (product[1:] != product[:-1]))
    return Policy(
        gain[new], iterations[new].astype(np.int64), product[new], float(fields["max_power"][0]), top, greatest_loss
    )


def _fleet(fields: dict[str, FloatArray], gain: FloatArray) -> DeviceFleet:
    """The device once for every gain."""
    held: dict[str, Any] = {name: np.broadcast_to(value, gain.shape) for name, value in fields.items()}
    return DeviceFleet(**{**held, "channel_gain": gain})


def _least_gain(fields: dict[str, FloatArray]) -> float:
    """The least double at which the deadline can be kept with whole iterations; infinite where there is none."""
    whole = {**fields, "min_iterations": np.ceil(fields["min_iterations"])}

    def feasible(gain: float) -> bool:
        return bool(_fleet(whole, np.array([gain])).feasible[0])

    low, high = 1e-100, GREATEST_GAIN
    if feasible(low):
        return low
    if not feasible(high):
        return float("inf")
    while np.nextafter(low, high) < high:
        middle = float(np.sqrt(low) * np.sqrt(high))
        middle = middle if low < middle < high else low + (high - low) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high


def _entries(
    fields: dict[str, FloatArray], low: FloatArray, middle: FloatArray, high: FloatArray
) -> tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray]:
    """The best entries of the left ends, and the greater one of their relative losses in the middle and at the right end."""
    best = utility.solve(_fleet(fields, low), integer=True)
    at_most = best.power >= fields["max_power"]
    products = np.stack([best.power * low, np.where(at_most, np.inf, best.power * low)])
    losses = np.zeros(products.shape)
    for gain in (middle, high):
        fleet = _fleet(fields, gain)
        best_there = utility.solve(fleet, integer=True)
        problem = Problem.of(fleet)
        for i, product in enumerate(products):
            power = np.minimum(product / gain, fleet.max_power)
            reached = problem.utility(best.iterations * problem.A, fleet.log_rate(power))
            losses[i] = np.maximum(losses[i], (best_there.utility - reached) / best_there.scale)
    choice = np.argmin(losses, axis=0)
    columns = np.arange(low.size)
    return (low, best.iterations, products[choice, columns]), losses[choice, columns]
