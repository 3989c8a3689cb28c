"""Clauses about wrong calls: what is refused, when, and with which exception."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from reftorch.dispatch.operator import REQUIRED

from .. import generate
from ..case import Case, Outcome, View
from ..clause import Budget, Clause, Verdict
from .base import Checking, Unit, some_call, spread, units
from .in_place import same_error


class Wrong(Checking):
    """Calls that must raise. Only those of which the specification says so are compared."""

    modes = ("eager",)

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        return same_error(self, case, outcome)


class Dtypes(Wrong):
    """Dtypes that nothing computes on."""

    inapplicable = "the operator takes every dtype"

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for dtype in generate.COMPUTING:
            for pattern in generate.patterns(self.op):
                unit = Unit(dtype, pattern, dtype)
                case = some_call(self.op, unit, rng, (3,))
                try:
                    self.reference.meta(self.op, case)
                except (RuntimeError, NotImplementedError, TypeError):
                    yield case
                    if self.op.has_in_place and "self" in pattern.tensors:
                        yield replace(case, form="in-place")


class Types(Wrong):
    """Arguments that are no tensors, no numbers, or nothing at all."""

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in spread(units(self.op, self.place, budget), 1 if budget.cases < 100 else 3, rng):
            case = some_call(self.op, unit, rng, (3,))
            for p in self.op.parameters:
                for value in ("a string", None, 1.5, True):
                    if p.name != "self" or case.form == "functional":
                        yield replace(case, args={**case.args, p.name: value}, unit=f"{p.name} of a wrong type")
                if p.default is REQUIRED:
                    rest = {k: v for k, v in case.args.items() if k != p.name}
                    yield replace(case, args=rest, unit="an argument missing")
            yield replace(case, args={**case.args, "no_such_name": 1}, unit="an argument too many")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        return same_error(self, case, outcome)


class Sizes(Wrong):
    """Sizes that do not broadcast."""

    inapplicable = "the operator has one tensor operand"

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in spread(units(self.op, self.place, budget), 3 if self.place.costly else budget.cases // 3, rng):
            if len(unit.pattern.tensors) < 2:
                continue
            case = some_call(self.op, unit, rng, rng.choice(((3,), (2, 3), (4, 1, 3), (0,))))
            other = some_call(self.op, unit, rng, rng.choice(((2,), (5, 2), (3, 2))))
            name = rng.choice(unit.pattern.tensors)
            view = other.args[name]
            assert isinstance(view, View)
            buffers = [*case.buffers, other.buffers[view.buffer]]
            yield replace(case, args={**case.args, name: replace(view, buffer=len(buffers) - 1)}, buffers=buffers,
                          unit="sizes that do not match")


class Devices(Checking):
    """The result lies where the operands do; a 0-dim CPU tensor may join them, any other CPU tensor may not."""

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in spread(units(self.op, self.place, budget), 3 if self.place.costly else budget.cases // 2, rng):
            case = some_call(self.op, unit, rng)
            yield replace(case, unit="one device")
            if self.place.device == "cpu" or len(unit.pattern.tensors) < 2:
                continue
            name = rng.choice(unit.pattern.tensors)
            for size, label in (((), "a 0-dim CPU tensor"), ((3,), "a CPU tensor")):
                mixed = some_call(self.op, unit, rng, (3,))
                other = some_call(self.op, unit, rng, size)
                view = other.args[name]
                assert isinstance(view, View)
                buffers = [*mixed.buffers, other.buffers[view.buffer]]
                yield replace(mixed, buffers=buffers, unit=label, args={
                    **mixed.args, name: replace(view, buffer=len(buffers) - 1, on_host=True)})

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if right.error is not None:
            return same_error(self, case, outcome)
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        return self.differs(case, outcome, f"on {outcome.device}", device=right.device)


CLAUSES = (
    Clause("X1", "A dtype that the operator does not compute on is refused when the kernel is chosen, with the exception "
                 "and text that the operator's file says.", "ATen/Dispatch.h, AT_DISPATCH_*", Dtypes),
    Clause("X2", "An argument of a wrong type, a missing one and an unknown one are a TypeError before anything is "
                 "computed.",
           "torch/csrc/utils/python_arg_parser.cpp", Types),
    Clause("X3", "Sizes that do not broadcast are a RuntimeError that names the first sizes and the dimension.",
           "ATen/ExpandUtils.cpp, infer_size_impl", Sizes),
    Clause("V1", "The result lies on its operands' device. A 0-dim CPU tensor may join operands of another device, any "
                 "other mixture is a RuntimeError.", "ATen/TensorIterator.cpp, compute_types; torch.tensor_attributes, "
                 "torch.device", Devices),
)

