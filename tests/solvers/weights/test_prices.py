"""Prices of limits: finite differences of the optima over random cases, limits that do not bind, and degenerate problems."""

from __future__ import annotations

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq
from support.common import weight_example

import airtight
from airtight import DeviceFleet, Features, ParameterError
from airtight.analytics import parameters
from airtight.analytics.federated.fair.device import table_1
from airtight.solvers.energy.energy_problem import Case, Problem
from airtight.solvers.price import ShadowPrice
from airtight.solvers.weights.weight_problem import _example


def difference(least, at: float, step: float = 1e-3) -> tuple[float, float]:
    """One-sided derivatives of an optimum by its limit, the second-order rules."""
    here, sides = least(at), []
    for sign in (1, -1):
        one, two = least(at + sign * step * at), least(at + sign * 2 * step * at)
        sides.append(sign * (4 * one - two - 3 * here) / (2 * step * at))
    return sides[0], sides[1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("free", [False, True])
def test_the_price_of_epsilon_is_a_derivative(seed: int, free: bool) -> None:
    system, features = weight_example(seed=seed)
    cap = float(np.random.default_rng(seed).uniform(0.8, 2.0))

    def least(epsilon: float) -> float:
        return float(airtight.solve_weights(system, features, epsilon_cap=epsilon, sums_to_one=not free).objective)

    price = airtight.solve_weights(system, features, epsilon_cap=cap, sums_to_one=not free).price
    rising, falling = difference(least, cap)
    assert price.rising == pytest.approx(rising, rel=1e-3, abs=1e-6 * least(cap))
    assert price.falling == pytest.approx(falling, rel=1e-3, abs=1e-6 * least(cap))
    assert not price.one_sided


@pytest.mark.parametrize("cap", ["proven", "theorem1", "exact"])
def test_the_price_follows_the_cap_that_was_asked(cap: str) -> None:
    system, features = weight_example(seed=1)
    system = replace(system, noise_variance=4.0, delta_prime=0.3)

    def least(epsilon: float) -> float:
        return float(
            airtight.solve_weights(system, features, epsilon_cap=epsilon, cap=cap, sums_to_one=False).objective
        )

    price = airtight.solve_weights(system, features, epsilon_cap=0.6, cap=cap, sums_to_one=False).price
    assert price.rising < 0 and price.rising == pytest.approx(difference(least, 0.6)[0], rel=1e-3)


def test_a_cap_that_does_not_bind_costs_nothing() -> None:
    system, features = weight_example()
    price = airtight.solve_weights(system, features, epsilon_cap=1e3).price
    assert (price.rising, price.falling) == (0.0, 0.0) and "does not bind" in str(price)
    assert airtight.solve_weights(system, features).price is None
    assert airtight.solve_weights(system, features, w_max=0.4).price is None


def test_a_degenerate_optimum_has_two_prices() -> None:
    """At the least feasible cap every weight is at its bound, and no smaller cap has weights."""
    from airtight.solvers.weights.weight_problem import greatest_weights

    system, _ = weight_example(4)
    features = Features(f=np.array([[2.0, 1.0], [1.0, 3.0], [1.0, 1.0], [4.0, 1.0]]), W=np.eye(3, 2), D=np.eye(2, 3))
    cap = brentq(lambda e: greatest_weights(system, e, sums_to_one=False).sum() - 1 - 1e-10, 0.2, 5.0, xtol=1e-13)
    found = airtight.solve_weights(system, features, epsilon_cap=cap)
    price = found.price
    assert price.one_sided and price.falling == -np.inf and "degenerate" in str(price)
    more = airtight.solve_weights(system, features, epsilon_cap=cap * 1.001)
    assert price.rising == pytest.approx((more.objective - found.objective) / (0.001 * cap), rel=0.01)


def test_the_price_with_constraints_of_a_user() -> None:
    system, features = weight_example(seed=2)

    def solved(epsilon: float):
        return airtight.solve_weights(
            system, features, epsilon_cap=epsilon, constraints=lambda w: [w[0] <= 0.05, w[1] == w[4]]
        )

    price = solved(1.5).price
    assert price.rising == pytest.approx(difference(lambda e: solved(e).objective, 1.5, 1e-2)[0], rel=0.01, abs=1e-5)


def test_a_user_makes_the_problem_degenerate() -> None:
    """Two weights held at the sum of their bounds from below: the cap cannot fall, and a higher one is not paid back."""
    system, features = weight_example(seed=3)
    upper = airtight.solve_weights(system, features, epsilon_cap=1.2).w_max
    both = float(upper[0] + upper[1])

    def solved(epsilon: float):
        return airtight.solve_weights(system, features, epsilon_cap=epsilon, constraints=lambda w: w[0] + w[1] >= both)

    price = solved(1.2).price
    assert price.one_sided and price.falling == -np.inf
    assert price.rising == pytest.approx((solved(1.201).objective - solved(1.2).objective) / 0.001, rel=0.02, abs=1e-4)


def test_no_price_without_a_proof() -> None:
    system, features = weight_example()
    found = airtight.solve_weights(system, features, epsilon_cap=1.5)
    wrong = replace(found, certificate=replace(found.certificate, duality_gap=1.0))
    assert np.isnan(wrong.price.rising) and "not proved optimal" in str(wrong.price)
    assert ShadowPrice("a", "b", "", np.nan, np.nan).one_sided is False


def fleet(devices: int, seed: int) -> DeviceFleet:
    rng = np.random.default_rng(seed)
    drawn = table_1(
        distance=rng.uniform(20, 250, devices),
        deadline=np.exp(rng.uniform(-1, 3.4, devices)),
        beta_1=np.exp(rng.uniform(-6, 1, devices)),
        beta_2=np.exp(rng.uniform(-5, 0, devices)),
        utility_energy=np.exp(rng.uniform(-4, 1, devices)),
        compute_power=np.exp(rng.uniform(-5, -1, devices)),
        min_iterations=rng.uniform(0, 40, devices),
    )
    return part(drawn, drawn.deadline > 1.01 * drawn.least_deadline)


def part(drawn: DeviceFleet, rows) -> DeviceFleet:
    return DeviceFleet(**{name: getattr(drawn, name)[rows] for name in parameters.of(DeviceFleet)})


@pytest.mark.parametrize("integer", [False, True])
def test_the_prices_of_the_deadline_are_derivatives(integer: bool) -> None:
    devices = fleet(2000, 0)
    if integer:  # the others compare all whole numbers, which takes long
        devices = part(devices, devices.compute_power >= devices.circuit_power)
    best = airtight.solve_energy(devices, integer=integer)
    assert integer or set(best.case) == {case.value for case in Case if case is not Case.UNSOLVED}
    step = 1e-5

    def later(factor: float):
        moved = replace(devices, deadline=devices.deadline * factor)
        return airtight.solve_energy(moved, integer=integer)

    one, two = later(1 + step), later(1 + 2 * step)
    same = (
        (one.iterations == best.iterations) & (two.iterations == best.iterations) if integer else best.case == two.case
    )
    known = same & (best.case != Case.NONCONVEX.value)  # there the plan is as exact as the root of its gap, see below
    known &= np.abs(best.energy / devices.utility_energy * 2 - 1) > 1e-3  # nothing else happens within the step
    for name, unit in (("energy", 1e-4), ("utility", 1e-4)):
        mine, at = getattr(best.prices, name)[0], getattr(best, name)
        theirs = (4 * getattr(one, name) - getattr(two, name) - 3 * at) / (2 * step * devices.deadline)
        error = np.abs(mine - theirs) / (np.abs(theirs) + unit * np.abs(at) / devices.deadline)
        assert np.max(error[known]) < 1e-3
    assert known.mean() > 0.5


def test_the_price_where_the_target_is_out_of_reach() -> None:
    """The stationary point of the edge at two deadlines, by mpmath from the definition of the utility alone."""
    devices = fleet(4000, 1)
    best = airtight.solve_energy(devices)
    rows = np.flatnonzero(
        (best.case == Case.NONCONVEX.value) & (best.slack == 0) & (best.compute_time > 1.01 * devices.least_time)
    )
    p = Problem.of(devices)
    rows = rows[(p.Z_max[rows] * p.t_min[rows] > 0) & (best.transmit_time[rows] > 1.01 * p.t_min[rows])]
    assert rows.size > 5
    mpmath.mp.dps = 40
    for k in rows[:8].tolist():
        q = {name: mpmath.mpf(float(getattr(p, name)[k])) for name in vars(p)}

        def energy(x, t, q=q):
            return q["P_cp"] * x + t * (mpmath.expm1(q["a"] / t) * q["inverse_gain"] + q["P_cir"])

        def utility(x, t, q=q, energy=energy):
            return q["beta_1"] * -mpmath.expm1(-q["P_cp"] * x / q["beta_2"]) - (energy(x, t) - q["half"]) ** 2

        def optimum(T, q=q, k=k, utility=utility):
            return mpmath.findroot(lambda x: mpmath.diff(lambda s: utility(s, T - s), x), float(best.compute_time[k]))

        h = q["T"] * mpmath.mpf(10) ** -8
        ends = [(optimum(q["T"] + sign * h), q["T"] + sign * h) for sign in (1, -1)]
        slope = (energy(ends[0][0], ends[0][1] - ends[0][0]) - energy(ends[1][0], ends[1][1] - ends[1][0])) / (2 * h)
        assert best.prices.energy[0][k] == pytest.approx(float(slope), rel=1e-4)
        slope = (utility(ends[0][0], ends[0][1] - ends[0][0]) - utility(ends[1][0], ends[1][1] - ends[1][0])) / (2 * h)
        assert best.prices.utility[0][k] == pytest.approx(float(slope), rel=1e-4)


def test_prices_at_a_kink_hold_on_their_side() -> None:
    loose = airtight.solve_energy(table_1(distance=[50.0], deadline=30.0))
    assert loose.case[0] == "slack" and str(loose.prices.of(0)[0]).endswith("does not bind")
    kink = float(loose.compute_time[0] + loose.transmit_time[0])
    energy, utility = airtight.solve_energy(table_1(distance=[50.0], deadline=kink)).prices.of(0)
    assert energy.one_sided and energy.rising == 0.0 and utility.rising == pytest.approx(0.0, abs=1e-9)
    step = 1e-5 * kink
    earlier = airtight.solve_energy(table_1(distance=[50.0], deadline=kink - step)).energy[0]
    assert energy.falling == pytest.approx((loose.energy[0] - earlier) / step, rel=0.01)


def test_no_plan_before_the_least_deadline() -> None:
    last = table_1(distance=[100.0])
    devices = replace(last, deadline=last.least_deadline)
    energy, utility = airtight.solve_energy(devices).prices.of(0)
    assert np.isnan(energy.falling) and utility.falling == np.inf and energy.one_sided and utility.one_sided
    step = 1e-6 * devices.deadline
    later = airtight.solve_energy(replace(devices, deadline=devices.deadline + step)).energy
    assert energy.rising == pytest.approx(float(((later - airtight.solve_energy(devices).energy) / step)[0]), rel=1e-3)


def test_the_published_plan_has_no_price_where_it_is_not_optimal() -> None:
    devices = fleet(200, 2)
    found = airtight.solve_energy(devices, method="published")
    priced = ~np.isnan(found.prices.energy[0])
    np.testing.assert_array_equal(priced, found.gap <= 1e-8 * found.scale)


def test_commands_print_prices() -> None:
    from click.testing import CliRunner

    from airtight.commands.cli import main

    run = CliRunner().invoke
    rows = json.loads(run(main, ["solve", "energy", "examples/fleet.toml", "--json"]).stdout)
    assert rows[0]["price"]["energy"].keys() == {"of", "by", "unit", "rising", "falling"}
    assert "dE/dT" in run(main, ["solve", "energy", "examples/fleet.toml"]).stdout
    found = run(main, ["solve", "weights", "examples/paper.toml", "--variant", "clipped"])
    assert "Price of privacy: d error / d epsilon" in found.stdout


FREE = ["weight", "noise_variance", "decoder_gain"]


@pytest.mark.parametrize(
    "asked",
    [
        {"minimise": "error", "epsilon_at_most": 2.0, "free": ["weight", "decoder_gain"]},
        {"minimise": "error", "epsilon_at_most": 2.0, "energy_at_most": 5.0, "free": FREE},
        {"minimise": "energy", "epsilon_at_most": 4.0, "error_at_most": 1.0, "free": FREE},
        {"minimise": "epsilon", "error_at_most": 0.5, "free": FREE},
    ],
    ids=str,
)
def test_the_prices_of_a_design_are_derivatives_of_designs(asked) -> None:
    """Differences of whole designs, in which noise is optimised again at every limit."""
    system, views = _example()
    found = airtight.design(system, views, **asked)
    told = {price.by: price for price in airtight.sensitivities(found)}
    assert set(told) == {key.removesuffix("_at_most") for key in asked if key.endswith("_at_most")}
    for by, price in told.items():
        key, step = f"{by}_at_most", 0.03
        more = airtight.design(system, views, **{**asked, key: asked[key] * (1 + step)}).value
        slope = (more - found.value) / (step * asked[key])
        assert price.rising == pytest.approx(slope, rel=0.08, abs=2e-3 * abs(found.value) / (step * asked[key]))
        assert not price.one_sided and price.of == asked["minimise"]


def test_the_prices_of_unequal_devices() -> None:
    """All take part, so that the cone program is the problem itself: its prices are those of weights that need no gain."""
    rng = np.random.default_rng(0)
    system, _ = weight_example(4)
    system = replace(system, participation=1.0, noise_variance=rng.uniform(0.1, 1.0, 4))
    features = Features(f=rng.normal(size=(4, 2)), W=rng.normal(size=(4, 3, 2)), D=rng.normal(size=(2, 3)))
    asked = {"minimise": "error", "free": ["weight", "decoder_gain"]}

    def least(epsilon: float) -> float:
        problem, _ = airtight.design_problem(system, features, epsilon_at_most=epsilon, free_noise=False)
        return float(problem.solve(solver="CLARABEL"))

    found = airtight.design(system, features, epsilon_at_most=1.5, **asked)
    (price,) = airtight.sensitivities(found)
    assert price.rising == pytest.approx((least(1.53) - least(1.47)) / 0.06, rel=2e-3) and price.rising < 0
    assert found.error == pytest.approx(least(1.5), rel=1e-4)


def test_where_a_design_has_no_price() -> None:
    system, views = _example()
    for asked in (
        {"minimise": "energy", "epsilon_at_most": 4.0, "free": ["noise_variance"]},
        {"minimise": "error", "epsilon_at_most": 2.0, "free": FREE, "power_at_most": 50.0},
    ):
        assert airtight.sensitivities(airtight.design(system, views, **asked)) == []
    asked = {"minimise": "error", "energy_at_most": 1e6, "free": ["weight", "decoder_gain"]}
    prices = airtight.sensitivities(airtight.design(system, views, epsilon_at_most=2.0, **asked))
    assert [price.rising == 0.0 for price in prices] == [False, True] and "does not bind" in str(prices[1])
    local = airtight.design(
        system, views, **{**asked, "epsilon_at_most": 2.0, "free": ("clip", *asked["free"]), "effort": 2000}
    )
    assert local.method == "local" and all(np.isnan(price.rising) for price in airtight.sensitivities(local))


def test_a_price_is_no_zero_where_the_error_still_falls() -> None:
    """Noise is given, so the error falls as the inverse of the energy: a twentieth of a millionth of it at 1e6."""
    system, views = _example()
    asked = {"minimise": "error", "free": ["weight", "decoder_gain"]}
    for energy in (1e3, 1e6):
        (price,) = airtight.sensitivities(airtight.design(system, views, energy_at_most=energy, **asked))
        problem, _ = airtight.design_problem(system, views, energy_at_most=energy, free_noise=False)
        ends = []
        for limit in (energy / 2, energy * 2):
            problem.param_dict["energy"].value = limit
            ends.append(float(problem.solve(solver="CLARABEL", tol_gap_abs=1e-13, tol_gap_rel=1e-13)))
        assert price.rising == pytest.approx((ends[1] - ends[0]) / 1.5 / energy, rel=0.02) and price.rising < 0


def test_the_cone_program_is_open() -> None:
    """Its parameters change without a new compilation; with all devices alike it is the design of branch and bound."""
    system, _ = _example()
    views = Features(f=[[1.0, 0.5]] * 3, W=np.eye(2), D=np.eye(2))
    asked = {"minimise": "error", "epsilon_at_most": 2.0}
    problem, variables = airtight.design_problem(
        system, views, epsilon_at_most=2.0, energy_at_most=50.0, free_noise=False
    )
    assert (
        problem.is_dcp(dpp=True)
        and set(variables) == {"u", "m", "phi"}
        and set(problem.param_dict) == {"ratio", "energy"}
    )
    for energy in (50.0, 15.0, 12.0):
        problem.param_dict["energy"].value = energy
        least = float(problem.solve(solver="CLARABEL"))
        found = airtight.design(system, views, energy_at_most=energy, free=["weight", "decoder_gain"], **asked)
        assert least == pytest.approx(found.value, rel=2e-3)
    relaxed, _ = airtight.design_problem(system, views, epsilon_at_most=2.0)
    best = airtight.design(system, views, free=FREE, **asked)
    assert float(relaxed.solve(solver="CLARABEL")) <= best.value * (1 + 1e-6)


def test_what_the_cone_program_refuses() -> None:
    system, views = _example()
    with pytest.raises(ParameterError, match="epsilon_at_most"):
        airtight.design_problem(system, views)
    with pytest.raises(ParameterError, match="free_noise"):
        airtight.design_problem(system, views, epsilon_at_most=2.0, observer="others")
    with pytest.raises(ParameterError, match="observer"):
        airtight.design_problem(system, views, epsilon_at_most=2.0, observer="nobody")


def test_the_command_prints_the_prices_of_a_design() -> None:
    from click.testing import CliRunner

    from airtight.commands.cli import main

    printed = CliRunner().invoke(main, ["design", "examples/good.toml"]).stdout
    assert "error -1.1" in printed and "nothing (not binding)" in printed


def test_the_problem_of_budgets_is_open() -> None:
    rng = np.random.default_rng(0)
    cost, budget, floor = rng.uniform(0.1, 1.0, (3, 5)), np.array([1.0, 0.5, 50.0]), np.array([0.0, 0.3, 0.0, 0.0, 5.0])
    for influence in (np.ones(5), 0.8 ** np.arange(5)):
        problem, variables = airtight.budget_problem(np.ones(5), budget=np.ones(3), cost=cost, least_noise=floor)
        problem.param_dict["influence"].value, problem.param_dict["budget"].value = influence, budget
        found = airtight.spread_budget(influence, budget=budget, cost=cost, least_noise=floor)
        assert problem.is_dcp(dpp=True) and float(problem.solve(solver="CLARABEL")) == pytest.approx(
            found.error, rel=1e-6
        )
        np.testing.assert_allclose(1 / variables["y"].value, found.noise, rtol=1e-3)
        np.testing.assert_allclose(problem.constraints[0].dual_value, found.prices, rtol=1e-3, atol=1e-5)
    with pytest.raises(ParameterError, match="influence"):
        airtight.budget_problem([-1.0], budget=1.0)
