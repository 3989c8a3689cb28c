"""The caching allocator: alignment, reuse, and that live blocks never overlap."""
from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reftorch.devices import host_memory
from reftorch.devices.allocator import ALIGNMENT, KEEP, CachingAllocator, rounded


@given(st.lists(st.integers(0, 1 << 22), max_size=30), st.randoms(use_true_random=False))
def test_live_blocks_are_aligned_and_disjoint(sizes, rng):
    allocator, live = CachingAllocator(), []
    for n in sizes:
        if live and rng.random() < 0.4:
            allocator.free(*live.pop(rng.randrange(len(live))))
        live.append((allocator.allocate(n), n))
    spans = sorted((ptr, ptr + rounded(n)) for ptr, n in live if n)
    assert all(ptr % ALIGNMENT == 0 for ptr, _ in live)
    assert all(a_end <= b for (_, a_end), (b, _) in zip(spans, spans[1:]))


def test_a_freed_block_is_handed_out_again():
    allocator = CachingAllocator()
    ptr = allocator.allocate(100)
    allocator.free(ptr, 100)
    assert allocator.cached_bytes == rounded(100)
    assert allocator.allocate(120) == ptr  # same rounded size
    assert allocator.cached_bytes == 0


def test_memory_is_really_there():
    allocator, rng = CachingAllocator(), random.Random(0)
    blocks = [(allocator.allocate(n), rng.randbytes(n)) for n in (1, 63, 64, 65, 4096, (1 << 20) + 1)]
    for ptr, data in blocks:
        host_memory.write(ptr, np.frombuffer(data, np.uint8))
    for ptr, data in blocks:
        back = np.empty(len(data), np.uint8)
        host_memory.read(back, ptr)
        assert back.tobytes() == data


def test_the_cache_is_bounded():
    allocator = CachingAllocator()
    allocator.free(allocator.allocate(100), 100)
    allocator.cached_bytes = KEEP  # as if that much were cached
    allocator.free(allocator.allocate(1000), 1000)
    assert allocator.cached_bytes == 0
    assert not any(allocator._free.values())


def test_a_bias_moves_every_address():
    host, device = CachingAllocator(), CachingAllocator(bias=1 << 56)
    assert host.allocate(64) < 1 << 56 <= device.allocate(64)
