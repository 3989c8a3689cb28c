"""Sizes and strides, in elements: geometry without memory.

A Layout is immutable and shared: `Layout.of` returns one object per geometry, so that tables of plans can be keyed by
identity. (The table may be emptied, so a different object may still be the same geometry: that costs a miss, no more.)
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

Shape = Sequence[int]


class Size(tuple[int, ...]):
    """torch.Size: a tuple of ints."""

    __slots__ = ()

    def numel(self) -> int:
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, key):  # type: ignore[no-untyped-def, override]
        got = tuple.__getitem__(self, key)
        return Size(got) if isinstance(key, slice) else got

    def __add__(self, other):  # type: ignore[no-untyped-def, override]
        return Size(tuple.__add__(self, tuple(other)))


class Layout:
    """The geometry of a strided tensor.

    size, stride: in elements. numel: their product. contiguous: row-major without gaps. dense: some permutation of
    the dimensions is contiguous (non-overlapping and dense in PyTorch's words). extent: elements spanned in storage.
    """

    __slots__ = ("size", "stride", "ndim", "numel", "contiguous", "dense", "extent")

    def __init__(self, size: tuple[int, ...], stride: tuple[int, ...]):
        self.size = Size(size)
        self.stride = stride
        self.ndim = len(size)
        self.numel = prod(size)
        self.contiguous = is_packed(size, stride, range(len(size) - 1, -1, -1))
        self.dense = self.contiguous or is_dense(size, stride)
        self.extent = 0 if self.numel == 0 else 1 + sum((n - 1) * s for n, s in zip(size, stride))

    @staticmethod
    def of(size: Sequence[int], stride: Sequence[int] | None = None) -> Layout:
        """The layout with this size, contiguous unless `stride` is given."""
        size = tuple(size)
        key = (size, None if stride is None else tuple(stride))
        try:
            return _table[key]
        except KeyError:
            pass
        if len(_table) >= 16384:
            _table.clear()
        full = contiguous_stride(size) if stride is None else key[1]
        layout = _table.setdefault((size, full), Layout(size, full))  # type: ignore[arg-type]
        _table[key] = layout
        return layout

    def overlaps_itself(self) -> bool:
        """True if two index tuples certainly reach the same element (c10 is_overlapping: a stride of 0 on a size > 1)."""
        return self.numel > 0 and any(n > 1 and s == 0 for n, s in zip(self.size, self.stride))

    def __repr__(self) -> str:
        return f"Layout(size={tuple(self.size)}, stride={self.stride})"


_table: dict[tuple[tuple[int, ...], tuple[int, ...] | None], Layout] = {}


def contiguous_stride(size: Shape) -> tuple[int, ...]:
    """Row-major strides. A size of 0 counts as 1, as in c10 (empty tensors have strides too)."""
    return packed(size, range(len(size) - 1, -1, -1))


def packed(size: Shape, fastest_first: Sequence[int], empty: int = 1) -> tuple[int, ...]:
    """Strides without gaps, the dimensions in this order; a size of 0 counts as `empty`."""
    stride, step = [0] * len(size), 1
    for d in fastest_first:
        stride[d], step = step, step * (size[d] or empty)
    return tuple(stride)


def is_packed(size: Shape, stride: Shape, fastest_first: Sequence[int]) -> bool:
    """True also when empty; the strides of dimensions of size 1 do not count."""
    return 0 in size or all(n == 1 or s == e for n, s, e in zip(size, stride, packed(size, fastest_first)))


def is_dense(size: Shape, stride: Shape) -> bool:
    """Non-overlapping and dense: empty, or packed in some order of the dimensions."""
    return is_packed(size, stride, sorted(range(len(size)), key=lambda d: (stride[d], size[d])))


def broadcast_shapes(*shapes: Sequence[int]) -> Size:
    """The common shape: sizes aligned at the right, 1 stretches. Raises RuntimeError with PyTorch's text."""
    out: list[int] = []
    for shape in shapes:
        if len(shape) > len(out):
            out = [1] * (len(shape) - len(out)) + out
        for d in range(-1, -len(shape) - 1, -1):
            if shape[d] != out[d] and shape[d] != 1:
                if out[d] != 1:
                    raise RuntimeError(f"The size of tensor a ({out[d]}) must match the size of tensor b ({shape[d]}) "
                                       f"at non-singleton dimension {len(out) + d}")
                out[d] = shape[d]
    return Size(out)


def expand_strides(layout: Layout, size: Sequence[int]) -> tuple[int, ...]:
    """Strides that make `layout` look like `size`: 0 where a dimension is stretched or new."""
    pad = len(size) - layout.ndim
    return (0,) * pad + tuple(0 if n == 1 and want != 1 else s
                              for n, s, want in zip(layout.size, layout.stride, size[pad:]))
