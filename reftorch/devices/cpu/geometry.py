"""How the elements of several strided operands are walked together."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

MAX_DIMS = 64  # PyTorch's own limit


def plan_geometry(size: Sequence[int], strides: Sequence[Sequence[int]],
                  itemsizes: Sequence[int]) -> tuple[np.ndarray, int]:
    """The geometry that a kernel takes, and the number of elements.

    size: of all operands. strides: in elements, a sequence for each operand, the output first; 0 where an
    operand is broadcast. itemsizes: bytes of an element, for each operand. The geometry is an int64 array:
    ndim, then the sizes, then each operand's strides in bytes, innermost dimension first. Dimensions of size
    1 are dropped, the rest ordered so that the output, then the inputs, are walked in memory order, and
    neighbours that every operand crosses in even steps are merged. One dimension is always left. Raises
    RuntimeError for more than 64 dimensions that cannot be merged.
    """
    numel = prod(size)
    columns = [[s[d] * item for s, item in zip(strides, itemsizes)] for d in range(len(size))]
    dims = [(n, column) for n, column in zip(size, columns) if n != 1]
    dims.reverse()  # the last dimension first: the sort is stable, so ties keep row-major order
    dims.sort(key=lambda dim: dim[1])
    merged: list[tuple[int, list[int]]] = []
    for n, column in dims:
        if merged and column == [merged[-1][0] * step for step in merged[-1][1]]:
            merged[-1] = (merged[-1][0] * n, merged[-1][1])
        else:
            merged.append((n, column))
    if not merged or numel == 0:
        merged = [(numel, list(itemsizes))]
    if len(merged) > MAX_DIMS:
        raise RuntimeError(f"tensors of more than {MAX_DIMS} dimensions are not supported")
    flat = [len(merged), *(n for n, _ in merged)]
    for k in range(len(itemsizes)):
        flat += [column[k] for _, column in merged]
    return np.array(flat, dtype=np.int64), numel
