"""Epsilon over rounds, and the plots of results: what is drawn is what was computed, titles say it, pictures are whole files."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from support.common import run
from support.paths import ROOT

import airtight
from airtight.analytics import plots
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.inference.link_budget import link_budget
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.results.design import FrontierResult

GOOD = ROOT / "examples/good.toml"
SYSTEM = airtight.InferenceSystem(
    devices=3,
    participation=1.0,
    noise_variance=[0.4, 0.5, 0.6],
    weight=0.3,
    clip=1.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=200,
    delta=1e-5,
    adjacency="silent",
)
HIDDEN = SYSTEM.replace(participation=0.5, noise_variance=0.4, idle_noise=True)
CLAIMED = airtight.InferenceSystem(
    devices=20,
    participation=0.9,
    noise_variance=0.1,
    weight=0.05,
    clip=3.0,
    alignment=1.0,
    receiver_noise_variance=0.1,
    dimension=8,
    delta=1e-5,
    adjacency="silent",
    idle_noise=True,
)


@pytest.fixture
def axes():
    return Figure().add_subplot()


@pytest.mark.parametrize("system", [SYSTEM, HIDDEN], ids=["seen", "hidden"])
def test_over_rounds_each_number_is_that_of_the_one_entrance(system):
    found = airtight.epsilon_over_rounds(system, np.array([7, 1, 7]))
    assert found.rounds.tolist() == [1, 7]
    for row, count in enumerate(found.rounds):
        for observer, epsilon in found.epsilon.items():
            expected = system_privacy.epsilon(system, rounds=int(count), observer=observer)
            np.testing.assert_allclose(epsilon[row], expected, rtol=1e-9)
        assert np.all(found.lower[row] <= found.epsilon["signal"][row])


def test_devices_that_never_send_are_no_privacy_over_rounds():
    some, none = (airtight.epsilon_over_rounds(SYSTEM.replace(participation=p), [1, 2]) for p in ([1.0, 1.0, 0.0], 0.0))
    assert some.never_send == [2] and any("no protection" in sentence for sentence in some.headline)
    assert none.headline == ["NO DEVICE EVER SENDS: nothing is learned, and nothing is protected."]
    assert none.to_frame().query("quantity == 'never_send'").device.tolist() == [0, 1, 2]
    none.plot(Figure().add_subplot())


@pytest.mark.parametrize("budget", [0.1, 3.0, 6.0, 1e3])
def test_the_rounds_of_a_budget_keep_it_and_one_more_does_not(budget):
    kept = airtight.epsilon_over_rounds(SYSTEM, [2, 40], budget=budget).rounds_within["participants"]
    worst = [float(airtight.curve(SYSTEM, device=0).compose(t).epsilon(SYSTEM.delta)) for t in range(1, 41)]
    assert kept == sum(value <= budget for value in worst)


@pytest.mark.parametrize(("rounds", "budget", "named"), [([], None, "rounds"), ([0], None, "rounds"), ([1.5], None, "rounds"),
                                                         ([1], 0.0, "budget"), ([1], float("nan"), "budget")])  # fmt: skip
def test_over_rounds_refuses_what_is_no_count_and_no_budget(rounds, budget, named):
    with pytest.raises(ParameterError, match=named):
        airtight.epsilon_over_rounds(SYSTEM, rounds, budget=budget)


def test_the_command_over_rounds_says_prints_and_draws_the_same(tmp_path):
    ended = run("bounds", GOOD, "--rounds", "1,10", "--budget", "4", "--plot", tmp_path / "a.svg", "--out", tmp_path / "a.json")
    assert ended.exit_code == 0 and "EPSILON 2.000 AFTER 1 ROUND, 7.541 AFTER 10 ROUNDS" in ended.stdout.replace("7.540", "7.541")
    assert "A budget of 4 lasts 3 rounds." in ended.stdout and max(map(len, ended.stdout.splitlines())) <= 80
    assert "A budget of 4 lasts 3 rounds" in (tmp_path / "a.svg").read_text()
    assert run("bounds", GOOD, "--rounds", "1,10", "--budget", "4", "--json").stdout == (tmp_path / "a.json").read_text()


@pytest.mark.parametrize(
    "words",
    [("--rounds", "1,x"), ("--rounds", "0"), ("--budget", "2"), ("--rounds", "1", "--link"), ("--plot", "a.gif")],
    ids=" ".join,
)
def test_what_the_command_refuses_in_one_line(words):
    ended = run("bounds", GOOD, *words)
    assert ended.exit_code == 2 and ended.stderr.count("\n") == 1 and ended.stderr.startswith("airtight: --")


def test_over_rounds_draws_one_line_for_observers_that_learn_the_same(axes):
    found = airtight.epsilon_over_rounds(HIDDEN, [1, 10], budget=4.0)
    found.plot(axes)
    drawn = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    np.testing.assert_array_equal(drawn["others, signal"], np.max(found.epsilon["others"], axis=1))
    assert np.all(drawn["participants"] > drawn["others, signal"])
    assert axes.get_title(loc="left").startswith("A budget of 4 lasts")


def test_bars_of_epsilon_and_marks_of_the_claim(axes):
    bounds = airtight.bounds(CLAIMED)
    bounds.plot(axes)
    assert [bar.get_height() for bar in axes.patches] == bounds.inference.privacy.asked.tolist()
    assert axes.get_lines()[0].get_ydata().tolist() == bounds.inference.privacy.published.theorem1.epsilon.tolist()
    with pytest.raises(ParameterError, match="what"):
        bounds.plot(what="x")
    with pytest.raises(ParameterError, match="features"):
        bounds.plot(what="error")


def test_the_causes_of_an_error_are_as_long_as_the_error(axes):
    bounds = airtight.bounds(GOOD)
    bounds.plot(axes, what="error")
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(bounds.inference.distortion.exact)


@pytest.mark.parametrize("count", [1, 40, 41])
@pytest.mark.parametrize("endless", [False, True])
def test_bars_take_any_number_of_devices_and_no_epsilon(count, endless):
    axes = Figure().add_subplot()
    values = np.full(count, np.inf if endless else 1.0)
    plots.bars(axes, {"exact": values}, {"claim": np.zeros(count)})
    assert axes.get_ylim()[1] > 0 and np.isfinite(axes.get_ylim()).all()


def test_the_region_of_attacks_is_that_of_the_curve(axes):
    curve = airtight.gaussian(1.0)
    curve.plot_attacks(axes)
    line = axes.get_lines()[0]
    np.testing.assert_allclose(line.get_ydata(), curve.beta(line.get_xdata()), rtol=1e-12)
    assert f"{50 + 50 * curve.advantage():.3g} %" in axes.get_title(loc="left")


def test_a_frontier_shades_what_is_proved_impossible(axes):
    values = (1.0, 4.0, 3.9), (2.0, None, np.inf), (4.0, 2.0, 1.5)
    points = [{"epsilon_at_most": x, "value": y, "bound": z} for x, y, z in values]
    made = FrontierResult(sought="error", bound_for="every", axes={"epsilon_at_most": np.array([1.0, 2.0, 4.0])}, points=points)
    made.plot(axes)
    assert "2 of 3 designs exist" in axes.get_title(loc="left")
    assert {each.get_label() for each in axes.collections} >= {"impossible"}
    frame = made.to_frame()
    assert frame.query("quantity == 'error'").lower.tolist() == [3.9, np.inf, 1.5]
    unproved = replace(made, points=[{**point, "bound": None} for point in points])
    assert unproved.plot(Figure().add_subplot()).get_legend() is None


def test_a_frontier_shades_what_no_scheme_reaches(axes, tmp_path):
    """The limit at the right end of an interval is one for all of it; a design is above the limit."""
    from airtight.sweeps import frontier_designs

    file = tmp_path / "s.toml"
    file.write_text("""
[inference]
devices = 4
participation = 1.0
noise_variance = 0.1
weight = 0.25
clip = 1.0
alignment = 1.0
receiver_noise_variance = 0.01
dimension = 50
delta = 1e-5
adjacency = "silent"
[design]
minimise = "error"
epsilon_at_most = 2.0
effort = 200
free = ["noise_variance", "decoder_gain", "alignment"]
""")
    result = frontier_designs.traced(airtight.load(file), ["epsilon_at_most=2,8"])
    ends = [(point["any_scheme"], point["value"]) for point in result.points]
    assert all(0 < least <= error for least, error in ends) and ends[0][0] > ends[1][0]
    same = airtight.minimax_error(airtight.approximate(8.0, 1e-5), devices=4, dimension=50, clip=1.0)
    assert ends[1][0] == same.error
    result.plot(axes)
    line = next(each for each in axes.get_lines() if each.get_label() == "no scheme is below")
    assert line.get_drawstyle() == "steps-pre" and line.get_ydata().tolist() == [end[0] for end in ends]
    described = airtight.load(file)
    helped = replace(described, inference=described.inference.replace(colluding=1))
    against_one = frontier_designs.traced(helped, ["epsilon_at_most=2,8"]).points
    for alone, point in zip(result.points, against_one, strict=True):  # who is safe from helpers is safe without them
        assert point["any_scheme"] == alone["any_scheme"] <= alone["value"] <= point["value"] * (1 + 1e-6)
    with pytest.raises(airtight.ParameterError, match="colluding"):
        named = replace(described, inference=described.inference.replace(colluding=[1]))
        frontier_designs.traced(named, ["epsilon_at_most=2,8"])
    energy = replace(described.design, minimise="energy", epsilon_at_most=50.0, error_at_most=0.9)
    points = frontier_designs.traced(replace(described, design=energy), ["error_at_most=0.8,0.9"]).points
    assert points[0]["any_scheme"] == airtight.energy_floor(described, 0.8) <= points[0]["value"]


def test_maps_budgets_energies_and_antennas_have_axes_with_units():
    fleet = airtight.solve_energy(table_1(distance=[50.0, 200.0]))
    meter = airtight.Meter(4.0, 1e-5, devices=2)
    budget = airtight.spread_budget(0.9 ** np.arange(5), budget=0.1)
    for result, y in ((fleet, "energy (J)"), (meter, "share of the budget"), (budget, "noise variance")):
        axes = result.plot(Figure().add_subplot())
        assert axes.get_ylabel() == y and axes.get_title(loc="left")


def test_the_map_of_a_fleet_has_a_point_for_each_device(axes):
    system = airtight.InferenceSystem(
        devices=2, noise_variance=0.1, weight=1.0, clip=1.0, alignment=1.0, receiver_noise_variance=0.1, dimension=8, delta=1e-5,
        channel=airtight.Channel(distance=[1.0, 2.0], path_loss_exponent=2.0, fading="rayleigh", max_power=18.0),
    )  # fmt: skip
    found = link_budget(system)
    found.plot(axes)
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), np.stack([found.distance, found.margin], axis=1))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("distance (m)", "margin (dB)")


def test_the_style_of_a_paper_ends_with_its_context():
    before = mpl.rcParams["figure.figsize"]
    with airtight.style("paper"):
        assert mpl.rcParams["figure.figsize"] == [3.4, 2.4] and mpl.rcParams["pdf.fonttype"] == 42
    assert mpl.rcParams["figure.figsize"] == before
    with pytest.raises(ParameterError, match="paper"):
        airtight.style("poster")
