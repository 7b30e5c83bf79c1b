"""The verb ``airtight.sweep``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics import parameters
from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.system import InferenceSystem
from airtight.validate.running import pool_of
from airtight.validate.sweep.plan import Sweep, planned
from airtight.validate.sweep.run import run
from airtight.validate.system_file import config

if TYPE_CHECKING:
    import xarray as xr

_RETRIES = 3
_TABLES: dict[type, str] = {InferenceSystem: "inference", FederatedSystem: "federated", DeviceFleet: "energy"}


def prepared(source: Any, over: Mapping[str | tuple[str, ...], Iterable[Any]], quantities: Sequence[str] = ()) -> Sweep:
    """The plan of a sweep over the systems that `source` describes: see :func:`sweep`.

    Raises
    ------
    AirtightError
        When the system itself, an axis or a quantity is not allowed.
    """
    if isinstance(source, str | Path):
        raw, where = config.read(source), str(source)
    elif isinstance(source, dict):
        raw, where = source, "tables"
    elif type(source) in _TABLES:
        raw, where = {_TABLES[type(source)]: _table(source)}, "system"
    else:
        raise ParameterError("source", type(source).__name__, "a system file, its tables, or a value type of airtight")
    config.described(raw, Path(where))
    return planned(raw, where, over, quantities)


def _table(system: Any) -> dict[str, Any]:
    """As the system file would hold it."""
    out: dict[str, Any] = {}
    for name in [each.name for each in fields(system) if each.name in parameters.of(type(system))]:
        value = getattr(system, name)
        if isinstance(value, np.ndarray):
            alike = isinstance(system, InferenceSystem) and np.unique(value).size == 1
            value = float(value.flat[0]) if alike else value.tolist()
        out[name] = getattr(value, "value", value)
    if isinstance(system, DeviceFleet):
        out["beta"] = [out.pop("beta_1"), out.pop("beta_2")]
    return out


def sweep(
    source: Any,
    over: Mapping[str | tuple[str, ...], Iterable[Any]],
    *,
    quantities: Sequence[str] = (),
    out: str | Path | None = None,
    executor: Any = None,
    workers: int | None = None,
    started: Callable[[int], Callable[[str], None]] | None = None,
) -> xr.Dataset:
    """Quantities over a grid of systems, as a Dataset.

    Parameters
    ----------
    source : path, dict, InferenceSystem, FederatedSystem or DeviceFleet
        A system file, its tables, or one of the value types.
    over : mapping
        Keys of the system file to values: ``{"participation": np.linspace(0.1, 1, 10)}``. Several keys make a product;
        a tuple of keys moves together: ``{("clip", "weight"): [(1, 0.1), (2, 0.05)]}``. ``participation[3]`` is one device's.
    quantities : sequence of str, optional
        Names (docs, sweep) or places in the JSON of ``bounds`` and ``solve energy``; by default the usual ones.
    out : path, optional
        The store, a zarr group: what is there already is not computed again. By default nothing is kept.
    executor : concurrent.futures.Executor or distributed.Client, optional
        Where blocks are computed; by default in this process.
    workers : int, optional
        How many it has; by default as many as there are processors here, or as the client knows.
    started : callable, optional
        Is told how many blocks are missing, and returns what is told of each that is done.

    Returns
    -------
    xarray.Dataset
        With units, the ends of intervals as ``NAME_lower`` and ``NAME_upper``, and nan for what has failed, whose message is in
        the variable ``PART.message``.

    Raises
    ------
    ParameterError
        For an axis or a quantity that there is not, or values that are not allowed.
    SystemFileError
        When the system itself is not allowed.
    StoreError
        When the store holds something else or is in use.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> found = sweep(system, {"participation": [0.5, 0.9], "adjacency": ["absent", "silent"]})
    >>> found.epsilon.dims, found.epsilon.sel(adjacency="silent").values.round(4)
    (('participation', 'adjacency'), array([2.2052, 1.5015]))
    """
    from airtight.validate.sweep.dataset import opened

    plan = prepared(source, over, quantities)
    known = os.cpu_count() or 1
    if hasattr(executor, "get_executor"):
        executor, known = _of_client(executor)
    with _folder(out) as path:
        run(plan, path, executor=executor, workers=known if workers is None else workers, started=started)
        found = opened(path)
        return found if out is not None else found.load()


@contextmanager
def _folder(out: str | Path | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="airtight-sweep-") as folder:
        yield Path(folder)


@contextmanager
def workforce(scheduler: str | None, blocks: int) -> Iterator[tuple[Executor | None, int]]:
    """Who computes: the workers of a Dask scheduler, or the processors here.

    Raises
    ------
    ParameterError
        When there is no scheduler at the address.
    """
    if scheduler is None:
        with pool_of(max(blocks, 1)) as found:
            yield found
        return
    from distributed import Client

    try:
        client = Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ParameterError("--scheduler", scheduler, f"the address of a Dask scheduler: {error}") from None
    with client:
        yield _of_client(client)


def _of_client(client: Any) -> tuple[Executor, int]:
    """The workers of a Dask client, and how many threads they have; blocks that one loses are tried elsewhere."""
    return client.get_executor(retries=_RETRIES), max(sum(client.nthreads().values()), 1)
