"""Gradients of views that show a part of a tensor: the part's gradient in a tensor of zeros.

They are operators of their own, as in PyTorch, so that they can be differentiated again (by the view itself).
Source: select_backward and slice_backward in ATen/native/TensorShape.cpp, as_strided_backward in
torch/csrc/autograd/FunctionsManual.cpp.
"""
from __future__ import annotations

import numpy as np

from ..core.layout import Layout
from ..core.meta import Meta
from ..core.tensor import Tensor, from_host, wrap_dim
from ..dispatch.cast import compute_type, converted, copy_into
from ..dispatch.function import function
from ._factories import filled
from ._geometry import slice_bounds


def zeros_of(like: Tensor, size) -> Tensor:
    """Contiguous zeros of the dtype and on the device of `like`."""
    return filled(Layout.of(size), like.dtype, like.device, 0)


def _window(tensor: Tensor, size, stride, offset: int) -> Tensor:
    """A plain alias, which autograd does not see, `offset` elements into `tensor`."""
    meta = Meta.of(tensor.dtype, tensor.device, Layout.of(size, stride))
    return Tensor(tensor._storage, meta, tensor._offset + offset * tensor.itemsize)


@function("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", public=False,
          method=False)
def select_backward(grad_output, input_sizes, dim, index):
    """Zeros of `input_sizes` with grad_output at `index` of `dim`."""
    result = zeros_of(grad_output, input_sizes)
    dim = wrap_dim(dim, len(input_sizes))
    stride = result._meta.layout.stride
    copy_into(_window(result, input_sizes[:dim] + input_sizes[dim + 1:], stride[:dim] + stride[dim + 1:],
                      index % input_sizes[dim] * stride[dim]), grad_output)
    return result


select_backward.derivatives(grad_output=lambda grad, dim, index: grad.select(dim, index))


@function("slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt? start, SymInt? end, SymInt step) "
          "-> Tensor", public=False, method=False)
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    """Zeros of `input_sizes` with grad_output in the slice."""
    result = zeros_of(grad_output, input_sizes)
    dim = wrap_dim(dim, len(input_sizes))
    start, _ = slice_bounds(start, end, input_sizes[dim])
    stride = list(result._meta.layout.stride)
    offset = start * stride[dim]
    stride[dim] *= step
    copy_into(_window(result, grad_output.shape, stride, offset), grad_output)
    return result


def _slice(grad, dim, start, end, step):
    from ._views import slice_
    return slice_(grad, dim, start, end, step)


slice_backward.derivatives(grad_output=_slice)


def unbind_backward(grads, self_meta, dim):
    """The gradients of all slices, stacked; zeros for slices that were not used."""
    like = next(g for g in grads if g is not None)
    result = zeros_of(like, self_meta.layout.size)
    for i, g in enumerate(grads):
        if g is not None:
            result.select(dim, i).copy_(g)
    return result


@function("as_strided_backward(Tensor grad_output, SymInt[] size, SymInt[] stride, SymInt offset, SymInt[] input_size, "
          "SymInt[] input_stride, SymInt input_offset, *, bool transposed=False) -> Tensor", public=False, method=False)
def as_strided_backward(grad_output, size, stride, offset, input_size, input_stride, input_offset, transposed):
    """The gradient of a tensor of input_* geometry from that of its as_strided(size, stride, offset).

    Gradients of one place in memory are added up, in row-major order; where the input itself names a place several
    times, each of its names gets an equal share. transposed: the same with the two geometries' roles exchanged, which
    is this function's own derivative.
    """
    shown, own = Layout.of(size, stride), Layout.of(input_size, input_stride)
    lowest = min(offset, input_offset)
    shown_at, own_at = offset - lowest, input_offset - lowest
    span = max(shown.extent + shown_at, own.extent + own_at)
    shared, shared_at = (shown, shown_at) if transposed else (own, own_at)
    if not _injective(shown) or not _injective(own):
        return _by_index(grad_output, span, shown, shown_at, own, own_at, (shared, shared_at))
    memory = zeros_of(grad_output, (span,))
    copy_into(_window(memory, shown.size, shown.stride, shown_at), grad_output)
    return _window(memory, own.size, own.stride, own_at)


def _as_strided_backward_again(grad, size, stride, offset, input_size, input_stride, input_offset, transposed):
    return as_strided_backward(grad, input_size, input_stride, input_offset, size, stride, offset,
                               transposed=not transposed)


as_strided_backward.derivatives(grad_output=_as_strided_backward_again)


def _places(layout: Layout, offset: int) -> np.ndarray:
    """Where each element lies in memory, in row-major order."""
    at = np.full(layout.size, offset, np.int64)
    for d, (n, s) in enumerate(zip(layout.size, layout.stride)):
        at += (np.arange(n, dtype=np.int64) * s).reshape([-1 if i == d else 1 for i in range(layout.ndim)])
    return at.reshape(-1)


def _injective(layout: Layout) -> bool:
    if layout.dense or layout.overlaps_itself():
        return layout.dense
    places = _places(layout, 0)
    return len(np.unique(places)) == len(places)


def _by_index(grad, span, shown, shown_at, own, own_at, shared):
    """The general case, element by element on the host."""
    compute = compute_type(grad.dtype)
    memory = np.zeros(span, compute.np)
    np.add.at(memory, _places(shown, shown_at), converted(grad, compute)._values().reshape(-1))
    count = np.zeros(span, np.int64)
    np.add.at(count, _places(*shared), 1)
    memory = memory / np.maximum(count, 1).astype(compute.to_real().np)
    values = memory[_places(own, own_at)].reshape(own.size)
    return converted(from_host(values, compute, grad.device), grad.dtype)


def as_strided_gradient(grad, self_meta, self_offset, size, stride, storage_offset):
    own = self_meta.layout
    start = self_offset if storage_offset is None else storage_offset
    return as_strided_backward(grad, size, stride, start, own.size, own.stride, self_offset)

