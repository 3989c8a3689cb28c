"""Number parameters (alpha, value, weight): from Python to the type a kernel computes in.

Source: c10::Scalar::to and c10::checked_convert: a number that the type cannot hold is an error, not a wrap.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtype as dtypes
from ..core.dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype
from ..core.tensor import Tensor

C_NAMES = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
            "float64": "double", "float32": "float", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
            "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "bool": "bool",
            "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t"}
# The names in some other error texts, which come from the compiler.
TYPE_NAMES = C_NAMES | {"uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int64": "long int",
                        "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int"}
_LARGEST = {"float32": float(np.finfo(np.float32).max), "float16": 65504.0,
            "bfloat16": float(np.uint32(0x7F7F0000).view(np.float32))}


def fits_a_scalar(number: Any) -> Any:
    """`number`. Raises OverflowError for an integer outside what a Scalar holds, int64 and uint64."""
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 64:
        raise OverflowError("int too big to convert" if number > 0 else "can't convert negative int to unsigned")
    return number


def number_converter(to: dtype, common: dtype) -> Callable[[Any], Any]:
    """checked_number for these dtypes as a function of the number alone, quick for what needs no work."""
    if to.category == FLOATING:
        def convert(number: Any) -> Any:
            if number.__class__ is int and -65504 <= number <= 65504:
                return number
            return checked_number(number, common, to)
        return convert
    if to.category == INTEGRAL:
        def convert(number: Any) -> Any:
            return number if number.__class__ is int and 0 <= number <= 127 else checked_number(number, common, to)
        return convert
    return lambda number: checked_number(number, common, to)


def checked_number(number: Any, common: dtype, to: dtype) -> Any:
    """`number` for a kernel that computes in `to` (`common` or its compute type).

    Integers truncate floats towards zero. Raises RuntimeError with PyTorch's text if `to` cannot hold the number.
    """
    if isinstance(number, Tensor):
        number = number.item()
    fits_a_scalar(number)
    if isinstance(number, complex) and to.category != COMPLEX:
        if number.imag:
            _refuse(to)
        number = number.real
    if to.category == BOOL:
        return bool(number)
    if to.category == FLOATING:
        value = float(number)
        largest = _LARGEST.get(to.name)
        if largest is not None and abs(value) > largest and abs(value) != float("inf"):
            _refuse(to)
        return value
    if to.category == COMPLEX:
        whole = complex(number)
        if to is dtypes.complex64 and any(abs(p) > _LARGEST["float32"] and abs(p) != float("inf")
                                          for p in (whole.real, whole.imag)):
            _refuse(to)
        return whole
    bits = 8 * to.itemsize
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if to.is_signed else (-(1 << bits) + 1, (1 << bits) - 1)
    if isinstance(number, float) and not to.is_signed:
        low = 0  # negative integers wrap in an unsigned type, negative floats do not fit
    if not low <= number <= high:
        _refuse(to)
    integer = int(number)
    return integer if integer >= 0 or to.is_signed else integer & ((1 << bits) - 1)


def _refuse(to: dtype) -> Any:
    raise RuntimeError(f"value cannot be converted to type {C_NAMES[to.name]} without overflow")
