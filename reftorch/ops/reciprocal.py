"""reciprocal(input) = 1 / input

C1  The reciprocal, correctly rounded: a signed infinity for zeros, a signed zero for infinities. float16 and bfloat16
    divide in float32 and round once.  [IEEE 754-2019, 5.4.1; ATen/native/cpu/UnaryOpsKernel.cpp]
C2  Integers and bool become the default dtype first.  [torch.reciprocal documentation]
C3  Complex: not defined bit for bit.  [c10/util/complex.h]

>>> import reftorch as torch
>>> torch.reciprocal(torch.tensor([4.0, -0.0, float("-inf")]))
tensor([ 0.25,  -inf, -0.  ])
>>> torch.tensor([0, 8]).reciprocal()
tensor([  inf, 0.125])
"""
from __future__ import annotations

from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import COMPLEXES, FLOATS, Pointwise

reciprocal = Pointwise("reciprocal(Tensor self) -> Tensor", kernel="reciprocal_cpu", types=FLOATS + COMPLEXES,
                       int_to_float=True)


@reciprocal.formula(*EVERYWHERE)
def one_over(self):
    """1/s"""
    return 1 / self


reciprocal.derivatives(self=lambda grad, result: -grad * (result * result).conj())
