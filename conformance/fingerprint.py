"""Which legal formula a subject computes with, bit for bit.

The candidates are all formulas of the operator that fit the call, legal at the subject's place or not, each evaluated
by NumPy in the compute type and rounded once to the dtype. What names a formula is evidence on inputs where the
candidates differ; where a candidate cannot be told from another, the tie is said and nothing is named.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from random import Random
from typing import Any

import numpy as np

from reftorch.core.dtype import COMPLEX, DTYPES, FLOATING, INTEGRAL
from reftorch.core.layout import Layout as Geometry
from reftorch.dispatch.operator import Formula
from reftorch.dispatch.pointwise import Pointwise
from reftorch.numerics.ulp import NAN_DISTANCE, same_bits, ulp_distance

from . import generate
from .case import Case, Outcome, Value, View
from .clause import DIVERGED, HELD, NOT_RUN, Verdict
from .generate import DEFAULT, NUMBER, TENSOR, Pattern
from .reference import NARROW, Reference, widen
from .trace import Arithmetic, Node, bounded, exact_value, operations, trace

# What complex formulas may do and still have one answer, bit for bit: it is done part by part.
PART_BY_PART = {"add", "neg", "select", "eq", "ne", "and", "or", "not"}
BLOCKS = (8, 16, 32, 64)
PARALLEL = 32768  # more elements than this may be split among threads, and each part has a tail of its own


def expression(op: Pointwise, formula: Formula, category: int, dtype: str, pattern: Pattern | None = None) -> Node:
    """The formula as an expression, for calls of this pattern on this dtype."""
    known = {p.name: p.default for p in op.parameters
             if pattern is not None and p.is_number and pattern.by_name[p.name] == DEFAULT and p.name in formula.parameters}
    grid = frozenset() if pattern is None or dtype not in NARROW else frozenset(
        p.name for p in op.parameters if p.is_operand
        and (pattern.by_name[p.name] == TENSOR or pattern.by_name[p.name] == NUMBER and p.name not in op.opmath))
    unequal = frozenset((p.name, p.default) for p in op.parameters
                        if pattern is not None and p.is_number and pattern.by_name[p.name] == NUMBER)
    arithmetic = Arithmetic(fused=category == FLOATING, rounds=dtype in NARROW, exact_one=category != COMPLEX,
                            ring=category == INTEGRAL, grid=grid, exact_products=dtype == "float16", unequal=unequal)
    return trace(formula.function, arithmetic, **known)


def same(a: Any, b: Any, dtype: str) -> Any:
    """Elementwise: the same bits, NaN being one class."""
    return same_bits(a, b, dtype if dtype in NARROW else None) if DTYPES[dtype].category >= FLOATING else \
        np.asarray(a) == np.asarray(b)


def distance(a: Any, b: Any, dtype: str) -> Any:
    """In units in the last place for floats; 0 or 1 for the others."""
    if DTYPES[dtype].category >= FLOATING:
        return ulp_distance(a, b, dtype if dtype in NARROW else None)
    return (np.asarray(a) != np.asarray(b)).astype(np.uint64)


def is_bounded(op: Pointwise, formula: Formula, category: int, dtype: str) -> bool:
    """Whether the result is only bounded: complex arithmetic beyond what is done part by part."""
    return category == COMPLEX and not operations(expression(op, formula, category, dtype)) <= PART_BY_PART


@dataclass
class Sample:
    """One case with what the subject gave and what each candidate gives, all flat."""

    case: Case
    got: np.ndarray
    expected: list[np.ndarray]
    fits: np.ndarray  # (candidates, elements)


class Fingerprint:
    """Collects results of one unit (one pattern of one dtype) and says which formula it was."""

    def __init__(self, op: Pointwise, reference: Reference, unit: str, pattern: Pattern | None = None):
        self.op, self.reference, self.unit, self.pattern = op, reference, unit, pattern
        self.legal: list[Formula] = []
        self.candidates: list[Formula] = []
        self.samples: list[Sample] = []
        self.dtype = self.common = ""
        self.category = FLOATING
        self.worst_ratio = 0.0
        self.unsure = 0
        self.refused = ""
        self.only_bounded = False

    # ---- collecting ----
    def add(self, case: Case, outcome: Outcome) -> Verdict | None:
        """Take one result in. Gives a verdict at once if it cannot be compared."""
        if outcome.error is not None:
            return Verdict(DIVERGED, self.unit, f"raises {outcome.error.type}", case=case, expected="a result",
                           got=f"{outcome.error.type}: {outcome.error.text}", wanted={"error": None})
        meta = self.reference.meta(self.op, case)
        if outcome.dtype != meta.dtype.name or outcome.size != tuple(meta.layout.size) or outcome.bits is None:
            self.refused = f"the result is {outcome.dtype} of {outcome.size}, not {meta.dtype.name} of " \
                           f"{tuple(meta.layout.size)}; see P1 and S1"
            return None
        got = outcome.bits.reshape(-1)
        bounded_only = self.bounds(case)
        if not self.candidates or not got.size:
            return None
        if self.pattern is None:
            self.pattern = generate.pattern_of(self.op, case)
        if bounded_only:
            return self._bounded(case, got)
        expected = [b.reshape(-1) for b in self.reference.values(self.op, case, self.candidates)]
        fits = np.stack([same(e, got, self.dtype) for e in expected])
        self.samples.append(Sample(case, got, expected, fits))
        return None

    def bounds(self, case: Case) -> bool:
        """Whether results are held to a bound, not to formulas. All cases of a unit are alike in this."""
        if not self.candidates:
            self._prepare(case)
        return bool(self.candidates) and self.only_bounded

    def _prepare(self, case: Case) -> None:
        self.legal, fitting = self.reference.formulas(self.op, case)
        self.candidates = self.legal + [f for f in fitting if f not in self.legal]
        self.dtype = self.reference.meta(self.op, case).dtype.name
        common = self.reference.common(self.op, case)
        self.common, self.category = common.name, common.category
        self.only_bounded = bool(self.candidates) and is_bounded(self.op, self.candidates[0], self.category, self.common)

    def _bounded(self, case: Case, got: np.ndarray) -> Verdict | None:
        """Complex arithmetic: the distance from the exact value, relative to the derived bound."""
        formula = self.candidates[0]
        value, error = bounds_of(self.reference, self.op, case, formula, self.category, self.common)
        with np.errstate(all="ignore"):
            off = np.abs(got.astype(np.complex128) - value)
            sure = np.isfinite(error) & np.isfinite(value)
            ratio = np.where(sure, np.where(error > 0, off / error, np.where(off == 0, 0.0, np.inf)), 0.0)
        self.unsure += int((~sure).sum())
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
        self.samples.append(Sample(case, got, [], (ratio <= 1)[None]))
        i = int(np.argmax(ratio))
        self.worst_ratio = max(self.worst_ratio, float(ratio[i]))
        if ratio[i] <= 1:
            return None
        witness, at = around(case, i)
        v, e = complex(value[i]), float(error[i])
        evidence = {"bound": e, "ratio": float(ratio[i]), "formula": formula.name, "index": at}
        return Verdict(DIVERGED, self.unit, "outside the error bound", case=witness, evidence=evidence,
                       expected=f"within {e:.3g} of {v}", got=str(got[i]), wanted=self.wanted(witness))

    # ---- concluding ----
    @property
    def elements(self) -> int:
        return sum(s.got.size for s in self.samples)

    def verdict(self) -> Verdict:
        if self.samples and not self.samples[0].expected:
            held = all(s.fits.all() for s in self.samples) and self.unsure < self.elements
            reason = "" if held else "every element lies where the bound says nothing"
            return Verdict(HELD if held else NOT_RUN, self.unit, reason=reason,
                           formula=f"{self.candidates[0].name}, within its error bound",
                           evidence={"elements": self.elements, "worst distance relative to the bound": self.worst_ratio})
        if not self.candidates or not self.samples:
            return Verdict(NOT_RUN, self.unit, reason=self.refused or "no element was compared")
        if not self.legal:
            return Verdict(NOT_RUN, self.unit, reason=f"no formula is specified for {self.reference.place}")
        whole = np.flatnonzero(np.all([s.fits.all(axis=1) for s in self.samples], axis=0)).tolist()
        if whole and (self.candidates[whole[0]] in self.legal or not self._legal_everywhere()):
            return self._named([self.candidates[k] for k in whole])
        return self._by_position() or (self._mixture() if self._legal_everywhere() else self._unexplained())

    def _legal_everywhere(self) -> bool:
        """Whether each element, by itself, is what some legal formula gives."""
        return all(s.fits[:len(self.legal)].any(axis=0).all() for s in self.samples)

    def elementwise(self) -> Verdict:
        """Held if each element, by itself, is what some legal formula gives."""
        verdict = self.verdict()
        if self.only_bounded or verdict.status == NOT_RUN:
            return replace(verdict, formula=None)
        k = len(self.legal)
        for s in self.samples:  # how far a value is from the formula is E1's matter, so one unit more or less is let be
            legal = s.fits[:k].any(axis=0)
            wrong = np.flatnonzero(~legal)
            if wrong.size:
                s.fits[0, wrong] |= np.any([_same_class(e[wrong], s.got[wrong], self.dtype) for e in s.expected[:k]], axis=0)
        if self._legal_everywhere():
            return Verdict(HELD, self.unit, distance=0.0, evidence={"elements": self.elements})
        return self._unexplained()

    def _named(self, found: Sequence[Formula]) -> Verdict:
        """All of `found` explain every element. The first is a legal one if any is."""
        first, rest = found[0], found[1:]
        shape = self._expression(first)
        identical = [f.name for f in rest if self._expression(f) == shape]
        tied = [f.name for f in rest if self._expression(f) != shape]
        evidence: dict[str, Any] = {"elements": self.elements}
        if identical:
            evidence["the same here, bit for bit"] = identical
        if tied:
            evidence["not told apart from"] = tied
        if first not in self.legal:
            return self._foreign(first, tied, evidence)
        named = None if tied else first.name
        reason = f"{first.name} could not be told apart from {'; '.join(tied)}" if tied else ""
        return Verdict(HELD, self.unit, formula=named, distance=0.0, reason=reason, evidence=evidence)

    def _foreign(self, formula: Formula, tied: Sequence[str], evidence: dict[str, Any]) -> Verdict:
        """A formula that is legal elsewhere, but not here."""
        legal = " or ".join(f.name for f in self.legal)
        sample, i = self._worst()
        name = " or ".join([formula.name, *tied])
        witness = self._telling(formula, sample, i)
        evidence["legal at"] = sorted({str(on) for f in self.op.formulas if f.function is formula.function for on in f.on})
        return Verdict(DIVERGED, self.unit, f"computes {name}", formula=name, distance=self._distance(sample, i),
                       case=witness, expected=self._values(witness, legal), got=self._shown(sample, i, name),
                       evidence=evidence, wanted=self.wanted(witness))

    def _telling(self, formula: Formula, sample: Sample, i: int) -> Case:
        """A small case in which this formula differs from every candidate that some element of the sample rules out."""
        k = self.candidates.index(formula)
        indices = {i}
        for other in sample.expected[:k] + sample.expected[k + 1:]:
            apart = np.flatnonzero(~same(other, sample.expected[k], self.dtype))
            if apart.size and not indices & set(apart.tolist()):
                indices.add(int(apart[0]))
        alike = all(v.size == result_size(sample.case) for v in sample.case.views().values())
        return chosen(sample.case, sorted(indices)) if alike and len(indices) > 1 else around(sample.case, i)[0]

    def _by_position(self) -> Verdict | None:
        """Two formulas: one in complete blocks of w elements, the other in what is left of each run."""
        pool = self.legal if self._legal_everywhere() else self.candidates
        both = [(a, b) for a, b in itertools.permutations(range(len(pool)), 2)
                if all((s.fits[a] | s.fits[b]).all() for s in self.samples)]
        for mixed in (False, True):
            for a, b in both:
                for w in BLOCKS:
                    if all(_blocks_fit(s, a, None if mixed else b, w) for s in self.samples if is_plain(s.case)):
                        first, other = self.candidates[a].name, self.candidates[b].name
                        said = f"blocks of {w}: {first}; tails: "
                        return self._positional(a, b, said + other, said + (f"{first} or {other}" if mixed else other))
        if both:
            a, b = both[0]
            said = f"here {self.candidates[a].name}, there {self.candidates[b].name}"
            return self._positional(a, b, said, said)
        return None

    def _mixture(self) -> Verdict:
        """More than two legal formulas, and no rule which is where."""
        sample = min((s for s in self.samples if not s.fits[0].all()), key=lambda s: s.got.size)
        names = " or ".join(f.name for f in self.legal)
        return Verdict(DIVERGED, self.unit, "a mixture of legal formulas", case=sample.case,
                       expected="one formula for every element", got=f"here and there {names}",
                       evidence={"elements": self.elements}, wanted=self.wanted(sample.case))

    def _positional(self, a: int, b: int, cause: str, said: str) -> Verdict:
        both = [s for s in self.samples if not s.fits[a].all() and not s.fits[b].all()]
        other = min(both or [s for s in self.samples if not s.fits[a].all()], key=lambda s: s.got.size)
        i = int(np.flatnonzero(~other.fits[a])[0])
        size = self._size(other.case)
        return Verdict(DIVERGED, self.unit, cause, formula=said, distance=float(distance(
                           other.expected[a][i], other.got[i], self.dtype)), case=other.case,
                       expected=f"one formula for every element, such as {self.candidates[a].name}",
                       got=said, evidence={"elements": self.elements, "position": i},
                       wanted={"bits": [e.reshape(size) for e in other.expected[:len(self.legal)]]})

    def _unexplained(self) -> Verdict:
        count = sum(int((~s.fits[:len(self.legal)].any(axis=0)).sum()) for s in self.samples)
        sample, i = self._worst()
        far = self._distance(sample, i)
        witness, at = around(sample.case, i)
        legal = " or ".join(f.name for f in self.legal)
        evidence = {"elements": self.elements, "wrong": count, "rate": count / self.elements,
                    "directions": self._directions(), "index": at}
        exact = self._exact(sample.case, i)
        if exact:
            evidence["exact value"] = exact
        return Verdict(DIVERGED, self.unit, f"no formula: {bucket(far)}{self._sided()}", distance=far, case=witness,
                       expected=self._values(witness, legal, at), got=self._shown(sample, i, "none of the formulas"),
                       evidence=evidence, wanted=self.wanted(witness))

    # ---- describing ----
    def _expression(self, formula: Formula) -> Node:
        return expression(self.op, formula, self.category, self.common, self.pattern)

    def _worst(self) -> tuple[Sample, int]:
        """The element farthest from every legal formula."""
        best: tuple[float, Sample, int] | None = None
        for s in self.samples:
            wrong = np.flatnonzero(~s.fits[:len(self.legal)].any(axis=0))
            if wrong.size:
                far = self._far(s, wrong)
                k = int(np.argmax(far))
                if best is None or float(far[k]) > best[0]:
                    best = float(far[k]), s, int(wrong[k])
        assert best is not None
        return best[1], best[2]

    def _far(self, s: Sample, where: Any) -> np.ndarray:
        legal = s.expected[:len(self.legal)]
        found: np.ndarray = np.min([distance(e[where], s.got[where], self.dtype) for e in legal], axis=0)
        return found

    def _distance(self, s: Sample, i: int) -> float:
        return float(self._far(s, np.array([i]))[0])

    def _directions(self) -> dict[str, int]:
        """How many wrong elements are nearer to zero than the first legal formula, and how many farther."""
        low = high = 0
        for s in self.samples:
            wrong = np.flatnonzero(~s.fits[:len(self.legal)].any(axis=0))
            a, b = (np.abs(widen(x[wrong], self.dtype)) for x in (s.got, s.expected[0]))
            low, high = low + int((a < b).sum()), high + int((a > b).sum())
        return {"too small": low, "too large": high}

    def _sided(self) -> str:
        d = self._directions()
        return " low" if d["too small"] and not d["too large"] else " high" if d["too large"] and not d["too small"] else ""

    def _exact(self, case: Case, i: int) -> str | None:
        if self.category != FLOATING:
            return None
        operands = self.reference.operands(self.op, case, self.legal[0])
        value = exact_value(self._expression(self.legal[0]), {k: float(v.reshape(-1)[i]) for k, v in operands.items()})
        if value is None or isinstance(value, bool):
            return None
        with localcontext(prec=25):
            return str(Decimal(value.numerator) / Decimal(value.denominator))

    def wanted(self, case: Case) -> dict[str, Any]:
        return {"bits": self.reference.values(self.op, case, self.legal)}

    def _size(self, case: Case) -> tuple[int, ...]:
        return tuple(self.reference.meta(self.op, case).layout.size)

    def _values(self, witness: Case, legal: str, i: int = 0) -> str:
        shown = {hexadecimal(b.reshape(-1)[i], self.dtype) for b in self.reference.values(self.op, witness, self.legal)}
        return f"{' or '.join(sorted(shown))} = {legal}"

    def _shown(self, s: Sample, i: int, name: str) -> str:
        return f"{hexadecimal(s.got[i], self.dtype)} = {name}"


def _same_class(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    """For floats: both are finite, of the same sign, not zero, and at most one unit apart."""
    if DTYPES[dtype].category != FLOATING:
        return np.zeros(a.shape, bool)
    x, y = widen(a, dtype), widen(b, dtype)
    ordinary = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0) & (np.signbit(x) == np.signbit(y))
    near: np.ndarray = (distance(a, b, dtype) <= 1) & ordinary
    return near


def bucket(far: float) -> str:
    """A distance as a stable name: what a run finds worst varies a little, its cause does not."""
    if far >= NAN_DISTANCE:
        return "NaN against a number"
    return "the sign of a zero" if far == 0 else "1 ulp" if far <= 1 else "2 to 16 ulp" if far <= 16 else "more than 16 ulp"


def hexadecimal(bits: Any, dtype: str) -> str:
    """A value with its bits: '0.1 (0x3dcccccd)'."""
    array = np.asarray(bits)
    raw = array.tobytes()[::-1].hex()
    value = widen(array, dtype)
    return f"{value.item()!r} (0x{raw})" if DTYPES[dtype].category >= FLOATING else repr(value.item())


def is_plain(case: Case) -> bool:
    """All tensors contiguous, of one shape, and too small to be split among threads: runs start at the first element."""
    views = list(case.views().values())
    return all(v.size == views[0].size and v.numel <= PARALLEL and Geometry.of(v.size, v.stride).contiguous for v in views)


def _blocks_fit(s: Sample, a: int, b: int | None, w: int) -> bool:
    """Whether complete blocks of w elements are candidate a's and the rest is b's; None for anybody's."""
    body = s.got.size - s.got.size % w
    return bool(s.fits[a, :body].all() and (b is None or s.fits[b, body:].all()))


def around(case: Case, index: int) -> tuple[Case, int]:
    """The complete block of 64 elements that an element lies in, as a call of its own, and its place there."""
    if any(v.size != result_size(case) for v in case.views().values()) or case.form not in ("functional", "method"):
        return case, index
    start = index // 64 * 64
    n = int(np.prod(result_size(case), dtype=np.int64))
    return chosen(case, range(start, min(start + 64, n))), index - start


def result_size(case: Case) -> tuple[int, ...]:
    return tuple(np.broadcast_shapes(*(v.size for n, v in case.views().items() if n != "out")))


def bounds_of(reference: Reference, op: Pointwise, case: Case, formula: Formula, category: int,
              dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The value in double precision and the bound, for each element of a complex result."""
    operands = reference.operands(op, case, formula)
    node = expression(op, formula, category, dtype)
    part = "float64" if dtype == "complex128" else "float32"
    found = bounded(node, {k: v.reshape(-1) for k, v in operands.items()}, part)
    n = int(np.prod(result_size(case), dtype=np.int64))
    return np.broadcast_to(found.value, (n,)), np.broadcast_to(found.error, (n,))


# ---- separating inputs ----
def separate(op: Pointwise, reference: Reference, pattern: Pattern, dtype: str, rng: Random,
             rounds: int = 8) -> tuple[list[Case], list[tuple[str, str]]]:
    """Cases on which the candidates of a pattern differ, and the pairs of names that stayed together.

    Random restarts over all kinds of values and numbers; then operands chosen so that sums nearly cancel, where a
    rounding more or less shows. Pairs whose expressions are equal are not looked for: nothing separates them.
    """
    gen = generate.generator(rng)
    probe = _make(op, pattern, dtype, gen, rng, "near", 1)
    category = DTYPES[reference.common(op, probe).name].category
    legal, fitting = reference.formulas(op, probe)
    formulas = legal + [f for f in fitting if f not in legal]
    shapes = [expression(op, f, category, reference.common(op, probe).name, pattern) for f in formulas]
    open_pairs = {(i, j) for i, j in itertools.combinations(range(len(formulas)), 2) if shapes[i] != shapes[j]}
    found: list[Case] = []
    if not open_pairs or is_bounded(op, formulas[0], category, reference.common(op, probe).name):
        return found, []
    for attempt in range(rounds):
        for case in _attempts(op, pattern, dtype, gen, rng, reference, formulas, attempt):
            results = [b.reshape(-1) for b in reference.values(op, case, formulas)]
            result_dtype = reference.meta(op, case).dtype.name
            keep: list[int] = []
            for i, j in sorted(open_pairs):
                apart = np.flatnonzero(~same(results[i], results[j], result_dtype))
                if apart.size:
                    keep += apart[:16].tolist()
                    open_pairs.discard((i, j))
            if keep:
                found.append(chosen(case, sorted(set(keep))))
            if not open_pairs:
                return found, []
    return found, [(formulas[i].name, formulas[j].name) for i, j in sorted(open_pairs)]


def _make(op: Pointwise, pattern: Pattern, dtype: str, gen: Any, rng: Random, kind: str, n: int) -> Case:
    types = {name: generate.operand_dtype(op, name, dtype) for name in pattern.tensors}
    arrays = {name: generate.values(gen, t, n, kind) for name, t in types.items()}
    numbers = generate.draw_numbers(rng, op, pattern, DTYPES[dtype].category)
    if kind == "special" and DTYPES[dtype].category == FLOATING:
        numbers = {name: rng.choice((0.0, -0.0, 1.0, 1.0, -1.0, 0.5)) for name in numbers}
        numbers = generate.not_default(op, numbers)
    return generate.call(op, pattern, generate.allowed(op, arrays), types, numbers=numbers)


def _attempts(op: Pointwise, pattern: Pattern, dtype: str, gen: Any, rng: Random, reference: Reference,
              formulas: Sequence[Formula], attempt: int) -> Iterator[Case]:
    kind = ("near", "short", "special", "mixed", "any", "neighbours", "special", "short")[attempt % 8]
    for _ in range(8 if kind == "special" and pattern.numbers else 1):
        yield _make(op, pattern, dtype, gen, rng, kind, 4096 if kind == "special" else 512)
    if DTYPES[dtype].category != FLOATING:
        return
    big = _make(op, pattern, dtype, gen, rng, "near" if attempt % 2 else "short", 20_000)
    for name in pattern.tensors:
        cancelled = _cancelling(op, reference, big, name, formulas[attempt % len(formulas)])
        if cancelled is not None:
            yield cancelled


def _cancelling(op: Pointwise, reference: Reference, case: Case, name: str, formula: Formula) -> Case | None:
    """The calls, out of many, whose result is smallest beside the operand `name`, that being set against the rest."""
    view = case.args[name]
    assert isinstance(view, View)
    without = replace(case, buffers=[b.copy() for b in case.buffers])
    without.bits(name)[...] = 0
    rest = reference.values(op, without, [formula])[0]
    if rest.dtype != case.bits(name).dtype:
        return None
    against = replace(case, buffers=[b.copy() for b in case.buffers])
    with np.errstate(all="ignore"):
        against.bits(name)[...] = rest ^ np.uint16(0x8000) if view.dtype == "bfloat16" else -rest
        result = np.abs(widen(reference.values(op, against, [formula])[0], view.dtype).astype(np.float64))
        size = np.abs(widen(against.bits(name), view.dtype).astype(np.float64))
        ratio = np.where((result > 0) & np.isfinite(result) & (size > 0), result / size, np.inf)
    order = np.argsort(ratio.reshape(-1))[:256]
    return chosen(against, order.tolist())


def chosen(case: Case, indices: Sequence[int]) -> Case:
    """The call on some of the elements, contiguous, in that order. All tensors of the case have the result's size."""
    memory, args = generate.Memory(), dict[str, Value]()
    for name, value in case.args.items():
        if isinstance(value, View):
            array = np.ascontiguousarray(case.bits(name).reshape(-1)[list(indices)])
            args[name] = memory.place(array, value.dtype, generate.Layout(array.shape, (1,), 0))
        else:
            args[name] = value
    return Case(case.op, case.form, args, memory.buffers, unit=case.unit)

