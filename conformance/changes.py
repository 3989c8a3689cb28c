"""What differs between two releases, read off the places where formulas are legal."""
from __future__ import annotations

from dataclasses import dataclass

from reftorch.core.dtype import DTYPES
from reftorch.dispatch.operator import Formula
from reftorch.dispatch.pointwise import Pointwise


@dataclass(frozen=True)
class Change:
    """where: the places, and the dtypes and options it is about. before, after: the legal formulas."""

    where: tuple[str, ...]
    before: str
    after: str


def changed_formulas(op: Pointwise, old: str, new: str) -> list[Change]:
    """The places and kinds of calls whose legal formulas are not the same in the two releases, by how they changed."""
    places = sorted({(on.device, on.mode) for f in op.formulas for on in f.on})
    kinds = {(f.parameters, tuple(f.when.items())): None for f in op.formulas}
    found: dict[tuple[str, str], list[str]] = {}
    for device, mode in places:
        for parameters, when in kinds:
            dtypes: dict[tuple[str, str], list[str]] = {}
            for name in op.types:
                before, after = (op.legal_formulas(parameters, dict(when), DTYPES[name].category, name, device, mode, v)
                                 for v in (old, new))
                if before != after:
                    dtypes.setdefault((said(before), said(after)), []).append(name)
            for change, names in dtypes.items():
                options = "".join(f", {k}={v!r}" for k, v in when)
                where = f"{device} {mode}{options}: {', '.join(names)}"
                if where not in found.setdefault(change, []):
                    found[change].append(where)
    return [Change(tuple(where), before, after) for (before, after), where in found.items()]


def said(formulas: list[Formula]) -> str:
    return " or ".join(f.name for f in formulas) or "not specified"
