"""copysign(input, other): the magnitude of input with the sign bit of other

C1  Only the sign bit changes, of zeros, infinities and NaN too; the sign bits of zeros and NaN in other count.
    [IEEE 754-2019, 5.5.1]
C2  Integers and bool become the default dtype first.  [torch.copysign documentation]
C3  Complex is a NotImplementedError.  [aten/native/cpu/BinaryOpsKernel.cpp]
C4  The gradient of input is 0 where input is 0; other has none but zeros.  [FunctionsManual.cpp]

>>> import reftorch as torch
>>> torch.copysign(torch.tensor([1.0, -2.0, 0.0]), -0.0)
tensor([-1., -2., -0.])
>>> torch.copysign(torch.tensor([1, 2]), torch.tensor([-1, 1]))
tensor([-1.,  2.])
"""
from __future__ import annotations

from ..core.tensor import Tensor
from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import FLOATS, Pointwise
from ..numerics import arith
from ._factories import zeros_like
from .where import where

copysign = Pointwise(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    "copysign.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="copysign_cpu", types=FLOATS, int_to_float=True)


@copysign.formula(*EVERYWHERE)
def with_sign(self, other):
    """copysign(s, o)"""
    return arith.copysign(self, other)


copysign.derivatives(
    self=lambda grad, self, result: grad * where.function(self == 0, 0, result / self),
    other=lambda grad: zeros_like(grad),
)
copysign.node_name = lambda self, other: f"CopysignBackward{int(not isinstance(other, Tensor))}"
