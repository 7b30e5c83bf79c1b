"""LDPQ and CorBinQ: samples against exact laws, exact laws against enumeration, and what they do not protect."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import quantizers
from airtight.validate.papers.corbin_fl.quantizers import _enumerated

UNIT = st.floats(-1, 1)
EPSILON = st.floats(0.01, 20)
BITS = st.one_of(st.none(), st.integers(0, 60))


@given(UNIT, UNIT, EPSILON, st.integers(0, 8))
def test_law_against_enumeration(x, y, epsilon, bits):
    law = quantizers.pair_law(x, y, epsilon=epsilon, bits=bits)
    assert law == pytest.approx(_enumerated(x, y, epsilon, bits), abs=1e-13)


@given(UNIT, UNIT, EPSILON, BITS, st.floats(-5, 5), st.floats(1e-3, 1e3))
def test_marginals_moments_and_scale(x, y, epsilon, bits, center, radius):
    law = quantizers.pair_law(x, y, epsilon=epsilon, bits=bits)
    A = quantizers.alpha(epsilon)
    assert np.all(law >= 0) and law.sum() == pytest.approx(1, abs=1e-14)
    assert A * (law[1].sum() - law[0].sum()) == pytest.approx(x, abs=1e-13 * A)
    assert A * (law[:, 1].sum() - law[:, 0].sum()) == pytest.approx(y, abs=1e-13 * A)
    mse = quantizers.pair_mse(x, y, epsilon=epsilon, bits=bits)
    sums = np.array([[-2 * A, 0.0], [0.0, 2 * A]]) - (x + y)
    assert mse == pytest.approx(np.sum(law * sums**2), rel=1e-9, abs=1e-9)
    scaled = quantizers.pair_mse(
        center + radius * x, center + radius * y, epsilon=epsilon, center=center, radius=radius, bits=None
    )
    unit = quantizers.pair_mse(x, y, epsilon=epsilon, bits=None)
    assert scaled == pytest.approx(radius**2 * unit, rel=1e-6, abs=1e-9 * radius * (abs(center) + radius) * A)


@given(UNIT, UNIT, EPSILON)
def test_more_bits_never_hurt_much_and_symmetry(x, y, epsilon):
    limit = quantizers.pair_mse(x, y, epsilon=epsilon, bits=None)
    independent = quantizers.pair_mse(x, y, epsilon=epsilon, bits=0)
    A = quantizers.alpha(epsilon)
    assert independent == pytest.approx(2 * A**2 - x * x - y * y, rel=1e-12)
    for bits in range(0, 61, 6):
        mse = quantizers.pair_mse(x, y, epsilon=epsilon, bits=bits)
        assert limit <= mse * (1 + 1e-12) and mse - limit <= quantizers.slack(epsilon=epsilon, bits=bits) * (1 + 1e-9)
        assert mse <= independent * (1 + 1e-12)
    assert quantizers.pair_mse(-x, -y, epsilon=epsilon, bits=None) == pytest.approx(limit, rel=1e-13, abs=1e-300)
    assert limit <= max(4 * (A - 1), A * A) * (1 + 1e-12)


def test_slack_is_attained():
    """f_1 = f_2 = 1/2: both levels in the middle of one cell."""
    assert quantizers.pair_mse(0.0, 0.0, epsilon=1.0, bits=0) == pytest.approx(quantizers.slack(epsilon=1.0, bits=0))


@pytest.mark.parametrize("bits", [None, 0, 1, 3, 60])
def test_samples_follow_the_law(bits):
    rng = np.random.default_rng(0)
    n, x, y, epsilon, center, radius = 200_000, 0.9, -0.35, 1.2, 2.0, 1.5
    first, second = quantizers.corbinq(
        np.full(n, center + radius * x),
        center + radius * y,
        epsilon=epsilon,
        center=center,
        radius=radius,
        bits=bits,
        rng=rng,
    )
    A = radius * quantizers.alpha(epsilon)
    assert set(np.unique(np.concatenate([first, second]))) <= {center - A, center + A}
    table = np.array([[np.sum((first > center) == i) for i in (0, 1)]])
    law = quantizers.pair_law(x, y, epsilon=epsilon, bits=bits)
    counts = np.array([[np.sum(((first > center) == i) & ((second > center) == j)) for j in (0, 1)] for i in (0, 1)])
    possible = law > 0
    assert np.all(counts[~possible] == 0) and table.sum() == n
    assert stats.chisquare(counts[possible], n * law[possible] / law[possible].sum()).pvalue > 1e-4
    single = quantizers.ldpq(np.full(n, center + radius * x), epsilon=epsilon, center=center, radius=radius, rng=rng)
    assert abs(single.mean() - (center + radius * x)) < 4.5 * np.sqrt((A**2 - (radius * x) ** 2) / n)


def test_what_the_server_learns():
    """Ledger: partner -0.5, d = 5, epsilon 1: both plus is impossible for w <= 0 and possible above 0.45."""
    both = [quantizers.pair_law(w, -0.5, epsilon=1.0, bits=5)[1, 1] for w in (-1.0, 0.0, 0.45, 0.55, 1.0)]
    assert both == pytest.approx([0, 0, 0.0031, 0.01155, 0.11553], abs=5e-5)
    plus = quantizers.pair_law([-1.0, 1.0], 0.0, epsilon=1.0, bits=5)[:, 1].sum(axis=-1)
    assert plus[1] / plus[0] == pytest.approx(np.e)


def test_extremes():
    for epsilon in (1e-9, 700.0, np.inf):
        A = quantizers.alpha(epsilon)
        assert A >= 1 and np.isfinite(A)
        out = quantizers.corbinq([1.0, -1.0], [-1.0, -1.0], epsilon=epsilon, bits=60, rng=np.random.default_rng(0))
        assert np.all(np.isfinite(out))
    assert quantizers.ldpq([1.0, -1.0], epsilon=np.inf, rng=np.random.default_rng(0)).tolist() == [1.0, -1.0]
    assert quantizers.pair_mse(1.0, 1.0, epsilon=np.inf, bits=5) == 0.0


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        ({"w": [0.0, 1.5]}, "w[1] = 1.5"),
        ({"w": 0.0, "radius": 0.0}, "radius = 0.0"),
        ({"w": 0.0, "epsilon": 0.0}, "epsilon = 0.0"),
        ({"w": 0.0, "epsilon": np.nan}, "epsilon = nan"),
        ({"w": np.nan}, "w = nan"),
        ({"w": 0.0, "center": np.inf}, "center = inf"),
    ],
)
def test_bad_input(arguments, needle):
    with pytest.raises(ParameterError) as error:
        quantizers.ldpq(**{"epsilon": 1.0, "rng": np.random.default_rng(0), **arguments})
    assert needle in str(error.value)


@pytest.mark.parametrize("bits", [-1, 61, 2.5])
def test_bad_bits(bits):
    with pytest.raises(ParameterError, match="bits"):
        quantizers.pair_mse(0.0, 0.0, epsilon=1.0, bits=bits)


def _exact_mse(x, y, epsilon, bits):
    """The formula of the pair's error in 400 digits."""
    with mpmath.workdps(400):
        A, x, y = mpmath.coth(mpmath.mpf(epsilon) / 2), mpmath.mpf(x), mpmath.mpf(y)
        s = abs(x + y)
        if bits is None:
            return s * (2 * A - s)
        cells = mpmath.mpf(2) ** bits
        a, b = cells * (A + x) / (2 * A), cells * (A - y) / (2 * A)
        f, g = a - mpmath.floor(a), b - mpmath.floor(b)
        shared = min(f, g) - f * g if mpmath.floor(a) == mpmath.floor(b) else 0
        return s * (2 * A - s) + 8 * A**2 / cells * shared


def test_mse_of_a_pair_to_its_stated_error():
    assert quantizers.pair_mse(0.3, -0.1, epsilon=1e-6, bits=3) == pytest.approx(
        float(_exact_mse(0.3, -0.1, 1e-6, 3)), rel=1e-14
    )
    assert quantizers.pair_mse(1.0, 1.0, epsilon=30.0, bits=5) == pytest.approx(
        float(_exact_mse(1.0, 1.0, 30.0, 5)), rel=1e-14
    )
    rng = np.random.default_rng(0)
    for i in range(1200):
        epsilon, bits = 10 ** rng.uniform(-8, 2.5), [None, 0, 1, 3, 10, 60][i % 6]
        x, y = rng.uniform(-1, 1, 2) if i % 5 else rng.choice([-1.0, 1.0], 2)
        if i % 7 == 0:
            x, y = 10 ** rng.uniform(-9, 0), -(10 ** rng.uniform(-9, 0))
        true = _exact_mse(x, y, epsilon, bits)
        error = abs(quantizers.pair_mse(x, y, epsilon=epsilon, bits=bits) - true)
        beyond = 16 * np.finfo(float).eps * quantizers.alpha(epsilon) * (abs(x) + abs(y)) if bits and bits > 1 else 0.0
        assert error <= 1e-14 * true + beyond


def _law(x, y, epsilon, bits):
    """The law by the Notes at 1000 digits, from the Frechet bound and, in one cell, from both private coins."""
    with mpmath.workdps(1000):
        x, y, epsilon = mpmath.mpf(x), mpmath.mpf(y), mpmath.mpf(epsilon)
        alpha = 1 / mpmath.tanh(epsilon / 2)
        first, second = (1 + x / alpha) / 2, (1 - y / alpha) / 2
        plus_minus = min(first, second)
        cells = 2 ** (bits or 0)
        a, b = (mpmath.floor(level * cells) for level in (first, second))
        if bits is not None and a == b:
            plus_minus = (a + (first * cells - a) * (second * cells - a)) / cells
        law = [[second - plus_minus, 1 - first - second + plus_minus], [plus_minus, first - plus_minus]]
        return law, bits is not None and bool(a == b)


WIDE = st.one_of(EPSILON, st.floats(-300, 2.84).map(lambda x: 10.0**x))


@given(st.one_of(UNIT, st.sampled_from([-1.0, 1.0])), st.one_of(UNIT, st.sampled_from([-1.0, 1.0])), WIDE, BITS)
def test_errors_of_the_law_are_those_of_the_docstring(x, y, epsilon, bits):
    truth, one_cell = _law(x, y, epsilon, bits)
    law = quantizers.pair_law(x, y, epsilon=epsilon, bits=bits)
    for i in (0, 1):
        for j in (0, 1):
            error = abs(law[i, j] - truth[i][j])
            assert error <= (2.0**-48 if one_cell and i == j else 2.0**-46 * truth[i][j] + 5e-324)


def test_small_entries_of_the_law():
    """P(+-) was 2.06115369e-9 at epsilon 20, and 0 at epsilon 50, while it was a difference."""
    law = quantizers.pair_law(1.0, 1.0, epsilon=[20.0, 50.0], bits=None)
    assert law[:, 1, 0] == pytest.approx([2.0611536181902037e-09, 1.9287498479639178e-22], rel=1e-14)
