"""Basic indexing reads and writes what PyTorch's does."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reftorch

torch = pytest.importorskip("torch", reason="not run: torch is not installed")

bounds = st.none() | st.integers(-5, 5)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(-1, 3))
part = st.one_of(st.integers(-4, 4), slices, st.none(), st.just(Ellipsis))
keys = st.one_of(part, st.lists(part, max_size=5).map(tuple)).filter(
    lambda key: not isinstance(key, tuple) or key.count(Ellipsis) < 2)  # PyTorch reads beyond the sizes after a second one
SHAPES = [(), (3,), (3, 4), (2, 0), (1, 2, 3), (4, 3, 2)]


def attempt(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except Exception as error:  # noqa: BLE001
            return type(error).__name__, str(error).split("\n")[0]


def filled(namespace, shape):
    n = int(np.prod(shape))
    return namespace.arange(float(n)).view(shape)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(keys, st.sampled_from(SHAPES))
def test_read(key, shape):
    def read(namespace):
        got = filled(namespace, shape)[key]
        return tuple(got.shape), tuple(got.stride()), got.storage_offset(), got._is_view(), got.tolist()
    assert attempt(lambda: read(reftorch)) == attempt(lambda: read(torch))


@settings(max_examples=600, deadline=None, derandomize=True)
@given(keys, st.sampled_from(SHAPES), st.sampled_from([7, -2.5, True, (), (1,), (3,), (1, 4), (1, 1, 3), (2, 3)]))
def test_write(key, shape, value):
    def write(namespace):
        x = filled(namespace, shape)
        x[key] = namespace.full(value, -1.0) if isinstance(value, tuple) else value
        return x.tolist(), x._version
    assert attempt(lambda: write(reftorch)) == attempt(lambda: write(torch))


@pytest.mark.parametrize("key", [0.5, "a", np.int64(1), slice("a", None), slice(1.0, 2), [0, 1], True, np.array([0, 1])])
def test_unusual_keys(key):
    ours = attempt(lambda: filled(reftorch, (3, 4))[key].tolist())
    theirs = attempt(lambda: filled(torch, (3, 4))[key].tolist())
    if ours[0] == "NotImplementedError":
        assert "not covered" in ours[1] and isinstance(key, (list, bool, np.ndarray))
    else:
        assert ours == theirs or key == "a"  # PyTorch tries to make a tensor of it


def test_tensor_index():
    x = filled(reftorch, (3, 4))
    assert x[reftorch.tensor(1)].tolist() == [4, 5, 6, 7]
    assert x[reftorch.tensor(0):reftorch.tensor(2), reftorch.tensor(-1)].tolist() == [3, 7]
    with pytest.raises(IndexError, match="must be long, int, byte or bool"):
        x[reftorch.tensor(1.0)]
    with pytest.raises(NotImplementedError):
        x[reftorch.tensor([0, 1])]
    with pytest.raises(NotImplementedError):
        x[reftorch.tensor(True)]
    with pytest.raises(NotImplementedError):
        x[reftorch.tensor([True, False, True])] = 1.0


@pytest.mark.parametrize("value", ["a", None, [1, 2], np.ones(4), 1j, 1e39])
def test_bad_values(value):
    def write(namespace):
        x = filled(namespace, (3, 4))
        x[0] = value
        return x.tolist()
    assert attempt(lambda: write(reftorch)) == attempt(lambda: write(torch))


def test_write_is_seen_through_views():
    x = filled(reftorch, (3, 4))
    row, column = x[1], x[:, 1]
    x[1, 1] = 100
    assert row.tolist()[1] == column.tolist()[1] == 100
    assert x._version == row._version == 1
