"""The MSE and the weights for features of any dimension: algebra against definition, symbols against matrices and code."""

import numpy as np
import pytest
import sympy as sp
from support import vectors

from airtight.analytics.forms import inference_errors
from airtight.analytics.inference import distortion
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem

SIZES = [(2, 1, 1), (2, 4, 3), (3, 3, 2)]


def drawn(K, d, r, seed=0):
    """A system, its features, and the numbers that stand for the symbols, reckoned by NumPy from the matrices."""
    rng = np.random.default_rng([K, d, r, seed])
    f, W, D = rng.normal(size=(K, d)), rng.normal(size=(K, r, d)), rng.normal(size=(d, r))
    p, w, s = rng.uniform(0.2, 1, K), rng.uniform(0.1, 1, K), rng.uniform(0.1, 2, K)
    system = InferenceSystem(
        devices=K,
        participation=p,
        noise_variance=s,
        weight=w,
        clip=1e9,
        alignment=2.0,
        receiver_noise_variance=0.4,
        dimension=r,
        delta=1e-5,
        delta_prime=1e-5,
    )
    at = vectors.Vectors.of(K)
    put = {vectors.d: d, vectors.r: r, at.floor: 0.1, at.frobenius: np.sum(D * D)}
    for symbols, values in ((at.p, p), (at.w, w), (at.s, s)):
        put |= dict(zip(symbols, values, strict=True))
    sent = [D @ W[k] @ f[k] for k in range(K)]
    for k in range(K):
        put[at.norms[k]] = np.sum(D * D) * np.sum(W[k] ** 2) * np.sum(f[k] ** 2)
        for j in range(K):
            put[at.decoded[k, j]], put[at.mixed[k, j]] = sent[k] @ sent[j], f[j] @ sent[k]
            put[at.target[k, j]] = f[k] @ f[j]
    return system, Features(f=f, W=W, D=D), at, put


def value(expression, put):
    return float(expression.subs(put))


@pytest.mark.parametrize(("K", "d", "r"), SIZES)
def test_against_the_code(K, d, r):
    system, features, at, put = drawn(K, d, r)
    assert value(vectors.exact_mse(at), put) == pytest.approx(distortion.exact(system, features), rel=1e-12)
    assert value(vectors.printed_mse(at), put) == pytest.approx(distortion.published(system, features), rel=1e-12)


@pytest.mark.parametrize(("K", "d", "r"), SIZES)
def test_the_symbols_are_sums_over_matrices(K, d, r):
    _, features, at, put = drawn(K, d, r)
    entries = {"D": features.D}
    for k in range(K):
        entries |= {f"W_{k + 1}": features.W[k], f"f_{k + 1}": features.f[k][:, None]}
    for symbol, meaning in at.products().items():
        assert meaning.has(vectors.d)
        sized = meaning.subs({vectors.d: d, vectors.r: r})
        matrices = {m: sp.Matrix(entries[m.name]) for m in sized.atoms(sp.MatrixSymbol)}
        assert float(sized.subs(matrices).doit()) == pytest.approx(put[symbol], rel=1e-12)


@pytest.mark.parametrize(("K", "d", "r"), SIZES[:2])
def test_the_best_weights(K, d, r):
    """Solved by machine; against least squares over all sets of participants, and nothing near is better."""
    _, _, at, put = drawn(K, d, r)
    w = np.array([value(e, put) for e in vectors.best_weights(at)])
    p = np.array([put[x] for x in at.p])
    a, c = (np.array(m.subs(put)).astype(float) for m in (at.decoded, at.mixed))
    E = np.outer(p, p)
    np.fill_diagonal(E, p)
    assert w == pytest.approx(np.linalg.solve(E * a, p * c.sum(axis=1) / K), rel=1e-9)
    least = {**put, **dict(zip(at.w, w, strict=True))}
    rng = np.random.default_rng(1)
    for _ in range(5):
        moved = {**least, **dict(zip(at.w, w + 1e-3 * rng.normal(size=K), strict=True))}
        assert value(vectors.exact_mse(at), moved) > value(vectors.exact_mse(at), least)


def test_one_dimension_is_the_case_of_numbers():
    at, scalar = vectors.Vectors.of(2), inference_errors.Scalar.of(2)
    sent = [scalar.D * scalar.W[k] * scalar.f[k] for k in range(2)]
    put = {vectors.d: 1, at.frobenius: scalar.D**2, at.floor: scalar.floor}
    for k in range(2):
        put[at.norms[k]] = scalar.square(k)
        for j in range(2):
            put |= {at.decoded[k, j]: sent[k] * sent[j], at.mixed[k, j]: scalar.f[j] * sent[k]}
            put |= {at.target[k, j]: scalar.f[k] * scalar.f[j]}
    assert sp.expand(vectors.exact_mse(at).subs(put) - inference_errors.exact_mse(scalar)) == 0
    assert sp.expand(vectors.printed_mse(at).subs(put) - inference_errors.printed_mse(scalar)) == 0


def test_a_changed_term_is_noticed():
    at = vectors.Vectors.of(2)
    wrong = vectors.exact_mse(at).subs(at.mixed[0, 1], 2 * at.mixed[0, 1])
    assert sp.expand(vectors.expected_square(at) - wrong) != 0
