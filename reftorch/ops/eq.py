"""eq(input, other): whether they are equal, as bool

C1  The comparison is made in the promoted dtype, so a rounding on the way counts; NaN equals nothing, -0 equals +0.
    [aten/native/BinaryOps.cpp, IEEE 754-2019, 5.11]
C2  A number is converted to the promoted dtype first: it is rounded, overflows to infinity, or wraps, so int8(-128)
    equals 128.  [c10/core/Scalar.h, aten/native/BinaryOps.cpp]
C3  Complex numbers are equal if both parts are.  [c10/util/complex.h]
C4  out= may have any dtype, and in place the result takes that of input: 1 and 0.  [aten/native/BinaryOps.cpp]
C5  The result never requires grad; in place, the gradients of both operands are 0.  [tools/autograd/derivatives.yaml]

>>> import reftorch as torch
>>> torch.tensor([1.0, float("nan"), -0.0]) == torch.tensor([1.0, float("nan"), 0.0])
tensor([ True, False,  True])
>>> torch.eq(torch.tensor([16777217]), 16777216.0)
tensor([ True])
>>> torch.tensor([1, 2]) == None
False
"""
from __future__ import annotations

from ..core.dtype import bool_
from ..core.tensor import Tensor
from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import BOOL, COMPLEXES, FLOATS, INTS, UNSIGNED, Pointwise
from ._factories import zeros_like

eq = Pointwise(
    "eq.Tensor(Tensor self, Tensor other) -> Tensor",
    "eq.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="eq_cpu", types=BOOL + INTS + UNSIGNED + FLOATS + COMPLEXES, result=lambda d: bool_,
    operators=("__eq__",))


@eq.formula(*EVERYWHERE)
def equal(self, other):
    """s == o"""
    return self == other


eq.derivatives(self=lambda grad: zeros_like(grad), other=lambda grad: zeros_like(grad))
eq.node_name = lambda self, other: f"EqBackward{int(isinstance(other, Tensor))}"
