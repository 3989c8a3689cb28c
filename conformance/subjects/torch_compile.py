"""torch.compile: Inductor, and AOT tracing with eager kernels."""
from __future__ import annotations

import functools
import os
import shutil
from typing import Any

from ..case import Case, Outcome, View
from ..clause import Place
from ..execute import Call, NotRun, call_text, execute
from . import Spelling, covered_version, register
from .torch_eager import load_torch, missing_device, missing_torch, torch_environment

KEPT = 512  # compiled functions before all are forgotten; they hold memory


class TorchCompiled:
    """One compilation for each operator, form, dtype, layout and number, with static shapes and no graph breaks.

    A call that the compiler cannot capture as one graph is not run: it would be eager in disguise.
    """

    def __init__(self, backend: str, device: str | None = None):
        self.backend, self.device = backend, device or "cpu"
        self.name = f"torch-{backend.replace('_', '-')}" + ("" if self.device == "cpu" else f"-{self.device}")
        wrap = f'torch.compile(call, backend="{backend}", dynamic=False, fullgraph=True)'
        self.spelling = Spelling(wrap=wrap)
        self._compiled: dict[Any, Call] = {}

    def unavailable(self) -> str | None:
        missing = missing_torch() or missing_device(self.device)
        if not missing and self.backend == "inductor" and self.device == "cpu" and not cpp_compiler():
            return "Inductor needs a C++ compiler on the CPU (set CXX, or install g++ or clang++)"
        return missing

    def place(self) -> Place:
        mode = "inductor" if self.backend == "inductor" else "eager"  # aot_eager runs eager's kernels
        return Place(self.device.partition(":")[0], mode, covered_version(load_torch().__version__), costly=True)

    def environment(self) -> dict[str, str]:
        found = torch_environment(load_torch())
        if self.backend == "inductor":
            found["compiler"] = cpp_compiler() or ""
        return found

    def run(self, case: Case) -> Outcome:
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # workers are parallel already
        return execute(load_torch(), case, self.device, self._compile)

    def _compile(self, call: Call, case: Case) -> Call:
        torch = load_torch()
        from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException, Unsupported
        key = (call_text(case), tuple((name, _geometry(view)) for name, view in case.views().items()),
               case.grad is not None)
        if len(self._compiled) >= KEPT:
            torch._dynamo.reset()
            self._compiled.clear()
        compiled = self._compiled.get(key)
        if compiled is None:
            call.__code__ = call.__code__.replace()  # Dynamo counts recompilations by code object
            compiled = torch.compile(call, backend=self.backend, dynamic=False, fullgraph=True)
            self._compiled[key] = compiled

        def run(**tensors: Any) -> Any:
            try:
                return compiled(*tensors.values())
            except (Unsupported, FailOnRecompileLimitHit) as e:
                if e.__cause__ is not None and not isinstance(e.__cause__, TorchDynamoException):
                    raise e.__cause__ from None  # the call's own error, met while tracing
                raise NotRun(f"torch.compile cannot capture it: {(str(e).splitlines() or [''])[0]}") from e
        return run


def _geometry(view: View) -> tuple[Any, ...]:
    return view.buffer, view.dtype, view.size, view.stride, view.requires_grad, view.on_host


def cpp_compiler() -> str | None:
    """The C++ compiler that Inductor would find."""
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if name and shutil.which(name):
            return name
    return None


register("torch-inductor")(functools.partial(TorchCompiled, "inductor"))
register("torch-aot-eager")(functools.partial(TorchCompiled, "aot_eager"))
