"""The kill score: which faults the kit notices, and by which clauses."""
from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from . import Caught, Fault, faults, run_fault


def run(names: Sequence[str], jobs: int, echo: Callable[[str], object]) -> bool:
    """Try the faults of these names or patterns, or all, and tell of each.

    Whether all were caught by a clause that is meant to. Raises LookupError for a name that fits none.
    """
    start, known = time.perf_counter(), faults()
    for pattern in names:
        if not fnmatch.filter(known, pattern):
            raise LookupError(f"no fault {pattern!r}: there are {', '.join(known)}")
    chosen = [f for n, f in known.items() if not names or any(fnmatch.fnmatchcase(n, p) for p in names)]
    survivors: list[Fault] = []
    kind = ""
    for fault, caught in tried(chosen, jobs or os.cpu_count() or 1):
        if fault.kind != kind:
            kind = fault.kind
            echo(f"\n{kind.replace('_', ' ')}")
        echo(line(fault, caught))
        if not caught.caught:
            survivors.append(fault)
    echo(f"\n{len(chosen) - len(survivors)} of {len(chosen)} faults caught in {time.perf_counter() - start:.0f} s")
    for fault in survivors:
        echo(f"not caught: {fault.name}, meant for {', '.join(fault.caught_by)}: {fault.summary}")
    return not survivors


def line(fault: Fault, caught: Caught) -> str:
    status = f"caught by {', '.join(caught.clauses)}" if caught.caught else \
        f"SURVIVES {', '.join(fault.caught_by)}" + (f", seen by {', '.join(caught.clauses)}" if caught.clauses else "")
    where = fault.op if fault.device == "cpu" else f"{fault.op} on {fault.device}"
    return f"  {fault.name:42} {where:18} {status:22} {caught.seconds:5.1f} s   {fault.summary}"


def tried(chosen: Sequence[Fault], jobs: int) -> Iterator[tuple[Fault, Caught]]:
    """Each fault and what became of it, in order."""
    if jobs == 1 or len(chosen) < 4:
        for fault in chosen:
            yield fault, run_fault(fault.name)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from zip(chosen, pool.map(run_fault, [f.name for f in chosen]))
