"""Flower's own simulation with clients that protect their updates and a server that asks nobody beyond the budget.

    pip install 'airtight-dp[flower]' 'flwr[simulation]' scikit-learn
    python examples/flower_digits.py log.jsonl

Twenty clients learn handwritten digits for five rounds. Every client clips its update and adds noise; the meter stops asking
those who have spent epsilon = 25. (Without secure aggregation each client hides alone, hence the large number.)
"""

import json
import sys
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from sklearn.datasets import load_digits

from airtight import Meter
from airtight.integrations.flower import GaussianMod, Metered

CLIENTS, ROUNDS = 20, 5
x, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
x, y = x[order] / 16, y[order]
mod = GaussianMod(clip=1.0, noise_variance=0.25)
client, server = ClientApp(mods=[mod]), ServerApp()
told = {}


def gradient(weight: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the mean cross-entropy."""
    score = np.exp(x @ weight)
    score /= score.sum(axis=1, keepdims=True)
    score[np.arange(len(y)), y] -= 1
    return np.asarray(x.T @ score / len(y))


@client.train()
def train(message: Message, context: Context) -> Message:
    """Ten steps on the client's seventy images."""
    weight = message.content["arrays"]["weight"].numpy().copy()
    first = 70 * int(context.node_config["partition-id"])
    for _ in range(10):
        weight -= 0.5 * gradient(weight, x[first : first + 70], y[first : first + 70])
    arrays = ArrayRecord({"weight": Array(weight)})
    return Message(
        content=RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 1})}), reply_to=message
    )


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Five rounds of sixteen clients."""
    meter = Meter(25.0, 1e-5, devices=CLIENTS, adaptive=False)
    average = FedAvg(fraction_train=0.8, fraction_evaluate=0.0, min_available_nodes=CLIENTS)
    metered = Metered(average, meter, mod.release(CLIENTS), log=Path(sys.argv[1]))
    start = ArrayRecord({"weight": Array(np.zeros((64, 10)))})
    found = metered.start(grid=grid, initial_arrays=start, num_rounds=ROUNDS)
    guess = np.argmax(x[1400:] @ found.arrays["weight"].numpy(), axis=1)
    told["accuracy"] = float(np.mean(guess == y[1400:]))
    told["epsilon"] = [reading.epsilon for reading in metered.spent().values()]


run_simulation(server_app=server, client_app=client, num_supernodes=CLIENTS)
print(json.dumps(told))
