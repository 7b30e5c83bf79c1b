"""The gain that an estimated channel can be counted on for: against its law by a contour integral, and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.distributions import quadratic_form
from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.federated.fair.estimated_channel import reliable_share
from airtight.solvers import energy


def falls_short(share, csi_error):
    """P(|1 + e|^2 <= share), by a contour integral."""
    return float(quadratic_form.cdf(share * 2 / csi_error, weight=[1.0], degrees=[2], noncentrality=[2 / csi_error]))


@given(st.floats(-14, 8), st.floats(-20, -0.0001))
def test_the_channel_falls_short_no_more_often_than_said(log_error, log_outage):
    csi_error, outage = 10**log_error, 10**log_outage
    share = float(reliable_share(csi_error, outage))
    assert falls_short(share, csi_error) <= outage * (1 + 1e-9 + 1e-14 / np.sqrt(csi_error) - 2e-14 * np.log(outage))


@given(st.floats(-5.6, 4), st.floats(-20, -0.0001))
def test_it_falls_short_as_often_as_said(log_error, log_outage):
    csi_error, outage = 10**log_error, 10**log_outage
    share = float(reliable_share(csi_error, outage))
    assert falls_short(share * (1 + 1e-8), csi_error) >= outage * (1 - 1e-9)


def test_small_errors():
    assert reliable_share(1.9999e-6, 0.01) == pytest.approx(reliable_share(2.0001e-6, 0.01), rel=1e-5)
    assert reliable_share([1e-300, 0.0], [0.01, 0.0]) == pytest.approx(1.0, abs=1e-8)


def test_a_transmission_fails_as_often_as_allowed():
    rng, runs = np.random.default_rng(0), 200_000
    fleet = table_1(distance=[60.0, 150.0], csi_error=[0.02, 0.1], outage=[0.05, 0.2])
    best = energy.solve(fleet)
    error = np.sqrt(fleet.csi_error / 2) * (rng.normal(size=(runs, 2)) + 1j * rng.normal(size=(runs, 2)))
    carried = np.log1p(table_1(distance=fleet.distance).gain * best.power * np.abs(1 + error) ** 2)
    share = np.mean(fleet.bandwidth * carried / np.log(2) < best.rate, axis=0)
    assert np.all(np.abs(share - fleet.outage) < 4 * np.sqrt(fleet.outage / runs))


def test_an_error_costs_utility_and_keeps_the_certificate():
    exact, estimated = (energy.solve(table_1(distance=100.0, **c)) for c in ({}, {"csi_error": 0.05, "outage": 0.01}))
    assert estimated.utility[0] < exact.utility[0] and estimated.gap[0] < 1e-12


@pytest.mark.parametrize(
    "changes, name", [({"csi_error": 0.1}, "outage"), ({"outage": 1.0}, "outage"), ({"csi_error": -1.0}, "csi_error")]
)
def test_refusals(changes, name):
    with pytest.raises(ParameterError, match=name):
        table_1(**changes)
