"""A tiny chapter and a few subjects, good and bad, for the tests of the machinery. Workers import it by name."""
from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Iterable, Iterator
from random import Random

import numpy as np

from conformance.case import Case, Outcome, View
from conformance.clause import DIVERGED, HELD, NOT_APPLICABLE, Clause, Place, Verdict
from conformance.execute import execute
from conformance.subjects import Spelling
from reftorch.ops.addcmul import addcmul


def case(rng: Random, n: int, form: str = "functional", dtype: str = "float32", unit: str = "") -> Case:
    """addcmul on three random vectors, with value 0.3."""
    kind = np.dtype(np.float32 if dtype == "float32" else np.float64)
    buffers = [np.array([rng.gauss(0, 1) for _ in range(n)], kind).view(np.uint8) for _ in range(3)]
    args = {name: View(i, dtype, (n,), (1,)) for i, name in enumerate(("self", "tensor1", "tensor2"))}
    out = None
    if form == "out=":
        buffers.append(np.full(n * kind.itemsize, 0xA5, np.uint8))
        out = View(3, dtype, (n,), (1,))
    return Case("addcmul", form, {**args, "value": 0.3}, buffers, out, unit=unit or dtype)


def unfused(c: Case) -> np.ndarray:
    """s + (v*t1)*t2, which PyTorch on the CPU does not compute."""
    s, t1, t2 = (c.bits(n) for n in ("self", "tensor1", "tensor2"))
    return s + s.dtype.type(c.args.get("value", 1)) * t1 * t2


class Values:
    """Held if every element is s + (v*t1)*t2."""

    def __init__(self, op: object, place: Place):
        self.seen = 0

    def cases(self, rng: Random, budget: object) -> Iterator[Case]:
        for i in range(6):
            yield case(rng, 10 + i, "out=" if i == 3 else "functional", "float64" if i == 4 else "float32")

    def see(self, c: Case, outcome: Outcome) -> Iterable[Verdict]:
        self.seen += 1
        want = unfused(c)
        if outcome.error is not None or not (outcome.bits == want).all():
            yield Verdict(DIVERGED, c.unit, "is not s + (v*t1)*t2", distance=1.0, case=c, expected="s + (v*t1)*t2",
                          got="something else", wanted={"bits": want})

    def conclude(self) -> Iterable[Verdict]:
        yield Verdict(HELD, "float32", formula="s + (v*t1)*t2", distance=0.0)
        yield Verdict(HELD, "float64", formula="s + (v*t1)*t2", distance=0.0)


class Dtype(Values):
    def see(self, c: Case, outcome: Outcome) -> Iterable[Verdict]:
        return ()


class Never(Values):
    def cases(self, rng: Random, budget: object) -> Iterator[Case]:
        return iter(())

    def conclude(self) -> Iterable[Verdict]:
        yield Verdict(NOT_APPLICABLE, reason="it has no such form")


class Failing(Values):
    def see(self, c: Case, outcome: Outcome) -> Iterable[Verdict]:
        raise RuntimeError("a mistake in the kit")


class Chapter:
    op = addcmul

    def __init__(self, *more: Clause):
        self.more = more

    def clauses(self) -> tuple[Clause, ...]:
        return (Clause("C1", "The result is the formula.", "nowhere", Values),
                Clause("C2", "It has a dtype.", "nowhere", Dtype),
                Clause("C3", "Its shape is right.", "nowhere", None, "C1"),
                Clause("C4", "It does not apply.", "nowhere", Never), *self.more)


def chapters() -> dict[str, Chapter]:
    return {"addcmul": Chapter(), "other": Chapter()}


def failing_chapters() -> dict[str, Chapter]:
    return {"addcmul": Chapter(Clause("C5", "The kit fails.", "nowhere", Failing))}


# ---- subjects ----
class Right:
    """Computes s + (v*t1)*t2 with NumPy."""

    name = "right"
    device = "cpu"
    spelling = Spelling(("import no_such_library as torch",))  # its scripts cannot run

    def unavailable(self) -> str | None:
        return None

    def place(self) -> Place:
        return Place("cpu", "eager", "2.13")

    def environment(self) -> dict[str, str]:
        return {"cpu_capability": "ANY", "torch": "9.9.1+cpu"}

    def run(self, c: Case) -> Outcome:
        bits = self.compute(c)
        return Outcome(dtype=c.args["self"].dtype, device="cpu", size=bits.shape, stride=(1,), bits=bits,
                       buffers=c.buffers)

    def compute(self, c: Case) -> np.ndarray:
        return unfused(c)


class Wrong(Right):
    name = "wrong"

    def compute(self, c: Case) -> np.ndarray:
        return np.nextafter(unfused(c), np.inf).astype(c.bits("self").dtype)


class Changing(Wrong):
    """Wrong or right, on one processor or another, as the environment says."""

    name = "changing"

    def environment(self) -> dict[str, str]:
        return {"cpu_capability": os.environ.get("KIT_CAPABILITY", "AVX512"), "torch": "9.9.1+cpu"}

    def compute(self, c: Case) -> np.ndarray:
        return super().compute(c) if "KIT_WRONG" in os.environ else unfused(c)


class Partial(Right):
    name = "partial"

    def compute(self, c: Case) -> np.ndarray:
        if c.form == "out=" or c.unit == "float64":
            raise NotImplementedError(f"no {c.form} with {c.unit}")
        return unfused(c)


class Crashing(Right):
    """Dies of a segmentation fault on cases of 12 elements, and exits on those of 13."""

    name = "crashing"

    def compute(self, c: Case) -> np.ndarray:
        if c.args["self"].size == (12,):
            ctypes.string_at(0)
        if c.args["self"].size == (13,):
            os._exit(7)
        return unfused(c)


class CrashingOnLarge(Right):
    """Dies of elements above 1.5."""

    name = "crashing-on-large"

    def compute(self, c: Case) -> np.ndarray:
        if (c.bits("self") > 1.5).any():
            ctypes.string_at(0)
        return unfused(c)


class Hanging(Right):
    name = "hanging"

    def compute(self, c: Case) -> np.ndarray:
        if c.args["self"].size == (11,):
            time.sleep(60)
        return unfused(c)


class Raising(Right):
    name = "raising"

    def compute(self, c: Case) -> np.ndarray:
        raise KeyError("a mistake in the subject")


class Garbage(Right):
    name = "garbage"

    def compute(self, c: Case) -> np.ndarray:
        print('{"event": "clause"}\n' * 50, flush=True)
        os.write(1, b"\xff\x00garbage")
        print("more of it", file=sys.stderr)
        return unfused(c)


class Absent(Right):
    name = "absent"

    def unavailable(self) -> str | None:
        return "its library is not installed"


class Unstartable(Right):
    name = "unstartable"

    def __init__(self) -> None:
        os.abort()


class Torch:
    """PyTorch, held to a formula that it does not compute."""

    name = "torch-here"
    device = "cpu"
    spelling = Spelling()

    unavailable, environment = Right.unavailable, Right.environment

    def place(self) -> Place:
        return Place("cpu", "eager", "2.13")

    def run(self, c: Case) -> Outcome:
        import torch
        return execute(torch, c)
