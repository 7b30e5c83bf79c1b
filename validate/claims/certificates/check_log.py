"""Verifies the log of a meter: python check_log.py LOG.jsonl [--last HASH]. Python's standard library is all it needs.

Every line is computed again from what it says of its round: the hash that chains it to the line before, its number, what the
round costs each device, and that no budget is overspent. Sums and noise are rational numbers; exponentials are decimals of
60 digits and more, so that an error in the fortieth would be noticed.

A log is a chain of hashes, and who can write all of it can make it anew, with fewer rounds, too. Keep the last hash elsewhere,
and give it with --last: a log that does not end there is rejected.

Exit codes: 0 all holds; 1 something does not, and the line is named; 2 wrong arguments; 3 all holds but for one number that is
taken from the log: with releases declared beforehand, other than Gaussian ones, the share that they leave to Gaussian rounds is
not computed here.
"""

import argparse
import hashlib
import json
import sys
from decimal import MAX_EMAX, MIN_EMIN, Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

SLACK = Decimal(10) ** -40
ROUNDING, LEAST = 1 + Decimal(10) ** -9, Decimal(10) ** -300  # a cost may be rounded up by this factor and this amount
FAR = 200  # normal tails beyond it are below 10^-8600, less than any double above 0
FRACTIONS = 100  # of Mills' ratio beyond FAR: they err by less than 10^-200
MOST_TERMS = 10_000  # of the sum for a subsampled Gaussian

# ---- the format of a log
SCHEMAS = ("airtight-meter-1", "airtight-meter-2", "airtight-meter-3")  # that are read; a new log has the last
START = "0" * 64  # what the first line gives as the hash of the line before it
_COUNT = "whole [1, 9223372036854775807]"
_LINE = {"round": _COUNT}
_PAID = {"participants": "indices", "cost": "payments [0, inf)"}
# What each kind of line holds, by key; "?" marks keys that may be absent. "reals" are one for all devices, or one for each.
LINES = {
    "head": {
        "schema": "text", "budget_epsilon": "reals [0, 1e300]", "delta": "real (0, 1)", "devices": "whole [1, 100000000]",
        "fixed": "declarations", "order": "order (1, inf)", "adaptive": "flag", "budget": "reals [0, inf)",
        "colluding?": "colluders",
    },
    "round": _LINE | _PAID | {
        "devices": "whole [1, 100000000]", "noise_variance": "reals [0, inf)", "weight": "reals [0, inf)",
        "clip": "reals (0, inf)", "receiver_noise_variance": "real [0, inf)", "alignment": "real (0, inf)",
        "adjacency": "one of silent, replace", "idle_noise?": "flag", "separate?": "flag", "looks?": "table",
        "looks_imaginary?": "table", "colluding?": "colluders",
    },
    "curve": _LINE | _PAID | {"curve": "curve"},
    "declared": _LINE | {"curve": "curve", "fixed": "whole [0, 9223372036854775807]"},
}  # fmt: skip
# The parameters of releases whose loss check_log.py computes; those of others only the package knows.
RELEASES = {
    "gaussian": {"mu": "real [0, inf)", "unit?": "text", "slack?": "real [0, 1)"},
    "laplace": {"loss": "real [0, inf)", "unit?": "text", "slack?": "real [0, 1)"},
    "randomized_response": {
        "loss": "real [0, inf)", "symbols": "whole [2, 9223372036854775807]", "unit?": "text", "slack?": "real [0, 1)",
    },
    "subsampled": {"release": "release", "p": "real [0, 1]"},
    "discrete": {"p": "law", "q": "law", "unit?": "text", "doubt?": "real [0, 0.01]"},
    "discrete_gaussian": {"sensitivity": "whole [1, 1125899906842624]", "sigma": "real [1e-290, 1e290]", "unit?": "text"},
    "discrete_laplace": {"sensitivity": "whole [1, 1125899906842624]", "scale": "real [1e-290, 1e290]", "unit?": "text"},
}  # fmt: skip


def sealed(entry: dict[str, Any], previous: str) -> tuple[str, str]:
    """A line of the log: the entry, the hash of the line before it, and the hash of both; and this hash."""
    text = json.dumps({**entry, "previous": previous}, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'{text[:-1]},"hash":"{digest}"}}', digest


def unsealed(line: str, previous: str) -> tuple[dict[str, Any], str]:
    """The entry of a line, and its hash.

    The line is written again from the entry: a key that is given twice, NaN, or a number in another form is a change.
    """
    entry = json.loads(line)
    if not isinstance(entry, dict):
        raise ValueError("holds no object")
    body = {key: value for key, value in entry.items() if key not in ("previous", "hash")}
    rewritten, digest = sealed(body, previous)
    if line != rewritten:
        raise ValueError("was changed, or does not follow the line before it")
    return body, digest


def kind_of(entry: dict[str, Any]) -> str:
    """The kind of a line that is not the first."""
    return "declared" if "fixed" in entry else "curve" if "curve" in entry else "round"


def require(entry: dict[str, Any], domains: dict[str, str], devices: int) -> None:
    """Raise ValueError unless the entry has the keys of `domains`, and values within them."""
    unknown = set(entry) - {key.rstrip("?") for key in domains}
    if unknown:
        raise ValueError(f"has the unknown key {min(unknown)!r}")
    for key, domain in domains.items():
        name = key.rstrip("?")
        if name in entry:
            if not _inside(entry[name], domain, len(entry["participants"]) if name == "cost" else devices):
                raise ValueError(f"has {name} = {json.dumps(entry[name])[:60]}, which is not {domain}")
        elif name == key:
            raise ValueError(f"has no key {name!r}")
    if "looks_imaginary" in entry and "looks" not in entry:
        raise ValueError("has imaginary parts of looks without real ones")


def _inside(value: Any, domain: str, size: int) -> bool:
    """Whether a value belongs to a domain; lists have `size` numbers."""
    name, _, interval = domain.partition(" ")
    if name in ("real", "whole"):
        return _numbers([value], domain)
    if name in ("reals", "payments"):
        several = isinstance(value, list)
        return (not several or len(value) == size) and _numbers(value if several else [value], f"real {interval}")
    if name == "order":
        return value is None or _numbers([value], f"real {interval}")
    if name == "one":
        return isinstance(value, str) and value in interval[3:].split(", ")
    if name == "indices":
        rising = isinstance(value, list) and _numbers(value, f"whole [0, {size - 1}]")
        return rising and all(i < j for i, j in pairwise(value))
    if name == "colluders":
        if isinstance(value, list):
            return 0 < len(value) < size and _inside(value, "indices", size)
        return _numbers([value], f"whole [1, {size - 1}]")
    if name == "table":
        rows = isinstance(value, list) and len(value) == size and all(isinstance(row, list) for row in value)
        return rows and all(len(row) == len(value[0]) > 0 and _table_row(row) for row in value)
    if name == "law":
        return isinstance(value, list) and _numbers(value, "real [0, 1]") and abs(sum(value) - 1) <= 2e-12
    if name == "declarations":
        pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
        return pairs and all(_inside(curve, "curve", size) and _numbers([count], _COUNT) for curve, count in value)
    if name == "curve":
        return isinstance(value, list) and all(_release(each, {"count": _COUNT}, size) for each in value)
    if name == "release":
        return _release(value, {}, size)
    return isinstance(value, {"flag": bool, "text": str}[name])


def _release(value: Any, more: dict[str, str], size: int) -> bool:
    """Whether a value is a release: constructor, parameters in their domains, and what else is asked for."""
    if not isinstance(value, dict) or set(value) != {"constructor", "parameters", *more}:
        return False
    given = value["parameters"]
    if not isinstance(value["constructor"], str) or not isinstance(given, dict):
        return False
    if value["constructor"] in RELEASES:
        require(given, RELEASES[value["constructor"]], size)
    return all(_inside(value[key], domain, size) for key, domain in more.items())


def _table_row(row: list[Any]) -> bool:
    return all(type(value) in (int, float) and abs(value) < float("inf") for value in row)


@lru_cache
def _interval(domain: str) -> tuple[type, Any, bool, Any, bool]:
    """The type of a domain's numbers, and both ends with whether they belong to it."""
    name, _, interval = domain.partition(" ")
    number_type = {"real": float, "whole": int}[name]
    low, high = map(number_type, interval[1:-1].split(", "))
    return number_type, low, interval[0] == "[", high, interval[-1] == "]"


def _numbers(values: list[Any], domain: str) -> bool:
    """Whether all values are numbers of the domain; a boolean is none, and a whole number is no real one."""
    kind, low, with_low, high, with_high = _interval(domain)
    return all(
        type(value) is kind
        and (low <= value if with_low else low < value)
        and (value <= high if with_high else value < high)
        for value in values
    )


# ---- the end of the format


class Rejected(Exception):
    """The log does not show what it claims to show."""


def need(condition, what):
    """Reject the log unless the condition holds."""
    if not condition:
        raise Rejected(what)


def each(given):
    """One number for all, or a list of one for each, as a function of the place, with rational values."""
    return (lambda k: Fraction(given[k])) if isinstance(given, list) else (lambda k, value=Fraction(given): value)


def decimal(q):
    """A rational number as a decimal."""
    return Decimal(q.numerator) / Decimal(q.denominator)


@lru_cache
def pi(digits):
    """Machin's formula."""
    scale = 10 ** (digits + 10)

    def arctan(n):
        term = total = scale // n
        k, sign = 1, -1
        while term:
            term //= n * n
            k += 2
            total += sign * (term // k)
            sign = -sign
        return total

    return Decimal(4 * (4 * arctan(5) - arctan(239))).scaleb(-(digits + 10))


def normal(x):
    """P(N(0, 1) <= x): 1/2 + density(x) (x + x^3/3 + x^5/15 + ...), a series of one sign, with digits for what cancels."""
    with localcontext() as context:
        context.prec += 10 + int(x * x / 4)
        term = total = abs(x)
        n = 1
        while term > total * Decimal(10) ** -context.prec or x * x > n:
            n += 2
            term = term * x * x / n
            total += term
        half = total * density(x)
        return Decimal("0.5") + (half if x > 0 else -half)


def density(x):
    """The density of N(0, 1)."""
    return (-x * x / 2).exp() / (2 * pi(getcontext().prec)).sqrt()


def mills(x):
    """A lower bound of P(N(0, 1) > x) / density(x): Laplace's continued fraction 1/(x + 1/(x + 2/(x + ...))), cut off evenly."""
    value = x
    for n in range(FRACTIONS - 1, 0, -1):
        value = x + n / value
    return 1 / value


def gaussian_delta(mu2, epsilon):
    """delta of N(mu, 1) against N(0, 1): P(N > a) - e^epsilon P(N > b) with a, b = epsilon/mu -+ mu/2; e^epsilon density(b) =
    density(a).

    Half of the digits of mu cancel in the difference; those of epsilon and mu^2/2 are subtracted as rational numbers.
    """
    if not mu2:
        return Decimal(0)
    with localcontext() as context:
        context.prec += max(0, -decimal(mu2).adjusted())
        mu = decimal(mu2).sqrt()
        a, b = decimal(epsilon - mu2 / 2) / mu, decimal(epsilon + mu2 / 2) / mu
        if abs(a) > FAR:
            return Decimal(a < 0)
        return normal(-a) - (decimal(epsilon).exp() * normal(-b) if b <= FAR else density(a) * mills(b))


def quadratic(columns, weights, receiver, a):
    """a^H (sum_j weights_j a_j a_j^H + receiver I)^-1 a by elimination over the rationals; None where it is infinite.

    Complex entries are pairs; the matrix of the real and imaginary parts has the same inverse.
    """
    size = len(a)
    matrix = [[Fraction(0)] * size for _ in range(size)]
    for column, weight in zip(columns, weights, strict=True):
        for vec in column:
            for i in range(size):
                for j in range(size):
                    matrix[i][j] += weight * vec[i] * vec[j]
    for i in range(size):
        matrix[i][i] += receiver
    rows = [[*row, value] for row, value in zip(matrix, a, strict=True)]
    solution, used = [Fraction(0)] * size, []
    for column in range(size):
        pivot = next((r for r in range(len(used), size) if rows[r][column]), None)
        if pivot is None:
            continue
        top = len(used)
        rows[top], rows[pivot] = rows[pivot], rows[top]
        for r in range(size):
            if r != top and rows[r][column]:
                factor = rows[r][column] / rows[top][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[top], strict=True)]
        used.append(column)
    if any(row[-1] for row in rows[len(used) :]):
        return None
    for r, column in enumerate(used):
        solution[column] = rows[r][-1] / rows[r][column]
    return sum(x * y for x, y in zip(solution, a, strict=True))


def costs(entry, devices):
    """mu_k^2 of every participant, as rational numbers; None for infinity.

    Colluders that are named take the noise that they sent away from all others, and so many unnamed ones the greatest noises
    of the others.
    """
    sigma2, weight, clip = (each(entry[name]) for name in ("noise_variance", "weight", "clip"))
    receiver = Fraction(entry["receiver_noise_variance"]) / Fraction(entry["alignment"]) ** 2
    senders = entry["participants"]
    colluding = entry.get("colluding", 0)
    named = set(colluding) if isinstance(colluding, list) else set()
    noisy = [j for j in (range(devices) if entry.get("idle_noise", False) else senders) if j not in named]
    factor = {"silent": 1, "replace": 2}[entry["adjacency"]]
    if entry.get("separate", False):
        need("looks" not in entry, "looks of messages that arrive separately")
        inverse = {k: 1 / (sigma2(k) + receiver) if sigma2(k) + receiver else None for k in senders}
    elif "looks" not in entry:
        alike = not isinstance(entry["noise_variance"], list)
        total = receiver + (sigma2(0) * len(noisy) if alike else sum(sigma2(j) for j in noisy))
        noise = {k: total + (sigma2(k) if k in named else 0) for k in senders}
        if not named and colluding:
            loudest = noisy if alike else sorted(noisy, key=lambda j: entry["noise_variance"][j], reverse=True)
            subtracted = list(map(sigma2, loudest[: colluding + 1]))
            # the last of them is left, or device k where that is among the loudest itself
            last = subtracted[-1] if len(subtracted) > colluding else 0
            noise = {k: total - sum(subtracted) + max(last, sigma2(k)) for k in senders}
        inverse = {k: 1 / left if left else None for k, left in noise.items()}
    else:
        need(named or not colluding, "colluders without names in a round with several looks")
        inverse = several_looks(entry, sigma2, receiver, senders, noisy)
    out = []
    for k in senders:
        distance = factor * weight(k) * clip(k)
        out.append(Fraction(0) if not distance else None if inverse[k] is None else distance**2 * inverse[k])
    return out


def several_looks(entry, sigma2, receiver, senders, noisy):
    """1 / (v_k + sigma_k^2) of every sender: v_k is what the best combination of the looks leaves of the others' noise."""
    real = [[Fraction(x) for x in row] for row in entry["looks"]]
    other = entry.get("looks_imaginary")
    size = len(real[0])
    if other is None:
        column = [[row] for row in real]
    else:
        imaginary = [[Fraction(x) for x in row] for row in other]
        # a complex number times a_j: real parts, then imaginary parts, for the factors 1 and i
        column = [[[*x, *y], [*(-v for v in y), *x]] for x, y in zip(real, imaginary, strict=True)]
        size *= 2
    need(all(len(vec) == size for vecs in column for vec in vecs), "looks of unlike lengths")
    out = {}
    for k in senders:
        others = [j for j in noisy if j != k]
        value = quadratic([column[j] for j in others], [sigma2(j) for j in others], receiver, column[k][0])
        v = Fraction(0) if value is None else 1 / value if value else None
        out[k] = Fraction(0) if v is None else None if v + sigma2(k) == 0 else 1 / (v + sigma2(k))
    return out


def mu_squared(releases):
    """The sum of mu^2 of the releases of a curve, which must be Gaussian, as a rational number."""
    need(all(release["constructor"] == "gaussian" for release in releases), "a curve that is not Gaussian, and no order")
    return sum((release["count"] * greatest_mu(release["parameters"]) ** 2 for release in releases), Fraction(0))


def greatest_mu(given):
    """mu of a Gaussian release, rounded up by its slack."""
    return Fraction(given["mu"]) * (1 + Fraction(given.get("slack", 0.0)))


def renyi(releases, order):
    """The divergence of a curve of the log: a list of constructor, parameters and count; None for infinity."""
    a, total = decimal(Fraction(order)), Decimal(0)
    for release in releases:
        value = renyi_of(release["constructor"], release["parameters"], a)
        if value is None:
            return None
        total += release["count"] * value
    return total


def renyi_of(constructor, given, a):
    """The divergence of one release."""

    def number(name):
        return decimal(Fraction(given[name]))

    if constructor == "gaussian":
        return a * decimal(greatest_mu(given)) ** 2 / 2
    if constructor == "laplace":
        eps = number("loss")
        return logarithm([(a / (2 * a - 1), (a - 1) * eps), ((a - 1) / (2 * a - 1), -a * eps)]) / (a - 1)
    if constructor == "randomized_response":
        eps, others = number("loss"), given["symbols"] - 1
        truth = logarithm([(1, eps), (others, Decimal(0))])
        return (logarithm([(1, a * eps), (1, (1 - a) * eps), (others - 1, Decimal(0))]) - truth) / (a - 1)
    if constructor == "subsampled" and given["release"]["constructor"] == "gaussian":
        mu2, p, n = decimal(greatest_mu(given["release"]["parameters"])) ** 2, number("p"), int(a)
        need(n == a <= MOST_TERMS, f"a subsampled Gaussian needs a whole order up to {MOST_TERMS}")
        if p in (0, 1):
            return p * a * mu2 / 2
        terms, binomial = [], 1
        for i in range(n + 1):
            terms.append((binomial * (1 - p) ** (n - i) * p**i, i * (i - 1) * mu2 / 2))
            binomial = binomial * (n - i) // (i + 1)
        return logarithm(terms) / (a - 1)
    if constructor == "discrete_gaussian":  # no more than continuous noise
        return a * (number("sensitivity") / number("sigma")) ** 2 / 2
    if constructor == "discrete_laplace":
        return of_discrete_laplace(given["sensitivity"], number("scale"), a)
    if constructor == "discrete":
        laws = [[Fraction(x) for x in given[name]] for name in "pq"]
        need(len(laws[0]) == len(laws[1]), "laws of unlike lengths")
        for law in laws:
            law[law.index(max(law))] += 1 - sum(law)
        both, doubt = [finite(*laws, a), finite(*laws[::-1], a)], decimal(Fraction(given.get("doubt", 0.0)))
        # each p may be greater by the factor 1 + doubt, each q less by 1 - doubt
        wider = (a * (1 + doubt).ln() - (a - 1) * (1 - doubt).ln()) / (a - 1)
        return None if None in both else max(both) + wider
    raise Rejected(f"the divergence of {constructor!r} is not computed here")


def of_discrete_laplace(shift, scale, a):
    """The sum over outcomes beyond both ends, where the loss is the greatest, and between them, a geometric sum."""
    ratio, growth = (-1 / scale).exp(), (2 * a - 1) / scale
    terms = [(1, -a * shift / scale), (1, (a - 1) * shift / scale)]
    if shift > 1:  # the sum over k from 1 to shift - 1 of exp(growth k), over its last term
        inner = (1 - (-growth * (shift - 1)).exp()) / (1 - (-growth).exp())
        terms.append(((1 - ratio) * inner, growth * (shift - 1) - a * shift / scale))
    return (logarithm(terms) - (1 + ratio).ln()) / (a - 1)


def logarithm(terms):
    """The logarithm of the sum of weights times exponentials."""
    top = max(exponent for weight, exponent in terms if weight)
    return sum(weight * (exponent - top).exp() for weight, exponent in terms).ln() + top


def finite(p, q, a):
    """The divergence of one order of two laws on finitely many outcomes."""
    if any(x and not y for x, y in zip(p, q, strict=True)):
        return None
    logarithms = [(decimal(x).ln(), decimal(y).ln()) for x, y in zip(p, q, strict=True) if x]
    return logarithm([(1, a * log_p + (1 - a) * log_q) for log_p, log_q in logarithms]) / (a - 1)


def covers(declared, curve):
    """Whether a declared curve is this one, or one release of a kind for which the declared parameters are proved to cover it."""
    if json.dumps(declared) == json.dumps(curve):
        return True
    if len(declared) != 1 or len(curve) != 1 or declared[0]["count"] != 1 or curve[0]["count"] != 1:
        return False
    return covers_release(declared[0], curve[0])


def covers_release(declared, release):
    """Whether a release is a post-processing of the declared one: of these kinds one of smaller parameters is."""
    kind, at, of = declared["constructor"], declared["parameters"], release["parameters"]
    if kind != release["constructor"]:
        return False
    if kind == "subsampled":
        inner = at["release"], of["release"]
        return of["p"] <= at["p"] and (json.dumps(inner[0]) == json.dumps(inner[1]) or covers_release(*inner))
    if at.get("unit", "") not in ("", of.get("unit", "")):
        return False
    if kind == "gaussian":
        return greatest_mu(of) <= Fraction(at["mu"]) * (1 - Fraction(at.get("slack", 0.0)))
    if kind in ("laplace", "randomized_response"):
        least = Fraction(at["loss"]) * (1 - Fraction(at.get("slack", 0.0)))
        return Fraction(of["loss"]) <= least and of.get("symbols") == at.get("symbols")
    return False


class Log:
    """What the lines so far have shown."""

    def __init__(self, head):
        need(head.get("schema") in SCHEMAS, f"the format {head.get('schema')!r}; this program reads {', '.join(SCHEMAS)}")
        require(head, LINES["head"], head.get("devices", 0))
        self.head, self.devices, self.order = head, head["devices"], head["order"]
        self.delta = decimal(Fraction(head["delta"]))
        self.budget = each(head["budget"])
        self.declared = [[curve, count] for curve, count in head["fixed"]]
        self.spent, self.rounds = {}, 0
        gaussian = [[curve, count] for curve, count in self.declared if all(r["constructor"] == "gaussian" for r in curve)]
        self.settled = len(gaussian) == len(self.declared)
        certain = sum((count * mu_squared(curve) for curve, count in gaussian), Fraction(0))
        several = [value for value in (head["budget_epsilon"], head["budget"]) if isinstance(value, list)]
        epsilon = each(head["budget_epsilon"])
        for epsilon, budget in {(epsilon(k), self.budget(k)) for k in range(self.devices if several else 1)}:
            self.imply(epsilon, budget, certain)

    def imply(self, epsilon, budget, certain):
        """The budget must imply the epsilon that is promised, with what declared Gaussian releases have spent of it."""
        if self.order is not None:
            a = decimal(Fraction(self.order))
            need(not self.declared, "declared releases beside an order")
            over = decimal(budget - epsilon) + (1 - 1 / a).ln() - (self.delta.ln() + a.ln()) / (a - 1)
            need(over <= 0, f"the divergence {float(budget)} implies more than epsilon = {float(epsilon)}, by {over:.6}")
        else:
            reached = gaussian_delta(budget + certain, epsilon)
            need(reached <= self.delta, f"mu^2 = {float(budget)} has delta = {reached:.6} at {float(epsilon)}")

    def add(self, entry):
        self.rounds += 1
        kind = kind_of(entry)
        require(entry, LINES[kind], self.devices)
        need(entry["round"] == self.rounds, f"round {entry['round']}, where {self.rounds} is due")
        if kind == "declared":
            need(entry["fixed"] < len(self.declared), "an unknown declared release")
            declared = self.declared[entry["fixed"]]
            need(declared[1] > 0, "a declared release is used too often")
            need(covers(declared[0], entry["curve"]), "the declared release does not cover this one")
            declared[1] -= 1
            return
        senders, paid = entry["participants"], each(entry["cost"])
        if kind == "curve":
            value = mu_squared(entry["curve"]) if self.order is None else renyi(entry["curve"], self.order)
            need(value is not None, "an infinite divergence")
            true = [decimal(value) if self.order is None else value] * len(senders)
        else:
            need(entry["devices"] == self.devices, "another number of devices")
            need(entry.get("colluding") == self.head.get("colluding"), "other colluders than the first line")
            true = costs(entry, self.devices)
            need(None not in true, "an infinite cost")
            true = [decimal(x * (Fraction(self.order) / 2 if self.order is not None else 1)) for x in true]
        # several looks and curves with an order have upper bounds in the meter, which may be greater
        sharp = "looks" not in entry and (kind == "round" or self.order is None)
        for place, (k, cost) in enumerate(zip(senders, true, strict=True)):
            said = paid(place)
            need(decimal(said) >= cost * (1 - SLACK), f"device {k} pays {float(said)}, less than {cost:.17}")
            if sharp:
                need(decimal(said) <= cost * ROUNDING + LEAST, f"device {k} pays {float(said)}, more than {cost:.17}")
            self.spent[k] = self.spent.get(k, Fraction(0)) + said
            need(self.spent[k] <= self.budget(k), f"device {k} overspends")


def verify(text, last=None):
    """The log of a whole text, and its last hash; a last line without its end was never allowed, and is not read."""
    lines = text.split("\n")[:-1]
    need(lines, "no line")
    previous, log = START, None
    for number, line in enumerate(lines, start=1):
        try:
            body, previous = unsealed(line, previous)
            if log is None:
                log = Log(body)
            else:
                log.add(body)
        except (
            Rejected,
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as error:
            raise Rejected(f"line {number}: {error}") from None
    need(last in (None, previous), f"it ends with the hash {previous}: lines are missing, were added or changed since {last}")
    return log, previous


def main(path, last=None):
    """Say whether the log holds; the exit code."""
    context = getcontext()
    context.prec, context.Emax, context.Emin = 60, MAX_EMAX, MIN_EMIN
    try:
        log, previous = verify(Path(path).read_bytes().decode(), last)
    except (Rejected, OSError, UnicodeDecodeError) as error:
        print(f"REJECTED {error}")
        return 1
    print(f"{log.rounds} rounds of {log.devices} devices: hashes, order, costs and budgets hold")
    epsilon = log.head["budget_epsilon"]
    promised = f"{min(epsilon)} to {max(epsilon)}, each its own" if isinstance(epsilon, list) else epsilon
    print(f"no device exceeds its budget: epsilon {promised}, at delta {log.head['delta']}")
    print(f"last hash {previous}")
    if not log.settled:
        print("not computed here: the share of the budget that declared releases leave to Gaussian rounds")
        return 3
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", metavar="LOG.jsonl")
    parser.add_argument("--last", metavar="HASH", help="the hash with which the log must end")
    arguments = parser.parse_args()
    sys.exit(main(arguments.log, arguments.last))
