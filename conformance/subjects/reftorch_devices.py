"""reftorch itself, on each of its devices: the specification held against itself."""
from __future__ import annotations

import functools
from typing import Any

from reftorch.core.spec import spec_version

from ..case import Case, Outcome
from ..clause import Place
from ..execute import execute
from . import Spelling, machine, register


class Reftorch:
    """reftorch on one device. Its version is the specification's (REFTORCH_SPEC_VERSION)."""

    def __init__(self, device: str):
        self.device = device
        self.name = "reftorch" if device == "cpu" else f"reftorch-{device}"
        self.spelling = Spelling(("import reftorch as torch",))

    def unavailable(self) -> str | None:
        return None

    def place(self) -> Place:
        return Place(self.device, "eager", spec_version())

    def environment(self) -> dict[str, str]:
        import llvmlite
        import numba
        return {"reftorch": _library().__version__, "numba": numba.__version__, "llvmlite": llvmlite.__version__,
                **machine()}

    def run(self, case: Case) -> Outcome:
        return execute(_library(), case, self.device)


def _library() -> Any:
    import reftorch
    return reftorch


@register("reftorch")
def reftorch_on(device: str | None = None) -> Reftorch:
    return Reftorch(device or "cpu")


register("reftorch-cuda")(functools.partial(Reftorch, "cuda"))
