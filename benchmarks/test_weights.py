"""The weight problem at equal accuracy (relative gap 1e-9 or better), beside cvxpy and the solvers called directly."""

import numpy as np
import pytest
from scipy import sparse

from airtight.solvers.weights import dual_newton
from airtight.solvers.weights.quadratic import QuadraticProgram, certificate, multipliers
from benchmarks import peers

RANK = 16


def program(K, decades=0.0):
    """Exact objective of K random devices; weights at most 20 times the mean; features over 10^(+-decades)."""
    rng = np.random.default_rng(0)
    a, p = rng.normal(size=(K, RANK)), rng.uniform(0.3, 0.95, K)
    a *= 10 ** rng.uniform(-decades, decades, K)[:, None]
    return QuadraticProgram(
        d=2 * p * (1 - p) * np.sum(a * a, axis=1),
        g=np.zeros(K),
        upper=np.full(K, 20 / K),
        V=np.sqrt(2) * p[:, None] * a,
        c=np.sqrt(2) * rng.normal(size=RANK) / 4,
        constant=0.0,
        sums_to_one=True,
    )


def split(qp):
    """P, q, A, b, lower, upper over (w, y) with y = V'w - c: the sparse form that general solvers want."""
    K, r = qp.V.shape
    P = sparse.diags(np.concatenate([qp.d, np.ones(r)])).tocsc()
    link = sparse.hstack([sparse.csc_matrix(qp.V.T), -sparse.eye(r)])
    total = sparse.hstack([sparse.csc_matrix(np.ones((1, K))), sparse.csc_matrix((1, r))])
    return P, np.zeros(K + r), sparse.vstack([link, total]).tocsc(), np.concatenate([qp.c, [1.0]])


def check(qp, w):
    best = dual_newton.minimise(qp)
    assert abs(qp.value(np.maximum(w, 0)) - qp.value(best.w)) <= 1e-6 * (1 + qp.value(np.zeros_like(w)))


def distance(qp, w):
    """Of a peer's objective from the optimum, relative to the scale of the certificate."""
    best = dual_newton.minimise(qp)
    scale = certificate(qp, best.w, multipliers(qp, best.w, best.nu)).scale
    return float(abs(qp.value(np.maximum(w, 0)) - qp.value(best.w)) / scale)


SIZES = [100, 1_000, 10_000, 100_000]


@pytest.mark.parametrize("K", [*SIZES, 1_000_000])
def test_structured(benchmark, K):
    benchmark.group = f"weights, rank 16, {K} devices"
    qp = program(K)
    found = benchmark.pedantic(dual_newton.minimise, (qp,), rounds=5, warmup_rounds=1)
    proof = certificate(qp, found.w, multipliers(qp, found.w, found.nu))
    assert proof.is_optimal(1e-9)
    benchmark.extra_info["accuracy"] = proof.duality_gap / proof.scale


@pytest.mark.parametrize("K", [*SIZES, 1_000_000])
def test_badly_scaled(benchmark, K):
    benchmark.group = f"weights, rank 16, {K} devices, features over 1e-4 to 1e4"
    qp = program(K, 4.0)
    found = benchmark.pedantic(dual_newton.minimise, (qp,), rounds=5, warmup_rounds=1)
    proof = certificate(qp, found.w, multipliers(qp, found.w, found.nu))
    assert proof.is_optimal(1e-9)
    benchmark.extra_info["accuracy"] = proof.duality_gap / proof.scale


@pytest.mark.parametrize("K", SIZES)
def test_cvxpy_clarabel(benchmark, K):
    benchmark.group = f"weights, rank 16, {K} devices"
    import cvxpy as cp

    qp = program(K)

    def solve():
        w, y = cp.Variable(K), cp.Variable(RANK)
        objective = cp.sum_squares(cp.multiply(np.sqrt(qp.d), w)) / 2 + cp.sum_squares(y) / 2
        constraints = [y == qp.V.T @ w - qp.c, w >= 0, w <= qp.upper, cp.sum(w) == 1]
        cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9)
        return w.value

    found = benchmark.pedantic(solve, rounds=1)
    check(qp, found)
    benchmark.extra_info["accuracy"] = distance(qp, found)


@pytest.mark.parametrize("K", SIZES)
def test_clarabel(benchmark, K):
    benchmark.group = f"weights, rank 16, {K} devices"
    import clarabel

    qp = program(K)
    P, q, A, b = split(qp)
    box = sparse.vstack([sparse.eye(K, K + RANK), -sparse.eye(K, K + RANK)])
    stacked = sparse.vstack([A, box]).tocsc()
    right = np.concatenate([b, qp.upper, np.zeros(K)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = 1e-9

    def solve():
        cones = [clarabel.ZeroConeT(RANK + 1), clarabel.NonnegativeConeT(2 * K)]
        return np.array(clarabel.DefaultSolver(P, q, stacked, right, cones, settings).solve().x)[:K]

    found = benchmark.pedantic(solve, rounds=1)
    check(qp, found)
    benchmark.extra_info["accuracy"] = distance(qp, found)


@pytest.mark.parametrize("decades", [0.0, 4.0])
@pytest.mark.parametrize("K", SIZES)
def test_piqp(benchmark, K, decades):
    """Where features are badly scaled, whatever it returns is compared with the optimum."""
    benchmark.group = f"weights, rank 16, {K} devices" + (", features over 1e-4 to 1e4" if decades else "")
    piqp = pytest.importorskip("piqp")
    qp = program(K, decades)
    P, q, A, b = split(qp)
    low = np.concatenate([np.zeros(K), np.full(RANK, -np.inf)])
    high = np.concatenate([qp.upper, np.full(RANK, np.inf)])

    def solve():
        solver = piqp.SparseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
        solver.setup(P, q, A, b, None, None, None, low, high)
        solver.solve()
        return solver.result.x[:K]

    found = benchmark.pedantic(solve, rounds=1)
    if not decades:
        check(qp, found)
    benchmark.extra_info["accuracy"] = distance(qp, found)


@pytest.mark.parametrize("K", SIZES[:2])
def test_daqp(benchmark, K):
    """It wants the dense matrix of the weights, which 10 000 devices would fill 800 MB with."""
    benchmark.group = f"weights, rank 16, {K} devices"
    daqp = peers.load("daqp")
    qp = program(K)
    dense, linear = np.diag(qp.d) + qp.V @ qp.V.T, -qp.V @ qp.c
    low, high = np.append(np.zeros(K), 1.0), np.append(qp.upper, 1.0)
    sense = np.append(np.zeros(K), 5).astype(np.int32)  # the sum is an equation

    found = benchmark.pedantic(lambda: daqp.solve(dense, linear, np.ones((1, K)), high, low, sense)[0], rounds=3)
    check(qp, found)
    benchmark.extra_info["accuracy"] = distance(qp, found)


@pytest.mark.parametrize("K", SIZES)
def test_osqp(benchmark, K):
    benchmark.group = f"weights, rank 16, {K} devices"
    osqp = pytest.importorskip("osqp")
    qp = program(K)
    P, q, A, b = split(qp)
    box = sparse.eye(K, K + RANK)
    stacked = sparse.vstack([A, box]).tocsc()
    low, high = np.concatenate([b, np.zeros(K)]), np.concatenate([b, qp.upper])

    def solve():
        solver = osqp.OSQP()
        solver.setup(P, q, stacked, low, high, verbose=False, eps_abs=1e-9, eps_rel=1e-9, max_iter=20_000)
        return solver.solve(raise_error=False).x[:K]

    w = benchmark.pedantic(solve, rounds=1)
    benchmark.extra_info["accuracy"] = distance(qp, w)
