"""The implementations that can be held against the specification.

Each file here registers its subjects by decorator. Another package adds its own in the entry-point group
`reftorch.subjects`: the entry's name is the subject's, its object is called with `device` (a string or None) and gives
a conformance.clause.Subject. For trying one out, 'package.module:object' works as a name too.
"""
from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from reftorch.core.spec import SPEC_VERSIONS

from ..clause import Subject

Factory = Callable[..., Subject]
_registered: dict[str, Factory] = {}


@dataclass(frozen=True)
class Spelling:
    """How a reproduction script says what a subject does. A subject has one as its attribute `spelling`.

    setup: lines that make the name `torch`. functions: where functions are found. wrap: what is done to the function
    `call` before it is called, e.g. 'torch.compile(call, backend="inductor")'. threads: a line that sets what results
    of large tensors may depend on.
    """

    setup: tuple[str, ...] = ("import torch",)
    functions: str = "torch"
    wrap: str = ""
    threads: str = ""


def register(name: str) -> Callable[[Factory], Factory]:
    """Decorator: a function or class that makes the subject `name` for a device (None: its usual one)."""
    def add(make: Factory) -> Factory:
        _registered[name] = make
        return make
    return add


def subjects() -> dict[str, Factory]:
    """Every subject by name, whether it can run here or not. Imports none of the implementations."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    found = dict(_registered)
    for entry in entry_points(group="reftorch.subjects"):
        found.setdefault(entry.name, lambda device=None, entry=entry: _make(entry.load(), device))
    return found


def make_subject(name: str, device: str | None = None) -> Subject:
    """The subject called `name`. Raises LookupError, naming the known ones, if there is none."""
    known = subjects()
    if name in known:
        return _make(known[name], device)
    module, colon, attribute = name.partition(":")
    if colon:
        try:
            return _make(getattr(importlib.import_module(module), attribute), device)
        except (ImportError, AttributeError) as e:
            raise LookupError(f"no subject {name!r}: {e}") from e
    raise LookupError(f"no subject {name!r}: there are {', '.join(known)}")


def _make(make: Any, device: str | None) -> Subject:
    takes_device = "device" in inspect.signature(make).parameters
    return make(device=device) if takes_device else make()  # type: ignore[no-any-return]


# ---- what several subjects say in the same way ----
def covered_version(version: str) -> str:
    """The version of the specification that speaks for a release: its own, or the nearest."""
    def number(v: str) -> tuple[int, ...]:
        return tuple(int(x) for x in v.split("+")[0].split(".")[:2])
    older = [v for v in SPEC_VERSIONS if number(v) <= number(version)]
    return older[-1] if older else SPEC_VERSIONS[0]


_SWITCHES = ("ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "MKL_DEBUG_CPU_TYPE", "DNNL_MAX_CPU_ISA")


def machine() -> dict[str, str]:
    """What results may depend on, whatever the subject: processor, NumPy, and switches in the environment."""
    found = {"machine": platform.machine(), "processor": _processor(), "numpy": np.__version__,
             "python": platform.python_version()}
    return found | {name: os.environ[name] for name in _SWITCHES if name in os.environ}


def _processor() -> str:
    """Vendor, family and model, as far as the system tells; libraries choose their kernels by these."""
    try:
        with open("/proc/cpuinfo") as f:
            lines = [line.split(":", 1) for line in f.read().split("\n\n")[0].splitlines() if ":" in line]
    except OSError:
        return platform.processor()
    info = {k.strip(): v.strip() for k, v in lines}
    words = [info.get("vendor_id", info.get("CPU implementer", "")), info.get("cpu family", ""), info.get("model", "")]
    return " ".join(w for w in words if w)
