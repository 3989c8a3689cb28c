"""minimum(input, other): the smaller of two values

C1  If either operand is NaN, so is the result.  [torch.minimum documentation]
C2  Two zeros are equal whatever their signs, and either may come out: the CPU's vector instructions give the second,
    its scalar code the first; CUDA counts +0 as larger than -0.  [ATen/cpu/vec, cpu/BinaryOpsKernel.cpp, PTX ISA]
C3  Complex operands are a RuntimeError.  [aten/native/BinaryOps.cpp]
C4  Where the operands are equal, each gets half of the gradient.  [tools/autograd/derivatives.yaml]

>>> import reftorch as torch
>>> torch.minimum(torch.tensor([1.0, 5.0, float("nan")]), torch.tensor(3.0))
tensor([ 1.,  3., nan])
>>> torch.minimum(torch.tensor([True, False]), torch.tensor([False]))
tensor([False, False])
"""
from __future__ import annotations

from ..core import dtype as dtypes
from ..dispatch.operator import CPU_COMPILED, EVERYWHERE, GPU, GPU_INDUCTOR, On
from ..dispatch.pointwise import BOOL, FLOATS, INTS, Pointwise
from ._extrema import not_complex, share, smaller_first, smaller_ordered, smaller_second

minimum = Pointwise("minimum(Tensor self, Tensor other) -> Tensor", kernel="minimum_cpu", types=BOOL + INTS + FLOATS,
                  in_place=False)

minimum.check(not_complex("minimum"))


@minimum.formula(On("cpu"), *CPU_COMPILED, *GPU_INDUCTOR, categories=(dtypes.FLOATING,))
@minimum.formula(*EVERYWHERE, categories=(dtypes.BOOL, dtypes.INTEGRAL))
def second_of_equals(self, other):
    """s if s < o else o; NaN wins"""
    return smaller_second(self, other)


@minimum.formula(On("cpu"), On("cpu", "refs"), categories=(dtypes.FLOATING,))
def first_of_equals(self, other):
    """o if o < s else s; NaN wins"""
    return smaller_first(self, other)


@minimum.formula(*GPU, categories=(dtypes.FLOATING,))
def ordered_zeros(self, other):
    """the smaller, -0 below +0; NaN wins"""
    return smaller_ordered(self, other)


minimum.derivatives(
    self=lambda grad, self, other: share(grad, self == other, self > other),
    other=lambda grad, self, other: share(grad, self == other, self < other),
)
