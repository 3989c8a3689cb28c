"""Rational evaluation and correct rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reftorch.numerics.arith import fma
from reftorch.numerics.exact import exact, round_fraction, to_fractions


def test_fractions_are_the_exact_values():
    x = np.float32([[0.1, -3.0]])
    assert to_fractions(x).tolist() == [[Fraction(float(np.float32(0.1))), Fraction(-3)]]
    assert to_fractions(np.int64(2**62 + 1)).item() == 2**62 + 1
    assert to_fractions(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="exact evaluation needs finite operands"):
        to_fractions([1.0, np.nan])


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_correctly_rounded_formula_is_the_hardware_operation(name):
    rng = np.random.default_rng(13)
    a, b, c = (rng.standard_normal((7, 30)).astype(name) for _ in range(3))
    for formula, computed in [
        (lambda x, y, z: x + y, a + b),
        (lambda x, y, z: x * y - 0 * z, a * b),
        (lambda x, y, z: y / z, b / c),
        (lambda x, y, z: x * y + z, fma(a, b, c)),
    ]:
        rounded = round_fraction(exact(formula)(a, b, c), name)
        assert rounded.dtype == name and np.array_equal(rounded, computed)


def test_broadcast_scalars_and_narrow_formats():
    values = exact(lambda x, y: x / y)(np.float32([[1], [2]]), [3.0, 5.0])
    assert values.tolist() == [[Fraction(1, 3), Fraction(1, 5)], [Fraction(2, 3), Fraction(2, 5)]]
    assert round_fraction(Fraction(1, 3), "bfloat16") == np.float32(0.333984375)
    assert isinstance(round_fraction(Fraction(1, 3), "float32"), np.float32)
    assert round_fraction(values, "float8_e4m3fn").tolist() == [[0.34375, 0.203125], [0.6875, 0.40625]]
    assert round_fraction(Fraction(10) ** 40, "float32") == np.inf
