"""Shared settings: hypothesis without deadlines, repeatable; the paper's system."""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings
from support.processors import take_one

from airtight.analytics.inference.system import InferenceSystem

settings.register_profile(
    "airtight", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("airtight")
os.environ.pop("COLUMNS", None)  # which xdist sets: tables are as wide as they need to be
take_one()
gc.disable()  # until all tests are imported: modules, claims and expressions are no garbage


def pytest_collection_finish():
    """Of the millions of objects that stay none is looked at again for garbage."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def one_processor(monkeypatch):
    """Long work is done in this process: to start others takes seconds."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)


@pytest.fixture
def paper() -> InferenceSystem:
    """FDP Sec. VI, with a clipping threshold of 5."""
    return InferenceSystem(
        devices=12,
        participation=0.9,
        noise_variance=0.1,
        weight=1 / 12,
        clip=5.0,
        alignment=1.0,
        receiver_noise_variance=0.1,
        dimension=784,
        delta=1e-5,
        delta_prime=1e-5,
    )
