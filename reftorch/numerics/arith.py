"""The names a formula may use besides + - * / and comparisons.

A formula is one scalar function with several readings. This module is the reference reading: every name works
on NumPy scalars and arrays (broadcast together), rounds exactly once, gives the dtype of its operands, and
never warns. A Python number among the operands takes the dtype of the others.

`PRIMITIVES` maps each name to its function, so that an engine that compiles formulas can check that it lowers
every one. The compute dtypes are float32 and float64, the integers, bool and the complex types; 16-bit floats
are computed in float32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reftorch.numerics.codes import decode, encode

PRIMITIVES: dict[str, Callable[..., Any]] = {}

Float64Array = NDArray[np.float64]


def primitive(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register `function` under its name, and silence NumPy's floating-point warnings while it runs."""

    @functools.wraps(function)
    def quiet(*operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*operands)

    PRIMITIVES[function.__name__] = quiet
    return quiet


@primitive
def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once in float32 and float64.

    Integers wrap; for them and for complex operands this is `a * b + c`, as in ATen's generic `vec::fmadd`.
    Raises TypeError for float16, which is no compute dtype.
    """
    dtype = np.result_type(a, b, c)
    if dtype == np.float16:
        raise TypeError("fma is not defined for float16: compute in float32")
    shape = np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c))
    a, b, c = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, dtype)) for x in (a, b, c)))
    result: NDArray[Any]
    if dtype == np.float32:
        result = _fma32(a, b, c)
    elif dtype == np.float64:
        result = _fma64(a, b, c)
    else:
        result = a * b + c
    return result.reshape(shape)[()]


@primitive
def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where `condition` holds, else `b`; both are evaluated, NaN payloads are kept."""
    return np.where(condition, a, b)[()]


@primitive
def sqrt(a: Any) -> Any:
    """The square root, correctly rounded for real operands; NaN below zero, and -0 for -0."""
    return np.sqrt(a)


@primitive
def absolute(a: Any) -> Any:
    """The absolute value; the most negative integer is its own. Real for complex operands."""
    return np.absolute(a)


@primitive
def copysign(a: Any, b: Any) -> Any:
    """`a` with the sign bit of `b`."""
    return np.copysign(a, b)


@primitive
def signbit(a: Any) -> Any:
    """Whether the sign bit is set: True for -0 and for a NaN that has it."""
    return np.signbit(a)


@primitive
def isnan(a: Any) -> Any:
    """Whether `a` is NaN (for complex, either part); False for every integer."""
    return np.isnan(a)


@primitive
def floor(a: Any) -> Any:
    """The largest integral value not above `a`, in the dtype of `a`."""
    return np.floor(a)


@primitive
def trunc(a: Any) -> Any:
    """`a` without its fraction, in the dtype of `a`."""
    return np.trunc(a)


@primitive
def fmod(a: Any, b: Any) -> Any:
    """C's remainder, with the sign of `a`; exact. 0 for an integer divisor of zero."""
    return np.fmod(a, b)


@primitive
def truncdiv(a: Any, b: Any) -> Any:
    """Integer division rounded toward zero, as in C; wraps for the most negative integer over -1.

    A divisor of zero, where PyTorch raises before it computes, gives 0.
    """
    floored = np.floor_divide(a, b)
    inexact = a - floored * b != 0
    return floored + (inexact & (floored < 0))


@primitive
def floordiv(a: Any, b: Any) -> Any:
    """Integer division rounded down; wraps for the most negative integer over -1.

    A divisor of zero, where PyTorch raises before it computes, gives 0. Not for floats, whose floored
    quotient is a formula over `fmod` and `floor` (c10's `div_floor_floating`).
    """
    return np.floor_divide(a, b)


@primitive
def nextafter(a: Any, b: Any) -> Any:
    """The next float32 or float64 after `a` in the direction of `b`; `b` where the two are equal."""
    return np.nextafter(a, b)


@primitive
def nextafter_float16(a: Any, b: Any) -> Any:
    """`nextafter` on the float16 grid, for float32 operands that lie on it."""
    return _nextafter_on("float16", a, b)


@primitive
def nextafter_bfloat16(a: Any, b: Any) -> Any:
    """`nextafter` on the bfloat16 grid, for float32 operands that lie on it."""
    return _nextafter_on("bfloat16", a, b)


def _nextafter_on(format_name: str, a: Any, b: Any) -> Any:
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    code = encode(format_name, a)
    # Codes are sign and magnitude: one more is one further from zero.
    step = np.where((b > a) == (a > 0), 1, -1).astype(np.uint16)
    smallest = np.where(np.signbit(b), 0x8001, 0x0001).astype(np.uint16)
    following = decode(format_name, np.where(a == 0, smallest, code + step))
    return np.where(np.isnan(a) | np.isnan(b), a + b, np.where(a == b, b, following))[()]


def _fma32(a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32]) -> NDArray[np.float32]:
    """Through float64, where the product of two float32 is exact (48 bits, exponents within range).

    Rounding the sum to nearest in float64 and again in float32 would round twice. Rounding to odd first does
    not: with at least two extra bits it keeps on which side of every float32 midpoint the exact sum lies.
    """
    return _sum_to_odd(a.astype(np.float64) * b, c.astype(np.float64)).astype(np.float32)


def _fma64(a: Float64Array, b: Float64Array, c: Float64Array) -> Float64Array:
    """Boldo and Melquiond's emulation where no intermediate leaves the normal range, else exact fractions.

    S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd", IEEE Transactions on Computers 57(4), 2008.
    """
    product = a * b
    # Right as it stands where a or b is 0, infinite or NaN. An infinite c wins over an overflowed product.
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, product + c)

    # Where the product is at least 2**-960, its error is a multiple of 2**-1074 and so a float64 (the last
    # places of a and b multiply to 2**-106 of the product at least). The other conditions prevent overflow.
    size = np.abs(product)
    safe = (size >= 2.0**-960) & (size <= 2.0**1020) & (np.abs(c) <= 2.0**1020)
    safe &= (np.abs(a) <= 2.0**990) & (np.abs(b) <= 2.0**990)
    high, low = product, _product_error(a, b, product)
    upper, lower = _two_sum(c, low)
    total, rest = _two_sum(high, upper)
    result = np.where(safe, total + _sum_to_odd(lower, rest), plain)

    unsafe = ~safe & np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    for index in np.flatnonzero(unsafe):
        result.flat[index] = _fma_by_fractions(a.flat[index], b.flat[index], c.flat[index])
    return result


def _fma_by_fractions(a: Any, b: Any, c: Any) -> float:
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    try:
        # Python divides two integers with one rounding to nearest even, subnormal results included.
        return exact.numerator / exact.denominator
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


def _two_sum(a: Float64Array, b: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Knuth's exact sum: the rounded sum and its error."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _product_error(a: Float64Array, b: Float64Array, product: Float64Array) -> Float64Array:
    """Dekker's a * b - product, exact when the halves neither overflow nor underflow."""
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Veltkamp's split of a float64 into two halves of at most 26 bits."""
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _sum_to_odd(a: Float64Array, b: Float64Array) -> Float64Array:
    """a + b rounded to odd: of the two float64 around an inexact sum, the one whose last bit is 1."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    inexact = (error > 0) | (error < 0)  # not `!= 0`: where a sum is not finite the error is NaN
    away_from_zero = (error > 0) == (total > 0)
    step = np.where(away_from_zero, 1, -1)
    return (bits + np.where(inexact & (bits & 1 == 0), step, 0)).view(np.float64)
