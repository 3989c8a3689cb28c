"""Type promotion: which dtype an operation on mixed operands computes in.

Source: "Type promotion" in torch.tensor_attributes' documentation; c10::promoteTypes; at::native::result_type.
"""
from __future__ import annotations

from collections.abc import Iterable

from . import dtype as dtypes
from .dtype import BOOL, COMPLEX, FLOATING, dtype
from .tensor import Tensor

_WIDE_UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that both convert to.

    Raises RuntimeError for pairs that have none: float8 with anything else, uint16/32/64 with anything but floats.
    """
    if a is b:
        return a
    if a.storage_only or b.storage_only:
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {a.scalar_type} and "
                           f"{b.scalar_type}")
    high, low = (a, b) if a.category >= b.category else (b, a)
    if (a in _WIDE_UNSIGNED or b in _WIDE_UNSIGNED) and high.category != FLOATING:
        raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                           f"{a.scalar_type} and {b.scalar_type}")
    if high.category == COMPLEX:
        part = promote_types(high.to_real(), low.to_real())
        return dtypes.complex128 if part is dtypes.float64 else dtypes.complex64
    if high.category != low.category:
        return high
    if high.category == FLOATING and a.itemsize == b.itemsize:  # float16 and bfloat16
        return dtypes.float32
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    signed = a if a.is_signed else b  # the other is uint8
    return dtypes.int16 if signed is dtypes.int8 else signed


def dtype_of_number(number: complex) -> dtype:
    """The dtype that a Python number stands for when nothing else decides."""
    if isinstance(number, bool):
        return dtypes.bool_
    if isinstance(number, int):
        return dtypes.int64
    return dtypes.get_default_dtype() if isinstance(number, float) else to_complex(dtypes.get_default_dtype())


def to_complex(d: dtype) -> dtype:
    """The complex dtype for parts of type `d`.

    Raises RuntimeError for float8, NotImplementedError for float16, whose complex32 is not covered.
    """
    if d.storage_only:
        raise RuntimeError(f"Unknown Complex ScalarType for {d.scalar_type}")
    if d is dtypes.float16:
        raise NotImplementedError("torch.complex32 is not covered")
    return dtypes.complex128 if d is dtypes.float64 else dtypes.complex64


def _combine(high: dtype | None, low: dtype | None) -> dtype | None:
    """The dtype of two tiers together; a tier that has no operand is None. Source: combine_categories."""
    if high is None or low is None:
        return high or low
    if high.category == COMPLEX or high.category == FLOATING and low.category != COMPLEX:
        return high
    if low.category == COMPLEX:
        return to_complex(high) if high.category == FLOATING else low
    if high.category == BOOL or low.category == FLOATING:
        return promote_types(high, low)
    return high


def result_type(*operands: Tensor | complex) -> dtype:
    """The dtype that an operation on these tensors and Python numbers computes in.

    Three tiers: tensors with dimensions, 0-dim tensors, Python numbers. A lower tier counts only if its category
    (bool < integer < float < complex) is higher than everything above it.
    """
    tiers: list[dtype | None] = [None, None, None]
    for x in operands:
        tier, d = ((0 if x.ndim else 1), x.dtype) if isinstance(x, Tensor) else (2, dtype_of_number(x))
        known = tiers[tier]
        tiers[tier] = d if known is None else promote_types(known, d)
    found = _combine(_combine(tiers[0], tiers[1]), tiers[2])
    assert found is not None, "result_type() needs an operand"
    return found


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether an in-place or out= result of dtype `source` may be stored as `target`: never down a category."""
    if source.category == BOOL or target.category == BOOL:
        return source.category == BOOL
    return source.category <= target.category


def common_type(operands: Iterable[Tensor | complex], int_to_float: bool = False) -> dtype:
    """result_type, with integers and bool lifted to the default dtype for operators that only exist on floats."""
    d = result_type(*operands)
    return dtypes.get_default_dtype() if int_to_float and d.category < FLOATING else d
