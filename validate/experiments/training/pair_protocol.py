"""CorBin-FL's Algorithm 3 as messages that pass through the server: a simulation that protects nobody.

X25519 gives every pair of clients a secret, ChaCha20-Poly1305 seals what partners tell each other (extra `protocol`). The server
relays all messages; its transcript is all that it sees: who leads, as the leader alone sends Z, and ciphertexts of lengths that
do not depend on Z. `Conduct` says what a client does that is not honest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256, Hash
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, IntArray, ParameterError
from airtight.analytics.federated.corbin import quantizers

_FLOAT_BITS = 32  # of a parameter of the model that the server sends
TAG_BYTES = 16  # of a sealed message, beyond its text


class Conduct(StrEnum):
    """What a client does.

    ``gone``: drops out after the keys are exchanged. ``leads``: waits for its partner's Y, and chooses its own such that it
    leads. ``constant``: where it leads, it sends Z = 0 for all parameters. ``garbles``: where it leads, it sends what is not
    authentic.
    """

    HONEST = "honest"
    GONE = "gone"
    LEADS = "leads"
    CONSTANT = "constant"
    GARBLES = "garbles"


@dataclass(frozen=True)
class Message:
    """What the server relays, or receives where there is no receiver."""

    sender: int
    receiver: int | None
    kind: str
    content: bytes


@dataclass(frozen=True)
class Outcome:
    """A round of the protocol.

    Attributes
    ----------
    outputs : ndarray, shape (n, m)
        What each client sends to the server, in radii from the center; nan where it sends nothing.
    leads : dict
        The leader of each pair (i, p), i < p.
    shared : dict
        The Z that each pair uses.
    alone : tuple of int
        Clients that quantize alone, as their partner is gone or its message is not authentic.
    transcript : tuple of Message
        All that the server sees.
    read : tuple of Message
        What an active server has opened, in the clear.
    """

    outputs: FloatArray
    leads: dict[tuple[int, int], int]
    shared: dict[tuple[int, int], IntArray]
    alone: tuple[int, ...]
    transcript: tuple[Message, ...]
    read: tuple[Message, ...]

    def bits(self, client: int) -> dict[str, int]:
        """Bits that a client sends and receives, by the parts that `communication` counts; ``beyond`` is what it leaves out."""
        counted: dict[str, list[int]] = {"key": [], "coin": [], "digest": [], "shared": []}
        for message in self.transcript:
            broadcast = message.kind == "key" and message.receiver is not None  # sent once, received by all
            if message.receiver == client or (message.sender == client and not broadcast):
                counted.setdefault(message.kind, []).append(8 * len(message.content))
        tags = 8 * TAG_BYTES * len(counted["shared"])
        return {
            "model": _FLOAT_BITS * self.outputs.shape[1],
            "key_exchange": sum(counted["key"]),
            "shared_randomness": sum(counted["shared"]) - tags,
            "update": int(np.sum(np.isfinite(self.outputs[client]))),
            "beyond": sum(counted["coin"]) + sum(counted["digest"]) + tags,
        }


class _Relay:
    """The clients' keys, and the server between them; an active one has put a key of its own in place of theirs."""

    def __init__(self, clients: int, rng: np.random.Generator, *, active: bool) -> None:
        self.keys = [_private(rng) for _ in range(clients)]
        self.own = _private(rng) if active else None
        self.transcript: list[Message] = []
        self.read: list[Message] = []
        for k, key in enumerate(self.keys):
            public = (self.own or key).public_key().public_bytes_raw()
            self.transcript += [Message(k, None, "key", public)]
            self.transcript += [Message(k, j, "key", public) for j in range(clients) if j != k]

    def send(self, sender: int, receiver: int, kind: str, text: bytes, *, garbled: bool = False) -> bytes | None:
        """Seal, relay and open a message; None where it is not authentic."""
        context = f"{sender} to {receiver}: {kind}".encode()
        to_server, to_receiver = (self._cipher(*ends, context) for ends in ((sender, receiver), (receiver, sender)))
        content = to_server.encrypt(_ONCE, text, context)
        if garbled:
            content = bytes(len(content))
        self.transcript.append(Message(sender, receiver, kind, content))
        try:
            if self.own:
                opened = to_server.decrypt(_ONCE, content, context)
                self.read.append(Message(sender, receiver, kind, opened))
                content = to_receiver.encrypt(_ONCE, opened, context)
            return bytes(to_receiver.decrypt(_ONCE, content, context))
        except InvalidTag:
            return None

    def _cipher(self, client: int, partner: int, context: bytes) -> ChaCha20Poly1305:
        """The cipher of one message: that of a client and what it takes for its partner's key."""
        public: X25519PublicKey = (self.own or self.keys[partner]).public_key()
        secret = self.keys[client].exchange(public)
        return ChaCha20Poly1305(HKDF(SHA256(), 32, salt=None, info=context).derive(secret))


_ONCE = bytes(12)  # the nonce: every message has a key of its own


def run(
    updates: FloatArray,
    *,
    epsilon: float,
    bits: int,
    rng: np.random.Generator,
    conduct: Mapping[int, Conduct | str] | None = None,
    committed: bool = False,
    active_server: bool = False,
    pinned: bool = False,
) -> Outcome:
    """One round: keys, pairs, leaders, shared bits, outputs.

    Parameters
    ----------
    updates : ndarray, shape (n, m)
        In [-1, 1]: offsets from the center in radii; n even.
    epsilon : float
        eps_p.
    bits : int
        d shared bits of a parameter, in [1, 16].
    rng : numpy.random.Generator
        Source of all randomness, private keys included, so that a run can be repeated.
    conduct : mapping of int to Conduct, optional
        Of the clients that are not honest.
    committed : bool
        Partners exchange digests of Y and of a Z of each before they show any, and use the sum of both Z modulo 2^d.
    active_server : bool
        The server puts its own key in place of the clients', reads what they send and seals it anew.
    pinned : bool
        The clients know each other's public keys from elsewhere, and send nothing where another one arrives.

    Examples
    --------
    >>> outcome = run(np.zeros((4, 96)), epsilon=1.0, bits=3, rng=np.random.default_rng(0))
    >>> outcome.bits(0)
    {'model': 3072, 'key_exchange': 1024, 'shared_randomness': 288, 'update': 96, 'beyond': 400}
    """
    w = checks.real("updates", updates, "[-1, 1]")
    if w.ndim != 2 or not w.size or len(w) % 2:
        raise ParameterError("updates", f"array of shape {w.shape}", "of shape (n, m), n even")
    d, eps = checks.count("bits", bits, "[1, 16]"), checks.scalar("epsilon", epsilon, "(0, inf)")
    how = [checks.choice("conduct", (conduct or {}).get(k, Conduct.HONEST), Conduct) for k in range(len(w))]
    relay = _Relay(len(w), rng, active=active_server)
    outputs, alone = np.full(w.shape, np.nan), list[int]()
    leads, shared = dict[tuple[int, int], int](), dict[tuple[int, int], IntArray]()
    pairs = [] if active_server and pinned else np.sort(rng.permutation(len(w)).reshape(-1, 2), axis=1).tolist()
    for i, p in pairs:
        present = [k for k in (i, p) if how[k] is not Conduct.GONE]
        z = None
        if len(present) == 2:
            lead = leads[i, p] = _leader(relay, i, p, how, rng, committed=committed)
            z = _shared(relay, lead, i + p - lead, how[lead], (w.shape[1], d), rng, committed=committed)
        if z is None:
            alone += present
            outputs[present] = quantizers.ldpq(w[present], epsilon=eps, rng=rng)
        else:
            shared[i, p] = z
            for k in present:
                outputs[k] = quantizers.corbinq_received(w[k], z, lead=k == lead, epsilon=eps, bits=d, rng=rng)
        sent = (Message(k, None, "update", np.packbits(outputs[k] > 0).tobytes()) for k in present)
        relay.transcript.extend(sent)
    return Outcome(outputs, leads, shared, tuple(alone), tuple(relay.transcript), tuple(relay.read))


def _leader(
    relay: _Relay, i: int, p: int, how: list[Conduct], rng: np.random.Generator, *, committed: bool
) -> int:
    """Lines 6 to 13: i leads where both Y are equal. One that waits for the other's Y decides, unless both are committed."""
    coins = rng.integers(2, size=2)
    if committed:
        _exchange_digests(relay, i, p, rng)
    elif how[p] is Conduct.LEADS:
        coins[1] = 1 - coins[0]
    elif how[i] is Conduct.LEADS:
        coins[0] = coins[1]
    for sender, receiver, coin in ((i, p, coins[0]), (p, i, coins[1])):
        relay.send(sender, receiver, "coin", bytes([int(coin)]))
    return i if coins[0] == coins[1] else p


def _shared(
    relay: _Relay, lead: int, follow: int, conduct: Conduct, shape: tuple[int, int], rng: np.random.Generator, *, committed: bool
) -> IntArray | None:
    """Lines 14 to 17: Z, or None where the follower finds the leader's message not authentic."""
    parameters, d = shape
    own = np.zeros(parameters, dtype=np.int64) if conduct is Conduct.CONSTANT else rng.integers(0, 2**d, parameters)
    if committed:
        _exchange_digests(relay, lead, follow, rng)
    text = relay.send(lead, follow, "shared", _packed(own, d), garbled=conduct is Conduct.GARBLES)
    if text is None:
        return None
    z = _unpacked(text, parameters, d)
    if committed:
        of_follower = rng.integers(0, 2**d, parameters)
        relay.send(follow, lead, "shared", _packed(of_follower, d))
        z = (z + of_follower) % 2**d
    return z


def _exchange_digests(relay: _Relay, first: int, second: int, rng: np.random.Generator) -> None:
    """What the digests are of is not simulated: nobody here opens one to another value."""
    for sender, receiver in ((first, second), (second, first)):
        digest = Hash(SHA256())
        digest.update(rng.bytes(32))
        relay.transcript.append(Message(sender, receiver, "digest", digest.finalize()))


def _private(rng: np.random.Generator) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(rng.bytes(32))


def _packed(z: IntArray, bits: int) -> bytes:
    return np.packbits((z[:, None] >> np.arange(bits)) & 1).tobytes()


def _unpacked(text: bytes, parameters: int, bits: int) -> IntArray:
    single = np.unpackbits(np.frombuffer(text, dtype=np.uint8), count=parameters * bits).reshape(parameters, bits)
    return np.asarray(single.astype(np.int64) @ (1 << np.arange(bits)))
