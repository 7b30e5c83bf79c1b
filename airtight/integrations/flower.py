"""Flower: client mods that clip and protect an update, and a strategy wrapper with a meter. Needs the extra ``flower``.

The client decides what leaves it. A mod holds its own clip, noise or epsilon and takes none from the server. Flower's server
receives every message by itself, so that the noise of other clients hides nobody (``separate=True``). Neighbours differ in the
update of one client in all rounds: ``silent`` (its update is the clipped 0) or ``replace``.

Random numbers come from NumPy's generators, seeded by the operating system unless a seed is given; they are not cryptographic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.extras import MissingExtraError
from airtight.analytics.federated.corbin import quantizers
from airtight.analytics.inference.features import clipped
from airtight.analytics.privacy.accounting import privacy_curve
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.over_the_air.meter import Meter, Reading, Round
from airtight.validate import files

if find_spec("flwr") is not None:
    from flwr.app import Array, ArrayRecord
    from flwr.serverapp.strategy import Strategy
else:  # an extra
    Strategy = object


def _needed() -> None:
    """Say in one line which extra is missing."""
    if Strategy is object:
        raise MissingExtraError("flwr", "flower")


class _Update:
    """A mod that changes what a client adds to the model; for one flat vector of all parameters."""

    def changed(self, update: FloatArray, server_round: int, context: Any) -> FloatArray:
        """What is sent in place of the update."""
        raise NotImplementedError

    def __call__(self, message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        before = _only_record(message)[1]
        config: Mapping[str, Any] = next(iter(message.content.config_records.values()), {})
        server_round = int(config.get("server-round", 0))
        reply = call_next(message, context)
        if reply.has_error():
            return reply
        name, after = _only_record(reply)
        if list(before) != list(after):
            raise ParameterError("arrays", list(after), f"the keys that the server sent: {list(before)}")
        start = [array.numpy() for array in before.values()]
        flat = np.concatenate([np.ravel(a.numpy() - b) for a, b in zip(after.values(), start, strict=True)]).astype(
            float
        )
        if not np.all(np.isfinite(flat)):
            raise ParameterError("update", "not finite", "finite numbers: nothing was sent")
        sent, out, place = self.changed(flat, server_round, context), ArrayRecord(), 0
        for key, old in zip(before, start, strict=True):
            part = sent[place : place + old.size].reshape(old.shape)
            out[key], place = Array((old + part).astype(old.dtype)), place + old.size
        reply.content[name] = out
        return reply


def _only_record(message: Any) -> tuple[str, Any]:
    records = list(message.content.array_records.items())
    if len(records) != 1:
        raise ParameterError("message", f"{len(records)} records of arrays", "one")
    return records[0]  # type: ignore[no-any-return]


class GaussianMod(_Update):
    """Clip the whole update to a norm and add normal noise of variance sigma^2 to each parameter.

    Parameters
    ----------
    clip : float
        C, greatest norm of the update.
    noise_variance : float
        sigma^2.
    seed : int, optional

    Examples
    --------
    ``ClientApp(mods=[GaussianMod(clip=1.0, noise_variance=4.0)])``
    """

    def __init__(self, *, clip: float, noise_variance: float, seed: int | None = None) -> None:
        _needed()
        self.clip = checks.scalar("clip", clip, "(0, inf)")
        self.noise_variance = checks.scalar("noise_variance", noise_variance, "[0, inf)")
        self.seed = seed

    def changed(self, update: FloatArray, server_round: int, context: Any) -> FloatArray:
        noise = np.sqrt(self.noise_variance) * _generator(self.seed, server_round, context).standard_normal(update.size)
        return np.asarray(clipped(update, self.clip) + noise)

    def release(self, devices: int, *, adjacency: str = "silent") -> Round:
        """The round that a meter counts; the wrapper fills in who takes part."""
        return Round(
            participants=[], devices=devices, noise_variance=self.noise_variance, weight=1.0, clip=self.clip,
            receiver_noise_variance=0.0, adjacency=adjacency, separate=True,
        )  # fmt: skip


class LdpMod(_Update):
    """One bit for each parameter (LDPQ, CB Algorithm 1): epsilon-locally private for one parameter.

    Parameters
    ----------
    epsilon : float
        Of one parameter.
    radius : float
        Changes of a parameter are clipped to [-radius, radius].
    seed : int, optional
    """

    def __init__(self, *, epsilon: float, radius: float, seed: int | None = None) -> None:
        _needed()
        self.epsilon = checks.scalar("epsilon", epsilon, "(0, inf)")
        self.radius, self.seed = checks.scalar("radius", radius, "(0, inf)"), seed

    def changed(self, update: FloatArray, server_round: int, context: Any) -> FloatArray:
        rng = _generator(self.seed, server_round, context)
        return quantizers.ldpq(update, epsilon=self.epsilon, radius=self.radius, rng=rng, clip=True)

    def release(self, parameters: int) -> PrivacyCurve:
        """The curve of one round of a client with so many parameters, ``replace``."""
        return privacy_curve.randomized_response(self.epsilon).compose(parameters)


class CorBinMod(_Update):
    """One bit for each parameter, correlated with that of a partner (CorBinQ, CB Algorithm 2 with line 14 corrected).

    Against a server that sees both outputs of a pair there is no finite epsilon for the update; so there is no `release` for a
    meter.

    Parameters
    ----------
    epsilon, radius
        As for :class:`LdpMod`.
    bits : int
        Shared bits for each parameter.
    pair : callable
        From the client's context to the secret that it shares with its partner and whether it leads the pair; None for a client
        alone, which then sends LDPQ.
    seed : int, optional
    """

    def __init__(
        self,
        *,
        epsilon: float,
        radius: float,
        bits: int,
        pair: Callable[[Any], tuple[int, bool] | None],
        seed: int | None = None,
    ) -> None:
        _needed()
        self.epsilon = checks.scalar("epsilon", epsilon, "(0, inf)")
        self.radius, self.bits = checks.scalar("radius", radius, "(0, inf)"), checks.count("bits", bits, "[0, 60]")
        self.pair, self.seed = pair, seed

    def changed(self, update: FloatArray, server_round: int, context: Any) -> FloatArray:
        given: dict[str, Any] = {"epsilon": self.epsilon, "radius": self.radius, "clip": True}
        given["rng"] = _generator(self.seed, server_round, context)
        pair = self.pair(context)
        if pair is None:
            return quantizers.ldpq(update, **given)
        secret, lead = pair
        shared = np.random.SeedSequence([secret, server_round]).generate_state(2, np.uint32)
        return quantizers.corbinq_half(
            update, lead=lead, seed=int(shared[0]) << 32 | int(shared[1]), bits=self.bits, **given
        )


def _generator(seed: int | None, server_round: int, context: Any) -> np.random.Generator:
    return np.random.default_rng(None if seed is None else [seed, server_round, abs(int(context.node_id))])


class Metered(Strategy):  # type: ignore[misc]
    """A strategy that asks only clients whose budget allows the round, and records it before anything is sent.

    Parameters
    ----------
    strategy : flwr.serverapp.strategy.Strategy
        It samples clients and aggregates.
    meter : Meter
    release : Round or PrivacyCurve
        What one round costs: ``mod.release(...)`` of the mod that the clients run. A curve that is not Gaussian needs a meter
        with an order, or to be declared with ``fixed=``.
    log : Path, optional
        The meter's log, written and synchronised before the messages of a round leave. It must be new.
    device_of : mapping, optional
        From Flower's node identifier to the meter's device; by default in the order in which nodes are first asked.

    Notes
    -----
    The server's sampling is seen by the server, so it amplifies nothing. A client that was asked and does not reply has paid.
    """

    def __init__(
        self,
        strategy: Strategy,
        meter: Meter,
        release: Round | PrivacyCurve,
        *,
        log: Path | None = None,
        device_of: Mapping[int, int] | None = None,
    ) -> None:
        _needed()
        super().__init__()
        self.strategy, self.meter, self.release, self.log = strategy, meter, release, log
        self.device_of = dict(device_of or {})
        self._fixed_mapping, self._written = device_of is not None, 0
        if log is not None:
            with files.appending(log) as stream:
                stream.seek(0)
                if stream.read():
                    raise ParameterError("log", str(log), "a new file")
                self._write(stream)

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:
        """The messages of the strategy to clients that may send."""
        messages = list(self.strategy.configure_train(server_round, arrays, config, grid))
        devices = [self._device(message.metadata.dst_node_id) for message in messages]
        rolled = np.zeros(self.meter.devices, dtype=bool)
        rolled[devices] = True
        here = self._recorded(rolled)
        if self.log is not None:
            with files.appending(self.log) as stream:
                self._write(stream)
        return [message for message, k in zip(messages, devices, strict=True) if here[k]]

    def _recorded(self, rolled: Any) -> Any:
        """Who may send; the round is recorded for them."""
        if isinstance(self.release, Round):
            asked = replace(self.release, participants=rolled)
            here = self.meter.who(asked)
            if np.any(here):
                self.meter.record(replace(asked, participants=here))
            return here
        if self.meter.fixed:
            here = rolled & self.meter.may(self.release)
            if np.any(here):
                self.meter.record(self.release)
            return here
        here = np.array([bool(r) and self.meter.may(self.release, participants=[k]) for k, r in enumerate(rolled)])
        if np.any(here):
            self.meter.record(self.release, participants=here)
        return here

    def _device(self, node: int) -> int:
        if node not in self.device_of:
            if self._fixed_mapping or len(self.device_of) >= self.meter.devices:
                raise ParameterError("node", node, f"one of the {self.meter.devices} devices of the meter")
            self.device_of[node] = len(self.device_of)
        return self.device_of[node]

    def _write(self, stream: FileIO) -> None:
        files.append(stream, "".join(line + "\n" for line in self.meter.lines[self._written :]).encode())
        self._written = len(self.meter.lines)

    def spent(self) -> dict[int, Reading]:
        """What each node has spent."""
        return {node: self.meter.spent(device) for node, device in self.device_of.items()}

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> Any:
        """As the strategy does; nothing where nobody was asked."""
        replies = list(replies)
        return self.strategy.aggregate_train(server_round, replies) if replies else (None, None)

    def configure_evaluate(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:
        """As the strategy does. Metrics that clients compute on their data are not private: leave them out."""
        messages: Iterable[Any] = self.strategy.configure_evaluate(server_round, arrays, config, grid)
        return messages

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Any]) -> Any:
        """As the strategy does."""
        return self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        """That of the strategy."""
        self.strategy.summary()
