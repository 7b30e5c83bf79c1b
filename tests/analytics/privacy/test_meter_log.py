"""The log of the meter against forgers who make all hashes anew: the meter and check_log.py refuse alike, nothing overspends."""

from __future__ import annotations

import importlib.util
import json
import random
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airtight
from airtight import Meter, OverspentError, ParameterError, Round
from airtight.analytics.privacy import meter_log
from airtight.analytics.privacy.mechanisms.gaussian import Gaussian
from airtight.analytics.privacy.mechanisms.mechanism import Bounded, BracketArrays, around, described, register
from airtight.analytics.privacy.over_the_air.meter import dominates

CHECK_LOG = Path(airtight.__file__).parent / "validate" / "claims" / "certificates" / "check_log.py"
STRANGE: tuple[Any, ...] = (
    -1.0, -1e-9, -0.0, 0.0, 5e-324, 1e-300, 0.5, 1.0, 1e9, 1e300, float("inf"), float("nan"), 0, 1, 2, -1, 10**11, 10**400,
    True, False, None, "1", "", [], {}, [0.0], [1.0, 1.0], [[1.0]], {"constructor": "gaussian"},
)  # fmt: skip


def checker() -> Any:
    """check_log.py as a module of its own."""
    spec = importlib.util.spec_from_file_location("checked_meter_log", CHECK_LOG)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK = checker()


def accepted(text: str) -> bool:
    """Whether check_log.py accepts a log."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, MAX_EMAX, MIN_EMIN
        try:
            log, _ = CHECK.verify(text)
        except CHECK.Rejected:
            return False
        return bool(log.settled)


def read(text: str) -> bool:
    try:
        Meter.from_json(text)
    except ParameterError:
        return False
    return True


def forged(entries: list[Any]) -> str:
    """A log of these entries, with hashes that are right; NaN and infinity as Python writes them."""
    out, previous = "", meter_log.START
    for entry in entries:
        try:
            line, previous = meter_log.sealed(entry, previous)
        except (ValueError, TypeError):
            line = json.dumps({**entry, "previous": previous, "hash": "0" * 64}, separators=(",", ":"))
        out += line + "\n"
    return out


def entries(meter: Meter) -> list[dict[str, Any]]:
    return [{k: v for k, v in json.loads(line).items() if k not in ("previous", "hash")} for line in meter.lines]


def one(participants: list[int], **changes: Any) -> Round:
    base = {"noise_variance": 60.0, "weight": 1.0, "clip": 1.0, "receiver_noise_variance": 0.1}
    return Round(participants=participants, devices=3, **{**base, **changes})


def honest() -> dict[str, Meter]:
    """Logs with every kind of line."""
    plain, ordered = Meter(2.0, 1e-5, devices=3), Meter([4.0, 5.0, 4.0], 1e-5, devices=3, order=8.0)
    gaussian = Meter(4.0, 1e-5, devices=3, fixed=[(airtight.gaussian(0.2), 2)])
    for meter in (plain, ordered, gaussian):
        meter.record(one([0, 1]))
        meter.record(one([1, 2], looks=np.array([[1.0, 0.5j], [0.3, 1.0], [1.0, 1.0]]), noise_variance=[50.0, 60.0, 70.0]))
        meter.record(one([0], separate=True))
        meter.record(one([0, 2], adjacency="replace", idle_noise=True))
        meter.record(airtight.gaussian(0.1).compose(3), participants=[2])
    gaussian.record(airtight.gaussian(0.15))
    p = [0.5, 0.3, 0.2]
    for curve in (
        airtight.laplace(0.1), airtight.randomized_response(0.1, 3), airtight.subsampled(0.3, 0.1),
        airtight.discrete_pair(p, p[::-1]),
    ):  # fmt: skip
        ordered.record(curve, participants=[1])
    helped = {f"helped by {J}": Meter(4.0, 1e-5, devices=3, colluding=J) for J in (1, [0, 2])}
    for meter in helped.values():
        meter.record(one([0, 1], colluding=meter.colluding, noise_variance=[50.0, 60.0, 70.0]))
    return {"plain": plain, "order": ordered, "gaussian": gaussian, **helped}


def truly_overspends(log: list[dict[str, Any]]) -> bool:
    """Whether what the rounds of a log release exceeds the promise, by what they say of noise and clips, without the package.

    Rounds of one look are reckoned by their own formula, at 60 digits; others by what they pay.
    """
    head = log[0]
    K, order = head["devices"], head["order"]
    promised = head["budget_epsilon"] if isinstance(head["budget_epsilon"], list) else [head["budget_epsilon"]] * K
    with mpmath.workdps(60):
        spent = [mpmath.mpf(0)] * K
        for curve, count in head["fixed"]:
            spent = [x + count * sum(r["count"] * (r["parameters"]["mu"]) ** 2 for r in curve) for x in spent]
        for entry in log[1:]:
            if "fixed" in entry:
                continue
            at = {n: (lambda v: (lambda k: mpmath.mpf(v[k] if isinstance(v, list) else v)))(entry.get(n, 0)) for n in (
                "noise_variance", "weight", "clip")}  # fmt: skip
            for place, k in enumerate(entry["participants"]):
                cost = entry["cost"][place] if isinstance(entry["cost"], list) else entry["cost"]
                if "curve" in entry and order is None:
                    cost = sum(r["count"] * mpmath.mpf(r["parameters"]["mu"]) ** 2 for r in entry["curve"])
                elif "curve" not in entry and "looks" not in entry:
                    noisy = [k] if entry.get("separate") else range(K) if entry["idle_noise"] else entry["participants"]
                    colluding = entry.get("colluding", 0)
                    named, number = (colluding, 0) if isinstance(colluding, list) else ((), colluding)
                    others = sorted(at["noise_variance"](j) for j in noisy if j != k and j not in named)
                    noise = at["noise_variance"](k) * (k in noisy) + sum(others[: max(len(others) - number, 0)])
                    noise += mpmath.mpf(entry["receiver_noise_variance"]) / mpmath.mpf(entry["alignment"]) ** 2
                    distance = at["weight"](k) * at["clip"](k) * (2 if entry["adjacency"] == "replace" else 1)
                    cost = distance**2 / noise * (1 if order is None else mpmath.mpf(order) / 2) if distance else 0
                spent[k] += cost
        for total, epsilon in zip(spent, promised, strict=True):
            if order is not None:
                a = mpmath.mpf(order)
                if total + mpmath.log(1 - 1 / a) - (mpmath.log(head["delta"]) + mpmath.log(a)) / (a - 1) > epsilon:
                    return True
            elif total and epsilon < 1e15:
                mu = mpmath.sqrt(total)
                x, y = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
                if mpmath.ncdf(x) - mpmath.exp(epsilon) * mpmath.ncdf(y) > head["delta"]:
                    return True
    return False


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything inside a JSON value."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return ([path] if path else []) + [place for key, child in inside for place in places(child, (*path, key))]


def changed(log: list[dict[str, Any]], path: tuple[Any, ...], value: Any) -> list[dict[str, Any]]:
    out = json.loads(json.dumps(log))
    node = out
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return out


def judged(log: list[dict[str, Any]]) -> str:
    """What becomes of a forged log; an error where it passes and overspends."""
    text = forged(log)
    by_checker, by_meter = accepted(text), read(text)
    if by_checker or by_meter:
        assert not truly_overspends(log), text
    return f"{by_checker} {by_meter}"


@pytest.mark.parametrize("name", ["plain", "order", "gaussian"])
def test_no_changed_number_lets_a_log_overspend(name: str) -> None:
    """A sample of every number of every line, replaced by everything strange; all hashes are made anew."""
    log, rng = entries(honest()[name]), random.Random(1)
    assert accepted(forged(log)) and read(forged(log)) and not truly_overspends(log)
    for path in rng.sample([path for path in places(log) if len(path) > 1], 60):
        judged(changed(log, path, rng.choice(STRANGE)))


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        (0, {"delta": 1.0}), (0, {"delta": 1e9}), (0, {"delta": 0.0}), (0, {"devices": 0}), (0, {"devices": 10**11}),
        (0, {"devices": True}), (0, {"devices": 3.0}), (0, {"budget_epsilon": -1.0}), (0, {"budget": -1.0}), (0, {"order": 1.0}),
        (0, {"order": True}), (0, {"adaptive": 1}), (0, {"more": 1}), (0, {"schema": "airtight-meter-9"}), (0, {"fixed": None}),
        (0, {"budget_epsilon": [2.0, 2.0]}), (0, {"budget": [1.0]}), (0, {"delta": "0.1"}),
        (1, {"noise_variance": -60.0, "cost": 0.0}), (1, {"weight": -1.0}), (1, {"clip": 0.0, "cost": 0.0}), (1, {"clip": -1.0}),
        (1, {"receiver_noise_variance": -119.0}), (1, {"alignment": -1.0}), (1, {"alignment": 0.0}), (1, {"weight": 1}),
        (1, {"cost": -1.0}), (1, {"cost": [0.1]}), (1, {"cost": True}), (1, {"participants": [1, 0]}), (1, {"separate": 0}),
        (1, {"participants": [0, 0]}), (1, {"participants": [0, 1.0]}), (1, {"participants": [False, True]}), (1, {"round": 1.0}),
        (1, {"participants": [0, 3]}), (1, {"participants": [-1, 0]}), (1, {"idle_noise": None}), (1, {"round": 2}),
        (1, {"looks": [[1.0], [1.0]]}), (1, {"looks": [[], [], []]}), (1, {"looks_imaginary": [[1.0]] * 3}), (1, {"more": 0}),
        (1, {"adjacency": "absent"}), (1, {"adjacency": ["silent"]}), (1, {"devices": 4}), (1, {"cost": 1.0}), (1, {"fixed": 0}),
        (2, {"noise_variance": [-50.0, 60.0, 70.0], "cost": 0.0}), (2, {"looks": [[1.0, True]] * 3}),
        (3, {"looks": [[1.0]] * 3}),
        (5, {"curve": [{"constructor": "gaussian", "parameters": {"mu": 0.1, "slack": -1.0}, "count": 3}], "cost": 0.0}),
        (5, {"curve": [{"constructor": "gaussian", "parameters": {"mu": 9.0}, "count": 0}], "cost": 0.0}),
        (5, {"curve": [{"constructor": "gaussian", "parameters": {"mu": 9.0}, "count": n} for n in (1, -1)], "cost": 0.0}),
        (5, {"curve": [{"constructor": "gaussian", "parameters": {"mu": -0.1}, "count": 3}]}),
        (5, {"curve": [{"constructor": "laplace", "parameters": {"loss": 0.1}, "count": 1}]}),
        (5, {"curve": [], "cost": 0.0, "participants": 2}),
    ],
)  # fmt: skip
def test_numbers_outside_their_domain_are_refused_by_both(line: int, changes: dict[str, Any]) -> None:
    log = entries(honest()["plain"])
    log[line] |= changes
    assert judged(log) == "False False"


def test_a_key_that_is_given_twice_is_a_change() -> None:
    log = forged(entries(honest()["plain"]))
    for old, new in (('"round":2,', '"round":2,"round":2,'), ("60.0", "6e1"), ("\n", "\r\n"), ("\n", "\n\n")):
        changed_text = log.replace(old, new, 1)
        assert not accepted(changed_text) and not read(changed_text)


def test_the_format_is_the_same_text() -> None:
    rule = "# ---- the format of a log", "# ---- the end of the format"
    texts = [path.read_text().split(rule[0])[1].split(rule[1])[0] for path in (Path(meter_log.__file__), CHECK_LOG)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-9, 1.0, 2e4, 3e6, 1e12, 1e100, 1e300])
def test_an_honest_log_of_any_budget_passes_and_no_greater_one(epsilon: float, delta: float) -> None:
    meter = Meter(epsilon, delta, devices=1)
    budget = meter.guarantee(0).amount
    asked = Round(
        participants=[0], devices=1, noise_variance=1.0, weight=min(np.sqrt(budget) * 0.7, 1e150), clip=1.0,
        receiver_noise_variance=0.0,
    )  # fmt: skip
    meter.record(asked)
    assert accepted(meter.to_json()) and read(meter.to_json())
    if budget > 1e-300:
        greater = entries(Meter(epsilon, delta, devices=1))
        greater[0]["budget"] = [budget * (1 + 1e-6)]
        assert not accepted(forged(greater)) and not read(forged(greater))


@dataclass(frozen=True)
class Erasure(Bounded):
    """The mechanism of CONTRIBUTING.md: another parameter than the loss decides what it shows."""

    loss: float
    seen: float = 0.5
    unit: str = ""

    def delta_bracket(self, epsilon: Any, *, reverse: bool = False) -> BracketArrays:
        beyond = 0.0 - np.expm1(np.minimum(epsilon - self.loss, 0.0))
        return around(self.seen * beyond / (1 + np.exp(-self.loss)))


register(Erasure, "erasure of a test")


def test_a_smaller_loss_alone_covers_nothing() -> None:
    """Declared with seen = .01 the meter let ten rounds with seen = 1 through, and guaranteed 3 where 9.98 were released."""
    declared, shown = (airtight.PrivacyCurve.of(Erasure(1.0, seen)) for seen in (0.01, 1.0))
    assert not dominates(declared, shown) and not dominates(declared, airtight.PrivacyCurve.of(Erasure(0.5, 1.0)))
    meter = Meter(3.0, 1e-5, devices=1, fixed=[(declared, 10)])
    with pytest.raises(OverspentError, match="not Gaussian"):
        meter.record(shown)


MECHANISMS = st.one_of(
    st.builds(airtight.gaussian, st.sampled_from([0.0, 0.1, 0.3, 5e-324, 1e-200])),
    st.builds(Gaussian, st.floats(0, 1), slack=st.sampled_from([0.0, 1e-15, 0.1])).map(airtight.PrivacyCurve.of),
    st.builds(airtight.laplace, st.sampled_from([0.1, 0.2, 5e-324])),
    st.builds(airtight.randomized_response, st.sampled_from([0.1, 0.2]), st.integers(2, 3)),
    st.builds(airtight.subsampled, st.sampled_from([0.1, 0.2]), st.sampled_from([0.0, 0.3, 0.5, 1.0])),
    st.builds(airtight.discrete_pair, st.just([0.5, 0.5]), st.sampled_from([[0.5, 0.5], [0.4, 0.6]])),
)


@given(MECHANISMS, MECHANISMS)
@settings(max_examples=40, deadline=None)
def test_meter_and_checker_agree_on_what_is_covered(declared: Any, released: Any) -> None:
    """And what is covered lies below, at every epsilon and in both orders."""
    by_meter = dominates(declared, released)
    texts = [json.loads(curve.to_json()) for curve in (declared, released)]
    assert CHECK.covers(*texts) == by_meter
    if by_meter:
        epsilon = np.linspace(0, 1, 5)
        for direction in ("forward", "reverse"):
            least, greatest = (x.bracket(epsilon=epsilon, direction=direction) for x in (released, declared))
            assert np.all(least.lower <= greatest.upper)
    assert described(declared.factors[0][0]) == {k: v for k, v in texts[0][0].items() if k != "count"}


def test_a_gaussian_curve_is_spent_by_its_mu() -> None:
    meter, rounds = Meter(1.0, 1e-5, devices=2), Meter(1.0, 1e-5, devices=2)
    meter.record(airtight.compose([airtight.gaussian(0.1), airtight.gaussian(0.05)], [2, 3]), participants=[False, True])
    assert meter.spent(0).amount == 0 and 0 <= meter.spent(1).amount - 0.0275 < 1e-15
    for each in (meter, rounds):
        while each.may(airtight.gaussian(0.05)):
            each.record(airtight.gaussian(0.05))
    assert rounds.rounds == int(rounds.guarantee(0).amount / 0.0025)
    with pytest.raises(OverspentError, match=r"device 1 would exceed.*Gaussian filter"):
        meter.record(airtight.gaussian(0.3), participants=[1])
    with pytest.raises(OverspentError, match=r"not Gaussian.*fixed=.*order="):
        meter.record(airtight.laplace(0.01), participants=[0])
    declared = Meter(1.0, 1e-5, devices=2, fixed=[(airtight.gaussian(0.1), 1)])
    declared.record(airtight.gaussian(0.1))
    assert declared.spent(0).amount == 0
    declared.record(airtight.gaussian(0.1))
    assert declared.spent(0).amount > 0
    for each in (meter, rounds, declared):
        assert accepted(each.to_json()) and Meter.from_json(each.to_json()).to_json() == each.to_json()


def test_what_underflows_costs_something() -> None:
    """A meter that is spent to the last bit lets no round through, however quiet."""
    meter = Meter(1.0, 1e-5, devices=1)
    budget = meter.guarantee(0).amount
    meter._total = np.array([budget]), np.zeros(1)
    for quiet in (1e-15, 1e-100, 1e-170, 1e-200):
        asked = Round(participants=[0], devices=1, noise_variance=1.0, weight=quiet, clip=1.0, receiver_noise_variance=0.0)
        assert not meter.may(asked) and not meter.may(airtight.gaussian(quiet))
        assert Fraction(float(asked.mu_squared(np.array([True]))[0])) >= Fraction(quiet) ** 2
    ordered = Meter(1.0, 1e-5, devices=1, order=32.0)
    ordered._total = ordered._budget.copy(), np.zeros(1)
    assert not ordered.may(asked) and not ordered.may(airtight.gaussian(1e-200))


@pytest.mark.parametrize("mu2", [1e-3, 1e-18, 1e-30])
def test_a_plan_of_quiet_rounds(mu2: float) -> None:
    """As many as the budget holds: sums keep what lies below the last place, so that a thousand of them cost a thousand mu^2."""
    meter = Meter(1.0, 1e-5, devices=1)
    asked = Round(participants=[0], devices=1, noise_variance=1.0, weight=np.sqrt(mu2), clip=1.0, receiver_noise_variance=0.0)
    room = meter.guarantee(0).amount / mu2
    assert room * (1 - 2e-2) - 1 <= meter.plan(asked).rounds[0] <= room
    total, cost = (np.array([0.02]), np.zeros(1)), np.array([mu2])
    meter._total = total
    for _ in range(1000):
        meter._total = meter._after(cost)
    exact = sum(map(Fraction, map(float, (meter._total[0][0], meter._total[1][0])))) - Fraction(0.02) - 1000 * Fraction(mu2)
    assert 0 <= exact <= Fraction(2) ** -90


def test_sums_of_noise_that_overflow_hide_no_more() -> None:
    asked = Round(participants=[0, 1], devices=2, noise_variance=1.7e308, weight=1e154, clip=1.0, receiver_noise_variance=0.0)
    assert np.all(asked.mu_squared(np.array([True, True])) >= 1e308 / 3.4e308)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.complex64, np.clongdouble, np.int8])
def test_looks_of_every_type_of_number(kind: type) -> None:
    table = np.array([[1, 2], [2, -1], [1, 1]])
    found = one([0, 1], looks=table.astype(kind))
    np.testing.assert_allclose(found.mu_squared(found.participants), one([0, 1], looks=table).mu_squared(found.participants))
    for beyond in ("1e4000", "1e-4000", "nan", "inf"):
        with pytest.raises(ParameterError, match=r"looks\[0, 0\]"):
            one([0, 1], looks=np.array([[np.longdouble(beyond)]] * 3))


def test_masks_and_indices() -> None:
    """Truth values are a mask, whole numbers are indices, and a mixture is neither."""
    given = {"noise_variance": 0.5, "weight": 1.0, "clip": 1.0, "receiver_noise_variance": 0.1}
    for mask in ([False, True], np.array([False, True]), (False, True)):
        np.testing.assert_allclose(Round(participants=mask, devices=2, **given).mu_squared(np.array(mask)), [0, 1 / 0.6])
    assert list(Round(participants=[0, 1], devices=2, **given).participants) == [True, True]
    objects = np.array([0, 1], dtype=object)
    for wrong in ([True, 0], [0, True], [0, np.True_], [[0, 1]], 1, np.array([0.0, 1.0]), [True], "01", objects):
        with pytest.raises(ParameterError, match="participants"):
            Round(participants=wrong, devices=2, **given)


def test_a_log_of_an_older_version_is_read() -> None:
    """It has neither of the later keys, its costs are rounded otherwise, and its looks are whole numbers."""
    older = entries(honest()["plain"])[:3]
    older[0]["schema"] = "airtight-meter-1"
    for entry in older[1:]:
        del entry["separate"], entry["idle_noise"]
    older[1]["cost"] = [cost * (1 + 2e-14) for cost in [older[1]["cost"]] * 2]
    table = [[1, 2], [2, -1], [1, 1]]
    older[2] |= {"looks": table, "cost": entries(_with_looks(table))[1]["cost"]}
    del older[2]["looks_imaginary"]
    meter = Meter.from_json(forged(older))
    meter.record(one([0]))
    assert accepted(forged(older)) and accepted(meter.to_json()) and read(meter.to_json())
    assert meter.to_json().startswith(forged(older))


def _with_looks(table: list[list[int]]) -> Meter:
    meter = Meter(2.0, 1e-5, devices=3)
    meter.record(one([1, 2], looks=table, noise_variance=[50.0, 60.0, 70.0]))
    return meter


def test_a_log_of_another_format_is_named() -> None:
    text = forged([{**entries(Meter(1.0, 1e-5, devices=1))[0], "schema": "airtight-meter-9"}])
    with pytest.raises(ParameterError, match="format 'airtight-meter-9'; this version reads airtight-meter-1, airtight-meter-2"):
        Meter.from_json(text)
    with pytest.raises(CHECK.Rejected, match="format 'airtight-meter-9'; this program reads airtight-meter-1"):
        CHECK.verify(text)
