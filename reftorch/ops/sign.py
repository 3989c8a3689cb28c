"""sign(input): -1, 0 or 1

C1  The sign of the value: 0 for both zeros and for NaN; a bool tensor is its own sign.
    [aten/native/cpu/UnaryOpsKernel.cpp: (0 < a) - (a < 0)]
C2  Complex is a NotImplementedError.  [aten/native/UnaryOps.cpp]
C3  out= must have the dtype of input: RuntimeError.  [aten/native/UnaryOps.cpp]

>>> import reftorch as torch
>>> torch.sign(torch.tensor([-2.5, -0.0, float("nan"), float("inf")]))
tensor([-1.,  0.,  0.,  1.])
>>> torch.tensor([-7, 0, 7]).sign()
tensor([-1,  0,  1])
"""
from __future__ import annotations

from ..core import dtype as dtypes
from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import BOOL, FLOATS, INTS, Pointwise, exact_out
from ..numerics.arith import copysign, select
from ._factories import zeros_like

sign = Pointwise("sign(Tensor self) -> Tensor", kernel="sign_cpu", types=BOOL + INTS + FLOATS)

sign.check_target(exact_out)


@sign.check
def not_complex(self):
    if self.is_complex():
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
                                  "torch.sgn instead.")


@sign.formula(*EVERYWHERE, categories=(dtypes.FLOATING,))
def of_float(self):
    """(0 < s) - (s < 0)"""
    return select((self > 0) | (self < 0), copysign(1, self), 0)


@sign.formula(*EVERYWHERE, dtypes=("int8", "int16", "int32", "int64"))
def of_integer(self):
    """(0 < s) - (s < 0) of integers"""
    return select(self < 0, -1, select(self > 0, 1, self))


@sign.formula(*EVERYWHERE, dtypes=("uint8",))
def of_unsigned(self):
    """0 < s"""
    return select(self > 0, 1, self)


@sign.formula(*EVERYWHERE, categories=(dtypes.BOOL,))
def of_bool(self):
    """s"""
    return self


sign.derivatives(self=lambda grad: zeros_like(grad))
