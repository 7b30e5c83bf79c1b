"""UF: sentences outside the numbered items that state a number, a comparison or a proportion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from airtight.analytics.federated.fair.device import table_1
from airtight.analytics.forms.domain import Range, parameter
from airtight.solvers import energy as energy_utility
from airtight.validate.claims.claim import Claim, false, holds, holds_under, other_reading
from airtight.validate.claims.relation import at_least, at_most, equal
from airtight.validate.papers.utility_fairness.common import distance

BENCHMARK_POWER = 0.471  # W, of UF-F2-tuned

rounds = parameter("rounds", 1, 1000, integer=True, typical=(200, 200), latex="M")
q = parameter("q", 0.001, 1.0, logarithmic=True, typical=(0.01, 0.1))
deviation = parameter("deviation", 0.01, 0.5, latex=r"\mathcal E_k")
theta = parameter("theta", 0.01, 0.99, typical=(0.6, 0.6), latex=r"\theta")
spent = parameter("spent", 0.0, 0.2, typical=(0.046, 0.058), latex="E")
more = parameter("more", 0.0, 0.2, latex="h")
scale = parameter("beta_2", 0.005, 1.0, logarithmic=True, typical=(0.05, 0.05), latex=r"\beta_2")

cosine = parameter("cosine", 0.01, 1.0, latex=r"\tfrac{s_k}{\max s}")

_ADDED = sp.Lambda(deviation, (1 - deviation * theta) ** -2 - 1)  # increase of the variance, relative to that of (9)
_BETA = {"beta_1": Range(0.02, 3.7, logarithmic=True)}
_SMALL_BETA = {"beta_1": Range(1e-3, 0.0207, logarithmic=True)}  # as UF-F2-tuned requires


def _optimum(quantity: str) -> Callable[[float, float], float]:
    """A function for the optimum of a device of Table I: compute or transmit energy (J), rate (bit/s) or iterations."""

    def at(distance: float, beta_1: float) -> float:
        fleet = table_1(distance=distance, beta_1=beta_1)
        best = energy_utility.solve(fleet)
        quantities: dict[str, Any] = {
            "computing": fleet.compute_energy(best.iterations),
            "sending": fleet.transmit_energy(best.power),
            "rate": best.rate,
            "iterations": best.iterations,
        }
        return float(quantities[quantity][0])

    return at


def _benchmark_iterations(distance: float) -> float:
    fleet = table_1(distance=distance)
    return float((fleet.deadline - fleet.transmit_time(BENCHMARK_POWER))[0] / fleet.iteration_time[0])


def _benchmark_computing(distance: float) -> float:
    return float(table_1(distance=distance).compute_energy(_benchmark_iterations(distance))[0])


_fall_computing, _sent, _rate, _count = map(_optimum, ("computing", "sending", "rate", "iterations"))

def _in_the_cell(distance: float, farther: float, beta_1: float) -> bool:
    """Whether distance + farther is at most 200 m."""
    return distance + farther <= 200


CLAIMS = (
    Claim(
        "UF-C4-saved",
        "After Algorithm 1: the moments accountant 'saves ... a Mq factor in the delta part' (from q M delta)",
        equal(rounds, rounds * q),
        false(
            "With the delta of its source, (O(q eps sqrt M), delta), the factor saved is Mq; with the printed O(q "
            "delta) it is M.",
            "misprint",
            corrected_by="UF-C4",
            true_where="q = 1",
        ),
        statement=r"\frac{qM\delta}{q\delta} = Mq",
        where={r"\delta": 1},
    ),
    Claim(
        "UF-E25-proportional",
        "Sec. III-B: noise 'in proportion to the deviation'; 'the change in variance is proportional to the quality'",
        equal(_ADDED(2 * deviation), 2 * _ADDED(deviation)),
        other_reading(
            "The noise is greater for a greater deviation, as the sentence surely means: (25) rises with E_k. It is "
            "not proportional: 1/(1 - E theta)^2 - 1 is five times as much at E = 1 as at 1/2 for theta = .6.",
            corrected_by="UF-E25",
            true_where=r"\mathcal E_k\theta \to 0",
        ),
        statement=r"v(2\mathcal E_k) = 2v(\mathcal E_k),\quad v(\mathcal E) = \frac1{(1-\mathcal E\theta)^2} - 1",
        where={"v": _ADDED},
        near={"deviation": 0.25, "theta": 0.6},
    ),
    Claim(
        "UF-E26-best",
        "Sec. III-B: 'the MTD with the best local model is not penalised with enlarged noise'",
        at_least(1 / (1 - theta * (1 - cosine)), 1),
        holds_under(
            "The best device's cosine is the greatest and its factor is 0, if that cosine is positive; if none is "
            "positive, see UF-E26."
        ),
        statement=r"\frac1{1-\theta(1-\tfrac{s_k}{\max s})} \ge 1,\text{ with equality for the best}",
    ),
    Claim(
        "UF-E28-direction",
        "Sec. III-C: 'the deviation factor is directly proportional to the computation cost'",
        at_least(sp.exp(-(spent + more) / scale), sp.exp(-spent / scale)),
        false(
            "The opposite is meant, as three sentences later and in (28): the factor falls as more is computed. The "
            "same is true of 'the learning gain is proportional to the deviation factor', which (30) subtracts.",
            "misprint",
            corrected_by="UF-E28",
            true_where="h = 0",
        ),
        statement=r"\beta_1e^{-(E+h)/\beta_2} \ge \beta_1e^{-E/\beta_2}",
        where={r"\beta_1": 1},
        near={"spent": 0.046, "more": 0.012, "beta_2": 0.05},
    ),
    Claim(
        "UF-F3-less",
        "Sec. IV-B: 'the computation energy cost is significantly less than the transmission energy cost'",
        at_most(lambda distance, beta_1: 3 * _fall_computing(distance, beta_1), _sent),
        holds(
            "The computation energy is less than a third of the transmission energy at every distance of Table I: 47 "
            "to 57 mJ against 193 mJ and more."
        ),
        {"distance": distance.range, **_BETA},
        statement=r"3E_{cp} \le E_{tx}",
        slack=1.6,
        effort=1 / 2,
    ),
    Claim(
        "UF-F3-larger",
        "Fig. 3(a): 'decreases with path loss severity for both schemes, however, the decrease is larger for the proposed'",
        at_least(
            lambda beta_1: _fall_computing(50.0, beta_1) - _fall_computing(200.0, beta_1),
            lambda beta_1: _benchmark_computing(50.0) - _benchmark_computing(200.0),
        ),
        holds_under("With the benchmark of UF-F2-tuned and the small beta_1 that it requires: 9.8 mJ against 8.7."),
        _SMALL_BETA,
        statement=r"E_{cp}(50\,\mathrm m) - E_{cp}(200\,\mathrm m) \ge \text{the same of the benchmark} > 0",
        slack=1.2,
        effort=1 / 4,
    ),
    Claim(
        "UF-F4a-fewer",
        "Fig. 4(a): 'the MTDs with poor channel experience perform fewer iterations when proposed scheme is employed' (200 m)",
        at_most(lambda beta_1: _count(200.0, beta_1), lambda beta_1: _benchmark_iterations(200.0)),
        holds_under(
            "With the benchmark of UF-F2-tuned and the small beta_1 that it requires: 81.5 iterations against 83.3."
        ),
        _SMALL_BETA,
        statement=r"j_{\text{proposed}}(200\,\mathrm m) \le j_{\text{benchmark}}(200\,\mathrm m)",
        slack=1.05,
        effort=1 / 4,
    ),
    Claim(
        "UF-F4b-falls",
        "Fig. 4(b): 'the transmission rate decreases with path loss severity', proposed scheme",
        at_least(
            lambda distance, farther, beta_1: _rate(distance, beta_1),
            lambda distance, farther, beta_1: _rate(distance + farther, beta_1),
        ),
        holds("The same power gives a lower rate, and the optimum does not compensate for it."),
        {"distance": distance.range, "farther": Range(1.0, 150.0), **_BETA},
        given=[_in_the_cell],
        statement=r"R(r) \ge R(r + h)",
        effort=1 / 2,
    ),
)
