"""The packages that airtight is compared with, loaded before a clock runs; a benchmark whose peer is not there is skipped."""

import importlib.util
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import Any

import pytest

DP_ACCOUNTING = "dp_accounting.pld.privacy_loss_distribution"


@cache
def load(name: str) -> ModuleType:
    """The module of a peer. Of Opake only the compiled one: its package fails to import on Python 3.11.7."""
    if name != "opake-accounting":
        return pytest.importorskip(DP_ACCOUNTING if name == "dp-accounting" else name)
    try:
        files = metadata.files(name) or ()
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    path = next(file.locate() for file in files if file.name.startswith("opake_accounting.") and file.suffix != ".pyi")
    spec = importlib.util.spec_from_file_location("opake_accounting", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def law(peer: str, mu: float, q: float, rounds: int, step: float) -> Any:
    """The peer's privacy loss distribution of DP-SGD: Gaussian of this mu on a Poisson sample of rate q, so many rounds."""
    module = load(peer)
    if peer == "opake-accounting":
        release = module.gaussian_pld(1 / mu, module.DiscretizationConfig(step))
        release = release if q == 1 else module.poisson_pld(release, q)
    elif peer == "PLD_accounting":
        plain = load("dp-accounting").from_gaussian_mechanism(1 / mu, value_discretization_interval=step)
        release = module.subsample_pld(pld=plain, sampling_probability=q)
    else:
        release = module.from_gaussian_mechanism(1 / mu, sampling_prob=q, value_discretization_interval=step)
    return release.self_compose(rounds) if rounds > 1 else release


def epsilons(distribution: Any, deltas: Sequence[float]) -> list[float]:
    """The peer's epsilons, one by one: no peer takes many deltas."""
    ask = getattr(distribution, "epsilon_at", None) or distribution.get_epsilon_for_delta
    return [ask(delta) for delta in deltas]
