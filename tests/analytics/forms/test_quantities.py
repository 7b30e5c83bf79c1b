"""Every quantity of the registry: its function and its ball beside the expression at 50 digits, on points of the whole domain."""

from dataclasses import replace

import flint
import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.forms import comparison
from airtight.analytics.forms.comparison import error, worst
from airtight.analytics.forms.domain import POSITIVE, REAL, Parameter, Range
from airtight.analytics.forms.quantity import Quantity, collected
from airtight.analytics.guarantee import Face
from airtight.validate.claims.sources import INSTALLED

QUANTITIES = airtight.quantities()
x = Parameter("x", REAL)
HALF = Quantity("half", "none", Face.EXACT, x / 2, {"x": x})
SCALAR = [
    name
    for name, q in QUANTITIES.items()
    if not q.per_device and not any(isinstance(a, tuple) for a in q.arguments.values())
]
NARROW = ("Scheme 2.2", "Theorem 3, lower", "Lemma 5", "Theorem 1, epsilon")  # few random points meet the hypotheses


def values_of(quantity):
    def scalar(domain):
        extra = [*domain.extra, domain.low, domain.high]
        return st.one_of(st.floats(0, 1).map(domain.at), st.sampled_from(extra))

    def argument(name, symbol):
        one = scalar(quantity.ranges[name])
        return st.tuples(*[one] * len(symbol)) if isinstance(symbol, tuple) else one

    return st.fixed_dictionaries({name: argument(name, symbol) for name, symbol in quantity.arguments.items()})


@pytest.mark.parametrize("name", list(QUANTITIES))
def test_function_agrees_at_fifty_digits(name):
    quantity = QUANTITIES[name]

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(values_of(quantity))
    def check(values):
        assume(quantity.defined(**values))
        assert error(quantity, values) <= quantity.tolerance

    if name.startswith(NARROW):
        found = worst(quantity, samples=60, seed=1)
        assert found.samples >= 20 and found.error <= quantity.tolerance
    else:
        check()


@pytest.mark.parametrize("name", list(QUANTITIES))
def test_a_planted_error_is_seen(name):
    """One part in a million of the function."""
    quantity = QUANTITIES[name]
    wrong = replace(quantity, function=lambda **v: (1 + 1e-6) * np.asarray(quantity(**v)))
    assert worst(wrong, samples=30, seed=2).error > 30 * quantity.tolerance


def points(quantity, count, seed):
    rng = np.random.default_rng(seed)
    drawn = (comparison.sample(quantity, rng) for _ in range(40 * count))
    kept = [values for values in drawn if quantity.defined(**values)][:count]
    assert kept
    return kept


@pytest.mark.parametrize("name", list(QUANTITIES))
def test_ball_holds_the_value_and_settles(name):
    quantity = QUANTITIES[name]
    for values in points(quantity, 4, 3):
        true = mpmath.nstr(quantity.evaluate(digits=60, **values), 60)
        with flint.ctx.workprec(4000):
            distance = abs(quantity.ball(**values) - flint.arb(true))
            assert distance <= flint.arb("1e-50") * abs(flint.arb(true)) or distance <= flint.arb("1e-300")


@pytest.mark.parametrize("name", list(QUANTITIES))
def test_prints(name):
    quantity = QUANTITIES[name]
    assert quantity.latex() and "<m" in quantity.mathml() and quantity.source and quantity.face in Face
    about = quantity.to_dict()
    assert about["latex"] == quantity.latex() and about["arguments"].keys() == quantity.arguments.keys()
    assert quantity._repr_latex_().startswith(r"$\displaystyle")
    assert quantity.key.isidentifier()


@pytest.mark.parametrize("name", SCALAR)
def test_arrays(name):
    """Several points at once; arguments with one entry per device are no arrays of points."""
    quantity = QUANTITIES[name]
    drawn = points(quantity, 3, 5)
    together = quantity(
        **{argument: np.array([values[argument] for values in drawn]) for argument in quantity.arguments}
    )
    assert np.shape(together) == (len(drawn),)
    assert together == pytest.approx([np.ravel(quantity(**values))[0] for values in drawn], rel=1e-12)


SMOOTH = ("worst LDP-FL", "gain", "noise scale", "Gaussian, classical epsilon", "Theorem 3, epsilon")


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_by_differences(name):
    quantity = QUANTITIES[name]
    for values in points(quantity, 3, 4):
        for argument, symbol in quantity.arguments.items():
            if isinstance(symbol, tuple) or symbol.is_integer:
                continue
            step = abs(values[argument]) * 2.0**-60
            with mpmath.workdps(80):
                middle = mpmath.mpf(values[argument])
                low, high = (quantity.evaluate(digits=60, **{**values, argument: middle + s * step}) for s in (-1, 1))
                difference = (high - low) / (2 * step)
                slope = quantity.diff(argument).evaluate(digits=60, **values)
                assert abs(slope - difference) <= mpmath.mpf(10) ** -15 * (abs(slope) + abs(high) / abs(middle))


def test_a_derivative_of_what_is_no_argument():
    with pytest.raises(ParameterError, match=r"argument = 'y'.*one of x"):
        HALF.diff("y")


def test_numpy_code_is_the_expression():
    quantity = QUANTITIES["Theorem 2, MSE"]
    compute = quantity.lambdify()
    found = compute(*(np.array([2.0, 4.0]) if s.name == "n" else 1.0 for s in quantity.symbols))
    assert found == pytest.approx([float(quantity.evaluate(clients=n, epsilon=1.0, radius=1.0)) for n in (2, 4)])
    made = replace(quantity, function=None)
    assert made(clients=np.array([2, 4]), epsilon=1.0, radius=1.0) == pytest.approx(found)


def test_one_entry_is_enough():
    """A new closed form has everything that the others have."""
    y = Parameter("y", POSITIVE)
    quantity = Quantity("hypotenuse", "Euclid", Face.EXACT, sp.sqrt(x**2 + y**2), {"x": x, "y": y})
    assert worst(quantity, samples=50).error < 1e-15
    assert quantity(x=3.0, y=np.array([4.0])) == 5.0
    assert quantity.diff("y")(x=3.0, y=4.0) == 0.8
    assert quantity.ball(x=3, y=4) == 5
    assert quantity.evaluate(x=3, y=4) == 5 and quantity.latex() == r"\sqrt{x^{2} + y^{2}}"


def test_digits_whatever_the_cancellation():
    form = Quantity("difference", "none", Face.EXACT, sp.Add(1 + x, -1, evaluate=False), {"x": x})
    with mpmath.workdps(60):
        assert form.evaluate(x=1e-300) == mpmath.mpf(1e-300)
    assert form.evaluate(x=0.0) == 0


@pytest.mark.parametrize("values", [{}, {"y": 1.0}, {"x": 1.0, "y": 1.0}])
@pytest.mark.parametrize("use", ["evaluate", "ball", "__call__"])
def test_wrong_arguments(use, values):
    with pytest.raises(ParameterError, match=r"arguments = .*given once each: x"):
        getattr(HALF, use)(**values)


def test_a_wrong_number_of_devices():
    with pytest.raises(ParameterError, match="3 numbers, one per device"):
        QUANTITIES["mean noise"].evaluate(participation=(0.5, 0.5), noise_variance=(1.0, 1.0, 1.0))


def test_no_name_and_no_key_twice():
    for name in ("half", "Half!"):
        with pytest.raises(ParameterError, match=r"name = .*: must be another name than 'half'"):
            collected([HALF, replace(HALF, name=name)])


def test_a_nan_or_an_infinity_is_an_error():
    quantity = QUANTITIES["alpha"]
    assert error(replace(quantity, function=lambda **v: float("nan")), {"epsilon": 1.0}) == float("inf")
    assert error(replace(quantity, function=lambda **v: float("inf")), {"epsilon": 1.0}) == float("inf")
    assert worst(quantity, samples=5).samples == 5


FEDERATED = airtight.FederatedSystem(
    clients=50, parameters=10, epsilon=1.0, shared_bits=5, ldp_fraction=0.2, delta=1e-5
)


def test_of_a_system():
    assert QUANTITIES["worst LDP-FL"].of(FEDERATED) == pytest.approx(
        QUANTITIES["worst LDP-FL"](clients=50, epsilon=1.0, radius=1.0)
    )
    assert QUANTITIES["slack"].of(FEDERATED) == QUANTITIES["slack"](epsilon=1.0, radius=1.0, bits=5)
    with pytest.raises(ParameterError, match=r"system = .*a FederatedSystem"):
        QUANTITIES["slack"].of(1.0)
    with pytest.raises(ParameterError, match="system = "):
        QUANTITIES["energy"].of(FEDERATED)


def test_domains_are_those_of_the_symbols():
    narrowed = replace(HALF, domain={"x": Range(0.0, 1.0)})
    assert HALF.ranges["x"] is REAL and narrowed.ranges["x"].low == 0.0


def test_a_claim_of_two_quantities_needs_no_domain():
    proof = airtight.prove(airtight.at_most(QUANTITIES["slack"], QUANTITIES["slack as printed"]))
    assert proof.status.value == "proved"
    wrong = airtight.at_most(QUANTITIES["slack as printed"], QUANTITIES["slack"])
    assert airtight.prove(wrong).status.value == "refuted"


def test_claims_name_the_quantities_on_their_sides():
    named = {claim.id: [q.key for q in claim.quantities] for claim in INSTALLED.claims().values() if claim.quantities}
    assert named["CB-T1"] == ["pair_d_shared_bits", "slack_as_printed"] and len(named) >= 40
    assert {key for keys in named.values() for key in keys} <= {q.key for q in QUANTITIES.values()}
    assert not INSTALLED.claims()["FDP-E4"].quantities


def test_a_quantity_at_other_arguments_has_their_symbols():
    made = QUANTITIES["alpha"].subs(epsilon=2 * sp.atanh(x))
    assert list(made.arguments) == ["x"] and made.name == "alpha" and made.system is None
    assert float(made(x=0.25)) == pytest.approx(4.0)  # alpha is 1 / tanh(epsilon / 2)
    with pytest.raises(ParameterError, match="must be one of epsilon"):
        QUANTITIES["alpha"].subs(radius=1)
