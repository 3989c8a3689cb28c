"""div(input, other, *, rounding_mode=None): input / other, and its integral part

C1  rounding_mode None: the quotient, correctly rounded; integers and bool become the default dtype first. float16 and
    bfloat16 divide in float32 and round once. IEEE 754 decides the special cases: x/0 is a signed infinity.
    [IEEE 754-2019, 5.4.1 and 7; ATen/native/cpu/BinaryOpsKernel.cpp]
C2  CUDA multiplies by the rounded reciprocal of a number or 0-dim CPU tensor.  [cuda/BinaryDivTrueKernel.cu]
C3  "trunc" rounds the quotient towards zero, "floor" down, as Python's // does; integers stay integers and wrap. Floats
    follow one of the formulas below, bit for bit: "trunc" truncates the rounded quotient, "floor" is
    c10's div_floor_floating, which starts from the exact remainder.  [c10/util/generic_math.h]
C4  float16 and bfloat16 with a rounding mode: on the CPU each step rounds to the dtype, but not where other is a number
    or has one element. Both are legal.  [ATen/native/cpu/BinaryOpsKernel.cpp]
C5  An integer division by zero with a rounding mode is a RuntimeError with the text "ZeroDivisionError", on the CPU.
    [ATen/native/cpu/BinaryOpsKernel.cpp]
C6  A rounding mode other than None, "trunc" and "floor" is a RuntimeError; complex and bool have none:
    NotImplementedError.  [aten/native/BinaryOps.cpp]
C7  A number as other stays in float32 for 16-bit floats. `2 / x` is reciprocal(x) * 2, with two roundings; `x // y` is
    floor_divide(x, y).  [ATen/native/cpu/BinaryOpsKernel.cpp, torch/_tensor.py]
C8  Complex: scaled by the larger part of the divisor. Not defined bit for bit.  [c10/util/complex.h]

>>> import reftorch as torch
>>> torch.tensor([-7, 7]) / 2
tensor([-3.5,  3.5])
>>> [torch.div(torch.tensor([-7, 7]), 2, rounding_mode=mode) for mode in ("floor", "trunc")]
[tensor([-4,  3]), tensor([-3,  3])]
>>> torch.tensor([1]) // 0
Traceback (most recent call last):
RuntimeError: ZeroDivisionError
"""
from __future__ import annotations

from ..core.dtype import COMPLEX, FLOATING, INTEGRAL
from ..core.tensor import Tensor
from ..dispatch.cast import converted, number_in
from ..dispatch.function import composite
from ..dispatch.operator import EVERYWHERE, GPU, GPU_INDUCTOR, On
from ..dispatch.pointwise import COMPLEXES, FLOATS, INTS, Pointwise
from ..numerics.arith import copysign, floor, floordiv, fmod, select, trunc, truncdiv
from ._factories import zeros_like
from ._gradients import conj

div = Pointwise(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    "div.Scalar(Tensor self, Scalar other) -> Tensor",
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    kernel=lambda rounding_mode, **_: f"div_{rounding_mode}_cpu" if rounding_mode else "div_cpu",
    types=INTS + FLOATS + COMPLEXES, int_to_float=lambda rounding_mode, **_: rounding_mode is None,
    opmath=("other",), numbers=("self", "other"), operators=("__truediv__",),
    reflected=lambda self, number: self.reciprocal() * number, aliases=("divide", "true_divide"))
NARROW, WIDE = ("float16", "bfloat16"), ("float32", "float64")


@div.check
def known_mode(rounding_mode, **_):
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"'{rounding_mode}'")


@div.guard
def no_zero_divisor(common, where, rounding_mode, **_):
    def refuse(self, other, rounding_mode):
        if not (converted(other, common)._values().all() if isinstance(other, Tensor) else number_in(other, common)):
            raise RuntimeError("ZeroDivisionError")
    return refuse if rounding_mode and common.category == INTEGRAL and where.type == "cpu" else None


@div.formula(*EVERYWHERE, categories=(FLOATING, COMPLEX), rounding_mode=None)
def quotient(self, other):
    """s/o"""
    return self / other


@div.formula(*GPU, *GPU_INDUCTOR, categories=(FLOATING,), rounding_mode=None)
def by_reciprocal(self, other):
    """s*(1/o)"""
    return self * (1 / other)


@div.formula(*EVERYWHERE, dtypes=INTS, rounding_mode="trunc")
def truncated_integer(self, other):
    """trunc(s/o) of integers"""
    return truncdiv(self, other)


@div.formula(*EVERYWHERE, dtypes=INTS, rounding_mode="floor")
def floored_integer(self, other):
    """floor(s/o) of integers"""
    return floordiv(self, other)


@div.formula(*EVERYWHERE, categories=(FLOATING,), rounding_mode="trunc")
def truncated(self, other):
    """trunc(s/o)"""
    return trunc(self / other)


@div.formula(On("cpu"), *GPU, dtypes=NARROW, rounding_mode="trunc")
def truncated_narrow(self, other, R):
    """trunc(R(s/o))"""
    return trunc(R(self / other))


@div.formula(*GPU, categories=(FLOATING,), rounding_mode="trunc")
def truncated_by_reciprocal(self, other):
    """trunc(s*(1/o))"""
    return trunc(self * (1 / other))


def _rounded_to_integer(self, other, quotient, exact):
    """The floored quotient from `exact`, which is (s - fmod(s, o))/o as rounded, and so next to an integer."""
    whole = floor(exact)
    whole = select(exact - whole > 0.5, whole + 1, whole)
    return select(other == 0, quotient, select(exact == 0, copysign(0, quotient), whole))


@div.formula(On("cpu"), On("cpu", "refs"), *GPU, categories=(FLOATING,), rounding_mode="floor")
def floored(self, other):
    """div_floor_floating(s, o)"""
    rest = fmod(self, other)
    exact = (self - rest) / other
    exact = select((rest != 0) & ((other < 0) != (rest < 0)), exact - 1, exact)
    return _rounded_to_integer(self, other, self / other, exact)


@div.formula(On("cpu"), *GPU, dtypes=NARROW, rounding_mode="floor")
def floored_narrow(self, other, R):
    """div_floor_floating(s, o), each step rounded"""
    rest = R(fmod(self, other))
    exact = R(R(self - rest) / other)
    exact = select((rest != 0) & ((other < 0) != (rest < 0)), R(exact - 1), exact)
    return _rounded_to_integer(self, other, R(self / other), exact)


@div.formula(On("cpu", "inductor"), *GPU_INDUCTOR, categories=(FLOATING,), rounding_mode="floor")
def floored_quotient(self, other):
    """floor(s/o)"""
    return floor(self / other)


@composite()
def floor_divide(input, other, *, out=None):
    """floor_divide(input, other) = div(input, other, rounding_mode="floor")"""
    return div.function(input, other, rounding_mode="floor", out=out)


@composite(name="floor_divide_")
def floor_divide_in_place(self, other):
    return self.div_(other, rounding_mode="floor")


Tensor.__floordiv__, Tensor.__ifloordiv__ = floor_divide, floor_divide_in_place  # type: ignore[operator, attr-defined]
Tensor.__rfloordiv__ = lambda self, number: floor_divide(number, self)  # type: ignore[attr-defined]

# A rounded quotient is constant almost everywhere.
div.derivatives(
    self=lambda grad, other, rounding_mode: grad / conj(other) if rounding_mode is None else zeros_like(grad),
    other=lambda grad, self, other, rounding_mode: -grad * conj((self / other) / other) if rounding_mode is None else
    zeros_like(grad),
)
div.node_name = lambda self, other, rounding_mode: f"DivBackward{0 if rounding_mode is None else 2}"
