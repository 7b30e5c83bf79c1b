"""Trees of events of dp-accounting as curves and back."""

import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting import dp_event as events
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
from dp_accounting.rdp import RdpAccountant
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import airtight
from airtight import ParameterError, PrivacyCurve
from airtight.analytics.privacy.accounting.composition_theorems import renyi_to_epsilon
from airtight.analytics.privacy.accounting.dp_accounting_interop import Tabulated

GAUSSIAN = events.GaussianDpEvent(2.0)
TREES = {
    "gaussian": GAUSSIAN,
    "laplace": events.LaplaceDpEvent(3.0),
    "sampled": events.PoissonSampledDpEvent(0.1, GAUSSIAN),
    "sampled twice": events.PoissonSampledDpEvent(0.5, events.PoissonSampledDpEvent(0.2, GAUSSIAN)),
    "sample used three times": events.PoissonSampledDpEvent(0.1, events.SelfComposedDpEvent(GAUSSIAN, 3)),
    "training": events.ComposedDpEvent(
        [
            events.SelfComposedDpEvent(events.PoissonSampledDpEvent(0.05, events.GaussianDpEvent(1.5)), 40),
            events.LaplaceDpEvent(5.0),
            events.SelfComposedDpEvent(GAUSSIAN, 3),
        ]
    ),
}
SUPPORTED_BY_THE_PEER = set(TREES) - {"sampled twice", "sample used three times"}


@pytest.mark.parametrize("name", sorted(SUPPORTED_BY_THE_PEER))
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_epsilon_is_that_of_the_peer(name, delta):
    """The peer's number is an upper bound on a grid: not below our lower bound, and near our upper one."""
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    theirs = accountant.compose(TREES[name]).get_epsilon(delta)
    lower, upper = PrivacyCurve.from_dp_accounting(TREES[name]).bracket(delta=delta)
    assert lower <= theirs * (1 + 1e-9)
    assert upper == pytest.approx(theirs, rel=5e-3, abs=2e-4)


def test_nested_samples_multiply():
    sampled = PrivacyCurve.from_dp_accounting(TREES["sampled twice"])
    assert sampled.epsilon(1e-5) == pytest.approx(airtight.subsampled(0.5, 0.1).epsilon(1e-5), rel=1e-9)


def test_one_sample_of_several_gaussians_is_one_gaussian():
    sampled = PrivacyCurve.from_dp_accounting(TREES["sample used three times"])
    one = airtight.subsampled(math.sqrt(3) / 2, 0.1)
    assert sampled.epsilon(1e-5) == pytest.approx(one.epsilon(1e-5), rel=1e-9)


def test_randomized_response():
    """With probability 1 - p the truth, otherwise uniform: the ratio of the answers' probabilities."""
    curve = PrivacyCurve.from_dp_accounting(events.RandomizedResponseDpEvent(0.4, 5))
    exact = math.log((0.6 + 0.4 / 5) / (0.4 / 5))
    assert exact <= curve.epsilon(0.0) <= exact * (1 + 1e-12)


def test_nothing_and_everything():
    assert PrivacyCurve.from_dp_accounting(events.NoOpDpEvent()).epsilon(0.0) == 0
    for event in (
        events.NonPrivateDpEvent(),
        events.GaussianDpEvent(0.0),
        events.LaplaceDpEvent(0.0),
        events.RandomizedResponseDpEvent(0.0, 2),
    ):
        assert PrivacyCurve.from_dp_accounting(event).delta(700.0) == 1
        if not isinstance(event, events.RandomizedResponseDpEvent):  # a sample of it is refused
            sampled = PrivacyCurve.from_dp_accounting(events.PoissonSampledDpEvent(0.25, event))
            assert sampled.delta(1.0) == pytest.approx(0.25)
    assert PrivacyCurve.from_dp_accounting(events.RandomizedResponseDpEvent(0.4, 1)).advantage() == 0
    assert PrivacyCurve.from_dp_accounting(events.SelfComposedDpEvent(GAUSSIAN, 0)).advantage() == 0
    assert isinstance(airtight.compose([]).to_dp_event(), events.NoOpDpEvent)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["gaussian", "laplace", "response", "subsampled"]),
            st.floats(1e-3, 20.0),
            st.floats(1e-6, 1.0),
            st.integers(1, 50),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_round_trip_never_loses_leakage(releases):
    """Back from the event, delta is nowhere below, and above by rounding alone."""
    kinds = {kind for kind, *_ in releases}
    assume(kinds == {"response"} or "response" not in kinds)  # they have different neighbours
    makers = {
        "gaussian": lambda x, p: airtight.gaussian(x),
        "laplace": lambda x, p: airtight.laplace(x),
        "response": lambda x, p: airtight.randomized_response(x, 3),
        "subsampled": lambda x, p: airtight.subsampled(x, p),
    }
    curve = airtight.compose([makers[kind](x, p) for kind, x, p, _ in releases], [count for *_, count in releases])
    again = PrivacyCurve.from_dp_accounting(curve.to_dp_event())
    assert [type(release) for release, _ in again.factors] == [type(release) for release, _ in curve.factors]
    for (release, count), (other, other_count) in zip(curve.factors, again.factors, strict=True):
        assert count == other_count
        epsilon = np.array([0.0, 0.1, 1.0])
        ours, theirs = PrivacyCurve.of(release).delta(epsilon), PrivacyCurve.of(other).delta(epsilon)
        assert np.all(theirs >= ours * (1 - 1e-11))
        assert np.all(theirs <= ours * (1 + 1e-9) + 1e-14)


def test_gaussian_events_of_one_sample_are_one_whatever_their_tree():
    """Adaptive clipping releases a gradient and a count of one sample."""
    trees = [
        events.ComposedDpEvent([GAUSSIAN, GAUSSIAN]),
        events.SelfComposedDpEvent(GAUSSIAN, 2),
        events.ComposedDpEvent(
            [GAUSSIAN, events.SelfComposedDpEvent(events.ComposedDpEvent([events.GaussianDpEvent(4.0)] * 2), 2)]
        ),
    ]
    for tree in trees:
        curve = PrivacyCurve.from_dp_accounting(events.PoissonSampledDpEvent(0.01, tree))
        assert float(curve.epsilon(1e-5)) == pytest.approx(0.0657301253, rel=1e-9)


def test_an_imported_distribution_has_the_epsilons_of_its_source():
    source = privacy_loss_distribution.from_gaussian_mechanism(1.0)
    deltas = 10.0 ** -np.arange(1, 11)
    theirs = np.array([source.get_epsilon_for_delta(delta) for delta in deltas])
    ours = PrivacyCurve.from_dp_accounting(source).epsilon(deltas)
    assert np.all(ours >= theirs * (1 - 1e-12)) and np.all(ours <= theirs * (1 + 1e-8))


@pytest.mark.parametrize(
    "event, message",
    [
        (events.SampledWithoutReplacementDpEvent(10, 2, GAUSSIAN), "SampledWithoutReplacementDpEvent"),
        (events.ZCDpEvent(-0.1), "rho"),
        (events.PoissonSampledDpEvent(0.1, TREES["training"]), "one release, or Gaussian ones alone"),
        (events.PoissonSampledDpEvent(1.5, GAUSSIAN), "sampling_probability"),
        (events.GaussianDpEvent(-1.0), "noise_multiplier"),
        (events.GaussianDpEvent(float("nan")), "noise_multiplier"),
        (events.SelfComposedDpEvent(GAUSSIAN, -1), "count"),
    ],
)
def test_unsupported_events_are_named(event, message):
    with pytest.raises(ParameterError, match=message):
        PrivacyCurve.from_dp_accounting(event)


MIXED = events.ComposedDpEvent([GAUSSIAN, events.RandomizedResponseDpEvent(0.4, 5)])


def test_neighbours_are_named_and_not_mixed():
    """If a record is replaced, a Gaussian event has twice the sensitivity: the peer, which knows the relation, says 6.4 for
    the mixed tree; the laws of the two events for their own neighbours would compose to 4.1."""
    assert PrivacyCurve.from_dp_accounting(TREES["training"]).unit == "one record is added or removed"
    assert PrivacyCurve.from_dp_accounting(events.RandomizedResponseDpEvent(0.4, 5)).unit == "one record is replaced"
    with pytest.raises(ParameterError, match="one neighbour relation"):
        PrivacyCurve.from_dp_accounting(MIXED)
    with pytest.raises(ParameterError, match="same neighbours"):
        airtight.compose([airtight.gaussian(1.0), airtight.randomized_response(1.0)]).to_dp_event()
    with pytest.raises(ParameterError, match="added or removed"):
        PrivacyCurve.from_dp_accounting(events.PoissonSampledDpEvent(0.1, events.RandomizedResponseDpEvent(0.4, 5)))
    with pytest.raises(ParameterError, match="neighbours of its own"):
        PrivacyCurve.from_dp_accounting(GAUSSIAN, unit="client")


@pytest.mark.parametrize(
    "curve",
    [
        airtight.randomized_response(1000.0),
        airtight.laplace(5e-324),
        airtight.laplace(1e300),
        airtight.gaussian(1e-320),
        airtight.gaussian(math.inf),
    ],
    ids=str,
)
def test_extremes_become_events(curve):
    again = PrivacyCurve.from_dp_accounting(curve.to_dp_event())
    assert np.all(again.delta([0.0, 1.0, 700.0]) >= curve.delta([0.0, 1.0, 700.0]) * (1 - 1e-11))


@pytest.mark.parametrize(
    "event",
    [events.LaplaceDpEvent(1e-310), events.GaussianDpEvent(5e-324), events.RandomizedResponseDpEvent(1e-323, 5)],
)
def test_events_of_vanishing_noise_have_delta_one(event):
    assert PrivacyCurve.from_dp_accounting(event).delta(700.0) == 1


@pytest.mark.parametrize("source", [3, "GaussianDpEvent", None, [GAUSSIAN]])
def test_something_else_is_refused(source):
    with pytest.raises(ParameterError, match="a PrivacyLossDistribution or a DpEvent"):
        PrivacyCurve.from_dp_accounting(source)


def test_mass_that_a_table_lacks_is_an_infinite_loss():
    """delta at a great epsilon is the mass that an upper bound does not account for, whatever its magnitude."""

    def table(mass, pessimistic=True):
        return PrivacyCurve.of(Tabulated(1.0, (0, 0), (mass, mass), (0.0, 0.0), pessimistic))

    assert table((0.5, 0.5)).delta(10.0) == 0
    assert table((0.5, 0.5 - 1e-9)).delta(10.0) == pytest.approx(1e-9, rel=1e-6)
    assert table((0.5, 0.5 + 1e-4)).delta(0.5) > table((0.5, 0.5)).delta(0.5)
    with pytest.raises(ParameterError, match="at least 1"):
        table((0.5, 0.4))
    with pytest.raises(ParameterError, match="at most 1"):
        table((0.5, 0.5 + 1e-9), pessimistic=False)


def test_deep_trees_are_refused():
    event = GAUSSIAN
    for _ in range(2000):
        event = events.SelfComposedDpEvent(event, 1)
    with pytest.raises(ParameterError, match="depth"):
        PrivacyCurve.from_dp_accounting(event)


def test_releases_without_an_event():
    with pytest.raises(ParameterError, match="to_dp_accounting"):
        airtight.discrete_pair([0.75, 0.25], [0.25, 0.75]).to_dp_event()


@pytest.mark.parametrize(("steps", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), ([5, 100, 3], 7)])
def test_one_epoch_of_a_tree_is_a_gaussian_release_for_each_level(steps, levels):
    event = events.SingleEpochTreeAggregationDpEvent(3.0, steps)
    ours, theirs = PrivacyCurve.from_dp_accounting(event), RdpAccountant(
        [2.0, 8.0, 32.0], NeighboringRelation.REPLACE_SPECIAL
    ).compose(event)  # fmt: skip
    assert ours.renyi([2.0, 8.0, 32.0]).upper == pytest.approx(theirs._rdp, rel=1e-12)
    assert ours.epsilon(1e-6) == pytest.approx(airtight.gaussian(1 / 3).compose(levels).epsilon(1e-6), rel=1e-12)


def test_zero_concentrated_privacy_is_its_best_order():
    """Not below the Gaussian release with this rho, and near the best conversion over all orders."""
    curve = PrivacyCurve.from_dp_accounting(events.SelfComposedDpEvent(events.ZCDpEvent(0.005), 10))
    grid = 1 + np.geomspace(1e-3, 1e5, 200_001)
    best = float(np.min(renyi_to_epsilon(grid, 0.05 * grid, delta=1e-6)))
    assert airtight.gaussian(0.1).compose(10).epsilon(1e-6) <= curve.epsilon(1e-6)
    assert curve.epsilon(1e-6) == pytest.approx(best, rel=1e-3) and curve.epsilon(1e-6) >= best * (1 - 1e-9)
    shifted = PrivacyCurve.from_dp_accounting(events.ZCDpEvent(0.05, 0.25))  # divergences of 0.25 + 0.05 times the order
    assert shifted.epsilon(1e-6) == pytest.approx(best + 0.25, rel=1e-3) and shifted.epsilon(1e-6) >= best + 0.25
