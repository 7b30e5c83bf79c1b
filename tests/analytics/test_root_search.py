"""The ends of the interval have the signs that are promised, whatever the function."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.root_search import falling_root, least_safe


@given(
    root=st.floats(0.001, 0.999),
    power=st.floats(0.05, 20.0),
    length=st.floats(1e-12, 0.1),
    start=st.floats(0.01, 0.99),
    jump=st.floats(0.0, 5.0),
)
def test_interval_of_falling_functions(root, power, length, start, jump):
    """Steep, flat and discontinuous ones: the root lies in the interval, which is short, after few evaluations."""
    asked = []

    def value(x):
        asked.append(x)
        return (1 - x) ** power - (1 - root) ** power - (jump if x >= root else 0.0)

    low, high = falling_root(value, 0.0, value(0.0), 1.0, start, lambda _: length)
    assert len(asked) <= 101 and all(0 < x < 1 for x in asked[1:])
    assert value(low) > 0 >= value(high) and high - low <= length
    assert low - 1e-9 <= root <= high + 1e-9


@pytest.mark.parametrize("beyond", [-math.inf, math.nan])
def test_infinite_values_are_bisected(beyond):
    low, high = falling_root(lambda x: 1.0 if x < 0.3 else beyond, 0.0, 1.0, 1.0, 0.5, lambda _: 1e-6)
    assert low < 0.3 <= high and high - low <= 1e-6


def test_no_argument_is_spent_beside_an_infinite_one():
    """A function that falls slowly and ends: each evaluation halves the interval, where secants only met its ends."""
    asked = []

    def value(x):
        asked.append(x)
        return 1 - x if x < 0.7 else -math.inf

    low, high = falling_root(value, 0.0, 1.0, 1.0, 0.5, lambda _: 1e-6)
    assert low < 0.7 <= high and len(asked) <= 1 + math.log2(1e6) + 1


@given(st.floats(1e-9, 9e8))
def test_the_least_safe_argument_from_both_sides(edge: float) -> None:
    below, above = (least_safe(lambda x: x >= edge, side) for side in (0, 1))
    assert below < edge <= above and above - below <= 1e-5 * (1 + above)


def test_everything_and_nothing_safe() -> None:
    for side in (0, 1):
        assert least_safe(lambda x: x >= 0, side) == 0.0
        assert least_safe(lambda x: x < 0, side) == math.inf


def test_beyond_the_range_the_lower_end_stays_finite() -> None:
    """It was infinite: above the truth."""
    below, above = (least_safe(lambda x: x >= 3e12, side) for side in (0, 1))
    assert 1e9 <= below < 3e12 < above == math.inf
