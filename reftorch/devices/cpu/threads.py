"""How many threads a large kernel call uses, and the helper threads themselves. Their code is in pool.py."""
from __future__ import annotations

import atexit
import ctypes
import os
import threading

from . import cache, native


class Shared:
    """The memory that the threads share: where each field is, in units of int64.

    What different threads write lies in different cache lines.
    """

    LINE = 8
    POSTED = 0  # how many loops have been posted
    STATE = 8  # how many helpers are inside the current loop, plus CLOSED when none may enter
    BUSY, SLEEPERS = 16, 24
    TASK, CONTEXT, BEGIN, END, SHARE, CHUNK, THREADS, STOPPING = range(32, 40)  # the current loop
    MUTEX, CONDITION = 48, 64  # pthread objects, of up to 128 bytes each
    NEXT = 80  # a line for each thread: the first element of its share that nobody has taken

    CLOSED = 1 << 32


class _Pool:
    """`count` - 1 helper threads and the memory that they share with the callers of `parallel`."""

    def __init__(self, count: int):
        self._memory = (ctypes.c_int64 * (Shared.NEXT + Shared.LINE * count))()
        self._memory[Shared.STATE], self._memory[Shared.THREADS] = Shared.CLOSED, count
        base, libc = ctypes.addressof(self._memory), ctypes.CDLL(None)
        libc.pthread_mutex_init(ctypes.c_void_p(base + 8 * Shared.MUTEX), None)
        libc.pthread_cond_init(ctypes.c_void_p(base + 8 * Shared.CONDITION), None)
        exports = ("parallel", "worker", "stop")
        self._library = native.Library(_object_code(), exports, {"reftorch_pool": base})
        worker = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._library["worker"])  # runs without the GIL
        self._helpers = [threading.Thread(target=worker, args=(i,), daemon=True, name=f"reftorch-{i}")
                         for i in range(1, count)]
        for helper in self._helpers:
            helper.start()

    @property
    def parallel(self) -> int:
        """The address of the function that kernels call."""
        return self._library["parallel"]

    def stop(self) -> None:
        """Wait for a running loop, then end the helpers."""
        ctypes.CFUNCTYPE(None)(self._library["stop"])()
        for helper in self._helpers:
            helper.join()


def _object_code() -> bytes:
    key = cache.key("thread pool")
    code = cache.load(key)
    if code is None:
        from llvmlite import ir

        from .pool import emit_pool
        module = ir.Module("pool")
        module.triple = native.triple()
        emit_pool(module)
        code = native.object_code(str(module))
        cache.save(key, code, "thread pool")
    return code


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_count = _processors()
_pool: _Pool | None = None
_retired: list[_Pool] = []  # a kernel on another thread may be about to call one; it will find it taken
_parallel = ctypes.c_void_p(None)  # what kernels read; null: do it alone

PARALLEL_SYMBOL = {"reftorch_parallel": ctypes.addressof(_parallel)}


def get_num_threads() -> int:
    """The number of threads used for a large operation on the CPU. At first, the number of processors."""
    return _count


def set_num_threads(count: int) -> None:
    """Set the number of threads used for a large operation on the CPU.

    Raises TypeError unless `count` is an int, RuntimeError unless it is positive.
    """
    global _count
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if count != _count:
        stop()
        _count = count
        start()


def start() -> None:
    """Start the helpers, if there should be any and there are none."""
    global _pool
    if _pool is None and _count > 1:
        _pool = _Pool(_count)
        _parallel.value = _pool.parallel


def stop() -> None:
    """End the helpers; kernels then run on their caller's thread."""
    global _pool
    _parallel.value = None
    if _pool is not None:
        _pool.stop()
        _retired.append(_pool)
        _pool = None


def _after_fork() -> None:
    """A forked child has none of its parent's threads: it works alone until it asks for more."""
    global _count, _pool
    if _pool is not None:
        _retired.append(_pool)
    _count, _parallel.value, _pool = 1, None, None


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
