"""Counting representable numbers between two results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reftorch.numerics.codes import decode
from reftorch.numerics.formats import FORMATS
from reftorch.numerics.ulp import NAN_DISTANCE, ordinal, same_bits, ulp_distance, worst


@pytest.mark.parametrize("name", [name for name, spec in FORMATS.items() if spec.bits <= 16])
def test_ordinals_order_every_number_of_a_format(name):
    spec = FORMATS[name]
    codes = np.arange(1 << spec.bits, dtype=f"uint{max(8, spec.bits)}")
    values = decode(name, codes)
    codes, values = codes[~np.isnan(values)], values[~np.isnan(values)]
    order = np.argsort(values, kind="stable")
    steps = np.diff(ordinal(codes, name)[order])
    assert np.array_equal(steps, (np.diff(values[order]) != 0) if spec.has_inf is False else steps > 0)
    assert set(steps.tolist()) <= {0, 1}


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_ordinals_are_monotone(a, b):
    assert (a < b) == (ordinal(np.float64(a)) < ordinal(np.float64(b)))
    assert (a == b) == (ulp_distance(np.float64(a), np.float64(b)) == 0)


@given(st.floats(width=32, allow_nan=False, max_value=2.0**127), st.integers(0, 5))
def test_distance_counts_steps_of_nextafter(a, n):
    a = b = np.float32(a)
    for _ in range(n):
        b = np.nextafter(b, np.float32(np.inf))
    assert ulp_distance(a, b) == ulp_distance(b, a) == n


def test_nan_zeros_and_the_widest_distance():
    x = np.array([np.nan, np.nan, 0.0, -np.inf, 1.0])
    y = np.array([-np.nan, 1.0, -0.0, np.inf, 1.0])
    infinity = 2 * 0x7FF0000000000000
    assert ulp_distance(x, y).tolist() == [0, NAN_DISTANCE, 0, infinity, 0]
    assert ulp_distance(x, y).dtype == np.uint64
    assert same_bits(x, y).tolist() == [True, False, False, False, True]


def test_codes_and_complex_and_integers():
    assert ulp_distance(np.uint16([0x8001]), np.uint16([0x0001])).tolist() == [2]  # bfloat16
    assert ulp_distance(np.uint8([0x80, 0x80]), np.uint8([0x80, 0]), "float8_e4m3fnuz").tolist() == [
        0,
        NAN_DISTANCE,
    ]
    assert ulp_distance(np.uint8([0]), np.uint8([254]), "float8_e8m0fnu").tolist() == [254]
    z = np.complex64([1 + 2j])
    assert ulp_distance(z, z + np.complex64(2.0**-22 * 1j)).tolist() == [1]
    assert same_bits(z, z.conj()).tolist() == [False]
    assert same_bits(np.int64([1, 2]), np.int64([1, 3])).tolist() == [True, False]
    assert same_bits(np.array([True]), np.array([True])).all()
    assert same_bits(np.uint16([0x7FC0]), np.uint16([0xFFFF])).all()  # both NaN in bfloat16


def test_worst():
    expected = np.float32([[1, 2], [3, 0.0]])
    actual = expected.copy()
    assert worst(actual, expected) is None
    assert worst(np.zeros((0,), np.float32), np.zeros((0,), np.float32)) is None
    actual[1, 1] = -0.0
    assert worst(actual, expected)[:2] == ((1, 1), 0)
    actual[0, 1] = np.nextafter(np.float32(2), np.float32(3))
    assert worst(actual, expected) == ((0, 1), 1, actual[0, 1], 2.0)
    actual[0, 0] = np.nan
    assert worst(actual, expected).distance == NAN_DISTANCE
    assert worst(np.int8([1, 2]).view(np.uint8), np.uint8([1, 3]), "float8_e5m2").position == (1,)


def test_errors():
    with pytest.raises(TypeError, match="no floating-point format for an array of int32"):
        ordinal(np.int32([1]))
    with pytest.raises(TypeError, match="an array of float32 holds no float64"):
        ordinal(np.float32([1]), "float64")
