"""Python's operators that this library does not cover: they say so, instead of Python's "unsupported operand"."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.tensor import Tensor

_SYMBOLS = {"mod": "%", "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}


def _uncovered(symbol: str) -> Callable[..., NoReturn]:
    def special(*operands: Any) -> NoReturn:
        raise NotImplementedError(f"reftorch does not cover the operator {symbol}")
    return special


for _name, _symbol in _SYMBOLS.items():
    for _special in (f"__{_name}__", f"__r{_name}__"):
        if not hasattr(Tensor, _special):
            setattr(Tensor, _special, _uncovered(_symbol))
if not hasattr(Tensor, "__invert__"):
    Tensor.__invert__ = _uncovered("~")  # type: ignore[operator]
