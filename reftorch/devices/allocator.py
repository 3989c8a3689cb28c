"""A caching allocator over host memory.

Half of the time of a large operator with a fresh output is the kernel handing out pages (page faults), so freed blocks
are kept by size and handed out again. Sizes are rounded so that nearby requests share a list.
"""
from __future__ import annotations

import numpy as np

ALIGNMENT = 64  # a cache line, and the widest vector
SMALL = 1 << 20
KEEP = 1 << 31  # bytes of freed blocks kept before the cache is emptied


def rounded(nbytes: int) -> int:
    """The size of the block that holds `nbytes`: cache lines, and 2 MiB pages for large blocks."""
    return (nbytes + 63) & -64 if nbytes <= SMALL else (nbytes + 0x1FFFFF) & -0x200000


class CachingAllocator:
    """Host memory in cached blocks. `bias` is added to every address handed out.

    A simulated device sets a bias that makes its addresses useless to the host, so that nothing can read its memory
    by mistake.
    """

    def __init__(self, bias: int = 0):
        self.bias = bias
        self.cached_bytes = 0
        self._free: dict[int, list[int]] = {}
        self._owners: dict[int, np.ndarray] = {}  # address -> the array that owns the memory

    def allocate(self, nbytes: int) -> int:
        """A device address. Raises MemoryError (torch.OutOfMemoryError's kin) when the host has no more."""
        size = (nbytes + 63) & -64 if nbytes <= SMALL else rounded(nbytes)
        blocks = self._free.get(size)
        if blocks:
            try:
                ptr = blocks.pop()
            except IndexError:  # another thread took it
                return self._grow(size)
            self.cached_bytes -= size
            return ptr
        return self._grow(size)

    def free(self, ptr: int, nbytes: int) -> None:
        size = (nbytes + 63) & -64 if nbytes <= SMALL else rounded(nbytes)
        try:
            self._free[size].append(ptr)
        except KeyError:
            self._free.setdefault(size, []).append(ptr)
        self.cached_bytes += size
        if self.cached_bytes > KEEP:
            self.empty_cache()

    def empty_cache(self) -> None:
        """Give every cached block back to the system."""
        for blocks in self._free.values():
            while blocks:
                self._owners.pop(blocks.pop(), None)
        self.cached_bytes = 0

    def _grow(self, size: int) -> int:
        owner = np.empty(size + ALIGNMENT, np.uint8)
        address = owner.ctypes.data
        ptr = (address + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT + self.bias
        self._owners[ptr] = owner
        return ptr
