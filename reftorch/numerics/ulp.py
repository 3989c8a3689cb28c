"""Distances between floats, counted in representable numbers.

The functions take float arrays of NumPy (float16, float32, float64), or arrays of codes with the name of
their format; uint16 without a name is bfloat16, which is how the project stores it. Complex arrays compare
part by part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reftorch.numerics.formats import FORMATS, FloatFormat

NAN_DISTANCE = int(np.iinfo(np.uint64).max)
"""The distance between NaN and anything else; no two numbers are that far apart."""


class Worst(NamedTuple):
    """The pair of elements that `worst` found: where, how far apart, and the two values."""

    position: tuple[int, ...]
    distance: int
    actual: Any
    expected: Any


def ordinal(x: Any, format_name: str | None = None) -> Any:
    """The position of each element among the numbers of its format, as int64: monotone, 0 for both zeros.

    Neighbours differ by one, the largest finite number and infinity too. A NaN lies beyond infinity.
    """
    spec, codes = _codes(np.asarray(x), format_name)
    magnitude = (codes & _unsigned(codes, ~spec.sign_mask)).astype(np.int64)
    return np.where((codes & _unsigned(codes, spec.sign_mask)) != 0, -magnitude, magnitude)[()]


def ulp_distance(a: Any, b: Any, format_name: str | None = None) -> Any:
    """How many steps of `nextafter` lead from `a` to `b`, as uint64 of their shape.

    0 between NaNs of any sign and payload and between the two zeros (see `same_bits`); `NAN_DISTANCE` between
    NaN and a number. For complex arrays the larger of the distances of the two parts.
    """
    a, b = np.asarray(a), np.asarray(b)
    if np.iscomplexobj(a):
        return np.maximum(ulp_distance(a.real, b.real), ulp_distance(a.imag, b.imag))
    left, right = ordinal(a, format_name), ordinal(b, format_name)
    # The difference of two float64 ordinals may need 64 bits; modulo 2**64 it is right as an unsigned number.
    with np.errstate(over="ignore"):
        distance = np.maximum(left, right).astype(np.uint64) - np.minimum(left, right).astype(np.uint64)
    nan_a, nan_b = _is_nan(a, format_name), _is_nan(b, format_name)
    distance = np.where(nan_a | nan_b, np.uint64(NAN_DISTANCE), distance)
    return np.where(nan_a & nan_b, np.uint64(0), distance)[()]


def same_bits(a: Any, b: Any, format_name: str | None = None) -> Any:
    """Whether elements are the same: bit for bit, except that every NaN is the same NaN. -0 and +0 differ.

    Also takes bool and integer arrays, which compare by value.
    """
    a, b = np.asarray(a), np.asarray(b)
    if np.iscomplexobj(a):
        return same_bits(a.real, b.real) & same_bits(a.imag, b.imag)
    if format_name is None and a.dtype != np.uint16 and a.dtype.kind in "biu":
        return a == b
    equal = _codes(a, format_name)[1] == _codes(b, format_name)[1]
    return equal | (_is_nan(a, format_name) & _is_nan(b, format_name))


def worst(actual: Any, expected: Any, format_name: str | None = None) -> Worst | None:
    """The pair of elements farthest apart, or None where all are the same in the sense of `same_bits`."""
    actual, expected = np.broadcast_arrays(actual, expected)
    different = np.flatnonzero(~same_bits(actual, expected, format_name))
    if different.size == 0:
        return None
    distance = np.ravel(ulp_distance(actual, expected, format_name))[different]
    farthest = different[np.argmax(distance)]
    position = tuple(int(i) for i in np.unravel_index(farthest, actual.shape))
    return Worst(position, int(distance.max()), actual[position], expected[position])


def _codes(x: NDArray[Any], format_name: str | None) -> tuple[FloatFormat, NDArray[Any]]:
    """The format of `x` and its codes."""
    name = format_name or ("bfloat16" if x.dtype == np.uint16 else x.dtype.name)
    if name not in FORMATS:
        raise TypeError(f"no floating-point format for an array of {x.dtype}: name one")
    spec = FORMATS[name]
    if x.dtype.itemsize * 8 != max(8, spec.bits) or x.dtype.kind not in "fu":
        raise TypeError(f"an array of {x.dtype} holds no {name}")
    return spec, np.ascontiguousarray(x).reshape(x.shape).view(f"uint{x.dtype.itemsize * 8}")


def _unsigned(codes: NDArray[Any], value: int) -> Any:
    """`value` in the dtype of `codes`, so that NumPy neither widens nor rejects the operation."""
    return np.asarray(value & int(np.iinfo(codes.dtype).max), codes.dtype)


def _is_nan(x: NDArray[Any], format_name: str | None) -> Any:
    spec, codes = _codes(x, format_name)
    if spec.specials == "fnuz":
        return codes == _unsigned(codes, spec.sign_mask)
    magnitude = codes & _unsigned(codes, ~spec.sign_mask)
    return magnitude > _unsigned(codes, spec.max_code + spec.has_inf)
