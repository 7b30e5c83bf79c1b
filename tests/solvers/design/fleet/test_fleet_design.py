"""Designs of a utility-fair fleet: no plan beats the bound, epsilon is exact, what is named can be kept, what is refused."""

import json

import numpy as np
import pytest
from support.common import FLEET, refused, run, written

import airtight
from airtight.analytics import parameters
from airtight.analytics.federated.fair.device import DeviceFleet, table_1
from airtight.report import page
from airtight.report.drawing import drawings
from airtight.results.bounds import Bounds
from airtight.solvers.design.fleet import fleet_design
from airtight.solvers.design.requirements import FleetRequirements
from airtight.solvers.errors import InfeasibleError
from airtight.system_file.config import load

DESIGN = FLEET + "[design]\n"


PRICES = np.geomspace(1e-6, 1e3, 400)


def random_fleet(rng):
    """With deadlines and circuit powers at which the utility is not concave, too."""
    K = int(rng.integers(1, 5))
    return table_1(
        distance=rng.uniform(50, 200, K),
        deadline=rng.uniform(0.6, 4, K),
        compute_power=10 ** rng.uniform(-2, -0.5, K),
        circuit_power=10 ** rng.uniform(-3, 0.3, K),
        min_iterations=float(rng.integers(1, 20)),
        utility_energy=10 ** rng.uniform(-1.5, 1, K),
        beta_1=10 ** rng.uniform(-2, 0, K),
        beta_2=10 ** rng.uniform(-2, 0, K),
    )


def alone(fleet):
    """Energy and utility of every device on a grid of what it can do."""
    own = []
    for k in range(fleet.devices):
        one = DeviceFleet(**{name: getattr(fleet, name)[k] for name in parameters.of(DeviceFleet)})
        grid = np.meshgrid(
            np.linspace(one.min_iterations[0], one.max_iterations[0], 40), np.geomspace(1e-3, one.max_power[0], 40)
        )
        j, power = (axis.ravel() for axis in grid)
        ready = one.compute_time(j) + one.transmit_time(power) <= one.deadline[0]
        own.append((one.energy(j[ready], power[ready]), one.utility(j[ready], power[ready])))
    return own


def plans(own, rng):
    """Energy and utility of many plans: at random and device by device best at a price."""
    chosen = [rng.integers(0, energy.size, 500) for energy, _ in own]
    for k, (energy, gained) in enumerate(own):
        best = [int(np.argmax(gained - price * energy)) for price in np.geomspace(1e-3, 1e3, 30)]
        chosen[k] = np.append(chosen[k], best)
    return tuple(sum(one[i][at] for one, at in zip(own, chosen, strict=True)) for i in (0, 1))


@pytest.mark.parametrize("seed", [*range(20), 46, 152, 220, 341, 344])  # in the last ones plans jump
def test_no_plan_of_a_fleet_beats_the_bound(seed):
    rng = np.random.default_rng(seed)
    device = random_fleet(rng)
    if not np.all(device.feasible):
        with pytest.raises(InfeasibleError, match="deadline"):
            fleet_design.design(device, FleetRequirements(energy_at_most=1.0))
        return
    own = alone(device)
    energy, gained = plans(own, rng)
    at = rng.integers(0, energy.size)
    budget, demand = float(energy[at] * rng.uniform(0.8, 1.3)), float(gained[at])
    limits = {"energy_at_most": budget}, {"utility_at_least": demand, "minimise": "energy"}
    both = {"minimise": "epsilon", "noise_at_most": 2.0, "energy_at_most": budget, "utility_at_least": demand}
    for wanted in (*limits, both):
        try:
            found = fleet_design.design(device, FleetRequirements(**wanted))
        except InfeasibleError as error:
            for named in str(error).split("alone: ")[1].split(", "):
                name, value = named.split(" = ")
                assert fleet_design.design(device, FleetRequirements(**{**wanted, name: float(value)}))
            kept = (energy <= wanted.get("energy_at_most", np.inf)) & (
                gained >= wanted.get("utility_at_least", -np.inf)
            )
            assert not np.any(kept) or wanted is both
            continue
        used = device.compute_time(found.iterations) + device.transmit_time(found.power)
        assert np.all(used <= device.deadline * (1 + 1e-12)) and np.all(found.power <= device.max_power)
        assert np.all(found.iterations >= device.min_iterations * (1 - 1e-12))
        np.testing.assert_allclose(device.energy(found.iterations, found.power), found.energy, rtol=1e-9)
        np.testing.assert_allclose(device.utility(found.iterations, found.power), found.utility, atol=1e-9)
        assert np.sum(found.energy) <= wanted.get("energy_at_most", np.inf)
        assert np.sum(found.utility) >= wanted.get("utility_at_least", -np.inf)
        tops = np.array([sum(np.max(u - price * e) for e, u in own) for price in PRICES])  # the true ones are no less
        if wanted is limits[0]:
            assert found.bound >= np.min(tops + PRICES * budget) - 0.01 * abs(found.value)
            assert found.value <= found.bound and not np.any(gained[energy <= budget] > found.bound)
        if wanted is limits[1]:
            assert found.bound <= max(np.max((demand - tops) / PRICES), sum(np.min(e) for e, _ in own)) * 1.01
            assert found.bound <= found.value and not np.any(energy[gained >= demand] < found.bound)


@pytest.mark.parametrize("hears", ["own", "all"])
def test_noise_of_a_fleet_is_the_least_that_keeps_epsilon(hears):
    device, T = table_1(distance=[50.0, 120.0, 200.0]), 20
    asked = {"rounds": T, "theta": 0.6, "hears": hears, "energy_at_most": 0.5}
    found = fleet_design.design(device, FleetRequirements(epsilon_at_most=2.0, **asked))
    copies = T * (3 if hears == "all" else 1)
    assert float(airtight.gaussian(1 / found.noise).compose(copies).epsilon(1e-5)) == pytest.approx(2.0, rel=1e-9)
    assert found.epsilon <= 2.0
    np.testing.assert_allclose(found.heard, found.noise / (1 - 0.6 * found.deviation))
    for k in range(3):
        own = float(airtight.gaussian(1 / found.heard[k]).compose(T).epsilon(1e-5))
        assert found.own_epsilon[k] == pytest.approx(own, rel=1e-9)
    back = fleet_design.design(device, FleetRequirements(minimise="epsilon", noise_at_most=found.noise, **asked))
    assert back.value == pytest.approx(2.0, rel=1e-9) and back.bound <= back.value
    with pytest.raises(InfeasibleError, match="noise_at_most") as error:
        fleet_design.design(device, FleetRequirements(epsilon_at_most=1.0, noise_at_most=found.noise, **asked))
    assert "epsilon_at_most = 2.00000" in str(error.value)


def test_command_of_a_fleet(tmp_path):
    path = written(tmp_path, DESIGN + "energy_at_most = 0.5\nepsilon_at_most = 2.0\nrounds = 20\ntheta = 0.6\n")
    tree = json.loads(run("design", path, "--json").stdout)
    assert tree["maximised"] == "utility" and sum(tree["energy"]) <= 0.5 and tree["epsilon"] <= 2.0
    assert tree["gap"] < 1e-9 and tree["adjacency"] and tree["rounds"] == 20
    shown = " ".join(run("design", path).stdout.split())
    assert "whatever the deviations" in shown and "its own copy" in shown
    header, *lines = run("design", path, "--plan", "-").stdout.splitlines()
    assert header.startswith("device,iterations,power") and len(lines) == 3
    rows = tmp_path / "rows.csv"
    rows.write_text("distance\n60\n90\n")
    assert len(json.loads(run("design", path, "--devices", rows, "--json").stdout)["energy"]) == 2
    hopeless = run("design", written(tmp_path, DESIGN + "energy_at_most = 0.01\n"))
    assert hopeless.exit_code == 3 and "energy_at_most = " in hopeless.stderr


@pytest.mark.parametrize(
    "text, needle",
    [
        ("", "design.epsilon_at_most"),
        ('minimise = "utility"\nenergy_at_most = 1.0\n', "design.minimise"),
        ('minimise = "energy"\nmaximise = "utility"\nepsilon_at_most = 1.0\n', "design.maximise"),
        ('minimise = "epsilon"\nenergy_at_most = 1.0\n', "design.noise_at_most"),
        ('minimise = "energy"\nenergy_at_most = 1.0\n', "design.energy_at_most"),
        ("energy_at_most = 1.0\ntheta = 1.0\n", "design.theta"),
        ('energy_at_most = 1.0\nhears = "nobody"\n', "design.hears"),
        ('energy_at_most = 1.0\nfree = ["power"]\n', "design.free"),
        ("energy_at_most = 1.0\nrounds = 0\n", "design.rounds"),
    ],
)
def test_fleets_that_are_refused(tmp_path, text, needle):
    assert refused(run("design", written(tmp_path, DESIGN + text)), needle)


def test_frontiers(tmp_path):
    path = written(tmp_path, DESIGN + "energy_at_most = 0.5\nepsilon_at_most = 2.0\nrounds = 20\n")
    over = ["--frontier", "energy_at_most=0.01,0.2:0.8:3", "--frontier", "epsilon_at_most=1,2"]
    drawn = tmp_path / "frontier.svg"
    tree = json.loads(run("design", path, *over, "--plot", drawn, "--json").stdout)
    assert tree["sought"] == "utility" and len(tree["points"]) == 8 and b"<svg" in drawn.read_bytes()
    own = alone(DeviceFleet(**vars(table_1(distance=[50.0, 120.0, 200.0]))))
    for one in tree["points"]:
        if one["energy_at_most"] == 0.01:
            assert one["value"] is None
            continue
        assert (
            one["value"] <= one["bound"]
            and one["energy"] <= one["energy_at_most"]
            and one["epsilon"] <= one["epsilon_at_most"]
        )
        below = [np.max(u[e <= one["energy_at_most"] / 3], initial=-np.inf) for e, u in own]  # shared out evenly
        assert one["value"] >= np.sum(below)
    values = [one["value"] for one in tree["points"] if one["epsilon_at_most"] == 1 and one["value"]]
    assert values == sorted(values)
    shown = " ".join(run("design", path, *over).stdout.split())
    assert "greatest utility" in shown and "was not found" in shown
    assert refused(run("design", path, "--frontier", "energy=1"), "--frontier", "energy_at_most")
    assert refused(run("design", path, "--frontier", "energy_at_most=a"), "--frontier")
    assert refused(run("design", path, "--frontier", "energy_at_most=1:2"), "--frontier")
    assert refused(run("design", path, "--frontier", "energy_at_most=-1"), "energy_at_most")
    assert refused(run("design", path, *over, "--plot", tmp_path / "frontier.txt"), "--plot")
    assert run("design", path, "--plot", drawn).exit_code == 2


def test_a_frontier_in_the_report(tmp_path):
    description = load(written(tmp_path, DESIGN + "energy_at_most = 0.5\n"))
    parts = page.Parts(description, Bounds.of(description), "")
    assert 'id="frontier"' not in page.render(parts)
    parts.draw(drawings.of_frontier(description))
    shown = page.render(parts)
    assert (
        'id="frontier"' in shown and 'id="figure-frontier"' in shown and parts.figures["frontier"].data.count("\n") > 8
    )
