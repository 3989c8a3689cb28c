"""Strides of the result of a pointwise operator, as ATen's TensorIterator chooses them.

Source: TensorIteratorBase::reorder_dimensions, compute_strides and fast_set_up in ATen/TensorIterator.cpp.
"""
from __future__ import annotations

from collections.abc import Sequence

from .layout import Shape, is_dense, is_packed, packed


def fastest_first(shape: Shape, rows: Sequence[Shape]) -> list[int]:
    """The dimensions from fastest to slowest: an insertion sort that steps over pairs which no operand can tell
    apart (a stride of 0 tells nothing)."""
    def slower(a: int, b: int) -> int:
        for row in rows:
            if row[a] and row[b]:
                if row[a] != row[b]:
                    return row[a] - row[b]
                if shape[a] > shape[b]:
                    return 1
        return 0

    perm = list(reversed(range(len(shape))))
    for i in range(1, len(perm)):
        at = i
        for j in reversed(range(i)):
            order = slower(perm[j], perm[at])
            if order > 0:
                perm[j], perm[at], at = perm[at], perm[j], j
            elif order < 0:
                break
    return perm


def preserve_format(size: Shape, stride: Shape) -> tuple[int, ...]:
    """torch.preserve_format: the strides that clone(), to(dtype) and empty_like() give."""
    return tuple(stride) if is_dense(size, stride) else packed(size, fastest_first(size, [stride]))


def pointwise_output_strides(inputs: Sequence[tuple[Shape, Shape]]) -> tuple[int, ...]:
    """Strides of a fresh result; `inputs` are (size, stride) of the operands after promotion, a number ((), ())."""
    ndim = max(len(size) for size, _ in inputs)
    sizes = [(1,) * (ndim - len(size)) + tuple(size) for size, _ in inputs]
    shape = tuple(next((n for n in column if n != 1), 1) for column in zip(*sizes))
    c_order = list(reversed(range(ndim)))
    if all(tuple(size) == shape for size, _ in inputs):  # nothing is broadcast
        for order in [c_order] + [[1, 3, 2, 0]] * (ndim == 4):  # contiguous, then channels last
            if all(is_packed(*t, order) for t in inputs):
                return packed(shape, order)
        if all(is_dense(*t) for t in inputs) and len({tuple(stride) for _, stride in inputs}) == 1:
            return tuple(inputs[0][1])  # as they are, odd strides of dimensions of size 1 included
    rows = []  # 0 where a dimension is missing or repeated
    for size, (_, stride) in zip(sizes, inputs):
        stride = (0,) * (ndim - len(stride)) + tuple(stride)
        rows.append([0 if n == 1 != m else s for n, m, s in zip(size, shape, stride)])
    order = fastest_first(shape, rows)
    return packed(shape, order, empty=1 if order == c_order else 0)
