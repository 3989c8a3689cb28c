"""Clauses of differentiation: which gradients there are, and what they are."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np

from reftorch.core.dtype import COMPLEX, DTYPES, FLOATING
from reftorch.dispatch.pointwise import Pointwise
from reftorch.numerics.bounds import gamma
from reftorch.numerics.formats import FORMATS

from .. import generate
from ..case import Case, Outcome, Value, View
from ..clause import DIVERGED, Budget, Clause, Place, Verdict
from ..fingerprint import hexadecimal, result_size, same
from ..generate import Layout
from ..reference import widen
from .base import Checking, Unit, some_call, spread, stored, units
from .in_place import same_error

# A complex multiplication is off by at most sqrt(2) gamma_2, a division by at most sqrt(2) gamma_10 < gamma_15.
COMPLEX_ROUNDINGS = 15


def differentiable(op: Pointwise, case: Case) -> list[str]:
    """The tensor arguments that have a derivative and a dtype that can carry one."""
    return [n for n, v in case.args.items() if isinstance(v, View) and n in op.derivative_of
            and DTYPES[v.dtype].category >= FLOATING]


def with_backward(op: Pointwise, case: Case, rng: Random, result: str, size: tuple[int, ...], names: list[str],
                  kind: str = "near", layout: str = "contiguous") -> Case:
    """The case with gradients wanted for `names`, and a gradient fed to backward."""
    memory = generate.Memory()
    memory.buffers = list(case.buffers)
    n = int(np.prod(size, dtype=np.int64))
    array = generate.values(generate.generator(rng), result, n, kind).reshape(size)
    grad = memory.place(array, result, generate.layout(rng, size, layout))
    args = {k: replace(v, requires_grad=k in names, leaf=not (case.form == "in-place" and k == "self"))
            if isinstance(v, View) else v for k, v in case.args.items()}
    return replace(case, args=args, buffers=memory.buffers, grad=grad)


class Backward(Checking):
    """Functional calls followed by backward."""

    inapplicable = "the operator has no derivative, or no floating point operand"
    modes = ("eager", "inductor")  # the reference decompositions are made of primitives that have no derivatives
    broadcast = 0.0
    forms: tuple[str, ...] = ("functional",)

    def float_units(self, budget: Budget) -> list[Unit]:
        """Units whose tensors can carry gradients."""
        return [u for u in units(self.op, self.place, budget) if DTYPES[u.dtype].category >= FLOATING
                and any(n in self.op.derivative_of for n in u.pattern.tensors)]

    def calls(self, rng: Random, budget: Budget, share: float = 1.0, **more: object) -> Iterator[Case]:
        all_units = self.float_units(budget)
        count = 4 if self.place.costly else max(int(budget.cases * share), len(all_units) if share == 1.0 else 0)
        for unit in spread(all_units, count, rng):
            yield some_call(self.op, unit, rng, broadcast=self.broadcast, **more)  # type: ignore[arg-type]

    def backward(self, case: Case, rng: Random, kind: str = "near", wanted_names: list[str] | None = None) -> Case | None:
        names = differentiable(self.op, case) if wanted_names is None else wanted_names
        meta = self.reference.meta(self.op, case)
        if not names or meta.dtype.category < FLOATING:
            return None
        layout = rng.choice(("contiguous", "expanded", "permuted", "stepped"))
        return with_backward(self.op, case, rng, meta.dtype.name, tuple(meta.layout.size), names, kind, layout)

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.calls(rng, budget):
            with_grad = self.backward(case, rng)
            if with_grad is not None:
                yield with_grad

    def both_run(self, case: Case, outcome: Outcome, right: Outcome) -> Verdict | str | None:
        if right.error is not None:
            return "only calls that raise were tried"
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        return None


class Gradients(Backward):
    """D1: the gradient is what the derivative gives: bit for bit as composed in the specification, or within the bound
    of the roundings that this composition makes."""

    def __init__(self, op: Pointwise, place: Place):
        super().__init__(op, place)
        self.exact = self.near = 0
        self.worst = 0.0

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.calls(rng, budget, layouts=("contiguous", "permuted", "stepped", "expanded"), empty=False):
            yield from self._ready(case, rng, case.unit)
        for case in self.calls(rng, budget, 0.3, kind="special", size=(70,)):
            for kind in ("near", "special"):
                yield from self._ready(kinks(case, rng), rng, f"{case.unit}, kinks", kind)

    def _ready(self, case: Case, rng: Random, unit: str, kind: str = "near") -> Iterator[Case]:
        ready = self.backward(case, rng, kind)
        if ready is not None:
            yield replace(ready, unit=unit)

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        launches = self.reference.launches
        right = self.expected(case)
        launches = self.reference.launches - launches
        found = self.both_run(case, outcome, right)
        if found is not None:
            return found
        for name, want in right.grads.items():
            got = outcome.grads.get(name)
            if want is None or got is None:
                continue  # D5's matter
            dtype = right.grad_dtypes[name]
            if outcome.grad_dtypes.get(name) != dtype or got.shape != want.shape:
                return f"the gradient of {name} is {outcome.grad_dtypes.get(name)} of {got.shape}; see D3"
            if same(want, got, dtype).all():
                self.exact += 1
                continue
            self.near += 1
            verdict = self.within(case, name, want, got, dtype, launches)
            if verdict is not None:
                return verdict
        return None

    def within(self, case: Case, name: str, want: np.ndarray, got: np.ndarray, dtype: str, launches: int) -> Verdict | None:
        """Compare with the derivative evaluated per element in double precision, and summed.

        Each element's gradient is a product of factors that were rounded once each, so k roundings cost at most gamma_k
        of it; adding n of them, in any order, costs gamma_(n-1) of the sum of their sizes. A real gradient that is
        infinite or NaN in double precision too must be that.
        """
        exact, sizes, n = self.unreduced(case, name, want.shape)
        part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
        f, d = FORMATS[part], DTYPES[dtype]
        k = (launches + 1) * (COMPLEX_ROUNDINGS if d.category == COMPLEX else 1)
        narrow = f.bits == 16
        sums = gamma(n - 1, FORMATS["float32"].eps if narrow else f.eps) if n > 1 else 0.0
        twice = 2 if part == "float64" else 1  # the comparison is made in double precision itself
        with np.errstate(all="ignore"):
            allowed = (gamma(k, f.eps) + sums) * 1.01 * twice * sizes + k * n * float(f.min_subnormal)
            g, w = (np.asarray(widen(x, dtype)).astype(np.complex128) for x in (got, want))
            off = np.abs(g - exact)
            sure = np.isfinite(exact) & np.isfinite(allowed) & (sizes < float(f.max_finite) / 8) & np.isfinite(w)
            telling = np.isfinite(w) | (d.category == FLOATING) & ~np.isfinite(exact)
            bad = ~(off <= allowed) & (sure | ~same(want, got, dtype) & telling)
            ratio = np.where(sure & (allowed > 0), off / np.where(allowed > 0, allowed, 1), 0.0)
        self.worst = max(self.worst, float(ratio.max(initial=0.0)))
        if not bad.any():
            return None
        i = int(np.flatnonzero(bad.reshape(-1))[0])
        return Verdict(DIVERGED, case.unit, f"gradient of {name}", case=case,
                       expected=f"element {i}: {hexadecimal(want.reshape(-1)[i], dtype)}, "
                                f"within {float(allowed.reshape(-1)[i]):.3g}",
                       got=hexadecimal(got.reshape(-1)[i], dtype), wanted={"grads": {name: want}},
                       evidence={"wrong": int(bad.sum()), "of": int(got.size)})

    def unreduced(self, case: Case, name: str, size: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, int]:
        """For each element of the gradient: its value and the sum of the sizes of its terms, in double precision; and
        how many terms there are."""
        whole = result_size(case)
        memory, args = generate.Memory(), dict[str, Value]()
        for key, view in case.args.items():
            if not isinstance(view, View):
                args[key] = view
                continue
            bits = np.broadcast_to(case.bits(key), whole)
            wide = view.dtype
            if DTYPES[wide].category >= FLOATING:
                wide = "complex128" if DTYPES[wide].category == COMPLEX else "float64"
            array = stored(np.array(bits), view.dtype, wide)
            args[key] = memory.place(array, wide, _packed(whole), requires_grad=view.requires_grad)
        assert case.grad is not None
        bits = case.grad.of(case.buffers[case.grad.buffer])
        wide = "complex128" if DTYPES[case.grad.dtype].category == COMPLEX else "float64"
        grad = memory.place(stored(np.array(bits), case.grad.dtype, wide), wide, _packed(whole))
        outcome = self.reference.outcome(Case(case.op, "functional", args, memory.buffers, grad=grad))
        terms = outcome.grads.get(name)
        if terms is None:
            raise ValueError(f"the reference gives no gradient in double precision: {outcome.error}")
        values = terms.astype(np.complex128)
        if DTYPES[case.args[name].dtype].category != COMPLEX:  # type: ignore[union-attr]
            values = values.real.astype(np.complex128)
        with np.errstate(all="ignore"):
            value, sizes = _summed(values, size), _summed(np.abs(values), size)
        return value, sizes, max(1, terms.size // max(1, int(np.prod(size, dtype=np.int64))))


def _packed(size: tuple[int, ...]) -> Layout:
    return Layout(size, generate.contiguous_stride(size), 0)


def _summed(array: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Summed down to a size that broadcasts to the array's."""
    lead = array.ndim - len(size)
    axes = tuple(range(lead)) + tuple(lead + d for d, n in enumerate(size) if n == 1 and array.shape[lead + d] != 1)
    return np.asarray(array.sum(axis=axes, keepdims=True)).reshape(size) if axes or lead else array


def kinks(case: Case, rng: Random) -> Case:
    """The case with operands from -1, 0, 1 and 2, which are often equal, at bounds or zero."""
    gen = generate.generator(rng)
    case = replace(case, buffers=[b.copy() for b in case.buffers])
    for name, view in case.views().items():
        if DTYPES[view.dtype].category >= FLOATING:
            bits = generate.encoded(view.dtype, [-1.0, 0.0, 1.0, 2.0, -0.0])
            case.bits(name)[...] = bits[gen.integers(0, len(bits), view.size)] if 0 not in view.stride else bits[2]
    return case


class Summed(Gradients):
    """The gradient of a broadcast operand: summed to its size."""

    broadcast = 0.8

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.calls(rng, budget, 0.7, empty=False):
            if any(v.size != result_size(case) for v in case.views().values()):
                yield from self._ready(case, rng, case.unit)
        for unit in self.float_units(budget)[:4]:
            if len(unit.pattern.tensors) > 1:
                case = some_call(self.op, unit, rng, (3000,), fixed=unit.pattern.tensors[:1], broadcast=1.0)
                yield from map(of_one_sign, self._ready(case, rng, unit.name))

    inapplicable = "nothing is broadcast, or there is no derivative"


def of_one_sign(case: Case) -> Case:
    """The case with no negative element in the gradient: if a sum of many is kept in few digits, it stops growing."""
    assert case.grad is not None
    if DTYPES[case.grad.dtype].category == FLOATING:
        bits = case.grad.of(case.buffers[case.grad.buffer])
        codes = bits.view(f"u{bits.itemsize}")
        codes &= codes.dtype.type(FORMATS[case.grad.dtype].sign_mask - 1)
    return case


class HasHistory(Backward):
    """Which results require grad."""

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in spread(units(self.op, self.place, budget), 6 if self.place.costly else budget.cases, rng):
            case = some_call(self.op, unit, rng)
            names = [n for n, v in case.views().items() if DTYPES[v.dtype].category >= FLOATING]
            wanted_names = [n for n in names if rng.random() < 0.6]
            args = {k: replace(v, requires_grad=k in wanted_names) if isinstance(v, View) else v
                    for k, v in case.args.items()}
            yield replace(case, args=args, unit="an operand requires grad" if wanted_names else "no operand requires grad")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        found = self.both_run(case, outcome, right)
        if found is not None:
            return found
        wrong = self.differs(case, outcome, "requires grad otherwise", requires_grad=right.requires_grad)
        if wrong is not None:
            return wrong
        if (outcome.grad_fn is None) != (right.grad_fn is None):
            return self.differs(case, outcome, "has a history otherwise", grad_fn=right.grad_fn)
        return None


class GradientType(Backward):
    """The gradient has the dtype and the size of its operand, whatever the operands were converted and stretched to."""

    broadcast = 0.6

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        floats = [u.dtype for u in self.float_units(budget)]
        for unit in spread(self.float_units(budget), 4 if self.place.costly else budget.cases, rng):
            dtypes = {n: rng.choice(floats) for n in unit.pattern.tensors if n not in self.op.conditions}
            try:
                case = some_call(self.op, unit, rng, broadcast=self.broadcast, dtypes=dtypes)
                ready = self.backward(case, rng)
            except (RuntimeError, TypeError):  # a mixture that the operator does not take
                continue
            if ready is not None:
                yield replace(ready, unit="one dtype" if len(set(dtypes.values())) == 1 else "different dtypes")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        found = self.both_run(case, outcome, right)
        if found is not None:
            return found
        for name, want in right.grads.items():
            got = outcome.grads.get(name)
            if want is None or got is None:
                continue
            wrong = self.differs(case, outcome, "another dtype", grad_dtypes={**outcome.grad_dtypes,
                                                                             name: right.grad_dtypes[name]})
            if wrong is not None:
                return wrong
            if got.shape != want.shape:
                return Verdict(DIVERGED, case.unit, "another size", case=case, expected=f"{name}: {want.shape}",
                               got=str(got.shape), wanted={"grads": {name: want}})
        return None


class SavedTensors(Backward):
    """What backward still needs may not be written to in between; what it does not need may."""

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.calls(rng, budget, 0.3, empty=False):
            ready = self.backward(case, rng)
            if ready is not None:
                for name in [*(n for n, v in ready.args.items() if isinstance(v, View)), "result"]:
                    yield replace(ready, modify=name, unit="the result" if name == "result" else "an argument")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if right.error is None:
            if outcome.error is None:
                return None
            return self.differs(case, outcome, "raises where nothing is needed", error=None)
        want = {"type": "RuntimeError", "phase": "backward",
                "text": "one of the variables needed for gradient computation has been modified by an inplace operation"}
        return self.differs(case, outcome, "a write to what backward needs is not noticed", error=want)


class WhichGradients(Backward):
    """Arguments that require grad get one, the others get none."""

    broadcast = 0.3

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for case in self.calls(rng, budget, 0.7):
            names = differentiable(self.op, case)
            some = [n for n in names if rng.random() < 0.6] or names[:1]
            ready = self.backward(case, rng, wanted_names=some)
            if ready is not None:
                yield replace(ready, unit="all operands" if len(some) == len(names) else "some operands")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        found = self.both_run(case, outcome, right)
        if found is not None:
            return found
        return next((Verdict(DIVERGED, case.unit, f"{'no' if want is not None else 'a'} gradient of {name}", case=case,
                             expected="none" if want is None else "a gradient",
                             got="a gradient" if want is None else "none", wanted={"grads": {name: want}})
                     for name, want in right.grads.items() if (want is None) != (outcome.grads.get(name) is None)), None)


class Leaves(Backward):
    """In-place calls: an error on leaves that require grad, else the history goes on."""

    inapplicable = "the operator has no in-place form or no floating point operand"

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        if not self.op.has_in_place:
            return
        for case in self.calls(rng, budget, 0.6, form="in-place", fixed=("self",), empty=False):
            if "self" not in case.views():
                continue
            view = case.args["self"]
            assert isinstance(view, View)
            leaf = replace(case, args={**case.args, "self": replace(view, requires_grad=True)}, unit="a leaf")
            yield leaf
            names = differentiable(self.op, case)
            meta = self.reference.meta(self.op, case)
            if names and "self" in names and meta.dtype.name == view.dtype:
                yield replace(with_backward(self.op, case, rng, view.dtype, view.size, names), unit="no leaf")

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        right = self.expected(case)
        if case.unit == "a leaf" or right.error is not None:
            return same_error(self, case, outcome)
        if outcome.error is not None:
            return self.differs(case, outcome, f"raises {outcome.error.type}", error=None)
        for name, want in right.grads.items():
            got = outcome.grads.get(name)
            if (want is None) != (got is None):
                return Verdict(DIVERGED, case.unit, f"gradient of {name} missing", case=case, expected="as specified",
                               got="none" if got is None else "a gradient", wanted={"grads": {name: want}})
            if want is not None and got is not None and same(want, got, right.grad_dtypes[name]).all():
                continue
            if want is not None and got is not None:
                checker = Gradients(self.op, self.place)
                wrong = checker.within(replace(case, form="functional"), name, want, got, right.grad_dtypes[name], 8)
                if wrong is not None:
                    return replace(wrong, case=case)
        return None


CLAUSES = (
    Clause("D1", "The gradient of each operand is the derivative, composed as the operator's file has it, within the "
                 "roundings that this composition makes; at kinks it is what the file says.",
           "tools/autograd/derivatives.yaml; FunctionsManual.cpp", Gradients),
    Clause("D2", "The result requires grad, and has a history, if an operand that has a derivative does and the result is "
                 "floating point or complex.", "torch/csrc/autograd/VariableTypeUtils.h, compute_requires_grad", HasHistory),
    Clause("D3", "A gradient has its operand's dtype and size.", "torch/csrc/autograd/engine.cpp, validate_outputs",
           GradientType),
    Clause("D4", "A broadcast operand's gradient is the sum over what it was stretched to, within gamma(n - 1) of the sum "
                 "of the terms' sizes.", "at::sum_to_size; Higham, Accuracy and Stability, 4.2", Summed),
    Clause("D5", "Operands that require grad get a gradient, if they have a derivative; the others get none.",
           "tools/autograd/derivatives.yaml", WhichGradients),
    Clause("D6", "Writing in place to a tensor that backward still needs makes backward raise RuntimeError; writing to any "
                 "other does not.", "torch/csrc/autograd/saved_variable.cpp, unpack", SavedTensors),
    Clause("D7", "In place, a leaf that requires grad is a RuntimeError; any other tensor takes part in the graph with its "
                 "new history.", "torch/csrc/autograd/VariableTypeUtils.h, check_inplace, rebase_history", Leaves),
)
