"""PyTorch itself, eagerly, on any device it has."""
from __future__ import annotations

import importlib.util
import os
from typing import Any

from ..case import Case, Outcome
from ..clause import Place
from ..execute import execute
from . import Spelling, covered_version, machine, register

THREADS = 2  # results of large tensors depend on it, so it is the same on every machine


def load_torch() -> Any:
    """torch, set up so that results are the same in every run."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # workers share the cores
    import torch
    torch.set_num_threads(THREADS)
    torch.set_warn_always(True)
    return torch


def torch_environment(torch: Any) -> dict[str, str]:
    spec = covered_version(torch.__version__)
    found = {"torch": torch.__version__, "git": str(torch.version.git_version)[:12], "threads": str(THREADS),
             "cpu_capability": torch.backends.cpu.get_cpu_capability(), **machine()}
    if not torch.__version__.startswith(spec + "."):
        found["note"] = f"the specification does not cover torch {torch.__version__}: its nearest version is {spec}"
    return found


@register("torch")
class TorchEager:
    """torch eager. device: any that torch knows ('cpu', 'cuda', 'xpu', 'mps', ...); default cpu."""

    def __init__(self, device: str | None = None):
        self.device = device or "cpu"
        self.name = "torch" if self.device == "cpu" else f"torch-{self.device}"
        self.spelling = Spelling(threads=f"torch.set_num_threads({THREADS})")

    def unavailable(self) -> str | None:
        return missing_torch() or missing_device(self.device)

    def place(self) -> Place:
        device = self.device.partition(":")[0]
        return Place(device, "eager", covered_version(load_torch().__version__))

    def environment(self) -> dict[str, str]:
        torch = load_torch()
        found = torch_environment(torch)
        if self.device.startswith("cuda"):
            found["gpu"] = torch.cuda.get_device_name(self.device)
            found["cuda"] = str(torch.version.cuda or torch.version.hip)
        return found

    def run(self, case: Case) -> Outcome:
        return execute(load_torch(), case, self.device)


def missing_torch() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed (pip install torch)"
    return None


def missing_device(device: str) -> str | None:
    if device == "cpu":
        return None
    try:
        load_torch().zeros(1, device=device)
    except Exception as e:  # torch raises a different one for every device
        return f"torch cannot use device {device!r}: {(str(e).splitlines() or [''])[0]}"
    return None
