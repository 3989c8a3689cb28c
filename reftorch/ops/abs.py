"""abs(input) = |input|

C1  The sign bit is cleared, of zeros, infinities and NaN too; integers wrap, so the most negative is its own.
    [IEEE 754-2019, 5.5.1; aten/native/cpu/UnaryOpsKernel.cpp]
C2  Complex: the real hypotenuse, infinite if either part is; within an ulp.  [C11 cabs; c10/util/complex.h]
C3  In place, a complex tensor is a RuntimeError, since the result is real.  [aten/native/UnaryOps.cpp]
C4  out= must have the dtype of input, unless that is complex: RuntimeError.  [aten/native/UnaryOps.cpp]

>>> import reftorch as torch
>>> torch.abs(torch.tensor([-0.0, -2.5]))
tensor([0. , 2.5])
>>> torch.abs(torch.tensor([3 + 4j]))
tensor([5.])
>>> torch.abs(torch.tensor([-128, -127], dtype=torch.int8))
tensor([-128,  127], dtype=torch.int8)
"""
from __future__ import annotations

from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import COMPLEXES, FLOATS, INTS, Pointwise, exact_out
from ..numerics.arith import absolute
from .where import where

abs = Pointwise("abs(Tensor self) -> Tensor", kernel="abs_cpu", types=INTS + FLOATS + COMPLEXES,  # noqa: A001
                result=lambda d: d.to_real(), operators=("__abs__",), aliases=("absolute",))


@abs.check_target
def real_target(target, result, in_place, self):
    if not self.is_complex():
        exact_out(target, result, in_place)
    elif in_place:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    elif target.is_complex():
        exact_out(target, self.dtype, in_place)


@abs.formula(*EVERYWHERE)
def magnitude(self):
    """|s|"""
    return absolute(self)


def _direction(self):
    """sgn: the sign of a real tensor; the complex number of magnitude 1 in the same direction, or 0."""
    if not self.is_complex():
        return self.sign()
    size = abs.function(self)
    return where.function(size == 0, 0, self / size)


abs.derivatives(self=lambda grad, self: grad * _direction(self))
