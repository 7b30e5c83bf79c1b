"""A search that is stopped, by its effort or by Ctrl-C: the best that was found is left, and called no more than that."""

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest
from support.common import GOOD, refused, run, written

from airtight.analytics.inference.channel import Channel
from airtight.analytics.privacy.over_the_air import system_privacy
from airtight.solvers.design import whole_system
from airtight.solvers.design.effort import Effort
from airtight.solvers.design.requirements import InferenceRequirements
from airtight.solvers.errors import Interrupted, NotSettledError
from airtight.solvers.weights.weight_problem import _example

SYSTEM, VIEWS = _example()
WITH_ERROR = {"minimise": "energy", "epsilon_at_most": 6.0, "error_at_most": 1.0}
OVER_CHANNEL = SYSTEM.derived(channel=Channel(antennas=2, fading="rayleigh", states=8))


def pressed_after(monkeypatch, steps):
    """Ctrl-C once, in the step after so many."""
    left, spend = [steps], Effort.spend

    def counted(effort, evaluations):
        left[0] -= 1
        if left[0] == -1:
            raise KeyboardInterrupt
        spend(effort, evaluations)

    monkeypatch.setattr(Effort, "spend", counted)


@pytest.mark.parametrize(
    ("system", "variable"),
    [
        (SYSTEM, "noise"),
        (SYSTEM.derived(adjacency="absent", observer="others"), "noise"),
        (SYSTEM.derived(adjacency="absent", observer="others"), "participation"),
        (OVER_CHANNEL, "noise"),
    ],
)
def test_a_stopped_calibration_keeps_epsilon_and_is_no_extreme(monkeypatch, system, variable):
    target = 0.9 * float(np.max(system_privacy.epsilon(system))) if variable == "participation" else 13.0
    whole = whole_system.calibrate(system, target, variable=variable)
    sign = 1 if variable == "noise" else -1
    answers = 0
    for effort in (1, 8, 34, 150):
        try:
            short = whole_system.calibrate(system, target, variable=variable, effort=effort)
        except NotSettledError as error:
            assert error.effort == effort and not answers
            continue
        answers += 1
        assert np.all(short.epsilon <= target) and np.all(system_privacy.epsilon(short.system) <= target)
        if not short.settled:
            assert np.all(sign * (short.value / whole.value - 1) >= -1e-5)
            assert short.unsettled and short.system.channel == system.channel
    assert answers and whole.settled
    pressed_after(monkeypatch, 34)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            whole_system.calibrate(system, target, variable=variable)
        except Interrupted as stop:
            assert not stop.best.settled and np.all(stop.best.epsilon <= target)


@pytest.mark.parametrize(
    ("system", "wanted", "steps"),
    [
        (SYSTEM, {**WITH_ERROR, "free": ("weight", "noise_variance", "decoder_gain")}, 100),
        (OVER_CHANNEL, {"minimise": "error", "epsilon_at_most": 2.0, "free": ("noise_variance", "weight")}, 60),
    ],
)
def test_an_interrupted_design_keeps_all_limits(monkeypatch, system, wanted, steps):
    system = replace(system, noise_variance=np.linspace(0.1, 0.3, system.devices))
    requirements = InferenceRequirements(**wanted)
    pressed_after(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        whole_system.design(system, requirements, VIEWS)
    pressed_after(monkeypatch, steps)
    with pytest.raises(Interrupted) as stop:
        whole_system.design(system, requirements, VIEWS)
    best = stop.value.best
    assert not best.settled and best.lower_bound is None and best.system.channel == system.channel
    assert best.value == {"energy": best.energy, "epsilon": np.max(best.epsilon), "error": best.error}[wanted["minimise"]]
    limits = {"epsilon": np.max(best.epsilon), "error": best.error, "energy": best.energy}
    assert all(limits[key.removesuffix("_at_most")] <= limit for key, limit in wanted.items() if key.endswith("most"))


def test_ctrl_c_leaves_the_best_on_the_screen(monkeypatch, tmp_path):
    file = written(tmp_path, GOOD + 'adjacency = "silent"\n')
    cut = run("calibrate", file, "--epsilon", "1", "--effort", "10")
    assert cut.exit_code == 4 and "the search was stopped: smaller noise may do" in " ".join(cut.stdout.split())
    assert refused(run("calibrate", file, "--epsilon", "1", "--effort", "0"), "--effort")
    pressed_after(monkeypatch, 10)
    stopped = run("calibrate", file, "--epsilon", "1", "--json")
    assert stopped.exit_code == 130 and stopped.stderr == "airtight: interrupted\n"
    assert json.loads(stopped.stdout)["settled"] is False
