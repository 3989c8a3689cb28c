"""Expressions: equal ones give the same bits, and those that may differ are never equal."""
from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from conformance.chapter import chapters
from conformance.clause import PROFILES, Place
from conformance.families.base import sample, units
from conformance.fingerprint import expression, same
from conformance.reference import Reference
from conformance.trace import Arithmetic, bounded, exact_value, operations, trace
from reftorch.numerics.arith import fma, select, sqrt

CPU = Place("cpu", "eager", "2.13")
CHAPTERS = chapters()


@pytest.mark.parametrize("name", CHAPTERS)
def test_equal_expressions_give_equal_bits(name: str) -> None:
    op, reference = CHAPTERS[name].op, Reference(CPU)
    for unit in units(op, CPU, PROFILES["deep"]):
        probe = sample(op, unit, Random(0), 1, "near")
        common = reference.common(op, probe)
        _, fitting = reference.formulas(op, probe)
        shapes = [expression(op, f, common.category, common.name, unit.pattern) for f in fitting]
        equal = [(f, g) for i, f in enumerate(fitting) for j, g in enumerate(fitting) if i < j and shapes[i] == shapes[j]]
        for kind in ("mixed", "special", "short") if equal else ():
            case = sample(op, unit, Random(1), 2000, kind)
            dtype = reference.meta(op, case).dtype.name
            for f, g in equal:
                first, second = reference.values(op, case, [f, g])
                assert same(first, second, dtype).all(), (unit.name, kind, f.name, g.name)


def test_only_exact_steps_are_simplified() -> None:
    def product(a, b, v):  # type: ignore[no-untyped-def]
        return select(v == 1, a * b, fma(v * a, b, 0))
    assert trace(product, v=1) == trace(lambda a, b: b * a)
    assert trace(product, v=2) != trace(lambda a, b: b * a)
    assert trace(lambda a, b, c: (a + b) + c) != trace(lambda a, b, c: a + (b + c))
    assert trace(lambda a, b: -(a * b)) == trace(lambda a, b: a * -b)
    assert trace(lambda a, b, c: fma(a, b, c)) != trace(lambda a, b, c: a * b + c)
    integers = Arithmetic(fused=False, ring=True)
    assert trace(lambda a, b, c: fma(a, b, c) * c, integers) == trace(lambda a, b, c: c * c + c * a * b, integers)
    grid = Arithmetic(grid=frozenset("ab"), exact_products=True)
    assert trace(lambda a, b, c: fma(a, b, c), grid) == trace(lambda a, b, c: a * b + c, grid)
    assert trace(lambda a, b, c: fma(a, c, b), grid) != trace(lambda a, b, c: a * c + b, grid)


def test_operations_and_exact_values() -> None:
    node = trace(lambda s, t: sqrt(s) + t / 3)
    assert operations(node) == {"sqrt", "add", "div"}
    assert exact_value(trace(lambda s, t: s + t / 3), {"s": 1.0, "t": 1.0}) == Fraction(4, 3)
    root = exact_value(trace(lambda s: sqrt(s)), {"s": 2.0 ** -1074})
    assert root is not None and abs(root ** 2 / Fraction(2.0 ** -1074) - 1) < Fraction(1, 1 << 180)
    assert exact_value(trace(lambda s, t: s / t), {"s": 1.0, "t": 0.0}) is None


def test_bounds_say_nothing_where_something_overflows() -> None:
    node = trace(lambda a, b: a * b, Arithmetic(fused=False, exact_one=False))
    values = {"a": np.array([1e30 + 0j, 1 + 1j]), "b": np.array([1e30 + 0j, 2j])}
    error = bounded(node, values, "float32").error
    assert np.isinf(error[0]) and 0 < error[1] < 1e-5
