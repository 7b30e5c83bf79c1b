"""What ``airtight train`` does: every mechanism of a plan, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analytics import checks
from analytics.federated.system import FederatedSystem
from validate.training.federated import Mechanism, Round, Run, Settings, run

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


def run_all(
    system: FederatedSystem,
    chosen: Plan,
    *,
    checkpoints: Path | None = None,
    advance: Callable[[str], None] = lambda done: None,
) -> list[Run]:
    """Run every mechanism; `advance` hears of every round.

    Examples
    --------
    >>> short = plan({"rounds": 1, "hidden": [4], "mechanisms": ["ldp"]})
    >>> [r.mechanism.value for r in run_all(FederatedSystem(clients=5, parameters=1, epsilon=1.0), short)]
    ['ldp']
    """
    found = []
    for kind in chosen.mechanisms:

        def told(number: int, done: Round, kind: Mechanism = kind) -> None:
            private = kind not in (Mechanism.VANILLA, Mechanism.STRATIFIED)
            spent = f", epsilon {system.epsilon * (number + 1):g} a parameter" if private else ""
            advance(f"{kind.value}: accuracy {done.validation:.3f}{spent}")

        path = None if checkpoints is None else checkpoints / f"{kind.value}.npz"
        found.append(run(system, chosen.settings, kind, checkpoint=path, progress=told))
    return found


def as_json(system: FederatedSystem, chosen: Plan, found: Sequence[Run]) -> dict[str, Any]:
    """The JSON of ``train``."""
    return {
        "settings": {**asdict(chosen.settings), "dataset": chosen.settings.dataset.value},
        "clients": system.clients,
        "epsilon": system.epsilon,
        "parameters": found[0].parameters,
        "mechanisms": {
            one.mechanism.value: {
                "test_accuracy": one.best.test,
                "validation_accuracy": one.best.validation,
                "epsilon_spent_one_parameter": one.epsilon_spent,
                "rounds": [asdict(done) for done in one.history],
            }
            for one in found
        },
    }
