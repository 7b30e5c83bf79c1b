"""The work of ``airtight train``: federated mechanisms, inference schemes and energy policies, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.progress import each_reported
from airtight.analytics.records import plain
from airtight.analytics.tidy import Entry
from airtight.results.result import Result
from airtight.results.training_results import (
    DataUsed,
    FederatedTraining,
    InferenceTraining,
    PolicyTraining,
    SchemeTraining,
    TrainingResult,
)
from airtight.system_file.contents import SystemFile
from airtight.validate.experiments.seeds import compared
from airtight.validate.experiments.training import data, inference_training, utility_training, views
from airtight.validate.experiments.training.federated_training import Round, Run, run
from airtight.validate.experiments.training.inference_training import Air, Measured, Scheme, Selection
from airtight.validate.experiments.training.own_data import OwnData
from airtight.validate.experiments.training.training_plan import Dataset, Mechanism, Plan, Settings, plan
from airtight.validate.experiments.training.utility_training import Learned
from airtight.validate.experiments.training.views import WIDTH, Setup


def run_all(
    system: FederatedSystem,
    chosen: Plan,
    *,
    checkpoints: Path | None = None,
    advance: Callable[[str], None] = lambda done: None,
    source: data.Source | None = None,
) -> list[Run]:
    """Train with every mechanism, on the dataset of the settings or on `source`; `advance` is called after every round.

    Examples
    --------
    >>> from airtight.validate.experiments.training.training_plan import plan
    >>> short = plan({"rounds": 1, "hidden": [4], "mechanisms": ["ldp"]})
    >>> [r.mechanism.value for r in run_all(FederatedSystem(clients=5, parameters=1, epsilon=1.0), short)]
    ['ldp']
    """
    runs, seed = [], chosen.settings.seed
    task = None if source is None else data.load(source, seed=seed)
    for kind in chosen.mechanisms:

        def report_round(number: int, done: Round, kind: Mechanism = kind) -> None:
            spent = f", epsilon {system.epsilon * (number + 1):g} a parameter" if kind.private else ""
            advance(f"{kind.value}: accuracy {done.validation:.3f}{spent}")

        path = _checkpoint(checkpoints, kind.value)
        runs.append(run(system, chosen.settings, kind, checkpoint=path, progress=report_round, task=task))
    return runs


def _checkpoint(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / f"{name}.npz"


def _progress(advance: Callable[[str], None], name: str) -> Callable[[int, float], None]:
    """A progress callback that passes name and accuracy to `advance`."""
    return lambda number, accuracy: advance(f"{name}: accuracy {accuracy:.3f}")


_INFERENCE_ROUNDS = 20  # simulated transmissions of every test image


def inferred(
    system: InferenceSystem,
    *,
    scores: Selection | None,
    seed: int,
    codec: str = "trained",
    checkpoints: Path | None = None,
    advance: Callable[[str], None] = lambda done: None,
    source: data.Source = Dataset.DIGITS,
) -> tuple[Setup, dict[str, Measured]]:
    """Measure Scheme 1, and with `scores` Schemes 2.1 and 2.2; the dimension is reduced to at most the features' 32.

    Over a channel the looks and who sends are those of the system before its dimension is reduced.
    """
    channel = system.channel
    air = None if channel is None else Air(drawn=channel.draw(system), fresh=channel.fresh)
    system = replace(system.one_round, dimension=min(system.dimension, WIDTH))
    setup = views.prepare(devices=system.devices, dimension=system.dimension, codec=codec, seed=seed, source=source)
    measured = {}
    for scheme in Scheme if scores else (Scheme.RANDOM,):
        measured[scheme.value] = inference_training.measure(
            setup,
            system,
            scheme=scheme,
            selection=scores,
            air=air,
            rounds=_INFERENCE_ROUNDS,
            seed=seed,
            checkpoint=_checkpoint(checkpoints, f"scheme-{scheme.value}"),
            progress=_progress(advance, f"scheme {scheme.value}"),
        )
    return setup, measured


def policies(
    fleet: DeviceFleet,
    *,
    rounds: int,
    seed: int,
    checkpoints: Path | None = None,
    advance: Callable[[str], None] = lambda done: None,
    source: data.Source = Dataset.DIGITS,
) -> dict[str, Learned]:
    """Run UF Algorithm 1 with each scheme."""
    learned = {}
    for scheme in utility_training.Scheme:
        learned[scheme.value] = utility_training.run(
            fleet,
            utility_training.Plan(rounds=rounds, seed=seed),
            scheme,
            checkpoint=_checkpoint(checkpoints, scheme.value),
            progress=_progress(advance, scheme.value),
            source=source,
        )
    return learned


class Part(StrEnum):
    """The parts of a system file that can be trained."""

    FEDERATED = "federated"
    INFERENCE = "inference"
    ENERGY = "energy"


@dataclass(frozen=True)
class Trained(Result):
    """The results as the JSON of ``train``, and the federated runs of all seeds."""

    tree: TrainingResult
    runs: tuple[Run, ...] = ()

    def tidy(self) -> dict[str, object]:
        """The numbers of the table, by part and then mechanism, scheme or policy; the mean over the seeds has an interval."""
        parts: dict[str, object] = {}
        for part, (key, _, _) in _COMPARED.items():
            tree: Any = self.tree.get(part.value)
            if tree is not None:
                parts[part.value] = {name: _tidy_row(row) for name, row in (tree[key] if key else tree).items()}
        return parts

    def to_dict(self) -> dict[str, Any]:
        """The JSON of the command: numbers that are not finite become strings."""
        tree: dict[str, Any] = plain(self.tree)
        return tree


def _tidy_row(row: Mapping[str, Any]) -> dict[str, object]:
    """The numbers of a mechanism, a scheme or a policy: of the first seed, over the seeds, and round by round."""
    tree: dict[str, object] = {name: value for name, value in row.items() if isinstance(value, int | float)}
    if (spent := row.get("epsilon_spent_one_parameter")) is not None:
        tree["epsilon_spent_one_parameter"] = Entry(value=spent, observer="uplink", rounds=len(row["rounds"]))
    for name, value in row.get("over_seeds", {}).items():
        if isinstance(value, dict):
            low, high = value["interval"]
            tree[f"{name}.mean"] = Entry(value=value["mean"], lower=low, upper=high)
            tree[f"{name}.values"] = dict(enumerate(value["values"]))
    for number, done in enumerate(row.get("rounds", ()), 1):
        for name, value in done.items():
            tree.setdefault(f"round.{name}", []).append(Entry(value=value, rounds=number))  # type: ignore[attr-defined]
    if isinstance(row.get("accuracy"), list):
        tree["round.test"] = [Entry(value=value, rounds=number) for number, value in enumerate(row["accuracy"], 1)]
    return tree


_COMPARED = {  # JSON key of the rows of a part, row that is the base ("" for the first), numbers compared over seeds
    Part.FEDERATED: ("mechanisms", "", ("test_accuracy",)),
    Part.INFERENCE: ("schemes", "", ("accuracy", "mse", "participation")),
    Part.ENERGY: ("", "benchmark", ("test_accuracy", "loss_mean", "loss_std", "energy_mean", "energy_std")),
}


def rounds(description: SystemFile, parts: Sequence[Part], chosen: Plan) -> int:
    """Number of rounds of all parts together, over all seeds."""
    schemes = len(Scheme) if description.scores is not None else 1
    rounds_of = {
        Part.FEDERATED: chosen.rounds,
        Part.INFERENCE: schemes * _INFERENCE_ROUNDS,
        Part.ENERGY: len(utility_training.Scheme) * chosen.fleet_rounds,
    }
    return int(chosen.seeds) * sum(rounds_of[part] for part in parts)


def described(description: SystemFile) -> list[Part]:
    """The parts that the system file contains."""
    return [part for part in Part if getattr(description, part.value) is not None]


def servable(description: SystemFile) -> list[Part]:
    """The parts for which the digits suffice.

    Inference needs a view for every device; energy needs an image for every device, and devices that keep their
    deadline.
    """

    def fits(part: Part) -> bool:
        match part:
            case Part.INFERENCE:
                return description.inference is not None and description.inference.devices <= views.MOST_DEVICES
            case Part.ENERGY:
                fleet = description.energy
                images = data.load().train.y.size
                return fleet is not None and bool(fleet.feasible.all()) and fleet.devices <= images
            case _:
                return True

    return [part for part in described(description) if fits(part)]


def _no_progress(done: str) -> None:
    """Report nothing."""


def train(
    description: SystemFile,
    parts: Sequence[Part],
    chosen: Plan,
    *,
    checkpoints: Path | None = None,
    advance: Callable[[str], None] = _no_progress,
    executor: Executor | None = None,
    source: OwnData | None = None,
) -> Trained:
    """Train the given parts of a system file, which must contain them, once per seed.

    They learn from `source`, or else from handwritten digits. All parts of one run use the same seed. Numbers that are not
    compared over seeds are those of the first seed. An executor runs the seeds in parallel; `advance` is then never called.
    """
    results, futures = [], []
    for number, one_seed in enumerate(chosen.each()):
        folder = checkpoints if checkpoints is None or number == 0 else checkpoints / f"seed-{one_seed.settings.seed}"
        if folder is not None:
            folder.mkdir(exist_ok=True)
        if executor is None:
            results.append(_one_seed(description, parts, one_seed, folder, advance, source))
        else:
            futures.append(executor.submit(_one_seed, description, parts, one_seed, folder, _no_progress, source))
    results += [one.result() for one in futures]
    seeds = [one_seed.settings.seed for one_seed in chosen.each()]
    trees: list[dict[str, Any]] = [{**one.tree} for one in results]
    for part in trees[0]:
        _over_seeds(Part(part), [tree[part] for tree in trees], seeds)
    tree = results[0].tree
    if source is not None:
        tree["data"] = DataUsed(
            name=source.name,
            samples=source.y.size,
            classes=list(source.classes),
            own_clients=source.client is not None,
            sha256=source.digest,
        )
    return Trained(tree, tuple(run for one in results for run in one.runs))


def train_on(
    system: InferenceSystem | FederatedSystem | DeviceFleet,
    source: OwnData | None,
    *,
    training: Mapping[str, Any],
    checkpoints: Path | None = None,
    executor: Executor | None = None,
    progress: bool = False,
) -> Trained:
    """Train one system, with keys of the table [training].

    Raises
    ------
    ParameterError
        When a key or a value is not allowed, or the data do not fit the system.
    """
    try:
        chosen = plan(dict(training))
    except TypeError:
        unknown = next(
            iter(set(training) - {field.name for field in fields(Settings)} - {"mechanisms", "codec", "seeds"}), ""
        )
        raise ParameterError(unknown, training.get(unknown), "absent: no key of [training]") from None
    kinds = {InferenceSystem: Part.INFERENCE, FederatedSystem: Part.FEDERATED, DeviceFleet: Part.ENERGY}
    part = kinds.get(type(system))
    if part is None:
        raise ParameterError("system", type(system).__name__, "an InferenceSystem, a FederatedSystem or a DeviceFleet")
    described: dict[str, Any] = {part.value: system}
    if checkpoints is not None:
        checkpoints.mkdir(parents=True, exist_ok=True)
    description = SystemFile("system", **described)
    advance = each_reported(rounds(description, [part], chosen), "rounds", progress=progress)
    return train(
        description, [part], chosen, checkpoints=checkpoints, advance=advance, executor=executor, source=source
    )


def _over_seeds(part: Part, trees: Sequence[dict[str, Any]], seeds: Sequence[int]) -> None:
    """Write means, intervals and paired differences from the part's base into every row of the first tree."""
    key, base, names = _COMPARED[part]
    rows = [tree[key] if key else tree for tree in trees]
    base = base or next(iter(rows[0]))
    values = {kind: {name: [seed_rows[kind][name] for seed_rows in rows] for name in names} for kind in rows[0]}
    for kind, row in rows[0].items():
        comparison = {name: compared(values[kind][name], values[base][name]) for name in names}
        row["over_seeds"] = {"seeds": list(seeds), "base": base, **comparison}


def _one_seed(
    description: SystemFile,
    parts: Sequence[Part],
    chosen: Plan,
    checkpoints: Path | None,
    advance: Callable[[str], None],
    source: OwnData | None,
) -> Trained:
    """Train the parts with one seed."""
    tree: TrainingResult = {}
    runs: list[Run] = []
    options: dict[str, Any] = {"checkpoints": checkpoints, "advance": advance}
    if source is not None:
        options["source"] = source
    if Part.FEDERATED in parts and description.federated is not None:
        runs = run_all(description.federated, chosen, **options)
        tree["federated"] = as_json(description.federated, chosen, runs, None if source is None else source.name)
    if Part.INFERENCE in parts and description.inference is not None:
        tree["inference"] = _inference_part(description, description.inference, chosen, options)
    if Part.ENERGY in parts and description.energy is not None:
        learned = policies(description.energy, rounds=chosen.fleet_rounds, seed=chosen.settings.seed, **options)
        tree["energy"] = {name: _policy_json(policy) for name, policy in learned.items()}
    return Trained(tree, tuple(runs))


def _inference_part(
    description: SystemFile, system: InferenceSystem, chosen: Plan, options: dict[str, Any]
) -> InferenceTraining:
    rules = None
    if description.scores is not None:
        table = description.scores
        rules = Selection(score_noise=table.noise, threshold=table.threshold, selected=table.selected)
    channel = system.channel
    setup, measured = inferred(
        system, scores=rules, seed=chosen.settings.seed, codec=chosen.codec, **options
    )
    training: InferenceTraining = {
        "devices": system.devices,
        "dimension": len(setup.encoder),
        "codec": chosen.codec,
        "ideal_accuracy": setup.ideal,
        "schemes": {name: _measured_json(measurement) for name, measurement in measured.items()},
    }
    if channel is not None:
        training["looks"] = channel.draw(system).coefficients.shape[2]
    return training


def _measured_json(measurement: Measured) -> SchemeTraining:
    return {
        "accuracy": measurement.accuracy,
        "accuracy_error": measurement.accuracy_error,
        "mse": measurement.mse,
        "mse_error": measurement.mse_error,
        "exact_mse": measurement.exact_mse,
        "participation": measurement.participation,
    }


def _policy_json(learned: Learned) -> PolicyTraining:
    return {
        "test_accuracy": float(learned.accuracy[-1]),
        "loss_mean": float(learned.loss[-1].mean()),
        "loss_std": float(learned.loss[-1].std()),
        "energy_mean": float(learned.energy.mean()),
        "energy_std": float(learned.energy.mean(axis=0).std()),
        "iterations_mean": float(learned.iterations.mean()),
        "accuracy": learned.accuracy.tolist(),
    }


def as_json(
    system: FederatedSystem, chosen: Plan, runs: Sequence[Run], dataset: str | None = None
) -> FederatedTraining:
    """The federated part of the JSON of ``train``; `dataset` is the name of a user's data."""
    return {
        "settings": {**asdict(chosen.settings), "dataset": dataset or chosen.settings.dataset.value},
        "clients": system.clients,
        "epsilon": system.epsilon,
        "parameters": runs[0].parameters,
        "mechanisms": {
            one.mechanism.value: {
                "test_accuracy": one.best.test,
                "validation_accuracy": one.best.validation,
                "epsilon_spent_one_parameter": one.epsilon_spent,
                "rounds": [asdict(done) for done in one.history],
            }
            for one in runs
        },
    }
