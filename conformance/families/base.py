"""What the checks of all families share: units, and the bookkeeping that lets nothing pass untested."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np

from reftorch.core.dtype import BOOL, COMPLEX, DTYPES, FLOATING, INTEGRAL
from reftorch.dispatch.pointwise import Pointwise

from .. import generate
from ..case import Case, Outcome, View
from ..clause import DIVERGED, HELD, NOT_APPLICABLE, NOT_RUN, Budget, Place, Verdict
from ..generate import Layout, Pattern
from ..reference import Reference

COSTLY_DTYPES = ("float32", "bfloat16", "int64")


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
    made = []
    for dtype in dtypes:
        for pattern in generate.patterns(op):
            if dtype not in ("bool", "int64", "float32", "complex64") and set(pattern.tensors) <= set(op.conditions):
                continue  # only numbers have the dtype, and there are four kinds of numbers
            label = pattern.label(op)
            made.append(Unit(dtype, pattern, f"{dtype}, {label}" if label else dtype))
    return [u for u in made if computes(op, place, u)]


def computes(op: Pointwise, place: Place, unit: Unit) -> bool:
    """Whether the specification computes this unit at all; if not, it is an error and the error clauses see to it."""
    rng = Random(0)
    try:
        Reference(place).meta(op, sample(op, unit, rng, 1, "near"))
    except Exception:
        return False
    return True


def sample(op: Pointwise, unit: Unit, rng: Random, n: int, kind: str, **note: Any) -> Case:
    """A contiguous one-dimensional call of `n` elements."""
    gen = generate.generator(rng)
    types = {name: generate.operand_dtype(op, name, unit.dtype) for name in unit.pattern.tensors}
    arrays = generate.allowed(op, {name: generate.values(gen, t, n, kind) for name, t in types.items()})
    numbers = generate.draw_numbers(rng, op, unit.pattern, DTYPES[unit.dtype].category)
    return generate.call(op, unit.pattern, arrays, types, numbers=numbers, unit=unit.name, **note)


class Checking:
    """A check that judges cases one by one, by unit. Subclasses give `cases` and `judge`.

    A unit is held if at least one of its cases was compared and all were right. A unit none of whose cases was
    compared is not run.
    """

    def __init__(self, op: Pointwise, place: Place):
        self.op, self.place, self.reference = op, place, Reference(place)
        self.planned: dict[str, None] = {}
        self.compared: dict[str, int] = {}
        self.reasons: dict[str, str] = {}
        self.told: set[tuple[str, str]] = set()

    def cases(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.make(rng, budget):
            self.planned.setdefault(case.unit)
            yield case

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        raise NotImplementedError

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        """None if the case is as it should be, a divergence, or the reason why nothing was compared."""
        raise NotImplementedError

    def see(self, case: Case, outcome: Outcome) -> Iterable[Verdict]:
        found = self.judge(case, outcome)
        if isinstance(found, str):
            self.reasons.setdefault(case.unit, found)
            return ()
        self.compared[case.unit] = self.compared.get(case.unit, 0) + 1
        if found is None:
            return ()
        found.unit = case.unit
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
                yield Verdict(NOT_RUN, unit, reason=self.reasons.get(unit, "no case was compared"))
        if not self.planned:
            yield Verdict(NOT_APPLICABLE, reason=self.inapplicable())

    def inapplicable(self) -> str:
        return "no case of this operator is subject to it"


def unexpected_error(case: Case, outcome: Outcome) -> Verdict | None:
    if outcome.error is None:
        return None
    return Verdict(DIVERGED, case.unit, f"raises {outcome.error.type}", case=case, expected="a result",
                   got=f"{outcome.error.type}: {outcome.error.text}", wanted={"error": None})


def category_name(dtype: str) -> str:
    return {BOOL: "bool", INTEGRAL: "integers", FLOATING: "floats", COMPLEX: "complex"}[DTYPES[dtype].category]


def reshaped(array: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    return np.resize(array, prod(size)).reshape(size) if array.size else np.zeros(size, array.dtype)


__all__ = ["COSTLY_DTYPES", "Checking", "Layout", "Unit", "View", "category_name", "computes", "reshaped", "sample",
           "unexpected_error", "units"]
