"""The page's controls of a channel: its states and its epsilon against Python's for the same states, and against enumeration."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from py_mini_racer import MiniRacer
from scipy import optimize
from support.browser import CHROMIUM, Browser

from airtight import Channel, InferenceSystem
from airtight.analytics.inference.fading import Fading
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.report import live, page
from airtight.results import numerals
from airtight.results.bounds import Bounds
from airtight.results.inference_results import Privacy
from airtight.system_file.config import load

LAWS = (
    {"fading": "rayleigh"},
    {"fading": "rician", "k_factor": 3.0},
    {"fading": "rician", "k_factor": 250.0},
    {"fading": "nakagami", "shape": 0.5},
    {"fading": "nakagami", "shape": 40.0},
    {"fading": "lognormal", "shadowing_db": 8.0},
    {"fading": "none"},
)
CHANNELS = tuple(Channel(**law) for law in LAWS)
SYSTEM = {
    "devices": 5, "participation": 1.0, "noise_variance": 0.1, "weight": 0.3, "clip": 1.0, "alignment": 1.0,
    "receiver_noise_variance": 0.1, "dimension": 16, "delta": 1e-5, "adjacency": "silent",
}  # fmt: skip


class Page:
    """The page's script in an engine of its own."""

    def __init__(self, changed=lambda text: text, channels=CHANNELS):
        self._engine = MiniRacer()
        self._engine.eval(changed(live.script(channels)) + ";0")

    def value(self, expression):
        found = json.loads(self._engine.eval(f"JSON.stringify([{expression}], (_, x) => x === Infinity ? 'inf' : x)"))
        return float("inf") if found[0] == "inf" else found[0]

    def drawn(self, start):
        parts = "re: Array.from(re), im: Array.from(im), present"
        states = f"airtight.finished(airtight.drawn({json.dumps(start)}))"
        return self.value(f"{states}.map(({{ re, im, present }}) => ({{ {parts} }}))")

    def epsilon(self, start):
        return self.value(f"airtight.finished(airtight.greatestEpsilon({json.dumps(start)})).value")

    def over_rounds(self, start):
        text = json.dumps(start)
        run = "airtight.finished(airtight.overRoundsAndStates(s, airtight.finished(airtight.greatestEpsilon(s)), {}))"
        found = f"((s) => {{ const r = {run}; return [r.value, r.above()]; }})({text})"
        return self.value(found)

    def device(self, start):
        return self.value(f"airtight.finished(airtight.greatestEpsilon({json.dumps(start)})).law.device")


def test_every_law_is_tried_and_offered() -> None:
    assert {law["fading"] for law in LAWS} == {example.fading for example in live.EXAMPLES} == set(Fading)


EXTREME = ({"fading": "rician", "k_factor": 0.0}, {"fading": "rician", "k_factor": 1e4}, {"fading": "nakagami", "shape": 1e6})


@pytest.mark.parametrize("law", [*LAWS[:-1], *EXTREME], ids=lambda law: " ".join(map(str, law.values())))
def test_the_gains_of_a_law_are_its_quantiles_to_nine_digits(law):
    """At uniform numbers as a generator draws them, rare ones too; and the chance of more than a gain to 1e-9."""
    channel, u = Channel(**law), np.random.default_rng(0).random(3000)
    u[:1000] = np.ldexp(np.rint(np.ldexp(u[:1000] * 1e-6, 53)), -53)
    page = Page(channels=[channel])
    start = json.dumps({"law": live.law_text(channel)})
    found = page.value(f"{json.dumps(u.tolist())}.map((u) => airtight.gainAbove({start}, u, 0))")
    gains = channel.power_gain.drawn_above(u, np.zeros(()), np.ones(()))
    np.testing.assert_allclose(found, gains, rtol=1e-9)
    asked = gains[::50]
    chances = page.value(f"{json.dumps(asked.tolist())}.map((gain) => Math.exp(-airtight.hazard({start}, gain)))")
    np.testing.assert_allclose(chances, channel.power_gain.exceeds(asked), rtol=1e-8)


@pytest.fixture(scope="module")
def script():
    return Page()


def begun(system, channel, *, observer="participants", rounds=1):
    """What the page is given for a system over a channel, with the participation that a power limit decides."""
    made = live.start("it", system.derived(channel=channel), Privacy.of(InferenceSystem(**SYSTEM)))
    return {**made, "observer": observer, "rounds": rounds}


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: " ".join(map(str, law.values())))
def test_the_states_are_those_of_the_channel(script, law, limited):
    """Every coefficient, and who sends, for the file's own seed: NumPy's generator and SciPy's quantiles."""
    for seed, antennas in ((0, 1), (7, 4)):
        power = {"max_power": 2.5 if law["fading"] != "none" else 1.7} if limited else {}
        channel = Channel(**law, **power, antennas=antennas, states=20, seed=seed, model="complex")
        system = channel.with_participation(InferenceSystem(**SYSTEM))
        start, states = begun(system, channel), channel.draw(system)
        decided = script.value(f"airtight.decided({json.dumps(start)})")
        assert decided["participation"] == pytest.approx(system.participation[0], rel=1e-12)
        page_states = script.drawn(decided)
        found = np.array([each["re"] for each in page_states]) + 1j * np.array([each["im"] for each in page_states])
        np.testing.assert_allclose(found.reshape(states.coefficients.shape), states.coefficients, rtol=1e-9)
        sends = np.ones((20, 5), dtype=bool) if states.sends is None else states.sends
        np.testing.assert_array_equal([each["present"] for each in page_states], sends)


def settings(count, seed):
    """Random systems over random channels, every law, adjacency and observer."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        limited = rng.random() < 0.25
        law = LAWS[rng.integers(len(LAWS) - 1)]
        noise, clip = np.exp(rng.uniform(np.log(0.01), np.log(3.0), 2)).tolist()
        system = InferenceSystem(
            devices=int(rng.integers(2, 8)),
            participation=float(rng.choice([1.0, rng.uniform(0.05, 1.0)])),
            noise_variance=noise,
            weight=0.3,
            clip=clip,
            alignment=float(np.exp(rng.uniform(-1, 1))),
            receiver_noise_variance=float(np.exp(rng.uniform(-5, 1))),
            dimension=2 * int(rng.integers(1, 20)),
            delta=float(10 ** rng.uniform(-8, -2)),
            adjacency=("silent", "replace", "absent")[i % 3],
            idle_noise=bool(not limited and rng.random() < 0.3),
        )
        channel = Channel(
            **law,
            antennas=int(rng.integers(2, 9)),
            model=("real", "complex")[int(rng.integers(2))],
            states=30,
            seed=int(rng.integers(1000)),
            max_power=float(np.exp(rng.uniform(1, 4))) * (0.1 + system.alignment**2 * noise * system.dimension)
            if limited
            else None,
        )
        observer = "others" if system.adjacency == "absent" else ("participants", "others", "signal")[i // 3 % 3]
        yield channel.with_participation(system), channel, observer


def test_epsilon_is_that_of_bounds_for_the_same_states(script):
    """Within Python's proved ends, which are close to each other where the set of participants is not random; else 2e-5 above."""
    for system, channel, observer in settings(15, 0):
        start = script.value(f"airtight.decided({json.dumps(begun(system, channel, observer=observer))})")
        lower = channel_privacy.bracket(system, channel, observer="others" if observer == "signal" else observer).lower
        upper = channel_privacy.bracket(system, channel, observer=observer).upper
        found = script.epsilon(start)
        grid = 2e-5 if channel.max_power is None and system.participation[0] < 1 else 1e-9
        assert np.max(lower) * (1 - 1e-9) <= found <= np.max(upper) * (1 + grid), (system, channel, observer)


def mean_delta(system, channel, device, epsilon):
    """delta of `silent` and `replace`, participants seen: the mean over states and sets, each v from the matrix of its set."""
    states, p, total = channel.draw(system).coefficients, float(system.participation[0]), 0.0
    noise, K = system.received_noise_variance, system.devices
    others = [j for j in range(K) if j != device]
    for a in states:
        for there in itertools.product((0, 1), repeat=K - 1):
            V = system.receiver_noise_variance * np.eye(a.shape[1], dtype=a.dtype)
            for j, present in zip(others, there, strict=True):
                V = V + present * noise[j] * np.outer(a[j], a[j].conj())
            v = 1 / np.real(a[device].conj() @ np.linalg.solve(V, a[device]))
            chance = p ** sum(there) * (1 - p) ** (K - 1 - sum(there)) / len(states)
            sigma = math.sqrt(v + noise[device])
            total += chance * float(gaussian.delta(epsilon, sensitivity=float(system.sensitivity[device]), sigma=sigma))
    return p * total


@pytest.mark.parametrize(
    ("adjacency", "model", "participation", "law"),
    [("silent", "real", 0.6, LAWS[0]), ("replace", "complex", 0.3, LAWS[1]), ("silent", "complex", 1.0, LAWS[3])],
)
def test_epsilon_by_enumeration(script, adjacency, model, participation, law):
    """The least epsilon at which the mean of delta over states and sets is kept; the page lies above it, by 1e-6 at most."""
    system = InferenceSystem(
        **{**SYSTEM, "devices": 6, "participation": participation, "adjacency": adjacency, "clip": 3.0}
    )
    channel = Channel(**law, antennas=3, model=model, states=10)
    start = begun(system, channel)
    device = script.device(start)
    truth = optimize.brentq(lambda eps: np.log(mean_delta(system, channel, device, eps) / 1e-5), 0.1, 50.0, xtol=1e-11)
    assert truth * (1 - 1e-9) <= script.epsilon(start) <= truth * (1 + 1e-6)


BROKEN = {
    "the share that a device takes of the others": (
        "noise / (length * (1 + length))",
        "noise / (length * (1.001 + length))",
    ),
    "the imaginary part for real codes": ("y *= real ? 0 : share", "y *= share"),
    "the device counts as one of the others": ("for (const k of [...others.slice(i + 1), ...own])", "for (const k of own)"),
    "the mean of epsilon instead of delta": (
        "let found = { value: yield* oneQuery(s, order[0]), law: order[0] };",
        "let found = { value: 0, law: order[0] }; const alone = { weights: [0] }; for (const law of order) { "
        "const each = Array.from(law.noise, (v) => finished(oneQuery(s, { ...law, ...alone, noise: [v] }))); "
        "const value = each.reduce((sum, x, i) => sum + Math.exp(law.weights[i]) * x, 0); "
        "if (value > found.value) found = { value, law }; } return { ...found, laws };",
    ),
    "participation amplifies though the channel shows it": (
        "if (limited(s)) return [false, true]",
        "if (false) return [false, true]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_seen(script, name):
    old, new = BROKEN[name]
    assert live.script().count(old) == 1
    broken = Page(lambda text: text.replace(old, new))
    limited = "participation" in name
    channel = Channel(**LAWS[0], antennas=4, states=30, max_power=3.0 if limited else None)
    system = channel.with_participation(InferenceSystem(**{**SYSTEM, "adjacency": "absent" if limited else "silent"}))
    start = begun(system, channel, observer="others" if limited else "participants")
    true, wrong = (
        each.epsilon({**start, "participation": float(system.participation[0])}) for each in (script, broken)
    )
    lower, upper = channel_privacy.bracket(system, channel, observer=start["observer"])[:2]
    assert np.max(lower) * (1 - 1e-9) <= true <= np.max(upper) * (1 + 1e-9)
    assert not np.max(lower) * (1 - 1e-9) <= wrong <= np.max(upper) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("adjacency", "observer", "changes", "setting"),
    [
        ("silent", "participants", {}, {}),
        ("replace", "participants", {"participation": 0.7}, {}),
        ("absent", "others", {"dimension": 2}, {}),
        ("silent", "others", {"participation": 0.7, "idle_noise": True}, {}),
        ("silent", "participants", {}, {"max_power": 3.0}),
        ("silent", "participants", {}, {"fresh": False}),
        ("absent", "others", {"dimension": 2}, {"max_power": 3.0, "fresh": False}),
        ("absent", "participants", {}, {"max_power": 3.0, "fresh": False}),
    ],
)
def test_many_queries_are_never_shown_below_the_truth(script, adjacency, observer, changes, setting):
    """T = 6: above Python's lower end, and no farther above its upper one than the page says."""
    channel = Channel(**LAWS[0], **setting, antennas=3, model="complex", states=20)
    system = channel.with_participation(InferenceSystem(**{**SYSTEM, **changes, "adjacency": adjacency}))
    start = script.value(f"airtight.decided({json.dumps(begun(system, channel, observer=observer, rounds=6))})")
    found, above = script.over_rounds(start)
    which = None if setting.get("fresh") is False else script.device(start)
    low, high = channel_privacy.bracket(system, channel, rounds=6, observer=observer, device=which)[:2]
    found = math.inf if found in ("inf", None) else found
    assert (
        np.max(low) * (1 - 1e-9) <= found <= np.max(high) * (1 + 3 * above + 2e-6) or found == np.max(high) == math.inf
    )


def test_one_antenna_without_fading_is_the_page_of_one_look(script):
    for adjacency, observer in itertools.product(("silent", "replace", "absent"), ("participants", "others")):
        system = InferenceSystem(**{**SYSTEM, "participation": 0.8, "adjacency": adjacency})
        start = begun(system, None, observer=observer)
        plain = {name: start[name] for name in (*SYSTEM, "idle_noise", "observer")}
        known = script.value(f"airtight.epsilon({json.dumps(plain)})")
        assert script.epsilon(start) == known
        many = {**start, "antennas": 4}  # all receive the same: a quarter of the receiver's noise
        quarter = {**plain, "receiver_noise_variance": 0.025}
        assert script.epsilon(many) == script.value(f"airtight.epsilon({json.dumps(quarter)})")


def test_epsilon_rises_with_antennas_to_the_own_noise_alone(script):
    system = InferenceSystem(**{**SYSTEM, "participation": 0.8})
    for observer in ("participants", "others"):
        start = begun(system, Channel(**LAWS[0], states=30, model="complex"), observer=observer)
        values = [script.epsilon({**start, "antennas": m}) for m in (1, 2, 4, 8, 16)]
        limit = script.value(f"airtight.finished(airtight.limitOfAntennas({json.dumps(start)}))")
        assert values == sorted(values) and values[-1] < limit
        own = gaussian.epsilon(1e-5 / 0.8, sensitivity=0.3, sigma=math.sqrt(0.1))
        assert limit == pytest.approx(float(own), rel=1e-9)
        low = script.epsilon({**start, "antennas": 2, "receiver_noise_variance": 0.0})
        assert low == pytest.approx(limit, rel=1e-9)


def test_what_is_not_served_is_refused(script):
    def refused(values):
        return script.value(f"airtight.refusal({json.dumps(values)})")

    system = InferenceSystem(**{**SYSTEM, "devices": 13, "participation": 0.5})
    start = begun(system, Channel(**LAWS[0], antennas=2))
    assert "too many" in refused(start) and refused({**start, "participation": 1.0}) == ""
    assert refused({**start, "idle_noise": True}) == "" and refused({**start, "antennas": 1}) == ""
    assert "idle noise" in refused({**start, "max_power": 1.0, "idle_noise": True})
    later = {**start, "rounds": 2, "fresh": False}
    assert script.value(f"airtight.lastingRefused({json.dumps(later)})") is True
    assert script.value(f"airtight.lastingRefused({json.dumps({**later, 'participation': 1.0})})") is False
    assert "power_limit" in live.unserved(Channel(**LAWS[0], max_power=1.0, power_limit="long_term"))
    assert live.unserved(Channel(**LAWS[0], max_power=1.0)) == ""
    assert "file" in live.unserved(Channel(looks=np.ones((1, 5, 2))))
    assert "csi_error" in live.unserved(Channel(csi_error=0.1)) and "antennas" in live.unserved(Channel(antennas=17))
    assert live.unserved(Channel(antennas=16, **LAWS[0])) == ""


def test_states_of_a_million_devices_are_not_drawn(script):
    system = InferenceSystem(**{**SYSTEM, "devices": 10**6})
    start = live.start("it", system, Privacy.of(InferenceSystem(**SYSTEM)))
    asked = {**start, "antennas": 2, "law": live.law_text(CHANNELS[0])}
    assert start["streams"] is None and "too many" in script.value(f"airtight.refusal({json.dumps(asked)})")


def test_in_what_the_controls_differ_from_the_file():
    privacy = Privacy.of(InferenceSystem(**SYSTEM))

    def differs(channel, **changes):
        made = live.start("it", InferenceSystem(**{**SYSTEM, **changes}).derived(channel=channel), privacy)
        return "; ".join(made["differs"])

    few = Channel(states=20, antennas=2, **LAWS[0])
    assert differs(None) == differs(few) == ""
    assert "each as device 0" in differs(few, clip=[1.0, 2.0, 1.0, 1.0, 1.0])
    assert "200 of the 500 states" in differs(replace(few, states=500))
    assert "1000 rounds at most" in differs(None, rounds=2000)
    assert "who knows the channel" in differs(replace(few, known=False))
    assert differs(replace(few, mean_power=[1.0, 2.0, 1.0, 1.0, 1.0])) == ""  # inversion undoes it
    assert "each as device 0" in differs(replace(few, max_power=1.0, mean_power=[1.0, 2.0, 1.0, 1.0, 1.0]))


FILE = """[inference]
devices = 4
participation = 0.8
noise_variance = 0.1
weight = 0.3
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.1
dimension = 8
delta = 1e-5
adjacency = "silent"
rounds = 3
[inference.channel]
antennas = 2
fading = "rayleigh"
states = 30
"""
TEXTS = """(() => { const at = (id) => document.getElementById("live-" + id).textContent;
  const names = ["exact", "rounds", "whom", "refused", "few-said", "agreement", "theorem1", "whose", "scope"];
  return Object.fromEntries(names.map((id) => [id, at(id)])); })()"""
SET = """(([id, value, event]) => { const each = document.getElementById("live-" + id);
  if (each.type === "checkbox") each.checked = value; else each.value = value;
  each.dispatchEvent(new Event(event)); })"""
SETTLED = """new Promise((done) => { const look = () => { const at = (id) => document.getElementById("live-" + id).textContent;
  if (at("exact") !== "…" && at("rounds") !== "…" && (at("few-said") || at("exact") === "–")) done(true);
  else setTimeout(look, 20); }; look(); })"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_controls_in_a_browser(tmp_path):
    """As a file, under its policy: it opens at the report's numbers, and every number of its own is rounded up."""
    (tmp_path / "system.toml").write_text(FILE)
    description = load(tmp_path / "system.toml", channel=True)
    bounds = Bounds.of(description)
    page.write(tmp_path / "out", page.Parts(description, bounds, FILE))
    (system,) = description.systems.values()
    channel = system.channel
    with Browser(tmp_path / "profile") as browser:
        browser.open((tmp_path / "out" / "index.html").as_uri())

        def told(*move):
            if move:
                browser.run(f"{SET}({json.dumps(move)})")
            browser.run(SETTLED)
            return browser.run(TEXTS)

        def shown_above(text, system, channel, observer="participants"):
            lower, upper = channel_privacy.bracket(system, channel, observer=observer)[:2]
            last = 10 ** (math.floor(math.log10(float(text))) - 3)
            return np.max(lower) <= float(text) <= np.max(upper) * (1 + 1e-9) + last

        found, privacy = told(), bounds.inference.privacy
        assert found["exact"] == numerals.plain(float(np.max(privacy.asked_once)))
        assert found["rounds"] == numerals.plain(float(np.max(privacy.asked)))
        worst = int(np.argmax(privacy.asked_once))
        assert found["whose"] == f"worst device {worst}" and found["scope"].startswith("The file's own system")
        assert "silent" in found["whom"] and "y and who takes part, at 2 antennas in 30 states" in found["whom"]
        assert found["agreement"].startswith("They agree") and found["theorem1"] == "–" and found["refused"] == ""
        assert f"2: {found['exact']}," in found["few-said"] and "silent" in found["few-said"]
        found = told("antennas", "8", "change")
        assert shown_above(found["exact"], system, replace(channel, antennas=8)) and found["scope"].startswith("Computed")
        found = told("observer", "others", "change")
        assert shown_above(found["exact"], system, replace(channel, antennas=8), "others")
        assert "who of the others takes part" in found["whom"]
        found = told("fading", 'fading = "rician", k_factor = 10.0', "change")
        other = replace(channel, antennas=8, fading="rician", k_factor=10.0)
        assert shown_above(found["exact"], system, other, "others")
        found = told("fresh", False, "change")
        assert found["rounds"] == "–" and "choose p = 1" in found["refused"]
        labelled = "(each) => each.labels.length + each.hasAttribute('aria-label') === 1"
        assert browser.run(f"[...document.querySelectorAll('#live select, #live input')].every({labelled})")
        assert not browser.told("Runtime.exceptionThrown") and not browser.told("Log.entryAdded")
        requests = [event["request"]["url"] for event in browser.told("Network.requestWillBeSent")]
        assert all(url.startswith("file:") for url in requests)
