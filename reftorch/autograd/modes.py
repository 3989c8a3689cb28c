"""Switches for recording: no_grad, enable_grad, set_grad_enabled, inference_mode.

Each is a context manager and a decorator, and holds for the current thread.
Source: torch/autograd/grad_mode.py, torch/utils/_contextlib.py.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..dispatch.state import state


def is_grad_enabled() -> bool:
    """Whether operators record what they do for autograd."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    return state.inference


class _Switch:
    """Context manager and decorator. A subclass says in `enter` and `leave` what it switches."""

    def enter(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        raise NotImplementedError

    def clone(self) -> _Switch:
        return type(self)()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *exc: object) -> None:
        self.leave()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return _generator(self.clone, function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)
        return inside


def _generator(make: Callable[[], _Switch], function: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function whose body runs under the switch, and whose caller, between two values, does not."""
    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with make():
            running = function(*args, **kwargs)
        step: Callable[..., Any] = running.send
        given: Any = None
        while True:
            try:
                with make():
                    value = step(given)
            except StopIteration as stop:
                return stop.value
            try:
                step, given = running.send, (yield value)
            except GeneratorExit:
                running.close()
                raise
            except BaseException as error:
                step, given = running.throw, error
    return inside


class _Grad(_Switch):
    wanted: bool

    def enter(self) -> None:
        self.before = state.grad_enabled
        state.grad_enabled = self.wanted

    def leave(self) -> None:
        state.grad_enabled = self.before

    def __new__(cls, function: Any = None) -> Any:
        switch = super().__new__(cls)
        return switch if function is None else switch(function)  # @no_grad without parentheses


class no_grad(_Grad):
    """Operators record nothing; their results do not require grad. Views made inside may not be written to outside."""

    wanted = False


class enable_grad(_Grad):
    """Operators record again, inside no_grad."""

    wanted = True


class set_grad_enabled(_Switch):
    """Switch recording on or off: at once, and until the end of the block if used as a context manager."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)
        self.before = state.grad_enabled
        state.grad_enabled = self.mode

    def enter(self) -> None:
        state.grad_enabled = self.mode

    def leave(self) -> None:
        state.grad_enabled = self.before

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.grad_enabled = self.before  # as a decorator it says nothing about now
        return super().__call__(function)


class inference_mode(_Switch):
    """no_grad, and tensors made inside have neither a version counter nor a record of views: autograd never sees them.

    mode=False switches back to normal inside an inference_mode block.
    """

    def __new__(cls, mode: Any = True) -> Any:
        switch = super().__new__(cls)
        if isinstance(mode, bool):
            return switch
        switch.mode = True
        return switch(mode)  # @inference_mode without parentheses

    def __init__(self, mode: bool = True):
        self.mode = mode

    def enter(self) -> None:
        self.before = state.inference, state.grad_enabled
        state.inference, state.grad_enabled = self.mode, not self.mode
        state.refresh()

    def leave(self) -> None:
        state.inference, state.grad_enabled = self.before
        state.refresh()

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)

