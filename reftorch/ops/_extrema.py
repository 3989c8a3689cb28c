"""The larger and the smaller of two values, as maximum, minimum and clamp have them: NaN wins.

Two zeros of different sign are equal. Which one comes out depends on the instructions used, so there are three of each:
the second operand wins a tie, the first does, or +0 counts as larger than -0.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..numerics.arith import isnan, select, signbit
from .where import where


def larger_second(a: Any, b: Any) -> Any:
    return select((a > b) | isnan(a), a, b)


def larger_first(a: Any, b: Any) -> Any:
    return select((a < b) | isnan(b), b, a)


def larger_ordered(a: Any, b: Any) -> Any:
    return select(((a < b) | isnan(b)) | ((a == b) & signbit(a)), b, a)


def smaller_second(a: Any, b: Any) -> Any:
    return select((a < b) | isnan(a), a, b)


def smaller_first(a: Any, b: Any) -> Any:
    return select((a > b) | isnan(b), b, a)


def smaller_ordered(a: Any, b: Any) -> Any:
    return select(((a > b) | isnan(b)) | ((a == b) & signbit(b)), b, a)


def not_complex(name: str) -> Callable[..., None]:
    """A check: complex numbers have no order."""
    def check(self: Tensor, other: Tensor) -> None:
        if self.is_complex() or other.is_complex():
            raise RuntimeError(f"{name} not implemented for complex tensors.")
    return check


def share(grad: Any, equal: Tensor, loses: Tensor) -> Any:
    """The gradient of one operand: all of it, half where they are equal, nothing where the other one wins."""
    return where.function(loses, 0, where.function(equal, grad / 2, grad))
