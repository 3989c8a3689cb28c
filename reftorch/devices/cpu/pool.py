"""A parallel for-loop in native code: helper threads that wait for chunks of work.

`emit_pool` makes three functions over a block of shared memory, whose layout is in threads.py:

    void parallel(task, context, begin, end)  run task(context, i, j) for chunks that cover [begin, end)
    void worker(number)                       the life of a helper thread; the caller is number 0
    void stop()                               end the helpers

Each thread, the caller included, has a share of the range and takes it chunk by chunk, then helps with the
shares of the others. So the same thread gets the same elements each time, which may still be in its cache;
and a helper that gets no processor delays nobody, because the caller waits only for helpers that hold a
chunk. A helper looks for work for some microseconds before it sleeps, since waking a thread takes longer than
a small loop.
"""
from __future__ import annotations

from typing import Any

from llvmlite import ir

from .blocks import I32, I64, PTR, VOID, Variable, item, loop_range, loop_while, minimum
from .threads import Shared as S

ALIGN = 64  # shares and chunks start at multiples of this many elements
SMALLEST_CHUNK = 8192  # elements
LOOKS = 2000  # times a helper looks for work before it sleeps

_TASK = ir.FunctionType(VOID, [PTR, I64, I64]).as_pointer()


class _Pool:
    """Builds code that reads and writes the shared memory."""

    def __init__(self, module: ir.Module, b: ir.IRBuilder):
        self.b, self.module = b, module
        self.memory = module.globals.get("reftorch_pool") or ir.GlobalVariable(module, I64, "reftorch_pool")

    def at(self, field: int | Any) -> Any:
        return item(self.b, self.memory, I64(field) if isinstance(field, int) else field)

    def next_of(self, thread: Any) -> Any:
        """The field NEXT of a thread."""
        return self.b.add(I64(S.NEXT), self.b.mul(I64(S.LINE), thread))

    def get(self, field: int, typ: Any = I64) -> Any:
        return self.b.load(self.at(field), typ=typ)

    def set(self, field: int | Any, value: Any) -> None:
        if value.type != I64:
            value = self.b.ptrtoint(value, I64)
        self.b.store(value, self.at(field))

    def look(self, field: int) -> Any:
        """Read what another thread may be writing."""
        return self.b.load_atomic(self.at(field), "seq_cst", 8, typ=I64)

    def change(self, operation: str, field: int | Any, value: int | Any) -> Any:
        """Atomically 'add', 'and', 'or' or 'xchg'; gives the value before."""
        value = I64(value) if isinstance(value, int) else value
        return self.b.atomic_rmw(operation, self.at(field), value, "seq_cst")

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
    """work(number): take chunks, of the own share first, until none is left."""
    function, b, pool = _start(module, "work", I64)
    function.linkage = "internal"
    number, threads, chunk = function.args[0], pool.get(S.THREADS), pool.get(S.CHUNK)
    with loop_range(b, threads) as i:
        owner = b.srem(b.add(number, i), threads)
        limit = minimum(b, pool.get(S.END), _first(pool, b.add(owner, I64(1))))
        first = Variable(b, pool.change("add", pool.next_of(owner), chunk))
        with loop_while(b, lambda: b.icmp_signed("<", first.get(b), limit)):
            end = minimum(b, b.add(first.get(b), chunk), limit)
            b.call(pool.get(S.TASK, _TASK), [pool.get(S.CONTEXT, PTR), first.get(b), end])
            first.set(b, pool.change("add", pool.next_of(owner), chunk))
    b.ret_void()
    return function


def _first(pool: _Pool, owner: Any) -> Any:
    """The first element of a thread's share."""
    return pool.b.add(pool.get(S.BEGIN), pool.b.mul(owner, pool.get(S.SHARE)))


def _emit_parallel(module: ir.Module, work: ir.Function) -> None:
    function, b, pool = _start(module, "parallel", _TASK, PTR, I64, I64)
    task, context, begin, end = function.args
    with b.if_then(_taken(pool)):  # the loop of another thread is running
        b.call(task, [context, begin, end])
        b.ret_void()
    threads = pool.get(S.THREADS)
    share = _divide(b, b.sub(end, begin), threads)
    chunk = _divide(b, share, I64(4))
    chunk = b.select(b.icmp_signed("<", chunk, I64(SMALLEST_CHUNK)), I64(SMALLEST_CHUNK), chunk)
    for field, value in ((S.TASK, task), (S.CONTEXT, context), (S.BEGIN, begin), (S.END, end),
                         (S.SHARE, share), (S.CHUNK, chunk)):
        pool.set(field, value)
    with loop_range(b, threads) as i:
        pool.set(pool.next_of(i), _first(pool, i))
    pool.change("and", S.STATE, ~S.CLOSED)
    pool.change("add", S.POSTED, 1)
    with b.if_then(b.icmp_signed(">", pool.look(S.SLEEPERS), I64(0))):
        _wake(pool)
    b.call(work, [I64(0)])
    pool.change("or", S.STATE, S.CLOSED)
    with loop_while(b, lambda: b.icmp_signed("!=", pool.look(S.STATE), I64(S.CLOSED))):
        pool.c("sched_yield")
    pool.change("xchg", S.BUSY, 0)
    b.ret_void()


def _taken(pool: _Pool) -> Any:
    """Take the pool; whether another thread had it already."""
    return pool.b.icmp_signed("!=", pool.change("xchg", S.BUSY, 1), I64(0))


def _divide(b: ir.IRBuilder, n: Any, parts: Any) -> Any:
    """n / parts, rounded up to a multiple of ALIGN."""
    quotient = b.sdiv(b.add(n, b.sub(parts, I64(1))), parts)
    return b.and_(b.add(quotient, I64(ALIGN - 1)), I64(-ALIGN))


def _emit_worker(module: ir.Module, work: ir.Function) -> None:
    function, b, pool = _start(module, "worker", I64)
    seen, looks = Variable(b, I64(0)), Variable(b, I64(0))

    def idle() -> Any:
        return b.icmp_signed("==", pool.look(S.POSTED), seen.get(b))

    with loop_while(b, lambda: b.icmp_signed("==", pool.look(S.STOPPING), I64(0))):
        looks.set(b, I64(0))
        with loop_while(b, lambda: b.and_(idle(), b.icmp_signed("<", looks.get(b), I64(LOOKS)))):
            _pause(b)
            looks.add(b, I64(1))
        with b.if_then(idle()):
            pool.c("pthread_mutex_lock", pool.at(S.MUTEX))
            pool.change("add", S.SLEEPERS, 1)
            with loop_while(b, idle):
                pool.c("pthread_cond_wait", pool.at(S.CONDITION), pool.at(S.MUTEX))
            pool.change("add", S.SLEEPERS, -1)
            pool.c("pthread_mutex_unlock", pool.at(S.MUTEX))
        seen.set(b, pool.look(S.POSTED))
        before = pool.change("add", S.STATE, 1)
        with b.if_then(b.icmp_signed("==", b.and_(before, I64(S.CLOSED)), I64(0))):
            b.call(work, [function.args[0]])
        pool.change("add", S.STATE, -1)
    b.ret_void()


def _emit_stop(module: ir.Module) -> None:
    _, b, pool = _start(module, "stop")
    with loop_while(b, lambda: _taken(pool)):
        pool.c("sched_yield")
    pool.set(S.STOPPING, I64(1))
    pool.change("add", S.POSTED, 1)
    _wake(pool)
    b.ret_void()


def _wake(pool: _Pool) -> None:
    pool.c("pthread_mutex_lock", pool.at(S.MUTEX))
    pool.c("pthread_cond_broadcast", pool.at(S.CONDITION))
    pool.c("pthread_mutex_unlock", pool.at(S.MUTEX))


def _pause(b: ir.IRBuilder) -> None:
    """A moment of doing nothing, which leaves the processor's shared resources to others."""
    triple = b.module.triple
    if triple.startswith("x86_64"):
        b.call(b.module.declare_intrinsic("llvm.x86.sse2.pause", fnty=ir.FunctionType(VOID, [])), [])
    elif triple.startswith(("aarch64", "arm64")):
        b.call(b.module.declare_intrinsic("llvm.aarch64.hint", fnty=ir.FunctionType(VOID, [I32])), [I32(1)])
    else:
        b.fence("seq_cst")


