"""Clauses of the out= form."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from .. import generate
from ..case import Case, Outcome
from ..clause import Budget, Clause, Verdict
from .base import Checking, Twins, has_out_form, some_call, spread, stored, units
from .in_place import same_error

WRITABLE = ("contiguous", "stepped", "rows", "permuted", "offset", "odd ones")


class Out(Checking):
    """Calls with an out= tensor of the right dtype and size, of any layout."""

    inapplicable = "the operator has no out= form"

    def plain_calls(self, rng: Random, budget: Budget, share: float = 1.0, layouts: tuple[str, ...] = generate.LAYOUTS,
                    broadcast: float = 0.3, size: tuple[int, ...] | None = None, empty: bool = False,
                    ndims: tuple[int, ...] = ()) -> Iterator[Case]:
        """Functional calls to give an out= tensor to, of a size or with a number of dimensions, if these are given."""
        if not self.op.has_out:
            return
        fitting = [u for u in units(self.op, self.place, budget) if has_out_form(self.op, u.pattern)]
        count = 4 if self.place.costly else max(int(budget.cases * share), len(fitting) if share == 1.0 else 0)
        for unit in spread(fitting, count, rng):
            here = generate.shape(rng, rng.choice(ndims), empty=False) if ndims else size
            yield some_call(self.op, unit, rng, here, broadcast, layouts, empty=empty)

    def into(self, case: Case, rng: Random, kind: str | None = None) -> Case:
        meta = self.reference.meta(self.op, case)
        where = generate.layout(rng, meta.layout.size, kind or rng.choice(WRITABLE))
        return generate.with_out(case, meta.dtype.name, where)

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.plain_calls(rng, budget, empty=True):
            yield self.into(case, rng)

    def unexpected(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        if self.expected(case).error is not None:
            return "only calls that raise were tried"
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        return None


class ReturnsOut(Out):
    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        found = self.unexpected(case, outcome)
        return found or self.differs(case, outcome, "returns another object", same_object=("out",))


class SameValues(Twins, Out):
    """out then holds the functional result, and keeps its strides and offset."""

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        for plain in self.plain_calls(rng, budget):
            yield plain, self.into(plain, rng)

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        excuse = self.excuse(case)
        found = self.unexpected(case, outcome)
        if found is not None or case.out is None:
            return found
        kept = self.differs(case, outcome, "out changes its geometry", size=case.out.size, stride=case.out.stride,
                            offset=case.out.offset, dtype=case.out.dtype)
        return kept or self.wrong_value(case, outcome, "another value than the functional form", case.out.dtype, excuse)


class Resized(Out):
    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.plain_calls(rng, budget, 0.6, ("permuted", "contiguous", "permuted"), ndims=(0, 1, 2, 3, 3, 3, 4)):
            meta = self.reference.meta(self.op, case)
            size = rng.choice([s for s in ((), (0,), (3,), (2, 3), (7, 1, 2)) if s != tuple(meta.layout.size)])
            case = generate.with_out(case, meta.dtype.name, generate.layout(rng, size, rng.choice(("contiguous", "offset"))))
            case.unit = "an out without elements" if 0 in size else "an out with elements"
            yield case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        found = self.unexpected(case, outcome)
        if found is not None or case.out is None:
            return found
        wrong = self.differs(case, outcome, "out is not resized", size=right.size, out_size=right.out_size)
        wrong = wrong or self.differs(case, outcome, "out gets other strides", out_stride=right.out_stride)
        warning = "An output with one or more elements was resized since it had shape" if case.out.numel else None
        wrong = wrong or self.differs(case, outcome, "no warning" if warning else "a warning", warning=warning)
        return wrong or self.wrong_value(case, outcome, "another value in the resized out", case.out.dtype)


class Cast(Twins, Out):
    """An out of another dtype takes the result converted, if its category is not lower."""

    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        dtypes = [d for d in generate.COMPUTING if budget.dtypes is None or d in budget.dtypes]
        for plain in self.plain_calls(rng, budget):
            meta = self.reference.meta(self.op, plain)
            others = [d for d in dtypes if d != meta.dtype.name]
            if others:
                where = generate.layout(rng, meta.layout.size, rng.choice(("contiguous", "rows")))
                case = generate.with_out(plain, rng.choice(others), where)
                case.unit = "a dtype that cannot hold it" if self.must_raise(case) else "a dtype that can hold it"
                yield plain, case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        excuse = self.excuse(case)
        if self.expected(case).error is not None:
            return same_error(self, case, outcome)
        if outcome.error is not None or case.out is None:
            return self.differs(case, outcome, f"raises {outcome.error.type if outcome.error else ''}", error=None)
        meta = self.reference.meta(self.op, case)
        bits = None if excuse is None else stored(excuse, meta.dtype.name, case.out.dtype)
        return self.wrong_value(case, outcome, "converted otherwise", case.out.dtype, bits)


class Overlaps(Out):
    modes = ("eager",)

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.plain_calls(rng, budget, 0.4, ("contiguous",), 0.0, (3, 4)):
            meta = self.reference.meta(self.op, case)
            spare = generate.with_out(case, meta.dtype.name, generate.layout(rng, (3, 4), "contiguous"))
            assert spare.out is not None
            yield replace(spare, out=replace(spare.out, stride=(0, 1)), unit="out overlaps itself")
            for name, view in case.views().items():
                if view.dtype == meta.dtype.name and name not in self.op.conditions:
                    yield replace(case, form="out=", out=replace(view, offset=view.offset + 1), unit="out overlaps an input")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        return same_error(self, case, outcome)


class IsAnInput(Twins, Out):
    def pairs(self, rng: Random, budget: Budget) -> Iterator[tuple[Case, Case]]:
        for plain in self.plain_calls(rng, budget, 0.6, ("contiguous", "offset", "permuted"), 0.0):
            meta = self.reference.meta(self.op, plain)
            names = [n for n, v in plain.views().items() if v.dtype == meta.dtype.name]
            if names:
                out = plain.views()[rng.choice(names)]
                yield plain, replace(plain, form="out=", out=out, unit="out is an input", note={})

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        excuse = self.excuse(case)
        found = self.unexpected(case, outcome)
        if found is not None or case.out is None:
            return found
        return self.wrong_value(case, outcome, "an input is overwritten before it is read", case.out.dtype, excuse)


class RequiresGrad(Out):
    inapplicable = "no operand can require grad, or there is no out= form"
    modes = ("eager",)

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.plain_calls(rng, budget, 0.5, ("contiguous",), 0.0, (3,)):
            names = [n for n, v in case.views().items() if v.dtype.startswith(("float", "bfloat", "complex"))]
            if not names:
                continue
            into = self.into(case, rng, "contiguous")
            name = rng.choice(names)
            view = case.views()[name]
            yield replace(into, args={**into.args, name: replace(view, requires_grad=True)}, unit="an input requires grad")
            if into.out is not None and into.out.dtype.startswith(("float", "bfloat", "complex")):
                yield replace(into, out=replace(into.out, requires_grad=True), unit="out requires grad")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if right.error is None:
            return self.differs(case, outcome, "raises", error=None)
        return same_error(self, case, outcome)


class CountsVersion(Out):
    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        found = self.unexpected(case, outcome)
        return found or self.differs(case, outcome, "counts writes otherwise",
                                     versions={n: int(n == "out") for n in outcome.versions})


CLAUSES = (
    Clause("O1", "The call returns out, the same object.", "the schema: Tensor(a!) out -> Tensor(a!)", ReturnsOut),
    Clause("O2", "out then holds the functional result, bit for bit; with the right size it keeps its strides and offset.",
           "ATen/TensorIterator.cpp", SameValues),
    Clause("O3", "An out of another size is resized to the result's size and strides, with a UserWarning if it had "
                 "elements.",
           "ATen/native/Resize.cpp, resize_output", Resized),
    Clause("O4", "An out of another dtype takes the result converted, unless that would drop a category (complex, float, "
                 "integer, bool) or the operator asks for the very dtype: RuntimeError.",
           "torch.can_cast; ATen/TensorIterator.cpp", Cast),
    Clause("O5", "out may not have two elements in one place in memory, nor overlap an input otherwise than element for "
                 "element: RuntimeError.", "ATen/MemoryOverlap.h", Overlaps),
    Clause("O6", "out may be an input, element for element: it is read before it is written.", "ATen/MemoryOverlap.h",
           IsAnInput),
    Clause("O7", "While gradients are recorded, neither an input nor out may require grad, unless the operator has no "
                 "derivative: RuntimeError.", "torch/csrc/autograd/VariableTypeUtils.h, throw_error_out_requires_grad",
           RequiresGrad),
    Clause("O8", "The version counter of out grows by one.", "torch/csrc/autograd/variable.h, bump_version", CountsVersion),
)
