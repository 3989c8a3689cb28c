"""Random programs give the same tensors, histories, gradients and errors as PyTorch."""
from __future__ import annotations

import warnings

import pytest
from hypothesis import HealthCheck, assume, given, settings

import reftorch

from . import autograd_programs as program

torch = pytest.importorskip("torch")


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(program.programs)
def test_same_as_torch(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = program.run(torch, case)
        except OverflowError:
            assume(False)
        found = program.run(reftorch, case)
    for ours, theirs in zip(found, expected):
        assert ours == theirs
