"""copy.copy, copy.deepcopy and pickle of tensors.

A copy made by copy.copy shares memory; deepcopy and pickle copy it. Source: torch/_tensor.py.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ..core.device import as_device
from ..core.dtype import dtype
from ..core.layout import Layout
from ..core.tensor import Tensor, empty_strided, from_host
from ..dispatch.cast import copy_into
from ..dispatch.view import untracked_alias


def _copy(self: Tensor) -> Tensor:
    _only_leaves(self)
    return untracked_alias(self).requires_grad_(self.requires_grad)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    _only_leaves(self)
    if id(self) not in memo:
        made = memo[id(self)] = self.detach().clone().requires_grad_(self.requires_grad)
        if self.grad is not None:
            made.grad = _deepcopy(self.grad, memo)
    return memo[id(self)]  # type: ignore[no-any-return]


def _reduce(self: Tensor, protocol: int) -> tuple[Any, ...]:
    _only_leaves(self)
    layout = self._meta.layout
    bits = np.ascontiguousarray(self._host_array()).reshape(layout.size)
    return _rebuilt, (bits, self.dtype, layout.stride if layout.dense else None, str(self.device), self.requires_grad)


def _rebuilt(bits: np.ndarray, dtype: dtype, stride: tuple[int, ...] | None, where: str, requires_grad: bool) -> Tensor:
    source = from_host(bits, dtype, where)
    made = source
    if stride is not None:
        made = empty_strided(Layout.of(bits.shape, stride), dtype, as_device(where))
        copy_into(made, source)
    return made.requires_grad_(requires_grad)


def _only_leaves(self: Tensor) -> None:
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                           "moment.")


Tensor.__copy__, Tensor.__deepcopy__, Tensor.__reduce_ex__ = _copy, _deepcopy, _reduce  # type: ignore[attr-defined, method-assign, assignment]
