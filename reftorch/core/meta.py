"""Meta: everything about a tensor except its memory.

An operator's `meta` function maps the Metas of its inputs to those of its outputs; the plan of a call (which kernel,
which geometry, which output) is remembered under them.
"""
from __future__ import annotations

from .device import device
from .dtype import dtype
from .layout import Layout


class Meta:
    """dtype, device and layout of a tensor. Unique per combination, as Layout is: compare with `is`."""

    __slots__ = ("dtype", "device", "layout", "nbytes")

    def __init__(self, dtype: dtype, device: device, layout: Layout):
        self.dtype, self.device, self.layout = dtype, device, layout
        self.nbytes = layout.extent * dtype.itemsize

    @staticmethod
    def of(dtype: dtype, device: device, layout: Layout) -> Meta:
        key = (dtype, device, layout)
        try:
            return _table[key]
        except KeyError:
            if len(_table) >= 32768:
                _table.clear()
            return _table.setdefault(key, Meta(dtype, device, layout))

    def __repr__(self) -> str:
        return f"Meta({self.dtype}, {self.device}, {self.layout})"


_table: dict[tuple[dtype, device, Layout], Meta] = {}
