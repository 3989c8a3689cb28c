"""Basic indexing: x[1, None, ..., 2:8:3] as a chain of views, and x[...] = value as a copy into one.

Integers, slices with positive steps, None, Ellipsis and 0-dim integer tensors are covered; indexing by arrays and by
booleans is not. Source: torch/csrc/autograd/python_variable_indexing.cpp, ATen/TensorIndexing.h.
"""
from __future__ import annotations

from typing import Any

from ..core.dtype import BOOL, INTEGRAL
from ..core.tensor import Tensor
from ..dispatch.arguments import class_name, type_name
from ..dispatch.cast import scalar_tensor
from ..dispatch.scalar import checked_number
from ._views import same, slice_


def _item(self: Tensor, key: Any) -> Tensor:
    """x[key]: the view that a basic index selects.

    Raises IndexError for an index out of range or too many indices, ValueError for a negative step,
    NotImplementedError for indexing by arrays or booleans.
    """
    if key.__class__ is int:
        return _select(self, 0, key)
    if key.__class__ is slice:
        return _slice(self, 0, key)
    view = _walk(self, key)
    return same(self) if view is self else view


def _walk(self: Tensor, key: Any) -> Tensor:
    """The view that `key` selects; `self` itself if that is all of it."""
    keys = key if isinstance(key, tuple) else (key,)
    given = sum(k is not None and k is not Ellipsis for k in keys)
    if given > self.ndim:
        if not isinstance(key, tuple):  # one index of a 0-dim tensor
            return _slice(self, 0, key) if isinstance(key, slice) else _select(self, 0, _integer(key))
        _check(keys)
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    view, dim = self, 0
    for place, k in enumerate(keys):
        if k is Ellipsis:
            dim += self.ndim - given
        elif k is None:
            view = view.unsqueeze(dim)
            dim += 1
        elif isinstance(k, slice):
            view = _slice(view, dim, k, whole=view)
            dim += 1
        else:
            view = _select(view, dim, _integer(k), place)
    return view


def _select(x: Tensor, dim: int, index: int, place: int = 0) -> Tensor:
    """place: of the index among all, which is what PyTorch's text calls the dimension."""
    if not x.ndim and index == 0:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                         "convert a 0-dim tensor to a number")
    n = x.shape[dim] if dim < x.ndim else 0  # beyond the last after a second `...`
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {place} with size {n}")
    return x.select(dim, index)


def _slice(x: Tensor, dim: int, key: slice, whole: Tensor | None = None) -> Tensor:
    """whole: what to give for a slice that leaves nothing out (None: a view)."""
    step = 1 if key.step is None else _bound(key.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = None if key.start is None else _bound(key.start)
    stop = None if key.stop is None else _bound(key.stop)
    if not x.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if whole is not None and step == 1 and not start and (stop is None or stop >= x.shape[dim]):
        return whole
    return slice_(x, dim, start or 0, 2**63 - 1 if stop is None else stop, step)


def _bound(value: Any) -> int:
    if isinstance(value, (float, complex, str)) or not hasattr(value, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return value.__index__()


def _integer(key: Any) -> int:
    """An index that selects one slice: an int, or something that holds one."""
    _check((key,))
    return int(key.__index__())


def _check(keys: tuple[Any, ...]) -> None:
    """Raises for an index that is not basic."""
    for k in keys:
        if k is None or k is Ellipsis or isinstance(k, slice):
            continue
        if isinstance(k, bool) or isinstance(k, Tensor) and (k.ndim or k.dtype.category == BOOL) or \
                isinstance(k, (list, tuple)) or type(k).__module__ == "numpy" and getattr(k, "shape", ()) != ():
            raise NotImplementedError("reftorch covers basic indexing only: indexing by arrays, lists or booleans is not "
                                      "covered yet")
        if isinstance(k, Tensor) and k.dtype.category != INTEGRAL:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if isinstance(k, (float, complex, str)) or not hasattr(k, "__index__"):
            raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                             f"indices (got {type(k).__name__})")


def _set_item(self: Tensor, key: Any, value: Any) -> None:
    """x[key] = value: `value`, a number or a tensor, broadcast into the selected view.

    Raises as x[key] does, TypeError for a value that is neither, and RuntimeError if its shape does not fit.
    """
    target = _walk(self, key)
    if not isinstance(value, Tensor):
        if not isinstance(value, (bool, int, float, complex)) and not (
                type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()):
            raise TypeError(f"can't assign a {class_name(value)} to a {type_name(self)}")
        value = scalar_tensor(checked_number(value, self.dtype, self.dtype), self.dtype, self.device)
    if value.shape == target.shape:
        target.copy_(value)
    elif not value.ndim:
        target.fill_(value)
    else:  # leading dimensions of size 1 are dropped, as NumPy does
        kept = next((d for d, n in enumerate(value.shape) if n != 1), value.ndim)
        value = value.view(value.shape[kept:])
        target.copy_(value if value.shape == target.shape else value.expand(target.shape))


setattr(Tensor, "__getitem__", _item)  # noqa: B010 (a plain assignment would be one to a special method)
setattr(Tensor, "__setitem__", _set_item)  # noqa: B010
