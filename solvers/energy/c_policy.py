"""Policies as C: a header with tables and one function, and a program that tests them. C99, no allocation, only math.h."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from airtight.solvers.energy.policy import GREATEST_GAIN, Policy

HEADER, TEST = "airtight_policy.h", "airtight_policy_test.c"
_CASES = 64  # gains of each device in the test program


def files(policies: Sequence[Policy]) -> dict[str, str]:
    """The texts of the header and of the test program, by file name; device k is ``policies[k]``.

    Every constant is written as a hexadecimal number, so that it is the double of Python, and the function only compares,
    divides once and takes a minimum. So power and iterations are those of Python wherever C's double is IEEE 754.
    """
    return {HEADER: _header(policies), TEST: _test(policies)}


def _header(policies: Sequence[Policy]) -> str:
    tables, rows = [], []
    for k, one in enumerate(policies):
        tables += [
            _array("double", f"airtight_gain_{k}", [_hex(x) for x in one.gain]),
            _array("unsigned", f"airtight_iterations_{k}", [f"{x}u" for x in one.iterations.tolist()]),
            _array("double", f"airtight_product_{k}", [_hex(x) for x in one.product]),
        ]
        names = f"airtight_gain_{k}, airtight_iterations_{k}, airtight_product_{k}"
        rows.append(f"    {{{one.gain.size}, {names}, {_hex(one.max_power)}}},")
    ranges = "\n".join(
        f"   device {k}: gains from {one.gain[0]:.6g}; made up to {one.greatest:.6g} with a loss of at most {one.loss:.2g};"
        for k, one in enumerate(policies)
    )
    return _HEADER.format(
        version=version("airtight-dp"),
        ranges=ranges,
        tables="\n".join(tables),
        devices=len(policies),
        rows="\n".join(rows),
        greatest=_hex(GREATEST_GAIN),
    )


def _array(c_type: str, name: str, values: Sequence[str]) -> str:
    lines = [", ".join(values[at : at + 4]) for at in range(0, len(values), 4)]
    return f"static const {c_type} {name}[{len(values)}] = {{\n    " + ",\n    ".join(lines) + "\n};"


def _hex(value: float) -> str:
    return "INFINITY" if math.isinf(value) else float(value).hex()


def _test(policies: Sequence[Policy]) -> str:
    rows = []
    for k, one in enumerate(policies):
        ends = one.gain[np.linspace(0, one.gain.size - 1, _CASES // 2).astype(int)]
        gains = np.concatenate([ends, np.geomspace(one.gain[0], one.greatest, _CASES // 2 + 1)[1:]])
        for gain, j, power in zip(gains.tolist(), *(column.tolist() for column in one(gains)), strict=True):
            rows.append(f"    {{{k}u, {_hex(gain)}, AIRTIGHT_OK, {j}u, {_hex(power)}}},")
        below = float(np.nextafter(one.gain[0], 0.0))
        rows.append(f"    {{{k}u, {_hex(below)}, AIRTIGHT_INFEASIBLE, 0u, 0.0}},")
    for gain in ("0.0", "-1.0", "INFINITY", "NAN"):
        rows.append(f"    {{0u, {gain}, AIRTIGHT_BAD_GAIN, 0u, 0.0}},")
    return _TEST.format(header=HEADER, rows="\n".join(rows))


_HEADER = """\
/* Iterations and power by the gain |h|^2 of the channel; written by airtight {version}.
{ranges}
   greater gains get the last entry. The loss is that of utility, relative to the magnitude of its terms. */
#ifndef AIRTIGHT_POLICY_H
#define AIRTIGHT_POLICY_H

#include <math.h>

enum airtight_status {{
    AIRTIGHT_OK = 0,
    AIRTIGHT_INFEASIBLE = 1, /* the deadline cannot be kept at this gain: do not take part in this round */
    AIRTIGHT_BAD_GAIN = 2,   /* not in (0, 1e100] */
    AIRTIGHT_BAD_DEVICE = 3
}};

#define AIRTIGHT_DEVICES {devices}u

struct airtight_table {{
    unsigned entries;
    const double *gain;         /* least gain of each entry, increasing */
    const unsigned *iterations;
    const double *product;      /* power times gain, W */
    double max_power;           /* W */
}};

{tables}

static const struct airtight_table airtight_tables[AIRTIGHT_DEVICES] = {{
{rows}
}};

/* Iterations and power (W) of a device; both are 0 unless the status is AIRTIGHT_OK. */
static inline enum airtight_status airtight_policy(unsigned device, double gain, unsigned *iterations, double *power)
{{
    const struct airtight_table *table;
    unsigned low = 0u, high;
    double wanted;
    *iterations = 0u;
    *power = 0.0;
    if (device >= AIRTIGHT_DEVICES)
        return AIRTIGHT_BAD_DEVICE;
    if (!(gain > 0.0 && gain <= {greatest})) /* also where it is not a number */
        return AIRTIGHT_BAD_GAIN;
    table = &airtight_tables[device];
    if (gain < table->gain[0])
        return AIRTIGHT_INFEASIBLE;
    high = table->entries;
    while (high - low > 1u) {{ /* table->gain[low] <= gain < table->gain[high] */
        const unsigned middle = low + (high - low) / 2u;
        if (table->gain[middle] <= gain)
            low = middle;
        else
            high = middle;
    }}
    wanted = table->product[low] / gain;
    *iterations = table->iterations[low];
    *power = wanted < table->max_power ? wanted : table->max_power;
    return AIRTIGHT_OK;
}}

#endif
"""
_TEST = """\
/* Without arguments: compares the policy with what Python computed; 0 where all agree to 1 unit in the last place.
   With the number of a device: reads gains from standard input, a line each, and prints status, iterations and power.
   cc -std=c99 -o airtight_policy_test airtight_policy_test.c -lm */
#include <stdio.h>
#include <stdlib.h>

#include "{header}"

struct known {{
    unsigned device;
    double gain;
    enum airtight_status status;
    unsigned iterations;
    double power;
}};

static const struct known cases[] = {{
{rows}
}};

int main(int argc, char **argv)
{{
    unsigned iterations, wrong = 0u;
    double power, gain;
    if (argc > 1) {{
        const unsigned device = (unsigned)strtoul(argv[1], NULL, 10);
        while (scanf("%lf", &gain) == 1) {{
            const enum airtight_status status = airtight_policy(device, gain, &iterations, &power);
            printf("%d %u %a\\n", (int)status, iterations, power);
        }}
        return 0;
    }}
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {{
        const struct known *one = &cases[i];
        const enum airtight_status status = airtight_policy(one->device, one->gain, &iterations, &power);
        const int near = power >= nextafter(one->power, 0.0) && power <= nextafter(one->power, INFINITY);
        if (status != one->status || iterations != one->iterations || !near) {{
            printf("device %u, gain %a: status %d, %u iterations, %a W; Python: %d, %u, %a\\n", one->device, one->gain,
                   (int)status, iterations, power, (int)one->status, one->iterations, one->power);
            wrong++;
        }}
    }}
    printf("%u of %u cases differ\\n", wrong, (unsigned)(sizeof cases / sizeof cases[0]));
    return wrong ? 1 : 0;
}}
"""
