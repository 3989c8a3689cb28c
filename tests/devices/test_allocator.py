"""The caching allocator: alignment, reuse, and that live blocks never overlap."""
from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reftorch.devices import host_memory
from reftorch.devices.allocator import ALIGNMENT, KEEP, CachingAllocator, rounded


def free(allocator, ptr, nbytes):
    """What a storage does when it goes."""
    allocator.free_blocks[nbytes].append(ptr)


@given(st.lists(st.integers(0, 1 << 22), max_size=30), st.randoms(use_true_random=False))
def test_live_blocks_are_aligned_and_disjoint(sizes, rng):
    allocator, live = CachingAllocator(), []
    for n in sizes:
        if live and rng.random() < 0.4:
            free(allocator, *live.pop(rng.randrange(len(live))))
        live.append((allocator.allocate(n), n))
    spans = sorted((ptr, ptr + rounded(n)) for ptr, n in live if n)
    assert all(ptr % ALIGNMENT == 0 for ptr, _ in live)
    assert all(a_end <= b for (_, a_end), (b, _) in zip(spans, spans[1:]))


def test_a_freed_block_is_handed_out_again():
    allocator = CachingAllocator()
    ptr = allocator.allocate(100)
    free(allocator, ptr, 100)
    assert allocator.allocate(120) == ptr  # same rounded size
    assert allocator.allocate(100) != ptr


def test_memory_is_really_there():
    allocator, rng = CachingAllocator(), random.Random(0)
    blocks = [(allocator.allocate(n), rng.randbytes(n)) for n in (1, 63, 64, 65, 4096, (1 << 20) + 1)]
    for ptr, data in blocks:
        host_memory.write(ptr, np.frombuffer(data, np.uint8))
    for ptr, data in blocks:
        back = np.empty(len(data), np.uint8)
        host_memory.read(back, ptr)
        assert back.tobytes() == data


def test_what_is_cached_of_large_blocks_is_bounded():
    allocator, n = CachingAllocator(), 3 << 20
    ptr = allocator.allocate(n)
    free(allocator, ptr, n)
    assert allocator.large_bytes == rounded(n)
    assert allocator.allocate(n) == ptr and allocator.large_bytes == 0
    allocator.large_bytes = KEEP  # as if that much were cached
    free(allocator, ptr, n)
    assert not any(allocator.free_blocks.values()) and not allocator._owners


def test_a_bias_moves_every_address():
    host, device = CachingAllocator(), CachingAllocator(bias=1 << 56)
    assert host.allocate(64) < 1 << 56 <= device.allocate(64)
