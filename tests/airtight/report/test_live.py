"""The page's sliders: its JavaScript against Python, in an engine of its own."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from py_mini_racer import MiniRacer
from scipy import special, stats

from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import amplification, observers, rounds, system_privacy
from airtight.analytics.privacy.over_the_air.participation_mixture import hidden_divergence
from airtight.report import live


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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 3.0), st.integers(2, 1000), st.floats(1e-10, 1e-3))
def test_many_gaussians_are_one(script, clip, queries, delta):
    """Idle noise and p = 1: the law on the grid against the closed form."""
    values = {"devices": 3, "participation": 1.0, "noise_variance": 0.3, "weight": 1.0, "clip": clip, "alignment": 1.0}
    values |= {"receiver_noise_variance": 0.1, "dimension": 9, "delta": delta, "adjacency": "absent"}
    text = json.dumps({**values, "idle_noise": True, "observer": "others", "rounds": queries})
    truth = float(gaussian.epsilon(delta, sensitivity=clip * math.sqrt(queries), sigma=1.0))
    page = script(f"airtight.finished(airtight.overRounds({text})).value")
    assert truth * (1 - 1e-9) <= page <= truth * 1.01


@settings(max_examples=200, deadline=None)
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


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 1000), st.floats(0.02, 1.0), st.floats(0.01, 3.0), st.floats(0.01, 20.0))
def test_many_queries_are_a_mixture_of_gaussians(script, rounds, p, mu, epsilon):
    """One device alone: after T queries it has sent Binomial(T, p) times."""
    values = {"devices": 1, "participation": p, "noise_variance": 1.0, "weight": 1.0, "clip": mu, "alignment": 1.0}
    values |= {
        "receiver_noise_variance": 0.0,
        "dimension": 5,
        "delta": 1e-5,
        "adjacency": "silent",
        "idle_noise": False,
    }
    sent = np.arange(1, rounds + 1)
    each = gaussian.delta(epsilon, sensitivity=mu * np.sqrt(sent), sigma=1.0)
    delta = float(stats.binom.pmf(sent, rounds, p) @ each)
    if delta > 1e-12:
        page = script(f"Math.exp(airtight.logDeltaOver({json.dumps(values)}, {epsilon!r}, {rounds}))")
        assert page == pytest.approx(delta, rel=1e-9)


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


@pytest.mark.parametrize("observer", ["participants", "others", "signal"])
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_what_is_proven_is_proven_for_the_observer_that_is_shown(script, adjacency, observer):
    values = {"devices": 5, "participation": 0.8, "noise_variance": 0.5, "weight": 0.2, "clip": 2.0, "alignment": 1.0}
    values |= {
        "receiver_noise_variance": 0.3,
        "dimension": 6,
        "delta": 1e-5,
        "adjacency": adjacency,
        "idle_noise": False,
    }
    text = json.dumps({**values, "observer": observer})
    assert script(f"airtight.proven({text})") >= script(f"airtight.epsilon({text})") * (1 - 1e-9)
