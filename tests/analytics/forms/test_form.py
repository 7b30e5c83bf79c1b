"""Derivations by machine: right as they stand, wrong as soon as a term is changed."""

import numpy as np
import pytest
import sympy as sp

from airtight.analytics.forms import binary_quantizers, weights
from airtight.analytics.forms import energy_utility as forms
from airtight.analytics.forms import gradient_descent as descent
from airtight.analytics.forms import inference_errors as distortion
from airtight.analytics.forms import theorem1 as bernstein
from airtight.solvers import weights as solver


def test_the_printed_kkt_system_follows_from_the_lagrangian():
    assert set(forms.residuals()) == {"69", "70", "71", "72", "74", "76"}
    assert all(value == 0 for value in forms.residuals().values())


@pytest.mark.parametrize("symbol", [forms.P_cp, forms.beta_2, forms.b, forms.varrho])
def test_a_changed_term_is_noticed(symbol, monkeypatch):
    """Double one symbol of every printed form that has it: each is compared with its own derived one."""
    good = forms.printed()
    monkeypatch.setattr(forms, "printed", lambda: {name: e.subs(symbol, 2 * symbol) for name, e in good.items()})
    changed = {name for name, residual in forms.residuals().items() if residual != 0}
    assert changed == {name for name, e in good.items() if symbol in e.free_symbols} != set()


def test_the_lagrangian_has_every_constraint():
    """(34b)-(34d): each multiplier times how far its constraint is violated."""
    L = forms.lagrangian()
    delay = forms.j * forms.A + forms.V * sp.log(2) / (forms.B * forms.Z) - forms.T
    violated = {
        forms.L1: delay,
        forms.L2: forms.Z_min - forms.Z,
        forms.L3: forms.Z - forms.Z_max,
        forms.L4: forms.j_min - forms.j,
        forms.L5: forms.j - forms.j_max,
    }
    for multiplier, amount in violated.items():
        assert sp.simplify(sp.diff(L, multiplier) - amount) == 0
    assert sp.simplify(L.subs(dict.fromkeys(violated, 0)) + forms.utility) == 0


def test_what_the_division_loses():
    assert forms.lost_root() == 0
    true, printed = forms.composition_second_derivative()
    assert sp.simplify(true - printed) != 0


def test_the_utility_is_the_numeric_one():
    from airtight.analytics.federated.fair.device import table_1

    fleet = table_1(distance=80.0)
    gain = float(fleet.gain[0])
    values = {
        forms.A: float(fleet.iteration_time[0]),
        forms.V: 875e3,
        forms.b: np.log(2) / (0.45 * gain * 250e3),
        forms.c: 0.45 * gain * 0.0825 - 1,
        forms.P_cp: 0.096,
        forms.varrho: 0.5,
        forms.beta_1: 0.5,
        forms.beta_2: 0.05,
        forms.j: 70.0,
        forms.Z: 12.0,
    }
    power = fleet.power(12.0)
    assert float(forms.utility.subs(values)) == pytest.approx(float(fleet.utility(70.0, power)[0]), rel=1e-9)


def changed(monkeypatch, module, name):
    """One coefficient of an expression, 1 % larger: the first symbol's, so that no cancellation can hide it."""
    good = getattr(module, name)
    symbol = sorted(good.free_symbols, key=str)[0]
    monkeypatch.setattr(module, name, good.subs(symbol, sp.Rational(101, 100) * symbol))


def test_t_of_23_is_not_the_root_of_the_printed_exponent():
    (root,) = bernstein.printed_root_of_the_exponent()
    assert sp.simplify(root - bernstein.intended_t) == 0 and sp.simplify(root - bernstein.eq23_t) != 0
    (root,) = bernstein.true_root_of_the_exponent()
    assert sp.simplify(root - bernstein.proven_t) == 0


@pytest.mark.parametrize("name", ["intended_t", "proven_t"])
def test_a_changed_t_is_noticed(name, monkeypatch):
    changed(monkeypatch, bernstein, name)
    with pytest.raises(AssertionError):
        test_t_of_23_is_not_the_root_of_the_printed_exponent()


@pytest.mark.parametrize("K", [1, 2, 3])
def test_the_exact_mse_is_the_definition(K):
    at = distortion.Scalar.of(K)
    assert sp.expand(distortion.expected_square(at) - distortion.exact_mse(at)) == 0
    for symbol in (at.p[0], at.w[-1], at.D, at.floor):
        wrong = distortion.exact_mse(at).subs(symbol, 2 * symbol)
        assert sp.expand(distortion.expected_square(at) - wrong) != 0


def test_33_does_not_follow_from_32_nor_32_from_31():
    assert distortion.does_33_follow_from_32() != 0
    at = distortion.Scalar.of(2)
    lossless = {at.D: 1, at.W[0]: 1}
    assert sp.expand((distortion.equation_31(at, 0) - distortion.equation_32(at, 0)).subs(lossless)) != 0
    unit = {**lossless, at.w[0]: 1}
    assert sp.expand((distortion.equation_31(at, 0) - distortion.equation_32(at, 0)).subs(unit)) == 0


@pytest.mark.parametrize("K", [1, 2, 3])
def test_what_the_printed_mse_is(K):
    at = distortion.Scalar.of(K)
    assert distortion.what_the_printed_form_is(at) == 0
    if K > 1:  # with the cross sum as printed, it is nothing
        single = distortion.exact_mse(at) - distortion.printed_mse(at)
        assert sp.expand(single) != 0


def test_the_weight_problem():
    at = distortion.Scalar.of(3)
    for k in range(3):
        assert weights.gradient_residual(at, k, all_others=True) == 0
        assert weights.update_residual(at, k) == 0
    assert any(weights.gradient_residual(at, k, all_others=False) != 0 for k in range(3))


@pytest.mark.parametrize("name", ["printed_gradient", "printed_update"])
def test_a_changed_kkt_term_is_noticed(name, monkeypatch):
    good = getattr(weights, name)
    at = distortion.Scalar.of(3)
    monkeypatch.setattr(weights, name, lambda *a, **k: good(*a, **k).subs(at.p[1], 2 * at.p[1]))
    with pytest.raises(AssertionError):
        test_the_weight_problem()


def test_the_hessian_of_the_printed_objective_is_the_numeric_one():
    at = distortion.Scalar.of(3)
    values = {"participation": (0.3, 0.8, 1.0), "f": (1.0, -2.0, 0.5), "W": (1.5, 0.5, 2.0), "D": 0.7}
    given = {**values, "weight": (0.5,) * 3, "noise_variance": (1.0,) * 3, "receiver_noise_variance": 1.0}
    qp = solver.program(*distortion.scalar_features(**given), objective="published")
    put = {at.D: 0.7} | {s: x for n in ("p", "f", "W") for s, x in zip(getattr(at, n), values[_NAMES[n]], strict=True)}
    assert np.diag(qp.d) + qp.V @ qp.V.T == pytest.approx(np.array(weights.hessian(at).subs(put)).astype(float))


_NAMES = {"p": "participation", "f": "f", "W": "W"}


def test_corbinq():
    low, high = binary_quantizers.least_pair_mse()
    s = binary_quantizers.x + binary_quantizers.y
    assert sp.expand(low + 2 * binary_quantizers.half * s + s**2) == 0
    assert sp.expand(high - 2 * binary_quantizers.half * s + s**2) == 0
    assert (
        sp.diff(binary_quantizers.pair_mse_of_law(), binary_quantizers.both) == 8 * binary_quantizers.half**2
    )  # the least t is the best
    t, q1, q2 = binary_quantizers.both, binary_quantizers.q1, binary_quantizers.q2
    assert sp.expand(binary_quantizers.covariance() - 4 * binary_quantizers.half**2 * (t - q1 * q2)) == 0
    top, end = binary_quantizers.worst_case()
    r, A = binary_quantizers.radius, binary_quantizers.half
    assert top == A**2 and sp.expand(end - (4 * r * A - 4 * r**2)) == 0
    assert sp.expand(binary_quantizers.average_case() - (4 * r * A - 2 * r**2) / 3) == 0
    greatest, slope = binary_quantizers.greatest_covariance()
    assert sp.expand(greatest + (A - r) ** 2) == 0 and sp.expand(slope - (A - r)) == 0
    small, large = binary_quantizers.theorem_2_exceeds_the_worst_case()
    a = sp.Symbol("a", positive=True)
    printed = sp.expand(((sp.sqrt(2) - 1) * a + 1) * ((sp.sqrt(2) + 1) * a - 1))
    assert sp.expand(printed - a**2 - small) == 0 and sp.expand(printed - 4 * (a - 1) - large) == 0
    assert (small.subs(a, 1) > 0) and (large.subs(a, 2) > 0)


def test_contractions():
    for name, (difference, product) in descent.identities().items():
        assert sp.expand(difference - product) == 0, name
        inside = product.subs({descent.s: sp.Rational(3, 2), descent.k: sp.Rational(1, 3)})
        assert inside > 0, name
    assert descent.other_signs() == (0, 0)
    assert descent.equation_51_on_a_quadratic() == 2
    assert sp.expand(descent.ratio_on_a_quadratic() - (1 - descent.step * descent.L) ** 2) == 0


@pytest.mark.parametrize("name", ["descent", "printed_factor", "printed_rate"])
def test_a_changed_rate_is_noticed(name, monkeypatch):
    changed(monkeypatch, descent, name)
    with pytest.raises(AssertionError):
        test_contractions()
