"""The clause of methods, x.op(...)."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from .. import generate
from ..case import Case, Outcome
from ..clause import Budget, Clause, Verdict
from .base import Twins, some_call, spread, units
from .in_place import same_error


class AsFunction(Twins):
    """Calls of the method, each beside the same call of the function."""

    inapplicable = "the operator has no method"

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        fitting = [u for u in units(self.op, self.place, budget) if "self" in u.pattern.tensors and self.op.has_method]
        for unit in spread(fitting, 4 if self.place.costly else max(budget.cases // 2, len(fitting)), rng):
            case = some_call(self.op, unit, rng, None, 0.3, generate.LAYOUTS, empty=False)
            yield case, replace(case, form="method", note={})

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        excuse = self.excuse(case)
        right = self.expected(case)
        if right.error is not None:
            return same_error(self, case, outcome)
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        wrong = self.differs(case, outcome, "another kind of result", dtype=right.dtype, size=right.size, same_object=())
        return wrong or self.wrong_value(case, outcome, "another value than the function gives", excuse=excuse)


CLAUSES = (
    Clause("F1", "The method gives what the function gives with self as input.",
           "native_functions.yaml: variants: function, method", AsFunction),
)
