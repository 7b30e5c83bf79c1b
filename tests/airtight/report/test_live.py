"""The page's sliders: its JavaScript against Python, in an engine of its own."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from py_mini_racer import MiniRacer
from scipy import special, stats
from support.live_page import LivePage

from airtight.analytics.guarantee import Adjacency, Observer
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import amplification, observers, rounds, system_privacy
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture import hidden_divergence
from airtight.report import live
from airtight.results import numerals
from airtight.results.inference_results import Privacy
from airtight.results.schema import as_json


@pytest.fixture(scope="module")
def script():
    engine = MiniRacer()
    engine.eval(live.script() + ";0")

    def run(expression):
        found = json.loads(engine.eval(f"JSON.stringify([{expression}].map((x) => isFinite(x) ? x : String(x)))"))[0]
        return float({"Infinity": "inf", "-Infinity": "-inf"}.get(found, found))

    return run


def systems(**fixed):
    def log(low, high):
        return st.floats(math.log(low), math.log(high)).map(math.exp)

    drawn = {
        "devices": st.integers(1, 40),
        "participation": st.floats(0.01, 1.0),
        "noise_variance": log(1e-3, 1e2),
        "weight": log(1e-2, 1.0),
        "clip": log(1e-2, 1e3),
        "alignment": log(1e-2, 1e2),
        "receiver_noise_variance": log(1e-3, 10.0),
        "dimension": log(1.0, 25088.0).map(round),
        "delta": log(1e-10, 1e-2),
        "delta_prime": st.just(1e-5),
        "adjacency": st.sampled_from(["absent", "silent", "replace"]),
        "idle_noise": st.booleans(),
    }
    return st.fixed_dictionaries({**drawn, **{name: st.just(value) for name, value in fixed.items()}})


@settings(max_examples=25, deadline=None)
@given(systems())
def test_exact_and_proven_epsilon(script, values):
    system, text = InferenceSystem(**values), json.dumps(values)
    for name, python in (
        ("epsilon", float(system_privacy.epsilon(system, device=0))),
        ("proven", float(amplification.proven(system).epsilon[0])),
    ):
        page = script(f"airtight.{name}({text})")
        assert page == pytest.approx(python, rel=1e-9, abs=1e-12), name


ALWAYS = {"devices": 1, "participation": 1.0, "noise_variance": 1.0, "weight": 1.0, "clip": 1.0, "alignment": 1.0}
ALWAYS |= {"receiver_noise_variance": 1.0, "dimension": 1, "delta": math.exp(-9.5), "delta_prime": 1e-5}
ALWAYS |= {"adjacency": "silent", "idle_noise": False}


@pytest.mark.parametrize(
    ("devices", "participation", "dimension", "adjacency"),
    [(60, 0.5, 64, "silent"), (100, 0.1, 784, "replace"), (300, 0.7, 20, "absent")],
)
def test_many_devices(script, devices, participation, dimension, adjacency):
    """Where the number of others is interpolated."""
    values = {**ALWAYS, "devices": devices, "participation": participation, "dimension": dimension, "weight": 0.3}
    values |= {"adjacency": adjacency, "receiver_noise_variance": 0.1, "delta": 1e-6}
    system, text = InferenceSystem(**values), json.dumps({**values, "observer": "others"})
    python = float(observers.exact_epsilon(system, device=0, observer="others"))
    assert script(f"airtight.epsilon({text})") == pytest.approx(python, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(systems(), st.sampled_from(["participants", "others", "signal"]))
@example(ALWAYS, "others")
def test_epsilon_for_an_observer(script, values, observer):
    system, text = InferenceSystem(**values), json.dumps({**values, "observer": observer})
    python = float(observers.exact_epsilon(system, device=0, observer=observer))
    assert script(f"airtight.epsilon({text})") == pytest.approx(python, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 64, 784, 25088])
def test_a_hidden_device(script, dimension):
    rng = np.random.default_rng(dimension)
    low, high = np.log([[1e-2, 1e-2, 1e-2, 1e-3], [30.0, 30.0, 1e2, 10.0]])
    eps, d, v, s = np.exp(rng.uniform(low, high, (100, 4))).T
    p = rng.uniform(0.01, 0.999, 100)
    for replace in (False, True):
        python, _, error = hidden_divergence.log_curve(eps, p, d, v, s, dimension=dimension, replace=replace)
        for i in np.flatnonzero((error < 1e-9) & (python > -200)):
            at = ", ".join(repr(float(x[i])) for x in (eps, p, d, v, s))
            assert script(f"airtight.hidden({at}, {dimension}, {json.dumps(replace)})") == pytest.approx(
                python[i], abs=1e-9
            )


@pytest.mark.parametrize(
    ("adjacency", "idle_noise", "observer", "queries", "devices"),
    [
        ("absent", False, "others", 20, 5),
        ("absent", False, "signal", 500, 5),
        ("absent", False, "participants", 3, 5),
        ("absent", True, "others", 7, 5),
        ("silent", True, "others", 1000, 5),
        ("silent", True, "participants", 200, 5),
        ("replace", True, "others", 50, 5),
        ("silent", False, "others", 30, 1),
        ("silent", False, "others", 7, 5),
        ("replace", False, "others", 4, 1),
        ("replace", False, "others", 300, 5),
        ("silent", False, "participants", 1000, 5),
        ("replace", False, "participants", 6, 5),
    ],
)
def test_many_queries_are_never_shown_below_the_truth(script, adjacency, idle_noise, observer, queries, devices):
    """Above Python's lower end, and no farther above its upper one than the page says; 10 % where one curve stands for two."""
    values = {
        "devices": devices,
        "participation": 0.7,
        "noise_variance": 0.3,
        "weight": 0.2,
        "clip": 1.0,
        "alignment": 1.0,
    }
    values |= {"receiver_noise_variance": 0.2, "dimension": 20, "delta": 1e-6, "delta_prime": 1e-6}
    system = InferenceSystem(**values, adjacency=adjacency, idle_noise=idle_noise)
    asked = {**values, "adjacency": adjacency, "idle_noise": idle_noise, "observer": observer, "rounds": queries}
    text = f"airtight.finished(airtight.overRounds({json.dumps(asked)}))"
    page, above = script(f"{text}.value"), script(f"{text}.above()")
    low, high = rounds.bracket(system, rounds=queries, device=0, observer=observer)
    assert 0 <= above < 0.003
    both = 0.1 if script(f"airtight.covered({json.dumps(asked)}) ? 1 : 0") and adjacency == "silent" else 0.0
    assert page == high == math.inf or low * (1 - 1e-9) <= page <= high * (1 + 3 * above + both + 1e-6)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 3.0), st.integers(2, 1000), st.floats(1e-10, 1e-3))
def test_many_gaussians_are_one(script, clip, queries, delta):
    """Idle noise and p = 1: the law on the grid against the closed form."""
    values = {"devices": 3, "participation": 1.0, "noise_variance": 0.3, "weight": 1.0, "clip": clip, "alignment": 1.0}
    values |= {"receiver_noise_variance": 0.1, "dimension": 9, "delta": delta, "adjacency": "absent"}
    text = json.dumps({**values, "idle_noise": True, "observer": "others", "rounds": queries})
    truth = float(gaussian.epsilon(delta, sensitivity=clip * math.sqrt(queries), sigma=1.0))
    page = script(f"airtight.finished(airtight.overRounds({text})).value")
    assert truth * (1 - 1e-9) <= page <= truth * 1.01


@settings(max_examples=80, deadline=None)
@given(systems())
def test_theorem_1_as_printed(script, values):
    system, text = InferenceSystem(**values), json.dumps({**values, "sigma": math.sqrt(values["noise_variance"])})
    for form in ("theorem1", "eq23"):
        claim = amplification.published(system, form=form)
        assert script(f"printed.t_{form}({text})") == pytest.approx(claim.t, rel=1e-12)
        assert script(f"printed.mean_noise({text})") == pytest.approx(claim.mean_noise, rel=1e-12)
        if not claim.vacuous and 1e-6 < claim.epsilon[0] < 600:
            room = 1e-14 * claim.mean_noise / (claim.mean_noise - claim.t) + 1e-9
            assert script(f"printed.epsilon_{form}({text})") == pytest.approx(claim.epsilon[0], rel=room)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 1000), st.floats(0.02, 1.0), st.floats(0.01, 3.0), st.floats(1e-10, 1e-3))
def test_many_queries_are_a_mixture_of_gaussians(script, rounds, p, mu, delta):
    """One device alone: after T queries it has sent Binomial(T, p) times, and delta is the mean over that."""
    values = {
        **ALWAYS,
        "participation": p,
        "clip": mu,
        "receiver_noise_variance": 0.0,
        "delta": delta,
        "rounds": rounds,
    }
    page = script(f"airtight.finished(airtight.overRounds({json.dumps(values)})).value")
    sent = np.arange(1, rounds + 1)

    def mean_delta(epsilon):
        each = gaussian.delta(epsilon, sensitivity=mu * np.sqrt(sent), sigma=1.0)
        return float(stats.binom.pmf(sent, rounds, p) @ each)

    assert mean_delta(page) <= delta * (1 + 1e-9)
    assert page < 1e-3 or mean_delta(page * 0.999) >= delta


def test_the_scaled_error_function(script):
    for x in [*np.linspace(-5, 10, 200), *np.geomspace(10, 1e8, 50)]:
        assert script(f"airtight.erfcx({float(x)!r})") == pytest.approx(float(special.erfcx(x)), rel=1e-12)


def test_a_changed_constant_is_seen(script):
    engine = MiniRacer()
    engine.eval(live.script().replace("const SINE = 0.5", "const SINE = 0.501") + ";0")
    values = {"devices": 12, "participation": 0.9, "noise_variance": 0.1, "weight": 1 / 12, "clip": 3.0}
    values |= {"alignment": 1.0, "receiver_noise_variance": 0.1, "dimension": 784, "delta": 1e-5, "adjacency": "absent"}
    text = json.dumps({**values, "idle_noise": False})
    assert engine.eval(f"airtight.epsilon({text})") != pytest.approx(script(f"airtight.epsilon({text})"), rel=1e-9)


@pytest.mark.parametrize("idle_noise", [False, True])
@pytest.mark.parametrize("observer", ["participants", "others", "signal"])
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_what_is_proven_is_proven_for_the_observer_that_is_shown(script, adjacency, observer, idle_noise):
    values = {"devices": 5, "participation": 0.8, "noise_variance": 0.5, "weight": 0.2, "clip": 2.0, "alignment": 1.0}
    values |= {
        "receiver_noise_variance": 0.3,
        "dimension": 6,
        "delta": 1e-5,
        "adjacency": adjacency,
        "idle_noise": idle_noise,
    }
    text = json.dumps({**values, "observer": observer})
    assert script(f"airtight.proven({text})") >= script(f"airtight.epsilon({text})") * (1 - 1e-9)


CHANNELS = {
    "none": None,
    "two antennas": Channel(antennas=2, fading="rayleigh", model="complex", states=12),
    "a power limit": Channel(antennas=2, fading="rayleigh", states=12, max_power=3.0, distance=[1.0, 1.1, 1.2]),
    "an inversion with an error": Channel(antennas=2, fading="rayleigh", states=12, csi_error=0.01),
    "coefficients of a file": Channel(looks=np.random.default_rng(0).normal(size=(5, 3, 2))),
    "alike antennas": Channel(antennas=4),
    "an observer who does not know it": Channel(antennas=2, fading="rayleigh", states=12, known=False),
}


def unlike(seed, channel=None, **fixed):
    """A system of three unlike devices."""
    rng = np.random.default_rng(seed)
    adjacency = list(Adjacency)[seed % 3]
    values = {
        "participation": rng.uniform(0.3, 1.0, 3),
        "noise_variance": rng.uniform(0.05, 0.5, 3),
        "weight": rng.uniform(0.1, 0.5, 3),
        "clip": rng.uniform(0.5, 4.0, 3),
        "alignment": rng.uniform(0.5, 2.0),
        "receiver_noise_variance": rng.uniform(0.05, 0.5),
        "dimension": 2 * int(rng.integers(1, 20)),
        "delta": 10.0 ** -int(rng.integers(3, 8)),
        "adjacency": adjacency,
        "idle_noise": bool(seed % 2) and channel is None,
        "observer": list(Observer)[seed % 4] if channel is None else Observer.AUTO,
        **fixed,
    }
    if channel is not None and channel.decides_participation:
        del values["participation"]
    return InferenceSystem(devices=3, channel=channel, **values)


OPENED = [
    *(unlike(seed, rounds=rounds) for seed, rounds in ((1, 4), (2, 1), (3, 4), (4, 1), (7, 2000))),
    *(unlike(2 * i, channel) for i, channel in enumerate(CHANNELS.values()) if channel is not None),
    unlike(1, CHANNELS["two antennas"], rounds=2, participation=1.0),
    InferenceSystem(**{**ALWAYS, "devices": 4, "participation": 0.5, "rounds": 3}),
    InferenceSystem(**{**ALWAYS, "devices": 4, "participation": 0.0}),
    InferenceSystem(**{**ALWAYS, "noise_variance": 0.0, "receiver_noise_variance": 0.0}),
]


def shows(element, epsilon, page):
    """Whether an element shows the greatest epsilon as the report does, with all digits of report.json in its title."""
    greatest = float(np.max(epsilon))
    return page[element] == numerals.rounded_up(greatest).replace("infinite", "∞") and page.title(element) == as_json(greatest)


@pytest.mark.parametrize("system", OPENED)
def test_the_page_opens_at_the_numbers_of_the_report(system):
    privacy = Privacy.of(system)
    page = LivePage([live.start("it", system, privacy)])
    assert shows("exact", privacy.asked_once, page) and shows("rounds", privacy.asked, page)
    for element, worst in (("whose", privacy.asked_once), ("why", privacy.asked)):
        assert page[element].endswith("every device" if np.all(worst == worst[0]) else f"device {np.argmax(worst)}")
    assert f"T = {numerals.plain(system.rounds)}; " in page["why"]
    if channel_privacy.adds_nothing(system):
        assert shows("theorem1", privacy.published.theorem1.epsilon, page)
        assert shows("eq23", privacy.published.eq23.epsilon, page)
        assert float(page.title("proven")) >= float(page.title("exact"))
    else:
        assert page["theorem1"] == page["eq23"] == page["proven"] == "–"
    alike = all(np.ptp(getattr(system, name)) == 0 for name in ("participation", "noise_variance", "weight", "clip"))
    low, high = np.min(system.clip), np.max(system.clip)
    shown = numerals.plain(low) if low == high else f"{numerals.plain(low)} to {numerals.plain(high)}"
    assert page["value-clip"] == shown and page["value-dimension"] == numerals.plain(system.dimension)
    assert page["scope"].startswith("The file's own system") and page.hidden("back")
    assert ("unlike" in page["scope"]) is (not alike) is page.label("slider-clip").endswith("all devices alike")


def opened(system):
    return LivePage([live.start("it", system, Privacy.of(system))])


def test_a_control_that_makes_devices_alike_says_so_before_a_number_changes():
    system = unlike(1, CHANNELS["two antennas"], participation=1.0, adjacency="silent")
    worst = int(np.argmax(system_privacy.epsilon(system)))
    page = opened(system)
    at_first = page["exact"]
    said = f"all devices alike, each as device {worst}, the least protected of the file"
    assert said in page["kept"] and said not in page["scope"] and page.hidden("figures")
    assert page.label("slider-clip") == "clip, all devices alike"
    page.slide("clip", page.position("slider-clip") + 9)
    assert said in page["scope"] and f"{at_first} (worst device {worst})" in page["scope"]
    assert (
        page["exact"] != at_first
        and page["whose"] == "all devices alike"
        and page.title("exact") == ""
        and not page.hidden("back")
    )
    page.press("back")
    assert page["exact"] == at_first and page["scope"].startswith("The file's own system") and page.hidden("back")
    home = page.position("slider-clip")
    page.slide("clip", home + 9)
    page.slide("clip", home)
    assert page["exact"] == at_first and page["scope"].startswith("The file's own system")


@pytest.mark.parametrize("channel", [None, CHANNELS["coefficients of a file"]], ids=["one look", "of a file"])
def test_another_observer_of_unlike_devices_has_the_numbers_of_the_report(channel):
    system = unlike(
        1,
        channel,
        rounds=2,
        participation=[0.7, 1.0, 0.9],
        adjacency="silent",
        observer="participants",
        idle_noise=False,
    )
    privacy, page = Privacy.of(system), opened(system)
    page.choose("observer", "others")
    assert shows("exact", privacy.observers.others, page) and page["rounds"] == "–"
    assert 'ask airtight bounds, with observer = "others"' in page["why"] and "own system" in page["scope"]
    page.choose("observer", "participants")
    assert shows("exact", privacy.observers.participants, page) and shows("rounds", privacy.asked, page)


def test_another_observer_of_alike_devices_is_computed():
    system = InferenceSystem(**{**ALWAYS, "devices": 4, "participation": 0.5, "rounds": 3})
    page = opened(system)
    page.choose("observer", "others")
    upper = float(system_privacy.epsilon(system, device=0, observer="others"))
    assert upper <= float(page["rounds"]) <= 1.1 * upper and page["scope"].startswith("Computed in this page. ")


def test_a_channel_that_the_controls_cannot_keep_leaves_them_out():
    for name, words in (("coefficients of a file", "from a file"), ("an inversion with an error", "csi_error")):
        page = opened(unlike(1, CHANNELS[name]))
        assert page.hidden("controls") and words in page["scope"] and "ask airtight bounds" in page["scope"]
    page = opened(unlike(1, CHANNELS["an observer who does not know it"]))
    assert "an observer who knows the channel" in page["kept"] and not page.hidden("controls")


def test_what_the_page_computes_is_rounded_up_and_is_what_python_has():
    """Never below Python's lower end; one query within a digit, T queries within the 10 % that one curve for two orders costs."""
    values = {**ALWAYS, "devices": 4, "participation": 0.7, "weight": 0.2, "dimension": 8, "rounds": 3}
    ranges = {"clip": (1e-2, 1e3), "noise_variance": (1e-3, 1e2), "alignment": (1e-2, 1e2)}
    rng, page = np.random.default_rng(5), opened(InferenceSystem(**values))
    for name, adjacency, observer in (
        ("clip", "silent", "participants"),
        ("noise_variance", "silent", "others"),
        ("alignment", "replace", "participants"),
        ("clip", "absent", "others"),
        ("noise_variance", "absent", "participants"),
    ):
        position = int(rng.integers(150, 220))
        low, high = ranges[name]
        values |= {name: low * (high / low) ** (position / 400), "adjacency": adjacency, "observer": observer}
        page.choose("adjacency", adjacency)
        page.choose("observer", observer)
        page.slide(name, position)
        assert page[f"value-{name}"] == numerals.plain(values[name])
        system = InferenceSystem(**values)
        once = system_privacy.epsilon_bracket(system, rounds=1, device=0)
        after = system_privacy.epsilon_bracket(system, device=0)
        for element, (lower, upper), excess in (
            ("exact", once, 1e-3),
            ("rounds", after, 0.1),
            ("proven", once, math.inf),
        ):
            shown = math.inf if page[element] == "∞" else float(page[element].replace(",", ""))
            assert lower * (1 - 1e-9) <= shown and (shown == upper or shown <= upper * (1 + excess)), (element, system)


@pytest.mark.parametrize("low", [1e-9, 2e-3, 1.0, 9e3, 5e8])
def test_numbers_are_written_as_in_the_report(low):
    """A file that begins at `low` moves the ends of the slider: its values have the digits of the report."""
    system = InferenceSystem(**{**ALWAYS, "clip": low})
    page = opened(system)
    ends = (min(low / 100, 1e-2) if low < 1e-2 else 1e-2, low * 100 if low > 1e3 else 1e3)
    for position in {*range(1, 400, 57)} - {page.position("slider-clip")}:
        page.slide("clip", position)
        assert page["value-clip"] == numerals.plain(ends[0] * (ends[1] / ends[0]) ** (position / 400))
