"""sum and sum_to_size, which autograd needs to undo broadcasting.

The order of additions is part of the definition here (PyTorch leaves it open): the elements of one sum, in row-major
order, are added in pairs (0+1, 2+3, ...), the results again, until one is left; an odd last one moves up unchanged.
Additions are made in the compute type (float32 for the 16-bit floats, int64 for integers) and rounded once at the end.
Source of shapes and dtypes: ATen/native/ReduceOps.cpp, ATen/ExpandUtils.h (sum_to).
"""
from __future__ import annotations

from math import prod
from typing import Any

from ..core import dtype as dtypes
from ..core.dtype import FLOATING, dtype
from ..core.layout import Layout
from ..core.tensor import Tensor, empty_strided
from ..dispatch.arguments import integers
from ..dispatch.cast import compute_type, contiguous, converted
from ..dispatch.function import composite, function
from ._geometry import wrap_dims
from ._view_gradients import zeros_of
from ._views import view as view_op


def _add(a, b):
    """a + b"""
    return a + b


@function("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
          "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
def sum_(self, dim=None, keepdim=False, dtype=None):
    """The sum over `dim` (an int or several; None or none: all). Integers and bool give int64.

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.
    """
    dims = range(self.ndim) if not isinstance(dim, int) and not dim else wrap_dims(
        dim if isinstance(dim, tuple) else (dim,), self.ndim)
    result_type = dtype or (self.dtype if self.dtype.category >= FLOATING else dtypes.int64)
    size = self.shape
    kept = [d for d in range(self.ndim) if d not in dims]
    out = [size[d] for d in kept]
    total = _tree_sum(converted(self, compute_type(result_type)), kept, dims)
    total = converted(total, result_type)
    if keepdim:
        out = [1 if d in dims else n for d, n in enumerate(size)]
    return Tensor(total._storage, total._meta.of(result_type, self.device, Layout.of(out)))


def _tree_sum(x: Tensor, kept: list[int], dims: Any) -> Tensor:
    """A contiguous tensor of the kept dimensions. Rows of (kept, reduced) are halved until they have one element."""
    order = [*kept, *dims]
    layout = x._meta.layout
    moved = x._meta.of(x.dtype, x.device, Layout.of([layout.size[d] for d in order], [layout.stride[d] for d in order]))
    n = prod(layout.size[d] for d in dims)
    rows = prod(layout.size[d] for d in kept)
    if n == 0 or rows == 0:
        return zeros_of(x, (rows,))
    source = Tensor(x._storage, moved, x._offset)
    x = contiguous(source)
    launch = x.device.backend.pointwise
    name, width = x.dtype.name, n
    while n > 1:
        half = n // 2
        width_of_next = half + n % 2
        out = empty_strided(Layout.of((rows, width_of_next)), x.dtype, x.device)
        add = launch(_add, (name, name), name, (name, name), (), (rows, half), ((width_of_next, 1), (width, 2), (width, 2)))
        at = x._storage.ptr + x._offset
        add(out._storage.ptr, at, at + x.itemsize)
        if n % 2:
            _copy_column(x, width, n - 1, out, width_of_next, half, rows)
        x, n, width = out, width_of_next, width_of_next
    return x if x is not source else converted(x, x.dtype)


def _copy_column(source: Tensor, width: int, at: int, target: Tensor, target_width: int, to: int, rows: int) -> None:
    from ..dispatch.cast import copy_into

    def column(t: Tensor, width: int, at: int) -> Tensor:
        meta = t._meta.of(t.dtype, t.device, Layout.of((rows,), (width,)))
        return Tensor(t._storage, meta, t._offset + at * t.itemsize)
    copy_into(column(target, target_width, to), column(source, width, at))


def _expanded(grad, self_meta, dim, keepdim):
    size = self_meta.layout.size
    if not keepdim and size:
        dims = range(len(size)) if not isinstance(dim, int) and not dim else wrap_dims(
            dim if isinstance(dim, tuple) else (dim,), len(size))
        grad = view_op(grad, [1 if d in dims else n for d, n in enumerate(size)]) if grad.is_contiguous() else \
            grad.reshape([1 if d in dims else n for d, n in enumerate(size)])
    return grad.expand(size)


sum_.derivatives(self=_expanded)
sum_.node_name = lambda self, dim, keepdim, dtype: f"SumBackward{0 if dim is None else 1}"


@composite(public=False)
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Undo a broadcast: sum the dimensions that `size`, which broadcasts to self.shape, lacks or has as 1.

    Raises RuntimeError for a size that does not broadcast to self.shape.
    """
    size = integers(size, "sum_to_size", "size", 1)
    own = self.shape
    extra = len(own) - len(size)
    if extra < 0 or any(n != m and n != 1 for n, m in zip(size, own[extra:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(own)}}}.")
    dims = tuple(range(extra)) + tuple(d + extra for d, n in enumerate(size) if n == 1 and own[d + extra] != 1)
    total = sum_(self, dims, True) if dims else self
    return view_op(total, size) if extra else total


Dtype = dtype
