"""Type promotion: which dtype an operation on mixed operands computes in.

Source: "Type promotion" in torch.tensor_attributes' documentation; c10::promoteTypes; at::native::result_type.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import dtype as dtypes
from .dtype import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype
from .tensor import Tensor

_FLOAT_OF_COMPLEX = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}
_SIGNED = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest dtype that both convert to. Raises RuntimeError for pairs that have none (float8, wide unsigned)."""
    if a is b:
        return a
    if a.storage_only or b.storage_only:
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {a.scalar_type} and "
                           f"{b.scalar_type}")
    if a.category < b.category:
        a, b = b, a  # a has the higher category
    if a.category == COMPLEX:
        wide = promote_types(_FLOAT_OF_COMPLEX[a], _FLOAT_OF_COMPLEX.get(b, b))
        return dtypes.complex128 if wide is dtypes.float64 else dtypes.complex64
    if a.category == FLOATING:
        if b.category < FLOATING:
            return a
        if a.itemsize == b.itemsize:  # float16 and bfloat16
            return dtypes.float32
        return a if a.itemsize > b.itemsize else b
    if a.category == INTEGRAL:
        if b.category == BOOL:
            return a
        if a.is_signed == b.is_signed:
            return a if a.itemsize > b.itemsize else b
        signed, unsigned = (a, b) if a.is_signed else (b, a)
        if unsigned is not dtypes.uint8:
            raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                               f"{a.scalar_type} and {b.scalar_type}")
        return dtypes.int16 if signed is dtypes.int8 else signed
    return a


def dtype_of_number(number: Any) -> dtype:
    """The dtype that a Python number stands for when nothing else decides."""
    if isinstance(number, bool):
        return dtypes.bool_
    if isinstance(number, int):
        return dtypes.int64
    if isinstance(number, float):
        return dtypes.get_default_dtype()
    return dtypes.get_default_dtype().to_complex() if dtypes.get_default_dtype() in (
        dtypes.float32, dtypes.float64) else dtypes.complex64


def result_type(*operands: Tensor | complex) -> dtype:
    """The dtype that an operation on these tensors and Python numbers computes in.

    Three tiers: tensors with dimensions, 0-dim tensors, Python numbers. A lower tier counts only if its category
    (bool < integer < float < complex) is higher than everything above it.
    """
    tiers: list[dtype | None] = [None, None, None]
    for x in operands:
        if isinstance(x, Tensor):
            tier, d = (0 if x.ndim else 1), x.dtype
        else:
            tier, d = 2, dtype_of_number(x)
        known = tiers[tier]
        tiers[tier] = d if known is None else promote_types(known, d)
    found: dtype | None = None
    for d in tiers:
        if d is None:
            continue
        if found is None:
            found = d
        elif d.category > found.category:
            # A complex number beside real tensors keeps their precision.
            found = found.to_complex() if d.category == COMPLEX and found.category == FLOATING and \
                found.itemsize >= 4 and d.itemsize != 16 else promote_types(found, d)
    assert found is not None
    return found


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether an in-place or out= result of dtype `source` may be stored as `target`: never down a category."""
    if source.category > target.category and source.category > BOOL:
        # bool takes bool only; integers do not take floats; real does not take complex
        return False
    return not (source.category != BOOL and target.category == BOOL)


def common_type(operands: Iterable[Tensor | complex], int_to_float: bool = False) -> dtype:
    """result_type, with integers and bool lifted to the default dtype for operators that only exist on floats."""
    d = result_type(*operands)
    return dtypes.get_default_dtype() if int_to_float and d.category < FLOATING else d
