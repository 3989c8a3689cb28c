"""addcdiv(input, tensor1, tensor2, *, value=1) = input + value * tensor1 / tensor2

C1  The result is one of the formulas below, bit for bit: which one depends on the device, on how the operator is run
    and on the release.  [ATen/native/cpu/PointwiseOpsKernel.cpp, cuda/DeviceAddCmulCdiv.cuh, torch/_refs]
C2  IEEE 754 decides the special cases: x/0 is a signed infinity, 0/0 is NaN, value 0 times an infinite quotient is
    NaN, signed zeros are kept.  [IEEE 754-2019, 6 and 7]
C3  tensor1 and tensor2 may not both be integral, whatever input is: RuntimeError.  [aten/native/PointwiseOps.cpp]
C4  value is converted once, to the type the kernel computes in; a number that type cannot hold is a RuntimeError.
    [c10/core/Scalar.h]

>>> import reftorch as torch
>>> torch.addcdiv(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]), torch.tensor([4.0, 0.0]), value=2)
tensor([1.5, inf])
>>> x = torch.tensor([1.0])
>>> x.addcdiv_(torch.tensor([3.0]), torch.tensor([2.0]))
tensor([2.5])
"""
from __future__ import annotations

from ..core.dtype import COMPLEX, FLOATING
from ..dispatch.operator import GPU, GPU_INDUCTOR, On, gpu
from ..dispatch.pointwise import COMPLEXES, FLOATS, Pointwise
from ..numerics.arith import fma, select
from .div import div

addcdiv = Pointwise(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel="addcdiv_cpu_out", types=FLOATS + COMPLEXES)


@addcdiv.check
def no_integer_division(tensor1, tensor2, **_):
    if tensor1.dtype.category < FLOATING and tensor2.dtype.category < FLOATING:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes.")


@addcdiv.formula(On("cpu"), On("cpu", "refs"))
def multiply_first(self, tensor1, tensor2, value):
    """s + (v*t1)/t2"""
    return self + (value * tensor1) / tensor2


@addcdiv.formula(*gpu(since="2.12"), *gpu("inductor", since="2.12"), categories=(FLOATING,))
def unit_or_fused(self, tensor1, tensor2, value):
    """s + t1/t2 if v == 1 else fma(v, t1/t2, s)"""
    quotient = tensor1 / tensor2
    return select(value == 1, self + quotient, fma(value, quotient, self))


# Before 2.12 the CUDA source said a + alpha * (b / c) and left it to the compiler whether to contract: both are legal.
@addcdiv.formula(*gpu(until="2.12"), *gpu("inductor", until="2.12"), categories=(FLOATING,))
def contracted(self, tensor1, tensor2, value):
    """fma(v, t1/t2, s)"""
    return fma(value, tensor1 / tensor2, self)


@addcdiv.formula(On("cpu", "inductor"), *gpu(until="2.12"), *gpu("inductor", until="2.12"), categories=(FLOATING,))
@addcdiv.formula(On("cpu", "inductor"), *GPU, *GPU_INDUCTOR, categories=(COMPLEX,))
def divide_first(self, tensor1, tensor2, value):
    """s + v*(t1/t2)"""
    return self + value * (tensor1 / tensor2)


addcdiv.derivatives(
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * div.function(value, tensor2).conj(),
    tensor2=lambda grad, tensor1, tensor2, value: -grad * (value * tensor1 / (tensor2 * tensor2)).conj(),
)
