"""A person with several devices: enumeration of who takes part, at 40 digits, lies between the bounds."""

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.common import refused, run

import airtight
from airtight.analytics.privacy.over_the_air.groups import chained_epsilon


def small(**changes):
    values = {
        "devices": 3, "participation": [0.9, 0.6, 0.8], "noise_variance": [0.5, 1.0, 0.7], "weight": [1.0, 0.7, 0.4], "clip": 1.0,
        "alignment": 1.0, "receiver_noise_variance": 0.3, "dimension": 1, "delta": 1e-3, "adjacency": "silent",
    }  # fmt: skip
    return airtight.InferenceSystem(**{**values, **changes})


def subsets(system):
    """Each set of participants as a row of flags, with its probability."""
    for flags in itertools.product([False, True], repeat=system.devices):
        here = np.array(flags)
        yield here, mpmath.mpf(float(np.prod(np.where(here, system.participation, 1 - system.participation))))


def visible_delta(system, group, epsilon):
    """All members send the same direction, or nothing, or its opposite; the server sees who takes part."""
    total, member = mpmath.mpf(0), np.isin(np.arange(system.devices), group)
    for here, chance in subsets(system):
        shift = float(np.sum((system.weight * system.clip)[here & member])) * (2 if system.adjacency == "replace" else 1)
        variance = float(np.sum(system.noise_variance[here])) + system.receiver_noise_variance
        if shift:
            mu = mpmath.mpf(shift) / mpmath.sqrt(variance)
            total += chance * (
                mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
            )
    return total


@pytest.mark.parametrize("adjacency", ["silent", "replace"])
@pytest.mark.parametrize("group", [[0, 1], [2, 0], [0, 1, 2]])
def test_where_participants_are_seen(adjacency, group):
    system = small(adjacency=adjacency)
    low, high = (float(end[0]) for end in airtight.group_epsilon(system, [group]))
    with mpmath.workdps(40):
        assert visible_delta(system, group, high) <= system.delta
        assert visible_delta(system, group, low * (1 - 1e-9)) >= system.delta
    # certain members are a chain of Gaussian steps, of which the bound is nearly sharp
    certain = system.replace(participation=1.0)
    end = float(airtight.group_epsilon(certain, [group]).upper[0])
    with mpmath.workdps(40):
        assert visible_delta(certain, group, end) <= system.delta <= visible_delta(certain, group, end * 0.99)


def absent_delta(system, group, epsilon):
    """The members are there or not, with their noise; the server sees who of the others takes part. One dimension, on a grid."""
    total, member, x = 0.0, np.isin(np.arange(system.devices), group), np.linspace(-30, 30, 60_001)

    def normal(mean, variance):
        return np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    for others in {tuple(here & ~member) for here, _ in subsets(system)}:
        rows = [(here, float(chance)) for here, chance in subsets(system) if tuple(here & ~member) == others]
        share = sum(chance for _, chance in rows)
        present = sum(
            chance / share * normal(
                np.sum((system.weight * system.clip)[here & member]),
                np.sum(system.noise_variance[here]) + system.receiver_noise_variance,
            )
            for here, chance in rows
        )  # fmt: skip
        missing = normal(0.0, np.sum(system.noise_variance[list(others)]) + system.receiver_noise_variance)
        above = (np.maximum(p - np.exp(epsilon) * q, 0.0) for p, q in ((present, missing), (missing, present)))
        total += share * max(float(np.sum(each)) * (x[1] - x[0]) for each in above)
    return total


def test_absent_members_take_their_noise_with_them():
    system = small(delta=0.05).replace(adjacency="absent")
    low, high = (float(end[0]) for end in airtight.group_epsilon(system, [[0, 1]]))
    assert absent_delta(system, [0, 1], high) <= system.delta and absent_delta(system, [0, 1], low) >= system.delta
    assert 0 < low < high < np.inf


@settings(max_examples=8, deadline=None)
@given(mu=st.lists(st.floats(0.01, 2.0), min_size=2, max_size=3), log_delta=st.floats(-100.0, -1.0))
def test_a_chain_of_gaussians_is_the_gaussian_of_the_sum(mu, log_delta):
    delta = 10.0**log_delta
    truth = float(airtight.gaussian(float(np.sum(mu))).epsilon(delta))
    chain = chained_epsilon([airtight.gaussian(each) for each in mu], delta)
    assert truth <= chain <= truth * (1 + 1e-9) + 1e-12
    delays = [airtight.compose([airtight.gaussian(each), airtight.laplace(1e-6)]) for each in mu]  # searched, not in closed form
    assert truth <= chained_epsilon(delays, delta) <= truth * 1.02 + 0.02


def test_an_observer_of_a_group_does_not_see_who_of_it_takes_part():
    """The faint device hides the other behind noise that the server cannot tell: its lower end alone would be 34.7."""
    system = small(
        devices=2, participation=[1.0, 0.5], noise_variance=[0.01, 1e4], weight=1.0, clip=[2.0, 0.01], receiver_noise_variance=0.1
    )
    hidden, seen = (airtight.group_epsilon(system, [[0, 1]], observer=each).lower[0] for each in ("others", "participants"))
    assert hidden == pytest.approx(5.693, abs=1e-3) and seen == pytest.approx(34.723, abs=1e-3)


def test_an_absent_member_with_idle_noise_leaves_its_noise():
    stays, idle = (small(adjacency=each, idle_noise=True) for each in ("silent", "absent"))
    ends = [airtight.group_epsilon(each, [[0, 1]]).upper[0] for each in (stays, idle)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_nothing_left_of_delta_is_no_bound():
    """What is spent shrinks what is left, by exp(-epsilon): beyond the doubles no epsilon is claimed."""
    steps = [airtight.compose([airtight.gaussian(2.9), airtight.laplace(0.1)]) for _ in range(3)]
    assert chained_epsilon(steps, 1e-290) == np.inf
    assert chained_epsilon(steps, 1e-100) >= float(airtight.gaussian(8.7).epsilon(1e-100))


def test_unlike_steps_are_bounded_in_both_orders():
    """A step that is seen with probability 0.01, and an answer: from one end the sum is 0.01, from the other e times it."""
    seen, answer = airtight.approximate(0.0, 0.01), airtight.randomized_response(1.0)
    assert chained_epsilon([seen, answer], 0.03) == chained_epsilon([answer, seen], 0.03) == pytest.approx(1.0, abs=0.02)
    assert chained_epsilon([answer, seen], 0.005) == np.inf and chained_epsilon([answer, seen], 0.011) > 0.99


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([], "groups"), ([[]], "groups"), ([[0, 3]], "groups"), ([["a"]], "groups"), ([0], "groups"),
        ([[0, 1], [1]], "device 1"), ([[0, 0]], "device 0"),
    ],
)
def test_what_are_no_groups(groups, said):
    with pytest.raises(airtight.ParameterError, match=said):
        airtight.group_epsilon(small(), groups)


def test_colluders_are_no_members():
    with pytest.raises(airtight.ParameterError, match="collude"):
        airtight.group_epsilon(small(colluding=[1]), [[0, 1]])
    with pytest.raises(airtight.ParameterError, match="colluding"):
        airtight.group_epsilon(small(colluding=1, adjacency="absent"), [[0, 1]])


SYSTEM = """
[inference]
devices = 4
participation = 1.0
noise_variance = 0.1
weight = 0.25
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 16
delta = 1e-5
adjacency = "silent"
names = ["hall", "roof", "yard", "lab"]
groups = GROUPS
"""


def test_the_bounds_of_a_file_show_persons(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(SYSTEM.replace("GROUPS", '[["hall", "roof"], [3]]'))
    described = airtight.load(file)
    assert described.groups == ((0, 1), (3,))
    found = airtight.bounds(file)
    lower, upper = airtight.group_epsilon(described, described.groups)[:2]
    held = found.to_dict()["inference"]["privacy"]["groups"]
    assert held == {"devices": [[0, 1], [3]], "epsilon": upper.tolist(), "lower": lower.tolist(), "estimated": False}
    assert upper[0] == pytest.approx(float(airtight.gaussian(0.5 / np.sqrt(0.5)).epsilon(1e-5)), rel=1e-2)
    assert found.to_frame().query("quantity == 'group_epsilon'").value.tolist() == upper.tolist()
    result = run("bounds", file)
    assert result.exit_code == 0 and "0 hall, 1 roof together" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ('[["hall", "attic"]]', "attic"),
        ("[[0, 1], [1]]", "device 1"),
        ("[[0, 4]]", "groups"),
        ("[0, 1]", "list of lists"),
        ("[]", "groups"),
    ],
)
def test_groups_of_a_file_that_are_none(tmp_path, groups, said):
    file = tmp_path / "s.toml"
    file.write_text(SYSTEM.replace("GROUPS", groups))
    assert refused(run("bounds", file), "groups", said)
