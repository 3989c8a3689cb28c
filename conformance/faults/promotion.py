"""Wrong dtypes: what a call computes in and returns, and how operands and numbers are converted to it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reftorch.core import dtype as dtypes
from reftorch.core.dtype import BOOL, FLOATING, INTEGRAL, dtype
from reftorch.core.promotion import dtype_of_number, promote_types
from reftorch.core.tensor import Tensor
from reftorch.dispatch import pointwise
from reftorch.dispatch.cast import number_in

from . import fault, operator, wrong_call
from .tools import computing, setting


def promoting(op: str, wrong: Callable[[dtype, list[Any]], dtype | None]) -> Any:
    """The operator computes in wrong(right dtype, operands), if that is not None."""
    owner = operator(op)
    right = owner.computes_in

    def computes_in(args: dict[str, Any]) -> dtype:
        common = right(args)
        return wrong(common, [v for k, v in owner.operands(args).items() if k not in owner.apart]) or common
    return setting(owner, computes_in=computes_in)


def _dtypes(operands: list[Any]) -> list[dtype]:
    return [x.dtype if isinstance(x, Tensor) else dtype_of_number(x) for x in operands]


# ---- which dtype ----
@fault("add", "P1")
def zero_dim_tensors_promote():
    """A 0-dim tensor counts as one with dimensions, so a 0-dim float64 makes float32 float64."""
    def wrong(common, operands):
        tensors = _dtypes([x for x in operands if isinstance(x, Tensor)])
        return promote_types(*tensors) if len(tensors) == 2 else None
    return promoting("add", wrong)


@fault("mul", "P1", dtypes=("float32", "float16"))
def float_numbers_are_double():
    """A Python float counts as a float64 tensor, which it is in C."""
    return promoting("mul", lambda common, operands: dtypes.float64 if common.category == FLOATING and any(
        isinstance(x, float) for x in operands) else None)


@fault("sub", "P1", "P3")
def integers_ignore_float_numbers():
    """An integer tensor stays one beside a float number."""
    def wrong(common, operands):
        tensors = [x for x in operands if isinstance(x, Tensor)]
        if len(tensors) == 1 and tensors[0].dtype.category == INTEGRAL and common.category == FLOATING:
            return tensors[0].dtype
    return promoting("sub", wrong)


@fault("maximum", "P1", dtypes=("bool", "uint8", "int32"), alone=True)
def bool_counts_as_int64():
    """bool beside an integer tensor of any width gives int64."""
    return promoting("maximum", lambda common, operands: dtypes.int64 if common.category == INTEGRAL and any(
        d.category == BOOL for d in _dtypes(operands)) else None)


@fault("minimum", "P1", dtypes=("uint8", "int8", "int16"))
def unsigned_wins():
    """int8 with uint8 gives uint8, not int16."""
    return promoting("minimum", lambda common, operands: dtypes.uint8 if {d.name for d in _dtypes(operands)} == {
        "int8", "uint8"} else None)


@fault("lerp", "P1", dtypes=("float32",))
def results_in_double():
    """Everything is computed and returned in float64."""
    return promoting("lerp", lambda common, operands: dtypes.float64 if common.category == FLOATING else None)


@fault("addcmul", "P1", dtypes=("float16", "bfloat16"))
def half_with_bfloat16_is_half():
    """float16 with bfloat16 gives float16, not float32."""
    return promoting("addcmul", lambda common, operands: dtypes.float16 if {"float16", "bfloat16"} <= {
        d.name for d in _dtypes(operands)} and common is dtypes.float32 else None)


@fault("addcdiv", "P1", dtypes=("complex64", "float64", "float32"))
def complex_stays_narrow():
    """complex64 with float64 gives complex64, not complex128."""
    return promoting("addcdiv", lambda common, operands: dtypes.complex64 if common is dtypes.complex128 and
                     dtypes.complex128 not in _dtypes(operands) else None)


@fault("sqrt", "P1")
def integers_become_double():
    """The root of integers is float64, not the default dtype."""
    return promoting("sqrt", lambda common, operands: dtypes.float64 if _dtypes(operands)[0].category < FLOATING else None)


@fault("where", "P1", dtypes=("float32", "int64", "bfloat16"))
def where_takes_the_dtype_of_input():
    """Nothing is promoted: the result has the dtype of input."""
    return promoting("where", lambda common, operands: operands[0].dtype if isinstance(operands[0], Tensor) else None)


@fault("eq", "P1")
def eq_returns_bytes():
    """The result is uint8, as in old releases."""
    return setting(operator("eq"), result=lambda common: dtypes.uint8)


@fault("abs", "P1", dtypes=("complex64", "complex128"))
def abs_of_complex_is_complex():
    """The magnitude of a complex tensor comes out complex, with an imaginary part of 0."""
    return setting(operator("abs"), result=lambda common: common)


# ---- on the way there ----
@fault("eq", "P2", dtypes=("float32", "int64", "float64"))
def compared_in_the_dtype_of_input():
    """other is converted to the dtype of input before it is compared."""
    return promoting("eq", lambda common, operands: operands[0].dtype if isinstance(operands[0], Tensor) else None)


@wrong_call("maximum", "P2", dtypes=("float32", "bfloat16"), alone=True)
def converted_after_computing(call, case, self, other, **tensors):
    """other is rounded to the dtype of input first, and only the result is converted."""
    right = call(self=self, other=other, **tensors)
    if case.form != "functional" or {self.dtype.category, other.dtype.category} != {FLOATING}:
        return right
    return call(self=self, other=other.to(self.dtype)).to(right.dtype)


@wrong_call("sub", "P2", dtypes=("int64", "float32"))
def large_integers_cut_on_conversion(call, case, **tensors):
    """int64 passes through int32 on its way to a float."""
    if case.form == "functional" and len({t.dtype for t in tensors.values()}) > 1:
        tensors = {n: t.to(dtypes.int32) if t.dtype is dtypes.int64 else t for n, t in tensors.items()}
    return call(**tensors)


@fault("mul", "P3", "E1", dtypes=("float16", "bfloat16"))
def opmath_numbers_rounded():
    """A Python number is rounded to the 16-bit dtype first, where it should stay in float32."""
    return setting(operator("mul"), opmath=())


@fault("add", "P3")
def numbers_that_do_not_fit_wrap():
    """alpha is converted as a C cast does, so a number that the dtype cannot hold is no error."""
    return setting(pointwise, number_converter=lambda to, common: lambda number: number_in(number, to))


@wrong_call("add", "P3", dtypes=("float32",), alone=True)
def numbers_that_overflow_are_clipped(call, case, **tensors):
    """A finite number beyond float32's range becomes the largest float32, not infinite."""
    other = case.args.get("other")
    if case.form == "functional" and isinstance(other, float) and 3.5e38 < abs(other) < float("inf"):
        return operator("add").call((tensors["self"], np.copysign(3.4028234663852886e38, other).item(),
                                     case.args.get("alpha", 1)))
    return call(**tensors)


@fault("nextafter", "P1", dtypes=("float32", "float64"))
def float64_computed_in_float32():
    """float64 operands are converted to float32, as on devices without doubles."""
    return promoting("nextafter", lambda common, operands: dtypes.float32 if common is dtypes.float64 else None)


@fault("div", "P3", "E1", dtypes=("float32",))
def numbers_scaled_as_integers():
    """A float number as divisor is truncated to an integer, unless that gives 0."""
    def truncated(self, other):
        return self / np.where(np.trunc(other) == 0, other, np.trunc(other)).astype(self.dtype)

    def s_over_t(self, other):
        """s/trunc(o)"""
        return truncated(self, other) if np.ndim(other) == 0 else self / other
    return computing("div", s_over_t, compiled=False, when={"rounding_mode": None})
