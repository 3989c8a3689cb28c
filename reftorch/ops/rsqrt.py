"""rsqrt(input) = 1 / sqrt(input)

C1  On the CPU, two roundings: the reciprocal of the correctly rounded root. Infinity with the sign of a zero, NaN below
    zero.  [ATen/native/cpu/UnaryOpsKernel.cpp, IEEE 754-2019, 5.4.1]
C2  float16 and bfloat16 compute in float32 and round once; where the CPU kernel does not fill a vector, the root is
    rounded to the dtype too. Both are legal, element by element.  [ATen/native/cpu/UnaryOpsKernel.cpp]
C3  CUDA calls rsqrt, which is within 2 ulp in float32 and 1 ulp in float64.  [CUDA C++ Programming Guide, 13.1]
C4  Integers and bool become the default dtype first.  [torch.rsqrt documentation]
C5  Complex: not defined bit for bit.  [c10/util/complex.h]

>>> import reftorch as torch
>>> torch.rsqrt(torch.tensor([4.0, 0.0, -1.0]))
tensor([0.5, inf, nan])
>>> torch.rsqrt(torch.tensor([16]))
tensor([0.25])
"""
from __future__ import annotations

from ..dispatch.operator import EVERYWHERE, On
from ..dispatch.pointwise import COMPLEXES, FLOATS, Pointwise
from ..numerics.arith import sqrt

rsqrt = Pointwise("rsqrt(Tensor self) -> Tensor", kernel="rsqrt_cpu", types=FLOATS + COMPLEXES, int_to_float=True)


@rsqrt.formula(*EVERYWHERE)
def reciprocal_root(self):
    """1/sqrt(s)"""
    return 1 / sqrt(self)


@rsqrt.formula(On("cpu"), dtypes=("float16", "bfloat16"))
def rounded_root(self, R):
    """1/R(sqrt(s))"""
    return 1 / R(sqrt(self))


rsqrt.derivatives(self=lambda grad, result: -0.5 * grad * (result * result * result).conj())
