"""Views: the same memory with other sizes, strides or offset. No element is read or written.

Every function returns a tensor that shares storage and version counter with its input; a change to one is seen in the
other. Source: ATen/native/TensorShape.cpp; derivatives: tools/autograd/derivatives.yaml.
"""
from __future__ import annotations

from ..core.layout import Layout
from ..core.meta import Meta
from ..core.tensor import wrap_dim
from ..dispatch.arguments import type_name
from ..dispatch.function import function, view
from ..dispatch.view import alias, untracked_alias
from ._geometry import expanded, infer_size, slice_bounds, view_strides, wrap_dims
from ._view_gradients import as_strided_gradient, select_backward, slice_backward, unbind_backward


@view("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", public=False, method=False)
def view_as_shape(meta, size):
    """The same elements in row-major order as another shape; one size may be -1.

    Raises RuntimeError if the number of elements differs, or if no strides describe the result.
    """
    size = infer_size(size, meta.layout.numel)
    stride = view_strides(meta.layout, size)
    if stride is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                           "across two contiguous subspaces). Use .reshape(...) instead.")
    return size, stride, 0


view_as_shape.derivatives(self=lambda grad, self_meta: grad.reshape(self_meta.layout.size))


@view("alias(Tensor(a) self) -> Tensor(a)", public=False, method=False)
def same(meta):
    """All of it."""
    return meta.layout.size, meta.layout.stride, 0


same.derivatives(self=lambda grad: grad)


@function("as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)")
def as_strided(self, size, stride, storage_offset):
    """Any sizes and strides over the storage of `self`, from `storage_offset` elements (None: where `self` starts).

    Raises RuntimeError for sizes and strides of different lengths, negative ones, or elements outside the storage.
    """
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: "
                           f"{list(stride)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    itemsize = self.itemsize
    start = self._offset // itemsize if storage_offset is None else storage_offset
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    end = (start + Layout.of(size, stride).extent) * itemsize
    if 0 not in size and end > self._storage.nbytes:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize "
                           f"{itemsize} requiring a storage size of {end} are out of bounds for storage of size "
                           f"{self._storage.nbytes}")
    return alias(self, Meta.of(self.dtype, self.device, Layout.of(size, stride)), start * itemsize)


as_strided.derivatives(self=as_strided_gradient)


@view("permute(Tensor(a) self, int[] dims) -> Tensor(a)")
def permute(meta, dims):
    """The dimensions in another order. Raises RuntimeError unless `dims` names each once."""
    layout = meta.layout
    if len(dims) != layout.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
                           f"desired ordering of dimensions i.e. input.dim() = {layout.ndim} is not equal to len(dims) = "
                           f"{len(dims)}")
    order = []
    for d in dims:
        d = wrap_dim(d, layout.ndim)
        if d in order:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        order.append(d)
    return [layout.size[d] for d in order], [layout.stride[d] for d in order], 0


def _permute_back(grad, dims):
    ndim = len(dims)
    back = [0] * ndim
    for i, d in enumerate(dims):
        back[d % ndim] = i
    return grad.permute(back)


permute.derivatives(self=_permute_back)


@view("transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
def transpose(meta, dim0, dim1):
    """Two dimensions exchanged. Raises IndexError for a dimension out of range."""
    layout = meta.layout
    dim0, dim1 = wrap_dim(dim0, layout.ndim), wrap_dim(dim1, layout.ndim)
    size, stride = list(layout.size), list(layout.stride)
    if layout.ndim:
        size[dim0], size[dim1] = size[dim1], size[dim0]
        stride[dim0], stride[dim1] = stride[dim1], stride[dim0]
    return size, stride, 0


transpose.derivatives(self=lambda grad, dim0, dim1: grad.transpose(dim0, dim1))


@view("t(Tensor(a) self) -> Tensor(a)")
def t(meta):
    """The transpose of a matrix; a tensor of fewer dimensions as it is. Raises RuntimeError above two dimensions."""
    layout = meta.layout
    if layout.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {layout.ndim}D")
    return layout.size[::-1], layout.stride[::-1], 0


t.derivatives(self=lambda grad: grad.t())


@view("expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", public=False)
def expand(meta, size):
    """Dimensions of size 1 repeated without copying (stride 0), new ones in front; -1 keeps a size.

    Raises RuntimeError for a size that neither matches nor is 1.
    """
    layout = meta.layout
    if len(size) < layout.ndim:
        raise RuntimeError(f"expand({type_name(meta)}{{{list(layout.size)}}}, size={list(size)}): the number of sizes "
                           f"provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor "
                           f"({layout.ndim})")
    return *expanded(layout, size), 0


expand.derivatives(self=lambda grad, self_meta: grad.sum_to_size(self_meta.layout.size))


@view("select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")
def select(meta, dim, index):
    """One slice of a dimension, which disappears. Raises IndexError for a dimension or index out of range."""
    layout = meta.layout
    if not layout.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, layout.ndim)
    n = layout.size[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(layout.size)} at dimension {dim}")
    step = layout.stride[dim]
    return layout.size[:dim] + layout.size[dim + 1:], layout.stride[:dim] + layout.stride[dim + 1:], index % n * step


select.derivatives(self=lambda grad, self_meta, dim, index: select_backward(grad, self_meta.layout.size, dim, index))


@view("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
          public=False, method=False)
def slice_(meta, dim, start, end, step):
    """Every step-th element of a dimension from start up to end, as Python slices; bounds are clipped.

    Raises RuntimeError for a step that is not positive.
    """
    layout = meta.layout
    if not layout.ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, layout.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    start, end = slice_bounds(start, end, layout.size[dim])
    size, stride = list(layout.size), list(layout.stride)
    size[dim] = (end - start + step - 1) // step
    offset = start * stride[dim]
    stride[dim] *= step
    return size, stride, offset


slice_.derivatives(self=lambda grad, self_meta, dim, start, end, step:
                   slice_backward(grad, self_meta.layout.size, dim, start, end, step))


@view("unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
def unsqueeze(meta, dim):
    """A new dimension of size 1 before `dim`. Raises IndexError for a dimension out of range."""
    layout = meta.layout
    dim = wrap_dim(dim, layout.ndim + 1)
    step = layout.size[dim] * layout.stride[dim] if dim < layout.ndim else 1
    return (*layout.size[:dim], 1, *layout.size[dim:]), (*layout.stride[:dim], step, *layout.stride[dim:]), 0


unsqueeze.derivatives(self=lambda grad, dim: grad.squeeze(dim))


@view("squeeze(Tensor(a) self) -> Tensor(a)", "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
          "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)")
def squeeze(meta, dim=None):
    """Without its dimensions of size 1, or without those of `dim` that have size 1."""
    layout = meta.layout
    dims = range(layout.ndim) if dim is None else wrap_dims(dim if isinstance(dim, tuple) else (dim,), layout.ndim)
    kept = [d for d in range(layout.ndim) if d not in dims or layout.size[d] != 1]
    return [layout.size[d] for d in kept], [layout.stride[d] for d in kept], 0


def _unsqueeze_back(grad, self_meta, dim):
    size = self_meta.layout.size
    dims = range(len(size)) if dim is None else wrap_dims(dim if isinstance(dim, tuple) else (dim,), len(size))
    for d in sorted(dims):
        if size and size[d] == 1:
            grad = grad.unsqueeze(d)
    return grad


squeeze.derivatives(self=_unsqueeze_back)
squeeze.node_name = lambda self, dim: f"SqueezeBackward{0 if dim is None else 2 if isinstance(dim, tuple) else 1}"


@function("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(self, dim):
    """All slices along a dimension, as a tuple of views. Raises IndexError for a dimension out of range."""
    layout = self._meta.layout
    dim = wrap_dim(dim, layout.ndim)
    if not layout.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    size, stride = layout.size[:dim] + layout.size[dim + 1:], layout.stride[:dim] + layout.stride[dim + 1:]
    meta = Meta.of(self.dtype, self.device, Layout.of(size, stride))
    step = layout.stride[dim] * self.itemsize
    return tuple(alias(self, meta, self._offset + i * step, several=True) for i in range(layout.size[dim]))


unbind.derivatives(self=lambda grads, self_meta, dim: unbind_backward(grads, self_meta, dim))


@function("detach(Tensor(a) self) -> Tensor(a)", public=False, differentiable=False)
def detach(self):
    """The same memory, outside every graph. It shares the version counter, so autograd notices writes through it."""
    return untracked_alias(self)
