"""Writing a large output past the caches.

A processor that stores to memory first reads the cache line. For an output that is larger than its cache,
that read is a third to a fifth of all traffic; non-temporal stores avoid it. They need whole aligned lines,
so the run is done in tiles that stay in the first-level cache, which are then copied out.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .blocks import I32, I64, every, loop_range, minimum, offset
from .elements import Element

FROM_BYTES = 32 << 20  # of output; measured: 1.3 times as fast from here on, nothing gained below
TILE = 512  # elements
LINE = 64  # bytes


def emit_streamed_run(module: ir.Module, memory: Sequence[Element], run: ir.Function) -> ir.Function:
    """streamed(n, out, in0, ..., scalars...): what `run` does, for large n; see loops.py."""
    streamed = ir.Function(module, run.function_type, "streamed")
    streamed.linkage = "internal"
    b = ir.IRBuilder(streamed.append_basic_block("entry"))
    n, operands, scalars = streamed.args[0], streamed.args[1:1 + len(memory)], streamed.args[1 + len(memory):]
    itemsize, line = memory[0].itemsize, ir.VectorType(I32, LINE // 4)

    def at(index: Any) -> list[Any]:
        return [offset(b, p, b.mul(index, I64(m.itemsize))) for p, m in zip(operands, memory)]

    # Elements before the first whole line, tiles, elements after the last.
    to_line = b.and_(b.neg(b.ptrtoint(operands[0], I64)), I64(LINE - 1))
    head = minimum(b, n, b.udiv(to_line, I64(itemsize)))
    last = b.add(head, b.and_(b.sub(n, head), I64(-TILE)))
    b.call(run, [head, *operands, *scalars])
    tile = b.alloca(line, size=TILE * itemsize // LINE)
    tile.align = LINE
    with loop_range(b, b.sub(last, head), step=TILE) as i:
        out, *inputs = at(b.add(head, i))
        b.call(run, [I64(TILE), tile, *inputs, *scalars])
        with loop_range(b, I64(TILE * itemsize // LINE)) as j:
            value = b.load(b.gep(tile, [j], source_etype=line), typ=line, align=LINE)
            store = b.store(value, b.gep(out, [j], source_etype=line), align=LINE)
            store.set_metadata("nontemporal", module.add_metadata([I32(1)]))
    b.call(run, [b.sub(n, last), *at(last), *scalars])
    b.fence("seq_cst")  # such stores are not ordered with others until a fence
    b.ret_void()
    return streamed


def worthwhile(b: ir.IRBuilder, memory: Sequence[Element], numel: Any, operands: Sequence[Any]) -> Any:
    """Whether to stream an output of `numel` elements: if it is large, aligned and not one of the inputs."""
    itemsize, out = memory[0].itemsize, operands[0]
    aligned = b.icmp_unsigned("==", b.and_(b.ptrtoint(out, I64), I64(itemsize - 1)), I64(0))
    return every(b, [b.icmp_signed(">=", numel, I64(FROM_BYTES // itemsize)), aligned,
                     *(b.icmp_unsigned("!=", out, p) for p in operands[1:])])
