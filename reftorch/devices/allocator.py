"""A caching allocator over host memory.

Half of the time of a large operator with a fresh output is the system handing out pages (page faults), so freed blocks
are kept by size and handed out again. Sizes are rounded so that nearby requests share a list.
"""
from __future__ import annotations

import numpy as np

ALIGNMENT = 64  # a cache line, and the widest vector
PAGE = 1 << 21
LARGE = 1 << 20
KEEP = 1 << 31  # bytes of large freed blocks kept before they go back to the system


def rounded(nbytes: int) -> int:
    """The size of the block that holds `nbytes`: whole cache lines, and whole 2 MiB pages for large blocks."""
    step = ALIGNMENT if nbytes < LARGE else PAGE
    return max(nbytes + step - 1 & -step, ALIGNMENT)


class CachingAllocator:
    """Host memory in cached blocks. `bias` is added to every address handed out.

    A simulated device sets a bias that makes its addresses useless to the host, so that nothing can read its memory
    by mistake. See reftorch.devices.protocol.Allocator.
    """

    def __init__(self, bias: int = 0):
        self.bias = bias
        self.free_blocks: dict[int, list[int]] = {}
        self.large_bytes = 0  # in free large blocks
        self._by_rounded_size: dict[int, list[int]] = {}
        self._owners: dict[int, np.ndarray] = {}  # address -> the array that owns the memory

    def allocate(self, nbytes: int) -> int:
        """An address: a cached block's or a new one's. Raises MemoryError when the host has no more."""
        size = rounded(nbytes)
        blocks = self._by_rounded_size.get(size)
        if blocks is None:
            blocks = self._by_rounded_size.setdefault(size, _LargeBlocks(self, size) if size >= LARGE else [])
        self.free_blocks[nbytes] = blocks
        try:
            return blocks.pop()
        except IndexError:
            pass
        owner = np.empty(size + ALIGNMENT, np.uint8)
        ptr = (owner.ctypes.data + ALIGNMENT - 1 & -ALIGNMENT) + self.bias
        self._owners[ptr] = owner
        return ptr

    def empty_cache(self) -> None:
        """Give every cached block back to the system."""
        for blocks in self._by_rounded_size.values():
            while blocks:
                del self._owners[blocks.pop()]


class _LargeBlocks(list):  # type: ignore[type-arg]
    """Free large blocks of one size. They count, and too many of them are given back."""

    def __init__(self, allocator: CachingAllocator, size: int):
        super().__init__()
        self.allocator, self.size = allocator, size

    def append(self, ptr: int) -> None:
        super().append(ptr)
        self.allocator.large_bytes += self.size
        if self.allocator.large_bytes > KEEP:
            self.allocator.empty_cache()

    def pop(self) -> int:  # type: ignore[override]
        ptr: int = super().pop()
        self.allocator.large_bytes -= self.size
        return ptr
