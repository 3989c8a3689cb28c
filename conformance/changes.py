"""What differs between two releases, read off the places where formulas are legal."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reftorch.dispatch.operator import Formula, Operator

_WORDS = {0: "bool", 1: "integers", 2: "floats", 3: "complex"}


@dataclass(frozen=True)
class Change:
    """where: the places, and what calls it is about. before, after: the legal formulas."""

    where: tuple[str, ...]
    before: str
    after: str


def changed_formulas(op: Operator, old: str, new: str) -> list[Change]:
    """The places and kinds of calls whose legal formulas are not the same in the two releases, by how they changed."""
    places = sorted({(on.device, on.mode) for f in op.formulas for on in f.on})
    kinds: dict[tuple[Any, ...], list[Formula]] = {}
    for f in op.formulas:
        for category in f.categories or (None,):
            key = (category, f.dtypes, tuple(sorted(f.when.items())), frozenset(f.parameters))
            kinds.setdefault(key, []).append(f)
    found: dict[tuple[str, str], list[str]] = {}
    for device, mode in places:
        for (category, dtypes, when, _), formulas in kinds.items():
            legal = [[f.name for f in formulas if any(on.admits(device, mode, v) for on in f.on)] for v in (old, new)]
            if legal[0] != legal[1]:
                words = [*([_WORDS[category]] if category is not None else []), *(dtypes or ()),
                         *(f"{k}={v!r}" for k, v in when)]
                before, after = (" or ".join(dict.fromkeys(names)) or "not specified" for names in legal)
                where = f"{device} {mode}" + (f", {', '.join(words)}" if words else "")
                found.setdefault((before, after), []).append(where)
    return [Change(tuple(where), before, after) for (before, after), where in found.items()]
