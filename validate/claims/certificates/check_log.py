"""Verifies the log of a meter: python check_log.py LOG.jsonl. Python's standard library is all it needs.

Every line is computed again from what it says of its round: the hash that chains it to the line before, its number, what the
round costs each device, and that no budget is overspent. Sums and noise are rational numbers; exponentials are decimals of
60 digits, so that an error in the fortieth would be noticed.

Exit codes: 0 all holds; 1 something does not, and the line is named; 3 all holds but for one number that is taken from the
log: with releases declared beforehand the share that they leave to Gaussian rounds is not computed here.
"""

import hashlib
import json
import sys
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

SCHEMA = "airtight-meter-1"
START = "0" * 64
SLACK = Decimal(10) ** -40
ROUNDING = 1 + Decimal(10) ** -9
FAR = 200  # normal tails beyond it are below 10^-8600, less than any double above 0


class Rejected(Exception):
    """The log does not show what it claims to show."""


def need(condition, what):
    """Reject the log unless the condition holds."""
    if not condition:
        raise Rejected(what)


def sealed(entry, previous):
    """The line of an entry, and its hash."""
    body = {**entry, "previous": previous}
    own = hashlib.sha256(json.dumps(body, separators=(",", ":"), allow_nan=False).encode()).hexdigest()
    return json.dumps({**body, "hash": own}, separators=(",", ":"), allow_nan=False), own


def vector(given, size):
    """A number or a list as `size` rational numbers."""
    values = given if isinstance(given, list) else [given] * size
    need(len(values) == size, f"{len(values)} values for {size} devices")
    return [Fraction(value) for value in values]


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
    if x < -FAR:
        return Decimal(0)
    if x > FAR:
        return Decimal(1)
    with localcontext() as context:
        context.prec = 70 + int(x * x / 4)
        term = total = abs(x)
        n = 1
        while term > total * Decimal(10) ** -context.prec or x * x > n:
            n += 2
            term = term * x * x / n
            total += term
        half = total * (-x * x / 2).exp() / (2 * pi(context.prec)).sqrt()
        return Decimal("0.5") + (half if x > 0 else -half)


def gaussian_delta(mu2, epsilon):
    """delta of N(mu, 1) against N(0, 1)."""
    if not mu2:
        return Decimal(0)
    mu, eps = decimal(mu2).sqrt(), decimal(epsilon)
    return normal(mu / 2 - eps / mu) - eps.exp() * normal(-mu / 2 - eps / mu)


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
    """mu_k^2 of every participant, as rational numbers; None for infinity."""
    sigma2, weight, clip = (vector(entry[name], devices) for name in ("noise_variance", "weight", "clip"))
    receiver = Fraction(entry["receiver_noise_variance"]) / Fraction(entry["alignment"]) ** 2
    senders = entry["participants"]
    noisy = range(devices) if entry["idle_noise"] else senders
    factor = {"silent": 1, "replace": 2}[entry["adjacency"]]
    if entry["separate"]:
        inverse = {k: 1 / (sigma2[k] + receiver) if sigma2[k] + receiver else None for k in senders}
    elif "looks" not in entry:
        noise = sum(sigma2[j] for j in noisy) + receiver
        inverse = dict.fromkeys(senders, 1 / noise if noise else None)
    else:
        inverse = several_looks(entry, sigma2, receiver, senders, noisy)
    out = []
    for k in senders:
        distance = factor * weight[k] * clip[k]
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
    need(all(len(vec) == size for each in column for vec in each), "looks of unlike lengths")
    out = {}
    for k in senders:
        others = [j for j in noisy if j != k]
        value = quadratic([column[j] for j in others], [sigma2[j] for j in others], receiver, column[k][0])
        v = Fraction(0) if value is None else 1 / value if value else None
        out[k] = Fraction(0) if v is None else None if v + sigma2[k] == 0 else 1 / (v + sigma2[k])
    return out


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
        return a * (number("mu") * (1 + decimal(Fraction(given.get("slack", 0.0))))) ** 2 / 2
    if constructor == "laplace":
        eps = number("loss")
        return (a / (2 * a - 1) * ((a - 1) * eps).exp() + (a - 1) / (2 * a - 1) * (-a * eps).exp()).ln() / (a - 1)
    if constructor == "randomized_response":
        eps, others = number("loss"), given["symbols"] - 1
        q = 1 / (eps.exp() + others)
        return (q * ((a * eps).exp() + ((1 - a) * eps).exp() + others - 1)).ln() / (a - 1)
    if constructor == "subsampled" and given["release"]["constructor"] == "gaussian":
        mu2 = 2 * renyi_of("gaussian", given["release"]["parameters"], Decimal(1))
        p, n, total, binomial = number("p"), int(a), Decimal(0), 1
        need(n == a, "a subsampled Gaussian needs a whole order")
        for i in range(n + 1):
            total += binomial * (1 - p) ** (n - i) * p**i * (i * (i - 1) * mu2 / 2).exp() if 0 < p < 1 else 0
            binomial = binomial * (n - i) // (i + 1)
        return total.ln() / (a - 1) if 0 < p < 1 else p * a * mu2 / 2
    if constructor == "discrete":
        laws = [[Fraction(x) for x in given[name]] for name in "pq"]
        for law in laws:
            law[law.index(max(law))] += 1 - sum(law)
        need(not given.get("doubt"), "probabilities with a doubt are not computed here")
        both = [finite(*laws, a), finite(*laws[::-1], a)]
        return None if None in both else max(both)
    raise Rejected(f"the divergence of {constructor!r} is not computed here")


def finite(p, q, a):
    """The divergence of one order of two laws on finitely many outcomes."""
    if any(x and not y for x, y in zip(p, q, strict=True)):
        return None
    return sum(decimal(x) ** a * decimal(y) ** (1 - a) for x, y in zip(p, q, strict=True) if x).ln() / (a - 1)


def covers(declared, curve):
    """Whether a declared curve is this one, or one of its kind with greater parameters."""
    if declared == curve:
        return True
    if len(declared) != 1 or len(curve) != 1 or declared[0]["count"] != 1 or curve[0]["count"] != 1:
        return False
    return covers_release(declared[0], curve[0])


def covers_release(declared, release):
    """Whether a release has smaller parameters than the declared one of its kind."""
    kind, at, of = declared["constructor"], declared["parameters"], release["parameters"]
    if kind != release["constructor"] or at.get("unit", "") not in ("", of.get("unit", "")):
        return False
    if kind == "gaussian":
        return of["mu"] * (1 + of["slack"]) <= at["mu"] * (1 - at["slack"])
    if kind == "subsampled":
        return of["p"] <= at["p"] and (of["release"] == at["release"] or covers_release(at["release"], of["release"]))
    if kind in ("laplace", "randomized_response"):
        return of["loss"] <= at["loss"] and of.get("symbols") == at.get("symbols")
    return False


class Log:
    """What the lines so far have shown."""

    def __init__(self, head):
        need(head["schema"] == SCHEMA, f"another schema than {SCHEMA}")
        self.devices, self.order = head["devices"], head["order"]
        self.delta = decimal(Fraction(head["delta"]))
        self.epsilon = vector(head["budget_epsilon"], self.devices)
        self.budget = vector(head["budget"], self.devices)
        self.declared = [[curve, count] for curve, count in head["fixed"]]
        self.spent, self.rounds = [Fraction(0)] * self.devices, 0
        for epsilon, budget in set(zip(self.epsilon, self.budget, strict=True)):
            need(budget >= 0, "a budget below 0")
            if self.order is not None:
                a = decimal(Fraction(self.order))
                need(a > 1 and not self.declared, "an order above 1, without declared releases")
                implied = decimal(budget) + (1 - 1 / a).ln() - (self.delta.ln() + a.ln()) / (a - 1)
                need(implied <= decimal(epsilon), f"the divergence {float(budget)} implies epsilon = {implied:.6}")
            elif not self.declared:
                reached = gaussian_delta(budget, epsilon)
                need(reached <= self.delta, f"mu^2 = {float(budget)} has delta = {reached:.6} at {float(epsilon)}")

    def add(self, entry):
        self.rounds += 1
        need(entry["round"] == self.rounds, f"round {entry['round']}, where {self.rounds} is due")
        if "fixed" in entry:
            declared = self.declared[entry["fixed"]]
            need(entry["fixed"] >= 0 and declared[1] > 0, "a declared release is used too often")
            need(covers(declared[0], entry["curve"]), "the declared release does not cover this one")
            declared[1] -= 1
            return
        senders = entry["participants"]
        need(sorted(set(senders)) == sorted(senders), "a participant twice")
        need(all(0 <= k < self.devices for k in senders), "an unknown participant")
        stated = vector(entry["cost"], len(senders))
        if "curve" in entry:
            need(self.order is not None, "a curve that was not declared, and no order")
            value = renyi(entry["curve"], self.order)
            need(value is not None, "an infinite divergence")
            true = [value] * len(senders)
        else:
            need(entry["devices"] == self.devices, "another number of devices")
            true = costs(entry, self.devices)
            need(None not in true, "an infinite cost")
            true = [decimal(x * (Fraction(self.order) / 2 if self.order is not None else 1)) for x in true]
        for k, said, cost in zip(senders, stated, true, strict=True):
            need(decimal(said) >= cost * (1 - SLACK), f"device {k} pays {float(said)}, less than {cost:.17}")
            if "looks" not in entry:  # there the meter has a lower bound of the noise, which may be less
                need(decimal(said) <= cost * ROUNDING, f"device {k} pays {float(said)}, more than {cost:.17}")
            self.spent[k] += said
            need(self.spent[k] <= self.budget[k], f"device {k} overspends")


def verify(text):
    """The log of a whole text; a last line without its end was never allowed, and is not read."""
    lines = text[: text.rfind("\n") + 1].splitlines()
    need(lines, "no line")
    previous, log = START, None
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            body = {key: value for key, value in entry.items() if key not in ("previous", "hash")}
            again, own = sealed(body, previous)
            need(line == again, "was changed, or does not follow the line before it")
            if log is None:
                log = Log(body)
            else:
                log.add(body)
            previous = own
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
    return log


def main(path):
    """Say whether the log holds; the exit code."""
    getcontext().prec = 60
    try:
        log = verify(Path(path).read_text(encoding="utf-8"))
    except (Rejected, OSError, UnicodeDecodeError) as error:
        print(f"REJECTED {error}")
        return 1
    print(f"{log.rounds} rounds of {log.devices} devices: hashes, order, costs and budgets hold")
    if log.declared:
        print("not computed here: the share of the budget that declared releases leave to Gaussian rounds")
        return 3
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python check_log.py LOG.jsonl")
    sys.exit(main(sys.argv[1]))
