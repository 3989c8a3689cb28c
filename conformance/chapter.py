"""A chapter: one operator with all its clauses, its own and those of the families that it belongs to."""
from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable

from reftorch.dispatch.pointwise import Pointwise

from .clause import Check, Clause, Place
from .families import differentiable, elementwise, errors, in_place, memory, method, out, promotion, shape

Own = str | Callable[[Pointwise, Place], Check]


class Chapter:
    """The clauses of one operator.

    own: for each clause of the operator's docstring (C1, C2, ...) either a check, or the keys of the clauses whose
    checks cover it ('E1, E3'). Families follow from what the operator has: an in-place form, an out= form, derivatives.
    Raises ValueError if a clause has neither, or a key names no clause.
    """

    def __init__(self, op: Pointwise, **own: Own):
        self.op, self.own = op, own
        numbered = docstring_clauses(op.doc)
        if set(own) != set(numbered):
            odd = sorted(set(own) ^ set(numbered))
            raise ValueError(f"{op.name}: clauses of the docstring and of the chapter differ: {', '.join(odd)}")
        self._clauses = (*(self._own(key, *numbered[key]) for key in own), *self._shared())
        keys = {c.key for c in self._clauses}
        for c in self._clauses:
            missing = [k for k in c.covered_by.split(", ") if c.covered_by and k not in keys]
            if missing:
                raise ValueError(f"{op.name}.{c.key} is said to be covered by {', '.join(missing)}, which is not there")

    def _own(self, key: str, text: str, source: str) -> Clause:
        own = self.own[key]
        return Clause(key, text, source, None, own) if isinstance(own, str) else Clause(key, text, source, own)

    def _shared(self) -> tuple[Clause, ...]:
        op = self.op
        families = [elementwise, promotion, shape, memory]
        families += [method] * op.has_method + [in_place] * op.has_in_place + [out] * op.has_out
        families += [differentiable] * bool(op.derivative_of)
        return tuple(c for family in (*families, errors) for c in family.CLAUSES)

    def clauses(self) -> tuple[Clause, ...]:
        return self._clauses


def docstring_clauses(doc: str) -> dict[str, tuple[str, str]]:
    """The numbered clauses of an operator's docstring: key -> (text, source).

    'C1  Text over lines, indented.  [source]'.
    """
    found = {}
    for key, body in re.findall(r"^(C\d+)  (.*(?:\n    .*)*)", doc, re.MULTILINE):
        text = " ".join(body.split())
        match = re.fullmatch(r"(.*?)\s*\[([^\[\]]*)\]", text)
        if match is None:
            raise ValueError(f"clause {key} does not end with a [source]: {text}")
        found[key] = (match[1], match[2])
    return found


@functools.cache
def chapters() -> dict[str, Chapter]:
    """Every chapter by the operator's name: the files of conformance/chapters."""
    from . import chapters as package
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__))
    return {name: importlib.import_module(f"{package.__name__}.{name}").chapter for name in names}
