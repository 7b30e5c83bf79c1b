"""CorBin's shared randomness for laws of any size: the coupling against CorBinQ, transport and drawing, and what it cannot do."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from support.common import run

from airtight.analytics.checks import ParameterError
from airtight.analytics.federated.corbin import antithetic, quantizers, two_output_bounds
from airtight.analytics.federated.few_bits import quantizer_laws
from airtight.solvers.design.quantizer import quantizer_design, quantizer_pair

LAWS = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5).map(lambda x: np.array(x) / sum(x))


@settings(max_examples=25, deadline=None)
@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.2, 8.0), st.sampled_from([None, 0, 1, 5]))
def test_one_bit_is_corbinq(w1, w2, epsilon, bits):
    A = float(quantizers.alpha(epsilon))
    first, second = ([0.5 - w / (2 * A), 0.5 + w / (2 * A)] for w in (w1, w2))
    joint = antithetic.coupled(first, second, bits=bits)
    assert joint == pytest.approx(quantizers.pair_law(w1, w2, epsilon=epsilon, bits=bits), abs=1e-12)
    found = antithetic.pair_mse(w1, w2, outputs=[-A, A], first=first, second=second, bits=bits)
    assert found == pytest.approx(quantizers.pair_mse(w1, w2, epsilon=epsilon, bits=bits), abs=1e-9 * A * A)


@settings(max_examples=25, deadline=None)
@given(LAWS, LAWS, st.data())
def test_no_coupling_has_a_smaller_product(first, second, data):
    joint = antithetic.coupled(first, second)
    assert joint.sum(axis=1) == pytest.approx(first) and joint.sum(axis=0) == pytest.approx(second)
    x, y = (np.cumsum(data.draw(st.lists(st.floats(0.1, 2), min_size=k, max_size=k))) - 2 for k in joint.shape)
    cost = np.multiply.outer(x, y)
    rows = [np.kron(np.eye(x.size), np.ones(y.size)), np.kron(np.ones(x.size), np.eye(y.size))]
    least = linprog(cost.ravel(), A_eq=np.vstack(rows), b_eq=np.concatenate([first, second]), bounds=(0, None))
    assert np.sum(joint * cost) == pytest.approx(least.fun, abs=1e-8)
    finite = antithetic.coupled(first, second, bits=3)
    assert finite.sum(axis=1) == pytest.approx(first) and finite.sum(axis=0) == pytest.approx(second)
    assert np.sum(joint * cost) <= np.sum(finite * cost) + 1e-12


def test_finite_bits_by_drawing():
    first, second, rng, d = np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.1, 0.3]), np.random.default_rng(0), 2
    shared = rng.integers(0, 2**d, 300_000)
    lead, follow = ((shared + rng.random(shared.size)) / 2**d for _ in range(2))
    i, j = np.searchsorted(np.cumsum(first), lead), np.searchsorted(np.cumsum(second), 1 - follow)
    drawn = np.bincount(3 * i + j, minlength=9).reshape(3, 3) / shared.size
    assert antithetic.coupled(first, second, bits=d) == pytest.approx(drawn, abs=0.005)


def test_the_server_has_no_finite_epsilon_and_an_uplink_keeps_its_own():
    found = quantizer_pair.solve(2, epsilon=3.0)
    joint = antithetic.coupled(found.law[0], found.law[3]), antithetic.coupled(found.law[5], found.law[3])
    assert quantizer_laws.local_epsilon(np.stack([one.ravel() for one in joint])) == np.inf
    assert quantizer_laws.local_epsilon(found.law) == found.epsilon <= 3.0


def test_two_bits_in_pairs_beat_one():
    epsilon = 3.0
    one, two = (quantizer_pair.solve(bits, epsilon=epsilon) for bits in (1, 2))
    assert one.attained <= two_output_bounds.minimax_mse(epsilon=epsilon) * (1 + 1e-6) <= one.worst_mse * (1 + 1e-6)
    assert two.worst_mse < 0.31 * one.worst_mse and two.bias < 1e-12
    rng = np.random.default_rng(2)
    w = rng.uniform(-1, 1, (2, 3000))
    laws = [np.stack([np.interp(x, two.inputs, column) for column in two.law.T], axis=1) for x in w]
    errors = antithetic.pair_mse(*w, outputs=two.outputs, first=laws[0], second=laws[1])
    assert 0.97 * two.attained < errors.max() <= two.worst_mse
    assert errors.mean() == pytest.approx(two.mean_mse, rel=0.05)
    y = two.outputs  # sent, with one common number
    U = rng.random(200_000)
    x = y[np.minimum(np.searchsorted(np.cumsum(laws[0][0]), U), y.size - 1)]
    z = y[np.minimum(np.searchsorted(np.cumsum(laws[1][0]), 1 - U), y.size - 1)]
    drawn = (x + z - w[0, 0] - w[1, 0]) ** 2
    assert drawn.mean() == pytest.approx(errors[0], abs=5 * drawn.std() / U.size**0.5)


def test_numbers_for_symbols():
    law = quantizer_laws.binomial([-1.0, 0.0, 1.0], epsilon=2.0, trials=3)[1]
    found = quantizer_design.unbiased([-1.0, 0.0, 1.0], law)
    outputs = quantizer_laws.binomial(0.0, epsilon=2.0, trials=3)[0]
    x = np.array([-1.0, 0.0, 1.0])
    own, reached = (float(np.max(law @ y**2 - x**2)) for y in (outputs, found.outputs))
    assert found.bias < 1e-9 and law @ found.outputs == pytest.approx([-1, 0, 1])
    assert found.lower_bound * (1 - 1e-9) <= reached <= found.lower_bound * (1 + 1e-5)
    assert reached <= own and reached <= found.worst_variance
    rng = np.random.default_rng(3)
    null = np.linalg.svd(law)[2][3]
    for step in rng.normal(size=20):  # any other unbiased numbers
        other = law @ (found.outputs + step * null) ** 2 - x**2
        assert other.max() >= found.lower_bound * (1 - 1e-9)


def test_refuses():
    for call in (
        lambda: antithetic.coupled([0.5, 0.4], [0.5, 0.5]),
        lambda: antithetic.coupled([0.5, 0.5], [0.5, 0.5], bits=40),
        lambda: antithetic.worst_pair_mse([1.0, 0.0], outputs=[0.0, 1.0], law=[[0.5, 0.5], [0.5, 0.5]]),
        lambda: antithetic.pair_mse(0.0, 0.0, outputs=[1.0, 0.0], first=[0.5, 0.5], second=[0.5, 0.5]),
        lambda: quantizer_pair.solve(7, epsilon=1.0),
        lambda: quantizer_design.unbiased([-1.0, 0.0, 1.0], [[0.5, 0.5]] * 3),
    ):
        with pytest.raises(ParameterError):
            call()


def test_the_command(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text("[federated]\nclients = 50\nparameters = 10\nepsilon = 3.0\nradius = 2.0\ncenter = 1.0\n")
    result = run("solve", "quantizer", str(file), "--pairs", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["one_bit_mse"] == pytest.approx(4 * float(two_output_bounds.minimax_mse(epsilon=3.0)))
    assert found["worst_mse"] == pytest.approx(4 * quantizer_pair.solve(2, epsilon=3.0).worst_mse)
    assert np.array(found["law"]) @ found["outputs"] == pytest.approx(found["inputs"])
    assert "pair's sum" in run("solve", "quantizer", str(file), "--pairs").stdout
    assert run("solve", "quantizer", str(file), "--pairs", "--bits", "5").exit_code == 2
    assert run("solve", "quantizer", str(file), "--prove", "--bits", "3").exit_code == 2
