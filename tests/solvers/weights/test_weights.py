"""The weight problem: three methods, certificates recomputed by hand, caps, frontiers, the command."""

import dataclasses
import json
import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from airtight.analytics.checks import ParameterError
from airtight.analytics.inference import distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.over_the_air import amplification, system_privacy
from airtight.solvers import weights
from airtight.solvers.design.over_the_air import frontier
from airtight.solvers.errors import InfeasibleError
from airtight.solvers.weights import caps, dual_newton, published_update, solution, weight_problem
from airtight.solvers.weights.quadratic import OptimalityCertificate, QuadraticProgram, certificate, multipliers


def instance(seed):
    """A random system, often degenerate: p = 0 or 1, zero and equal features, weights capped at exactly one in sum."""
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(1, 13)), int(rng.integers(1, 6))
    r = int(rng.integers(1, d + 1))
    p = rng.uniform(0.05, 1.0, K)
    p[rng.random(K) < 0.2] = 1.0
    p[rng.random(K) < 0.1] = 0.0
    if rng.random() < 0.15:
        p[:] = 1.0
    f = rng.normal(size=(K, d)) + 0.5
    f[rng.random(K) < 0.1] = 0.0
    if rng.random() < 0.2:
        f[:] = f[0]
    system = InferenceSystem(
        devices=K,
        participation=p,
        noise_variance=rng.uniform(0, 2, K),
        weight=1 / K,
        clip=10 ** rng.uniform(-1, 1),
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=r,
        delta=1e-3,
        delta_prime=0.3,
        adjacency="silent",
    )
    upper = rng.uniform(0.1, 3.0, K) * 2 / K
    upper *= max(1.0, rng.choice([1.0, 1.3]) / np.minimum(upper, 1).sum())
    if np.minimum(upper, 1).sum() < 1 or rng.random() < 0.3:
        upper = np.full(K, np.inf)
    return system, Features(f=f, W=rng.normal(size=(K, r, d)), D=rng.normal(size=(d, r))), upper


def kkt_by_hand(qp, w, found, tol):
    """Feasibility, stationarity, signs and complementarity, from the program's raw numbers alone."""
    hessian = np.diag(qp.d) + qp.V @ qp.V.T
    gradient = hessian @ w + qp.g - qp.V @ qp.c
    size = 1 + np.abs(gradient).max() + np.abs(hessian).max()
    upper = np.minimum(qp.upper, 1.0) if qp.sums_to_one else qp.upper
    assert np.all(w >= -tol) and np.all(w <= upper + tol)
    if qp.sums_to_one:
        assert w.sum() == pytest.approx(1, abs=tol)
    assert np.all(found.lower >= 0) and np.all(found.upper >= 0)
    assert np.allclose(gradient - found.total - found.lower + found.upper, 0, atol=tol * size)
    assert np.all(found.lower * np.maximum(w, 0) <= tol * size)
    assert np.all(found.upper * np.where(np.isfinite(upper), upper - w, 1.0) <= tol * size)


@settings(max_examples=80)
@given(st.integers(0, 10**6), st.sampled_from(["exact", "published"]), st.booleans())
def test_structured_solves_everything(seed, objective, free):
    system, features, upper = instance(seed)
    if free:
        upper = np.minimum(upper, 4.0)
    qp = weights.program(system, features, objective=objective, upper=upper, sums_to_one=not free)
    result = dual_newton.minimise(qp)
    found = multipliers(qp, result.w, result.nu)
    assert certificate(qp, result.w, found).is_optimal(1e-9)
    kkt_by_hand(qp, result.w, found, 1e-7)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["exact", "published"]))
def test_cvxpy_agrees(seed, objective):
    system, features, upper = instance(seed)
    ours = weights.solve(system, features, w_max=upper, objective=objective)
    theirs = weights.solve(system, features, w_max=upper, objective=objective, method="cvxpy")
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-7, abs=1e-9)
    assert theirs.certificate.is_optimal(1e-6) and ours.certificate.is_optimal(1e-9)
    assert ours.exact_mse == pytest.approx(
        distortion.exact(dataclasses.replace(system, weight=ours.w), features), rel=1e-12
    )
    if np.all((system.participation > 0) & (system.participation < 1)) and np.all(np.any(features.f, axis=1)):
        curvature = np.linalg.eigvalsh(
            np.diag((qp := weights.program(system, features, objective=objective)).d) + qp.V @ qp.V.T
        )
        if curvature[0] > 1e-3 * curvature[-1]:
            assert theirs.w == pytest.approx(ours.w, abs=1e-7)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_the_papers_update_agrees_when_it_converges(seed):
    system, features, upper = instance(seed)
    system = dataclasses.replace(system, participation=np.clip(system.participation, 0.05, 1.0))
    features = dataclasses.replace(features, f=features.f + 0.1)
    trace = published_update.update(system, features, upper, iterations=4000)
    qp = weights.program(system, features, objective="published", upper=upper)
    best = dual_newton.minimise(qp)
    assert trace.steps.size == trace.iterations
    if trace.converged:
        assert qp.value(trace.w) == pytest.approx(qp.value(best.w), rel=1e-8)
    if system.devices <= 5:
        sequential = published_update.update(system, features, upper, sequential=True, tolerance=1e-11, iterations=1000)
        assert qp.value(sequential.w) == pytest.approx(qp.value(best.w), rel=1e-7)


def line(f, p, **changes):
    K = len(f)
    system = InferenceSystem(
        **{
            "devices": K,
            "participation": p,
            "noise_variance": 0.0,
            "weight": 1 / K,
            "clip": 1e6,
            "alignment": 1.0,
            "receiver_noise_variance": 0.0,
            "dimension": 1,
            "delta": 1e-3,
            "delta_prime": 1e-3,
            "adjacency": "silent",
            **changes,
        }
    )
    return system, Features(f=np.array(f, dtype=float)[:, None], W=np.eye(1), D=np.eye(1))


def test_the_ledgers_examples():
    system, features = line([1.0, -1.0, 1.2, -0.8], 0.9)
    best = weights.solve(system, features, objective="published")
    assert best.w == pytest.approx([0.248483097371, 0.305114128864, 0.446402773765, 0.0], abs=1e-10)
    for positive in (True, False):
        trace = published_update.update(system, features, np.full(4, np.inf), positive_part=positive, iterations=3000)
        assert not trace.converged and trace.steps[-1] > 1e-3
    without = published_update.update(*line([1.0, 1.0, 10.0], 0.9), np.full(3, np.inf), positive_part=False)
    assert without.w == pytest.approx([-0.0436, -0.0436, 1.0872], abs=1e-4)
    assert weights.solve(*line([1.0, 1.0, 10.0], 0.9), objective="published").w == pytest.approx([0, 0, 1], abs=1e-12)


def test_identical_lossless_features():
    """Ledger: K = 12, p = 0.9: w = 1/K gives 0.0175, the free optimum w = 1/(1 + p (K - 1)) 0.0091743."""
    system, features = line([1.0] * 12, 0.9)
    assert weights.solve(system, features).exact_mse == pytest.approx(0.0175, abs=1e-12)
    free = weights.solve(system, features, sums_to_one=False)
    assert free.w == pytest.approx(np.full(12, 1 / (1 + 0.9 * 11))) and free.exact_mse == pytest.approx(
        0.0091743, abs=1e-7
    )
    unbiased = dataclasses.replace(system, weight=distortion.unbiased_weight(system))
    assert distortion.exact(unbiased, features) == pytest.approx(0.0092593, abs=1e-7)


def test_permutation_and_a_general_solver():
    system, features, _ = instance(7)
    order = np.random.default_rng(0).permutation(system.devices)
    upper = np.full(system.devices, 2.0 / system.devices)
    renamed = dataclasses.replace(
        system, **{n: getattr(system, n)[order] for n in ("participation", "noise_variance", "weight", "clip")}
    )
    others = Features(f=features.f[order], W=features.W[order], D=features.D)
    one = weights.solve(system, features, w_max=upper)
    two = weights.solve(renamed, others, w_max=upper)
    assert two.objective == pytest.approx(one.objective, rel=1e-12)
    qp = weights.program(system, features, upper=upper)
    slsqp = optimize.minimize(
        qp.value,
        np.full(system.devices, 1 / system.devices),
        jac=qp.gradient,
        bounds=[(0, u) for u in upper],
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones_like(w)},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert one.objective <= slsqp.fun + 1e-9 and one.objective == pytest.approx(slsqp.fun, rel=1e-6)


def test_a_certificate_can_fail():
    system, features, _ = instance(7)
    qp = weights.program(system, features)
    best = dual_newton.minimise(qp)
    worse = best.w[::-1].copy() if not np.allclose(best.w, best.w[::-1]) else np.eye(qp.d.size)[0]
    judged = certificate(qp, worse, multipliers(qp, worse, best.nu))
    assert not judged.is_optimal()
    assert judged.duality_gap >= qp.value(worse) - qp.value(best.w) - 1e-9
    assert not certificate(qp, best.w * 1.01, multipliers(qp, best.w * 1.01, best.nu)).is_optimal()
    for primal, gap in ((np.nan, 0.0), (0.0, np.inf)):
        assert not OptimalityCertificate(primal, 0.0, gap, 1.0).is_optimal()
    wrong_nu = certificate(qp, best.w, multipliers(qp, best.w, best.nu + 1.0))
    assert wrong_nu.duality_gap > 1e-6 or wrong_nu.dual_residual > 1e-6


@given(st.integers(0, 10**6), st.floats(-5, 5), st.booleans())
def test_the_gap_is_objective_minus_dual(seed, nu, free):
    """At any weights, in or out of the sum, and any nu: against the dual function written out."""
    system, features, upper = instance(seed)
    upper = np.minimum(upper, 3.0)
    qp = weights.program(system, features, upper=upper, sums_to_one=not free)
    w = np.random.default_rng(seed).random(upper.size) * upper
    found = multipliers(qp, w, nu)
    lam = qp.V.T @ w - qp.c
    q = qp.g + qp.V @ lam - found.total
    limit = np.minimum(upper, 1.0) if qp.sums_to_one else upper
    inner = np.array(
        [
            min(0.5 * d * x * x + slope * x for x in (0.0, u, min(max(-slope / d, 0.0), u) if d > 0 else 0.0))
            for d, slope, u in zip(qp.d, q, limit, strict=True)
        ]
    )
    dual = -0.5 * lam @ lam - lam @ qp.c + found.total + inner.sum() + qp.constant
    gap = certificate(qp, w, found).duality_gap
    assert gap == pytest.approx(qp.value(w) - dual, rel=1e-8, abs=1e-8 * (1 + abs(dual)))


def test_many_devices():
    rng = np.random.default_rng(1)
    K, r = 20_000, 8
    a, p = rng.normal(size=(K, r)), rng.uniform(0.3, 1.0, K)
    for spread in (0, 12):
        d = 2 * p * (1 - p) * np.sum(a * a, axis=1) * 10 ** rng.uniform(-spread, 0, K)
        qp = QuadraticProgram(
            d=d, g=np.zeros(K), upper=np.full(K, 4 / K), V=p[:, None] * a, c=np.ones(r), constant=0.0, sums_to_one=True
        )
        result = dual_newton.minimise(qp)
        assert certificate(qp, result.w, multipliers(qp, result.w, result.nu)).is_optimal(1e-10)


# Caps


def test_printed_cap_inverts_theorem_one():
    system, _ = line([1.0] * 40, 0.9, noise_variance=0.1, clip=3.0, delta=1e-5, delta_prime=1e-5)
    for epsilon in (1e-9, 0.5, 4.0, 690.0):
        cap = caps.greatest_weights(system, epsilon, "eq23")
        back = amplification.published(dataclasses.replace(system, weight=cap), form="eq23").epsilon
        assert back == pytest.approx(np.full(40, epsilon), rel=1e-11)
    assert np.all(np.isnan(caps.greatest_weights(dataclasses.replace(system, delta_prime=1e-15), 1.0, "theorem1")))


@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["silent", "replace", "absent"]),
    st.floats(0.05, 20.0),
    st.sampled_from(["exact", "proven"]),
)
def test_caps_are_safe_and_tight(seed, adjacency, epsilon, kind):
    rng = np.random.default_rng(seed)
    system, _ = line(
        [1.0] * 4,
        rng.uniform(0.1, 1.0, 4),
        noise_variance=rng.uniform(0.1, 1.0, 4),
        receiver_noise_variance=0.3,
        clip=rng.uniform(0.5, 5.0, 4),
        adjacency=adjacency,
    )
    cap = caps.greatest_weights(system, epsilon, kind)
    kept = np.nan_to_num(cap, nan=0.0)
    face = system_privacy.epsilon if kind == "exact" else lambda s: amplification.proven(s).epsilon
    for k in np.flatnonzero(np.isfinite(cap)):
        at, beyond = (dataclasses.replace(system, weight=kept * factor) for factor in (1.0, 1.0001))
        assert face(at)[k] <= epsilon * (1 + 1e-12) and face(beyond)[k] > epsilon * (1 - 1e-9)
    for k in np.flatnonzero(np.isnan(cap)):
        assert face(dataclasses.replace(system, weight=0.0))[k] > epsilon


@pytest.mark.parametrize("kind", ["exact", "proven"])
@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("adjacency", ["silent", "replace", "absent"])
def test_caps_keep_epsilon_to_the_ulp_and_are_infinite_where_delta_never_exceeds(adjacency, idle, kind):
    p = np.array([0.0, 1e-3, 0.5, 0.9, 1.0])
    system, _ = line(
        [1.0] * 5,
        p,
        noise_variance=[0.4, 0.3, 0.2, 0.7, 0.9],
        receiver_noise_variance=0.1,
        clip=[1.0, 2.0, 3.0, 4.0, 5.0],
        adjacency=adjacency,
        idle_noise=idle,
        delta=1e-3,
        dimension=1,
    )
    for epsilon in (1.7, 3.0, 8.0):
        cap = caps.greatest_weights(system, epsilon, kind)
        assert np.array_equal(np.isinf(cap), p <= 1e-3)
        for weight in (np.nan_to_num(cap, posinf=1e200), np.nan_to_num(cap, posinf=1.0)):
            named = dataclasses.replace(system, weight=weight)
            face = system_privacy.epsilon(named) if kind == "exact" else amplification.proven(named).epsilon
            assert np.all(face[~np.isnan(cap)] <= epsilon)
        beyond = dataclasses.replace(system, weight=np.nan_to_num(cap, posinf=1.0) * (1 + 1e-7))
        face = system_privacy.epsilon(beyond) if kind == "exact" else amplification.proven(beyond).epsilon
        assert np.all(face[np.isfinite(cap) & (cap > 0)] > epsilon)


def test_a_device_whose_noise_may_vanish_gets_no_weight():
    system, _ = line([1.0] * 2, 0.5, noise_variance=0.0, receiver_noise_variance=0.0, clip=1.0, adjacency="silent")
    assert np.array_equal(caps.greatest_weights(system, 1.0), [0.0, 0.0])


def test_free_sum_with_a_device_that_needs_no_cap():
    system, features = line([1.0, 2.0, 3.0], [5e-3, 0.8, 0.8], noise_variance=2.0, clip=4.0, delta=1e-2)
    found = [
        weights.solve(system, features, epsilon_cap=1.0, sums_to_one=False, method=method)
        for method in ("structured", "cvxpy")
    ]
    assert np.isinf(found[0].w_max[0]) and found[0].w == pytest.approx(found[1].w, rel=1e-4)
    assert all(solution.is_optimal(1e-7) for solution in found)


@pytest.mark.parametrize("K", [3, 10, 13, 22, 37, 49, 98, 1000])
def test_caps_that_sum_to_one_but_for_rounding(K):
    rng = np.random.default_rng(K)
    system, features = line(rng.uniform(1, 2, K), 0.8)
    found = weights.solve(system, features, w_max=1 / K)
    assert found.is_optimal() and found.w == pytest.approx(np.full(K, 1 / K), rel=1e-12)
    assert abs(math.fsum(found.w) - 1) <= 2.3e-16 and np.all(found.w <= 1 / K)
    with pytest.raises(InfeasibleError, match="sum to"):
        weights.solve(system, features, w_max=(1 - 1e-14) / K)


def test_weights_sum_to_one_as_well_as_doubles_can():
    for seed in range(40):
        system, features, upper = instance(seed)
        assert abs(math.fsum(weights.solve(system, features, w_max=upper).w) - 1) <= 2.3e-16


def test_infeasible_caps_say_what_would_do():
    system, features = line([1.0, 2.0, 3.0], 0.8, noise_variance=2.0, clip=4.0, delta=1e-2)
    with pytest.raises(InfeasibleError, match="least feasible cap") as error:
        weights.solve(system, features, epsilon_cap=0.5)
    least = error.value.least_epsilon
    assert weights.solve(system, features, epsilon_cap=least).is_optimal()
    with pytest.raises(InfeasibleError):
        weights.solve(system, features, epsilon_cap=least * (1 - 1e-5))
    with pytest.raises(InfeasibleError, match="vacuous"):
        weights.solve(dataclasses.replace(system, delta_prime=1e-9), features, epsilon_cap=1.0, cap="theorem1")
    absent = dataclasses.replace(system, adjacency="absent", dimension=1, delta=1e-6)
    with pytest.raises(InfeasibleError, match="even weight 0"):
        weights.solve(absent, features, epsilon_cap=0.01)
    again = pickle.loads(pickle.dumps(error.value))
    assert again.least_epsilon == least and str(again) == str(error.value)


@pytest.mark.parametrize(
    ("changes", "needle"),
    [
        ({"w_max": -1.0}, "w_max = -1.0"),
        ({"w_max": [1.0, 1.0]}, "w_max"),
        ({"w_max": np.nan}, "w_max = nan"),
        ({"epsilon_cap": 0.0}, "epsilon_cap = 0.0"),
        ({"epsilon_cap": np.nan}, "epsilon_cap = nan"),
        ({"objective": "best"}, "objective = 'best'"),
        ({"method": "magic"}, "method = 'magic'"),
        ({"cap": "tight"}, "cap = 'tight'"),
        ({"method": "published"}, "method = 'published'"),
        ({"method": "published", "objective": "published", "sums_to_one": False}, "method"),
    ],
)
def test_bad_input(changes, needle):
    with pytest.raises(ParameterError) as error:
        weights.solve(*line([1.0, 2.0, 3.0], 0.8), **changes)
    assert needle in str(error.value)


def test_unbounded_and_undefined_problems():
    with pytest.raises(ParameterError, match="give w_max"):
        weights.solve(*line([1.0, 2.0], 1.0), sums_to_one=False)
    with pytest.raises(ParameterError, match="divides by it"):
        weights.solve(*line([0.0, 2.0], 0.5), objective="published", method="published")
    with pytest.raises(InfeasibleError, match=r"sum to 0\.3"):
        weights.solve(*line([1.0, 2.0, 3.0], 0.5), w_max=0.1)
    system, _ = line([1.0, 2.0], 0.5)
    with pytest.raises(ParameterError, match="2 rows"):
        weights.solve(system, Features(f=np.ones((3, 1)), W=np.eye(1), D=np.eye(1)))


# Clips and frontiers


@pytest.mark.parametrize("seed", range(12))
def test_greatest_clips_keep_epsilon_to_the_ulp(seed):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(1, 4))
    system, _ = line(
        [1.0] * K,
        rng.uniform(0.1, 1, K),
        noise_variance=rng.uniform(0.1, 2, K),
        receiver_noise_variance=0.2,
        weight=rng.uniform(0.1, 1, K),
        clip=2.0,
        adjacency=("silent", "replace", "absent")[seed % 3],
        idle_noise=bool(seed % 2),
    )
    epsilon = rng.uniform(0.3, 5)
    clip = caps.greatest_clips(system, epsilon)
    bounded = np.isfinite(clip) & (clip > 0)

    def reached(factor):
        changed = dataclasses.replace(system, clip=np.where(bounded, clip * factor, system.clip))
        return system_privacy.epsilon(changed)[bounded]

    assert np.all(reached(1.0) <= epsilon) and np.all(reached(1 + 1e-8) > epsilon)
    weight = caps.greatest_weights(system, epsilon)
    np.testing.assert_allclose(clip * system.weight, weight * system.clip, rtol=1e-12)


def test_frontier():
    system, features = line([1.0, 2.0, 3.0], 0.8, noise_variance=2.0, clip=4.0, delta=1e-2)
    data = frontier.trade_off(system, features, [0.5, 1.5, 6.0], margin=5.0, ideal_accuracy=0.9)
    assert data.mse.dims == data.accuracy.dims == ("noise", "design", "epsilon")
    assert np.isnan(data.mse.sel(design="exact weights", noise="participants", epsilon=0.5))
    for noise in ("participants", "everybody"):
        best = data.mse.sel(noise=noise)
        for rival in ("exact weights", "published weights"):
            there = best.sel(design=rival).dropna("epsilon")
            assert np.all(best.sel(design="exact, free sum", epsilon=there.epsilon) <= there + 1e-9)
        assert np.all(np.diff(best.sel(design="exact, free sum")) <= 1e-9)
    assert np.all(data.accuracy.fillna(0) <= 0.9)
    pair, _ = line([1.0, 2.0], 0.8, noise_variance=2.0, clip=[4.0, 2.0], delta=1e-2)
    low, high = frontier.feasible_segment(pair, 2.0)
    cap = caps.greatest_weights(pair, 2.0)
    assert (low, high) == (max(1 - cap[1], 0), min(cap[0], 1))
    assert np.isnan(frontier.feasible_segment(pair, 0.1)[0])
    with pytest.raises(ParameterError, match="devices = 3"):
        frontier.feasible_segment(system, 1.0)


# The command


def test_solve_weights_command(tmp_path):
    from support.common import GOOD, archive, refused, run, written

    archive(tmp_path)
    text = GOOD.replace("noise_variance = 0.1\nweight", "noise_variance = 5.0\nweight", 1) + 'adjacency = "silent"\n'
    table = '[inference.features]\nfile = "features.npz"\nmargin = 2.0\nideal_accuracy = 0.95\nepsilon_cap = 4.0\n'
    path = written(tmp_path, text + table)
    keys = {"w", "objective", "exact_mse", "published_mse", "w_max", "certificate", "method", "iterations", "seconds"}
    answers = {}
    for method in ("structured", "cvxpy", "published"):
        result = run("solve", "weights", path, "--method", method, "--json")
        assert result.exit_code == 0, result.output
        answers[method] = json.loads(result.stdout)
        assert set(answers[method]) >= keys and answers[method]["method"] == method
        assert set(answers[method]["certificate"]) == {"primal_residual", "dual_residual", "duality_gap", "proved_gap"}
        assert len(answers[method]["w"]) == len(answers[method]["w_max"]) == 3
    assert answers["cvxpy"]["w"] == pytest.approx(answers["structured"]["w"], abs=1e-7)
    assert answers["structured"]["exact_mse"] <= answers["published"]["exact_mse"]
    table_text = run("solve", "weights", path).stdout
    assert "optimal (gap at most" in table_text and "Epsilon at most 4 for every device" in table_text
    assert run("solve", "weights", path, "--free").exit_code == 0

    refused(run("solve", "weights", path, "--method", "magic"), "magic")
    refused(run("solve", "weights", path, "--variant", "x"), "--variant = 'x'")
    refused(run("solve", "weights", path, "--method", "published", "--objective", "exact"), "method")
    tight = written(tmp_path, text + table.replace("epsilon_cap = 4.0", "epsilon_cap = 0.01"))
    result = run("solve", "weights", tight)
    assert result.exit_code == 3 and "least feasible cap" in result.stderr and result.stdout == ""
    refused(run("solve", "weights", written(tmp_path, text)), "inference.features", "missing")


def test_a_reduced_program_is_the_same_program():
    """More columns than devices: fewer columns, the same value and gradient everywhere."""
    rng = np.random.default_rng(3)
    V, c = rng.normal(size=(3, 7)), rng.normal(size=7)
    wide = QuadraticProgram(rng.random(3), rng.normal(size=3), np.ones(3), V, c, 0.4, sums_to_one=True)
    small = wide.reduced()
    assert small.V.shape == (3, 3)
    for w in rng.random((5, 3)):
        assert small.value(w) == pytest.approx(wide.value(w), rel=1e-12)
        assert small.gradient(w) == pytest.approx(wide.gradient(w), rel=1e-12)


def test_the_printed_program_is_the_printed_mse():
    system, views = weight_problem._example()
    for w in np.random.default_rng(1).random((4, system.devices)):
        printed = distortion.published(dataclasses.replace(system, weight=w), views)
        assert weights.program(system, views, objective="published").value(w) == pytest.approx(printed, rel=1e-12)


@pytest.mark.parametrize("objective", ["exact", "published"])
def test_free_sum_of_features_of_very_different_norms(objective):
    for seed in range(300):
        rng = np.random.default_rng(seed)
        K, d = int(rng.integers(1, 9)), int(rng.integers(1, 5))
        p = np.clip(rng.uniform(-0.1, 1.1, K), 1e-6, 1 - 1e-6)
        system, _ = line([1.0] * K, p, clip=10 ** rng.uniform(-2, 8), dimension=d)
        f = rng.normal(size=(K, d)) * 10 ** rng.uniform(-6, 6, (K, 1))
        upper = 10 ** rng.uniform(-6, 6, K) if seed % 3 == 0 else np.full(K, np.inf)
        found = weights.solve(
            system,
            Features(f=f, W=np.eye(d), D=np.eye(d)),
            sums_to_one=False,
            w_max=upper,
            objective=objective,
        )
        assert found.is_optimal() and found.converged


def test_free_sum_against_enumerated_active_sets():
    f = np.array([[-1265.421471, -623.274463], [4.1e-5, -0.002325], [-2.2e-5, -1.25e-4]])
    p = np.array([0.1, 0.5, 0.9])
    system, _ = line([1.0] * 3, p, dimension=2)
    features = Features(f=f, W=np.eye(2), D=np.eye(2))
    best = np.inf
    for chosen in range(1, 8):  # the interior minimisers of all faces of the orthant, in 40 digits
        rows = [k for k in range(3) if chosen >> k & 1]
        with mpmath.workdps(40):
            a, target = mpmath.matrix(f.tolist()), [mpmath.fsum(f[:, i].tolist()) / 3 for i in range(2)]
            H = mpmath.matrix(len(rows), len(rows))
            b = mpmath.matrix(len(rows), 1)
            for i, j in enumerate(rows):
                for m, n in enumerate(rows):
                    H[i, m] = p[j] * (p[n] if j != n else 1) * (a[j, 0] * a[n, 0] + a[j, 1] * a[n, 1])
                b[i] = p[j] * (a[j, 0] * target[0] + a[j, 1] * target[1])
            w = mpmath.lu_solve(H, b)
            if min(w) >= 0:
                best = min(best, target[0] ** 2 + target[1] ** 2 - (b.T * w)[0])
    found = weights.solve(system, features, sums_to_one=False)
    assert found.is_optimal() and found.objective == pytest.approx(float(best), rel=1e-12)


def test_cvxpy_states_many_devices_with_their_numbers():
    rng = np.random.default_rng(0)
    K = 3000
    system = InferenceSystem(
        devices=K,
        participation=0.8,
        noise_variance=0.1,
        weight=1 / K,
        clip=2.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=3,
        delta=1e-5,
        delta_prime=1e-5,
        adjacency="silent",
    )
    views = Features(f=rng.normal(size=(K, 3)) + 1, W=np.eye(3), D=np.eye(3))
    found = [weights.solve(system, views, w_max=2 / K, method=method) for method in ("cvxpy", "structured")]
    assert found[0].is_optimal(1e-7) and found[0].objective == pytest.approx(found[1].objective, rel=1e-9)


def test_no_weight_hides_who_takes_part():
    system, _ = weight_problem._example()
    seen = dataclasses.replace(system, adjacency="absent", participation=[1e-3, 0.5, 0.0])
    np.testing.assert_array_equal(caps.greatest_weights(seen, 1.0, observer="participants"), [np.inf, np.nan, np.inf])


def over_decades(K, r, s, seed, *, participation=None, sums_to_one=True):
    """Features scaled by 10^u, u uniform in [-s, s], and a target of size 1."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(K, r)) * 10.0 ** rng.uniform(-s, s, (K, 1))
    p = rng.uniform(0.3, 0.95, K) if participation is None else participation
    return QuadraticProgram(
        d=2 * p * (1 - p) * np.sum(a * a, axis=1),
        g=np.zeros(K),
        upper=np.full(K, np.inf),
        V=np.sqrt(2) * p[:, None] * a,
        c=np.sqrt(2) * rng.normal(size=r),
        constant=0.0,
        sums_to_one=sums_to_one,
    )


@pytest.mark.parametrize("sums_to_one", [True, False])
@pytest.mark.parametrize(("K", "r"), [(10, 4), (100, 16), (1000, 16), (10_000, 4)])
@pytest.mark.parametrize("s", [0, 3, 4, 6])
def test_features_over_decades(s, K, r, sums_to_one):
    """No device is judged by another's curvature: the gap is relative to the optimum, in few steps."""
    qp = over_decades(K, r, s, 1, sums_to_one=sums_to_one)
    result = dual_newton.minimise(qp)
    judged = certificate(qp, result.w, multipliers(qp, result.w, result.nu))
    assert judged.is_optimal(1e-12) and judged.duality_gap <= 1e-9 * qp.value(result.w)
    assert result.converged and result.iterations <= 40
    if K <= 100:
        proved = solution.proof(qp, result.w, multipliers(qp, result.w, result.nu))
        assert proved.gap <= 1e-9 * float(proved.objective)


@pytest.mark.parametrize("s", [0, 3, 6])
def test_features_over_decades_where_everybody_takes_part(s):
    """Without curvature of their own."""
    for K, r in ((10, 4), (100, 4), (100, 16)):
        qp = over_decades(K, r, s, 1, participation=np.ones(K))
        result = dual_newton.minimise(qp)
        assert certificate(qp, result.w, multipliers(qp, result.w, result.nu)).is_optimal(1e-9), (K, r)


def _rational(matrix):
    """The arguments of a sympy.Matrix of the doubles as they are."""
    import sympy

    return *matrix.shape, [sympy.Rational(*float(x).as_integer_ratio()) for x in matrix.ravel()]


def test_few_devices_over_decades_against_every_active_set():
    """Of five devices each set of positive weights has its stationary point by linear equations in rational numbers."""
    from itertools import combinations

    import sympy

    for seed in range(3):
        qp = over_decades(5, 2, 6, seed)
        V, c = sympy.Matrix(*_rational(qp.V)), sympy.Matrix(*_rational(qp.c[:, None]))
        Q = V * V.T + sympy.diag(*_rational(qp.d[:, None])[2])
        b = V * c
        own = (c.T * c)[0] / 2
        best = None
        for size in range(1, 6):
            for rows in map(list, combinations(range(5), size)):
                top = Q.extract(rows, rows).row_join(-sympy.ones(size, 1))
                whole = top.col_join(sympy.ones(1, size).row_join(sympy.zeros(1, 1)))
                x = whole.LUsolve(b.extract(rows, [0]).col_join(sympy.ones(1, 1)))[:size, :]
                if min(x) >= 0:
                    value = (x.T * Q.extract(rows, rows) * x)[0] / 2 - (b.extract(rows, [0]).T * x)[0] + own
                    best = value if best is None else min(best, value)
        result = dual_newton.minimise(qp)
        assert qp.value(result.w) == pytest.approx(float(best), rel=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_certificate_is_relative_to_what_the_weights_decide(size):
    """The same weights for features in another unit: the same verdict."""
    rng = np.random.default_rng(0)
    f = size * (np.ones(2) + rng.normal(size=(4, 2)))
    system, _ = weights.weight_problem._example()
    system = dataclasses.replace(
        system, devices=4, weight=0.25, participation=0.8, noise_variance=2.0, clip=100.0 * size
    )
    features = Features(f=f, W=np.eye(2), D=np.eye(2))
    best = weights.solve(system, features)
    qp = best.program
    assert best.is_optimal() and best.is_optimal(1e-12)
    alone = np.array([1.0, 0.0, 0.0, 0.0])
    above = (qp.value(alone) - qp.constant) / (best.objective - qp.constant)
    judged = certificate(qp, alone, multipliers(qp, alone, best.multipliers.total))
    assert above > 1.3 and not judged.is_optimal(0.2)
    near = 0.9999 * best.w + 0.0001 * alone
    judged = certificate(qp, near, multipliers(qp, near, best.multipliers.total))
    assert not judged.is_optimal(1e-9) and judged.is_optimal(1e-3)
    assert judged.duality_gap / judged.scale == pytest.approx(
        _near_gap(), rel=1e-3
    )  # of size 1: invariant to the features' unit


def _near_gap():
    rng = np.random.default_rng(0)
    f = np.ones(2) + rng.normal(size=(4, 2))
    system, _ = weights.weight_problem._example()
    system = dataclasses.replace(system, devices=4, weight=0.25, participation=0.8, noise_variance=2.0, clip=100.0)
    best = weights.solve(system, Features(f=f, W=np.eye(2), D=np.eye(2)))
    near = 0.9999 * best.w + 0.0001 * np.eye(4)[0]
    judged = certificate(best.program, near, multipliers(best.program, near, best.multipliers.total))
    return judged.duality_gap / judged.scale


def test_an_upper_bound_is_broken_relative_to_itself():
    qp = dataclasses.replace(over_decades(3, 2, 0, 0, sums_to_one=False), upper=np.full(3, 1e-9))
    w = np.full(3, 1.1e-9)
    judged = certificate(qp, w, multipliers(qp, w, 0.0))
    assert judged.primal_residual == pytest.approx(0.1) and not judged.is_optimal(1e-3)
