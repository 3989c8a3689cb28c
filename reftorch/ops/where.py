"""where(condition, input, other): input where condition holds, else other

C1  Each element is chosen, not computed: infinities and NaN of the other operand leave no trace.
    [torch.where documentation]
C2  condition takes no part in promotion. It is bool, or uint8 with a warning, where anything but 0 holds; any other
    dtype is a RuntimeError.  [aten/native/TensorCompare.cpp]
C3  input and other may be numbers, either or both; one that the dtype cannot hold is a RuntimeError, except that in
    float16 and bfloat16 it becomes infinite.  [native_functions.yaml: where.Scalar, .ScalarSelf, .ScalarOther]
C4  out= must have the result's dtype: RuntimeError. It goes with tensors only: TypeError.
    [aten/native/TensorCompare.cpp]

>>> import reftorch as torch
>>> torch.where(torch.tensor([True, False]), torch.tensor([1.0, 2.0]), 0)
tensor([1., 0.])
>>> torch.where(torch.tensor([[True], [False]]), 1, torch.tensor([5, 6]))
tensor([[1, 1],
        [5, 6]])
"""
from __future__ import annotations

import warnings

from ..core.dtype import bool_, uint8
from ..core.tensor import Tensor
from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import BOOL, COMPLEXES, FLOATS, INTS, UNSIGNED, Pointwise
from ..numerics.arith import select

where = Pointwise(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    kernel="where_cpu", types=BOOL + INTS + UNSIGNED + FLOATS + COMPLEXES, conditions=("condition",), in_place=False,
    scalars=("self", "other"), lenient=("float16", "bfloat16"))


@where.check
def condition_is_bool(condition, self, other):
    if condition.dtype not in (bool_, uint8):
        raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{condition.dtype.scalar_type}")
    if condition.dtype is uint8:
        warnings.warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
                      "future version of PyTorch. Use a boolean condition instead.", UserWarning, stacklevel=5)


@where.check_target
def exact_dtype(target, result, in_place, condition, self, other):
    for position, (name, x) in enumerate((("input", self), ("other", other)), 2):
        if not isinstance(x, Tensor):
            raise TypeError(f"where(): argument '{name}' (position {position}) must be Tensor, not {type(x).__name__}")
    if target.dtype is not result:
        raise RuntimeError(f"Expected out type to be {result.scalar_type} but got {target.dtype.scalar_type}")


@where.formula(*EVERYWHERE)
def choice(condition, self, other):
    """s if c else o"""
    return select(condition, self, other)


where.derivatives(
    self=lambda grad, condition: where.function(condition, grad, 0),
    other=lambda grad, condition: where.function(condition, 0, grad),
)
