"""What add and sub share: the rules for alpha, and its part in the gradients."""
from __future__ import annotations

from typing import Any

from ..core.dtype import BOOL, COMPLEX, FLOATING
from ..core.promotion import dtype_of_number, result_type
from ..core.tensor import Tensor
from ._gradients import conj


def alpha_fits(self: Any, other: Any, alpha: Any) -> None:
    """alpha may not be of a higher category than the result, and bool only for bool: RuntimeError."""
    given = alpha.dtype if isinstance(alpha, Tensor) else dtype_of_number(alpha)
    category = result_type(self, other).category
    if given.category == BOOL and category != BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if given.category >= FLOATING > category:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if given.category == COMPLEX != category:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def times_alpha(grad: Any, alpha: Any) -> Any:
    """grad * conj(alpha), without work for the usual alpha."""
    return grad if not isinstance(alpha, Tensor) and alpha == 1 else grad * conj(alpha)
