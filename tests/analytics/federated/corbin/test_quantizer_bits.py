"""The lower bound that knows the number of bits: its covering, its fractions, and the quantizers that it must not exceed."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airtight.analytics.checks import ConvergenceError, ParameterError
from airtight.analytics.federated.corbin.quantizers import alpha
from airtight.solvers.design.quantizer import quantizer_bound

REACHED = 0.13722  # by quantizer.solve(2, epsilon=5.0), rounded up
SETS = st.lists(st.frozensets(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=7)


@given(SETS, st.integers(0, 4))
def test_escapes_by_trying_all(sets, places):
    found = quantizer_bound.escape(sets, places)
    tried = [c for n in range(places + 1) for c in combinations(range(7), n) if all(s & set(c) for s in sets)]
    assert (found is None) == (not tried)
    assert found is None or (len(found) <= places and all(s & set(found) for s in sets))


@pytest.fixture(scope="module")
def proved():
    return quantizer_bound.bound(2, epsilon=5.0, value=0.1, cells=24)


def test_two_bits_are_bounded_above_what_bounds_every_alphabet(proved):
    assert proved.valid() and proved.outputs == 4
    assert 0.098 < proved.value <= REACHED  # any alphabet: .046
    assert all(Fraction(float(alpha(5.0))) > m > -Fraction(float(alpha(5.0))) for m in proved.marks)


def test_the_proof_needs_what_it_has(proved):
    certificate, left_out = proved.certificates[0]
    gaps = quantizer_bound._gaps(left_out, proved.marks)
    assert certificate.valid(gaps) and not certificate.valid()
    raised = replace(certificate, level=tuple(v + Fraction(1, 1000) for v in certificate.level))
    assert not replace(proved, certificates=((raised, left_out), *proved.certificates[1:])).valid()
    assert not replace(proved, outputs=6).valid()
    assert not replace(proved, certificates=proved.certificates[:1]).valid()
    turned = quantizer_bound.mirrored(certificate)
    assert turned.value == certificate.value and turned.valid([(-high, -low) for low, high in gaps])


def test_one_bit_and_what_is_not_so():
    one = quantizer_bound.bound(1, epsilon=2.0, value=1.72, cells=8)
    assert one.valid() and 1.71 < one.value <= Fraction(float(alpha(2.0))) ** 2
    with pytest.raises(ConvergenceError):
        quantizer_bound.bound(2, epsilon=5.0, value=REACHED * 1.01, cells=10)
    with pytest.raises(ParameterError):
        quantizer_bound.bound(4, epsilon=1.0, value=1.0)
