"""neg(input) = -input

C1  The sign bit is flipped, of zeros, infinities and NaN too; integers wrap, so the most negative is its own.
    [IEEE 754-2019, 5.5.1; aten/native/cpu/UnaryOpsKernel.cpp]
C2  A bool tensor is a RuntimeError.  [aten/native/UnaryOps.cpp]
C3  out= must have the dtype of input: RuntimeError.  [aten/native/TensorIterator.h, build_borrowing_unary_op]

>>> import reftorch as torch
>>> -torch.tensor([0.0, 1.5, float("inf")])
tensor([-0. , -1.5, -inf])
>>> torch.neg(torch.tensor([-128, 1], dtype=torch.int8))
tensor([-128,   -1], dtype=torch.int8)
"""
from __future__ import annotations

from ..core.dtype import bool_
from ..core.tensor import Tensor
from ..dispatch.function import composite
from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import COMPLEXES, FLOATS, INTS, Pointwise, exact_out

neg = Pointwise("neg(Tensor self) -> Tensor", kernel="neg_cpu", types=INTS + FLOATS + COMPLEXES, operators=("__neg__",),
                aliases=("negative",))

neg.check_target(exact_out)


@neg.check
def not_bool(self):
    if self.dtype is bool_:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert "
                           "a mask, use the `~` or `logical_not()` operator instead.")


@neg.formula(*EVERYWHERE)
def negated(self):
    """-s"""
    return -self


neg.derivatives(self=lambda grad: -grad)


@composite()
def positive(input):
    """positive(input) is input itself. Raises RuntimeError for bool."""
    if input.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


Tensor.__pos__ = positive  # type: ignore[operator]
