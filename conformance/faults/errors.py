"""Wrong calls that are let through, or refused with another exception, another text or at another time."""
from __future__ import annotations

import functools
import warnings

import numpy as np

from reftorch.core.dtype import FLOATING, uint8
from reftorch.core.layout import broadcast_shapes
from reftorch.core.tensor import Tensor
from reftorch.dispatch import pointwise
from reftorch.dispatch.cast import number_in
from reftorch.dispatch.scalar import number_converter

from . import fault, operator, wrong_call
from .tools import setting


def _unchecked(op):
    """The operator's own checks of its arguments are left out."""
    return setting(operator(op), checks=[], last_checks=[])


def _garbage(call, tensors, *errors):
    """The call, or where it raises one of these, a copy of input."""
    try:
        return call(**tensors)
    except errors:
        return next(iter(tensors.values())).detach().clone()


@wrong_call("addcdiv", "C3")
def integer_division_returns_garbage(call, case, **tensors):
    """The error of addcdiv on integers is swallowed, and input returned."""
    return _garbage(call, tensors, RuntimeError)


@fault("addcdiv", "C3")
def integer_division_is_not_implemented():
    """Integers are refused by the dispatcher, with NotImplementedError, not by the operator's own check."""
    return _unchecked("addcdiv")


@wrong_call("nextafter", "X1")
def unsupported_dtypes_return_garbage(call, case, **tensors):
    """For a dtype that has no kernel, input is returned."""
    return _garbage(call, tensors, NotImplementedError)


@wrong_call("sign", "X1", alone=True)
def unsupported_dtypes_are_type_errors(call, case, **tensors):
    """A dtype that has no kernel raises TypeError."""
    try:
        return call(**tensors)
    except NotImplementedError as e:
        raise TypeError(str(e)) from None


@fault("lerp", "X1")
def kernel_has_another_name():
    """The text of the error names the kernel of another operator."""
    return setting(operator("lerp"), kernel="lerp_cuda")


@wrong_call("maximum", "X1")
def complex_compares_by_real_part(call, case, **tensors):
    """Complex numbers are ordered by their real parts."""
    if any(t.is_complex() for t in tensors.values()):
        return call(**{n: t.real if t.is_complex() else t for n, t in tensors.items()})
    return call(**tensors)


@fault("sqrt", "X2", alone=True)
def strings_are_runtime_errors():
    """An argument of a wrong type raises RuntimeError."""
    right = pointwise._check_types

    def check(op, args):
        try:
            right(op, args)
        except TypeError as e:
            raise RuntimeError(str(e)) from None
    return setting(pointwise, _check_types=check)


@wrong_call("rsqrt", "X2")
def unknown_keywords_ignored(call, case, **tensors):
    """A keyword that the operator does not know is no error."""
    known = {p.name for p in operator("rsqrt").parameters}
    if set(case.args) <= known:
        return call(**tensors)
    return operator("rsqrt").call((tensors["self"],))


@fault("add", "X3")
def sizes_cut_to_fit():
    """Sizes that do not broadcast are cut to the smaller one."""
    def cut(*shapes):
        try:
            return broadcast_shapes(*shapes)
        except RuntimeError:
            ndim = max(map(len, shapes))
            padded = [(1,) * (ndim - len(s)) + tuple(s) for s in shapes]
            return tuple(1 if set(c) == {1} else min(n for n in c if n != 1) for c in zip(*padded))
    return setting(pointwise, broadcast_shapes=cut)


@fault("mul", "X3", alone=True)
def sizes_that_do_not_match_are_value_errors():
    """Sizes that do not broadcast raise NumPy's exception."""
    def shapes(*given):
        return np.broadcast_shapes(*given)
    return setting(pointwise, broadcast_shapes=shapes)


@wrong_call("sub", "X3")
def sizes_checked_when_the_result_is_read(call, case, **tensors):
    """The error comes in the backward call, not in the forward call."""
    try:
        return call(**tensors)
    except RuntimeError as e:
        text = str(e)
        if "must match the size" not in text:
            raise
        result = tensors["self"].detach().clone()

        class Late(Tensor):
            def stride(self, dim=None):
                raise RuntimeError(text)
        result.__class__ = Late
        return result


@wrong_call("where", "C2")
def bytes_as_condition_in_silence(call, case, **tensors):
    """A uint8 condition is accepted without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(**tensors)


def _converting(change):
    """Numbers (alpha, value, a bound) are converted by change(right, number, to), where right(number) would be right."""
    return setting(pointwise, number_converter=lambda to, common: functools.partial(
        lambda right, number: change(right, number, to), number_converter(to, common)))


@fault("addcmul", "C3", dtypes=("int64", "int32"))
def fractions_rounded():
    """A float as value of integers is rounded to the nearest, not truncated."""
    return _converting(lambda right, number, to: right(round(number) if to.is_integral and isinstance(
        number, float) and abs(number) < 2 ** 53 else number))


@fault("addcmul", "C4")
def large_values_are_infinite():
    """A value beyond the dtype's range is infinite, not an error."""
    def infinite(right, number, to):
        try:
            return right(number)
        except RuntimeError:
            if isinstance(number, complex):
                raise
            return float("inf") if to.category == FLOATING else 0
    return _converting(infinite)


@fault("addcdiv", "C4")
def imaginary_part_of_value_dropped():
    """A complex value for real tensors loses its imaginary part."""
    return _converting(lambda right, number, to: right(number.real if isinstance(number, complex) and
                                                       to.category == FLOATING else number))


@fault("clamp", "C4", dtypes=("int8", "int64", "float32"))
def bounds_wrap():
    """A bound that the dtype cannot hold wraps around, or is infinite."""
    return _converting(lambda right, number, to: number_in(number, to))


@fault("where", "C3")
def numbers_overflow_in_where():
    """A number that the dtype cannot hold wraps around, or is infinite."""
    return _converting(lambda right, number, to: number_in(number, to))


@fault("sub", "C6")
def bool_alpha_accepted():
    """alpha=True counts as 1 for every dtype."""
    owner = operator("sub")
    checks = owner.last_checks
    return setting(owner, last_checks=[lambda alpha, **rest: None if isinstance(alpha, bool) else [
        check(alpha=alpha, **rest) for check in checks]])


@fault("abs", "C3")
def in_place_abs_of_complex():
    """In place, a complex tensor gets its magnitudes, with imaginary parts of 0."""
    return setting(operator("abs"), target_checks=[])


@fault("div", "C5")
def integer_division_by_zero_is_zero():
    """Dividing integers by zero with a rounding mode gives 0."""
    return setting(operator("div"), guards=[])


@wrong_call("div", "C6")
def unknown_rounding_mode_is_none(call, case, **tensors):
    """A rounding mode that does not exist counts as None."""
    try:
        return call(**tensors)
    except RuntimeError as e:
        if "rounding_mode" not in str(e):
            raise
        other = tensors.get("other", case.args.get("other"))
        return operator("div").call((tensors["self"], other, None))


@fault("add", "C5")
def float_alpha_truncated():
    """A float alpha for integers is truncated, not refused."""
    return _unchecked("add")


@wrong_call("sub", "X1")
def difference_of_bools_is_their_parity(call, case, **tensors):
    """Subtracting bool tensors is no error, but exclusive or."""
    if case.form == "functional" and len(tensors) == 2 and {t.dtype.name for t in tensors.values()} == {"bool"}:
        a, b = tensors.values()
        size = np.broadcast_shapes(a.shape, b.shape)
        result = a.expand(size).clone()
        result._host_array()[...] = a.expand(size)._host_array() ^ b.expand(size)._host_array()
        return result
    return call(**tensors)


@wrong_call("neg", "X1")
def negative_of_bool_is_not(call, case, self, **tensors):
    """Negating a bool tensor inverts it."""
    if str(self.dtype) == "torch.bool" and case.form == "functional":
        result = self.detach().clone()
        result._host_array()[...] = ~result._host_array()
        return result
    return call(self, **tensors)


@wrong_call("clamp", "C5")
def clamp_without_bounds_is_a_copy(call, case, self, **tensors):
    """clamp with no bound returns a copy."""
    if case.form == "functional" and case.args.get("min") is None and case.args.get("max") is None:
        return self.detach().clone()
    return call(self, **tensors)


@fault("where", "C2")
def any_condition_accepted():
    """A condition of any dtype is accepted: it holds where it is not 0."""
    return _unchecked("where")


@fault("lerp", "C3")
def lerp_promotes():
    """end and weight of another dtype than input are promoted, not refused."""
    return _unchecked("lerp")


@wrong_call("copysign", "X1")
def error_without_text(call, case, **tensors):
    """Every error has an empty text."""
    try:
        return call(**tensors)
    except Exception as e:
        raise type(e)() from None


@wrong_call("addcmul", "X1")
def bool_counts_as_uint8(call, case, **tensors):
    """bool tensors, for which there is no kernel, are computed as uint8."""
    try:
        return call(**tensors)
    except NotImplementedError:
        if case.form != "functional":
            raise
        return call(**{n: t.to(uint8) if t.dtype.category < FLOATING else t for n, t in tensors.items()})
