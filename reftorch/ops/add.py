"""add(input, other, *, alpha=1) = input + alpha * other

C1  float32 and float64: the result is one of the formulas below, bit for bit; all agree when alpha is 1. The CPU and
    CUDA round once.  [ATen/native/cpu/BinaryOpsKernel.cpp, ATen/native/cuda/BinaryAddSubKernel.cu, torch/_refs]
C2  float16 and bfloat16 compute in float32 and round once at the end. On the CPU alpha is rounded to the dtype first,
    and the product too wherever the kernel does not fill a vector: both are legal, element by element.
    [ATen/native/cpu/BinaryOpsKernel.cpp]
C3  A number as input or other is converted to the result's dtype first: it is rounded, overflows to infinity, or wraps.
    [c10/core/Scalar.h, aten/native/BinaryOps.cpp]
C4  Integers wrap. For bool, + is "or" and alpha * other is "and".  [aten/native/cpu/BinaryOpsKernel.cpp]
C5  alpha may not be of a higher category than the result, and bool only where the result is bool: RuntimeError. An
    alpha that the dtype cannot hold is a RuntimeError.  [aten/native/BinaryOps.h, alpha_check]

>>> import reftorch as torch
>>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=3)
tensor([31, 62])
>>> torch.tensor([100, 27], dtype=torch.int8) + 100
tensor([-56, 127], dtype=torch.int8)
>>> torch.tensor([1.0], dtype=torch.float16) + 1e6
tensor([inf], dtype=torch.float16)
"""
from __future__ import annotations

from ..core import dtype as dtypes
from ..dispatch.operator import CPU_COMPILED, EVERYWHERE, GPU, GPU_INDUCTOR, On
from ..dispatch.pointwise import BOOL, COMPLEXES, FLOATS, INTS, Pointwise
from ..numerics.arith import fma
from ._alpha import alpha_fits, times_alpha

add = Pointwise(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    kernel="add_stub", types=BOOL + INTS + FLOATS + COMPLEXES, numbers=("self", "other"), operators=("__add__",),
    reflected=lambda self, number: self + number)

add.check_last(alpha_fits)


@add.formula(On("cpu"), dtypes=("float16", "bfloat16"))
def rounded_alpha(self, other, alpha, R):
    """fma(R(alpha), o, s)"""
    return fma(R(alpha), other, self)


@add.formula(On("cpu"), dtypes=("float16", "bfloat16"))
def rounded_product(self, other, alpha, R):
    """s + R(R(alpha)*o)"""
    return self + R(R(alpha) * other)


@add.formula(On("cpu"), *GPU, *GPU_INDUCTOR, dtypes=("float32", "float64"))
@add.formula(*GPU, *GPU_INDUCTOR, dtypes=("float16", "bfloat16"))
def fused(self, other, alpha):
    """fma(alpha, o, s)"""
    return fma(alpha, other, self)


# Triton decides whether to contract where Inductor does not ask for an fma: on CUDA since 2.12 it does.
@add.formula(*CPU_COMPILED, On("cuda", "inductor", until="2.12"), On("xpu", "inductor"), categories=(dtypes.FLOATING,))
@add.formula(*EVERYWHERE, categories=(dtypes.BOOL, dtypes.INTEGRAL, dtypes.COMPLEX))
def two_roundings(self, other, alpha):
    """s + alpha*o"""
    return self + alpha * other


add.derivatives(self=lambda grad: grad, other=lambda grad, alpha: times_alpha(grad, alpha))
