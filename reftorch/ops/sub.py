"""sub(input, other, *, alpha=1) = input - alpha * other

C1  float32 and float64: the result is one of the formulas below, bit for bit; all agree when alpha is 1. The CPU and
    CUDA round once.  [ATen/native/cpu/BinaryOpsKernel.cpp, ATen/native/cuda/BinaryAddSubKernel.cu, torch/_refs]
C2  float16 and bfloat16 compute in float32 and round once at the end. On the CPU alpha is rounded to the dtype first,
    and the product too wherever the kernel does not fill a vector: both are legal, element by element.
    [ATen/native/cpu/BinaryOpsKernel.cpp]
C3  A number as input or other is converted to the result's dtype first: it is rounded, overflows to infinity, or wraps.
    `2 - x` and rsub(x, 2) are sub(2, x).  [c10/core/Scalar.h, aten/native/BinaryOps.cpp]
C4  Integers wrap.  [aten/native/cpu/BinaryOpsKernel.cpp]
C5  Neither operand may be bool: RuntimeError.  [aten/native/BinaryOps.h, sub_check]
C6  alpha may not be of a higher category than the result: RuntimeError. An alpha that the dtype cannot hold is a
    RuntimeError.  [aten/native/BinaryOps.h, alpha_check]

>>> import reftorch as torch
>>> torch.sub(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), alpha=0.5)
tensor([-0.5,  0. ])
>>> 2 - torch.tensor([0, 3], dtype=torch.uint8)
tensor([  2, 255], dtype=torch.uint8)
>>> torch.tensor([True]) - torch.tensor([True])
Traceback (most recent call last):
RuntimeError: Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` \
operator instead.
"""
from __future__ import annotations

from ..core import dtype as dtypes
from ..core.tensor import Tensor
from ..dispatch.function import composite
from ..dispatch.operator import CPU_COMPILED, EVERYWHERE, GPU, GPU_INDUCTOR, On
from ..dispatch.pointwise import COMPLEXES, FLOATS, INTS, Pointwise
from ..numerics.arith import fma
from ._alpha import alpha_fits, times_alpha

sub = Pointwise(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    kernel="add_stub", types=INTS + FLOATS + COMPLEXES, numbers=("self", "other"), operators=("__sub__",),
    aliases=("subtract",))


@sub.check
def not_bool(self, other, **_):
    bools = [x.dtype is dtypes.bool_ if isinstance(x, Tensor) else isinstance(x, bool) for x in (self, other)]
    if all(bools):
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                           "`logical_xor()` operator instead.")
    if any(bools):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                           "invert a mask, use the `~` or `logical_not()` operator instead.")


sub.check_last(alpha_fits)


@sub.formula(On("cpu"), dtypes=("float16", "bfloat16"))
def rounded_alpha(self, other, alpha, R):
    """fma(-R(alpha), o, s)"""
    return fma(-R(alpha), other, self)


@sub.formula(On("cpu"), dtypes=("float16", "bfloat16"))
def rounded_product(self, other, alpha, R):
    """s - R(R(alpha)*o)"""
    return self - R(R(alpha) * other)


@sub.formula(On("cpu"), *GPU, dtypes=("float32", "float64"))
@sub.formula(*GPU, dtypes=("float16", "bfloat16"))
@sub.formula(*GPU_INDUCTOR, categories=(dtypes.FLOATING,))
def fused(self, other, alpha):
    """fma(-alpha, o, s)"""
    return fma(-alpha, other, self)


# Inductor leaves it to Triton whether to contract: both are legal there.
@sub.formula(*CPU_COMPILED, *GPU_INDUCTOR, categories=(dtypes.FLOATING,))
@sub.formula(*EVERYWHERE, categories=(dtypes.INTEGRAL, dtypes.COMPLEX))
def two_roundings(self, other, alpha):
    """s - alpha*o"""
    return self - alpha * other


@composite(method=False)
def rsub(input, other, *, alpha=1):
    """rsub(input, other, *, alpha=1) = other - alpha * input: sub with its operands swapped."""
    return sub.function(other, input, alpha=alpha)


sub.derivatives(self=lambda grad: grad, other=lambda grad, alpha: -times_alpha(grad, alpha))
