"""Array twins of `formats`: between float arrays and the integer codes of any format, as c10 converts.

NumPy has neither bfloat16 nor the 8-bit formats, so their arrays are arrays of codes (uint16, uint8). Every
function takes and returns NumPy arrays or NumPy scalars of any shape, and never warns.

c10 has one conversion to a format of 16 bits or fewer, and it starts at float32. A double is therefore
rounded twice, to float32 and then to the format: 1 + 2**-8 + 2**-40 becomes 1 in bfloat16, although the next
number up is nearer. These functions do the same.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reftorch.numerics.formats import FORMATS

_FLOAT32_INF = 0x7F800000
_BFLOAT16_NAN = np.uint16(FORMATS["bfloat16"].encode(np.nan))


def bfloat16_to_float32(codes: Any) -> Any:
    """The float32 values of bfloat16 codes (uint16); exact."""
    return (np.asarray(codes, np.uint16).astype(np.uint32) << 16).view(np.float32)[()]


def float32_to_bfloat16(x: Any) -> Any:
    """The bfloat16 codes (uint16) nearest to float32 values, ties to even.

    Every NaN becomes 0x7fc0, sign dropped, as in c10's scalar `round_to_nearest_even`. (ATen's vectorised
    store writes 0xffff instead, so which NaN comes out of an operator is not specified.)
    """
    bits = np.asarray(x, np.float32).view(np.uint32)
    # Adding just under half a unit, or exactly half where the last kept bit is odd, carries where RNE rounds
    # up; the carry out of the largest finite number gives infinity.
    with np.errstate(over="ignore"):  # the bits of a NaN may wrap
        codes = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), _BFLOAT16_NAN, codes)[()]


def encode(format_name: str, x: Any) -> Any:
    """The codes of `x` in a format: unsigned integers of 8, 16, 32 or 64 bits.

    x: float32 or float64; rounded to float32 first where the format has 16 bits or fewer (see the module).
    Raises KeyError for an unknown format and ValueError for NaN where the format has none.
    """
    spec = FORMATS[format_name]
    with np.errstate(all="ignore"):
        x = np.asarray(x)
        if format_name == "float64":
            return x.astype(np.float64).view(np.uint64)[()]
        x = x.astype(np.float32)
        if format_name == "float32":
            return x.view(np.uint32)[()]
        if format_name == "bfloat16":
            return float32_to_bfloat16(x)
        if format_name == "float16":
            return x.astype(np.float16).view(np.uint16)[()]
    bits = x.view(np.uint32)
    negative = np.signbit(x)
    first, thresholds = _thresholds(format_name)
    codes = (first + np.searchsorted(thresholds, bits & 0x7FFFFFFF, side="right")).astype(np.uint8)
    if spec.signed:
        signed = negative & (spec.has_negative_zero | (codes != 0))
        codes |= np.where(signed, spec.sign_mask, 0).astype(np.uint8)
    nan = np.isnan(x)
    if nan.any():
        codes = np.where(nan, np.where(negative, spec.encode(-np.nan), spec.encode(np.nan)), codes)
    return codes.astype(np.uint8)[()]


def decode(format_name: str, codes: Any) -> Any:
    """The values of codes of a format; exact. float64 for "float64", float32 for every other format.

    codes: unsigned integers as `encode` gives them. Raises KeyError for an unknown format.
    """
    spec = FORMATS[format_name]
    if spec.bits <= 8:
        return _values(format_name)[codes]
    if format_name == "bfloat16":
        return bfloat16_to_float32(codes)
    codes = np.asarray(codes, f"uint{spec.bits}")
    values = codes.view(f"float{spec.bits}")
    return (values.astype(np.float32) if format_name == "float16" else values)[()]


def round_to(format_name: str, x: Any) -> Any:
    """`x` rounded to a format, in the dtype of `x`: the `R` of a formula.

    x: float32 or float64. The identity where `x` has the format already.
    """
    dtype = np.asarray(x).dtype
    return x if dtype.name == format_name else decode(format_name, encode(format_name, x)).astype(dtype)


@cache
def _values(format_name: str) -> NDArray[np.float32]:
    """The value of every code of a format of 8 bits or fewer."""
    spec = FORMATS[format_name]
    return np.array([float(spec.decode(code)) for code in range(1 << spec.bits)], np.float32)


@cache
def _thresholds(format_name: str) -> tuple[int, NDArray[np.uint32]]:
    """The code of zero, and for each later code the bits of the smallest positive float32 that reaches it.

    Encoding is monotone on the positive float32 values, infinity included, and their bit patterns are ordered
    as they are, so a bisection against the scalar specification finds each threshold.
    """
    spec = FORMATS[format_name]

    def code(bits: int) -> int:
        return spec.encode(float(np.uint32(bits).view(np.float32)))

    first = code(0)
    thresholds: list[int] = []
    for target in range(first + 1, code(_FLOAT32_INF) + 1):
        low, high = thresholds[-1] if thresholds else 0, _FLOAT32_INF
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if code(middle) >= target else (middle + 1, high)
        thresholds.append(low)
    return first, np.array(thresholds, np.uint32)
