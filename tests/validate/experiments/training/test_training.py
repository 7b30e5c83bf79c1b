"""The training loop: data, gradients, mechanisms against exact errors, resuming, refusals."""

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import ROOT

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair import fairness
from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.federated.few_bits import quantizer_laws as laws
from airtight.analytics.records import plain
from airtight.results import training_run
from airtight.system_file.config import load
from airtight.validate.experiments.training import data, federated_training, few_bits_training, utility_training
from airtight.validate.experiments.training.federated_training import run
from airtight.validate.experiments.training.network import Convolutional, Dense
from airtight.validate.experiments.training.training_plan import Mechanism, Settings

EXAMPLES = ROOT / "examples"
SYSTEM = FederatedSystem(clients=20, parameters=1, epsilon=1.0, ldp_fraction=0.2)
SHORT = Settings(rounds=3, hidden=(8,))


def test_splits_and_sources():
    task = data.load("digits", seed=3)
    assert task.inputs == 64 and task.classes == 10
    assert [part.y.size for part in (task.train, task.validation, task.test)] == [1150, 288, 359]
    assert task.train.x.min() >= 0 and task.train.x.max() <= 1
    images = data.load("mnist")
    assert images.inputs == 784 and images.train.y.size == 3200 and images.test.y.size == 1000
    assert not np.array_equal(data.load("digits", seed=4).test.y, task.test.y)


@given(st.integers(1, 60), st.one_of(st.none(), st.floats(0.05, 10)), st.integers(0, 1000))
@settings(max_examples=25)
def test_partition_is_one(clients, concentration, seed):
    labels = data.load().train.y
    parts = data.partition(labels, clients, rng=np.random.default_rng(seed), concentration=concentration)
    assert len(parts) == clients and min(map(len, parts)) >= 1
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(labels.size))


def test_a_small_concentration_is_uneven():
    labels = data.load().train.y
    rng = np.random.default_rng(0)
    uneven = data.partition(labels, 10, rng=rng, concentration=0.1)
    assert np.std([len(p) for p in uneven]) > 5 * np.std([len(p) for p in data.partition(labels, 10, rng=rng)])


@pytest.mark.parametrize("sizes", [(3, 4), (5, 7, 3), (4, 6, 5, 2)])
def test_gradients_by_differences(sizes):
    network, rng = Dense(sizes), np.random.default_rng(0)
    flat = np.stack([network.initial(rng) + 0.1 * rng.normal(size=network.parameters) for _ in range(2)])
    x, y = rng.normal(size=(2, 5, sizes[0])), rng.integers(0, sizes[-1], (2, 5))
    loss, gradient = network.loss_and_gradient(flat, x, y, l2=0.3)
    step = 1e-6
    for client in range(2):
        for k in rng.choice(network.parameters, 12, replace=False):
            moved = flat.copy()
            moved[client, k] += step
            up = network.loss_and_gradient(moved, x, y, l2=0.3)[0][client]
            moved[client, k] -= 2 * step
            down = network.loss_and_gradient(moved, x, y, l2=0.3)[0][client]
            assert (up - down) / (2 * step) == pytest.approx(gradient[client, k], rel=1e-5, abs=1e-7)
    stepped = flat.copy()
    network.descend(stepped, x, y, rate=0.5, l2=0.3)
    assert stepped == pytest.approx(flat - 0.5 * gradient)
    alone = network.loss_and_gradient(flat[1], x[1], y[1], l2=0.3)
    assert alone[0] == pytest.approx(loss[1]) and alone[1] == pytest.approx(gradient[1])


@pytest.mark.parametrize("hidden", [(), (5,)])
def test_convolutional_gradients_by_differences(hidden):
    network, rng = Convolutional(4, 3, hidden, 2), np.random.default_rng(0)
    flat = np.stack([network.initial(rng) + 0.1 * rng.normal(size=network.parameters) for _ in range(2)])
    x, y = rng.normal(size=(2, 5, 16)), rng.integers(0, 2, (2, 5))
    loss, gradient = network.loss_and_gradient(flat, x, y, l2=0.2)
    step = 1e-6
    for client in range(2):
        for k in [*range(network.filters), *rng.choice(network.parameters, 10)]:
            moved = flat.copy()
            moved[client, k] += step
            up = network.loss_and_gradient(moved, x, y, l2=0.2)[0][client]
            moved[client, k] -= 2 * step
            down = network.loss_and_gradient(moved, x, y, l2=0.2)[0][client]
            assert (up - down) / (2 * step) == pytest.approx(gradient[client, k], rel=1e-4, abs=1e-7)
    stepped = flat.copy()
    network.descend(stepped, x, y, rate=0.5, l2=0.2)
    assert stepped == pytest.approx(flat - 0.5 * gradient)
    alone = network.loss_and_gradient(flat[1], x[1], y[1], l2=0.2)
    assert alone[0] == pytest.approx(loss[1]) and alone[1] == pytest.approx(gradient[1])


def test_convolution_against_scipy():
    from scipy.signal import correlate2d

    network, rng = Convolutional(6, 2, (), 3), np.random.default_rng(1)
    flat, image = network.initial(rng), rng.normal(size=(6, 6))
    pooled, _, _ = network._pooled(flat, image.reshape(1, -1))
    for channel in range(2):
        kernel = flat[:18].reshape(9, 2)[:, channel].reshape(3, 3)
        direct = np.maximum(correlate2d(image, kernel, mode="same"), 0).reshape(3, 2, 3, 2).mean(axis=(1, 3))
        assert pooled.reshape(3, 3, 2)[..., channel] == pytest.approx(direct)


def test_the_convolutional_network_learns():
    found = run(replace(SYSTEM, epsilon=5.0), replace(SHORT, rounds=12, channels=4), "corbin")
    assert found.parameters == 40 + (64 + 1) * 8 + 90 and found.best.test > 0.4


def test_gradient_against_sympy():
    """Two inputs, two classes, one layer."""
    import sympy as sp

    w = sp.symbols("w0:6")
    x = [sp.Rational(1, 2), -sp.Rational(2, 3)]
    logits = [w[0] * x[0] + w[2] * x[1] + w[4], w[1] * x[0] + w[3] * x[1] + w[5]]
    loss = sp.log(sum(map(sp.exp, logits))) - logits[1]
    values = [0.1, -0.4, 0.7, 0.2, -0.3, 0.5]
    network = Dense((2, 2))
    found, gradient = network.loss_and_gradient(np.array(values), np.array([[0.5, -2 / 3]]), np.array([1]))
    point = dict(zip(w, values, strict=True))
    assert float(found) == pytest.approx(float(loss.subs(point)))
    assert gradient == pytest.approx([float(sp.diff(loss, v).subs(point)) for v in w])


def test_views_share_memory_and_the_papers_network_has_109386_parameters():
    network = Dense((784, 128, 64, 10))
    assert network.parameters == 109386
    flat = np.zeros(network.parameters)
    network.layers(flat)[1].bias[...] = 7.0
    assert flat[network.blocks[1]].sum() == 64 * 7.0


@pytest.mark.parametrize("mechanism", list(Mechanism))
def test_every_mechanism_learns_something(mechanism):
    found = run(SYSTEM, replace(SHORT, rounds=12), mechanism)
    assert len(found.history) == 12 and found.parameters == 610
    noisy = (Mechanism.GAUSSIAN, Mechanism.PBM, Mechanism.SKELLAM, Mechanism.DISCRETE_GAUSSIAN)
    assert found.best.test > (0.05 if mechanism in noisy else 0.2)
    spent = math.inf if mechanism in (Mechanism.VANILLA, Mechanism.STRATIFIED) else 12.0
    assert found.epsilon_spent == spent


@pytest.mark.parametrize("mechanism", ["ldp", "corbin", "augcorbin", "gaussian", "laplace", "stratified"])
@pytest.mark.parametrize("clients", [20, 7])
def test_measured_error_is_the_exact_one(mechanism, clients):
    """One aggregation repeated: the mean of the measured error within 4.5 standard errors of the exact value."""
    rng = np.random.default_rng(0)
    system = replace(SYSTEM, clients=clients, shared_bits=4)
    center, radius = rng.normal(size=300), rng.uniform(0.1, 2, 300)
    w = center + radius * rng.uniform(-1, 1, (clients, 300))
    here = np.ones(clients, dtype=bool)
    errors, exact = [], []
    for _ in range(150):
        total, expected = federated_training.summed(w, here, center, radius, system, Mechanism(mechanism), rng)
        errors.append(float(np.mean((total / clients - w.mean(0)) ** 2)))
        exact.append(expected)
    gap = np.array(errors) - np.array(exact)
    assert abs(gap.mean()) <= 4.5 * gap.std() / math.sqrt(150)


FEW_BITS = ["pbm", "rqm", "quantizer", "pairs", "skellam", "discrete-gaussian"]


@pytest.mark.parametrize("mechanism", FEW_BITS)
def test_few_bits_measured_error_is_the_exact_one(mechanism):
    rng, here = np.random.default_rng(5), np.ones(7, dtype=bool)
    x = rng.uniform(-1, 1, (7, 200))
    ask = {"kind": Mechanism(mechanism), "epsilon": 3.0, "bits": 2, "rng": rng}
    errors, exact = np.empty(400), np.empty(400)
    for i in range(400):
        total, error = few_bits_training.aggregate(x, here, **ask)
        errors[i], exact[i] = np.mean((total - x.sum(axis=0)) ** 2), error.mean()
    assert abs((errors - exact).mean()) <= 4.5 * (errors - exact).std() / 20
    here[[1, 4]] = False
    gone = np.mean([few_bits_training.aggregate(x, here, **ask)[0] for _ in range(400)], axis=0)
    assert np.mean(gone - x[here].sum(axis=0)) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("mechanism", FEW_BITS)
def test_few_bits_are_private_in_the_loop(mechanism):
    used = few_bits_training.sender(Mechanism(mechanism), epsilon=3.0, bits=2)
    x = np.linspace(-1, 1, 101)
    law = laws.binomial(x, epsilon=3.0, trials=3)[1] if mechanism == "pbm" else used.at(x)
    assert laws.local_epsilon(law) <= 3.0 * (1 + 1e-12)
    assert laws.local_epsilon(law) >= 2.8  # and what they may spend is spent; of a remainder's numbers too
    if mechanism != "pbm":
        assert law @ used.outputs == pytest.approx(x, abs=1e-9)
    drawn = np.mean([used.send(x, np.random.default_rng([1, i])) for i in range(3000)], axis=0)
    assert np.max(np.abs(drawn - x) / np.sqrt(used.variance(x) / 3000)) < 4.5


def test_the_sum_is_of_one_bit_outputs_of_who_is_there():
    rng = np.random.default_rng(0)
    w, here = rng.uniform(-1, 1, (6, 50)), np.array([1, 1, 0, 1, 1, 0], dtype=bool)
    for kind in (Mechanism.CORBIN, Mechanism.LDP, Mechanism.AUGCORBIN):
        total, _ = federated_training.summed(w, here, np.zeros(50), np.ones(50), SYSTEM, kind, rng)
        plus = (total / float(quantizers.alpha(1.0)) + 4) / 2
        assert plus == pytest.approx(np.rint(plus), abs=1e-9) and plus.min() >= -1e-9 and plus.max() <= 4 + 1e-9


def test_orderings_at_one():
    """Three seeds: vanilla above CorBin above LDP-FL, by a margin, at epsilon = 1."""
    system = replace(SYSTEM, clients=50)
    means = {}
    for kind in ("vanilla", "corbin", "ldp"):
        found = [run(system, Settings(rounds=40, seed=seed), kind).best.test for seed in range(3)]
        means[kind] = np.mean(found)
    assert means["vanilla"] > means["corbin"] + 0.01 and means["corbin"] > means["ldp"] + 0.05, means


def test_dropout_and_no_survivors():
    found = run(replace(SYSTEM, dropout=0.5, epsilon=4.0), replace(SHORT, rounds=10), "corbin")
    assert found.best.test > 0.3 and math.isnan(found.history[0].exact_error)
    assert len(run(replace(SYSTEM, clients=2, dropout=0.95), SHORT, "ldp").history) == 3


def test_same_seed_same_run_and_resuming(tmp_path):
    whole = run(SYSTEM, replace(SHORT, rounds=8), "corbin")
    path = tmp_path / "state.npz"
    interrupted = []

    def stop(number, done):
        interrupted.append(done)
        if number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(SYSTEM, replace(SHORT, rounds=8), "corbin", checkpoint=path, progress=stop)
    resumed = run(SYSTEM, replace(SHORT, rounds=8), "corbin", checkpoint=path)
    assert resumed.history == whole.history and np.array_equal(resumed.weights, whole.weights)
    assert [p.name for p in tmp_path.iterdir()] == ["state.npz"]


def test_killed_at_any_moment_it_goes_on(tmp_path):
    """SIGKILL in the middle of a run, then the same result as without."""
    path = tmp_path / "state.npz"
    code = (
        "from airtight.validate.experiments.training.federated_training import run\n"
        "from airtight.validate.experiments.training.training_plan import Settings\n"
        "from airtight.analytics.federated.corbin.federated_system import FederatedSystem\n"
        "from pathlib import Path\n"
        "run(FederatedSystem(clients=20, parameters=1, epsilon=1.0, ldp_fraction=0.2),"
        f" Settings(rounds=200, hidden=(8,)), 'corbin', checkpoint=Path({str(path)!r}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=os.getcwd())
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.15)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with np.load(path) as kept:
        reached = len(kept["state_history"])
    assert 0 < reached <= 200
    kind = Settings(rounds=200, hidden=(8,))
    resumed, whole = run(SYSTEM, kind, "corbin", checkpoint=path), run(SYSTEM, kind, "corbin")
    assert resumed.history == whole.history


def test_a_foreign_or_broken_checkpoint_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    run(SYSTEM, SHORT, "ldp", checkpoint=path)
    with pytest.raises(ParameterError, match="same run"):
        run(SYSTEM, SHORT, "corbin", checkpoint=path)
    path.write_bytes(b"no archive")
    with pytest.raises(ParameterError, match="checkpoint"):
        run(SYSTEM, SHORT, "ldp", checkpoint=path)


def test_patience_loads_the_best_model_again():
    state = federated_training._State.start(np.zeros(2))
    accuracies = [0.5, 0.6, 0.4, 0.4, 0.4]
    for k, value in enumerate(accuracies):
        state = state.after(np.full(2, float(k)), federated_training.Round(value, value, 0, 0, 0), 3)
    assert state.weights.tolist() == [1.0, 1.0] and state.stale == 0 and state.best == 0.6


def test_divergence_stops_with_a_message():
    with pytest.raises(ArithmeticError, match=r"diverged.*learning_rate"):
        run(replace(SYSTEM, epsilon=0.1), replace(SHORT, rounds=100, smoothing=1.0), "gaussian")


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: run(replace(SYSTEM, clients=2000), SHORT, "ldp"), "clients"),
        (lambda: run(SYSTEM, SHORT, "none"), "mechanism"),
        (lambda: Settings(smoothing=0.0), "smoothing"),
        (lambda: Settings(smoothing=1.1), "smoothing"),
        (lambda: Settings(dataset="cifar"), "dataset"),
        (lambda: Settings(rounds=0), "rounds"),
        (lambda: Settings(hidden=(0,)), "hidden"),
        (lambda: Settings(learning_rate=math.nan), "learning_rate"),
        (lambda: Dense((3,)), "sizes"),
        (lambda: Convolutional(5, 2, (), 3), "side"),
        (lambda: Settings(channels=-1), "channels"),
        (lambda: federated_training.layer_ranges(Dense((2, 2)), np.zeros(6)), "radius"),
        (lambda: data.partition(np.zeros(3, dtype=int), 4, rng=np.random.default_rng(0)), "clients"),
    ],
)
def test_refusals(call, name):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.name == name


def test_seeds_side_by_side_are_those_in_turn():
    description = load(EXAMPLES / "paper.toml")
    chosen = replace(description.training, seeds=2, settings=replace(description.training.settings, rounds=2))
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        apart = training_run.train(description, [training_run.Part.FEDERATED], chosen, executor=executor)
    in_turn = training_run.train(description, [training_run.Part.FEDERATED], chosen)
    assert plain(apart.tree) == plain(in_turn.tree)
    assert len(apart.tree["federated"]["mechanisms"]["corbin"]["over_seeds"]["test_accuracy"]["values"]) == 2


def test_a_replaced_sample_moves_an_update_less_than_is_proved():
    """UF-E7*: G = sqrt(2) |x|, L = |x|^2 / 2 + l2 of softmax regression, x with its constant 1."""
    fleet, plan = table_1(distance=[50.0, 200.0]), utility_training.Plan(rounds=2)
    measured = utility_training.changes(fleet, plan, "proposed")
    learned = utility_training.run(fleet, plan, "proposed")
    images = data.load("digits", seed=plan.seed)
    longest = 1 + max(float((part.x**2).sum(axis=-1).max()) for part in (images.train, images.test))
    proved = fairness.sensitivity(
        lipschitz=np.sqrt(2 * longest),
        strong_convexity=plan.l2,
        smoothness=longest / 2 + plan.l2,
        step=plan.step,
        iterations=learned.iterations,
        samples=images.train.y.size // 2,
    )
    assert np.all(measured.sample > 0) and np.all(measured.sample < proved) and np.all(measured.norm > 10 * measured.sample)
