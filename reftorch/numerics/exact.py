"""Exact evaluation of small formulas on arrays of floats, for audits of single elements.

Everything here is a Python loop over Fractions: right by construction, and slow. An audit takes the worst
elements that a fast comparison found and asks what the correctly rounded answer would have been.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reftorch.numerics.codes import decode
from reftorch.numerics.formats import FORMATS


def to_fractions(x: Any) -> NDArray[np.object_]:
    """The exact values of a real array as Fractions, in an object array of the same shape.

    Raises ValueError where an element is NaN or infinite. The sign of zero is lost.
    """
    x = np.asarray(x)
    if not np.isfinite(x).all():
        raise ValueError("exact evaluation needs finite operands")
    out = np.empty(x.shape, object)
    out[...] = np.reshape([Fraction(value) for value in x.ravel().tolist()], x.shape)
    return out


def exact(function: Callable[..., Any]) -> Callable[..., NDArray[np.object_]]:
    """`function`, a scalar formula over + - * / and comparisons, lifted to broadcast arrays of finite floats.

    The result is an object array of Fractions. Division by zero raises ZeroDivisionError.

    >>> exact(lambda s, a, b: s + a * b)([1.0, 2.0], 0.5, 0.25).tolist()
    [Fraction(9, 8), Fraction(17, 8)]
    """

    def lifted(*arrays: Any) -> NDArray[np.object_]:
        operands = np.broadcast_arrays(*map(to_fractions, arrays))
        return np.asarray(np.frompyfunc(function, len(operands), 1)(*operands), object)

    return lifted


def round_fraction(value: Any, format_name: str) -> Any:
    """Fractions rounded once to a format, as float64 for "float64" and as float32 for every other format.

    value: one Fraction, or an object array of them. Overflow follows the format; a zero result is positive
    where the exact value is zero.
    """
    spec = FORMATS[format_name]
    value = np.asarray(value, object)
    codes = np.array([spec.encode(element) for element in value.ravel()], f"uint{max(8, spec.bits)}")
    return np.asarray(decode(format_name, codes)).reshape(value.shape)[()]
