"""PriCER on trial: the law of the error against simulation, the weights against a conic solver, the rows."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airtight.analytics.checks import ParameterError
from airtight.validate.claims import audit
from airtight.validate.claims.claim import REFUTED, Verdict
from airtight.validate.claims.sources import INSTALLED
from airtight_private_relaying import PAPER
from airtight_private_relaying.relaying import Relays, classical_noise, sole_good_client


def network(seed, n=3):
    rng = np.random.default_rng(seed)
    P = np.triu(rng.uniform(0, 1, (n, n)), 1)
    return Relays(rng.uniform(0, 1, n), P + P.T + np.eye(n)), rng


def test_the_rows_are_found_and_selected():
    assert INSTALLED.papers()["private-relaying"] is PAPER
    assert [claim.id for claim in audit.selected(["private-relaying"])] == [claim.id for claim in PAPER.claims]
    kinds = {claim.ruling.verdict for claim in PAPER.claims}
    assert {Verdict.HOLDS, Verdict.FALSE, Verdict.OTHER_READING} <= kinds


@pytest.mark.parametrize("claim", PAPER.claims, ids=[claim.id for claim in PAPER.claims])
def test_every_row_names_its_place_and_a_mend(claim):
    code = claim.implementation
    assert code is not None and len(code.commit) == 40 and code.promise
    if claim.ruling.verdict in REFUTED:
        assert code.mend


def test_the_error_is_that_of_a_simulation_of_their_protocol():
    relays, rng = network(3)
    A, x = rng.exponential(1.0, (3, 3)), rng.uniform(-1, 1, 3)
    draws = 400_000
    up = rng.uniform(size=(draws, 3, 3)) <= relays.links
    up = np.triu(up, 1) | np.transpose(np.triu(up, 1), (0, 2, 1)) | np.eye(3, dtype=bool)
    heard = rng.uniform(size=(draws, 3)) <= relays.server
    estimate = np.einsum("tij,ij,i,tj->t", up, A, x, heard) / 3
    squares = (estimate - np.mean(x)) ** 2
    spread = np.std(squares) / draws**0.5
    assert abs(np.mean(squares) - relays.error(A, x)) < 5 * spread


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_the_bound_bounds_and_the_published_one_is_never_above_it(seed):
    relays, rng = network(seed)
    A, x = rng.exponential(1.0, (3, 3)), rng.uniform(-1, 1, 3)
    assert relays.error(A, x) <= relays.bound(A) * (1 + 1e-12)
    assert relays.published(A) <= relays.bound(A) * (1 + 1e-12)
    assert relays.error(A, np.ones(3)) == pytest.approx(relays.published(A), rel=1e-9)


def test_two_clients_with_opposite_biases():
    pair, A = Relays([1.0, 1.0], np.eye(2)), np.diag([1.5, 0.5])
    assert pair.published(A) == 0 and pair.error(A, np.array([1.0, -1.0])) == 0.25


@pytest.mark.parametrize("trusted", [0, 1])
def test_the_least_weights_are_those_of_a_conic_solver(trusted):
    relays, noise = sole_good_client(trusted, link=0.8)
    found = relays.least(noise, dimension=16)
    assert 0 <= found.value - found.bound < 1e-10 and np.all(found.weights >= 0)
    n, p, P = relays.clients, relays.server, relays.links
    A = cp.Variable((n, n), nonneg=True)
    heard = cp.multiply(p * (1 - p), cp.square(cp.sum(cp.multiply(P, A), axis=0)))
    f = P * (1 - P) * p
    pairs = [  # both directions of a link fail together
        f[i, j] * cp.square(A[i, j]) + f[j, i] * cp.square(A[j, i])
        if p[i] * p[j] == 0
        else cp.quad_form(
            cp.hstack([A[i, j], A[j, i]]),
            P[i, j] * (1 - P[i, j]) * np.array([[p[j], p[i] * p[j]], [p[i] * p[j], p[i]]]),
        )
        for i in range(n)
        for j in range(i)
    ]
    privacy = 16 * cp.sum(cp.multiply(p * P * noise**2, cp.square(A)))
    bias = cp.square(cp.sum(cp.multiply(P * p, A)) - n)
    problem = cp.Problem(cp.Minimize((cp.sum(heard) + sum(pairs) + privacy + bias) / n**2))
    problem.solve(solver="CLARABEL")
    assert found.value == pytest.approx(problem.value, rel=1e-6)


def test_a_slope_gives_a_bound_for_the_penalised_problem():
    relays, noise = sole_good_client(1)
    plain, sloped = relays.least(noise, dimension=8), relays.least(noise, dimension=8, slope=np.full(10, -0.01))
    penalty = 0.01 * np.sum(np.abs(relays.share(plain.weights) - 1))
    assert sloped.bound <= plain.value + penalty


def test_the_optimum_cancels_biases_and_is_worse_than_nothing():
    relays, noise = sole_good_client(1)
    found = relays.least(noise, dimension=128)
    share = relays.share(found.weights)
    assert share[0] > 7 and np.sum(share < 0.2) == 7
    assert relays.published(found.weights) < 0.1 and np.mean(np.abs(share - 1)) ** 2 > 1.7


@pytest.mark.parametrize(
    ("server", "links"),
    [([1.5, 0.5], np.eye(2)), ([0.5, 0.5], np.ones((2, 3))), ([0.5, 0.5], [[1, 0.2], [0.3, 1]]), ([0.5], [[0.5]])],
)
def test_a_network_that_is_none_is_refused(server, links):
    with pytest.raises(ParameterError):
        Relays(server, links)


def test_noise_and_dimension_are_checked():
    relays, noise = sole_good_client()
    with pytest.raises(ParameterError):
        relays.least(noise[:2], dimension=3)
    with pytest.raises(ParameterError):
        relays.least(noise, dimension=0)
    with pytest.raises(ParameterError):
        classical_noise(np.array([0.0]), delta=1e-3)
