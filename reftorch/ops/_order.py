"""ne, lt, le, gt and ge: the comparisons that gradients of other operators are written with."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtype import bool_
from ..dispatch.operator import EVERYWHERE
from ..dispatch.pointwise import BOOL, COMPLEXES, FLOATS, INTS, UNSIGNED, Pointwise
from ._factories import zeros_like


def _comparison(formula: Callable[..., Any], types: tuple[str, ...] = BOOL + INTS + FLOATS) -> Pointwise:
    name = formula.__name__
    op = Pointwise(f"{name}.Tensor(Tensor self, Tensor other) -> Tensor",
                   f"{name}.Scalar(Tensor self, Scalar other) -> Tensor",
                   kernel=f"{name}_cpu", types=types, result=lambda d: bool_, operators=(f"__{name}__",))
    op.formula(*EVERYWHERE)(formula)
    op.derivatives(self=lambda grad: zeros_like(grad), other=lambda grad: zeros_like(grad))
    return op


def ne(self, other):
    """s != o"""
    return self != other


def lt(self, other):
    """s < o"""
    return self < other


def le(self, other):
    """s <= o"""
    return self <= other


def gt(self, other):
    """s > o"""
    return self > other


def ge(self, other):
    """s >= o"""
    return self >= other


_comparison(ne, BOOL + INTS + UNSIGNED + FLOATS + COMPLEXES)
for _formula in (lt, le, gt, ge):
    _comparison(_formula)
