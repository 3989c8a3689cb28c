"""Wrong in place and with out=: which object, which geometry, which memory, and who counts the write."""
from __future__ import annotations

import contextlib
import warnings

import numpy as np

from reftorch.core.layout import contiguous_stride
from reftorch.dispatch import pointwise
from reftorch.dispatch.cast import copy_into
from reftorch.dispatch.operator import INPLACE

from . import fault, operator, wrong_call
from .tools import setting


# ---- in place ----
@wrong_call("add", "I1", alone=True)
def in_place_returns_another_object(call, case, **tensors):
    """The in-place method returns an alias of self, not self."""
    result = call(**tensors)
    return result.detach() if case.form == "in-place" and not result.requires_grad else result


@wrong_call("mul", "I1")
def in_place_computes_a_copy(call, case, **tensors):
    """The in-place method leaves self as it was and returns a new tensor."""
    if case.form != "in-place":
        return call(**tensors)
    clones = {name: t.detach().clone() if name == "self" else t for name, t in tensors.items()}
    return call(**clones)


@wrong_call("sub", "I2", "I4")
def in_place_changes_dtype(call, case, **tensors):
    """Where self cannot hold the result, self becomes a tensor of the result's dtype."""
    if case.form != "in-place":
        return call(**tensors)
    try:
        return call(**tensors)
    except RuntimeError:
        target = tensors["self"]
        arguments = [tensors.get(p.name, case.args.get(p.name, p.default)) for p in operator("sub").parameters]
        result = operator("sub").call(tuple(arguments))
        target._storage, target._offset, target._meta = result._storage, result._offset, result._meta
        target._vc[0] += 1
        return target


@wrong_call("neg", "I2")
def in_place_makes_self_contiguous(call, case, **tensors):
    """self gets new, contiguous memory; other views of the old memory do not see the result."""
    if case.form != "in-place":
        return call(**tensors)
    target = tensors["self"]
    result = operator("neg").call((target,)).contiguous()
    target._storage, target._offset, target._meta = result._storage, result._offset, result._meta
    target._vc[0] += 1
    return target


@fault("div", "I2", dtypes=("float32", "bfloat16"), alone=True)
def in_place_skips_the_last_column():
    """A strided target keeps what it had in the last place of its innermost dimension."""
    write = operator("div")._write

    def skipping(args, key, target, form):
        if form is not INPLACE or target.numel() < 2 or target.is_contiguous():
            return write(args, key, target, form)
        last = target.detach().narrow(-1, target.shape[-1] - 1, 1)
        keep = last.clone()
        write(args, key, target, form)
        copy_into(last, keep)
    return setting(operator("div"), _write=skipping)


@wrong_call("addcmul", "I3")
def in_place_not_counted(call, case, **tensors):
    """The version counter does not see writes in place."""
    result = call(**tensors)
    if case.form == "in-place":
        result._vc[0] -= 1
    return result


@wrong_call("abs", "I3", alone=True)
def empty_writes_not_counted(call, case, **tensors):
    """A write in place to a tensor without elements is not counted."""
    result = call(**tensors)
    if case.form == "in-place" and not result.numel():
        result._vc[0] -= 1
    return result


@wrong_call("clamp", "I3")
def refused_writes_counted(call, case, **tensors):
    """An in-place call that raises is counted as a write."""
    try:
        return call(**tensors)
    except Exception:
        if case.form == "in-place":
            tensors["self"]._vc[0] += 1
        raise


@wrong_call("add", "I4")
def in_place_target_is_stretched(call, case, **tensors):
    """In place, self is resized to the broadcast size."""
    target = tensors["self"] if case.form == "in-place" else None
    size = np.broadcast_shapes(*(t.shape for t in tensors.values()))
    if target is not None and size != target.shape:
        stretched = target.detach().expand(size).clone()
        target._storage, target._offset, target._meta = stretched._storage, stretched._offset, stretched._meta
    return call(**tensors)


@fault("copysign", "I4", alone=True)
def in_place_casts_anything():
    """In place, a float result is stored in an integer tensor."""
    return _in_place_only("copysign", can_cast=lambda source, target: True)


def _in_place_only(op, **attributes):
    """Names that reftorch.dispatch.pointwise uses, for calls in place."""
    owner = operator(op)
    write = owner._write

    def patched(args, key, target, form):
        with setting(pointwise, **attributes) if form is INPLACE else contextlib.nullcontext():
            write(args, key, target, form)
    return setting(owner, _write=patched)


@fault("maximum", "O5", alone=True)
def out_overlap_not_checked():
    """An out= whose elements share places is written."""
    return setting(pointwise, writable=lambda target: None)


@fault("sub", "I5", alone=True)
def partial_overlap_not_checked():
    """An input that overlaps self, one element further, is read while self is written."""
    return _in_place_only("sub", read_only_overlap=lambda target, sources: None)


@fault("mul", "I5", "O5")
def expanded_target_accepted():
    """A target whose elements share places is written."""
    return setting(pointwise, writable=lambda target: None)


def _is_same(a, b):
    return a is not b and a._storage is b._storage and a._meta is b._meta and a._offset == b._offset


@wrong_call("addcmul", "I6", alone=True)
def in_place_in_two_passes(call, case, **tensors):
    """In place, self is cleared before the other operands are read, which may be self too."""
    if case.form != "in-place" or not any(_is_same(t, tensors["self"]) for t in tensors.values()):
        return call(**tensors)
    target = tensors["self"]
    kept = target.detach().clone()
    target._host_array()[...] = 0
    copy_into(target, call(**{**tensors, "self": kept}))
    target._vc[0] += 1
    return target


@wrong_call("eq", "I2", "I6")
def in_place_bytes_are_masks(call, case, **tensors):
    """In place, true is stored with all bits set, which is -1 in integers."""
    result = call(**tensors)
    if case.form == "in-place" and result.dtype.is_integral:
        array = result._host_array()
        array[...] = -array
    return result


@wrong_call("nextafter", "F1", alone=True)
def method_goes_the_other_way(call, case, **tensors):
    """The method has its operands swapped; the function does not."""
    if case.form == "method":
        return call(self=tensors["other"], other=tensors["self"])
    return call(**tensors)


# ---- out= ----
@wrong_call("add", "O1", alone=True)
def out_alias_returned(call, case, **tensors):
    """out= is written, and another tensor on the same memory returned."""
    result = call(**tensors)
    return result.detach() if case.form == "out=" else result


@wrong_call("sqrt", "O1", "O2")
def out_copy_returned(call, case, **tensors):
    """out= is written, and a copy of it returned."""
    result = call(**tensors)
    return result.clone() if case.form == "out=" else result


@wrong_call("mul", "O2")
def out_strides_ignored(call, case, **tensors):
    """A strided out= is written as if it were contiguous."""
    result = call(**tensors)
    if case.form == "out=" and result.numel() and not result.is_contiguous():
        values = result.contiguous()
        flat = result.as_strided(result.shape, values.stride(), result.storage_offset())
        if values._meta.layout.extent <= result._meta.layout.extent:
            copy_into(flat, values)
    return result


@wrong_call("sub", "O2", alone=True)
def out_gets_new_memory(call, case, **tensors):
    """The result is computed elsewhere, and out made to refer to it: other views of its memory do not see it."""
    result = call(**tensors)
    if case.form == "out=":
        moved = result.clone()
        result._storage, result._offset, result._meta = moved._storage, moved._offset, moved._meta
    return result


@wrong_call("addcmul", "O2", "O4")
def out_decides_what_is_computed(call, case, **tensors):
    """With an out= of a wider dtype, everything is computed in that."""
    out = tensors.get("out")
    if out is None or out.dtype.category != 2 or out.dtype.itemsize <= tensors["self"].dtype.itemsize:
        return call(**tensors)
    return call(**{n: t if n == "out" else t.to(out.dtype) for n, t in tensors.items()})


@wrong_call("neg", "O3", alone=True)
def out_not_resized(call, case, **tensors):
    """An out= of another size is filled with as many elements as fit."""
    out = tensors.get("out")
    if out is None or out.shape == tensors["self"].shape:
        return call(**tensors)
    result = operator("neg").call((tensors["self"],)).reshape((-1,))
    array = out._host_array()
    array[...] = np.resize(result._host_array(), array.shape) if result.numel() else array
    out._vc[0] += 1
    return out


@wrong_call("sqrt", "O3")
def out_resized_in_silence(call, case, **tensors):
    """An out= with elements is resized without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(**tensors)


@wrong_call("lerp", "O3")
def empty_out_resized_with_a_warning(call, case, **tensors):
    """The warning comes for an out= without elements too."""
    out = tensors.get("out")
    empty = out is not None and not out.numel()
    size = tuple(out.shape) if out is not None else ()
    result = call(**tensors)
    if empty and tuple(result.shape) != size:
        warnings.warn(f"An output with one or more elements was resized since it had shape {list(size)}", stacklevel=2)
    return result


@fault("reciprocal", "O3")
def resized_out_is_contiguous():
    """A resized out= is contiguous, whatever strides the result has."""
    right = pointwise.resize_output

    def resize(target, size, stride):
        right(target, size, contiguous_stride(size))
    return setting(pointwise, resize_output=resize)


@fault("add", "O4")
def out_casts_anything():
    """An out= of a lower category is accepted: floats are truncated to integers."""
    return setting(pointwise, can_cast=lambda source, target: True)


@fault("mul", "O4")
def out_casts_nothing():
    """An out= must have the very dtype of the result."""
    return setting(pointwise, can_cast=lambda source, target: source is target)


@fault("sign", "O4", alone=True)
def out_dtype_not_checked():
    """An operator that asks for the very dtype takes any out= that can hold the result."""
    return setting(operator("sign"), target_checks=[])


@fault("sub", "O5")
def out_partial_overlap_accepted():
    """out= may overlap an input in part."""
    return setting(pointwise, read_only_overlap=lambda target, sources: None)


@wrong_call("addcdiv", "O6", alone=True)
def out_cleared_first(call, case, **tensors):
    """out= is set to zero before the operands are read."""
    out = tensors.get("out")
    if out is not None and any(_is_same(t, out) for t in tensors.values()):
        out._host_array()[...] = 0
    return call(**tensors)


@wrong_call("where", "O7", alone=True)
def out_is_written_under_autograd(call, case, **tensors):
    """With out=, operands that require grad are detached in silence."""
    if "out" not in tensors:
        return call(**tensors)
    return call(**{n: t.detach() if n != "out" and t.requires_grad else t for n, t in tensors.items()})


@wrong_call("maximum", "O8", alone=True)
def out_not_counted(call, case, **tensors):
    """The version counter does not see writes to out=."""
    result = call(**tensors)
    if case.form == "out=":
        result._vc[0] -= 1
    return result


@wrong_call("rsqrt", "O8", "I3")
def writes_counted_twice(call, case, **tensors):
    """A write is counted where it begins and where it ends."""
    result = call(**tensors)
    if case.form in ("out=", "in-place"):
        result._vc[0] += 1
    return result
