"""clamp(input, min=None, max=None): input, but at least min and at most max

C1  min(max(input, min), max), so where min is above max the result is max.  [torch.clamp documentation]
C2  NaN in the input or in a bound gives NaN.  [aten/native/TensorCompare.cpp, cpu/TensorCompareKernel.cpp]
C3  A bound that equals the input up to the sign of a zero: either zero may come out. The CPU keeps the input for number
    bounds, and in scalar code; CUDA counts +0 as larger than -0.  [ATen/cpu/vec, cpu/BinaryOpsKernel.cpp, PTX ISA]
C4  The bounds are both tensors or both numbers, and take part in promotion. A number that the dtype cannot hold is a
    RuntimeError.  [aten/native/TensorCompare.cpp]
C5  At least one bound is given: RuntimeError. Complex is a NotImplementedError.  [aten/native/TensorCompare.cpp]
C6  With number bounds, what is written to must have the result's dtype: RuntimeError.  [aten/native/TensorCompare.cpp]
C7  The gradient goes to the input where it lies within the bounds, them included, else to the bound that replaced it;
    to none where something is NaN.  [tools/autograd/derivatives.yaml, FunctionsManual.cpp]

>>> import reftorch as torch
>>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
tensor([0. , 0.5, 1. ])
>>> torch.clamp(torch.tensor([1, 2, 3]), min=torch.tensor([2, 2, 2]))
tensor([2, 2, 3])
>>> torch.clamp(torch.tensor([1, 5]), 4, 2)
tensor([2, 2])
"""
from __future__ import annotations

from ..core.dtype import BOOL, FLOATING, INTEGRAL, bool_
from ..core.tensor import Tensor
from ..dispatch.operator import EVERYWHERE, GPU, GPU_INDUCTOR, On
from ..dispatch.pointwise import BOOL as BOOL_TYPE
from ..dispatch.pointwise import FLOATS, INTS, Pointwise, exact_out
from ..dispatch.scalar import TYPE_NAMES
from ._extrema import larger_first, larger_ordered, larger_second, smaller_first, smaller_ordered, smaller_second
from .where import where


def kernel(self, min, max):
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return "clamp_cpu" if min is not None is not max else "maximum_cpu" if max is None else "minimum_cpu"
    return f"clamp_{'min_' if max is None else 'max_' if min is None else ''}scalar_cpu"


clamp = Pointwise(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    kernel=kernel, types=BOOL_TYPE + INTS + FLOATS, scalars=("min", "max"), aliases=("clip",))


@clamp.check
def legal_bounds(self, min, max):
    given = [x for x in (min, max) if x is not None]
    if not given:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = [isinstance(x, Tensor) for x in given]
    if any(tensors) and not all(tensors) and any(isinstance(x, Tensor) and (x.ndim or x._autograd) for x in given):
        raise TypeError("clamp() received an invalid combination of arguments - got a Tensor and a Number as bounds, but "
                        "both must be Tensors or both Numbers")
    if self.is_complex() or not self.is_floating_point() and any(isinstance(x, complex) for x in given):
        raise NotImplementedError("clamp is not supported for complex types")
    if any(isinstance(x, complex) for x in given):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if self.dtype is bool_ and all(isinstance(x, bool) for x in given):
        raise NotImplementedError(f"\"{kernel(self, min, max)}\" not implemented for 'Bool'")


@clamp.check_target
def exact_out_for_numbers(target, result, in_place, self, min, max):
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        in_place |= target is self
        exact_out(target, result, in_place)
        if in_place and target.dtype is not result:
            raise RuntimeError(f"result type {result.scalar_type} can't be cast to the desired output type "
                               f"{TYPE_NAMES[target.dtype.name]}")


KEEPS = (On("cpu"), On("cpu", "refs"))
TAKES = (On("cpu"), On("cpu", "inductor"), *GPU_INDUCTOR)


@clamp.formula(*KEEPS, categories=(FLOATING,))
@clamp.formula(*EVERYWHERE, categories=(INTEGRAL,))
def both_keep(self, min, max):
    """min(max(s, lo), hi), s of equals"""
    return smaller_first(larger_first(self, min), max)


@clamp.formula(*TAKES, categories=(FLOATING,))
def both_take(self, min, max):
    """min(max(s, lo), hi), the bound of equals"""
    return smaller_second(larger_second(self, min), max)


@clamp.formula(*GPU, categories=(FLOATING,))
def both_ordered(self, min, max):
    """min(max(s, lo), hi), -0 below +0"""
    return smaller_ordered(larger_ordered(self, min), max)


@clamp.formula(*KEEPS, categories=(FLOATING,))
@clamp.formula(*EVERYWHERE, categories=(BOOL, INTEGRAL))
def min_keeps(self, min):
    """max(s, lo), s of equals"""
    return larger_first(self, min)


@clamp.formula(*TAKES, categories=(FLOATING,))
def min_takes(self, min):
    """max(s, lo), the bound of equals"""
    return larger_second(self, min)


@clamp.formula(*GPU, categories=(FLOATING,))
def min_ordered(self, min):
    """max(s, lo), -0 below +0"""
    return larger_ordered(self, min)


@clamp.formula(*KEEPS, categories=(FLOATING,))
@clamp.formula(*EVERYWHERE, categories=(BOOL, INTEGRAL))
def max_keeps(self, max):
    """min(s, hi), s of equals"""
    return smaller_first(self, max)


@clamp.formula(*TAKES, categories=(FLOATING,))
def max_takes(self, max):
    """min(s, hi), the bound of equals"""
    return smaller_second(self, max)


@clamp.formula(*GPU, categories=(FLOATING,))
def max_ordered(self, max):
    """min(s, hi), -0 below +0"""
    return smaller_ordered(self, max)


def _both(a, b):
    """a and b, where an absent condition holds."""
    return b if a is None else a if b is None else a * b


def _of_input(grad, self, min, max):
    inside = _both(None if min is None else self >= min, None if max is None else self <= max)
    return where.function(inside, grad, 0)


def _of_min(grad, self, min, max):
    return where.function(_both(self < min, None if max is None else min < max), grad, 0)


def _of_max(grad, self, min, max):
    above = self > max
    return where.function(above if min is None else above + (max < min), grad, 0)


clamp.derivatives(self=_of_input, min=_of_min, max=_of_max)
clamp.node_name = lambda self, min, max: f"ClampBackward{int(not isinstance(min, Tensor) and not isinstance(max, Tensor))}"
