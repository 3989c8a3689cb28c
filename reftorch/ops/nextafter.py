"""nextafter(input, other): the next number after input in the direction of other

C1  The next number of the dtype itself, for float16 and bfloat16 too; other where the two are equal, so its zero.
    [IEEE 754-2019, 5.3.1; C11 nextafter; c10/util/BFloat16-math.h]
C2  NaN if either operand is NaN. The step from zero is the smallest subnormal, the step from infinity the largest
    finite number.  [C11 nextafter]
C3  Integers, bool and complex: NotImplementedError.  [aten/native/cpu/BinaryOpsKernel.cpp]
C4  The gradient goes to input, except where the operands are equal: there it is 0.  [tools/autograd/derivatives.yaml]

>>> import reftorch as torch
>>> torch.nextafter(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 0.0])) - 1
tensor([ 1.1921e-07, -1.0000e+00])
>>> torch.nextafter(torch.tensor([1.0], dtype=torch.bfloat16), torch.tensor([2.0], dtype=torch.bfloat16))
tensor([1.0078], dtype=torch.bfloat16)
"""
from __future__ import annotations

from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import FLOATS, Pointwise
from ..numerics import arith
from ._factories import zeros_like
from .where import where

nextafter = Pointwise("nextafter(Tensor self, Tensor other) -> Tensor", kernel="nextafter_cpu", types=FLOATS)


@nextafter.formula(*EVERYWHERE, dtypes=("float32", "float64"))
def neighbour(self, other):
    """nextafter(s, o)"""
    return arith.nextafter(self, other)


@nextafter.formula(*EVERYWHERE, dtypes=("float16",))
def neighbour_float16(self, other):
    """nextafter(s, o) in float16"""
    return arith.nextafter_float16(self, other)


@nextafter.formula(*EVERYWHERE, dtypes=("bfloat16",))
def neighbour_bfloat16(self, other):
    """nextafter(s, o) in bfloat16"""
    return arith.nextafter_bfloat16(self, other)


nextafter.derivatives(
    self=lambda grad, self, other: where.function(self == other, 0, grad),
    other=lambda grad: zeros_like(grad),
)
