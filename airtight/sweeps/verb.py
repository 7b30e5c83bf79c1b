"""The function ``airtight.sweep``."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airtight.analytics import checks, parameters
from airtight.analytics.checks import ParameterError
from airtight.analytics.extras import require
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.federated.fair.device import DeviceFleet
from airtight.analytics.inference.channel import Channel
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.progress import each_reported
from airtight.running import pool_of
from airtight.sweeps.plan import Sweep, planned
from airtight.sweeps.run import run
from airtight.system_file import config

if TYPE_CHECKING:
    import xarray as xr

_RETRIES = 3  # attempts of Dask to compute a block again whose worker was lost
_CONNECTION = 5.0  # s in which a scheduler must have been reached
_ANSWER = 2.0  # s in which a scheduler says how many workers it has
_TABLES: dict[type, str] = {InferenceSystem: "inference", FederatedSystem: "federated", DeviceFleet: "energy"}


def prepared(
    source: Any,
    over: Mapping[str | tuple[str, ...], Iterable[Any]],
    quantities: Sequence[str] = (),
    *,
    where: str = "tables",
) -> Sweep:
    """The plan of a sweep over the systems that `source` describes: see :func:`sweep`.

    `where` is the file from which tables were made: other files are found beside it.

    Raises
    ------
    AirtightError
        When the system itself, an axis or a quantity is not allowed.
    """
    if isinstance(source, str | Path):
        raw, where = config.read(source), str(source)
    elif isinstance(source, dict):
        raw = source
    elif type(source) in _TABLES:
        raw, where = {_TABLES[type(source)]: _table(source)}, "system"
    else:
        allowed = "the path of a system file, its tables, or a value type of airtight"
        raise ParameterError("source", type(source).__name__, allowed)
    files = config.attached(raw, Path(where))
    # quantities that ignore a channel are refused where there is one
    config.described(raw, Path(where), channel=True, files=files)
    return planned(raw, where, files, over, quantities)


def _table(system: Any) -> dict[str, Any]:
    """The table of the system file that describes a value type."""
    out: dict[str, Any] = {}
    for name in [each.name for each in fields(system) if each.name in parameters.of(type(system))]:
        value = getattr(system, name)
        if isinstance(value, Channel):
            if value.looks is not None:
                raise ParameterError("channel", "given looks", "drawn by a law; a system file names looks by `file`")
            value = value.to_dict()
        if value is None or (name == "participation" and system.power_decides):
            continue
        if isinstance(value, np.ndarray):
            all_equal = isinstance(system, InferenceSystem) and np.unique(value).size == 1
            value = float(value.flat[0]) if all_equal else value.tolist()
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
    progress: bool = False,
    replace: bool = False,
    failed: bool = False,
) -> xr.Dataset:
    """Compute quantities over a grid of systems, as a Dataset.

    Parameters
    ----------
    source : path, dict, InferenceSystem, FederatedSystem or DeviceFleet
        A system file, its tables, or one of the value types.
    over : mapping
        Keys of the system file to values: ``{"participation": np.linspace(0.1, 1, 10)}``. Several keys make a product;
        the keys of a tuple change together: ``{("clip", "weight"): [(1, 0.1), (2, 0.05)]}``. ``participation[3]`` is
        that of device 3 alone.
    quantities : sequence of str, optional
        Names (docs/howto-sweep.md) or paths in the JSON of ``bounds`` and ``solve energy``; by default the usual ones.
    out : path, optional
        The store, a zarr group: blocks that it has are not computed again. By default nothing is kept.
    executor : concurrent.futures.Executor or distributed.Client, optional
        Where blocks are computed; by default in this process.
    workers : int, optional
        Number of workers of the executor; by default the number of processors here, or of the client's threads.
    started : callable, optional
        Called with the number of missing blocks; returns a function that is called with the part of every finished
        block.
    progress : bool
        Whether to say on stderr every two seconds how many blocks are done, where nothing is `started`.
    replace : bool
        Whether a store of other values of the keys that are no axis, or of other contents of the files that the system
        names, may be overwritten; else it is refused.
    failed : bool
        Whether cells of the store that failed are computed again.

    Returns
    -------
    xarray.Dataset
        Variables have units. Bounds of a quantity are the variables ``NAME_lower`` and ``NAME_upper``. A failed cell is
        nan, and the variable ``PART.message`` holds its message.

    Raises
    ------
    ParameterError
        When an axis or a quantity does not exist, or when values are not allowed.
    SystemFileError
        When the system itself is not allowed.
    StoreError
        When the folder holds something else or is in use.
    SweepError
        When the run had to stop: a worker was lost, is short of memory, or has another version of the code. What the
        store has is kept.
    MissingExtraError
        Without the extra ``sweep``.

    Examples
    --------
    >>> from airtight.analytics.inference.system import InferenceSystem
    >>> system = InferenceSystem(devices=12, participation=0.9, noise_variance=0.1, weight=1/12, clip=5.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5, adjacency="silent")
    >>> dataset = sweep(system, {"participation": [0.5, 0.9], "adjacency": ["absent", "silent"]})
    >>> dataset.epsilon.dims, dataset.epsilon.sel(adjacency="silent").values.round(4)
    (('participation', 'adjacency'), array([2.2052, 1.5015]))
    """
    require("sweep")
    from airtight.sweeps.dataset import opened

    checks.instance("over", over, Mapping)  # type: ignore[type-abstract]
    for name in checks.instance("quantities", quantities, list, tuple):
        checks.instance("quantities", name, str)
    checks.flag("replace", replace)
    checks.flag("failed", failed)
    if workers is not None:
        checks.count("workers", workers)
    if out is not None:
        checks.instance("out", out, str, Path)
    if started is not None and not callable(started):
        raise ParameterError("started", started, "a function")
    if checks.flag("progress", progress) and started is None:
        started = partial(each_reported, what="blocks", progress=True)
    plan = prepared(source, over, quantities)
    known, alive = os.cpu_count() or 1, None
    if hasattr(executor, "get_executor"):
        executor, known, alive = _of_client(executor)
    asked = known if workers is None else workers
    with folder(out) as path:
        given: dict[str, Any] = {"executor": executor, "workers": asked, "started": started, "alive": alive}
        run(plan, path, replace=replace, failed=failed, **given)
        dataset = opened(path)
        return dataset if out is not None else dataset.load()


@contextmanager
def folder(out: str | Path | None) -> Iterator[Path]:
    """The folder of the store; without one a folder that is deleted in the end."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="airtight-sweep-") as folder:
        yield Path(folder)


@contextmanager
def workforce(scheduler: str | None, blocks: int) -> Iterator[tuple[Executor | None, int, Callable[[], bool] | None]]:
    """The executor, its number of workers, and whether it has any: of a Dask scheduler, or a pool of processes.

    Raises
    ------
    ParameterError
        When no scheduler answers at the address.
    """
    if scheduler is None:
        with pool_of(max(blocks, 1)) as (executor, workers):
            yield executor, workers, None
        return
    logging.disable()  # whatever Dask logs, an exception says
    try:
        with _client(scheduler) as client:
            yield _of_client(client)
    finally:
        logging.disable(logging.NOTSET)


def _client(scheduler: str) -> Any:
    """A client of the Dask scheduler at an address."""
    from distributed import Client

    try:
        asyncio.run(_greeted(scheduler))
        return Client(scheduler, timeout=_CONNECTION, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error) or f"nothing there answers as one within {_CONNECTION:g} s"
        raise ParameterError("--scheduler", scheduler, f"the address of a Dask scheduler: {reason}") from None


async def _greeted(address: str) -> None:
    """Wait for the greeting of a scheduler: the client waits without end for one from a server of another kind."""
    from distributed.comm import connect
    from distributed.security import Security

    async with asyncio.timeout(_CONNECTION):
        (await connect(address, timeout=_CONNECTION, **Security().get_connection_args("client"))).abort()


def _of_client(client: Any) -> tuple[Executor, int, Callable[[], bool]]:
    """The executor of a Dask client, its number of threads, and whether it has any; a lost worker's blocks go to others."""

    def alive() -> bool:
        try:
            return bool(client.sync(client.scheduler.ncores, workers=None, callback_timeout=_ANSWER))
        except Exception:  # whatever a scheduler that is gone leads to
            return False

    return client.get_executor(retries=_RETRIES), max(sum(client.nthreads().values()), 1), alive
