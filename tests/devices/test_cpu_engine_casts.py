"""Casts between all element types, and the rounding to 16 bits over all codes."""
from __future__ import annotations

import numpy as np
import pytest

from reftorch.devices.cpu.elements import ELEMENTS
from reftorch.devices.cpu.engine import kernel
from reftorch.numerics.codes import decode, encode

NUMPY = {t: np.dtype("uint16" if t == "bfloat16" else t) for t in ELEMENTS}


def same(x):
    return x


def rounded(x, R):
    return R(x)


def cast(x, source, target, formula=same):
    """What the kernel source -> target makes of a memory array."""
    compute = "float32" if ELEMENTS[source].is_narrow_float and formula is rounded else source
    out = np.empty(x.shape, NUMPY[target])
    kernel(formula, [source], target, compute).launcher(x.shape, [[1]] * 2)(out.ctypes.data, x.ctypes.data)
    return out


def expected(x, source, target):
    """The same by NumPy, through float32 on the way to 16-bit floats, as c10 does."""
    if source == "bfloat16":
        x = decode(source, x)
    if target == "bool":
        return x != 0
    if np.iscomplexobj(x) and ELEMENTS[target].kind != "complex":
        x = x.real
    if ELEMENTS[target].is_narrow_float:
        x = x.astype("f4")
    return encode(target, x) if target == "bfloat16" else x.astype(target)


@pytest.mark.parametrize("target", list(ELEMENTS))
@np.errstate(over="ignore")
def test_every_pair_of_types(target):
    kind, bits = ELEMENTS[target].kind, ELEMENTS[target].bits
    for source, e in ELEMENTS.items():
        rng = np.random.default_rng(7)
        values = rng.integers(0, 2**53, 500) >> rng.integers(0, 53, 500)  # integers of every size
        if e.kind in ("float", "complex"):
            values = values * rng.choice([1.0, -1.0, 0.37, 2.0**-30], 500)
            values[:3] = [-0.0, 0.5, 2**24 + 1]
        top = (min(bits, e.bits) - 2) if kind in ("int", "uint") else 62  # stay within the target's range
        values = np.where(np.abs(values) < 2.0**top, values, values % 64)
        if kind == "uint":
            values = np.abs(values)
        x = encode(source, values) if source == "bfloat16" else values.astype(NUMPY[source])
        if e.kind == "complex":
            x = x + (np.arange(500) % 2 * 1j).astype(x.dtype)
        got, want = cast(x, source, target), expected(x, source, target)
        assert got.dtype == want.dtype and (got == want).all(), (source, target)


@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16", "float16", "complex64"])
def test_nan_and_infinities(source):
    values = np.array([np.nan, np.inf, -np.inf, 0.0], "f4")
    x = encode(source, values) if source == "bfloat16" else values.astype(source)
    assert cast(x, source, "bool").tolist() == [True, True, True, False]
    for target in ("float32", "float64", "float16", "bfloat16", "complex128"):
        got = cast(x, source, target)
        got = decode(target, got) if target == "bfloat16" else got.real
        assert np.isnan(got[0]) and got[1:].tolist() == [np.inf, -np.inf, 0.0]


def test_negative_floats_wrap_into_small_unsigned_types():
    x = np.array([-1.0, -2.0], "f4").repeat(20)
    for target in ("uint8", "uint16", "uint32"):
        assert (cast(x, "float32", target) == x.astype("i8").astype(target)).all()


@pytest.mark.parametrize("t", ["bfloat16", "float16"])
def test_all_codes_of_the_16_bit_floats(t):
    codes = np.arange(1 << 16, dtype=np.uint16)
    x = codes if t == "bfloat16" else codes.view(np.float16)
    wide = decode(t, codes)
    got = cast(x, t, "float32")
    nan = np.isnan(wide)
    assert (np.isnan(got) == nan).all() and (got.view("u4")[~nan] == wide.view("u4")[~nan]).all()

    # Around every code: the number itself, the midpoint to the next, and their neighbours.
    shift = 16 if t == "bfloat16" else 13
    half = 1 << (shift - 1)
    bits = wide[~nan].view("u4").astype(np.int64)[:, None] + np.array([0, 1, -1, half - 1, half, half + 1])
    floats = np.ascontiguousarray(bits.ravel().astype("u4")).view("f4")
    if t == "float16":  # below its normal numbers the midpoints lie elsewhere
        one, tiny = np.float32(1), np.arange(0, 1024 * 4, dtype="f4") * np.float32(2.0**-26)
        floats = np.concatenate([floats, tiny, np.nextafter(tiny, one), np.nextafter(tiny, -one)])
    want, narrow = encode(t, floats), cast(floats, "float32", t).view("u2")
    assert (narrow == want)[~np.isnan(floats)].all()
    assert np.isnan(decode(t, narrow[np.isnan(floats)])).all()
    assert (cast(floats, "float32", t, rounded).view("u2") == narrow).all()


def test_double_is_rounded_twice_on_the_way_to_16_bits():
    x = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-40])
    assert cast(x, "float64", "bfloat16")[0] == encode("bfloat16", np.float32(1))
    assert cast(x, "float64", "float16")[1] == 1
