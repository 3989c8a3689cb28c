"""A case: one call of one operator, as data. And an outcome: all that can be observed of it.

A case holds literal bits, so it means the same in every process, can be written into a reproduction script, and is
executed by the same code on every subject (conformance/execute.py).
"""
from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from reftorch.core.dtype import DTYPES

CANARY = 0xA5  # every byte of a buffer that belongs to no element of a view


@dataclass(frozen=True)
class View:
    """A tensor argument: a strided view (sizes, strides, offset in elements) of one of the case's buffers.

    on_host: a CPU tensor even when the case runs on another device (0-dim operands only).
    leaf: False for a tensor that requires grad and is the result of a copy (in place, into the same memory) from a
    leaf; the gradient of that leaf is reported under the argument's name. In-place methods need it.
    """

    buffer: int
    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0
    requires_grad: bool = False
    on_host: bool = False
    leaf: bool = True

    @property
    def numel(self) -> int:
        return int(np.prod(self.size, dtype=np.int64))

    def of(self, buffer: np.ndarray) -> np.ndarray:
        """The elements' bits (reftorch's carrier dtype) as a NumPy view of a byte buffer."""
        carrier = DTYPES[self.dtype].np
        return np.ndarray(self.size, carrier, buffer, self.offset * carrier.itemsize,
                          tuple(s * carrier.itemsize for s in self.stride))


Value = View | int | float | complex | bool | str | None


@dataclass
class Case:
    """One call.

    form: 'functional', 'method', 'in-place' or 'out='. args: by the schema's parameter names; views refer to
    `buffers` (byte arrays, uint8), and may share one. out: the out= tensor. grad: bits of the gradient that is fed to
    backward, or None for a call without backward. unit: what the case stands for within its clause ('float32 v != 1').
    modify: a tensor argument, or 'result', that is written to in place between the call and backward; its values stay,
    its version grows.
    """

    op: str
    form: str
    args: dict[str, Value]
    buffers: list[np.ndarray]
    out: View | None = None
    grad: View | None = None
    unit: str = ""
    note: dict[str, Any] = field(default_factory=dict)  # what the judge wants to remember; plain JSON values
    modify: str = ""

    def views(self) -> dict[str, View]:
        found = {k: v for k, v in self.args.items() if isinstance(v, View)}
        return found | ({"out": self.out} if self.out else {})

    def bits(self, name: str) -> np.ndarray:
        """The bits of a tensor argument before the call."""
        view = self.views()[name]
        return view.of(self.buffers[view.buffer])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives the case back, bit for bit."""
        def value(v: Value) -> Any:
            if isinstance(v, View):
                return {"view": asdict(v)}
            if isinstance(v, complex):
                return {"complex": [v.real.hex(), v.imag.hex()]}
            return {"float": v.hex()} if isinstance(v, float) else v
        return {"op": self.op, "form": self.form, "args": {k: value(v) for k, v in self.args.items()},
                "buffers": [base64.b85encode(b.tobytes()).decode() for b in self.buffers],
                "out": value(self.out), "grad": value(self.grad), "unit": self.unit, "modify": self.modify,
                "note": self.note}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Case:
        def value(v: Any) -> Any:
            if not isinstance(v, dict):
                return v
            if "view" in v:
                view = v["view"]
                return View(**{**view, "size": tuple(view["size"]), "stride": tuple(view["stride"])})
            if "complex" in v:
                return complex(*(float.fromhex(x) for x in v["complex"]))
            return float.fromhex(v["float"])
        return Case(data["op"], data["form"], {k: value(v) for k, v in data["args"].items()},
                    [np.frombuffer(base64.b85decode(b), np.uint8).copy() for b in data["buffers"]],
                    value(data["out"]), value(data["grad"]), data["unit"], data["note"], data.get("modify", ""))

    def with_args(self, /, **args: Value) -> Case:
        return replace(self, args={**self.args, **args})


@dataclass
class Error:
    """type: the exception's class name; bases: its bases' names. phase: 'forward', 'backward', or 'result'
    (reading what the call returned)."""

    type: str
    bases: tuple[str, ...]
    text: str
    phase: str = "forward"


@dataclass
class Outcome:
    """What one execution of a case showed.

    bits: the result in row-major order. buffers: all memory after the call, canaries included. same_object: names of
    arguments that the result is, as a Python object. shares: names of arguments whose storage the result lives in.
    versions: of each tensor argument, before and after. grads: bits per argument that requires grad (None: no
    gradient), in row-major order. warnings: their texts.
    """

    error: Error | None = None
    dtype: str = ""
    device: str = ""
    size: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    bits: np.ndarray | None = None
    buffers: list[np.ndarray] = field(default_factory=list)
    out_size: tuple[int, ...] | None = None
    out_stride: tuple[int, ...] | None = None
    same_object: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    requires_grad: bool = False
    grad_fn: str | None = None
    versions: dict[str, tuple[int, int]] = field(default_factory=dict)
    grads: dict[str, np.ndarray | None] = field(default_factory=dict)
    grad_dtypes: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
