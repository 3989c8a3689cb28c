"""addcdiv and addcmul over sizes, dtypes and threads: one fused pass against PyTorch's.

Goals: at least PyTorch's speed with out=; at least twice with a fresh output at 1e7 elements, where half of
PyTorch's time is page faults and a caching allocator has none.
"""
from __future__ import annotations

import numpy as np
import torch

import reftorch

from .measure import Ratio, compare

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


def operands(n: int, dtype: str) -> tuple[list[object], list[object]]:
    """Three tensors of n elements for either side, with equal bits and no zero divisors."""
    rng = np.random.default_rng(n)
    theirs = [torch.from_numpy(rng.uniform(0.5, 2.0, n).astype(np.float32)).to(getattr(torch, dtype)) for _ in range(3)]
    bits = torch.int16 if dtype == "bfloat16" else torch.float32
    ours = [reftorch.from_numpy(t.view(bits).numpy().copy()).view(getattr(reftorch, dtype)) for t in theirs]
    return ours, theirs


def main() -> None:
    header()
    for threads in (1, 2):
        reftorch.set_num_threads(threads)
        torch.set_num_threads(threads)
        for op in ("addcdiv", "addcmul"):
            for dtype in ("float32", "bfloat16"):
                for n in SIZES:
                    measure(op, dtype, n, threads)


def measure(op: str, dtype: str, n: int, threads: int) -> None:
    """The rows of one operator, dtype and size."""
    (a, b, c), (x, y, z) = operands(n, dtype)
    ours, theirs = getattr(reftorch, op), getattr(torch, op)
    o, p = reftorch.empty_like(a), torch.empty_like(x)
    name = f"{op} {dtype} {n:.0e}"
    row(f"{name} out= {threads}t", compare(
        lambda: ours(a, b, c, value=0.3, out=o), lambda: theirs(x, y, z, value=0.3, out=p), threads), 1.0)
    if n == SIZES[-1]:
        row(f"{name} fresh {threads}t", compare(
            lambda: ours(a, b, c, value=0.3), lambda: theirs(x, y, z, value=0.3), threads), 2.0)


def header() -> None:
    print(f"{'':34}{'torch / reftorch':>13}{'range':>15}{'reftorch':>12}{'torch':>12}")


def row(name: str, r: Ratio, goal: float) -> None:
    reached = "" if r.median >= goal else f"   below the goal of {goal:g}"
    print(f"{name:34}{r.median:>13.2f}{f'{r.low:.2f}-{r.high:.2f}':>15}{r.ours * 1e6:>9.2f} us{r.theirs * 1e6:>9.2f} us"
          f"{reached}", flush=True)
