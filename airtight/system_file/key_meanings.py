"""What each key of a system file means: words, unit, allowed values and default, from the tables and the value types.

From them come the commented files of ``airtight init`` and the explanations of ``airtight explain``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from airtight.analytics import parameters
from airtight.analytics.parameters import Choice, Flag, OneOf, Parameter, SomeOf
from airtight.solvers.design.requirements import FederatedRequirements, FleetRequirements, InferenceRequirements
from airtight.system_file import config, units
from airtight.system_file.package_tables import toml
from airtight.system_file.tables import FileTables, Table, VariantTable
from airtight.validate.experiments.training.training_plan import Mechanism, Plan, Settings

_FEW = 6  # entries of a list that are shown
_WIDTH = 78  # columns of a comment
_LATEX = r"[\\{}]"  # marks of a symbol that plain text goes without
_WORDS = {  # keys that are no parameter of a value type: meaning, and what is allowed
    "features.file": (
        "archive with the arrays f (K, d): features, W (K, r, d): encoders, and D (d, r): decoder",
        "name of an .npz or .mat file",
    ),
    "features.table": ("table of features with one row per device, instead of f", "name of a CSV file"),
    "features.margin": ("Delta: distance from the target up to which a decoded feature counts as right", "number in (0, inf)"),
    "features.ideal_accuracy": ("P_0: accuracy of the classifier on features within the margin", "number in [0, 1]"),
    "features.epsilon_cap": ("greatest epsilon that `solve weights` allows a device", "number in (0, inf)"),
    "selection.score": ("u_k: score of each device; devices with a low score send", "number or one per device"),
    "selection.score_noise": ("standard deviation of the noise that is added to a score", "number or one per device in (0, inf)"),
    "selection.threshold": ("eta: a device sends in Scheme 2.1 if its noisy score is below this threshold", "number"),
    "selection.selected": ("number of devices that send in Scheme 2.2: those with the lowest noisy scores", "integer in [1, K]"),
    "selection.score_sensitivity": (
        "greatest change of a score when its device has another feature; gives the privacy of the schemes",
        "number in (0, inf)",
    ),
    "selection.greatest_score": ("greatest score that a device can have; Scheme 2.1 needs it for its privacy", "number"),
    "channel.file": (
        "measured coefficients instead of drawn ones: array looks (states, K, L), L signals per state",
        "name of an .npz file",
    ),
    "inference.names": ("names of the devices, shown beside their numbers", "list of different names, one per device"),
    "inference.groups": (
        "groups of devices that belong to one person; `bounds` adds the epsilon of each group",
        "list of lists of devices",
    ),
    "inference.noise_variance_range": (
        "least and greatest noise variance, if unknown; `bounds` adds the greatest epsilon in between",
        "list [low, high] of numbers in [0, inf), or one such list per device",
    ),
    "scenarios.probability": ("probability of each scenario, drawn once for all rounds", "list of numbers in [0, 1], of sum 1"),
    "scenarios.participation": (
        "p_k: probability that a device sends, in each scenario",
        "list of numbers in [0, 1], or of lists of one per device",
    ),
    "scenarios.hidden": ("whether the scenario is hidden from the server", "true | false"),
    "energy.names": ("names of the devices, shown beside their numbers", "list of different names, one per device"),
    "energy.beta": (
        "beta_1: deviation without computing; beta_2: compute energy (J) that divides it by e, UF Eq. (28)",
        "list of two numbers, or of two lists",
    ),
    "training.hidden": ("sizes of the hidden layers", "list of integers in [1, 1000000]"),
    "training.concentration": (
        "how evenly the classes are spread over the clients (Dirichlet parameter); equal random shares without it",
        "number in (0, 1e6]",
    ),
    "training.mechanisms": ("privacy mechanisms to compare; vanilla has none", " | ".join(Mechanism)),
    "training.codec": ("how features are encoded in collaborative inference", "pca | trained | discriminating"),
    "design.minimise": ("quantity to minimise", ""),
    "design.maximise": ("quantity to maximise", ""),
    "design.free": ("parameters that the design may change", ""),
}


@dataclass(frozen=True, kw_only=True)
class KeyMeaning:
    """A key of a table, and what it is set to.

    Attributes
    ----------
    table, key : str
    meaning, unit, allowed : str
    default : object
        None for a key without a default.
    required : bool
    value : object
        What a file sets it to; None where the file does not name it.
    """

    table: str
    key: str
    meaning: str
    unit: str
    allowed: str
    default: object = None
    required: bool = False
    value: object = None

    def to_dict(self) -> dict[str, Any]:
        """The key for JSON."""
        return {**vars(self), "set": self.value is not None}

    @property
    def comment(self) -> str:
        """Meaning, unit and what is allowed, in one sentence.

        Examples
        --------
        >>> of_table("inference")["clip"].comment
        'C_k: greatest norm of the encoded feature; a longer one is clipped to it; number or one per device in (0, inf)'
        """
        return "; ".join(filter(None, (parameters.with_unit(self.meaning, self.unit), self.allowed)))


def _models(model: type[Table] = FileTables, path: str = "") -> Iterator[tuple[str, type[Table]]]:
    """The tables by path, in the order of the file."""
    for name, field in model.model_fields.items():
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, Table):
                inner = f"{path}{name}"
                yield inner, kind
                yield from _models(kind, f"{inner}.")


def _parameters(table: str, model: type[Table], present: frozenset[str]) -> dict[str, Parameter[Any, Any]]:
    """The parameters that say what the keys of a table mean; those of a design by what is designed."""
    if table == "training":
        return {**parameters.of(Settings), **parameters.of(Plan)}
    if table == "design":
        designed = ("inference", InferenceRequirements), ("federated", FederatedRequirements)
        return parameters.of(next((kind for name, kind in designed if name in present), FleetRequirements))
    return {} if model.value_type is None else parameters.of(model.value_type)


def of_table(table: str, present: frozenset[str] = frozenset({"inference"})) -> dict[str, KeyMeaning]:
    """The keys of a table, by name; `present` are the tables of the file, of which a design is."""
    if (added := config.installed().get(table)) is not None:
        rows = parameters.of(added.record)
        return {
            name: _key(table, name, row, None if row.required else row.default, row.required)
            for name, row in rows.items()
        }
    of_variant = table.startswith("inference.variants.")
    model = VariantTable if of_variant else dict(_models())[table]
    rows = _parameters(table, model, present)
    known = {}
    for name, field in model.model_fields.items():
        holds_table = f"{table}.{name}" in dict(_models()) or name == "variants"
        if holds_table or (table == "design" and name not in rows):
            continue
        row = rows.get(name)
        default = None if field.is_required() else field.default
        if default is None and row is not None and not row.required and not of_variant:  # which has the value of [inference]
            default = row.default
        known[name] = _key(table, name, row, default, field.is_required())
    return known


def _key(table: str, name: str, row: Parameter[Any, Any] | None, default: object, required: bool) -> KeyMeaning:
    meaning, allowed = _WORDS.get(f"{table.rpartition('.')[2]}.{name}", ("", ""))
    unit = "" if row is None else row.unit
    if row is not None:
        symbol = re.sub(_LATEX, "", row.symbol)
        said = f"{symbol}: {row.meaning}" if symbol not in ("", name) else row.meaning
        meaning, allowed = meaning or said, allowed or _allowed(row)
    return KeyMeaning(
        table=table, key=name, meaning=meaning, unit=unit, allowed=allowed, default=_plain(default), required=required
    )


def _allowed(row: Parameter[Any, Any]) -> str:
    """The allowed values in words."""
    match row:
        case Choice():
            return " | ".join(str(each) for each in type(row.default))
        case OneOf() | SomeOf():
            names = " | ".join(row.allowed)
            return f"list of {names}" if isinstance(row, SomeOf) else names
        case Flag():
            return row.holds
    return f"{row.holds} in {row.interval}" if row.interval else row.holds


def _plain(value: object) -> object:
    """A value as TOML writes it: members of enumerations become text, tuples lists."""
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, str) else value


def shown(value: object) -> str:
    """A value in one line of a screen: of a long list the first entries and their number.

    Examples
    --------
    >>> shown([1, 2, 3]), shown(list(range(100)))
    ('[1, 2, 3]', '[0, 1, 2, 3, 4, 5, ... (100 entries)]')
    """
    if isinstance(value, list) and len(value) > _FEW:
        return f"{toml(value[:_FEW])[:-1]}, ... ({len(value)} entries)]"
    return toml(value)


def explained(path: Path) -> list[KeyMeaning]:
    """Every key of the tables that a file has, with what it is set to.

    Raises
    ------
    SystemFileError
        When the file cannot be read, or is no valid system file.
    """
    raw = config.read(path)
    config.described(raw, path, channel=True, uncertain=True)
    present = frozenset(raw)
    keys: list[KeyMeaning] = []
    for table, held in _tables(raw):
        known = of_table(table, present)
        set_keys = {name: value for name, value in held.items() if not isinstance(value, dict)}
        for name, value in set_keys.items():
            if name in units.ALTERNATIVES:
                linear, _, unit = units.ALTERNATIVES[name]
                of_linear = known.pop(linear)
                known[name] = replace(of_linear, key=name, unit=unit, allowed="number of dB", default=None, required=False)
            known[name] = replace(known[name], value=value)
        keys += known.values()
    return keys


def _tables(raw: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables of a file by path; those of variants by name."""
    for name, held in raw.items():
        if isinstance(held, dict):
            inner = f"{path}{name}"
            if inner != "inference.variants":
                yield inner, held
            yield from _tables(held, f"{inner}.")


Template = Literal["inference", "channel", "federated", "energy"]
_SYSTEM = {
    "devices": 12,
    "participation": 1.0,
    "noise_variance": 0.0013,
    "weight": 0.05,
    "clip": 1.2,
    "alignment": 8.7,
    "receiver_noise_variance": 0.01,
    "dimension": 8,
    "delta": 1e-5,
    "adjacency": "silent",
}
_FLEET = {
    "distance": [50.0, 100.0, 150.0, 200.0],
    "bandwidth": 250e3,
    "center_frequency": 32e6,
    "path_loss_exponent": 4.0,
    "noise_density_dbm": -174.0,
    "snr_gap_db": 9.8,
    "model_bits": 875e3,
    "deadline": 0.75,
    "bits_per_iteration": 802816,
    "seconds_per_bit": 7.5e-9,
    "compute_power": 0.096,
    "circuit_power": 0.0825,
    "amplifier_efficiency": 0.45,
    "max_power": 1.0,
    "min_iterations": 10,
    "utility_energy": 0.5,
    "beta": [0.5, 0.05],
}
TEMPLATES: dict[str, tuple[str, dict[str, dict[str, object]]]] = {  # what it describes, and its tables
    "inference": (
        "Collaborative inference over the air: devices send noisy codes of their views at once, the server hears the sum.",
        {
            "inference": _SYSTEM,
            "design": {
                "minimise": "error",
                "epsilon_at_most": 2.0,
                "energy_at_most": 100.0,
                "free": ["weight", "decoder_gain"],
                "alike": True,
            },
        },
    ),
    "channel": (
        "Collaborative inference over a fading channel: a server with antennas, devices with a distance and a power limit.",
        {
            "inference": {
                **{name: value for name, value in _SYSTEM.items() if name != "participation"},
                "devices": 4,
                "alignment": 1.0,
            },
            "inference.channel": {
                "antennas": 2,
                "fading": "rayleigh",
                "distance": [20.0, 40.0, 60.0, 80.0],
                "path_loss_exponent": 2.0,
                "reference_gain": 1.0,
                "max_power": 1000.0,
                "states": 20,
            },
        },
    ),
    "federated": (
        "Federated learning with CorBin-FL: clients send one bit for each parameter, pairs of clients share randomness.",
        {
            "federated": {"clients": 50, "parameters": 1000, "epsilon": 1.0, "ldp_fraction": 0.2},
            "training": {"rounds": 20, "seeds": 2, "mechanisms": ["vanilla", "ldp", "corbin"]},
        },
    ),
    "energy": (
        "A fleet of devices that learn together: iterations and transmit power under a deadline.",
        {"energy": _FLEET, "design": {"maximise": "utility", "energy_at_most": 0.8}},
    ),
}


def starter(template: str) -> str:
    """The text of a commented system file to begin with: keys that are set, and further ones as comments with their defaults."""
    about, tables = TEMPLATES[template]
    free: Any = tables.get("design", {}).get("free", [])  # which may not be fixed, too
    lines = [f"# {line}" for line in textwrap.wrap(about, _WIDTH)]
    for table, values in tables.items():
        known = of_table(table, frozenset(tables))
        lines += ["", f"[{table}]"]
        for name, value in values.items():
            lines += [*_comment(known[name]), f"{name} = {toml(value)}"]
        for name, key in known.items():
            if name not in values and key.default is not None and name not in free:
                lines += [*_comment(key), f"# {name} = {toml(key.default)}"]
    return "\n".join(lines) + "\n"


def _comment(key: KeyMeaning) -> list[str]:
    """The comment above a key; an interval is not broken."""
    lines = textwrap.wrap(unbroken(key.comment), _WIDTH, break_on_hyphens=False)
    return [f"# {line}".replace("\xa0", " ") for line in lines]


def unbroken(text: str) -> str:
    """The text with no-break spaces inside intervals and shapes."""
    return re.sub(r"([\[(][^\s()\[\]]+,) (?=[^\s()\[\]]+[\])])", "\\1\xa0", text)
