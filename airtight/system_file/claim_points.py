"""The point of a claim that a system file describes: values of those parameters of the claim that are keys of the system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import FloatArray, ParameterError
from airtight.analytics.inference.system import InferenceSystem
from airtight.system_file.contents import SystemFile


def is_system_file(path: Path) -> bool:
    """Whether a file has systems, not claims."""
    return path.suffix == ".toml" or str(path) == "-"


def point_of(file: SystemFile, parameters: Mapping[str, object]) -> dict[str, float]:
    """Values of the parameters of a claim, by name, as the rows of feature-dp and corbin-fl name and scale them.

    A claim about one query has gain 1: the receiver's noise is that over the squared alignment.

    Raises
    ------
    ParameterError
        For unlike devices, colluders and a channel: the rows are of equal devices at one look. Where the file has none of the
        parameters.
    """
    values: dict[str, float] = {}
    if file.inference is not None:
        values |= _of_inference(file.inference)
    if (federated := file.federated) is not None:
        values |= {"clients": federated.clients, "bits": federated.shared_bits, "parameters": federated.parameters}
        values["epsilon"] = federated.epsilon
    shared = {name: float(value) for name, value in values.items() if name in parameters}
    if not shared:
        raise ParameterError("FILE", file.name, f"a file with one of the claim's parameters: {', '.join(parameters)}")
    return shared


def _of_inference(system: InferenceSystem) -> dict[str, float]:
    if system.channel is not None or system.colluding:
        name, allowed = ("channel", "absent for a map") if system.channel is not None else ("colluding", "0 for a map")
        raise ParameterError(name, "given", f"{allowed}: the claims are about one look and honest devices")

    def common(name: str, values: FloatArray) -> float:
        if np.any(values != values[0]):
            raise ParameterError(name, checks.array_text(values), "the same for all devices: a map is of equal devices")
        return float(values[0])

    return {
        "devices": system.devices,
        "p": common("participation", system.participation),
        "variance": common("noise_variance", system.noise_variance),
        "signal": common("weight * clip", system.weight * system.clip),
        "receiver": system.receiver_noise_variance / system.alignment**2,
        "dimension": system.dimension,
        "delta": system.delta,
        "delta_prime": system.delta_prime,
    }
