"""The loops around a formula: LLVM code that applies it to strided operands.

A geometry (see geometry.py) is an array of int64: ndim, the sizes, then for each operand, the output first,
its strides in bytes; the innermost dimension comes first. `emit_kernel` makes

    void kernel(const int64* geometry, int64 begin, int64 end, void* out, void* in0, ..., scalars...)

which computes the elements number `begin` to `end` in the order of the geometry. A row is a run along the
innermost dimension. How its elements are reached is decided once for all rows:

    packed     every operand steps by its own item size: one vectorised loop, the function `run`
    broadcast  the same, but some inputs stand still: their value is first repeated in a small buffer, a tile
    strided    anything else: one element after the other

An output may be exactly one of the inputs; other overlap is the caller's to exclude.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from .blocks import (
    I64,
    PTR,
    VOID,
    Variable,
    every,
    independent_accesses,
    item,
    loop_range,
    loop_while,
    minimum,
    not_vectorised,
    offset,
)
from .casts import convert, load, store
from .elements import Element
from .geometry import MAX_DIMS
from .stream import emit_streamed_run, worthwhile

TILE = 512  # elements: few enough that a tile per operand stays in the first-level cache
SHORTEST_BROADCAST = 16  # shorter rows do not repay filling a tile


@dataclass(frozen=True)
class Body:
    """What is done to one element.

    memory: the operands' types in memory, output first. compute: what each input is converted to. scalars:
    the types of the numbers passed by value. apply: builds the formula of the inputs and scalars. result: the
    type it gives.
    """

    memory: Sequence[Element]
    compute: Sequence[Element]
    scalars: Sequence[Element]
    apply: Callable[[ir.IRBuilder, Sequence[Any]], Any]
    result: Element

    @property
    def scalar_types(self) -> list[Any]:
        return [s.value_type for s in self.scalars]

    def emit(self, b: ir.IRBuilder, addresses: Sequence[Any], scalars: Sequence[Any],
             mark: Callable[[Any], Any] = lambda access: access) -> None:
        """Load, convert, compute, convert, store: `addresses` are the element's, output first."""
        values = [convert(b, load(b, m, p, mark), m, c)
                  for m, c, p in zip(self.memory[1:], self.compute, addresses[1:])]
        value = self.apply(b, [*values, *scalars])
        store(b, self.memory[0], convert(b, value, self.result, self.memory[0]), addresses[0], mark)


def emit_kernel(module: ir.Module, body: Body) -> ir.Function:
    """Add the function `kernel` to `module`."""
    run, count = _emit_run(module, body), len(body.memory)
    arguments = [PTR, I64, I64] + [PTR] * count + body.scalar_types
    kernel = ir.Function(module, ir.FunctionType(VOID, arguments), "kernel")
    kernel.attributes.add("optsize")  # compiles faster, and is as fast: the work is in `run`
    geometry, begin, end = kernel.args[:3]
    bases, scalars = kernel.args[3:3 + count], kernel.args[3 + count:]
    b = ir.IRBuilder(kernel.append_basic_block("entry"))

    ndim = b.load(geometry, typ=I64)
    sizes = item(b, geometry, I64(1))
    strides = [item(b, sizes, b.mul(ndim, I64(k + 1))) for k in range(count)]
    steps = [b.load(s, typ=I64) for s in strides]
    packed = [b.icmp_signed("==", step, I64(m.itemsize)) for step, m in zip(steps, body.memory)]
    still = [b.icmp_signed("==", step, I64(0)) for step in steps]
    all_packed = every(b, packed)
    broadcast = every(b, [packed[0], *(b.or_(p, s) for p, s in zip(packed[1:], still[1:])),
                          b.icmp_signed(">=", b.load(sizes, typ=I64), I64(SHORTEST_BROADCAST))])

    with b.if_then(b.and_(all_packed, b.icmp_signed("==", ndim, I64(1))), likely=True):
        starts = [offset(b, p, b.mul(begin, s)) for p, s in zip(bases, steps)]
        with b.if_then(worthwhile(b, body.memory, b.load(sizes, typ=I64), bases), likely=False):
            b.call(emit_streamed_run(module, body.memory, run), [b.sub(end, begin), *starts, *scalars])
            b.ret_void()
        b.call(run, [b.sub(end, begin), *starts, *scalars])
        b.ret_void()
    with _rows(b, ndim, sizes, strides, begin, end, bases) as (length, starts):
        with b.if_else(all_packed) as (then, otherwise):
            with then:
                b.call(run, [length, *starts, *scalars])
            with otherwise, b.if_else(broadcast) as (then, otherwise):
                with then:
                    _broadcast_row(b, body, run, length, starts, still, scalars)
                with otherwise, loop_range(b, length, facts=not_vectorised(module)) as i:
                    body.emit(b, [offset(b, p, b.mul(i, s)) for p, s in zip(starts, steps)], scalars)
    b.ret_void()
    return kernel


def _emit_run(module: ir.Module, body: Body) -> ir.Function:
    """run(n, out, in0, ..., scalars...): n elements, each operand packed. The loop that is vectorised."""
    count = len(body.memory)
    run = ir.Function(module, ir.FunctionType(VOID, [I64] + [PTR] * count + body.scalar_types), "run")
    run.linkage = "internal"
    run.attributes.add("noinline")
    b = ir.IRBuilder(run.append_basic_block("entry"))
    mark, facts = independent_accesses(module)
    with loop_range(b, run.args[0], facts=facts) as i:
        addresses = [b.gep(p, [i], source_etype=m.memory_type, inbounds=True)
                     for p, m in zip(run.args[1:], body.memory)]
        body.emit(b, addresses, run.args[1 + count:], mark)
    b.ret_void()
    return run


@contextmanager
def _rows(b: ir.IRBuilder, ndim: Any, sizes: Any, strides: Sequence[Any], begin: Any, end: Any,
          bases: Sequence[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Run the body for each row, or part of one, in [begin, end): yields its length and where it starts.

    An odometer: `index` counts the dimensions above the innermost, `row` is where each operand's current row
    starts.
    """
    with b.goto_entry_block():
        index = b.alloca(I64, size=MAX_DIMS)
    row = [Variable(b, base) for base in bases]
    inner = b.load(sizes, typ=I64)
    position, left = Variable(b, b.srem(begin, inner)), Variable(b, b.sub(end, begin))
    quotient, d = Variable(b, b.sdiv(begin, inner)), Variable(b, I64(1))

    def step(k: int, times: Any) -> None:  # move operand k by so many steps of dimension d
        row[k].add(b, b.mul(times, b.load(item(b, strides[k], d.get(b)), typ=I64)))

    with loop_while(b, lambda: b.icmp_signed("<", d.get(b), ndim)):  # where `begin` is
        size = b.load(item(b, sizes, d.get(b)), typ=I64)
        here = b.srem(quotient.get(b), size)
        quotient.set(b, b.sdiv(quotient.get(b), size))
        b.store(here, item(b, index, d.get(b)))
        for k in range(len(row)):
            step(k, here)
        d.add(b, I64(1))

    with loop_while(b, lambda: b.icmp_signed(">", left.get(b), I64(0))):
        start = position.get(b)
        length = minimum(b, b.sub(inner, start), left.get(b))
        yield length, [offset(b, r.get(b), b.mul(start, b.load(s, typ=I64))) for r, s in zip(row, strides)]
        position.set(b, I64(0))
        left.add(b, b.neg(length))
        d.set(b, I64(1))
        carry = Variable(b, b.icmp_signed(">", left.get(b), I64(0)))
        with loop_while(b, lambda: carry.get(b)):  # the next row: count up, with carry
            cell = item(b, index, d.get(b))
            size = b.load(item(b, sizes, d.get(b)), typ=I64)
            following = b.add(b.load(cell, typ=I64), I64(1))
            wraps = b.icmp_signed("==", following, size)
            b.store(b.select(wraps, I64(0), following), cell)
            for k in range(len(row)):
                step(k, b.select(wraps, b.sub(I64(1), size), I64(1)))
            d.add(b, I64(1))
            carry.set(b, wraps)


def _broadcast_row(b: ir.IRBuilder, body: Body, run: ir.Function, length: Any, starts: Sequence[Any],
                   still: Sequence[Any], scalars: Sequence[Any]) -> None:
    """A row in which some inputs stand still: `run` it tile by tile, those inputs read from a filled tile."""
    sources, advance = [starts[0]], [I64(body.memory[0].itemsize)]
    for k, m in enumerate(body.memory[1:], start=1):
        cell = ir.IntType(m.bits)
        with b.goto_entry_block():
            tile = b.alloca(cell, size=TILE)
        with b.if_then(still[k]):
            value = b.load(starts[k], typ=cell, align=1)
            with loop_range(b, minimum(b, length, I64(TILE))) as i:
                b.store(value, b.gep(tile, [i], source_etype=cell, inbounds=True))
        sources.append(b.select(still[k], tile, starts[k]))
        advance.append(b.select(still[k], I64(0), I64(m.itemsize)))
    with loop_range(b, length, step=TILE) as done:
        addresses = [offset(b, p, b.mul(done, a)) for p, a in zip(sources, advance)]
        b.call(run, [minimum(b, b.sub(length, done), I64(TILE)), *addresses, *scalars])
