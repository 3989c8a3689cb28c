"""Element types.

A dtype says how an element lies in memory (`itemsize`, `np`: the NumPy dtype that carries its bits) and where it
stands in type promotion (`category`). Types that NumPy lacks are carried as unsigned integer codes; their meaning
is in `reftorch.numerics.formats`. Source of names and sizes: c10/core/ScalarType.h.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


class dtype:
    """One element type. Instances are unique: compare with `is` or `==`."""

    __slots__ = ("name", "np", "itemsize", "category", "is_signed", "storage_only", "scalar_type", "__weakref__")

    def __init__(self, name: str, carrier: type, category: int, scalar_type: str, signed: bool = True,
                 storage_only: bool = False):
        self.name = name
        self.np = np.dtype(carrier)
        self.itemsize = self.np.itemsize
        self.category = category
        self.scalar_type = scalar_type  # the name PyTorch's error texts use: 'Float', 'Long', ...
        self.is_signed = signed
        self.storage_only = storage_only

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def is_integral(self) -> bool:
        """True for the integers, not for bool."""
        return self.category == INTEGRAL

    def to_real(self) -> dtype:
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        return {float32: complex64, float64: complex128}.get(self, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)


bool_ = dtype("bool", np.bool_, BOOL, "Bool", signed=False)
uint8 = dtype("uint8", np.uint8, INTEGRAL, "Byte", signed=False)
int8 = dtype("int8", np.int8, INTEGRAL, "Char")
int16 = dtype("int16", np.int16, INTEGRAL, "Short")
int32 = dtype("int32", np.int32, INTEGRAL, "Int")
int64 = dtype("int64", np.int64, INTEGRAL, "Long")
uint16 = dtype("uint16", np.uint16, INTEGRAL, "UInt16", signed=False)
uint32 = dtype("uint32", np.uint32, INTEGRAL, "UInt32", signed=False)
uint64 = dtype("uint64", np.uint64, INTEGRAL, "UInt64", signed=False)
float16 = dtype("float16", np.float16, FLOATING, "Half")
bfloat16 = dtype("bfloat16", np.uint16, FLOATING, "BFloat16")
float32 = dtype("float32", np.float32, FLOATING, "Float")
float64 = dtype("float64", np.float64, FLOATING, "Double")
complex64 = dtype("complex64", np.complex64, COMPLEX, "ComplexFloat")
complex128 = dtype("complex128", np.complex128, COMPLEX, "ComplexDouble")
float8_e4m3fn = dtype("float8_e4m3fn", np.uint8, FLOATING, "Float8_e4m3fn", storage_only=True)
float8_e5m2 = dtype("float8_e5m2", np.uint8, FLOATING, "Float8_e5m2", storage_only=True)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", np.uint8, FLOATING, "Float8_e4m3fnuz", storage_only=True)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", np.uint8, FLOATING, "Float8_e5m2fnuz", storage_only=True)
float8_e8m0fnu = dtype("float8_e8m0fnu", np.uint8, FLOATING, "Float8_e8m0fnu", signed=False, storage_only=True)
float4_e2m1fn_x2 = dtype("float4_e2m1fn_x2", np.uint8, FLOATING, "Float4_e2m1fn_x2", storage_only=True)

DTYPES = {d.name: d for d in list(globals().values()) if isinstance(d, dtype)}


def _named(name: str) -> dtype:
    return DTYPES[name]


ALIASES = {"half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
           "short": int16, "int": int32, "long": int64}

_FROM_NUMPY = {d.np: d for d in DTYPES.values() if not d.storage_only and d is not bfloat16}


def from_numpy_dtype(np_dtype: np.dtype) -> dtype:
    """The dtype whose elements NumPy's `np_dtype` holds.

    Raises TypeError, with PyTorch's text, for a NumPy dtype that has no counterpart.
    """
    try:
        return _FROM_NUMPY[np.dtype(np_dtype)]
    except KeyError:
        supported = ", ".join(d.name for d in _FROM_NUMPY.values())
        raise TypeError(f"can't convert np.ndarray of type numpy.{np_dtype}. "
                        f"The only supported types are: {supported}.") from None


_default = float32


def get_default_dtype() -> dtype:
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set what floating Python scalars become. Raises TypeError unless `d` is a floating point dtype."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d
    for forget in _listeners:
        forget()


_listeners: list[Callable[[], None]] = []


def on_default_change(forget: Callable[[], None]) -> None:
    """Have `forget` called when the default changes (plans remember dtypes that follow from it)."""
    _listeners.append(forget)
