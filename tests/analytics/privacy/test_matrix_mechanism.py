"""Matrix mechanisms: every set of steps that a record may take part in, and vectors that it may move them by."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight


def sets(steps, participations, separation):
    for size in range(1, participations + 1):
        for chosen in itertools.combinations(range(steps), size):
            if all(b - a >= separation for a, b in itertools.pairwise(chosen)):
                yield list(chosen)


@settings(max_examples=25, deadline=None)
@given(
    steps=st.integers(1, 7), participations=st.integers(1, 4), separation=st.integers(1, 4), seed=st.integers(0, 2**32),
    sigma=st.floats(0.3, 5.0),
)  # fmt: skip
def test_no_record_moves_the_release_farther(steps, participations, separation, seed, sigma):
    rng = np.random.default_rng(seed)
    bands = np.subtract.outer(np.arange(steps), np.arange(steps))
    strategy = rng.normal(size=(steps, steps)) * ((bands >= 0) & (bands < separation))
    curve = airtight.matrix_gaussian(strategy, sigma, participations=participations, separation=separation)
    longest = max(np.sqrt(np.sum(strategy[:, chosen] ** 2)) for chosen in sets(steps, participations, separation))
    assert curve.factors[0][0].mu == pytest.approx(longest / sigma, rel=1e-13)
    for chosen in sets(steps, participations, separation):
        moved = rng.normal(size=(len(chosen), 3))
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        assert np.linalg.norm(strategy[:, chosen] @ moved) <= longest * (1 + 1e-12)


def test_independent_noise_is_a_composition():
    """The identity: a record in k of the steps, each with its own noise."""
    curve = airtight.matrix_gaussian(np.eye(100), 2.0, participations=9, separation=10)
    plain = airtight.gaussian(0.5).compose(9)
    assert curve.epsilon([1e-9, 1e-5]) == pytest.approx(plain.epsilon([1e-9, 1e-5]), rel=1e-9)
    assert curve.unit == "one record is replaced by an empty one" and airtight.PrivacyCurve.from_json(curve.to_json()) == curve
    few = airtight.matrix_gaussian(np.eye(10), 2.0, participations=9, separation=4)  # no more than three fit
    assert few.epsilon(1e-5) == pytest.approx(float(airtight.gaussian(0.5).compose(3).epsilon(1e-5)), rel=1e-9)
    assert airtight.matrix_gaussian(np.zeros((2, 2)), 0.0).epsilon(1e-9) == 0
    assert airtight.matrix_gaussian(np.eye(2), 0.0).epsilon(0.5) == np.inf


@pytest.mark.parametrize(
    ("matrix", "options", "said"),
    [
        (np.ones((2, 2)), {}, "matrix"),  # not lower triangular
        (np.tril(np.ones((3, 3))), {"separation": 2}, "separation = 2"),
        (np.ones((2, 3)), {}, "matrix"),
        ([[np.nan]], {}, "matrix"),
        ([[1e200]], {}, "matrix"),
        (np.eye(2), {"participations": 0}, "participations"),
        (np.eye(2), {"sigma": -1.0}, "sigma"),
    ],
)
def test_what_is_no_banded_strategy_is_refused(matrix, options, said):
    with pytest.raises(airtight.ParameterError, match=said):
        airtight.matrix_gaussian(matrix, **{"sigma": 1.0, **options})
