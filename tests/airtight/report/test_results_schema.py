"""What every command prints with --json keeps the published schema, and the schema is not so wide that anything does."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import fastjsonschema
import pytest
from support.common import FLEET, GOOD, TASK, TRAINING, archive, run, written
from support.paths import ROOT

from airtight.report import results_schema

SCHEMA = results_schema.schema()
QUIET = GOOD + 'adjacency = "silent"\n'
DESIGN = """
[design]
minimise = "energy"
epsilon_at_most = 4.0
free = ["noise_variance"]
effort = 300
"""
ROUND = """
participants = [0, 1]
devices = 3
noise_variance = 60.0
weight = 1.0
clip = 1.0
receiver_noise_variance = 0.1
"""
CENTRAL = "[federated]\nclients = 20\nparameters = 1\nepsilon = 2.0\nshared_bits = 3\ndelta = 1e-5\n"
ONE_ROUND = TRAINING.replace("rounds = 3", "rounds = 1")


def system(folder, text: str, name: str = "system.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def outputs(folder):
    """Arguments of commands, by the name of their schema."""
    archive(folder)
    full, fleet = system(folder, GOOD + TASK, "full.toml"), system(folder, FLEET, "fleet.toml")
    federated, training = system(folder, CENTRAL, "central.toml"), system(folder, TRAINING, "training.toml")
    wanted = system(folder, QUIET + DESIGN, "design.toml")
    one = system(folder, ROUND, "round.toml")
    yield "bounds", ("bounds", full)
    yield "bounds-link", ("bounds", system(folder, GOOD + '[inference.channel]\nfading = "rayleigh"\n', "over.toml"), "--link")
    yield "bounds-of-several-files", ("bounds", full, fleet)
    yield "bounds-over-rounds", ("bounds", wanted, "--rounds", "1,2", "--budget", "9")
    yield "bounds", ("bounds", federated)
    yield "attack", ("attack", full, "--samples", "300")
    yield "attack", ("attack", training, "--runs", "10", "--rounds", "1")
    yield "curve", ("curve", "--sigma", "2", "--q", "0.1", "--steps", "10")
    yield "calibrate", ("calibrate", wanted, "--epsilon", "2")
    yield "design", ("design", wanted)
    yield "quantities", ("quantities", full)
    yield (
        "solve-weights",
        ("solve", "weights", system(folder, QUIET + TASK.replace("cap = 4.0", "cap = 6.0"), "quiet.toml")),
    )
    yield "solve-energy", ("solve", "energy", fleet)
    yield "solve-energy", ("solve", "energy", fleet, "--export", "C", "--out", folder / "c")
    yield "solve-quantizer", ("solve", "quantizer", federated, "--bits", "1")
    yield "solve-quantizer", ("solve", "quantizer", federated, "--bits", "1", "--pairs")
    yield "meter", ("meter", folder / "log.jsonl", "--budget", "2", "--delta", "1e-5", "--devices", "3")
    yield "meter", ("meter", folder / "log.jsonl", "--add", one)
    yield "meter", ("meter", folder / "log.jsonl")
    yield "train", ("train", training)
    yield "verify", ("verify", "FDP-D2", "UF-E6", "CB-T1", "--effort", "100")
    yield "try", ("try", ROOT / "examples" / "lemmas.py", "L1")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Name of the schema and what was printed, of every command."""
    found = []
    for name, arguments in outputs(tmp_path_factory.mktemp("printed")):
        ended = run(*arguments, "--json")
        assert ended.exit_code in (0, 1, 4), (arguments, ended.output)
        found.append((name, json.loads(ended.stdout)))
    return found


def check(name: str):
    return fastjsonschema.compile({**SCHEMA, "$ref": f"#/$defs/{name}"})


def test_every_command_keeps_its_schema(printed) -> None:
    assert {name for name, _ in printed} | {"card"} == {results_schema.key(name) for name in results_schema.COMMANDS}
    for name, tree in printed:
        check(name)(tree)


def nodes(tree, path=()):
    """Every object of a tree, by its path."""
    if isinstance(tree, dict):
        yield path
        for key, value in tree.items():
            yield from nodes(value, (*path, key))
    elif isinstance(tree, list):
        for place, value in enumerate(tree[:2]):
            yield from nodes(value, (*path, place))


@pytest.mark.parametrize("name", ["train", "verify", "meter", "solve-energy"])
def test_what_does_not_belong_is_refused(printed, name) -> None:
    tree = next(tree for found, tree in printed if found == name)
    refuse, free = check(name), 0
    for path in list(nodes(tree))[:40]:
        changed = copy.deepcopy(tree)
        place = changed
        for step in path:
            place = place[step]
        place["not a key"] = [object()]
        try:
            refuse(changed)
        except fastjsonschema.JsonSchemaException:
            continue
        free += 1
    assert free == 0


def test_all_items_and_witnesses_keep_the_schema() -> None:
    from airtight.validate.claims.evidence import item_as_json, shipped
    from airtight.validate.claims.sources import INSTALLED

    rows = [one.to_dict() for one in shipped().evidence] + [item_as_json(item) for item in INSTALLED.items().values()]
    assert len(rows) > 100 and any(row["witness"] for row in rows) and any(row["implementation"] for row in rows)
    check("verify")(json.loads(json.dumps(rows)))


def test_a_card_keeps_the_schema(tmp_path) -> None:
    path = written(tmp_path, GOOD.replace("delta_prime", 'adjacency = "silent"\ndelta_prime'))
    assert run("card", path, "--out", tmp_path / "card").exit_code == 0
    tree = json.loads((tmp_path / "card" / "card.json").read_text())
    check("card")(tree)
    tree["systems"][0].pop("sentences")
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check("card")(tree)


def test_training_of_all_parts_and_own_data(tmp_path) -> None:
    import numpy as np

    import airtight
    from airtight.analytics.federated.fair.device import table_1
    from airtight.results import training_run
    from airtight.validate.experiments.training.utility_training import Learned

    X = np.random.default_rng(0).random((60, 4))
    server = airtight.InferenceSystem(
        devices=2, participation=0.9, noise_variance=0.1, weight=0.5, clip=1.0, alignment=1.0,
        receiver_noise_variance=0.1, dimension=2, delta=1e-5,
    )  # fmt: skip
    found = airtight.train(server, X, X[:, 0] > 0.5, clients=np.arange(60) % 2, seeds=2)
    check("train")(found.to_dict())
    assert found.tree["data"]["own_clients"] is True and table_1
    learned = Learned(*(np.ones((1, 2)) for _ in range(4)), accuracy=np.ones(1), beta=np.ones((2, 2)))
    check("train")({"energy": {"proposed": training_run._policy_json(learned)}})
