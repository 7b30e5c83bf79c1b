"""The fleet: the ledger's numbers, identities, scaling, and refusals."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair.device import DeviceFleet, table_1


def test_numbers_of_the_ledger():
    fleet = table_1(distance=[50.0, 200.0])
    assert fleet.path_loss_factor[0] == pytest.approx(0.5558040681, rel=1e-9)
    assert fleet.noise_power[0] == pytest.approx(9.952679e-16, rel=1e-6)
    assert fleet.gain == pytest.approx([9356247.36, 36547.84], rel=1e-6)
    assert fleet.rate(1.0) == pytest.approx([5.789e6, 3.789e6], rel=1e-3)
    assert fleet.iteration_time[0] == pytest.approx(6.02112e-3)
    assert fleet.compute_energy(1.0)[0] == pytest.approx(0.578028e-3, rel=1e-6)
    printed = table_1(as_printed=True, min_iterations=0.0)
    assert printed.min_log_rate[0] == pytest.approx(3234.687, abs=1e-3) and not printed.feasible[0]


@given(st.floats(10, 1000), st.floats(1e-4, 5), st.floats(0, 200), st.floats(1e-3, 10))
def test_times_powers_and_energies_agree(distance, power, iterations, gain):
    fleet = table_1(distance=distance, channel_gain=gain)
    assert fleet.power(fleet.log_rate(power))[0] == pytest.approx(power, rel=1e-9)
    assert (fleet.transmit_time(power) * fleet.rate(power))[0] == pytest.approx(875e3)
    energy = fleet.compute_time(iterations) * fleet.compute_power + fleet.transmit_time(power) * fleet.transmit_power(
        power
    )
    assert fleet.energy(iterations, power)[0] == pytest.approx(energy[0])
    double = table_1(distance=distance, channel_gain=2 * gain)
    assert double.rate(power / 2)[0] == pytest.approx(fleet.rate(power)[0])


@given(st.floats(0.3, 3), st.floats(50, 200))
def test_deadline_limits(deadline, distance):
    fleet = table_1(distance=distance, deadline=deadline)
    if fleet.feasible[0]:
        slow = fleet.compute_time(fleet.min_iterations) + fleet.transmit_time(fleet.min_power)
        fast = fleet.compute_time(fleet.max_iterations) + fleet.transmit_time(fleet.max_power)
        assert slow[0] == pytest.approx(deadline) and fast[0] == pytest.approx(deadline)
        assert fleet.min_iterations[0] <= fleet.max_iterations[0] * (1 + 1e-12)
    assert fleet.feasible[0] == (fleet.least_deadline[0] <= deadline)


def test_scalars_stand_for_all():
    fleet = table_1(distance=[50.0, 100.0, 200.0], beta_1=[0.1, 0.2, 0.3])
    assert fleet.devices == 3 and fleet.bandwidth.tolist() == [250e3] * 3
    assert not fleet.distance.flags.writeable
    one = dataclasses.replace(fleet, deadline=1.0)
    assert one.deadline.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    "changes, name",
    [
        ({"distance": 0.0}, "distance"),
        ({"distance": []}, "distance"),
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"amplifier_efficiency": 1.2}, "amplifier_efficiency"),
        ({"amplifier_efficiency": 0.0}, "amplifier_efficiency"),
        ({"compute_power": math.nan}, "compute_power"),
        ({"deadline": math.inf}, "deadline"),
        ({"beta_2": 0.0}, "beta_2"),
        ({"min_iterations": -1.0}, "min_iterations"),
        ({"snr_gap_db": -1.0}, "snr_gap_db"),
        ({"distance": [50.0, 60.0], "deadline": [1.0, 2.0, 3.0]}, "distance"),
        ({"distance": [[50.0]]}, "distance"),
    ],
)
def test_refusals(changes, name):
    with pytest.raises(ParameterError) as caught:
        table_1(**changes)
    assert caught.value.name == name


@pytest.mark.parametrize(
    "changes, readings",
    [({"max_power": 30.0}, ["30 W", "1 W"]), ({"noise_density_dbm": 4e-21}, ["4e-21 dBm/Hz", "-174"])],
)
def test_decibel_and_watt(changes, readings):
    with pytest.warns(UserWarning) as caught:
        table_1(**changes)
    assert all(r in str(caught[0].message) for r in readings)


def test_ordinary_powers_do_not_warn():
    assert isinstance(table_1(max_power=1.0, noise_density_dbm=-174.0), DeviceFleet)
    assert np.all(table_1(max_power=2.0).feasible)


def test_no_fading_by_default():
    given = {name: getattr(table_1(), name) for name in DeviceFleet.__dataclass_fields__ if name != "channel_gain"}
    assert DeviceFleet(**given).channel_gain == 1.0
