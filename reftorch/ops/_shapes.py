"""Shape functions that are composed of views, and of a copy where no view will do: reshape, flatten, x.T, ...

Source: ATen/native/TensorShape.cpp (CompositeImplicitAutograd functions).
"""
from __future__ import annotations

from typing import Any

from ..core import dtype as dtypes
from ..core.layout import Layout
from ..core.meta import Meta
from ..core.options import contiguous_format
from ..core.tensor import Tensor, wrap_dim
from ..dispatch.arguments import integers, missing, tensor
from ..dispatch.function import COMPOSITES, composite, function
from ..dispatch.function import view as geometry
from ..dispatch.view import untracked_alias
from . import _views
from ._geometry import infer_size, view_strides


@composite(public=False)
def view(self: Tensor, *shape: Any, size: Any = None, dtype: dtypes.dtype | None = None) -> Tensor:
    """x.view(2, -1): the same elements in row-major order as another shape. x.view(dtype): the same bytes as that dtype.

    Raises RuntimeError where the shape does not fit or no strides describe the result.
    """
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        dtype = shape[0]
    if dtype is not None:
        return view_dtype(self, dtype)
    if size is None:
        size = shape or missing("view", "size")
    return _views.view_as_shape(self, integers(size, "view", "size", 1))


@function("view_dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", public=False, method=False, differentiable=False)
def view_dtype(self, dtype):
    """view.dtype in PyTorch: the same bytes read as another dtype. The last dimension shrinks or grows by the ratio of the
    element sizes.

    No gradient flows through it. Raises RuntimeError unless the last dimension has stride 1 and everything divides.
    """
    layout, old, new = self._meta.layout, self.itemsize, dtype.itemsize
    size, stride = list(layout.size), list(layout.stride)
    what = f"to view {self.dtype.scalar_type} as {dtype.scalar_type} (different element sizes)"
    if old != new and not size:
        raise RuntimeError(f"self.dim() cannot be 0 {what}")
    ratio = max(old, new) // min(old, new)
    if old < new and size[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {what}, but got {size[-1]}")
    if old < new and self.storage_offset() % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {what}, but got {self.storage_offset()}")
    if old != new and stride[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {stride[-1]}")
    if old > new:
        size[-1] *= ratio
        stride[:-1] = [s * ratio for s in stride[:-1]]
    elif old < new:
        for d, s in enumerate(stride[:-1]):
            if s % ratio:
                raise RuntimeError(f"self.stride({d}) must be divisible by {ratio} {what}, but got {s}")
        size[-1] //= ratio
        stride[:-1] = [s // ratio for s in stride[:-1]]
    return untracked_alias(self, Meta.of(dtype, self.device, Layout.of(size, stride)))


def _reshape(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    size, layout = infer_size(shape, self.numel()), self._meta.layout
    if layout.contiguous:
        return _views.view_as_shape(self, size)
    stride = view_strides(layout, size)
    if stride is not None:
        return reshape_alias(self, size, stride)
    return unsafe_view(self.clone(memory_format=contiguous_format), size)


@geometry("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", public=False, method=False)
def reshape_alias(meta, size, stride):
    """A view of these sizes and strides, which the caller has worked out."""
    return size, stride, 0


reshape_alias.derivatives(self=lambda grad, self_meta: grad.reshape(self_meta.layout.size))


@function("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", public=False, method=False)
def unsafe_view(self, size):
    """A view of a tensor that nobody else can see, so no view at all as far as autograd is concerned."""
    return Tensor(self._storage, Meta.of(self.dtype, self.device, Layout.of(size)), self._offset, self._vc)


unsafe_view.derivatives(self=lambda grad, self_meta: grad.reshape(self_meta.layout.size))


def reshape(input: Tensor, shape: Any) -> Tensor:
    """The same elements in row-major order as another shape: a view where strides allow it, else a copy.

    Raises RuntimeError if the number of elements differs.
    """
    return _reshape(tensor(input, "reshape", "input", 1), integers(shape, "reshape", "shape", 2))


COMPOSITES["reshape"] = reshape
Tensor.reshape = lambda self, *shape: _reshape(  # type: ignore[attr-defined]
    self, integers(shape or missing("reshape", "shape"), "reshape", "shape", 1))


@composite(public=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """self.view(other.shape)"""
    return _views.view_as_shape(self, tensor(other, "view_as", "other", 1).shape)


@composite(public=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """self.reshape(other.shape)"""
    return _reshape(self, tensor(other, "reshape_as", "other", 1).shape)


@composite(public=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """self.expand(other.shape)"""
    return _views.expand.function(self, tensor(other, "expand_as", "other", 1).shape)


@composite()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim as one; a 0-dim tensor becomes 1-dim.

    Raises RuntimeError if end_dim comes before start_dim.
    """
    ndim = input.ndim
    start, end = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not ndim:
        return _reshape(input, (1,))
    if start == end:
        return input
    size = input.shape
    joined = 1
    for n in size[start:end + 1]:
        joined *= n
    return _reshape(input, (*size[:start], joined, *size[end + 1:]))


@composite()
def ravel(input: Tensor) -> Tensor:
    """All elements in row-major order: input.contiguous().view(-1)."""
    return _views.view_as_shape(input.contiguous(), (-1,))


@composite()
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` elements of a dimension from `start`. Raises RuntimeError or IndexError where they do not exist."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    n = input.shape[wrap_dim(dim, input.ndim)]
    start = int(start)
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start += n if start < 0 else 0
    if start > n - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return _views.slice_(input, dim, start, start + length, 1)


@property  # type: ignore[misc]
def _T(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    return _views.permute.function(self, tuple(reversed(range(self.ndim))))


@property  # type: ignore[misc]
def _mT(self: Tensor) -> Tensor:
    """The last two dimensions exchanged; a 0-dim tensor as it is. Raises RuntimeError for one dimension."""
    if not self.ndim:
        return self
    if self.ndim < 2:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got "
                           f"{self.ndim}-D tensor.")
    return self.transpose(-2, -1)


Tensor.T, Tensor.mT = _T, _mT  # type: ignore[attr-defined]
Tensor.__iter__ = lambda self: iter(self.unbind(0)) if self.ndim else _no_iteration()  # type: ignore[method-assign]


def _no_iteration() -> Any:
    raise TypeError("iteration over a 0-d tensor")
