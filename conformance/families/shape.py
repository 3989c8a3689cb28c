"""Clauses about sizes and strides of results."""
from __future__ import annotations

from collections.abc import Iterator
from random import Random

from .. import generate
from ..case import Case, Outcome, View
from ..clause import Budget, Clause, Verdict
from .base import Checking, Twins, some_call, spread, units

ODD_SIZES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 3), (3, 0), (1, 1), (2, 0, 4), (1, 5, 1), (5, 1, 1, 2))


class Shapes(Checking):
    """Functional calls of every layout and with broadcasting."""

    layouts = generate.LAYOUTS
    broadcast, empty, odd_sizes, times = 0.4, True, ODD_SIZES, 1

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        all_units = units(self.op, self.place, budget)
        count = 12 if self.place.costly else self.times * max(budget.cases, len(all_units))
        kinds = spread([*self.layouts, None], 2 * count, rng)  # one kind for all operands, or any for each
        odd = spread(self.odd_sizes, count, rng)
        for i, unit in enumerate(spread(all_units, count, rng)):
            size = next(odd) if i % 3 == 0 else generate.shape(rng, empty=self.empty)
            case = some_call(self.op, unit, rng, size, self.broadcast if rng.random() < 0.7 else 0.0, self.layouts)
            case.unit = self.unit_name(case)
            yield case
            kind = next(kinds)
            size = generate.shape(rng, 4 if kind == "odd ones" else rng.choice((2, 3, 4)), empty=False)
            if kind == "odd ones":
                size = (*size[:1], 1, *size[2:])
            case = some_call(self.op, unit, rng, size, rng.choice((0.0, self.broadcast / 2)),
                             [kind] if kind else self.layouts, alike=kind is not None)
            case.unit = self.unit_name(case)
            yield case

    def unit_name(self, case: Case) -> str:
        views = [v for v in case.args.values() if isinstance(v, View)]
        if any(0 in v.size for v in views):
            return "empty"
        if all(v.size == () for v in views):
            return "0-dim"
        return "one shape" if len({v.size for v in views}) == 1 else "broadcast"


class Size(Shapes):
    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        return self.differs(case, outcome, "another size", size=right.size)


class BroadcastValues(Twins, Shapes):
    """Each element of the result is the formula of the operands' elements that broadcasting puts there."""

    broadcast, empty = 0.6, False
    odd_sizes = tuple(s for s in ODD_SIZES if 0 not in s)

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        for case in (*Shapes.make(self, rng, budget), *self.stretched(rng, budget)):
            yield self.plain_call(case), case

    def stretched(self, rng: Random, budget: Budget) -> Iterator[Case]:
        """Calls with several elements in every dimension, where all operands but one may be stretched along some."""
        several = [u for u in units(self.op, self.place, budget) if len(u.pattern.tensors) > 1]
        for unit in spread(several, 4 if self.place.costly else budget.cases // 2, rng):
            size = tuple(rng.randint(2, 6) for _ in range(rng.choice((2, 3, 4))))
            case = some_call(self.op, unit, rng, size, 0.6, self.layouts, fixed=(rng.choice(unit.pattern.tensors),))
            case.unit = self.unit_name(case)
            yield case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        return self.wrong_value(case, outcome, "an element of another place", excuse=self.excuse(case))


class Strides(Shapes):
    times = 2  # nothing but the layout matters, and there are many

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if outcome.error is not None or outcome.size != right.size:
            return "no result of the right size; see S1"
        return self.differs(case, outcome, "other strides", stride=right.stride, offset=0)

    def unit_name(self, case: Case) -> str:
        if super().unit_name(case) == "empty":
            return "empty"
        tensors = [v for v in case.args.values() if isinstance(v, View)]
        dtypes = {v.dtype for n, v in case.args.items() if isinstance(v, View) and n not in self.op.conditions}
        return f"{len(tensors)} tensors" + (", converted" if len(dtypes) > 1 else "")


CLAUSES = (
    Clause("S1", "The result has the broadcast size: sizes are aligned at the right, 1 stretches, missing ones count as 1; "
                 "empty and 0-dim tensors are no exception.", "torch Broadcasting semantics; ATen/ExpandUtils.cpp", Size),
    Clause("S2", "Each element of the result is computed from the elements that broadcasting and the operands' strides put "
                 "there.", "torch Broadcasting semantics", BroadcastValues),
    Clause("L1", "The result's strides are those that TensorIterator chooses: a dense layout common to all operands is "
                 "kept, channels-last too, else the dimensions are ordered by the operands' strides and packed. Its "
                 "storage offset is 0.", "ATen/TensorIterator.cpp, fast_set_up, reorder_dimensions, allocate_or_resize",
           Strides),
)
