"""Views: tensors that share another tensor's memory, and the record of whose it is.

Everything that makes a view ends in `alias`. The record, `tensor._view`, is what autograd needs when the memory is
overwritten through one of several names. Source: DifferentiableViewMeta in torch/csrc/autograd/variable.h.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..core.meta import Meta
from ..core.tensor import Tensor
from .state import state

# How a view was made, which decides whether autograd can follow a write through it.
DEFAULT, NO_GRAD, INFERENCE, MULTI_OUTPUT = range(4)

# `_autograd` of a tensor that requires grad (its base does) but has no place in the graph.
NOWHERE = (None, 0)


class View:
    """base: the tensor whose memory it is, never a view itself. creation: one of the constants above.

    version: the count of writes up to which the view's own history is right; after more, it follows from the base's.
    replay: makes the view again from the base, where strides alone do not describe it (another dtype).
    """

    __slots__ = ("base", "creation", "version", "replay")

    def __init__(self, base: Tensor, creation: int, version: int, replay: Callable[[Tensor], Tensor] | None):
        self.base, self.creation, self.version, self.replay = base, creation, version, replay


def alias(tensor: Tensor, meta: Meta, byte_offset: int, replay: Callable[[Tensor], Tensor] | None = None,
          several: bool = False) -> Tensor:
    """A view of `tensor` that reads its storage from `byte_offset` as `meta` says.

    replay: for another dtype, makes the view again: replay(tensor). several: one of several views made by one call.
    """
    result = Tensor(tensor._storage, meta, byte_offset, tensor._vc)
    if tensor._vc is None:  # an inference tensor keeps no record
        result._vc = None
        return result
    creation = (INFERENCE if state.inference else NO_GRAD if not state.grad_enabled else
                MULTI_OUTPUT if several else DEFAULT)
    base, above = tensor, tensor._view
    if above is not None:
        base, creation = above.base, creation or above.creation
        if above.replay is not None or replay is not None:
            replay = _chained(above.replay or _restride(base, tensor), replay or _restride(tensor, result))
    result._view = View(base, creation, tensor._vc[0], replay)
    if base._autograd is None or creation:
        if base._autograd is not None:
            result._autograd = NOWHERE
        _remember(base, result)
    return result


def untracked_alias(tensor: Tensor, meta: Meta | None = None) -> Tensor:
    """The same memory and version counter, without a history: what detach() gives."""
    result = Tensor(tensor._storage, meta or tensor._meta, tensor._offset, tensor._vc)
    result._vc = tensor._vc
    return result


def refuse_inference_tensor(target: Tensor) -> None:
    """Raises RuntimeError for a write to an inference tensor outside inference mode: nothing would count it."""
    if target._vc is None and not state.inference:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
                           "to get a normal tensor before doing inplace update.See "
                           "https://github.com/pytorch/rfcs/pull/17 for more details.")


def live_views(base: Tensor) -> list[Tensor]:
    """The views of `base` that may have to learn that it requires grad."""
    return [v for v in (ref() for ref in base.__dict__.get("_views", ())) if v is not None]


def _remember(base: Tensor, view: Tensor) -> None:
    """Keep a weak reference, so that a base that starts to require grad finds its views."""
    views = base.__dict__.setdefault("_views", [])
    views.append(weakref.ref(view))
    if len(views) & (len(views) - 1) == 0 and len(views) >= 32:  # at every power of two: forget the dead
        views[:] = [ref for ref in views if ref() is not None]


def _restride(parent: Tensor, view: Tensor) -> Callable[[Tensor], Tensor]:
    """A function that makes of another tensor what `view` is of `parent`."""
    layout, step = view._meta.layout, view.storage_offset() - parent.storage_offset()
    return lambda other: other.as_strided(layout.size, layout.stride, other.storage_offset() + step)


def _chained(first: Callable[[Tensor], Any], then: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    return lambda base: then(first(base))
