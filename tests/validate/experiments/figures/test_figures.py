"""The redrawn figures: labelled data, captions that say what they are, files whole or not at all."""

import json

import numpy as np
import pytest
from markupsafe import escape
from support.common import refused, run

from airtight.analytics import plots
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.federated.fair.device import table_1
from airtight.report import page
from airtight.validate.experiments.figures import corbin, figure, gallery, learning, style, utility_figures
from airtight.validate.experiments.figures.figure import Effort, Study, Table
from airtight.validate.experiments.figures.finding import Comparison, FigureStatement, Outcome
from airtight.validate.experiments.training import utility_training as policy
from airtight.validate.files import MANIFEST

pytestmark = pytest.mark.slow

TINY = Effort(1, 2, (0.3,), (50,))
CHEAP = [name for name in gallery.FIGURES if name not in ("CB-3c", "CB-2c")]


@pytest.mark.parametrize("name", CHEAP)
def test_each_figure(name):
    done = []
    found = gallery.FIGURES[name](TINY, done.append)
    assert found.id == name and done and found.caption.split()[0].rstrip(":") in ("Exact", "Analogue")
    assert found.data.sizes and (found.figure.rows if isinstance(found.figure, Table) else found.figure.axes)
    assert all(np.isfinite(v.values).any() for v in found.data.data_vars.values() if v.dtype.kind == "f")


def test_figure_4_is_the_exact_error():
    data = corbin.figure_4(TINY, lambda done: None).data
    w = data.w1.values
    for e in data.epsilon.values:
        exact = quantizers.pair_mse(w[:, None], w, epsilon=e, radius=0.5, bits=None)
        assert data.corbinq.sel(epsilon=e).values == pytest.approx(exact)
    assert np.all(data.corbinq <= data.ldpq + 1e-12)


def test_an_experiment_chooses_by_validation_and_survives_divergence():
    from dataclasses import replace

    lines = corbin._lines(("gaussian", "vanilla"), replace(corbin._SYSTEM, epsilon=0.01))
    data = learning.experiment(lines, Effort(2, 40, (1.0,), (50,)), lambda done: None)
    assert np.isnan(data.accuracy.sel(line="gaussian")).all() and float(data.best.sel(line="gaussian").max()) == 0.0
    assert float(data.best.sel(line="vanilla").min()) > 0.8


def test_policies_average_over_feasible_rounds():
    data = utility_figures.policies(2, 60)
    assert np.all(data.rounds <= 60) and np.all((data.power > 0.1) & (data.power < 1))
    spread = data.energy.std("device").mean("seed")
    assert float(spread.sel(scheme="proposed")) < float(spread.sel(scheme="benchmark")) / 3
    tuned, constant = (data.energy.sel(scheme=name).mean("device") for name in ("tuned", "constant"))
    assert (1 - tuned / constant).values == pytest.approx(0.1217, abs=1e-4)
    total = data.compute_energy + data.transmit_energy
    assert np.allclose(total, data.energy)


def test_outcomes_and_intervals():
    rng = np.random.default_rng(0)
    values = 0.02 + 0.01 * rng.standard_normal(10)
    one = Comparison.of("a - b", values, (0.0, np.inf), unit="points", factor=100.0)
    low, high = one.interval(0.95)
    half = 2.2622 * np.std(values, ddof=1) / np.sqrt(10)  # Student, 9 degrees
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-4)
    against = Comparison.of("a - b", -values, (0.0, np.inf))
    unsure = Comparison.of("a - b", values - 0.02, (0.0, np.inf))
    assert [FigureStatement.of("", [c]).outcome.value for c in (one, against, unsure)] == ["confirmed", "contradicted", "open"]
    assert FigureStatement.of("", [one, against]).outcome is Outcome.CONTRADICTED
    assert FigureStatement.of("", [one, unsure]).outcome is Outcome.OPEN and FigureStatement.of("", [one, unsure]).level == 0.975
    assert Comparison.of("one seed", [1.0], (0.0, 2.0)).outcome(0.95) is Outcome.OPEN
    assert Comparison.of("diverged", [1.0, np.nan], (0.0, 2.0)).outcome(0.95) is Outcome.OPEN


@pytest.mark.parametrize("name", [name for name, study in gallery.FIGURES.items() if isinstance(study, Study)])
def test_shipped_results_give_the_sentence_that_is_shipped(name):
    study = gallery.FIGURES[name]
    drawn = study.shipped()
    assert drawn.id == name and drawn.finding is not None and drawn.finding.seeds >= 10
    assert figure.finding(study.data or name) == drawn.finding.text() and drawn.finding.text() in drawn.caption


@pytest.mark.parametrize(("short", "journal"), [("FDPs-2", "FDP-8"), ("FDPs-3", "FDP-9")])
def test_figures_of_the_short_paper_are_those_that_the_journal_prints_again(short, journal):
    one, other = (gallery.rendered(name, None) for name in (short, journal))
    assert one.points == other.points and one.compared == other.compared
    assert one.about.startswith(f"Analogue of FDP (short paper) Fig. {short[-1]}, printed again as Fig. {journal[-1]}")


def test_ticks_of_a_figure_are_plain_numbers():
    markup = gallery.rendered("FDPs-2", None).markup
    assert "mathdefault" not in markup and ">0.1</text>" in markup


@pytest.mark.parametrize(("low", "high", "between"), [(0.2, 0.9, True), (1e-3, 1e4, False)])
def test_ticks_between_powers_of_ten_have_numbers_where_there_is_room(low, high, between):
    drawn = style.figure_of()
    axes = drawn.add_subplot()
    axes.plot([1, 2], [low, high])
    axes.set_yscale("log")
    plots.plain(drawn)
    drawn.canvas.draw()
    texts = [label.get_text() for label in axes.yaxis.get_ticklabels(which="minor")]
    assert any(texts) == between and all("^" not in text for text in texts)


def test_seeds_that_choose_are_not_reported():
    effort = Effort.full()
    assert not set(effort.choosing) & set(range(effort.seeds)) and effort.validation > 1


def test_written_whole(tmp_path, one_processor):
    result = run("figures", "FDP-4", "CB-4", "--out", tmp_path / "figs", "--quick")
    assert result.exit_code == 0, result.output
    files = [f"{name}.{kind}" for name in ("CB-4", "FDP-4") for kind in ("csv", "json", "svg")]
    written = [MANIFEST, *files, "index.html"]
    assert sorted(p.name for p in (tmp_path / "figs").iterdir()) == written
    tree = json.loads((tmp_path / "figs" / "FDP-4.json").read_text())
    assert tree["caption"].startswith("Exact") and "participation" in tree["data"]["data_vars"]
    assert (tmp_path / "figs" / "CB-4.svg").read_text().startswith("<svg")
    assert (tmp_path / "figs" / "FDP-4.csv").read_text().startswith("panel,series,x,y,value\n")


def test_the_index_has_the_printed_value_beside_ours():
    drawn = [gallery.rendered(name, None) for name in ("CB-1", "FDP-4")]
    text = page.figure_index(drawn)
    assert drawn[0].compared and not drawn[1].compared and text.count("<svg") == 2
    for name, printed, ours, outcome in drawn[0].compared:
        row = f'<th scope="row">{escape(name)}</th><td>{escape(printed)}</td><td>{escape(ours)}</td><td>{outcome}</td>'
        assert row in text and ours in drawn[0].caption
    assert drawn[0].caption.startswith(drawn[0].about) and drawn[0].statement in drawn[0].caption


def test_refusals(tmp_path):
    assert refused(run("figures", "CB-9", "--out", tmp_path), "ID = 'CB-9'", "CB-4")
    with pytest.raises(ParameterError):
        gallery.selected([""])


@pytest.mark.parametrize("scheme", ["proposed", "mean-update", "benchmark"])
def test_utility_fair_learning(scheme):
    fleet = table_1(distance=np.linspace(50, 200, 10))
    found = policy.run(fleet, policy.Plan(rounds=6), scheme)
    assert found.loss.shape == found.energy.shape == (6, 10) and found.accuracy[-1] > 0.6
    assert np.all(found.loss[-1] < found.loss[0]) and np.all((found.deviation >= 0) & (found.deviation <= 1))
    assert np.all(found.iterations == np.rint(found.iterations))
    again = policy.run(fleet, policy.Plan(rounds=6), scheme)
    assert np.array_equal(found.loss, again.loss)


def test_local_problem_is_solved_by_many_iterations():
    """With xi = 1 and no noise one device alone is plain gradient descent on its own loss."""
    fleet = table_1(distance=[50.0])
    plan = policy.Plan(rounds=1, xi=1.0, noise=0.0, sensitivity=0.0)
    found = policy.run(fleet, plan, "benchmark")
    from airtight.validate.experiments.training import data
    from airtight.validate.experiments.training.network import Dense

    task = data.load()
    order = np.random.default_rng([0, 11]).permutation(task.train.y.size)
    network, w = Dense((64, 10)), np.zeros(650)
    for _ in range(int(found.iterations[0, 0])):
        w = w - plan.step * network.loss_and_gradient(w, task.train.x[order], task.train.y[order], l2=plan.l2)[1]
    loss = network.loss_and_gradient(w, task.train.x[order], task.train.y[order], l2=plan.l2)[0]
    assert found.loss[0, 0] == pytest.approx(float(loss), rel=1e-9)


def test_an_interrupted_run_goes_on(tmp_path):
    fleet, plan, path = table_1(distance=[50.0, 120.0]), policy.Plan(rounds=5, fading=True), tmp_path / "state.npz"

    def stop(number, accuracy):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        policy.run(fleet, plan, "proposed", checkpoint=path, progress=stop)
    resumed, whole = (policy.run(fleet, plan, "proposed", checkpoint=p) for p in (path, None))
    assert np.array_equal(resumed.loss, whole.loss) and np.array_equal(resumed.accuracy, whole.accuracy)
    with pytest.raises(ParameterError, match="same run"):
        policy.run(fleet, plan, "benchmark", checkpoint=path)


def test_what_cannot_learn():
    with pytest.raises(ParameterError, match="training images"):
        policy.run(table_1(distance=np.full(1151, 50.0)), policy.Plan(rounds=1), "benchmark")
    with pytest.raises(ArithmeticError, match="diverged"), np.errstate(all="ignore"):
        policy.run(table_1(distance=[50.0]), policy.Plan(rounds=50, step=1e6), "benchmark")


def test_deviation_factors_set_the_next_budgets():
    fleet = table_1(distance=np.linspace(50, 150, 5))
    plain = policy.run(fleet, policy.Plan(rounds=6), "proposed")
    found = policy.run(fleet, policy.Plan(rounds=6, feedback="published"), "proposed")
    assert np.array_equal(plain.beta, [fleet.beta_1, fleet.beta_2]) and np.array_equal(found.beta[1], fleet.beta_2)
    used = found.deviation[-1] > 0
    expected = found.deviation[-1] * np.exp(fleet.compute_energy(found.iterations[-1]) / fleet.beta_2)
    assert found.beta[0, used] == pytest.approx(expected[used]) and np.any(found.iterations != plain.iterations)
    fading = policy.Plan(rounds=10, feedback="window", fading=True)
    assert np.any(policy.run(fleet, fading, "proposed").beta[1] != fleet.beta_2)
    alike = policy.run(fleet, policy.Plan(rounds=4, feedback="published"), "benchmark")
    assert np.array_equal(alike.beta[0], fleet.beta_1)


def test_fading_and_bad_plans():
    fleet = table_1(distance=np.linspace(50, 100, 4))
    found = policy.run(fleet, policy.Plan(rounds=3, fading=True), "proposed")
    assert len(np.unique(found.energy)) > 4
    for changes in ({"rounds": 0}, {"theta": 1.0}, {"step": 0.0}, {"noise": -1.0}):
        with pytest.raises(ParameterError):
            policy.Plan(**changes)
    with pytest.raises(ParameterError):
        policy.run(fleet, policy.Plan(rounds=1), "fair")
