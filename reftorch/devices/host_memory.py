"""Raw host memory by address, for backends whose memory is the host's (cpu) or is simulated in it (cuda)."""
from __future__ import annotations

import ctypes

import numpy as np


def write(ptr: int, source: np.ndarray) -> None:
    """Copy a contiguous array to `ptr`."""
    ctypes.memmove(ptr, source.ctypes.data, source.nbytes)


def read(target: np.ndarray, ptr: int) -> None:
    """Copy from `ptr` into a contiguous array."""
    ctypes.memmove(target.ctypes.data, ptr, target.nbytes)


def move(target: int, source: int, nbytes: int) -> None:
    ctypes.memmove(target, source, nbytes)
