"""Bits of a round of CorBin-FL, as the paper counts them and with one seed for each pair (CB Sec. IV-5)."""

from __future__ import annotations

from dataclasses import dataclass

from airtight.analytics import checks

_FLOAT_BITS = 32  # bits of one parameter of the global model


@dataclass(frozen=True)
class Cost:
    """Bits that one client sends and receives in one round.

    Attributes
    ----------
    model : int
        Downlink: the global model, 32 m.
    key_exchange : int
        Uplink and downlink: Diffie-Hellman key agreement with all clients, n k.
    shared_randomness : int
        Uplink or downlink: Z, the shared random bits of a pair.
    update : int
        Uplink: one bit per parameter, m.
    """

    model: int
    key_exchange: int
    shared_randomness: int
    update: int

    @property
    def total(self) -> int:
        return self.model + self.key_exchange + self.shared_randomness + self.update


def published(clients: int, parameters: int, *, bits: int, key_bits: int = 256) -> Cost:
    """Cost as printed: d m k bits to share Z, with a separate ciphertext for every shared bit.

    Parameters
    ----------
    clients, parameters : int
        n and m.
    bits, key_bits : int
        d shared bits per parameter, and keys of k bits.

    Examples
    --------
    >>> published(50, 109386, bits=5)
    Cost(model=3500352, key_exchange=12800, shared_randomness=140014080, update=109386)
    """
    n, m, d, k = _checked(clients, parameters, bits, key_bits)
    return Cost(_FLOAT_BITS * m, n * k, d * m * k, m)


def stream(clients: int, parameters: int, *, bits: int, key_bits: int = 256) -> Cost:
    """Cost with a stream cipher: Z takes d m bits of ciphertext.

    Examples
    --------
    >>> stream(50, 109386, bits=5).shared_randomness
    546930
    """
    n, m, d, k = _checked(clients, parameters, bits, key_bits)
    return Cost(_FLOAT_BITS * m, n * k, d * m, m)


def seeded(clients: int, parameters: int, *, bits: int, key_bits: int = 256) -> Cost:
    """Cost if both expand the agreed key into Z: one key exchange with the partner, and no further bits for any d.

    Examples
    --------
    >>> seeded(50, 109386, bits=5)
    Cost(model=3500352, key_exchange=256, shared_randomness=0, update=109386)
    """
    _, m, _, k = _checked(clients, parameters, bits, key_bits)
    return Cost(_FLOAT_BITS * m, k, 0, m)


def _checked(clients: int, parameters: int, bits: int, key_bits: int) -> tuple[int, int, int, int]:
    return (
        checks.count("clients", clients),
        checks.count("parameters", parameters),
        checks.count("bits", bits, "[0, 60]"),
        checks.count("key_bits", key_bits),
    )
