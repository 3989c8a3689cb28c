"""Generators: what they reach, that they are deterministic, and that canaries are where no element is."""
from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance import generate
from conformance.case import CANARY, Case, View
from conformance.chapter import chapters
from conformance.clause import PROFILES, Place
from conformance.families.memory import mask_of
from conformance.reference import Reference, widen
from reftorch.core.dtype import COMPLEX, DTYPES, FLOATING, INTEGRAL
from reftorch.numerics.formats import FORMATS

CPU = Place("cpu", "eager", "2.13")
CHAPTERS = chapters()
FLOATS = ("float16", "bfloat16", "float32", "float64")


# ---- values ----
@pytest.mark.parametrize("dtype", generate.COMPUTING)
@pytest.mark.parametrize("kind", generate.KINDS)
def test_values_are_carrier_bits_and_repeat(dtype: str, kind: str) -> None:
    first, again = (generate.values(generate.generator(Random(3)), dtype, 100, kind) for _ in range(2))
    assert first.shape == (100,) and first.dtype == DTYPES[dtype].np
    assert first.tobytes() == again.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_any_reaches_every_exponent(dtype: str) -> None:
    f = FORMATS[dtype]
    codes = generate.values(generate.generator(Random(1)), dtype, 40_000, "any").view(f"u{f.bits // 8}")
    exponents = (codes.astype(np.uint64) & np.uint64(f.sign_mask - 1)) >> np.uint64(f.mantissa_bits)
    assert len(np.unique(exponents)) == 1 << f.exponent_bits


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype: str) -> None:
    f = FORMATS[dtype]
    values = widen(generate.special_values(dtype), dtype).astype(np.float64)
    assert {float(f.min_subnormal), float(f.min_normal), float(f.max_finite), np.inf, -np.inf, 1.0} <= set(values.tolist())
    assert np.isnan(values).any() and (np.signbit(values) & (values == 0)).any()
    one = float(f.eps) / 2
    assert 1 - one in values and 1 + 2 * one in values


def test_integer_extremes() -> None:
    for dtype in ("uint8", "int8", "int16", "int32", "int64", "uint64"):
        info = np.iinfo(DTYPES[dtype].np)
        assert {info.min, info.max} <= set(generate.special_values(dtype).tolist())


# ---- layouts ----
@given(st.randoms(use_true_random=False), st.sampled_from(generate.LAYOUTS))
def test_elements_are_placed_and_the_rest_is_canaries(rng: Random, kind: str) -> None:
    size = generate.shape(rng)
    dtype = rng.choice(generate.COMPUTING)
    array = generate.values(generate.generator(rng), dtype, int(np.prod(size)), "any").reshape(size)
    where = generate.layout(rng, size, kind)
    memory = generate.Memory()
    view = memory.place(array, dtype, where)
    case = Case("neg", "functional", {"self": view}, memory.buffers)
    assert case.bits("self").tobytes() == generate.materialised(array, where.stride).tobytes()
    outside = ~mask_of(case, view)
    assert (memory.buffers[0][outside] == CANARY).all()
    assert outside[:generate.GUARD].all() and outside[-generate.GUARD:].all()


def test_layouts_differ_in_kind() -> None:
    rng = Random(0)
    seen = {kind: [generate.layout(rng, (3, 4), kind) for _ in range(20)] for kind in generate.LAYOUTS}
    assert any(where.stride == (1, 3) for where in seen["permuted"])
    assert all(0 in where.stride for where in seen["expanded"])
    assert all(where.stride[-1] > 1 for where in seen["stepped"])
    assert all(where.stride[0] > 4 for where in seen["rows"])
    assert {where.skip % 8 for where in seen["offset"]} >= {1, 2, 3}
    assert generate.layout(rng, (1, 4), "odd ones").stride[1] == 1


# ---- patterns ----
@pytest.mark.parametrize("name", CHAPTERS)
def test_every_formula_is_reached_by_a_pattern(name: str) -> None:
    op = CHAPTERS[name].op
    reached: set[object] = set()
    reference = Reference(CPU)
    from conformance.families.base import sample, units
    for unit in units(op, CPU, PROFILES["deep"]):
        _, fitting = reference.formulas(op, sample(op, unit, Random(0), 1, "near"))
        reached |= {f.function for f in fitting}
    assert reached == {f.function for f in op.formulas}


def test_patterns_of_overloads() -> None:
    by = {name: {p.label(c.op) for p in generate.patterns(c.op)} for name, c in CHAPTERS.items()}
    assert {"", "other a number", "other a number, rounding_mode = floor", "rounding_mode = trunc"} <= by["div"]
    assert {"min a number, no max", "no min", "", "min a number, max a number"} <= by["clamp"]
    assert by["addcdiv"] == {"value = 1", "value != 1"}
    assert "self a number, other a number" in by["where"]


# ---- cases ----
def reached_by_random_cases(count: int) -> set[str]:
    rng, seen = Random(7), set()
    for _ in range(count):
        op = CHAPTERS[rng.choice(list(CHAPTERS))].op
        case = generate.random_case(rng, op)
        views = case.views()
        seen.add(case.form)
        seen |= {f"ndim {len(v.size)}" for v in views.values()}
        seen |= {"empty" for v in views.values() if 0 in v.size}
        seen |= {"expanded" for v in views.values() if 0 in v.stride}
        if case.out is not None:
            inputs = [v for n, v in views.items() if n != "out"]
            seen |= {"out is an input"} if case.out in inputs else set()
            seen |= {"out of another size"} if all(v.size != case.out.size for v in inputs) else set()
            seen |= {"out with gaps"} if case.out.stride and case.out.stride[-1] > 1 and case.out.numel > 1 else set()
        if case.form == "in-place" and list(case.args.values()).count(case.args["self"]) > 1:
            seen.add("x.op_(x)")
        if len({v.size for v in views.values()}) > 1:
            seen.add("broadcast")
    return seen


def test_random_cases_reach_every_kind_of_call() -> None:
    assert reached_by_random_cases(2000) >= {
        "functional", "method", "in-place", "out=", "ndim 0", "ndim 1", "ndim 4", "empty", "expanded", "out is an input",
        "out of another size", "out with gaps", "x.op_(x)", "broadcast"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(generate.cases())
def test_a_case_survives_json(case: Case) -> None:
    again = Case.from_json(json.loads(json.dumps(case.to_json())))
    assert repr(again.args) == repr(case.args) and again.out == case.out and again.form == case.form
    assert [b.tobytes() for b in again.buffers] == [b.tobytes() for b in case.buffers]


@pytest.mark.parametrize("name", ["addcmul", "clamp", "where"])
def test_checks_give_the_same_cases_for_the_same_seed(name: str) -> None:
    chapter = CHAPTERS[name]
    for clause in chapter.clauses():
        if clause.check is not None:
            first, again = ([c.to_json() for c in clause.check(chapter.op, CPU).cases(Random(5), PROFILES["smoke"])]
                            for _ in range(2))
            assert first == again, clause.key


def test_positions_reach_past_vectors_and_threads() -> None:
    chapter = CHAPTERS["addcmul"]
    clause = next(c for c in chapter.clauses() if c.key == "E2")
    assert clause.check is not None
    counts: dict[str, set[int]] = {}
    for case in clause.check(chapter.op, CPU).cases(Random(0), PROFILES["standard"]):
        view = case.args["self"]
        assert isinstance(view, View)
        counts.setdefault(case.unit, set()).add(view.size[-1])
    sizes = counts["float32, value = 1"]
    assert set(range(71)) <= sizes and max(sizes) > 2 * 32768


def test_numbers_stay_in_their_category() -> None:
    rng = Random(0)
    for op in (c.op for c in CHAPTERS.values()):
        for pattern in generate.patterns(op):
            for category in (INTEGRAL, FLOATING, COMPLEX):
                for value in generate.draw_numbers(rng, op, pattern, category).values():
                    assert {bool: 0, int: INTEGRAL, float: FLOATING, complex: COMPLEX}[type(value)] <= category
