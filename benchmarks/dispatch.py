"""What one small operator costs through the public API: x + y of 8 elements, with and without grad.

Goal: no slower than PyTorch.
"""
from __future__ import annotations

import torch

import reftorch

from .measure import compare
from .pointwise import header, row


def main() -> None:
    torch.set_num_threads(1)
    reftorch.set_num_threads(1)
    header()
    for grad in (False, True):
        addition(grad)


def addition(grad: bool) -> None:
    values = [float(i) for i in range(8)]
    x, y = (reftorch.tensor(values, requires_grad=grad) for _ in range(2))
    a, b = (torch.tensor(values, requires_grad=grad) for _ in range(2))
    row(f"x + y, 8 float32{', grad' if grad else ''}", compare(lambda: x + y, lambda: a + b), 1.0)
    row(f"x.addcmul(y, y), same{', grad' if grad else ''}", compare(
        lambda: x.addcmul(y, y), lambda: a.addcmul(b, b)), 1.0)
