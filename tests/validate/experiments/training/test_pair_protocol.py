"""Algorithm 3 as messages: bits as counted, fair leaders, what the server sees, and what lying clients and servers do."""

import numpy as np
import pytest

pytest.importorskip("cryptography")

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import communication, quantizers
from airtight.validate.experiments.training import pair_protocol
from airtight.validate.experiments.training.pair_protocol import Conduct, run

ZERO = np.zeros((4, 40))


def round_of(seed, updates=ZERO, **settings):
    return run(updates, epsilon=1.0, bits=3, rng=np.random.default_rng(seed), **settings)


def leaders(conduct, **settings):
    """How often client 0 leads."""
    outcomes = (round_of(seed, np.zeros((2, 1)), conduct={0: conduct}, **settings) for seed in range(200))
    return np.mean([outcome.leads[0, 1] == 0 for outcome in outcomes])


@pytest.mark.parametrize("clients, parameters", [(2, 8), (6, 40), (10, 24)])
def test_the_bits_are_those_that_are_counted(clients, parameters):
    outcome, cost = round_of(0, np.zeros((clients, parameters))), communication.stream(clients, parameters, bits=3)
    for k in range(clients):
        assert {**vars(cost), "beyond": 2 * (8 + 128) + 128} == outcome.bits(k)


def test_one_honest_coin_makes_the_leader_fair_unless_the_other_waits_for_it():
    assert abs(leaders(Conduct.HONEST) - 0.5) < 0.15
    assert leaders(Conduct.LEADS) == 1
    assert abs(leaders(Conduct.LEADS, committed=True) - 0.5) < 0.15


def test_the_pair_cancels_as_the_law_says():
    x, y, runs = 0.6, -0.2, 4000
    outcome = round_of(1, np.array([[x] * runs, [y] * runs]))
    plus = (outcome.outputs > 0).astype(int)
    joint = np.histogram2d(*plus, bins=2)[0] / runs
    law = quantizers.pair_law(x, y, epsilon=1.0, bits=3)
    assert np.max(np.abs(joint - law)) < 4 * np.sqrt(0.25 / runs)


def test_the_server_sees_who_leads_and_lengths_that_do_not_depend_on_what_is_sealed():
    """Z of honest leaders, and Z = 0: a simulator who draws the leaders and seals zeros has the same messages and lengths."""
    seen = []
    for conduct in ({}, dict.fromkeys(range(4), Conduct.CONSTANT)):
        outcome = round_of(2, conduct=conduct)
        assert {m.sender for m in outcome.transcript if m.kind == "shared"} == set(outcome.leads.values())
        seen.append([(m.kind, len(m.content)) for m in outcome.transcript])
    assert seen[0] == seen[1]


def test_what_is_sealed_is_the_bits_and_a_keystream_that_is_used_once():
    """Under one key the texts differ by as much as what is sealed: with a uniform keystream each is uniform, whatever Z is."""
    relays = [pair_protocol._Relay(2, np.random.default_rng(3), active=False) for _ in range(2)]
    texts = [np.random.default_rng(k).bytes(15) for k in range(2)]
    for relay, text in zip(relays, texts, strict=True):
        assert relay.send(0, 1, "shared", text) == text
    sealed = [relay.transcript[-1].content[: -pair_protocol.TAG_BYTES] for relay in relays]
    assert bytes(a ^ b for a, b in zip(*sealed, strict=True)) == bytes(a ^ b for a, b in zip(*texts, strict=True))
    for kind, ends in (("coin", (0, 1)), ("shared", (1, 0))):  # another message has another key
        relays[0].send(*ends, kind, texts[0])
        assert relays[0].transcript[-1].content[:15] != sealed[0]


def test_an_active_server_reads_all_unless_keys_are_pinned():
    outcome = round_of(4, active_server=True)
    read = {tuple(sorted((m.sender, m.receiver))): m.content for m in outcome.read if m.kind == "shared"}
    assert outcome.shared.keys() == read.keys()
    for pair, z in outcome.shared.items():
        assert np.array_equal(pair_protocol._unpacked(read[pair], 40, 3), z)
    refusing = round_of(4, active_server=True, pinned=True)
    assert not refusing.read and np.all(np.isnan(refusing.outputs)) and not round_of(4, pinned=True).read


def test_a_leader_that_lies_settles_its_partners_output():
    """With Z = 0 the follower's output says on which side of a threshold its update is; a Z of both is uniform again."""
    updates = np.zeros((2, 2000))
    updates[1] = 0.5
    lying = round_of(5, updates, conduct={0: Conduct.LEADS}).shared[0, 1]
    assert np.unique(lying).size == 8
    for committed, values in ((False, 1), (True, 8)):
        outcome = round_of(6, updates, conduct=dict.fromkeys((0, 1), Conduct.CONSTANT), committed=committed)
        assert np.unique(outcome.shared[0, 1]).size == values
        follower = 1 - outcome.leads[0, 1]
        assert (np.unique(outcome.outputs[follower]).size == 1) is not committed


@pytest.mark.parametrize("conduct", [Conduct.GONE, Conduct.GARBLES])
def test_who_has_no_partner_quantizes_alone(conduct):
    outcome = round_of(7, conduct=dict.fromkeys(range(0, 4, 2), conduct))
    assert set(outcome.alone) <= set(range(4)) and (outcome.alone or conduct is Conduct.GARBLES)
    gone = {k for k in (0, 2) if conduct is Conduct.GONE}
    assert {k for k in range(4) if np.isnan(outcome.outputs[k]).any()} == gone
    assert not any(pair in outcome.shared for pair, lead in outcome.leads.items() if lead in (0, 2))


@pytest.mark.parametrize("updates", [np.zeros((3, 4)), np.zeros(4), np.full((2, 2), 1.5)])
def test_refusals(updates):
    with pytest.raises(ParameterError):
        round_of(0, updates)
