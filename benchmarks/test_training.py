"""Seconds a round of federated learning: 50 clients, a network of 109386 parameters, beside PyTorch when it is there."""

from dataclasses import replace

import numpy as np
import pytest

from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.validate.experiments.training import data, federated_training
from airtight.validate.experiments.training.network import Dense
from airtight.validate.experiments.training.training_plan import Dataset

SYSTEM = FederatedSystem(clients=50, parameters=109386, epsilon=1.0)
SETTINGS = federated_training.Settings(dataset=Dataset.MNIST, hidden=(128, 64), rounds=1, learning_rate=0.1)


@pytest.mark.benchmark(group="a round, 50 clients, 109386 parameters")
@pytest.mark.parametrize("mechanism", ["vanilla", "ldp", "corbin"])
def test_round(benchmark, mechanism):
    task = data.load("mnist")
    benchmark.pedantic(federated_training.run, (SYSTEM, SETTINGS, mechanism), {"task": task}, rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="local steps, 50 clients, 109386 parameters")
def test_local_steps(benchmark):
    task = data.load("mnist")
    network = Dense((784, 128, 64, 10))
    shard = federated_training.Shard.of(task, data.partition(task.train.y, 50, rng=np.random.default_rng(0)))
    start = network.initial(np.random.default_rng(1))
    benchmark.pedantic(
        federated_training.trained,
        (network, shard, start, SETTINGS, np.random.default_rng(2)),
        rounds=3,
        warmup_rounds=1,
    )


@pytest.mark.benchmark(group="local steps, 50 clients, 109386 parameters")
def test_local_steps_pytorch(benchmark):
    """The same steps with torch.func.vmap over the clients, CPU."""
    torch = pytest.importorskip("torch")
    from torch.func import functional_call, grad, vmap

    torch.set_num_threads(2)
    task = data.load("mnist")
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
    )
    start = {name: p.detach() for name, p in model.named_parameters()}
    x = torch.tensor(task.train.x, dtype=torch.float32)
    y = torch.tensor(task.train.y)
    shares = torch.tensor(np.random.default_rng(0).permutation(task.train.y.size).reshape(50, -1))

    def loss(parameters, inputs, labels):
        return torch.nn.functional.cross_entropy(functional_call(model, parameters, (inputs,)), labels)

    gradients = vmap(grad(loss))

    def steps():
        local = {name: p.repeat(50, *[1] * p.ndim) for name, p in start.items()}
        for _ in range(SETTINGS.local_steps):
            rows = shares.gather(1, torch.randint(0, shares.shape[1], (50, SETTINGS.batch)))
            found = gradients(local, x[rows], y[rows])
            local = {name: local[name] - SETTINGS.learning_rate * found[name] for name in local}
        return local

    benchmark.pedantic(steps, rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group="a round, 50 clients, 109386 parameters")
def test_round_with_few_bits(benchmark):
    task = data.load("mnist")
    few = replace(SYSTEM, shared_bits=1)
    benchmark.pedantic(federated_training.run, (few, SETTINGS, "corbin"), {"task": task}, rounds=3, warmup_rounds=1)
