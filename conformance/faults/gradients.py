"""Wrong gradients: the derivative, its way through broadcasting and conversion, and which tensors take part."""
from __future__ import annotations

import functools
import importlib

from reftorch.autograd import in_place
from reftorch.autograd.derivatives import RESULT
from reftorch.autograd.record import Recorded
from reftorch.dispatch import boundary
from reftorch.ops._extrema import share
from reftorch.ops.where import where

from . import fault, wrong_call
from .tools import deriving, setting


# ---- the derivative ----
@fault("addcdiv", "D1")
def gradient_of_tensor2_has_the_wrong_sign():
    """+grad * value * tensor1 / tensor2**2."""
    return deriving("addcdiv", tensor2=lambda grad, tensor1, tensor2, value:
                    grad * (value * tensor1 / (tensor2 * tensor2)).conj())


@fault("addcmul", "D1")
def gradient_forgets_value():
    """The gradient of tensor1 is grad * tensor2, without value."""
    return deriving("addcmul", tensor1=lambda grad, tensor2: grad * tensor2.conj())


@fault("mul", "D1", dtypes=("complex64",))
def gradient_not_conjugated():
    """grad * other where it should be grad * conj(other)."""
    return deriving("mul", self=lambda grad, other: grad * other)


@fault("sub", "D1")
def gradient_without_alpha():
    """The gradient of other is -grad, whatever alpha is."""
    return deriving("sub", other=lambda grad: -grad)


@fault("lerp", "D1")
def gradients_of_the_ends_swapped():
    """input gets grad * weight, end grad * (1 - weight)."""
    return deriving("lerp", self=lambda grad, weight: grad * weight, end=lambda grad, weight: grad * (1 - weight))


@fault("rsqrt", "D1")
def gradient_by_the_square():
    """-0.5 * grad * result**2: one power is missing."""
    return deriving("rsqrt", self=lambda grad, result: -0.5 * grad * (result * result).conj())


@fault("sqrt", "D1", dtypes=("float32",))
def gradient_of_the_root_protected():
    """The gradient at 0 is 0, not infinite."""
    return deriving("sqrt", self=lambda grad, result: where.function(result == 0, 0, grad / (2 * result.conj())))


@fault("maximum", "D1")
def ties_give_all_to_the_first():
    """Where the operands are equal, input gets all of the gradient."""
    def none(grad, loses):
        return where.function(loses, 0, grad)
    return deriving("maximum", self=lambda grad, self, other: none(grad, self < other),
                    other=lambda grad, self, other: none(grad, self >= other))


@fault("minimum", "D1")
def ties_count_twice():
    """Where the operands are equal, each gets all of the gradient."""
    return deriving("minimum", self=lambda grad, self, other: share(grad, self != self, self > other),
                    other=lambda grad, self, other: share(grad, self != self, self < other))


@fault("clamp", "D1")
def gradient_stops_at_the_bounds():
    """Where input equals a bound, it gets no gradient."""
    def of_input(grad, self, min, max):
        low = self == self if min is None else self > min
        return where.function(low if max is None else low * (self < max), grad, 0)
    return deriving("clamp", self=of_input)


@fault("abs", "D1", dtypes=("float32", "float64"), alone=True)
def gradient_of_abs_at_zero():
    """The gradient at 0 is 1, not 0."""
    return deriving("abs", self=lambda grad, self: where.function(self >= 0, grad, -grad))


@fault("where", "D1")
def gradient_multiplied_by_the_mask():
    """grad * condition, so infinities become NaN on the other side."""
    return deriving("where", self=lambda grad, condition: grad * condition)


@fault("copysign", "D1")
def gradient_ignores_the_sign():
    """input gets the gradient as it is."""
    return deriving("copysign", self=lambda grad: grad)


@fault("where", "D5", alone=True)
def gradient_of_input_missing():
    """input gets no gradient."""
    return deriving("where", self=lambda grad, condition: None)


@fault("nextafter", "D5")
def gradient_of_other_missing():
    """other gets no gradient, where zeros are right."""
    return deriving("nextafter", other=lambda grad: None)


@fault("sign", "D5")
def gradient_of_sign_missing():
    """A gradient of zeros is left out."""
    return deriving("sign", self=lambda grad: None)


@fault("reciprocal", "D1", dtypes=("bfloat16",))
def gradient_from_a_rounded_square():
    """The gradient is divided by the square of the input, truncated to 4 bits."""
    return deriving("reciprocal", self=lambda grad, result: -grad * (result * result) * 1.03125)


# ---- on its way to the operand ----
def _fitting(change):
    """What gradients become on their way to an operand of another size or dtype: change(grad, meta, right)."""
    record = importlib.import_module("reftorch.autograd.record")  # a function of the package has its name
    right = record.fit
    return setting(record, fit=lambda grad, meta, node, index: change(
        grad, meta, lambda g: right(g, meta, node, index)))


def _narrowed(grad, size):
    """The first of each group of elements that are to be added."""
    extra = grad.ndim - len(size)
    for _ in range(extra):
        grad = grad[0]
    for d, n in enumerate(size):
        grad = grad.narrow(d, 0, n)
    return grad


@fault("add", "D4")
def gradient_not_reduced():
    """A stretched operand gets the gradient of one of its copies, not the sum."""
    return _fitting(lambda grad, meta, right: right(
        grad if 0 in grad.shape else _narrowed(grad, meta.layout.size)))


@fault("mul", "D4", alone=True)
def gradient_averaged():
    """A stretched operand gets the mean over its copies."""
    def mean(grad, meta, right):
        copies = grad.numel() // max(meta.layout.numel, 1)
        return right(grad) / copies if copies > 1 else right(grad)
    return _fitting(mean)


@fault("sub", "D4", dtypes=("bfloat16",))
def gradient_summed_in_bfloat16():
    """The sum over a stretched operand's copies is rounded to bfloat16 after every addition."""
    def total(grad, d):
        parts = [grad.select(d, i) for i in range(grad.shape[d])]
        return functools.reduce(lambda a, b: a + b, parts)

    def rounded(grad, meta, right):
        size = meta.layout.size
        while grad.ndim > len(size):
            grad = total(grad, 0)
        for d, n in enumerate(size):
            if n == 1 != grad.shape[d]:
                grad = total(grad, d).unsqueeze(d)
        return right(grad)
    return _fitting(rounded)


@fault("addcmul", "D3", alone=True)
def gradient_has_the_promoted_dtype():
    """A gradient keeps the dtype that the call was computed in."""
    def unconverted(grad, meta, right):
        return grad.sum_to_size(meta.layout.size) if grad.shape != meta.layout.size else grad
    return _fitting(unconverted)


@fault("minimum", "D3", "D4")
def gradient_keeps_missing_dimensions():
    """Dimensions that an operand lacks are summed, but stay with size 1."""
    def kept(grad, meta, right):
        size = meta.layout.size
        return right(grad).reshape((1,) * (grad.ndim - len(size)) + tuple(size))
    return _fitting(kept)


# ---- which tensors take part ----
@wrong_call("div", "D2")
def history_lost(call, case, **tensors):
    """The result does not require grad."""
    result = call(**tensors)
    return result.detach() if case.form == "functional" else result


@wrong_call("eq", "C5", "D2")
def comparison_requires_grad(call, case, **tensors):
    """The bool result of a comparison requires grad."""
    result = call(**tensors)
    if case.form == "functional" and any(t.requires_grad for t in tensors.values()):
        result._autograd = next(t._autograd for t in tensors.values() if t.requires_grad)
    return result


@wrong_call("neg", "D2", alone=True)
def everything_requires_grad(call, case, **tensors):
    """A result requires grad though no operand does."""
    result = call(**tensors)
    return result.requires_grad_() if case.form == "functional" and result.dtype.category > 1 else result


@fault("abs", "D6", alone=True)
def saved_tensors_not_checked():
    """Backward uses what it saved though it was overwritten since."""
    def environment(self):
        return [None, *(self._result(v) if kind == RESULT else v
                        for (kind, _), v in zip(self.plan.sources, self.saved))]
    return setting(Recorded, environment=environment)


@fault("add", "D6")
def everything_is_saved():
    """Operands that backward does not need are saved, and may not be overwritten."""
    return deriving("add", self=lambda grad, self: grad, other=lambda grad, self, other, alpha: grad * alpha)


@fault("mul", "D7", alone=True)
def leaves_overwritten():
    """In place, a leaf that requires grad is overwritten."""
    return setting(in_place, check_in_place=lambda target: None)


@fault("sub", "D7")
def in_place_history_lost():
    """In place, the write leaves no trace in the graph."""
    return setting(boundary, after_write=lambda pending, target: None)


@fault("addcdiv", "D7")
def in_place_result_saved_too_late():
    """In place, backward is given the new value of self where it needs tensor1."""
    return setting(boundary, before_write=lambda op, args, target: in_place.before_write(
        op, (args[0], *([args[2], args[1]] if op.name == "addcdiv" else args[1:3]), *args[3:]), target))
