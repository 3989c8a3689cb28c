"""Clauses of every pointwise operator: which value, and that nothing but the operands decides it."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

import numpy as np

from reftorch.core.dtype import COMPLEX, DTYPES, FLOATING
from reftorch.dispatch.pointwise import Pointwise

from .. import generate
from ..case import Case, Outcome
from ..clause import DIVERGED, NOT_APPLICABLE, Budget, Clause, Place, Verdict
from ..fingerprint import Fingerprint, hexadecimal, result_size, same, separate
from ..generate import Layout
from ..reference import Reference
from .base import Checking, Unit, has_out_form, sample, unexpected_error, units

VECTORS = 192  # a multiple of every vector width: each element of a contiguous call lies in a complete block
SIZES = range(71)
LARGE = (32768, 32769, 32785, 65569)  # past the size from which a call may be split among threads


class Formulas:
    """E1 and E3: collects results by unit and finds the formula that gives all of them."""

    def __init__(self, op: Pointwise, place: Place):
        self.op, self.place = op, place
        self.units: dict[str, Fingerprint] = {}
        self.told: set[str] = set()

    def cases(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in units(self.op, self.place, budget):
            found = Fingerprint(self.op, Reference(self.place), unit.name, unit.pattern)
            self.units[unit.name] = found
            yield from self.make(Random(rng.getrandbits(64)), budget, unit, found)

    def make(self, rng: Random, budget: Budget, unit: Unit, found: Fingerprint) -> Iterator[Case]:
        raise NotImplementedError

    def see(self, case: Case, outcome: Outcome) -> Iterable[Verdict]:
        found = self.units.setdefault(case.unit, Fingerprint(self.op, Reference(self.place), case.unit))
        verdict = found.add(case, outcome)
        if verdict is None or case.unit in self.told:
            return
        self.told.add(case.unit)
        yield verdict

    def conclude(self) -> Iterable[Verdict]:
        if not self.units:
            yield Verdict(NOT_APPLICABLE, reason="nothing is computed for the dtypes that were asked for")
        for name, found in self.units.items():
            if name not in self.told:
                yield self.said(found)

    def said(self, found: Fingerprint) -> Verdict:
        return found.verdict()


class Values(Formulas):
    def make(self, rng: Random, budget: Budget, unit: Unit, found: Fingerprint) -> Iterator[Case]:
        """Contiguous, in complete blocks, so that only the formula decides; first what tells the candidates apart."""
        apart, _ = separate(self.op, found.reference, unit.pattern, unit.dtype, rng)
        for case in apart[:1] if self.place.costly else apart:
            yield blocked(case, unit)
        kinds = ("near", "any", "short", "neighbours", "near")
        n = max(64, budget.elements // len(kinds) // 64 * 64) if not self.place.costly else 4096
        if DTYPES[unit.dtype].itemsize <= 2 and len(unit.pattern.tensors) == 1:
            yield every_value(self.op, unit, rng)
        for kind in kinds[:1] if self.place.costly else kinds:
            yield sample(self.op, unit, rng, n, kind)


def blocked(case: Case, unit: Unit) -> Case:
    """The same elements repeated up to a multiple of 64."""
    memory, args = generate.Memory(), dict(case.args)
    for name, view in case.views().items():
        array = np.ravel(case.bits(name))
        args[name] = memory.place(np.resize(array, -(-array.size // 64) * 64), view.dtype,
                                  Layout((-(-array.size // 64) * 64,), (1,), 0))
    return Case(case.op, case.form, args, memory.buffers, unit=unit.name)


def every_value(op: Pointwise, unit: Unit, rng: Random) -> Case:
    """All values of a dtype of 16 bits or fewer."""
    name = unit.pattern.tensors[0]
    d = DTYPES[generate.operand_dtype(op, name, unit.dtype)]
    codes = np.arange(1 << 8 * d.itemsize, dtype=f"uint{8 * d.itemsize}") if d.name != "bool" else np.arange(2) != 0
    array = np.resize(codes.view(d.np), max(64, codes.size))
    numbers = generate.draw_numbers(rng, op, unit.pattern, DTYPES[unit.dtype].category)
    arrays = generate.allowed(op, {name: array})
    return generate.call(op, unit.pattern, arrays, {name: d.name}, numbers=numbers, unit=unit.name)


class Specials(Formulas):
    def said(self, found: Fingerprint) -> Verdict:
        """Any legal formula will do for each element: which one it is, E1 says."""
        return found.elementwise()

    def make(self, rng: Random, budget: Budget, unit: Unit, found: Fingerprint) -> Iterator[Case]:
        """All pairs, for three operands many triples, of remarkable values; also with remarkable numbers."""
        names = unit.pattern.tensors
        tables = [generate.special_values(generate.operand_dtype(self.op, n, unit.dtype)) for n in names]
        gen = generate.generator(rng)
        total = int(np.prod([len(t) for t in tables]))
        most = 1280 if self.place.costly or budget.elements < 10_000 else 8192  # all pairs of floats at least
        index = np.arange(total) if total <= most else gen.integers(0, total, most)
        types = {n: generate.operand_dtype(self.op, n, unit.dtype) for n in names}
        for part in self._apart(index, tables):
            part = np.resize(part, -(-part.size // 64) * 64)
            columns = np.unravel_index(part, [len(t) for t in tables])
            arrays = generate.allowed(self.op, {n: t[c] for n, t, c in zip(names, tables, columns)})
            for numbers in self._numbers(rng, unit):
                yield generate.call(self.op, unit.pattern, arrays, types, numbers=numbers, unit=unit.name)

    def _apart(self, index: np.ndarray, tables: list[np.ndarray]) -> list[np.ndarray]:
        """The smallest integer beside -1 in calls of their own: a division of the two may end the process."""
        if len(tables) < 2 or tables[0].dtype.kind != "i" or not self.op.guards:
            return [index]
        rows = np.unravel_index(index, [len(t) for t in tables])
        smallest = np.any([t[r] == np.iinfo(t.dtype).min for t, r in zip(tables, rows)], axis=0)
        risky = smallest & np.any([t[r] == -1 for t, r in zip(tables, rows)], axis=0)
        return [index[~risky], index[risky]]

    def _numbers(self, rng: Random, unit: Unit) -> list[dict[str, object]]:
        if not unit.pattern.numbers:
            return [{}]
        category = DTYPES[unit.dtype].category
        drawn = [generate.draw_numbers(rng, self.op, unit.pattern, category) for _ in range(2)]
        if category < FLOATING:
            return drawn
        kind = complex if category == COMPLEX else float
        specials = (0.0, -0.0, float("inf"), float("nan"), 1.0)
        return drawn + [generate.not_default(self.op, {n: kind(rng.choice(specials)) for n in unit.pattern.numbers})
                        for _ in range(1 if self.place.costly else 3)]


class Anywhere(Checking):
    """E2: the value of an element does not depend on where it lies, on its neighbours or on their number."""

    def __init__(self, op: Pointwise, place: Place):
        super().__init__(op, place)
        self.right: dict[str, np.ndarray] = {}  # by unit, the results of the elements that are moved about
        self.kept: dict[str, list[tuple[Case, Outcome]]] = {}
        self.wrong: dict[str, tuple[Case, int, np.ndarray, str]] = {}
        self.prints: dict[str, Fingerprint] = {}
        self.alone: set[str] = set()

    def make(self, rng: Random, budget: Budget) -> Iterator[Case]:
        for unit in units(self.op, self.place, budget):
            yield from self._unit(Random(rng.getrandbits(64)), budget, unit)

    def _unit(self, rng: Random, budget: Budget, unit: Unit) -> Iterator[Case]:
        self.prints[unit.name] = Fingerprint(self.op, self.reference, unit.name, unit.pattern)
        base = self._pool(rng, unit)
        yield base
        pool = {name: base.bits(name) for name in unit.pattern.tensors}
        first = unit.pattern == generate.patterns(self.op)[0]
        sizes = list(SIZES) if first or budget.cases >= 1000 else [1, 7, 33, 70, *rng.sample(SIZES, 12)]
        if self.place.costly:
            sizes = [1, 7, 33, 70]
        elif budget.cases < 100:
            sizes = (sizes if unit.dtype in ("float32", "bfloat16") else sizes[::6]) + [LARGE[1]]
        else:
            sizes += LARGE if first else LARGE[1:2]
        for n in sizes:
            kind = rng.choice(("contiguous", "contiguous", "offset", "stepped", "permuted", "rows"))
            yield self._elsewhere(rng, unit, base, pool, n, rng.choice(("contiguous", "offset")) if n > 70 else kind)

    def _pool(self, rng: Random, unit: Unit) -> Case:
        """The elements that are moved about, many of them such that the formulas differ there."""
        mixed = sample(self.op, unit, rng, VECTORS, "near")
        apart, _ = separate(self.op, self.reference, unit.pattern, unit.dtype, rng, rounds=2)
        if apart:
            for name in unit.pattern.tensors:
                some = np.ravel(apart[0].bits(name))[:VECTORS // 2]
                mixed.bits(name)[:some.size] = some
            mixed.args.update({n: apart[0].args[n] for n in unit.pattern.numbers})
        mixed.note["base"] = True
        return mixed

    def _elsewhere(self, rng: Random, unit: Unit, base: Case, pool: dict[str, np.ndarray], n: int, kind: str) -> Case:
        start = rng.randrange(VECTORS)
        rows = rng.choice((1, 1, 2, 3)) if 1 < n <= 70 else 1
        size = (rows, n) if rows > 1 else (n,)
        index = (start + np.arange(rows * n)) % VECTORS
        arrays = {name: values[index].reshape(size) for name, values in pool.items()}
        alike = rng.random() < 0.5  # all operands with one layout, or each with its own
        one = generate.layout(rng, size, kind)
        layouts = {name: one if alike else generate.layout(rng, size, rng.choice((kind, "contiguous", "offset")))
                   for name in pool}
        types = {name: generate.operand_dtype(self.op, name, unit.dtype) for name in pool}
        numbers = {name: base.args[name] for name in unit.pattern.numbers}
        case = generate.call(self.op, unit.pattern, arrays, types, layouts, numbers, unit=unit.name, start=start)
        if n and has_out_form(self.op, unit.pattern) and rng.random() < 0.2:  # the only way to a result with gaps
            result = self.reference.meta(self.op, case).dtype.name
            return generate.with_out(case, result, generate.layout(rng, size, rng.choice(("stepped", "rows", "offset"))))
        return case

    def judge(self, case: Case, outcome: Outcome) -> Verdict | str | None:
        if outcome.error is not None or outcome.bits is None:
            return unexpected_error(case, outcome)
        got, wanted_size = outcome.bits.reshape(-1), result_size(case)
        if outcome.size != wanted_size:
            return f"the result has size {outcome.size}; see S1"
        found = self.prints.setdefault(case.unit, Fingerprint(self.op, self.reference, case.unit))
        if found.bounds(case):
            return found.add(case, outcome)
        if got.size <= 256:
            self.kept.setdefault(case.unit, []).append((case, outcome))
        if case.note.get("base"):
            self.right[case.unit] = got
            return "only the call that others are compared with was run"
        right = self.right.get(case.unit)
        if right is None or "start" not in case.note:  # alone, a case shows what it shows by itself
            self.alone.add(case.unit)
            return "the contiguous call that it is compared with did not run"
        if not got.size:
            return "only empty tensors were tried"
        expected = right[(case.note["start"] + np.arange(got.size)) % VECTORS]
        if got.dtype != expected.dtype:
            return f"the result is {outcome.dtype}; see P1"
        agrees = same(expected, got, outcome.dtype)
        if not agrees.all() and (case.unit not in self.wrong or self.wrong[case.unit][2].size > got.size):
            i = int(np.flatnonzero(~agrees)[0])
            self.wrong[case.unit] = (case, i, expected.reshape(outcome.size), outcome.dtype)
        return None  # differences are reported in conclude, when the formulas are known

    def conclude(self) -> Iterable[Verdict]:
        for unit in {**self.wrong, **dict.fromkeys(self.alone)}:
            verdict = self._explained(unit)
            if verdict is not None:
                self.told.add((unit, ""))
                yield verdict
        yield from super().conclude()

    def _explained(self, unit: str) -> Verdict | None:
        """Name the formulas of the two places, if candidates explain both."""
        collected = self.prints[unit]
        for case, outcome in self.kept.get(unit, ()):
            collected.add(case, outcome)
        verdict = collected.verdict()
        if verdict.status == DIVERGED and "position" in verdict.evidence:
            return verdict
        if unit not in self.wrong:
            return None
        case, i, expected, dtype = self.wrong[unit]
        return Verdict(DIVERGED, unit, "depends on the position", case=case,
                       expected=f"element {i} as in a contiguous call: {hexadecimal(expected.reshape(-1)[i], dtype)}",
                       got="another value", wanted={"bits": [expected]})


CLAUSES = (
    Clause("E1", "Each element is what one of the formulas that are legal there gives, bit for bit, and the same one for "
                 "all elements; complex arithmetic stays within the bound derived in reftorch.numerics.bounds.",
           "the operator's formulas; IEEE 754-2019, 4.3", Values),
    Clause("E2", "The value of an element depends on the operands alone: not on its position, the number of elements, "
                 "strides, offsets or alignment. Complex arithmetic may differ within its bound.",
           "implied by E1; TensorIterator may split and reorder as it likes", Anywhere),
    Clause("E3", "Zeros of both signs, subnormal numbers, infinities, NaN and the extremes of integers follow the formula "
                 "too: nothing is flushed, lost or saturated. Which NaN comes out is left open.",
           "IEEE 754-2019, 6 and 7; C++ conversions", Specials),
)
