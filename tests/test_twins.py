"""Numeric functions against their symbolic twins at 50 digits, on points that hypothesis chooses over the whole domain."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from airtight.analytics.forms.form import Face, Form, collected
from airtight.validate.twins import twin as module
from airtight.validate.twins.catalogue import twins
from airtight.validate.twins.twin import worst


def values_of(twin):
    def scalar(domain):
        extra = [*domain.extra, domain.low, domain.high]
        return st.one_of(st.floats(0, 1).map(domain.at), st.sampled_from(extra))

    def argument(name, symbol):
        one = scalar(twin.domain[name])
        return st.tuples(*[one] * len(symbol)) if isinstance(symbol, tuple) else one

    return st.fixed_dictionaries({name: argument(name, symbol) for name, symbol in twin.form.arguments.items()})


@pytest.mark.parametrize("name", list(twins()))
def test_agrees_at_fifty_digits(name):
    twin = twins()[name]

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(twin))
    def check(values):
        assume(twin.defined(**values))
        assert twin.error(values) <= twin.tolerance

    if name.startswith(("Scheme 2.2", "Theorem 3, lower", "Lemma 5", "Theorem 1, epsilon")):
        found = worst(twin, samples=60, seed=1)  # few random points meet the hypotheses
        assert found.samples >= 20 and found.error <= twin.tolerance
    else:
        check()


@pytest.mark.parametrize("name", list(twins()))
def test_a_planted_error_is_seen(name):
    """One part in a million on the numeric side."""
    twin = twins()[name]
    wrong = replace(twin, numeric=lambda **v: (1 + 1e-6) * float(twin.numeric(**v)))
    assert worst(wrong, samples=30, seed=2).error > 30 * twin.tolerance


@pytest.mark.parametrize("name", list(twins()))
def test_prints(name):
    form = twins()[name].form
    assert form.latex() and "<m" in form.mathml() and form.source and form.face in Face


def test_numpy_code_is_the_form():
    form = twins()["Theorem 2 (CB Theorem 2)"].form
    compute = form.lambdify()
    found = compute(*(np.array([2.0, 4.0]) if s.name == "n" else 1.0 for s in form.symbols))
    assert found == pytest.approx([float(form.evaluate(clients=n, epsilon=1.0, radius=1.0)) for n in (2, 4)])


def test_digits_whatever_the_cancellation():
    x = sp.Symbol("x")
    form = Form("difference", "none", Face.EXACT, (1 + x) - 1, {"x": x})
    with mpmath.workdps(60):
        assert form.evaluate(x=1e-300) == mpmath.mpf(1e-300)
    assert form.evaluate(x=0.0) == 0


def test_no_name_twice():
    x = sp.Symbol("x")
    one = Form("one", "none", Face.EXACT, x, {"x": x})
    with pytest.raises(ValueError, match="used twice"):
        collected([one, one])


def test_a_nan_or_an_infinity_is_an_error():
    twin = twins()["alpha"]
    assert replace(twin, numeric=lambda **v: float("nan")).error({"epsilon": 1.0}) == float("inf")
    assert replace(twin, numeric=lambda **v: float("inf")).error({"epsilon": 1.0}) == float("inf")
    assert module.worst(twin, samples=5).samples == 5
