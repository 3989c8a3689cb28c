"""Make a diverging case small: what a person reads should hold nothing that does not matter.

Every step proposes a simpler case and keeps it if the check still finds the same divergence in it.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reftorch.core.dtype import BOOL, COMPLEX, DTYPES, FLOATING
from reftorch.dispatch.operator import FUNCTIONAL, REQUIRED

from .case import Case, Outcome, View
from .clause import Verdict
from .wanted import differences

Judge = Callable[[Case], Verdict | None]
TRIES = 400
MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


def shrink(case: Case, judge: Judge, op: Any, seconds: float = 10.0) -> Verdict | None:
    """The divergence in the smallest case found; None if the case alone does not show it."""
    first = judge(case)
    return None if first is None else _Shrinker(first, judge, op, seconds).run()


def by_element(large: Verdict, run: Callable[[Case], Outcome]) -> Judge | None:
    """A judge that needs no check: each element of the result is wanted to be what it was in the large case.

    That is so as long as every element has operands that came together there. None if more than bits is wanted.
    """
    case = large.case
    assert case is not None
    if set(large.wanted) != {"bits"}:
        return None
    rights = large.wanted["bits"] if isinstance(large.wanted["bits"], list) else [large.wanted["bits"]]
    rights = [np.asarray(r).reshape(-1) for r in rights]
    number = {key: i for i, key in enumerate(_elements(case))}
    if any(r.size != len(_elements(case)) for r in rights):
        return None

    def judge(candidate: Case) -> Verdict | None:
        if candidate.form != case.form or _numbers(candidate) != _numbers(case):
            return None
        try:
            indices = [number[key] for key in _elements(candidate)]
        except KeyError:
            return None
        want = {"bits": [r[indices] for r in rights]}
        if not differences(want, candidate, run(candidate)):
            return None
        return replace(large, case=candidate, wanted=want)
    return judge


def _elements(case: Case) -> list[tuple[bytes, ...]]:
    """The operands of each element of the result, row-major."""
    bits = [_bits(case, v) for name, v in case.views().items() if name != "out"]
    return [tuple(x.tobytes() for x in row) for row in zip(*(b.reshape(-1) for b in np.broadcast_arrays(*bits)),
                                                           strict=True)]


def _numbers(case: Case) -> str:
    return repr({k: v for k, v in case.args.items() if not isinstance(v, View)})


class _Shrinker:
    def __init__(self, best: Verdict, judge: Judge, op: Any, seconds: float):
        self.best, self.judge, self.op = best, judge, op
        self.end, self.tries = time.monotonic() + seconds, 0

    @property
    def case(self) -> Case:
        assert self.best.case is not None
        return self.best.case

    def attempt(self, candidate: Case | None) -> bool:
        """Keep the candidate if it still diverges, and the time is not up."""
        if candidate is None or time.monotonic() > self.end or self.tries >= TRIES:
            return False
        self.tries += 1
        found = self.judge(candidate)
        if found is None:
            return False
        self.best = found
        return True

    def run(self) -> Verdict:
        self.attempt(_without_grad(self.case))
        if self.case.form != FUNCTIONAL:
            self.attempt(replace(self.case, form=FUNCTIONAL, out=None))
        if not self.attempt(packed(self.case)):
            for name in _parts(self.case):
                self.attempt(packed(self.case, only=name))
        self.attempt(_flat(self.case))
        self.smaller_sizes()
        self.fewer_elements()
        self.simpler_numbers()
        self.simpler_elements()
        return self.best

    # ---- elements ----
    def smaller_sizes(self) -> None:
        """Where the dimensions have to stay: one or two elements in each."""
        if _length(self.case):
            return
        for axis in range(max((len(v.size) for v in _parts(self.case).values()), default=0)):
            if not self.attempt(_cut(self.case, axis, 1)):
                self.attempt(_cut(self.case, axis, 2))

    def fewer_elements(self) -> None:
        n = _length(self.case)
        if not n:
            return
        at = self.best.evidence.get("index")
        if isinstance(at, int) and 0 <= at < n and self.attempt(_take(self.case, [at])):
            return
        while (n := _length(self.case) or 0) > 1:  # halves, while one of them is enough
            half = n // 2
            if not (self.attempt(_take(self.case, range(half))) or self.attempt(_take(self.case, range(half, n)))):
                break
        self.shortest_beginning()  # it matters where an element stands
        chunk = (_length(self.case) or 0) // 2
        while chunk:
            start = 0
            while start < (n := _length(self.case) or 0) and n > chunk:
                rest = [i for i in range(n) if not start <= i < start + chunk]
                if not self.attempt(_take(self.case, rest)):
                    start += chunk
            chunk //= 2
        n = _length(self.case) or 0
        if n > 1:  # all elements alike read best
            likely = [at] if isinstance(at, int) and at < n else []
            if any(self.attempt(_take(self.case, [i] * n)) for i in [*likely, *range(min(n, 40)), n - 1]):
                self.shortest_beginning()

    def shortest_beginning(self) -> None:
        low, high = 0, _length(self.case) or 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.attempt(_take(self.case, range(middle))) else (middle, high)

    def simpler_elements(self) -> None:
        for name in _parts(self.case):
            view = _parts(self.case)[name]  # what was kept before may have moved it
            bits = _bits(self.case, view)
            if np.unique(bits.view(f"V{bits.itemsize}") if bits.size else bits).size > 4:
                continue
            if not any(self.attempt(packed(self.case, {name: np.broadcast_to(simple, bits.shape)}))
                       for simple in _simple(view.dtype)):
                for rounded in _fewer_digits(bits, view.dtype):
                    if self.attempt(packed(self.case, {name: rounded})):
                        break

    # ---- numbers ----
    def simpler_numbers(self) -> None:
        for p in self.op.parameters:
            value = self.case.args.get(p.name)
            if value is None or isinstance(value, (View, bool, str)):
                continue
            if p.default is not REQUIRED and self.attempt(
                    replace(self.case, args={k: v for k, v in self.case.args.items() if k != p.name})):
                continue
            any(self.attempt(replace(self.case, args=self.case.args | {p.name: type(value)(x)}))
                for x in (1, 2, -1, 0.5, 0.3, 3) if x != value and (x == int(x) or not isinstance(value, int)))


# ---- cases made from cases ----
def _parts(case: Case) -> dict[str, View]:
    """All views of a case; the gradient that is fed to backward is called 'grad'."""
    return case.views() | ({"grad": case.grad} if case.grad else {})


def _bits(case: Case, view: View) -> np.ndarray:
    return view.of(case.buffers[view.buffer])


def _with_views(case: Case, views: dict[str, View], buffers: list[np.ndarray]) -> Case:
    """The case with other views, without the buffers that nothing uses any more."""
    used = sorted({v.buffer for v in views.values()})
    number = {old: new for new, old in enumerate(used)}
    views = {k: replace(v, buffer=number[v.buffer]) for k, v in views.items()}
    return replace(case, args={k: views.get(k, v) for k, v in case.args.items()}, out=views.get("out"),
                   grad=views.get("grad"), buffers=[buffers[i] for i in used])


def packed(case: Case, contents: Mapping[str, np.ndarray] | None = None, only: str | None = None) -> Case:
    """Tensors as contiguous memory of their own. contents: new bits for some of them; only: leave the others alone."""
    views, buffers = _parts(case), list(case.buffers)
    for name, view in list(views.items()):
        if only is not None and name != only or contents is not None and name not in contents:
            continue
        bits = np.array((contents or {}).get(name, _bits(case, view)), order="C")  # a copy that keeps 0 dimensions
        stride = tuple(s // bits.itemsize for s in bits.strides) if bits.size else view.stride
        views[name] = replace(view, buffer=len(buffers), size=bits.shape, stride=stride, offset=0)
        buffers.append(bits.reshape(-1).view(np.uint8))
    return _with_views(case, views, buffers)


def _without_grad(case: Case) -> Case | None:
    views = {k: replace(v, requires_grad=False) for k, v in _parts(case).items() if k != "grad"}
    return _with_views(case, views, case.buffers) if views != _parts(case) else None


def _flat(case: Case) -> Case | None:
    """One dimension: every operand but the 0-dim ones expanded to the common shape."""
    views = _parts(case)
    try:
        shape = np.broadcast_shapes(*(v.size for v in views.values()))
        bits = {k: np.broadcast_to(_bits(case, v), shape).reshape(-1) for k, v in views.items() if v.size}
    except ValueError:
        return None
    return packed(case, bits) if bits and len(shape) > 0 else None


def _cut(case: Case, axis: int, n: int) -> Case | None:
    """Only the first `n` places along a dimension, counted from the last one, of the tensors that have more there."""
    views = {k: v for k, v in _parts(case).items() if len(v.size) > axis and v.size[-1 - axis] > n}
    if not views:
        return None
    return packed(case, {k: np.take(_bits(case, v), range(n), -1 - axis) for k, v in views.items()})


def _length(case: Case) -> int | None:
    """The number of elements, if all tensors but the 0-dim ones are packed vectors of the same length."""
    vectors = [v for v in _parts(case).values() if v.size]
    lengths = {v.size for v in vectors}
    same = len(lengths) == 1 and all(len(v.size) == 1 and v.stride == (1,) for v in vectors)
    return next(iter(lengths))[0] if same else None


def _take(case: Case, indices: Sequence[int]) -> Case | None:
    if not indices:
        return None
    return packed(case, {k: _bits(case, v)[list(indices)] for k, v in _parts(case).items() if v.size})


def _simple(dtype: str) -> Iterator[np.ndarray]:
    """Bits of 1, 2, 0, 3 and a half."""
    d = DTYPES[dtype]
    for x in (1, 2, 0, 3, 0.5) if d.category >= FLOATING else (1, 0) if d.category == BOOL else (1, 2, 0, 3):
        if dtype == "bfloat16":
            yield np.asarray(np.float32(x).view(np.uint32) >> np.uint32(16), np.uint16)
        elif not d.storage_only:
            yield np.asarray(x, d.np)


def _fewer_digits(bits: np.ndarray, dtype: str) -> Iterator[np.ndarray]:
    """The elements with all but the first few binary digits of their significands cut off."""
    d = DTYPES[dtype]
    if d.category not in (FLOATING, COMPLEX) or d.storage_only:
        return
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    digits = MANTISSA[part]
    code = np.dtype(f"u{DTYPES[part].itemsize}")
    words = np.ascontiguousarray(bits).reshape(-1).view(code)
    for kept in (0, 1, 2, 4, 8, 12, 16, 24, 32):
        if kept < digits:
            cut = words & code.type(~((1 << (digits - kept)) - 1) & ((1 << 8 * code.itemsize) - 1))
            yield cut.view(bits.dtype).reshape(bits.shape)
