"""The corners of the set of updates, at which every unpaired client holds the least or the greatest value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray
from airtight.analytics.federated.corbin.count_shift import LONG, Shift, count_law, dominating, relative_error
from airtight.analytics.privacy.accounting.envelope import Envelope
from airtight.analytics.rounding import UNIT

_EVERY_CORNER = 1000  # number of others up to which every corner is tried; beyond, ranges of corners share a bound
_RANGES = 256  # number of ranges of corners for more others
_EVERY_CORNER_OF_THREE, _RANGES_OF_THREE = 128, 64  # the same if a pair's sum may take three values
_MOST_VARIANCE = 25_000.0  # greatest variance of the others' sum that is used if a pair's sum may take three values
_UNTRIMMED = 256  # number of others up to which nothing is trimmed
_ALONE = 8  # number of others up to which each corner has its own law
# boundaries of the groups of corners, as shares of clients at the upper end
_GROUPS = 0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 3 / 4, 15 / 16, 63 / 64, 1
_DIGITS = 10  # leading binary digits of the number of others that are kept
_LEAST, LEAST_DIRECT = 1e-300, 1e-320  # least mass that is trimmed from long and from short windows of the count
_NEGLIGIBLE = 1e-10  # share of delta that trimming may cost
_MIXING = 16 * UNIT  # rounding error of a loss when the laws of the client and of the others are convolved


def corners(others: int, every: int, pieces: int) -> list[tuple[int, int]]:
    """Numbers of clients at the upper and at the lower end that together bound every corner of `others` clients.

    Up to `every` clients these are all corners. Beyond, there is one entry for each of `pieces` ranges of corners: the
    least numbers of clients at both ends in the range. Each entry for more clients has at least as many clients at
    both ends as some entry for fewer clients, so that bounds fall with the number of clients.

    Examples
    --------
    >>> corners(3, 10, 2), corners(101, 10, 4)
    ([(0, 3), (1, 2), (2, 1), (3, 0)], [(0, 75), (25, 50), (50, 25), (75, 0)])
    """
    if others <= every or others - others / pieces - 2 < every:
        n = min(others, every)
        return [(j, n - j) for j in range(n + 1)]
    return [(others * i // pieces, others * (pieces - 1 - i) // pieces) for i in range(pieces)]


@dataclass(frozen=True)
class Family:
    """The corners of the other clients, the mass that their laws may lack, and the pairs computed so far.

    With probability `alike` the observer sees that the client's output is the same under both updates; the laws of its
    contribution are those given that it is not.
    """

    corners: list[tuple[int, int]]
    low: float
    high: float
    negligible: float
    lost: float
    alike: float
    _shifts: dict[tuple[int, int], Shift] = field(default_factory=dict)
    _counts: dict[tuple[int, int], FloatArray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        others: int,
        low: float,
        high: float,
        laws: Sequence[tuple[FloatArray, FloatArray]],
        delta: float,
        *,
        alike: float = 0.0,
    ) -> Family:
        n = checks.count("others", others, "[0, 10000000]")
        n -= n % 2 ** max(n.bit_length() - _DIGITS, 0)
        if any(_neighbours(pair) is None for pair in laws):
            n = min(n, int(min(_MOST_VARIANCE / max(low * high, 1e-300), 1e9)))
            corner_list = corners(n, _EVERY_CORNER_OF_THREE, _RANGES_OF_THREE)
        else:
            corner_list = corners(n, _EVERY_CORNER, _RANGES)
        if sum(corner_list[0]) <= _UNTRIMMED:
            return cls(corner_list, low, high, 0.0, 0.0, alike)
        least_trimmed = _LEAST if sum(corner_list[0]) * low * high > LONG**2 else LEAST_DIRECT
        negligible = max(delta * _NEGLIGIBLE / 4, least_trimmed)
        return cls(corner_list, low, high, negligible, 4 * negligible, alike)

    def envelope(self, corners: Iterable[tuple[int, int]], laws: Sequence[tuple[FloatArray, FloatArray]]) -> Envelope:
        """Envelope of the laws of the whole count under both updates, or of pairs that dominate them."""
        low, high = self.low, self.high
        pairs, error, loss_error = [], 0.0, 0.0
        starts = [_neighbours(pair) for pair in laws]
        with np.errstate(under="ignore"):
            for first, rest in corners:
                shift = self._dominating(first, rest)
                error, loss_error = max(error, shift.error), max(loss_error, shift.loss_error)
                for start, pair in zip(starts, laws, strict=True):
                    if start is None:
                        noise = self._noise(first, rest)
                        rough = relative_error(first + rest, low, high, self.negligible)
                        error, loss_error = max(error, rough), max(loss_error, 2 * rough)
                        pairs.append((np.convolve(noise, pair[0]), np.convolve(noise, pair[1])))
                    else:
                        p, q = (law[start] * shift.base + law[start + 1] * shift.above for law in pair)
                        pairs.append((p, q))
        if self.alike:
            pairs = [(self._or_alike(p), self._or_alike(q)) for p, q in pairs]
            error += 2 * UNIT
        return Envelope(pairs, lost=self.lost, error=error, loss_error=loss_error + _MIXING)

    def _or_alike(self, law: FloatArray) -> FloatArray:
        """The law with the further outcome that both updates give alike."""
        return np.append((1 - self.alike) * law, self.alike)

    def _noise(self, first: int, rest: int) -> FloatArray:
        """Law of the count of others; laws with exchanged numbers are mirror images of each other."""
        if first > rest:
            return self._noise(rest, first)[::-1]
        if (first, rest) not in self._counts:
            self._counts[first, rest] = count_law(first, rest, self.low, self.high, negligible=self.negligible)
        return self._counts[first, rest]

    def _dominating(self, first: int, rest: int) -> Shift:
        """Dominating pair of the count plus one and the count; pairs with exchanged numbers are mirror images."""
        if first > rest:
            return self._dominating(rest, first).mirrored()
        if (first, rest) not in self._shifts:
            low, high = self.low, self.high
            self._shifts[first, rest] = dominating(first, rest, low, high, negligible=self.negligible)
        return self._shifts[first, rest]


def _neighbours(pair: tuple[FloatArray, FloatArray]) -> int | None:
    """The lesser of two neighbouring values to which both laws of a client are confined, if they are; else None."""
    possible = np.flatnonzero(pair[0] + pair[1])
    start = min(int(possible[0]), pair[0].size - 2)
    return start if possible[-1] <= start + 1 else None


def groups(corners: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Groups of corners: each corner where there are few, else overlapping runs."""
    last = len(corners) - 1
    if last <= _ALONE:
        yield from ([corner] for corner in corners)
        return
    yield corners[:1]
    for lower_share, upper_share in pairwise(_GROUPS):
        yield corners[max(int(np.floor(last * lower_share)), 1) : min(int(np.ceil(last * upper_share)), last - 1) + 1]
    yield corners[-1:]


def by_direction(laws: Sequence[tuple[FloatArray, FloatArray]]) -> list[list[tuple[FloatArray, FloatArray]]]:
    """The moves that raise the mean of the count, and those that lower it."""
    raising = [bool((p - q) @ np.arange(p.size) > 0) for p, q in laws]
    split = [
        [pair for pair, raises in zip(laws, raising, strict=True) if raises is direction] for direction in (True, False)
    ]
    return [moves for moves in split if moves]
