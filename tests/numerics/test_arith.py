"""The primitives: fma against exact fractions and torch's hardware fma, the rest against definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reftorch.numerics import arith
from reftorch.numerics.arith import PRIMITIVES, fma, select
from reftorch.numerics.formats import FORMATS
from reftorch.numerics.ulp import same_bits

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="not run: torch is not installed")

FLOATS = ["float32", "float64"]


def exact_fma(a: float, b: float, c: float, name: str) -> float:
    """a * b + c for Python floats, rounded once by the scalar specification, with IEEE's special cases."""
    if not all(map(math.isfinite, (a, b, c))):
        if math.isinf(c) and math.isfinite(a) and math.isfinite(b):
            return c
        return a * b + c  # an infinite or undefined product needs no rounding
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        product_is_zero = a == 0 or b == 0
        return math.copysign(0.0, a) * math.copysign(1.0, b) + c if product_is_zero else 0.0
    return float(FORMATS[name].round(exact))


def check_fma(a, b, c, name):
    a, b, c = (np.asarray(x, name) for x in (a, b, c))
    expected = [exact_fma(*abc, name) for abc in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    result = fma(a, b, c)
    assert result.dtype == name
    wrong = ~same_bits(result, np.array(expected, name))
    assert not wrong.any(), [x[wrong][:3] for x in (a, b, c, result)]


def random_bits(rng, name, n):
    bits = FORMATS[name].bits
    return rng.integers(0, (1 << bits) - 1, n, dtype=f"uint{bits}", endpoint=True).view(name)


def scaled(rng, name, n, low, high):
    """Numbers of either sign with full significands and exponents in [low, high]."""
    significand = rng.uniform(1, 2, n) * rng.choice([-1, 1], n)
    return np.ldexp(significand, rng.integers(low, high + 1, n)).astype(name)


# Exponents of a and b for which the product is: ordinary, near or below the smallest normal, near overflow.
RANGES = {
    "float32": [(-12, 12), (-75, -62), (60, 64)],
    "float64": [(-12, 12), (-540, -480), (505, 513)],
}


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("seed", range(3))
def test_fma_random_bit_patterns(name, seed):
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        check_fma(*(random_bits(rng, name, 2000) for _ in range(3)), name)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("which", range(3))
def test_fma_where_it_is_hard(name, which):
    """c of every size against the product, cancellation down to the product's error, and halfway results."""
    rng = np.random.default_rng(11)
    n, precision = 1500, FORMATS[name].mantissa_bits + 1
    low, high = RANGES[name][which]
    with np.errstate(all="ignore"):
        a, b = scaled(rng, name, n, low, high), scaled(rng, name, n, low, high)
        product = a * b
        check_fma(a, b, np.ldexp(product, rng.integers(-2 * precision - 3, 2 * precision + 3, n)), name)
        check_fma(a, b, -product, name)
        check_fma(a, b, np.nextafter(-product, np.array(rng.choice([-np.inf, np.inf], n), name)), name)
        check_fma(a, b, np.ldexp(-product, rng.integers(-1, 2, n)), name)

        # Factors so short that the product is exact, and sums that are midpoints or just off one.
        step = np.array(2.0 ** (precision // 2 - 2), name)
        a, b = np.round(a / np.abs(a) * rng.uniform(1, 2, n) * step), np.round(rng.uniform(1, 2, n) * step)
        odd = (2 * rng.integers(1 << (precision - 2), 1 << (precision - 1), n) + 1).astype(name)
        scale = np.ldexp(np.ones(n, name), rng.integers(-4, precision + 4, n))
        for half_unit in (a * b * scale * 2, np.ldexp(odd, rng.integers(0, 2 * precision, n))):
            check_fma(a, b, half_unit, name)
            check_fma(odd, np.ones(n, name), np.ldexp(np.array(rng.choice([-0.5, 0.5], n), name), 0), name)
            check_fma(odd * 0.5, np.full(n, 1 + 2.0 ** (1 - precision), name), half_unit, name)


@pytest.mark.parametrize("name", FLOATS)
def test_fma_next_to_a_midpoint(name):
    """Sums less than one place of the intermediate format off a midpoint, where only odd rounding is right.

    (1 - e) (1 + e) / 2 = (1 - e**2) / 2 falls short of half a unit of an integer c by up to 2**-27 or 2**-52.
    """
    precision = FORMATS[name].mantissa_bits + 1
    places, last = (23, 2.0**-29) if name == "float32" else (52, 2.0**-54)
    e = np.round(np.sqrt(2 * last * np.linspace(0, 4, 3000)) * 2.0**places) / 2.0**places
    c = 2.0 ** (precision - 1) + np.random.default_rng(19).integers(0, 1 << (precision - 1), e.size)
    for sign in (1, -1):
        check_fma(sign * (1 - e), (1 + e) / 2, c, name)
        check_fma(sign * (1 - e), (1 + e) / 2, -c, name)


@pytest.mark.parametrize("name", FLOATS)
def test_fma_at_the_edges_of_the_format(name):
    spec = FORMATS[name]
    tiny, normal, top = float(spec.min_subnormal), float(spec.min_normal), float(spec.max_finite)
    below_one, above_one = 1 - float(spec.eps) / 2, 1 + float(spec.eps)
    values = [0.0, tiny, 3 * tiny, normal - tiny, normal, normal + tiny, math.sqrt(normal), math.sqrt(tiny)]
    values += [0.5, below_one, 1.0, above_one, 1.5, 2.0, 1 / normal, math.sqrt(top), top / 2, top, math.inf]
    values += [-v for v in values] + [math.nan]
    a, b, c = (x.ravel() for x in np.meshgrid(values, values, values))
    keep = np.random.default_rng(5).permutation(a.size)[:20_000]
    check_fma(a[keep], b[keep], c[keep], name)


@given(*3 * [st.floats(width=32)])
@settings(max_examples=500)
def test_fma_float32_of_any_floats(a, b, c):
    check_fma([a], [b], [c], "float32")


@given(*3 * [st.floats()])
@settings(max_examples=500)
def test_fma_float64_of_any_floats(a, b, c):
    check_fma([a], [b], [c], "float64")


@needs_torch
@pytest.mark.parametrize("name", FLOATS)
def test_fma_is_what_torch_addcmul_computes(name):
    """torch's CPU kernel is fma(value * t1, t2, self) where the processor has an fma."""
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("not run: torch uses no fma on this processor")
    rng = np.random.default_rng(17)
    n = 200_000 if name == "float32" else 40_000
    a, b, c = (random_bits(rng, name, n) for _ in range(3))
    near = c.copy()  # half of the sums with operands of like size, as random bits are mostly far apart
    with np.errstate(all="ignore"):
        near[::2] = np.ldexp(-(a * b), rng.integers(-70, 70, n))[::2]
    theirs = torch.addcmul(*(torch.from_numpy(x) for x in (near, a, b))).numpy()
    assert same_bits(fma(a, b, near), theirs).all()


def test_fma_dtypes_shapes_and_scalars():
    assert fma(np.float32([[1], [2]]), np.float32([1, 2, 3]), 1.0).shape == (2, 3)
    assert fma(np.zeros((0, 2), np.float32), 1.0, 2.0).shape == (0, 2)
    assert isinstance(fma(np.float32(2), 3.0, 1), np.float32)
    assert isinstance(fma(np.float64(2), np.float32(3), 1), np.float64)
    assert fma(2.0, 3.0, 1.0) == 7.0
    assert fma(np.int8(100), np.int8(2), np.int8(3)) == -53  # wraps, quietly
    assert fma(np.uint8([200]), 2, 0).tolist() == [144]
    assert fma(np.complex64(1j), np.complex64(1j), np.complex64(1)) == 0
    strided = np.arange(12, dtype=np.float64).reshape(3, 4)[:, ::2]
    assert np.array_equal(fma(strided, strided, 1.0), strided * strided + 1)
    with pytest.raises(TypeError, match="fma is not defined for float16"):
        fma(np.float16(1), np.float16(1), np.float16(1))


def test_no_primitive_warns():
    hostile = np.array([np.nan, np.inf, -np.inf, 3e38, -0.0, 0.0, 1e-45, -1.0], np.float32)
    integers = np.array([-128, 127, 0, -1], np.int8)
    binary = {"copysign", "fmod", "nextafter", "nextafter_float16", "nextafter_bfloat16"}
    with np.errstate(all="raise"):
        for name, function in PRIMITIVES.items():
            if name in ("truncdiv", "floordiv"):
                assert function(integers[:, None], integers).dtype == np.int8
            elif name in binary:
                assert function(hostile[:, None], hostile).dtype == np.float32
            elif name == "fma":
                assert function(hostile[:, None, None], hostile[:, None], hostile).dtype == np.float32
            elif name == "select":
                assert function(hostile > 0, hostile, 0.0).dtype == np.float32
            else:
                assert function(hostile).dtype in (np.float32, bool)
                assert isinstance(function(np.float32(2)), np.float32 | np.bool_)


def test_primitives_are_the_public_names_of_the_module():
    own = {name for name, value in vars(arith).items() if getattr(value, "__module__", "") == arith.__name__}
    assert {name for name in own if not name.startswith("_")} - {"primitive"} == set(PRIMITIVES)
    assert all(function.__doc__ for function in PRIMITIVES.values())


def test_select_keeps_dtype_payload_and_scalars():
    nan = np.uint32([0xFFC12345]).view(np.float32)
    assert select(np.array([True]), nan, 0.0).view(np.uint32) == 0xFFC12345
    assert isinstance(select(np.float32(1) > 0, np.float32(2), 0.0), np.float32)
    assert select(np.array([True, False]), np.int8([1, 2]), 0).dtype == np.int8


@pytest.mark.parametrize("name", FLOATS)
def test_sqrt_is_correctly_rounded(name):
    x = np.abs(random_bits(np.random.default_rng(2), name, 3000))
    x = x[np.isfinite(x) & (x > 0)]
    root = arith.sqrt(x)
    for value, middle in (
        (root, np.nextafter(root, np.array(np.inf, name))),
        (root, np.nextafter(root, 0 * root)),
    ):
        for v, r, m in zip(x.tolist(), value.tolist(), middle.tolist(), strict=True):
            half = (Fraction(r) + Fraction(m)) / 2
            assert half**2 > v if m > r else half**2 < v
    assert np.signbit(arith.sqrt(np.array(-0.0, name))) and np.isnan(arith.sqrt(np.array(-1.0, name)))


def test_absolute_and_signbit():
    assert arith.absolute(np.int8([-128, -3])).tolist() == [-128, 3]
    assert not np.signbit(arith.absolute(np.float32(-0.0)))
    assert arith.absolute(np.complex64(3 - 4j)).dtype == np.float32
    assert arith.signbit(np.float32([-0.0, 0.0, -np.nan, -1])).tolist() == [True, False, True, True]
    assert not arith.isnan(np.int64([1])).any() and arith.isnan(np.complex64(complex(0, np.nan)))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integer_division_on_all_pairs(dtype):
    limits = np.iinfo(dtype)
    values = np.arange(limits.min, limits.max + 1, dtype=dtype)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    truncated = [0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) for p, q in pairs]
    floored = [0 if q == 0 else p // q for p, q in pairs]
    for function, expected in ((arith.truncdiv, truncated), (arith.floordiv, floored)):
        result = function(a, b)
        assert result.dtype == dtype
        assert np.array_equal(result, np.array(expected).astype(dtype))  # 128 wraps to -128
    assert isinstance(arith.truncdiv(values[0], values[5]), np.dtype(dtype).type)


@needs_torch
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integer_division_is_the_one_of_torch(dtype):
    rng = np.random.default_rng(23)
    limits = np.iinfo(dtype)
    a = rng.integers(limits.min, limits.max, 3000, dtype=dtype, endpoint=True)
    b = rng.integers(-9, 9, 3000, dtype=dtype)
    b[b >= 0] += 1
    a[a == limits.min] += 1  # torch dies of a hardware exception on the most negative integer over -1
    for mode, function in (("trunc", arith.truncdiv), ("floor", arith.floordiv)):
        theirs = torch.div(torch.from_numpy(a), torch.from_numpy(b), rounding_mode=mode).numpy()
        assert np.array_equal(function(a, b), theirs)
    assert np.array_equal(arith.fmod(a, b), torch.fmod(torch.from_numpy(a), torch.from_numpy(b)).numpy())


def around(name, rng, n=3000):
    """Pairs of numbers of a torch float dtype as float32 or float64: random, equal, and special."""
    a, b = (random_bits(rng, name if name in FLOATS else "float32", n) for _ in range(2))
    special = np.array(
        [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 6e-8, 6.1035e-05, 65504, 3.3e38], a.dtype
    )
    x, y = (z.ravel() for z in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        mild = rng.standard_normal(n).astype(a.dtype) * np.array(2.0 ** rng.integers(-26, 16, n), a.dtype)
        return np.concatenate([a, mild, x, mild]), np.concatenate([b, np.roll(mild, 1), y, mild])


@needs_torch
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
def test_nextafter_is_the_one_of_torch(name):
    dtype = getattr(torch, name)
    a, b = (torch.from_numpy(x).to(dtype) for x in around(name, np.random.default_rng(29)))
    wide = torch.float64 if name == "float64" else torch.float32
    function = PRIMITIVES["nextafter" if name in FLOATS else f"nextafter_{name}"]
    theirs = torch.nextafter(a, b).to(wide).numpy()
    ours = function(a.to(wide).numpy(), b.to(wide).numpy())
    wrong = ~same_bits(ours, theirs)
    assert not wrong.any(), (a.to(wide).numpy()[wrong], b.to(wide).numpy()[wrong], ours[wrong], theirs[wrong])


@needs_torch
@pytest.mark.parametrize("name", FLOATS)
def test_exact_names_are_bit_equal_to_torch(name):
    a, b = around(name, np.random.default_rng(31))
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    pairs = [
        (arith.copysign(a, b), torch.copysign(x, y)),
        (arith.floor(a), torch.floor(x)),
        (arith.trunc(a), torch.trunc(x)),
        (arith.absolute(a), torch.abs(x)),
        (arith.signbit(a), torch.signbit(x)),
        (arith.isnan(a), torch.isnan(x)),
    ]
    for ours, theirs in pairs:
        assert same_bits(ours, theirs.numpy()).all()

    # Where a / b overflows, torch's vectorised fmod gives NaN and its scalar tail the exact remainder.
    with np.errstate(all="ignore"):
        agreed = np.isfinite(a / b) | ~np.isfinite(a) | ~np.isfinite(b)
    assert same_bits(arith.fmod(a, b), torch.fmod(x, y).numpy())[agreed].all()


@given(*2 * [st.floats(allow_nan=False, allow_infinity=False)])
def test_fmod_is_exact(a, b):
    remainder = arith.fmod(np.float64(a), np.float64(b))
    if b == 0:
        assert np.isnan(remainder)
    else:
        assert Fraction(float(remainder)) == math.copysign(1, a) * (abs(Fraction(a)) % abs(Fraction(b)))
        assert np.signbit(remainder) == (math.copysign(1, a) < 0)
