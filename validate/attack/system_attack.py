"""The optimal attack on the devices of a system, over the simulated channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from airtight.analytics import checks
from airtight.analytics.checks import ParameterError
from airtight.analytics.inference.features import Features
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy import empirical_epsilon
from airtight.analytics.privacy.over_the_air import amplification, system_privacy
from airtight.analytics.progress import reported
from airtight.analytics.records import plain
from airtight.validate.attack.attack_results import AttackedDevice, AttackResult
from airtight.validate.experiments.monte_carlo import antennas
from airtight.validate.experiments.monte_carlo import channel as air

SAMPLES = 100_000
FAILURE = 0.05
_MOST_DRAWS = 10**11  # of a round, with which a simulation takes hours
_KEPT = 1 << 22  # scores under one neighbour that are kept at a time: 32 MiB


def attacked(
    system: InferenceSystem,
    *,
    features: Features | None = None,
    rounds: int | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    failure: float = FAILURE,
    progress: bool = False,
    finished: Callable[[AttackedDevice], None] = lambda device: None,
) -> AttackResult:
    """Run the likelihood-ratio attack on one device of each group of equal devices, for the observer that `auto` stands for.

    Named colluders tell the attacker what they sent, which he subtracts; they are not attacked themselves.

    Over a channel, which the observer knows and whose antennas he has all, every device is attacked, because each is received in
    its own way. What is published is about one look.

    Parameters
    ----------
    system : InferenceSystem
    features : Features, optional
        A data set, for example of trained features; each device is then also attacked with its own code.
    rounds : int, optional
        T, by default those of the system; Theorem 1 is about one.
    samples : int
        Samples under each neighbour.
    seed : int
    failure : float
    progress : bool
        Whether to say on stderr every two seconds how many draws of a round are done.
    finished : callable
        Called with the result of each device as it is known.

    Examples
    --------
    >>> system = InferenceSystem(devices=50, participation=0.5, noise_variance=0.1, weight=0.02, clip=3.0, alignment=1.0,
    ...     receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5)
    >>> one = attacked(system, samples=20_000).devices[0]
    >>> one.published_epsilon < one.attack_at_published_delta < one.exact, one.refuted
    (True, True)
    """
    count, channel = checks.count("samples", samples, "[8, inf)"), system.channel
    round_count = system.rounds if rounds is None else checks.count("rounds", rounds)
    start = checks.count("seed", seed, "[0, inf)")
    norms = None if features is None else np.linalg.norm(features.clipped(system.clip), axis=1)
    if channel is not None and features is not None:
        raise ParameterError(
            "features", "given", "absent over a channel: devices are attacked with the longest code there"
        )
    if channel is not None and system.colluding:
        raise ParameterError("colluding", plain(system.colluding), "0 where a channel is simulated")
    honest = np.flatnonzero(~system.partners)
    keys = np.stack([system.participation, system.noise_variance, system.sensitivity])[:, honest]
    if channel is not None:
        keys = np.vstack([keys, honest])
    _, first, device_class = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    first = honest[first]
    single = round_count == 1 and channel is None and not system.colluding
    claim = amplification.published(system.one_round) if single else None
    exact = np.atleast_1d(system_privacy.epsilon(system, rounds=round_count, device=first, observer="auto", progress=progress))
    draws = 2 * count * round_count * first.size * (1 if norms is None else 2)
    if draws > _MOST_DRAWS:
        most_rounds = _MOST_DRAWS // (draws // round_count)
        raise ParameterError("rounds", round_count, f"at most {most_rounds} with {count} samples, so that the simulation ends")
    heard, drawn = reported(draws, "draws", progress=progress), 0

    def advance(number: int) -> None:
        nonlocal drawn
        drawn += number
        heard(drawn)

    results = []
    by_partners: dict[tuple[int, ...], list[int]] = {}
    for number in np.argsort(first).tolist():
        partners = system_privacy.most_revealing(system, int(first[number]), rounds=round_count) if system.colluding else ()
        by_partners.setdefault(partners, []).append(number)
    step = 1 if channel is not None else max(_KEPT // count, 1)
    batches = [
        (partners, np.array(numbers[i : i + step]))
        for partners, numbers in by_partners.items()
        for i in range(0, len(numbers), step)
    ]
    for partners, numbers in batches:
        # without what the partners sent, which the attacker subtracts
        left = system.derived(
            colluding=0, noise_variance=np.where(np.isin(np.arange(system.devices), partners), 0.0, system.noise_variance)
        )
        rng = np.random.default_rng([start, 47, int(first[numbers[0]])])
        sampled: dict[str, Any] = {"samples": count, "rng": rng, "rounds": round_count, "heard": advance}
        alike = [honest[device_class.ravel() == number] for number in numbers]
        scores = (
            air.log_ratios(left, devices=first[numbers], **sampled)
            if channel is None
            else np.stack(antennas.log_ratios(system, channel, device=int(first[numbers[0]]), **sampled))[:, None]
        )
        of_codes = None
        if norms is not None:
            longest = np.array([group[np.argmax(norms[group] / system.clip[group])] for group in alike])
            norm = np.minimum(norms[longest], system.clip[longest])
            of_codes = air.log_ratios(left, devices=longest, norm=norm, **sampled)
        for place, number in enumerate(numbers):
            k, score = int(first[number]), scores[:, place]
            feature_epsilon = promised = None
            if of_codes is not None:
                feature_epsilon = empirical_epsilon.epsilon_at_least(
                    *of_codes[:, place], delta=system.delta, failure=failure
                ).epsilon
            if claim is not None and claim.delta[k] < 1:
                promised = empirical_epsilon.epsilon_at_least(
                    *score, delta=float(claim.delta[k]), failure=failure
                ).epsilon
            done = AttackedDevice(
                devices=alike[place].tolist(),
                attack=empirical_epsilon.epsilon_at_least(*score, delta=system.delta, failure=failure).epsilon,
                exact=float(exact[number]),
                attack_on_features=feature_epsilon,
                published_epsilon=None if claim is None else float(claim.epsilon[k]),
                published_delta=None if claim is None else float(claim.delta[k]),
                attack_at_published_delta=promised,
                refuted=claim is not None and promised is not None and promised > float(claim.epsilon[k]),
            )
            results.append(done)
            finished(done)
    results.sort(key=lambda one: one.devices[0])
    return result(system, results, rounds=round_count, samples=count, failure=failure)


def result(
    system: InferenceSystem,
    devices: list[AttackedDevice],
    *,
    rounds: int | None = None,
    samples: int = SAMPLES,
    failure: float = FAILURE,
) -> AttackResult:
    """The result of an attack on these devices: all of them, or those that an interrupted attack has finished."""
    return AttackResult(
        adjacency=system.adjacency,
        delta=system.delta,
        rounds=system.rounds if rounds is None else rounds,
        samples=samples,
        confidence=1 - failure,
        devices=devices,
    )
