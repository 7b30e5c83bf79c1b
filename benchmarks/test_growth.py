"""How the work grows with the size of a system: slopes of counts, which no other work on the machine changes."""

import numpy as np
import pytest
from support.systems import unlike

from airtight.analytics.privacy.mechanisms import gaussian
from airtight.analytics.privacy.over_the_air import rounds


@pytest.mark.parametrize("grows", ["devices", "dimension", "rounds"])
def test_divergences_of_one_device_do_not_grow(monkeypatch, grows):
    """Divergences of Gaussians for one of many devices whose participants are seen: their number has slope 0, nearly."""
    computed = 0
    plain = gaussian.log_curve

    def counted(epsilon, mu):
        nonlocal computed
        computed += epsilon.size
        return plain(epsilon, mu)

    monkeypatch.setattr(gaussian, "log_curve", counted)
    sizes = (2, 8, 32)
    counts = []
    for size in sizes:
        computed = 0
        devices, dimension, count = (size * 8 if grows == name else 16 for name in ("devices", "dimension", "rounds"))
        assert rounds.bracket(unlike(devices, 1, dimension=dimension), rounds=count, device=0, observer="participants").reached
        counts.append(computed)
    slope = np.polyfit(np.log(sizes), np.log(counts), 1)[0]
    assert slope < 0.35, counts
