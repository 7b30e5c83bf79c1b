"""Ask accounting libraries for privacy numbers over their whole domains, and keep the answers for `judge.py`.

Run it with the Python of an environment in which the library is installed (no airtight needed):

    python benchmarks/libraries/ask.py ANSWERS [LIBRARY ...]

Every function gets cases drawn from a fixed seed; an answer that raises is kept as nan with the text of the exception.
ANSWERS is a folder; it gets one file LIBRARY.FUNCTION.npz each, with columns `epsilon`, `delta`, `sigma`, ... and `answer`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

SEED, LONGEST = 20261124, 10  # seconds that one case may take

Cases = dict[str, np.ndarray]
Asked = tuple[str, str, Cases, Callable[..., Any]]  # function, what is asked, cases, how to ask for one case


def log(low: float, high: float, count: int, seed: int) -> np.ndarray:
    """Values spread evenly in the logarithm."""
    return np.exp(np.random.default_rng((SEED, seed)).uniform(np.log(low), np.log(high), count))


def gaussian(count: int, sigma: tuple[float, float] = (1e-2, 1e4), delta: tuple[float, float] = (1e-20, 0.5)) -> Cases:
    return {"sigma": log(*sigma, count, 1), "delta": log(*delta, count, 2)}


def target(
    count: int, epsilon: tuple[float, float] = (1e-3, 700.0), delta: tuple[float, float] = (1e-20, 0.5)
) -> Cases:
    return {"epsilon": log(*epsilon, count, 3), "delta": log(*delta, count, 4)}


def profile(count: int, sigma: tuple[float, float] = (1e-2, 1e3)) -> Cases:
    """Epsilons around the mean of the privacy loss, so that delta is neither 0 nor 1 throughout."""
    s = log(*sigma, count, 5)
    z = np.random.default_rng((SEED, 6)).uniform(-3, 8, count)
    return {"sigma": s, "epsilon": np.maximum(0.5 / s**2 + z / s, 0.0)}


def sampled(count: int) -> Cases:
    return {
        "rate": log(1e-4, 0.5, count, 7),
        "sigma": log(0.5, 10.0, count, 8),
        "rounds": np.round(log(1, 3000, count, 9)),
        "delta": log(1e-10, 1e-2, count, 10),
    }


def laplace(count: int) -> Cases:
    return {"scale": log(0.05, 50.0, count, 11), "delta": log(1e-12, 0.1, count, 12)}


def error_rates(count: int) -> Cases:
    return {"mu": log(1e-3, 20.0, count, 13), "alpha": log(1e-12, 0.999, count, 14)}


def dp_accounting() -> Iterator[Asked]:
    import dp_accounting as d
    from dp_accounting import gaussian_mechanism as g
    from dp_accounting.pld import privacy_loss_distribution as pld

    yield "get_epsilon_gaussian", "epsilon", gaussian(6000), lambda sigma, delta: g.get_epsilon_gaussian(sigma, delta)
    yield "get_sigma_gaussian", "sigma", target(3000), lambda epsilon, delta: g.get_sigma_gaussian(epsilon, delta)

    def accountant(make: Callable[[], Any]) -> Callable[..., float]:
        def ask(rate: float, sigma: float, rounds: float, delta: float) -> float:
            event = d.PoissonSampledDpEvent(rate, d.GaussianDpEvent(sigma))
            return float(make().compose(event, int(rounds)).get_epsilon(delta))

        return ask

    yield "RdpAccountant", "sampled", sampled(120), accountant(d.rdp.RdpAccountant)
    yield (
        "PLDAccountant",
        "sampled",
        sampled(40),
        accountant(lambda: d.pld.PLDAccountant(value_discretization_interval=1e-3)),
    )
    yield (
        "from_laplace_mechanism",
        "laplace",
        laplace(150),
        lambda scale, delta: pld.from_laplace_mechanism(
            scale, value_discretization_interval=1e-3
        ).get_epsilon_for_delta(delta),
    )


def opacus() -> Iterator[Asked]:
    from opacus.accountants.analysis import gdp, rdp
    from opacus.accountants.rdp import RDPAccountant

    yield (
        "gdp.delta_eps_mu",
        "delta",
        profile(20000),
        lambda sigma, epsilon: gdp.delta_eps_mu(eps=epsilon, mu=1 / sigma),
    )
    yield "gdp.eps_from_mu", "epsilon", gaussian(3000), lambda sigma, delta: gdp.eps_from_mu(mu=1 / sigma, delta=delta)
    orders = RDPAccountant.DEFAULT_ALPHAS

    def spent(rate: float, sigma: float, rounds: float, delta: float) -> float:
        at = rdp.compute_rdp(q=rate, noise_multiplier=sigma, steps=int(rounds), orders=orders)
        return float(rdp.get_privacy_spent(orders=orders, rdp=at, delta=delta)[0])

    yield "rdp.get_privacy_spent", "sampled", sampled(300), spent
    whole = {name: column for name, column in sampled(3000).items() if name != "rate"}
    yield (
        "rdp.get_privacy_spent, q = 1",
        "composed",
        whole,
        lambda sigma, rounds, delta: spent(1.0, sigma, rounds, delta),
    )
    from opacus.accountants.prv import PRVAccountant

    def prv(rate: float, sigma: float, rounds: float, delta: float) -> float:
        accountant = PRVAccountant()
        accountant.history = [(sigma, rate, int(rounds))]
        return float(accountant.get_epsilon(delta))

    yield "PRVAccountant", "sampled", sampled(40), prv


def prv_accountant() -> Iterator[Asked]:
    from prv_accountant import GaussianMechanism, LaplaceMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant

    def upper(mechanism: Any, rounds: int, delta: float) -> float:
        accountant = PRVAccountant(
            prvs=mechanism, max_self_compositions=rounds, eps_error=0.05, delta_error=delta / 1000
        )
        return float(accountant.compute_epsilon(delta, rounds)[2])

    yield (
        "PRVAccountant, upper end",
        "sampled",
        sampled(60),
        lambda rate, sigma, rounds, delta: upper(PoissonSubsampledGaussianMechanism(rate, sigma), int(rounds), delta),
    )
    yield (
        "PRVAccountant(GaussianMechanism), upper end",
        "epsilon",
        gaussian(60, (0.2, 100.0), (1e-9, 0.1)),
        lambda sigma, delta: upper(GaussianMechanism(sigma), 1, delta),
    )
    yield (
        "PRVAccountant(LaplaceMechanism), upper end",
        "laplace",
        laplace(60),
        lambda scale, delta: upper(LaplaceMechanism(1 / scale), 1, delta),
    )


def autodp() -> Iterator[Asked]:
    from autodp import dp_bank
    from autodp import mechanism_zoo as zoo

    yield (
        "ExactGaussianMechanism",
        "epsilon",
        gaussian(6000),
        lambda sigma, delta: zoo.ExactGaussianMechanism(sigma=sigma).get_approxDP(delta),
    )
    yield (
        "get_logdelta_ana_gaussian",
        "delta",
        profile(6000),
        lambda sigma, epsilon: float(np.exp(np.real(dp_bank.get_logdelta_ana_gaussian(sigma, epsilon)))),
    )
    yield (
        "GaussianMechanism, RDP",
        "epsilon",
        gaussian(1200),
        lambda sigma, delta: zoo.GaussianMechanism(sigma=sigma, approxDP_off=True).get_approxDP(delta),
    )
    yield (
        "LaplaceMechanism, RDP",
        "laplace",
        laplace(1200),
        lambda scale, delta: zoo.LaplaceMechanism(b=scale).get_approxDP(delta),
    )
    yield (
        "get_eps_randresp_optimal",
        "response",
        {"honest": np.random.default_rng((SEED, 15)).uniform(0.5, 1, 8000), "delta": log(1e-12, 0.5, 8000, 16)},
        lambda honest, delta: dp_bank.get_eps_randresp_optimal(honest, delta),
    )


def diffprivlib() -> Iterator[Asked]:
    from diffprivlib.mechanisms import Gaussian, GaussianAnalytic, Laplace

    yield (
        "GaussianAnalytic",
        "sigma",
        target(6000),
        lambda epsilon, delta: GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=1)._scale,
    )
    yield (
        "Gaussian",
        "sigma",
        target(8000, (1e-3, 1.0)),
        lambda epsilon, delta: Gaussian(epsilon=epsilon, delta=delta, sensitivity=1)._scale,
    )

    def least(epsilon: float, delta: float) -> float:
        mechanism = Laplace(epsilon=epsilon, delta=delta, sensitivity=1)
        return float(np.sqrt(mechanism.variance(0.0) / 2))

    yield "Laplace", "laplace scale", target(4000, (1e-3, 100.0), (1e-12, 0.1)), least


def opendp() -> Iterator[Asked]:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious", "floating-point")
    space = (dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float))
    yield (
        "make_zCDP_to_approxDP(make_gaussian)",
        "epsilon",
        gaussian(3000),
        lambda sigma, delta: (
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=sigma)).map(1.0).epsilon(delta)
        ),
    )
    yield (
        "make_zCDP_to_approxDP(make_gaussian), delta",
        "delta",
        profile(3000),
        lambda sigma, epsilon: (
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=sigma)).map(1.0).delta(epsilon)
        ),
    )
    pure = laplace(4000)
    pure["delta"] = np.zeros(4000)
    yield "make_laplace", "laplace", pure, lambda scale, delta: dp.m.make_laplace(*space, scale=scale).map(1.0)
    honest = np.random.default_rng((SEED, 17)).uniform(0.5, 1, 4000)
    yield (
        "make_randomized_response_bool",
        "response",
        {"honest": honest, "delta": np.zeros(4000)},
        lambda honest, delta: dp.m.make_randomized_response_bool(prob=honest).map(1),
    )


def jax_privacy() -> Iterator[Asked]:
    from jax_privacy.accounting import accountants, analysis

    def ask(rate: float, sigma: float, rounds: float, delta: float) -> float:
        size = max(round(rate * 10**6), 1)
        parameters = analysis.DpParams(noise_multipliers=sigma, num_samples=10**6, delta=delta, batch_size=size)
        training = analysis.DpsgdTrainingAccountant(accountants.RdpAccountantConfig())
        return float(training.compute_epsilon(int(rounds), parameters))

    cases = sampled(80)
    cases["rate"] = np.maximum(np.round(cases["rate"] * 10**6), 1) / 10**6
    yield "DpsgdTrainingAccountant, RDP", "sampled", cases, ask

    def single(sigma: float, delta: float) -> float:
        parameters = analysis.DpParams(noise_multipliers=sigma, num_samples=100, delta=delta, batch_size=100)
        training = analysis.SingleReleaseTrainingAccountant(accountants.RdpAccountantConfig())
        return float(training.compute_epsilon(1, parameters))

    yield "SingleReleaseTrainingAccountant, RDP", "epsilon", gaussian(3000), single


def tensorflow_privacy() -> Iterator[Asked]:
    root = Path(next(iter(importlib.util.find_spec("tensorflow_privacy").submodule_search_locations)))  # type: ignore[union-attr, arg-type]

    def load(name: str) -> ModuleType:  # the package itself imports TensorFlow; its analysis modules do not
        specification = importlib.util.spec_from_file_location(name, root / "privacy" / "analysis" / f"{name}.py")
        module = importlib.util.module_from_spec(specification)  # type: ignore[arg-type]
        specification.loader.exec_module(module)  # type: ignore[union-attr]
        return module

    gdp, tree = load("gdp_accountant"), load("tree_aggregation_accountant")
    yield (
        "gdp_accountant.delta_eps_mu",
        "delta",
        profile(20000),
        lambda sigma, epsilon: gdp.delta_eps_mu(epsilon, 1 / sigma),
    )
    yield (
        "gdp_accountant.eps_from_mu",
        "epsilon",
        gaussian(3000),
        lambda sigma, delta: gdp.eps_from_mu(1 / sigma, delta),
    )
    rng = np.random.default_rng((SEED, 18))
    cases = {
        "steps": rng.integers(1, 17, 400).astype(float),
        "most": rng.integers(1, 5, 400).astype(float),
        "apart": rng.integers(0, 6, 400).astype(float),
    }
    yield (
        "tree_aggregation_accountant, squared sensitivity",
        "tree",
        cases,
        lambda steps, most, apart: 2 * tree.compute_zcdp_single_tree(1.0, int(steps), int(most), int(apart)),
    )


def riskcal() -> Iterator[Asked]:
    from riskcal.analysis import conversions as c

    yield "get_beta_from_gdp", "beta", error_rates(20000), lambda mu, alpha: c.get_beta_from_gdp(mu, alpha)
    yield (
        "get_advantage_from_gdp",
        "advantage",
        {"mu": log(1e-6, 50.0, 20000, 19)},
        lambda mu: c.get_advantage_from_gdp(mu),
    )
    yield (
        "get_beta_from_adp",
        "beta of (epsilon, delta)",
        {
            **target(20000, (1e-3, 100.0)),
            "alpha": log(1e-12, 0.999, 20000, 20),
        },
        lambda epsilon, delta, alpha: c.get_beta_from_adp(epsilon, delta, alpha),
    )
    yield "get_beta_from_zcdp", "beta", error_rates(1500), lambda mu, alpha: c.get_beta_from_zcdp(mu * mu / 2, alpha)


def gdpnum() -> Iterator[Asked]:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from gdpnum.converter import PLDConverter, gaussian_fdp

    yield "gaussian_fdp", "beta", error_rates(20000), lambda mu, alpha: gaussian_fdp(mu)(alpha)

    def converted(sigma: float) -> float:
        return float(PLDConverter(pld.from_gaussian_mechanism(sigma, value_discretization_interval=1e-3)).get_mu())

    yield "PLDConverter.get_mu", "mu", {"sigma": log(0.1, 20.0, 60, 21)}, converted


def flwr() -> Iterator[Asked]:
    from flwr.supercore import privacy_accounting as p
    from flwr.supercore.privacy_accounting.rdp_accountant import RdpAccountant

    def ask(rate: float, sigma: float, rounds: float, delta: float) -> float:
        size = max(round(rate * 10**6), 1)
        config = p.PrivacyConfig(delta, 10**6, p.NeighboringRelation.ADD_OR_REMOVE_ONE, p.SamplingMethod.POISSON)
        accountant = RdpAccountant(config)
        accountant.compose(p.GaussianPrivacyEvent(sigma, size, 10**6), int(rounds))
        return accountant.get_epsilon(delta)

    cases = sampled(80)
    cases["rate"] = np.maximum(np.round(cases["rate"] * 10**6), 1) / 10**6
    yield "RdpAccountant", "sampled", cases, ask
    # the noise of LocalDpMod and add_localdp_gaussian_noise_to_params, read from the source: no function returns it
    yield (
        "LocalDpMod, the noise",
        "sigma",
        target(8000),
        lambda epsilon, delta: np.sqrt(2 * np.log(1.25 / delta)) / epsilon,
    )


def flip() -> Iterator[Asked]:
    from flip.flower.privacy import LocalDpConfig

    yield (
        "LocalDpConfig.noise_stddev",
        "sigma",
        target(8000),
        lambda epsilon, delta: LocalDpConfig(sensitivity=1.0, epsilon=epsilon, delta=delta).noise_stddev,
    )


def pfl() -> Iterator[Asked]:
    from pfl.privacy.compute_parameters import AnalyticGM_robust
    from pfl.privacy.privacy_accountant import PLDPrivacyAccountant, PRVPrivacyAccountant, RDPPrivacyAccountant

    yield "AnalyticGM_robust", "sigma", target(2500), lambda epsilon, delta: AnalyticGM_robust(epsilon, delta)

    def of(kind: Any) -> Callable[..., float]:
        return lambda scale, delta: float(
            kind(
                num_compositions=1, sampling_probability=1.0, mechanism="laplace", delta=delta, noise_parameter=scale
            ).epsilon
        )

    yield "PRVPrivacyAccountant, Laplace", "laplace", laplace(80), of(PRVPrivacyAccountant)
    yield "RDPPrivacyAccountant, Laplace", "laplace", laplace(200), of(RDPPrivacyAccountant)
    yield "PLDPrivacyAccountant, Laplace", "laplace", laplace(20), of(PLDPrivacyAccountant)


def pipeline_dp() -> Iterator[Asked]:
    from pipeline_dp import dp_computations as c

    yield "gaussian_delta", "delta", profile(6000), lambda sigma, epsilon: c.gaussian_delta(sigma, epsilon)
    yield "gaussian_epsilon", "epsilon", gaussian(500), lambda sigma, delta: c.gaussian_epsilon(sigma, delta)
    yield "compute_sigma", "sigma", target(6000), lambda epsilon, delta: c.compute_sigma(epsilon, delta, 1.0)


def fourier_accountant() -> Iterator[Asked]:
    import fourier_accountant as f

    cases = sampled(60)
    cases["delta"] = log(1e-13, 1e-2, 60, 22)

    yield (
        "get_epsilon_R",
        "sampled",
        cases,
        lambda rate, sigma, rounds, delta: f.get_epsilon_R(target_delta=delta, sigma=sigma, q=rate, ncomp=int(rounds)),
    )


def dp_accelerator() -> Iterator[Asked]:
    from dp_accelerator import DPSGDAccountant

    cases = sampled(2000)
    cases["rate"] = np.maximum(np.round(cases["rate"] * 10**6), 1) / 10**6

    yield (
        "DPSGDAccountant",
        "sampled",
        cases,
        lambda rate, sigma, rounds, delta: DPSGDAccountant(sigma, round(rate * 10**6), 10**6).get_epsilon(
            int(rounds), delta
        ),
    )


LIBRARIES: dict[str, Callable[[], Iterator[Asked]]] = {
    f.__name__: f
    for f in (
        dp_accounting,
        opacus,
        prv_accountant,
        autodp,
        diffprivlib,
        opendp,
        jax_privacy,
        tensorflow_privacy,
        riskcal,
        gdpnum,
        flwr,
        flip,
        pfl,
        pipeline_dp,
        fourier_accountant,
        dp_accelerator,
    )
}


class Slow(Exception):
    """A case took too long."""


def _late(*_: object) -> None:
    raise Slow(f"no answer in {LONGEST} s")


def answers(cases: Cases, ask: Callable[..., Any]) -> tuple[np.ndarray, list[tuple[int, str]]]:
    """The answer to every case, and the exceptions with the case that raised them."""
    columns = list(cases)
    found, raised = np.full(len(cases[columns[0]]), np.nan), []
    for i, values in enumerate(zip(*cases.values(), strict=True)):
        signal.alarm(LONGEST)
        try:
            found[i] = float(np.real(ask(*map(float, values))))
        except Exception as error:
            raised.append((i, f"{type(error).__name__}: {error}"[:120]))
        finally:
            signal.alarm(0)
    return found, raised


def main(folder: str, *names: str) -> None:
    """Ask every installed library, or those named."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, _late)
    for name in names or LIBRARIES:
        try:
            asked = list(LIBRARIES[name]())
        except ImportError as error:
            print(f"{name}: skipped, {error}")
            continue
        version = importlib.metadata.version({"flip": "flip-utils"}.get(name, name.replace("_", "-")))
        for function, kind, cases, ask in asked:
            begun = time.process_time()
            found, raised = answers(cases, ask)
            about = {"library": name, "version": version, "function": function, "kind": kind, "raised": raised}
            file = out / f"{name}.{function.replace('/', ' ')}.npz"
            np.savez_compressed(file, about=json.dumps(about), answer=found, **cases)
            print(
                f"{name} {version} {function}: {found.size} cases, {len(raised)} raised, "
                f"{time.process_time() - begun:.1f} CPU s",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
