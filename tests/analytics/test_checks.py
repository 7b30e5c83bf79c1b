import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.guarantee import Adjacency


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        ("[0, 1]", [0.0, 0.5, 1.0], [-1e-300, 1.0000001, math.nan, math.inf]),
        ("(0, 1)", [1e-300, 0.5], [0.0, 1.0, math.nan]),
        ("[0, inf)", [0.0, 1e308], [math.inf, math.nan, -1.0]),
        ("[0, inf]", [math.inf], [math.nan, -math.inf]),
    ],
)
def test_intervals(interval, inside, outside):
    for value in inside:
        assert checks.real("x", value, interval) == value
    for value in outside:
        with pytest.raises(ParameterError, match=r"x = .*must be a number in"):
            checks.real("x", value, interval)


def test_error_says_where_and_what():
    with pytest.raises(ParameterError) as caught:
        checks.real("p", [[0.1, 0.2], [0.3, 4.0]], "[0, 1]")
    error = caught.value
    assert (error.name, error.value, error.index) == ("p", 4.0, (1, 1))
    assert "[0, 1]" in error.allowed and "p[1, 1] = 4.0" in str(error)


@pytest.mark.parametrize("value", ["1", None, True, [True], 1j, [[1], [1, 2]], {}, object(), [None]])
def test_not_a_number(value):
    with pytest.raises(ParameterError):
        checks.real("x", value)
    with pytest.raises(ParameterError):
        checks.integer("x", value)


@pytest.mark.parametrize("value", [1.0, 0, 2**64, [1, 2], -3])
def test_count_refuses(value):
    with pytest.raises(ParameterError):
        checks.count("devices", value)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_nothing_slips_through(x):
    try:
        assert 0 < checks.real("x", x, "(0, 1]") <= 1
    except ParameterError:
        assert not 0 < x <= 1


def test_vector_broadcasts_scalars_and_is_read_only():
    filled = checks.vector("w", 2.0, 3)
    assert filled.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        filled[0] = 1.0
    with pytest.raises(ParameterError, match="3 numbers"):
        checks.vector("w", [1.0, 2.0], 3)


def test_choice_and_flag():
    assert checks.choice("adjacency", "silent", Adjacency) is Adjacency.SILENT
    with pytest.raises(ParameterError, match="one of absent, silent, replace"):
        checks.choice("adjacency", "gone", Adjacency)
    assert checks.flag("idle", np.bool_(True)) is True
    with pytest.raises(ParameterError):
        checks.flag("idle", 1)
