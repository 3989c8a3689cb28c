"""What the checks of all families share: units, calls to try, and the bookkeeping that lets nothing pass untested."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from random import Random
from typing import Any

import numpy as np

from reftorch.core.dtype import DTYPES
from reftorch.dispatch.pointwise import Pointwise

from .. import generate, wanted
from ..case import Case, Outcome, Value, View
from ..clause import DIVERGED, HELD, NOT_APPLICABLE, NOT_RUN, Budget, Place, Verdict
from ..fingerprint import bounds_of, hexadecimal, is_bounded, result_size, same
from ..generate import Layout, Pattern
from ..reference import Reference, cast, narrow, widen

COSTLY_DTYPES = ("float32", "bfloat16", "int64")


# ---- units ----
@dataclass(frozen=True)
class Unit:
    """One dtype and one way to give the arguments: what a clause is judged by."""

    dtype: str
    pattern: Pattern
    name: str


def units(op: Pointwise, place: Place, budget: Budget) -> list[Unit]:
    """Every unit that the budget allows and the operator computes."""
    dtypes = [d for d in generate.supported_inputs(op) if budget.dtypes is None or d in budget.dtypes]
    if place.costly:
        dtypes = [d for d in dtypes if d in COSTLY_DTYPES]
    return [u for u in _computed_units(op, place) if u.dtype in dtypes]


@lru_cache(256)
def _computed_units(op: Pointwise, place: Place) -> tuple[Unit, ...]:
    """What the specification computes; the rest is errors, and the error clauses see to it."""
    made = []
    for dtype in generate.supported_inputs(op):
        for pattern in generate.patterns(op):
            if dtype not in ("bool", "int64", "float32", "complex64") and set(pattern.tensors) <= set(op.conditions):
                continue  # only numbers have the dtype, and there are four kinds of numbers
            label = pattern.label(op)
            unit = Unit(dtype, pattern, f"{dtype}, {label}" if label else dtype)
            try:
                Reference(place).meta(op, sample(op, unit, Random(0), 1, "near"))
            except (RuntimeError, TypeError):  # a NotImplementedError is a RuntimeError
                continue
            made.append(unit)
    return tuple(made)


@lru_cache(1024)
def allowed_in_place(op: Pointwise, place: Place, unit: Unit) -> bool:
    """Whether the specification takes the unit in place: self can hold the result."""
    if not op.has_in_place or "self" not in unit.pattern.tensors:
        return False
    case = replace(sample(op, unit, Random(0), 1, "near"), form="in-place")
    return Reference(place).outcome(case).error is None


def sample(op: Pointwise, unit: Unit, rng: Random, n: int, kind: str, **note: Any) -> Case:
    """A contiguous one-dimensional call of `n` elements."""
    gen = generate.generator(rng)
    types = {name: generate.operand_dtype(op, name, unit.dtype) for name in unit.pattern.tensors}
    arrays = generate.allowed(op, {name: generate.values(gen, t, n, kind) for name, t in types.items()})
    numbers = generate.draw_numbers(rng, op, unit.pattern, DTYPES[unit.dtype].category)
    return generate.call(op, unit.pattern, arrays, types, numbers=numbers, unit=unit.name, **note)


def some_call(op: Pointwise, unit: Unit, rng: Random, size: Sequence[int] | None = None, broadcast: float = 0.0,
              layouts: Sequence[str] = ("contiguous",), kind: str = "near", form: str = "functional",
              dtypes: dict[str, str] | None = None, fixed: Sequence[str] = (), empty: bool = True, alike: bool = False,
              **note: Any) -> Case:
    """A small call of a unit, with layouts drawn for each operand; alike: one for all operands of a size. broadcast: the
    chance that a dimension is narrowed, except of the operands in `fixed`. dtypes: of operands that have another one than
    the unit."""
    gen = generate.generator(rng)
    size = tuple(size) if size is not None else generate.shape(rng, empty=empty)
    arrays, types, places, drawn = {}, {}, {}, {}
    for name in unit.pattern.tensors:
        here = size if name in fixed else generate.narrowed(rng, size, broadcast) if broadcast else size
        types[name] = (dtypes or {}).get(name) or generate.operand_dtype(op, name, unit.dtype)
        arrays[name] = generate.values(gen, types[name], prod(here), kind).reshape(here)
        if not alike or here not in drawn:
            drawn[here] = generate.layout(rng, here, rng.choice(layouts))
        places[name] = drawn[here]
    numbers = generate.draw_numbers(rng, op, unit.pattern, DTYPES[unit.dtype].category)
    return generate.call(op, unit.pattern, generate.allowed(op, arrays), types, places, numbers, form, unit.name, **note)


def has_out_form(op: Pointwise, pattern: Pattern) -> bool:
    """Whether PyTorch has the out= form of this overload: not of where with a number, nor of div with one and a mode."""
    if op.name == "where" and pattern.numbers:
        return False
    return op.has_out and not (pattern.numbers and pattern.by_name.get("rounding_mode") not in (None, generate.ABSENT))


def spread(items: Sequence[Any], count: int, rng: Random) -> Iterator[Any]:
    """`count` items: each once before any twice, in random order."""
    while count > 0 and items:
        some = list(items)
        rng.shuffle(some)
        yield from some[:count]
        count -= len(some)


# ---- checks ----
EAGER_ONLY = "eager PyTorch promises this; a compiler or a decomposition does not"


class Uncovered(Exception):
    """The specification says nothing of a case."""


class Checking:
    """A check that judges cases one by one, by unit. Subclasses give `make` and `judge`.

    A unit is held if at least one of its cases was compared and all were right. A unit none of whose cases was
    compared is not run.
    """

    inapplicable = "no call of this operator is subject to it"
    modes: tuple[str, ...] | None = None  # ways of running PyTorch that the clause is about; None: all

    def __init__(self, op: Pointwise, place: Place):
        self.op, self.place, self.reference = op, place, Reference(place)
        self.planned: dict[str, None] = {}
        self.compared: dict[str, int] = {}
        self.reasons: dict[str, str] = {}
        self.told: set[tuple[str, str]] = set()

    def cases(self, rng: Random, budget: Budget) -> Iterator[Case]:
        if self.modes is not None and self.place.mode not in self.modes:
            self.inapplicable = EAGER_ONLY
            return
        for case in self.make(rng, budget):
            self.planned.setdefault(case.unit)
            yield case

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        raise NotImplementedError

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        """None if the case is as it should be, a divergence, or the reason why nothing was compared."""
        raise NotImplementedError

    def see(self, case: Case, outcome: Outcome) -> Iterable[Verdict]:
        self.planned.setdefault(case.unit)
        try:
            found = self.judge(case, outcome)
        except Uncovered as e:
            found = str(e)
        if isinstance(found, str):
            self.reasons.setdefault(case.unit, found)
            return ()
        self.compared[case.unit] = self.compared.get(case.unit, 0) + 1
        if found is None:
            return ()
        found.unit, found.case = case.unit, found.case or case
        key = (case.unit, found.fingerprint)
        if key in self.told:
            return ()
        self.told.add(key)
        return (found,)

    def conclude(self) -> Iterable[Verdict]:
        diverged = {unit for unit, _ in self.told}
        for unit in self.planned:
            if unit in diverged:
                continue
            count = self.compared.get(unit, 0)
            if count:
                yield Verdict(HELD, unit, evidence={"cases": count})
            else:
                reason = self.reasons.get(unit, "no case was compared")
                yield Verdict(NOT_APPLICABLE if reason == EAGER_ONLY else NOT_RUN, unit, reason=reason)
        if not self.planned:
            yield Verdict(NOT_APPLICABLE, reason=self.inapplicable)

    # ---- comparing ----
    def expected(self, case: Case) -> Outcome:
        """What the specification shows. Raises Uncovered if it says that it does not cover the case."""
        right = self.reference.outcome(case)
        if right.error is not None and right.error.type == "NotImplementedError" and "not covered" in right.error.text:
            raise Uncovered(right.error.text)
        return right

    def must_raise(self, case: Case) -> bool:
        """Whether the specification says that the case is an error."""
        try:
            return self.expected(case).error is not None
        except Uncovered:
            return False

    def differs(self, case: Case, outcome: Outcome, fingerprint: str, **want: Any) -> Verdict | None:
        """A divergence if the outcome is not as `want` says (see conformance.wanted)."""
        found = wanted.differences(want, case, outcome)
        if not found:
            return None
        return Verdict(DIVERGED, case.unit, fingerprint, case=case, expected="; ".join(_said(want)), got="; ".join(found),
                       wanted=want)

    def fits(self, case: Case, outcome: Outcome, target: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """For each element of the result whether a formula gives it, and what was expected (row-major bits).

        Any formula of the operator will do: whether it is legal there is E1's matter. target: the dtype that the result
        is stored as, if not its own.
        """
        assert outcome.bits is not None
        legal, fitting = self.reference.formulas(self.op, case)
        candidates = legal + [f for f in fitting if f not in legal]
        got = outcome.bits.reshape(-1)
        common = self.reference.common(self.op, case)
        results = []
        for formula in candidates:
            try:
                results += [b.reshape(-1) for b in self.reference.values(self.op, case, [formula], target)]
            except RuntimeError:  # one for another place, which cannot take the number
                if formula in legal:
                    raise
        if is_bounded(self.op, candidates[0], common.category, common.name):
            value, error = bounds_of(self.reference, self.op, case, candidates[0], common.category, common.name)
            shown = widen(got, outcome.dtype).astype(np.complex128)
            with np.errstate(all="ignore"):
                slack = error + _storing(value, error, outcome.dtype)
                return ~(np.abs(shown - value) > slack) | ~np.isfinite(error), results[0]
        fits = np.zeros(got.shape, bool)
        composite = results[0].copy()
        for bits in results:
            now = same(bits, got, outcome.dtype) & ~fits
            composite[now] = bits[now]
            fits |= now
        return fits, composite

    def wrong_value(self, case: Case, outcome: Outcome, fingerprint: str, target: str | None = None,
                    excuse: np.ndarray | None = None) -> Verdict | str | None:
        """Compare values with the formulas, element by element. excuse: bits of a plain call, which are right too."""
        unexpected = unexpected_error(case, outcome)
        if unexpected is not None:
            return unexpected
        assert outcome.bits is not None
        if outcome.size != result_size(case) and case.form != "out=":
            return f"the result has size {outcome.size}; see S1"
        to = target or self.reference.meta(self.op, case).dtype.name
        if outcome.dtype != to:
            return f"the result is {outcome.dtype}, not {to}; see P1"
        if not outcome.bits.size:
            return "only empty tensors were tried"
        try:
            fits, expected = self.fits(case, outcome, target)
        except RuntimeError as e:  # a number that does not fit, a division by zero: the call should have raised
            return self.differs(case, outcome, f"no error instead of {type(e).__name__}",
                                error={"type": type(e).__name__, "text": str(e)})
        got = outcome.bits.reshape(-1)
        if excuse is not None and excuse.size == got.size and excuse.dtype == got.dtype:
            right = same(excuse.reshape(-1), got, outcome.dtype)
            expected = np.where(~fits & right, got, expected)
            fits |= right
        if fits.all():
            return None
        i = int(np.flatnonzero(~fits)[0])
        return Verdict(DIVERGED, case.unit, fingerprint, case=case,
                       expected=f"element {i}: {hexadecimal(expected[i], outcome.dtype)}",
                       got=hexadecimal(got[i], outcome.dtype), wanted={"bits": [expected.reshape(outcome.size)]},
                       evidence={"wrong": int((~fits).sum()), "of": int(got.size), "index": i})


class Twins(Checking):
    """A check that runs a plain call before each case, so that how the subject computes excuses nothing else.

    `pairs` gives (plain, case); the plain call's bits excuse the case's where no legal formula gives them.
    """

    def __init__(self, op: Pointwise, place: Place):
        super().__init__(op, place)
        self.plain: dict[int, np.ndarray] = {}

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        raise NotImplementedError

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for i, (plain, case) in enumerate(self.pairs(rng, budget)):
            plain.note["plain"] = case.note["pair"] = i
            plain.unit = case.unit
            yield plain
            yield case

    def see(self, case: Case, outcome: Outcome) -> Iterable[Verdict]:
        if "plain" in case.note:
            if outcome.bits is not None:
                self.plain[case.note["plain"]] = outcome.bits
            return ()
        return super().see(case, outcome)

    def excuse(self, case: Case) -> np.ndarray | None:
        return self.plain.pop(case.note.get("pair", -1), None)

    def plain_call(self, case: Case) -> Case:
        """The same elements, already stretched and converted, contiguous: what broadcasting and promotion amount to."""
        common = self.reference.common(self.op, case).name
        size, memory, args = result_size(case), generate.Memory(), dict[str, Value]()
        for name, value in case.args.items():
            if not isinstance(value, View):
                args[name] = value
                continue
            bits, to = np.array(np.broadcast_to(case.bits(name), size)), value.dtype
            if name not in self.op.apart and not (name in self.op.opmath and not value.size):
                bits, to = stored(bits, value.dtype, common), common
            args[name] = memory.place(bits, to, Layout(size, generate.contiguous_stride(size), 0))
        return Case(case.op, "functional", args, memory.buffers)


def stored(bits: np.ndarray, dtype: str, target: str) -> np.ndarray:
    """Bits of one dtype as bits of another, converted as PyTorch does."""
    return np.asarray(narrow(cast(widen(bits, dtype), target), target))


def unexpected_error(case: Case, outcome: Outcome) -> Verdict | None:
    if outcome.error is None and outcome.bits is not None:
        return None
    error = outcome.error
    name = error.type if error else "no result"
    return Verdict(DIVERGED, case.unit, f"raises {name}", case=case, expected="a result",
                   got=f"{error.type}: {error.text}" if error else name, wanted={"error": None})


def _storing(value: np.ndarray, error: np.ndarray, dtype: str) -> Any:
    """How much more a complex or real result may be off for being stored in a narrower dtype."""
    digits = {"complex64": 24, "float32": 24, "bfloat16": 8, "float16": 11}.get(dtype)
    return 0.0 if digits is None else (np.abs(value) + error) * 2.0 ** -digits


def _said(want: dict[str, Any]) -> list[str]:
    def short(value: Any) -> str:
        if isinstance(value, dict) and "type" in value:
            return f"{value['type']}: {value.get('text', '')}"
        return "as specified" if isinstance(value, (np.ndarray, dict)) else repr(value)
    return [f"{key} {short(value)}" for key, value in want.items()]

