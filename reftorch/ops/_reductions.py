"""sum and sum_to_size, which autograd needs to undo broadcasting.

The order of additions is part of the definition here (PyTorch leaves it open): the elements of one sum, in row-major
order, are added in pairs (0+1, 2+3, ...), the results again, until one is left; an odd last one moves up unchanged.
Additions are made in the compute type (float32 for the 16-bit floats, int64 for integers) and rounded once at the end.
Source of shapes and dtypes: ATen/native/ReduceOps.cpp, ATen/ExpandUtils.h (sum_to).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from ..core import dtype as dtypes
from ..core.device import device
from ..core.dtype import FLOATING
from ..core.layout import Layout
from ..core.meta import Meta
from ..core.tensor import Tensor, empty_strided
from ..dispatch.arguments import integers
from ..dispatch.cast import clone_of, compute_type, contiguous, converted, copy_into
from ..dispatch.function import composite, function
from ._geometry import wrap_dims
from ._view_gradients import zeros_of
from ._views import view_as_shape


@function("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
          "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
def sum_(self, dim=None, keepdim=False, dtype=None):
    """The sum over `dim` (an int or several; None or none: all). Integers and bool give int64.

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.
    """
    dims, size = _dims(dim, self.ndim), self.shape
    kept = [d for d in range(self.ndim) if d not in dims]
    result_type = dtype or (self.dtype if self.dtype.category >= FLOATING else dtypes.int64)
    total = converted(_pairwise(converted(self, compute_type(result_type)), kept, dims), result_type)
    out = [1 if d in dims else n for d, n in enumerate(size)] if keepdim else [size[d] for d in kept]
    return _geometry(total, out)


def _dims(dim: Any, ndim: int) -> Sequence[int]:
    if dim is None or dim == ():
        return range(ndim)
    dims = wrap_dims(dim if isinstance(dim, tuple) else (dim,), ndim)
    return dims if ndim else ()


def _geometry(x: Tensor, size: Sequence[int], stride: Sequence[int] | None = None, offset: int = 0) -> Tensor:
    """The memory of `x` with other sizes and strides, `offset` elements further; nothing for autograd to see."""
    meta = Meta.of(x.dtype, x.device, Layout.of(size, stride))
    return Tensor(x._storage, meta, x._offset + offset * x.itemsize)


def _add(a, b):
    """a + b"""
    return a + b


@lru_cache(4096)
def _halving(where: device, name: str, rows: int, n: int) -> Callable[..., None]:
    """The launcher that adds neighbours in rows of n."""
    half, rest = divmod(n, 2)
    return where.backend.pointwise(_add, (name, name), name, (name, name), (), (rows, half),
                                   ((half + rest, 1), (n, 2), (n, 2)))


def _pairwise(x: Tensor, kept: Sequence[int], dims: Sequence[int]) -> Tensor:
    """The sums as rows of one element. Each round halves the rows: columns 0, 2, ... plus columns 1, 3, ..."""
    size, stride = x.shape, x._meta.layout.stride
    n, rows = prod(size[d] for d in dims), prod(size[d] for d in kept)
    if n == 0 or rows == 0:
        return zeros_of(x, (rows, 1))
    order = [*kept, *dims]
    source = _geometry(x, [size[d] for d in order], [stride[d] for d in order])
    x = _geometry(contiguous(source), (rows, n))
    while n > 1:
        half, rest = divmod(n, 2)
        out = empty_strided(Layout.of((rows, half + rest)), x.dtype, x.device)
        at = x._storage.ptr + x._offset
        _halving(x.device, x.dtype.name, rows, n)(out._storage.ptr, at, at + x.itemsize)
        if rest:
            copy_into(_geometry(out, (rows,), (half + rest,), half), _geometry(x, (rows,), (n,), n - 1))
        x, n = out, half + rest
    return clone_of(x) if x._storage is source._storage else x


def _spread(grad, self_meta, dim, keepdim):
    size = self_meta.layout.size
    if not keepdim and grad.ndim:
        for d in sorted(_dims(dim, len(size))):
            grad = grad.unsqueeze(d)
    return grad.expand(size)


sum_.derivatives(self=_spread)
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
    if not size:
        return sum_(self)
    dims = tuple(range(extra)) + tuple(d + extra for d, n in enumerate(size) if n == 1 and own[d + extra] != 1)
    total = sum_(self, dims, True) if dims else self
    return view_as_shape(total, size) if extra else total
