"""What every operator's declaration must satisfy."""
from __future__ import annotations

import ast
import inspect
import textwrap

import pytest

import reftorch
from reftorch.core.dtype import DTYPES
from reftorch.core.spec import SPEC_VERSIONS
from reftorch.dispatch.operator import REGISTRY
from reftorch.dispatch.pointwise import Pointwise
from reftorch.numerics import arith
from reftorch.numerics.arith import PRIMITIVES

# Those with a chapter: one file each, named after it.
OPERATORS = sorted((op for op in REGISTRY.values() if isinstance(op, Pointwise)
                    and op.module == f"reftorch.ops.{op.name}"), key=lambda op: op.name)
IDS = [op.name for op in OPERATORS]


def test_there_are_operators():
    assert len(OPERATORS) >= 20


@pytest.mark.parametrize("op", OPERATORS, ids=IDS)
def test_formulas_are_named_and_placed(op):
    names = {}
    for f in op.formulas:
        assert f.name, f  # legal nowhere is allowed: a common mistake is worth a name
        names.setdefault(f.name, f.function)
        assert names[f.name] is f.function, f"two formulas are named {f.name}"
        known = {p.name for p in op.parameters}
        assert set(f.parameters) <= known, (f.name, f.parameters)


@pytest.mark.parametrize("op", OPERATORS, ids=IDS)
def test_formulas_use_only_what_every_reading_knows(op):
    for f in op.formulas:
        code = f.function.__code__
        outside = set(code.co_names) - set(PRIMITIVES)
        for name in outside:
            value = f.function.__globals__.get(name)
            assert inspect.isfunction(value) or value is arith, f"{f.name} uses {name}"
        tree = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(f.function))))
        assert not any(isinstance(n, (ast.If, ast.IfExp, ast.While, ast.For, ast.BoolOp)) for n in tree), f.name


@pytest.mark.parametrize("version", SPEC_VERSIONS)
@pytest.mark.parametrize("op", OPERATORS, ids=IDS)
def test_every_type_has_a_legal_formula_on_both_devices(op, version):
    """For at least one set of operands; which set is the operator's business (clamp, div's modes)."""
    for name in op.types:
        dtype = DTYPES[name]
        for device in ("cpu", "cuda"):
            fitting = [f for f in op.formulas if (f.categories is None or dtype.category in f.categories)
                       and (f.dtypes is None or name in f.dtypes)]
            # bool and integers may be listed for div's sake, which promotes them unless a rounding mode is given.
            assert not fitting or any(on.admits(device, "eager", version) for f in fitting for on in f.on), (name, device)


@pytest.mark.parametrize("op", OPERATORS, ids=IDS)
def test_derivatives_name_what_exists(op):
    known = {p.name for p in op.parameters} | {"grad", "result"}
    for argument, function in op.derivative_of.items():
        assert argument in known
        assert set(inspect.signature(function).parameters) <= known, argument


@pytest.mark.parametrize("op", OPERATORS, ids=IDS)
def test_the_public_forms_exist(op):
    assert callable(getattr(reftorch, op.name))
    assert hasattr(reftorch.Tensor, op.name) == op.has_method
    assert hasattr(reftorch.Tensor, op.name + "_") == op.has_in_place


def test_a_name_is_registered_once():
    with pytest.raises(RuntimeError, match="registered already"):
        Pointwise("add(Tensor self) -> Tensor", kernel="x", types=())
