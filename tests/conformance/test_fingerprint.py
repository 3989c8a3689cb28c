"""Fingerprints: the formula is named only where the inputs tell it from every other one."""
from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from conformance import generate
from conformance.case import Case, Outcome
from conformance.chapter import chapters
from conformance.clause import DIVERGED, HELD, NOT_RUN, PROFILES, Place, Verdict
from conformance.families.base import Unit, sample, units
from conformance.fingerprint import Fingerprint, expression, separate
from conformance.reference import Reference
from reftorch.core.dtype import DTYPES, FLOATING
from reftorch.numerics.ulp import NAN_DISTANCE

CPU, CUDA = Place("cpu", "eager", "2.13"), Place("cuda", "eager", "2.13")
CHAPTERS = chapters()
FLOATS = ("float16", "bfloat16", "float32", "float64")


def unit(op: str, dtype: str, label: str = "") -> Unit:
    wanted = f"{dtype}, {label}" if label else dtype
    return next(u for u in units(CHAPTERS[op].op, CPU, PROFILES["deep"]) if u.name == wanted)


def shown(case: Case, bits: np.ndarray, dtype: str) -> Outcome:
    return Outcome(dtype=dtype, size=bits.shape, bits=bits)


def collected(op: str, u: Unit, bits_of: Any, place: Place = CPU, cases: list[Case] | None = None, n: int = 640) -> Verdict:
    """The verdict on a subject whose results are what bits_of(case, results by each candidate) says."""
    operator, reference = CHAPTERS[op].op, Reference(place)
    found = Fingerprint(operator, reference, u.name, u.pattern)
    if cases is None:
        cases = separate(operator, reference, u.pattern, u.dtype, Random(2))[0]
        cases = [*cases, sample(operator, u, Random(1), n, "near")]
    for case in cases:
        legal, fitting = reference.formulas(operator, case)
        candidates = legal + [f for f in fitting if f not in legal]
        results = {f.name: b for f, b in zip(candidates, reference.values(operator, case, candidates))}
        bits = bits_of(case, results)
        found.add(case, shown(case, bits, reference.meta(operator, case).dtype.name))
    return found.verdict()


# ---- each candidate is recognised ----
@pytest.mark.parametrize("op", [n for n, c in CHAPTERS.items() if len({f.name for f in c.op.formulas}) > 1])
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_candidate_is_named_and_judged(op: str, dtype: str) -> None:
    operator, reference = CHAPTERS[op].op, Reference(CPU)
    for u in (u for u in units(operator, CPU, PROFILES["deep"]) if u.dtype == dtype):
        _, open_pairs = separate(operator, reference, u.pattern, dtype, Random(2))
        case = sample(operator, u, Random(0), 1, "near")
        legal, fitting = reference.formulas(operator, case)
        names = {f.name for f in legal}
        for f in fitting:
            if any(f.name in pair for pair in open_pairs):  # only luck would tell these apart
                continue
            verdict = collected(op, u, lambda _, results, name=f.name: results[name])
            shapes = {g.name: expression(operator, g, FLOATING, dtype, u.pattern) for g in fitting}
            same = [g for g, shape in shapes.items() if g != f.name and shape == shapes[f.name]]
            if {f.name, *same} & names:
                assert verdict.status == HELD, (u.name, f.name)
                assert verdict.formula in {f.name, *same, None}
                continue
            assert verdict.status == DIVERGED, (u.name, f.name)
            # Where the legal formulas together give each of its elements, a mixture of them is what is reported.
            if verdict.fingerprint.startswith("computes "):
                assert any(n in str(verdict.formula) for n in (f.name, *same)), (u.name, f.name)
            else:
                assert len(names) > 1 and all(n.split(" or ")[0] in names for n in _named(verdict)), verdict.fingerprint


def _named(verdict: Verdict) -> list[str]:
    """The formulas in 'blocks of 8: a; tails: b', 'here a, there b'."""
    text = verdict.fingerprint
    if text.startswith("blocks"):
        return [part.split(": ", 1)[1] for part in text.split("; tails")]
    return text.removeprefix("here ").split(", there ")


@pytest.mark.parametrize(("dtype", "place", "name"), [
    ("float32", CPU, "s + (v*t1)/t2"), ("float64", CPU, "s + (v*t1)/t2"), ("bfloat16", CPU, "s + (v*t1)/t2"),
    ("float32", CUDA, "s + t1/t2 if v == 1 else fma(v, t1/t2, s)")])
def test_addcdiv_by_place(dtype: str, place: Place, name: str) -> None:
    verdict = collected("addcdiv", unit("addcdiv", dtype, "value != 1"), lambda _, results: results[name], place)
    assert (verdict.status, verdict.formula) == (HELD, name)


def test_a_formula_of_another_place_is_named() -> None:
    name = "s + (v*t1)/t2"
    verdict = collected("addcdiv", unit("addcdiv", "float32", "value != 1"), lambda _, results: results[name], CUDA)
    assert verdict.status == DIVERGED and verdict.fingerprint == f"computes {name}"
    assert "cpu eager" in verdict.evidence["legal at"]
    assert verdict.case is not None and verdict.wanted["bits"]
    again = collected("addcdiv", unit("addcdiv", "float32", "value != 1"), lambda _, results: results[name], CUDA,
                      [verdict.case])
    assert again.fingerprint == verdict.fingerprint  # the witness shows it by itself


# ---- ties ----
def test_a_tie_is_not_named() -> None:
    u = unit("addcmul", "float32", "value != 1")
    ones = {name: np.ones(64, np.float32) for name in u.pattern.tensors}
    case = generate.call(CHAPTERS["addcmul"].op, u.pattern, ones, dict.fromkeys(ones, "float32"), numbers={"value": 2.0})
    verdict = collected("addcmul", u, lambda _, results: results["fma(v*t1, t2, s)"], cases=[case])
    assert verdict.status == HELD and verdict.formula is None
    assert "s + (v*t1)*t2" in verdict.evidence["not told apart from"]


def test_a_tie_by_construction_is_said_and_named() -> None:
    u = unit("addcdiv", "float32", "value = 1")
    verdict = collected("addcdiv", u, lambda _, results: results["s + (v*t1)/t2"])
    assert verdict.formula == "s + (v*t1)/t2"
    assert "fma(v, t1/t2, s)" in verdict.evidence["the same here, bit for bit"]
    assert "not told apart from" not in verdict.evidence


def test_separating_inputs_are_found() -> None:
    """All candidates of all operators, but for a few in 16 bits that may be the same for every input."""
    reference = Reference(CPU)
    for chapter in CHAPTERS.values():
        for u in units(chapter.op, CPU, PROFILES["deep"]):
            cases, together = separate(chapter.op, reference, u.pattern, u.dtype, Random(1))
            if DTYPES[u.dtype].itemsize > 2:
                assert not together, (u.name, together)
            assert all(c.unit == "" for c in cases)


# ---- position ----
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_blocks_and_tails_are_explained(width: int) -> None:
    def mixture(case: Case, results: dict[str, np.ndarray]) -> np.ndarray:
        body, tail = results["fma(v*t1, t2, s)"], results["s + (v*t1)*t2"]
        return np.where(np.arange(body.size) < body.size // width * width, body, tail)
    u = unit("addcmul", "float32", "value != 1")
    op = CHAPTERS["addcmul"].op
    cases = [sample(op, u, Random(n), n, "near") for n in range(1, 150, 7)]
    verdict = collected("addcmul", u, mixture, cases=cases)
    assert verdict.status == DIVERGED
    assert verdict.formula == f"blocks of {width}: fma(v*t1, t2, s); tails: s + (v*t1)*t2"


def test_a_mixture_without_a_pattern_is_told() -> None:
    def mixture(case: Case, results: dict[str, np.ndarray]) -> np.ndarray:
        first, second = results["fma(v*t1, t2, s)"], results["s + (v*t1)*t2"]
        return np.where(np.random.default_rng(0).random(first.size) < 0.5, first, second)
    u = unit("addcmul", "float32", "value != 1")
    verdict = collected("addcmul", u, mixture, cases=[sample(CHAPTERS["addcmul"].op, u, Random(1), 256, "near")])
    assert verdict.fingerprint.startswith("here fma(v*t1, t2, s), there ")


# ---- none of them ----
def test_one_unit_low() -> None:
    def low(case: Case, results: dict[str, np.ndarray]) -> np.ndarray:
        right = results["sqrt(s)"]
        return np.where(np.arange(right.size) % 10 == 3, np.nextafter(right, np.float32(0)), right)
    u = unit("sqrt", "float32")
    op = CHAPTERS["sqrt"].op
    case = sample(op, u, Random(0), 640, "near")
    case.bits("self")[...] = np.abs(case.bits("self"))
    verdict = collected("sqrt", u, low, cases=[case])
    assert verdict.status == DIVERGED and verdict.fingerprint == "no formula: 1 ulp low"
    assert verdict.distance == 1 and verdict.evidence["wrong"] == 64 and verdict.evidence["rate"] == 0.1
    exact = float(verdict.evidence["exact value"])
    assert verdict.case is not None
    operand = float(verdict.case.bits("self")[verdict.evidence["index"]])
    assert abs(exact ** 2 - operand) < 1e-14 * operand


@pytest.mark.parametrize(("change", "cause"), [
    (lambda a: np.where(np.arange(a.size) == 5, np.float32(np.nan), a), "no formula: NaN against a number"),
    (lambda a: np.where(np.arange(a.size) == 5, a * np.float32(1.5), a), "no formula: more than 16 ulp high")])
def test_causes(change: Any, cause: str) -> None:
    u = unit("mul", "float32")
    verdict = collected("mul", u, lambda _, results: change(results["s*o"]))
    assert verdict.fingerprint == cause
    if "NaN" in cause:
        assert verdict.distance == float(NAN_DISTANCE)


def test_signed_zeros_differ_and_nans_do_not() -> None:
    u = unit("neg", "float32")
    op = CHAPTERS["neg"].op
    case = generate.call(op, u.pattern, {"self": np.array([0.0, np.nan, 2.0] * 8, np.float32)}, {"self": "float32"})
    lost = collected("neg", u, lambda _, results: results["-s"] + np.float32(0), cases=[case])
    assert lost.fingerprint == "no formula: the sign of a zero"
    other_nan = collected("neg", u, lambda _, results: np.where(np.isnan(results["-s"]), np.float32(np.nan), results["-s"]),
                          cases=[case])
    assert other_nan.status == HELD


def test_nothing_compared_is_not_run() -> None:
    u = unit("neg", "float32")
    assert collected("neg", u, lambda _, results: results["-s"], cases=[]).status == NOT_RUN
    empty = sample(CHAPTERS["neg"].op, u, Random(0), 0, "near")
    assert collected("neg", u, lambda _, results: results["-s"], cases=[empty]).status == NOT_RUN


# ---- complex ----
@pytest.mark.parametrize("op", ["mul", "div", "addcmul", "addcdiv", "lerp", "sqrt", "rsqrt", "reciprocal", "abs"])
def test_complex_results_are_held_to_a_bound(op: str) -> None:
    for u in (u for u in units(CHAPTERS[op].op, CPU, PROFILES["deep"]) if u.dtype == "complex64"):
        right = collected(op, u, lambda _, results: next(iter(results.values())), cases=[
            sample(CHAPTERS[op].op, u, Random(3), 640, "near")])
        if right.formula is None or "bound" not in right.formula:
            continue  # trunc and floor have no complex form
        assert right.status == HELD and 0 <= right.evidence["worst distance relative to the bound"] < 1
        operator, reference = CHAPTERS[op].op, Reference(CPU)
        found = Fingerprint(operator, reference, u.name, u.pattern)
        case = sample(operator, u, Random(3), 640, "near")
        legal, _ = reference.formulas(operator, case)
        bits = reference.values(operator, case, legal)[0]
        wrong = np.where(np.arange(bits.size) == 77, bits * bits.dtype.type(1 + 1e-3), bits)
        dtype = reference.meta(operator, case).dtype.name
        verdict = found.add(case, shown(case, wrong.astype(bits.dtype), dtype))
        assert verdict is not None and verdict.status == DIVERGED and verdict.fingerprint == "outside the error bound"
