"""Both ends for a server that sees y and the channel: the lower one against likelihood ratios of the whole signal."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import special

import airtight
from airtight import Channel, InferenceSystem, PrivacyCurve
from airtight.analytics.privacy.over_the_air.multi_antenna import channel_privacy, combined_antennas, effective_noise
from airtight.analytics.privacy.over_the_air.participation_mixture import signal_lower_bound

_DRAWS = 30_000


def system(**changes: object) -> InferenceSystem:
    base: dict[str, object] = {
        "devices": 4,
        "participation": [0.5, 0.7, 0.9, 0.4],
        "noise_variance": [0.3, 0.2, 0.4, 0.1],
        "weight": [1.6, 0.9, 1.5, 0.7],
        "clip": 1.0,
        "alignment": 0.7,
        "receiver_noise_variance": 0.1,
        "dimension": 2,
        "delta": 1e-3,
        "adjacency": "silent",
    }
    return InferenceSystem(**{**base, **changes})  # type: ignore[arg-type]


def _table(seed: int, states: int, devices: int, count: int, *, parts: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    real = rng.standard_normal((states, devices, count))
    return real + 1j * rng.standard_normal(real.shape) if parts else real


class _Air:
    """Densities of the whole signal Y for zero codes of the others: mixtures over sets, nothing combined, no v."""

    def __init__(self, one: InferenceSystem, table: np.ndarray, device: int) -> None:
        self.one, self.table, self.device = one, table, device
        K = one.devices
        self.sets = [(present, self._probability(present)) for present in product((0, 1), repeat=K)]

    def _probability(self, present: tuple[int, ...]) -> float:
        p = self.one.participation
        return float(np.prod([q if here else 1 - q for here, q in zip(present, p, strict=True)]))

    def _covariance(self, state: int, present: tuple[int, ...]) -> np.ndarray:
        one, a = self.one, self.table[state] * self.one.alignment
        noise = np.array(present) * one.noise_variance
        return (a.T * noise) @ a.conj() + one.receiver_noise_variance * np.eye(a.shape[1])

    def _symbols(self, x: float) -> np.ndarray:
        code = np.zeros(self.one.dimension)
        code[0] = x
        return code[0::2] + 1j * code[1::2] if np.iscomplexobj(self.table) else code

    def draw(self, rng: np.random.Generator, x: float, gone: bool) -> tuple[np.ndarray, np.ndarray]:
        """States and signals; the code of the device is x, or the device is gone."""
        one, parts = self.one, np.iscomplexobj(self.table)
        state = rng.integers(len(self.table), size=_DRAWS)
        r = one.dimension
        Y = np.zeros((_DRAWS, self.table.shape[2], r // 2 if parts else r), dtype=self.table.dtype)

        def white(variance: float, shape: tuple[int, ...]) -> np.ndarray:
            real = rng.standard_normal(shape) * np.sqrt(variance)
            return real + 1j * rng.standard_normal(shape) * np.sqrt(variance) if parts else real

        for j in range(one.devices):
            here = rng.random(_DRAWS) < one.participation[j]
            if j == self.device and gone:
                continue
            sent = white(one.noise_variance[j], (_DRAWS, Y.shape[2]))
            if j == self.device:
                sent = sent + self._symbols(x)
            a = self.table[state, j] * one.alignment
            Y += here[:, None, None] * a[:, :, None] * sent[:, None, :]
        return state, Y + white(one.receiver_noise_variance, Y.shape)

    def log_density(self, state: np.ndarray, Y: np.ndarray, x: float, gone: bool) -> np.ndarray:
        out = np.empty(state.size)
        for s in range(len(self.table)):
            of = np.flatnonzero(state == s)
            terms = []
            for present, probability in self.sets:
                if probability == 0:
                    continue
                inside = tuple(0 if gone and j == self.device else b for j, b in enumerate(present))
                V = self._covariance(s, inside)
                a = self.table[s, self.device] * self.one.alignment
                centred = Y[of] - (inside[self.device] * a[:, None] * self._symbols(x)[None, :])
                form = np.sum((centred.conj() * np.linalg.solve(V, centred)).real, axis=(1, 2))
                symbols = Y.shape[2] * (2 if np.iscomplexobj(Y) else 1)
                terms.append(np.log(probability) - form / 2 - symbols / 2 * np.linalg.slogdet(V)[1])
            out[of] = special.logsumexp(terms, axis=0)
        return out


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_the_lower_end_is_below_the_likelihood_ratio_of_the_whole_signal(adjacency: str, parts: bool) -> None:
    """With zero codes of the others the whole signal tells at least as much as one combination, and at most as the upper end."""
    one, device = system(adjacency=adjacency), 0
    table = _table(3, 3, 4, 2, parts=parts)
    channel = Channel(model="complex" if parts else "real", looks=table)
    curve = airtight.curve(one.replace(channel=channel), device=device, observer="signal")
    air, rng = _Air(one, table, device), np.random.default_rng(1)
    length = float(one.weight[device])
    first = (length, False)
    second = {"absent": (0.0, True), "silent": (0.0, False), "replace": (-length, False)}[adjacency]
    for p, q, order in ((first, second, "forward"), (second, first, "reverse")):
        state, Y = air.draw(rng, *p)
        loss = air.log_density(state, Y, *p) - air.log_density(state, Y, *q)
        for epsilon in (0.5,):
            gain = np.maximum(-np.expm1(epsilon - loss), 0.0)
            low, high, *_ = curve.bracket(epsilon=epsilon, direction=order)
            doubt = 4.5 * np.std(gain) / np.sqrt(_DRAWS) + 1e-9
            assert float(low) <= np.mean(gain) + doubt, (order, epsilon)
            assert np.mean(gain) <= float(high) + doubt, (order, epsilon)
            assert float(low) > 0.5 * np.mean(gain) - doubt  # one combination loses little here


def _delta_of_two_looks(one: InferenceSystem, a: np.ndarray, codes: np.ndarray, epsilon: float) -> float:
    """delta of the whole signal of two real looks at one coordinate, by a sum over a grid, for given codes of the others."""
    span = np.linspace(-12, 12, 601)
    y = np.stack(np.meshgrid(span, span, indexing="ij"), axis=-1)

    def density(code: float, gone: bool) -> np.ndarray:
        total = np.zeros(y.shape[:2])
        for present in product((0, 1), repeat=one.devices):
            chance = np.prod([q if here else 1 - q for here, q in zip(present, one.participation, strict=True)])
            here = np.array(present) * (0 if gone else 1) ** (np.arange(one.devices) == 0)
            V = (a.T * (here * one.noise_variance)) @ a + one.receiver_noise_variance * np.eye(2)
            mean = (here * np.append(code, codes)) @ a
            form = np.einsum("...i,ij,...j", y - mean, np.linalg.inv(V), y - mean)
            total += chance * np.exp(-form / 2) / (2 * np.pi * np.sqrt(np.linalg.det(V)))
        return total

    length = float(one.weight[0] * one.clip[0])
    first = density(length, False)
    second = density({"replace": -length}.get(str(one.adjacency), 0.0), one.adjacency == "absent")
    cell = (span[1] - span[0]) ** 2
    return max(float(np.sum(np.maximum(f - np.exp(epsilon) * g, 0)) * cell) for f, g in ((first, second), (second, first)))


@pytest.mark.parametrize("adjacency", ["absent", "silent", "replace"])
def test_codes_over_a_channel_of_one_state_tell_what_they_are_said_to(adjacency: str) -> None:
    one = system(
        devices=3, participation=[0.8, 0.6, 0.7], noise_variance=[0.3, 0.2, 0.4], weight=[1.0, 0.9, 0.9], dimension=1,
        adjacency=adjacency, alignment=1.0, clip=[1.0, 4.0, 4.0],
    )  # fmt: skip
    a = np.array([[1.0, 0.3], [0.8, -0.5], [0.4, 0.9]])
    weight = one.participation * one.noise_variance * [0, 1, 1]
    u = np.linalg.solve((a.T * weight) @ a + one.receiver_noise_variance * np.eye(2), a[0])
    ratio = (a @ u) / (a[0] @ u)
    most = float(np.min((one.weight[1:] * one.clip[1:]) / (one.noise_variance[1:] * np.abs(ratio[1:]))))
    curve = airtight.curve(one.replace(channel=Channel(looks=a[None])), device=0, observer="signal")
    for epsilon in (0.5, 2.0):
        codes = [-share * most * one.noise_variance[1:] * ratio[1:] for share in signal_lower_bound._SHARES]
        assert all(np.all(np.abs(each) <= one.weight[1:] * one.clip[1:] * (1 + 1e-9)) for each in codes)
        truth = [_delta_of_two_looks(one, a, each, epsilon) for each in codes]
        low, high, *_ = curve.bracket(epsilon=epsilon)
        assert 0.8 * truth[-1] < float(low) <= max(truth) * (1 + 1e-4) and max(truth) <= float(high) * (1 + 1e-4)


def test_the_longest_code_over_a_channel_is_as_long_as_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    one = system(dimension=1, alignment=1.0, clip=[1.0, 4.0, 4.0, 2.0])
    a = np.array([[1.0, 0.3], [0.8, -0.5], [0.4, 0.9], [-0.2, 0.7]])
    seen: list[signal_lower_bound.SignalTest] = []
    first_of = signal_lower_bound.most_telling

    def noted(tests: list[signal_lower_bound.SignalTest], delta: float, coarse: int) -> signal_lower_bound.SignalTest:
        seen.extend(tests)
        return first_of(tests, delta, coarse)

    monkeypatch.setattr(combined_antennas, "most_telling", noted)
    channel_privacy.bracket(one, Channel(looks=a[None]), device=0, observer="signal")
    weight = one.participation * one.noise_variance * [0, 1, 1, 1]
    u = np.linalg.solve((a.T * weight) @ a + one.receiver_noise_variance * np.eye(2), a[0])
    ratio, longest = np.abs(a @ u / (a[0] @ u)), one.weight * one.clip
    theta = np.min((longest / (one.noise_variance * ratio))[1:])
    # without a unit: theta times the own noise over the own code
    steepest = max(-test.slope * test.s / test.d for test in seen)
    expected = theta * one.noise_variance[0] / longest[0]
    assert expected * (1 - 1e-9) <= steepest <= expected


def test_codes_over_a_channel_of_one_state_tell_more_than_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    one = system(dimension=10, alignment=1.0, noise_variance=[0.1, 0.05, 0.2, 0.1], weight=[0.6, 0.9, 0.5, 0.7], clip=2.0)
    channel = Channel(model="complex", looks=_table(3, 1, 4, 2, parts=True))
    found = channel_privacy.bracket(one, channel, observer="signal")
    monkeypatch.setattr(signal_lower_bound.SignalTest, "tilted", lambda self, *_: [self])
    zero = channel_privacy.bracket(one, channel, observer="signal")
    assert np.all(zero.lower <= found.lower * 1.001) and np.all(found.lower <= found.upper)
    assert np.sum(found.lower > 1.2 * zero.lower) >= 2


def test_with_one_look_it_is_near_the_bound_of_one_look() -> None:
    """Looks that differ by 1e-12 take the way of many looks: the lower end is near that of one look."""
    for adjacency in ("absent", "silent", "replace"):
        one = system(adjacency=adjacency, weight=[0.6, 0.9, 0.5, 0.7])
        table = np.ones((1, 4, 1))
        table[0, 0, 0] = 1 + 1e-12
        of_channel = channel_privacy.bracket(one, Channel(looks=table), observer="signal")
        low, high = airtight.analytics.privacy.over_the_air.observers.signal_bracket(one)
        np.testing.assert_allclose(of_channel.upper, high, rtol=1e-6)
        assert np.all(of_channel.lower <= low * (1 + 1e-4)) and np.all(of_channel.lower >= 0.95 * low)


def test_rounds_have_a_lower_end() -> None:
    one, channel = system(adjacency="absent"), Channel(model="complex", antennas=2, fading="rayleigh", states=2)
    once = airtight.curve(one.replace(channel=channel), observer="signal")
    (pair, count), *_ = once.compose(10).factors[0][0].attained(1e-3)
    assert count == 1
    lower = [float(PrivacyCurve.of(pair).compose(T).bracket(delta=1e-3).lower) for T in (1, 10)]
    assert lower[0] == pytest.approx(float(channel_privacy.bracket(one, channel, device=0, observer="signal").lower), rel=1e-6)
    assert lower[1] > 2 * lower[0] > 0


def test_where_nothing_is_known_the_end_is_zero() -> None:
    one, table = system(), _table(1, 2, 4, 2, parts=True)
    for channel, of in (
        (Channel(model="complex", looks=table, known=False), one),
        (Channel(model="complex", looks=table), system(receiver_noise_variance=0.0)),
        (Channel(model="complex", antennas=2, fading="rayleigh", states=2), system(devices=12, participation=0.9,
            noise_variance=0.1, weight=1.0)),
    ):  # fmt: skip
        lower, upper, *_ = channel_privacy.bracket(of, channel, observer="signal")
        assert np.all(lower == 0) and np.all(upper > 0)


def test_states_that_are_not_used_only_lower_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one, channel = system(), Channel(model="complex", antennas=2, fading="rayleigh", states=40)  # 8 sets each
    every = channel_privacy.bracket(one, channel, device=0, observer="signal").lower
    monkeypatch.setattr(combined_antennas, "EFFORT", 32)
    few = channel_privacy.bracket(one, channel, device=0, observer="signal").lower
    assert 0 < few < every


def test_coefficients_that_cancel_are_not_trusted() -> None:
    """u*a_j is all rounding here, and the noise of the others dwarfs N: no lower end, or one that is below the upper end."""
    a = np.array([[[1.0, 1.0], [1.0, 1.0 + 1e-13], [1.0, 1.0 - 1e-13], [1.0, 1.0]]])
    one = system(receiver_noise_variance=1e-30)
    lower, upper, *_ = channel_privacy.bracket(one, Channel(looks=a), observer="signal")
    assert np.all(lower <= upper)
    scaled, drawn, noise = effective_noise.received(one, Channel(looks=a))
    assert combined_antennas.attained_pair(scaled, drawn, noise=noise, device=0, delta=1e-3) is None
