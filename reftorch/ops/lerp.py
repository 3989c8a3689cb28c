"""lerp(input, end, weight) = input + weight * (end - input)

C1  The result is one of the formulas below, bit for bit. All start from the nearer end: from input where
    |weight| < 0.5, else from end.  [aten/native/Lerp.h, cpu/LerpKernel.cpp, torch/_refs, _inductor/decomposition.py]
C2  float16 and bfloat16 compute in float32 and round once. A number as weight stays in float32; a tensor is rounded to
    the dtype of input.  [aten/native/cpu/LerpKernel.cpp]
C3  end, and a weight with dimensions, must have the dtype of input: RuntimeError. A number that the type computed in
    cannot hold is a RuntimeError.  [aten/native/Lerp.cpp]
C4  If weight has dimensions, out= must have the result's dtype: RuntimeError.  [aten/native/Lerp.cpp]
C5  The result at weight 1 is end, up to the sign of a zero.  [aten/native/Lerp.h]

>>> import reftorch as torch
>>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([8.0, 20.0]), 0.25)
tensor([ 2. , 12.5])
>>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([8.0, 20.0]), torch.tensor([0.5, 1.0]))
tensor([ 4., 20.])
"""
from __future__ import annotations

from ..core.dtype import COMPLEX, FLOATING
from ..core.tensor import Tensor
from ..dispatch.operator import EVERYWHERE, GPU, GPU_INDUCTOR, On
from ..dispatch.pointwise import COMPLEXES, FLOATS, Pointwise, exact_out
from ..dispatch.scalar import TYPE_NAMES
from ..numerics.arith import absolute, fma, select
from ._gradients import conj

lerp = Pointwise(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    kernel=lambda weight, **_: "lerp_kernel_tensor" if isinstance(weight, Tensor) else "lerp_kernel_scalar",
    types=FLOATS + COMPLEXES, apart=("weight",), opmath=("weight",), scalars=("weight",))


@lerp.check
def one_dtype(self, end, weight):
    for name, x in (("end", end), ("weight", weight)):
        if isinstance(x, Tensor) and x.dtype is not self.dtype and (name == "end" or x.ndim):
            raise RuntimeError(f"expected dtype {TYPE_NAMES[self.dtype.name]} for `{name}` but got dtype "
                               f"{TYPE_NAMES[x.dtype.name]}")


@lerp.check_target
def exact_out_for_weights(target, result, in_place, self, end, weight):
    if isinstance(weight, Tensor) and weight.ndim:
        exact_out(target, result, in_place)


@lerp.formula(On("cpu"), categories=(FLOATING,))
def fused(self, end, weight):
    """fma(w, e-s, s) if |w| < 0.5 else fma(w-1, e-s, e)"""
    near = absolute(weight) < 0.5
    return fma(select(near, weight, weight - 1), end - self, select(near, self, end))


# Differs from the first by the sign of a zero at weight 1.
@lerp.formula(On("cpu"), *GPU, *GPU_INDUCTOR, categories=(FLOATING,))
def fused_negated(self, end, weight):
    """fma(w, e-s, s) if |w| < 0.5 else fma(-(1-w), e-s, e)"""
    near = absolute(weight) < 0.5
    return fma(select(near, weight, -(1 - weight)), end - self, select(near, self, end))


@lerp.formula(On("cpu", "inductor"), categories=(FLOATING,))
def unfused_negated(self, end, weight):
    """s + w*(e-s) if |w| < 0.5 else e + -(1-w)*(e-s)"""
    near = absolute(weight) < 0.5
    return select(near, self, end) + select(near, weight, -(1 - weight)) * (end - self)


@lerp.formula(On("cpu", "refs"), *GPU_INDUCTOR, categories=(FLOATING,))
@lerp.formula(*EVERYWHERE, categories=(COMPLEX,))
def unfused(self, end, weight):
    """s + w*(e-s) if |w| < 0.5 else e + (w-1)*(e-s)"""
    near = absolute(weight) < 0.5
    return select(near, self, end) + select(near, weight, weight - 1) * (end - self)


# What the documentation says; legal nowhere, but a mistake worth a name.
@lerp.formula(categories=(FLOATING,))
def from_input(self, end, weight):
    """s + w*(e-s)"""
    return self + weight * (end - self)


@lerp.formula(categories=(FLOATING,))
def fused_from_input(self, end, weight):
    """fma(w, e-s, s)"""
    return fma(weight, end - self, self)


lerp.derivatives(
    self=lambda grad, weight: grad * conj(1 - weight),
    end=lambda grad, weight: grad * conj(weight),
    weight=lambda grad, self, end: grad * conj(end - self),
)
lerp.node_name = lambda self, end, weight: f"LerpBackward{int(isinstance(weight, Tensor))}"
