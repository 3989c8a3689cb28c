"""The scalar specification of every format, against IEEE floats, ml_dtypes and c10's published limits."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reftorch.numerics.formats import FORMATS, floor_log2

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="not run: torch is not installed")

SMALL = [spec for spec in FORMATS.values() if spec.bits <= 16]
BY_NAME = {"ids": lambda spec: spec.name}


def other_dtype(spec):
    """The dtype of NumPy or ml_dtypes for a format."""
    return np.dtype(getattr(ml_dtypes, spec.name, spec.name))


def same_value(a, b) -> bool:
    """Equality of decoded values that tells the zeros apart and takes NaN for itself."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1, float(a)) == math.copysign(1, float(b))


@pytest.mark.parametrize("spec", SMALL, **BY_NAME)
def test_every_code_decodes_as_in_ml_dtypes(spec):
    codes = np.arange(1 << spec.bits, dtype=f"uint{max(8, spec.bits)}")
    with np.errstate(all="ignore"):
        values = codes.view(other_dtype(spec)).astype(np.float64).tolist()
    for code, value in zip(codes.tolist(), values, strict=True):
        assert same_value(spec.decode(code), value), hex(code)


@pytest.mark.parametrize("spec", SMALL, **BY_NAME)
def test_every_code_survives_decode_and_encode(spec):
    for code in range(1 << spec.bits):
        value = spec.decode(code)
        expected = code if not spec.is_nan(code) else spec.encode(math.nan)
        assert spec.encode(value) == expected, hex(code)


@pytest.mark.parametrize("spec", SMALL, **BY_NAME)
def test_rounding_is_to_nearest_and_ties_go_to_the_even_code(spec):
    """Between each two neighbours: the midpoint, and both sides of it."""
    first = 1 if spec.specials == "e8m0" else 0  # below 2**-126 e8m0 has c10's own rule, tested by itself
    tiny = Fraction(1, 1 << 200)
    for code in range(first, spec.max_code):
        low, high = spec.decode(code), spec.decode(code + 1)
        middle = (low + high) / 2
        even = code + 1 if code % 2 or spec.specials == "e8m0" else code
        assert spec.encode(middle) == even
        assert spec.encode(middle - tiny) == code
        assert spec.encode(middle + tiny) == code + 1
        if spec.signed and code:
            assert spec.encode(-middle) == even | spec.sign_mask


@pytest.mark.parametrize("spec", FORMATS.values(), **BY_NAME)
def test_what_overflows(spec):
    """More than half a unit above the largest finite number overflows, less does not, infinity does."""
    top = spec.max_finite
    half_unit = (top - spec.decode(spec.max_code - 1)) / 2
    if spec.specials == "e8m0":
        half_unit = top / 2  # the unit above a power of two is twice the one below
    outcome = {"inf": spec.inf_code, "saturate": spec.max_code, "nan": spec.default_nan}[spec.overflow]
    assert spec.encode(top + half_unit * Fraction(999, 1000)) == spec.max_code
    assert spec.encode(top + half_unit * Fraction(1001, 1000)) == outcome
    assert spec.encode(math.inf) == spec.encode(top * 1000) == outcome
    if spec.signed and spec.overflow != "nan":
        assert spec.encode(-math.inf) == outcome | spec.sign_mask


def test_e8m0_keeps_no_sign_and_rounds_its_lowest_numbers_as_c10_does():
    spec = FORMATS["float8_e8m0fnu"]
    assert spec.encode(0) == spec.encode(Fraction(1, 2**200)) == spec.encode(Fraction(1, 2**127)) == 0
    assert spec.encode(Fraction(17, 16) / 2**127) == 1  # nearer to 2**-127, yet c10 gives 2**-126
    assert spec.encode(-2) == spec.encode(2) == 128
    assert spec.encode(Fraction(3, 2)) == 128  # a tie goes up


def test_a_format_without_nan_refuses_it_and_one_without_negative_zero_drops_the_sign():
    with pytest.raises(ValueError, match="float4_e2m1fn has no NaN"):
        FORMATS["float4_e2m1fn"].encode(math.nan)
    for name in ("float8_e4m3fnuz", "float8_e5m2fnuz"):
        assert FORMATS[name].encode(-0.0) == FORMATS[name].encode(Fraction(-1, 2**80)) == 0
    assert FORMATS["bfloat16"].encode(-0.0) == FORMATS["bfloat16"].encode(Fraction(-1, 2**200)) == 0x8000


def test_the_sign_of_nan():
    """c10's scalar bfloat16 conversion drops it, the 8-bit formats with a signed NaN keep it."""
    assert FORMATS["bfloat16"].encode(-math.nan) == 0x7FC0
    assert FORMATS["float8_e4m3fn"].encode(-math.nan) == FORMATS["float8_e5m2"].encode(-math.nan) == 0xFF


@pytest.mark.parametrize("code", [-1, 256])
def test_a_number_that_is_no_code_is_refused(code):
    with pytest.raises(ValueError, match="is not a code of float8_e5m2, which has 8 bits"):
        FORMATS["float8_e5m2"].decode(code)


def test_e4m3fn_overflow_of_torch_2_12_is_the_one_of_ml_dtypes():
    spec = dataclasses.replace(FORMATS["float8_e4m3fn"], overflow="nan")
    x = np.array([448, 464, 464.0001, 480, 1e9, np.inf], np.float32)
    x = np.concatenate([x, -x])
    with np.errstate(all="ignore"):
        expected = x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    assert [spec.encode(value) for value in x.tolist()] == expected.tolist()


@given(st.floats(width=64))
def test_float64_and_float32_agree_with_the_hardware(x):
    assert same_value(FORMATS["float64"].round(x), x)
    with np.errstate(all="ignore"):
        narrowed = float(np.float32(x))
    assert same_value(FORMATS["float32"].round(x), narrowed)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_floor_log2(x):
    assert Fraction(2) ** floor_log2(x) <= x < Fraction(2) ** (floor_log2(x) + 1)


@needs_torch
@pytest.mark.parametrize("spec", [spec for spec in FORMATS.values() if hasattr(torch, spec.name)], **BY_NAME)
def test_limits_are_torch_finfo(spec):
    limits = torch.finfo(getattr(torch, spec.name))
    assert (spec.bits, spec.max_finite, spec.min_normal) == (limits.bits, limits.max, limits.smallest_normal)
    if spec.name != "float8_e5m2fnuz":  # torch says 1/8, but the number after 1 is 1.25
        assert spec.eps == limits.eps
    assert spec.decode(spec.encode(1) + 1) - 1 == spec.eps
