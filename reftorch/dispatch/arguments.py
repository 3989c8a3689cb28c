"""Arguments of the public functions, from Python to what an operator's body takes, by their schema type.

A binding tests cheaply whether an argument is as it should be and calls one of these where it is not. Texts are those of
torch/csrc/utils/python_arg_parser.cpp.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..core import dtype as dtypes
from ..core.device import as_device, device
from ..core.dtype import dtype
from ..core.options import strided
from ..core.tensor import Tensor

_PYTHON_DTYPES = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_, complex: dtypes.complex128}


def type_name(tensor: Tensor) -> str:
    """PyTorch's old name of a tensor's type, which its error texts use: 'torch.cuda.FloatTensor'."""
    place = "" if tensor.device.type == "cpu" else f"{tensor.device.type}."
    return f"torch.{place}{tensor.dtype.scalar_type}Tensor"


def class_name(value: Any) -> str:
    """A class as C knows it: with its module unless it is Python's own."""
    module = type(value).__module__
    return f"{module}.{type(value).__name__}" if module == "numpy" else type(value).__name__


def _refuse(op: str, name: str, position: int | None, expected: str, value: Any) -> NoReturn:
    place = "" if position is None else f" (position {position})"
    raise TypeError(f"{op}(): argument '{name}'{place} must be {expected}, not {type(value).__name__}")


def tensor(value: Any, op: str, name: str, position: int | None) -> Any:
    return value if isinstance(value, Tensor) else _refuse(op, name, position, "Tensor", value)


def integer(value: Any, op: str, name: str, position: int | None) -> int:
    """Ints, NumPy's ints, integer tensors of one element; bool and float are no integers."""
    if isinstance(value, (bool, float, str)) or not hasattr(value, "__index__"):
        _refuse(op, name, position, "int", value)
    return int(value.__index__())


def integers(value: Any, op: str, name: str, position: int | None) -> tuple[int, ...]:
    """A sequence of ints, or the arguments of view(2, 3) as Python collects them: one int or one sequence more deep."""
    if value.__class__ is tuple and len(value) == 1 and isinstance(value[0], (tuple, list)):
        value = value[0]
    if not isinstance(value, (tuple, list)):
        _refuse(op, name, position, "tuple of ints", value)
    for n in value:
        if n.__class__ is not int:
            return tuple(_element(n, i, op, name, position) for i, n in enumerate(value))
    return tuple(value)


def _element(value: Any, i: int, op: str, name: str, position: int | None) -> int:
    if value.__class__ is int:
        return value
    if isinstance(value, (bool, float, str)) or not hasattr(value, "__index__"):
        if i == 0:
            _refuse(op, name, position, "tuple of ints", value)
        raise TypeError(f"{op}(): argument '{name}' failed to unpack the object at pos {i + 1} with error \"type must be "
                        f"tuple of ints,but got {type(value).__name__}\"")
    return int(value.__index__())


def integer_or_integers(value: Any, *where: Any) -> Any:
    return integers(value, *where) if isinstance(value, (tuple, list)) else integer(value, *where)


def boolean(value: Any, op: str, name: str, position: int | None) -> bool:
    return value if isinstance(value, bool) else _refuse(op, name, position, "bool", value)


def number(value: Any, op: str, name: str, position: int | None) -> Any:
    """Python numbers, NumPy's, and 0-dim tensors without grad, which are read."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, Tensor) and not value.ndim and value._autograd is None:
        return value.item()
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    return _refuse(op, name, position, "Number", value)


def tensor_or_number(value: Any, *where: Any) -> Any:
    return value if isinstance(value, Tensor) else number(value, *where)


def element_type(value: Any, op: str, name: str, position: int | None) -> dtype:
    """A dtype, or one of Python's types float, int, bool and complex."""
    if isinstance(value, dtype):
        return value
    try:
        return _PYTHON_DTYPES[value]
    except (KeyError, TypeError):
        _refuse(op, name, None, "torch.dtype", value)


def on_device(value: Any, op: str, name: str, position: int | None) -> device:
    if isinstance(value, bool) or not isinstance(value, (device, str, int)):
        _refuse(op, name, None, "torch.device", value)
    return as_device(value)


def want_gradients(made: Tensor) -> None:
    """requires_grad=True of a factory. Raises RuntimeError unless the dtype is floating or complex."""
    if made.dtype.category < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    made.requires_grad_()


def missing(op: str, name: str) -> NoReturn:
    raise TypeError(f'{op}() missing 1 required positional arguments: "{name}"')


def left_out(op: str, name: str, value: Any) -> None:
    """An option that the body does not look at may only have the value that changes nothing."""
    if value not in (False, None, strided):
        raise NotImplementedError(f"{op}(): reftorch does not cover {name}={value!r}")


# For a set of schema types: the test that says conversion is needed, and the conversion.
_KINDS: Sequence[tuple[frozenset[str], str, Callable[..., Any]]] = tuple(
    (frozenset(types.split()), test, convert) for types, test, convert in (
        ("Tensor", "{n}.__class__ is not Tensor", tensor),
        ("Tensor Scalar", "{n}.__class__ is not Tensor", tensor_or_number),
        ("Scalar", "{n}.__class__ is not float and {n}.__class__ is not int", number),
        ("int", "{n}.__class__ is not int", integer),
        ("int[]", "True", integers),
        ("int int[]", "{n}.__class__ is not int", integer_or_integers),
        ("bool", "{n}.__class__ is not bool", boolean),
        ("ScalarType", "True", element_type),
        ("Device", "True", on_device),
    ))


def conversion(types: frozenset[str], name: str) -> tuple[str, Callable[..., Any]] | None:
    """The test, as source text about the variable `name`, and the conversion for a parameter of these schema types."""
    for known, test, convert in _KINDS:
        if types - {"None"} == known:
            test = test.format(n=name)
            return (f"{name} is not None and {test}" if "None" in types else test), convert
    return None
