"""A parallel for-loop in native code: helper threads that wait for chunks of work.

`emit_pool` makes three functions over a block of shared memory, whose layout is in threads.py:

    void parallel(task, context, begin, end)   run task(context, i, j) for chunks [i, j) that cover [begin, end)
    void worker()                              the life of a helper thread
    void stop()                                end the helpers

The caller of `parallel` works too, and every thread takes the next chunk when it is done with its last. So a helper that
gets no processor delays nobody: the caller ends up doing all the work, and waits only for helpers that hold a chunk. A
helper looks for work for some microseconds before it sleeps, because waking a thread takes longer than a small loop.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir

from .blocks import I32, I64, PTR, VOID, Variable, item, loop_while, minimum
from .threads import (ALIGN, BUSY, CHUNK, CLOSED, CONDITION, CONTEXT, END, LOOKS, MUTEX, NEXT, POSTED, SLEEPERS,
                      SMALLEST_CHUNK, STATE, STOPPING, TASK, THREADS)

class _Pool:
    """Builds code that reads and writes the shared memory."""

    def __init__(self, module: ir.Module, b: ir.IRBuilder):
        self.b, self.module = b, module
        self.memory = module.globals.get("reftorch_pool") or ir.GlobalVariable(module, I64, "reftorch_pool")

    def at(self, field: int) -> Any:
        return item(self.b, self.memory, I64(field))

    def get(self, field: int, typ: Any = I64) -> Any:
        return self.b.load(self.at(field), typ=typ)

    def set(self, field: int, value: Any) -> None:
        self.b.store(value, self.at(field))

    def look(self, field: int) -> Any:
        """Read what another thread may be writing."""
        return self.b.load_atomic(self.at(field), "seq_cst", 8, typ=I64)

    def change(self, operation: str, field: int, value: int | Any) -> Any:
        """Atomically 'add', 'and', 'or' or 'xchg'; gives the value before."""
        return self.b.atomic_rmw(operation, self.at(field), I64(value) if isinstance(value, int) else value, "seq_cst")

    def c(self, name: str, *arguments: Any) -> Any:
        """Call a function of the C library."""
        function = self.module.globals.get(name) or ir.Function(
            self.module, ir.FunctionType(I32, [a.type for a in arguments]), name)
        return self.b.call(function, arguments)


def emit_pool(module: ir.Module) -> None:
    """Add parallel, worker and stop to `module`."""
    work = _emit_work(module)
    _emit_parallel(module, work)
    _emit_worker(module, work)
    _emit_stop(module)


def _start(module: ir.Module, name: str, *arguments: Any) -> tuple[ir.Function, ir.IRBuilder, _Pool]:
    function = ir.Function(module, ir.FunctionType(VOID, arguments), name)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    return function, b, _Pool(module, b)


def _emit_work(module: ir.Module) -> ir.Function:
    """work(): take chunks until none is left."""
    function, b, pool = _start(module, "work")
    function.linkage = "internal"
    task_type = ir.FunctionType(VOID, [PTR, I64, I64])
    chunk, end = pool.get(CHUNK), pool.get(END)
    first = Variable(b, pool.change("add", NEXT, chunk))
    with loop_while(b, lambda: b.icmp_signed("<", first.get(b), end)):
        task = b.inttoptr(pool.get(TASK), task_type.as_pointer())
        b.call(task, [pool.get(CONTEXT, PTR), first.get(b), minimum(b, b.add(first.get(b), chunk), end)])
        first.set(b, pool.change("add", NEXT, chunk))
    b.ret_void()
    return function


def _emit_parallel(module: ir.Module, work: ir.Function) -> None:
    function, b, pool = _start(module, "parallel", PTR, PTR, I64, I64)
    task, context, begin, end = function.args
    with b.if_then(b.icmp_signed("!=", pool.change("xchg", BUSY, 1), I64(0))):  # another thread's loop is running
        b.call(b.bitcast(task, ir.FunctionType(VOID, [PTR, I64, I64]).as_pointer()), [context, begin, end])
        b.ret_void()
    share = b.sdiv(b.sub(end, begin), b.mul(pool.get(THREADS), I64(4)))
    share = b.and_(b.add(share, I64(ALIGN - 1)), I64(-ALIGN))
    chunk = b.select(b.icmp_signed("<", share, I64(SMALLEST_CHUNK)), I64(SMALLEST_CHUNK), share)
    for field, value in ((TASK, b.ptrtoint(task, I64)), (CONTEXT, context), (END, end), (CHUNK, chunk), (NEXT, begin)):
        pool.set(field, value)
    pool.change("and", STATE, ~CLOSED)
    pool.change("add", POSTED, 1)
    with b.if_then(b.icmp_signed(">", pool.look(SLEEPERS), I64(0))):
        _wake(pool)
    b.call(work, [])
    pool.change("or", STATE, CLOSED)
    with loop_while(b, lambda: b.icmp_signed("!=", pool.look(STATE), I64(CLOSED))):
        pool.c("sched_yield")
    pool.change("xchg", BUSY, 0)
    b.ret_void()


def _emit_worker(module: ir.Module, work: ir.Function) -> None:
    function, b, pool = _start(module, "worker")
    seen, looks = Variable(b, I64(0)), Variable(b, I64(0))
    idle = lambda: b.icmp_signed("==", pool.look(POSTED), seen.get(b))  # noqa: E731
    with loop_while(b, lambda: b.icmp_signed("==", pool.look(STOPPING), I64(0))):
        looks.set(b, I64(0))
        with loop_while(b, lambda: b.and_(idle(), b.icmp_signed("<", looks.get(b), I64(LOOKS)))):
            _pause(b)
            looks.add(b, I64(1))
        with b.if_then(idle()):
            pool.c("pthread_mutex_lock", pool.at(MUTEX))
            pool.change("add", SLEEPERS, 1)
            with loop_while(b, idle):
                pool.c("pthread_cond_wait", pool.at(CONDITION), pool.at(MUTEX))
            pool.change("add", SLEEPERS, -1)
            pool.c("pthread_mutex_unlock", pool.at(MUTEX))
        seen.set(b, pool.look(POSTED))
        before = pool.change("add", STATE, 1)
        with b.if_then(b.icmp_signed("==", b.and_(before, I64(CLOSED)), I64(0))):
            b.call(work, [])
        pool.change("add", STATE, -1)
    b.ret_void()


def _emit_stop(module: ir.Module) -> None:
    _, b, pool = _start(module, "stop")
    with loop_while(b, lambda: b.icmp_signed("!=", pool.change("xchg", BUSY, 1), I64(0))):
        pool.c("sched_yield")
    pool.set(STOPPING, I64(1))
    pool.change("add", POSTED, 1)
    _wake(pool)
    b.ret_void()


def _wake(pool: _Pool) -> None:
    pool.c("pthread_mutex_lock", pool.at(MUTEX))
    pool.c("pthread_cond_broadcast", pool.at(CONDITION))
    pool.c("pthread_mutex_unlock", pool.at(MUTEX))


def _pause(b: ir.IRBuilder) -> None:
    """A moment of doing nothing, which leaves the processor's shared resources to others."""
    triple = b.module.triple
    if triple.startswith("x86_64"):
        b.call(b.module.declare_intrinsic("llvm.x86.sse2.pause", fnty=ir.FunctionType(VOID, [])), [])
    elif triple.startswith(("aarch64", "arm64")):
        b.call(b.module.declare_intrinsic("llvm.aarch64.hint", fnty=ir.FunctionType(VOID, [I32])), [I32(1)])
    else:
        b.fence("seq_cst")


