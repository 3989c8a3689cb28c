"""Wrong places: strides, offsets, broadcasting, what is read and written around the elements, and whose memory it is."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reftorch.core.layout import contiguous_stride, packed
from reftorch.core.pointwise_layout import fastest_first, pointwise_output_strides
from reftorch.dispatch import pointwise

from . import fault, wrong_call
from .tools import Kernel, editing, launching, memory, nudge, run_of, setting


# ---- reading ----
@fault("add", "S2")
def stride_dropped():
    """Operands are read one element after the other, whatever their strides."""
    def dense(size, stride):
        kept = [n if s else 1 for n, s in zip(size, stride)]
        return tuple(s and c for s, c in zip(stride, contiguous_stride(kept)))
    return launching("add", lambda kernel, start: start(replace(
        kernel, strides=(kernel.strides[0], *(dense(kernel.size, s) for s in kernel.strides[1:])))))


@fault("mul", "S2")
def outer_stride_dropped():
    """With three dimensions or more, the first one is taken to continue the second."""
    def joined(size, stride):
        return (stride[1] * size[1], *stride[1:]) if len(size) > 2 and stride[0] and stride[1] else stride
    return launching("mul", lambda kernel, start: start(replace(
        kernel, strides=(kernel.strides[0], *(joined(kernel.size, s) for s in kernel.strides[1:])))))


@fault("sub", "S2", "E2")
def addresses_rounded_down():
    """Aligned vector loads: the low four bits of an operand's address are ignored."""
    def change(kernel, start):
        run, last = start(kernel), len(kernel.in_types)
        return lambda out, *rest: run(out, *(p & ~15 for p in rest[:last]), *rest[last:])
    return launching("sub", change)


@fault("addcmul", "S2")
def operands_repeat_periodically():
    """Broadcasting takes element i modulo the operand's size, which is right for missing leading dimensions only."""
    def change(kernel: Kernel, start):
        strides = [s if all(s) else contiguous_stride(kernel.size) for s in kernel.strides[1:]]
        run = start(replace(kernel, strides=(kernel.strides[0], *strides)))

        def launch(out, *rest):
            copies = []
            for array, stride in zip(kernel.arrays(out, *rest)[1:], kernel.strides[1:]):
                once = array[tuple(slice(None) if s else slice(1) for s in stride)]
                copies.append(array if all(stride) else np.resize(once, kernel.size))
            run(out, *(a.ctypes.data for a in copies), *rest[len(copies):])
        return launch
    return launching("addcmul", change)


@fault("lerp", "S2")
def last_dimension_never_broadcast():
    """The innermost stride of an operand is 1 even where its size of 1 is stretched."""
    def change(kernel: Kernel, start):
        return start(replace(kernel, strides=(kernel.strides[0], *(
            (*s[:-1], 1) if len(s) > 1 and s[-1] == 0 and any(s) else s for s in kernel.strides[1:]))))
    return launching("lerp", change)


@fault("div", "E2", "M3", dtypes=("float32", "bfloat16"))
def neighbour_read_in_the_tail():
    """The last of 3 elements in a tail is computed from what lies behind the operands."""
    def change(kernel: Kernel, start):
        run, inner = start(kernel), [s[-1:] for s in kernel.strides]
        one = start(replace(kernel, size=(1,), strides=((1,),) * len(inner)))

        def launch(out, *rest):
            run(out, *rest)
            arrays = kernel.arrays(out, *rest)
            if len(kernel.size) == 1 and kernel.size[0] % 8 == 3 and all(s != (0,) for s in inner):
                ends = [a.ctypes.data + a.strides[0] * (len(a) - 1) for a in arrays]
                one(ends[0], *(p + a.itemsize for p, a in zip(ends[1:], arrays[1:])), *rest[len(arrays) - 1:])
        return launch
    return launching("div", change)


@fault("sqrt", "M3", dtypes=("float32",), alone=True)
def lanes_behind_the_end_decide():
    """A tail is handled with whole vectors, and one unit off if the lane behind the last element is positive."""
    def edit(result, self):
        end = self.ctypes.data + sum((n - 1) * s for n, s in zip(self.shape, self.strides)) + self.itemsize
        if result.size % 4 and memory(end, "float32", (1,), (1,))[0] > 0:
            nudge(run_of(result)[-1:])
    return editing("sqrt", edit)


@wrong_call("sub", "S2", alone=True)
def stretched_operands_read_backwards(call, case, **tensors):
    """An operand with several dimensions that is stretched along one of them is read from its end."""
    if case.form != "functional" or any(t.requires_grad for t in tensors.values()):
        return call(**tensors)
    size = call(**tensors).shape
    for name, t in tensors.items():
        if t.ndim > 1 and t.shape != size[len(size) - t.ndim:]:
            tensors[name] = t.clone()
            tensors[name]._host_array()[...] = np.flip(t._host_array())
    return call(**tensors)


# ---- sizes and strides of results ----
def _strides(function):
    """The strides of results are what function(inputs) gives; see `pointwise_output_strides`."""
    return setting(pointwise, pointwise_output_strides=function)


def _shape(inputs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(size for size, _ in inputs))


@fault("add", "L1")
def results_always_contiguous():
    """A result is contiguous whatever the operands' strides are."""
    return _strides(lambda inputs: contiguous_stride(_shape(inputs)))


@fault("maximum", "L1")
def only_the_last_operand_is_asked():
    """The order of the result's dimensions follows other alone."""
    return _strides(lambda inputs: pointwise_output_strides(
        inputs[-1:] if tuple(inputs[-1][0]) == _shape(inputs) else inputs))


@fault("abs", "L1")
def strides_of_single_elements_tidied():
    """Dimensions of size 1 get the stride that they would have in packed memory, not the operands' odd one."""
    def tidy(inputs):
        shape, stride = _shape(inputs), pointwise_output_strides(inputs)
        return stride if 0 in shape else packed(shape, fastest_first(shape, [stride]))
    return _strides(tidy)


@wrong_call("neg", "L1")
def expanded_stays_expanded(call, case, self, **tensors):
    """The result of an expanded tensor is computed once and expanded again, so its elements share memory."""
    if case.form != "functional" or 0 not in self.stride():
        return call(self, **tensors)
    size, stride = self.shape, self.stride()
    return call(self.as_strided([n if s else 1 for n, s in zip(size, stride)], stride)).expand(size)


@wrong_call("minimum", "L1", alone=True)
def results_behind_a_header(call, case, **tensors):
    """A result begins 8 elements into its storage."""
    right = call(**tensors)
    if case.form == "out=" or right.requires_grad:
        return right
    layout = right._meta.layout
    moved = right.new_empty((layout.extent + 8,)).as_strided(layout.size, layout.stride, 8)
    return moved.copy_(right).detach()


@wrong_call("sqrt", "S1", alone=True)
def empty_results_lose_their_shape(call, case, **tensors):
    """A result without elements has size (0,)."""
    right = call(**tensors)
    return right if right.numel() or case.form != "functional" else right.new_empty((0,))


@wrong_call("sign", "S1")
def results_have_a_dimension(call, case, **tensors):
    """A 0-dim result comes out with size (1,)."""
    right = call(**tensors)
    return right if right.ndim or case.form == "out=" else right.reshape((1,))


# ---- writing ----
def _bytes(tensor, before=0, after=0):
    """The bytes from `before` bytes ahead of a tensor's first element to `after` bytes behind its last."""
    extent = tensor._meta.layout.extent * tensor.itemsize
    return memory(tensor._storage.ptr + tensor._offset - before, "uint8", (before + extent + after,), (1,))


@wrong_call("mul", "M1")
def byte_before_written(call, case, **tensors):
    """out= also loses the element before its first one."""
    result = call(**tensors)
    if case.form == "out=":
        _bytes(result, before=result.itemsize)[:result.itemsize] = 0
    return result


@wrong_call("add", "M1")
def whole_vectors_stored(call, case, **tensors):
    """In place, the last store writes a whole vector: up to 16 bytes behind the last element."""
    result = call(**tensors)
    if case.form == "in-place" and result.numel() * result.itemsize % 16:
        rest = 16 - result.numel() * result.itemsize % 16
        _bytes(result, after=rest)[-rest:] = 0
    return result


@wrong_call("abs", "M1", alone=True)
def gaps_overwritten(call, case, **tensors):
    """A strided out= is written as one run of memory, with what was between its elements at the start of it."""
    result = call(**tensors)
    layout = result._meta.layout
    if case.form == "out=" and layout.numel and layout.extent > layout.numel:
        values = result._host_array().copy()
        _bytes(result)[...] = 0
        result._host_array()[...] = values
    return result


@wrong_call("rsqrt", "M1")
def input_used_as_scratch(call, case, self, **tensors):
    """The root is stored in the input on its way, which nobody counts as a write."""
    result = call(self, **tensors)
    if case.form == "functional" and self.is_floating_point() and self.numel():
        _bytes(self)[:self.itemsize] = 0
    return result


# ---- whose memory ----
@wrong_call("sign", "M2", dtypes=("bool",))
def result_is_the_input(call, case, self, **tensors):
    """A bool tensor is its own sign, so it is returned as it is."""
    return self if case.form == "functional" and str(self.dtype) == "torch.bool" else call(self, **tensors)


@wrong_call("add", "M2", alone=True)
def input_made_an_alias_of_the_result(call, case, **tensors):
    """The memory of an operand is given away: it becomes another name of the result."""
    result = call(**tensors)
    operand = next(iter(tensors.values()), None)
    if case.form == "functional" and operand is not None and not result.requires_grad and operand._meta is result._meta:
        operand._storage, operand._offset = result._storage, 0
    return result


@wrong_call("clamp", "M2")
def unchanged_input_is_returned(call, case, self, **tensors):
    """Where no element is out of bounds, the result is a view of the input."""
    result = call(self, **tensors)
    if case.form == "functional" and result.shape == self.shape and result.dtype == self.dtype \
            and np.array_equal(result._host_array(), self._host_array()):
        return self.detach()
    return result
