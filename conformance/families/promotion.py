"""Clauses about dtypes: which one a call computes in and returns, and how operands get there."""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

from reftorch.core.dtype import DTYPES, FLOATING
from reftorch.dispatch.pointwise import Pointwise

from .. import generate
from ..case import Case, Outcome, View
from ..clause import Budget, Clause, Verdict
from .base import EAGER_ONLY, Checking, Twins, Unit, some_call, spread, stored, unexpected_error, units

NUMBERS: tuple[Any, ...] = (0.3, 1 / 3, 1e-8, 1e39, -1e39, 1e300, 70000.0, 2.5, -2.5, 256.7, float("inf"), float("nan"),
                            -0.0, 3, -129, 300, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63), 16777217, True, 1j,
                            2 + 3j, 1e200j)
TELLING = ("float32", "bfloat16", "int8", "int64")  # dtypes that are tried with all of them


def mixtures(op: Pointwise, budget: Budget, rng: Random, place: Any,
             all_pairs: bool) -> Iterator[tuple[Unit, dict[str, str], dict[str, int]]]:
    """Dtypes for the tensor operands, mostly not all the same, and how many dimensions each has.

    Of two dtypes of one category, each is tried without dimensions beside the other: there rank decides.
    """
    dtypes = [d for d in generate.COMPUTING if budget.dtypes is None or d in budget.dtypes]
    if place.costly:
        dtypes = [d for d in dtypes if d in ("float32", "bfloat16", "int64")]
    by_pattern: dict[Any, Unit] = {}
    for unit in units(op, place, budget):
        by_pattern.setdefault(unit.pattern, unit)
    for pattern, unit in by_pattern.items():
        names = [n for n in pattern.tensors if n not in op.conditions]
        every = [dict(zip(names, combination)) for combination in itertools.product(dtypes, repeat=min(len(names), 2))]
        count = 3 if place.costly else max(len(every) if all_pairs else 0, budget.cases // 2)
        for chosen in spread(every, count, rng):
            for name in names[2:]:
                chosen = chosen | {name: rng.choice([*chosen.values(), rng.choice(dtypes)])}
            yield unit, chosen, {name: rng.choice((0, 1, 1, 2)) for name in names}
            if not names:  # where(condition, 1, 2)
                continue
            first = [DTYPES[chosen[name]] for name in names[:2]]
            if len(set(first)) == 2 and first[0].category == first[1].category and not place.costly:
                for outranked in names[:2]:
                    yield unit, chosen, {name: 0 if name == outranked else rng.choice((1, 2)) for name in names}


def meet(arrays: dict[str, np.ndarray], types: dict[str, str], rng: Random) -> None:
    """Let every third element of an operand be another's, converted: what is equal only after a conversion, or before
    it, shows where it is made."""
    if len(arrays) > 1:
        to, source = rng.sample(sorted(arrays), 2)
        with np.errstate(all="ignore"):
            arrays[to][1::3] = stored(arrays[source], types[source], types[to])[1::3]


class Mixed(Checking):
    """Calls on operands of different dtypes, ranks and kinds, of those that are no errors."""

    all_pairs = True

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit, dtypes, ranks in mixtures(self.op, budget, rng, self.place, self.all_pairs):
            gen = generate.generator(rng)
            arrays, types = {}, {}
            for name in unit.pattern.tensors:
                types[name] = dtypes.get(name, "bool")
                d = DTYPES[types[name]]
                wide = d.category >= FLOATING and d.itemsize > 2
                arrays[name] = generate.values(gen, types[name], 15, "near" if wide else rng.choice(("near", "any")))
            meet({n: arrays[n] for n in dtypes}, types, rng)
            for name in arrays:
                size = (3, 5)[2 - ranks.get(name, 2):]
                arrays[name] = arrays[name][:prod(size)].reshape(size)
            numbers = {n: generate.number(rng, rng.choice((0, 1, 1, 2, 2, 3))) or 1 for n in unit.pattern.numbers}
            case = generate.call(self.op, unit.pattern, generate.allowed(self.op, arrays), types, numbers=numbers)
            case.unit = self.unit_name(case)
            try:
                self.reference.meta(self.op, case)
            except (RuntimeError, TypeError):  # a NotImplementedError is a RuntimeError
                continue
            yield case

    def unit_name(self, case: Case) -> str:
        views = [v for n, v in case.args.items() if isinstance(v, View) and n not in self.op.conditions]
        operands = [p.name for p in self.op.parameters if p.is_operand]
        numbers = any(isinstance(case.args.get(n), (bool, int, float, complex)) for n in operands)
        if numbers:
            return "tensors and numbers"
        if len({bool(v.size) for v in views}) > 1:
            return "with and without dimensions"
        return "one dtype" if len({v.dtype for v in views}) == 1 else "different dtypes"


class ResultType(Mixed):
    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        if outcome.error is not None:
            return same_or_no_error(self, case, outcome)
        want = self.reference.meta(self.op, case).dtype.name
        return self.differs(case, outcome, f"{outcome.dtype} instead of {want}", dtype=want)


def same_or_no_error(check: Checking, case: Case, outcome: Outcome) -> Verdict | str | None:
    """An error that only the values cause (a number that does not fit) may be right."""
    if check.must_raise(case):
        return "only calls that raise were tried; see the error clauses"
    return unexpected_error(case, outcome)


class Converted(Twins, Mixed):
    all_pairs = False

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        for case in Mixed.make(self, rng, budget):
            yield self.plain_call(case), case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        if outcome.error is not None:
            return same_or_no_error(self, case, outcome)
        return self.wrong_value(case, outcome, "another value than the converted operands give", excuse=self.excuse(case))


class Numbers(Checking):
    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in units(self.op, self.place, budget):
            if not unit.pattern.numbers:
                continue
            every = budget.cases >= 1000 or budget.cases >= 100 and unit.dtype in TELLING
            tried: Sequence[Any] = NUMBERS if every else NUMBERS[rng.randrange(3)::3]
            for value in tried[:4] if self.place.costly else tried:
                case = some_call(self.op, unit, rng, (5,))
                for name in unit.pattern.numbers:
                    case.args[name] = value
                if self.op.guards and value == 0:
                    continue
                yield case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if right.error is not None:
            if self.place.mode != "eager":
                return EAGER_ONLY
            want = {"type": right.error.type, "text": stable(right.error.text), "phase": "forward"}
            return self.differs(case, outcome, f"not {right.error.type} for a number that does not fit", error=want)
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        if outcome.dtype != right.dtype:
            return self.differs(case, outcome, f"{outcome.dtype} instead of {right.dtype}", dtype=right.dtype)
        return self.wrong_value(case, outcome, "the number is converted otherwise")

    inapplicable = "no number can be given"


def stable(text: str) -> str:
    """The part of an error's text that every release and wording has: up to the first particular."""
    for end in (" - got ", " two devices, ", "\n", ", but got", ", but found", "; ", ". "):
        text = text.split(end)[0]
    return text


CLAUSES = (
    Clause("P1", "The result has the dtype that type promotion gives: tensors with dimensions outrank 0-dim tensors, these "
                 "outrank numbers, and a lower rank counts only if its category (bool, integer, float, complex) is higher.",
           "torch.tensor_attributes, Type promotion; c10::promoteTypes", ResultType),
    Clause("P2", "Operands are converted to the common dtype before anything is computed.",
           "ATen/TensorIterator.cpp, compute_types", Converted),
    Clause("P3", "A Python number is converted once, to the dtype or the compute type that the operator says; one that "
                 "does not fit is an error where the operator takes a Scalar and wraps or overflows where it becomes a "
                 "0-dim tensor.", "c10/core/Scalar.h; ATen/native/BinaryOps.cpp", Numbers),
)
