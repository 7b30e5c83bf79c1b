"""The JSON of ``airtight train``, part by part."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from airtight.validate.experiments.seeds import Comparison
from airtight.validate.experiments.training.federated_training import Round
from airtight.validate.experiments.training.training_plan import Settings


class OverSeeds(TypedDict, total=False):
    """Numbers of a row over all seeds, each with its paired difference from the row `base`."""

    seeds: list[int]
    base: str
    test_accuracy: Comparison
    accuracy: Comparison
    mse: Comparison
    participation: Comparison
    loss_mean: Comparison
    loss_std: Comparison
    energy_mean: Comparison
    energy_std: Comparison


class _Row(TypedDict, total=False):
    over_seeds: OverSeeds


class MechanismTraining(_Row):
    """Federated learning by one mechanism; accuracies at the best validation accuracy."""

    test_accuracy: float
    validation_accuracy: float
    epsilon_spent_one_parameter: float
    rounds: list[Annotated[dict[str, Any], Round]]


class FederatedTraining(TypedDict):
    """Federated learning by every mechanism; `settings.dataset` is the name of a user's data, if there are any."""

    settings: Annotated[dict[str, Any], Settings]
    clients: int
    epsilon: float
    parameters: int
    mechanisms: dict[str, MechanismTraining]


class SchemeTraining(_Row):
    """Collaborative inference by one scheme; the errors are standard errors over the rounds."""

    accuracy: float
    accuracy_error: float
    mse: float
    mse_error: float
    exact_mse: float
    participation: float


class InferenceTraining(TypedDict):
    """Collaborative inference by every scheme; `ideal_accuracy` is without channel and codec, `looks` over a channel only."""

    devices: int
    dimension: int
    codec: str
    ideal_accuracy: float
    looks: NotRequired[int]
    schemes: dict[str, SchemeTraining]


class PolicyTraining(_Row):
    """Learning under one energy policy: losses and energies (J) over the devices, and the accuracy of every round."""

    test_accuracy: float
    loss_mean: float
    loss_std: float
    energy_mean: float
    energy_std: float
    iterations_mean: float
    accuracy: list[float]


class DataUsed(TypedDict):
    """Data of a user: file name, number of samples, labels of the classes, whether the clients are given, SHA-256."""

    name: str
    samples: int
    classes: list[int]
    own_clients: bool
    sha256: str


class TrainingResult(TypedDict, total=False):
    """The parts that were trained."""

    federated: FederatedTraining
    inference: InferenceTraining
    energy: dict[str, PolicyTraining]
    data: DataUsed
