"""What must hold of the formulas and clauses of every pointwise operator."""
from __future__ import annotations

import itertools
import re

import pytest

import reftorch  # noqa: F401  (registers the operators)
from reftorch.core.dtype import DTYPES
from reftorch.core.spec import SPEC_VERSIONS
from reftorch.dispatch.operator import REGISTRY
from reftorch.dispatch.pointwise import Pointwise

OPERATORS = {name: op for name, op in REGISTRY.items() if isinstance(op, Pointwise)}
PLACES = [("cpu", "refs"), *itertools.product(("cpu", "cuda", "xpu"), ("eager", "inductor"))]


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_whatever_has_a_formula_has_a_legal_one_everywhere(op):
    calls = {(frozenset(f.parameters), tuple(f.when.items())) for f in op.formulas}
    for (given, when), dtype in itertools.product(calls, op.types):
        category = DTYPES[dtype].category
        if not any(op.formulas_for(given, dict(when), category, dtype)):
            continue
        for (device, mode), version in itertools.product(PLACES, SPEC_VERSIONS):
            legal = op.legal_formulas(given, dict(when), category, dtype, device, mode, version)
            assert legal, (sorted(given), when, dtype, device, mode, version)
            assert len({f.function for f in legal}) == len(legal), "one formula, legal twice"


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_every_dtype_has_a_formula(op):
    for dtype in op.types:
        assert any(f.dtypes is None and f.categories is None or DTYPES[dtype].category in (f.categories or ())
                   or dtype in (f.dtypes or ()) for f in op.formulas)


@pytest.mark.parametrize("op", OPERATORS.values(), ids=OPERATORS)
def test_names_are_distinct(op):
    functions = {f.function for f in op.formulas}
    assert len({f.function.__doc__ for f in op.formulas}) == len(functions)


@pytest.mark.parametrize("op", [op for op in OPERATORS.values() if op.module.rpartition(".")[2][0] != "_"],
                         ids=lambda op: op.name)
def test_clauses(op):
    """Numbered from C1 on; each ends with its source in brackets; then come examples."""
    clauses = re.findall(r"^(C\d+)  (.+(?:\n    .+)*)", op.doc, re.M)
    assert [key for key, _ in clauses] == [f"C{i + 1}" for i in range(len(clauses))] != []
    for key, text in clauses:
        assert re.search(r"\[[^\[\]]+\]$", text), key
    assert op.doc.count(">>> ") >= 3
