"""PyTorch's own reference implementations in Python, which its decompositions are built on."""
from __future__ import annotations

import importlib

from ..case import Case, Outcome
from ..clause import Place
from ..execute import METHOD, Call, NotRun, execute, function_of
from . import Spelling, covered_version, register
from .torch_eager import THREADS, load_torch, missing_device, missing_torch, torch_environment


@register("torch-refs")
class TorchRefs:
    """torch._refs.<operator>. It has functions only: in-place forms are functions there, methods do not exist."""

    def __init__(self, device: str | None = None):
        self.device = device or "cpu"
        self.name = "torch-refs" if self.device == "cpu" else f"torch-refs-{self.device}"
        self.spelling = Spelling(("import torch", "import torch._refs"), "torch._refs",
                                 threads=f"torch.set_num_threads({THREADS})")

    def unavailable(self) -> str | None:
        return missing_torch() or missing_device(self.device)

    def place(self) -> Place:
        return Place(self.device.partition(":")[0], "refs", covered_version(load_torch().__version__))

    def environment(self) -> dict[str, str]:
        return torch_environment(load_torch())

    def run(self, case: Case) -> Outcome:
        return execute(load_torch(), case, self.device, _from_refs)


def _from_refs(call: Call, case: Case) -> Call:
    if case.form == METHOD:
        raise NotRun("torch._refs has no methods")
    torch = load_torch()
    refs = importlib.import_module("torch._refs")
    name = case.op + ("_" if case.form == "in-place" else "")
    if not hasattr(refs, name):
        raise NotRun(f"torch._refs has no {name}")
    return function_of(case, torch, "torch._refs")
