"""Small parts that derivatives share."""
from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor


def conj(x: Any) -> Any:
    """The complex conjugate of a tensor or a Python number."""
    return x.conj() if isinstance(x, Tensor) else x.conjugate()
