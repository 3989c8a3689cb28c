"""The array conversions: equal to the scalar specification, and to what torch stores."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from reftorch.numerics.codes import bfloat16_to_float32, decode, encode, float32_to_bfloat16, round_to
from reftorch.numerics.formats import FORMATS

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="not run: torch is not installed")

SMALL = [name for name, spec in FORMATS.items() if spec.bits <= 16]
TORCH_CONVERTS = [name for name in SMALL if name != "float4_e2m1fn"]


def all_codes(name):
    bits = FORMATS[name].bits
    return np.arange(1 << bits, dtype=f"uint{max(8, bits)}")


def is_nan(name, codes):
    return np.isnan(decode(name, codes))


def without_nan(x):
    return x[~np.isnan(x)]


def interesting_float32(name):
    """Each number of a format, the midpoints, both float32 neighbours of all these, random bits, specials."""
    rng = np.random.default_rng(7)
    numbers = without_nan(decode(name, all_codes(name)))
    numbers = np.sort(numbers[np.isfinite(numbers)])
    middles = ((numbers[1:].astype(np.float64) + numbers[:-1]) / 2).astype(np.float32)
    near = np.concatenate([numbers, middles])
    near = np.concatenate(
        [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
    )
    patterns = rng.integers(0, 1 << 32, 20_000, dtype=np.uint32).view(np.float32)
    beyond = float(FORMATS[name].max_finite) * np.array([1.03, 1.0625, 1.0626, 1.125, 1.126, 1.25, 1.5, 1.6])
    top = np.minimum(beyond, np.finfo(np.float32).max).astype(np.float32)
    special = np.float32([0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45])
    return np.concatenate([near, patterns, top, -top, special])


@pytest.mark.parametrize("name", SMALL)
def test_decode_is_the_scalar_specification_on_every_code(name):
    codes = all_codes(name)
    expected = np.array([float(FORMATS[name].decode(code)) for code in codes.tolist()], np.float32)
    values = decode(name, codes)
    assert values.dtype == np.float32
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(values), nan)
    assert np.array_equal(values[~nan].view(np.uint32), expected[~nan].view(np.uint32))


@pytest.mark.parametrize("name", SMALL)
def test_encode_is_the_scalar_specification(name):
    x = interesting_float32(name)
    if FORMATS[name].default_nan is None:
        x = without_nan(x)
    if x.size > 60_000:
        x = np.random.default_rng(1).permutation(x)[:60_000]
    codes = encode(name, x)
    expected = np.array([FORMATS[name].encode(value) for value in x.tolist()], codes.dtype)
    wrong = (codes != expected) & ~(is_nan(name, codes) & is_nan(name, expected))
    assert not wrong.any(), (x[wrong][:5], codes[wrong][:5], expected[wrong][:5])


@pytest.mark.parametrize("name", SMALL)
def test_every_code_survives_the_round_trip(name):
    codes = all_codes(name)
    codes = codes[~is_nan(name, codes)]
    assert np.array_equal(encode(name, decode(name, codes)), codes)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_wide_formats_are_the_bits(name):
    x = np.array([0.0, -0.0, 1.5, np.inf, -np.nan], name)
    assert np.array_equal(encode(name, x), x.view(f"uint{x.itemsize * 8}"))
    assert np.array_equal(encode(name, decode(name, encode(name, x))), encode(name, x))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e5m2"])
def test_encode_agrees_with_ml_dtypes(name):
    """These three convert alike everywhere; others differ from c10 in overflow, sign or lowest numbers."""
    x = interesting_float32(name)
    with np.errstate(all="ignore"):
        expected = x.astype(np.dtype(getattr(ml_dtypes, name, name)))
    codes = encode(name, x)
    expected = expected.view(codes.dtype)
    assert np.all((codes == expected) | (is_nan(name, codes) & is_nan(name, expected)))


@needs_torch
@pytest.mark.parametrize("name", TORCH_CONVERTS)
def test_torch_stores_the_same_codes(name):
    x = interesting_float32(name)
    stored = torch.from_numpy(x).to(getattr(torch, name))
    codes = encode(name, x)
    theirs = stored.view(torch.uint8 if codes.itemsize == 1 else torch.int16).numpy().view(codes.dtype)
    wrong = (codes != theirs) & ~(is_nan(name, codes) & is_nan(name, theirs))
    assert not wrong.any(), (x[wrong][:5], codes[wrong][:5], theirs[wrong][:5])
    values = torch.from_numpy(codes).view(getattr(torch, name)).float().numpy()
    assert np.array_equal(decode(name, codes), values, equal_nan=True)


@needs_torch
@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_a_double_is_rounded_twice_as_in_torch(name):
    rng = np.random.default_rng(3)
    spec = FORMATS[name]
    middles = 1 + float(spec.eps) * (rng.integers(0, 1 << spec.mantissa_bits, 4000) + 0.5)
    x = middles * (1 + rng.choice([-1, 0, 1], 4000) * 2.0**-40)
    theirs = torch.from_numpy(x).to(getattr(torch, name)).double().numpy()
    assert np.array_equal(round_to(name, x), theirs)
    once = np.array([float(spec.round(value)) for value in x.tolist()])
    assert (once != theirs).any()  # so the second rounding shows


def test_bfloat16_nan_is_the_scalar_one():
    nans = np.array([0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)
    with np.errstate(all="raise"):
        assert np.array_equal(float32_to_bfloat16(nans), [0x7FC0] * 4)
        assert [float32_to_bfloat16(scalar) for scalar in nans] == [0x7FC0] * 4
    assert np.isnan(bfloat16_to_float32(np.uint16([0x7FC0, 0xFFFF, 0x7F81]))).all()


def test_round_to_keeps_dtype_shape_and_scalars():
    x = np.array([[1.003, 2], [3e38, -0.0]], np.float32)
    y = round_to("bfloat16", x)
    assert (y.dtype, y.shape, y[0, 0], np.signbit(y[1, 1])) == (np.float32, (2, 2), 1.0, True)
    assert round_to("float32", x) is x
    assert round_to("float32", np.float64(1 + 2.0**-30)) == 1.0
    for name in FORMATS:
        scalar = round_to(name, np.float32(1.5))
        assert isinstance(scalar, np.float32) and scalar == (2.0 if name == "float8_e8m0fnu" else 1.5)
        assert round_to(name, np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert float32_to_bfloat16(np.float32(1)) == 0x3F80 and bfloat16_to_float32(np.uint16(0x3F80)) == 1


def test_errors():
    with pytest.raises(KeyError):
        encode("float7", np.float32(1))
    with pytest.raises(ValueError, match="has no NaN"):
        encode("float4_e2m1fn", np.float32([1, math.nan]))
