"""mul(input, other) = input * other

C1  float32 and float64: the product, correctly rounded. float16 and bfloat16 multiply in float32 and round once.
    [IEEE 754-2019, 5.4.1; ATen/native/cpu/BinaryOpsKernel.cpp]
C2  A number or 0-dim tensor as other stays in float32 for 16-bit floats; everywhere else, and as input, a number is
    converted to the result's dtype first. `2 * x` is mul(x, 2).
    [ATen/native/cpu/BinaryOpsKernel.cpp, torch/_tensor.py]
C3  Integers wrap; for bool, * is "and".  [aten/native/cpu/BinaryOpsKernel.cpp]
C4  Complex: four products and two sums. Their roundings and contractions are not defined bit for bit.
    [c10/util/complex.h, ATen/cpu/vec]

>>> import reftorch as torch
>>> torch.tensor([100, -3], dtype=torch.int8) * 3
tensor([44, -9], dtype=torch.int8)
>>> torch.tensor([1.5], dtype=torch.float16) * 1e-3
tensor([0.0015], dtype=torch.float16)
>>> torch.mul(torch.tensor([0.0, 1.0]), float("inf"))
tensor([nan, inf])
"""
from __future__ import annotations

from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import BOOL, COMPLEXES, FLOATS, INTS, UNSIGNED, Pointwise
from ._gradients import conj

mul = Pointwise(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    kernel="mul_cpu", types=BOOL + INTS + UNSIGNED + FLOATS + COMPLEXES, opmath=("other",), numbers=("self", "other"),
    operators=("__mul__",), reflected=lambda self, number: self * number, aliases=("multiply",))


@mul.formula(*EVERYWHERE)
def product(self, other):
    """s*o"""
    return self * other


mul.derivatives(
    self=lambda grad, other: grad * conj(other),
    other=lambda grad, self: grad * conj(self),
)
