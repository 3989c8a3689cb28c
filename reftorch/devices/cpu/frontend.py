"""From a formula in Python to an LLVM function, by numba.

Numba reads the bytecode, infers types and lowers, for a small target of our own: it knows only element types
and the table `OPERATIONS`. That gives formulas NumPy's rules instead of numba's (int8 + int8 is int8; a
Python number takes the type of the other operand) and compiles one in a few milliseconds.
"""
from __future__ import annotations

import functools
import inspect
import types as python_types
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import compiler, cpu, errors, types, typing
from numba.core.errors import NumbaError
from numba.core.codegen import CPUCodeLibrary
from numba.core.datamodel import models, register_default
from numba.core.imputils import Registry as LoweringRegistry
from numba.core.typing.templates import AbstractTemplate, Signature
from numba.core.typing.templates import Registry as TypingRegistry

from . import operators, primitives  # noqa: F401  (they fill OPERATIONS)
from .casts import convert, round_to
from .elements import ELEMENTS, Element
from .operation import BOOL, OPERATIONS, Operation


class Scalar(types.Type):  # type: ignore[misc]
    """numba's type of a value of one of our element types."""

    def __init__(self, element: Element):
        self.element = element
        super().__init__(element.name)


@register_default(Scalar)
class _ScalarModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, scalar: Scalar):
        super().__init__(manager, scalar, scalar.element.value_type)


def element_of(t: types.Type) -> Element:
    """The element type of an operand; a Python number is float64, int64, complex128 or bool until it meets another."""
    if isinstance(t, Scalar):
        return t.element
    for number, name in ((types.Boolean, "bool"), (types.Integer, "int64"), (types.Float, "float64"),
                         (types.Complex, "complex128")):
        if isinstance(types.unliteral(t), number):
            return ELEMENTS[name]
    raise errors.TypingError(f"{t} is not a number")


def common_type(operands: Sequence[types.Type]) -> Element:
    """The type in which an operation takes its operands, by NumPy's rules; no rule ever widens a tensor's type."""
    typed = {t.element for t in operands if isinstance(t, Scalar)}
    numbers = {element_of(t) for t in operands if not isinstance(t, Scalar)}
    if not typed or typed == {BOOL}:  # Python numbers, or bools, only
        return max(typed | numbers, key=lambda e: _ORDER.index(e.kind))
    typed.discard(BOOL)
    common = max(typed, key=lambda e: _ORDER.index(e.kind))
    if any(e not in (common, common.part if common.kind == "complex" else common) for e in typed):
        raise errors.TypingError(f"operands of types {', '.join(sorted(e.name for e in typed))}; convert them first")
    if any(_ORDER.index(e.kind) > max(_ORDER.index(common.kind), _ORDER.index("int")) for e in numbers):
        raise errors.TypingError(f"a Python number that does not fit {common.name}")
    return common


_ORDER = ("bool", "uint", "int", "float", "complex")
_typing, _lowering = TypingRegistry(), LoweringRegistry()


def _template(key: Any, operation: Operation) -> type[AbstractTemplate]:
    """Numba's description of an operation; its lowering is registered under `key`."""
    def generic(self: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Signature:
        if kws or len(args) != operation.arity:
            raise errors.TypingError(f"expected {operation.arity} positional operands")
        operands = args[1:] if operation.condition else args
        t = common_type(operands)
        if t.kind not in operation.kinds or t.is_narrow_float:
            raise errors.TypingError(f"not defined for {t.name}")
        if operation.condition and element_of(args[0]) != BOOL:
            raise errors.TypingError(f"the condition is {args[0]}, not bool")
        return Signature(Scalar(operation.result(t)), args, recvr=None)

    @_lowering.lower(key, types.VarArg(types.Any))
    def lower(context: Any, b: ir.IRBuilder, sig: Signature, values: tuple[Any, ...]) -> Any:
        first = 1 if operation.condition else 0
        t = common_type(sig.args[first:])
        operands = [convert(b, v, element_of(a), t) for v, a in zip(values[first:], sig.args[first:])]
        return operation.emit(b, t, *values[:first], *operands)

    return type("operation", (AbstractTemplate,), {"key": key, "generic": generic})


for _key, _operation in OPERATIONS.items():
    _typing.register_global(_key)(_template(_key, _operation))


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


class _Typing(typing.BaseContext):  # type: ignore[misc]
    def _load_builtins(self) -> None:
        self.install_registry(_typing)

    def resolve_value_type(self, value: Any) -> types.Type:
        if value is bool:  # numba asks for it where a condition decides the way
            raise errors.TypingError("a formula has no branches: write select(condition, a, b)")
        if isinstance(value, python_types.BuiltinFunctionType) and value not in OPERATIONS:
            raise errors.TypingError(f"a formula has no {value.__name__}")
        if isinstance(value, python_types.FunctionType) and value not in OPERATIONS:
            return _helper(value)
        return super().resolve_value_type(value)


class _Target(cpu.CPUContext):  # type: ignore[misc]
    def refresh(self) -> None:
        self.install_registry(_lowering)
        self.typing_context.refresh()

    def post_lowering(self, module: ir.Module, library: Any) -> None:
        """Numba's runtime is not linked in: a formula owns no memory."""


class _IntoModule(CPUCodeLibrary):  # type: ignore[misc]
    """A code library that lowers into a given module and compiles nothing itself."""

    def __init__(self, codegen: Any, module: ir.Module):
        super().__init__(codegen, module.name)
        self.module = module

    def create_ir_module(self, name: str) -> ir.Module:
        return self.module

    def add_ir_module(self, module: ir.Module) -> None:
        pass


@functools.cache
def _contexts() -> tuple[_Typing, _Target]:
    typing_context = _Typing()
    target = _Target(typing_context, "cpu")
    target.refresh()
    return typing_context, target


def _compile(function: Callable[..., Any], args: Sequence[types.Type], module: ir.Module) -> Any:
    """Lower `function` into `module`; the result has .signature, .fndesc (its LLVM name) and .target_context."""
    typing_context, target = _contexts()
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    result = compiler.compile_extra(typing_context, target, function, tuple(args), None, flags, {},
                                    library=_IntoModule(target.codegen(), module))
    for name in (result.fndesc.llvm_func_name, target.get_env_name(result.fndesc)):
        module.globals[name].linkage = "internal"
    module.globals[result.fndesc.llvm_func_name].attributes.add("alwaysinline")
    return result


@functools.cache
def _helper(function: Callable[..., Any]) -> types.Function:
    """The type of a plain Python function that a formula calls: it is compiled for its operands, like a formula."""
    def generic(self: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Signature:
        args = tuple(types.unliteral(a) for a in args)
        scratch = ir.Module()
        return Signature(_compile(function, args, scratch).signature.return_type, args, recvr=None)

    @_lowering.lower(function, types.VarArg(types.Any))
    def lower(context: Any, b: ir.IRBuilder, sig: Signature, values: tuple[Any, ...]) -> Any:
        return call_compiled(b, _compile(function, sig.args, b.module), values)

    _contexts()[1].refresh()
    return types.Function(type(f"helper_{function.__name__}", (AbstractTemplate,),
                               {"key": function, "generic": generic}))


def call_compiled(b: ir.IRBuilder, compiled: Any, values: Sequence[Any]) -> Any:
    """Call a compiled function. It cannot fail, so its status is not looked at."""
    target, descriptor = compiled.target_context, compiled.fndesc
    _, result = target.call_conv.call_function(b, b.module.globals[descriptor.llvm_func_name], descriptor.restype,
                                               descriptor.argtypes, values)
    return result


class Formula:
    """A formula lowered into `module`, ready to be called there.

    operands: the element types of its parameters in order, R excepted. Raises numba's errors for what it
    cannot compile.
    """

    def __init__(self, function: Callable[..., Any], operands: Sequence[Element], rounded: Element, module: ir.Module):
        names = list(inspect.signature(function).parameters)
        types_left = iter(operands)
        if len(names) - ("R" in names) != len(operands):
            raise errors.TypingError(f"it takes {len(names) - ('R' in names)} operands, {len(operands)} were given")
        arguments = [_rounding(rounded) if name == "R" else Scalar(next(types_left)) for name in names]
        self._takes_r = names.index("R") if "R" in names else None
        self._compiled = _compile(function, arguments, module)
        self.result = element_of(self._compiled.signature.return_type)

    def call(self, b: ir.IRBuilder, values: Sequence[Any]) -> Any:
        """The formula of these values, of type `result`."""
        values = list(values)
        if self._takes_r is not None:
            values.insert(self._takes_r, self._compiled.target_context.get_dummy_value())
        return call_compiled(b, self._compiled, values)


@functools.cache
def _rounding(target: Element) -> types.Function:
    """The type of the parameter R: rounding to `target`, the result kept in the compute type."""
    template = _template(("R", target.name), Operation(
        1, ("bool", "int", "uint", "float", "complex"), lambda b, t, x: round_to(b, x, target), lambda t: t, False))
    _contexts()[1].refresh()  # lets numba see the lowering just registered
    return types.Function(template)
