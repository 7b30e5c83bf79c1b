"""A share of the random calls of the public names; tests/adversarial/random_calls.py makes as many as one likes."""

import numpy as np
import pytest
import random_calls

import airtight
from airtight.analytics.checks import ParameterError


def test_every_call_returns_or_names_what_is_wrong():
    faults, late = random_calls.calls(range(250), seed=1)
    assert not faults, (faults, late)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda system: airtight.mse(3, 4), "system"),
        (lambda system: airtight.mse(system, 4), "features"),
        (lambda system: airtight.design(system, epsilon=1.0), "epsilon"),
        (lambda system: airtight.discrete_pair(["a"], [1.0]), "p"),
        (lambda system: airtight.gaussian(np.ma.masked_array([1.0], [True])), "mu"),
        (lambda system: airtight.gaussian(1.0).delta(np.ma.masked_array([1.0, 2.0], [True, False])), "epsilon"),
        (lambda system: airtight.epsilon(system.replace(channel=3)), "channel"),
        (lambda system: airtight.gaussian(10**5000), "mu"),
        *(
            (lambda system, n=n: airtight.InferenceSystem(devices=n, participation=0.9, noise_variance=1, weight=1, clip=1,
            alignment=1, receiver_noise_variance=1, dimension=1, delta=0.1), "devices")
            for n in (9223372036854775807, 10**12, 2**70)
        ),
    ],
)  # fmt: skip
def test_errors_name_the_parameter(call, name, paper):
    with pytest.raises(ParameterError) as caught:
        call(paper)
    assert str(caught.value).startswith(name) and len(str(caught.value)) < 700 and "\n" not in str(caught.value)


def test_what_the_caller_does_about_overflow_is_their_own(paper):
    with np.errstate(all="raise"):
        assert airtight.epsilon(paper, rounds=3).shape == (12,)
        assert airtight.gaussian(30.0).delta([0.0, 700.0, 1e4]).shape == (3,)
        assert airtight.curve(paper).compose(4).epsilon(1e-300) > 0
        assert np.geterr()["over"] == "raise"
