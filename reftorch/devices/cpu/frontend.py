"""From a formula in Python to an LLVM function, by numba.

Numba reads the bytecode, infers types and lowers, for a small target of our own that knows only element types
and the table `OPERATIONS`. That gives formulas NumPy's rules, not numba's (int8 + int8 is int8, a Python
number takes the type of the other operand), and compiles one in a few milliseconds.
"""
# numba and llvmlite are untyped.
# mypy: disable-error-code="attr-defined, misc, no-any-return, untyped-decorator"
from __future__ import annotations

import functools
import inspect
import types as python_types
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import compiler, cpu, types, typing
from numba.core.codegen import CPUCodeLibrary
from numba.core.datamodel import models, register_default
from numba.core.errors import NumbaError, TypingError
from numba.core.imputils import Registry as LoweringRegistry
from numba.core.typing.templates import AbstractTemplate, Signature
from numba.core.typing.templates import Registry as TypingRegistry

from . import operators, primitives  # noqa: F401  (they fill OPERATIONS)
from .casts import convert, round_to
from .elements import ELEMENTS, Element
from .operation import ALL, BOOL, OPERATIONS, Operation

__all__ = ["Formula", "NumbaError"]


# --- types ---

class Scalar(types.Type):
    """numba's type of a value of one of our element types. Python numbers keep numba's own types."""

    def __init__(self, element: Element):
        self.element = element
        super().__init__(element.name)


@register_default(Scalar)
class _ScalarModel(models.PrimitiveModel):
    def __init__(self, manager: Any, scalar: Scalar):
        super().__init__(manager, scalar, scalar.element.value_type)


_PYTHON_NUMBERS = {"bool": types.boolean, "int64": types.int64, "float64": types.float64,
                   "complex128": types.complex128}
_ORDER = ("bool", "uint", "int", "float", "complex")


def element_of(t: types.Type) -> Element:
    """The element type of an operand; for a Python number, what holds it until it meets an operand."""
    if isinstance(t, Scalar):
        return t.element
    for name, number in _PYTHON_NUMBERS.items():
        if isinstance(types.unliteral(t), type(number)):
            return ELEMENTS[name]
    raise TypingError(f"{t} is not a number")


def common_type(operands: Sequence[types.Type]) -> Element:
    """The type in which an operation takes its operands.

    Python numbers and bools adapt to the others, and a real to a complex number of the same precision, as in
    NumPy. Nothing else is converted: TypingError.
    """
    numbers = {element_of(t) for t in operands if not isinstance(t, Scalar)}
    typed = {t.element for t in operands if isinstance(t, Scalar)}
    if typed <= {BOOL}:
        return max(typed | numbers, key=_rank)
    typed.discard(BOOL)
    common = max(typed, key=_rank)
    if typed - {common, common.part if common.kind == "complex" else common}:
        raise TypingError(f"operands of types {', '.join(sorted(e.name for e in typed))}: convert them first")
    if any(_rank(e) > max(_rank(common), _ORDER.index("int")) for e in numbers):
        raise TypingError(f"a Python number that does not fit {common.name}")
    return common


def _rank(e: Element) -> int:
    return _ORDER.index(e.kind)


# --- operations ---

_typing, _lowering = TypingRegistry(), LoweringRegistry()


def _template(key: Any, operation: Operation) -> type[AbstractTemplate]:
    """Numba's description of an operation's types; its lowering is registered under `key`."""
    first = 1 if operation.condition else 0

    def generic(self: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Signature:
        if kws or len(args) != operation.arity:
            raise TypingError(f"expected {operation.arity} positional operands")
        t = common_type(args[first:])
        if t.kind not in operation.kinds or t.is_narrow_float:
            raise TypingError(f"not defined for {t.name}")
        if operation.condition and element_of(args[0]) != BOOL:
            raise TypingError(f"the condition is {args[0]}, not bool")
        result = operation.result(t)
        if not any(isinstance(a, Scalar) for a in args):  # Python numbers give a Python number
            return Signature(_PYTHON_NUMBERS[result.name], args, recvr=None)
        return Signature(Scalar(result), args, recvr=None)

    @_lowering.lower(key, types.VarArg(types.Any))
    def lower(context: Any, b: ir.IRBuilder, sig: Signature, values: tuple[Any, ...]) -> Any:
        t = common_type(sig.args[first:])
        operands = [convert(b, v, element_of(a), t) for v, a in zip(values[first:], sig.args[first:])]
        return operation.emit(b, t, *values[:first], *operands)

    return type("operation", (AbstractTemplate,), {"key": key, "generic": generic})


for _key, _operation in OPERATIONS.items():
    _typing.register_global(_key)(_template(_key, _operation))


@functools.cache
def _rounding(target: Element) -> types.Function:
    """The type of the parameter R: rounding to `target`, the result kept in the compute type."""
    operation = Operation(1, ALL, lambda b, t, x: round_to(b, x, target), lambda t: t, False)
    template = _template(("R", target.name), operation)
    _contexts()[1].refresh()  # lets numba see the lowering just registered
    return types.Function(template)


@_lowering.lower_constant(types.Dummy)  # functions and modules that a formula names
def _no_value(context: Any, b: ir.IRBuilder, t: types.Type, value: Any) -> Any:
    return context.get_dummy_value()


@_lowering.lower_constant(types.Number)
@_lowering.lower_constant(types.Boolean)
def _python_number(context: Any, b: ir.IRBuilder, t: types.Type, value: Any) -> Any:
    e = element_of(t)
    return ir.Constant(e.value_type, (value.real, value.imag) if e.kind == "complex" else value)


@_lowering.lower_cast(types.Literal, types.Any)
def _literal(context: Any, b: ir.IRBuilder, source: types.Type, target: types.Type, value: Any) -> Any:
    return value  # numba tells the number 2 from an int64 that is always 2; the value is the same


# --- the target ---

class _Typing(typing.BaseContext):
    def _load_builtins(self) -> None:
        self.install_registry(_typing)

    def resolve_value_type(self, value: Any) -> types.Type:
        if value is bool:  # numba asks for it where a condition decides the way
            raise TypingError("a formula has no branches: write select(condition, a, b)")
        if isinstance(value, python_types.BuiltinFunctionType) and value not in OPERATIONS:
            raise TypingError(f"a formula has no {value.__name__}")
        if isinstance(value, python_types.FunctionType) and value not in OPERATIONS:
            return _helper(value)
        return super().resolve_value_type(value)


class _Target(cpu.CPUContext):
    def refresh(self) -> None:
        self.install_registry(_lowering)
        self.typing_context.refresh()

    def post_lowering(self, module: ir.Module, library: Any) -> None:
        """Numba's runtime is not linked in: a formula owns no memory."""


@functools.cache
def _contexts() -> tuple[_Typing, _Target]:
    typing_context = _Typing()
    target = _Target(typing_context, "cpu")
    target.refresh()
    return typing_context, target


class _IntoModule(CPUCodeLibrary):
    """A code library that lowers into a given module and compiles nothing itself."""

    def __init__(self, codegen: Any, module: ir.Module):
        super().__init__(codegen, module.name)
        self.module = module

    def create_ir_module(self, name: str) -> ir.Module:
        return self.module

    def add_ir_module(self, module: ir.Module) -> None:
        pass


# --- formulas ---

def _compile(function: Callable[..., Any], args: Sequence[types.Type], module: ir.Module) -> Any:
    """Lower `function` into `module`; gives numba's CompileResult."""
    typing_context, target = _contexts()
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    result = compiler.compile_extra(typing_context, target, function, tuple(args), None, flags, {},
                                    library=_IntoModule(target.codegen(), module))
    for name in (result.fndesc.llvm_func_name, target.get_env_name(result.fndesc)):
        module.globals[name].linkage = "internal"
    module.globals[result.fndesc.llvm_func_name].attributes.add("alwaysinline")
    return result


def _call(b: ir.IRBuilder, compiled: Any, values: Sequence[Any]) -> Any:
    """Call a compiled function. It cannot fail, so its status is not looked at."""
    descriptor = compiled.fndesc
    _, result = compiled.target_context.call_conv.call_function(
        b, b.module.globals[descriptor.llvm_func_name], descriptor.restype, descriptor.argtypes, values)
    return result


@functools.cache
def _helper(function: Callable[..., Any]) -> types.Function:
    """The type of a plain Python function that a formula calls. It is compiled as a formula is."""
    def generic(self: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Signature:
        args = tuple(types.unliteral(a) for a in args)
        return Signature(_compile(function, args, ir.Module()).signature.return_type, args, recvr=None)

    @_lowering.lower(function, types.VarArg(types.Any))
    def lower(context: Any, b: ir.IRBuilder, sig: Signature, values: tuple[Any, ...]) -> Any:
        return _call(b, _compile(function, sig.args, b.module), values)

    _contexts()[1].refresh()
    return types.Function(type("helper", (AbstractTemplate,), {"key": function, "generic": generic}))


class Formula:
    """A formula lowered into `module`.

    operands: the element types of its parameters in order, R excepted. rounded: the type that R rounds to.
    result: the element type of its value. Raises NumbaError for what cannot be compiled.
    """

    def __init__(self, function: Callable[..., Any], operands: Sequence[Element], rounded: Element,
                 module: ir.Module):
        names = list(inspect.signature(function).parameters)
        self._r = names.index("R") if "R" in names else None
        wanted = len(names) - (self._r is not None)
        if wanted != len(operands):
            raise TypingError(f"it takes {wanted} operands, {len(operands)} were given")
        arguments: list[types.Type] = [Scalar(e) for e in operands]
        if self._r is not None:
            arguments.insert(self._r, _rounding(rounded))
        self._compiled = _compile(function, arguments, module)
        self.result = element_of(self._compiled.signature.return_type)

    def call(self, b: ir.IRBuilder, values: Sequence[Any]) -> Any:
        """The formula of these values, in a function of the same module."""
        values = list(values)
        if self._r is not None:
            values.insert(self._r, self._compiled.target_context.get_dummy_value())
        return _call(b, self._compiled, values)
