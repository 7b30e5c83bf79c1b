"""Every verb counts the channel, the rounds and the observer of a system, or refuses them by name."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import ROOT

import airtight
from airtight import loading
from airtight.analytics.privacy.over_the_air import observers
from airtight.report.card import Card
from airtight.results import headline
from airtight.system_file.contents import SystemFile

BASE = {
    "noise_variance": 0.3,
    "weight": 0.5,
    "alignment": 1.0,
    "receiver_noise_variance": 0.2,
    "dimension": 4,
    "delta": 1e-3,
}
FEATURES = airtight.Features(f=[[1.0, 0.0], [0.8, 0.1]], W=[np.eye(4, 2)] * 2, D=np.eye(2, 4))
CHANNELS = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"antennas": st.integers(1, 2), "fading": st.just("rayleigh"), "states": st.just(3), "fresh": st.booleans()},
        optional={"max_power": st.just([3.0, 1.0]), "known": st.booleans()},
    ),
)


@st.composite
def systems(draw):
    channel, rest = draw(CHANNELS), {}
    if channel is None or "max_power" not in channel:
        rest = {"participation": draw(st.sampled_from([0.6, 1.0])), "idle_noise": draw(st.booleans())}
    return airtight.InferenceSystem(
        devices=2,
        clip=[1.0, draw(st.sampled_from([1.0, 2.0]))],
        adjacency=draw(st.sampled_from(["absent", "silent", "replace"])),
        observer=draw(st.sampled_from(["auto", "participants", "others", "signal"])),
        rounds=draw(st.sampled_from([1, 2])),
        channel=channel,
        **BASE,
        **rest,
    )


@settings(max_examples=10, deadline=None)
@given(systems())
def test_verbs_bounds_sweep_and_card_say_the_same_epsilon(system):
    epsilon = airtight.epsilon(system)
    bounds = airtight.bounds(system)
    np.testing.assert_array_equal(bounds.inference.privacy.asked, epsilon)
    swept = airtight.sweep(system, {"delta": [system.delta]}, quantities=["epsilon"])
    assert float(swept.epsilon[0]) == np.max(epsilon)
    (card,) = Card.of(SystemFile("system", inference=system)).systems
    np.testing.assert_array_equal(card.epsilon, epsilon)
    assert bounds.never_send == card.never_send == []
    finite = np.where(np.isfinite(epsilon), epsilon, 1.0)
    at = np.array([airtight.delta(system, float(e))[k] for k, e in enumerate(finite)])
    # a composition of rounds answers either question on a grid of its own
    assert np.all(at[np.isfinite(epsilon)] <= system.delta * (1 + (1e-9 if system.rounds == 1 else 1e-5)))


@settings(max_examples=25, deadline=None)
@given(systems())
def test_copies_keep_channel_rounds_and_observer(system):
    twin = airtight.InferenceSystem(**json.loads(json.dumps(system.to_dict())))
    assert twin == system == pickle.loads(pickle.dumps(system)) and hash(twin) == hash(system)
    louder = system.replace(noise_variance=0.6)
    assert (louder.channel, louder.rounds, louder.observer) == (system.channel, system.rounds, system.observer)
    if system.power_decides:  # more noise needs more power
        assert np.all(louder.participation < system.participation)


@settings(max_examples=4, deadline=None)
@given(systems(), st.sampled_from([0.5, 3.0]))
def test_calibrated_noise_keeps_the_whole_system_private(system, target):
    try:
        noise = airtight.calibrate(system, target)
    except airtight.InfeasibleError:
        return
    assert np.max(airtight.epsilon(system.replace(noise_variance=noise))) <= target * (1 + 1e-9)


@settings(max_examples=12, deadline=None)
@given(systems())
def test_the_simulated_attack_is_below_epsilon(system):
    if system.channel is not None and not system.channel.known:
        return
    found = airtight.attack(system, samples=4000)
    exact = airtight.epsilon(system, observer="auto")
    assert found.rounds == system.rounds
    for part in found.devices:
        assert part.attack <= exact[part.devices[0]] and part.exact == pytest.approx(exact[part.devices[0]])


@settings(max_examples=25, deadline=None)
@given(systems())
def test_what_speaks_of_one_round_refuses_more_by_name(system):
    for verb in (airtight.published, airtight.proven):
        if system.rounds > 1:
            with pytest.raises(airtight.ParameterError, match=r"^rounds = 2"):
                verb(system)
        elif system.channel is not None and (system.channel.antennas > 1 or system.power_decides):
            with pytest.raises(airtight.ParameterError, match=r"^channel"):
                verb(system.replace(channel=system.channel))
    if system.channel is not None and system.channel.antennas > 1:
        with pytest.raises(airtight.ParameterError, match=r"^channel"):
            airtight.accuracy(system, FEATURES, margin=1.0)
        with pytest.raises(airtight.ParameterError, match=r"^channel"):
            airtight.solve_weights(system, FEATURES)
    else:
        assert airtight.mse(system, FEATURES) == airtight.mse(system.one_round, FEATURES)


def test_a_computation_of_one_look_cannot_be_asked_about_a_channel():
    """The guard of the engine: what is given to it past the entrance is refused."""
    system = airtight.InferenceSystem(devices=2, participation=1.0, clip=1.0, channel={"antennas": 2}, **BASE)
    with pytest.raises(airtight.ParameterError, match=r"^channel"):
        observers.exact_epsilon(system, observer="others")


def test_participation_is_given_where_no_power_limit_decides_it():
    with pytest.raises(airtight.ParameterError, match=r"^participation: missing"):
        airtight.InferenceSystem(devices=2, clip=1.0, **BASE)
    limited = {"fading": "rayleigh", "max_power": 1.0}
    with pytest.raises(airtight.ParameterError, match=r"^participation"):
        airtight.InferenceSystem(devices=2, clip=1.0, participation=0.5, channel=limited, **BASE)
    with pytest.raises(airtight.ParameterError, match=r"^channel\.max_power"):
        airtight.InferenceSystem(devices=2, clip=1.0, channel={**limited, "max_power": -1.0}, **BASE)


def test_a_file_its_path_and_its_system_give_the_same(tmp_path: Path):
    path = ROOT / "examples" / "good.toml"
    file = airtight.load(path)
    for source in (file, path, str(path)):
        np.testing.assert_array_equal(airtight.epsilon(source), airtight.epsilon(file.inference))
        assert airtight.mse(source) == airtight.mse(file.inference, file.features)
        assert airtight.accuracy(source) == airtight.accuracy(file.inference, file.features, file.task.margin)
    assert airtight.bounds(path).to_dict() == airtight.bounds(file).to_dict()
    assert file.requirements is file.design and file.fleet is None and airtight.__version__.count(".") == 2
    with pytest.raises(airtight.AirtightError, match=r"nowhere\.toml"):
        airtight.epsilon(tmp_path / "nowhere.toml")
    with pytest.raises(airtight.ParameterError, match=r"^inference"):
        airtight.epsilon(ROOT / "examples" / "fleet.toml")


FAR = """[inference]
devices = 4
noise_variance = 1e-3
weight = 0.25
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 8
delta = 1e-5
adjacency = "silent"
[inference.channel]
fading = "rayleigh"
max_power = 1.0
mean_power = [1.0, 1.0, 1e-3, 1e-3]
"""


def test_who_never_sends_is_said_first(tmp_path: Path):
    (tmp_path / "far.toml").write_text(FAR)
    found = airtight.bounds(tmp_path / "far.toml")
    assert found.never_send == [2, 3] == found.to_dict()["never_send"]
    assert "2 of 4 devices never send: devices 2-3" in found.headline[2]


def test_silence_is_never_counted_as_protection():
    system = airtight.InferenceSystem(devices=2, participation=0.5, clip=1.0, adjacency="absent", **BASE)
    with pytest.raises(airtight.InfeasibleError, match="no device ever sends"):
        airtight.calibrate(system, 1.0, variable="participation", observer="participants")
    for free in ("weight", "clip", "participation", "alignment"):
        with pytest.raises(airtight.InfeasibleError, match="nothing bounds the error"):
            airtight.design(system, minimise="energy", epsilon_at_most=1.0, free=[free])
    silent = airtight.InferenceSystem(devices=2, participation=0.0, clip=1.0, **BASE)
    assert airtight.bounds(silent).headline[0] == (
        "system: No device ever sends: nothing is learned, and nothing is protected."
    )


def test_a_great_epsilon_is_called_no_protection():
    loud = airtight.InferenceSystem(devices=2, participation=1.0, clip=40.0, adjacency="silent", **BASE)
    assert "NOT PRIVATE" in airtight.bounds(loud).headline[0]
    assert "the server learns practically everything" in airtight.bounds(loud).headline[0]
    quiet = loud.replace(clip=0.1)
    assert (
        "PRIVATE (epsilon 0." in airtight.bounds(quiet).headline[0] and "NOT" not in airtight.bounds(quiet).headline[0]
    )


@given(st.floats(1e-12, 700))
def test_a_shown_epsilon_is_rounded_up(value):
    assert float(headline.rounded_up(value)) >= value


def test_an_attack_that_would_not_end_is_refused_by_name():
    system = airtight.InferenceSystem(devices=2, participation=1.0, clip=1.0, rounds=10**9, **BASE)
    with pytest.raises(airtight.ParameterError, match=r"^rounds = 1000000000: must be at most \d+ with 100000 samples"):
        airtight.attack(system)


def test_the_card_of_devices_that_never_send_promises_nothing():
    silent = airtight.InferenceSystem(devices=2, participation=0.0, clip=1.0, **BASE)
    (card,) = Card.of(SystemFile("system", inference=silent)).systems
    assert card.never_send == [0, 1] and len(card.headline) == 1 and card.headline[0].startswith("No device ever sends")


def test_silent_devices_lower_no_median():
    system = airtight.InferenceSystem(devices=4, participation=[1.0, 1.0, 0.0, 0.0], clip=[2.0, 1.9, 1.0, 1.0], **BASE)
    epsilon = airtight.epsilon(system)
    median = headline.rounded_up(float(np.median(epsilon[:2])))
    assert epsilon[2] == 0 and f"median {median}" in airtight.bounds(system).headline[0]


def test_a_verb_reads_its_file_once(monkeypatch):
    reads = []
    right = loading.fleet_csv.load
    monkeypatch.setattr(loading.fleet_csv, "load", lambda *given, **options: reads.append(given) or right(*given, **options))
    path = ROOT / "examples" / "good.toml"
    for verb in (airtight.mse, airtight.accuracy, airtight.best_gain, airtight.solve_weights):
        reads.clear()
        verb(path)
        assert len(reads) == 1, verb


def colluders(colluding, **values):
    return airtight.InferenceSystem(
        **BASE | {"devices": 4, "participation": 0.8, "clip": 1.0, "adjacency": "silent", "noise_variance": [0.3, 0.4, 0.5, 0.6]},
        colluding=colluding, **values,
    )  # fmt: skip


def test_bounds_count_colluders_and_say_so():
    for colluding, said in ((2, "any 2 of the other 3 devices"), ([1, 2], "devices 1-2")):
        system = colluders(colluding)
        tree = airtight.bounds(system).to_dict()
        held = tree["inference"]["privacy"]["colluding"]
        assert held["devices"] == colluding and f"with the help of {said}." in tree["headline"][1]
        upper = [np.inf if each == "inf" else each for each in held["epsilon"]]
        np.testing.assert_array_equal(upper, airtight.epsilon(system))
        assert np.all(np.array(held["lower"]) <= upper)
        claim, alone = (tree, airtight.bounds(colluders(0)).to_dict())
        published = [each["inference"]["privacy"]["published"] for each in (claim, alone)]
        assert published[0] == published[1]  # the theorem knows no colluders
        worst = alone["inference"]["worst_case"]
        del worst["any_scheme"]  # a limit is that of a guarantee without partners
        assert tree["inference"]["worst_case"] == worst
        assert set(tree["inference"]["privacy"]["proven"]["epsilon"]) == {"inf"}
    assert "colluding" not in alone["inference"]["privacy"]


def test_named_colluders_are_no_reason_to_call_a_system_private_or_not():
    verdict = airtight.bounds(colluders([3])).to_dict()["headline"][0]
    assert "PRIVATE (epsilon" in verdict and "no finite" not in verdict and "worst device 0" in verdict


def test_card_says_who_helps_the_server_and_leaves_out_a_curve_where_no_set_is_the_worst():
    card = Card.of(SystemFile(name="s", inference=colluders([1])))
    assert card.systems[0].device == 0 and "This holds even with the help of device 1," in " ".join(card.systems[0].sentences)
    unordered = colluders(1).replace(participation=[1.0, 0.9, 0.8, 0.7])
    assert Card.of(SystemFile(name="s", inference=unordered)).systems[0].advantage is None
    assert Card.of(SystemFile(name="s", inference=colluders(1))).systems[0].advantage is not None


def test_colluders_replace_those_of_the_system():
    system = colluders(0)
    assert np.array_equal(airtight.epsilon(system, colluding=2), airtight.epsilon(colluders(2)))
    assert np.array_equal(airtight.delta(colluders([1]), 0.5, colluding=0), airtight.delta(system, 0.5))
    assert pickle.loads(pickle.dumps(colluders([2, 1]))) == colluders([1, 2])


def test_a_named_partner_is_no_device_of_a_budget(tmp_path: Path):
    """Nothing is claimed of it, in epsilon over rounds, its plot, its verdict and the quantiles over a channel."""
    system = airtight.InferenceSystem(
        devices=4, participation=[0.6, 0.9, 0.8, 0.7], noise_variance=[0.4, 1.2, 0.8, 0.6], weight=0.25, clip=1.0,
        alignment=1.0, receiver_noise_variance=0.2, dimension=8, delta=1e-5, adjacency="silent", colluding=[1],
    )  # fmt: skip
    found = airtight.epsilon_over_rounds(system, [1, 5], budget=50.0)
    assert found.rounds_within == {"participants": 5, "others": 5, "signal": 5} and "helps" not in found.headline[0]
    assert "with the help of device 1" in found.headline[0] and np.all(np.isfinite(found.worst("others")))
    assert "colluding = device 1" in set(found.to_frame().quantity)
    bounds = airtight.bounds(system)
    assert "colluding = [1]" in set(bounds.to_frame().quantity) and "Device 1" not in bounds.plot().get_title()
    over = system.replace(channel=airtight.Channel(fading="rayleigh", antennas=2, states=4))
    quantiles = airtight.bounds(over).to_dict()["inference"]["channel"]["epsilon_quantiles"]
    assert all(each[1] == "inf" and each[0] != "inf" for each in quantiles.values())
    any_one = airtight.bounds(over.replace(colluding=1)).to_dict()["inference"]
    assert not {"epsilon_quantiles", "fading"} & any_one["channel"].keys()
    np.testing.assert_array_equal(any_one["privacy"]["colluding"]["epsilon"], airtight.epsilon(over, colluding=1))
    seldom = system.replace(participation=[1e-6, 0.9, 1e-6, 1e-6], delta=1e-3)
    assert not any(line.startswith("PRIVATE") for line in airtight.bounds(seldom).headline)
    with pytest.raises(airtight.ParameterError, match="colluding"):
        airtight.minimax_error(system)
