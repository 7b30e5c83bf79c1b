"""Features of the devices, and the linear encoders and decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError, real
from airtight.analytics.inference.system import InferenceSystem


@dataclass(frozen=True, eq=False, kw_only=True)
class Features:
    r"""One target seen by K devices (FDP II-B, III-A): clipped codes :math:`z_k` of :math:`W_k f_k`, :math:`\hat f = D\hat z`.

    Parameters
    ----------
    f : array_like, shape (K, d)
        Features, finite.
    W : array_like, shape (K, r, d) or (r, d)
        Encoders; one matrix stands for K equal ones.
    D : array_like, shape (d, r)
        Decoder.

    Raises
    ------
    ParameterError
        When shapes disagree or an entry is not finite.

    Examples
    --------
    >>> views = Features(f=[[1.0, 0.0], [0.0, 1.0]], W=np.eye(2), D=np.eye(2))
    >>> views.target
    array([0.5, 0.5])
    """

    f: FloatArray
    W: FloatArray
    D: FloatArray

    if TYPE_CHECKING:

        def __init__(self, *, f: ArrayLike, W: ArrayLike, D: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        f, W, D = (real(name, getattr(self, name)) for name in ("f", "W", "D"))
        if f.ndim != 2 or not f.size:
            raise ParameterError("f", f"array of shape {f.shape}", "of shape (K, d), not empty")
        K, d = f.shape
        if D.ndim != 2 or not D.size or D.shape[0] != d:
            raise ParameterError("D", f"array of shape {D.shape}", f"of shape (d, r) with d = {d}, not empty")
        r = D.shape[1]
        if W.shape not in {(r, d), (K, r, d)}:
            raise ParameterError("W", f"array of shape {W.shape}", f"of shape ({K}, {r}, {d}) or ({r}, {d})")
        for name, value in (("f", f), ("W", W), ("D", D)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Features):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("f", "W", "D"))

    def __hash__(self) -> int:
        return hash((self.W.shape, self.D.shape, self.f.tobytes()))

    def _repr_html_(self) -> str:
        shapes = ((name, " × ".join(map(str, getattr(self, name).shape))) for name in ("f", "W", "D"))
        return (
            "<table><caption>Features</caption>"
            + "".join(f"<tr><td>{n}</td><td>{s}</td></tr>" for n, s in shapes)
            + "</table>"
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """The arrays as lists, fit for JSON and for the constructor."""
        return {name: getattr(self, name).tolist() for name in ("f", "W", "D")}

    @property
    def target(self) -> FloatArray:
        """f*, the mean of the features, Eq. (2); shape (d,)."""
        return np.asarray(self.f.mean(axis=0))

    @property
    def encoded(self) -> FloatArray:
        """W_k f_k, Eq. (3), before clipping; shape (K, r)."""
        if self.W.ndim == 2:
            return np.asarray(self.f @ self.W.T)
        return np.asarray((self.W @ self.f[..., None])[..., 0])

    def clipped(self, clip: ArrayLike) -> FloatArray:
        """z_k = min(1, C_k / norm(W_k f_k)) W_k f_k; shape (K, r)."""
        return clipped(self.encoded, clip)

    def decoded(self, clip: ArrayLike) -> FloatArray:
        """a_k = D z_k, what the server makes of a clipped code; shape (K, d)."""
        return np.asarray(self.clipped(clip) @ self.D.T)

    @property
    def printed_square(self) -> FloatArray:
        """G_k = norm(D)_F^2 norm(W_k)_F^2 norm(f_k)^2, the paper's stand-in for norm(D W_k f_k)^2; shape (K,)."""
        return np.asarray(np.sum(self.D**2) * self.encoder_norms("frobenius") ** 2 * np.sum(self.f**2, axis=1))

    def encoder_norms(self, order: str) -> FloatArray:
        """Norm of every W_k: ``"frobenius"`` or ``"spectral"``; shape (K,)."""
        norm = {"frobenius": self._encoder_frobenius, "spectral": self._encoder_spectral}[order]
        return np.broadcast_to(norm, self.f.shape[:1])

    @cached_property
    def _encoder_frobenius(self) -> FloatArray:
        return np.asarray(np.linalg.norm(self.W, "fro", axis=(-2, -1)))

    @cached_property
    def _encoder_spectral(self) -> FloatArray:
        return np.asarray(np.linalg.norm(self.W, 2, axis=(-2, -1)))

    @cached_property
    def decoder_svd(self) -> tuple[FloatArray, FloatArray]:
        """Left singular vectors of D, shape (d, min(d, r)), and its singular values, falling; computed once."""
        left, singular, _ = np.linalg.svd(self.D, full_matrices=False)
        return left, singular


def clipped(code: FloatArray, clip: ArrayLike) -> FloatArray:
    """Codes, shape (..., K, r), shortened to the norms C_k where they are longer; FDP Sec. III-A."""
    norm = np.linalg.norm(code, axis=-1)
    with np.errstate(divide="ignore"):
        return np.asarray(code * np.minimum(1.0, np.where(norm > 0, clip / norm, 1.0))[..., None])


def matched(system: InferenceSystem, features: Features) -> Features:
    """The features with D multiplied by the system's decoder gain; ParameterError unless K and r are those of the system."""
    checks.instance("system", system, InferenceSystem)
    checks.instance("features", features, Features)
    if features.f.shape[0] != system.devices:
        raise ParameterError(
            "f", f"array of shape {features.f.shape}", f"of {system.devices} rows, one for each device"
        )
    if features.D.shape[1] != system.dimension:
        raise ParameterError(
            "D", f"array of shape {features.D.shape}", f"of r = {system.dimension} columns, the dimension"
        )
    return features if system.decoder_gain == 1 else replace(features, D=system.decoder_gain * features.D)
