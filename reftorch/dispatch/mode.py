"""The mode stack: a mode sees every operator call while it is active.

    class Log(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            print(func)
            return func(*args, **(kwargs or {}))

Inside the handler the mode is off, so calling `func` goes to the next mode, or to the operator itself.
Source: torch.utils._python_dispatch.TorchDispatchMode.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from .state import state


class DispatchMode:
    """Base class. `with mode:` puts it on this thread's stack; the innermost mode sees a call first."""

    def __torch_dispatch__(self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __torch_dispatch__")

    def __enter__(self) -> DispatchMode:
        state.modes += (self,)
        state.refresh()
        return self

    def __exit__(self, *exc: object) -> None:
        assert state.modes[-1] is self, "modes must be left in the reverse order of entering"
        state.modes = state.modes[:-1]
        state.refresh()


def through_modes(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a call to the innermost mode, with that mode switched off meanwhile."""
    stack = state.modes
    state.modes = stack[:-1]
    state.refresh()
    try:
        types = tuple({type(a) for a in (*args, *kwargs.values()) if isinstance(a, Tensor)})
        return stack[-1].__torch_dispatch__(func, types, args, kwargs)
    finally:
        state.modes = stack
        state.refresh()
