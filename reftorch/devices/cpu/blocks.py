"""Control flow for an llvmlite builder: variables, loops, and what the optimiser is told about a loop."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

I1, I8, I32, I64 = (ir.IntType(n) for n in (1, 8, 32, 64))
PTR, VOID = ir.PointerType(), ir.VoidType()


def minimum(b: ir.IRBuilder, x: Any, y: Any) -> Any:
    """The smaller of two signed integers."""
    return b.select(b.icmp_signed("<", x, y), x, y)


def every(b: ir.IRBuilder, conditions: Sequence[Any]) -> Any:
    """Whether all of these hold."""
    result: Any = I1(1)
    for condition in conditions:
        result = b.and_(result, condition)
    return result


def offset(b: ir.IRBuilder, address: Any, nbytes: Any) -> Any:
    """`address` plus a number of bytes."""
    return b.gep(address, [nbytes], source_etype=I8)


def item(b: ir.IRBuilder, array: Any, index: Any) -> Any:
    """The address of array[index], for an array of int64."""
    return b.gep(array, [index], source_etype=I64)


class Variable:
    """A mutable value; LLVM turns its stack slot into registers."""

    def __init__(self, b: ir.IRBuilder, initial: Any):
        with b.goto_entry_block():
            self._slot = b.alloca(initial.type)
        self._type = initial.type
        self.set(b, initial)

    def get(self, b: ir.IRBuilder) -> Any:
        return b.load(self._slot, typ=self._type)

    def set(self, b: ir.IRBuilder, value: Any) -> None:
        b.store(value, self._slot)

    def add(self, b: ir.IRBuilder, amount: Any) -> None:
        """Advance a number, or an address by bytes."""
        value = self.get(b)
        self.set(b, offset(b, value, amount) if self._type == PTR else b.add(value, amount, flags=["nsw"]))


@contextmanager
def loop_while(b: ir.IRBuilder, condition: Callable[[], Any], facts: Any = None) -> Iterator[None]:
    """while condition(): body. `facts` are metadata for the optimiser."""
    head, body, done = (b.append_basic_block(name) for name in ("while", "do", "done"))
    b.branch(head)
    b.position_at_end(head)
    b.cbranch(condition(), body, done)
    b.position_at_end(body)
    yield
    back = b.branch(head)
    if facts is not None:
        back.set_metadata("llvm.loop", facts)
    b.position_at_end(done)


@contextmanager
def loop_range(b: ir.IRBuilder, count: Any, step: int = 1, facts: Any = None) -> Iterator[Any]:
    """for index in range(0, count, step): body."""
    index = Variable(b, count.type(0))
    with loop_while(b, lambda: b.icmp_signed("<", index.get(b), count), facts):
        yield index.get(b)
        index.add(b, count.type(step))


class _Distinct(ir.values.MDValue):  # type: ignore[misc]
    """A metadata node that equals no other; with `names_itself` its first operand is the node."""

    def __init__(self, module: ir.Module, operands: Sequence[Any], names_itself: bool):
        super().__init__(module, operands, str(len(module.metadata)))
        self._first = [self.get_reference()] if names_itself else []

    def descr(self, buf: list[str]) -> None:
        operands = ", ".join(self._first + [x.get_reference() for x in self.operands])
        buf += (f"distinct !{{ {operands} }}", "\n")


def not_vectorised(module: ir.Module) -> Any:
    """The facts of a loop that it does not pay to vectorise."""
    wish = module.add_metadata(["llvm.loop.vectorize.enable", I1(0)])
    return _Distinct(module, [wish], names_itself=True)


def independent_accesses(module: ir.Module) -> tuple[Callable[[Any], Any], Any]:
    """(mark, facts): no two rounds of the loop with these facts depend on each other through a load or store
    given to `mark`. Such a loop can be vectorised without comparing addresses.
    """
    group = _Distinct(module, [], names_itself=False)

    def mark(access: Any) -> Any:
        access.set_metadata("llvm.access.group", group)
        return access

    promise = module.add_metadata(["llvm.loop.parallel_accesses", group])
    return mark, _Distinct(module, [promise], names_itself=True)
