"""Geometry of pointwise results, against PyTorch on random layouts."""
from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reftorch.core.layout import Layout, broadcast_shapes, contiguous_stride, expand_strides
from reftorch.core.pointwise_layout import pointwise_output_strides, preserve_format

torch = pytest.importorskip("torch", reason="not run: torch is not installed")


def random_view(rng: random.Random, shape):
    """A tensor of this shape with some strides: permuted, stepped, offset, expanded, odd where a size is 1."""
    perm = list(range(len(shape)))
    rng.shuffle(perm)
    steps = [rng.choice((1, 1, 2)) for _ in shape]
    expanded = [rng.random() < 0.15 for _ in shape]
    base = torch.empty([1 if expanded[d] else shape[d] * steps[d] for d in perm])
    inverse = [perm.index(d) for d in range(len(shape))]
    view = base.permute(inverse)[tuple(slice(None, None, s) for s in steps)].expand(shape)
    if rng.random() < 0.2:
        view = view.as_strided(shape, [s if n != 1 else rng.choice((1, 5, 7)) for n, s in zip(shape, view.stride())])
    return view


def random_operands(rng: random.Random):
    shape = [rng.choice((0, 1, 2, 3, 4)) if rng.random() < 0.1 else rng.choice((1, 2, 3, 4))
             for _ in range(rng.randrange(5))]
    for _ in range(rng.choice((1, 2, 3))):
        own = shape[rng.randrange(len(shape) + 1):] if rng.random() < 0.2 else shape
        yield random_view(rng, [1 if rng.random() < 0.15 else n for n in own])


@given(st.randoms(use_true_random=False))
def test_strides_of_pointwise_results(rng):
    views = list(random_operands(rng))
    operators = {1: torch.neg, 2: torch.add, 3: torch.addcmul}
    result = operators[len(views)](*views)
    assert pointwise_output_strides([(v.shape, v.stride()) for v in views]) == result.stride()


def test_strides_of_pointwise_results_many():
    for seed in range(4000):
        views = list(random_operands(random.Random(seed)))
        result = {1: torch.neg, 2: torch.add, 3: torch.addcmul}[len(views)](*views)
        geometry = [(tuple(v.shape), v.stride()) for v in views]
        assert pointwise_output_strides(geometry) == result.stride(), (seed, geometry)
        assert tuple(broadcast_shapes(*(v.shape for v in views))) == tuple(result.shape)


def test_a_layout_knows_its_geometry():
    for seed in range(2000):
        view = next(random_operands(random.Random(seed)))
        layout = Layout.of(view.shape, view.stride())
        assert layout.contiguous == view.is_contiguous(), layout
        assert layout.dense == torch.ops.aten.is_non_overlapping_and_dense(view), layout
        assert layout.numel == view.numel()
        assert preserve_format(view.shape, view.stride()) == view.clone().stride(), layout
        assert contiguous_stride(view.shape) == torch.empty(view.shape).stride()
        assert expand_strides(layout, view.shape) == tuple(
            s if n == m else 0 for n, m, s in zip(view.shape, view.shape, view.stride()))


def test_equal_geometry_is_one_object():
    assert Layout.of([2, 3]) is Layout.of((2, 3), (3, 1))
    assert Layout.of((2, 3), (1, 2)) is not Layout.of((2, 3))


def test_shapes_that_do_not_broadcast():
    with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match the size of tensor b \(4\) at "
                                           r"non-singleton dimension 1"):
        broadcast_shapes((2, 3), (2, 4))
