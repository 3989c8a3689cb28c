"""Run a case on anything that has PyTorch's shape, and collect all that can be observed of it.

The same code serves every subject: real PyTorch and reftorch differ only in the namespace that is handed in. The call
itself is a line of Python text made from the case; the reproduction script shows that very line.
"""
from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from reftorch.core.dtype import DTYPES
from reftorch.dispatch.operator import FUNCTIONAL, INPLACE, OUT, Operator

from .case import Case, Error, Outcome, Value, View

METHOD = "method"
Call = Callable[..., Any]


# ---- the call as text ----
def literal(value: Value) -> str:
    """A Python expression for a number, string or None, exact to the bit."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value!r}")'
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    return repr(value)


def operator_of(case: Case) -> Operator:
    op: Operator = getattr(importlib.import_module(f"reftorch.ops.{case.op}"), case.op)
    return op


def call_text(case: Case, functions: str = "torch") -> str:
    """The call, e.g. 'torch.addcmul(self, tensor1, tensor2, value=0.5)', with the arguments' names as variables.

    functions: where functions are found. In-place calls are methods in PyTorch; with another place than 'torch' they
    are functions too (torch._refs.add_).
    """
    def text(name: str, value: Value) -> str:
        return name if isinstance(value, View) else literal(value)

    positional, keywords, gap = [], [], False
    parameters = list(operator_of(case).parameters)
    on_self = case.form == METHOD or case.form == INPLACE and functions == "torch"
    if on_self:  # the tensor itself comes first, wherever the schema has it
        parameters.sort(key=lambda p: p.name != "self")
    for p in parameters:
        if p.name not in case.args:
            gap = True
        elif p.kwarg_only or gap:
            name = "input" if p.name == "self" and case.form not in (METHOD, INPLACE) else p.name
            keywords.append(f"{name}={text(p.name, case.args[p.name])}")
        else:
            positional.append(text(p.name, case.args[p.name]))
    known = {p.name for p in parameters}
    keywords += [f"{k}={text(k, v)}" for k, v in case.args.items() if k not in known]
    if case.form == OUT:
        keywords.append("out=out")
    name = case.op + ("_" if case.form == INPLACE else "")
    target = functions if not on_self else positional.pop(0)
    return f"{target}.{name}({', '.join(positional + keywords)})"


def function_of(case: Case, namespace: Any, functions: str = "torch") -> Call:
    """A function of the case's tensors, by name, that makes the call. Its code is its own, as torch.compile needs."""
    space = {"torch": namespace}
    exec(_compiled(f"def call({', '.join(case.views())}):\n    return {call_text(case, functions)}\n"), space)
    call: Call = space["call"]
    return call


@lru_cache(4096)
def _compiled(source: str) -> Any:
    return compile(source, "<case>", "exec")


# ---- tensors ----
class Memory:
    """The buffers of a case on a device, and the tensors that are views of them."""

    def __init__(self, namespace: Any, case: Case, device: str):
        self.ns, self.case, self.device = namespace, case, device
        self.bases: dict[tuple[int, bool], Any] = {}
        self.leaves: dict[str, Any] = {}

    def base(self, index: int, on_host: bool) -> Any:
        """All bytes of a buffer, as a one-dimensional uint8 tensor in memory of the subject's own allocator."""
        found = self.bases.get((index, on_host))
        if found is None:
            data = self.case.buffers[index]
            host = self.ns.from_numpy(np.array(data if data.size else np.zeros(16), np.uint8)).clone()
            found = self.bases[index, on_host] = host if on_host else host.to(self.device)
        return found

    def view(self, name: str, view: View, resizable: bool = False) -> Any:
        """The tensor that `view` describes. Not an autograd view of the buffer, except where out= may resize it."""
        on_host = view.on_host or self.device == "cpu"
        base, itemsize = self.base(view.buffer, on_host), DTYPES[view.dtype].itemsize
        whole = base[:base.numel() // itemsize * itemsize].view(getattr(self.ns, view.dtype))
        tensor = whole.as_strided(view.size, view.stride, view.offset)
        if not resizable:
            tensor = tensor.detach()
        if not view.requires_grad:
            return tensor
        if view.leaf:
            self.leaves[name] = tensor.requires_grad_()
            return tensor
        self.leaves[name] = leaf = tensor.clone().requires_grad_()
        tensor.copy_(leaf)
        return tensor

    def read(self) -> list[np.ndarray]:
        """The bytes of all buffers now; those that no tensor was made of are as they were."""
        def bytes_of(index: int, data: np.ndarray) -> np.ndarray:
            base = self.bases.get((index, False), self.bases.get((index, True)))
            return data.copy() if base is None else np.array(base.to("cpu").numpy())[:data.size]
        return [bytes_of(i, data) for i, data in enumerate(self.case.buffers)]


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def bits_of(namespace: Any, tensor: Any) -> np.ndarray:
    """The bits of a tensor as a NumPy array of its size. Goes through bytes, because NumPy lacks some dtypes."""
    tensor = tensor.detach()
    if DTYPES[dtype_name(tensor)].is_complex:
        tensor = tensor.resolve_conj() if hasattr(tensor, "resolve_conj") else tensor
    if hasattr(tensor, "resolve_neg"):
        tensor = tensor.resolve_neg()
    flat = tensor.to("cpu").contiguous()
    flat = flat.as_strided((flat.numel(),), (1,))  # one element may keep any stride, which view(uint8) refuses
    raw = np.array(flat.view(namespace.uint8).numpy()) if flat.numel() else np.empty(0, np.uint8)
    return raw.view(DTYPES[dtype_name(tensor)].np).reshape(tuple(tensor.shape))


# ---- one execution ----
def execute(namespace: Any, case: Case, device: str = "cpu",
            transform: Callable[[Call, Case], Call] | None = None) -> Outcome:
    """Run a case and report what it showed. What the call raises is part of the outcome.

    namespace: a torch-shaped module. transform: given the call and the case, the function to call instead
    (torch.compile). Raises NotImplementedError if the namespace cannot express the case: it was not run then.
    """
    memory = Memory(namespace, case, device)
    try:
        tensors = {name: memory.view(name, view, resizable=name == "out") for name, view in case.views().items()}
        grad = None if case.grad is None else memory.view("", case.grad)
    except Exception as e:
        raise NotImplementedError(f"its tensors cannot be made: {type(e).__name__}: {_first_line(e)}") from e
    _require(namespace, case, tensors)
    call = function_of(case, namespace)
    if transform is not None:
        call = transform(call, case)
    outcome = Outcome()
    before = {name: _version(t) for name, t in tensors.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = _attempt(outcome, "forward", lambda: call(**tensors))
        outcome.versions = {name: (before[name], _version(t)) for name, t in tensors.items()}
        if outcome.error is None:
            _attempt(outcome, "result", lambda: _describe(outcome, namespace, result, tensors))
        if outcome.error is None and case.modify:
            _attempt(outcome, "result", lambda: _overwrite(result if case.modify == "result" else tensors[case.modify]))
        if outcome.error is None and grad is not None:
            _attempt(outcome, "backward", lambda: result.backward(grad))
        for name, leaf in memory.leaves.items():
            outcome.grads[name] = None
            if leaf.grad is not None:
                outcome.grads[name] = bits_of(namespace, leaf.grad)
                outcome.grad_dtypes[name] = dtype_name(leaf.grad)
        if case.out is not None:
            outcome.out_size, outcome.out_stride = tuple(tensors["out"].shape), tuple(tensors["out"].stride())
        outcome.buffers = memory.read()
    outcome.warnings = tuple(str(w.message) for w in caught)
    return outcome


def _require(namespace: Any, case: Case, tensors: dict[str, Any]) -> None:
    """Raises NotImplementedError if the subject lacks the form. A missing form is not an error of the call."""
    if case.form in (FUNCTIONAL, OUT):
        if not hasattr(namespace, case.op):
            raise NotImplementedError(f"the subject has no function {case.op}")
    elif "self" in tensors:
        name = case.op + ("_" if case.form == INPLACE else "")
        if not hasattr(tensors["self"], name):
            raise NotImplementedError(f"the subject has no method {name}")


def _attempt(outcome: Outcome, phase: str, action: Callable[[], Any]) -> Any:
    try:
        return action()
    except NotRun:
        raise
    except Exception as e:
        bases = tuple(c.__name__ for c in type(e).__mro__[1:] if c not in (object, BaseException))
        outcome.error = Error(type(e).__name__, bases, str(e), phase)
        return None


class NotRun(NotImplementedError):
    """Raised from inside a transformed call: the subject cannot express the case, which says nothing about it."""


def _describe(outcome: Outcome, namespace: Any, result: Any, tensors: dict[str, Any]) -> None:
    if not hasattr(result, "untyped_storage"):
        raise TypeError(f"the call returned {type(result).__name__}, not a tensor")
    outcome.dtype, outcome.device = dtype_name(result), result.device.type
    outcome.size, outcome.stride = tuple(result.shape), tuple(result.stride())
    outcome.offset = result.storage_offset()
    outcome.same_object = tuple(name for name, t in tensors.items() if t is result)
    place = _place(result)
    outcome.shares = tuple(name for name, t in tensors.items() if t is result or place[1] and _place(t) == place)
    outcome.requires_grad = bool(result.requires_grad)
    node = result.grad_fn
    outcome.grad_fn = None if node is None else str(node.name())
    outcome.bits = bits_of(namespace, result)


def _overwrite(tensor: Any) -> None:
    """Write a tensor's own values over it, behind autograd's back; its version grows all the same."""
    tensor = tensor.detach()
    tensor.copy_(tensor.clone())


def _place(tensor: Any) -> tuple[str, int]:
    return str(tensor.device), tensor.untyped_storage().data_ptr()


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # inference tensors have none
        return 0


def _first_line(e: BaseException) -> str:
    return (str(e).splitlines() or [""])[0]
