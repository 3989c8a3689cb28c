"""Memory formats and layouts: the two options of a tensor that this library has one choice each for.

Sizes and strides are free (see layout.py); these names only say which strides a *new* tensor gets.
"""
from __future__ import annotations


class _Named:
    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class memory_format(_Named):
    """contiguous_format: row-major. preserve_format: the source's strides if dense, else packed in their order."""


class layout(_Named):
    """strided: addressed by strides. No other layout is covered."""


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
strided = layout("strided")
