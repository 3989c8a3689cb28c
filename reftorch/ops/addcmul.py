"""addcmul(input, tensor1, tensor2, *, value=1) = input + value * tensor1 * tensor2

C1  The result is one of the formulas below, bit for bit: which one depends on the device, on how the operator is run
    and on the release.  [ATen/native/cpu/PointwiseOpsKernel.cpp, cuda/DeviceAddCmulCdiv.cuh, torch/_refs]
C2  IEEE 754 decides the special cases: 0 times infinity is NaN, signed zeros are kept.  [IEEE 754-2019, 6 and 7]
C3  Integers wrap; value is truncated to an integer first.  [aten/native/PointwiseOps.cpp]
C4  value is converted once, to the type the kernel computes in; a number that type cannot hold is a RuntimeError.
    [c10/core/Scalar.h]
C5  On CUDA, tensor2 may be a CPU tensor without dimensions; input and tensor1 may not: RuntimeError.
    [aten/native/cuda/PointwiseOpsKernel.cu]

>>> import reftorch as torch
>>> torch.addcmul(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([0.5, 2.0]), value=2)
tensor([ 4., 18.])
>>> torch.addcmul(torch.tensor([1, 2]), torch.tensor([3, 4]), torch.tensor([5, 6]), value=2.5)
tensor([31, 50])
"""
from __future__ import annotations

from ..core.dtype import COMPLEX, FLOATING, INTEGRAL
from ..dispatch.operator import GPU, GPU_INDUCTOR, On, gpu
from ..dispatch.pointwise import COMPLEXES, FLOATS, INTS, Pointwise
from ..numerics.arith import fma, select

addcmul = Pointwise(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel="addcmul_cpu_out", types=INTS + FLOATS + COMPLEXES)


@addcmul.check
def no_cpu_scalars_on_cuda(self, tensor1, tensor2, value):
    if any(t.is_cuda for t in (self, tensor1, tensor2)):
        for name, t in (("self", self), ("tensor1", tensor1)):
            if t.is_cpu and not t.ndim:
                advice = " However, CPU Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 terms."
                raise RuntimeError(f"CPU Scalar support for {name} argument is not supported when calling addcmul on CUDA "
                                   f"tensors.{advice if name == 'tensor1' else ''}")


# Before 2.12 the CUDA source said a + alpha * b * c and left it to the compiler whether to contract: both this and
# s + (v*t1)*t2 are legal there.
@addcmul.formula(On("cpu"), *gpu(until="2.12"), *gpu("inductor", until="2.12"), categories=(FLOATING,))
def fused_last(self, tensor1, tensor2, value):
    """fma(v*t1, t2, s)"""
    return fma(value * tensor1, tensor2, self)


@addcmul.formula(*gpu(since="2.12"), *gpu("inductor", since="2.12"), categories=(FLOATING,))
def unit_or_fused(self, tensor1, tensor2, value):
    """fma(t1, t2, s) if v == 1 else fma(v, t1*t2, s)"""
    return select(value == 1, fma(tensor1, tensor2, self), fma(value, tensor1 * tensor2, self))


@addcmul.formula(On("cpu", "refs"), *gpu(until="2.12"), categories=(FLOATING,))
@addcmul.formula(On("cpu"), On("cpu", "refs"), categories=(INTEGRAL, COMPLEX))
def multiply_first(self, tensor1, tensor2, value):
    """s + (v*t1)*t2"""
    return self + (value * tensor1) * tensor2


@addcmul.formula(On("cpu", "inductor"), *gpu("inductor", until="2.12"), categories=(FLOATING,))
@addcmul.formula(On("cpu", "inductor"), *GPU, *GPU_INDUCTOR, categories=(INTEGRAL, COMPLEX))
def value_last(self, tensor1, tensor2, value):
    """s + v*(t1*t2)"""
    return self + value * (tensor1 * tensor2)


addcmul.derivatives(
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * (tensor2 * value).conj(),
    tensor2=lambda grad, tensor1, value: grad * (tensor1 * value).conj(),
)
