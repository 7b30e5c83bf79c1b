"""Derivations by machine: right as they stand, wrong as soon as a term is changed."""

import pytest
import sympy as sp

from analytics.symbolic import energy_utility as forms


def test_the_printed_kkt_system_follows_from_the_lagrangian():
    assert set(forms.residuals()) == {"69", "70", "71", "72", "74", "76"}
    assert all(value == 0 for value in forms.residuals().values())


@pytest.mark.parametrize("name", ["69", "70", "71", "72", "74", "76"])
@pytest.mark.parametrize("symbol", [forms.P_cp, forms.beta_2, forms.b, forms.varrho])
def test_a_changed_term_is_noticed(name, symbol, monkeypatch):
    """Double one symbol of the printed form."""
    good = forms.printed()
    if symbol not in good[name].free_symbols:
        pytest.skip("does not occur")
    monkeypatch.setattr(forms, "printed", lambda: {**good, name: good[name].subs(symbol, 2 * symbol)})
    assert forms.residuals()[name] != 0


def test_what_the_division_loses():
    assert forms.lost_root() == 0
    true, printed = forms.composition_second_derivative()
    assert sp.simplify(true - printed) != 0


def test_the_utility_is_the_numeric_one():
    import numpy as np

    from analytics.federated.device import table_1

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
