"""sqrt(input): the square root

C1  The root, correctly rounded: NaN below zero, -0 for -0. float16 and bfloat16 compute in float32 and round once.
    [IEEE 754-2019, 5.4.1]
C2  Integers and bool become the default dtype first.  [torch.sqrt documentation]
C3  Complex: the principal root. Not defined bit for bit.  [C11 csqrt]

>>> import reftorch as torch
>>> torch.sqrt(torch.tensor([2.25, -0.0, -1.0]))
tensor([ 1.5, -0. ,  nan])
>>> torch.tensor([4, 9]).sqrt()
tensor([2., 3.])
"""
from __future__ import annotations

from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import COMPLEXES, FLOATS, Pointwise
from ..numerics import arith

sqrt = Pointwise("sqrt(Tensor self) -> Tensor", kernel="sqrt_vml_cpu", types=FLOATS + COMPLEXES, int_to_float=True)


@sqrt.formula(*EVERYWHERE)
def root(self):
    """sqrt(s)"""
    return arith.sqrt(self)


sqrt.derivatives(self=lambda grad, result: grad / (2 * result.conj()))
