"""Sizes and strides of views: arithmetic on tuples, no tensors.

Source: ATen/InferSize.h (infer_size), ATen/TensorUtils.cpp (computeStride_impl), ATen/ExpandUtils.cpp.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..core.layout import Layout
from ..core.tensor import wrap_dim

Shape = Sequence[int]


def infer_size(shape: Shape, numel: int) -> tuple[int, ...]:
    """`shape` with its one -1 replaced by what makes `numel` elements. Raises RuntimeError if there is no such size."""
    known, free = 1, None
    for d, n in enumerate(shape):
        if n == -1:
            if free is not None:
                raise RuntimeError("only one dimension can be inferred")
            free = d
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {d} of shape {list(shape)}")
        else:
            known *= n
    if free is None:
        if known == numel:
            return tuple(shape)
    elif known == 0 and numel == 0:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension "
                           "size -1 can be any value and is ambiguous")
    elif known and numel % known == 0:
        return (*shape[:free], numel // known, *shape[free + 1:])
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


@lru_cache(4096)
def view_strides(layout: Layout, size: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides with which the same memory reads as `size`, row-major order kept; None if no strides do that.

    Dimensions that follow each other without a gap form a run; every new dimension must lie within one run.
    """
    if not layout.ndim:
        return (1,) * len(size)
    if layout.numel == 0:
        return layout.stride if tuple(size) == layout.size else Layout.of(size).stride
    stride = [0] * len(size)
    view_d, run, step = len(size) - 1, 1, layout.stride[-1]
    viewed = 1
    for d in range(layout.ndim - 1, -1, -1):
        run *= layout.size[d]
        if d == 0 or layout.size[d - 1] != 1 and layout.stride[d - 1] != run * step:
            while view_d >= 0 and (viewed < run or size[view_d] == 1):
                stride[view_d] = viewed * step
                viewed *= size[view_d]
                view_d -= 1
            if viewed != run:
                return None
            if d > 0:
                step, run, viewed = layout.stride[d - 1], 1, 1
    return tuple(stride) if view_d == -1 else None


def expanded(layout: Layout, size: Shape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides of expand(size), -1 keeping a size. Raises RuntimeError with PyTorch's texts."""
    new = len(size) - layout.ndim
    if not layout.ndim:
        if min(size, default=0) < 0:
            raise RuntimeError("numel: integer multiplication overflow")
        return tuple(size), (0,) * len(size)
    sizes: list[int] = []
    strides: list[int] = []
    for d in range(len(size) - 1, -1, -1):
        own = d - new
        n, s = (layout.size[own], layout.stride[own]) if own >= 0 else (
            1, sizes[-1] * strides[-1] if sizes else 1)  # what a new dimension of size 1 has
        want = size[d]
        if want == -1:
            if own < 0:
                raise RuntimeError(f"The expanded size of the tensor ({want}) isn't allowed in a leading, non-existing "
                                   f"dimension {d}")
            want = n
        if n != want:
            if n != 1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({want}) must match the existing size ({n}) at non-singleton "
                    f"dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(layout.size)}")
            n, s = want, 0
        sizes.append(n)
        strides.append(s)
    return tuple(reversed(sizes)), tuple(reversed(strides))


def wrap_dims(dims: Shape, ndim: int) -> tuple[int, ...]:
    """Distinct dimensions, counted from the front. Raises IndexError or RuntimeError with PyTorch's texts."""
    found = []
    for d in dims:
        d = wrap_dim(d, ndim)
        if d in found:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        found.append(d)
    return tuple(found)


def slice_bounds(start: int | None, end: int | None, n: int) -> tuple[int, int]:
    """start and end of a slice within 0..n, negative ones counted from the back."""
    start = 0 if start is None else start
    end = n if end is None else end
    start = min(max(start + n if start < 0 else start, 0), n)
    end = min(max(end + n if end < 0 else end, start), n)
    return start, end
