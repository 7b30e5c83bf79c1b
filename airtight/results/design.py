"""Results of ``design``, ``design --frontier`` and ``calibrate``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from airtight.analytics import plots, tidy
from airtight.analytics.checks import FloatArray
from airtight.analytics.guarantee import Adjacency, Face, Observer
from airtight.analytics.inference import combiner, decoding
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import observers
from airtight.analytics.tidy import Entry
from airtight.results import headline
from airtight.results.inference_results import AnyScheme, WorstCase
from airtight.results.numerals import plain, rounded_down, rounded_up
from airtight.results.result import Result, silent
from airtight.solvers.design.calibrate import Calibration, Variable
from airtight.solvers.design.federated.federated_design import FederatedDesign
from airtight.solvers.design.fleet.fleet_design import FleetDesign
from airtight.solvers.design.known import Designs, Method
from airtight.solvers.design.over_the_air import design_prices
from airtight.solvers.design.over_the_air.joint_design import JointDesign
from airtight.solvers.design.requirements import FederatedRequirements, FleetRequirements, Free, Goal
from airtight.solvers.price import ShadowPrice
from airtight.system_file.contents import Task

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

BEYOND = {"noise": "smaller noise", "clip": "greater clip", "participation": "greater participation"}

@dataclass(frozen=True, kw_only=True)
class BaselineErrors:
    """Baselines of a design: MSE (accuracy) of the output that ignores y, and of the system as the file describes it."""

    constant_output: dict[str, float]
    published_design: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class FederatedDesignResult(Result):
    """A design of CorBin-FL.

    Attributes
    ----------
    minimised : str
    value, lower_bound, gap : float
        Value of the objective (proven worst error, epsilon, or bits), and its lower bound, to the rounding of a root.
    variables : dict
        Those that were free.
    epsilon : float
        Local epsilon of one parameter and uplink.
    error : float
        Proven worst-case mean squared error of one parameter of the mean.
    bits : int
        Bits of one client and round.
    baseline : dict
        The error of the constant mean.
    beats_constant : bool
    method : str
    seconds : float
    """

    minimised: str
    value: float
    lower_bound: float
    gap: float
    variables: dict[str, float]
    epsilon: float
    error: float
    bits: int
    baseline: dict[str, dict[str, float]]
    beats_constant: bool
    method: str
    seconds: float

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        return {
            "minimised": self.minimised,
            "value": Entry(value=self.value, lower=self.lower_bound),
            "gap": self.gap,
            "epsilon": Entry(value=self.epsilon, face=Face.EXACT, observer="uplink", rounds=1),
            "error": Entry(value=self.error, upper=self.error, face=Face.PROVEN),
            "bits": Entry(value=float(self.bits), unit="bit"),
            "variables": self.variables,
            "baseline": self.baseline,
            "beats_constant": self.beats_constant,
            "method": self.method,
        }

    @classmethod
    def of(cls, result: FederatedDesign, wanted: FederatedRequirements) -> FederatedDesignResult:
        return cls(
            minimised=result.minimised.value,
            value=result.value,
            lower_bound=result.lower_bound,
            gap=result.value - result.lower_bound,
            variables={name.value: getattr(result.system, name.value) for name in wanted.free},
            epsilon=result.epsilon,
            error=result.error,
            bits=result.bits,
            baseline={"constant_output": {"error": result.nothing}},
            beats_constant=result.error < result.nothing,
            method=Method.BITS.value,
            seconds=result.seconds,
        )


@dataclass(frozen=True, kw_only=True)
class FleetDesignResult(Result):
    """A design of a utility-fair fleet.

    Attributes
    ----------
    minimised, maximised : str or None
        The objective; one of the two is None.
    value : float
    lower_bound, upper_bound : float or None
        Proved bound of the objective.
    gap : float
    variables : dict
        Iterations and power (W) of every device, and the noise of the global model.
    epsilon : float
        Epsilon of the copies that the observer receives in all rounds, for any deviations.
    own_epsilon : ndarray, shape (K,)
        Epsilon of the copy of each device, at its modelled deviation.
    noise_heard, deviation, energy, utility : ndarray, shape (K,)
    baseline : dict
        Energy and utility at the greatest power with the greatest number of iterations.
    adjacency : str
        Neighbours differ by at most the sensitivity; noise is in units of the sensitivity.
    rounds : int
    delta : float
    hears : str
        The observer: it receives its `own` copy, or `all` copies.
    method : str
    seconds : float
    """

    minimised: str | None
    maximised: str | None
    value: float
    lower_bound: float | None
    upper_bound: float | None
    gap: float
    variables: dict[str, Any]
    epsilon: float
    own_epsilon: FloatArray
    noise_heard: FloatArray
    deviation: FloatArray
    energy: FloatArray
    utility: FloatArray
    baseline: dict[str, dict[str, float]]
    adjacency: str
    rounds: int
    delta: float
    hears: str
    method: str
    seconds: float

    def tidy(self) -> dict[str, object]:
        """The numbers of the table; the observer `own` receives the copy of one device, `all` every copy."""
        low, high = (math.nan if bound is None else bound for bound in (self.lower_bound, self.upper_bound))
        true: dict[str, Any] = {"face": Face.EXACT, "rounds": self.rounds}
        return {
            "minimised": self.minimised,
            "maximised": self.maximised,
            "value": Entry(value=self.value, lower=low, upper=high),
            "gap": self.gap,
            "delta": self.delta,
            "epsilon": Entry(value=self.epsilon, upper=self.epsilon, observer=self.hears, **true),
            "own_epsilon": Entry(value=self.own_epsilon, observer="own", **true),
            **self.variables,
            "power": Entry(value=self.variables["power"], unit="W"),
            "noise_heard": self.noise_heard,
            "deviation": self.deviation,
            "energy": Entry(value=self.energy, unit="J"),
            "utility": self.utility,
            "baseline": self.baseline,
            "method": self.method,
        }

    @classmethod
    def of(cls, result: FleetDesign, wanted: FleetRequirements) -> FleetDesignResult:
        greatest = result.goal is Goal.UTILITY
        return cls(
            minimised=None if greatest else result.goal.value,
            maximised=result.goal.value if greatest else None,
            value=result.value,
            lower_bound=None if greatest else result.bound,
            upper_bound=result.bound if greatest else None,
            gap=result.gap,
            variables={"iterations": result.iterations, "power": result.power, "noise": result.noise},
            epsilon=result.epsilon,
            own_epsilon=result.own_epsilon,
            noise_heard=result.heard,
            deviation=result.deviation,
            energy=result.energy,
            utility=result.utility,
            baseline={
                "greatest_power": {"energy": result.benchmark_energy, "utility": result.benchmark_utility},
            },
            adjacency="what the sensitivity bounds",
            rounds=wanted.rounds,
            delta=wanted.delta,
            hears=wanted.hears.value,
            method=Method.ENERGY_PRICE.value,
            seconds=result.seconds,
        )


@dataclass(frozen=True, kw_only=True)
class DesignResult(Result):
    """A joint design.

    Attributes
    ----------
    headline : list of str
    never_send : list of int
        Devices that never send in this design.
    minimised : str
    value, lower_bound, gap : float
        `lower_bound` and `gap` are null where nothing is proved.
    bound_for : str, optional
        The class of designs of which none has less than `lower_bound`: every design, or designs that treat all devices alike.
    variables : dict
        The free parameters: one number, or one for each device.
    epsilon : ndarray, shape (K,)
        Epsilon over all rounds, against the observer.
    rounds : int
    observer : Observer
    accuracy, error : float, optional
    error_of : str
        The codes that the error and `baseline` are for: those of the features, or the worst ones within the clips.
    energy : float
        Energy of all devices for one round.
    energy_of : str
        The codes that it is for: those of the features (mean over the tasks), or codes as long as the clips.
    baseline : BaselineErrors, optional
    beats_constant : bool, optional
        Whether the error is below that of the output that ignores y.
    method : str
    boxes : int
    settled : bool
        Whether the search ended before the effort did.
    seconds : float
        Duration; no result depends on it.
    prices : list of ShadowPrice
        Of the limits (:mod:`airtight.solvers.design.over_the_air.design_prices`); absent without cvxpy.
    any_scheme : AnyScheme, optional
        What no scheme with the privacy of the design can beat: in the mean over several tasks, or without features for the worst
        codes.
    """

    headline: list[str]
    never_send: list[int]
    minimised: str
    value: float
    lower_bound: float | None
    gap: float | None
    bound_for: str | None
    variables: dict[str, Any]
    epsilon: FloatArray
    rounds: int
    observer: Observer
    accuracy: float | None
    error: float | None
    error_of: str
    energy: float
    energy_of: str
    baseline: BaselineErrors | None
    beats_constant: bool | None
    method: str
    boxes: int
    settled: bool
    seconds: float
    prices: list[ShadowPrice] | None = None
    any_scheme: AnyScheme | None = None

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        conditions: dict[str, Any] = {"observer": self.observer, "rounds": self.rounds}
        priced = {} if self.prices is None else {name: row for price in self.prices for name, row in price.tidy().items()}
        return {
            "minimised": self.minimised,
            "value": Entry(value=self.value, lower=math.nan if self.lower_bound is None else self.lower_bound),
            "gap": self.gap,
            "bound_for": self.bound_for,
            "epsilon": Entry(value=self.epsilon, face=Face.EXACT, **conditions),
            "never_send": silent(self.never_send),
            "error": self.error,
            "accuracy": self.accuracy,
            "energy": Entry(value=self.energy, unit="W symbol periods"),
            "variables": self.variables,
            "baseline": self.baseline,
            "any_scheme": self.any_scheme,
            "beats_constant": self.beats_constant,
            "method": self.method,
            "boxes": self.boxes,
            "settled": self.settled,
            "price": priced,
        }

    @classmethod
    def of(
        cls,
        solved: JointDesign,
        free: tuple[Free, ...],
        described_numbers: dict[str, float],
        tasks: Sequence[Features] = (),
    ) -> DesignResult:
        nothing, worst = solved.nothing, WorstCase.of(solved.system) if solved.worst_codes else None
        baseline = None
        if nothing is not None:
            constant = {"error": nothing.error}
            if nothing.accuracy is not None:
                constant["accuracy"] = nothing.accuracy
            baseline = BaselineErrors(constant_output=constant, published_design=described_numbers)
        variables = {name.value: _plain(getattr(solved.system, name.value)) for name in free}
        system, conditions = solved.system, solved.request or solved.system
        constant_error = None if nothing is None else nothing.error
        value = rounded_up(solved.value) if solved.minimised is Goal.EPSILON else plain(solved.value)
        least = f"LEAST {solved.minimised.value.upper()} {value}"
        certainty = "the best found; nothing is proved"
        if solved.lower_bound is not None and solved.bound_for is not None:
            certainty = f"{solved.bound_for.none} has less than {rounded_down(solved.lower_bound)}"
        use = headline.of_use(solved.error, constant_error) if worst is None else headline.of_use(None, None, worst.beside)
        summary = f"{least} ({certainty}); {headline.of_privacy(system, solved.epsilon)}; {use}."
        return cls(
            headline=headline.sentences(summary, system),
            never_send=headline.never_send(system),
            minimised=solved.minimised.value,
            value=solved.value,
            lower_bound=solved.lower_bound,
            gap=solved.gap,
            bound_for=None if solved.bound_for is None else solved.bound_for.value,
            variables=variables,
            epsilon=solved.epsilon,
            rounds=conditions.rounds,
            observer=observers.resolved(system, conditions.observer),
            accuracy=solved.accuracy,
            error=solved.error,
            error_of=solved.error_of,
            energy=solved.energy,
            energy_of=solved.energy_of,
            baseline=baseline,
            beats_constant=None if nothing is None or solved.error is None else solved.error < nothing.error,
            method=solved.method.value,
            boxes=solved.boxes,
            settled=solved.settled,
            seconds=solved.seconds,
            prices=_prices(solved),
            any_scheme=AnyScheme.of(system, tasks) if len(tasks) > 1 else None if worst is None else worst.any_scheme,
        )


def _prices(solved: JointDesign) -> list[ShadowPrice] | None:
    try:
        return design_prices.of(solved)
    except ModuleNotFoundError as error:
        if error.name not in ("cvxpy", "clarabel"):
            raise
        return None


def _worst(system: InferenceSystem) -> tuple[float, float] | None:
    """Error of the worst codes, beside that of a constant answer."""
    worst = WorstCase.of(system, limit=False)
    return None if worst is None else worst.beside


def _plain(value: Any) -> Any:
    """One number where all devices have the same value."""
    if isinstance(value, np.ndarray) and np.ptp(value) == 0:
        return float(value.flat[0])
    return value


@dataclass(frozen=True, kw_only=True)
class FrontierResult(Result):
    """One design for every combination of the constraints.

    Attributes
    ----------
    sought : str
        The objective: a quantity that is minimised, or utility, which is maximised.
    bound_for : str
        The class of designs that the bounds are for.
    axes : dict
        Values of each constraint, by its key in [design].
    points : list of dict
        For each combination the constraints, the `value` of the objective, its proved `bound`, and the values that the
        design reaches. Entries are null where no design was found or nothing is proved; `bound` is infinite where
        infeasibility is proved. `any_scheme`, where it is proved, is the least error or energy of any scheme under the
        constraints, whatever its code, power and decoder.
    """

    sought: str
    bound_for: str
    axes: dict[str, FloatArray]
    points: list[dict[str, float | None]]

    def table(self, system: str = "system") -> dict[str, NDArray[Any]]:
        """The tidy table, with a column for each constraint before it."""
        points = {name: _numbers(point[name] for point in self.points) for name in (self.points[0] if self.points else ())}
        axes = {name: points.pop(name) for name in self.axes}
        bound = points.pop("bound")
        ends: dict[str, Any] = {"upper": bound} if self.sought == Goal.UTILITY else {"lower": bound}
        rows = {name: tidy.Entry(value=values, **(ends if name == "value" else {})) for name, values in points.items()}
        return tidy.over(axes, tidy.columns([(system, {self.sought: rows.pop("value"), **rows})]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the objective over the first constraint, a line for each value of the second; the impossible is shaded."""
        first, *others = self.axes
        axes, worse = plots.axes_of(ax), self.sought == Goal.UTILITY
        every = _numbers(point["value"] for point in self.points)
        plots.scaled(axes, "y", every)
        shown = [None] if not others else list(self.axes[others[0]])
        for value, colour, mark in zip(shown, cycle(plots.COLOURS), cycle(plots.MARKS)):
            rows = [point for point in self.points if value is None or point[others[0]] == value]
            x, y, bound = (_numbers(row[key] for row in rows) for key in (first, "value", "bound"))
            label = None if value is None else f"{others[0].replace('_', ' ')} {value:g}"
            axes.plot(x, y, marker=mark, color=colour, label=label)
            axes.fill_between(x, bound, y, where=np.isfinite(bound), color=colour, alpha=0.25, linewidth=0)
            if value is None:
                low, high = axes.get_ylim()
                axes.set_ylim(low if axes.get_yscale() == "log" else min(low, 0.0), high)
                edge, proved = axes.get_ylim()[1 if worse else 0], np.isfinite(bound)
                excluded: dict[str, Any] = {"where": proved, "label": "impossible" if np.any(proved) else None}
                axes.fill_between(x, edge, bound, color=plots.IMPOSSIBLE, linewidth=0, **excluded)
        if any("any_scheme" in point for point in self.points):
            self._shade_what_no_scheme_reaches(axes)
        plots.scaled(axes, "x", self.axes[first])
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small")
        name, designs = first.replace("_", " "), int(np.sum(np.isfinite(every)))
        title = f"{'Greatest' if worse else 'Least'} {self.sought} by {name}: {designs} of {every.size} designs exist"
        return plots.finish(axes, title=title, x=name, y=self.sought)

    def _shade_what_no_scheme_reaches(self, axes: Axes) -> None:
        """Shade what is below the least value that any scheme has, over the first constraint: the lowest of a column."""
        first = next(iter(self.axes))
        x = self.axes[first]
        least = np.array(
            [min((point.get("any_scheme") or 0.0 for point in self.points if point[first] == at), default=0.0) for at in x]
        )
        low, high = axes.get_ylim()
        logarithmic = axes.get_yscale() == "log"
        if np.any(least > 0):
            low = min(low, float(np.min(least[least > 0])) / 2) if logarithmic else min(low, 0.0)
        axes.set_ylim(low, high)
        # a looser constraint allows less: between two points the value on the right is a bound
        edge = np.maximum(least, low)
        axes.plot(x, edge, color=plots.GREY, linestyle="--", drawstyle="steps-pre", label="no scheme is below")
        axes.fill_between(x, low, edge, color=plots.IMPOSSIBLE, linewidth=0, step="pre")

    @classmethod
    def of(cls, sought: str, bound_for: Designs, result: xarray.Dataset) -> FrontierResult:
        axes = {str(name): np.asarray(result[name].values) for name in result.value.dims}
        points: list[dict[str, float | None]] = []
        for at in product(*(range(values.size) for values in axes.values())):
            point = {name: float(values[i]) for (name, values), i in zip(axes.items(), at, strict=True)}
            reached = {str(name): float(data.values[at]) for name, data in result.data_vars.items()}
            points.append({**point, **{name: None if np.isnan(x) else x for name, x in reached.items()}})
        return cls(sought=sought, bound_for=bound_for.value, axes=axes, points=points)


def _numbers(values: Iterable[float | None]) -> FloatArray:
    """The values, nan for None."""
    return np.array([math.nan if value is None else value for value in values])


@dataclass(frozen=True, kw_only=True)
class CalibrationResult(Result):
    """The quantity that keeps a target epsilon.

    Attributes
    ----------
    headline : list of str
    never_send : list of int
        Devices that never send with these values.
    variable : str
        noise (variances), clip or participation.
    value : ndarray, shape (K,)
    target : float
        Greatest epsilon that is allowed for any device.
    epsilon : ndarray, shape (K,)
        Exact epsilon with these values, never below the truth.
    delta : float
    adjacency : Adjacency
    observer : Observer
    rounds : int
    monotone : bool
        Whether epsilon is monotone in the variable.
    unsettled : tuple of (float, float)
        Intervals of the scale for which no proof was found that they violate the target.
    settled : bool
        False where the effort was spent, or Ctrl-C pressed, before the extreme value was found.
    """

    headline: list[str]
    never_send: list[int]
    variable: str
    value: FloatArray
    target: float
    epsilon: FloatArray
    delta: float
    adjacency: Adjacency
    observer: Observer
    rounds: int
    monotone: bool
    unsettled: tuple[tuple[float, float], ...]
    settled: bool

    def tidy(self) -> dict[str, object]:
        """The numbers of the table."""
        conditions: dict[str, Any] = {"observer": self.observer, "rounds": self.rounds}
        return {
            "adjacency": self.adjacency,
            "delta": self.delta,
            self.variable: self.value,
            "target": Entry(value=self.target, **conditions),
            "epsilon": Entry(value=self.epsilon, face=Face.EXACT, **conditions),
            "never_send": silent(self.never_send),
            "monotone": self.monotone,
            "unsettled": {str(i): {"least": low, "greatest": high} for i, (low, high) in enumerate(self.unsettled)},
        }

    @classmethod
    def of(cls, result: Calibration, target: float, task: Task | None = None) -> CalibrationResult:
        """With the task of the system file, whether the calibrated system is useful."""
        system = result.system
        safe = rounded_up if result.variable is Variable.NOISE else rounded_down  # towards silence
        low, high = (safe(float(end)) for end in (np.min(result.value), np.max(result.value)))
        values = high if low == high else f"{low} to {high}"
        sought = result.variable.key.replace("_", " ").upper()
        who = "other device" if np.any(system.partners) else "device"
        summary = f"{sought} {values} keeps epsilon at most {target:g} for every {who} that sends"
        if not result.settled:
            summary += f" (the search was stopped: {BEYOND[result.variable]} may do)"
        error = constant = None
        if task is not None and task.fits(system):
            error = combiner.whole_mse(system, task.features)
            constant = decoding.constant_output(task.features)
        return cls(
            headline=headline.sentences(f"{summary}; {headline.of_use(error, constant, _worst(system))}.", system),
            never_send=headline.never_send(system),
            variable=result.variable.value,
            value=result.value,
            target=target,
            epsilon=result.epsilon,
            delta=system.delta,
            adjacency=system.adjacency,
            observer=observers.resolved(system, system.observer),
            rounds=system.rounds,
            monotone=result.monotone,
            unsettled=result.unsettled,
            settled=result.settled,
        )
