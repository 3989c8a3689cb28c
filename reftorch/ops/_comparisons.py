"""Comparisons of whole tensors: equal, allclose, is_nonzero.

Source: ATen/native/TensorCompare.cpp.
"""
from __future__ import annotations

import numpy as np

from ..core.dtype import FLOATING, get_default_dtype
from ..core.promotion import promote_types
from ..core.tensor import Tensor
from ..dispatch.arguments import tensor
from ..dispatch.cast import converted
from ..dispatch.function import composite, function


@function("equal(Tensor self, Tensor other) -> bool", differentiable=False)
def equal(self, other):
    """Whether both have the same size and equal elements (so NaN is unequal to itself).

    Different dtypes are compared in their common one. Raises RuntimeError for different devices.
    """
    if self.device is not other.device:
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{self.device} and {other.device}!")
    if self.shape != other.shape:
        return False
    common = promote_types(self.dtype, other.dtype)
    return bool(np.array_equal(converted(self, common)._values(), converted(other, common)._values()))


@composite()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether everywhere input == other, or |input - other| is finite and <= atol + |rtol * other|.

    Each operation rounds to the tensors' dtype. equal_nan: NaN equals NaN. Raises RuntimeError for different dtypes or
    negative tolerances.
    """
    tensor(input, "allclose", "input", 1), tensor(other, "allclose", "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.scalar_type} did not match {other.dtype.scalar_type}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    input, other = input.detach(), other.detach()
    a, b = input._values(), np.asarray(other._values())
    close = a == b
    if equal_nan and input.dtype.category >= FLOATING:
        close = close | (np.isnan(a) & np.isnan(b))
    if rtol or atol:
        if input.dtype.category < FLOATING:
            other = other.to(get_default_dtype())
        allowed = other.mul(rtol).abs().add(atol)._values()
        actual = input.sub(other).abs()._values()
        with np.errstate(invalid="ignore"):
            close = close | (np.isfinite(actual) & (actual <= allowed))
    return bool(np.all(close))


@composite()
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0. Raises RuntimeError unless there is one."""
    return bool(input)
